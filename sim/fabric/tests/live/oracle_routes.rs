//! Routes and VLs for [`super::oracle_plan`] without credit loops:
//!
//! * trees: shortest paths go up, then down;
//! * ring of five: shortest paths cross at most two links between switches; packets enter on VL 0
//!   and continue on VL 1, so the VLs of a path ascend;
//! * torus of 4 x 4: dimension order, x first; a path that crosses the dateline of a row or column
//!   uses VL 1 there, others VL 0; the SL of the path selects the VL.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::{Lid, Sl};
use ferrosm_sim::spec::{FabricSpec, NodeIdx, PortAt};

use super::oracle_plan::{GROUP_SL, GROUP_VL};

type Peers = BTreeMap<PortAt, PortAt>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Tree,
    Ring,
    Torus,
}

/// The routes of a fabric.
#[derive(Debug, Clone)]
pub(crate) struct Routes {
    shape: Shape,
    peers: Peers,
    /// Column and row of the switches of a torus.
    cells: BTreeMap<NodeIdx, [u8; 2]>,
    /// By LID: its end port, and the switch and output port at which packets leave the fabric.
    homes: BTreeMap<u16, (PortAt, PortAt)>,
    /// By node and LID.
    egress: BTreeMap<(NodeIdx, u16), u8>,
}

const SIDE: u8 = 4;

impl Routes {
    pub(crate) fn new(
        text: &str,
        spec: &FabricSpec,
        peers: &Peers,
        lids: &BTreeMap<PortAt, u16>,
    ) -> Self {
        let shape = match text.split(':').next() {
            Some("ring") => Shape::Ring,
            Some("torus") => Shape::Torus,
            _ => Shape::Tree,
        };
        let mut routes = Self {
            shape,
            peers: peers.clone(),
            cells: BTreeMap::new(),
            homes: BTreeMap::new(),
            egress: BTreeMap::new(),
        };
        if shape == Shape::Torus {
            for (index, node) in spec.nodes.iter().enumerate() {
                if let Some((x, y)) = node
                    .description
                    .strip_prefix("switch-")
                    .and_then(|cell| cell.split_once('-'))
                {
                    let cell = [x.parse().unwrap(), y.parse().unwrap()];
                    routes.cells.insert(index, cell);
                }
            }
        }
        let is_switch = |node: NodeIdx| spec.nodes[node].kind == NodeType::Switch;
        for (at, lid) in lids {
            let (home, count) = if is_switch(at.node) {
                (*at, 1)
            } else {
                (peers[at], 2)
            };
            for lid in *lid..lid + count {
                routes.homes.insert(lid, (*at, home));
                routes.egress.insert((home.node, lid), home.port);
            }
        }
        for (lid, (_, home)) in routes.homes.clone() {
            routes.route_to(lid, home.node, &is_switch);
        }
        routes
    }

    /// Sets the output ports of all switches towards a LID.
    fn route_to(&mut self, lid: u16, home: NodeIdx, is_switch: &impl Fn(NodeIdx) -> bool) {
        let mut seen = BTreeSet::from([home]);
        let mut queue = VecDeque::from([home]);
        while let Some(node) = queue.pop_front() {
            let links = self
                .peers
                .range(PortAt::new(node, 0)..=PortAt::new(node, 254));
            let neighbours: Vec<PortAt> = links.map(|(_, there)| *there).collect();
            for there in neighbours {
                if is_switch(there.node) && seen.insert(there.node) {
                    queue.push_back(there.node);
                    let port = match self.shape {
                        Shape::Torus => self.step(there.node, home),
                        Shape::Tree | Shape::Ring => there.port,
                    };
                    self.egress.insert((there.node, lid), port);
                }
            }
        }
    }

    /// Output port from one switch of a torus towards another.
    fn step(&self, from: NodeIdx, to: NodeIdx) -> u8 {
        let (mut cell, goal) = (self.cells[&from], self.cells[&to]);
        let axis = usize::from(cell[0] == goal[0]);
        let ahead = (goal[axis] + SIDE - cell[axis]) % SIDE;
        let step = if ahead <= SIDE / 2 { 1 } else { SIDE - 1 };
        cell[axis] = (cell[axis] + step) % SIDE;
        let links = self
            .peers
            .range(PortAt::new(from, 0)..=PortAt::new(from, 254));
        let mut ports = links.filter(|(_, there)| self.cells.get(&there.node) == Some(&cell));
        ports.next().unwrap().0.port
    }

    pub(crate) fn lft(&self, node: NodeIdx) -> Vec<u8> {
        let last = *self.homes.last_key_value().unwrap().0;
        let port = |lid: u16| self.egress.get(&(node, lid)).copied();
        (0..=last).map(|lid| port(lid).unwrap_or(0xFF)).collect()
    }

    /// VL of each SL from an input to an output port; VL15 drops.
    pub(crate) fn vls(&self, output: PortAt, input: u8) -> [u8; 16] {
        let peer = self.peers.get(&output).map(|p| p.node);
        let from = self.peers.get(&PortAt::new(output.node, input));
        let is_switch = |node: &NodeIdx| self.egress.contains_key(&(*node, 2));
        let mut vls = [15; 16];
        vls[0] = 0;
        match self.shape {
            Shape::Tree => {}
            Shape::Ring => {
                let passes = from.is_some_and(|p| is_switch(&p.node)) && is_switch(&output.node);
                vls[0] = u8::from(passes);
            }
            Shape::Torus => {
                let cells = self.cells.get(&output.node);
                let cells = cells.zip(peer.and_then(|n| self.cells.get(&n)));
                for sl in 0..4u8 {
                    let axis = cells.map(|(local, remote)| u8::from(local[0] == remote[0]));
                    vls[usize::from(sl)] = axis.map_or(0, |axis| sl >> axis & 1);
                }
            }
        }
        vls[usize::from(GROUP_SL.raw())] = GROUP_VL;
        vls
    }

    /// SL of a path, if it depends on the path.
    pub(crate) fn sl_per_path(
        &self,
    ) -> Option<impl Fn(PortAt, Lid) -> Option<Sl> + Send + Sync + use<>> {
        let routes = self.clone();
        (self.shape == Shape::Torus).then_some(move |source: PortAt, dest: Lid| {
            let (_, home) = routes.homes.get(&dest.raw())?;
            let start = routes.cells[&routes.peers[&source].node];
            let goal = routes.cells[&home.node];
            let crosses = |axis: usize| {
                let ahead = (goal[axis] + SIDE - start[axis]) % SIDE;
                if ahead <= SIDE / 2 {
                    goal[axis] < start[axis]
                } else {
                    goal[axis] > start[axis]
                }
            };
            Some(Sl(u8::from(crosses(0)) | u8::from(crosses(1)) << 1))
        })
    }
}

/// Ports of each switch in a minimal tree that connects these hosts.
pub(crate) fn tree(
    switches: &[NodeIdx],
    peers: &Peers,
    members: &BTreeSet<PortAt>,
) -> BTreeMap<NodeIdx, BTreeSet<u8>> {
    let mut up: BTreeMap<NodeIdx, (PortAt, PortAt)> = BTreeMap::new();
    let mut order = vec![switches[0]];
    let mut next = 0;
    while let Some(node) = order.get(next).copied() {
        next += 1;
        for (local, remote) in peers.range(PortAt::new(node, 0)..=PortAt::new(node, 254)) {
            if switches.contains(&remote.node) && !order.contains(&remote.node) {
                order.push(remote.node);
                up.insert(remote.node, (*remote, *local));
            }
        }
    }
    let mut tree: BTreeMap<NodeIdx, BTreeSet<u8>> = BTreeMap::new();
    for member in members {
        let port = peers[member];
        tree.entry(port.node).or_default().insert(port.port);
        let mut node = port.node;
        while let Some((here, there)) = up.get(&node) {
            tree.entry(node).or_default().insert(here.port);
            tree.entry(there.node).or_default().insert(there.port);
            node = there.node;
        }
    }
    tree
}
