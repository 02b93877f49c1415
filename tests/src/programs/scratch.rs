//! Temporary directories for programs that write files.
//!
//! Dropping a [`Scratch`] removes its directory. If the test fails, the directory remains and its
//! path is printed to stderr. Names are unique, and directories are outside the repository.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process, thread};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A name with the process ID and a number that is unique in this process.
#[must_use]
pub fn unique_name(stem: &str) -> String {
    format!(
        "{stem}-{}-{}",
        process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// A temporary directory.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Creates a directory in the system's temporary directory.
    ///
    /// # Panics
    /// If the directory cannot be created.
    #[must_use]
    pub fn new(stem: &str) -> Self {
        Self::under(&env::temp_dir(), stem)
    }

    /// Creates a directory in `/dev/shm` if that exists, so that writes do not wait for a disk.
    ///
    /// # Panics
    /// If the directory cannot be created.
    #[must_use]
    pub fn in_memory(stem: &str) -> Self {
        let memory = Path::new("/dev/shm");
        if memory.is_dir() {
            Self::under(memory, stem)
        } else {
            Self::new(stem)
        }
    }

    fn under(folder: &Path, stem: &str) -> Self {
        let path = folder.join(unique_name(&format!("ferrosm-{stem}")));
        if let Err(error) = fs::create_dir_all(&path) {
            panic!("cannot create the directory {}: {error}", path.display());
        }
        Self { path }
    }

    /// The path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in the directory.
    #[must_use]
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Creates a subdirectory if it does not exist.
    ///
    /// # Panics
    /// If the subdirectory cannot be created.
    #[must_use]
    pub fn dir(&self, name: &str) -> PathBuf {
        let path = self.join(name);
        if let Err(error) = fs::create_dir_all(&path) {
            panic!("cannot create the directory {}: {error}", path.display());
        }
        path
    }
}

impl Drop for Scratch {
    #[expect(
        clippy::print_stderr,
        reason = "prints where the files of a failed test are"
    )]
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("files of the failed test: {}", self.path.display());
        } else {
            // A passed test does not fail because its directory cannot be removed.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Writes a file.
///
/// # Panics
///
/// If that fails.
pub fn write_file(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}
