//! The current activity of the SM, and within a sweep the current phase with its state.

use std::collections::BTreeSet;

use ferrosm_fabric::observed::{NodeIdx, PortRef};
use ferrosm_mad::time::Instant;

use super::SubnetManager;
use crate::event::NoLinkReason;
use crate::io::Event;
use crate::link_rates::LinkRates;
use crate::multicast::{MftReadback, MftUpdate};
use crate::partitions::PartitionTables;
use crate::plan::partitions::absent_members::AbsentMember;
use crate::report::{Phase, ProblemKind, SweepKind, SweepReport};
use crate::smp::PathPolicy;
use crate::sweep::SweepScope;
use crate::sweep::discovery::{Discovery, ReadPhase};
use crate::sweep::lft_readback::LftReadback;
use crate::sweep::lft_update::LftUpdate;
use crate::sweep::link_setup::Arming;
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
    Discovery(Discovery),
    SmScan(Discovery),
    ReadTables(TableReadback),
    /// A routing job runs; traps that arrive meanwhile are followed up through discovery.
    Routing(Discovery),
    WriteTables(Box<TableUpdate>),
    /// MFTs are written; reported together with the tables before them.
    Multicast(MftUpdate),
    Arm(Arming),
    Activate,
    /// Placeholder while a manager function holds the phase's state to begin, continue or end it.
    InTransition(Phase),
}

/// The readback of tables that this SM did not write.
#[derive(Debug)]
pub(super) struct TableReadback {
    pub(super) lfts: LftReadback,
    pub(super) kept: KeptReadback,
    pub(super) mfts: MftReadback,
    pub(super) discovery: Discovery,
}

/// The phase of a sweep that writes P_Key, VL and forwarding tables.
#[derive(Debug, Default)]
pub(super) struct TableUpdate {
    pub(super) partitions: PartitionTables,
    pub(super) vls: VlUpdate,
    pub(super) lfts: LftUpdate,
}

impl TableUpdate {
    pub(super) fn new(lfts: LftUpdate) -> Self {
        Self {
            lfts,
            ..Self::default()
        }
    }
}

impl SweepPhase {
    /// Its name in reports.
    pub(super) const fn name(&self) -> Phase {
        match self {
            Self::Discovery(_) => Phase::Discover,
            Self::SmScan(_) => Phase::SmScan,
            Self::ReadTables(_) => Phase::ReadTables,
            Self::Routing(_) => Phase::Route,
            Self::WriteTables(_) | Self::Multicast(_) => Phase::WriteTables,
            Self::Arm(_) => Phase::Arm,
            Self::Activate => Phase::Activate,
            Self::InTransition(phase) => *phase,
        }
    }
}

/// A sweep, while it runs.
#[derive(Debug)]
pub(super) struct Sweep {
    pub(super) scope: SweepScope,
    pub(super) phase: SweepPhase,
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
            phase: SweepPhase::Discovery(discovery),
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

    /// Takes the phase; [`SubnetManager::step_sweep`] sets the one that follows.
    pub(super) fn take_phase(&mut self) -> SweepPhase {
        let in_transition = SweepPhase::InTransition(self.phase.name());
        core::mem::replace(&mut self.phase, in_transition)
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

    /// Whether it may send Sets to devices.
    pub(super) const fn configures(&self) -> bool {
        match self {
            Self::Sweep(_) | Self::MulticastUpdate(_) | Self::AliasGuids => true,
            Self::Idle
            | Self::NoLink
            | Self::Standby
            | Self::LightSweep(_)
            | Self::SmScan
            | Self::AwaitMastership
            | Self::AwaitReplica
            | Self::Survey => false,
        }
    }

    /// Whether tables or ports are being written.
    pub(super) const fn is_writing(&self) -> bool {
        match self {
            Self::Sweep(sweep) => match sweep.phase {
                SweepPhase::WriteTables(_)
                | SweepPhase::Multicast(_)
                | SweepPhase::Arm(_)
                | SweepPhase::Activate => true,
                SweepPhase::Discovery(_)
                | SweepPhase::SmScan(_)
                | SweepPhase::ReadTables(_)
                | SweepPhase::Routing(_)
                | SweepPhase::InTransition(_) => false,
            },
            Self::MulticastUpdate(_) => true,
            Self::Idle
            | Self::NoLink
            | Self::Standby
            | Self::LightSweep(_)
            | Self::Survey
            | Self::SmScan
            | Self::AliasGuids
            | Self::AwaitMastership
            | Self::AwaitReplica => false,
        }
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
    pub(super) fn discovery(&mut self) -> Option<&mut Discovery> {
        match &mut self.sweep_mut()?.phase {
            SweepPhase::Discovery(discovery)
            | SweepPhase::SmScan(discovery)
            | SweepPhase::ReadTables(TableReadback { discovery, .. })
            | SweepPhase::Routing(discovery) => Some(discovery),
            SweepPhase::WriteTables(_)
            | SweepPhase::Multicast(_)
            | SweepPhase::Arm(_)
            | SweepPhase::Activate
            | SweepPhase::InTransition(_) => None,
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

    /// The MFT update, in a sweep or outside of one.
    pub(super) fn mft_update(&mut self) -> Option<&mut MftUpdate> {
        if let Self::MulticastUpdate(update) = self {
            return Some(update);
        }
        if let SweepPhase::Multicast(update) = &mut self.sweep_mut()?.phase {
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

    /// What discovery does with responses.
    pub(super) const fn read_phase(&self) -> ReadPhase {
        match self {
            Self::LightSweep(_) => ReadPhase::LightSweep,
            Self::Sweep(sweep) => match sweep.phase {
                SweepPhase::Discovery(_) => ReadPhase::Discovery(sweep.scope.kind()),
                SweepPhase::Routing(_) => ReadPhase::Routing(sweep.scope.kind()),
                SweepPhase::SmScan(_)
                | SweepPhase::ReadTables(_)
                | SweepPhase::WriteTables(_)
                | SweepPhase::Multicast(_)
                | SweepPhase::Arm(_)
                | SweepPhase::Activate
                | SweepPhase::InTransition(_) => ReadPhase::Other,
            },
            Self::Idle
            | Self::NoLink
            | Self::Standby
            | Self::SmScan
            | Self::AwaitMastership
            | Self::AwaitReplica
            | Self::MulticastUpdate(_)
            | Self::AliasGuids
            | Self::Survey => ReadPhase::Other,
        }
    }

    /// Whether a local sweep is discovering or routing, so that it can read scheduled ports.
    pub(super) fn is_local_discovery(&self) -> bool {
        self.is_local_sweep() && self.read_phase().is_discovering()
    }

    /// Whether the discovery of a full sweep runs.
    pub(super) fn is_full_discovery(&self) -> bool {
        self.read_phase() == ReadPhase::Discovery(SweepKind::Full)
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

    /// The current phase of the sweep ends, and the named one begins.
    pub(super) fn begin_phase(&mut self, name: Phase) {
        let Some(sweep) = self.activity.sweep_mut() else {
            return;
        };
        sweep.end_phase(self.now);
        sweep.phase = SweepPhase::InTransition(name);
        self.announce_phase();
    }

    /// A phase of the sweep began, or the sweep ended.
    pub(super) fn announce_phase(&mut self) {
        self.transitions += 1;
        self.last_sweep.enqueued_total = self.smps.enqueued_total();
        self.update_paths();
        self.emit(Event::PhaseStarted(self.phase()));
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
        } else if self.activity.is_full_discovery() {
            PathPolicy::Shortest
        } else {
            PathPolicy::DetourFromAttempt(2)
        }
    }
}
