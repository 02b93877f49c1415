//! What clients have registered, as records: kept over restarts, and given to whoever takes over.
//!
//! Records are the specification's own, so nothing here has a form of its own. Reports under way are not kept: who waits for one
//! learns of the restart by being asked to register again.

use core::time::Duration;

use ferrosm_mad::ids::{Lid, PortGuid, Sl};
use ferrosm_mad::sa::inform::InformInfoRecord;
use ferrosm_mad::sa::multicast::McMemberRecord;
use ferrosm_mad::sa::service::ServiceRecord;
use ferrosm_mad::time::Instant;

use super::Registry;
use crate::sa::view::View;

/// Time between two times that registrations are to be kept, if they change all the time.
pub const KEPT_EVERY: Duration = Duration::from_secs(1);

/// Everything that clients have registered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Saved {
    /// One record for each member, and for a group that stays without members one whose PortGID is 0.
    pub members: Vec<McMemberRecord>,
    /// Services; ServiceLease is what is left of it.
    pub services: Vec<ServiceRecord>,
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

    /// So much time has passed since this was saved: leases that ended are gone.
    pub fn age(&mut self, by: Duration) {
        let by_s = u32::try_from(by.as_secs()).unwrap_or(u32::MAX);
        self.services.retain_mut(|service| {
            if service.service_lease_s == ServiceRecord::FOREVER {
                return true;
            }
            service.service_lease_s = service.service_lease_s.saturating_sub(by_s);
            service.service_lease_s > 0
        });
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

    /// A registry as it was saved. MLIDs are kept where they can be; what cannot be true is left out.
    #[must_use]
    pub fn restored(saved: &Saved, now: Instant) -> Self {
        let mut registry = Self::default();
        registry.groups.restore(&saved.members);
        registry.services.restore(&saved.services, now);
        registry.subscriptions.restore(&saved.subscriptions);
        registry.aliases.restore(&saved.aliases);
        registry
    }

    /// What was restored meets the subnet as it is: members and aliases that are not there any more leave, devices are told
    /// their aliases, and subscribers are reached by the LIDs that they have now.
    pub fn meet(&mut self, view: &View, now: Instant) {
        for port in self.aliases.all().ports().collect::<Vec<_>>() {
            if view.by_guid(port).is_none() {
                self.aliases.remove_port(port);
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
        }
        self.subscriptions.readdress(view);
        self.tell_lifetimes(view, now);
    }

    /// Whether anything changed since this was last asked.
    pub fn take_dirty(&mut self) -> bool {
        core::mem::take(&mut self.dirty)
    }
}
