//! Discovery by directed route (IBA vol. 1, 14.4.3): of the whole fabric, or of the switches and
//! ports that are to be read again.
//!
//! Both use the same requests: a switch is read by SwitchInfo and the PortInfo of all its ports,
//! and the node behind a port by NodeInfo. A full sweep queries the node behind every port that is
//! up, a local sweep only where the state of a port changed. A bad or missing response does not end
//! a sweep: it is reported, and the node or port is excluded, or stays as it is known
//! ([`unresponsive`]).
//!
//! [`port_info`] handles PortInfo, [`links`] which port is linked to which, [`owners`] which node
//! or port owns a GUID, [`budget`] how many new switches are accepted, [`other_ports`] which ports
//! of hosts lead to another subnet.

pub(crate) mod budget;
pub(crate) mod endless;
pub(crate) mod exclusion;
mod links;
mod other_ports;
mod owners;
pub(crate) mod port_info;
pub(crate) mod problems;
pub(crate) mod silent_ports;
pub(crate) mod survey;
pub(crate) mod unresponsive;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrosm_fabric::observed::{
    ExclusionReason, Node, NodeIdx, NodeRemovalReason, PortRef, plausible,
};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::{NodeDescription, NodeInfo, NodeType, PortState, SwitchInfo, id};
use ferrosm_mad::ids::{Lid, NodeGuid, PortGuid, PortNum};
use ferrosm_mad::mad::Status;
use ferrosm_mad::smp::DrPath;

use crate::ctx::Ctx;
use crate::discovery::exclusion::{
    exclude_node, exclude_port, remove_node, remove_unreachable_nodes,
};
use crate::effect::Effect;
use crate::event::NoLinkReason;
use crate::ports::port_settings;
use crate::report::{ActivityKind, ProblemKind, SweepKind};
use crate::smp::op::SmpOp;
use crate::smp::outcome::SmpOutcome;
use crate::smp::route;
use budget::Budget;
use owners::{has_unreached_owner, index_port, set_port_guid};
pub(crate) use port_info::{
    check_port_info, on_ext_port_info, on_port_info_failed, read_fdr10, retry_unanswered_port_info,
    store_port_info,
};
use unresponsive::{UnresponsiveDevices, mark_unresponsive};

/// What the SM does while a response arrives, as far as discovery depends on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadMode {
    pub(crate) activity: ActivityKind,
    pub(crate) is_master: bool,
    /// A full sweep runs that preserves known devices which do not respond.
    pub(crate) keeps_unresponsive: bool,
}

/// What a sweep found about links, until its routes are computed.
#[derive(Debug)]
pub(crate) struct Discovery {
    kind: SweepKind,
    /// The port behind each port, as reported by NodeInfo in this sweep.
    neighbours: BTreeMap<PortRef, PortRef>,
    /// Links whose far end is already linked to another port, with the port GUID that was reported
    /// over them.
    conflicts: BTreeMap<(PortRef, PortRef), PortGuid>,
    /// NodeInfos, and the ports that they were received over, whose GUIDs belong to a known node
    /// that this sweep has not reached yet.
    contested: Vec<(PortRef, NodeInfo)>,
    /// Nodes that this sweep added.
    added: BTreeSet<NodeIdx>,
    /// Nodes have been added since the last SMInfo scan.
    has_unscanned_nodes: bool,
    /// Ports whose known link must be verified by a NodeInfo query.
    unverified: BTreeSet<PortRef>,
    /// Switches that were read because they are at the far end of a changed link.
    far_ends: BTreeSet<NodeIdx>,
    /// Switches whose PortStateChange was set.
    changed_switches: BTreeSet<NodeIdx>,
    /// Switches of which a port has another state than before.
    explained_changes: BTreeSet<NodeIdx>,
    /// Switch ports whose links were armed since they were last read.
    armed_ports: Vec<PortRef>,
    /// Ports behind which an earlier sweep found a duplicate node GUID, with the GUID.
    known_duplicates: BTreeMap<PortRef, NodeGuid>,
    has_read_unreached_ports: bool,
    /// Ports of hosts with a link that this sweep did not reach.
    links_elsewhere: Vec<PortRef>,
    /// The subnet of an earlier run, in the first sweeps.
    last_snapshot: Option<Arc<Snapshot>>,
    budget: Budget,
    unresponsive: UnresponsiveDevices,
}

/// Whether two NodeInfos can be of the same device. The ports of a switch may have been split or
/// joined.
fn is_same_device(a: &NodeInfo, b: &NodeInfo) -> bool {
    (a.node_type, a.device_id, a.vendor_id) == (b.node_type, b.device_id, b.vendor_id)
}

/// Whether two NodeInfos can be of the same node.
fn is_same_node(a: &NodeInfo, b: &NodeInfo) -> bool {
    is_same_device(a, b) && a.num_ports == b.num_ports
}

impl Discovery {
    /// The discovery of a sweep that begins.
    pub(crate) fn new(
        kind: SweepKind,
        budget: Budget,
        last_snapshot: Option<Arc<Snapshot>>,
    ) -> Self {
        Self {
            kind,
            neighbours: BTreeMap::new(),
            conflicts: BTreeMap::new(),
            contested: Vec::new(),
            added: BTreeSet::new(),
            has_unscanned_nodes: false,
            unverified: BTreeSet::new(),
            far_ends: BTreeSet::new(),
            changed_switches: BTreeSet::new(),
            explained_changes: BTreeSet::new(),
            armed_ports: Vec::new(),
            known_duplicates: BTreeMap::new(),
            has_read_unreached_ports: false,
            links_elsewhere: Vec::new(),
            last_snapshot,
            budget,
            unresponsive: UnresponsiveDevices::default(),
        }
    }

    fn is_local(&self) -> bool {
        self.kind == SweepKind::Local
    }

    /// Whether this sweep has queried the node behind a port.
    pub(crate) fn has_queried(&self, p: PortRef) -> bool {
        self.neighbours.contains_key(&p)
    }

    /// Whether nodes have been added since the last SMInfo scan: another SM may have configured
    /// them.
    pub(crate) const fn has_unscanned_nodes(&self) -> bool {
        self.has_unscanned_nodes
    }

    /// An SMInfo scan begins.
    pub(crate) const fn begin_sm_scan(&mut self) {
        self.has_unscanned_nodes = false;
    }

    /// A NodeInfo response; `from` is the port that the node is behind. `had_lid`: the node is not
    /// in the subnet, but had a LID before.
    pub(crate) fn on_node_info(
        &mut self,
        ctx: &mut Ctx<'_>,
        from: Option<PortRef>,
        status: Status,
        data: &[u8; 64],
        had_lid: bool,
    ) {
        let info = NodeInfo::decode(data);
        let implausible = if status.is_ok() {
            plausible::implausible_node_info(&info)
        } else {
            Some("error status to NodeInfo")
        };
        if let Some(why) = implausible {
            let Some(from) = from else {
                let reason = NoLinkReason::LocalNodeImplausible(why);
                return ctx
                    .effects
                    .push(Effect::LocalNodeUnusable(Box::new(reason)));
            };
            ctx.effects.push(Effect::InvalidResponse);
            let why = ExclusionReason::Implausible(why);
            return on_no_neighbour(ctx, from, why, Some(self.kind));
        }
        if let Some(from) = from
            && !self.is_local()
            && (has_unreached_owner(ctx.fabric, from, &info)
                || self.was_elsewhere(ctx.fabric, from, &info))
        {
            return self.contested.push((from, info));
        }
        self.locate(ctx, from, &info, had_lid);
    }

    /// Takes a contested NodeInfo, and the port that it was received over. Call it when all
    /// responses of discovery are in: a known node that has not been reached by then is gone.
    /// Switches come first, because known nodes may be behind them.
    pub(crate) fn take_contested(&mut self) -> Option<(PortRef, NodeInfo)> {
        let is_switch = |(_, info): &(_, NodeInfo)| info.node_type == NodeType::Switch;
        let next = self.contested.iter().position(is_switch).unwrap_or(0);
        (next < self.contested.len()).then(|| self.contested.remove(next))
    }

    /// Locates a node at the other end of the link of `from`.
    pub(crate) fn locate(
        &mut self,
        ctx: &mut Ctx<'_>,
        from: Option<PortRef>,
        info: &NodeInfo,
        had_lid: bool,
    ) {
        let Some(path) = from.map_or(Some(DrPath::LOCAL), |p| {
            route::shortest(ctx.fabric, p).and_then(|path| path.extend(p.port))
        }) else {
            return;
        };
        let Some(idx) = self.visit(ctx, from, info, path, had_lid) else {
            return;
        };
        let to = PortRef::new(idx, info.local_port_num);
        let moved = from.filter(|from| self.has_moved(ctx.fabric, *from, to));
        if let Some(from) = moved.filter(|_| self.is_local()) {
            return ctx.effects.push(Effect::LinkMoved(from));
        }
        match from {
            None => {
                let port = if info.node_type == NodeType::Switch {
                    PortNum::ZERO
                } else {
                    info.local_port_num
                };
                ctx.fabric.set_local(PortRef::new(idx, port));
            }
            Some(from) => {
                self.neighbours.insert(from, to);
                self.on_neighbour(ctx, from, to, info.port_guid);
            }
        }
        // A node at a conflicting link may be another one than the known node.
        let conflicts = from.is_some_and(|from| self.conflicts.contains_key(&(from, to)));
        if info.node_type != NodeType::Switch && !(self.is_local() && conflicts) {
            self.visit_end_port(ctx, to, info.port_guid);
        }
        ctx.effects.extend(moved.map(Effect::LinkMoved));
    }

    /// Removes what a sweep did not find, after link conflicts are resolved, and recomputes DR
    /// paths. Call it when all responses of discovery are in.
    pub(crate) fn remove_absent(&mut self, ctx: &mut Ctx<'_>) {
        self.judge_unresponsive(ctx);
        self.forget_unexplained(ctx);
        self.resolve_conflicts(ctx);
        self.prefer_active_ports(ctx);
        if !self.is_local() {
            self.check_both_ends(ctx);
            let nodes = ctx.fabric.nodes();
            let absent: Vec<NodeIdx> = nodes
                .filter(|(_, n)| n.seen != ctx.fabric.full_sweep_number())
                .map(|(i, _)| i)
                .collect();
            remove_unreachable_nodes(ctx, &absent);
        }
        let unreachable = ctx.fabric.refresh_paths(ctx.now);
        remove_unreachable_nodes(ctx, &unreachable);
        self.judge_unread(ctx);
        remove_unlinked_end_ports(ctx);
        if !self.is_local() {
            self.report_links_elsewhere(ctx);
            reread_unreached_end_ports(ctx);
        }
    }

    /// The node that responded, added if it is new; `None` if another node of this sweep has its
    /// GUID.
    fn visit(
        &mut self,
        ctx: &mut Ctx<'_>,
        from: Option<PortRef>,
        info: &NodeInfo,
        path: DrPath,
        had_lid: bool,
    ) -> Option<NodeIdx> {
        let this_sweep = ctx.fabric.full_sweep_number();
        if let Some(idx) = ctx.fabric.node_by_guid(info.node_guid) {
            let node = ctx.fabric.get_mut(idx)?;
            if node.seen == this_sweep {
                if is_same_node(&node.info, info) {
                    return Some(idx);
                }
                if self.is_local() && self.has_new_ports(&node.info, from, info) {
                    ctx.effects.push(Effect::RequestFullSweep);
                    return None;
                }
                // A switch has precedence over a CA with its GUID, because more is attached to it,
                // except over one that was in use before.
                let switch_came_second = self.added.contains(&idx)
                    && !node.is_switch()
                    && info.node_type == NodeType::Switch;
                let is_own = ctx.fabric.local().is_some_and(|l| l.node == idx);
                let reason = ExclusionReason::DuplicateNodeGuid(info.node_guid);
                if !switch_came_second || is_own {
                    if let Some(from) = from {
                        exclude_port(ctx, from, reason);
                    }
                    return None;
                }
                exclude_node(ctx, idx, reason);
                return self.add_if_admitted(ctx, from, info, path, had_lid);
            }
            if self.is_local() || is_same_node(&node.info, info) {
                node.seen = this_sweep;
                node.path = path;
                node.info = *info;
                read_node(ctx, idx);
                return Some(idx);
            }
            // Since the last sweep another node has taken the GUID.
            remove_node(ctx, idx, NodeRemovalReason::Replaced);
        }
        self.add_if_admitted(ctx, from, info, path, had_lid)
    }

    /// Whether the ports of a switch were split or joined since the last full sweep, which the next
    /// one adopts; unless that one found that two devices have its GUID.
    fn has_new_ports(&self, known: &NodeInfo, from: Option<PortRef>, info: &NodeInfo) -> bool {
        let guid = from.and_then(|from| self.known_duplicates.get(&from));
        is_same_device(known, info) && guid != Some(&info.node_guid)
    }

    fn add_if_admitted(
        &mut self,
        ctx: &mut Ctx<'_>,
        from: Option<PortRef>,
        info: &NodeInfo,
        path: DrPath,
        had_lid: bool,
    ) -> Option<NodeIdx> {
        let Some(from) = from else {
            return Some(self.add_node(ctx, info, path));
        };
        if !self.admits(ctx, from, info, had_lid) {
            return None;
        }
        let idx = self.add_node(ctx, info, path);
        self.record_new_node(ctx.fabric, idx, from, had_lid);
        Some(idx)
    }

    fn add_node(&mut self, ctx: &mut Ctx<'_>, info: &NodeInfo, path: DrPath) -> NodeIdx {
        let mut node = Node::new(*info, path);
        node.seen = ctx.fabric.full_sweep_number();
        let idx = ctx.fabric.add_node(node);
        self.added.insert(idx);
        self.has_unscanned_nodes = true;
        ctx.effects.push(Effect::RoutesOutdated);
        ctx.effects.push(Effect::NodeAdded(idx));
        read_node(ctx, idx);
        idx
    }

    fn visit_end_port(&self, ctx: &mut Ctx<'_>, at: PortRef, guid: PortGuid) {
        let this_sweep = ctx.fabric.full_sweep_number();
        let Some(port) = ctx.fabric.port_mut(at) else {
            return;
        };
        if port.seen == this_sweep && !self.is_local() {
            return;
        }
        set_port_guid(ctx, at, guid);
        ctx.smps.enqueue(SmpOp::PortInfo(at));
    }
}

fn read_node(ctx: &mut Ctx<'_>, idx: NodeIdx) {
    let Some(node) = ctx.fabric.get(idx) else {
        return;
    };
    let (is_switch, guid) = (node.is_switch(), node.info.port_guid);
    ctx.smps.enqueue(SmpOp::NodeDescription(idx));
    if is_switch {
        let at = PortRef::new(idx, PortNum::ZERO);
        if let Some(port) = ctx.fabric.port_mut(at) {
            port.guid = guid;
        }
        index_port(ctx, at, guid);
        ctx.smps.enqueue(SmpOp::SwitchInfo(idx));
    }
}

/// A NodeInfo query timed out. `scope` is that of the sweep, if one runs.
pub(crate) fn on_node_info_failed(
    ctx: &mut Ctx<'_>,
    from: Option<PortRef>,
    scope: Option<SweepKind>,
) {
    match from {
        Some(from) => on_no_neighbour(ctx, from, ExclusionReason::NoResponse, scope),
        None => {
            let reason = NoLinkReason::LocalNodeSilent;
            ctx.effects
                .push(Effect::LocalNodeUnusable(Box::new(reason)));
        }
    }
}

/// A NodeInfo query timed out, or its response was implausible. A local sweep preserves an active
/// link: the agent may hang while the node forwards. The problem is located at that node.
fn on_no_neighbour(
    ctx: &mut Ctx<'_>,
    from: PortRef,
    reason: ExclusionReason,
    scope: Option<SweepKind>,
) {
    let is_local = scope == Some(SweepKind::Local);
    let peer = ctx.fabric.peer(from).filter(|_| is_local);
    match (ctx.fabric.port_mut(from), peer) {
        (Some(port), Some(peer)) if port.state() == PortState::Active => {
            port.peer_unverified = true;
            ctx.effects.push(Effect::RereadPortLater(from));
            let attr = id::NODE_INFO;
            let device = ctx.fabric.owner(peer);
            ctx.effects
                .problem(device, ProblemKind::NoResponse { attr });
        }
        _ => exclude_port(ctx, from, reason),
    }
}

/// A switch was read. `top` is the LinearFDBTop that this SM writes.
pub(crate) fn on_switch_info(
    ctx: &mut Ctx<'_>,
    n: NodeIdx,
    outcome: &SmpOutcome,
    top: Lid,
    mode: ReadMode,
) {
    let read = outcome.data().map(|data| (data, SwitchInfo::decode(data)));
    let Some((data, info)) = read else {
        on_switch_info_failed(ctx, n, mode);
        return;
    };
    let Some(node) = ctx.fabric.get_mut(n) else {
        return;
    };
    let caps = node.table_caps();
    let has_shrunk = node.store_switch_info(data, mode.activity.follows_all_responses());
    if core::mem::take(&mut node.is_unresponsive) {
        ctx.effects.push(Effect::SwitchResponds);
    }
    if has_shrunk {
        ctx.effects.push(Effect::RequestFullSweep);
    }
    if node.table_caps() != caps {
        ctx.effects.push(Effect::RoutesOutdated);
    }
    let has_lft_top = info.linear_fdb_top != 0;
    let had_lft_top = core::mem::replace(&mut node.had_lft_top, has_lft_top);
    let has_restarted = had_lft_top && !has_lft_top;
    if has_restarted {
        ctx.effects.push(Effect::SwitchRestarted(n));
    }
    // A switch that lost LinearFDBTop rebooted and lost its tables, also those that it rejected in
    // part before.
    if has_restarted || (node.lft.installed.is_some() && info.linear_fdb_top != node.lft_top(top).0)
    {
        node.forget_tables();
        ctx.effects.push(Effect::RoutesOutdated);
    }
    if mode.activity == ActivityKind::LightSweep {
        let is_unwritten = node.table_caps().lft > 0 && node.lft.installed.is_none();
        if info.port_state_change || is_unwritten {
            ctx.effects.push(Effect::RereadSwitch(n));
        }
        return;
    }
    if plausible::has_invalid_lft_top(&info) {
        let kind = ProblemKind::LftTopTooHigh {
            top: info.linear_fdb_top,
            entries: info.linear_fdb_cap,
        };
        ctx.effects.problem(PortRef::new(n, PortNum::ZERO), kind);
    }
    if info.port_state_change && mode.is_master {
        ctx.smps.enqueue(SmpOp::ClearPortStateChange(n));
        return;
    }
    read_ports(ctx, n);
    if info.port_state_change {
        ctx.effects.push(Effect::SwitchUncleared(n));
    }
}

/// A switch cannot be read. A full sweep cannot use a new one, and decides about a known one when
/// all responses are in. Otherwise its neighbours are read for the state of their links.
fn on_switch_info_failed(ctx: &mut Ctx<'_>, n: NodeIdx, mode: ReadMode) {
    let port0 = PortRef::new(n, PortNum::ZERO);
    let attr = id::SWITCH_INFO;
    ctx.effects.problem(port0, ProblemKind::NoResponse { attr });
    let known = ctx.fabric.get(n);
    let was_read = known.is_some_and(|node| node.switch_raw.is_some());
    let may_stay = mode.keeps_unresponsive && was_read;
    if mode.activity.follows_all_responses() && !may_stay {
        exclude_node(ctx, n, ExclusionReason::NoResponse);
        return;
    }
    if mode.activity.follows_responses() {
        ctx.effects.push(Effect::SwitchUnread(n));
    }
    if mode.activity.is_full_discovery() {
        mark_unresponsive(ctx, n);
        ctx.effects.push(Effect::RereadSwitchLater(n));
        return;
    }
    let fabric = &*ctx.fabric;
    let Some(node) = fabric.get(n) else {
        return;
    };
    ctx.effects.push(Effect::RereadSwitchLater(n));
    let peers = node
        .physical_ports()
        .filter_map(|p| fabric.peer(PortRef::new(n, p)));
    for peer in peers.filter(|p| p.node != n) {
        // The SM's own link may lead elsewhere by now.
        let is_own = fabric.local() == Some(peer);
        if is_own || fabric.get(peer.node).is_some_and(Node::is_switch) {
            if mode.activity.follows_responses() {
                ctx.smps.enqueue(SmpOp::PortInfo(peer));
            } else {
                ctx.effects.push(Effect::RereadPort(peer));
            }
        }
    }
}

/// A NodeDescription was read. If it cannot be, the next light sweep reads it again.
pub(crate) fn on_description(ctx: &mut Ctx<'_>, n: NodeIdx, outcome: &SmpOutcome) {
    if let Some((data, node)) = outcome.data().zip(ctx.fabric.get_mut(n)) {
        node.description = NodeDescription::decode(data);
        node.is_description_current = true;
    }
}

/// PortStateChange was cleared: the ports are read now. A full sweep also reads them if the Set was
/// not answered, because the switch has answered a Get.
pub(crate) fn on_port_state_change_cleared(
    ctx: &mut Ctx<'_>,
    n: NodeIdx,
    outcome: &SmpOutcome,
    mode: ReadMode,
) {
    let is_unanswered = matches!(outcome, SmpOutcome::Unanswered);
    if is_unanswered && !mode.activity.follows_all_responses() {
        on_switch_info_failed(ctx, n, mode);
        return;
    }
    if is_unanswered {
        let port0 = PortRef::new(n, PortNum::ZERO);
        let attr = id::SWITCH_INFO;
        ctx.effects.problem(port0, ProblemKind::NoResponse { attr });
    }
    if let Some((data, node)) = outcome.data().zip(ctx.fabric.get_mut(n)) {
        let has_shrunk = node.store_switch_info(data, false);
        if has_shrunk {
            ctx.effects.push(Effect::RequestFullSweep);
        }
    }
    if mode.activity.follows_responses() {
        read_ports(ctx, n);
    }
    if is_unanswered {
        ctx.effects.push(Effect::SwitchUncleared(n));
    }
}

fn read_ports(ctx: &mut Ctx<'_>, n: NodeIdx) {
    let Some(node) = ctx.fabric.get(n) else {
        return;
    };
    let ports = node.physical_ports();
    for p in core::iter::once(PortNum::ZERO).chain(ports) {
        ctx.smps.enqueue(SmpOp::PortInfo(PortRef::new(n, p)));
    }
}

/// Schedules reads of ports that may have changed after they were read and before PortStateChange
/// of their switches, `uncleared`, was cleared; of each link, one end. Links armed since are also
/// queried again, because an exchanged cable leaves no trace in their state.
pub(crate) fn reread_uncleared(ctx: &mut Ctx<'_>, uncleared: &BTreeSet<NodeIdx>) {
    let fabric = &*ctx.fabric;
    for n in uncleared {
        let Some(node) = fabric.get(*n) else {
            continue;
        };
        let ports = node.physical_ports().map(|p| PortRef::new(*n, p));
        // The other end is read if it comes first and no later PortStateChange reports its changes.
        let is_read_elsewhere = |p: PortRef| {
            let peer = fabric.peer(p).filter(|peer| *peer < p);
            peer.is_some_and(|peer| uncleared.contains(&peer.node))
                && port_settings::can_carry_traffic(fabric, p)
        };
        let first_ends = ports.filter(|p| !is_read_elsewhere(*p)).collect();
        ctx.effects.push(Effect::RereadPortsLater(first_ends));
    }
}

/// A CA or router port without a link is no end port of the fabric.
fn remove_unlinked_end_ports(ctx: &mut Ctx<'_>) {
    let fabric = &mut *ctx.fabric;
    let local = fabric.local();
    let is_unlinked =
        |p: &PortRef| p.port != PortNum::ZERO && Some(*p) != local && fabric.peer(*p).is_none();
    let unlinked: Vec<PortRef> = fabric.end_ports().filter(is_unlinked).collect();
    for p in unlinked {
        ctx.effects.push(Effect::RoutesOutdated);
        if let Some(node) = fabric.get_mut(p.node) {
            // It may be reset before its link is back.
            node.rejections.retry_soon();
            node.forget_port_tables(p.port);
            if let Some(port) = node.ports.get_mut(p.port.index()) {
                port.known = false;
                port.guid = PortGuid(0);
            }
        }
    }
}

/// Schedules reads of linked CA and router ports that a full sweep did not reach, because the
/// switch port that they are attached to could not be read. Their node was reached over another
/// port, and nothing else reads them: their link is not reported as changed.
fn reread_unreached_end_ports(ctx: &mut Ctx<'_>) {
    let fabric = &*ctx.fabric;
    let this_sweep = fabric.full_sweep_number();
    let hosts = fabric.nodes().filter(|(_, node)| !node.is_switch());
    let unreached = hosts.flat_map(|(idx, node)| {
        let ports = node.physical_ports().map(move |p| PortRef::new(idx, p));
        ports.filter(move |p| {
            let port = fabric.port(*p);
            port.is_some_and(|port| port.seen != this_sweep) && fabric.peer(*p).is_some()
        })
    });
    let ports = unreached.collect();
    ctx.effects.push(Effect::RereadPortsLater(ports));
}
