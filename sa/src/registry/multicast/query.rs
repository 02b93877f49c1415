//! Get and GetTable of MCMemberRecord (rule 10.11): who asks without the SM_Key sees groups, who has it sees members.

use ferrosm_mad::ids::{Gid, PortGuid};
use ferrosm_mad::mad::Status;
use ferrosm_mad::sa::multicast::McMemberRecord;
use ferrosm_mad::sa::{Record, Template};

use super::join::{component, matches_selectors};
use super::{GroupMember, MulticastGroup, MulticastGroups};
use crate::message::{ReplyRecords, SaReply, SaRequest, partition_number};
use crate::view::View;

/// Components that are compared by their meaning, not by their bits.
const BY_MEANING: u64 = component::MTU
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
            return SaReply::error(Status::REQ_INVALID);
        };
        let asked = McMemberRecord::decode(request.data);
        let mask = request.component_mask & !BY_MEANING;
        let template = Template::new::<McMemberRecord>(mask, request.data);
        let member = request.has(component::PORT_GID).then_some(asked.port_gid);
        let mut found = ReplyRecords::new(request, McMemberRecord::STRIDE);
        // Clients put the bit at either of two places.
        let proxy = request
            .has(component::PROXY_JOIN)
            .then_some(asked.is_proxy_join());
        let mut offer = |record: &McMemberRecord| {
            let same = proxy.is_none_or(|p| p == record.is_proxy_join());
            let record = record.encode();
            if same && template.matches(&record) {
                found.push(&record);
            }
            found.is_enough()
        };
        for (mgid, group) in self.candidates(view, request, &asked) {
            let pkey = group.parameters.pkey;
            let visible = request.is_trusted() || view.is_partition_member(client, pkey);
            // Members of both kinds ask by the P_Key that they have.
            let other = request.has(component::PKEY)
                && partition_number(asked.pkey) != partition_number(pkey);
            if !visible || other || !matches_selectors(request, &asked, &group.parameters) {
                continue;
            }
            let done = if request.is_trusted() {
                let gid = |guid| Gid::new(view.settings.prefix, guid);
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
                let of_it = member.is_none_or(|m| group.members.contains_key(&m.guid()));
                of_it && offer(&group.record(mgid, None))
            };
            if done {
                break;
            }
        }
        SaReply::from_records(request, found)
    }

    /// The groups that can match: looked up by what is asked for.
    pub(super) fn candidates<'a>(
        &'a self,
        view: &View,
        request: &SaRequest<'_>,
        asked: &McMemberRecord,
    ) -> Box<dyn Iterator<Item = (Gid, &'a MulticastGroup)> + 'a> {
        let port = asked.port_gid;
        // Only who is trusted is told by PortGID 0 which groups nobody is in.
        let of_nobody = port == Gid::default() && request.is_trusted();
        if request.has(component::PORT_GID) && !of_nobody && !view.is_local_prefix(port.prefix()) {
            Box::new(core::iter::empty())
        } else if request.has(component::MGID) {
            Box::new(self.get(asked.mgid).map(|g| (asked.mgid, g)).into_iter())
        } else if request.has(component::PORT_GID) && !of_nobody {
            let joined = self.memberships.groups_of(port.guid());
            Box::new(joined.filter_map(|mgid| Some((mgid, self.get(mgid)?))))
        } else if request.has(component::MLID) {
            Box::new(self.groups_of_mlid(asked.mlid))
        } else {
            Box::new(self.iter())
        }
    }
}
