//! The server of subnet administration: takes requests from QP1 and answers them from the last published view.
//!
//! One thread takes what arrives; as many as there are processors answer. So queries never wait for a sweep, nor a sweep for
//! queries. What an answer says, and whose turn it is, is decided by [`ferrosm_core::sa`]; here is only who waits for whom. What the
//! view does not know goes to the driver, who owns it.

use core::time::Duration;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

use ferrosm_core::sa::admission::{Admission, Class, Limits};
use ferrosm_core::sa::{self, Reply, Request, Verdict, View};
use ferrosm_mad::mad::Status;
use ferrosm_mad::transport::gmp::{GmpReceived, GmpReceiver, GmpSender, Peer};
use tokio::sync::mpsc;
use tracing::{debug, error};

use crate::driver::Clock;

/// How long a thread waits before it looks whether it should end.
const POLL: Duration = Duration::from_millis(100);

/// Requests that wait for the driver; what does not fit is dropped, counted, and repeated by who sent it.
const OWNED_MAX: usize = 1 << 16;

/// Time between two looks at which clients can be forgotten.
const TIDY: Duration = Duration::from_secs(10);

/// Requests that a thread takes from the queue at once.
const BATCH: usize = 16;

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
    queue: Mutex<Admission<Message>>,
    /// Something waits.
    filled: Condvar,
    clock: Clock,
    stop: AtomicBool,
    counters: Counters,
}

/// What became of requests.
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

impl Administration {
    /// Starts the thread. Requests are dropped until a view is published.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start(
        sender: Box<dyn GmpSender>,
        receiver: Box<dyn GmpReceiver>,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            sender,
            view: RwLock::default(),
            queue: Mutex::new(Admission::new(Limits::default())),
            filled: Condvar::new(),
            clock: Clock::start(),
            stop: AtomicBool::default(),
            counters: Counters::default(),
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
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
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
        *self
            .shared
            .view
            .write()
            .unwrap_or_else(PoisonError::into_inner) = view;
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
}

impl Drop for Administration {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.filled.notify_all();
        self.owned.close();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn send(&self, to: &Peer, bytes: &[u8], answer_within: Option<Duration>) {
        // A message that is not sent is as one that was lost: whoever waits for it asks again.
        if let Err(e) = self.sender.send(to, bytes, answer_within) {
            debug!(error = %e, to = %to.lid, "a message was not sent");
        }
    }

    fn queue(&self) -> MutexGuard<'_, Admission<Message>> {
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

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Lets what arrives wait for its turn.
fn take_all(mut receiver: Box<dyn GmpReceiver>, shared: &Shared) {
    let mut tidied = shared.clock.now();
    while !shared.is_stopped() {
        let received = receiver.receive(POLL);
        let now = shared.clock.now();
        if now.since(tidied) > TIDY {
            shared.queue().tidy(now);
            tidied = now;
        }
        let (from, bytes) = match received {
            Ok(GmpReceived::Message { from, bytes }) => (from, bytes),
            Ok(GmpReceived::SendFailed(_) | GmpReceived::Nothing) => continue,
            Err(e) => {
                // The driver meets the same device by its own descriptor, and ends the program.
                error!(error = %e, "subnet administration stops");
                return;
            }
        };
        let Some(request) = Request::parse(from, &bytes) else {
            count(&shared.counters.dropped);
            continue;
        };
        let class = Class::of(request.method, request.attr);
        let offered = shared.queue().offer(from.lid, class, (from, bytes), now);
        match offered {
            Ok(()) => shared.filled.notify_one(),
            Err((from, bytes)) => refuse(shared, from, &bytes),
        }
    }
}

/// Tells a client to come back.
fn refuse(shared: &Shared, from: Peer, bytes: &[u8]) {
    count(&shared.counters.busy);
    // An answer gets no answer, and a view says whether there is anything to come back for.
    if let Some(request) = Request::parse(from, bytes).filter(|r| !r.method.is_response())
        && shared.view().is_some()
    {
        let busy = Reply::error(Status::BUSY).to_bytes(&request);
        shared.send(&from, &busy, None);
    }
}

/// Answers whatever has its turn.
fn answer_all(shared: &Shared, owner: &mpsc::Sender<Message>) {
    let mut batch = Vec::with_capacity(BATCH);
    while !shared.is_stopped() {
        {
            let mut queue = shared.queue();
            if queue.is_empty() {
                let waited = shared.filled.wait_timeout(queue, POLL);
                queue = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            batch.extend(core::iter::from_fn(|| queue.take()).take(BATCH));
        }
        for (from, bytes) in batch.drain(..) {
            answer(shared, owner, from, bytes);
        }
    }
}

fn answer(shared: &Shared, owner: &mpsc::Sender<Message>, from: Peer, bytes: Vec<u8>) {
    let counters = &shared.counters;
    let Some((view, request)) = shared.view().zip(Request::parse(from, &bytes)) else {
        count(&counters.dropped);
        return;
    };
    match sa::answer(&view, &request) {
        Verdict::Answer(reply) => {
            count(&counters.answered);
            shared.send(&from, &reply.to_bytes(&request), None);
        }
        Verdict::Owner => {
            count(&counters.owned);
            if let Err(full) = owner.try_send((from, bytes)) {
                let (from, bytes) = full.into_inner();
                refuse(shared, from, &bytes);
            }
        }
        Verdict::Drop => count(&counters.dropped),
    }
}
