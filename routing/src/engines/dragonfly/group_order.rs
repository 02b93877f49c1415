//! Which of two groups is above the other, for paths with two global hops.
//!
//! Two groups without a direct link communicate through a third group that is above both. The first
//! global hop leads up, the second down, on a higher VL. The relation need not be transitive: no
//! path has more than two global hops. Half of all groups are on average above a given group, so a
//! quarter of them are above both groups of a pair.

use std::collections::BTreeSet;

use super::groups::GroupGraph;

/// Rounds in which the relation is changed for pairs without a common group above them.
const ROUNDS_MAX: usize = 8;

/// The relation.
#[derive(Debug)]
pub(super) struct GroupOrder {
    groups: usize,
    /// By ordered pair: whether the first is above the second.
    above: Vec<bool>,
}

impl GroupOrder {
    /// A relation in which each of the pairs of groups has a group above both, if it has a common
    /// neighbour.
    pub(super) fn new(groups: &GroupGraph<'_>, pairs: &BTreeSet<(usize, usize)>) -> Self {
        let num_groups = groups.len();
        let mut order = Self {
            groups: num_groups,
            above: vec![false; num_groups * num_groups],
        };
        for a in 0..num_groups {
            for b in a + 1..num_groups {
                let is_above = mix((a * num_groups + b) as u64).is_multiple_of(2);
                order.set(a, b, is_above);
            }
        }
        let mut fixed: BTreeSet<(usize, usize)> = BTreeSet::new();
        for round in 0..ROUNDS_MAX {
            let unserved: Vec<(usize, usize)> = pairs
                .iter()
                .copied()
                .filter(|&(a, b)| order.common(groups, a, b).next().is_none())
                .collect();
            for &(a, b) in &unserved {
                let is_fixed =
                    |m: usize, g: usize| fixed.contains(&(g, m)) && !order.is_above(m, g);
                let best = neighbours(groups, a, b).min_by_key(|&m| {
                    let number = ((round * num_groups + a) * num_groups + b) * num_groups + m;
                    (is_fixed(m, a) || is_fixed(m, b), mix(number as u64))
                });
                for (m, g) in best.into_iter().flat_map(|m| [(m, a), (m, b)]) {
                    order.set(m, g, true);
                    fixed.insert((m, g));
                    fixed.insert((g, m));
                }
            }
            if unserved.is_empty() {
                break;
            }
        }
        order
    }

    fn set(&mut self, a: usize, b: usize, is_above: bool) {
        self.above[a * self.groups + b] = is_above;
        self.above[b * self.groups + a] = !is_above;
    }

    pub(super) fn is_above(&self, a: usize, b: usize) -> bool {
        self.above[a * self.groups + b]
    }

    /// Groups above both.
    pub(super) fn common<'a>(
        &'a self,
        groups: &'a GroupGraph<'_>,
        a: usize,
        b: usize,
    ) -> impl Iterator<Item = usize> + 'a {
        neighbours(groups, a, b).filter(move |&m| self.is_above(m, a) && self.is_above(m, b))
    }
}

/// Groups with links to both.
fn neighbours<'a>(
    groups: &'a GroupGraph<'_>,
    a: usize,
    b: usize,
) -> impl Iterator<Item = usize> + 'a {
    let has_links = |m: usize, g: usize| !groups.global_channels(m, g).is_empty();
    (0..groups.len()).filter(move |&m| has_links(m, a) && has_links(m, b))
}

/// SplitMix64: spreads numbers evenly, the same on every machine.
pub(super) fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
