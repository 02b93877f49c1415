//! The fabric as writers of dumps, tables and pictures see it: a snapshot of nodes, links and routing.
//!
//! A view copies names and addresses and shares forwarding tables, so it may be rendered on another thread while the subnet manager
//! goes on.

use std::sync::Arc;

use ferrosm_core::{Subnet, SubnetManager};
use ferrosm_mad::attr::{LinkSpeed, LinkWidth, NodeType, PortState};
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid, PortNum, SystemImageGuid};
use ferrosm_routing::{LastRun, Lft, SwitchIdx};

/// Nodes and the cables between them.
#[derive(Debug, Clone, Default)]
pub struct FabricView {
    /// In the order of discovery or of the file.
    pub nodes: Vec<FabricNode>,
    /// Each cable once.
    pub links: Vec<FabricLink>,
    /// The port that the subnet manager uses.
    pub sm: Option<PortLocation>,
    /// The routing in force, where known.
    pub routing: Option<InstalledRouting>,
}

/// A routing, and which switch of it each node is.
#[derive(Debug, Clone)]
pub struct InstalledRouting {
    /// The graph and the routing.
    pub run: Arc<LastRun>,
    /// By node.
    switches: Vec<Option<SwitchIdx>>,
}

/// A port: index into [`FabricView::nodes`] and port number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortLocation {
    /// The node.
    pub node: usize,
    /// The port.
    pub port: PortNum,
}

/// A node.
#[derive(Debug, Clone)]
pub struct FabricNode {
    /// CA, switch or router.
    pub kind: NodeType,
    /// NodeDescription.
    pub description: String,
    /// Node GUID.
    pub guid: NodeGuid,
    /// System image GUID.
    pub system_image_guid: SystemImageGuid,
    /// Vendor.
    pub vendor_id: u32,
    /// Product.
    pub device_id: u16,
    /// Revision of the product.
    pub revision: u32,
    /// Physical ports.
    pub num_ports: u8,
    /// A switch's port 0 is enhanced.
    pub enhanced_port0: bool,
    /// End ports that are known, by number: a switch's port 0, others' ports 1, 2, ...
    pub end_ports: Vec<FabricEndPort>,
    /// The forwarding table of a switch, where known.
    pub lft: Option<Arc<Lft>>,
}

/// A port that has a GUID and may have LIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FabricEndPort {
    /// Its number.
    pub port: PortNum,
    /// Its GUID.
    pub guid: PortGuid,
    /// Its base LID; 0 is none.
    pub lid: Lid,
    /// It has 2^LMC LIDs.
    pub lmc: Lmc,
}

/// A cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FabricLink {
    /// One end.
    pub a: PortLocation,
    /// The other end; may be the same port (a loopback plug).
    pub b: PortLocation,
    /// InstalledRouting, where known.
    pub width: Option<LinkWidth>,
    /// Speed of a lane, where known.
    pub speed: Option<LinkSpeed>,
    /// State of the link layer at end `a`; `None` on paper.
    pub state: Option<PortState>,
    /// Data VLs that both ends have, where known.
    pub vls: Option<u8>,
}

/// A part of a fabric that packets cannot leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedComponent {
    /// Its nodes, by index, in order.
    pub nodes: Vec<usize>,
    /// Its cables, by index, in order.
    pub links: Vec<usize>,
    /// Cabled ports of CAs and routers.
    pub end_ports: usize,
}

/// One end of a cable, seen from a port.
#[derive(Debug, Clone, Copy)]
pub struct FabricLinkEnd<'a> {
    /// The port.
    pub port: PortNum,
    /// The port at the other end.
    pub peer: PortLocation,
    /// The cable.
    pub link: &'a FabricLink,
}

impl FabricNode {
    /// Whether it is a switch.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.kind == NodeType::Switch
    }

    /// The end port behind a port: of a switch always port 0.
    #[must_use]
    pub fn end_port(&self, port: PortNum) -> FabricEndPort {
        let number = if self.is_switch() {
            PortNum::ZERO
        } else {
            port
        };
        self.end_ports
            .iter()
            .find(|e| e.port == number)
            .copied()
            .unwrap_or(FabricEndPort {
                port: number,
                guid: PortGuid(self.guid.0),
                lid: Lid::NONE,
                lmc: Lmc(0),
            })
    }

    /// `Switch`, `Ca` or `Rt`, and the letter of ids: infiniband-diags' words.
    #[must_use]
    pub fn diags_kind(&self) -> (&'static str, char) {
        match self.kind {
            NodeType::Switch => ("Switch", 'S'),
            NodeType::Router => ("Rt", 'R'),
            _ => ("Ca", 'H'),
        }
    }

    /// The base LIDs of its end ports, separated by commas; `None` without a LID.
    #[must_use]
    pub fn lids(&self) -> Option<String> {
        let lids = self.end_ports.iter().map(|end| end.lid);
        let lids: Vec<String> = lids
            .filter(|lid| lid.0 != 0)
            .map(|lid| lid.to_string())
            .collect();
        (!lids.is_empty()).then(|| lids.join(", "))
    }

    /// The description without what would break a line.
    #[must_use]
    pub fn name(&self) -> String {
        self.description
            .chars()
            .map(|c| if c.is_control() || c == '"' { ' ' } else { c })
            .collect()
    }
}

impl InstalledRouting {
    /// From the node of each switch of the graph.
    #[must_use]
    pub fn new(run: Arc<LastRun>, nodes: &[usize]) -> Self {
        let mut switches = Vec::new();
        for (s, node) in run.topo.switches().zip(nodes) {
            if switches.len() <= *node {
                switches.resize(node + 1, None);
            }
            switches[*node] = Some(s);
        }
        Self { run, switches }
    }

    /// The switch that a node is.
    #[must_use]
    pub fn switch(&self, node: usize) -> Option<SwitchIdx> {
        self.switches.get(node).copied().flatten()
    }
}

impl FabricLink {
    /// Mb/s, where known.
    #[must_use]
    pub fn mbps(&self) -> Option<u32> {
        Some(u32::from(self.width?.0) * self.speed?.mbps())
    }

    /// `4xHDR`, with `?` for what is not known.
    #[must_use]
    pub fn rate(&self) -> String {
        let width = self
            .width
            .map_or_else(|| "?x".to_owned(), |w| format!("{}x", w.0));
        format!("{width}{}", self.speed.map_or("?", LinkSpeed::name))
    }
}

impl FabricView {
    /// From what a subnet manager knows, with the routing in force.
    #[must_use]
    pub fn from_manager(sm: &SubnetManager) -> Self {
        let subnet = sm.subnet();
        let mut view = Self::from_subnet(subnet);
        view.routing = sm.routing().and_then(|(run, nodes)| {
            let mut place = Vec::new();
            // Nodes of a view are in the order of the subnet.
            for (at, (idx, _)) in subnet.nodes().enumerate() {
                place.resize(place.len().max(idx.index() + 1), None);
                place[idx.index()] = Some(at);
            }
            let nodes = nodes
                .iter()
                .map(|n| place.get(n.index()).copied().flatten());
            let nodes: Option<Vec<usize>> = nodes.collect();
            Some(InstalledRouting::new(Arc::clone(run), &nodes?))
        });
        view
    }

    /// From what a subnet manager has found.
    #[must_use]
    pub fn from_subnet(subnet: &Subnet) -> Self {
        let mut index = Vec::new();
        let mut nodes = Vec::with_capacity(subnet.node_count());
        for (idx, node) in subnet.nodes() {
            index.resize(index.len().max(idx.index() + 1), 0);
            index[idx.index()] = nodes.len();
            let end_ports = node.end_ports().filter_map(|port| {
                let p = node.ports.get(port.index())?;
                let info = p.info();
                Some(FabricEndPort {
                    port,
                    guid: p.guid,
                    lid: info.lid,
                    lmc: info.lmc,
                })
            });
            nodes.push(FabricNode {
                kind: node.info.node_type,
                description: node.description.to_string(),
                guid: node.info.node_guid,
                system_image_guid: node.info.system_image_guid,
                vendor_id: node.info.vendor_id,
                device_id: node.info.device_id,
                revision: node.info.revision,
                num_ports: node.info.num_ports,
                enhanced_port0: node.switch_info().is_some_and(|s| s.enhanced_port0),
                end_ports: end_ports.collect(),
                lft: node.installed.clone(),
            });
        }
        let at = |p: ferrosm_core::PortRef| PortLocation {
            node: index[p.node.index()],
            port: p.port,
        };
        let links = subnet.links().map(|l| {
            let known = [l.a, l.b].map(|p| subnet.port(p).filter(|p| p.known));
            let port = known.into_iter().flatten().next();
            let info = port.map(ferrosm_core::Port::info);
            let codes = known.iter().flatten().map(|p| p.info().operational_vls);
            FabricLink {
                a: at(l.a),
                b: at(l.b),
                width: info.and_then(|i| i.width()),
                speed: port.and_then(ferrosm_core::Port::speed),
                state: info.map(|i| i.port_state),
                vls: codes.filter_map(data_vls).min(),
            }
        });
        Self {
            nodes,
            links: links.collect(),
            sm: subnet.local().map(at),
            routing: None,
        }
    }

    /// Ends of cables by node, each node's in the order of its ports.
    #[must_use]
    pub fn link_ends(&self) -> Vec<Vec<FabricLinkEnd<'_>>> {
        let mut ends = vec![Vec::new(); self.nodes.len()];
        for link in &self.links {
            ends[link.a.node].push(FabricLinkEnd {
                port: link.a.port,
                peer: link.b,
                link,
            });
            if link.a != link.b {
                ends[link.b.node].push(FabricLinkEnd {
                    port: link.b.port,
                    peer: link.a,
                    link,
                });
            }
        }
        for of_node in &mut ends {
            of_node.sort_by_key(|e| e.port);
        }
        ends
    }

    /// How many nodes are of a kind.
    #[must_use]
    pub fn count_nodes(&self, kind: NodeType) -> usize {
        self.nodes.iter().filter(|n| n.kind == kind).count()
    }

    /// Parts of the fabric that packets cannot leave, those with most end ports first (of equals the larger one, then the one
    /// with the earliest node). Packets go through switches, not through hosts: a host may have ports in several parts.
    #[must_use]
    pub fn components(&self) -> Vec<ConnectedComponent> {
        let ends = self.link_ends();
        let mut seen = vec![false; self.nodes.len()];
        let mut seen_link = vec![false; self.links.len()];
        // Links by node, as `ends` has them.
        let mut links_of = vec![Vec::new(); self.nodes.len()];
        for (l, link) in self.links.iter().enumerate() {
            links_of[link.a.node].push(l);
            if link.a.node != link.b.node {
                links_of[link.b.node].push(l);
            }
        }
        let mut parts = Vec::new();
        for start in 0..self.nodes.len() {
            let is_switch = self.nodes[start].is_switch();
            let uncabled = ends[start].is_empty();
            if is_switch && seen[start] {
                continue;
            }
            if is_switch || uncabled {
                let first = if is_switch { &links_of[start][..] } else { &[] };
                seen[start] = true;
                parts.push(self.component_from(start, first, &links_of, &mut seen, &mut seen_link));
                continue;
            }
            for &l in &links_of[start] {
                if !seen_link[l] {
                    parts.push(self.component_from(
                        start,
                        &[l],
                        &links_of,
                        &mut seen,
                        &mut seen_link,
                    ));
                }
            }
        }
        parts.sort_by_key(|p| core::cmp::Reverse((p.end_ports, p.nodes.len())));
        parts
    }

    /// What packets reach from a node by these of its cables.
    fn component_from(
        &self,
        start: usize,
        first: &[usize],
        links_of: &[Vec<usize>],
        seen: &mut [bool],
        seen_link: &mut [bool],
    ) -> ConnectedComponent {
        let mut part = ConnectedComponent {
            nodes: vec![start],
            links: Vec::new(),
            end_ports: 0,
        };
        let mut queue: Vec<usize> = first.to_vec();
        while let Some(l) = queue.pop() {
            if core::mem::replace(&mut seen_link[l], true) {
                continue;
            }
            part.links.push(l);
            let FabricLink { a, b, .. } = self.links[l];
            for end in [Some(a), (a != b).then_some(b)].into_iter().flatten() {
                part.nodes.push(end.node);
                if !self.nodes[end.node].is_switch() {
                    part.end_ports += 1;
                } else if !core::mem::replace(&mut seen[end.node], true) {
                    queue.extend(links_of[end.node].iter().filter(|l| !seen_link[**l]));
                }
            }
        }
        part.nodes.sort_unstable();
        part.nodes.dedup();
        part.links.sort_unstable();
        part
    }

    /// Only this part.
    #[must_use]
    pub fn restricted_to(&self, part: &ConnectedComponent) -> Self {
        let at = |p: PortLocation| {
            Some(PortLocation {
                node: part.nodes.binary_search(&p.node).ok()?,
                port: p.port,
            })
        };
        let links = part.links.iter().filter_map(|l| {
            let link = self.links[*l];
            Some(FabricLink {
                a: at(link.a)?,
                b: at(link.b)?,
                ..link
            })
        });
        Self {
            links: links.collect(),
            nodes: part.nodes.iter().map(|i| self.nodes[*i].clone()).collect(),
            sm: self.sm.and_then(at),
            routing: None,
        }
    }

    /// Whether a port is in a part; a port without a cable is where its node is.
    #[must_use]
    pub fn component_contains(&self, part: &ConnectedComponent, port: PortLocation) -> bool {
        if self.nodes[port.node].is_switch() {
            return part.nodes.binary_search(&port.node).is_ok();
        }
        let ends = |l: &usize| self.links[*l].a == port || self.links[*l].b == port;
        part.links.iter().any(ends) || part.links.is_empty() && part.nodes == [port.node]
    }
}

/// Data VLs of a VL code (PortInfo.VLCap); `None` for reserved codes.
#[must_use]
pub const fn data_vls(code: u8) -> Option<u8> {
    match code {
        1..=4 => Some(1 << (code - 1)),
        5 => Some(15),
        _ => None,
    }
}
