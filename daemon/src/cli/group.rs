//! Flags of `group` and `host`.

use clap::{Args, Subcommand};

use super::{AskArgs, ListArgs};

/// Flags of `group`.
#[derive(Debug, Clone, Args)]
pub struct GroupArgs {
    /// What to show.
    #[command(subcommand)]
    pub command: GroupCommand,
}

/// Subcommands of `group`.
#[derive(Debug, Clone, Subcommand)]
pub enum GroupCommand {
    /// List the multicast groups.
    List(ListArgs),
    /// List the members of a multicast group.
    Show {
        /// Its MGID, or MLID: `ff12:401b:ffff::1` or `0xc000`.
        #[arg(value_name = "GROUP")]
        group: String,
        /// The list.
        #[command(flatten)]
        list: ListArgs,
    },
}

/// Flags of `host`.
#[derive(Debug, Clone, Args)]
pub struct HostArgs {
    /// What to show.
    #[command(subcommand)]
    pub command: HostCommand,
}

/// Subcommands of `host`.
#[derive(Debug, Clone, Subcommand)]
pub enum HostCommand {
    /// Show the ports of a host, with their partitions and multicast groups.
    Show {
        /// GUID of a port or node, LID, name, or `name/port`.
        #[arg(value_name = "HOST")]
        host: String,
        /// The question.
        #[command(flatten)]
        ask: AskArgs,
    },
}
