//! What the driver sends and receives by: one interface over real and simulated ports.
//!
//! Sending is direct. Receiving never waits; [`Port::ready`] is where the driver waits. [`ThreadedPort`] puts a thread
//! behind a receiver that blocks, with a bounded queue between; `SimulatedPort` answers before `send` returns.

#[cfg(feature = "simulator")]
mod simulated;

use core::future::Future;
use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use ferrosm_mad::mad::MadOut;
use ferrosm_mad::transport::{MadReceiver, MadSender, Received, TransportError};
use tokio::sync::mpsc;

use crate::threads;
#[cfg(feature = "simulator")]
pub use simulated::SimulatedPort;

/// How long the receiving thread waits before it looks whether it should end.
const POLL: Duration = Duration::from_millis(100);

/// A port that the driver owns.
pub trait Port {
    /// Sends one MAD.
    ///
    /// # Errors
    /// If the device refuses it or is gone.
    fn send(&mut self, mad: &MadOut) -> Result<(), TransportError>;

    /// What has arrived; `Nothing` if nothing has.
    ///
    /// # Errors
    /// If the device is gone.
    fn try_receive(&mut self) -> Result<Received, TransportError>;

    /// Waits until something may have arrived. May be cancelled.
    fn ready(&mut self) -> impl Future<Output = ()>;

    /// MADs that arrived and were dropped because the queue was full.
    fn dropped(&self) -> u64;
}

/// A port whose receiver has a thread of its own.
pub struct ThreadedPort {
    sender: Box<dyn MadSender>,
    inbox: mpsc::Receiver<Result<Received, TransportError>>,
    /// Taken from the inbox while waiting.
    waiting: Option<Result<Received, TransportError>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    dropped: AtomicU64,
}

impl ThreadedPort {
    /// Starts the thread. `capacity` bounds the queue: more than all windows together, so that only a flood of traps
    /// can fill it; what does not fit is dropped and counted, and repeated by who sent it.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn new(
        sender: Box<dyn MadSender>,
        receiver: Box<dyn MadReceiver>,
        capacity: usize,
    ) -> std::io::Result<Self> {
        let (outbox, inbox) = mpsc::channel(capacity);
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        let thread = threads::start("receiver", move || {
            receive_all(receiver, &outbox, &for_thread);
        })?;
        Ok(Self {
            sender,
            inbox,
            waiting: None,
            shared,
            thread: Some(thread),
        })
    }
}

fn receive_all(
    mut receiver: Box<dyn MadReceiver>,
    outbox: &mpsc::Sender<Result<Received, TransportError>>,
    shared: &Shared,
) {
    while !shared.stop.load(Ordering::Relaxed) {
        let received = receiver.receive(POLL);
        let end = received.is_err();
        if matches!(received, Ok(Received::TimedOut)) {
            continue;
        }
        if end {
            // The last word: it waits for room, because the driver must hear it.
            let _ = outbox.blocking_send(received);
            return;
        }
        match outbox.try_send(received) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(_)) => {
                shared.dropped.fetch_add(1, Ordering::Relaxed);
            }
            Err(mpsc::error::TrySendError::Closed(_)) => return,
        }
    }
}

impl Port for ThreadedPort {
    fn send(&mut self, mad: &MadOut) -> Result<(), TransportError> {
        self.sender.send(mad)
    }

    fn try_receive(&mut self) -> Result<Received, TransportError> {
        if let Some(received) = self.waiting.take() {
            return received;
        }
        self.inbox.try_recv().unwrap_or(Ok(Received::TimedOut))
    }

    async fn ready(&mut self) {
        if self.waiting.is_none() {
            match self.inbox.recv().await {
                Some(received) => self.waiting = Some(received),
                // The thread ended, and its last word was heard: nothing will ever come.
                None => core::future::pending().await,
            }
        }
    }

    fn dropped(&self) -> u64 {
        self.shared.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for ThreadedPort {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.inbox.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::io;

    use ferrosm_mad::ids::Tid;

    struct Nowhere;

    impl MadSender for Nowhere {
        fn send(&mut self, _: &MadOut) -> Result<(), TransportError> {
            Ok(())
        }
    }

    /// Says what it was given, then fails.
    struct Script(VecDeque<Received>);

    impl MadReceiver for Script {
        fn receive(&mut self, _: Duration) -> Result<Received, TransportError> {
            self.0.pop_front().ok_or_else(|| TransportError {
                action: "receive",
                source: io::Error::from(io::ErrorKind::NotConnected),
            })
        }
    }

    fn script(n: u64) -> Box<Script> {
        Box::new(Script(
            (0..n).map(|t| Received::SendFailed(Tid(t))).collect(),
        ))
    }

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    }

    /// What the thread received comes out in order, then the reason why it ended.
    #[test]
    fn everything_arrives_in_order_and_the_error_last() {
        runtime().block_on(async {
            let mut port = ThreadedPort::new(Box::new(Nowhere), script(40), 64).unwrap();
            for t in 0..40 {
                port.ready().await;
                assert_eq!(port.try_receive().unwrap(), Received::SendFailed(Tid(t)));
            }
            port.ready().await;
            assert!(port.try_receive().is_err());
            assert_eq!(port.dropped(), 0);
        });
    }

    /// A full queue drops and counts, and still tells the error.
    #[test]
    fn what_does_not_fit_is_counted() {
        runtime().block_on(async {
            let mut port = ThreadedPort::new(Box::new(Nowhere), script(100), 8).unwrap();
            let mut got = 0;
            loop {
                port.ready().await;
                match port.try_receive() {
                    Ok(_) => got += 1,
                    Err(_) => break,
                }
            }
            assert_eq!(got + port.dropped(), 100);
            assert!(got >= 8);
        });
    }

    #[test]
    fn dropping_a_port_ends_its_thread() {
        struct Quiet;
        impl MadReceiver for Quiet {
            fn receive(&mut self, _: Duration) -> Result<Received, TransportError> {
                std::thread::sleep(Duration::from_millis(1));
                Ok(Received::TimedOut)
            }
        }
        let port = ThreadedPort::new(Box::new(Nowhere), Box::new(Quiet), 8).unwrap();
        let shared = Arc::downgrade(&port.shared);
        drop(port);
        assert!(shared.upgrade().is_none(), "the thread's share is gone");
    }
}
