//! The audit log: a line of JSON for each received and each ended command.
//!
//! A thread writes it, because a disk that hangs must stop neither the SM nor the API.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::mpsc;

use ferrosm_api::command::Command as Entry;
use tracing::warn;

use crate::api::rotating_lines::{LineFiles, RotatingLines};
use crate::output::json;

/// The files in the state directory.
const FILES: LineFiles = LineFiles {
    name: "audit.jsonl",
    old_name: "audit.jsonl.1",
    len_max: 4 << 20,
    report: report_failure,
};

/// The audit log. Its thread ends when this is dropped and all lines are written.
#[derive(Debug)]
pub(super) struct AuditLog {
    lines: mpsc::Sender<String>,
    last_command: u64,
}

impl AuditLog {
    /// Opens the log of a state directory. A failure is logged.
    pub(super) fn open(state_dir: &Path) -> Option<Self> {
        Self::try_open(state_dir)
            .inspect_err(|error| report_failure(state_dir, error))
            .ok()
    }

    fn try_open(state_dir: &Path) -> io::Result<Self> {
        let mut file = RotatingLines::open(state_dir, &FILES)?;
        let last_command = last_command(state_dir);
        let (lines, received) = mpsc::channel::<String>();
        std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || {
                for line in received {
                    file.write(&line);
                }
            })?;
        Ok(Self {
            lines,
            last_command,
        })
    }

    /// The number of the last command in the log; 0 if there is none.
    pub(super) const fn last_command(&self) -> u64 {
        self.last_command
    }

    /// Writes a command in its current state.
    pub(super) fn write(&self, entry: &Entry) {
        // Fails only if the thread panicked.
        let _ = self.lines.send(json::to_line(entry));
    }
}

fn report_failure(dir: &Path, error: &io::Error) {
    let effect = "commands are logged only as events";
    warn!(%error, dir = %dir.display(), effect, "cannot write audit log");
}

/// The highest number in the log. Lines that were cut off by a crash are skipped.
fn last_command(dir: &Path) -> u64 {
    let numbers = |name: &str| {
        let file = File::open(dir.join(name)).ok()?;
        let lines = BufReader::new(file).lines().map_while(Result::ok);
        let entries = lines.filter_map(|line| serde_json::from_str::<Entry>(&line).ok());
        entries.map(|entry| entry.command).max()
    };
    // A command that began before a rotation may end after it.
    numbers(FILES.name)
        .max(numbers(FILES.old_name))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::io::Write;

    use ferrosm_core::{Command, CommandFailure};

    use super::super::CommandLog;
    use super::*;

    fn lines(dir: &Path) -> Vec<String> {
        let text = std::fs::read_to_string(dir.join(FILES.name)).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until the thread has written the lines of a log that is dropped.
    fn drained(log: CommandLog, dir: &Path, count: usize) -> Vec<String> {
        drop(log);
        let written = (0..500).map(|_| {
            std::thread::sleep(core::time::Duration::from_millis(10));
            lines(dir)
        });
        let mut complete = written.filter(|lines| lines.len() == count);
        complete.next().unwrap()
    }

    /// Each command has two lines; numbers rise across restarts, also after a crash within a line.
    #[test]
    fn commands_are_written_and_numbers_continue() {
        let dir = tempfile::tempdir().unwrap();
        let log = CommandLog::open(dir.path());
        let first = log.begin(&Command::Sweep, "root".to_owned(), Some("why".to_owned()));
        log.end(first, &Err(CommandFailure::NoLink));
        // Only the first end counts.
        log.end(first, &Err(CommandFailure::Stopping));
        let written = drained(log, dir.path(), 2);
        assert!(
            written[0].contains("\"state\":\"in-progress\""),
            "{written:?}"
        );
        assert!(written[0].contains("\"reason\":\"why\""), "{written:?}");
        assert!(written[1].contains("\"state\":\"failed\""), "{written:?}");
        let mut file = OpenOptions::new();
        let mut file = file.append(true).open(dir.path().join(FILES.name)).unwrap();
        file.write_all(b"{\"command\":9").unwrap();
        let log = CommandLog::open(dir.path());
        assert_eq!(log.begin(&Command::Sweep, String::new(), None).0, 2);
        let written = drained(log, dir.path(), 4);
        assert!(written[3].starts_with("{\"command\":2,"), "{written:?}");
    }
}
