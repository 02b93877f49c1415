//! C functions of libibverbs for an attached process; in other processes, they pass calls on to
//! libibverbs.
//!
//! Objects are boxes. Their first field is the public structure; for a context, it is the
//! `verbs_context` that contains it. `crate::verbs` implements the objects.
#![allow(clippy::unused_unit, reason = "the macro requires a result type")]

mod devices;
mod queues;
mod unsupported;

use std::ffi::c_int;

use rustix::io::Errno;

use crate::next::fail;
use crate::verbs::abi;
use crate::verbs::device::DeviceContext;

/// The object that contains a context made by [`devices`].
///
/// # Safety
///
/// `context` came from `ibv_open_device` of this library and is open.
unsafe fn context_of<'a>(context: *mut abi::IbvContext) -> &'a DeviceContext {
    let offset = std::mem::offset_of!(abi::VerbsContext, context);
    // SAFETY: a context is at this offset of a `VerbsContext`, which is the first field of a
    // `DeviceContext`.
    unsafe { &*context.byte_sub(offset).cast::<DeviceContext>() }
}

/// 0 or an error number, the result of most functions.
fn error_number(result: Result<(), Errno>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(errno) => {
            fail(errno);
            errno.raw_os_error()
        }
    }
}

/// 0, or -1 with `errno`.
fn minus_one_with_errno(result: Result<(), Errno>) -> c_int {
    result.map_or_else(fail, |()| 0)
}

/// An object for the program, or null with `errno`.
fn boxed_or_null<T>(result: Result<T, Errno>) -> *mut T {
    match result {
        Ok(object) => Box::into_raw(Box::new(object)),
        Err(errno) => {
            fail(errno);
            std::ptr::null_mut()
        }
    }
}
