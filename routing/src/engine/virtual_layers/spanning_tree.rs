//! A spanning tree for multicast whose dependencies fit into a lane beside the packets that are on it.
//!
//! Packets of any group on a part of the tree go from any of its cables to any other at each switch. A tree by itself
//! has no circle; with the lane's other packets it might, so it grows cable by cable.

use ferrosm_mad::ids::PortNum;

use super::super::graph::Graph;
use crate::channels::{ChannelIndex, Dependency, VirtualLayer, narrow};
use crate::work::{BudgetExceeded, WorkBudget};

/// For each switch the port towards the root, `None` for the root; nothing if no tree was found that fits. The tree's
/// dependencies are in the lane afterwards (some of them also if there is no tree). Switches join in the order given,
/// each at the first possible switch in that order.
pub(crate) fn grow_spanning_tree(
    graph: &Graph,
    index: &ChannelIndex,
    layer: &mut VirtualLayer,
    order: &[usize],
    budget: &WorkBudget,
) -> Result<Option<Vec<Option<PortNum>>>, BudgetExceeded> {
    let mut place = vec![0; graph.len()];
    for (i, &v) in order.iter().enumerate() {
        place[v] = i;
    }
    let mut up = vec![None; graph.len()];
    let mut inside = vec![false; graph.len()];
    // Channels of the tree that leave each switch.
    let mut leaving: Vec<Vec<u32>> = vec![Vec::new(); graph.len()];
    let mut left: Vec<usize> = order.to_vec();
    if let Some(&root) = order.first() {
        inside[root] = true;
        left.remove(0);
    }
    let mut wanted: Vec<Dependency> = Vec::new();
    while !left.is_empty() {
        let before = left.len();
        left.retain(|&v| {
            let mut parents: Vec<usize> = (0..graph.slots(v).len())
                .filter(|&k| inside[graph.slots(v)[k].peer])
                .collect();
            parents.sort_by_key(|&k| place[graph.slots(v)[k].peer]);
            let found = parents.into_iter().find(|&k| {
                let parent = graph.slots(v)[k].peer;
                let (to, from) = (
                    index.first[v] + narrow(k),
                    index.back[graph.first_slot(v) + k],
                );
                wanted.clear();
                for &next in &leaving[parent] {
                    wanted.push((to, next));
                    wanted.push((index.back[next as usize], from));
                }
                layer.admit_within(index, &wanted, budget) == Ok(true)
            });
            let Some(k) = found else { return true };
            let slot = graph.slots(v)[k];
            up[v] = graph.ports(slot).first().map(|&p| PortNum(p));
            inside[v] = true;
            let to = index.first[v] + narrow(k);
            leaving[v].push(to);
            leaving[slot.peer].push(index.back[to as usize]);
            false
        });
        budget.check()?;
        if left.len() == before {
            return Ok(None);
        }
    }
    Ok(Some(up))
}
