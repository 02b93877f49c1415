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
pub struct ReadLanes {
    nodes: BTreeMap<NodeGuid, Arc<ReadTables>>,
}

/// Tables of one node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadTables {
    maps: BTreeMap<(PortNum, PortNum), [u8; 8]>,
    arbitration: BTreeMap<(PortNum, u8), [u8; 64]>,
}

/// A table of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// SLtoVLMappingTable from one port to another; of a CA or router from the port to itself.
    Map(PortNum, PortNum),
    /// A block of VLArbitrationTable of a port: 1 to 4.
    Arbitration(PortNum, u8),
}

impl ReadLanes {
    /// Of all nodes that something was read of.
    #[must_use]
    pub fn new<'a>(nodes: impl Iterator<Item = (NodeGuid, &'a Arc<ReadTables>)>) -> Self {
        let read = nodes.filter(|(_, tables)| !tables.is_empty());
        Self {
            nodes: read.map(|(guid, t)| (guid, Arc::clone(t))).collect(),
        }
    }

    /// What was read of a node, if anything was.
    #[must_use]
    pub fn of_node(&self, node: NodeGuid) -> Option<&Arc<ReadTables>> {
        self.nodes.get(&node)
    }

    /// A map, as far as it is known.
    #[must_use]
    pub fn map(&self, node: NodeGuid, input: PortNum, output: PortNum) -> Option<[u8; 8]> {
        let tables = self.nodes.get(&node)?;
        tables.maps.get(&(input, output)).copied()
    }

    /// A block of VLArbitrationTable, as far as it is known.
    #[must_use]
    pub fn arbitration(&self, node: NodeGuid, port: PortNum, block: u8) -> Option<[u8; 64]> {
        let tables = self.nodes.get(&node)?;
        tables.arbitration.get(&(port, block)).copied()
    }
}

impl ReadTables {
    /// Keeps what a device answered: all of `data` or the part of it that the table has.
    pub fn put(&mut self, table: Table, data: &[u8; 64]) {
        match table {
            Table::Map(input, output) => {
                let map = core::array::from_fn(|i| data[i]);
                self.maps.insert((input, output), map);
            }
            Table::Arbitration(port, block) => {
                self.arbitration.insert((port, block), *data);
            }
        }
    }

    /// Maps from a port to a port.
    pub fn maps(&self) -> impl Iterator<Item = (PortNum, PortNum, &[u8; 8])> {
        self.maps.iter().map(|((from, to), map)| (*from, *to, map))
    }

    /// Blocks of VLArbitrationTable of a port.
    pub fn arbitrations(&self) -> impl Iterator<Item = (PortNum, u8, &[u8; 64])> {
        let blocks = self.arbitration.iter();
        blocks.map(|((port, block), table)| (*port, *block, table))
    }

    /// Whether nothing was read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.maps.is_empty() && self.arbitration.is_empty()
    }
}
