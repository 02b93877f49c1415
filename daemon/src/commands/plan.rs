//! `ferrosm plan`: what the SM would write to the fabric as it is now.

use core::ops::ControlFlow;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::SystemTime;

use ferrosm_api::invariant::{InvariantState, InvariantStatus};
use ferrosm_api::plan::Plan;
use ferrosm_core::report::foreign_settings;
use ferrosm_core::{Event, Progress, RestoredState, SubnetManager};
use ferrosm_mad::attr::SmState;
use ferrosm_store::{StateInspection, restore};

use crate::cli::PlanArgs;
use crate::commands::config;
use crate::config::Settings;
use crate::failure::Failure;
use crate::invariants::Invariant;
use crate::invariants::check::{CheckedFabric, CheckedRoutes, check};
use crate::output::progress::{SweepBar, Terminal};
use crate::output::{self, json, log};
use crate::plan::planned_port::{Planned, PlannedPort};
use crate::plan::summary::{self, OwnSm};
use crate::run::driver::Shell;
use crate::run::reading;

/// Runs the command.
///
/// # Errors
/// The configuration is invalid, the port does not exist, or no sweep is complete.
pub fn run(args: &PlanArgs) -> Result<(), Failure> {
    let plan = make(args)?;
    match args.json {
        true => output::print(&json::pretty(&plan)),
        false => output::print(&output::plan::render(&plan)),
    }
}

fn make(args: &PlanArgs) -> Result<Plan, Failure> {
    let source = config::source(args.config.as_deref())?;
    let mut settings: Settings = source.resolve(|settings| {
        args.port.apply(settings);
        settings.log.level.clone_from(&args.log_level);
        if let Some(dir) = &args.state_dir {
            settings.state_dir = Some(dir.clone());
        }
    })?;
    let terminal = Terminal::detect();
    let _ = log::init(&settings.log, &terminal);
    let restored = settings.state_dir.as_deref().map(read_state).transpose()?;
    let (port, guid) = reading::open(&mut settings)?;
    let planned = Rc::new(RefCell::new(Planned::default()));
    let planned_port = PlannedPort::new(port, Rc::clone(&planned));
    let own = OwnSm {
        guid,
        priority: settings.sm.priority,
    };
    let invariants = settings.invariants();
    let mut cfg = settings.sm;
    // The plan is that of a master: other SMs are reported, but do not take part.
    cfg.allowed_sms = Some(Arc::new(BTreeSet::new()));
    cfg.refuse_managed_subnet = false;
    let shell = PlanShell {
        bar: terminal.bar(),
        planned,
        own,
        lists_writes: args.full,
        awaits_consent: None,
        invariants,
    };
    reading::run(planned_port, shell, |now| {
        let mut sm = SubnetManager::new(cfg, restored.unwrap_or_default(), now);
        for consequence in &args.accept {
            let _ = sm.accept_removal(consequence.kind());
        }
        sm
    })
}

/// The persisted state of a service, also of one that runs.
fn read_state(dir: &Path) -> Result<RestoredState, Failure> {
    if !dir.exists() {
        return Ok(RestoredState::default());
    }
    let inspection = StateInspection::open(dir)?;
    let (restored, _) = restore(inspection.records(), SystemTime::now());
    Ok(restored)
}

/// Runs until the first sweep as master is complete.
struct PlanShell {
    bar: SweepBar,
    planned: Rc<RefCell<Planned>>,
    own: OwnSm,
    lists_writes: bool,
    awaits_consent: Option<String>,
    invariants: Vec<Invariant>,
}

impl PlanShell {
    /// The invariants that would not hold.
    fn violations(&self, sm: &SubnetManager) -> Vec<InvariantStatus> {
        let snapshot = sm.snapshot(None);
        let basis = sm.routing_basis();
        let fabric = CheckedFabric {
            snapshot: &snapshot,
            partitions: sm.partitions(),
            routes: basis.as_ref().map(CheckedRoutes::in_force),
        };
        let statuses = check(&self.invariants, fabric).into_iter();
        statuses
            .filter(|status| status.state == InvariantState::Violated)
            .collect()
    }
}

impl Shell for PlanShell {
    type End = Result<Plan, Failure>;

    #[allow(
        clippy::wildcard_enum_match_arm,
        reason = "other events are news of a service, not of a plan"
    )]
    fn event(&mut self, event: Event, sm: &SubnetManager) -> ControlFlow<Self::End> {
        match event {
            Event::SweepCompleted(done) if sm.role() == SmState::Master => {
                self.bar.clear();
                let planned = self.planned.borrow();
                let awaited = self.awaits_consent.take();
                let plan =
                    summary::summarize(&planned, &done, self.own, awaited, self.lists_writes);
                ControlFlow::Break(Ok(Plan {
                    violations: self.violations(sm),
                    ..plan
                }))
            }
            Event::ConsentAwaited { foreign, .. } => {
                self.awaits_consent = Some(foreign_settings::describe(&foreign));
                ControlFlow::Continue(())
            }
            Event::LocalPortUnusable(why) => ControlFlow::Break(Err(Failure::with_hint(
                format!("local port unusable: {why}"),
                "Choose another port: `ferrosm ports --local` lists them.",
            ))),
            _ => ControlFlow::Continue(()),
        }
    }

    fn stop(&mut self, _: &SubnetManager) -> Self::End {
        Err(Failure::runtime("interrupted before the plan was complete"))
    }

    fn tick(&mut self, progress: Progress) {
        self.bar.show(progress);
    }
}
