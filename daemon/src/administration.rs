//! The server of subnet administration: takes requests from QP1 and answers them from the last published view.
//!
//! It has threads of its own, so that queries never wait for a sweep, nor a sweep for queries. What an answer says is decided by
//! [`ferrosm_core::sa`]; here is only who waits for whom.

use core::time::Duration;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::JoinHandle;

use ferrosm_core::sa::{self, Request, Verdict, View};
use ferrosm_mad::transport::gmp::{GmpReceived, GmpReceiver, GmpSender};
use tracing::{debug, error};

/// How long a thread waits before it looks whether it should end.
const POLL: Duration = Duration::from_millis(100);

/// A running server. Ends when it is dropped.
#[derive(Debug)]
pub struct Administration {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// What requests are answered from; none while this subnet manager is not in charge (rule 7.2).
    view: RwLock<Option<Arc<View>>>,
    stop: AtomicBool,
    answered: AtomicU64,
    dropped: AtomicU64,
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
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("administration".to_owned())
            .spawn(move || serve(&*sender, receiver, &for_thread))?;
        Ok(Self {
            shared,
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
}

impl Drop for Administration {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(sender: &dyn GmpSender, mut receiver: Box<dyn GmpReceiver>, shared: &Shared) {
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
        let request = Request::parse(from, &bytes);
        let Some((view, request)) = view.zip(request) else {
            shared.dropped.fetch_add(1, Ordering::Relaxed);
            continue;
        };
        match sa::answer(&view, &request) {
            Verdict::Answer(reply) => {
                shared.answered.fetch_add(1, Ordering::Relaxed);
                if let Err(e) = sender.send(&from, &reply.to_bytes(&request), None) {
                    debug!(error = %e, to = %from.lid, "an answer was not sent");
                }
            }
            Verdict::Owner | Verdict::Drop => {
                shared.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}
