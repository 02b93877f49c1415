//! Which single loss separates two switches: none does if two ways join them that share no other
//! switch and no link (Menger). Found by the biconnected components of the graph.

use ferrosm_mad::ids::PortNum;

use super::cut_points::{CutPoints, UNSEEN};
use super::multigraph::{Multigraph, Removed};
use crate::topology::{Loss, SwitchIdx, Topology, index_to_u32};

/// What separates two switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separator {
    /// No path joins them.
    Unconnected,
    /// The loss of this switch.
    Switch(SwitchIdx),
    /// The loss of the link at this port.
    Link(SwitchIdx, PortNum),
}

/// A biconnected component: switches that no single loss of another switch separates.
#[derive(Debug, Clone, Copy)]
struct Block {
    /// Position of its first switch in the preorder of the search.
    top: u32,
    /// Position of its second one. All others are below it.
    second: u32,
    /// It is a single link.
    is_bridge: bool,
}

/// The biconnected components of a graph.
#[derive(Debug)]
pub struct DisjointWays {
    cuts: CutPoints,
    ports: Vec<(SwitchIdx, PortNum)>,
    blocks: Vec<Block>,
    /// By position: the component of the link to the parent; `UNSEEN` for the first of a part.
    block_of: Vec<u32>,
}

impl DisjointWays {
    /// The components of a graph.
    #[must_use]
    pub fn find(topo: &Topology) -> Self {
        let graph = Multigraph::new(topo, &Loss::default());
        let cuts = CutPoints::find(&graph, Removed::Nothing);
        let mut blocks = Vec::new();
        let mut block_of = Vec::with_capacity(cuts.visits.len());
        for (at, visit) in (0..).zip(&cuts.visits) {
            block_of.push(if visit.parent == UNSEEN {
                UNSEEN
            } else if cuts.is_separated_by_parent(at) {
                blocks.push(Block {
                    top: visit.parent,
                    second: at,
                    is_bridge: cuts.is_below_bridge(at),
                });
                index_to_u32(blocks.len() - 1)
            } else {
                block_of[visit.parent as usize]
            });
        }
        Self {
            ports: graph.ports,
            cuts,
            blocks,
            block_of,
        }
    }

    /// A single loss, of another switch or of a link between switches, that separates two
    /// switches; `None` if there is none.
    #[must_use]
    pub fn separator(&self, a: SwitchIdx, b: SwitchIdx) -> Option<Separator> {
        if a == b {
            return None;
        }
        let [a, b] = [a, b].map(|s| self.cuts.positions[s.index()]);
        if a == UNSEEN || b == UNSEEN || !self.cuts.are_connected(a, b) {
            return Some(Separator::Unconnected);
        }
        let lower = a.min(b);
        let higher = a.max(b);
        // The first of a part has the lowest position, so the higher one has a parent.
        let number = self.block_of[higher as usize];
        let block = self.blocks[number as usize];
        if block.top == lower || self.block_of[lower as usize] == number {
            let visit = &self.cuts.visits[higher as usize];
            let (s, port) = *self.ports.get(visit.parent_link as usize)?;
            return block.is_bridge.then_some(Separator::Link(s, port));
        }
        let below = block.second..self.cuts.visits[block.second as usize].end;
        let top = match below.contains(&lower) {
            // The component of the lower one hangs at a switch of this component.
            true => self.blocks[self.block_of[lower as usize] as usize].top,
            false => block.top,
        };
        let switch = self.cuts.visits[top as usize].switch;
        Some(Separator::Switch(SwitchIdx(switch)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connectivity::Connectivity;
    use crate::topology::TopologyBuilder;
    use proptest::prelude::*;

    fn graph(switches: usize, links: &[(usize, usize)]) -> Topology {
        let mut builder = TopologyBuilder::new();
        let mut ports = vec![0u8; switches];
        let all: Vec<SwitchIdx> = (1..=switches)
            .map(|lid| builder.switch(60, ferrosm_mad::ids::Lid(u16::try_from(lid).unwrap())))
            .collect();
        for &(a, b) in links.iter().filter(|(a, b)| a != b) {
            let mut end = |s: usize| {
                ports[s] += 1;
                (all[s], PortNum(ports[s]))
            };
            builder.link(end(a), end(b));
        }
        // One end port at each switch, so that parts have a weight.
        for (i, s) in all.iter().enumerate() {
            let lid = ferrosm_mad::ids::Lid(u16::try_from(100 + i).unwrap());
            builder.end_port((*s, PortNum(60)), lid, 1);
        }
        builder.build()
    }

    fn are_joined(topo: &Topology, loss: &Loss, a: SwitchIdx, b: SwitchIdx) -> bool {
        let mut seen = vec![false; topo.num_switches()];
        let mut queue = vec![a];
        while let Some(s) = queue.pop() {
            if core::mem::replace(&mut seen[s.index()], true) {
                continue;
            }
            let links = topo.links(s).iter().filter(|link| !loss.includes(s, link));
            queue.extend(links.map(|link| link.peer));
        }
        seen[b.index()]
    }

    proptest! {
        /// Compared with all single losses, tried one by one.
        #[test]
        fn separators_are_those_of_all_single_losses(
            switches in 2..9usize,
            links in prop::collection::vec((0..8usize, 0..8usize), 0..16),
        ) {
            let within: Vec<(usize, usize)> = links.iter().map(|(a, b)| (a % switches, b % switches)).collect();
            let topo = graph(switches, &within);
            let ways = DisjointWays::find(&topo);
            let mut losses: Vec<Loss> = topo.switches().map(|s| Loss { switches: [s].into(), ..Loss::default() }).collect();
            for s in topo.switches() {
                losses.extend(topo.links(s).iter().map(|link| Loss { links: [(s, link.port)].into(), ..Loss::default() }));
            }
            for a in topo.switches() {
                for b in topo.switches().filter(|b| *b != a) {
                    let is_joined = are_joined(&topo, &Loss::default(), a, b);
                    let mut others = losses.iter().filter(|loss| !loss.switches.contains(&a) && !loss.switches.contains(&b));
                    let is_cut = others.any(|loss| !are_joined(&topo, loss, a, b));
                    let found = ways.separator(a, b);
                    prop_assert_eq!(found == Some(Separator::Unconnected), !is_joined);
                    prop_assert_eq!(found.is_some(), !is_joined || is_cut, "{:?} {:?} {:?}", a, b, found);
                    let loss = match found {
                        None | Some(Separator::Unconnected) => continue,
                        Some(Separator::Switch(s)) => Loss { switches: [s].into(), ..Loss::default() },
                        Some(Separator::Link(s, port)) => Loss { links: [(s, port)].into(), ..Loss::default() },
                    };
                    prop_assert!(!are_joined(&topo, &loss, a, b));
                    prop_assert!(!loss.switches.contains(&a) && !loss.switches.contains(&b));
                }
            }
            prop_assert_eq!(Connectivity::after(&topo, &Loss::default()).cut_off.is_empty(), topo.switches().all(|s| are_joined(&topo, &Loss::default(), SwitchIdx(0), s)));
        }
    }
}
