//! `poll` with simulated devices: polls the rings for a short time, then sleeps in libc's `poll`,
//! so that other descriptors, signals and cancellation work as usual.
//!
//! Corrects readiness: a descriptor that is readable for the kernel may have an incomplete message,
//! or a wakeup byte of a message that was already received.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ferrosm_channel::SpinWait;
use libc::{POLLHUP, POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM, c_short, pollfd};

use crate::device::Umad;
use crate::next::preserving_errno;
use crate::table;

const READ: c_short = POLLIN | POLLRDNORM;
/// Writing is always possible.
const WRITE: c_short = POLLOUT | POLLWRNORM;

/// Number of notices of the server's death after which each further one is delayed: a program that
/// ignores them would use a whole processor.
const MAX_DEATH_NOTICES: u32 = 8;
const NOTICE_DELAY: Duration = Duration::from_millis(50);

/// Polled simulated devices, with their indices.
struct Waiters(Vec<(usize, Arc<Umad>)>);

/// Whether a simulated device is polled.
pub(crate) fn polls_simulated_device(fds: &[pollfd]) -> bool {
    table::has_any() && fds.iter().any(|entry| table::is_simulated(entry.fd))
}

/// `poll`. `sleep` is libc's `poll` and returns its result (negative: `errno` is set).
pub(crate) fn poll(
    fds: &mut [pollfd],
    timeout: Option<Duration>,
    spin: SpinWait,
    mut sleep: impl FnMut(&mut [pollfd], Option<Duration>) -> i32,
) -> i32 {
    let waiters = Waiters::collect_waiters(fds);
    if waiters.program_ignores_death() {
        // Cancellation point before polling: OpenSM's receiver logs each failure, and a
        // cancellation while it logs would leave the log's lock held.
        sleep(&mut [], Some(NOTICE_DELAY));
    }
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut remaining = timeout;
    loop {
        let is_expired = remaining == Some(Duration::ZERO);
        let ready = waiters.begin_wait(fds) || (!is_expired && waiters.spin(fds, spin));
        if ready || is_expired {
            // The kernel knows the state of other descriptors and of the server.
            let polls_kernel = !ready || waiters.0.len() < fds.len();
            let outcome = if polls_kernel {
                sleep(fds, Some(Duration::ZERO))
            } else {
                fds.iter_mut()
                    .for_each(|entry| entry.revents = entry.events & WRITE);
                0
            };
            if outcome < 0 {
                return outcome;
            }
            let count = waiters.correct(fds, polls_kernel);
            if count > 0 || is_expired {
                return count;
            }
            // Another thread received the message.
        } else if waiters.before_sleep(fds) {
            let outcome = sleep(fds, remaining);
            preserving_errno(|| waiters.after_sleep(fds));
            if outcome < 0 {
                return outcome;
            }
            let count = waiters.correct(fds, true);
            if count > 0 || (outcome == 0 && remaining.is_some()) {
                return count;
            }
        }
        remaining = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    }
}

impl Waiters {
    fn collect_waiters(fds: &[pollfd]) -> Self {
        let simulated_entry =
            |(index, entry): (usize, &pollfd)| Some((index, table::find(entry.fd)?));
        Self(fds.iter().enumerate().filter_map(simulated_entry).collect())
    }

    /// Whether the program keeps polling a device whose server is dead.
    fn program_ignores_death(&self) -> bool {
        let is_ignored =
            |umad: &Umad| umad.death_notices.load(Ordering::Relaxed) >= MAX_DEATH_NOTICES;
        self.0.iter().any(|(_, umad)| is_ignored(umad))
    }

    /// Devices polled for messages.
    fn readers<'w>(&'w self, fds: &[pollfd]) -> impl Iterator<Item = &'w Umad> {
        self.0
            .iter()
            .filter(|(index, _)| fds[*index].events & READ != 0)
            .map(|(_, umad)| umad.as_ref())
    }

    /// Returns true if a message waits.
    fn begin_wait(&self, fds: &[pollfd]) -> bool {
        self.readers(fds).any(|umad| umad.end.begin_wait())
    }

    fn spin(&self, fds: &[pollfd], spin: SpinWait) -> bool {
        let mut readers = self.readers(fds);
        match (readers.next(), readers.next()) {
            (Some(only), None) => only.end.spin(spin) && only.end.has_message(),
            (Some(_), Some(_)) => {
                spin.until(|| self.readers(fds).any(|umad| umad.end.has_message()))
            }
            (None, _) => false,
        }
    }

    /// Returns false if a message arrived; then no thread sleeps.
    fn before_sleep(&self, fds: &[pollfd]) -> bool {
        for (number, umad) in self.readers(fds).enumerate() {
            if umad.end.before_sleep() {
                self.readers(fds)
                    .take(number)
                    .for_each(|umad| umad.end.after_sleep());
                return false;
            }
        }
        true
    }

    fn after_sleep(&self, fds: &[pollfd]) {
        self.readers(fds).for_each(|umad| umad.end.after_sleep());
    }

    /// Corrects the results for simulated devices and counts all results. `has_revents`: the kernel
    /// filled in `revents`.
    fn correct(&self, fds: &mut [pollfd], has_revents: bool) -> i32 {
        for (index, umad) in &self.0 {
            let entry = &mut fds[*index];
            if has_revents && entry.revents & POLLHUP != 0 {
                umad.end.check_alive();
                umad.death_notices.fetch_add(1, Ordering::Relaxed);
            } else if umad.end.has_message() {
                entry.revents |= entry.events & READ;
            } else {
                entry.revents &= !READ;
            }
        }
        let count = fds.iter().filter(|entry| entry.revents != 0).count();
        // saturates: the caller has fewer entries.
        i32::try_from(count).unwrap_or(i32::MAX)
    }
}
