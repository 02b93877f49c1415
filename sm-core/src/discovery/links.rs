//! Which port is linked to which, and conflicting reports.
//!
//! A NodeInfo response to a query out of a port reports the port at the other end of the link. If
//! two ports report the same far end, or the two ends of a link report different neighbours, a GUID
//! is used twice or a cable was moved during the sweep. Conflicts are resolved when all responses
//! are in.

use std::collections::BTreeSet;

use ferrosm_fabric::observed::{ExclusionReason, Node, ObservedFabric, Port, PortRef};
use ferrosm_mad::attr::PortState;
use ferrosm_mad::ids::PortGuid;

use super::Discovery;
use super::owners::set_port_guid;
use crate::ctx::Ctx;
use crate::discovery::exclusion::exclude_port;
use crate::effect::Effect;
use crate::report::ProblemKind;
use crate::smp::op::SmpOp;

/// Whether SMPs pass through a port: that of a switch, or the SM's own.
fn forwards(fabric: &ObservedFabric, p: PortRef) -> bool {
    fabric.local() == Some(p) || fabric.get(p.node).is_some_and(Node::is_switch)
}

impl Discovery {
    /// Whether `to`, which is behind `from`, shows that a link between switches, or the SM's own
    /// link, leads elsewhere than before.
    ///
    /// DR paths over the link then end at other nodes than was assumed, so values read or written
    /// over them belong to unknown nodes. It does not, if the known link of `to` is or will be
    /// verified in this sweep: then the node behind `from` has a duplicate GUID.
    pub(super) fn has_moved(&self, fabric: &ObservedFabric, from: PortRef, to: PortRef) -> bool {
        let elsewhere = |port_ref: PortRef, seen: PortRef| {
            let before = || fabric.port(port_ref).and_then(|port| port.last_peer);
            let known = fabric.peer(port_ref).or_else(before);
            let forwards = |p| forwards(fabric, p);
            forwards(port_ref) && known.is_some_and(|k| k != seen && forwards(k))
        };
        elsewhere(from, to) || (elsewhere(to, from) && !self.is_verified(fabric, from, to))
    }

    /// Whether the known link of `to` is verified in this sweep, although `from` reports `to` as
    /// well.
    fn is_verified(&self, fabric: &ObservedFabric, from: PortRef, to: PortRef) -> bool {
        let Some(other) = fabric.peer(to) else {
            return false;
        };
        if self.is_local() {
            // As a conflict of links.
            return fabric.local() == Some(to) || self.is_known_duplicate(fabric, from, to);
        }
        self.neighbours.get(&to) == Some(&other) || self.neighbours.get(&other) == Some(&to)
    }

    /// Whether an earlier sweep excluded the node behind `from`, because it has the node GUID of
    /// `to`.
    fn is_known_duplicate(&self, fabric: &ObservedFabric, from: PortRef, to: PortRef) -> bool {
        let guid = fabric.get(to.node).map(|node| node.info.node_guid);
        guid.is_some() && self.known_duplicates.get(&from).copied() == guid
    }

    /// `to` is behind `from`.
    pub(super) fn on_neighbour(
        &mut self,
        ctx: &mut Ctx<'_>,
        from: PortRef,
        to: PortRef,
        guid: PortGuid,
    ) {
        if ctx.fabric.peer(from) == Some(to) {
            // An active link is unchanged; one that came up again may have a rebooted switch behind
            // it.
            let port = ctx.fabric.port(from);
            let is_active = port.is_some_and(|p| p.state() == PortState::Active);
            if self.is_local() && !is_active {
                self.read_far_end(ctx, to);
            }
            return;
        }
        if let Some(old_peer) = ctx.fabric.peer(to).filter(|other| *other != from) {
            // A local sweep verifies the known link.
            if !self.is_local() && !self.is_known_duplicate(ctx.fabric, from, to) {
                ctx.effects.push(Effect::LinksContradict);
            }
            self.conflicts.insert((from, to), guid);
            if self.is_local() {
                self.verify_link(ctx, to, old_peer);
            }
            return;
        }
        self.connect(ctx, from, to);
        if self.is_local() {
            self.read_far_end(ctx, to);
        }
    }

    /// Another port reports `to` as its neighbour: the known link between `to` and `other` is
    /// queried again out of its switch port, because the cable may have moved, or the node behind
    /// the other port may use a GUID that is not its own.
    fn verify_link(&mut self, ctx: &mut Ctx<'_>, to: PortRef, other: PortRef) {
        let is_switch = |p: &PortRef| ctx.fabric.get(p.node).is_some_and(Node::is_switch);
        if let Some(end) = [other, to].into_iter().find(is_switch)
            && self.unverified.insert(end)
        {
            ctx.smps.enqueue(SmpOp::PortInfo(end));
        }
    }

    /// Reads the switch at the far end of a changed link, which may have lost its tables. Only once
    /// a sweep: two switches would cause reads of each other without end.
    fn read_far_end(&mut self, ctx: &mut Ctx<'_>, to: PortRef) {
        if ctx.fabric.get(to.node).is_some_and(Node::is_switch) && self.far_ends.insert(to.node) {
            ctx.smps.enqueue(SmpOp::SwitchInfo(to.node));
        }
    }

    /// Two ports report the same far end. The older link is preserved if it is still reported: the
    /// node behind the other port uses a GUID that is not its own. If only one port still reports
    /// the far end, the cable was moved. Of the links of a CA or router that was not known before
    /// the sweep, an Active one is preferred: an SM has configured it.
    pub(super) fn resolve_conflicts(&mut self, ctx: &mut Ctx<'_>) {
        for ((from, to), guid) in core::mem::take(&mut self.conflicts) {
            if self.neighbours.get(&from) != Some(&to) {
                ctx.effects.push(Effect::LinksContradict);
                continue;
            }
            match ctx.fabric.peer(to) {
                Some(other) if other != from => {
                    let far_end = self.neighbours.get(&to);
                    let other_reports = self.neighbours.get(&other) == Some(&to);
                    let is_active = |p| ctx.fabric.port(p).is_some_and(is_active);
                    let is_used = self.added.contains(&to.node)
                        && far_end.is_none()
                        && is_active(from)
                        && !is_active(other);
                    if far_end == Some(&from) || is_used {
                        if other_reports {
                            reject(ctx, other, to);
                        }
                        self.reconnect(ctx, from, to, guid);
                    } else if other_reports || far_end == Some(&other) {
                        reject(ctx, from, to);
                        continue;
                    } else if self.is_local() && forwards(ctx.fabric, to) {
                        // The link has moved.
                        ctx.effects.push(Effect::RequestFullSweep);
                    } else {
                        self.reconnect(ctx, from, to, guid);
                    }
                }
                Some(_) => {}
                None => self.reconnect(ctx, from, to, guid),
            }
            if self.is_local() {
                ctx.effects.push(Effect::LinksContradict);
            }
        }
    }

    /// A link between switches must be reported by both ends. If one end reports another neighbour,
    /// or is down, the node behind the other end uses a GUID that is not its own.
    pub(super) fn check_both_ends(&self, ctx: &mut Ctx<'_>) {
        let mut rejected = BTreeSet::new();
        for (from, to) in &self.neighbours {
            let (from, to) = (*from, *to);
            let Some(peer_port) = ctx.fabric.port(to) else {
                continue;
            };
            if !ctx.fabric.get(to.node).is_some_and(Node::is_switch) || !peer_port.known {
                continue;
            }
            let contradicts = match self.neighbours.get(&to) {
                Some(seen) => *seen != from,
                None => {
                    peer_port.state() == PortState::Down
                        && peer_port.seen == ctx.fabric.full_sweep_number()
                }
            };
            if contradicts && !rejected.contains(&to) {
                rejected.insert(from);
                reject(ctx, from, to);
                if let Some(real) = self.neighbours.get(&to).copied()
                    && ctx.fabric.peer(to).is_none()
                    && ctx.fabric.peer(real).is_none()
                {
                    self.connect(ctx, to, real);
                }
            }
        }
    }

    pub(super) fn connect(&self, ctx: &mut Ctx<'_>, from: PortRef, to: PortRef) {
        // A cable was moved so fast that neither end was seen down.
        for (end, new) in [(from, to), (to, from)] {
            if let Some(old) = ctx.fabric.peer(end).filter(|old| *old != new) {
                ctx.effects.push(Effect::LinkReplaced(end, old));
            }
        }
        ctx.fabric.connect(from, to);
        for port_ref in [from, to] {
            let is_switch = ctx.fabric.get(port_ref.node).is_some_and(Node::is_switch);
            if let Some(port) = ctx.fabric.port_mut(port_ref).filter(|_| is_switch) {
                port.exclusion = None;
                port.last_peer = None;
            }
        }
        ctx.effects.push(Effect::RoutesOutdated);
        // A full sweep finds DR paths together with the nodes; a local sweep may find a new path to
        // a known node.
        if self.is_local() {
            ctx.fabric.mark_paths_stale();
        }
        if from.node == to.node {
            ctx.effects.problem(from, ProblemKind::Loopback);
        }
        ctx.effects.push(Effect::LinkAdded(from, to));
    }

    /// Connects a link after a conflict. A CA or router port at its far end was read over the
    /// earlier link, so it is read again: another node may have responded.
    fn reconnect(&self, ctx: &mut Ctx<'_>, from: PortRef, to: PortRef, guid: PortGuid) {
        self.connect(ctx, from, to);
        if let Some(node) = ctx.fabric.get_mut(to.node).filter(|node| !node.is_switch()) {
            node.is_description_current = false;
            set_port_guid(ctx, to, guid);
            ctx.smps.enqueue(SmpOp::PortInfo(to));
        }
    }
}

fn is_active(port: &Port) -> bool {
    port.state() == PortState::Active
}

fn reject(ctx: &mut Ctx<'_>, from: PortRef, to: PortRef) {
    if let Some(guid) = ctx.fabric.get(to.node).map(|n| n.info.node_guid) {
        exclude_port(ctx, from, ExclusionReason::DuplicateNodeGuid(guid));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ferrosm_mad::attr::{NodeInfo, NodeType, PortInfo};
    use ferrosm_mad::ids::{NodeGuid, PortGuid, PortNum};
    use ferrosm_mad::smp::DrPath;

    use super::*;
    use crate::ctx::tests::TestContext;
    use crate::discovery::budget::{Budget, BudgetScope};
    use crate::report::SweepKind;

    fn add(
        fabric: &mut ObservedFabric,
        node_type: NodeType,
        guid: u64,
    ) -> ferrosm_fabric::observed::NodeIdx {
        let info = NodeInfo {
            node_type,
            num_ports: 2,
            node_guid: NodeGuid(guid),
            ..NodeInfo::default()
        };
        fabric.add_node(Node::new(info, DrPath::LOCAL))
    }

    fn set_state(fabric: &mut ObservedFabric, at: PortRef, state: PortState) {
        let info = PortInfo {
            port_state: state,
            ..PortInfo::default()
        };
        let port = fabric.port_mut(at).unwrap();
        port.known = true;
        port.raw = info.encode().into();
    }

    /// A host moved from port 1 to port 2 of a switch, and both ports are down by the end of the
    /// sweep: what was behind port 2 before is not connected.
    #[test]
    fn port_that_went_down_after_a_conflict_stays_unconnected() {
        let mut fabric = ObservedFabric::default();
        let switch = add(&mut fabric, NodeType::Switch, 1);
        let host = PortRef::new(add(&mut fabric, NodeType::Ca, 2), PortNum(1));
        let [old, new] = [1, 2].map(|port| PortRef::new(switch, PortNum(port)));
        for at in [old, new, host] {
            set_state(&mut fabric, at, PortState::Initialize);
        }
        fabric.set_local(PortRef::new(switch, PortNum::ZERO));
        fabric.connect(old, host);
        let mut test = TestContext::new(fabric);
        let ctx = &mut test.ctx();
        let mut discovery = Discovery::new(
            SweepKind::Local,
            Budget::new(BudgetScope::PerPort, 0, BTreeMap::new()),
            None,
        );
        discovery.neighbours.insert(new, host);
        discovery.on_neighbour(ctx, new, host, PortGuid(2));
        assert_eq!(
            ctx.fabric.peer(new),
            None,
            "the host is connected to port 1"
        );
        for at in [new, old] {
            set_state(ctx.fabric, at, PortState::Down);
            discovery.follow_external_port(ctx, at);
        }
        discovery.resolve_conflicts(ctx);
        assert_eq!([new, old].map(|at| ctx.fabric.peer(at)), [None, None]);
    }
}
