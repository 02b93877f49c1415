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
                .map(|figures| candidate(figures, best, *decided_by))
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

fn candidate(figures: &RoutingFigures, best: &str, decided_by: DecidedBy) -> EngineCandidate {
    let decided = match decided_by {
        DecidedBy::Load => "its busiest link carries less",
        DecidedBy::ChangedEntries => "the load counts as equal, and it changes fewer entries",
        DecidedBy::Vls => "the load counts as equal, and it uses fewer VLs",
        DecidedBy::Preference => "everything counts as equal, and it is preferred",
    };
    let verdict = match figures.engine == best {
        true => format!("installed: {decided}"),
        false => "not chosen".to_owned(),
    };
    EngineCandidate {
        engine: figures.engine.to_owned(),
        busiest_routes: figures.max_load,
        shift: figures.shift,
        vls: figures.vls,
        changes: figures.changed_entries as u64,
        verdict,
    }
}
