//! The threads of connections: one accepts, one per connection reads.
//!
//! They translate frames into [`LoopRequest`]s and replies into frames. When a connection ends, the
//! main loop closes all its objects.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use ferrosm_channel::ClientFds;
use ferrosm_channel::frames::{self, ClientRequest, ServerReply, VERSION};
use ferrosm_sim::umad::Errno;
use tracing::{debug, warn};

use super::request::{ClientHello, ConnId, LoopRequest, ReplySender, RequestSender};

/// Longest console line, in bytes.
const LINE_MAX: u64 = 64 * 1024;

/// Sends the requests of a connection to the main loop.
#[derive(Clone)]
struct LoopHandle(RequestSender);

/// The main loop or the peer has closed the connection.
struct Disconnected;

impl From<io::Error> for Disconnected {
    fn from(_: io::Error) -> Self {
        Self
    }
}

impl LoopHandle {
    fn send(&self, request: LoopRequest) -> Result<(), Disconnected> {
        self.0.send(request).map_err(|_| Disconnected)
    }

    fn request<T>(
        &self,
        request: impl FnOnce(ReplySender<T>) -> LoopRequest,
    ) -> Result<T, Disconnected> {
        let (reply, result): (_, Receiver<T>) = sync_channel(1);
        self.send(request(reply))?;
        result.recv().map_err(|_| Disconnected)
    }
}

/// Accepts connections in a thread until the process exits.
///
/// # Errors
/// The thread cannot be started.
pub fn listen(listener: UnixListener, requests: RequestSender) -> io::Result<()> {
    let simulator = LoopHandle(requests);
    thread::Builder::new()
        .name("listener".to_owned())
        .spawn(move || {
            for (number, stream) in (1..).zip(listener.incoming()) {
                let conn = ConnId(number);
                let simulator = simulator.clone();
                let started = stream.and_then(|stream| {
                    thread::Builder::new()
                        .name(format!("connection {number}"))
                        .stack_size(256 * 1024)
                        .spawn(move || serve_connection(conn, stream, &simulator))
                });
                if let Err(error) = started {
                    // Out of descriptors or threads: only this connection is rejected.
                    warn!(%error, "connection rejected");
                    thread::sleep(std::time::Duration::from_millis(10));
                }
            }
        })
        .map(|_| ())
}

fn serve_connection(conn: ConnId, stream: UnixStream, simulator: &LoopHandle) {
    // An error ends the connection as a disconnect of the client does.
    let _ = match frames::first_byte(&stream) {
        Ok(Some(0)) => serve_program(conn, &stream, simulator),
        Ok(Some(_)) => serve_console(stream, simulator),
        Ok(None) | Err(_) => Ok(()),
    };
    // Fails only if the main loop has stopped.
    let _ = simulator.send(LoopRequest::Closed(conn));
}

/// Serves a program: Hello, then requests.
fn serve_program(
    conn: ConnId,
    stream: &UnixStream,
    simulator: &LoopHandle,
) -> Result<(), Disconnected> {
    frames::accept_magic(stream)?;
    let mut has_hello = false;
    while let Some((frame, _)) = frames::receive(stream)? {
        let request = match ClientRequest::decode(&frame) {
            Ok(request) => request,
            Err(error) => {
                debug!(%error, "invalid request; program disconnected");
                return reject(stream, &error.to_string());
            }
        };
        if let ClientRequest::Hello {
            version,
            nodes,
            pid,
            program,
        } = request
        {
            if version != VERSION {
                let reason = format!(
                    "version mismatch: server {VERSION}, library {version}; use programs of the same build"
                );
                return reject(stream, &reason);
            }
            let hello = ClientHello {
                nodes,
                pid,
                program,
            };
            if let Err(reason) =
                simulator.request(|reply| LoopRequest::Hello(conn, hello, reply))?
            {
                return reject(stream, &reason);
            }
            has_hello = true;
            send(stream, &ServerReply::Done)?;
        } else if has_hello {
            reply_to(conn, stream, simulator, request)?;
        } else {
            return reject(stream, "the first request must be Hello");
        }
    }
    Ok(())
}

fn reply_to(
    conn: ConnId,
    stream: &UnixStream,
    simulator: &LoopHandle,
    request: ClientRequest,
) -> Result<(), Disconnected> {
    let reply = match request {
        ClientRequest::Hello { .. } => ServerReply::Errno(Errno::EINVAL.0),
        ClientRequest::ListFiles => {
            ServerReply::Files(simulator.request(|reply| LoopRequest::Files(conn, reply))?)
        }
        ClientRequest::ReadFile { path } => {
            match simulator.request(|reply| LoopRequest::ReadFile(conn, path, reply))? {
                Some(content) => ServerReply::File(content),
                None => ServerReply::Errno(Errno::ENOENT.0),
            }
        }
        ClientRequest::OpenUmad { index } => {
            match simulator.request(|reply| LoopRequest::Open(conn, index, reply))? {
                Ok(fds) => return send_with(stream, &ServerReply::Opened, fds),
                Err(errno) => ServerReply::Errno(errno.0),
            }
        }
        ClientRequest::Ioctl { request, arg } => {
            let (result, arg) =
                simulator.request(|reply| LoopRequest::Ioctl(conn, request, arg, reply))?;
            ServerReply::Ioctl {
                errno: result.err().map_or(0, |errno| errno.0),
                arg,
            }
        }
        ClientRequest::OpenIssm { index, nonblock } => {
            match simulator.request(|reply| LoopRequest::OpenIssm(conn, index, nonblock, reply))? {
                Ok(()) => ServerReply::Opened,
                Err(errno) => ServerReply::Errno(errno.0),
            }
        }
        ClientRequest::Verbs(call) => {
            match simulator.request(|reply| LoopRequest::Verbs(conn, call, reply))? {
                Ok((Some(answer), Some(fds))) => {
                    return send_with(stream, &ServerReply::Verbs(answer), fds);
                }
                Ok((None, Some(fds))) => return send_with(stream, &ServerReply::Opened, fds),
                Ok((Some(answer), None)) => ServerReply::Verbs(answer),
                Ok((None, None)) => ServerReply::Done,
                Err(errno) => ServerReply::Errno(errno.0),
            }
        }
    };
    send(stream, &reply)
}

fn send_with(stream: &UnixStream, reply: &ServerReply, fds: ClientFds) -> Result<(), Disconnected> {
    let fds = fds.into_vec();
    let shared: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
    Ok(frames::send(stream, &reply.encode(), &shared)?)
}

fn reject(stream: &UnixStream, reason: &str) -> Result<(), Disconnected> {
    send(stream, &ServerReply::Refused(reason.to_owned()))
}

fn send(stream: &UnixStream, reply: &ServerReply) -> Result<(), Disconnected> {
    Ok(frames::send(stream, &reply.encode(), &[])?)
}

/// Serves a console: replies to each line with lines that end in `ok` or `error: ...`.
fn serve_console(stream: UnixStream, simulator: &LoopHandle) -> Result<(), Disconnected> {
    let mut out = stream.try_clone()?;
    let mut lines = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let mut limited = io::Read::take(&mut lines, LINE_MAX);
        if limited.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.last() != Some(&b'\n') && line.len() as u64 == LINE_MAX {
            writeln!(
                out,
                "error: the line is too long: the limit is {LINE_MAX} bytes"
            )?;
            return Ok(());
        }
        let line = String::from_utf8_lossy(&line).trim().to_owned();
        let reply = simulator.request(|reply| LoopRequest::Line(line, reply))?;
        out.write_all(reply.as_bytes())?;
    }
}
