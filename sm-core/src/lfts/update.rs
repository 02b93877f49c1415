//! Writes linear forwarding tables: the blocks that differ, in an order in which no intermediate
//! state loops or deadlocks.
//!
//! The order comes from [`ferrosm_routing::update::transition`]. Blocks of one stage are written at
//! once; the next stage waits until all of them are accepted. If a switch rejects a block that
//! later stages depend on, these stages are not written: the next sweep reads the tables and
//! computes routes from what is installed.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use ferrosm_fabric::observed::{
    DeviceTable, Node, NodeIdx, ObservedFabric, PortRef, RejectionEffect,
};
use ferrosm_mad::attr::{LFT_BLOCK_LEN, SwitchInfo, id};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_mad::time::Instant;
use ferrosm_routing::Lft;

use crate::ctx::Ctx;
use crate::effect::Effect;
use crate::report::routing_message::RoutingMessage;
use crate::routing::NewRouting;
use crate::routing::desired_lfts::{DesiredLfts, NodeLfts};
use crate::routing::lft_writes::{LftPass, LftWriteOrder};
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;

/// Longest pause between dropping routes and writing those that replace them. It covers the default
/// packet lifetime of 1.07 s.
const DRAIN_MAX: Duration = Duration::from_millis(1100);

/// A block of a switch's forwarding table.
type LftBlockRef = (NodeIdx, u16);

/// The second part of an update that first drops routes: it starts when packets on these routes
/// have left all switches.
#[derive(Debug)]
pub(crate) struct AfterDrain {
    tables: NodeLfts,
    /// The routing in force from then on.
    pub(crate) routing: NewRouting,
    stages: Vec<Vec<LftBlockRef>>,
    /// The tables before the first part, if it only drops routes; `None` if it also writes new ones
    /// to switches with unknown tables.
    before: Option<NodeLfts>,
}

/// What a table update does when its requests are complete and no stage remains.
#[derive(Debug)]
pub(crate) enum DrainState {
    /// No drain is pending: the update is complete.
    None,
    /// Packets on dropped routes are draining.
    Draining,
    /// Other LFTs follow before the new ones.
    NextPass(LftPass),
    /// Packets have drained, or all passes but the last are written.
    Over(Box<AfterDrain>),
}

/// What forwarding tables wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LftPrecondition {
    #[default]
    None,
    /// Multicast entries that would loop together with the new routes are being removed.
    MulticastRemoved,
    /// SLtoVL tables are being written, while traffic depends on the order.
    VlTablesWritten,
}

/// The LFT update of a sweep.
#[derive(Debug, Default)]
pub(crate) struct LftUpdate {
    /// The order of the next pass over the switches; `Any` once that pass has begun.
    order: LftWriteOrder,
    /// Traffic depends on the order of writes.
    is_ordered: bool,
    /// Routes are dropped before those that replace them are written.
    drops_routes: bool,
    precondition: LftPrecondition,
    /// Stages that are not written yet.
    stages: VecDeque<Vec<LftBlockRef>>,
    /// The blocks of all stages.
    staged: BTreeSet<LftBlockRef>,
    /// Number of blocks that have not been written and acknowledged yet, by switch.
    unfinished: BTreeMap<NodeIdx, usize>,
    /// Blocks that were not accepted.
    rejected: BTreeSet<LftBlockRef>,
    /// The port whose rejected write blocks the remaining stages.
    blocking_port: Option<PortRef>,
    drain: Option<AfterDrain>,
    /// LFTs that follow before those of `drain`.
    passes: VecDeque<LftPass>,
    /// When the drain is over; `None` until all routes are dropped.
    drained_at: Option<Instant>,
    /// The drain is over.
    has_drained: bool,
}

impl LftUpdate {
    /// An update to the `tables` of `routing`. `vls_first`: SLtoVL tables have to be written
    /// before. Also returns the tables that switches should have from now on, and the routing in
    /// force from now on; `None` if routes are dropped first.
    pub(crate) fn new(
        fabric: &ObservedFabric,
        tables: NodeLfts,
        routing: NewRouting,
        order: LftWriteOrder,
        vls_first: bool,
    ) -> (Self, NodeLfts, Option<NewRouting>) {
        match order {
            LftWriteOrder::Drain {
                first,
                passes,
                later_stages,
            } => {
                let after = AfterDrain {
                    tables,
                    routing,
                    stages: later_stages,
                    before: tables_before(fabric, &first),
                };
                let update = Self {
                    is_ordered: true,
                    drops_routes: true,
                    drain: Some(after),
                    passes,
                    ..Self::default()
                };
                (update, first, None)
            }
            LftWriteOrder::Passes {
                mut passes,
                last_stages,
            } => {
                let Some(first) = passes.pop_front() else {
                    let order = LftWriteOrder::Stages(last_stages);
                    return Self::new(fabric, tables, routing, order, vls_first);
                };
                let after = AfterDrain {
                    tables,
                    routing,
                    stages: last_stages,
                    before: None,
                };
                let update = Self {
                    is_ordered: true,
                    order: LftWriteOrder::Stages(first.stages),
                    drain: Some(after),
                    passes,
                    ..Self::default()
                };
                (update, first.tables, None)
            }
            order @ (LftWriteOrder::Any | LftWriteOrder::Stages(_)) => {
                let update = Self {
                    is_ordered: vls_first || matches!(order, LftWriteOrder::Stages(_)),
                    order,
                    ..Self::default()
                };
                (update, tables, Some(routing))
            }
        }
    }

    /// Whether traffic depends on the order of writes.
    pub(crate) const fn is_ordered(&self) -> bool {
        self.is_ordered
    }

    /// Whether this update drops routes before it writes those that replace them.
    pub(crate) const fn drops_routes(&self) -> bool {
        self.drops_routes
    }

    /// Whether routes have been dropped, or are being dropped, and those that replace them are not
    /// written yet.
    pub(crate) const fn is_dropping_routes(&self) -> bool {
        self.drops_routes && self.drain.is_some()
    }

    /// Tables are not written before `precondition` is met.
    pub(crate) const fn wait_for(&mut self, precondition: LftPrecondition) {
        self.precondition = precondition;
    }

    /// The precondition, which is met when all requests are complete.
    pub(crate) fn take_precondition(&mut self) -> LftPrecondition {
        core::mem::take(&mut self.precondition)
    }

    /// The rejected write of `port` blocks the remaining stages.
    pub(crate) const fn block_on(&mut self, port: PortRef) {
        self.blocking_port = Some(port);
    }

    /// The port that blocks the remaining stages, unless it left the fabric and forwards nothing.
    pub(crate) fn take_blocking_port(&mut self, fabric: &ObservedFabric) -> Option<PortRef> {
        let port = self.blocking_port.take();
        port.filter(|p| fabric.get(p.node).is_some())
    }

    /// Begins a pass over all switches; [`Self::write_switch`] follows for each.
    pub(crate) fn begin_pass(&mut self) {
        if let LftWriteOrder::Stages(stages) = core::mem::take(&mut self.order) {
            self.stages = stages.into_iter().filter(|s| !s.is_empty()).collect();
        }
        self.staged = self.stages.iter().flatten().copied().collect();
    }

    /// Writes the blocks of a switch that belong to no stage. `top` is the highest LID.
    pub(crate) fn write_switch(
        &mut self,
        ctx: &mut Ctx<'_>,
        n: NodeIdx,
        (desired, top): (&DesiredLfts, Lid),
    ) {
        let Some((node, wanted)) = ctx.fabric.get(n).zip(desired.get(n)) else {
            return;
        };
        // What another switch may have only in part is written again.
        let present = if node.is_unresponsive {
            node.lft_in_use()
        } else {
            node.lft.installed.as_ref()
        };
        let mut differing = blocks_to_write(present, wanted);
        if node.is_unresponsive {
            differing.extend(&node.lft.unanswered_blocks);
            differing.sort_unstable();
            differing.dedup();
        }
        let may_write = |block: u16| node.rejections.may_write(DeviceTable::Lft(block), ctx.now);
        // Blocks that the switch keeps are written again from time to time, usually with the
        // entries that they have.
        let mut blocks = node.rejections.kept_lft_blocks().collect::<Vec<u16>>();
        blocks.retain(|block| may_write(*block) && !differing.contains(block));
        for block in differing {
            if may_write(block) {
                blocks.push(block);
            } else {
                self.rejected.insert((n, block));
            }
        }
        if blocks.is_empty() && node.is_unresponsive {
            // The routes were computed with the LFT that it has.
            return;
        }
        if blocks.is_empty() {
            self.finish_table(ctx, n, desired);
            write_top(ctx, n, top);
            return;
        }
        self.unfinished.insert(n, blocks.len());
        for block in blocks {
            if !self.staged.contains(&(n, block)) {
                ctx.smps.enqueue(SmpOp::SetLft(n, block));
            }
        }
    }

    /// Writes the next stage. Returns whether there was one.
    pub(crate) fn write_next_stage(&mut self, ctx: &mut Ctx<'_>) -> bool {
        while let Some(stage) = self.stages.pop_front() {
            let blocks = stage.into_iter();
            let differ: Vec<LftBlockRef> = blocks
                .filter(|at| self.unfinished.contains_key(&at.0) && !self.rejected.contains(at))
                .collect();
            if !differ.is_empty() {
                for (n, block) in differ {
                    ctx.smps.enqueue(SmpOp::SetLft(n, block));
                }
                return true;
            }
        }
        false
    }

    /// Call it when all stages are written. `packet_life_time` is the configured code.
    pub(crate) fn poll_drain(&mut self, now: Instant, packet_life_time: u8) -> DrainState {
        if self.drops_routes && !self.has_drained && self.drain.is_some() {
            // Packets to a dropped LID have left all switches after one packet lifetime; the wait
            // is limited to `DRAIN_MAX`.
            let life = packet_life(packet_life_time).min(DRAIN_MAX);
            if now < *self.drained_at.get_or_insert(now + life) {
                return DrainState::Draining;
            }
            self.drained_at = None;
            self.has_drained = true;
        }
        if let Some(pass) = self.passes.pop_front() {
            return DrainState::NextPass(pass);
        }
        let after = self.drain.take();
        after.map_or(DrainState::None, |after| DrainState::Over(Box::new(after)))
    }

    /// Begins the update after a drain. Returns the tables that switches should have, and the
    /// routing in force from now on.
    pub(crate) fn begin_after_drain(&mut self, after: AfterDrain) -> (NodeLfts, NewRouting) {
        self.rejected.clear();
        self.order = LftWriteOrder::Stages(after.stages);
        (after.tables, after.routing)
    }

    /// Begins a pass before the last one. Returns the tables that switches should have.
    pub(crate) fn begin_next_pass(&mut self, pass: LftPass) -> NodeLfts {
        if let Some(after) = &mut self.drain {
            // Some LIDs are on new routes now.
            after.before = None;
        }
        self.rejected.clear();
        self.order = LftWriteOrder::Stages(pass.stages);
        pass.tables
    }

    /// When the drain is over.
    pub(crate) fn drained_at(&self) -> Option<Instant> {
        self.drain.as_ref()?;
        self.drained_at
    }

    /// Leaves the remaining stages unwritten, because `port` rejected a write that they depend on.
    /// The installed LFTs neither loop nor deadlock; the next sweep computes routes from them. If
    /// the update has only dropped routes of the routing in force, returns the tables before the
    /// drain, which have to be written back.
    ///
    /// [`on_aborted`](crate::routing::RoutingState::on_aborted) determines whether MFTs can
    /// be written meanwhile.
    pub(crate) fn abort(
        &mut self,
        ctx: &mut Ctx<'_>,
        port: PortRef,
        vls_unwritten: bool,
        desired: &DesiredLfts,
    ) -> Option<NodeLfts> {
        let waiting: BTreeSet<LftBlockRef> = self.stages.drain(..).flatten().collect();
        let drain = self.drain.take();
        self.passes.clear();
        for (n, _) in core::mem::take(&mut self.unfinished) {
            let rejected = blocks_of(&self.rejected, n);
            if let Some(node) = ctx.fabric.get_mut(n) {
                let mut unwritten = rejected.clone();
                unwritten.extend(blocks_of(&waiting, n));
                let table = table_without(node, desired.get(n), &unwritten);
                if rejected.is_empty() && node.lft.installed.is_some() {
                    node.lft.installed = table;
                } else {
                    node.lft.last_known = table;
                    node.lft.installed = None;
                }
            }
        }
        let blocks = (!vls_unwritten && drain.is_none()).then_some(waiting.len());
        if blocks != Some(0) {
            let port = ctx.fabric.port_name(port);
            let message = RoutingMessage::LftsNotWritten { blocks, port };
            ctx.effects.push(Effect::Message(Box::new(message)));
        }
        drain?.before
    }

    /// The sweep is abandoned: tables with blocks whose Sets have no response are unknown.
    pub(crate) fn abandon(&self, fabric: &mut ObservedFabric) {
        for n in self.unfinished.keys() {
            if let Some(node) = fabric.get_mut(*n)
                && let Some(installed) = node.lft.installed.take()
            {
                node.lft.last_known = Some(installed);
            }
        }
    }

    /// The write of a block succeeded or failed. After the last block of a switch its table is
    /// known again, and LinearFDBTop is written.
    pub(crate) fn on_block_written(
        &mut self,
        ctx: &mut Ctx<'_>,
        (n, block): LftBlockRef,
        outcome: &SmpOutcome,
        (desired, top): (&DesiredLfts, Lid),
    ) {
        let desired_block = desired.get(n).map(|lft| lft.block(block));
        let (port0, table) = (PortRef::new(n, PortNum::ZERO), DeviceTable::Lft(block));
        let num_ports = ctx.fabric.get(n).map_or(0, |node| node.info.num_ports);
        match outcome.check_set(id::LFT, desired_block, |data| {
            normalize_entries(data, num_ports)
        }) {
            Ok(echo) => {
                if ctx.record_acceptance(n, table) {
                    ctx.effects.reroute_now();
                }
                if let Some(node) = ctx.fabric.get_mut(n) {
                    node.lft.unanswered_blocks.remove(&block);
                }
                ctx.effects.set_echoed(port0, id::LFT, echo);
            }
            Err(kind) => {
                match ctx.record_rejection(n, table, outcome) {
                    RejectionEffect::WriteAgain => {
                        ctx.smps.enqueue(SmpOp::SetLft(n, block));
                        return;
                    }
                    RejectionEffect::Unanswered => {
                        if let Some(node) = ctx.fabric.get_mut(n) {
                            node.lft.unanswered_blocks.insert(block);
                        }
                        ctx.effects.push(Effect::RereadSwitchLater(n));
                        ctx.effects.problem(port0, kind);
                    }
                    RejectionEffect::Keeps => ctx.effects.reroute_now(),
                    RejectionEffect::KeptBefore => {}
                }
                if !has_block(ctx.fabric, n, block, desired_block) {
                    if self.drain.is_some() || self.staged.contains(&(n, block)) {
                        self.block_on(port0);
                    }
                    self.rejected.insert((n, block));
                }
            }
        }
        let Some(unfinished) = self.unfinished.get_mut(&n) else {
            return;
        };
        *unfinished -= 1;
        if *unfinished > 0 {
            return;
        }
        self.unfinished.remove(&n);
        self.finish_table(ctx, n, desired);
        write_top(ctx, n, top);
    }

    /// All blocks of a switch are written or rejected.
    fn finish_table(&self, ctx: &mut Ctx<'_>, n: NodeIdx, desired: &DesiredLfts) {
        let rejected = blocks_of(&self.rejected, n);
        let Some(node) = ctx.fabric.get_mut(n) else {
            return;
        };
        if rejected.is_empty() {
            node.lft.installed = desired.get(n).cloned();
            node.lft.last_known = None;
        } else {
            // The table is read back before routes are computed from it. The switch forwards
            // meanwhile, so the SA replies from its last known table: rejected blocks hold their
            // old entries, even if only the response was lost.
            node.lft.last_known = table_without(node, desired.get(n), &rejected);
            node.lft.installed = None;
        }
    }
}

/// Whether a switch has these entries in a block.
fn has_block(fabric: &ObservedFabric, n: NodeIdx, block: u16, entries: Option<[u8; 64]>) -> bool {
    let installed = fabric.get(n).and_then(|node| node.lft.installed.as_ref());
    installed.map(|lft| lft.block(block)) == entries
}

/// Replaces entries for ports that the switch does not have: all of them drop packets.
fn normalize_entries(data: &mut [u8; 64], num_ports: u8) {
    for entry in data.iter_mut().filter(|entry| **entry > num_ports) {
        *entry = PortNum::DROP.0;
    }
}

/// The write of SwitchInfo succeeded or failed. Returns whether PortStateChange shows a change
/// since the ports were read.
pub(crate) fn on_switch_info_set(
    ctx: &mut Ctx<'_>,
    n: NodeIdx,
    outcome: &SmpOutcome,
    top: Lid,
) -> bool {
    let info = outcome.data().map(SwitchInfo::decode);
    let wanted_top = ctx.fabric.get(n).map_or(top, |node| node.lft_top(top));
    if info.is_none_or(|info| info.linear_fdb_top != wanted_top.0) {
        let port0 = PortRef::new(n, PortNum::ZERO);
        ctx.effects.push(Effect::RereadSwitchLater(n));
        ctx.effects
            .problem(port0, outcome.failed_set(id::SWITCH_INFO));
    }
    let Some((data, info)) = outcome.data().zip(info) else {
        return false;
    };
    let Some(node) = ctx.fabric.get_mut(n) else {
        return false;
    };
    let has_shrunk = node.store_switch_info(data, false);
    if has_shrunk {
        ctx.effects.push(Effect::RequestFullSweep);
    }
    if info.port_state_change {
        // If it was a reboot, a part of the table is lost again.
        node.forget_tables();
    }
    info.port_state_change
}

/// 4.096 µs × 2^code (IBA vol. 1, 14.2.5.4); infinite for codes above 19.
fn packet_life(code: u8) -> Duration {
    if code > 19 {
        Duration::MAX
    } else {
        Duration::from_nanos(4096 << code)
    }
}

/// The installed tables of all switches, if they have all entries of `tables`, apart from those
/// that drop packets.
fn tables_before(fabric: &ObservedFabric, tables: &NodeLfts) -> Option<NodeLfts> {
    let installed = |(n, lft): &(NodeIdx, Arc<Lft>)| {
        let installed = fabric.get(*n)?.lft.installed.as_ref()?;
        is_reduced(lft, installed).then(|| (*n, Arc::clone(installed)))
    };
    tables.iter().map(installed).collect()
}

/// Whether `installed` has all entries of `lft`, apart from those that drop packets.
fn is_reduced(lft: &Lft, installed: &Lft) -> bool {
    let blocks = lft.entries().len().div_ceil(LFT_BLOCK_LEN);
    (0..u16::try_from(blocks).unwrap_or(u16::MAX)).all(|block| {
        let mut entries = lft.block(block).into_iter().zip(installed.block(block));
        entries.all(|(new, old)| new == old || new == PortNum::DROP.0)
    })
}

/// Writes LinearFDBTop if it differs; `top` is the highest LID in use. It is the last write to a
/// switch that had a lower one, so that the switch never looks up an entry that is not written yet.
fn write_top(ctx: &mut Ctx<'_>, n: NodeIdx, top: Lid) {
    let life_time = ctx.cfg.packet_life_time;
    let Some((node, info)) = ctx.fabric.get(n).and_then(|n| Some((n, n.switch_info()?))) else {
        return;
    };
    if info.linear_fdb_top != node.lft_top(top).0 || info.life_time_value != life_time {
        ctx.smps.enqueue(SmpOp::SetSwitchInfo(n));
    }
}

fn blocks_of(blocks: &BTreeSet<LftBlockRef>, n: NodeIdx) -> BTreeSet<u16> {
    let of_node = blocks.range((n, 0)..=(n, u16::MAX));
    of_node.map(|(_, block)| *block).collect()
}

/// The wanted table of a switch, with the last known entries in `unwritten` blocks; drop entries
/// where none are known.
fn table_without(
    node: &Node,
    desired: Option<&Arc<Lft>>,
    unwritten: &BTreeSet<u16>,
) -> Option<Arc<Lft>> {
    let desired = desired?;
    if unwritten.is_empty() {
        return Some(Arc::clone(desired));
    }
    let known = node.lft.installed.as_ref().or(node.lft.last_known.as_ref());
    let none = Arc::new(Lft::from_entries(Vec::new()));
    let known = known.unwrap_or(&none);
    let len = known.entries().len().max(desired.entries().len());
    let mut entries = desired.entries().to_vec();
    entries.resize(len, PortNum::DROP.raw());
    for block in unwritten {
        let first = usize::from(*block) * LFT_BLOCK_LEN;
        let old = known.block(*block);
        for (entry, old) in entries.iter_mut().skip(first).zip(old) {
            *entry = old;
        }
    }
    Some(Arc::new(Lft::from_entries(entries)))
}

/// The LFT blocks that differ from the wanted ones; all blocks if the installed LFT is unknown.
fn blocks_to_write(installed: Option<&Arc<Lft>>, desired: &Arc<Lft>) -> Vec<u16> {
    if installed.is_some_and(|i| Arc::ptr_eq(i, desired)) {
        return Vec::new();
    }
    ferrosm_routing::changed_blocks(installed.map(Arc::as_ref), desired).collect()
}
