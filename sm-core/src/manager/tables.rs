//! Writes forwarding tables: the blocks that differ, in an order in which no intermediate state loops or deadlocks.
//!
//! Which order that is, [`ferrosm_routing::transition`] has found together with the routes. Blocks of one stage go out
//! at once; the next stage waits until all of them are taken. Where packets are under way and lanes matter, the tables of
//! lanes are such a stage too, the first. If somebody does not take what others wait for, those others are not written:
//! the next sweep reads what is there, and plans from that.

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_mad::attr::{LFT_BLOCK_LEN, SwitchInfo, id};
use ferrosm_mad::ids::PortNum;
use ferrosm_mad::mad::Status;
use ferrosm_mad::time::Instant;
use ferrosm_routing::Lft;

use super::{Stage, SubnetManager};
use crate::ctx::SweepScope;
use crate::plan::lanes::LanePlan;
use crate::plan::ports;
use crate::plan::routes::{NodeTables, WriteOrder, blocks_to_write};
use crate::report::{Phase, ProblemKind};
use crate::smp::op::{PortSetting, SmpOp};
use crate::subnet::{Node, NodeIdx, PortRef};

/// Longest pause between dropping routes and writing those that replace them.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// What follows when routes were dropped.
#[derive(Debug)]
pub(super) struct Drain {
    /// Not before this moment; `None` until all that drops them is answered.
    pub(super) from: Option<Instant>,
    tables: NodeTables,
    lanes: LanePlan,
    /// The order of the tables' blocks; none where it does not matter.
    stages: Vec<Vec<(NodeIdx, u16)>>,
}

/// 4.096 µs × 2^n (IBA 14.2.5.4); for ever where n is above 19.
fn packet_life(code: u8) -> Duration {
    if code > 19 {
        Duration::MAX
    } else {
        Duration::from_nanos(4096 << code)
    }
}

impl SubnetManager {
    pub(super) fn begin_writing(&mut self) {
        self.lids.update_top();
        self.enter(Phase::WriteTables);
        with_ctx!(self, |ctx| self.keys.persist_change(ctx, self.lids.map()));
        let scope = SweepScope::new(self.sweep.local, &self.sweep.touched);
        with_ctx!(self, |ctx| self.partitions.write(ctx, scope));
        // With nobody behind it this SM's own port gets its address all the same.
        if let Some(own) = self.subnet.local()
            && !ports::is_live(&self.subnet, own)
            && self.needs_params(own)
        {
            self.enqueue(SmpOp::SetPortInfo(own, PortSetting::Params));
        }
        if self.empty_groups() {
            self.sweep.groups_wait = true;
        } else {
            self.write_lanes_and_tables();
        }
    }

    fn write_lanes_and_tables(&mut self) {
        if self.write_lanes() && self.sweep.ordered {
            self.sweep.tables_wait = true;
        } else {
            self.write_tables();
        }
    }

    fn write_tables(&mut self) {
        self.take_order();
        let switches: Vec<NodeIdx> = self.subnet.switches().map(|(i, _)| i).collect();
        for n in switches {
            self.write_switch(n);
            // An enhanced port 0 is configured with the other end ports.
            let port0 = PortRef::new(n, PortNum::ZERO);
            if Some(port0) != self.subnet.local()
                && !ports::is_live(&self.subnet, port0)
                && self.needs_params(port0)
            {
                self.enqueue(SmpOp::SetPortInfo(port0, PortSetting::Params));
            }
        }
    }

    /// Takes the order of writes over.
    fn take_order(&mut self) {
        if let WriteOrder::Stages(stages) = core::mem::take(&mut self.write_order) {
            self.sweep.later = stages.into_iter().filter(|s| !s.is_empty()).collect();
        }
        self.sweep.staged = self.sweep.later.iter().flatten().copied().collect();
    }

    fn write_switch(&mut self, n: NodeIdx) {
        let Some(node) = self.subnet.get(n) else {
            return;
        };
        let Some(wanted) = node.wanted.as_ref() else {
            return;
        };
        let blocks = blocks_to_write(node.installed.as_ref(), wanted);
        if blocks.is_empty() {
            self.write_reach(n);
            return;
        }
        self.sweep.blocks_left.insert(n, blocks.len());
        for block in blocks {
            if !self.sweep.staged.contains(&(n, block)) {
                self.enqueue(SmpOp::SetLft(n, block));
            }
        }
    }

    /// All that was asked for is answered: the next stage of writes, the tables after a drain, or the links.
    pub(super) fn write_on(&mut self) {
        // Whoever is gone forwards nothing.
        let not_taken = self.sweep.not_taken.take();
        if let Some(place) = not_taken.filter(|p| self.subnet.get(p.node).is_some()) {
            self.stop_writing(place);
            return;
        }
        if core::mem::take(&mut self.sweep.groups_wait) {
            self.write_lanes_and_tables();
            if !self.smps.is_idle() {
                return;
            }
        }
        if core::mem::take(&mut self.sweep.tables_wait) {
            self.write_tables();
            if !self.smps.is_idle() {
                return;
            }
        }
        while let Some(stage) = self.sweep.later.pop_front() {
            let ops: Vec<SmpOp> = stage
                .into_iter()
                .filter(|(n, _)| self.sweep.blocks_left.contains_key(n))
                .map(|(n, block)| SmpOp::SetLft(n, block))
                .collect();
            if !ops.is_empty() {
                ops.into_iter().for_each(|op| self.enqueue(op));
                return;
            }
        }
        let Some(mut drain) = self.sweep.drain.take() else {
            let scope = SweepScope::new(self.sweep.local, &self.sweep.touched);
            with_ctx!(self, |ctx| self.partitions.write_late(ctx, scope));
            if self.smps.is_idle() && !self.write_multicast() {
                self.begin_arming();
            }
            return;
        };
        // What is on its way to a LID that is dropped is gone when no packet of now is left in a switch.
        let life = packet_life(self.cfg.packet_life_time).min(DRAIN_MAX);
        let from = *drain.from.get_or_insert(self.now + life);
        if self.now < from {
            self.sweep.drain = Some(drain);
            return;
        }
        self.sweep.blocks_failed.clear();
        self.lanes = Some(drain.lanes);
        self.write_order = WriteOrder::Stages(drain.stages);
        self.want(drain.tables);
        self.begin_writing();
    }

    /// When the tables after a drain can be written, while they wait for nothing else. Who gives the subnet away writes them no more.
    pub(super) fn drained_at(&self) -> Option<Instant> {
        let writes = self.stage == Stage::Sweep(Phase::WriteTables);
        self.sweep.drain.as_ref().filter(|_| writes)?.from
    }

    /// What others wait for was not taken: they are not written. Nothing loops or deadlocks as it is; links are armed, and
    /// the next sweep plans from what is there.
    fn stop_writing(&mut self, place: PortRef) {
        let sweep = &mut self.sweep;
        let waiting: BTreeSet<(NodeIdx, u16)> = sweep.later.drain(..).flatten().collect();
        let dropped = sweep.drain.take().is_some();
        let lanes = core::mem::take(&mut sweep.tables_wait);
        for (n, _) in core::mem::take(&mut sweep.blocks_left) {
            let failed = failed_blocks(&sweep.blocks_failed, n);
            if let Some(node) = self.subnet.get_mut(n) {
                let mut unwritten: BTreeSet<u16> = failed.clone();
                let blocks = waiting.range((n, 0)..=(n, u16::MAX));
                unwritten.extend(blocks.map(|(_, block)| *block));
                if failed.is_empty() && node.installed.is_some() {
                    node.installed = table_without(node, &unwritten);
                } else {
                    node.last_known = table_without(node, &unwritten);
                    node.installed = None;
                }
            }
        }
        let what = if lanes || dropped {
            "forwarding tables".to_owned()
        } else {
            format!("{} blocks of forwarding tables", waiting.len())
        };
        let place = self.subnet.describe(place);
        let note = format!(
            "{what} are not written in this sweep, because {place} did not take what has to come before"
        );
        self.sweep.report.engine_notes.push(note);
        self.routing.mark_incomplete();
        self.begin_arming();
    }

    /// What is to be in the tables in the end, and in which order it gets there.
    pub(super) fn want_tables(&mut self, tables: NodeTables, lanes: LanePlan, order: WriteOrder) {
        self.write_order = WriteOrder::Any;
        match order {
            WriteOrder::Drain { first, then } => {
                self.sweep.ordered = true;
                self.sweep.drain = Some(Drain {
                    from: None,
                    tables,
                    lanes,
                    stages: then,
                });
                self.want(first);
            }
            order @ (WriteOrder::Any | WriteOrder::Stages(_)) => {
                self.sweep.ordered |= matches!(order, WriteOrder::Stages(_));
                self.write_order = order;
                self.lanes = Some(lanes);
                self.want(tables);
            }
        }
    }

    fn want(&mut self, tables: NodeTables) {
        for (n, lft) in tables {
            if let Some(node) = self.subnet.get_mut(n) {
                node.wanted = Some(lft);
            }
        }
    }

    pub(super) fn on_lft_set(&mut self, n: NodeIdx, block: u16, status: Status, data: &[u8; 64]) {
        let taken = self
            .subnet
            .get(n)
            .and_then(|node| node.wanted.as_ref())
            .is_some_and(|w| w.block(block) == *data);
        self.sweep.report.lft_blocks_written += 1;
        let outcome = if status.is_ok() && taken {
            Ok(())
        } else {
            Err(ProblemKind::Refused {
                attr: id::LFT,
                status,
            })
        };
        self.on_block_done(n, block, outcome);
    }

    /// Counts a block; after the last one the switch may use the table.
    pub(super) fn on_block_done(
        &mut self,
        n: NodeIdx,
        block: u16,
        outcome: Result<(), ProblemKind>,
    ) {
        if let Err(kind) = outcome {
            let place = PortRef::new(n, PortNum::ZERO);
            if self.sweep.drain.is_some() || self.sweep.staged.contains(&(n, block)) {
                self.sweep.not_taken = Some(place);
            }
            self.sweep.blocks_failed.insert((n, block));
            self.schedule.reread_switch_later(n);
            self.problem(Some(place), kind);
        }
        let Some(left) = self.sweep.blocks_left.get_mut(&n) else {
            return;
        };
        *left -= 1;
        if *left > 0 {
            return;
        }
        self.sweep.blocks_left.remove(&n);
        let failed = failed_blocks(&self.sweep.blocks_failed, n);
        if let Some(node) = self.subnet.get_mut(n) {
            if failed.is_empty() {
                node.installed.clone_from(&node.wanted);
                node.last_known = None;
            } else {
                // The table is read again before anything is planned on it. The switch forwards meanwhile, so the SA answers
                // from what it last held: an unaccepted block as it was, even if only the response was lost.
                node.last_known = table_without(node, &failed);
                node.installed = None;
            }
        }
        self.write_reach(n);
    }

    /// LinearFDBTop goes last on a switch that had less, so that it never looks up an entry that is not written yet.
    fn write_reach(&mut self, n: NodeIdx) {
        let top = self.lids.top().0;
        let due = self
            .subnet
            .get(n)
            .and_then(Node::switch_info)
            .is_some_and(|s| {
                s.linear_fdb_top != top || s.life_time_value != self.cfg.packet_life_time
            });
        if due {
            self.enqueue(SmpOp::SetSwitchInfo(n));
        }
    }

    pub(super) fn on_switch_set(&mut self, n: NodeIdx, status: Status, data: &[u8; 64]) {
        let top = self.lids.top().0;
        let told = SwitchInfo::decode(data);
        let taken = status.is_ok() && told.linear_fdb_top == top;
        if !taken {
            self.schedule.reread_switch_later(n);
            let attr = id::SWITCH_INFO;
            let at = PortRef::new(n, PortNum::ZERO);
            self.problem(Some(at), ProblemKind::Refused { attr, status });
        }
        let Some(node) = self.subnet.get_mut(n).filter(|_| status.is_ok()) else {
            return;
        };
        node.switch_raw = Some(*data);
        if told.port_state_change {
            // Something changed since the ports were read. If it was a reboot, part of the table is lost again.
            node.forget_tables();
            self.schedule.reread_switch(n);
            self.want_local();
        }
    }
}

fn failed_blocks(failed: &BTreeSet<(NodeIdx, u16)>, n: NodeIdx) -> BTreeSet<u16> {
    let of_node = failed.range((n, 0)..=(n, u16::MAX));
    of_node.map(|(_, block)| *block).collect()
}

/// The wanted table of a switch, with the last known entries in `unwritten` blocks; drop entries where none are known.
fn table_without(node: &Node, unwritten: &BTreeSet<u16>) -> Option<Arc<Lft>> {
    let wanted = node.wanted.as_ref()?;
    if unwritten.is_empty() {
        return Some(Arc::clone(wanted));
    }
    let known = node.installed.as_ref().or(node.last_known.as_ref());
    let none = Arc::new(Lft::from_entries(Vec::new()));
    let known = known.unwrap_or(&none);
    Some(Arc::new(mixed(known, wanted, unwritten.iter().copied())))
}

/// A table with these blocks as they were.
fn mixed(was: &Lft, is: &Lft, blocks: impl Iterator<Item = u16>) -> Lft {
    let len = was.entries().len().max(is.entries().len());
    let mut entries = is.entries().to_vec();
    entries.resize(len, PortNum::DROP.raw());
    for block in blocks {
        let first = usize::from(block) * LFT_BLOCK_LEN;
        for (entry, was) in entries.iter_mut().skip(first).zip(was.block(block)) {
            *entry = was;
        }
    }
    Lft::from_entries(entries)
}
