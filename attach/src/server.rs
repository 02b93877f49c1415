//! Talking to the server: connections and requests. Knows no file descriptor table and no C.

use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use ferrosm_channel::frames::{self, Reply, Request, VERSION};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::getpid;

use crate::config::Config;

/// What an answer may be instead of the hoped for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The server's error number.
    Refused(Errno),
    /// It is not there, or speaks another language.
    Unreachable,
}

impl Failure {
    /// For a program that opens or uses a device.
    pub(crate) fn errno(self) -> Errno {
        match self {
            Self::Refused(errno) => errno,
            Self::Unreachable => Errno::NXIO,
        }
    }
}

/// A connection that was greeted.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) socket: OwnedFd,
}

/// Low numbers belong to the program, which may count on them.
const OUT_OF_THE_WAY: i32 = 700;

impl Connection {
    pub(crate) fn open(config: &Config) -> Result<Self, Failure> {
        let socket = connect(config).map_err(|_| Failure::Unreachable)?;
        let connection = Self { socket };
        let hello = Request::Hello {
            version: VERSION,
            nodes: config.nodes.clone(),
            pid: getpid().as_raw_nonzero().get().cast_unsigned(),
            program: program_name(),
        };
        match connection.ask(&hello)? {
            (Reply::Done, _) => Ok(connection),
            (Reply::Refused(why), _) => {
                tell(&why);
                Err(Failure::Unreachable)
            }
            (other, _) => Err(unexpected(&other)),
        }
    }

    /// One request, one answer.
    pub(crate) fn ask(&self, request: &Request) -> Result<(Reply, Vec<OwnedFd>), Failure> {
        let asked = frames::send(&self.socket, &request.encode(), &[]);
        asked.map_err(|_| Failure::Unreachable)?;
        let (frame, fds) = frames::receive(&self.socket)
            .ok()
            .flatten()
            .ok_or(Failure::Unreachable)?;
        let reply = Reply::decode(&frame).map_err(|_| Failure::Unreachable)?;
        Ok((reply, fds))
    }
}

/// An answer that says no, or makes no sense.
pub(crate) fn unexpected(reply: &Reply) -> Failure {
    match reply {
        Reply::Errno(errno) => Failure::Refused(Errno::from_raw_os_error(*errno)),
        Reply::Done
        | Reply::Refused(_)
        | Reply::Files(_)
        | Reply::File(_)
        | Reply::Opened
        | Reply::Ioctl { .. }
        | Reply::Verbs(_) => Failure::Unreachable,
    }
}

/// The contents of a sysfs file now. Uses one connection for all files of a process.
pub(crate) fn read_file(config: &Config, path: &str) -> Result<Vec<u8>, Failure> {
    // A forked child must not share its parent's connection: answers would go astray.
    static KEPT: Mutex<Option<(i32, Connection)>> = Mutex::new(None);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let process = getpid().as_raw_nonzero().get();
    let request = Request::ReadFile {
        path: path.to_owned(),
    };
    // A kept connection may have died with an earlier server: then once more with a new one.
    for _ in 0..2 {
        let fresh = !matches!(&*kept, Some((owner, _)) if *owner == process);
        if fresh {
            *kept = Some((process, Connection::open(config)?));
        }
        let Some((_, connection)) = &*kept else {
            break;
        };
        match connection.ask(&request) {
            Ok((Reply::File(contents), _)) => return Ok(contents),
            Ok((other, _)) => return Err(unexpected(&other)),
            Err(failure) => {
                *kept = None;
                if fresh {
                    return Err(failure);
                }
            }
        }
    }
    Err(Failure::Unreachable)
}

fn connect(config: &Config) -> std::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let low = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let socket = rustix::io::fcntl_dupfd_cloexec(&low, OUT_OF_THE_WAY).unwrap_or(low);
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

/// A refusal is for people, and the program could only say that there is no device.
fn tell(why: &str) {
    let text = format!("ferrosm attach: {why}\n");
    // Nothing can be done if there is no standard error.
    let _ = rustix::io::write(rustix::stdio::stderr(), text.as_bytes());
}
