//! Multicast groups: who is a member of what (IBA 10.5, 15.2.5.19; behaviour rules 10.1 to 10.19).
//!
//! | module | what it holds |
//! |---|---|
//! | this | all groups, and what changed |
//! | `group` | a group, its parameters and its members |
//! | [`mlid`] | which MLID a group gets, and who shares one |
//! | [`join`] | join, create, leave |
//! | `joined` | which groups each GUID is in |
//! | [`query`] | Get and GetTable |
//!
//! It knows no switch: how packets reach the members is for whoever makes trees from [`MulticastGroups::members`].

mod group;
pub mod join;
mod memberships;
pub mod mlid;
pub mod query;

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::ids::{Gid, Lid, PKey, PortGuid, Sl};
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord};

use super::registration::{Registration, RegistrationKey, RegistrationUpdate};
use crate::view::View;
pub use group::{GroupMember, GroupParameters, MulticastGroup};
use memberships::MembershipIndex;
use mlid::MlidAllocator;
pub use mlid::MlidExhaustion;

/// Most groups: those beyond the MLIDs share them, so only this bounds the memory that clients can take. A client that wants one
/// more is told that there are no resources.
const GROUPS_MAX: usize = 1 << 17;

/// A group came or went: notice 66 or 67.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupEvent {
    /// It was created.
    Created(Gid),
    /// It was deleted; nobody can ask for its partition any more.
    Deleted(Gid, PKey),
}

/// All groups.
#[derive(Debug, Clone, Default)]
pub struct MulticastGroups {
    groups: BTreeMap<Gid, MulticastGroup>,
    memberships: MembershipIndex,
    mlids: MlidAllocator,
    /// MLIDs whose members are others than when [`MulticastGroups::take_changed`] was last called.
    changed_mlids: BTreeSet<Lid>,
    /// What came and went since [`MulticastGroups::take_lifetimes`] was last called.
    events: Vec<GroupEvent>,
    /// MulticastGroups, and members of them, that are not as they are kept.
    unsaved: BTreeSet<(Gid, Option<PortGuid>)>,
    /// Members of groups whose parameters changed since [`MulticastGroups::take_misinformed`] was last called.
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

    /// The ports that packets to an MLID concern, and whether they must receive them.
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
    pub fn used_mlids(&self) -> impl Iterator<Item = Lid> {
        self.mlids.used()
    }

    /// How many MLIDs the fabric has: the smallest table of a switch decides (rule 1.18). MulticastGroups keep the MLIDs that they have.
    pub fn set_mlid_count(&mut self, count: u16) {
        self.mlids.set_count(count);
    }

    /// Whether new IPv6 solicited-node groups of one partition and scope share an MLID; those that are there keep theirs.
    pub fn consolidate_solicited_node(&mut self, yes: bool) {
        self.mlids.set_consolidate(yes);
    }

    /// MLIDs whose members changed; each is told once.
    pub fn take_changed_mlids(&mut self) -> BTreeSet<Lid> {
        core::mem::take(&mut self.changed_mlids)
    }

    /// MulticastGroups that came or went, in order; each is told once.
    pub fn take_events(&mut self) -> Vec<GroupEvent> {
        core::mem::take(&mut self.events)
    }

    /// That there are fewer MLIDs than groups, each degree of it once.
    pub fn take_mlid_exhaustion(&mut self) -> Option<MlidExhaustion> {
        self.mlids.take_exhaustion()
    }

    /// Removes members that are not in the partition of their group any more. OpenSM leaves them in; but then they would go on
    /// to get what a join would refuse them. Their hosts see by themselves that their P_Keys changed.
    pub fn remove_members_outside_partition(&mut self, view: &View) {
        let belongs = |guid: &PortGuid, pkey: PKey| {
            let port = view.by_guid(*guid);
            port.is_none_or(|port| view.is_partition_member(port, pkey))
        };
        let mut strangers = Vec::new();
        for (mgid, group) in &self.groups {
            let pkey = group.parameters.pkey;
            let here = group.members.keys().filter(|guid| !belongs(guid, pkey));
            strangers.extend(here.map(|guid| (*mgid, *guid)));
        }
        for (mgid, guid) in strangers {
            self.remove_member(mgid, guid);
            self.delete_if_unused(mgid);
        }
    }

    /// Adds a group that stays without members, or gives one that is there other parameters (rule 10.12). `None` if there is
    /// no MLID for it.
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

    /// Gives all groups the SL that the routing has for them, where it has one.
    pub fn set_sl(&mut self, sl: Sl) {
        for (mgid, group) in &mut self.groups {
            if group.parameters.sl != sl {
                group.parameters.sl = sl;
                self.outdated_members.extend(group.members.keys());
                self.unsaved.insert((*mgid, None));
            }
        }
    }

    /// Members of groups whose packets have other parameters than they were told; each is given once.
    pub fn take_outdated_members(&mut self) -> BTreeSet<PortGuid> {
        core::mem::take(&mut self.outdated_members)
    }

    /// A group that is not well known any more; it goes with its last member.
    pub fn clear_well_known(&mut self, mgid: Gid) {
        if let Some(group) = self.groups.get_mut(&mgid) {
            group.well_known = false;
            self.unsaved.insert((mgid, None));
        }
        self.delete_if_unused(mgid);
    }

    /// Whether a GUID is a member of any group.
    #[must_use]
    pub fn is_member(&self, guid: PortGuid) -> bool {
        self.memberships.groups_of(guid).next().is_some()
    }

    /// Removes a port from all groups (rule 10.18). Whether it was in any.
    pub fn remove_port(&mut self, guid: PortGuid) -> bool {
        let joined: Vec<Gid> = self.memberships.groups_of(guid).collect();
        for mgid in &joined {
            self.remove_member(*mgid, guid);
            self.delete_if_unused(*mgid);
        }
        !joined.is_empty()
    }

    /// Whoever is a member of anything.
    pub(super) fn member_guids(&self) -> impl Iterator<Item = PortGuid> {
        self.memberships.guids()
    }

    /// All members as records; a group that stays without members as one of nobody besides.
    pub(super) fn member_records(&self) -> Vec<McMemberRecord> {
        let groups = self.groups.iter();
        groups
            .flat_map(|(mgid, group)| group.member_records(*mgid))
            .collect()
    }

    /// All groups and members, to be kept.
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

    /// What became of the groups and members that changed since this was last asked.
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

    /// Takes in what was saved. Nobody is told that groups were created: they were there all the time.
    pub(super) fn restore(&mut self, records: &[McMemberRecord]) {
        for record in records.iter().filter(|r| r.mgid.is_multicast()) {
            if !self.groups.contains_key(&record.mgid) && self.groups.len() < GROUPS_MAX {
                let (mgid, parameters) = (record.mgid, GroupParameters::from_record(record));
                let kept = self
                    .mlids
                    .restore(mgid, &parameters, record.mlid, &self.groups);
                if let Some(mlid) = kept {
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
                // Only what is well known stays without members; the configuration says whether it still is.
                group.well_known = true;
            } else if record.join_state != JoinState(0) {
                let member = GroupMember {
                    join_state: record.join_state,
                    proxy: record.proxy_join,
                };
                self.set_member(record.mgid, record.port_gid.guid(), member);
            }
        }
        let dead: Vec<Gid> = self
            .groups
            .iter()
            .filter(|(_, g)| !g.is_in_use())
            .map(|(gid, _)| *gid)
            .collect();
        for mgid in dead {
            self.delete_if_unused(mgid);
        }
        self.events.clear();
    }

    fn add(
        &mut self,
        mgid: Gid,
        parameters: GroupParameters,
        wanted: Option<Lid>,
        well_known: bool,
    ) -> Option<Lid> {
        if !well_known && self.groups.len() >= GROUPS_MAX {
            return None;
        }
        let mlid = self
            .mlids
            .allocate(mgid, &parameters, wanted, &self.groups)?;
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

    /// Deletes a group that nobody keeps alive.
    fn delete_if_unused(&mut self, mgid: Gid) {
        if self.groups.get(&mgid).is_some_and(|g| !g.is_in_use())
            && let Some(group) = self.groups.remove(&mgid)
        {
            self.memberships.remove_group(mgid, &group.members);
            let members = group.members.keys().map(|guid| (mgid, Some(*guid)));
            self.unsaved.extend(members.chain([(mgid, None)]));
            self.mlids.free(group.mlid, mgid);
            self.changed_mlids.insert(group.mlid);
            self.events
                .push(GroupEvent::Deleted(mgid, group.parameters.pkey));
        }
    }
}
