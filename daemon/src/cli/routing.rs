//! Flags of the commands for offline routing.

use std::path::PathBuf;

use clap::Args;

use crate::offline::args::OfflineArgs;

/// Flags of `route`.
#[derive(Debug, Clone, Args)]
pub struct RouteArgs {
    /// Fabric file (of ibnetdiscover, ibsim, OpenSM or ibdiagnet), or generated fabric such as
    /// fat-tree:8 (`ferrosm demo --help` lists all topologies).
    #[arg(long, value_name = "FILE|SPEC")]
    pub from: String,
    /// Common flags.
    #[command(flatten)]
    pub common: OfflineArgs,
    /// Write OpenSM-format dumps of the fabric, its tables and (with several VLs) its SLs and VLs
    /// to this directory.
    #[arg(long, value_name = "DIR")]
    pub dump_dir: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
