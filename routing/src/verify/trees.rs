//! Multicast trees in the proof: whether each is a tree, whether its packets have lanes, and what they wait for.
//!
//! A packet that comes to a switch leaves it by every port of the tree but the one that it came by, so it waits for all of
//! them. Packets enter by the tree's end ports and by port 0 where it is in the tree.

use ferrosm_mad::ids::PortNum;

use super::failure::{BrokenTree, TreeFault};
use super::ground::Ground;
use super::waits::Waits;
use crate::multicast::PortSet;
use crate::topology::{DATA_VLS_MAX, SwitchIdx};
use crate::vl_plan::SlToVl;

/// A multicast tree as it lies in the switches' multicast forwarding tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreePorts {
    /// The SL of its packets.
    pub sl: u8,
    /// The ports of each switch that has any, each switch once.
    pub ports: Vec<(SwitchIdx, PortSet)>,
}

/// Enters what the packets of a tree wait for.
pub(super) fn enter(
    ground: &Ground<'_>,
    waits: &Waits,
    number: usize,
    tree: &TreePorts,
) -> Result<(), BrokenTree> {
    let broken = |fault| BrokenTree {
        tree: number,
        fault,
    };
    let branches = Branches::new(ground, tree).map_err(broken)?;
    branches.enter(ground, waits, tree.sl).map_err(broken)
}

/// A port by which a tree leaves a switch for another one.
#[derive(Clone, Copy)]
struct Branch {
    port: PortNum,
    /// The place in the tree of the switch there, and of this cable among the branches there.
    there: (usize, usize),
    /// Whether packets leave by it.
    carries: bool,
    /// VLs that they take.
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
struct Branches {
    nodes: Vec<Node>,
}

impl Branches {
    /// Reads a tree, and refuses what is none.
    fn new(ground: &Ground<'_>, tree: &TreePorts) -> Result<Self, TreeFault> {
        let topo = ground.topo;
        let mut sets: Vec<(SwitchIdx, PortSet)> = tree.ports.clone();
        sets.sort_by_key(|s| s.0);
        let place = |s: SwitchIdx| sets.binary_search_by_key(&s, |set| set.0).ok();
        let mut nodes = Vec::with_capacity(sets.len());
        for &(switch, set) in &sets {
            let (mut members, mut branches) = (Vec::new(), Vec::new());
            let ends = topo.end_ports(switch);
            for port in set.iter() {
                let fault = TreeFault::DanglingPort { at: switch, port };
                if let Some((peer, back)) = topo.neighbor(switch, port) {
                    let there = place(peer).ok_or(fault)?;
                    if !sets[there].1.contains(back) {
                        return Err(fault);
                    }
                    let links = topo.links(peer).iter();
                    let before = links.filter(|l| l.port < back && sets[there].1.contains(l.port));
                    branches.push(Branch {
                        port,
                        there: (there, before.count()),
                        carries: false,
                        vls: 0,
                    });
                } else if port == PortNum::ZERO || ends.iter().any(|e| e.port == port) {
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
        let mut this = Self { nodes };
        this.is_tree()?;
        this.flood();
        Ok(this)
    }

    /// No circle, and all members together.
    fn is_tree(&self) -> Result<(), TreeFault> {
        let mut seen = vec![false; self.nodes.len()];
        let has_members = |n: &Node| !n.members.is_empty();
        let first = self.nodes.iter().position(has_members);
        // The part with members first: whatever has members besides is apart from it.
        for start in first.into_iter().chain(0..self.nodes.len()) {
            if seen[start] {
                continue;
            }
            if first != Some(start) && has_members(&self.nodes[start]) {
                let at = self.nodes[start].switch;
                return Err(TreeFault::Disconnected { at });
            }
            seen[start] = true;
            let mut open = vec![(start, usize::MAX)];
            while let Some((v, came_by)) = open.pop() {
                if first != Some(start) && has_members(&self.nodes[v]) {
                    let at = self.nodes[v].switch;
                    return Err(TreeFault::Disconnected { at });
                }
                for (i, b) in self.nodes[v].branches.iter().enumerate() {
                    if i == came_by {
                        continue;
                    }
                    if std::mem::replace(&mut seen[b.there.0], true) {
                        let at = self.nodes[v].switch;
                        return Err(TreeFault::Cycle { at, port: b.port });
                    }
                    open.push(b.there);
                }
            }
        }
        Ok(())
    }

    /// Marks the branches by which packets leave a switch.
    fn flood(&mut self) {
        let mut open: Vec<(usize, usize)> = Vec::new();
        for (v, node) in self.nodes.iter_mut().enumerate() {
            if !node.members.is_empty() {
                node.branches.iter_mut().for_each(|b| b.carries = true);
                open.extend((0..node.branches.len()).map(|i| (v, i)));
            }
        }
        while let Some((v, i)) = open.pop() {
            let (next, came_by) = self.nodes[v].branches[i].there;
            for (j, b) in self.nodes[next].branches.iter_mut().enumerate() {
                if j != came_by && !b.carries {
                    b.carries = true;
                    open.push((next, j));
                }
            }
        }
    }

    fn enter(mut self, ground: &Ground<'_>, waits: &Waits, sl: u8) -> Result<(), TreeFault> {
        for v in 0..self.nodes.len() {
            for i in 0..self.nodes[v].branches.len() {
                self.nodes[v].branches[i].vls = self.lanes_of_branch(ground, sl, v, i)?;
            }
            self.members_are_served(ground, sl, v)?;
        }
        let channel =
            |n: &Node, b: &Branch| ground.channels.base[n.switch.index()] + b.port.index();
        let keeps = ground.lanes.sl2vl == SlToVl::Modulo;
        for node in &self.nodes {
            for (i, came_by) in node.branches.iter().enumerate() {
                let (before, there) = came_by.there;
                let before = &self.nodes[before];
                let first = &before.branches[there];
                for (_, second) in node.branches.iter().enumerate().filter(|&(j, _)| i != j) {
                    let pair = ground
                        .channels
                        .pair(channel(before, first), channel(node, second));
                    if !first.carries {
                        continue;
                    }
                    if keeps {
                        waits.keep(pair, first.vls);
                    } else {
                        let vl = ground.lanes.vl(node.switch, came_by.port, second.port, sl);
                        waits.change(pair, first.vls, vl);
                    }
                }
            }
        }
        Ok(())
    }

    /// Ports by which packets of the tree come to a switch.
    fn inputs(&self, v: usize) -> impl Iterator<Item = PortNum> + '_ {
        let node = &self.nodes[v];
        let brings = |b: &&Branch| self.nodes[b.there.0].branches[b.there.1].carries;
        let branches = node.branches.iter().filter(brings).map(|b| b.port);
        node.members.iter().copied().chain(branches)
    }

    /// VLs of the packets that leave by a branch.
    fn lanes_of_branch(
        &self,
        ground: &Ground<'_>,
        sl: u8,
        v: usize,
        i: usize,
    ) -> Result<u16, TreeFault> {
        let (at, port) = (self.nodes[v].switch, self.nodes[v].branches[i].port);
        let mut vls = 0;
        for input in self.inputs(v).filter(|&input| input != port) {
            let vl = ground.lanes.vl(at, input, port, sl);
            if sl > 15 || vl >= ground.lanes.vls.min(ground.topo.vls(at, port)) {
                return Err(TreeFault::NoVl { at, port, sl, vl });
            }
            vls |= 1 << vl;
        }
        Ok(vls)
    }

    fn members_are_served(&self, ground: &Ground<'_>, sl: u8, v: usize) -> Result<(), TreeFault> {
        let node = &self.nodes[v];
        for &port in node.members.iter().filter(|&&p| p != PortNum::ZERO) {
            for input in self.inputs(v).filter(|&input| input != port) {
                let vl = ground.lanes.vl(node.switch, input, port, sl);
                if sl > 15 || vl >= DATA_VLS_MAX {
                    let at = node.switch;
                    return Err(TreeFault::NoVl { at, port, sl, vl });
                }
            }
        }
        Ok(())
    }
}
