//! The socket by which an operator talks to a running service: `control` in its state directory, for its own user only.
//!
//! One line in, one line out, then it is closed. A line in is a word; a line out is a JSON object. It belongs to the service's
//! runtime; what is asked for is told to the driver, and what is answered is what the driver told last. It decides nothing.

use core::time::Duration;
use std::fs::Permissions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::sync::mpsc;

use crate::driver::Control;

/// Name of the socket.
const NAME: &str = "control";
/// Longest line.
const LINE_MAX: u64 = 4096;
/// Time for one side to say its line.
const WITHIN: Duration = Duration::from_secs(5);

/// How the service is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Status {
    /// The state among subnet managers: Master, Standby, ...
    pub state: String,
    /// Why it is that.
    pub why: String,
    /// How often the state changed.
    pub changes: u64,
    /// What the election said last; empty for nothing since the state changed.
    pub notice: String,
    /// How often it said something.
    pub notices: u64,
    /// Sweeps that are done.
    pub sweeps: u32,
}

/// The same, shared between who knows and who tells.
#[derive(Debug, Clone, Default)]
pub struct Board(Arc<Mutex<Status>>);

impl Board {
    /// How it is now.
    #[must_use]
    pub fn read(&self) -> Status {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Something is otherwise.
    pub fn change(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// What an operator may say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// How is it?
    Status,
    /// Let another be master.
    HandOver,
    /// Begin with this subnet, although it is somebody else's.
    TakeOver,
}

impl Word {
    const ALL: [(&'static str, Self); 3] = [
        ("status", Self::Status),
        ("handover", Self::HandOver),
        ("take-over", Self::TakeOver),
    ];

    fn of(line: &str) -> Option<Self> {
        let found = Self::ALL.into_iter().find(|(word, _)| *word == line.trim());
        found.map(|(_, word)| word)
    }

    fn text(self) -> &'static str {
        let found = Self::ALL.into_iter().find(|(_, word)| *word == self);
        found.map_or("", |(text, _)| text)
    }

    const fn control(self) -> Option<Control> {
        match self {
            Self::Status => None,
            Self::HandOver => Some(Control::HandOver),
            Self::TakeOver => Some(Control::TakeOver),
        }
    }
}

/// The service's end; the socket goes with it.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
}

impl Socket {
    /// Begins to listen in a state directory that this process holds. Needs a runtime.
    ///
    /// # Errors
    /// What the system said.
    pub fn open(dir: &Path, board: Board, control: mpsc::Sender<Control>) -> io::Result<Self> {
        let path = dir.join(NAME);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            // Left by a service that was killed: the directory's lock is ours.
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    // No file is left, for now.
                    tokio::time::sleep(WITHIN).await;
                    continue;
                };
                let (board, control) = (board.clone(), control.clone());
                tokio::spawn(tokio::time::timeout(WITHIN, async move {
                    let (from, mut to) = stream.into_split();
                    let mut line = String::new();
                    let mut from = tokio::io::BufReader::new(from.take(LINE_MAX));
                    let read = from.read_line(&mut line).await;
                    if read.is_err() {
                        return;
                    }
                    let answer = match Word::of(&line) {
                        Some(word) => {
                            if let Some(order) = word.control() {
                                // The driver has ended, and so will this.
                                let _ = control.send(order).await;
                            }
                            serde_json::to_string(&board.read()).unwrap_or_default()
                        }
                        None => r#"{"error":"unknown word"}"#.to_owned(),
                    };
                    let _ = to.write_all(format!("{answer}\n").as_bytes()).await;
                }));
            }
        });
        Ok(Self { path })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Nobody is there to hear of it.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Says a word to the service of a state directory, and returns how that one was then.
///
/// # Errors
/// If no service listens there, or its answer is none.
pub fn say(dir: &Path, word: Word) -> io::Result<Status> {
    let mut stream = UnixStream::connect(dir.join(NAME))?;
    stream.set_read_timeout(Some(WITHIN))?;
    stream.set_write_timeout(Some(WITHIN))?;
    stream.write_all(format!("{}\n", word.text()).as_bytes())?;
    let mut line = String::new();
    BufReader::new(stream.take(LINE_MAX)).read_line(&mut line)?;
    serde_json::from_str(&line).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    #[test]
    fn a_word_is_heard_and_answered() {
        let dir = TempDir::new("orders");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let board = Board::default();
        board.change(|status| "Master".clone_into(&mut status.state));
        let (control, mut orders) = mpsc::channel(4);
        runtime.block_on(async {
            let socket = Socket::open(dir.path(), board, control).unwrap();
            let place = dir.path().to_owned();
            let said = tokio::task::spawn_blocking(move || {
                let status = say(&place, Word::Status).unwrap();
                say(&place, Word::HandOver).unwrap();
                status
            });
            assert_eq!(said.await.unwrap().state, "Master");
            assert_eq!(orders.recv().await, Some(Control::HandOver));
            drop(socket);
        });
        assert!(say(dir.path(), Word::Status).is_err(), "nobody is there");
    }

    #[test]
    fn nothing_but_known_words_is_understood() {
        assert_eq!(Word::of(" handover \n"), Some(Word::HandOver));
        assert_eq!(Word::of("handover now"), None);
        for (text, word) in Word::ALL {
            assert_eq!((Word::of(text), word.text()), (Some(word), text));
        }
    }
}
