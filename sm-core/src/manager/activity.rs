//! The current activity of the SM, and within a sweep the current phase with its state.

use std::collections::BTreeSet;

use ferrosm_mad::time::Instant;

use super::SubnetManager;
use crate::ctx::SweepScope;
use crate::io::Event;
use crate::partitions::PartitionTables;
use crate::report::{Phase, ProblemKind, SweepReport};
use crate::smp::PathPolicy;
use crate::subnet::{NodeIdx, PortRef};
use crate::sweep::discovery::{Discovery, ReadPhase};
use crate::sweep::lft_readback::LftReadback;
use crate::sweep::lft_update::LftUpdate;
use crate::sweep::link_setup::LinkSetup;

/// What the request queue works on. An activity ends when the queue is idle, or is abandoned with all its requests.
#[derive(Debug)]
pub(super) enum Activity {
    /// None; the next timer, trap or command starts an activity.
    Idle,
    /// None: the SM's own port has no link.
    NoLink,
    /// Polls of the master only.
    Standby,
    LightSweep,
    /// A full or local sweep.
    Sweep(Box<Sweep>),
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
#[derive(Debug)]
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
    /// MFTs are written; reported together with the tables before them.
    Multicast,
    Arm(LinkSetup),
    Activate(LinkSetup),
}

impl SweepPhase {
    /// Its name in reports.
    pub(super) const fn name(&self) -> Phase {
        match self {
            Self::Discovery(_) => Phase::Discover,
            Self::SmScan(_) => Phase::OtherSms,
            Self::Readback { .. } => Phase::ReadTables,
            Self::Routing(_) => Phase::Route,
            Self::Tables(_) | Self::Multicast => Phase::WriteTables,
            Self::Arm(_) => Phase::Arm,
            Self::Activate(_) => Phase::Activate,
        }
    }
}

/// A sweep, while it runs.
#[derive(Debug)]
pub(super) struct Sweep {
    pub(super) is_local: bool,
    pub(super) phase: SweepPhase,
    /// When the light sweep is due that a local sweep must not postpone; `None` in a full sweep.
    pub(super) light_due: Option<Instant>,
    pub(super) started: Instant,
    phase_began: Instant,
    /// Ports that were read in this sweep.
    pub(super) read_ports: BTreeSet<PortRef>,
    /// Switches whose PortStateChange was set, and not cleared before their ports were read.
    pub(super) uncleared: BTreeSet<NodeIdx>,
    pub(super) problems: Vec<(Option<PortRef>, ProblemKind)>,
    pub(super) partitions: PartitionTables,
    pub(super) report: SweepReport,
}

impl Sweep {
    pub(super) fn new(
        number: u32,
        is_local: bool,
        light_due: Option<Instant>,
        now: Instant,
    ) -> Self {
        Self {
            is_local,
            phase: SweepPhase::Discovery(Discovery::default()),
            light_due,
            started: now,
            phase_began: now,
            read_ports: BTreeSet::new(),
            uncleared: BTreeSet::new(),
            problems: Vec::new(),
            partitions: PartitionTables::default(),
            report: SweepReport {
                number,
                local: is_local,
                ..SweepReport::default()
            },
        }
    }

    /// Adds a problem to its report, once.
    pub(super) fn add_problem(&mut self, at: Option<PortRef>, kind: ProblemKind) {
        if !self.problems.contains(&(at, kind.clone())) {
            self.problems.push((at, kind));
        }
    }

    /// Reports the duration of the phase that ends now.
    pub(super) fn end_phase(&mut self, now: Instant) {
        let took = now.since(self.phase_began);
        self.report.phases.push((self.phase.name(), took));
        self.phase_began = now;
    }
}

impl Activity {
    pub(super) const fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    /// The sweep, if one runs.
    pub(super) const fn sweep(&self) -> Option<&Sweep> {
        if let Self::Sweep(sweep) = self {
            Some(sweep)
        } else {
            None
        }
    }

    /// The sweep, if one runs.
    pub(super) const fn sweep_mut(&mut self) -> Option<&mut Sweep> {
        if let Self::Sweep(sweep) = self {
            Some(sweep)
        } else {
            None
        }
    }

    /// The ports that the sweep configures.
    pub(super) fn scope(&self) -> Option<SweepScope<'_>> {
        let sweep = self.sweep()?;
        Some(SweepScope::new(sweep.is_local, &sweep.read_ports))
    }

    /// Its P_Key tables, with the ports that it configures.
    pub(super) fn partitions(&mut self) -> Option<(&mut PartitionTables, SweepScope<'_>)> {
        let sweep = self.sweep_mut()?;
        let scope = SweepScope::new(sweep.is_local, &sweep.read_ports);
        Some((&mut sweep.partitions, scope))
    }

    /// The report of the sweep.
    pub(super) fn report(&mut self) -> Option<&mut SweepReport> {
        Some(&mut self.sweep_mut()?.report)
    }

    /// Discovery state, until routes are computed.
    pub(super) fn discovery(&mut self) -> Option<&mut Discovery> {
        match &mut self.sweep_mut()?.phase {
            SweepPhase::Discovery(discovery)
            | SweepPhase::SmScan(discovery)
            | SweepPhase::Readback { discovery, .. }
            | SweepPhase::Routing(discovery) => Some(discovery),
            SweepPhase::Tables(_)
            | SweepPhase::Multicast
            | SweepPhase::Arm(_)
            | SweepPhase::Activate(_) => None,
        }
    }

    /// The same, for the next phase.
    pub(super) fn take_discovery(&mut self) -> Discovery {
        self.discovery().map(core::mem::take).unwrap_or_default()
    }

    /// The LFT readback, in its phase.
    pub(super) fn lft_readback(&mut self) -> Option<&mut LftReadback> {
        if let SweepPhase::Readback { lfts, .. } = &mut self.sweep_mut()?.phase {
            Some(lfts)
        } else {
            None
        }
    }

    /// The LFT update, in its phase.
    pub(super) fn lft_update(&mut self) -> Option<&mut Box<LftUpdate>> {
        if let SweepPhase::Tables(lfts) = &mut self.sweep_mut()?.phase {
            Some(lfts)
        } else {
            None
        }
    }

    /// The link setup, in its phases.
    pub(super) fn link_setup(&mut self) -> Option<&mut LinkSetup> {
        let (SweepPhase::Arm(links) | SweepPhase::Activate(links)) = &mut self.sweep_mut()?.phase
        else {
            return None;
        };
        Some(links)
    }

    /// Whether a local sweep runs.
    pub(super) fn is_local_sweep(&self) -> bool {
        self.sweep().is_some_and(|sweep| sweep.is_local)
    }

    /// What discovery does with responses.
    pub(super) fn read_phase(&self) -> ReadPhase {
        match self {
            Self::LightSweep => ReadPhase::LightSweep,
            Self::Sweep(sweep) => match sweep.phase {
                SweepPhase::Discovery(_) => ReadPhase::Discovery,
                SweepPhase::Routing(_) => ReadPhase::Routing,
                SweepPhase::SmScan(_)
                | SweepPhase::Readback { .. }
                | SweepPhase::Tables(_)
                | SweepPhase::Multicast
                | SweepPhase::Arm(_)
                | SweepPhase::Activate(_) => ReadPhase::Other,
            },
            Self::Idle
            | Self::NoLink
            | Self::Standby
            | Self::SmScan
            | Self::AwaitMastership
            | Self::AwaitReplica
            | Self::MulticastUpdate
            | Self::DeferredReads => ReadPhase::Other,
        }
    }

    /// Whether the discovery of a full sweep runs.
    pub(super) fn is_full_discovery(&self) -> bool {
        self.read_phase() == ReadPhase::Discovery && !self.is_local_sweep()
    }
}

/// State that outlives a sweep.
#[derive(Debug, Default)]
pub(super) struct SweepHistory {
    /// The number of the sweep that began last.
    pub(super) number: u32,
    /// The report of the last complete sweep.
    pub(super) report: Option<SweepReport>,
    /// Requests enqueued when the last phase began, or when the last sweep ended.
    pub(super) queued: u64,
    /// The last sweep found the port at the other end of the SM's own link.
    pub(super) has_queried_local: bool,
}

impl SubnetManager {
    /// Begins an activity; drops the previous one and its state.
    pub(super) fn set_activity(&mut self, activity: Activity) {
        self.activity = activity;
        self.transitions += 1;
        self.update_paths();
    }

    /// Begins the next phase of the sweep.
    pub(super) fn enter(&mut self, phase: SweepPhase) {
        let Some(sweep) = self.activity.sweep_mut() else {
            return;
        };
        sweep.end_phase(self.now);
        sweep.phase = phase;
        self.announce_phase();
    }

    /// A phase of the sweep began, or the sweep ended.
    pub(super) fn announce_phase(&mut self) {
        self.transitions += 1;
        self.last_sweep.queued = self.smps.queued();
        self.update_paths();
        self.emit(Event::PhaseStarted(self.phase()));
    }

    /// Sets the DR paths of requests from now on.
    pub(super) fn update_paths(&mut self) {
        let paths = self.path_policy();
        self.smps.set_paths(paths);
    }

    /// A full sweep has verified the shortest paths, but not yet the links of a detour.
    pub(super) fn path_policy(&self) -> PathPolicy {
        if self.activity.is_local_sweep() {
            PathPolicy::DetourFrom(1)
        } else if self.activity.is_full_discovery() {
            PathPolicy::Shortest
        } else {
            PathPolicy::DetourFrom(2)
        }
    }
}
