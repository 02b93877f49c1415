//! Sets of numbers as ranges: GUIDs, service IDs, P_Keys, QoS classes, path bits.

use serde::{Deserialize, Serialize};

/// A set of numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RangeSet {
    /// Sorted; adjacent ranges are merged.
    ranges: Vec<(u64, u64)>,
}

impl RangeSet {
    /// The empty set.
    pub const EMPTY: Self = Self { ranges: Vec::new() };

    /// The numbers in any of the ranges; each pair contains the bounds of a range, inclusive, in
    /// any order.
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

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether the set contains a number.
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

    /// First and last number of each range, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.ranges.iter().copied()
    }

    /// Adds the numbers of another set.
    pub fn extend(&mut self, other: &Self) {
        *self = Self::new(self.iter().chain(other.iter()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_may_end_at_the_maximum() {
        let full_range = RangeSet::new([(u64::MAX, 0)]);
        assert!(full_range.contains(0) && full_range.contains(u64::MAX));
        let last = RangeSet::new([(u64::MAX, u64::MAX), (u64::MAX, u64::MAX)]);
        assert!(last.contains(u64::MAX) && !last.contains(u64::MAX - 1));
        assert!(RangeSet::default().is_empty() && !RangeSet::default().contains(0));
    }

    proptest! {
        /// Agrees with a test of every pair; ranges are merged.
        #[test]
        fn membership_agrees_with_a_test_of_every_pair(pairs in prop::collection::vec((0u64..40, 0u64..40), 0..8)) {
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
