//! Engine `updn`: up/down routing with automatic roots, free of credit loops on one VL for any
//! connected graph.
//!
//! The switches are placed in an order with one root (see `order`). A path climbs, then descends,
//! and never climbs again. Several orders are tried and the one with the shortest paths between end
//! ports is used, so trees lose no shortest path and tori and random graphs lose few.

use super::Engine;
use crate::messages::{Diagnostic, RouteError, SwitchOrderStrategy};
use crate::paths::balance::dmodc_assignment::DmodcAssignment;
use crate::paths::balance::fill::fill;
use crate::paths::next_hops::cell::{EngineStop, HopCell, with_smallest_cells};
use crate::paths::next_hops::hop_matrix::HopMatrix;
use crate::paths::up_down::order::{Closeness, by_distance, by_levels};
use crate::paths::up_down::ordered;
use crate::request::RoutingRequest;
use crate::routing::Routing;
use crate::structure::tree::{DetectedTree, tree_in};
use crate::topology::SwitchIdx;
use crate::topology::graph::Graph;

/// The `updn` engine; also the fallback if every other engine failed, `nue` included.
#[derive(Debug, Clone, Copy)]
pub(super) struct UpDown;

impl Engine for UpDown {
    fn name(&self) -> &'static str {
        "updn"
    }

    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError> {
        let graph = request.topo.graph().ranked_by(&request.hints.ids);
        graph.check_connected()?;
        let tree = tree_in(request.topo, &graph, request.hints).ok();
        with_smallest_cells(
            || route_in::<u8>(request, &graph, tree.as_ref()),
            || route_in::<u16>(request, &graph, tree.as_ref()),
        )
    }
}

/// An order of the switches and its paths.
struct Candidate<C> {
    strategy: SwitchOrderStrategy,
    order: Vec<usize>,
    matrix: HopMatrix<C>,
    /// Hops of all paths between end ports.
    hops: u64,
}

fn route_in<C: HopCell>(
    request: &RoutingRequest<'_>,
    graph: &Graph,
    tree: Option<&DetectedTree>,
) -> Result<Routing, EngineStop> {
    let topo = request.topo;
    let previous = request.previous;
    let hints = request.hints;
    let (closeness, min_distance) = {
        let shortest = HopMatrix::<C>::shortest(graph)?;
        (Closeness::new(graph, &shortest), shortest.host_hops(graph))
    };
    let has_previous_order = previous.order.iter().any(Option::is_some);
    let strategies = if hints.roots.is_empty() {
        let previous_order = has_previous_order.then_some(SwitchOrderStrategy::Previous);
        let levels = tree.map(|_| SwitchOrderStrategy::Levels);
        previous_order
            .into_iter()
            .chain(levels)
            .chain(SwitchOrderStrategy::FRESH)
            .collect()
    } else {
        vec![SwitchOrderStrategy::Roots]
    };
    let mut best: Option<Candidate<C>> = None;
    for strategy in strategies {
        // A later strategy must be clearly better: nearly every route depends on the order, so
        // small changes of the fabric must not change it.
        if best
            .as_ref()
            .is_some_and(|b| !worse_by_a_percent(b.hops, min_distance))
        {
            break;
        }
        let order = match (strategy, tree) {
            (SwitchOrderStrategy::Levels, Some(tree)) => by_levels(graph, tree),
            (SwitchOrderStrategy::Roots, _) => {
                by_distance(graph, hints.roots.iter().map(|r| r.index()), false)
            }
            _ => closeness.order(graph, strategy, &previous.order),
        };
        let matrix = HopMatrix::up_down(graph, &order)?;
        let hops = matrix.host_hops(graph);
        if best
            .as_ref()
            .is_none_or(|b| worse_by_a_percent(b.hops, hops))
        {
            best = Some(Candidate {
                strategy,
                order,
                matrix,
                hops,
            });
        }
    }
    let Some(Candidate {
        strategy,
        order,
        matrix,
        hops,
    }) = best
    else {
        return Ok(ordered::routing(
            "updn",
            Vec::new(),
            &[],
            Vec::new(),
            Vec::new(),
        ));
    };
    let assignment = tree
        .filter(|_| !ordered::has_balance_hints(hints))
        .map(|tree| DmodcAssignment::new(topo, graph, tree, hints, &matrix));
    let tables = fill(request, graph, &matrix, assignment.as_ref())?;
    let before: &[Option<u32>] = if strategy == SwitchOrderStrategy::Previous {
        &previous.order
    } else {
        &[]
    };
    let mut diagnostics = Vec::new();
    if let Some(&top) = order.first() {
        diagnostics.push(Diagnostic::Order {
            top: SwitchIdx::from_index(top),
            strategy,
        });
    }
    if hops > min_distance {
        diagnostics.push(Diagnostic::LongerPaths {
            hops,
            shortest: min_distance,
            vls: None,
        });
    }
    let stored_positions = positions(&order, before);
    Ok(ordered::routing(
        "updn",
        tables,
        &order,
        stored_positions,
        diagnostics,
    ))
}

/// Position of each switch, to be stored for the next run. Switches keep their position even if a
/// lost link changed the order of this run, so the order returns when the link does.
fn positions(order: &[usize], before: &[Option<u32>]) -> Vec<u32> {
    let mut next = before.iter().flatten().max().map_or(0, |last| last + 1);
    let mut positions = vec![0; order.len()];
    for &v in order {
        positions[v] = before.get(v).copied().flatten().unwrap_or_else(|| {
            next += 1;
            next - 1
        });
    }
    positions
}

fn worse_by_a_percent(hops: u64, than: u64) -> bool {
    u128::from(hops) * 100 > u128::from(than) * 101
}
