//! Flags of `ferrosm config`.

use core::time::Duration;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ferrosm_api::config::CONFIRM_WITHIN_S_MAX;

use super::{AcceptedViolation, AskArgs, ServiceDirArgs};

/// Flags of `config`.
#[derive(Debug, Clone, Args)]
pub struct ConfigArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// Subcommands of `config`.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigCommand {
    /// Of files.
    #[command(flatten)]
    Files(ConfigFileCommand),
    /// Of the running service.
    #[command(flatten)]
    Running(RunningConfigCommand),
}

/// Subcommands of `config` for the running service.
#[derive(Debug, Clone, Subcommand)]
pub enum RunningConfigCommand {
    /// Show what another configuration would change in the running service.
    ///
    /// FILE and the input files that it names are compared with what is in force. Keys such as the
    /// M_Key are not shown.
    Diff {
        /// The other configuration.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The service.
        #[command(flatten)]
        service: ServiceDirArgs,
        /// Print the JSON of the API.
        #[arg(long)]
        json: bool,
    },
    /// Put another configuration in force, and write it to the files of the service.
    ///
    /// The files that FILE names are written as well: relative names beside the configuration file
    /// of the service. Nothing changes if one has an error. With --confirm-within, the files stay
    /// as they are until `ferrosm config confirm`; at the deadline, at a reload and at a restart
    /// the configuration of the files is in force again.
    Apply {
        /// The new configuration.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// How to change it.
        #[command(flatten)]
        change: ConfigChangeArgs,
    },
    /// Keep the configuration that is tried: write it to the files of the service.
    Confirm {
        /// Its revision [default: the one that is tried].
        #[arg(value_name = "REVISION")]
        revision: Option<u64>,
        /// Replace files that were changed by hand. Each is copied to FILE.before-REVISION first.
        #[arg(long)]
        force: bool,
        /// How to send it.
        #[command(flatten)]
        send: ConfigSendArgs,
    },
    /// Put an earlier configuration in force. A configuration that is tried ends.
    Rollback {
        /// Its revision [default: the last good one during a trial, otherwise the one before].
        #[arg(value_name = "REVISION")]
        revision: Option<u64>,
        /// How to change it.
        #[command(flatten)]
        change: ConfigChangeArgs,
    },
    /// List the revisions of the configuration: who made them, why, and which is in force.
    History(AskArgs),
}

/// Subcommands of `config` for files.
#[derive(Debug, Clone, Subcommand)]
pub enum ConfigFileCommand {
    /// Check configuration files, the files that they name, and those of several subnets against
    /// each other; report all errors (exit status 78).
    Check {
        /// Configuration files [default: /etc/ferrosm/*.toml].
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Also read the input files by OpenSM's own rules, and report what it ignores or drops.
        #[arg(long)]
        opensm: bool,
    },
    /// Print a configuration file.
    #[command(
        override_usage = "ferrosm config print [--effective] [FILE]\n       ferrosm config print --default"
    )]
    Print {
        /// Configuration file [default: /etc/ferrosm/ferrosm.toml, if it exists].
        file: Option<PathBuf>,
        /// Print every key with its default and description.
        #[arg(long, conflicts_with_all = ["effective", "file"])]
        default: bool,
        /// Print every key with its effective value (default).
        #[arg(long)]
        effective: bool,
    },
    /// Convert OpenSM's configuration, and report what OpenSM did with each line and what ferrosm
    /// will do.
    ///
    /// The result keeps what OpenSM did: options that it ignored stay at their defaults, and the
    /// result does not name files that it dropped. Exit status: 0 if ferrosm will do the same, 1 if
    /// a line changes behaviour or has no equivalent, or OpenSM dropped a file as a whole (with
    /// --accept 0).
    #[command(
        override_usage = "ferrosm config import [OPTIONS] FILE...\n       ferrosm config import [OPTIONS] [FILE...] -- opensm -B -g GUID ..."
    )]
    Import(ImportArgs),
    /// Write the configuration as files of OpenSM, and list what they cannot say.
    ///
    /// Exit status: 0 if OpenSM can do the same, 1 if something is lost (with --accept 0).
    Export(ExportArgs),
}

/// Flags of changes to the configuration.
#[derive(Debug, Clone, Args)]
pub struct ConfigChangeArgs {
    /// Return to the last good configuration after this time, unless `ferrosm config confirm` keeps
    /// the new one: 1s to 24h.
    #[arg(long, value_name = "TIME", value_parser = parse_confirm_time)]
    pub confirm_within: Option<Duration>,
    /// Replace files that were changed by hand; what was changed is lost.
    #[arg(long, conflicts_with = "confirm_within")]
    pub force: bool,
    /// Do it although it has this consequence.
    #[arg(long, value_name = "CONSEQUENCE")]
    pub accept: Option<AcceptedViolation>,
    /// How to send it.
    #[command(flatten)]
    pub send: ConfigSendArgs,
}

/// Flags of all requests to change the configuration.
#[derive(Debug, Clone, Args)]
pub struct ConfigSendArgs {
    /// The service.
    #[command(flatten)]
    pub service: ServiceDirArgs,
    /// Why, for the audit log and the history.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Print the JSON of the API.
    #[arg(long)]
    pub json: bool,
}

fn parse_confirm_time(text: &str) -> Result<Duration, String> {
    let time = humantime::parse_duration(text).map_err(|e| e.to_string())?;
    match time.as_secs() {
        1..=CONFIRM_WITHIN_S_MAX if time.subsec_nanos() == 0 => Ok(time),
        _ => Err("expected whole seconds, 1s to 24h, such as 5m".to_owned()),
    }
}

/// Flags of `config export`.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// The format.
    #[arg(value_enum)]
    pub format: ExportFormat,
    /// Configuration file [default: /etc/ferrosm/ferrosm.toml, if it exists].
    pub file: Option<PathBuf>,
    /// Directory for opensm.conf (mode 0600) and, with partitions, partitions.conf.
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Replace existing files.
    #[arg(long)]
    pub force: bool,
    /// Exit with status 0 although something is lost.
    #[arg(long)]
    pub accept: bool,
}

/// Formats of `config export`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Files of OpenSM.
    Opensm,
}

/// Flags of `config import`.
#[derive(Debug, Clone, Args)]
pub struct ImportArgs {
    /// Files of OpenSM: opensm.conf, /etc/sysconfig/opensm, /etc/default/opensm, scripts with
    /// opensm's command line, partitions.conf, qos-policy.conf, lists of GUIDs. OPTION=FILE names
    /// the option of opensm.conf for a file that is not recognized, such as root_guid_file=FILE.
    #[arg(
        value_name = "FILE|OPTION=FILE",
        required_unless_present = "command_line"
    )]
    pub files: Vec<PathBuf>,
    /// Write the result to this file (mode 0600), or NAME.toml for each SM to this directory
    /// [default: standard output, without keys such as the M_Key].
    #[arg(short, long, value_name = "FILE|DIR")]
    pub output: Option<PathBuf>,
    /// Replace existing files.
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Exit with status 0 although behaviour changes.
    #[arg(long)]
    pub accept: bool,
    /// List lines at OpenSM's default as well.
    #[arg(long)]
    pub all: bool,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
    /// A command line of OpenSM.
    #[arg(last = true, value_name = "opensm FLAGS")]
    pub command_line: Vec<String>,
}
