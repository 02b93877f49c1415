//! Get and GetTable of MCMemberRecord (docs/sm-behaviour.md 10.11). Untrusted clients see groups,
//! trusted clients see members.

use ferrosm_fabric::pkey_set::partition_number;
use ferrosm_mad::ids::{Gid, PortGuid};
use ferrosm_mad::sa::multicast::McMemberRecord;
use ferrosm_mad::sa::{SaRecord, Template};

use super::join::{component, matches_selectors};
use super::{GroupMember, MulticastGroup, MulticastGroups};
use crate::message::{ReplyRecords, SaReply, SaRequest};
use crate::refusal::SaRefusal;
use crate::view::View;

/// Components that are not compared as bits.
const NOT_COMPARED_AS_BITS: u64 = component::MTU
    | component::RATE
    | component::PACKET_LIFE_TIME
    | component::PORT_GID
    | component::PKEY
    | component::PROXY_JOIN;

impl MulticastGroups {
    /// Answers a query.
    #[must_use]
    pub fn query(&self, view: &View, request: &SaRequest<'_>) -> SaReply {
        let Some(client) = view.by_lid(request.from.lid) else {
            return SaReply::refused(SaRefusal::UnknownSource(request.from.lid));
        };
        let requested = McMemberRecord::decode(request.data);
        let mask = request.component_mask & !NOT_COMPARED_AS_BITS;
        let template = Template::new::<McMemberRecord>(mask, request.data);
        let member = request
            .has(component::PORT_GID)
            .then_some(requested.port_gid);
        let mut records = ReplyRecords::new(request, McMemberRecord::STRIDE);
        // Clients set ProxyJoin at either of two bit positions.
        let proxy = request
            .has(component::PROXY_JOIN)
            .then_some(requested.is_proxy_join());
        let mut offer = |record: &McMemberRecord| {
            let matches_proxy = proxy.is_none_or(|p| p == record.is_proxy_join());
            let record = record.encode();
            if matches_proxy && template.matches(&record) {
                records.push(&record);
            }
            records.is_enough()
        };
        for (mgid, group) in self.candidates(view, request, &requested) {
            let pkey = group.parameters.pkey;
            let visible = request.is_trusted() || view.is_partition_member(client, pkey);
            // Full and limited members query with their own P_Key.
            let other_partition = request.has(component::PKEY)
                && partition_number(requested.pkey) != partition_number(pkey);
            if !visible
                || other_partition
                || !matches_selectors(request, &requested, &group.parameters)
            {
                continue;
            }
            let is_enough = if request.is_trusted() {
                let gid = |guid| Gid::new(view.prefix, guid);
                let (one, all) = match member {
                    Some(m) => (group.members.get_key_value(&m.guid()), None),
                    None => (None, Some(&group.members)),
                };
                let mut members = one.into_iter().chain(all.into_iter().flatten());
                let mut offer_one = |(guid, m): (&PortGuid, &GroupMember)| {
                    offer(&group.record(mgid, Some((gid(*guid), *m))))
                };
                let empty = group.members.is_empty() && member.is_none_or(|m| m == Gid::default());
                members.any(&mut offer_one) || empty && offer(&group.record(mgid, None))
            } else {
                let has_member = member.is_none_or(|m| group.members.contains_key(&m.guid()));
                has_member && offer(&group.record(mgid, None))
            };
            if is_enough {
                break;
            }
        }
        SaReply::from_records(request, records)
    }

    /// Groups that can match, found by the most selective index.
    pub(super) fn candidates<'a>(
        &'a self,
        view: &View,
        request: &SaRequest<'_>,
        requested: &McMemberRecord,
    ) -> Box<dyn Iterator<Item = (Gid, &'a MulticastGroup)> + 'a> {
        let port = requested.port_gid;
        // PortGID 0 selects groups without members; only trusted clients see these.
        let without_members = port == Gid::default() && request.is_trusted();
        if request.has(component::PORT_GID)
            && !without_members
            && !view.is_local_prefix(port.prefix())
        {
            Box::new(core::iter::empty())
        } else if request.has(component::MGID) {
            Box::new(
                self.get(requested.mgid)
                    .map(|g| (requested.mgid, g))
                    .into_iter(),
            )
        } else if request.has(component::PORT_GID) && !without_members {
            let groups = self.memberships.groups_of(port.guid());
            Box::new(groups.filter_map(|mgid| Some((mgid, self.get(mgid)?))))
        } else if request.has(component::MLID) {
            Box::new(self.groups_of_mlid(requested.mlid))
        } else {
            Box::new(self.iter())
        }
    }
}
