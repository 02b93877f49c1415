//! What a snapshot has that the next one does not: earlier snapshots in little memory.
//!
//! Of LFTs, a delta has the entries that differ. It has no SLs that depend on the path, because
//! they refer to the whole routing.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::ids::{GidPrefix, Lid, PortNum};
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_routing::{Lft, changed_blocks};

use super::end_ports::EndPortTable;
use super::links::links_of_ports;
use super::service_levels::ServiceLevels;
use super::{
    EndPort, EndPortIdx, NodeSlot, PortIdx, Snapshot, SnapshotLink, SnapshotNode, SnapshotPort,
};
use crate::aliases::AliasTables;

/// LIDs in an LFT block.
const BLOCK_LIDS: u16 = 64;
/// Estimated bytes of a node without its tables, with its allocations.
const NODE_LEN: usize = 320;
/// Estimated bytes of a port with its part of tables that ports share.
const PORT_LEN: usize = 80;
/// Estimated bytes of an entry of an SLtoVLMappingTable or of a block of an MFT.
const TABLE_LEN: usize = 96;

/// What a snapshot has that the next one does not share.
#[derive(Debug, Clone)]
pub struct SnapshotDelta {
    prefix: GidPrefix,
    local: Option<PortIdx>,
    sms: Vec<SmInfoRecord>,
    aliases: Arc<AliasTables>,
    service_levels: EarlierSls,
    num_slots: usize,
    /// By slot.
    nodes: Vec<EarlierNode>,
    has_lfts: bool,
}

/// SLs of the earlier snapshot.
#[derive(Debug, Clone)]
enum EarlierSls {
    /// Those of the next one.
    Shared,
    /// These.
    Kept(ServiceLevels),
    NotKept,
}

/// A node that the next snapshot does not have, or has with other contents.
#[derive(Debug, Clone)]
struct EarlierNode {
    slot: u32,
    /// Without its LFT; `None` if nothing else of it changed.
    node: Option<Arc<SnapshotNode>>,
    /// `None` if the next snapshot shares them.
    ports: Option<Arc<[SnapshotPort]>>,
    /// `None` if they are equal in the next snapshot.
    end_ports: Option<Vec<IndexedEndPort>>,
    lft: EarlierLft,
}

/// An end port, and whether the index by GUID refers to it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IndexedEndPort {
    end_port: EndPort,
    is_indexed: bool,
}

/// The LFT of a node.
#[derive(Debug, Clone)]
enum EarlierLft {
    /// That of the next snapshot.
    Shared,
    /// That of the next snapshot with these entries; the table has `len` entries.
    Entries {
        len: usize,
        entries: Vec<(Lid, PortNum)>,
    },
    /// All of it; `None` if it was unknown.
    Whole(Option<Arc<Lft>>),
    NotKept,
}

/// Whether an earlier snapshot is to have the LFTs of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlierTables {
    /// Yes.
    Restored,
    /// No: its LFTs may be of any time.
    Any,
}

impl SnapshotDelta {
    /// What `before` has that `after`, the next snapshot, does not share. If more than
    /// `lft_entries_max` entries of LFTs differ, it has none.
    #[must_use]
    pub fn between(before: &Snapshot, after: &Snapshot, lft_entries_max: usize) -> Self {
        let same_end_ports = Arc::ptr_eq(&before.end_ports, &after.end_ports);
        let vacant = NodeSlot::vacant();
        let num_slots = before.nodes.len().max(after.nodes.len());
        let mut nodes = Vec::new();
        for (slot, index) in (0u32..).zip(0..num_slots) {
            let old = before.nodes.get(index).unwrap_or(&vacant);
            let new = after.nodes.get(index).unwrap_or(&vacant);
            let has_same_ports = Arc::ptr_eq(&old.ports, &new.ports);
            let has_same_node = Arc::ptr_eq(&old.node, &new.node);
            let end_ports = (!same_end_ports)
                .then(|| {
                    (
                        before.indexed_end_ports(slot),
                        after.indexed_end_ports(slot),
                    )
                })
                .filter(|(old, new)| old != new)
                .map(|(old, _)| old);
            let is_vacant = old.ports.is_empty() && new.ports.is_empty();
            if is_vacant || has_same_ports && has_same_node && end_ports.is_none() {
                continue;
            }
            nodes.push(EarlierNode {
                slot,
                node: (!old.node.has_same_rest(&new.node))
                    .then(|| Arc::new(old.node.without_lft())),
                ports: (!has_same_ports).then(|| Arc::clone(&old.ports)),
                end_ports,
                lft: EarlierLft::between(lft(old), lft(new)),
            });
        }
        let mut has_lfts = true;
        if nodes
            .iter()
            .map(|node| node.lft.num_entries())
            .sum::<usize>()
            > lft_entries_max
        {
            has_lfts = false;
            for node in &mut nodes {
                node.lft = EarlierLft::NotKept;
            }
        }
        Self {
            prefix: before.prefix,
            local: before.local.map(|local| before.end_port(local).port),
            sms: before.sms.clone(),
            aliases: Arc::clone(&before.aliases),
            service_levels: EarlierSls::between(&before.service_levels, &after.service_levels),
            num_slots: before.nodes.len(),
            nodes,
            has_lfts,
        }
    }

    /// Whether it has the routes of the earlier snapshot: LFTs and SLs.
    #[must_use]
    pub const fn has_routes(&self) -> bool {
        self.has_lfts && !matches!(self.service_levels, EarlierSls::NotKept)
    }

    /// An estimate of the memory that it takes, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let nodes = self.nodes.iter().map(EarlierNode::bytes);
        size_of::<Self>() + size_of_val(&*self.sms) + nodes.sum::<usize>()
    }
}

impl EarlierNode {
    fn bytes(&self) -> usize {
        let node = self.node.as_ref().map_or(0, |node| {
            let blocks = node.switch.as_ref().map_or(0, |switch| switch.mft.len());
            NODE_LEN + (node.sl_to_vl.len() + blocks) * TABLE_LEN
        });
        let ports = self.ports.as_ref().map_or(0, |ports| ports.len());
        let end_ports = self.end_ports.as_ref().map_or(0, Vec::len);
        size_of::<Self>()
            + node
            + (ports + end_ports) * PORT_LEN
            + self.lft.num_entries() * size_of::<(Lid, PortNum)>()
    }
}

impl EarlierSls {
    fn between(before: &ServiceLevels, after: &ServiceLevels) -> Self {
        match before.uniform_only() {
            _ if before.is_shared_with(after) => Self::Shared,
            Some(kept) => Self::Kept(kept),
            None => Self::NotKept,
        }
    }
}

impl EarlierLft {
    fn between(old: Option<&Arc<Lft>>, new: Option<&Arc<Lft>>) -> Self {
        let (Some(old), Some(new)) = (old, new) else {
            return match (old, new) {
                (None, None) => Self::Shared,
                _ => Self::Whole(old.cloned()),
            };
        };
        if Arc::ptr_eq(old, new) {
            return Self::Shared;
        }
        let lids = changed_blocks(Some(old), new).flat_map(|block| {
            let first = block * BLOCK_LIDS;
            (first..first + BLOCK_LIDS).map(Lid)
        });
        Self::Entries {
            len: old.entries().len(),
            entries: lids
                .filter(|lid| old.get(*lid) != new.get(*lid))
                .map(|lid| (lid, old.get(lid)))
                .collect(),
        }
    }

    /// Number of entries that it stores.
    fn num_entries(&self) -> usize {
        match self {
            Self::Shared | Self::NotKept => 0,
            Self::Entries { entries, .. } => entries.len(),
            // An entry of a table takes a byte.
            Self::Whole(lft) => lft.as_ref().map_or(0, |lft| lft.entries().len() / 4),
        }
    }

    /// The table, from that of the next snapshot.
    fn restore(&self, next: Option<Arc<Lft>>) -> Option<Arc<Lft>> {
        match self {
            Self::Shared => next,
            Self::NotKept => None,
            Self::Whole(lft) => lft.clone(),
            Self::Entries { len, entries } => {
                let mut table = next?;
                if table.entries().len() != *len {
                    let mut raw = table.entries().to_vec();
                    raw.resize(*len, PortNum::DROP.0);
                    table = Arc::new(Lft::from_entries(raw));
                }
                let restored = Arc::make_mut(&mut table);
                for (lid, port) in entries {
                    restored.set(*lid, *port);
                }
                Some(table)
            }
        }
    }
}

/// A node while deltas are applied.
struct RestoredNode<'d> {
    node: Arc<SnapshotNode>,
    ports: Arc<[SnapshotPort]>,
    /// `None`: those of the snapshot that the deltas are applied to.
    end_ports: Option<&'d [IndexedEndPort]>,
    lft: Option<Arc<Lft>>,
}

impl Snapshot {
    /// The snapshot that the last of these deltas is of. Each is the delta to the one before it in
    /// the iteration, the first one that to `self`. Without a delta it is `self`.
    #[must_use]
    pub fn rewound<'d>(
        &self,
        deltas: impl IntoIterator<Item = &'d SnapshotDelta>,
        tables: EarlierTables,
    ) -> Self {
        let vacant = NodeSlot::vacant();
        let mut earlier = self.clone();
        let mut local = self.local.map(|local| self.end_port(local).port);
        let mut num_slots = self.nodes.len();
        let mut restored: BTreeMap<u32, RestoredNode<'d>> = BTreeMap::new();
        for delta in deltas {
            earlier.prefix = delta.prefix;
            earlier.sms.clone_from(&delta.sms);
            earlier.aliases = Arc::clone(&delta.aliases);
            match &delta.service_levels {
                EarlierSls::Shared => {}
                EarlierSls::Kept(kept) => earlier.service_levels = kept.clone(),
                EarlierSls::NotKept => earlier.service_levels = ServiceLevels::Unrouted,
            }
            local = delta.local;
            num_slots = delta.num_slots;
            for changed in &delta.nodes {
                let at = restored.entry(changed.slot).or_insert_with(|| {
                    let next = self.nodes.get(changed.slot as usize).unwrap_or(&vacant);
                    RestoredNode {
                        node: Arc::clone(&next.node),
                        ports: Arc::clone(&next.ports),
                        end_ports: None,
                        lft: lft(next).cloned(),
                    }
                });
                changed.restore(at, tables);
            }
        }
        let mut nodes: Vec<NodeSlot> = Vec::with_capacity(num_slots);
        let mut end_ports = EndPortTable::with_capacity(num_slots);
        for (slot, index) in (0u32..).zip(0..num_slots) {
            let at = restored.get(&slot);
            let node = match at {
                None => self.nodes.get(index).unwrap_or(&vacant).clone(),
                Some(at) => NodeSlot::new(
                    Arc::new(at.node.with_lft(at.lft.as_ref())),
                    Arc::clone(&at.ports),
                    0,
                    None,
                ),
            };
            if !node.ports.is_empty() {
                end_ports.insert_node(node.node.guid, slot);
            }
            match at.and_then(|at| at.end_ports) {
                Some(kept) => kept
                    .iter()
                    .for_each(|e| end_ports.push(e.end_port.clone(), e.is_indexed)),
                None => self
                    .indexed_end_ports(slot)
                    .into_iter()
                    .for_each(|e| end_ports.push(e.end_port, e.is_indexed)),
            }
            nodes.push(node);
        }
        earlier.local = local.and_then(|port| end_ports.at_port(port));
        earlier.end_ports = Arc::new(end_ports);
        earlier.links = self.links_of_earlier(&nodes);
        earlier.nodes = nodes.into();
        earlier.origin = None;
        earlier
    }

    /// The links of earlier nodes. Those that are still up keep their order and first ends.
    fn links_of_earlier(&self, nodes: &[NodeSlot]) -> Arc<[SnapshotLink]> {
        let peer = |at: PortIdx| {
            let ports = &nodes.get(at.node() as usize)?.ports;
            Some(ports.get(at.num().index())?.peer)
        };
        let lasting = self
            .links
            .iter()
            .filter(|link| peer(link.a) == Some(link.b));
        let mut links: Vec<SnapshotLink> = lasting.copied().collect();
        let is_lasting = |link: &SnapshotLink| {
            let is_known = |end: PortIdx| (end.node() as usize) < self.nodes.len();
            is_known(link.a)
                && self
                    .port_by_num(link.a.node(), link.a.num())
                    .is_some_and(|at| self.peer(at) == Some(link.b))
        };
        let gone = links_of_ports(nodes);
        links.extend(gone.iter().filter(|link| !is_lasting(link)));
        links.into()
    }

    fn indexed_end_ports(&self, slot: u32) -> Vec<IndexedEndPort> {
        let end_ports = self.end_ports.of_node(slot).iter();
        end_ports
            .map(|end_port| {
                let at = self.end_ports.at_port(end_port.port);
                let owner: Option<EndPortIdx> = self.end_ports.by_guid(end_port.guid);
                IndexedEndPort {
                    end_port: end_port.clone(),
                    is_indexed: at.is_some() && owner == at,
                }
            })
            .collect()
    }
}

impl EarlierNode {
    fn restore<'d>(&'d self, at: &mut RestoredNode<'d>, tables: EarlierTables) {
        if let Some(node) = &self.node {
            at.node = Arc::clone(node);
        }
        if let Some(ports) = &self.ports {
            at.ports = Arc::clone(ports);
        }
        if let Some(end_ports) = &self.end_ports {
            at.end_ports = Some(end_ports);
        }
        if tables == EarlierTables::Restored {
            at.lft = self.lft.restore(at.lft.take());
        }
    }
}

/// The LFT of a node, installed or last known.
fn lft(slot: &NodeSlot) -> Option<&Arc<Lft>> {
    slot.node.switch.as_ref()?.lft.as_ref()
}

impl SnapshotNode {
    /// Whether both are equal except for their LFTs.
    fn has_same_rest(&self, other: &Self) -> bool {
        let switch = match (&self.switch, &other.switch) {
            (Some(a), Some(b)) => {
                a.is_lft_installed == b.is_lft_installed
                    && a.info == b.info
                    && Arc::ptr_eq(&a.mft, &b.mft)
            }
            (None, None) => true,
            _ => false,
        };
        switch
            && self.guid == other.guid
            && self.node_type == other.node_type
            && self.info == other.info
            && self.description == other.description
            && self.sl_to_vl == other.sl_to_vl
    }

    fn without_lft(&self) -> Self {
        self.with_lft(None)
    }

    fn with_lft(&self, lft: Option<&Arc<Lft>>) -> Self {
        let mut node = self.clone();
        if let Some(switch) = &mut node.switch {
            switch.lft = lft.cloned();
        }
        node
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::attr::{NodeInfo, NodeType, PortInfo, PortState};
    use ferrosm_mad::ids::{NodeGuid, PortGuid};
    use ferrosm_mad::smp::DrPath;

    use super::*;
    use crate::observed::{Node, ObservedFabric, PortRef};
    use crate::snapshot::SnapshotExtras;

    /// Ports of the switches.
    const PORTS: u8 = 4;

    /// A fabric that changes step by step, and its snapshots.
    struct Steps {
        fabric: ObservedFabric,
        snapshots: Vec<Snapshot>,
        deltas: Vec<SnapshotDelta>,
    }

    impl Steps {
        fn snapshot(&mut self) {
            let last = self.snapshots.last();
            let extras = SnapshotExtras::default();
            let next = Snapshot::build(&self.fabric, |_| None, extras, last);
            if let Some(last) = last {
                self.deltas.push(SnapshotDelta::between(last, &next, 1000));
            }
            self.snapshots.push(next);
        }

        fn add_node(&mut self, guid: u64, node_type: NodeType, lid: u16) -> PortRef {
            let info = NodeInfo {
                node_type,
                num_ports: PORTS,
                node_guid: NodeGuid(guid),
                port_guid: PortGuid(guid),
                ..NodeInfo::default()
            };
            let mut node = Node::new(info, DrPath::LOCAL);
            for num in 0..=PORTS {
                let info = PortInfo {
                    lid: Lid(if num <= 1 { lid } else { 0 }),
                    port_state: PortState::Active,
                    ..PortInfo::default()
                };
                node.store_port_info(PortNum(num), &info.encode());
                node.ports[usize::from(num)].known = true;
                node.ports[usize::from(num)].guid = PortGuid(guid + u64::from(num) * 0x100);
            }
            PortRef::new(self.fabric.add_node(node), PortNum(1))
        }

        fn set_lft(&mut self, at: PortRef, entries: &[(u16, u8)], top: u16) {
            let mut lft = Lft::drop_all(Lid(top));
            for (lid, port) in entries {
                lft.set(Lid(*lid), PortNum(*port));
            }
            let node = self.fabric.get_mut(at.node).unwrap();
            node.lft.installed = Some(Arc::new(lft));
        }
    }

    /// What answers show of a snapshot.
    fn contents(snapshot: &Snapshot) -> Vec<String> {
        let mut lines = Vec::new();
        for slot in snapshot.slots() {
            let node = snapshot.node(slot);
            let lfts: Vec<_> = (0..400)
                .map(|lid| snapshot.output_port(slot, Lid(lid)))
                .collect();
            lines.push(format!("{slot} {:?} {:?} {lfts:?}", node.guid, node.info));
            for (at, port) in snapshot.ports_of_node(slot) {
                let end_port = snapshot.end_port_at(at).map(|at| snapshot.end_port(at));
                lines.push(format!("{port:?} {:?} {end_port:?}", snapshot.peer(at)));
            }
            assert_eq!(snapshot.by_node_guid(node.guid), Some(slot));
        }
        for at in snapshot.end_port_indices() {
            let end_port = snapshot.end_port(at);
            lines.push(format!("{:?}", snapshot.by_guid(end_port.guid)));
            lines.push(format!("{:?}", snapshot.by_lid(end_port.lid)));
        }
        let mut links: Vec<_> = snapshot
            .links()
            .iter()
            .map(|link| [link.a.min(link.b), link.a.max(link.b)])
            .collect();
        links.sort_unstable();
        lines.push(format!("{links:?} {:?}", snapshot.local));
        lines
    }

    /// Links that go and come, tables that grow and shrink, nodes that come, leave, and replace
    /// each other: each earlier snapshot is found again from the last one.
    #[test]
    fn earlier_snapshots_are_found_again() {
        let mut steps = Steps {
            fabric: ObservedFabric::default(),
            snapshots: vec![Snapshot::default()],
            deltas: Vec::new(),
        };
        let a = steps.add_node(1, NodeType::Switch, 1);
        let b = steps.add_node(2, NodeType::Switch, 2);
        steps.fabric.connect(a, b);
        steps.set_lft(a, &[(2, 1)], 2);
        steps.snapshot();
        let host = steps.add_node(3, NodeType::Ca, 3);
        let far = PortRef::new(b.node, PortNum(2));
        steps.fabric.connect(far, host);
        steps.set_lft(a, &[(2, 1), (3, 1)], 3);
        steps.snapshot();
        steps.set_lft(a, &[(2, 2), (300, 1)], 320);
        steps.set_lft(b, &[(3, 2)], 3);
        steps.snapshot();
        steps.fabric.disconnect(a);
        steps.set_lft(a, &[], 2);
        steps.snapshot();
        steps.fabric.remove_node(host.node);
        steps.snapshot();
        let other = steps.add_node(4, NodeType::Switch, 9);
        steps.fabric.connect(far, other);
        steps.snapshot();
        steps.snapshot();

        let last = steps.snapshots.last().unwrap();
        for (i, expected) in steps.snapshots.iter().enumerate() {
            let deltas = steps.deltas[i..].iter().rev();
            let found = last.rewound(deltas, EarlierTables::Restored);
            assert_eq!(contents(&found), contents(expected), "step {i}");
        }
        assert!(steps.deltas.iter().all(SnapshotDelta::has_routes));
        let unchanged = steps.deltas.last().unwrap();
        assert!(unchanged.nodes.is_empty(), "{unchanged:?}");
    }

    /// A delta leaves out too many entries, and reports that.
    #[test]
    fn entries_beyond_the_limit_are_not_kept() {
        let mut steps = Steps {
            fabric: ObservedFabric::default(),
            snapshots: Vec::new(),
            deltas: Vec::new(),
        };
        let a = steps.add_node(1, NodeType::Switch, 1);
        steps.set_lft(a, &[(2, 1), (3, 1)], 3);
        steps.snapshot();
        steps.set_lft(a, &[(2, 2), (3, 2)], 3);
        steps.snapshot();
        let [before, after] = &steps.snapshots[..] else {
            panic!("two snapshots");
        };
        assert!(SnapshotDelta::between(before, after, 2).has_routes());
        let delta = SnapshotDelta::between(before, after, 1);
        assert!(!delta.has_routes());
        let found = after.rewound([&delta], EarlierTables::Restored);
        assert_eq!(found.output_port(a.node.slot(), Lid(2)), None);
    }
}
