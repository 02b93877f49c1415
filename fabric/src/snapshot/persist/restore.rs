//! Restores a snapshot from records. Invalid or inconsistent records are an error; no record
//! content causes a panic, here or in the snapshot.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::{NodeGuid, PortNum};
use ferrosm_routing::Lft;
use rustc_hash::FxHashMap;

use super::super::links::links_of_ports;
use super::super::service_levels::{RestoredSls, ServiceLevels, SlRow};
use super::super::{
    EndPort, EndPortTable, NodeSlot, PortIdx, Snapshot, SnapshotNode, SnapshotPort,
};
use super::NodeRecordKind;
use super::records::{ForwardingRecord, HeadRecord, NodeRecord, decode};
use crate::tables::mft::MftBlocks;
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
    node: Option<NodeRecord<'static>>,
    lft: Option<Arc<Lft>>,
    row: Option<SlRow>,
    mft: Arc<MftBlocks>,
    sl_to_vl: BTreeMap<SlToVlSelector, [u8; 8]>,
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
            NodeRecordKind::Node => decode(bytes)
                .filter(|node| is_node_record_of(node, guid))
                .map(|node| parts.node = Some(node)),
            NodeRecordKind::Forwarding => decode(bytes)
                .map(|ForwardingRecord { lft, row }| (parts.lft, parts.row) = (lft, row)),
            NodeRecordKind::Multicast => decode(bytes).map(|mft| parts.mft = mft),
            NodeRecordKind::VlTables => decode(bytes).map(|tables| parts.sl_to_vl = tables),
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
        let Some(head) = decode::<HeadRecord<'_>>(head) else {
            return invalid("the head record is invalid");
        };
        if head.nodes != self.nodes.len() {
            return invalid(format!(
                "{} nodes, expected {}",
                self.nodes.len(),
                head.nodes
            ));
        }
        let mut decoded_nodes: Vec<(NodeGuid, NodeRecord<'_>, NodeRecords)> =
            Vec::with_capacity(self.nodes.len());
        for (guid, mut parts) in self.nodes {
            match parts.node.take() {
                Some(node) => decoded_nodes.push((guid, node, parts)),
                None => return invalid(format!("node {guid} has tables but no node record")),
            }
        }
        // Slots keep their order, without gaps.
        decoded_nodes.sort_unstable_by_key(|(_, record, _)| record.slot);
        let mut slots: FxHashMap<u32, (u32, usize)> = FxHashMap::default();
        for (slot, (_, record, _)) in (0u32..).zip(&decoded_nodes) {
            let known = slots.insert(record.slot, (slot, record.ports.len()));
            if known.is_some() {
                return invalid("two nodes have the same slot");
            }
        }
        let current = |saved: PortIdx| {
            let (slot, ports) = slots.get(&saved.node())?;
            (saved.num().index() < *ports).then(|| PortIdx::new(*slot, saved.num()))
        };
        let mut end_ports = EndPortTable::with_capacity(decoded_nodes.len());
        let mut nodes = Vec::with_capacity(decoded_nodes.len());
        let mut rows = Vec::with_capacity(decoded_nodes.len());
        for (slot, (guid, record, parts)) in (0u32..).zip(decoded_nodes) {
            end_ports.insert_node(guid, slot);
            insert_end_ports(&mut end_ports, slot, &record)?;
            let Some(ports) = ports_in_slot(slot, record.ports.into_owned(), &current) else {
                return invalid(format!(
                    "node {guid} has a link to a port that does not exist"
                ));
            };
            rows.push(parts.row.clone());
            let node = node_with_tables(record.node.into_owned(), parts);
            nodes.push(NodeSlot::new(Arc::new(node), ports, NO_REVISION, None));
        }
        let local = match head.local.map(current) {
            None => None,
            Some(local_port) => match local_port.and_then(|port| end_ports.at_port(port)) {
                None => return invalid("the SM's port does not exist"),
                local => local,
            },
        };
        let service_levels = match head.levels {
            None => ServiceLevels::Unrouted,
            Some(lookup) if lookup.is_sorted() => {
                ServiceLevels::Restored(Arc::new(RestoredSls { lookup, rows }))
            }
            Some(_) => return invalid("service levels are invalid"),
        };
        Ok(Snapshot {
            prefix: head.prefix,
            local,
            sms: head.sms.into_owned(),
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

/// Whether a record is that of this node. A node has SwitchInfo if and only if it is a switch, and
/// at least port 0 or the unused entry before port 1.
fn is_node_record_of(record: &NodeRecord<'_>, guid: NodeGuid) -> bool {
    let node = &record.node;
    let numbers = record.ports.iter().map(|port| port.num);
    node.guid == guid
        && (node.node_type == NodeType::Switch) == node.switch.is_some()
        && (1..=PORTS_MAX).contains(&record.ports.len())
        && numbers.eq((0..=u8::MAX).map(PortNum).take(record.ports.len()))
        && record.guid_owners.len() == record.end_ports.len()
}

fn insert_end_ports(
    end_ports: &mut EndPortTable,
    slot: u32,
    record: &NodeRecord<'_>,
) -> Result<(), RestoreError> {
    let mut last = None;
    for (saved, is_guid_owner) in record.end_ports.iter().zip(&record.guid_owners) {
        let num = saved.port.num();
        let lmc = saved.lmc.0;
        let is_valid_port = num.index() < record.ports.len();
        // LMC has three bits, LIDs stay in the unicast range, and end ports are sorted.
        let lids_end = u32::from(saved.lid.0) + (1 << lmc.min(7));
        if !is_valid_port || lmc > 7 || lids_end > 0xC000 || last >= Some(num) {
            return invalid(format!("end port {} is invalid", saved.guid));
        }
        last = Some(num);
        let end_port = EndPort {
            port: PortIdx::new(slot, num),
            node: slot,
            ..saved.clone()
        };
        end_ports.push(end_port, *is_guid_owner);
    }
    Ok(())
}

/// The ports of the node in a slot; `None` if a link leads to a port that does not exist.
fn ports_in_slot(
    slot: u32,
    mut ports: Vec<SnapshotPort>,
    current: &dyn Fn(PortIdx) -> Option<PortIdx>,
) -> Option<Arc<[SnapshotPort]>> {
    for port in &mut ports {
        port.node = slot;
        if port.peer != PortIdx::NONE {
            port.peer = current(port.peer)?;
        }
    }
    Some(ports.into())
}

fn node_with_tables(mut node: SnapshotNode, parts: NodeRecords) -> SnapshotNode {
    node.sl_to_vl = parts.sl_to_vl;
    if let Some(switch) = &mut node.switch {
        switch.is_lft_installed = parts.lft.is_some();
        switch.lft = parts.lft;
        switch.mft = parts.mft;
    }
    node
}
