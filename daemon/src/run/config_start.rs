//! The configuration of a start: if a kill interrupted the writing of its files, that is completed
//! first (ADR 0034).

use ferrosm_store::StateDir;
use tracing::{info, warn};

use crate::config::revisions::{RevisionError, RevisionStore};
use crate::config::{ConfigErrors, ConfigSource, InputTexts, Settings};
use crate::failure::Failure;

/// The configuration files of a start.
#[derive(Debug)]
pub struct StartFiles {
    source: ConfigSource,
    /// Texts of input files that cannot be written.
    given: InputTexts,
    completed: Option<Completed>,
}

/// An installation that was interrupted.
#[derive(Debug)]
struct Completed {
    number: u64,
    /// Whether the configuration is that of the revision.
    is_read: bool,
    /// Why its files are not complete.
    error: Option<RevisionError>,
}

impl StartFiles {
    /// The files of a configuration file. Those of a revision that was being written are written
    /// before.
    ///
    /// # Errors
    /// Another process uses the state directory, or the revision is invalid.
    pub fn new(source: ConfigSource, flags: impl Fn(&mut Settings)) -> Result<Self, Failure> {
        let mut start = Self {
            source,
            given: InputTexts::new(),
            completed: None,
        };
        let mut settings = start.source.settings.clone();
        flags(&mut settings);
        let Some((dir, path)) = settings.state_dir.as_deref().zip(start.source.path()) else {
            return Ok(start);
        };
        // An unreadable journal is reported when the revisions are opened.
        let Ok(Some(number)) = RevisionStore::interrupted(dir) else {
            return Ok(start);
        };
        let _lock = StateDir::lock(dir)?;
        let mut store = RevisionStore::open(dir).map_err(Failure::runtime)?;
        match store.complete(path) {
            Ok(None) => {}
            Ok(Some((files, error))) => {
                start.source = ConfigSource::parse(path, &files.toml)?;
                start.given = files.inputs;
                start.completed = Some(Completed {
                    number,
                    is_read: true,
                    error,
                });
            }
            Err(error) => {
                start.completed = Some(Completed {
                    number,
                    is_read: false,
                    error: Some(error),
                });
            }
        }
        Ok(start)
    }

    /// Resolves the settings.
    ///
    /// # Errors
    /// All errors of the files.
    pub fn resolve(&self, flags: impl FnOnce(&mut Settings)) -> Result<Settings, ConfigErrors> {
        self.source.resolve_given(flags, &self.given)
    }

    /// Logs what was completed, and returns the configuration file.
    #[must_use]
    pub fn into_source(self) -> ConfigSource {
        let Some(completed) = self.completed else {
            return self.source;
        };
        let revision = completed.number;
        match completed.error {
            None => info!(revision, "configuration files completed"),
            Some(error) => {
                let effect = match completed.is_read {
                    true => "the revision is in force, and the next start tries again",
                    false => "the files are in force as they are",
                };
                warn!(revision, %error, effect, "cannot complete configuration files");
            }
        }
        self.source
    }
}
