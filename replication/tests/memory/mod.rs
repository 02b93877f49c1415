//! A store in memory and a node with it, for tests of both implementations of replication.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ferrosm_core::records::{RecordBatch, RecordChange, RecordKey, RecordKind};
use ferrosm_replication::{
    Position, RawRecord, RecordStore, RecordStoreError, Replication, ReplicationEvent, Role,
    StoreSnapshot,
};
use tokio::sync::mpsc;

/// Timeout that only a failing test reaches.
pub(crate) const GUARD: Duration = Duration::from_secs(60);

type Contents = (Option<Position>, BTreeMap<RecordKey, Box<[u8]>>);

/// A store in memory.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    contents: Mutex<Contents>,
    /// Number of snapshots applied.
    pub(crate) replaced: AtomicUsize,
    /// Number of calls that are still to fail.
    pub(crate) failures: AtomicUsize,
}

impl Memory {
    pub(crate) fn contents(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap()
    }

    pub(crate) fn records(&self) -> BTreeMap<RecordKey, Box<[u8]>> {
        self.contents().1.clone()
    }

    fn fail_if_requested(&self) -> Result<(), RecordStoreError> {
        let fewer = |n: usize| n.checked_sub(1);
        match self
            .failures
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer)
        {
            Ok(_) => Err(io::Error::other("the disk is full").into()),
            Err(_) => Ok(()),
        }
    }
}

impl RecordStore for Memory {
    fn position(&self) -> Option<Position> {
        self.contents().0
    }

    fn read_all(&self) -> Result<StoreSnapshot, RecordStoreError> {
        let contents = self.contents();
        let (at, records) = &*contents;
        let records = records
            .iter()
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        Ok(StoreSnapshot { at: *at, records })
    }

    fn apply(&self, at: Position, batches: &[RecordBatch]) -> Result<(), RecordStoreError> {
        self.fail_if_requested()?;
        let mut contents = self.contents();
        for change in batches.iter().flat_map(|batch| &batch.changes) {
            match change {
                RecordChange::Clear(kind) => contents.1.retain(|key, _| key.kind() != Some(*kind)),
                RecordChange::Put(key, value) => {
                    drop(contents.1.insert(key.clone(), value.clone()))
                }
                RecordChange::Remove(key) => drop(contents.1.remove(key)),
            }
        }
        contents.0 = Some(at);
        Ok(())
    }

    fn replace(&self, at: Position, records: Vec<RawRecord>) -> Result<(), RecordStoreError> {
        self.fail_if_requested()?;
        *self.contents() = (Some(at), records.into_iter().collect());
        self.replaced.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// A record.
pub(crate) fn put_record(key: u32, value: u32) -> RecordChange {
    let key = RecordKey::new(RecordKind::Service, &[&key.to_be_bytes()]);
    RecordChange::Put(key, value.to_be_bytes().into())
}

/// Waits until a condition holds.
pub(crate) fn until(description: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < GUARD, "timed out: {description}");
        std::thread::yield_now();
    }
}

/// A running node with its implementation of replication.
pub(crate) struct Node<R> {
    pub(crate) replication: R,
    pub(crate) events: mpsc::Receiver<ReplicationEvent>,
    pub(crate) store: Arc<Memory>,
    pub(crate) guid: u64,
    epoch: u64,
    pub(crate) seq: u64,
}

impl<R: Replication> Node<R> {
    pub(crate) const fn with_replication(
        guid: u64,
        replication: R,
        events: mpsc::Receiver<ReplicationEvent>,
        store: Arc<Memory>,
    ) -> Self {
        Self {
            replication,
            events,
            store,
            guid,
            epoch: 0,
            seq: 0,
        }
    }

    pub(crate) fn become_master(&mut self, epoch: u64) {
        self.epoch = epoch;
        self.replication.set_role(Role::Master { epoch });
        self.expect("master ready", |e| *e == ReplicationEvent::MasterReady);
        self.seq = self.store.position().map_or(0, |at| at.seq);
    }

    pub(crate) fn standby(self) -> Self {
        self.replication.set_role(Role::Standby);
        self
    }

    /// Commits a batch as the state writer does: to the local store first, then to replication.
    pub(crate) fn commit(&mut self, changes: Vec<RecordChange>) {
        self.seq += 1;
        let at = Position {
            epoch: self.epoch,
            seq: self.seq,
        };
        let batch = RecordBatch { changes };
        self.store.apply(at, std::slice::from_ref(&batch)).unwrap();
        self.replication.committed(at.seq, &batch);
    }

    pub(crate) fn wait_until_acknowledged(&self) {
        until("acknowledged", || {
            self.replication.acknowledged() == self.seq
        });
    }

    /// The first matching event; earlier ones are dropped.
    pub(crate) fn expect(
        &mut self,
        description: &str,
        is_expected: impl Fn(&ReplicationEvent) -> bool,
    ) -> ReplicationEvent {
        let began = Instant::now();
        let mut other_events = Vec::new();
        while began.elapsed() < GUARD {
            match self.events.try_recv() {
                Ok(event) if is_expected(&event) => return event,
                Ok(event) => other_events.push(event),
                Err(_) => std::thread::yield_now(),
            }
        }
        panic!(
            "node {}, never: {description}; instead: {other_events:?}",
            self.guid
        );
    }

    pub(crate) fn expect_in_sync(&mut self, master: u64) {
        self.expect("in sync", |e| {
            *e == ReplicationEvent::InSync { guid: master }
        });
    }
}
