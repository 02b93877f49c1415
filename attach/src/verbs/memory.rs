//! The program's buffers that its work requests name.
#![allow(unsafe_code, reason = "addresses are the program's promise")]

use super::abi::Sge;

/// Bytes of all buffers together.
pub(crate) fn room(buffers: &[Sge]) -> usize {
    buffers.iter().map(|sge| sge.length as usize).sum()
}

/// What is in the buffers.
///
/// # Safety
///
/// They are the program's, readable, as posting a send promises.
pub(crate) unsafe fn gather(buffers: &[Sge]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(room(buffers));
    for sge in buffers.iter().filter(|sge| sge.length > 0) {
        let start = sge.addr as *const u8;
        // SAFETY: promised by the caller.
        bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(start, sge.length as usize) });
    }
    bytes
}

/// Puts bytes into the buffers, one after the other, leaving out the first `skip` bytes of room.
///
/// # Safety
///
/// They are the program's, writable, as posting a receive promises.
pub(crate) unsafe fn scatter(buffers: &[Sge], mut skip: usize, mut bytes: &[u8]) {
    for sge in buffers {
        let length = sge.length as usize;
        let offset = skip.min(length);
        skip -= offset;
        let now = bytes.len().min(length - offset);
        if now > 0 {
            let start = (sge.addr + offset) as *mut u8;
            // SAFETY: promised by the caller; our bytes are not in there.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, now) };
        }
        bytes = &bytes[now..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_through_pieces() {
        let mut pieces = [[0u8; 5], [0; 5], [0; 5]];
        let sge = |piece: &mut [u8; 5]| Sge {
            addr: piece.as_mut_ptr() as usize,
            length: 5,
            lkey: 0,
        };
        let list = pieces.each_mut().map(sge);
        assert_eq!(room(&list), 15);
        // SAFETY: the pieces live.
        let read = unsafe {
            scatter(&list, 7, b"abcdef");
            gather(&list)
        };
        assert_eq!(read, b"\0\0\0\0\0\0\0abcdef\0\0");
    }
}
