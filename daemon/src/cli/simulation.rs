//! Flags of `demo`, `sim`, `attach` and `sim-ctl`: the commands of simulated fabrics.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::SmArgs;

/// Flags of `demo`.
#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// Fabric file or generated fabric.
    #[arg(
        value_name = "SPEC|FILE",
        default_value = "fat-tree:8",
        help = "Fabric file (of ibnetdiscover, ibsim, OpenSM or ibdiagnet), or generated fabric: fat-tree:K, \
                fat-tree2:RADIX,LEAVES,HOSTS, xgft:M1,M2../W1,W2.., pgft:M../W../P.., \
                rail-pods:PODS,SERVERS,GPUS[,SPINES[,CORES]], torus:X,Y,Z[,H], mesh:..., hyperx:A,B[,H], \
                dragonfly:A,G,H,P, dragonfly+:G,L,S,H,P, slim-fly:Q[,H], random:N,R,H,SEED, ring:N[,H], star:H, \
                back-to-back; then options: ;sharp ;planes=N ;drop=F ;parallel=N ;spine-hosts=N ;loopbacks=N \
                ;plugs=N ;routers=N ;dual-port ;mixed-speeds ;speed=NAME ;islands=N ;shuffle ;seed=N \
                (docs/topologies.md)"
    )]
    pub fabric: String,
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
        help = "Fabric file (of ibnetdiscover or ibsim), or generated fabric such as fat-tree:8: \
                see `ferrosm demo --help`"
    )]
    pub fabric: String,
    /// Socket to listen on.
    #[command(flatten)]
    pub socket: SocketArgs,
    /// Timed events and faults, in the scenario language (docs/scenario.md).
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
    /// Node whose ports the program sees, by NodeDescription or GUID; repeat for a host with several channel adapters [default: the
    /// first host of the fabric].
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
    /// A command or scenario statement; without one, lines are read from standard input. `help` lists them.
    #[arg(
        value_name = "STATEMENT",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub statement: Vec<String>,
}
