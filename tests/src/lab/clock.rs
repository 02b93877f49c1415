//! The clock of a simulated SM, which may run fast, slow or ahead.

use std::time::Duration;

use ferrosm_mad::time::Instant;

/// Clock of an SM relative to simulated time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clock {
    /// Rate difference in millionths; negative if slower.
    pub ppm: i32,
    /// Local time at the start of the simulation.
    pub ahead: Duration,
}

impl Clock {
    fn rate(self) -> u128 {
        u128::try_from(1_000_000 + i64::from(self.ppm)).unwrap_or(1)
    }

    /// Local time at a simulated time.
    #[must_use]
    pub fn local_time(self, now: Instant) -> Instant {
        let ns = u128::from(now.as_nanos()) * self.rate() / 1_000_000;
        let ns = u64::try_from(ns).unwrap_or(u64::MAX);
        Instant::START + Duration::from_nanos(ns) + self.ahead
    }

    /// Unix time at a simulated time.
    #[must_use]
    pub fn unix_s(self, now: Instant) -> u64 {
        unix_s(self.local_time(now))
    }

    /// First simulated time at which the clock shows `shown`.
    pub(super) fn world_time(self, shown: Instant) -> Instant {
        let ns = shown.since(Instant::START + self.ahead).as_nanos() * 1_000_000;
        let ns = u64::try_from(ns.div_ceil(self.rate())).unwrap_or(u64::MAX);
        Instant::START + Duration::from_nanos(ns)
    }
}

/// Unix time in the simulation, which starts at 0, at an SM's local time.
pub(super) const fn unix_s(local: Instant) -> u64 {
    local.as_nanos() / 1_000_000_000
}
