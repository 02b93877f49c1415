//! The management datagram (MAD): 256 bytes with a 24-byte common header.

use core::fmt;

use crate::ids::{AttrId, AttrMod, Lid, Qpn, Sl, Tid};

/// Length of a MAD in bytes.
pub const MAD_LEN: usize = 256;

crate::open_enum! {
    /// Management class.
    pub enum MgmtClass(u8) {
        /// Subnet management, LID routed.
        SubnLid = 0x01, "SubnLid";
        /// Subnet administration.
        SubnAdm = 0x03, "SubnAdm";
        /// Performance management.
        Perf = 0x04, "Perf";
        /// Subnet management, directed route.
        SubnDirected = 0x81, "SubnDirected";
    }
}

crate::open_enum! {
    /// Method of a MAD, response bit included.
    pub enum Method(u8) {
        /// Read an attribute.
        Get = 0x01, "Get";
        /// Write an attribute.
        Set = 0x02, "Set";
        /// Unacknowledged message of some classes.
        Send = 0x03, "Send";
        /// A node reports an event to the SM.
        Trap = 0x05, "Trap";
        /// The SA forwards an event to a subscriber.
        Report = 0x06, "Report";
        /// The SM acknowledges a trap, which stops its repetition.
        TrapRepress = 0x07, "TrapRepress";
        /// Read several records.
        GetTable = 0x12, "GetTable";
        /// Trace a path.
        GetTraceTable = 0x13, "GetTraceTable";
        /// Read paths between several ports.
        GetMulti = 0x14, "GetMulti";
        /// Remove a record.
        Delete = 0x15, "Delete";
        /// Response to Get and Set.
        GetResp = 0x81, "GetResp";
        /// Response to Report.
        ReportResp = 0x86, "ReportResp";
        /// Response to GetTable.
        GetTableResp = 0x92, "GetTableResp";
        /// Response to GetMulti.
        GetMultiResp = 0x94, "GetMultiResp";
        /// Response to Delete.
        DeleteResp = 0x95, "DeleteResp";
    }
}

impl Method {
    /// Whether the response bit is set.
    #[must_use]
    pub const fn is_response(self) -> bool {
        self.0 & 0x80 != 0
    }
}

/// Status of a MAD (without the directed-route D bit).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Status(pub u16);

impl Status {
    /// No error.
    pub const OK: Self = Self(0);
    /// Try again later.
    pub const BUSY: Self = Self(0x0001);
    /// Base or class version not supported.
    pub const BAD_VERSION: Self = Self(0x0004);
    /// Method not supported.
    pub const BAD_METHOD: Self = Self(0x0008);
    /// Method not supported for this attribute.
    pub const BAD_METHOD_ATTR: Self = Self(0x000C);
    /// A field of the attribute or the modifier is invalid.
    pub const BAD_FIELD: Self = Self(0x001C);

    /// Whether the agent is busy: retry later.
    #[must_use]
    pub const fn is_busy(self) -> bool {
        self.0 & Self::BUSY.0 != 0
    }

    /// Whether a field of the attribute or the modifier was rejected.
    #[must_use]
    pub const fn is_bad_field(self) -> bool {
        self.0 & Self::BAD_FIELD.0 == Self::BAD_FIELD.0
    }

    /// Whether there is no error.
    #[must_use]
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.0 & 0x1F {
            0 if self.0 & 0xFF00 == 0 => "ok",
            0 => "class-specific status",
            1 => "busy",
            2 => "redirect",
            0x04 => "bad version",
            0x08 => "method not supported",
            0x0C => "method/attribute not supported",
            0x1C => "invalid field",
            _ => "error",
        };
        write!(f, "{:#06x} ({word})", self.0)
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Status({self})")
    }
}

crate::wire! {
    /// The common header of all MADs.
    pub struct MadHeader[24] {
        /// Always 1.
        base_version: u8 = 0, 8;
        /// Management class.
        mgmt_class: MgmtClass = 8, 8;
        /// 1, or 2 for SA and CM.
        class_version: u8 = 16, 8;
        /// Method with the response bit.
        method: Method = 24, 8;
        /// Status; the top bit is D in directed-route SMPs.
        status: u16 = 32, 16;
        /// Hop pointer and hop count in directed-route SMPs.
        class_specific: u16 = 48, 16;
        /// Chosen by the requester, copied to the response.
        tid: Tid = 64, 64;
        /// Attribute ID.
        attr_id: AttrId = 128, 16;
        /// Attribute modifier.
        attr_mod: AttrMod = 160, 32;
    }
}

/// Bytes that are not a MAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeError {
    /// Fewer bytes than a MAD.
    Truncated {
        /// Bytes needed.
        required: usize,
        /// Bytes present.
        actual: usize,
    },
    /// BaseVersion is not 1.
    BadBaseVersion(u8),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated {
                required: need,
                actual: got,
            } => write!(f, "{got} bytes, a MAD has {need}"),
            Self::BadBaseVersion(v) => write!(f, "base version {v}, expected 1"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// A MAD of 256 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Mad {
    bytes: [u8; MAD_LEN],
}

impl Mad {
    /// A MAD with this header and zero data.
    #[must_use]
    pub fn new(header: &MadHeader) -> Self {
        let mut bytes = [0; MAD_LEN];
        header.encode_onto(&mut bytes);
        Self { bytes }
    }

    /// Parses the first 256 bytes of a received message.
    ///
    /// # Errors
    /// If there are fewer bytes, or the base version is not 1.
    pub fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        let Some(bytes) = bytes.first_chunk::<MAD_LEN>() else {
            return Err(DecodeError::Truncated {
                required: MAD_LEN,
                actual: bytes.len(),
            });
        };
        if bytes[0] != 1 {
            return Err(DecodeError::BadBaseVersion(bytes[0]));
        }
        Ok(Self { bytes: *bytes })
    }

    /// All bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; MAD_LEN] {
        &self.bytes
    }

    /// All bytes, mutable.
    pub const fn as_bytes_mut(&mut self) -> &mut [u8; MAD_LEN] {
        &mut self.bytes
    }

    /// The common header.
    #[must_use]
    pub fn header(&self) -> MadHeader {
        MadHeader::decode(&self.bytes)
    }

    /// Replaces the common header.
    pub fn set_header(&mut self, header: &MadHeader) {
        header.encode_onto(&mut self.bytes);
    }

    /// Management class.
    #[must_use]
    pub const fn mgmt_class(&self) -> MgmtClass {
        MgmtClass(self.bytes[1])
    }

    /// Method with the response bit.
    #[must_use]
    pub const fn method(&self) -> Method {
        Method(self.bytes[3])
    }

    /// Transaction ID.
    #[must_use]
    pub fn tid(&self) -> Tid {
        Tid(crate::wire::get_bits(&self.bytes, 64, 64))
    }

    /// Attribute ID.
    #[must_use]
    pub const fn attr_id(&self) -> AttrId {
        AttrId(u16::from_be_bytes([self.bytes[16], self.bytes[17]]))
    }

    /// Attribute modifier.
    #[must_use]
    pub const fn attr_mod(&self) -> AttrMod {
        let b = &self.bytes;
        AttrMod(u32::from_be_bytes([b[20], b[21], b[22], b[23]]))
    }

    /// Status, without the D bit of a directed-route SMP.
    #[must_use]
    pub const fn status(&self) -> Status {
        let s = u16::from_be_bytes([self.bytes[4], self.bytes[5]]);
        Status(if self.mgmt_class().0 == MgmtClass::SubnDirected.0 {
            s & 0x7FFF
        } else {
            s
        })
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Mad {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        // Formats without a type for bytes write a sequence, as they do for a slice.
        s.serialize_bytes(&self.bytes)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Mad {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let bytes = <Vec<u8> as serde::Deserialize>::deserialize(d)?;
        Self::parse(&bytes).map_err(serde::de::Error::custom)
    }
}

impl fmt::Debug for Mad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} attr {} mod {} tid {} status {}",
            self.mgmt_class(),
            self.method(),
            self.attr_id(),
            self.attr_mod(),
            self.tid(),
            self.status()
        )
    }
}

/// The remote address of a MAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Address {
    /// The remote LID; permissive for directed routes.
    pub lid: Lid,
    /// The remote queue pair: 0 for SMPs, 1 for most others.
    pub qpn: Qpn,
    /// Service level.
    pub sl: Sl,
    /// Low bits of the local LID that was used.
    pub path_bits: u8,
}

impl Address {
    /// The address of every directed-route SMP.
    pub const DIRECTED: Self = Self {
        lid: Lid::PERMISSIVE,
        qpn: Qpn(0),
        sl: Sl(0),
        path_bits: 0,
    };

    /// QP0 of a LID.
    #[must_use]
    pub const fn smp(lid: Lid) -> Self {
        Self {
            lid,
            qpn: Qpn(0),
            sl: Sl(0),
            path_bits: 0,
        }
    }
}

/// A MAD that a port received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MadIn {
    /// The sender.
    pub from: Address,
    /// The MAD.
    pub mad: Mad,
}

/// A MAD to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MadOut {
    /// The receiver.
    pub to: Address,
    /// The MAD.
    pub mad: Mad,
}
