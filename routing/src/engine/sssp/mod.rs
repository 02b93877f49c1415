//! Engine `sssp`: shortest paths over the channels with the fewest routes so far. Gives the best
//! load balance on irregular topologies but does not prevent credit loops: suitable for trees,
//! rejected by verification on rings and tori (use `dfsssp` there).

mod lid_trees;
mod weigh;

pub(crate) use lid_trees::LidTrees;
pub(crate) use weigh::{Granularity, PathPreference, weigh_lids};

use super::cell::{EngineStop, HopCell, with_smallest_cells};
use super::graph::Graph;
use super::hop_matrix::HopMatrix;
use super::virtual_layers::{SingleVl, route_on_one_vl};
use super::{Engine, RouteError, Routing, RoutingRequest, TreeConstraint};
use crate::vl_plan::VlPlan;

/// The `sssp` engine.
#[derive(Debug, Clone, Copy)]
pub struct Sssp;

impl Engine for Sssp {
    fn name(&self) -> &'static str {
        "sssp"
    }

    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError> {
        let graph = Graph::new(request.topo);
        graph.check_connected()?;
        with_smallest_cells(
            || route_in::<u8>(request, &graph),
            || route_in::<u16>(request, &graph),
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
