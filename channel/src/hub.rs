//! How clients wake the server: one doorbell and one shared word for all of them.
//!
//! Owned by the server; its threads share it. Never touches a client's rings.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::layout::{HUB_BYTES, server_sleeping};
use crate::memory::{Mapping, sealed_memfd};

/// The server never sleeps longer: a client that spoils the shared word can delay others by this much, not stop them.
const LONGEST_SLEEP: Duration = Duration::from_millis(250);

/// The server's place to sleep.
#[derive(Debug)]
pub struct Hub {
    page: Mapping,
    page_fd: OwnedFd,
    doorbell: OwnedFd,
}

impl Hub {
    /// # Errors
    ///
    /// What the kernel says if it has no file descriptor or memory left.
    pub fn new() -> std::io::Result<Self> {
        let page_fd = sealed_memfd("ferrosm-hub", HUB_BYTES)?;
        let page = Mapping::new(&page_fd, HUB_BYTES)?;
        let doorbell = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self {
            page,
            page_fd,
            doorbell,
        })
    }

    /// Sleeps until the doorbell rings, `timeout` is over, or a signal comes; at most a quarter of a second. `still_idle` is
    /// called when the clients already know that they must ring: if it finds work, there is no sleep. Only one thread
    /// may sleep here.
    ///
    /// # Errors
    ///
    /// What `poll` says, besides interruption.
    pub fn sleep(
        &self,
        timeout: Option<Duration>,
        still_idle: impl FnOnce() -> bool,
    ) -> std::io::Result<()> {
        let sleeping = server_sleeping(&self.page);
        sleeping.store(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let result = if still_idle() {
            let timeout = timeout.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP);
            self.wait(timeout)
        } else {
            Ok(())
        };
        sleeping.store(0, Ordering::SeqCst);
        // Emptied without asking whether it rang: once a sleep this costs nothing, and a ring that came while we
        // were on the way must not shorten the next sleep.
        let mut count = [0; 8];
        match rustix::io::read(&self.doorbell, &mut count) {
            Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        result
    }

    fn wait(&self, timeout: Duration) -> std::io::Result<()> {
        let timeout = Timespec::try_from(timeout).unwrap_or(Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        });
        let mut fds = [PollFd::new(&self.doorbell, PollFlags::IN)];
        match rustix::event::poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Wakes the server. For its own other threads, after they gave it something to do through a queue.
    pub fn ring(&self) {
        ring(server_sleeping(&self.page), &self.doorbell);
    }

    /// Copies of the page and the doorbell for a client.
    pub(crate) fn share(&self) -> Result<(OwnedFd, OwnedFd), Errno> {
        Ok((
            rustix::io::fcntl_dupfd_cloexec(&self.page_fd, 3)?,
            rustix::io::fcntl_dupfd_cloexec(&self.doorbell, 3)?,
        ))
    }
}

/// Wakes the server if it sleeps. What it shall see must have been written before.
pub(crate) fn ring(sleeping: &AtomicU32, doorbell: &OwnedFd) {
    fence(Ordering::SeqCst);
    if sleeping.load(Ordering::Relaxed) != 0 && sleeping.swap(0, Ordering::SeqCst) != 0 {
        // A full counter is readable too, so a refused write is as good as one that succeeded.
        let _ = rustix::io::write(doorbell, &1u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring before the sleep, during its decision, or none at all: the sleep ends.
    #[test]
    fn a_ring_ends_the_sleep() {
        let hub = Hub::new().unwrap();
        hub.sleep(None, || false).unwrap();
        hub.sleep(None, || {
            hub.ring();
            true
        })
        .unwrap();
        hub.sleep(Some(Duration::ZERO), || true).unwrap();
    }
}
