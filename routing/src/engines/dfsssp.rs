//! Engine `dfsssp`: paths as in `sssp`, on as many virtual layers as deadlock freedom requires
//! (Domke, Hoefler, Nagel: Deadlock-Free Oblivious Routing for Arbitrary Topologies, IPDPS 2011).
//! Load balance has priority; if VLs are scarce, paths with fewer channel dependencies are
//! preferred.

use super::Engine;
use crate::messages::RouteError;
use crate::paths::next_hops::cell::with_smallest_cells;
use crate::paths::virtual_layers::{Objective, route};
use crate::request::RoutingRequest;
use crate::routing::Routing;

/// The `dfsssp` engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct DfSssp;

impl Engine for DfSssp {
    fn name(&self) -> &'static str {
        "dfsssp"
    }

    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError> {
        let graph = request.topo.graph();
        graph.check_connected()?;
        with_smallest_cells(
            || route::<u8>(self.name(), request, graph, Objective::Balance),
            || route::<u16>(self.name(), request, graph, Objective::Balance),
        )?
    }
}
