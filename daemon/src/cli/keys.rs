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
    /// It is persisted and replicated to the standbys before a port gets it, and survives restarts
    /// and failover. `subnet.m-key` does not change: as long as it has the value of now, the
    /// rotated key is in force; another value replaces it.
    Rotate {
        /// The kind of key.
        #[arg(value_name = "KEY")]
        key: RotatedKey,
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
pub enum RotatedKey {
    /// The M_Key of all ports.
    MKey,
}

/// What a rotation may lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Lockout {
    /// SMs without replication cannot configure the subnet until they have the new key.
    Lockout,
}
