//! Requests of connection threads to the main loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel};

use ferrosm_channel::verbs::{VerbsReply, VerbsRequest};
use ferrosm_channel::{ClientFds, ServerDoorbell};
use ferrosm_sim::umad::Errno;

/// Identifies a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// Greeting of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientHello {
    /// Its channel adapters by name or GUID; empty for the default.
    pub nodes: Vec<String>,
    /// Process ID.
    pub pid: u32,
    /// Name of the program.
    pub program: String,
}

/// Channel for the reply.
pub type ReplySender<T> = SyncSender<T>;

/// Reply to a verbs request, with descriptors if something was opened.
pub type VerbsAnswer = (Option<VerbsReply>, Option<ClientFds>);

/// A request.
#[derive(Debug)]
pub enum LoopRequest {
    /// Greeting; rejected with a message if a node is unknown.
    Hello(ConnId, ClientHello, ReplySender<Result<(), String>>),
    /// Sysfs files of its host.
    Files(ConnId, ReplySender<Vec<(String, Vec<u8>)>>),
    /// Current contents of one of these files.
    ReadFile(ConnId, String, ReplySender<Option<Vec<u8>>>),
    /// Opens the umad device of a port.
    Open(ConnId, u32, ReplySender<Result<ClientFds, Errno>>),
    /// Ioctl on its device: command and argument, which is returned modified.
    Ioctl(
        ConnId,
        u32,
        Vec<u8>,
        ReplySender<(Result<(), Errno>, Vec<u8>)>,
    ),
    /// Opens the issm device of a port; `true` for non-blocking.
    OpenIssm(ConnId, u32, bool, ReplySender<Result<(), Errno>>),
    /// Verbs request.
    Verbs(
        ConnId,
        VerbsRequest,
        ReplySender<Result<VerbsAnswer, Errno>>,
    ),
    /// The connection was closed.
    Closed(ConnId),
    /// Console line, and its reply.
    Line(String, ReplySender<String>),
    /// Stops the engine.
    Stop,
}

/// Sending side, for any number of threads.
#[derive(Debug, Clone)]
pub struct RequestSender {
    requests: Sender<LoopRequest>,
    pending: Arc<AtomicUsize>,
    doorbell: Arc<ServerDoorbell>,
}

/// Receiving side.
#[derive(Debug)]
pub struct RequestReceiver {
    requests: Receiver<LoopRequest>,
    pending: Arc<AtomicUsize>,
}

/// Creates a channel whose requests wake a thread that sleeps at `doorbell`.
#[must_use]
pub fn request_channel(doorbell: Arc<ServerDoorbell>) -> (RequestSender, RequestReceiver) {
    let (sender, receiver) = channel();
    let pending = Arc::new(AtomicUsize::new(0));
    let requests = RequestSender {
        requests: sender,
        pending: Arc::clone(&pending),
        doorbell,
    };
    let inbox = RequestReceiver {
        requests: receiver,
        pending,
    };
    (requests, inbox)
}

/// The other side was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disconnected;

impl RequestSender {
    /// Sends a request.
    ///
    /// # Errors
    /// [`Disconnected`].
    pub fn send(&self, request: LoopRequest) -> Result<(), Disconnected> {
        // Count first: a receiver about to sleep sees the count, or is woken by the ring.
        self.pending.fetch_add(1, Ordering::SeqCst);
        self.requests.send(request).map_err(|_| Disconnected)?;
        self.doorbell.ring();
        Ok(())
    }
}

impl RequestReceiver {
    /// Whether a request is pending or about to be. Cheap, for polling loops.
    #[must_use]
    pub fn has_pending(&self) -> bool {
        self.pending.load(Ordering::SeqCst) != 0
    }

    /// The next request, if any.
    ///
    /// # Errors
    /// [`Disconnected`] if all senders were dropped.
    pub fn try_recv(&self) -> Result<Option<LoopRequest>, Disconnected> {
        match self.requests.try_recv() {
            Ok(request) => {
                self.pending.fetch_sub(1, Ordering::SeqCst);
                Ok(Some(request))
            }
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(Disconnected),
        }
    }
}
