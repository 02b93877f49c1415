//! Atomic replacement of files: a reader sees the old or the new version, never a part.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// The user ID of root.
const ROOT: u32 = 0;

/// Writes a temporary file in the same directory, syncs it, renames it to `path`, and syncs the
/// directory.
///
/// `fill` writes the content. If anything fails, the temporary file is removed and `path` is
/// unchanged.
///
/// # Errors
/// I/O errors, and errors of `fill`.
pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let temporary = temporary_file(0o666, dir_of(path))?;
    persist(temporary, path, fill, |_| Ok(()))
}

/// [`write()`] with mode 0600, for files with keys. If root writes, the file belongs to the owner
/// of the directory ([`give_to_owner_of`]).
///
/// # Errors
/// As [`write()`].
pub fn write_private(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let dir = dir_of(path);
    let temporary = temporary_file(0o600, dir)?;
    persist(temporary, path, fill, |file| give_to_owner_of(dir, file))
}

/// Replaces a file. The new one has its mode and, if this process may set it, its owner. A file
/// that did not exist is as one of [`write_private`]. If `path` is a symbolic link, its target is
/// replaced.
///
/// # Errors
/// As [`write()`].
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let target = target_of(path)?;
    let old = match std::fs::metadata(&target) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let temporary = temporary_file(0o600, dir_of(&target))?;
    persist(
        temporary,
        &target,
        |out| out.write_all(content),
        |file| {
            let Some(old) = &old else {
                return give_to_owner_of(dir_of(&target), file);
            };
            // Only root may set another owner. The content counts.
            let _ = fchown(file, Some(old.uid()), Some(old.gid()));
            file.set_permissions(old.permissions())
        },
    )
}

/// Gives a file of root to the owner of a directory, so that commands which root runs leave nothing
/// that a service with a user of its own cannot read. A file of another user stays as it is.
///
/// # Errors
/// I/O errors.
pub fn give_to_owner_of(dir: &Path, file: &File) -> io::Result<()> {
    let owner = std::fs::metadata(dir)?;
    if file.metadata()?.uid() != ROOT || owner.uid() == ROOT {
        return Ok(());
    }
    fchown(file, Some(owner.uid()), Some(owner.gid()))
}

/// Checks whether [`replace`] could replace a file, as far as that can be known before.
///
/// # Errors
/// The directory does not exist, or is not writable.
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    temporary_file(0o600, dir_of(&target_of(path)?)).map(drop)
}

/// The file that a path leads to, which may not exist.
fn target_of(path: &Path) -> io::Result<PathBuf> {
    match std::fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_owned()),
        target => target,
    }
}

pub(crate) fn dir_of(path: &Path) -> &Path {
    path.parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .unwrap_or_else(|| Path::new("."))
}

fn temporary_file(mode: u32, dir: &Path) -> io::Result<NamedTempFile> {
    // The umask applies to the mode.
    tempfile::Builder::new()
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
        })
}

/// Fills a temporary file, prepares it, syncs it, and renames it.
fn persist(
    temporary: NamedTempFile,
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    prepare: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    // Errors of the plain file do not name it, either.
    let (file, temporary) = temporary.into_parts();
    let mut out = BufWriter::with_capacity(1 << 16, file);
    fill(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    prepare(&file)?;
    file.sync_all()?;
    temporary.persist(path)?;
    // Without this, the rename may be lost in a power failure.
    File::open(dir_of(path))?.sync_all()
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

    /// Runs as root in CI and as any user elsewhere, to whom files belong anyway.
    #[test]
    fn private_files_belong_to_the_owner_of_the_directory() {
        use std::os::unix::fs::chown;
        let dir = tempfile::tempdir().unwrap();
        let is_root = chown(dir.path(), Some(1234), Some(1235)).is_ok();
        let path = dir.path().join("keys");
        write_private(&path, |out| out.write_all(b"k")).unwrap();
        let new = dir.path().join("new");
        replace(&new, b"keys").unwrap();
        let owner = std::fs::metadata(dir.path()).unwrap();
        assert_eq!(owner.uid() == 1234, is_root);
        for path in [path, new] {
            let file = std::fs::metadata(path).unwrap();
            assert_eq!((file.uid(), file.gid()), (owner.uid(), owner.gid()));
        }
    }

    #[test]
    fn replaced_file_keeps_its_mode_and_a_link_its_target() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let link = dir.path().join("link");
        std::fs::write(&file, "one").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        check_replaceable(&link).unwrap();
        replace(&link, b"two").unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"two");
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&file), 0o644);
        let new = dir.path().join("new");
        replace(&new, b"keys").unwrap();
        assert_eq!(mode(&new), 0o600);
        assert!(check_replaceable(&dir.path().join("none/x")).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 3);
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
