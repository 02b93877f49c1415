//! The one thread that works on a standby's store, so that a disk that is slow delays nobody's heartbeat. It does things in the order in
//! which they were asked for, and takes batches that wait together in one go.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use ferrosm_core::records::RecordBatch;
use tokio::sync::oneshot;

use super::follower::{Job, RawRecord, Turn};
use super::log::Position;
use super::{RecordStore, RecordStoreError};

/// All records, and what they are.
#[derive(Debug)]
pub struct StoreSnapshot {
    /// Where the store is.
    pub at: Option<Position>,
    /// Its records.
    pub records: Vec<RawRecord>,
}

/// What the thread is asked for. Not more waits than a master's window of batches for each connection, and a snapshot.
pub(super) enum StoreRequest {
    /// Jobs of this turn. After one that failed, those of its turn are left out.
    Jobs(Turn, Vec<Job>),
    /// Where the store is when all before this is done.
    Position(oneshot::Sender<Option<Position>>),
    /// All records.
    ReadAll(oneshot::Sender<Result<StoreSnapshot, RecordStoreError>>),
    /// Told when all before this is done.
    Settled(Box<dyn FnOnce(Option<Position>) + Send>),
}

/// What the thread says of jobs.
pub(super) enum StoreResult {
    /// All up to here is durable.
    Durable(Turn, Position),
    /// It was not taken.
    Failed(Turn, RecordStoreError),
}

/// Starts the thread; it ends when nobody can ask it any longer.
///
/// # Errors
/// The system has no thread.
pub(super) fn start(
    copy: Arc<dyn RecordStore>,
    waiting: Receiver<StoreRequest>,
    told: impl Fn(StoreResult) + Send + 'static,
) -> std::io::Result<()> {
    crate::thread::spawn("copy", move || work(copy.as_ref(), &waiting, &told))?;
    Ok(())
}

fn work(copy: &dyn RecordStore, waiting: &Receiver<StoreRequest>, told: &dyn Fn(StoreResult)) {
    let mut group = Group {
        copy,
        told,
        failed: None,
        turn: None,
        at: None,
        batches: Vec::new(),
    };
    while let Ok(first) = waiting.recv() {
        let mut next = Some(first);
        while let Some(ask) = next {
            group.ask(ask);
            next = waiting.try_recv().ok();
        }
        group.flush();
    }
}

/// Batches that are stored together.
struct Group<'a> {
    copy: &'a dyn RecordStore,
    told: &'a dyn Fn(StoreResult),
    failed: Option<Turn>,
    turn: Option<Turn>,
    at: Option<Position>,
    batches: Vec<RecordBatch>,
}

impl Group<'_> {
    fn ask(&mut self, ask: StoreRequest) {
        match ask {
            StoreRequest::Jobs(turn, jobs) => {
                if self.turn != Some(turn) {
                    self.flush();
                    self.turn = Some(turn);
                }
                jobs.into_iter().for_each(|job| self.job(turn, job));
            }
            // Who asked may have gone: then nobody needs the answer.
            StoreRequest::Position(reply) => {
                self.flush();
                let _ = reply.send(self.copy.position());
            }
            StoreRequest::ReadAll(reply) => {
                self.flush();
                let _ = reply.send(self.copy.read_all());
            }
            StoreRequest::Settled(reply) => {
                self.flush();
                reply(self.copy.position());
            }
        }
    }

    fn job(&mut self, turn: Turn, job: Job) {
        if self.failed == Some(turn) {
            return;
        }
        match job {
            Job::Apply(at, batch) => {
                self.at = Some(at);
                self.batches.push(batch);
            }
            Job::Replace(at, records) => {
                self.flush();
                let done = self.copy.replace(at, records);
                self.say(turn, at, done);
            }
        }
    }

    fn flush(&mut self) {
        if let (Some(turn), Some(at)) = (self.turn, self.at.take()) {
            let done = self.copy.apply(at, &self.batches);
            self.batches.clear();
            self.say(turn, at, done);
        }
    }

    fn say(&mut self, turn: Turn, at: Position, done: Result<(), RecordStoreError>) {
        (self.told)(match done {
            Ok(()) => StoreResult::Durable(turn, at),
            Err(error) => {
                self.failed = Some(turn);
                StoreResult::Failed(turn, error)
            }
        });
    }
}
