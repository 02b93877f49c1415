//! MCMemberRecord and multicast GIDs (IBA 15.2.5.19, 4.1.1; RFC 4391).

use super::component::record;
use super::id;
use super::path::{RateCode, Selector};
use crate::attr::MtuCode;
use crate::ids::{Gid, Lid, PKey, Sl};

/// In which ways a port is a member, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct JoinState(pub u8);

impl JoinState {
    /// Receives and sends; keeps the group alive.
    pub const FULL: Self = Self(1);
    /// Receives and sends while others keep the group alive.
    pub const NON_MEMBER: Self = Self(2);
    /// Sends while others keep the group alive.
    pub const SEND_ONLY_NON_MEMBER: Self = Self(4);
    /// Sends; keeps the group alive.
    pub const SEND_ONLY_FULL: Self = Self(8);

    /// Whether any of these ways is among them.
    #[must_use]
    pub const fn has_any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// Whether the member keeps the group alive.
    #[must_use]
    pub const fn keeps_group(self) -> bool {
        self.has_any(Self(Self::FULL.0 | Self::SEND_ONLY_FULL.0))
    }

    /// Whether packets of the group must reach the member.
    #[must_use]
    pub const fn receives(self) -> bool {
        self.has_any(Self(Self::FULL.0 | Self::NON_MEMBER.0))
    }
}

impl crate::wire::Bits for JoinState {
    fn from_bits(v: u64) -> Self {
        Self(u8::from_bits(v))
    }
    fn to_bits(self) -> u64 {
        u64::from(self.0)
    }
}

crate::wire! {
    /// MCMemberRecord.
    pub struct McMemberRecord[56] {
        /// The group.
        mgid: Gid = 0, 128, cm 0;
        /// The member.
        port_gid: Gid = 128, 128, cm 1;
        /// Q_Key of the group's packets.
        qkey: u32 = 256, 32, cm 2;
        /// LID of the group.
        mlid: Lid = 288, 16, cm 3;
        /// How `mtu` binds.
        mtu_selector: Selector = 304, 2, cm 4;
        /// Largest packet.
        mtu: MtuCode = 306, 6, cm 5;
        /// TClass for the GRH.
        tclass: u8 = 312, 8, cm 6;
        /// Partition.
        pkey: PKey = 320, 16, cm 7;
        /// How `rate` binds.
        rate_selector: Selector = 336, 2, cm 8;
        /// Rate that every member can take.
        rate: RateCode = 338, 6, cm 9;
        /// How `packet_life_time` binds.
        packet_life_time_selector: Selector = 344, 2, cm 10;
        /// Packets live at most 4.096 µs × 2^n.
        packet_life_time: u8 = 346, 6, cm 11;
        /// Service level.
        sl: Sl = 352, 4, cm 12;
        /// FlowLabel for the GRH.
        flow_label: u32 = 356, 20, cm 13;
        /// HopLimit for the GRH.
        hop_limit: u8 = 376, 8, cm 14;
        /// 2 link-local, 5 site, 8 organization, 14 global.
        scope: u8 = 384, 4, cm 15;
        /// In which ways the port is a member.
        join_state: JoinState = 388, 4, cm 16;
        /// Somebody else joins for the port.
        proxy_join: bool = 392, 1, cm 17;
        /// The same bit where OpenSM's headers put it on little-endian hosts; queries do not select it.
        proxy_join_lsb: bool = 399, 1;
    }
}
record!(McMemberRecord, id::MC_MEMBER);

impl McMemberRecord {
    /// Whether somebody else joins for the port, wherever the client puts the bit.
    #[must_use]
    pub const fn is_proxy_join(&self) -> bool {
        self.proxy_join || self.proxy_join_lsb
    }
}

/// What the bytes of a multicast GID say.
impl Gid {
    /// Whether it is a multicast GID.
    #[must_use]
    pub const fn is_multicast(self) -> bool {
        self.0[0] == 0xFF
    }

    /// Flags of a multicast GID; only 1, transient, has a meaning.
    #[must_use]
    pub const fn mgid_flags(self) -> u8 {
        self.0[1] >> 4
    }

    /// Scope of a multicast GID.
    #[must_use]
    pub const fn mgid_scope(self) -> u8 {
        self.0[1] & 0xF
    }

    /// Signature of a multicast GID: [`mgid::IPV4`], [`mgid::IPV6`], [`mgid::ADMINISTRATOR`], or anything.
    #[must_use]
    pub const fn mgid_signature(self) -> u16 {
        u16::from_be_bytes([self.0[2], self.0[3]])
    }

    /// P_Key in the multicast GID of an IP group.
    #[must_use]
    pub const fn mgid_pkey(self) -> PKey {
        PKey(u16::from_be_bytes([self.0[4], self.0[5]]))
    }
}

/// Multicast GIDs by kind.
pub mod mgid {
    use crate::ids::{Gid, PKey};

    /// Signature of groups of IPv4.
    pub const IPV4: u16 = 0x401B;
    /// Signature of groups of IPv6.
    pub const IPV6: u16 = 0x601B;
    /// Signature of groups that the administrator named.
    pub const ADMINISTRATOR: u16 = 0xA01B;
    /// Scope within the subnet.
    pub const LINK_LOCAL: u8 = 2;

    /// The broadcast group of IPv4 in a partition, by whose parameters IPoIB works (RFC 4391, 5).
    #[must_use]
    pub const fn broadcast(pkey: PKey, scope: u8) -> Gid {
        ip(
            IPV4,
            pkey,
            scope,
            [0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF],
        )
    }

    /// A group of IP in a partition; `group` is the end of the GID.
    #[must_use]
    pub const fn ip(signature: u16, pkey: PKey, scope: u8, group: [u8; 10]) -> Gid {
        let s = signature.to_be_bytes();
        let p = (pkey.0 | 0x8000).to_be_bytes();
        let g = group;
        Gid([
            0xFF,
            0x10 | (scope & 0xF),
            s[0],
            s[1],
            p[0],
            p[1],
            g[0],
            g[1],
            g[2],
            g[3],
            g[4],
            g[5],
            g[6],
            g[7],
            g[8],
            g[9],
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_broadcast_group_of_the_default_partition() {
        let gid = mgid::broadcast(PKey::DEFAULT_LIMITED, mgid::LINK_LOCAL);
        assert_eq!(gid.to_string(), "ff12:401b:ffff::ffff:ffff");
        assert!(gid.is_multicast());
        assert_eq!((gid.mgid_flags(), gid.mgid_scope()), (1, 2));
        assert_eq!(gid.mgid_signature(), mgid::IPV4);
        assert_eq!(gid.mgid_pkey(), PKey::DEFAULT_FULL);
    }
}
