//! The file of `--record`: created with mode 0600, written by a thread.
//!
//! The subnet manager never waits for the disk. A failure stops the recording with one warning; the
//! file is then a recording of the run so far.

use core::time::Duration;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};

use ferrosm_recording::RecordingSink;
use tracing::warn;

use crate::cli::SmArgs;
use crate::failure::Failure;

/// Entries that may wait for the disk; beyond that, the recording stops.
const ENTRIES_MAX: usize = 1 << 16;
/// Time limit for writing pending entries at exit.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Writes a recording.
#[derive(Debug)]
pub struct RecordingFile {
    path: PathBuf,
    /// `None` after the recording has stopped.
    entries: Option<SyncSender<Vec<u8>>>,
    /// Disconnected when all entries are written.
    written: Receiver<()>,
    /// Remaining size limit, in bytes.
    bytes_left: u64,
}

impl RecordingFile {
    /// Creates the recording of `--record`, if given.
    ///
    /// # Errors
    /// The file exists or cannot be created.
    pub fn from_args(args: &SmArgs) -> Result<Option<Self>, Failure> {
        let create =
            |path: &PathBuf| Self::create(path, args.record_limit_mib.saturating_mul(1 << 20));
        args.record.as_ref().map(create).transpose()
    }

    fn create(path: &Path, limit: u64) -> Result<Self, Failure> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path);
        let file = file.map_err(|e| {
            let hint = if e.kind() == io::ErrorKind::AlreadyExists {
                "An existing file is not replaced. Name another file, or remove this one."
            } else {
                ""
            };
            Failure::with_hint(
                format!("cannot create recording {}: {e}", path.display()),
                hint,
            )
        })?;
        let (entries, inbox) = mpsc::sync_channel(ENTRIES_MAX);
        let (done, written) = mpsc::channel();
        let name = path.to_owned();
        let work = move || {
            if let Err(error) = write_all(file, &inbox) {
                warn!(%error, file = %name.display(), "cannot write recording");
            }
            drop(done);
        };
        std::thread::Builder::new()
            .name("recording".to_owned())
            .spawn(work)
            .map_err(|e| Failure::runtime(format!("cannot start a thread: {e}")))?;
        Ok(Self {
            path: path.to_owned(),
            entries: Some(entries),
            written,
            bytes_left: limit,
        })
    }
}

/// Writes entries until the sender is dropped; flushes when no entry is pending.
fn write_all(file: File, inbox: &Receiver<Vec<u8>>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, file);
    while let Ok(first) = inbox.recv() {
        out.write_all(&first)?;
        while let Ok(next) = inbox.try_recv() {
            out.write_all(&next)?;
        }
        out.flush()?;
    }
    out.into_inner()?.sync_all()
}

impl RecordingSink for RecordingFile {
    fn append(&mut self, bytes: Vec<u8>) {
        let Some(entries) = &self.entries else {
            return;
        };
        let bytes_left = self.bytes_left.checked_sub(bytes.len() as u64);
        let Some(bytes_left) = bytes_left else {
            warn!(file = %self.path.display(), reason = "size limit reached", "recording stopped");
            self.entries = None;
            return;
        };
        self.bytes_left = bytes_left;
        match entries.try_send(bytes) {
            Ok(()) => {}
            // The writer has logged the error.
            Err(TrySendError::Disconnected(_)) => self.entries = None,
            Err(TrySendError::Full(_)) => {
                warn!(file = %self.path.display(), reason = "disk too slow", "recording stopped");
                self.entries = None;
            }
        }
    }
}

impl Drop for RecordingFile {
    fn drop(&mut self) {
        self.entries = None;
        if self.written.recv_timeout(FLUSH_TIMEOUT) == Err(mpsc::RecvTimeoutError::Timeout) {
            warn!(file = %self.path.display(), reason = "disk too slow", "recording incomplete");
        }
    }
}
