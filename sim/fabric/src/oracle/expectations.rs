//! The expected configuration, and the SM whose part of the fabric is checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use ferrosm_mad::attr::{MtuCode, SmState};
use ferrosm_mad::ids::{GidPrefix, Lid, Lmc, MKey, PKey, Sl};

use crate::spec::{NodeIdx, PortAt};

/// The expected configuration, and the SM whose part of the fabric is checked.
#[derive(Debug, Clone)]
pub struct Expectations {
    /// Port of the SM. Nodes that it cannot reach are outside of the scope.
    pub sm: PortAt,
    /// Port of the master; equal to `sm` if there is one SM.
    pub master: PortAt,
    /// All SMs with their SMInfo state, including unreachable ones; `None` if unknown.
    pub sms: Option<Vec<(PortAt, SmState)>>,
    /// Nodes that the SM has excluded. They and links to them are outside of the scope.
    pub excluded: BTreeSet<NodeIdx>,
    /// Configured maximum MTU.
    pub max_mtu: MtuCode,
    /// Configured maximum OperationalVLs code.
    pub max_operational_vls: u8,
    /// SLs of unicast packets.
    pub traffic: Traffic,
    /// Whether a cycle in the channel dependency graph is a violation.
    pub no_credit_loops: bool,
    /// Whether packets from port 0 of every switch to every end port count as dependencies.
    pub port0_traffic: bool,
    /// Whether every switch must reach the master's port.
    pub switches_reach_master: bool,
    /// Multicast groups. If `None`, every port in an MFT counts as a member.
    pub groups: Option<Vec<ExpectedGroup>>,
    /// P_Key tables and partition enforcement.
    pub partitions: ExpectedPartitions,
    /// Values of PortInfo and SwitchInfo.
    pub settings: ExpectedSettings,
}

impl Expectations {
    /// One SM on a fabric without faults, unicast packets on SL 0, default configuration.
    #[must_use]
    pub const fn new(sm: PortAt) -> Self {
        Self {
            sm,
            master: sm,
            sms: None,
            excluded: BTreeSet::new(),
            max_mtu: MtuCode::Mtu4096,
            max_operational_vls: 5,
            traffic: Traffic::OneSl(Sl(0)),
            no_credit_loops: true,
            port0_traffic: false,
            switches_reach_master: true,
            groups: None,
            partitions: ExpectedPartitions {
                keys: Some(BTreeMap::new()),
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
                min_client_reregisters: 0,
            },
        }
    }

    /// Checks every SL that maps to an active VL on all hops of a path.
    #[must_use]
    pub fn all_sls(mut self) -> Self {
        self.traffic = Traffic::AllSls;
        self
    }

    /// Checks the SL that `sl` returns for an end port and a destination LID; `None` means no
    /// traffic.
    #[must_use]
    pub fn sl_per_path(
        mut self,
        sl: impl Fn(PortAt, Lid) -> Option<Sl> + Send + Sync + 'static,
    ) -> Self {
        self.traffic = Traffic::PerPath(SlTable::new(sl));
        self
    }

    /// Expects exactly these multicast groups.
    #[must_use]
    pub fn groups(mut self, groups: Vec<ExpectedGroup>) -> Self {
        self.groups = Some(groups);
        self
    }
}

/// SLs of unicast packets.
#[derive(Debug, Clone)]
pub enum Traffic {
    /// All packets use this SL.
    OneSl(Sl),
    /// The SLs are unknown. Packets on SL 0 are checked; credit loops are judged only where the SL
    /// does not change the VL.
    Unknown,
    /// Packets use every SL that maps to an active VL on all hops of the path.
    AllSls,
    /// Packets use one SL per path.
    PerPath(SlTable),
}

/// SL from an end port to a LID.
type SlOfPath = dyn Fn(PortAt, Lid) -> Option<Sl> + Send + Sync;

/// SL of each path.
#[derive(Clone)]
pub struct SlTable(Arc<SlOfPath>);

impl SlTable {
    /// A function from an end port and a destination LID to the SL; `None` means no traffic.
    #[must_use]
    pub fn new(sl: impl Fn(PortAt, Lid) -> Option<Sl> + Send + Sync + 'static) -> Self {
        Self(Arc::new(sl))
    }

    /// SL from an end port to a LID; `None` means no traffic.
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

/// An expected multicast group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedGroup {
    pub mlid: Lid,
    /// SL of its packets.
    pub sl: Sl,
    /// End ports that send and receive.
    pub members: BTreeSet<PortAt>,
    /// End ports that send only. They may receive copies.
    pub senders: BTreeSet<PortAt>,
}

impl ExpectedGroup {
    /// A group on SL 0 of full members.
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

/// Expected P_Key tables and partition enforcement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedPartitions {
    /// P_Keys of each end port; the first one must be at index 0. Other end ports must have 0xFFFF
    /// or 0x7FFF at index 0 and no further P_Keys. `None` if unknown: the tables are only checked
    /// against each other.
    pub keys: Option<BTreeMap<PortAt, Vec<PKey>>>,
    /// Enforcement at switch ports with attached end ports.
    pub enforcement: PKeyEnforcement,
}

/// Partition enforcement at switch ports with attached end ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PKeyEnforcement {
    /// Any setting, as long as no P_Key of a member is dropped.
    Any,
    /// No enforcement.
    Off,
    /// Inbound enforcement.
    Inbound,
    /// Outbound enforcement.
    Outbound,
    /// Inbound and outbound enforcement.
    Both,
}

/// Expected values of PortInfo and SwitchInfo. `None` means the value of the master's port for
/// settings common to all end ports; other settings are then not checked.
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
    /// LMC of CAs and routers; `None`: that of the first one, or else of the first enhanced port 0
    /// with several LIDs.
    pub lmc: Option<Lmc>,
    /// MasterSMSL of end ports; `None`: not checked.
    pub master_sm_sl: Option<Sl>,
    /// HOQLife of switch ports to end ports, and to switches; `None`: not checked.
    pub hoq_life: Option<(u8, u8)>,
    /// VLStallCount of switch ports to end ports, and to switches; `None`: not checked.
    pub vl_stall_count: Option<(u8, u8)>,
    /// LifeTimeValue of switches; `None`: not checked.
    pub packet_life_time: Option<u8>,
    /// Minimum number of ClientReregister requests to each end port that supports it.
    pub min_client_reregisters: u32,
}
