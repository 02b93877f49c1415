//! MCMemberRecord and multicast GIDs (IBA 15.2.5.17, 4.1.1; RFC 4391).

use super::component::record;
use super::id;
use super::path::{RateCode, Selector};
use crate::attr::MtuCode;
use crate::ids::{Gid, Lid, PKey, Sl};

/// JoinState: types of membership, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JoinState(pub u8);

impl JoinState {
    /// Full member: receives and sends; preserves the group.
    pub const FULL: Self = Self(1);
    /// Non-member: receives and sends while the group exists.
    pub const NON_MEMBER: Self = Self(2);
    /// Send-only non-member: sends while the group exists.
    pub const SEND_ONLY_NON_MEMBER: Self = Self(4);
    /// Send-only full member: sends; preserves the group.
    pub const SEND_ONLY_FULL: Self = Self(8);

    /// Whether any of these bits is set.
    #[must_use]
    pub const fn has_any(self, bits: Self) -> bool {
        self.0 & bits.0 != 0
    }

    /// Whether the member preserves the group.
    #[must_use]
    pub const fn preserves_group(self) -> bool {
        self.has_any(Self(Self::FULL.0 | Self::SEND_ONLY_FULL.0))
    }

    /// Whether the member must receive the group's packets.
    #[must_use]
    pub const fn receives(self) -> bool {
        self.has_any(Self(Self::FULL.0 | Self::NON_MEMBER.0))
    }
}

impl crate::wire::BitValue for JoinState {
    fn from_bits(v: u64) -> Self {
        Self(u8::from_bits(v))
    }
    fn to_bits(self) -> u64 {
        u64::from(self.0)
    }
    fn value_text(self) -> crate::wire::FieldText {
        crate::wire::FieldText::Number(self.to_bits())
    }
}

crate::wire! {
    /// MCMemberRecord.
    pub struct McMemberRecord[56] {
        /// GID of the group.
        mgid: Gid = 0, 128, cm 0;
        /// GID of the member.
        port_gid: Gid = 128, 128, cm 1;
        /// Q_Key of the group's packets.
        qkey: u32 = 256, 32, cm 2;
        /// Multicast LID of the group.
        mlid: Lid = 288, 16, cm 3;
        /// Selector of `mtu`.
        mtu_selector: Selector = 304, 2, cm 4;
        /// Largest packet.
        mtu: MtuCode = 306, 6, cm 5;
        /// TClass of the GRH.
        tclass: u8 = 312, 8, cm 6;
        /// P_Key of the group.
        pkey: PKey = 320, 16, cm 7;
        /// Selector of `rate`.
        rate_selector: Selector = 336, 2, cm 8;
        /// A rate that every member supports.
        rate: RateCode = 338, 6, cm 9;
        /// Selector of `packet_life_time`.
        packet_life_time_selector: Selector = 344, 2, cm 10;
        /// PacketLifeTime: 4.096 µs × 2^n.
        packet_life_time: u8 = 346, 6, cm 11;
        /// Service level.
        sl: Sl = 352, 4, cm 12;
        /// FlowLabel of the GRH.
        flow_label: u32 = 356, 20, cm 13;
        /// HopLimit of the GRH.
        hop_limit: u8 = 376, 8, cm 14;
        /// 2 link-local, 5 site, 8 organization, 14 global.
        scope: u8 = 384, 4, cm 15;
        /// Types of membership.
        join_state: JoinState = 388, 4, cm 16;
        /// Another port joins on behalf of this one.
        proxy_join: bool = 392, 1, cm 17;
        /// ProxyJoin where OpenSM's structure has it on little-endian hosts. No bit of the
        /// component mask selects it.
        proxy_join_lsb: bool = 399, 1;
    }
}
record!(McMemberRecord, id::MC_MEMBER);

impl McMemberRecord {
    /// Whether ProxyJoin is set at either position.
    #[must_use]
    pub const fn is_proxy_join(&self) -> bool {
        self.proxy_join || self.proxy_join_lsb
    }
}

/// Fields of multicast GIDs.
impl Gid {
    /// Whether it is a multicast GID.
    #[must_use]
    pub const fn is_multicast(self) -> bool {
        self.0[0] == 0xFF
    }

    /// Flags of a multicast GID; only 1 (transient) is defined.
    #[must_use]
    pub const fn mgid_flags(self) -> u8 {
        self.0[1] >> 4
    }

    /// Scope of a multicast GID.
    #[must_use]
    pub const fn mgid_scope(self) -> u8 {
        self.0[1] & 0xF
    }

    /// Signature of a multicast GID: [`mgid::IPV4`], [`mgid::IPV6`], [`mgid::SA_ALLOCATED`], or any
    /// other.
    #[must_use]
    pub const fn mgid_signature(self) -> u16 {
        u16::from_be_bytes([self.0[2], self.0[3]])
    }

    /// P_Key in the multicast GID of an IPoIB group.
    #[must_use]
    pub const fn mgid_pkey(self) -> PKey {
        PKey(u16::from_be_bytes([self.0[4], self.0[5]]))
    }
}

/// Construction of multicast GIDs.
pub mod mgid {
    use crate::ids::{Gid, PKey};

    /// Signature of IPv4 groups.
    pub const IPV4: u16 = 0x401B;
    /// Signature of IPv6 groups.
    pub const IPV6: u16 = 0x601B;
    /// Signature of groups whose MGID the SA allocated.
    pub const SA_ALLOCATED: u16 = 0xA01B;
    /// Link-local scope.
    pub const LINK_LOCAL: u8 = 2;

    /// The MGID of the IPv4 broadcast group of a partition, which defines IPoIB's parameters (RFC
    /// 4391, 5).
    #[must_use]
    pub const fn broadcast(pkey: PKey, scope: u8) -> Gid {
        ip(
            IPV4,
            pkey,
            scope,
            [0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF],
        )
    }

    /// The MGID of an IPoIB group of a partition; `group` is its last 80 bits.
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
    fn broadcast_group_of_the_default_partition_has_its_known_gid() {
        let gid = mgid::broadcast(PKey::DEFAULT_LIMITED, mgid::LINK_LOCAL);
        assert_eq!(gid.to_string(), "ff12:401b:ffff::ffff:ffff");
        assert!(gid.is_multicast());
        assert_eq!((gid.mgid_flags(), gid.mgid_scope()), (1, 2));
        assert_eq!(gid.mgid_signature(), mgid::IPV4);
        assert_eq!(gid.mgid_pkey(), PKey::DEFAULT_FULL);
    }
}
