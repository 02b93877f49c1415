//! Messages to the service manager (sd_notify(3)): readiness, status and watchdog. Without a
//! service manager, none is sent.
//!
//! Each main loop of the process has a [`Heartbeat`]. The watchdog is notified by the loop that was
//! the last to beat, once all have beaten since the last notification: a loop that hangs stops it,
//! and no thread outlives the loops to continue it.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use sd_notify::NotifyState;
use tracing::debug;

/// Notifications per watchdog timeout, at least; a loop that is busy for less than the rest of the
/// timeout is not late.
const BEATS_PER_TIMEOUT: u32 = 4;

/// The service manager. Clones share what it knows.
#[derive(Debug, Clone)]
pub struct ServiceManager {
    shared: Arc<Mutex<Shared>>,
}

/// What the service manager knows of the process.
#[derive(Debug, Default)]
struct Shared {
    is_ready: bool,
    is_stopping: bool,
    status: String,
    /// Interval of heartbeats; `None` without a watchdog.
    beat_interval: Option<Duration>,
    loops: Loops,
}

/// Main loops, and whether each has beaten since the last notification.
#[derive(Debug, Default)]
struct Loops {
    beaten: BTreeMap<u64, bool>,
    last_id: u64,
}

impl Loops {
    fn add(&mut self) -> u64 {
        self.last_id += 1;
        self.beaten.insert(self.last_id, false);
        self.last_id
    }

    /// A loop beats. Returns whether all have beaten since this last returned `true`.
    fn beat(&mut self, id: u64) -> bool {
        self.beaten.insert(id, true);
        let all = self.beaten.values().all(|beaten| *beaten);
        if all {
            self.beaten.values_mut().for_each(|beaten| *beaten = false);
        }
        all
    }
}

/// A main loop. Dropping it ends the supervision of the loop.
#[derive(Debug)]
pub struct Heartbeat {
    shared: Arc<Mutex<Shared>>,
    id: u64,
    interval: Option<Duration>,
}

impl ServiceManager {
    /// The service manager of this process.
    #[must_use]
    pub fn of_process() -> Self {
        let shared = Shared {
            beat_interval: sd_notify::watchdog_enabled()
                .filter(|limit| !limit.is_zero())
                .map(|limit| limit / BEATS_PER_TIMEOUT),
            ..Shared::default()
        };
        Self {
            shared: Arc::new(Mutex::new(shared)),
        }
    }

    /// The port is open or waited for, so that the service is ready: units that need the network
    /// may wait for a link that this SM must configure first.
    pub fn set_ready(&self) {
        with(&self.shared, |shared| {
            if !core::mem::replace(&mut shared.is_ready, true) {
                send(&[NotifyState::Ready]);
            }
        });
    }

    /// Sets the status.
    pub fn set_status(&self, text: impl Into<String>) {
        let text = text.into();
        with(&self.shared, |shared| {
            if shared.status != text {
                send(&[NotifyState::Status(&text)]);
                shared.status = text;
            }
        });
    }

    /// Runs a reload of the configuration.
    pub fn reload<T>(&self, reload: impl FnOnce() -> T) -> T {
        let mut states = vec![NotifyState::Reloading];
        states.extend(NotifyState::monotonic_usec_now());
        send(&states);
        let result = reload();
        with(&self.shared, |shared| {
            if shared.is_ready {
                send(&[NotifyState::Ready]);
            }
        });
        result
    }

    /// The process stops.
    pub fn set_stopping(&self) {
        with(&self.shared, |shared| {
            if !core::mem::replace(&mut shared.is_stopping, true) {
                send(&[NotifyState::Stopping]);
            }
        });
    }

    /// Starts the supervision of a loop.
    #[must_use]
    pub fn supervise_loop(&self) -> Heartbeat {
        let (id, interval) = with(&self.shared, |shared| {
            (shared.loops.add(), shared.beat_interval)
        });
        Heartbeat {
            shared: Arc::clone(&self.shared),
            id,
            interval,
        }
    }
}

impl Heartbeat {
    /// Longest time between two beats; `None` without a watchdog.
    #[must_use]
    pub const fn interval(&self) -> Option<Duration> {
        self.interval
    }

    /// The loop runs.
    pub fn beat(&self) {
        with(&self.shared, |shared| {
            if shared.loops.beat(self.id) && shared.beat_interval.is_some() {
                send(&[NotifyState::Watchdog]);
            }
        });
    }

    /// Waits, as part of the loop.
    pub async fn sleep(&self, duration: Duration) {
        let end = tokio::time::Instant::now() + duration;
        loop {
            self.beat();
            let now = tokio::time::Instant::now();
            if now >= end {
                return;
            }
            let next = self.interval.map_or(end, |interval| now + interval);
            tokio::time::sleep_until(end.min(next)).await;
        }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        with(&self.shared, |shared| {
            shared.loops.beaten.remove(&self.id);
        });
    }
}

fn with<T>(shared: &Mutex<Shared>, f: impl FnOnce(&mut Shared) -> T) -> T {
    f(&mut shared.lock().unwrap_or_else(PoisonError::into_inner))
}

fn send(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        debug!(%error, "service manager not notified");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One hung loop among several stops the notifications, whatever the others do; they continue
    /// when it beats or has ended.
    #[test]
    fn watchdog_needs_a_beat_of_every_loop() {
        let mut loops = Loops::default();
        let [a, b] = [loops.add(), loops.add()];
        assert!(!loops.beat(a));
        assert!(loops.beat(b), "both have beaten");
        for _ in 0..100 {
            assert!(!loops.beat(a), "the other hangs");
        }
        assert!(loops.beat(b));
        assert!(!loops.beat(a));
        loops.beaten.remove(&b);
        assert!(loops.beat(a), "the other has ended");
        let c = loops.add();
        assert!(!loops.beat(a), "the new loop has not beaten");
        assert!(loops.beat(c));
    }
}
