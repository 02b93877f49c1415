//! The settings of the program, grouped by the component that uses them.
//!
//! [`KEYS`](super::keys::KEYS) says which key sets which of them. Their defaults are the defaults
//! of the keys.

use core::time::Duration;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ferrosm_api::access::ClientRole;
use ferrosm_api::event::EventSeverity;
use ferrosm_core::config::SmConfig;
use ferrosm_core::config::partitions::Enforcement;
use ferrosm_opensm_compat::input::RoutingInputFiles;
use ferrosm_replication::Timing;
use ferrosm_sa::admission::AdmissionLimits;
use ferrosm_umad::libibumad::PortSelection;

use crate::cabling::plan::CablingPlan;

use super::error::ConfigError;
use super::input_files::InputTexts;

/// The settings of a service. File names in them are relative to [`Self::dir`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Subnet manager.
    pub sm: SmConfig,
    /// SA limits.
    pub sa: AdmissionLimits,
    /// Local port.
    pub port: PortSelection,
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
    /// The entries `[[notify]]`.
    pub notify_entries: Vec<NotifyEntry>,
    /// The entries `[[invariant]]`.
    pub invariant_entries: Vec<InvariantEntry>,
    /// File with the plan of the cables, if any.
    pub cabling_plan_file: Option<PathBuf>,
    /// The plan of the cables.
    pub cabling_plan: Option<Arc<CablingPlan>>,
    /// The TCP listener of the API.
    pub api: ApiSection,
    /// The listener of UFM's calls.
    pub ufm: UfmSection,
    /// Address of the page, if any.
    pub web: Option<SocketAddr>,
    /// The entries `[[api-client]]`.
    pub api_clients: Vec<ApiClientEntry>,
    /// Replication.
    pub replication: ReplicationSection,
    /// State directory, if any.
    pub state_dir: Option<PathBuf>,
    /// Dump directory, if any.
    pub dump_dir: Option<PathBuf>,
    /// Capture file, if any.
    pub capture: Option<PathBuf>,
    /// Size of the rings in the state directory; 0 for none.
    pub rings_mib: u32,
    /// Address of the metrics endpoint, if any.
    pub metrics: Option<SocketAddr>,
    /// How long what was seen is expected after it is gone.
    pub health_expect: Duration,
    /// Logging.
    pub log: LogSettings,
    /// Directory of the configuration file.
    pub dir: PathBuf,
    /// Warnings about the configuration file and the input files that it names.
    pub warnings: Vec<ConfigError>,
    /// Texts of the input files.
    pub inputs: Arc<InputTexts>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sm: SmConfig::default(),
            sa: AdmissionLimits::default(),
            port: PortSelection::default(),
            routing_files: RoutingInputFiles::default(),
            prefix_routes_file: None,
            qos_policy_file: None,
            partitions: PartitionRules::default(),
            partition_entries: Vec::new(),
            notify_entries: Vec::new(),
            invariant_entries: Vec::new(),
            cabling_plan_file: None,
            cabling_plan: None,
            api: ApiSection::default(),
            ufm: UfmSection::default(),
            web: None,
            api_clients: Vec::new(),
            replication: ReplicationSection::default(),
            state_dir: Some(PathBuf::from("/var/lib/ferrosm")),
            dump_dir: None,
            capture: None,
            rings_mib: 0,
            metrics: None,
            health_expect: Duration::from_secs(7 * 24 * 3600),
            log: LogSettings::default(),
            dir: PathBuf::new(),
            warnings: Vec::new(),
            inputs: Arc::default(),
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

    /// The input files, as the configuration names them.
    #[must_use]
    pub fn input_names(&self) -> Vec<&Path> {
        let RoutingInputFiles {
            root_guid_file,
            cn_guid_file,
            io_guid_file,
            ids_guid_file,
            guid_routing_order_file,
            hop_weights_file,
            port_search_ordering_file,
            port_prof_ignore_file,
            torus_config,
            lfts_file,
            sl2vl_file,
            path_sl_file,
        } = &self.routing_files;
        let names = [
            root_guid_file,
            cn_guid_file,
            io_guid_file,
            ids_guid_file,
            guid_routing_order_file,
            hop_weights_file,
            port_search_ordering_file,
            port_prof_ignore_file,
            torus_config,
            lfts_file,
            sl2vl_file,
            path_sl_file,
            &self.partitions.file,
            &self.qos_policy_file,
            &self.prefix_routes_file,
            &self.cabling_plan_file,
        ];
        names.into_iter().flatten().map(|name| &**name).collect()
    }

    /// The targets of notifications, with the directory of their files.
    #[must_use]
    pub fn notify_targets(&self) -> Vec<NotifyEntry> {
        let located = |entry: &NotifyEntry| NotifyEntry {
            ca: entry.ca.as_ref().map(|file| self.dir.join(file)),
            ..entry.clone()
        };
        self.notify_entries.iter().map(located).collect()
    }

    /// Whether the configuration names OpenSM input files.
    #[must_use]
    pub fn names_input_files(&self) -> bool {
        !self.input_names().is_empty()
    }
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

/// An entry `[[partition]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionEntry {
    /// Name, used in messages only.
    pub name: String,
    /// P_Key; only the low 15 bits are used.
    pub pkey: String,
    /// Whether the P_Key is at index 0 of the members' tables.
    pub index0: bool,
    /// Whether the IPoIB broadcast group is created.
    pub ipoib: bool,
    /// Flags of its groups: `mtu`, `rate`, `scope`, `sl`, `q-key`, `tclass`, `flow-label`, as in
    /// partitions.conf.
    pub flags: Vec<String>,
    /// Membership of members without one: full, limited or both.
    pub default_membership: String,
    /// Port GUIDs, ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS, SELF, each optionally with `=full`,
    /// `=limited` or `=both`.
    pub members: Vec<String>,
    /// MGIDs of groups, each optionally followed by flags.
    pub groups: Vec<String>,
}

impl Default for PartitionEntry {
    fn default() -> Self {
        Self {
            name: String::new(),
            pkey: String::new(),
            index0: false,
            ipoib: false,
            flags: Vec::new(),
            default_membership: "limited".to_owned(),
            members: Vec::new(),
            groups: Vec::new(),
        }
    }
}

/// An entry `[[notify]]`: who is notified of alarms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyEntry {
    /// Name, for the log and `ferrosm notify test`.
    pub name: String,
    /// Address of a web server that gets a POST with JSON.
    pub url: Option<String>,
    /// CA certificates for https; `None` for those of the system.
    pub ca: Option<PathBuf>,
    /// A program and its arguments. It gets JSON on standard input.
    pub exec: Vec<String>,
    /// A socket such as `/dev/log`, or `udp://HOST:PORT`.
    pub syslog: Option<String>,
    /// Kinds of alarms, in which `*` stands for any text; empty for all.
    pub kinds: Vec<String>,
    /// Only alarms of at least this severity.
    pub severity: EventSeverity,
}

impl Default for NotifyEntry {
    fn default() -> Self {
        Self {
            name: String::new(),
            url: None,
            ca: None,
            exec: Vec::new(),
            syslog: None,
            kinds: Vec::new(),
            severity: EventSeverity::Warning,
        }
    }
}

/// An entry `[[invariant]]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InvariantEntry {
    /// Name, in messages and alarms.
    pub name: String,
    /// isolated, max-hops, redundant or max-load.
    pub kind: String,
    /// A group of ports: GUIDs, ranges of GUIDs, names, host lists, patterns, ALL, ALL_CAS,
    /// ALL_SWITCHES, ALL_ROUTERS, SELF, and `partition:NAME`.
    pub from: Vec<String>,
    /// The other group.
    pub to: Vec<String>,
    /// Most links between switches on a route; 0 if not set.
    pub max_hops: u32,
    /// Most routes over a link in one direction; 0 if not set.
    pub max_routes: u32,
    /// The same in percent of the mean of all links; 0 if not set.
    pub max_percent_of_mean: u32,
}

/// The section `[api]`: the TCP listener.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ApiSection {
    /// Address; `None` for the Unix socket only.
    pub listen: Option<SocketAddr>,
    /// Certificate file of the server.
    pub certificate: Option<PathBuf>,
    /// Its private key file.
    pub key: Option<PathBuf>,
    /// Certificate file of the CA of clients.
    pub client_ca: Option<PathBuf>,
}

/// The section `[ufm]`: the calls of UFM's interface that ib-kubernetes uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UfmSection {
    /// Address; `None` for none.
    pub listen: Option<SocketAddr>,
    /// Certificate file of the server.
    pub certificate: Option<PathBuf>,
    /// Its private key file.
    pub key: Option<PathBuf>,
    /// Name of the user that clients send.
    pub user: String,
    /// File with the password.
    pub password_file: Option<PathBuf>,
}

/// An entry `[[api-client]]`: what the owner of a certificate may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiClientEntry {
    /// Common Name or DNS name in the certificate.
    pub subject: String,
    /// What it may do.
    pub role: ClientRole,
}

impl Default for ApiClientEntry {
    fn default() -> Self {
        Self {
            subject: String::new(),
            role: ClientRole::View,
        }
    }
}

/// The section `[replication]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicationSection {
    /// Address on which this node listens; `None` for no replication over TCP.
    pub listen: Option<SocketAddr>,
    /// Addresses of all nodes.
    pub peers: Vec<String>,
    /// Members of an etcd cluster, in place of `listen` and `peers`.
    pub etcd: Vec<String>,
    /// Prefix of the keys in etcd.
    pub etcd_prefix: String,
    /// Lifetime of the lease in etcd, in seconds.
    pub etcd_lease_s: u16,
    /// Name of the fabric, in addition to its subnet prefix; required with `etcd`.
    pub fabric: String,
    /// CA certificate file.
    pub ca: Option<PathBuf>,
    /// Certificate file of this node.
    pub certificate: Option<PathBuf>,
    /// Private key file of this node.
    pub key: Option<PathBuf>,
    /// Name in the peers' certificates; `None` for the names in `peers`.
    pub server_name: Option<String>,
    /// Heartbeat interval.
    pub heartbeat: Duration,
    /// Time without a heartbeat after which the master counts as silent.
    pub lease: Duration,
    /// Longest time that a reply waits for the acknowledgement of a standby.
    pub ack_timeout: Duration,
    /// Stall of the main loop after which heartbeats stop.
    pub main_loop_stall_timeout: Duration,
}

impl Default for ReplicationSection {
    fn default() -> Self {
        let timing = Timing::default();
        Self {
            listen: None,
            peers: Vec::new(),
            etcd: Vec::new(),
            etcd_prefix: "/ferrosm".to_owned(),
            etcd_lease_s: 1,
            fabric: String::new(),
            ca: None,
            certificate: None,
            key: None,
            server_name: None,
            heartbeat: timing.heartbeat,
            lease: timing.lease,
            ack_timeout: timing.ack_timeout,
            main_loop_stall_timeout: Duration::from_secs(1),
        }
    }
}

impl ReplicationSection {
    /// Whether this node replicates.
    #[must_use]
    pub const fn is_configured(&self) -> bool {
        self.listen.is_some() || !self.etcd.is_empty()
    }
}

/// Settings of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// Line format.
    pub format: LogFormat,
    /// Filter of `tracing`: a level, or levels by module.
    pub level: String,
}

impl LogSettings {
    /// Text of a level.
    #[must_use]
    pub fn compact(level: &str) -> Self {
        Self {
            format: LogFormat::Compact,
            level: level.to_owned(),
        }
    }
}

impl Default for LogSettings {
    fn default() -> Self {
        Self::compact("info")
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
