//! Selects the best of several verified routings.
//!
//! Two figures count: routes over the busiest channel ([`Proof::max_load`]), which limit all-to-all
//! traffic, and the mean number of flows over the busiest channel in a shift permutation
//! ([`crate::quality::ShiftCongestion`]), which limit the stages of a collective. The cost is
//! `max_load` squared times the shift figure; `max_load` has the greater weight because it does not
//! depend on the order in which a program numbers its processes. Routings within 5 % of the lowest
//! cost count as equal: of these, the one that changes the fewest installed entries is selected,
//! then the one with the fewest VLs, then the first. A restart on an unchanged fabric therefore
//! changes no entry. On trees, a routing on several VLs must be clearly better ([`SeveralVls`]).

use crate::messages::{DecidedBy, Diagnostic, RoutingFigures};
use crate::quality::{Effort, shifts_by_leaf};
use crate::request::RoutingRequest;
use crate::routing::Routing;
use crate::verify::Proof;

/// Costs up to this multiple of the lowest count as equal.
const COST_TOLERANCE: f64 = 1.05;

/// On trees, the cost of a routing on several VLs counts as this multiple.
const SEVERAL_VLS_FACTOR: f64 = 1.5;

/// Whether a routing on several VLs may be selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeveralVls {
    /// By its cost alone.
    Allowed,
    /// If its cost is lower by [`SEVERAL_VLS_FACTOR`] than that of the routings on one VL.
    IfClearlyBetter,
}

/// Number of shift permutations evaluated per routing.
const SHIFTS_MAX: usize = 64;

/// Returns the best of the routings, which are in order of preference, and a diagnostic if there
/// was more than one.
pub(crate) fn select_best(
    request: &RoutingRequest<'_>,
    mut passed: Vec<(Routing, Proof)>,
    several_vls: SeveralVls,
) -> (Option<(Routing, Proof)>, Option<Diagnostic>) {
    if passed.len() < 2 {
        return (passed.pop(), None);
    }
    let effort = Effort {
        shifts_max: SHIFTS_MAX,
        ..Effort::default()
    };
    let shift = |(routing, _): &(Routing, Proof)| {
        shifts_by_leaf(request.topo, &routing.tables, &effort).mean
    };
    let shifts: Vec<f64> = passed.iter().map(shift).collect();
    let figures: Vec<RoutingFigures> = passed
        .iter()
        .zip(&shifts)
        .map(|((routing, proof), &shift)| RoutingFigures {
            engine: routing.engine,
            max_load: proof.max_load,
            shift,
            vls: proof.vls_used,
            changed_entries: changed_entries(request, routing),
        })
        .collect();
    let (best, decided_by) = best_index(&figures, several_vls);
    let diagnostic = Diagnostic::Compared {
        routings: figures,
        best: passed[best].0.engine,
        decided_by,
    };
    (Some(passed.swap_remove(best)), Some(diagnostic))
}

/// Number of entries that differ from the installed tables, as far as these are known.
fn changed_entries(request: &RoutingRequest<'_>, routing: &Routing) -> usize {
    let known = |s: usize| request.previous.table_of(s);
    routing
        .tables
        .iter()
        .enumerate()
        .filter_map(|(s, new)| Some((known(s)?, new)))
        .map(|(old, new)| {
            request
                .topo
                .destinations()
                .iter()
                .filter(|d| old.get(d.lid) != new.get(d.lid))
                .count()
        })
        .sum()
}

fn cost(figures: &RoutingFigures) -> f64 {
    let max_load = figures.max_load as f64;
    max_load * max_load * figures.shift
}

/// Index of the best routing, and what decided; 0 if there are none.
fn best_index(figures: &[RoutingFigures], several_vls: SeveralVls) -> (usize, DecidedBy) {
    let weighted = |f: &RoutingFigures| match several_vls {
        SeveralVls::IfClearlyBetter if f.vls > 1 => cost(f) * SEVERAL_VLS_FACTOR,
        SeveralVls::Allowed | SeveralVls::IfClearlyBetter => cost(f),
    };
    let lowest = figures.iter().map(weighted).fold(f64::INFINITY, f64::min);
    let is_good_enough = |i: &usize| weighted(&figures[*i]) <= lowest * COST_TOLERANCE;
    let changed_and_vls = |i: usize| (figures[i].changed_entries, figures[i].vls);
    let mut equal: Vec<usize> = (0..figures.len()).filter(is_good_enough).collect();
    equal.sort_by_key(|&i| (changed_and_vls(i), i));
    let Some(&best) = equal.first() else {
        return (0, DecidedBy::Preference);
    };
    let (changed_entries, vls) = changed_and_vls(best);
    let is_better = |f: &RoutingFigures| cost(f) * COST_TOLERANCE < cost(&figures[best]);
    if let Some(other) = figures
        .iter()
        .filter(|f| is_better(f))
        .min_by(|a, b| cost(a).total_cmp(&cost(b)))
    {
        return (
            best,
            DecidedBy::OneVl {
                better: other.engine,
            },
        );
    }
    let decided_by = match equal.get(1).map(|&second| changed_and_vls(second)) {
        None => DecidedBy::Load,
        Some((others, _)) if others > changed_entries => DecidedBy::ChangedEntries,
        Some((_, others)) if others > vls => DecidedBy::Vls,
        Some(_) => DecidedBy::Preference,
    };
    (best, decided_by)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best_of(list: &[(u64, f64, u8)]) -> usize {
        let figures = list.iter().map(|&(max_load, shift, vls)| RoutingFigures {
            engine: "",
            max_load,
            shift,
            vls,
            changed_entries: 0,
        });
        best_index(&figures.collect::<Vec<_>>(), SeveralVls::Allowed).0
    }

    #[test]
    fn max_load_has_more_weight_than_shifts() {
        assert_eq!(best_of(&[(376, 6.7, 4), (298, 6.75, 5), (234, 7.0, 5)]), 2);
        assert_eq!(best_of(&[(216, 4.2, 8), (132, 6.7, 8)]), 1);
    }

    #[test]
    fn slightly_lower_load_does_not_outweigh_much_worse_shifts() {
        assert_eq!(best_of(&[(120, 3.7, 2), (112, 6.2, 8)]), 0);
    }

    #[test]
    fn on_trees_several_vls_must_be_clearly_better() {
        let on = |max_load, vls| RoutingFigures {
            engine: if vls == 1 { "dmodc" } else { "dfsssp" },
            max_load,
            shift: 2.0,
            vls,
            changed_entries: 0,
        };
        let best = |max_load| {
            let figures = [on(120, 1), on(max_load, 4)];
            best_index(&figures, SeveralVls::IfClearlyBetter)
        };
        // (120 / 100)² = 1.44, (120 / 95)² = 1.6.
        assert_eq!(best(100), (0, DecidedBy::OneVl { better: "dfsssp" }));
        assert_eq!(best(95), (1, DecidedBy::Load));
        // Equal loads, and a worse one.
        assert_eq!(best(119), (0, DecidedBy::Load));
        assert_eq!(best(130), (0, DecidedBy::Load));
    }

    #[test]
    fn equal_costs_are_decided_by_vls_then_order() {
        assert_eq!(best_of(&[(100, 2.0, 4), (101, 2.0, 1), (99, 2.0, 2)]), 1);
        assert_eq!(best_of(&[(100, 2.0, 2), (99, 2.0, 2)]), 0);
    }

    #[test]
    fn equal_costs_are_decided_by_changed_entries_first() {
        let figures = |max_load, vls, changed_entries| RoutingFigures {
            engine: "",
            max_load,
            shift: 2.0,
            vls,
            changed_entries,
        };
        let [old, new] = [figures(101, 2, 0), figures(100, 1, 40)];
        assert_eq!(
            best_index(&[new, old], SeveralVls::Allowed),
            (1, DecidedBy::ChangedEntries)
        );
        let slow = figures(120, 2, 0);
        assert_eq!(
            best_index(&[new, slow], SeveralVls::Allowed),
            (0, DecidedBy::Load)
        );
        assert_eq!(
            best_index(&[figures(100, 2, 40), new], SeveralVls::Allowed),
            (1, DecidedBy::Vls)
        );
        assert_eq!(
            best_index(&[new, new], SeveralVls::Allowed),
            (0, DecidedBy::Preference)
        );
    }

    #[test]
    fn first_is_selected_without_any_load() {
        assert_eq!(best_of(&[(0, 0.0, 1), (0, 0.0, 1)]), 0);
    }
}
