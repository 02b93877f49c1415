//! What an operator may decide, as plain validated data.
//!
//! Reading files, defaults of keys and error positions are the daemon's; here is only what the core acts on.

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_mad::ids::{GidPrefix, Lmc, MKey, PortGuid};
use serde::{Deserialize, Serialize};

use crate::plan::partitions::Partitions;
use crate::plan::routing_hints::GuidHints;
use crate::qos::QosPolicy;
use crate::routing_origin::RoutingInputs;
use crate::sa::settings::{PrefixRoute, SaSettings};

/// Work units of routing engines that one core of a current server executes in a second, rounded down: benchmark `budget`.
const WORK_UNITS_PER_SECOND: u64 = 80_000_000;

/// The limit of work units for a routing budget. It is reached before the time is up on an idle machine, so that the same
/// fabric gets the same routing there.
#[must_use]
pub fn work_units(budget: Duration) -> u64 {
    let units = budget.as_nanos() * u128::from(WORK_UNITS_PER_SECOND) / 1_000_000_000;
    u64::try_from(units).unwrap_or(u64::MAX)
}

/// Settings of one subnet manager.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SmConfig {
    /// Rank among subnet managers, 0 to 15; the highest wins, then the lowest port GUID.
    pub priority: u8,
    /// Priority while master, where it is higher: a better SM that comes back later does not take the subnet then.
    pub master_priority: u8,
    /// Proves to other SMs that they belong together.
    #[serde(with = "exposed")]
    pub sm_key: MKey,
    /// Upper half of every GID.
    pub subnet_prefix: GidPrefix,
    /// Key written into every port; [`MKey::NONE`] leaves ports open.
    #[serde(with = "exposed")]
    pub m_key: MKey,
    /// Seconds that a port's key outlives its SM; 0 for ever.
    pub m_key_lease_period_s: u16,
    /// How much a wrong M_Key may still see, 0 to 3.
    pub m_key_protect_bits: u8,
    /// LIDs per CA and router port: 2^LMC.
    pub lmc: Lmc,
    /// Whether enhanced switch ports 0 get 2^LMC LIDs too.
    pub lmc_esp0: bool,
    /// Give out LIDs anew instead of keeping those that ports have and the state file knows.
    pub reassign_lids: bool,
    /// Ask hosts to repeat their registrations when the SM is new to them.
    pub client_reregister: bool,
    /// PortInfo.SubnetTimeout: 4.096 µs × 2^n.
    pub subnet_timeout: u8,
    /// SwitchInfo.LifeTimeValue: 4.096 µs × 2^n; above 19 for ever.
    pub packet_life_time: u8,
    /// HOQLife of ports between switches.
    pub hoq_life: u8,
    /// HOQLife of switch ports that face a CA or router.
    pub leaf_hoq_life: u8,
    /// VLStallCount of ports between switches.
    pub vl_stall_count: u8,
    /// VLStallCount of switch ports that face a CA or router.
    pub leaf_vl_stall_count: u8,
    /// Most lanes to operate, as a VL code: 1 VL0 to 5 VL0-14.
    pub max_operational_vls: u8,
    /// Symbol errors before a port sends trap 129.
    pub local_phy_errors: u8,
    /// Buffer overruns before a port sends trap 130.
    pub overrun_errors: u8,
    /// Whether a link whose ends differ in NeighborMTU or OperationalVLs is bounced. If not, the values are rewritten.
    pub bounce_links: bool,
    /// Routing engines in the order in which they are tried.
    pub engines: Vec<String>,
    /// Time that the automatic choice of an engine may spend on comparing engines.
    pub routing_budget: Duration,
    /// What side files say of the fabric's structure.
    pub hints: Arc<GuidHints>,
    /// Data VLs that routing may use, 1 to 15.
    pub routing_vls: u8,
    /// Who may talk to whom.
    pub partitions: Arc<Partitions>,
    /// Which paths get which service level and limits; `None`: all the same.
    pub qos: Option<Arc<QosPolicy>>,
    /// Whether IPv6 solicited-node groups of one partition and scope share a multicast LID.
    pub consolidate_solicited_node: bool,
    /// Ways for packets with other prefixes, the first that fits being taken.
    pub prefix_routes: Arc<[PrefixRoute]>,
    /// Time between light sweeps; zero for none.
    pub sweep_interval: Duration,
    /// Time to wait for the answer to one SMP.
    pub smp_timeout: Duration,
    /// How often an unanswered SMP is repeated.
    pub smp_retries: u8,
    /// SMPs in flight, all nodes together.
    pub max_outstanding: usize,
    /// SMPs in flight to one node.
    pub max_outstanding_per_node: u16,
    /// Time between a standby's questions to the master.
    pub sm_poll_interval: Duration,
    /// Unanswered questions before a standby takes over.
    pub sm_poll_retries: u8,
    /// Ports whose SMs are ferrosm too: they answer whatever they do, so they are asked at the pace below.
    pub peer_sms: Arc<BTreeSet<PortGuid>>,
    /// Time between a standby's questions to such a master.
    pub peer_poll_interval: Duration,
    /// Unanswered questions to such a master before a standby takes over.
    pub peer_poll_retries: u8,
    /// How often HANDOVER is sent to an SM that does not answer.
    pub handover_tries: u8,
    /// Polls for which a better SM may stay standby, or a lower one master.
    pub patience: u8,
    /// Ports on which other SMs may run; `None` for all.
    pub allowed_sms: Option<Arc<BTreeSet<PortGuid>>>,
    /// Not to begin with a subnet that somebody else has configured, until the operator allows it.
    pub refuse_managed_subnet: bool,
}

/// [`MKey`] with its value. Recordings hold it.
mod exposed {
    use ferrosm_mad::ids::MKey;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(key: &MKey, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u64(key.expose())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<MKey, D::Error> {
        u64::deserialize(d).map(MKey::new)
    }
}

impl SmConfig {
    /// Settings that answers of subnet administration depend on.
    #[must_use]
    pub fn sa_settings(&self) -> SaSettings {
        SaSettings {
            prefix: self.subnet_prefix,
            subnet_timeout: self.subnet_timeout,
            prefix_routes: Arc::clone(&self.prefix_routes),
            partition_sls: Arc::new(self.partitions.sls().collect()),
            qos: self.qos.clone(),
            sm_key: self.sm_key,
        }
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
            hints: Arc::default(),
            routing_vls: ferrosm_routing::DATA_VLS_MAX,
            partitions: Arc::default(),
            qos: None,
            consolidate_solicited_node: false,
            prefix_routes: Arc::default(),
            sweep_interval: Duration::from_secs(10),
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
            patience: 30,
            allowed_sms: None,
            refuse_managed_subnet: false,
        }
    }
}
