//! The master's side of replication: what each follower has acknowledged, which followers the
//! master waits for, and since when. Without I/O: messages and times in, messages and events out.
//!
//! Invariant behind `in_sync` of [`ReplicationEvent::MasterSilent`]: while a follower may consider
//! its replica complete, no batch that it lacks counts as acknowledged. A follower considers it
//! complete for two leases from the ping whose pong reported it. The master therefore waits for a
//! follower until two leases after the last such pong, whatever happens to the connection.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::event::{ReplicationEvent, StandbyLossReason, Timing};
use super::log::{BatchLog, DuplicateBatch, Position};
use super::wire::{Hello, Message, Refusal};

/// Time since the start of the node.
pub(crate) type NodeTime = Duration;

/// Limit of followers; further ones are rejected.
pub(crate) const FOLLOWERS_MAX: usize = 16;
/// Limit of unacknowledged batches sent to a follower; further ones wait in the log.
const WINDOW: u64 = 1024;

/// Unique number of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ConnectionId(pub u64);

/// The next thing to send to a follower.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FollowerMessage {
    Message(Message<'static>),
    Batch {
        /// Its number.
        seq: u64,
        /// The encoded batch.
        body: Arc<[u8]>,
    },
    /// All records: the sender reads the store and calls [`Leader::snapshot_sent`] before the last
    /// of them.
    Snapshot,
}

/// A follower violated the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("batch acknowledged that was not sent")]
pub(crate) struct AckError;

/// State of a master with its followers.
#[derive(Debug)]
pub(crate) struct Leader {
    log: BatchLog,
    timing: Timing,
    started: NodeTime,
    last_tick: NodeTime,
    followers: BTreeMap<u64, FollowerEntry>,
    /// Commit times of batches that a follower in sync has not acknowledged yet.
    committed: VecDeque<(u64, NodeTime)>,
    acknowledged: u64,
    /// How long the local disk has delayed the oldest reply; its records are not at the followers
    /// either.
    disk_delay: Duration,
    protection: Protection,
    events: Vec<ReplicationEvent>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protection {
    /// The term has just started: standbys get time to connect.
    Starting,
    Protected,
    Lost,
}

/// A follower, by its GUID.
#[derive(Debug)]
struct FollowerEntry {
    link: Option<FollowerLink>,
    /// The last acknowledged batch.
    acked: u64,
    /// The last batch sent.
    sent: u64,
    sync: SyncState,
    /// When the last pong was sent that reported it in sync.
    in_sync_sent: Option<NodeTime>,
}

#[derive(Debug)]
struct FollowerLink {
    conn: ConnectionId,
    last_received: NodeTime,
    /// A ping without a pong.
    ping: Option<u64>,
    phase: Phase,
    resume: Option<Position>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    NeedsSnapshot,
    /// A snapshot is being sent.
    SendingSnapshot,
    /// A snapshot as of this batch is sent and not acknowledged yet.
    AwaitingSnapshotAck(u64),
    /// It gets batches. It can be in sync once it has acknowledged `goal`.
    Streaming {
        sent: u64,
        goal: u64,
    },
}

/// Whether the master waits for a follower's acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SyncState {
    /// The master does not wait.
    OutOfSync,
    /// The master waits. It reports the follower in sync after an acknowledgement of `threshold`,
    /// the last acknowledged batch at its start.
    Joining { threshold: u64 },
    /// The master waits, and reports the follower in sync.
    InSync,
    /// The master waits until this time, unless the follower recovers; then it reports `reason`.
    Suspect {
        until: NodeTime,
        reason: StandbyLossReason,
    },
}

impl Leader {
    /// Starts a term as master.
    #[must_use]
    pub(crate) fn new(log: BatchLog, timing: Timing, now: NodeTime) -> Self {
        Self {
            acknowledged: log.end_position().seq,
            log,
            timing,
            started: now,
            last_tick: now,
            followers: BTreeMap::new(),
            committed: VecDeque::new(),
            disk_delay: Duration::ZERO,
            protection: Protection::Starting,
            events: Vec::new(),
        }
    }

    /// A batch is durable at the master.
    ///
    /// # Errors
    /// [`DuplicateBatch`] if its number is in use; the batch is dropped.
    pub(crate) fn append(
        &mut self,
        seq: u64,
        body: Arc<[u8]>,
        now: NodeTime,
    ) -> Result<(), DuplicateBatch> {
        self.log.push(seq, body)?;
        self.committed.push_back((seq, now));
        self.update_acknowledged();
        Ok(())
    }

    /// The last batch that all followers in sync have acknowledged; without any, the last committed
    /// batch.
    #[must_use]
    pub(crate) const fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// The history of this master.
    #[must_use]
    pub(crate) const fn log(&self) -> &BatchLog {
        &self.log
    }

    /// GUIDs of the connected followers, and whether each is in sync.
    pub(crate) fn followers(&self) -> impl Iterator<Item = (u64, bool)> {
        let connected = self.followers.iter().filter(|(_, f)| f.link.is_some());
        connected.map(|(guid, f)| (*guid, f.sync == SyncState::InSync))
    }

    /// A follower has connected. It replaces an earlier connection of the same follower.
    ///
    /// # Errors
    /// The reason to reject it.
    pub(crate) fn on_connected(
        &mut self,
        conn: ConnectionId,
        hello: &Hello,
        now: NodeTime,
    ) -> Result<(), Refusal> {
        if !self.followers.contains_key(&hello.guid) && self.followers.len() >= FOLLOWERS_MAX {
            return Err(Refusal::Full);
        }
        let resume_seq = hello
            .position
            .and_then(|at| self.log.locate(at))
            .filter(|seq| self.log.has_all_after(*seq));
        let goal = self.log.end_position().seq;
        let phase = resume_seq.map_or(Phase::NeedsSnapshot, |sent| Phase::Streaming { sent, goal });
        let epoch = self.log.end_position().epoch;
        let resume = resume_seq.map(|seq| Position { epoch, seq });
        let validity = self.timing.in_sync_validity();
        let follower = self.followers.entry(hello.guid).or_insert(FollowerEntry {
            link: None,
            acked: 0,
            sent: 0,
            sync: SyncState::OutOfSync,
            in_sync_sent: None,
        });
        follower.link = Some(FollowerLink {
            conn,
            last_received: now,
            ping: None,
            phase,
            resume,
        });
        follower.suspect(validity, now, StandbyLossReason::Disconnected);
        match resume_seq {
            // It still has what it had acknowledged.
            Some(seq) if seq >= follower.acked => follower.acked = seq,
            Some(_) | None => {
                if follower.sync != SyncState::OutOfSync {
                    let reason = StandbyLossReason::RecordsLost;
                    self.events.push(ReplicationEvent::StandbyLost {
                        guid: hello.guid,
                        reason,
                    });
                }
                follower.acked = resume_seq.unwrap_or(0);
                follower.sync = SyncState::OutOfSync;
            }
        }
        self.update_followers(now);
        Ok(())
    }

    /// Whether a ping is pending.
    #[must_use]
    pub(crate) fn has_pending_ping(&self) -> bool {
        let mut links = self.followers.values().filter_map(|f| f.link.as_ref());
        links.any(|link| link.ping.is_some())
    }

    /// Whether the connection is the current one of a follower.
    #[must_use]
    pub(crate) fn is_current_connection(&self, conn: ConnectionId) -> bool {
        self.followers.values().any(|f| f.is_connected_by(conn))
    }

    /// A ping of a follower.
    pub(crate) fn on_ping(&mut self, conn: ConnectionId, ping: u64, now: NodeTime) {
        if let Some(link) = self.link(conn) {
            link.ping = Some(ping);
            link.last_received = now;
        }
        self.update_followers(now);
    }

    /// A follower has stored all batches up to `at`.
    ///
    /// # Errors
    /// [`AckError`] if they were not sent.
    pub(crate) fn on_ack(
        &mut self,
        conn: ConnectionId,
        at: Position,
        now: NodeTime,
    ) -> Result<(), AckError> {
        let epoch = self.log.end_position().epoch;
        let Some(follower) = self
            .followers
            .values_mut()
            .find(|f| f.is_connected_by(conn))
        else {
            return Ok(());
        };
        let Some(link) = &mut follower.link else {
            return Ok(());
        };
        link.last_received = now;
        if at.epoch != epoch {
            return Err(AckError);
        }
        match link.phase {
            Phase::Streaming { sent, .. } if at.seq <= sent => {
                follower.acked = follower.acked.max(at.seq);
            }
            Phase::AwaitingSnapshotAck(seq) if at.seq == seq => {
                follower.acked = seq;
                let goal = self.log.end_position().seq;
                link.phase = Phase::Streaming { sent: seq, goal };
            }
            // Acknowledges a batch sent before the snapshot.
            Phase::SendingSnapshot | Phase::AwaitingSnapshotAck(_) if at.seq <= follower.sent => {}
            Phase::NeedsSnapshot
            | Phase::SendingSnapshot
            | Phase::AwaitingSnapshotAck(_)
            | Phase::Streaming { .. } => {
                return Err(AckError);
            }
        }
        self.update_followers(now);
        Ok(())
    }

    /// A snapshot as of batch `seq` is sent. Must be called before its last records are sent.
    pub(crate) fn snapshot_sent(&mut self, conn: ConnectionId, seq: u64) {
        if let Some(link) = self.link(conn) {
            link.phase = Phase::AwaitingSnapshotAck(seq);
        }
    }

    /// A connection ended.
    pub(crate) fn on_disconnected(&mut self, conn: ConnectionId, now: NodeTime) {
        let in_sync_validity = self.timing.in_sync_validity();
        if let Some(follower) = self
            .followers
            .values_mut()
            .find(|f| f.is_connected_by(conn))
        {
            follower.link = None;
            follower.suspect(in_sync_validity, now, StandbyLossReason::Disconnected);
        }
        self.update_followers(now);
    }

    /// The next thing to send. `is_driver_alive`: the driver's loop runs; otherwise pings are not
    /// answered.
    pub(crate) fn poll(
        &mut self,
        conn: ConnectionId,
        is_driver_alive: bool,
        now: NodeTime,
    ) -> Option<FollowerMessage> {
        let last = self.log.end_position().seq;
        let follower = self
            .followers
            .values_mut()
            .find(|f| f.is_connected_by(conn))?;
        let link = follower.link.as_mut()?;
        if let Some(position) = link.resume.take() {
            return Some(FollowerMessage::Message(Message::Resume(position)));
        }
        if is_driver_alive && let Some(ping) = link.ping.take() {
            let in_sync = follower.sync == SyncState::InSync;
            if in_sync {
                follower.in_sync_sent = Some(now);
            }
            return Some(FollowerMessage::Message(Message::Pong { ping, in_sync }));
        }
        match link.phase {
            Phase::NeedsSnapshot => {
                link.phase = Phase::SendingSnapshot;
                Some(FollowerMessage::Snapshot)
            }
            Phase::SendingSnapshot | Phase::AwaitingSnapshotAck(_) => None,
            Phase::Streaming { sent, .. } if sent >= last || sent >= follower.acked + WINDOW => {
                None
            }
            Phase::Streaming { sent, goal } => {
                let seq = sent + 1;
                let Some(body) = self.log.get(seq) else {
                    // The log no longer contains the next batch.
                    link.phase = Phase::SendingSnapshot;
                    return Some(FollowerMessage::Snapshot);
                };
                link.phase = Phase::Streaming { sent: seq, goal };
                follower.sent = seq;
                Some(FollowerMessage::Batch {
                    seq,
                    body: body.clone(),
                })
            }
        }
    }

    /// Sets how long the local disk has delayed the oldest reply; zero if none depends on unwritten
    /// records. Must precede [`Self::tick`].
    pub(crate) const fn set_disk_delay(&mut self, delay: Duration) {
        self.disk_delay = delay;
    }

    /// Advances the time. Must be called several times per heartbeat interval.
    pub(crate) fn tick(&mut self, now: NodeTime) {
        let gap = now.saturating_sub(self.last_tick);
        self.last_tick = now;
        if gap > self.timing.lease {
            // The process was stalled, so nothing was received from followers. No follower is
            // dropped at once: the SM first verifies whether another one became master.
            self.events.push(ReplicationEvent::ProcessStalled(gap));
            for follower in self.followers.values_mut() {
                if let Some(link) = &mut follower.link {
                    link.last_received = now;
                }
                if let SyncState::Suspect { until, .. } = &mut follower.sync {
                    *until = (*until).max(now + self.timing.in_sync_validity());
                }
            }
            for (_, at) in &mut self.committed {
                *at = now;
            }
        }
        self.update_followers(now);
    }

    /// Takes the pending events.
    pub(crate) fn take_events(&mut self) -> Vec<ReplicationEvent> {
        core::mem::take(&mut self.events)
    }

    fn link(&mut self, conn: ConnectionId) -> Option<&mut FollowerLink> {
        let follower = self
            .followers
            .values_mut()
            .find(|f| f.is_connected_by(conn))?;
        follower.link.as_mut()
    }

    /// Updates the state of all followers.
    fn update_followers(&mut self, now: NodeTime) {
        let timing = self.timing;
        let last = self.log.end_position().seq;
        let acknowledged = self.acknowledged;
        for (guid, follower) in &mut self.followers {
            // No batch that it lacks was committed earlier.
            let waits_since = self
                .committed
                .get(
                    self.committed
                        .partition_point(|(seq, _)| *seq <= follower.acked),
                )
                .map_or(now, |(_, at)| *at);
            let waits = now.saturating_sub(waits_since).max(self.disk_delay);
            let idle_time = follower
                .link
                .as_ref()
                .map(|l| now.saturating_sub(l.last_received));
            let loss = match idle_time {
                None => Some(StandbyLossReason::Disconnected),
                Some(idle) if idle > timing.lease => Some(StandbyLossReason::Silent),
                Some(_) if waits + timing.in_sync_validity() > timing.ack_timeout => {
                    Some(StandbyLossReason::Late)
                }
                Some(_) => None,
            };
            match (follower.sync, loss) {
                (SyncState::OutOfSync, None) => {
                    if let Some(Phase::Streaming { goal, .. }) =
                        follower.link.as_ref().map(|l| l.phase)
                        && follower.acked >= goal
                    {
                        follower.sync = SyncState::Joining {
                            threshold: acknowledged,
                        };
                    }
                }
                (SyncState::OutOfSync, Some(_)) | (SyncState::InSync, None) => {}
                (SyncState::Joining { .. }, Some(_)) => {
                    follower.sync = SyncState::OutOfSync;
                    follower.set_goal(last);
                }
                (SyncState::Joining { .. }, None) => {}
                (SyncState::InSync, Some(reason)) => {
                    follower.suspect(timing.in_sync_validity(), now, reason)
                }
                (SyncState::Suspect { .. }, None) => {
                    // The master waited for it all the time, so it lacks no acknowledged batch.
                    if matches!(
                        follower.link.as_ref().map(|l| l.phase),
                        Some(Phase::Streaming { goal, .. }) if follower.acked >= goal
                    ) {
                        follower.sync = SyncState::InSync;
                    }
                }
                (SyncState::Suspect { .. }, Some(_)) => {}
            }
            if let SyncState::Joining { threshold } = follower.sync
                && follower.acked >= threshold
            {
                follower.sync = SyncState::InSync;
                self.events
                    .push(ReplicationEvent::StandbyInSync { guid: *guid });
            }
            if let SyncState::Suspect { until, reason } = follower.sync
                && now >= until
            {
                follower.sync = SyncState::OutOfSync;
                follower.set_goal(last);
                self.events.push(ReplicationEvent::StandbyLost {
                    guid: *guid,
                    reason,
                });
            }
            // The peer is unreachable: the connection is closed, and it may reconnect.
            if idle_time.is_some_and(|idle_time| {
                idle_time > timing.ack_timeout.max(timing.in_sync_validity())
            }) {
                follower.link = None;
            }
        }
        let is_gone = |f: &FollowerEntry| f.link.is_none() && f.sync == SyncState::OutOfSync;
        self.followers.retain(|_, follower| !is_gone(follower));
        self.update_acknowledged();
        self.update_protection(now);
    }

    fn update_acknowledged(&mut self) {
        let waited_for = self
            .followers
            .values()
            .filter(|f| f.sync != SyncState::OutOfSync);
        let min_acked = waited_for.map(|f| f.acked).min();
        let acknowledged = min_acked
            .unwrap_or(u64::MAX)
            .min(self.log.end_position().seq);
        self.acknowledged = self.acknowledged.max(acknowledged);
        let acknowledged_count = self
            .committed
            .partition_point(|(seq, _)| *seq <= self.acknowledged);
        self.committed.drain(..acknowledged_count);
    }

    /// Updates whether a replica exists.
    fn update_protection(&mut self, now: NodeTime) {
        let is_protected = self
            .followers
            .values()
            .any(|f| matches!(f.sync, SyncState::InSync | SyncState::Suspect { .. }));
        let grace = now < self.started + self.timing.startup_grace;
        self.protection = match (self.protection, is_protected) {
            (Protection::Lost, true) => {
                self.events.push(ReplicationEvent::ProtectionRestored);
                Protection::Protected
            }
            (Protection::Starting | Protection::Protected, true) => Protection::Protected,
            (Protection::Starting, false) if grace => Protection::Starting,
            (Protection::Starting | Protection::Protected, false) => {
                let reason = "no standby in sync".to_owned();
                self.events.push(ReplicationEvent::ProtectionLost(reason));
                Protection::Lost
            }
            (Protection::Lost, false) => Protection::Lost,
        };
    }
}

impl FollowerEntry {
    fn is_connected_by(&self, conn: ConnectionId) -> bool {
        self.link.as_ref().is_some_and(|link| link.conn == conn)
    }

    /// Stops reporting it in sync. The master waits for it until the last such report has expired.
    fn suspect(&mut self, in_sync_validity: Duration, now: NodeTime, reason: StandbyLossReason) {
        match self.sync {
            SyncState::InSync => {
                let until = self
                    .in_sync_sent
                    .map_or(now, |in_sync_sent| in_sync_sent + in_sync_validity);
                self.sync = SyncState::Suspect { until, reason };
            }
            SyncState::Joining { .. } => self.sync = SyncState::OutOfSync,
            SyncState::OutOfSync | SyncState::Suspect { .. } => {}
        }
    }

    /// Sets the batch that it has to acknowledge before it can be in sync again.
    fn set_goal(&mut self, last: u64) {
        if let Some(Phase::Streaming { goal, .. }) = self.link.as_mut().map(|l| &mut l.phase) {
            *goal = last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::log::LogLimits;
    use super::super::wire::NodeRole;
    use super::*;

    const fn ms(ms: u64) -> NodeTime {
        Duration::from_millis(ms)
    }

    /// Replies that wait for a slow local disk are not replicated: standbys must not consider their
    /// replica complete.
    #[test]
    fn slow_master_disk_ends_in_sync_before_replies_are_sent() {
        let timing = Timing {
            heartbeat: ms(100),
            lease: ms(300),
            ack_timeout: ms(1000),
            ..Timing::default()
        };
        let at = Position { epoch: 1, seq: 7 };
        let log = BatchLog::new(2, Some(at), LogLimits::default());
        let mut leader = Leader::new(log, timing, ms(0));
        let hello = Hello {
            fabric: String::new(),
            guid: 5,
            priority: 0,
            role: NodeRole::Standby,
            position: Some(at),
        };
        let conn = ConnectionId(1);
        leader.on_connected(conn, &hello, ms(0)).unwrap();
        leader.poll(conn, true, ms(0)).unwrap();
        let pong_in_sync = |leader: &mut Leader, ping: u64, now| {
            leader.on_ping(conn, ping, now);
            leader.tick(now);
            match leader.poll(conn, true, now) {
                Some(FollowerMessage::Message(Message::Pong { in_sync, .. })) => in_sync,
                other => panic!("{other:?}"),
            }
        };
        assert!(pong_in_sync(&mut leader, 1, ms(100)));
        leader.set_disk_delay(ms(300));
        assert!(pong_in_sync(&mut leader, 2, ms(400)));
        leader.set_disk_delay(ms(450));
        assert!(!pong_in_sync(&mut leader, 3, ms(550)));
        leader.take_events();
        // Two leases after the last pong that reported in sync, no standby considers its replica
        // complete.
        leader.set_disk_delay(ms(900));
        assert!(!pong_in_sync(&mut leader, 4, ms(800)));
        assert!(!pong_in_sync(&mut leader, 4, ms(999)));
        assert!(
            !leader
                .take_events()
                .iter()
                .any(|e| matches!(e, ReplicationEvent::ProtectionLost(_)))
        );
        assert!(!pong_in_sync(&mut leader, 5, ms(1150)));
        assert!(
            leader
                .take_events()
                .iter()
                .any(|e| matches!(e, ReplicationEvent::ProtectionLost(_)))
        );
        leader.set_disk_delay(ms(0));
        assert!(pong_in_sync(&mut leader, 6, ms(1250)));
    }
}
