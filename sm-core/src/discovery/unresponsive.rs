//! Devices that a full sweep knows and that do not respond.
//!
//! The agent of a switch may hang while the switch forwards. Such a device stays in the fabric,
//! with the tables that this SM wrote, while its link to a port that was read is Armed or Active.
//! Nodes behind it are queried through it: directed routes may still pass. Those that do not
//! respond either stay as well, because nothing shows that they are gone. Local and light sweeps
//! treat devices that do not respond in the same way.
//!
//! The first sweep of a new master restores such a device from the snapshot of the last master,
//! with its LFT, if the port in front of it is Armed or Active, and its node has been configured by
//! no other SM since. A switch without a known LFT is excluded: no route through it could be
//! proven.

use std::collections::BTreeSet;

use ferrosm_fabric::observed::{ExclusionReason, Node, NodeIdx, ObservedFabric, Port, PortRef};
use ferrosm_fabric::snapshot::PortIdx;
use ferrosm_mad::attr::{PortState, id};
use ferrosm_mad::ids::{Lid, PortGuid, PortNum};
use ferrosm_mad::smp::DrPath;

use super::Discovery;
use super::owners::index_port;
use crate::ctx::Ctx;
use crate::discovery::exclusion::{discard_node, exclude_node, exclude_port};
use crate::effect::Effect;
use crate::report::ProblemKind;
use crate::smp::op::SmpOp;
use crate::smp::route;

/// Most queries at a time through switches that do not respond, and most of them without a
/// response in one sweep. If the switches do not pass on directed routes, what is behind them stays
/// without a query.
const QUERIES_MAX: usize = 64;

/// What a full sweep does with devices that do not respond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum UnresponsivePolicy {
    /// They are excluded from the subnet.
    #[default]
    Exclude,
    /// Those that this SM knows stay in the subnet while their links are up.
    Keep,
    /// Those that the last master had in the subnet stay while their links are up.
    Restore,
}

/// Devices that did not respond in the sweep.
#[derive(Debug, Default)]
pub(super) struct UnresponsiveDevices {
    policy: UnresponsivePolicy,
    /// Ports whose NodeInfo query had no response, and that are not judged yet.
    unanswered: Vec<PortRef>,
    /// Known switches whose SwitchInfo had no response and that are not judged yet, with the path
    /// that was used.
    unread: Vec<(NodeIdx, DrPath)>,
    /// Nodes that stay although they do not respond.
    kept: BTreeSet<NodeIdx>,
    /// Those of them that were restored.
    restored: BTreeSet<NodeIdx>,
    /// Ports of switches that were not read, whose neighbour was queried.
    followed: BTreeSet<PortRef>,
    /// Queries through kept switches without a response.
    unanswered_behind: usize,
}

impl Discovery {
    /// The discovery of a sweep with this policy.
    pub(crate) const fn with_policy(mut self, policy: UnresponsivePolicy) -> Self {
        self.unresponsive.policy = policy;
        self
    }

    /// Whether a full sweep preserves known devices that do not respond.
    pub(crate) fn keeps_unresponsive(&self) -> bool {
        !self.is_local() && self.unresponsive.policy == UnresponsivePolicy::Keep
    }

    /// The NodeInfo query out of a port had no response. Returns whether the device behind it may
    /// stay; [`Self::keep_unresponsive`] decides when all other responses are in.
    pub(crate) fn on_unanswered(&mut self, fabric: &ObservedFabric, from: PortRef) -> bool {
        let may_stay = match self.unresponsive.policy {
            UnresponsivePolicy::Exclude => false,
            UnresponsivePolicy::Keep => fabric.peer(from).is_some() && is_up(fabric, from),
            UnresponsivePolicy::Restore => self.restorable(fabric, from).is_some(),
        };
        if may_stay {
            self.unresponsive.unanswered.push(from);
        }
        may_stay
    }

    /// A known switch did not respond to the reads of its SwitchInfo.
    pub(crate) fn on_unread_switch(&mut self, fabric: &ObservedFabric, n: NodeIdx) {
        let path = fabric.get(n).map(|node| node.path);
        self.unresponsive.unread.extend(path.map(|path| (n, path)));
    }

    /// All other responses are in: decides which of the devices that did not respond stay, and
    /// queries the nodes that are behind them.
    pub(crate) fn keep_unresponsive(&mut self, ctx: &mut Ctx<'_>) {
        self.judge_unresponsive(ctx);
        if !self.is_local() && self.unresponsive.policy != UnresponsivePolicy::Exclude {
            self.follow_unread_ports(ctx);
        }
    }

    /// Decides which of the devices that did not respond stay.
    pub(super) fn judge_unresponsive(&mut self, ctx: &mut Ctx<'_>) {
        if !self.is_local() {
            for (n, _) in core::mem::take(&mut self.unresponsive.unread) {
                if !self.is_attached(ctx.fabric, n) {
                    exclude_node(ctx, n, ExclusionReason::NoResponse);
                }
            }
        }
        for from in core::mem::take(&mut self.unresponsive.unanswered) {
            let to = match self.unresponsive.policy {
                UnresponsivePolicy::Restore => self.restore(ctx, from),
                UnresponsivePolicy::Keep | UnresponsivePolicy::Exclude => ctx.fabric.peer(from),
            };
            let Some(to) = to else {
                if self.unresponsive.policy == UnresponsivePolicy::Restore {
                    exclude_port(ctx, from, ExclusionReason::NoResponse);
                }
                continue;
            };
            // The node of the link was found elsewhere.
            let has_moved = self.conflicts.keys().any(|(_, seen)| seen.node == to.node);
            if has_moved || !is_up(ctx.fabric, from) {
                exclude_port(ctx, from, ExclusionReason::NoResponse);
                continue;
            }
            if let Some(port) = ctx.fabric.port_mut(from) {
                port.peer_unverified = true;
            }
            if self.unresponsive.kept.contains(&from.node) {
                // The switch in front of it is at fault, and is read again.
                self.unresponsive.unanswered_behind += 1;
            } else {
                ctx.effects.push(Effect::RereadPortLater(from));
                let device = ctx.fabric.owner(to);
                let attr = id::NODE_INFO;
                ctx.effects
                    .problem(device, ProblemKind::NoResponse { attr });
            }
            self.keep(ctx, from, to);
        }
    }

    /// The paths are recomputed with the links that the sweep found: a switch that did not respond
    /// over the same path keeps its LFT. One with another path is read again by a later sweep,
    /// because a lost link was in between.
    pub(super) fn judge_unread(&mut self, ctx: &mut Ctx<'_>) {
        for (n, path) in core::mem::take(&mut self.unresponsive.unread) {
            if ctx.fabric.get(n).is_some_and(|node| node.path == path) {
                mark_unresponsive(ctx, n);
            }
        }
    }

    /// The node at `to`, behind `from`, stays in the fabric, unless it was reached over another
    /// port.
    fn keep(&mut self, ctx: &mut Ctx<'_>, from: PortRef, to: PortRef) {
        let this_sweep = ctx.fabric.full_sweep_number();
        let path = route::shortest(ctx.fabric, from).and_then(|path| path.extend(from.port));
        let is_reached = |node: &Node| node.seen == this_sweep;
        if ctx.fabric.get(to.node).is_none_or(is_reached) {
            return;
        }
        let Some(path) = path else {
            return exclude_port(ctx, from, ExclusionReason::PathTooLong);
        };
        let Some(node) = ctx.fabric.get_mut(to.node) else {
            return;
        };
        node.seen = this_sweep;
        node.path = path;
        if node.is_switch() {
            mark_unresponsive(ctx, to.node);
        } else {
            for port in &mut node.ports {
                port.seen = this_sweep;
            }
        }
        self.unresponsive.kept.insert(to.node);
    }

    /// Queries known nodes that are only attached to ports which could not be read.
    fn follow_unread_ports(&mut self, ctx: &mut Ctx<'_>) {
        loop {
            let next = self.unread_ports(ctx.fabric);
            if next.is_empty() {
                return;
            }
            let may_query = self.unresponsive.unanswered_behind < QUERIES_MAX;
            for from in next {
                self.unresponsive.followed.insert(from);
                if may_query {
                    ctx.smps.enqueue(SmpOp::NodeInfo(Some(from)));
                } else if let Some(to) = ctx.fabric.peer(from).or_else(|| self.restore(ctx, from)) {
                    self.keep(ctx, from, to);
                }
            }
            if may_query {
                return;
            }
        }
    }

    /// Ports that were not read in this sweep, with a link to a node that it has not reached, or a
    /// link that is not restored yet.
    fn unread_ports(&self, fabric: &ObservedFabric) -> Vec<PortRef> {
        let this_sweep = fabric.full_sweep_number();
        let is_reached = |n: NodeIdx| fabric.get(n).is_some_and(|node| node.seen == this_sweep);
        let switches = fabric.switches().filter(|(n, _)| is_reached(*n));
        let ports = switches.flat_map(|(n, node)| {
            let ports = node.physical_ports();
            ports.map(move |port| PortRef::new(n, port))
        });
        let unread = ports.filter(|from| {
            let is_unread = fabric
                .port(*from)
                .is_some_and(|port| port.seen != this_sweep)
                && is_up(fabric, *from);
            let leads_on = match fabric.peer(*from) {
                Some(to) => !is_reached(to.node),
                None => self.far_end_before(fabric, *from).is_some(),
            };
            is_unread && leads_on && !self.unresponsive.followed.contains(from)
        });
        unread.take(QUERIES_MAX).collect()
    }

    /// The port that was behind a port in the snapshot of the last master, if a sweep restores
    /// devices.
    fn far_end_before(&self, fabric: &ObservedFabric, from: PortRef) -> Option<PortIdx> {
        let snapshot = self.last_snapshot.as_ref()?;
        let node = fabric.get(from.node)?;
        let slot = snapshot.by_node_guid(node.info.node_guid)?;
        let own_lid = fabric.local().map_or(Lid::NONE, |local| fabric.lid(local));
        let is_known = self.unresponsive.policy == UnresponsivePolicy::Restore
            && snapshot.is_as_configured(slot, node, own_lid);
        let at = snapshot.port_by_num(slot, from.port).filter(|_| is_known)?;
        snapshot.peer(at)
    }

    /// The port in the snapshot of the last master that was behind a port, if its node can be
    /// restored: the sweep has not found it, and the LFT of a switch is known.
    fn restorable(&self, fabric: &ObservedFabric, from: PortRef) -> Option<PortIdx> {
        let snapshot = self.last_snapshot.as_ref()?;
        let to = self.far_end_before(fabric, from)?;
        let before = snapshot.node(to.node());
        let this_sweep = fabric.full_sweep_number();
        let is_found = fabric.node_by_guid(before.guid).is_some_and(|n| {
            let is_reached = fabric.get(n).is_some_and(|node| node.seen == this_sweep);
            is_reached && !self.unresponsive.restored.contains(&n)
        });
        let has_tables = before.switch.as_ref().is_none_or(|s| s.lft.is_some());
        (is_up(fabric, from) && !is_found && has_tables).then_some(to)
    }

    /// Restores the node that was behind a port, and the link to it. Returns the port of the node.
    fn restore(&mut self, ctx: &mut Ctx<'_>, from: PortRef) -> Option<PortRef> {
        let at = self.restorable(ctx.fabric, from)?;
        let path = route::shortest(ctx.fabric, from).and_then(|path| path.extend(from.port))?;
        let snapshot = self.last_snapshot.clone()?;
        let known = ctx.fabric.node_by_guid(snapshot.node(at.node()).guid);
        let restored = known.filter(|n| self.unresponsive.restored.contains(n));
        let n = restored.unwrap_or_else(|| {
            // What a standby read of it is older.
            if let Some(known) = known {
                discard_node(ctx, known);
            }
            let n = self.insert_node(ctx, snapshot.observed_node(at.node(), path));
            self.unresponsive.restored.insert(n);
            n
        });
        let to = PortRef::new(n, at.num());
        if ctx.fabric.peer(to).is_none() {
            self.connect(ctx, from, to);
        }
        (ctx.fabric.peer(from) == Some(to)).then_some(to)
    }

    /// Adds a restored node, with its GUIDs.
    fn insert_node(&mut self, ctx: &mut Ctx<'_>, node: Node) -> NodeIdx {
        let guids: Vec<_> = (0..=u8::MAX)
            .map(PortNum)
            .zip(&node.ports)
            .filter(|(_, port)| port.guid != PortGuid(0))
            .map(|(num, port)| (num, port.guid))
            .collect();
        let n = ctx.fabric.add_node(node);
        for (num, guid) in guids {
            index_port(ctx, PortRef::new(n, num), guid);
        }
        self.added.insert(n);
        ctx.effects.push(Effect::RoutesOutdated);
        ctx.effects.push(Effect::NodeAdded(n));
        n
    }

    /// Whether a switch has a link that is Armed or Active at a port which was read in this sweep.
    fn is_attached(&self, fabric: &ObservedFabric, n: NodeIdx) -> bool {
        let this_sweep = fabric.full_sweep_number();
        let is_read = |p: PortRef| {
            let is_behind = self.unresponsive.kept.contains(&p.node);
            is_behind || fabric.port(p).is_some_and(|port| port.seen == this_sweep)
        };
        let ports = fabric.get(n).into_iter().flat_map(Node::physical_ports);
        let mut peers = ports.filter_map(|port| fabric.peer(PortRef::new(n, port)));
        peers.any(|peer| is_read(peer) && is_up(fabric, peer))
    }
}

/// A switch does not respond. It is routed with the LFT that it has.
pub(crate) fn mark_unresponsive(ctx: &mut Ctx<'_>, n: NodeIdx) {
    let is_marked = |node: &Node| node.is_unresponsive;
    if ctx.fabric.get(n).is_none_or(is_marked) {
        return;
    }
    if let Some(node) = ctx.fabric.get_mut(n) {
        node.is_unresponsive = true;
        ctx.effects.push(Effect::RoutesOutdated);
    }
}

/// Whether a port is Armed or Active: the device at the other end did not restart.
fn is_up(fabric: &ObservedFabric, p: PortRef) -> bool {
    let state = fabric.port(p).map(Port::state);
    state.is_some_and(|state| state >= PortState::Armed)
}
