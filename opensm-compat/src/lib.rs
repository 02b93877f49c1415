//! OpenSM's file formats: readers of its input files, and writers of its dumps. The store reads its
//! state files.
//!
//! Parsers convert text to typed values, or return errors with line and column. Writers render a
//! [`Snapshot`](ferrosm_fabric::snapshot::Snapshot). Nothing here logs, prints or reads the
//! configuration.
//!
//! | module | contents |
//! |---|---|
//! | [`input`] | input files: GUID lists, LFTs, partitions, QoS policy, prefix routes, torus |
//! | [`import`] | what OpenSM did with its configuration, and the configuration of ferrosm that does the same |
//! | [`export`] | ferrosm's configuration as files of OpenSM |
//! | [`options`] | the table of OpenSM's options |
//! | [`dump`] | dumps that OpenSM's tools and site scripts read |
//! | [`error`] | errors of the readers |
//! | [`keyword`] | suggestions for misspelt keywords |

pub mod dump;
pub mod error;
pub mod export;
pub mod import;
pub mod input;
pub mod keyword;
pub mod options;

pub use error::{InputError, InputFileError};
