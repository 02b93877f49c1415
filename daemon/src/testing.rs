//! Temporary directories for tests.

use std::path::{Path, PathBuf};

/// Directory of one test, removed when dropped.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    /// Creates an empty directory; `name` must be unique to the test.
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ferrosm-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a temporary directory");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
