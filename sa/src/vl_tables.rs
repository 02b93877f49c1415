//! Tables of lanes that devices were asked for: SLtoVLMappingTables and VLArbitrationTables that no subnet manager of this
//! program has written (rule 7.14).
//!
//! A sweep does not read them, because a switch of 64 ports has 4,096. They are read when a client asks for them, and kept
//! until the device restarts or is told others. Reading is the manager's; here is only what is known, immutable once it is
//! shared.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::ids::{NodeGuid, PortNum};

/// What was read, by node.
#[derive(Debug, Clone, Default)]
pub struct ReadVlTables {
    nodes: BTreeMap<NodeGuid, Arc<NodeVlTables>>,
}

/// Tables of one node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeVlTables {
    sl_to_vl: BTreeMap<(PortNum, PortNum), [u8; 8]>,
    vl_arbitration: BTreeMap<(PortNum, u8), [u8; 64]>,
}

/// A table of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VlTableId {
    /// SLtoVLMappingTable from one port to another; of a CA or router from the port to itself.
    SlToVl(PortNum, PortNum),
    /// A block of VLArbitrationTable of a port: 1 to 4.
    VlArbitration(PortNum, u8),
}

impl ReadVlTables {
    /// Of all nodes that something was read of.
    #[must_use]
    pub fn new<'a>(nodes: impl Iterator<Item = (NodeGuid, &'a Arc<NodeVlTables>)>) -> Self {
        let read = nodes.filter(|(_, tables)| !tables.is_empty());
        Self {
            nodes: read.map(|(guid, t)| (guid, Arc::clone(t))).collect(),
        }
    }

    /// What was read of a node, if anything was.
    #[must_use]
    pub fn of_node(&self, node: NodeGuid) -> Option<&Arc<NodeVlTables>> {
        self.nodes.get(&node)
    }

    /// A map, as far as it is known.
    #[must_use]
    pub fn sl_to_vl(&self, node: NodeGuid, input: PortNum, output: PortNum) -> Option<[u8; 8]> {
        let tables = self.nodes.get(&node)?;
        tables.sl_to_vl.get(&(input, output)).copied()
    }

    /// A block of VLArbitrationTable, as far as it is known.
    #[must_use]
    pub fn vl_arbitration(&self, node: NodeGuid, port: PortNum, block: u8) -> Option<[u8; 64]> {
        let tables = self.nodes.get(&node)?;
        tables.vl_arbitration.get(&(port, block)).copied()
    }
}

impl NodeVlTables {
    /// Keeps what a device answered: all of `data` or the part of it that the table has.
    pub fn insert(&mut self, table: VlTableId, data: &[u8; 64]) {
        match table {
            VlTableId::SlToVl(input, output) => {
                let map = core::array::from_fn(|i| data[i]);
                self.sl_to_vl.insert((input, output), map);
            }
            VlTableId::VlArbitration(port, block) => {
                self.vl_arbitration.insert((port, block), *data);
            }
        }
    }

    /// Maps from a port to a port.
    pub fn sl_to_vl_tables(&self) -> impl Iterator<Item = (PortNum, PortNum, &[u8; 8])> {
        self.sl_to_vl
            .iter()
            .map(|((from, to), map)| (*from, *to, map))
    }

    /// Blocks of VLArbitrationTable of a port.
    pub fn vl_arbitration_blocks(&self) -> impl Iterator<Item = (PortNum, u8, &[u8; 64])> {
        let blocks = self.vl_arbitration.iter();
        blocks.map(|((port, block), table)| (*port, *block, table))
    }

    /// Whether nothing was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sl_to_vl.is_empty() && self.vl_arbitration.is_empty()
    }
}
