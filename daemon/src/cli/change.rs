//! Flags of the commands that change partitions and what is in service.

use clap::{Args, Subcommand, ValueEnum};

use super::time::parse_span;
use super::{AskArgs, AskAtArgs, ListAtArgs, ServiceArgs, TimeArgs};

/// Flags of `partition`.
#[derive(Debug, Clone, Args)]
pub struct PartitionArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: PartitionCommand,
}

/// Subcommands of `partition`.
#[derive(Debug, Clone, Subcommand)]
pub enum PartitionCommand {
    /// List the partitions that are configured, were added or have members.
    List(AskAtArgs),
    /// List the members of a partition, as the P_Key tables of ports have them.
    Show {
        /// Its name, or P_Key with or without the membership bit.
        #[arg(value_name = "PARTITION")]
        partition: String,
        /// The list.
        #[command(flatten)]
        list: ListAtArgs,
    },
    /// Create a partition that the configuration does not define, or replace one.
    ///
    /// It survives restarts and failover. The command ends when the P_Keys are in the tables of its
    /// members.
    Add(PartitionAddArgs),
    /// Add or remove members of a partition that `add` created.
    Set(PartitionSetArgs),
    /// Remove a partition that `add` created.
    Remove {
        /// Its name or P_Key.
        #[arg(value_name = "PARTITION")]
        partition: String,
        /// Do it although it has this consequence.
        #[arg(long, value_name = "CONSEQUENCE")]
        accept: Option<AcceptedViolation>,
        /// Only say what it would do.
        #[arg(long)]
        dry_run: bool,
        /// The service.
        #[command(flatten)]
        service: ServiceArgs,
    },
}

impl PartitionCommand {
    /// The time that the command asks about; `None` if that is always now.
    pub(super) const fn time_mut(&mut self) -> Option<&mut TimeArgs> {
        match self {
            Self::List(args) => Some(&mut args.time),
            Self::Show { list, .. } => Some(&mut list.time),
            Self::Add(_) | Self::Set(_) | Self::Remove { .. } => None,
        }
    }
}

/// Flags of `partition add`.
#[derive(Debug, Clone, Args)]
pub struct PartitionAddArgs {
    /// Its name.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Its P_Key, with or without the membership bit: 0x51.
    #[arg(long, value_name = "P_KEY")]
    pub pkey: String,
    /// Members, each with `=full` (default), `=limited` or `=both`: port GUIDs, ranges of them such
    /// as 0x20-0x3f, names, host lists such as `gpu[01-16]`, patterns such as `gpu-*`, ALL,
    /// ALL_CAS, ALL_SWITCHES, ALL_ROUTERS, SELF. Several are separated by commas or blanks.
    #[arg(long = "member", value_name = "PORTS[=MEMBERSHIP]", num_args = 1..)]
    pub members: Vec<String>,
    /// Create the broadcast group of IPoIB.
    #[arg(long)]
    pub ipoib: bool,
    /// Put its P_Key at index 0 of the members' tables.
    #[arg(long)]
    pub index0: bool,
    /// Flags of its groups, as in the configuration: mtu=4096, rate=400G, sl=1.
    #[arg(long = "flag", value_name = "NAME=VALUE")]
    pub flags: Vec<String>,
    /// Do it although it has this consequence.
    #[arg(long, value_name = "CONSEQUENCE")]
    pub accept: Option<AcceptedViolation>,
    /// Only say what it would do.
    #[arg(long)]
    pub dry_run: bool,
    /// The service.
    #[command(flatten)]
    pub service: ServiceArgs,
}

/// Flags of `partition set`.
#[derive(Debug, Clone, Args)]
pub struct PartitionSetArgs {
    /// Its name or P_Key.
    #[arg(value_name = "PARTITION")]
    pub partition: String,
    /// Members to add, or to give another membership.
    #[arg(
        long,
        num_args = 1..,
        value_name = "PORTS[=MEMBERSHIP]",
        required_unless_present = "remove"
    )]
    pub add: Vec<String>,
    /// Members to remove.
    #[arg(long, value_name = "PORTS", num_args = 1..)]
    pub remove: Vec<String>,
    /// Do it although it has this consequence.
    #[arg(long, value_name = "CONSEQUENCE")]
    pub accept: Option<AcceptedViolation>,
    /// Only say what it would do.
    #[arg(long)]
    pub dry_run: bool,
    /// The service.
    #[command(flatten)]
    pub service: ServiceArgs,
}

/// Flags of `drain`.
#[derive(Debug, Clone, Args)]
pub struct DrainArgs {
    /// A switch by name or GUID, or a link by one of its switch ports: `leaf-2-0/5`.
    #[arg(value_name = "SWITCH|PORT")]
    pub target: String,
    /// Put it back after this time: 30m, 2h, 1d.
    #[arg(long = "for", value_name = "TIME", value_parser = parse_span)]
    pub time: Option<core::time::Duration>,
    /// Do it although it has this consequence.
    #[arg(long, value_name = "CONSEQUENCE")]
    pub accept: Option<AcceptedViolation>,
    /// Only say what it would do.
    #[arg(long)]
    pub dry_run: bool,
    /// The service.
    #[command(flatten)]
    pub service: ServiceArgs,
}

/// Flags of `undrain` and `port enable`.
#[derive(Debug, Clone, Args)]
pub struct InServiceArgs {
    /// As `ferrosm maintenance` names it.
    #[arg(value_name = "NAME")]
    pub target: String,
    /// Only say what it would do.
    #[arg(long)]
    pub dry_run: bool,
    /// The service.
    #[command(flatten)]
    pub service: ServiceArgs,
}

/// Flags of `port`.
#[derive(Debug, Clone, Args)]
pub struct PortChangeArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: PortCommand,
}

/// Subcommands of `port`.
#[derive(Debug, Clone, Subcommand)]
pub enum PortCommand {
    /// Move the routes from the link of a switch port, then disable the port.
    ///
    /// It stays disabled across restarts and failover, until `port enable`.
    Disable {
        /// A switch port: `leaf-2-0/5`. A host stands for the switch port that it is connected to.
        #[arg(value_name = "PORT")]
        target: String,
        /// Enable it after this time: 30m, 2h, 1d.
        #[arg(long = "for", value_name = "TIME", value_parser = parse_span)]
        time: Option<core::time::Duration>,
        /// Do it although it has this consequence.
        #[arg(long, value_name = "CONSEQUENCE", value_delimiter = ',')]
        accept: Vec<AcceptedConsequence>,
        /// Only say what it would do.
        #[arg(long)]
        dry_run: bool,
        /// The service.
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// Enable a port that `disable` disabled.
    Enable(InServiceArgs),
    /// Limit MTU, width or speed of the link at a switch port. Earlier limits that are not named
    /// stay.
    ///
    /// The limits stay across restarts and failover, until `port unset`. A link that has to train
    /// for them goes down for a moment, after the routes have left it.
    Set {
        /// A switch port: `leaf-2-0/5`. A host stands for the switch port that it is connected to.
        #[arg(value_name = "PORT")]
        target: String,
        /// Largest MTU in bytes: 256, 512, 1024, 2048 or 4096.
        #[arg(long, value_name = "BYTES")]
        mtu: Option<u16>,
        /// Highest rate in Gb/s: the fastest width and speed within it.
        #[arg(long, value_name = "GBPS", conflicts_with_all = ["width", "speed"])]
        rate: Option<u32>,
        /// Most lanes: 1, 2, 4, 8 or 12.
        #[arg(long, value_name = "LANES")]
        width: Option<u8>,
        /// Highest speed of a lane: SDR to XDR.
        #[arg(long, value_name = "SPEED")]
        speed: Option<String>,
        /// Do it although it has this consequence.
        #[arg(long, value_name = "CONSEQUENCE", value_delimiter = ',')]
        accept: Vec<AcceptedConsequence>,
        /// Only say what it would do.
        #[arg(long)]
        dry_run: bool,
        /// The service.
        #[command(flatten)]
        service: ServiceArgs,
    },
    /// End the limits of a port that `set` limited.
    Unset(InServiceArgs),
    /// List ports with limits, and whether these are in force.
    Limits(AskArgs),
    /// Disable a switch port for 2 s, so that its link trains anew.
    ///
    /// Routes leave the link first. The service enables the port again, also if this command is
    /// interrupted.
    Reset {
        /// A switch port: `leaf-2-0/5`. A host stands for the switch port that it is connected to.
        #[arg(value_name = "PORT")]
        target: String,
        /// Do it although it has this consequence.
        #[arg(long, value_name = "CONSEQUENCE", value_delimiter = ',')]
        accept: Vec<AcceptedConsequence>,
        /// The service.
        #[command(flatten)]
        service: ServiceArgs,
    },
}

/// What a change may do that is refused otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AcceptedViolation {
    /// A declared invariant (`[[invariant]]`) that holds now is violated.
    Invariant,
}

/// What disabling a port may do that is refused otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AcceptedConsequence {
    /// The host behind the port is cut off.
    CutOff,
    /// A declared invariant (`[[invariant]]`) that holds now is violated.
    Invariant,
}
