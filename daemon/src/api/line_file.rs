//! Files of lines that only grow: what a crash or a full disk cut off stays a line of its own.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Opens a file, which only its owner can read, to append lines.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).read(true).mode(0o600);
    let file = options.open(path)?;
    end_line(&file)?;
    Ok(file)
}

/// Ends a line that a crash or a full disk cut off.
pub(super) fn end_line(mut file: &File) -> io::Result<()> {
    let len = file.metadata()?.len();
    let mut last = [b'\n'];
    if len > 0 {
        file.read_exact_at(&mut last, len - 1)?;
    }
    match last {
        [b'\n'] => Ok(()),
        [_] => file.write_all(b"\n"),
    }
}
