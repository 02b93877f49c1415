//! States published earlier, for answers of an earlier time (`at`).
//!
//! Of each, this stores what the next one does not share. Bounded: the oldest are forgotten first.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::SystemTime;

use ferrosm_fabric::snapshot::{EarlierTables, Snapshot, SnapshotDelta};

use super::history::{History, HistoryDelta};

/// Most states.
const STATES_MAX: usize = 4096;
/// Memory of all states together, as estimated.
const BYTES_MAX: usize = 12 << 20;
/// Most LFT entries of one state (4 bytes each).
const LFT_ENTRIES_MAX: usize = 1 << 19;

/// What was observed, and what changed until then.
#[derive(Debug, Clone, Default)]
pub(super) struct Observed {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) history: Arc<History>,
}

/// States that others followed.
#[derive(Debug)]
pub(super) struct PastStates<S> {
    /// The newest last.
    states: VecDeque<Arc<PastState<S>>>,
    bytes: usize,
}

/// A state that another one followed.
#[derive(Debug)]
pub(super) struct PastState<S> {
    /// When it was published.
    at: SystemTime,
    /// The state without what was observed.
    state: S,
    /// `None` if the next state has the same snapshot.
    snapshot: Option<SnapshotDelta>,
    history: Option<HistoryDelta>,
    bytes: usize,
}

/// A state and all that followed it, the oldest first.
#[derive(Debug)]
pub(super) struct PastStatesSince<S>(Vec<Arc<PastState<S>>>);

impl<S> Default for PastStates<S> {
    fn default() -> Self {
        Self {
            states: VecDeque::new(),
            bytes: 0,
        }
    }
}

impl<S> PastStates<S> {
    /// A state that was published at `at` and takes about `len` bytes was followed by another.
    pub(super) fn push(
        &mut self,
        at: SystemTime,
        state: S,
        len: usize,
        before: &Observed,
        after: &Observed,
    ) {
        let has_same_snapshot = Arc::ptr_eq(&before.snapshot, &after.snapshot);
        let snapshot = (!has_same_snapshot)
            .then(|| SnapshotDelta::between(&before.snapshot, &after.snapshot, LFT_ENTRIES_MAX));
        let has_same_history = Arc::ptr_eq(&before.history, &after.history);
        let history = (!has_same_history).then(|| before.history.delta_to(&after.history));
        let bytes = size_of::<PastState<S>>()
            + len
            + snapshot.as_ref().map_or(0, SnapshotDelta::bytes)
            + history.as_ref().map_or(0, HistoryDelta::bytes);
        self.bytes += bytes;
        self.states.push_back(Arc::new(PastState {
            at,
            state,
            snapshot,
            history,
            bytes,
        }));
        while self.states.len() > STATES_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.states.pop_front() else {
                return;
            };
            self.bytes -= oldest.bytes;
        }
    }

    /// When the oldest state was published; `None` without one.
    pub(super) fn known_since(&self) -> Option<SystemTime> {
        self.states.front().map(|oldest| oldest.at)
    }

    /// When the oldest of some states was published; `None` without one.
    pub(super) fn first_at(&self, is_one: impl Fn(&S) -> bool) -> Option<SystemTime> {
        let mut found = self.states.iter().filter(|past| is_one(&past.state));
        found.next().map(|oldest| oldest.at)
    }

    /// The state at a time, and all that followed it; `None` if the oldest one is newer.
    pub(super) fn since(&self, at: SystemTime) -> Option<PastStatesSince<S>> {
        let newer = self.states.iter().rev().take_while(|past| past.at > at);
        let first = self.states.len().checked_sub(newer.count() + 1)?;
        Some(PastStatesSince(
            self.states.range(first..).cloned().collect(),
        ))
    }
}

impl<S> PastStatesSince<S> {
    /// The oldest state, without what was observed.
    pub(super) fn state(&self) -> Option<&S> {
        self.0.first().map(|past| &past.state)
    }

    /// Since when the routes are known that precede the last state; `None` if all are.
    pub(super) fn routes_known_since(&self, last: SystemTime) -> Option<SystemTime> {
        let lacks = |past: &Arc<PastState<S>>| {
            let delta = past.snapshot.as_ref();
            delta.is_some_and(|delta| !delta.has_routes())
        };
        let newest = self.0.iter().rposition(lacks)?;
        Some(self.0.get(newest + 1).map_or(last, |next| next.at))
    }

    /// What was observed at the time of the oldest state, from what the last one has.
    pub(super) fn observed(&self, last: &Observed, tables: EarlierTables) -> Observed {
        let newest_first = || self.0.iter().rev();
        let deltas = newest_first().filter_map(|past| past.snapshot.as_ref());
        let mut history = Arc::clone(&last.history);
        for delta in newest_first().filter_map(|past| past.history.as_ref()) {
            Arc::make_mut(&mut history).rewind(delta);
        }
        Observed {
            snapshot: Arc::new(last.snapshot.rewound(deltas, tables)),
            history,
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::time::UNIX_EPOCH;

    use super::*;

    fn at(s: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(s)
    }

    /// The state at a time is the last one before it; the oldest are forgotten.
    #[test]
    fn states_are_found_by_time_and_bounded() {
        let mut past = PastStates::default();
        let observed = Observed::default();
        assert!(past.since(at(9)).is_none());
        for s in [10, 20, 30] {
            past.push(at(s), s, 100, &observed, &observed);
        }
        let found = |past: &PastStates<u64>, s| {
            let since = past.since(at(s))?;
            Some((since.0.len(), *since.state()?))
        };
        assert_eq!(found(&past, 9), None);
        assert_eq!(found(&past, 10), Some((3, 10)));
        assert_eq!(found(&past, 29), Some((2, 20)));
        assert_eq!(found(&past, 99), Some((1, 30)));
        for s in 31..40_000 {
            past.push(at(s), s, 10_000, &observed, &observed);
        }
        assert!(past.bytes <= BYTES_MAX);
        assert!(past.states.len() <= BYTES_MAX / 10_000);
        assert!(past.known_since() > Some(at(38_000)));
        assert_eq!(found(&past, 30), None);
    }
}
