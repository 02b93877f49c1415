//! Flags of `cabling`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::FabricSourceArgs;

/// Flags of `cabling`.
#[derive(Debug, Clone, Args)]
pub struct CablingArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: CablingCommand,
}

/// Subcommands of `cabling`.
#[derive(Debug, Clone, Subcommand)]
pub enum CablingCommand {
    /// List the cables that are not as planned. Exit status: 1 if there are any.
    Check {
        /// The plan: UFM's NDT (CSV), output of ibnetdiscover, a topology of opafm (XML), or
        /// ibfabricconf (XML). In names, `*` stands for any text.
        #[arg(value_name = "PLAN")]
        plan: PathBuf,
        /// The fabric.
        #[command(flatten)]
        fabric: FabricSourceArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the cables of the fabric as a plan (NDT).
    Learn {
        /// The fabric.
        #[command(flatten)]
        fabric: FabricSourceArgs,
    },
}
