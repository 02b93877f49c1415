//! Flags of `state`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Flags of `state`.
#[derive(Debug, Clone, Args)]
pub struct StateArgs {
    /// State directory [default: that of the configuration file].
    #[arg(long, value_name = "DIR", global = true)]
    pub state_dir: Option<PathBuf>,
    /// Configuration file.
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "state_dir")]
    pub config: Option<PathBuf>,
    /// Fabric of a configuration file with several.
    #[arg(long, value_name = "NAME", global = true, conflicts_with = "state_dir")]
    pub fabric: Option<String>,
    /// The subcommand.
    #[command(subcommand)]
    pub command: StateCommand,
}

/// Subcommands of `state`.
#[derive(Debug, Clone, Subcommand)]
pub enum StateCommand {
    /// Write all records as JSON lines.
    Export {
        /// Output file [default: standard output].
        file: Option<PathBuf>,
    },
    /// Import an export, or files of OpenSM. If anything is invalid, nothing is imported.
    Import {
        /// File of `ferrosm state export`, or files of OpenSM: guid2lid, guid2mkey, neighbors, opensm-sa.dump.
        #[arg(value_name = "FILE", required_unless_present = "opensm_dir")]
        files: Vec<PathBuf>,
        /// Directories with files of OpenSM, such as /var/cache/opensm; existing files are imported.
        #[arg(long, value_name = "DIR", conflicts_with = "files")]
        opensm_dir: Vec<PathBuf>,
        /// Replace existing records of the same kinds.
        #[arg(long)]
        replace: bool,
    },
    /// Show the persisted state.
    Show {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}
