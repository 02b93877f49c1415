//! Which engine routes the fabric: the first in the operator's list whose tables pass the proof.
//!
//! The list always ends with `updn`, whether the operator named it or not: it routes any connected
//! graph without a credit loop, so a fabric never falls back to tables that can deadlock.

use std::fmt;

use crate::engine::{Request, RouteError, Routing, engine_by_name};
use crate::verify::{Failure, Proof, verify};

/// The engine that is tried last.
const LAST_RESORT: &str = "updn";

/// Why an engine's tables are not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It gave none.
    Route(RouteError),
    /// They did not pass the proof.
    Proof(Failure),
}

/// An engine that was tried and not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its name, as the operator gave it.
    pub engine: String,
    /// Why.
    pub reason: Reason,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Reason::Route(e) => write!(f, "{}: {e}", self.engine),
            Reason::Proof(e) => write!(f, "{}: {e}", self.engine),
        }
    }
}

/// Tables with their proof, or nothing if the graph cannot be routed at all.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The tables to install, proven.
    pub chosen: Option<(Routing, Proof)>,
    /// Engines that were tried before, with the reasons.
    pub refused: Vec<Refused>,
}

/// Routes with the first engine of the list that can, `updn` being the last.
///
/// On a connected graph `chosen` is always there.
#[must_use]
pub fn route_with(engines: &[&str], request: &Request<'_>) -> Selection {
    let mut refused: Vec<Refused> = Vec::new();
    let last = (!engines.contains(&LAST_RESORT)).then_some(LAST_RESORT);
    for name in engines.iter().copied().chain(last) {
        let reason = match attempt(name, request) {
            Ok(chosen) => {
                return Selection {
                    chosen: Some(chosen),
                    refused,
                };
            }
            Err(reason) => reason,
        };
        refused.push(Refused {
            engine: name.to_owned(),
            reason,
        });
    }
    Selection {
        chosen: None,
        refused,
    }
}

fn attempt(name: &str, request: &Request<'_>) -> Result<(Routing, Proof), Reason> {
    let engine = engine_by_name(name)
        .ok_or_else(|| Reason::Route(RouteError::UnknownEngine(name.to_owned())))?;
    let routing = engine.route(request).map_err(Reason::Route)?;
    let proof = verify(request.topo, &routing.tables, &routing.lanes).map_err(Reason::Proof)?;
    Ok((routing, proof))
}
