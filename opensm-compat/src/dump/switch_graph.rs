//! Graph of switches, used by the dumps with hop counts.

use std::collections::VecDeque;

use ferrosm_fabric::snapshot::Snapshot;

/// No path.
pub(super) const UNREACHED: u16 = u16::MAX;

/// Switches in the order of the snapshot, and their neighbours by port.
pub(super) struct SwitchGraph {
    /// Their slots.
    pub(super) switches: Vec<u32>,
    /// By switch, then port number: the neighbour switch.
    pub(super) neighbours: Vec<Vec<Option<usize>>>,
}

impl SwitchGraph {
    pub(super) fn new(snapshot: &Snapshot) -> Self {
        let switches = snapshot.slots().filter(|slot| snapshot.is_switch(*slot));
        let mut graph = Self {
            switches: switches.collect(),
            neighbours: Vec::new(),
        };
        for slot in &graph.switches {
            let mut neighbours = vec![None; snapshot.ports(*slot).len()];
            for (port, peer) in snapshot.linked_ports(*slot) {
                neighbours[port.index()] = graph.number(peer.node());
            }
            graph.neighbours.push(neighbours);
        }
        graph
    }

    /// The index of the switch in a slot.
    pub(super) fn number(&self, slot: u32) -> Option<usize> {
        self.switches.binary_search(&slot).ok()
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
