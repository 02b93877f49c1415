//! What losses cut off, and which end ports have redundancy. Independent of routes.
//!
//! Two end ports are connected if there is a way between their switches. A *part* is a set of
//! connected switches; the part with the most end ports is the *main part*. What is not in it is
//! cut off.
//!
//! An end port has *redundancy* if its switch is at least doubly connected to most others: no
//! single link between switches, and no single switch other than its own, separates it from half or
//! more of the end ports of its part.
//!
//! | module | contents |
//! |---|---|
//! | `multigraph` | switches and links by number, with some of them removed |
//! | `cut_points` | bridges and articulation points, with what they separate |
//! | `certificate` | the few links on which the effect of two losses depends |
//! | [`disjoint`] | the single losses that separate two switches |
//! | [`single_losses`] | the effect of each link and switch |
//! | [`classes`] | switches and links of equal position |

mod certificate;
pub mod classes;
mod cut_points;
pub mod disjoint;
mod multigraph;
pub mod single_losses;

use crate::topology::{Loss, RemainingTopology, SwitchIdx, Topology};
use ferrosm_mad::ids::PortNum;

use cut_points::CutPoints;
use multigraph::{Multigraph, Removed};

/// An end port, by the switch port that it is attached to.
pub type EndPortAt = (SwitchIdx, PortNum);

/// What is connected after a loss.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Connectivity {
    /// Whether each switch is in the main part.
    is_in_main_part: Vec<bool>,
    /// Pairs of end ports that are connected.
    pub connected_pairs: u64,
    /// End ports that are not in the main part, ascending. Those that are lost are included.
    pub cut_off: Vec<EndPortAt>,
    /// Switches that are not in the main part and not lost themselves, ascending.
    pub cut_off_switches: Vec<SwitchIdx>,
    /// End ports of the main part without redundancy, ascending.
    pub without_redundancy: Vec<EndPortAt>,
}

impl Connectivity {
    /// What is connected in a graph after a loss.
    #[must_use]
    pub fn after(topo: &Topology, loss: &Loss) -> Self {
        let graph = Multigraph::new(topo, loss);
        let cuts = CutPoints::find(&graph, Removed::Nothing);
        let mut connectivity = Self {
            connected_pairs: cuts.connected_pairs(),
            ..Self::default()
        };
        for s in topo.switches() {
            let is_lost = loss.switches.contains(&s);
            let is_main = !is_lost && cuts.is_in_main_part(s.index());
            connectivity.is_in_main_part.push(is_main);
            if !is_main && !is_lost {
                connectivity.cut_off_switches.push(s);
            }
            let lacks_redundancy = cuts.lacks_redundancy(s.index());
            for port in topo.end_ports(s).iter().map(|end| end.port) {
                if !is_main || loss.includes_end_port(s, port) {
                    connectivity.cut_off.push((s, port));
                } else if lacks_redundancy {
                    connectivity.without_redundancy.push((s, port));
                }
            }
        }
        connectivity
    }

    /// What is connected in a graph after a change, `whole` being the result with all that is not
    /// lost. End ports are those of the graph before, wherever they are attached now; switches are
    /// numbered as in [`RemainingTopology::switches`].
    #[must_use]
    pub fn after_change(before: &Topology, whole: &RemainingTopology) -> Self {
        let topo = &whole.topology;
        let after = Self::after(topo, &Loss::default());
        let number = |s: &SwitchIdx| whole.switches[s.index()];
        let len = whole.switches.last().map_or(0, |s| s.index() + 1);
        let mut connectivity = Self {
            is_in_main_part: vec![false; len.max(before.num_switches())],
            cut_off_switches: after.cut_off_switches.iter().map(number).collect(),
            ..Self::default()
        };
        for s in topo.switches() {
            connectivity.is_in_main_part[number(&s).index()] = after.is_in_main_part(s);
        }
        let parts = parts(topo);
        let mut members = vec![0; topo.num_switches()];
        for s in before.switches() {
            for end in before
                .end_ports(s)
                .iter()
                .filter(|end| end.lid.is_unicast())
            {
                let at = (s, end.port);
                let Some(now) = topo.destination(end.lid) else {
                    connectivity.cut_off.push(at);
                    continue;
                };
                members[parts[now.switch.index()]] += 1;
                let now = (now.switch, now.port);
                if after.cut_off.binary_search(&now).is_ok() {
                    connectivity.cut_off.push(at);
                } else if after.without_redundancy.binary_search(&now).is_ok() {
                    connectivity.without_redundancy.push(at);
                }
            }
        }
        connectivity.connected_pairs = members.into_iter().map(pairs).sum();
        connectivity
    }

    /// Whether a switch is in the main part.
    #[must_use]
    pub fn is_in_main_part(&self, s: SwitchIdx) -> bool {
        self.is_in_main_part.get(s.index()) == Some(&true)
    }
}

/// By switch: the index of the first switch of its part.
fn parts(topo: &Topology) -> Vec<usize> {
    let mut parts = vec![usize::MAX; topo.num_switches()];
    for first in topo.switches() {
        let mut queue = vec![first];
        while let Some(s) = queue.pop() {
            if parts[s.index()] == usize::MAX {
                parts[s.index()] = first.index();
                queue.extend(topo.links(s).iter().map(|link| link.peer));
            }
        }
    }
    parts
}

/// Unordered pairs of `n` end ports.
const fn pairs(n: u64) -> u64 {
    n * n.saturating_sub(1) / 2
}

#[cfg(test)]
mod tests;
