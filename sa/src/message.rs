//! Requests and replies as complete messages: the transport (the kernel, or a simulated host's MAD
//! layer) segments and reassembles them (RMPP).

use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{AttrId, AttrMod, MKey, Tid};
use ferrosm_mad::mad::{MadHeader, Method, MgmtClass, Status};
use ferrosm_mad::sa::{CLASS_VERSION, DATA_LEN, DATA_OFFSET, RmppHeader, RmppType, SaHeader};

use crate::refusal::SaRefusal;

/// A request from a client.
#[derive(Debug, Clone, Copy)]
pub struct SaRequest<'a> {
    /// The requester's address, used for the reply.
    pub from: Peer,
    pub method: Method,
    /// Attribute.
    pub attr: AttrId,
    /// Attribute modifier.
    pub attr_mod: AttrMod,
    /// Transaction ID, copied to the reply.
    pub tid: Tid,
    /// SM_Key: non-zero for trusted requests.
    pub sm_key: MKey,
    pub component_mask: u64,
    /// The attribute, up to the end of the first MAD's data.
    pub data: &'a [u8; DATA_LEN],
    /// The rest of the attribute, from further RMPP segments.
    pub tail: &'a [u8],
}

impl<'a> SaRequest<'a> {
    /// Parses a message; `None` if it is not an SA message.
    #[must_use]
    pub fn parse(from: Peer, bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<DATA_OFFSET>()?;
        let (data, tail) = rest.split_first_chunk::<DATA_LEN>()?;
        let header = MadHeader::decode(head);
        if header.mgmt_class != MgmtClass::SubnAdm || header.base_version != 1 {
            return None;
        }
        let sa = SaHeader::from_mad(head);
        Some(Self {
            from,
            method: header.method,
            attr: header.attr_id,
            attr_mod: header.attr_mod,
            tid: header.tid,
            sm_key: sa.sm_key,
            component_mask: sa.component_mask,
            data,
            tail,
        })
    }

    /// Whether the request is trusted: it has the SM_Key, which [`super::answer`] has checked
    /// (docs/sm-behaviour.md 7.1).
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.sm_key != MKey::NONE
    }

    /// Whether the mask contains all of `components`.
    #[must_use]
    pub const fn has(&self, components: u64) -> bool {
        self.component_mask & components == components
    }

    /// Whether the method returns a table.
    #[must_use]
    pub fn wants_table(&self) -> bool {
        matches!(
            self.method,
            Method::GetTable | Method::GetMulti | Method::GetTraceTable
        )
    }
}

/// A reply to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaReply {
    /// MAD status.
    pub status: Status,
    /// Distance between records in bytes: a multiple of 8; 0 without records.
    pub stride: usize,
    /// The records, concatenated.
    pub body: Vec<u8>,
    /// Attribute of the records, if it differs from the request's.
    pub attr: Option<AttrId>,
    /// Why the request, or a part of it, is refused. The status is this one's.
    pub refusal: Option<SaRefusal>,
}

impl SaReply {
    /// A reply without records. It is not sent if requests that are refused for this reason get no
    /// reply.
    #[must_use]
    pub fn refused(refusal: SaRefusal) -> Self {
        Self {
            status: refusal.status().unwrap_or(Status::OK),
            stride: 0,
            body: Vec::new(),
            attr: None,
            refusal: Some(refusal),
        }
    }

    /// Whether it is sent.
    #[must_use]
    pub fn is_sent(&self) -> bool {
        self.refusal
            .is_none_or(|refusal| refusal.status().is_some())
    }

    /// A reply with one record.
    #[must_use]
    pub fn with_record(record: &[u8]) -> Self {
        Self {
            status: Status::OK,
            stride: record.len().next_multiple_of(8),
            body: record.to_vec(),
            attr: None,
            refusal: None,
        }
    }

    /// The records found for a request. A Get succeeds with exactly one record, other methods with
    /// any number (docs/sm-behaviour.md 7.6).
    #[must_use]
    pub fn from_records(request: &SaRequest<'_>, records: ReplyRecords) -> Self {
        if records.is_full() {
            return Self::refused(SaRefusal::TooLarge);
        }
        if request.wants_table() {
            let stride = if records.body.is_empty() {
                0
            } else {
                records.stride
            };
            return Self {
                status: Status::OK,
                stride,
                body: records.body,
                attr: None,
                refusal: None,
            };
        }
        match records.count() {
            0 => Self::refused(SaRefusal::NoRecords),
            1 => Self {
                status: Status::OK,
                stride: records.stride,
                body: records.body,
                attr: None,
                refusal: None,
            },
            _ => Self::refused(SaRefusal::TooManyRecords),
        }
    }

    /// Number of records.
    #[must_use]
    pub fn count(&self) -> usize {
        self.body.len().checked_div(self.stride).unwrap_or(0)
    }

    /// The message for the transport: one MAD, or the 56-byte header and all records, which RMPP
    /// segments.
    #[must_use]
    pub fn to_bytes(&self, request: &SaRequest<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode_into(request, &mut bytes);
        bytes
    }

    /// [`Self::to_bytes`] into a reused buffer, whose contents are replaced.
    pub fn encode_into(&self, request: &SaRequest<'_>, bytes: &mut Vec<u8>) {
        let method = match request.method {
            Method::Set => Method::GetResp,
            Method::GetTraceTable => Method::GetTableResp,
            other => Method(other.0 | 0x80),
        };
        let table = request.wants_table();
        let data_len = if table {
            self.body.len()
        } else {
            self.body.len().max(DATA_LEN)
        };
        let len = DATA_OFFSET + data_len;
        let mut head = [0; DATA_OFFSET];
        let header = MadHeader {
            base_version: 1,
            mgmt_class: MgmtClass::SubnAdm,
            class_version: CLASS_VERSION,
            method,
            status: self.status.0,
            class_specific: 0,
            tid: request.tid,
            attr_id: self.attr.unwrap_or(request.attr),
            attr_mod: request.attr_mod,
        };
        header.encode_onto(&mut head);
        if table {
            // The transport sets segment numbers and flags; a valid RMPP header makes it use RMPP
            // (IBA 13.6.2).
            let rmpp = RmppHeader {
                version: RmppHeader::VERSION,
                rmpp_type: RmppType::Data,
                active: true,
                ..RmppHeader::default()
            };
            rmpp.write_to(&mut head);
        }
        let sa = SaHeader {
            sm_key: MKey::NONE,
            // saturates: no record has 512 KiB.
            attribute_offset: u16::try_from(self.stride / 8).unwrap_or(u16::MAX),
            component_mask: request.component_mask,
        };
        sa.write_to(&mut head);
        bytes.clear();
        bytes.reserve(len);
        bytes.extend_from_slice(&head);
        bytes.extend_from_slice(&self.body);
        bytes.resize(len, 0);
    }
}

/// Maximum size of the records of one reply. Tables of all nodes, links and ports of the largest
/// subnet fit; all paths between all ports do not.
const REPLY_LEN_MAX: usize = 64 << 20;

/// Records that match a request.
#[derive(Debug, Clone)]
pub struct ReplyRecords {
    stride: usize,
    body: Vec<u8>,
    /// Number of records after which the search may stop.
    limit: usize,
}

impl ReplyRecords {
    /// For records of `stride` bytes. A table collects all matches; a Get stops at two, which is an
    /// error.
    #[must_use]
    pub fn new(request: &SaRequest<'_>, stride: usize) -> Self {
        Self {
            stride,
            body: Vec::new(),
            limit: if request.wants_table() { usize::MAX } else { 2 },
        }
    }

    /// Adds a record.
    pub fn push(&mut self, record: &[u8]) {
        self.body.extend_from_slice(record);
        self.body
            .resize(self.body.len().next_multiple_of(self.stride), 0);
    }

    /// Number of records.
    #[must_use]
    pub fn count(&self) -> usize {
        self.body.len() / self.stride
    }

    /// Whether the records exceed the size limit of a reply: refuse the request
    /// ([`SaRefusal::TooLarge`]).
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.body.len() > REPLY_LEN_MAX
    }

    /// Whether the search may stop.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.count() >= self.limit || self.is_full()
    }
}

/// `value`, if the mask contains `components`.
#[must_use]
pub const fn component_value<T: Copy>(
    request: &SaRequest<'_>,
    components: u64,
    value: T,
) -> Option<T> {
    if request.has(components) {
        Some(value)
    } else {
        None
    }
}
