//! Exclusion: exclusion of nodes and ports from the fabric.

use ferrosm_fabric::observed::{
    ExclusionReason, Node, NodeIdx, NodeRemovalReason, ObservedFabric, PortRef,
};
use ferrosm_mad::ids::PortNum;

use crate::ctx::Ctx;
use crate::effect::Effect;
use crate::event::Event;
use crate::report::ProblemKind;

/// Removes a node that cannot be used, and excludes the ports that lead to it.
pub(crate) fn exclude_node(ctx: &mut Ctx<'_>, n: NodeIdx, reason: ExclusionReason) {
    ctx.fabric.count_hosts_lost_with(n);
    let Some(node) = ctx.fabric.get(n) else {
        return;
    };
    let ports = (0..node.ports.len()).filter_map(|p| Some(PortNum(u8::try_from(p).ok()?)));
    let peers: Vec<PortRef> = ports
        .filter_map(|p| ctx.fabric.peer(PortRef::new(n, p)))
        .collect();
    for peer in peers {
        exclude_port(ctx, peer, reason);
    }
    remove_node(ctx, n, NodeRemovalReason::Excluded(reason));
}

/// Removes a node from the fabric, and reports it.
pub(crate) fn remove_node(ctx: &mut Ctx<'_>, n: NodeIdx, reason: NodeRemovalReason) {
    if let Some(node) = ctx.fabric.remove_node(n) {
        ctx.effects.push(Effect::RoutesOutdated);
        ctx.effects.push(Effect::NodeRemoved(n));
        ctx.outbox.emit(Event::NodeRemoved(node.name(), reason));
    }
}

/// Removes a node that was found in this sweep and must not become part of the subnet. It was not
/// reported as added.
pub(crate) fn discard_node(ctx: &mut Ctx<'_>, n: NodeIdx) {
    if ctx.fabric.discard_node(n) {
        ctx.effects.push(Effect::NodeRemoved(n));
    }
}

/// Removes nodes that cannot be reached any more.
pub(crate) fn remove_unreachable_nodes(ctx: &mut Ctx<'_>, nodes: &[NodeIdx]) {
    for &n in nodes {
        if let NodeRemovalReason::Excluded(_) = ctx.fabric.removal_reason(n) {
            ctx.fabric.count_hosts_lost_with(n);
        }
    }
    for &n in nodes {
        let reason = ctx.fabric.removal_reason(n);
        remove_node(ctx, n, reason);
    }
}

/// Removes the link at a port. On a switch port the reason is recorded; it concerns the node behind
/// the port.
pub(crate) fn exclude_port(ctx: &mut Ctx<'_>, at: PortRef, reason: ExclusionReason) {
    if let Some(peer) = ctx.fabric.disconnect(at) {
        ctx.effects.push(Effect::RoutesOutdated);
        let lost = NodeRemovalReason::Excluded(reason);
        ctx.fabric.record_link_loss(peer.node, lost);
        if let Some(port) = ctx.fabric.port_mut(at) {
            port.last_peer = Some(peer);
        }
    }
    let is_switch = ctx.fabric.get(at.node).is_some_and(Node::is_switch);
    match ctx.fabric.port_mut(at).filter(|_| is_switch) {
        // Nothing is behind a port that went down meanwhile.
        Some(port) => port.exclusion = port.is_up().then(|| Box::new(reason)),
        None => ctx.effects.problem(at, ProblemKind::excluded(reason)),
    }
}

/// Whether a port is in the fabric: a switch's always, a CA or router port's if it is linked or the
/// SM's own.
pub(crate) fn is_in_fabric(fabric: &ObservedFabric, p: PortRef) -> bool {
    fabric.get(p.node).is_some_and(|node| {
        node.is_switch() || fabric.local() == Some(p) || fabric.peer(p).is_some()
    })
}

/// Reports everything that is excluded, whichever sweep found it.
pub(crate) fn report_excluded(ctx: &mut Ctx<'_>) {
    let fabric = &*ctx.fabric;
    for (n, node) in fabric.nodes() {
        for (p, port) in (0..=u8::MAX).zip(&node.ports) {
            let at = PortRef::new(n, PortNum(p));
            if let Some(reason) = &port.exclusion {
                // An end port is reported at the switch port that it is attached to.
                let switch_port = fabric.peer(at).filter(|_| !node.is_switch());
                let kind = ProblemKind::excluded(**reason);
                ctx.effects.problem(switch_port.unwrap_or(at), kind);
            }
        }
    }
}
