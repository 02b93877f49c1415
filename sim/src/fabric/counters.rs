//! Counts of what the fabric was asked and what it lost, for tests and oracles.

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::AttrId;

/// The attributes that are counted one by one; any other shares a count.
const COUNTED: [AttrId; 13] = [
    id::NODE_DESCRIPTION,
    id::NODE_INFO,
    id::SWITCH_INFO,
    id::GUID_INFO,
    id::PORT_INFO,
    id::PKEY_TABLE,
    id::SL_TO_VL,
    id::VL_ARBITRATION,
    id::LFT,
    id::MFT,
    id::SM_INFO,
    id::LED_INFO,
    id::NOTICE,
];

const fn index(attr: AttrId) -> usize {
    let mut i = 0;
    while i < COUNTED.len() {
        if COUNTED[i].0 == attr.0 {
            return i;
        }
        i += 1;
    }
    COUNTED.len()
}

/// Requests that reached the SMA of a node (or, summed, of all nodes), accepted or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeCounters {
    gets: [u32; COUNTED.len() + 1],
    sets: [u32; COUNTED.len() + 1],
    /// Requests dropped for a wrong M_Key.
    pub m_key_violations: u32,
    /// Requests answered with an error status.
    pub refused: u32,
}

impl NodeCounters {
    /// The attributes that are counted one by one.
    pub const ATTRIBUTES: [AttrId; COUNTED.len()] = COUNTED;

    /// Gets of an attribute (uncommon attributes share one count).
    #[must_use]
    pub const fn gets(&self, attr: AttrId) -> u32 {
        self.gets[index(attr)]
    }

    /// Sets of an attribute (uncommon attributes share one count).
    #[must_use]
    pub const fn sets(&self, attr: AttrId) -> u32 {
        self.sets[index(attr)]
    }

    /// Gets of any attribute.
    #[must_use]
    pub fn all_gets(&self) -> u64 {
        self.gets.iter().copied().map(u64::from).sum()
    }

    /// Sets of any attribute.
    #[must_use]
    pub fn all_sets(&self) -> u64 {
        self.sets.iter().copied().map(u64::from).sum()
    }

    pub(crate) fn count(&mut self, attr: AttrId, set: bool) {
        let counts = if set { &mut self.sets } else { &mut self.gets };
        counts[index(attr)] += 1;
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (a, b) in self.gets.iter_mut().zip(&other.gets) {
            *a += b;
        }
        for (a, b) in self.sets.iter_mut().zip(&other.sets) {
            *a += b;
        }
        self.m_key_violations += other.m_key_violations;
        self.refused += other.refused;
    }
}

/// Why a MAD got nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// Malformed: base version, hop count, hop pointer, D bit, or addresses that no directed route
    /// has.
    Malformed,
    /// The link it should leave by is not trained, or there is no such port.
    LinkDown,
    /// A directed route leads through a node that is no switch.
    NotASwitch,
    /// A forwarding table drops the LID: above LinearFDBTop, 0xFF, or a port that does not exist.
    NoRoute,
    /// A forwarding loop.
    Loop,
    /// It reached a port that does not own the LID.
    WrongLid,
    /// A data packet at a port that is not Active.
    NotActive,
    /// The SL is mapped to VL15.
    NoVl,
    /// Wrong M_Key.
    MKey,
    /// Nobody at the port takes it.
    NoClient,
    /// The node has no power.
    NoPower,
    /// The P_Key is not one of the port's.
    PKey,
    /// The GRH's destination is none of the port's GIDs.
    WrongGid,
    /// A class on a queue pair where it does not belong.
    WrongQp,
}

impl DropReason {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Malformed,
        Self::LinkDown,
        Self::NotASwitch,
        Self::NoRoute,
        Self::Loop,
        Self::WrongLid,
        Self::NotActive,
        Self::NoVl,
        Self::MKey,
        Self::NoClient,
        Self::NoPower,
        Self::PKey,
        Self::WrongGid,
        Self::WrongQp,
    ];
}

/// Totals of a fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// MADs that clients sent.
    pub sent: u64,
    /// MADs that were handed to clients.
    pub delivered: u64,
    /// Traps sent, repetitions included.
    pub traps: u64,
    dropped: [u64; DropReason::ALL.len()],
}

impl Totals {
    /// MADs lost for a reason.
    #[must_use]
    pub const fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped[reason as usize]
    }

    /// MADs lost for any reason.
    #[must_use]
    pub fn all_dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }

    pub(crate) const fn drop_one(&mut self, reason: DropReason) {
        self.dropped[reason as usize] += 1;
    }
}
