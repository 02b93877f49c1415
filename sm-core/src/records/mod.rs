//! Persisted records: the state that outlives a restart and that standbys replicate.
//!
//! A record is a byte string under a key; a [`RecordBatch`] is a set of changes that are stored all
//! or not at all. The store and replication handle bytes only, so a new kind of record changes
//! neither. This module performs no I/O.
//!
//! | module | contents |
//! |---|---|
//! | this | kinds, keys, changes, batches |
//! | `record` | encoding and decoding of single records |
//! | `view` | encoding of the SA view ([`ferrosm_fabric::snapshot::persist`]) as record changes |
//! | [`routing`] | encoding and decoding of the routing in force |
//! | `restore` | conversion of all records to a [`RestoredState`] |
//! | `restored` | the state with which an SM starts |

pub mod lid_map;
mod record;
mod restore;
mod restored;
pub mod routing;
mod view;

use core::fmt;
use std::collections::BTreeMap;

pub use record::{Record, RecordError, RecordUpdate, lid_updates};
pub use restore::{RecordRestorer, SkippedRecord};
pub use restored::RestoredState;
pub use view::{ViewPersister, node_and_part};

/// Version of the record format. A reader accepts only its own version.
pub const VERSION: u32 = 3;

/// The kind of a record: the first byte of its key. The numbers are part of the on-disk format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RecordKind {
    /// Base LID and LMC of a port; by port GUID.
    Lid = 1,
    /// Data of the SA view that belong to no node; one record.
    ViewHead = 2,
    /// A part of a node's data in the SA view; by node GUID and part.
    View = 3,
    /// A multicast group; by MGID.
    Group = 4,
    /// A member of a multicast group; by MGID and port GUID (the interface ID of its PortGID).
    Member = 5,
    /// A service; by ServiceID, ServiceGID and P_Key.
    Service = 6,
    /// A subscription; by subscriber and SubscriberEnum.
    Subscription = 7,
    /// An alias GUID; by port GUID and index in GUIDInfo.
    Alias = 8,
    /// The routing in force; one record.
    Routing = 9,
    /// An M_Key; by port GUID if the port has an exceptional key, under GUID 0 the key of all other
    /// ports.
    MKey = 10,
    /// The peer of a port, as imported from another SM; by port GUID and port number.
    Neighbour = 11,
    /// The epoch of the SLtoVL tables; one record.
    SlToVlEpoch = 12,
    /// Settings of another SM wait for the operator's consent to remove them; one record.
    AwaitsConsent = 13,
    /// A partition that operators added at run time; by number.
    Partition = 14,
    /// A drained switch or link, or a disabled port; by node GUID and port number.
    Maintenance = 15,
    /// A key that replaces the configured one; by kind of key.
    KeyRotation = 16,
    /// A port that was disabled and is to be enabled; by node GUID and port number.
    PortToEnable = 17,
    /// Limits of the link at a port of a switch; by node GUID and port number.
    PortLimits = 18,
}

impl RecordKind {
    /// All kinds.
    pub const ALL: [Self; 18] = [
        Self::Lid,
        Self::ViewHead,
        Self::View,
        Self::Group,
        Self::Member,
        Self::Service,
        Self::Subscription,
        Self::Alias,
        Self::Routing,
        Self::MKey,
        Self::Neighbour,
        Self::SlToVlEpoch,
        Self::AwaitsConsent,
        Self::Partition,
        Self::Maintenance,
        Self::KeyRotation,
        Self::PortToEnable,
        Self::PortLimits,
    ];

    /// Kinds of registrations of SA clients.
    pub const REGISTRATIONS: [Self; 5] = [
        Self::Group,
        Self::Member,
        Self::Service,
        Self::Subscription,
        Self::Alias,
    ];

    /// The kind with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    /// Whether records of this kind are part of the view, and therefore only valid together.
    #[must_use]
    pub const fn is_of_view(self) -> bool {
        matches!(self, Self::View | Self::ViewHead)
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lid => "LID",
            Self::ViewHead => "SA view head",
            Self::View => "SA view",
            Self::Group => "multicast group",
            Self::Member => "multicast member",
            Self::Service => "service",
            Self::Subscription => "subscription",
            Self::Alias => "alias GUID",
            Self::Routing => "routing",
            Self::MKey => "M_Key",
            Self::Neighbour => "neighbour",
            Self::SlToVlEpoch => "SLtoVL epoch",
            Self::AwaitsConsent => "awaited consent",
            Self::Partition => "partition",
            Self::Maintenance => "maintenance",
            Self::KeyRotation => "key rotation",
            Self::PortToEnable => "port to enable",
            Self::PortLimits => "limits of a port",
        })
    }
}

/// The key of a record: its kind, then its identity, big-endian so that keys sort by value.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey(Box<[u8]>);

impl RecordKey {
    /// Maximum length of a key in bytes.
    pub const LEN_MAX: usize = 128;

    /// The key of a kind whose identity is the concatenation of `parts`.
    #[must_use]
    pub fn new(kind: RecordKind, parts: &[&[u8]]) -> Self {
        let mut bytes = vec![kind as u8];
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        Self(bytes.into())
    }

    /// A key as stored; `None` if its length is invalid.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (1..=Self::LEN_MAX)
            .contains(&bytes.len())
            .then(|| Self(bytes.into()))
    }

    /// The kind; `None` if this version does not know it.
    #[must_use]
    pub fn kind(&self) -> Option<RecordKind> {
        RecordKind::from_number(*self.0.first()?)
    }

    /// Whether the record is part of the view.
    #[must_use]
    pub fn is_of_view(&self) -> bool {
        self.kind().is_some_and(RecordKind::is_of_view)
    }

    /// The encoded key.
    #[must_use]
    pub const fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The identity: the bytes after the kind.
    #[must_use]
    pub fn suffix(&self) -> &[u8] {
        self.0.get(1..).unwrap_or_default()
    }
}

/// Kind and identity: `LID record 0002c90300a1b2c3`.
impl fmt::Display for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Some(kind) => write!(f, "{kind} record ")?,
            None => f.write_str("record of unknown kind ")?,
        }
        self.suffix().iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ", self.kind())?;
        self.suffix().iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// A change of the persisted records, encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordChange {
    /// Removes all records of a kind.
    Clear(RecordKind),
    /// Inserts or replaces a record.
    Put(RecordKey, Box<[u8]>),
    /// Removes a record, if present.
    Remove(RecordKey),
}

impl RecordChange {
    /// A [`Self::Put`] of a record whose lease is its end in Unix time; `None` if the encoded
    /// record does not decode to the same value.
    #[must_use]
    pub fn put(record: &Record) -> Option<Self> {
        let (key, value) = (record.key(), record.encode(0));
        let decoded = Record::decode(&key, &value, 0).ok()?;
        (decoded.as_ref() == Some(record)).then_some(Self::Put(key, value))
    }
}

/// Changes that are stored all or not at all, in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordBatch {
    pub changes: Vec<RecordChange>,
}

impl RecordBatch {
    /// Whether there is no change.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// An equivalent batch with at most one change for each record: the last.
    #[must_use]
    pub fn compacted(self) -> Self {
        let mut cleared = Vec::new();
        let mut last: BTreeMap<RecordKey, Option<Box<[u8]>>> = BTreeMap::new();
        for change in self.changes {
            match change {
                RecordChange::Clear(kind) => {
                    last.retain(|key, _| key.kind() != Some(kind));
                    if !cleared.contains(&kind) {
                        cleared.push(kind);
                    }
                }
                RecordChange::Put(key, value) => {
                    last.insert(key, Some(value));
                }
                RecordChange::Remove(key) => {
                    last.insert(key, None);
                }
            }
        }
        let cleared = cleared.into_iter().map(RecordChange::Clear);
        let changed = last.into_iter().map(|(key, value)| match value {
            Some(value) => RecordChange::Put(key, value),
            None => RecordChange::Remove(key),
        });
        Self {
            changes: cleared.chain(changed).collect(),
        }
    }

    /// Applies the changes to `records`.
    pub fn apply(&self, records: &mut BTreeMap<RecordKey, Box<[u8]>>) {
        for change in &self.changes {
            match change {
                RecordChange::Clear(kind) => records.retain(|key, _| key.kind() != Some(*kind)),
                RecordChange::Put(key, value) => {
                    records.insert(key.clone(), value.clone());
                }
                RecordChange::Remove(key) => {
                    records.remove(key);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn change() -> impl Strategy<Value = RecordChange> {
        (0..8u8, 1..5u8, 0..4u8, any::<u8>()).prop_map(|(what, kind, name, value)| {
            let kind = RecordKind::from_number(kind).unwrap();
            let key = RecordKey::new(kind, &[&[name]]);
            match what {
                0 => RecordChange::Clear(kind),
                1..=2 => RecordChange::Remove(key),
                _ => RecordChange::Put(key, Box::new([value])),
            }
        })
    }

    proptest! {
        #[test]
        fn compacted_batch_has_the_same_effect(
            before in prop::collection::vec(change(), 0..20),
            changes in prop::collection::vec(change(), 0..40),
        ) {
            let mut records = BTreeMap::new();
            RecordBatch { changes: before }.apply(&mut records);
            let batch = RecordBatch { changes };
            let compacted = batch.clone().compacted();
            let mut by_compacted = records.clone();
            batch.apply(&mut records);
            compacted.apply(&mut by_compacted);
            prop_assert_eq!(records, by_compacted);
            let keys: Vec<_> = compacted.changes.iter().filter_map(|c| match c {
                RecordChange::Put(key, _) | RecordChange::Remove(key) => Some(key),
                RecordChange::Clear(_) => None,
            }).collect();
            prop_assert!(keys.is_sorted() && keys.windows(2).all(|two| two[0] != two[1]));
        }
    }

    #[test]
    fn keys_sort_by_value() {
        let lid_key = |n: u64| RecordKey::new(RecordKind::Lid, &[&n.to_be_bytes()]);
        assert!(lid_key(0xFF) < lid_key(0x100) && lid_key(1) < lid_key(0xFFFF_FFFF_FFFF_FFFF));
        assert_eq!(RecordKey::from_bytes(lid_key(7).bytes()), Some(lid_key(7)));
        assert_eq!(RecordKey::from_bytes(&[]), None);
        assert_eq!(RecordKey::from_bytes(&[1; RecordKey::LEN_MAX + 1]), None);
        assert_eq!(RecordKey::from_bytes(&[200]).and_then(|k| k.kind()), None);
    }
}
