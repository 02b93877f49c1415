//! The routing document.
//!
//! ```json
//! {
//!   "schema": 1, "error": null, "engine": "updn", "vls": 1, "vls_allowed": 8,
//!   "switches": 20, "cas": 16, "routers": 0, "links": 48, "lids": 36, "left_out_nodes": 0,
//!   "refused": [ "minhop: …" ], "refusals": [ { "engine": "minhop", "reason": "…" } ],
//!   "notes": [ "…" ], "remarks": [ "…" ],
//!   "throttled": [ { "name": "leaf1", "guid": "0x…", "port": 5, "peer_name": "…", "peer_guid": "0x…", "peer_port": 7,
//!                    "mbps": 100000, "could_mbps": 200000 } ],
//!   "proof": { "pairs": 640, "…": "as in the sweep report" },
//!   "lanes": { "used": 1, "channels": [64], "reversible": true, "sl_pairs": [240] },
//!   "quality": {
//!     "hosts": 16, "channels": 64, "pairs": 240, "max_load": 16, "max_load_by_rate": 16.0,
//!     "mean_load": 12.0, "least_load": 12.0,
//!     "hop_histogram": [0, 0, 48, 0, 192],
//!     "bisection": { "mean": 0.71, "min": 0.5, "max": 1.0 },
//!     "all_to_all": 4, "random_permutation": 2,
//!     "shift": { "stages": 15, "worst": 2, "worst_by": 3, "mean": 1.2 },
//!     "shift_by_leaf": { "stages": 15, "worst": 1, "worst_by": 1, "mean": 1.0 }
//!   },
//!   "compute_ms": 1.9, "engine_ms": 1.7, "proof_ms": 0.2, "quality_ms": 0.9, "peak_memory_bytes": 12345678
//! }
//! ```
//!
//! `vls` is what SLtoVL tables were made for, `lanes.used` the VLs that really carry something between switches,
//! `vls_allowed` what could have been used: what `--vls` says, at most what the cables have. `refusals` has the engines that
//! were tried before, `refused` the same in one string each, `remarks` GUIDs of input files that are not in the fabric, and
//! the like. `left_out_nodes` are in other parts of the fabric, to which no cable leads. `bisection` is a share of a link's bandwidth (ORCS' method), `shift` the flows over the busiest channel while
//! everybody sends to the one so many LIDs further, `shift_by_leaf` the same by place. `throttled` has the cables
//! between switches that run slower than both switches do elsewhere. `max_load_by_rate` is the most routes over a channel,
//! weighed with how much slower than the fastest link it is; `null` where a rate is not known. `compute_ms` is the time of all
//! engines that were tried with their proofs, `engine_ms` and `proof_ms` that of the one that serves and of the proof of its
//! tables.
//!
//! Where no engine's tables pass the proof, `error` is a sentence, `engine` is empty, `refusals` has the reasons, `proof`,
//! `lanes` and `quality` are `null`, no dumps are written, and the exit status is 1. They are `null` without an `error` where
//! there is no switch, `peak_memory_bytes` is where the system does not tell. Where a fabric or an input file cannot be read,
//! nothing is printed but the reason on standard error, and the exit status is another one.

use core::time::Duration;

use ferrosm_mad::attr::NodeType;
use ferrosm_routing::quality::{self, Quality};
use serde::Serialize;

use super::sweep::{ProofOf, ms};
use crate::offline::{OfflineRouting, RejectedEngine, SelectedRouting, SlowLink};

/// The document.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    schema: u32,
    error: Option<&'static str>,
    engine: &'static str,
    vls: u8,
    vls_allowed: u8,
    switches: usize,
    cas: usize,
    routers: usize,
    links: usize,
    lids: usize,
    left_out_nodes: usize,
    refused: Vec<String>,
    refusals: &'a [RejectedEngine],
    notes: &'a [String],
    remarks: &'a [String],
    throttled: &'a [SlowLink],
    proof: Option<ProofOf<'a>>,
    lanes: Option<Lanes<'a>>,
    quality: Option<QualityOf<'a>>,
    compute_ms: f64,
    engine_ms: Option<f64>,
    proof_ms: Option<f64>,
    quality_ms: Option<f64>,
    peak_memory_bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Lanes<'a> {
    used: u8,
    channels: &'a [usize],
    reversible: bool,
    sl_pairs: &'a [u64],
}

#[derive(Debug, Serialize)]
struct QualityOf<'a> {
    hosts: usize,
    channels: usize,
    pairs: u64,
    max_load: u64,
    max_load_by_rate: Option<f64>,
    mean_load: f64,
    least_load: f64,
    hop_histogram: &'a [u64],
    bisection: Option<Spread>,
    all_to_all: u64,
    random_permutation: u32,
    shift: Shift,
    shift_by_leaf: Shift,
}

#[derive(Debug, Serialize)]
struct Spread {
    mean: f64,
    min: f64,
    max: f64,
}

#[derive(Debug, Serialize)]
struct Shift {
    stages: usize,
    worst: u32,
    worst_by: usize,
    mean: f64,
}

/// Makes the document.
#[must_use]
pub fn document<'a>(
    routed: &'a OfflineRouting,
    quality: Option<&'a (Quality, Duration)>,
) -> Document<'a> {
    let chosen = routed.chosen.as_ref();
    let view = &routed.view;
    Document {
        schema: super::SCHEMA,
        error: routed.error(),
        engine: chosen.map_or("", |c| c.routing().engine),
        vls: chosen.map_or(1, |c| c.routing().vl_plan.vls),
        vls_allowed: routed.vls_allowed,
        switches: view.count(NodeType::Switch),
        cas: view.count(NodeType::Ca),
        routers: view.count(NodeType::Router),
        links: view.links.len(),
        lids: routed.lids,
        left_out_nodes: routed.left_out,
        refused: routed
            .refused
            .iter()
            .map(RejectedEngine::to_string)
            .collect(),
        refusals: &routed.refused,
        notes: &routed.notes,
        remarks: &routed.remarks,
        throttled: &routed.throttled,
        proof: chosen.map(|c| ProofOf::new(&c.proof)),
        lanes: chosen.map(|c| lanes(c, quality)),
        quality: quality.map(|(q, _)| quality_of(q)),
        compute_ms: ms(routed.took),
        engine_ms: chosen.map(|c| ms(c.engine_took)),
        proof_ms: chosen.map(|c| ms(c.proof_took)),
        quality_ms: quality.map(|(_, took)| ms(*took)),
        peak_memory_bytes: crate::offline::peak_memory_bytes(),
    }
}

fn lanes<'a>(chosen: &'a SelectedRouting, quality: Option<&'a (Quality, Duration)>) -> Lanes<'a> {
    Lanes {
        used: chosen.proof.lanes_used,
        channels: &chosen.proof.lane_channels,
        reversible: chosen.proof.reversible,
        sl_pairs: quality.map_or(&[], |(q, _)| q.sl_pairs.as_slice()),
    }
}

fn quality_of(q: &Quality) -> QualityOf<'_> {
    let shift = |s: quality::Shift| Shift {
        stages: s.stages,
        worst: s.worst,
        worst_by: s.worst_by,
        mean: s.mean,
    };
    QualityOf {
        hosts: q.hosts,
        channels: q.channels,
        pairs: q.pairs,
        max_load: q.max_load,
        max_load_by_rate: q.max_load_by_rate,
        mean_load: q.mean_load,
        least_load: q.least_load,
        hop_histogram: &q.hop_histogram,
        bisection: q.bisection.map(|b| Spread {
            mean: b.mean,
            min: b.min,
            max: b.max,
        }),
        all_to_all: q.all_to_all,
        random_permutation: q.random_permutation,
        shift: shift(q.shift),
        shift_by_leaf: shift(q.shift_by_leaf),
    }
}
