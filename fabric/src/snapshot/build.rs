//! Builds a [`Snapshot`] from the observed fabric and the previous snapshot. Pure; takes time
//! linear in the ports of nodes that changed and in the number of all nodes and links.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::attr::{MtuCode, NodeType, PortInfo};
use ferrosm_mad::ids::{GidPrefix, Lid, Lmc, NodeGuid, PortNum};
use ferrosm_mad::sa::path::RateCode;
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_routing::VerifiedRun;

use super::end_ports::EndPortTable;
use super::forwarding::ForwardingNode;
use super::service_levels::ServiceLevels;
use super::{
    EndPort, NodeSlot, PortIdx, Snapshot, SnapshotLink, SnapshotNode, SnapshotPort, SnapshotSwitch,
    system_images,
};
use crate::aliases::AliasTables;
use crate::observed::{Node, NodeIdx, ObservedFabric, Port, PortRef};
use crate::pkey_set::PKeySet;
use crate::routing_origin::RoutingOrigin;

/// Contents of a snapshot other than the observed fabric.
#[derive(Debug, Clone, Default)]
pub struct SnapshotExtras {
    /// Subnet prefix: the upper half of GIDs.
    pub prefix: GidPrefix,
    /// The installed routing, and the slot of each of its switches.
    pub run: Option<(Arc<VerifiedRun>, Vec<usize>)>,
    pub origin: Option<Arc<RoutingOrigin>>,
    /// SMInfoRecords of all SMs, this one first.
    pub sms: Vec<SmInfoRecord>,
    /// Alias GUIDs.
    pub aliases: Arc<AliasTables>,
}

/// Builds a snapshot from the fabric and the previous snapshot.
struct SnapshotBuilder<'a, K> {
    fabric: &'a ObservedFabric,
    /// The P_Keys of an end port; `None` if unknown.
    pkeys: K,
    previous: Option<&'a Snapshot>,
}

impl Snapshot {
    /// Builds the snapshot of a fabric. `pkeys` returns the P_Keys that count for an end port;
    /// `None` if they are unknown.
    ///
    /// `previous` is the last snapshot of the same fabric. Unchanged parts are shared with it: a
    /// node whose revision is the same is reused without comparison. It must be `None` if `pkeys`
    /// may return other P_Keys for such a node.
    #[must_use]
    pub fn build(
        fabric: &ObservedFabric,
        pkeys: impl Fn(PortRef) -> Option<PKeySet>,
        extras: SnapshotExtras,
        previous: Option<&Self>,
    ) -> Self {
        let builder = SnapshotBuilder {
            fabric,
            pkeys,
            previous,
        };
        let nodes = builder.nodes();
        let end_ports = builder.end_ports(&nodes);
        Self {
            prefix: extras.prefix,
            local: fabric
                .local()
                .and_then(|port| end_ports.at_port(port.into())),
            sms: extras.sms,
            aliases: extras.aliases,
            service_levels: ServiceLevels::from_run(extras.run, nodes.len()),
            origin: extras.origin,
            nodes: nodes.into(),
            links: builder.links(),
            end_ports,
            guids_revision: fabric.guids_revision(),
        }
    }
}

impl<K: Fn(PortRef) -> Option<PKeySet>> SnapshotBuilder<'_, K> {
    /// The slot in the previous snapshot.
    fn previous_slot(&self, node: NodeIdx) -> Option<&NodeSlot> {
        self.previous?.nodes.get(node.index())
    }

    fn nodes(&self) -> Vec<NodeSlot> {
        let vacant = NodeSlot::vacant();
        let slots = self.previous.map_or(0, |previous| previous.nodes.len());
        let mut nodes: Vec<NodeSlot> = Vec::with_capacity(slots);
        for (idx, node) in self.fabric.nodes() {
            let previous = self.previous_slot(idx);
            nodes.resize(idx.index(), vacant.clone());
            nodes.push(match previous {
                Some(unchanged) if unchanged.revision == node.revision() => unchanged.clone(),
                _ => self.updated_slot(idx, node, previous),
            });
        }
        nodes
    }

    /// All links, shared with the previous snapshot if none changed.
    fn links(&self) -> Arc<[SnapshotLink]> {
        let links = || {
            self.fabric.links().map(|link| SnapshotLink {
                a: link.a.into(),
                b: link.b.into(),
            })
        };
        match self.previous {
            Some(previous) if links().eq(previous.links.iter().copied()) => {
                Arc::clone(&previous.links)
            }
            _ => links().collect(),
        }
    }

    /// The end port table, shared with the previous snapshot if no end port changed.
    fn end_ports(&self, nodes: &[NodeSlot]) -> Arc<EndPortTable> {
        if let Some(previous) = self.previous
            && previous.guids_revision == self.fabric.guids_revision()
            && self.fabric.nodes().all(|(idx, node)| {
                self.is_unchanged(idx, node) || self.has_same_end_ports(idx, node, previous, nodes)
            })
        {
            return Arc::clone(&previous.end_ports);
        }
        let mut end_ports = EndPortTable::with_capacity(nodes.len());
        for (idx, node) in self.fabric.nodes() {
            end_ports.insert_node(node.info.node_guid, idx.slot());
            let mut add = |end_port: EndPort| {
                // If two ports have the same GUID, the fabric's index decides which one the GUID
                // refers to.
                let owner = self.fabric.port_by_guid(end_port.guid);
                let is_indexed = owner.map(PortIdx::from) == Some(end_port.port);
                end_ports.push(end_port, is_indexed);
            };
            match self.previous {
                Some(previous) if self.is_unchanged(idx, node) => {
                    let unchanged = previous.end_ports.of_node(idx.slot());
                    unchanged.iter().cloned().for_each(&mut add);
                }
                _ => self.end_ports_of(idx, node).for_each(&mut add),
            }
        }
        Arc::new(end_ports)
    }

    /// Whether the end ports of a node equal those of the previous snapshot. Unless the node, its
    /// system image GUID or its ports changed, the P_Keys of its end ports are the same, and only
    /// GUIDs are compared.
    fn has_same_end_ports(
        &self,
        idx: NodeIdx,
        node: &Node,
        previous: &Snapshot,
        nodes: &[NodeSlot],
    ) -> bool {
        let previous_end_ports = previous.end_ports.of_node(idx.slot());
        let (Some(before), Some(now)) = (previous.nodes.get(idx.index()), nodes.get(idx.index()))
        else {
            return false;
        };
        if system_images::system_image_guid(&before.node)
            != system_images::system_image_guid(&now.node)
        {
            return false;
        }
        if !Arc::ptr_eq(&before.ports, &now.ports) || before.node.info != now.node.info {
            let end_ports = previous_end_ports.iter().cloned();
            return self.end_ports_of(idx, node).eq(end_ports);
        }
        node.end_ports()
            .filter_map(|num| Some((num, node.ports.get(num.index())?.guid)))
            .eq(previous_end_ports.iter().map(|e| (e.port.num(), e.guid)))
    }

    /// Whether a node has the revision that it had in the previous snapshot.
    fn is_unchanged(&self, idx: NodeIdx, node: &Node) -> bool {
        let previous = self.previous_slot(idx);
        previous.is_some_and(|p| p.revision == node.revision())
    }

    fn end_ports_of(&self, idx: NodeIdx, node: &Node) -> impl Iterator<Item = EndPort> {
        node.end_ports().filter_map(move |num| {
            let port = node.ports.get(num.index())?;
            let info = PortInfo::decode(&port.raw);
            let at = PortRef::new(idx, num);
            let (lid, lmc) = unicast_lids(info.lid, info.lmc);
            Some(EndPort {
                port: at.into(),
                node: idx.slot(),
                guid: port.guid,
                lid,
                lmc,
                pkeys: (self.pkeys)(at),
            })
        })
    }

    /// The slot of a changed node, sharing unchanged parts with the previous snapshot.
    fn updated_slot(&self, idx: NodeIdx, node: &Node, previous: Option<&NodeSlot>) -> NodeSlot {
        // Most nodes with a new revision have unchanged ports; this is detected without allocation.
        let reusable = previous.filter(|p| self.has_same_ports(idx, node, &p.ports));
        let ports = reusable.map_or_else(
            || {
                numbered(node)
                    .map(|(num, port)| self.port(idx, node, num, port))
                    .collect()
            },
            |p| Arc::clone(&p.ports),
        );
        let changed = snapshot_node(node);
        let shared = match previous {
            Some(previous) if changed.has_same_contents(&previous.node) => {
                Arc::clone(&previous.node)
            }
            _ => Arc::new(changed),
        };
        NodeSlot::new(shared, ports, node.revision(), previous)
    }

    /// Whether the ports of a node equal those of the previous snapshot.
    fn has_same_ports(&self, idx: NodeIdx, node: &Node, previous: &[SnapshotPort]) -> bool {
        node.ports.len() == previous.len()
            && numbered(node)
                .zip(previous)
                .all(|((num, port), previous_port)| {
                    port.raw == previous_port.raw
                        && port.known == previous_port.has_port_info
                        && port.fdr10 == previous_port.fdr10
                        && port.enforces_p_keys == previous_port.enforces_partitions
                        && port.pkeys == previous_port.pkeys
                        && port.vl_arbitration == previous_port.vl_arbitration
                        && self.peer(idx, num) == previous_port.peer
                })
    }

    fn peer(&self, idx: NodeIdx, num: PortNum) -> PortIdx {
        let peer = self.fabric.peer(PortRef::new(idx, num));
        peer.map_or(PortIdx::NONE, PortIdx::from)
    }

    fn port(&self, idx: NodeIdx, node: &Node, num: PortNum, port: &Port) -> SnapshotPort {
        let is_switch_port_0 = node.is_switch() && num == PortNum::ZERO;
        let info = PortInfo::decode(&port.raw);
        SnapshotPort {
            raw: port.raw.clone(),
            has_port_info: port.known,
            num,
            node: idx.slot(),
            mtu: mtu(&info, is_switch_port_0),
            rate_rank: rate_rank(info.mbps(port.fdr10), is_switch_port_0),
            pkeys: port.pkeys.clone(),
            enforces_partitions: port.enforces_p_keys,
            vl_arbitration: port.vl_arbitration.clone(),
            peer: self.peer(idx, num),
            fdr10: port.fdr10,
        }
    }
}

/// All ports with their numbers.
fn numbered(node: &Node) -> impl Iterator<Item = (PortNum, &Port)> {
    (0u8..).map(PortNum).zip(&node.ports)
}

/// Base LID and LMC as far as all their LIDs are unicast: a device may report any values.
fn unicast_lids(lid: Lid, lmc: Lmc) -> (Lid, Lmc) {
    let last = u32::from(lid.0) + (1 << lmc.0) - 1;
    if !lid.is_unicast() {
        (Lid(0), Lmc(0))
    } else if last > u32::from(Lid::UNICAST_MAX.0) {
        (lid, Lmc(0))
    } else {
        (lid, lmc)
    }
}

impl NodeSlot {
    /// An unused slot.
    pub(super) fn vacant() -> Self {
        Self::new(Arc::new(SnapshotNode::vacant()), Arc::default(), 0, None)
    }

    pub(super) fn new(
        node: Arc<SnapshotNode>,
        ports: Arc<[SnapshotPort]>,
        revision: u64,
        previous: Option<&Self>,
    ) -> Self {
        let forwarding = ForwardingNode::new(&node, &ports, previous.map(|slot| &slot.forwarding));
        Self {
            node,
            ports,
            forwarding,
            revision,
        }
    }
}

impl SnapshotNode {
    /// An unused slot.
    fn vacant() -> Self {
        Self {
            guid: NodeGuid(0),
            node_type: NodeType::Ca,
            info: [0; 40],
            description: [0; 64],
            switch: None,
            sl_to_vl: BTreeMap::new(),
        }
    }
}

fn snapshot_node(node: &Node) -> SnapshotNode {
    let mut info = [0; 40];
    info.copy_from_slice(&node.info.encode()[..40]);
    let switch = node.is_switch().then(|| {
        let mut raw = [0; 20];
        if let Some(read) = &node.switch_raw {
            raw.copy_from_slice(&read[..20]);
        }
        SnapshotSwitch {
            info: raw,
            lft: node
                .lft
                .installed
                .clone()
                .or_else(|| node.lft.last_known.clone()),
            is_lft_installed: node.lft.installed.is_some(),
            mft: Arc::clone(&node.mft.known),
        }
    });
    SnapshotNode {
        guid: node.info.node_guid,
        node_type: node.info.node_type,
        info,
        description: node.description.encode(),
        switch,
        sl_to_vl: node.vls.sl_to_vl.clone(),
    }
}

/// MTU of packets through a port: the link's NeighborMTU; for a switch's port 0 its MTUCap
/// (docs/sm-behaviour.md 11.5).
fn mtu(info: &PortInfo, is_switch_port_0: bool) -> MtuCode {
    let mtu = if is_switch_port_0 {
        info.mtu_cap
    } else {
        info.neighbor_mtu
    };
    if mtu == MtuCode(0) {
        info.mtu_cap.max(MtuCode::Mtu256)
    } else {
        mtu
    }
}

/// Index of the port's rate in [`RateCode::ASCENDING`]. A switch's port 0 has no link but may
/// report a rate; without one it gets the highest rate, so that it does not limit paths.
fn rate_rank(mbps: Option<u32>, is_switch_port_0: bool) -> u8 {
    match mbps {
        Some(mbps) => narrow_rank(RateCode::at_most(mbps)),
        None if is_switch_port_0 => narrow_rank(RateCode::G1600),
        None => 0,
    }
}

fn narrow_rank(code: RateCode) -> u8 {
    code.rank().and_then(|i| u8::try_from(i).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_ports_have_unicast_lids_only() {
        for (reported, expected) in [
            ((0xBF80, 7), (0xBF80, 7)),
            ((0xBF81, 7), (0xBF81, 0)),
            ((0xBFFF, 0), (0xBFFF, 0)),
            ((0xBFFF, 1), (0xBFFF, 0)),
            ((0xC000, 0), (0, 0)),
            ((0xFFFF, 7), (0, 0)),
            ((0, 3), (0, 0)),
        ] {
            let (lid, lmc) = unicast_lids(Lid(reported.0), Lmc(reported.1));
            assert_eq!((lid.0, lmc.0), expected, "{reported:x?}");
        }
    }
}
