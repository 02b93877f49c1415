//! Looking again for a short while before sleeping: a sleep and its wakeup cost more than most answers take.
//!
//! Never spins on a machine with one processor, where the other side can only run when we stop.

use std::time::{Duration, Instant};

/// How long to look before sleeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spin {
    limit: Duration,
}

/// Turns between two looks at the clock.
const TURNS: u32 = 64;

impl Spin {
    /// For at most `limit`; not at all if this process may only run on one processor.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        let alone = rustix::thread::sched_getaffinity(None).is_ok_and(|set| set.count() < 2);
        Self {
            limit: if alone { Duration::ZERO } else { limit },
        }
    }

    /// Looks until `ready` is true or the time is over; what `ready` said last.
    pub fn until(self, mut ready: impl FnMut() -> bool) -> bool {
        if ready() {
            return true;
        }
        if self.limit.is_zero() {
            return false;
        }
        let start = Instant::now();
        loop {
            for _ in 0..TURNS {
                if ready() {
                    return true;
                }
                std::hint::spin_loop();
            }
            if start.elapsed() >= self.limit {
                return ready();
            }
            // Others may have work for this processor; alone on it, this is a short call.
            rustix::thread::sched_yield();
        }
    }
}
