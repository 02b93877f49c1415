//! Which engine routes the fabric: the first in the operator's list whose tables pass the proof.
//!
//! `auto` in the list stands for the engines that suit the fabric as it is recognised (`auto`). Some of them may be advised
//! together: then each is tried, and the best of those that pass serves (`best`). The list ends with the
//! last resort, whether the operator named it or not: `nue`, and `updn` behind it, which route any connected graph without a
//! credit loop, so that a fabric never falls back to tables that can deadlock. `no_fallback` in the list forbids that end.
//!
//! While the routing in force only has to get by with less, it is repaired instead of chosen anew.

use std::fmt;

use crate::auto::{self, Advice};
use crate::best::best;
use crate::engine::{ENGINE_NAMES, Request, RouteError, Routing, engine_by_name};
use crate::kept::Kept;
use crate::multicast;
use crate::repair::{Limits, repair_kept};
use crate::verify::{Failure, Proof, verify};

/// The name that stands for the automatic choice.
pub const AUTO: &str = "auto";

/// The name that forbids the last resort: OpenSM's word.
pub const NO_FALLBACK: &str = "no_fallback";

/// The engines that are tried last.
const LAST_RESORT: [&str; 2] = ["nue", "updn"];

/// Everything that an operator may name in a list of engines.
pub fn names() -> impl Iterator<Item = &'static str> {
    [AUTO]
        .into_iter()
        .chain(ENGINE_NAMES.iter().copied())
        .chain([NO_FALLBACK])
}

/// Why an engine's tables are not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It gave none.
    Route(RouteError),
    /// They did not pass the proof.
    Proof(Failure),
    /// They pass, but not where answers travel on the SL of their request, and nobody asked for this engine.
    OneWay,
}

/// An engine that was tried and not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its name, as the operator gave it.
    pub engine: String,
    /// Why.
    pub reason: Reason,
}

impl Refused {
    /// One sentence, with switches named by `label`.
    #[must_use]
    pub fn describe(&self, label: &dyn Fn(crate::SwitchIdx) -> String) -> String {
        format!("{}: {}", self.engine, self.why(label))
    }

    /// The reason alone.
    #[must_use]
    pub fn why(&self, label: &dyn Fn(crate::SwitchIdx) -> String) -> String {
        match &self.reason {
            Reason::Route(e) => e.to_string(),
            Reason::Proof(failure) => failure.describe(label),
            Reason::OneWay => {
                "answers on the service level of their request could deadlock".to_owned()
            }
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(&|s| format!("switch {}", s.0)))
    }
}

/// Tables with their proof, or nothing if the graph cannot be routed at all.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The tables to install, proven.
    pub chosen: Option<(Routing, Proof)>,
    /// Engines that were tried before, with the reasons.
    pub refused: Vec<Refused>,
    /// Whether it is the routing in force, repaired.
    pub repaired: bool,
    /// To be kept with it ([`crate::LastRun::kept`]).
    pub kept: Kept,
}

/// How many times as much as the busiest channel carried when an engine made the routing may it carry after repairs, one
/// and all. On a full tree that loses a leaf's cable it has to be more than 1.
pub(crate) const REPAIRED_LOAD_MAX: u64 = 2;

/// Engines that are tried together: the best of those that pass serves. The next round is for where none does.
struct Round<'a> {
    engines: Vec<&'a str>,
    /// Why they are in the list, where the operator did not put them there.
    why: Option<String>,
    /// Whether lanes must also do for answers on the SL of the request (ADR 0007).
    both_ways: bool,
    /// Data VLs that they may use; as many as anybody may where it is not said.
    vls: Option<u8>,
}

impl<'a> Round<'a> {
    fn of_operator(engine: &'a str) -> Self {
        Self {
            engines: vec![engine],
            why: None,
            both_ways: false,
            vls: None,
        }
    }

    fn last_resort(engine: &'a str) -> Self {
        Self {
            engines: vec![engine],
            why: Some("no engine before this one could route the fabric".to_owned()),
            both_ways: true,
            vls: None,
        }
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
    if let Some((routing, proof, kept)) = repaired(request) {
        return Selection {
            chosen: Some((routing, proof)),
            refused: Vec::new(),
            repaired: true,
            kept,
        };
    }
    let mut refused: Vec<Refused> = Vec::new();
    for round in rounds(engines, request) {
        let mut passed = Vec::with_capacity(round.engines.len());
        for engine in &round.engines {
            match attempt(engine, &round, request, watch) {
                Ok(proven) => passed.push(proven),
                Err(reason) => refused.push(Refused {
                    engine: (*engine).to_owned(),
                    reason,
                }),
            }
        }
        let (best, compared) = best(request, passed);
        if let Some((mut routing, proof)) = best {
            let notes = round.why.into_iter().chain(compared);
            routing.notes.splice(0..0, notes);
            return Selection {
                chosen: Some((routing, proof)),
                refused,
                repaired: false,
                kept: Kept::new(),
            };
        }
    }
    Selection {
        chosen: None,
        refused,
        repaired: false,
        kept: Kept::new(),
    }
}

/// The routing in force without what was lost, if that is all that happened and it still passes.
fn repaired(request: &Request<'_>) -> Option<(Routing, Proof, Kept)> {
    let last = request.previous.last.as_ref()?;
    let (mut routing, ways) = repair_kept(request, &Limits::default())?;
    let mut ledger = last.kept.ledger().cloned().unwrap_or_default();
    let proof = ledger.verify(request.topo, &routing.tables, &routing.lanes);
    let proof = proof.ok()?;
    if last.busiest > 0 && proof.max_load > REPAIRED_LOAD_MAX * last.busiest {
        return None;
    }
    // Members of groups send on the SL that they were told. Only a routing made anew is worth telling them another one.
    if let Some(sl) = last
        .routing
        .trees
        .sl()
        .filter(|_| !routing.lanes.is_single())
    {
        multicast::settle(request.topo, &mut routing, Some(sl));
        if routing.trees.sl() != Some(sl) {
            return None;
        }
    }
    // What the engine said of its work holds on; of repairs only the last is told.
    let said = last.routing.notes.iter();
    let said = said.filter(|note| !note.starts_with("repaired")).cloned();
    routing.notes = said.chain(routing.notes).collect();
    Some((routing, proof, Kept::of(ledger, ways)))
}

fn rounds<'a>(engines: &[&'a str], request: &Request<'_>) -> Vec<Round<'a>> {
    let mut list: Vec<Round<'a>> = Vec::new();
    for &engine in engines.iter().filter(|e| **e != NO_FALLBACK) {
        if engine == AUTO {
            let Advice {
                rounds,
                vls,
                reason,
            } = auto::advise(request);
            list.extend(rounds.iter().map(|engines| Round {
                engines: engines.to_vec(),
                why: Some(reason.clone()),
                both_ways: true,
                vls,
            }));
        } else {
            list.push(Round::of_operator(engine));
        }
    }
    if !engines.contains(&NO_FALLBACK) {
        let missing = LAST_RESORT.iter().filter(|e| !engines.contains(e));
        list.extend(missing.map(|engine| Round::last_resort(engine)));
    }
    list
}

fn attempt(
    name: &str,
    round: &Round<'_>,
    request: &Request<'_>,
    watch: &mut dyn FnMut(Step<'_>),
) -> Result<(Routing, Proof), Reason> {
    let engine = engine_by_name(name)
        .ok_or_else(|| Reason::Route(RouteError::UnknownEngine(name.to_owned())))?;
    let request = &round
        .vls
        .map_or(*request, |vls| request.with_vls(vls.min(request.vls)));
    let (routing, proof) = proven(&*engine, request, watch)?;
    if proof.reversible || !round.both_ways {
        return Ok((routing, proof));
    }
    // One lane is always the same in both directions.
    match proven(&*engine, &request.with_vls(1), watch) {
        Ok((routing, proof)) if proof.reversible => Ok((routing, proof)),
        Ok(_) | Err(_) => Err(Reason::OneWay),
    }
}

fn proven(
    engine: &dyn crate::engine::Engine,
    request: &Request<'_>,
    watch: &mut dyn FnMut(Step<'_>),
) -> Result<(Routing, Proof), Reason> {
    watch(Step::Engine(engine.name()));
    let routing = engine.route(request).map_err(Reason::Route)?;
    watch(Step::Proof);
    let proof = verify(request.topo, &routing.tables, &routing.lanes);
    watch(Step::Rest);
    Ok((routing, proof.map_err(Reason::Proof)?))
}
