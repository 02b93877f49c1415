//! The C functions that stand before libc's.
//!
//! Each asks at once whether it is concerned and else passes on. Everything that needs thought is in the safe modules.
#![allow(
    unsafe_code,
    reason = "these functions are called by C and call C; pointers are the program's"
)]

/// Defines functions that replace libc's. In the body, `next` is libc's own function of the same name. `else` is what the function
/// returns (with `ENOSYS`) if libc has none.
///
/// `pthread_cancel` unwinds through those that may block. Where panics unwind, that needs `C-unwind`. Where they abort, a call of
/// `C-unwind` is guarded and would abort the program; there, `C` has neither guards nor anything to clean up, and the
/// unwinder passes.
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
use crate::paths::{Ours, ours};

/// What a program's path is to us, with the configuration; `None`: nothing.
///
/// # Safety
///
/// `path` is null or a terminated string.
unsafe fn classify(path: *const c_char) -> Option<(&'static Config, Ours)> {
    if path.is_null() {
        return None;
    }
    // SAFETY: promised by the caller.
    let path = unsafe { CStr::from_ptr(path) };
    let ours = ours(path.to_bytes())?;
    Some((config()?, ours))
}

/// The path in the skeleton that stands for one of ours.
///
/// # Safety
///
/// `path` is null or a terminated string.
unsafe fn skeleton(path: *const c_char) -> Option<CString> {
    // SAFETY: promised by the caller.
    let (config, ours) = unsafe { classify(path) }?;
    ours.in_skeleton(config.sysfs.as_deref()?)
}
