//! The routing document.
//!
//! ```json
//! {
//!   "schema": 1, "engine": "updn", "vls": 1,
//!   "switches": 20, "cas": 16, "routers": 0, "links": 48, "lids": 36, "left_out_nodes": 0,
//!   "refused": [ "minhop: …" ], "notes": [ "…" ],
//!   "proof": { "pairs": 640, "…": "as in the sweep report" },
//!   "compute_ms": 1.9
//! }
//! ```
//!
//! `left_out_nodes` are on other islands of the file. Where no engine's tables pass the proof nothing is printed, the
//! reason is on standard error, and the exit status is 1. `proof` is `null` where there is no switch.

use serde::Serialize;

use super::sweep::ProofOf;

/// The document.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    /// Version of the form.
    pub schema: u32,
    /// The engine whose tables passed; empty without switches.
    pub engine: &'static str,
    /// Lanes that the tables need.
    pub vls: u8,
    /// Switches routed.
    pub switches: usize,
    /// Channel adapters.
    pub cas: usize,
    /// Routers.
    pub routers: usize,
    /// Cables.
    pub links: usize,
    /// LIDs routed.
    pub lids: usize,
    /// Nodes on other islands.
    pub left_out_nodes: usize,
    /// Engines that were tried before, with the reasons.
    pub refused: Vec<String>,
    /// What the engine says of its work.
    pub notes: &'a [String],
    /// The proof.
    pub proof: Option<ProofOf<'a>>,
    /// Time of all engines and proofs.
    pub compute_ms: f64,
}
