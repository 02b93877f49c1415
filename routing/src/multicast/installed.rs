//! Multicast trees from installed MFT entries.

use std::collections::BTreeMap;

use ferrosm_mad::ids::PortNum;

use super::forest::{LinkConstraint, SpanningForest};
use super::{MulticastTree, Node};
use crate::topology::{PortSet, SwitchIdx};

impl SpanningForest<'_> {
    /// The tree of one group, from the entries of all switches. Each port without a link to a
    /// switch counts as a receiving member. `None` if the entries are not one connected tree of
    /// this forest, with both ends of each link.
    #[must_use]
    pub fn tree_from_entries(
        &self,
        entries: &BTreeMap<SwitchIdx, PortSet>,
    ) -> Option<MulticastTree> {
        let first = entries.keys().next()?;
        if !self.contains_entries(entries.iter().map(|(s, ports)| (*s, *ports))) {
            return None;
        }
        let mut tree = MulticastTree::default();
        let mut link_ends = 0;
        for (s, ports) in entries {
            if s.index() >= self.topo.num_switches() {
                return None;
            }
            let mut node = Node::default();
            for port in ports.iter() {
                if port.raw() > self.topo.num_ports(*s) {
                    return None;
                }
                let Some((peer, far)) = self.topo.neighbor(*s, port) else {
                    node.receivers.insert(port);
                    continue;
                };
                if !entries
                    .get(&peer)
                    .is_some_and(|peer_ports| peer_ports.contains(far))
                {
                    return None;
                }
                node.links.insert(port);
                link_ends += 1;
                let is_uplink = match &*self.constraint {
                    LinkConstraint::Order(order) => order.get(peer.index()) < order.get(s.index()),
                    LinkConstraint::Tree(up) => up.get(s.index()).copied().flatten() == Some(port),
                };
                if is_uplink {
                    node.up = Some(port);
                }
            }
            tree.nodes.insert(s.index(), node);
        }
        // `contains_entries` excludes cycles, so this number of links means that the tree is
        // connected.
        let is_connected = link_ends == 2 * (tree.nodes.len() - 1);
        (is_connected && tree.nodes.contains_key(&first.index())).then_some(tree)
    }

    /// Removes branches without members.
    pub fn prune_branches(&self, tree: &mut MulticastTree) {
        let switches: Vec<usize> = tree.nodes.keys().copied().collect();
        switches.into_iter().for_each(|v| tree.prune(self.topo, v));
    }
}

impl MulticastTree {
    /// Ports of receiving members, by switch.
    pub fn receivers(&self) -> impl Iterator<Item = (SwitchIdx, PortNum)> + '_ {
        self.nodes.iter().flat_map(|(&v, node)| {
            node.receivers
                .iter()
                .map(move |port| (SwitchIdx::from_index(v), port))
        })
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::Lid;

    use super::*;
    use crate::engines::engine_by_name;
    use crate::multicast::Member;
    use crate::request::RoutingRequest;
    use crate::topology::{Topology, TopologyBuilder};

    /// Three leaves under two spines, with two hosts on each leaf.
    fn tree() -> Topology {
        let mut b = TopologyBuilder::new();
        let s: Vec<SwitchIdx> = (1..=5).map(|lid| b.switch(5, Lid(lid))).collect();
        for leaf in 0..3u8 {
            for spine in 0..2u8 {
                let l = s[usize::from(leaf)];
                let sp = s[usize::from(3 + spine)];
                b.link((l, PortNum(1 + spine)), (sp, PortNum(1 + leaf)));
            }
            for host in 0..2u8 {
                let lid = Lid(10 + u16::from(leaf * 2 + host));
                b.end_port((s[usize::from(leaf)], PortNum(3 + host)), lid, 1);
            }
        }
        b.build()
    }

    fn member(leaf: usize, port: u8) -> Member {
        Member {
            switch: SwitchIdx::from_index(leaf),
            port: PortNum(port),
            receives: true,
        }
    }

    #[test]
    fn tree_round_trips_through_entries() {
        let topo = tree();
        for engine in ["updn", "nue"] {
            let engine = engine_by_name(engine).unwrap();
            let mut routing = engine.route(&RoutingRequest::new(&topo)).unwrap();
            super::super::resolve_trees(&topo, &mut routing, None);
            let forest = SpanningForest::new(&topo, &routing).unwrap();
            for group in 0..4 {
                let members = [member(0, 3), member(2, 3), member(2, 4)];
                let tree = forest.tree(&members, group);
                let entries: BTreeMap<SwitchIdx, PortSet> = tree.ports().collect();
                let restored = forest.tree_from_entries(&entries).unwrap();
                assert_eq!(restored, tree);
                let receivers: Vec<_> = restored.receivers().collect();
                let member_ports = members.map(|m| (m.switch, m.port));
                assert_eq!(receivers, member_ports);
            }
        }
    }

    /// One end of a link is missing, the entries have a cycle, or the tree is not connected.
    #[test]
    fn entries_that_are_not_a_tree_are_rejected() {
        let topo = tree();
        let engine = engine_by_name("updn").unwrap();
        let routing = engine.route(&RoutingRequest::new(&topo)).unwrap();
        let forest = SpanningForest::new(&topo, &routing).unwrap();
        let members = [member(0, 3), member(1, 3), member(2, 4)];
        let tree = forest.tree(&members, 0);
        let entries: BTreeMap<SwitchIdx, PortSet> = tree.ports().collect();
        assert!(forest.tree_from_entries(&entries).is_some());
        let root = tree.root().unwrap();
        let mut one_way_entries = entries.clone();
        one_way_entries.get_mut(&root).unwrap().remove(PortNum(1));
        assert_eq!(forest.tree_from_entries(&one_way_entries), None);
        // The other spine too: a cycle.
        let mut cyclic_entries = entries.clone();
        let other = SwitchIdx::from_index(if root.index() == 3 { 4 } else { 3 });
        cyclic_entries.insert(other, entries[&root]);
        let up = PortNum(u8::try_from(other.index() - 2).unwrap());
        (0..3).for_each(|v| {
            cyclic_entries
                .get_mut(&SwitchIdx::from_index(v))
                .unwrap()
                .insert(up)
        });
        assert_eq!(forest.tree_from_entries(&cyclic_entries), None);
        // No link at all: three components.
        let mut disconnected = entries;
        disconnected.remove(&root);
        for v in 0..3 {
            let ports = disconnected.get_mut(&SwitchIdx::from_index(v)).unwrap();
            for port in [1, 2] {
                ports.remove(PortNum(port));
            }
        }
        assert_eq!(forest.tree_from_entries(&disconnected), None);
    }

    #[test]
    fn branches_without_members_are_pruned() {
        let topo = tree();
        let engine = engine_by_name("updn").unwrap();
        let routing = engine.route(&RoutingRequest::new(&topo)).unwrap();
        let forest = SpanningForest::new(&topo, &routing).unwrap();
        let tree = forest.tree(&[member(0, 3), member(1, 3), member(2, 4)], 0);
        let mut entries: BTreeMap<SwitchIdx, PortSet> = tree.ports().collect();
        let leaf = entries.get_mut(&SwitchIdx::from_index(2)).unwrap();
        leaf.remove(PortNum(4));
        let mut tree = forest.tree_from_entries(&entries).unwrap();
        forest.prune_branches(&mut tree);
        assert_eq!(tree.ports_of(SwitchIdx::from_index(2)), PortSet::new());
        assert_eq!(tree.num_links(), 2);
    }
}
