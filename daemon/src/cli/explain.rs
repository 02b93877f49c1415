//! Flags of `explain`.

use clap::{Args, Subcommand};

use super::AskArgs;
#[cfg(feature = "simulator")]
use crate::offline::args::OfflineArgs;

/// Flags of `explain`.
#[derive(Debug, Clone, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct ExplainArgs {
    /// What a running service explains.
    #[command(subcommand)]
    pub what: Option<ExplainCommand>,
    /// Flags of offline routing.
    #[cfg(feature = "simulator")]
    #[command(flatten)]
    pub offline: OfflineExplainArgs,
}

/// What a running service explains.
#[derive(Debug, Clone, Subcommand)]
pub enum ExplainCommand {
    /// Why packets between two ports take their path: when and why each entry was chosen, and
    /// whether computing the routes anew would choose another one.
    Route(ExplainRouteArgs),
    /// What is known about a port: its link, its routes, and what is wrong with it.
    Port(ExplainObjectArgs),
    /// What is known about a node, also one that left the subnet.
    Node(ExplainObjectArgs),
    /// Why the routing engine is in use, and what changed its routes since.
    Engine(ExplainEngineArgs),
    /// Why a sweep ran, what it found and what it wrote.
    Sweep(ExplainSweepArgs),
    /// Why an alarm was raised, and what to do.
    Alarm(ExplainAlarmArgs),
}

/// Flags of `explain route`.
#[derive(Debug, Clone, Args)]
pub struct ExplainRouteArgs {
    /// The port that sends: GUID, LID, name, or `name/port`.
    #[arg(value_name = "FROM")]
    pub from: String,
    /// The port that receives.
    #[arg(value_name = "TO")]
    pub to: String,
    /// Do not compute the routes anew, which may take seconds in a large fabric.
    #[arg(long)]
    pub no_reroute: bool,
    /// The question.
    #[command(flatten)]
    pub ask: AskArgs,
}

/// Flags of `explain port` and `explain node`.
#[derive(Debug, Clone, Args)]
pub struct ExplainObjectArgs {
    /// GUID, LID, name, or for a port `name/port`.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The question.
    #[command(flatten)]
    pub ask: AskArgs,
}

/// Flags of `explain engine`.
#[derive(Debug, Clone, Args)]
pub struct ExplainEngineArgs {
    /// Do not compute the routes anew, which may take seconds in a large fabric.
    #[arg(long)]
    pub no_reroute: bool,
    /// The question.
    #[command(flatten)]
    pub ask: AskArgs,
}

/// Flags of `explain sweep`.
#[derive(Debug, Clone, Args)]
pub struct ExplainSweepArgs {
    /// Its number, as in the log and in `ferrosm changes` [default: the last one].
    #[arg(value_name = "NUMBER")]
    pub number: Option<u32>,
    /// The question.
    #[command(flatten)]
    pub ask: AskArgs,
}

/// Flags of `explain alarm`.
#[derive(Debug, Clone, Args)]
pub struct ExplainAlarmArgs {
    /// Its number, as in `ferrosm alarms`.
    #[arg(value_name = "NUMBER")]
    pub id: u64,
    /// The question.
    #[command(flatten)]
    pub ask: AskArgs,
}

/// Flags of `explain --from`.
#[cfg(feature = "simulator")]
#[derive(Debug, Clone, Args)]
pub struct OfflineExplainArgs {
    /// Fabric file (of ibnetdiscover, ibsim, OpenSM or ibdiagnet), or generated fabric such as
    /// fat-tree:8 (`ferrosm demo --help` lists all topologies).
    #[arg(long, value_name = "FILE|SPEC")]
    pub from: Option<String>,
    /// How it is routed.
    #[command(flatten)]
    pub common: OfflineArgs,
    /// Source: name, GUID or LID of a node or port.
    #[arg(value_name = "SRC", requires = "to")]
    pub source: Option<String>,
    /// Destination. Without SRC and DST, only the choice of the engine is explained.
    #[arg(value_name = "DST")]
    pub to: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

impl ExplainArgs {
    /// The engines of `--from`.
    #[must_use]
    pub fn engines(&self) -> Option<&[String]> {
        #[cfg(feature = "simulator")]
        return Some(&self.offline.common.engine[..]);
        #[cfg(not(feature = "simulator"))]
        None
    }
}
