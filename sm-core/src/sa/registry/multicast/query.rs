//! Get and GetTable of MCMemberRecord (rule 10.11): who asks without the SM_Key sees groups, who has it sees members.

use ferrosm_mad::ids::Gid;
use ferrosm_mad::mad::Status;
use ferrosm_mad::sa::multicast::McMemberRecord;
use ferrosm_mad::sa::{Record, Template};

use super::Groups;
use super::join::{component, holds};
use crate::sa::message::{Found, Reply, Request};
use crate::sa::view::View;

/// Components that are compared by their meaning, not by their bits.
const BY_MEANING: u64 = component::MTU
    | component::RATE
    | component::PACKET_LIFE_TIME
    | component::PORT_GID
    | component::PROXY_JOIN;

impl Groups {
    /// Answers a query.
    #[must_use]
    pub fn query(&self, view: &View, request: &Request<'_>) -> Reply {
        let Some(client) = view.by_lid(request.from.lid) else {
            return Reply::error(Status::REQ_INVALID);
        };
        let asked = McMemberRecord::decode(request.data);
        let mask = request.component_mask & !BY_MEANING;
        let template = Template::new::<McMemberRecord>(mask, request.data);
        let member = request.has(component::PORT_GID).then_some(asked.port_gid);
        let mut found = Found::new(request, McMemberRecord::STRIDE);
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
        let one = request
            .has(component::MGID)
            .then(|| self.groups.get_key_value(&asked.mgid));
        let (one, all) = match one {
            Some(one) => (one, None),
            None => (None, Some(self.groups.iter())),
        };
        for (mgid, group) in one.into_iter().chain(all.into_iter().flatten()) {
            let visible = request.is_trusted() || view.is_member(client, group.parameters.pkey);
            if !visible || !holds(request, &asked, &group.parameters) {
                continue;
            }
            let done = if request.is_trusted() {
                let gid = |guid| Gid::new(view.prefix, guid);
                let mut members = group
                    .members
                    .iter()
                    .filter(|(guid, _)| {
                        member
                            .is_none_or(|m| m.guid() == **guid && view.is_local_prefix(m.prefix()))
                    })
                    .map(|(guid, m)| group.record(*mgid, Some((gid(*guid), *m))));
                let empty = group.members.is_empty() && member.is_none_or(|m| m == Gid::default());
                members.any(|r| offer(&r)) || empty && offer(&group.record(*mgid, None))
            } else {
                let of_it = member.is_none_or(|m| group.members.contains_key(&m.guid()));
                of_it && offer(&group.record(*mgid, None))
            };
            if done {
                break;
            }
        }
        Reply::of(request, found)
    }
}
