//! Reading, writing, ioctls and descriptors' lives.
//!
//! What becomes of a message is in `device`.

use std::ffi::{c_int, c_ulong, c_void};

use libc::{POLLIN, pollfd, size_t, ssize_t};
use rustix::io::Errno;

use crate::device::{Umad, argument_len};
use crate::next::{fail, keeping_errno};
use crate::table;

/// Largest argument of an ioctl: `_IOC_SIZE` has 14 bits.
const LARGEST_ARGUMENT: usize = 1 << 14;

fn result(outcome: Result<usize, Errno>) -> ssize_t {
    match outcome {
        Ok(len) => ssize_t::try_from(len).unwrap_or(ssize_t::MAX),
        Err(errno) => {
            fail(errno);
            -1
        }
    }
}

/// `read` of a device. Waits in libc's `poll`, a cancellation point, while no reference to the device is held.
///
/// # Safety
///
/// `buffer` has room for `size` bytes.
unsafe fn read_ours(fd: c_int, buffer: *mut c_void, size: size_t) -> ssize_t {
    loop {
        {
            let Some(umad) = table::find(fd) else {
                return result(Err(Errno::BADF));
            };
            let size = size.min(isize::MAX as usize);
            let bytes = if buffer.is_null() {
                &mut []
            } else {
                // SAFETY: promised by the caller.
                unsafe { std::slice::from_raw_parts_mut(buffer.cast::<u8>(), size) }
            };
            match umad.read(bytes) {
                Ok(Some(len)) => return result(Ok(len)),
                Err(errno) => return result(Err(errno)),
                Ok(None) => {}
            }
            if umad.is_nonblocking() {
                let errno = if umad.end.check_alive() {
                    Errno::AGAIN
                } else {
                    Errno::IO
                };
                return result(Err(errno));
            }
        }
        let mut fds = [pollfd {
            fd,
            events: POLLIN,
            revents: 0,
        }];
        // SAFETY: one valid entry. Our own `poll`, which knows the device.
        if unsafe { super::waits::poll(fds.as_mut_ptr(), 1, -1) } < 0 {
            return -1;
        }
    }
}

/// `ioctl` of a device.
///
/// # Safety
///
/// `arg` points at what the request says.
unsafe fn ioctl_ours(umad: &Umad, request: u32, len: usize, arg: *mut c_void) -> c_int {
    let mut bytes = [0u8; LARGEST_ARGUMENT];
    let bytes = &mut bytes[..len.min(LARGEST_ARGUMENT)];
    if !bytes.is_empty() {
        if arg.is_null() {
            return fail(Errno::FAULT);
        }
        // SAFETY: promised by the caller; the buffer has as many bytes.
        unsafe { std::ptr::copy_nonoverlapping(arg.cast(), bytes.as_mut_ptr(), bytes.len()) };
    }
    let outcome = umad.ioctl(request, bytes);
    if !bytes.is_empty() {
        // SAFETY: as above. Also after an error: REGISTER_AGENT2 writes back the flags that it knows.
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
            if table::is_ours(fd) { read_ours(fd, buffer, size) } else { next(fd, buffer, size) }
        }
    }

    /// `read` of programs built with `_FORTIFY_SOURCE`.
    fn __read_chk(next; fd: c_int, buffer: *mut c_void, size: size_t, room: size_t) -> ssize_t, else -1; {
        // SAFETY: the program's arguments; libc itself deals with a size above the room.
        unsafe {
            if table::is_ours(fd) && size <= room {
                read_ours(fd, buffer, size)
            } else {
                next(fd, buffer, size, room)
            }
        }
    }

    /// `write(2)`.
    fn write(next; fd: c_int, buffer: *const c_void, size: size_t) -> ssize_t, else -1; {
        match table::find(fd) {
            // SAFETY: the program's arguments.
            None => unsafe { next(fd, buffer, size) },
            Some(_) if buffer.is_null() => result(Err(Errno::FAULT)),
            Some(umad) => {
                let size = size.min(isize::MAX as usize);
                // SAFETY: the program's buffer.
                let message = unsafe { std::slice::from_raw_parts(buffer.cast(), size) };
                result(keeping_errno(|| umad.write(message)))
            }
        }
    }

    /// `ioctl(2)`. Those that are not for umad pass.
    fn ioctl(next; fd: c_int, request: c_ulong, arg: *mut c_void) -> c_int, else -1; {
        #[expect(clippy::cast_possible_truncation, reason = "the kernel takes 32 bits")]
        let number = request as u32;
        match (table::find(fd), argument_len(number)) {
            // SAFETY: the program's arguments.
            (Some(umad), Some(len)) => unsafe { ioctl_ours(&umad, number, len, arg) },
            // SAFETY: the program's arguments.
            (Some(_), None) | (None, _) => unsafe { next(fd, request, arg) },
        }
    }

    /// `close(2)`.
    fn close(next; fd: c_int) -> c_int, else -1; {
        // Before the number can be given to somebody else.
        table::remove(fd);
        // SAFETY: the program's argument.
        unsafe { next(fd) }
    }

    /// `dup(2)`.
    fn dup(next; fd: c_int) -> c_int, else -1; {
        // SAFETY: the program's argument.
        let new = unsafe { next(fd) };
        if new >= 0 && table::is_ours(fd) {
            table::copied(fd, new);
        }
        new
    }

    /// `dup2(2)`.
    fn dup2(next; fd: c_int, target: c_int) -> c_int, else -1; {
        // SAFETY: the program's arguments.
        let new = unsafe { next(fd, target) };
        if new >= 0 {
            table::copied(fd, new);
        }
        new
    }

    /// `dup3(2)`.
    fn dup3(next; fd: c_int, target: c_int, flags: c_int) -> c_int, else -1; {
        // SAFETY: the program's arguments.
        let new = unsafe { next(fd, target, flags) };
        if new >= 0 {
            table::copied(fd, new);
        }
        new
    }

    /// `fcntl(2)`: some commands copy descriptors.
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
    let copies = command == libc::F_DUPFD || command == libc::F_DUPFD_CLOEXEC;
    if outcome >= 0 && copies && table::is_ours(fd) {
        table::copied(fd, outcome);
    }
    outcome
}
