//! Looking again for a short while before sleeping: a sleep and its wakeup cost more than most answers take.
//!
//! Only where it does not take a processor from somebody who would use it: not on a machine with one processor,
//! where the other side can only run when we stop, and not while more threads want to run than there are processors
//! (then a spinner is scheduled late for having spun, and whoever waits for it waits for milliseconds).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::time::{ClockId, clock_gettime};

/// How long to look before sleeping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpinWait {
    limit: Duration,
    processors: u32,
}

/// Turns between two looks at the clock.
const TURNS: u32 = 64;
/// Time between two looks at how many threads want to run, ns.
const LOOK_NS: u64 = 5_000_000;
/// Between two looks at the clock a spinner is gone this long only if somebody else had the processor, ns.
const PREEMPTED_NS: u64 = 500_000;

/// When the system was last asked, ns; shared by all threads, and wrong only for a moment.
static ASKED_NS: AtomicU64 = AtomicU64::new(0);
/// What it said.
static CROWDED: AtomicBool = AtomicBool::new(false);

impl SpinWait {
    /// For at most `limit`; not at all if this process may only run on one processor.
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

    /// Looks until `ready` is true or the time is over; what `ready` said last.
    pub fn until(self, mut ready: impl FnMut() -> bool) -> bool {
        if ready() {
            return true;
        }
        if self.limit.is_zero() {
            return false;
        }
        let start = now_ns();
        if self.is_crowded(start) {
            return false;
        }
        let limit = u64::try_from(self.limit.as_nanos()).unwrap_or(u64::MAX);
        let mut last = start;
        loop {
            for _ in 0..TURNS {
                if ready() {
                    return true;
                }
                std::hint::spin_loop();
            }
            let now = now_ns();
            if now - last > PREEMPTED_NS {
                CROWDED.store(true, Ordering::Relaxed);
                ASKED_NS.store(now, Ordering::Relaxed);
                return ready();
            }
            if now - start >= limit {
                return ready();
            }
            last = now;
        }
    }

    fn is_crowded(self, now: u64) -> bool {
        if now.saturating_sub(ASKED_NS.load(Ordering::Relaxed)) > LOOK_NS {
            ASKED_NS.store(now, Ordering::Relaxed);
            let crowded = runnable_threads().is_some_and(|n| n > self.processors);
            CROWDED.store(crowded, Ordering::Relaxed);
        }
        CROWDED.load(Ordering::Relaxed)
    }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let (s, ns) = (now.tv_sec.cast_unsigned(), now.tv_nsec.cast_unsigned());
    s * 1_000_000_000 + ns
}

/// Threads of the whole system that run or want to, this one included; `None` if the system does not tell.
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
    fn the_system_tells_how_many_threads_want_to_run() {
        assert_eq!(parse_runnable("0.31 0.20 0.10 2/345 6789\n"), Some(2));
        assert_eq!(parse_runnable("nonsense"), None);
        assert!(runnable_threads().is_some_and(|n| n >= 1));
    }

    #[test]
    fn what_is_ready_is_seen_and_what_is_not_ends() {
        let spin = SpinWait::new(Duration::from_micros(50));
        assert!(spin.until(|| true));
        assert!(!spin.until(|| false));
        assert!(!SpinWait::new(Duration::ZERO).until(|| false));
    }
}
