//! Requests and replies on the Unix socket, and how they are sent with file descriptors.
//!
//! A client sends [`MAGIC`], then requests; each is answered by one reply before the next is sent. A frame is a length
//! (u32, little endian) and that many bytes. Works over anything with a file descriptor; owns none.
//!
//! A connection that does not begin with [`MAGIC`] is for people: see [`first_byte`].

use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

use crate::codec::{Decoder, Encoder, Malformed};
use crate::verbs::{VerbsReply, VerbsRequest};

/// First bytes of a client that speaks this protocol.
pub const MAGIC: [u8; 8] = *b"\0FSM\x01\0\0\0";

/// Version of requests, replies and the layout of the shared memory. Both sides must have the same.
pub const VERSION: u32 = 2;

/// Longest frame, bytes.
pub const MAX_FRAME: usize = 16 << 20;

/// Most file descriptors with one frame.
const MAX_FDS: usize = 4;

/// What a client asks. The first is always [`Request::Hello`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Who I am. Answered by [`Reply::Done`] or [`Reply::Refused`].
    Hello {
        /// [`VERSION`].
        version: u32,
        /// Names or GUIDs of this host's CAs; empty: the server's default.
        nodes: Vec<String>,
        /// Process id of the program.
        pid: u32,
        /// Name of the program.
        program: String,
    },
    /// All files of this host's sysfs. Answered by [`Reply::Files`].
    ListFiles,
    /// One file. The path is relative to `/sys/class`. Answered by [`Reply::File`] or [`Reply::Errno`].
    ReadFile {
        /// For example `infiniband/mlx5_0/ports/1/lid`.
        path: String,
    },
    /// Opens `umadN`: this connection is that file from now on. Answered by [`Reply::Opened`] with the descriptors of
    /// [`crate::ClientFds`], or [`Reply::Errno`].
    OpenUmad {
        /// N.
        index: u32,
    },
    /// An ioctl on the opened file. Answered by [`Reply::Ioctl`]. What was written before must be handled first.
    Ioctl {
        /// The number.
        request: u32,
        /// What the argument pointed at.
        arg: Vec<u8>,
    },
    /// Opens `issmN` and holds it as long as the connection lives. Answered, if need be late, by [`Reply::Opened`] without
    /// descriptors, or [`Reply::Errno`].
    OpenIssm {
        /// N.
        index: u32,
        /// Do not wait for another holder.
        nonblock: bool,
    },
    /// Of a program that uses verbs. Answered as it says there.
    Verbs(VerbsRequest),
}

/// What the server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Greeted.
    Done,
    /// The connection is refused, for people to read: another version, an unknown node.
    Refused(String),
    /// A Linux error number.
    Errno(i32),
    /// Paths relative to `/sys/class`, with contents.
    Files(Vec<(String, Vec<u8>)>),
    /// Contents of a file now.
    File(Vec<u8>),
    /// The device file is open.
    Opened,
    /// Error number (0: done) and the argument as it is after the call.
    Ioctl {
        /// 0 or a Linux error number.
        errno: i32,
        /// As long as the argument of the request.
        arg: Vec<u8>,
    },
    /// To [`Request::Verbs`].
    Verbs(VerbsReply),
}

impl Request {
    /// The bytes of a frame.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        match self {
            Self::Hello {
                version,
                nodes,
                pid,
                program,
            } => {
                out.number(1)
                    .number(*version)
                    .number(*pid)
                    .bytes(program.as_bytes());
                for node in nodes {
                    out.bytes(node.as_bytes());
                }
            }
            Self::ListFiles => {
                out.number(2);
            }
            Self::ReadFile { path } => {
                out.number(3).bytes(path.as_bytes());
            }
            Self::OpenUmad { index } => {
                out.number(4).number(*index);
            }
            Self::Ioctl { request, arg } => {
                out.number(5).number(*request).bytes(arg);
            }
            Self::OpenIssm { index, nonblock } => {
                out.number(6).number(*index).number(u32::from(*nonblock));
            }
            Self::Verbs(call) => call.put(out.number(7)),
        }
        out.into_bytes()
    }

    /// # Errors
    ///
    /// [`Malformed`].
    pub fn decode(frame: &[u8]) -> Result<Self, Malformed> {
        let mut input = Decoder::new(frame, "request");
        let request = match input.number()? {
            1 => {
                let (version, pid, program) = (input.number()?, input.number()?, input.text()?);
                let mut nodes = Vec::new();
                while !input.is_empty() {
                    nodes.push(input.text()?);
                }
                Self::Hello {
                    version,
                    nodes,
                    pid,
                    program,
                }
            }
            2 => Self::ListFiles,
            3 => Self::ReadFile {
                path: input.text()?,
            },
            4 => Self::OpenUmad {
                index: input.number()?,
            },
            5 => Self::Ioctl {
                request: input.number()?,
                arg: input.bytes()?.to_vec(),
            },
            6 => Self::OpenIssm {
                index: input.number()?,
                nonblock: input.number()? != 0,
            },
            7 => Self::Verbs(VerbsRequest::take(&mut input)?),
            _ => return Err(Malformed("request")),
        };
        input.end()?;
        Ok(request)
    }
}

impl Reply {
    /// The bytes of a frame.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        match self {
            Self::Done => {
                out.number(1);
            }
            Self::Refused(why) => {
                out.number(2).bytes(why.as_bytes());
            }
            Self::Errno(errno) => {
                out.number(3).number(errno.cast_unsigned());
            }
            Self::Files(files) => {
                out.number(4);
                for (path, contents) in files {
                    out.bytes(path.as_bytes()).bytes(contents);
                }
            }
            Self::File(contents) => {
                out.number(5).bytes(contents);
            }
            Self::Opened => {
                out.number(6);
            }
            Self::Ioctl { errno, arg } => {
                out.number(7).number(errno.cast_unsigned()).bytes(arg);
            }
            Self::Verbs(answer) => answer.put(out.number(8)),
        }
        out.into_bytes()
    }

    /// # Errors
    ///
    /// [`Malformed`].
    pub fn decode(frame: &[u8]) -> Result<Self, Malformed> {
        let mut input = Decoder::new(frame, "reply");
        let reply = match input.number()? {
            1 => Self::Done,
            2 => Self::Refused(input.text()?),
            3 => Self::Errno(input.number()?.cast_signed()),
            4 => {
                let mut files = Vec::new();
                while !input.is_empty() {
                    files.push((input.text()?, input.bytes()?.to_vec()));
                }
                Self::Files(files)
            }
            5 => Self::File(input.bytes()?.to_vec()),
            6 => Self::Opened,
            7 => Self::Ioctl {
                errno: input.number()?.cast_signed(),
                arg: input.bytes()?.to_vec(),
            },
            8 => Self::Verbs(VerbsReply::take(&mut input)?),
            _ => return Err(Malformed("reply")),
        };
        input.end()?;
        Ok(reply)
    }
}

/// Looks at the first byte of a new connection without taking it: 0 is a client of this protocol (then
/// [`accept_magic`]), anything else a person. `None`: the connection ended before. Blocks as the socket does.
///
/// # Errors
///
/// What the kernel says.
pub fn first_byte(socket: impl AsFd) -> std::io::Result<Option<u8>> {
    let mut byte = [0];
    let (got, _) = retry_on_intr(|| rustix::net::recv(&socket, &mut byte, RecvFlags::PEEK))?;
    Ok((got > 0).then_some(byte[0]))
}

/// Client: says which protocol follows.
///
/// # Errors
///
/// What the kernel says.
pub fn send_magic(socket: impl AsFd) -> std::io::Result<()> {
    send_all(socket.as_fd(), &MAGIC, &[])
}

/// Server: takes [`MAGIC`] off the connection.
///
/// # Errors
///
/// `InvalidData` if it is another, `UnexpectedEof`, or what the kernel says.
pub fn accept_magic(socket: impl AsFd) -> std::io::Result<()> {
    let mut magic = [0; MAGIC.len()];
    let mut fds = Vec::new();
    if !receive_all(socket.as_fd(), &mut magic, &mut fds)? || magic != MAGIC {
        return Err(Malformed("greeting").into());
    }
    Ok(())
}

/// Sends a frame, and with it copies of `fds`.
///
/// # Errors
///
/// `InvalidData` if the frame is too long, else what the kernel says.
pub fn send(socket: impl AsFd, frame: &[u8], fds: &[BorrowedFd<'_>]) -> std::io::Result<()> {
    if frame.len() > MAX_FRAME {
        return Err(Malformed("frame: too long").into());
    }
    let len = u32::try_from(frame.len()).unwrap_or(u32::MAX);
    // In one piece, so that a reader is woken once.
    let mut bytes = Vec::with_capacity(4 + frame.len());
    bytes.extend_from_slice(&len.to_le_bytes());
    bytes.extend_from_slice(frame);
    send_all(socket.as_fd(), &bytes, fds)
}

/// Receives a frame and the file descriptors that came with it. `None`: the connection ended between frames.
///
/// # Errors
///
/// `InvalidData` if the frame is too long, `UnexpectedEof` in the middle of one, else what the kernel says.
pub fn receive(socket: impl AsFd) -> std::io::Result<Option<(Vec<u8>, Vec<OwnedFd>)>> {
    let mut fds = Vec::new();
    let mut len = [0; 4];
    if !receive_all(socket.as_fd(), &mut len, &mut fds)? {
        return Ok(None);
    }
    let len = u32::from_le_bytes(len) as usize;
    if len > MAX_FRAME {
        return Err(Malformed("frame: too long").into());
    }
    let mut frame = vec![0; len];
    if len > 0 && !receive_all(socket.as_fd(), &mut frame, &mut fds)? {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(Some((frame, fds)))
}

fn send_all(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> std::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut sent = 0;
    while sent < bytes.len() {
        let mut control = SendAncillaryBuffer::new(&mut space);
        if sent == 0 && !fds.is_empty() && !control.push(SendAncillaryMessage::ScmRights(fds)) {
            return Err(Malformed("frame: too many file descriptors").into());
        }
        let slice = [IoSlice::new(&bytes[sent..])];
        match rustix::net::sendmsg(socket, &slice, &mut control, SendFlags::NOSIGNAL) {
            Ok(n) => sent += n,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Fills `bytes`. False: the connection ended before the first.
fn receive_all(
    socket: BorrowedFd<'_>,
    bytes: &mut [u8],
    fds: &mut Vec<OwnedFd>,
) -> std::io::Result<bool> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut got = 0;
    while got < bytes.len() {
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut slice = [IoSliceMut::new(&mut bytes[got..])];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let received = match rustix::net::recvmsg(socket, &mut slice, &mut control, flags) {
            Ok(received) => received,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(passed) = message {
                fds.extend(passed);
            }
        }
        if received.flags.contains(ReturnFlags::CTRUNC) || fds.len() > MAX_FDS {
            return Err(Malformed("frame: too many file descriptors").into());
        }
        match received.bytes {
            0 if got == 0 => return Ok(false),
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            n => got += n,
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn requests() -> Vec<Request> {
        let hello = |nodes: &[&str]| Request::Hello {
            version: VERSION,
            nodes: nodes.iter().map(|&node| node.to_owned()).collect(),
            pid: 7,
            program: "opensm".to_owned(),
        };
        vec![
            hello(&[]),
            hello(&["h1 \"quoted\"", "0x0002c90300000001", ""]),
            Request::ListFiles,
            Request::ReadFile {
                path: "infiniband/mlx5_0/ports/1/lid".to_owned(),
            },
            Request::OpenUmad { index: u32::MAX },
            Request::Ioctl {
                request: 0xC028_1B04,
                arg: vec![1; 40],
            },
            Request::OpenIssm {
                index: 1,
                nonblock: true,
            },
        ]
    }

    fn replies() -> Vec<Reply> {
        vec![
            Reply::Done,
            Reply::Refused("no such node".to_owned()),
            Reply::Errno(11),
            Reply::Files(vec![]),
            Reply::Files(vec![
                ("a/b".to_owned(), vec![1, 2]),
                ("c".to_owned(), vec![]),
            ]),
            Reply::File(b"0x1\n".to_vec()),
            Reply::Opened,
            Reply::Ioctl {
                errno: -1,
                arg: vec![0; 28],
            },
        ]
    }

    /// What is encoded is decoded; no cut frame is taken for another, and none panics.
    #[test]
    fn frames_round_trip_and_cut_ones_are_refused() {
        for request in requests() {
            let bytes = request.encode();
            assert_eq!(Request::decode(&bytes).as_ref(), Ok(&request));
            for cut in 0..bytes.len() {
                assert_ne!(Request::decode(&bytes[..cut]).as_ref(), Ok(&request));
            }
        }
        for reply in replies() {
            let bytes = reply.encode();
            assert_eq!(Reply::decode(&bytes).as_ref(), Ok(&reply));
            for cut in 0..bytes.len() {
                assert_ne!(Reply::decode(&bytes[..cut]).as_ref(), Ok(&reply));
            }
        }
        assert!(Request::decode(&99u32.to_le_bytes()).is_err());
        assert!(Reply::decode(&99u32.to_le_bytes()).is_err());
    }

    /// Frames arrive in order, descriptors with the frame they were sent with; the end is told apart from a cut.
    #[test]
    fn frames_travel_with_descriptors() {
        let (a, b) = UnixStream::pair().unwrap();
        send_magic(&a).unwrap();
        send(&a, b"one", &[]).unwrap();
        send(&a, b"", &[a.as_fd(), b.as_fd()]).unwrap();
        assert_eq!(first_byte(&b).unwrap(), Some(0));
        accept_magic(&b).unwrap();
        let (frame, fds) = receive(&b).unwrap().unwrap();
        assert_eq!((frame.as_slice(), fds.len()), (&b"one"[..], 0));
        let (frame, fds) = receive(&b).unwrap().unwrap();
        assert_eq!((frame.as_slice(), fds.len()), (&b""[..], 2));
        drop(fds);
        send_all(a.as_fd(), &[9, 0, 0, 0, 1], &[]).unwrap();
        drop(a);
        let error = receive(&b).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        assert!(receive(&b).unwrap().is_none());
    }

    /// A person's text and a frame that promises gigabytes are refused.
    #[test]
    fn strangers_are_refused() {
        let (a, b) = UnixStream::pair().unwrap();
        send_all(a.as_fd(), b"status\n!", &[]).unwrap();
        assert_eq!(first_byte(&b).unwrap(), Some(b's'));
        assert!(accept_magic(&b).is_err());
        send_all(a.as_fd(), &u32::MAX.to_le_bytes(), &[]).unwrap();
        assert_eq!(receive(&b).unwrap_err().kind(), ErrorKind::InvalidData);
        assert!(send(&a, &vec![0; MAX_FRAME + 1], &[]).is_err());
    }
}
