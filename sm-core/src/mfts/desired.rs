//! The MFTs that switches should have.

use std::collections::BTreeMap;

use ferrosm_mad::ids::Lid;
use ferrosm_routing::PortSet;

use ferrosm_fabric::observed::{NodeIdx, ObservedFabric};
use ferrosm_fabric::tables::mft::{EMPTY_BLOCK, MftBlockIdx, MftBlocks, mft_index, num_positions};

static NO_BLOCKS: MftBlocks = MftBlocks::new();

/// The blocks that are not empty, by switch.
#[derive(Debug, Default)]
pub(super) struct DesiredMfts(BTreeMap<NodeIdx, MftBlocks>);

impl DesiredMfts {
    /// The blocks of a switch. A block that is not listed should be empty.
    pub(super) fn blocks(&self, n: NodeIdx) -> &MftBlocks {
        self.0.get(&n).unwrap_or(&NO_BLOCKS)
    }

    /// Sets the entries of an MLID in some switches.
    pub(super) fn set_entries(
        &mut self,
        fabric: &ObservedFabric,
        mlid: Lid,
        entries: Vec<(NodeIdx, PortSet)>,
    ) {
        for (n, ports) in entries {
            if let Some(node) = fabric.get(n) {
                let blocks = self.0.entry(n).or_default();
                set_entry(blocks, mlid, ports, num_positions(node.info.num_ports));
            }
        }
    }

    /// Removes the tables of nodes that are not in the fabric.
    pub(super) fn remove_absent(&mut self, fabric: &ObservedFabric) {
        self.0.retain(|n, _| fabric.get(*n).is_some());
    }
}

fn set_entry(blocks: &mut MftBlocks, mlid: Lid, ports: PortSet, positions: u8) {
    let (block, i) = mft_index(mlid);
    for position in 0..positions {
        let at = MftBlockIdx { block, position };
        let mask = ports.position(position);
        if mask == 0 && !blocks.contains_key(&at) {
            continue;
        }
        let masks = blocks.entry(at).or_insert(EMPTY_BLOCK);
        masks[i] = mask;
        if *masks == EMPTY_BLOCK {
            blocks.remove(&at);
        }
    }
}
