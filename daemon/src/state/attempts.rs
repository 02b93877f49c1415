//! How often using a file ended the whole program, one time after the other.
//!
//! A library that panics over what is in a file cannot be stopped from it in builds where panics abort. So a mark beside the file
//! says that it is in use; whoever finds marks of several attempts that never came back sets the file aside instead of dying of
//! it at every start. One mark proves nothing: the program may have been killed just then.

use std::fs;
use std::path::{Path, PathBuf};

/// Attempts without an end that are too many.
const TOO_MANY: usize = 2;

/// The mark of a file: as many bytes as there were attempts without an end.
#[derive(Debug)]
pub(super) struct Attempts {
    mark: PathBuf,
}

impl Attempts {
    pub(super) fn of(file: &Path) -> Self {
        let mut mark = file.as_os_str().to_owned();
        mark.push(".in-use");
        Self { mark: mark.into() }
    }

    /// Whether the file has ended the program too often. What cannot be marked is not counted: whatever is wrong with the
    /// directory, the file will tell.
    pub(super) fn begin(&self) -> bool {
        let before = fs::metadata(&self.mark).map_or(0, |mark| mark.len());
        let before = usize::try_from(before).unwrap_or(usize::MAX);
        if before >= TOO_MANY {
            return true;
        }
        let _ = fs::write(&self.mark, vec![b'.'; before + 1]);
        false
    }

    /// The attempt came back, whatever it brought; or another file is there now.
    pub(super) fn end(&self) {
        let _ = fs::remove_file(&self.mark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn the_third_attempt_is_one_too_many() {
        let dir = TempDir::new("attempts");
        let attempts = Attempts::of(&dir.path().join("store"));
        for _ in 0..3 {
            assert!(!attempts.begin());
            attempts.end();
        }
        assert!(!attempts.begin(), "killed while it was used");
        assert!(!attempts.begin(), "killed again");
        assert!(attempts.begin());
        assert!(attempts.begin(), "until somebody sets it aside");
        attempts.end();
        assert!(!attempts.begin());
    }
}
