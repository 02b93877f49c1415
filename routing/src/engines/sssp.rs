//! Engine `sssp`: shortest paths over the channels with the fewest routes so far. Gives the best
//! load balance on irregular topologies but does not prevent credit loops: suitable for trees,
//! rejected by verification on rings and tori (use `dfsssp` there).

use super::Engine;
use crate::messages::RouteError;
use crate::paths::next_hops::cell::{EngineStop, HopCell, with_smallest_cells};
use crate::paths::next_hops::hop_matrix::HopMatrix;
use crate::paths::virtual_layers::{SingleVl, route_on_one_vl};
use crate::request::RoutingRequest;
use crate::routing::{Routing, TreeConstraint};
use crate::topology::graph::Graph;
use crate::vl_plan::VlPlan;

/// The `sssp` engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sssp;

impl Engine for Sssp {
    fn name(&self) -> &'static str {
        "sssp"
    }

    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError> {
        let graph = request.topo.graph();
        graph.check_connected()?;
        with_smallest_cells(
            || route_in::<u8>(request, graph),
            || route_in::<u16>(request, graph),
        )
    }
}

fn route_in<C: HopCell>(
    request: &RoutingRequest<'_>,
    graph: &Graph,
) -> Result<Routing, EngineStop> {
    let matrix = HopMatrix::<C>::shortest(graph)?;
    let (lid_trees, trees) = match route_on_one_vl(request, graph, &matrix)? {
        SingleVl::Fits(lid_trees, trees) => (lid_trees, trees),
        SingleVl::DoesNotFit(lid_trees) => (lid_trees, TreeConstraint::Search),
    };
    Ok(Routing {
        engine: "sssp",
        tables: lid_trees.tables(request.topo, request.previous),
        vl_plan: VlPlan::single(),
        order: None,
        trees,
        diagnostics: Vec::new(),
    })
}
