//! The facts that are judged, and which of them are in reach.

use std::collections::VecDeque;

use ferrosm_mad::attr::{MtuCode, NodeType, PortInfo, PortState};
use ferrosm_mad::ids::{Lid, Lmc, PortNum};

use super::Expect;
use crate::fabric::Fabric;
use crate::spec::{NodeIdx, PortAt};

/// The facts about all devices at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FabricState {
    /// By node.
    pub nodes: Vec<NodeFacts>,
}

/// The facts about a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    /// What it is called in a verdict.
    pub name: String,
    /// CA, switch or router.
    pub kind: NodeType,
    /// By port number; entry 0 is a switch's port 0, and without meaning on other nodes.
    pub ports: Vec<PortFacts>,
    /// Egress ports by LID; what is missing at the end drops.
    pub lft: Vec<u8>,
    /// The highest LID that is looked up.
    pub linear_fdb_top: u16,
}

/// The facts about a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortFacts {
    /// The other end of a trained link.
    pub peer: Option<PortAt>,
    /// State of the link layer.
    pub state: PortState,
    /// Base LID (end ports).
    pub lid: Lid,
    /// LMC (end ports).
    pub lmc: Lmc,
    /// LID of the master (end ports).
    pub master_sm_lid: Lid,
    /// MTU in use.
    pub neighbor_mtu: MtuCode,
    /// Largest MTU that the port can do.
    pub mtu_cap: MtuCode,
    /// Lanes in use, coded.
    pub operational_vls: u8,
    /// Lanes that the port can do, coded.
    pub vl_cap: u8,
}

impl From<(&PortInfo, Option<PortAt>)> for PortFacts {
    fn from((info, peer): (&PortInfo, Option<PortAt>)) -> Self {
        Self {
            peer,
            state: info.port_state,
            lid: info.lid,
            lmc: info.lmc,
            master_sm_lid: info.master_sm_lid,
            neighbor_mtu: info.neighbor_mtu,
            mtu_cap: info.mtu_cap,
            operational_vls: info.operational_vls,
            vl_cap: info.vl_cap,
        }
    }
}

impl From<&Fabric> for FabricState {
    fn from(fabric: &Fabric) -> Self {
        let node = |node: NodeIdx| NodeFacts {
            name: fabric.description(node).to_string(),
            kind: fabric.kind(node),
            ports: (0..=fabric.num_ports(node))
                .map(|port| {
                    let at = PortAt { node, port };
                    let info = fabric.port_info(at).unwrap_or_default();
                    PortFacts::from((&info, fabric.peer(at)))
                })
                .collect(),
            lft: fabric.lft(node).to_vec(),
            linear_fdb_top: fabric
                .switch_info(node)
                .map_or(0, |info| info.linear_fdb_top),
        };
        Self {
            nodes: (0..fabric.num_nodes()).map(node).collect(),
        }
    }
}

impl NodeFacts {
    /// Whether it forwards.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.kind == NodeType::Switch
    }

    /// Where the tables send a LID; 0xFF drops.
    #[must_use]
    pub fn egress(&self, lid: u16) -> PortNum {
        if lid > self.linear_fdb_top {
            return PortNum::DROP;
        }
        PortNum(
            self.lft
                .get(usize::from(lid))
                .copied()
                .unwrap_or(PortNum::DROP.0),
        )
    }
}

impl FabricState {
    /// The facts about a port, if it exists.
    #[must_use]
    pub fn port(&self, at: PortAt) -> Option<&PortFacts> {
        self.nodes.get(at.node)?.ports.get(usize::from(at.port))
    }

    /// `name[port]`.
    #[must_use]
    pub fn name(&self, at: PortAt) -> String {
        let name = self.nodes.get(at.node).map_or("?", |n| n.name.as_str());
        format!("{name}[{}]", at.port)
    }
}

/// What the subnet manager can reach and must look after.
pub(super) struct Scope<'a> {
    pub(super) state: &'a FabricState,
    /// By node.
    pub(super) switches: Vec<NodeIdx>,
    /// Sorted: port 0 of switches, and the ports of other nodes by which they were reached.
    pub(super) end_ports: Vec<PortAt>,
    /// Each live link once, the lower end first.
    pub(super) links: Vec<(PortAt, PortAt)>,
    /// For each switch, whether an end port of another node is cabled to it; by node.
    pub(super) is_edge: Vec<bool>,
}

impl<'a> Scope<'a> {
    /// `None` if the manager's port does not exist.
    pub(super) fn new(state: &'a FabricState, expect: &Expect) -> Option<Self> {
        let start = state.port(expect.sm)?;
        let mut scope = Self {
            state,
            switches: Vec::new(),
            end_ports: Vec::new(),
            links: Vec::new(),
            is_edge: vec![false; state.nodes.len()],
        };
        let mut seen = vec![false; state.nodes.len()];
        let mut queue = VecDeque::new();
        let arrive =
            |at: PortAt, scope: &mut Self, seen: &mut [bool], queue: &mut VecDeque<NodeIdx>| {
                if !state.nodes[at.node].is_switch() {
                    scope.end_ports.push(at);
                } else if !seen[at.node] {
                    seen[at.node] = true;
                    scope.switches.push(at.node);
                    scope.end_ports.push(PortAt {
                        node: at.node,
                        port: 0,
                    });
                    queue.push_back(at.node);
                }
            };
        arrive(expect.sm, &mut scope, &mut seen, &mut queue);
        let judged = |at: &PortAt| !expect.quarantined.contains(&at.node);
        if !state.nodes[expect.sm.node].is_switch()
            && let Some(peer) = start.peer.filter(judged)
        {
            if !state.nodes[peer.node].is_switch() {
                scope.links.push((expect.sm.min(peer), expect.sm.max(peer)));
            }
            arrive(peer, &mut scope, &mut seen, &mut queue);
        }
        while let Some(node) = queue.pop_front() {
            for (port, facts) in (0u8..=254).zip(&state.nodes[node].ports).skip(1) {
                let here = PortAt { node, port };
                let Some(peer) = facts.peer.filter(judged) else {
                    continue;
                };
                let from_switch = state.nodes[peer.node].is_switch();
                scope.is_edge[node] |= !from_switch;
                if !from_switch || here <= peer {
                    scope.links.push((here.min(peer), here.max(peer)));
                }
                arrive(peer, &mut scope, &mut seen, &mut queue);
            }
        }
        scope.switches.sort_unstable();
        scope.end_ports.sort_unstable();
        scope.end_ports.dedup();
        scope.links.sort_unstable();
        Some(scope)
    }

    /// The facts about a port that is known to exist.
    pub(super) fn port(&self, at: PortAt) -> &PortFacts {
        &self.state.nodes[at.node].ports[usize::from(at.port)]
    }
}
