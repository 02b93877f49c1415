//! What a master changed lately, in order: so that a standby that was away for a moment gets what it missed, and no more.
//!
//! A value of its own that reads and writes nothing. The history of each master has an epoch, a random number that nobody else
//! has, so that two histories are never taken for one.

use core::fmt;
use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A place in a history: after a certain batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// Whose history: chosen at random by who became master.
    pub epoch: u64,
    /// Number of the last batch. A master goes on with the numbers of the one before.
    pub seq: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}/{}", self.epoch, self.seq)
    }
}

/// How much is remembered. Who was away for longer gets everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLimits {
    /// Batches.
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

/// A batch that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("batch {got} was committed where {wanted} was due")]
pub(crate) struct Gap {
    /// What was due.
    pub wanted: u64,
    /// What came.
    pub got: u64,
}

/// The end of the history of one master.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    epoch: u64,
    base: Option<Position>,
    /// Encoded batches, the last one is number `last`.
    batches: VecDeque<Arc<[u8]>>,
    bytes: usize,
    start: u64,
    last: u64,
    limits: LogLimits,
}

impl Log {
    /// A history that begins now, with records that are those at `base` in an older one; `None` where nobody knows.
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

    /// Where it is now.
    #[must_use]
    pub(crate) const fn end(&self) -> Position {
        Position {
            epoch: self.epoch,
            seq: self.last,
        }
    }

    /// Where it began in the history before it.
    #[must_use]
    pub(crate) const fn base(&self) -> Option<Position> {
        self.base
    }

    /// Puts a batch at the end. The oldest ones are forgotten where it gets too much; a batch that is too much by itself leaves
    /// nothing, and nor does one that does not follow: who needs what is missing gets everything.
    ///
    /// # Errors
    /// [`Gap`] if it is there already; nothing changes then.
    pub(crate) fn push(&mut self, seq: u64, encoded: Arc<[u8]>) -> Result<(), Gap> {
        let wanted = self.last.saturating_add(1);
        if seq < wanted {
            return Err(Gap { wanted, got: seq });
        }
        if seq > wanted {
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

    /// `at` in this history; `None` if it is not on it (a tail that nobody else has, or another fabric's past).
    #[must_use]
    pub(crate) fn locate(&self, at: Position) -> Option<u64> {
        if at.epoch == self.epoch {
            (self.start..=self.last).contains(&at.seq).then_some(at.seq)
        } else {
            (self.base == Some(at)).then_some(at.seq)
        }
    }

    /// Whether all that follows batch `seq` is still here.
    #[must_use]
    pub(crate) fn follows(&self, seq: u64) -> bool {
        seq <= self.last && self.first() <= seq.saturating_add(1)
    }

    /// A batch; `None` if it was forgotten or is not there yet.
    #[must_use]
    pub(crate) fn get(&self, seq: u64) -> Option<&Arc<[u8]>> {
        let at = seq.checked_sub(self.first())?;
        self.batches.get(usize::try_from(at).ok()?)
    }

    /// Number of the oldest batch that is here, or of the next one if there is none.
    fn first(&self) -> u64 {
        let count = u64::try_from(self.batches.len()).unwrap_or(u64::MAX);
        self.last.saturating_add(1).saturating_sub(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(len: usize) -> Arc<[u8]> {
        vec![0; len].into()
    }

    /// Of a master that goes on from batch 9.
    fn log(batches: usize, bytes: usize) -> Log {
        let base = Position { epoch: 1, seq: 9 };
        Log::new(2, Some(base), LogLimits { batches, bytes })
    }

    #[test]
    fn who_was_at_the_base_goes_on_from_it_and_others_do_not() {
        let mut log = log(10, 1000);
        log.push(10, batch(1)).unwrap();
        let locate = |epoch, seq| log.locate(Position { epoch, seq });
        assert_eq!(locate(1, 9), Some(9));
        assert_eq!(locate(1, 10), None, "a diverged tail");
        assert_eq!(locate(1, 8), None, "behind the base");
        assert_eq!(locate(2, 10), Some(10));
        assert_eq!(locate(2, 11), None, "ahead of its master");
        assert_eq!(locate(2, 8), None, "before the beginning");
    }

    #[test]
    fn the_oldest_are_forgotten_by_count_and_by_size() {
        let mut few = log(2, 1000);
        let mut small = log(100, 25);
        for seq in 10..=13 {
            few.push(seq, batch(10)).unwrap();
            small.push(seq, batch(10)).unwrap();
        }
        for log in [few, small] {
            assert!(log.follows(11) && log.follows(13));
            assert!(!log.follows(10) && !log.follows(14));
            assert!(log.get(11).is_none() && log.get(12).is_some() && log.get(14).is_none());
        }
    }

    #[test]
    fn a_batch_that_is_too_much_leaves_nothing_but_its_number() {
        let mut log = log(10, 20);
        log.push(10, batch(5)).unwrap();
        log.push(11, batch(21)).unwrap();
        assert!(!log.follows(10) && log.follows(11));
        log.push(12, batch(5)).unwrap();
        assert!(log.follows(11) && log.get(12).is_some());
    }

    #[test]
    fn what_does_not_follow_leaves_nothing_before_it_and_repetitions_are_refused() {
        let mut log = log(10, 1000);
        log.push(10, batch(1)).unwrap();
        let wanted = 11;
        assert_eq!(log.push(10, batch(1)), Err(Gap { wanted, got: 10 }));
        assert_eq!(log.end().seq, 10);
        log.push(12, batch(1)).unwrap();
        assert!(!log.follows(10) && log.follows(11) && log.get(12).is_some());
        assert_eq!(log.end().seq, 12);
    }
}
