//! Tables that devices keep because they reject writes: reports, and retries.

use ferrosm_mad::time::Instant;

use crate::ctx::Ctx;
use crate::report::ProblemKind;
use crate::subnet::{PortRef, RETRY_DELAYS, Subnet};

/// Reports every table that a device keeps, whichever sweep it rejected. Returns when the next of them is written again.
pub(crate) fn report_kept(ctx: &mut Ctx<'_>) -> Option<Instant> {
    let fabric = &*ctx.fabric;
    let mut next_retry: Option<Instant> = None;
    for (n, node) in fabric.nodes() {
        let Some(retry) = node.rejections.next_retry() else {
            continue;
        };
        // A retry that was due in this sweep may have failed to be sent.
        let retry = if retry <= ctx.now {
            ctx.now + RETRY_DELAYS.0
        } else {
            retry
        };
        next_retry = Some(next_retry.map_or(retry, |next| next.min(retry)));
        for (attr, port, status) in node.rejections.kept_attrs() {
            let kind = ProblemKind::TableKept { attr, status };
            ctx.effects.problem(PortRef::new(n, port), kind);
        }
    }
    next_retry
}

/// The ports with tables that are to be written again by now.
pub(crate) fn due_ports(fabric: &Subnet, now: Instant) -> Vec<PortRef> {
    let nodes = fabric.nodes();
    let due = nodes.flat_map(|(n, node)| {
        let ports = node.rejections.due_ports(now);
        ports.map(move |port| PortRef::new(n, port))
    });
    due.collect()
}
