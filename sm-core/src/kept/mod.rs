//! What outlives a subnet manager, as records: kept over restarts, and copied to those that stand by.
//!
//! A record is bytes under a key, and a [`Batch`] is what changes of them at once. Who keeps them (a file, another machine) sees
//! nothing but bytes, so that nobody has to be taught when a kind is added. Nothing here reads or writes anything.

use core::fmt;

/// What a record is about: the first byte of its key. The numbers are the records' own and stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Base LID and LMC of a port; by port GUID.
    Lid = 1,
    /// What belongs to the view as a whole; one record.
    ViewHead = 2,
    /// A part of what a node is in the view; by node GUID and part.
    View = 3,
    /// A multicast group; by MGID.
    Group = 4,
    /// A member of a multicast group; by MGID and port GID.
    Member = 5,
    /// A service; by its key.
    Service = 6,
    /// A subscription; by subscriber and what it is about.
    Subscription = 7,
    /// An alias GUID; by port GUID and place.
    Alias = 8,
    /// What the routing in force was made from; one record.
    Routing = 9,
    /// The M_Key of a port, where it is not that of all; by port GUID.
    MKey = 10,
}

impl Kind {
    /// All there are.
    pub const ALL: [Self; 10] = [
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
    ];

    /// By its number.
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// The key of a record: its kind, then what tells it from others of the kind, big-endian so that keys sort as what they say.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Box<[u8]>);

impl Key {
    /// Most bytes that a key has.
    pub const LEN_MAX: usize = 128;

    /// Of parts that follow each other.
    #[must_use]
    pub fn new(kind: Kind, parts: &[&[u8]]) -> Self {
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
    pub fn kind(&self) -> Option<Kind> {
        Kind::of(*self.0.first()?)
    }

    /// All of it, the kind first.
    #[must_use]
    pub const fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// What follows the kind.
    #[must_use]
    pub fn rest(&self) -> &[u8] {
        self.0.get(1..).unwrap_or_default()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} ", self.kind())?;
        self.rest().iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

/// One change of what is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// No record of this kind is worth anything.
    Clear(Kind),
    /// A record, in place of what there was under its key.
    Put(Key, Box<[u8]>),
    /// There is no such record any more; there may have been none.
    Remove(Key),
}

/// Changes that belong together: all are kept, in this order, or none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// The changes.
    pub changes: Vec<Change>,
}

impl Batch {
    /// Whether nothing changes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}
