//! Sets of numbers, written as ranges: GUIDs, service ids, P_Keys, classes, path bits.

use serde::{Deserialize, Serialize};

/// A set of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RangeSet {
    /// In order, none touching the next.
    ranges: Vec<(u64, u64)>,
}

impl RangeSet {
    /// No number.
    pub const NONE: Self = Self { ranges: Vec::new() };

    /// From pairs of first and last number, in any order; a pair may be turned around.
    #[must_use]
    pub fn new(pairs: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut pairs: Vec<(u64, u64)> = pairs
            .into_iter()
            .map(|(a, b)| (a.min(b), a.max(b)))
            .collect();
        pairs.sort_unstable();
        let mut ranges: Vec<(u64, u64)> = Vec::with_capacity(pairs.len());
        for (from, to) in pairs {
            match ranges.last_mut() {
                Some(last) if from <= last.1.saturating_add(1) => last.1 = last.1.max(to),
                _ => ranges.push((from, to)),
            }
        }
        Self { ranges }
    }

    /// One number.
    #[must_use]
    pub fn single(number: u64) -> Self {
        Self::new([(number, number)])
    }

    /// Whether there is none in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether this number is in it.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        let at = self.ranges.partition_point(|(_, to)| *to < number);
        self.ranges.get(at).is_some_and(|(from, _)| *from <= number)
    }

    /// The smallest number.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.ranges.first().map(|(from, _)| *from)
    }

    /// First and last number of each range, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.ranges.iter().copied()
    }

    /// Adds what is in another set.
    pub fn extend(&mut self, other: &Self) {
        *self = Self::new(self.iter().chain(other.iter()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_ends_of_all_numbers() {
        let all = RangeSet::new([(u64::MAX, 0)]);
        assert!(all.contains(0) && all.contains(u64::MAX));
        let last = RangeSet::new([(u64::MAX, u64::MAX), (u64::MAX, u64::MAX)]);
        assert!(last.contains(u64::MAX) && !last.contains(u64::MAX - 1));
        assert!(RangeSet::default().is_empty() && !RangeSet::default().contains(0));
    }

    proptest! {
        /// As a look at every pair says; no two ranges could be one.
        #[test]
        fn a_number_is_in_it_if_it_is_in_a_pair(pairs in prop::collection::vec((0u64..40, 0u64..40), 0..8)) {
            let ranges = RangeSet::new(pairs.iter().copied());
            for n in 0..42 {
                let listed = pairs.iter().any(|(a, b)| (a.min(b)..=a.max(b)).contains(&&n));
                prop_assert_eq!(ranges.contains(n), listed);
            }
            let normalized: Vec<_> = ranges.iter().collect();
            prop_assert!(normalized.windows(2).all(|w| w[0].1 + 1 < w[1].0));
            let mut twice = ranges.clone();
            twice.extend(&ranges);
            prop_assert_eq!(twice, ranges);
        }
    }
}
