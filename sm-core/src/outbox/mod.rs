//! Outputs of the SM, in order, and those that wait for durable state.
//!
//! A reply to an SA client may leave once everything persisted before it is durable: a client whose
//! join was acknowledged does not join again, so a restarted SM or a successor must have the
//! membership ([`gate`]). A batch that must precede device writes
//! ([`RecordUpdate::precedes_device_writes`]) is a barrier for later Sets; Gets and SMInfo pass it.
//! If the store takes longer than [`gate::LIMIT`], the fabric has precedence: an event is reported,
//! and outputs leave until the store has caught up.

pub(crate) mod gate;

use core::time::Duration;
use std::collections::VecDeque;
use std::sync::Arc;

use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::SmState;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::mad::{Address, Mad, MadOut};
use ferrosm_mad::time::Instant;

use crate::event::Event;
use crate::io::{Output, Persisted};
use crate::records::RecordUpdate;
use gate::{Alarm, Gate};

/// A reply to an SA client.
type Reply = (Peer, Vec<u8>);

/// All outputs of the SM for the driver, in order.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: VecDeque<Output>,
    /// MADs sent on QP0 since the SM started: SMInfo.ActCount.
    sent: u64,
    /// The number of the last batch.
    last_batch: u64,
    replies: Gate<Reply>,
    /// Whether Sets may be sent; it holds no outputs, because Sets wait in the request queue.
    writes: Gate<()>,
}

impl Outbox {
    pub(crate) fn push(&mut self, output: Output) {
        self.queue.push_back(output);
    }

    /// The next output; `None` if there is none, or the next ones wait for durable state.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Output> {
        loop {
            if let Some((to, bytes)) = self.replies.poll(now) {
                return Some(Output::reply(to, bytes));
            }
            if let Some(event) = self.take_alarm() {
                return Some(Output::Event(event));
            }
            match self.queue.pop_front()? {
                Output::Gmp {
                    to,
                    bytes,
                    answer_within: None,
                } => {
                    if let Some((to, bytes)) = self.replies.pass_or_queue((to, bytes), now) {
                        return Some(Output::reply(to, bytes));
                    }
                }
                Output::Persist { seq, updates } => {
                    self.replies.wait_for(seq);
                    if updates.iter().any(RecordUpdate::precedes_device_writes) {
                        self.writes.wait_for(seq);
                        self.writes.pass_or_queue((), now);
                    }
                    return Some(Output::Persist { seq, updates });
                }
                Output::PersistSnapshot { seq, snapshot } => {
                    self.replies.wait_for(seq);
                    return Some(Output::PersistSnapshot { seq, snapshot });
                }
                Output::Event(event) => {
                    if matches!(event, Event::RoleChanged { state, .. } if state != SmState::Master)
                    {
                        self.drop_replies();
                    }
                    return Some(Output::Event(event));
                }
                output @ (Output::Send(_)
                | Output::Gmp { .. }
                | Output::Publish(_)
                | Output::Compute(_)
                | Output::CommandReply { .. }
                | Output::Replicate(_)
                | Output::LoadReplica { .. }) => return Some(output),
            }
        }
    }

    /// The next alarm of either gate; each is reported once.
    fn take_alarm(&mut self) -> Option<Event> {
        let replies = self.replies.take_alarm().map(|alarm| match alarm {
            Alarm::Late => Event::RepliesUnprotected,
            Alarm::Recovered => Event::RepliesProtected,
        });
        replies.or_else(|| match self.writes.take_alarm()? {
            Alarm::Late => Some(Event::WritesUnprotected),
            Alarm::Recovered => None,
        })
    }

    /// Whether Sets may be sent; call it before taking one from the request queue.
    pub(crate) fn may_write(&mut self, now: Instant) -> bool {
        while self.writes.poll(now).is_some() {}
        self.writes.is_empty()
    }

    /// Batches are durable.
    pub(crate) fn on_persisted(&mut self, persisted: Persisted) {
        self.replies.on_persisted(persisted);
        self.writes.on_persisted(persisted);
    }

    /// Drops the waiting replies: another SM may be master and lack the registrations that they
    /// confirm.
    pub(crate) fn drop_replies(&mut self) {
        self.replies.clear();
    }

    /// Sets the time within which replication acknowledges a batch or reports a lost replica;
    /// outputs wait this much longer.
    pub(crate) const fn set_replication_timeout(&mut self, timeout: Duration) {
        self.replies.set_extra_wait(timeout);
        self.writes.set_extra_wait(timeout);
    }

    /// Replies that wait.
    pub(crate) fn waiting_replies(&self) -> usize {
        self.replies.len()
    }

    /// Whether anything waits for durable state.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.replies.is_empty() || !self.writes.is_empty()
    }

    /// How long the local disk has delayed the oldest output, including outputs that left at the
    /// limit.
    pub(crate) fn disk_wait(&self, now: Instant) -> Duration {
        self.replies.disk_wait(now).max(self.writes.disk_wait(now))
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let due = [self.replies.poll_timeout(), self.writes.poll_timeout()];
        due.into_iter().flatten().min()
    }

    /// Reports an event to the operator.
    pub(crate) fn emit(&mut self, event: Event) {
        self.push(Output::Event(event));
    }

    /// Sends a MAD on QP0 that is not limited by windows: a response, a TrapRepress, a trap, or a
    /// Set that expects no response.
    pub(crate) fn send(&mut self, to: Address, mad: Mad) {
        self.count_sent();
        self.push(Output::Send(MadOut { to, mad }));
    }

    /// Counts a MAD from the request queue.
    pub(crate) const fn count_sent(&mut self) {
        self.sent += 1;
    }

    /// MADs sent on QP0.
    pub(crate) const fn sent(&self) -> u64 {
        self.sent
    }

    const fn next_batch(&mut self) -> u64 {
        self.last_batch += 1;
        self.last_batch
    }

    /// Persists changes of records.
    pub(crate) fn persist(&mut self, updates: Vec<RecordUpdate>) {
        let seq = self.next_batch();
        self.push(Output::Persist { seq, updates });
    }

    /// Persists a snapshot in place of the earlier one; with `None` removes it.
    pub(crate) fn persist_snapshot(&mut self, snapshot: Option<Arc<Snapshot>>) {
        let seq = self.next_batch();
        self.push(Output::PersistSnapshot { seq, snapshot });
    }
}
