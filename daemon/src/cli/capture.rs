//! Flags of `capture`.

use clap::{Args, Subcommand};
use ferrosm_api::capture::{CAPTURE_MIB_DEFAULT, CAPTURE_MIB_MAX};

use super::{AskArgs, ServiceDirArgs};

/// Flags of `capture`.
#[derive(Debug, Clone, Args)]
pub struct CaptureArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: CaptureCommand,
}

/// Subcommands of `capture`.
#[derive(Debug, Clone, Subcommand)]
pub enum CaptureCommand {
    /// Start to write every MAD of the local port to a new file for Wireshark, in the directory
    /// `captures` of the state directory. It may hold keys; only its owner can read it.
    Start {
        /// Name of the file [default: with the time].
        #[arg(long, value_name = "NAME")]
        file: Option<String>,
        /// The capture ends at this size, in MiB.
        #[arg(long, value_name = "MIB", default_value_t = CAPTURE_MIB_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=i64::from(CAPTURE_MIB_MAX)))]
        max_size_mib: u32,
        /// The service.
        #[command(flatten)]
        service: CaptureServiceArgs,
    },
    /// End the capture.
    Stop {
        /// The service.
        #[command(flatten)]
        service: CaptureServiceArgs,
    },
    /// Show the capture, and the rings (`files.rings-mib`).
    Status(AskArgs),
}

/// The service that captures.
#[derive(Debug, Clone, Args)]
pub struct CaptureServiceArgs {
    /// The service.
    #[command(flatten)]
    pub service: ServiceDirArgs,
    /// Why, for the audit log.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Print the JSON of the API.
    #[arg(long)]
    pub json: bool,
}
