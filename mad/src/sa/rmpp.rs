//! Header of the reliable multi-packet protocol (IBA 13.6.2).
//!
//! Layout and codes only. The transport segments and reassembles: the kernel, or `sim::umad` in a
//! simulated host.

use crate::wire::{part, part_mut};

crate::open_enum! {
    /// Kind of an RMPP packet.
    pub enum RmppType(u8) {
        /// RMPP is not used.
        None = 0, "none";
        /// A segment of data.
        Data = 1, "DATA";
        /// Segments have arrived.
        Ack = 2, "ACK";
        /// Ends the transfer for lack of resources; sent by either side.
        Stop = 3, "STOP";
        /// The transfer has failed.
        Abort = 4, "ABORT";
    }
}

crate::wire! {
    /// RMPP header: bytes 24 to 35 of a MAD of a class with RMPP.
    pub struct RmppHeader[12] {
        /// 1; 0 if RMPP is not used.
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
        /// Why the transfer stopped.
        status: u8 = 24, 8;
        /// Segment number from 1 (DATA, ACK).
        segment_number: u32 = 32, 32;
        /// PayloadLength (DATA) or NewWindowLast (ACK).
        payload_length: u32 = 64, 32;
    }
}

impl RmppHeader {
    /// Offset in a MAD.
    pub const OFFSET: usize = 24;
    /// The only version.
    pub const VERSION: u8 = 1;

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

crate::open_enum! {
    /// Why an RMPP transfer ended (RMPPStatus, IBA 13.6.2.3).
    pub enum RmppStatus(u8) {
        /// No reason.
        Normal = 0, "normal";
        /// Resources are exhausted (STOP).
        ResX = 1, "ResX";
        /// Total time exceeded (ABORT, as all that follow).
        T2L = 118, "T2L";
        /// Last and PayloadLength are inconsistent.
        BadLength = 119, "inconsistent Last and PayloadLength";
        /// First and SegmentNumber are inconsistent.
        BadSegment = 120, "inconsistent First and SegmentNumber";
        /// Unknown RMPPType.
        BadType = 121, "bad RMPPType";
        /// NewWindowLast is before SegmentNumber.
        W2S = 122, "W2S";
        /// SegmentNumber of an ACK was not sent yet.
        S2B = 123, "S2B";
        /// RMPPStatus does not match the type.
        IllegalStatus = 124, "illegal RMPPStatus";
        /// Unknown RMPPVersion.
        Unv = 125, "UnV";
        /// Too many retries.
        Tmr = 126, "TMR";
        /// None of these.
        Unspecified = 127, "unspecified";
    }
}
