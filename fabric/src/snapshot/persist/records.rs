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
    pub(super) nodes: usize,
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

#[cfg(test)]
mod tests {
    use ferrosm_mad::attr::{MtuCode, NodeType};
    use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PKey, PortGuid, PortNum};

    use super::*;
    use crate::pkey_set::PKeySet;
    use crate::snapshot::SnapshotSwitch;
    use crate::snapshot::persist::VERSION;
    use crate::tables::pkeys::PKeyTable;
    use crate::tables::port_info::PortInfoBytes;
    use crate::tables::vl_arbitration::VlArbitrationBlocks;

    fn node() -> SnapshotNode {
        SnapshotNode {
            guid: NodeGuid(1),
            node_type: NodeType::Switch,
            info: [2; 40],
            description: [3; 64],
            switch: Some(SnapshotSwitch {
                info: [4; 20],
                lft: None,
                is_lft_installed: false,
                mft: Arc::default(),
            }),
            sl_to_vl: std::collections::BTreeMap::new(),
        }
    }

    fn port() -> SnapshotPort {
        let mut pkeys = PKeyTable::default();
        pkeys.set_block(6, PKeyTable::block_of(&[PKey(7)], 0));
        SnapshotPort {
            raw: PortInfoBytes::from([5; 64]),
            has_port_info: true,
            num: PortNum(8),
            node: 9,
            mtu: MtuCode(10),
            rate_rank: 11,
            pkeys,
            enforces_partitions: false,
            vl_arbitration: VlArbitrationBlocks::from_iter([(12, [13; 64])]),
            peer: PortIdx::new(0, PortNum(14)),
            fdr10: false,
        }
    }

    fn end_port() -> EndPort {
        EndPort {
            port: PortIdx::new(0, PortNum(15)),
            node: 16,
            guid: PortGuid(17),
            lid: Lid(18),
            lmc: Lmc(3),
            pkeys: Some(PKeySet::new([PKey(19)])),
        }
    }

    /// A field that is added to a type of a record, or moved, changes the format.
    #[test]
    fn encoding_changes_with_the_version_only() {
        let record = NodeRecord {
            slot: 20,
            node: Cow::Owned(node()),
            ports: Cow::Owned(vec![port()]),
            end_ports: Cow::Owned(vec![end_port()]),
            guid_owners: vec![true],
        };
        let mut bytes = Vec::new();
        encode(&record, &mut bytes);
        let decoded = decode::<NodeRecord<'_>>(&bytes).unwrap();
        assert_eq!(decoded.ports, record.ports);
        assert_eq!(decoded.end_ports, record.end_ports);
        // Repeated bytes once: the lengths of byte strings follow from their types.
        bytes.dedup();
        assert_eq!(VERSION, 3);
        let expected = [
            20, 1, 2, 40, 2, 64, 3, 1, 20, 4, 1, 64, 5, 1, 8, 9, 10, 11, 1, 6, 7, 0, 1, 12, 64, 13,
            14, 0, 1, 15, 16, 17, 18, 3, 1, 19, 1,
        ];
        assert_eq!(bytes, expected);
    }
}
