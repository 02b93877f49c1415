//! Flags of the commands for offline routing.

use std::path::PathBuf;

use clap::Args;

use crate::offline::args::OfflineArgs;

/// Flags of `route`.
#[derive(Debug, Clone, Args)]
pub struct RouteArgs {
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

/// Flags of `explain`.
#[derive(Debug, Clone, Args)]
pub struct ExplainArgs {
    /// Common flags.
    #[command(flatten)]
    pub common: OfflineArgs,
    /// Source: name, GUID or LID of a node or port.
    #[arg(value_name = "SRC", requires = "to")]
    pub source: Option<String>,
    /// Destination. Without SRC and DST, only the choice of the engine is explained.
    #[arg(value_name = "DST")]
    pub to: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}
