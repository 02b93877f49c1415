//! Flags of `ferrosm config`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

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
    /// Check configuration files, the files that they name, and those of several subnets against
    /// each other; report all errors (exit status 78).
    Check {
        /// Configuration files [default: /etc/ferrosm.toml and /etc/ferrosm/*.toml].
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
        /// Configuration file [default: /etc/ferrosm.toml, if it exists].
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
    /// a line changes behaviour or has no equivalent (with --accept 0).
    #[command(
        override_usage = "ferrosm config import [OPTIONS] FILE...\n       ferrosm config import [OPTIONS] [FILE...] -- opensm -B -g GUID ..."
    )]
    Import(ImportArgs),
    /// Write the configuration as files of OpenSM, and list what they cannot say.
    ///
    /// Exit status: 0 if OpenSM can do the same, 1 if something is lost (with --accept 0).
    Export(ExportArgs),
}

/// Flags of `config export`.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    /// The format.
    #[arg(value_enum)]
    pub format: ExportFormat,
    /// Configuration file [default: /etc/ferrosm.toml, if it exists].
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
