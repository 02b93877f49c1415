//! Opening: devices at the server, sysfs files as memory with their current contents, directories
//! in the sysfs directory.
//!
//! The third argument of `open` is optional in C. If the calling convention passes it in a register
//! (x86-64, AArch64), it may always be read, and is only passed on.

use std::ffi::{CStr, c_char, c_int};
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;

use libc::{FILE, mode_t};
use rustix::fs::{MemfdFlags, Mode, OFlags, SeekFrom};
use rustix::io::{Errno, FdFlags};

use crate::config::Config;
use crate::device::{Umad, open_issm};
use crate::next::fail;
use crate::paths::SimulatedPath;
use crate::server::{ServerError, read_file};
use crate::table;

use super::{simulated_path, sysfs_directory_path};

/// Result of opening a path of the simulated fabric.
enum Opened {
    Done(c_int),
    /// libc must open the path in the sysfs directory.
    InSysfsDirectory,
}

fn open_simulated(config: &Config, path: &SimulatedPath, flags: c_int) -> Opened {
    let flags = OFlags::from_bits_retain(flags.cast_unsigned());
    if let SimulatedPath::Umad(_) | SimulatedPath::Issm(_) = path
        && let Err(errno) = device_permission(config, path)
    {
        return Opened::Done(fail(errno));
    }
    let opened = match path {
        SimulatedPath::Umad(index) => open_umad(config, *index, flags),
        SimulatedPath::Issm(index) => {
            let nonblock = flags.contains(OFlags::NONBLOCK);
            open_issm(config, *index, nonblock)
                .and_then(|fd| apply_flags(&fd, flags).map(|()| fd.into_raw_fd()))
        }
        SimulatedPath::Sys(_) if flags.contains(OFlags::DIRECTORY) => {
            return Opened::InSysfsDirectory;
        }
        SimulatedPath::Sys(_) if flags.intersects(OFlags::WRONLY | OFlags::RDWR) => {
            Err(Errno::ACCESS)
        }
        SimulatedPath::Sys(path) => match read_file(config, path) {
            Ok(contents) => memory_file(&contents, flags),
            // A directory, or the server cannot be reached: use the sysfs directory.
            Err(ServerError::Refused(Errno::NOENT | Errno::ISDIR) | ServerError::Unreachable) => {
                return Opened::InSysfsDirectory;
            }
            Err(ServerError::Refused(errno)) => Err(errno),
        },
        SimulatedPath::Dev(_) => return Opened::InSysfsDirectory,
    };
    Opened::Done(opened.unwrap_or_else(fail))
}

/// Applies the owner permissions of the device file in the sysfs directory, also for root: tests
/// remove a device or its permissions there.
fn device_permission(config: &Config, path: &SimulatedPath) -> Result<(), Errno> {
    let file = config
        .sysfs
        .as_deref()
        .and_then(|s| path.in_sysfs_directory(s));
    let directory = config
        .sysfs
        .as_deref()
        .and_then(|s| SimulatedPath::Dev(String::new()).in_sysfs_directory(s));
    let (Some(file), Some(directory)) = (file, directory) else {
        return Ok(());
    };
    if rustix::fs::stat(directory.as_c_str()).is_err() {
        // The sysfs directory has no device files; the server knows the devices.
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
    apply_flags(&fd, flags)?;
    if !table::insert(fd.as_raw_fd(), Arc::new(umad)) {
        return Err(Errno::MFILE);
    }
    Ok(fd.into_raw_fd())
}

/// Applies the flags of `open`. Received descriptors are close-on-exec.
fn apply_flags(fd: &OwnedFd, flags: OFlags) -> Result<(), Errno> {
    if !flags.contains(OFlags::CLOEXEC) {
        rustix::io::fcntl_setfd(fd, FdFlags::empty())?;
    }
    if flags.contains(OFlags::NONBLOCK) {
        rustix::fs::fcntl_setfl(fd, OFlags::NONBLOCK)?;
    }
    Ok(())
}

fn memory_file(contents: &[u8], flags: OFlags) -> Result<c_int, Errno> {
    let fd = rustix::fs::memfd_create("sysfs", MemfdFlags::CLOEXEC)?;
    let mut rest = contents;
    while !rest.is_empty() {
        let written = rustix::io::retry_on_intr(|| rustix::io::write(&fd, rest))?;
        rest = &rest[written..];
    }
    rustix::fs::seek(&fd, SeekFrom::Start(0))?;
    apply_flags(&fd, flags)?;
    Ok(fd.into_raw_fd())
}

/// Common part of all variants of `open`; `pass` calls libc's function with a path.
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
    let Some((config, target)) = (unsafe { simulated_path(path) }) else {
        return pass(path);
    };
    match open_simulated(config, &target, flags) {
        Opened::Done(fd) => fd,
        Opened::InSysfsDirectory => {
            let replacement = config
                .sysfs
                .as_deref()
                .and_then(|sysfs| target.in_sysfs_directory(sysfs));
            match replacement {
                Some(replacement) => pass(replacement.as_ptr()),
                None => fail(Errno::NOENT),
            }
        }
    }
}

replace! {
    /// `open(2)`.
    fn open(next; path: *const c_char, flags: c_int, mode: mode_t) -> c_int, else -1; {
        // SAFETY: the program's arguments, passed on unchanged or with a path in the sysfs
        // directory.
        unsafe { open_any(path, flags, |path| next(path, flags, mode)) }
    }

    /// `open(2)` with 64-bit offsets.
    fn open64(next; path: *const c_char, flags: c_int, mode: mode_t) -> c_int, else -1; {
        // SAFETY: as `open`.
        unsafe { open_any(path, flags, |path| next(path, flags, mode)) }
    }

    /// `openat(2)`. Relative paths are passed on.
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

/// Common part of both variants of `fopen`.
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
    let Some((config, target @ SimulatedPath::Sys(_))) = (unsafe { simulated_path(path) }) else {
        // SAFETY: promised by the caller.
        let replacement = unsafe { sysfs_directory_path(path) };
        return pass(replacement.as_ref().map_or(path, |path| path.as_ptr()));
    };
    if mode.is_null() {
        fail(Errno::INVAL);
        return std::ptr::null_mut();
    }
    // SAFETY: promised by the caller.
    let mode_bytes = unsafe { CStr::from_ptr(mode) }.to_bytes();
    let mut flags = if mode_bytes.starts_with(b"r") && !mode_bytes.contains(&b'+') {
        OFlags::RDONLY
    } else {
        OFlags::RDWR
    };
    // `fdopen` ignores it.
    flags.set(OFlags::CLOEXEC, mode_bytes.contains(&b'e'));
    match open_simulated(config, &target, flags.bits().cast_signed()) {
        Opened::Done(fd) if fd < 0 => std::ptr::null_mut(),
        // SAFETY: a new descriptor, and the program's mode.
        Opened::Done(fd) => unsafe { libc::fdopen(fd, mode) },
        Opened::InSysfsDirectory => {
            // SAFETY: promised by the caller.
            match unsafe { sysfs_directory_path(path) } {
                Some(replacement) => pass(replacement.as_ptr()),
                None => {
                    fail(Errno::NOENT);
                    std::ptr::null_mut()
                }
            }
        }
    }
}
