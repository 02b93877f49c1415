//! Byte ring between one producer and one consumer in two processes that do not trust each other.
//!
//! A frame is a 64-bit header (low half: length of this frame; high half: remaining length of the
//! message in later frames) and the bytes, padded to 8. Positions count bytes and wrap at 2^32. All
//! state is in the shared words, so a forked process continues where its parent was. The ring
//! neither waits nor wakes the peer.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::CorruptMemory;

/// Length of one ring; a power of two. An opened file has one per direction.
pub const RING_BYTES: usize = 256 * 1024;

/// Maximum length of a message: more than any SA table, but limited so that a corrupt length cannot
/// cause unbounded allocation.
pub const MAX_MESSAGE: usize = 64 << 20;

/// Minimum length of every frame of a split message except the last. The limit bounds the work per
/// message.
pub(crate) const MIN_SPLIT_FRAME: usize = 16 * 1024;

const RING: u32 = 256 * 1024;
const _: () = assert!(RING as usize == RING_BYTES && RING.is_power_of_two());

/// View of one ring in shared memory.
#[derive(Clone, Copy)]
pub(crate) struct Ring<'m> {
    /// Position of the producer.
    pub(crate) tail: &'m AtomicU32,
    /// Position of the consumer.
    pub(crate) head: &'m AtomicU32,
    pub(crate) cells: &'m [AtomicU64],
}

/// The frame at the head of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RingFrame {
    /// Position of its bytes.
    start: u32,
    /// Length of this frame.
    pub(crate) len: usize,
    /// Remaining length of the message in later frames.
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
    /// Bytes between the positions, which are checked.
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

    /// Whether the ring is empty; cheap enough for polling.
    pub(crate) fn is_empty(&self) -> bool {
        self.tail.load(Ordering::Acquire) == self.head.load(Ordering::Relaxed)
    }

    /// Consumer: the frame at the head, with its header checked.
    pub(crate) fn front(&self) -> Result<Option<RingFrame>, CorruptMemory> {
        let tail = self.tail.load(Ordering::Acquire);
        let head = self.head.load(Ordering::Relaxed);
        let used = self.used(tail, head)?;
        if used == 0 {
            return Ok(None);
        }
        let header = self.cell(head).load(Ordering::Relaxed);
        #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
        let len = header as u32 as usize;
        let rest = (header >> 32) as usize;
        if len > RING_BYTES - 8 || 8 + padded(len) > used {
            return Err(CorruptMemory("frame longer than the ring's contents"));
        }
        if len + rest > MAX_MESSAGE {
            return Err(CorruptMemory("message too long"));
        }
        if rest > 0 && len < MIN_SPLIT_FRAME {
            return Err(CorruptMemory("frames of a message too short"));
        }
        Ok(Some(RingFrame {
            start: head.wrapping_add(8),
            len,
            rest,
        }))
    }

    /// Consumer: copies the first bytes of a frame to `out`, at most `frame.len`.
    pub(crate) fn copy(&self, frame: RingFrame, out: &mut [u8]) {
        let len = out.len().min(frame.len);
        let first = (frame.start & (RING - 1)) as usize / 8;
        let (words, end) = out[..len].as_chunks_mut::<8>();
        // Up to the end of the memory, then from its start.
        let (before_wrap, wrapped) = words.split_at_mut(words.len().min(self.cells.len() - first));
        for (word, cell) in before_wrap.iter_mut().zip(&self.cells[first..]) {
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

    /// Consumer: releases the frame's room.
    pub(crate) fn release(&self, frame: RingFrame) {
        self.head.store(
            frame.start.wrapping_add(padded(frame.len)),
            Ordering::Release,
        );
    }

    /// Producer: writes as much of the message made of `parts` as fits, from byte `offset` on, and
    /// advances `offset`. Returns true when the whole message is written. A message of up to
    /// [`MIN_SPLIT_FRAME`] bytes is never split.
    pub(crate) fn push(&self, parts: &[&[u8]], offset: &mut usize) -> Result<bool, CorruptMemory> {
        let total: usize = parts.iter().map(|part| part.len()).sum();
        loop {
            let tail = self.tail.load(Ordering::Relaxed);
            let head = self.head.load(Ordering::Acquire);
            let free_bytes = (RING - self.used(tail, head)?) as usize;
            let left = total.saturating_sub(*offset);
            if free_bytes < 8 + left.next_multiple_of(8).min(MIN_SPLIT_FRAME) {
                return Ok(false);
            }
            let len = left.min(free_bytes - 8);
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
        let mut filled = 0;
        let mut push_word = |word: [u8; 8]| {
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
            if filled > 0 {
                let n = bytes.len().min(8 - filled);
                word[filled..filled + n].copy_from_slice(&bytes[..n]);
                bytes = &bytes[n..];
                filled += n;
                if filled < 8 {
                    continue;
                }
                push_word(word);
            }
            let (whole, end) = bytes.as_chunks::<8>();
            for chunk in whole {
                push_word(*chunk);
            }
            word[..end.len()].copy_from_slice(end);
            filled = end.len();
        }
        if filled > 0 {
            word[filled..].fill(0);
            push_word(word);
        }
    }
}

/// Reassembles messages of several frames.
#[derive(Debug, Default)]
pub(crate) struct MessageAssembly {
    bytes: Vec<u8>,
    rest: usize,
    active: bool,
}

impl MessageAssembly {
    /// Moves frames of a split message out of the ring. Returns true if
    /// [`MessageAssembly::complete_message`] has one. A message of a single frame remains in the
    /// ring.
    pub(crate) fn pull(
        &mut self,
        ring: &Ring<'_>,
        mut on_release: impl FnMut(),
    ) -> Result<bool, CorruptMemory> {
        while !self.is_complete() {
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
                return Err(CorruptMemory("frames of a message not in sequence"));
            }
            let start = self.bytes.len();
            self.bytes.resize(start + frame.len, 0);
            ring.copy(frame, &mut self.bytes[start..]);
            self.rest = frame.rest;
            ring.release(frame);
            on_release();
        }
        Ok(true)
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.active && self.rest == 0
    }

    /// Whether some but not all frames of a message were moved.
    pub(crate) fn is_partial(&self) -> bool {
        self.active && self.rest > 0
    }

    /// The complete message, if any.
    pub(crate) fn complete_message(&self) -> Option<&[u8]> {
        self.is_complete().then_some(self.bytes.as_slice())
    }

    /// Removes the complete message and releases its memory.
    pub(crate) fn pop(&mut self) {
        self.bytes = Vec::new();
        self.active = false;
    }

    /// Returns and removes the complete message.
    pub(crate) fn take_message(&mut self) -> Vec<u8> {
        self.active = false;
        std::mem::take(&mut self.bytes)
    }
}
