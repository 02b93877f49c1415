//! Engine `dmodc`: fat-tree routing for degraded trees. Routes any PGFT with missing or extra
//! switches and links, and with switches behind its leaves.
//!
//! The levels of the tree give an up/down order of all switches, which is free of credit loops and
//! connects every pair, even if the only remaining path leads through a leaf. Among the legal next
//! hops, destinations are assigned by their number in the order of leaves (see `dmodc_assignment`).
//! After Gliksberg and others (Dmodc, 2020).
//!
//! One VL is enough while end ports are attached to leaves. If many are attached above (an
//! aggregation node in every switch), their traffic among each other would overload the few leaves
//! at which the order lets it turn. Such pairs are then routed down and up on VLs of their own, if
//! available (see `down_up_search`): 2 VLs for trees of two levels, 3 for trees of three.

use super::Engine;
use crate::messages::{Diagnostic, RouteError, ShapeError, TreeFigures};
use crate::paths::up_down::order::by_levels;
use crate::paths::up_down::ordered;
use crate::request::RoutingRequest;
use crate::routing::Routing;
use crate::structure::tree::tree_in;

/// The `dmodc` engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dmodc;

impl Engine for Dmodc {
    fn name(&self) -> &'static str {
        "dmodc"
    }

    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError> {
        let graph = request.topo.graph().ranked_by(&request.hints.ids);
        graph.check_connected()?;
        let tree = tree_in(request.topo, &graph, request.hints).map_err(ShapeError::NotATree)?;
        let diagnostics = vec![Diagnostic::Tree(TreeFigures::from_tree(&tree))];
        let order = by_levels(&graph, &tree);
        ordered::route(
            self.name(),
            request,
            &graph,
            &order,
            Some(&tree),
            request.usable_vls(),
            diagnostics,
        )
    }
}
