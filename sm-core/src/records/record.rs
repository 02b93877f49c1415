//! Single records and their encoding: postcard around the SA records of the specification.
//!
//! Decoding accepts any bytes: it returns a valid record or an error with its key. A change of the
//! encoding needs a new [`super::VERSION`].
//!
//! A [`Record`] contains the remaining time of a lease, because this crate has no wall clock. The
//! encoding contains the end of the lease in Unix time, which stays valid while the record is
//! stored or replicated; callers pass the current Unix time.

use core::fmt;

use ferrosm_fabric::routing_origin::SlToVlEpoch;
use ferrosm_mad::ids::{Gid, Lid, Lmc, MKey, PortGuid, PortNum, Sl};
use ferrosm_mad::sa::inform::InformInfoRecord;
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord};
use ferrosm_mad::sa::service::ServiceRecord;
use serde::{Deserialize, Serialize};

use super::{RecordChange, RecordKey, RecordKind};
use crate::records::lid_map::LidMap;
use ferrosm_sa::registry::group::{GroupMember, GroupParameters, MulticastGroup};
use ferrosm_sa::registry::registration::{
    RegisteredAlias, RegisteredService, RegisteredSubscription, Registration, RegistrationKey,
    RegistrationUpdate,
};

/// The last entry of the largest GUIDInfo table.
const ALIAS_MAX: u16 = 2047;

/// A record that can be decoded alone. Records of the view are encoded together, by
/// [`super::ViewPersister`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// The LIDs of a port.
    Lid {
        /// The port.
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
        /// Its key.
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
            Self::Put(Record::SlToVlEpoch(_) | Record::MKey { .. })
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

#[derive(Serialize, Deserialize)]
struct LidValue {
    lid: u16,
    lmc: u8,
}

#[derive(Serialize, Deserialize)]
struct GroupValue<'a> {
    well_known: bool,
    /// MCMemberRecord without a member.
    #[serde(borrow)]
    record: &'a [u8],
}

#[derive(Serialize, Deserialize)]
struct MemberValue {
    join_state: u8,
    proxy: bool,
}

#[derive(Serialize, Deserialize)]
struct ServiceValue<'a> {
    /// ServiceRecord; its lease is 0.
    #[serde(borrow)]
    record: &'a [u8],
    /// End of the lease, in seconds since 1970.
    ends_unix_s: Option<u64>,
    by: u64,
}

#[derive(Serialize, Deserialize)]
struct SubscriptionValue<'a> {
    /// InformInfoRecord.
    #[serde(borrow)]
    record: &'a [u8],
    lid: u16,
    sl: u8,
    path_bits: u8,
    pkey_index: u16,
}

impl Record {
    /// Port GUID that stands for all ports.
    pub const ALL_PORTS: PortGuid = PortGuid(0);

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

    /// Its key.
    #[must_use]
    pub fn key(&self) -> RecordKey {
        match self {
            Self::Lid { port, .. } => Self::lid_key(*port),
            Self::Registration(registration) => registration.key().into(),
            Self::MKey { port, .. } => Self::m_key_key(*port),
            Self::Neighbour { of, .. } => port_key(*of),
            Self::SlToVlEpoch(_) => RecordKey::new(RecordKind::SlToVlEpoch, &[]),
        }
    }

    /// Encodes the value. `unix_s` is the current Unix time.
    #[must_use]
    pub fn encode(&self, unix_s: u64) -> Box<[u8]> {
        match self {
            Self::Lid { lid, lmc, .. } => bytes(&LidValue {
                lid: lid.0,
                lmc: lmc.0,
            }),
            Self::Registration(registration) => encode_registration(registration, unix_s),
            Self::MKey { m_key, .. } => bytes(&m_key.expose()),
            Self::Neighbour { to, .. } => bytes(&(to.0.0, to.1.0)),
            Self::SlToVlEpoch(epoch) => bytes(&(epoch.number, epoch.sm_port.0)),
        }
    }

    /// Decodes a record; `None` for a kind that cannot be decoded alone. `unix_s` is the current
    /// Unix time; with 0 the remaining time of a lease is the time of its end.
    ///
    /// # Errors
    /// If the bytes are malformed, or a value is not allowed.
    pub fn decode(key: &RecordKey, value: &[u8], unix_s: u64) -> Result<Option<Self>, RecordError> {
        let kind = key
            .kind()
            .ok_or_else(|| RecordError::new(key, "unknown kind"))?;
        let record = match kind {
            RecordKind::Lid => lid(key, value),
            RecordKind::Group => group(key, value).map(Record::Registration),
            RecordKind::Member => member(key, value).map(Record::Registration),
            RecordKind::Service => service(value, unix_s).map(Record::Registration),
            RecordKind::Subscription => subscription(value).map(Record::Registration),
            RecordKind::Alias => alias(key, value).map(Record::Registration),
            RecordKind::MKey => m_key(key, value),
            RecordKind::Neighbour => neighbour(key, value),
            RecordKind::SlToVlEpoch => sl_to_vl_epoch(value),
            RecordKind::ViewHead | RecordKind::View | RecordKind::Routing => return Ok(None),
        };
        let record = record.ok_or_else(|| RecordError::new(key, "malformed value"))?;
        if record.key() == *key {
            Ok(Some(record))
        } else {
            Err(RecordError::new(key, "value belongs to another key"))
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

fn encode_registration(registration: &Registration, unix_s: u64) -> Box<[u8]> {
    match registration {
        Registration::Group {
            mgid,
            mlid,
            well_known,
            parameters,
        } => {
            let group = MulticastGroup {
                mlid: *mlid,
                parameters: *parameters,
                well_known: *well_known,
                members: std::collections::BTreeMap::new(),
            };
            bytes(&GroupValue {
                well_known: *well_known,
                record: &group.record(*mgid, None).encode(),
            })
        }
        Registration::Member { member, .. } => bytes(&MemberValue {
            join_state: member.join_state.0,
            proxy: member.proxy,
        }),
        Registration::Service(service) => {
            let record = ServiceRecord {
                service_lease_s: 0,
                ..service.record
            };
            bytes(&ServiceValue {
                record: &record.encode(),
                ends_unix_s: service
                    .lease_remaining_s
                    .map(|left_s| unix_s.saturating_add(left_s)),
                by: service.registered_by.0,
            })
        }
        Registration::Subscription(s) => bytes(&SubscriptionValue {
            record: &s.record.encode(),
            lid: s.lid.0,
            sl: s.sl.0,
            path_bits: s.path_bits,
            pkey_index: s.pkey_index,
        }),
        Registration::Alias(alias) => bytes(&alias.alias.0),
    }
}

fn port_key((guid, port): (PortGuid, PortNum)) -> RecordKey {
    RecordKey::new(RecordKind::Neighbour, &[&guid.0.to_be_bytes(), &[port.0]])
}

/// Encodes a value. Values consist of integers, bytes and options, so encoding cannot fail.
fn bytes<T: Serialize>(value: &T) -> Box<[u8]> {
    postcard::to_allocvec(value).unwrap_or_default().into()
}

/// Decodes a value that spans all of `bytes`.
fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(value)
}

/// The integer at an offset of a key's identity.
fn key_u64(key: &RecordKey, at: usize) -> Option<u64> {
    let bytes = key.suffix().get(at..)?.first_chunk()?;
    Some(u64::from_be_bytes(*bytes))
}

fn lid(key: &RecordKey, value: &[u8]) -> Option<Record> {
    let LidValue { lid, lmc } = parse(value)?;
    let last = u32::from(lid) + (1 << lmc.min(7)) - 1;
    let fits = lmc <= 7 && Lid(lid).is_unicast() && last <= u32::from(Lid::UNICAST_MAX.0);
    fits.then_some(Record::Lid {
        port: PortGuid(key_u64(key, 0)?),
        lid: Lid(lid),
        lmc: Lmc(lmc),
    })
}

fn group(key: &RecordKey, value: &[u8]) -> Option<Registration> {
    let GroupValue { well_known, record } = parse(value)?;
    let sized: &[u8; McMemberRecord::LEN] = record.try_into().ok()?;
    let record = McMemberRecord::decode(sized);
    // An invalid MLID is accepted: the registry assigns a new one.
    (record.mgid.is_multicast() && key.suffix() == record.mgid.0).then(|| Registration::Group {
        mgid: record.mgid,
        mlid: record.mlid,
        well_known,
        parameters: GroupParameters::from_record(&record),
    })
}

fn member(key: &RecordKey, value: &[u8]) -> Option<Registration> {
    let MemberValue { join_state, proxy } = parse(value)?;
    let mgid = Gid(*key.suffix().first_chunk()?);
    ((1..16).contains(&join_state) && mgid.is_multicast()).then_some(Registration::Member {
        mgid,
        port: PortGuid(key_u64(key, 16)?),
        member: GroupMember {
            join_state: JoinState(join_state),
            proxy,
        },
    })
}

fn service(value: &[u8], unix_s: u64) -> Option<Registration> {
    let ServiceValue {
        record,
        ends_unix_s,
        by,
    } = parse(value)?;
    let sized: &[u8; ServiceRecord::LEN] = record.try_into().ok()?;
    let record = ServiceRecord::decode(sized);
    (record.service_lease_s == 0).then(|| {
        Registration::Service(Box::new(RegisteredService {
            record,
            lease_remaining_s: ends_unix_s.map(|expiry| expiry.saturating_sub(unix_s)),
            registered_by: PortGuid(by),
        }))
    })
}

fn subscription(value: &[u8]) -> Option<Registration> {
    let value: SubscriptionValue<'_> = parse(value)?;
    let sized: &[u8; InformInfoRecord::LEN] = value.record.try_into().ok()?;
    let fits = value.sl < 16 && value.path_bits < 128;
    fits.then(|| {
        Registration::Subscription(RegisteredSubscription {
            record: InformInfoRecord::decode(sized),
            lid: Lid(value.lid),
            sl: Sl(value.sl),
            path_bits: value.path_bits,
            pkey_index: value.pkey_index,
        })
    })
}

fn alias(key: &RecordKey, value: &[u8]) -> Option<Registration> {
    let index = u16::from_be_bytes(*key.suffix().get(8..)?.first_chunk()?);
    let alias: u64 = parse(value)?;
    ((1..=ALIAS_MAX).contains(&index) && alias != 0).then_some(Registration::Alias(
        RegisteredAlias {
            port: PortGuid(key_u64(key, 0)?),
            index,
            alias: PortGuid(alias),
        },
    ))
}

fn m_key(key: &RecordKey, value: &[u8]) -> Option<Record> {
    Some(Record::MKey {
        port: PortGuid(key_u64(key, 0)?),
        m_key: MKey::new(parse(value)?),
    })
}

fn neighbour(key: &RecordKey, value: &[u8]) -> Option<Record> {
    let (guid, port): (u64, u8) = parse(value)?;
    Some(Record::Neighbour {
        of: (PortGuid(key_u64(key, 0)?), PortNum(*key.suffix().get(8)?)),
        to: (PortGuid(guid), PortNum(port)),
    })
}

fn sl_to_vl_epoch(value: &[u8]) -> Option<Record> {
    let (number, sm_port) = parse(value)?;
    let sm_port = PortGuid(sm_port);
    Some(Record::SlToVlEpoch(SlToVlEpoch { number, sm_port }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::RecordRestorer;
    use ferrosm_mad::attr::MtuCode;
    use ferrosm_mad::ids::{GidPrefix, PKey, Qpn};
    use ferrosm_mad::sa::path::RateCode;
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
            let value = bytes(&LidValue {
                lid: lid_value,
                lmc,
            });
            let message = Record::decode(&lid, &value, 0).unwrap_err().to_string();
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
