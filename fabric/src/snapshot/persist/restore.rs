//! Restores a snapshot from records. Invalid or inconsistent records are an error; no record
//! content causes a panic, here or in the snapshot.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::attr::{MtuCode, NodeType};
use ferrosm_mad::ids::{GidPrefix, Lid, Lmc, NodeGuid, PKey, PortGuid, PortNum};
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_routing::Lft;
use rustc_hash::FxHashMap;

use super::super::links::links_of_ports;
use super::super::service_levels::{RestoredSls, ServiceLevels, SlIndexing, SlLookup, SlRow};
use super::super::{
    EndPort, EndPortTable, NodeSlot, PortIdx, Snapshot, SnapshotNode, SnapshotPort, SnapshotSwitch,
};
use super::NodeRecordKind;
use super::records::{self, flag};
use crate::pkey_set::PKeySet;
use crate::tables::mft::{MftBlockIdx, MftBlocks};
use crate::tables::pkeys::PKeyTable;
use crate::tables::port_info::PortInfoBytes;
use crate::tables::sl_to_vl::SlToVlSelector;

/// Maximum number of ports of a node, port 0 included.
const PORTS_MAX: usize = 255;
/// Revision of restored nodes; no observed node has it.
const NO_REVISION: u64 = u64::MAX;

/// Why the records contain no valid snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreError(String);

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for RestoreError {}

fn invalid<T>(reason: impl Into<String>) -> Result<T, RestoreError> {
    Err(RestoreError(reason.into()))
}

/// Collects records in any order and builds a snapshot.
#[derive(Debug, Default)]
pub struct SnapshotRestorer {
    nodes: FxHashMap<NodeGuid, NodeRecords>,
}

/// Records of a node so far.
#[derive(Debug, Default)]
struct NodeRecords {
    node: Option<DecodedNode>,
    lft: Option<Arc<Lft>>,
    row: Option<SlRow>,
    mft: Arc<MftBlocks>,
    sl_to_vl: BTreeMap<SlToVlSelector, [u8; 8]>,
}

/// A decoded record of kind [`NodeRecordKind::Node`]; peers refer to persisted slots.
#[derive(Debug)]
struct DecodedNode {
    slot: u32,
    node_type: NodeType,
    info: [u8; 40],
    description: [u8; 64],
    switch_info: Option<[u8; 20]>,
    ports: Vec<(SnapshotPort, Option<(u32, u8)>)>,
    end_ports: Vec<records::EndPortRecord>,
}

impl SnapshotRestorer {
    /// Adds a record.
    ///
    /// # Errors
    /// If the record is invalid.
    pub fn add_record(
        &mut self,
        guid: NodeGuid,
        kind: NodeRecordKind,
        bytes: &[u8],
    ) -> Result<(), RestoreError> {
        let parts = self.nodes.entry(guid).or_default();
        let result = match kind {
            NodeRecordKind::Node => decode_node(guid, bytes).map(|node| parts.node = Some(node)),
            NodeRecordKind::Forwarding => {
                parse::<records::ForwardingRecord<'_>>(bytes).map(|routes| {
                    parts.lft = routes.lft.map(|b| Arc::new(Lft::from_entries(b.0)));
                    parts.row = routes
                        .routed
                        .then(|| routes.levels.map(|row| Arc::from(row.0)));
                })
            }
            NodeRecordKind::Multicast => {
                decode_mft(bytes).map(|blocks| parts.mft = Arc::new(blocks))
            }
            NodeRecordKind::VlTables => decode_vl_tables(bytes, parts),
        };
        match result {
            Some(()) => Ok(()),
            None => {
                let part = match kind {
                    NodeRecordKind::Node => "node",
                    NodeRecordKind::Forwarding => "LFT",
                    NodeRecordKind::Multicast => "MFT",
                    NodeRecordKind::VlTables => "VL table",
                };
                invalid(format!("{part} record of node {guid} is invalid"))
            }
        }
    }

    /// Builds the snapshot after all records were added.
    ///
    /// # Errors
    /// If the records are inconsistent.
    pub fn finish(self, head: &[u8]) -> Result<Snapshot, RestoreError> {
        let Some(head) = parse::<records::HeadRecord<'_>>(head) else {
            return invalid("the head record is invalid");
        };
        if usize::try_from(head.nodes) != Ok(self.nodes.len()) {
            return invalid(format!(
                "{} nodes, expected {}",
                self.nodes.len(),
                head.nodes
            ));
        }
        let mut decoded_nodes: Vec<(NodeGuid, DecodedNode, NodeRecords)> =
            Vec::with_capacity(self.nodes.len());
        for (guid, mut parts) in self.nodes {
            match parts.node.take() {
                Some(node) => decoded_nodes.push((guid, node, parts)),
                None => return invalid(format!("node {guid} has tables but no node record")),
            }
        }
        // Slots keep their order, without gaps.
        decoded_nodes.sort_unstable_by_key(|(_, node, _)| node.slot);
        let mut slots: FxHashMap<u32, (u32, usize)> = FxHashMap::default();
        for (slot, (_, node, _)) in (0u32..).zip(&decoded_nodes) {
            if slots.insert(node.slot, (slot, node.ports.len())).is_some() {
                return invalid("two nodes have the same slot");
            }
        }
        let port_at = |(slot, num): (u32, u8)| {
            let (slot, ports) = slots.get(&slot)?;
            (usize::from(num) < *ports).then(|| PortIdx::new(*slot, PortNum(num)))
        };
        let mut end_ports = EndPortTable::with_capacity(decoded_nodes.len());
        let mut nodes = Vec::with_capacity(decoded_nodes.len());
        let mut rows = Vec::with_capacity(decoded_nodes.len());
        for (slot, (guid, node, parts)) in (0u32..).zip(decoded_nodes) {
            end_ports.insert_node(guid, slot);
            insert_end_ports(&mut end_ports, slot, &node)?;
            rows.push(parts.row.clone());
            let Some((node, ports)) = node.into_view(guid, slot, parts, &port_at) else {
                return invalid(format!(
                    "node {guid} has a link to a port that does not exist"
                ));
            };
            nodes.push(NodeSlot::new(Arc::new(node), ports, NO_REVISION, None));
        }
        let local = match head.local.map(port_at) {
            None => None,
            Some(local_port) => match local_port.and_then(|port| end_ports.at_port(port)) {
                None => return invalid("the SM's port does not exist"),
                local => local,
            },
        };
        let sms = head.sms.iter().map(|m| m.padded());
        let sms = sms.map(|m| m.map(|m: [u8; SmInfoRecord::LEN]| SmInfoRecord::decode(&m)));
        let Some(sms) = sms.collect() else {
            return invalid("an SMInfo record is too long");
        };
        let service_levels = match head.levels {
            None => ServiceLevels::Unrouted,
            Some(levels) => match decode_lookup(&levels) {
                Some(lookup) => ServiceLevels::Restored(Arc::new(RestoredSls { lookup, rows })),
                None => return invalid("service levels are invalid"),
            },
        };
        Ok(Snapshot {
            prefix: GidPrefix(head.prefix),
            local,
            sms,
            links: links_of_ports(&nodes),
            nodes: nodes.into(),
            end_ports: Arc::new(end_ports),
            service_levels,
            origin: None,
            aliases: Arc::default(),
            guids_revision: NO_REVISION,
        })
    }
}

/// Decodes a record that consumes all bytes.
fn parse<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    let (record, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(record)
}

fn decode_node(guid: NodeGuid, bytes: &[u8]) -> Option<DecodedNode> {
    let node: records::NodeRecord<'_> = parse(bytes)?;
    let node_type = NodeType(node.node_type);
    // A node has SwitchInfo if and only if it is a switch, and a node has at least port 0 or the
    // unused entry before port 1.
    let fits = node.guid == guid.0
        && (node_type == NodeType::Switch) == node.switch_info.is_some()
        && (1..=PORTS_MAX).contains(&node.ports.len());
    let switch_info = match node.switch_info {
        Some(info) => Some(info.padded()?),
        None => None,
    };
    let mut ports = Vec::with_capacity(node.ports.len());
    for (num, record) in (0u8..).zip(&node.ports) {
        ports.push((decode_port(num, record)?, record.peer));
    }
    fits.then_some(DecodedNode {
        slot: node.slot,
        node_type,
        info: node.info.padded()?,
        description: node.description.padded()?,
        switch_info,
        ports,
        end_ports: node.end_ports,
    })
}

/// Decodes a port; the caller sets its node and peer.
fn decode_port(num: u8, record: &records::PortRecord<'_>) -> Option<SnapshotPort> {
    let has_flag = |bit| record.flags & bit != 0;
    let mut pkeys = PKeyTable::default();
    pkeys.set_unread_empty(has_flag(flag::UNREAD_PKEYS_EMPTY));
    for (block, list) in &record.keys {
        let mut entries = [PKey(0); 32];
        let entries_in_use = entries.get_mut(..list.len())?;
        entries_in_use
            .iter_mut()
            .zip(list)
            .for_each(|(e, k)| *e = PKey(*k));
        pkeys.set_block(*block, entries);
    }
    let vl_arbitration = record.vl_arbitration.iter();
    let vl_arbitration = vl_arbitration.map(|(block, table)| Some((*block, table.padded()?)));
    Some(SnapshotPort {
        raw: PortInfoBytes::from(record.raw.padded::<64>()?),
        has_port_info: has_flag(flag::HAS_PORT_INFO),
        num: PortNum(num),
        node: 0,
        mtu: MtuCode(record.mtu),
        rate_rank: record.rate_rank,
        pkeys,
        enforces_partitions: has_flag(flag::ENFORCES_PARTITIONS),
        vl_arbitration: vl_arbitration.collect::<Option<_>>()?,
        peer: PortIdx::NONE,
        fdr10: has_flag(flag::FDR10),
    })
}

fn insert_end_ports(
    end_ports: &mut EndPortTable,
    slot: u32,
    node: &DecodedNode,
) -> Result<(), RestoreError> {
    let mut last = None;
    for record in &node.end_ports {
        let is_valid_port = usize::from(record.num) < node.ports.len();
        // LMC has three bits, LIDs stay in the unicast range, and end ports are sorted.
        let lids_end = u32::from(record.lid) + (1 << record.lmc.min(7));
        if !is_valid_port || record.lmc > 7 || lids_end > 0xC000 || last >= Some(record.num) {
            return invalid(format!("end port {} is invalid", PortGuid(record.guid)));
        }
        last = Some(record.num);
        let keys = record.keys.as_ref();
        let end_port = EndPort {
            port: PortIdx::new(slot, PortNum(record.num)),
            node: slot,
            guid: PortGuid(record.guid),
            lid: Lid(record.lid),
            lmc: Lmc(record.lmc),
            pkeys: keys.map(|list| PKeySet::new(list.iter().map(|k| PKey(*k)))),
        };
        end_ports.push(end_port, record.is_guid_owner);
    }
    Ok(())
}

impl DecodedNode {
    /// Converts to a node in `slot`, with its ports; `None` if a link leads to a port that does not
    /// exist.
    fn into_view(
        self,
        guid: NodeGuid,
        slot: u32,
        parts: NodeRecords,
        port_at: &dyn Fn((u32, u8)) -> Option<PortIdx>,
    ) -> Option<(SnapshotNode, Arc<[SnapshotPort]>)> {
        let mut ports = Vec::with_capacity(self.ports.len());
        for (mut port, peer) in self.ports {
            port.node = slot;
            if let Some(peer) = peer {
                port.peer = port_at(peer)?;
            }
            ports.push(port);
        }
        let node = SnapshotNode {
            guid,
            node_type: self.node_type,
            info: self.info,
            description: self.description,
            switch: self.switch_info.map(|info| SnapshotSwitch {
                info,
                is_lft_installed: parts.lft.is_some(),
                lft: parts.lft,
                mft: parts.mft,
            }),
            sl_to_vl: parts.sl_to_vl,
        };
        Some((node, ports.into()))
    }
}

fn decode_mft(bytes: &[u8]) -> Option<MftBlocks> {
    let record: records::MulticastRecord = parse(bytes)?;
    let mut blocks = MftBlocks::new();
    for (block, position, list) in record.blocks {
        let mut masks = [0; 32];
        masks.get_mut(..list.len())?.copy_from_slice(&list);
        blocks.insert(MftBlockIdx { block, position }, masks);
    }
    Some(blocks)
}

fn decode_vl_tables(bytes: &[u8], parts: &mut NodeRecords) -> Option<()> {
    let record: records::VlTablesRecord = parse(bytes)?;
    for (kind, a, b, map) in record.maps {
        let (a, b) = (PortNum(a), PortNum(b));
        let at = match kind {
            0 => SlToVlSelector::Pair(a, b),
            1 => SlToVlSelector::EndPort(a),
            2 => SlToVlSelector::Output(a),
            _ => return None,
        };
        parts.sl_to_vl.insert(at, map);
    }
    Some(())
}

fn decode_lookup(levels: &records::SlLookupRecord<'_>) -> Option<SlLookup> {
    let indexing = match (levels.indexing, levels.row.0) {
        (0, [sl]) => SlIndexing::Uniform(*sl),
        (1, row) => SlIndexing::Lid(row.into()),
        (2, []) => SlIndexing::Switches,
        (3, []) => SlIndexing::SwitchAndLid,
        _ => return None,
    };
    let ascending = levels.destinations.is_sorted_by(|a, b| a.0 < b.0);
    ascending.then(|| SlLookup {
        single_vl: levels.single_vl,
        multicast_sl: levels.multicast_sl,
        indexing,
        destinations: levels.destinations.clone(),
    })
}
