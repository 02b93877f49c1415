//! Directories of their own for programs that leave files behind.
//!
//! One per [`Scratch`] value, removed with it; kept, and named on stderr, when the test fails, so that logs and
//! dumps can be read. It never reuses a name and never touches the repository.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process, thread};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A number that no other value of this process has, with the process id: unique on this machine for now.
#[must_use]
pub fn unique_name(stem: &str) -> String {
    format!(
        "{stem}-{}-{}",
        process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

/// A fresh directory.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes a directory under the system's temporary directory.
    ///
    /// # Panics
    /// If it cannot be made: there is no test without it.
    #[must_use]
    pub fn new(stem: &str) -> Self {
        Self::under(&env::temp_dir(), stem)
    }

    /// The same in the machine's memory where it has such a directory: nothing that is written there waits for a disk.
    ///
    /// # Panics
    /// If it cannot be made.
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
            panic!("cannot make the directory {}: {error}", path.display());
        }
        Self { path }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A path in it.
    #[must_use]
    pub fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Makes a directory in it, if it is not there yet.
    ///
    /// # Panics
    /// If that fails.
    #[must_use]
    pub fn dir(&self, name: &str) -> PathBuf {
        let path = self.join(name);
        if let Err(error) = fs::create_dir_all(&path) {
            panic!("cannot make the directory {}: {error}", path.display());
        }
        path
    }
}

impl Drop for Scratch {
    #[expect(
        clippy::print_stderr,
        reason = "tells the reader of a failed test where its files are"
    )]
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("kept for reading: {}", self.path.display());
        } else {
            // A leftover directory is no reason to fail a test that passed.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
