//! The server of subnet administration: takes requests from QP1 and answers them from the last published view.
//!
//! One thread takes what arrives; as many as there are processors answer. So queries never wait for a sweep, nor a sweep for
//! queries. What an answer says, and whose turn it is, is decided by [`ferrosm_core::sa`]; here is only who waits for whom.
//! What the view does not know goes to the driver, who owns it.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

use ferrosm_core::sa::admission::{Admission, Class, Counts, Limits, Outcome};
use ferrosm_core::sa::{self, Reply, Request, Verdict, View};
use ferrosm_mad::ids::Lid;
use ferrosm_mad::mad::Status;
use ferrosm_mad::transport::gmp::{GmpReceived, GmpReceiver, GmpSender, Peer};
use tokio::sync::mpsc;
use tracing::{debug, error, info, warn};

use crate::driver::Clock;

/// How long a thread waits before it looks whether it should end.
const POLL: Duration = Duration::from_millis(100);

/// Requests that wait for the driver; what does not fit is refused, and repeated by who sent it.
const OWNED_MAX: usize = 1 << 16;

/// Time between two looks at which clients can be forgotten and who was told to come back.
const TIDY: Duration = Duration::from_secs(10);

/// Requests that a thread takes from the queue, or puts there, at once.
const BATCH: usize = 32;

/// Clients that are named when some were told to come back.
const NAMED: usize = 3;

/// A message and who sent it.
type Message = (Peer, Vec<u8>);

/// A running server. Ends when it is dropped.
pub struct Administration {
    shared: Arc<Shared>,
    /// What the view does not know.
    owned: mpsc::Receiver<Message>,
    /// Taken from the queue while waiting.
    waiting: Option<Message>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    sender: Box<dyn GmpSender>,
    /// What requests are answered from; none while this subnet manager is not in charge (rule 7.2).
    view: RwLock<Option<Arc<View>>>,
    /// Who waits to be answered.
    queue: Mutex<Queue>,
    /// Something waits.
    filled: Condvar,
    clock: Clock,
    stop: AtomicBool,
    counters: Counters,
    /// Threads that answer.
    workers: usize,
}

struct Queue {
    admission: Admission<Message>,
    /// Threads that wait for something to do.
    idle: usize,
    /// Threads that make a table: never all, so that who asks for one path does not wait for somebody's million.
    tabling: usize,
}

/// What became of requests, of all clients together.
#[derive(Debug, Default)]
pub struct Counters {
    /// Answered from the view.
    pub answered: AtomicU64,
    /// Left to the owner.
    pub owned: AtomicU64,
    /// Not answered: no view, not a request, or a wrong SM_Key.
    pub dropped: AtomicU64,
    /// Told to come back, because too much waits already.
    pub busy: AtomicU64,
}

impl Counters {
    fn add(&self, counts: &Counts) {
        let add = |counter: &AtomicU64, n| counter.fetch_add(n, Ordering::Relaxed);
        add(&self.answered, counts.answered);
        add(&self.owned, counts.owned);
        add(&self.dropped, counts.dropped);
        add(&self.busy, counts.busy);
    }
}

impl Administration {
    /// Starts the threads. Requests are dropped until a view is published.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start(
        sender: Box<dyn GmpSender>,
        receiver: Box<dyn GmpReceiver>,
        limits: Limits,
    ) -> std::io::Result<Self> {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let shared = Arc::new(Shared {
            sender,
            view: RwLock::default(),
            queue: Mutex::new(Queue {
                admission: Admission::new(limits),
                idle: 0,
                tabling: 0,
            }),
            filled: Condvar::new(),
            clock: Clock::start(),
            stop: AtomicBool::default(),
            counters: Counters::default(),
            workers,
        });
        let (outbox, owned) = mpsc::channel(OWNED_MAX);
        let mut server = Self {
            shared: Arc::clone(&shared),
            owned,
            waiting: None,
            threads: Vec::new(),
        };
        let start = |name: &str, work: Box<dyn FnOnce() + Send>| {
            std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(work)
        };
        for _ in 0..workers {
            let (shared, outbox) = (Arc::clone(&shared), outbox.clone());
            let work = Box::new(move || answer_all(&shared, &outbox));
            server.threads.push(start("sa-answers", work)?);
        }
        let work = Box::new(move || take_all(receiver, &shared));
        server.threads.push(start("sa-requests", work)?);
        Ok(server)
    }

    /// Answers from this view from now on; from none, nothing is answered.
    pub fn publish(&self, view: Option<Arc<View>>) {
        let before = {
            let mut place = self
                .shared
                .view
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            core::mem::replace(&mut *place, view)
        };
        // Whatever only it held is freed here, while nobody waits for the lock.
        drop(before);
    }

    /// Sends an answer or a report of the owner.
    pub fn send(&self, to: &Peer, bytes: &[u8], answer_within: Option<Duration>) {
        self.shared.send(to, bytes, answer_within);
    }

    /// A request for the owner, if there is one.
    pub fn take(&mut self) -> Option<Message> {
        self.waiting.take().or_else(|| self.owned.try_recv().ok())
    }

    /// Waits until there may be a request for the owner. May be cancelled.
    pub async fn ready(&mut self) {
        if self.waiting.is_none() {
            match self.owned.recv().await {
                Some(request) => self.waiting = Some(request),
                // The thread ended: nothing will ever come.
                None => core::future::pending().await,
            }
        }
    }

    /// What became of requests.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// What became of the requests of each client, by LID.
    #[must_use]
    pub fn clients(&self) -> BTreeMap<Lid, Counts> {
        self.shared.queue().admission.counts().collect()
    }
}

impl Drop for Administration {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.filled.notify_all();
        self.owned.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        let counters = &self.shared.counters;
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        info!(
            clients = self.clients().len(),
            answered = of(&counters.answered),
            registrations = of(&counters.owned),
            busy = of(&counters.busy),
            dropped = of(&counters.dropped),
            "subnet administration ends"
        );
    }
}

impl Shared {
    fn send(&self, to: &Peer, bytes: &[u8], answer_within: Option<Duration>) {
        // A message that is not sent is as one that was lost: whoever waits for it asks again.
        if let Err(e) = self.sender.send(to, bytes, answer_within) {
            debug!(error = %e, to = %to.lid, "a message was not sent");
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn view(&self) -> Option<Arc<View>> {
        let view = self.view.read();
        view.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Lets what arrives wait for its turn.
fn take_all(mut receiver: Box<dyn GmpReceiver>, shared: &Shared) {
    let mut tidied = shared.clock.now();
    let mut told = BTreeMap::new();
    let mut batch: Vec<Message> = Vec::with_capacity(BATCH);
    while !shared.is_stopped() {
        // The first is waited for; what else is there comes with it.
        let mut patience = POLL;
        while batch.len() < BATCH {
            match receiver.receive(patience) {
                Ok(GmpReceived::Message { from, bytes }) => batch.push((from, bytes)),
                Ok(GmpReceived::SendFailed(_)) => {}
                Ok(GmpReceived::Nothing) => break,
                Err(e) => {
                    // The driver meets the same device by its own descriptor, and ends the program.
                    error!(error = %e, "subnet administration stops");
                    return;
                }
            }
            patience = Duration::ZERO;
        }
        if !batch.is_empty() {
            admit(shared, &mut batch);
        }
        let now = shared.clock.now();
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

/// Puts requests where they wait, and tells those for whom there is no room to come back.
fn admit(shared: &Shared, batch: &mut Vec<Message>) {
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
    let (idle, waiting) = (queue.idle, queue.admission.len());
    drop(queue);
    // A wakeup costs as much as some answers: one thread for a handful, all for more.
    if idle > 0 && waiting > BATCH / 4 {
        shared.filled.notify_all();
    } else if idle > 0 {
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
fn answer_all(shared: &Shared, owner: &mpsc::Sender<Message>) {
    let mut batch: Vec<(Class, Message)> = Vec::with_capacity(BATCH);
    let mut done: Vec<(Lid, Outcome)> = Vec::with_capacity(BATCH);
    let mut bytes = Vec::new();
    let mut sent = 0;
    let mut was_table = false;
    while !shared.is_stopped() {
        let now = shared.clock.now();
        {
            let mut queue = shared.queue();
            for (lid, outcome) in done.drain(..) {
                queue.admission.count(lid, outcome);
            }
            if was_table {
                queue.tabling -= 1;
                queue.admission.sent_table(sent, now);
            }
            let mut tables = may_table(&queue, shared, now);
            if !queue.admission.has_next(tables) {
                queue.idle += 1;
                let waited = shared.filled.wait_timeout(queue, POLL);
                queue = waited.unwrap_or_else(PoisonError::into_inner).0;
                queue.idle -= 1;
                tables = may_table(&queue, shared, shared.clock.now());
            }
            while batch.len() < BATCH
                && let Some((class, message)) = queue.admission.take(tables)
            {
                batch.push((class, message));
                // One table at a time, and nobody waits behind it.
                if class == Class::Table {
                    break;
                }
            }
            was_table = matches!(batch.last(), Some((Class::Table, _)));
            queue.tabling += usize::from(was_table);
        }
        sent = 0;
        if batch.is_empty() {
            continue;
        }
        let view = shared.view();
        let mut counts = Counts::default();
        for (_, (from, message)) in batch.drain(..) {
            let outcome = answer(shared, view.as_deref(), owner, (from, message), &mut bytes);
            counts.add(outcome);
            done.push((from.lid, outcome));
            sent = bytes.len();
        }
        shared.counters.add(&counts);
        if bytes.capacity() > KEPT {
            bytes = Vec::new();
        }
    }
}

/// Room for answers that a thread keeps for the next ones.
const KEPT: usize = 1 << 16;

/// Whether a table may be made now.
fn may_table(queue: &Queue, shared: &Shared, now: ferrosm_mad::time::Instant) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_mad::ids::AttrId;
    use ferrosm_mad::mad::{MadHeader, Method, MgmtClass};
    use ferrosm_mad::transport::TransportError;
    use std::sync::mpsc::{Receiver, channel};

    struct Inbox(Receiver<Message>);

    impl GmpReceiver for Inbox {
        fn receive(&mut self, timeout: Duration) -> Result<GmpReceived, TransportError> {
            Ok(match self.0.recv_timeout(timeout) {
                Ok((from, bytes)) => GmpReceived::Message { from, bytes },
                Err(_) => GmpReceived::Nothing,
            })
        }
    }

    /// Counts what is sent.
    struct Outbox(Arc<AtomicU64>);

    impl GmpSender for Outbox {
        fn send(&self, _: &Peer, _: &[u8], _: Option<Duration>) -> Result<(), TransportError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    fn request(lid: u16) -> Message {
        let mut bytes = vec![0; 256];
        MadHeader {
            base_version: 1,
            mgmt_class: MgmtClass::SubnAdm,
            class_version: 2,
            method: Method::Get,
            attr_id: AttrId(0x35),
            ..MadHeader::default()
        }
        .encode_onto(&mut bytes);
        let from = Peer {
            lid: Lid(lid),
            ..Peer::default()
        };
        (from, bytes)
    }

    /// Without a view nobody is answered, not even told to come back; each client's requests are counted all the same.
    #[test]
    fn a_standby_is_silent_and_counts() {
        let (to_server, inbox) = channel();
        let sent = Arc::new(AtomicU64::new(0));
        let limits = Limits {
            rate: 1,
            ..Limits::default()
        };
        let outbox = Box::new(Outbox(Arc::clone(&sent)));
        let server = Administration::start(outbox, Box::new(Inbox(inbox)), limits).unwrap();
        to_server.send((request(7).0, vec![0; 40])).unwrap();
        to_server.send(request(7)).unwrap();
        for _ in 0..50 {
            to_server.send(request(9)).unwrap();
        }
        let done = || server.clients().values().map(Counts::asked).sum::<u64>();
        while done() < 52 {
            std::thread::yield_now();
        }
        let clients = server.clients();
        assert_eq!((clients.len(), clients[&Lid(7)].dropped), (2, 2));
        // A second's worth at once, and at most a few more while time went by.
        assert!(clients[&Lid(9)].busy >= 20, "{clients:?}");
        drop(server);
        assert_eq!(sent.load(Ordering::Relaxed), 0);
    }
}
