//! What the SM does: one activity at a time, and within a sweep one phase with the state that only it needs.

use std::collections::BTreeSet;

use ferrosm_mad::time::Instant;

use super::SubnetManager;
use crate::ctx::SweepScope;
use crate::io::Event;
use crate::report::{Phase, ProblemKind, SweepReport};
use crate::smp::PathPolicy;
use crate::subnet::{NodeIdx, PortRef};
use crate::sweep::discovery::Discovery;
use crate::sweep::lft_readback::LftReadback;
use crate::sweep::lft_update::LftUpdate;
use crate::sweep::link_setup::LinkSetup;

/// What the request queue works on. An activity ends when the queue is idle, or is abandoned with all its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    /// Nothing; the next timer, trap or command starts something.
    Idle,
    /// Nothing: the SM's own port has no link.
    NoLink,
    /// Polls of the master only.
    Standby,
    LightSweep,
    /// A full or local sweep; its phase is [`Sweep::phase`].
    Sweep,
    /// An SMInfo scan outside of a sweep.
    SmScan,
    /// Mastership is being decided: a handover, or an SMInfo scan after a stall.
    AwaitMastership,
    /// The replica of the last master's state is being loaded.
    AwaitReplica,
    MulticastUpdate,
    /// SMPs on behalf of SA clients.
    DeferredReads,
}

/// The phase of a sweep, with the state that only it needs.
#[derive(Debug, Default)]
pub(super) enum SweepPhase {
    Discovery(Discovery),
    SmScan(Discovery),
    Readback {
        lfts: LftReadback,
        discovery: Discovery,
    },
    /// A routing job runs; traps that arrive meanwhile are followed up through discovery.
    Routing(Discovery),
    Tables(Box<LftUpdate>),
    Arm(LinkSetup),
    Activate(LinkSetup),
    /// The sweep is complete, or moves on to its next phase.
    #[default]
    Complete,
}

impl SweepPhase {
    /// Its name in reports.
    pub(super) const fn name(&self) -> Phase {
        match self {
            Self::Discovery(_) => Phase::Discover,
            Self::SmScan(_) => Phase::OtherSms,
            Self::Readback { .. } => Phase::ReadTables,
            Self::Routing(_) => Phase::Route,
            Self::Tables(_) => Phase::WriteTables,
            Self::Arm(_) => Phase::Arm,
            Self::Activate(_) => Phase::Activate,
            Self::Complete => Phase::Idle,
        }
    }
}

/// The current sweep, or the last one.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    pub(super) is_local: bool,
    pub(super) phase: SweepPhase,
    /// The name of the phase that began last, for reports and displays.
    pub(super) phase_name: Phase,
    pub(super) started: Instant,
    phase_began: Instant,
    /// Requests enqueued when the phase began.
    pub(super) phase_queued: u64,
    /// Ports that were read in this sweep.
    pub(super) read_ports: BTreeSet<PortRef>,
    /// Switches whose PortStateChange was set, and not cleared before their ports were read.
    pub(super) uncleared: BTreeSet<NodeIdx>,
    pub(super) problems: Vec<(Option<PortRef>, ProblemKind)>,
    pub(super) report: SweepReport,
}

impl Sweep {
    pub(super) fn new(number: u32, is_local: bool, now: Instant) -> Self {
        Self {
            is_local,
            started: now,
            report: SweepReport {
                number,
                local: is_local,
                ..SweepReport::default()
            },
            ..Self::default()
        }
    }

    /// The ports that it configures.
    pub(super) const fn scope(&self) -> SweepScope<'_> {
        SweepScope::new(self.is_local, &self.read_ports)
    }

    /// What it learned about links, until routes are computed.
    pub(super) const fn discovery(&mut self) -> Option<&mut Discovery> {
        match &mut self.phase {
            SweepPhase::Discovery(discovery)
            | SweepPhase::SmScan(discovery)
            | SweepPhase::Readback { discovery, .. }
            | SweepPhase::Routing(discovery) => Some(discovery),
            SweepPhase::Tables(_)
            | SweepPhase::Arm(_)
            | SweepPhase::Activate(_)
            | SweepPhase::Complete => None,
        }
    }

    /// Takes what it learned about links, for the next phase.
    pub(super) fn take_discovery(&mut self) -> Discovery {
        self.discovery().map(core::mem::take).unwrap_or_default()
    }

    /// Its table update, if that is the current phase.
    pub(super) fn lft_update(&mut self) -> Option<&mut LftUpdate> {
        if let SweepPhase::Tables(lfts) = &mut self.phase {
            Some(lfts)
        } else {
            None
        }
    }

    /// Its LFT readback, if that is the current phase.
    pub(super) const fn lft_readback(&mut self) -> Option<&mut LftReadback> {
        if let SweepPhase::Readback { lfts, .. } = &mut self.phase {
            Some(lfts)
        } else {
            None
        }
    }

    /// Its link setup, if that is the current phase.
    pub(super) const fn link_setup(&mut self) -> Option<&mut LinkSetup> {
        if let SweepPhase::Arm(links) | SweepPhase::Activate(links) = &mut self.phase {
            Some(links)
        } else {
            None
        }
    }
}

impl SubnetManager {
    /// Begins an activity.
    pub(super) fn set_activity(&mut self, activity: Activity) {
        self.activity = activity;
        self.update_paths();
    }

    /// Whether the current activity is this phase of a sweep.
    pub(super) fn is_in_phase(&self, phase: Phase) -> bool {
        self.activity == Activity::Sweep && self.sweep.phase_name == phase
    }

    /// Begins a phase of a sweep.
    pub(super) fn enter(&mut self, phase: SweepPhase) {
        if self.activity == Activity::Sweep {
            let took = self.now.since(self.sweep.phase_began);
            let old = self.sweep.phase_name;
            self.sweep.report.phases.push((old, took));
        }
        self.activity = Activity::Sweep;
        self.sweep.phase_name = phase.name();
        self.sweep.phase = phase;
        self.sweep.phase_began = self.now;
        self.sweep.phase_queued = self.smps.queued();
        self.update_paths();
        self.emit(Event::Phase(self.sweep.phase_name));
    }

    /// Sets the DR paths of requests from now on.
    pub(super) fn update_paths(&mut self) {
        let paths = self.path_policy();
        self.smps.set_paths(paths);
    }

    /// A full sweep has verified the shortest paths, but not yet the links of a detour.
    pub(super) fn path_policy(&self) -> PathPolicy {
        if self.sweep.is_local {
            PathPolicy::DetourFrom(1)
        } else if self.is_in_phase(Phase::Discover) {
            PathPolicy::Shortest
        } else {
            PathPolicy::DetourFrom(2)
        }
    }
}
