//! Writing a file so that a reader sees the old or the new one, never half of it.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes `path` by way of a temporary file beside it: written, synced, renamed, directory synced.
///
/// `fill` writes the content. When anything fails the temporary file is removed and `path` is as it was.
///
/// # Errors
/// What the system said, or what `fill` returned.
pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    write_for(0o666, path, fill)
}

/// The same, for nobody but its owner: what has keys in it.
///
/// # Errors
/// As [`write()`].
pub fn write_private(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    write_for(0o600, path, fill)
}

fn write_for(
    mode: u32,
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let temp = temp_beside(path);
    let done = fill_and_rename(mode, path, &temp, fill);
    if done.is_err() {
        // Nothing more can be done about a file that can't be removed either.
        let _ = std::fs::remove_file(&temp);
    }
    done
}

fn fill_and_rename(
    mode: u32,
    path: &Path,
    temp: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(temp)?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    fill(&mut out)?;
    out.into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_all()?;
    std::fs::rename(temp, path)?;
    if let Some(dir) = parent(path) {
        // The rename is in the directory: without this it may be lost in a power cut.
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}

fn parent(path: &Path) -> Option<&Path> {
    path.parent().map(|dir| {
        if dir.as_os_str().is_empty() {
            Path::new(".")
        } else {
            dir
        }
    })
}

/// Files that this process has begun to write.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

fn temp_beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    // Two that write the same file at one time each have their own.
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".tmp-{}-{number}", std::process::id()));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn the_file_is_replaced_whole() {
        let dir = TempDir::new("atomic-replace");
        let path = dir.path().join("x");
        write(&path, |out| out.write_all(b"one")).unwrap();
        write(&path, |out| out.write_all(b"two")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            1,
            "no temporary file is left"
        );
    }

    #[test]
    fn a_private_file_is_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt;
        let dir = TempDir::new("private");
        let path = dir.path().join("keys");
        write_private(&path, |out| out.write_all(b"k")).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let dir = TempDir::new("atomic-fail");
        let path = dir.path().join("x");
        write(&path, |out| out.write_all(b"one")).unwrap();
        let failed = write(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("disk on fire"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "disk on fire");
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
