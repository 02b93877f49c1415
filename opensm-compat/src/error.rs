//! Errors of the readers: a position in a text, and files with such errors.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// An error in the text of an input file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{message}", position.map_or_else(String::new, |(line, column)| format!("{line}:{column}: ")))]
pub struct InputError {
    /// Line and column, both from 1; `None` for an error of the file as a whole.
    pub position: Option<(usize, usize)>,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// An input file that cannot be used.
#[derive(Debug, Error)]
pub enum InputFileError {
    /// The file cannot be read.
    #[error("{}: cannot read it: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The text of the file is wrong.
    #[error("{}:{}{source}", path.display(), if source.position.is_none() { " " } else { "" })]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The first or only error, with its position.
        source: InputError,
    },
    /// The file is of use with forwarding tables only, and no file of tables is configured.
    #[error("{}: a {key} belongs to tables, and there is no lfts_file", path.display())]
    RequiresLftsFile {
        /// The file.
        path: PathBuf,
        /// Name of the setting.
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

    /// The error without the path, and its position in the file.
    #[must_use]
    pub fn into_input_error(self) -> InputError {
        let whole = |message| InputError {
            position: None,
            message,
        };
        match self {
            Self::Unreadable { source, .. } => whole(format!("cannot read it: {source}")),
            Self::Invalid { source, .. } => source,
            Self::RequiresLftsFile { key, .. } => whole(format!(
                "a {key} belongs to tables, and there is no lfts_file"
            )),
        }
    }
}
