//! Single records and their encoding: postcard of [`Record`].
//!
//! Decoding accepts any bytes: it returns a valid record or an error with its key. A change of the
//! types of records, or of the order of their variants and fields, needs a new [`super::VERSION`].
//!
//! A [`Record`] contains the remaining time of a lease, because this crate has no wall clock. The
//! encoding contains the end of the lease in Unix time, which stays valid while the record is
//! stored or replicated; callers pass the current Unix time.

use core::fmt;
use std::borrow::Cow;

use ferrosm_fabric::routing_origin::SlToVlEpoch;
use ferrosm_mad::ids::{Lid, Lmc, MKey, NodeGuid, PortGuid, PortNum};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{RecordChange, RecordKey, RecordKind};
use crate::config::exposed;
use crate::config::key_rotation::{KeyKind, KeyRotation};
use crate::config::maintenance::{Maintenance, MaintenanceTarget};
use crate::config::partitions::{DEFAULT_PARTITION, Partition};
use crate::config::port_limits::PortLimits;
use crate::records::lid_map::LidMap;
use ferrosm_sa::registry::registration::{Registration, RegistrationKey, RegistrationUpdate};

/// A record that can be decoded alone. Records of the view are encoded together, by
/// [`super::ViewPersister`].
///
/// Its deserialization rejects invalid values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
// With `remote`, the derived functions are inherent ones, which the implementations below call.
#[serde(remote = "Self", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Record {
    /// The LIDs of a port.
    Lid {
        port: PortGuid,
        /// Its base LID.
        lid: Lid,
        /// It has 2^LMC LIDs.
        lmc: Lmc,
    },
    /// A registration of a client.
    Registration(Registration),
    /// The M_Key of a port.
    MKey {
        /// The port; [`Self::ALL_PORTS`] for the key of all ports without a record of their own.
        port: PortGuid,
        #[serde(with = "exposed")]
        m_key: MKey,
    },
    /// A link between two ports.
    Neighbour {
        /// One end: port GUID (for a switch, that of port 0) and port number.
        of: (PortGuid, PortNum),
        /// The other end.
        to: (PortGuid, PortNum),
    },
    /// The SLtoVL epoch, persisted before its tables are written.
    SlToVlEpoch(SlToVlEpoch),
    /// Settings of another SM wait for consent.
    AwaitsConsent,
    /// A partition that operators added at run time.
    Partition(Box<Partition>),
    /// Something that operators took out of service.
    Maintenance(Box<Maintenance>),
    /// A key that replaces the configured one.
    KeyRotation(KeyRotation),
    /// A port of a switch that operators disabled and have enabled since. The record ends when the
    /// port is not Disabled.
    PortToEnable(NodeGuid, PortNum),
    /// Limits of the link at a port of a switch. The record of limits that have ended goes when the
    /// port has its own values again.
    PortLimits(Box<PortLimits>),
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, s)
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let record = Self::deserialize(d)?;
        if record.is_valid() {
            Ok(record)
        } else {
            Err(D::Error::custom("invalid record"))
        }
    }
}

/// A change of the persisted records, before it is encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordUpdate {
    /// Removes all records of a kind.
    Clear(RecordKind),
    /// Inserts or replaces a record.
    Put(Record),
    /// Removes a record.
    Remove(RecordKey),
}

impl RecordUpdate {
    /// Encodes the change. `unix_s` is the current Unix time.
    #[must_use]
    pub fn to_change(&self, unix_s: u64) -> RecordChange {
        match self {
            Self::Clear(kind) => RecordChange::Clear(*kind),
            Self::Put(record) => RecordChange::Put(record.key(), record.encode(unix_s)),
            Self::Remove(key) => RecordChange::Remove(key.clone()),
        }
    }

    /// Whether the change must be durable before devices are written. Otherwise, if this SM fails
    /// meanwhile, its successor would assume that the devices are unchanged.
    #[must_use]
    pub const fn precedes_device_writes(&self) -> bool {
        matches!(
            self,
            Self::Put(
                Record::SlToVlEpoch(_)
                    | Record::MKey { .. }
                    | Record::AwaitsConsent
                    | Record::Partition(_)
                    | Record::Maintenance(_)
                    | Record::KeyRotation(_)
                    | Record::PortToEnable(..)
                    | Record::PortLimits(_)
            )
        )
    }
}

/// The changes that turn one LID map into another.
#[must_use]
pub fn lid_updates(before: &LidMap, after: &LidMap) -> Vec<RecordUpdate> {
    let put = after
        .iter()
        .filter(|(port, lids)| before.get(port) != Some(*lids))
        .map(|(&port, &(lid, lmc))| RecordUpdate::Put(Record::Lid { port, lid, lmc }));
    let removed = before.keys().filter(|port| !after.contains_key(port));
    put.chain(removed.map(|port| RecordUpdate::Remove(Record::lid_key(*port))))
        .collect()
}

/// Why a record cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordError(String);

impl RecordError {
    pub(super) fn new(key: &RecordKey, reason: &str) -> Self {
        Self(format!("{key}: {reason}"))
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for RecordError {}

impl Record {
    /// Port GUID that stands for all ports.
    pub const ALL_PORTS: PortGuid = PortGuid(0);
    /// Port GUID that stands for the key that all ports had earlier, as a standby without a replica
    /// knows it.
    pub const EARLIER_KEY: PortGuid = PortGuid(u64::MAX);

    /// The key of a port's LIDs.
    #[must_use]
    pub fn lid_key(port: PortGuid) -> RecordKey {
        RecordKey::new(RecordKind::Lid, &[&port.0.to_be_bytes()])
    }

    /// The key of a port's M_Key.
    #[must_use]
    pub fn m_key_key(port: PortGuid) -> RecordKey {
        RecordKey::new(RecordKind::MKey, &[&port.0.to_be_bytes()])
    }

    /// The key of an added partition.
    #[must_use]
    pub fn partition_key(number: u16) -> RecordKey {
        RecordKey::new(RecordKind::Partition, &[&number.to_be_bytes()])
    }

    /// The key of something out of service.
    #[must_use]
    pub fn maintenance_key(target: MaintenanceTarget) -> RecordKey {
        let (what, port) = match target {
            MaintenanceTarget::Switch(_) => (1, PortNum::ZERO),
            MaintenanceTarget::Link(_, port) => (2, port),
            MaintenanceTarget::Port(_, port) => (3, port),
        };
        let node = target.node().0.to_be_bytes();
        RecordKey::new(RecordKind::Maintenance, &[&[what], &node, &[port.0]])
    }

    /// The key of the rotation of a key.
    #[must_use]
    pub fn key_rotation_key(kind: KeyKind) -> RecordKey {
        RecordKey::new(RecordKind::KeyRotation, &[&[kind as u8]])
    }

    /// The key of [`Self::PortToEnable`].
    #[must_use]
    pub fn port_to_enable_key(node: NodeGuid, port: PortNum) -> RecordKey {
        let node = node.0.to_be_bytes();
        RecordKey::new(RecordKind::PortToEnable, &[&node, &[port.0]])
    }

    /// The key of [`Self::PortLimits`].
    #[must_use]
    pub fn port_limits_key(node: NodeGuid, port: PortNum) -> RecordKey {
        let node = node.0.to_be_bytes();
        RecordKey::new(RecordKind::PortLimits, &[&node, &[port.0]])
    }

    /// Its key.
    #[must_use]
    pub fn key(&self) -> RecordKey {
        match self {
            Self::Lid { port, .. } => Self::lid_key(*port),
            Self::Registration(registration) => registration.key().into(),
            Self::MKey { port, .. } => Self::m_key_key(*port),
            Self::Neighbour {
                of: (guid, port), ..
            } => RecordKey::new(RecordKind::Neighbour, &[&guid.0.to_be_bytes(), &[port.0]]),
            Self::SlToVlEpoch(_) => RecordKey::new(RecordKind::SlToVlEpoch, &[]),
            Self::AwaitsConsent => RecordKey::new(RecordKind::AwaitsConsent, &[]),
            Self::Partition(partition) => Self::partition_key(partition.number),
            Self::Maintenance(maintenance) => Self::maintenance_key(maintenance.target),
            Self::KeyRotation(rotation) => Self::key_rotation_key(rotation.kind),
            Self::PortToEnable(node, port) => Self::port_to_enable_key(*node, *port),
            Self::PortLimits(limits) => Self::port_limits_key(limits.node, limits.port),
        }
    }

    /// Encodes the value. `unix_s` is the current Unix time.
    #[must_use]
    pub fn encode(&self, unix_s: u64) -> Box<[u8]> {
        // These types cannot fail to encode.
        let value = postcard::to_allocvec(&*self.stored(unix_s));
        value.unwrap_or_default().into()
    }

    /// Decodes a record; `None` for a kind that cannot be decoded alone. `unix_s` is the current
    /// Unix time. Pass 0 to get absolute expiry times instead of remaining ones.
    ///
    /// # Errors
    /// If the bytes are malformed, or a value is not allowed.
    pub fn decode(key: &RecordKey, value: &[u8], unix_s: u64) -> Result<Option<Self>, RecordError> {
        match key.kind() {
            None => return Err(RecordError::new(key, "unknown kind")),
            Some(RecordKind::ViewHead | RecordKind::View | RecordKind::Routing) => return Ok(None),
            Some(
                RecordKind::Lid
                | RecordKind::Group
                | RecordKind::Member
                | RecordKind::Service
                | RecordKind::Subscription
                | RecordKind::Alias
                | RecordKind::MKey
                | RecordKind::Neighbour
                | RecordKind::SlToVlEpoch
                | RecordKind::AwaitsConsent
                | RecordKind::Partition
                | RecordKind::Maintenance
                | RecordKind::KeyRotation
                | RecordKind::PortToEnable
                | RecordKind::PortLimits,
            ) => {}
        }
        let Ok((mut record, [])) = postcard::take_from_bytes::<Self>(value) else {
            return Err(RecordError::new(key, "malformed value"));
        };
        if record.key() != *key {
            return Err(RecordError::new(key, "value belongs to another key"));
        }
        if let Self::Registration(Registration::Service(service)) = &mut record {
            let expires = service.lease_remaining_s;
            service.lease_remaining_s = expires.map(|expires| expires.saturating_sub(unix_s));
        }
        Ok(Some(record))
    }

    /// The record as stored: with the end of its lease in Unix time.
    fn stored(&self, unix_s: u64) -> Cow<'_, Self> {
        let Self::Registration(Registration::Service(service)) = self else {
            return Cow::Borrowed(self);
        };
        let mut stored = service.clone();
        stored.lease_remaining_s = service
            .lease_remaining_s
            .map(|remaining_s| unix_s.saturating_add(remaining_s));
        Cow::Owned(Self::Registration(Registration::Service(stored)))
    }

    fn is_valid(&self) -> bool {
        match self {
            Self::Lid { lid, lmc, .. } => {
                let last = u32::from(lid.0) + (1 << lmc.0.min(7)) - 1;
                lmc.0 <= 7 && lid.is_unicast() && last <= u32::from(Lid::UNICAST_MAX.0)
            }
            Self::Registration(registration) => registration.is_valid(),
            Self::Partition(partition) => (1..DEFAULT_PARTITION).contains(&partition.number),
            Self::MKey { .. }
            | Self::Neighbour { .. }
            | Self::SlToVlEpoch(_)
            | Self::AwaitsConsent
            | Self::Maintenance(_)
            | Self::KeyRotation(_)
            | Self::PortToEnable(..)
            | Self::PortLimits(_) => true,
        }
    }
}

impl From<RegistrationKey> for RecordKey {
    fn from(key: RegistrationKey) -> Self {
        match key {
            RegistrationKey::Group(mgid) => Self::new(RecordKind::Group, &[&mgid.0]),
            RegistrationKey::Member(mgid, port) => {
                Self::new(RecordKind::Member, &[&mgid.0, &port.0.to_be_bytes()])
            }
            RegistrationKey::Service(id, gid, pkey) => {
                let (id, pkey) = (id.to_be_bytes(), pkey.0.to_be_bytes());
                Self::new(RecordKind::Service, &[&id, &gid.0, &pkey])
            }
            RegistrationKey::Subscription(subscriber, number) => Self::new(
                RecordKind::Subscription,
                &[&subscriber.0, &number.to_be_bytes()],
            ),
            RegistrationKey::Alias(port, index) => {
                let (port, index) = (port.0.to_be_bytes(), index.to_be_bytes());
                Self::new(RecordKind::Alias, &[&port, &index])
            }
        }
    }
}

impl From<RegistrationUpdate> for RecordUpdate {
    fn from(update: RegistrationUpdate) -> Self {
        match update {
            RegistrationUpdate::Put(registration) => Self::Put(Record::Registration(registration)),
            RegistrationUpdate::Remove(key) => Self::Remove(key.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{RecordRestorer, VERSION};
    use core::hash::Hasher;
    use ferrosm_mad::attr::{LinkSpeed, MtuCode};
    use ferrosm_mad::ids::{Gid, GidPrefix, PKey, Qpn, Sl};
    use ferrosm_mad::sa::inform::InformInfoRecord;
    use ferrosm_mad::sa::multicast::JoinState;
    use ferrosm_mad::sa::path::RateCode;
    use ferrosm_mad::sa::service::ServiceRecord;
    use ferrosm_sa::registry::group::{GroupMember, GroupParameters};
    use ferrosm_sa::registry::registration::{
        RegisteredAlias, RegisteredService, RegisteredSubscription,
    };
    use fnv::FnvHasher;
    use proptest::prelude::*;

    fn records() -> Vec<Record> {
        let (port, mgid) = (PortGuid(0x0002_c903_00a1_b2c3), Gid([0xFF; 16]));
        vec![
            Record::Lid {
                port,
                lid: Lid(4),
                lmc: Lmc(2),
            },
            Record::Registration(Registration::Group {
                mgid,
                mlid: Lid(0xC001),
                well_known: true,
                parameters: GroupParameters {
                    qkey: 0xB1B,
                    mtu: MtuCode::Mtu2048,
                    tclass: 3,
                    pkey: PKey(0xFFFF),
                    rate: RateCode::G10,
                    packet_life_time: 18,
                    sl: Sl(4),
                    flow_label: 0xF_FFFF,
                    hop_limit: 64,
                    scope: 2,
                },
            }),
            Record::Registration(Registration::Member {
                mgid,
                port,
                member: GroupMember {
                    join_state: JoinState(5),
                    proxy: true,
                },
            }),
            Record::Registration(Registration::Service(Box::new(RegisteredService {
                record: ServiceRecord {
                    service_id: 5,
                    service_gid: Gid::new(GidPrefix::DEFAULT, port),
                    service_pkey: PKey(0xFFFF),
                    service_name: [7; 64],
                    data64: [1, 2],
                    ..ServiceRecord::default()
                },
                lease_remaining_s: Some(60),
                registered_by: PortGuid(9),
            }))),
            Record::Registration(Registration::Subscription(RegisteredSubscription {
                record: InformInfoRecord {
                    subscriber_gid: Gid::new(GidPrefix::DEFAULT, port),
                    subscriber_enum: 3,
                    trap_number: 64,
                    qpn: Qpn(1),
                    ..InformInfoRecord::default()
                },
                lid: Lid(9),
                sl: Sl(3),
                path_bits: 1,
                pkey_index: 2,
            })),
            Record::Registration(Registration::Alias(RegisteredAlias {
                port,
                index: 3,
                alias: PortGuid(8),
            })),
            Record::MKey {
                port,
                m_key: MKey::new(77),
            },
            Record::Neighbour {
                of: (PortGuid(1), PortNum(2)),
                to: (PortGuid(3), PortNum(4)),
            },
            Record::SlToVlEpoch(SlToVlEpoch {
                number: 300,
                sm_port: port,
            }),
            Record::KeyRotation(KeyRotation {
                kind: KeyKind::SmKey,
                key: MKey::new(78),
                configured: MKey::new(77),
            }),
            Record::PortToEnable(NodeGuid(5), PortNum(6)),
            Record::PortLimits(Box::new(PortLimits {
                node: NodeGuid(5),
                port: PortNum(6),
                name: "leaf/6".to_owned(),
                reason: String::new(),
                mtu: Some(MtuCode::Mtu2048),
                width: Some(1),
                speed: Some(LinkSpeed::Edr),
            })),
        ]
    }

    #[test]
    fn records_round_trip() {
        let mut restorer = RecordRestorer::new(1_000);
        for record in records() {
            let bytes = record.encode(1_000);
            let decoded = Record::decode(&record.key(), &bytes, 1_000);
            assert_eq!(decoded, Ok(Some(record.clone())));
            restorer.put(&record.key(), &bytes);
        }
        let (restored, skipped) = restorer.finish();
        assert_eq!(skipped, []);
        let registrations: Vec<Record> = restored
            .registrations
            .iter()
            .map(Record::Registration)
            .collect();
        assert_eq!(registrations, records()[1..6]);
        assert_eq!(restored.lids.len(), 1);
        assert_eq!(restored.m_keys.len(), 1);
        assert_eq!(restored.neighbours.len(), 1);
        assert_eq!(restored.sl_to_vl_epoch.number, 300);
        assert!(restored.rotation_of(KeyKind::SmKey).is_some());
    }

    /// A field that is added to a type of a record, or moved, changes the format.
    #[test]
    fn encoding_changes_with_the_version_only() {
        let digest = |record: &Record| {
            let mut hasher = FnvHasher::default();
            hasher.write(record.key().bytes());
            hasher.write(&record.encode(1_000));
            hasher.finish()
        };
        let digests: Vec<u64> = records().iter().map(digest).collect();
        assert_eq!(VERSION, 3);
        let expected = [
            0x47a5_dded_d401_1dcc,
            0x72c3_9eac_0e02_244e,
            0x0c39_a485_ebca_29d2,
            0xed50_0f1f_296e_fb1e,
            0x918c_8238_a8ab_a586,
            0x93e8_28ad_e268_0572,
            0x8181_ac5d_f593_e5fe,
            0x9c3e_d39e_7cab_c38e,
            0x1d0a_9e5f_c45d_fa0b,
            0xf6ee_4227_4be6_f0d4,
            0xb7be_bc5a_e579_92f9,
            0xb58d_83bc_e5c1_04dc,
        ];
        assert_eq!(digests, expected);
    }

    /// Ten seconds in the store reduce a lease by ten; a service whose lease has expired is not
    /// restored.
    #[test]
    fn leases_expire_while_stored() {
        let service = records().remove(3);
        let bytes = service.encode(1_000);
        let left_s = |unix_s| {
            let mut restorer = RecordRestorer::new(unix_s);
            restorer.put(&service.key(), &bytes);
            let services = restorer.finish().0.registrations.services;
            services
                .first()
                .map(|s| s.lease_remaining_s.unwrap_or(u64::MAX))
        };
        assert_eq!(left_s(1_010), Some(50));
        assert_eq!(left_s(1_059), Some(1));
        assert_eq!(left_s(1_060), None);
        assert_eq!(left_s(990), Some(70), "the clock was set back");
    }

    #[test]
    fn invalid_records_are_rejected_with_their_key() {
        let lid = Record::lid_key(PortGuid(1));
        for (lid_value, lmc) in [(0, 0), (0xC000, 0), (0xBFFE, 2), (8, 8)] {
            let invalid = Record::Lid {
                port: PortGuid(1),
                lid: Lid(lid_value),
                lmc: Lmc(lmc),
            };
            let error = Record::decode(&lid, &invalid.encode(0), 0).unwrap_err();
            let message = error.to_string();
            assert_eq!(message, "LID record 0000000000000001: malformed value");
        }
        // A value under the key of another record.
        for record in records().into_iter().skip(1).take(1) {
            let key = RecordKey::from(RegistrationKey::Group(Gid([0xFE; 16])));
            assert!(Record::decode(&key, &record.encode(0), 0).is_err());
        }
        // A member without its group.
        let mut restorer = RecordRestorer::new(0);
        let member = records().remove(2);
        restorer.put(&member.key(), &member.encode(0));
        let (restored, skipped) = restorer.finish();
        assert!(restored.registrations.is_empty());
        assert_eq!(skipped.len(), 1);
        assert_eq!(skipped[0].key, member.key());
    }

    fn malformed() -> impl Strategy<Value = (RecordKey, Vec<u8>)> {
        let any_bytes = (
            0..14u8,
            prop::collection::vec(any::<u8>(), 0..60),
            prop::collection::vec(any::<u8>(), 0..80),
        );
        let any_record = any_bytes.prop_map(|(kind, rest, value)| {
            let mut key = vec![kind];
            key.extend(rest);
            (RecordKey::from_bytes(&key).unwrap(), value)
        });
        let num_records = records().len();
        let flipped = (
            0..num_records,
            prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
            any::<bool>(),
            0..250usize,
        );
        let flipped = flipped.prop_map(|(which, flips, in_key, cut)| {
            let record = &records()[which];
            let (mut key, mut value) = (record.key().bytes().to_vec(), record.encode(5).to_vec());
            let bytes = if in_key { &mut key } else { &mut value };
            for (at, with) in flips {
                let at = at.index(bytes.len());
                bytes[at] = with;
            }
            value.truncate(cut);
            (RecordKey::from_bytes(&key).unwrap(), value)
        });
        prop_oneof![any_record, flipped]
    }

    proptest! {
        /// Every record that is decoded round-trips, and a registry can be restored from it.
        #[test]
        fn malformed_records_do_not_panic(all in prop::collection::vec(malformed(), 1..12)) {
            let mut restorer = RecordRestorer::new(5);
            for (key, value) in &all {
                if let Ok(Some(record)) = Record::decode(key, value, 5) {
                    prop_assert_eq!(&record.key(), key);
                    let again = Record::decode(key, &record.encode(5), 5);
                    prop_assert_eq!(again, Ok(Some(record)));
                }
                restorer.put(key, value);
            }
            let (restored, _) = restorer.finish();
            let now = ferrosm_mad::time::Instant::START;
            let mut registry = ferrosm_sa::registry::Registry::from_registrations(&restored.registrations, now);
            // The registry's corrections turn the persisted records into its own.
            let encoded = |r| {
                let record = Record::Registration(r);
                (record.key(), record.encode(5))
            };
            let mut persisted = restored.registrations.iter().map(encoded).collect();
            let changes = registry.take_updates(now).into_iter().map(|u| RecordUpdate::from(u).to_change(5)).collect();
            crate::records::RecordBatch { changes }.apply(&mut persisted);
            let registrations = registry.registrations(now).map(encoded).collect();
            prop_assert_eq!(persisted, registrations);
        }
    }
}
