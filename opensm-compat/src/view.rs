//! Snapshot of nodes, links and routing for dumps, tables and diagrams.
//!
//! A view copies names and addresses and shares LFTs, so another thread may render it while the SM
//! continues.

use std::sync::Arc;

use ferrosm_core::SubnetManager;
use ferrosm_fabric::observed::ObservedFabric;
use ferrosm_mad::attr::{LinkSpeed, LinkWidth, NodeType, PortInfo, PortState};
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid, PortNum, SystemImageGuid};
use ferrosm_routing::{Lft, SwitchIdx, VerifiedRun};

/// Nodes and links.
#[derive(Debug, Clone, Default)]
pub struct FabricView {
    /// In the order of discovery, or of the file.
    pub nodes: Vec<FabricNode>,
    /// Each link once.
    pub links: Vec<FabricLink>,
    /// The SM's port.
    pub sm: Option<PortLocation>,
    /// The installed routing, if known.
    pub routing: Option<InstalledRouting>,
}

/// The installed routing, with the switch index of each node.
#[derive(Debug, Clone)]
pub struct InstalledRouting {
    /// The graph and the routing.
    pub run: Arc<VerifiedRun>,
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
    /// SystemImageGUID.
    pub system_image_guid: SystemImageGuid,
    /// VendorID.
    pub vendor_id: u32,
    /// DeviceID.
    pub device_id: u16,
    /// Revision.
    pub revision: u32,
    /// Number of physical ports.
    pub num_ports: u8,
    /// Whether a switch's port 0 is enhanced.
    pub enhanced_port0: bool,
    /// Known end ports by number: port 0 of a switch, ports from 1 of other nodes.
    pub end_ports: Vec<FabricEndPort>,
    /// The LFT of a switch, if known.
    pub lft: Option<Arc<Lft>>,
}

/// A port with a GUID that may have LIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FabricEndPort {
    /// Port number.
    pub port: PortNum,
    /// Its GUID.
    pub guid: PortGuid,
    /// Base LID; 0 for none.
    pub lid: Lid,
    /// It has 2^LMC LIDs.
    pub lmc: Lmc,
}

/// A link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FabricLink {
    /// One end.
    pub a: PortLocation,
    /// The other end; the same port for a loopback plug.
    pub b: PortLocation,
    /// Width, if known.
    pub width: Option<LinkWidth>,
    /// Speed per lane, if known.
    pub speed: Option<LinkSpeed>,
    /// Link state at end `a`; `None` offline.
    pub state: Option<PortState>,
    /// Data VLs of both ends, if known.
    pub vls: Option<u8>,
}

/// A connected component of the fabric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedComponent {
    /// Nodes by index, ascending.
    pub nodes: Vec<usize>,
    /// Links by index, ascending.
    pub links: Vec<usize>,
    /// Ports of CAs and routers with a link.
    pub end_ports: usize,
}

/// One end of a link, seen from its port.
#[derive(Debug, Clone, Copy)]
pub struct FabricLinkEnd<'a> {
    /// The port.
    pub port: PortNum,
    /// The port at the other end.
    pub peer: PortLocation,
    /// The link.
    pub link: &'a FabricLink,
}

impl FabricNode {
    /// Whether it is a switch.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.kind == NodeType::Switch
    }

    /// The end port that owns the LID of a port: port 0 for a switch.
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

    /// Node type and ID letter as in infiniband-diags: `Switch`, `Ca` or `Rt`.
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
        let lids = self.end_ports.iter().map(|end_port| end_port.lid);
        let lids: Vec<String> = lids
            .filter(|lid| lid.0 != 0)
            .map(|lid| lid.to_string())
            .collect();
        (!lids.is_empty()).then(|| lids.join(", "))
    }

    /// The description without control characters and quotes.
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
    pub fn new(run: Arc<VerifiedRun>, nodes: &[usize]) -> Self {
        let mut switches = Vec::new();
        for (s, node) in run.topo.switches().zip(nodes) {
            if switches.len() <= *node {
                switches.resize(node + 1, None);
            }
            switches[*node] = Some(s);
        }
        Self { run, switches }
    }

    /// The switch of a node in the routing.
    #[must_use]
    pub fn switch(&self, node: usize) -> Option<SwitchIdx> {
        self.switches.get(node).copied().flatten()
    }
}

impl FabricLink {
    /// Rate in Mb/s, if known.
    #[must_use]
    pub fn mbps(&self) -> Option<u32> {
        Some(u32::from(self.width?.0) * self.speed?.mbps())
    }

    /// Width and speed such as `4xHDR`, with `?` for unknown.
    #[must_use]
    pub fn rate(&self) -> String {
        let width = self
            .width
            .map_or_else(|| "?x".to_owned(), |w| format!("{}x", w.0));
        format!("{width}{}", self.speed.map_or("?", LinkSpeed::name))
    }
}

impl FabricView {
    /// From the SM's state, with the installed routing.
    #[must_use]
    pub fn from_manager(sm: &SubnetManager) -> Self {
        let subnet = sm.fabric();
        let mut view = Self::from_subnet(subnet);
        view.routing = sm.routing().and_then(|(run, nodes)| {
            let mut position = Vec::new();
            // Nodes of a view are in the order of the subnet.
            for (at, (idx, _)) in subnet.nodes().enumerate() {
                position.resize(position.len().max(idx.index() + 1), None);
                position[idx.index()] = Some(at);
            }
            let nodes = nodes
                .iter()
                .map(|n| position.get(n.index()).copied().flatten());
            let nodes: Option<Vec<usize>> = nodes.collect();
            Some(InstalledRouting::new(Arc::clone(run), &nodes?))
        });
        view
    }

    /// From the observed fabric.
    #[must_use]
    pub fn from_subnet(subnet: &ObservedFabric) -> Self {
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
        let location = |p: ferrosm_fabric::observed::PortRef| PortLocation {
            node: index[p.node.index()],
            port: p.port,
        };
        let links = subnet.links().map(|l| {
            let ports_read = [l.a, l.b].map(|p| subnet.port(p).filter(|p| p.known));
            let port = ports_read.into_iter().flatten().next();
            let info = port.map(ferrosm_fabric::observed::Port::info);
            let codes = ports_read
                .iter()
                .flatten()
                .map(|p| PortInfo::operational_vls.read(&p.raw));
            FabricLink {
                a: location(l.a),
                b: location(l.b),
                width: info.and_then(|i| i.width()),
                speed: port.and_then(ferrosm_fabric::observed::Port::speed),
                state: info.map(|i| i.port_state),
                vls: codes.filter_map(data_vls).min(),
            }
        });
        Self {
            nodes,
            links: links.collect(),
            sm: subnet.local().map(location),
            routing: None,
        }
    }

    /// Link ends by node, each node's sorted by port.
    #[must_use]
    pub fn link_ends(&self) -> Vec<Vec<FabricLinkEnd<'_>>> {
        let mut ends_by_node = vec![Vec::new(); self.nodes.len()];
        for link in &self.links {
            ends_by_node[link.a.node].push(FabricLinkEnd {
                port: link.a.port,
                peer: link.b,
                link,
            });
            if link.a != link.b {
                ends_by_node[link.b.node].push(FabricLinkEnd {
                    port: link.b.port,
                    peer: link.a,
                    link,
                });
            }
        }
        for node_ends in &mut ends_by_node {
            node_ends.sort_by_key(|e| e.port);
        }
        ends_by_node
    }

    /// Number of nodes of a type.
    #[must_use]
    pub fn count_nodes(&self, kind: NodeType) -> usize {
        self.nodes.iter().filter(|n| n.kind == kind).count()
    }

    /// Connected components, by number of end ports (then by number of nodes, then by first node).
    /// Packets pass through switches, not through hosts: a host may have ports in several
    /// components.
    #[must_use]
    pub fn components(&self) -> Vec<ConnectedComponent> {
        let link_ends = self.link_ends();
        let mut visited = vec![false; self.nodes.len()];
        let mut seen_link = vec![false; self.links.len()];
        // Indices of the links of each node, ascending.
        let mut links_of = vec![Vec::new(); self.nodes.len()];
        for (l, link) in self.links.iter().enumerate() {
            links_of[link.a.node].push(l);
            if link.a.node != link.b.node {
                links_of[link.b.node].push(l);
            }
        }
        let mut all_components = Vec::new();
        for start in 0..self.nodes.len() {
            let is_switch = self.nodes[start].is_switch();
            let is_unconnected = link_ends[start].is_empty();
            if is_switch && visited[start] {
                continue;
            }
            if is_switch || is_unconnected {
                let first = if is_switch { &links_of[start][..] } else { &[] };
                visited[start] = true;
                all_components.push(self.component_from(
                    start,
                    first,
                    &links_of,
                    &mut visited,
                    &mut seen_link,
                ));
                continue;
            }
            for &l in &links_of[start] {
                if !seen_link[l] {
                    all_components.push(self.component_from(
                        start,
                        &[l],
                        &links_of,
                        &mut visited,
                        &mut seen_link,
                    ));
                }
            }
        }
        all_components.sort_by_key(|c| core::cmp::Reverse((c.end_ports, c.nodes.len())));
        all_components
    }

    /// The component that packets from a node reach over the given links.
    fn component_from(
        &self,
        start: usize,
        first: &[usize],
        links_of: &[Vec<usize>],
        visited: &mut [bool],
        seen_link: &mut [bool],
    ) -> ConnectedComponent {
        let mut component = ConnectedComponent {
            nodes: vec![start],
            links: Vec::new(),
            end_ports: 0,
        };
        let mut queue: Vec<usize> = first.to_vec();
        while let Some(l) = queue.pop() {
            if core::mem::replace(&mut seen_link[l], true) {
                continue;
            }
            component.links.push(l);
            let FabricLink { a, b, .. } = self.links[l];
            for location in [Some(a), (a != b).then_some(b)].into_iter().flatten() {
                component.nodes.push(location.node);
                if !self.nodes[location.node].is_switch() {
                    component.end_ports += 1;
                } else if !core::mem::replace(&mut visited[location.node], true) {
                    queue.extend(links_of[location.node].iter().filter(|l| !seen_link[**l]));
                }
            }
        }
        component.nodes.sort_unstable();
        component.nodes.dedup();
        component.links.sort_unstable();
        component
    }

    /// Restricts the view to a component.
    #[must_use]
    pub fn restricted_to(&self, component: &ConnectedComponent) -> Self {
        let location = |p: PortLocation| {
            Some(PortLocation {
                node: component.nodes.binary_search(&p.node).ok()?,
                port: p.port,
            })
        };
        let links = component.links.iter().filter_map(|l| {
            let link = self.links[*l];
            Some(FabricLink {
                a: location(link.a)?,
                b: location(link.b)?,
                ..link
            })
        });
        Self {
            links: links.collect(),
            nodes: component
                .nodes
                .iter()
                .map(|i| self.nodes[*i].clone())
                .collect(),
            sm: self.sm.and_then(location),
            routing: None,
        }
    }

    /// Whether a component contains a port. A port of a node without links belongs to that node's
    /// component; an unconnected CA port beside a linked one to none.
    #[must_use]
    pub fn component_contains(&self, component: &ConnectedComponent, port: PortLocation) -> bool {
        if self.nodes[port.node].is_switch() {
            return component.nodes.binary_search(&port.node).is_ok();
        }
        let is_at_port = |l: &usize| self.links[*l].a == port || self.links[*l].b == port;
        component.links.iter().any(is_at_port)
            || component.links.is_empty() && component.nodes == [port.node]
    }
}

/// Number of data VLs of a VLCap code; `None` for reserved codes.
#[must_use]
pub const fn data_vls(code: u8) -> Option<u8> {
    match code {
        1..=4 => Some(1 << (code - 1)),
        5 => Some(15),
        _ => None,
    }
}
