//! What the tasks and the driver have in common: leader and follower under one lock, and who is told when they change.

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ferrosm_core::kept::Batch;
use tokio::sync::{mpsc, oneshot, watch};

use super::Settings;
use crate::event::Event;
use crate::follower::Follower;
use crate::leader::{Conn, Leader, Now, Outgoing};
use crate::log::{Log, Position};
use crate::storing::{Ask, Everything, Stored};
use crate::tls::Tls;
use crate::wire::{self, Hello, Leaving, Refusal, Standing};
use crate::{CopyError, Role, Settle, Standby, Status, WarmCopy};

/// Complaints about peers that are remembered, so that each is told once.
const COMPLAINTS_MAX: usize = 64;

/// Whether to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// Not yet.
    No,
    /// With goodbyes.
    Kindly,
    /// As a crash would.
    AtOnce,
}

/// All of it.
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) tls: Tls,
    /// Grows when there may be something to do for somebody.
    pub(super) changed: watch::Sender<u64>,
    pub(super) acknowledged: watch::Sender<u64>,
    core: Mutex<Core>,
    copy: Arc<dyn WarmCopy>,
    events: mpsc::Sender<Event>,
    began: Instant,
    /// Milliseconds from `began` to the last turn of the driver's loop.
    pulse: AtomicU64,
    /// Milliseconds that an answer waited for the own disk then.
    disk_waits: AtomicU64,
}

/// What is under the lock.
pub(super) struct Core {
    pub(super) role: Role,
    pub(super) leader: Option<Leader>,
    /// The leader leaves: followers are told when they have all.
    pub(super) farewell: Option<Leaving>,
    pub(super) follower: Follower,
    pub(super) asks: Option<Sender<Ask>>,
    /// The last batch that was committed before this node led, in the history that it begins.
    before_lead: u64,
    conns: u64,
    complaints: BTreeMap<String, String>,
    dropped: u64,
}

impl Shared {
    pub(super) fn new(
        settings: Settings,
        tls: Tls,
        copy: Arc<dyn WarmCopy>,
        events: mpsc::Sender<Event>,
    ) -> Self {
        Self {
            core: Mutex::new(Core {
                role: Role::Neither(Leaving::Stopping),
                leader: None,
                farewell: None,
                follower: Follower::new(settings.pace),
                asks: None,
                before_lead: 0,
                conns: 0,
                complaints: BTreeMap::new(),
                dropped: 0,
            }),
            settings,
            tls,
            copy,
            changed: watch::Sender::new(0),
            acknowledged: watch::Sender::new(0),
            events,
            began: Instant::now(),
            pulse: AtomicU64::new(0),
            disk_waits: AtomicU64::new(0),
        }
    }

    pub(super) fn now(&self) -> Now {
        self.began.elapsed()
    }

    /// Does something under the lock, and passes on what comes of it.
    pub(super) fn with<T>(&self, f: impl FnOnce(&mut Core, Now) -> T) -> T {
        let mut core = self.core.lock().unwrap_or_else(PoisonError::into_inner);
        let done = f(&mut core, self.now());
        self.pass_on(&mut core);
        done
    }

    /// The same, and everybody looks whether there is something to do.
    pub(super) fn change<T>(&self, f: impl FnOnce(&mut Core, Now) -> T) -> T {
        let done = self.with(f);
        self.changed.send_modify(|n| *n = n.wrapping_add(1));
        done
    }

    fn pass_on(&self, core: &mut Core) {
        let jobs = core.follower.jobs();
        if !jobs.is_empty() {
            let turn = core.follower.turn();
            core.ask(Ask::Jobs(turn, jobs));
        }
        for event in core.follower.events() {
            self.tell(core, event);
        }
        if let Some(leader) = &mut core.leader {
            let events = leader.events();
            let acknowledged = leader.acknowledged();
            let grew = self.acknowledged.send_if_modified(|a| {
                let differs = *a != acknowledged;
                *a = acknowledged;
                differs
            });
            if grew {
                self.copy.acknowledged(acknowledged);
            }
            if core.farewell.is_none() {
                for event in events {
                    self.tell(core, event);
                }
            }
        }
    }

    fn tell(&self, core: &mut Core, event: Event) {
        tracing::debug!("replication: {event:?}");
        if let Err(error) = self.events.try_send(event) {
            core.dropped = core.dropped.saturating_add(1);
            if core.dropped.is_power_of_two() {
                tracing::error!(
                    "replication: {} events were not taken: {error}",
                    core.dropped
                );
            }
        }
    }

    /// Something is wrong with a peer that an operator should know; once for each reason.
    pub(super) fn complain(&self, peer: &str, why: String) {
        self.with(|core, _| {
            if core.complaints.get(peer) == Some(&why) {
                return;
            }
            if core.complaints.len() >= COMPLAINTS_MAX {
                core.complaints.clear();
            }
            core.complaints.insert(peer.to_owned(), why.clone());
            let peer = peer.to_owned();
            self.tell(core, Event::Refused { peer, why });
        });
    }

    /// A peer is what it should be.
    pub(super) fn content(&self, peer: &str) {
        self.with(|core, _| core.complaints.remove(peer));
    }

    pub(super) fn pulse(&self) {
        let now = u64::try_from(self.now().as_millis()).unwrap_or(u64::MAX);
        self.pulse.store(now, Ordering::Relaxed);
    }

    pub(super) fn disk_waits(&self, waits: Duration) {
        let waits = u64::try_from(waits.as_millis()).unwrap_or(u64::MAX);
        self.disk_waits.store(waits, Ordering::Relaxed);
    }

    /// Told when all that was asked of the store before is done.
    pub(super) fn settled(&self, then: Settle) {
        self.with(|core, _| core.ask(Ask::Settled(Box::new(move |_| then(None)))));
    }

    fn alive(&self, now: Now) -> bool {
        let last = Duration::from_millis(self.pulse.load(Ordering::Relaxed));
        now.saturating_sub(last) <= self.settings.hang
    }

    pub(super) fn tick(&self) {
        let woken = self.with(|core, now| {
            core.follower.tick(now);
            let leader = core.leader.as_mut()?;
            let before = leader.acknowledged();
            let waits = self.disk_waits.load(Ordering::Relaxed);
            leader.disk_waits(Duration::from_millis(waits));
            leader.tick(now);
            let gone = core.farewell.is_some() && leader.followers().next().is_none();
            // Pings wait for the driver to turn again.
            let waits = leader.waits() && self.alive(now);
            let told = gone || waits || leader.acknowledged() != before;
            if gone {
                core.leader = None;
                core.farewell = None;
            }
            told.then_some(())
        });
        if woken.is_some() {
            self.changed.send_modify(|n| *n = n.wrapping_add(1));
        }
    }

    pub(super) fn role(self: &Arc<Self>, role: Role) {
        // The driver turns: it says so.
        self.pulse();
        self.change(|core, _| {
            if core.role == role {
                return;
            }
            core.role = role;
            if core.leader.is_some() && core.farewell.is_none() {
                core.farewell = Some(match role {
                    Role::Neither(leaving) => leaving,
                    Role::Standby | Role::Master { .. } => Leaving::HandingOver,
                });
            }
            match role {
                Role::Standby => {}
                Role::Neither(_) => core.follower.stop(),
                Role::Master { epoch } => {
                    core.follower.stop();
                    core.before_lead = 0;
                    let shared = self.clone();
                    core.ask(Ask::Settled(Box::new(move |base| shared.lead(epoch, base))));
                }
            }
        });
    }

    /// All that came before is stored: the node may lead.
    fn lead(self: &Arc<Self>, epoch: u64, base: Option<Position>) {
        self.change(|core, now| {
            if core.role != (Role::Master { epoch }) {
                return;
            }
            if base.is_some_and(|base| base.seq < core.before_lead) {
                // Something was committed after the question: it is in no log, and would never come to anybody.
                let shared = self.clone();
                core.ask(Ask::Settled(Box::new(move |base| shared.lead(epoch, base))));
                return;
            }
            let log = Log::new(epoch, base, self.settings.log);
            core.leader = Some(Leader::new(log, self.settings.pace, now));
            core.farewell = None;
            self.tell(core, Event::Leading);
        });
    }

    pub(super) fn committed(&self, seq: u64, batch: &Batch) {
        let body = match wire::encode_batch(batch) {
            Ok(body) => body,
            Err(error) => return tracing::error!("replication: batch {seq}: {error}"),
        };
        self.change(|core, now| {
            // Before it leads: standbys get everything then, with what this batch changed.
            if !core.leading() {
                core.before_lead = core.before_lead.max(seq);
                return;
            }
            let done = core
                .leader
                .as_mut()
                .map(|l| l.committed(seq, body.into(), now));
            if let Some(Err(gap)) = done {
                tracing::error!("replication: {gap}");
            }
        });
    }

    /// The program ends.
    pub(super) fn leave(&self) {
        self.change(|core, _| {
            core.follower.stop();
            core.role = Role::Neither(Leaving::Stopping);
            if core.leader.is_some() {
                core.farewell.get_or_insert(Leaving::Stopping);
            }
        });
    }

    /// Whether all followers were told.
    pub(super) fn parted(&self) -> bool {
        self.with(|core, _| {
            let leader = core.leader.as_ref();
            leader.is_none_or(|l| l.followers().next().is_none())
        })
    }

    pub(super) fn stored(&self, stored: Stored) {
        self.change(|core, _| match stored {
            Stored::Durable(turn, at) => core.follower.durable(turn, at),
            Stored::Failed(turn, error) => core.follower.failed(turn, &error.to_string()),
        });
    }

    pub(super) fn status(&self) -> Status {
        self.with(|core, now| Status {
            protected: core
                .leader
                .as_ref()
                .is_some_and(|l| l.followers().any(|(_, in_step)| in_step)),
            committed: core.leader.as_ref().map(|l| l.log().end()),
            acknowledged: core.leader.as_ref().map_or(0, Leader::acknowledged),
            standbys: core.leader.as_ref().map(|l| {
                let all = l.followers();
                all.map(|(guid, in_step)| Standby { guid, in_step })
                    .collect()
            }),
            leader: core.follower.leader().map(|guid| Standby {
                guid,
                in_step: core.follower.in_step(now),
            }),
        })
    }

    /// What this node says of itself.
    pub(super) fn hello(&self, position: Option<Position>) -> Hello {
        let standing = self.with(|core, now| match core.role {
            // One that hangs, or does not lead yet, is nobody's master.
            Role::Master { .. } if core.leading() && self.alive(now) => Standing::Master,
            Role::Standby => Standing::Standby,
            Role::Master { .. } | Role::Neither(_) => Standing::Neither,
        });
        Hello {
            fabric: self.settings.fabric.clone(),
            guid: self.settings.guid,
            priority: self.settings.priority,
            standing,
            position,
        }
    }

    /// Where the store is, when all before is done.
    pub(super) async fn position(&self) -> Option<Position> {
        let (reply, answer) = oneshot::channel();
        self.with(|core, _| core.ask(Ask::Position(reply)));
        answer.await.ok().flatten()
    }

    /// All records.
    pub(super) async fn everything(&self) -> Result<Everything, CopyError> {
        let (reply, answer) = oneshot::channel();
        self.with(|core, _| core.ask(Ask::Everything(reply)));
        let gone = |_| Err(CopyError("it is closed".to_owned()));
        answer.await.unwrap_or_else(gone)
    }

    /// Takes a follower on.
    pub(super) fn join(&self, hello: &Hello) -> Result<Conn, Refusal> {
        self.change(|core, now| {
            core.conns += 1;
            let conn = Conn(core.conns);
            let leading = core.leading();
            let leader = core.leader.as_mut().filter(|_| leading);
            leader.ok_or(Refusal::NotMaster)?.joined(conn, hello, now)?;
            Ok(conn)
        })
    }

    /// What is to be sent to a follower next.
    pub(super) fn next(&self, conn: Conn) -> Next {
        self.with(|core, now| {
            let alive = self.alive(now);
            let Some(leader) = core.leader.as_mut().filter(|l| l.serves(conn)) else {
                return Next::End;
            };
            match (leader.poll(conn, alive, now), core.farewell) {
                (Some(out), _) => Next::Send(out),
                (None, Some(leaving)) => Next::Goodbye(leaving),
                (None, None) => Next::Wait,
            }
        })
    }
}

/// What a connection to a follower is to do.
pub(super) enum Next {
    /// Send this.
    Send(Outgoing),
    /// Wait for a change.
    Wait,
    /// Say goodbye and end.
    Goodbye(Leaving),
    /// End.
    End,
}

impl Core {
    pub(super) fn leading(&self) -> bool {
        self.leader.is_some() && self.farewell.is_none()
    }

    fn ask(&self, ask: Ask) {
        // Without the thread the program ends, and nobody needs an answer.
        if let Some(asks) = &self.asks {
            let _ = asks.send(ask);
        }
    }
}
