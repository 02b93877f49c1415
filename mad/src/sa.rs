//! The header of subnet administration MADs and the RMPP header inside it (IBA 15.2.1, 13.6.2).

use crate::ids::MKey;

crate::open_enum! {
    /// Kind of an RMPP packet.
    pub enum RmppType(u8) {
        /// RMPP is not used.
        None = 0, "none";
        /// A segment of data.
        Data = 1, "DATA";
        /// Segments have arrived.
        Ack = 2, "ACK";
        /// The sender stops for lack of resources.
        Stop = 3, "STOP";
        /// The transfer has failed.
        Abort = 4, "ABORT";
    }
}

crate::wire! {
    /// RMPP header: bytes 24 to 35 of a MAD of a class that uses it.
    pub struct RmppHeader[12] {
        /// 1; 0 where RMPP is not used.
        version: u8 = 0, 8;
        /// Kind of packet.
        rmpp_type: RmppType = 8, 8;
        /// 4.096 µs × 2^n; 31 no value.
        resp_time: u8 = 16, 5;
        /// The segment is the last.
        last: bool = 21, 1;
        /// The segment is the first.
        first: bool = 22, 1;
        /// RMPP is used.
        active: bool = 23, 1;
        /// Why a transfer stopped.
        status: u8 = 24, 8;
        /// Segment number from 1 (DATA, ACK).
        segment_number: u32 = 32, 32;
        /// PayloadLength (DATA) or NewWindowLast (ACK).
        payload_length: u32 = 64, 32;
    }
}

impl RmppHeader {
    /// Where it begins in a MAD.
    pub const OFFSET: usize = 24;
}

crate::wire! {
    /// SA header: bytes 36 to 55 of the MAD, before 200 bytes of data.
    pub struct SaHeader[20] {
        /// 0 for untrusted requests.
        sm_key: MKey = 0, 64;
        /// Distance between records in units of 8 bytes.
        attribute_offset: u16 = 64, 16;
        /// Which fields of the attribute count.
        component_mask: u64 = 96, 64;
    }
}

impl SaHeader {
    /// Where it begins in a MAD.
    pub const OFFSET: usize = 36;
}

/// Where the data of an SA MAD begins.
pub const DATA_OFFSET: usize = 56;
/// Bytes of data of one SA MAD.
pub const DATA_LEN: usize = 200;
