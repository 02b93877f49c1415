//! Multicast forwarding tables (MFTs): the trees of the groups that clients register, and the tables that switches have of them.
//!
//! During a sweep, after the LFTs are written and before links are armed, all MFTs are compared with the trees. Between sweeps, the trees
//! of MLIDs whose members changed are updated while the SM is idle, many at once. Entries of the routing in force that would loop or
//! deadlock with the LFTs of the next one are cleared before those are written ([`crate::plan::installed_groups`]).
//!
//! Invariants: at no time can a multicast packet loop, or deadlock with other packets, whichever Sets took effect; a block is unknown
//! from its Set until the response (IBA vol. 1, 14.2.5.12).
//!
//! | module | contents |
//! |---|---|
//! | [`trees`] | the tree of each MLID, from its members |
//! | [`steps`] | which blocks are written in which step |
//! | [`update`] | writes them |

mod steps;
mod trees;
mod update;

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_mad::attr::{MftBlock, SwitchInfo, id};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_mad::mad::Status;
use ferrosm_mad::time::Instant;
use ferrosm_routing::LastRun;
use ferrosm_routing::multicast::PortSet;

use crate::ctx::Ctx;
use crate::plan::installed_groups::installed_entries;
use crate::report::ProblemKind;
use crate::sa::View;
use crate::sa::registry::Registry;
use crate::smp::op::SmpOp;
use crate::subnet::{NodeIdx, PortRef, Subnet};
use crate::tables::mft::{EMPTY_BLOCK, MftBlockIdx, first_mlid, mft_index, num_positions};
use trees::{ForestChange, Members, MulticastTrees};
use update::{MftUpdate, clear_entries, fdb_top, has_fdb_top};

/// Minimum time between updates, so that many joins share one.
const UPDATE_SPACING: Duration = Duration::from_millis(10);

/// What trees are computed from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeInputs<'a> {
    pub(crate) registry: &'a Registry,
    /// Finds the port of an alias GUID.
    pub(crate) view: Option<&'a View>,
    /// The routing in force, and the node of each of its switches.
    pub(crate) routing: Option<&'a (Arc<LastRun>, Vec<NodeIdx>)>,
}

/// The trees, and the update of the MFTs.
#[derive(Debug, Default)]
pub(crate) struct MulticastTables {
    trees: MulticastTrees,
    /// MLIDs whose members changed since their trees were computed.
    changed: BTreeSet<Lid>,
    /// Block 0, and blocks with an MLID in use when trees were computed last.
    used: BTreeSet<u16>,
    update: MftUpdate,
    /// Entries to clear before LFTs are written.
    conflicting: Vec<(Lid, NodeIdx)>,
    /// No update between sweeps begins earlier.
    next_update: Option<Instant>,
    /// Blocks whose reads the current sweep enqueued.
    reads: BTreeSet<(NodeIdx, u16)>,
}

/// The number of MLIDs: the capacity of the smallest MFT. Switches without one forward no multicast and do not count.
pub(crate) fn mlid_count(fabric: &Subnet) -> Option<u16> {
    let infos = fabric.nodes().filter_map(|(_, n)| n.switch_info());
    let caps = infos.map(|s| s.multicast_fdb_cap).filter(|cap| *cap > 0);
    caps.min()
}

/// Block 0, and the blocks with an MLID in use.
fn used_blocks(registry: &Registry) -> BTreeSet<u16> {
    let mlids = registry.groups().used_mlids();
    let blocks = mlids.map(|mlid| mft_index(mlid).0);
    blocks.chain([0]).collect()
}

/// The data of a Set.
pub(crate) fn payload(fabric: &Subnet, n: NodeIdx, at: MftBlockIdx) -> Option<[u8; 64]> {
    let masks = *fabric.get(n)?.mft.sent.get(&at)?;
    Some(MftBlock { masks }.encode())
}

impl MulticastTables {
    /// Discards all trees: another SM may have replaced those in the switches, which are imported then.
    pub(crate) fn discard_trees(&mut self) {
        self.trees = MulticastTrees::default();
    }

    /// Reads tables that another SM may have written: of each switch the blocks in use, and those after them up to an empty one.
    pub(crate) fn read(&mut self, ctx: &mut Ctx<'_>, registry: &Registry) {
        self.reads.clear();
        let used = used_blocks(registry);
        let nodes: Vec<NodeIdx> = ctx.fabric.node_indices().collect();
        for n in nodes {
            let Some(node) = ctx.fabric.get_mut(n).filter(|n| n.is_switch()) else {
                continue;
            };
            let is_unconfigured = node.switch_info().is_none_or(|s| s.linear_fdb_top == 0);
            if !core::mem::replace(&mut node.mft.read, true) && !is_unconfigured {
                used.iter().for_each(|b| self.read_block(ctx, n, *b));
            }
        }
    }

    fn read_block(&mut self, ctx: &mut Ctx<'_>, n: NodeIdx, block: u16) {
        let Some((node, info)) = ctx.fabric.get(n).and_then(|n| Some((n, n.switch_info()?))) else {
            return;
        };
        let is_above_top = has_fdb_top(node) && first_mlid(block) > info.multicast_fdb_top;
        if block >= info.multicast_fdb_cap.div_ceil(32) || is_above_top {
            return;
        }
        if self.reads.insert((n, block)) {
            for position in 0..num_positions(node.info.num_ports) {
                let at = MftBlockIdx { block, position };
                ctx.smps.enqueue(SmpOp::Mft(n, at));
            }
        }
    }

    /// A block was read. One that cannot be read stays unknown and is written.
    pub(crate) fn on_block_read(
        &mut self,
        ctx: &mut Ctx<'_>,
        n: NodeIdx,
        at: MftBlockIdx,
        status: Status,
        data: &[u8; 64],
    ) {
        if !status.is_ok() {
            return;
        }
        let masks = MftBlock::decode(data).masks;
        if let Some(node) = ctx.fabric.get_mut(n) {
            node.mft.set_known(at, masks);
        }
        if masks != EMPTY_BLOCK {
            self.read_block(ctx, n, at.block + 1);
        }
    }

    /// Sets the entries to clear before LFTs are written.
    pub(crate) fn set_conflicting(&mut self, ctx: &mut Ctx<'_>, entries: Vec<(Lid, NodeIdx)>) {
        if !entries.is_empty() {
            let mlids: BTreeSet<Lid> = entries.iter().map(|(mlid, _)| *mlid).collect();
            ctx.effects.messages.push(format!(
                "multicast entries of {} MLIDs cleared before the LFT update: they conflict with the new routes",
                mlids.len()
            ));
        }
        self.conflicting = entries;
    }

    /// Clears these entries. A switch that does not accept it is reported, and does not keep LFTs from being written. Returns whether any
    /// Set was enqueued.
    pub(crate) fn clear_conflicting(&mut self, ctx: &mut Ctx<'_>) -> bool {
        clear_entries(ctx, core::mem::take(&mut self.conflicting))
    }

    /// Compares all tables, once a sweep; `changed` are the MLIDs whose members changed.
    pub(crate) fn compare_all(
        &mut self,
        ctx: &mut Ctx<'_>,
        changed: BTreeSet<Lid>,
        inputs: TreeInputs<'_>,
    ) {
        self.update.begin_sweep();
        self.changed.extend(changed);
        let _ = self.compute_trees(ctx.fabric, inputs);
        if self.trees.is_impossible() {
            let message =
                "multicast disabled: no multicast tree is free of deadlocks with the routes";
            ctx.effects.messages.push(message.to_owned());
        }
        self.update
            .compare(ctx.fabric, &self.trees, &self.used, None, &BTreeSet::new());
    }

    /// Enqueues the next step of the update. Call it when the request queue is idle. Returns whether there was one.
    pub(crate) fn write_next(&mut self, ctx: &mut Ctx<'_>) -> bool {
        self.update.write_next(ctx, &self.trees, &self.used)
    }

    /// When an update between sweeps is due that was postponed.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.next_update.filter(|_| !self.changed.is_empty())
    }

    /// Between sweeps: updates the trees of MLIDs whose members changed, unless the last update ended just now. Returns whether anything
    /// is written.
    pub(crate) fn begin_update(
        &mut self,
        ctx: &mut Ctx<'_>,
        changed: BTreeSet<Lid>,
        inputs: TreeInputs<'_>,
    ) -> bool {
        self.changed.extend(changed);
        let is_early = self.next_update.is_some_and(|t| ctx.now < t);
        if self.changed.is_empty() || is_early {
            return false;
        }
        self.next_update = Some(ctx.now + UPDATE_SPACING);
        let blocks = self.compute_trees(ctx.fabric, inputs);
        let (trees, used) = (&self.trees, &self.used);
        self.update
            .compare(ctx.fabric, trees, used, blocks.as_ref(), &BTreeSet::new());
        self.write_next(ctx)
    }

    /// Between sweeps: enqueues the next step. Returns whether there was one; otherwise the update is complete.
    pub(crate) fn continue_update(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let is_writing = self.write_next(ctx);
        if !is_writing {
            self.next_update = Some(ctx.now + UPDATE_SPACING);
        }
        is_writing
    }

    /// Computes the trees of changed MLIDs, or of all after a change of the routing. Returns the blocks that may change; `None` for all.
    fn compute_trees(
        &mut self,
        fabric: &mut Subnet,
        inputs: TreeInputs<'_>,
    ) -> Option<BTreeSet<u16>> {
        let mut mlids = core::mem::take(&mut self.changed);
        let Some((run, nodes)) = inputs.routing else {
            return Some(BTreeSet::new());
        };
        let change = self.trees.set_routing(run, nodes);
        let is_new_forest = matches!(change, ForestChange::Replaced | ForestChange::First);
        if is_new_forest {
            self.update.expect_old_trees();
            let all: Vec<NodeIdx> = fabric.node_indices().collect();
            for n in all {
                if let Some(node) = fabric.get_mut(n) {
                    node.mft.wanted.clear();
                }
            }
        }
        if change != ForestChange::Unchanged {
            mlids.extend(inputs.registry.groups().used_mlids());
            mlids.extend(self.trees.mlids());
        }
        self.used = used_blocks(inputs.registry);
        if change == ForestChange::First {
            let installed = installed_entries(fabric, nodes);
            for (mlid, entries) in installed.iter().filter(|(mlid, _)| mlids.contains(mlid)) {
                want_entries(fabric, *mlid, self.trees.import(*mlid, entries));
            }
        }
        for mlid in &mlids {
            let members = self.members(fabric, inputs, *mlid);
            want_entries(fabric, *mlid, self.trees.set_members(*mlid, members));
        }
        (!is_new_forest).then(|| mlids.iter().map(|mlid| mft_index(*mlid).0).collect())
    }

    /// Where the members of an MLID are attached. An alias GUID stands for its port.
    fn members(&self, fabric: &Subnet, inputs: TreeInputs<'_>, mlid: Lid) -> Members {
        let mut members = Members::new();
        for (guid, receives) in inputs.registry.groups().members_of_mlid(mlid) {
            let by_alias = || {
                let view = inputs.view?;
                fabric.port_by_guid(view.end_port(view.by_guid(guid)?).guid)
            };
            let end_port = fabric.port_by_guid(guid).or_else(by_alias);
            if let Some(at) = end_port.and_then(|p| self.trees.attachment(fabric, p)) {
                *members.entry(at).or_default() |= receives;
            }
        }
        members
    }

    /// A block was written.
    pub(crate) fn on_block_written(
        &mut self,
        ctx: &mut Ctx<'_>,
        n: NodeIdx,
        at: MftBlockIdx,
        status: Status,
        data: &[u8; 64],
    ) {
        let Some(node) = ctx.fabric.get_mut(n) else {
            return;
        };
        let Some(sent) = node.mft.sent.remove(&at) else {
            return;
        };
        if status.is_ok() && MftBlock::decode(data).masks == sent {
            node.mft.set_known(at, sent);
        } else {
            let attr = id::MFT;
            self.on_write_failed(ctx, n, at, ProblemKind::SetRejected { attr, status });
        }
    }

    /// A block was not written. It is written again by the next sweep.
    pub(crate) fn on_write_failed(
        &mut self,
        ctx: &mut Ctx<'_>,
        n: NodeIdx,
        at: MftBlockIdx,
        kind: ProblemKind,
    ) {
        if let Some(node) = ctx.fabric.get_mut(n) {
            node.mft.sent.remove(&at);
        }
        self.update.on_block_failed(n, at.block);
        ctx.effects.reread_switches.insert(n);
        ctx.effects.problem(PortRef::new(n, PortNum::ZERO), kind);
    }

    /// The MulticastFDBTop that a switch should have.
    pub(crate) fn fdb_top(&self, fabric: &Subnet, n: NodeIdx, info: &SwitchInfo) -> u16 {
        fdb_top(fabric, &self.used, n, info)
    }
}

/// Sets the desired entries of an MLID.
fn want_entries(fabric: &mut Subnet, mlid: Lid, entries: Vec<(NodeIdx, PortSet)>) {
    for (n, ports) in entries {
        if let Some(node) = fabric.get_mut(n) {
            let positions = num_positions(node.info.num_ports);
            node.mft.set_wanted(mlid, ports, positions);
        }
    }
}
