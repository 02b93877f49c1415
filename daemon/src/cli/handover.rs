//! Flags of `handover`.

use std::path::PathBuf;

use clap::Args;

/// Flags of `handover`.
#[derive(Debug, Clone, Args)]
pub struct HandoverArgs {
    /// State directory of the service that is meant; that of the configuration file if not given.
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// The configuration file.
    #[arg(long, value_name = "FILE", conflicts_with = "state_dir")]
    pub config: Option<PathBuf>,
    /// Which fabric of the configuration file, where it has several.
    #[arg(long, value_name = "NAME", conflicts_with = "state_dir")]
    pub fabric: Option<String>,
    /// The other way round: this one begins with a subnet that `refuse-managed-subnet` keeps it from, or after it was disabled.
    #[arg(long)]
    pub take_over: bool,
    /// Seconds to wait for the other subnet manager.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub wait_s: u64,
}
