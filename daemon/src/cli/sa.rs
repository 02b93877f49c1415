//! Flags of `sa`.

use core::time::Duration;

use clap::{Args, Subcommand};
use ferrosm_api::sa::{LIMIT_PER_S_MAX, TOP_DEFAULT};

use super::time::parse_span;
use super::{AskArgs, ServiceDirArgs};

/// Flags of `sa`.
#[derive(Debug, Clone, Args)]
pub struct SaArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: SaCommand,
}

/// Subcommands of `sa`.
#[derive(Debug, Clone, Subcommand)]
pub enum SaCommand {
    /// List the clients that send most requests now: how many, which, how they were answered, and
    /// their share of the SA's time.
    Clients {
        /// Number of clients.
        #[arg(long, value_name = "N", default_value_t = TOP_DEFAULT)]
        top: usize,
        /// The question.
        #[command(flatten)]
        ask: AskArgs,
    },
    /// Limit the requests of one client, besides `sa.max-requests-per-host-s`.
    ///
    /// Requests beyond the limit are dropped; clients repeat them. The limit ends with the service.
    Limit {
        /// GUID of a port or node, LID, name, or `name/port`.
        #[arg(value_name = "CLIENT")]
        client: String,
        /// Requests per second, such as `50/s`; `none` removes the limit.
        #[arg(value_name = "RATE", value_parser = parse_rate)]
        rate: RateArg,
        /// End it after this time.
        #[arg(long = "for", value_name = "TIME", value_parser = parse_span)]
        duration: Option<Duration>,
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

/// A limit of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateArg {
    /// None of its own.
    None,
    /// Requests per second.
    PerSecond(u32),
}

fn parse_rate(text: &str) -> Result<RateArg, String> {
    if text == "none" {
        return Ok(RateArg::None);
    }
    let number = text.strip_suffix("/s").unwrap_or(text).parse().ok();
    number
        .filter(|number| (1..=LIMIT_PER_S_MAX).contains(number))
        .map(RateArg::PerSecond)
        .ok_or_else(|| format!("expected `none`, or 1/s to {LIMIT_PER_S_MAX}/s"))
}
