//! What can go wrong: options of a fabric, a node, a cable, and what can be scheduled.
//!
//! This is data. [`crate::net::Net`] draws the numbers and applies it; a manager is nothing that is
//! known here.

use std::time::Duration;

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, TrapNumber};
use ferrosm_mad::ids::{AttrId, Lid, Lmc, NodeGuid, PortGuid};
use ferrosm_mad::mad::Status;

use crate::fabric::{Fabric, PortCounter};
use crate::net::ForeignSm;
use crate::spec::{LinkSpec, NodeIdx, PortAt};

/// Misbehaviour of the whole fabric, or of one node.
///
/// Loss, duplication, jitter and latency of a node hit every MAD that begins, ends or passes there,
/// on top of the fabric's own. What concerns the agent (from `service` on) is a node's own if it
/// has faults of its own, else the fabric's. All chances are from 0 to 1 and drawn from the net's
/// seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Faults {
    /// Chance that a MAD is lost, for each direction.
    pub loss: f64,
    /// Chance that a MAD arrives twice.
    pub duplicate: f64,
    /// A MAD takes up to this much longer, drawn evenly: MADs overtake each other.
    pub jitter: Duration,
    /// A MAD takes so much longer at a node where it begins, ends or that it passes; where the
    /// whole fabric has it, at each of them.
    pub latency: Duration,
    /// Time that the agent takes for a MAD; it does one after the other.
    pub service: Duration,
    /// MADs that may wait for the agent; one that finds the queue full is lost, as VL15 loses them.
    /// 0 is no limit.
    pub backlog: u32,
    /// Answers leave so much later, without keeping the agent busy.
    pub delay: Duration,
    /// The agent never answers. Switches go on forwarding.
    pub hung: bool,
    /// The agent answers every Set with this status and does nothing.
    pub refuse_sets: Option<Status>,
    /// Answers are wrong.
    pub garbage: Option<Garbage>,
    /// Chance that an answer is, where `garbage` is set.
    pub garbage_chance: f64,
}

/// In what way answers are wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Garbage {
    /// The attribute's 64 bytes are random.
    Data,
    /// The status is a random error.
    Status,
    /// The transaction identifier is another one.
    Tid,
    /// The attribute identifier is another one.
    Attribute,
    /// The attribute modifier is another one.
    Modifier,
    /// One of the above, drawn for each answer.
    Any,
}

impl Faults {
    /// Nothing goes wrong, and agents take two microseconds.
    pub const NONE: Self = Self {
        loss: 0.0,
        duplicate: 0.0,
        jitter: Duration::ZERO,
        latency: Duration::ZERO,
        service: Duration::from_micros(2),
        backlog: 0,
        delay: Duration::ZERO,
        hung: false,
        refuse_sets: None,
        garbage: None,
        garbage_chance: 1.0,
    };

    /// The agent never answers.
    pub const HUNG: Self = Self {
        hung: true,
        ..Self::NONE
    };

    /// MADs are lost.
    #[must_use]
    pub const fn lossy(loss: f64) -> Self {
        Self { loss, ..Self::NONE }
    }

    /// Answers come late.
    #[must_use]
    pub const fn late(delay: Duration) -> Self {
        Self {
            delay,
            ..Self::NONE
        }
    }

    /// The agent is slow.
    #[must_use]
    pub const fn slow(service: Duration) -> Self {
        Self {
            service,
            ..Self::NONE
        }
    }

    /// All answers are wrong.
    #[must_use]
    pub const fn garbage(kind: Garbage) -> Self {
        Self {
            garbage: Some(kind),
            ..Self::NONE
        }
    }

    /// Sets are answered with an error.
    #[must_use]
    pub const fn refusing(status: Status) -> Self {
        Self {
            refuse_sets: Some(status),
            ..Self::NONE
        }
    }

    /// The same agent on wires without fault: what a node's own faults begin with.
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

/// Misbehaviour of one direction of a cable, on top of what the fabric and the nodes do.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LinkFaults {
    /// Chance that a MAD is lost.
    pub loss: f64,
    /// Chance that a MAD arrives twice.
    pub duplicate: f64,
    /// A MAD takes up to this much longer, drawn evenly.
    pub jitter: Duration,
    /// Time that a MAD takes for the link, where it is not as for the others.
    pub latency: Option<Duration>,
    /// The receiver takes one MAD in this time: the ones behind wait for their credits, ever longer
    /// while more arrive, and the sender's XmitWait counts it.
    pub drain: Duration,
}

/// One or both directions of the cable at a port. It stays with the ports if the cable goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkDirection {
    /// Both directions.
    Both(PortAt),
    /// What arrives at the port.
    Into(PortAt),
    /// What leaves by the port.
    OutOf(PortAt),
}

impl LinkDirection {
    /// The port that names it.
    #[must_use]
    pub const fn port(self) -> PortAt {
        match self {
            Self::Both(at) | Self::Into(at) | Self::OutOf(at) => at,
        }
    }
}

/// Where something goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultScope {
    /// Everywhere.
    Fabric,
    /// What begins, ends or passes at a node.
    Node(NodeIdx),
    /// What crosses a cable.
    Link(LinkDirection),
}

/// One thing that changes about the ways of MADs; the rest stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TransportFault {
    /// Chance of loss.
    Loss(f64),
    /// Chance of a second copy.
    Duplicate(f64),
    /// Up to so much longer.
    Jitter(Duration),
    /// Time for a link: of a cable its own, of the fabric every cable's that has none of its own; of
    /// a node what it adds.
    Latency(Duration),
}

/// One thing that changes about agents; the rest stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AgentFault {
    /// Time for a MAD.
    Service(Duration),
    /// MADs that may wait; 0 is no limit.
    Backlog(u32),
    /// Answers leave later.
    Delay(Duration),
    /// No answers (or answers again).
    Hung(bool),
    /// Sets are refused (or done again).
    Refuse(Option<Status>),
    /// Answers are wrong with this chance (or right again).
    Garbage(Option<Garbage>, f64),
}

/// Something that is done to a fabric once.
pub struct FabricCall(Box<dyn FnOnce(&mut Fabric) + Send>);

impl FabricCall {
    /// Of a function.
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

/// What happens to the fabric at some time.
#[derive(Debug)]
pub enum FabricAction {
    /// [`Fabric::cut`].
    Cut(PortAt),
    /// [`Fabric::restore`].
    Restore(PortAt),
    /// [`Fabric::bounce`].
    Bounce(PortAt),
    /// Cuts and restores a cable so many times: cut at once and for half of each period.
    Flap {
        /// A port of the cable.
        at: PortAt,
        /// From cut to cut.
        period: Duration,
        /// How often.
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
    /// [`Fabric::keep_operational_vls`].
    KeepVls(NodeIdx),
    /// [`Fabric::set_node_guid`].
    NodeGuid(NodeIdx, NodeGuid),
    /// [`Fabric::set_port_guid`].
    PortGuid(PortAt, PortGuid),
    /// [`Fabric::set_lid`].
    Lid(PortAt, Lid, Lmc),
    /// [`Fabric::corrupt_lft`].
    CorruptLft(NodeIdx, Lid, u8),
    /// Faults of the whole fabric from now on.
    Faults(Faults),
    /// Faults of a node from now on; `None` makes it behave like all others.
    NodeFaults(NodeIdx, Option<Faults>),
    /// Chance that a MAD is lost on the link at a port, in both directions.
    LinkLoss(PortAt, f64),
    /// One thing about the ways of MADs.
    Wire(FaultScope, TransportFault),
    /// A receiver that takes one MAD in this time; see [`LinkFaults::drain`].
    Drain(LinkDirection, Duration),
    /// One thing about the agent of a node, or of all nodes.
    Agent(Option<NodeIdx>, AgentFault),
    /// Chance that a MAD of this attribute is lost at a place; 0 ends it.
    AttrLoss(FaultScope, AttrId, f64),
    /// [`Fabric::add_errors`].
    Count {
        /// The port that counts.
        at: PortAt,
        /// What.
        counter: PortCounter,
        /// How many more.
        n: u64,
    },
    /// Gives a counter a value, as [`Fabric::add_errors`] would.
    SetCounter {
        /// The port that counts.
        at: PortAt,
        /// What.
        counter: PortCounter,
        /// How many in all.
        value: u64,
    },
    /// Ends all faults at a place: of the fabric, those of all nodes and cables too.
    Heal(FaultScope),
    /// An SM of somebody else appears at an end port.
    AddForeignSm(PortAt, Box<ForeignSm>),
    /// It is gone without a word.
    RemoveForeignSm(PortAt),
    /// Anything else.
    Call(FabricCall),
}

impl FabricAction {
    /// The number by which the trace knows it.
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
            Self::Wire(..) => 26,
            Self::Drain(..) => 27,
            Self::Agent(..) => 28,
            Self::AttrLoss(..) => 29,
            Self::Heal(_) => 30,
            Self::Count { .. } => 31,
            Self::SetCounter { .. } => 32,
            Self::SrpTarget(..) => 33,
            Self::KeepVls(_) => 34,
        }
    }
}
