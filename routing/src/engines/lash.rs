//! Engine `lash`: shortest paths, with each pair of switches on the first virtual layer that stays
//! acyclic (Skeie, Lysne, Theiss: Layered Shortest Path Routing in Irregular System Area Networks,
//! IPDPS 2002). Few VLs have priority; if the paths with the best balance need only one VL, they
//! are used.

use super::Engine;
use crate::messages::RouteError;
use crate::paths::next_hops::cell::with_smallest_cells;
use crate::paths::virtual_layers::{Objective, route};
use crate::request::RoutingRequest;
use crate::routing::Routing;

/// The `lash` engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lash;

impl Engine for Lash {
    fn name(&self) -> &'static str {
        "lash"
    }

    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError> {
        let graph = request.topo.graph();
        graph.check_connected()?;
        with_smallest_cells(
            || route::<u8>(self.name(), request, graph, Objective::FewVls),
            || route::<u16>(self.name(), request, graph, Objective::FewVls),
        )?
    }
}
