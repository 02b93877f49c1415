//! Whether using a file ended the whole program.
//!
//! A library that panics over what is in a file cannot be stopped from it in builds where panics abort. So a panic while the file is
//! used leaves a mark beside it, before the program ends; whoever finds the mark sets the file aside instead of dying of it at
//! every start. Nothing else leaves one: a program that is killed while it uses the file has nothing against the file.

use std::cell::RefCell;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::Once;

thread_local! {
    /// The mark of the file that this thread uses.
    static IN_USE: RefCell<Option<PathBuf>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

/// The use of a file.
#[derive(Debug)]
pub(super) struct CrashMarker {
    mark: PathBuf,
}

impl CrashMarker {
    pub(super) fn of(file: &Path) -> Self {
        let mut mark = file.as_os_str().to_owned();
        mark.push(".in-use");
        Self { mark: mark.into() }
    }

    /// Whether the file has ended the program before.
    pub(super) fn is_marked(&self) -> bool {
        self.mark.exists()
    }

    /// The same, and it is used from now on. What cannot be marked is not counted: whatever is wrong with the directory,
    /// the file will tell.
    pub(super) fn begin(&self) -> bool {
        if self.is_marked() {
            return true;
        }
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                // Of the thread that panics, and of no other.
                let mark = IN_USE.try_with(|file| file.try_borrow().ok().and_then(|f| f.clone()));
                if let Ok(Some(mark)) = mark {
                    let _ = fs::write(mark, b".");
                }
                before(info);
            }));
        });
        IN_USE.with(|file| file.replace(Some(self.mark.clone())));
        false
    }

    /// The attempt came back, whatever it brought; or another file is there now.
    pub(super) fn end(&self) {
        IN_USE.with(|file| file.replace(None));
        if self.mark.exists() {
            let _ = fs::remove_file(&self.mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn only_a_panic_speaks_against_a_file() {
        let dir = TempDir::new("attempts");
        let attempts = CrashMarker::of(&dir.path().join("store"));
        for _ in 0..3 {
            assert!(!attempts.begin(), "killed while it was used");
        }
        attempts.end();
        assert!(!attempts.begin());
        let thread = std::thread::spawn(|| catch_unwind(|| panic!("of another thread")));
        assert!(thread.join().unwrap().is_err());
        assert!(!attempts.begin());
        let torn = catch_unwind(AssertUnwindSafe(|| panic!("over what is in the file")));
        assert!(torn.is_err());
        assert!(
            attempts.begin() && attempts.begin(),
            "until somebody sets it aside"
        );
        attempts.end();
        assert!(!attempts.begin());
        attempts.end();
    }
}
