//! Paths: PathRecord, MultiPathRecord, TraceRecord, and the codes in them (IBA 15.2.5.16,
//! 15.2.5.20, 15.2.5.19).

use super::component::record;
use super::id;
use crate::attr::MtuCode;
use crate::ids::{Gid, GidPrefix, Lid, NodeGuid, PKey, PortGuid, PortNum, Sl};

crate::open_enum! {
    /// Comparison with the requested value; ignored without the component of the value.
    pub enum Selector(u8) {
        /// Greater than the value.
        Greater = 0, "greater than";
        /// Less than the value.
        Less = 1, "less than";
        /// Exactly the value.
        Exact = 2, "exactly";
        /// The largest available; the value is ignored.
        Best = 3, "best";
    }
}

crate::open_enum! {
    /// Static rate. Codes do not ascend with rates: see [`RateCode::rank`].
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum RateCode(u8) {
        /// 2.5 Gb/s.
        G2_5 = 2, "2.5";
        /// 10 Gb/s.
        G10 = 3, "10";
        /// 30 Gb/s.
        G30 = 4, "30";
        /// 5 Gb/s.
        G5 = 5, "5";
        /// 20 Gb/s.
        G20 = 6, "20";
        /// 40 Gb/s.
        G40 = 7, "40";
        /// 60 Gb/s.
        G60 = 8, "60";
        /// 80 Gb/s.
        G80 = 9, "80";
        /// 120 Gb/s.
        G120 = 10, "120";
        /// 14 Gb/s.
        G14 = 11, "14";
        /// 56 Gb/s.
        G56 = 12, "56";
        /// 112 Gb/s.
        G112 = 13, "112";
        /// 168 Gb/s.
        G168 = 14, "168";
        /// 25 Gb/s.
        G25 = 15, "25";
        /// 100 Gb/s.
        G100 = 16, "100";
        /// 200 Gb/s.
        G200 = 17, "200";
        /// 300 Gb/s.
        G300 = 18, "300";
        /// 28 Gb/s.
        G28 = 19, "28";
        /// 50 Gb/s.
        G50 = 20, "50";
        /// 400 Gb/s.
        G400 = 21, "400";
        /// 600 Gb/s.
        G600 = 22, "600";
        /// 800 Gb/s.
        G800 = 23, "800";
        /// 1200 Gb/s.
        G1200 = 24, "1200";
        /// 1600 Gb/s.
        G1600 = 25, "1600";
    }
}

impl RateCode {
    /// All rates in ascending order.
    pub const ASCENDING: [Self; 24] = [
        Self::G2_5,
        Self::G5,
        Self::G10,
        Self::G14,
        Self::G20,
        Self::G25,
        Self::G28,
        Self::G30,
        Self::G40,
        Self::G50,
        Self::G56,
        Self::G60,
        Self::G80,
        Self::G100,
        Self::G112,
        Self::G120,
        Self::G168,
        Self::G200,
        Self::G300,
        Self::G400,
        Self::G600,
        Self::G800,
        Self::G1200,
        Self::G1600,
    ];

    /// Mb/s of each of [`Self::ASCENDING`].
    const MBPS: [u32; 24] = [
        2_500, 5_000, 10_000, 14_000, 20_000, 25_000, 28_000, 30_000, 40_000, 50_000, 56_000,
        60_000, 80_000, 100_000, 112_000, 120_000, 168_000, 200_000, 300_000, 400_000, 600_000,
        800_000, 1_200_000, 1_600_000,
    ];

    /// The highest rate of at most `mbps` Mb/s, or the lowest rate of all.
    #[must_use]
    pub fn at_most(mbps: u32) -> Self {
        let n = Self::MBPS.partition_point(|m| *m <= mbps);
        Self::ASCENDING[n.max(1) - 1]
    }

    /// The rate in Mb/s; `None` for an undefined code.
    #[must_use]
    pub fn mbps(self) -> Option<u32> {
        self.rank().map(|rank| Self::MBPS[rank])
    }

    /// Index in [`Self::ASCENDING`]; `None` for an undefined code.
    #[must_use]
    pub fn rank(self) -> Option<usize> {
        Self::ASCENDING.iter().position(|r| *r == self)
    }
}

crate::wire! {
    /// PathRecord.
    pub struct PathRecord[64] {
        /// ServiceID; a query has both components or neither.
        service_id: u64 = 0, 64, cm 0 | 1;
        /// Destination GID.
        dgid: Gid = 64, 128, cm 2;
        /// Source GID.
        sgid: Gid = 192, 128, cm 3;
        /// Destination LID.
        dlid: Lid = 320, 16, cm 4;
        /// Source LID.
        slid: Lid = 336, 16, cm 5;
        /// For raw packets.
        raw_traffic: bool = 352, 1, cm 6;
        /// FlowLabel of the GRH.
        flow_label: u32 = 356, 20, cm 8;
        /// HopLimit of the GRH; 0 within the subnet.
        hop_limit: u8 = 376, 8, cm 9;
        /// TClass of the GRH.
        tclass: u8 = 384, 8, cm 10;
        /// The reverse path has the same properties.
        reversible: bool = 392, 1, cm 11;
        /// Maximum number of paths requested.
        numb_path: u8 = 393, 7, cm 12;
        /// P_Key.
        pkey: PKey = 400, 16, cm 13;
        /// QoS class.
        qos_class: u16 = 416, 12, cm 14;
        /// Service level.
        sl: Sl = 428, 4, cm 15;
        /// Selector of `mtu`.
        mtu_selector: Selector = 432, 2, cm 16;
        /// MTU.
        mtu: MtuCode = 434, 6, cm 17;
        /// Selector of `rate`.
        rate_selector: Selector = 440, 2, cm 18;
        /// Rate.
        rate: RateCode = 442, 6, cm 19;
        /// Selector of `packet_life_time`.
        packet_life_time_selector: Selector = 448, 2, cm 20;
        /// PacketLifeTime: 4.096 µs × 2^n.
        packet_life_time: u8 = 450, 6, cm 21;
        /// Order of preference; 0 is preferred.
        preference: u8 = 456, 8, cm 22;
    }
}
record!(PathRecord, id::PATH);

crate::wire! {
    /// The fixed part of a MultiPathRecord; GIDs follow, sources first.
    pub struct MultiPathRecord[24] {
        /// For raw packets.
        raw_traffic: bool = 0, 1, cm 0;
        /// FlowLabel of the GRH.
        flow_label: u32 = 4, 20, cm 2;
        /// HopLimit of the GRH.
        hop_limit: u8 = 24, 8, cm 3;
        /// TClass of the GRH.
        tclass: u8 = 32, 8, cm 4;
        /// The reverse path must have the same properties.
        reversible: bool = 40, 1, cm 5;
        /// Maximum number of paths requested.
        numb_path: u8 = 41, 7, cm 6;
        /// P_Key.
        pkey: PKey = 48, 16, cm 7;
        /// QoS class.
        qos_class: u16 = 64, 12, cm 8;
        /// Service level.
        sl: Sl = 76, 4, cm 9;
        /// Selector of `mtu`.
        mtu_selector: Selector = 80, 2, cm 10;
        /// MTU.
        mtu: MtuCode = 82, 6, cm 11;
        /// Selector of `rate`.
        rate_selector: Selector = 88, 2, cm 12;
        /// Rate.
        rate: RateCode = 90, 6, cm 13;
        /// Selector of `packet_life_time`.
        packet_life_time_selector: Selector = 96, 2, cm 14;
        /// PacketLifeTime: 4.096 µs × 2^n.
        packet_life_time: u8 = 98, 6, cm 15;
        /// Upper 8 bits of the ServiceID.
        service_id_high: u8 = 104, 8, cm 16;
        /// Required independence of the paths.
        independence_selector: u8 = 112, 2, cm 17;
        /// Number of source GIDs.
        sgid_count: u8 = 120, 8, cm 19;
        /// Number of destination GIDs.
        dgid_count: u8 = 128, 8, cm 20;
        /// Lower 56 bits of the ServiceID.
        service_id_low: u64 = 136, 56, cm 21;
    }
}

crate::wire! {
    /// TraceRecord: one node of a path.
    pub struct TraceRecord[48] {
        /// Subnet prefix.
        gid_prefix: GidPrefix = 0, 64, cm 0;
        /// ID generation.
        id_generation: u16 = 64, 16, cm 1;
        /// CA, switch or router.
        node_type: crate::attr::NodeType = 88, 8, cm 3;
        /// GUID of the node.
        node_id: NodeGuid = 96, 64, cm 4;
        /// System image GUID; 0 if unknown.
        chassis_id: u64 = 160, 64, cm 5;
        /// GUID of the entry port; port 0's for a switch.
        entry_port_id: PortGuid = 224, 64, cm 6;
        /// GUID of the exit port; port 0's for a switch.
        exit_port_id: PortGuid = 288, 64, cm 7;
        /// Entry port; 0 at the source.
        entry_port: PortNum = 352, 8, cm 8;
        /// Exit port; 0 at the destination.
        exit_port: PortNum = 360, 8, cm 9;
    }
}
record!(TraceRecord, id::TRACE);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_ascend() {
        let gbps = |r: &RateCode| r.name().and_then(|n| n.parse::<f64>().ok());
        let rates: Vec<_> = RateCode::ASCENDING.iter().map(gbps).collect();
        assert!(rates.iter().all(Option::is_some));
        assert!(rates.is_sorted());
        for code in 2..=25 {
            assert!(RateCode(code).rank().is_some(), "{code}");
        }
        assert_eq!(RateCode(1).rank(), None);
        for (code, mbps) in RateCode::ASCENDING.iter().zip(RateCode::MBPS) {
            assert_eq!(gbps(code), Some(f64::from(mbps) / 1000.0));
            assert_eq!(RateCode::at_most(mbps), *code);
        }
        assert_eq!(RateCode::at_most(99_999), RateCode::G80);
        assert_eq!(RateCode::at_most(0), RateCode::G2_5);
    }
}
