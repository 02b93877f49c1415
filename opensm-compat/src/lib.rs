//! OpenSM's file formats: readers of its input files and state files, and writers of its dumps.
//!
//! Parsers convert text to typed values, or return errors with line and column. Writers render a
//! [`Snapshot`](ferrosm_fabric::snapshot::Snapshot). Nothing here logs, prints or reads the
//! configuration.
//!
//! | module | contents |
//! |---|---|
//! | [`input`] | input files: GUID lists, LFTs, partitions, QoS policy, prefix routes, torus |
//! | [`dump`] | dumps that OpenSM's tools and site scripts read |
//! | [`state`] | files in which OpenSM persists LIDs, M_Keys, links and registrations |
//! | [`error`] | errors of the readers |
//! | [`keyword`] | suggestions for misspelt keywords |

pub mod dump;
pub mod error;
pub mod input;
pub mod keyword;
pub mod state;

pub use error::{InputError, InputFileError};
