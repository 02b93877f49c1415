//! Commands and flags of `ferrosm`.
//!
//! Definitions only; [`crate::commands`] implements the commands.

mod alarms;
mod ask;
mod bugreport;
mod cabling;
mod capture;
mod change;
mod changes;
mod config;
mod control;
mod draw;
mod explain;
mod export;
mod fabric_source;
mod group;
mod keys;
pub mod opensm_flags;
#[cfg(feature = "simulator")]
mod routing;
mod sa;
#[cfg(feature = "simulator")]
mod simulator;
mod state;
mod time;
mod upgrade;
mod web;
mod what_if;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use ferrosm_mad::ids::{Lmc, PortGuid, PortNum};
use ferrosm_umad::libibumad::PortSelection;

use crate::config::{LogFormat, Settings, names_no_engine, parse_engine};
pub use alarms::{AlarmsArgs, AlarmsCommand, ForgetArgs, NotifyArgs, NotifyCommand};
pub use ask::{
    AskArgs, AskAtArgs, EventsArgs, LinksArgs, ListArgs, ListAtArgs, PathArgs, SeverityArg,
    WhereArgs,
};
pub use bugreport::BugreportArgs;
pub use cabling::{CablingArgs, CablingCommand};
pub use capture::{CaptureArgs, CaptureCommand, CaptureServiceArgs};
pub use change::{
    AcceptedConsequence, AcceptedViolation, DrainArgs, InServiceArgs, PartitionAddArgs,
    PartitionArgs, PartitionCommand, PartitionSetArgs, PortChangeArgs, PortCommand,
};
pub use changes::{ChangesArgs, DiffArgs};
pub use config::{
    ConfigArgs, ConfigChangeArgs, ConfigCommand, ConfigFileCommand, ConfigSendArgs, ExportArgs,
    ExportFormat, ImportArgs, RunningConfigCommand,
};
pub use control::{ServiceArgs, ServiceDirArgs, SweepArgs, TakeoverArgs};
pub use draw::{DrawArgs, HighlightKind};
#[cfg(feature = "simulator")]
pub use explain::OfflineExplainArgs;
pub use explain::{
    ExplainAlarmArgs, ExplainArgs, ExplainCommand, ExplainEngineArgs, ExplainObjectArgs,
    ExplainRouteArgs, ExplainSweepArgs,
};
pub use export::{FabricExportArgs, FabricExportCommand, SlurmArgs};
pub use fabric_source::FabricSourceArgs;
pub use group::{GroupArgs, GroupCommand, HostArgs, HostCommand};
pub use keys::{KeysArgs, KeysCommand, Lockout, RotatedKeyArg};
#[cfg(feature = "simulator")]
pub use routing::RouteArgs;
pub use sa::{RateArg, SaArgs, SaCommand};
#[cfg(feature = "simulator")]
pub use simulator::{AttachArgs, DemoArgs, SimArgs, SimCtlArgs, SimulatorCommand, SocketArgs};
pub use state::{StateArgs, StateCommand, state_dir_from_environment};
pub use time::TimeArgs;
pub use upgrade::{ManArgs, UpgradeArgs, UpgradeCommand};
pub use web::{RoleArg, WebArgs, WebCommand};
pub use what_if::WhatIfArgs;

/// An InfiniBand subnet manager.
///
/// Exit status: 0 success, 1 failure, 2 usage, 69 no service to ask, 78 invalid configuration;
/// `health` exits with the state, `attach` with the status of its program.
#[derive(Debug, Parser)]
#[command(
    name = "ferrosm",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// The time that the command asks about.
    #[command(flatten)]
    pub time: TimeArgs,
    /// The command.
    #[command(subcommand)]
    pub command: CliCommand,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Run the subnet manager on a local port.
    ///
    /// SIGHUP reloads the configuration and all input files, SIGUSR2 recomputes all routes, SIGTERM
    /// and SIGINT hand over and exit. Without --ca and --port-guid it serves the port of the
    /// configuration file, otherwise the port served last, otherwise the only port with a link; if
    /// several have one, it waits for 30 s and exits with status 1.
    Run(Box<RunArgs>),
    /// Commands of simulated fabrics.
    #[cfg(feature = "simulator")]
    #[command(flatten)]
    Simulator(SimulatorCommand),
    /// Show what the running service is and does.
    Status(AskAtArgs),
    /// Show whether everything seen in the last days (`health.expect`) is up, addressed and routed.
    ///
    /// Exit status: 0 ok, 1 degraded, 2 down, 3 unknown. It reads only what the service knows, and
    /// changes nothing.
    Health(AskAtArgs),
    /// List the SMs of the subnet.
    Sms(AskAtArgs),
    /// List the nodes of the subnet, and those that left it in the last days (`health.expect`).
    Nodes(ListAtArgs),
    /// List the links of the subnet, and those that went down in the last days (`health.expect`).
    Links(LinksArgs),
    /// Show how near limits of the fabric are.
    Limits(AskAtArgs),
    /// Show where a port is: GUID of a port or node, LID, name, or `name/port`.
    Where(WhereArgs),
    /// Show the path of packets between two ports, from the tables that the switches have.
    Path(PathArgs),
    /// Show what a loss of nodes or links, or another routing engine, would do: what is cut off,
    /// what loses its redundancy, and the routing that the SM would install.
    ///
    /// It asks the running service, which changes nothing and sends no MAD, or routes a fabric file
    /// (--from). Exit status: 1 if anything is cut off, an invariant would be violated, or no
    /// engine finds a routing.
    #[command(name = "whatif", visible_alias = "what-if")]
    WhatIf(WhatIfArgs),
    /// List the declared invariants (`[[invariant]]`), and whether they hold.
    ///
    /// Exit status: 1 if one is violated.
    Invariants(AskArgs),
    /// Compare the cables of the fabric with a plan, or print them as a plan.
    Cabling(CablingArgs),
    /// Show what the SM would write to the fabric as it is now, without writing anything.
    ///
    /// It reads the fabric as at a start, with this configuration and state directory, and needs
    /// neither a running service nor mastership. The Sets of the plan are those of the first sweep
    /// if nothing changes meanwhile.
    Plan(PlanArgs),
    /// List the ports of the subnet; with --local those of this host, and which of them ferrosm can
    /// serve.
    ///
    /// Without a running service it lists those of this host.
    Ports(PortsArgs),
    /// Print the topology of the fabric (discovered without any change to it) or of a fabric file.
    Topology(TopologyArgs),
    /// Draw the fabric on one page, by its structure.
    ///
    /// Groups of switches are one box each if there are many; --level says otherwise.
    Draw(DrawArgs),
    /// Print the fabric for other programs: Slurm's topology.conf, links as CSV, a graph for
    /// Graphviz.
    Export(FabricExportArgs),
    /// Route a fabric file offline; verify reachability, loops and credit loops; measure the
    /// balance.
    #[cfg(feature = "simulator")]
    Route(RouteArgs),
    /// Explain routes, ports, nodes, sweeps, alarms and the routing engine of the running service.
    ///
    /// `explain --from FILE [SRC DST]` routes a fabric file offline instead; the installed routes
    /// may differ from its result.
    Explain(Box<ExplainArgs>),
    /// Replay a recording of `run --record` or `demo --record` and compare all outputs.
    Replay(ReplayArgs),
    /// Make the running service sweep the whole fabric, and print the problems found (exit status 1
    /// if there are any).
    ///
    /// Devices that do not respond are reported, and stay in the routes while their links are up:
    /// a hung switch may still forward. With --exclude they leave the subnet. `ferrosm health` asks
    /// without a sweep.
    Sweep(SweepArgs),
    /// Make the running service hand over mastership to another SM and become standby.
    ///
    /// The other SM needs a priority of at least 1. This SM reports priority 0 from then on, until
    /// it is master again or restarts.
    Handover(ServiceArgs),
    /// Make the running service take over a subnet despite `refuse-managed-subnet`, or run again
    /// after an SMInfo DISABLE.
    ///
    /// With --accept, it may also remove what another SM configured and this configuration does not
    /// name (log event `consent awaited`).
    Takeover(TakeoverArgs),
    /// List partitions and who is in them; create, change and remove partitions.
    Partition(PartitionArgs),
    /// List multicast groups and who is in them.
    Group(GroupArgs),
    /// Show the ports of a host, with their partitions and multicast groups.
    Host(HostArgs),
    /// Take a switch or link out of the routes, for maintenance, without losing a packet.
    ///
    /// Refused if it would cut off a host. It survives restarts and failover, and ends with
    /// `undrain` or after its time.
    Drain(DrainArgs),
    /// Put a drained switch or link back.
    Undrain(InServiceArgs),
    /// Disable a port of a switch, or enable it again.
    Port(PortChangeArgs),
    /// List what is drained or disabled, why, and until when.
    Maintenance(AskArgs),
    /// Show management keys and who has them; put another M_Key in force.
    Keys(KeysArgs),
    /// Show the clients of the SA, and limit single ones.
    Sa(SaArgs),
    /// List the last events of the service, as in its log.
    ///
    /// After a restart of the service --follow continues with its events.
    Events(EventsArgs),
    /// List what changed, with cause and effect, also before a restart of the service.
    Changes(ChangesArgs),
    /// List the nodes and links whose state differs between two times, and other changes between
    /// them.
    Diff(DiffArgs),
    /// List the alarms: what is wrong, and since when.
    ///
    /// An alarm has the same number until it is cleared. A switch that is gone is one alarm with
    /// its links.
    Alarms(AlarmsArgs),
    /// Expect a node or link no longer that was removed on purpose: its alarm ends.
    Forget(ForgetArgs),
    /// Test the notifications of alarms.
    Notify(NotifyArgs),
    /// List the last commands of operators and signals, with who sent them, why, and their results.
    Commands(AskArgs),
    /// Pack what a developer needs to find a defect, without keys, into one archive.
    ///
    /// It has answers of the running service, its configuration, the tables of switches, events,
    /// changes, MADs and a recording of the SM's inputs. Without a service, it has what is in the
    /// state directory.
    Bugreport(BugreportArgs),
    /// Capture the MADs of the running service for Wireshark.
    Capture(CaptureArgs),
    /// Open the page of the running service.
    Web(WebArgs),
    /// Show, export or import persisted state, also from OpenSM.
    State(StateArgs),
    /// Check, print, import or export configuration; change that of the running service.
    Config(ConfigArgs),
    /// Check whether another version of ferrosm can take the place of the running one.
    Upgrade(UpgradeArgs),
    /// Write the manual pages to a directory.
    #[command(hide = true)]
    Man(ManArgs),
    /// Print shell completions.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// The local port. If none is named: for `run` the port served last, otherwise the only one with a
/// link.
#[derive(Debug, Clone, Default, Args)]
pub struct PortArgs {
    /// Channel adapter, as listed by `ferrosm ports --local`. Without --ca and --port-guid, the
    /// port of the configuration file, otherwise the only one with a link.
    #[arg(long, value_name = "NAME", conflicts_with = "port_guid")]
    pub ca: Option<String>,
    /// Port number of the adapter; 0 (default): the only one with a link.
    #[arg(long, value_name = "N", requires = "ca", conflicts_with = "port_guid",
          value_parser = clap::value_parser!(u8).range(0..=254))]
    pub port: Option<u8>,
    /// GUID of the port.
    #[arg(long, value_name = "GUID")]
    pub port_guid: Option<PortGuid>,
}

/// Flags of commands that run a subnet manager; they override the configuration file.
#[derive(Debug, Clone, Default, Args)]
pub struct SmArgs {
    /// Configuration file; without one, `run` reads /etc/ferrosm/ferrosm.toml if it exists. `demo`
    /// ignores its state directory and metrics address.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Exit after the first sweep: status 0 if the fabric is fully up, otherwise 1. If the local
    /// port is Down, its link has 10 s to come up.
    #[arg(long)]
    pub once: bool,
    /// Print a JSON report of each sweep to standard output, one per line.
    #[arg(long)]
    pub json: bool,
    /// Routing engines, tried in this order until one succeeds: `auto` selects by topology; ftree,
    /// updn, dnup, minhop, dor, lash, torus-2QoS, dragonfly, diameter2, sssp, dfsssp, dmodc, nue,
    /// file; `no_fallback` disables the fallback engines.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_engine)]
    pub engine: Option<Vec<String>>,
    /// Data VLs that routing may use [default: as many as the links have].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=15))]
    pub vls: Option<u8>,
    /// LMC: each CA and router port gets 2^N LIDs.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=7))]
    pub lmc: Option<u8>,
    /// SM priority, 0 to 15 [default: 0]; the SM with the highest priority becomes master.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=15))]
    pub priority: Option<u8>,
    /// Partitions, in the format of OpenSM's partitions.conf.
    #[arg(
        short = 'P',
        long = "partitions-file",
        visible_alias = "Pconfig",
        value_name = "FILE"
    )]
    pub partitions_file: Option<PathBuf>,
    /// QoS policy, in the format of OpenSM's qos-policy.conf.
    #[arg(
        short = 'Y',
        long,
        visible_alias = "qos_policy_file",
        value_name = "FILE"
    )]
    pub qos_policy_file: Option<PathBuf>,
    /// Routers to other subnets, in the format of OpenSM's prefix-routes.conf.
    #[arg(long, visible_alias = "prefix_routes_file", value_name = "FILE")]
    pub prefix_routes_file: Option<PathBuf>,
    /// Directory of persisted state, instead of files.state-dir (/var/lib/ferrosm).
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Write OpenSM-format dumps to this directory after each sweep without problems.
    #[arg(long, value_name = "DIR")]
    pub dump_dir: Option<PathBuf>,
    /// Write every MAD to this file for Wireshark.
    #[arg(long, value_name = "FILE.pcapng")]
    pub capture: Option<PathBuf>,
    /// Record the run into this new file for `ferrosm replay`. The file holds M_Keys and SM_Keys;
    /// only its owner can read it.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Stop the recording at this size, in MiB.
    #[arg(long, value_name = "MIB", default_value_t = 1024, requires = "record")]
    pub record_limit_mib: u64,
    /// Serve metrics at http://ADDRESS:PORT/metrics.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics_listen: Option<std::net::SocketAddr>,
    /// Format of log lines.
    #[arg(long, value_enum)]
    pub log_format: Option<LogFormat>,
    /// Log level: error, warn, info, debug, trace, or levels by module such as
    /// `info,ferrosm_core=debug`.
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<String>,
}

/// Flags of `run`.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// The local port.
    #[command(flatten)]
    pub port: PortArgs,
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
    /// Print all outputs in addition to events.
    #[arg(long)]
    pub outputs: bool,
}

/// Flags of `plan`.
#[derive(Debug, Clone, Args)]
pub struct PlanArgs {
    /// The local port to read from.
    #[command(flatten)]
    pub port: PortArgs,
    /// Configuration to plan with [default: /etc/ferrosm/ferrosm.toml, if it exists].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// State directory with the LIDs to keep, instead of files.state-dir; it is only read.
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Plan with this consequence accepted; several are separated by commas.
    #[arg(long, value_name = "CONSEQUENCE", value_delimiter = ',')]
    pub accept: Vec<control::Consequence>,
    /// Also list each write, with the data before and after, but without M_Keys.
    #[arg(long)]
    pub full: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Log level: error, warn, info, debug or trace.
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    pub log_level: String,
}

/// Flags of `ports`.
#[derive(Debug, Clone, Args)]
pub struct PortsArgs {
    /// The list.
    #[command(flatten)]
    pub list: ListArgs,
    /// List the ports of this host instead.
    #[arg(long, conflicts_with = "at")]
    pub local: bool,
    /// The time.
    #[command(flatten)]
    pub time: TimeArgs,
}

/// Flags of `topology`.
#[derive(Debug, Clone, Args)]
pub struct TopologyArgs {
    /// The local port to discover from.
    #[command(flatten)]
    pub port: PortArgs,
    /// Fabric file (of ibnetdiscover, ibsim, OpenSM or ibdiagnet), or generated fabric such as
    /// fat-tree:8 (`ferrosm demo --help` lists all topologies), instead of the live one.
    #[arg(long, value_name = "FILE|SPEC", conflicts_with_all = ["ca", "port", "port_guid"])]
    #[cfg_attr(not(feature = "simulator"), arg(hide = true, value_parser = needs_simulator))]
    pub from: Option<String>,
    /// Configuration file that names the port.
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    pub config: Option<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = TopologyFormat::Table)]
    pub format: TopologyFormat,
    /// Log level: error, warn, info, debug or trace.
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    pub log_level: String,
}

/// Output formats of `topology`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TopologyFormat {
    /// Format of ibnetdiscover and ibsim.
    Ibnet,
    /// JSON.
    Json,
    /// Graphviz. For an image, pipe it to `sfdp -Tsvg` or `dot -Tsvg`.
    Dot,
    /// A drawing, as `ferrosm draw` makes it of a running service or a file.
    Svg,
    /// Table.
    Table,
}

impl CliCommand {
    /// Sets the time that the command asks about, if `--at` is before its name.
    ///
    /// # Errors
    /// A message for the operator, if the command is about no other time than now.
    pub fn set_time(&mut self, time: &TimeArgs) -> Result<(), String> {
        if time.at.is_none() {
            return Ok(());
        }
        let Some(own) = self.time_mut() else {
            return Err("--at is for status, health, sms, limits, nodes, ports, links, where, path and partition: other commands are about now"
                .to_owned());
        };
        if own.at.is_some() {
            return Err("--at occurs twice: use it once".to_owned());
        }
        own.clone_from(time);
        Ok(())
    }

    /// The time that the command asks about; `None` if that is always now.
    #[allow(
        clippy::wildcard_enum_match_arm,
        reason = "other commands are about now"
    )]
    const fn time_mut(&mut self) -> Option<&mut TimeArgs> {
        match self {
            Self::Status(args) | Self::Health(args) | Self::Sms(args) | Self::Limits(args) => {
                Some(&mut args.time)
            }
            Self::Nodes(args) => Some(&mut args.time),
            Self::Links(args) => Some(&mut args.time),
            Self::Ports(args) if !args.local => Some(&mut args.time),
            Self::Where(args) => Some(&mut args.time),
            Self::Path(args) => Some(&mut args.time),
            Self::Partition(args) => args.command.time_mut(),
            _ => None,
        }
    }

    /// Checks combinations of flags.
    ///
    /// # Errors
    /// A message for the operator.
    pub fn check(&self) -> Result<(), String> {
        let engines = match self {
            Self::Run(args) => args.sm.engine.as_deref(),
            #[cfg(feature = "simulator")]
            Self::Simulator(command) => command.engines(),
            #[cfg(feature = "simulator")]
            Self::Route(args) => Some(&args.common.engine[..]),
            Self::Explain(args) => args.engines(),
            Self::Status(_)
            | Self::Health(_)
            | Self::Sms(_)
            | Self::Nodes(_)
            | Self::Links(_)
            | Self::Limits(_)
            | Self::Where(_)
            | Self::Path(_)
            | Self::Commands(_)
            | Self::Events(_)
            | Self::Changes(_)
            | Self::Diff(_)
            | Self::Alarms(_)
            | Self::Forget(_)
            | Self::Notify(_)
            | Self::Partition(_)
            | Self::Group(_)
            | Self::Host(_)
            | Self::Drain(_)
            | Self::Undrain(_)
            | Self::Port(_)
            | Self::Maintenance(_)
            | Self::Keys(_)
            | Self::WhatIf(_)
            | Self::Invariants(_)
            | Self::Cabling(_)
            | Self::Plan(_)
            | Self::Ports(_)
            | Self::Topology(_)
            | Self::Export(_)
            | Self::Draw(_)
            | Self::Replay(_)
            | Self::Sweep(_)
            | Self::Handover(_)
            | Self::Takeover(_)
            | Self::Bugreport(_)
            | Self::Sa(_)
            | Self::Capture(_)
            | Self::Web(_)
            | Self::State(_)
            | Self::Config(_)
            | Self::Upgrade(_)
            | Self::Man(_)
            | Self::Completions { .. } => None,
        };
        match engines {
            Some(engines) if names_no_engine(engines) => Err(
                "--engine names no engine: `no_fallback` only disables the fallback engines, as in `--engine updn,no_fallback`"
                    .to_owned(),
            ),
            Some(_) | None => Ok(()),
        }
    }
}

/// Rejects the argument of a build without the readers of fabric files.
#[cfg(not(feature = "simulator"))]
fn needs_simulator(_: &str) -> Result<String, String> {
    Err("cannot read fabric files: this ferrosm was built without the simulator".to_owned())
}

impl PortArgs {
    /// Overrides keys of the configuration file with these flags.
    pub fn apply(&self, settings: &mut Settings) {
        if self.ca.is_none() && self.port.is_none() && self.port_guid.is_none() {
            return;
        }
        // A port given by flags replaces the whole section.
        settings.port = PortSelection {
            ca: self.ca.clone(),
            port: self.port.filter(|number| *number != 0).map(PortNum),
            port_guid: self.port_guid,
        };
    }
}

impl SmArgs {
    /// Overrides keys of the configuration file with these flags.
    pub fn apply(&self, settings: &mut Settings) {
        set(&mut settings.sm.engines, &self.engine);
        set(&mut settings.sm.routing_vls, &self.vls);
        set(&mut settings.sm.lmc, &self.lmc.map(Lmc));
        set(&mut settings.sm.priority, &self.priority);
        // Paths in the configuration file are relative to its directory, those of flags to the
        // working directory.
        let absolute = |file: &PathBuf| std::path::absolute(file).unwrap_or_else(|_| file.clone());
        for (setting, flag) in [
            (&mut settings.partitions.file, &self.partitions_file),
            (&mut settings.qos_policy_file, &self.qos_policy_file),
            (&mut settings.prefix_routes_file, &self.prefix_routes_file),
        ] {
            set_optional(setting, &flag.as_ref().map(absolute));
        }
        set_optional(&mut settings.state_dir, &self.state_dir);
        set_optional(&mut settings.dump_dir, &self.dump_dir);
        set_optional(&mut settings.capture, &self.capture);
        set_optional(&mut settings.metrics, &self.metrics_listen);
        set(&mut settings.log.format, &self.log_format);
        set(&mut settings.log.level, &self.log_level);
    }
}

/// Overrides a setting with a flag of the command line.
fn set<T: Clone>(setting: &mut T, flag: &Option<T>) {
    if let Some(value) = flag {
        setting.clone_from(value);
    }
}

fn set_optional<T: Clone>(setting: &mut Option<T>, flag: &Option<T>) {
    if flag.is_some() {
        setting.clone_from(flag);
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
    fn definition_is_valid() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_of_run_override_the_configuration() {
        let cli = parse(
            "ferrosm run --once --ca mlx5_0 --port 1 --engine updn,no_fallback --vls 4 --lmc 2 --priority 14 --state-dir s \
             --dump-dir d --capture c.pcapng --metrics-listen [::1]:9 --log-format json --log-level debug",
        );
        let CliCommand::Run(args) = cli.unwrap().command else {
            panic!("not `run`")
        };
        let mut settings = Settings::default();
        args.port.apply(&mut settings);
        args.sm.apply(&mut settings);
        assert!(args.sm.once);
        let mut expected = Settings::default();
        expected.port.ca = Some("mlx5_0".to_owned());
        expected.port.port = Some(PortNum(1));
        expected.sm.engines = vec!["updn".to_owned(), "no_fallback".to_owned()];
        expected.sm.routing_vls = 4;
        expected.sm.lmc = Lmc(2);
        expected.sm.priority = 14;
        expected.state_dir = Some("s".into());
        expected.dump_dir = Some("d".into());
        expected.capture = Some("c.pcapng".into());
        expected.metrics = "[::1]:9".parse().ok();
        expected.log.format = LogFormat::Json;
        expected.log.level = "debug".to_owned();
        assert_eq!(settings, expected);
    }

    #[test]
    fn no_flags_leave_the_configuration_unchanged() {
        let CliCommand::Run(args) = parse("ferrosm run").unwrap().command else {
            panic!("not `run`")
        };
        let mut settings = Settings::default();
        args.port.apply(&mut settings);
        args.sm.apply(&mut settings);
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn invalid_combinations_are_usage_errors() {
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
    fn unknown_engine_is_reported_with_a_suggestion() {
        let error = parse("ferrosm run --engine updm").unwrap_err().to_string();
        assert!(error.contains("did you mean `updn`?"), "{error}");
    }
}
