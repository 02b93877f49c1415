//! An SA client that encodes requests and decodes replies by the offsets in this file and in
//! [`crate::sa::layout`], without the codecs under test.

use ferrosm_core::Input;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{AttrId, Lid, Qpn};
use ferrosm_mad::mad::{Address, Mad, MadOut, Method};

use crate::lab::Lab;

/// SA methods.
pub mod method {
    /// Get.
    pub const GET: u8 = 0x01;
    /// Set.
    pub const SET: u8 = 0x02;
    /// GetTable.
    pub const GET_TABLE: u8 = 0x12;
    /// GetTraceTable.
    pub const GET_TRACE_TABLE: u8 = 0x13;
    /// GetMulti.
    pub const GET_MULTI: u8 = 0x14;
    /// Delete.
    pub const DELETE: u8 = 0x15;
    /// Response bit.
    pub const RESPONSE: u8 = 0x80;
}

/// Status codes.
pub mod status {
    /// Success.
    pub const OK: u16 = 0;
    /// The SA does not support the attribute, or the method for it.
    pub const BAD_METHOD_ATTR: u16 = 0x000C;
    /// The SA has no resources for the request.
    pub const NO_RESOURCES: u16 = 0x0100;
    /// The request is invalid.
    pub const REQ_INVALID: u16 = 0x0200;
    /// No record matches a Get.
    pub const NO_RECORDS: u16 = 0x0300;
    /// More than one record matches a Get.
    pub const TOO_MANY_RECORDS: u16 = 0x0400;
    /// A GID is not of this subnet.
    pub const INVALID_GID: u16 = 0x0500;
    /// Required components are missing.
    pub const INSUFFICIENT_COMPONENTS: u16 = 0x0600;
}

/// A request.
#[derive(Debug, Clone)]
pub struct WireRequest {
    /// LID of the requester.
    pub from: u16,
    pub method: u8,
    /// Attribute.
    pub attr: u16,
    /// Attribute modifier.
    pub modifier: u32,
    /// SM_Key; 0 for untrusted clients.
    pub sm_key: u64,
    /// Component mask.
    pub mask: u64,
    /// The record.
    pub data: Vec<u8>,
}

impl WireRequest {
    /// A request with an empty component mask, without modifier and SM_Key.
    #[must_use]
    pub const fn new(from: u16, method: u8, attr: u16) -> Self {
        Self {
            from,
            method,
            attr,
            modifier: 0,
            sm_key: 0,
            mask: 0,
            data: Vec::new(),
        }
    }

    /// Encodes the message.
    #[must_use]
    pub fn to_bytes(&self, tid: u64) -> Vec<u8> {
        let mut bytes = vec![0; 256.max(56 + self.data.len())];
        bytes[..4].copy_from_slice(&[1, 3, 2, self.method]);
        bytes[8..16].copy_from_slice(&tid.to_be_bytes());
        bytes[16..18].copy_from_slice(&self.attr.to_be_bytes());
        bytes[20..24].copy_from_slice(&self.modifier.to_be_bytes());
        bytes[36..44].copy_from_slice(&self.sm_key.to_be_bytes());
        bytes[48..56].copy_from_slice(&self.mask.to_be_bytes());
        bytes[56..56 + self.data.len()].copy_from_slice(&self.data);
        bytes
    }
}

/// Encodes a request of an untrusted client with TID 0.
#[must_use]
pub fn message(method: Method, attr: AttrId, mask: u64, data: &[u8]) -> Vec<u8> {
    let request = WireRequest {
        mask,
        data: data.to_vec(),
        ..WireRequest::new(0, method.0, attr.0)
    };
    request.to_bytes(0)
}

/// A reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireReply {
    pub status: u16,
    /// Method, including the response bit.
    pub method: u8,
    /// Attribute of the records.
    pub attr: u16,
    /// The records, with the padding up to the next record.
    pub records: Vec<Vec<u8>>,
}

impl WireReply {
    /// Decodes a reply to the request with this TID.
    ///
    /// # Panics
    /// If the reply is malformed.
    #[must_use]
    pub fn parse(bytes: &[u8], tid: u64) -> Self {
        assert!(bytes.len() >= 56, "{} bytes", bytes.len());
        assert_eq!(bytes[..3], [1, 3, 2], "base version, class, class version");
        assert_ne!(bytes[3] & method::RESPONSE, 0, "response bit");
        assert_eq!(bytes[8..16], tid.to_be_bytes(), "TID");
        assert_eq!(bytes[36..44], [0; 8], "replies have no SM_Key");
        let status = u16::from_be_bytes([bytes[4], bytes[5]]);
        let stride = 8 * usize::from(u16::from_be_bytes([bytes[44], bytes[45]]));
        let is_table = bytes[24] == 1;
        let body = &bytes[56..];
        let records: Vec<Vec<u8>> = if stride == 0 {
            Vec::new()
        } else if is_table {
            assert_eq!(body.len() % stride, 0, "incomplete record");
            body.chunks(stride).map(<[u8]>::to_vec).collect()
        } else {
            vec![body[..stride].to_vec()]
        };
        assert!(
            status == 0 || records.is_empty(),
            "error replies have no records"
        );
        if is_table {
            assert_eq!(bytes[25], 1, "DATA");
            assert_eq!(bytes[26] & 7, 1, "active");
        } else {
            assert_eq!(bytes.len(), 256, "replies without RMPP are one MAD");
        }
        Self {
            status,
            method: bytes[3],
            attr: u16::from_be_bytes([bytes[16], bytes[17]]),
            records,
        }
    }
}

/// Delivers a message to the SA, and returns the replies that it sends immediately, without
/// Reports.
pub fn deliver(lab: &mut Lab, from: Peer, bytes: Vec<u8>) -> Vec<(Peer, Vec<u8>)> {
    lab.take_replies();
    lab.handle(lab.sm, Input::Gmp { from, bytes });
    let mut all = lab.take_replies();
    all.retain(|(_, bytes)| bytes.get(3).is_some_and(|m| m & method::RESPONSE != 0));
    all
}

/// Records of VL tables. Tables that the SM did not write are read from the devices at the first
/// query.
pub const READ_ON_DEMAND: [u16; 2] = [0x13, 0x36];

/// The SA's reply to a request; `None` if it does not reply. For [`READ_ON_DEMAND`] records it may
/// take two seconds of virtual time.
///
/// # Panics
/// If the reply is malformed, or there are several replies.
pub fn try_query(lab: &mut Lab, request: &WireRequest) -> Option<WireReply> {
    const TID: u64 = 0x1234_5678_9ABC_DEF0;
    let from = Peer {
        lid: Lid(request.from),
        qpn: Qpn(1),
        ..Peer::default()
    };
    let mut replies = deliver(lab, from, request.to_bytes(TID));
    if replies.is_empty() && READ_ON_DEMAND.contains(&request.attr) {
        // The SA reads the devices first.
        lab.world.run_for(core::time::Duration::from_secs(2));
        replies = lab.take_replies();
    }
    assert!(replies.len() <= 1, "{} replies", replies.len());
    let (to, bytes) = replies.into_iter().next()?;
    assert_eq!(to, from, "destination of the reply");
    Some(WireReply::parse(&bytes, TID))
}

/// The SA's reply to a request.
///
/// # Panics
/// If the SA does not reply, or the reply is malformed.
pub fn query(lab: &mut Lab, request: &WireRequest) -> WireReply {
    try_query(lab, request)
        .unwrap_or_else(|| panic!("{} no reply to {request:?}", lab.describe_run()))
}

/// Reads an attribute (64 bytes) of the device at a LID by a Get; `None` if the device rejects the
/// Get or cannot be reached.
pub fn read_device(lab: &mut Lab, lid: u16, attr: u16, modifier: u32) -> Option<[u8; 64]> {
    let mut bytes = [0; 256];
    bytes[..4].copy_from_slice(&[1, 1, 1, 1]);
    bytes[16..18].copy_from_slice(&attr.to_be_bytes());
    bytes[20..24].copy_from_slice(&modifier.to_be_bytes());
    let out = MadOut {
        to: Address::smp(Lid(lid)),
        mad: Mad::parse(&bytes).ok()?,
    };
    let mut responses = Vec::new();
    let at = lab.at;
    let now = lab.world.now();
    lab.world.fabric_mut().handle(at, &out, now, &mut responses);
    let response = responses.first()?.mad.mad;
    let response = response.as_bytes();
    let ok = response[3] == 0x81 && response[4..6] == [0, 0];
    response[64..128].first_chunk().copied().filter(|_| ok)
}

/// A bit of a record; bit 0 is the most significant bit of byte 0. Bits beyond the end are 0.
#[must_use]
pub fn bit(data: &[u8], at: usize) -> bool {
    data.get(at / 8).is_some_and(|b| b >> (7 - at % 8) & 1 != 0)
}

/// Sets a bit of a record.
pub fn put_bit(data: &mut [u8], at: usize, value: bool) {
    let mask = 1 << (7 - at % 8);
    if value {
        data[at / 8] |= mask;
    } else {
        data[at / 8] &= !mask;
    }
}

/// Reads a field of up to 64 bits.
#[must_use]
pub fn field(data: &[u8], at: usize, width: usize) -> u64 {
    (at..at + width).fold(0, |v, i| v << 1 | u64::from(bit(data, i)))
}

/// Writes a field of up to 64 bits.
pub fn put_field(data: &mut [u8], at: usize, width: usize, value: u64) {
    for i in 0..width {
        put_bit(data, at + i, value >> (width - 1 - i) & 1 != 0);
    }
}
