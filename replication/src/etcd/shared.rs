//! What the driver and the thread of replication through etcd have in common: role, ledger, and what was seen of the master, under one
//! lock that is never held over a wait.

use core::time::Duration;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::time::{ClockId, clock_gettime};

use super::EtcdSettings;
use super::keys::Keys;
use super::ledger::Ledger;
use super::link::Members;
use crate::follower::SessionId;
use crate::leader::NodeTime;
use crate::log::Position;
use crate::node::Node;
use crate::wire::StepDownReason;
use crate::{PeerStatus, ReplicaCallback, Role};

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
    pub(super) settings: EtcdSettings,
    pub(super) members: Members,
    pub(super) keys: Keys,
    core: Mutex<Core>,
    /// By the clock that goes on while the machine is suspended, as etcd's does.
    pub(super) node: Node,
    /// Turns that there were.
    sessions: AtomicU64,
}

/// What a standby saw of a master last. A master whose leases are renewed acknowledges nothing that etcd has not, and before it does it
/// renews none until they are old, and for [`EtcdSettings::limit`] more: whoever saw one that was not old knows it for that long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing that says so.
    Nothing,
    /// Leases that were not old, then.
    Fresh(NodeTime),
    /// It went, and has written all.
    Left,
}

/// etcd's own leader. A new one renews all leases, whoever holds them: then a lease that is not old says nothing of its owner for as
/// long as it lasts, and for [`EtcdSettings::limit`] more.
#[derive(Debug, Default)]
pub(super) struct Term {
    term: u64,
    /// Since when it is known to be another one; `None` for the first that was seen.
    since: Option<NodeTime>,
}

impl Term {
    /// Whether leases say something of their owners in this term.
    pub(super) fn settled(&mut self, term: u64, now: NodeTime, lasts: Duration) -> bool {
        if self.term != term {
            self.since = (self.term != 0).then_some(now);
            self.term = term;
        }
        self.since.is_none_or(|since| now >= since + lasts)
    }
}

pub(super) struct Core {
    pub(super) role: Role,
    pub(super) settle: Option<ReplicaCallback>,
    /// Of a master.
    pub(super) ledger: Option<Ledger>,
    /// Of a standby: its master.
    pub(super) leader: Option<PeerStatus>,
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
    pub(super) troubled: Option<NodeTime>,
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
    pub(super) fn new(settings: EtcdSettings, known: Option<Position>, node: Node) -> Self {
        Self {
            keys: Keys::new(&settings.prefix, &settings.fabric),
            members: Members::new(settings.clone()),
            settings,
            core: Mutex::new(Core {
                role: Role::Inactive(StepDownReason::Stopping),
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
            node,
            sessions: AtomicU64::new(0),
        }
    }

    pub(super) fn with<T>(&self, f: impl FnOnce(&mut Core) -> T) -> T {
        f(&mut self.core.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn change<T>(&self, f: impl FnOnce(&mut Core) -> T) -> T {
        let done = self.with(f);
        self.node.notify();
        done
    }

    /// Does something with what a master owes, and tells what follows from it. `None` where this is no master.
    pub(super) fn ledger<T>(&self, f: impl FnOnce(&mut Ledger) -> T) -> Option<T> {
        let (done, events, acknowledged) = self.change(|core| {
            let ledger = core.ledger.as_mut()?;
            let done = f(ledger);
            Some((done, ledger.events(), ledger.acknowledged()))
        })?;
        let acknowledged = acknowledged.unwrap_or(0);
        self.node.acknowledge(|before| before.max(acknowledged));
        events
            .into_iter()
            .for_each(|event| self.node.send_event(event));
        Some(done)
    }

    /// Time passes for a master.
    pub(super) fn tick(&self) {
        self.ledger(|ledger| {
            ledger.disk_delay(self.node.disk_delay());
            ledger.tick(self.node.now());
        });
    }

    /// So long leases may look renewed that etcd has renewed by itself.
    pub(super) fn leases(&self) -> Duration {
        // A lease has a second more than after which it counts as old, and etcd's leader adds what an election takes.
        Duration::from_secs(u64::from(self.settings.silence_s) + 2) + self.settings.limit
    }

    /// A member did not answer, or took its time: what is seen of leases soon after may be etcd's own doing.
    pub(super) fn was_in_trouble(&self) {
        let now = self.node.now();
        self.with(|core| core.troubled = Some(now));
    }

    /// A number for what is stored next: what failed before says nothing of it.
    pub(super) fn session(&self) -> SessionId {
        SessionId::numbered(self.sessions.fetch_add(1, Ordering::Relaxed))
    }

    /// Waits until the role is another one.
    pub(super) async fn another(&self, role: Role) {
        let is_another = || self.with(|core| core.role != role);
        self.node.wait_until(is_another).await;
    }
}

/// Time since the machine was started, with the time that it was suspended: etcd did not wait for it.
pub(super) fn since_boot() -> Duration {
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
