//! Faults of a fabric, a node or a link, and actions that can be scheduled.
//!
//! Plain data. [`crate::net::Net`] draws the random numbers and applies faults and actions.

use std::time::Duration;

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, TrapNumber};
use ferrosm_mad::ids::{AttrId, Lid, Lmc, NodeGuid, PortGuid};
use ferrosm_mad::mad::Status;

use crate::fabric::{Fabric, PortCounter};
use crate::foreign_sm::ForeignSm;
use crate::spec::{LinkSpec, NodeIdx, PortAt};

/// Faults of the whole fabric, or of one node.
///
/// Loss, duplication, jitter and latency of a node affect every MAD that starts, ends or passes
/// there, in addition to those of the fabric. The fields from `service` on concern the agent: a
/// node with its own faults uses its own values, other nodes use those of the fabric. Probabilities
/// range from 0 to 1 and are drawn from the net's seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Faults {
    /// Probability that a MAD is lost, per direction.
    pub loss: f64,
    /// Probability that a MAD arrives twice.
    pub duplicate: f64,
    /// Maximum additional latency of a MAD, uniformly distributed: MADs can overtake each other.
    pub jitter: Duration,
    /// Additional latency at each node where a MAD starts or ends or that it passes.
    pub latency: Duration,
    /// Processing time of the agent per MAD; it processes one at a time.
    pub service: Duration,
    /// Length of the agent's queue; further MADs are lost, as on VL15. 0: unlimited.
    pub backlog: u32,
    /// Delay of replies, in which the agent can process further MADs.
    pub delay: Duration,
    /// The agent never replies. Switches still forward.
    pub hung: bool,
    /// The agent rejects every Set with this status.
    pub rejected_set_status: Option<Status>,
    /// With `rejected_set_status`: the agent rejects only Sets of this attribute.
    pub rejected_attr: Option<AttrId>,
    /// Corruption of replies.
    pub garbage: Option<Garbage>,
    /// Probability that a reply is corrupted, if `garbage` is set.
    pub garbage_probability: f64,
}

/// How replies are corrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbage {
    /// Random attribute data (64 bytes).
    Data,
    /// Random error status.
    Status,
    /// Wrong transaction ID.
    Tid,
    /// Wrong attribute ID.
    Attribute,
    /// Wrong attribute modifier.
    Modifier,
    /// Other values in unused bits of the tables that Sets wrote. The tables have the written
    /// values.
    UnusedBits,
    /// One of the above except `UnusedBits`, drawn per reply.
    Any,
}

impl Faults {
    /// No faults; agents take 2 us per MAD.
    pub const NONE: Self = Self {
        loss: 0.0,
        duplicate: 0.0,
        jitter: Duration::ZERO,
        latency: Duration::ZERO,
        service: Duration::from_micros(2),
        backlog: 0,
        delay: Duration::ZERO,
        hung: false,
        rejected_set_status: None,
        rejected_attr: None,
        garbage: None,
        garbage_probability: 1.0,
    };

    /// The agent never replies.
    pub const HUNG: Self = Self {
        hung: true,
        ..Self::NONE
    };

    /// MADs are lost with this probability.
    #[must_use]
    pub const fn lossy(loss: f64) -> Self {
        Self { loss, ..Self::NONE }
    }

    /// Replies are delayed.
    #[must_use]
    pub const fn late(delay: Duration) -> Self {
        Self {
            delay,
            ..Self::NONE
        }
    }

    /// The agent processes MADs slowly.
    #[must_use]
    pub const fn slow(service: Duration) -> Self {
        Self {
            service,
            ..Self::NONE
        }
    }

    /// All replies are corrupted.
    #[must_use]
    pub const fn garbage(kind: Garbage) -> Self {
        Self {
            garbage: Some(kind),
            ..Self::NONE
        }
    }

    /// Sets are rejected with this status.
    #[must_use]
    pub const fn rejecting_sets(status: Status) -> Self {
        Self {
            rejected_set_status: Some(status),
            ..Self::NONE
        }
    }

    /// Sets of one attribute are rejected with this status.
    #[must_use]
    pub const fn rejecting_sets_of(attr: AttrId, status: Status) -> Self {
        Self {
            rejected_attr: Some(attr),
            ..Self::rejecting_sets(status)
        }
    }

    /// These faults without loss, duplication, jitter and latency: initial value of a node's own
    /// faults.
    #[must_use]
    pub const fn agent_only(self) -> Self {
        Self {
            loss: 0.0,
            duplicate: 0.0,
            jitter: Duration::ZERO,
            latency: Duration::ZERO,
            ..self
        }
    }
}

impl Default for Faults {
    fn default() -> Self {
        Self::NONE
    }
}

/// Faults of one direction of a link, in addition to those of the fabric and the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinkFaults {
    /// Probability that a MAD is lost.
    pub loss: f64,
    /// Probability that a MAD arrives twice.
    pub duplicate: f64,
    /// Maximum additional latency, uniformly distributed.
    pub jitter: Duration,
    /// Latency of the link; `None`: the default of the fabric.
    pub latency: Option<Duration>,
    /// Time in which the receiver drains one MAD. Further MADs wait for credits, and the sender's
    /// XmitWait counts the time.
    pub drain: Duration,
}

/// One or both directions of the link at a port. Faults stay with the ports if the cable is
/// removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkDirection {
    /// Both directions.
    Both(PortAt),
    /// Packets that arrive at the port.
    Into(PortAt),
    /// Packets that leave by the port.
    OutOf(PortAt),
}

impl LinkDirection {
    /// The port.
    #[must_use]
    pub const fn port(self) -> PortAt {
        match self {
            Self::Both(at) | Self::Into(at) | Self::OutOf(at) => at,
        }
    }
}

/// Where a fault applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultScope {
    /// The whole fabric.
    Fabric,
    /// MADs that start, end or pass at a node.
    Node(NodeIdx),
    /// MADs on a link.
    Link(LinkDirection),
}

/// A change of one transport fault; others remain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TransportFault {
    /// Probability of loss.
    Loss(f64),
    /// Probability of duplication.
    Duplicate(f64),
    /// Maximum jitter.
    Jitter(Duration),
    /// Latency: for a link, its own; for the fabric, the default of links; for a node, an addition.
    Latency(Duration),
}

/// A change of one agent fault; others remain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AgentFault {
    /// Processing time per MAD.
    Service(Duration),
    /// Queue length; 0: unlimited.
    Backlog(u32),
    /// Delay of replies.
    Delay(Duration),
    /// Whether the agent hangs.
    Hung(bool),
    /// Status with which Sets are rejected; `None`: Sets are processed.
    Refuse(Option<Status>),
    /// Sets of this attribute are rejected with this status; others are processed.
    RefuseAttr(AttrId, Status),
    /// Corruption of replies and its probability; `None`: no corruption.
    Garbage(Option<Garbage>, f64),
}

/// A function that is called once with the fabric.
pub struct FabricCall(Box<dyn FnOnce(&mut Fabric) + Send>);

impl FabricCall {
    /// Wraps a function.
    pub fn new(f: impl FnOnce(&mut Fabric) + Send + 'static) -> Self {
        Self(Box::new(f))
    }

    pub(crate) fn run(self, fabric: &mut Fabric) {
        (self.0)(fabric);
    }
}

impl std::fmt::Debug for FabricCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FabricCall")
    }
}

/// A change of the fabric or its faults.
#[derive(Debug)]
pub enum FabricAction {
    /// [`Fabric::cut`].
    Cut(PortAt),
    /// [`Fabric::restore`].
    Restore(PortAt),
    /// [`Fabric::bounce`].
    Bounce(PortAt),
    /// Cuts and restores a cable repeatedly: cut for the first half of each period.
    Flap {
        /// A port of the link.
        at: PortAt,
        /// Time between two cuts.
        period: Duration,
        /// Number of cuts.
        times: u32,
    },
    /// [`Fabric::add_cable`].
    AddCable(LinkSpec),
    /// [`Fabric::remove_cable`].
    RemoveCable(PortAt),
    /// [`Fabric::move_cable`].
    MoveCable(PortAt, PortAt),
    /// [`Fabric::swap_cables`].
    SwapCables(PortAt, PortAt),
    /// [`Fabric::degrade`].
    Degrade(PortAt, LinkSpeed, LinkWidth),
    /// [`Fabric::set_link_training`].
    LinkTraining(Duration),
    /// [`Fabric::power_off`].
    PowerOff(NodeIdx),
    /// [`Fabric::power_on`].
    PowerOn(NodeIdx),
    /// [`Fabric::reboot`].
    Reboot(NodeIdx),
    /// [`Fabric::inject_trap`].
    Trap(PortAt, TrapNumber),
    /// [`Fabric::set_description`].
    Describe(NodeIdx, String),
    /// [`Fabric::set_srp_target`].
    SrpTarget(NodeIdx, bool),
    /// [`Fabric::ignore_operational_vls`].
    IgnoreOperationalVls(NodeIdx),
    /// [`Fabric::separate_smi`].
    SeparateSmi(NodeIdx),
    /// [`Fabric::set_node_guid`].
    NodeGuid(NodeIdx, NodeGuid),
    /// [`Fabric::set_port_guid`].
    PortGuid(PortAt, PortGuid),
    /// [`Fabric::set_lid`].
    Lid(PortAt, Lid, Lmc),
    /// [`Fabric::corrupt_lft`].
    CorruptLft(NodeIdx, Lid, u8),
    /// Sets the faults of the whole fabric.
    Faults(Faults),
    /// Sets the faults of a node; `None`: those of the fabric.
    NodeFaults(NodeIdx, Option<Faults>),
    /// Sets the loss of the link at a port, in both directions.
    LinkLoss(PortAt, f64),
    /// Changes a transport fault.
    TransportFault(FaultScope, TransportFault),
    /// Sets the drain time of a link; see [`LinkFaults::drain`].
    Drain(LinkDirection, Duration),
    /// Changes an agent fault of a node, or of all nodes.
    Agent(Option<NodeIdx>, AgentFault),
    /// Sets the loss of MADs with an attribute; 0 ends the loss.
    AttrLoss(FaultScope, AttrId, f64),
    /// [`Fabric::add_errors`].
    Count {
        at: PortAt,
        counter: PortCounter,
        /// The increment.
        n: u64,
    },
    /// Sets a counter, with the effects of [`Fabric::add_errors`].
    SetCounter {
        at: PortAt,
        counter: PortCounter,
        /// The new value.
        value: u64,
    },
    /// Ends all faults in a scope; for the fabric, those of all nodes and links.
    Heal(FaultScope),
    /// Starts a foreign SM at an end port.
    AddForeignSm(PortAt, Box<ForeignSm>),
    /// Kills a foreign SM without handover.
    RemoveForeignSm(PortAt),
    /// Calls a function.
    Call(FabricCall),
}

impl FabricAction {
    /// Code of the action in the trace hash.
    pub(crate) const fn code(&self) -> u64 {
        match self {
            Self::Cut(_) => 1,
            Self::Restore(_) => 2,
            Self::Bounce(_) => 3,
            Self::AddCable(_) => 4,
            Self::RemoveCable(_) => 5,
            Self::MoveCable(..) => 6,
            Self::PowerOff(_) => 7,
            Self::PowerOn(_) => 8,
            Self::Reboot(_) => 9,
            Self::Trap(..) => 10,
            Self::NodeGuid(..) => 11,
            Self::PortGuid(..) => 12,
            Self::Lid(..) => 13,
            Self::CorruptLft(..) => 14,
            Self::Faults(_) => 15,
            Self::NodeFaults(..) => 16,
            Self::LinkLoss(..) => 17,
            Self::AddForeignSm(..) => 18,
            Self::RemoveForeignSm(_) => 19,
            Self::Flap { .. } => 20,
            Self::SwapCables(..) => 21,
            Self::Call(_) => 22,
            Self::Degrade(..) => 23,
            Self::LinkTraining(_) => 24,
            Self::Describe(..) => 25,
            Self::TransportFault(..) => 26,
            Self::Drain(..) => 27,
            Self::Agent(..) => 28,
            Self::AttrLoss(..) => 29,
            Self::Heal(_) => 30,
            Self::Count { .. } => 31,
            Self::SetCounter { .. } => 32,
            Self::SrpTarget(..) => 33,
            Self::IgnoreOperationalVls(_) => 34,
            Self::SeparateSmi(_) => 35,
        }
    }
}
