//! Switches and the links between them by number; parallel links are separate.

use crate::topology::{Loss, SwitchIdx, Topology, index_to_u32};
use ferrosm_mad::ids::PortNum;

/// A graph of switches with the number of end ports of each.
#[derive(Debug, Clone, Default)]
pub(super) struct Multigraph {
    /// End ports by switch.
    pub(super) weights: Vec<u64>,
    /// Whether each switch is there.
    pub(super) is_present: Vec<bool>,
    /// Both switches of each link.
    pub(super) links: Vec<(u32, u32)>,
    /// One port of each link.
    pub(super) ports: Vec<(SwitchIdx, PortNum)>,
    first: Vec<usize>,
    /// Peer and link, by switch.
    neighbours: Vec<(u32, u32)>,
}

/// What is removed from a graph in addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removed {
    Nothing,
    Link(u32),
    Switch(u32),
}

impl Multigraph {
    /// The graph after a loss. Switches keep their numbers.
    pub(super) fn new(topo: &Topology, loss: &Loss) -> Self {
        let mut links = Vec::new();
        let mut ports = Vec::new();
        for s in topo.switches() {
            for link in topo.links(s) {
                let is_first_end = (s, link.port) < (link.peer, link.peer_port);
                if is_first_end && !loss.includes(s, link) {
                    links.push((s.0, link.peer.0));
                    ports.push((s, link.port));
                }
            }
        }
        let present_end_ports = |s: SwitchIdx| {
            let ends = topo.end_ports(s).iter();
            ends.filter(|end| !loss.includes_end_port(s, end.port))
                .count() as u64
        };
        let weights = topo.switches().map(present_end_ports).collect();
        let is_present = topo.switches().map(|s| !loss.switches.contains(&s));
        Self {
            ports,
            ..Self::with_links(weights, is_present.collect(), links)
        }
    }

    /// The graph with these links.
    pub(super) fn with_links(
        weights: Vec<u64>,
        is_present: Vec<bool>,
        links: Vec<(u32, u32)>,
    ) -> Self {
        let mut first = vec![0; weights.len() + 1];
        for &(a, b) in &links {
            first[a as usize + 1] += 1;
            first[b as usize + 1] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        let mut next = first.clone();
        let mut neighbours = vec![(0, 0); 2 * links.len()];
        for (number, &(a, b)) in links.iter().enumerate() {
            for (at, peer) in [(a, b), (b, a)] {
                neighbours[next[at as usize]] = (peer, index_to_u32(number));
                next[at as usize] += 1;
            }
        }
        Self {
            weights,
            is_present,
            links,
            ports: Vec::new(),
            first,
            neighbours,
        }
    }

    /// Number of switches, with those that are not there.
    pub(super) fn len(&self) -> usize {
        self.weights.len()
    }

    /// Peers of a switch, with the numbers of the links.
    pub(super) fn neighbours(&self, s: usize) -> &[(u32, u32)] {
        &self.neighbours[self.first[s]..self.first[s + 1]]
    }
}
