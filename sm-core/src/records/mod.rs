//! What outlives a subnet manager, as records: kept over restarts, and copied to those that stand by.
//!
//! A record is bytes under a key, and a [`RecordBatch`] is what changes of them at once. Who keeps them (a file, another machine) sees
//! nothing but bytes, so that nobody has to be taught when a kind is added. Nothing here reads or writes anything.
//!
//! | module | what it holds |
//! |---|---|
//! | this | kinds, keys, changes, batches |
//! | `record` | what a record says, its bytes, and back |
//! | `view` | the view's records ([`crate::sa::view::persist`]) as changes of these |
//! | [`routing`] | the routing in force, its bytes, and back |
//! | `restore` | all records to what a subnet manager starts with |
//! | `restored` | what a subnet manager starts with |

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

/// Version of all records together. A reader takes its own and no other.
pub const VERSION: u32 = 2;

/// What a record is about: the first byte of its key. The numbers are the records' own and stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum RecordKind {
    /// Base LID and LMC of a port; by port GUID.
    Lid = 1,
    /// What belongs to the view as a whole; one record.
    ViewHead = 2,
    /// A part of what a node is in the view; by node GUID and part.
    View = 3,
    /// A multicast group; by MGID.
    Group = 4,
    /// A member of a multicast group; by MGID and the GUID that it joined with (the prefix is the subnet's).
    Member = 5,
    /// A service; by ServiceID, ServiceGID and P_Key.
    Service = 6,
    /// A subscription; by subscriber and SubscriberEnum.
    Subscription = 7,
    /// An alias GUID; by port GUID and place.
    Alias = 8,
    /// What the routing in force was made from; one record.
    Routing = 9,
    /// The M_Key of a port, where it is not that of all; by port GUID. Under GUID 0 that of all.
    MKey = 10,
    /// What was at the other end of a port's cable, as another subnet manager knew it; by port GUID and port number.
    Neighbour = 11,
    /// How often tables of lanes were about to be written; one record.
    SlToVlEpoch = 12,
}

impl RecordKind {
    /// All there are.
    pub const ALL: [Self; 12] = [
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
    ];

    /// What clients have registered.
    pub const REGISTRATIONS: [Self; 5] = [
        Self::Group,
        Self::Member,
        Self::Service,
        Self::Subscription,
        Self::Alias,
    ];

    /// By its number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// The key of a record: its kind, then what tells it from others of the kind, big-endian so that keys sort as what they say.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordKey(Box<[u8]>);

impl RecordKey {
    /// Most bytes that a key has.
    pub const LEN_MAX: usize = 128;

    /// Of parts that follow each other.
    #[must_use]
    pub fn new(kind: RecordKind, parts: &[&[u8]]) -> Self {
        let mut bytes = vec![kind as u8];
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        Self(bytes.into())
    }

    /// As it was read; `None` for what can be no key.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (1..=Self::LEN_MAX)
            .contains(&bytes.len())
            .then(|| Self(bytes.into()))
    }

    /// What it is about; `None` for a kind that a later version has.
    #[must_use]
    pub fn kind(&self) -> Option<RecordKind> {
        RecordKind::from_number(*self.0.first()?)
    }

    /// All of it, the kind first.
    #[must_use]
    pub const fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// What follows the kind.
    #[must_use]
    pub fn suffix(&self) -> &[u8] {
        self.0.get(1..).unwrap_or_default()
    }
}

impl fmt::Debug for RecordKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ", self.kind())?;
        self.suffix().iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// One change of what is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordChange {
    /// No record of this kind is worth anything.
    Clear(RecordKind),
    /// A record, in place of what there was under its key.
    Put(RecordKey, Box<[u8]>),
    /// There is no such record any more; there may have been none.
    Remove(RecordKey),
}

impl RecordChange {
    /// Puts a record as of the epoch, so that a lease is stored as its end; `None` for a record that does not decode to the same.
    #[must_use]
    pub fn put(record: &Record) -> Option<Self> {
        let (key, value) = (record.key(), record.encode(0));
        let decoded = Record::decode(&key, &value, 0).ok()?;
        (decoded.as_ref() == Some(record)).then_some(Self::Put(key, value))
    }
}

/// Changes that belong together: all are kept, in this order, or none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordBatch {
    /// The changes.
    pub changes: Vec<RecordChange>,
}

impl RecordBatch {
    /// Whether nothing changes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The same outcome with each record changed once: of changes of a record only the last counts.
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

    /// Carries the changes out.
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
        /// On whatever was there before.
        #[test]
        fn a_compacted_batch_does_the_same(
            before in prop::collection::vec(change(), 0..20),
            changes in prop::collection::vec(change(), 0..40),
        ) {
            let mut there = BTreeMap::new();
            RecordBatch { changes: before }.apply(&mut there);
            let batch = RecordBatch { changes };
            let compacted = batch.clone().compacted();
            let mut same = there.clone();
            batch.apply(&mut there);
            compacted.apply(&mut same);
            prop_assert_eq!(there, same);
            let keys: Vec<_> = compacted.changes.iter().filter_map(|c| match c {
                RecordChange::Put(key, _) | RecordChange::Remove(key) => Some(key),
                RecordChange::Clear(_) => None,
            }).collect();
            prop_assert!(keys.is_sorted() && keys.windows(2).all(|two| two[0] != two[1]));
        }
    }

    #[test]
    fn keys_sort_as_what_they_say() {
        let of = |n: u64| RecordKey::new(RecordKind::Lid, &[&n.to_be_bytes()]);
        assert!(of(0xFF) < of(0x100) && of(1) < of(0xFFFF_FFFF_FFFF_FFFF));
        assert_eq!(RecordKey::from_bytes(of(7).bytes()), Some(of(7)));
        assert_eq!(RecordKey::from_bytes(&[]), None);
        assert_eq!(RecordKey::from_bytes(&[1; RecordKey::LEN_MAX + 1]), None);
        assert_eq!(RecordKey::from_bytes(&[200]).and_then(|k| k.kind()), None);
    }
}
