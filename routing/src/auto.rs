//! The automatic choice: which engines suit a fabric, by what it is recognised as (ADR 0008).
//!
//! It only gives advice, in rounds: the best engine of the first round in which one passes the proof serves ([`crate::select`]).
//! A round has one engine where the shape says which is right: whole grids, even trees. Where cables are missing, or
//! the shape is nobody's, what is best is only known by trying; then several are in a round, as long as the fabric is so
//! small that this costs little. After losses nothing is chosen anew: the routing in force is repaired.

use crate::engine::Request;
use crate::structure::dragonfly::dragonfly;
use crate::structure::grid::{Family, grid};
use crate::structure::tree::{Tree, tree};
use crate::topology::{SwitchIdx, Topology};

/// Up to so many switches of no regular shape, nue is tried before dfsssp.
const NUE_MAX_SWITCHES: usize = 500;

/// Routes (end ports times LIDs) times cables up to which engines are compared: some tenths of a second for each.
const COMPARED_MAX: u64 = 400_000_000;

/// Engines to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// Their names. Those of a round are compared; the next round is for where none of them passes.
    pub rounds: &'static [&'static [&'static str]],
    /// Data VLs that they should do with; `None` where as many as there are will do.
    pub vls: Option<u8>,
    /// What the fabric was recognised as, and what it is not: one sentence for the operator.
    pub reason: String,
}

/// Recognises the fabric.
#[must_use]
pub fn advise(request: &Request<'_>) -> Advice {
    let (topo, hints) = (request.topo, request.hints);
    let advice = |rounds, reason| Advice {
        rounds,
        vls: None,
        reason,
    };
    if hints.file.is_some() {
        return advice(&[&["file"]], "tables were given in a file".to_owned());
    }
    if hints.torus.is_some()
        && let Ok(found) = grid(topo, hints)
    {
        let reason = format!("a torus was described in a file; the fabric is a {found}");
        return advice(&[&["torus-2QoS"], &["dor"], &["nue"]], reason);
    }
    let small = effort(topo) <= COMPARED_MAX;
    let no_tree = match tree(topo, hints) {
        Ok(found) => return of_tree(topo, &found, small),
        Err(why) => why,
    };
    let no_grid = match grid(topo, hints) {
        Ok(found) => {
            let reason = format!("the fabric is a {found}");
            // Where cables are missing, detours of dimension order crowd: mostly nue shares them out better.
            let rounds: &[&[&str]] = match (found.family(), found.is_whole()) {
                (Family::Torus, true) => &[&["torus-2QoS"], &["dor"], &["dfsssp"]],
                (Family::Torus, false) if small => &[&["torus-2QoS", "dor", "nue", "dfsssp"]],
                (Family::Torus, false) => &[&["torus-2QoS"], &["nue"], &["dor"], &["dfsssp"]],
                (Family::Mesh | Family::Hypercube | Family::HyperX, true) => {
                    &[&["dor"], &["dfsssp"]]
                }
                (Family::Mesh | Family::Hypercube | Family::HyperX, false) if small => {
                    &[&["dor", "nue", "dfsssp"]]
                }
                (Family::Mesh | Family::Hypercube | Family::HyperX, false) => {
                    &[&["nue"], &["dor"], &["dfsssp"]]
                }
            };
            return advice(rounds, reason);
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
    let rounds: &[&[&str]] = if small {
        &[&["nue", "dfsssp"]]
    } else if topo.num_switches() <= NUE_MAX_SWITCHES {
        &[&["nue"], &["dfsssp"]]
    } else {
        &[&["dfsssp"]]
    };
    advice(rounds, reason)
}

/// Trees are routed on one lane: so repairs are quick, and programs that choose their own SL are safe.
fn of_tree(topo: &Topology, tree: &Tree, small: bool) -> Advice {
    let even = is_even(topo, tree);
    let reason = format!(
        "the fabric is {} tree of {} levels with {} roots and {} leaves",
        if even { "a" } else { "an uneven" },
        tree.levels(),
        tree.roots.len(),
        tree.leaves.len()
    );
    let rounds: &[&[&str]] = if even || !small {
        &[&["dmodc"], &["updn"]]
    } else {
        &[&["dmodc", "ftree", "updn", "nue"]]
    };
    Advice {
        rounds,
        vls: Some(1),
        reason,
    }
}

/// Whether all switches of a level have as many cables up, and as many down, as the others.
fn is_even(topo: &Topology, tree: &Tree) -> bool {
    let mut by_level: Vec<Option<(usize, usize)>> = vec![None; tree.levels()];
    tree.level_cables == 0
        && topo.switches().all(|s| {
            let rank = |s: SwitchIdx| tree.rank[s.index()];
            let up = topo.links(s).iter().filter(|l| rank(l.peer) > rank(s));
            let up = up.count();
            let cables = (up, topo.links(s).len() - up);
            let level = by_level.get_mut(rank(s) as usize);
            level.is_some_and(|level| *level.get_or_insert(cables) == cables)
        })
}

/// What routing is likely to cost: it grows with the routes, and with the cables to choose from.
fn effort(topo: &Topology) -> u64 {
    let ends: usize = topo.switches().map(|s| topo.end_ports(s).len()).sum();
    let lids: usize = topo.switches().map(|s| topo.destinations_on(s).len()).sum();
    (lids as u64) * (ends.max(topo.num_switches()) as u64) * (topo.num_channels() as u64)
}
