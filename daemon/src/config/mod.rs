//! The configuration: a TOML file, checked completely before it is used.
//!
//! Two stages: [`RawConfig`] is the file as serde reads it, with defaults; [`Settings`] are the checked values for the rest of the
//! program. Flags override the file, the file overrides defaults. All errors are reported together, with line, column and allowed values;
//! an invalid file is never used in part.

mod error;
mod fabrics;
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

/// Reads and checks a configuration file; returns a source for each of its fabrics.
///
/// # Errors
/// All errors of the file.
pub fn read(path: &Path) -> Result<Vec<ConfigSource>, ConfigErrors> {
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

/// Resolves all fabrics of a file and checks them against each other.
///
/// # Errors
/// All errors, without duplicates.
pub fn resolve_all(
    sources: Vec<ConfigSource>,
    flags: impl Fn(&mut RawConfig),
) -> Result<Vec<(ConfigSource, Settings)>, ConfigErrors> {
    let mut errors = ConfigErrors::none();
    let mut resolved = Vec::new();
    for source in sources {
        match source.resolve(&flags) {
            Ok(settings) => resolved.push((source, settings)),
            Err(further) => errors = errors.and(further),
        }
    }
    if let Err(further) = fabrics::check_combination(&resolved) {
        errors = errors.and(further);
    }
    if !errors.has_errors() {
        return Ok(resolved);
    }
    let warnings = resolved.into_iter().map(|(_, settings)| settings.warnings);
    Err(warnings.fold(errors, ConfigErrors::with).sorted())
}

/// The keys of one fabric of a configuration file, and the text, for the positions of errors.
#[derive(Debug, Clone)]
pub struct ConfigSource {
    path: Option<PathBuf>,
    text: Arc<str>,
    fabric: Option<String>,
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
            fabric: None,
            invalid_sections: Arc::default(),
            raw: RawConfig::default(),
        }
    }

    /// Parses a text; returns a source for each `[[fabric]]`, or one without a name.
    ///
    /// # Errors
    /// All errors of the text. If keys are invalid, also the errors and warnings that [`Self::resolve`] finds in the others.
    pub fn parse(path: &Path, text: &str) -> Result<Vec<Self>, ConfigErrors> {
        let parsed = parse::parse(path, text)?;
        let text: Arc<str> = text.into();
        let invalid_sections = Arc::new(parsed.invalid_sections);
        let sources = parsed.fabrics.into_iter().map(|fabric| Self {
            path: Some(path.to_owned()),
            text: Arc::clone(&text),
            fabric: fabric.fabric,
            invalid_sections: Arc::clone(&invalid_sections),
            raw: fabric.raw,
        });
        let sources: Vec<Self> = sources.collect();
        if !parsed.errors.has_errors() {
            return Ok(sources);
        }
        let further = sources.iter().map(|source| match source.resolve(|_| {}) {
            Ok(settings) => settings.warnings,
            Err(errors) => errors.into_vec(),
        });
        Err(further.fold(parsed.errors, ConfigErrors::with).sorted())
    }

    /// Parses a text with one fabric.
    #[cfg(test)]
    pub(crate) fn single(path: &Path, text: String) -> Result<Self, ConfigErrors> {
        let mut sources = Self::parse(path, &text)?;
        assert_eq!(sources.len(), 1);
        Ok(sources.remove(0))
    }

    /// Selects a fabric by name, or the only one.
    ///
    /// # Errors
    /// A message with the names of the fabrics.
    pub fn select(sources: Vec<Self>, fabric: Option<&str>) -> Result<Self, String> {
        let names: Vec<&str> = sources.iter().filter_map(Self::fabric).collect();
        let available = if names.is_empty() {
            "the configuration has no [[fabric]]".to_owned()
        } else {
            format!("the configuration has {}", names.join(", "))
        };
        match fabric {
            Some(name) => sources
                .iter()
                .find(|source| source.fabric() == Some(name))
                .cloned()
                .ok_or_else(|| format!("unknown fabric {name}: {available}")),
            None if sources.len() > 1 => Err(format!("no fabric selected: {available}")),
            None => sources.into_iter().next().ok_or(available),
        }
    }

    /// Name of the fabric; `None` without `[[fabric]]`.
    #[must_use]
    pub fn fabric(&self) -> Option<&str> {
        self.fabric.as_deref()
    }

    /// An error of a key such as `port.guid`.
    pub(crate) fn key_error(&self, key: &str, message: &str) -> ConfigErrors {
        let position = parse::position(&self.text, self.fabric(), key);
        let is_common = matches!(position, Some((_, false)));
        let fabric = self.fabric.as_ref().filter(|_| !is_common);
        let fabric = fabric
            .map(|name| format!("fabric {name}: "))
            .unwrap_or_default();
        let at = position.map(|(span, _)| span);
        let message = format!("{fabric}{key}: {message}");
        ConfigErrors::new(self.path.as_deref(), &self.text, [(at, message)])
    }

    /// Path of the file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Reads the file again; returns a source for each of its fabrics. Defaults stay as they are.
    ///
    /// # Errors
    /// All errors of the file.
    pub fn reread(&self) -> Result<Vec<Self>, ConfigErrors> {
        match &self.path {
            Some(path) => read(path),
            None => Ok(vec![self.clone()]),
        }
    }

    /// Applies flags, checks combinations of keys, and reads the OpenSM input files.
    ///
    /// # Errors
    /// All errors and warnings, with the position of the key in the file, or the position in the input file.
    pub fn resolve(&self, flags: impl FnOnce(&mut RawConfig)) -> Result<Settings, ConfigErrors> {
        let mut raw = self.raw.clone();
        flags(&mut raw);
        if let (true, Some(name)) = (raw.replication.fabric.is_empty(), self.fabric()) {
            // The name rejects standbys of another fabric at the same address.
            name.clone_into(&mut raw.replication.fabric);
        }
        let dir = self.path.as_deref().and_then(Path::parent);
        let files = settings::input_files(&raw.routing, dir.unwrap_or_else(|| Path::new("")));
        let hints = files.read().map_err(ConfigErrors::from);
        let dir = dir.unwrap_or_else(|| Path::new(""));
        let entry_position = |n: usize| {
            // Invalid entries were removed, so the number in the text may be another.
            let entries = &self.raw.partition;
            let name = &entries.get(n)?.name;
            let skipped = entries[..n].iter().filter(|e| e.name == *name).count();
            let span = parse::partition_span(&self.text, self.fabric(), (name, skipped))?;
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
