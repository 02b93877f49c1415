//! Threads of the SA server: one receiver, and workers that reply.
//!
//! Waking a worker costs more than a few replies. If few requests wait, the receiver replies to them itself; tables, scans and longer
//! queues are for the workers.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ferrosm_mad::ids::Lid;
use ferrosm_mad::mad::Status;
use ferrosm_mad::time::Instant;
use ferrosm_mad::transport::TransportError;
use ferrosm_mad::transport::gmp::{GmpReceived, GmpReceiver};
use ferrosm_sa::admission::{AllowedClasses, RequestClass, RequestCounts, RequestOutcome};
use ferrosm_sa::path::scan::{PathQuery, QueryProgress};
use ferrosm_sa::registry::snapshot::is_registry_read;
use ferrosm_sa::{self as sa, Disposition, SaReply, SaRequest, View};
use tracing::warn;

use super::{
    Message, PARKED_MAX, PARKED_PER_CLIENT_MAX, Queue, Revision, RunningScan, Shared, Work,
};

/// Interval at which an idle thread checks whether to stop.
const POLL: Duration = Duration::from_millis(100);

/// Interval at which idle clients are removed and overload is logged.
const TIDY_INTERVAL: Duration = Duration::from_secs(10);

/// Requests that a thread takes from, or adds to, the queue at once.
const BATCH: usize = 32;

/// Longest queue to which the receiver replies itself.
const INLINE_MAX: usize = BATCH / 4;

/// Clients that are named in a log of dropped requests.
const NAMED_CLIENTS_MAX: usize = 3;

/// Pairs of LIDs per slice of a scan: a few milliseconds.
const SLICE_PAIRS: usize = 4096;

/// Largest reply buffer that a thread retains.
const RETAINED_BUFFER_MAX: usize = 1 << 16;

/// Receives requests and queues them, until the server stops.
///
/// # Errors
/// The device rejects a receive.
pub(super) fn run_receiver(
    mut receiver: Box<dyn GmpReceiver>,
    shared: &Shared,
) -> Result<(), TransportError> {
    let mut inline = WorkBatch::new(shared);
    let mut last_tidy = shared.clock.now();
    let mut logged = BTreeMap::new();
    let mut batch: Vec<Message> = Vec::with_capacity(BATCH);
    while !shared.is_stopped() {
        receive_batch(receiver.as_mut(), &mut batch)?;
        let now = shared.clock.now();
        if !batch.is_empty() {
            admit(shared, &mut batch, &mut inline);
            if inline.reply() {
                inline.account(&mut shared.queue(), now);
            }
        }
        if now.since(last_tidy) > TIDY_INTERVAL {
            last_tidy = now;
            let mut queue = shared.queue();
            queue.admission.remove_idle_clients(now);
            shared.forwarded().remove_idle_clients(now);
            let counts: Vec<(Lid, RequestCounts)> = queue.admission.counts().collect();
            drop(queue);
            log_overload(shared, &counts, &mut logged);
        }
    }
    Ok(())
}

/// Receives all pending messages. If there are none, waits for one and returns it alone, so that a client with one request at a time is
/// served without another poll of the socket.
fn receive_batch(
    receiver: &mut dyn GmpReceiver,
    batch: &mut Vec<Message>,
) -> Result<(), TransportError> {
    let mut timeout = Duration::ZERO;
    while batch.len() < BATCH {
        match receiver.receive(timeout) {
            Ok(GmpReceived::Message { from, bytes }) => {
                batch.push((from, bytes));
                if !timeout.is_zero() {
                    break;
                }
            }
            Ok(GmpReceived::SendFailed(_)) => {}
            Ok(GmpReceived::TimedOut) if batch.is_empty() && timeout.is_zero() => timeout = POLL,
            Ok(GmpReceived::TimedOut) => break,
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

/// Queues requests and drops those beyond a limit. If at most [`INLINE_MAX`] wait, `inline` takes them; otherwise, and for tables and
/// scans, wakes workers.
fn admit(shared: &Shared, batch: &mut Vec<Message>, inline: &mut WorkBatch<'_>) {
    let now = shared.clock.now();
    let mut counts = RequestCounts::default();
    let mut queue = shared.queue();
    for (from, bytes) in batch.drain(..) {
        let class = SaRequest::parse(from, &bytes).map(|r| RequestClass::from_request(&r));
        let Some(class) = class else {
            counts.add(RequestOutcome::Dropped);
            queue.admission.count(from.lid, RequestOutcome::Dropped);
            continue;
        };
        let (lid, work) = (from.lid, Work::Request((from, bytes)));
        if queue.admission.offer(lid, class, work, now).is_err() {
            counts.add(RequestOutcome::Overload);
            queue.admission.count(lid, RequestOutcome::Overload);
        }
    }
    if queue.admission.len() <= INLINE_MAX {
        inline.take_requests(&mut queue, INLINE_MAX, AllowedClasses::NONE);
    }
    let (idle, waiting) = (queue.idle, queue.admission.len());
    drop(queue);
    if idle > 0 && waiting > INLINE_MAX {
        shared.filled.notify_all();
    } else if idle > 0 && waiting > 0 {
        shared.filled.notify_one();
    }
    shared.counters.add(&counts);
}

/// Logs the clients whose requests were dropped since the last call.
fn log_overload(shared: &Shared, counts: &[(Lid, RequestCounts)], logged: &mut BTreeMap<Lid, u64>) {
    let mut dropped: Vec<(u64, Lid, RequestCounts)> = counts
        .iter()
        .filter(|(_, counts)| counts.overload > 0)
        .map(|(lid, counts)| {
            let before = logged.insert(*lid, counts.overload).unwrap_or(0);
            (counts.overload - before, *lid, *counts)
        })
        .filter(|(since, ..)| *since > 0)
        .collect();
    dropped.sort_by_key(|(since, lid, _)| (core::cmp::Reverse(*since), *lid));
    let view = shared.view();
    for (since, lid, counts) in dropped.iter().take(NAMED_CLIENTS_MAX) {
        let at = view.as_ref().and_then(|v| Some((v, v.by_lid(*lid)?)));
        let guid = at.map_or_else(String::new, |(v, at)| v.end_port(at).guid.to_string());
        warn!(
            client = %lid, guid, dropped = since, answered = counts.answered, forwarded = counts.forwarded,
            "SA request limit exceeded"
        );
    }
    if dropped.len() > NAMED_CLIENTS_MAX {
        warn!(
            clients = dropped.len() - NAMED_CLIENTS_MAX,
            "SA request limit exceeded by further clients"
        );
    }
}

/// Replies to queued requests.
pub(super) fn run_worker(shared: &Shared) {
    let mut work = WorkBatch::new(shared);
    while !shared.is_stopped() {
        let now = shared.clock.now();
        {
            let mut queue = shared.queue();
            work.account(&mut queue, now);
            let mut allowed = expensive_allowed(&queue, shared, now);
            if !queue.admission.has_next(allowed) {
                queue.idle += 1;
                let waited = shared.filled.wait_timeout(queue, POLL);
                queue = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
                queue.idle -= 1;
                allowed = expensive_allowed(&queue, shared, shared.clock.now());
            }
            work.take_requests(&mut queue, BATCH, allowed);
        }
        work.reply();
    }
}

/// Requests that a thread has taken from the queue, and outcomes to account for.
struct WorkBatch<'a> {
    shared: &'a Shared,
    batch: Vec<Work>,
    /// Outcomes that are not yet counted for their clients.
    completed: Vec<(Lid, RequestOutcome)>,
    /// Class and client of the last request, if it is a table or scan.
    expensive: Option<(RequestClass, Lid)>,
    /// A scan with further slices.
    unfinished: Option<Box<RunningScan>>,
    /// Registry reads that need a newer snapshot.
    parked: Vec<Message>,
    /// Size of the last reply, in bytes.
    sent: usize,
    bytes: Vec<u8>,
}

impl<'a> WorkBatch<'a> {
    fn new(shared: &'a Shared) -> Self {
        Self {
            shared,
            batch: Vec::with_capacity(BATCH),
            completed: Vec::with_capacity(BATCH),
            expensive: None,
            unfinished: None,
            parked: Vec::new(),
            sent: 0,
            bytes: Vec::new(),
        }
    }

    /// Takes the next requests: at most one table or slice of a scan, as the last one.
    fn take_requests(&mut self, queue: &mut Queue, max: usize, allowed: AllowedClasses) {
        while self.batch.len() < max
            && let Some((class, work)) = queue.admission.take(allowed)
        {
            let from = work.from();
            self.batch.push(work);
            match class {
                RequestClass::Write | RequestClass::Read => continue,
                RequestClass::Table => queue.building_tables += 1,
                RequestClass::Scan => queue.scanning += 1,
            }
            self.expensive = Some((class, from));
            break;
        }
    }

    /// Replies to the requests of the batch; returns whether there were any.
    fn reply(&mut self) -> bool {
        self.sent = 0;
        if self.batch.is_empty() {
            return false;
        }
        let view = self.shared.view();
        let mut counts = RequestCounts::default();
        let scans = matches!(self.expensive, Some((RequestClass::Scan, _)));
        let mut left = self.batch.len();
        for work in self.batch.drain(..) {
            left -= 1;
            let from = work.from();
            let bytes = &mut self.bytes;
            let outcome = match work {
                // The scan is the last request of the batch.
                Work::Request(message) if scans && left == 0 => {
                    match start_scan(self.shared, view.as_ref(), message, bytes) {
                        Ok(scan) => run_slice(self.shared, scan, bytes, &mut self.unfinished),
                        Err(outcome) => Some(outcome),
                    }
                }
                Work::Request(message) => {
                    let view = view.as_deref();
                    let min_revision = Revision::Latest;
                    reply_to(
                        self.shared,
                        view,
                        min_revision,
                        message,
                        bytes,
                        &mut self.parked,
                    )
                }
                Work::Parked(message) => {
                    let (view, min_revision) = (view.as_deref(), Revision::Published);
                    reply_to(
                        self.shared,
                        view,
                        min_revision,
                        message,
                        bytes,
                        &mut self.parked,
                    )
                }
                Work::Scan(scan) => run_slice(self.shared, scan, bytes, &mut self.unfinished),
            };
            if let Some(outcome) = outcome {
                counts.add(outcome);
                self.completed.push((from, outcome));
            }
            self.sent = self.bytes.len();
        }
        self.shared.counters.add(&counts);
        if self.bytes.capacity() > RETAINED_BUFFER_MAX {
            self.bytes = Vec::new();
        }
        true
    }

    /// Counts outcomes, parks registry reads, and returns an unfinished scan to the queue.
    fn account(&mut self, queue: &mut Queue, now: Instant) {
        for (lid, outcome) in self.completed.drain(..) {
            queue.admission.count(lid, outcome);
        }
        self.park(queue);
        let Some((class, from)) = self.expensive.take() else {
            return;
        };
        match class {
            RequestClass::Write | RequestClass::Read => {}
            RequestClass::Table => queue.building_tables -= 1,
            RequestClass::Scan => queue.scanning -= 1,
        }
        match self.unfinished.take() {
            Some(scan) => queue.admission.resume(Work::Scan(scan)),
            None => {
                queue.admission.finish(from, class);
                queue.admission.record_sent_table(self.sent, now);
            }
        }
    }
}

impl WorkBatch<'_> {
    /// Parks registry reads until the next snapshot, which the driver publishes on demand.
    fn park(&mut self, queue: &mut Queue) {
        if self.parked.is_empty() {
            return;
        }
        let mut total: usize = queue.parked.values().map(Vec::len).sum();
        for message in self.parked.drain(..) {
            let lid = message.0.lid;
            let of_client = queue.parked.entry(lid).or_default();
            if total < PARKED_MAX && of_client.len() < PARKED_PER_CLIENT_MAX {
                of_client.push(message);
                total += 1;
            } else {
                queue.admission.count(lid, RequestOutcome::Overload);
                self.shared
                    .counters
                    .overload
                    .fetch_add(1, Ordering::Relaxed);
            }
        }
        self.shared.snapshot_wanted.store(true, Ordering::Release);
        self.shared.wake.notify_one();
    }
}

impl Work {
    const fn from(&self) -> Lid {
        match self {
            Self::Request((from, _)) | Self::Parked((from, _)) => from.lid,
            Self::Scan(scan) => scan.message.0.lid,
        }
    }
}

/// Expensive requests that may start now. Of several workers, one remains free of them, and scans take at most a quarter.
fn expensive_allowed(queue: &Queue, shared: &Shared, now: Instant) -> AllowedClasses {
    let threads = shared.workers.saturating_sub(1).max(1);
    let has_free_thread = queue.building_tables + queue.scanning < threads;
    AllowedClasses {
        tables: has_free_thread && queue.admission.may_send_table(now),
        scans: has_free_thread && queue.scanning < (shared.workers / 4).max(1),
    }
}

/// Starts a scan; returns the outcome if it needs no slice.
fn start_scan(
    shared: &Shared,
    view: Option<&Arc<View>>,
    message: Message,
    bytes: &mut Vec<u8>,
) -> Result<Box<RunningScan>, RequestOutcome> {
    bytes.clear();
    let request = SaRequest::parse(message.0, &message.1).ok_or(RequestOutcome::Dropped)?;
    let view = view.ok_or(RequestOutcome::Dropped)?;
    if !view.accepts_sm_key(request.sm_key) {
        return Err(RequestOutcome::Dropped);
    }
    match PathQuery::new(view, &request) {
        Ok(query) => Ok(Box::new(RunningScan {
            view: Arc::clone(view),
            query,
            message,
        })),
        Err(reply) => Err(send_scan_reply(shared, &request, &reply, bytes)),
    }
}

/// Runs one slice; returns the outcome if it was the last, otherwise stores the scan in `unfinished`.
fn run_slice(
    shared: &Shared,
    mut scan: Box<RunningScan>,
    bytes: &mut Vec<u8>,
    unfinished: &mut Option<Box<RunningScan>>,
) -> Option<RequestOutcome> {
    bytes.clear();
    let (from, message) = &scan.message;
    let Some(request) = SaRequest::parse(*from, message) else {
        return Some(RequestOutcome::Dropped);
    };
    match scan.query.advance(&scan.view, &request, SLICE_PAIRS) {
        QueryProgress::Done(reply) => Some(send_scan_reply(shared, &request, &reply, bytes)),
        QueryProgress::More => {
            *unfinished = Some(scan);
            None
        }
    }
}

fn send_scan_reply(
    shared: &Shared,
    request: &SaRequest<'_>,
    reply: &SaReply,
    bytes: &mut Vec<u8>,
) -> RequestOutcome {
    reply.encode_into(request, bytes);
    shared.send(&request.from, bytes, None);
    if reply.status == Status::NO_RESOURCES {
        RequestOutcome::TooLarge
    } else {
        RequestOutcome::Answered
    }
}

/// Replies to one request, in `bytes`. Returns `None` if the request was added to `parked` to wait for a newer snapshot.
fn reply_to(
    shared: &Shared,
    view: Option<&View>,
    min_revision: Revision,
    (from, message): Message,
    bytes: &mut Vec<u8>,
    parked: &mut Vec<Message>,
) -> Option<RequestOutcome> {
    bytes.clear();
    let Some((view, request)) = view.zip(SaRequest::parse(from, &message)) else {
        return Some(RequestOutcome::Dropped);
    };
    let reply = match sa::answer(view, &request) {
        Disposition::Reply(reply) => reply,
        Disposition::ForwardToSm if is_registry_read(&request) => {
            let Some(registrations) = shared.registrations(min_revision) else {
                parked.push((from, message));
                return None;
            };
            let age = shared.clock.now().since(registrations.server_time);
            let now = registrations.driver_time + age;
            registrations.snapshot.answer(view, &request, now)
        }
        Disposition::ForwardToSm => {
            let now = shared.clock.now();
            let offered =
                shared
                    .forwarded()
                    .offer(from.lid, RequestClass::Write, (from, message), now);
            if offered.is_err() {
                return Some(RequestOutcome::Overload);
            }
            shared.wake.notify_one();
            return Some(RequestOutcome::Forwarded);
        }
        Disposition::Drop => return Some(RequestOutcome::Dropped),
    };
    reply.encode_into(&request, bytes);
    shared.send(&from, bytes, None);
    Some(RequestOutcome::Answered)
}
