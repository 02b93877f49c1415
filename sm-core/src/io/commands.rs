//! Operator commands and their replies.
//!
//! The driver passes a command with an ID of its choice ([`crate::Input::Command`]). Replies are
//! [`crate::Output::CommandReply`] with that ID: [`CommandReply::Accepted`] unless the command ends
//! at once, progress, and one [`CommandReply::Done`].

use core::fmt;
use std::sync::Arc;

use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::{MKey, PortGuid};
use serde::{Deserialize, Serialize};

use crate::config::exposed;
use crate::config::key_rotation::KeyKind;
use crate::config::maintenance::{Maintenance, MaintenanceTarget};
use crate::config::partitions::{Partition, Partitions, PartitionsError};
use crate::config::port_limits::{PortLimits, SwitchPort};
use crate::election::ElectionNotice;
use crate::event::AboutSm;
use crate::report::Problem;
use crate::report::foreign_settings::RemovalKind;
use crate::report::m_keys::MKeyReport;
use crate::report::maintenance_refusal::MaintenanceRefusal;
use crate::report::partition_change::{OverfullTable, PartitionProgress};
use crate::report::port_limit_refusal::PortLimitRefusal;
use crate::report::routing_failure::RoutingFailure;

/// Identifies a command in its replies. The driver chooses it; it is unique among the commands in
/// progress.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct CommandId(pub u64);

/// A command of the operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Consent to the removal of settings of this kind that another SM configured. If nothing waits
    /// for it, as [`Self::Takeover`].
    AcceptRemoval(RemovalKind),
    /// Change what the SM wants of the fabric. Complete with the next sweep of any kind.
    Change(OperatorChange),
    /// Put another key in force than the configured one. Complete when a sweep has written an M_Key
    /// to the ports, or asked the other SMs which SM_Key they have.
    Rotate(KeyKind, #[serde(with = "exposed")] MKey),
    /// As [`Self::Sweep`]. Devices that do not respond leave the subnet, also switches that may
    /// still forward.
    Exclude,
    /// Read again what the SM knows: a light sweep, and the sweep of what it finds. Complete when
    /// the SM is idle after that.
    Refresh,
}

/// A change that an operator makes at run time. It is a record: it survives restarts and failover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperatorChange {
    /// Create a partition, or replace one that such a command created. Complete when the P_Key
    /// tables are written.
    PutPartition(Box<Partition>),
    /// Remove the partition with this number, which [`Self::PutPartition`] created.
    RemovePartition(u16),
    /// Take a switch or link out of the routes, or disable a port. Complete when no route uses it.
    BeginMaintenance(Box<Maintenance>),
    /// Use it again.
    EndMaintenance(MaintenanceTarget),
    /// Limit the link at a port of a switch, in place of earlier limits. Complete when they are
    /// written; a link that has to train is up later.
    SetPortLimits(Box<NewPortLimits>),
    /// End the limits of a port.
    EndPortLimits(SwitchPort),
}

/// New limits of a port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewPortLimits {
    /// The limits.
    pub limits: PortLimits,
    /// The link of a host may go down for a moment.
    pub may_cut_off_host: bool,
}

impl From<OperatorChange> for Command {
    fn from(change: OperatorChange) -> Self {
        Self::Change(change)
    }
}

impl Command {
    pub(crate) const fn is_takeover(&self) -> bool {
        matches!(self, Self::Takeover | Self::AcceptRemoval(_))
    }

    /// Whether it completes with a full sweep that begins after it.
    pub(crate) const fn is_sweep(&self) -> bool {
        matches!(
            self,
            Self::Sweep | Self::Exclude | Self::Reroute | Self::Rotate(..)
        )
    }

    /// The change, which completes with the next sweep of any kind.
    pub(crate) const fn as_change(&self) -> Option<&OperatorChange> {
        match self {
            Self::Change(change) => Some(change),
            Self::Sweep
            | Self::Exclude
            | Self::Reroute
            | Self::Refresh
            | Self::Handover
            | Self::Takeover
            | Self::Stop
            | Self::AcceptRemoval(_)
            | Self::Rotate(..) => None,
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sweep => f.write_str("sweep"),
            Self::Exclude => f.write_str("sweep --exclude"),
            Self::Reroute => f.write_str("reroute"),
            Self::Refresh => f.write_str("refresh"),
            Self::Handover => f.write_str("handover"),
            Self::Takeover => f.write_str("takeover"),
            Self::Stop => f.write_str("stop"),
            Self::AcceptRemoval(kind) => write!(f, "takeover --accept {}", kind.name()),
            Self::Change(change) => change.fmt(f),
            Self::Rotate(KeyKind::MKey, _) => f.write_str("keys rotate m-key"),
            Self::Rotate(KeyKind::SmKey, _) => f.write_str("keys rotate sm-key"),
        }
    }
}

impl fmt::Display for OperatorChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PutPartition(partition) => {
                write!(
                    f,
                    "partition {} ({:#06x})",
                    partition.name, partition.number
                )
            }
            Self::RemovePartition(number) => write!(f, "partition remove {number:#06x}"),
            Self::BeginMaintenance(maintenance) => maintenance.target.fmt(f),
            Self::EndMaintenance(target) => write!(f, "end of {target}"),
            Self::SetPortLimits(request) => {
                let PortLimits { node, port, .. } = &request.limits;
                write!(f, "port set {node}/{port}: {}", request.limits)
            }
            Self::EndPortLimits((node, port)) => write!(f, "port unset {node}/{port}"),
        }
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
        /// LIDs whose packets were dropped for a moment, because no order of the writes avoids it.
        dropped_lids: usize,
    },
    /// Another SM is master.
    HandedOver(AboutSm<PortGuid>),
    /// This SM is master.
    TookOver,
    /// The SM has the consent: it removes the settings as soon as it is master and no other kind
    /// keeps it from being master.
    Accepted {
        /// Whether it is.
        is_master: bool,
    },
    /// A partition is in force.
    PartitionApplied(PartitionProgress),
    /// No port is in the partition any more, except those whose tables could not be written.
    PartitionRemoved {
        /// Ports that still have its P_Key.
        left: usize,
    },
    /// No route uses the switch or link.
    MaintenanceBegan {
        /// A port that is disabled.
        is_port: bool,
        /// LIDs whose packets were dropped for a moment, because no order of the writes avoids it.
        dropped_lids: usize,
    },
    /// The switch, link or port may be used again.
    MaintenanceEnded {
        /// As in [`Self::MaintenanceBegan`].
        dropped_lids: usize,
    },
    /// The limits of a port are written.
    PortLimitsSet {
        /// They were read back; otherwise the link is training.
        is_applied: bool,
    },
    /// The port has no limits any more.
    PortLimitsEnded {
        /// Its own values were read back.
        is_applied: bool,
    },
    /// What the SM knows was read again.
    Refreshed,
    /// Another M_Key is in force.
    MKeyRotated(Box<MKeyReport>),
    /// Another SM_Key is in force.
    SmKeyRotated {
        /// Other SMs that have it.
        with: usize,
        /// Other SMs that have the earlier one, which is accepted until they have the new one.
        without: usize,
    },
    /// The process may exit.
    Stopped {
        /// The SM that took over; `None` if none did, or this SM was not master.
        handed_to: Option<AboutSm<PortGuid>>,
        /// Whether this SM was master.
        was_master: bool,
    },
}

fn write_dropped(f: &mut fmt::Formatter<'_>, lids: usize) -> fmt::Result {
    match lids {
        0 => Ok(()),
        n => write!(f, "; packets to {n} LIDs were dropped for a moment"),
    }
}

impl fmt::Display for CommandOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Swept {
                number,
                problems,
                dropped_lids,
            } => {
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
                write_dropped(f, *dropped_lids)
            }
            Self::HandedOver(to) => write!(f, "handed over to SM {to}"),
            Self::TookOver => f.write_str("this SM is master"),
            Self::Refreshed => f.write_str("read again"),
            Self::Accepted { is_master: true } => {
                f.write_str("accepted; a sweep writes the settings of this configuration")
            }
            Self::Accepted { is_master: false } => f.write_str(
                "accepted; the master hands over if this SM ranks higher, otherwise this SM stays standby",
            ),
            Self::PartitionApplied(progress) => progress.fmt(f),
            Self::PartitionRemoved { left: 0 } => f.write_str("removed from all ports"),
            Self::PartitionRemoved { left } => write!(
                f,
                "removed; {left} ports still have its P_Key, because their tables could not be written"
            ),
            Self::MaintenanceBegan {
                is_port,
                dropped_lids,
            } => {
                f.write_str(match is_port {
                    true => "out of the routes, and disabled; `ferrosm port enable` enables it",
                    false => "out of the routes; `ferrosm undrain` puts it back",
                })?;
                write_dropped(f, *dropped_lids)
            }
            Self::MaintenanceEnded { dropped_lids } => {
                f.write_str("back in the routes")?;
                write_dropped(f, *dropped_lids)
            }
            Self::PortLimitsSet { is_applied: true } => f.write_str("applied: read back"),
            Self::PortLimitsEnded { is_applied: true } => {
                f.write_str("limits ended: the values of the port itself are read back")
            }
            Self::PortLimitsSet { is_applied: false }
            | Self::PortLimitsEnded { is_applied: false } => f.write_str(
                "written; the link trains, and `ferrosm port limits` shows when it is up",
            ),
            Self::MKeyRotated(report) => report.fmt(f),
            Self::SmKeyRotated { with, without: 0 } => {
                write!(f, "{with} of {with} other SMs have the new SM_Key")
            }
            Self::SmKeyRotated { with, without } => write!(
                f,
                "{with} of {} other SMs have the new SM_Key; the earlier one is accepted until all have it",
                with + without
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

/// What a change of partitions or of what is in service would do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PlannedChange {
    /// Ports that would get other P_Keys.
    pub p_key_ports: Vec<PortGuid>,
    /// The partitions that would be in force; `None` if they stay as they are.
    pub partitions: Option<Arc<Partitions>>,
    /// The link of a port would go down for a moment, to train with other limits.
    pub trains_link: bool,
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
    /// The partition contradicts another.
    PartitionInvalid(PartitionsError),
    /// The partition is not one that a command created: the configuration defines it, or none does.
    PartitionNotAdded { number: u16, is_configured: bool },
    /// A port has no room for the P_Key. Nothing was written.
    PKeyTableFull(Box<OverfullTable>),
    /// The key is in force already.
    KeyInForce(KeyKind),
    /// The switch, link or port cannot be taken out of service. Nothing was written.
    Maintenance(Box<MaintenanceRefusal>),
    /// The limits of a port cannot be set or ended. Nothing was written.
    PortLimits(PortLimitRefusal),
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
            Self::PartitionInvalid(error) => error.fmt(f),
            Self::PartitionNotAdded {
                number,
                is_configured: true,
            } => write!(f, "the configuration defines partition {number:#06x}"),
            Self::PartitionNotAdded { number, .. } => write!(f, "no partition {number:#06x}"),
            Self::PKeyTableFull(table) => table.fmt(f),
            Self::Maintenance(refusal) => refusal.fmt(f),
            Self::PortLimits(refusal) => refusal.fmt(f),
            Self::KeyInForce(kind) => write!(f, "this {kind} is in force already"),
        }
    }
}
