//! The standby's side of the copying: what came, what of it is durable, and how long ago the master was there. Pure: messages and
//! times go in, messages, jobs for the store, and events come out.
//!
//! Silence is counted from when the last ping that was answered left, not from when its answer came: an answer that was under way
//! for long says nothing of now.

use std::collections::VecDeque;

use ferrosm_core::records::{RecordBatch, RecordKey};
use thiserror::Error;

use super::event::{Event, Timing};
use super::leader::Now;
use super::log::Position;
use super::wire::{Message, Refusal, SNAPSHOT_MAX, WireError, decode_batch};

/// A record: key and value.
pub type RawRecord = (RecordKey, Box<[u8]>);

/// Pings that have no answer; older ones are forgotten.
const PINGS_MAX: usize = 64;

/// What the store is to do, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Job {
    /// Put a batch on top, and be there then.
    Apply(Position, RecordBatch),
    /// Be this, whatever it was before.
    Replace(Position, Vec<RawRecord>),
}

/// What a master may not say.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Offence {
    /// Bytes that are nothing.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A batch that does not follow.
    #[error("batch {got} came where {wanted} was due")]
    Gap {
        /// What was due.
        wanted: u64,
        /// What came.
        got: u64,
    },
    /// Something at the wrong time.
    #[error("a message came that does not belong here")]
    Order,
    /// More records than anybody has.
    #[error("a snapshot of more than {SNAPSHOT_MAX} bytes")]
    TooMuch,
    /// It does not serve.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// A standby.
#[derive(Debug)]
pub(crate) struct Follower {
    timing: Timing,
    leader: Option<Following>,
    events: Vec<Event>,
    jobs: Vec<Job>,
    /// Grows with every connection that is followed: what was said before that is out of date.
    turn: u64,
    ticked: Now,
    /// When this process ran again after it did not for a while: silence before that was its own.
    woke: Now,
}

/// A connection that is followed, or what was true when one was begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turn(u64);

#[cfg(feature = "etcd")]
impl Turn {
    /// Of who counts for itself.
    pub(super) const fn numbered(number: u64) -> Self {
        Self(number)
    }
}

#[derive(Debug)]
struct Following {
    turn: Turn,
    guid: u64,
    connected: bool,
    /// When the last ping left that was answered.
    heard: Now,
    in_sync: bool,
    ping: u64,
    pings: VecDeque<(u64, Now)>,
    next_ping: Now,
    taking: Taking,
    ack: Option<Position>,
}

#[derive(Debug)]
enum Taking {
    /// The master says first how it goes on.
    Nothing,
    /// StoreSnapshot, piece by piece.
    Snapshot {
        at: Position,
        missing: u64,
        bytes: usize,
        records: Vec<RawRecord>,
    },
    /// Batches; this is the last that came.
    Batches(Position),
}

impl Follower {
    /// Of who follows nobody yet.
    #[must_use]
    pub(crate) const fn new(timing: Timing) -> Self {
        Self {
            timing,
            leader: None,
            events: Vec::new(),
            jobs: Vec::new(),
            turn: 0,
            ticked: Now::ZERO,
            woke: Now::ZERO,
        }
    }

    /// To be asked for before the store is asked where it is.
    #[must_use]
    pub(crate) const fn turn(&self) -> Turn {
        Turn(self.turn)
    }

    /// Whether a connection is the one that is followed.
    #[must_use]
    pub(crate) fn follows(&self, turn: Turn) -> bool {
        self.leader
            .as_ref()
            .is_some_and(|l| l.connected && l.turn == turn)
    }

    /// The master that is followed, also if the connection to it is broken just now.
    #[must_use]
    pub(crate) fn leader(&self) -> Option<u64> {
        self.leader.as_ref().map(|l| l.guid)
    }

    /// Whether all is here that the master acknowledged to anybody, as far as it can be known at this time.
    #[must_use]
    pub(crate) fn in_sync(&self, now: Now) -> bool {
        self.leader.as_ref().is_some_and(|l| {
            l.in_sync && now.saturating_sub(l.heard) < self.timing.in_sync_validity()
        })
    }

    /// A node says that it is master, in answer to a word that left at `asked`, and said where the store was in turn `told`. The
    /// connection that is followed from now on; `None` if it is not to be this one.
    pub(crate) fn connected(&mut self, guid: u64, told: Turn, asked: Now) -> Option<Turn> {
        let free = match &self.leader {
            Some(old) => old.guid == guid && !old.connected,
            None => true,
        };
        if !free || told != self.turn() {
            return None;
        }
        self.step(false, "the connection broke");
        self.turn += 1;
        let turn = self.turn();
        self.leader = Some(Following {
            turn,
            guid,
            connected: true,
            heard: asked,
            in_sync: false,
            ping: 0,
            pings: VecDeque::new(),
            next_ping: asked,
            taking: Taking::Nothing,
            ack: None,
        });
        Some(turn)
    }

    /// The connection broke; the master is asked again at once. Silence goes on being counted.
    pub(crate) fn broken(&mut self, turn: Turn) {
        if self.follows(turn)
            && let Some(leader) = &mut self.leader
        {
            leader.connected = false;
            leader.pings.clear();
            leader.ack = None;
            leader.taking = Taking::Nothing;
        }
    }

    /// After this connection to it broke, the master cannot be reached, or is one no longer.
    pub(crate) fn gone(&mut self, turn: Turn, now: Now) {
        if self
            .leader
            .as_ref()
            .is_some_and(|l| !l.connected && l.turn == turn)
        {
            self.silent(now);
        }
    }

    /// The store did not take what came. The master is asked again later, for all that is missing then.
    pub(crate) fn failed(&mut self, turn: Turn, why: &str) {
        if turn != self.turn() {
            return;
        }
        self.step(false, why);
        self.leader = None;
        self.turn += 1;
    }

    /// Nobody is followed any longer, and nothing is to be said of it.
    pub(crate) fn stop(&mut self) {
        self.leader = None;
        self.turn += 1;
    }

    /// Something came from the master.
    ///
    /// # Errors
    /// [`Offence`]: the connection is of no use any longer. [`Offence::Refused`] also where the master says so.
    pub(crate) fn received(
        &mut self,
        turn: Turn,
        message: Message<'_>,
        now: Now,
    ) -> Result<(), Offence> {
        if !self.follows(turn) {
            return Err(Offence::Order);
        }
        let Some(leader) = &mut self.leader else {
            return Err(Offence::Order);
        };
        match message {
            Message::Resume(at) => {
                if !matches!(leader.taking, Taking::Nothing) {
                    return Err(Offence::Order);
                }
                leader.taking = Taking::Batches(at);
                leader.ack = Some(at);
            }
            Message::Snapshot { at, records } => {
                // Also after batches: to one that is so far behind that the master forgot what it needs.
                leader.taking = Taking::Snapshot {
                    at,
                    missing: records,
                    bytes: 0,
                    records: Vec::new(),
                };
                if records == 0 {
                    self.whole();
                }
            }
            Message::Records(some) => {
                let Taking::Snapshot {
                    missing,
                    bytes,
                    records,
                    ..
                } = &mut leader.taking
                else {
                    return Err(Offence::Order);
                };
                for (key, value) in some {
                    *missing = missing.checked_sub(1).ok_or(Offence::Order)?;
                    *bytes += key.0.len() + value.0.len();
                    if *bytes > SNAPSHOT_MAX {
                        return Err(Offence::TooMuch);
                    }
                    let key = RecordKey::from_bytes(key.0).ok_or(WireError::Garbled)?;
                    records.push((key, value.0.into()));
                }
                if *missing == 0 {
                    self.whole();
                }
            }
            Message::Batch { seq, body } => {
                let Taking::Batches(at) = &mut leader.taking else {
                    return Err(Offence::Order);
                };
                let wanted = at.seq.saturating_add(1);
                if seq != wanted {
                    return Err(Offence::Gap { wanted, got: seq });
                }
                let batch = decode_batch(body.0)?;
                at.seq = seq;
                self.jobs.push(Job::Apply(*at, batch));
            }
            Message::Pong { ping, in_sync } => {
                let known = leader.pings.iter().find(|(n, _)| *n == ping);
                if let Some((_, sent)) = known {
                    leader.heard = leader.heard.max(*sent);
                    leader.pings.retain(|(n, _)| *n > ping);
                    self.step(in_sync, "it does not store in time what it is sent");
                }
            }
            Message::Goodbye(leaving) => {
                let in_sync = self.in_sync(now);
                if let Some(leader) = self.leader.take() {
                    let guid = leader.guid;
                    self.events.push(Event::MasterLeaving {
                        guid,
                        leaving,
                        in_sync,
                    });
                }
            }
            Message::Refused(why) => return Err(why.into()),
            Message::Hello(_) | Message::Ping(_) | Message::Ack(_) => return Err(Offence::Order),
        }
        Ok(())
    }

    /// All up to here, which came in this turn, is durable.
    pub(crate) fn durable(&mut self, turn: Turn, at: Position) {
        if self.follows(turn)
            && let Some(leader) = &mut self.leader
        {
            leader.ack = Some(at);
        }
    }

    /// What is to be sent next.
    pub(crate) fn poll(&mut self, turn: Turn, now: Now) -> Option<Message<'static>> {
        if !self.follows(turn) {
            return None;
        }
        let leader = self.leader.as_mut()?;
        if let Some(at) = leader.ack.take() {
            return Some(Message::Ack(at));
        }
        if now < leader.next_ping {
            return None;
        }
        leader.next_ping = now + self.timing.heartbeat;
        leader.ping += 1;
        leader.pings.push_back((leader.ping, now));
        if leader.pings.len() > PINGS_MAX {
            leader.pings.pop_front();
        }
        Some(Message::Ping(leader.ping))
    }

    /// Time passes. To be called a few times in each heartbeat, after all that came was received.
    pub(crate) fn tick(&mut self, now: Now) {
        if now.saturating_sub(self.ticked) > self.timing.lease {
            self.woke = now;
        }
        self.ticked = now;
        let woke = self.woke;
        let late = |l: &Following| now.saturating_sub(l.heard.max(woke)) >= self.timing.lease;
        if self.leader.as_ref().is_some_and(late) {
            self.silent(now);
        }
    }

    /// What happened.
    pub(crate) fn events(&mut self) -> Vec<Event> {
        core::mem::take(&mut self.events)
    }

    /// What the store is to do.
    pub(crate) fn jobs(&mut self) -> Vec<Job> {
        core::mem::take(&mut self.jobs)
    }

    fn silent(&mut self, now: Now) {
        let in_sync = self.in_sync(now);
        if let Some(leader) = self.leader.take() {
            let guid = leader.guid;
            self.events.push(Event::MasterSilent {
                guid,
                in_sync,
                uncertain: false,
            });
        }
    }

    fn step(&mut self, in_sync: bool, why: &str) {
        let Some(leader) = &mut self.leader else {
            return;
        };
        if leader.in_sync == in_sync {
            return;
        }
        leader.in_sync = in_sync;
        let guid = leader.guid;
        self.events.push(if in_sync {
            Event::InSync { guid }
        } else {
            let why = why.to_owned();
            Event::OutOfSync { guid, why }
        });
    }

    /// A snapshot is complete.
    fn whole(&mut self) {
        let Some(leader) = &mut self.leader else {
            return;
        };
        if let Taking::Snapshot { at, records, .. } =
            core::mem::replace(&mut leader.taking, Taking::Nothing)
        {
            leader.taking = Taking::Batches(at);
            self.jobs.push(Job::Replace(at, records));
        }
    }
}
