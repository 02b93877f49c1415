//! The threads that listen: one accepts, one per connection reads.
//!
//! They own their sockets, turn frames into [`EngineRequest`]s and answers into frames, and know nothing of the
//! fabric. A connection that ends, however it ends, is told to the engine, which closes what it held.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use ferrosm_channel::ClientFds;
use ferrosm_channel::frames::{self, Reply, Request, VERSION};
use ferrosm_sim::umad::Errno;
use tracing::{debug, warn};

use super::request::{ConnId, EngineRequest, Hello, ReplySender, RequestSender};

/// Longest line of a person.
const LONGEST_LINE: u64 = 64 * 1024;

/// How a connection reaches the engine.
#[derive(Clone)]
struct Engine(RequestSender);

/// The engine is gone, or the peer is.
struct Gone;

impl From<io::Error> for Gone {
    fn from(_: io::Error) -> Self {
        Self
    }
}

impl Engine {
    fn tell(&self, order: EngineRequest) -> Result<(), Gone> {
        self.0.send(order).map_err(|_| Gone)
    }

    fn ask<T>(&self, order: impl FnOnce(ReplySender<T>) -> EngineRequest) -> Result<T, Gone> {
        let (reply, answer): (_, Receiver<T>) = sync_channel(1);
        self.tell(order(reply))?;
        answer.recv().map_err(|_| Gone)
    }
}

/// Accepts connections on a thread of its own, for as long as the process lives.
///
/// # Errors
/// If the thread cannot be started.
pub fn listen(listener: UnixListener, requests: RequestSender) -> io::Result<()> {
    let engine = Engine(requests);
    thread::Builder::new()
        .name("listener".to_owned())
        .spawn(move || {
            for (number, stream) in (1..).zip(listener.incoming()) {
                let conn = ConnId(number);
                let engine = engine.clone();
                let started = stream.and_then(|stream| {
                    thread::Builder::new()
                        .name(format!("connection {number}"))
                        .stack_size(256 * 1024)
                        .spawn(move || converse(conn, stream, &engine))
                });
                if let Err(error) = started {
                    // Out of descriptors or threads: this program is turned away, the others go on.
                    warn!(%error, "connection rejected");
                    thread::sleep(std::time::Duration::from_millis(10));
                }
            }
        })
        .map(|_| ())
}

fn converse(conn: ConnId, stream: UnixStream, engine: &Engine) {
    // A connection that breaks off is closed like one that ends.
    let _ = match frames::first_byte(&stream) {
        Ok(Some(0)) => program(conn, &stream, engine),
        Ok(Some(_)) => person(stream, engine),
        Ok(None) | Err(_) => Ok(()),
    };
    // If the engine is gone there is nothing left to close.
    let _ = engine.tell(EngineRequest::Closed(conn));
}

/// A program's connection: greeting, then requests.
fn program(conn: ConnId, stream: &UnixStream, engine: &Engine) -> Result<(), Gone> {
    frames::accept_magic(stream)?;
    let mut greeted = false;
    while let Some((frame, _)) = frames::receive(stream)? {
        let request = match Request::decode(&frame) {
            Ok(request) => request,
            Err(error) => {
                debug!(%error, "invalid request; program disconnected");
                return refuse(stream, &error.to_string());
            }
        };
        if let Request::Hello {
            version,
            nodes,
            pid,
            program,
        } = request
        {
            if version != VERSION {
                let why = format!(
                    "this server speaks version {VERSION}, the library version {version}: they are of different builds"
                );
                return refuse(stream, &why);
            }
            let hello = Hello {
                nodes,
                pid,
                program,
            };
            if let Err(why) = engine.ask(|to| EngineRequest::Hello(conn, hello, to))? {
                return refuse(stream, &why);
            }
            greeted = true;
            send(stream, &Reply::Done)?;
        } else if greeted {
            answer(conn, stream, engine, request)?;
        } else {
            return refuse(stream, "a program greets first");
        }
    }
    Ok(())
}

fn answer(
    conn: ConnId,
    stream: &UnixStream,
    engine: &Engine,
    request: Request,
) -> Result<(), Gone> {
    let reply = match request {
        Request::Hello { .. } => Reply::Errno(Errno::EINVAL.0),
        Request::ListFiles => Reply::Files(engine.ask(|to| EngineRequest::Files(conn, to))?),
        Request::ReadFile { path } => {
            match engine.ask(|to| EngineRequest::ReadFile(conn, path, to))? {
                Some(content) => Reply::File(content),
                None => Reply::Errno(Errno::ENOENT.0),
            }
        }
        Request::OpenUmad { index } => {
            match engine.ask(|to| EngineRequest::Open(conn, index, to))? {
                Ok(fds) => return send_with(stream, &Reply::Opened, fds),
                Err(errno) => Reply::Errno(errno.0),
            }
        }
        Request::Ioctl { request, arg } => {
            let (result, arg) = engine.ask(|to| EngineRequest::Ioctl(conn, request, arg, to))?;
            Reply::Ioctl {
                errno: result.err().map_or(0, |errno| errno.0),
                arg,
            }
        }
        Request::OpenIssm { index, nonblock } => {
            match engine.ask(|to| EngineRequest::OpenIssm(conn, index, nonblock, to))? {
                Ok(()) => Reply::Opened,
                Err(errno) => Reply::Errno(errno.0),
            }
        }
        Request::Verbs(call) => match engine.ask(|to| EngineRequest::Verbs(conn, call, to))? {
            Ok((Some(answer), Some(fds))) => {
                return send_with(stream, &Reply::Verbs(answer), fds);
            }
            Ok((None, Some(fds))) => return send_with(stream, &Reply::Opened, fds),
            Ok((Some(answer), None)) => Reply::Verbs(answer),
            Ok((None, None)) => Reply::Done,
            Err(errno) => Reply::Errno(errno.0),
        },
    };
    send(stream, &reply)
}

fn send_with(stream: &UnixStream, reply: &Reply, fds: ClientFds) -> Result<(), Gone> {
    let fds = fds.into_vec();
    let shared: Vec<_> = fds.iter().map(AsFd::as_fd).collect();
    Ok(frames::send(stream, &reply.encode(), &shared)?)
}

fn refuse(stream: &UnixStream, why: &str) -> Result<(), Gone> {
    send(stream, &Reply::Refused(why.to_owned()))
}

fn send(stream: &UnixStream, reply: &Reply) -> Result<(), Gone> {
    Ok(frames::send(stream, &reply.encode(), &[])?)
}

/// A person's connection: a line in, lines out, the last of which is `ok` or `error: ...`.
fn person(stream: UnixStream, engine: &Engine) -> Result<(), Gone> {
    let mut out = stream.try_clone()?;
    let mut lines = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        let mut limited = io::Read::take(&mut lines, LONGEST_LINE);
        if limited.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.last() != Some(&b'\n') && line.len() as u64 == LONGEST_LINE {
            out.write_all(b"error: the line is too long\n")?;
            return Ok(());
        }
        let line = String::from_utf8_lossy(&line).trim().to_owned();
        let answer = engine.ask(|to| EngineRequest::Line(line, to))?;
        out.write_all(answer.as_bytes())?;
    }
}
