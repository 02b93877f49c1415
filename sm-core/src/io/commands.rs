//! Operator commands and their replies.
//!
//! The driver passes a command with an ID of its choice ([`crate::Input::Command`]). Replies are
//! [`crate::Output::CommandReply`] with that ID: [`CommandReply::Accepted`] unless the command ends
//! at once, progress, and one [`CommandReply::Done`].

use core::fmt;

use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::PortGuid;
use serde::{Deserialize, Serialize};

use crate::election::ElectionNotice;
use crate::event::AboutSm;
use crate::report::Problem;
use crate::report::routing_failure::RoutingFailure;

/// Identifies a command in its replies. The driver chooses it; it is unique among the commands in
/// progress.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct CommandId(pub u64);

/// A command of the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Command {
    /// Start a full sweep. Complete when a full sweep that began after the command is complete.
    Sweep,
    /// As [`Self::Sweep`], with routes computed without regard to the installed ones. Multicast
    /// groups move to MLIDs that each MFT can hold.
    Reroute,
    /// Hand over mastership to another SM and become standby.
    Handover,
    /// Configure a subnet that another SM has configured, or resume after a master disabled this
    /// SM.
    Takeover,
    /// Hand over mastership if another SM can take it, and stop. Complete when the process may
    /// exit.
    Stop,
    /// Consent to the removal of P_Keys that another SM configured. If nothing waits for it, as
    /// [`Self::Takeover`].
    AcceptRemovals,
}

impl Command {
    pub(crate) const fn is_takeover(self) -> bool {
        matches!(self, Self::Takeover | Self::AcceptRemovals)
    }

    pub(crate) const fn is_sweep(self) -> bool {
        matches!(self, Self::Sweep | Self::Reroute)
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sweep => "sweep",
            Self::Reroute => "reroute",
            Self::Handover => "handover",
            Self::Takeover => "takeover",
            Self::Stop => "stop",
            Self::AcceptRemovals => "takeover --accept p-key-removal",
        })
    }
}

/// A reply to a command.
#[derive(Debug, Clone)]
pub enum CommandReply {
    /// The command is in progress. Not sent for a command that ends at once.
    Accepted,
    /// A stage is reached.
    Progress(CommandProgress),
    /// The final reply.
    Done(Result<CommandOutcome, CommandFailure>),
}

impl fmt::Display for CommandReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("accepted"),
            Self::Progress(progress) => progress.fmt(f),
            Self::Done(Ok(outcome)) => write!(f, "complete: {outcome}"),
            Self::Done(Err(failure)) => write!(f, "failed: {failure}"),
        }
    }
}

/// A stage of a command.
#[derive(Debug, Clone)]
pub enum CommandProgress {
    /// The full sweep with this number began.
    SweepStarted(u32),
    /// The SM that could take over is not ready, and [`Command::Stop`] waits for it.
    AwaitingSuccessor(Box<AboutSm<ElectionNotice>>),
}

impl fmt::Display for CommandProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SweepStarted(number) => write!(f, "sweep {number} started"),
            Self::AwaitingSuccessor(about) => about.fmt(f),
        }
    }
}

/// How a command succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandOutcome {
    /// A full sweep is complete.
    Swept {
        /// The number of the sweep.
        number: u32,
        /// The problems in its report.
        problems: Vec<Problem>,
    },
    /// Another SM is master.
    HandedOver(AboutSm<PortGuid>),
    /// This SM is master.
    TookOver,
    /// Consent is given: this SM removes P_Keys as soon as it is master.
    Accepted {
        /// Whether it is.
        is_master: bool,
    },
    /// The process may exit.
    Stopped {
        /// The SM that took over; `None` if none did, or this SM was not master.
        handed_to: Option<AboutSm<PortGuid>>,
        /// Whether this SM was master.
        was_master: bool,
    },
}

impl fmt::Display for CommandOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Swept { number, problems } => {
                write!(f, "sweep {number} complete")?;
                let severe = problems.iter().filter(|p| p.kind.is_severe()).count();
                for (n, noun) in [
                    (severe, "problem"),
                    (problems.len() - severe, "minor problem"),
                ] {
                    match n {
                        0 => {}
                        1 => write!(f, ", 1 {noun}")?,
                        n => write!(f, ", {n} {noun}s")?,
                    }
                }
                Ok(())
            }
            Self::HandedOver(to) => write!(f, "handed over to SM {to}"),
            Self::TookOver => f.write_str("this SM is master"),
            Self::Accepted { is_master: true } => {
                f.write_str("accepted; a sweep writes the P_Key tables of this configuration")
            }
            Self::Accepted { is_master: false } => f.write_str(
                "accepted; the master hands over if this SM ranks higher, otherwise this SM stays standby",
            ),
            Self::Stopped {
                handed_to: Some(to),
                ..
            } => write!(f, "stopped after handover to SM {to}"),
            Self::Stopped {
                was_master: true, ..
            } => f.write_str("stopped; no other SM took over"),
            Self::Stopped { .. } => f.write_str("stopped; this SM was not master"),
        }
    }
}

/// Why a command failed.
#[derive(Debug, Clone)]
pub enum CommandFailure {
    /// Only a master can do this.
    NotMaster {
        /// The state of this SM.
        state: SmState,
        /// The SM that a standby polls.
        master: Option<Box<AboutSm<PortGuid>>>,
    },
    /// This SM was master when the command was accepted, and is no longer.
    MastershipLost {
        /// The state of this SM.
        state: SmState,
        /// The SM that a standby polls.
        master: Option<Box<AboutSm<PortGuid>>>,
    },
    /// [`Command::Takeover`]: this SM is master.
    AlreadyMaster,
    /// The SM's own port has no link.
    NoLink,
    /// No engine found a routing that passes verification; the installed tables stay.
    RoutingFailed(Box<RoutingFailure>),
    /// No SM took over, for this reason.
    NotHandedOver(Box<AboutSm<ElectionNotice>>),
    /// The handover ended because another SM handed over to this one, or a sweep became necessary.
    Superseded,
    /// A [`Command::Stop`] is in progress or complete.
    Stopping,
    /// Too many commands are in progress.
    TooManyCommands,
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let standby_of = |f: &mut fmt::Formatter<'_>, state: &SmState, master: &Option<_>| {
            write!(f, "this SM is {state}")?;
            let master: Option<&Box<AboutSm<PortGuid>>> = master.as_ref();
            master.map_or(Ok(()), |master| write!(f, " of SM {master}"))
        };
        match self {
            Self::NotMaster { state, master } => standby_of(f, state, master),
            Self::MastershipLost { state, master } => {
                f.write_str("mastership lost: ")?;
                standby_of(f, state, master)
            }
            Self::AlreadyMaster => f.write_str("this SM is already master"),
            Self::NoLink => f.write_str("the SM's own port has no link"),
            Self::RoutingFailed(why) => write!(f, "no routing: {why}"),
            Self::NotHandedOver(about) => about.fmt(f),
            Self::Superseded => f.write_str("handover superseded by a change of mastership"),
            Self::Stopping => f.write_str("the service is stopping"),
            Self::TooManyCommands => f.write_str("too many commands in progress"),
        }
    }
}
