//! Records of what devices say of themselves: nodes, ports, switches, links, and the tables in them (IBA 15.2.5.2 to 15.2.5.13,
//! 15.2.5.18, 15.2.5.21).
//!
//! The attribute inside a record is kept as bytes: it is passed on as the device said it.

use super::component::record;
use super::id;
use crate::attr::{NodeInfo, PortInfo, SmState, SwitchInfo};
use crate::ids::{Lid, MKey, PortGuid, PortNum};

crate::wire! {
    /// ClassPortInfo: what the administrator can do (IBA 13.4.8.1).
    pub struct ClassPortInfo[72] {
        /// Version of the MAD format: 1.
        base_version: u8 = 0, 8;
        /// Version of the class.
        class_version: u8 = 8, 8;
        /// What every class, and this class, can do; see the constants.
        capability_mask: u16 = 16, 16;
        /// What else it can do.
        capability_mask2: u32 = 32, 27;
        /// It answers within 4.096 µs × 2^n.
        resp_time_value: u8 = 59, 5;
        /// Whom to ask instead; zero where nobody.
        redirect_gid: crate::ids::Gid = 64, 128;
        /// TClass, SL and FlowLabel of the way there.
        redirect_tc_sl_fl: u32 = 192, 32;
        /// Its LID.
        redirect_lid: Lid = 224, 16;
        /// P_Key for it.
        redirect_pkey: crate::ids::PKey = 240, 16;
        /// Its queue pair.
        redirect_qp: crate::ids::Qpn = 264, 24;
        /// The queue pair's Q_Key.
        redirect_qkey: u32 = 288, 32;
        /// Where traps go; zero where nowhere.
        trap_gid: crate::ids::Gid = 320, 128;
        /// TClass, SL and FlowLabel of the way there.
        trap_tc_sl_fl: u32 = 448, 32;
        /// Its LID.
        trap_lid: Lid = 480, 16;
        /// P_Key for it.
        trap_pkey: crate::ids::PKey = 496, 16;
        /// Hop limit.
        trap_hl: u8 = 512, 8;
        /// Its queue pair.
        trap_qp: crate::ids::Qpn = 520, 24;
        /// The queue pair's Q_Key.
        trap_qkey: u32 = 544, 32;
    }
}

impl ClassPortInfo {
    /// CapabilityMask: `capability_mask2` counts.
    pub const CAPABILITY_MASK2: u16 = 1 << 2;
    /// CapabilityMask: the optional records are there.
    pub const OPTIONAL_RECORDS: u16 = 1 << 8;
    /// CapabilityMask: multicast groups of unreliable datagrams.
    pub const UD_MULTICAST: u16 = 1 << 9;
    /// CapabilityMask: MultiPathRecord.
    pub const MULTI_PATH: u16 = 1 << 10;
    /// CapabilityMask: PortInfoRecords are matched by bits of CapabilityMask.
    pub const PORT_INFO_CAP_MASK_MATCH: u16 = 1 << 13;
    /// CapabilityMask2: quality of service in path queries.
    pub const QOS: u32 = 1 << 1;
    /// CapabilityMask2: SwitchInfo.MulticastFDBTop is used.
    pub const MULTICAST_FDB_TOP: u32 = 1 << 3;
    /// CapabilityMask2: GuidInfoRecord can be set.
    pub const ALIAS_GUIDS: u32 = 1 << 5;
    /// CapabilityMask2: the whole PortInfo is in PortInfoRecords.
    pub const FULL_PORT_INFO: u32 = 1 << 6;
    /// CapabilityMask2: extended speeds.
    pub const EXTENDED_SPEEDS: u32 = 1 << 7;
    /// CapabilityMask2: services of multicast GIDs.
    pub const MULTICAST_SERVICES: u32 = 1 << 8;
    /// CapabilityMask2: PortInfoRecords are matched by bits of CapabilityMask2.
    pub const PORT_INFO_CAP_MASK2_MATCH: u32 = 1 << 10;
    /// CapabilityMask2: members that send only, and count as full members.
    pub const SEND_ONLY_FULL_MEMBER: u32 = 1 << 12;
    /// CapabilityMask2: width 2X.
    pub const LINK_WIDTH_2X: u32 = 1 << 13;
    /// CapabilityMask2: HDR.
    pub const LINK_SPEED_HDR: u32 = 1 << 15;
    /// CapabilityMask2: NDR.
    pub const LINK_SPEED_NDR: u32 = 1 << 17;
}

crate::wire! {
    /// NodeRecord: one for each end port.
    pub struct NodeRecord[112] {
        /// The port's base LID.
        lid: Lid = 0, 16, cm 0;
        /// NodeInfo without its reserved end.
        node_info: [u8; 40] = 32, 320, cm_of NodeInfo [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];
        /// NodeDescription.
        node_description: [u8; 64] = 352, 512, cm 14;
    }
}
record!(NodeRecord, id::NODE);

crate::wire! {
    /// PortInfoRecord: one for each port.
    pub struct PortInfoRecord[72] {
        /// Base LID of the end port; of a switch's port 0 for all its ports.
        lid: Lid = 0, 16, cm 0;
        /// The port.
        port_num: PortNum = 16, 8, cm 1;
        /// Bit 7: the requester knows extended speeds.
        options: u8 = 24, 8, cm 2;
        /// PortInfo; the second set of extended speeds has no components.
        port_info: [u8; 64] = 32, 512, cm_of PortInfo [
            3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33,
            34, 35, 36, 37, 38, 39, 40, 41, 42, 43, _, 45, 47, 48, 49, 50, _, _, _, 52, 53, 54, 55, 57
        ];
    }
}
record!(PortInfoRecord, id::PORT_INFO);

impl PortInfoRecord {
    /// Options: the requester knows extended speeds.
    pub const EXTENDED_SPEEDS: u8 = 0x80;
    /// The component of Options.
    pub const OPTIONS: u64 = 1 << 2;
    /// The component of CapabilityMask.
    pub const CAPABILITY_MASK: u64 = 1 << 7;
    /// The component of CapabilityMask2.
    pub const CAPABILITY_MASK2: u64 = 1 << 53;
}

crate::wire! {
    /// SLtoVLMappingTableRecord: one for each pair of ports of a switch, one for each port of others.
    pub struct SlToVlRecord[16] {
        /// Base LID of the end port, of a switch's port 0.
        lid: Lid = 0, 16, cm 0;
        /// The port by which packets come in; 0 where the table is an end port's.
        input_port: PortNum = 16, 8, cm 1;
        /// The port by which they leave.
        output_port: PortNum = 24, 8, cm 2;
        /// The table, two lanes to a byte.
        table: [u8; 8] = 64, 64, cm 3;
    }
}
record!(SlToVlRecord, id::SL_TO_VL);

crate::wire! {
    /// SwitchInfoRecord.
    pub struct SwitchInfoRecord[24] {
        /// LID of the switch.
        lid: Lid = 0, 16, cm 0;
        /// SwitchInfo as far as it goes.
        switch_info: [u8; 20] = 32, 160, cm_of SwitchInfo [
            2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20
        ];
    }
}
record!(SwitchInfoRecord, id::SWITCH_INFO);

crate::wire! {
    /// LinearForwardingTableRecord: one for each block.
    pub struct LftRecord[72] {
        /// LID of the switch.
        lid: Lid = 0, 16, cm 0;
        /// The block.
        block_num: u16 = 16, 16, cm 1;
        /// Egress ports of its 64 LIDs.
        table: [u8; 64] = 64, 512, cm 3;
    }
}
record!(LftRecord, id::LFT);

crate::wire! {
    /// MulticastForwardingTableRecord: one for each block and position.
    pub struct MftRecord[72] {
        /// LID of the switch.
        lid: Lid = 0, 16, cm 0;
        /// Which 16 ports.
        position: u8 = 16, 4, cm 1;
        /// The block.
        block_num: u16 = 23, 9, cm 3;
        /// Port masks of its 32 MLIDs.
        table: [u8; 64] = 64, 512, cm 5;
    }
}
record!(MftRecord, id::MFT);

crate::wire! {
    /// SMInfoRecord: one for each subnet manager.
    pub struct SmInfoRecord[32] {
        /// Base LID of its port.
        lid: Lid = 0, 16, cm 0;
        /// GUID of its port.
        guid: PortGuid = 32, 64, cm 2;
        /// Never told: 0.
        sm_key: MKey = 96, 64, cm 3;
        /// Grows with its activity.
        act_count: u32 = 160, 32, cm 4;
        /// 0 to 15.
        priority: u8 = 192, 4, cm 5;
        /// Its state.
        sm_state: SmState = 196, 4, cm 6;
    }
}
record!(SmInfoRecord, id::SM_INFO);

crate::wire! {
    /// LinkRecord: a cable, once in each direction.
    pub struct LinkRecord[8] {
        /// Base LID of the end port here; of port 0 on a switch.
        from_lid: Lid = 0, 16, cm 0;
        /// The port here.
        from_port: PortNum = 16, 8, cm 1;
        /// The port there.
        to_port: PortNum = 24, 8, cm 2;
        /// The LID there.
        to_lid: Lid = 32, 16, cm 3;
    }
}
record!(LinkRecord, id::LINK);

crate::wire! {
    /// GuidInfoRecord: eight GUIDs of an end port.
    pub struct GuidInfoRecord[72] {
        /// Base LID of the port.
        lid: Lid = 0, 16, cm 0;
        /// The block.
        block_num: u8 = 16, 8, cm 1;
        /// The GUIDs; 0 is an empty entry.
        guids: [PortGuid; 8] = 64, 512, cm_each 4;
    }
}
record!(GuidInfoRecord, id::GUID_INFO);

impl GuidInfoRecord {
    /// The component of the first GUID; the others follow.
    pub const FIRST_GUID: u8 = 4;
}
const _: () = assert!(
    <GuidInfoRecord as super::component::Record>::COMPONENTS[2].component_mask
        == 1 << GuidInfoRecord::FIRST_GUID
);

crate::wire! {
    /// P_KeyTableRecord: a block of a port's P_Keys.
    pub struct PKeyTableRecord[72] {
        /// Base LID of the end port; of port 0 on a switch.
        lid: Lid = 0, 16, cm 0;
        /// The block.
        block_num: u16 = 16, 16, cm 1;
        /// The port of a switch.
        port_num: PortNum = 32, 8, cm 2;
        /// The keys.
        table: [u8; 64] = 64, 512, cm 4;
    }
}
record!(PKeyTableRecord, id::PKEY_TABLE);

crate::wire! {
    /// VLArbitrationTableRecord: a block of a port's arbitration tables.
    pub struct VlArbRecord[72] {
        /// Base LID of the end port; of port 0 on a switch.
        lid: Lid = 0, 16, cm 0;
        /// The port.
        output_port: PortNum = 16, 8, cm 1;
        /// 1 and 2 low priority, 3 and 4 high priority.
        block_num: u8 = 24, 8, cm 2;
        /// The entries.
        table: [u8; 64] = 64, 512, cm 4;
    }
}
record!(VlArbRecord, id::VL_ARBITRATION);
