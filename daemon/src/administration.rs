//! The server of subnet administration: takes requests from QP1 and answers them from the last published view.
//!
//! It has threads of its own, so that queries never wait for a sweep, nor a sweep for queries. What an answer says is decided by
//! [`ferrosm_core::sa`]; here is only who waits for whom. What the view does not know goes to the driver, who owns it.

use core::time::Duration;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;

use ferrosm_core::sa::{self, Request, Verdict, View};
use ferrosm_mad::transport::gmp::{GmpReceived, GmpReceiver, GmpSender, Peer};
use tokio::sync::mpsc;
use tracing::{debug, error};

/// How long a thread waits before it looks whether it should end.
const POLL: Duration = Duration::from_millis(100);

/// Requests that wait for the driver; what does not fit is dropped, counted, and repeated by who sent it.
const OWNED_MAX: usize = 1 << 16;

/// A running server. Ends when it is dropped.
pub struct Administration {
    shared: Arc<Shared>,
    /// What the view does not know.
    owned: mpsc::Receiver<(Peer, Vec<u8>)>,
    /// Taken from the queue while waiting.
    waiting: Option<(Peer, Vec<u8>)>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    sender: Box<dyn GmpSender>,
    /// What requests are answered from; none while this subnet manager is not in charge (rule 7.2).
    view: RwLock<Option<Arc<View>>>,
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
    /// Not answered because the owner's queue was full.
    pub overrun: AtomicU64,
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
            stop: AtomicBool::default(),
            counters: Counters::default(),
        });
        let (outbox, owned) = mpsc::channel(OWNED_MAX);
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("administration".to_owned())
            .spawn(move || serve(receiver, &outbox, &for_thread))?;
        Ok(Self {
            shared,
            owned,
            waiting: None,
            thread: Some(thread),
        })
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
    pub fn take(&mut self) -> Option<(Peer, Vec<u8>)> {
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
        self.owned.close();
        if let Some(thread) = self.thread.take() {
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
}

fn serve(
    mut receiver: Box<dyn GmpReceiver>,
    owner: &mpsc::Sender<(Peer, Vec<u8>)>,
    shared: &Shared,
) {
    let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::Relaxed);
    let counters = &shared.counters;
    while !shared.stop.load(Ordering::Relaxed) {
        let (from, bytes) = match receiver.receive(POLL) {
            Ok(GmpReceived::Message { from, bytes }) => (from, bytes),
            Ok(GmpReceived::SendFailed(_) | GmpReceived::Nothing) => continue,
            Err(e) => {
                // The driver meets the same device by its own descriptor, and ends the program.
                error!(error = %e, "subnet administration stops");
                return;
            }
        };
        let view = shared
            .view
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let Some((view, request)) = view.zip(Request::parse(from, &bytes)) else {
            count(&counters.dropped);
            continue;
        };
        match sa::answer(&view, &request) {
            Verdict::Answer(reply) => {
                count(&counters.answered);
                shared.send(&from, &reply.to_bytes(&request), None);
            }
            Verdict::Owner => {
                count(&counters.owned);
                if owner.try_send((from, bytes)).is_err() {
                    count(&counters.overrun);
                }
            }
            Verdict::Drop => {
                count(&counters.dropped);
            }
        }
    }
}
