//! Requests and replies on the Unix socket, and their transport with file descriptors.
//!
//! A client sends [`MAGIC`], then requests; the server replies to each before the client sends the
//! next. A frame is a length (u32, little endian) and that many bytes.
//!
//! A connection that does not start with [`MAGIC`] is an interactive one: see [`first_byte`].

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

/// First bytes sent by a client of this protocol.
pub const MAGIC: [u8; 8] = *b"\0FSM\x01\0\0\0";

/// Version of the requests, replies and shared memory layout. Both sides must have the same.
pub const VERSION: u32 = 2;

/// Maximum length of a frame.
pub const MAX_FRAME: usize = 16 << 20;

/// Maximum number of file descriptors per frame.
const MAX_FDS: usize = 4;

/// A client's request. The first one is always [`ClientRequest::Hello`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientRequest {
    /// Identifies the client. Reply: [`ServerReply::Done`] or [`ServerReply::Refused`].
    Hello {
        /// [`VERSION`].
        version: u32,
        /// Names or GUIDs of the host's CAs; if empty, the server's default.
        nodes: Vec<String>,
        /// Process ID of the program.
        pid: u32,
        /// Name of the program.
        program: String,
    },
    /// Lists all sysfs files of the host. Reply: [`ServerReply::Files`].
    ListFiles,
    /// Reads a file, with a path relative to `/sys/class`. Reply: [`ServerReply::File`] or
    /// [`ServerReply::Errno`].
    ReadFile {
        /// For example `infiniband/mlx5_0/ports/1/lid`.
        path: String,
    },
    /// Opens `umadN`, which the connection then represents. Reply: [`ServerReply::Opened`] with the
    /// descriptors of [`crate::ClientFds`], or [`ServerReply::Errno`].
    OpenUmad {
        /// Device number.
        index: u32,
    },
    /// An ioctl on the opened file, executed after all earlier writes. Reply:
    /// [`ServerReply::Ioctl`].
    Ioctl {
        /// Request number.
        request: u32,
        /// Argument structure.
        arg: Vec<u8>,
    },
    /// Opens `issmN` until the connection ends. Reply, possibly delayed: [`ServerReply::Opened`]
    /// without descriptors, or [`ServerReply::Errno`].
    OpenIssm {
        /// Device number.
        index: u32,
        /// Whether to fail if another program has it open.
        nonblock: bool,
    },
    /// A verbs request, with the replies described there.
    Verbs(VerbsRequest),
}

/// A reply of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerReply {
    /// Success.
    Done,
    /// The connection is rejected for a reason, such as another version or an unknown node.
    Refused(String),
    /// A Linux error number.
    Errno(i32),
    /// Paths relative to `/sys/class`, with contents.
    Files(Vec<(String, Vec<u8>)>),
    /// Current contents of a file.
    File(Vec<u8>),
    /// The device file was opened.
    Opened,
    /// Result of an ioctl, with the updated argument.
    Ioctl {
        /// 0 or a Linux error number.
        errno: i32,
        /// Same length as in the request.
        arg: Vec<u8>,
    },
    /// Reply to [`ClientRequest::Verbs`].
    Verbs(VerbsReply),
}

impl ClientRequest {
    /// Encodes a frame.
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
            Self::Verbs(call) => call.encode(out.number(7)),
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
                let version = input.number()?;
                let pid = input.number()?;
                let program = input.text()?;
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
            7 => Self::Verbs(VerbsRequest::decode(&mut input)?),
            _ => return Err(Malformed("request")),
        };
        input.expect_end()?;
        Ok(request)
    }
}

impl ServerReply {
    /// Encodes a frame.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        match self {
            Self::Done => {
                out.number(1);
            }
            Self::Refused(reason) => {
                out.number(2).bytes(reason.as_bytes());
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
            Self::Verbs(reply) => reply.encode(out.number(8)),
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
            8 => Self::Verbs(VerbsReply::decode(&mut input)?),
            _ => return Err(Malformed("reply")),
        };
        input.expect_end()?;
        Ok(reply)
    }
}

/// Returns the first byte of a new connection without consuming it: 0 from a client of this
/// protocol (continue with [`accept_magic`]), anything else from an interactive one; `None` if the
/// connection ended. Blocks as the socket does.
///
/// # Errors
///
/// Errors of the system call.
pub fn first_byte(socket: impl AsFd) -> std::io::Result<Option<u8>> {
    let mut byte = [0];
    let (count, _) = retry_on_intr(|| rustix::net::recv(&socket, &mut byte, RecvFlags::PEEK))?;
    Ok((count > 0).then_some(byte[0]))
}

/// Client: sends [`MAGIC`].
///
/// # Errors
///
/// Errors of the system call.
pub fn send_magic(socket: impl AsFd) -> std::io::Result<()> {
    send_all(socket.as_fd(), &MAGIC, &[])
}

/// Server: receives [`MAGIC`].
///
/// # Errors
///
/// `InvalidData` for other bytes, `UnexpectedEof`, or errors of the system call.
pub fn accept_magic(socket: impl AsFd) -> std::io::Result<()> {
    let mut magic = [0; MAGIC.len()];
    let mut fds = Vec::new();
    if !receive_all(socket.as_fd(), &mut magic, &mut fds)? || magic != MAGIC {
        return Err(Malformed("greeting").into());
    }
    Ok(())
}

/// Sends a frame with copies of `fds`.
///
/// # Errors
///
/// `InvalidData` if the frame is too long, or errors of the system call.
pub fn send(socket: impl AsFd, frame: &[u8], fds: &[BorrowedFd<'_>]) -> std::io::Result<()> {
    let len = u32::try_from(frame.len())
        .ok()
        .filter(|_| frame.len() <= MAX_FRAME)
        .ok_or(Malformed("frame: too long"))?;
    // Sent at once, so that the reader is woken once.
    let mut bytes = Vec::with_capacity(4 + frame.len());
    bytes.extend_from_slice(&len.to_le_bytes());
    bytes.extend_from_slice(frame);
    send_all(socket.as_fd(), &bytes, fds)
}

/// Receives a frame with its file descriptors. `None`: the connection ended between frames.
///
/// # Errors
///
/// `InvalidData` if the frame is too long, `UnexpectedEof` within a frame, or errors of the system
/// call.
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

/// Fills `bytes`. Returns false if the connection ended before the first byte.
fn receive_all(
    socket: BorrowedFd<'_>,
    bytes: &mut [u8],
    fds: &mut Vec<OwnedFd>,
) -> std::io::Result<bool> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut received_len = 0;
    while received_len < bytes.len() {
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut slice = [IoSliceMut::new(&mut bytes[received_len..])];
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
            0 if received_len == 0 => return Ok(false),
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            n => received_len += n,
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn requests() -> Vec<ClientRequest> {
        let hello = |nodes: &[&str]| ClientRequest::Hello {
            version: VERSION,
            nodes: nodes.iter().map(|&node| node.to_owned()).collect(),
            pid: 7,
            program: "opensm".to_owned(),
        };
        vec![
            hello(&[]),
            hello(&["h1 \"quoted\"", "0x0002c90300000001", ""]),
            ClientRequest::ListFiles,
            ClientRequest::ReadFile {
                path: "infiniband/mlx5_0/ports/1/lid".to_owned(),
            },
            ClientRequest::OpenUmad { index: u32::MAX },
            ClientRequest::Ioctl {
                request: 0xC028_1B04,
                arg: vec![1; 40],
            },
            ClientRequest::OpenIssm {
                index: 1,
                nonblock: true,
            },
        ]
    }

    fn replies() -> Vec<ServerReply> {
        vec![
            ServerReply::Done,
            ServerReply::Refused("no such node".to_owned()),
            ServerReply::Errno(11),
            ServerReply::Files(vec![]),
            ServerReply::Files(vec![
                ("a/b".to_owned(), vec![1, 2]),
                ("c".to_owned(), vec![]),
            ]),
            ServerReply::File(b"0x1\n".to_vec()),
            ServerReply::Opened,
            ServerReply::Ioctl {
                errno: -1,
                arg: vec![0; 28],
            },
        ]
    }

    /// Frames are decoded as encoded; truncated frames are not decoded as the original, and do not
    /// panic.
    #[test]
    fn frames_round_trip_and_truncated_ones_are_rejected() {
        for request in requests() {
            let bytes = request.encode();
            assert_eq!(ClientRequest::decode(&bytes).as_ref(), Ok(&request));
            for cut in 0..bytes.len() {
                assert_ne!(ClientRequest::decode(&bytes[..cut]).as_ref(), Ok(&request));
            }
        }
        for reply in replies() {
            let bytes = reply.encode();
            assert_eq!(ServerReply::decode(&bytes).as_ref(), Ok(&reply));
            for cut in 0..bytes.len() {
                assert_ne!(ServerReply::decode(&bytes[..cut]).as_ref(), Ok(&reply));
            }
        }
        assert!(ClientRequest::decode(&99u32.to_le_bytes()).is_err());
        assert!(ServerReply::decode(&99u32.to_le_bytes()).is_err());
    }

    /// Frames arrive in order with their descriptors; a connection that ends within a frame is an
    /// error.
    #[test]
    fn frames_arrive_with_their_descriptors() {
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

    /// Interactive text and a frame with an excessive length are rejected.
    #[test]
    fn other_protocols_and_long_frames_are_rejected() {
        let (a, b) = UnixStream::pair().unwrap();
        send_all(a.as_fd(), b"status\n!", &[]).unwrap();
        assert_eq!(first_byte(&b).unwrap(), Some(b's'));
        assert!(accept_magic(&b).is_err());
        send_all(a.as_fd(), &u32::MAX.to_le_bytes(), &[]).unwrap();
        assert_eq!(receive(&b).unwrap_err().kind(), ErrorKind::InvalidData);
        assert!(send(&a, &vec![0; MAX_FRAME + 1], &[]).is_err());
    }
}
