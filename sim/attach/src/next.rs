//! libc's own definitions of the functions that this library replaces, and `errno`.
//!
//! [`Next`] looks up each definition once, by `dlsym(RTLD_NEXT)`.
#![allow(unsafe_code, reason = "dlsym and errno are C")]

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use rustix::io::Errno;

/// The next definition of a symbol.
pub(crate) struct Next(AtomicPtr<c_void>);

impl Next {
    pub(crate) const fn new() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    /// The address; null if libc does not have the symbol.
    pub(crate) fn address(&self, name: &CStr) -> *mut c_void {
        let cached = self.0.load(Ordering::Acquire);
        if !cached.is_null() {
            return cached;
        }
        // SAFETY: a valid handle and a terminated name.
        let symbol = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        self.0.store(symbol, Ordering::Release);
        symbol
    }
}

/// Sets `errno` and returns -1.
pub(crate) fn fail(errno: Errno) -> c_int {
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() = errno.raw_os_error() };
    -1
}

/// Runs `call`, which may use libc, and restores `errno`.
pub(crate) fn preserving_errno<T>(call: impl FnOnce() -> T) -> T {
    // SAFETY: the location is this thread's own.
    let before = unsafe { *libc::__errno_location() };
    let result = call();
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = before };
    result
}
