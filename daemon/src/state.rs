//! What is kept over restarts: `lids.json` in the state directory.
//!
//! One process writes at a time: the directory's lock file is held as long as a [`StateDir`] lives. The file is
//! versioned, readable, and replaced atomically. A broken file is set aside and told, never a reason not to run.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use anyhow::Context;
use ferrosm_core::LidMap;
use ferrosm_mad::ids::{Lid, Lmc, PortGuid};
use serde::{Deserialize, Serialize};
use tracing::{error, warn};

use crate::atomic;
use crate::failure::Failure;

const LIDS: &str = "lids.json";
const LOCK: &str = "lock";
const VERSION: u32 = 1;

/// A state directory that this process holds.
#[derive(Debug)]
pub struct StateDir {
    path: PathBuf,
    /// The lock goes with the file.
    _lock: File,
}

/// `lids.json`.
#[derive(Serialize, Deserialize)]
struct LidsFile {
    version: u32,
    /// By port GUID, in the order of GUIDs.
    ports: std::collections::BTreeMap<PortGuid, Owner>,
}

#[derive(Serialize, Deserialize)]
struct Owner {
    lid: u16,
    lmc: u8,
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
    pub fn load(&self) -> Result<LidMap, Failure> {
        let path = self.path.join(LIDS);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(LidMap::new()),
            Err(e) => return Err(Failure::job(format!("cannot read {}: {e}", path.display()))),
        };
        match decode(&text) {
            Ok((map, dropped)) => {
                for (guid, why) in dropped {
                    warn!(port_guid = %guid, why, "entry of the LID file is left out");
                }
                Ok(map)
            }
            Err(why) => {
                let aside = self.set_aside(&path)?;
                warn!(file = %path.display(), aside = %aside.display(), why,
                      "LID file is broken and was set aside; LIDs are taken from the ports as they are");
                Ok(LidMap::new())
            }
        }
    }

    fn set_aside(&self, path: &Path) -> Result<PathBuf, Failure> {
        let free = (1..u32::MAX)
            .map(|n| self.path.join(format!("{LIDS}.broken-{n}")))
            .find(|aside| !aside.exists())
            .unwrap_or_else(|| self.path.join(format!("{LIDS}.broken")));
        std::fs::rename(path, &free)
            .with_context(|| format!("cannot set the broken file {} aside", path.display()))?;
        Ok(free)
    }

    /// Writes the map so that a crash leaves the old or the new file.
    ///
    /// # Errors
    /// What the system said.
    pub fn save(&self, map: &LidMap) -> io::Result<()> {
        atomic::write(&self.path.join(LIDS), |out| encode(map, out))
    }

    /// Starts a thread that writes what it is sent, so that a slow disk never delays the subnet.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn writer(self) -> io::Result<Writer> {
        let (sender, inbox) = channel::<LidMap>();
        let thread = std::thread::Builder::new().name("state".to_owned()).spawn(move || {
            while let Ok(mut map) = inbox.recv() {
                // Of several that wait only the last matters.
                while let Ok(newer) = inbox.try_recv() {
                    map = newer;
                }
                if let Err(e) = self.save(&map) {
                    error!(file = %self.path.join(LIDS).display(), error = %e, "cannot write the LID file");
                }
            }
        })?;
        Ok(Writer {
            sender: Some(sender),
            thread: Some(thread),
        })
    }
}

/// Writes maps in the background; dropping it waits for the last one.
#[derive(Debug)]
pub struct Writer {
    sender: Option<Sender<LidMap>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Hands a map over.
    pub fn save(&self, map: LidMap) {
        if let Some(sender) = &self.sender {
            // The thread lives as long as the sender does.
            let _ = sender.send(map);
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

/// One entry a line, so that people and `diff` can read it.
fn encode(map: &LidMap, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{{\n  \"version\": {VERSION},\n  \"ports\": {{")?;
    for (i, (guid, (lid, lmc))) in map.iter().enumerate() {
        let comma = if i + 1 == map.len() { "" } else { "," };
        writeln!(
            out,
            "    \"{guid}\": {{ \"lid\": {}, \"lmc\": {} }}{comma}",
            lid.0, lmc.0
        )?;
    }
    writeln!(out, "  }}\n}}")
}

/// The map, and entries that cannot be true.
type Decoded = (LidMap, Vec<(PortGuid, &'static str)>);

fn decode(text: &[u8]) -> Result<Decoded, String> {
    let file: LidsFile = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    if file.version != VERSION {
        return Err(format!("version {} instead of {VERSION}", file.version));
    }
    let (mut map, mut dropped) = (LidMap::new(), Vec::new());
    for (guid, Owner { lid, lmc }) in file.ports {
        let last = u32::from(lid) + (1 << lmc.min(7)) - 1;
        if lmc > 7 {
            dropped.push((guid, "its LMC is above 7"));
        } else if !Lid(lid).is_unicast() || last > u32::from(Lid::UNICAST_MAX.0) {
            dropped.push((guid, "its LID is not a unicast LID"));
        } else {
            map.insert(guid, (Lid(lid), Lmc(lmc)));
        }
    }
    Ok((map, dropped))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TempDir;

    fn map() -> LidMap {
        LidMap::from([
            (PortGuid(0x0002_c903_00a1_b2c3), (Lid(4), Lmc(2))),
            (PortGuid(7), (Lid(0xBFFF), Lmc(0))),
        ])
    }

    #[test]
    fn what_is_saved_comes_back() {
        let dir = TempDir::new("state-roundtrip");
        let state = StateDir::open(&dir.path().join("deep/er")).unwrap();
        assert_eq!(state.load().unwrap(), LidMap::new(), "a first start");
        state.save(&map()).unwrap();
        assert_eq!(state.load().unwrap(), map());
        state.save(&LidMap::new()).unwrap();
        assert_eq!(state.load().unwrap(), LidMap::new());
    }

    #[test]
    fn people_can_read_the_file() {
        let mut text = Vec::new();
        encode(&map(), &mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "{\n  \"version\": 1,\n  \"ports\": {\n    \"0x0000000000000007\": { \"lid\": 49151, \"lmc\": 0 },\n    \
             \"0x0002c90300a1b2c3\": { \"lid\": 4, \"lmc\": 2 }\n  }\n}\n"
        );
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
            assert_eq!(state.load().unwrap(), LidMap::new());
            let aside = dir.path().join(format!("lids.json.broken-{n}"));
            assert_eq!(std::fs::read_to_string(aside).unwrap(), text);
            assert!(!dir.path().join("lids.json").exists());
        }
    }

    #[test]
    fn impossible_entries_are_left_out_and_the_others_kept() {
        let text = "{\"version\":1,\"ports\":{\"0x1\":{\"lid\":0,\"lmc\":0},\"0x2\":{\"lid\":49150,\"lmc\":1},\
                    \"0x3\":{\"lid\":49150,\"lmc\":2},\"0x4\":{\"lid\":8,\"lmc\":9}}}";
        let (map, dropped) = decode(text.as_bytes()).unwrap();
        assert_eq!(map.keys().copied().collect::<Vec<_>>(), [PortGuid(2)]);
        assert_eq!(
            dropped.iter().map(|(g, _)| g.0).collect::<Vec<_>>(),
            [1, 3, 4]
        );
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
        writer.save(LidMap::new());
        writer.save(map());
        drop(writer);
        assert_eq!(StateDir::open(dir.path()).unwrap().load().unwrap(), map());
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
