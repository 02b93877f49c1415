//! The automatic choice: which engines suit a fabric, by what it is recognised as (ADR 0008).
//!
//! It only gives advice: the first of these engines whose tables pass the proof serves ([`crate::select`]).

use crate::engine::Request;
use crate::structure::dragonfly::dragonfly;
use crate::structure::grid::{Family, grid};
use crate::structure::tree::tree;

/// Up to so many switches of no regular shape, nue is tried before dfsssp.
const NUE_MAX_SWITCHES: usize = 500;

/// Engines to try, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// Their names.
    pub engines: &'static [&'static str],
    /// What the fabric was recognised as, and what it is not: one sentence for the operator.
    pub reason: String,
}

/// Recognises the fabric.
#[must_use]
pub fn advise(request: &Request<'_>) -> Advice {
    let (topo, hints) = (request.topo, request.hints);
    let advice = |engines, reason| Advice { engines, reason };
    if hints.file.is_some() {
        return advice(&["file"], "tables were given in a file".to_owned());
    }
    if hints.torus.is_some()
        && let Ok(found) = grid(topo, hints)
    {
        let reason = format!("a torus was described in a file; the fabric is a {found}");
        return advice(&["torus-2QoS", "dor", "nue"], reason);
    }
    let no_tree = match tree(topo, hints) {
        Ok(found) => {
            let reason = format!(
                "the fabric is a tree of {} levels with {} roots and {} leaves",
                found.levels(),
                found.roots.len(),
                found.leaves.len()
            );
            return advice(&["dmodc", "updn"], reason);
        }
        Err(why) => why,
    };
    let no_grid = match grid(topo, hints) {
        Ok(found) => {
            let reason = format!("the fabric is a {found}");
            // Where cables are missing, detours of dimension order crowd: nue shares them out better.
            let engines: &[&str] = match (found.family(), found.is_whole()) {
                (Family::Torus, true) => &["torus-2QoS", "dor", "dfsssp"],
                (Family::Torus, false) => &["torus-2QoS", "nue", "dor", "dfsssp"],
                (Family::Mesh | Family::Hypercube | Family::HyperX, true) => &["dor", "dfsssp"],
                (Family::Mesh | Family::Hypercube | Family::HyperX, false) => {
                    &["nue", "dor", "dfsssp"]
                }
            };
            return advice(engines, reason);
        }
        Err(why) => why,
    };
    let reason = match dragonfly(topo) {
        Ok(found) => format!("the fabric is a {found}"),
        Err(no_dragonfly) => format!(
            "the fabric is of no known shape (no tree: {no_tree}; no grid: {no_grid}; no dragonfly: {no_dragonfly})"
        ),
    };
    // Of two that route anything the better balanced, as long as the fabric is not so large that it takes minutes.
    if topo.num_switches() <= NUE_MAX_SWITCHES {
        advice(&["nue", "dfsssp"], reason)
    } else {
        advice(&["dfsssp"], reason)
    }
}
