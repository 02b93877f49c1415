//! Time as a value: nanoseconds since the start of the run.
//!
//! The core and the simulator receive the time as input and read no clock, so runs are repeatable.
//! Only the daemon converts a clock to [`Instant`]s.

use core::fmt;
use core::ops::{Add, Sub};
use core::time::Duration;

/// A point in time, relative to the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant {
    ns: u64,
}

impl Instant {
    /// The start of the run.
    pub const START: Self = Self { ns: 0 };

    /// `ns` nanoseconds after the start.
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self { ns }
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.ns
    }

    /// Time from `earlier` to `self`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.ns.saturating_sub(earlier.ns))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self {
            ns: self
                .ns
                .saturating_add(u64::try_from(d.as_nanos()).unwrap_or(u64::MAX)),
        }
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09}s",
            self.ns / 1_000_000_000,
            self.ns % 1_000_000_000
        )
    }
}
