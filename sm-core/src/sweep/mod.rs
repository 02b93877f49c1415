//! The running sweep: its scope, its phase with the state that only the phase needs, its report.

pub(crate) mod activity;
pub(crate) mod history;
pub(crate) mod light;

use std::collections::BTreeSet;

use ferrosm_fabric::observed::{NodeIdx, PortRef};
use ferrosm_mad::time::Instant;

use crate::discovery::Discovery;
use crate::lfts::readback::LftReadback;
use crate::lfts::update::LftUpdate;
use crate::mfts::{MftReadback, MftUpdate};
use crate::pkeys::PKeyUpdate;
use crate::ports::link_setup::Arming;
use crate::report::{Phase, ProblemKind, SweepReport};
use crate::schedule::scope::SweepScope;
use crate::vls::VlUpdate;
use crate::vls::kept_readback::KeptReadback;

/// The phase of a sweep, with the state that only it needs.
#[derive(Debug)]
pub(crate) enum SweepPhase {
    Discover,
    /// P_Key tables that another SM may have configured are read.
    ReadForeignTables,
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
pub(crate) struct TableReadback {
    pub(crate) lfts: LftReadback,
    pub(crate) kept: KeptReadback,
    pub(crate) mfts: MftReadback,
}

/// The state of the phase that writes P_Key, VL and forwarding tables.
#[derive(Debug, Default)]
pub(crate) struct TableUpdate {
    pub(crate) pkeys: PKeyUpdate,
    pub(crate) vls: VlUpdate,
    pub(crate) lfts: LftUpdate,
}

impl SweepPhase {
    /// Its name in reports.
    pub(crate) const fn name(&self) -> Phase {
        match self {
            Self::Discover => Phase::Discover,
            Self::ReadForeignTables => Phase::ReadForeignTables,
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
pub(crate) struct Sweep {
    pub(crate) scope: SweepScope,
    pub(crate) phase: SweepPhase,
    /// What it found about links; `None` after routes are computed.
    pub(crate) discovery: Option<Discovery>,
    pub(crate) started: Instant,
    phase_began: Instant,
    /// Switches whose PortStateChange was set, and not cleared before their ports were read.
    pub(crate) uncleared_switches: BTreeSet<NodeIdx>,
    pub(crate) problems: Vec<(Option<PortRef>, ProblemKind)>,
    pub(crate) report: SweepReport,
}

impl Sweep {
    /// A sweep in discovery.
    pub(crate) fn new(number: u32, scope: SweepScope, discovery: Discovery, now: Instant) -> Self {
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
    pub(crate) fn add_problem(&mut self, at: Option<PortRef>, kind: ProblemKind) {
        if !self.problems.contains(&(at, kind.clone())) {
            self.problems.push((at, kind));
        }
    }

    /// Reports the duration of the phase that ends now.
    pub(crate) fn end_phase(&mut self, now: Instant) {
        let took = now.since(self.phase_began);
        self.report.phases.push((self.phase.name(), took));
        self.phase_began = now;
    }
}
