//! Functions of libibverbs that this library does not support: they return an error instead of
//! accessing objects that are not libibverbs' own.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

use rustix::io::Errno;

use super::{boxed_or_null, error_number};
use crate::config::config;

/// Functions that return an error number, and functions that return an object.
macro_rules! reject {
    ($(int $name:ident($($arg:ident: $kind:ty),*);)* $(pointer $object:ident($($part:ident: $of:ty),*);)*) => {
        $(replace! {
            /// Not supported.
            fn $name(next; $($arg: $kind),*) -> c_int, else libc::ENOSYS; {
                if config().is_none() {
                    // SAFETY: passed on.
                    return unsafe { next($($arg),*) };
                }
                error_number(Err(Errno::OPNOTSUPP))
            }
        })*
        $(replace! {
            /// Not supported.
            fn $object(next; $($part: $of),*) -> *mut c_void, else null_mut(); {
                if config().is_none() {
                    // SAFETY: passed on.
                    return unsafe { next($($part),*) };
                }
                boxed_or_null::<c_void>(Err(Errno::OPNOTSUPP))
            }
        })*
    };
}

reject! {
    int ibv_resize_cq(cq: *mut c_void, cqe: c_int);
    int ibv_rereg_mr(mr: *mut c_void, flags: c_int, pd: *mut c_void, addr: *mut c_void, length: usize, access: c_int);
    int ibv_modify_srq(srq: *mut c_void, attr: *mut c_void, mask: c_int);
    int ibv_query_srq(srq: *mut c_void, attr: *mut c_void);
    int ibv_destroy_srq(srq: *mut c_void);
    int ibv_query_ece(qp: *mut c_void, ece: *mut c_void);
    int ibv_set_ece(qp: *mut c_void, ece: *mut c_void);
    int ibv_resolve_eth_l2_from_gid(context: *mut c_void, attr: *mut c_void, mac: *mut c_void, vid: *mut c_void);
    pointer ibv_create_srq(pd: *mut c_void, init: *mut c_void);
    pointer ibv_import_device(fd: c_int);
    pointer ibv_import_pd(context: *mut c_void, handle: u32);
    pointer ibv_import_mr(pd: *mut c_void, handle: u32);
    pointer ibv_import_dm(context: *mut c_void, handle: u32);
    pointer ibv_reg_dmabuf_mr(pd: *mut c_void, offset: u64, length: usize, iova: u64, fd: c_int, access: c_int);
    pointer ibv_qp_to_qp_ex(qp: *mut c_void);
}
