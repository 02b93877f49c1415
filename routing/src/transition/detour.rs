//! Old and new entries in force together where few of them differ: what that adds to dependencies that were proven for
//! the new tables, without a walk over all switches.

use std::collections::BTreeMap;

use crate::channels::PortChannels;
use crate::tables::Lft;
use crate::topology::{Destination, SwitchIdx, Topology};

/// Both tables in one fabric.
pub(super) struct Both<'a> {
    pub(super) topo: &'a Topology,
    pub(super) ports: &'a PortChannels,
    pub(super) old: &'a [&'a Lft],
    pub(super) new: &'a [&'a Lft],
}

/// A packet on a channel, the one that it waits for, and the VL of both.
pub(super) type Wait = (usize, usize, u8);

impl Both<'_> {
    /// Ports by which a switch may send, those that lead to switches.
    fn ways(&self, v: usize, d: &Destination) -> impl Iterator<Item = (u8, usize)> + '_ {
        let (was, is) = (self.old[v].get(d.lid).raw(), self.new[v].get(d.lid).raw());
        let here = v != d.switch.index();
        let second = (was != is).then_some(is);
        [Some(was), second]
            .into_iter()
            .flatten()
            .filter(move |_| here)
            .filter_map(move |port| Some((port, self.ports.peer(v, port)?.0)))
    }

    /// What packets for a LID may wait for at the switches that change, and around them; false if they may go round. Their
    /// VL is always the same.
    pub(super) fn waits(
        &self,
        d: &Destination,
        vl: u8,
        changed: &[usize],
        waits: &mut Vec<Wait>,
    ) -> bool {
        for &c in changed {
            for (port, next) in self.ways(c, d) {
                let first = self.ports.at(c, port);
                let then = self.ways(next, d);
                waits.extend(then.map(|(out, _)| (first, self.ports.at(next, out), vl)));
            }
            for link in self.topo.links(SwitchIdx::at(c)) {
                let u = link.peer.index();
                if self.ways(u, d).any(|(p, _)| p == link.peer_port.raw()) {
                    let first = self.ports.at(u, link.peer_port.raw());
                    let then = self.ways(c, d);
                    waits.extend(then.map(|(out, _)| (first, self.ports.at(c, out), vl)));
                }
            }
        }
        !self.goes_round(d, changed)
    }

    /// Whether packets may come again to where they were: then to a switch that changes too.
    fn goes_round(&self, d: &Destination, changed: &[usize]) -> bool {
        // Whether all ways from a switch were followed to their ends; false while they are.
        let mut followed: BTreeMap<usize, bool> = BTreeMap::new();
        for &c in changed {
            let mut stack: Vec<(usize, bool)> = vec![(c, false)];
            while let Some((v, leave)) = stack.pop() {
                if leave {
                    followed.insert(v, true);
                    continue;
                }
                match followed.get(&v) {
                    Some(true) => continue,
                    // It is on the way that is being followed: who was only put aside has no entry.
                    Some(false) => return true,
                    None => {}
                }
                followed.insert(v, false);
                stack.push((v, true));
                stack.extend(self.ways(v, d).map(|(_, next)| (next, false)));
            }
        }
        false
    }
}
