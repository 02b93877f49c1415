//! Multicast tree of a grid: the parent of every switch is its next hop towards the root in
//! dimension order.
//!
//! Upwards, the turns of such a tree are those of unicast packets. Downwards they are reversed, but
//! only in the lines through the root, and a credit loop would need such turns elsewhere too. From
//! a root in the middle of the grid, no branch of a ring crosses the dateline. This holds for
//! complete grids; in others each tree is checked together with the routes.

use ferrosm_mad::ids::PortNum;

use super::coordinates::GridCoordinates;
use super::credit_loops::{CreditLoopCheck, SpanningTree, VlRule};
use super::paths::GridPaths;
use crate::routing::TreeConstraint;
use crate::topology::graph::Graph;

/// Maximum number of roots tried.
const ROOTS_MAX: usize = 12;

/// Slots towards the root, by switch.
pub(crate) type Up = Vec<Option<usize>>;

/// A tree on SL 0 that is compatible with the routes. Complete grids need no `check`.
pub(crate) fn compatible_tree<R: VlRule>(
    graph: &Graph,
    coordinates: &GridCoordinates,
    paths: &GridPaths,
    check: Option<(&CreditLoopCheck<'_>, &R)>,
) -> Option<Up> {
    let roots = roots(graph, coordinates);
    let safe = |up: &Up| {
        check.is_none_or(|(check, rule)| check.is_acyclic_with(SpanningTree { up, sl: 0 }, rule))
    };
    roots
        .into_iter()
        .take(ROOTS_MAX)
        .map(|root| toward(graph, paths, root))
        .find(safe)
}

/// The tree of the most central switch, for a VL of its own.
pub(crate) fn central_tree(
    graph: &Graph,
    coordinates: &GridCoordinates,
    paths: &GridPaths,
) -> Option<Up> {
    let root = roots(graph, coordinates).into_iter().next()?;
    Some(toward(graph, paths, root))
}

/// The spanning tree as a constraint for the multicast trees.
pub(crate) fn constraint(graph: &Graph, up: &Up, sl: u8) -> TreeConstraint {
    let port = |(v, k): (usize, &Option<usize>)| {
        let slot = graph.slots(v).get((*k)?)?;
        graph.ports(*slot).first().copied().map(PortNum)
    };
    TreeConstraint::Within {
        up: up.iter().enumerate().map(port).collect(),
        sl,
    }
}

fn toward(graph: &Graph, paths: &GridPaths, root: usize) -> Up {
    (0..graph.len())
        .map(|v| paths.slot(v, root).filter(|_| v != root))
        .collect()
}

/// Switches by their distance from the middle of the grid.
fn roots(graph: &Graph, coordinates: &GridCoordinates) -> Vec<usize> {
    let mut roots: Vec<usize> = (0..graph.len()).collect();
    roots.sort_by_key(|&s| {
        let distance: usize = coordinates
            .axes
            .iter()
            .enumerate()
            .map(|(i, axis)| (2 * coordinates.along(s, i)).abs_diff(axis.size - axis.size % 2))
            .sum();
        (distance, graph.lid_rank[s])
    });
    roots
}
