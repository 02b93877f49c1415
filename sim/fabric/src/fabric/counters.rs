//! Counters of requests and losses, for tests and oracles.

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::AttrId;

/// Attributes with counters of their own; all others share one.
const COUNTED_ATTRIBUTES: [AttrId; 13] = [
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
    while i < COUNTED_ATTRIBUTES.len() {
        if COUNTED_ATTRIBUTES[i].0 == attr.0 {
            return i;
        }
        i += 1;
    }
    COUNTED_ATTRIBUTES.len()
}

/// Requests that reached the SMA of a node, or of all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeCounters {
    gets: [u32; COUNTED_ATTRIBUTES.len() + 1],
    sets: [u32; COUNTED_ATTRIBUTES.len() + 1],
    /// Requests dropped because of a wrong M_Key.
    pub m_key_violations: u32,
    /// Requests answered with an error status.
    pub refused: u32,
}

impl NodeCounters {
    /// Attributes with counters of their own.
    pub const ATTRIBUTES: [AttrId; COUNTED_ATTRIBUTES.len()] = COUNTED_ATTRIBUTES;

    /// Gets of an attribute (uncommon attributes share one counter).
    #[must_use]
    pub const fn gets(&self, attr: AttrId) -> u32 {
        self.gets[index(attr)]
    }

    /// Sets of an attribute (uncommon attributes share one counter).
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

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// Malformed: base version, hop count, hop pointer, D bit, or addresses that no directed route
    /// has.
    Malformed,
    /// The output port has no active link, or does not exist.
    LinkDown,
    /// A directed route leads through a node that is not a switch.
    NotASwitch,
    /// No forwarding entry: above LinearFDBTop, 0xFF, or a nonexistent port.
    NoRoute,
    /// A forwarding loop.
    Loop,
    /// The receiving port does not have the destination LID.
    WrongLid,
    /// Data packet at a port that is not Active.
    NotActive,
    /// The SL maps to VL15 or an inactive VL.
    NoVl,
    /// Wrong M_Key.
    MKey,
    /// No program at the port receives it.
    NoClient,
    /// The node has no power.
    NoPower,
    /// The P_Key does not match the port's table.
    PKey,
    /// The GRH's destination is not a GID of the port.
    WrongGid,
    /// Management class on the wrong queue pair.
    WrongQp,
}

impl DropReason {
    /// All reasons.
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

impl std::fmt::Display for DropReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Malformed => "malformed",
            Self::LinkDown => "no active link at the output port",
            Self::NotASwitch => "directed route through a node that is not a switch",
            Self::NoRoute => "no forwarding entry",
            Self::Loop => "forwarding loop",
            Self::WrongLid => "the receiving port has another LID",
            Self::NotActive => "port not Active",
            Self::NoVl => "SL without an active VL",
            Self::MKey => "wrong M_Key",
            Self::NoClient => "no program receives it",
            Self::NoPower => "node without power",
            Self::PKey => "P_Key not in the port's table",
            Self::WrongGid => "the receiving port has another GID",
            Self::WrongQp => "management class on the wrong queue pair",
        })
    }
}

/// Totals of a fabric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// MADs sent by programs.
    pub sent: u64,
    /// MADs delivered to programs.
    pub delivered: u64,
    /// Traps sent, including repetitions.
    pub traps: u64,
    dropped: [u64; DropReason::ALL.len()],
}

impl Totals {
    /// MADs dropped for a reason.
    #[must_use]
    pub const fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped[reason as usize]
    }

    /// MADs dropped for any reason.
    #[must_use]
    pub fn all_dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }

    pub(crate) const fn drop_one(&mut self, reason: DropReason) {
        self.dropped[reason as usize] += 1;
    }
}
