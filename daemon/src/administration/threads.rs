//! The threads of the server: one takes what arrives, the others answer what has its turn.
//!
//! Waking a thread costs more than a handful of answers. So who takes requests answers a handful itself, as long as no more than
//! that waits; whole tables, and whatever else comes, is for the others.

use core::time::Duration;
use std::collections::BTreeMap;

use ferrosm_core::sa::admission::{Class, Counts, Outcome};
use ferrosm_core::sa::{self, Reply, Request, Verdict, View};
use ferrosm_mad::ids::Lid;
use ferrosm_mad::mad::Status;
use ferrosm_mad::time::Instant;
use ferrosm_mad::transport::TransportError;
use ferrosm_mad::transport::gmp::{GmpReceived, GmpReceiver, Peer};
use tokio::sync::mpsc;
use tracing::{debug, error, warn};

use super::{Message, Queue, Shared};

/// How long a thread waits before it looks whether it should end.
const POLL: Duration = Duration::from_millis(100);

/// Time between two looks at which clients can be forgotten and who was told to come back.
const TIDY: Duration = Duration::from_secs(10);

/// Requests that a thread takes from the queue, or puts there, at once.
const BATCH: usize = 32;

/// Requests that are answered by whoever took them.
const HANDFUL: usize = BATCH / 4;

/// Clients that are named when some were told to come back.
const NAMED: usize = 3;

/// Room for answers that a thread keeps for the next ones.
const KEPT: usize = 1 << 16;

/// Lets what arrives wait for its turn.
pub(super) fn take_all(
    mut receiver: Box<dyn GmpReceiver>,
    shared: &Shared,
    owner: &mpsc::Sender<Message>,
) {
    let mut turn = Turn::new(shared, owner);
    let mut tidied = shared.clock.now();
    let mut told = BTreeMap::new();
    let mut batch: Vec<Message> = Vec::with_capacity(BATCH);
    while !shared.is_stopped() {
        if take(receiver.as_mut(), &mut batch).is_err() {
            return;
        }
        let now = shared.clock.now();
        if !batch.is_empty() {
            admit(shared, &mut batch, &mut turn);
            if turn.answer() {
                turn.book(&mut shared.queue(), now);
            }
        }
        if now.since(tidied) > TIDY {
            tidied = now;
            let mut queue = shared.queue();
            queue.admission.tidy(now);
            let counts: Vec<(Lid, Counts)> = queue.admission.counts().collect();
            drop(queue);
            tell_busy(shared, &counts, &mut told);
        }
    }
}

/// Takes what is there. Where nothing is, the first that comes is taken alone: who asks one question at a time is answered before
/// anybody looks for a second one.
fn take(receiver: &mut dyn GmpReceiver, batch: &mut Vec<Message>) -> Result<(), TransportError> {
    let mut patience = Duration::ZERO;
    while batch.len() < BATCH {
        match receiver.receive(patience) {
            Ok(GmpReceived::Message { from, bytes }) => {
                batch.push((from, bytes));
                if !patience.is_zero() {
                    break;
                }
            }
            Ok(GmpReceived::SendFailed(_)) => {}
            Ok(GmpReceived::Nothing) if batch.is_empty() && patience.is_zero() => patience = POLL,
            Ok(GmpReceived::Nothing) => break,
            Err(e) => {
                // The driver meets the same device by its own descriptor, and ends the program.
                error!(error = %e, "subnet administration stops");
                return Err(e);
            }
        }
    }
    Ok(())
}

/// Puts requests where they wait, and tells those for whom there is no room to come back. A handful is taken from there at
/// once, for `turn` to answer; for more than that, and for tables, threads are woken.
fn admit(shared: &Shared, batch: &mut Vec<Message>, turn: &mut Turn<'_>) {
    let now = shared.clock.now();
    let mut refused = Vec::new();
    let mut counts = Counts::default();
    let mut queue = shared.queue();
    for (from, bytes) in batch.drain(..) {
        let class = Request::parse(from, &bytes).map(|r| Class::of(r.method, r.attr));
        let Some(class) = class else {
            counts.add(Outcome::Dropped);
            queue.admission.count(from.lid, Outcome::Dropped);
            continue;
        };
        if let Err(message) = queue.admission.offer(from.lid, class, (from, bytes), now) {
            counts.add(Outcome::Busy);
            queue.admission.count(from.lid, Outcome::Busy);
            refused.push(message);
        }
    }
    if queue.admission.len() <= HANDFUL {
        turn.take(&mut queue, HANDFUL, false);
    }
    let (idle, waiting) = (queue.idle, queue.admission.len());
    drop(queue);
    if idle > 0 && waiting > HANDFUL {
        shared.filled.notify_all();
    } else if idle > 0 && waiting > 0 {
        shared.filled.notify_one();
    }
    for (from, bytes) in refused {
        refuse(shared, from, &bytes);
    }
    shared.counters.add(&counts);
}

/// Tells a client to come back.
fn refuse(shared: &Shared, from: Peer, bytes: &[u8]) {
    // An answer gets no answer, and a view says whether there is anything to come back for.
    if let Some(request) = Request::parse(from, bytes).filter(|r| !r.method.is_response())
        && shared.view().is_some()
    {
        debug!(client = %from.lid, method = ?request.method, attribute = ?request.attr, "told to come back");
        let busy = Reply::error(Status::BUSY).to_bytes(&request);
        shared.send(&from, &busy, None);
    }
}

/// Says who was told to come back since last time.
fn tell_busy(shared: &Shared, counts: &[(Lid, Counts)], told: &mut BTreeMap<Lid, u64>) {
    let mut busy: Vec<(u64, Lid, Counts)> = counts
        .iter()
        .filter(|(_, counts)| counts.busy > 0)
        .map(|(lid, counts)| {
            let before = told.insert(*lid, counts.busy).unwrap_or(0);
            (counts.busy - before, *lid, *counts)
        })
        .filter(|(since, ..)| *since > 0)
        .collect();
    busy.sort_by_key(|(since, lid, _)| (core::cmp::Reverse(*since), *lid));
    let view = shared.view();
    for (since, lid, counts) in busy.iter().take(NAMED) {
        let at = view.as_ref().and_then(|v| Some((v, v.by_lid(*lid)?)));
        let guid = at.map_or_else(String::new, |(v, at)| v.end_port(at).guid.to_string());
        warn!(
            client = %lid, guid, busy = since, answered = counts.answered, registrations = counts.owned,
            "a host asks more than it may: it was told to come back"
        );
    }
    if busy.len() > NAMED {
        warn!(hosts = busy.len() - NAMED, "as were others");
    }
}

/// Answers whatever has its turn.
pub(super) fn answer_all(shared: &Shared, owner: &mpsc::Sender<Message>) {
    let mut turn = Turn::new(shared, owner);
    while !shared.is_stopped() {
        let now = shared.clock.now();
        {
            let mut queue = shared.queue();
            turn.book(&mut queue, now);
            let mut tables = may_table(&queue, shared, now);
            if !queue.admission.has_next(tables) {
                queue.idle += 1;
                let waited = shared.filled.wait_timeout(queue, POLL);
                queue = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
                queue.idle -= 1;
                tables = may_table(&queue, shared, shared.clock.now());
            }
            turn.take(&mut queue, BATCH, tables);
        }
        turn.answer();
    }
}

/// Requests that a thread has taken from the queue, and what became of those before.
struct Turn<'a> {
    shared: &'a Shared,
    owner: &'a mpsc::Sender<Message>,
    batch: Vec<Message>,
    /// Not yet counted for their clients.
    done: Vec<(Lid, Outcome)>,
    /// The last one was, or will be, a whole table.
    table: bool,
    /// Bytes of the last answer.
    sent: usize,
    bytes: Vec<u8>,
}

impl<'a> Turn<'a> {
    fn new(shared: &'a Shared, owner: &'a mpsc::Sender<Message>) -> Self {
        Self {
            shared,
            owner,
            batch: Vec::with_capacity(BATCH),
            done: Vec::with_capacity(BATCH),
            table: false,
            sent: 0,
            bytes: Vec::new(),
        }
    }

    /// Takes whatever has its turn. One table at a time, and nobody waits behind it.
    fn take(&mut self, queue: &mut Queue, most: usize, tables: bool) {
        while self.batch.len() < most
            && let Some((class, message)) = queue.admission.take(tables)
        {
            self.batch.push(message);
            if class == Class::Table {
                self.table = true;
                queue.tabling += 1;
                break;
            }
        }
    }

    /// Answers what was taken; whether that was anything.
    fn answer(&mut self) -> bool {
        self.sent = 0;
        if self.batch.is_empty() {
            return false;
        }
        let view = self.shared.view();
        let mut counts = Counts::default();
        for message in self.batch.drain(..) {
            let from = message.0.lid;
            let bytes = &mut self.bytes;
            let outcome = answer(self.shared, view.as_deref(), self.owner, message, bytes);
            counts.add(outcome);
            self.done.push((from, outcome));
            self.sent = self.bytes.len();
        }
        self.shared.counters.add(&counts);
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
        true
    }

    /// Counts what was answered.
    fn book(&mut self, queue: &mut Queue, now: Instant) {
        for (lid, outcome) in self.done.drain(..) {
            queue.admission.count(lid, outcome);
        }
        if core::mem::take(&mut self.table) {
            queue.tabling -= 1;
            queue.admission.sent_table(self.sent, now);
        }
    }
}

/// Whether a table may be made now.
fn may_table(queue: &Queue, shared: &Shared, now: Instant) -> bool {
    queue.tabling < shared.workers.saturating_sub(1).max(1) && queue.admission.may_send_table(now)
}

/// Answers one request; what was sent is in `bytes` then.
fn answer(
    shared: &Shared,
    view: Option<&View>,
    owner: &mpsc::Sender<Message>,
    (from, message): Message,
    bytes: &mut Vec<u8>,
) -> Outcome {
    bytes.clear();
    let Some((view, request)) = view.zip(Request::parse(from, &message)) else {
        return Outcome::Dropped;
    };
    match sa::answer(view, &request) {
        Verdict::Answer(reply) => {
            reply.put(&request, bytes);
            shared.send(&from, bytes, None);
            Outcome::Answered
        }
        Verdict::Owner => match owner.try_send((from, message)) {
            Ok(()) => Outcome::Owned,
            Err(full) => {
                let (from, message) = full.into_inner();
                refuse(shared, from, &message);
                Outcome::Busy
            }
        },
        Verdict::Drop => Outcome::Dropped,
    }
}
