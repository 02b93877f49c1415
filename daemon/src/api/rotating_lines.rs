//! Files of lines that only grow, with a bound on their size: a full file is kept once, under
//! another name, and a new one is begun. What a crash or a full disk cut off stays a line of its
//! own.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The two files of a kind of lines.
#[derive(Debug)]
pub(super) struct LineFiles {
    /// The file in the state directory.
    pub(super) name: &'static str,
    /// The file before the last one that became too large.
    pub(super) old_name: &'static str,
    /// Size of a file from which on a new one is begun, in bytes.
    pub(super) len_max: u64,
    /// Logs that lines of this directory cannot be written.
    pub(super) report: fn(&Path, &io::Error),
}

/// Appends lines. The failure of a write, or of the begin of a new file, is logged once; the next
/// line tries again.
#[derive(Debug)]
pub(super) struct RotatingLines {
    files: &'static LineFiles,
    dir: PathBuf,
    file: File,
    len: u64,
    has_failed: bool,
}

impl RotatingLines {
    /// Opens the file in a directory, or creates it.
    pub(super) fn open(dir: &Path, files: &'static LineFiles) -> io::Result<Self> {
        let file = open(&dir.join(files.name))?;
        Ok(Self {
            files,
            len: file.metadata()?.len(),
            dir: dir.to_owned(),
            file,
            has_failed: false,
        })
    }

    /// Writes a line with its end.
    pub(super) fn write(&mut self, line: &str) {
        match self.try_write(line) {
            Ok(()) => self.has_failed = false,
            Err(error) => {
                if !core::mem::replace(&mut self.has_failed, true) {
                    (self.files.report)(&self.dir, &error);
                }
            }
        }
    }

    fn try_write(&mut self, line: &str) -> io::Result<()> {
        if self.len >= self.files.len_max {
            let old_path = self.dir.join(self.files.old_name);
            let renamed = std::fs::rename(self.dir.join(self.files.name), old_path);
            // An earlier attempt could not open the new file.
            if let Err(error) = renamed
                && error.kind() != io::ErrorKind::NotFound
            {
                return Err(error);
            }
            *self = Self {
                has_failed: self.has_failed,
                ..Self::open(&self.dir, self.files)?
            };
        }
        if self.has_failed {
            end_line(&self.file)?;
        }
        self.file.write_all(line.as_bytes())?;
        self.len += line.len() as u64;
        Ok(())
    }
}

/// Opens a file, which only its owner can read, to append lines.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).read(true).mode(0o600);
    let file = options.open(path)?;
    end_line(&file)?;
    Ok(file)
}

/// Ends a line that a crash or a full disk cut off.
fn end_line(mut file: &File) -> io::Result<()> {
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

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    static REPORTS: AtomicUsize = AtomicUsize::new(0);
    const FILES: LineFiles = LineFiles {
        name: "lines",
        old_name: "lines.1",
        len_max: 20,
        report: |_, _| {
            let _ = REPORTS.fetch_add(1, Ordering::Relaxed);
        },
    };

    /// A full file is kept once. While it cannot be renamed, lines are lost with one report; after
    /// that, and after the file was removed by someone, they are written again.
    #[test]
    fn failed_rotation_is_tried_again() {
        let dir = tempfile::tempdir().unwrap();
        let old = dir.path().join(FILES.old_name);
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap_or_default();
        // A directory that is not empty cannot be replaced.
        std::fs::create_dir_all(old.join("x")).unwrap();
        let mut lines = RotatingLines::open(dir.path(), &FILES).unwrap();
        for line in ["a".repeat(19), "b".to_owned(), "c".to_owned()] {
            lines.write(&format!("{line}\n"));
        }
        assert_eq!(REPORTS.load(Ordering::Relaxed), 1);
        assert_eq!(read(FILES.name), format!("{}\n", "a".repeat(19)));
        std::fs::remove_dir_all(&old).unwrap();
        lines.write("d\n");
        assert_eq!(read(FILES.name), "d\n");
        assert_eq!(read(FILES.old_name), format!("{}\n", "a".repeat(19)));
        lines.write(&format!("{}\n", "e".repeat(19)));
        std::fs::remove_file(dir.path().join(FILES.name)).unwrap();
        lines.write("f\n");
        assert_eq!(read(FILES.name), "f\n");
        assert_eq!(REPORTS.load(Ordering::Relaxed), 1);
    }

    /// A line that a crash cut off ends before the next one.
    #[test]
    fn cut_off_line_stays_a_line_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILES.name);
        std::fs::write(&path, "cut").unwrap();
        RotatingLines::open(dir.path(), &FILES)
            .unwrap()
            .write("x\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "cut\nx\n");
    }
}
