//! The last events of the subnet manager, for clients that ask or wait for them.
//!
//! The thread of the SM adds events; it never waits for a reader longer than for a copy of the
//! last ones.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use ferrosm_api::event::{EventEntry, EventSeverity, Events};
use ferrosm_core::Event;
use ferrosm_core::event::{FieldValue, Severity};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::rfc3339;

/// Events that the service remembers.
const REMEMBERED: usize = 4096;

/// The last events. Clones share them.
#[derive(Debug, Clone)]
pub struct EventLog {
    entries: Arc<Mutex<VecDeque<Arc<EventEntry>>>>,
    /// The number of the last event.
    last: Arc<watch::Sender<u64>>,
}

impl Default for EventLog {
    /// Numbers begin with the time of the start, so that they rise across restarts.
    fn default() -> Self {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
        let (last, _) = watch::channel(since_epoch.unwrap_or_default().as_secs() * 1000);
        Self {
            entries: Arc::default(),
            last: Arc::new(last),
        }
    }
}

impl EventLog {
    /// Adds an event with a severity, which is its own or lower. Returns its number.
    pub fn add(&self, event: &Event, severity: Severity) -> u64 {
        let severity = api_severity(severity);
        self.append(event.row().name, severity, event.fields().as_slice())
    }

    /// Adds an event of another thread than that of the SM.
    pub(super) fn append(
        &self,
        name: &str,
        severity: EventSeverity,
        listed: &[(&'static str, FieldValue)],
    ) -> u64 {
        let mut text = name.to_owned();
        let mut fields = Map::new();
        for (name, value) in listed {
            text.push_str(&format!(" {name}={value}"));
            fields.insert((*name).to_owned(), json(value));
        }
        let at = rfc3339(SystemTime::now());
        let mut entries = self.lock();
        let number = *self.last.borrow() + 1;
        let entry = Arc::new(EventEntry {
            number,
            at,
            severity,
            event: name.to_lowercase().replace(' ', "-"),
            fields,
            text,
        });
        if entries.len() == REMEMBERED {
            entries.pop_front();
        }
        entries.push_back(entry);
        // Before others can read the entry.
        self.last.send_replace(number);
        number
    }

    /// The events after a number, of at least this severity.
    #[must_use]
    pub fn since(&self, since: Option<u64>, severity: EventSeverity) -> Events {
        self.first_since(since, severity, REMEMBERED)
    }

    /// The first of these events; `last` is then that of the last one of them.
    pub(super) fn first_since(
        &self,
        since: Option<u64>,
        severity: EventSeverity,
        max: usize,
    ) -> Events {
        let entries = self.lock();
        let last = *self.last.borrow();
        let first = entries.front().map_or(last, |entry| entry.number);
        // A number that is not known yet is from a run with a later clock.
        let known = since.filter(|since| *since <= last);
        let is_new = |entry: &&Arc<EventEntry>| {
            entry.severity >= severity && known.is_none_or(|since| entry.number > since)
        };
        let mut matching = entries.iter().filter(is_new);
        let new: Vec<Arc<EventEntry>> = matching.by_ref().take(max).cloned().collect();
        let last = match (matching.next(), new.last()) {
            (Some(_), Some(entry)) => entry.number,
            (Some(_), None) | (None, _) => last,
        };
        drop(entries);
        let has_gap = match (since, known) {
            (Some(_), None) => true,
            (_, Some(since)) => since + 1 < first,
            (None, None) => false,
        };
        Events {
            last,
            has_gap,
            items: new.iter().map(|entry| EventEntry::clone(entry)).collect(),
        }
    }

    /// Tells when events are added, from now on.
    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    /// Waits until there are such events.
    pub async fn wait(&self, since: Option<u64>, severity: EventSeverity) -> Events {
        let mut last = self.last.subscribe();
        loop {
            last.mark_unchanged();
            let events = self.since(since, severity);
            // The sender lives as long as `self`.
            if !events.items.is_empty() || last.changed().await.is_err() {
                return events;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<EventEntry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn json(value: &FieldValue) -> Value {
    match value {
        FieldValue::Integer(value) => Value::from(*value),
        FieldValue::Real(value) => Value::from(*value),
        FieldValue::Name(value) | FieldValue::Text(value) => Value::from(value.as_str()),
    }
}

const fn api_severity(severity: Severity) -> EventSeverity {
    match severity {
        Severity::Error => EventSeverity::Error,
        Severity::Warning => EventSeverity::Warning,
        Severity::Info => EventSeverity::Info,
        Severity::Debug => EventSeverity::Debug,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(log: &EventLog) {
        let event = Event::ConsentGiven;
        log.add(&event, event.row().severity);
    }

    /// The log keeps the last events only, and reports that earlier ones are missing.
    #[test]
    fn events_are_bounded_and_gaps_are_reported() {
        let log = EventLog::default();
        let start = log.since(None, EventSeverity::Debug).last;
        add(&log);
        let first = log.since(Some(start), EventSeverity::Debug);
        assert_eq!(first.items.len(), 1);
        assert_eq!((first.last, first.has_gap), (start + 1, false));
        assert!(
            log.since(Some(start), EventSeverity::Warning)
                .items
                .is_empty()
        );
        for _ in 0..REMEMBERED {
            add(&log);
        }
        let all = log.since(Some(start), EventSeverity::Debug);
        assert_eq!((all.items.len(), all.has_gap), (REMEMBERED, true));
        assert!(!log.since(Some(start + 1), EventSeverity::Debug).has_gap);
    }

    /// A client that waits gets the next event.
    #[test]
    fn waiting_client_gets_the_next_event() {
        let log = EventLog::default();
        let last = log.since(None, EventSeverity::Debug).last;
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let events = runtime.unwrap().block_on(async {
            let waiting = tokio::spawn({
                let log = log.clone();
                async move { log.wait(Some(last), EventSeverity::Info).await }
            });
            tokio::task::yield_now().await;
            add(&log);
            waiting.await.unwrap()
        });
        assert_eq!(events.items.len(), 1);
        assert_eq!(events.items[0].event, "consent-given");
    }
}
