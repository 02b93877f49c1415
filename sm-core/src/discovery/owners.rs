//! Which node and port owns a GUID that several report.
//!
//! A node or port that was in use before retains its GUID, whichever a sweep reaches first; after a
//! restart, a switch that is at its place in the restored view. If none was known before, the one
//! with an Active port owns the GUID; otherwise the first.

use ferrosm_fabric::observed::{ExclusionReason, Node, NodeIdx, ObservedFabric, PortRef};
use ferrosm_mad::attr::{NodeInfo, NodeType, PortState};
use ferrosm_mad::ids::{PortGuid, PortNum};

use super::Discovery;
use crate::ctx::Ctx;
use crate::effect::Effect;

impl Discovery {
    /// Whether the GUID of a switch that this sweep has not reached yet belonged to one at another
    /// place in the subnet of an earlier run.
    pub(super) fn was_elsewhere(
        &self,
        fabric: &ObservedFabric,
        from: PortRef,
        info: &NodeInfo,
    ) -> bool {
        let Some(view) = &self.last_snapshot else {
            return false;
        };
        let is_new_switch =
            info.node_type == NodeType::Switch && fabric.node_by_guid(info.node_guid).is_none();
        let known = view.by_node_guid(info.node_guid);
        let Some(known) = known.filter(|n| is_new_switch && view.is_switch(*n)) else {
            return false;
        };
        let before = view
            .port_by_num(known, info.local_port_num)
            .and_then(|at| view.peer(at));
        let here = fabric
            .get(from.node)
            .and_then(|node| view.by_node_guid(node.info.node_guid))
            .and_then(|node| view.port_by_num(node, from.port));
        before.is_none() || before != here
    }

    /// Of two ports with one GUID that were not known before the sweep, an Active one is preferred:
    /// an SM has configured it.
    pub(super) fn prefer_active_ports(&self, ctx: &mut Ctx<'_>) {
        let fabric = &mut *ctx.fabric;
        let active = |fabric: &ObservedFabric, p: PortRef| {
            fabric
                .port(p)
                .is_some_and(|port| port.state() == PortState::Active)
        };
        for n in &self.added {
            let Some(node) = fabric.get(*n).filter(|node| !node.is_switch()) else {
                continue;
            };
            for at in node.physical_ports().map(|p| PortRef::new(*n, p)) {
                let why = fabric.port(at).and_then(|port| port.exclusion.as_deref());
                let Some(ExclusionReason::DuplicatePortGuid(guid)) = why else {
                    continue;
                };
                let guid = *guid;
                let owner = fabric.port_by_guid(guid).filter(|owner| {
                    self.added.contains(&owner.node)
                        && fabric.local() != Some(*owner)
                        && !fabric.get(owner.node).is_some_and(Node::is_switch)
                });
                let Some(owner) = owner else { continue };
                if active(fabric, at) && !active(fabric, owner) {
                    fabric.index_port_guid(guid, at);
                    for (p, loses) in [(at, false), (owner, true)] {
                        if let Some(port) = fabric.port_mut(p) {
                            let why = ExclusionReason::DuplicatePortGuid(guid);
                            port.exclusion = loses.then(|| Box::new(why));
                        }
                    }
                    ctx.effects.push(Effect::RoutesOutdated);
                }
            }
        }
    }
}

/// Records that the sweep reached a CA or router port and that it reports this GUID.
pub(super) fn set_port_guid(ctx: &mut Ctx<'_>, at: PortRef, guid: PortGuid) {
    let this_sweep = ctx.fabric.full_sweep_number();
    let Some(port) = ctx.fabric.port_mut(at) else {
        return;
    };
    port.seen = this_sweep;
    if port.guid != guid {
        port.guid = guid;
        ctx.effects.push(Effect::RoutesOutdated);
    }
    index_port(ctx, at, guid);
}

/// Whether a sweep has reached an end port.
fn is_reached(fabric: &ObservedFabric, p: PortRef) -> bool {
    let this_sweep = fabric.full_sweep_number();
    fabric.get(p.node).is_some_and(|node| {
        let port = node.ports.get(p.port.index());
        node.seen == this_sweep
            && (node.is_switch() || port.is_some_and(|port| port.seen == this_sweep))
    })
}

/// Whether the node GUID or port GUID in a NodeInfo received over `from` belongs to a known node
/// that was attached to another port before this sweep and that this sweep has not reached yet. If
/// that node is still attached there, the node behind `from` has a duplicate GUID.
pub(super) fn has_unreached_owner(fabric: &ObservedFabric, from: PortRef, info: &NodeInfo) -> bool {
    let is_elsewhere = |p: PortRef| fabric.peer(p).is_some_and(|peer| peer != from);
    let is_unreached = |n: NodeIdx| {
        let is_here = fabric.peer(PortRef::new(n, info.local_port_num)) == Some(from);
        fabric.get(n).is_some_and(|node| {
            let mut ports = node.physical_ports().map(|p| PortRef::new(n, p));
            node.seen != fabric.full_sweep_number() && !is_here && ports.any(is_elsewhere)
        })
    };
    let owner = fabric.port_by_guid(info.port_guid);
    let nodes = [fabric.node_by_guid(info.node_guid), owner.map(|p| p.node)];
    nodes.into_iter().flatten().any(is_unreached)
        || owner.is_some_and(|p| !is_reached(fabric, p) && is_elsewhere(p))
}

/// Indexes a port GUID, or excludes the port if another port of this sweep has it.
pub(super) fn index_port(ctx: &mut Ctx<'_>, at: PortRef, guid: PortGuid) {
    let fabric = &mut *ctx.fabric;
    let is_current =
        |p: PortRef| fabric.port(p).is_some_and(|port| port.guid == guid) && is_reached(fabric, p);
    let owner = fabric.port_by_guid(guid).filter(|owner| *owner != at);
    let is_duplicate = owner.is_some_and(is_current);
    if let Some(port) = fabric.port_mut(at) {
        let why = ExclusionReason::DuplicatePortGuid(guid);
        port.exclusion = is_duplicate.then(|| Box::new(why));
    }
    if !is_duplicate {
        fabric.index_port_guid(guid, at);
    }
}

/// The port that owns the GUID of a device which is excluded as its duplicate: of a node GUID, a
/// port of the owner.
pub(super) fn duplicate_owner(fabric: &ObservedFabric, reason: ExclusionReason) -> Option<PortRef> {
    match reason {
        ExclusionReason::DuplicatePortGuid(guid) => fabric.port_by_guid(guid),
        ExclusionReason::DuplicateNodeGuid(guid) => {
            fabric.node_by_guid(guid).map(|n| linked_port(fabric, n))
        }
        ExclusionReason::Implausible(_)
        | ExclusionReason::NoResponse
        | ExclusionReason::PathTooLong
        | ExclusionReason::Uncounted(_)
        | ExclusionReason::TooManySwitchPorts(_)
        | ExclusionReason::EndlessSwitches(_)
        | ExclusionReason::SubnetFull => None,
    }
}

/// The first port of a CA or router that has a link; port 0 of a switch.
fn linked_port(fabric: &ObservedFabric, n: NodeIdx) -> PortRef {
    let node = fabric.get(n).filter(|node| !node.is_switch());
    let mut ports = node.into_iter().flat_map(Node::physical_ports);
    let linked = ports.find(|p| fabric.peer(PortRef::new(n, *p)).is_some());
    PortRef::new(n, linked.unwrap_or(PortNum::ZERO))
}
