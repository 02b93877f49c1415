//! The SMPs that the SM sends: what each reads or writes ([`op`]), the DR paths to their targets
//! ([`route`]), those that are outstanding ([`queue`]), and how they end ([`outcome`]).

pub(crate) mod op;
pub(crate) mod outcome;
pub(crate) mod queue;
pub(crate) mod route;
pub(crate) mod sender;

use core::time::Duration;

use ferrosm_mad::ids::Tid;
use ferrosm_mad::time::Instant;

use ferrosm_fabric::tables::sl_to_vl::SlToVlSelector;
use op::SmpOp;
use queue::{Dispatch, Limits, QueuedRequest, SmpQueue, TimedOut};

/// The TID of MADs that expect no response; no tracked request has it.
pub(crate) const UNTRACKED: Tid = Tid(u32::MAX as u64);
/// TIDs of the SMInfo queries of [`crate::mastership`] that bypass the queue; no tracked request
/// has one of them.
const SENDER_QUERIES: u64 = 0xFFFF_8000;
const _: () = assert!(SENDER_QUERIES >> queue::GENERATION_SHIFT == queue::GENERATIONS as u64);

/// The TID of a query that bypasses the queue.
pub(crate) const fn sender_query_tid(number: u16) -> Tid {
    Tid(SENDER_QUERIES + number as u64 % (UNTRACKED.0 - SENDER_QUERIES))
}

/// Which DR path a transaction uses, by attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathPolicy {
    /// The shortest path, always.
    Shortest,
    /// The shortest path, and from this attempt on in turn one that avoids its first links, if
    /// there is one, and the shortest. What is found meanwhile may make another path the shortest.
    DetourFromAttempt(u8),
    /// All known paths in turn, beginning with this one. Two attempts use the same path, because a
    /// lost packet is more likely than a dead link.
    EachPathTwice(u8),
    /// All known paths in turn, a different one for each attempt.
    EachPathOnce,
}

/// One request of the SM: what it reads or writes, and over which paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SmpTransaction {
    pub(crate) op: SmpOp,
    pub(crate) paths: PathPolicy,
}

impl QueuedRequest for SmpTransaction {
    /// A switch writes as many tables as it has ports for one optimised Set of SLtoVLMappingTables.
    /// OpenSM also waits 2.5 times as long (`long_transaction_timeout`).
    fn timeout(&self, usual: Duration) -> Duration {
        if let SmpOp::SetSlToVl(_, SlToVlSelector::Output(_)) = self.op {
            usual * 5 / 2
        } else {
            usual
        }
    }
}

/// The queue of the SM's transactions.
#[derive(Debug)]
pub(crate) struct Smps {
    queue: SmpQueue<SmpTransaction>,
    /// The policy of transactions that name none of their own.
    paths: PathPolicy,
}

impl Smps {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            queue: SmpQueue::new(limits),
            paths: PathPolicy::Shortest,
        }
    }

    /// Sets the paths of transactions that are enqueued from now on by [`Self::enqueue`].
    pub(crate) const fn set_paths(&mut self, paths: PathPolicy) {
        self.paths = paths;
    }

    pub(crate) fn enqueue(&mut self, op: SmpOp) {
        self.enqueue_over(op, self.paths);
    }

    /// Enqueues a transaction that is sent before all others, outside of the windows.
    pub(crate) fn enqueue_first(&mut self, op: SmpOp) {
        let paths = self.paths;
        self.queue.enqueue_first(SmpTransaction { op, paths });
    }

    /// Enqueues a transaction with paths of its own.
    pub(crate) fn enqueue_over(&mut self, op: SmpOp, paths: PathPolicy) {
        let device = op.spec().target.device();
        self.queue.enqueue(device, SmpTransaction { op, paths });
    }

    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.queue.set_limits(limits);
    }

    pub(crate) const fn is_idle(&self) -> bool {
        self.queue.is_idle()
    }

    pub(crate) const fn pending(&self) -> usize {
        self.queue.pending()
    }

    pub(crate) const fn enqueued_total(&self) -> u64 {
        self.queue.enqueued_total()
    }

    pub(crate) fn clear(&mut self) {
        self.queue.clear();
    }

    /// The next attempt to send. Without `may_write` Sets wait in the queue, except those of
    /// SMInfo, and Gets pass them.
    pub(crate) fn next(
        &mut self,
        now: Instant,
        may_write: bool,
    ) -> Option<Dispatch<SmpTransaction>> {
        self.queue.next(now, |transaction| {
            may_write || !transaction.op.spec().configures()
        })
    }

    pub(crate) fn complete(&mut self, tid: Tid) -> Option<SmpTransaction> {
        self.queue.complete(tid)
    }

    pub(crate) fn peek(&self, tid: Tid) -> Option<SmpTransaction> {
        self.queue.peek(tid).copied()
    }

    pub(crate) fn time_out(
        &mut self,
        tid: Tid,
        now: Instant,
        min_retries: u8,
    ) -> TimedOut<SmpTransaction> {
        self.queue.time_out(tid, now, min_retries)
    }

    pub(crate) fn on_busy(&mut self, tid: Tid) {
        self.queue.on_busy(tid);
    }

    /// Removes the next request that waits for the same device as `op`, if that device counts as
    /// dead.
    pub(crate) fn take_request_to_dead_device(&mut self, op: SmpOp) -> Option<SmpTransaction> {
        self.queue
            .take_request_to_dead_device(op.spec().target.device())
    }

    pub(crate) fn expired(&mut self, now: Instant) -> Option<Tid> {
        self.queue.expired(now)
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.queue.deadline()
    }
}
