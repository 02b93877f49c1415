//! What can go wrong: an options struct for a world or for one node, and what can be scheduled.
//!
//! This is data. [`crate::world::World`] draws the numbers and applies it.

use std::time::Duration;

use ferrosm_mad::attr::TrapNumber;
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid};
use ferrosm_mad::mad::Status;

use crate::fabric::Fabric;
use crate::spec::{LinkSpec, NodeIdx, PortAt};
use crate::world::{ForeignSm, ManagerId};

/// Misbehaviour of the whole fabric, or of one node.
///
/// Loss, duplication and jitter of a node hit every MAD that begins, ends or passes there, on top
/// of the fabric's own. What concerns the agent (from `service` on) is a node's own if it has
/// faults of its own, else the fabric's. All chances are from 0 to 1 and drawn from the world's
/// seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Faults {
    /// Chance that a MAD is lost, for each direction.
    pub loss: f64,
    /// Chance that a MAD arrives twice.
    pub duplicate: f64,
    /// A MAD takes up to this much longer, drawn evenly: MADs overtake each other.
    pub jitter: Duration,
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
}

impl Default for Faults {
    fn default() -> Self {
        Self::NONE
    }
}

/// What happens to the fabric at some time.
pub enum Action {
    /// [`Fabric::cut`].
    Cut(PortAt),
    /// [`Fabric::restore`].
    Restore(PortAt),
    /// [`Fabric::bounce`].
    Bounce(PortAt),
    /// [`Fabric::add_cable`].
    AddCable(LinkSpec),
    /// [`Fabric::remove_cable`].
    RemoveCable(PortAt),
    /// [`Fabric::move_cable`].
    MoveCable(PortAt, PortAt),
    /// [`Fabric::power_off`].
    PowerOff(NodeIdx),
    /// [`Fabric::power_on`].
    PowerOn(NodeIdx),
    /// [`Fabric::reboot`].
    Reboot(NodeIdx),
    /// [`Fabric::inject_trap`].
    Trap(PortAt, TrapNumber),
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
    /// An SM of somebody else appears.
    AddForeignSm(PortAt, ForeignSm),
    /// A manager is gone without a word.
    Kill(ManagerId),
    /// A manager stops: no MAD reaches it, no timer fires.
    Pause(ManagerId),
    /// It goes on, with what it knew.
    Resume(ManagerId),
    /// Anything else.
    Call(Box<dyn FnOnce(&mut Fabric)>),
}

impl Action {
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
            Self::Kill(_) => 19,
            Self::Pause(_) => 20,
            Self::Resume(_) => 21,
            Self::Call(_) => 22,
        }
    }
}

impl std::fmt::Debug for Action {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Action({})", self.code())
    }
}
