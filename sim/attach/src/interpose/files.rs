//! Directories and file attributes: redirected to the sysfs directory.
//!
//! `readdir` and other functions of a directory stream are not replaced, because the stream reads a
//! real directory.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};

use libc::{DIR, size_t, ssize_t};

use super::sysfs_directory_path;

/// The path to use: that of the sysfs directory, or the program's own. `path_buffer` must live as
/// long as the result.
///
/// # Safety
///
/// `path` is null or a terminated string.
unsafe fn redirect(path: *const c_char, path_buffer: &mut Option<CString>) -> *const c_char {
    // SAFETY: promised by the caller.
    *path_buffer = unsafe { sysfs_directory_path(path) };
    path_buffer
        .as_ref()
        .map_or(path, |redirect| redirect.as_ptr())
}

/// Replaces functions that differ from libc's in the path only.
macro_rules! replace_path {
    ($(
        fn $name:ident($($before:ident: $before_kind:ty,)* @path $(, $after:ident: $after_kind:ty)*)
            -> $result:ty, else $failed:expr;
    )*) => {
        replace! {$(
            #[doc = concat!("`", stringify!($name), "` of libc, in the sysfs directory.")]
            fn $name(next; $($before: $before_kind,)* path: *const c_char $(, $after: $after_kind)*)
                -> $result, else $failed; {
                let mut path_buffer = None;
                // SAFETY: the program's arguments, but for the path, which lives until the end of
                // the call.
                unsafe { next($($before,)* redirect(path, &mut path_buffer) $(, $after)*) }
            }
        )*}
    };
}

replace_path! {
    fn opendir(@path) -> *mut DIR, else std::ptr::null_mut();
    fn scandir(@path, list: *mut c_void, filter: *mut c_void, compare: *mut c_void) -> c_int, else -1;
    fn scandir64(@path, list: *mut c_void, filter: *mut c_void, compare: *mut c_void) -> c_int, else -1;
    fn chdir(@path) -> c_int, else -1;
    fn access(@path, mode: c_int) -> c_int, else -1;
    fn eaccess(@path, mode: c_int) -> c_int, else -1;
    fn euidaccess(@path, mode: c_int) -> c_int, else -1;
    fn faccessat(dir: c_int, @path, mode: c_int, flags: c_int) -> c_int, else -1;
    fn stat(@path, buffer: *mut c_void) -> c_int, else -1;
    fn stat64(@path, buffer: *mut c_void) -> c_int, else -1;
    fn lstat(@path, buffer: *mut c_void) -> c_int, else -1;
    fn lstat64(@path, buffer: *mut c_void) -> c_int, else -1;
    fn fstatat(dir: c_int, @path, buffer: *mut c_void, flags: c_int) -> c_int, else -1;
    fn fstatat64(dir: c_int, @path, buffer: *mut c_void, flags: c_int) -> c_int, else -1;
    fn __xstat(version: c_int, @path, buffer: *mut c_void) -> c_int, else -1;
    fn __xstat64(version: c_int, @path, buffer: *mut c_void) -> c_int, else -1;
    fn __lxstat(version: c_int, @path, buffer: *mut c_void) -> c_int, else -1;
    fn __lxstat64(version: c_int, @path, buffer: *mut c_void) -> c_int, else -1;
    fn __fxstatat(version: c_int, dir: c_int, @path, buffer: *mut c_void, flags: c_int) -> c_int, else -1;
    fn __fxstatat64(version: c_int, dir: c_int, @path, buffer: *mut c_void, flags: c_int) -> c_int, else -1;
    fn statx(dir: c_int, @path, flags: c_int, mask: c_uint, buffer: *mut c_void) -> c_int, else -1;
    fn readlink(@path, buffer: *mut c_char, size: size_t) -> ssize_t, else -1;
    fn __readlink_chk(@path, buffer: *mut c_char, size: size_t, buflen: size_t) -> ssize_t, else -1;
    fn readlinkat(dir: c_int, @path, buffer: *mut c_char, size: size_t) -> ssize_t, else -1;
    fn realpath(@path, resolved: *mut c_char) -> *mut c_char, else std::ptr::null_mut();
    fn __realpath_chk(@path, resolved: *mut c_char, resolvedlen: size_t) -> *mut c_char, else std::ptr::null_mut();
}
