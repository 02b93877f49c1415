//! Multicast forwarding tables (MFTs): the trees of the groups that clients register, and their
//! entries in switches.
//!
//! During a sweep, after the LFTs are written and before links are armed, all MFTs are compared
//! with the trees. Between sweeps, the trees of MLIDs whose members changed are updated while the
//! SM is idle, many at once. Entries of the routing in force that would loop or deadlock with the
//! LFTs of the next one are cleared before those are written
//! ([`crate::routing::installed_groups`]).
//!
//! Invariants: at no time can a multicast packet loop, or deadlock with other packets, whichever
//! Sets took effect; a block is unknown from its Set until the response (IBA vol. 1, 14.2.5.12).
//!
//! | module | contents |
//! |---|---|
//! | [`trees`] | the tree of each MLID, from its members |
//! | [`desired`] | the tables that follow from the trees |
//! | [`steps`] | which blocks are written in which step |
//! | [`update`] | writes them |
//! | [`readback`] | reads the tables that another SM may have written |

mod desired;
mod readback;
mod steps;
mod trees;
mod update;

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_fabric::observed::{
    DeviceTable, Node, NodeIdx, ObservedFabric, PortRef, RejectionEffect,
};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_fabric::tables::mft::{MftBlockIdx, mft_index};
use ferrosm_mad::attr::{MftBlock, SwitchInfo, id};
use ferrosm_mad::ids::{Lid, PortNum};
use ferrosm_mad::time::Instant;
use ferrosm_routing::VerifiedRun;

use crate::ctx::Ctx;
use crate::effect::Effect;
use crate::report::ProblemKind;
use crate::report::routing_message::RoutingMessage;
use crate::routing::installed_groups::installed_entries;
use crate::smp::outcome::SmpOutcome;
use desired::DesiredMfts;
use ferrosm_sa::registry::Registry;
pub(crate) use readback::MftReadback;
use readback::normalize_masks;
use steps::MftSteps;
use trees::{ForestChange, Members, MulticastTrees};
pub(crate) use update::{MftUpdate, clear_entries};
use update::{fdb_top, repeat_block};

/// Minimum time between updates, so that many joins share one.
const UPDATE_SPACING: Duration = Duration::from_millis(10);

/// What trees are computed from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeInputs<'a> {
    pub(crate) registry: &'a Registry,
    /// Finds the port of an alias GUID.
    pub(crate) snapshot: Option<&'a Snapshot>,
    /// The routing in force, and the node of each of its switches.
    pub(crate) routing: Option<&'a (Arc<VerifiedRun>, Vec<NodeIdx>)>,
}

/// The trees, and the update of the MFTs.
#[derive(Debug, Default)]
pub(crate) struct MulticastTables {
    trees: MulticastTrees,
    desired: DesiredMfts,
    /// MLIDs whose members changed since their trees were computed.
    changed: BTreeSet<Lid>,
    /// Block 0, and blocks with an MLID in use when trees were computed last.
    used: BTreeSet<u16>,
    /// Switches that did not accept a block. Cleared when a sweep compares all tables.
    skipped: BTreeSet<NodeIdx>,
    /// Installed entries may be trees of another routing. Set by a change of the forest, cleared
    /// when they were removed.
    has_old_trees: bool,
    /// No update between sweeps begins earlier.
    next_update: Option<Instant>,
}

/// The number of MLIDs: the entries of the largest MFT. A switch with a smaller one does not limit
/// the groups of others. `None` if no switch has an MFT.
pub(crate) fn mlid_count(fabric: &ObservedFabric) -> Option<u16> {
    mft_sizes(fabric).max()
}

/// The number of MLIDs that every MFT can hold. Switches without an MFT forward no multicast and do
/// not count.
pub(crate) fn common_mlid_count(fabric: &ObservedFabric) -> Option<u16> {
    mft_sizes(fabric).min()
}

fn mft_sizes(fabric: &ObservedFabric) -> impl Iterator<Item = u16> {
    let sizes = fabric.nodes().map(|(_, n)| n.table_caps().mft);
    sizes.filter(|entries| *entries > 0)
}

/// Block 0, and the blocks with an MLID in use.
fn used_blocks(registry: &Registry) -> BTreeSet<u16> {
    let mlids = registry.groups().used_mlids();
    let blocks = mlids.map(|mlid| mft_index(mlid).0);
    blocks.chain([0]).collect()
}

/// The data of a Set.
pub(crate) fn payload(fabric: &ObservedFabric, n: NodeIdx, at: MftBlockIdx) -> Option<[u8; 64]> {
    let masks = *fabric.get(n)?.mft.sent_block(at)?;
    Some(MftBlock { masks }.encode())
}

/// Writes a known block again where a switch keeps its MFT, it is time to try again, and no other
/// block is written: the trees avoid the switch, so that its entries may be as desired.
fn repeat_kept(ctx: &mut Ctx<'_>, steps: &MftSteps) {
    let keeps = |(_, node): &(NodeIdx, &Node)| node.rejections.keeps(DeviceTable::Mft);
    let kept: Vec<NodeIdx> = ctx.fabric.nodes().filter(keeps).map(|(n, _)| n).collect();
    for n in kept {
        if ctx.may_write(n, DeviceTable::Mft) && !steps.writes_to(n) {
            repeat_block(ctx, n);
        }
    }
}

/// Reports entries that are to be cleared before LFTs are written, because they conflict with the
/// new routes.
pub(crate) fn report_conflicting(ctx: &mut Ctx<'_>, entries: &[(Lid, NodeIdx)]) {
    if !entries.is_empty() {
        let mlids: BTreeSet<Lid> = entries.iter().map(|(mlid, _)| *mlid).collect();
        let mlids = mlids.len();
        let message = RoutingMessage::MulticastEntriesCleared { mlids };
        ctx.effects.push(Effect::Message(Box::new(message)));
    }
}

impl MulticastTables {
    /// Discards all trees, because another SM may have replaced those in the switches. The next
    /// computation imports the installed ones.
    pub(crate) fn discard_trees(&mut self) {
        self.trees = MulticastTrees::default();
    }

    /// Compares all tables, once a sweep; `changed` are the MLIDs whose members changed. Returns
    /// the update that follows.
    pub(crate) fn compare_all(
        &mut self,
        ctx: &mut Ctx<'_>,
        changed: BTreeSet<Lid>,
        inputs: TreeInputs<'_>,
    ) -> MftUpdate {
        self.skipped.clear();
        self.has_old_trees = false;
        self.changed.extend(changed);
        let _ = self.compute_trees(ctx.fabric, inputs);
        if self.trees.is_impossible() {
            let problem = Effect::Problem(None, Box::new(ProblemKind::MulticastDisabled));
            ctx.effects.push(problem);
        }
        self.report_left_out(ctx);
        let steps = self.compare(ctx.fabric, None);
        repeat_kept(ctx, &steps);
        MftUpdate::new(steps)
    }

    /// Reports switches whose MFT leaves out members.
    fn report_left_out(&self, ctx: &mut Ctx<'_>) {
        for (n, entries, mlids) in self.trees.leaving_out() {
            let problem = match entries {
                None => ProblemKind::MembersLeftOut { mlids },
                Some(entries) => ProblemKind::MftTooSmall { entries, mlids },
            };
            ctx.effects.problem(PortRef::new(n, PortNum::ZERO), problem);
        }
    }

    /// When a postponed update between sweeps is due.
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.next_update.filter(|_| !self.changed.is_empty())
    }

    /// Between sweeps: updates the trees of MLIDs whose members changed, unless the last update
    /// ended just now. Returns the update, if anything is written.
    pub(crate) fn begin_update(
        &mut self,
        ctx: &mut Ctx<'_>,
        changed: BTreeSet<Lid>,
        inputs: TreeInputs<'_>,
    ) -> Option<MftUpdate> {
        self.changed.extend(changed);
        let is_early = self.next_update.is_some_and(|t| ctx.now < t);
        if self.changed.is_empty() || is_early {
            return None;
        }
        self.next_update = Some(ctx.now + UPDATE_SPACING);
        let blocks = self.compute_trees(ctx.fabric, inputs);
        self.report_left_out(ctx);
        let mut update = MftUpdate::new(self.compare(ctx.fabric, blocks.as_ref()));
        self.write_next(ctx, &mut update).then_some(update)
    }

    /// Between sweeps: enqueues the next step. Returns whether there was one; otherwise the update
    /// is complete.
    pub(crate) fn continue_update(&mut self, ctx: &mut Ctx<'_>, update: &mut MftUpdate) -> bool {
        let is_writing = self.write_next(ctx, update);
        if !is_writing {
            self.next_update = Some(ctx.now + UPDATE_SPACING);
        }
        is_writing
    }

    /// Computes the trees of changed MLIDs, or of all after a change of the routing. Returns the
    /// blocks that may change; `None` for all.
    fn compute_trees(
        &mut self,
        fabric: &ObservedFabric,
        inputs: TreeInputs<'_>,
    ) -> Option<BTreeSet<u16>> {
        let mut mlids = core::mem::take(&mut self.changed);
        let Some((run, nodes)) = inputs.routing else {
            return Some(BTreeSet::new());
        };
        let change = self.trees.set_routing(run, nodes);
        let is_new_forest = matches!(change, ForestChange::Replaced | ForestChange::First);
        if is_new_forest {
            self.has_old_trees = true;
            self.desired = DesiredMfts::default();
        }
        if change != ForestChange::Unchanged {
            self.desired.remove_absent(fabric);
            mlids.extend(inputs.registry.groups().used_mlids());
            mlids.extend(self.trees.mlids());
        }
        let groups = inputs.registry.groups();
        if self
            .trees
            .set_limits(fabric, groups.used_mlids().next_back())
        {
            mlids.extend(groups.used_mlids());
            mlids.extend(self.trees.mlids());
        }
        self.used = used_blocks(inputs.registry);
        if change == ForestChange::First {
            let installed = installed_entries(fabric, nodes);
            for (mlid, entries) in installed.iter().filter(|(mlid, _)| mlids.contains(mlid)) {
                let entries = self.trees.import(*mlid, entries);
                self.desired.set_entries(fabric, *mlid, entries);
            }
        }
        for mlid in &mlids {
            let members = self.members(fabric, inputs, *mlid);
            let entries = self.trees.set_members(*mlid, members);
            self.desired.set_entries(fabric, *mlid, entries);
        }
        (!is_new_forest).then(|| mlids.iter().map(|mlid| mft_index(*mlid).0).collect())
    }

    /// Where the members of an MLID are attached. An alias GUID stands for its port.
    fn members(&self, fabric: &ObservedFabric, inputs: TreeInputs<'_>, mlid: Lid) -> Members {
        let mut members = Members::new();
        for (guid, receives) in inputs.registry.groups().members_of_mlid(mlid) {
            let by_alias = || {
                let snapshot = inputs.snapshot?;
                fabric.port_by_guid(snapshot.end_port(snapshot.by_guid(guid)?).guid)
            };
            let end_port = fabric.port_by_guid(guid).or_else(by_alias);
            if let Some(at) = end_port.and_then(|p| self.trees.attachment(fabric, p)) {
                *members.entry(at).or_default() |= receives;
            }
        }
        members
    }

    /// The write of a block succeeded or failed; a failed one is repeated by the next sweep.
    /// `update` is the MFT update that runs, if any.
    pub(crate) fn on_block_written(
        &mut self,
        ctx: &mut Ctx<'_>,
        update: Option<&mut MftUpdate>,
        (n, at): (NodeIdx, MftBlockIdx),
        outcome: &SmpOutcome,
    ) {
        let node = ctx.fabric.get_mut(n);
        let sent = node.and_then(|node| node.mft.take_sent(at));
        if sent.is_none() && !matches!(outcome, SmpOutcome::Unanswered) {
            return;
        }
        let desired = sent.map(|masks| MftBlock { masks }.encode());
        let num_ports = ctx.fabric.get(n).map_or(0, |node| node.info.num_ports);
        let port0 = PortRef::new(n, PortNum::ZERO);
        let kind = match outcome.check_set(id::MFT, desired, |data| {
            normalize_masks(data, num_ports, at.position);
        }) {
            Ok(echo) => {
                if let Some((node, sent)) = ctx.fabric.get_mut(n).zip(sent) {
                    node.mft.set_known(at, sent);
                }
                if ctx.record_acceptance(n, DeviceTable::Mft) {
                    self.update_all(ctx.now);
                    // The next report is without it.
                    ctx.effects.push(Effect::RereadSwitchLater(n));
                }
                ctx.effects.set_echoed(port0, id::MFT, echo);
                return;
            }
            Err(kind) => kind,
        };
        if let Some(update) = update {
            update.on_block_failed(at.block);
        }
        self.skipped.insert(n);
        match ctx.record_rejection(n, DeviceTable::Mft, outcome) {
            RejectionEffect::Unanswered | RejectionEffect::WriteAgain => {
                ctx.effects.push(Effect::RereadSwitchLater(n));
                ctx.effects.problem(port0, kind);
            }
            RejectionEffect::Keeps => self.update_all(ctx.now),
            RejectionEffect::KeptBefore => {}
        }
    }

    /// Updates all trees soon: a switch is to be avoided from now on, or not any more.
    fn update_all(&mut self, now: Instant) {
        self.changed.extend(self.trees.mlids());
        self.next_update.get_or_insert(now + UPDATE_SPACING);
    }

    /// The MulticastFDBTop that a switch should have.
    pub(crate) fn fdb_top(&self, fabric: &ObservedFabric, n: NodeIdx, info: &SwitchInfo) -> u16 {
        fdb_top(fabric, &self.used, n, info)
    }
}
