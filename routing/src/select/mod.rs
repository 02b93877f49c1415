//! Engine selection: the first engine in the operator's list whose tables pass verification.
//!
//! `auto` in the list stands for the engines that suit the fabric (module `auto`): engines for its
//! structure, or a fast baseline and candidates that are compared with it within the work budget of
//! the request (module `best`). Engines that the operator names have no budget. The fallback
//! engines follow at the end of every list: `updn`, and `nue` within the budget. They route any
//! connected graph without credit loops. `no_fallback` in the list disables them.
//!
//! If the fabric has only lost links or LIDs, the installed routing is rerouted incrementally. If
//! that fails, `auto` first runs the engine of the installed routing, without a comparison, because
//! traffic is waiting for routes.

pub mod auto;
mod best;
mod trial;

use crate::engine_names::ENGINE_NAMES;
use crate::engines::{Engine, engine_by_name};
use crate::kept::KeptSwitchUse;
use crate::messages::{Describe, Diagnostic, RouteError};
use crate::multicast;
use crate::request::{PreviousRouting, RoutingRequest};
use crate::reroute_cache::RerouteCache;
use crate::routing::Routing;
use crate::topology::{SwitchIdx, Topology};
use crate::update::reroute::{
    REROUTED_LOAD_MAX, RerouteLimits, reroute_cached, reroute_within_vl_plan,
};
use crate::verify::constraint::{OrderCheck, verify_with_constraint};
use crate::verify::{IncrementalVerifier, Proof, VerifyError, verify_with_kept};
use crate::work::WorkBudget;
use auto::Advice;
use best::{SeveralVls, select_best};
use trial::EngineTrial;

/// Engine name for automatic selection.
pub const AUTO: &str = "auto";

/// Name that disables the fallback engines, as in OpenSM.
pub const NO_FALLBACK: &str = "no_fallback";

/// The fallback engines: the baseline, and the candidate to compare with it.
const FALLBACK: (&str, &str) = ("updn", "nue");

/// Share of the remaining budget for each candidate but the last, in percent.
const SHARE_PERCENT: u8 = 75;

/// All names that are valid in a list of engines.
pub fn engine_names() -> impl Iterator<Item = &'static str> {
    [AUTO]
        .into_iter()
        .chain(ENGINE_NAMES.iter().copied())
        .chain([NO_FALLBACK])
}

/// Why an engine is not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RejectReason {
    /// The engine failed.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// Its tables failed verification.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// Its tables pass, but replies on the SL of their request could deadlock. Does not apply to
    /// engines that the operator names.
    #[error("replies on the SL of their request could deadlock")]
    Irreversible,
}

/// An engine that was run and not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{engine}: {reason}")]
pub struct EngineRejection {
    /// Its name in the list.
    pub engine: String,
    #[source]
    pub reason: RejectReason,
}

impl RejectReason {
    /// A stable name of the reason, for programs.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Route(error) => error.kind(),
            Self::Verify(_) => "verification",
            Self::Irreversible => "irreversible",
        }
    }
}

impl Describe for RejectReason {
    fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String {
        match self {
            Self::Route(error) => error.describe(label),
            Self::Verify(error) => error.describe(label),
            Self::Irreversible => self.to_string(),
        }
    }
}

impl Describe for EngineRejection {
    fn describe(&self, label: &dyn Fn(SwitchIdx) -> String) -> String {
        format!("{}: {}", self.engine, self.reason.describe(label))
    }
}

/// Result of the selection.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The routing to install, with its proof; `None` if all engines failed.
    pub chosen: Option<(Routing, Proof)>,
    /// Engines that were run and not used.
    pub rejected: Vec<EngineRejection>,
    /// Whether `chosen` is the installed routing, rerouted incrementally.
    pub rerouted: bool,
    /// How `chosen` uses the switches that keep tables.
    pub kept_use: KeptSwitchUse,
    /// For [`crate::VerifiedRun::cache`].
    pub cache: RerouteCache,
}

impl Selection {
    fn none() -> Self {
        Self {
            chosen: None,
            rejected: Vec::new(),
            rerouted: false,
            kept_use: KeptSwitchUse::Transit,
            cache: RerouteCache::new(),
        }
    }
}

/// Engines of which one is used. The next stage runs if all of them fail.
struct Stage<'a> {
    choice: Choice<'a>,
    /// Why the stage is in the list, if the operator did not name its engine.
    reason: Option<Diagnostic>,
    /// Whether replies on the SL of their request must be deadlock-free too (ADR 0007).
    reversible: bool,
}

/// How a stage selects its engine.
enum Choice<'a> {
    /// The first whose tables pass verification, without a budget.
    First(Vec<EngineTrial<'a>>),
    /// The engine of the installed routing, within the budget.
    Installed(EngineTrial<'a>),
    /// The best of the first of `baseline` that passes and of those `candidates` that pass within
    /// the budget.
    Best {
        baseline: Vec<EngineTrial<'a>>,
        candidates: Vec<EngineTrial<'a>>,
        /// How much lower the cost of a routing on several VLs must be than on one.
        several_vls: SeveralVls,
    },
}

impl<'a> Stage<'a> {
    fn for_engine(engine: &'a str) -> Self {
        Self {
            choice: Choice::First(vec![EngineTrial::on_all_vls(engine)]),
            reason: None,
            reversible: false,
        }
    }

    /// Fallback engines that are not already in `engines`; `None` if there are none.
    fn fallback(engines: &[&'a str]) -> Option<Self> {
        let missing = |name: &&str| !engines.contains(name);
        let list = |name| {
            let name = Some(name).filter(missing);
            name.map(EngineTrial::on_all_vls)
                .into_iter()
                .collect::<Vec<_>>()
        };
        let baseline = list(FALLBACK.0);
        let candidates = list(FALLBACK.1);
        let has_any = !baseline.is_empty() || !candidates.is_empty();
        has_any.then_some(Self {
            choice: Choice::Best {
                baseline,
                candidates,
                several_vls: SeveralVls::Allowed,
            },
            reason: Some(Diagnostic::Fallback),
            reversible: true,
        })
    }

    fn several_vls(&self) -> SeveralVls {
        match &self.choice {
            Choice::First(_) | Choice::Installed(_) => SeveralVls::Allowed,
            Choice::Best { several_vls, .. } => *several_vls,
        }
    }

    /// If the fabric has only lost switches or links since the last routing, its engine is tried
    /// first.
    fn from_advice(advice: Advice, previous: &PreviousRouting) -> impl Iterator<Item = Self> {
        let Advice {
            structured,
            baseline,
            candidates,
            several_vls,
            reason,
        } = advice;
        let mut trials = structured.iter().chain(&baseline).chain(&candidates);
        // A trial on one VL would change the VL of every SL.
        let keeps_vls = |trial: &EngineTrial<'_>| trial.vls.is_none() || previous.is_on_one_vl();
        let is_installed = |trial: &EngineTrial<'_>| {
            previous.pinned_engine == Some(trial.engine) && keeps_vls(trial)
        };
        let in_force = trials.find(|trial| is_installed(trial)).copied();
        let installed = in_force
            .filter(|trial| structured.first() != Some(trial))
            .map(Choice::Installed);
        let first = Choice::First(structured);
        let best = Choice::Best {
            baseline,
            candidates,
            several_vls,
        };
        let choices = [installed, Some(first), Some(best)].into_iter().flatten();
        choices.map(move |choice| Self {
            choice,
            reason: Some(Diagnostic::Structure(reason.clone())),
            reversible: true,
        })
    }
}

/// Routes with the first engine of the list that succeeds.
///
/// On a connected graph, `chosen` is `Some` unless the list has [`NO_FALLBACK`].
#[must_use]
pub fn route_with(engines: &[&str], request: &RoutingRequest<'_>) -> Selection {
    route_with_progress(engines, request, &mut |_| {})
}

/// Progress of the selection, for a caller with a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionStep<'a> {
    /// This engine runs.
    Engine(&'a str),
    /// Its tables are verified.
    Verification,
    /// Its routing is compared with others, or the next engine follows.
    Comparison,
}

/// As [`route_with`]; reports each step to `watch` when it starts.
#[must_use]
pub fn route_with_progress(
    engines: &[&str],
    request: &RoutingRequest<'_>,
    watch: &mut dyn FnMut(SelectionStep<'_>),
) -> Selection {
    reroute_installed(request).unwrap_or_else(|| run_engines(engines, request, watch))
}

/// As [`route_with`], without an attempt to reroute the installed routing.
#[must_use]
pub fn route_with_engines(engines: &[&str], request: &RoutingRequest<'_>) -> Selection {
    run_engines(engines, request, &mut |_| {})
}

/// The installed routing, rerouted incrementally. `None` if the fabric did not only lose links or
/// LIDs, or if the result fails verification or has too much load on a channel.
#[must_use]
pub fn reroute_installed(request: &RoutingRequest<'_>) -> Option<Selection> {
    let (routing, proof, cache) = try_reroute(request)?;
    Some(Selection {
        chosen: Some((routing, proof)),
        rerouted: true,
        cache,
        ..Selection::none()
    })
}

fn run_engines(
    engines: &[&str],
    request: &RoutingRequest<'_>,
    watch: &mut dyn FnMut(SelectionStep<'_>),
) -> Selection {
    let mut rejected = Vec::new();
    for (kept_use, topo) in request.kept.views(request.topo) {
        let mut attempts = Attempts {
            request: &request.with_topology(&topo),
            verified_topo: request.topo,
            watch: &mut *watch,
            rejected: Vec::new(),
        };
        let chosen = attempts.run(engines);
        rejected.append(&mut attempts.rejected);
        if chosen.is_some() {
            return Selection {
                chosen,
                rejected,
                kept_use,
                ..Selection::none()
            };
        }
    }
    Selection {
        rejected,
        ..Selection::none()
    }
}

/// Reroutes the installed routing incrementally, if the fabric only lost links or LIDs and the
/// result passes verification.
fn try_reroute(request: &RoutingRequest<'_>) -> Option<(Routing, Proof, RerouteCache)> {
    let last = request.previous.last_run.as_ref()?;
    let (mut routing, dependencies) = reroute_cached(request, &RerouteLimits::default())?;
    let mut verifier = last.cache.verifier().cloned().unwrap_or_default();
    let proof = verify_rerouted(request, &routing, &mut verifier)?;
    if last.baseline_max_load > 0 && proof.max_load > REROUTED_LOAD_MAX * last.baseline_max_load {
        return None;
    }
    // Groups keep their trees, and on several VLs their SL: members send on that of their
    // MCMemberRecord.
    if let Some(sl) = last.routing.trees.sl() {
        multicast::resolve_trees(request.topo, &mut routing, Some(sl));
        let sl_after = routing.trees.sl()?;
        if sl_after != sl && !routing.vl_plan.is_single() {
            return None;
        }
    }
    Some((
        routing,
        proof,
        RerouteCache::from_reroute(verifier, dependencies),
    ))
}

/// The previous routing, rerouted within its VL plan at any cost in load: the SL of each path and
/// the VL of each SL stay, so that the update interrupts few routes or none. Links and switches may
/// be lost and new. `None` if no such routes are found, or if they fail verification or differ from
/// the tables that switches keep.
#[must_use]
pub fn route_within_vl_plan(request: &RoutingRequest<'_>) -> Option<(Routing, Proof)> {
    let routing = reroute_within_vl_plan(request)?;
    let proof = verify_rerouted(request, &routing, &mut IncrementalVerifier::default())?;
    Some((routing, proof))
}

/// The proof of a reroute; `None` if it fails or if the routing differs from the tables that
/// switches keep.
fn verify_rerouted(
    request: &RoutingRequest<'_>,
    routing: &Routing,
    verifier: &mut IncrementalVerifier,
) -> Option<Proof> {
    let Routing {
        tables, vl_plan, ..
    } = routing;
    let proof = if request.kept.is_empty() {
        verifier.verify(request.topo, tables, vl_plan)
    } else if request.kept.are_in(request.topo, routing) {
        verify_with_kept(request.topo, tables, vl_plan, request.kept)
    } else {
        return None;
    };
    proof.ok()
}

fn stages<'a>(engines: &[&'a str], request: &RoutingRequest<'_>) -> Vec<Stage<'a>> {
    let mut list: Vec<Stage<'a>> = Vec::new();
    for &engine in engines.iter().filter(|e| **e != NO_FALLBACK) {
        if engine == AUTO {
            list.extend(Stage::from_advice(auto::advise(request), request.previous));
        } else {
            list.push(Stage::for_engine(engine));
        }
    }
    if !engines.contains(&NO_FALLBACK) {
        list.extend(Stage::fallback(engines));
    }
    list
}

/// A routing that passed verification.
type Verified = (Routing, Proof);

/// Runs engines and verifies their tables.
struct Attempts<'a, 'w> {
    request: &'a RoutingRequest<'a>,
    /// The graph for which tables are verified. Engines may see fewer links.
    verified_topo: &'a Topology,
    watch: &'w mut dyn FnMut(SelectionStep<'_>),
    rejected: Vec<EngineRejection>,
}

impl Attempts<'_, '_> {
    /// The routing of the first stage that has one.
    fn run(&mut self, engines: &[&str]) -> Option<Verified> {
        for stage in stages(engines, self.request) {
            let passed = self.stage(&stage);
            let (best, compared) = select_best(self.request, passed, stage.several_vls());
            if let Some((mut routing, proof)) = best {
                if let Some(Diagnostic::Structure(structure)) = &stage.reason {
                    routing.diagnostics.retain(|d| !structure.includes(d));
                }
                let diagnostics = stage.reason.into_iter().chain(compared);
                routing.diagnostics.splice(0..0, diagnostics);
                return Some((routing, proof));
            }
        }
        None
    }

    /// Verified routings of the engines of a stage, in the order of the stage.
    fn stage(&mut self, stage: &Stage<'_>) -> Vec<Verified> {
        match &stage.choice {
            Choice::First(engines) => self.first(engines, stage).into_iter().collect(),
            Choice::Installed(trial) => {
                let share = self.request.budget.share(SHARE_PERCENT);
                let result = self.attempt(*trial, stage, &share);
                let _ = self.request.budget.spend(share.spent());
                result.into_iter().collect()
            }
            Choice::Best {
                baseline,
                candidates,
                ..
            } => {
                let mut passed: Vec<Verified> = self.first(baseline, stage).into_iter().collect();
                for (i, &trial) in candidates.iter().enumerate() {
                    let budget = self.request.budget;
                    let is_baseline = baseline.contains(&trial)
                        && passed
                            .iter()
                            .any(|(routing, _)| routing.engine == trial.engine);
                    let share = if passed.is_empty() && i + 1 == candidates.len() {
                        // Without any other routing, the last engine must finish.
                        WorkBudget::unlimited().abandoned_with(budget)
                    } else {
                        let is_last = i + 1 == candidates.len();
                        budget.share(if is_last { 100 } else { SHARE_PERCENT })
                    };
                    if !is_baseline {
                        passed.extend(self.attempt(trial, stage, &share));
                    }
                    let _ = budget.spend(share.spent());
                }
                passed
            }
        }
    }

    /// The first routing that passes. Its work counts against the budget, but is not limited by it.
    fn first(&mut self, trials: &[EngineTrial<'_>], stage: &Stage<'_>) -> Option<Verified> {
        let work = WorkBudget::limited(u64::MAX - 1).abandoned_with(self.request.budget);
        let verified = trials
            .iter()
            .find_map(|trial| self.attempt(*trial, stage, &work));
        let _ = self.request.budget.spend(work.spent());
        verified
    }

    fn attempt(
        &mut self,
        trial: EngineTrial<'_>,
        stage: &Stage<'_>,
        budget: &WorkBudget,
    ) -> Option<Verified> {
        match self.route_stage(trial, stage, budget) {
            Ok(verified) => Some(verified),
            Err(reason) => {
                self.rejected.push(EngineRejection {
                    engine: trial.engine.to_owned(),
                    reason,
                });
                None
            }
        }
    }

    fn route_stage(
        &mut self,
        trial: EngineTrial<'_>,
        stage: &Stage<'_>,
        budget: &WorkBudget,
    ) -> Result<Verified, RejectReason> {
        let engine = engine_by_name(trial.engine)
            .ok_or_else(|| RouteError::UnknownEngine(trial.engine.to_owned()))?;
        if budget.is_abandoned() {
            return Err(RouteError::Budget.into());
        }
        let unlimited = self.request.with_budget(budget);
        let request = trial
            .vls
            .map_or(unlimited, |vls| unlimited.with_vls(vls.min(unlimited.vls)));
        let (routing, proof) = self.route_within_kept(&*engine, &request)?;
        if proof.reversible || !stage.reversible {
            return Ok((routing, proof));
        }
        // On one VL, replies always use the VL of their request.
        match self.route_and_verify(&*engine, &request.with_vls(1)) {
            Ok((routing, proof)) if proof.reversible => Ok((routing, proof)),
            Err(budget @ RejectReason::Route(RouteError::Budget)) => Err(budget),
            Ok(_) | Err(_) => Err(RejectReason::Irreversible),
        }
    }

    /// As [`Self::route_and_verify`]. Switches that keep SLtoVL tables limit the VLs: first to
    /// those on which all of them map VL = SL, at last to one.
    fn route_within_kept(
        &mut self,
        engine: &dyn Engine,
        request: &RoutingRequest<'_>,
    ) -> Result<Verified, RejectReason> {
        let all_vls = request.usable_vls();
        let identity = request.kept.identity_vls(request.topo);
        if identity >= all_vls {
            return self.route_and_verify(engine, request);
        }
        if identity > 1
            && let Ok(verified) = self.route_and_verify(engine, &request.with_vls(identity))
        {
            return Ok(verified);
        }
        self.route_and_verify(engine, request)
            .or_else(|_| self.route_and_verify(engine, &request.with_vls(1)))
    }

    fn route_and_verify(
        &mut self,
        engine: &dyn Engine,
        request: &RoutingRequest<'_>,
    ) -> Result<Verified, RejectReason> {
        (self.watch)(SelectionStep::Engine(engine.name()));
        let mut routing = engine.route(request)?;
        (self.watch)(SelectionStep::Verification);
        let topo = self.verified_topo;
        request.kept.apply(topo, &mut routing);
        let order_check = match request.kept.is_empty() {
            true => OrderCheck::Omitted,
            false => OrderCheck::Done,
        };
        let proof = verify_with_constraint(topo, &mut routing, request.kept, order_check);
        (self.watch)(SelectionStep::Comparison);
        Ok((routing, proof?))
    }
}
