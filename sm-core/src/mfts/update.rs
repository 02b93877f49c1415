//! Writes the differences between installed and desired MFTs, step by step ([`super::steps`]).
//!
//! A step begins when the request queue is idle. A switch that does not accept a block is skipped
//! until the next sweep; only MLIDs whose new entries must not coexist with entries that it may
//! still have are postponed. MulticastFDBTop follows the last step (IBA vol. 1, 14.2.5.4): it
//! includes a block only after the block is known to be written.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_fabric::observed::{DeviceTable, Node, NodeIdx, ObservedFabric};
use ferrosm_fabric::tables::mft::{
    EMPTY_BLOCK, MftBlockIdx, PortMasks, TOP_NONE, last_mlid, mft_index, num_positions,
};
use ferrosm_mad::attr::{CapMask, SwitchInfo};
use ferrosm_mad::ids::Lid;

use super::MulticastTables;
use super::steps::{self, MftEntryIdx, MftSteps, SwitchMft};
use crate::ctx::Ctx;
use crate::smp::op::SmpOp;

/// What is written next, when the request queue is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    First,
    /// Entries of another routing were removed: the tables are compared again.
    CompareAgain,
    Second,
    Tops,
    Complete,
}

/// An update of MFTs, while it runs.
#[derive(Debug)]
pub(crate) struct MftUpdate {
    next: Step,
    steps: MftSteps,
    /// Blocks that some switch did not accept in this update.
    failed_blocks: BTreeSet<u16>,
}

impl MftUpdate {
    pub(super) const fn new(steps: MftSteps) -> Self {
        Self {
            next: Step::First,
            steps,
            failed_blocks: BTreeSet::new(),
        }
    }

    /// A switch did not accept a block.
    pub(super) fn on_block_failed(&mut self, block: u16) {
        self.failed_blocks.insert(block);
    }
}

impl MulticastTables {
    /// Compares the tables; with `only`, only these blocks.
    pub(super) fn compare(
        &self,
        fabric: &ObservedFabric,
        only: Option<&BTreeSet<u16>>,
    ) -> MftSteps {
        self.compare_except(fabric, only, &BTreeSet::new())
    }

    /// As [`Self::compare`]; entries of `frozen` MLIDs stay as they are.
    fn compare_except(
        &self,
        fabric: &ObservedFabric,
        only: Option<&BTreeSet<u16>>,
        frozen: &BTreeSet<MftEntryIdx>,
    ) -> MftSteps {
        let mut switches = Vec::new();
        for (n, node) in fabric.nodes() {
            let blocks = node
                .switch_info()
                .map_or(0, |s| s.multicast_fdb_cap.div_ceil(32));
            if blocks > 0 && !self.skipped.contains(&n) {
                switches.push(SwitchMft {
                    node: n,
                    routed: self.trees.switch(n),
                    installed: &node.mft.known,
                    uncertain: node.mft.uncertain(),
                    desired: self.desired.blocks(n),
                    positions: num_positions(node.info.num_ports),
                    blocks,
                });
            }
        }
        let forest = self.trees.forest();
        let has_old_trees = self.has_old_trees;
        let mut steps = steps::plan(&switches, &self.used, only, forest.as_ref(), has_old_trees);
        steps.freeze(&switches, frozen);
        steps
    }

    /// Enqueues the next step of an update that has anything to write. Call it when the request
    /// queue is idle. Returns whether there is one; otherwise the update is complete.
    pub(crate) fn write_next(&mut self, ctx: &mut Ctx<'_>, update: &mut MftUpdate) -> bool {
        loop {
            update.next = match update.next {
                Step::First => {
                    for w in core::mem::take(&mut update.steps.first) {
                        if ctx.may_write(w.node, DeviceTable::Mft) {
                            send_block(ctx, w.node, w.at, w.masks);
                        } else {
                            update.on_block_failed(w.at.block);
                            self.skipped.insert(w.node);
                        }
                    }
                    if update.steps.is_removal_pass {
                        Step::CompareAgain
                    } else {
                        Step::Second
                    }
                }
                Step::CompareAgain => {
                    self.has_old_trees = false;
                    let is_failed = |at: &&MftEntryIdx| update.failed_blocks.contains(&at.0);
                    let frozen = update.steps.exclusive.iter().filter(is_failed);
                    let frozen = frozen.copied().collect();
                    *update = MftUpdate::new(self.compare_except(ctx.fabric, None, &frozen));
                    Step::First
                }
                Step::Second => {
                    self.write_second(ctx, update);
                    Step::Tops
                }
                Step::Tops => {
                    write_tops(ctx, &self.used);
                    Step::Complete
                }
                Step::Complete => return false,
            };
            if !ctx.smps.is_idle() {
                return true;
            }
        }
    }

    fn write_second(&self, ctx: &mut Ctx<'_>, update: &mut MftUpdate) {
        for mut w in core::mem::take(&mut update.steps.second) {
            let Some(node) = ctx.fabric.get(w.node) else {
                continue;
            };
            let last_known = node.mft.known.get(&w.at).copied();
            if update.failed_blocks.contains(&w.at.block) {
                // A switch that did not accept the first step may still have the old tree.
                let installed = last_known.unwrap_or(EMPTY_BLOCK);
                for (i, mask) in w.masks.iter_mut().enumerate() {
                    if update.steps.exclusive.contains(&(w.at.block, i)) {
                        *mask = installed[i];
                    }
                }
            }
            let may_write =
                !self.skipped.contains(&w.node) && ctx.may_write(w.node, DeviceTable::Mft);
            if last_known != Some(w.masks) && may_write {
                send_block(ctx, w.node, w.at, w.masks);
            }
        }
    }
}

/// Clears entries before LFTs are written. A switch that does not accept it is reported, and LFTs
/// are written nevertheless. Returns whether any Set was enqueued.
pub(crate) fn clear_entries(ctx: &mut Ctx<'_>, entries: Vec<(Lid, NodeIdx)>) -> bool {
    let mut blocks: BTreeMap<(NodeIdx, MftBlockIdx), PortMasks> = BTreeMap::new();
    for (mlid, n) in entries {
        let Some(node) = ctx.fabric.get(n) else {
            continue;
        };
        let (block, i) = mft_index(mlid);
        for position in 0..num_positions(node.info.num_ports) {
            let at = MftBlockIdx { block, position };
            if let Some(known) = node.mft.known.get(&at).filter(|masks| masks[i] != 0) {
                blocks.entry((n, at)).or_insert(*known)[i] = 0;
            }
        }
    }
    let any = !blocks.is_empty();
    for ((n, at), masks) in blocks {
        if ctx.may_write(n, DeviceTable::Mft) {
            send_block(ctx, n, at, masks);
        }
    }
    any
}

fn send_block(ctx: &mut Ctx<'_>, n: NodeIdx, at: MftBlockIdx, masks: PortMasks) {
    if let Some(node) = ctx.fabric.get_mut(n) {
        node.mft.mark_sent(at, masks);
        ctx.smps.enqueue(SmpOp::SetMft(n, at));
    }
}

/// Writes the first known block of a switch again.
pub(super) fn repeat_block(ctx: &mut Ctx<'_>, n: NodeIdx) {
    let node = ctx.fabric.get(n);
    let first = node.and_then(|node| node.mft.known.iter().next());
    if let Some((at, masks)) = first.map(|(at, masks)| (*at, *masks)) {
        send_block(ctx, n, at, masks);
    }
}

pub(super) fn has_fdb_top(node: &Node) -> bool {
    let port0 = node.ports.first().filter(|port| port.known);
    port0.is_some_and(|port| port.capability_mask().has(CapMask::MULTICAST_FDB_TOP))
}

/// The MulticastFDBTop that a switch should have: the end of the last block in use. It is not
/// raised while any block in use is not known to be written.
pub(super) fn fdb_top(
    fabric: &ObservedFabric,
    used: &BTreeSet<u16>,
    n: NodeIdx,
    info: &SwitchInfo,
) -> u16 {
    let current = info.multicast_fdb_top;
    let Some(node) = fabric.get(n).filter(|node| has_fdb_top(node)) else {
        return current;
    };
    let blocks = info.multicast_fdb_cap.div_ceil(32);
    let used = used.range(..blocks);
    let Some(last) = used.clone().next_back() else {
        return current;
    };
    let max = TOP_NONE.saturating_add(info.multicast_fdb_cap);
    let top = last_mlid(*last).min(max);
    let positions = num_positions(node.info.num_ports);
    if top <= current
        || used
            .rev()
            .all(|block| node.mft.is_block_known(*block, positions))
    {
        top
    } else {
        current
    }
}

fn write_tops(ctx: &mut Ctx<'_>, used: &BTreeSet<u16>) {
    let fabric = &*ctx.fabric;
    for (n, node) in fabric.nodes() {
        if let Some(info) = node.switch_info()
            && fdb_top(fabric, used, n, &info) != info.multicast_fdb_top
        {
            ctx.smps.enqueue(SmpOp::SetSwitchInfo(n));
        }
    }
}
