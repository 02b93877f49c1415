//! `--capture`: writes every MAD of the port to a pcapng file.
//!
//! If the file cannot be written, the capture stops with a log event; MAD traffic continues.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use ferrosm_mad::ids::Lid;
use ferrosm_umad::capture::{CaptureWriter, Tap};
use ferrosm_umad::transport::{MadReceiver, MadSender};
use tracing::error;

use crate::clock::unix_ns;
use crate::failure::Failure;

/// A capture in progress.
#[derive(Debug)]
pub struct Capture {
    tap: Tap<BufWriter<File>>,
    path: PathBuf,
}

/// The two halves of a port, and its capture.
pub type CapturedPort = (Box<dyn MadSender>, Box<dyn MadReceiver>, Option<Capture>);

/// Attaches a capture to a port if there is a `file`; `interface` is the port's name in the file.
///
/// # Errors
/// The file cannot be created.
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

/// Creates a capture file; `interface` is the name of its interface.
///
/// # Errors
/// The file cannot be created.
pub fn create(path: &Path, interface: &str) -> Result<CaptureWriter<BufWriter<File>>, Failure> {
    let failure = |e: std::io::Error| {
        Failure::with_hint(
            format!("cannot create capture {}: {e}", path.display()),
            "Name another file with --capture.",
        )
    };
    let out = BufWriter::with_capacity(1 << 16, File::create(path).map_err(failure)?);
    CaptureWriter::new(out, interface).map_err(failure)
}

impl Capture {
    /// Sets the port's own LID for subsequent packets.
    pub fn set_local_lid(&self, lid: Lid) {
        self.tap.set_local_lid(lid);
    }

    /// Flushes the buffer; logs if the capture has stopped.
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
