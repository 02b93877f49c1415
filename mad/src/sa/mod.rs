//! Subnet administration: headers and record layouts (IBA 15.2).
//!
//! | module | contents |
//! |---|---|
//! | [`rmpp`] | header of messages longer than a MAD |
//! | [`component`] | component masks |
//! | [`tables`] | records of nodes, ports, switches, links and device tables |
//! | [`path`] | PathRecord, MultiPathRecord, TraceRecord, and their codes |
//! | [`multicast`] | MCMemberRecord and multicast GIDs |
//! | [`service`] | ServiceRecord |
//! | [`inform`] | InformInfo, InformInfoRecord, and the notice of a report |
//!
//! Decoding a record from a client cannot fail; the SA validates the values.

pub mod component;
pub mod inform;
pub mod multicast;
pub mod path;
pub mod rmpp;
pub mod service;
pub mod tables;

pub use component::{SaRecord, Template};
pub use rmpp::{RmppHeader, RmppStatus, RmppType};

use crate::ids::MKey;
use crate::mad::{Mad, Status};
use crate::wire::{part, part_mut};

crate::wire! {
    /// SA header: bytes 36 to 55 of the MAD, before 200 bytes of data.
    pub struct SaHeader[20] {
        /// 0 for untrusted requests.
        sm_key: MKey = 0, 64;
        /// Distance between records in units of 8 bytes.
        attribute_offset: u16 = 64, 16;
        /// Component mask: fields that a query compares.
        component_mask: u64 = 96, 64;
    }
}

impl SaHeader {
    /// Offset in a MAD.
    pub const OFFSET: usize = 36;

    /// Reads the header from a MAD or its beginning.
    #[must_use]
    pub fn from_mad<const N: usize>(mad: &[u8; N]) -> Self {
        Self::decode(part::<{ Self::OFFSET }, { Self::LEN }, _>(mad))
    }

    /// Writes the header to a MAD or its beginning.
    pub fn write_to<const N: usize>(&self, mad: &mut [u8; N]) {
        self.encode_onto(part_mut::<{ Self::OFFSET }, { Self::LEN }, _>(mad));
    }
}

/// The data of an SA MAD.
#[must_use]
pub const fn data(mad: &Mad) -> &[u8; DATA_LEN] {
    part::<DATA_OFFSET, DATA_LEN, _>(mad.as_bytes())
}

/// The data of an SA MAD, mutable.
pub const fn data_mut(mad: &mut Mad) -> &mut [u8; DATA_LEN] {
    part_mut::<DATA_OFFSET, DATA_LEN, _>(mad.as_bytes_mut())
}

/// Offset of the data in an SA MAD.
pub const DATA_OFFSET: usize = 56;
/// Length of the data in one SA MAD.
pub const DATA_LEN: usize = 200;

/// Version of the class.
pub const CLASS_VERSION: u8 = 2;

/// Status codes of this class (IBA 15.4.8, table 188).
impl Status {
    /// Insufficient resources.
    pub const NO_RESOURCES: Self = Self(0x0100);
    /// The request is invalid.
    pub const REQ_INVALID: Self = Self(0x0200);
    /// No record matches.
    pub const NO_RECORDS: Self = Self(0x0300);
    /// A Get matches more than one record.
    pub const TOO_MANY_RECORDS: Self = Self(0x0400);
    /// A GID is invalid or not of this subnet.
    pub const INVALID_GID: Self = Self(0x0500);
    /// Required components are missing.
    pub const INSUFFICIENT_COMPONENTS: Self = Self(0x0600);
    /// The requester is not permitted to do this.
    pub const DENIED: Self = Self(0x0700);
}

/// Identifiers of the attributes of this class (IBA 15.2.5, table 186).
pub mod id {
    use crate::ids::AttrId;
    /// ClassPortInfo.
    pub const CLASS_PORT_INFO: AttrId = AttrId(0x0001);
    /// Notice, in reports.
    pub const NOTICE: AttrId = AttrId(0x0002);
    /// InformInfo.
    pub const INFORM_INFO: AttrId = AttrId(0x0003);
    /// NodeRecord.
    pub const NODE: AttrId = AttrId(0x0011);
    /// PortInfoRecord.
    pub const PORT_INFO: AttrId = AttrId(0x0012);
    /// SLtoVLMappingTableRecord.
    pub const SL_TO_VL: AttrId = AttrId(0x0013);
    /// SwitchInfoRecord.
    pub const SWITCH_INFO: AttrId = AttrId(0x0014);
    /// LinearForwardingTableRecord.
    pub const LFT: AttrId = AttrId(0x0015);
    /// RandomForwardingTableRecord.
    pub const RANDOM_FORWARDING: AttrId = AttrId(0x0016);
    /// MulticastForwardingTableRecord.
    pub const MFT: AttrId = AttrId(0x0017);
    /// SMInfoRecord.
    pub const SM_INFO: AttrId = AttrId(0x0018);
    /// LinkRecord.
    pub const LINK: AttrId = AttrId(0x0020);
    /// GuidInfoRecord.
    pub const GUID_INFO: AttrId = AttrId(0x0030);
    /// ServiceRecord.
    pub const SERVICE: AttrId = AttrId(0x0031);
    /// P_KeyTableRecord.
    pub const PKEY_TABLE: AttrId = AttrId(0x0033);
    /// PathRecord.
    pub const PATH: AttrId = AttrId(0x0035);
    /// VLArbitrationTableRecord.
    pub const VL_ARBITRATION: AttrId = AttrId(0x0036);
    /// MCMemberRecord.
    pub const MC_MEMBER: AttrId = AttrId(0x0038);
    /// TraceRecord.
    pub const TRACE: AttrId = AttrId(0x0039);
    /// MultiPathRecord.
    pub const MULTI_PATH: AttrId = AttrId(0x003A);
    /// ServiceAssociationRecord.
    pub const SERVICE_ASSOCIATION: AttrId = AttrId(0x003B);
    /// InformInfoRecord.
    pub const INFORM_INFO_RECORD: AttrId = AttrId(0x00F3);

    /// The specification's name of an attribute, if defined.
    #[must_use]
    pub const fn name(id: AttrId) -> Option<&'static str> {
        Some(match id {
            CLASS_PORT_INFO => "ClassPortInfo",
            NOTICE => "Notice",
            INFORM_INFO => "InformInfo",
            NODE => "NodeRecord",
            PORT_INFO => "PortInfoRecord",
            SL_TO_VL => "SLtoVLMappingTableRecord",
            SWITCH_INFO => "SwitchInfoRecord",
            LFT => "LinearForwardingTableRecord",
            RANDOM_FORWARDING => "RandomForwardingTableRecord",
            MFT => "MulticastForwardingTableRecord",
            SM_INFO => "SMInfoRecord",
            LINK => "LinkRecord",
            GUID_INFO => "GuidInfoRecord",
            SERVICE => "ServiceRecord",
            PKEY_TABLE => "P_KeyTableRecord",
            PATH => "PathRecord",
            VL_ARBITRATION => "VLArbitrationTableRecord",
            MC_MEMBER => "MCMemberRecord",
            TRACE => "TraceRecord",
            MULTI_PATH => "MultiPathRecord",
            SERVICE_ASSOCIATION => "ServiceAssociationRecord",
            INFORM_INFO_RECORD => "InformInfoRecord",
            _ => return None,
        })
    }
}
