//! Contents of records, encoded with postcard: the types of the snapshot. The records that are not
//! in this file are one value: the MFT ([`super::MftBlocks`]), and the SLtoVLMappingTables by
//! [`SlToVlSelector`](crate::tables::sl_to_vl::SlToVlSelector).
//!
//! Any change here, or in the types that a record contains, requires a new [`super::VERSION`].

use std::borrow::Cow;
use std::sync::Arc;

use ferrosm_mad::ids::GidPrefix;
use ferrosm_mad::sa::tables::SmInfoRecord;
use ferrosm_routing::Lft;
use serde::{Deserialize, Serialize};

use super::super::service_levels::{SlLookup, SlRow};
use super::super::{EndPort, PortIdx, SnapshotNode, SnapshotPort};

/// Data that does not belong to one node.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct HeadRecord<'a> {
    pub(super) prefix: GidPrefix,
    /// The SM's port.
    pub(super) local: Option<PortIdx>,
    /// Number of nodes with records.
    pub(super) nodes: u32,
    pub(super) sms: Cow<'a, [SmInfoRecord]>,
    /// SLs, if there is a routing.
    pub(super) levels: Option<SlLookup>,
}

/// [`super::NodeRecordKind::Node`]. Ports refer to nodes by their slots in the saved snapshot.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NodeRecord<'a> {
    pub(super) slot: u32,
    pub(super) node: Cow<'a, SnapshotNode>,
    pub(super) ports: Cow<'a, [SnapshotPort]>,
    /// Ascending by port number.
    pub(super) end_ports: Cow<'a, [EndPort]>,
    /// For each end port, whether the index by GUID refers to it.
    pub(super) guid_owners: Vec<bool>,
}

/// [`super::NodeRecordKind::Forwarding`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ForwardingRecord {
    pub(super) lft: Option<Arc<Lft>>,
    /// SLs of packets that enter here, if the routing contains this switch.
    pub(super) row: Option<SlRow>,
}

/// Appends an encoded record. These types cannot fail to encode.
pub(super) fn encode<T: Serialize + ?Sized>(record: &T, out: &mut Vec<u8>) {
    let taken = core::mem::take(out);
    *out = postcard::to_extend(record, taken).unwrap_or_default();
}

/// Decodes a record that consumes all bytes.
pub(super) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Option<T> {
    let (record, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(record)
}
