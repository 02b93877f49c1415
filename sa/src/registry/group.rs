//! A multicast group: its parameters and members.

use std::collections::BTreeMap;

use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Gid, GidPrefix, Lid, PKey, PortGuid, Sl};
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord};
use ferrosm_mad::sa::path::{RateCode, Selector};
use serde::{Deserialize, Serialize};

/// Values that all packets of a group share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupParameters {
    /// Q_Key.
    pub qkey: u32,
    /// Largest packet.
    pub mtu: MtuCode,
    /// TClass of the GRH.
    pub tclass: u8,
    /// P_Key. For an IPoIB group, the full-membership bit is set.
    pub pkey: PKey,
    /// A rate that every member supports.
    pub rate: RateCode,
    /// PacketLifeTime: 4.096 µs × 2^n.
    pub packet_life_time: u8,
    /// Service level.
    pub sl: Sl,
    /// FlowLabel of the GRH.
    pub flow_label: u32,
    /// HopLimit of the GRH.
    pub hop_limit: u8,
    /// Scope: 2 link-local, 5 site, 8 organization, 14 global.
    pub scope: u8,
}

impl GroupParameters {
    /// Whether packets of both groups have the same fields. PacketLifeTime is not compared: no
    /// packet contains it.
    pub(super) fn has_same_packet_fields(&self, other: &Self) -> bool {
        let packet_life_time = other.packet_life_time;
        Self {
            packet_life_time,
            ..*self
        } == *other
    }

    /// Whether each value fits into its field of MCMemberRecord.
    #[must_use]
    pub fn fit_record(&self) -> bool {
        let group = MulticastGroup {
            mlid: Lid::NONE,
            parameters: *self,
            well_known: false,
            members: BTreeMap::new(),
        };
        let record = group.record(Gid::default(), None);
        McMemberRecord::decode(&record.encode()) == record
    }

    /// The parameters in a record.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupMember {
    pub join_state: JoinState,
    /// Another port joined on behalf of this one.
    pub proxy: bool,
}

/// A multicast group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MulticastGroup {
    pub mlid: Lid,
    /// Values that all its packets share.
    pub parameters: GroupParameters,
    /// The group exists even without members (docs/sm-behaviour.md 10.8).
    pub well_known: bool,
    /// Members, by the GUID of the GID that they joined with; an alias is a separate member.
    pub members: BTreeMap<PortGuid, GroupMember>,
}

impl MulticastGroup {
    /// Whether the group is well known or has a full member.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        self.well_known
            || self
                .members
                .values()
                .any(|m| m.join_state.preserves_group())
    }

    /// A record for each member, and one without PortGID if the group is well known.
    #[must_use]
    pub fn member_records(&self, mgid: Gid) -> Vec<McMemberRecord> {
        let group_record = self.well_known.then(|| self.record(mgid, None));
        // A restart may change the subnet prefix: only the GUID is restored.
        let members = self.members.iter().map(|(guid, member)| {
            let gid = Gid::new(GidPrefix::DEFAULT, *guid);
            self.record(mgid, Some((gid, *member)))
        });
        group_record.into_iter().chain(members).collect()
    }

    /// The record of the group, with a member if given.
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
