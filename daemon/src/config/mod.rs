//! The configuration: a TOML file, checked whole before anything acts on it.
//!
//! Two stages. [`RawConfig`] is the file as serde sees it, key by key, with defaults; [`Settings`] is what the rest of
//! the program acts on. Order of precedence: default, file, flag. All errors are found in one go, each with line,
//! column and what would be right; a wrong file is never used in part.

mod error;
mod fabrics;
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

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use error::{ConfigError, ConfigErrors};
pub use parse::{Parsed, parse};
pub use partition_keys::{Enforce, PKeyText, PartitionEntry, PartitionRules};
pub use print::{DEFAULT_FILE, effective};
pub use raw::{
    Files, LidRules, Links, Log, LogFormat, MetricsKeys, Port, QosRules, RawConfig, Routing, Sa,
    Sm, SubnetKeys, Sweep,
};
pub use reload::{Changes, changes, in_force};
pub use replication::ReplicationKeys;
pub use settings::{LogSettings, PortChoice, Settings};

/// Read by `ferrosm run` where no other file is named and this one exists.
pub const DEFAULT_PATH: &str = "/etc/ferrosm.toml";

/// Reads and checks a configuration file: one source for each fabric that it describes.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read(path: &Path) -> Result<Vec<Source>, ConfigErrors> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| ConfigErrors::single(path, format!("cannot read it: {e}")))?;
    Source::parse(path, &text)
}

/// Settles all fabrics of a file, and checks what they say together.
///
/// # Errors
/// Everything that is wrong, once.
pub fn resolve_all(
    sources: Vec<Source>,
    flags: impl Fn(&mut RawConfig),
) -> Result<Vec<(Source, Settings)>, ConfigErrors> {
    let mut wrong = ConfigErrors::none();
    let mut all = Vec::new();
    for source in sources {
        match source.resolve(&flags) {
            Ok(settings) => all.push((source, settings)),
            Err(errors) => wrong = wrong.and(errors),
        }
    }
    if !wrong.is_empty() {
        return Err(wrong.sorted());
    }
    fabrics::check_combination(&all)?;
    Ok(all)
}

/// A configuration file that was read: the keys of one of its fabrics, and its text to point into.
#[derive(Debug, Clone)]
pub struct Source {
    path: Option<PathBuf>,
    text: Arc<str>,
    fabric: Option<String>,
    /// The keys of the file over the defaults.
    pub raw: RawConfig,
}

impl Source {
    /// No file: all defaults.
    #[must_use]
    pub fn defaults() -> Self {
        Self {
            path: None,
            text: "".into(),
            fabric: None,
            raw: RawConfig::default(),
        }
    }

    /// Checks the keys and values of a text: one source for each `[[fabric]]`, or one without a name.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(path: &Path, text: &str) -> Result<Vec<Self>, ConfigErrors> {
        let parsed = parse(path, text)?;
        let text: Arc<str> = text.into();
        let sources = parsed.into_iter().map(|Parsed { fabric, raw }| Self {
            path: Some(path.to_owned()),
            text: Arc::clone(&text),
            fabric,
            raw,
        });
        Ok(sources.collect())
    }

    /// The only fabric of a text.
    #[cfg(test)]
    pub(crate) fn only(path: &Path, text: String) -> Result<Self, ConfigErrors> {
        let mut all = Self::parse(path, &text)?;
        assert_eq!(all.len(), 1);
        Ok(all.remove(0))
    }

    /// One of several: the one of that name, or the only one where no name is given.
    ///
    /// # Errors
    /// A sentence that names those that there are.
    pub fn select(all: Vec<Self>, fabric: Option<&str>) -> Result<Self, String> {
        let names: Vec<&str> = all.iter().filter_map(Self::fabric).collect();
        let there = if names.is_empty() {
            "the configuration names no fabrics".to_owned()
        } else {
            format!("the configuration has {}", names.join(", "))
        };
        match fabric {
            Some(name) => all
                .iter()
                .find(|source| source.fabric() == Some(name))
                .cloned()
                .ok_or_else(|| format!("there is no fabric {name}: {there}")),
            None if all.len() > 1 => Err(format!("which fabric? {there}")),
            None => all.into_iter().next().ok_or(there),
        }
    }

    /// The name of the fabric, where the file has several or names the only one.
    #[must_use]
    pub fn fabric(&self) -> Option<&str> {
        self.fabric.as_deref()
    }

    /// Something that is wrong with a key such as `port.guid`.
    pub(crate) fn key_error(&self, key: &str, what: &str) -> ConfigErrors {
        let place = parse::position(&self.text, self.fabric(), key);
        let common = matches!(place, Some((_, false)));
        let of = self.fabric.as_ref().filter(|_| !common);
        let of = of
            .map(|name| format!("fabric {name}: "))
            .unwrap_or_default();
        let at = place.map(|(span, _)| span);
        let what = format!("{of}{key}: {what}");
        ConfigErrors::new(self.path.as_deref(), &self.text, [(at, what)])
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Lays flags over the file, checks what keys say together, and reads the OpenSM input files.
    ///
    /// # Errors
    /// Everything that is wrong, with the place of the key where the file has it, or the position in the input file.
    pub fn resolve(&self, flags: impl FnOnce(&mut RawConfig)) -> Result<Settings, ConfigErrors> {
        let mut raw = self.raw.clone();
        flags(&mut raw);
        if let (true, Some(name)) = (raw.replication.fabric.is_empty(), self.fabric()) {
            // Standbys of different fabrics may meet at one address by mistake.
            name.clone_into(&mut raw.replication.fabric);
        }
        let beside = self.path.as_deref().and_then(Path::parent);
        let files = settings::input_files(&raw.routing, beside.unwrap_or_else(|| Path::new("")));
        let hints = files.read().map_err(ConfigErrors::from);
        let beside = beside.unwrap_or_else(|| Path::new(""));
        let partitions = partitions::read(&raw, self.path(), beside);
        let list = partitions.as_ref().map_or(&[][..], |(p, _)| p.list());
        let paths = path_inputs::read(&raw, beside, list);
        let resolved = settings::resolve(raw).map_err(|found| {
            let wrong = found.iter().map(|(key, what)| self.key_error(key, what));
            wrong.fold(ConfigErrors::none(), ConfigErrors::and).sorted()
        });
        let (hints, mut wrong) = match hints {
            Ok(hints) => (hints, ConfigErrors::none()),
            Err(files) => (Default::default(), files),
        };
        let (partitions, warnings) = partitions.unwrap_or_else(|errors| {
            errors.into_iter().for_each(|e| wrong.push(e));
            Default::default()
        });
        let paths = paths.unwrap_or_else(|errors| {
            errors.into_iter().for_each(|e| wrong.push(e));
            Default::default()
        });
        match resolved {
            Ok(mut settings) if wrong.is_empty() => {
                settings.sm.hints = Arc::new(hints);
                settings.sm.partitions = Arc::new(partitions);
                settings.sm.qos = paths.qos;
                settings.sm.prefix_routes = paths.prefix_routes;
                let keys = &settings.raw.replication;
                settings.replication =
                    replication::settings(keys, settings.sm.subnet_prefix.0, beside);
                settings.warnings = warnings;
                settings.warnings.extend(paths.warnings);
                Ok(settings)
            }
            Ok(_) => Err(wrong),
            Err(keys) => Err(keys.and(wrong)),
        }
    }
}
