//! Memory shared with another process, as slices of atomics. The only `unsafe` code of this crate.
//!
//! Only atomics are sound, because the peer may write at any time.
#![allow(unsafe_code, reason = "no safe API maps a file as atomics")]

use std::os::fd::{AsFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

/// Length of the control words at the start of a mapping.
pub(crate) const CONTROL_BYTES: usize = 4096;

/// A shared mapping of a memfd: a page of control words, then data.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is reached through atomics only, which threads may share; it is unmapped
// once, by `drop`.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// Creates a memfd of `len` bytes, sealed against shrinking, so that no access raises SIGBUS.
pub(crate) fn sealed_memfd(name: &str, len: usize) -> Result<OwnedFd, Errno> {
    let fd = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    rustix::fs::ftruncate(&fd, len as u64)?;
    rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(fd)
}

impl Mapping {
    /// Maps `len` bytes of `fd`, which must be a memfd of that length sealed against shrinking.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the file has another length or is not sealed, or errors of the system call.
    pub(crate) fn new(fd: impl AsFd, len: usize) -> Result<Self, Errno> {
        let size = rustix::fs::fstat(&fd)?.st_size;
        let sealed = rustix::fs::fcntl_get_seals(&fd)?.contains(SealFlags::SHRINK);
        if usize::try_from(size) != Ok(len) || !sealed || len < CONTROL_BYTES {
            return Err(Errno::INVAL);
        }
        // SAFETY: a fresh mapping at an address of the kernel's choice; nothing else refers to it.
        let address = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                len,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &fd,
                0,
            )?
        };
        let start = NonNull::new(address.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { start, len })
    }

    /// The control words, on the first page.
    pub(crate) fn control(&self) -> &[AtomicU32] {
        // SAFETY: the first CONTROL_BYTES of the mapping live as long as `self`, are page aligned,
        // hold any bits, and are only ever viewed as 32-bit atomics.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().cast(), CONTROL_BYTES / 4) }
    }

    /// The data after the control words.
    pub(crate) fn data(&self) -> &[AtomicU64] {
        // SAFETY: the bytes from CONTROL_BYTES to the end of the mapping live as long as `self`,
        // are page aligned, hold any bits, and are only ever viewed as 64-bit atomics.
        unsafe {
            std::slice::from_raw_parts(
                self.start.as_ptr().add(CONTROL_BYTES).cast(),
                (self.len - CONTROL_BYTES) / 8,
            )
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `start` and `len` are those of `mmap`, and every slice of the mapping borrowed
        // `self`.
        let unmapped = unsafe { rustix::mm::munmap(self.start.as_ptr().cast(), self.len) };
        debug_assert!(unmapped.is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An unsealed file and one of another length are rejected.
    #[test]
    fn only_sealed_files_of_the_right_length_are_mapped() {
        let fd = sealed_memfd("test", 8192).unwrap();
        assert!(Mapping::new(&fd, 8192).is_ok());
        assert_eq!(Mapping::new(&fd, 4096).unwrap_err(), Errno::INVAL);
        assert!(rustix::fs::ftruncate(&fd, 0).is_err(), "sealed");
        let open = rustix::fs::memfd_create("test", MemfdFlags::ALLOW_SEALING).unwrap();
        rustix::fs::ftruncate(&open, 8192).unwrap();
        assert_eq!(Mapping::new(&open, 8192).unwrap_err(), Errno::INVAL);
    }
}
