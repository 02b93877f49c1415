//! What the service keeps of its last minutes, for bug reports: a ring of its MADs, and the inputs
//! of the SM since its start; and captures on demand.
//!
//! Producers append to two buffers in memory of at most 2 MiB each and never wait
//! for the disk; one thread takes the buffers and writes. If a buffer is full, MADs are dropped and
//! counted, also in the files; the recording ends, because it could not be replayed any more.
//!
//! | module | contents |
//! |---|---|
//! | this | [`ServiceRings`], which producers and the API share |
//! | `thread` | the thread that writes |
//! | `segments` | the files of the ring of MADs |
//! | `run_file` | the file of the recording |

mod run_file;
mod segments;
mod thread;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use ferrosm_api::capture::Captures;
use ferrosm_mad::ids::Lid;
use ferrosm_recording::RecordingSink;
use ferrosm_umad::capture::{CaptureWriter, Tap};
use tokio::sync::oneshot;
use tracing::warn;

use crate::clock::unix_ns;
pub use run_file::read_recording;
use thread::{Job, RingThread};

/// The directory of the rings, in the state directory.
pub const DIR: &str = "rings";
/// The directory of captures on demand, in the state directory.
pub const CAPTURE_DIR: &str = "captures";

/// Bytes that a buffer holds; while the thread writes one buffer, the next one fills.
const BUFFER_MAX: usize = 2 << 20;
/// Bytes in a buffer from which on the thread is woken.
const BUFFER_WAKE: usize = 256 << 10;
/// Time for the thread to write the rest at exit.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// The first bytes of a block of a capture file that has a packet.
const PACKET_BLOCK: [u8; 4] = 6u32.to_le_bytes();

/// The rings of a service. Clones share them; the default has none.
#[derive(Debug, Clone, Default)]
pub struct ServiceRings {
    shared: Option<Arc<Shared>>,
}

#[derive(Debug)]
struct Shared {
    jobs: mpsc::Sender<Job>,
    buffers: Arc<Buffers>,
    tap: Mutex<Option<Tap<MadSink>>>,
    /// The rings are on.
    has_rings: bool,
}

/// What waits for the thread.
#[derive(Debug, Default)]
struct Buffers {
    mads: Mutex<Buffer>,
    inputs: Mutex<Buffer>,
    /// The thread has been woken, and has not taken the buffers yet.
    is_woken: AtomicBool,
    /// MADs are written somewhere.
    wants_mads: AtomicBool,
    /// The recording has ended.
    has_ended: AtomicBool,
}

/// Whole blocks or entries.
#[derive(Debug, Default)]
struct Buffer {
    bytes: Vec<u8>,
    /// Number of blocks or entries.
    count: u64,
    /// Blocks that did not fit before the first one of the next buffer.
    dropped: u64,
    /// The start of a recording, before the bytes. It is as large as the restored state, so that it
    /// may exceed the limit.
    start: Option<Vec<u8>>,
    /// The recording ends after these bytes, for this reason.
    end: Option<String>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stops the thread of the rings when it is dropped: what is in memory is written before.
#[derive(Debug)]
pub struct RingsGuard {
    rings: ServiceRings,
    /// Disconnected at the end of the thread.
    done: mpsc::Receiver<()>,
}

impl Drop for RingsGuard {
    fn drop(&mut self) {
        if let Some(shared) = &self.rings.shared {
            // The thread may have ended.
            let _ = shared.jobs.send(Job::Stop);
            let _ = self.done.recv_timeout(STOP_TIMEOUT);
        }
    }
}

impl ServiceRings {
    /// Starts the thread for a state directory that this process has locked. The rings have `mib`
    /// MiB in all; with 0 they are off, and captures remain possible. A failure is logged.
    #[must_use]
    pub fn start(state_dir: &Path, mib: u32) -> Option<(Self, RingsGuard)> {
        let buffers = Arc::new(Buffers::default());
        let (jobs, inbox) = mpsc::channel();
        let (running, done) = mpsc::channel();
        let thread = RingThread::new(state_dir, mib, Arc::clone(&buffers));
        let work = move || {
            thread.run(&inbox);
            drop(running);
        };
        let started = std::thread::Builder::new()
            .name("rings".to_owned())
            .spawn(work);
        if let Err(error) = started {
            warn!(%error, "cannot start ring thread");
            return None;
        }
        let rings = Self {
            shared: Some(Arc::new(Shared {
                jobs,
                buffers,
                tap: Mutex::default(),
                has_rings: mib > 0,
            })),
        };
        let guard = RingsGuard {
            rings: rings.clone(),
            done,
        };
        Some((rings, guard))
    }

    /// The tap of a port, whose name in the files is `interface`; `None` without a thread.
    #[must_use]
    pub fn tap(&self, interface: &str) -> Option<Tap<MadSink>> {
        let shared = self.shared.as_ref()?;
        let header = CaptureWriter::new(Vec::new(), interface).ok()?.into_inner();
        let sink = MadSink {
            shared: Arc::clone(shared),
        };
        let writer = CaptureWriter::new(sink, interface).ok()?;
        let tap = Tap::new(writer, unix_ns);
        *lock(&shared.tap) = Some(tap.clone());
        // Fails if the thread has ended.
        shared.jobs.send(Job::Header(header)).ok()?;
        Some(tap)
    }

    /// Sets the local port's own LID, for MADs from now on.
    pub fn set_local_lid(&self, lid: Lid) {
        if let Some(tap) = self.shared.as_ref().and_then(|s| lock(&s.tap).clone()) {
            tap.set_local_lid(lid);
        }
    }

    /// The recording of a run that begins; `None` if the rings are off.
    #[must_use]
    pub fn recorder(&self) -> Option<InputSink> {
        let shared = self.shared.as_ref().filter(|shared| shared.has_rings)?;
        Some(InputSink {
            shared: Arc::clone(shared),
        })
    }

    /// Starts a capture in the file of this name; `None` if no thread can.
    #[must_use]
    pub fn start_capture(&self, request: CaptureRequest) -> Option<CaptureReply> {
        let (reply, receiver) = oneshot::channel();
        self.send(Job::StartCapture(request, reply))?;
        Some(receiver)
    }

    /// Ends the capture.
    #[must_use]
    pub fn stop_capture(&self) -> Option<CaptureReply> {
        let (reply, receiver) = oneshot::channel();
        self.send(Job::StopCapture(reply))?;
        Some(receiver)
    }

    /// Writes what is in memory, and describes the files.
    #[must_use]
    pub fn status(&self) -> Option<CaptureReply> {
        let (reply, receiver) = oneshot::channel();
        self.send(Job::Status(reply))?;
        Some(receiver)
    }

    fn send(&self, job: Job) -> Option<()> {
        self.shared.as_ref()?.jobs.send(job).ok()
    }
}

/// A capture on demand.
#[derive(Debug, Clone)]
pub struct CaptureRequest {
    /// File name in [`CAPTURE_DIR`].
    pub name: String,
    pub max_bytes: u64,
}

/// Why a capture cannot start or stop.
#[derive(Debug)]
pub enum CaptureRefusal {
    /// Another one runs, in this file.
    Runs(PathBuf),
    /// None runs.
    NoneRuns,
    /// The port is not open yet.
    NoPort,
    /// The file exists.
    Exists(PathBuf),
    /// The file cannot be created or written.
    Io(PathBuf, io::Error),
}

/// The answer of the thread.
pub type CaptureReply = oneshot::Receiver<Result<Captures, CaptureRefusal>>;

impl Shared {
    /// Appends to a buffer, unless it is full. Returns whether it did.
    fn append(&self, buffer: &Mutex<Buffer>, bytes: &[u8]) -> bool {
        let len = {
            let mut buffer = lock(buffer);
            if buffer.bytes.len() + bytes.len() > BUFFER_MAX {
                buffer.dropped += 1;
                return false;
            }
            buffer.bytes.extend_from_slice(bytes);
            buffer.count += 1;
            buffer.bytes.len()
        };
        if len >= BUFFER_WAKE && !self.buffers.is_woken.swap(true, Ordering::Relaxed) {
            // The thread may have ended.
            let _ = self.jobs.send(Job::Wake);
        }
        true
    }
}

/// Takes the blocks of a capture.
#[derive(Debug)]
pub struct MadSink {
    shared: Arc<Shared>,
}

impl Write for MadSink {
    /// Each call has a whole block. The thread writes the blocks without packets itself.
    fn write(&mut self, block: &[u8]) -> io::Result<usize> {
        let buffers = &self.shared.buffers;
        if block.starts_with(&PACKET_BLOCK) && buffers.wants_mads.load(Ordering::Relaxed) {
            self.shared.append(&buffers.mads, block);
        }
        Ok(block.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Takes the entries of the recording.
#[derive(Debug)]
pub struct InputSink {
    shared: Arc<Shared>,
}

impl RecordingSink for InputSink {
    fn append(&mut self, bytes: Vec<u8>) {
        let buffers = &self.shared.buffers;
        if bytes.starts_with(ferrosm_recording::MAGIC) {
            lock(&buffers.inputs).start = Some(bytes);
        } else if !self.has_stopped() && !self.shared.append(&buffers.inputs, &bytes) {
            self.stop("disk too slow");
        }
    }

    fn has_stopped(&self) -> bool {
        self.shared.buffers.has_ended.load(Ordering::Relaxed)
    }

    fn stop(&mut self, reason: &str) {
        let buffers = &self.shared.buffers;
        if !buffers.has_ended.swap(true, Ordering::Relaxed) {
            lock(&buffers.inputs).end = Some(reason.to_owned());
        }
    }
}
