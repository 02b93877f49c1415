//! The path to a multicast group (rule 11.13): one record, whose values are the group's.

use ferrosm_mad::mad::Status;
use ferrosm_mad::sa::path::{PathRecord, Selector};

use crate::message::{ReplyRecords, SaReply, SaRequest, component_value, partition_number};
use crate::registry::multicast::{MulticastGroup, MulticastGroups};
use crate::view::View;

use super::record::component;

/// HopLimit where packets may leave the subnet.
const HOP_LIMIT_WIDE: u8 = 0xFF;
/// Scope of groups that stay in the subnet.
const LINK_LOCAL: u8 = 2;

/// Answers a query whose DGID is a group's.
#[must_use]
pub fn answer(
    view: &View,
    groups: &MulticastGroups,
    request: &SaRequest<'_>,
    asked: &PathRecord,
) -> SaReply {
    let Some(client) = view.by_lid(request.from.lid) else {
        return SaReply::error(Status::REQ_INVALID);
    };
    let mut found = ReplyRecords::new(request, PathRecord::LEN);
    if let Some(group) = groups.get(asked.dgid)
        && view.is_partition_member(client, group.parameters.pkey)
        && agrees(request, asked, group)
        && source_is_member(view, request, asked, group)
    {
        found.push(&record(request, asked, group).encode());
    }
    SaReply::from_records(request, found)
}

/// What a client says of a group must be so.
fn agrees(request: &SaRequest<'_>, asked: &PathRecord, group: &MulticastGroup) -> bool {
    let has = &group.parameters;
    let same = |components: u64, yes: bool| !request.has(components) || yes;
    same(component::DLID, asked.dlid == group.mlid)
        && same(
            component::PKEY,
            partition_number(asked.pkey) == partition_number(has.pkey),
        )
        && same(component::SL, asked.sl == has.sl)
        && same(component::FLOW_LABEL, asked.flow_label == has.flow_label)
        && same(component::HOP_LIMIT, asked.hop_limit == has.hop_limit)
        && same(component::TCLASS, asked.tclass == has.tclass)
}

/// Packets of a group come from its members.
fn source_is_member(
    view: &View,
    request: &SaRequest<'_>,
    asked: &PathRecord,
    group: &MulticastGroup,
) -> bool {
    let by_gid = component_value(request, component::SGID, asked.sgid).map(|gid| gid.guid());
    let by_lid = component_value(request, component::SLID, asked.slid)
        .map(|lid| view.by_lid(lid).map(|port| view.end_port(port).guid));
    by_gid.is_none_or(|guid| group.members.contains_key(&guid))
        && by_lid.is_none_or(|guid| guid.is_some_and(|guid| group.members.contains_key(&guid)))
}

fn record(request: &SaRequest<'_>, asked: &PathRecord, group: &MulticastGroup) -> PathRecord {
    let has = &group.parameters;
    PathRecord {
        dgid: asked.dgid,
        sgid: component_value(request, component::SGID, asked.sgid).unwrap_or_default(),
        dlid: group.mlid,
        slid: component_value(request, component::SLID, asked.slid).unwrap_or_default(),
        flow_label: has.flow_label,
        hop_limit: if has.scope > LINK_LOCAL {
            HOP_LIMIT_WIDE
        } else {
            has.hop_limit
        },
        tclass: has.tclass,
        numb_path: 1,
        pkey: has.pkey,
        sl: has.sl,
        mtu_selector: Selector::Exact,
        mtu: has.mtu,
        rate_selector: Selector::Exact,
        rate: has.rate,
        packet_life_time_selector: Selector::Exact,
        packet_life_time: has.packet_life_time,
        ..PathRecord::default()
    }
}
