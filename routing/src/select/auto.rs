//! The automatic choice: which engines suit a fabric, by its structure (ADR 0008).
//!
//! [`crate::select`] runs the engines that this module names. A complete grid or a regular tree
//! determines the engine, which is used without comparison. On any other fabric, a fast engine that
//! always succeeds is the baseline, and slower engines are compared with it within the work budget.
//! A loss of links does not change the engine: the installed routing is rerouted incrementally.

use super::best::SeveralVls;
use super::trial::EngineTrial;
use crate::messages::{Structure, TreeFigures};
use crate::request::RoutingRequest;
use crate::structure::diameter::diameter_two;
use crate::structure::dragonfly::dragonfly;
use crate::structure::grid::{Family, grid};
use crate::structure::tree::{DetectedTree, tree};
use crate::topology::{SwitchIdx, Topology};

/// Number of switches up to which the routing of a grid, a dragonfly, or a fabric of diameter 2,
/// with missing links is compared with general engines. These do not finish within the budget on
/// larger ones.
const COMPARED_SWITCHES_MAX: usize = 256;

/// Engines to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advice {
    /// Engines for the detected structure, best first, without a budget. The first whose tables
    /// pass verification is used.
    pub structured: Vec<EngineTrial<'static>>,
    /// Fast engines for other fabrics, without a budget. The first whose tables pass verification
    /// is the baseline.
    pub baseline: Vec<EngineTrial<'static>>,
    /// Engines to compare with the baseline, each within its share of the budget.
    pub candidates: Vec<EngineTrial<'static>>,
    /// Whether a routing on several VLs must be clearly better.
    pub several_vls: SeveralVls,
    /// The detected structure, for the operator.
    pub reason: Structure,
}

impl Advice {
    /// Engines for a structure, then the engines for an unknown structure in case all of them fail.
    fn structured(engines: &[&'static str], reason: Structure) -> Self {
        Self {
            structured: on_all_vls(engines),
            ..Self::compared(&["updn"], &["nue", "dfsssp"], reason)
        }
    }

    fn compared(baseline: &[&'static str], candidates: &[&'static str], reason: Structure) -> Self {
        Self {
            structured: Vec::new(),
            baseline: on_all_vls(baseline),
            candidates: on_all_vls(candidates),
            several_vls: SeveralVls::Allowed,
            reason,
        }
    }
}

fn on_all_vls(engines: &[&'static str]) -> Vec<EngineTrial<'static>> {
    let engines = engines.iter().copied();
    engines.map(EngineTrial::on_all_vls).collect()
}

fn on_one_vl(engines: &[&'static str]) -> Vec<EngineTrial<'static>> {
    let engines = engines.iter().copied();
    engines.map(EngineTrial::on_one_vl).collect()
}

/// Detects the structure of the fabric and returns the engines for it.
#[must_use]
pub fn advise(request: &RoutingRequest<'_>) -> Advice {
    let topo = request.topo;
    let hints = request.hints;
    if hints.file.is_some() {
        return Advice {
            baseline: Vec::new(),
            candidates: Vec::new(),
            ..Advice::structured(&["file"], Structure::TablesInFile)
        };
    }
    if hints.torus.is_some()
        && let Ok(grid) = grid(topo, hints)
    {
        let reason = Structure::DescribedTorus(Box::new(grid));
        return Advice::structured(&["torus-2QoS", "dor"], reason);
    }
    let no_tree = match tree(topo, hints) {
        Ok(tree) => return advice_for_tree(request, &tree),
        Err(mismatch) => mismatch,
    };
    let no_grid = match grid(topo, hints) {
        Ok(grid) => {
            let is_torus = grid.family() == Family::Torus;
            let is_compared = !grid.is_complete() && topo.num_switches() <= COMPARED_SWITCHES_MAX;
            let is_complete = grid.is_complete();
            let reason = Structure::Grid(Box::new(grid));
            return match (is_torus, is_complete) {
                (true, true) => Advice::structured(&["torus-2QoS", "dor"], reason),
                (true, false) if is_compared => {
                    Advice::compared(&["dor", "updn"], &["torus-2QoS", "nue", "dfsssp"], reason)
                }
                (true, false) => Advice::structured(&["dor", "torus-2QoS"], reason),
                (false, false) if is_compared => {
                    Advice::compared(&["dor", "updn"], &["nue", "dfsssp"], reason)
                }
                (false, _) => Advice::structured(&["dor"], reason),
            };
        }
        Err(mismatch) => mismatch,
    };
    let no_dragonfly = match dragonfly(topo) {
        Ok(dragonfly) => {
            let is_complete = dragonfly.is_complete();
            let reason = Structure::Dragonfly(Box::new(dragonfly));
            return if is_complete || topo.num_switches() > COMPARED_SWITCHES_MAX {
                Advice::structured(&["dragonfly"], reason)
            } else {
                Advice::compared(&["dragonfly", "updn"], &["nue", "dfsssp"], reason)
            };
        }
        Err(mismatch) => mismatch,
    };
    let diameter = diameter_two(topo);
    let is_large = topo.num_switches() > COMPARED_SWITCHES_MAX;
    if diameter.is_near() && (diameter.is_complete() || is_large) {
        return Advice::structured(&["diameter2"], Structure::DiameterTwo(diameter));
    }
    if diameter.is_near() {
        let reason = Structure::DiameterTwo(diameter);
        return Advice::compared(&["diameter2", "updn"], &["nue", "dfsssp"], reason);
    }
    let reason = Structure::Unknown {
        tree: no_tree,
        grid: no_grid,
        dragonfly: no_dragonfly,
    };
    Advice::compared(&["updn"], &["nue", "dfsssp"], reason)
}

/// Trees are routed on one VL, if others are not clearly better: incremental reroutes are fast, and
/// programs that choose their own SL cannot cause a credit loop. Routes on one VL stay there,
/// because a change to several would drop packets.
fn advice_for_tree(request: &RoutingRequest<'_>, tree: &DetectedTree) -> Advice {
    let is_regular = is_regular(request.topo, tree);
    let on_tree = |structured, baseline, candidates| Advice {
        structured: on_one_vl(structured),
        baseline: on_one_vl(baseline),
        candidates,
        several_vls: SeveralVls::IfClearlyBetter,
        reason: Structure::Tree {
            is_regular,
            figures: TreeFigures::from_tree(tree),
        },
    };
    if is_regular {
        return on_tree(&["dmodc"], &["updn"], Vec::new());
    }
    let candidates = if request.previous.is_on_one_vl() {
        on_one_vl(&["ftree", "updn", "dfsssp", "nue"])
    } else {
        let mut candidates = on_one_vl(&["ftree", "updn"]);
        candidates.extend([
            // It uses one VL if that is enough for its paths.
            EngineTrial::on_all_vls("dfsssp"),
            EngineTrial::on_one_vl("nue"),
            EngineTrial::on_all_vls("nue"),
        ]);
        candidates
    };
    on_tree(&[], &["dmodc", "updn"], candidates)
}

/// Whether all switches of a level have the same number of uplinks and of downlinks.
fn is_regular(topo: &Topology, tree: &DetectedTree) -> bool {
    let mut by_level: Vec<Option<(usize, usize)>> = vec![None; tree.levels()];
    tree.level_links == 0
        && topo.switches().all(|s| {
            let rank = |s: SwitchIdx| tree.rank[s.index()];
            let up = topo
                .links(s)
                .iter()
                .filter(|l| rank(l.peer) > rank(s))
                .count();
            let links = (up, topo.links(s).len() - up);
            let level = by_level.get_mut(rank(s) as usize);
            level.is_some_and(|level| *level.get_or_insert(links) == links)
        })
}
