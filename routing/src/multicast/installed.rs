//! The tree that is in the switches' tables for a group, read back.

use std::collections::BTreeMap;

use ferrosm_mad::ids::PortNum;

use super::forest::Kind;
use super::{MulticastTree, Node, PortSet, SpanningForest};
use crate::topology::SwitchIdx;

impl SpanningForest<'_> {
    /// The tree that these entries of one group are, of all switches that have any: in one piece, with both ends of each cable,
    /// and a part of this forest. Every port without a cable to a switch counts as a member that receives. `None` if it is none.
    #[must_use]
    pub fn found(&self, entries: &BTreeMap<SwitchIdx, PortSet>) -> Option<MulticastTree> {
        let first = entries.keys().next()?;
        if !self.holds(entries.iter().map(|(s, ports)| (*s, *ports))) {
            return None;
        }
        let mut tree = MulticastTree::default();
        let mut ends = 0;
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
                if !entries.get(&peer).is_some_and(|there| there.contains(far)) {
                    return None;
                }
                node.cables.insert(port);
                ends += 1;
                let climbs = match &*self.kind {
                    Kind::Order(order) => order.get(peer.index()) < order.get(s.index()),
                    Kind::Tree(up) => up.get(s.index()).copied().flatten() == Some(port),
                };
                if climbs {
                    node.up = Some(port);
                }
            }
            tree.nodes.insert(s.index(), node);
        }
        // Without a circle (that is what `holds` says) this many cables make one piece.
        let whole = ends == 2 * (tree.nodes.len() - 1);
        (whole && tree.nodes.contains_key(&first.index())).then_some(tree)
    }

    /// Takes out of a tree what leads to no member.
    pub fn trim(&self, tree: &mut MulticastTree) {
        let all: Vec<usize> = tree.nodes.keys().copied().collect();
        all.into_iter().for_each(|v| tree.prune(self.topo, v));
    }
}

impl MulticastTree {
    /// The ports by which members receive, by switch.
    pub fn receivers(&self) -> impl Iterator<Item = (SwitchIdx, PortNum)> + '_ {
        self.nodes.iter().flat_map(|(&v, node)| {
            let ports = node.receivers.iter();
            ports.map(move |port| (SwitchIdx::at(v), port))
        })
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::ids::Lid;

    use super::super::Member;
    use super::*;
    use crate::engine::{Request, engine_by_name};
    use crate::topology::{Topology, TopologyBuilder};

    /// Three leaves under two spines, with two hosts on each leaf.
    fn tree() -> Topology {
        let mut b = TopologyBuilder::new();
        let s: Vec<SwitchIdx> = (1..=5).map(|lid| b.switch(5, Lid(lid))).collect();
        for leaf in 0..3u8 {
            for spine in 0..2u8 {
                let (l, sp) = (s[usize::from(leaf)], s[usize::from(3 + spine)]);
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
            switch: SwitchIdx::at(leaf),
            port: PortNum(port),
            receives: true,
        }
    }

    #[test]
    fn a_tree_is_read_back_as_it_was() {
        let topo = tree();
        for engine in ["updn", "nue"] {
            let engine = engine_by_name(engine).unwrap();
            let mut routing = engine.route(&Request::new(&topo)).unwrap();
            super::super::resolve_trees(&topo, &mut routing, None);
            let forest = SpanningForest::new(&topo, &routing).unwrap();
            for group in 0..4 {
                let members = [member(0, 3), member(2, 3), member(2, 4)];
                let tree = forest.tree(&members, group);
                let entries: BTreeMap<SwitchIdx, PortSet> = tree.ports().collect();
                let found = forest.found(&entries).unwrap();
                assert_eq!(found, tree);
                let receivers: Vec<_> = found.receivers().collect();
                let all = members.map(|m| (m.switch, m.port));
                assert_eq!(receivers, all);
            }
        }
    }

    /// One end of a cable is missing, another tree's cable is in it, or it is in two pieces: it is no tree.
    #[test]
    fn what_is_no_tree_is_not_taken() {
        let topo = tree();
        let engine = engine_by_name("updn").unwrap();
        let routing = engine.route(&Request::new(&topo)).unwrap();
        let forest = SpanningForest::new(&topo, &routing).unwrap();
        let members = [member(0, 3), member(1, 3), member(2, 4)];
        let tree = forest.tree(&members, 0);
        let entries: BTreeMap<SwitchIdx, PortSet> = tree.ports().collect();
        assert!(forest.found(&entries).is_some());
        let root = tree.root().unwrap();
        let mut half = entries.clone();
        half.get_mut(&root).unwrap().remove(PortNum(1));
        assert_eq!(forest.found(&half), None);
        // The other spine too: a circle.
        let mut both = entries.clone();
        let other = SwitchIdx::at(if root.index() == 3 { 4 } else { 3 });
        both.insert(other, entries[&root]);
        let up = PortNum(u8::try_from(other.index() - 2).unwrap());
        (0..3).for_each(|v| both.get_mut(&SwitchIdx::at(v)).unwrap().insert(up));
        assert_eq!(forest.found(&both), None);
        // No cable at all: three pieces.
        let mut apart = entries;
        apart.remove(&root);
        for v in 0..3 {
            let ports = apart.get_mut(&SwitchIdx::at(v)).unwrap();
            for port in [1, 2] {
                ports.remove(PortNum(port));
            }
        }
        assert_eq!(forest.found(&apart), None);
    }

    #[test]
    fn what_leads_to_nobody_goes() {
        let topo = tree();
        let engine = engine_by_name("updn").unwrap();
        let routing = engine.route(&Request::new(&topo)).unwrap();
        let forest = SpanningForest::new(&topo, &routing).unwrap();
        let tree = forest.tree(&[member(0, 3), member(1, 3), member(2, 4)], 0);
        let mut entries: BTreeMap<SwitchIdx, PortSet> = tree.ports().collect();
        let leaf = entries.get_mut(&SwitchIdx::at(2)).unwrap();
        leaf.remove(PortNum(4));
        let mut found = forest.found(&entries).unwrap();
        forest.trim(&mut found);
        assert_eq!(found.ports_of(SwitchIdx::at(2)), PortSet::new());
        assert_eq!(found.cables(), 2);
    }
}
