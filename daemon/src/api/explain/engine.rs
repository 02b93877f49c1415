//! Why a routing engine is in use.

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::explain::{EngineCandidate, EngineExplanation};
use ferrosm_routing::{DecidedBy, Diagnostic, RoutingFigures};

use super::reroute_of;
use crate::api::published::FabricState;
use crate::api::rfc3339;
use crate::api::what_if::ComputedRoutes;

/// Explains the engine of the routing in force.
pub(in crate::api) fn engine(
    fabric: &FabricState,
    computed: Option<&ComputedRoutes>,
) -> Result<EngineExplanation, ApiError> {
    let basis = fabric.basis.as_ref();
    let (Some(basis), Some(report)) = (basis, &fabric.report) else {
        return Err(ApiError::new(
            ErrorKind::NotReady,
            "this SM has no routing in force",
            "Ask the master; `ferrosm sms` shows which SM it is.",
        ));
    };
    let run = basis.run();
    let candidates = run.routing.diagnostics.iter().find_map(|d| {
        let Diagnostic::Compared {
            routings,
            best,
            decided_by,
        } = d
        else {
            return None;
        };
        let compared = routings.iter();
        Some(
            compared
                .map(|figures| {
                    let is_installed =
                        figures.engine == *best && figures.vls == basis.proof().vls_used;
                    candidate(figures, is_installed.then_some(*decided_by))
                })
                .collect(),
        )
    });
    let engine_run = fabric.routes.engine_run();
    let switches = run.topo.switches().count() as u64;
    let messages = report.routing_messages.iter();
    Ok(EngineExplanation {
        engine: run.routing.engine.to_owned(),
        configured: basis.engines().to_vec(),
        since: rfc3339(engine_run.map_or(fabric.at, |run| run.since)),
        is_older: engine_run.is_some_and(|run| run.is_older),
        updates: engine_run.map_or(0, |run| run.updates),
        entries_updated: engine_run.map_or(0, |run| run.entries),
        entries: switches * run.topo.destinations().len() as u64,
        busiest_routes: basis.proof().max_load,
        vls: run.routing.vl_plan.vls,
        candidates: candidates.unwrap_or_default(),
        messages: messages
            .filter(|message| message.kind() != "compared")
            .map(ToString::to_string)
            .collect(),
        reroute: computed.map(reroute_of),
    })
}

/// `installed_by` says why this routing is installed; `None` if it is not.
fn candidate(figures: &RoutingFigures, installed_by: Option<DecidedBy>) -> EngineCandidate {
    let verdict = match installed_by {
        None => "not chosen",
        Some(DecidedBy::Load) => "installed: its busiest link carries less",
        Some(DecidedBy::ChangedEntries) => {
            "installed: the load counts as equal, and it changes fewer entries"
        }
        Some(DecidedBy::Vls) => "installed: the load counts as equal, and it uses fewer VLs",
        Some(DecidedBy::Preference) => "installed: everything counts as equal, and it is preferred",
        Some(DecidedBy::OneVl { .. }) => {
            "installed: it uses one VL, and those on several VLs are not clearly better"
        }
    };
    EngineCandidate {
        engine: figures.engine.to_owned(),
        busiest_routes: figures.max_load,
        shift: figures.shift,
        vls: figures.vls,
        changes: figures.changed_entries as u64,
        verdict: verdict.to_owned(),
    }
}
