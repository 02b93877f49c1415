//! The registry as single registrations: persisted over restarts, and replicated to standbys.
//!
//! Each part of the registry knows which of its records changed, so that a request costs the records that it changed and no
//! others. ReportQueue under way are not persisted: their subscribers are asked
//! to register again after a restart.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

use super::Registry;
use super::registration::{Registration, RegistrationKey, RegistrationUpdate, Registrations};
use super::snapshot::ChangedParts;
use crate::view::View;

impl Registry {
    /// Everything that is registered now.
    #[must_use]
    pub fn to_registrations(&self, now: Instant) -> Registrations {
        Registrations {
            members: self.groups.member_records(),
            services: self.services.registrations(now),
            subscriptions: self.subscriptions.registrations(),
            aliases: self.aliases.registrations(),
        }
    }

    /// A registry as it was saved. MLIDs are kept where they can be; what cannot be true is left out, and only what is otherwise
    /// than it was saved is to be kept anew.
    #[must_use]
    pub fn from_registrations(saved: &Registrations, now: Instant) -> Self {
        let mut registry = Self::default();
        registry.groups.restore(&saved.members);
        registry.services.restore(&saved.services, now);
        registry.subscriptions.restore(&saved.subscriptions);
        registry.aliases.restore(&saved.aliases);
        let before: BTreeMap<RegistrationKey, Registration> =
            saved.iter().map(|r| (r.key(), r)).collect();
        let updates = registry.take_updates(now);
        let differs = |update: &RegistrationUpdate| match update {
            RegistrationUpdate::Put(record) => before.get(&record.key()) != Some(record),
            RegistrationUpdate::Remove(_) => true,
        };
        registry.restore_updates = updates.into_iter().filter(differs).collect();
        let now: BTreeSet<RegistrationKey> = registry.registrations(now).map(|r| r.key()).collect();
        let gone = before.into_keys().filter(|key| !now.contains(key));
        registry
            .restore_updates
            .extend(gone.map(RegistrationUpdate::Remove));
        registry
    }

    /// Each registration.
    pub fn registrations(&self, now: Instant) -> impl Iterator<Item = Registration> {
        let services = self.services.registrations(now).into_iter().map(Box::new);
        let groups = self.groups.registrations();
        groups
            .chain(services.map(Registration::Service))
            .chain(
                self.subscriptions
                    .registrations()
                    .into_iter()
                    .map(Registration::Subscription),
            )
            .chain(
                self.aliases
                    .registrations()
                    .into_iter()
                    .map(Registration::Alias),
            )
    }

    /// What became of the records that changed since this was last asked.
    pub fn take_updates(&mut self, now: Instant) -> Vec<RegistrationUpdate> {
        let mut updates = core::mem::take(&mut self.restore_updates);
        let before = updates.len();
        self.groups.take_updates(&mut updates);
        let groups = updates.len();
        self.services.take_updates(now, &mut updates);
        let services = updates.len();
        self.subscriptions.take_updates(&mut updates);
        self.snapshot_parts.invalidate(ChangedParts {
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
    pub fn reconcile_with(&mut self, view: &View, now: Instant) -> BTreeSet<PortGuid> {
        let mut ended = BTreeSet::new();
        for port in self.aliases.tables().ports().collect::<Vec<_>>() {
            if view.by_guid(port).is_none() {
                self.aliases.remove_port(port);
                ended.insert(port);
            } else {
                self.aliases.mark_blocks_changed(port);
            }
        }
        let owner = |guid: &PortGuid| self.aliases.tables().owner(*guid).unwrap_or(*guid);
        let gone: Vec<PortGuid> = self
            .groups
            .member_guids()
            .filter(|guid| view.by_guid(owner(guid)).is_none())
            .collect();
        for guid in gone {
            self.groups.remove_port(guid);
            ended.insert(guid);
        }
        self.subscriptions.update_lids(view);
        self.report_group_events(view, now);
        ended
    }
}
