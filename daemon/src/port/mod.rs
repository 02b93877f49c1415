//! Ports of the service's loop: one interface for real and simulated ports. [`local_port`] lists
//! and chooses the ports of this host.
//!
//! Sending is direct. Receiving does not block; the driver waits in [`MadPort::ready`].
//! [`ThreadedPort`] runs a blocking receiver in a thread with a bounded queue; `SimulatedPort` has
//! the response before `send` returns.

pub mod local_port;

use core::future::Future;
use core::time::Duration;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use ferrosm_mad::mad::MadOut;
use ferrosm_umad::transport::{MadReceiver, MadSender, Received, TransportError};
use tokio::sync::mpsc;

/// Interval at which the receiving thread checks whether to stop.
const POLL: Duration = Duration::from_millis(100);

/// A port for the driver.
pub trait MadPort {
    /// Sends one MAD.
    ///
    /// # Errors
    /// The device rejects the MAD or was removed.
    fn send(&mut self, mad: &MadOut) -> Result<(), TransportError>;

    /// The next received MAD; [`Received::TimedOut`] if there is none.
    ///
    /// # Errors
    /// The device was removed.
    fn try_receive(&mut self) -> Result<Received, TransportError>;

    /// Waits until a MAD may have arrived. May be cancelled.
    fn ready(&mut self) -> impl Future<Output = ()>;

    /// Received MADs that were dropped because the queue was full.
    fn dropped(&self) -> u64;
}

/// A port with a receiving thread.
pub struct ThreadedPort {
    sender: Box<dyn MadSender>,
    inbox: mpsc::Receiver<Result<Received, TransportError>>,
    /// Taken from the inbox by [`MadPort::ready`].
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
    /// Starts the thread. `capacity` bounds the queue; if it exceeds all send windows together,
    /// only a flood of traps can fill it. MADs that do not fit are dropped and counted: the SM
    /// retries its requests, and traps are repeated.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn new(
        sender: Box<dyn MadSender>,
        receiver: Box<dyn MadReceiver>,
        capacity: usize,
    ) -> std::io::Result<Self> {
        let (outbox, inbox) = mpsc::channel(capacity);
        let shared = Arc::new(Shared::default());
        let for_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("receiver".to_owned())
            .spawn(move || {
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
        let has_ended = received.is_err();
        if matches!(received, Ok(Received::TimedOut)) {
            continue;
        }
        if has_ended {
            // Blocks until the queue has space, because the driver must get the error.
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

impl MadPort for ThreadedPort {
    fn send(&mut self, mad: &MadOut) -> Result<(), TransportError> {
        self.sender.send(mad)
    }

    fn try_receive(&mut self) -> Result<Received, TransportError> {
        if let Some(received) = self.waiting.take() {
            return received;
        }
        match self.inbox.try_recv() {
            Ok(received) => received,
            Err(mpsc::error::TryRecvError::Empty) => Ok(Received::TimedOut),
            // The thread has panicked, or has ended and its error was delivered.
            Err(mpsc::error::TryRecvError::Disconnected) => Err(TransportError {
                action: "cannot receive MAD",
                source: std::io::Error::other("the receiving thread has ended"),
            }),
        }
    }

    async fn ready(&mut self) {
        if self.waiting.is_none() {
            // Without a thread, the next receive fails.
            self.waiting = self.inbox.recv().await;
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

    struct NullSender;

    impl MadSender for NullSender {
        fn send(&mut self, _: &MadOut) -> Result<(), TransportError> {
            Ok(())
        }
    }

    /// Returns the given items, then fails.
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

    /// MADs arrive in order, followed by the error that ended the thread.
    #[test]
    fn mads_arrive_in_order_and_the_error_last() {
        runtime().block_on(async {
            let mut port = ThreadedPort::new(Box::new(NullSender), script(40), 64).unwrap();
            for t in 0..40 {
                port.ready().await;
                assert_eq!(port.try_receive().unwrap(), Received::SendFailed(Tid(t)));
            }
            port.ready().await;
            assert!(port.try_receive().is_err());
            assert_eq!(port.dropped(), 0);
        });
    }

    /// A full queue drops MADs and counts them, but not the error.
    #[test]
    fn dropped_mads_are_counted() {
        runtime().block_on(async {
            let mut port = ThreadedPort::new(Box::new(NullSender), script(100), 8).unwrap();
            let mut num_received = 0;
            loop {
                port.ready().await;
                match port.try_receive() {
                    Ok(_) => num_received += 1,
                    Err(_) => break,
                }
            }
            assert_eq!(num_received + port.dropped(), 100);
            assert!(num_received >= 8);
        });
    }

    #[test]
    fn dropping_a_port_stops_its_thread() {
        struct Idle;
        impl MadReceiver for Idle {
            fn receive(&mut self, _: Duration) -> Result<Received, TransportError> {
                std::thread::sleep(Duration::from_millis(1));
                Ok(Received::TimedOut)
            }
        }
        let port = ThreadedPort::new(Box::new(NullSender), Box::new(Idle), 8).unwrap();
        let shared = Arc::downgrade(&port.shared);
        drop(port);
        assert!(shared.upgrade().is_none(), "the thread has ended");
    }
}
