//! What the driver sees of replication through etcd, and the thread behind it. The driver is never waited for and never waits.

use core::fmt;
use core::time::Duration;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use ferrosm_core::kept::Batch;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_rustls::rustls::pki_types::UnixTime;

use super::Settings;
use super::keys::Keys;
use super::ledger::Ledger;
use super::link::Members;
use super::{holding, watching};
use crate::clock::since_boot;
use crate::replication::event::Event;
use crate::replication::follower::Turn;
use crate::replication::leader::Now;
use crate::replication::log::Position;
use crate::replication::storing::{self, Ask, Stored};
use crate::replication::tls::{DAY, Files};
use crate::replication::wire::{self, Leaving};
use crate::replication::{
    CopyError, Everything, Replication, Role, Settle, Standby, Status, WarmCopy,
};

/// Time until etcd is asked again after it failed.
pub(super) const PAUSE: Duration = Duration::from_millis(50);
/// And after it failed often.
pub(super) const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Time that a goodbye has, and what is to be read before the records are used.
const GOODBYE: Duration = Duration::from_millis(500);
pub(super) const SETTLE: Duration = Duration::from_secs(1);
/// So long of it a master that hands over has to go.
pub(super) const GOING: Duration = Duration::from_millis(500);

/// A node that replicates through etcd.
pub struct Etcd {
    shared: Arc<Shared>,
    stop: watch::Sender<Stop>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    No,
    Kindly,
    AtOnce,
}

/// What the thread and the driver have in common.
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) members: Members,
    pub(super) keys: Keys,
    core: Mutex<Core>,
    pub(super) changed: watch::Sender<u64>,
    acknowledged: watch::Sender<u64>,
    copy: Arc<dyn WarmCopy>,
    events: mpsc::Sender<Event>,
    /// By the clock that goes on while the machine is suspended, as etcd's does.
    began: Duration,
    pulse: AtomicU64,
    /// Milliseconds that an answer waited for the own disk at the last turn of the driver's loop.
    disk_waits: AtomicU64,
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
    role: Role,
    asks: Option<Sender<Ask>>,
    settle: Option<Settle>,
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
    apart: bool,
}

impl Core {
    /// Whether etcd may lack what this master acknowledged.
    pub(super) fn is_apart(&mut self) -> bool {
        self.ledger.as_ref().map_or(self.apart, Ledger::is_apart)
    }
}

impl Etcd {
    /// Starts its threads. Its role is [`Role::Neither`] at first. Whether etcd answers shows later.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(
        settings: Settings,
        copy: Arc<dyn WarmCopy>,
        events: mpsc::Sender<Event>,
    ) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let known = copy.position();
        let shared = Arc::new(Shared {
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
            copy: copy.clone(),
            events,
            began: since_boot(),
            pulse: AtomicU64::new(0),
            disk_waits: AtomicU64::new(0),
            turns: AtomicU64::new(0),
        });
        let weak = Arc::downgrade(&shared);
        let asks = storing::start(copy, move |stored| {
            if let Some(shared) = weak.upgrade() {
                shared.change(|core| match stored {
                    Stored::Durable(_, at) => {
                        core.known = Some(at);
                        core.stored = Ok(Some(at));
                    }
                    Stored::Failed(_, error) => core.stored = Err(error.to_string()),
                });
            }
        })?;
        shared.with(|core| core.asks = Some(asks));
        let (stop, stopped) = watch::channel(Stop::No);
        let mine = shared.clone();
        let files = mine.settings.files.clone();
        let thread = crate::threads::start("replication", move || {
            runtime.spawn(remind(files));
            runtime.block_on(run(&mine, stopped));
            // A disk or a resolver that hangs keeps nobody.
            runtime.shutdown_background();
        })?;
        Ok(Self {
            shared,
            stop,
            thread: Some(thread),
        })
    }

    /// Ends at once, as a crash would.
    pub fn abort(mut self) {
        self.end(Stop::AtOnce);
    }

    fn end(&mut self, how: Stop) {
        self.stop.send_replace(how);
        crate::threads::join(&mut self.thread, "replication");
        self.shared.with(|core| core.asks = None);
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.end(Stop::Kindly);
    }
}

impl fmt::Debug for Etcd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoints = &self.shared.settings.endpoints;
        f.debug_struct("Etcd")
            .field("endpoints", endpoints)
            .finish_non_exhaustive()
    }
}

impl Replication for Etcd {
    fn role(&self, role: Role) {
        self.pulse();
        let now = self.shared.now();
        self.shared.change(|core| {
            if core.role == role {
                return;
            }
            core.role = role;
            core.apart = core.is_apart();
            core.ledger = None;
            if !matches!(role, Role::Neither(_)) {
                core.seen = Seen::Nothing;
            }
            if let Role::Master { epoch } = role {
                self.shared.acknowledged.send_replace(0);
                let silence = Duration::from_secs(self.shared.settings.silence_s.into());
                let limit = self.shared.settings.limit;
                core.ledger = Some(Ledger::new(epoch, limit, silence, now));
            }
        });
    }

    fn committed(&self, seq: u64, batch: &Batch) {
        let body = match wire::encode_batch(batch) {
            Ok(body) => body,
            Err(error) => return tracing::error!("replication: batch {seq}: {error}"),
        };
        let now = self.shared.now();
        self.shared
            .ledger(|ledger| ledger.committed(seq, body.into(), now));
    }

    fn acknowledged(&self) -> u64 {
        *self.shared.acknowledged.borrow()
    }

    fn watch(&self) -> watch::Receiver<u64> {
        self.shared.acknowledged.subscribe()
    }

    fn pulse(&self) {
        let now = u64::try_from(self.shared.now().as_millis()).unwrap_or(u64::MAX);
        self.shared.pulse.store(now, Ordering::Relaxed);
    }

    fn disk_waits(&self, waits: Duration) {
        let waits = u64::try_from(waits.as_millis()).unwrap_or(u64::MAX);
        self.shared.disk_waits.store(waits, Ordering::Relaxed);
    }

    fn settle(&self, then: Settle) {
        self.shared.change(|core| core.settle = Some(then));
    }

    fn status(&self) -> Status {
        self.shared.with(|core| Status {
            protected: core.ledger.as_ref().is_some_and(Ledger::is_protected),
            committed: core.ledger.as_ref().and_then(Ledger::end),
            acknowledged: *self.shared.acknowledged.borrow(),
            standbys: None,
            leader: core.leader,
        })
    }
}

impl Shared {
    pub(super) fn now(&self) -> Now {
        since_boot().saturating_sub(self.began)
    }

    pub(super) fn with<T>(&self, f: impl FnOnce(&mut Core) -> T) -> T {
        f(&mut self.core.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn change<T>(&self, f: impl FnOnce(&mut Core) -> T) -> T {
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
    async fn another(&self, role: Role) {
        let mut changed = self.changed.subscribe();
        // The sender lives as long as this does.
        let _ = changed
            .wait_for(|_| self.with(|core| core.role != role))
            .await;
    }
}

/// Says once a day that the certificate expires.
async fn remind(files: Option<Files>) {
    let Some(files) = files else { return };
    let mut days = tokio::time::interval(DAY);
    loop {
        days.tick().await;
        let files = files.clone();
        // A disk that is slow delays no lease.
        let look = move || files.client_remark(UnixTime::now());
        if let Ok(Some(remark)) = tokio::task::spawn_blocking(look).await {
            remark.log();
        }
    }
}

/// Everything that goes on in the thread, until it is told to end.
async fn run(shared: &Arc<Shared>, mut stopped: watch::Receiver<Stop>) {
    loop {
        let role = shared.with(|core| core.role);
        let mut held = None;
        let ended = tokio::select! {
            () = turn(shared, role, &mut held) => None,
            () = shared.another(role) => None,
            how = stopped.wait_for(|how| *how != Stop::No) => Some(how.map_or(Stop::AtOnce, |how| *how)),
        };
        let now = shared.with(|core| {
            core.leader = None;
            core.role
        });
        if let Some(held) = held
            && ended != Some(Stop::AtOnce)
        {
            let leaving = match (now, ended) {
                (Role::Neither(leaving), None) => leaving,
                (Role::Standby | Role::Master { .. }, None) => Leaving::HandingOver,
                (_, Some(_)) => Leaving::Stopping,
            };
            let goodbye =
                tokio::time::timeout(GOODBYE, holding::leave(shared, held, leaving)).await;
            if !matches!(goodbye, Ok(Ok(()))) {
                tracing::debug!("replication: no goodbye: {goodbye:?}");
            }
        }
        if ended.is_some() {
            return;
        }
    }
}

/// What is done in a role, for as long as it lasts.
async fn turn(shared: &Arc<Shared>, role: Role, held: &mut Option<holding::Held>) {
    match role {
        Role::Master { .. } => holding::lead(shared, held).await,
        Role::Standby => watching::follow(shared).await,
        Role::Neither(_) => idle(shared).await,
    }
}

/// The own records may be about to be used: then they are to be all that etcd has.
async fn idle(shared: &Arc<Shared>) {
    let known = shared.position().await;
    shared.with(|core| core.known = known);
    let mut changed = shared.changed.subscribe();
    loop {
        changed.mark_unchanged();
        if let Some(then) = shared.with(|core| core.settle.take()) {
            let then = Owed(Some(then));
            let whole = tokio::time::timeout(SETTLE, watching::settle(shared)).await;
            let whole = match whole {
                Ok(Ok(whole)) => whole,
                Ok(Err(trouble)) => {
                    if trouble.is_of_member() {
                        shared.was_in_trouble();
                    }
                    tracing::warn!(why = %trouble, "the copy of the state may lack the last changes");
                    false
                }
                Err(_) => {
                    shared.was_in_trouble();
                    tracing::warn!(
                        "etcd takes too long: the copy of the state may lack the last changes"
                    );
                    false
                }
            };
            then.done(whole);
        }
        if changed.changed().await.is_err() {
            return;
        }
    }
}

/// Somebody waits for this, whatever happens.
struct Owed(Option<Settle>);

impl Owed {
    fn done(mut self, whole: bool) {
        if let Some(then) = self.0.take() {
            then(Some(whole));
        }
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        if let Some(then) = self.0.take() {
            then(Some(false));
        }
    }
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
