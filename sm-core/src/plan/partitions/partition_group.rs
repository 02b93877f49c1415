//! Multicast groups that belong to partitions and exist without members (rule 10.12).

use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Gid, PKey, Sl};
use ferrosm_mad::sa::multicast::mgid;
use ferrosm_mad::sa::path::RateCode;
use serde::{Deserialize, Serialize};

use super::{FULL, Partitions};
use crate::sa::registry::multicast::GroupParameters;

/// Q_Key of groups of IP where nobody says otherwise (rule 10.12).
pub const IP_QKEY: u32 = 0x0B1B;

/// A group that a partition has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupSpec {
    /// Its MGID, scope and P_Key filled in.
    pub mgid: Gid,
    /// Largest packet.
    pub mtu: MtuCode,
    /// Rate that every member can take.
    pub rate: RateCode,
    /// Service level, where the routing leaves a choice.
    pub sl: Sl,
    /// Q_Key.
    pub qkey: u32,
    /// TClass for the GRH.
    pub tclass: u8,
    /// FlowLabel for the GRH.
    pub flow_label: u32,
}

impl GroupSpec {
    /// The IPv4 broadcast group of a partition with what OpenSM gives it.
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

    /// What packets of the group have in common. `only_sl` is the SL of the multicast trees, where there is but one.
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
    /// All groups, with the number of their partition.
    pub fn groups(&self) -> impl Iterator<Item = (u16, &GroupSpec)> {
        let list = self.list().iter();
        list.flat_map(|p| p.groups.iter().map(|group| (p.number, group)))
    }
}
