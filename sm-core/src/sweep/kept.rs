//! Reports the tables that devices keep because they reject writes.

use ferrosm_mad::time::Instant;

use crate::ctx::Ctx;
use crate::report::ProblemKind;
use crate::subnet::PortRef;

/// Reports every table that a device keeps, whichever sweep it rejected. Returns when the next of them is written again.
pub(crate) fn report_kept(ctx: &mut Ctx<'_>) -> Option<Instant> {
    let fabric = &*ctx.fabric;
    let mut next_retry: Option<Instant> = None;
    for (n, node) in fabric.nodes() {
        let Some(retry) = node.rejections.next_retry() else {
            continue;
        };
        next_retry = Some(next_retry.map_or(retry, |next| next.min(retry)));
        for (attr, port, status) in node.rejections.kept_attrs() {
            let kind = ProblemKind::TableKept { attr, status };
            ctx.effects.problem(PortRef::new(n, port), kind);
        }
    }
    next_retry
}
