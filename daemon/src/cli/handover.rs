//! Flags of `handover`.

use std::path::PathBuf;

use clap::Args;

/// Flags of `handover`.
#[derive(Debug, Clone, Args)]
pub struct HandoverArgs {
    /// State directory of the daemon [default: that of the configuration file].
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Configuration file.
    #[arg(long, value_name = "FILE", conflicts_with = "state_dir")]
    pub config: Option<PathBuf>,
    /// Fabric of a configuration file with several.
    #[arg(long, value_name = "NAME", conflicts_with = "state_dir")]
    pub fabric: Option<String>,
    /// Take over instead: override `refuse-managed-subnet`, or restart discovery after this SM was disabled.
    #[arg(long)]
    pub take_over: bool,
    /// Seconds to wait for completion.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(..=86_400))]
    pub wait_s: u64,
}
