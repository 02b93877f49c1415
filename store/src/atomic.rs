//! Atomic replacement of files: a reader sees the old or the new version, never a part.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes a temporary file in the same directory, syncs it, renames it to `path`, and syncs the
/// directory.
///
/// `fill` writes the content. If anything fails, the temporary file is removed and `path` is
/// unchanged.
///
/// # Errors
/// I/O errors, and errors of `fill`.
pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    write_with_mode(0o666, path, fill)
}

/// [`write()`] with mode 0600, for files with keys.
///
/// # Errors
/// As [`write()`].
pub fn write_private(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    write_with_mode(0o600, path, fill)
}

fn write_with_mode(
    mode: u32,
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let dir = path
        .parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .unwrap_or_else(|| Path::new("."));
    // The umask applies to the mode.
    let temporary = tempfile::Builder::new()
        .prefix(".ferrosm-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(dir)
        // tempfile's errors contain the random temporary path, which would make repeated failures
        // look different in the log.
        .map_err(|error| {
            let kind = error.kind();
            if kind == io::ErrorKind::NotFound {
                io::Error::new(kind, "directory does not exist")
            } else {
                kind.into()
            }
        })?;
    // For the same reason, write through the plain file.
    let (file, temporary) = temporary.into_parts();
    let mut out = BufWriter::with_capacity(1 << 16, file);
    fill(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    temporary.persist(path)?;
    // Without this, the rename may be lost in a power failure.
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_replaced_completely() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        write(&path, |out| out.write_all(b"one")).unwrap();
        write(&path, |out| out.write_all(b"two")).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            1,
            "no temporary file remains"
        );
    }

    #[test]
    fn errors_do_not_name_the_temporary_file() {
        let dir = tempfile::tempdir().unwrap();
        let error = write(&dir.path().join("none/x"), |_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "directory does not exist");
    }

    #[test]
    fn private_file_has_mode_0600() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        write_private(&path, |out| out.write_all(b"k")).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn failed_write_leaves_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
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
