//! The configuration: a TOML file, checked completely before it is used.
//!
//! `keys` defines every key in one row. The file is parsed into [`Settings`], which the rest of the
//! program uses. Flags override the file, the file overrides defaults. All errors are reported
//! together, with line, column and allowed values; an invalid file is never used in part.

mod api;
mod checks;
mod combination;
mod difference;
mod error;
mod input_files;
mod invariant;
mod keys;
mod log_level;
mod notify;
mod parse;
mod partitions;
mod path_inputs;
mod print;
mod reload;
mod replication;
pub mod revisions;
mod settings;
mod value;

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ferrosm_opensm_compat::input::ReadFile;

use crate::cabling::plan::CablingPlan;

pub use combination::{check as check_combination, files_of_host, read_files};
pub use difference::difference;
pub use error::{ConfigError, ConfigErrors};
pub use input_files::{ConfigFiles, InputTexts};
use input_files::{InputReader, text_of};
pub use log_level::parse_log_level;
pub use print::{DEFAULT_FILE, effective, exported_keys, is_default};
pub use reload::{Changes, changes, in_force};
pub use settings::{
    ApiClientEntry, InvariantEntry, LogFormat, LogSettings, NotifyEntry, PartitionEntry, Settings,
};
pub use value::{names_no_engine, parse_engine};

/// Default configuration file of `ferrosm run`, used if it exists.
pub const DEFAULT_PATH: &str = "/etc/ferrosm/ferrosm.toml";
/// The default configuration file of versions before 0.2, which is not read any more.
pub const FORMER_DEFAULT_PATH: &str = "/etc/ferrosm.toml";
/// Directory of the configuration files. The service `ferrosm@NAME` of a host with several subnets
/// reads `NAME.toml`.
pub const INSTANCE_DIR: &str = "/etc/ferrosm";

/// Reads a configuration file and checks its keys.
///
/// # Errors
/// All errors of the file.
pub fn read(path: &Path) -> Result<ConfigSource, ConfigErrors> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        let message = if e.kind() == std::io::ErrorKind::InvalidData {
            "not a text file: its contents are not valid UTF-8".to_owned()
        } else {
            format!("cannot read file: {e}")
        };
        ConfigError::of_file(Some(path), message)
    })?;
    ConfigSource::parse(path, &text)
}

/// The settings of a configuration file, and the text, for the positions of errors.
#[derive(Debug, Clone, Default)]
pub struct ConfigSource {
    path: Option<PathBuf>,
    text: Arc<str>,
    /// Byte ranges of the values in the text, by key.
    spans: BTreeMap<&'static str, Range<usize>>,
    /// Byte ranges of the entries `[[partition]]`.
    partition_spans: Vec<Range<usize>>,
    /// Sections with invalid keys: the other keys are not checked against them.
    invalid_sections: BTreeSet<String>,
    /// The settings of the file, with defaults. Files that it names are not read yet.
    pub settings: Settings,
}

impl ConfigSource {
    /// Parses a text.
    ///
    /// # Errors
    /// All errors of the text. If keys are invalid, also the errors and warnings that
    /// [`Self::resolve`] finds in the others.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigErrors> {
        let mut source = Self {
            path: Some(path.to_owned()),
            text: text.into(),
            ..Self::default()
        };
        let parsed = parse::parse(text).map_err(|errors| source.describe_syntax_errors(errors))?;
        source.spans = parsed.spans;
        source.partition_spans = parsed.partition_spans;
        source.invalid_sections = parsed.invalid_sections;
        source.settings = parsed.settings;
        source.settings.dir = path.parent().map(Path::to_owned).unwrap_or_default();
        source.set_instance_defaults();
        if parsed.errors.is_empty() {
            return Ok(source);
        }
        let mut errors: ConfigErrors = parsed
            .errors
            .into_iter()
            .map(|(span, message)| source.error_at(Some(span), message))
            .collect();
        match source.resolve(|_| {}) {
            Ok(settings) => errors.extend(settings.warnings),
            Err(further) => errors.extend(further.into_vec()),
        }
        Err(errors.sorted())
    }

    fn describe_syntax_errors(&self, errors: Vec<toml::de::Error>) -> ConfigErrors {
        if parse::is_opensm_configuration(&self.text) {
            let message = "this is an OpenSM configuration; ferrosm reads TOML: `ferrosm config import` converts it";
            return ConfigError::of_file(self.path(), message).into();
        }
        let mut described: ConfigErrors = errors
            .iter()
            .map(|error| {
                let message = match error.span() {
                    Some(span) if parse::lacks_value(&self.text, span.start) => {
                        "missing value after `=`"
                    }
                    Some(_) | None => error.message(),
                };
                self.error_at(error.span(), message.to_owned())
            })
            .collect();
        described = described.sorted();
        let rest = "keys and values are checked when the file is valid TOML";
        described.push(ConfigError::of_file(self.path(), rest).into_warning());
        described
    }

    /// The defaults of `/etc/ferrosm/NAME.toml`: a state directory of its own, and its name in
    /// replication, which rejects standbys of another subnet at the same address.
    fn set_instance_defaults(&mut self) {
        let Some(path) = self.absolute_path() else {
            return;
        };
        if path.parent() != Some(Path::new(INSTANCE_DIR)) || path == Path::new(DEFAULT_PATH) {
            return;
        }
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else {
            return;
        };
        let default = Settings::default().state_dir;
        if self.settings.state_dir == default {
            self.settings.state_dir = default.map(|dir| dir.join(name));
        }
        let fabric = &mut self.settings.replication.fabric;
        if fabric.is_empty() {
            name.clone_into(fabric);
        }
    }

    /// An error at a byte range of the file.
    fn error_at(&self, span: Option<Range<usize>>, message: String) -> ConfigError {
        let error = ConfigError::of_file(self.path(), message);
        match span {
            Some(span) => error.at_excerpt(&self.text, span),
            None => error,
        }
    }

    /// An error of a key such as `port.guid`.
    fn key_error(&self, key: &str, message: &str) -> ConfigError {
        self.error_at(self.spans.get(key).cloned(), format!("{key}: {message}"))
    }

    /// Path of the file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The files that these settings were read from.
    #[must_use]
    pub fn files(&self, settings: &Settings) -> ConfigFiles {
        ConfigFiles {
            toml: String::from(&*self.text),
            inputs: InputTexts::clone(&settings.inputs),
        }
    }

    /// Absolute path of the file. Symbolic links are not followed.
    #[must_use]
    pub fn absolute_path(&self) -> Option<PathBuf> {
        std::path::absolute(self.path()?).ok()
    }

    /// Reads the file again. Defaults stay as they are.
    ///
    /// # Errors
    /// All errors of the file.
    pub fn reread(&self) -> Result<Self, ConfigErrors> {
        match &self.path {
            Some(path) => read(path),
            None => Ok(self.clone()),
        }
    }

    /// Pairs the source with its settings.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn into_resolved(
        self,
        flags: impl FnOnce(&mut Settings),
    ) -> Result<(Self, Settings), ConfigErrors> {
        let settings = self.resolve(flags)?;
        Ok((self, settings))
    }

    /// The texts of the input files that the file names, by these names. They are not checked.
    ///
    /// # Errors
    /// All files that cannot be read.
    pub fn read_named_inputs(&self) -> Result<InputTexts, ConfigErrors> {
        let settings = &self.settings;
        let mut texts = InputTexts::new();
        let mut errors = ConfigErrors::default();
        for name in settings.input_names() {
            let file = settings.dir.join(name);
            match std::fs::read(&file) {
                Ok(bytes) => drop(texts.insert(name.to_owned(), text_of(bytes))),
                Err(e) => {
                    errors.push(ConfigError::of_file(
                        Some(&file),
                        format!("cannot read file: {e}"),
                    ));
                }
            }
        }
        errors.name_keys(|file| key_of_file(settings, file));
        match errors.has_errors() {
            true => Err(errors),
            false => Ok(texts),
        }
    }

    /// Applies flags, checks combinations of keys, and reads the OpenSM input files.
    ///
    /// # Errors
    /// All errors and warnings, with the position of the key in the file, or the position in the
    /// input file.
    pub fn resolve(&self, flags: impl FnOnce(&mut Settings)) -> Result<Settings, ConfigErrors> {
        self.resolve_given(flags, &InputTexts::new())
    }

    /// As [`Self::resolve`], with the texts of input files that are not read.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn resolve_given(
        &self,
        flags: impl FnOnce(&mut Settings),
        given: &InputTexts,
    ) -> Result<Settings, ConfigErrors> {
        let mut settings = self.settings.clone();
        flags(&mut settings);
        let mut found = self.check_keys(&settings);
        let reader = InputReader::new(given);
        let mut of_files = self.read_input_files(&mut settings, &reader);
        settings.inputs = Arc::new(reader.into_texts());
        of_files.name_keys(|file| key_of_file(&settings, file));
        found.extend(of_files.into_vec());
        if found.has_errors() {
            return Err(found);
        }
        settings.warnings = found.into_vec();
        Ok(settings)
    }

    /// Checks combinations of keys. A section with an invalid key is not checked: the error of a
    /// combination may be wrong.
    fn check_keys(&self, settings: &Settings) -> ConfigErrors {
        let mut found: ConfigErrors = checks::invalid_combinations(settings)
            .iter()
            .filter(|(key, _)| {
                let section = key.split_once('.').map_or(*key, |(section, _)| section);
                !self.invalid_sections.contains(section)
            })
            .map(|(key, message)| self.key_error(key, message))
            .collect();
        // The valid value of an invalid key may give another one its effect.
        if self.invalid_sections.is_empty() && !found.has_errors() {
            let warnings = checks::ineffective_keys(settings);
            found.extend(
                warnings
                    .iter()
                    .map(|(key, message)| self.key_error(key, message).into_warning()),
            );
        }
        found.sorted()
    }

    /// Reads the OpenSM input files into the settings.
    fn read_input_files(&self, settings: &mut Settings, reader: &InputReader<'_>) -> ConfigErrors {
        let mut found = ConfigErrors::default();
        let file: ReadFile<'_> = &|path| reader.read(path);
        match settings.located_routing_files().read(file) {
            Ok((hints, warnings)) => {
                settings.sm.hints = Arc::new(hints);
                found.extend(warnings.into_iter().map(ConfigError::from));
            }
            Err(errors) => found.extend(errors.into_iter().map(ConfigError::from)),
        }
        let error_at = |entry: usize, message| {
            self.error_at(self.partition_spans.get(entry).cloned(), message)
        };
        let mut are_partitions_valid = self.invalid_sections.is_empty();
        match partitions::read_partitions(settings, self.path(), file, error_at) {
            Ok((partitions, warnings)) => {
                settings.sm.partitions = Arc::new(partitions);
                // A rule that seems to be missing may be an invalid entry.
                let is_complete = !self.invalid_sections.contains(keys::PARTITION);
                found.extend(warnings.into_iter().filter(|_| is_complete));
            }
            Err(errors) => {
                are_partitions_valid = false;
                found.extend(errors);
            }
        }
        match read_cabling_plan(settings, file) {
            Ok(plan) => settings.cabling_plan = plan.map(Arc::new),
            Err(error) => found.push(error),
        }
        let partitions = Arc::clone(&settings.sm.partitions);
        match path_inputs::read_path_inputs(settings, partitions.list(), file) {
            Ok((inputs, warnings)) => {
                settings.sm.qos = inputs.qos;
                settings.sm.prefix_routes = inputs.prefix_routes;
                // Partitions that the QoS policy names may be missing because they are invalid.
                found.extend(warnings.into_iter().filter(|_| are_partitions_valid));
            }
            Err(errors) => found.extend(
                errors
                    .into_iter()
                    .filter(|found| are_partitions_valid || !found.is_warning),
            ),
        }
        found
    }
}

/// The plan of the cables, if the configuration names one.
fn read_cabling_plan(
    settings: &Settings,
    read: ReadFile<'_>,
) -> Result<Option<CablingPlan>, ConfigError> {
    let Some(name) = &settings.cabling_plan_file else {
        return Ok(None);
    };
    let path = settings.dir.join(name);
    let failed = |message| ConfigError::of_file(Some(&path), message);
    let bytes = read(&path).map_err(|e| failed(format!("cannot read file: {e}")))?;
    let plan = CablingPlan::read(&text_of(bytes)).map_err(|e| failed(e.to_string()))?;
    Ok(Some(plan))
}

/// The key that names a file.
fn key_of_file(settings: &Settings, file: &Path) -> Option<&'static str> {
    let key = keys::KEYS.iter().find(|key| {
        let value = (key.print)(settings);
        let name = value.as_str().filter(|name| !name.is_empty());
        name.is_some_and(|name| settings.dir.join(name) == file)
    });
    key.map(|key| key.name)
}

#[cfg(test)]
mod tests;
