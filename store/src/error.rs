//! Errors of the state directory. Each names the file or directory; who reports one adds what the
//! operator can do.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::file::StoreError;

/// Why a state directory cannot be used.
#[derive(Debug, Error)]
pub enum StateError {
    /// The directory or its lock file cannot be created, written or locked.
    #[error("cannot {action} state directory {}: {source}", dir.display())]
    Directory {
        /// What failed, such as `create`.
        action: &'static str,
        /// The directory.
        dir: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another process has locked the directory.
    #[error("another {user} uses state directory {}", dir.display())]
    InUse {
        /// The process, such as `ferrosm (PID 7)`.
        user: String,
        /// The directory.
        dir: PathBuf,
    },
    /// The store cannot be opened or written.
    #[error("cannot use {}: {source}", file.display())]
    Store {
        file: PathBuf,
        /// Why.
        source: StoreError,
    },
    /// An unreadable store cannot be renamed.
    #[error("cannot rename the unreadable file {}: {source}", file.display())]
    Rename {
        file: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A file cannot be inspected. It is unchanged.
    #[error("cannot read {}: {source}", file.display())]
    Inspect {
        file: PathBuf,
        /// Why.
        source: StoreError,
    },
    /// Another process committed a batch during each attempt to inspect the records.
    #[error("{user} changed the records during each attempt to read them")]
    Changing {
        /// The process, such as `ferrosm (PID 7)`.
        user: String,
    },
}
