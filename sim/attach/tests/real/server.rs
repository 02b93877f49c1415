//! A server for one host with one CA, to test the library alone.
//!
//! It replies to NodeInfo requests to the CA itself and reports a timeout for other requests at
//! once. MADs of class 0x09, a vendor class, are commands to this server: the attribute ID is the
//! command, the modifier its argument.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use ferrosm_channel::frames::{self, ClientRequest, ServerReply};
use ferrosm_channel::{ServerDoorbell, ServerEnd};

/// Class of the test commands.
pub(crate) const TEST_CLASS: u8 = 0x09;
/// Replies with a MAD of `modifier` bytes.
pub(crate) const ANSWER: u16 = 1;
/// Replies with the length of the request in the modifier.
pub(crate) const MEASURE: u16 = 2;
/// Closes all connections and stops the server.
pub(crate) const STOP: u16 = 3;

/// Length of `struct ib_user_mad_hdr`, with the P_Key index.
pub(crate) const HEADER: usize = 64;
const ETIMEDOUT: u32 = 110;
const ENOENT: i32 = 2;
const ENXIO: i32 = 6;
const EAGAIN: i32 = 11;
const EINVAL: i32 = 22;
/// Requests of `ioctl` (Linux `rdma/ib_user_mad.h`).
const REGISTER_AGENT: u32 = 0xC01C_1B01;
const UNREGISTER_AGENT: u32 = 0x4004_1B02;
const ENABLE_PKEY: u32 = 0x1B03;
const REGISTER_AGENT2: u32 = 0xC028_1B04;

pub(crate) const NODE_GUID: u64 = 0x0002_c903_0000_0010;

/// Files below `/sys/class`, as for a ConnectX.
const FILES: &[(&str, &str)] = &[
    ("infiniband/sim0/node_type", "1: CA\n"),
    ("infiniband/sim0/fw_ver", "20.30.40\n"),
    ("infiniband/sim0/hw_rev", "0\n"),
    ("infiniband/sim0/hca_type", "MT4123\n"),
    ("infiniband/sim0/board_id", "MT_0000000010\n"),
    ("infiniband/sim0/node_guid", "0002:c903:0000:0010\n"),
    ("infiniband/sim0/sys_image_guid", "0002:c903:0000:0013\n"),
    ("infiniband/sim0/ports/1/lid", "0x11\n"),
    ("infiniband/sim0/ports/1/lid_mask_count", "0\n"),
    ("infiniband/sim0/ports/1/sm_lid", "0x1\n"),
    ("infiniband/sim0/ports/1/sm_sl", "0\n"),
    ("infiniband/sim0/ports/1/state", "4: ACTIVE\n"),
    ("infiniband/sim0/ports/1/phys_state", "5: LinkUp\n"),
    ("infiniband/sim0/ports/1/rate", "200 Gb/sec (4X HDR)\n"),
    ("infiniband/sim0/ports/1/cap_mask", "0x2651e848\n"),
    ("infiniband/sim0/ports/1/link_layer", "InfiniBand\n"),
    (
        "infiniband/sim0/ports/1/gids/0",
        "fe80:0000:0000:0000:0002:c903:0000:0011\n",
    ),
    ("infiniband/sim0/ports/1/pkeys/0", "0xffff\n"),
    ("infiniband/sim0/ports/1/pkeys/1", "0x0000\n"),
    ("infiniband_mad/abi_version", "5\n"),
    ("infiniband_mad/umad0/ibdev", "sim0\n"),
    ("infiniband_mad/umad0/port", "1\n"),
    ("infiniband_mad/issm0/ibdev", "sim0\n"),
    ("infiniband_mad/issm0/port", "1\n"),
];

struct Shared {
    doorbell: ServerDoorbell,
    files: Mutex<Vec<Arc<OpenFile>>>,
    streams: Mutex<Vec<UnixStream>>,
    /// A client has the issm file open.
    issm_open: Mutex<bool>,
    stopped: AtomicBool,
    /// Nodes in the last client's hello.
    nodes: Mutex<Vec<String>>,
    /// LID in sysfs.
    lid: AtomicU32,
}

/// An opened umad file.
struct OpenFile {
    end: Mutex<ServerEnd>,
    agents: AtomicU32,
    closed: AtomicBool,
}

pub(crate) struct Server {
    directory: PathBuf,
    shared: Arc<Shared>,
}

impl Server {
    pub(crate) fn start(name: &str) -> Self {
        let directory =
            std::env::temp_dir().join(format!("ferrosm-attach-{name}-{}", std::process::id()));
        // Left over from a killed run with the same process ID, if any.
        let _ = fs::remove_dir_all(&directory);
        for (path, contents) in FILES {
            let file = directory.join("sysfs/class").join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, contents).unwrap();
        }
        let listener = UnixListener::bind(directory.join("socket")).unwrap();
        let shared = Arc::new(Shared {
            doorbell: ServerDoorbell::new().unwrap(),
            files: Mutex::default(),
            streams: Mutex::default(),
            issm_open: Mutex::default(),
            stopped: AtomicBool::new(false),
            nodes: Mutex::default(),
            lid: AtomicU32::new(0x11),
        });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming() {
                if accepting.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let stream = stream.unwrap();
                let mut streams = accepting.streams.lock().unwrap();
                streams.push(stream.try_clone().unwrap());
                let serving = Arc::clone(&accepting);
                thread::spawn(move || {
                    serve(&serving, &stream);
                    // The client sees the end of the connection although `streams` has a copy.
                    let _ = stream.shutdown(std::net::Shutdown::Both);
                });
            }
        });
        let serving = Arc::clone(&shared);
        thread::spawn(move || reply_to_messages(&serving));
        Self { directory, shared }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.join("socket")
    }

    /// The directory with the initial sysfs files, which programs see without the server.
    pub(crate) fn sysfs_directory(&self) -> PathBuf {
        self.directory.join("sysfs")
    }

    /// The nodes in the last client's hello.
    pub(crate) fn nodes(&self) -> Vec<String> {
        self.shared.nodes.lock().unwrap().clone()
    }

    /// Changes the LID in sysfs; the sysfs directory still has the old file.
    pub(crate) fn set_lid(&self, lid: u32) {
        self.shared.lid.store(lid, Ordering::SeqCst);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        stop(&self.shared);
        // Ends the thread that waits in `accept`.
        let _ = UnixStream::connect(self.socket());
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Closes all connections and stops the server's threads.
fn stop(shared: &Shared) {
    shared.stopped.store(true, Ordering::SeqCst);
    for stream in shared.streams.lock().unwrap().drain(..) {
        let _ = stream.shutdown(std::net::Shutdown::Both);
    }
    shared.files.lock().unwrap().clear();
    shared.doorbell.ring();
}

fn serve(shared: &Shared, stream: &UnixStream) {
    if frames::first_byte(stream).ok().flatten() != Some(0) || frames::accept_magic(stream).is_err()
    {
        return;
    }
    let mut open: Option<Arc<OpenFile>> = None;
    let mut holds_issm = false;
    while let Ok(Some((frame, _))) = frames::receive(stream) {
        let mut reply_fds = vec![];
        let reply = match ClientRequest::decode(&frame).unwrap() {
            ClientRequest::Hello { nodes, .. } => {
                *shared.nodes.lock().unwrap() = nodes;
                ServerReply::Done
            }
            ClientRequest::ListFiles => ServerReply::Files(vec![]),
            ClientRequest::ReadFile { path } => read_file(shared, &path),
            ClientRequest::OpenUmad { index: 0 } if !shared.stopped.load(Ordering::SeqCst) => {
                let (end, fds) = ServerEnd::pair(&shared.doorbell).unwrap();
                reply_fds = fds.into_vec();
                let file = Arc::new(OpenFile {
                    end: Mutex::new(end),
                    agents: AtomicU32::new(0),
                    closed: AtomicBool::new(false),
                });
                shared.files.lock().unwrap().push(Arc::clone(&file));
                open = Some(file);
                ServerReply::Opened
            }
            ClientRequest::OpenUmad { .. } | ClientRequest::Verbs(_) => ServerReply::Errno(ENXIO),
            ClientRequest::Ioctl { request, arg } => ioctl(open.as_deref(), request, arg),
            ClientRequest::OpenIssm { .. } => {
                let mut is_held = shared.issm_open.lock().unwrap();
                if *is_held {
                    ServerReply::Errno(EAGAIN)
                } else {
                    *is_held = true;
                    holds_issm = true;
                    ServerReply::Opened
                }
            }
        };
        let fds: Vec<_> = reply_fds.iter().map(AsFd::as_fd).collect();
        if frames::send(stream, &reply.encode(), &fds).is_err() {
            break;
        }
    }
    if holds_issm {
        *shared.issm_open.lock().unwrap() = false;
    }
    if let Some(file) = open {
        file.closed.store(true, Ordering::SeqCst);
        shared.doorbell.ring();
    }
}

fn read_file(shared: &Shared, path: &str) -> ServerReply {
    if path == "infiniband/sim0/ports/1/lid" {
        let lid = shared.lid.load(Ordering::SeqCst);
        return ServerReply::File(format!("{lid:#x}\n").into_bytes());
    }
    FILES
        .iter()
        .find(|(name, _)| *name == path)
        .map_or(ServerReply::Errno(ENOENT), |(_, contents)| {
            ServerReply::File(contents.as_bytes().to_vec())
        })
}

fn ioctl(file: Option<&OpenFile>, request: u32, mut arg: Vec<u8>) -> ServerReply {
    let errno = match (file, request) {
        (Some(_), ENABLE_PKEY | UNREGISTER_AGENT) => 0,
        (Some(file), REGISTER_AGENT | REGISTER_AGENT2) => {
            let id = file.agents.fetch_add(1, Ordering::SeqCst);
            arg[..4].copy_from_slice(&id.to_ne_bytes());
            0
        }
        (Some(_) | None, _) => EINVAL,
    };
    ServerReply::Ioctl { errno, arg }
}

/// Receives the messages of all files and replies to them, until the server stops.
fn reply_to_messages(shared: &Shared) {
    let mut message = vec![];
    while !shared.stopped.load(Ordering::SeqCst) {
        let files: Vec<Arc<OpenFile>> = shared.files.lock().unwrap().clone();
        let mut has_replied = false;
        for file in &files {
            let mut end = file.end.lock().unwrap();
            while end.receive(&mut message).unwrap() {
                has_replied = true;
                let Some(reply) = reply_to(&message) else {
                    drop(end);
                    stop(shared);
                    return;
                };
                // The clients of the tests always read.
                while !end.send(&[&reply]).unwrap() {
                    thread::yield_now();
                }
            }
        }
        shared
            .files
            .lock()
            .unwrap()
            .retain(|file| !file.closed.load(Ordering::SeqCst));
        if !has_replied {
            let idle = || {
                let ready = |file: &Arc<OpenFile>| file.end.lock().unwrap().is_ready();
                !files.iter().any(ready) && !shared.stopped.load(Ordering::SeqCst)
            };
            shared.doorbell.sleep(None, idle).unwrap();
        }
    }
}

/// The reply to a message; `None` to stop the server.
fn reply_to(message: &[u8]) -> Option<Vec<u8>> {
    let (header, mad) = message.split_at(HEADER);
    let mut header = header.to_vec();
    let attribute = u16::from_be_bytes([mad[16], mad[17]]);
    let modifier = u32::from_be_bytes([mad[20], mad[21], mad[22], mad[23]]) as usize;
    let mut body = mad.to_vec();
    body[3] |= 0x80;
    match (mad[1], attribute) {
        (TEST_CLASS, ANSWER) => {
            body.resize(modifier, 0);
            for (at, byte) in body.iter_mut().enumerate().skip(24) {
                *byte = at.to_le_bytes()[0];
            }
        }
        (TEST_CLASS, MEASURE) => {
            let len = u32::try_from(mad.len()).unwrap();
            body.truncate(256);
            body[20..24].copy_from_slice(&len.to_be_bytes());
        }
        (TEST_CLASS, STOP) => return None,
        // NodeInfo by directed route, with hop count 0: the CA itself. The response has the D bit;
        // data begin at byte 64.
        (0x81, 0x0011) if mad[7] == 0 => {
            body[3] = 0x81;
            body[4] = 0x80;
            body[64..68].copy_from_slice(&[1, 1, 1, 1]);
            for (at, guid) in [(68, 0x13), (76, 0x10), (84, 0x11)] {
                let guid: u64 = NODE_GUID & !0xff | guid;
                body[at..at + 8].copy_from_slice(&guid.to_be_bytes());
            }
            body[92..96].copy_from_slice(&[0, 128, 0x10, 0x1b]);
            body[100..104].copy_from_slice(&[1, 0, 0x02, 0xc9]);
        }
        _ => {
            header[4..8].copy_from_slice(&ETIMEDOUT.to_ne_bytes());
            header.extend_from_slice(&mad[..24]);
            return Some(header);
        }
    }
    let len = u32::try_from(HEADER + body.len()).unwrap();
    header[16..20].copy_from_slice(&len.to_ne_bytes());
    header.extend_from_slice(&body);
    Some(header)
}
