//! Combines the descriptions of both ports of every link.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, NodeType};
use ferrosm_mad::ids::{Lid, NodeGuid};

use super::diagnostics::{Diagnostics, SourceLine};
use super::error::{ReadErrorKind, WarningKind};
use super::read::{IbnetRecord, IbnetRecords, PortLine};
use crate::spec::{FabricSpec, LinkSpec, NodeSpec, PortAt};

/// The fabric that the records describe; reports contradictions.
pub(super) fn join(records: IbnetRecords<'_>, diagnostics: &mut Diagnostics) -> FabricSpec {
    let joiner = Joiner {
        peers: records
            .list
            .iter()
            .map(|r| peer_ports(&records, r))
            .collect(),
        records: &records,
    };
    let links = joiner.links(diagnostics);
    joiner.compare_lids(diagnostics);
    let source_lines: Vec<SourceLine> = records.list.iter().map(|r| r.at).collect();
    let nodes = records.list.into_iter().map(|r| r.spec).collect();
    let mut spec = FabricSpec { nodes, links };
    separate_chips(&mut spec, &source_lines, diagnostics);
    spec.normalise();
    check_lid_count(&spec, &source_lines, diagnostics);
    spec
}

/// The ports at the other ends of a record's links.
fn peer_ports(records: &IbnetRecords<'_>, record: &IbnetRecord<'_>) -> Vec<Option<PortAt>> {
    let by_alias = |name: &str| {
        let (node, port) = records.aliases.get(name).copied()?;
        Some(PortAt { node, port })
    };
    let find = |line: &PortLine<'_>| match line.peer.strip_prefix('@') {
        Some(name) => by_alias(name),
        None => match records.by_id.get(&line.peer) {
            Some(node) => Some(PortAt {
                node: *node,
                port: line.peer_port,
            }),
            None => by_alias(&line.peer),
        },
    };
    record.ports.iter().map(find).collect()
}

struct Joiner<'a, 'r> {
    records: &'r IbnetRecords<'a>,
    /// By record and port line: the port at the other end.
    peers: Vec<Vec<Option<PortAt>>>,
}

impl Joiner<'_, '_> {
    fn links(&self, diagnostics: &mut Diagnostics) -> Vec<LinkSpec> {
        let mut links = Vec::new();
        // Ports without a line of their own that a link leads to, with the position of that link.
        let mut undescribed: BTreeMap<PortAt, SourceLine> = BTreeMap::new();
        for (node, record) in self.records.list.iter().enumerate() {
            for (end, peer) in record.ports.iter().zip(&self.peers[node]) {
                let local = PortAt {
                    node,
                    port: end.port,
                };
                match self.other_end(local, end, *peer) {
                    Ok((peer, Some(back))) => {
                        if local <= peer {
                            links.push(self.link(local, end, peer, Some(back)));
                        }
                    }
                    Ok((peer, None)) => {
                        let id = self.id(peer);
                        let port = peer.port;
                        if let Some(first) = undescribed.insert(peer, end.at) {
                            let first = first.line();
                            diagnostics.error(end.at, ReadErrorKind::PortTaken { id, port, first });
                        } else {
                            diagnostics.warn(end.at, WarningKind::OneSided { id, port });
                            links.push(self.link(local, end, peer, None));
                        }
                    }
                    Err(ReadErrorKind::UnknownPeer(_)) if self.records.has_skipped_record => {}
                    Err(kind) => diagnostics.error(end.at, kind),
                }
            }
        }
        links
    }

    /// Reports LIDs of ports that differ between the lines of both ends of a link, and LIDs of
    /// several ports.
    fn compare_lids(&self, diagnostics: &mut Diagnostics) {
        let mut owners: BTreeMap<Lid, usize> = BTreeMap::new();
        for (node, record) in self.records.list.iter().enumerate() {
            for (lid, _) in record.spec.lids.iter().filter(|(lid, _)| *lid != Lid::NONE) {
                match owners.entry(*lid) {
                    Entry::Vacant(slot) => {
                        slot.insert(node);
                    }
                    Entry::Occupied(owner) => {
                        let other = self.records.list[*owner.get()].id.clone().into_owned();
                        let lid = *lid;
                        let id = record.id.clone().into_owned();
                        diagnostics.warn(record.at, WarningKind::SharedLid { lid, id, other });
                    }
                }
            }
            for (line, peer) in record.ports.iter().zip(&self.peers[node]) {
                let Some(peer) = *peer else { continue };
                let spec = &self.records.list[peer.node].spec;
                let end = match spec.kind {
                    NodeType::Switch => 0,
                    _ => usize::from(peer.port).saturating_sub(1),
                };
                let own = spec.lids.get(end).map_or(Lid::NONE, |(lid, _)| *lid);
                let lid = line.peer_lid;
                let id = self.id(peer);
                let port = peer.port;
                if own != Lid::NONE && lid != Lid::NONE && own != lid {
                    diagnostics.warn(line.at, WarningKind::OtherLid { id, port, lid, own });
                }
            }
        }
    }

    fn id(&self, at: PortAt) -> String {
        self.records.list[at.node].id.clone().into_owned()
    }

    /// The other port of a link and its description, if the two do not contradict.
    fn other_end(
        &self,
        local: PortAt,
        line: &PortLine<'_>,
        peer: Option<PortAt>,
    ) -> Result<(PortAt, Option<&PortLine<'_>>), ReadErrorKind> {
        let Some(peer) = peer else {
            return Err(ReadErrorKind::UnknownPeer(line.peer.clone().into_owned()));
        };
        let record = &self.records.list[peer.node];
        let ports = record.spec.num_ports;
        if peer.port == 0 || peer.port > ports {
            return Err(ReadErrorKind::NoSuchPort {
                id: self.id(peer),
                port: peer.port,
                ports,
            });
        }
        let Ok(at) = record.ports.binary_search_by_key(&peer.port, |p| p.port) else {
            return Ok((peer, None));
        };
        let back = &record.ports[at];
        if self.peers[peer.node][at] == Some(local) {
            return Ok((peer, Some(back)));
        }
        Err(ReadErrorKind::Contradiction {
            id: self.id(peer),
            port: peer.port,
            line: back.at.line(),
            other: back.peer.clone().into_owned(),
            other_port: back.peer_port,
        })
    }

    fn link(
        &self,
        local: PortAt,
        line: &PortLine<'_>,
        peer: PortAt,
        back: Option<&PortLine<'_>>,
    ) -> LinkSpec {
        // Each port has the rate of its own line, its record's default, or ibsim's default; an
        // unknown rate is taken from the other port.
        let rate = |at: PortAt, line: &PortLine<'_>| {
            let default = self.records.list[at.node].rate;
            let width = line.rate.width.or(default.width);
            let speed = line.rate.speed.or(default.speed);
            if line.rate_unknown {
                (width, speed)
            } else {
                (width.or(Some(LinkWidth(4))), speed.or(Some(LinkSpeed::Sdr)))
            }
        };
        let link_ends = [Some(rate(local, line)), back.map(|back| rate(peer, back))];
        let rates = link_ends.into_iter().flatten();
        LinkSpec {
            a: local,
            b: peer,
            width: rates
                .clone()
                .filter_map(|r| r.0)
                .min()
                .unwrap_or(LinkWidth(4)),
            speed: rates.filter_map(|r| r.1).min().unwrap_or(LinkSpeed::Sdr),
        }
    }
}

/// Gives switches that share a node GUID their port GUIDs as node GUIDs. The chips of some
/// directors have one node GUID. All readers and outputs identify nodes by node GUID.
fn separate_chips(
    spec: &mut FabricSpec,
    source_lines: &[SourceLine],
    diagnostics: &mut Diagnostics,
) {
    let mut by_guid: BTreeMap<NodeGuid, Vec<usize>> = BTreeMap::new();
    for (index, node) in spec.nodes.iter().enumerate() {
        if node.kind == NodeType::Switch {
            by_guid.entry(node.node_guid).or_default().push(index);
        }
    }
    let is_taken = |spec: &FabricSpec, guid: u64| {
        let mut nodes = spec.nodes.iter();
        nodes.any(|node| node.node_guid.0 == guid)
    };
    for (guid, chips) in by_guid.into_iter().filter(|(_, chips)| chips.len() > 1) {
        let first = chips[0];
        let switches = chips.len();
        diagnostics.warn(
            source_lines[first],
            WarningKind::SharedNodeGuid { guid, switches },
        );
        for chip in chips {
            let port_guid = spec.nodes[chip].port_guids[0].0;
            if !is_taken(spec, port_guid) {
                spec.nodes[chip].node_guid = NodeGuid(port_guid);
            }
        }
    }
}

/// Checks that there are enough LIDs for all switches and all cabled ports of other nodes.
pub(super) fn check_lid_count(
    spec: &FabricSpec,
    source_lines: &[SourceLine],
    diagnostics: &mut Diagnostics,
) {
    let mut needed: Vec<usize> = spec
        .nodes
        .iter()
        .map(|n: &NodeSpec| usize::from(n.kind == NodeType::Switch))
        .collect();
    for link in &spec.links {
        let ends = if link.a == link.b {
            [Some(link.a), None]
        } else {
            [Some(link.a), Some(link.b)]
        };
        for end in ends.into_iter().flatten() {
            if spec.nodes[end.node].kind != NodeType::Switch {
                needed[end.node] += 1;
            }
        }
    }
    let max = usize::from(Lid::UNICAST_MAX.raw());
    let all: usize = needed.iter().sum();
    if all <= max {
        return;
    }
    let mut sum = 0;
    let first = needed.iter().position(|n| {
        sum += n;
        sum > max
    });
    if let Some(at) = first.and_then(|i| source_lines.get(i)) {
        diagnostics.error(*at, ReadErrorKind::TooManyEndPorts(all));
    }
}
