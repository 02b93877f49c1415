//! Values of replies that come later than their requests, because a store is slow, and replies that did not wait for it.
//!
//! A client that was told that it is registered relies on it, unless the SM had reported that replies do not wait for durable state
//! (`DurabilityEvent::RepliesUnprotected`). What such a reply confirmed counts as lost when that SM is master no more and its store was
//! behind: the client has to register, or to leave, once more. `deferred_replies` says when.

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_mad::time::Instant;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::SmId;

/// Something that a host wants to be registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Want {
    Group(u8),
    Service(u64),
    Reports,
}

/// A client repeats a request after this time.
const REPEAT: Duration = Duration::from_secs(2);

/// A request without a reply.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) at: PortAt,
    pub(super) want: Want,
    pub(super) registers: bool,
    pub(super) creates_group: bool,
    pub(super) master: SmId,
    pub(super) sent: Instant,
}

/// A reply that did not wait for durable state.
#[derive(Debug)]
pub(super) struct UnprotectedReply {
    pub(super) at: PortAt,
    pub(super) want: Want,
    pub(super) registers: bool,
    pub(super) master: SmId,
    /// When this batch is durable, so is what the reply confirmed.
    pub(super) batch: u64,
}

/// See the module's text.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    pub(super) requests: BTreeMap<u64, Request>,
    pub(super) unprotected: Vec<UnprotectedReply>,
    /// Replies that came later than in the moment of their request.
    pub(crate) late: u32,
    /// Replies that did not wait for durable state, and how many of them were lost.
    pub(crate) sent_unprotected: u32,
    pub(crate) lost: u32,
    /// Acknowledged registrations that were compared with the durable records.
    pub(crate) compared: u32,
}

impl Deferred {
    /// A client begins anew: replies to its earlier requests tell it nothing.
    pub(super) fn forget_requests(&mut self, at: PortAt) {
        self.requests.retain(|_, request| request.at != at);
    }

    /// Whether a client waits for the reply to such a request.
    pub(super) fn waits(&self, at: PortAt, want: Want, registers: bool, now: Instant) -> bool {
        self.requests.values().any(|r| {
            (r.at, r.want, r.registers) == (at, want, registers) && now.since(r.sent) < REPEAT
        })
    }
}
