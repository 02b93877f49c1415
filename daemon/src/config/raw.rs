//! The configuration file, key by key.
//!
//! Each struct is a section; missing keys have defaults. `etc/ferrosm.toml` documents every key; a
//! test compares that file with these structs.

use core::time::Duration;

use ferrosm_core::config::{DrainPolicy, SmConfig};
use ferrosm_sa::admission::AdmissionLimits;
use serde::{Deserialize, Serialize};

use super::partition_keys::{PartitionEntry, PartitionRules};
use super::replication::ReplicationKeys;
use super::value::{Bounded, DurationValue, EngineName, Hex64};

/// The whole file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RawConfig {
    /// The local port.
    pub port: PortKeys,
    /// Election and other SMs.
    pub sm: SmKeys,
    /// Subnet-wide settings of every port.
    pub subnet: SubnetKeys,
    /// LID assignment.
    pub lids: LidKeys,
    /// Unicast routing.
    pub routing: RoutingKeys,
    /// Partitions.
    pub partitions: PartitionRules,
    /// QoS policy.
    pub qos: QosKeys,
    /// Link parameters.
    pub links: LinkKeys,
    /// Discovery and light sweeps.
    pub sweep: SweepKeys,
    /// SA limits.
    pub sa: SaKeys,
    /// Replication of records.
    pub replication: ReplicationKeys,
    /// Directories and files.
    pub files: FileKeys,
    /// Metrics endpoint.
    pub metrics: MetricsKeys,
    /// Logging.
    pub log: LogKeys,
    /// Partitions in this file, instead of a `partitions.conf`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partition: Vec<PartitionEntry>,
}

/// `[port]`: the local port that serves the subnet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PortKeys {
    /// Name of the CA; empty for the only one with a link.
    pub ca: String,
    /// Port of the CA; 0 for the only one with a link.
    pub number: Bounded<0, 254>,
    /// Port GUID, instead of the two above; 0 for none.
    pub guid: Hex64,
}

/// `[sm]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SmKeys {
    /// SM priority.
    pub priority: Bounded<0, 15>,
    /// SM_Key.
    pub sm_key: Hex64,
    /// Interval at which a standby polls the master.
    pub poll_interval: DurationValue,
    /// Retries of an unanswered poll, one per interval, before a standby takes over; at least one
    /// poll is sent over each path.
    pub poll_retries: Bounded<1, 100>,
    /// Port GUIDs of other ferrosm SMs.
    pub peers: Vec<Hex64>,
    /// Poll interval for a master in `peers`.
    pub peer_poll_interval: DurationValue,
    /// Poll retries for a master in `peers`.
    pub peer_poll_retries: Bounded<1, 100>,
    /// Priority while master, if higher.
    pub master_priority: Bounded<0, 15>,
    /// Number of HANDOVERs to an SM that does not respond.
    pub handover_tries: Bounded<1, 100>,
    /// Polls to wait for a higher-ranked standby to become master, or for a lower-ranked master to
    /// hand over.
    pub wait_polls: Bounded<1, 200>,
    /// Port GUIDs of SMs on the allow-list; empty for all.
    pub allowed_guids: Vec<Hex64>,
    /// Whether the SM does not take over a subnet that a silent SM configured.
    pub refuse_managed_subnet: bool,
}

/// `[subnet]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SubnetKeys {
    /// GID prefix.
    pub prefix: Hex64,
    /// M_Key.
    pub m_key: Hex64,
    /// M_KeyLeasePeriod.
    pub m_key_lease_period: DurationValue,
    /// M_KeyProtectBits.
    pub m_key_protect_bits: Bounded<0, 3>,
    /// SubnetTimeout.
    pub timeout: Bounded<0, 31>,
    /// Whether ClientReregister is set on hosts whose registrations may be missing.
    pub client_reregister: bool,
}

/// `[lids]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LidKeys {
    /// LMC of CA and router ports.
    pub lmc: Bounded<0, 7>,
    /// Whether the LMC applies to enhanced switch ports 0.
    pub lmc_esp0: bool,
    /// Whether a process that starts as master ignores present and persisted LIDs in its first
    /// sweep.
    pub reassign: bool,
}

/// `[routing]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RoutingKeys {
    /// Engines in the order of trial.
    pub engines: Vec<EngineName>,
    /// Time limit of `auto` for comparing engines.
    pub budget: DurationValue,
    /// Whether a change of the fabric may interrupt routes that have not lost a link.
    pub drain: DrainPolicy,
    /// Data VLs that may be used; 0 for all of the links.
    pub vls: Bounded<0, 15>,
    /// Root switches; empty for none.
    pub root_guid_file: String,
    /// Ports of compute nodes; empty for none.
    pub cn_guid_file: String,
    /// Ports of I/O nodes; empty for none.
    pub io_guid_file: String,
    /// Order among switches of equal rank; empty for none.
    pub ids_guid_file: String,
    /// End ports to route first; empty for none.
    pub guid_routing_order_file: String,
    /// Hop weights of switch ports; empty for none.
    pub hop_weights_file: String,
    /// Order in which ports of a switch are tried; empty for none.
    pub port_search_ordering_file: String,
    /// Switch ports without load accounting; empty for none.
    pub port_prof_ignore_file: String,
    /// Torus dimensions: torus-2QoS.conf; empty for none.
    pub torus_config: String,
    /// LFTs for the engine `file`: opensm-lfts.dump; empty for none.
    pub lfts_file: String,
    /// SLtoVL tables for the engine `file`: opensm-sl2vl.dump; empty for none.
    pub sl2vl_file: String,
    /// Path SLs for the engine `file`: opensm-path-sl.dump; empty for none.
    pub path_sl_file: String,
    /// Routers to other subnets: prefix-routes.conf; empty for none.
    pub prefix_routes_file: String,
}

/// `[qos]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct QosKeys {
    /// qos-policy.conf; empty for none.
    pub policy_file: String,
}

/// `[links]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkKeys {
    /// SwitchInfo.LifeTimeValue.
    pub packet_life_time: Bounded<0, 31>,
    /// HOQLife between switches.
    pub hoq_life: Bounded<0, 31>,
    /// HOQLife towards CAs and routers.
    pub leaf_hoq_life: Bounded<0, 31>,
    /// VLStallCount between switches.
    pub vl_stall_count: Bounded<0, 7>,
    /// VLStallCount towards CAs and routers.
    pub leaf_vl_stall_count: Bounded<0, 7>,
    /// Upper limit of OperationalVLs, as encoded in PortInfo.
    pub max_operational_vls: Bounded<1, 5>,
    /// LocalPhyErrors.
    pub local_phy_errors: Bounded<0, 15>,
    /// OverrunErrors.
    pub overrun_errors: Bounded<0, 15>,
    /// Whether links are bounced if their ends differ in NeighborMTU or OperationalVLs.
    pub bounce: bool,
}

/// `[sweep]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SweepKeys {
    /// Interval of light sweeps.
    pub interval: DurationValue,
    /// Response timeout of an SMP.
    pub smp_timeout: DurationValue,
    /// Retries of an SMP.
    pub smp_retries: Bounded<0, 7>,
    /// Outstanding SMPs.
    pub max_outstanding: Bounded<1, 4096>,
    /// Outstanding SMPs to one node.
    pub max_outstanding_per_node: Bounded<1, 1024>,
    /// Ports of new switches that are accepted behind one port.
    pub new_port_budget: Bounded<1, 10_000_000>,
}

/// `[sa]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SaKeys {
    /// Requests per second and host; 0 for no limit.
    pub max_requests_per_host_s: Bounded<0, 10_000_000>,
    /// Queued requests of one host.
    pub max_waiting_per_host: Bounded<1, 65_536>,
    /// Queued requests of all hosts.
    pub max_waiting: Bounded<16, 1_048_576>,
    /// Queued GetTable requests of all hosts.
    pub max_waiting_tables: Bounded<1, 65_536>,
    /// MiB of GetTable replies in flight to all hosts.
    pub max_tables_mib: Bounded<1, 4096>,
    /// Whether IPv6 solicited-node groups share multicast LIDs.
    pub consolidate_solicited_node: bool,
}

/// `[files]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FileKeys {
    /// State directory; empty for none.
    pub state_dir: String,
    /// Directory of dumps after each sweep without problems; empty for none.
    pub dump_dir: String,
    /// pcapng file of all MADs; empty for none.
    pub capture: String,
}

/// `[metrics]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct MetricsKeys {
    /// Address and port of the endpoint; empty for none.
    pub listen: String,
}

/// `[log]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LogKeys {
    /// Line format.
    pub format: LogFormat,
    /// Lowest logged level, or a filter by module.
    pub level: String,
}

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// Text.
    Compact,
    /// One JSON object a line.
    Json,
    /// OpenSM's lines, for scripts that wait for `SUBNET UP`.
    Opensm,
}

impl Default for PortKeys {
    fn default() -> Self {
        Self {
            ca: String::new(),
            number: Bounded::clamped(0),
            guid: Hex64(0),
        }
    }
}

// Defaults come from the core.

impl Default for SmKeys {
    fn default() -> Self {
        let core = SmConfig::default();
        Self {
            priority: Bounded::clamped(core.priority.into()),
            sm_key: Hex64(core.sm_key.expose()),
            poll_interval: DurationValue(core.sm_poll_interval),
            poll_retries: Bounded::clamped(core.sm_poll_retries.into()),
            peers: Vec::new(),
            peer_poll_interval: DurationValue(core.peer_poll_interval),
            peer_poll_retries: Bounded::clamped(core.peer_poll_retries.into()),
            master_priority: Bounded::clamped(core.master_priority.into()),
            handover_tries: Bounded::clamped(core.handover_tries.into()),
            wait_polls: Bounded::clamped(core.wait_polls.into()),
            allowed_guids: Vec::new(),
            refuse_managed_subnet: core.refuse_managed_subnet,
        }
    }
}

impl Default for SubnetKeys {
    fn default() -> Self {
        let core = SmConfig::default();
        Self {
            prefix: Hex64(core.subnet_prefix.0),
            m_key: Hex64(core.m_key.expose()),
            m_key_lease_period: DurationValue(Duration::from_secs(
                core.m_key_lease_period_s.into(),
            )),
            m_key_protect_bits: Bounded::clamped(core.m_key_protect_bits.into()),
            timeout: Bounded::clamped(core.subnet_timeout.into()),
            client_reregister: core.client_reregister,
        }
    }
}

impl Default for LidKeys {
    fn default() -> Self {
        let core = SmConfig::default();
        Self {
            lmc: Bounded::clamped(core.lmc.0.into()),
            lmc_esp0: core.lmc_esp0,
            reassign: core.reassign_lids,
        }
    }
}

impl Default for RoutingKeys {
    fn default() -> Self {
        let core = SmConfig::default();
        Self {
            engines: core
                .engines
                .iter()
                .filter_map(|name| name.parse().ok())
                .collect(),
            budget: DurationValue(core.routing_budget),
            drain: core.routing_drain,
            vls: Bounded::clamped(0),
            root_guid_file: String::new(),
            cn_guid_file: String::new(),
            io_guid_file: String::new(),
            ids_guid_file: String::new(),
            guid_routing_order_file: String::new(),
            hop_weights_file: String::new(),
            port_search_ordering_file: String::new(),
            port_prof_ignore_file: String::new(),
            torus_config: String::new(),
            lfts_file: String::new(),
            sl2vl_file: String::new(),
            path_sl_file: String::new(),
            prefix_routes_file: String::new(),
        }
    }
}

impl Default for LinkKeys {
    fn default() -> Self {
        let core = SmConfig::default();
        Self {
            packet_life_time: Bounded::clamped(core.packet_life_time.into()),
            hoq_life: Bounded::clamped(core.hoq_life.into()),
            leaf_hoq_life: Bounded::clamped(core.leaf_hoq_life.into()),
            vl_stall_count: Bounded::clamped(core.vl_stall_count.into()),
            leaf_vl_stall_count: Bounded::clamped(core.leaf_vl_stall_count.into()),
            max_operational_vls: Bounded::clamped(core.max_operational_vls.into()),
            local_phy_errors: Bounded::clamped(core.local_phy_errors.into()),
            overrun_errors: Bounded::clamped(core.overrun_errors.into()),
            bounce: core.bounce_links,
        }
    }
}

impl Default for SweepKeys {
    fn default() -> Self {
        let core = SmConfig::default();
        Self {
            interval: DurationValue(core.sweep_interval),
            smp_timeout: DurationValue(core.smp_timeout),
            smp_retries: Bounded::clamped(core.smp_retries.into()),
            max_outstanding: Bounded::clamped(
                u64::try_from(core.max_outstanding).unwrap_or(u64::MAX),
            ),
            max_outstanding_per_node: Bounded::clamped(core.max_outstanding_per_node.into()),
            new_port_budget: Bounded::clamped(core.new_port_budget.into()),
        }
    }
}

impl Default for SaKeys {
    fn default() -> Self {
        let core = AdmissionLimits::default();
        let to_u64 = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        Self {
            max_requests_per_host_s: Bounded::clamped(core.rate.into()),
            max_waiting_per_host: Bounded::clamped(to_u64(core.per_client)),
            max_waiting: Bounded::clamped(to_u64(core.total)),
            max_waiting_tables: Bounded::clamped(to_u64(core.tables)),
            max_tables_mib: Bounded::clamped(core.table_bytes_in_flight >> 20),
            consolidate_solicited_node: SmConfig::default().consolidate_solicited_node,
        }
    }
}

impl Default for FileKeys {
    fn default() -> Self {
        Self {
            state_dir: "/var/lib/ferrosm".to_owned(),
            dump_dir: String::new(),
            capture: String::new(),
        }
    }
}

impl Default for LogKeys {
    fn default() -> Self {
        Self {
            format: LogFormat::Compact,
            level: "info".to_owned(),
        }
    }
}
