//! The fabric as renderers see it: one shape, filled from a live subnet or from a fabric on paper.
//!
//! A view is a snapshot. It copies names and addresses and shares forwarding tables, so it may be rendered on another
//! thread while the subnet manager goes on. It decides nothing.

use std::sync::Arc;

use ferrosm_core::{Subnet, SubnetManager};
use ferrosm_mad::attr::{LinkSpeed, LinkWidth, NodeType, PortState};
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid, PortNum, SystemImageGuid};
use ferrosm_routing::{LastRun, Lft, SwitchIdx};
use ferrosm_sim::spec::{FabricSpec, PortAt};

/// Nodes and the cables between them.
#[derive(Debug, Clone, Default)]
pub struct View {
    /// In the order of discovery or of the file.
    pub nodes: Vec<Node>,
    /// Each cable once.
    pub links: Vec<Link>,
    /// The port that the subnet manager uses.
    pub sm: Option<At>,
    /// The routing in force, where known.
    pub lanes: Option<Lanes>,
}

/// A routing, and which switch of it each node is.
#[derive(Debug, Clone)]
pub struct Lanes {
    /// The graph and the routing.
    pub run: Arc<LastRun>,
    /// By node.
    switches: Vec<Option<SwitchIdx>>,
}

/// A port: index into [`View::nodes`] and port number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// The node.
    pub node: usize,
    /// The port.
    pub port: PortNum,
}

/// A node.
#[derive(Debug, Clone)]
pub struct Node {
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
    pub end_ports: Vec<EndPort>,
    /// The forwarding table of a switch, where known.
    pub lft: Option<Arc<Lft>>,
}

/// A port that has a GUID and may have LIDs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndPort {
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
pub struct Link {
    /// One end.
    pub a: At,
    /// The other end; may be the same port (a loopback plug).
    pub b: At,
    /// Lanes, where known.
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
pub struct Part {
    /// Its nodes, by index, in order.
    pub nodes: Vec<usize>,
    /// Its cables, by index, in order.
    pub links: Vec<usize>,
    /// Cabled ports of CAs and routers.
    pub end_ports: usize,
}

/// One end of a cable, seen from a port.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// The port.
    pub port: PortNum,
    /// The port at the other end.
    pub peer: At,
    /// The cable.
    pub link: &'a Link,
}

impl Node {
    /// Whether it is a switch.
    #[must_use]
    pub fn is_switch(&self) -> bool {
        self.kind == NodeType::Switch
    }

    /// The end port behind a port: of a switch always port 0.
    #[must_use]
    pub fn end_port(&self, port: PortNum) -> EndPort {
        let number = if self.is_switch() {
            PortNum::ZERO
        } else {
            port
        };
        self.end_ports
            .iter()
            .find(|e| e.port == number)
            .copied()
            .unwrap_or(EndPort {
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

    /// The description without what would break a line.
    #[must_use]
    pub fn name(&self) -> String {
        self.description
            .chars()
            .map(|c| if c.is_control() || c == '"' { ' ' } else { c })
            .collect()
    }
}

impl Lanes {
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

impl Link {
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

impl View {
    /// From what a subnet manager knows, with the routing in force.
    #[must_use]
    pub fn of_manager(sm: &SubnetManager) -> Self {
        let subnet = sm.subnet();
        let mut view = Self::of_subnet(subnet);
        view.lanes = sm.routing().and_then(|(run, nodes)| {
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
            Some(Lanes::new(Arc::clone(run), &nodes?))
        });
        view
    }

    /// From what a subnet manager has found.
    #[must_use]
    pub fn of_subnet(subnet: &Subnet) -> Self {
        let mut index = Vec::new();
        let mut nodes = Vec::with_capacity(subnet.node_count());
        for (idx, node) in subnet.nodes() {
            index.resize(index.len().max(idx.index() + 1), 0);
            index[idx.index()] = nodes.len();
            let end_ports = node.end_ports().filter_map(|port| {
                let p = node.ports.get(port.index())?;
                let info = p.info();
                Some(EndPort {
                    port,
                    guid: p.guid,
                    lid: info.lid,
                    lmc: info.lmc,
                })
            });
            nodes.push(Node {
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
        let at = |p: ferrosm_core::PortRef| At {
            node: index[p.node.index()],
            port: p.port,
        };
        let links = subnet.links().map(|l| {
            let known = [l.a, l.b].map(|p| subnet.port(p).filter(|p| p.known));
            let port = known.into_iter().flatten().next();
            let info = port.map(ferrosm_core::Port::info);
            let codes = known.iter().flatten().map(|p| p.info().operational_vls);
            Link {
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
            lanes: None,
        }
    }

    /// From a fabric on paper.
    #[must_use]
    pub fn of_spec(spec: &FabricSpec) -> Self {
        let nodes = spec.nodes.iter().map(|node| {
            let first = u8::from(node.kind != NodeType::Switch);
            let end_ports = node.port_guids.iter().enumerate().filter_map(|(i, guid)| {
                let port = PortNum(u8::try_from(i).ok()?.checked_add(first)?);
                let (lid, lmc) = node.lids.get(i).copied().unwrap_or_default();
                Some(EndPort {
                    port,
                    guid: *guid,
                    lid,
                    lmc,
                })
            });
            Node {
                kind: node.kind,
                description: node.description.clone(),
                guid: node.node_guid,
                system_image_guid: node.system_image_guid,
                vendor_id: node.vendor_id,
                device_id: node.device_id,
                revision: 0,
                num_ports: node.num_ports,
                enhanced_port0: node.enhanced_port0,
                end_ports: end_ports.collect(),
                lft: None,
            }
        });
        let at = |p: PortAt| At {
            node: p.node,
            port: PortNum(p.port),
        };
        let links = spec.links.iter().map(|l| Link {
            a: at(l.a),
            b: at(l.b),
            width: Some(l.width),
            speed: Some(l.speed),
            state: None,
            vls: [l.a, l.b]
                .iter()
                .filter_map(|end| data_vls(spec.nodes[end.node].caps().vl_cap))
                .min(),
        });
        Self {
            nodes: nodes.collect(),
            links: links.collect(),
            sm: None,
            lanes: None,
        }
    }

    /// Ends of cables by node, each node's in the order of its ports.
    #[must_use]
    pub fn ends(&self) -> Vec<Vec<End<'_>>> {
        let mut ends = vec![Vec::new(); self.nodes.len()];
        for link in &self.links {
            ends[link.a.node].push(End {
                port: link.a.port,
                peer: link.b,
                link,
            });
            if link.a != link.b {
                ends[link.b.node].push(End {
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
    pub fn count(&self, kind: NodeType) -> usize {
        self.nodes.iter().filter(|n| n.kind == kind).count()
    }

    /// Parts of the fabric that packets cannot leave, those with most end ports first (of equals the larger one, then the one
    /// with the earliest node). Packets go through switches, not through hosts: a host may have ports in several parts.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let ends = self.ends();
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
                parts.push(self.part_from(start, first, &links_of, &mut seen, &mut seen_link));
                continue;
            }
            for &l in &links_of[start] {
                if !seen_link[l] {
                    parts.push(self.part_from(start, &[l], &links_of, &mut seen, &mut seen_link));
                }
            }
        }
        parts.sort_by_key(|p| core::cmp::Reverse((p.end_ports, p.nodes.len())));
        parts
    }

    /// What packets reach from a node by these of its cables.
    fn part_from(
        &self,
        start: usize,
        first: &[usize],
        links_of: &[Vec<usize>],
        seen: &mut [bool],
        seen_link: &mut [bool],
    ) -> Part {
        let mut part = Part {
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
            let Link { a, b, .. } = self.links[l];
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
    pub fn only(&self, part: &Part) -> Self {
        let at = |p: At| {
            Some(At {
                node: part.nodes.binary_search(&p.node).ok()?,
                port: p.port,
            })
        };
        let links = part.links.iter().filter_map(|l| {
            let link = self.links[*l];
            Some(Link {
                a: at(link.a)?,
                b: at(link.b)?,
                ..link
            })
        });
        Self {
            links: links.collect(),
            nodes: part.nodes.iter().map(|i| self.nodes[*i].clone()).collect(),
            sm: self.sm.and_then(at),
            lanes: None,
        }
    }

    /// Whether a port is in a part; a port without a cable is where its node is.
    #[must_use]
    pub fn is_in(&self, part: &Part, port: At) -> bool {
        if self.nodes[port.node].is_switch() {
            return part.nodes.binary_search(&port.node).is_ok();
        }
        let ends = |l: &usize| self.links[*l].a == port || self.links[*l].b == port;
        part.links.iter().any(ends) || part.links.is_empty() && part.nodes == [port.node]
    }
}

/// Data VLs of a VL code (PortInfo.VLCap); `None` for codes that there are not.
fn data_vls(code: u8) -> Option<u8> {
    match code {
        1..=4 => Some(1 << (code - 1)),
        5 => Some(15),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_sim::generate::from_spec;

    #[test]
    fn a_fabric_on_paper_keeps_nodes_cables_and_addresses() {
        let mut spec = from_spec("fat-tree2:8,2,3").unwrap();
        let host = spec
            .nodes
            .iter()
            .position(|n| n.kind == NodeType::Ca)
            .unwrap();
        spec.nodes[host].lids = vec![(Lid(9), Lmc(1))];
        let view = View::of_spec(&spec);
        assert_eq!(
            (view.nodes.len(), view.links.len()),
            (spec.nodes.len(), spec.links.len())
        );
        let end = view.nodes[host].end_port(PortNum(1));
        assert_eq!(
            (end.guid, end.lid, end.lmc),
            (spec.nodes[host].port_guids[0], Lid(9), Lmc(1))
        );
        let cables: usize = view.ends().iter().map(Vec::len).sum();
        assert_eq!(cables, 2 * spec.links.len());
    }

    #[test]
    fn islands_are_told_apart_and_cut_out() {
        let spec = from_spec("ring:3,2;islands=2").unwrap();
        let view = View::of_spec(&spec);
        let parts = view.parts();
        let sizes = parts.iter().map(|p| (p.nodes.len(), p.end_ports));
        assert_eq!(sizes.collect::<Vec<_>>(), [(9, 6), (9, 6)]);
        let one = view.only(&parts[1]);
        assert_eq!(
            (one.nodes.len(), one.links.len()),
            (9, view.links.len() / 2)
        );
        assert_eq!(one.parts().len(), 1);
    }

    /// A host with a port in each of two planes is in both, each time with one cable.
    #[test]
    fn planes_are_parts_though_hosts_are_in_both() {
        let view = View::of_spec(&from_spec("fat-tree:4;planes=2;loopbacks=1").unwrap());
        let parts = view.parts();
        assert_eq!(parts.len(), 2);
        let links: usize = parts.iter().map(|p| p.links.len()).sum();
        assert_eq!(links, view.links.len(), "each cable is in one part");
        for part in &parts {
            let plane = view.only(part);
            assert_eq!(plane.count(NodeType::Switch), 20);
            assert_eq!((plane.count(NodeType::Ca), part.end_ports), (16, 16));
            assert_eq!(plane.parts().len(), 1);
            let hosts = plane.nodes.iter().zip(plane.ends());
            let mut hosts = hosts.filter(|(n, _)| !n.is_switch());
            assert!(hosts.all(|(_, ends)| ends.len() == 1));
        }
        let ports = [1, 2].map(|port| At {
            node: 0,
            port: PortNum(port),
        });
        let within = |p: &Part| ports.map(|at| view.is_in(p, at));
        assert_eq!(
            [within(&parts[0]), within(&parts[1])],
            [[true, false], [false, true]]
        );
    }

    /// A node without a cable is a part of its own.
    #[test]
    fn lonely_nodes_are_parts() {
        let mut view = View::of_spec(&from_spec("star:2").unwrap());
        view.links.pop();
        let parts = view.parts();
        let sizes = parts.iter().map(|p| (p.nodes.len(), p.end_ports));
        assert_eq!(sizes.collect::<Vec<_>>(), [(2, 1), (1, 0)]);
        view.links.pop();
        assert_eq!(view.parts().len(), 3);
    }
}
