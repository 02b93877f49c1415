//! Where the switches are in the detected structure, for drawings: groups, and an order in which
//! switches that belong together are adjacent.

use super::dragonfly::{Dragonfly, dragonfly};
use super::grid::{Grid, grid};
use super::tree::{DetectedTree, tree};
use crate::hints::Hints;
use crate::topology::{SwitchIdx, Topology};

/// The structure of a fabric. The first that fits, in the order of the automatic choice of engines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DetectedStructure {
    /// A tree.
    Tree(DetectedTree),
    /// A torus, mesh, hypercube or HyperX.
    Grid(Grid),
    /// A dragonfly or dragonfly+.
    Dragonfly(Dragonfly),
    /// None of these.
    Unknown,
}

/// The structure, and the places of the switches in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The structure.
    pub structure: DetectedStructure,
    /// Group of each switch: the subtree below the highest level of a tree with three or more
    /// levels, or the group of a dragonfly. `None`: it belongs to none.
    pub group: Vec<Option<usize>>,
    /// All switches: by level, then by group, then as their neighbours are.
    pub order: Vec<SwitchIdx>,
}

/// Detects the structure of a fabric.
#[must_use]
pub fn placement(topo: &Topology, hints: &Hints) -> Placement {
    let structure = match tree(topo, hints) {
        Ok(tree) => DetectedStructure::Tree(tree),
        Err(_) => match grid(topo, hints) {
            Ok(grid) => DetectedStructure::Grid(grid),
            Err(_) => match dragonfly(topo) {
                Ok(dragonfly) => DetectedStructure::Dragonfly(dragonfly),
                Err(_) => DetectedStructure::Unknown,
            },
        },
    };
    let none = vec![None; topo.num_switches()];
    let mut order: Vec<SwitchIdx> = topo.switches().collect();
    let group = match &structure {
        DetectedStructure::Tree(tree) => {
            let group = subtrees(topo, tree);
            let place = leaf_places(topo, tree);
            order.sort_by_key(|s| {
                let i = s.index();
                let in_group = group[i].unwrap_or(usize::MAX);
                (tree.rank[i], in_group, place[i], tree.column[i], *s)
            });
            group
        }
        DetectedStructure::Dragonfly(dragonfly) => {
            order.sort_by_key(|s| (dragonfly.group_of[s.index()], *s));
            dragonfly.group_of.iter().copied().map(Some).collect()
        }
        DetectedStructure::Grid(_) | DetectedStructure::Unknown => none,
    };
    Placement {
        structure,
        group,
        order,
    }
}

/// Place of each leaf in the order of the tree; of other switches, the number of leaves.
fn leaf_places(topo: &Topology, tree: &DetectedTree) -> Vec<usize> {
    let mut place = vec![tree.leaves.len(); topo.num_switches()];
    for (i, leaf) in tree.leaves.iter().enumerate() {
        place[leaf.index()] = i;
    }
    place
}

/// The subtree of each switch: the switches that are connected without the highest level, numbered
/// in the order of their leaves. A tree of fewer than three levels, or of one subtree, has none.
fn subtrees(topo: &Topology, tree: &DetectedTree) -> Vec<Option<usize>> {
    let mut group = vec![None; topo.num_switches()];
    let Some(top) = tree.levels().checked_sub(1).filter(|top| *top >= 2) else {
        return group;
    };
    let is_below = |s: SwitchIdx| (tree.rank[s.index()] as usize) < top;
    let starts = tree.leaves.iter().copied().chain(topo.switches());
    let mut groups = 0;
    for start in starts {
        if !is_below(start) || group[start.index()].is_some() {
            continue;
        }
        group[start.index()] = Some(groups);
        let mut pending = vec![start];
        while let Some(s) = pending.pop() {
            let ports = (1..=topo.num_ports(s)).map(ferrosm_mad::ids::PortNum);
            for (peer, _) in ports.filter_map(|port| topo.neighbor(s, port)) {
                if is_below(peer) && group[peer.index()].is_none() {
                    group[peer.index()] = Some(groups);
                    pending.push(peer);
                }
            }
        }
        groups += 1;
    }
    if groups == 1 {
        group.fill(None);
    }
    group
}
