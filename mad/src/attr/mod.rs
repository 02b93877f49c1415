//! Layouts of the attributes of the subnet management class.
//!
//! Offsets and meanings follow IBA volume 1, 14.2.5; vendor-specific attributes are marked.

mod guid_info;
mod mlnx;
mod node;
mod notice;
pub mod perf;
mod port_extra;
mod port_info;
mod sm_info;
mod switch_info;
mod tables;
mod vendor;

pub use guid_info::GuidInfo;
pub use mlnx::ExtendedPortInfo;
pub use node::{NodeDescription, NodeInfo, NodeType};
pub use notice::{
    KeyViolationDetails, LinkErrorDetails, LocalChangeDetails, MKeyViolationDetails, Notice,
    NoticeType, PortStateDetails, SwitchPKeyDetails, SystemImageDetails, TrapNumber,
};
pub use port_extra::{FecMode, LinkSpeedWidthPairs, PortInfoExtended};
pub use port_info::{
    CapMask, CapMask2, LinkRate, LinkSpeed, LinkWidth, MtuCode, PhysState, PortInfo, PortState,
};
pub use sm_info::{SmControl, SmInfo, SmState};
pub use switch_info::SwitchInfo;
pub use tables::{
    LFT_BLOCK_LEN, LftBlock, MFT_BLOCK_LEN, MftBlock, PKEY_BLOCK_LEN, PKeyBlock, SlToVl, VlArb,
    VlArbEntry,
};
pub use vendor::{LedInfo, VendorDiag};

use crate::ids::AttrId;

/// Identifiers of the attributes.
pub mod id {
    use super::AttrId;
    /// Notice.
    pub const NOTICE: AttrId = AttrId(0x0002);
    /// NodeDescription.
    pub const NODE_DESCRIPTION: AttrId = AttrId(0x0010);
    /// NodeInfo.
    pub const NODE_INFO: AttrId = AttrId(0x0011);
    /// SwitchInfo.
    pub const SWITCH_INFO: AttrId = AttrId(0x0012);
    /// GUIDInfo.
    pub const GUID_INFO: AttrId = AttrId(0x0014);
    /// PortInfo.
    pub const PORT_INFO: AttrId = AttrId(0x0015);
    /// P_KeyTable.
    pub const PKEY_TABLE: AttrId = AttrId(0x0016);
    /// SLtoVLMappingTable.
    pub const SL_TO_VL: AttrId = AttrId(0x0017);
    /// VLArbitrationTable.
    pub const VL_ARBITRATION: AttrId = AttrId(0x0018);
    /// LinearForwardingTable.
    pub const LFT: AttrId = AttrId(0x0019);
    /// RandomForwardingTable.
    pub const RANDOM_FORWARDING: AttrId = AttrId(0x001A);
    /// MulticastForwardingTable.
    pub const MFT: AttrId = AttrId(0x001B);
    /// LinkSpeedWidthPairsTable.
    pub const LINK_SPEED_WIDTH_PAIRS: AttrId = AttrId(0x001C);
    /// VendorSpecificMadsTable.
    pub const VENDOR_MADS: AttrId = AttrId(0x001D);
    /// HierarchyInfo.
    pub const HIERARCHY_INFO: AttrId = AttrId(0x001E);
    /// SMInfo.
    pub const SM_INFO: AttrId = AttrId(0x0020);
    /// VendorDiag.
    pub const VENDOR_DIAG: AttrId = AttrId(0x0030);
    /// LedInfo.
    pub const LED_INFO: AttrId = AttrId(0x0031);
    /// CableInfo.
    pub const CABLE_INFO: AttrId = AttrId(0x0032);
    /// PortInfoExtended.
    pub const PORT_INFO_EXTENDED: AttrId = AttrId(0x0033);
    /// Mellanox ExtendedPortInfo.
    pub const MLNX_EXT_PORT_INFO: AttrId = AttrId(0xFF90);

    /// Name of an attribute, from the specification or its vendor; `None` if not listed above.
    #[must_use]
    pub const fn name(id: AttrId) -> Option<&'static str> {
        Some(match id {
            NOTICE => "Notice",
            NODE_DESCRIPTION => "NodeDescription",
            NODE_INFO => "NodeInfo",
            SWITCH_INFO => "SwitchInfo",
            GUID_INFO => "GUIDInfo",
            PORT_INFO => "PortInfo",
            PKEY_TABLE => "P_KeyTable",
            SL_TO_VL => "SLtoVLMappingTable",
            VL_ARBITRATION => "VLArbitrationTable",
            LFT => "LinearForwardingTable",
            RANDOM_FORWARDING => "RandomForwardingTable",
            MFT => "MulticastForwardingTable",
            LINK_SPEED_WIDTH_PAIRS => "LinkSpeedWidthPairsTable",
            VENDOR_MADS => "VendorSpecificMadsTable",
            HIERARCHY_INFO => "HierarchyInfo",
            SM_INFO => "SMInfo",
            VENDOR_DIAG => "VendorDiag",
            LED_INFO => "LedInfo",
            CABLE_INFO => "CableInfo",
            PORT_INFO_EXTENDED => "PortInfoExtended",
            MLNX_EXT_PORT_INFO => "ExtendedPortInfo",
            _ => return None,
        })
    }
}
