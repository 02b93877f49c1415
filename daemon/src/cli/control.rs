//! Flags of the commands that a running service executes.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ferrosm_core::report::foreign_settings::RemovalKind;

use ferrosm_api::command::{WAIT_S_DEFAULT, WAIT_S_MAX};

/// The service that a command is for.
#[derive(Debug, Clone, Args)]
pub struct ServiceDirArgs {
    /// State directory of the service [default: $FERROSM_STATE_DIR, without --config, or
    /// files.state-dir of the configuration file].
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Configuration file of the service [default: /etc/ferrosm/ferrosm.toml]. It is read for its
    /// state directory, so it must be valid; use --state-dir otherwise.
    #[arg(long, value_name = "FILE", conflicts_with = "state_dir")]
    pub config: Option<PathBuf>,
    /// Address of a service on another host, such as https://sm1:7473 [default:
    /// $FERROSM_API, without --state-dir and --config].
    #[arg(long, value_name = "URL", conflicts_with_all = ["state_dir", "config"])]
    pub api: Option<String>,
    /// PEM file with the certificate for --api [default: $FERROSM_API_CERT].
    #[arg(long, value_name = "FILE")]
    pub api_cert: Option<PathBuf>,
    /// PEM file with its private key [default: $FERROSM_API_KEY].
    #[arg(long, value_name = "FILE")]
    pub api_key: Option<PathBuf>,
    /// PEM file with the CA of the service [default: $FERROSM_API_CA].
    #[arg(long, value_name = "FILE")]
    pub api_ca: Option<PathBuf>,
}

/// The service that executes a command.
#[derive(Debug, Clone, Args)]
pub struct ServiceArgs {
    /// The service.
    #[command(flatten)]
    pub service: ServiceDirArgs,
    /// Seconds to wait for the result; the command continues after that, and `ferrosm commands`
    /// shows its result.
    #[arg(long, value_name = "SECONDS", default_value_t = WAIT_S_DEFAULT, value_parser = clap::value_parser!(u64).range(..=WAIT_S_MAX))]
    pub wait_s: u64,
    /// Why, for the audit log.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Print the JSON of the API.
    #[arg(long)]
    pub json: bool,
}

/// Flags of `sweep`.
#[derive(Debug, Clone, Args)]
pub struct SweepArgs {
    /// The service.
    #[command(flatten)]
    pub service: ServiceArgs,
    /// Also compute routes without regard to the installed ones.
    #[arg(long)]
    pub reroute: bool,
    /// Take devices that do not respond out of the subnet, also switches that may still forward,
    /// with the hosts that only they connect.
    #[arg(long, conflicts_with = "reroute")]
    pub exclude: bool,
}

/// Flags of `takeover`.
#[derive(Debug, Clone, Args)]
pub struct TakeoverArgs {
    /// The service.
    #[command(flatten)]
    pub service: ServiceArgs,
    /// Accept this consequence; several are separated by commas.
    #[arg(long, value_name = "CONSEQUENCE", value_delimiter = ',')]
    pub accept: Vec<Consequence>,
}

/// What a takeover may remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Consequence {
    /// P_Keys that another SM configured and this configuration does not name.
    PKeyRemoval,
    /// Ports get LMC 0, because this configuration names none.
    LmcChange,
    /// M_Keys are removed, because this configuration names none.
    MKeyRemoval,
    /// SLtoVL and VL arbitration tables of a QoS configuration are replaced.
    QosRemoval,
}

impl Consequence {
    /// The kind of consent.
    pub const fn kind(self) -> RemovalKind {
        match self {
            Self::PKeyRemoval => RemovalKind::PKeyRemoval,
            Self::LmcChange => RemovalKind::LmcChange,
            Self::MKeyRemoval => RemovalKind::MKeyRemoval,
            Self::QosRemoval => RemovalKind::QosRemoval,
        }
    }
}
