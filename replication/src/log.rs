//! The recent history of a master: a standby that was disconnected briefly gets only the batches
//! that it missed.
//!
//! Without I/O. The history of each master has an epoch, a unique random number, so that two
//! histories are never confused.

use core::fmt;
use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A position in a history: after a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// The history's epoch, chosen at random by its master.
    pub epoch: u64,
    /// Number of the last batch. A new master continues the numbers of its predecessor.
    pub seq: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}/{}", self.epoch, self.seq)
    }
}

/// Limits of the log. A standby that lacks older batches gets a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLimits {
    pub batches: usize,
    /// Bytes of encoded batches.
    pub bytes: usize,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self {
            batches: 65_536,
            bytes: 64 << 20,
        }
    }
}

/// A batch with this number exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("batch {received} committed, expected {expected}")]
pub(crate) struct DuplicateBatch {
    /// The expected number.
    pub expected: u64,
    /// The number of the batch.
    pub received: u64,
}

/// The recent history of one master.
#[derive(Debug, Clone)]
pub(crate) struct BatchLog {
    epoch: u64,
    base: Option<Position>,
    /// Encoded batches; the number of the last one is `last`.
    batches: VecDeque<Arc<[u8]>>,
    bytes: usize,
    start: u64,
    last: u64,
    limits: LogLimits,
}

impl BatchLog {
    /// Starts a history from the records at `base` of an earlier one; `None` if their position is
    /// unknown.
    #[must_use]
    pub(crate) const fn new(epoch: u64, base: Option<Position>, limits: LogLimits) -> Self {
        let start = match base {
            Some(base) => base.seq,
            None => 0,
        };
        Self {
            epoch,
            base,
            batches: VecDeque::new(),
            bytes: 0,
            start,
            last: start,
            limits,
        }
    }

    /// The position of the last batch.
    #[must_use]
    pub(crate) const fn end_position(&self) -> Position {
        Position {
            epoch: self.epoch,
            seq: self.last,
        }
    }

    /// The position in the earlier history at which this one starts.
    #[must_use]
    pub(crate) const fn base(&self) -> Option<Position> {
        self.base
    }

    /// Appends a batch and drops the oldest ones beyond the limits. A batch that exceeds the limits
    /// alone, or does not follow the last one, empties the log: followers that need the missing
    /// batches get a snapshot.
    ///
    /// # Errors
    /// [`DuplicateBatch`] if the number exists; nothing changes then.
    pub(crate) fn push(&mut self, seq: u64, encoded: Arc<[u8]>) -> Result<(), DuplicateBatch> {
        let expected = self.last.saturating_add(1);
        if seq < expected {
            return Err(DuplicateBatch {
                expected,
                received: seq,
            });
        }
        if seq > expected {
            self.batches.clear();
            self.bytes = 0;
        }
        self.last = seq;
        self.bytes = self.bytes.saturating_add(encoded.len());
        self.batches.push_back(encoded);
        while self.batches.len() > self.limits.batches || self.bytes > self.limits.bytes {
            let Some(oldest) = self.batches.pop_front() else {
                break;
            };
            self.bytes = self.bytes.saturating_sub(oldest.len());
        }
        Ok(())
    }

    /// The batch number of a position; `None` if it is not part of this history (a diverged tail,
    /// or another fabric).
    #[must_use]
    pub(crate) fn locate(&self, at: Position) -> Option<u64> {
        if at.epoch == self.epoch {
            (self.start..=self.last).contains(&at.seq).then_some(at.seq)
        } else {
            (self.base == Some(at)).then_some(at.seq)
        }
    }

    /// Whether all batches after `seq` are available.
    #[must_use]
    pub(crate) fn has_all_after(&self, seq: u64) -> bool {
        seq <= self.last && self.first() <= seq.saturating_add(1)
    }

    /// A batch; `None` if it was dropped or does not exist yet.
    #[must_use]
    pub(crate) fn get(&self, seq: u64) -> Option<&Arc<[u8]>> {
        let index = seq.checked_sub(self.first())?;
        self.batches.get(usize::try_from(index).ok()?)
    }

    /// Number of the oldest available batch, or of the next one if there is none.
    fn first(&self) -> u64 {
        let count = self.batches.len() as u64;
        self.last.saturating_add(1).saturating_sub(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(len: usize) -> Arc<[u8]> {
        vec![0; len].into()
    }

    /// The log of a master that continues from batch 9.
    fn log(batches: usize, bytes: usize) -> BatchLog {
        let base = Position { epoch: 1, seq: 9 };
        BatchLog::new(2, Some(base), LogLimits { batches, bytes })
    }

    #[test]
    fn follower_resumes_only_from_a_position_of_the_history() {
        let mut log = log(10, 1000);
        log.push(10, batch(1)).unwrap();
        let locate = |epoch, seq| log.locate(Position { epoch, seq });
        assert_eq!(locate(1, 9), Some(9));
        assert_eq!(locate(1, 10), None, "a diverged tail");
        assert_eq!(locate(1, 8), None, "behind the base");
        assert_eq!(locate(2, 10), Some(10));
        assert_eq!(locate(2, 11), None, "ahead of its master");
        assert_eq!(locate(2, 8), None, "before the history");
    }

    #[test]
    fn oldest_batches_are_dropped_by_count_and_size() {
        let mut short_log = log(2, 1000);
        let mut small = log(100, 25);
        for seq in 10..=13 {
            short_log.push(seq, batch(10)).unwrap();
            small.push(seq, batch(10)).unwrap();
        }
        for log in [short_log, small] {
            assert!(log.has_all_after(11) && log.has_all_after(13));
            assert!(!log.has_all_after(10) && !log.has_all_after(14));
            assert!(log.get(11).is_none() && log.get(12).is_some() && log.get(14).is_none());
        }
    }

    #[test]
    fn oversized_batch_empties_the_log() {
        let mut log = log(10, 20);
        log.push(10, batch(5)).unwrap();
        log.push(11, batch(21)).unwrap();
        assert!(!log.has_all_after(10) && log.has_all_after(11));
        log.push(12, batch(5)).unwrap();
        assert!(log.has_all_after(11) && log.get(12).is_some());
    }

    #[test]
    fn gap_empties_the_log_and_repetition_is_rejected() {
        let mut log = log(10, 1000);
        log.push(10, batch(1)).unwrap();
        let expected = 11;
        assert_eq!(
            log.push(10, batch(1)),
            Err(DuplicateBatch {
                expected,
                received: 10
            })
        );
        assert_eq!(log.end_position().seq, 10);
        log.push(12, batch(1)).unwrap();
        assert!(!log.has_all_after(10) && log.has_all_after(11) && log.get(12).is_some());
        assert_eq!(log.end_position().seq, 12);
    }
}
