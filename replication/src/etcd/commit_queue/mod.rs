//! The master's batches that etcd lacks, whether the master may acknowledge without etcd, and the
//! validity of its leases. Without I/O: results and times in, work and events out.

use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::event::ReplicationEvent;
use crate::leader::NodeTime;
use crate::log::Position;

/// Operations in one transaction; etcd accepts 128.
const OPS: usize = 100;
/// Limit of pending batches and bytes. Beyond it they are dropped, and a snapshot is written when
/// etcd responds.
const PENDING_MAX: (usize, usize) = (65_536, 64 << 20);
/// Approximate number of batches and bytes in etcd's log after which a snapshot is written.
const LOG_MAX: (u64, usize) = (10_000, 16 << 20);

/// A batch: number and encoding.
pub(super) type NumberedBatch = (u64, Arc<[u8]>);

/// What to write next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Work {
    Nothing,
    Snapshot,
    Batches(Vec<NumberedBatch>),
    /// Set the key's claim that etcd has all acknowledged batches.
    ClaimComplete,
}

/// Whether acknowledgements wait for etcd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AckMode {
    /// Acknowledgements wait for etcd.
    Replicated,
    /// As `Replicated`, but the limit was exceeded. No lease is renewed, so that standbys see old
    /// leases before the master acknowledges without etcd.
    Suspending,
    /// Acknowledgements do not wait: etcd may lack acknowledged batches.
    Standalone,
}

/// What the key claims to standbys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyClaim {
    /// etcd has all acknowledged batches.
    Complete,
    /// etcd may lack acknowledged batches.
    Incomplete,
    /// The claim is being changed, or must be: what standbys read is not known.
    Unknown,
}

/// State of one term as master.
#[derive(Debug)]
pub(super) struct CommitQueue {
    pub(super) epoch: u64,
    began: NodeTime,
    limit: Duration,
    /// The last committed batch; `None` if unknown before the first one.
    last: Option<u64>,
    /// The last batch that etcd has.
    written: Option<u64>,
    pending: VecDeque<(NumberedBatch, NodeTime)>,
    bytes: usize,
    /// etcd's records are not those before the pending batches: a snapshot is due.
    needs_snapshot: bool,
    /// A snapshot is being read and written.
    snapshot_in_progress: bool,
    /// How long the local disk has delayed the oldest reply; etcd lacks its records, too.
    disk_delay: Duration,
    /// Batches and bytes in etcd's log.
    logged: (u64, usize),
    /// Time until which the leases are valid; `None` without the key.
    lease_valid_until: Option<NodeTime>,
    /// The loss of the lease was reported.
    lease_loss_reported: bool,
    /// Time of the first failure since the last success, and the last error.
    error: Option<(NodeTime, String)>,
    term_started: bool,
    ack_mode: AckMode,
    /// Latest time at which a lease may have been renewed.
    last_renewal: NodeTime,
    /// Age at which leases count as old.
    silence: Duration,
    claim: KeyClaim,
    /// The last batch acknowledged without etcd: the key must not claim completeness before etcd
    /// has it.
    unreplicated: Option<u64>,
    /// The loss of protection was reported.
    protection_loss_reported: bool,
    events: Vec<ReplicationEvent>,
}

impl CommitQueue {
    pub(super) const fn new(epoch: u64, limit: Duration, silence: Duration, now: NodeTime) -> Self {
        Self {
            epoch,
            began: now,
            limit,
            last: None,
            written: None,
            pending: VecDeque::new(),
            bytes: 0,
            needs_snapshot: true,
            snapshot_in_progress: false,
            disk_delay: Duration::ZERO,
            logged: (0, 0),
            lease_valid_until: None,
            lease_loss_reported: false,
            error: None,
            term_started: false,
            ack_mode: AckMode::Replicated,
            last_renewal: now,
            silence,
            // Until it is known whether etcd has this node's records.
            claim: KeyClaim::Incomplete,
            unreplicated: None,
            protection_loss_reported: false,
            events: Vec::new(),
        }
    }

    /// Position of the last batch.
    pub(super) fn end_position(&self) -> Option<Position> {
        let epoch = self.epoch;
        self.last.map(|seq| Position { epoch, seq })
    }

    /// A batch is durable at the master.
    pub(super) fn committed(&mut self, seq: u64, body: Arc<[u8]>, now: NodeTime) {
        let follows = self.last.is_none_or(|last| seq == last + 1);
        if !follows {
            self.drop_pending();
        }
        self.last = Some(seq);
        self.bytes += body.len();
        self.pending.push_back(((seq, body), now));
        if self.pending.len() > PENDING_MAX.0 || self.bytes > PENDING_MAX.1 {
            self.drop_pending();
        }
    }

    fn drop_pending(&mut self) {
        self.pending.clear();
        self.bytes = 0;
        self.needs_snapshot = true;
    }

    /// Whether another master wrote batches after this node's, given etcd's position `head`. A
    /// position before this node's batches comes from a restored backup of etcd.
    pub(super) fn has_successor(&self, known: Option<Position>, head: Position) -> bool {
        let is_older = known.is_some_and(|known| known.epoch == head.epoch);
        let has_more = self.written.is_some_and(|written| head.seq >= written);
        has_more && !is_older && head.epoch != self.epoch
    }

    /// This node has acquired the key. `known`: the store's position at the start of the term;
    /// `store`: its position now; `head`: etcd's position.
    pub(super) fn on_key_held(
        &mut self,
        known: Option<Position>,
        store: Option<Position>,
        head: Option<Position>,
        now: NodeTime,
    ) {
        self.cancel_snapshot();
        let before_pending = self
            .pending
            .front()
            .map(|((seq, _), _)| seq.saturating_sub(1));
        let base = before_pending.or_else(|| store.map(|at| at.seq));
        let own = |head: Position| {
            head.epoch == self.epoch && self.written.is_some_and(|w| w <= head.seq)
        };
        match head {
            // This node owned the key before in this term; the response to its last write may be
            // lost.
            Some(head) if own(head) && !self.needs_snapshot => self.on_written(head.seq, now),
            Some(head)
                if known == Some(head) && base == Some(head.seq) && !self.has_dropped_batches() =>
            {
                self.needs_snapshot = false;
                self.last = self.last.or(base);
                self.written = base;
                self.error = None;
                self.on_progress(now);
            }
            Some(_) | None => self.needs_snapshot = true,
        }
        self.last = self.last.or_else(|| store.map(|at| at.seq));
        self.start_term();
    }

    /// Whether batches were dropped before this node acquired the key.
    fn has_dropped_batches(&self) -> bool {
        self.pending.is_empty() && self.last.is_some()
    }

    fn start_term(&mut self) {
        if !core::mem::replace(&mut self.term_started, true) {
            self.events.push(ReplicationEvent::MasterReady);
        }
    }

    /// The leases are valid until this time. The same time again is not a renewal.
    pub(super) fn on_leases_valid(&mut self, until: NodeTime) {
        if self.lease_valid_until < Some(until) {
            self.lease_valid_until = Some(until);
            self.lease_loss_reported = false;
        }
    }

    /// The key is lost.
    pub(super) fn on_key_lost(&mut self, reason: &str) {
        if self.lease_valid_until.take().is_some()
            && !core::mem::replace(&mut self.lease_loss_reported, true)
        {
            self.events
                .push(ReplicationEvent::LeaseLost(reason.to_owned()));
        }
    }

    /// Another node took the key.
    pub(super) fn on_deposed(&mut self, guid: u64) {
        self.lease_valid_until = None;
        self.events.push(ReplicationEvent::Deposed { guid });
    }

    /// A request failed.
    pub(super) fn on_failure(&mut self, error: String, now: NodeTime) {
        match &mut self.error {
            Some((_, last)) => *last = error,
            None => self.error = Some((now, error)),
        }
    }

    /// What to write next.
    pub(super) fn work(&self) -> Work {
        let is_log_full = self.logged.0 >= LOG_MAX.0 || self.logged.1 >= LOG_MAX.1;
        if self.needs_snapshot || is_log_full {
            return Work::Snapshot;
        }
        let mut size = 0;
        let mut batches = Vec::new();
        for ((seq, body), _) in self.pending.iter().take(OPS) {
            size += body.len();
            if !batches.is_empty() && size > super::keys::PART_LEN {
                break;
            }
            batches.push((*seq, body.clone()));
        }
        if self.claim != KeyClaim::Complete
            && self.ack_mode != AckMode::Standalone
            && self.has_written_unreplicated()
        {
            Work::ClaimComplete
        } else if batches.is_empty() {
            Work::Nothing
        } else {
            Work::Batches(batches)
        }
    }

    /// Whether etcd has all batches that were acknowledged without it.
    fn has_written_unreplicated(&self) -> bool {
        self.written.is_some() && self.written >= self.unreplicated
    }

    /// Whether etcd may lack acknowledged batches, as far as standbys are informed.
    pub(super) fn may_lack_batches(&self) -> bool {
        self.ack_mode == AckMode::Standalone || self.claim != KeyClaim::Complete
    }

    /// Whether etcd has all acknowledged batches, as far as is known.
    pub(super) const fn is_protected(&self) -> bool {
        self.written.is_some()
            && !self.protection_loss_reported
            && !matches!(self.ack_mode, AckMode::Standalone)
    }

    /// Whether leases may be renewed. Not while a renewal would let standbys consider etcd complete
    /// for too long. `None`: the key must be acquired again to change its claim.
    pub(super) const fn may_renew(&self) -> Option<bool> {
        match (self.ack_mode, self.claim) {
            (AckMode::Replicated, _) | (_, KeyClaim::Incomplete) => Some(true),
            (AckMode::Suspending, KeyClaim::Complete | KeyClaim::Unknown) => Some(false),
            (AckMode::Standalone, KeyClaim::Complete | KeyClaim::Unknown) => None,
        }
    }

    /// This node does not own the key. After acquiring it, it first claims that etcd may lack
    /// batches.
    pub(super) const fn on_key_released(&mut self) {
        self.claim = KeyClaim::Incomplete;
        self.cancel_snapshot();
    }

    /// Writing was cancelled: an unfinished snapshot is still due.
    const fn cancel_snapshot(&mut self) {
        if self.snapshot_in_progress {
            self.on_snapshot_failed();
        }
    }

    /// The claim that etcd is complete is about to be written. From now on, leases renewed before
    /// it count as evidence that etcd is complete. The claim itself renews none, so a repeated one
    /// does not extend the wait for old leases.
    pub(super) fn begin_claim(&mut self, now: NodeTime) {
        if core::mem::replace(&mut self.claim, KeyClaim::Unknown) == KeyClaim::Incomplete {
            self.last_renewal = now;
        }
    }

    /// The claim that etcd is complete is written.
    pub(super) fn end_claim(&mut self) {
        self.claim = KeyClaim::Complete;
        if core::mem::take(&mut self.protection_loss_reported) {
            self.events.push(ReplicationEvent::ProtectionRestored);
        }
    }

    /// A lease may be renewed in etcd about now, which standbys take as evidence that etcd is
    /// complete.
    pub(super) fn on_renewal(&mut self, now: NodeTime) {
        if self.claim != KeyClaim::Incomplete {
            self.last_renewal = now;
        }
    }

    /// etcd responds, and the key still belongs to this node.
    pub(super) fn on_response(&mut self) {
        // A snapshot in progress is not complete yet.
        let is_disk_late = self.disk_delay >= self.limit;
        if self.pending.is_empty()
            && !self.needs_snapshot
            && !self.snapshot_in_progress
            && !is_disk_late
        {
            self.error = None;
            self.resume_replicated();
        }
    }

    /// Acknowledgements wait for etcd again, unless one was sent without it.
    fn resume_replicated(&mut self) {
        if self.ack_mode == AckMode::Suspending {
            self.ack_mode = AckMode::Replicated;
        }
    }

    /// If etcd keeps up, acknowledgements wait for it again, and the key can soon claim
    /// completeness.
    fn on_progress(&mut self, now: NodeTime) {
        // The remaining batches fit into the next transaction.
        if self.pending.len() >= OPS || self.needs_snapshot || self.disk_delay >= self.limit {
            return;
        }
        self.resume_replicated();
        if self.ack_mode == AckMode::Standalone && self.claim == KeyClaim::Incomplete {
            self.ack_mode = AckMode::Replicated;
            self.unreplicated = self.last;
            self.pending.iter_mut().for_each(|(_, since)| *since = now);
        }
    }

    /// The records are about to be read for a snapshot; later batches follow it or are part of it.
    pub(super) const fn begin_snapshot(&mut self) {
        self.needs_snapshot = false;
        self.snapshot_in_progress = true;
    }

    /// etcd has a snapshot as of batch `seq`.
    pub(super) fn on_snapshot_written(&mut self, seq: u64, now: NodeTime) {
        self.logged = (0, 0);
        self.snapshot_in_progress = false;
        self.last = self.last.max(Some(seq));
        // Batches dropped in the meantime are not part of it.
        if !self.needs_snapshot {
            self.on_written(seq, now);
        }
    }

    /// The snapshot failed.
    pub(super) const fn on_snapshot_failed(&mut self) {
        self.needs_snapshot = true;
        self.snapshot_in_progress = false;
    }

    /// etcd has all batches up to `seq`.
    pub(super) fn on_written(&mut self, seq: u64, now: NodeTime) {
        self.written = self.written.max(Some(seq));
        while let Some(((_, body), _)) = self.pending.front().filter(|((s, _), _)| *s <= seq) {
            self.bytes -= body.len();
            self.logged = (self.logged.0 + 1, self.logged.1 + body.len());
            self.pending.pop_front();
        }
        self.error = None;
        self.on_progress(now);
    }

    /// The last acknowledged batch.
    pub(super) fn acknowledged(&self) -> Option<u64> {
        let all = match self.ack_mode {
            AckMode::Replicated | AckMode::Suspending => self.written,
            AckMode::Standalone => self.last,
        };
        all.filter(|_| self.term_started)
    }

    /// Sets how long the local disk has delayed the oldest reply; zero if none depends on unwritten
    /// records. Must precede [`Self::tick`].
    pub(super) const fn set_disk_delay(&mut self, delay: Duration) {
        self.disk_delay = delay;
    }

    /// Advances the time.
    pub(super) fn tick(&mut self, now: NodeTime) {
        if self.lease_valid_until.is_some_and(|until| now >= until)
            && !core::mem::replace(&mut self.lease_loss_reported, true)
        {
            let reason = self.last_error_or("etcd lease not renewed in time");
            self.events.push(ReplicationEvent::LeaseLost(reason));
        }
        let is_over_limit = |since: NodeTime| now.saturating_sub(since) >= self.limit;
        let waits = self
            .pending
            .front()
            .is_some_and(|(_, since)| is_over_limit(*since));
        let has_failed = self
            .error
            .as_ref()
            .is_some_and(|(since, _)| is_over_limit(*since));
        let waits = waits || self.disk_delay >= self.limit;
        if self.ack_mode == AckMode::Replicated
            && (waits || has_failed || !self.term_started && is_over_limit(self.began))
        {
            self.ack_mode = AckMode::Suspending;
            // The master serves without a replica.
            self.start_term();
        }
        // Until this time, a standby may count leases that were not old as evidence that etcd is
        // complete (see `LeaseEvidence`).
        if self.ack_mode != AckMode::Suspending
            || now < self.last_renewal + self.silence + self.limit
        {
            return;
        }
        let reason = self.last_error_or("etcd writes too slow");
        self.ack_mode = AckMode::Standalone;
        if self.claim == KeyClaim::Complete {
            self.claim = KeyClaim::Unknown;
        }
        if !core::mem::replace(&mut self.protection_loss_reported, true) {
            self.events.push(ReplicationEvent::ProtectionLost(reason));
        }
    }

    fn last_error_or(&self, default: &str) -> String {
        self.error
            .as_ref()
            .map_or(default, |(_, error)| error)
            .to_owned()
    }

    /// Takes the pending events.
    pub(super) fn take_events(&mut self) -> Vec<ReplicationEvent> {
        core::mem::take(&mut self.events)
    }
}

#[cfg(test)]
mod tests;
