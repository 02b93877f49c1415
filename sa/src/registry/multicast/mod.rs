//! Multicast groups and their members (IBA 10.5, 15.2.5.17; docs/sm-behaviour.md 10.1 to 10.19).
//!
//! | module | contents |
//! |---|---|
//! | this | all groups, and their changes |
//! | [`mlid`] | allocation of MLIDs |
//! | [`join`] | join, create, leave |
//! | `memberships` | index of groups by member |
//! | [`query`] | Get and GetTable |
//!
//! This module does not access switches: the SM computes trees from
//! [`MulticastGroups::members_of_mlid`].

pub mod join;
mod memberships;
pub mod mlid;
pub mod query;

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::snapshot::EndPortIdx;
use ferrosm_mad::ids::{Gid, Lid, PKey, PortGuid, Sl};
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord, mgid};

use super::group::{GroupMember, GroupParameters, MulticastGroup};
use super::registration::{Registration, RegistrationKey, RegistrationUpdate};
use crate::refusal::SaRefusal;
use crate::view::View;
use join::check_port;
use memberships::MembershipIndex;
use mlid::MlidAllocator;
pub use mlid::MlidExhaustion;

/// Maximum number of groups. Groups beyond the number of MLIDs share them, so only this limit
/// bounds memory. Further creating joins fail with NO_RESOURCES.
const GROUPS_MAX: usize = 1 << 17;

/// Creation or deletion of a group: notice 66 or 67.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupEvent {
    /// The group was created.
    Created(Gid),
    /// The group was deleted; the event carries its P_Key.
    Deleted(Gid, PKey),
}

/// All multicast groups.
#[derive(Debug, Clone, Default)]
pub struct MulticastGroups {
    groups: BTreeMap<Gid, MulticastGroup>,
    memberships: MembershipIndex,
    mlids: MlidAllocator,
    /// MLIDs whose members changed since the last [`MulticastGroups::take_changed_mlids`].
    changed_mlids: BTreeSet<Lid>,
    /// Groups created and deleted since the last [`MulticastGroups::take_events`].
    events: Vec<GroupEvent>,
    /// Groups and members that changed since the last [`MulticastGroups::take_updates`].
    unsaved: BTreeSet<(Gid, Option<PortGuid>)>,
    /// Members of groups whose parameters changed since the last
    /// [`MulticastGroups::take_outdated_members`].
    outdated_members: BTreeSet<PortGuid>,
}

impl MulticastGroups {
    /// A group.
    #[must_use]
    pub fn get(&self, mgid: Gid) -> Option<&MulticastGroup> {
        self.groups.get(&mgid)
    }

    /// All groups, by MGID.
    pub fn iter(&self) -> impl Iterator<Item = (Gid, &MulticastGroup)> {
        self.groups.iter().map(|(gid, group)| (*gid, group))
    }

    /// The groups that share an MLID.
    pub fn groups_of_mlid(&self, mlid: Lid) -> impl Iterator<Item = (Gid, &MulticastGroup)> {
        let gids = self.mlids.groups(mlid);
        gids.filter_map(|gid| Some((gid, self.groups.get(&gid)?)))
    }

    /// The ports of an MLID, and whether they receive its packets.
    #[must_use]
    pub fn members_of_mlid(&self, mlid: Lid) -> BTreeMap<PortGuid, bool> {
        let mut members = BTreeMap::new();
        for (_, group) in self.groups_of_mlid(mlid) {
            for (guid, member) in &group.members {
                *members.entry(*guid).or_default() |= member.join_state.receives();
            }
        }
        members
    }

    /// The MLIDs in use.
    pub fn used_mlids(&self) -> impl DoubleEndedIterator<Item = Lid> {
        self.mlids.used_mlids()
    }

    /// Sets the number of MLIDs, which the largest MFT limits (docs/sm-behaviour.md 1.18). Existing
    /// groups retain their MLIDs.
    pub fn set_mlid_count(&mut self, count: u16) {
        self.mlids.set_count(count);
    }

    /// Moves groups to free ones of the first `count` MLIDs. Their members have to join again
    /// ([`Self::take_outdated_members`]).
    pub fn move_below(&mut self, count: u16) {
        let limit = self.mlids.count();
        self.mlids.set_count(count.min(limit));
        let is_high = |(_, group): &(&Gid, &MulticastGroup)| !self.mlids.is_usable(group.mlid);
        let high: Vec<Gid> = self
            .groups
            .iter()
            .filter(is_high)
            .map(|(mgid, _)| *mgid)
            .collect();
        for mgid in high {
            if !self.mlids.has_free() {
                break;
            }
            let Some(MulticastGroup {
                mlid: before,
                parameters,
                ..
            }) = self.groups.get(&mgid).cloned()
            else {
                continue;
            };
            let after = self.mlids.allocate(mgid, &parameters, None, &self.groups);
            if let Some((group, after)) = self.groups.get_mut(&mgid).zip(after) {
                self.mlids.release(before, mgid);
                group.mlid = after;
                self.outdated_members.extend(group.members.keys());
                self.changed_mlids.extend([before, after]);
                self.unsaved.insert((mgid, None));
            }
        }
        self.mlids.set_count(limit);
    }

    /// Sets whether new IPv6 solicited-node groups of one partition and scope share an MLID.
    /// Existing groups retain their MLIDs.
    pub fn consolidate_solicited_node(&mut self, consolidate: bool) {
        self.mlids.set_consolidate(consolidate);
    }

    /// Takes the MLIDs whose members changed.
    pub fn take_changed_mlids(&mut self) -> BTreeSet<Lid> {
        core::mem::take(&mut self.changed_mlids)
    }

    /// Takes the groups that were created and deleted, in order.
    pub fn take_events(&mut self) -> Vec<GroupEvent> {
        core::mem::take(&mut self.events)
    }

    /// Takes an exhaustion of MLIDs, each severity once.
    pub fn take_mlid_exhaustion(&mut self) -> Option<MlidExhaustion> {
        self.mlids.take_exhaustion()
    }

    /// Removes members outside the partition of their group. OpenSM retains them: they still
    /// receive packets of a group that they may not join. Their hosts detect the P_Key change
    /// themselves. Returns the number of memberships removed.
    pub fn remove_members_outside_partition(&mut self, view: &View) -> usize {
        let belongs = |guid: &PortGuid, pkey: PKey| {
            let port = view.by_guid(*guid);
            port.is_none_or(|port| view.is_partition_member(port, pkey))
        };
        let mut to_remove = Vec::new();
        for (mgid, group) in &self.groups {
            let pkey = group.parameters.pkey;
            let former_members = group.members.keys().filter(|guid| !belongs(guid, pkey));
            to_remove.extend(former_members.map(|guid| (*mgid, *guid)));
        }
        let count = to_remove.len();
        for (mgid, guid) in to_remove {
            self.remove_member(mgid, guid);
            self.delete_if_unused(mgid);
        }
        count
    }

    /// Creates a well-known group, or changes the parameters of an existing one
    /// (docs/sm-behaviour.md 10.12). `None` if no MLID is available.
    pub fn set_well_known(&mut self, mgid: Gid, parameters: GroupParameters) -> Option<Lid> {
        if let Some(group) = self.groups.get_mut(&mgid) {
            if !group.parameters.has_same_packet_fields(&parameters) {
                self.outdated_members.extend(group.members.keys());
            }
            if !group.well_known || group.parameters != parameters {
                group.well_known = true;
                group.parameters = parameters;
                self.unsaved.insert((mgid, None));
            }
            return Some(group.mlid);
        }
        self.add(mgid, parameters, None, true)
    }

    /// Sets the SL of all groups to the one that the routing requires.
    pub fn set_sl(&mut self, sl: Sl) {
        for (mgid, group) in &mut self.groups {
            if group.parameters.sl != sl {
                group.parameters.sl = sl;
                self.outdated_members.extend(group.members.keys());
                self.unsaved.insert((*mgid, None));
            }
        }
    }

    /// Takes the members of groups whose packet parameters changed after they joined.
    pub fn take_outdated_members(&mut self) -> BTreeSet<PortGuid> {
        core::mem::take(&mut self.outdated_members)
    }

    /// Makes a group ordinary: it is deleted when its last full member leaves.
    pub fn clear_well_known(&mut self, mgid: Gid) {
        if let Some(group) = self.groups.get_mut(&mgid) {
            group.well_known = false;
            self.unsaved.insert((mgid, None));
        }
        self.delete_if_unused(mgid);
    }

    /// The ports of CAs and routers that cannot join the broadcast group of a partition of theirs,
    /// and why: their hosts have no IPoIB.
    #[must_use]
    pub fn ports_below_broadcast_group(&self, view: &View) -> Vec<(EndPortIdx, PKey, SaRefusal)> {
        let is_broadcast = |gid: Gid| gid == mgid::broadcast(gid.mgid_pkey(), gid.mgid_scope());
        let groups = self.groups.iter();
        let broadcast_groups: Vec<&GroupParameters> = groups
            .filter(|(gid, group)| group.well_known && is_broadcast(**gid))
            .map(|(_, group)| &group.parameters)
            .collect();
        let mut found = Vec::new();
        for at in view.end_port_indices() {
            let end_port = view.end_port(at);
            if view.is_switch(end_port.node) {
                continue;
            }
            let port = view.port(end_port.port);
            for parameters in &broadcast_groups {
                if let Err(refusal) = check_port(port, parameters)
                    && view.is_partition_member(at, parameters.pkey)
                {
                    found.push((at, parameters.pkey, refusal));
                }
            }
        }
        found
    }

    /// Whether a GUID is a member of any group.
    #[must_use]
    pub fn is_member(&self, guid: PortGuid) -> bool {
        self.memberships.groups_of(guid).next().is_some()
    }

    /// Removes a port from all groups (docs/sm-behaviour.md 10.18). Returns whether it was a member
    /// of any.
    pub fn remove_port(&mut self, guid: PortGuid) -> bool {
        let groups: Vec<Gid> = self.memberships.groups_of(guid).collect();
        for mgid in &groups {
            self.remove_member(*mgid, guid);
            self.delete_if_unused(*mgid);
        }
        !groups.is_empty()
    }

    /// All member GUIDs.
    pub(super) fn member_guids(&self) -> impl Iterator<Item = PortGuid> {
        self.memberships.guids()
    }

    /// Records of all members, and one record without PortGID for each well-known group.
    pub(super) fn member_records(&self) -> Vec<McMemberRecord> {
        let groups = self.groups.iter();
        groups
            .flat_map(|(mgid, group)| group.member_records(*mgid))
            .collect()
    }

    /// All groups and members as registrations.
    pub(super) fn registrations(&self) -> impl Iterator<Item = Registration> {
        self.groups.iter().flat_map(|(&mgid, group)| {
            let members = group.members.iter();
            let member = move |(&port, &member): (&PortGuid, &GroupMember)| Registration::Member {
                mgid,
                port,
                member,
            };
            core::iter::once(Registration::from_group(mgid, group)).chain(members.map(member))
        })
    }

    pub(super) fn has_updates(&self) -> bool {
        !self.unsaved.is_empty()
    }

    /// Appends the changes since the last call.
    pub(super) fn take_updates(&mut self, updates: &mut Vec<RegistrationUpdate>) {
        for (mgid, port) in core::mem::take(&mut self.unsaved) {
            let group = self.groups.get(&mgid);
            updates.push(match (port, group) {
                (None, Some(group)) => {
                    RegistrationUpdate::Put(Registration::from_group(mgid, group))
                }
                (None, None) => RegistrationUpdate::Remove(RegistrationKey::Group(mgid)),
                (Some(port), group) => match group.and_then(|g| g.members.get(&port)) {
                    Some(&member) => {
                        RegistrationUpdate::Put(Registration::Member { mgid, port, member })
                    }
                    None => RegistrationUpdate::Remove(RegistrationKey::Member(mgid, port)),
                },
            });
        }
    }

    /// Adds persisted groups and members. No events are generated.
    pub(super) fn restore(&mut self, records: &[McMemberRecord]) {
        for record in records.iter().filter(|r| r.mgid.is_multicast()) {
            if !self.groups.contains_key(&record.mgid) && self.groups.len() < GROUPS_MAX {
                let mgid = record.mgid;
                let parameters = GroupParameters::from_record(record);
                let restored = self
                    .mlids
                    .restore(mgid, &parameters, record.mlid, &self.groups);
                if let Some(mlid) = restored {
                    self.insert(mgid, mlid, parameters, false);
                } else {
                    self.add(mgid, parameters, None, false);
                }
            }
            let Some(group) = self.groups.get_mut(&record.mgid) else {
                continue;
            };
            self.changed_mlids.insert(group.mlid);
            if record.port_gid == Gid::default() {
                // The record says that the group was well known; partition configuration decides
                // whether it still is.
                group.well_known = true;
            } else if record.join_state != JoinState(0) {
                let member = GroupMember {
                    join_state: record.join_state,
                    proxy: record.proxy_join,
                };
                self.set_member(record.mgid, record.port_gid.guid(), member);
            }
        }
        let unused: Vec<Gid> = self
            .groups
            .iter()
            .filter(|(_, g)| !g.is_in_use())
            .map(|(gid, _)| *gid)
            .collect();
        for mgid in unused {
            self.delete_if_unused(mgid);
        }
        self.events.clear();
    }

    fn add(
        &mut self,
        mgid: Gid,
        parameters: GroupParameters,
        requested: Option<Lid>,
        well_known: bool,
    ) -> Option<Lid> {
        if !well_known && self.groups.len() >= GROUPS_MAX {
            return None;
        }
        let mlid = self
            .mlids
            .allocate(mgid, &parameters, requested, &self.groups)?;
        self.insert(mgid, mlid, parameters, well_known);
        Some(mlid)
    }

    fn insert(&mut self, mgid: Gid, mlid: Lid, parameters: GroupParameters, well_known: bool) {
        let members = BTreeMap::new();
        let group = MulticastGroup {
            mlid,
            parameters,
            well_known,
            members,
        };
        self.groups.insert(mgid, group);
        self.unsaved.insert((mgid, None));
        self.events.push(GroupEvent::Created(mgid));
    }

    /// Deletes a group that is not in use.
    fn delete_if_unused(&mut self, mgid: Gid) {
        if self.groups.get(&mgid).is_some_and(|g| !g.is_in_use())
            && let Some(group) = self.groups.remove(&mgid)
        {
            self.memberships.remove_group(mgid, &group.members);
            let members = group.members.keys().map(|guid| (mgid, Some(*guid)));
            self.unsaved.extend(members.chain([(mgid, None)]));
            self.mlids.release(group.mlid, mgid);
            self.changed_mlids.insert(group.mlid);
            self.events
                .push(GroupEvent::Deleted(mgid, group.parameters.pkey));
        }
    }
}
