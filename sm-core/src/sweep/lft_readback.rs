//! Reads the forwarding tables of switches whose tables are unknown, so that only blocks that differ are written.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::attr::LFT_BLOCK_LEN;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::Lft;

use crate::ctx::Ctx;
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;
use crate::subnet::NodeIdx;

/// LIDs of one forwarding table block.
const BLOCK_LIDS: u16 = 64;

/// The tables that are being read.
#[derive(Debug)]
pub(crate) struct LftReadback {
    tables: BTreeMap<NodeIdx, Vec<u8>>,
}

impl LftReadback {
    /// Reads all blocks up to LinearFDBTop.
    pub(crate) fn start(ctx: &mut Ctx<'_>) -> Self {
        let mut tables = BTreeMap::new();
        let tops: Vec<(NodeIdx, u16)> = ctx
            .fabric
            .nodes()
            .filter(|(_, n)| n.installed.is_none())
            .filter_map(|(i, n)| Some((i, n, n.switch_info()?.linear_fdb_top)))
            .filter(|(_, _, top)| *top > 0 && *top <= Lid::UNICAST_MAX.0)
            .map(|(i, n, top)| (i, n.lft_top(Lid(top)).0))
            .collect();
        for (n, top) in tops {
            let blocks = top / BLOCK_LIDS + 1;
            let empty = vec![PortNum::DROP.0; usize::from(blocks) * LFT_BLOCK_LEN];
            tables.insert(n, empty);
            for block in 0..blocks {
                ctx.smps.enqueue(SmpOp::Lft(n, block));
            }
        }
        Self { tables }
    }

    /// A block was read. If it cannot be, the whole table stays unknown.
    pub(crate) fn on_block(&mut self, n: NodeIdx, block: u16, outcome: &SmpOutcome) {
        let Some(data) = outcome.data() else {
            self.tables.remove(&n);
            return;
        };
        let at = usize::from(block) * LFT_BLOCK_LEN;
        let table = self.tables.get_mut(&n);
        if let Some(part) = table.and_then(|t| t.get_mut(at..at + LFT_BLOCK_LEN)) {
            part.copy_from_slice(data);
        }
    }

    /// All blocks are read: the tables are known.
    pub(crate) fn finish(self, ctx: &mut Ctx<'_>) {
        for (n, entries) in self.tables {
            if let Some(node) = ctx.fabric.get_mut(n) {
                node.installed = Some(Arc::new(Lft::from_entries(entries)));
                node.last_known = None;
            }
        }
    }
}
