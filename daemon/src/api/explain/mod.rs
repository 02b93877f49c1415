//! Why something in the subnet is as it is: routes, the engine, sweeps, nodes, ports and alarms.

mod alarm;
mod engine;
mod object;
mod route;

pub(super) use alarm::alarm;
pub(super) use engine::engine;
pub(super) use object::ObjectSources;
pub(super) use route::route;

use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::change::{Change, ChangeQuery};
use ferrosm_api::explain::{Reroute, SweepExplanation, SweepQuery};

use super::changes::ChangeLog;
use super::sweep_log::SweepLog;
use super::what_if::ComputedRoutes;

/// Changes that an explanation lists.
const CHANGES_SHOWN: usize = 20;

/// A sweep.
pub(super) fn sweep(sweeps: &SweepLog, query: &SweepQuery) -> Result<SweepExplanation, ApiError> {
    let found = sweeps.get(query.number);
    found.map(|sweep| SweepExplanation::clone(&sweep)).ok_or_else(|| {
        let message = match query.number {
            Some(number) => format!("sweep {number} is not remembered"),
            None => "no sweep is complete yet".to_owned(),
        };
        let remedy = "The last 256 sweeps since the start are remembered; `ferrosm changes` names sweeps that wrote something.";
        ApiError::new(ErrorKind::NotFound, message, remedy)
    })
}

/// The last changes that concern a node, by its GUID.
fn changes_of(changes: &ChangeLog, node: &str) -> Vec<Change> {
    let query = ChangeQuery {
        node: Some(node.to_owned()),
        limit: Some(CHANGES_SHOWN),
        ..ChangeQuery::default()
    };
    let selected = changes.select(&query, std::time::SystemTime::now());
    selected.map_or_else(|_| Vec::new(), |changes| changes.items)
}

/// What computing the routes anew would change.
fn reroute_of(computed: &ComputedRoutes) -> Reroute {
    match computed {
        Ok(routes) => Reroute {
            engine: Some(routes.run.routing.engine.to_owned()),
            entries_moved: routes.changes.entries_moved,
            busiest_routes: routes.proof.max_load,
            failure: None,
        },
        Err(failure) => Reroute {
            engine: None,
            entries_moved: 0,
            busiest_routes: 0,
            failure: Some(failure.to_string()),
        },
    }
}
