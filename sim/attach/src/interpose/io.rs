//! Reads, writes, ioctls, and the lifetime of descriptors. `device` processes the messages.

use std::ffi::{c_int, c_ulong, c_void};

use libc::{POLLIN, pollfd, size_t, ssize_t};
use rustix::io::Errno;

use crate::device::{Umad, argument_len};
use crate::next::{fail, preserving_errno};
use crate::table;

/// Maximum length of an ioctl argument: `_IOC_SIZE` has 14 bits.
const MAX_ARGUMENT: usize = 1 << 14;

fn return_value(outcome: Result<usize, Errno>) -> ssize_t {
    match outcome {
        // saturates: no buffer is that long.
        Ok(len) => ssize_t::try_from(len).unwrap_or(ssize_t::MAX),
        Err(errno) => {
            fail(errno);
            -1
        }
    }
}

/// `read` of a device. Waits in libc's `poll`, a cancellation point, without a reference to the
/// device.
///
/// # Safety
///
/// `buffer` has room for `size` bytes.
unsafe fn read_device(fd: c_int, buffer: *mut c_void, size: size_t) -> ssize_t {
    loop {
        {
            let Some(umad) = table::find(fd) else {
                return return_value(Err(Errno::BADF));
            };
            let size = size.min(isize::MAX as usize);
            let bytes = if buffer.is_null() {
                &mut []
            } else {
                // SAFETY: promised by the caller.
                unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), size) }
            };
            match umad.read(bytes) {
                Ok(Some(len)) => return return_value(Ok(len)),
                Err(errno) => return return_value(Err(errno)),
                Ok(None) => {}
            }
            if umad.is_nonblocking() {
                let errno = if umad.end.check_alive() {
                    Errno::AGAIN
                } else {
                    Errno::IO
                };
                return return_value(Err(errno));
            }
        }
        let mut fds = [pollfd {
            fd,
            events: POLLIN,
            revents: 0,
        }];
        // SAFETY: one valid entry. The replaced `poll`, which handles the device.
        if unsafe { super::waits::poll(fds.as_mut_ptr(), 1, -1) } < 0 {
            return -1;
        }
    }
}

/// `ioctl` of a device.
///
/// # Safety
///
/// `arg` points to what the request expects.
unsafe fn ioctl_device(umad: &Umad, request: u32, len: usize, arg: *mut c_void) -> c_int {
    let mut buffer = [0u8; MAX_ARGUMENT];
    let bytes = &mut buffer[..len.min(MAX_ARGUMENT)];
    if !bytes.is_empty() {
        if arg.is_null() {
            return fail(Errno::FAULT);
        }
        // SAFETY: promised by the caller; the buffer has as many bytes.
        unsafe { std::ptr::copy_nonoverlapping(arg.cast(), bytes.as_mut_ptr(), bytes.len()) };
    }
    let outcome = umad.ioctl(request, bytes);
    if !bytes.is_empty() {
        // SAFETY: as above. Also after an error: REGISTER_AGENT2 returns the supported flags.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), arg.cast(), bytes.len()) };
    }
    match outcome {
        Ok(()) => 0,
        Err(errno) => fail(errno),
    }
}

replace! {
    /// `read(2)`.
    fn read(next; fd: c_int, buffer: *mut c_void, size: size_t) -> ssize_t, else -1; {
        // SAFETY: the program's arguments.
        unsafe {
            if table::is_simulated(fd) { read_device(fd, buffer, size) } else { next(fd, buffer, size) }
        }
    }

    /// `read` of programs built with `_FORTIFY_SOURCE`.
    fn __read_chk(next; fd: c_int, buffer: *mut c_void, size: size_t, buflen: size_t) -> ssize_t, else -1; {
        // SAFETY: the program's arguments; libc aborts if `buflen` is below `size`.
        unsafe {
            if table::is_simulated(fd) && size <= buflen {
                read_device(fd, buffer, size)
            } else {
                next(fd, buffer, size, buflen)
            }
        }
    }

    /// `write(2)`.
    fn write(next; fd: c_int, buffer: *const c_void, size: size_t) -> ssize_t, else -1; {
        match table::find(fd) {
            // SAFETY: the program's arguments.
            None => unsafe { next(fd, buffer, size) },
            Some(_) if buffer.is_null() => return_value(Err(Errno::FAULT)),
            Some(umad) => {
                let size = size.min(isize::MAX as usize);
                // SAFETY: the program's buffer.
                let message = unsafe { std::slice::from_raw_parts(buffer.cast(), size) };
                return_value(preserving_errno(|| umad.write(message)))
            }
        }
    }

    /// `ioctl(2)`. Other ioctls than those of umad are passed on.
    fn ioctl(next; fd: c_int, request: c_ulong, arg: *mut c_void) -> c_int, else -1; {
        #[expect(clippy::cast_possible_truncation, reason = "the kernel takes 32 bits")]
        let number = request as u32;
        match (table::find(fd), argument_len(number)) {
            // SAFETY: the program's arguments.
            (Some(umad), Some(len)) => unsafe { ioctl_device(&umad, number, len, arg) },
            // SAFETY: the program's arguments.
            (Some(_), None) | (None, _) => unsafe { next(fd, request, arg) },
        }
    }

    /// `close(2)`.
    fn close(next; fd: c_int) -> c_int, else -1; {
        // Before another thread can get the number.
        table::remove(fd);
        // SAFETY: the program's argument.
        unsafe { next(fd) }
    }

    /// `dup(2)`.
    fn dup(next; fd: c_int) -> c_int, else -1; {
        // SAFETY: the program's argument.
        let new = unsafe { next(fd) };
        if new >= 0 && table::is_simulated(fd) {
            table::duplicate(fd, new);
        }
        new
    }

    /// `dup2(2)`.
    fn dup2(next; fd: c_int, target: c_int) -> c_int, else -1; {
        // SAFETY: the program's arguments.
        let new = unsafe { next(fd, target) };
        if new >= 0 {
            table::duplicate(fd, new);
        }
        new
    }

    /// `dup3(2)`.
    fn dup3(next; fd: c_int, target: c_int, flags: c_int) -> c_int, else -1; {
        // SAFETY: the program's arguments.
        let new = unsafe { next(fd, target, flags) };
        if new >= 0 {
            table::duplicate(fd, new);
        }
        new
    }

    /// `fcntl(2)`: some commands duplicate descriptors.
    fn fcntl(next; fd: c_int, command: c_int, arg: *mut c_void) -> c_int, else -1; {
        // SAFETY: the program's arguments.
        let outcome = unsafe { next(fd, command, arg) };
        after_fcntl(fd, command, outcome)
    }

    /// `fcntl(2)` with 64-bit offsets.
    fn fcntl64(next; fd: c_int, command: c_int, arg: *mut c_void) -> c_int, else -1; {
        // SAFETY: the program's arguments.
        let outcome = unsafe { next(fd, command, arg) };
        after_fcntl(fd, command, outcome)
    }
}

fn after_fcntl(fd: c_int, command: c_int, outcome: c_int) -> c_int {
    let duplicates = command == libc::F_DUPFD || command == libc::F_DUPFD_CLOEXEC;
    if outcome >= 0 && duplicates && table::is_simulated(fd) {
        table::duplicate(fd, outcome);
    }
    outcome
}
