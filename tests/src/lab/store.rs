//! The store of a simulated SM, which may be slow, hang or fail: like the daemon's
//! (`store/src/writer.rs`), in virtual time and without files.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::RestoredState;
use ferrosm_core::records::{
    RecordBatch, RecordChange, RecordKey, RecordKind, RecordRestorer, SkippedRecord,
};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::time::Instant;

use super::rng::TestRng;

/// Time until the store retries after a failed write.
const RETRY: Duration = Duration::from_secs(1);

/// Faults of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StoreFault {
    /// Batches are durable at once.
    #[default]
    None,
    /// Each batch takes this long to become durable.
    Delayed(Duration),
    /// Writes do not return before the fault ends; then everything is durable.
    Hanging,
    /// Writes return an error. After the fault the store retries, and writes all records anew.
    Failing,
}

impl StoreFault {
    /// Draws a fault; `delay` draws that of a slow store.
    pub fn random(rng: &mut TestRng, delay: impl FnOnce(&mut TestRng) -> Duration) -> Self {
        match rng.below(6) {
            0..=2 => Self::Delayed(delay(rng)),
            3 => Self::Failing,
            _ => Self::Hanging,
        }
    }
}

/// Records by key.
pub type Records = BTreeMap<RecordKey, Box<[u8]>>;

/// The state that an SM restores from records, and the records that it skips.
pub(crate) fn restore(records: &Records, unix_s: u64) -> (RestoredState, Vec<SkippedRecord>) {
    let mut restorer = RecordRestorer::new(unix_s);
    for (key, value) in records {
        restorer.put(key, value);
    }
    restorer.finish()
}

/// A batch that is not durable yet.
#[derive(Debug)]
struct PendingBatch {
    seq: u64,
    changes: Vec<RecordChange>,
    /// When it becomes durable; `None` as long as the fault lasts.
    due: Option<Instant>,
}

/// The view that replaces the durable one.
#[derive(Debug)]
struct PendingView {
    view: Option<Arc<Snapshot>>,
    due: Option<Instant>,
}

/// Batches between the SM and its durable records.
#[derive(Debug, Default)]
pub struct SimulatedStore {
    fault: StoreFault,
    batches: VecDeque<PendingBatch>,
    /// Written after the batches; later views replace it.
    view: Option<PendingView>,
    /// The last view that the SM persisted.
    last_view: Option<Arc<Snapshot>>,
    /// A write failed: all records are written anew, without the view, which follows.
    needs_rewrite: bool,
    /// The last batch that the SM persisted.
    submitted: u64,
    /// The last batch that is durable.
    durable: u64,
}

impl SimulatedStore {
    /// The current fault.
    #[must_use]
    pub const fn fault(&self) -> StoreFault {
        self.fault
    }

    /// The last batch that the SM persisted.
    #[must_use]
    pub const fn submitted(&self) -> u64 {
        self.submitted
    }

    /// The last batch that is durable.
    #[must_use]
    pub const fn durable(&self) -> u64 {
        self.durable
    }

    /// Whether everything that the SM persisted is durable.
    #[must_use]
    pub fn is_caught_up(&self) -> bool {
        self.batches.is_empty() && self.view.is_none() && !self.needs_rewrite
    }

    /// Whether a record of this kind is not durable yet.
    #[must_use]
    pub fn is_pending(&self, kind: RecordKind) -> bool {
        let is_of = |change: &RecordChange| matches!(change, RecordChange::Put(key, _) if key.kind() == Some(kind));
        let mut batches = self.batches.iter();
        batches.any(|batch| batch.changes.iter().any(is_of))
    }

    /// Begins or ends a fault. Call [`Self::write_due`] afterwards.
    pub(crate) fn set_fault(&mut self, fault: StoreFault, now: Instant) {
        self.fault = fault;
        self.needs_rewrite |= fault == StoreFault::Failing && !self.is_caught_up();
        let retry = if self.needs_rewrite {
            RETRY
        } else {
            Duration::ZERO
        };
        let due = self.due(now + retry);
        for batch in &mut self.batches {
            batch.due = due;
        }
        if let Some(view) = &mut self.view {
            view.due = due;
        }
    }

    /// The time at which a write that begins now becomes durable.
    fn due(&self, now: Instant) -> Option<Instant> {
        match self.fault {
            StoreFault::None => Some(now),
            StoreFault::Delayed(delay) => Some(now + delay),
            StoreFault::Hanging | StoreFault::Failing => None,
        }
    }

    /// Accepts a batch, which is empty if the SM's records are not persisted now. Call
    /// [`Self::write_due`] afterwards.
    pub(crate) fn submit(&mut self, seq: u64, changes: Vec<RecordChange>, now: Instant) {
        self.submitted = seq;
        let is_empty = changes.is_empty() && self.is_caught_up();
        self.needs_rewrite |= self.fault == StoreFault::Failing && !is_empty;
        let due = if is_empty { Some(now) } else { self.due(now) };
        self.retry_by(due);
        self.batches.push_back(PendingBatch { seq, changes, due });
    }

    /// Accepts a view, or `None` to remove it. No reply waits for a view: its batch is durable
    /// together with the batches before it.
    pub(crate) fn submit_view(&mut self, seq: u64, view: Option<Arc<Snapshot>>, now: Instant) {
        self.last_view.clone_from(&view);
        self.needs_rewrite |= self.fault == StoreFault::Failing;
        let due = self.due(now);
        self.retry_by(due);
        match &mut self.view {
            Some(pending) => pending.view = view,
            None => self.view = Some(PendingView { view, due }),
        }
        self.skip(seq);
    }

    /// Accepts a batch without changes of records.
    pub(crate) fn skip(&mut self, seq: u64) {
        self.submitted = seq;
        match self.batches.back_mut() {
            Some(batch) => batch.seq = seq,
            None => self.durable = seq,
        }
    }

    /// A new batch makes the store retry at once.
    fn retry_by(&mut self, due: Option<Instant>) {
        if self.needs_rewrite && due.is_some() {
            for batch in &mut self.batches {
                batch.due = due;
            }
        }
    }

    /// Writes due batches and views to the durable records and the durable view.
    pub(crate) fn write_due(
        &mut self,
        records: &mut Records,
        durable_view: &mut Option<Arc<Snapshot>>,
        now: Instant,
    ) {
        let is_due = |due: Option<Instant>| due.is_some_and(|due| due <= now);
        if self.needs_rewrite {
            let batches = self.batches.iter().map(|b| b.due);
            if !batches.chain(self.view.iter().map(|v| v.due)).any(is_due) {
                return;
            }
            self.needs_rewrite = false;
            for batch in core::mem::take(&mut self.batches) {
                self.write(batch, records);
            }
            *durable_view = None;
            let due = self.due(now);
            let last = self.last_view.clone();
            let pending = self.view.take().map(|pending| pending.view);
            let view = pending.or_else(|| last.map(Some));
            self.view = view.map(|view| PendingView { view, due });
        }
        while let Some(batch) = self.batches.pop_front_if(|batch| is_due(batch.due)) {
            self.write(batch, records);
        }
        if let Some(pending) = self.view.take_if(|view| is_due(view.due)) {
            *durable_view = pending.view;
        }
    }

    fn write(&mut self, batch: PendingBatch, records: &mut Records) {
        let PendingBatch { seq, changes, .. } = batch;
        RecordBatch { changes }.apply(records);
        self.durable = seq;
    }

    /// The SM stops persisting its records: pending changes are dropped. Call [`Self::write_due`]
    /// afterwards.
    pub(crate) fn stop_persisting(&mut self, now: Instant) {
        if core::mem::take(&mut self.needs_rewrite) {
            self.view = None;
            self.drop_changes(now);
        }
    }

    /// Other records replaced the durable ones: pending changes of the earlier records are dropped.
    /// Call [`Self::write_due`] afterwards.
    pub(crate) fn on_records_replaced(&mut self, now: Instant) {
        (self.view, self.last_view, self.needs_rewrite) = (None, None, false);
        self.drop_changes(now);
    }

    fn drop_changes(&mut self, now: Instant) {
        for batch in &mut self.batches {
            batch.changes.clear();
            batch.due = Some(now);
        }
    }

    /// The time of the next write by [`Self::write_due`].
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let batch = self.batches.front().and_then(|batch| batch.due);
        let view = self.view.as_ref().and_then(|view| view.due);
        batch.into_iter().chain(view).min()
    }
}
