//! Flags of `cabling`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ServiceDirArgs;

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
        fabric: CabledFabricArgs,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the cables of the fabric as a plan (NDT).
    Learn {
        /// The fabric.
        #[command(flatten)]
        fabric: CabledFabricArgs,
    },
}

/// The fabric whose cables are read.
#[derive(Debug, Clone, Args)]
pub struct CabledFabricArgs {
    /// The service.
    #[command(flatten)]
    pub service: ServiceDirArgs,
    /// Fabric file (of ibnetdiscover, ibsim, OpenSM or ibdiagnet), or generated fabric such as
    /// fat-tree:8, instead of the fabric of the running service.
    #[arg(long, value_name = "FILE|SPEC", conflicts_with_all = ["state_dir", "config"])]
    #[cfg_attr(not(feature = "simulator"), arg(hide = true, value_parser = super::needs_simulator))]
    pub from: Option<String>,
}
