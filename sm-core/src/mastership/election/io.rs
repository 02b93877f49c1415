//! Everything that enters and leaves an [`Election`](super::Election).

use core::fmt;

use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::ids::PortGuid;
use serde::{Deserialize, Serialize};

use super::rank::Peer;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// [`Output::Get`] was answered. Answers to other questions go into [`Input::Looked`].
    Seen(Peer),
    /// [`Output::Get`] was not answered, or not by this SM.
    Silent {
        /// Who was asked.
        guid: PortGuid,
        /// How many ways to it are known.
        paths: u8,
    },
    /// Another SM sent Set(SMInfo), with the right M_Key.
    Asked {
        /// What it wants.
        control: SmControl,
        /// Who it says it is.
        from: Peer,
    },
    /// [`Output::Set`] was answered.
    Answered {
        /// Who answered.
        guid: PortGuid,
        /// What it was asked.
        control: SmControl,
        /// Whether it does so.
        accepted: bool,
    },
    /// [`Output::Set`] was repeated often enough and not answered.
    Unanswered {
        /// Who was asked.
        guid: PortGuid,
        /// What it was asked.
        control: SmControl,
    },
    /// A sweep has found all ports and asked every SM, or only the SMs were asked.
    Looked {
        /// What they said; those that did not answer are left out.
        seen: Vec<Peer>,
        /// Whether the subnet bears the marks of an SM that did not answer.
        managed: bool,
    },
    /// Another SM told by trap 144 that its priority is different.
    PriorityTrap,
    /// The operator gave this SM another priority.
    Priority(u8),
    /// The operator wants another SM to be master.
    HandOver {
        /// What this SM does then.
        then: Then,
        /// The other SMs, as they were last seen.
        others: Vec<Peer>,
    },
    /// The operator allows this SM to begin with a subnet that somebody else has configured.
    TakeOver,
    /// Another SM has taken what only one can have, and whoever had it before must not lead any longer (replication by leases).
    Deposed(PortGuid),
    /// The SM's own port has no link.
    NoLink,
    /// [`Election::poll_timeout`](super::Election::poll_timeout) has passed. Harmless when it has not.
    Timer,
}

/// What an SM does when another one has taken the subnet from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Then {
    /// Waits for that one's end.
    StandBy,
    /// Ends.
    Stop,
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Output {
    /// Ask an SM for its SMInfo; [`Input::Seen`] or [`Input::Silent`] follows.
    Get {
        /// Who.
        to: PortGuid,
        /// The way: 0 is the usual one, then others, and the usual one again when there are no more.
        path: u8,
    },
    /// Send Set(SMInfo), with this SM in state `as_state`; [`Input::Answered`] or [`Input::Unanswered`] follows.
    Set {
        /// To whom.
        to: PortGuid,
        /// What it is to do.
        control: SmControl,
        /// The state that the SMInfo names: an acknowledgement is a standby's (behaviour rule 8.10).
        as_state: SmState,
    },
    /// Answer the [`Input::Asked`] that this follows. The SMInfo in the answer is that of before (behaviour rule 8.11).
    Reply {
        /// Whether it was accepted.
        accepted: bool,
    },
    /// The state is another one now.
    Become {
        /// Which.
        state: SmState,
        /// Why.
        why: Why,
    },
    /// Read the whole subnet, then [`Input::Looked`]. What is configured may be somebody else's work: trust nothing.
    Sweep,
    /// Ask all SMs soon, then [`Input::Looked`].
    Look,
    /// Send trap 144 with the priority flag to this master, so that it looks for better SMs (behaviour rule 8.4).
    Announce {
        /// The master.
        to: PortGuid,
    },
    /// The process may end: the subnet is somebody else's, or nobody took it.
    Stop {
        /// Who took it.
        handed_to: Option<PortGuid>,
    },
    /// The operator should know this.
    Notice(Notice),
}

/// Why the state changed. `Display` is a part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// Nobody better was found.
    NoBetter,
    /// Another SM is master, or goes before this one.
    Behind(Peer),
    /// This one is master now.
    HandedOver(PortGuid),
    /// By this one, which was master.
    HandedOverBy(PortGuid),
    /// The watched one is silent.
    MasterSilent(PortGuid),
    /// The watched one is neither master nor better any more.
    MasterStepped(PortGuid),
    /// The watched one goes before this one but never became master.
    NeverMaster(PortGuid),
    /// This master asked for it.
    Told(SmControl, PortGuid),
    /// The operator asked for it.
    Operator,
    /// The subnet is somebody's, and this SM was told not to take such.
    Managed,
    /// This one has taken what only a master has.
    Deposed(PortGuid),
    /// The SM's own port has no link.
    NoLink,
}

impl Why {
    /// The SM that it is about.
    #[must_use]
    pub const fn about(&self) -> Option<PortGuid> {
        match self {
            Self::Behind(peer) => Some(peer.guid),
            Self::HandedOver(g)
            | Self::HandedOverBy(g)
            | Self::MasterSilent(g)
            | Self::MasterStepped(g)
            | Self::NeverMaster(g)
            | Self::Deposed(g)
            | Self::Told(_, g) => Some(*g),
            Self::NoBetter | Self::Operator | Self::Managed | Self::NoLink => None,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBetter => f.write_str("no better SM in the subnet"),
            Self::Behind(p) => write!(
                f,
                "the SM of GUID {} (priority {}, {}) goes before this one",
                p.guid, p.priority, p.state
            ),
            Self::HandedOver(to) => write!(f, "handed over to the SM of GUID {to}"),
            Self::HandedOverBy(from) => write!(f, "the SM of GUID {from} handed over"),
            Self::MasterSilent(g) => {
                write!(f, "nothing is heard any more of the SM of GUID {g}")
            }
            Self::MasterStepped(g) => {
                write!(f, "the SM of GUID {g} is not master any more")
            }
            Self::NeverMaster(g) => write!(
                f,
                "the SM of GUID {g} goes before this one but does not become master"
            ),
            Self::Told(control, by) => {
                write!(f, "the SM of GUID {by} asked for it ({control})")
            }
            Self::Operator => f.write_str("the operator asked for it"),
            Self::Managed => f.write_str("another SM has configured this subnet"),
            Self::Deposed(g) => {
                write!(f, "the SM of GUID {g} has taken what only a master has")
            }
            Self::NoLink => f.write_str("the SM's own port has no link"),
        }
    }
}

/// Something that an operator should know. `Display` is a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Notice {
    /// It has another SM_Key, so it is ignored.
    ForeignKey(PortGuid),
    /// It runs where no SM may run, so it is ignored: an alarm.
    Rogue(PortGuid, SmState),
    /// It was one of these two, and is not there any more.
    OutsiderGone(PortGuid),
    /// It is better or was chosen by the operator, and does not take over.
    Unwilling(PortGuid),
    /// It is master too, and ranks lower: it is waited for.
    TwoMasters(PortGuid),
    /// It is master too, ranks lower and does not hand over: it gets the whole subnet.
    Obstinate(PortGuid),
    /// There is an SM that does not answer, and this one was told not to take its subnet: an alarm.
    Managed,
    /// It could be handed the subnet, but has not begun yet or has no copy of what hosts registered.
    NotReady(PortGuid),
    /// There is nobody to hand over to, or nobody who would not have to give it back.
    NoSuccessor,
}

impl Notice {
    /// Whether somebody has to do something about it.
    #[must_use]
    pub const fn is_alarm(&self) -> bool {
        matches!(
            self,
            Self::ForeignKey(_) | Self::Rogue(..) | Self::Obstinate(_) | Self::Managed
        )
    }

    /// The SM that it is about.
    #[must_use]
    pub const fn about(&self) -> Option<PortGuid> {
        match self {
            Self::ForeignKey(g)
            | Self::Rogue(g, _)
            | Self::Unwilling(g)
            | Self::TwoMasters(g)
            | Self::Obstinate(g)
            | Self::NotReady(g) => Some(*g),
            // Where it was is where nothing is now.
            Self::OutsiderGone(_) | Self::Managed | Self::NoSuccessor => None,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForeignKey(g) => {
                write!(f, "the SM of GUID {g} has another SM_Key and is ignored")
            }
            Self::Rogue(g, state) => write!(
                f,
                "an SM runs at GUID {g}, where none is allowed ({state}); it is ignored"
            ),
            Self::OutsiderGone(g) => {
                write!(f, "the SM of GUID {g}, which was ignored, is gone")
            }
            Self::Unwilling(g) => write!(f, "the SM of GUID {g} does not take over"),
            Self::TwoMasters(g) => write!(
                f,
                "the SM of GUID {g} is master too; waiting for it to hand over"
            ),
            Self::Obstinate(g) => write!(
                f,
                "the SM of GUID {g} ranks lower and does not hand over; it gets the subnet"
            ),
            Self::Managed => f.write_str(
                "another SM has configured this subnet but does not answer; this one does not take it unless told to",
            ),
            Self::NotReady(g) => write!(
                f,
                "the SM of GUID {g} is still copying or starting and is not given the subnet yet"
            ),
            Self::NoSuccessor => f.write_str(
                "there is no SM that would take the subnet and keep it; one with a priority above 0 would",
            ),
        }
    }
}
