//! The document of `ferrosm explain`.
//!
//! ```json
//! {
//!   "schema": 1, "error": null, "engine": "updn", "notes": [ "…" ], "refused": [ "minhop: …" ],
//!   "refusals": [ { "engine": "minhop", "reason": "…" } ], "remarks": [ "…" ],
//!   "vls_allowed": 8, "lanes_used": 1, "reversible": true,
//!   "ways": [ {
//!     "lid": 7, "sl": 0, "length": 2, "shortest": 2, "why": "2 cables between switches: there is no shorter way.",
//!     "hops": [ { "name": "n1", "guid": "0x…", "in_port": null, "out_port": 1, "vl": 0 } ]
//!   } ]
//! }
//! ```
//!
//! `ways` is empty without a pair, else the way there and the way back. `length` counts cables between switches. `vl` is
//! that of the cable behind `out_port`; both are `null` where the way ends, `in_port` where it begins. Where no engine's
//! tables pass the proof, `error` says so, as in the document of `route`.

use serde::Serialize;

use crate::offline::trace::Trace;
use crate::offline::{OfflineRouting, RejectedEngine};
use crate::output::explain::why;
use ferrosm_opensm_compat::view::FabricView;

/// The document.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: u32,
    error: Option<&'static str>,
    engine: &'static str,
    notes: &'a [String],
    refused: Vec<String>,
    refusals: &'a [RejectedEngine],
    remarks: &'a [String],
    vls_allowed: u8,
    lanes_used: Option<u8>,
    reversible: Option<bool>,
    ways: Vec<Way>,
}

#[derive(Debug, Serialize)]
struct Way {
    lid: u16,
    sl: u8,
    length: usize,
    shortest: usize,
    why: String,
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

/// Makes the document.
#[must_use]
pub fn document<'a>(routed: &'a OfflineRouting, traces: &[Trace]) -> Document<'a> {
    let chosen = routed.chosen.as_ref();
    let engine = chosen.map_or("", |c| c.routing().engine);
    Document {
        schema: super::SCHEMA,
        error: routed.error(),
        engine,
        notes: &routed.notes,
        refused: routed
            .refused
            .iter()
            .map(RejectedEngine::to_string)
            .collect(),
        refusals: &routed.refused,
        remarks: &routed.remarks,
        vls_allowed: routed.vls_allowed,
        lanes_used: chosen.map(|c| c.proof.lanes_used),
        reversible: chosen.map(|c| c.proof.reversible),
        ways: traces
            .iter()
            .map(|t| way(&routed.view, t, engine))
            .collect(),
    }
}

fn way(view: &FabricView, trace: &Trace, engine: &str) -> Way {
    let hops = trace.hops.iter().map(|h| Hop {
        name: view.nodes[h.node].name(),
        guid: view.nodes[h.node].guid.to_string(),
        in_port: h.input.map(|p| p.0),
        out_port: h.output.map(|(p, _)| p.0),
        vl: h.output.map(|(_, vl)| vl),
    });
    Way {
        lid: trace.lid.0,
        sl: trace.sl,
        length: trace.length,
        shortest: trace.shortest,
        why: why(trace, engine),
        hops: hops.collect(),
    }
}
