//! Notices: what the SM found and what it does about it.

use core::fmt;
use core::time::Duration;

use ferrosm_mad::ids::Lid;
use ferrosm_mad::mad::Status;

use super::about_sm::AboutSm;
use crate::election;
use crate::location::PortName;

/// Something that the SM found. `Display` is a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// The election reports something about another SM.
    Election(AboutSm<election::ElectionNotice>),
    /// A port names another SM as its master; a full sweep follows.
    ForeignMaster {
        /// The port.
        port: PortName,
        /// The LID of that SM.
        master: Lid,
    },
    /// The process stalled; the other SMs are queried before the next write.
    ProcessStalled,
    /// The replica was not loaded in time; the SM continues without it.
    ReplicaTimedOut,
    /// Until the first sweep is complete, clients are answered from the restored view.
    RestoredViewUsed {
        /// The age of the view.
        age: Duration,
    },
    /// The restored view is not used.
    RestoredViewRejected(ViewMismatch),
    /// The restored view is withdrawn: too many ports have other LIDs.
    RestoredViewWithdrawn,
    /// End ports of the restored view are absent or have another LID; they are removed from it.
    EndPortsMoved {
        /// How many.
        count: usize,
    },
    /// The SL, MTU or rate of groups changed; their members are asked to join again.
    GroupParametersChanged {
        /// How many hosts are asked.
        hosts: usize,
    },
    /// A port does not accept alias GUIDs.
    AliasGuidsRejected {
        /// The port.
        port: PortName,
        /// The block of GUIDs.
        block: u8,
        /// How the last write failed.
        failure: WriteFailure,
    },
    /// A link between switches leads to another port than before.
    LinkMoved(PortName),
    /// An inconsistency was found; a full sweep follows.
    InconsistencyFound,
    /// A light sweep found changes; a local sweep follows.
    ChangesFound {
        /// Switches to read again.
        switches: usize,
        /// Ports to read again.
        ports: usize,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Election(notice) => notice.fmt(f),
            Self::ForeignMaster { port, master } => write!(
                f,
                "{port} names the SM at LID {master} as its master: looking at everything"
            ),
            Self::ProcessStalled => f.write_str(
                "this process did not run for a while: the other subnet managers are asked before anything is written",
            ),
            Self::ReplicaTimedOut => {
                f.write_str("what was kept did not come in time: it is begun without")
            }
            Self::RestoredViewUsed { age } => write!(
                f,
                "until the first sweep is done, clients are answered from what was kept {} s ago",
                age.as_secs()
            ),
            Self::RestoredViewRejected(mismatch) => {
                write!(f, "what was kept of the subnet is not used: {mismatch}")
            }
            Self::RestoredViewWithdrawn => f.write_str(
                "what was kept of the subnet is not used any more: too many ports have other LIDs",
            ),
            Self::EndPortsMoved { count } => write!(
                f,
                "{count} end ports are not where they were: nobody is told of them before the sweep is done"
            ),
            Self::GroupParametersChanged { hosts } => write!(
                f,
                "{hosts} hosts are asked to join their groups again: SL, MTU or rate of a group is another"
            ),
            Self::AliasGuidsRejected {
                port,
                block,
                failure,
            } => write!(
                f,
                "{port} does not take alias GUIDs of block {block}: {failure}"
            ),
            Self::LinkMoved(port) => {
                write!(f, "the cable at {port} leads elsewhere than before")
            }
            Self::InconsistencyFound => {
                f.write_str("not all was as it should be: looking at everything")
            }
            Self::ChangesFound { switches, ports } => {
                write!(f, "{switches} switches and {ports} ports to look at")
            }
        }
    }
}

/// How a Set failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteFailure {
    /// The device did not respond.
    NoResponse,
    /// The device responded with this status, or with other values than were written.
    Rejected(Status),
}

impl fmt::Display for WriteFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoResponse => f.write_str("no answer"),
            Self::Rejected(status) => write!(f, "status {status}"),
        }
    }
}

/// Why the restored view is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewMismatch {
    /// It names no port of its SM.
    NoOwnPort,
    /// It is of another port or subnet.
    AnotherPort,
    /// The SM's own port has another LID.
    AnotherLid,
    /// The SM's own port has another subnet prefix.
    AnotherPrefix,
    /// Another SM was master since: clients may have registered with it.
    AnotherMaster,
    /// A replica of another subnet.
    AnotherSubnet,
    /// The SM's own port is not in the replica: its master had seen the port leave. The rest of the replica may be right.
    PortAbsent,
    /// The SM's own port has another LID in the replica.
    AnotherLidInReplica,
    /// The SM's own link leads to another port.
    AnotherNeighbour,
}

impl fmt::Display for ViewMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoOwnPort => "it has no own port",
            Self::AnotherPort => "it is of another port or subnet",
            Self::AnotherLid => "the own port has another LID",
            Self::AnotherPrefix => "the own port has another subnet prefix",
            Self::AnotherMaster => "another master was there since",
            Self::AnotherSubnet => "it is of another subnet",
            Self::PortAbsent => "the own port is not in it",
            Self::AnotherLidInReplica => "the own port has another LID in it",
            Self::AnotherNeighbour => "the own cable leads to another port",
        })
    }
}
