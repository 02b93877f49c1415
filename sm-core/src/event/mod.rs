//! What a [`crate::SubnetManager`] reports to the operator. Events are data; `Display` formats them
//! as one line.

mod about_sm;
mod key_violation;
mod local_change;
mod observation;
mod refused_request;

use core::fmt;

use ferrosm_fabric::location::{Location, NodeName, PortName};
use ferrosm_fabric::observed::NodeRemovalReason;
use ferrosm_mad::attr::{LinkRate, SmState};
use ferrosm_mad::ids::PortGuid;

use crate::election::{self, RoleChangeReason};
use crate::plan::failure::RoutingFailure;
use crate::plan::partitions::absent_members::{self, AbsentMember};
use crate::report::{Phase, Problem, SweepReport};
use crate::sa::registry::multicast::MlidExhaustion;

pub use about_sm::{AboutSm, SmLocation};
pub use key_violation::KeyViolation;
pub use local_change::LocalChangeReport;
pub(crate) use local_change::flags_of;
pub use observation::{LinkFlaps, LocalSweepReasons, Observation, ViewMismatch, WriteFailure};
pub use refused_request::RefusedRequest;

/// Whether outputs wait for durable state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DurabilityEvent {
    /// The store is late: replies to SA clients leave before the registrations that they confirm
    /// are durable.
    RepliesUnprotected,
    /// The store has caught up: replies wait for durable state again.
    RepliesProtected,
    /// The store is late: SLtoVL tables or M_Keys are written before the records that must precede
    /// them are durable.
    WritesUnprotected,
}

impl fmt::Display for DurabilityEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RepliesUnprotected => {
                "SA registrations not saved in time, replies sent anyway: clients may have to register again after a restart or takeover"
            }
            Self::RepliesProtected => "SA registrations are saved before the reply again",
            Self::WritesUnprotected => {
                "records of SLtoVL tables and M_Keys not saved in time, devices written anyway: the next master may not know them"
            }
        })
    }
}

/// Why the SM cannot use its own port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLinkReason {
    /// The port is down.
    PortDown(PortName),
    /// The port does not respond.
    PortSilent(PortName),
    /// The port has a link, and the node at its other end does not respond.
    NeighbourSilent(PortName),
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
            Self::PortSilent(port) => write!(
                f,
                "{port} does not respond; if it has another M_Key, set subnet.m-key to it"
            ),
            Self::NeighbourSilent(port) => write!(
                f,
                "the node behind {port} does not respond; if it has another M_Key, set subnet.m-key to it"
            ),
            Self::LocalNodeSilent => {
                f.write_str("the local port does not respond to SMPs (M_Key of another SM?)")
            }
            Self::LocalNodeImplausible(why) => {
                write!(f, "invalid response of the local node: {why}")
            }
            Self::LocalNodeUnknown => f.write_str("local node not found"),
        }
    }
}

/// A change of state that the operator can observe. `Display` formats it as one line.
#[derive(Debug, Clone)]
pub enum Event {
    /// A phase of a sweep started.
    PhaseStarted(Phase),
    /// A sweep is complete; the report lists its problems.
    SweepCompleted(Box<SweepReport>),
    /// A problem was found while no sweep ran, and is not in the report of the last sweep.
    ProblemFound(Problem),
    /// The SM's own port is down or the local node does not respond. The SM waits until the port is
    /// up.
    LocalPortUnusable(NoLinkReason),
    /// The SM's own port can be used again.
    LocalPortUsable(PortName),
    /// The SMInfo state of this SM changed.
    RoleChanged {
        /// The new state.
        state: SmState,
        /// The reason.
        why: AboutSm<RoleChangeReason>,
    },
    /// A trap was received.
    TrapReceived {
        /// Its number; of a vendor's trap, the DeviceID.
        number: u16,
        /// The vendor whose trap it is; `None` if the specification defines it.
        vendor: Option<u32>,
        /// Its source.
        location: Location,
        /// Traps 256 to 259: the packet that was dropped.
        violation: Option<KeyViolation>,
        /// Trap 144: what changed.
        change: Option<LocalChangeReport>,
    },
    /// Every engine rejected the fabric; the installed tables stay in force.
    RoutingFailed(RoutingFailure),
    /// An observation; docs/operations.md has the action, if any.
    Observation(Observation),
    /// A requested handover failed; this SM remains master.
    HandoverFailed(AboutSm<election::ElectionNotice>),
    /// A condition that the operator must resolve.
    Alarm(AboutSm<election::ElectionNotice>),
    /// The SM stopped after [`crate::Command::Stop`]: another SM became master, none did, or this
    /// SM was not master.
    Stopped {
        /// The new master, by its port GUID.
        handed_to: Option<AboutSm<PortGuid>>,
        /// Whether this SM was master.
        was_master: bool,
    },
    /// Whether outputs wait for durable state.
    Durability(DurabilityEvent),
    /// All MLIDs are in use.
    MlidsExhausted(MlidExhaustion),
    /// A request of an SA client was refused.
    RequestRefused(Box<RefusedRequest>),
    /// This number of further requests was refused; they are not reported one by one.
    FurtherRequestsRefused(u64),
    /// Configured members of partitions are not in the subnet. Each is reported once, and again
    /// after it was in the subnet.
    PartitionMembersAbsent(Vec<AbsentMember>),
    /// A node was discovered after the first sweep, with this number of links.
    NodeAdded(NodeName, usize),
    /// A node was removed from the subnet.
    NodeRemoved(NodeName, NodeRemovalReason),
    /// A switch lost LinearFDBTop since it was last read: it restarted and lost its tables, which
    /// are written again.
    SwitchRestarted(NodeName),
    /// A link came up between two ports of nodes that were not added with it.
    LinkUp(PortName, PortName),
    /// A link went down.
    LinkDown(PortName, PortName),
    /// A link runs below the width or speed that both ports have enabled. Reported once, and again
    /// after its rate changed.
    LinkDegraded(Box<LinkRateChange>),
    /// A link runs at the width and speed that both ports have enabled, and was degraded before.
    LinkRestored(Box<LinkRateChange>),
    /// This number of further links is degraded; they are not reported one by one.
    FurtherLinksDegraded(usize),
}

/// The rate of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkRateChange {
    /// Its ports.
    pub ends: [PortName; 2],
    /// The active width and speed.
    pub active: LinkRate,
    /// The width and speed that both ports support and have enabled.
    pub possible: LinkRate,
}

impl fmt::Display for LinkRateChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            ends: [a, b],
            active,
            possible,
        } = self;
        write!(f, "{a} - {b}: {active} of {possible}")
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PhaseStarted(p) => write!(f, "phase started: {p}"),
            Self::SweepCompleted(r) => write!(
                f,
                "sweep {} complete: {} switches, {} CAs, {} routers, {} links",
                r.number, r.switches, r.cas, r.routers, r.links
            ),
            Self::ProblemFound(problem) => write!(f, "problem found: {problem}"),
            Self::LocalPortUnusable(why) => write!(f, "local port unusable: {why}"),
            Self::LocalPortUsable(port) => write!(f, "local port usable: {port}"),
            Self::RoleChanged { state, why } => write!(f, "role changed to {state}: {why}"),
            Self::TrapReceived {
                number,
                vendor,
                location,
                violation,
                change,
            } => {
                write!(f, "trap {number} received from {location}")?;
                if let Some(vendor) = vendor {
                    write!(f, " (vendor {vendor:#08x})")?;
                }
                if let Some(change) = change {
                    write!(f, ": {change}")?;
                }
                violation
                    .as_ref()
                    .map_or(Ok(()), |packet| write!(f, ": {packet}"))
            }
            Self::RoutingFailed(why) => write!(f, "routing failed: {why}"),
            Self::Observation(what) => what.fmt(f),
            Self::HandoverFailed(why) => write!(f, "handover failed: {why}"),
            Self::Alarm(what) => write!(f, "alarm: {what}"),
            Self::Stopped {
                handed_to: Some(to),
                ..
            } => write!(f, "stopped: mastership handed over to SM {to}"),
            Self::Stopped {
                was_master: true, ..
            } => f.write_str("stopped: no other SM became master"),
            Self::Stopped { .. } => f.write_str("stopped: was not master"),
            Self::Durability(event) => event.fmt(f),
            Self::MlidsExhausted(of) => write!(f, "{of}"),
            Self::RequestRefused(request) => request.fmt(f),
            Self::FurtherRequestsRefused(count) => write!(f, "{count} further SA requests refused"),
            Self::PartitionMembersAbsent(members) => write!(
                f,
                "partition members not in the subnet: {}",
                absent_members::describe(members)
            ),
            Self::NodeAdded(n, 1) => write!(f, "node added: {n}, 1 link"),
            Self::NodeAdded(n, links) => write!(f, "node added: {n}, {links} links"),
            Self::NodeRemoved(n, why) => write!(f, "node removed: {n}: {why}"),
            Self::SwitchRestarted(n) => write!(f, "switch restarted: {n}"),
            Self::LinkUp(a, b) => write!(f, "link up: {a} - {b}"),
            Self::LinkDown(a, b) => write!(f, "link down: {a} - {b}"),
            Self::LinkDegraded(link) => write!(f, "link degraded: {link}"),
            Self::LinkRestored(link) => write!(f, "link no longer degraded: {link}"),
            Self::FurtherLinksDegraded(count) => write!(f, "{count} further links degraded"),
        }
    }
}
