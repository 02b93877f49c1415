//! Multicast trees that go together with the routes: no loop, no deadlock, with any number of groups.
//!
//! A [`SpanningForest`] says which cables trees of one routing may use; [`SpanningForest::tree`] makes the tree of one group: the root
//! nearest to its members (smallest largest distance, then smallest sum, as OpenSM picks one), nothing that leads to no
//! member, groups spread over equal roots and cables by their number. [`SpanningForest::join`] and [`SpanningForest::leave`] change one
//! tree and leave the rest of it alone. It knows no MGIDs and writes no tables.

mod base;
mod forest;
mod installed;
mod ports;

use std::collections::BTreeMap;

use ferrosm_mad::ids::PortNum;

pub use base::{TreeBase, resolve_trees};
pub use forest::{NoSpanningForest, SpanningForest};
pub use ports::PortSet;

use crate::topology::{SwitchIdx, Topology};
use forest::Kind;

/// Members' switches from which distances to roots are measured at most.
const MEASURED_MAX: usize = 64;

/// An end port in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// The switch that it hangs on.
    pub switch: SwitchIdx,
    /// The port there; 0 for the switch itself.
    pub port: PortNum,
    /// Whether it receives. One that only sends has to reach the tree, no more.
    pub receives: bool,
}

/// The tree of one group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MulticastTree {
    nodes: BTreeMap<usize, Node>,
    /// Members that no tree of this routing can reach.
    pub unreachable: Vec<Member>,
}

/// A cable from a switch up to another: switch and port, twice.
type Cable = (usize, PortNum, usize, PortNum);

/// One switch of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Node {
    /// Towards the root.
    up: Option<PortNum>,
    /// Cables of the tree.
    cables: PortSet,
    /// Members that receive.
    receivers: PortSet,
    /// Members that only send.
    senders: PortSet,
}

impl MulticastTree {
    /// The switch that all others hang on.
    #[must_use]
    pub fn root(&self) -> Option<SwitchIdx> {
        let mut nodes = self.nodes.iter();
        nodes
            .find(|(_, node)| node.up.is_none())
            .map(|(&v, _)| SwitchIdx::at(v))
    }

    /// What the multicast forwarding tables have for the group: for each switch of the tree the ports to cables of the
    /// tree and to members that receive, by switch.
    pub fn ports(&self) -> impl Iterator<Item = (SwitchIdx, PortSet)> + '_ {
        self.nodes.iter().map(|(&v, node)| {
            let all = node.cables.iter().chain(node.receivers.iter());
            (SwitchIdx::at(v), all.collect())
        })
    }

    /// The ports of one switch; none if it is not in the tree.
    #[must_use]
    pub fn ports_of(&self, s: SwitchIdx) -> PortSet {
        self.nodes
            .get(&s.index())
            .map_or_else(PortSet::new, |node| {
                node.cables.iter().chain(node.receivers.iter()).collect()
            })
    }

    /// Cables in the tree.
    #[must_use]
    pub fn cables(&self) -> usize {
        self.nodes.len().saturating_sub(1)
    }

    fn hang(&mut self, v: usize, port: PortNum, on: usize, on_port: PortNum) {
        let node = self.nodes.entry(v).or_default();
        node.up = Some(port);
        node.cables.insert(port);
        self.nodes.entry(on).or_default().cables.insert(on_port);
    }

    fn enter(&mut self, member: &Member) {
        let node = self.nodes.entry(member.switch.index()).or_default();
        node.receivers.remove(member.port);
        node.senders.remove(member.port);
        if member.receives {
            node.receivers.insert(member.port);
        } else {
            node.senders.insert(member.port);
        }
    }

    /// Takes away what leads to no member, from here upwards, and a root that only passes on.
    fn prune(&mut self, topo: &Topology, from: usize) {
        let mut next = Some(from);
        while let Some(v) = next {
            let Some(node) = self.nodes.get(&v).copied() else {
                return;
            };
            if !node.receivers.is_empty() || !node.senders.is_empty() || node.cables.len() > 1 {
                break;
            }
            self.nodes.remove(&v);
            next = self.unplug(topo, v, node);
        }
        // A root with one cable and no member: what hangs on it is the root.
        while let Some(root) = self.root().map(SwitchIdx::index) {
            let Some(node) = self.nodes.get(&root).copied() else {
                return;
            };
            let idle = node.receivers.is_empty() && node.senders.is_empty();
            if !idle || node.cables.len() > 1 {
                return;
            }
            self.nodes.remove(&root);
            self.unplug(topo, root, node);
        }
    }

    /// Takes the only cable of a switch that left out of the switch at its other end, and says which that is.
    fn unplug(&mut self, topo: &Topology, v: usize, node: Node) -> Option<usize> {
        let port = node.cables.iter().next()?;
        let (peer, far) = topo.neighbor(SwitchIdx::at(v), port)?;
        let left = self.nodes.get_mut(&peer.index())?;
        left.cables.remove(far);
        // What hung on a root that is gone is the root.
        left.up = left.up.filter(|&up| up != far);
        Some(peer.index())
    }
}

impl SpanningForest<'_> {
    /// The tree of a group. `group` is any number of its own (its MLID): it spreads groups over what is equal.
    #[must_use]
    pub fn tree(&self, members: &[Member], group: u64) -> MulticastTree {
        let mut tree = MulticastTree::default();
        let n = self.topo.num_switches();
        let (here, lost): (Vec<Member>, Vec<Member>) = members.iter().partition(|m| self.exists(m));
        tree.unreachable = lost;
        let mut switches: Vec<usize> = here.iter().map(|m| m.switch.index()).collect();
        switches.sort_unstable();
        switches.dedup();
        if let [only] = switches[..] {
            tree.nodes.insert(only, Node::default());
        } else if let Kind::Order(order) = &*self.kind
            && let Some(root) = self.root(order, &switches, group)
        {
            let above = self.downwards(order, root, group);
            let mut inside = vec![false; n];
            inside[root] = true;
            tree.nodes.insert(root, Node::default());
            for &v in &switches {
                let mut at = v;
                while !inside[at]
                    && let Some((port, on, on_port)) = above[at]
                {
                    inside[at] = true;
                    tree.hang(at, port, on, on_port);
                    at = on;
                }
            }
        }
        for member in &here {
            self.join(&mut tree, member, group);
        }
        if let Some(root) = tree.root() {
            tree.prune(self.topo, root.index());
        }
        tree
    }

    /// Adds a member; what is there of the tree stays. If it cannot be reached it is listed as such.
    pub fn join(&self, tree: &mut MulticastTree, member: &Member, group: u64) {
        tree.unreachable
            .retain(|m| (m.switch, m.port) != (member.switch, member.port));
        let v = member.switch.index();
        let connected = self.exists(member)
            && (tree.nodes.is_empty()
                || tree.nodes.contains_key(&v)
                || match &*self.kind {
                    Kind::Order(order) => self.climb(order, tree, v, group),
                    Kind::Tree(up) => self.extend(up, tree, v),
                });
        if connected {
            tree.enter(member);
        } else {
            tree.unreachable.push(*member);
        }
    }

    /// Takes a member out, and what led to nobody else.
    pub fn leave(&self, tree: &mut MulticastTree, switch: SwitchIdx, port: PortNum) {
        tree.unreachable
            .retain(|m| (m.switch, m.port) != (switch, port));
        if let Some(node) = tree.nodes.get_mut(&switch.index()) {
            node.receivers.remove(port);
            node.senders.remove(port);
            tree.prune(self.topo, switch.index());
        }
    }

    fn exists(&self, member: &Member) -> bool {
        member.switch.index() < self.topo.num_switches()
            && member.port.raw() <= self.topo.num_ports(member.switch)
    }

    /// The switch that is nearest to all members of those from which all can be reached downwards; where only some can,
    /// the one that reaches the most.
    fn root(&self, order: &[u32], members: &[usize], group: u64) -> Option<usize> {
        let n = self.topo.num_switches();
        let (mut far, mut sum, mut reached) = (vec![0u32; n], vec![0u64; n], vec![0usize; n]);
        let count = members.len().clamp(1, MEASURED_MAX);
        for i in 0..count {
            let from = *members.get(i * members.len() / count)?;
            let mut hops = vec![u32::MAX; n];
            hops[from] = 0;
            let mut queue = vec![from];
            let mut at = 0;
            while let Some(&v) = queue.get(at) {
                at += 1;
                (far[v], sum[v]) = (far[v].max(hops[v]), sum[v] + u64::from(hops[v]));
                reached[v] += 1;
                for link in self.topo.links(SwitchIdx::at(v)) {
                    let u = link.peer.index();
                    if order.get(u) < order.get(v) && hops[u] == u32::MAX {
                        hops[u] = hops[v] + 1;
                        queue.push(u);
                    }
                }
            }
        }
        let key = |v: usize| (std::cmp::Reverse(reached[v]), far[v], sum[v]);
        let best = (0..n).map(key).min()?;
        let mut equal: Vec<usize> = (0..n).filter(|&v| key(v) == best).collect();
        equal.sort_by_key(|&v| (order.get(v), v));
        let turn = usize::try_from(group % (equal.len() as u64).max(1)).unwrap_or(0);
        equal.get(turn).copied()
    }

    /// On which switch each one below `root` hangs, and by which ports: breadth first.
    fn downwards(
        &self,
        order: &[u32],
        root: usize,
        group: u64,
    ) -> Vec<Option<(PortNum, usize, PortNum)>> {
        let n = self.topo.num_switches();
        let mut above = vec![None; n];
        let mut seen = vec![false; n];
        seen[root] = true;
        let mut queue = vec![root];
        let mut at = 0;
        while let Some(&v) = queue.get(at) {
            at += 1;
            for link in self.turned(v, group) {
                let u = link.peer.index();
                if order.get(u) > order.get(v) && !std::mem::replace(&mut seen[u], true) {
                    above[u] = Some((link.peer_port, v, link.port));
                    queue.push(u);
                }
            }
        }
        above
    }

    /// Cables of a switch, beginning with another one for each group.
    fn turned(&self, v: usize, group: u64) -> impl Iterator<Item = &crate::topology::Link> {
        let links = self.topo.links(SwitchIdx::at(v));
        let turn = usize::try_from(group % (links.len() as u64).max(1)).unwrap_or(0);
        links[turn..].iter().chain(&links[..turn])
    }

    /// Hangs a switch on the nearest one of the tree that can be climbed to; where there is none, root and switch get a new
    /// root above both.
    fn climb(&self, order: &[u32], tree: &mut MulticastTree, v: usize, group: u64) -> bool {
        let Some(root) = tree.root().map(SwitchIdx::index) else {
            return false;
        };
        let to_tree = self.upwards(order, v, group, |u| tree.nodes.contains_key(&u));
        if let Some(path) = to_tree {
            path.iter()
                .for_each(|&(at, port, on, back)| tree.hang(at, port, on, back));
            return true;
        }
        // The nearest switch above the root that is above `v` too. None of these is in the tree.
        let mut over = vec![false; self.topo.num_switches()];
        self.upwards(order, v, group, |u| {
            over[u] = true;
            false
        });
        let Some(path) = self.upwards(order, root, group, |u| over[u]) else {
            return false;
        };
        path.iter()
            .for_each(|&(at, port, on, back)| tree.hang(at, port, on, back));
        let path = self.upwards(order, v, group, |u| tree.nodes.contains_key(&u));
        path.into_iter()
            .flatten()
            .for_each(|(at, port, on, back)| tree.hang(at, port, on, back));
        true
    }

    /// The nearest switch above `from` (or itself) that is wanted, and the cables to it.
    fn upwards(
        &self,
        order: &[u32],
        from: usize,
        group: u64,
        mut wanted: impl FnMut(usize) -> bool,
    ) -> Option<Vec<Cable>> {
        let mut back: BTreeMap<usize, (usize, PortNum, PortNum)> = BTreeMap::new();
        let mut queue = vec![from];
        let mut at = 0;
        while let Some(&v) = queue.get(at) {
            at += 1;
            if wanted(v) {
                let (mut path, mut here) = (Vec::new(), v);
                while let Some(&(below, port, far)) = back.get(&here) {
                    path.push((below, port, here, far));
                    here = below;
                }
                return Some(path);
            }
            for link in self.turned(v, group) {
                let u = link.peer.index();
                if order.get(u) < order.get(v) && u != from && !back.contains_key(&u) {
                    back.insert(u, (v, link.port, link.peer_port));
                    queue.push(u);
                }
            }
        }
        None
    }

    /// Adds the way in the spanning tree between a switch and the tree.
    fn extend(&self, up: &[Option<PortNum>], tree: &mut MulticastTree, v: usize) -> bool {
        let step = |at: usize| {
            let port = up.get(at).copied().flatten()?;
            let (peer, far) = self.channels.peer(at, port.raw())?;
            Some((port, peer, PortNum(far)))
        };
        let Some(root) = tree.root().map(SwitchIdx::index) else {
            return false;
        };
        // From `v` upwards to the tree, or to where the way up from the root of the tree meets it.
        let line = |from: usize| {
            let mut line = vec![from];
            while let Some((_, peer, _)) = line.last().and_then(|&at| step(at)) {
                if line.len() > up.len() {
                    break;
                }
                line.push(peer);
            }
            line
        };
        let (own, tops) = (line(v), line(root));
        let meets = |at: &&usize| tree.nodes.contains_key(at) || tops.contains(at);
        let Some(meeting) = own.iter().find(meets).copied() else {
            return false;
        };
        let ways = [Some(v), tops.contains(&meeting).then_some(root)];
        for mut at in ways.into_iter().flatten() {
            while let Some((port, peer, far)) = step(at).filter(|_| at != meeting) {
                tree.hang(at, port, peer, far);
                at = peer;
            }
        }
        true
    }
}
