//! The standby's side of replication: which batches arrived, which of them are durable, and when
//! the master last responded. Without I/O: messages and times in, messages, store jobs and events
//! out.
//!
//! The master's silence is measured from when the last answered ping was sent, not from when its
//! pong arrived, because a pong may be delayed.

use std::collections::VecDeque;

use ferrosm_core::records::{RecordBatch, RecordKey};
use thiserror::Error;

use super::event::{ReplicationEvent, Timing};
use super::leader::NodeTime;
use super::log::Position;
use super::wire::{Message, Refusal, SNAPSHOT_MAX, WireError, decode_batch};

/// A record as bytes: key and value.
pub type RawRecord = (RecordKey, Box<[u8]>);

/// Limit of pings without a pong; older ones are dropped.
const PINGS_MAX: usize = 64;

/// A job for the store; jobs are executed in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreJob {
    /// Apply a batch; then the store is at this position.
    Apply(Position, RecordBatch),
    /// Replace all records.
    Replace(Position, Vec<RawRecord>),
}

/// Why the master's message is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum ProtocolError {
    /// Malformed bytes.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A batch is missing.
    #[error("batch {received} received, expected {expected}")]
    Gap {
        /// The expected number.
        expected: u64,
        /// The received number.
        received: u64,
    },
    /// The message is not allowed in this state.
    #[error("unexpected message")]
    UnexpectedMessage,
    /// The snapshot exceeds the limit.
    #[error("snapshot exceeds {SNAPSHOT_MAX} bytes")]
    SnapshotTooLarge,
    /// The master rejected this follower.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// State of a standby.
#[derive(Debug)]
pub(crate) struct Follower {
    timing: Timing,
    master: Option<MasterConnection>,
    events: Vec<ReplicationEvent>,
    jobs: Vec<StoreJob>,
    /// Incremented for each connection to a master: results of earlier sessions are outdated.
    session: u64,
    last_tick: NodeTime,
    /// End of this process's last stall; silence before it does not count.
    stalled_until: NodeTime,
}

/// Identifies a connection to a master, and its store jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionId(u64);

#[cfg(feature = "etcd")]
impl SessionId {
    /// A session numbered by the caller.
    pub(super) const fn numbered(number: u64) -> Self {
        Self(number)
    }
}

#[derive(Debug)]
struct MasterConnection {
    session: SessionId,
    guid: u64,
    connected: bool,
    /// When the last answered ping was sent.
    last_answered: NodeTime,
    in_sync: bool,
    ping: u64,
    pings: VecDeque<(u64, NodeTime)>,
    next_ping: NodeTime,
    receiving: Receiving,
    ack: Option<Position>,
}

#[derive(Debug)]
enum Receiving {
    /// The master has not sent Resume or Snapshot yet.
    Start,
    /// A snapshot is being received.
    Snapshot {
        at: Position,
        missing: u64,
        bytes: usize,
        records: Vec<RawRecord>,
    },
    /// Batches are being received; the last one received.
    Batches(Position),
}

impl Follower {
    /// Starts without a master.
    #[must_use]
    pub(crate) const fn new(timing: Timing) -> Self {
        Self {
            timing,
            master: None,
            events: Vec::new(),
            jobs: Vec::new(),
            session: 0,
            last_tick: NodeTime::ZERO,
            stalled_until: NodeTime::ZERO,
        }
    }

    /// The current session. Must be read before the store's position.
    #[must_use]
    pub(crate) const fn session(&self) -> SessionId {
        SessionId(self.session)
    }

    /// Whether the session is that of the current connection.
    #[must_use]
    pub(crate) fn follows(&self, session: SessionId) -> bool {
        self.master
            .as_ref()
            .is_some_and(|l| l.connected && l.session == session)
    }

    /// The master, even if the connection is interrupted.
    #[must_use]
    pub(crate) fn master(&self) -> Option<u64> {
        self.master.as_ref().map(|l| l.guid)
    }

    /// Whether the replica has all that the master acknowledged, as far as is known at `now`.
    #[must_use]
    pub(crate) fn in_sync(&self, now: NodeTime) -> bool {
        self.master.as_ref().is_some_and(|l| {
            l.in_sync && now.saturating_sub(l.last_answered) < self.timing.in_sync_validity()
        })
    }

    /// A node responded as master to the hello sent at `hello_sent`. The position in that hello was
    /// read from the store during `session`. Returns the new session; `None` if the connection is
    /// not to be used.
    pub(crate) fn on_connected(
        &mut self,
        guid: u64,
        session: SessionId,
        hello_sent: NodeTime,
    ) -> Option<SessionId> {
        let is_free = match &self.master {
            Some(old) => old.guid == guid && !old.connected,
            None => true,
        };
        if !is_free || session != self.session() {
            return None;
        }
        self.set_in_sync(false, "disconnected");
        self.session += 1;
        let session = self.session();
        self.master = Some(MasterConnection {
            session,
            guid,
            connected: true,
            last_answered: hello_sent,
            in_sync: false,
            ping: 0,
            pings: VecDeque::new(),
            next_ping: hello_sent,
            receiving: Receiving::Start,
            ack: None,
        });
        Some(session)
    }

    /// The connection ended; a reconnection is attempted at once. The silence continues to be
    /// measured.
    pub(crate) fn on_disconnected(&mut self, session: SessionId) {
        if self.follows(session)
            && let Some(master) = &mut self.master
        {
            master.connected = false;
            master.pings.clear();
            master.ack = None;
            master.receiving = Receiving::Start;
        }
    }

    /// The master cannot be reached after the connection of this session ended, or is no longer
    /// master.
    pub(crate) fn on_master_unreachable(&mut self, session: SessionId, now: NodeTime) {
        if self
            .master
            .as_ref()
            .is_some_and(|l| !l.connected && l.session == session)
        {
            self.on_silence(now);
        }
    }

    /// A store job failed. All missing batches are requested again later.
    pub(crate) fn on_store_failed(&mut self, session: SessionId, error: &str) {
        if session != self.session() {
            return;
        }
        self.set_in_sync(false, error);
        self.master = None;
        self.session += 1;
    }

    /// Stops following, without an event.
    pub(crate) fn stop(&mut self) {
        self.master = None;
        self.session += 1;
    }

    /// Processes a message of the master.
    ///
    /// # Errors
    /// [`ProtocolError`]: the connection must be closed. [`ProtocolError::Refused`] if the master
    /// rejected this follower.
    pub(crate) fn on_message(
        &mut self,
        session: SessionId,
        message: Message<'_>,
        now: NodeTime,
    ) -> Result<(), ProtocolError> {
        if !self.follows(session) {
            return Err(ProtocolError::UnexpectedMessage);
        }
        let Some(master) = &mut self.master else {
            return Err(ProtocolError::UnexpectedMessage);
        };
        match message {
            Message::Resume(at) => {
                if !matches!(master.receiving, Receiving::Start) {
                    return Err(ProtocolError::UnexpectedMessage);
                }
                master.receiving = Receiving::Batches(at);
                master.ack = Some(at);
            }
            Message::Snapshot { at, records } => {
                // Also sent after batches, if the master's log no longer contains the next one.
                master.receiving = Receiving::Snapshot {
                    at,
                    missing: records,
                    bytes: 0,
                    records: Vec::new(),
                };
                if records == 0 {
                    self.end_snapshot();
                }
            }
            Message::Records(received) => {
                let Receiving::Snapshot {
                    missing,
                    bytes,
                    records,
                    ..
                } = &mut master.receiving
                else {
                    return Err(ProtocolError::UnexpectedMessage);
                };
                for (key, value) in received {
                    *missing = missing
                        .checked_sub(1)
                        .ok_or(ProtocolError::UnexpectedMessage)?;
                    *bytes += key.0.len() + value.0.len();
                    if *bytes > SNAPSHOT_MAX {
                        return Err(ProtocolError::SnapshotTooLarge);
                    }
                    let key = RecordKey::from_bytes(key.0).ok_or(WireError::Garbled)?;
                    records.push((key, value.0.into()));
                }
                if *missing == 0 {
                    self.end_snapshot();
                }
            }
            Message::Batch { seq, body } => {
                let Receiving::Batches(at) = &mut master.receiving else {
                    return Err(ProtocolError::UnexpectedMessage);
                };
                let expected = at.seq.saturating_add(1);
                if seq != expected {
                    return Err(ProtocolError::Gap {
                        expected,
                        received: seq,
                    });
                }
                let batch = decode_batch(body.0)?;
                at.seq = seq;
                self.jobs.push(StoreJob::Apply(*at, batch));
            }
            Message::Pong { ping, in_sync } => {
                let sent_ping = master.pings.iter().find(|(n, _)| *n == ping);
                if let Some((_, sent)) = sent_ping {
                    master.last_answered = master.last_answered.max(*sent);
                    master.pings.retain(|(n, _)| *n > ping);
                    self.set_in_sync(in_sync, "acknowledgements too slow");
                }
            }
            Message::Goodbye(reason) => {
                let in_sync = self.in_sync(now);
                if let Some(master) = self.master.take() {
                    let guid = master.guid;
                    self.events.push(ReplicationEvent::MasterLeaving {
                        guid,
                        reason,
                        in_sync,
                    });
                }
            }
            Message::Refused(refusal) => return Err(refusal.into()),
            Message::Hello(_) | Message::Ping(_) | Message::Ack(_) => {
                return Err(ProtocolError::UnexpectedMessage);
            }
        }
        Ok(())
    }

    /// All batches of this session up to `at` are durable.
    pub(crate) fn on_durable(&mut self, session: SessionId, at: Position) {
        if self.follows(session)
            && let Some(master) = &mut self.master
        {
            master.ack = Some(at);
        }
    }

    /// The next message to send.
    pub(crate) fn poll(&mut self, session: SessionId, now: NodeTime) -> Option<Message<'static>> {
        if !self.follows(session) {
            return None;
        }
        let master = self.master.as_mut()?;
        if let Some(at) = master.ack.take() {
            return Some(Message::Ack(at));
        }
        if now < master.next_ping {
            return None;
        }
        master.next_ping = now + self.timing.heartbeat;
        master.ping += 1;
        master.pings.push_back((master.ping, now));
        if master.pings.len() > PINGS_MAX {
            master.pings.pop_front();
        }
        Some(Message::Ping(master.ping))
    }

    /// Advances the time. Must be called several times per heartbeat interval, after all received
    /// messages were processed.
    pub(crate) fn tick(&mut self, now: NodeTime) {
        if now.saturating_sub(self.last_tick) > self.timing.lease {
            self.stalled_until = now;
        }
        self.last_tick = now;
        let stalled_until = self.stalled_until;
        let is_late = |l: &MasterConnection| {
            now.saturating_sub(l.last_answered.max(stalled_until)) >= self.timing.lease
        };
        if self.master.as_ref().is_some_and(is_late) {
            self.on_silence(now);
        }
    }

    /// Takes the pending events.
    pub(crate) fn take_events(&mut self) -> Vec<ReplicationEvent> {
        core::mem::take(&mut self.events)
    }

    /// Takes the pending store jobs.
    pub(crate) fn take_jobs(&mut self) -> Vec<StoreJob> {
        core::mem::take(&mut self.jobs)
    }

    fn on_silence(&mut self, now: NodeTime) {
        let in_sync = self.in_sync(now);
        if let Some(master) = self.master.take() {
            let guid = master.guid;
            self.events.push(ReplicationEvent::MasterSilent {
                guid,
                in_sync,
                is_uncertain: false,
            });
        }
    }

    fn set_in_sync(&mut self, in_sync: bool, reason: &str) {
        let Some(master) = &mut self.master else {
            return;
        };
        if master.in_sync == in_sync {
            return;
        }
        master.in_sync = in_sync;
        let guid = master.guid;
        self.events.push(if in_sync {
            ReplicationEvent::InSync { guid }
        } else {
            let reason = reason.to_owned();
            ReplicationEvent::OutOfSync { guid, reason }
        });
    }

    /// A snapshot is complete.
    fn end_snapshot(&mut self) {
        let Some(master) = &mut self.master else {
            return;
        };
        if let Receiving::Snapshot { at, records, .. } =
            core::mem::replace(&mut master.receiving, Receiving::Start)
        {
            master.receiving = Receiving::Batches(at);
            self.jobs.push(StoreJob::Replace(at, records));
        }
    }
}
