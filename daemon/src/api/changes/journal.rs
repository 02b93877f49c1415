//! The changes on disk: lines of JSON in two files of a bounded size.
//!
//! A thread writes them, because a disk that hangs must not stop the SM.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};

use ferrosm_api::change::Change;
use tracing::warn;

use crate::api::line_file;
use crate::output::json;

/// The file in the state directory.
const FILE: &str = "changes.jsonl";
/// The file before the last one that became too large.
const OLD_FILE: &str = "changes.jsonl.1";
/// Size of a file from which on a new one is begun, in bytes.
const FILE_LEN_MAX: u64 = 8 << 20;
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
        let (changes, inbox) = mpsc::sync_channel(WAITING_MAX);
        let started = Writer::open(dir).and_then(|writer| {
            let name = "changes".to_owned();
            let thread = std::thread::Builder::new().name(name);
            thread.spawn(move || writer.run(&inbox))
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
    for name in [OLD_FILE, FILE] {
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

#[derive(Debug)]
struct Writer {
    dir: PathBuf,
    file: File,
    len: u64,
    has_failed: bool,
}

impl Writer {
    fn open(dir: &Path) -> io::Result<Self> {
        let file = line_file::open(&dir.join(FILE))?;
        let len = file.metadata()?.len();
        Ok(Self {
            dir: dir.to_owned(),
            file,
            len,
            has_failed: false,
        })
    }

    fn run(mut self, inbox: &Receiver<Arc<Change>>) {
        for change in inbox {
            match self.write(&json::to_line(&*change)) {
                Ok(()) => self.has_failed = false,
                Err(error) => {
                    if !core::mem::replace(&mut self.has_failed, true) {
                        report_failure(&self.dir, &error);
                    }
                }
            }
        }
    }

    fn write(&mut self, line: &str) -> io::Result<()> {
        if self.len >= FILE_LEN_MAX {
            std::fs::rename(self.dir.join(FILE), self.dir.join(OLD_FILE))?;
            let has_failed = self.has_failed;
            *self = Self::open(&self.dir)?;
            self.has_failed = has_failed;
        }
        self.file.write_all(line.as_bytes())?;
        self.len += line.len() as u64;
        Ok(())
    }
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
        let mut writer = Writer::open(dir.path()).unwrap();
        writer.write(&json::to_line(&change(1))).unwrap();
        writer.write("{\"number\":2,\"at").unwrap();
        let mut writer = Writer::open(dir.path()).unwrap();
        writer.write(&json::to_line(&change(3))).unwrap();
        let numbers = |max| -> Vec<u64> {
            let last = read_last(dir.path(), max);
            last.iter().map(|change| change.number).collect()
        };
        assert_eq!(numbers(10), [1, 3]);
        for number in 4..30_000 {
            writer.write(&json::to_line(&change(number))).unwrap();
        }
        assert_eq!(numbers(2), [29_998, 29_999]);
        for name in [FILE, OLD_FILE] {
            let len = std::fs::metadata(dir.path().join(name)).unwrap().len();
            assert!(len <= FILE_LEN_MAX + 2000, "{name}: {len}");
        }
    }
}
