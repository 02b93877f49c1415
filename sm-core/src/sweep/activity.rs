//! What the SM is doing.

use super::light::LightSweep;
use super::{Sweep, SweepPhase, TableReadback, TableUpdate};
use crate::discovery::Discovery;
use crate::mfts::MftUpdate;
use crate::ports::link_setup::Arming;
use crate::report::{ActivityKind, SweepReport};
use crate::schedule::scope::SweepScope;
use crate::smp::PathPolicy;

/// What the request queue works on. An activity ends when the queue is idle, or is abandoned with
/// all its requests.
#[derive(Debug)]
pub(crate) enum Activity {
    /// None; the next timer, trap or command starts an activity.
    Idle,
    /// None: the SM's own port has no link.
    NoLink,
    /// Polls of the master only.
    Standby,
    LightSweep(LightSweep),
    /// A full or local sweep.
    Sweep(Box<Sweep>),
    /// An SMInfo scan outside of a sweep.
    SmScan,
    /// Mastership is being decided: a handover, or an SMInfo scan after a stall.
    AwaitMastership,
    /// The replica of the last master's state is being loaded.
    AwaitReplica,
    MulticastUpdate(MftUpdate),
    /// Reads and writes of alias GUIDs.
    AliasGuids,
    /// A batch of a survey.
    Survey,
}

impl Activity {
    /// What the SM is doing, without the state.
    pub(crate) const fn kind(&self) -> ActivityKind {
        match self {
            Self::Idle => ActivityKind::Idle,
            Self::NoLink => ActivityKind::NoLink,
            Self::Standby => ActivityKind::Standby,
            Self::LightSweep(_) => ActivityKind::LightSweep,
            Self::Sweep(sweep) => ActivityKind::Sweep(sweep.scope.kind(), sweep.phase.name()),
            Self::SmScan => ActivityKind::SmScan,
            Self::AwaitMastership => ActivityKind::AwaitMastership,
            Self::AwaitReplica => ActivityKind::AwaitReplica,
            Self::MulticastUpdate(_) => ActivityKind::MulticastUpdate,
            Self::AliasGuids => ActivityKind::AliasGuids,
            Self::Survey => ActivityKind::Survey,
        }
    }

    pub(crate) const fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    /// The light sweep, if one runs.
    pub(crate) const fn light_sweep(&mut self) -> Option<&mut LightSweep> {
        if let Self::LightSweep(sweep) = self {
            Some(sweep)
        } else {
            None
        }
    }

    /// The sweep, if one runs.
    pub(crate) const fn sweep(&self) -> Option<&Sweep> {
        if let Self::Sweep(sweep) = self {
            Some(sweep)
        } else {
            None
        }
    }

    /// The sweep, if one runs.
    pub(crate) const fn sweep_mut(&mut self) -> Option<&mut Sweep> {
        if let Self::Sweep(sweep) = self {
            Some(sweep)
        } else {
            None
        }
    }

    /// What the sweep reads and configures.
    pub(crate) fn scope(&self) -> Option<&SweepScope> {
        Some(&self.sweep()?.scope)
    }

    /// The report of the sweep.
    pub(crate) fn report(&mut self) -> Option<&mut SweepReport> {
        Some(&mut self.sweep_mut()?.report)
    }

    /// Discovery state, until routes are computed.
    pub(crate) const fn discovery(&mut self) -> Option<&mut Discovery> {
        match self.sweep_mut() {
            Some(sweep) => sweep.discovery.as_mut(),
            None => None,
        }
    }

    /// The readback, in its phase.
    pub(crate) fn readback(&mut self) -> Option<&mut TableReadback> {
        if let SweepPhase::ReadTables(readback) = &mut self.sweep_mut()?.phase {
            Some(readback)
        } else {
            None
        }
    }

    /// The table update, in its phase.
    pub(crate) fn table_update(&mut self) -> Option<&mut TableUpdate> {
        if let SweepPhase::WriteTables(update) = &mut self.sweep_mut()?.phase {
            Some(update)
        } else {
            None
        }
    }

    /// The scope of the sweep and its table update, in its phase.
    pub(crate) fn scoped_table_update(&mut self) -> Option<(&SweepScope, &mut TableUpdate)> {
        let sweep = self.sweep_mut()?;
        if let SweepPhase::WriteTables(update) = &mut sweep.phase {
            Some((&sweep.scope, update))
        } else {
            None
        }
    }

    /// The MFT update, in a sweep or outside of one.
    pub(crate) fn mft_update(&mut self) -> Option<&mut MftUpdate> {
        if let Self::MulticastUpdate(update) = self {
            return Some(update);
        }
        if let SweepPhase::WriteMfts(update) = &mut self.sweep_mut()?.phase {
            return Some(update);
        }
        None
    }

    /// The arming of links, in its phase.
    pub(crate) fn arming(&mut self) -> Option<&mut Arming> {
        if let SweepPhase::Arm(arming) = &mut self.sweep_mut()?.phase {
            Some(arming)
        } else {
            None
        }
    }

    /// Whether a local sweep runs.
    pub(crate) fn is_local_sweep(&self) -> bool {
        matches!(self.scope(), Some(SweepScope::Local { .. }))
    }

    /// The sweep, which ends.
    pub(crate) fn take_sweep(&mut self) -> Option<Sweep> {
        self.sweep()?;
        if let Self::Sweep(sweep) = core::mem::replace(self, Self::Idle) {
            Some(*sweep)
        } else {
            None
        }
    }

    /// The DR paths of requests. A full discovery has verified the shortest paths, but not yet the
    /// links of detours.
    pub(crate) fn paths(&self) -> PathPolicy {
        if self.is_local_sweep() {
            PathPolicy::DetourFromAttempt(1)
        } else if self.kind().is_full_discovery() {
            PathPolicy::Shortest
        } else {
            PathPolicy::DetourFromAttempt(2)
        }
    }
}
