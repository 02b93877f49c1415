//! Records to a view again. Nothing that is in a record can make it panic, or make a view that does: what does not fit together
//! is an error, and then there is no view.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::attr::{MtuCode, NodeType};
use ferrosm_mad::ids::{GidPrefix, Lid, Lmc, NodeGuid, PKey, PortGuid, PortNum};
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_routing::Lft;
use rustc_hash::FxHashMap;

use super::super::service_levels::{RestoredSls, ServiceLevels, SlIndexing, SlLookup, SlRow};
use super::super::{
    EndPort, EndPortTable, NodeSlot, NodeView, PortIdx, PortView, SwitchView, View,
};
use super::NodeRecordKind;
use super::records::{self, flag};
use crate::pkey_set::PKeySet;
use crate::settings::SaSettings;
use crate::tables::mft::{MftBlockIdx, MftBlocks};
use crate::tables::pkeys::PKeyTable;
use crate::tables::port_info::PortInfoBytes;
use crate::tables::sl_to_vl::SlToVlSelector;
use crate::vl_tables::{NodeVlTables, ReadVlTables, VlTableId};

/// Most ports that a node can have, with port 0.
const PORTS_MAX: usize = 255;
/// A node that was not touched since: no node of a subnet has this revision.
const NO_REVISION: u64 = u64::MAX;

/// Why there is no view in some records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreError(String);

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for RestoreError {}

fn broken<T>(why: impl Into<String>) -> Result<T, RestoreError> {
    Err(RestoreError(why.into()))
}

/// Takes records in any order, and makes a view of them.
#[derive(Debug, Default)]
pub struct ViewRestorer {
    nodes: FxHashMap<NodeGuid, NodeRecords>,
}

/// What is known of a node so far.
#[derive(Debug, Default)]
struct NodeRecords {
    node: Option<DecodedNode>,
    lft: Option<Arc<Lft>>,
    row: Option<SlRow>,
    mft: Arc<MftBlocks>,
    sl_to_vl: BTreeMap<SlToVlSelector, [u8; 8]>,
    read: NodeVlTables,
}

/// A record of [`NodeRecordKind::Node`], its ports still with the slots of the time when it was written.
#[derive(Debug)]
struct DecodedNode {
    slot: u32,
    node_type: NodeType,
    info: [u8; 40],
    description: [u8; 64],
    switch_info: Option<[u8; 20]>,
    ports: Vec<(PortView, Option<(u32, u8)>)>,
    ends: Vec<records::EndPortRecord>,
}

impl ViewRestorer {
    /// A record.
    ///
    /// # Errors
    /// If it is none.
    pub fn put(
        &mut self,
        guid: NodeGuid,
        part: NodeRecordKind,
        bytes: &[u8],
    ) -> Result<(), RestoreError> {
        let parts = self.nodes.entry(guid).or_default();
        let done = match part {
            NodeRecordKind::Node => plain(guid, bytes).map(|node| parts.node = Some(node)),
            NodeRecordKind::Forwarding => parse::<records::Routes<'_>>(bytes).map(|routes| {
                parts.lft = routes.lft.map(|b| Arc::new(Lft::from_entries(b.0)));
                parts.row = routes
                    .routed
                    .then(|| routes.levels.map(|row| Arc::from(row.0)));
            }),
            NodeRecordKind::Multicast => groups(bytes).map(|blocks| parts.mft = Arc::new(blocks)),
            NodeRecordKind::VlTables => lanes(bytes, parts),
        };
        match done {
            Some(()) => Ok(()),
            None => broken(format!("{part:?} of node {guid} cannot be read")),
        }
    }

    /// The view, when all records are there.
    ///
    /// # Errors
    /// If they do not fit together.
    pub fn finish(self, head: &[u8]) -> Result<View, RestoreError> {
        let Some(head) = parse::<records::Head<'_>>(head) else {
            return broken("the head cannot be read");
        };
        if usize::try_from(head.nodes) != Ok(self.nodes.len()) {
            return broken(format!(
                "{} nodes instead of {}",
                self.nodes.len(),
                head.nodes
            ));
        }
        let mut all: Vec<(NodeGuid, DecodedNode, NodeRecords)> =
            Vec::with_capacity(self.nodes.len());
        for (guid, mut parts) in self.nodes {
            match parts.node.take() {
                Some(node) => all.push((guid, node, parts)),
                None => return broken(format!("node {guid} has tables but was not described")),
            }
        }
        // In the order that they had, without the gaps.
        all.sort_unstable_by_key(|(_, node, _)| node.slot);
        let mut slots: FxHashMap<u32, (u32, usize)> = FxHashMap::default();
        for (slot, (_, node, _)) in (0u32..).zip(&all) {
            if slots.insert(node.slot, (slot, node.ports.len())).is_some() {
                return broken("two nodes have one slot");
            }
        }
        let port_at = |(slot, num): (u32, u8)| {
            let (slot, ports) = slots.get(&slot)?;
            (usize::from(num) < *ports).then(|| PortIdx::new(*slot, PortNum(num)))
        };
        let mut ends = EndPortTable::with_capacity(all.len());
        let mut nodes = Vec::with_capacity(all.len());
        let mut rows = Vec::with_capacity(all.len());
        let mut read = Vec::new();
        for (slot, (guid, node, parts)) in (0u32..).zip(all) {
            ends.insert_node(guid, slot);
            put_ends(&mut ends, slot, &node)?;
            rows.push(parts.row.clone());
            if !parts.read.is_empty() {
                read.push((guid, Arc::new(parts.read.clone())));
            }
            let Some(node) = node.at(guid, slot, parts, &port_at) else {
                return broken(format!(
                    "node {guid} has a cable to a port that is not there"
                ));
            };
            nodes.push(NodeSlot::new(Arc::new(node), NO_REVISION, None));
        }
        let local = match head.local.map(port_at) {
            None => None,
            Some(own) => match own.and_then(|port| ends.at_port(port)) {
                None => return broken("the own port is not there"),
                own => own,
            },
        };
        let managers = head.managers.iter().map(|m| m.padded());
        let managers =
            managers.map(|m| m.map(|m: [u8; SmInfoRecord::LEN]| SmInfoRecord::decode(&m)));
        let Some(managers) = managers.collect() else {
            return broken("the record of a subnet manager is too long");
        };
        let service_levels = match head.levels {
            None => ServiceLevels::Unrouted,
            Some(levels) => match decode_lookup(&levels) {
                Some(lookup) => ServiceLevels::Restored(Arc::new(RestoredSls { lookup, rows })),
                None => return broken("service levels cannot be read"),
            },
        };
        Ok(View {
            settings: SaSettings {
                prefix: GidPrefix(head.prefix),
                ..SaSettings::default()
            },
            local,
            managers,
            nodes: nodes.into(),
            end_ports: Arc::new(ends),
            service_levels,
            origin: None,
            aliases: Arc::default(),
            read_vl_tables: Arc::new(ReadVlTables::new(read.iter().map(|(guid, t)| (*guid, t)))),
            guids_revision: NO_REVISION,
        })
    }
}

/// A record, if that is what the bytes are, to the last one.
fn parse<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    let (record, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(record)
}

fn plain(guid: NodeGuid, bytes: &[u8]) -> Option<DecodedNode> {
    let node: records::Node<'_> = parse(bytes)?;
    let node_type = NodeType(node.node_type);
    // Whoever has SwitchInfo is a switch, and a node has at least its port 0 or the slot before port 1.
    let fits = node.guid == guid.0
        && (node_type == NodeType::Switch) == node.switch_info.is_some()
        && (1..=PORTS_MAX).contains(&node.ports.len());
    let switch_info = match node.switch_info {
        Some(info) => Some(info.padded()?),
        None => None,
    };
    let mut ports = Vec::with_capacity(node.ports.len());
    for (num, record) in (0u8..).zip(&node.ports) {
        ports.push((port(num, record)?, record.peer));
    }
    fits.then_some(DecodedNode {
        slot: node.slot,
        node_type,
        info: node.info.padded()?,
        description: node.description.padded()?,
        switch_info,
        ports,
        ends: node.ends,
    })
}

/// A port, whose node and peer are still to be found.
fn port(num: u8, record: &records::Port<'_>) -> Option<PortView> {
    let has = |bit| record.flags & bit != 0;
    let mut pkeys = PKeyTable::default();
    pkeys.set_unread_empty(has(flag::KEYS_AS_WOKEN));
    for (block, list) in &record.keys {
        let mut entries = [PKey(0); 32];
        let used = entries.get_mut(..list.len())?;
        used.iter_mut().zip(list).for_each(|(e, k)| *e = PKey(*k));
        pkeys.set_block(*block, entries);
    }
    let mut vl_arbitration = Vec::with_capacity(record.vl_arbitration.len());
    for (block, table) in &record.vl_arbitration {
        vl_arbitration.push((*block, table.padded()?));
    }
    Some(PortView {
        raw: PortInfoBytes::from(record.raw.padded::<64>()?),
        has_port_info: has(flag::KNOWN),
        num: PortNum(num),
        node: 0,
        mtu: MtuCode(record.mtu),
        rate_rank: record.rate_rank,
        pkeys,
        enforces_partitions: has(flag::CHECKS_KEYS),
        vl_arbitration: vl_arbitration.into(),
        peer: PortIdx::NONE,
        fdr10: has(flag::FDR10),
    })
}

fn put_ends(ends: &mut EndPortTable, slot: u32, node: &DecodedNode) -> Result<(), RestoreError> {
    let mut last = None;
    for end in &node.ends {
        let there = usize::from(end.num) < node.ports.len();
        // LMC has three bits; LIDs of a port do not leave the unicast range, and end ports come in order.
        let lids = u32::from(end.lid) + (1 << end.lmc.min(7));
        if !there || end.lmc > 7 || lids > 0xC000 || last >= Some(end.num) {
            return broken(format!("end port {} cannot be so", PortGuid(end.guid)));
        }
        last = Some(end.num);
        let keys = end.keys.as_ref();
        let end_port = EndPort {
            port: PortIdx::new(slot, PortNum(end.num)),
            node: slot,
            guid: PortGuid(end.guid),
            lid: Lid(end.lid),
            lmc: Lmc(end.lmc),
            pkeys: keys.map(|list| PKeySet::new(list.iter().map(|k| PKey(*k)))),
        };
        ends.push(end_port, end.named);
    }
    Ok(())
}

impl DecodedNode {
    /// The node at its slot; `None` if a cable leads nowhere.
    fn at(
        self,
        guid: NodeGuid,
        slot: u32,
        parts: NodeRecords,
        port_at: &dyn Fn((u32, u8)) -> Option<PortIdx>,
    ) -> Option<NodeView> {
        let mut ports = Vec::with_capacity(self.ports.len());
        for (mut port, peer) in self.ports {
            port.node = slot;
            if let Some(peer) = peer {
                port.peer = port_at(peer)?;
            }
            ports.push(port);
        }
        Some(NodeView {
            guid,
            node_type: self.node_type,
            info: self.info,
            description: self.description,
            switch: self.switch_info.map(|info| SwitchView {
                info,
                lft: parts.lft,
                mft: parts.mft,
            }),
            sl_to_vl: parts.sl_to_vl,
            ports: ports.into(),
        })
    }
}

fn groups(bytes: &[u8]) -> Option<MftBlocks> {
    let record: records::Groups = parse(bytes)?;
    let mut blocks = MftBlocks::new();
    for (block, position, list) in record.blocks {
        let mut masks = [0; 32];
        masks.get_mut(..list.len())?.copy_from_slice(&list);
        blocks.insert(MftBlockIdx { block, position }, masks);
    }
    Some(blocks)
}

fn lanes(bytes: &[u8], parts: &mut NodeRecords) -> Option<()> {
    let record: records::Lanes<'_> = parse(bytes)?;
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
    for (input, output, map) in record.read_maps {
        let mut data = [0; 64];
        data[..8].copy_from_slice(&map);
        let table = VlTableId::SlToVl(PortNum(input), PortNum(output));
        parts.read.insert(table, &data);
    }
    for (port, block, table) in record.read_arbitration {
        let at = VlTableId::VlArbitration(PortNum(port), block);
        parts.read.insert(at, &table.padded()?);
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
