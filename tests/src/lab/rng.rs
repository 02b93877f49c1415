//! Random numbers of tests: the same seed gives the same numbers.

/// Random numbers from a seed (SplitMix64).
#[derive(Debug, Clone)]
pub struct TestRng(u64);

impl TestRng {
    /// Starts with a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// 0 to `limit` - 1; 0 if the limit is 0.
    pub const fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 { 0 } else { self.next() % limit }
    }

    /// 0 to `max`, with small numbers more frequent.
    pub const fn upto(&mut self, max: u64) -> u64 {
        let limit = 1 + self.below(1 + max);
        self.below(limit)
    }

    /// An index below `len`.
    #[must_use]
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }

    /// One of these; `None` if there are none.
    pub fn choose<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        all.get(self.index(all.len().max(1))).copied()
    }

    /// True with a probability of 1 / `odds`.
    pub const fn one_in(&mut self, odds: u64) -> bool {
        self.below(odds) == 0
    }

    /// A number from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
