//! Reads the forwarding tables of switches whose tables are unknown, so that only blocks that
//! differ are written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrosm_fabric::observed::NodeIdx;
use ferrosm_mad::attr::LFT_BLOCK_LEN;
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_routing::Lft;

use crate::ctx::Ctx;
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;

/// LIDs of one forwarding table block.
const BLOCK_LIDS: u16 = 64;

/// The tables that are being read.
#[derive(Debug, Default)]
pub(crate) struct LftReadback {
    tables: BTreeMap<NodeIdx, TableRead>,
}

/// The entries of a switch.
#[derive(Debug)]
struct TableRead {
    entries: Vec<u8>,
    /// [`Node::times_forgotten`](ferrosm_fabric::observed::Node::times_forgotten) when the read
    /// began.
    times_forgotten: u32,
}

impl LftReadback {
    /// Reads the tables of switches, except those of `later`.
    pub(crate) fn start(ctx: &mut Ctx<'_>, later: &BTreeSet<NodeIdx>) -> Self {
        let mut readback = Self::default();
        let nodes: Vec<NodeIdx> = ctx.fabric.node_indices().collect();
        for n in nodes.into_iter().filter(|n| !later.contains(n)) {
            readback.read_switch(ctx, n);
        }
        readback
    }

    /// Reads all blocks up to LinearFDBTop, if they are unknown and not being read. A switch that
    /// does not respond is read when it does.
    pub(crate) fn read_switch(&mut self, ctx: &mut Ctx<'_>, n: NodeIdx) {
        let Some(node) = ctx
            .fabric
            .get(n)
            .filter(|node| node.lft.installed.is_none() && !node.is_unresponsive)
        else {
            return;
        };
        let top = node.switch_info().map_or(0, |info| info.linear_fdb_top);
        if !(1..=Lid::UNICAST_MAX.0).contains(&top) || self.tables.contains_key(&n) {
            return;
        }
        let blocks = node.lft_top(Lid(top)).0 / BLOCK_LIDS + 1;
        let read = TableRead {
            entries: vec![PortNum::DROP.0; usize::from(blocks) * LFT_BLOCK_LEN],
            times_forgotten: node.lft.times_forgotten,
        };
        self.tables.insert(n, read);
        for block in 0..blocks {
            ctx.smps.enqueue(SmpOp::Lft(n, block));
        }
    }

    /// A block was read. If it cannot be, the whole table stays unknown.
    pub(crate) fn on_block(&mut self, n: NodeIdx, block: u16, outcome: &SmpOutcome) {
        let Some(data) = outcome.data() else {
            self.tables.remove(&n);
            return;
        };
        let at = usize::from(block) * LFT_BLOCK_LEN;
        let table = self.tables.get_mut(&n);
        if let Some(part) = table.and_then(|t| t.entries.get_mut(at..at + LFT_BLOCK_LEN)) {
            part.copy_from_slice(data);
        }
    }

    /// All blocks are read: the tables are known, except those of switches that restarted
    /// meanwhile.
    pub(crate) fn finish(&mut self, ctx: &mut Ctx<'_>) {
        for (n, read) in core::mem::take(&mut self.tables) {
            if let Some(node) = ctx.fabric.get_mut(n)
                && node.lft.times_forgotten == read.times_forgotten
            {
                node.lft.installed = Some(Arc::new(Lft::from_entries(read.entries)));
                node.lft.last_known = None;
                node.lft.unanswered_blocks.clear();
            }
        }
    }
}
