//! Polling for a short time before sleeping: a sleep and its wakeup take longer than most replies.
//!
//! A thread does not poll on a machine with one processor, where the peer can only run when this
//! thread stops. It also does not poll while more threads are runnable than there are processors,
//! because the scheduler would then penalise the polling thread by milliseconds.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::time::{ClockId, clock_gettime};

/// Maximum time of polling before sleeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpinWait {
    limit: Duration,
    processors: u32,
}

/// Polls between two readings of the clock.
const POLLS_PER_CLOCK_READ: u32 = 64;
/// Interval of reading the number of runnable threads, ns.
const LOAD_INTERVAL_NS: u64 = 5_000_000;
/// Time between two readings of the clock above which the thread was preempted, ns.
const PREEMPTED_NS: u64 = 500_000;

/// Time of the last reading of the number of runnable threads, ns; shared by all threads.
static LOAD_READ_NS: AtomicU64 = AtomicU64::new(0);
/// Whether more threads were runnable than there are processors.
static OVERLOADED: AtomicBool = AtomicBool::new(false);

impl SpinWait {
    /// Polls for at most `limit`; not at all if this process may run on one processor only.
    #[must_use]
    pub fn new(limit: Duration) -> Self {
        let processors = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count());
        Self {
            limit: if processors < 2 {
                Duration::ZERO
            } else {
                limit
            },
            processors,
        }
    }

    /// Polls until `ready` returns true or the time is over; returns its last result.
    pub fn until(self, mut ready: impl FnMut() -> bool) -> bool {
        if ready() {
            return true;
        }
        if self.limit.is_zero() {
            return false;
        }
        let start = now_ns();
        if self.is_overloaded(start) {
            return false;
        }
        let limit = u64::try_from(self.limit.as_nanos()).unwrap_or(u64::MAX);
        let mut last = start;
        loop {
            for _ in 0..POLLS_PER_CLOCK_READ {
                if ready() {
                    return true;
                }
                std::hint::spin_loop();
            }
            let now = now_ns();
            if now - last > PREEMPTED_NS {
                OVERLOADED.store(true, Ordering::Relaxed);
                LOAD_READ_NS.store(now, Ordering::Relaxed);
                return ready();
            }
            if now - start >= limit {
                return ready();
            }
            last = now;
        }
    }

    fn is_overloaded(self, now: u64) -> bool {
        if now.saturating_sub(LOAD_READ_NS.load(Ordering::Relaxed)) > LOAD_INTERVAL_NS {
            LOAD_READ_NS.store(now, Ordering::Relaxed);
            let overloaded = runnable_threads().is_some_and(|n| n > self.processors);
            OVERLOADED.store(overloaded, Ordering::Relaxed);
        }
        OVERLOADED.load(Ordering::Relaxed)
    }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let s = now.tv_sec.cast_unsigned();
    let ns = now.tv_nsec.cast_unsigned();
    s * 1_000_000_000 + ns
}

/// Runnable threads of the system, including this one; `None` if unknown.
fn runnable_threads() -> Option<u32> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open("/proc/loadavg", flags, Mode::empty()).ok()?;
    let mut text = [0; 64];
    let length = rustix::io::read(&file, &mut text).ok()?;
    parse_runnable(std::str::from_utf8(&text[..length]).ok()?)
}

/// The number before the slash in `0.31 0.20 0.10 2/345 6789`.
fn parse_runnable(text: &str) -> Option<u32> {
    text.split_ascii_whitespace()
        .nth(3)?
        .split_once('/')?
        .0
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runnable_threads_are_parsed_from_loadavg() {
        assert_eq!(parse_runnable("0.31 0.20 0.10 2/345 6789\n"), Some(2));
        assert_eq!(parse_runnable("nonsense"), None);
        assert!(runnable_threads().is_some_and(|n| n >= 1));
    }

    #[test]
    fn polling_ends_when_ready_or_at_the_limit() {
        let spin = SpinWait::new(Duration::from_micros(50));
        assert!(spin.until(|| true));
        assert!(!spin.until(|| false));
        assert!(!SpinWait::new(Duration::ZERO).until(|| false));
    }
}
