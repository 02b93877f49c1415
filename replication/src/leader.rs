//! The master's side of the copying: what each follower has, whom the master waits for, and since when. Pure: messages and times go
//! in, messages and events come out.
//!
//! The promise behind [`Event::MasterSilent`]'s `in_sync`: as long as a follower may believe that it has everything, nothing counts
//! as acknowledged that it has not. A follower believes so for two leases from the ping whose answer said so. So a follower is not
//! given up before two leases after the last such answer, whatever happened to its connection.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::event::{Event, StandbyLossReason, Timing};
use super::log::{Gap, Log, Position};
use super::wire::{Hello, Message, Refusal};

/// Time since some beginning that stays.
pub(crate) type Now = Duration;

/// Followers at most; a further one is refused.
pub(crate) const FOLLOWERS_MAX: usize = 16;
/// Batches on their way to one follower; more wait in the log.
const WINDOW: u64 = 1024;

/// Number of a connection; no two have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Conn(pub u64);

/// What is to be sent to a follower.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outgoing {
    /// This message.
    Message(Message<'static>),
    /// A batch.
    Batch {
        /// Its number.
        seq: u64,
        /// It, encoded.
        body: Arc<[u8]>,
    },
    /// Everything: whoever sends it reads the store, and says [`Leader::snapshot_sent`] when it is on its way.
    Snapshot,
}

/// What a follower may not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it acknowledged what was not sent to it")]
pub(crate) struct Offence;

/// What a master knows of its followers.
#[derive(Debug)]
pub(crate) struct Leader {
    log: Log,
    timing: Timing,
    started: Now,
    ticked: Now,
    members: BTreeMap<u64, Member>,
    /// When batches were committed that somebody in step has not acknowledged yet.
    committed: VecDeque<(u64, Now)>,
    acknowledged: u64,
    /// How long an answer has waited for the own disk: what it says is with nobody else either.
    disk_delay: Duration,
    protection: Protection,
    events: Vec<Event>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protection {
    /// It has just begun: standbys are given time to come.
    Early,
    Good,
    Lost,
}

/// A follower, by its GUID.
#[derive(Debug)]
struct Member {
    link: Option<Link>,
    /// What it has for certain.
    acked: u64,
    /// The last batch that left for it.
    sent: u64,
    trust: Trust,
    /// When it was last told that it is in step.
    told: Option<Now>,
}

#[derive(Debug)]
struct Link {
    conn: Conn,
    heard: Now,
    /// A ping that has no answer yet.
    ping: Option<u64>,
    phase: Phase,
    resume: Option<Position>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It needs everything.
    Wanting,
    /// Everything is being sent.
    Sending,
    /// Everything is sent, as of this batch, and not stored yet.
    Storing(u64),
    /// It gets batches. `goal`: when it has so many, it can be waited for.
    Live { sent: u64, goal: u64 },
}

/// Whether the master waits for a follower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// No.
    Out,
    /// Yes; but the follower is not told so before it has all that is acknowledged: `threshold`.
    Joining { threshold: u64 },
    /// Yes.
    In,
    /// Yes, and no longer than until this time, unless things get better: the reason is told then.
    Doubtful { until: Now, why: StandbyLossReason },
}

impl Leader {
    /// Of who becomes master now.
    #[must_use]
    pub(crate) fn new(log: Log, timing: Timing, now: Now) -> Self {
        Self {
            acknowledged: log.end().seq,
            log,
            timing,
            started: now,
            ticked: now,
            members: BTreeMap::new(),
            committed: VecDeque::new(),
            disk_delay: Duration::ZERO,
            protection: Protection::Early,
            events: Vec::new(),
        }
    }

    /// A batch is durable here.
    ///
    /// # Errors
    /// [`Gap`] if it is there already: nothing is sent of it.
    pub(crate) fn committed(&mut self, seq: u64, body: Arc<[u8]>, now: Now) -> Result<(), Gap> {
        self.log.push(seq, body)?;
        self.committed.push_back((seq, now));
        self.count();
        Ok(())
    }

    /// All up to here is at every follower that is in step; what is committed, if there is none.
    #[must_use]
    pub(crate) const fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Its history.
    #[must_use]
    pub(crate) const fn log(&self) -> &Log {
        &self.log
    }

    /// GUIDs of followers that are connected, and whether each is in step.
    pub(crate) fn followers(&self) -> impl Iterator<Item = (u64, bool)> {
        let connected = self.members.iter().filter(|(_, m)| m.link.is_some());
        connected.map(|(guid, m)| (*guid, m.trust == Trust::In))
    }

    /// A follower has connected. An older connection of it is served no more.
    ///
    /// # Errors
    /// Why it is not served.
    pub(crate) fn joined(&mut self, conn: Conn, hello: &Hello, now: Now) -> Result<(), Refusal> {
        if !self.members.contains_key(&hello.guid) && self.members.len() >= FOLLOWERS_MAX {
            return Err(Refusal::Full);
        }
        let at = hello.position.and_then(|at| self.log.locate(at));
        let at = at.filter(|seq| self.log.follows(*seq));
        let goal = self.log.end().seq;
        let phase = at.map_or(Phase::Wanting, |sent| Phase::Live { sent, goal });
        let epoch = self.log.end().epoch;
        let resume = at.map(|seq| Position { epoch, seq });
        let until = self.timing.in_sync_validity();
        let member = self.members.entry(hello.guid).or_insert(Member {
            link: None,
            acked: 0,
            sent: 0,
            trust: Trust::Out,
            told: None,
        });
        member.link = Some(Link {
            conn,
            heard: now,
            ping: None,
            phase,
            resume,
        });
        member.doubt(until, now, StandbyLossReason::Disconnected);
        match at {
            // What it had acknowledged it still has.
            Some(seq) if seq >= member.acked => member.acked = seq,
            Some(_) | None => {
                if member.trust != Trust::Out {
                    let why = StandbyLossReason::RecordsLost;
                    self.events.push(Event::StandbyLost {
                        guid: hello.guid,
                        why,
                    });
                }
                member.acked = at.unwrap_or(0);
                member.trust = Trust::Out;
            }
        }
        self.review(now);
        Ok(())
    }

    /// Whether a ping waits for its answer.
    #[must_use]
    pub(crate) fn waits(&self) -> bool {
        let mut links = self.members.values().filter_map(|m| m.link.as_ref());
        links.any(|link| link.ping.is_some())
    }

    /// Whether a connection is still that of a follower.
    #[must_use]
    pub(crate) fn serves(&self, conn: Conn) -> bool {
        self.members.values().any(|m| m.is(conn))
    }

    /// A follower asks whether the master is there.
    pub(crate) fn pinged(&mut self, conn: Conn, ping: u64, now: Now) {
        if let Some(link) = self.link(conn) {
            link.ping = Some(ping);
            link.heard = now;
        }
        self.review(now);
    }

    /// A follower has all up to here.
    ///
    /// # Errors
    /// [`Offence`] if that cannot be.
    pub(crate) fn acked(&mut self, conn: Conn, at: Position, now: Now) -> Result<(), Offence> {
        let epoch = self.log.end().epoch;
        let Some(member) = self.members.values_mut().find(|m| m.is(conn)) else {
            return Ok(());
        };
        let Some(link) = &mut member.link else {
            return Ok(());
        };
        link.heard = now;
        if at.epoch != epoch {
            return Err(Offence);
        }
        match link.phase {
            Phase::Live { sent, .. } if at.seq <= sent => {
                member.acked = member.acked.max(at.seq);
            }
            Phase::Storing(seq) if at.seq == seq => {
                member.acked = seq;
                let goal = self.log.end().seq;
                link.phase = Phase::Live { sent: seq, goal };
            }
            // Of batches that left before everything was sent anew.
            Phase::Sending | Phase::Storing(_) if at.seq <= member.sent => {}
            Phase::Wanting | Phase::Sending | Phase::Storing(_) | Phase::Live { .. } => {
                return Err(Offence);
            }
        }
        self.review(now);
        Ok(())
    }

    /// All records are sent, as of batch `seq`. To be said before the last of them leaves.
    pub(crate) fn snapshot_sent(&mut self, conn: Conn, seq: u64) {
        if let Some(link) = self.link(conn) {
            link.phase = Phase::Storing(seq);
        }
    }

    /// A connection is gone.
    pub(crate) fn lost(&mut self, conn: Conn, now: Now) {
        let in_sync_validity = self.timing.in_sync_validity();
        if let Some(member) = self.members.values_mut().find(|m| m.is(conn)) {
            member.link = None;
            member.doubt(in_sync_validity, now, StandbyLossReason::Disconnected);
        }
        self.review(now);
    }

    /// What is to be sent next. `alive`: whether the program that this is for still turns its loop; pings are not answered for
    /// one that hangs.
    pub(crate) fn poll(&mut self, conn: Conn, alive: bool, now: Now) -> Option<Outgoing> {
        let last = self.log.end().seq;
        let member = self.members.values_mut().find(|m| m.is(conn))?;
        let link = member.link.as_mut()?;
        if let Some(position) = link.resume.take() {
            return Some(Outgoing::Message(Message::Resume(position)));
        }
        if alive && let Some(ping) = link.ping.take() {
            let in_sync = member.trust == Trust::In;
            if in_sync {
                member.told = Some(now);
            }
            return Some(Outgoing::Message(Message::Pong { ping, in_sync }));
        }
        match link.phase {
            Phase::Wanting => {
                link.phase = Phase::Sending;
                Some(Outgoing::Snapshot)
            }
            Phase::Sending | Phase::Storing(_) => None,
            Phase::Live { sent, .. } if sent >= last || sent >= member.acked + WINDOW => None,
            Phase::Live { sent, goal } => {
                let seq = sent + 1;
                let Some(body) = self.log.get(seq) else {
                    // It is so far behind that the log forgot what it needs.
                    link.phase = Phase::Sending;
                    return Some(Outgoing::Snapshot);
                };
                link.phase = Phase::Live { sent: seq, goal };
                member.sent = seq;
                Some(Outgoing::Batch {
                    seq,
                    body: body.clone(),
                })
            }
        }
    }

    /// An answer has waited so long for the own disk; zero where none waits. To be said before [`Self::tick`].
    pub(crate) const fn disk_delay(&mut self, waits: Duration) {
        self.disk_delay = waits;
    }

    /// Time passes. To be called a few times in each heartbeat.
    pub(crate) fn tick(&mut self, now: Now) {
        let gap = now.saturating_sub(self.ticked);
        self.ticked = now;
        if gap > self.timing.lease {
            // The process did not run: followers have not been silent, nobody listened. Nor is anybody given up at once, so that who
            // owns this can look first whether another became master.
            self.events.push(Event::ProcessStalled(gap));
            for member in self.members.values_mut() {
                if let Some(link) = &mut member.link {
                    link.heard = now;
                }
                if let Trust::Doubtful { until, .. } = &mut member.trust {
                    *until = (*until).max(now + self.timing.in_sync_validity());
                }
            }
            for (_, at) in &mut self.committed {
                *at = now;
            }
        }
        self.review(now);
    }

    /// What happened.
    pub(crate) fn events(&mut self) -> Vec<Event> {
        core::mem::take(&mut self.events)
    }

    fn link(&mut self, conn: Conn) -> Option<&mut Link> {
        let member = self.members.values_mut().find(|m| m.is(conn))?;
        member.link.as_mut()
    }

    /// Looks at every follower again, and counts.
    fn review(&mut self, now: Now) {
        let timing = self.timing;
        let last = self.log.end().seq;
        let acknowledged = self.acknowledged;
        for (guid, member) in &mut self.members {
            // Nothing that it lacks was committed before this time.
            let waits_since = self
                .committed
                .get(
                    self.committed
                        .partition_point(|(seq, _)| *seq <= member.acked),
                )
                .map_or(now, |(_, at)| *at);
            let waits = now.saturating_sub(waits_since).max(self.disk_delay);
            let quiet = member.link.as_ref().map(|l| now.saturating_sub(l.heard));
            let trouble = match quiet {
                None => Some(StandbyLossReason::Disconnected),
                Some(quiet) if quiet > timing.lease => Some(StandbyLossReason::Silent),
                Some(_) if waits + timing.in_sync_validity() > timing.limit => {
                    Some(StandbyLossReason::Late)
                }
                Some(_) => None,
            };
            match (member.trust, trouble) {
                (Trust::Out, None) => {
                    if let Some(Phase::Live { goal, .. }) = member.link.as_ref().map(|l| l.phase)
                        && member.acked >= goal
                    {
                        member.trust = Trust::Joining {
                            threshold: acknowledged,
                        };
                    }
                }
                (Trust::Out, Some(_)) | (Trust::In, None) => {}
                (Trust::Joining { .. }, Some(_)) => {
                    member.trust = Trust::Out;
                    member.aim(last);
                }
                (Trust::Joining { .. }, None) => {}
                (Trust::In, Some(why)) => member.doubt(timing.in_sync_validity(), now, why),
                (Trust::Doubtful { .. }, None) => {
                    // Still waited for, so it has missed nothing.
                    if matches!(
                        member.link.as_ref().map(|l| l.phase),
                        Some(Phase::Live { goal, .. }) if member.acked >= goal
                    ) {
                        member.trust = Trust::In;
                    }
                }
                (Trust::Doubtful { .. }, Some(_)) => {}
            }
            if let Trust::Joining { threshold } = member.trust
                && member.acked >= threshold
            {
                member.trust = Trust::In;
                self.events.push(Event::StandbyInSync { guid: *guid });
            }
            if let Trust::Doubtful { until, why } = member.trust
                && now >= until
            {
                member.trust = Trust::Out;
                member.aim(last);
                self.events.push(Event::StandbyLost { guid: *guid, why });
            }
            // The peer is there for nobody: its connection ends, and it may come again.
            if quiet.is_some_and(|quiet| quiet > timing.limit.max(timing.in_sync_validity())) {
                member.link = None;
            }
        }
        let gone = |m: &Member| m.link.is_none() && m.trust == Trust::Out;
        self.members.retain(|_, member| !gone(member));
        self.count();
        self.judge(now);
    }

    fn count(&mut self) {
        let waited_for = self.members.values().filter(|m| m.trust != Trust::Out);
        let least = waited_for.map(|m| m.acked).min();
        let all = least.unwrap_or(u64::MAX).min(self.log.end().seq);
        self.acknowledged = self.acknowledged.max(all);
        let known = self
            .committed
            .partition_point(|(seq, _)| *seq <= self.acknowledged);
        self.committed.drain(..known);
    }

    /// Whether anybody has a copy.
    fn judge(&mut self, now: Now) {
        let good = self
            .members
            .values()
            .any(|m| matches!(m.trust, Trust::In | Trust::Doubtful { .. }));
        let grace = now < self.started + self.timing.grace;
        self.protection = match (self.protection, good) {
            (Protection::Lost, true) => {
                self.events.push(Event::ProtectionRestored);
                Protection::Good
            }
            (Protection::Early | Protection::Good, true) => Protection::Good,
            (Protection::Early, false) if grace => Protection::Early,
            (Protection::Early | Protection::Good, false) => {
                let why = "no standby holds a copy of the state".to_owned();
                self.events.push(Event::ProtectionLost(why));
                Protection::Lost
            }
            (Protection::Lost, false) => Protection::Lost,
        };
    }
}

impl Member {
    fn is(&self, conn: Conn) -> bool {
        self.link.as_ref().is_some_and(|link| link.conn == conn)
    }

    /// It is told no more that it is in step, and given up when it cannot believe that any longer.
    fn doubt(&mut self, in_sync_validity: Duration, now: Now, why: StandbyLossReason) {
        match self.trust {
            Trust::In => {
                let until = self.told.map_or(now, |told| told + in_sync_validity);
                self.trust = Trust::Doubtful { until, why };
            }
            Trust::Joining { .. } => self.trust = Trust::Out,
            Trust::Out | Trust::Doubtful { .. } => {}
        }
    }

    /// It has to have so many before it is waited for again.
    fn aim(&mut self, last: u64) {
        if let Some(Phase::Live { goal, .. }) = self.link.as_mut().map(|l| &mut l.phase) {
            *goal = last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::log::LogLimits;
    use super::super::wire::NodeRole;
    use super::*;

    const fn ms(ms: u64) -> Now {
        Duration::from_millis(ms)
    }

    /// What an answer says while the own disk hangs is committed nowhere: standbys must not believe that they have it.
    #[test]
    fn a_disk_that_hangs_is_told_to_standbys_before_answers_leave() {
        let timing = Timing {
            heartbeat: ms(100),
            lease: ms(300),
            limit: ms(1000),
            ..Timing::default()
        };
        let at = Position { epoch: 1, seq: 7 };
        let log = Log::new(2, Some(at), LogLimits::default());
        let mut leader = Leader::new(log, timing, ms(0));
        let hello = Hello {
            fabric: String::new(),
            guid: 5,
            priority: 0,
            standing: NodeRole::Standby,
            position: Some(at),
        };
        let conn = Conn(1);
        leader.joined(conn, &hello, ms(0)).unwrap();
        leader.poll(conn, true, ms(0)).unwrap();
        let told = |leader: &mut Leader, ping: u64, now| {
            leader.pinged(conn, ping, now);
            leader.tick(now);
            match leader.poll(conn, true, now) {
                Some(Outgoing::Message(Message::Pong { in_sync, .. })) => in_sync,
                other => panic!("{other:?}"),
            }
        };
        assert!(told(&mut leader, 1, ms(100)));
        leader.disk_delay(ms(300));
        assert!(told(&mut leader, 2, ms(400)));
        leader.disk_delay(ms(450));
        assert!(!told(&mut leader, 3, ms(550)));
        leader.events();
        // Two leases after the last word that said otherwise nobody believes it any more.
        leader.disk_delay(ms(900));
        assert!(!told(&mut leader, 4, ms(800)));
        assert!(!told(&mut leader, 4, ms(999)));
        assert!(
            !leader
                .events()
                .iter()
                .any(|e| matches!(e, Event::ProtectionLost(_)))
        );
        assert!(!told(&mut leader, 5, ms(1150)));
        assert!(
            leader
                .events()
                .iter()
                .any(|e| matches!(e, Event::ProtectionLost(_)))
        );
        leader.disk_delay(ms(0));
        assert!(told(&mut leader, 6, ms(1250)));
    }
}
