//! A multicast group: what its packets have in common, and its members.

use std::collections::BTreeMap;

use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Gid, GidPrefix, Lid, PKey, PortGuid, Sl};
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord};
use ferrosm_mad::sa::path::{RateCode, Selector};

/// What all packets of a group have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupParameters {
    /// Q_Key.
    pub qkey: u32,
    /// Largest packet.
    pub mtu: MtuCode,
    /// TClass for the GRH.
    pub tclass: u8,
    /// Partition; of a group of IP with the bit of full members.
    pub pkey: PKey,
    /// Rate that every member can take.
    pub rate: RateCode,
    /// Packets live at most 4.096 µs × 2^n.
    pub packet_life_time: u8,
    /// Service level.
    pub sl: Sl,
    /// FlowLabel for the GRH.
    pub flow_label: u32,
    /// HopLimit for the GRH.
    pub hop_limit: u8,
    /// 2 link-local, 5 site, 8 organization, 14 global.
    pub scope: u8,
}

impl GroupParameters {
    /// Whether packets of members look alike: how long they live in switches is nothing that a member says.
    pub(super) fn has_same_packet_fields(&self, other: &Self) -> bool {
        let packet_life_time = other.packet_life_time;
        Self {
            packet_life_time,
            ..*self
        } == *other
    }

    /// Those in a record.
    #[must_use]
    pub const fn from_record(record: &McMemberRecord) -> Self {
        Self {
            qkey: record.qkey,
            mtu: record.mtu,
            tclass: record.tclass,
            pkey: record.pkey,
            rate: record.rate,
            packet_life_time: record.packet_life_time,
            sl: record.sl,
            flow_label: record.flow_label,
            hop_limit: record.hop_limit,
            scope: record.scope,
        }
    }
}

/// A member of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupMember {
    /// In which ways.
    pub join_state: JoinState,
    /// Somebody else joined for the port.
    pub proxy: bool,
}

/// A group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MulticastGroup {
    /// Its LID.
    pub mlid: Lid,
    /// What its packets have in common.
    pub parameters: GroupParameters,
    /// It stays without members (rule 10.8).
    pub well_known: bool,
    /// Members, by the GUID in the GID that they joined with (an alias counts as itself).
    pub members: BTreeMap<PortGuid, GroupMember>,
}

impl MulticastGroup {
    /// Whether somebody keeps it alive.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        self.well_known || self.members.values().any(|m| m.join_state.keeps_group())
    }

    /// All members as records; of a group that stays without members one of nobody besides.
    #[must_use]
    pub fn member_records(&self, mgid: Gid) -> Vec<McMemberRecord> {
        let nobody = self.well_known.then(|| self.record(mgid, None));
        // The prefix is the subnet's, which a restart may change: only the GUID is read again.
        let members = self.members.iter().map(|(guid, member)| {
            let gid = Gid::new(GidPrefix::DEFAULT, *guid);
            self.record(mgid, Some((gid, *member)))
        });
        nobody.into_iter().chain(members).collect()
    }

    /// The record of the group and perhaps a member of it.
    #[must_use]
    pub fn record(&self, mgid: Gid, member: Option<(Gid, GroupMember)>) -> McMemberRecord {
        let p = &self.parameters;
        McMemberRecord {
            mgid,
            port_gid: member.map_or_else(Gid::default, |(gid, _)| gid),
            qkey: p.qkey,
            mlid: self.mlid,
            mtu_selector: Selector::Exact,
            mtu: p.mtu,
            tclass: p.tclass,
            pkey: p.pkey,
            rate_selector: Selector::Exact,
            rate: p.rate,
            packet_life_time_selector: Selector::Exact,
            packet_life_time: p.packet_life_time,
            sl: p.sl,
            flow_label: p.flow_label,
            hop_limit: p.hop_limit,
            scope: p.scope,
            join_state: member.map_or(JoinState(0), |(_, m)| m.join_state),
            proxy_join: member.is_some_and(|(_, m)| m.proxy),
            proxy_join_lsb: member.is_some_and(|(_, m)| m.proxy),
        }
    }
}
