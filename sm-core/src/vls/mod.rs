//! VL tables: SLtoVLMappingTables and VLArbitrationTables, written before links are armed (IBA vol.
//! 1, 14.2.5.8 and 14.2.5.9).
//!
//! Tables are not read, except those that a device keeps ([`kept_readback`]): that takes a request
//! for each pair of ports, while most switches accept one Set for all inputs. Every table is
//! written once after the SM started or the device rebooted, unless it is known from before
//! ([`InheritedVls`]). A routing on one VL writes none to devices that no SM has configured,
//! because their power-up tables map SL 0 to VL 0.
//!
//! Invariants: a table is unknown from its Set until the response. Before the first write of a
//! sweep a new epoch is persisted; if the SM fails before the routing of that epoch is persisted,
//! its successor treats all tables as unknown. So does this SM after a link between switches has
//! moved, because Sets may have reached other devices.

pub(crate) mod kept_readback;

use std::collections::BTreeMap;

use ferrosm_fabric::observed::{
    DeviceTable, Node, NodeIdx, ObservedFabric, Port, PortRef, RejectionEffect, VlTableOrigin,
};
use ferrosm_fabric::routing_origin::SlToVlEpoch;
use ferrosm_fabric::tables::sl_to_vl::SlToVlSelector;
use ferrosm_fabric::tables::vl_arbitration::VlArbitrationBlocks;
use ferrosm_mad::attr::{PortInfo, id};
use ferrosm_mad::ids::{Lid, NodeGuid, PortGuid, PortNum, Sl};

use crate::config::SmConfig;
use crate::ctx::Ctx;
use crate::effect::Effect;
use crate::records::{Record, RecordUpdate};
use crate::routing::vl_plan::FabricVlPlan;
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;

/// What is known of a node's tables from an earlier run or another SM.
#[derive(Debug)]
pub(crate) enum InheritedVls {
    /// Nothing is recorded; a node without configuration has its power-up tables.
    NotRecorded,
    /// An SM failed while it wrote tables: the contents of the tables are unknown.
    PartlyWritten,
    /// The tables that the node has.
    Known {
        sl_to_vl: BTreeMap<SlToVlSelector, [u8; 8]>,
        /// By port number.
        vl_arbitration: Vec<VlArbitrationBlocks>,
        /// The node did not accept all of its tables.
        is_incomplete: bool,
    },
}

/// The VL plan of the current routing, and the epoch of the tables.
#[derive(Debug)]
pub(crate) struct VlTables {
    /// `None` before the first routing.
    plan: Option<FabricVlPlan>,
    /// The epoch of the tables that were written last, or are being written.
    epoch: SlToVlEpoch,
    /// Highest epoch number of this SM that `load_replica` has replaced, or 0. New epochs have
    /// higher numbers, so that this SM uses no number twice.
    replaced_number: u64,
}

/// The VL tables that a sweep writes.
#[derive(Debug, Default)]
pub(crate) struct VlUpdate {
    /// The epoch of these tables is persisted, or about to be.
    has_epoch: bool,
    /// The data of Sets of tables that depend on the configuration, which may change before the
    /// response.
    sent: BTreeMap<ConfiguredTable, [u8; 64]>,
}

/// A table that depends on the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ConfiguredTable {
    /// SLtoVLMappingTable of a CA or router port.
    SlToVl(PortRef),
    /// A block of VLArbitrationTable.
    Arbitration(PortRef, u8),
}

impl VlTables {
    /// `epoch` is the last one that was persisted.
    pub(crate) const fn new(epoch: SlToVlEpoch) -> Self {
        Self {
            plan: None,
            epoch,
            replaced_number: 0,
        }
    }

    pub(crate) const fn plan(&self) -> Option<&FabricVlPlan> {
        self.plan.as_ref()
    }

    pub(crate) fn set_plan(&mut self, plan: FabricVlPlan) {
        self.plan = Some(plan);
    }

    pub(crate) const fn epoch(&self) -> SlToVlEpoch {
        self.epoch
    }

    /// Replaces the epoch by that of a replica. Otherwise this SM would keep the epoch of its
    /// earlier term, which differs from that of the replica's routing, and all tables would count
    /// as partly written.
    pub(crate) fn load_replica(&mut self, epoch: SlToVlEpoch) {
        self.replaced_number = self.replaced_number.max(self.epoch.number);
        self.epoch = epoch;
    }

    /// The SL of packets from an end port to a LID.
    pub(crate) fn sl(&self, fabric: &ObservedFabric, from: PortRef, to: Lid) -> Sl {
        let plan = self.plan.as_ref();
        plan.map_or(Sl(0), |plan| plan.sl(fabric, from, to))
    }

    /// Writes every table that is not known to be in place. Returns whether any is written.
    pub(crate) fn write(&mut self, ctx: &mut Ctx<'_>, update: &mut VlUpdate) -> bool {
        let mut any = false;
        let nodes: Vec<NodeIdx> = ctx.fabric.node_indices().collect();
        for n in nodes {
            let (Some(plan), Some(node)) = (&self.plan, ctx.fabric.get(n)) else {
                continue;
            };
            let keeps_sl_to_vl = node.keeps(SWITCH_SL_TO_VL);
            let is_at_power_up =
                node.vls.sl_to_vl.is_empty() && node.vls.origin != VlTableOrigin::Foreign;
            if plan.is_single() && is_at_power_up {
                continue;
            }
            let fingerprint = plan.fingerprint(ctx.fabric, n, ctx.cfg);
            if node.vls.fingerprint == Some(fingerprint) && !keeps_sl_to_vl {
                continue;
            }
            let missing = missing_tables(plan, ctx.fabric, ctx.cfg, n, update);
            let is_complete = missing.is_empty();
            let mut writable = missing;
            writable.retain(|set| {
                let table = set_table(ctx.fabric, *set);
                table.is_none_or(|table| ctx.may_write(n, table))
            });
            if keeps_sl_to_vl && ctx.may_write(n, SWITCH_SL_TO_VL) {
                // One Set shows whether the switch accepts them now.
                let mut probe = node.vls.sl_to_vl.keys().next().copied();
                writable.retain(|set| {
                    if let SmpOp::SetSlToVl(_, at) = *set {
                        probe = Some(at);
                        return false;
                    }
                    true
                });
                let port0 = PortRef::new(n, PortNum::ZERO);
                writable.extend(probe.map(|at| SmpOp::SetSlToVl(port0, at)));
            }
            any |= !writable.is_empty();
            self.write_tables(ctx, update, writable);
            if let Some(node) = ctx.fabric.get_mut(n) {
                node.vls.fingerprint = is_complete.then_some(fingerprint);
            }
        }
        any
    }

    fn write_tables(&mut self, ctx: &mut Ctx<'_>, update: &mut VlUpdate, sets: Vec<SmpOp>) {
        if !sets.is_empty() && !core::mem::replace(&mut update.has_epoch, true) {
            self.begin_epoch(ctx);
        }
        for set in sets {
            forget_table(ctx.fabric, set);
            ctx.smps.enqueue(set);
        }
    }

    /// Tables of devices may differ from those of `recorded`, the epoch of the published routing: a
    /// new epoch makes all of them unknown, also to a successor. Without an effect if no table was
    /// ever written, or they are unknown already.
    pub(crate) fn invalidate(&mut self, ctx: &mut Ctx<'_>, recorded: SlToVlEpoch) {
        if recorded == self.epoch && recorded != SlToVlEpoch::NEVER {
            self.begin_epoch(ctx);
        }
    }

    /// Persists a new epoch.
    fn begin_epoch(&mut self, ctx: &mut Ctx<'_>) {
        ctx.effects.push(Effect::NewVlEpoch);
        let local_port = ctx.fabric.local().and_then(|p| ctx.fabric.port(p));
        let own_guid = local_port.map_or(PortGuid(0), |port| port.guid);
        self.epoch.number = self.epoch.number.max(self.replaced_number);
        self.epoch = self.epoch.next(own_guid);
        let epoch = Record::SlToVlEpoch(self.epoch);
        ctx.outbox.persist(vec![RecordUpdate::Put(epoch)]);
    }

    /// The data of a Set of an SLtoVLMappingTable.
    pub(crate) fn sl_to_vl_payload(
        &self,
        update: &VlUpdate,
        p: PortRef,
        at: SlToVlSelector,
    ) -> Option<[u8; 64]> {
        match at {
            SlToVlSelector::EndPort(_) => update.sent(ConfiguredTable::SlToVl(p)),
            SlToVlSelector::Pair(..) | SlToVlSelector::Output(_) => {
                self.plan.as_ref()?.switch_map(p.node, at)
            }
        }
    }

    /// The write of an SLtoVLMappingTable succeeded or failed.
    pub(crate) fn on_sl_to_vl_written(
        &mut self,
        ctx: &mut Ctx<'_>,
        update: &mut VlUpdate,
        (p, at): (PortRef, SlToVlSelector),
        outcome: &SmpOutcome,
    ) {
        let desired = self.sl_to_vl_payload(update, p, at);
        let is_for_all_inputs = matches!(at, SlToVlSelector::Output(_));
        let accepted = outcome.data().zip(desired);
        let accepted = accepted.filter(|(data, wanted)| data[..8] == wanted[..8]);
        if let Some((data, _)) = accepted {
            if let Some(node) = ctx.fabric.get_mut(p.node) {
                let mut map = [0; 8];
                map.copy_from_slice(&data[..8]);
                // A table for all inputs replaces those for one input, and the reverse.
                node.vls.sl_to_vl.retain(|selector, _| {
                    let is_other_form =
                        matches!(selector, SlToVlSelector::Output(_)) != is_for_all_inputs;
                    !(is_other_form && selector.ports().1 == at.ports().1)
                });
                node.vls.sl_to_vl.insert(at, map);
            }
            let table = sl_to_vl_of(ctx.fabric, p);
            if ctx.record_acceptance(p.node, table) && table == SWITCH_SL_TO_VL {
                ctx.effects.reroute_now();
            }
            return;
        }
        let is_answered = !matches!(outcome, SmpOutcome::Unanswered);
        if is_answered && is_for_all_inputs {
            // The switch reports that it accepts tables for all inputs, but does not: each pair of
            // ports gets its own.
            let node = ctx.fabric.get_mut(p.node);
            let was_known =
                node.is_none_or(|n| core::mem::replace(&mut n.vls.rejects_optimized, true));
            if !was_known && let Some(plan) = &self.plan {
                let mut missing = missing_tables(plan, ctx.fabric, ctx.cfg, p.node, update);
                // VLArbitrationTables are in flight.
                missing.retain(|set| matches!(set, SmpOp::SetSlToVl(..)));
                self.write_tables(ctx, update, missing);
            }
            return;
        }
        self.on_sl_to_vl_failed(ctx, p, at, outcome);
    }

    /// The write of an SLtoVLMappingTable failed. Without the table of a CA, only packets of this
    /// CA are affected. A missing table of a switch blocks the remaining stages of an update to
    /// several VLs. Routes on one VL cannot deadlock, whatever the tables are.
    fn on_sl_to_vl_failed(
        &self,
        ctx: &mut Ctx<'_>,
        p: PortRef,
        at: SlToVlSelector,
        outcome: &SmpOutcome,
    ) {
        let table = sl_to_vl_of(ctx.fabric, p);
        let is_switch = table == SWITCH_SL_TO_VL;
        let is_blocking = match ctx.record_rejection(p.node, table, outcome) {
            RejectionEffect::Unanswered => {
                ctx.effects
                    .port_problem(p, outcome.failed_set(id::SL_TO_VL));
                is_switch
            }
            RejectionEffect::WriteAgain => {
                ctx.smps.enqueue(SmpOp::SetSlToVl(p, at));
                false
            }
            RejectionEffect::Keeps => {
                if let Some(node) = ctx.fabric.get_mut(p.node).filter(|_| is_switch) {
                    // Its tables are read before routes are computed.
                    node.vls.sl_to_vl.clear();
                    ctx.effects.reroute_now();
                }
                is_switch
            }
            RejectionEffect::KeptBefore => false,
        };
        if is_blocking && self.plan.as_ref().is_some_and(|plan| !plan.is_single()) {
            ctx.effects.push(Effect::TableRejected(p));
        }
    }
}

/// The SLtoVLMappingTables of a switch.
const SWITCH_SL_TO_VL: DeviceTable = DeviceTable::SlToVl(PortNum::ZERO);

/// The SLtoVLMappingTable that a Set at a port writes.
fn sl_to_vl_of(fabric: &ObservedFabric, p: PortRef) -> DeviceTable {
    let is_switch = fabric.get(p.node).is_some_and(Node::is_switch);
    DeviceTable::SlToVl(if is_switch { PortNum::ZERO } else { p.port })
}

impl VlUpdate {
    /// The data of a Set.
    pub(crate) fn sent(&self, table: ConfiguredTable) -> Option<[u8; 64]> {
        self.sent.get(&table).copied()
    }

    /// The write of a block of VLArbitrationTable succeeded or failed.
    pub(crate) fn on_arbitration_written(
        &self,
        ctx: &mut Ctx<'_>,
        p: PortRef,
        block: u8,
        outcome: &SmpOutcome,
    ) {
        let sent = self.sent(ConfiguredTable::Arbitration(p, block));
        let table = DeviceTable::VlArbitration(p.port);
        match outcome.check_set(id::VL_ARBITRATION, sent, normalize_arbitration) {
            Ok(echo) => {
                if let Some((table, port)) = sent.zip(ctx.fabric.port_mut(p)) {
                    port.vl_arbitration.insert(block, table);
                }
                if ctx.record_acceptance(p.node, table) {
                    ctx.effects.reroute_now();
                }
                ctx.effects.set_echoed(p, id::VL_ARBITRATION, echo);
            }
            Err(kind) => match ctx.record_rejection(p.node, table, outcome) {
                RejectionEffect::Unanswered => ctx.effects.port_problem(p, kind),
                RejectionEffect::WriteAgain => {
                    ctx.smps.enqueue(SmpOp::SetVlArbitration(p, block));
                }
                // Its table is read, and routes use the VLs to which it gives a weight.
                RejectionEffect::Keeps => ctx.effects.reroute_now(),
                RejectionEffect::KeptBefore => {}
            },
        }
    }
}

/// Clears what has no effect: entries without weight, and reserved bits.
fn normalize_arbitration(data: &mut [u8; 64]) {
    for entry in data.chunks_exact_mut(2) {
        if entry[1] == 0 {
            entry[0] = 0;
        }
        entry[0] &= 0x0F;
    }
}

/// Nodes for which [`set_origin`] has not been called since they were discovered or lost their
/// tables.
pub(crate) fn nodes_of_unknown_origin(fabric: &ObservedFabric) -> Vec<NodeIdx> {
    let nodes = fabric.nodes();
    let unknown = nodes.filter(|(_, node)| node.vls.origin == VlTableOrigin::Unknown);
    unknown.map(|(n, _)| n).collect()
}

/// Records the tables of a node that this SM did not write: those of an earlier run, unknown ones,
/// or the power-up tables. Call it before the node is configured.
pub(crate) fn set_origin(fabric: &mut ObservedFabric, n: NodeIdx, inherited: InheritedVls) {
    let Some(node) = fabric.get_mut(n) else {
        return;
    };
    let is_foreign = match inherited {
        InheritedVls::NotRecorded => is_configured(node),
        InheritedVls::PartlyWritten => true,
        InheritedVls::Known {
            sl_to_vl,
            vl_arbitration,
            is_incomplete,
        } => {
            let mut has_any = !sl_to_vl.is_empty();
            node.vls.sl_to_vl = sl_to_vl;
            for (port, blocks) in node.ports.iter_mut().zip(vl_arbitration) {
                has_any |= !blocks.is_empty();
                port.vl_arbitration = blocks;
            }
            // A node that did not accept all of its tables may have other tables than those of
            // power-up.
            has_any || is_incomplete
        }
    };
    node.vls.origin = if is_foreign {
        VlTableOrigin::Foreign
    } else {
        VlTableOrigin::PowerUp
    };
}

/// Whether an SM has configured a node since it powered up: it has an LFT or a LID.
pub(crate) fn is_configured(node: &Node) -> bool {
    match node.switch_info() {
        Some(info) => info.linear_fdb_top > 0,
        None => node.end_ports().any(|p| {
            let port = node.ports.get(p.index());
            port.is_some_and(|port| PortInfo::lid.read(&port.raw) != Lid::NONE)
        }),
    }
}

/// Nodes whose VL tables are uncertain: they may have tables that this SM did not write, and not
/// every Set was accepted.
pub(crate) fn nodes_with_uncertain_tables(fabric: &ObservedFabric) -> Vec<NodeGuid> {
    let nodes = fabric.nodes().map(|(_, node)| node);
    let without = nodes
        .filter(|node| node.vls.origin != VlTableOrigin::PowerUp && node.vls.fingerprint.is_none());
    without.map(|node| node.info.node_guid).collect()
}

/// Ports of a node with a link that is up.
pub(crate) fn live_ports(fabric: &ObservedFabric, n: NodeIdx, node: &Node) -> Vec<PortNum> {
    let ports = node.physical_ports();
    ports.filter(|p| is_linked(fabric, n, node, *p)).collect()
}

fn is_linked(fabric: &ObservedFabric, n: NodeIdx, node: &Node, port: PortNum) -> bool {
    let is_up = node.ports.get(port.index()).is_some_and(Port::is_up);
    is_up && fabric.peer(PortRef::new(n, port)).is_some()
}

/// The table that a Set writes.
fn set_table(fabric: &ObservedFabric, set: SmpOp) -> Option<DeviceTable> {
    if let SmpOp::SetSlToVl(p, _) = set {
        Some(sl_to_vl_of(fabric, p))
    } else if let SmpOp::SetVlArbitration(p, _) = set {
        Some(DeviceTable::VlArbitration(p.port))
    } else {
        None
    }
}

/// Sets of a node's tables that are not known to be in place. Adds their data to `update`.
fn missing_tables(
    plan: &FabricVlPlan,
    fabric: &ObservedFabric,
    cfg: &SmConfig,
    n: NodeIdx,
    update: &mut VlUpdate,
) -> Vec<SmpOp> {
    let Some(node) = fabric.get(n) else {
        return Vec::new();
    };
    let mut missing = Vec::new();
    // The routes are computed with the tables of a switch that does not respond
    // ([`crate::routing::kept`]).
    let has_known_tables = node.lft_in_use().is_some() && !node.vls.sl_to_vl.is_empty();
    if node.is_unresponsive && has_known_tables {
        return missing;
    }
    let live = live_ports(fabric, n, node);
    let is_missing = |at: &SlToVlSelector, table: &[u8; 64]| {
        let last_known = node.vls.sl_to_vl.get(at);
        last_known.is_none_or(|known| *known != table[..8])
    };
    if node.is_switch() {
        for (at, table) in plan.switch_maps(n, node, &live) {
            if is_missing(&at, &table) {
                missing.push(SmpOp::SetSlToVl(PortRef::new(n, PortNum::ZERO), at));
            }
        }
    }
    for &port in &live {
        let p = PortRef::new(n, port);
        let at = SlToVlSelector::EndPort(port);
        if let Some(table) = plan.end_port_map(fabric, p, cfg)
            && is_missing(&at, &table)
        {
            update.sent.insert(ConfiguredTable::SlToVl(p), table);
            missing.push(SmpOp::SetSlToVl(p, at));
        }
        let last_known = node
            .ports
            .get(port.index())
            .map(|port| &port.vl_arbitration);
        for (block, table) in plan.arbitration(fabric, p, cfg) {
            if last_known.is_none_or(|known| !known.contains(&(block, table))) {
                let at = ConfiguredTable::Arbitration(p, block);
                update.sent.insert(at, table);
                missing.push(SmpOp::SetVlArbitration(p, block));
            }
        }
    }
    missing
}

/// A Set is about to be sent: the table is unknown until its response, which may be lost although
/// the Set was accepted.
fn forget_table(fabric: &mut ObservedFabric, set: SmpOp) {
    let Some(p) = set.port() else {
        return;
    };
    let Some(node) = fabric.get_mut(p.node) else {
        return;
    };
    node.vls.origin = VlTableOrigin::Foreign;
    if let SmpOp::SetSlToVl(_, at) = set {
        node.vls.sl_to_vl.remove(&at);
    } else if let SmpOp::SetVlArbitration(_, block) = set
        && let Some(port) = node.ports.get_mut(p.port.index())
    {
        port.vl_arbitration.remove(block);
    }
}
