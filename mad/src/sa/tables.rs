//! Records of nodes, ports, switches, links and device tables (IBA 15.2.5.2 to 15.2.5.13,
//! 15.2.5.18, 15.2.5.21).
//!
//! The contained attribute is stored as bytes and passed on as the device reported it.

use super::component::record;
use super::id;
use crate::attr::{NodeInfo, PortInfo, SmState, SwitchInfo};
use crate::ids::{Lid, MKey, PortGuid, PortNum};

crate::wire! {
    /// ClassPortInfo: capabilities of the SA (IBA 13.4.8.1).
    pub struct ClassPortInfo[72] {
        /// Version of the MAD format: 1.
        base_version: u8 = 0, 8;
        /// Version of the class.
        class_version: u8 = 8, 8;
        /// Capabilities; see the constants.
        capability_mask: u16 = 16, 16;
        /// Further capabilities.
        capability_mask2: u32 = 32, 27;
        /// Response time: 4.096 µs × 2^n.
        resp_time_value: u8 = 59, 5;
        /// GID for redirection; zero for none.
        redirect_gid: crate::ids::Gid = 64, 128;
        /// TClass, SL and FlowLabel for redirection.
        redirect_tc_sl_fl: u32 = 192, 32;
        /// LID for redirection.
        redirect_lid: Lid = 224, 16;
        /// P_Key for redirection.
        redirect_pkey: crate::ids::PKey = 240, 16;
        /// Queue pair for redirection.
        redirect_qp: crate::ids::Qpn = 264, 24;
        /// Q_Key for redirection.
        redirect_qkey: u32 = 288, 32;
        /// GID for traps; zero for none.
        trap_gid: crate::ids::Gid = 320, 128;
        /// TClass, SL and FlowLabel for traps.
        trap_tc_sl_fl: u32 = 448, 32;
        /// LID for traps.
        trap_lid: Lid = 480, 16;
        /// P_Key for traps.
        trap_pkey: crate::ids::PKey = 496, 16;
        /// Hop limit for traps.
        trap_hl: u8 = 512, 8;
        /// Queue pair for traps.
        trap_qp: crate::ids::Qpn = 520, 24;
        /// Q_Key for traps.
        trap_qkey: u32 = 544, 32;
    }
}

impl ClassPortInfo {
    /// CapabilityMask: `capability_mask2` is valid.
    pub const CAPABILITY_MASK2: u16 = 1 << 2;
    /// CapabilityMask: optional records are supported.
    pub const OPTIONAL_RECORDS: u16 = 1 << 8;
    /// CapabilityMask: multicast groups of unreliable datagrams.
    pub const UD_MULTICAST: u16 = 1 << 9;
    /// CapabilityMask: MultiPathRecord.
    pub const MULTI_PATH: u16 = 1 << 10;
    /// CapabilityMask: PortInfoRecords are matched by bits of CapabilityMask.
    pub const PORT_INFO_CAP_MASK_MATCH: u16 = 1 << 13;
    /// CapabilityMask2: QoS in path queries.
    pub const QOS: u32 = 1 << 1;
    /// CapabilityMask2: SwitchInfo.MulticastFDBTop is used.
    pub const MULTICAST_FDB_TOP: u32 = 1 << 3;
    /// CapabilityMask2: GuidInfoRecord can be set.
    pub const ALIAS_GUIDS: u32 = 1 << 5;
    /// CapabilityMask2: PortInfoRecords contain the complete PortInfo.
    pub const FULL_PORT_INFO: u32 = 1 << 6;
    /// CapabilityMask2: extended speeds.
    pub const EXTENDED_SPEEDS: u32 = 1 << 7;
    /// CapabilityMask2: services with multicast GIDs.
    pub const MULTICAST_SERVICES: u32 = 1 << 8;
    /// CapabilityMask2: PortInfoRecords are matched by bits of CapabilityMask2.
    pub const PORT_INFO_CAP_MASK2_MATCH: u32 = 1 << 10;
    /// CapabilityMask2: send-only full members.
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
        /// NodeInfo without the reserved bytes.
        node_info: [u8; 40] = 32, 320, cm_of NodeInfo [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];
        /// NodeDescription.
        node_description: [u8; 64] = 352, 512, cm 14;
    }
}
record!(NodeRecord, id::NODE);

crate::wire! {
    /// PortInfoRecord: one for each port.
    pub struct PortInfoRecord[72] {
        /// Base LID of the end port; for switch ports, of port 0.
        lid: Lid = 0, 16, cm 0;
        /// The port.
        port_num: PortNum = 16, 8, cm 1;
        /// Bit 7: the requester supports extended speeds.
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
    /// Options: the requester supports extended speeds.
    pub const EXTENDED_SPEEDS: u8 = 0x80;
    /// The component of Options.
    pub const OPTIONS: u64 = 1 << 2;
    /// The component of CapabilityMask.
    pub const CAPABILITY_MASK: u64 = 1 << 7;
    /// The component of CapabilityMask2.
    pub const CAPABILITY_MASK2: u64 = 1 << 53;
}

crate::wire! {
    /// SLtoVLMappingTableRecord: one for each pair of ports of a switch, one for each port of other
    /// nodes.
    pub struct SlToVlRecord[16] {
        /// Base LID of the end port; for switch ports, of port 0.
        lid: Lid = 0, 16, cm 0;
        /// Input port; 0 for the table of an end port.
        input_port: PortNum = 16, 8, cm 1;
        /// Output port.
        output_port: PortNum = 24, 8, cm 2;
        /// The table, two VLs per byte.
        table: [u8; 8] = 64, 64, cm 3;
    }
}
record!(SlToVlRecord, id::SL_TO_VL);

crate::wire! {
    /// SwitchInfoRecord.
    pub struct SwitchInfoRecord[24] {
        /// LID of the switch.
        lid: Lid = 0, 16, cm 0;
        /// SwitchInfo without the reserved bytes.
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
        /// Block number.
        block_num: u16 = 16, 16, cm 1;
        /// Output ports of 64 LIDs.
        table: [u8; 64] = 64, 512, cm 3;
    }
}
record!(LftRecord, id::LFT);

crate::wire! {
    /// MulticastForwardingTableRecord: one for each block and position.
    pub struct MftRecord[72] {
        /// LID of the switch.
        lid: Lid = 0, 16, cm 0;
        /// Position: 16 ports each.
        position: u8 = 16, 4, cm 1;
        /// Block number.
        block_num: u16 = 23, 9, cm 3;
        /// Port masks of 32 MLIDs.
        table: [u8; 64] = 64, 512, cm 5;
    }
}
record!(MftRecord, id::MFT);

crate::wire! {
    /// SMInfoRecord: one for each SM.
    pub struct SmInfoRecord[32] {
        /// Base LID of the SM's port.
        lid: Lid = 0, 16, cm 0;
        /// GUID of the SM's port.
        guid: PortGuid = 32, 64, cm 2;
        /// Always 0 in replies.
        sm_key: MKey = 96, 64, cm 3;
        /// Activity counter.
        act_count: u32 = 160, 32, cm 4;
        /// Priority, 0 to 15.
        priority: u8 = 192, 4, cm 5;
        /// State of the SM.
        sm_state: SmState = 196, 4, cm 6;
    }
}
record!(SmInfoRecord, id::SM_INFO);

crate::wire! {
    /// LinkRecord: a link in one direction.
    pub struct LinkRecord[8] {
        /// Base LID of the near end port; for switch ports, of port 0.
        from_lid: Lid = 0, 16, cm 0;
        /// The near port.
        from_port: PortNum = 16, 8, cm 1;
        /// The far port.
        to_port: PortNum = 24, 8, cm 2;
        /// LID of the far end.
        to_lid: Lid = 32, 16, cm 3;
    }
}
record!(LinkRecord, id::LINK);

crate::wire! {
    /// GuidInfoRecord: eight GUIDs of an end port.
    pub struct GuidInfoRecord[72] {
        /// Base LID of the port.
        lid: Lid = 0, 16, cm 0;
        /// Block number.
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
    <GuidInfoRecord as super::component::SaRecord>::COMPONENTS[2].component_mask
        == 1 << GuidInfoRecord::FIRST_GUID
);

crate::wire! {
    /// P_KeyTableRecord: a block of a port's P_Keys.
    pub struct PKeyTableRecord[72] {
        /// Base LID of the end port; for switch ports, of port 0.
        lid: Lid = 0, 16, cm 0;
        /// Block number.
        block_num: u16 = 16, 16, cm 1;
        /// Port of a switch.
        port_num: PortNum = 32, 8, cm 2;
        /// The P_Keys.
        table: [u8; 64] = 64, 512, cm 4;
    }
}
record!(PKeyTableRecord, id::PKEY_TABLE);

crate::wire! {
    /// VLArbitrationTableRecord: a block of a port's arbitration tables.
    pub struct VlArbRecord[72] {
        /// Base LID of the end port; for switch ports, of port 0.
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
