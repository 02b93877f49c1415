//! Paths to multicast groups (docs/sm-behaviour.md 11.13): one record with the group's values.

use ferrosm_fabric::pkey_set::partition_number;
use ferrosm_mad::sa::path::{PathRecord, Selector};

use super::group::MulticastGroup;
use super::multicast::MulticastGroups;
use crate::message::{ReplyRecords, SaReply, SaRequest, component_value};
use crate::path::record::component;
use crate::refusal::SaRefusal;
use crate::view::View;

/// HopLimit of groups that extend beyond the subnet.
const HOP_LIMIT_WIDE: u8 = 0xFF;
/// Scope of groups within the subnet.
const LINK_LOCAL: u8 = 2;

/// Answers a query whose DGID is a multicast GID.
#[must_use]
pub fn answer(
    view: &View,
    groups: &MulticastGroups,
    request: &SaRequest<'_>,
    requested: &PathRecord,
) -> SaReply {
    let Some(client) = view.by_lid(request.from.lid) else {
        return SaReply::refused(SaRefusal::UnknownSource(request.from.lid));
    };
    let mut records = ReplyRecords::new(request, PathRecord::LEN);
    if let Some(group) = groups.get(requested.dgid)
        && view.is_partition_member(client, group.parameters.pkey)
        && matches_group(request, requested, group)
        && source_is_member(view, request, requested, group)
    {
        records.push(&record(request, requested, group).encode());
    }
    SaReply::from_records(request, records)
}

/// Whether the components of the query match the group.
fn matches_group(request: &SaRequest<'_>, requested: &PathRecord, group: &MulticastGroup) -> bool {
    let parameters = &group.parameters;
    let matches = |components: u64, is_equal: bool| !request.has(components) || is_equal;
    matches(component::DLID, requested.dlid == group.mlid)
        && matches(
            component::PKEY,
            partition_number(requested.pkey) == partition_number(parameters.pkey),
        )
        && matches(component::SL, requested.sl == parameters.sl)
        && matches(
            component::FLOW_LABEL,
            requested.flow_label == parameters.flow_label,
        )
        && matches(
            component::HOP_LIMIT,
            requested.hop_limit == parameters.hop_limit,
        )
        && matches(component::TCLASS, requested.tclass == parameters.tclass)
}

/// Whether the source, if the query has one, is a member: only members send to a group.
fn source_is_member(
    view: &View,
    request: &SaRequest<'_>,
    requested: &PathRecord,
    group: &MulticastGroup,
) -> bool {
    let by_gid = component_value(request, component::SGID, requested.sgid).map(|gid| gid.guid());
    let by_lid = component_value(request, component::SLID, requested.slid)
        .map(|lid| view.by_lid(lid).map(|port| view.end_port(port).guid));
    by_gid.is_none_or(|guid| group.members.contains_key(&guid))
        && by_lid.is_none_or(|guid| guid.is_some_and(|guid| group.members.contains_key(&guid)))
}

fn record(request: &SaRequest<'_>, requested: &PathRecord, group: &MulticastGroup) -> PathRecord {
    let parameters = &group.parameters;
    PathRecord {
        dgid: requested.dgid,
        sgid: component_value(request, component::SGID, requested.sgid).unwrap_or_default(),
        dlid: group.mlid,
        slid: component_value(request, component::SLID, requested.slid).unwrap_or_default(),
        flow_label: parameters.flow_label,
        hop_limit: if parameters.scope > LINK_LOCAL {
            HOP_LIMIT_WIDE
        } else {
            parameters.hop_limit
        },
        tclass: parameters.tclass,
        numb_path: 1,
        pkey: parameters.pkey,
        sl: parameters.sl,
        mtu_selector: Selector::Exact,
        mtu: parameters.mtu,
        rate_selector: Selector::Exact,
        rate: parameters.rate,
        packet_life_time_selector: Selector::Exact,
        packet_life_time: parameters.packet_life_time,
        ..PathRecord::default()
    }
}
