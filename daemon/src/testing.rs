//! What several test modules need: directories that go away by themselves.

use std::path::{Path, PathBuf};

/// A directory of one test, removed when the value goes.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    /// A fresh one; `name` must be the test's own.
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
