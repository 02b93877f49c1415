//! Contents of records, encoded with postcard. Trailing zeros are omitted where they are common.
//!
//! Any change here requires a new [`super::VERSION`].

use ferrosm_mad::sa::tables::SmInfoRecord;
use serde::{Deserialize, Serialize};

use super::super::service_levels::{SlIndexing, SlLookup};
use super::super::{EndPort, Snapshot, SnapshotPort};
use super::NodeInSnapshot;
use crate::tables::sl_to_vl::SlToVlSelector;

/// Data that does not belong to one node.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HeadRecord<'a> {
    /// Subnet prefix.
    pub(super) prefix: u64,
    /// The SM's port: slot and port number.
    pub(super) local: Option<(u32, u8)>,
    /// Number of nodes with records.
    pub(super) nodes: u32,
    /// SMInfoRecords.
    #[serde(borrow)]
    pub(super) sms: Vec<ByteString<'a>>,
    /// SLs, if there is a routing.
    #[serde(borrow)]
    pub(super) levels: Option<SlLookupRecord<'a>>,
}

/// Persisted form of [`SlLookup`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SlLookupRecord<'a> {
    pub(super) single_vl: bool,
    pub(super) multicast_sl: Option<u8>,
    /// 0: one SL, in `row[0]`. 1: `row` by LID. 2: by switches. 3: by switch and LID.
    pub(super) indexing: u8,
    #[serde(borrow)]
    pub(super) row: ByteString<'a>,
    pub(super) destinations: Vec<(u16, u32)>,
}

/// [`super::NodeRecordKind::Node`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NodeRecord<'a> {
    pub(super) guid: u64,
    pub(super) slot: u32,
    pub(super) node_type: u8,
    #[serde(borrow)]
    pub(super) info: ByteString<'a>,
    #[serde(borrow)]
    pub(super) description: ByteString<'a>,
    #[serde(borrow)]
    pub(super) switch_info: Option<ByteString<'a>>,
    #[serde(borrow)]
    pub(super) ports: Vec<PortRecord<'a>>,
    pub(super) end_ports: Vec<EndPortRecord>,
}

/// A port.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PortRecord<'a> {
    #[serde(borrow)]
    pub(super) raw: ByteString<'a>,
    pub(super) flags: u8,
    pub(super) mtu: u8,
    pub(super) rate_rank: u8,
    /// Slot and number of the port at the other end of the link.
    pub(super) peer: Option<(u32, u8)>,
    /// Known P_Key blocks without trailing zeros.
    pub(super) keys: Vec<(u16, Vec<u16>)>,
    #[serde(borrow)]
    pub(super) vl_arbitration: Vec<(u8, ByteString<'a>)>,
}

/// Bits of [`PortRecord::flags`].
pub(super) mod flag {
    /// PortInfo was read.
    pub(in super::super) const HAS_PORT_INFO: u8 = 1;
    /// The port enforces partitions.
    pub(in super::super) const ENFORCES_PARTITIONS: u8 = 2;
    /// The link runs at FDR10.
    pub(in super::super) const FDR10: u8 = 4;
    /// Unread P_Key blocks are empty.
    pub(in super::super) const UNREAD_PKEYS_EMPTY: u8 = 8;
}

/// An end port of a node.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EndPortRecord {
    pub(super) num: u8,
    pub(super) guid: u64,
    pub(super) lid: u16,
    pub(super) lmc: u8,
    /// The index by GUID refers to this port.
    pub(super) is_guid_owner: bool,
    pub(super) keys: Option<Vec<u16>>,
}

/// [`super::NodeRecordKind::Forwarding`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ForwardingRecord<'a> {
    #[serde(borrow)]
    pub(super) lft: Option<ByteString<'a>>,
    /// The routing contains this switch.
    pub(super) routed: bool,
    /// SLs of packets that enter here.
    #[serde(borrow)]
    pub(super) levels: Option<ByteString<'a>>,
}

/// [`super::NodeRecordKind::Multicast`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct MulticastRecord {
    /// Block, position, and port masks without trailing zeros.
    pub(super) blocks: Vec<(u16, u8, Vec<u16>)>,
}

/// [`super::NodeRecordKind::VlTables`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct VlTablesRecord {
    /// SLtoVL tables: kind (0 pair, 1 end port, 2 output), ports, table.
    pub(super) maps: Vec<(u8, u8, u8, [u8; 8])>,
}

/// Bytes that serde encodes as a byte string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByteString<'a>(pub(super) &'a [u8]);

impl Serialize for ByteString<'_> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ByteString<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        <&[u8]>::deserialize(from).map(Self)
    }
}

impl<'a> ByteString<'a> {
    /// Without trailing zeros.
    fn trimmed(bytes: &'a [u8]) -> Self {
        Self(trimmed(bytes))
    }

    /// Padded with zeros to `N` bytes; `None` if longer.
    pub(super) fn padded<const N: usize>(self) -> Option<[u8; N]> {
        let mut array = [0; N];
        array.get_mut(..self.0.len())?.copy_from_slice(self.0);
        Some(array)
    }
}

fn trimmed<T: PartialEq + Default>(list: &[T]) -> &[T] {
    let last_used = list.iter().rposition(|x| *x != T::default());
    &list[..last_used.map_or(0, |last| last + 1)]
}

/// Appends the encoded record. Encoding these structs cannot fail.
fn encode_record<T: Serialize>(record: &T, out: &mut Vec<u8>) {
    let taken = core::mem::take(out);
    *out = postcard::to_extend(record, taken).unwrap_or_default();
}

pub(super) fn encode_head(snapshot: &Snapshot, out: &mut Vec<u8>) {
    let sms: Vec<[u8; SmInfoRecord::LEN]> = snapshot.sms.iter().map(SmInfoRecord::encode).collect();
    let lookup = snapshot.service_levels.lookup();
    let local_port = snapshot.local.map(|at| snapshot.end_port(at).port);
    let levels = lookup.as_ref().map(|lookup| {
        let (indexing, row): (u8, &[u8]) = match &lookup.indexing {
            SlIndexing::Uniform(sl) => (0, core::slice::from_ref(sl)),
            SlIndexing::Lid(row) => (1, row),
            SlIndexing::Switches => (2, &[]),
            SlIndexing::SwitchAndLid => (3, &[]),
        };
        let SlLookup {
            single_vl,
            multicast_sl,
            destinations,
            ..
        } = lookup;
        SlLookupRecord {
            single_vl: *single_vl,
            multicast_sl: *multicast_sl,
            indexing,
            row: ByteString(row),
            destinations: destinations.clone(),
        }
    });
    let head = HeadRecord {
        prefix: snapshot.prefix.0,
        local: local_port.map(|p| (p.node(), p.num().0)),
        nodes: u32::try_from(super::persisted_nodes(snapshot).count()).unwrap_or(u32::MAX),
        sms: sms.iter().map(|m| ByteString(m)).collect(),
        levels,
    };
    encode_record(&head, out);
}

pub(super) fn encode_node(in_snapshot: &NodeInSnapshot<'_>, out: &mut Vec<u8>) -> bool {
    let node = in_snapshot.node;
    let record = NodeRecord {
        guid: node.guid.0,
        slot: in_snapshot.slot,
        node_type: node.node_type.0,
        info: ByteString(&node.info),
        description: ByteString::trimmed(&node.description),
        switch_info: node.switch.as_ref().map(|s| ByteString(&s.info)),
        ports: in_snapshot.ports().iter().map(port).collect(),
        end_ports: in_snapshot
            .end_ports()
            .iter()
            .map(|e| end_port_record(e, in_snapshot.is_guid_owner(e)))
            .collect(),
    };
    encode_record(&record, out);
    true
}

fn port(port: &SnapshotPort) -> PortRecord<'_> {
    let bit = |is_set, bit| if is_set { bit } else { 0 };
    let peer = (port.peer != super::super::PortIdx::NONE).then_some(port.peer);
    PortRecord {
        raw: ByteString::trimmed(&*port.raw),
        flags: bit(port.has_port_info, flag::HAS_PORT_INFO)
            | bit(port.enforces_partitions, flag::ENFORCES_PARTITIONS)
            | bit(port.fdr10, flag::FDR10)
            | bit(port.pkeys.is_unread_empty(), flag::UNREAD_PKEYS_EMPTY),
        mtu: port.mtu.0,
        rate_rank: port.rate_rank,
        peer: peer.map(|p| (p.node(), p.num().0)),
        keys: port
            .pkeys
            .iter()
            .map(|(block, keys)| (block, trimmed(&keys.map(|k| k.0)).to_vec()))
            .collect(),
        vl_arbitration: port
            .vl_arbitration
            .iter()
            .map(|(block, table)| (*block, ByteString::trimmed(table)))
            .collect(),
    }
}

fn end_port_record(end: &EndPort, is_guid_owner: bool) -> EndPortRecord {
    EndPortRecord {
        num: end.port.num().0,
        guid: end.guid.0,
        lid: end.lid.0,
        lmc: end.lmc.0,
        is_guid_owner,
        keys: end
            .pkeys
            .as_ref()
            .map(|keys| keys.as_slice().iter().map(|k| k.0).collect()),
    }
}

pub(super) fn encode_forwarding(node: &NodeInSnapshot<'_>, out: &mut Vec<u8>) -> bool {
    let Some(switch) = &node.node.switch else {
        return false;
    };
    let row = node.snapshot.service_levels.row(node.slot);
    let record = ForwardingRecord {
        lft: switch.lft.as_ref().map(|lft| ByteString(lft.entries())),
        routed: row.is_some(),
        levels: row.as_ref().and_then(|r| r.as_deref()).map(ByteString),
    };
    encode_record(&record, out);
    true
}

pub(super) fn encode_multicast(node: &NodeInSnapshot<'_>, out: &mut Vec<u8>) -> bool {
    let Some(mft) = node.mft() else {
        return false;
    };
    let blocks = mft.iter();
    let record = MulticastRecord {
        blocks: blocks
            .map(|(at, masks)| (at.block, at.position, trimmed(masks).to_vec()))
            .collect(),
    };
    encode_record(&record, out);
    true
}

pub(super) fn encode_vl_tables(node: &NodeInSnapshot<'_>, out: &mut Vec<u8>) -> bool {
    if node.node.sl_to_vl.is_empty() {
        return false;
    }
    let map = |(at, map): (&SlToVlSelector, &[u8; 8])| match at {
        SlToVlSelector::Pair(input, output) => (0, input.0, output.0, *map),
        SlToVlSelector::EndPort(port) => (1, port.0, 0, *map),
        SlToVlSelector::Output(port) => (2, port.0, 0, *map),
    };
    let record = VlTablesRecord {
        maps: node.node.sl_to_vl.iter().map(map).collect(),
    };
    encode_record(&record, out);
    true
}
