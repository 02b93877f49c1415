//! What a sweep found and did, for the operator and for tests.

use core::fmt;
use core::time::Duration;
use std::collections::BTreeMap;

use ferrosm_mad::ids::{AttrId, Lid, NodeGuid, PortGuid};
use ferrosm_routing::Proof;

use crate::location::Location;

/// Why a port or node is left out of the subnet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QuarantineReason {
    /// Another node already has this node GUID.
    DuplicateNodeGuid(NodeGuid),
    /// Another port already has this port GUID.
    DuplicatePortGuid(PortGuid),
    /// What it answered cannot be true.
    Implausible(&'static str),
    /// It did not answer.
    NoResponse,
    /// The directed route would be longer than 63 hops.
    PathTooLong,
}

impl fmt::Display for QuarantineReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateNodeGuid(g) => {
                write!(f, "node GUID {g} is already used by another node")
            }
            Self::DuplicatePortGuid(g) => {
                write!(f, "port GUID {g} is already used by another port")
            }
            Self::Implausible(what) => write!(f, "answers cannot be true: {what}"),
            Self::NoResponse => f.write_str("no answer"),
            Self::PathTooLong => f.write_str("more than 63 hops away"),
        }
    }
}

/// Something that is wrong with the fabric; the sweep went on without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub location: Location,
    /// What.
    pub kind: ProblemKind,
}

/// Kinds of [`Problem`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemKind {
    /// What is behind the port is left out.
    Quarantined(QuarantineReason),
    /// A node of the subnet stopped answering some question.
    NoResponse {
        /// The attribute that was read or written.
        attr: AttrId,
    },
    /// A Set was answered with an error status.
    SetRejected {
        /// The attribute that was written.
        attr: AttrId,
        /// The status.
        status: ferrosm_mad::mad::Status,
    },
    /// No LID was left for it.
    NoLid,
    /// The link did not become active.
    NotActive(ferrosm_mad::attr::PortState),
    /// Two ports had the same LID; this one was given another.
    LidConflict(Lid),
    /// The ends of a link that is up differ in NeighborMTU or OperationalVLs; the values are rewritten.
    LinkMismatch,
    /// The same, and the link was bounced (`links.bounce`).
    LinkBounced,
    /// A cable between two ports of the same switch.
    Loopback,
    /// A switch without a linear forwarding table.
    NoLinearTable,
    /// Its P_Key table has no room for all partitions that it is to be in.
    PKeyTableFull {
        /// Keys that are missing.
        count: usize,
        /// Keys that the table holds.
        capacity: u16,
    },
    /// It does not check the P_Keys of packets, because its table is too small for the port behind it.
    PKeysNotEnforced {
        /// Keys of the port behind it.
        needed: usize,
        /// Keys that the table holds.
        capacity: u16,
    },
}

impl ProblemKind {
    /// Whether the subnet is not fully up because of it.
    #[must_use]
    pub const fn is_severe(&self) -> bool {
        match self {
            Self::Quarantined(_)
            | Self::NoResponse { .. }
            | Self::SetRejected { .. }
            | Self::NoLid
            | Self::NotActive(_)
            | Self::NoLinearTable
            | Self::PKeyTableFull { .. } => true,
            Self::LidConflict(_)
            | Self::LinkMismatch
            | Self::LinkBounced
            | Self::Loopback
            | Self::PKeysNotEnforced { .. } => false,
        }
    }
}

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |a: &AttrId| {
            ferrosm_mad::attr::id::name(*a).map_or_else(|| a.to_string(), str::to_owned)
        };
        match self {
            Self::Quarantined(why) => write!(f, "left out: {why}"),
            Self::NoResponse { attr } => write!(f, "no answer to {}", name(attr)),
            Self::SetRejected { attr, status } => {
                write!(f, "refused Set({}): {status}", name(attr))
            }
            Self::NoLid => f.write_str("no LID left for it"),
            Self::NotActive(state) => write!(f, "the link stays in {state}"),
            Self::LidConflict(lid) => {
                write!(f, "its LID {lid} belongs to another port; given a new one")
            }
            Self::LinkMismatch => {
                f.write_str("NeighborMTU or OperationalVLs differed between link ends; rewritten")
            }
            Self::LinkBounced => f.write_str(
                "NeighborMTU or OperationalVLs differed between link ends; link bounced",
            ),
            Self::Loopback => f.write_str("loopback cable, not used for routing"),
            Self::NoLinearTable => {
                f.write_str("has no linear forwarding table; left out of routing")
            }
            Self::PKeyTableFull { count, capacity } => write!(
                f,
                "its P_Key table of {capacity} entries has no room for {count} more"
            ),
            Self::PKeysNotEnforced { needed, capacity } => write!(
                f,
                "does not check P_Keys: {needed} are behind it, its table holds {capacity}"
            ),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.kind)
    }
}

/// What the SM is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Phase {
    /// Nothing: between sweeps.
    #[default]
    Idle,
    /// Looking at the fabric.
    Discover,
    /// Reading the tables that switches already have.
    ReadTables,
    /// Asking other subnet managers.
    OtherSms,
    /// Giving out LIDs and computing routes.
    Route,
    /// Writing forwarding tables.
    WriteTables,
    /// Configuring ports and arming links.
    Arm,
    /// Activating links.
    Activate,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Idle => "idle",
            Self::Discover => "discover",
            Self::ReadTables => "read tables",
            Self::OtherSms => "other SMs",
            Self::Route => "route",
            Self::WriteTables => "write tables",
            Self::Arm => "arm links",
            Self::Activate => "activate links",
        })
    }
}

/// SMPs of one attribute and method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SmpCount {
    /// Gets sent, repetitions included.
    pub gets: u64,
    /// Sets sent, repetitions included.
    pub sets: u64,
    /// Times that no answer came in time.
    pub timeouts: u64,
}

/// What one sweep found and did.
#[derive(Debug, Clone, Default)]
pub struct SweepReport {
    /// Running number.
    pub number: u32,
    /// Whether only a part was read.
    pub local: bool,
    /// Switches of the subnet.
    pub switches: usize,
    /// Channel adapters.
    pub cas: usize,
    /// Routers.
    pub routers: usize,
    /// Cables with both ends up.
    pub links: usize,
    /// LIDs in use.
    pub lids: usize,
    /// Highest LID in use.
    pub top_lid: Lid,
    /// LIDs that were given out or changed in this sweep.
    pub lids_changed: usize,
    /// The engine whose tables are installed; empty in a subnet without switches.
    pub engine: &'static str,
    /// What the engine says of its work, and why engines before it were refused.
    pub engine_notes: Vec<String>,
    /// Proof of the routing; `None` where nothing had to be routed.
    pub proof: Option<Proof>,
    /// LFT blocks written.
    pub lft_blocks_written: u64,
    /// SMPs by attribute.
    pub smps: BTreeMap<AttrId, SmpCount>,
    /// Time spent in each phase, in order.
    pub phases: Vec<(Phase, Duration)>,
    /// From the first SMP to the last answer.
    pub took: Duration,
    /// No engine could route it: the old tables stay.
    pub failed: bool,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// Ports of the LID map that are not in the subnet now.
    pub absent: usize,
    /// The fullest P_Key table that was looked at; `None` where no partitions are configured.
    pub fullest_pkey_table: Option<PKeyTableUsage>,
}

/// How full a P_Key table is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PKeyTableUsage {
    /// The port.
    pub location: Location,
    /// Entries in use.
    pub used: usize,
    /// Entries that there are.
    pub capacity: u16,
}

impl PKeyTableUsage {
    /// Entries that are free.
    #[must_use]
    pub fn free(&self) -> usize {
        usize::from(self.capacity).saturating_sub(self.used)
    }
}

impl SweepReport {
    /// Whether every port found is up, addressed and routed.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        !self.failed && !self.problems.iter().any(|p| p.kind.is_severe())
    }

    /// All SMPs sent.
    #[must_use]
    pub fn smps_sent(&self) -> u64 {
        self.smps.values().map(|c| c.gets + c.sets).sum()
    }
}
