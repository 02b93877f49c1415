//! Tables that devices keep because they reject writes: reports, and retries.

use ferrosm_fabric::observed::{NodeIdx, ObservedFabric, PortRef};
use ferrosm_mad::time::Instant;

use crate::ctx::Ctx;
use crate::report::ProblemKind;

/// Reports every table that a device keeps, whichever sweep it rejected. Returns when the next of
/// them is written again. A table that was due and not rejected again in this sweep needs no other
/// contents: it is forgotten, and routes that were computed with it are computed again.
pub(crate) fn report_kept(ctx: &mut Ctx<'_>) -> Option<Instant> {
    let mut next_retry: Option<Instant> = None;
    let kept: Vec<NodeIdx> = ctx
        .fabric
        .nodes()
        .filter(|(_, node)| node.rejections.next_retry().is_some())
        .map(|(n, _)| n)
        .collect();
    for n in kept {
        let now = ctx.now;
        let Some(node) = ctx.fabric.get_mut(n) else {
            continue;
        };
        if node.rejections.forget_due(now) {
            ctx.effects.reroute_now();
        }
        let Some(retry) = node.rejections.next_retry() else {
            continue;
        };
        next_retry = Some(next_retry.map_or(retry, |next| next.min(retry)));
        let attrs = node.rejections.kept_attrs();
        for (attr, port, status) in attrs {
            let kind = ProblemKind::TableKept { attr, status };
            ctx.effects.problem(PortRef::new(n, port), kind);
        }
    }
    next_retry
}

/// The ports with tables that are to be written again by now.
pub(crate) fn due_ports(fabric: &ObservedFabric, now: Instant) -> Vec<PortRef> {
    let nodes = fabric.nodes();
    let due = nodes.flat_map(|(n, node)| {
        let ports = node.rejections.due_ports(now);
        ports.map(move |port| PortRef::new(n, port))
    });
    due.collect()
}
