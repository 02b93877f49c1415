//! Multicast trees that are loop-free, and deadlock-free together with the routes, for any number
//! of groups.
//!
//! A [`SpanningForest`] has the links that multicast trees of one routing may use.
//! [`SpanningForest::tree`] computes the tree of one group: the root is the switch nearest to the
//! members (by largest distance, then by sum of distances, as in OpenSM), and every branch leads to
//! a member. The group number distributes groups over equal roots and links.
//! [`SpanningForest::join`] and [`SpanningForest::leave`] change only the branch of the member.
//! MGIDs and table writes are outside of this module.

mod forest;
mod installed;
mod stored_forest;

use std::collections::BTreeMap;

use ferrosm_mad::ids::PortNum;

pub(crate) use forest::grow_spanning_tree;
pub use forest::{NoSpanningForest, SpanningForest};
pub use stored_forest::{StoredForest, resolve_trees};

use crate::topology::{PortSet, SwitchIdx, Topology};
use forest::LinkConstraint;

/// Maximum number of member switches from which distances to roots are computed.
const MEASURED_MAX: usize = 64;

/// An end port in a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// The switch that it is attached to.
    pub switch: SwitchIdx,
    /// The port of that switch; 0: the switch itself.
    pub port: PortNum,
    /// Whether it receives. A send-only member needs only a path to the tree.
    pub receives: bool,
}

/// The tree of one group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MulticastTree {
    nodes: BTreeMap<usize, Node>,
    /// Members without a path to the tree.
    pub unreachable: Vec<Member>,
}

/// A link from a switch and port up to a switch and port.
type Uplink = (usize, PortNum, usize, PortNum);

/// One switch of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Node {
    /// Port towards the root.
    up: Option<PortNum>,
    /// Ports of links of the tree.
    links: PortSet,
    /// Ports of receiving members.
    receivers: PortSet,
    /// Ports of send-only members.
    senders: PortSet,
}

impl MulticastTree {
    /// The root of the tree.
    #[must_use]
    pub fn root(&self) -> Option<SwitchIdx> {
        let mut nodes = self.nodes.iter();
        nodes
            .find(|(_, node)| node.up.is_none())
            .map(|(&v, _)| SwitchIdx::from_index(v))
    }

    /// MFT entries of the group: for each switch of the tree, the ports of links of the tree and of
    /// receiving members.
    pub fn ports(&self) -> impl Iterator<Item = (SwitchIdx, PortSet)> + '_ {
        self.nodes.iter().map(|(&v, node)| {
            let ports = node.links.iter().chain(node.receivers.iter());
            (SwitchIdx::from_index(v), ports.collect())
        })
    }

    /// MFT entry of one switch; empty if it is not in the tree.
    #[must_use]
    pub fn ports_of(&self, s: SwitchIdx) -> PortSet {
        self.nodes
            .get(&s.index())
            .map_or_else(PortSet::new, |node| {
                node.links.iter().chain(node.receivers.iter()).collect()
            })
    }

    /// Number of links in the tree.
    #[must_use]
    pub fn num_links(&self) -> usize {
        self.nodes.len().saturating_sub(1)
    }

    fn attach(&mut self, v: usize, port: PortNum, parent: usize, parent_port: PortNum) {
        let node = self.nodes.entry(v).or_default();
        node.up = Some(port);
        node.links.insert(port);
        self.nodes
            .entry(parent)
            .or_default()
            .links
            .insert(parent_port);
    }

    fn add_member(&mut self, member: &Member) {
        let node = self.nodes.entry(member.switch.index()).or_default();
        node.receivers.remove(member.port);
        node.senders.remove(member.port);
        if member.receives {
            node.receivers.insert(member.port);
        } else {
            node.senders.insert(member.port);
        }
    }

    /// Removes the branch from switch `from` upwards as far as it leads to no member, then a root
    /// that has one link and no member.
    fn prune(&mut self, topo: &Topology, from: usize) {
        let mut next = Some(from);
        while let Some(v) = next {
            let Some(node) = self.nodes.get(&v).copied() else {
                return;
            };
            if !node.receivers.is_empty() || !node.senders.is_empty() || node.links.len() > 1 {
                break;
            }
            self.nodes.remove(&v);
            next = self.detach(topo, v, node);
        }
        // A root with one link and no member: its child becomes the root.
        while let Some(root) = self.root().map(SwitchIdx::index) {
            let Some(node) = self.nodes.get(&root).copied() else {
                return;
            };
            let idle = node.receivers.is_empty() && node.senders.is_empty();
            if !idle || node.links.len() > 1 {
                return;
            }
            self.nodes.remove(&root);
            self.detach(topo, root, node);
        }
    }

    /// Removes the only link of a removed switch from its neighbour, and returns the neighbour.
    fn detach(&mut self, topo: &Topology, v: usize, node: Node) -> Option<usize> {
        let port = node.links.iter().next()?;
        let (peer, peer_port) = topo.neighbor(SwitchIdx::from_index(v), port)?;
        let neighbour = self.nodes.get_mut(&peer.index())?;
        neighbour.links.remove(peer_port);
        // A child of a removed root becomes the root.
        neighbour.up = neighbour.up.filter(|&up| up != peer_port);
        Some(peer.index())
    }
}

impl SpanningForest<'_> {
    /// The tree of a group. `group` is the number of the group (its MLID), which distributes groups
    /// over equal roots and links.
    #[must_use]
    pub fn tree(&self, members: &[Member], group: u64) -> MulticastTree {
        let mut tree = MulticastTree::default();
        let n = self.topo.num_switches();
        let (present, absent): (Vec<Member>, Vec<Member>) =
            members.iter().partition(|m| self.exists(m));
        tree.unreachable = absent;
        let mut switches: Vec<usize> = present.iter().map(|m| m.switch.index()).collect();
        switches.sort_unstable();
        switches.dedup();
        if let [only] = switches[..] {
            tree.nodes.insert(only, Node::default());
        } else if let LinkConstraint::Order(order) = &*self.constraint
            && let Some(root) = self.root(order, &switches, group)
        {
            let parents = self.parents_below(order, root, group);
            let mut in_tree = vec![false; n];
            in_tree[root] = true;
            tree.nodes.insert(root, Node::default());
            for &v in &switches {
                let mut at = v;
                while !in_tree[at]
                    && let Some((port, parent, parent_port)) = parents[at]
                {
                    in_tree[at] = true;
                    tree.attach(at, port, parent, parent_port);
                    at = parent;
                }
            }
        }
        for member in &present {
            self.join(&mut tree, member, group);
        }
        if let Some(root) = tree.root() {
            tree.prune(self.topo, root.index());
        }
        tree
    }

    /// Adds a member without changing existing branches. A member without a path to the tree is
    /// added to [`MulticastTree::unreachable`].
    pub fn join(&self, tree: &mut MulticastTree, member: &Member, group: u64) {
        tree.unreachable
            .retain(|m| (m.switch, m.port) != (member.switch, member.port));
        let v = member.switch.index();
        let connected = self.exists(member)
            && (tree.nodes.is_empty()
                || tree.nodes.contains_key(&v)
                || match &*self.constraint {
                    LinkConstraint::Order(order) => self.connect_upwards(order, tree, v, group),
                    LinkConstraint::Tree(up) => self.connect_in_tree(up, tree, v),
                });
        if connected {
            tree.add_member(member);
        } else {
            tree.unreachable.push(*member);
        }
    }

    /// Removes a member and the branch that led only to it.
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

    /// The root of a tree for these member switches: of the switches that reach the most members
    /// downwards, the nearest.
    fn root(&self, order: &[u32], members: &[usize], group: u64) -> Option<usize> {
        let n = self.topo.num_switches();
        let mut max_hops = vec![0u32; n];
        let mut sum = vec![0u64; n];
        let mut reached = vec![0usize; n];
        let count = members.len().clamp(1, MEASURED_MAX);
        for i in 0..count {
            let from = *members.get(i * members.len() / count)?;
            let mut hops = vec![u32::MAX; n];
            hops[from] = 0;
            let mut queue = vec![from];
            let mut at = 0;
            while let Some(&v) = queue.get(at) {
                at += 1;
                (max_hops[v], sum[v]) = (max_hops[v].max(hops[v]), sum[v] + u64::from(hops[v]));
                reached[v] += 1;
                for link in self.topo.links(SwitchIdx::from_index(v)) {
                    let u = link.peer.index();
                    if order.get(u) < order.get(v) && hops[u] == u32::MAX {
                        hops[u] = hops[v] + 1;
                        queue.push(u);
                    }
                }
            }
        }
        let key = |v: usize| (std::cmp::Reverse(reached[v]), max_hops[v], sum[v]);
        let best = (0..n).map(key).min()?;
        let mut equal: Vec<usize> = (0..n).filter(|&v| key(v) == best).collect();
        equal.sort_by_key(|&v| (order.get(v), v));
        let index = usize::try_from(group % (equal.len() as u64).max(1)).unwrap_or(0);
        equal.get(index).copied()
    }

    /// Port, parent and parent port of each switch below `root`, breadth first.
    fn parents_below(
        &self,
        order: &[u32],
        root: usize,
        group: u64,
    ) -> Vec<Option<(PortNum, usize, PortNum)>> {
        let n = self.topo.num_switches();
        let mut parents = vec![None; n];
        let mut visited = vec![false; n];
        visited[root] = true;
        let mut queue = vec![root];
        let mut at = 0;
        while let Some(&v) = queue.get(at) {
            at += 1;
            for link in self.rotated_links(v, group) {
                let u = link.peer.index();
                if order.get(u) > order.get(v) && !std::mem::replace(&mut visited[u], true) {
                    parents[u] = Some((link.peer_port, v, link.port));
                    queue.push(u);
                }
            }
        }
        parents
    }

    /// Links of a switch, starting at an index that depends on the group.
    fn rotated_links(
        &self,
        v: usize,
        group: u64,
    ) -> impl Iterator<Item = &crate::topology::SwitchLink> {
        let links = self.topo.links(SwitchIdx::from_index(v));
        let index = usize::try_from(group % (links.len() as u64).max(1)).unwrap_or(0);
        links[index..].iter().chain(&links[..index])
    }

    /// Connects a switch upwards to the nearest switch of the tree. If there is none, the tree gets
    /// a new root above both.
    fn connect_upwards(
        &self,
        order: &[u32],
        tree: &mut MulticastTree,
        v: usize,
        group: u64,
    ) -> bool {
        let Some(root) = tree.root().map(SwitchIdx::index) else {
            return false;
        };
        let to_tree = self.path_upwards(order, v, group, |u| tree.nodes.contains_key(&u));
        if let Some(path) = to_tree {
            path.iter().for_each(|&(at, port, parent, parent_port)| {
                tree.attach(at, port, parent, parent_port)
            });
            return true;
        }
        // The nearest switch above both the root and `v`. None of these switches is in the tree.
        let mut above_v = vec![false; self.topo.num_switches()];
        self.path_upwards(order, v, group, |u| {
            above_v[u] = true;
            false
        });
        let Some(path) = self.path_upwards(order, root, group, |u| above_v[u]) else {
            return false;
        };
        path.iter().for_each(|&(at, port, parent, parent_port)| {
            tree.attach(at, port, parent, parent_port)
        });
        let path = self.path_upwards(order, v, group, |u| tree.nodes.contains_key(&u));
        path.into_iter()
            .flatten()
            .for_each(|(at, port, parent, parent_port)| tree.attach(at, port, parent, parent_port));
        true
    }

    /// The links from `from` to the nearest switch above it, or to itself, that satisfies
    /// `is_target`.
    fn path_upwards(
        &self,
        order: &[u32],
        from: usize,
        group: u64,
        mut is_target: impl FnMut(usize) -> bool,
    ) -> Option<Vec<Uplink>> {
        let mut parents: BTreeMap<usize, (usize, PortNum, PortNum)> = BTreeMap::new();
        let mut queue = vec![from];
        let mut at = 0;
        while let Some(&v) = queue.get(at) {
            at += 1;
            if is_target(v) {
                let mut path = Vec::new();
                let mut current = v;
                while let Some(&(below, port, far)) = parents.get(&current) {
                    path.push((below, port, current, far));
                    current = below;
                }
                return Some(path);
            }
            for link in self.rotated_links(v, group) {
                let u = link.peer.index();
                if order.get(u) < order.get(v) && u != from && !parents.contains_key(&u) {
                    parents.insert(u, (v, link.port, link.peer_port));
                    queue.push(u);
                }
            }
        }
        None
    }

    /// Adds the path in the spanning tree between a switch and the group tree.
    fn connect_in_tree(&self, up: &[Option<PortNum>], tree: &mut MulticastTree, v: usize) -> bool {
        let step = |at: usize| {
            let port = up.get(at).copied().flatten()?;
            let (peer, peer_port) = self.channels.peer(at, port.raw())?;
            Some((port, peer, PortNum(peer_port)))
        };
        let Some(root) = tree.root().map(SwitchIdx::index) else {
            return false;
        };
        // From `v` upwards to the tree, or to the first switch that is also above the root of the
        // tree.
        let ancestors = |from: usize| {
            let mut path = vec![from];
            while let Some((_, peer, _)) = path.last().and_then(|&at| step(at)) {
                if path.len() > up.len() {
                    break;
                }
                path.push(peer);
            }
            path
        };
        let above_v = ancestors(v);
        let above_root = ancestors(root);
        let meets = |at: &&usize| tree.nodes.contains_key(at) || above_root.contains(at);
        let Some(meeting) = above_v.iter().find(meets).copied() else {
            return false;
        };
        let starts = [Some(v), above_root.contains(&meeting).then_some(root)];
        for mut at in starts.into_iter().flatten() {
            while let Some((port, peer, far)) = step(at).filter(|_| at != meeting) {
                tree.attach(at, port, peer, far);
                at = peer;
            }
        }
        true
    }
}
