//! The writer thread of the store.
//!
//! Pending requests are combined into one batch and one transaction. Each request for records gets
//! a ticket; [`DurabilityTracker`] has the last durable one. After a failed write, all records are
//! written again until it succeeds.

use core::time::Duration;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::SystemTime;

use ferrosm_core::records::{
    RecordBatch, RecordChange, RecordKey, RecordKind, RecordUpdate, ViewPersister,
};
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_replication::{Position, StoreSnapshot};
use tracing::{error, info, warn};

use crate::dir::StateDir;
use crate::durability::DurabilityTracker;
use crate::file::{StoreError, unix_s};
use crate::replica_store::ReplicaStore;
use crate::request::StoreRequest;

/// Interval between attempts after a failed write.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Requests per transaction, which bounds the latency of the first.
const GROUP_MAX: usize = 1 << 14;

/// A request to persist records.
#[derive(Debug)]
pub enum PersistRequest {
    /// Record changes, in order.
    Updates(Vec<RecordUpdate>),
    /// The view, replacing the persisted one; `None` if no view must be restored.
    View(Option<Arc<Snapshot>>),
}

impl StateDir {
    /// Starts a writer thread, so that a slow disk never delays the SM.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn writer(self) -> io::Result<StateWriter> {
        StateWriter::start(self)
    }
}

/// Handle of the writer thread; dropping it waits for all pending requests.
#[derive(Debug)]
pub struct StateWriter {
    requests: Sender<StoreRequest>,
    tickets: AtomicU64,
    durable: Arc<DurabilityTracker>,
    thread: Option<JoinHandle<()>>,
}

impl StateWriter {
    fn start(dir: StateDir) -> io::Result<Self> {
        let (sender, inbox) = channel();
        let durable = Arc::new(DurabilityTracker::default());
        let mut store = StoreThread::new(dir, Arc::clone(&durable));
        let thread = std::thread::Builder::new()
            .name("state".to_owned())
            .spawn(move || store.run(&inbox))?;
        Ok(Self {
            requests: sender,
            tickets: AtomicU64::new(0),
            durable,
            thread: Some(thread),
        })
    }

    /// Submits a request. It is durable when [`DurabilityTracker::durable_ticket`] reaches the
    /// returned ticket; tickets of one thread increase. A view has no ticket, because nothing waits
    /// for it.
    pub fn submit(&self, request: PersistRequest) -> Option<u64> {
        match request {
            PersistRequest::Updates(updates) => {
                let ticket = 1 + self.tickets.fetch_add(1, Ordering::Relaxed);
                self.send(StoreRequest::Updates(ticket, updates));
                Some(ticket)
            }
            PersistRequest::View(view) => {
                self.send(StoreRequest::View(view));
                None
            }
        }
    }

    /// Durable tickets.
    #[must_use]
    pub const fn durability(&self) -> &Arc<DurabilityTracker> {
        &self.durable
    }

    /// The records as replication uses them.
    #[must_use]
    pub fn replica_store(&self) -> ReplicaStore {
        ReplicaStore::new(self.requests.clone(), Arc::clone(&self.durable))
    }

    /// Reads all records after all requests submitted before, for a takeover. `on_done` gets an
    /// error if they cannot be read.
    pub fn read_all(&self, on_done: impl FnOnce(io::Result<StoreSnapshot>) + Send + 'static) {
        self.send(StoreRequest::ReadAll(Box::new(on_done)));
    }

    /// Starts a history with the next batch. The epoch must be unique and not 0.
    pub fn start_history(&self, epoch: u64) {
        self.send(StoreRequest::StartHistory(epoch));
    }

    /// Marks the records as superseded: another SM is master, so a later start without other SMs
    /// treats them as incomplete.
    pub fn mark_superseded(&self) {
        self.send(StoreRequest::MarkSuperseded);
    }

    /// Sets whether requests of the local SM are accepted: not while the records are a replica of
    /// the master.
    pub fn set_accepting(&self, is_accepting: bool) {
        self.send(StoreRequest::SetAccepting(is_accepting));
    }

    fn send(&self, request: StoreRequest) {
        // The thread lives as long as this handle.
        let _ = self.requests.send(request);
    }
}

impl Drop for StateWriter {
    fn drop(&mut self) {
        self.send(StoreRequest::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// State of the writer thread.
struct StoreThread {
    dir: StateDir,
    durable: Arc<DurabilityTracker>,
    /// All records except those of the view, to rewrite the store.
    records: BTreeMap<RecordKey, Box<[u8]>>,
    view_persister: ViewPersister,
    /// Pending changes.
    changes: Vec<RecordChange>,
    /// Pending view.
    view: Option<Option<Arc<Snapshot>>>,
    last_view: Option<Arc<Snapshot>>,
    /// The last ticket, and the last one on disk.
    tickets: (u64, u64),
    /// Whether the store may differ from `records` and must be rewritten.
    needs_rewrite: bool,
    /// Whether requests of the local SM are accepted.
    is_accepting: bool,
    /// Whether the last write failed; logged once.
    write_failed: bool,
}

impl StoreThread {
    fn new(mut dir: StateDir, durable: Arc<DurabilityTracker>) -> Self {
        let records = core::mem::take(&mut dir.contents.records)
            .into_iter()
            .filter(|(key, _)| !key.is_of_view())
            .collect();
        Self {
            records,
            dir,
            durable,
            view_persister: ViewPersister::default(),
            changes: Vec::new(),
            view: None,
            last_view: None,
            tickets: (0, 0),
            needs_rewrite: false,
            is_accepting: true,
            write_failed: false,
        }
    }

    fn run(&mut self, inbox: &Receiver<StoreRequest>) {
        loop {
            let first = if self.has_pending() {
                match inbox.recv_timeout(RETRY_INTERVAL) {
                    Ok(request) => Some(request),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            } else {
                match inbox.recv() {
                    Ok(request) => Some(request),
                    Err(_) => break,
                }
            };
            let mut is_stopping = false;
            for request in first.into_iter().chain(inbox.try_iter().take(GROUP_MAX)) {
                is_stopping |= matches!(request, StoreRequest::Stop);
                self.process(request);
            }
            self.flush();
            if is_stopping {
                break;
            }
        }
        // One more attempt after a failed write.
        self.flush();
    }

    const fn has_pending(&self) -> bool {
        self.needs_rewrite || self.view.is_some() || !self.changes.is_empty()
    }

    fn process(&mut self, request: StoreRequest) {
        match request {
            StoreRequest::Updates(ticket, updates) => {
                self.tickets.0 = ticket;
                if self.is_accepting {
                    let now = unix_s(SystemTime::now());
                    let changes = updates.iter().map(|update| update.to_change(now));
                    self.changes.extend(changes);
                }
            }
            // Only the last pending view matters.
            StoreRequest::View(view) if self.is_accepting => self.view = Some(view),
            StoreRequest::View(_) => {}
            StoreRequest::Stop => {}
            StoreRequest::StartHistory(epoch) => {
                self.flush();
                // Earlier tickets belong to another history: no acknowledgement will arrive for
                // them.
                self.durable.count_pending_as_durable(self.tickets.0);
                self.dir.contents.epoch = epoch;
                self.dir.store.own_epoch = epoch;
                // If this fails, the next batch writes it.
                let _ = self.write_history();
            }
            StoreRequest::MarkSuperseded => {
                self.flush();
                self.dir.store.own_epoch = 0;
                if self.dir.contents.epoch != 0
                    && let Err(e) = self.write_history()
                {
                    warn!(error = %e, "cannot mark records as superseded");
                }
            }
            StoreRequest::Position(done) => {
                self.flush();
                done(self.dir.contents.position());
            }
            StoreRequest::Apply(_, _, done) if self.is_accepting => {
                done(Err(io::Error::other(
                    "the store accepts records of this node",
                )));
            }
            StoreRequest::Apply(at, batch, done) => {
                // The persisted view is that of the master from now on.
                self.last_view = None;
                self.view_persister.forget();
                done(self.commit_replica(&batch.compacted(), at));
            }
            StoreRequest::ReadAll(done) => {
                self.flush();
                done(self.read_everything());
            }
            StoreRequest::SetAccepting(yes) => {
                self.flush();
                self.is_accepting = yes;
                if !yes {
                    if core::mem::take(&mut self.needs_rewrite) {
                        self.dir.contents.epoch = 0;
                    }
                    (self.changes, self.view) = (Vec::new(), None);
                }
            }
        }
    }

    /// Writes pending requests: first the records that clients wait for, then the view, which is
    /// large.
    fn flush(&mut self) {
        if self.needs_rewrite || !self.changes.is_empty() {
            let changes = core::mem::take(&mut self.changes);
            if self.commit_next(RecordBatch { changes }).is_err() {
                return;
            }
        }
        let (ticket, on_disk) = self.tickets;
        if ticket > on_disk {
            self.tickets.1 = ticket;
            self.durable
                .ticket_on_disk(ticket, self.dir.contents.sequence);
        }
        if let Some(view) = self.view.take() {
            self.last_view.clone_from(&view);
            if self.commit_view(view.as_ref()).is_err() {
                self.view = Some(view);
            }
        }
    }

    /// Writes a view record by record, because all of them take as much memory as the LFTs of the
    /// fabric. Standbys get them as a batch.
    fn commit_view(&mut self, view: Option<&Arc<Snapshot>>) -> io::Result<()> {
        let now = SystemTime::now();
        let is_direct = !self.needs_rewrite && !self.durable.is_observed();
        if is_direct {
            let at = self.dir.contents.next();
            let mut in_memory = Vec::new();
            let view_persister = &mut self.view_persister;
            let written = self.dir.store.commit_each(
                |apply| {
                    view_persister.save(view, unix_s(now), &mut |change| {
                        apply(&change)?;
                        in_memory.extend(Some(change).filter(is_kept_in_memory));
                        Ok(())
                    })
                },
                at,
                now,
            );
            if written.is_ok() {
                RecordBatch { changes: in_memory }.apply(&mut self.records);
                (self.dir.contents.epoch, self.dir.contents.sequence) = (at.epoch, at.seq);
                self.log_write_recovered();
                return Ok(());
            }
            // The batch below reports the error, or rewrites the store.
            self.view_persister.forget();
        }
        let batch = self.view_persister.batch(view, unix_s(now));
        self.commit_next(batch)
    }

    fn commit_next(&mut self, batch: RecordBatch) -> io::Result<()> {
        let at = self.dir.contents.next();
        self.commit(&batch.compacted(), at)
    }

    /// Writes a batch, or all records if the store must be rewritten.
    fn commit(&mut self, batch: &RecordBatch, at: Position) -> io::Result<()> {
        self.apply_in_memory(batch);
        let result = self.try_commit(batch, at);
        self.needs_rewrite = result.is_err();
        match &result {
            Ok(()) => {
                (self.dir.contents.epoch, self.dir.contents.sequence) = (at.epoch, at.seq);
                self.log_write_recovered();
            }
            Err(e) => self.log_write_failed(e),
        }
        result
    }

    /// Writes the epochs, without records: that of the store's position, and the last one that this
    /// node led.
    fn write_history(&mut self) -> Result<(), StoreError> {
        let at = Position {
            epoch: self.dir.contents.epoch,
            seq: self.dir.contents.sequence,
        };
        let now = SystemTime::now();
        self.dir.store.commit(&RecordBatch::default(), at, now)
    }

    /// Commits batches of another node. After a failure the store has no position, so that the
    /// master sends all records: the view is not in memory here and cannot be rewritten.
    fn commit_replica(&mut self, batch: &RecordBatch, at: Position) -> io::Result<()> {
        let error = match self.dir.store.commit(batch, at, SystemTime::now()) {
            Ok(()) => {
                self.apply_in_memory(batch);
                (self.dir.contents.epoch, self.dir.contents.sequence) = (at.epoch, at.seq);
                self.log_write_recovered();
                return Ok(());
            }
            Err(error) => error,
        };
        self.dir.contents.epoch = 0;
        if let StoreError::Unreadable(_) = error
            && let Err(e) = self.dir.rename_unreadable_store()
        {
            warn!(error = %e, "cannot rename unreadable store");
        }
        let e = error.into();
        self.log_write_failed(&e);
        Err(e)
    }

    /// Reads all records from disk. If they are damaged and not a replica, the store is rewritten
    /// first.
    fn read_everything(&mut self) -> io::Result<StoreSnapshot> {
        let mut contents = self.dir.store.load()?;
        if !contents.damage.is_empty() && self.is_accepting {
            warn!(
                damage = contents.damage.join(", "),
                "store damaged; rewriting all records"
            );
            self.needs_rewrite = true;
            self.flush();
            contents = self.dir.store.load()?;
        }
        // An incomplete set of records must not be used as the complete one.
        if !contents.damage.is_empty() {
            return Err(io::Error::other(contents.damage.join(", ")));
        }
        Ok(StoreSnapshot {
            // The epoch of a new history may not be on disk yet.
            at: self.dir.contents.position(),
            records: contents.records,
        })
    }

    fn log_write_recovered(&mut self) {
        if core::mem::take(&mut self.write_failed) {
            info!("store writable again");
        }
    }

    fn log_write_failed(&mut self, e: &io::Error) {
        if !core::mem::replace(&mut self.write_failed, true) {
            let effect = "LIDs, M_Keys and registrations are not saved; retried every second";
            error!(
                directory = %self.dir.path().display(),
                error = e.to_string(),
                effect,
                "cannot write store"
            );
        }
    }

    /// Applies a batch to the records in memory, without those of the view.
    fn apply_in_memory(&mut self, batch: &RecordBatch) {
        let records = batch.changes.iter();
        let changes = records.filter(|c| is_kept_in_memory(c)).cloned().collect();
        RecordBatch { changes }.apply(&mut self.records);
    }

    fn try_commit(&mut self, batch: &RecordBatch, at: Position) -> io::Result<()> {
        if !self.needs_rewrite {
            match self.dir.store.commit(batch, at, SystemTime::now()) {
                Ok(()) => {
                    self.report_commit(at, batch);
                    return Ok(());
                }
                Err(StoreError::Unreadable(why)) => {
                    let renamed_to = self
                        .dir
                        .rename_unreadable_store()
                        .map_err(io::Error::other)?;
                    warn!(renamed_to = %renamed_to.display(), reason = why, "unreadable store renamed");
                }
                Err(e @ (StoreError::Io(_) | StoreError::Busy | StoreError::Newer { .. })) => {
                    return Err(e.into());
                }
            }
        }
        let everything = self.everything();
        self.dir.store.commit(&everything, at, SystemTime::now())?;
        self.report_commit(at, &everything);
        // The view was not rewritten: write the next one completely.
        self.view_persister.forget();
        if self.view.is_none() {
            self.view = self.last_view.clone().map(Some);
        }
        Ok(())
    }

    /// Reports a batch of this node's history to the standbys.
    fn report_commit(&self, at: Position, batch: &RecordBatch) {
        if self.is_accepting {
            self.durable.committed(at.seq, batch);
        }
    }

    /// A batch that replaces the store by all records except those of the view.
    fn everything(&self) -> RecordBatch {
        let kinds = RecordKind::ALL.into_iter();
        let mut changes: Vec<RecordChange> = kinds.map(RecordChange::Clear).collect();
        for (key, value) in &self.records {
            changes.push(RecordChange::Put(key.clone(), value.clone()));
        }
        RecordBatch { changes }
    }
}

/// Whether a change is applied to the records in memory: those of the view are only on disk.
fn is_kept_in_memory(change: &RecordChange) -> bool {
    match change {
        RecordChange::Clear(kind) => !kind.is_of_view(),
        RecordChange::Put(key, _) | RecordChange::Remove(key) => !key.is_of_view(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::CommitObserver;
    use ferrosm_core::records::Record;
    use ferrosm_mad::ids::{Lid, Lmc, PortGuid};
    use ferrosm_replication::RecordStore;
    use std::sync::Mutex;

    fn lid(port: u64) -> RecordUpdate {
        RecordUpdate::Put(Record::Lid {
            port: PortGuid(port),
            lid: Lid(1 + u16::try_from(port).unwrap()),
            lmc: Lmc(0),
        })
    }

    fn wait_for(writer: &StateWriter, ticket: u64) {
        while writer.durability().durable_ticket() < ticket {
            std::thread::yield_now();
        }
    }

    fn ports(dir: &std::path::Path) -> Vec<u64> {
        let mut dir = StateDir::open(dir).unwrap();
        dir.restored().lids.keys().map(|guid| guid.0).collect()
    }

    #[test]
    fn tickets_are_durable_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let writer = StateDir::open(dir.path()).unwrap().writer().unwrap();
        let tickets: Vec<u64> = (0..100)
            .filter_map(|n| writer.submit(PersistRequest::Updates(vec![lid(n)])))
            .collect();
        assert!(tickets.is_sorted_by(|a, b| a < b));
        wait_for(&writer, tickets[99]);
        assert_eq!(writer.submit(PersistRequest::View(None)), None);
        let removal = RecordUpdate::Remove(Record::lid_key(PortGuid(7)));
        writer.submit(PersistRequest::Updates(vec![removal]));
        drop(writer);
        let expected: Vec<u64> = (0..100).filter(|n| *n != 7).collect();
        assert_eq!(ports(dir.path()), expected);
    }

    /// Committed batches, and the number that the standby acknowledges.
    #[derive(Default)]
    struct Standby {
        committed: Mutex<Vec<(u64, RecordBatch)>>,
        acknowledged: AtomicU64,
    }

    impl CommitObserver for Standby {
        fn committed(&self, number: u64, batch: &RecordBatch) {
            self.committed.lock().unwrap().push((number, batch.clone()));
        }
        fn acknowledged(&self) -> u64 {
            self.acknowledged.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn tickets_wait_for_standbys_and_replicas_are_equal() {
        let (local_dir, remote_dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let writer = StateDir::open(local_dir.path()).unwrap().writer().unwrap();
        let first = writer
            .submit(PersistRequest::Updates(vec![lid(1)]))
            .unwrap();
        wait_for(&writer, first);
        let standby = Arc::new(Standby::default());
        writer
            .durability()
            .set_observer(Some(Arc::clone(&standby) as Arc<dyn CommitObserver>));
        assert_eq!(writer.durability().durable_ticket(), first);
        let second = writer
            .submit(PersistRequest::Updates(vec![lid(2)]))
            .unwrap();
        while standby.committed.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(
            writer.durability().durable_ticket(),
            first,
            "not acknowledged by the standby"
        );
        let snapshot = writer.replica_store().read_all().unwrap();
        assert_eq!(snapshot.at, None, "no history");
        writer.start_history(77);
        // Records from before the history are not replicated, so their tickets are durable.
        wait_for(&writer, second);
        let third = writer
            .submit(PersistRequest::Updates(vec![lid(3)]))
            .unwrap();
        while standby.committed.lock().unwrap().len() < 2 {
            std::thread::yield_now();
        }
        let snapshot = writer.replica_store().read_all().unwrap();
        let number = 3;
        let at = Position {
            epoch: 77,
            seq: number,
        };
        assert_eq!((snapshot.at, snapshot.records.len()), (Some(at), 3));
        let records = snapshot.records;
        wait_for(&writer, first);
        standby.acknowledged.store(number, Ordering::Relaxed);
        wait_for(&writer, third);
        assert!(second < third);
        drop(writer);
        let other = StateDir::open(remote_dir.path()).unwrap().writer().unwrap();
        other.set_accepting(false);
        let sent = other.submit(PersistRequest::Updates(vec![lid(9)])).unwrap();
        let replica = other.replica_store();
        replica.replace(at, records).unwrap();
        assert_eq!(replica.position(), Some(at));
        let changes = vec![lid(4).to_change(0)];
        let next = Position { seq: 4, ..at };
        replica.apply(next, &[RecordBatch { changes }]).unwrap();
        wait_for(&other, sent);
        drop(other);
        assert!(replica.read_all().is_err(), "the thread has ended");
        let remote_ports = ports(remote_dir.path());
        assert_eq!(
            remote_ports,
            [1, 2, 3, 4],
            "records of the local SM are not accepted"
        );
        let numbers = |dir: &tempfile::TempDir| StateDir::open(dir.path()).unwrap().last_batch().0;
        assert_eq!((numbers(&local_dir), numbers(&remote_dir)), (3, 4));
    }

    /// The store file is replaced by a directory while the writer runs.
    #[test]
    fn all_records_are_rewritten_after_store_failure() {
        let dir = tempfile::tempdir().unwrap();
        let mut thread = StoreThread::new(StateDir::open(dir.path()).unwrap(), Arc::default());
        thread.process(StoreRequest::Updates(1, vec![lid(1), lid(2)]));
        thread.flush();
        assert_eq!(thread.durable.durable_ticket(), 1);
        // Simulates a disk error.
        thread.dir.store.close();
        let file = dir.path().join("store.redb");
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        thread.process(StoreRequest::Updates(2, vec![lid(3)]));
        thread.flush();
        assert_eq!(thread.durable.durable_ticket(), 1);
        assert!(thread.has_pending() && thread.write_failed);
        std::fs::remove_dir(&file).unwrap();
        thread.flush();
        assert_eq!(thread.durable.durable_ticket(), 2);
        assert!(!thread.has_pending() && !thread.write_failed);
        drop(thread);
        assert_eq!(ports(dir.path()), [1, 2, 3]);
    }

    /// The position is available before the first batch, and a later start knows that the records
    /// are its own.
    #[test]
    fn history_is_on_disk_when_it_starts() {
        let dir = tempfile::tempdir().unwrap();
        let writer = StateDir::open(dir.path()).unwrap().writer().unwrap();
        wait_for(
            &writer,
            writer
                .submit(PersistRequest::Updates(vec![lid(1)]))
                .unwrap(),
        );
        writer.start_history(5);
        writer.set_accepting(false);
        writer.mark_superseded();
        writer.set_accepting(true);
        writer.start_history(77);
        let at = Position { epoch: 77, seq: 1 };
        assert_eq!(writer.replica_store().read_all().unwrap().at, Some(at));
        wait_for(
            &writer,
            writer
                .submit(PersistRequest::Updates(vec![lid(2)]))
                .unwrap(),
        );
        drop(writer);
        assert!(!StateDir::open(dir.path()).unwrap().may_be_incomplete());
    }

    /// After a failed write the replica has no position, so that the master sends all records.
    #[test]
    fn replica_has_no_position_after_store_failure() {
        let dir = tempfile::tempdir().unwrap();
        let mut thread = StoreThread::new(StateDir::open(dir.path()).unwrap(), Arc::default());
        thread.process(StoreRequest::SetAccepting(false));
        let file = dir.path().join("store.redb");
        let apply = |thread: &mut StoreThread, seq, changes| {
            let (sender, done) = channel();
            let done_with = Box::new(move |r: io::Result<()>| sender.send(r.is_ok()).unwrap());
            let at = Position { epoch: 5, seq };
            thread.process(StoreRequest::Apply(at, RecordBatch { changes }, done_with));
            done.recv().unwrap()
        };
        let position = |thread: &mut StoreThread| {
            let (sender, at) = channel();
            let done = Box::new(move |at| sender.send(at).unwrap());
            thread.process(StoreRequest::Position(done));
            at.recv().unwrap()
        };
        let head =
            || RecordChange::Put(RecordKey::new(RecordKind::ViewHead, &[]), Box::new([0; 16]));
        assert!(apply(&mut thread, 1, vec![lid(1).to_change(0), head()]));
        assert_eq!(position(&mut thread), Some(Position { epoch: 5, seq: 1 }));
        thread.dir.store.close();
        std::fs::rename(&file, dir.path().join("away")).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(!apply(&mut thread, 2, vec![lid(2).to_change(0)]));
        assert_eq!(position(&mut thread), None);
        std::fs::remove_dir(&file).unwrap();
        std::fs::rename(dir.path().join("away"), &file).unwrap();
        assert_eq!(position(&mut thread), None);
        let kinds = RecordKind::ALL.map(RecordChange::Clear).into_iter();
        let all_changes = kinds.chain([lid(1).to_change(0), lid(2).to_change(0), head()]);
        assert!(apply(&mut thread, 9, all_changes.collect()));
        assert_eq!(position(&mut thread), Some(Position { epoch: 5, seq: 9 }));
        drop(thread);
        let dir = StateDir::open(dir.path()).unwrap();
        assert_eq!(dir.records().len(), 3, "{:?}", dir.records());
    }
}
