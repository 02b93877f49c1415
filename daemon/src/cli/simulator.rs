//! Flags of `demo`, `sim`, `attach` and `sim-ctl`: the commands of simulated fabrics.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::SmArgs;

const FABRIC_HELP: &str = "Fabric file (of ibnetdiscover, ibsim, OpenSM or ibdiagnet), or generated fabric such as \
                           fat-tree:8 (--help lists all topologies)";

const FABRIC_LONG_HELP: &str = "\
Fabric file (of ibnetdiscover, ibsim, OpenSM or ibdiagnet), or generated fabric:
  fat-tree:K        3 levels of switches with K ports
  fat-tree2:RADIX,LEAVES,HOSTS-PER-LEAF
  xgft:M1,M2../W1,W2..    M children and W parents of a node, by level
  pgft:M1,M2../W1,W2../P1,P2..    also P parallel links, by level
  rail-pods:PODS,SERVERS,GPUS[,SPINES[,CORES]]
  torus:X,Y,Z[,HOSTS]  mesh:X,Y,Z[,HOSTS]  hyperx:A,B[,HOSTS]
  ring:SWITCHES[,HOSTS]    HOSTS: of each switch
  dragonfly:SWITCHES-PER-GROUP,GROUPS,GLOBAL-LINKS,HOSTS    last two: of a switch
  dragonfly+:GROUPS,LEAVES,SPINES,GLOBAL-LINKS,HOSTS
  slim-fly:Q[,HOSTS]
  random:SWITCHES,LINKS-PER-SWITCH,HOSTS,SEED
  star:HOSTS  back-to-back
Options follow after a semicolon, such as `fat-tree:8;drop=0.1;seed=2`:
  drop=F         remove the fraction F (0 to 1) of the links between switches
  parallel=N     N links instead of each link between switches
  planes=N       N copies of all switches; host port n is in plane n
  components=N   N unconnected copies
  spine-hosts=N  N more hosts, on switches without hosts
  loopbacks=N    N links from a switch to itself
  plugs=N        N ports that are connected to themselves
  dual-port      one more port per host
  sharp          an aggregation node in every switch
  shuffle        random order of GUIDs
  routers=N  speed=NAME  mixed-speeds  seed=N";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum SimulatorCommand {
    /// Run the subnet manager on a simulated fabric within this process; needs no hardware.
    Demo(DemoArgs),
    /// Serve a simulated fabric to libibumad programs, which `ferrosm attach` runs.
    Sim(SimArgs),
    /// Run a libibumad program (OpenSM, saquery, `ferrosm run`, ...) on a simulated fabric.
    Attach(AttachArgs),
    /// Control and query a simulated fabric.
    SimCtl(SimCtlArgs),
}

impl SimulatorCommand {
    /// The engines of `--engine`.
    pub(super) fn engines(&self) -> Option<&[String]> {
        match self {
            Self::Demo(args) => args.sm.engine.as_deref(),
            Self::Sim(_) | Self::Attach(_) | Self::SimCtl(_) => None,
        }
    }
}

/// Flags of `demo`.
#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// Fabric file or generated fabric.
    #[arg(
        value_name = "SPEC|FILE",
        default_value = "fat-tree:8",
        help = FABRIC_HELP,
        long_help = FABRIC_LONG_HELP
    )]
    pub fabric: String,
    /// Serve the page on a free port of this host, and print a link that opens it.
    #[arg(long, conflicts_with = "once")]
    pub web: bool,
    /// Common flags.
    #[command(flatten)]
    pub sm: SmArgs,
}

/// Socket of the server of a simulated fabric.
#[derive(Debug, Clone, Default, Args)]
pub struct SocketArgs {
    /// Socket of the server [default: ferrosm-sim.sock in the user's runtime directory].
    #[arg(long, value_name = "PATH", env = "FERROSM_SIM_SOCKET")]
    pub socket: Option<PathBuf>,
}

/// Flags of `sim`.
#[derive(Debug, Clone, Args)]
pub struct SimArgs {
    /// Fabric file or generated fabric.
    #[arg(
        value_name = "FILE|SPEC",
        help = FABRIC_HELP,
        long_help = FABRIC_LONG_HELP
    )]
    pub fabric: String,
    /// Socket to listen on.
    #[command(flatten)]
    pub socket: SocketArgs,
    /// Timed events and faults: lines such as `at 2s cut leaf-0[1]`. `ferrosm sim-ctl help` lists
    /// the statements.
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// Seed of random losses, delays and corruption.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Write every packet of the fabric to this file for Wireshark.
    #[arg(long, value_name = "FILE.pcapng")]
    pub capture: Option<PathBuf>,
    /// Time to poll for the next MAD before sleeping, in microseconds; 0 saves CPU.
    #[arg(long, value_name = "US", default_value_t = 50)]
    pub spin_us: u64,
    /// Log level: error, warn, info, debug or trace.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: String,
}

/// Flags of `attach`.
#[derive(Debug, Clone, Args)]
pub struct AttachArgs {
    /// Socket of the server.
    #[command(flatten)]
    pub socket: SocketArgs,
    /// Node whose ports the program sees, by NodeDescription or GUID; repeat for a host with
    /// several channel adapters [default: the first host of the fabric].
    #[arg(long, value_name = "NAME")]
    pub node: Vec<String>,
    /// The program and its arguments.
    #[arg(
        value_name = "COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub command: Vec<OsString>,
}

/// Flags of `sim-ctl`.
#[derive(Debug, Clone, Args)]
pub struct SimCtlArgs {
    /// Socket of the server.
    #[command(flatten)]
    pub socket: SocketArgs,
    /// A command or scenario statement; without one, lines are read from standard input.
    /// `ferrosm sim-ctl help` lists them.
    #[arg(
        value_name = "STATEMENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub statement: Vec<String>,
}
