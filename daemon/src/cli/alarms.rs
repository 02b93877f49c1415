//! Flags of `alarms`, `forget` and `notify`.

use core::time::Duration;

use clap::{Args, Subcommand};

use super::time::parse_until;
use super::{ListArgs, ServiceDirArgs};

/// Flags of `alarms`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct AlarmsArgs {
    /// The list.
    #[command(flatten)]
    pub list: ListArgs,
    /// Also list alarms that are cleared.
    #[arg(long)]
    pub all: bool,
    /// The subcommand.
    #[command(subcommand)]
    pub command: Option<AlarmsCommand>,
}

/// Subcommands of `alarms`.
#[derive(Debug, Clone, Subcommand)]
pub enum AlarmsCommand {
    /// Acknowledge an alarm: it stays until what is wrong has ended, and is not reported again.
    Ack {
        /// Number of the alarm.
        #[arg(value_name = "ID")]
        id: u64,
        /// End the acknowledgement after this time, such as `2h`, or at one such as `18:00`
        /// (UTC), and report the alarm again if it is still open.
        #[arg(long, value_name = "TIME", value_parser = parse_until)]
        until: Option<Duration>,
        /// Why, for the audit log.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// The service.
        #[command(flatten)]
        service: ServiceDirArgs,
        /// Print the JSON of the API.
        #[arg(long)]
        json: bool,
    },
}

/// Flags of `forget`.
#[derive(Debug, Clone, Args)]
pub struct ForgetArgs {
    /// Name or GUID of an absent node, or a link that is down: an end such as `leaf-0-0/5`, or
    /// both: `leaf-0-0/5 - spine-0-0/1`.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Why, for the audit log.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// The service.
    #[command(flatten)]
    pub service: ServiceDirArgs,
    /// Print the JSON of the API.
    #[arg(long)]
    pub json: bool,
}

/// Flags of `notify`.
#[derive(Debug, Clone, Args)]
pub struct NotifyArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: NotifyCommand,
}

/// Subcommands of `notify`.
#[derive(Debug, Clone, Subcommand)]
pub enum NotifyCommand {
    /// Send a test to those who are notified of alarms (`[[notify]]`), once.
    Test {
        /// Name of the entry; all entries if absent.
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// The service.
        #[command(flatten)]
        service: ServiceDirArgs,
        /// Print the JSON of the API.
        #[arg(long)]
        json: bool,
    },
}
