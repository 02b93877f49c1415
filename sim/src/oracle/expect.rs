//! What the judge should know about the case: where it stands, and what was configured.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use ferrosm_mad::attr::{MtuCode, SmState};
use ferrosm_mad::ids::{GidPrefix, Lid, Lmc, MKey, PKey, Sl};

use crate::spec::{NodeIdx, PortAt};

/// What the judge should know about the case.
#[derive(Debug, Clone)]
pub struct Expectations {
    /// The port that the subnet manager sends from: what it cannot reach is not judged.
    pub sm: PortAt,
    /// The port of the master; where there is one manager, the same.
    pub master: PortAt,
    /// All managers and what each takes itself for, those out of reach included; `None` where that
    /// is not known.
    pub managers: Option<Vec<(PortAt, SmState)>>,
    /// Nodes that the manager is right to leave alone; nothing of them or through them is judged.
    pub quarantined: BTreeSet<NodeIdx>,
    /// The largest MTU that the manager was told to use.
    pub max_mtu: MtuCode,
    /// The largest OperationalVLs code that the manager was told to use.
    pub max_operational_vls: u8,
    /// The service levels that packets use.
    pub traffic: Traffic,
    /// Whether channels that wait for each other in a circle are a violation.
    pub no_credit_loops: bool,
    /// Whether packets from port 0 of every switch to every end port count as traffic.
    pub port0_traffic: bool,
    /// Whether each switch must reach the master's port.
    pub switches_reach_master: bool,
    /// The multicast groups. `None`: not known, so whoever is in the tables is taken for a member.
    pub groups: Option<Vec<ExpectedGroup>>,
    /// P_Keys.
    pub partitions: ExpectedPartitions,
    /// What PortInfo and SwitchInfo should hold.
    pub settings: ExpectedSettings,
}

impl Expectations {
    /// One manager on a healthy fabric, all packets on SL 0, nothing special configured.
    #[must_use]
    pub const fn new(sm: PortAt) -> Self {
        Self {
            sm,
            master: sm,
            managers: None,
            quarantined: BTreeSet::new(),
            max_mtu: MtuCode::Mtu4096,
            max_operational_vls: 5,
            traffic: Traffic::OneSl(Sl(0)),
            no_credit_loops: true,
            port0_traffic: false,
            switches_reach_master: true,
            groups: None,
            partitions: ExpectedPartitions {
                keys: BTreeMap::new(),
                enforcement: PKeyEnforcement::Any,
            },
            settings: ExpectedSettings {
                m_key: None,
                m_key_protect_bits: None,
                m_key_lease_period_s: None,
                gid_prefix: None,
                subnet_timeout: None,
                lmc: None,
                master_sm_sl: None,
                hoq_life: None,
                vl_stall_count: None,
                packet_life_time: None,
                reregistered_at_least: 0,
            },
        }
    }

    /// With every service level as traffic that has a lane all the way.
    #[must_use]
    pub fn all_sls(mut self) -> Self {
        self.traffic = Traffic::AllSls;
        self
    }

    /// With the service level that each end port uses towards each LID; `None` is no traffic.
    #[must_use]
    pub fn sl_per_path(
        mut self,
        sl: impl Fn(PortAt, Lid) -> Option<Sl> + Send + Sync + 'static,
    ) -> Self {
        self.traffic = Traffic::PerPath(SlTable(Arc::new(sl)));
        self
    }

    /// With these multicast groups and no others.
    #[must_use]
    pub fn groups(mut self, groups: Vec<ExpectedGroup>) -> Self {
        self.groups = Some(groups);
        self
    }
}

/// The service levels that packets use.
#[derive(Debug, Clone)]
pub enum Traffic {
    /// All packets have this one.
    OneSl(Sl),
    /// All that have a legal lane on every hop of a path.
    AllSls,
    /// Each path its own.
    PerPath(SlTable),
}

/// The SL from an end port to a LID.
type SlOf = dyn Fn(PortAt, Lid) -> Option<Sl> + Send + Sync;

/// The SL of each path.
#[derive(Clone)]
pub struct SlTable(Arc<SlOf>);

impl SlTable {
    /// The SL from an end port to a LID; `None` is no traffic.
    #[must_use]
    pub fn sl(&self, source: PortAt, dest: Lid) -> Option<Sl> {
        (self.0)(source, dest)
    }
}

impl fmt::Debug for SlTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SlTable(..)")
    }
}

/// A multicast group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedGroup {
    /// Its LID.
    pub mlid: Lid,
    /// The SL of its packets.
    pub sl: Sl,
    /// End ports that send and get a copy of what others send.
    pub members: BTreeSet<PortAt>,
    /// End ports that only send; a copy for them is no mistake.
    pub senders: BTreeSet<PortAt>,
}

impl ExpectedGroup {
    /// A group on SL 0 in which all send and receive.
    #[must_use]
    pub fn new(mlid: Lid, members: impl IntoIterator<Item = PortAt>) -> Self {
        Self {
            mlid,
            sl: Sl(0),
            members: members.into_iter().collect(),
            senders: BTreeSet::new(),
        }
    }
}

/// The P_Keys that were configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedPartitions {
    /// The keys of an end port; the first must be at index 0. An end port that is not named has
    /// 0xFFFF or 0x7FFF at index 0 and nothing else.
    pub keys: BTreeMap<PortAt, Vec<PKey>>,
    /// What switch ports that face end ports check.
    pub enforcement: PKeyEnforcement,
}

/// What switch ports that face end ports check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PKeyEnforcement {
    /// Not judged, beyond that nothing legitimate is blocked.
    Any,
    /// Nothing.
    Off,
    /// What comes in.
    Inbound,
    /// What goes out.
    Outbound,
    /// Both.
    Both,
}

/// What PortInfo and SwitchInfo should hold. `None` is, for what all end ports share, the value of
/// the master's own port; else it is not judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedSettings {
    /// M_Key of end ports.
    pub m_key: Option<MKey>,
    /// M_KeyProtectBits of end ports.
    pub m_key_protect_bits: Option<u8>,
    /// M_KeyLeasePeriod of end ports, in seconds.
    pub m_key_lease_period_s: Option<u16>,
    /// Subnet prefix of end ports.
    pub gid_prefix: Option<GidPrefix>,
    /// SubnetTimeOut of end ports.
    pub subnet_timeout: Option<u8>,
    /// LMC of CAs and routers; `None`: that of the first of them.
    pub lmc: Option<Lmc>,
    /// MasterSMSL of end ports; `None`: not judged.
    pub master_sm_sl: Option<Sl>,
    /// HOQLife of switch ports that face end ports, and of those that face switches; `None`: not
    /// judged.
    pub hoq_life: Option<(u8, u8)>,
    /// VLStallCount of switch ports, in the same order; `None`: not judged.
    pub vl_stall_count: Option<(u8, u8)>,
    /// LifeTimeValue of switches; `None`: not judged.
    pub packet_life_time: Option<u8>,
    /// How often each end port that can be must have been asked to register again.
    pub reregistered_at_least: u32,
}
