//! Flags of `state`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Flags of `state`.
#[derive(Debug, Clone, Args)]
pub struct StateArgs {
    /// State directory [env: FERROSM_STATE_DIR] [default: files.state-dir of the configuration
    /// file].
    #[arg(long, value_name = "DIR", global = true)]
    pub state_dir: Option<PathBuf>,
    /// Configuration file of the service [default: /etc/ferrosm/ferrosm.toml].
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "state_dir")]
    pub config: Option<PathBuf>,
    /// The subcommand.
    #[command(subcommand)]
    pub command: StateCommand,
}

impl StateArgs {
    /// The state directory that the command line or, without `--config`, the environment names.
    #[must_use]
    pub fn named_state_dir(&self) -> Option<PathBuf> {
        let from_environment = || state_dir_from_environment(self.config.is_some());
        self.state_dir.clone().or_else(from_environment)
    }
}

/// The directory that `FERROSM_STATE_DIR` names, unless a configuration file is named.
pub fn state_dir_from_environment(has_config: bool) -> Option<PathBuf> {
    let dir = std::env::var_os("FERROSM_STATE_DIR").filter(|dir| !dir.is_empty());
    dir.map(PathBuf::from).filter(|_| !has_config)
}

/// Subcommands of `state`.
#[derive(Debug, Clone, Subcommand)]
pub enum StateCommand {
    /// Write all records as JSON lines, also while a service uses the directory.
    Export {
        /// Output file [default: standard output].
        file: Option<PathBuf>,
    },
    /// Write the whole state directory to one file, also while a service uses it.
    ///
    /// The file holds keys. It has checksums; `gzip -t` checks it, too.
    Backup {
        /// The new file [default: ferrosm-state-TIME.tar.gz].
        file: Option<PathBuf>,
    },
    /// Replace the state directory by a backup, while no service uses it.
    ///
    /// It checks everything in the backup before it replaces anything. The earlier state moves to a
    /// folder of the directory. Logs continue: they are restored only if there are none.
    Restore {
        /// File of `ferrosm state backup`.
        file: PathBuf,
    },
    /// Import an export, or files of OpenSM, while no service uses the directory. If anything is
    /// invalid, nothing is imported.
    Import {
        /// File of `ferrosm state export`, or files of OpenSM: guid2lid, guid2mkey, neighbors,
        /// opensm-sa.dump.
        #[arg(value_name = "FILE", required_unless_present = "opensm_dir")]
        files: Vec<PathBuf>,
        /// Directories with these files of OpenSM, such as /var/cache/opensm; those that exist are
        /// imported.
        #[arg(long, value_name = "DIR", conflicts_with = "files")]
        opensm_dir: Vec<PathBuf>,
        /// Replace existing records of the same kinds.
        #[arg(long)]
        replace: bool,
    },
    /// Show the persisted state, also while a service uses the directory.
    Show {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}
