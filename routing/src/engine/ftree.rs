//! The fat-tree engine by OpenSM's name and contract: for pure fat trees, balanced for shift traffic.
//!
//! As there, cables between switches of one level and cable groups of different sizes are refused, unless roots are
//! given; the hosts may be split into compute and I/O ports. Unlike there, roots are found on fabrics with an aggregation
//! node in every switch too, a lost cable is no reason to refuse, and LMC may be more than 0. What routes is the same as
//! in `dmodc`.

use super::graph::Graph;
use super::order::by_levels;
use super::{Engine, Request, RouteError, Routing, ShapeError, ordered};
use crate::hints::Hints;
use crate::notes::{Note, TreeFigures};
use crate::structure::tree::{Tree, tree_in};

/// Levels that a fat tree may have (OpenSM: rank 2 to 8).
const LEVELS: std::ops::RangeInclusive<usize> = 2..=8;

/// The `ftree` engine.
#[derive(Debug, Clone, Copy)]
pub struct FatTree;

impl Engine for FatTree {
    fn name(&self) -> &'static str {
        "ftree"
    }

    fn route(&self, request: &Request<'_>) -> Result<Routing, RouteError> {
        let (topo, hints) = (request.topo, request.hints);
        let graph = Graph::with_ids(topo, &hints.ids);
        graph.check_connected()?;
        let tree = tree_in(topo, &graph, hints).map_err(ShapeError::NotATree)?;
        pure(&graph, &tree, hints)?;
        let mut notes = vec![Note::Tree(TreeFigures::of(&tree))];
        for (name, list) in [("compute", &hints.compute), ("I/O", &hints.io)] {
            if list.as_ref().is_some_and(Vec::is_empty) {
                notes.push(Note::UnusedPortList(name));
            }
        }
        let order = by_levels(&graph, &tree);
        let tree = (Some(&tree), request.usable_vls());
        ordered::route(self.name(), request, &graph, &order, tree, notes)
    }
}

/// Whether the tree is a pure one, except for what was lost.
fn pure(graph: &Graph, tree: &Tree, hints: &Hints) -> Result<(), ShapeError> {
    if !LEVELS.contains(&tree.levels()) {
        return Err(ShapeError::LevelCount {
            levels: tree.levels(),
            least: *LEVELS.start(),
            most: *LEVELS.end(),
        });
    }
    if !hints.roots.is_empty() {
        return Ok(());
    }
    if tree.level_cables > 0 {
        return Err(ShapeError::LinksWithinLevel(tree.level_cables));
    }
    for v in 0..graph.len() {
        for slot in graph.slots(v) {
            let (low, high) = (tree.rank[v], tree.rank[slot.peer]);
            if high > low + 1 {
                return Err(ShapeError::LinkSkipsLevel { low, high });
            }
            let (links, usual) = (graph.ports(*slot).len(), tree.cables[low as usize]);
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
