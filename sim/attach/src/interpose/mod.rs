//! Replacements of libc functions.
//!
//! Each checks first whether the call concerns a simulated device, and passes it on otherwise. The
//! safe modules implement the devices.
#![allow(
    unsafe_code,
    reason = "these functions are called by C and call C; pointers are the program's"
)]

/// Defines functions that replace libc's. In the body, `next` is libc's function of the same name.
/// `else` is the result, with `ENOSYS`, if libc does not have it.
///
/// `pthread_cancel` unwinds through functions that block. If panics unwind, this requires
/// `C-unwind`. If panics abort, a guard in `C-unwind` functions would abort the program; `C`
/// functions then have no guard and nothing to clean up, so the unwinder passes through them.
macro_rules! replace {
    ($($functions:tt)*) => {
        #[cfg(panic = "unwind")]
        define! { "C-unwind" $($functions)* }
        #[cfg(not(panic = "unwind"))]
        define! { "C" $($functions)* }
    };
}

macro_rules! define {
    ($abi:literal) => {};
    ($abi:literal
        $(#[$attribute:meta])*
        fn $name:ident($next:ident; $($arg:ident: $kind:ty),*) -> $result:ty, else $failed:expr;
        $body:block
        $($rest:tt)*
    ) => {
        $(#[$attribute])*
        ///
        /// # Safety
        ///
        /// As libc's function of this name.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "libc's")]
        pub(crate) unsafe extern $abi fn $name($($arg: $kind),*) -> $result {
            type Function = unsafe extern $abi fn($($kind),*) -> $result;
            static NEXT: crate::next::Next = crate::next::Next::new();
            let address = NEXT.address(const {
                match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => c"",
                }
            });
            if address.is_null() {
                crate::next::fail(rustix::io::Errno::NOSYS);
                return $failed;
            }
            // SAFETY: libc's function of this name has this signature.
            let $next = unsafe { std::mem::transmute::<*mut std::ffi::c_void, Function>(address) };
            $body
        }
        define! { $abi $($rest)* }
    };
}

mod files;
mod io;
mod open;
pub(crate) mod verbs;
mod waits;

use std::ffi::{CStr, CString, c_char};

use crate::config::{Config, config};
use crate::paths::{SimulatedPath, classify};

/// Classifies a program's path; `None` if it is not of the simulated fabric.
///
/// # Safety
///
/// `path` is null or a terminated string.
unsafe fn simulated_path(path: *const c_char) -> Option<(&'static Config, SimulatedPath)> {
    if path.is_null() {
        return None;
    }
    // SAFETY: promised by the caller.
    let path = unsafe { CStr::from_ptr(path) };
    let simulated = classify(path.to_bytes())?;
    Some((config()?, simulated))
}

/// The path in the sysfs directory for a path of the simulated fabric.
///
/// # Safety
///
/// `path` is null or a terminated string.
unsafe fn sysfs_directory_path(path: *const c_char) -> Option<CString> {
    // SAFETY: promised by the caller.
    let (config, simulated) = unsafe { simulated_path(path) }?;
    simulated.in_sysfs_directory(config.sysfs.as_deref()?)
}
