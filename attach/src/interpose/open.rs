//! Opening: devices at the server, sysfs files as memory with their present contents, directories in the skeleton.
//!
//! The third argument of `open` is optional in C; where the calling convention passes it in a register (x86-64, AArch64) it may be
//! read in any case, and is only passed on.

use std::ffi::{CStr, c_char, c_int};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;

use libc::{FILE, mode_t};
use rustix::fs::{MemfdFlags, Mode, OFlags, SeekFrom};
use rustix::io::{Errno, FdFlags};

use crate::config::Config;
use crate::device::{Umad, open_issm};
use crate::next::fail;
use crate::paths::Ours;
use crate::server::{Failure, read_file};
use crate::table;

use super::{classify, skeleton};

/// What became of opening a path of ours.
enum Opened {
    Done(c_int),
    /// libc shall open the path in the skeleton.
    Elsewhere,
}

fn open_ours(config: &Config, ours: &Ours, flags: c_int) -> Opened {
    let flags = OFlags::from_bits_retain(flags.cast_unsigned());
    if let Ours::Umad(_) | Ours::Issm(_) = ours
        && let Err(errno) = device_permission(config, ours)
    {
        return Opened::Done(fail(errno));
    }
    let opened = match ours {
        Ours::Umad(index) => open_umad(config, *index, flags),
        Ours::Issm(index) => {
            let nonblock = flags.contains(OFlags::NONBLOCK);
            open_issm(config, *index, nonblock)
                .and_then(|fd| finish(&fd, flags).map(|()| fd.into_raw_fd()))
        }
        Ours::Sys(_) if flags.contains(OFlags::DIRECTORY) => return Opened::Elsewhere,
        Ours::Sys(_) if flags.intersects(OFlags::WRONLY | OFlags::RDWR) => Err(Errno::ACCESS),
        Ours::Sys(path) => match read_file(config, path) {
            Ok(contents) => in_memory(&contents, flags),
            // A directory, or the server is not there: the skeleton knows.
            Err(Failure::Refused(Errno::NOENT | Errno::ISDIR) | Failure::Unreachable) => {
                return Opened::Elsewhere;
            }
            Err(Failure::Refused(errno)) => Err(errno),
        },
        Ours::Dev(_) => return Opened::Elsewhere,
    };
    Opened::Done(opened.unwrap_or_else(fail))
}

/// What the device file in the skeleton allows its owner, root included: tests remove a device or its permissions there.
fn device_permission(config: &Config, ours: &Ours) -> Result<(), Errno> {
    let file = config.sysfs.as_deref().and_then(|s| ours.in_skeleton(s));
    let folder = config
        .sysfs
        .as_deref()
        .and_then(|s| Ours::Dev(String::new()).in_skeleton(s));
    let (Some(file), Some(folder)) = (file, folder) else {
        return Ok(());
    };
    if rustix::fs::stat(folder.as_c_str()).is_err() {
        // A skeleton without device files: only the server knows the devices.
        return Ok(());
    }
    let mode = Mode::from_raw_mode(rustix::fs::stat(file.as_c_str())?.st_mode);
    if mode.contains(Mode::RUSR | Mode::WUSR) {
        Ok(())
    } else {
        Err(Errno::ACCESS)
    }
}

fn open_umad(config: &Config, index: u32, flags: OFlags) -> Result<c_int, Errno> {
    let (umad, fd) = Umad::open(config, index)?;
    finish(&fd, flags)?;
    if !table::insert(fd.as_raw_fd(), Arc::new(umad)) {
        return Err(Errno::MFILE);
    }
    Ok(fd.into_raw_fd())
}

/// The flags that `open` was given. Descriptors come close-on-exec.
fn finish(fd: &OwnedFd, flags: OFlags) -> Result<(), Errno> {
    if !flags.contains(OFlags::CLOEXEC) {
        rustix::io::fcntl_setfd(fd, FdFlags::empty())?;
    }
    if flags.contains(OFlags::NONBLOCK) {
        rustix::fs::fcntl_setfl(fd, OFlags::NONBLOCK)?;
    }
    Ok(())
}

fn in_memory(contents: &[u8], flags: OFlags) -> Result<c_int, Errno> {
    let fd = rustix::fs::memfd_create("sysfs", MemfdFlags::CLOEXEC)?;
    let mut rest = contents;
    while !rest.is_empty() {
        let written = rustix::io::retry_on_intr(|| rustix::io::write(&fd, rest))?;
        rest = &rest[written..];
    }
    rustix::fs::seek(&fd, SeekFrom::Start(0))?;
    finish(&fd, flags)?;
    Ok(fd.into_raw_fd())
}

/// The common part of all forms of `open`: `pass` is libc's, told the path.
///
/// # Safety
///
/// `path` is null or a terminated string.
unsafe fn open_any(
    path: *const c_char,
    flags: c_int,
    pass: impl Fn(*const c_char) -> c_int,
) -> c_int {
    // SAFETY: promised by the caller.
    let Some((config, ours)) = (unsafe { classify(path) }) else {
        return pass(path);
    };
    match open_ours(config, &ours, flags) {
        Opened::Done(fd) => fd,
        Opened::Elsewhere => {
            let place = config
                .sysfs
                .as_deref()
                .and_then(|sysfs| ours.in_skeleton(sysfs));
            match place {
                Some(place) => pass(place.as_ptr()),
                None => fail(Errno::NOENT),
            }
        }
    }
}

replace! {
    /// `open(2)`.
    fn open(next; path: *const c_char, flags: c_int, mode: mode_t) -> c_int, else -1; {
        // SAFETY: the program's arguments, passed on unchanged or with a path of ours.
        unsafe { open_any(path, flags, |path| next(path, flags, mode)) }
    }

    /// `open(2)` with 64-bit offsets.
    fn open64(next; path: *const c_char, flags: c_int, mode: mode_t) -> c_int, else -1; {
        // SAFETY: as `open`.
        unsafe { open_any(path, flags, |path| next(path, flags, mode)) }
    }

    /// `openat(2)`. Relative paths are the kernel's.
    fn openat(next; dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int, else -1; {
        // SAFETY: as `open`.
        unsafe { open_any(path, flags, |path| next(dir, path, flags, mode)) }
    }

    /// `openat(2)` with 64-bit offsets.
    fn openat64(next; dir: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int, else -1; {
        // SAFETY: as `open`.
        unsafe { open_any(path, flags, |path| next(dir, path, flags, mode)) }
    }

    /// `open` of programs built with `_FORTIFY_SOURCE`.
    fn __open_2(next; path: *const c_char, flags: c_int) -> c_int, else -1; {
        // SAFETY: as `open`.
        unsafe { open_any(path, flags, |path| next(path, flags)) }
    }

    /// As `__open_2`.
    fn __open64_2(next; path: *const c_char, flags: c_int) -> c_int, else -1; {
        // SAFETY: as `open`.
        unsafe { open_any(path, flags, |path| next(path, flags)) }
    }

    /// As `__open_2`.
    fn __openat_2(next; dir: c_int, path: *const c_char, flags: c_int) -> c_int, else -1; {
        // SAFETY: as `open`.
        unsafe { open_any(path, flags, |path| next(dir, path, flags)) }
    }

    /// As `__open_2`.
    fn __openat64_2(next; dir: c_int, path: *const c_char, flags: c_int) -> c_int, else -1; {
        // SAFETY: as `open`.
        unsafe { open_any(path, flags, |path| next(dir, path, flags)) }
    }

    /// `fopen(3)`: sysfs files only.
    fn fopen(next; path: *const c_char, mode: *const c_char) -> *mut FILE, else std::ptr::null_mut(); {
        // SAFETY: as `open`.
        unsafe { fopen_any(path, mode, |path| next(path, mode)) }
    }

    /// `fopen(3)` with 64-bit offsets.
    fn fopen64(next; path: *const c_char, mode: *const c_char) -> *mut FILE, else std::ptr::null_mut(); {
        // SAFETY: as `open`.
        unsafe { fopen_any(path, mode, |path| next(path, mode)) }
    }
}

/// The common part of both forms of `fopen`.
///
/// # Safety
///
/// `path` and `mode` are null or terminated strings.
unsafe fn fopen_any(
    path: *const c_char,
    mode: *const c_char,
    pass: impl Fn(*const c_char) -> *mut FILE,
) -> *mut FILE {
    // SAFETY: promised by the caller.
    let Some((config, ours @ Ours::Sys(_))) = (unsafe { classify(path) }) else {
        // SAFETY: promised by the caller.
        let elsewhere = unsafe { skeleton(path) };
        return pass(elsewhere.as_ref().map_or(path, |place| place.as_ptr()));
    };
    if mode.is_null() {
        fail(Errno::INVAL);
        return std::ptr::null_mut();
    }
    // SAFETY: promised by the caller.
    let reads = unsafe { CStr::from_ptr(mode) }.to_bytes();
    let flags = if reads.starts_with(b"r") && !reads.contains(&b'+') {
        OFlags::RDONLY
    } else {
        OFlags::RDWR
    };
    match open_ours(config, &ours, flags.bits().cast_signed()) {
        Opened::Done(fd) if fd < 0 => std::ptr::null_mut(),
        // SAFETY: a descriptor that nobody else knows, and the program's mode.
        Opened::Done(fd) => unsafe { libc::fdopen(fd, mode) },
        Opened::Elsewhere => {
            // SAFETY: promised by the caller.
            match unsafe { skeleton(path) } {
                Some(place) => pass(place.as_ptr()),
                None => {
                    fail(Errno::NOENT);
                    std::ptr::null_mut()
                }
            }
        }
    }
}
