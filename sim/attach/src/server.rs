//! Connections and requests to the server.

use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use ferrosm_channel::frames::{self, ClientRequest, ServerReply, VERSION};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::getpid;

use crate::config::Config;

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerError {
    /// The server replied with an error number.
    Refused(Errno),
    /// The server cannot be reached, or has another protocol version.
    Unreachable,
}

impl ServerError {
    /// Error number for a program that opens or uses a device.
    pub(crate) fn errno(self) -> Errno {
        match self {
            Self::Refused(errno) => errno,
            Self::Unreachable => Errno::NXIO,
        }
    }
}

/// A connection after the hello.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) socket: OwnedFd,
}

/// Lowest number for the library's file descriptors, to keep them out of the program's range.
const MIN_LIBRARY_FD: i32 = 700;

impl Connection {
    pub(crate) fn open(config: &Config) -> Result<Self, ServerError> {
        let socket = connect(config).map_err(|_| ServerError::Unreachable)?;
        let connection = Self { socket };
        let hello = ClientRequest::Hello {
            version: VERSION,
            nodes: config.nodes.clone(),
            pid: getpid().as_raw_nonzero().get().cast_unsigned(),
            program: program_name(),
        };
        match connection.send_request(&hello)? {
            (ServerReply::Done, _) => Ok(connection),
            (ServerReply::Refused(reason), _) => {
                print_rejection(&reason);
                Err(ServerError::Unreachable)
            }
            (other, _) => Err(unexpected(&other)),
        }
    }

    /// Sends a request and receives the reply.
    pub(crate) fn send_request(
        &self,
        request: &ClientRequest,
    ) -> Result<(ServerReply, Vec<OwnedFd>), ServerError> {
        let sent = frames::send(&self.socket, &request.encode(), &[]);
        sent.map_err(|_| ServerError::Unreachable)?;
        let (frame, fds) = frames::receive(&self.socket)
            .ok()
            .flatten()
            .ok_or(ServerError::Unreachable)?;
        let reply = ServerReply::decode(&frame).map_err(|_| ServerError::Unreachable)?;
        Ok((reply, fds))
    }
}

/// The error for an unexpected reply.
pub(crate) fn unexpected(reply: &ServerReply) -> ServerError {
    match reply {
        ServerReply::Errno(errno) => ServerError::Refused(Errno::from_raw_os_error(*errno)),
        ServerReply::Done
        | ServerReply::Refused(_)
        | ServerReply::Files(_)
        | ServerReply::File(_)
        | ServerReply::Opened
        | ServerReply::Ioctl { .. }
        | ServerReply::Verbs(_) => ServerError::Unreachable,
    }
}

/// Reads a sysfs file. A process uses one connection for all files.
pub(crate) fn read_file(config: &Config, path: &str) -> Result<Vec<u8>, ServerError> {
    // A forked child must not share its parent's connection, or replies would be mixed up.
    static SHARED: Mutex<Option<(i32, Connection)>> = Mutex::new(None);
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let process = getpid().as_raw_nonzero().get();
    let request = ClientRequest::ReadFile {
        path: path.to_owned(),
    };
    // The connection may have ended with an earlier server; retry once with a new one.
    for _ in 0..2 {
        let is_new = !matches!(&*shared, Some((owner, _)) if *owner == process);
        if is_new {
            *shared = Some((process, Connection::open(config)?));
        }
        let Some((_, connection)) = &*shared else {
            break;
        };
        match connection.send_request(&request) {
            Ok((ServerReply::File(contents), _)) => return Ok(contents),
            Ok((other, _)) => return Err(unexpected(&other)),
            Err(failure) => {
                *shared = None;
                if is_new {
                    return Err(failure);
                }
            }
        }
    }
    Err(ServerError::Unreachable)
}

fn connect(config: &Config) -> std::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let low = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let socket = rustix::io::fcntl_dupfd_cloexec(&low, MIN_LIBRARY_FD).unwrap_or(low);
    let address = SocketAddrUnix::new(config.socket.as_os_str())?;
    rustix::net::connect(&socket, &address)?;
    frames::send_magic(&socket)?;
    Ok(socket)
}

fn program_name() -> String {
    rustix::thread::name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Prints a rejection, because the program could only report a missing device.
fn print_rejection(reason: &str) {
    let text = format!("ferrosm attach: {reason}\n");
    // Without stderr, the message is lost.
    let _ = rustix::io::write(rustix::stdio::stderr(), text.as_bytes());
}
