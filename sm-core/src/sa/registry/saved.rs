//! What clients have registered, as records: kept over restarts, and given to whoever takes over.
//!
//! Each part of the registry knows which of its records changed, so that a request costs the records that it changed and no
//! others. Records are the specification's own; their bytes are [`crate::kept`]'s. Reports under way are not kept: who waits for one
//! learns of the restart by being asked to register again.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::ids::{Gid, Lid, PortGuid, Sl};
use ferrosm_mad::sa::inform::InformInfoRecord;
use ferrosm_mad::sa::multicast::McMemberRecord;
use ferrosm_mad::time::Instant;

use super::Registry;
use super::multicast::{Member, Parameters};
use super::snapshot::ChangedParts;
use crate::kept::{self, Key, Record, Update};
use crate::sa::view::View;

/// Everything that clients have registered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Saved {
    /// One record for each member, and for a group that stays without members one whose PortGID is 0.
    pub members: Vec<McMemberRecord>,
    /// Services.
    pub services: Vec<kept::Service>,
    /// Subscriptions.
    pub subscriptions: Vec<SavedSubscription>,
    /// Alias GUIDs.
    pub aliases: Vec<SavedAlias>,
}

/// An alias GUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedAlias {
    /// The port, by its own GUID.
    pub port: PortGuid,
    /// Place in the port's GUIDInfo table, 1 to 2047.
    pub index: u16,
    /// The alias.
    pub alias: PortGuid,
}

/// A subscription and how its subscriber is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SavedSubscription {
    /// Who wants to hear of what.
    pub record: InformInfoRecord,
    /// The subscriber's LID.
    pub lid: Lid,
    /// SL of reports.
    pub sl: Sl,
    /// Low bits of the own LID that reports come from.
    pub path_bits: u8,
    /// Index of the P_Key of reports.
    pub pkey_index: u16,
}

impl Saved {
    /// Whether nobody has registered anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
            && self.services.is_empty()
            && self.subscriptions.is_empty()
            && self.aliases.is_empty()
    }

    /// All of it, to be kept.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        let (mut members, mut groups) = (Vec::new(), BTreeMap::new());
        for record in &self.members {
            let mgid = record.mgid;
            let nobody = record.port_gid == Gid::default();
            let group = groups.entry(mgid).or_insert_with(|| Record::Group {
                mgid,
                mlid: record.mlid,
                well_known: false,
                parameters: Parameters::of(record),
            });
            if !nobody {
                let port = record.port_gid.guid();
                let (join_state, proxy) = (record.join_state, record.proxy_join);
                let member = Member { join_state, proxy };
                members.push(Record::Member { mgid, port, member });
            } else if let Record::Group { well_known, .. } = group {
                *well_known = true;
            }
        }
        let services = self.services.iter().cloned().map(Box::new);
        let subscriptions = self.subscriptions.iter().copied();
        groups
            .into_values()
            .chain(members)
            .chain(services.map(Record::Service))
            .chain(subscriptions.map(Record::Subscription))
            .chain(self.aliases.iter().copied().map(Record::Alias))
    }
}

impl Registry {
    /// Everything that is registered now.
    #[must_use]
    pub fn saved(&self, now: Instant) -> Saved {
        Saved {
            members: self.groups.saved(),
            services: self.services.saved(now),
            subscriptions: self.subscriptions.saved(),
            aliases: self.aliases.saved(),
        }
    }

    /// A registry as it was saved. MLIDs are kept where they can be; what cannot be true is left out, and only what is otherwise
    /// than it was saved is to be kept anew.
    #[must_use]
    pub fn restored(saved: &Saved, now: Instant) -> Self {
        let mut registry = Self::default();
        registry.groups.restore(&saved.members);
        registry.services.restore(&saved.services, now);
        registry.subscriptions.restore(&saved.subscriptions);
        registry.aliases.restore(&saved.aliases);
        let before: BTreeMap<Key, Record> = saved.records().map(|r| (r.key(), r)).collect();
        let updates = registry.take_updates(now);
        let differs = |update: &Update| match update {
            Update::Put(record) => before.get(&record.key()) != Some(record),
            Update::Clear(_) | Update::Remove(_) => true,
        };
        registry.unkept = updates.into_iter().filter(differs).collect();
        let now: BTreeSet<Key> = registry.records(now).map(|r| r.key()).collect();
        let gone = before.into_keys().filter(|key| !now.contains(key));
        registry.unkept.extend(gone.map(Update::Remove));
        registry
    }

    /// All that is registered now, to be kept.
    pub fn records(&self, now: Instant) -> impl Iterator<Item = Record> {
        let services = self.services.saved(now).into_iter().map(Box::new);
        let groups = self.groups.records();
        groups
            .chain(services.map(Record::Service))
            .chain(
                self.subscriptions
                    .saved()
                    .into_iter()
                    .map(Record::Subscription),
            )
            .chain(self.aliases.saved().into_iter().map(Record::Alias))
    }

    /// What became of the records that changed since this was last asked.
    pub fn take_updates(&mut self, now: Instant) -> Vec<Update> {
        let mut updates = core::mem::take(&mut self.unkept);
        let before = updates.len();
        self.groups.take_updates(&mut updates);
        let groups = updates.len();
        self.services.take_updates(now, &mut updates);
        let services = updates.len();
        self.subscriptions.take_updates(&mut updates);
        self.parts.invalidate(ChangedParts {
            groups: groups > before,
            services: services > groups,
            subscriptions: updates.len() > services,
        });
        self.revision += u64::from(updates.len() > before);
        self.aliases.take_updates(&mut updates);
        updates
    }

    /// What was restored meets the subnet as it is: members and aliases that are not there any more leave, devices are told
    /// their aliases, and subscribers are reached by the LIDs that they have now. Ports of which something ended so.
    pub fn meet(&mut self, view: &View, now: Instant) -> BTreeSet<PortGuid> {
        let mut ended = BTreeSet::new();
        for port in self.aliases.all().ports().collect::<Vec<_>>() {
            if view.by_guid(port).is_none() {
                self.aliases.remove_port(port);
                ended.insert(port);
            } else {
                self.aliases.write_again(port);
            }
        }
        let owner = |guid: &PortGuid| self.aliases.all().owner(*guid).unwrap_or(*guid);
        let gone: Vec<PortGuid> = self
            .groups
            .member_guids()
            .filter(|guid| view.by_guid(owner(guid)).is_none())
            .collect();
        for guid in gone {
            self.groups.remove_port(guid);
            ended.insert(guid);
        }
        self.subscriptions.readdress(view);
        self.tell_lifetimes(view, now);
        ended
    }
}
