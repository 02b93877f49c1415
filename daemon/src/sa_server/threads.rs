//! Threads of the SA server: one receiver, and workers that reply.
//!
//! Waking a worker costs more than a few replies. If few requests wait, the receiver replies to
//! them itself; tables, scans and longer queues are for the workers.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ferrosm_mad::ids::Lid;
use ferrosm_mad::time::Instant;
use ferrosm_sa::admission::{
    AllowedClasses, ClientLoad, RequestClass, RequestCounts, RequestOutcome,
};
use ferrosm_sa::path::scan::{PathQuery, QueryProgress};
use ferrosm_sa::refusal::SaRefusal;
use ferrosm_sa::registry_read::{answer_registry_read, is_registry_read};
use ferrosm_sa::request_kind::RequestKind;
use ferrosm_sa::{self as sa, Disposition, SaReply, SaRequest, View};
use ferrosm_umad::gmp::{GmpReceived, GmpReceiver};
use ferrosm_umad::transport::TransportError;
use tracing::warn;

use super::clients::apply_limits;
use super::counters::{SaCounters, ServiceTimeCounts};
use super::load::LoadMonitor;
use super::{
    Message, PARKED_MAX, PARKED_PER_CLIENT_MAX, Queue, Request, Revision, RunningScan, Shared, Work,
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
    let mut load = LoadMonitor::new(last_tidy);
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
            queue.admission.begin_use_interval(now);
            apply_limits(shared, &mut queue);
            shared.forwarded().remove_idle_clients(now);
            let loads: BTreeMap<Lid, ClientLoad> = queue.admission.loads().collect();
            if load.is_due(now) {
                queue.admission.begin_load_interval();
            }
            drop(queue);
            log_overload(shared, &loads, &mut logged);
            if load.is_due(now) {
                load.log(shared.view().as_deref(), &loads, now);
            }
            shared.counters.log_unreported(now);
        }
    }
    Ok(())
}

/// Receives all pending messages. If there are none, waits for one and returns it alone, so that a
/// client with one request at a time is served without another poll of the socket.
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

/// Queues requests and drops those beyond a limit. If at most [`INLINE_MAX`] wait, `inline` takes
/// them; otherwise, and for tables and scans, wakes workers.
fn admit(shared: &Shared, batch: &mut Vec<Message>, inline: &mut WorkBatch<'_>) {
    let received = shared.clock.now();
    let mut queue = shared.queue();
    let drop_request = |queue: &mut Queue, lid, kind, outcome| {
        shared.counters.add(kind, outcome, 1);
        queue.admission.count(lid, kind, outcome);
    };
    for (from, bytes) in batch.drain(..) {
        let lid = from.lid;
        let parsed = SaRequest::parse(from, &bytes);
        let parsed = parsed.map(|r| (RequestClass::from_request(&r), RequestKind::of(&r)));
        let Some((class, kind)) = parsed else {
            drop_request(&mut queue, lid, RequestKind::OTHER, RequestOutcome::Dropped);
            continue;
        };
        let work = Work::New(Request {
            from,
            bytes,
            kind,
            class,
            received,
        });
        if queue.admission.offer(lid, class, work, received).is_err() {
            drop_request(&mut queue, lid, kind, RequestOutcome::Overload);
        }
    }
    if queue.admission.len() <= INLINE_MAX {
        inline.take_requests(&mut queue, INLINE_MAX, AllowedClasses::NONE);
    }
    let idle = queue.idle;
    let waiting = queue.admission.len();
    drop(queue);
    if idle > 0 && waiting > INLINE_MAX {
        shared.filled.notify_all();
    } else if idle > 0 && waiting > 0 {
        shared.filled.notify_one();
    }
}

/// Logs the clients whose requests were dropped since the last call.
fn log_overload(
    shared: &Shared,
    loads: &BTreeMap<Lid, ClientLoad>,
    logged: &mut BTreeMap<Lid, u64>,
) {
    let mut dropped: Vec<(u64, Lid, RequestCounts)> = loads
        .iter()
        .map(|(lid, load)| (*lid, load.counts()))
        .filter(|(_, counts)| counts.overload > 0)
        .map(|(lid, counts)| {
            let before = logged.insert(lid, counts.overload).unwrap_or(0);
            (counts.overload - before, lid, counts)
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

/// A request that was replied to, forwarded or dropped.
struct Completed {
    from: Lid,
    kind: RequestKind,
    class: RequestClass,
    received: Instant,
    outcome: RequestOutcome,
}

impl Completed {
    const fn new(request: &Request, outcome: RequestOutcome) -> Self {
        Self {
            from: request.from.lid,
            kind: request.kind,
            class: request.class,
            received: request.received,
            outcome,
        }
    }
}

/// Requests that a thread has taken from the queue, and outcomes to account for.
struct WorkBatch<'a> {
    shared: &'a Shared,
    batch: Vec<Work>,
    /// Requests that are not yet counted for their clients.
    completed: Vec<Completed>,
    /// Class and client of the last request, if it is a table or scan.
    expensive: Option<(RequestClass, Lid)>,
    /// A scan with further slices.
    unfinished: Option<Box<RunningScan>>,
    /// Registry reads that need a newer snapshot.
    parked: Vec<Request>,
    /// Time for each client that is not yet counted.
    times: Vec<(Lid, Duration)>,
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
            times: Vec::with_capacity(BATCH),
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
        let first = self.completed.len();
        let scans = matches!(self.expensive, Some((RequestClass::Scan, _)));
        let mut left = self.batch.len();
        let mut began = self.shared.clock.now();
        for work in self.batch.drain(..) {
            left -= 1;
            let from = work.from();
            let bytes = &mut self.bytes;
            let completed = match work {
                // The scan is the last request of the batch.
                Work::New(request) if scans && left == 0 => {
                    match start_scan(self.shared, view.as_ref(), request, bytes) {
                        Ok(scan) => run_slice(self.shared, scan, bytes, &mut self.unfinished),
                        Err(completed) => Some(completed),
                    }
                }
                Work::New(request) => reply_to(
                    self.shared,
                    view.as_deref(),
                    Revision::Latest,
                    request,
                    bytes,
                    &mut self.parked,
                ),
                Work::Parked(request) => reply_to(
                    self.shared,
                    view.as_deref(),
                    Revision::Published,
                    request,
                    bytes,
                    &mut self.parked,
                ),
                Work::Scan(scan) => run_slice(self.shared, scan, bytes, &mut self.unfinished),
            };
            let ended = self.shared.clock.now();
            self.times.push((from, ended.since(began)));
            began = ended;
            self.completed.extend(completed);
            self.sent = self.bytes.len();
        }
        count_completed(&self.shared.counters, &self.completed[first..], began);
        if self.bytes.capacity() > RETAINED_BUFFER_MAX {
            self.bytes = Vec::new();
        }
        true
    }

    /// Counts outcomes, parks registry reads, and returns an unfinished scan to the queue.
    fn account(&mut self, queue: &mut Queue, now: Instant) {
        for done in self.completed.drain(..) {
            queue.admission.count(done.from, done.kind, done.outcome);
        }
        for (from, time) in self.times.drain(..) {
            queue.admission.add_time(from, time);
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

/// Counts requests: one addition for consecutive ones of the same kind and outcome. Times end with
/// the batch.
fn count_completed(counters: &SaCounters, completed: &[Completed], now: Instant) {
    let is_same = |a: &Completed, b: &Completed| (a.kind, a.outcome) == (b.kind, b.outcome);
    for run in completed.chunk_by(is_same) {
        let count = u64::try_from(run.len()).unwrap_or(u64::MAX);
        counters.add(run[0].kind, run[0].outcome, count);
    }
    let is_replied = |done: &Completed| {
        matches!(
            done.outcome,
            RequestOutcome::Answered | RequestOutcome::TooLarge
        )
    };
    for run in completed.chunk_by(|a, b| a.class == b.class) {
        let mut times = ServiceTimeCounts::default();
        for done in run.iter().filter(|done| is_replied(done)) {
            times.add(now.since(done.received));
        }
        counters.add_times(run[0].class, &times);
    }
}

impl WorkBatch<'_> {
    /// Parks registry reads until the next snapshot, which the driver publishes on demand.
    fn park(&mut self, queue: &mut Queue) {
        if self.parked.is_empty() {
            return;
        }
        let mut total: usize = queue.parked.values().map(Vec::len).sum();
        for request in self.parked.drain(..) {
            let lid = request.from.lid;
            let kind = request.kind;
            let of_client = queue.parked.entry(lid).or_default();
            if total < PARKED_MAX && of_client.len() < PARKED_PER_CLIENT_MAX {
                of_client.push(request);
                total += 1;
            } else {
                let outcome = RequestOutcome::Overload;
                queue.admission.count(lid, kind, outcome);
                self.shared.counters.add(kind, outcome, 1);
            }
        }
        self.shared.snapshot_wanted.store(true, Ordering::Release);
        self.shared.wake.notify_one();
    }
}

impl Work {
    const fn from(&self) -> Lid {
        match self {
            Self::New(request) | Self::Parked(request) => request.from.lid,
            Self::Scan(scan) => scan.request.from.lid,
        }
    }
}

/// Expensive requests that may start now. Of several workers, one remains free of them, and scans
/// take at most a quarter.
fn expensive_allowed(queue: &Queue, shared: &Shared, now: Instant) -> AllowedClasses {
    let threads = shared.workers.saturating_sub(1).max(1);
    let has_free_thread = queue.building_tables + queue.scanning < threads;
    AllowedClasses {
        tables: has_free_thread && queue.admission.may_send_table(now),
        scans: has_free_thread && queue.scanning < (shared.workers / 4).max(1),
    }
}

/// Starts a scan, unless it needs no slice.
fn start_scan(
    shared: &Shared,
    view: Option<&Arc<View>>,
    request: Request,
    bytes: &mut Vec<u8>,
) -> Result<Box<RunningScan>, Completed> {
    bytes.clear();
    let parsed = view.zip(SaRequest::parse(request.from, &request.bytes));
    let Some((view, parsed)) = parsed.filter(|(view, r)| view.accepts_sm_key(r.sm_key)) else {
        return Err(Completed::new(&request, RequestOutcome::Dropped));
    };
    match PathQuery::new(view, &parsed) {
        Ok(query) => Ok(Box::new(RunningScan {
            view: Arc::clone(view),
            query,
            request,
        })),
        Err(reply) => {
            let outcome = send_reply(shared, view, &parsed, &reply, bytes);
            Err(Completed::new(&request, outcome))
        }
    }
}

/// Runs one slice; unless it was the last, stores the scan in `unfinished`.
fn run_slice(
    shared: &Shared,
    mut scan: Box<RunningScan>,
    bytes: &mut Vec<u8>,
    unfinished: &mut Option<Box<RunningScan>>,
) -> Option<Completed> {
    bytes.clear();
    let Some(parsed) = SaRequest::parse(scan.request.from, &scan.request.bytes) else {
        return Some(Completed::new(&scan.request, RequestOutcome::Dropped));
    };
    match scan.query.advance(&scan.view, &parsed, SLICE_PAIRS) {
        QueryProgress::Done(reply) => {
            let outcome = send_reply(shared, &scan.view, &parsed, &reply, bytes);
            Some(Completed::new(&scan.request, outcome))
        }
        QueryProgress::More => {
            *unfinished = Some(scan);
            None
        }
    }
}

/// Sends a reply, unless requests that are refused for its reason get none.
fn send_reply(
    shared: &Shared,
    view: &View,
    request: &SaRequest<'_>,
    reply: &SaReply,
    bytes: &mut Vec<u8>,
) -> RequestOutcome {
    if let Some(refusal) = reply.refusal {
        shared
            .counters
            .refuse(view, request, refusal, shared.clock.now());
    }
    if !reply.is_sent() {
        return RequestOutcome::Dropped;
    }
    reply.encode_into(request, bytes);
    shared.send(&request.from, bytes, None);
    if reply.refusal == Some(SaRefusal::TooLarge) {
        RequestOutcome::TooLarge
    } else {
        RequestOutcome::Answered
    }
}

/// Replies to one request, in `bytes`. Returns `None` if the request was added to `parked` to wait
/// for a newer snapshot.
fn reply_to(
    shared: &Shared,
    view: Option<&View>,
    min_revision: Revision,
    request: Request,
    bytes: &mut Vec<u8>,
    parked: &mut Vec<Request>,
) -> Option<Completed> {
    bytes.clear();
    let mut completed = Completed::new(&request, RequestOutcome::Dropped);
    let Some((view, parsed)) = view.zip(SaRequest::parse(request.from, &request.bytes)) else {
        return Some(completed);
    };
    let reply = match sa::answer(view, &parsed) {
        Disposition::Reply(reply) => reply,
        Disposition::Drop(Some(refusal)) => SaReply::refused(refusal),
        Disposition::Drop(None) => return Some(completed),
        Disposition::ForwardToSm if is_registry_read(&parsed) => {
            let Some(registrations) = shared.registrations(min_revision) else {
                parked.push(request);
                return None;
            };
            let age = shared.clock.now().since(registrations.server_time);
            let now = registrations.driver_time + age;
            answer_registry_read(&registrations.snapshot, view, &parsed, now)
        }
        Disposition::ForwardToSm => {
            let lid = request.from.lid;
            let now = shared.clock.now();
            let offered = shared
                .forwarded()
                .offer(lid, RequestClass::Write, request, now);
            completed.outcome = if offered.is_ok() {
                shared.wake.notify_one();
                RequestOutcome::Forwarded
            } else {
                RequestOutcome::Overload
            };
            return Some(completed);
        }
    };
    completed.outcome = send_reply(shared, view, &parsed, &reply, bytes);
    Some(completed)
}
