//! A request as it came and a reply as it goes: whole messages, RMPP already joined or still to be cut.
//!
//! Who cuts and joins is the transport (the kernel, where there is one).

use ferrosm_mad::ids::{AttrId, AttrMod, MKey, PKey, Tid};
use ferrosm_mad::mad::{MadHeader, Method, MgmtClass, Status};
use ferrosm_mad::sa::{CLASS_VERSION, DATA_LEN, DATA_OFFSET, RmppHeader, RmppType, SaHeader};
use ferrosm_mad::transport::gmp::Peer;

/// A request of a client.
#[derive(Debug, Clone, Copy)]
pub struct SaRequest<'a> {
    /// Where it came from, and where the reply goes.
    pub from: Peer,
    /// Method.
    pub method: Method,
    /// Attribute.
    pub attr: AttrId,
    /// Modifier.
    pub attr_mod: AttrMod,
    /// Echoed in the reply.
    pub tid: Tid,
    /// Shows that the client is trusted; none for most.
    pub sm_key: MKey,
    /// Which components are given.
    pub component_mask: u64,
    /// The attribute, as far as the first MAD holds it.
    pub data: &'a [u8; DATA_LEN],
    /// The rest of the attribute, from further RMPP segments.
    pub tail: &'a [u8],
}

impl<'a> SaRequest<'a> {
    /// Takes a message apart; `None` if it is no request to subnet administration.
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

    /// Whether the client is trusted: it knows the SM_Key, which [`super::answer`] has checked (rule 7.1).
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.sm_key != MKey::NONE
    }

    /// Whether all these components are given.
    #[must_use]
    pub const fn has(&self, components: u64) -> bool {
        self.component_mask & components == components
    }

    /// Whether the reply is a table.
    #[must_use]
    pub fn wants_table(&self) -> bool {
        matches!(
            self.method,
            Method::GetTable | Method::GetMulti | Method::GetTraceTable
        )
    }
}

/// What a client is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaReply {
    /// Outcome.
    pub status: Status,
    /// Bytes from one record to the next: a multiple of 8; 0 without records.
    pub stride: usize,
    /// The records, one after the other.
    pub body: Vec<u8>,
    /// The attribute of the records, where it is not the request's.
    pub attr: Option<AttrId>,
}

impl SaReply {
    /// No record, and why.
    #[must_use]
    pub const fn error(status: Status) -> Self {
        Self {
            status,
            stride: 0,
            body: Vec::new(),
            attr: None,
        }
    }

    /// One record.
    #[must_use]
    pub fn with_record(record: &[u8]) -> Self {
        Self {
            status: Status::OK,
            stride: record.len().next_multiple_of(8),
            body: record.to_vec(),
            attr: None,
        }
    }

    /// What was found for a request: for Get exactly one record, for the others any number (rule 7.6).
    #[must_use]
    pub fn from_records(request: &SaRequest<'_>, found: ReplyRecords) -> Self {
        if found.is_full() {
            return Self::error(Status::NO_RESOURCES);
        }
        if request.wants_table() {
            let stride = if found.body.is_empty() {
                0
            } else {
                found.stride
            };
            return Self {
                status: Status::OK,
                stride,
                body: found.body,
                attr: None,
            };
        }
        match found.count() {
            0 => Self::error(Status::NO_RECORDS),
            1 => Self {
                status: Status::OK,
                stride: found.stride,
                body: found.body,
                attr: None,
            },
            _ => Self::error(Status::TOO_MANY_RECORDS),
        }
    }

    /// Number of records.
    #[must_use]
    pub fn count(&self) -> usize {
        self.body.len().checked_div(self.stride).unwrap_or(0)
    }

    /// The message for the transport: one MAD, or a header of 56 bytes and all records, which RMPP will cut.
    #[must_use]
    pub fn to_bytes(&self, request: &SaRequest<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode_into(request, &mut bytes);
        bytes
    }

    /// The same into a buffer of the caller's, whatever was in it.
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
            // Segment numbers and flags are the transport's; it must only see that this goes by RMPP (wire reference 4.2).
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

/// Most bytes of records in one reply: a table of all nodes, links and ports of the largest subnet fits, all paths between all
/// ports do not.
const REPLY_LEN_MAX: usize = 64 << 20;

/// Records that match a request, as they are found.
#[derive(Debug, Clone)]
pub struct ReplyRecords {
    stride: usize,
    body: Vec<u8>,
    /// More than this many need not be found.
    most: usize,
}

impl ReplyRecords {
    /// For records of this length: all of them for a table, for a Get no more than it takes to know that there are several.
    #[must_use]
    pub fn new(request: &SaRequest<'_>, stride: usize) -> Self {
        Self {
            stride,
            body: Vec::new(),
            most: if request.wants_table() { usize::MAX } else { 2 },
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

    /// Whether there are more than a reply may hold: answer [`Status::NO_RESOURCES`].
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.body.len() > REPLY_LEN_MAX
    }

    /// Whether nothing more needs to be found.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.count() >= self.most || self.is_full()
    }
}

/// The value of a key that a component may give.
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

/// The partition that a P_Key is of, without membership.
#[must_use]
pub const fn partition_number(key: PKey) -> u16 {
    key.0 & 0x7FFF
}
