//! Index of groups by member, the inverse of
//! [`MulticastGroup::members`](crate::registry::group::MulticastGroup).
//!
//! All changes of memberships go through the functions of this module, which keep both directions
//! consistent.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::ids::{Gid, PortGuid};

use super::MulticastGroups;
use crate::registry::group::GroupMember;

/// Groups by member GUID.
#[derive(Debug, Clone, Default)]
pub(super) struct MembershipIndex {
    pairs: BTreeSet<(PortGuid, Gid)>,
}

impl MembershipIndex {
    /// The groups of a member.
    pub(super) fn groups_of(&self, guid: PortGuid) -> impl Iterator<Item = Gid> {
        let range = (guid, Gid([0; 16]))..=(guid, Gid([0xFF; 16]));
        self.pairs.range(range).map(|(_, mgid)| *mgid)
    }

    /// All member GUIDs, each once.
    pub(super) fn guids(&self) -> impl Iterator<Item = PortGuid> {
        let mut last = None;
        let guids = self.pairs.iter().map(|(guid, _)| *guid);
        guids.filter(move |guid| last.replace(*guid) != Some(*guid))
    }

    /// Removes a deleted group and its members.
    pub(super) fn remove_group(&mut self, mgid: Gid, members: &BTreeMap<PortGuid, GroupMember>) {
        for guid in members.keys() {
            self.pairs.remove(&(*guid, mgid));
        }
    }
}

impl MulticastGroups {
    /// Adds a member or replaces its JoinState.
    pub(super) fn set_member(&mut self, mgid: Gid, guid: PortGuid, member: GroupMember) {
        let Some(group) = self.groups.get_mut(&mgid) else {
            return;
        };
        let before = group.members.insert(guid, member);
        if before.is_none() {
            self.memberships.pairs.insert((guid, mgid));
        }
        if before != Some(member) {
            self.unsaved.insert((mgid, Some(guid)));
        }
        if before.is_none_or(|b| b.join_state != member.join_state) {
            self.changed_mlids.insert(group.mlid);
        }
    }

    /// Removes a member. The caller deletes the group if it is unused.
    pub(super) fn remove_member(&mut self, mgid: Gid, guid: PortGuid) {
        if let Some(group) = self.groups.get_mut(&mgid)
            && group.members.remove(&guid).is_some()
        {
            self.memberships.pairs.remove(&(guid, mgid));
            self.unsaved.insert((mgid, Some(guid)));
            self.changed_mlids.insert(group.mlid);
        }
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::attr::MtuCode;
    use ferrosm_mad::gmp::Peer;
    use ferrosm_mad::ids::{AttrMod, GidPrefix, Lid, MKey, PKey, Sl, Tid};
    use ferrosm_mad::mad::Method;
    use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord};
    use ferrosm_mad::sa::path::RateCode;
    use ferrosm_mad::sa::{DATA_LEN, id};
    use proptest::prelude::*;

    use super::super::join::component;
    use super::*;
    use crate::message::SaRequest;
    use crate::registry::group::GroupParameters;
    use crate::registry::registration::RegistrationUpdate;
    use crate::view::View;

    fn mgid(n: u8) -> Gid {
        let mut gid = Gid([0; 16]);
        (gid.0[0], gid.0[1], gid.0[15]) = (0xFF, 0x12, n);
        gid
    }

    fn parameters() -> GroupParameters {
        GroupParameters {
            qkey: 0,
            mtu: MtuCode::Mtu2048,
            tclass: 0,
            pkey: PKey(0xFFFF),
            rate: RateCode::G10,
            packet_life_time: 18,
            sl: Sl(0),
            flow_label: 0,
            hop_limit: 0,
            scope: 2,
        }
    }

    /// The groups that a trusted query examines.
    fn examined_groups(
        groups: &MulticastGroups,
        view: &View,
        mask: u64,
        requested: &McMemberRecord,
    ) -> Vec<Gid> {
        let mut data = [0; DATA_LEN];
        requested.encode_onto(&mut data);
        let request = SaRequest {
            from: Peer::default(),
            method: Method::GetTable,
            attr: id::MC_MEMBER,
            attr_mod: AttrMod(0),
            tid: Tid(0),
            sm_key: MKey::new(1),
            component_mask: mask,
            data: &data,
            tail: &[],
        };
        let candidates = groups.candidates(view, &request, requested);
        candidates.map(|(mgid, _)| mgid).collect()
    }

    /// The index agrees with a scan of all groups, and queries examine only matching groups.
    fn check(groups: &MulticastGroups, view: &View) {
        for n in 0..12 {
            let guid = PortGuid(n);
            let scan = groups.iter().filter(|(_, g)| g.members.contains_key(&guid));
            let scan: Vec<Gid> = scan.map(|(mgid, _)| mgid).collect();
            assert_eq!(groups.memberships.groups_of(guid).collect::<Vec<_>>(), scan);
            assert_eq!(groups.is_member(guid), !scan.is_empty());
            let requested = McMemberRecord {
                port_gid: Gid::new(GidPrefix::DEFAULT, guid),
                ..McMemberRecord::default()
            };
            let examined = examined_groups(groups, view, component::PORT_GID, &requested);
            assert_eq!(examined, scan);
        }
        let guids: BTreeSet<PortGuid> = groups
            .iter()
            .flat_map(|(_, g)| g.members.keys().copied())
            .collect();
        assert_eq!(
            groups.member_guids().collect::<Vec<_>>(),
            Vec::from_iter(guids)
        );
        for mlid in 0xC000..0xC010 {
            let mlid = Lid(mlid);
            let scan = groups.iter().filter(|(_, g)| g.mlid == mlid);
            let scan: Vec<Gid> = scan.map(|(mgid, _)| mgid).collect();
            let requested = McMemberRecord {
                mlid,
                ..McMemberRecord::default()
            };
            assert_eq!(
                examined_groups(groups, view, component::MLID, &requested),
                scan
            );
        }
    }

    proptest! {
        /// Adds, changes and removes members, removes ports, and restores, in any order.
        #[test]
        fn index_and_updates_agree_with_a_scan_of_all_groups(
            count in 2..12u16,
            steps in prop::collection::vec((0..8u8, 0..10u8, 0..12u64, 1..16u8), 1..200),
        ) {
            let view = View::default();
            let mut groups = MulticastGroups::default();
            groups.set_mlid_count(count);
            let mut persisted = BTreeMap::new();
            for (action, group, guid, join_state) in steps {
                let (mgid, guid) = (mgid(group), PortGuid(guid));
                match action {
                    0..=3 => {
                        if groups.get(mgid).is_none() {
                            groups.add(mgid, parameters(), None, join_state == 15);
                        }
                        let member = GroupMember { join_state: JoinState(join_state), proxy: false };
                        groups.set_member(mgid, guid, member);
                        groups.delete_if_unused(mgid);
                    }
                    4 | 5 => {
                        groups.remove_member(mgid, guid);
                        groups.delete_if_unused(mgid);
                    }
                    6 => {
                        let was_member = groups.is_member(guid);
                        prop_assert_eq!(groups.remove_port(guid), was_member);
                        prop_assert!(!groups.is_member(guid));
                    }
                    _ => {
                        let saved = groups.member_records();
                        let mlids = |g: &MulticastGroups| g.iter().map(|(mgid, g)| (mgid, g.mlid)).collect::<Vec<_>>();
                        let before = mlids(&groups);
                        groups = MulticastGroups::default();
                        groups.set_mlid_count(count);
                        groups.restore(&saved);
                        persisted.clear();
                        prop_assert_eq!(mlids(&groups), before, "groups retain their MLIDs");
                        prop_assert_eq!(groups.member_records(), saved);
                    }
                }
                check(&groups, &view);
                let mut updates = Vec::new();
                groups.take_updates(&mut updates);
                for update in updates {
                    match update {
                        RegistrationUpdate::Put(registration) => persisted.insert(registration.key(), registration),
                        RegistrationUpdate::Remove(key) => persisted.remove(&key),
                    };
                }
                let registrations = groups.registrations().map(|r| (r.key(), r)).collect();
                prop_assert_eq!(&persisted, &registrations, "updates reproduce the groups");
            }
        }
    }
}
