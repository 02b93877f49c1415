//! Commands and flags of `ferrosm`.
//!
//! Only what the command line looks like: what commands do is in [`crate::commands`].

mod handover;
#[cfg(feature = "simulator")]
mod routing;
#[cfg(feature = "simulator")]
mod simulation;
mod state;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ferrosm_mad::ids::PortGuid;

use crate::config::value::{Bounded, Engine, Hex64};
use crate::config::{LogFormat, RawConfig};
pub use handover::HandoverArgs;
#[cfg(feature = "simulator")]
pub use routing::{ExplainArgs, FileArgs, HintArgs, RouteArgs};
#[cfg(feature = "simulator")]
pub use simulation::{AttachArgs, DemoArgs, SimArgs, SimCtlArgs, SocketArgs};
pub use state::{StateArgs, StateCommand};

/// An InfiniBand subnet manager.
///
/// Exit status: 0 done, 1 the job failed, 2 usage, 78 bad configuration; `attach` ends as its program does.
#[derive(Debug, Parser)]
#[command(
    name = "ferrosm",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the subnet of a local port: discover, give LIDs, route, bring links up, and stay in charge.
    Run(Box<RunArgs>),
    /// The same subnet manager on a simulated fabric inside this program: needs no hardware.
    #[cfg(feature = "simulator")]
    Demo(DemoArgs),
    /// Serve a simulated fabric to real programs.
    #[cfg(feature = "simulator")]
    Sim(SimArgs),
    /// Run a libibumad program (OpenSM, saquery, ibnetdiscover, ...) on a simulated fabric.
    #[cfg(feature = "simulator")]
    Attach(AttachArgs),
    /// Tell a simulated fabric what is to happen, or ask it how it is.
    #[cfg(feature = "simulator")]
    SimCtl(SimCtlArgs),
    /// Local channel adapters and ports: which can serve, and why the others cannot.
    Ports(PortsArgs),
    /// What the fabric looks like: read from the live one (nothing is changed) or from a file.
    Topology(TopologyArgs),
    /// Route a fabric on paper and prove it: reachability, loops, credit loops, balance.
    #[cfg(feature = "simulator")]
    Route(RouteArgs),
    /// Why a fabric on paper is routed as it is, and which way packets go from one place to another.
    #[cfg(feature = "simulator")]
    Explain(ExplainArgs),
    /// Replay a recording of `run --record` or `demo --record`, and check that all outputs are the same.
    Replay(ReplayArgs),
    /// Let another subnet manager be master instead of the one that runs here, without an outage.
    Handover(HandoverArgs),
    /// Show what is kept over restarts, write it out, take it in, also from OpenSM.
    State(StateArgs),
    /// Check or print configuration.
    Config(ConfigArgs),
    /// Completions for a shell, on standard output.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// Which local port. `run` serves the only port with a link if none is named, and exits with status 78 if several have one.
#[derive(Debug, Clone, Default, Args)]
pub struct PortArgs {
    /// Channel adapter, as `ferrosm ports` names it. Without --ca and --port-guid, `run` serves the only port with a link.
    #[arg(long, value_name = "NAME", conflicts_with = "port_guid")]
    pub ca: Option<String>,
    /// Port of the adapter; 0 (the only one of a switch) for the only one with a link.
    #[arg(long, value_name = "N", requires = "ca", conflicts_with = "port_guid",
          value_parser = clap::value_parser!(u8).range(0..=254))]
    pub port: Option<u8>,
    /// The port with this GUID.
    #[arg(long, value_name = "GUID")]
    pub port_guid: Option<PortGuid>,
}

/// Flags over the configuration file, for all that run a subnet manager.
#[derive(Debug, Clone, Default, Args)]
pub struct SmArgs {
    /// Configuration file.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Exit when the fabric is up: 0, or 1 and the reasons when it does not come up whole. A Down port has 10 s to train.
    #[arg(long)]
    pub once: bool,
    /// Print the report of each sweep as JSON on standard output, one line each.
    #[arg(long)]
    pub json: bool,
    /// Routing engines in the order in which they are tried; `auto` recognises the fabric, `no_fallback` forbids the
    /// last resort.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub engine: Option<Vec<Engine>>,
    /// Data lanes that routing may use; all that cables have if not given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=15))]
    pub vls: Option<u8>,
    /// 2^N LIDs per channel adapter port.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=7))]
    pub lmc: Option<u8>,
    /// Rank among subnet managers; the highest serves.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=15))]
    pub priority: Option<u8>,
    /// Partitions, in the form of OpenSM's partitions.conf.
    #[arg(
        short = 'P',
        long = "partitions-file",
        visible_alias = "Pconfig",
        value_name = "FILE"
    )]
    pub partitions_file: Option<PathBuf>,
    /// Service levels and limits of paths, in the form of OpenSM's qos-policy.conf.
    #[arg(
        short = 'Y',
        long,
        visible_alias = "qos_policy_file",
        value_name = "FILE"
    )]
    pub qos_policy_file: Option<PathBuf>,
    /// Which router leads to which other subnet, in the form of OpenSM's prefix-routes.conf.
    #[arg(long, visible_alias = "prefix_routes_file", value_name = "FILE")]
    pub prefix_routes_file: Option<PathBuf>,
    /// Keep LIDs over restarts in this directory.
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Write the fabric and its tables there in OpenSM's forms after each clean sweep.
    #[arg(long, value_name = "DIR")]
    pub dump_dir: Option<PathBuf>,
    /// Record every MAD for Wireshark.
    #[arg(long, value_name = "FILE.pcapng")]
    pub capture: Option<PathBuf>,
    /// Record the run into this new file for `ferrosm replay`. The file holds M_Keys and SM_Keys; only its owner can read it.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// End the recording at this size, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024, requires = "record")]
    pub record_limit_mib: u64,
    /// Serve metrics at http://ADDRESS:PORT/metrics.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics_listen: Option<std::net::SocketAddr>,
    /// Form of log lines.
    #[arg(long, value_enum)]
    pub log_format: Option<LogFormat>,
    /// error, warn, info, debug or trace, or levels by module.
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,
}

/// Flags of `run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// The local port.
    #[command(flatten)]
    pub port: PortArgs,
    /// Serve only this fabric of a configuration file that has several.
    #[arg(long, value_name = "NAME")]
    pub fabric: Option<String>,
    /// Common flags.
    #[command(flatten)]
    pub sm: SmArgs,
}

/// Flags of `replay`.
#[derive(Debug, Clone, Args)]
pub struct ReplayArgs {
    /// The recording.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print all outputs, not only events.
    #[arg(long)]
    pub outputs: bool,
}

/// Flags of `ports`.
#[derive(Debug, Clone, Args)]
pub struct PortsArgs {
    /// As JSON.
    #[arg(long)]
    pub json: bool,
}

/// Flags of `topology`.
#[derive(Debug, Clone, Args)]
pub struct TopologyArgs {
    /// The local port to look from.
    #[command(flatten)]
    pub port: PortArgs,
    /// Read this file (ibnetdiscover's form) or shape instead of the live fabric.
    #[arg(long, value_name = "FILE|SPEC", conflicts_with_all = ["ca", "port", "port_guid"])]
    #[cfg_attr(not(feature = "simulator"), arg(hide = true, value_parser = needs_simulator))]
    pub from: Option<String>,
    /// The configuration file, which may name the port.
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    pub config: Option<PathBuf>,
    /// Look by the port of this fabric of a configuration file that has several.
    #[arg(long, value_name = "NAME", conflicts_with = "from")]
    pub fabric: Option<String>,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t = TopologyFormat::Table)]
    pub format: TopologyFormat,
    /// error, warn, info, debug or trace.
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    pub log_level: String,
}

/// Forms of a topology.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TopologyFormat {
    /// What ibnetdiscover prints and ibsim loads.
    Ibnet,
    /// For programs.
    Json,
    /// For Graphviz.
    Dot,
    /// A picture.
    Svg,
    /// For eyes.
    Table,
}

/// Flags of `config`.
#[derive(Debug, Clone, Args)]
pub struct ConfigArgs {
    /// What about it.
    #[command(subcommand)]
    pub what: ConfigCommand,
}

/// What can be done with configuration.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigCommand {
    /// Tell everything that is wrong with a file (exit status 78), or that nothing is.
    Check {
        /// The file; /etc/ferrosm.toml if not given.
        file: Option<PathBuf>,
    },
    /// Print configuration as a file.
    Print {
        /// The file; /etc/ferrosm.toml if not given and there.
        file: Option<PathBuf>,
        /// Which fabric of the file, where it has several.
        #[arg(long, value_name = "NAME", conflicts_with = "default")]
        fabric: Option<String>,
        /// Every key with its default and what it means.
        #[arg(long, conflicts_with_all = ["effective", "file"])]
        default: bool,
        /// Every key with the value in force (this is the default).
        #[arg(long)]
        effective: bool,
    },
}

impl Command {
    /// What flags say together.
    ///
    /// # Errors
    /// They make no sense: one sentence.
    pub fn check(&self) -> Result<(), String> {
        let engines = match self {
            Self::Run(args) => args.sm.engine.as_deref(),
            #[cfg(feature = "simulator")]
            Self::Demo(args) => args.sm.engine.as_deref(),
            #[cfg(feature = "simulator")]
            Self::Route(args) => Some(&args.what.engine[..]),
            #[cfg(feature = "simulator")]
            Self::Explain(args) => Some(&args.what.engine[..]),
            #[cfg(feature = "simulator")]
            Self::Sim(_) | Self::Attach(_) | Self::SimCtl(_) => None,
            Self::Ports(_)
            | Self::Topology(_)
            | Self::Replay(_)
            | Self::Handover(_)
            | Self::State(_)
            | Self::Config(_)
            | Self::Completions { .. } => None,
        };
        match engines {
            Some(engines) if engines.iter().all(Engine::is_no_fallback) => Err(
                "--engine names no engine: `no_fallback` only forbids the last resort, as in `--engine updn,no_fallback`"
                    .to_owned(),
            ),
            Some(_) | None => Ok(()),
        }
    }
}

/// Rejects the argument of a build without the readers of fabric files.
#[cfg(not(feature = "simulator"))]
fn needs_simulator(_: &str) -> Result<String, String> {
    Err(
        "this ferrosm cannot read fabric files: it was built without the feature `simulator`"
            .to_owned(),
    )
}

impl RunArgs {
    /// Whether a flag names a port or a place of files.
    #[must_use]
    pub const fn says_places(&self) -> bool {
        let (port, sm) = (&self.port, &self.sm);
        port.ca.is_some()
            || port.port.is_some()
            || port.port_guid.is_some()
            || sm.state_dir.is_some()
            || sm.dump_dir.is_some()
            || sm.capture.is_some()
            || sm.record.is_some()
    }
}

impl PortArgs {
    /// Lays these flags over the file.
    pub fn apply(&self, raw: &mut RawConfig) {
        if self.ca.is_none() && self.port.is_none() && self.port_guid.is_none() {
            return;
        }
        // A port that flags name replaces the whole of what the file says.
        raw.port.ca = self.ca.clone().unwrap_or_default();
        raw.port.number = Bounded::clamped(self.port.unwrap_or(0).into());
        raw.port.guid = Hex64(self.port_guid.map_or(0, |g| g.0));
    }
}

impl SmArgs {
    /// Lays these flags over the file.
    pub fn apply(&self, raw: &mut RawConfig) {
        if let Some(engines) = &self.engine {
            raw.routing.engines.clone_from(engines);
        }
        if let Some(vls) = self.vls {
            raw.routing.vls = Bounded::clamped(vls.into());
        }
        if let Some(lmc) = self.lmc {
            raw.lids.lmc = Bounded::clamped(lmc.into());
        }
        if let Some(priority) = self.priority {
            raw.sm.priority = Bounded::clamped(priority.into());
        }
        let path = |p: &PathBuf| p.to_string_lossy().into_owned();
        // Names in the configuration file count from its directory, those of flags from the working directory.
        let from_here = |file: &PathBuf| path(std::path::absolute(file).as_ref().unwrap_or(file));
        if let Some(file) = &self.partitions_file {
            raw.partitions.file = from_here(file);
        }
        if let Some(file) = &self.qos_policy_file {
            raw.qos.policy_file = from_here(file);
        }
        if let Some(file) = &self.prefix_routes_file {
            raw.routing.prefix_routes_file = from_here(file);
        }
        if let Some(dir) = &self.state_dir {
            raw.files.state_dir = path(dir);
        }
        if let Some(dir) = &self.dump_dir {
            raw.files.dump_dir = path(dir);
        }
        if let Some(file) = &self.capture {
            raw.files.capture = path(file);
        }
        if let Some(address) = self.metrics_listen {
            raw.metrics.listen = address.to_string();
        }
        if let Some(format) = self.log_format {
            raw.log.format = format;
        }
        if let Some(level) = &self.log_level {
            raw.log.level.clone_from(level);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_of_run_land_in_the_configuration() {
        let cli = parse(
            "ferrosm run --once --ca mlx5_0 --port 1 --engine updn,no_fallback --vls 4 --lmc 2 --priority 14 --state-dir s \
             --dump-dir d --capture c.pcapng --metrics-listen [::1]:9 --log-format json --log-level debug",
        );
        let Command::Run(args) = cli.unwrap().command else {
            panic!("another command")
        };
        let mut raw = RawConfig::default();
        args.port.apply(&mut raw);
        args.sm.apply(&mut raw);
        assert!(args.sm.once);
        assert_eq!((raw.port.ca.as_str(), raw.port.number.get()), ("mlx5_0", 1));
        let engines: Vec<&str> = raw.routing.engines.iter().map(Engine::name).collect();
        assert_eq!(engines, ["updn", "no_fallback"]);
        assert_eq!(raw.routing.vls.get(), 4);
        assert_eq!((raw.lids.lmc.get(), raw.sm.priority.get()), (2, 14));
        assert_eq!(raw.files.state_dir, "s");
        assert_eq!(
            (raw.files.dump_dir.as_str(), raw.files.capture.as_str()),
            ("d", "c.pcapng")
        );
        assert_eq!(
            (raw.log.format, raw.log.level.as_str()),
            (LogFormat::Json, "debug")
        );
    }

    #[test]
    fn no_flag_changes_nothing() {
        let Command::Run(args) = parse("ferrosm run").unwrap().command else {
            panic!("another command")
        };
        let mut raw = RawConfig::default();
        args.port.apply(&mut raw);
        args.sm.apply(&mut raw);
        assert_eq!(raw, RawConfig::default());
    }

    #[test]
    fn contradictions_are_usage_errors() {
        for line in [
            "ferrosm",
            "ferrosm run --port 1",
            "ferrosm run --ca a --port-guid 0x1",
            "ferrosm run --lmc 8",
            "ferrosm run --engine zigzag",
            "ferrosm run --vls 16",
            "ferrosm route --from x --vls 0",
            "ferrosm route --from x --sl2vl-file y",
            "ferrosm explain --from x n1",
            "ferrosm topology --from x --ca a",
            "ferrosm route",
            "ferrosm config print --default --effective",
        ] {
            let error = parse(line).map(|_| ()).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn an_unknown_engine_is_told_with_what_there_is() {
        let error = parse("ferrosm run --engine updm").unwrap_err().to_string();
        assert!(error.contains("did you mean `updn`?"), "{error}");
    }
}
