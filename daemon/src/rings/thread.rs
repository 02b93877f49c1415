//! The thread that writes the rings and captures.

use core::time::Duration;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Instant, SystemTime};

use ferrosm_api::capture::{Capture, Captures, Recording, RingFiles};
use ferrosm_umad::capture::CaptureWriter;
use tokio::sync::oneshot;
use tracing::{info, warn};

use super::run_file::RunFile;
use super::segments::{SegmentRing, create_private};
use super::{Buffer, Buffers, CAPTURE_DIR, CaptureRefusal, CaptureRequest, DIR, lock};
use crate::clock::unix_ns;

/// How often the buffers are written.
const INTERVAL: Duration = Duration::from_secs(1);
/// When a ring that could not be written is tried again.
const RETRY: Duration = Duration::from_secs(60);

/// Where the result of a request goes.
type Reply = oneshot::Sender<Result<Captures, CaptureRefusal>>;

/// A job of the thread.
#[derive(Debug)]
pub(super) enum Job {
    /// The blocks that each capture file begins with.
    Header(Vec<u8>),
    /// A buffer is filling up.
    Wake,
    StartCapture(CaptureRequest, Reply),
    StopCapture(Reply),
    Status(Reply),
    /// Write everything, and end.
    Stop,
}

/// A capture on demand.
#[derive(Debug)]
struct RunningCapture {
    path: PathBuf,
    /// `None` after its end.
    file: Option<File>,
    started: SystemTime,
    max_bytes: u64,
    bytes: u64,
    packets: u64,
    dropped: u64,
    /// Why it ended.
    ended: Option<String>,
}

/// The state of the thread.
#[derive(Debug)]
pub(super) struct RingThread {
    state_dir: PathBuf,
    buffers: Arc<Buffers>,
    /// Bytes of MADs, and of recordings.
    limit: u64,
    header: Vec<u8>,
    mads: Option<SegmentRing>,
    run: Option<RunFile>,
    /// Packets of the ring that were dropped.
    dropped: u64,
    recording: Recording,
    capture: Option<RunningCapture>,
    /// Writing failed; not before this time again.
    retry_at: Option<Instant>,
}

impl RingThread {
    pub(super) fn new(state_dir: &Path, mib: u32, buffers: Arc<Buffers>) -> Self {
        Self {
            state_dir: state_dir.to_owned(),
            buffers,
            // Half for each.
            limit: u64::from(mib) << 19,
            header: Vec::new(),
            mads: None,
            run: None,
            dropped: 0,
            recording: Recording::default(),
            capture: None,
            retry_at: None,
        }
    }

    pub(super) fn run(mut self, jobs: &Receiver<Job>) {
        self.open_ring();
        self.update_wants();
        loop {
            let job = match jobs.recv_timeout(INTERVAL) {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout) => Job::Wake,
                Err(RecvTimeoutError::Disconnected) => Job::Stop,
            };
            self.write_buffers();
            match job {
                Job::Header(header) => self.header = header,
                Job::Wake => {}
                Job::StartCapture(request, reply) => {
                    let result = self.start_capture(&request);
                    // The client may have gone.
                    let _ = reply.send(result.map(|()| self.status()));
                }
                Job::StopCapture(reply) => {
                    let result = self.stop_capture();
                    let _ = reply.send(result.map(|()| self.status()));
                }
                Job::Status(reply) => {
                    self.flush_run();
                    let _ = reply.send(Ok(self.status()));
                }
                Job::Stop => {
                    if let Some(run) = self.run.take() {
                        // What is written can be replayed.
                        let _ = run.finish();
                    }
                    self.end_capture("the service stopped");
                    return;
                }
            }
            self.update_wants();
        }
    }

    fn has_rings(&self) -> bool {
        self.limit > 0
    }

    fn open_ring(&mut self) {
        if !self.has_rings() {
            return;
        }
        let dir = self.state_dir.join(DIR);
        let opened = make_dir(&dir).and_then(|()| SegmentRing::open(&dir, self.limit));
        match opened {
            Ok(ring) => self.mads = Some(ring),
            Err(error) => self.ring_failed(&error),
        }
    }

    fn ring_failed(&mut self, error: &io::Error) {
        warn!(dir = %self.state_dir.join(DIR).display(), %error, "cannot write rings");
        self.mads = None;
        self.retry_at = Some(Instant::now() + RETRY);
    }

    /// Whether MADs are written is known to who receives and sends them.
    fn update_wants(&self) {
        let has_capture = self.capture.as_ref().is_some_and(|c| c.file.is_some());
        let wants_mads = self.has_rings() || has_capture;
        self.buffers.wants_mads.store(wants_mads, Ordering::Relaxed);
    }

    fn write_buffers(&mut self) {
        self.buffers.is_woken.store(false, Ordering::Relaxed);
        let mads = core::mem::take(&mut *lock(&self.buffers.mads));
        self.write_mads(mads);
        let inputs = core::mem::take(&mut *lock(&self.buffers.inputs));
        if let Some(start) = &inputs.start {
            self.begin_run(start);
        }
        self.write_inputs(&inputs.bytes, inputs.end.as_deref());
    }

    fn write_mads(&mut self, mads: Buffer) {
        let Buffer {
            mut bytes,
            count,
            dropped,
            start: _,
            end: _,
        } = mads;
        if bytes.is_empty() && dropped == 0 {
            return;
        }
        if dropped > 0 {
            self.dropped += dropped;
            bytes.extend(dropped_block(dropped));
        }
        if let Some(capture) = &mut self.capture {
            capture.write(&bytes, count, dropped);
        }
        if self.retry_at.is_some_and(|at| at <= Instant::now()) {
            self.retry_at = None;
            self.open_ring();
        }
        let Some(ring) = &mut self.mads else {
            self.dropped += count;
            return;
        };
        if let Err(error) = ring.write(&self.header, &bytes) {
            self.dropped += count;
            self.ring_failed(&error);
        }
    }

    fn begin_run(&mut self, start: &[u8]) {
        let dir = self.state_dir.join(DIR);
        match RunFile::create(&dir, self.limit) {
            Ok(run) => {
                self.recording.file = run.path.display().to_string();
                self.recording.began_at = rfc3339(SystemTime::now());
                self.run = Some(run);
                self.write_inputs(start, None);
            }
            Err(error) => self.run_ended(&error.to_string()),
        }
    }

    fn write_inputs(&mut self, entries: &[u8], end: Option<&str>) {
        let Some(run) = &mut self.run else {
            return;
        };
        let flushed = match run.write(entries) {
            Ok(false) => return self.end_run("size limit reached"),
            Ok(true) => run.flush().and_then(|()| run.remove_oldest()),
            Err(error) => Err(error),
        };
        self.recording.bytes = self.run.as_ref().map_or(0, RunFile::len);
        if let Err(error) = flushed {
            self.end_run(&error.to_string());
        } else if let Some(reason) = end {
            self.end_run(reason);
        }
    }

    fn flush_run(&mut self) {
        if let Some(run) = &mut self.run
            && let Err(error) = run.flush()
        {
            self.end_run(&error.to_string());
        }
    }

    fn end_run(&mut self, reason: &str) {
        if let Some(run) = self.run.take() {
            self.recording.bytes = run.len();
            // What is written can be replayed.
            let _ = run.finish();
            self.run_ended(reason);
        }
    }

    fn run_ended(&mut self, reason: &str) {
        self.buffers.has_ended.store(true, Ordering::Relaxed);
        self.recording.ended = Some(reason.to_owned());
        info!(
            file = self.recording.file,
            reason, "always-on recording ended"
        );
    }

    fn start_capture(&mut self, request: &CaptureRequest) -> Result<(), CaptureRefusal> {
        if let Some(running) = self.capture.as_ref().filter(|c| c.file.is_some()) {
            return Err(CaptureRefusal::Runs(running.path.clone()));
        }
        if self.header.is_empty() {
            return Err(CaptureRefusal::NoPort);
        }
        let dir = self.state_dir.join(CAPTURE_DIR);
        let path = dir.join(&request.name);
        let created = make_dir(&dir).and_then(|()| create_private(&path));
        let begun = created.and_then(|mut file| file.write_all(&self.header).map(|()| file));
        let file = begun.map_err(|e| {
            if e.kind() == io::ErrorKind::AlreadyExists {
                CaptureRefusal::Exists(path.clone())
            } else {
                CaptureRefusal::Io(path.clone(), e)
            }
        })?;
        info!(file = %path.display(), "capture started");
        self.capture = Some(RunningCapture {
            path,
            file: Some(file),
            started: SystemTime::now(),
            max_bytes: request.max_bytes,
            bytes: self.header.len() as u64,
            packets: 0,
            dropped: 0,
            ended: None,
        });
        Ok(())
    }

    fn stop_capture(&mut self) -> Result<(), CaptureRefusal> {
        match self.capture.as_ref().is_some_and(|c| c.file.is_some()) {
            true => self.end_capture("stopped"),
            false => return Err(CaptureRefusal::NoneRuns),
        }
        Ok(())
    }

    fn end_capture(&mut self, reason: &str) {
        if let Some(capture) = &mut self.capture {
            capture.end(reason);
        }
    }

    fn status(&self) -> Captures {
        let capture = self.capture.as_ref().map(|capture| Capture {
            file: capture.path.display().to_string(),
            is_running: capture.file.is_some(),
            started_at: rfc3339(capture.started),
            packets: capture.packets,
            bytes: capture.bytes,
            max_bytes: capture.max_bytes,
            dropped: capture.dropped,
            ended: capture.ended.clone(),
        });
        let rings = self.has_rings().then(|| RingFiles {
            dir: self.state_dir.join(DIR).display().to_string(),
            limit_bytes: 2 * self.limit,
            mad_bytes: self.mads.as_ref().map_or(0, SegmentRing::len),
            dropped: self.dropped,
            recording: self.recording.clone(),
        });
        Captures { capture, rings }
    }
}

impl RunningCapture {
    /// Writes blocks until the file would exceed its limit.
    fn write(&mut self, blocks: &[u8], packets: u64, dropped: u64) {
        let Some(file) = &mut self.file else {
            return;
        };
        let bytes = self.bytes + blocks.len() as u64;
        if bytes > self.max_bytes {
            return self.end("size limit reached");
        }
        if let Err(error) = file.write_all(blocks) {
            return self.end(&error.to_string());
        }
        self.bytes = bytes;
        self.packets += packets;
        self.dropped += dropped;
    }

    fn end(&mut self, reason: &str) {
        if self.file.take().is_none() {
            return;
        }
        self.ended = Some(reason.to_owned());
        info!(
            file = %self.path.display(), reason, packets = self.packets, dropped = self.dropped,
            "capture ended"
        );
    }
}

/// A time in UTC (RFC 3339).
fn rfc3339(at: SystemTime) -> String {
    humantime::format_rfc3339_millis(at).to_string()
}

/// Creates a directory that only its owner can enter.
fn make_dir(dir: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(dir)
}

/// A block that says how many packets are missing before it.
fn dropped_block(count: u64) -> Vec<u8> {
    let written = CaptureWriter::new(Vec::new(), "").and_then(|mut writer| {
        let header = writer.get_ref().len();
        writer.write_dropped(unix_ns(), count)?;
        Ok(writer.into_inner().split_off(header))
    });
    // A vector accepts all bytes.
    written.unwrap_or_default()
}
