//! The thread that works on a standby's store, so that a slow disk delays no heartbeat. It executes
//! requests in order and combines pending batches into one transaction.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use ferrosm_core::records::RecordBatch;
use tokio::sync::oneshot;

use super::follower::{RawRecord, SessionId, StoreJob};
use super::log::Position;
use super::{RecordStore, RecordStoreError};

/// All records and their position.
#[derive(Debug)]
pub struct StoreSnapshot {
    /// The position; `None` if unknown.
    pub at: Option<Position>,
    pub records: Vec<RawRecord>,
}

/// A request to the thread. Flow control limits those pending: per connection, the batches that a
/// master sends without acknowledgement, and one snapshot.
pub(super) enum StoreThreadRequest {
    /// Store jobs of a session. After a failed job, the remaining jobs of its session are skipped.
    Jobs(SessionId, Vec<StoreJob>),
    /// Reads the position after all earlier requests.
    Position(oneshot::Sender<Option<Position>>),
    /// Reads all records.
    ReadAll(oneshot::Sender<Result<StoreSnapshot, RecordStoreError>>),
    /// Calls the function with the position when all earlier requests are done.
    Flush(Box<dyn FnOnce(Option<Position>) + Send>),
}

/// Result of store jobs.
pub(super) enum StoreResult {
    /// All batches up to the position are durable.
    Durable(SessionId, Position),
    /// A job failed.
    Failed(SessionId, RecordStoreError),
}

/// Starts the thread. It stops when all senders of requests are gone.
///
/// # Errors
/// The system cannot create a thread.
pub(super) fn start(
    store: Arc<dyn RecordStore>,
    requests: Receiver<StoreThreadRequest>,
    on_result: impl Fn(StoreResult) + Send + 'static,
) -> std::io::Result<()> {
    let work = move || run(store.as_ref(), &requests, &on_result);
    std::thread::Builder::new()
        .name("store".to_owned())
        .spawn(work)?;
    Ok(())
}

fn run(
    store: &dyn RecordStore,
    requests: &Receiver<StoreThreadRequest>,
    on_result: &dyn Fn(StoreResult),
) {
    let mut pending = PendingBatches {
        store,
        on_result,
        failed: None,
        session: None,
        at: None,
        batches: Vec::new(),
    };
    while let Ok(first) = requests.recv() {
        let mut next = Some(first);
        while let Some(request) = next {
            pending.request(request);
            next = requests.try_recv().ok();
        }
        pending.flush();
    }
}

/// Batches to be stored in one transaction.
struct PendingBatches<'a> {
    store: &'a dyn RecordStore,
    on_result: &'a dyn Fn(StoreResult),
    failed: Option<SessionId>,
    session: Option<SessionId>,
    at: Option<Position>,
    batches: Vec<RecordBatch>,
}

impl PendingBatches<'_> {
    fn request(&mut self, request: StoreThreadRequest) {
        match request {
            StoreThreadRequest::Jobs(session, jobs) => {
                if self.session != Some(session) {
                    self.flush();
                    self.session = Some(session);
                }
                jobs.into_iter().for_each(|job| self.execute(session, job));
            }
            // The requester may be gone.
            StoreThreadRequest::Position(reply) => {
                self.flush();
                let _ = reply.send(self.store.position());
            }
            StoreThreadRequest::ReadAll(reply) => {
                self.flush();
                let _ = reply.send(self.store.read_all());
            }
            StoreThreadRequest::Flush(reply) => {
                self.flush();
                reply(self.store.position());
            }
        }
    }

    fn execute(&mut self, session: SessionId, job: StoreJob) {
        if self.failed == Some(session) {
            return;
        }
        match job {
            StoreJob::Apply(at, batch) => {
                self.at = Some(at);
                self.batches.push(batch);
            }
            StoreJob::Replace(at, records) => {
                self.flush();
                let result = self.store.replace(at, records);
                self.report(session, at, result);
            }
        }
    }

    fn flush(&mut self) {
        if let (Some(session), Some(at)) = (self.session, self.at.take()) {
            let result = self.store.apply(at, &self.batches);
            self.batches.clear();
            self.report(session, at, result);
        }
    }

    fn report(&mut self, session: SessionId, at: Position, result: Result<(), RecordStoreError>) {
        (self.on_result)(match result {
            Ok(()) => StoreResult::Durable(session, at),
            Err(error) => {
                self.failed = Some(session);
                StoreResult::Failed(session, error)
            }
        });
    }
}
