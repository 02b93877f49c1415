//! Sets of channel dependencies as bit sets.

use crate::topology::{ChannelNumbering, index_to_u32};

/// A dependency: packets arrive over the first channel and leave over the second.
pub(crate) type Dependency = (u32, u32);

/// Dependencies by their first channel: a row of bits, one for each channel that leaves the next
/// switch.
#[derive(Debug, Clone)]
pub(crate) struct DependencySet {
    pub(super) words_per_row: usize,
    pub(super) rows: Vec<u64>,
}

impl DependencySet {
    pub(crate) fn empty(channels: &impl ChannelNumbering) -> Self {
        let words_per_row = channels.max_degree().div_ceil(64).max(1);
        Self {
            words_per_row,
            rows: vec![0; channels.len() * words_per_row],
        }
    }

    /// Number of channels.
    pub(super) fn channels(&self) -> usize {
        self.rows.len() / self.words_per_row
    }

    #[inline(always)]
    fn locate(&self, channels: &impl ChannelNumbering, (x, y): Dependency) -> (usize, u64) {
        let bit = y - channels.first_after(x);
        (
            x as usize * self.words_per_row + bit as usize / 64,
            1 << (bit % 64),
        )
    }

    #[inline(always)]
    pub(crate) fn contains(
        &self,
        channels: &impl ChannelNumbering,
        dependency: Dependency,
    ) -> bool {
        let (word, bit) = self.locate(channels, dependency);
        self.rows[word] & bit != 0
    }

    /// Adds a dependency; returns whether it is new.
    #[inline(always)]
    pub(crate) fn insert(&mut self, channels: &impl ChannelNumbering, new: Dependency) -> bool {
        let (word, bit) = self.locate(channels, new);
        let is_new = self.rows[word] & bit == 0;
        self.rows[word] |= bit;
        is_new
    }

    pub(super) fn remove(&mut self, channels: &impl ChannelNumbering, old: Dependency) {
        let (word, bit) = self.locate(channels, old);
        self.rows[word] &= !bit;
    }

    /// Adds all dependencies of another set of the same channels.
    pub(crate) fn union_with(&mut self, other: &Self) {
        for (a, b) in self.rows.iter_mut().zip(&other.rows) {
            *a |= b;
        }
    }

    /// The channels over which packets that arrive over `x` leave, ascending.
    #[inline(always)]
    pub(crate) fn after<C: ChannelNumbering>(
        &self,
        channels: &C,
        x: u32,
    ) -> impl Iterator<Item = u32> + use<'_, C> {
        let first = channels.first_after(x);
        let row = &self.rows[x as usize * self.words_per_row..][..self.words_per_row];
        set_bits(row).map(move |bit| first + bit)
    }

    /// All dependencies.
    pub(crate) fn iter(
        &self,
        channels: &impl ChannelNumbering,
    ) -> impl Iterator<Item = Dependency> {
        (0..index_to_u32(self.channels()))
            .flat_map(|x| self.after(channels, x).map(move |y| (x, y)))
    }

    /// The channels in topological order; incomplete if there is a cycle.
    pub(crate) fn topological_order(&self, channels: &impl ChannelNumbering) -> Vec<u32> {
        let n = self.channels();
        let mut in_degree = vec![0u32; n];
        for (_, y) in self.iter(channels) {
            in_degree[y as usize] += 1;
        }
        let mut order: Vec<u32> = (0..index_to_u32(n))
            .filter(|&c| in_degree[c as usize] == 0)
            .collect();
        let mut position = 0;
        while let Some(&x) = order.get(position) {
            position += 1;
            for y in self.after(channels, x) {
                in_degree[y as usize] -= 1;
                if in_degree[y as usize] == 0 {
                    order.push(y);
                }
            }
        }
        order
    }

    pub(crate) fn is_acyclic(&self, channels: &impl ChannelNumbering) -> bool {
        self.topological_order(channels).len() == self.channels()
    }

    /// The channels of a short cycle in order; `None` if there is no cycle.
    pub(crate) fn find_cycle(&self, channels: &impl ChannelNumbering) -> Option<Vec<u32>> {
        let n = self.channels();
        let order = self.topological_order(channels);
        if order.len() == n {
            return None;
        }
        let mut remaining = vec![true; n];
        order.iter().for_each(|&c| remaining[c as usize] = false);
        // Every remaining channel has a predecessor that remains, so going backwards ends in a
        // cycle.
        let mut predecessor = vec![u32::MAX; n];
        for x in (0..index_to_u32(n)).filter(|&x| remaining[x as usize]) {
            self.after(channels, x)
                .for_each(|y| predecessor[y as usize] = x);
        }
        let mut start = (0..index_to_u32(n)).find(|&x| remaining[x as usize])?;
        for _ in 0..n {
            start = predecessor[start as usize];
        }
        // Breadth-first search from this channel back to itself finds a shortest cycle through it.
        let mut from = vec![u32::MAX; n];
        let mut queue = vec![start];
        let mut position = 0;
        while let Some(&x) = queue.get(position) {
            position += 1;
            for y in self.after(channels, x).filter(|&y| remaining[y as usize]) {
                if y == start {
                    let mut cycle = vec![x];
                    while let Some(&last) = cycle.last().filter(|&&last| last != start) {
                        cycle.push(from[last as usize]);
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                if from[y as usize] == u32::MAX {
                    from[y as usize] = x;
                    queue.push(y);
                }
            }
        }
        None
    }
}

/// Indices of the set bits, ascending.
#[inline(always)]
pub(super) fn set_bits(words: &[u64]) -> impl Iterator<Item = u32> + use<'_> {
    (0u32..).step_by(64).zip(words).flat_map(|(base, &word)| {
        let mut remaining = word;
        std::iter::from_fn(move || {
            (remaining != 0).then(|| {
                let bit = remaining.trailing_zeros();
                remaining &= remaining - 1;
                base + bit
            })
        })
    })
}
