//! The program's buffers in its work requests.

#![allow(unsafe_code, reason = "the buffers are memory of the program")]

use super::abi::Sge;

/// Scatter or gather list of a work request.
pub(crate) struct SgList(Vec<Sge>);

impl SgList {
    /// # Safety
    ///
    /// The buffers belong to the program and remain valid until the work request completes:
    /// readable for a send, writable for a receive.
    pub(crate) unsafe fn new(buffers: &[Sge]) -> Self {
        Self(buffers.to_vec())
    }

    /// Total length.
    pub(crate) fn byte_len(&self) -> usize {
        self.0.iter().map(|sge| sge.length as usize).sum()
    }

    /// The contents.
    pub(crate) fn gather(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.byte_len());
        for sge in self.0.iter().filter(|sge| sge.length > 0) {
            let start = sge.addr as *const u8;
            let length = sge.length as usize;
            // SAFETY: promised to `new`.
            bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(start, length) });
        }
        bytes
    }

    /// Writes bytes to the buffers after the first `skip` bytes.
    pub(crate) fn scatter(&self, mut skip: usize, mut bytes: &[u8]) {
        for sge in &self.0 {
            let length = sge.length as usize;
            let offset = skip.min(length);
            skip -= offset;
            let count = bytes.len().min(length - offset);
            if count > 0 {
                let start = (sge.addr + offset) as *mut u8;
                // SAFETY: promised to `new`; `bytes` does not overlap the buffer.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, count) };
            }
            bytes = &bytes[count..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_pass_through_several_buffers() {
        let mut buffers = [[0u8; 5], [0; 5], [0; 5]];
        let sge = |buffer: &mut [u8; 5]| Sge {
            addr: buffer.as_mut_ptr() as usize,
            length: 5,
            lkey: 0,
        };
        let list = buffers.each_mut().map(sge);
        // SAFETY: the buffers outlive the list.
        let sg_list = unsafe { SgList::new(&list) };
        assert_eq!(sg_list.byte_len(), 15);
        sg_list.scatter(7, b"abcdef");
        assert_eq!(sg_list.gather(), b"\0\0\0\0\0\0\0abcdef\0\0");
    }
}
