//! State of replies that arrive later than their requests because of a slow store, and of replies
//! sent before their records were durable.
//!
//! A client relies on an acknowledged registration, unless the SM had reported that replies do not
//! wait for durable state (`Event::RepliesUnprotected`). Such a reply counts as lost if
//! the SM ceases to be master before its batch is durable: the client has to register, or to
//! withdraw, again. See `deferred_replies`.

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_mad::time::Instant;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::SmId;

/// A registration that a host can request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Registration {
    Group(u8),
    Service(u64),
    Subscription,
}

/// Time after which a client repeats a request.
const REPEAT: Duration = Duration::from_secs(2);

/// A request without a reply.
#[derive(Debug)]
pub(super) struct PendingRequest {
    pub(super) at: PortAt,
    pub(super) registration: Registration,
    pub(super) registers: bool,
    pub(super) creates_group: bool,
    pub(super) master: SmId,
    pub(super) sent: Instant,
}

/// A reply that was sent before its record was durable.
#[derive(Debug)]
pub(super) struct UnprotectedReply {
    pub(super) at: PortAt,
    pub(super) registration: Registration,
    pub(super) registers: bool,
    pub(super) master: SmId,
    /// The batch that contains the confirmed record.
    pub(super) batch: u64,
}

/// Outstanding requests and unprotected replies of all clients.
#[derive(Debug, Default)]
pub(crate) struct DeferredReplies {
    pub(super) requests: BTreeMap<u64, PendingRequest>,
    pub(super) unprotected: Vec<UnprotectedReply>,
    /// Replies that arrived after the time of their request.
    pub(crate) late: u32,
    /// Unprotected replies; `lost` of them were lost.
    pub(crate) sent_unprotected: u32,
    pub(crate) lost: u32,
    /// Acknowledged registrations compared with the durable records.
    pub(crate) compared: u32,
}

impl DeferredReplies {
    /// A client starts over: replies to its earlier requests are ignored.
    pub(super) fn forget_requests(&mut self, at: PortAt) {
        self.requests.retain(|_, request| request.at != at);
    }

    /// Returns true if the same request was sent recently and has no reply.
    pub(super) fn is_pending(
        &self,
        at: PortAt,
        registration: Registration,
        registers: bool,
        now: Instant,
    ) -> bool {
        self.requests.values().any(|r| {
            (r.at, r.registration, r.registers) == (at, registration, registers)
                && now.since(r.sent) < REPEAT
        })
    }
}
