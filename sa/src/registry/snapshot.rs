//! An immutable copy of the registrations, for queries on any thread.
//!
//! The SM thread creates snapshots on demand ([`super::Registry::snapshot`]); unchanged parts are
//! shared with the previous snapshot. The revision identifies the last write in a snapshot: a
//! reader that needs a later one waits.

use std::sync::Arc;

use super::Registry;
use super::multicast::MulticastGroups;
use super::services::Services;
use super::subscriptions::Subscriptions;

/// Registrations at one revision.
#[derive(Debug, Clone)]
pub struct RegistrySnapshot {
    revision: u64,
    pub(crate) groups: Arc<MulticastGroups>,
    pub(crate) services: Arc<Services>,
    pub(crate) subscriptions: Arc<Subscriptions>,
}

/// Snapshot parts that are still current.
#[derive(Debug, Clone, Default)]
pub(super) struct SnapshotParts {
    groups: Option<Arc<MulticastGroups>>,
    services: Option<Arc<Services>>,
    subscriptions: Option<Arc<Subscriptions>>,
}

/// Parts of the registry that changed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ChangedParts {
    pub(super) groups: bool,
    pub(super) services: bool,
    pub(super) subscriptions: bool,
}

impl SnapshotParts {
    pub(super) fn invalidate(&mut self, changed: ChangedParts) {
        if changed.groups {
            self.groups = None;
        }
        if changed.services {
            self.services = None;
        }
        if changed.subscriptions {
            self.subscriptions = None;
        }
    }
}

impl Registry {
    /// The registrations as of the last [`Self::take_updates`]. Copies only parts that changed
    /// since the previous snapshot.
    pub fn snapshot(&mut self) -> RegistrySnapshot {
        let groups = self
            .snapshot_parts
            .groups
            .get_or_insert_with(|| Arc::new(self.groups.clone()));
        let services = self
            .snapshot_parts
            .services
            .get_or_insert_with(|| Arc::new(self.services.clone()));
        let subscriptions = self
            .snapshot_parts
            .subscriptions
            .get_or_insert_with(|| Arc::new(self.subscriptions.clone()));
        RegistrySnapshot {
            revision: self.revision,
            groups: Arc::clone(groups),
            services: Arc::clone(services),
            subscriptions: Arc::clone(subscriptions),
        }
    }

    /// Number of the last change. It never decreases, even if the registry is replaced.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// Replaces all registrations, which counts as one change.
    pub fn replace(&mut self, other: Self) {
        let revision = self.revision.max(other.revision) + 1;
        *self = other;
        self.revision = revision;
    }
}

impl RegistrySnapshot {
    /// The multicast groups.
    #[must_use]
    pub const fn groups(&self) -> &Arc<MulticastGroups> {
        &self.groups
    }

    /// The last change in this snapshot.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }
}
