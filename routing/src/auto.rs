//! The automatic choice: which engines suit a fabric, by its structure (ADR 0008).
//!
//! This is advice only; [`crate::select`] acts on it. Where the structure says which engine is right (whole grids, even
//! trees), that engine is installed without comparison. On any other fabric a fast engine that always succeeds is the
//! baseline, and slower ones are compared with it as far as the work budget goes. After losses nothing is chosen anew:
//! the routing in force is repaired.

use crate::diagnostics::Structure;
use crate::engine::Request;
use crate::structure::dragonfly::dragonfly;
use crate::structure::grid::{Family, grid};
use crate::structure::tree::{Tree, tree};
use crate::topology::{SwitchIdx, Topology};

/// Engines to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// Engines made for the structure, best first. The first whose tables pass the proof is installed. They are fast, so
    /// they have no budget.
    pub structured: &'static [&'static str],
    /// Fast engines for what remains, also without a budget: the first whose tables pass the proof is the baseline.
    pub baseline: &'static [&'static str],
    /// Engines that are compared with the baseline, each within its share of the budget.
    pub candidates: &'static [&'static str],
    /// Data VLs that they may use; `None` for as many as there are.
    pub vls: Option<u8>,
    /// What the structure is and what it is not: one sentence for the operator.
    pub reason: Structure,
}

impl Advice {
    /// Engines for a structure. If their tables fail the proof, the engines for an unknown structure follow.
    fn structured(engines: &'static [&'static str], reason: Structure) -> Self {
        Self {
            structured: engines,
            ..Self::compared(&["updn"], &["nue", "dfsssp"], reason)
        }
    }

    const fn compared(
        baseline: &'static [&'static str],
        candidates: &'static [&'static str],
        reason: Structure,
    ) -> Self {
        Self {
            structured: &[],
            baseline,
            candidates,
            vls: None,
            reason,
        }
    }
}

/// Detects the structure of the fabric and names the engines for it.
#[must_use]
pub fn advise(request: &Request<'_>) -> Advice {
    let (topo, hints) = (request.topo, request.hints);
    if hints.file.is_some() {
        return Advice {
            baseline: &[],
            candidates: &[],
            ..Advice::structured(&["file"], Structure::TablesInFile)
        };
    }
    if hints.torus.is_some()
        && let Ok(found) = grid(topo, hints)
    {
        let reason = Structure::DescribedTorus(Box::new(found));
        return Advice::structured(&["torus-2QoS", "dor"], reason);
    }
    let no_tree = match tree(topo, hints) {
        Ok(found) => return of_tree(topo, &found),
        Err(why) => why,
    };
    let no_grid = match grid(topo, hints) {
        Ok(found) => {
            // Where links are missing, the detours of dimension order crowd some links; another engine may do better.
            let family = (found.family(), found.is_whole());
            let reason = Structure::Grid(Box::new(found));
            return match family {
                (Family::Torus, true) => Advice::structured(&["torus-2QoS", "dor"], reason),
                (Family::Torus, false) => {
                    Advice::compared(&["dor", "updn"], &["torus-2QoS", "nue", "dfsssp"], reason)
                }
                (Family::Mesh | Family::Hypercube | Family::HyperX, true) => {
                    Advice::structured(&["dor"], reason)
                }
                (Family::Mesh | Family::Hypercube | Family::HyperX, false) => {
                    Advice::compared(&["dor", "updn"], &["nue", "dfsssp"], reason)
                }
            };
        }
        Err(why) => why,
    };
    let reason = match dragonfly(topo) {
        Ok(found) => Structure::Dragonfly(Box::new(found)),
        Err(no_dragonfly) => Structure::Unknown {
            tree: no_tree,
            grid: no_grid,
            dragonfly: no_dragonfly,
        },
    };
    Advice::compared(&["updn"], &["nue", "dfsssp"], reason)
}

/// Trees are routed on one VL: repairs are fast then, and programs that choose their own SL cannot cause a credit loop.
fn of_tree(topo: &Topology, tree: &Tree) -> Advice {
    let even = is_even(topo, tree);
    let reason = Structure::Tree {
        even,
        levels: tree.levels(),
        roots: tree.roots.len(),
        leaves: tree.leaves.len(),
    };
    let advice = if even {
        Advice {
            candidates: &[],
            ..Advice::structured(&["dmodc"], reason)
        }
    } else {
        Advice::compared(&["dmodc", "updn"], &["ftree", "updn", "nue"], reason)
    };
    Advice {
        vls: Some(1),
        ..advice
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
