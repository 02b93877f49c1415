//! What the driver and the thread of replication through etcd have in common: role, ledger, and what was seen of the master, under one
//! lock that is never held over a wait.

use core::time::Duration;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::{mpsc, oneshot, watch};

use super::Settings;
use super::keys::Keys;
use super::ledger::Ledger;
use super::link::Members;
use crate::event::Event;
use crate::follower::Turn;
use crate::leader::Now;
use crate::log::Position;
use crate::storing::Ask;
use crate::wire::Leaving;
use crate::{CopyError, Everything, Role, Settle, Standby, WarmCopy};

/// Time until etcd is asked again after it failed.
pub(super) const PAUSE: Duration = Duration::from_millis(50);
/// And after it failed often.
pub(super) const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Time to read what is to be read before the records are used.
pub(super) const SETTLE: Duration = Duration::from_secs(1);
/// So long of it a master that hands over has to go.
pub(super) const GOING: Duration = Duration::from_millis(500);
/// Time until it is tried again where it will hardly go better: etcd has no room, or it is too much at once, or a disk is damaged.
pub(super) const STAYS: Duration = Duration::from_secs(3);

/// What the thread and the driver have in common.
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) members: Members,
    pub(super) keys: Keys,
    core: Mutex<Core>,
    pub(super) changed: watch::Sender<u64>,
    pub(super) acknowledged: watch::Sender<u64>,
    copy: Arc<dyn WarmCopy>,
    events: mpsc::Sender<Event>,
    /// By the clock that goes on while the machine is suspended, as etcd's does.
    began: Duration,
    pub(super) pulse: AtomicU64,
    /// Milliseconds that an answer waited for the own disk at the last turn of the driver's loop.
    pub(super) disk_waits: AtomicU64,
    /// Turns that there were.
    turns: AtomicU64,
}

/// What a standby saw of a master last. A master whose leases are renewed acknowledges nothing that etcd has not, and before it does it
/// renews none until they are old, and for [`Settings::limit`] more: whoever saw one that was not old knows it for that long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing that says so.
    Nothing,
    /// Leases that were not old, then.
    Fresh(Now),
    /// It went, and has written all.
    Left,
}

/// etcd's own leader. A new one renews all leases, whoever holds them: then a lease that is not old says nothing of its owner for as
/// long as it lasts, and for [`Settings::limit`] more.
#[derive(Debug, Default)]
pub(super) struct Term {
    term: u64,
    /// Since when it is known to be another one; `None` for the first that was seen.
    since: Option<Now>,
}

impl Term {
    /// Whether leases say something of their owners in this term.
    pub(super) fn settled(&mut self, term: u64, now: Now, lasts: Duration) -> bool {
        if self.term != term {
            self.since = (self.term != 0).then_some(now);
            self.term = term;
        }
        self.since.is_none_or(|since| now >= since + lasts)
    }
}

pub(super) struct Core {
    pub(super) role: Role,
    pub(super) asks: Option<Sender<Ask>>,
    pub(super) settle: Option<Settle>,
    /// Of a master.
    pub(super) ledger: Option<Ledger>,
    /// Of a standby: its master.
    pub(super) leader: Option<Standby>,
    /// What was stored last of another's history; with the reason if it was not.
    pub(super) stored: Result<Option<Position>, String>,
    /// Where the store was before this node became master.
    pub(super) known: Option<Position>,
    /// Of a standby, and after it.
    pub(super) seen: Seen,
    pub(super) term: Term,
    /// What etcd has was found to be of no use here, and that was told.
    pub(super) unreadable: bool,
    /// When etcd was in trouble last, seen from here as standby, or between that and anything else.
    pub(super) troubled: Option<Now>,
    /// Of the last time as master: etcd may lack what was acknowledged.
    pub(super) apart: bool,
}

impl Core {
    /// Whether etcd may lack what this master acknowledged.
    pub(super) fn is_apart(&mut self) -> bool {
        self.ledger.as_ref().map_or(self.apart, Ledger::is_apart)
    }
}

impl Shared {
    pub(super) fn new(
        settings: Settings,
        copy: Arc<dyn WarmCopy>,
        events: mpsc::Sender<Event>,
    ) -> Self {
        let known = copy.position();
        Self {
            keys: Keys::new(&settings.prefix, &settings.fabric),
            members: Members::new(settings.clone()),
            settings,
            core: Mutex::new(Core {
                role: Role::Neither(Leaving::Stopping),
                asks: None,
                settle: None,
                ledger: None,
                leader: None,
                stored: Ok(known),
                known,
                seen: Seen::Nothing,
                term: Term::default(),
                unreadable: false,
                troubled: None,
                apart: true,
            }),
            changed: watch::Sender::new(0),
            acknowledged: watch::Sender::new(0),
            copy,
            events,
            began: since_boot(),
            pulse: AtomicU64::new(0),
            disk_waits: AtomicU64::new(0),
            turns: AtomicU64::new(0),
        }
    }

    pub(super) fn now(&self) -> Now {
        since_boot().saturating_sub(self.began)
    }

    pub(super) fn with<T>(&self, f: impl FnOnce(&mut Core) -> T) -> T {
        f(&mut self.core.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn change<T>(&self, f: impl FnOnce(&mut Core) -> T) -> T {
        let done = self.with(f);
        self.changed.send_modify(|n| *n = n.wrapping_add(1));
        done
    }

    /// Does something with what a master owes, and tells what follows from it. `None` where this is no master.
    pub(super) fn ledger<T>(&self, f: impl FnOnce(&mut Ledger) -> T) -> Option<T> {
        let (done, events, acknowledged) = self.change(|core| {
            let ledger = core.ledger.as_mut()?;
            let done = f(ledger);
            Some((done, ledger.events(), ledger.acknowledged()))
        })?;
        let grew = self.acknowledged.send_if_modified(|now| {
            let all = acknowledged.unwrap_or(0).max(*now);
            core::mem::replace(now, all) != all
        });
        if grew {
            self.copy.acknowledged(*self.acknowledged.borrow());
        }
        events.into_iter().for_each(|event| self.tell(event));
        Some(done)
    }

    pub(super) fn tell(&self, event: Event) {
        tracing::debug!("replication: {event:?}");
        if let Err(error) = self.events.try_send(event) {
            tracing::error!("replication: an event was not taken: {error}");
        }
    }

    /// Time passes for a master.
    pub(super) fn tick(&self) {
        let waits = Duration::from_millis(self.disk_waits.load(Ordering::Relaxed));
        self.ledger(|ledger| {
            ledger.disk_waits(waits);
            ledger.tick(self.now());
        });
    }

    /// So long leases may look renewed that etcd has renewed by itself.
    pub(super) fn leases(&self) -> Duration {
        // A lease has a second more than after which it counts as old, and etcd's leader adds what an election takes.
        Duration::from_secs(u64::from(self.settings.silence_s) + 2) + self.settings.limit
    }

    /// Whether the driver's loop turns.
    pub(super) fn alive(&self) -> bool {
        let last = Duration::from_millis(self.pulse.load(Ordering::Relaxed));
        self.now().saturating_sub(last) <= self.settings.hang
    }

    /// A member did not answer, or took its time: what is seen of leases soon after may be etcd's own doing.
    pub(super) fn was_in_trouble(&self) {
        let now = self.now();
        self.with(|core| core.troubled = Some(now));
    }

    /// A number for what is stored next: what failed before says nothing of it.
    pub(super) fn turn(&self) -> Turn {
        Turn::numbered(self.turns.fetch_add(1, Ordering::Relaxed))
    }

    /// Where the store is when all that was asked of it is done.
    pub(super) async fn position(&self) -> Option<Position> {
        let (reply, answer) = oneshot::channel();
        self.ask(Ask::Position(reply));
        answer.await.ok().flatten()
    }

    pub(super) async fn everything(&self) -> Result<Everything, CopyError> {
        let (reply, answer) = oneshot::channel();
        self.ask(Ask::Everything(reply));
        let gone = |_| Err(CopyError("it is closed".to_owned()));
        answer.await.unwrap_or_else(gone)
    }

    pub(super) fn ask(&self, ask: Ask) {
        self.with(|core| {
            // Without the thread the program ends, and nobody needs an answer.
            if let Some(asks) = &core.asks {
                let _ = asks.send(ask);
            }
        });
    }

    /// Waits until the role is another one.
    pub(super) async fn another(&self, role: Role) {
        let mut changed = self.changed.subscribe();
        // The sender lives as long as this does.
        let _ = changed
            .wait_for(|_| self.with(|core| core.role != role))
            .await;
    }
}

/// Time since the machine was started, with the time that it was suspended: etcd did not wait for it.
fn since_boot() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_say_nothing_for_a_while_after_etcd_has_another_leader() {
        let s = Duration::from_secs;
        let mut term = Term::default();
        assert!(term.settled(3, s(1), s(4)), "the first that is seen");
        assert!(term.settled(3, s(2), s(4)));
        assert!(!term.settled(4, s(5), s(4)));
        assert!(!term.settled(4, s(8), s(4)));
        assert!(term.settled(4, s(9), s(4)));
    }
}
