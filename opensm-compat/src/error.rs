//! Errors of the readers: position and message, with the file.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// An error in the text of an input file, or a warning.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{message}", position.map_or_else(String::new, |(line, column)| format!("{line}:{column}: ")))]
pub struct InputError {
    /// Line and column, from 1; `None` for an error of the whole file.
    pub position: Option<(usize, usize)>,
    /// What is wrong, and what is expected.
    pub message: String,
    /// A probable mistake that is accepted: the file is valid without errors.
    pub is_warning: bool,
}

impl InputError {
    /// An error of the whole file.
    pub(crate) fn in_file(message: impl Into<String>) -> Self {
        Self {
            position: None,
            message: message.into(),
            is_warning: false,
        }
    }

    /// The same message as a warning.
    pub(crate) fn into_warning(self) -> Self {
        Self {
            is_warning: true,
            ..self
        }
    }

    /// An error at a line and column.
    pub(crate) fn at(line: usize, column: usize, message: impl Into<String>) -> Self {
        Self {
            position: Some((line, column)),
            ..Self::in_file(message)
        }
    }
}

/// An unusable input file.
#[derive(Debug, Error)]
pub enum InputFileError {
    /// The file cannot be read.
    #[error("{}: cannot read file: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The contents are invalid.
    #[error("{}:{}{source}", path.display(), if source.position.is_none() { " " } else { "" })]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The error and its position.
        source: InputError,
    },
    /// The file supplements LFTs, and no lfts_file is configured.
    #[error("{}: {key} requires lfts_file", path.display())]
    RequiresLftsFile {
        /// The file.
        path: PathBuf,
        /// The configuration key.
        key: &'static str,
    },
}

impl InputFileError {
    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Unreadable { path, .. }
            | Self::Invalid { path, .. }
            | Self::RequiresLftsFile { path, .. } => path,
        }
    }

    /// Whether the file is valid all the same.
    #[must_use]
    pub const fn is_warning(&self) -> bool {
        match self {
            Self::Invalid { source, .. } => source.is_warning,
            Self::Unreadable { .. } | Self::RequiresLftsFile { .. } => false,
        }
    }

    /// The error without the path.
    #[must_use]
    pub fn into_input_error(self) -> InputError {
        match self {
            Self::Unreadable { source, .. } => {
                InputError::in_file(format!("cannot read file: {source}"))
            }
            Self::Invalid { source, .. } => source,
            Self::RequiresLftsFile { key, .. } => {
                InputError::in_file(format!("{key} requires lfts_file"))
            }
        }
    }
}
