//! `poll` with our devices among the descriptors: looks into the rings first, for a short while, and then sleeps in libc's
//! `poll`, so that all descriptors, signals and cancellation are as ever.
//!
//! Owns nothing. Makes readiness exact: what the kernel calls readable may be a piece of a message, or a wakeup byte whose
//! message was taken already.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ferrosm_channel::SpinWait;
use libc::{POLLHUP, POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM, c_short, pollfd};

use crate::device::Umad;
use crate::next::keeping_errno;
use crate::table;

const READ: c_short = POLLIN | POLLRDNORM;
/// Always possible.
const WRITE: c_short = POLLOUT | POLLWRNORM;

/// A program is told this often that the server is gone before each further time takes a pause: programs that ignore it would
/// take a whole processor.
const FAREWELLS: u32 = 8;
const PAUSE: Duration = Duration::from_millis(50);

/// Our devices among the descriptors that are waited for, with their places.
struct Waiters(Vec<(usize, Arc<Umad>)>);

/// Whether one of our devices is waited for.
pub(crate) fn concerns(fds: &[pollfd]) -> bool {
    table::any() && fds.iter().any(|entry| table::is_ours(entry.fd))
}

/// `poll`. `sleep` is libc's; it returns what `poll` does (negative: `errno` is set).
pub(crate) fn poll(
    fds: &mut [pollfd],
    timeout: Option<Duration>,
    spin: SpinWait,
    mut sleep: impl FnMut(&mut [pollfd], Option<Duration>) -> i32,
) -> i32 {
    let waiters = Waiters::of(fds);
    if waiters.were_told() {
        // Before looking, and in libc's `poll`: OpenSM's receiver logs each failure, and must be cancelled here rather than
        // there, where it would keep the log's lock.
        sleep(&mut [], Some(PAUSE));
    }
    let deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut left = timeout;
    loop {
        let at_once = left == Some(Duration::ZERO);
        let ready = waiters.begin(fds) || (!at_once && waiters.spin(fds, spin));
        if ready || at_once {
            // The kernel knows of the others, and whether the server is still there.
            let ask = !ready || waiters.0.len() < fds.len();
            let outcome = if ask {
                sleep(fds, Some(Duration::ZERO))
            } else {
                fds.iter_mut()
                    .for_each(|entry| entry.revents = entry.events & WRITE);
                0
            };
            if outcome < 0 {
                return outcome;
            }
            let count = waiters.correct(fds, ask);
            if count > 0 || at_once {
                return count;
            }
            // Another thread was faster.
        } else if waiters.before_sleep(fds) {
            let outcome = sleep(fds, left);
            keeping_errno(|| waiters.after_sleep(fds));
            if outcome < 0 {
                return outcome;
            }
            let count = waiters.correct(fds, true);
            if count > 0 || (outcome == 0 && left.is_some()) {
                return count;
            }
        }
        left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    }
}

impl Waiters {
    fn of(fds: &[pollfd]) -> Self {
        let ours = |(place, entry): (usize, &pollfd)| Some((place, table::find(entry.fd)?));
        Self(fds.iter().enumerate().filter_map(ours).collect())
    }

    /// Whether a program goes on asking for a device that is gone.
    fn were_told(&self) -> bool {
        let told = |umad: &Umad| umad.farewells.load(Ordering::Relaxed) >= FAREWELLS;
        self.0.iter().any(|(_, umad)| told(umad))
    }

    /// Those whose messages are waited for.
    fn readers<'w>(&'w self, fds: &[pollfd]) -> impl Iterator<Item = &'w Umad> {
        self.0
            .iter()
            .filter(|(place, _)| fds[*place].events & READ != 0)
            .map(|(_, umad)| umad.as_ref())
    }

    /// True if a message waits already.
    fn begin(&self, fds: &[pollfd]) -> bool {
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

    /// False: a message came, nobody sleeps.
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

    /// Makes the answers for our devices right, and counts all that have one. `asked`: the kernel filled in `revents`.
    fn correct(&self, fds: &mut [pollfd], asked: bool) -> i32 {
        for (place, umad) in &self.0 {
            let entry = &mut fds[*place];
            if asked && entry.revents & POLLHUP != 0 {
                umad.end.check_alive();
                umad.farewells.fetch_add(1, Ordering::Relaxed);
            } else if umad.end.has_message() {
                entry.revents |= entry.events & READ;
            } else {
                entry.revents &= !READ;
            }
        }
        let count = fds.iter().filter(|entry| entry.revents != 0).count();
        i32::try_from(count).unwrap_or(i32::MAX)
    }
}
