//! What is kept over restarts: `lids.json`, `registrations.json` and `store.redb` in the state directory.
//!
//! One process writes at a time: the directory's lock file is held as long as a [`StateDir`] lives. Files are versioned and
//! replaced atomically; those that people may want to read are text. A broken file is set aside and told, never a reason not
//! to run.

mod attempts;
mod lids;
mod registrations;
mod store;

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::SystemTime;

use anyhow::Context;
use ferrosm_core::LidMap;
use ferrosm_core::sa::View;
use ferrosm_core::sa::registry::saved::Saved;
use ferrosm_core::sa::view::saved::Snapshot;
use tracing::{error, warn};

use crate::atomic;
use crate::failure::Failure;
use store::{Store, Trouble};

const LOCK: &str = "lock";

/// A state directory that this process holds.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    store: Store,
    /// The lock goes with the file.
    _lock: File,
}

/// Something to be kept, in place of what was kept of its kind before.
#[derive(Debug)]
pub enum Kept {
    /// Who owns which LIDs.
    Lids(LidMap),
    /// What clients have registered.
    Registrations(Box<Saved>),
    /// What the subnet is; `None` for what must not be believed after a restart.
    View(Option<Arc<View>>),
}

impl StateDir {
    /// Creates the directory where it is missing, and takes its lock.
    ///
    /// # Errors
    /// If it cannot be created or written, or another process holds it.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let refuse = |e: io::Error, what: &str| {
            let hint = if e.kind() == io::ErrorKind::PermissionDenied {
                "Run as a user who may write there, or name another directory with --state-dir."
            } else {
                "Name a directory with --state-dir or files.state-dir."
            };
            Failure::with_hint(
                format!("cannot {what} state directory {}: {e}", path.display()),
                hint,
            )
        };
        std::fs::create_dir_all(path).map_err(|e| refuse(e, "create"))?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(LOCK))
            .map_err(|e| refuse(e, "write to"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                path: path.to_owned(),
                store: Store::new(path),
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(Failure::with_hint(
                format!("another ferrosm uses state directory {}", path.display()),
                "Stop it, or give this one its own with --state-dir.",
            )),
            Err(TryLockError::Error(e)) => Err(refuse(e, "lock")),
        }
    }

    /// Who owned which LIDs; nobody where nothing is known. A broken file is set aside with a warning.
    ///
    /// # Errors
    /// If the file is there and cannot be read, or cannot be set aside.
    pub fn lids(&self) -> Result<LidMap, Failure> {
        let Some((map, dropped)) = self.load(lids::FILE, lids::decode)? else {
            return Ok(LidMap::new());
        };
        for (guid, why) in dropped {
            warn!(port_guid = %guid, why, "entry of the LID file is left out");
        }
        Ok(map)
    }

    /// What clients had registered; nothing where nothing is known. Leases have become shorter meanwhile. A broken file is
    /// set aside with a warning: then clients are asked to register again, as after a first start.
    ///
    /// # Errors
    /// If the file is there and cannot be read, or cannot be set aside.
    pub fn registrations(&self) -> Result<Saved, Failure> {
        let Some((mut saved, written)) = self.load(registrations::FILE, registrations::decode)?
        else {
            return Ok(Saved::default());
        };
        // A clock that was set back is no reason to lose anything.
        saved.age(
            SystemTime::now()
                .duration_since(written)
                .unwrap_or_default(),
        );
        Ok(saved)
    }

    /// What the subnet was; `None` where nothing is known. A broken file is set aside with a warning: then clients are answered
    /// after the first sweep, as after a first start.
    ///
    /// # Errors
    /// If the file cannot be read or written, another process has it open, or it cannot be set aside.
    pub fn snapshot(&mut self) -> Result<Option<Snapshot>, Failure> {
        let path = self.path.join(store::FILE);
        match self.store.load() {
            Ok(snapshot) => Ok(snapshot),
            Err(Trouble::Bad(why)) => {
                let aside = self.set_aside(store::FILE)?;
                warn!(file = %path.display(), aside = %aside.display(), why,
                      "a state file is broken and was set aside; clients are answered when the subnet was looked at");
                Ok(None)
            }
            Err(e @ Trouble::Busy) => Err(Failure::with_hint(
                format!("cannot use {}: {e}", path.display()),
                "Stop that process, or name another directory with --state-dir.",
            )),
            Err(Trouble::Io(e)) => Err(Failure::with_hint(
                format!("cannot use {}: {e}", path.display()),
                "The user that runs this must be able to read and write it.",
            )),
        }
    }

    fn load<T>(
        &self,
        file: &str,
        decode: fn(&[u8]) -> Result<T, String>,
    ) -> Result<Option<T>, Failure> {
        let path = self.path.join(file);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Failure::job(format!("cannot read {}: {e}", path.display()))),
        };
        match decode(&text) {
            Ok(decoded) => Ok(Some(decoded)),
            Err(why) => {
                let aside = self.set_aside(file)?;
                warn!(file = %path.display(), aside = %aside.display(), why,
                      "a state file is broken and was set aside; what it would say is taken from the fabric as it is");
                Ok(None)
            }
        }
    }

    fn set_aside(&self, file: &str) -> Result<PathBuf, Failure> {
        let path = self.path.join(file);
        let free = (1..u32::MAX)
            .map(|n| self.path.join(format!("{file}.broken-{n}")))
            .find(|aside| !aside.exists())
            .unwrap_or_else(|| self.path.join(format!("{file}.broken")));
        std::fs::rename(&path, &free)
            .with_context(|| format!("cannot set the broken file {} aside", path.display()))?;
        Ok(free)
    }

    /// Writes it so that a crash leaves the old or the new file.
    ///
    /// # Errors
    /// What the system said.
    pub fn save(&mut self, what: &Kept) -> io::Result<()> {
        let path = self.path.join(what.file());
        match what {
            Kept::Lids(map) => atomic::write(&path, |out| lids::encode(map, out)),
            Kept::Registrations(saved) => atomic::write(&path, |out| {
                registrations::encode(saved, SystemTime::now(), out)
            }),
            Kept::View(view) => self.save_view(view.as_ref()),
        }
    }

    fn save_view(&mut self, view: Option<&Arc<View>>) -> io::Result<()> {
        let mut saved = self.store.save(view, SystemTime::now());
        if let Err(Trouble::Bad(why)) = &saved {
            // Whatever became of it: what is kept is kept in a new one.
            let aside = self
                .set_aside(store::FILE)
                .map_err(|e| io::Error::other(e.to_string()))?;
            warn!(aside = %aside.display(), why, "the state file {} is broken and was set aside", store::FILE);
            saved = self.store.save(view, SystemTime::now());
        }
        saved.map_err(|e| match e {
            Trouble::Io(e) => e,
            e @ (Trouble::Bad(_) | Trouble::Busy) => io::Error::other(e.to_string()),
        })
    }

    /// Starts a thread that writes what it is sent, so that a slow disk never delays the subnet.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn writer(mut self) -> io::Result<Writer> {
        let (sender, inbox) = channel::<Kept>();
        let work = move || {
            while let Ok(first) = inbox.recv() {
                // Of several of a kind that wait only the last matters.
                let (mut lids, mut registrations, mut view) = (None, None, None);
                for kept in core::iter::once(first).chain(inbox.try_iter()) {
                    match kept {
                        Kept::Lids(_) => lids = Some(kept),
                        Kept::Registrations(_) => registrations = Some(kept),
                        Kept::View(_) => view = Some(kept),
                    }
                }
                for kept in [lids, registrations, view].into_iter().flatten() {
                    if let Err(e) = self.save(&kept) {
                        let file = self.path.join(kept.file());
                        error!(file = %file.display(), error = %e, "cannot write a state file");
                    }
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("state".to_owned())
            .spawn(work)?;
        Ok(Writer {
            sender: Some(sender),
            thread: Some(thread),
        })
    }
}

impl Kept {
    const fn file(&self) -> &'static str {
        match self {
            Self::Lids(_) => lids::FILE,
            Self::Registrations(_) => registrations::FILE,
            Self::View(_) => store::FILE,
        }
    }
}

/// Writes in the background; dropping it waits for the last of each kind.
#[derive(Debug)]
pub struct Writer {
    sender: Option<Sender<Kept>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Hands something over.
    pub fn save(&self, what: Kept) {
        if let Some(sender) = &self.sender {
            // The thread lives as long as the sender does.
            let _ = sender.send(what);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.sender.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;
    use ferrosm_mad::ids::{Lid, Lmc, PortGuid};

    pub(super) fn map() -> LidMap {
        LidMap::from([
            (PortGuid(0x0002_c903_00a1_b2c3), (Lid(4), Lmc(2))),
            (PortGuid(7), (Lid(0xBFFF), Lmc(0))),
        ])
    }

    #[test]
    fn what_is_saved_comes_back() {
        let dir = TempDir::new("state-roundtrip");
        let mut state = StateDir::open(&dir.path().join("deep/er")).unwrap();
        assert_eq!(state.lids().unwrap(), LidMap::new(), "a first start");
        state.save(&Kept::Lids(map())).unwrap();
        assert_eq!(state.lids().unwrap(), map());
        state.save(&Kept::Lids(LidMap::new())).unwrap();
        assert_eq!(state.lids().unwrap(), LidMap::new());
    }

    #[test]
    fn a_broken_file_is_set_aside_each_time() {
        let dir = TempDir::new("state-broken");
        let state = StateDir::open(dir.path()).unwrap();
        for (n, text) in [
            (1, "{\"version\": 1, \"por"),
            (2, "{\"version\": 9, \"ports\": {}}"),
            (3, "\u{0}"),
        ] {
            std::fs::write(dir.path().join("lids.json"), text).unwrap();
            assert_eq!(state.lids().unwrap(), LidMap::new());
            let aside = dir.path().join(format!("lids.json.broken-{n}"));
            assert_eq!(std::fs::read_to_string(aside).unwrap(), text);
            assert!(!dir.path().join("lids.json").exists());
        }
    }

    #[test]
    fn a_directory_has_one_owner() {
        let dir = TempDir::new("state-lock");
        let first = StateDir::open(dir.path()).unwrap();
        let told = StateDir::open(dir.path()).unwrap_err().to_string();
        assert!(
            told.starts_with("another ferrosm uses state directory "),
            "{told}"
        );
        drop(first);
        StateDir::open(dir.path()).unwrap();
    }

    #[test]
    fn the_writer_has_written_when_it_is_gone() {
        let dir = TempDir::new("state-writer");
        let writer = StateDir::open(dir.path()).unwrap().writer().unwrap();
        writer.save(Kept::Lids(LidMap::new()));
        writer.save(Kept::Registrations(Box::default()));
        writer.save(Kept::Lids(map()));
        drop(writer);
        assert_eq!(StateDir::open(dir.path()).unwrap().lids().unwrap(), map());
    }

    #[test]
    fn a_place_that_cannot_be_written_is_a_sentence() {
        let dir = TempDir::new("state-refused");
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let told = StateDir::open(&file.join("x")).unwrap_err().to_string();
        assert!(told.starts_with("cannot create state directory "), "{told}");
    }
}
