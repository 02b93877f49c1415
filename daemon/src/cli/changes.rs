//! Flags of `changes` and `diff`.

use core::time::Duration;
use std::time::SystemTime;

use clap::Args;

use super::AskArgs;
use super::time::{parse_since, parse_time};

/// Flags of `changes`.
#[derive(Debug, Clone, Args)]
pub struct ChangesArgs {
    /// The question.
    #[command(flatten)]
    pub ask: AskArgs,
    /// Only changes of the last time, such as `1h` or `7d`, or since a time such as `05:00` (UTC).
    #[arg(long, value_name = "TIME", value_parser = parse_since)]
    pub since: Option<Duration>,
    /// Only changes of this node: name or GUID; `*` stands for any text.
    #[arg(long, value_name = "NODE")]
    pub node: Option<String>,
    /// Only changes of these kinds, separated by commas: link, node, partition, routing,
    /// mastership, config, command.
    #[arg(long, value_name = "KINDS")]
    pub kind: Option<String>,
    /// Most changes.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
}

/// Flags of `diff`.
#[derive(Debug, Clone, Args)]
pub struct DiffArgs {
    /// The first time: `2026-11-29T05:00:00Z`, `"2026-11-29 05:00:00"` or `05:00` of today, in UTC,
    /// `now`, or a time ago such as `1h`.
    #[arg(value_name = "FROM", value_parser = parse_time)]
    pub from: SystemTime,
    /// The second time [default: now].
    #[arg(value_name = "TO", value_parser = parse_time)]
    pub to: Option<SystemTime>,
    /// The question.
    #[command(flatten)]
    pub ask: AskArgs,
}
