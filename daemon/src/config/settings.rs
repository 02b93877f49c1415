//! The settings of the program, grouped by the component that uses them.
//!
//! [`KEYS`](super::keys::KEYS) says which key sets which of them. Their defaults are the defaults
//! of the keys.

use std::net::SocketAddr;
use std::path::PathBuf;

use ferrosm_core::config::SmConfig;
use ferrosm_core::plan::partitions::Enforcement;
use ferrosm_mad::ids::{PortGuid, PortNum};
use ferrosm_opensm_compat::input::RoutingInputFiles;
use ferrosm_sa::admission::AdmissionLimits;

use super::error::ConfigError;
use super::partitions::PartitionEntry;
use super::replication::ReplicationSection;

/// The settings of a service. File names in them are relative to [`Self::dir`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Subnet manager.
    pub sm: SmConfig,
    /// SA limits.
    pub sa: AdmissionLimits,
    /// Local port.
    pub port: PortChoice,
    /// OpenSM input files of the routing.
    pub routing_files: RoutingInputFiles,
    /// File of routes to other subnets, if any.
    pub prefix_routes_file: Option<PathBuf>,
    /// File of the QoS policy, if any.
    pub qos_policy_file: Option<PathBuf>,
    /// Rules of all partitions.
    pub partitions: PartitionRules,
    /// The entries `[[partition]]`.
    pub partition_entries: Vec<PartitionEntry>,
    /// Replication.
    pub replication: ReplicationSection,
    /// State directory, if any.
    pub state_dir: Option<PathBuf>,
    /// Dump directory, if any.
    pub dump_dir: Option<PathBuf>,
    /// Capture file, if any.
    pub capture: Option<PathBuf>,
    /// Address of the metrics endpoint, if any.
    pub metrics: Option<SocketAddr>,
    /// Logging.
    pub log: LogSettings,
    /// Directory of the configuration file.
    pub dir: PathBuf,
    /// Warnings about the configuration file and the input files that it names.
    pub warnings: Vec<ConfigError>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sm: SmConfig::default(),
            sa: AdmissionLimits::default(),
            port: PortChoice::default(),
            routing_files: RoutingInputFiles::default(),
            prefix_routes_file: None,
            qos_policy_file: None,
            partitions: PartitionRules::default(),
            partition_entries: Vec::new(),
            replication: ReplicationSection::default(),
            state_dir: Some(PathBuf::from("/var/lib/ferrosm")),
            dump_dir: None,
            capture: None,
            metrics: None,
            log: LogSettings::default(),
            dir: PathBuf::new(),
            warnings: Vec::new(),
        }
    }
}

impl Settings {
    /// The OpenSM input files of the routing, with their directory.
    pub(super) fn located_routing_files(&self) -> RoutingInputFiles {
        let located = |file: &Option<PathBuf>| file.as_ref().map(|file| self.dir.join(file));
        let files = &self.routing_files;
        RoutingInputFiles {
            root_guid_file: located(&files.root_guid_file),
            cn_guid_file: located(&files.cn_guid_file),
            io_guid_file: located(&files.io_guid_file),
            ids_guid_file: located(&files.ids_guid_file),
            guid_routing_order_file: located(&files.guid_routing_order_file),
            hop_weights_file: located(&files.hop_weights_file),
            port_search_ordering_file: located(&files.port_search_ordering_file),
            port_prof_ignore_file: located(&files.port_prof_ignore_file),
            torus_config: located(&files.torus_config),
            lfts_file: located(&files.lfts_file),
            sl2vl_file: located(&files.sl2vl_file),
            path_sl_file: located(&files.path_sl_file),
        }
    }

    /// Whether the configuration names OpenSM input files.
    #[must_use]
    pub fn names_input_files(&self) -> bool {
        self.partitions.file.is_some()
            || self.qos_policy_file.is_some()
            || self.prefix_routes_file.is_some()
            || self.routing_files != RoutingInputFiles::default()
    }
}

/// Selection of the local port.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PortChoice {
    /// Name of the CA; `None` for any.
    pub ca: Option<String>,
    /// Port of the CA; `None` for any.
    pub number: Option<PortNum>,
    /// Port GUID; excludes the other fields.
    pub guid: Option<PortGuid>,
}

/// Rules of all partitions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartitionRules {
    /// Path of an OpenSM partitions.conf, if any.
    pub file: Option<PathBuf>,
    /// P_Key enforcement by switches.
    pub enforce: Enforcement,
    /// Whether membership `both` gives a port the full and the limited P_Key.
    pub allow_both_pkeys: bool,
}

/// Settings of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// Line format.
    pub format: LogFormat,
    /// Filter of `tracing`: a level, or levels by module.
    pub level: String,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            format: LogFormat::Compact,
            level: "info".to_owned(),
        }
    }
}

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Text.
    Compact,
    /// One JSON object a line.
    Json,
    /// OpenSM's lines, for scripts that wait for `SUBNET UP`.
    Opensm,
}
