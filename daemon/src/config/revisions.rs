//! The revisions of the configuration, in a folder of the state directory (ADR 0034).
//!
//! Each revision is a file `NUMBER.json` that never changes. `state.json` says which ones were in
//! force, the last one last, and is the journal of an installation: it names the revision whose
//! files are being written. Everything is written by replacing a file, so that a kill leaves the
//! old or the new version of each.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use ferrosm_api::config::{FILES_LEN_MAX, RevisionRecord};
use ferrosm_store::atomic;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::input_files::{ConfigFiles, text_of};

/// The folder in the state directory.
const FOLDER: &str = "revisions";
const STATE_FILE: &str = "state.json";
/// Most revisions that are kept.
const KEPT_MAX: usize = 50;
/// Most bytes of the files of all revisions that are kept.
const KEPT_LEN_MAX: usize = 64 << 20;

/// Why a revision cannot be stored or installed.
#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    /// A file of the folder.
    #[error("cannot {action} {}: {source}", file.display())]
    Folder {
        action: &'static str,
        file: PathBuf,
        source: io::Error,
    },
    /// The files are too large.
    #[error(
        "the configuration file and its input files have {size} bytes, more than {FILES_LEN_MAX}"
    )]
    TooLarge { size: usize },
    /// There is no such revision.
    #[error("no revision {0}")]
    Unknown(u64),
    /// A file of the configuration was changed by others.
    #[error("{} {what}", file.display())]
    Edited { file: PathBuf, what: &'static str },
    /// A file of the configuration cannot be read or written.
    #[error("cannot {action} {}: {source}", file.display())]
    File {
        action: &'static str,
        file: PathBuf,
        source: io::Error,
    },
}

/// What `state.json` contains.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct StoreState {
    /// Revisions that the files had, in the order of time.
    confirmed: Vec<u64>,
    /// The revision whose files are being written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    installing: Option<u64>,
    /// The revision that is tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trial: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredRevision {
    #[serde(flatten)]
    record: RevisionRecord,
    files: ConfigFiles,
    /// Files that did not exist before its installation.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    created: BTreeSet<PathBuf>,
}

/// What is known of a revision without its file.
#[derive(Debug, Clone)]
struct RevisionEntry {
    record: RevisionRecord,
    size: usize,
    created: BTreeSet<PathBuf>,
}

/// The revisions of a service.
#[derive(Debug)]
pub struct RevisionStore {
    folder: PathBuf,
    state: StoreState,
    entries: BTreeMap<u64, RevisionEntry>,
}

/// What is required of the files before they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilesBefore {
    /// All files are those in force: a restart finds them.
    InForce,
    /// A file that is to be written is the one in force or the new one, or does not exist.
    InForceOrNew,
    /// Any.
    Any,
}

impl RevisionStore {
    /// Opens the revisions of a state directory that this process has locked.
    ///
    /// # Errors
    /// The folder cannot be created or read.
    pub fn open(state_dir: &Path) -> Result<Self, RevisionError> {
        let folder = state_dir.join(FOLDER);
        let failed = |action| {
            let file = folder.clone();
            move |source| RevisionError::Folder {
                action,
                file,
                source,
            }
        };
        std::fs::create_dir_all(&folder).map_err(failed("create"))?;
        let mut entries = BTreeMap::new();
        for entry in std::fs::read_dir(&folder).map_err(failed("read"))? {
            let path = entry.map_err(failed("read"))?.path();
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            let Some(number) = stem.and_then(|stem| stem.parse::<u64>().ok()) else {
                continue;
            };
            // An unreadable revision is as good as none.
            if let Some(stored) = read_json::<StoredRevision>(&path).ok().flatten()
                && stored.record.number == number
            {
                let entry = RevisionEntry {
                    size: stored.files.size(),
                    record: stored.record,
                    created: stored.created,
                };
                entries.insert(number, entry);
            }
        }
        let state = read_json(&folder.join(STATE_FILE))?.unwrap_or_default();
        Ok(Self {
            folder,
            state,
            entries,
        })
    }

    /// The revision whose installation in a state directory was interrupted. The directory need not
    /// be locked.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn interrupted(state_dir: &Path) -> Result<Option<u64>, RevisionError> {
        let file = state_dir.join(FOLDER).join(STATE_FILE);
        let state = read_json::<StoreState>(&file)?;
        Ok(state.and_then(|state| state.installing))
    }

    /// Completes an interrupted installation. Returns the files of the revision, which is in force
    /// from now on, and why they could not be written.
    ///
    /// # Errors
    /// The revision cannot be read, or the folder cannot be written.
    pub fn complete(
        &mut self,
        path: &Path,
    ) -> Result<Option<(ConfigFiles, Option<RevisionError>)>, RevisionError> {
        let Some(number) = self.state.installing else {
            return Ok(None);
        };
        let files = match self.files(number) {
            Ok(files) => files,
            Err(error) => {
                // Without the revision there is nothing to complete, now or later.
                self.set_state(StoreState {
                    installing: None,
                    ..self.state.clone()
                })?;
                return Err(error);
            }
        };
        match write_files(&files, path) {
            Ok(()) => {
                self.confirm(number)?;
                Ok(Some((files, None)))
            }
            Err(error) => Ok(Some((files, Some(error)))),
        }
    }

    /// Whether an installation was interrupted, and could not be completed.
    #[must_use]
    pub const fn is_installing(&self) -> bool {
        self.state.installing.is_some()
    }

    /// The revision that the files have.
    #[must_use]
    pub fn in_force(&self) -> Option<u64> {
        self.state.confirmed.last().copied()
    }

    /// The revision that the files had before.
    #[must_use]
    pub fn previous(&self) -> Option<u64> {
        let mut earlier = self.state.confirmed.iter().rev().skip(1);
        earlier
            .find(|number| self.entries.contains_key(number))
            .copied()
    }

    /// Whether the files had a revision at some time.
    #[must_use]
    pub fn was_in_force(&self, number: u64) -> bool {
        self.state.confirmed.contains(&number)
    }

    /// The revisions, the newest first.
    pub fn records(&self) -> impl Iterator<Item = &RevisionRecord> {
        self.entries.values().rev().map(|entry| &entry.record)
    }

    /// The files of a revision.
    ///
    /// # Errors
    /// There is no such revision, or it cannot be read.
    pub fn files(&self, number: u64) -> Result<ConfigFiles, RevisionError> {
        let stored = read_json::<StoredRevision>(&self.file(number))?;
        stored
            .map(|stored| stored.files)
            .ok_or(RevisionError::Unknown(number))
    }

    /// Stores a new revision; `record` has its number from [`Self::next_number`], `created` are
    /// its [`missing_files`].
    ///
    /// # Errors
    /// The files are too large, or the folder cannot be written.
    pub fn add(
        &mut self,
        record: RevisionRecord,
        files: &ConfigFiles,
        created: BTreeSet<PathBuf>,
    ) -> Result<(), RevisionError> {
        let size = files.size();
        if size > FILES_LEN_MAX {
            return Err(RevisionError::TooLarge { size });
        }
        let number = record.number;
        let stored = StoredRevision {
            record: record.clone(),
            files: files.clone(),
            created: created.clone(),
        };
        write_json(&self.file(number), &stored)?;
        let entry = RevisionEntry {
            record,
            size,
            created,
        };
        self.entries.insert(number, entry);
        self.remove_old();
        Ok(())
    }

    /// The number of the next revision.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        let stored = self.entries.keys().next_back().copied();
        stored.max(self.in_force()).unwrap_or(0) + 1
    }

    /// The files have a revision.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn confirm(&mut self, number: u64) -> Result<(), RevisionError> {
        let mut state = self.state.clone();
        state.confirmed.push(number);
        let forgotten = state.confirmed.len().saturating_sub(KEPT_MAX);
        state.confirmed.drain(..forgotten);
        state.installing = None;
        state.trial = None;
        self.set_state(state)
    }

    /// A revision is tried from now on, or none. Returns the one that was tried before.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn set_trial(&mut self, trial: Option<u64>) -> Result<Option<u64>, RevisionError> {
        let before = self.state.trial;
        if before != trial {
            self.set_state(StoreState {
                trial,
                ..self.state.clone()
            })?;
        }
        Ok(before)
    }

    /// Writes the files of a stored revision in place of those of `old`. After a kill,
    /// [`Self::complete`] writes the rest.
    ///
    /// # Errors
    /// A file cannot be written. The files are the old ones again, if these can be written.
    pub fn install(
        &mut self,
        number: u64,
        new: &ConfigFiles,
        old: &ConfigFiles,
        path: &Path,
    ) -> Result<(), RevisionError> {
        self.set_state(StoreState {
            installing: Some(number),
            ..self.state.clone()
        })?;
        let written = write_files(new, path).and_then(|()| self.confirm(number));
        if let Err(error) = written {
            if write_files(old, path).is_ok() {
                // Failing again, a restart writes the new files.
                let _ = self.set_state(StoreState {
                    installing: None,
                    ..self.state.clone()
                });
            }
            return Err(error);
        }
        Ok(())
    }

    /// Removes the files of `old` that a revision created, that `new` does not have, and that
    /// no operator has edited since. Returns those that are gone; a file that stays is harmless.
    pub fn remove_created(
        &self,
        new: &ConfigFiles,
        old: &ConfigFiles,
        path: &Path,
    ) -> Vec<PathBuf> {
        let kept: BTreeSet<&Path> = new.texts(path).map(|(file, _)| file).collect();
        let is_created = |file: &Path| {
            let mut entries = self.entries.values();
            entries.any(|entry| entry.created.contains(file))
        };
        let unused = old.texts(path).filter(|(file, text)| {
            let is_unedited = || text_at(file).is_ok_and(|found| found.as_deref() == Some(*text));
            !kept.contains(file) && is_created(file) && is_unedited()
        });
        unused
            .filter(|(file, _)| std::fs::remove_file(file).is_ok())
            .map(|(file, _)| file.to_owned())
            .collect()
    }

    fn set_state(&mut self, state: StoreState) -> Result<(), RevisionError> {
        write_json(&self.folder.join(STATE_FILE), &state)?;
        self.state = state;
        Ok(())
    }

    fn file(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number}.json"))
    }

    /// Removes the oldest revisions beyond the bounds. Those that a start may need stay.
    fn remove_old(&mut self) {
        let newest = self.entries.keys().next_back().copied();
        let needed: BTreeSet<u64> = [newest, self.in_force(), self.previous(), self.state.trial]
            .into_iter()
            .flatten()
            .collect();
        let mut size: usize = self.entries.values().map(|entry| entry.size).sum();
        let mut count = self.entries.len();
        let numbers: Vec<u64> = self.entries.keys().copied().collect();
        for number in numbers {
            if count <= KEPT_MAX && size <= KEPT_LEN_MAX {
                return;
            }
            if needed.contains(&number) {
                continue;
            }
            // A file that stays is removed another time.
            if std::fs::remove_file(self.file(number)).is_ok()
                && let Some(removed) = self.entries.remove(&number)
            {
                size -= removed.size;
                count -= 1;
            }
        }
    }
}

/// Checks that the files may be replaced: what `before` says of those that are to be written, and
/// that their directories are writable. `old` are the files in force.
///
/// # Errors
/// The first file that may not, or cannot, be replaced.
pub fn check_files(
    new: &ConfigFiles,
    old: &ConfigFiles,
    path: &Path,
    before: FilesBefore,
) -> Result<(), RevisionError> {
    let new_texts: BTreeMap<&Path, &str> = new.texts(path).collect();
    let old_texts: BTreeMap<&Path, &str> = old.texts(path).collect();
    let files: BTreeSet<&Path> = new_texts.keys().chain(old_texts.keys()).copied().collect();
    for file in files {
        let found = text_at(file)?;
        let is_old = found.as_deref() == old_texts.get(file).copied();
        let is_new = found.as_deref() == new_texts.get(file).copied();
        let is_written = new_texts.contains_key(file) && !is_new;
        let edited = |what| RevisionError::Edited {
            file: file.to_owned(),
            what,
        };
        match before {
            FilesBefore::InForce if old_texts.contains_key(file) && !is_old => {
                return Err(edited("was changed since it was read"));
            }
            FilesBefore::InForce | FilesBefore::InForceOrNew if is_written && !is_old => {
                return Err(edited(match old_texts.contains_key(file) {
                    true => "was changed since it was read",
                    false => "exists with another content, and no configuration names it",
                }));
            }
            FilesBefore::InForce | FilesBefore::InForceOrNew | FilesBefore::Any => {}
        }
        if is_written {
            atomic::check_replaceable(file).map_err(file_error("write", file))?;
        }
    }
    Ok(())
}

/// The files of a configuration that do not exist.
///
/// # Errors
/// A file cannot be read.
pub fn missing_files(files: &ConfigFiles, path: &Path) -> Result<BTreeSet<PathBuf>, RevisionError> {
    let mut missing = BTreeSet::new();
    for (file, _) in files.texts(path) {
        if text_at(file)?.is_none() {
            missing.insert(file.to_owned());
        }
    }
    Ok(missing)
}

/// Copies the files that revision `number` is about to replace and that others edited: their
/// content is in no revision. Returns the copies, `FILE.before-NUMBER`.
///
/// # Errors
/// A file cannot be read, or its copy not be written.
pub fn copy_edited(
    new: &ConfigFiles,
    old: &ConfigFiles,
    path: &Path,
    number: u64,
) -> Result<Vec<PathBuf>, RevisionError> {
    let old_texts: BTreeMap<&Path, &str> = old.texts(path).collect();
    let mut copies = Vec::new();
    for (file, new_text) in new.texts(path) {
        let Some(found) = text_at(file)? else {
            continue;
        };
        if found == new_text || old_texts.get(file) == Some(&&*found) {
            continue;
        }
        let mut name = file.as_os_str().to_owned();
        name.push(format!(".before-{number}"));
        let copy = PathBuf::from(name);
        atomic::write_private(&copy, |out| out.write_all(found.as_bytes()))
            .map_err(file_error("write", &copy))?;
        copies.push(copy);
    }
    Ok(copies)
}

/// Writes the files that differ. The configuration file is the last: if the others cannot be
/// written, it still names the old ones.
fn write_files(files: &ConfigFiles, path: &Path) -> Result<(), RevisionError> {
    for (file, text) in files.texts(path) {
        if text_at(file)?.as_deref() != Some(text) {
            atomic::replace(file, text.as_bytes()).map_err(file_error("write", file))?;
        }
    }
    Ok(())
}

/// The text of a file; `None` if it does not exist.
fn text_at(file: &Path) -> Result<Option<String>, RevisionError> {
    match std::fs::read(file) {
        Ok(bytes) => Ok(Some(text_of(bytes))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(file_error("read", file)(error)),
    }
}

fn file_error(action: &'static str, file: &Path) -> impl FnOnce(io::Error) -> RevisionError {
    let file = file.to_owned();
    move |source| RevisionError::File {
        action,
        file,
        source,
    }
}

/// The content of a file of the folder; `None` if it does not exist.
fn read_json<T: DeserializeOwned>(file: &Path) -> Result<Option<T>, RevisionError> {
    let failed = |source| RevisionError::Folder {
        action: "read",
        file: file.to_owned(),
        source,
    };
    let bytes = match std::fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let read = serde_json::from_slice(&bytes).map_err(io::Error::from);
    read.map(Some).map_err(failed)
}

fn write_json(file: &Path, content: &impl Serialize) -> Result<(), RevisionError> {
    let written = atomic::write_private(file, |out| {
        serde_json::to_writer(out, content).map_err(io::Error::from)
    });
    written.map_err(|source| RevisionError::Folder {
        action: "write",
        file: file.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_api::config::RevisionOrigin;
    use std::os::unix::fs::PermissionsExt;

    struct Site {
        dir: tempfile::TempDir,
    }

    impl Site {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            Self { dir }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().join(name)
        }

        fn toml(&self) -> PathBuf {
            self.path("f.toml")
        }

        fn store(&self) -> RevisionStore {
            RevisionStore::open(&self.path("state")).unwrap()
        }

        /// Files with a content that names them.
        fn files(&self, content: &str, names: &[&str]) -> ConfigFiles {
            let inputs = names
                .iter()
                .map(|name| (self.path(name), format!("{name} {content}\n")));
            ConfigFiles {
                toml: format!("toml {content}\n"),
                inputs: inputs.collect(),
            }
        }

        fn text(&self, name: &str) -> String {
            std::fs::read_to_string(self.path(name)).unwrap()
        }
    }

    fn record(number: u64) -> RevisionRecord {
        RevisionRecord {
            number,
            at: "2026-11-01T00:00:00Z".to_owned(),
            by: "root".to_owned(),
            reason: None,
            origin: RevisionOrigin::Apply,
        }
    }

    fn add(store: &mut RevisionStore, files: &ConfigFiles) -> u64 {
        let number = store.next_number();
        store.add(record(number), files, BTreeSet::new()).unwrap();
        number
    }

    #[test]
    fn revisions_are_installed_and_read_back() {
        let site = Site::new();
        let mut store = site.store();
        let [one, two] = ["1", "2"].map(|content| site.files(content, &["a", "b"]));
        let none = ConfigFiles::default();
        for (files, old) in [(&one, &none), (&two, &one)] {
            let number = add(&mut store, files);
            store.install(number, files, old, &site.toml()).unwrap();
        }
        assert_eq!(site.text("f.toml"), "toml 2\n");
        assert_eq!(site.text("b"), "b 2\n");
        let store = site.store();
        assert_eq!(store.in_force(), Some(2));
        assert_eq!(store.previous(), Some(1));
        assert_eq!(store.files(1).unwrap(), one);
        assert_eq!(store.next_number(), 3);
        assert!(matches!(store.files(7), Err(RevisionError::Unknown(7))));
        let file = site.path("state/revisions/1.json");
        let mode = std::fs::metadata(file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "it may hold keys");
    }

    /// After a kill between two files, the next start writes the rest, or reads the revision.
    #[test]
    fn interrupted_installation_is_completed() {
        let site = Site::new();
        let mut store = site.store();
        let [one, two] = ["1", "2"].map(|content| site.files(content, &["a", "b"]));
        let number = add(&mut store, &one);
        store
            .install(number, &one, &ConfigFiles::default(), &site.toml())
            .unwrap();
        let number = add(&mut store, &two);
        store
            .set_state(StoreState {
                installing: Some(number),
                ..store.state.clone()
            })
            .unwrap();
        std::fs::write(site.path("a"), "a 2\n").unwrap();
        let state_dir = site.path("state");
        assert_eq!(RevisionStore::interrupted(&state_dir).unwrap(), Some(2));
        // A directory in place of the file cannot be replaced.
        std::fs::remove_file(site.path("b")).unwrap();
        std::fs::create_dir(site.path("b")).unwrap();
        let (files, error) = site.store().complete(&site.toml()).unwrap().unwrap();
        assert_eq!(files, two);
        assert!(error.is_some());
        assert_eq!(site.store().in_force(), Some(1));
        std::fs::remove_dir(site.path("b")).unwrap();
        let (files, error) = site.store().complete(&site.toml()).unwrap().unwrap();
        assert_eq!((files, error.is_none()), (two, true));
        assert_eq!(site.text("b"), "b 2\n");
        assert_eq!(site.text("f.toml"), "toml 2\n");
        assert_eq!(RevisionStore::interrupted(&state_dir).unwrap(), None);
        assert_eq!(site.store().in_force(), Some(2));
        assert!(site.store().complete(&site.toml()).unwrap().is_none());
    }

    /// If a file cannot be written, all files are the old ones again.
    #[test]
    fn failed_installation_restores_the_files() {
        let site = Site::new();
        let mut store = site.store();
        let one = site.files("1", &["a"]);
        let number = add(&mut store, &one);
        store
            .install(number, &one, &ConfigFiles::default(), &site.toml())
            .unwrap();
        let two = site.files("2", &["a", "none/b"]);
        let number = add(&mut store, &two);
        let checked = check_files(&two, &one, &site.toml(), FilesBefore::InForce);
        assert!(matches!(checked, Err(RevisionError::File { .. })));
        let error = store.install(number, &two, &one, &site.toml()).unwrap_err();
        assert!(
            error.to_string().contains("directory does not exist"),
            "{error}"
        );
        assert_eq!(site.text("a"), "a 1\n");
        assert_eq!(site.text("f.toml"), "toml 1\n");
        assert_eq!(site.store().in_force(), Some(1));
        assert_eq!(
            RevisionStore::interrupted(&site.path("state")).unwrap(),
            None
        );
    }

    /// What was edited by hand is not replaced.
    #[test]
    fn edited_files_are_noticed() {
        let site = Site::new();
        let [old, new] = ["1", "2"].map(|content| site.files(content, &["a"]));
        let mut new = new;
        new.inputs.insert(site.path("c"), "c 2\n".to_owned());
        write_files(&old, &site.toml()).unwrap();
        let check = |before| check_files(&new, &old, &site.toml(), before);
        check(FilesBefore::InForce).unwrap();
        // The edit is the new content already: a restart would find it.
        std::fs::write(site.path("a"), "a 2\n").unwrap();
        let error = check(FilesBefore::InForce).unwrap_err();
        assert!(error.to_string().contains("was changed"), "{error}");
        check(FilesBefore::InForceOrNew).unwrap();
        std::fs::write(site.path("a"), "a 3\n").unwrap();
        assert!(check(FilesBefore::InForceOrNew).is_err());
        check(FilesBefore::Any).unwrap();
        std::fs::write(site.path("a"), "a 1\n").unwrap();
        std::fs::write(site.path("c"), "of others\n").unwrap();
        let error = check(FilesBefore::InForceOrNew).unwrap_err();
        assert!(
            error.to_string().contains("no configuration names it"),
            "{error}"
        );
    }

    /// What `--force` replaces is copied first; what an applied configuration created goes away
    /// with it, unless someone edited it.
    #[test]
    fn edits_are_copied_and_created_files_removed() {
        let site = Site::new();
        let old = site.files("1", &["a"]);
        write_files(&old, &site.toml()).unwrap();
        let new = site.files("2", &["a", "b", "c"]);
        let created = missing_files(&new, &site.toml()).unwrap();
        let names: Vec<&PathBuf> = created.iter().collect();
        assert_eq!(names, [&site.path("b"), &site.path("c")]);
        std::fs::write(site.path("a"), "by hand\n").unwrap();
        let copies = copy_edited(&new, &old, &site.toml(), 7).unwrap();
        assert_eq!(copies, [site.path("a.before-7")]);
        assert_eq!(site.text("a.before-7"), "by hand\n");
        let mut store = site.store();
        store.add(record(1), &old, BTreeSet::new()).unwrap();
        store.add(record(2), &new, created).unwrap();
        store.install(2, &new, &old, &site.toml()).unwrap();
        std::fs::write(site.path("c"), "c by hand\n").unwrap();
        let store = site.store();
        let removed = store.remove_created(&old, &new, &site.toml());
        assert_eq!(removed, [site.path("b")]);
        assert!(!site.path("b").exists() && site.path("a").exists());
        assert_eq!(site.text("c"), "c by hand\n");
    }

    #[test]
    fn old_revisions_are_removed() {
        let site = Site::new();
        let mut store = site.store();
        let first = site.files("1", &[]);
        let number = add(&mut store, &first);
        store.confirm(number).unwrap();
        for n in 0..KEPT_MAX {
            add(&mut store, &site.files(&n.to_string(), &[]));
        }
        assert_eq!(store.records().count(), KEPT_MAX);
        assert_eq!(store.files(1).unwrap(), first, "it is in force");
        assert!(store.files(2).is_err());
        let mut large = first.clone();
        large.toml = "#".repeat(FILES_LEN_MAX);
        for _ in 0..6 {
            add(&mut store, &large);
        }
        let size: usize = store.entries.values().map(|entry| entry.size).sum();
        assert!(size <= KEPT_LEN_MAX, "{size}");
        assert_eq!(store.files(1).unwrap(), first);
        large.toml.push('#');
        let number = store.next_number();
        let added = store.add(record(number), &large, BTreeSet::new());
        let error = added.unwrap_err();
        assert!(matches!(error, RevisionError::TooLarge { .. }), "{error}");
    }
}
