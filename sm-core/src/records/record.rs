//! What a record says, its bytes, and back: postcard's encoding of small structs, around the specification's own records.
//!
//! Whatever bytes are given, what comes out is a record that can be, or an error that names it. A change of anything here is a
//! change of [`super::VERSION`].
//!
//! Leases end at a time, and this crate knows none but its own clock. So a [`Record`] says what is left of a lease, and whoever
//! makes bytes of it or reads them gives the seconds since 1970: in the bytes is the end. It stays true however long the record
//! lies in a file or on another machine, which what is left would not.

use core::fmt;

use ferrosm_mad::ids::{Gid, Lid, Lmc, MKey, PortGuid, PortNum, Sl};
use ferrosm_mad::sa::inform::InformInfoRecord;
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord};
use ferrosm_mad::sa::service::ServiceRecord;
use serde::{Deserialize, Serialize};

use super::{RecordChange, RecordKey, RecordKind};
use crate::lid_map::LidMap;
use crate::routing_origin::SlToVlEpoch;
use crate::sa::registry::multicast::{GroupMember, GroupParameters, MulticastGroup};
use crate::sa::registry::registration::{
    RegisteredAlias, RegisteredService, RegisteredSubscription, Registration, RegistrationKey,
    RegistrationUpdate,
};

/// The last entry of the largest GUIDInfo table.
const ALIAS_MAX: u16 = 2047;

/// A record, of the kinds that stand for themselves; those of views belong together and are [`super::ViewPersister`]'s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// Who owns which LIDs.
    Lid {
        /// The port.
        port: PortGuid,
        /// Its base LID.
        lid: Lid,
        /// It has 2^LMC of them.
        lmc: Lmc,
    },
    /// A registration of a client.
    Registration(Registration),
    /// The M_Key of a port.
    MKey {
        /// The port; [`Self::ALL_PORTS`] for the key of all of which nothing else is kept.
        port: PortGuid,
        /// Its key.
        m_key: MKey,
    },
    /// Two ports that were connected.
    Neighbour {
        /// The one: its GUID, which all ports of a switch have in common, and its number.
        of: (PortGuid, PortNum),
        /// The other.
        to: (PortGuid, PortNum),
    },
    /// Tables of lanes were about to be written.
    SlToVlEpoch(SlToVlEpoch),
}

/// One change of what is kept, in terms of what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordUpdate {
    /// No record of this kind counts any more.
    Clear(RecordKind),
    /// A record, in place of what there was under its key.
    Put(Record),
    /// There is no such record any more.
    Remove(RecordKey),
}

impl RecordUpdate {
    /// The same in bytes, so many seconds after 1970.
    #[must_use]
    pub fn to_change(&self, unix_s: u64) -> RecordChange {
        match self {
            Self::Clear(kind) => RecordChange::Clear(*kind),
            Self::Put(record) => RecordChange::Put(record.key(), record.encode(unix_s)),
            Self::Remove(key) => RecordChange::Remove(key.clone()),
        }
    }

    /// Whether it must be durable before devices are written: a successor of an SM that died meanwhile would otherwise assume that they
    /// are unchanged.
    #[must_use]
    pub const fn precedes_device_writes(&self) -> bool {
        matches!(
            self,
            Self::Put(Record::SlToVlEpoch(_) | Record::MKey { .. })
        )
    }
}

/// What makes one map of LIDs the other.
#[must_use]
pub fn lid_updates(before: &LidMap, after: &LidMap) -> Vec<RecordUpdate> {
    let put = after
        .iter()
        .filter(|(port, is)| before.get(port) != Some(*is))
        .map(|(&port, &(lid, lmc))| RecordUpdate::Put(Record::Lid { port, lid, lmc }));
    let gone = before.keys().filter(|port| !after.contains_key(port));
    put.chain(gone.map(|port| RecordUpdate::Remove(Record::lid_key(*port))))
        .collect()
}

/// Why bytes are no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordError(String);

impl RecordError {
    pub(super) fn new(key: &RecordKey, why: &str) -> Self {
        Self(format!("{key:?}: {why}"))
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
    /// Stands for all ports where a port is named.
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

    /// What tells it from others.
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

    /// Its bytes. `unix_s` is the time now, in seconds since 1970.
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
            Self::SlToVlEpoch(mark) => bytes(&(mark.number, mark.sm_port.0)),
        }
    }

    /// What bytes say; `None` of a kind that is not told by one record. `unix_s` is the time now, in seconds since 1970: with 0,
    /// what is left of a lease is the time of its end.
    ///
    /// # Errors
    /// If they say nothing, or what cannot be.
    pub fn decode(key: &RecordKey, value: &[u8], unix_s: u64) -> Result<Option<Self>, RecordError> {
        let kind = key
            .kind()
            .ok_or_else(|| RecordError::new(key, "of a kind that is not known here"))?;
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
        let record = record.ok_or_else(|| RecordError::new(key, "cannot be read"))?;
        if record.key() == *key {
            Ok(Some(record))
        } else {
            Err(RecordError::new(key, "is another's"))
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
                    .lease_left_s
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

/// Nothing here can fail to be encoded: there are only numbers, bytes and options in it.
fn bytes<T: Serialize>(value: &T) -> Box<[u8]> {
    postcard::to_allocvec(value).unwrap_or_default().into()
}

/// A value, if that is what the bytes are, to the last one.
fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(value)
}

/// Eight bytes of a key's rest, from there.
fn number(key: &RecordKey, at: usize) -> Option<u64> {
    let bytes = key.suffix().get(at..)?.first_chunk()?;
    Some(u64::from_be_bytes(*bytes))
}

fn lid(key: &RecordKey, value: &[u8]) -> Option<Record> {
    let LidValue { lid, lmc } = parse(value)?;
    let last = u32::from(lid) + (1 << lmc.min(7)) - 1;
    let fits = lmc <= 7 && Lid(lid).is_unicast() && last <= u32::from(Lid::UNICAST_MAX.0);
    fits.then_some(Record::Lid {
        port: PortGuid(number(key, 0)?),
        lid: Lid(lid),
        lmc: Lmc(lmc),
    })
}

fn group(key: &RecordKey, value: &[u8]) -> Option<Registration> {
    let GroupValue { well_known, record } = parse(value)?;
    let sized: &[u8; McMemberRecord::LEN] = record.try_into().ok()?;
    let record = McMemberRecord::decode(sized);
    // An MLID that is none is given anew; a group that is none is nobody's.
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
        port: PortGuid(number(key, 16)?),
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
            lease_left_s: ends_unix_s.map(|ends| ends.saturating_sub(unix_s)),
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
            port: PortGuid(number(key, 0)?),
            index,
            alias: PortGuid(alias),
        },
    ))
}

fn m_key(key: &RecordKey, value: &[u8]) -> Option<Record> {
    Some(Record::MKey {
        port: PortGuid(number(key, 0)?),
        m_key: MKey::new(parse(value)?),
    })
}

fn neighbour(key: &RecordKey, value: &[u8]) -> Option<Record> {
    let (guid, port): (u64, u8) = parse(value)?;
    Some(Record::Neighbour {
        of: (PortGuid(number(key, 0)?), PortNum(*key.suffix().get(8)?)),
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
                lease_left_s: Some(60),
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
    fn what_is_encoded_is_decoded() {
        let mut restorer = RecordRestorer::new(1_000);
        for record in records() {
            let bytes = record.encode(1_000);
            let back = Record::decode(&record.key(), &bytes, 1_000);
            assert_eq!(back, Ok(Some(record.clone())));
            restorer.put(&record.key(), &bytes);
        }
        let (restored, left_out) = restorer.finish();
        assert_eq!(left_out, []);
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

    /// However long it lies: after ten seconds there are ten less, and after the end nothing.
    #[test]
    fn a_lease_goes_on_while_nobody_looks() {
        let service = records().remove(3);
        let bytes = service.encode(1_000);
        let left_s = |unix_s| {
            let mut restorer = RecordRestorer::new(unix_s);
            restorer.put(&service.key(), &bytes);
            let services = restorer.finish().0.registrations.services;
            services.first().map(|s| s.lease_left_s.unwrap_or(u64::MAX))
        };
        assert_eq!(left_s(1_010), Some(50));
        assert_eq!(left_s(1_059), Some(1));
        assert_eq!(left_s(1_060), None);
        assert_eq!(left_s(990), Some(70), "a clock that was set back");
    }

    #[test]
    fn what_cannot_be_is_told_by_its_name() {
        let lid = Record::lid_key(PortGuid(1));
        for (lid_value, lmc) in [(0, 0), (0xC000, 0), (0xBFFE, 2), (8, 8)] {
            let value = bytes(&LidValue {
                lid: lid_value,
                lmc,
            });
            let why = Record::decode(&lid, &value, 0).unwrap_err().to_string();
            assert_eq!(why, "Some(Lid) 0000000000000001: cannot be read");
        }
        // A value under another's key.
        for record in records().into_iter().skip(1).take(1) {
            let key = RecordKey::from(RegistrationKey::Group(Gid([0xFE; 16])));
            assert!(Record::decode(&key, &record.encode(0), 0).is_err());
        }
        // A member alone.
        let mut restorer = RecordRestorer::new(0);
        let member = records().remove(2);
        restorer.put(&member.key(), &member.encode(0));
        let (restored, left_out) = restorer.finish();
        assert!(restored.registrations.is_empty());
        assert_eq!(left_out.len(), 1);
        assert_eq!(left_out[0].key, member.key());
    }

    fn torn() -> impl Strategy<Value = (RecordKey, Vec<u8>)> {
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
        let all = records().len();
        let flipped = (
            0..all,
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
        /// Whatever bytes: what comes out can be encoded again to what says the same, and a manager can start with it.
        #[test]
        fn no_bytes_make_it_panic(all in prop::collection::vec(torn(), 1..12)) {
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
            let mut registry = crate::sa::registry::Registry::from_registrations(&restored.registrations, now);
            // What was not as it can be is put right where it is kept.
            let encoded = |r| {
                let record = Record::Registration(r);
                (record.key(), record.encode(5))
            };
            let mut kept = restored.registrations.iter().map(encoded).collect();
            let changes = registry.take_updates(now).into_iter().map(|u| RecordUpdate::from(u).to_change(5)).collect();
            crate::records::RecordBatch { changes }.apply(&mut kept);
            let all = registry.registrations(now).map(encoded).collect();
            prop_assert_eq!(kept, all);
        }
    }
}
