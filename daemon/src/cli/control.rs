//! Flags of the commands that a running service executes.

use std::path::PathBuf;

use clap::Args;

use crate::control::{WAIT_DEFAULT, WAIT_MAX};

/// The service that a command is for.
#[derive(Debug, Clone, Args)]
pub struct ServiceDirArgs {
    /// State directory of the service [default: files.state-dir of the configuration file].
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Configuration file of the service [default: /etc/ferrosm.toml]. It is read for its state
    /// directory, so it must be valid; use --state-dir otherwise.
    #[arg(long, value_name = "FILE", conflicts_with = "state_dir")]
    pub config: Option<PathBuf>,
}

/// The service that executes a command.
#[derive(Debug, Clone, Args)]
pub struct ServiceArgs {
    /// The service.
    #[command(flatten)]
    pub service: ServiceDirArgs,
    /// Seconds to wait for the result; the command continues after that, and its result is in the
    /// log of the service.
    #[arg(long, value_name = "SECONDS", default_value_t = WAIT_DEFAULT, value_parser = clap::value_parser!(u64).range(..=WAIT_MAX))]
    pub wait_s: u64,
}

/// Flags of `sweep`.
#[derive(Debug, Clone, Args)]
pub struct SweepArgs {
    /// The service.
    #[command(flatten)]
    pub service: ServiceArgs,
    /// Also compute routes without regard to the installed ones.
    #[arg(long)]
    pub reroute: bool,
}
