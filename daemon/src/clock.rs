//! Clocks: the monotonic clock of a subnet manager, and time since boot.

use core::time::Duration;

use ferrosm_mad::time::Instant;

/// Monotonic time since [`Clock::start`], as passed to the subnet manager.
#[derive(Debug, Clone, Copy)]
pub struct Clock(std::time::Instant);

impl Clock {
    /// A clock that reads zero now.
    #[must_use]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Time since the start.
    #[must_use]
    pub fn now(self) -> Instant {
        Instant::from_nanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Converts `t` to the time of the runtime's timers.
    pub(crate) fn to_tokio(self, t: Instant) -> tokio::time::Instant {
        (self.0 + Duration::from_nanos(t.as_nanos())).into()
    }
}

/// Nanoseconds since 1970, for captured packets.
#[must_use]
pub fn unix_ns() -> u64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Time since boot, including suspension: peers run while this machine is suspended.
pub(crate) fn since_boot() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let now = clock_gettime(ClockId::Boottime);
    let to_u64 = |n: i64| u64::try_from(n).unwrap_or(0);
    Duration::from_secs(to_u64(now.tv_sec)) + Duration::from_nanos(to_u64(now.tv_nsec))
}
