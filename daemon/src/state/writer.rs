//! The thread that writes what is to be kept.
//!
//! Everything that waits goes into one batch and one transaction, so that the disk is asked once for many. Whoever hands something
//! over gets a ticket; [`DurabilityTracker`] says up to which ticket nothing can be lost any more. What the disk refuses is tried again, whole,
//! until it takes it.

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
use ferrosm_replication::{Position, StoreSnapshot};
use ferrosm_sa::View;
use tracing::{error, info, warn};

use super::durability::DurabilityTracker;
use super::request::StoreRequest;
use super::store::StoreError;
use super::{ReplicaStore, StateDir, is_of_view, unix_s};

/// Time until the disk is asked again after it refused.
const RETRY: Duration = Duration::from_secs(1);
/// Orders that go into one transaction at most, so that none of them waits for a crowd behind it.
const GROUP: usize = 1 << 14;

/// Something to be kept.
#[derive(Debug)]
pub enum PersistRequest {
    /// Changes of LIDs and registrations, in order.
    Updates(Vec<RecordUpdate>),
    /// What the subnet is, in place of what was kept of it; `None` for what must not be believed after a restart.
    View(Option<Arc<View>>),
}

/// Writes in the background; dropping it waits for all that was handed over.
#[derive(Debug)]
pub struct StateWriter {
    orders: Sender<StoreRequest>,
    tickets: AtomicU64,
    durable: Arc<DurabilityTracker>,
    thread: Option<JoinHandle<()>>,
}

impl StateWriter {
    pub(super) fn start(dir: StateDir) -> io::Result<Self> {
        let (sender, inbox) = channel();
        let durable = Arc::new(DurabilityTracker::default());
        let mut thread = StoreThread::new(dir, Arc::clone(&durable));
        let thread = crate::threads::start("state", move || thread.run(&inbox))?;
        Ok(Self {
            orders: sender,
            tickets: AtomicU64::new(0),
            durable,
            thread: Some(thread),
        })
    }

    /// Hands something over. It is durable when [`DurabilityTracker::durable_ticket`] has come to the ticket; of one thread, tickets grow. A view has
    /// none: nobody waits for it.
    pub fn submit(&self, what: PersistRequest) -> Option<u64> {
        match what {
            PersistRequest::Updates(updates) => {
                let ticket = 1 + self.tickets.fetch_add(1, Ordering::Relaxed);
                self.order(StoreRequest::Updates(ticket, updates));
                Some(ticket)
            }
            PersistRequest::View(view) => {
                self.order(StoreRequest::View(view));
                None
            }
        }
    }

    /// What is durable.
    #[must_use]
    pub const fn durability(&self) -> &Arc<DurabilityTracker> {
        &self.durable
    }

    /// The records as replication wants them.
    #[must_use]
    pub fn replica_store(&self) -> ReplicaStore {
        ReplicaStore::new(self.orders.clone(), Arc::clone(&self.durable))
    }

    /// All records, as they are after what was handed over before: what a subnet manager starts with that takes over.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn read_all(&self, done: impl FnOnce(io::Result<StoreSnapshot>) + Send + 'static) {
        self.order(StoreRequest::ReadAll(Box::new(done)));
    }

    /// From the next batch on the records are of this history, which must be nobody else's; not 0.
    pub fn start_history(&self, epoch: u64) {
        self.order(StoreRequest::StartHistory(epoch));
    }

    /// Another is master from now on: a later start that finds nobody does not take the records for the last ones.
    pub fn mark_superseded(&self) {
        self.order(StoreRequest::MarkSuperseded);
    }

    /// Whether what the own subnet manager wants kept is kept: not while the records are those of another one that is in charge.
    pub fn set_accepting(&self, yes: bool) {
        self.order(StoreRequest::SetAccepting(yes));
    }

    fn order(&self, order: StoreRequest) {
        // The thread lives as long as this does.
        let _ = self.orders.send(order);
    }
}

impl Drop for StateWriter {
    fn drop(&mut self) {
        self.order(StoreRequest::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Who writes.
struct StoreThread {
    dir: StateDir,
    durable: Arc<DurabilityTracker>,
    /// The records as they should be, but for the view's: from them a store is made anew.
    records: BTreeMap<RecordKey, Box<[u8]>>,
    keeper: ViewPersister,
    /// Changes that wait.
    changes: Vec<RecordChange>,
    /// A view that waits.
    view: Option<Option<Arc<View>>>,
    /// The view that was handed over last.
    last_view: Option<Arc<View>>,
    /// The last ticket, and the last one that is kept.
    tickets: (u64, u64),
    /// The store is not known to have what is in `records`.
    anew: bool,
    /// What the subnet manager says is kept.
    listening: bool,
    /// The disk refused; told once.
    refused: bool,
}

impl StoreThread {
    fn new(mut dir: StateDir, durable: Arc<DurabilityTracker>) -> Self {
        let records = core::mem::take(&mut dir.contents.records);
        let records = records.into_iter().filter(|(key, _)| !is_of_view(key));
        Self {
            records: records.collect(),
            dir,
            durable,
            keeper: ViewPersister::default(),
            changes: Vec::new(),
            view: None,
            last_view: None,
            tickets: (0, 0),
            anew: false,
            listening: true,
            refused: false,
        }
    }

    fn run(&mut self, inbox: &Receiver<StoreRequest>) {
        loop {
            let first = if self.waits() {
                match inbox.recv_timeout(RETRY) {
                    Ok(order) => Some(order),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            } else {
                match inbox.recv() {
                    Ok(order) => Some(order),
                    Err(_) => break,
                }
            };
            let mut ends = false;
            for order in first.into_iter().chain(inbox.try_iter().take(GROUP)) {
                ends |= matches!(order, StoreRequest::Stop);
                self.take(order);
            }
            self.flush();
            if ends {
                break;
            }
        }
        // What waits after the last refusal gets one more chance.
        self.flush();
    }

    const fn waits(&self) -> bool {
        self.anew || self.view.is_some() || !self.changes.is_empty()
    }

    fn take(&mut self, order: StoreRequest) {
        match order {
            StoreRequest::Updates(ticket, updates) => {
                self.tickets.0 = ticket;
                if self.listening {
                    let now = unix_s(SystemTime::now());
                    let changes = updates.iter().map(|update| update.to_change(now));
                    self.changes.extend(changes);
                }
            }
            // Of several that wait only the last matters.
            StoreRequest::View(view) if self.listening => self.view = Some(view),
            StoreRequest::View(_) => {}
            StoreRequest::Stop => {}
            StoreRequest::StartHistory(epoch) => {
                self.flush();
                // Who was to acknowledge what came before was told of another history.
                self.durable.forget_pending(self.tickets.0);
                self.dir.contents.epoch = epoch;
                self.dir.store.led = epoch;
                // With the next batch, if not now.
                let _ = self.say_whose();
            }
            StoreRequest::MarkSuperseded => {
                self.flush();
                self.dir.store.led = 0;
                if self.dir.contents.epoch != 0
                    && let Err(e) = self.say_whose()
                {
                    warn!(error = %e, "cannot mark records as superseded");
                }
            }
            StoreRequest::Position(done) => {
                self.flush();
                done(self.dir.contents.position());
            }
            StoreRequest::Apply(_, _, done) if self.listening => {
                done(Err(io::Error::other(
                    "the records are this node's own again",
                )));
            }
            StoreRequest::Apply(at, batch, done) => {
                // The view is another's from here on.
                self.last_view = None;
                self.keeper.forget();
                done(self.commit_of_another(&batch.compacted(), at));
            }
            StoreRequest::ReadAll(done) => {
                self.flush();
                done(self.everything_there());
            }
            StoreRequest::SetAccepting(yes) => {
                self.flush();
                self.listening = yes;
                if !yes {
                    if core::mem::take(&mut self.anew) {
                        self.dir.contents.epoch = 0;
                    }
                    (self.changes, self.view) = (Vec::new(), None);
                }
            }
        }
    }

    /// Writes what waits: first what clients wait for, then the view, which is long.
    fn flush(&mut self) {
        if self.anew || !self.changes.is_empty() {
            let changes = core::mem::take(&mut self.changes);
            if self.commit_next(RecordBatch { changes }).is_err() {
                return;
            }
        }
        let (ticket, kept) = self.tickets;
        if ticket > kept {
            self.tickets.1 = ticket;
            self.durable.kept(ticket, self.dir.contents.sequence);
        }
        if let Some(view) = self.view.take() {
            self.last_view.clone_from(&view);
            let batch = self.keeper.batch(view.as_ref(), unix_s(SystemTime::now()));
            if self.commit_next(batch).is_err() {
                self.view = Some(view);
            }
        }
    }

    fn commit_next(&mut self, batch: RecordBatch) -> io::Result<()> {
        let at = self.dir.contents.next();
        self.commit(&batch.compacted(), at)
    }

    /// Writes a batch, or everything where it is not known what there is.
    fn commit(&mut self, batch: &RecordBatch, at: Position) -> io::Result<()> {
        self.keep_in_mind(batch);
        let done = self.try_commit(batch, at);
        self.anew = done.is_err();
        match &done {
            Ok(()) => {
                (self.dir.contents.epoch, self.dir.contents.sequence) = (at.epoch, at.seq);
                self.done_well();
            }
            Err(e) => self.refused(e),
        }
        done
    }

    /// Of which history the records are, and whether they are its last ones; nothing else changes.
    fn say_whose(&mut self) -> Result<(), StoreError> {
        let at = Position {
            epoch: self.dir.contents.epoch,
            seq: self.dir.contents.sequence,
        };
        let now = SystemTime::now();
        self.dir.store.commit(&RecordBatch::default(), at, now)
    }

    /// Puts batches of another's history on top of it. If they are not taken, nothing is said of where the store is, so that it gets
    /// everything next: the view, which is not in memory here, could not be written again.
    fn commit_of_another(&mut self, batch: &RecordBatch, at: Position) -> io::Result<()> {
        let trouble = match self.dir.store.commit(batch, at, SystemTime::now()) {
            Ok(()) => {
                self.keep_in_mind(batch);
                (self.dir.contents.epoch, self.dir.contents.sequence) = (at.epoch, at.seq);
                self.done_well();
                return Ok(());
            }
            Err(trouble) => trouble,
        };
        self.dir.contents.epoch = 0;
        let e = match trouble {
            StoreError::Bad(why) => {
                if let Err(e) = self.dir.set_aside_store() {
                    warn!(error = %e, "cannot rename unreadable store");
                }
                io::Error::other(why)
            }
            StoreError::Io(e) => e,
            e @ StoreError::Busy => io::Error::other(e.to_string()),
        };
        self.refused(&e);
        Err(e)
    }

    /// All records as they are on the disk. What is damaged there is written again, if it is this node's own.
    fn everything_there(&mut self) -> io::Result<StoreSnapshot> {
        let load = |dir: &mut StateDir| {
            let loaded = dir.store.load();
            loaded.map_err(|e| io::Error::other(e.to_string()))
        };
        let mut contents = load(&mut self.dir)?;
        if !contents.damage.is_empty() && self.listening {
            warn!(
                damage = contents.damage.join(", "),
                "store damaged; rewriting all records"
            );
            self.anew = true;
            self.flush();
            contents = load(&mut self.dir)?;
        }
        // Half of it would pass for all of it.
        if !contents.damage.is_empty() {
            return Err(io::Error::other(contents.damage.join(", ")));
        }
        Ok(StoreSnapshot {
            // A history that has begun is on the disk with its first batch.
            at: self.dir.contents.position(),
            records: contents.records,
        })
    }

    fn done_well(&mut self) {
        if core::mem::take(&mut self.refused) {
            info!("store writable again");
        }
    }

    fn refused(&mut self, e: &io::Error) {
        if !core::mem::replace(&mut self.refused, true) {
            error!(error = %e, "cannot write store");
        }
    }

    /// Of records but the view's.
    fn keep_in_mind(&mut self, batch: &RecordBatch) {
        let own = batch.changes.iter().filter(|change| match change {
            RecordChange::Clear(kind) => !matches!(kind, RecordKind::View | RecordKind::ViewHead),
            RecordChange::Put(key, _) | RecordChange::Remove(key) => !is_of_view(key),
        });
        let changes = own.cloned().collect();
        RecordBatch { changes }.apply(&mut self.records);
    }

    fn try_commit(&mut self, batch: &RecordBatch, at: Position) -> io::Result<()> {
        if !self.anew {
            match self.dir.store.commit(batch, at, SystemTime::now()) {
                Ok(()) => {
                    self.tell(at, batch);
                    return Ok(());
                }
                Err(StoreError::Bad(why)) => {
                    let aside = self.dir.set_aside_store();
                    let aside = aside.map_err(|e| io::Error::other(e.to_string()))?;
                    warn!(renamed_to = %aside.display(), reason = why, "unreadable store renamed");
                }
                Err(StoreError::Io(e)) => return Err(e),
                Err(e @ StoreError::Busy) => return Err(io::Error::other(e.to_string())),
            }
        }
        let everything = self.everything();
        let done = self.dir.store.commit(&everything, at, SystemTime::now());
        done.map_err(|e| io::Error::other(e.to_string()))?;
        self.tell(at, &everything);
        // There is no view in it: the next one is written whole.
        self.keeper.forget();
        if self.view.is_none() {
            self.view = self.last_view.clone().map(Some);
        }
        Ok(())
    }

    /// Followers are told of batches of one's own history; those of another's are not ours to tell.
    fn tell(&self, at: Position, batch: &RecordBatch) {
        if self.listening {
            self.durable.committed(at.seq, batch);
        }
    }

    /// All records but the view's, in place of whatever there is.
    fn everything(&self) -> RecordBatch {
        let kinds = RecordKind::ALL.into_iter();
        let mut changes: Vec<RecordChange> = kinds.map(RecordChange::Clear).collect();
        for (key, value) in &self.records {
            changes.push(RecordChange::Put(key.clone(), value.clone()));
        }
        RecordBatch { changes }
    }
}

#[cfg(test)]
mod tests {
    use super::super::CommitObserver;
    use super::*;
    use crate::testing::TempDir;
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
        let dir = TempDir::new("writer-tickets");
        let writer = StateDir::open(dir.path()).unwrap().writer().unwrap();
        let tickets: Vec<u64> = (0..100)
            .filter_map(|n| writer.submit(PersistRequest::Updates(vec![lid(n)])))
            .collect();
        assert!(tickets.is_sorted_by(|a, b| a < b));
        wait_for(&writer, tickets[99]);
        assert_eq!(writer.submit(PersistRequest::View(None)), None);
        let gone = RecordUpdate::Remove(Record::lid_key(PortGuid(7)));
        writer.submit(PersistRequest::Updates(vec![gone]));
        drop(writer);
        let left: Vec<u64> = (0..100).filter(|n| *n != 7).collect();
        assert_eq!(ports(dir.path()), left);
    }

    /// What followers were told, and what they say to have.
    #[derive(Default)]
    struct Standby {
        told: Mutex<Vec<(u64, RecordBatch)>>,
        has: AtomicU64,
    }

    impl CommitObserver for Standby {
        fn committed(&self, number: u64, batch: &RecordBatch) {
            self.told.lock().unwrap().push((number, batch.clone()));
        }
        fn acknowledged(&self) -> u64 {
            self.has.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn followers_have_the_same_records_and_are_waited_for() {
        let (here, there) = (TempDir::new("writer-here"), TempDir::new("writer-there"));
        let writer = StateDir::open(here.path()).unwrap().writer().unwrap();
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
        while standby.told.lock().unwrap().is_empty() {
            std::thread::yield_now();
        }
        assert_eq!(
            writer.durability().durable_ticket(),
            first,
            "the standby does not have it"
        );
        let all = writer.replica_store().read_all().unwrap();
        assert_eq!(all.at, None, "nobody's history");
        writer.start_history(77);
        // Nobody is told of what came before a history, so nobody waits for it.
        wait_for(&writer, second);
        let third = writer
            .submit(PersistRequest::Updates(vec![lid(3)]))
            .unwrap();
        while standby.told.lock().unwrap().len() < 2 {
            std::thread::yield_now();
        }
        let all = writer.replica_store().read_all().unwrap();
        let number = 3;
        let at = Position {
            epoch: 77,
            seq: number,
        };
        assert_eq!((all.at, all.records.len()), (Some(at), 3));
        let records = all.records;
        wait_for(&writer, first);
        standby.has.store(number, Ordering::Relaxed);
        wait_for(&writer, third);
        assert!(second < third);
        drop(writer);
        let other = StateDir::open(there.path()).unwrap().writer().unwrap();
        other.set_accepting(false);
        let sent = other.submit(PersistRequest::Updates(vec![lid(9)])).unwrap();
        let warm = other.replica_store();
        warm.replace(at, records).unwrap();
        assert_eq!(warm.position(), Some(at));
        let changes = vec![lid(4).to_change(0)];
        let next = Position { seq: 4, ..at };
        warm.apply(next, &[RecordBatch { changes }]).unwrap();
        wait_for(&other, sent);
        drop(other);
        assert!(warm.read_all().is_err(), "nobody is there any more");
        let there_now = ports(there.path());
        assert_eq!(there_now, [1, 2, 3, 4], "and not what it says itself");
        let numbers = |dir: &TempDir| StateDir::open(dir.path()).unwrap().last_batch().0;
        assert_eq!((numbers(&here), numbers(&there)), (3, 4));
    }

    /// The store is taken away under the writer's feet: all records are written again.
    #[test]
    fn what_the_disk_refused_is_written_whole() {
        let dir = TempDir::new("writer-refused");
        let mut thread = StoreThread::new(StateDir::open(dir.path()).unwrap(), Arc::default());
        thread.take(StoreRequest::Updates(1, vec![lid(1), lid(2)]));
        thread.flush();
        assert_eq!(thread.durable.durable_ticket(), 1);
        // As after an error of the disk: a directory is where the file was.
        thread.dir.store.close();
        let file = dir.path().join("store.redb");
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        thread.take(StoreRequest::Updates(2, vec![lid(3)]));
        thread.flush();
        assert_eq!(thread.durable.durable_ticket(), 1);
        assert!(thread.waits() && thread.refused);
        std::fs::remove_dir(&file).unwrap();
        thread.flush();
        assert_eq!(thread.durable.durable_ticket(), 2);
        assert!(!thread.waits() && !thread.refused);
        drop(thread);
        assert_eq!(ports(dir.path()), [1, 2, 3]);
    }

    /// Who asks for everything at that moment gets its position, and a later start knows whose the records are.
    #[test]
    fn a_history_is_on_the_disk_when_it_begins() {
        let dir = TempDir::new("writer-history");
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

    /// What a standby's disk did not take is not taken for there, so that it gets everything, the view with it.
    #[test]
    fn a_standby_whose_disk_refused_says_that_it_has_nothing() {
        let dir = TempDir::new("writer-standby");
        let mut thread = StoreThread::new(StateDir::open(dir.path()).unwrap(), Arc::default());
        thread.take(StoreRequest::SetAccepting(false));
        let file = dir.path().join("store.redb");
        let apply = |thread: &mut StoreThread, seq, changes| {
            let (sender, done) = channel();
            let done_with = Box::new(move |r: io::Result<()>| sender.send(r.is_ok()).unwrap());
            let at = Position { epoch: 5, seq };
            thread.take(StoreRequest::Apply(at, RecordBatch { changes }, done_with));
            done.recv().unwrap()
        };
        let position = |thread: &mut StoreThread| {
            let (sender, at) = channel();
            let told = Box::new(move |at| sender.send(at).unwrap());
            thread.take(StoreRequest::Position(told));
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
        let all = kinds.chain([lid(1).to_change(0), lid(2).to_change(0), head()]);
        assert!(apply(&mut thread, 9, all.collect()));
        assert_eq!(position(&mut thread), Some(Position { epoch: 5, seq: 9 }));
        drop(thread);
        let dir = StateDir::open(dir.path()).unwrap();
        assert_eq!(dir.records().len(), 3, "{:?}", dir.records());
    }
}
