//! Import of OpenSM's configuration: what OpenSM did with each line, and the configuration of
//! ferrosm that does the same.
//!
//! OpenSM's own rules are reproduced, not those of ferrosm's readers: lines that it ignores, files
//! that it drops as a whole. Functions are pure; the daemon reads files for them.
//!
//! | module | contents |
//! |---|---|
//! | [`finding`] | what happened to a line |
//! | [`conf`] | lines of `opensm.conf` |
//! | [`assignments`] | options set by files and flags; which value OpenSM uses |
//! | [`corrections`] | values that OpenSM replaces |
//! | [`command_line`] | flags of OpenSM's command line |
//! | [`start_files`] | files that start OpenSM: `/etc/sysconfig/opensm`, `/etc/default/opensm`, scripts |
//! | [`services`] | the SMs that these files start |
//! | [`evaluation`] | from options to keys of ferrosm |
//! | [`input_files`] | files that options name: whether OpenSM used them |
//! | [`partition_rules`] | OpenSM's parser of `partitions.conf` |
//! | [`partition_list`] | the partitions that follow from it |
//! | [`file_kind`] | which file of OpenSM a text is |
//! | [`toml_text`] | the resulting configuration file |

pub mod assignments;
pub mod command_line;
pub mod conf;
pub mod corrections;
pub mod evaluation;
pub mod file_kind;
pub mod finding;
pub mod input_files;
pub mod partition_list;
pub mod partition_rules;
pub mod services;
pub mod start_files;
pub mod toml_text;

#[cfg(test)]
mod tests;
