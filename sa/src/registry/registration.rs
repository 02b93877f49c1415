//! Registrations of clients as they are persisted and replicated, and their keys. The caller
//! encodes them with serde; a change of these types changes the format of the store.

use std::collections::BTreeMap;

use ferrosm_mad::ids::{Gid, Lid, PKey, PortGuid, Sl};
use ferrosm_mad::sa::inform::InformInfoRecord;
use ferrosm_mad::sa::multicast::McMemberRecord;
use ferrosm_mad::sa::service::ServiceRecord;
use serde::{Deserialize, Serialize};

use super::group::{GroupMember, GroupParameters, MulticastGroup};

/// The last entry of the largest GUIDInfo table.
const ALIAS_INDEX_MAX: u16 = 2047;

/// A registration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Registration {
    /// A multicast group.
    Group {
        mgid: Gid,
        mlid: Lid,
        /// The group exists even without members.
        well_known: bool,
        /// Values that all packets of the group share.
        parameters: GroupParameters,
    },
    /// A member of a group.
    Member {
        /// The group.
        mgid: Gid,
        /// The GUID that it joined with.
        port: PortGuid,
        /// JoinState and proxy flag.
        member: GroupMember,
    },
    Service(Box<RegisteredService>),
    Subscription(RegisteredSubscription),
    /// An alias GUID.
    Alias(RegisteredAlias),
}

/// Identifies a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RegistrationKey {
    /// A group, by MGID.
    Group(Gid),
    /// A member of a group, by MGID and the GUID that it joined with.
    Member(Gid, PortGuid),
    /// A service, by ServiceID, ServiceGID and P_Key.
    Service(u64, Gid, PKey),
    /// A subscription, by subscriber and SubscriberEnum.
    Subscription(Gid, u16),
    /// An alias GUID, by port and index in the port's GUIDInfo table.
    Alias(PortGuid, u16),
}

/// A change of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistrationUpdate {
    /// A registration is new or changed.
    Put(Registration),
    /// A registration was removed.
    Remove(RegistrationKey),
}

/// A service and the remaining time of its lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisteredService {
    /// The service. Its ServiceLease is 0.
    pub record: ServiceRecord,
    /// Seconds until the lease expires, from the time at which this value was created; `None` for
    /// an indefinite lease. While the service is stored, this is the Unix time of expiry: the
    /// caller converts.
    #[serde(rename = "expires_unix_s")]
    pub lease_remaining_s: Option<u64>,
    pub registered_by: PortGuid,
}

/// A subscription and the address of its subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisteredSubscription {
    /// Subscriber and notices.
    pub record: InformInfoRecord,
    /// The subscriber's LID.
    pub lid: Lid,
    /// SL of reports.
    pub sl: Sl,
    /// Low bits of the SM's LID that reports are sent from.
    pub path_bits: u8,
    /// Index of the P_Key of reports.
    pub pkey_index: u16,
}

/// An alias GUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegisteredAlias {
    /// The port, by its own GUID.
    pub port: PortGuid,
    /// Index in the port's GUIDInfo table, 1 to 2047.
    pub index: u16,
    pub alias: PortGuid,
}

impl Registration {
    /// The registration of a group.
    #[must_use]
    pub const fn from_group(mgid: Gid, group: &MulticastGroup) -> Self {
        Self::Group {
            mgid,
            mlid: group.mlid,
            well_known: group.well_known,
            parameters: group.parameters,
        }
    }

    /// Whether a client can register it. The MLID of a group may be invalid: the registry then
    /// assigns a new one.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        match self {
            Self::Group {
                mgid, parameters, ..
            } => mgid.is_multicast() && parameters.fit_record(),
            Self::Member { mgid, member, .. } => {
                mgid.is_multicast() && (1..16).contains(&member.join_state.0)
            }
            Self::Service(service) => service.record.service_lease_s == 0,
            Self::Subscription(s) => s.sl.0 < 16 && s.path_bits < 128,
            Self::Alias(alias) => {
                (1..=ALIAS_INDEX_MAX).contains(&alias.index) && alias.alias != PortGuid(0)
            }
        }
    }

    /// The key of this registration.
    #[must_use]
    pub fn key(&self) -> RegistrationKey {
        match self {
            Self::Group { mgid, .. } => RegistrationKey::Group(*mgid),
            Self::Member { mgid, port, .. } => RegistrationKey::Member(*mgid, *port),
            Self::Service(service) => {
                let r = &service.record;
                RegistrationKey::Service(r.service_id, r.service_gid, r.service_pkey)
            }
            Self::Subscription(s) => {
                RegistrationKey::Subscription(s.record.subscriber_gid, s.record.subscriber_enum)
            }
            Self::Alias(alias) => RegistrationKey::Alias(alias.port, alias.index),
        }
    }
}

/// All registrations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registrations {
    /// One record for each member. A well-known group has an additional record whose PortGID is 0.
    pub members: Vec<McMemberRecord>,
    pub services: Vec<RegisteredService>,
    pub subscriptions: Vec<RegisteredSubscription>,
    /// Alias GUIDs.
    pub aliases: Vec<RegisteredAlias>,
}

impl Registrations {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
            && self.services.is_empty()
            && self.subscriptions.is_empty()
            && self.aliases.is_empty()
    }

    /// All registrations, one by one.
    pub fn iter(&self) -> impl Iterator<Item = Registration> {
        let mut members = Vec::new();
        let mut groups = BTreeMap::new();
        for record in &self.members {
            let mgid = record.mgid;
            let group = groups.entry(mgid).or_insert_with(|| Registration::Group {
                mgid,
                mlid: record.mlid,
                well_known: false,
                parameters: GroupParameters::from_record(record),
            });
            if record.port_gid != Gid::default() {
                members.push(Registration::Member {
                    mgid,
                    port: record.port_gid.guid(),
                    member: GroupMember {
                        join_state: record.join_state,
                        proxy: record.proxy_join,
                    },
                });
            } else if let Registration::Group { well_known, .. } = group {
                *well_known = true;
            }
        }
        let services = self.services.iter().cloned().map(Box::new);
        let subscriptions = self.subscriptions.iter().copied();
        groups
            .into_values()
            .chain(members)
            .chain(services.map(Registration::Service))
            .chain(subscriptions.map(Registration::Subscription))
            .chain(self.aliases.iter().copied().map(Registration::Alias))
    }
}
