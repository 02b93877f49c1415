//! Multicast groups of partitions, which exist without members (docs/sm-behaviour.md 10.12).

use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Gid, PKey, Sl};
use ferrosm_mad::sa::multicast::mgid;
use ferrosm_mad::sa::path::RateCode;
use serde::{Deserialize, Serialize};

use super::{FULL, Partitions};
use ferrosm_sa::registry::group::GroupParameters;

/// Default Q_Key of IPoIB groups (docs/sm-behaviour.md 10.12).
pub const IP_QKEY: u32 = 0x0B1B;

/// A multicast group of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSpec {
    /// MGID with scope and P_Key.
    pub mgid: Gid,
    pub mtu: MtuCode,
    pub rate: RateCode,
    /// SL, if routing does not prescribe one.
    pub sl: Sl,
    /// Q_Key.
    pub qkey: u32,
    /// TClass for the GRH.
    pub tclass: u8,
    /// FlowLabel for the GRH.
    pub flow_label: u32,
}

impl GroupSpec {
    /// The IPv4 broadcast group of a partition with the parameters of OpenSM.
    #[must_use]
    pub const fn ipoib(number: u16) -> Self {
        Self {
            mgid: mgid::broadcast(PKey(number | FULL), mgid::LINK_LOCAL),
            mtu: MtuCode::Mtu2048,
            rate: RateCode::G10,
            sl: Sl(0),
            qkey: IP_QKEY,
            tclass: 0,
            flow_label: 0,
        }
    }

    /// The parameters of the group. `only_sl` is the SL of multicast trees, if routing prescribes
    /// one; `life` the PacketLifeTime code.
    #[must_use]
    pub fn parameters(&self, number: u16, only_sl: Option<Sl>, life: u8) -> GroupParameters {
        let scope = self.mgid.mgid_scope();
        GroupParameters {
            qkey: self.qkey,
            mtu: self.mtu,
            tclass: self.tclass,
            pkey: PKey(number | FULL),
            rate: self.rate,
            packet_life_time: life,
            sl: only_sl.unwrap_or(self.sl),
            flow_label: self.flow_label,
            hop_limit: if scope == mgid::LINK_LOCAL { 0 } else { 0xFF },
            scope,
        }
    }
}

impl Partitions {
    /// All groups with the number of their partition.
    pub fn groups(&self) -> impl Iterator<Item = (u16, &GroupSpec)> {
        let list = self.list().iter();
        list.flat_map(|p| p.groups.iter().map(|group| (p.number, group)))
    }
}
