//! Messages to the service manager (sd_notify(3)): readiness, status and watchdog. Without a service manager, none is sent.
//!
//! Each main loop of the process has a [`Heartbeat`]. The watchdog is notified by the loop that was the last to beat, once all have beaten
//! since the last notification: a loop that hangs stops it, and no thread outlives the loops to continue it.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use sd_notify::NotifyState;
use tracing::debug;

/// Notifications per watchdog timeout, at least; a loop that is busy for less than the rest of the timeout is not late.
const BEATS_PER_TIMEOUT: u32 = 4;

/// The service manager, as one fabric of the process sees it.
#[derive(Debug, Clone)]
pub struct ServiceManager {
    shared: Arc<Mutex<Shared>>,
    /// Name of the fabric; empty if the process serves only one.
    fabric: Arc<str>,
}

/// What the service manager knows of the process.
#[derive(Debug, Default)]
struct Shared {
    /// Fabrics whose port is neither open nor waited for.
    starting: BTreeSet<Arc<str>>,
    is_ready: bool,
    is_stopping: bool,
    /// Number of fabrics that reload.
    reloading: usize,
    /// Status by fabric.
    status: BTreeMap<Arc<str>, String>,
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
    /// The service manager of this process, which serves one fabric.
    #[must_use]
    pub fn of_process() -> Self {
        Self::of_fabrics(&[""]).remove(0)
    }

    /// The service manager of this process, for each of its fabrics.
    #[must_use]
    pub fn of_fabrics(names: &[&str]) -> Vec<Self> {
        let fabrics: Vec<Arc<str>> = names.iter().map(|name| Arc::from(*name)).collect();
        let shared = Arc::new(Mutex::new(Shared {
            starting: fabrics.iter().cloned().collect(),
            beat_interval: sd_notify::watchdog_enabled()
                .filter(|limit| !limit.is_zero())
                .map(|limit| limit / BEATS_PER_TIMEOUT),
            ..Shared::default()
        }));
        let of_fabric = |fabric| Self {
            shared: Arc::clone(&shared),
            fabric,
        };
        fabrics.into_iter().map(of_fabric).collect()
    }

    /// The port of this fabric is open or waited for. When this holds for all fabrics, the service is ready: units that need the network
    /// may wait for a link that this SM must configure first.
    pub fn set_ready(&self) {
        with(&self.shared, |shared| {
            shared.starting.remove(&self.fabric);
            if shared.starting.is_empty() && !shared.is_ready {
                shared.is_ready = true;
                send(&[NotifyState::Ready]);
            }
        });
    }

    /// Sets the status of this fabric.
    pub fn set_status(&self, text: impl Into<String>) {
        let text = text.into();
        with(&self.shared, |shared| {
            if shared.status.get(&self.fabric) == Some(&text) {
                return;
            }
            shared.status.insert(Arc::clone(&self.fabric), text);
            send(&[NotifyState::Status(&shared.status_line())]);
        });
    }

    /// Runs a reload of the configuration.
    pub fn reload<T>(&self, reload: impl FnOnce() -> T) -> T {
        with(&self.shared, |shared| {
            shared.reloading += 1;
            if shared.reloading == 1 {
                let mut states = vec![NotifyState::Reloading];
                states.extend(NotifyState::monotonic_usec_now());
                send(&states);
            }
        });
        let result = reload();
        with(&self.shared, |shared| {
            shared.reloading -= 1;
            if shared.reloading == 0 && shared.is_ready {
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

impl Shared {
    /// `master: 2 switches, 3 CAs`, or with several fabrics `compute: master: ...; storage: ...`.
    fn status_line(&self) -> String {
        let texts = self.status.iter().map(|(fabric, text)| {
            let label = if fabric.is_empty() {
                String::new()
            } else {
                format!("{fabric}: ")
            };
            format!("{label}{text}")
        });
        texts.collect::<Vec<_>>().join("; ")
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

    /// One hung loop among several stops the notifications, whatever the others do; they continue when it beats or has ended.
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

    #[test]
    fn status_names_the_fabrics_of_a_process_with_several() {
        let mut shared = Shared::default();
        shared.status.insert(Arc::from(""), "standby".to_owned());
        assert_eq!(shared.status_line(), "standby");
        shared.status.clear();
        for (fabric, text) in [("storage", "standby"), ("compute", "master")] {
            shared.status.insert(Arc::from(fabric), text.to_owned());
        }
        assert_eq!(shared.status_line(), "compute: master; storage: standby");
    }
}
