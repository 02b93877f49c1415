//! The configuration of an SM, as validated data.
//!
//! The daemon reads files, applies defaults and reports errors with positions.

pub mod hints;
pub mod key_rotation;
pub mod maintenance;
pub mod partitions;
pub mod port_limits;
pub mod sections;

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_fabric::routing_origin::RoutingInputs;
use ferrosm_mad::ids::{GidPrefix, Lmc, MKey, PortGuid};
use serde::{Deserialize, Serialize};

use crate::config::hints::GuidHints;
use crate::config::partitions::Partitions;
use crate::config::port_limits::LimitsByPort;
use ferrosm_sa::qos::QosPolicy;
use ferrosm_sa::settings::{PrefixRoute, SaSettings};

/// Work units of routing engines that one core of a current server executes in a second, rounded
/// down: benchmark `budget`.
const WORK_UNITS_PER_SECOND: u64 = 80_000_000;

/// The limit of work units for a routing budget. On an idle machine it is reached before the time
/// limit, so that the same fabric gets the same routing.
#[must_use]
pub fn work_units(budget: Duration) -> u64 {
    let units = budget.as_nanos() * u128::from(WORK_UNITS_PER_SECOND) / 1_000_000_000;
    u64::try_from(units).unwrap_or(u64::MAX)
}

/// Whether the SM may drain routes that have not lost a link, when the fabric changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrainPolicy {
    /// A routing that requires it is not installed before the operator requests a reroute or
    /// changes the settings of the routing. Until then the routing in force is rerouted within its
    /// VL plan.
    #[default]
    Avoid,
    /// Yes.
    Allow,
}

/// Settings of one SM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmConfig {
    /// SM priority, 0 to 15. The SM with the highest priority becomes master; ties go to the lowest
    /// port GUID.
    pub priority: u8,
    /// Priority while master, if higher than `priority`; prevents failback when a preferred SM
    /// returns.
    pub master_priority: u8,
    /// SM_Key shared by the SMs of the subnet.
    #[serde(with = "exposed")]
    pub sm_key: MKey,
    /// The SM_Key that was in force before, while another SM shows it: accepted as well.
    #[serde(with = "exposed", default)]
    pub earlier_sm_key: MKey,
    /// Subnet prefix: upper half of every GID.
    pub subnet_prefix: GidPrefix,
    /// M_Key written to every port; [`MKey::NONE`] for unprotected ports.
    #[serde(with = "exposed")]
    pub m_key: MKey,
    /// M_KeyLeasePeriod in seconds; 0 never expires.
    pub m_key_lease_period_s: u16,
    /// M_KeyProtectBits, 0 to 3.
    pub m_key_protect_bits: u8,
    /// LMC of CA and router ports.
    pub lmc: Lmc,
    /// Whether enhanced switch ports 0 get 2^LMC LIDs.
    pub lmc_esp0: bool,
    /// Whether LID assignment ignores persisted and present LIDs.
    pub reassign_lids: bool,
    /// Whether ClientReregister is set at hosts whose registrations may be missing.
    pub client_reregister: bool,
    /// PortInfo.SubnetTimeout: 4.096 µs × 2^n.
    pub subnet_timeout: u8,
    /// SwitchInfo.LifeTimeValue: 4.096 µs × 2^n; above 19 infinite.
    pub packet_life_time: u8,
    /// HOQLife of ports between switches.
    pub hoq_life: u8,
    /// HOQLife of switch ports to CAs and routers.
    pub leaf_hoq_life: u8,
    /// VLStallCount of ports between switches.
    pub vl_stall_count: u8,
    /// VLStallCount of switch ports to CAs and routers.
    pub leaf_vl_stall_count: u8,
    /// Maximum OperationalVLs, as a VL code: 1 (VL0) to 5 (VL0-14).
    pub max_operational_vls: u8,
    /// LocalPhyErrors threshold of trap 129.
    pub local_phy_errors: u8,
    /// OverrunErrors threshold of trap 130.
    pub overrun_errors: u8,
    /// Whether a link whose ends differ in NeighborMTU or OperationalVLs is bounced. If not, the
    /// values are rewritten.
    pub bounce_links: bool,
    /// Routing engines, in the order in which they are tried.
    pub engines: Vec<String>,
    /// Time limit of the automatic choice of an engine.
    pub routing_budget: Duration,
    /// Whether an automatic change of the routing may interrupt routes that have not lost a link.
    pub routing_drain: DrainPolicy,
    /// Hints from OpenSM input files.
    pub hints: Arc<GuidHints>,
    /// Data VLs that routing may use, 1 to 15.
    pub routing_vls: u8,
    pub partitions: Arc<Partitions>,
    /// Limits of links that operators set at run time.
    #[serde(skip)]
    pub port_limits: Arc<LimitsByPort>,
    /// QoS policy: SL and limits of paths; `None` without QoS.
    pub qos: Option<Arc<QosPolicy>>,
    /// Whether IPv6 solicited-node groups of one partition and scope share a multicast LID.
    pub consolidate_solicited_node: bool,
    /// Routes to other subnets; the first match applies.
    pub prefix_routes: Arc<[PrefixRoute]>,
    /// Interval of light sweeps; zero for none.
    pub sweep_interval: Duration,
    /// Ports of new switches that are accepted behind one port.
    pub new_port_budget: u32,
    /// Response timeout of an SMP.
    pub smp_timeout: Duration,
    pub smp_retries: u8,
    /// SMPs in flight, all nodes together.
    pub max_outstanding: usize,
    /// SMPs in flight to one node.
    pub max_outstanding_per_node: u16,
    /// Interval at which a standby polls the master.
    pub sm_poll_interval: Duration,
    /// Retries of an unanswered poll, one per interval, before a standby starts discovery and takes
    /// over.
    pub sm_poll_retries: u8,
    /// Ports of other ferrosm SMs, which respond in every state and are polled at
    /// `peer_poll_interval`.
    pub peer_sms: Arc<BTreeSet<PortGuid>>,
    /// Interval at which a standby polls such a master.
    pub peer_poll_interval: Duration,
    /// Retries of an unanswered poll of such a master, one per interval, before a standby starts
    /// discovery and takes over.
    pub peer_poll_retries: u8,
    /// Attempts to send HANDOVER to an SM that does not respond.
    pub handover_tries: u8,
    /// Polls to wait for a higher-ranked standby to become master, or for a lower-ranked master to
    /// hand over.
    pub wait_polls: u8,
    /// Ports at which other SMs are accepted; `None` for all.
    pub allowed_sms: Option<Arc<BTreeSet<PortGuid>>>,
    /// Whether the SM writes to a subnet that another SM has configured only after the operator
    /// allows it.
    pub refuse_managed_subnet: bool,
    /// Whether the SM removes, without consent, settings of another SM that its configuration does
    /// not name.
    pub replaces_foreign_settings: bool,
}

/// Serialises an [`MKey`] with its value, for recordings and records.
pub(crate) mod exposed {
    use ferrosm_mad::ids::MKey;
    use ferrosm_mad::octets;
    use serde::{Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(key: &MKey, s: S) -> Result<S::Ok, S::Error> {
        octets::serialize(&key.expose().to_be_bytes(), s)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<MKey, D::Error> {
        octets::deserialize(d).map(|bytes| MKey::new(u64::from_be_bytes(bytes)))
    }
}

impl SmConfig {
    /// The settings of the SA.
    #[must_use]
    pub fn sa_settings(&self) -> SaSettings {
        SaSettings {
            subnet_timeout: self.subnet_timeout,
            prefix_routes: Arc::clone(&self.prefix_routes),
            partition_sls: Arc::new(self.partitions.sls().collect()),
            qos: self.qos.clone(),
            sm_keys: self.sm_keys(),
        }
    }

    /// The SM_Keys that are accepted: the one in force, then the earlier one.
    #[must_use]
    pub const fn sm_keys(&self) -> [MKey; 2] {
        [self.sm_key, self.earlier_sm_key]
    }

    /// The settings that a routing depends on.
    #[must_use]
    pub fn routing_inputs(&self) -> RoutingInputs {
        RoutingInputs {
            engines: self.engines.clone(),
            vls: self.routing_vls,
            input_files_digest: self.hints.digest(),
        }
    }
}

impl Default for SmConfig {
    fn default() -> Self {
        Self {
            priority: 0,
            master_priority: 0,
            sm_key: MKey::new(1),
            earlier_sm_key: MKey::NONE,
            subnet_prefix: GidPrefix::DEFAULT,
            m_key: MKey::NONE,
            m_key_lease_period_s: 0,
            m_key_protect_bits: 0,
            lmc: Lmc(0),
            lmc_esp0: false,
            reassign_lids: false,
            client_reregister: true,
            subnet_timeout: 18,
            packet_life_time: 18,
            hoq_life: 18,
            leaf_hoq_life: 16,
            vl_stall_count: 7,
            leaf_vl_stall_count: 7,
            max_operational_vls: 5,
            local_phy_errors: 8,
            overrun_errors: 8,
            bounce_links: false,
            engines: vec![ferrosm_routing::select::AUTO.to_owned()],
            routing_budget: Duration::from_secs(2),
            routing_drain: DrainPolicy::Avoid,
            hints: Arc::default(),
            routing_vls: ferrosm_routing::DATA_VLS_MAX,
            partitions: Arc::default(),
            port_limits: Arc::default(),
            qos: None,
            consolidate_solicited_node: false,
            prefix_routes: Arc::default(),
            sweep_interval: Duration::from_secs(10),
            new_port_budget: 327_680,
            smp_timeout: Duration::from_millis(200),
            smp_retries: 3,
            max_outstanding: 64,
            max_outstanding_per_node: 16,
            sm_poll_interval: Duration::from_secs(10),
            sm_poll_retries: 4,
            peer_sms: Arc::default(),
            peer_poll_interval: Duration::from_secs(1),
            peer_poll_retries: 2,
            handover_tries: 3,
            wait_polls: 30,
            allowed_sms: None,
            refuse_managed_subnet: false,
            replaces_foreign_settings: false,
        }
    }
}
