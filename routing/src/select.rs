//! Which engine routes the fabric: the first in the operator's list whose tables pass the proof.
//!
//! `auto` in the list stands for the engines that suit the fabric (`auto`): those made for its structure, or a fast baseline
//! and candidates that are compared with it within the work budget of the request (`best`). An engine that the operator
//! names has no budget. The list ends with the fallback engines, whether the operator named them or not: `updn`, and `nue`
//! within the budget, which route any connected graph without a credit loop. `no_fallback` in the list forbids them.
//!
//! While the routing in force only has lost links or LIDs, it is repaired instead of chosen anew. Where that does not do, `auto`
//! runs the engine in force again before it compares any: traffic waits for these routes.

use crate::auto::{self, Advice};
use crate::best::best;
use crate::diagnostics::Diagnostic;
use crate::engine::{ENGINE_NAMES, Engine, Request, RouteError, Routing, engine_by_name};
use crate::multicast;
use crate::reroute::{RerouteLimits, reroute_cached};
use crate::reroute_cache::RerouteCache;
use crate::verify::{Proof, VerifyError, verify};
use crate::work::WorkBudget;

/// The name that stands for the automatic choice.
pub const AUTO: &str = "auto";

/// The name that forbids the last resort: OpenSM's word.
pub const NO_FALLBACK: &str = "no_fallback";

/// The fallback engines: the baseline, and what is compared with it.
const FALLBACK: (&str, &str) = ("updn", "nue");

/// Of the budget that is left, each candidate but the last may spend so many hundredths.
const SHARE_PERCENT: u8 = 75;

/// Everything that an operator may name in a list of engines.
pub fn names() -> impl Iterator<Item = &'static str> {
    [AUTO]
        .into_iter()
        .chain(ENGINE_NAMES.iter().copied())
        .chain([NO_FALLBACK])
}

/// Why an engine's tables are not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// It gave none.
    #[error(transparent)]
    Route(#[from] RouteError),
    /// They did not pass the proof.
    #[error(transparent)]
    Proof(#[from] VerifyError),
    /// They pass, but not where answers travel on the SL of their request, and nobody asked for this engine.
    #[error("answers on the service level of their request could deadlock")]
    OneWay,
}

/// An engine that was tried and not used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{engine}: {reason}")]
pub struct EngineRejection {
    /// Its name, as the operator gave it.
    pub engine: String,
    /// Why.
    #[source]
    pub reason: Reason,
}

impl EngineRejection {
    /// One sentence, with switches named by `label`.
    #[must_use]
    pub fn describe(&self, label: &dyn Fn(crate::SwitchIdx) -> String) -> String {
        format!("{}: {}", self.engine, self.why(label))
    }

    /// The reason alone.
    #[must_use]
    pub fn why(&self, label: &dyn Fn(crate::SwitchIdx) -> String) -> String {
        match &self.reason {
            Reason::Proof(failure) => failure.describe(label),
            reason @ (Reason::Route(_) | Reason::OneWay) => reason.to_string(),
        }
    }
}

/// Tables with their proof, or nothing if the graph cannot be routed at all.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The tables to install, proven.
    pub chosen: Option<(Routing, Proof)>,
    /// Engines that were tried before, with the reasons.
    pub rejected: Vec<EngineRejection>,
    /// Whether it is the routing in force, repaired.
    pub rerouted: bool,
    /// To be kept with it ([`crate::LastRun::kept`]).
    pub cache: RerouteCache,
}

/// How many times as much as the busiest channel carried when an engine made the routing may it carry after repairs, one
/// and all. On a full tree that loses a leaf's cable it has to be more than 1.
pub(crate) const REPAIRED_LOAD_MAX: u64 = 2;

/// Engines of which one is installed. The next stage is for where the tables of none of them pass the proof.
struct Stage<'a> {
    choice: Choice<'a>,
    /// Why they are in the list, where the operator did not put them there.
    reason: Option<Diagnostic>,
    /// Whether the VLs must also do for replies on the SL of the request (ADR 0007).
    both_ways: bool,
    /// Data VLs that they may use; `None` for as many as there are.
    vls: Option<u8>,
}

/// How one of several engines is chosen.
enum Choice<'a> {
    /// The first whose tables pass the proof, without a budget.
    First(Vec<&'a str>),
    /// This engine, within the budget.
    InForce(&'a str),
    /// The best of the first of `baseline` that passes, and of those of `candidates` that pass and fit the budget.
    Best {
        baseline: Vec<&'a str>,
        candidates: Vec<&'a str>,
    },
}

impl<'a> Stage<'a> {
    fn of_operator(engine: &'a str) -> Self {
        Self {
            choice: Choice::First(vec![engine]),
            reason: None,
            both_ways: false,
            vls: None,
        }
    }

    /// `engines` are those that the operator has named.
    fn fallback(engines: &[&'a str]) -> Option<Self> {
        let missing = |name: &&str| !engines.contains(name);
        let list = |name| Some(name).filter(missing).into_iter().collect::<Vec<_>>();
        let (baseline, candidates) = (list(FALLBACK.0), list(FALLBACK.1));
        let any = !baseline.is_empty() || !candidates.is_empty();
        any.then_some(Self {
            choice: Choice::Best {
                baseline,
                candidates,
            },
            reason: Some(Diagnostic::Fallback),
            both_ways: true,
            vls: None,
        })
    }

    /// `in_force` is the engine in force, if the fabric has only lost something since.
    fn of_advice(advice: Advice, in_force: Option<&'a str>) -> impl Iterator<Item = Self> {
        let Advice {
            structured,
            baseline,
            candidates,
            vls,
            reason,
        } = advice;
        let first = Choice::First(structured.to_vec());
        let in_force = in_force
            .filter(|engine| baseline.contains(engine) || candidates.contains(engine))
            .map(Choice::InForce);
        let best = Choice::Best {
            baseline: baseline.to_vec(),
            candidates: candidates.to_vec(),
        };
        let choices = [Some(first), in_force, Some(best)].into_iter().flatten();
        choices.map(move |choice| Self {
            choice,
            reason: Some(Diagnostic::Structure(reason.clone())),
            both_ways: true,
            vls,
        })
    }
}

/// Routes with the first engine of the list that can.
///
/// On a connected graph `chosen` is always there, unless the list has [`NO_FALLBACK`].
#[must_use]
pub fn route_with(engines: &[&str], request: &Request<'_>) -> Selection {
    route_watched(engines, request, &mut |_| {})
}

/// What begins next, for a caller with a clock: there is none here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// This engine.
    Engine(&'a str),
    /// The proof of what it made.
    Proof,
    /// What comes behind it: which of several serves, or the next engine.
    Rest,
}

/// The same as [`route_with`], and says what begins.
#[must_use]
pub fn route_watched(
    engines: &[&str],
    request: &Request<'_>,
    watch: &mut dyn FnMut(Step<'_>),
) -> Selection {
    if let Some((routing, proof, cache)) = rerouted(request) {
        return Selection {
            chosen: Some((routing, proof)),
            rejected: Vec::new(),
            rerouted: true,
            cache,
        };
    }
    let mut attempts = Attempts {
        request,
        watch,
        rejected: Vec::new(),
    };
    for stage in stages(engines, request) {
        let passed = attempts.stage(&stage);
        let (best, compared) = best(request, passed);
        if let Some((mut routing, proof)) = best {
            let notes = stage.reason.into_iter().chain(compared);
            routing.diagnostics.splice(0..0, notes);
            return Selection {
                chosen: Some((routing, proof)),
                rejected: attempts.rejected,
                rerouted: false,
                cache: RerouteCache::new(),
            };
        }
    }
    Selection {
        chosen: None,
        rejected: attempts.rejected,
        rerouted: false,
        cache: RerouteCache::new(),
    }
}

/// The routing in force without what was lost, if that is all that happened and it still passes.
fn rerouted(request: &Request<'_>) -> Option<(Routing, Proof, RerouteCache)> {
    let last = request.previous.last.as_ref()?;
    let (mut routing, ways) = reroute_cached(request, &RerouteLimits::default())?;
    let mut ledger = last.cache.ledger().cloned().unwrap_or_default();
    let proof = ledger.verify(request.topo, &routing.tables, &routing.vl_plan);
    let proof = proof.ok()?;
    if last.baseline_max_load > 0 && proof.max_load > REPAIRED_LOAD_MAX * last.baseline_max_load {
        return None;
    }
    // Members of groups send on the SL that they were told. Only a routing made anew is worth telling them another one.
    if let Some(sl) = last
        .routing
        .trees
        .sl()
        .filter(|_| !routing.vl_plan.is_single())
    {
        multicast::resolve_trees(request.topo, &mut routing, Some(sl));
        if routing.trees.sl() != Some(sl) {
            return None;
        }
    }
    Some((routing, proof, RerouteCache::of(ledger, ways)))
}

fn stages<'a>(engines: &[&'a str], request: &Request<'_>) -> Vec<Stage<'a>> {
    let mut list: Vec<Stage<'a>> = Vec::new();
    for &engine in engines.iter().filter(|e| **e != NO_FALLBACK) {
        if engine == AUTO {
            let in_force = request.previous.pinned_engine;
            list.extend(Stage::of_advice(auto::advise(request), in_force));
        } else {
            list.push(Stage::of_operator(engine));
        }
    }
    if !engines.contains(&NO_FALLBACK) {
        list.extend(Stage::fallback(engines));
    }
    list
}

/// Tables that passed the proof.
type Proven = (Routing, Proof);

/// Runs engines and proves their tables.
struct Attempts<'a, 'w> {
    request: &'a Request<'a>,
    watch: &'w mut dyn FnMut(Step<'_>),
    rejected: Vec<EngineRejection>,
}

impl Attempts<'_, '_> {
    /// Tables of the engines of a stage, in the order of the stage.
    fn stage(&mut self, stage: &Stage<'_>) -> Vec<Proven> {
        match &stage.choice {
            Choice::First(engines) => self.first(engines, stage).into_iter().collect(),
            Choice::InForce(engine) => {
                let share = self.request.budget.share(SHARE_PERCENT);
                let found = self.attempt(engine, stage, &share);
                let _ = self.request.budget.spend(share.spent());
                found.into_iter().collect()
            }
            Choice::Best {
                baseline,
                candidates,
            } => {
                let mut passed: Vec<Proven> = self.first(baseline, stage).into_iter().collect();
                for (i, &engine) in candidates.iter().enumerate() {
                    let budget = self.request.budget;
                    let known = passed.iter().any(|(routing, _)| routing.engine == engine);
                    let share = if passed.is_empty() && i + 1 == candidates.len() {
                        // Without any other routing the last engine has to finish.
                        WorkBudget::unlimited()
                    } else {
                        let is_last = i + 1 == candidates.len();
                        budget.share(if is_last { 100 } else { SHARE_PERCENT })
                    };
                    if !known {
                        passed.extend(self.attempt(engine, stage, &share));
                    }
                    let _ = budget.spend(share.spent());
                }
                passed
            }
        }
    }

    /// Tables of the first engine that pass. Its work counts against the budget, but is not limited by it.
    fn first(&mut self, engines: &[&str], stage: &Stage<'_>) -> Option<Proven> {
        let work = WorkBudget::limited(u64::MAX - 1);
        let found = engines
            .iter()
            .find_map(|engine| self.attempt(engine, stage, &work));
        let _ = self.request.budget.spend(work.spent());
        found
    }

    fn attempt(&mut self, name: &str, stage: &Stage<'_>, budget: &WorkBudget) -> Option<Proven> {
        match self.proven_both_ways(name, stage, budget) {
            Ok(proven) => Some(proven),
            Err(reason) => {
                self.rejected.push(EngineRejection {
                    engine: name.to_owned(),
                    reason,
                });
                None
            }
        }
    }

    fn proven_both_ways(
        &mut self,
        name: &str,
        stage: &Stage<'_>,
        budget: &WorkBudget,
    ) -> Result<Proven, Reason> {
        let engine =
            engine_by_name(name).ok_or_else(|| RouteError::UnknownEngine(name.to_owned()))?;
        let request = self.request.with_budget(budget);
        let request = stage
            .vls
            .map_or(request, |vls| request.with_vls(vls.min(request.vls)));
        let (routing, proof) = self.proven(&*engine, &request)?;
        if proof.reversible || !stage.both_ways {
            return Ok((routing, proof));
        }
        // On one VL both directions are always the same.
        match self.proven(&*engine, &request.with_vls(1)) {
            Ok((routing, proof)) if proof.reversible => Ok((routing, proof)),
            Err(budget @ Reason::Route(RouteError::Budget)) => Err(budget),
            Ok(_) | Err(_) => Err(Reason::OneWay),
        }
    }

    fn proven(&mut self, engine: &dyn Engine, request: &Request<'_>) -> Result<Proven, Reason> {
        (self.watch)(Step::Engine(engine.name()));
        let routing = engine.route(request)?;
        (self.watch)(Step::Proof);
        let proof = verify(request.topo, &routing.tables, &routing.vl_plan);
        (self.watch)(Step::Rest);
        Ok((routing, proof?))
    }
}
