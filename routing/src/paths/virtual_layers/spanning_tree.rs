//! Spanning tree for multicast whose dependencies fit into a virtual layer.
//!
//! At each switch, packets of a group on the tree travel from any of its links to any other. The
//! tree alone is acyclic; together with the other packets of the layer it might not be, so it grows
//! link by link.

use ferrosm_mad::ids::PortNum;

use crate::channels::{Dependency, VirtualLayer};
use crate::topology::graph::Graph;
use crate::topology::{ChannelIndex, index_to_u32};
use crate::work::{BudgetExceeded, WorkBudget};

/// Grows a spanning tree. Returns each switch's port towards the root (`None` for the root), or
/// `None` if no tree fits. Afterwards the layer includes the dependencies of the tree, or some of
/// them if there is none. Switches join in the given order, each at the first switch that fits.
pub(crate) fn grow_spanning_tree(
    graph: &Graph,
    index: &ChannelIndex,
    layer: &mut VirtualLayer,
    order: &[usize],
    budget: &WorkBudget,
) -> Result<Option<Vec<Option<PortNum>>>, BudgetExceeded> {
    let mut position = vec![0; graph.len()];
    for (i, &v) in order.iter().enumerate() {
        position[v] = i;
    }
    let mut up = vec![None; graph.len()];
    let mut inside = vec![false; graph.len()];
    // Channels of the tree by the switch that they leave.
    let mut leaving: Vec<Vec<u32>> = vec![Vec::new(); graph.len()];
    let mut remaining: Vec<usize> = order.to_vec();
    if let Some(&root) = order.first() {
        inside[root] = true;
        remaining.remove(0);
    }
    let mut dependencies: Vec<Dependency> = Vec::new();
    while !remaining.is_empty() {
        let before = remaining.len();
        remaining.retain(|&v| {
            let mut parents: Vec<usize> = (0..graph.slots(v).len())
                .filter(|&k| inside[graph.slots(v)[k].peer])
                .collect();
            parents.sort_by_key(|&k| position[graph.slots(v)[k].peer]);
            let parent = parents.into_iter().find(|&k| {
                let parent = graph.slots(v)[k].peer;
                let to = index.first[v] + index_to_u32(k);
                let from = index.reverse[graph.first_slot(v) + k];
                dependencies.clear();
                for &next in &leaving[parent] {
                    dependencies.push((to, next));
                    dependencies.push((index.reverse[next as usize], from));
                }
                layer.admit_within(index, &dependencies, budget) == Ok(true)
            });
            let Some(k) = parent else { return true };
            let slot = graph.slots(v)[k];
            up[v] = graph.ports(slot).first().map(|&p| PortNum(p));
            inside[v] = true;
            let to = index.first[v] + index_to_u32(k);
            leaving[v].push(to);
            leaving[slot.peer].push(index.reverse[to as usize]);
            false
        });
        budget.check()?;
        if remaining.len() == before {
            return Ok(None);
        }
    }
    Ok(Some(up))
}
