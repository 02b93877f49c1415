//! Subnet administration: what hosts ask the subnet manager, and what they are told (IBA chapter 15).
//!
//! ```text
//!                 +--- View (immutable, shared): devices, LIDs, tables, lanes, keys
//!   request ------+
//!                 |      [`answer`]  reads of what the fabric is: pure, on any thread
//!                 +----> the owner   everything that changes, and reads of what clients have registered
//! ```
//!
//! A [`View`] is made after each sweep and published; requests are answered from the last one, however long the next sweep
//! takes. What clients register (multicast members, services, subscriptions, alias GUIDs) has one owner, inside
//! the subnet manager, so that writes are serialised without a lock.
//!
//! | module | what it holds |
//! |---|---|
//! | [`message`] | a request as it came, a reply as it goes |
//! | [`admission`] | who is answered next |
//! | [`view`] | the subnet as answers need it, with indices by LID and GUID |
//! | [`aliases`] | GUIDs that stand for ports beside their own |
//! | [`lanes`] | tables of lanes that were read because a client asked |
//! | [`keys`] | which partitions two ports share |
//! | [`records`] | records of what devices say |
//! | [`path`] | paths: PathRecord |
//! | [`registry`] | what clients have registered |
//! | [`settings`] | settings that answers depend on |
//! | [`qos`] | the service level and limits of a path |
//! | [`tables`] | contents of device tables |
//! | [`routing_origin`] | what the installed routing was computed for |
//!
//! Nothing here reads a clock, does I/O or trusts a client: a request of any bytes gets an answer or is dropped and counted.

pub mod admission;
pub mod aliases;
pub mod message;
pub mod path;
pub mod pkey_set;
pub mod qos;
pub mod records;
pub mod registry;
pub mod routing_origin;
pub mod settings;
pub mod tables;
pub mod view;
pub mod vl_tables;

use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::sa::id;
use ferrosm_mad::transport::gmp::Peer;

pub use message::{SaReply, SaRequest};
use records::vl_tables::UnknownTables;
pub use view::{EndPortIdx, View};

/// Who answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// Here is the answer.
    Reply(SaReply),
    /// It concerns what clients have registered: ask the owner.
    ForwardToSm,
    /// It gets no answer: wrong SM_Key, unknown source LID, or an answer or TrapRepress instead of a request.
    Drop,
}

/// Answers a request from a view, if the view is enough for it.
///
/// Pure: call it on any thread.
#[must_use]
pub fn answer(view: &View, request: &SaRequest<'_>) -> Disposition {
    if request.method == Method::ReportResp {
        return Disposition::ForwardToSm;
    }
    // TrapRepress is the end of a conversation, as answers are.
    let is_end = request.method.is_response() || request.method == Method::TrapRepress;
    if is_end || !view.accepts_sm_key(request.sm_key) {
        return Disposition::Drop;
    }
    // As OpenSM: a port that is not known yet, or not any more, gets no status, because hosts take any status as final. It retries.
    if request.attr != id::CLASS_PORT_INFO && view.by_lid(request.from.lid).is_none() {
        return Disposition::Drop;
    }
    let read = matches!(request.method, Method::Get | Method::GetTable);
    let reply = match request.attr {
        id::CLASS_PORT_INFO if request.method == Method::Get => records::class_port_info(view),
        id::PATH if read => match path::record::answer(view, request) {
            Some(reply) => reply,
            None => return Disposition::ForwardToSm,
        },
        id::MULTI_PATH if request.method == Method::GetMulti => path::multi::answer(view, request),
        // Asked for by either name.
        id::TRACE | id::PATH if request.method == Method::GetTraceTable => {
            path::trace::answer(view, request)
        }
        id::MC_MEMBER | id::SERVICE | id::INFORM_INFO | id::INFORM_INFO_RECORD => {
            return Disposition::ForwardToSm;
        }
        id::GUID_INFO if !read => return Disposition::ForwardToSm,
        id::SL_TO_VL | id::VL_ARBITRATION if read => {
            match records::vl_tables::answer(view, request, UnknownTables::ReadFirst) {
                Some(reply) => reply,
                None => return Disposition::ForwardToSm,
            }
        }
        _ if read => match records::answer(view, request) {
            Some(reply) => reply,
            None => SaReply::error(Status::BAD_METHOD_ATTR),
        },
        // Rule 7.4: what is not known is refused, never passed over in silence.
        _ => SaReply::error(Status::BAD_METHOD_ATTR),
    };
    Disposition::Reply(reply)
}

/// Answers a message of any bytes from a view; `None` where it is no request, gets no answer, or is for the owner.
///
/// What a fuzzer calls: bytes in, bytes out, no state.
#[must_use]
pub fn answer_bytes(view: &View, from: Peer, bytes: &[u8]) -> Option<Vec<u8>> {
    let request = SaRequest::parse(from, bytes)?;
    match answer(view, &request) {
        Disposition::Reply(reply) => Some(reply.to_bytes(&request)),
        Disposition::ForwardToSm | Disposition::Drop => None,
    }
}
