//! The configuration: a TOML file, checked whole before anything acts on it.
//!
//! Two stages. [`RawConfig`] is the file as serde sees it, key by key, with defaults; [`Settings`] is what the rest of
//! the program acts on. Order of precedence: default, file, flag. All errors are found in one go, each with line,
//! column and what would be right; a wrong file is never used in part.

mod error;
mod parse;
mod partitions;
mod paths;
mod print;
mod raw;
mod reload;
mod replication;
mod settings;
pub mod value;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use error::nearest;
pub use error::{ConfigError, ConfigErrors};
pub use parse::parse;
pub use partitions::{Enforce, PartitionEntry, PartitionRules, Word};
pub use paths::QosRules;
pub use print::{DEFAULT_FILE, effective};
pub use raw::{Files, LidRules, Links, Log, Port, RawConfig, Routing, Sa, Sm, SubnetKeys, Sweep};
pub use reload::{Changes, changes};
pub use replication::ReplicationKeys;
pub use settings::{LogFormat, LogSettings, PortChoice, Settings};

use crate::side_files;

/// Read by `ferrosm run` where no other file is named and this one exists.
pub const DEFAULT_PATH: &str = "/etc/ferrosm.toml";

/// Reads and checks a configuration file.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read(path: &Path) -> Result<Source, ConfigErrors> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| ConfigErrors::single(path, format!("cannot read it: {e}")))?;
    Source::parse(path, text)
}

/// A configuration file that was read: its keys, and its text to point into.
#[derive(Debug, Clone)]
pub struct Source {
    path: Option<PathBuf>,
    text: String,
    /// The keys of the file over the defaults.
    pub raw: RawConfig,
}

impl Source {
    /// No file: all defaults.
    #[must_use]
    pub fn defaults() -> Self {
        Self {
            path: None,
            text: String::new(),
            raw: RawConfig::default(),
        }
    }

    /// Checks the keys and values of a text.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(path: &Path, text: String) -> Result<Self, ConfigErrors> {
        let raw = parse(path, &text)?;
        Ok(Self {
            path: Some(path.to_owned()),
            text,
            raw,
        })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Lays flags over the file, checks what keys say together, and reads the side files.
    ///
    /// # Errors
    /// Everything that is wrong, with the place of the key where the file has it, or the place in the side file.
    pub fn settle(&self, flags: impl FnOnce(&mut RawConfig)) -> Result<Settings, ConfigErrors> {
        let mut raw = self.raw.clone();
        flags(&mut raw);
        let beside = self.path.as_deref().and_then(Path::parent);
        let files = settings::side_files(&raw.routing, beside.unwrap_or_else(|| Path::new("")));
        let hints = side_files::read(&files);
        let beside = beside.unwrap_or_else(|| Path::new(""));
        let partitions = partitions::read(&raw, self.path(), beside);
        let list = partitions.as_ref().map_or(&[][..], |(p, _)| p.list());
        let paths = paths::read(&raw, beside, list);
        let settled = settings::settle(raw).map_err(|found| {
            ConfigErrors::new(
                self.path.as_deref(),
                &self.text,
                found.into_iter().map(|(key, what)| {
                    (parse::position(&self.text, key), format!("{key}: {what}"))
                }),
            )
        });
        let (hints, mut wrong) = match hints {
            Ok(hints) => (hints, ConfigErrors::none()),
            Err(files) => (Default::default(), files),
        };
        let (partitions, remarks) = partitions.unwrap_or_else(|errors| {
            errors.into_iter().for_each(|e| wrong.push(e));
            Default::default()
        });
        let paths = paths.unwrap_or_else(|errors| {
            errors.into_iter().for_each(|e| wrong.push(e));
            Default::default()
        });
        match settled {
            Ok(mut settings) if wrong.is_empty() => {
                settings.sm.hints = Arc::new(hints);
                settings.sm.partitions = Arc::new(partitions);
                settings.sm.qos = paths.qos;
                settings.sm.prefix_routes = paths.prefix_routes;
                let keys = &settings.raw.replication;
                settings.replication =
                    replication::settings(keys, settings.sm.subnet_prefix.0, beside);
                settings.remarks = remarks;
                settings.remarks.extend(paths.remarks);
                Ok(settings)
            }
            Ok(_) => Err(wrong),
            Err(keys) => Err(keys.and(wrong)),
        }
    }
}
