//! Wakeup of the server by its clients: one doorbell (an eventfd) and one shared word.
//!
//! Owned by the server and shared by its threads. Does not access the clients' rings.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::io::Errno;

use crate::layout::{DOORBELL_PAGE_BYTES, server_sleeping};
use crate::memory::{Mapping, sealed_memfd};

/// Maximum sleep: a client that corrupts the shared word can delay the server at most by this.
const MAX_SLEEP: Duration = Duration::from_millis(250);

/// Wakeup object of a server: the server sleeps in [`ServerDoorbell::sleep`], and clients and
/// threads wake it.
#[derive(Debug)]
pub struct ServerDoorbell {
    page: Mapping,
    page_fd: OwnedFd,
    eventfd: OwnedFd,
}

impl ServerDoorbell {
    /// Creates the doorbell and the shared page.
    ///
    /// # Errors
    ///
    /// Errors of the system calls.
    pub fn new() -> std::io::Result<Self> {
        let page_fd = sealed_memfd("ferrosm-doorbell", DOORBELL_PAGE_BYTES)?;
        let page = Mapping::new(&page_fd, DOORBELL_PAGE_BYTES)?;
        let eventfd = rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self {
            page,
            page_fd,
            eventfd,
        })
    }

    /// Sleeps until the doorbell rings, `timeout` has passed, or a signal arrives; at most 250 ms.
    /// `still_idle` is called after `server_sleeping` is set, so that clients ring from then on. If
    /// it returns false, this function returns at once. Only one thread may sleep at a doorbell.
    ///
    /// # Errors
    ///
    /// Errors of `poll` except EINTR.
    pub fn sleep(
        &self,
        timeout: Option<Duration>,
        still_idle: impl FnOnce() -> bool,
    ) -> std::io::Result<()> {
        let sleeping = server_sleeping(&self.page);
        sleeping.store(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let result = if still_idle() {
            let timeout = timeout.unwrap_or(MAX_SLEEP).min(MAX_SLEEP);
            self.wait(timeout)
        } else {
            Ok(())
        };
        sleeping.store(0, Ordering::SeqCst);
        // Reset the doorbell, whether or not it rang: this is cheap once per sleep, and an old ring
        // must not shorten the next sleep.
        let mut count = [0; 8];
        match rustix::io::read(&self.eventfd, &mut count) {
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
        let mut fds = [PollFd::new(&self.eventfd, PollFlags::IN)];
        match rustix::event::poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Wakes the server. Called by its own threads after they have queued work for it.
    pub fn ring(&self) {
        ring(server_sleeping(&self.page), &self.eventfd);
    }

    /// Duplicates the descriptors of the page and the doorbell for a client.
    pub(crate) fn share(&self) -> Result<(OwnedFd, OwnedFd), Errno> {
        Ok((
            rustix::io::fcntl_dupfd_cloexec(&self.page_fd, 3)?,
            rustix::io::fcntl_dupfd_cloexec(&self.eventfd, 3)?,
        ))
    }
}

/// Wakes the server if it sleeps. The caller must have written the data for it before.
pub(crate) fn ring(sleeping: &AtomicU32, eventfd: &OwnedFd) {
    fence(Ordering::SeqCst);
    if sleeping.load(Ordering::Relaxed) != 0 && sleeping.swap(0, Ordering::SeqCst) != 0 {
        // A full counter is readable as well, so a failed write does not matter.
        let _ = rustix::io::write(eventfd, &1u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sleep ends if there is work already, if the doorbell rings before `poll`, and on
    /// timeout.
    #[test]
    fn sleep_ends_on_work_ring_or_timeout() {
        let doorbell = ServerDoorbell::new().unwrap();
        doorbell.sleep(None, || false).unwrap();
        doorbell
            .sleep(None, || {
                doorbell.ring();
                true
            })
            .unwrap();
        doorbell.sleep(Some(Duration::ZERO), || true).unwrap();
    }
}
