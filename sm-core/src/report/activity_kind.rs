//! What the SM is doing, as reports, the log, commands and components see it.

use core::fmt;

use super::SweepKind;

/// What the SM is doing. The requests that it waits for belong to this activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivityKind {
    /// Nothing; the next timer, trap or command starts an activity.
    Idle,
    /// Nothing: the SM's own port has no link.
    NoLink,
    /// Polls of the master only.
    Standby,
    /// Reads PortStateChange of all switches and SMInfo of the other SMs.
    LightSweep,
    /// A phase of a sweep.
    Sweep(SweepKind, Phase),
    /// An SMInfo scan outside of a sweep.
    SmScan,
    /// Mastership is being decided: a handover, or an SMInfo scan after a stall.
    AwaitMastership,
    /// The replica of the last master's state is being loaded.
    AwaitReplica,
    /// Writes multicast tables after members changed.
    MulticastUpdate,
    /// Reads and writes alias GUIDs.
    AliasGuids,
    /// Explores what a sweep left out.
    Survey,
}

impl ActivityKind {
    /// The kind of the sweep, if one runs.
    #[must_use]
    pub const fn sweep(self) -> Option<SweepKind> {
        if let Self::Sweep(kind, _) = self {
            Some(kind)
        } else {
            None
        }
    }

    /// The phase of the sweep, if one runs.
    #[must_use]
    pub const fn phase(self) -> Option<Phase> {
        if let Self::Sweep(_, phase) = self {
            Some(phase)
        } else {
            None
        }
    }

    /// Whether it may send Sets that configure devices.
    pub(crate) const fn configures(self) -> bool {
        matches!(
            self,
            Self::Sweep(..) | Self::MulticastUpdate | Self::AliasGuids
        )
    }

    /// Whether tables or ports are being written.
    pub(crate) const fn is_writing(self) -> bool {
        matches!(
            self,
            Self::Sweep(_, Phase::WriteTables | Phase::Arm | Phase::Activate)
                | Self::MulticastUpdate
        )
    }

    /// Whether responses lead to further requests: in discovery, and while routes are computed,
    /// because traps that arrive then are followed up as in discovery.
    pub(crate) const fn follows_responses(self) -> bool {
        matches!(self, Self::Sweep(_, Phase::Discover | Phase::Route))
    }

    /// As [`Self::follows_responses`], in a full sweep.
    pub(crate) const fn follows_all_responses(self) -> bool {
        matches!(
            self,
            Self::Sweep(SweepKind::Full, Phase::Discover | Phase::Route)
        )
    }

    /// Whether the discovery of a full sweep runs.
    pub(crate) const fn is_full_discovery(self) -> bool {
        matches!(self, Self::Sweep(SweepKind::Full, Phase::Discover))
    }
}

/// The phase of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Discovery by directed route.
    Discover,
    /// Reading P_Key tables that another SM may have configured.
    ReadForeignTables,
    /// SMInfo scan of the other SMs.
    SmScan,
    /// Reading the tables installed in switches.
    ReadTables,
    /// Assigning LIDs and computing routes.
    Route,
    /// Writing P_Key, VL and forwarding tables.
    WriteTables,
    /// Configuring ports and arming links.
    Arm,
    /// Activating links.
    Activate,
}

impl fmt::Display for ActivityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "idle",
            Self::NoLink => "waiting for a link",
            Self::Standby => "polling the master",
            Self::LightSweep => "light sweep",
            Self::Sweep(kind, phase) => return write!(f, "{kind} sweep: {phase}"),
            Self::SmScan => "querying other SMs",
            Self::AwaitMastership => "waiting for mastership",
            Self::AwaitReplica => "loading the replica",
            Self::MulticastUpdate => "writing multicast tables",
            Self::AliasGuids => "writing alias GUIDs",
            Self::Survey => "counting new switches",
        })
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Discover => "discover",
            Self::ReadForeignTables => "read foreign tables",
            Self::ReadTables => "read tables",
            Self::SmScan => "other SMs",
            Self::Route => "route",
            Self::WriteTables => "write tables",
            Self::Arm => "arm links",
            Self::Activate => "activate links",
        })
    }
}
