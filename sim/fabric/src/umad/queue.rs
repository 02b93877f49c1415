//! Received messages of a file that its program has not read.
//!
//! A queue is limited in messages, as in the kernel, and in bytes of long messages, which the
//! kernel leaves to its allocator. Further messages are dropped and counted.

use std::collections::VecDeque;

use ferrosm_mad::mad::{MAD_LEN, Mad};

use super::abi::{Errno, HEADER_MAX, HeaderLayout};
use super::class::MAD_HEADER;

/// Maximum number of messages that wait in one file (the kernel's `MAX_UMAD_RECV_LIST_SIZE`).
pub const QUEUE_MESSAGES: usize = 200_000;
/// Maximum length of long messages that wait in one file or are being reassembled for it.
pub const QUEUE_LONG_BYTES: usize = 256 << 20;

/// Capacity above which an empty queue releases its memory.
const MAX_IDLE_CAPACITY: usize = 1024;

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "almost all messages are plain MADs, and a box for each would be an allocation per MAD"
)]
pub(super) enum Body {
    /// A MAD, and its valid length.
    Mad(Mad, usize),
    /// A message reassembled from segments.
    Long(Vec<u8>),
    /// The common header of a failed send.
    Failed([u8; MAD_HEADER]),
}

impl Body {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Mad(mad, len) => &mad.as_bytes()[..*len],
            Self::Long(bytes) => bytes,
            Self::Failed(bytes) => bytes,
        }
    }

    /// Length of heap-allocated data.
    const fn long_bytes(&self) -> usize {
        match self {
            Self::Mad(..) | Self::Failed(_) => 0,
            Self::Long(bytes) => bytes.len(),
        }
    }
}

#[derive(Debug)]
struct Queued {
    header: [u8; HEADER_MAX],
    body: Body,
}

/// The messages of one file, oldest first.
#[derive(Debug, Default)]
pub(super) struct Queue {
    messages: VecDeque<Queued>,
    received: usize,
    long_bytes: usize,
    pub(super) dropped: u64,
}

/// Result of queueing a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pushed {
    /// The message is the only one: the file became readable.
    First,
    /// Other messages precede it.
    Behind,
    /// The queue is full.
    Dropped,
}

impl Queue {
    pub(super) fn push(&mut self, header: [u8; HEADER_MAX], body: Body) -> Pushed {
        let long = body.long_bytes();
        if !matches!(body, Body::Failed(_)) {
            if self.received >= QUEUE_MESSAGES || self.long_bytes + long > QUEUE_LONG_BYTES {
                self.dropped += 1;
                return Pushed::Dropped;
            }
            self.received += 1;
        }
        self.long_bytes += long;
        self.messages.push_back(Queued { header, body });
        if self.messages.len() == 1 {
            Pushed::First
        } else {
            Pushed::Behind
        }
    }

    pub(super) fn front(&self, layout: HeaderLayout) -> Option<UmadMessage<'_>> {
        let queued = self.messages.front()?;
        Some(UmadMessage {
            header: &queued.header[..layout.header_len()],
            body: queued.body.bytes(),
        })
    }

    pub(super) fn pop(&mut self) {
        if let Some(queued) = self.messages.pop_front() {
            self.long_bytes -= queued.body.long_bytes();
            self.received -= usize::from(!matches!(queued.body, Body::Failed(_)));
        }
        if self.messages.is_empty() && self.messages.capacity() > MAX_IDLE_CAPACITY {
            self.messages.shrink_to(MAX_IDLE_CAPACITY);
        }
    }

    /// Length of the long messages.
    pub(super) const fn long_bytes(&self) -> usize {
        self.long_bytes
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }
}

/// The oldest message of a file in `read`'s format: header and body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UmadMessage<'a> {
    /// 56 or 64 bytes, depending on the file's layout.
    pub header: &'a [u8],
    /// A MAD, a reassembled message, or the 24 bytes of a request that timed out.
    pub body: &'a [u8],
}

/// Result of a `read` into a buffer of a given length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadOutcome {
    /// This many bytes are copied; the message must be removed.
    Complete(usize),
    /// This many bytes are copied, and the call fails with ENOSPC; the message remains.
    FirstSegment(usize),
    /// Nothing is copied, and the call fails with EINVAL; the message remains.
    TooSmall,
}

impl UmadMessage<'_> {
    /// Length of header and body.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a message is never empty")]
    pub const fn len(&self) -> usize {
        self.header.len() + self.body.len()
    }

    /// Result of a `read` with a buffer of `count` bytes: the first 256 bytes must fit; for a
    /// longer message they are copied.
    #[must_use]
    pub fn read_outcome(&self, count: usize) -> ReadOutcome {
        let first = self.header.len() + self.body.len().min(MAD_LEN);
        if count >= self.len() {
            ReadOutcome::Complete(self.len())
        } else if count >= first {
            ReadOutcome::FirstSegment(first)
        } else {
            ReadOutcome::TooSmall
        }
    }

    /// Copies as `read` does and returns its result; after success the message must be removed.
    ///
    /// # Errors
    /// EINVAL or ENOSPC, see [`ReadOutcome`].
    pub fn read(&self, buf: &mut [u8]) -> Result<usize, Errno> {
        let outcome = self.read_outcome(buf.len());
        let (ReadOutcome::Complete(copied) | ReadOutcome::FirstSegment(copied)) = outcome else {
            return Err(Errno::EINVAL);
        };
        let (header, body) = buf[..copied].split_at_mut(self.header.len());
        header.copy_from_slice(self.header);
        body.copy_from_slice(&self.body[..body.len()]);
        match outcome {
            ReadOutcome::Complete(len) => Ok(len),
            ReadOutcome::FirstSegment(_) | ReadOutcome::TooSmall => Err(Errno::ENOSPC),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_limited_in_bytes_but_failures_are_not() {
        let mut queue = Queue::default();
        let header = [0; HEADER_MAX];
        let long = || Body::Long(vec![0; QUEUE_LONG_BYTES / 4]);
        assert_eq!(queue.push(header, long()), Pushed::First);
        for _ in 0..3 {
            assert_eq!(queue.push(header, long()), Pushed::Behind);
        }
        assert_eq!(queue.push(header, long()), Pushed::Dropped);
        let failed = Body::Failed([0; MAD_HEADER]);
        assert_eq!(queue.push(header, failed), Pushed::Behind);
        queue.pop();
        assert_eq!(queue.push(header, long()), Pushed::Behind);
        assert_eq!((queue.len(), queue.dropped), (5, 1));
        while queue.len() > 0 {
            queue.pop();
        }
        assert_eq!((queue.long_bytes(), queue.received), (0, 0));
    }
}
