//! Reads MFTs that another SM may have written, so that their trees are imported and only differences are written.

use std::collections::BTreeSet;

use ferrosm_mad::attr::MftBlock;

use super::update::has_fdb_top;
use super::used_blocks;
use crate::ctx::Ctx;
use crate::sa::registry::Registry;
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;
use crate::subnet::NodeIdx;
use crate::tables::mft::{EMPTY_BLOCK, MftBlockIdx, first_mlid, num_positions};

/// The MFT blocks that a sweep reads.
#[derive(Debug, Default)]
pub(crate) struct MftReadback {
    /// Blocks whose reads are enqueued.
    blocks: BTreeSet<(NodeIdx, u16)>,
}

impl MftReadback {
    /// Reads the blocks in use of each switch with unknown tables. After a block that is not empty, the next one is read.
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
        if let Some(node) = ctx.fabric.get_mut(n) {
            node.mft.set_known(at, masks);
        }
        if masks != EMPTY_BLOCK {
            self.read_block(ctx, n, at.block + 1);
        }
    }
}
