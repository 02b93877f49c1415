//! The registry as registrations, which the SM persists and replicates to standbys.
//!
//! Each part of the registry tracks its changed records, so that a request costs only the records
//! that it changed. Pending reports are not persisted: after a restart, ClientReregister makes
//! subscribers subscribe again.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::time::Instant;

use super::Registry;
use super::registration::{Registration, RegistrationKey, RegistrationUpdate, Registrations};
use super::snapshot::ChangedParts;
use crate::view::View;

impl Registry {
    /// All current registrations.
    #[must_use]
    pub fn to_registrations(&self, now: Instant) -> Registrations {
        Registrations {
            members: self.groups.member_records(),
            services: self.services.registrations(now),
            subscriptions: self.subscriptions.registrations(),
            aliases: self.aliases.registrations(),
        }
    }

    /// A registry with the loaded registrations. Groups retain their MLIDs where possible, and
    /// invalid records are dropped. Only the resulting differences are reported as updates.
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
        let restored: BTreeSet<RegistrationKey> =
            registry.registrations(now).map(|r| r.key()).collect();
        let absent = before.into_keys().filter(|key| !restored.contains(key));
        registry
            .restore_updates
            .extend(absent.map(RegistrationUpdate::Remove));
        registry
    }

    /// All registrations, one by one.
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

    /// Changes since the last call.
    pub fn take_updates(&mut self, now: Instant) -> Vec<RegistrationUpdate> {
        // The SM calls this after each input.
        if !self.has_updates() {
            return Vec::new();
        }
        let mut updates = core::mem::take(&mut self.restore_updates);
        let start = updates.len();
        self.groups.take_updates(&mut updates);
        let groups_end = updates.len();
        self.services.take_updates(now, &mut updates);
        let services_end = updates.len();
        self.subscriptions.take_updates(&mut updates);
        self.snapshot_parts.invalidate(ChangedParts {
            groups: groups_end > start,
            services: services_end > groups_end,
            subscriptions: updates.len() > services_end,
        });
        self.revision += u64::from(updates.len() > start);
        self.aliases.take_updates(&mut updates);
        updates
    }

    fn has_updates(&self) -> bool {
        !self.restore_updates.is_empty()
            || self.groups.has_updates()
            || self.services.has_updates()
            || self.subscriptions.has_updates()
            || self.aliases.has_updates()
    }

    /// Compares restored registrations with the discovered subnet: removes members and aliases of
    /// ports that are absent, marks alias tables to be compared with the devices', and updates the
    /// LIDs of subscribers. Returns the ports that lost registrations.
    pub fn reconcile_with(&mut self, view: &View, now: Instant) -> BTreeSet<PortGuid> {
        let mut affected = BTreeSet::new();
        for port in self.aliases.tables().ports().collect::<Vec<_>>() {
            if view.by_guid(port).is_none() {
                self.aliases.remove_port(port);
                affected.insert(port);
            } else {
                self.aliases.mark_blocks_unverified(port);
            }
        }
        let owner = |guid: &PortGuid| self.aliases.tables().owner(*guid).unwrap_or(*guid);
        let absent: Vec<PortGuid> = self
            .groups
            .member_guids()
            .filter(|guid| view.by_guid(owner(guid)).is_none())
            .collect();
        for guid in absent {
            self.groups.remove_port(guid);
            affected.insert(guid);
        }
        affected.extend(self.subscriptions.remove_absent(view));
        self.subscriptions.update_lids(view);
        self.report_group_events(view, now);
        affected
    }
}
