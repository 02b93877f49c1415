//! Flags of `upgrade` and `man`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ServiceDirArgs;

/// Flags of `upgrade`.
#[derive(Debug, Clone, Args)]
pub struct UpgradeArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: UpgradeCommand,
}

/// Commands about another version of ferrosm.
#[derive(Debug, Clone, Subcommand)]
pub enum UpgradeCommand {
    /// Show what a restart of the service with this program would do: whether it can read the
    /// configuration and the persisted state, and which standby takes over meanwhile.
    ///
    /// It changes nothing. Exit status: 0 if the restarted service would run, 1 if not.
    Check {
        /// The service.
        #[command(flatten)]
        service: ServiceDirArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

/// Flags of `man`.
#[derive(Debug, Clone, Args)]
pub struct ManArgs {
    /// Directory for the pages, one for each command.
    pub dir: PathBuf,
}
