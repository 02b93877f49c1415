//! Verification of multicast trees: tree structure, VLs, and channel dependencies.
//!
//! A switch replicates a packet to all ports of the tree except the input port, so the packet
//! depends on all of these channels. Packets enter through the end ports of the tree and through
//! port 0, if it is in the tree.

use ferrosm_mad::ids::PortNum;

use super::context::WalkContext;
use super::dependency_graph::ChannelDependencyGraph;
use super::error::{BrokenTree, TreeFault};
use crate::topology::{DATA_VLS_MAX, PortSet, SwitchIdx};
use crate::vl_plan::SlToVl;

/// The MFT entries of a multicast tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreePorts {
    /// The SL of its packets.
    pub sl: u8,
    /// Ports by switch; each switch at most once.
    pub ports: Vec<(SwitchIdx, PortSet)>,
}

/// Adds the dependencies of the packets of a tree to the graph.
pub(super) fn add_tree(
    context: &WalkContext<'_>,
    graph: &ChannelDependencyGraph,
    number: usize,
    tree: &TreePorts,
) -> Result<(), BrokenTree> {
    let broken_tree = |fault| BrokenTree {
        tree: number,
        fault,
    };
    let tree_graph = TreeGraph::new(context, tree).map_err(broken_tree)?;
    tree_graph
        .add_dependencies(context, graph, tree.sl)
        .map_err(broken_tree)
}

/// A port of a tree with a link to another switch.
#[derive(Clone, Copy)]
struct Branch {
    port: PortNum,
    /// Index of the peer switch in the tree, and of this link among its branches.
    peer: (usize, usize),
    /// Whether packets leave through this port.
    carries: bool,
    /// Mask of their VLs.
    vls: u16,
}

/// A switch of a tree.
struct Node {
    switch: SwitchIdx,
    /// End ports and port 0.
    members: Vec<PortNum>,
    branches: Vec<Branch>,
}

/// A tree as a graph.
struct TreeGraph {
    nodes: Vec<Node>,
}

impl TreeGraph {
    /// Reads the entries. Fails if they are not a tree.
    fn new(context: &WalkContext<'_>, tree: &TreePorts) -> Result<Self, TreeFault> {
        let topo = context.topo;
        let mut sets: Vec<(SwitchIdx, PortSet)> = tree.ports.clone();
        sets.sort_by_key(|s| s.0);
        let index_of = |s: SwitchIdx| sets.binary_search_by_key(&s, |set| set.0).ok();
        let mut nodes = Vec::with_capacity(sets.len());
        for &(switch, set) in &sets {
            let mut members = Vec::new();
            let mut branches = Vec::new();
            let end_ports = topo.end_ports(switch);
            for port in set.iter() {
                let fault = TreeFault::DanglingPort { at: switch, port };
                if let Some((peer, peer_port)) = topo.neighbor(switch, port) {
                    let peer_index = index_of(peer).ok_or(fault)?;
                    if !sets[peer_index].1.contains(peer_port) {
                        return Err(fault);
                    }
                    let before = topo
                        .links(peer)
                        .iter()
                        .filter(|l| l.port < peer_port && sets[peer_index].1.contains(l.port));
                    branches.push(Branch {
                        port,
                        peer: (peer_index, before.count()),
                        carries: false,
                        vls: 0,
                    });
                } else if port == PortNum::ZERO || end_ports.iter().any(|e| e.port == port) {
                    members.push(port);
                } else {
                    return Err(fault);
                }
            }
            nodes.push(Node {
                switch,
                members,
                branches,
            });
        }
        let mut tree = Self { nodes };
        tree.check_is_tree()?;
        tree.mark_carrying();
        Ok(tree)
    }

    /// Checks that there is no cycle and that all members are connected.
    fn check_is_tree(&self) -> Result<(), TreeFault> {
        let mut visited = vec![false; self.nodes.len()];
        let has_members = |n: &Node| !n.members.is_empty();
        let first = self.nodes.iter().position(has_members);
        // Start with the component of the first member: all other components must have no members.
        for start in first.into_iter().chain(0..self.nodes.len()) {
            if visited[start] {
                continue;
            }
            if first != Some(start) && has_members(&self.nodes[start]) {
                let at = self.nodes[start].switch;
                return Err(TreeFault::Disconnected { at });
            }
            visited[start] = true;
            let mut stack = vec![(start, usize::MAX)];
            while let Some((v, input)) = stack.pop() {
                if first != Some(start) && has_members(&self.nodes[v]) {
                    let at = self.nodes[v].switch;
                    return Err(TreeFault::Disconnected { at });
                }
                for (i, b) in self.nodes[v].branches.iter().enumerate() {
                    if i == input {
                        continue;
                    }
                    if std::mem::replace(&mut visited[b.peer.0], true) {
                        let at = self.nodes[v].switch;
                        return Err(TreeFault::Cycle { at, port: b.port });
                    }
                    stack.push(b.peer);
                }
            }
        }
        Ok(())
    }

    /// Marks the branches through which packets leave a switch.
    fn mark_carrying(&mut self) {
        let mut stack: Vec<(usize, usize)> = Vec::new();
        for (v, node) in self.nodes.iter_mut().enumerate() {
            if !node.members.is_empty() {
                node.branches.iter_mut().for_each(|b| b.carries = true);
                stack.extend((0..node.branches.len()).map(|i| (v, i)));
            }
        }
        while let Some((v, i)) = stack.pop() {
            let (next, input) = self.nodes[v].branches[i].peer;
            for (j, b) in self.nodes[next].branches.iter_mut().enumerate() {
                if j != input && !b.carries {
                    b.carries = true;
                    stack.push((next, j));
                }
            }
        }
    }

    fn add_dependencies(
        mut self,
        context: &WalkContext<'_>,
        graph: &ChannelDependencyGraph,
        sl: u8,
    ) -> Result<(), TreeFault> {
        for v in 0..self.nodes.len() {
            for i in 0..self.nodes[v].branches.len() {
                self.nodes[v].branches[i].vls = self.vls_of_branch(context, sl, v, i)?;
            }
            self.check_member_vls(context, sl, v)?;
        }
        let channel =
            |n: &Node, b: &Branch| context.channels.base[n.switch.index()] + b.port.index();
        let keeps_vl = context.vl_plan.sl_to_vl == SlToVl::Modulo;
        for node in &self.nodes {
            for (i, input) in node.branches.iter().enumerate() {
                let (previous, branch) = input.peer;
                let previous = &self.nodes[previous];
                let first = &previous.branches[branch];
                for (_, second) in node.branches.iter().enumerate().filter(|&(j, _)| i != j) {
                    let pair = context
                        .channels
                        .pair(channel(previous, first), channel(node, second));
                    if !first.carries {
                        continue;
                    }
                    if keeps_vl {
                        graph.add_same_vl(pair, first.vls);
                    } else {
                        let vl = context.vl_plan.vl(node.switch, input.port, second.port, sl);
                        graph.add_vl_change(pair, first.vls, vl);
                    }
                }
            }
        }
        Ok(())
    }

    /// Input ports of packets of the tree at a switch.
    fn inputs(&self, v: usize) -> impl Iterator<Item = PortNum> + '_ {
        let node = &self.nodes[v];
        let carries_packets = |b: &&Branch| self.nodes[b.peer.0].branches[b.peer.1].carries;
        let branches = node.branches.iter().filter(carries_packets).map(|b| b.port);
        node.members.iter().copied().chain(branches)
    }

    /// Mask of the VLs of packets that leave through a branch.
    fn vls_of_branch(
        &self,
        context: &WalkContext<'_>,
        sl: u8,
        v: usize,
        i: usize,
    ) -> Result<u16, TreeFault> {
        let at = self.nodes[v].switch;
        let port = self.nodes[v].branches[i].port;
        let mut vls = 0;
        for input in self.inputs(v).filter(|&input| input != port) {
            let vl = context.vl_plan.vl(at, input, port, sl);
            if sl > 15 || vl >= context.vl_plan.vls.min(context.topo.vls(at, port)) {
                return Err(TreeFault::NoVl { at, port, sl, vl });
            }
            vls |= 1 << vl;
        }
        Ok(vls)
    }

    fn check_member_vls(
        &self,
        context: &WalkContext<'_>,
        sl: u8,
        v: usize,
    ) -> Result<(), TreeFault> {
        let node = &self.nodes[v];
        for &port in node.members.iter().filter(|&&p| p != PortNum::ZERO) {
            for input in self.inputs(v).filter(|&input| input != port) {
                let vl = context.vl_plan.vl(node.switch, input, port, sl);
                if sl > 15 || vl >= DATA_VLS_MAX {
                    let at = node.switch;
                    return Err(TreeFault::NoVl { at, port, sl, vl });
                }
            }
        }
        Ok(())
    }
}
