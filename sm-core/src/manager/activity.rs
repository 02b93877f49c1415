//! The current activity of the SM, and within a sweep the current phase with its state.

use std::collections::BTreeSet;

use ferrosm_fabric::observed::{NodeIdx, PortRef};
use ferrosm_mad::time::Instant;

use super::SubnetManager;
use crate::discovery::Discovery;
use crate::event::{Event, NoLinkReason};
use crate::lfts::readback::LftReadback;
use crate::lfts::update::LftUpdate;
use crate::mfts::{MftReadback, MftUpdate};
use crate::pkeys::PKeyUpdate;
use crate::ports::link_rates::LinkRates;
use crate::ports::link_setup::Arming;
use crate::report::absent_member::AbsentMember;
use crate::report::{ActivityKind, Phase, ProblemKind, SweepReport};
use crate::schedule::scope::SweepScope;
use crate::smp::PathPolicy;
use crate::vls::VlUpdate;
use crate::vls::kept_readback::KeptReadback;

/// A light sweep, while it runs.
#[derive(Debug, Default)]
pub(super) struct LightSweep {
    /// The requests to other devices are enqueued.
    pub(super) has_read_fabric: bool,
    /// Switches that did not respond.
    pub(super) silent_switches: Vec<NodeIdx>,
    /// The own port is not read again before.
    pub(super) own_port_due: Instant,
}

/// What the request queue works on. An activity ends when the queue is idle, or is abandoned with
/// all its requests.
#[derive(Debug)]
pub(super) enum Activity {
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

/// The phase of a sweep, with the state that only it needs.
#[derive(Debug)]
pub(super) enum SweepPhase {
    Discover,
    SmScan,
    ReadTables(TableReadback),
    /// A routing job runs; traps that arrive meanwhile are followed up through discovery.
    Route,
    WriteTables(Box<TableUpdate>),
    /// MFTs are written; reported together with the tables before them.
    WriteMfts(MftUpdate),
    Arm(Arming),
    Activate,
}

/// The state of the phase that reads tables which this SM did not write.
#[derive(Debug, Default)]
pub(super) struct TableReadback {
    pub(super) lfts: LftReadback,
    pub(super) kept: KeptReadback,
    pub(super) mfts: MftReadback,
}

/// The state of the phase that writes P_Key, VL and forwarding tables.
#[derive(Debug, Default)]
pub(super) struct TableUpdate {
    pub(super) pkeys: PKeyUpdate,
    pub(super) vls: VlUpdate,
    pub(super) lfts: LftUpdate,
}

impl SweepPhase {
    /// Its name in reports.
    pub(super) const fn name(&self) -> Phase {
        match self {
            Self::Discover => Phase::Discover,
            Self::SmScan => Phase::SmScan,
            Self::ReadTables(_) => Phase::ReadTables,
            Self::Route => Phase::Route,
            Self::WriteTables(_) | Self::WriteMfts(_) => Phase::WriteTables,
            Self::Arm(_) => Phase::Arm,
            Self::Activate => Phase::Activate,
        }
    }
}

/// A sweep, while it runs.
#[derive(Debug)]
pub(super) struct Sweep {
    pub(super) scope: SweepScope,
    pub(super) phase: SweepPhase,
    /// What it found about links; `None` after routes are computed.
    pub(super) discovery: Option<Discovery>,
    pub(super) started: Instant,
    phase_began: Instant,
    /// Switches whose PortStateChange was set, and not cleared before their ports were read.
    pub(super) uncleared_switches: BTreeSet<NodeIdx>,
    pub(super) problems: Vec<(Option<PortRef>, ProblemKind)>,
    pub(super) report: SweepReport,
}

impl Sweep {
    /// A sweep in discovery.
    pub(super) fn new(number: u32, scope: SweepScope, discovery: Discovery, now: Instant) -> Self {
        let kind = scope.kind();
        Self {
            scope,
            phase: SweepPhase::Discover,
            discovery: Some(discovery),
            started: now,
            phase_began: now,
            uncleared_switches: BTreeSet::new(),
            problems: Vec::new(),
            report: SweepReport {
                number,
                kind,
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
    /// What the SM is doing, without the state.
    pub(super) const fn kind(&self) -> ActivityKind {
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

    pub(super) const fn is_idle(&self) -> bool {
        matches!(self, Self::Idle)
    }

    /// The light sweep, if one runs.
    pub(super) const fn light_sweep(&mut self) -> Option<&mut LightSweep> {
        if let Self::LightSweep(sweep) = self {
            Some(sweep)
        } else {
            None
        }
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

    /// What the sweep reads and configures.
    pub(super) fn scope(&self) -> Option<&SweepScope> {
        Some(&self.sweep()?.scope)
    }

    /// The report of the sweep.
    pub(super) fn report(&mut self) -> Option<&mut SweepReport> {
        Some(&mut self.sweep_mut()?.report)
    }

    /// Discovery state, until routes are computed.
    pub(super) const fn discovery(&mut self) -> Option<&mut Discovery> {
        match self.sweep_mut() {
            Some(sweep) => sweep.discovery.as_mut(),
            None => None,
        }
    }

    /// The readback, in its phase.
    pub(super) fn readback(&mut self) -> Option<&mut TableReadback> {
        if let SweepPhase::ReadTables(readback) = &mut self.sweep_mut()?.phase {
            Some(readback)
        } else {
            None
        }
    }

    /// The table update, in its phase.
    pub(super) fn table_update(&mut self) -> Option<&mut TableUpdate> {
        if let SweepPhase::WriteTables(update) = &mut self.sweep_mut()?.phase {
            Some(update)
        } else {
            None
        }
    }

    /// The scope of the sweep and its table update, in its phase.
    pub(super) fn scoped_table_update(&mut self) -> Option<(&SweepScope, &mut TableUpdate)> {
        let sweep = self.sweep_mut()?;
        if let SweepPhase::WriteTables(update) = &mut sweep.phase {
            Some((&sweep.scope, update))
        } else {
            None
        }
    }

    /// The MFT update, in a sweep or outside of one.
    pub(super) fn mft_update(&mut self) -> Option<&mut MftUpdate> {
        if let Self::MulticastUpdate(update) = self {
            return Some(update);
        }
        if let SweepPhase::WriteMfts(update) = &mut self.sweep_mut()?.phase {
            return Some(update);
        }
        None
    }

    /// The arming of links, in its phase.
    pub(super) fn arming(&mut self) -> Option<&mut Arming> {
        if let SweepPhase::Arm(arming) = &mut self.sweep_mut()?.phase {
            Some(arming)
        } else {
            None
        }
    }

    /// Whether a local sweep runs.
    pub(super) fn is_local_sweep(&self) -> bool {
        matches!(self.scope(), Some(SweepScope::Local { .. }))
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
    pub(super) enqueued_total: u64,
    /// The last sweep found the port at the other end of the SM's own link.
    pub(super) found_local_peer: bool,
    /// Nodes that were added since a sweep was complete, and are not reported yet.
    pub(super) added_nodes: BTreeSet<NodeIdx>,
    /// The same for links; the lower port comes first.
    pub(super) added_links: BTreeSet<(PortRef, PortRef)>,
    /// When a table that a device keeps is written again.
    pub(super) next_table_retry: Option<Instant>,
    /// Links whose rates were checked at the end of sweeps.
    pub(super) link_rates: LinkRates,
    /// Partition members whose ports were absent from the subnet in the last sweep as master.
    pub(super) absent_members: Vec<AbsentMember>,
    /// Why the SM's own port cannot be used, as reported last; `None` if it is reported as usable.
    pub(super) no_link: Option<NoLinkReason>,
}

impl SubnetManager {
    /// Begins an activity; drops the previous one and its state.
    pub(super) fn set_activity(&mut self, activity: Activity) {
        self.replace_activity(activity);
        self.transitions += 1;
        self.update_paths();
    }

    pub(super) fn replace_activity(&mut self, activity: Activity) {
        if let Some(update) = self.activity.table_update() {
            update.lfts.abandon(&mut self.fabric);
        }
        self.activity = activity;
    }

    /// The current phase of the sweep ends, and the next one begins.
    pub(super) fn begin_phase(&mut self, phase: SweepPhase) {
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
        self.last_sweep.enqueued_total = self.smps.enqueued_total();
        self.update_paths();
        if let Some(phase) = self.activity().phase() {
            self.emit(Event::PhaseStarted(phase));
        }
    }

    /// Sets the DR paths of requests from now on.
    pub(super) fn update_paths(&mut self) {
        let paths = self.path_policy();
        self.smps.set_paths(paths);
    }

    /// The DR paths of requests. A full discovery has verified the shortest paths, but not yet the
    /// links of detours.
    pub(super) fn path_policy(&self) -> PathPolicy {
        if self.activity.is_local_sweep() {
            PathPolicy::DetourFromAttempt(1)
        } else if self.activity().is_full_discovery() {
            PathPolicy::Shortest
        } else {
            PathPolicy::DetourFromAttempt(2)
        }
    }
}
