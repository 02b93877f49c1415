//! What the threads that listen ask of the thread that owns the fabric.

use std::sync::mpsc::SyncSender;

use ferrosm_channel::ClientFds;
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
pub type To<T> = SyncSender<T>;

/// A request.
#[derive(Debug)]
pub enum Order {
    /// A program is there; refused with a sentence if it names a node that is not.
    Hello(ConnId, Hello, To<Result<(), String>>),
    /// The files that its host has.
    Files(ConnId, To<Vec<(String, Vec<u8>)>>),
    /// One of them as it is now, if it is there.
    ReadFile(ConnId, String, To<Option<Vec<u8>>>),
    /// It opens the device of a port.
    Open(ConnId, u32, To<Result<ClientFds, Errno>>),
    /// A call on its device: request and argument; the argument comes back changed.
    Ioctl(ConnId, u32, Vec<u8>, To<(Result<(), Errno>, Vec<u8>)>),
    /// It wants to be the subnet manager of a port; with `true` at once or not at all.
    OpenIssm(ConnId, u32, bool, To<Result<(), Errno>>),
    /// The connection ended.
    Closed(ConnId),
    /// A line of text; what to say to it.
    Line(String, To<String>),
    /// The server ends.
    Stop,
}
