//! Engine `dnup`: up/down routing with ranks counted from the switches with hosts, for fabrics
//! where some hosts are attached closer to the roots than some switches are.
//!
//! The rank of a switch is its distance to the nearest switch with hosts. As in `updn`, one order
//! of all switches defines up and down, so every pair is connected without credit loops, even among
//! switches of equal rank.

use super::Engine;
use crate::messages::{Diagnostic, RouteError};
use crate::paths::up_down::order::by_distance;
use crate::paths::up_down::ordered;
use crate::request::RoutingRequest;
use crate::routing::Routing;
use crate::structure::tree::{switches_with_hosts, tree_in};

/// The `dnup` engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct DownUp;

impl Engine for DownUp {
    fn name(&self) -> &'static str {
        "dnup"
    }

    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError> {
        let topo = request.topo;
        let hints = request.hints;
        let graph = topo.graph().ranked_by(&hints.ids);
        graph.check_connected()?;
        let bottom = switches_with_hosts(topo);
        let diagnostics = vec![Diagnostic::LowestLevel(bottom.len())];
        let order = by_distance(&graph, bottom.into_iter(), true);
        let tree = tree_in(topo, &graph, hints)
            .ok()
            .filter(|_| !ordered::has_balance_hints(hints));
        ordered::route(
            self.name(),
            request,
            &graph,
            &order,
            tree.as_ref(),
            1,
            diagnostics,
        )
    }
}
