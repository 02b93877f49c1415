//! Writes a file so that a reader sees the old or the new version, never a part of one.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes `path` by way of a temporary file beside it: written, synced, renamed, directory synced.
///
/// `fill` writes the content. If anything fails, the temporary file is removed and `path` is unchanged.
///
/// # Errors
/// Errors of the system and of `fill`.
pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    write_with_mode(0o666, path, fill)
}

/// The same for a file with keys in it, which only its owner may read.
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
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let dir = dir.unwrap_or_else(|| Path::new("."));
    // The umask applies to the mode.
    let temporary = tempfile::Builder::new()
        .prefix(".ferrosm-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(dir)
        // tempfile's errors name the temporary path, which is random: a failure that repeats would be logged differently each time.
        .map_err(|error| io::Error::from(error.kind()))?;
    // For the same reason it is written through the plain file.
    let (file, temporary) = temporary.into_parts();
    let mut out = BufWriter::with_capacity(1 << 16, file);
    fill(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    temporary.persist(path)?;
    // The rename is in the directory: without this it may be lost in a power cut.
    File::open(dir)?.sync_all()
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
    fn errors_do_not_name_the_temporary_file() {
        let dir = TempDir::new("atomic-nowhere");
        let error = write(&dir.path().join("none/x"), |_| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "entity not found");
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
