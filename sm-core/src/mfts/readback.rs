//! Reads MFTs that another SM may have written, so that their trees are imported and only
//! differences are written.
//!
//! Importing a table writes it in part. A block with entries is therefore read twice, and a table
//! is not believed if two reads differ or an entry is for a port that its switch does not have.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::observed::NodeIdx;
use ferrosm_fabric::tables::mft::{EMPTY_BLOCK, MftBlockIdx, PortMasks, first_mlid, num_positions};
use ferrosm_mad::attr::MftBlock;

use super::update::has_fdb_top;
use super::used_blocks;
use crate::ctx::Ctx;
use crate::effect::Effect;
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;
use ferrosm_sa::registry::Registry;

/// The MFT blocks that a sweep reads.
#[derive(Debug, Default)]
pub(crate) struct MftReadback {
    /// Blocks whose reads are enqueued.
    blocks: BTreeSet<(NodeIdx, u16)>,
    /// Blocks with entries that are read a second time, with the first result.
    unconfirmed: BTreeMap<(NodeIdx, MftBlockIdx), PortMasks>,
    /// Switches with an invalid block.
    invalid: BTreeSet<NodeIdx>,
}

impl MftReadback {
    /// Reads the blocks in use of each switch with unknown tables. After a block that is not empty,
    /// the next one is read.
    pub(crate) fn start(ctx: &mut Ctx<'_>, registry: &Registry) -> Self {
        let mut readback = Self::default();
        let used = used_blocks(registry);
        let nodes: Vec<NodeIdx> = ctx.fabric.node_indices().collect();
        for n in nodes {
            let Some(node) = ctx.fabric.get_mut(n).filter(|n| n.is_switch()) else {
                continue;
            };
            let is_unconfigured = node.switch_info().is_none_or(|s| s.linear_fdb_top == 0);
            if !core::mem::replace(&mut node.mft.read, true) && !is_unconfigured {
                used.iter().for_each(|b| readback.read_block(ctx, n, *b));
            }
        }
        readback
    }

    fn read_block(&mut self, ctx: &mut Ctx<'_>, n: NodeIdx, block: u16) {
        let Some((node, info)) = ctx.fabric.get(n).and_then(|n| Some((n, n.switch_info()?))) else {
            return;
        };
        let is_above_top = has_fdb_top(node) && first_mlid(block) > info.multicast_fdb_top;
        if block >= info.multicast_fdb_cap.div_ceil(32) || is_above_top {
            return;
        }
        if self.blocks.insert((n, block)) {
            for position in 0..num_positions(node.info.num_ports) {
                let at = MftBlockIdx { block, position };
                ctx.smps.enqueue(SmpOp::Mft(n, at));
            }
        }
    }

    /// A block was read. One that cannot be read stays unknown and is written.
    pub(crate) fn on_block(
        &mut self,
        ctx: &mut Ctx<'_>,
        (n, at): (NodeIdx, MftBlockIdx),
        outcome: &SmpOutcome,
    ) {
        let Some(data) = outcome.data() else {
            return;
        };
        let masks = MftBlock::decode(data).masks;
        let Some(node) = ctx.fabric.get_mut(n) else {
            return;
        };
        let is_valid = has_only_ports_of(node.info.num_ports, at.position, &masks);
        let first = self.unconfirmed.remove(&(n, at));
        if !is_valid || first.is_some_and(|first| first != masks) {
            ctx.effects.push(Effect::InvalidResponse);
            self.invalid.insert(n);
        }
        if masks != EMPTY_BLOCK {
            node.mft.mark_uncertain(at);
        }
        if self.invalid.contains(&n) {
            node.mft.distrust();
        } else if masks == EMPTY_BLOCK {
            node.mft.set_known(at, masks);
        } else if first.is_none() {
            self.unconfirmed.insert((n, at), masks);
            ctx.smps.enqueue(SmpOp::Mft(n, at));
        } else {
            node.mft.set_known(at, masks);
            self.read_block(ctx, n, at.block + 1);
        }
    }
}

/// Whether a block has no port beyond the last one of its switch.
fn has_only_ports_of(num_ports: u8, position: u8, masks: &PortMasks) -> bool {
    let valid = valid_ports(num_ports, position);
    masks.iter().all(|mask| mask & !valid == 0)
}

/// The bits of a mask that stand for ports of a switch.
fn valid_ports(num_ports: u8, position: u8) -> u16 {
    let bits = (u32::from(num_ports) + 1).saturating_sub(16 * u32::from(position));
    1_u16.checked_shl(bits).map_or(u16::MAX, |bit| bit - 1)
}

/// Clears the bits of a block that stand for no port.
pub(super) fn normalize_masks(data: &mut [u8; 64], num_ports: u8, position: u8) {
    let [high, low] = valid_ports(num_ports, position).to_be_bytes();
    for mask in data.chunks_exact_mut(2) {
        mask[0] &= high;
        mask[1] &= low;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_beyond_the_last_one_are_found() {
        for num_ports in [1, 15, 16, 31, 36, 64, 254_u8] {
            for port in 0..=255_u8 {
                let mut masks = EMPTY_BLOCK;
                masks[7] = 1 << (port % 16);
                let is_valid = has_only_ports_of(num_ports, port / 16, &masks);
                assert_eq!(is_valid, port <= num_ports, "port {port} of {num_ports}");
            }
        }
    }
}
