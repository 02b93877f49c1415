//! OpenSM's file formats: readers of its input files and of its state, and writers of its dumps.
//!
//! Parsers take text and return typed values, or errors with line and column. Writers render a [`view::FabricView`]. Neither logs, prints,
//! nor reads a configuration.
//!
//! | module | what it holds |
//! |---|---|
//! | [`input`] | input files: GUID lists, tables, partitions, QoS policy, prefix routes, torus |
//! | [`dump`] | dumps that OpenSM's tools and site scripts read |
//! | [`state`] | files in which OpenSM keeps LIDs, M_Keys, links and registrations |
//! | [`view`] | the fabric as writers see it |
//! | [`error`] | errors of the readers |
//! | [`keyword`] | suggestions for misspelt keywords |

pub mod dump;
pub mod error;
pub mod input;
pub mod keyword;
pub mod state;
pub mod view;

pub use error::{InputError, InputFileError};
