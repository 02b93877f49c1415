//! The nodes and cables of a fabric.

use ferrosm_api::fabric::{Link, LinkState, Node, NodeKind, Presence};
use ferrosm_fabric::snapshot::{PortIdx, Snapshot};
use std::collections::BTreeMap;

/// A port: the index of its node, and its number.
pub type CabledPort = (usize, u8);

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CabledNode {
    pub guid: u64,
    /// NodeDescription.
    pub name: String,
    pub is_switch: bool,
}

/// The nodes and cables of a fabric.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CabledFabric {
    pub nodes: Vec<CabledNode>,
    /// The other end of the cable at each port that has one.
    pub peers: BTreeMap<CabledPort, CabledPort>,
}

impl CabledFabric {
    /// The fabric that a service answers with: its nodes, and its links that are not down.
    #[must_use]
    pub fn of_answers(nodes: &[Node], links: &[Link]) -> Self {
        let guid = |text: &str| {
            let hex = text.strip_prefix("0x").unwrap_or(text);
            u64::from_str_radix(hex, 16).unwrap_or(0)
        };
        let mut fabric = Self::default();
        let mut index = BTreeMap::new();
        let present = nodes.iter().filter(|node| node.state == Presence::Present);
        for node in present {
            index.insert(guid(&node.guid), fabric.nodes.len());
            fabric.nodes.push(CabledNode {
                guid: guid(&node.guid),
                name: node.name.clone(),
                is_switch: node.kind == NodeKind::Switch,
            });
        }
        for link in links.iter().filter(|link| link.state != LinkState::Down) {
            let [a, b] = [&link.a, &link.b].map(|end| {
                let node = index.get(&guid(&end.guid)).copied();
                node.map(|node| (node, end.port))
            });
            if let Some((a, b)) = a.zip(b) {
                fabric.connect(a, b);
            }
        }
        fabric
    }

    /// The fabric of a snapshot.
    #[must_use]
    pub fn of_snapshot(snapshot: &Snapshot) -> Self {
        let mut fabric = Self::default();
        let mut index = BTreeMap::new();
        for slot in snapshot.slots() {
            let node = snapshot.node(slot);
            index.insert(slot, fabric.nodes.len());
            fabric.nodes.push(CabledNode {
                guid: node.guid.0,
                name: node.name(),
                is_switch: node.is_switch(),
            });
        }
        for link in snapshot.links() {
            let port = |at: PortIdx| (index[&at.node()], at.num().0);
            fabric.connect(port(link.a), port(link.b));
        }
        fabric
    }

    /// Adds a cable.
    pub fn connect(&mut self, a: CabledPort, b: CabledPort) {
        self.peers.insert(a, b);
        self.peers.insert(b, a);
    }

    /// A port, as in `leaf-0-0/5`.
    #[must_use]
    pub fn location(&self, (node, port): CabledPort) -> String {
        let node = &self.nodes[node];
        match node.name.is_empty() {
            true => format!("{:#018x}/{port}", node.guid),
            false => format!("{}/{port}", node.name),
        }
    }

    /// A cable, as in `leaf-0-0/5 - spine-0-0/1`.
    #[must_use]
    pub fn cable(&self, a: CabledPort, b: CabledPort) -> String {
        format!("{} - {}", self.location(a), self.location(b))
    }

    /// Whether a cable connects two switches.
    #[must_use]
    pub fn is_between_switches(&self, a: CabledPort, b: CabledPort) -> bool {
        [a, b].iter().all(|(node, _)| self.nodes[*node].is_switch)
    }
}
