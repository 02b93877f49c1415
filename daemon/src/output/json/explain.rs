//! The document of `ferrosm explain`.
//!
//! ```json
//! {
//!   "schema": 4, "error": null, "engine": "updn",
//!   "rejections": [ { "engine": "minhop", "kind": "verification", "reason": "…" } ],
//!   "messages": [ { "kind": "structure", "text": "…" } ], "warnings": [ { "kind": "absent-guids", "text": "…" } ],
//!   "vls_allowed": 8, "vls_used": 1, "reversible": true,
//!   "paths": [ {
//!     "lid": 7, "sl": 0, "length": 2, "shortest": 2, "reason": "2 links between switches: a shortest path.",
//!     "hops": [ { "name": "n1", "guid": "0x…", "in_port": null, "out_port": 1, "vl": 0 } ]
//!   } ]
//! }
//! ```
//!
//! `paths` is empty without a pair of ports; otherwise it has the path and its reverse. `length`
//! counts links between switches. `vl` is the VL on the link at `out_port`; both are `null` at the
//! destination, `in_port` at the source. If every engine is rejected, `error` is set, as in the
//! document of `route`.

use ferrosm_fabric::snapshot::Snapshot;
use serde::Serialize;

use super::message;
use crate::offline::OfflineRouting;
use crate::offline::trace::Trace;
use crate::output::explain::length_reason;

/// The document of `ferrosm explain --json`.
#[must_use]
pub fn document(routed: &OfflineRouting, traces: &[Trace]) -> impl Serialize {
    let selected = routed.selected.as_ref();
    let engine = selected.map_or("", |c| c.routing().engine);
    let paths = traces.iter().map(|t| path(&routed.snapshot, t, engine));
    object! {
        schema: super::SCHEMA,
        error: routed.error(),
        engine: engine,
        messages: message::routing_messages(&routed.messages),
        rejections: message::rejections(&routed.rejected),
        warnings: message::warnings(&routed.warnings),
        vls_allowed: routed.vls_allowed,
        vls_used: selected.map(|c| c.proof.vls_used),
        reversible: selected.map(|c| c.proof.reversible),
        paths: paths.collect::<Vec<_>>(),
    }
}

fn path(snapshot: &Snapshot, trace: &Trace, engine: &str) -> impl Serialize {
    let hops = trace.hops.iter().map(|hop| {
        object! {
            name: snapshot.node(hop.node).name(),
            guid: snapshot.node(hop.node).guid,
            in_port: hop.input,
            out_port: hop.output.map(|(port, _)| port),
            vl: hop.output.map(|(_, vl)| vl),
        }
    });
    object! {
        lid: trace.lid,
        sl: trace.sl,
        length: trace.length,
        shortest: trace.shortest,
        reason: length_reason(trace, engine),
        hops: hops.collect::<Vec<_>>(),
    }
}
