//! Dependencies that mixed old and new entries add to the verified dependencies of the new tables,
//! if few entries differ.
//!
//! Evaluates only the switches with changed entries and their neighbours.

use std::collections::BTreeMap;

use crate::tables::Lft;
use crate::topology::PortChannels;
use crate::topology::{Destination, SwitchIdx, Topology};

/// Old and new tables of one fabric.
pub(super) struct MixedTables<'a> {
    pub(super) topo: &'a Topology,
    pub(super) ports: &'a PortChannels,
    pub(super) old: &'a [&'a Lft],
    pub(super) new: &'a [&'a Lft],
}

/// A dependency: two channels and their VL.
pub(super) type ChannelDependency = (usize, usize, u8);

impl MixedTables<'_> {
    /// Output ports for a LID by the old and new tables, with the next switch.
    fn next_hops(&self, v: usize, d: &Destination) -> impl Iterator<Item = (u8, usize)> + '_ {
        let old_port = self.old[v].get(d.lid).raw();
        let new_port = self.new[v].get(d.lid).raw();
        let is_remote = v != d.switch.index();
        let second = (old_port != new_port).then_some(new_port);
        [Some(old_port), second]
            .into_iter()
            .flatten()
            .filter(move |_| is_remote)
            .filter_map(move |port| Some((port, self.ports.peer(v, port)?.0)))
    }

    /// Appends the dependencies of packets for a LID at the changed switches and their neighbours.
    /// Returns false if the packets may loop. All packets for the LID use `vl`.
    pub(super) fn add_dependencies(
        &self,
        d: &Destination,
        vl: u8,
        changed: &[usize],
        dependencies: &mut Vec<ChannelDependency>,
    ) -> bool {
        for &c in changed {
            for (port, next) in self.next_hops(c, d) {
                let first = self.ports.output_channel(c, port);
                let next_hops = self.next_hops(next, d);
                dependencies.extend(
                    next_hops.map(|(out, _)| (first, self.ports.output_channel(next, out), vl)),
                );
            }
            for link in self.topo.links(SwitchIdx::from_index(c)) {
                let u = link.peer.index();
                if self.next_hops(u, d).any(|(p, _)| p == link.peer_port.raw()) {
                    let first = self.ports.output_channel(u, link.peer_port.raw());
                    let next_hops = self.next_hops(c, d);
                    dependencies.extend(
                        next_hops.map(|(out, _)| (first, self.ports.output_channel(c, out), vl)),
                    );
                }
            }
        }
        !self.may_loop(d, changed)
    }

    /// Whether packets may return to a switch. If so, a changed switch is on the loop.
    fn may_loop(&self, d: &Destination, changed: &[usize]) -> bool {
        // Whether all routes from a switch were followed to their ends; false while they are being
        // followed.
        let mut followed: BTreeMap<usize, bool> = BTreeMap::new();
        for &c in changed {
            let mut stack: Vec<(usize, bool)> = vec![(c, false)];
            while let Some((v, is_finished)) = stack.pop() {
                if is_finished {
                    followed.insert(v, true);
                    continue;
                }
                match followed.get(&v) {
                    Some(true) => continue,
                    // The switch is on the route that is being followed.
                    Some(false) => return true,
                    None => {}
                }
                followed.insert(v, false);
                stack.push((v, true));
                stack.extend(self.next_hops(v, d).map(|(_, next)| (next, false)));
            }
        }
        false
    }
}
