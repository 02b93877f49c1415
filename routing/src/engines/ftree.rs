//! Engine `ftree`: counterpart of OpenSM's engine of this name, for pure fat trees, balanced for
//! shift traffic.
//!
//! Like OpenSM, it rejects links within a level and parallel link groups of unequal size, unless
//! roots are configured, and it supports compute and I/O port lists. Unlike OpenSM, it detects
//! roots if every switch has an aggregation node, it accepts missing links, and it supports LMC
//! above 0. Paths are computed as in `dmodc`.

use super::Engine;
use crate::hints::Hints;
use crate::messages::{Diagnostic, RouteError, ShapeError, TreeFigures};
use crate::paths::up_down::order::by_levels;
use crate::paths::up_down::ordered;
use crate::request::RoutingRequest;
use crate::routing::Routing;
use crate::structure::tree::{DetectedTree, tree_in};
use crate::topology::graph::Graph;

/// Number of levels of a fat tree (OpenSM: rank 2 to 8).
const LEVELS: std::ops::RangeInclusive<usize> = 2..=8;

/// The `ftree` engine.
#[derive(Debug, Clone, Copy)]
pub(super) struct FatTree;

impl Engine for FatTree {
    fn name(&self) -> &'static str {
        "ftree"
    }

    fn route(&self, request: &RoutingRequest<'_>) -> Result<Routing, RouteError> {
        let topo = request.topo;
        let hints = request.hints;
        let graph = topo.graph().ranked_by(&hints.ids);
        graph.check_connected()?;
        let tree = tree_in(topo, &graph, hints).map_err(ShapeError::NotATree)?;
        check_pure(&graph, &tree, hints)?;
        let mut diagnostics = vec![Diagnostic::Tree(TreeFigures::from_tree(&tree))];
        for (name, list) in [("compute", &hints.compute_ports), ("I/O", &hints.io)] {
            if list.as_ref().is_some_and(Vec::is_empty) {
                diagnostics.push(Diagnostic::UnusedPortList(name));
            }
        }
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

/// Checks that the tree is a pure fat tree, apart from missing links.
fn check_pure(graph: &Graph, tree: &DetectedTree, hints: &Hints) -> Result<(), ShapeError> {
    if !LEVELS.contains(&tree.levels()) {
        return Err(ShapeError::LevelCount {
            levels: tree.levels(),
            min: *LEVELS.start(),
            max: *LEVELS.end(),
        });
    }
    if !hints.roots.is_empty() {
        return Ok(());
    }
    if tree.level_links > 0 {
        return Err(ShapeError::LinksWithinLevel(tree.level_links));
    }
    for v in 0..graph.len() {
        for slot in graph.slots(v) {
            let low = tree.rank[v];
            let high = tree.rank[slot.peer];
            if high > low + 1 {
                return Err(ShapeError::LinkSkipsLevel { low, high });
            }
            let links = graph.ports(*slot).len();
            let usual = tree.parallel_links[low as usize];
            if high == low + 1 && links > usual as usize {
                return Err(ShapeError::UnequalLinkGroups {
                    low,
                    high,
                    links,
                    usual,
                });
            }
        }
    }
    Ok(())
}
