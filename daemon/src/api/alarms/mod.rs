//! Alarms: what is wrong, from the time that it is noticed until it ends.
//!
//! A thread follows the published state: `conditions` computes what is wrong, `book` compares
//! it with the alarms, and what changes is an event. The thread also keeps `history_file`, and
//! returns free memory between sweeps. The thread of the SM only wakes it.

mod book;
mod conditions;
mod history_file;

use core::time::Duration;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use ferrosm_api::alarm::{
    ACKNOWLEDGED_S_MAX, AcknowledgeQuery, Acknowledgement, Alarm, AlarmChange,
};
use ferrosm_api::answer::{ApiError, ErrorKind};
use ferrosm_api::event::EventSeverity;
use ferrosm_core::event::FieldValue;
use ferrosm_core::report::ActivityKind;
use ferrosm_replication::Replication;
use tracing::{error, warn};

use self::book::{AlarmBook, Announce};
use self::history_file::{HistoryFile, SavedHistory};
use super::events::EventLog;
use super::intent_check::IntentComparer;
use super::list::invalid;
use super::published::{Published, State};
use super::replicas::ReplicationWatch;
use super::rfc3339;
use crate::allocator::FreeMemory;
use crate::notify::Notifier;

pub(super) use self::conditions::{Condition, conditions};

/// Interval of what depends on time only.
const TICK: Duration = Duration::from_secs(1);
/// Time within which the thread must end.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// All alarms. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Alarms {
    book: Arc<Mutex<AlarmBook>>,
}

impl Alarms {
    /// All alarms, the most severe first; those that were cleared last.
    pub(super) fn list(&self) -> Vec<Alarm> {
        self.lock().list()
    }

    /// The numbers of the alarms of conditions.
    pub(super) fn ids(&self, conditions: &[Condition]) -> Vec<Option<u64>> {
        let book = self.lock();
        conditions
            .iter()
            .map(|condition| book.id_of(&condition.key))
            .collect()
    }

    /// Acknowledges an alarm.
    ///
    /// # Errors
    /// If no alarm with this number is open, or the time is invalid.
    pub(super) fn acknowledge(
        &self,
        id: u64,
        by: String,
        query: &AcknowledgeQuery,
    ) -> Result<Alarm, ApiError> {
        let now = SystemTime::now();
        let is_valid = |s: &u64| (1..=ACKNOWLEDGED_S_MAX).contains(s);
        if query.for_s.as_ref().is_some_and(|s| !is_valid(s)) {
            return Err(invalid(format!("for_s is 1 to {ACKNOWLEDGED_S_MAX}")));
        }
        let until = query.for_s.map(|s| now + Duration::from_secs(s));
        let acknowledgement = Acknowledgement {
            by,
            at: rfc3339(now),
            until: until.map(rfc3339),
            reason: query.reason.clone(),
        };
        let acknowledged = self.lock().acknowledge(id, acknowledgement, until);
        acknowledged.ok_or_else(|| {
            ApiError::new(
                ErrorKind::NotFound,
                format!("no alarm {id} is open"),
                "`ferrosm alarms` lists the open alarms.",
            )
        })
    }

    fn lock(&self) -> MutexGuard<'_, AlarmBook> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The parts of the service that the thread uses.
#[derive(Debug, Clone)]
pub struct Followed {
    pub published: Published,
    pub alarms: Alarms,
    pub events: EventLog,
    pub notifier: Notifier,
}

/// The thread that follows the published state. Dropping this ends it.
#[derive(Debug)]
pub struct AlarmThread {
    stop: Arc<AtomicBool>,
    ended: mpsc::Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl AlarmThread {
    /// Reads what was known in an earlier run, and starts the thread. A failure is logged.
    #[must_use]
    pub fn start(
        followed: Followed,
        state_dir: Option<&Path>,
        replication: Option<Weak<dyn Replication>>,
    ) -> Option<Self> {
        let Followed {
            published,
            alarms,
            events: _,
            notifier: _,
        } = &followed;
        let file = state_dir.map(HistoryFile::new);
        if let Some(file) = &file {
            let SavedHistory {
                alarms: saved,
                seen,
                ..
            } = file.read();
            *alarms.lock() = AlarmBook::restored(saved);
            let expect = published.state().expect;
            let limit = SystemTime::now().checked_sub(expect).unwrap_or(UNIX_EPOCH);
            published.remember(seen.since(limit));
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (end, ended) = mpsc::channel();
        let mut follower = Follower {
            of_service: followed.clone(),
            file,
            replication: ReplicationWatch::new(replication),
            intent: IntentComparer::default(),
            state_revision: 0,
            is_suppressing: false,
            term: None,
            saved_revisions: (0, 0),
            free_memory: FreeMemory::default(),
            idle_since: None,
        };
        let is_stopping = Arc::clone(&stop);
        let started = thread::Builder::new()
            .name("alarms".to_owned())
            .spawn(move || {
                follower.run(&is_stopping);
                // Fails only if the service no longer waits.
                let _ = end.send(());
            });
        match started {
            Ok(thread) => {
                published.wake(thread.thread().clone());
                Some(Self {
                    stop,
                    ended,
                    thread: Some(thread),
                })
            }
            Err(error) => {
                warn!(%error, effect = "no alarms", "cannot start alarm thread");
                None
            }
        }
    }
}

impl Drop for AlarmThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else {
            return;
        };
        thread.thread().unpark();
        // Does not wait for a disk that hangs.
        if self.ended.recv_timeout(STOP_TIMEOUT) != Err(mpsc::RecvTimeoutError::Timeout)
            && thread.join().is_err()
        {
            error!(thread = "alarms", "thread panicked");
        }
    }
}

/// What the thread owns.
#[derive(Debug)]
struct Follower {
    of_service: Followed,
    file: Option<HistoryFile>,
    replication: ReplicationWatch,
    intent: IntentComparer,
    /// The last state that was compared.
    state_revision: u64,
    /// Some of what is wrong has no alarm.
    is_suppressing: bool,
    /// The term of this SM as master whose first sweep was compared.
    term: Option<u64>,
    /// What the file has: revisions of the state and of the alarms.
    saved_revisions: (u64, u64),
    free_memory: FreeMemory,
    /// Since when each look found the SM idle; `None` if it was busy at the last one.
    idle_since: Option<Instant>,
}

impl Follower {
    fn run(&mut self, is_stopping: &AtomicBool) {
        loop {
            let is_last = is_stopping.load(Ordering::Relaxed);
            self.of_service.published.expire();
            let replicas = self.replication.replicas();
            self.of_service.published.replicas(replicas);
            let state = self.of_service.published.state();
            self.intent.follow(&state, &self.of_service.published);
            self.compare(&state);
            self.save(&state, is_last);
            if is_last {
                return;
            }
            let is_idle = matches!(
                state.activity,
                ActivityKind::Idle | ActivityKind::NoLink | ActivityKind::Standby
            );
            drop(state);
            self.give_back_memory(is_idle);
            thread::park_timeout(TICK);
        }
    }

    /// Sweeps free much memory. While one follows the other, the next one uses it.
    fn give_back_memory(&mut self, is_idle: bool) {
        let since = self.idle_since.filter(|_| is_idle);
        self.idle_since = since.or_else(|| is_idle.then(Instant::now));
        if since.is_some_and(|since| since.elapsed() >= TICK) {
            self.free_memory.give_back();
        }
    }

    fn compare(&mut self, state: &State) {
        let now = SystemTime::now();
        let is_known = self.state_revision == state.revision;
        if is_known && !self.of_service.alarms.lock().has_ended_acknowledgement(now) {
            return;
        }
        self.state_revision = state.revision;
        let conditions = conditions(state);
        let is_first = conditions.covers_fabric && self.term != Some(state.term);
        if is_first {
            self.term = Some(state.term);
        }
        let announce = match is_first && state.is_takeover {
            true => Announce::Known,
            false => Announce::News,
        };
        let mut book = self.of_service.alarms.lock();
        let changes = book.update(conditions, announce, now);
        let suppressed = book.suppressed();
        drop(book);
        let was_suppressing = core::mem::replace(&mut self.is_suppressing, suppressed > 0);
        if suppressed > 0 && !was_suppressing {
            warn!(suppressed, "too many alarms");
        }
        for (change, alarm) in &changes {
            add_event(&self.of_service.events, *change, alarm);
            self.of_service.notifier.notify(*change, alarm, now);
        }
    }

    fn save(&mut self, state: &State, is_last: bool) {
        let Some(file) = &mut self.file else {
            return;
        };
        let book = self.of_service.alarms.lock();
        let revisions = (state.revision, book.revision());
        let has_changed = revisions != self.saved_revisions;
        let is_due = file.is_due(has_changed) || (is_last && has_changed);
        if !is_due {
            return;
        }
        let alarms = book.saved();
        drop(book);
        let Some(seen) = state.seen(SystemTime::now()) else {
            return;
        };
        file.write(&SavedHistory::new(alarms, seen));
        self.saved_revisions = revisions;
    }
}

/// Changes of alarms are events. They are not in the log, which has the events that caused them.
fn add_event(events: &EventLog, change: AlarmChange, alarm: &Alarm) {
    let severity = match change {
        AlarmChange::Cleared | AlarmChange::Test => EventSeverity::Info,
        // As the events that cause them.
        AlarmChange::Raised | AlarmChange::Changed | AlarmChange::Unacknowledged => {
            EventSeverity::Warning
        }
    };
    let mut fields = vec![
        ("alarm", FieldValue::Integer(alarm.id)),
        ("kind", FieldValue::Name(alarm.kind.clone())),
        ("object", FieldValue::Text(alarm.object.name.clone())),
        ("detail", FieldValue::Text(alarm.text.clone())),
    ];
    if let Some(cause) = alarm.cause {
        fields.push(("cause", FieldValue::Integer(cause)));
    }
    events.append(&format!("alarm {}", change.name()), severity, &fields);
}

#[cfg(test)]
mod tests;
