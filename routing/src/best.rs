//! Which of several proven routings is taken, where the choice is free.
//!
//! Two figures count. Routes over the busiest channel ([`Proof::max_load`]): when everybody sends to everybody, all wait for
//! that one. Flows over the busiest channel in a shift, on average ([`crate::quality::Shift`]): when everybody sends to one
//! other, as in the stages of a collective. Better by one may be worse by the other, so they are multiplied; the first counts
//! twice (its square), since it does not depend on the order in which a program numbers its processes. The least product is
//! best. Products within a few percent of it are equal: of these the one that moves the fewest entries of what is installed
//! is taken, of those the one with the fewest lanes, and of those the one that was advised first. So a restart on the same
//! fabric moves nothing. It knows nothing of engines, and no clock.

use crate::diagnostics::{Diagnostic, RoutingFigures};
use crate::engine::{Request, Routing};
use crate::quality::{Effort, shifts_by_leaf};
use crate::verify::Proof;

/// Products that are so many hundredths of the least are as good.
const AS_GOOD: f64 = 1.05;

/// Shifts that are tried of each routing.
const SHIFTS: usize = 64;

/// The best of some routings, which are in the order of advice; and a note that says what was compared, if there is a choice.
pub(crate) fn best(
    request: &Request<'_>,
    mut passed: Vec<(Routing, Proof)>,
) -> (Option<(Routing, Proof)>, Option<Diagnostic>) {
    if passed.len() < 2 {
        return (passed.pop(), None);
    }
    let effort = Effort {
        shifts_max: SHIFTS,
        ..Effort::default()
    };
    let shift = |(routing, _): &(Routing, Proof)| {
        shifts_by_leaf(request.topo, &routing.tables, &effort).mean
    };
    let shifts: Vec<f64> = passed.iter().map(shift).collect();
    let figures = passed
        .iter()
        .zip(&shifts)
        .map(|((routing, proof), &shift)| Figures {
            max_load: proof.max_load,
            shift,
            lanes: proof.vls_used,
            moved: moved(request, routing),
        });
    let figures: Vec<Figures> = figures.collect();
    let at = choose(&figures);
    let compared = passed
        .iter()
        .zip(&figures)
        .map(|((routing, _), figures)| RoutingFigures {
            engine: routing.engine,
            max_load: figures.max_load,
            shift: figures.shift,
            vls: figures.lanes,
        });
    let note = Diagnostic::Compared {
        routings: compared.collect(),
        best: passed[at].0.engine,
    };
    (Some(passed.swap_remove(at)), Some(note))
}

/// What counts of a routing.
#[derive(Debug, Clone, Copy)]
struct Figures {
    max_load: u64,
    shift: f64,
    lanes: u8,
    moved: usize,
}

/// Entries that differ from what is installed, as far as that is known.
fn moved(request: &Request<'_>, routing: &Routing) -> usize {
    let known = |s: usize| request.previous.get(s);
    let tables = routing.tables.iter().enumerate();
    tables
        .filter_map(|(s, new)| Some((known(s)?, new)))
        .map(|(old, new)| {
            let lids = request.topo.destinations().iter();
            lids.filter(|d| old.get(d.lid) != new.get(d.lid)).count()
        })
        .sum()
}

impl Figures {
    fn product(self) -> f64 {
        let max_load = self.max_load as f64;
        max_load * max_load * self.shift
    }
}

/// The place of the best; 0 if there are none.
fn choose(figures: &[Figures]) -> usize {
    let least = figures
        .iter()
        .map(|f| f.product())
        .fold(f64::INFINITY, f64::min);
    let good = (0..figures.len()).filter(|&i| figures[i].product() <= least * AS_GOOD);
    good.min_by_key(|&i| (figures[i].moved, figures[i].lanes, i))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(list: &[(u64, f64, u8)]) -> usize {
        let figures = list.iter().map(|&(max_load, shift, lanes)| Figures {
            max_load,
            shift,
            lanes,
            moved: 0,
        });
        choose(&figures.collect::<Vec<_>>())
    }

    #[test]
    fn the_busiest_cable_counts_more_than_the_shift() {
        assert_eq!(of(&[(376, 6.7, 4), (298, 6.75, 5), (234, 7.0, 5)]), 2);
        assert_eq!(of(&[(216, 4.2, 8), (132, 6.7, 8)]), 1);
    }

    #[test]
    fn a_little_less_load_is_not_worth_much_worse_shifts() {
        assert_eq!(of(&[(120, 3.7, 2), (112, 6.2, 8)]), 0);
    }

    #[test]
    fn of_equals_the_fewest_lanes_then_the_first() {
        assert_eq!(of(&[(100, 2.0, 4), (101, 2.0, 1), (99, 2.0, 2)]), 1);
        assert_eq!(of(&[(100, 2.0, 2), (99, 2.0, 2)]), 0);
    }

    #[test]
    fn of_equals_what_is_installed_stays() {
        let figures = |max_load, lanes, moved| Figures {
            max_load,
            shift: 2.0,
            lanes,
            moved,
        };
        assert_eq!(choose(&[figures(100, 1, 40), figures(101, 2, 0)]), 1);
        assert_eq!(choose(&[figures(100, 1, 40), figures(120, 2, 0)]), 0);
    }

    #[test]
    fn nothing_to_carry_is_equal() {
        assert_eq!(of(&[(0, 0.0, 1), (0, 0.0, 1)]), 0);
    }
}
