//! SLtoVL and VLArbitration tables that the SM read from devices instead of writing them
//! (docs/sm-behaviour.md 7.14).
//!
//! A sweep does not read these tables, because a switch with 64 ports has 4,096
//! SLtoVLMappingTables. The SM reads them on behalf of clients and caches them until the device
//! restarts or the SM writes other tables. Views share the tables, which are immutable.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::ids::{NodeGuid, PortNum};

/// Tables that were read, by node.
#[derive(Debug, Clone, Default)]
pub struct VlTableCache {
    nodes: BTreeMap<NodeGuid, Arc<NodeVlTables>>,
}

/// Tables of one node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeVlTables {
    sl_to_vl: BTreeMap<(PortNum, PortNum), [u8; 8]>,
    vl_arbitration: BTreeMap<(PortNum, u8), [u8; 64]>,
}

/// Identifies a table of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VlTableId {
    /// SLtoVLMappingTable from an input port to an output port; a CA or router has one for each
    /// port.
    SlToVl(PortNum, PortNum),
    /// A VLArbitrationTable block of a port: 1 to 4.
    VlArbitration(PortNum, u8),
}

impl VlTableCache {
    /// From the tables of nodes; nodes without tables are omitted.
    #[must_use]
    pub fn new<'a>(nodes: impl Iterator<Item = (NodeGuid, &'a Arc<NodeVlTables>)>) -> Self {
        let read = nodes.filter(|(_, tables)| !tables.is_empty());
        Self {
            nodes: read.map(|(guid, t)| (guid, Arc::clone(t))).collect(),
        }
    }

    /// The tables of a node, if any were read.
    #[must_use]
    pub fn of_node(&self, node: NodeGuid) -> Option<&Arc<NodeVlTables>> {
        self.nodes.get(&node)
    }

    /// An SLtoVLMappingTable, if known.
    #[must_use]
    pub fn sl_to_vl(&self, node: NodeGuid, input: PortNum, output: PortNum) -> Option<[u8; 8]> {
        let tables = self.nodes.get(&node)?;
        tables.sl_to_vl.get(&(input, output)).copied()
    }

    /// A VLArbitrationTable block, if known.
    #[must_use]
    pub fn vl_arbitration(&self, node: NodeGuid, port: PortNum, block: u8) -> Option<[u8; 64]> {
        let tables = self.nodes.get(&node)?;
        tables.vl_arbitration.get(&(port, block)).copied()
    }
}

impl NodeVlTables {
    /// Stores the data of a response; of an SLtoVLMappingTable only the first 8 bytes.
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

    /// SLtoVLMappingTables by input and output port.
    pub fn sl_to_vl_tables(&self) -> impl Iterator<Item = (PortNum, PortNum, &[u8; 8])> {
        self.sl_to_vl
            .iter()
            .map(|((from, to), map)| (*from, *to, map))
    }

    /// VLArbitrationTable blocks by port and block.
    pub fn vl_arbitration_blocks(&self) -> impl Iterator<Item = (PortNum, u8, &[u8; 64])> {
        let blocks = self.vl_arbitration.iter();
        blocks.map(|((port, block), table)| (*port, *block, table))
    }

    /// Whether there are no tables.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sl_to_vl.is_empty() && self.vl_arbitration.is_empty()
    }
}
