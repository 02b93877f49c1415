//! Flags of `state`: what is kept over restarts, to be looked at and carried elsewhere.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Flags of `state`.
#[derive(Debug, Clone, Args)]
pub struct StateArgs {
    /// The directory; that of the configuration file if not given.
    #[arg(long, value_name = "DIR", global = true)]
    pub state_dir: Option<PathBuf>,
    /// The configuration file.
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "state_dir")]
    pub config: Option<PathBuf>,
    /// Which fabric of the configuration file, where it has several.
    #[arg(long, value_name = "NAME", global = true, conflicts_with = "state_dir")]
    pub fabric: Option<String>,
    /// What about it.
    #[command(subcommand)]
    pub what: StateCommand,
}

/// What can be done with what is kept.
#[derive(Debug, Clone, Subcommand)]
pub enum StateCommand {
    /// Write all records as lines of JSON.
    Export {
        /// Where to; standard output if not given.
        file: Option<PathBuf>,
    },
    /// Take records in: what `export` wrote, or files of OpenSM. All of it or, if anything is wrong with it, nothing.
    Import {
        /// What `ferrosm state export` wrote, or files of OpenSM by their names: guid2lid, guid2mkey, neighbors, opensm-sa.dump.
        #[arg(value_name = "FILE", required_unless_present = "opensm_dir")]
        files: Vec<PathBuf>,
        /// Directories with files of OpenSM, as /var/cache/opensm; those that are there are taken.
        #[arg(long, value_name = "DIR", conflicts_with = "files")]
        opensm_dir: Vec<PathBuf>,
        /// In place of what is kept already.
        #[arg(long)]
        replace: bool,
    },
    /// Tell what is kept.
    Show {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}
