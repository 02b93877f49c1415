//! The routing document.
//!
//! ```json
//! {
//!   "schema": 4, "error": null, "engine": "updn", "vls": 1, "vls_allowed": 8,
//!   "switches": 20, "cas": 16, "routers": 0, "links": 48, "lids": 36, "nodes_outside": 0,
//!   "rejections": [ { "engine": "minhop", "kind": "verification", "reason": "…" } ],
//!   "messages": [ { "kind": "structure", "text": "…" } ], "warnings": [ { "kind": "absent-guids", "text": "…" } ],
//!   "slow_links": [ { "name": "leaf1", "guid": "0x…", "port": 5, "peer_name": "…", "peer_guid": "0x…", "peer_port": 7,
//!                     "mbps": 100000, "possible_mbps": 200000 } ],
//!   "proof": { "pairs": 640, "…": "as in the sweep report" },
//!   "vl_usage": { "used": 1, "channels": [64], "reversible": true, "sl_pairs": [240] },
//!   "quality": {
//!     "hosts": 16, "channels": 64, "pairs": 240, "max_load": 16, "max_load_by_rate": 16.0,
//!     "mean_load": 12.0, "max_load_bound": 12.0,
//!     "hop_histogram": [0, 0, 48, 0, 192],
//!     "bisection": { "mean": 0.71, "min": 0.5, "max": 1.0 },
//!     "all_to_all": 4, "random_permutation": 2,
//!     "shift": { "stages": 15, "worst": 2, "worst_distance": 3, "mean": 1.2 },
//!     "shift_by_leaf": { "stages": 15, "worst": 1, "worst_distance": 1, "mean": 1.0 }
//!   },
//!   "compute_ms": 1.9, "engine_ms": 1.7, "proof_ms": 0.2, "quality_ms": 0.9, "peak_memory_bytes": 12345678
//! }
//! ```
//!
//! | member | meaning |
//! |---|---|
//! | `vls` | VLs for which SLtoVL tables were computed |
//! | `vl_usage.used` | VLs that carry routes between switches |
//! | `vls_allowed` | VLs that could be used: `--vls`, at most those of the links |
//! | `rejections` | engines that were rejected |
//! | `messages`, `warnings` | see [`super::message`]; warnings such as GUIDs of input files that are not in the fabric |
//! | `nodes_outside` | nodes of other connected components, which are not routed |
//! | `max_load_bound` | lower bound of `max_load` for any routing of this fabric |
//! | `bisection` | share of a link's bandwidth per pair (method of ORCS) |
//! | `all_to_all` | maximum over all channels of the lesser of its sources and destinations |
//! | `random_permutation` | median of the flows on the busiest channel in a random permutation |
//! | `shift`, `shift_by_leaf` | flows on the busiest channel if each host sends to the host N positions later, by LID or in leaf order |
//! | `worst_distance` | N of the shift with the most flows on one channel |
//! | `slow_links` | links between switches that run slower than other links of both switches |
//! | `max_load_by_rate` | most routes over a channel, weighted with its rate relative to the fastest link; `null` if a rate is unknown |
//! | `compute_ms` | time of all engines that were tried, with verification |
//! | `engine_ms`, `proof_ms` | time of the selected engine, and of the verification of its tables |
//!
//! If every engine is rejected, `error` is set, `engine` is empty, `rejections` has the reasons,
//! `proof`, `vl_usage` and `quality` are `null`, no dumps are written, and the exit status is 1.
//! Without switches they are `null` without an `error`. `peak_memory_bytes` is `null` if the system
//! does not report it. If a fabric or input file cannot be read, nothing is printed to standard
//! output.

use core::time::Duration;

use ferrosm_mad::attr::NodeType;
use ferrosm_routing::quality::{Quality, ShiftCongestion};
use serde::Serialize;

use super::message;
use super::sweep::{ms, proof};
use crate::offline::{self, OfflineRouting};
use crate::output::table;

/// The document of `ferrosm route --json`.
#[must_use]
pub fn document(routed: &OfflineRouting, quality: Option<&(Quality, Duration)>) -> impl Serialize {
    let selected = routed.selected.as_ref();
    let count = |node_type| table::count_nodes(&routed.snapshot, node_type);
    object! {
        schema: super::SCHEMA,
        error: routed.error(),
        engine: selected.map_or("", |c| c.routing().engine),
        vls: selected.map_or(1, |c| c.routing().vl_plan.vls),
        vls_allowed: routed.vls_allowed,
        switches: count(NodeType::Switch),
        cas: count(NodeType::Ca),
        routers: count(NodeType::Router),
        links: routed.snapshot.links().len(),
        lids: routed.lids,
        nodes_outside: routed.nodes_outside,
        rejections: message::rejections(&routed.rejected),
        messages: message::routing_messages(&routed.messages),
        warnings: message::warnings(&routed.warnings),
        slow_links: &routed.slow_links,
        proof: selected.map(|c| proof(&c.proof)),
        vl_usage: selected.map(|c| object! {
            used: c.proof.vls_used,
            channels: &c.proof.vl_channels,
            reversible: c.proof.reversible,
            sl_pairs: quality.map_or(&[][..], |(q, _)| &q.sl_pairs),
        }),
        quality: quality.map(|(q, _)| quality_members(q)),
        compute_ms: ms(routed.took),
        engine_ms: selected.map(|c| ms(c.engine_took)),
        proof_ms: selected.map(|c| ms(c.proof_took)),
        quality_ms: quality.map(|(_, took)| ms(*took)),
        peak_memory_bytes: offline::peak_memory_bytes(),
    }
}

fn quality_members(q: &Quality) -> impl Serialize {
    let shift = |s: ShiftCongestion| {
        object! { stages: s.stages, worst: s.worst, worst_distance: s.worst_distance, mean: s.mean }
    };
    object! {
        hosts: q.hosts,
        channels: q.channels,
        pairs: q.pairs,
        max_load: q.max_load,
        max_load_by_rate: q.max_load_by_rate,
        mean_load: q.mean_load,
        max_load_bound: q.max_load_bound,
        hop_histogram: &q.hop_histogram,
        bisection: q.bisection.map(|b| object! { mean: b.mean, min: b.min, max: b.max }),
        all_to_all: q.all_to_all,
        random_permutation: q.random_permutation,
        shift: shift(q.shift),
        shift_by_leaf: shift(q.shift_by_leaf),
    }
}
