//! Waiting: `poll` polls the rings before it sleeps; for other functions, a descriptor is readable
//! exactly while a message waits.

use std::ffi::c_int;
use std::time::Duration;

use libc::{epoll_event, fd_set, nfds_t, pollfd, sigset_t, size_t, timespec, timeval};

use crate::config::config;
use crate::next::preserving_errno;
use crate::{table, wait};

/// The program's array; `None` if it has no simulated device.
///
/// # Safety
///
/// `fds` points to `count` entries that no other thread uses.
unsafe fn entries<'f>(fds: *mut pollfd, count: nfds_t) -> Option<&'f mut [pollfd]> {
    if fds.is_null() || !table::has_any() {
        return None;
    }
    let count = usize::try_from(count).ok()?;
    // SAFETY: promised by the caller.
    let fds = unsafe { std::slice::from_raw_parts_mut(fds, count) };
    wait::polls_simulated_device(fds).then_some(fds)
}

fn count_of(fds: &[pollfd]) -> nfds_t {
    fds.len() as nfds_t
}

/// Timeout in milliseconds, rounded up, so that a wait is never too short.
fn millis(timeout: Option<Duration>) -> c_int {
    timeout.map_or(-1, |timeout| {
        c_int::try_from(timeout.as_micros().div_ceil(1000)).unwrap_or(c_int::MAX)
    })
}

fn wait_in_poll(
    fds: &mut [pollfd],
    timeout: c_int,
    sleep: impl Fn(&mut [pollfd], c_int) -> c_int,
) -> c_int {
    let spin = config().map_or_else(
        || ferrosm_channel::SpinWait::new(Duration::ZERO),
        |config| config.spin,
    );
    let timeout = u64::try_from(timeout).ok().map(Duration::from_millis);
    wait::poll(fds, timeout, spin, |fds, remaining| {
        sleep(fds, millis(remaining))
    })
}

replace! {
    /// `poll(2)`.
    fn poll(next; fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int, else -1; {
        // SAFETY: the program's arguments.
        unsafe {
            match entries(fds, count) {
                None => next(fds, count, timeout),
                Some(fds) => wait_in_poll(fds, timeout, |fds, timeout| {
                    next(fds.as_mut_ptr(), count_of(fds), timeout)
                }),
            }
        }
    }

    /// `poll` of programs built with `_FORTIFY_SOURCE`.
    fn __poll_chk(next; fds: *mut pollfd, count: nfds_t, timeout: c_int, fdslen: size_t) -> c_int, else -1; {
        // SAFETY: the program's arguments; libc aborts if `fdslen` is too small for `count`.
        unsafe {
            match entries(fds, count).filter(|fds| size_of_val(*fds) <= fdslen) {
                None => next(fds, count, timeout, fdslen),
                Some(fds) => wait_in_poll(fds, timeout, |fds, timeout| {
                    next(fds.as_mut_ptr(), count_of(fds), timeout, fdslen)
                }),
            }
        }
    }

    /// `ppoll(2)`.
    fn ppoll(next; fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t) -> c_int, else -1; {
        // SAFETY: the program's arguments.
        unsafe {
            if let Some(fds) = entries(fds, count) {
                // Only the kernel can apply the signal mask to the wait, so the library does not
                // poll the rings, and the descriptor must be readable whenever a message waits.
                always_signal(fds.iter().map(|entry| entry.fd));
            }
            next(fds, count, timeout, mask)
        }
    }

    /// `ppoll` of programs built with `_FORTIFY_SOURCE`.
    fn __ppoll_chk(next; fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t, fdslen: size_t) -> c_int, else -1; {
        // SAFETY: as `ppoll`.
        unsafe {
            if let Some(fds) = entries(fds, count) {
                always_signal(fds.iter().map(|entry| entry.fd));
            }
            next(fds, count, timeout, mask, fdslen)
        }
    }

    /// `select(2)`.
    fn select(next; count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *mut timeval) -> c_int, else -1; {
        // SAFETY: the program's arguments.
        unsafe {
            always_signal_set(count, read);
            next(count, read, write, except, timeout)
        }
    }

    /// `pselect(2)`.
    fn pselect(next; count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *const timespec, mask: *const sigset_t) -> c_int, else -1; {
        // SAFETY: the program's arguments.
        unsafe {
            always_signal_set(count, read);
            next(count, read, write, except, timeout, mask)
        }
    }

    /// `epoll_ctl(2)`.
    fn epoll_ctl(next; epoll: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> c_int, else -1; {
        always_signal(std::iter::once(fd));
        // SAFETY: the program's arguments.
        unsafe { next(epoll, operation, fd, event) }
    }
}

/// From this call on, the descriptors are readable exactly while a message waits.
fn always_signal(fds: impl Iterator<Item = c_int>) {
    preserving_errno(|| {
        fds.filter_map(table::find)
            .for_each(|umad| umad.end.always_signal())
    });
}

/// # Safety
///
/// `set` is null or an `fd_set`.
unsafe fn always_signal_set(count: c_int, set: *const fd_set) {
    if set.is_null() || !table::has_any() {
        return;
    }
    // `FD_ISSET` panics above the size of an `fd_set`; programs may pass a larger count, for
    // example the limit of descriptors.
    let fds = (0..count).take(libc::FD_SETSIZE);
    // SAFETY: promised by the caller.
    always_signal(fds.filter(|&fd| unsafe { libc::FD_ISSET(fd, set) }));
}
