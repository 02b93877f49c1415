//! Flags of `keys`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::{AskArgs, ServiceArgs};

/// Flags of `keys`.
#[derive(Debug, Clone, Args)]
pub struct KeysArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: KeysCommand,
}

/// Subcommands of `keys`.
#[derive(Debug, Clone, Subcommand)]
pub enum KeysCommand {
    /// Show which keys are in force, and which ports and SMs have them. Prints no key.
    Status(AskArgs),
    /// Put another key in force.
    ///
    /// It is persisted and replicated to the standbys before a port or SM gets it, and survives
    /// restarts and failover. `subnet.m-key` and `sm.sm-key` do not change: as long as they have
    /// the values of now, the rotated keys are in force; another value replaces one.
    Rotate {
        /// The kind of key.
        #[arg(value_name = "KEY")]
        key: RotatedKeyArg,
        /// Read the key from this file: up to 16 hexadecimal digits. Without it, a random key.
        #[arg(long, value_name = "FILE")]
        key_file: Option<PathBuf>,
        /// Only say what would be written.
        #[arg(long)]
        dry_run: bool,
        /// Accept this consequence.
        #[arg(long, value_name = "CONSEQUENCE")]
        accept: Option<Lockout>,
        /// The service.
        #[command(flatten)]
        service: ServiceArgs,
    },
}

/// Keys that can be rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RotatedKeyArg {
    /// The M_Key of all ports.
    MKey,
    /// The SM_Key of the SMs and of trusted SA clients.
    SmKey,
}

impl RotatedKeyArg {
    /// Its name in the API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::MKey => "m-key",
            Self::SmKey => "sm-key",
        }
    }
}

/// What a rotation may lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Lockout {
    /// SMs without replication cannot configure the subnet, or are ignored, until they have the new
    /// key.
    Lockout,
}
