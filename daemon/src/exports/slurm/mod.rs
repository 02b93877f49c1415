//! Slurm's topology.conf: a tree of switches for topology/tree, or blocks for topology/block.
//!
//! A fabric is no tree, so the switches in the file are sets of switches: those that the same hosts
//! are connected to, the parts of each level of a tree without the levels above, the groups of a
//! dragonfly, the planes of a grid. Each has one parent, and each host is in one of them.

mod conf;
mod hierarchy;
mod host_ranges;
pub mod names;

pub use conf::{TopologyFile, difference};

use crate::whole_fabric::{FabricIndex, WholeFabric};
use hierarchy::Hierarchy;
use names::NodeNaming;

/// Kinds of topology.conf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlurmTopologyKind {
    /// For topology/tree.
    Tree,
    /// For topology/block.
    Block,
}

/// A topology.conf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlurmTopology {
    /// Its lines.
    pub lines: Vec<String>,
    pub num_switches: usize,
    pub num_hosts: usize,
    /// GUIDs and names of hosts without a name that Slurm accepts; they are not in it.
    pub unnamed: Vec<String>,
    /// Hosts that are in no block, because they have no link to a switch. Slurm plans with blocks
    /// of the size of the smallest one.
    pub unconnected: Vec<String>,
}

impl SlurmTopology {
    /// The topology of a fabric.
    #[must_use]
    pub fn new(fabric: &WholeFabric, kind: SlurmTopologyKind, naming: &NodeNaming) -> Self {
        let index = FabricIndex::new(fabric);
        let (hosts, unnamed) = naming.hosts(&index);
        let num_named = hosts.len();
        let hierarchy = Hierarchy::new(&index, hosts, naming);
        let unconnected = match kind {
            SlurmTopologyKind::Tree => Vec::new(),
            SlurmTopologyKind::Block => hierarchy.unconnected_hosts().to_vec(),
        };
        let lines = match kind {
            SlurmTopologyKind::Tree => conf::tree_lines(&hierarchy),
            SlurmTopologyKind::Block => conf::block_lines(&hierarchy),
        };
        Self {
            num_switches: match kind {
                SlurmTopologyKind::Tree => hierarchy.switches.len(),
                SlurmTopologyKind::Block => hierarchy.with_hosts().count(),
            },
            lines,
            num_hosts: num_named - unconnected.len(),
            unnamed,
            unconnected,
        }
    }

    /// The file.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = "# Written by `ferrosm export slurm`.\n".to_owned();
        for line in &self.lines {
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
#[cfg(feature = "simulator")]
mod tests;
