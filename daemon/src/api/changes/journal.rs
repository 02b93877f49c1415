//! The changes on disk: lines of JSON in two files of a bounded size.
//!
//! A thread writes them, because a disk that hangs must not stop the SM.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, SyncSender, TrySendError};

use ferrosm_api::change::Change;
use tracing::warn;

use crate::api::rotating_lines::{LineFiles, RotatingLines};
use crate::output::json;

/// The files in the state directory.
const FILES: LineFiles = LineFiles {
    name: "changes.jsonl",
    old_name: "changes.jsonl.1",
    len_max: 8 << 20,
    report: report_failure,
};
/// Longest line that is read, in bytes.
const LINE_LEN_MAX: u64 = 64 << 10;
/// Most changes that wait for the disk. Further ones are not written.
const WAITING_MAX: usize = 4096;

/// Writes changes. The thread ends when this is dropped and all changes are written.
#[derive(Debug)]
pub(super) struct Journal {
    changes: SyncSender<Arc<Change>>,
    is_full: bool,
}

impl Journal {
    /// Opens the journal of a state directory. A failure is logged.
    pub(super) fn open(dir: &Path) -> Option<Self> {
        let (changes, inbox) = mpsc::sync_channel::<Arc<Change>>(WAITING_MAX);
        let started = RotatingLines::open(dir, &FILES).and_then(|mut file| {
            let name = "changes".to_owned();
            let thread = std::thread::Builder::new().name(name);
            thread.spawn(move || {
                for change in inbox {
                    file.write(&json::to_line(&*change));
                }
            })
        });
        match started {
            Ok(_) => Some(Self {
                changes,
                is_full: false,
            }),
            Err(error) => {
                report_failure(dir, &error);
                None
            }
        }
    }

    pub(super) fn write(&mut self, change: &Arc<Change>) {
        let sent = self.changes.try_send(Arc::clone(change));
        let is_full = matches!(sent, Err(TrySendError::Full(_)));
        if is_full && !self.is_full {
            warn!(waiting = WAITING_MAX, "changes not written");
        }
        self.is_full = is_full;
    }
}

fn report_failure(dir: &Path, error: &io::Error) {
    let effect = "`ferrosm changes` forgets them at a restart";
    warn!(dir = %dir.display(), %error, effect, "cannot write changes");
}

/// The last changes of earlier runs, at most `max`. Lines that a crash cut off are skipped.
pub(super) fn read_last(dir: &Path, max: usize) -> VecDeque<Arc<Change>> {
    let mut last = VecDeque::new();
    for name in [FILES.old_name, FILES.name] {
        let Ok(file) = File::open(dir.join(name)) else {
            continue;
        };
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let mut limited = (&mut reader).take(LINE_LEN_MAX);
            match limited.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            if let Ok(change) = serde_json::from_slice::<Change>(&line) {
                if last.len() == max {
                    last.pop_front();
                }
                last.push_back(Arc::new(change));
            }
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use ferrosm_api::change::ChangeKind;

    use super::*;

    fn change(number: u64) -> Change {
        Change {
            number,
            at: String::new(),
            kind: ChangeKind::Link,
            what: "x".repeat(1000),
            object: None,
            state: None,
            nodes: Vec::new(),
            cause: None,
            effect: None,
        }
    }

    /// Changes are read back after a crash within a line; the files take a bounded space.
    #[test]
    fn journal_is_bounded_and_survives_a_crash() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = RotatingLines::open(dir.path(), &FILES).unwrap();
        writer.write(&json::to_line(&change(1)));
        writer.write("{\"number\":2,\"at");
        let mut writer = RotatingLines::open(dir.path(), &FILES).unwrap();
        writer.write(&json::to_line(&change(3)));
        let numbers = |max| -> Vec<u64> {
            let last = read_last(dir.path(), max);
            last.iter().map(|change| change.number).collect()
        };
        assert_eq!(numbers(10), [1, 3]);
        for number in 4..30_000 {
            writer.write(&json::to_line(&change(number)));
        }
        assert_eq!(numbers(2), [29_998, 29_999]);
        for name in [FILES.name, FILES.old_name] {
            let len = std::fs::metadata(dir.path().join(name)).unwrap().len();
            assert!(len <= FILES.len_max + 2000, "{name}: {len}");
        }
    }
}
