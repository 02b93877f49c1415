//! Common part of the engines that route up and down one order of the switches: legal next hops,
//! tables and multicast trees. The engines differ in how they derive the order.

use super::down_up_search::find_down_up_pairs;
use crate::hints::Hints;
use crate::messages::{Diagnostic, RouteError};
use crate::paths::balance::dmodc_assignment::DmodcAssignment;
use crate::paths::balance::fill::fill;
use crate::paths::balance::load_balance::unavoidable_load;
use crate::paths::next_hops::cell::{EngineStop, HopCell, with_smallest_cells};
use crate::paths::next_hops::down_up_pairs::DownUpPairs;
use crate::paths::next_hops::hop_matrix::HopMatrix;
use crate::request::RoutingRequest;
use crate::routing::{Routing, TreeConstraint};
use crate::structure::tree::DetectedTree;
use crate::tables::Tables;
use crate::topology::graph::Graph;
use crate::vl_plan::VlPlan;

/// Routes up and down `order`, which has all switches from the root down. Given a tree,
/// destinations are assigned to its columns by Dmodc. With `vls` above 1, pairs above the leaves of
/// the tree may be routed down and up on VLs of their own.
pub(crate) fn route(
    engine: &'static str,
    request: &RoutingRequest<'_>,
    graph: &Graph,
    order: &[usize],
    tree: Option<&DetectedTree>,
    vls: u8,
    mut diagnostics: Vec<Diagnostic>,
) -> Result<Routing, RouteError> {
    let (tables, down_up) = with_smallest_cells(
        || tables::<u8>(request, graph, order, tree, vls),
        || tables::<u16>(request, graph, order, tree, vls),
    )?;
    diagnostics.extend(down_up.as_ref().map(DownUpPairs::diagnostic));
    let single_vl_routing = routing(engine, tables, order, positions(order), diagnostics);
    Ok(Routing {
        vl_plan: down_up.map_or_else(VlPlan::single, |pairs| pairs.vl_plan()),
        ..single_vl_routing
    })
}

fn tables<C: HopCell>(
    request: &RoutingRequest<'_>,
    graph: &Graph,
    order: &[usize],
    tree: Option<&DetectedTree>,
    vls: u8,
) -> Result<(Tables, Option<DownUpPairs>), EngineStop> {
    let topo = request.topo;
    let mut matrix = HopMatrix::<C>::up_down(graph, order)?;
    if let Some(tree) = tree {
        find_down_up_pairs(graph, tree, vls, unavoidable_load(topo, graph), &mut matrix);
    }
    let assignment =
        tree.map(|tree| DmodcAssignment::new(topo, graph, tree, request.hints, &matrix));
    let tables = fill(request, graph, &matrix, assignment.as_ref())?;
    Ok((tables, matrix.down_up))
}

/// A routing up and down `order`; `stored_order` is the order to store for the next run.
pub(crate) fn routing(
    engine: &'static str,
    tables: Tables,
    order: &[usize],
    stored_order: Vec<u32>,
    diagnostics: Vec<Diagnostic>,
) -> Routing {
    Routing {
        engine,
        tables,
        vl_plan: VlPlan::single(),
        trees: TreeConstraint::Ordered(positions(order)),
        order: Some(stored_order),
        diagnostics,
    }
}

/// Position of each switch in an order.
pub(crate) fn positions(order: &[usize]) -> Vec<u32> {
    let mut positions = vec![0; order.len()];
    for (position, &v) in (0u32..).zip(order) {
        positions[v] = position;
    }
    positions
}

/// Whether hints define how load is counted or in which order ports are used; Dmodc assignment is
/// not used then.
pub(crate) fn has_balance_hints(hints: &Hints) -> bool {
    !hints.routing_order.is_empty()
        || !hints.port_order.is_empty()
        || !hints.load_balance_ignored.is_empty()
}
