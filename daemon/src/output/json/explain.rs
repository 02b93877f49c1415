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

use super::message::{MessageMember, RejectedEngine};
use crate::offline::OfflineRouting;
use crate::offline::trace::Trace;
use crate::output::explain::length_reason;

/// The document of `ferrosm explain --json`.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: u32,
    error: Option<&'static str>,
    engine: &'static str,
    messages: Vec<MessageMember<'a>>,
    rejections: Vec<RejectedEngine<'a>>,
    warnings: Vec<MessageMember<'a>>,
    vls_allowed: u8,
    vls_used: Option<u8>,
    reversible: Option<bool>,
    paths: Vec<Path>,
}

#[derive(Debug, Serialize)]
struct Path {
    lid: u16,
    sl: u8,
    length: usize,
    shortest: usize,
    reason: String,
    hops: Vec<Hop>,
}

#[derive(Debug, Serialize)]
struct Hop {
    name: String,
    guid: String,
    in_port: Option<u8>,
    out_port: Option<u8>,
    vl: Option<u8>,
}

/// Builds the document.
#[must_use]
pub fn document<'a>(routed: &'a OfflineRouting, traces: &[Trace]) -> Document<'a> {
    let selected = routed.selected.as_ref();
    let engine = selected.map_or("", |c| c.routing().engine);
    Document {
        schema: super::SCHEMA,
        error: routed.error(),
        engine,
        messages: MessageMember::of_engine(&routed.messages),
        rejections: RejectedEngine::list(&routed.rejected),
        warnings: routed
            .warnings
            .iter()
            .map(|w| MessageMember::new(w.kind(), w))
            .collect(),
        vls_allowed: routed.vls_allowed,
        vls_used: selected.map(|c| c.proof.vls_used),
        reversible: selected.map(|c| c.proof.reversible),
        paths: traces
            .iter()
            .map(|t| path(&routed.snapshot, t, engine))
            .collect(),
    }
}

fn path(snapshot: &Snapshot, trace: &Trace, engine: &str) -> Path {
    let hops = trace.hops.iter().map(|h| Hop {
        name: snapshot.node(h.node).name(),
        guid: snapshot.node(h.node).guid.to_string(),
        in_port: h.input.map(|p| p.0),
        out_port: h.output.map(|(p, _)| p.0),
        vl: h.output.map(|(_, vl)| vl),
    });
    Path {
        lid: trace.lid.0,
        sl: trace.sl,
        length: trace.length,
        shortest: trace.shortest,
        reason: length_reason(trace, engine),
        hops: hops.collect(),
    }
}
