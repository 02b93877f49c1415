//! Engine `dfsssp`: paths as in `sssp`, on as many virtual layers as deadlock freedom requires
//! (Domke, Hoefler, Nagel: Deadlock-Free Oblivious Routing for Arbitrary Topologies, IPDPS 2011).
//! Load balance has priority; if VLs are scarce, paths with fewer channel dependencies are
//! preferred.

use super::cell::with_smallest_cells;
use super::graph::Graph;
use super::virtual_layers::{Objective, route};
use super::{Engine, RouteError, Routing, RoutingRequest};

/// The `dfsssp` engine.
#[derive(Debug, Clone, Copy)]
pub struct DfSssp;

impl Engine for DfSssp {
    fn name(&self) -> &'static str {
        "dfsssp"
    }

    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError> {
        let graph = Graph::new(request.topo);
        graph.check_connected()?;
        with_smallest_cells(
            || route::<u8>(self.name(), request, &graph, Objective::Balance),
            || route::<u16>(self.name(), request, &graph, Objective::Balance),
        )?
    }
}
