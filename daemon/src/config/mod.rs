//! The configuration: a TOML file, checked completely before it is used.
//!
//! Two stages: [`RawConfig`] is the file as serde reads it, with defaults; [`Settings`] are the
//! checked values for the rest of the program. Flags override the file, the file overrides
//! defaults. All errors are reported together, with line, column and allowed values; an invalid
//! file is never used in part.

mod combination;
mod error;
mod key_messages;
mod log_level;
mod parse;
mod partition_keys;
mod partitions;
mod path_inputs;
mod print;
mod raw;
mod reload;
mod replication;
mod settings;
pub mod value;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use combination::{check as check_combination, files_of_host, read_files};
pub use error::{ConfigError, ConfigErrors};
pub use log_level::parse_log_level;
pub use partition_keys::{Enforce, PKeyText, PartitionEntry, PartitionRules};
pub use print::{DEFAULT_FILE, effective};
pub use raw::{
    FileKeys, LidKeys, LinkKeys, LogFormat, LogKeys, MetricsKeys, PortKeys, QosKeys, RawConfig,
    RoutingKeys, SaKeys, SmKeys, SubnetKeys, SweepKeys,
};
pub use reload::{Changes, changes, in_force};
pub use replication::ReplicationKeys;
pub use settings::{LogSettings, PortChoice, Settings};

/// Default configuration file of `ferrosm run`, used if it exists.
pub const DEFAULT_PATH: &str = "/etc/ferrosm.toml";
/// Directory of the configuration files of a host with several subnets. The service `ferrosm@NAME`
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
        ConfigErrors::single(path, message)
    })?;
    ConfigSource::parse(path, &text)
}

/// The keys of a configuration file, and the text, for the positions of errors.
#[derive(Debug, Clone)]
pub struct ConfigSource {
    path: Option<PathBuf>,
    text: Arc<str>,
    /// Sections with invalid keys: the other keys are not checked against them.
    invalid_sections: Arc<BTreeSet<String>>,
    /// Keys of the file, with defaults.
    pub raw: RawConfig,
}

impl ConfigSource {
    /// Defaults, without a file.
    #[must_use]
    pub fn defaults() -> Self {
        Self {
            path: None,
            text: "".into(),
            invalid_sections: Arc::default(),
            raw: RawConfig::default(),
        }
    }

    /// Parses a text.
    ///
    /// # Errors
    /// All errors of the text. If keys are invalid, also the errors and warnings that
    /// [`Self::resolve`] finds in the others.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigErrors> {
        let parsed = parse::parse(path, text)?;
        let mut source = Self {
            path: Some(path.to_owned()),
            text: text.into(),
            invalid_sections: Arc::new(parsed.invalid_sections),
            raw: parsed.raw,
        };
        source.set_instance_defaults();
        if !parsed.errors.has_errors() {
            return Ok(source);
        }
        let further = match source.resolve(|_| {}) {
            Ok(settings) => settings.warnings,
            Err(errors) => errors.into_vec(),
        };
        Err(parsed.errors.with(further).sorted())
    }

    /// The defaults of `/etc/ferrosm/NAME.toml`: a state directory of its own, and its name in
    /// replication, which rejects standbys of another subnet at the same address.
    fn set_instance_defaults(&mut self) {
        let Some(path) = self.absolute_path() else {
            return;
        };
        if path.parent() != Some(Path::new(INSTANCE_DIR)) {
            return;
        }
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else {
            return;
        };
        let files = &mut self.raw.files;
        if files.state_dir == FileKeys::default().state_dir {
            files.state_dir = format!("{}/{name}", files.state_dir);
        }
        let fabric = &mut self.raw.replication.fabric;
        if fabric.is_empty() {
            name.clone_into(fabric);
        }
    }

    /// An error of a key such as `port.guid`.
    pub(crate) fn key_error(&self, key: &str, message: &str) -> ConfigErrors {
        let at = parse::position(&self.text, key);
        let message = format!("{key}: {message}");
        ConfigErrors::new(self.path.as_deref(), &self.text, [(at, message)])
    }

    /// Path of the file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
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
        flags: impl FnOnce(&mut RawConfig),
    ) -> Result<(Self, Settings), ConfigErrors> {
        let settings = self.resolve(flags)?;
        Ok((self, settings))
    }

    /// Applies flags, checks combinations of keys, and reads the OpenSM input files.
    ///
    /// # Errors
    /// All errors and warnings, with the position of the key in the file, or the position in the
    /// input file.
    pub fn resolve(&self, flags: impl FnOnce(&mut RawConfig)) -> Result<Settings, ConfigErrors> {
        let mut raw = self.raw.clone();
        flags(&mut raw);
        let dir = self.path.as_deref().and_then(Path::parent);
        let files = settings::input_files(&raw.routing, dir.unwrap_or_else(|| Path::new("")));
        let hints = files.read().map_err(ConfigErrors::from);
        let dir = dir.unwrap_or_else(|| Path::new(""));
        let entry_position = |n: usize| {
            // Invalid entries were removed, so the number in the text may be another.
            let entries = &self.raw.partition;
            let name = &entries.get(n)?.name;
            let skipped = entries[..n].iter().filter(|e| e.name == *name).count();
            let span = parse::partition_span(&self.text, (name, skipped))?;
            Some(error::line_column(&self.text, span.start))
        };
        let partitions = partitions::read_partitions(&raw, self.path(), dir, entry_position);
        let are_partitions_valid = partitions.is_ok() && self.invalid_sections.is_empty();
        let list = partitions.as_ref().map_or(&[][..], |(p, _)| p.list());
        let path_inputs = path_inputs::read_path_inputs(&raw, dir, list);
        let file_keys = print::entries(&raw);
        let resolved = settings::resolve(raw).map_err(|key_errors| {
            let is_certain = |key: &str| {
                let section = key.split_once('.').map_or(key, |(section, _)| section);
                !self.invalid_sections.contains(section) || !settings::depends_on_other_keys(key)
            };
            let located_errors = key_errors
                .iter()
                .filter(|(key, _)| is_certain(key))
                .map(|(key, message)| self.key_error(key, message));
            located_errors
                .fold(ConfigErrors::none(), ConfigErrors::and)
                .sorted()
        });
        let (hints, found) = match hints {
            Ok((hints, warnings)) => (hints, warnings.into()),
            Err(files) => (Default::default(), files),
        };
        let (partitions, of_partitions) = partitions.unwrap_or_else(|e| (Default::default(), e));
        let (path_inputs, mut of_paths) = path_inputs.unwrap_or_else(|e| (Default::default(), e));
        // Partitions that the QoS policy names may be missing because they are invalid.
        of_paths.retain(|found| are_partitions_valid || !found.is_warning);
        let mut found = found.with(of_partitions).with(of_paths);
        found.name_keys(|file| {
            let names_file = |(_, value): &&(String, String)| {
                let name = value.trim_matches('"');
                !name.is_empty() && dir.join(name) == file
            };
            let key = file_keys.iter().find(names_file);
            key.map(|(key, _)| key.as_str())
        });
        let mut settings = match resolved {
            Ok(settings) => settings,
            Err(keys) => return Err(keys.and(found)),
        };
        // An invalid key, which was removed, may give another one its effect.
        if self.invalid_sections.is_empty() {
            for (key, message) in settings::ineffective_keys(&settings.raw) {
                found = found.and(self.key_error(key, message).into_warnings());
            }
        }
        if found.has_errors() {
            return Err(found);
        }
        settings.sm.hints = Arc::new(hints);
        settings.sm.partitions = Arc::new(partitions);
        settings.sm.qos = path_inputs.qos;
        settings.sm.prefix_routes = path_inputs.prefix_routes;
        let keys = &settings.raw.replication;
        settings.replication = replication::settings(keys, settings.sm.subnet_prefix.0, dir);
        settings.warnings = found.into_vec();
        Ok(settings)
    }
}
