//! Subnet administration (IBA chapter 15): queries and registrations of SA clients.
//!
//! ```text
//!                 +--- View (immutable, shared): nodes, LIDs, forwarding tables, VL tables, P_Keys
//!   request ------+
//!                 |      [`answer`]  queries about the fabric: pure, on any thread
//!                 +----> SM thread   registrations, and queries about them
//! ```
//!
//! The SM builds a [`View`] after each sweep and publishes it; requests are answered from the last
//! published view while a sweep runs. The SM thread owns the registrations (multicast members,
//! services, subscriptions, alias GUIDs), so writes need no lock.
//!
//! | module | contents |
//! |---|---|
//! | [`message`] | requests and replies |
//! | [`request_kind`] | attribute and method, as metrics count them |
//! | [`refusal`], [`refusal_log`] | why a request is refused; counts, and limits of reports |
//! | [`admission`] | request queue: fairness, rate limits, classes |
//! | [`view`] | snapshot of the fabric with the settings that replies depend on |
//! | [`records`] | records of nodes, ports, links and device tables |
//! | [`path`] | PathRecord, MultiPathRecord, TraceRecord |
//! | [`registry`] | registrations of clients |
//! | [`registry_read`] | queries about registrations, from a snapshot of them |
//! | [`settings`] | settings that replies depend on |
//! | [`qos`] | SL and limits of a path |
//!
//! This crate reads no clock, does no I/O and trusts no client: every request, whatever its bytes,
//! is answered, or dropped and counted.

pub mod admission;
pub mod client_use;
pub mod message;
pub mod outcome;
pub mod path;
pub mod qos;
pub mod records;
pub mod refusal;
pub mod refusal_log;
pub mod registry;
pub mod registry_read;
pub mod request_kind;
pub mod settings;
pub mod view;

use ferrosm_mad::gmp::Peer;
use ferrosm_mad::mad::Method;
use ferrosm_mad::sa::id;

pub use message::{SaReply, SaRequest};
use refusal::SaRefusal;
pub use view::View;

/// How a request is handled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disposition {
    /// Send this reply.
    Reply(SaReply),
    /// The SM must process it: it concerns registrations.
    ForwardToSm,
    /// Drop it. `None`: wrong SM_Key, or a response or TrapRepress instead of a request.
    Drop(Option<SaRefusal>),
}

/// Answers a request if the view is sufficient.
///
/// Pure: may be called on any thread.
#[must_use]
pub fn answer(view: &View, request: &SaRequest<'_>) -> Disposition {
    if request.method == Method::ReportResp {
        return Disposition::ForwardToSm;
    }
    // TrapRepress ends a transaction, as responses do.
    let ends_transaction = request.method.is_response() || request.method == Method::TrapRepress;
    if ends_transaction || !view.accepts_sm_key(request.sm_key) {
        return Disposition::Drop(None);
    }
    if let Some(unknown) = unknown_requester(view, request) {
        return Disposition::Drop(Some(unknown));
    }
    let read = matches!(request.method, Method::Get | Method::GetTable);
    let reply = match request.attr {
        id::CLASS_PORT_INFO if request.method == Method::Get => records::class_port_info(view),
        id::PATH if read => match path::record::answer(view, request) {
            Some(reply) => reply,
            None => return Disposition::ForwardToSm,
        },
        id::MULTI_PATH if request.method == Method::GetMulti => path::multi::answer(view, request),
        // Clients use either attribute ID.
        id::TRACE | id::PATH if request.method == Method::GetTraceTable => {
            path::trace::answer(view, request)
        }
        id::MC_MEMBER | id::SERVICE | id::INFORM_INFO | id::INFORM_INFO_RECORD => {
            return Disposition::ForwardToSm;
        }
        id::GUID_INFO if !read => return Disposition::ForwardToSm,
        id::SL_TO_VL | id::VL_ARBITRATION if read => records::vl_tables::answer(view, request),
        _ if read => match records::answer(view, request) {
            Some(reply) => reply,
            None => SaReply::refused(SaRefusal::Unsupported),
        },
        // Unknown attributes are rejected, never dropped (docs/sm-behaviour.md 7.4).
        _ => SaReply::refused(SaRefusal::Unsupported),
    };
    Disposition::Reply(reply)
}

/// Requests of ports that the view lacks are dropped, as OpenSM does for LIDs: hosts take any error
/// status as final, but retry after a timeout. A virtual function may register its GID after its
/// first request, in any case after a failover.
fn unknown_requester(view: &View, request: &SaRequest<'_>) -> Option<SaRefusal> {
    if request.attr == id::CLASS_PORT_INFO && request.method == Method::Get {
        return None;
    }
    if view.by_lid(request.from.lid).is_none() {
        return Some(SaRefusal::UnknownSource(request.from.lid));
    }
    // The source GID matters only to requests that change registrations.
    let changes = matches!(request.method, Method::Set | Method::Delete);
    let gid = request.from.grh.filter(|_| changes)?.gid;
    let is_unknown = view.is_local_prefix(gid.prefix()) && view.by_gid(gid).is_none();
    is_unknown.then_some(SaRefusal::UnknownRequester(gid))
}

/// Answers a message of arbitrary bytes from a view. `None` if it is not a request, is dropped, or
/// must be processed by the SM.
///
/// Entry point for fuzzing.
#[must_use]
pub fn answer_bytes(view: &View, from: Peer, bytes: &[u8]) -> Option<Vec<u8>> {
    let request = SaRequest::parse(from, bytes)?;
    match answer(view, &request) {
        Disposition::Reply(reply) => Some(reply.to_bytes(&request)),
        Disposition::ForwardToSm | Disposition::Drop(_) => None,
    }
}
