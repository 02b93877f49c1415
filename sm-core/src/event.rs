//! What a [`crate::SubnetManager`] reports to the operator. Events are data; their `Display` is one line.

mod about_sm;
mod notice;

use core::fmt;

use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::{NodeGuid, PortGuid};

use crate::election::{self, RoleChangeReason};
use crate::location::{Location, NodeName, PortName};
use crate::plan::failure::RoutingFailure;
use crate::report::{Phase, SweepReport};
use crate::sa::registry::multicast::MlidExhaustion;

pub use about_sm::{AboutSm, SmLocation};
pub use notice::{Notice, ViewMismatch, WriteFailure};

/// Whether outputs wait for durable state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurabilityEvent {
    /// The store is late: replies to SA clients leave before the registrations that they confirm are durable.
    RepliesUnprotected,
    /// The store has caught up: replies wait for durable state again.
    RepliesProtected,
    /// The store is late: SLtoVL tables or M_Keys are written before the records that must precede them are durable.
    WritesUnprotected,
}

impl fmt::Display for DurabilityEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RepliesUnprotected => {
                "SA registrations not durable in time; replying before they are: clients may have to register again after a restart or takeover"
            }
            Self::RepliesProtected => "SA replies wait for durable state again",
            Self::WritesUnprotected => {
                "records of SLtoVL tables and M_Keys not durable in time; writing devices before they are: a successor may not know them"
            }
        })
    }
}

/// Why the SM cannot use its own port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLinkReason {
    /// The port is down.
    PortDown(PortName),
    /// The local node does not respond.
    LocalNodeSilent,
    /// The response of the local node is not plausible.
    LocalNodeImplausible(&'static str),
    /// The local node was not found.
    LocalNodeUnknown,
}

impl fmt::Display for NoLinkReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PortDown(port) => write!(f, "{port} is down"),
            Self::LocalNodeSilent => f.write_str("the local node does not answer"),
            Self::LocalNodeImplausible(why) => {
                write!(f, "the local node's answer cannot be used: {why}")
            }
            Self::LocalNodeUnknown => f.write_str("the local node is not known"),
        }
    }
}

/// What an operator may want to know. `Display` is one line.
#[derive(Debug, Clone)]
pub enum Event {
    /// A phase of a sweep has begun.
    PhaseStarted(Phase),
    /// A sweep is complete; the subnet is up as far as the report says.
    SweepCompleted(Box<SweepReport>),
    /// The SM's own port is down or the local node does not answer: nothing can be done until it is up.
    LocalPortUnusable(NoLinkReason),
    /// The role among subnet managers changed.
    RoleChanged {
        /// The state now.
        state: SmState,
        /// Why.
        why: AboutSm<RoleChangeReason>,
    },
    /// A trap arrived.
    TrapReceived {
        /// Its number.
        number: u16,
        /// Where it came from.
        location: Location,
    },
    /// The routing was refused by every engine; the old tables stay.
    RoutingFailed(RoutingFailure),
    /// The SM found something.
    Notice(Notice),
    /// The subnet stays with this SM, although it was to be another's: why.
    HandoverFailed(AboutSm<election::ElectionNotice>),
    /// Somebody has to do something about this.
    Alarm(AboutSm<election::ElectionNotice>),
    /// The end, as it was asked for by [`crate::Input::HandOver`]: the subnet is another SM's now, or nobody took it, or it was not this one's
    /// to give.
    Stopped {
        /// Who took it.
        handed_to: Option<PortGuid>,
        /// This SM was master until then.
        was_master: bool,
    },
    /// Whether outputs wait for durable state.
    Durability(DurabilityEvent),
    /// There is too little of something that clients or devices need.
    Shortage(MlidExhaustion),
    /// A node came into the subnet after the first sweep.
    NodeAdded(NodeGuid),
    /// A node left the subnet.
    NodeRemoved(NodeName),
    /// A link came up between two ports.
    LinkUp(PortName, PortName),
    /// A link went down.
    LinkDown(PortName, PortName),
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PhaseStarted(p) => write!(f, "phase {p}"),
            Self::SweepCompleted(r) => write!(
                f,
                "sweep {} done: {} switches, {} CAs, {} routers, {} links",
                r.number, r.switches, r.cas, r.routers, r.links
            ),
            Self::LocalPortUnusable(why) => write!(f, "no link: {why}"),
            Self::RoleChanged { state, why } => write!(f, "now {state}: {why}"),
            Self::TrapReceived { number, location } => write!(f, "trap {number} from {location}"),
            Self::RoutingFailed(why) => write!(f, "no routing: {why}"),
            Self::Notice(what) => write!(f, "noticed: {what}"),
            Self::HandoverFailed(why) => write!(f, "not handed over: {why}"),
            Self::Alarm(what) => write!(f, "ALARM: {what}"),
            Self::Stopped {
                handed_to: Some(to),
                ..
            } => write!(
                f,
                "stopped: the subnet is handed over to the SM of GUID {to}"
            ),
            Self::Stopped {
                was_master: true, ..
            } => f.write_str("stopped: no other SM took the subnet"),
            Self::Stopped { .. } => f.write_str("stopped, and was not master"),
            Self::Durability(event) => event.fmt(f),
            Self::Shortage(of) => write!(f, "{of}"),
            Self::NodeAdded(n) => write!(f, "node added: {n}"),
            Self::NodeRemoved(n) => write!(f, "node gone: {n}"),
            Self::LinkUp(a, b) => write!(f, "link up: {a} - {b}"),
            Self::LinkDown(a, b) => write!(f, "link down: {a} - {b}"),
        }
    }
}
