//! Flags of the commands that ask a running service.

use clap::{Args, ValueEnum};

use super::ServiceDirArgs;
use super::time::TimeArgs;

/// Flags of all questions.
#[derive(Debug, Clone, Args)]
pub struct AskArgs {
    /// The service.
    #[command(flatten)]
    pub service: ServiceDirArgs,
    /// Print the JSON of the API.
    #[arg(long)]
    pub json: bool,
    /// Ask again every 2 s, until interrupted.
    #[arg(long)]
    pub watch: bool,
}

/// Flags of queries that may be about an earlier time.
#[derive(Debug, Clone, Args)]
pub struct AskAtArgs {
    /// The question.
    #[command(flatten)]
    pub ask: AskArgs,
    /// The time.
    #[command(flatten)]
    pub time: TimeArgs,
}

/// Flags of lists.
#[derive(Debug, Clone, Args)]
pub struct ListArgs {
    /// The question.
    #[command(flatten)]
    pub ask: AskArgs,
    /// Conditions on fields of the JSON that all hold, separated by commas:
    /// `state=absent,name=leaf-*`. `!=` negates, `*` stands for any text.
    #[arg(long = "where", value_name = "CONDITIONS")]
    pub conditions: Option<String>,
    /// Most rows.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
}

/// Flags of lists that may be of an earlier time.
#[derive(Debug, Clone, Args)]
pub struct ListAtArgs {
    /// The list.
    #[command(flatten)]
    pub list: ListArgs,
    /// The time.
    #[command(flatten)]
    pub time: TimeArgs,
}

/// Flags of `links`.
#[derive(Debug, Clone, Args)]
pub struct LinksArgs {
    /// The list.
    #[command(flatten)]
    pub list: ListArgs,
    /// Only links that are down, not active or degraded.
    #[arg(long)]
    pub problems: bool,
    /// The time.
    #[command(flatten)]
    pub time: TimeArgs,
}

/// Flags of `events`.
#[derive(Debug, Clone, Args)]
pub struct EventsArgs {
    /// The service.
    #[command(flatten)]
    pub service: ServiceDirArgs,
    /// Only events after this number, as the first column shows it.
    #[arg(long, value_name = "NUMBER")]
    pub since: Option<u64>,
    /// Only events of at least this severity.
    #[arg(long, value_enum, default_value_t = SeverityArg::Info)]
    pub severity: SeverityArg,
    /// Wait for further events, until interrupted.
    #[arg(long)]
    pub follow: bool,
    /// Print one JSON object per line.
    #[arg(long)]
    pub json: bool,
}

/// How serious an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SeverityArg {
    /// Details.
    Debug,
    /// Normal changes.
    Info,
    /// Deviations.
    Warning,
    /// The operator has to act.
    Error,
}

/// Flags of `where`.
#[derive(Debug, Clone, Args)]
pub struct WhereArgs {
    /// GUID of a port or node, LID, name, or `name/port`.
    #[arg(value_name = "PORT")]
    pub name: String,
    /// The question.
    #[command(flatten)]
    pub ask: AskArgs,
    /// The time.
    #[command(flatten)]
    pub time: TimeArgs,
}

/// Flags of `path`.
#[derive(Debug, Clone, Args)]
pub struct PathArgs {
    /// The port that sends: GUID, LID, name, or `name/port`.
    #[arg(value_name = "FROM")]
    pub from: String,
    /// The port that receives.
    #[arg(value_name = "TO")]
    pub to: String,
    /// The question.
    #[command(flatten)]
    pub ask: AskArgs,
    /// The time.
    #[command(flatten)]
    pub time: TimeArgs,
}
