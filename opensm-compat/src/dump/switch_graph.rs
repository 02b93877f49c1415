//! Graph of switches, used by the dumps with hop counts.

use std::collections::VecDeque;

use crate::view::FabricView;

/// No path.
pub(super) const UNREACHED: u16 = u16::MAX;

/// Switches in the order of the view, and their neighbours by port.
pub(super) struct SwitchGraph {
    /// By node: its index among the switches.
    pub(super) number: Vec<Option<usize>>,
    /// By switch, then port number: the neighbour switch.
    pub(super) neighbours: Vec<Vec<Option<usize>>>,
}

impl SwitchGraph {
    pub(super) fn new(view: &FabricView) -> Self {
        let mut number = vec![None; view.nodes.len()];
        let mut neighbours = Vec::new();
        for (index, node) in view.nodes.iter().enumerate().filter(|(_, n)| n.is_switch()) {
            number[index] = Some(neighbours.len());
            neighbours.push(vec![None; usize::from(node.num_ports) + 1]);
        }
        for link in &view.links {
            for (from, to) in [(link.a, link.b), (link.b, link.a)] {
                if let (Some(s), Some(t)) = (number[from.node], number[to.node])
                    && let Some(slot) = neighbours[s].get_mut(from.port.index())
                {
                    *slot = Some(t);
                }
            }
        }
        Self { number, neighbours }
    }

    /// Hops from each switch to switch `to`.
    pub(super) fn distances(&self, to: usize) -> Vec<u16> {
        let mut distance = vec![UNREACHED; self.neighbours.len()];
        distance[to] = 0;
        let mut queue = VecDeque::from([to]);
        while let Some(at) = queue.pop_front() {
            for next in self.neighbours[at].iter().copied().flatten() {
                if distance[next] == UNREACHED {
                    distance[next] = distance[at] + 1;
                    queue.push_back(next);
                }
            }
        }
        distance
    }
}
