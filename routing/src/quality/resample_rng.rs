//! A random number generator (SplitMix64, Steele et al. 2014). A stream depends only on the seed
//! and the sample number, so any thread can draw samples in any order.

/// A stream of random numbers.
pub(super) struct ResampleRng(u64);

impl ResampleRng {
    /// The stream of one sample.
    pub(super) fn new(seed: u64, sample: usize) -> Self {
        let mut start = Self(seed ^ (sample as u64).wrapping_mul(0xD1B5_4A32_D192_ED03));
        Self(start.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A random number below `n` (`n` < 2^32); 0 if `n` is 0.
    pub(super) fn below(&mut self, n: usize) -> usize {
        usize::try_from(((self.next() >> 32) * n as u64) >> 32).unwrap_or(0)
    }

    /// Shuffles uniformly.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 24,000 shuffles of 4 items: each of the 24 orders occurs about 1,000 times.
    #[test]
    fn shuffles_are_uniform() {
        let mut count = std::collections::BTreeMap::new();
        for sample in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            ResampleRng::new(7, sample).shuffle(&mut items);
            *count.entry(items).or_insert(0) += 1;
        }
        assert_eq!(count.len(), 24);
        assert!(count.values().all(|n| (850..1150).contains(n)), "{count:?}");
    }
}
