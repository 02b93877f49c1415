//! Notice: the attribute of traps and reports (IBA 13.4.8.2, 14.2.5.1).

use crate::attr::CapMask;
use crate::ids::{AttrId, AttrMod, Gid, Lid, MKey, PKey, PortNum, Qpn, Sl, SystemImageGuid};

crate::open_enum! {
    /// Type of a notice.
    pub enum NoticeType(u8) {
        /// Fatal.
        Fatal = 0, "fatal";
        /// Urgent.
        Urgent = 1, "urgent";
        /// Security.
        Security = 2, "security";
        /// Subnet management.
        SubnetManagement = 3, "subnet management";
        /// Informational.
        Informational = 4, "informational";
        /// The notice is empty.
        Empty = 0x7F, "empty";
    }
}

crate::open_enum! {
    /// Number of a generic trap.
    pub enum TrapNumber(u16) {
        /// A GID came into service (sent by the SA).
        GidInService = 64, "GID in service";
        /// A GID went out of service (sent by the SA).
        GidOutOfService = 65, "GID out of service";
        /// A multicast group was created (sent by the SA).
        GroupCreated = 66, "multicast group created";
        /// A multicast group was deleted (sent by the SA).
        GroupDeleted = 67, "multicast group deleted";
        /// A path is no longer valid (sent by the SA).
        UnPath = 68, "path no longer valid";
        /// A path was recomputed (sent by the SA).
        RePath = 69, "path recomputed";
        /// A link of a switch changed state.
        LinkStateChange = 128, "link state change";
        /// Local physical errors above the threshold.
        LocalLinkIntegrity = 129, "local link integrity";
        /// Buffer overruns above the threshold.
        BufferOverrun = 130, "excessive buffer overrun";
        /// No flow control updates.
        FlowControl = 131, "flow control watchdog";
        /// CapabilityMask or another local value changed.
        LocalChange = 144, "local change";
        /// SystemImageGUID changed.
        SystemImageGuid = 145, "system image GUID change";
        /// An SMP had the wrong M_Key.
        BadMKey = 256, "bad M_Key";
        /// A packet had the wrong P_Key.
        BadPKey = 257, "bad P_Key";
        /// A packet had the wrong Q_Key.
        BadQKey = 258, "bad Q_Key";
        /// A packet had the wrong P_Key at a switch's external port.
        SwitchBadPKey = 259, "bad P_Key at a switch port";
    }
}

crate::wire! {
    /// Notice as an SMP carries it (without IssuerGID).
    pub struct Notice[64] {
        /// Whether the trap is defined by the specification.
        is_generic: bool = 0, 1;
        /// Type.
        notice_type: NoticeType = 1, 7;
        /// Producer: 1 CA, 2 switch, 3 router, 4 class manager; or VendorID.
        producer_type: u32 = 8, 24;
        /// Trap number, or DeviceID.
        trap_number: TrapNumber = 32, 16;
        /// LID of the issuer.
        issuer_lid: Lid = 48, 16;
        /// Get(Notice): alternates with each cleared notice; 0 in a trap.
        notice_toggle: bool = 64, 1;
        /// Get(Notice): number of queued notices; 0 in a trap.
        notice_count: u16 = 65, 15;
        /// Depends on the trap: see the `*Details` layouts.
        data_details: [u8; 54] = 80, 432;
    }
}

crate::wire! {
    /// Details of trap 128.
    pub struct PortStateDetails[54] {
        /// LID of the switch.
        lid: Lid = 0, 16;
    }
}

crate::wire! {
    /// Details of traps 129 to 131.
    pub struct LinkErrorDetails[54] {
        /// LID of the port (port 0 of a switch).
        lid: Lid = 16, 16;
        /// The port.
        port_num: PortNum = 32, 8;
    }
}

crate::wire! {
    /// Details of trap 144.
    pub struct LocalChangeDetails[54] {
        /// LID of the port.
        lid: Lid = 16, 16;
        /// `change_flags` is valid.
        other_local_changes: bool = 47, 1;
        /// The current CapabilityMask.
        capability_mask: CapMask = 48, 32;
        /// 1 NodeDescription, 2 LinkWidthEnabled, 4 LinkSpeedEnabled, 8 SM priority, 16
        /// HierarchyInfo, 32 CapabilityMask2.
        change_flags: u16 = 80, 16;
        /// The current CapabilityMask2.
        capability_mask2: u16 = 96, 16;
    }
}

crate::wire! {
    /// Details of trap 145.
    pub struct SystemImageDetails[54] {
        /// LID of the node.
        lid: Lid = 16, 16;
        /// The new SystemImageGUID.
        system_image_guid: SystemImageGuid = 48, 64;
    }
}

crate::wire! {
    /// Details of trap 256.
    pub struct MKeyViolationDetails[54] {
        /// LID of the requested port.
        lid: Lid = 16, 16;
        /// Source LID of the directed route.
        dr_slid: Lid = 32, 16;
        /// Method of the request.
        method: u8 = 48, 8;
        /// Attribute of the request.
        attr_id: AttrId = 64, 16;
        /// Modifier of the request.
        attr_mod: AttrMod = 80, 32;
        /// M_Key of the request.
        m_key: MKey = 112, 64;
        /// The request was directed-route.
        dr_notice: bool = 184, 1;
        /// The return path is truncated.
        dr_path_truncated: bool = 185, 1;
        /// Number of hops of the return path.
        dr_hop_count: u8 = 186, 6;
        /// Return path.
        dr_return_path: [u8; 30] = 192, 240;
    }
}

crate::wire! {
    /// Details of traps 257 and 258: the packet with the wrong P_Key or Q_Key.
    pub struct KeyViolationDetails[54] {
        /// Source LID.
        lid1: Lid = 16, 16;
        /// Destination LID.
        lid2: Lid = 32, 16;
        /// The Q_Key, or the P_Key in the low 16 bits.
        key: u32 = 48, 32;
        /// Service level.
        sl: Sl = 80, 4;
        /// Source queue pair.
        qp1: Qpn = 88, 24;
        /// Destination queue pair.
        qp2: Qpn = 120, 24;
        /// Source GID; zero without a GRH.
        gid1: Gid = 144, 128;
        /// Destination GID; zero without a GRH.
        gid2: Gid = 272, 128;
    }
}

crate::wire! {
    /// Details of trap 259: a packet that an external port of a switch dropped for its P_Key.
    pub struct SwitchPKeyDetails[54] {
        /// Valid fields up to `gid2`; see the constants.
        data_valid: u16 = 0, 16;
        /// Source LID.
        lid1: Lid = 16, 16;
        /// Destination LID.
        lid2: Lid = 32, 16;
        /// P_Key of the packet.
        pkey: PKey = 48, 16;
        /// Service level.
        sl: Sl = 64, 4;
        /// Source queue pair (datagrams only).
        qp1: Qpn = 72, 24;
        /// Destination queue pair.
        qp2: Qpn = 104, 24;
        /// Source GID (with a GRH).
        gid1: Gid = 128, 128;
        /// Destination GID (with a GRH).
        gid2: Gid = 256, 128;
        /// LID of the switch.
        switch_lid: Lid = 384, 16;
        /// The external port.
        port_num: PortNum = 400, 8;
    }
}

impl SwitchPKeyDetails {
    /// DataValid of a packet without GRH: LIDs, P_Key, SL and queue pairs.
    pub const WITHOUT_GRH: u16 = 0x003F;
    /// DataValid of a packet with GRH: the GIDs as well.
    pub const WITH_GRH: u16 = 0x00FF;
}

impl LocalChangeDetails {
    /// The node's description changed.
    pub const NODE_DESCRIPTION: u16 = 1;
    /// The enabled widths changed.
    pub const LINK_WIDTH_ENABLED: u16 = 2;
    /// The enabled speeds changed.
    pub const LINK_SPEED_ENABLED: u16 = 4;
    /// An SM's priority changed.
    pub const SM_PRIORITY: u16 = 8;
    /// HierarchyInfo changed.
    pub const HIERARCHY_INFO: u16 = 0x10;
    /// CapabilityMask2 changed.
    pub const CAPABILITY_MASK2: u16 = 0x20;
}
