//! Plans a start: runs a subnet manager on a port that keeps its writes ([`crate::plan`]), until
//! its first sweep as master, for `ferrosm plan` and for the API of a running service.

use core::ops::ControlFlow;
use core::time::Duration;
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
use ferrosm_mad::ids::PortGuid;
use ferrosm_store::{StateInspection, restore};

use super::driver::Shell;
use super::reading;
use crate::api::start_plan::StartPlanOptions;
use crate::config::Settings;
use crate::failure::Failure;
use crate::invariants::Invariant;
use crate::invariants::check::{CheckedFabric, CheckedRoutes, check};
use crate::output::progress::SweepBar;
use crate::plan::planned_port::{Planned, PlannedPort};
use crate::plan::summary::{self, OwnSm};
use crate::port::MadPort;

/// Longest time of a plan that a service makes.
const PLAN_TIME_MAX: Duration = Duration::from_secs(60);

/// Who waits for a plan.
#[derive(Debug)]
pub enum PlanClient {
    /// A command, with the bar that shows its progress. A signal ends it.
    Command(SweepBar),
    /// A client of a running service.
    Remote,
}

/// What a start with these settings would write to the fabric at a port.
///
/// # Errors
/// The state directory cannot be read, the port fails, or no sweep is complete.
pub fn plan(
    port: impl MadPort,
    settings: Settings,
    options: &StartPlanOptions,
    client: PlanClient,
) -> Result<Plan, Failure> {
    let restored = settings.state_dir.as_deref().map(read_state).transpose()?;
    let planned = Rc::new(RefCell::new(Planned::default()));
    let planned_port = PlannedPort::new(port, Rc::clone(&planned));
    let priority = settings.sm.priority;
    let invariants = settings.invariants();
    let mut cfg = settings.sm;
    // The plan is that of a master: other SMs are reported, but do not take part.
    cfg.allowed_sms = Some(Arc::new(BTreeSet::new()));
    cfg.refuse_managed_subnet = false;
    let shell = |bar| PlanShell {
        bar,
        planned,
        priority,
        lists_writes: options.lists_writes,
        awaits_consent: None,
        invariants,
    };
    let new_sm = |now| {
        let mut sm = SubnetManager::new(cfg, restored.unwrap_or_default(), now);
        for removal in &options.accepted {
            let _ = sm.accept_removal(*removal);
        }
        sm
    };
    match client {
        PlanClient::Command(bar) => reading::run(planned_port, shell(bar), new_sm),
        PlanClient::Remote => {
            let hidden = SweepBar::hidden();
            reading::run_within(PLAN_TIME_MAX, planned_port, shell(hidden), new_sm)
        }
    }
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
    priority: u8,
    lists_writes: bool,
    awaits_consent: Option<String>,
    invariants: Vec<Invariant>,
}

impl PlanShell {
    /// The SM that plans, at the port that its first request read.
    fn own(&self, sm: &SubnetManager) -> OwnSm {
        let local = sm.fabric().local();
        let port = local.and_then(|at| sm.fabric().port(at));
        OwnSm {
            guid: port.map_or(PortGuid(0), |port| port.guid),
            priority: self.priority,
        }
    }

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
                let own = self.own(sm);
                let plan = summary::summarize(&planned, &done, own, awaited, self.lists_writes);
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
