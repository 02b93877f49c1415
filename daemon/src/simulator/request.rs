//! What the threads that listen ask of the thread that owns the fabric.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel};

use ferrosm_channel::verbs::{VerbsReply, VerbsRequest};
use ferrosm_channel::{ClientFds, Hub};
use ferrosm_sim::umad::Errno;

/// A connection, for as long as it lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// How a program introduces itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// Its channel adapters by name or GUID; none for the server's choice.
    pub nodes: Vec<String>,
    /// Its process.
    pub pid: u32,
    /// What it is called.
    pub program: String,
}

/// Where an answer goes.
pub type ReplySender<T> = SyncSender<T>;

/// What a program gets for a request about verbs; descriptors if something was opened.
pub type VerbsAnswer = (Option<VerbsReply>, Option<ClientFds>);

/// A request.
#[derive(Debug)]
pub enum EngineRequest {
    /// A program is there; refused with a sentence if it names a node that is not.
    Hello(ConnId, Hello, ReplySender<Result<(), String>>),
    /// The files that its host has.
    Files(ConnId, ReplySender<Vec<(String, Vec<u8>)>>),
    /// One of them as it is now, if it is there.
    ReadFile(ConnId, String, ReplySender<Option<Vec<u8>>>),
    /// It opens the device of a port.
    Open(ConnId, u32, ReplySender<Result<ClientFds, Errno>>),
    /// A call on its device: request and argument; the argument comes back changed.
    Ioctl(
        ConnId,
        u32,
        Vec<u8>,
        ReplySender<(Result<(), Errno>, Vec<u8>)>,
    ),
    /// It wants to be the subnet manager of a port; with `true` at once or not at all.
    OpenIssm(ConnId, u32, bool, ReplySender<Result<(), Errno>>),
    /// It asks something about verbs: an answer (or just done), with descriptors if something was opened.
    Verbs(
        ConnId,
        VerbsRequest,
        ReplySender<Result<VerbsAnswer, Errno>>,
    ),
    /// The connection ended.
    Closed(ConnId),
    /// A line of text; what to say to it.
    Line(String, ReplySender<String>),
    /// The server ends.
    Stop,
}

/// The side that asks; for any number of threads.
#[derive(Debug, Clone)]
pub struct RequestSender {
    orders: Sender<EngineRequest>,
    waiting: Arc<AtomicUsize>,
    hub: Arc<Hub>,
}

/// The side that obeys.
#[derive(Debug)]
pub struct RequestReceiver {
    orders: Receiver<EngineRequest>,
    waiting: Arc<AtomicUsize>,
}

/// Both sides; whoever sleeps in `hub` is woken by an order.
#[must_use]
pub fn request_channel(hub: Arc<Hub>) -> (RequestSender, RequestReceiver) {
    let (sender, receiver) = channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    let requests = RequestSender {
        orders: sender,
        waiting: Arc::clone(&waiting),
        hub,
    };
    let inbox = RequestReceiver {
        orders: receiver,
        waiting,
    };
    (requests, inbox)
}

/// Nobody obeys any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone;

impl RequestSender {
    /// Leaves an order.
    ///
    /// # Errors
    /// [`Gone`].
    pub fn send(&self, order: EngineRequest) -> Result<(), Gone> {
        // Counted first: who is about to sleep sees the count, or is rung.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.orders.send(order).map_err(|_| Gone)?;
        self.hub.ring();
        Ok(())
    }
}

impl RequestReceiver {
    /// Whether an order waits or is about to. Cheap: for loops that wait.
    #[must_use]
    pub fn has_pending(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) != 0
    }

    /// The next order; `None` if there is none now.
    ///
    /// # Errors
    /// [`Gone`] if nobody can leave one any more.
    pub fn take(&self) -> Result<Option<EngineRequest>, Gone> {
        match self.orders.try_recv() {
            Ok(order) => {
                self.waiting.fetch_sub(1, Ordering::SeqCst);
                Ok(Some(order))
            }
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(Gone),
        }
    }
}
