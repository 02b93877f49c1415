//! `--capture`: every MAD of the port in a pcapng file.
//!
//! The file is written beside the traffic; when it cannot be written the capture ends, with a word, and the traffic
//! goes on.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ferrosm_mad::capture::{CaptureWriter, Tap};
use ferrosm_mad::ids::Lid;
use ferrosm_mad::transport::{MadReceiver, MadSender};
use tracing::error;

use crate::failure::Failure;

/// A capture that is being written.
#[derive(Debug)]
pub struct Capture {
    tap: Tap<BufWriter<File>>,
    path: PathBuf,
}

/// The two halves of a port, and the capture beside them.
pub type CapturedPort = (Box<dyn MadSender>, Box<dyn MadReceiver>, Option<Capture>);

/// Puts a capture beside a port, if a file is named; `interface` is the port's name in the file.
///
/// # Errors
/// If the file cannot be made.
pub fn attach<S, R>(
    sender: S,
    receiver: R,
    file: Option<&Path>,
    interface: &str,
) -> Result<CapturedPort, Failure>
where
    S: MadSender + 'static,
    R: MadReceiver + 'static,
{
    let Some(path) = file else {
        return Ok((Box::new(sender), Box::new(receiver), None));
    };
    let tap = Tap::new(create(path, interface)?, unix_ns);
    let capture = Capture {
        tap: tap.clone(),
        path: path.to_owned(),
    };
    Ok((
        Box::new(tap.wrap(sender)),
        Box::new(tap.wrap(receiver)),
        Some(capture),
    ))
}

/// Begins a file; `interface` is what its packets are said to come from.
///
/// # Errors
/// If the file cannot be made.
pub fn create(path: &Path, interface: &str) -> Result<CaptureWriter<BufWriter<File>>, Failure> {
    let refuse = |e: std::io::Error| {
        Failure::with_hint(
            format!("cannot record to {}: {e}", path.display()),
            "Name another file with --capture.",
        )
    };
    let out = BufWriter::with_capacity(1 << 16, File::create(path).map_err(refuse)?);
    CaptureWriter::new(out, interface).map_err(refuse)
}

/// The time that a capture gives to what it records: nanoseconds after 1970.
pub fn unix_ns() -> u64 {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

impl Capture {
    /// The port's own LID from here on.
    pub fn set_local_lid(&self, lid: Lid) {
        self.tap.set_local_lid(lid);
    }

    /// Hands what is buffered to the system, and tells it if the capture ended.
    pub fn flush(&self) {
        if let Err(e) = self.tap.flush() {
            error!(file = %self.path.display(), error = %e, "capture stopped");
        }
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.flush();
    }
}
