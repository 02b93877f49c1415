//! A ring of bytes between one producer and one consumer in two processes that do not trust each other.
//!
//! A frame is one 64-bit header (low half: bytes of this frame, high half: bytes of the message that follow in later
//! frames) and the bytes, padded to 8. Positions count bytes and wrap at 2^32. The ring has no state of its own
//! besides the shared words, so a forked process goes on where its parent was. It never waits and never wakes anybody.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::CorruptMemory;

/// Bytes of one ring. There are two in each opened file, one each way. A power of two.
pub const RING_BYTES: usize = 256 * 1024;

/// Longest message, bytes: far more than any SA table, so that a corrupt length cannot make a side allocate without end.
pub const MAX_MESSAGE: usize = 64 << 20;

/// A message longer than this may be split; each frame but its last has at least this many bytes. The bound keeps a
/// peer from making us work through millions of tiny frames.
pub(crate) const PIECE: usize = 16 * 1024;

const RING: u32 = 256 * 1024;
const _: () = assert!(RING as usize == RING_BYTES && RING.is_power_of_two());

/// View of one ring in shared memory.
#[derive(Clone, Copy)]
pub(crate) struct Ring<'m> {
    /// Where the producer writes next.
    pub(crate) tail: &'m AtomicU32,
    /// Where the consumer reads next.
    pub(crate) head: &'m AtomicU32,
    pub(crate) cells: &'m [AtomicU64],
}

/// A frame that waits at the head of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Where its bytes begin.
    start: u32,
    /// Bytes in this frame.
    pub(crate) len: usize,
    /// Bytes of the message in later frames.
    pub(crate) rest: usize,
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "callers pass lengths up to RING_BYTES"
)]
fn padded(len: usize) -> u32 {
    len.next_multiple_of(8) as u32
}

impl Ring<'_> {
    fn used(&self, tail: u32, head: u32) -> Result<u32, CorruptMemory> {
        let used = tail.wrapping_sub(head);
        if used > RING || !tail.is_multiple_of(8) || !head.is_multiple_of(8) {
            return Err(CorruptMemory("positions"));
        }
        Ok(used)
    }

    fn cell(&self, position: u32) -> &AtomicU64 {
        &self.cells[(position & (RING - 1)) as usize / 8]
    }

    /// Whether anything waits. Cheap: for loops.
    pub(crate) fn is_empty(&self) -> bool {
        self.tail.load(Ordering::Acquire) == self.head.load(Ordering::Relaxed)
    }

    /// Consumer: the frame at the head, with its header checked.
    pub(crate) fn front(&self) -> Result<Option<Frame>, CorruptMemory> {
        let tail = self.tail.load(Ordering::Acquire);
        let head = self.head.load(Ordering::Relaxed);
        let used = self.used(tail, head)?;
        if used == 0 {
            return Ok(None);
        }
        let header = self.cell(head).load(Ordering::Relaxed);
        #[expect(clippy::cast_possible_truncation, reason = "two halves")]
        let (len, rest) = (header as u32 as usize, (header >> 32) as usize);
        if len > RING_BYTES - 8 || 8 + padded(len) > used {
            return Err(CorruptMemory("a frame is longer than what is in the ring"));
        }
        if len + rest > MAX_MESSAGE {
            return Err(CorruptMemory("a message is too long"));
        }
        if rest > 0 && len < PIECE {
            return Err(CorruptMemory("a message is in too small pieces"));
        }
        Ok(Some(Frame {
            start: head.wrapping_add(8),
            len,
            rest,
        }))
    }

    /// Consumer: copies the first bytes of a frame, as many as `out` has (at most `frame.len`).
    pub(crate) fn copy(&self, frame: Frame, out: &mut [u8]) {
        let len = out.len().min(frame.len);
        let first = (frame.start & (RING - 1)) as usize / 8;
        let (words, end) = out[..len].as_chunks_mut::<8>();
        // Up to the end of the memory, and on from its beginning.
        let (here, wrapped) = words.split_at_mut(words.len().min(self.cells.len() - first));
        for (word, cell) in here.iter_mut().zip(&self.cells[first..]) {
            *word = cell.load(Ordering::Relaxed).to_ne_bytes();
        }
        for (word, cell) in wrapped.iter_mut().zip(self.cells) {
            *word = cell.load(Ordering::Relaxed).to_ne_bytes();
        }
        if !end.is_empty() {
            let last = frame.start.wrapping_add(padded(len) - 8);
            let bytes = self.cell(last).load(Ordering::Relaxed).to_ne_bytes();
            end.copy_from_slice(&bytes[..end.len()]);
        }
    }

    /// Consumer: gives the frame's room back.
    pub(crate) fn release(&self, frame: Frame) {
        self.head.store(
            frame.start.wrapping_add(padded(frame.len)),
            Ordering::Release,
        );
    }

    /// Producer: puts as much as fits of the message made of `parts`, from byte `offset` on, which is moved. True when the
    /// whole message is in. A message of up to [`PIECE`] bytes goes in whole or not at all.
    pub(crate) fn push(&self, parts: &[&[u8]], offset: &mut usize) -> Result<bool, CorruptMemory> {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        loop {
            let tail = self.tail.load(Ordering::Relaxed);
            let head = self.head.load(Ordering::Acquire);
            let free = (RING - self.used(tail, head)?) as usize;
            let left = total.saturating_sub(*offset);
            if free < 8 + left.next_multiple_of(8).min(PIECE) {
                return Ok(false);
            }
            let len = left.min(free - 8);
            let rest = left - len;
            let header = (len as u64) | ((rest as u64) << 32);
            self.cell(tail).store(header, Ordering::Relaxed);
            self.fill(tail.wrapping_add(8), parts, *offset, len);
            let next = tail.wrapping_add(8).wrapping_add(padded(len));
            self.tail.store(next, Ordering::Release);
            *offset += len;
            if rest == 0 {
                return Ok(true);
            }
        }
    }

    /// Copies `len` bytes of the joined `parts`, from byte `skip` on, to `position`.
    fn fill(&self, mut position: u32, parts: &[&[u8]], mut skip: usize, len: usize) {
        let mut left = len;
        let mut word = [0; 8];
        let mut have = 0;
        let mut put = |word: [u8; 8]| {
            self.cell(position)
                .store(u64::from_ne_bytes(word), Ordering::Relaxed);
            position = position.wrapping_add(8);
        };
        for part in parts {
            if skip >= part.len() {
                skip -= part.len();
                continue;
            }
            let mut bytes = &part[skip..];
            bytes = &bytes[..bytes.len().min(left)];
            skip = 0;
            left -= bytes.len();
            if have > 0 {
                let n = bytes.len().min(8 - have);
                word[have..have + n].copy_from_slice(&bytes[..n]);
                bytes = &bytes[n..];
                have += n;
                if have < 8 {
                    continue;
                }
                put(word);
            }
            let (whole, end) = bytes.as_chunks::<8>();
            for chunk in whole {
                put(*chunk);
            }
            word[..end.len()].copy_from_slice(end);
            have = end.len();
        }
        if have > 0 {
            word[have..].fill(0);
            put(word);
        }
    }
}

/// Puts together messages that came in several frames.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    bytes: Vec<u8>,
    rest: usize,
    active: bool,
}

impl Assembly {
    /// Moves frames of a split message out of the ring. True when one is whole and waits in [`Assembly::whole`]. A
    /// message of a single frame is left in the ring.
    pub(crate) fn pull(
        &mut self,
        ring: &Ring<'_>,
        mut freed: impl FnMut(),
    ) -> Result<bool, CorruptMemory> {
        while !self.is_whole() {
            let Some(frame) = ring.front()? else {
                return Ok(false);
            };
            if !self.active {
                if frame.rest == 0 {
                    return Ok(false);
                }
                self.bytes.clear();
                self.active = true;
            } else if self.rest != frame.len + frame.rest {
                return Err(CorruptMemory(
                    "pieces of a message do not follow each other",
                ));
            }
            let at = self.bytes.len();
            self.bytes.resize(at + frame.len, 0);
            ring.copy(frame, &mut self.bytes[at..]);
            self.rest = frame.rest;
            ring.release(frame);
            freed();
        }
        Ok(true)
    }

    pub(crate) fn is_whole(&self) -> bool {
        self.active && self.rest == 0
    }

    /// Whether a part of a message was taken and the rest is still to come.
    pub(crate) fn is_partial(&self) -> bool {
        self.active && self.rest > 0
    }

    /// The whole message, if there is one.
    pub(crate) fn whole(&self) -> Option<&[u8]> {
        self.is_whole().then_some(self.bytes.as_slice())
    }

    /// Forgets the whole message. Large room is given back.
    pub(crate) fn pop(&mut self) {
        self.bytes = Vec::new();
        self.active = false;
    }

    /// Takes the whole message.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.active = false;
        std::mem::take(&mut self.bytes)
    }
}
