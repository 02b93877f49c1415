//! Events: as a list, or as a stream of server-sent events.
//!
//! A stream reads batches from the log of events as its client takes them, so that a slow client
//! costs no memory; if the log has dropped events meanwhile, the stream says so.

use core::convert::Infallible;
use core::time::Duration;
use std::collections::VecDeque;
use std::time::SystemTime;

use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State as Shared};
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::sse::{Event as StreamEvent, Sse};
use axum::response::{IntoResponse, Response};
use ferrosm_api::answer::{Answer, ApiError, ErrorAnswer, ErrorKind};
use ferrosm_api::event::{EventEntry, EventQuery, EventSeverity, Events};
use futures_util::stream;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::{Failed, answer, invalid};
use crate::api::Service;
use crate::api::access::Client;
use crate::api::events::EventLog;

/// Longest wait for an event, in seconds.
const EVENT_WAIT_S_MAX: u64 = 60;
/// Media type of server-sent events.
const EVENT_STREAM: &str = "text/event-stream";
/// Header with which a client of a stream resumes it.
const LAST_EVENT_ID: &str = "last-event-id";
/// Events that a stream reads at once.
const BATCH: usize = 64;
/// Interval of lines that keep the connection of a stream alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The last events, the oldest first. With `wait_s`, an answer without events comes at its end.
/// With `Accept: text/event-stream`, a stream of server-sent events that does not end: the last
/// ones, then each new one. `Last-Event-ID` takes precedence over `since`. An event named `lost`
/// means that events are missing, because the service remembers only the last 4096.
#[utoipa::path(get, path = "/v1/events", params(EventQuery,
        ("last-event-id" = Option<u64>, Header, description = "Number of the last event that the client of a stream has")),
    responses((status = 200, content((Answer<Events> = "application/json"), (String = "text/event-stream"))),
        (status = 400, body = ErrorAnswer), (status = 503, body = ErrorAnswer)))]
pub(super) async fn get_events(
    Shared(service): Shared<Service>,
    Extension(client): Extension<Client>,
    query: Result<Query<EventQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Failed> {
    let Query(query) = query?;
    let accepts = headers.get_all(ACCEPT).iter();
    let mut accepted = accepts.filter_map(|value| value.to_str().ok());
    if accepted.any(|value| value.contains(EVENT_STREAM)) {
        return open_stream(&service, &client, query, &headers);
    }
    let EventQuery {
        since,
        severity,
        wait_s,
    } = query;
    let wait_s = wait_s.unwrap_or(0);
    if wait_s > EVENT_WAIT_S_MAX {
        return Err(invalid(format!("wait_s is at most {EVENT_WAIT_S_MAX}")).into());
    }
    let severity = severity.unwrap_or(EventSeverity::Info);
    let waiting = service.events.wait(since, severity);
    let waited = timeout(Duration::from_secs(wait_s), waiting).await;
    let events = waited.unwrap_or_else(|_| service.events.since(since, severity));
    let state = service.published.state();
    Ok(answer(&state, SystemTime::now(), events).into_response())
}

fn open_stream(
    service: &Service,
    client: &Client,
    query: EventQuery,
    headers: &HeaderMap,
) -> Result<Response, Failed> {
    if query.wait_s.is_some() {
        return Err(invalid("a stream has no wait_s".to_owned()).into());
    }
    let resumed = headers.get(LAST_EVENT_ID).map(|value| {
        let number = value.to_str().ok().and_then(|text| text.parse().ok());
        number.ok_or_else(|| invalid("last-event-id is not the number of an event".to_owned()))
    });
    let since = resumed.transpose()?.or(query.since);
    let slot = service.event_streams.take(client).ok_or_else(|| {
        ApiError::new(
            ErrorKind::Busy,
            "too many clients receive streams of events",
            "Try again later, or ask without `Accept: text/event-stream` and with `wait_s`.",
        )
    })?;
    let feed = Feed {
        log: service.events.clone(),
        since,
        severity: query.severity.unwrap_or(EventSeverity::Info),
        batch: VecDeque::new(),
        _slot: slot,
    };
    let events = stream::unfold(feed, |mut feed| async {
        let event = feed.next().await;
        Some((Ok::<_, Infallible>(event), feed))
    });
    Ok(Sse::new(events).into_response())
}

/// What is sent to a client of a stream.
struct Feed {
    log: EventLog,
    /// Number of the last event that was read from the log.
    since: Option<u64>,
    severity: EventSeverity,
    /// Events that were read, and are not sent yet.
    batch: VecDeque<EventEntry>,
    _slot: OwnedSemaphorePermit,
}

impl Feed {
    async fn next(&mut self) -> StreamEvent {
        loop {
            if let Some(entry) = self.batch.pop_front() {
                return StreamEvent::default()
                    .id(entry.number.to_string())
                    .data(json!(entry).to_string());
            }
            let mut added = self.log.subscribe();
            let events = self.log.first_since(self.since, self.severity, BATCH);
            let since = self.since.replace(events.last);
            self.batch = events.items.into();
            if events.has_gap {
                let text = "events are missing: the service remembers only the last 4096";
                return StreamEvent::default()
                    .event("lost")
                    .data(json!({"since": since, "text": text}).to_string());
            }
            if self.batch.is_empty() && timeout(KEEP_ALIVE, added.changed()).await.is_err() {
                // The number moves on also if all events were of lower severity.
                return StreamEvent::default()
                    .id(events.last.to_string())
                    .comment("keep-alive");
            }
        }
    }
}
