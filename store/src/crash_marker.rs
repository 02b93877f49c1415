//! Marks a file whose use made the program panic.
//!
//! In builds where panics abort, a storage library that panics on invalid contents would end the
//! program at every start. A panic hook therefore creates a marker next to the file; the next start
//! finds it and renames the file. Only a panic creates a marker: a process that is killed does not.

use std::cell::RefCell;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Once;

thread_local! {
    /// Marker of the file that this thread uses.
    static IN_USE: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

/// Marker of one file.
#[derive(Debug)]
pub(crate) struct CrashMarker {
    path: PathBuf,
}

impl CrashMarker {
    pub(crate) fn new(file: &Path) -> Self {
        let mut path = file.as_os_str().to_owned();
        path.push(".in-use");
        Self { path: path.into() }
    }

    /// Whether an earlier use of the file panicked.
    pub(crate) fn is_marked(&self) -> bool {
        self.path.exists()
    }

    /// Arms the marker for this thread; returns whether an earlier use of the file panicked. If the
    /// marker cannot be created later, the panic is not recorded.
    pub(crate) fn arm(&self) -> bool {
        if self.is_marked() {
            return true;
        }
        HOOK.call_once(|| {
            let previous_hook = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                // Only the file of the panicking thread is marked.
                let path = IN_USE.try_with(|file| file.try_borrow().ok().and_then(|f| f.clone()));
                if let Ok(Some(path)) = path {
                    let _ = fs::write(path, b".");
                }
                previous_hook(info);
            }));
        });
        IN_USE.with(|file| file.replace(Some(self.path.clone())));
        false
    }

    /// Disarms the marker and removes it, after a use without panic or when the file was replaced.
    pub(crate) fn disarm(&self) {
        IN_USE.with(|file| file.replace(None));
        if self.path.exists() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn only_a_panic_marks_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let marker = CrashMarker::new(&dir.path().join("store"));
        for _ in 0..3 {
            assert!(!marker.arm(), "no panic occurred");
        }
        marker.disarm();
        assert!(!marker.arm());
        let thread = std::thread::spawn(|| catch_unwind(|| panic!("in another thread")));
        assert!(thread.join().unwrap().is_err());
        assert!(!marker.arm());
        let panicked = catch_unwind(AssertUnwindSafe(|| panic!("invalid contents")));
        assert!(panicked.is_err());
        assert!(
            marker.arm() && marker.arm(),
            "marked until the file is renamed"
        );
        marker.disarm();
        assert!(!marker.arm());
        marker.disarm();
    }
}
