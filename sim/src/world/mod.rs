//! A deterministic world: managers, a fabric, virtual time, and things that go wrong.
//!
//! [`World`] owns the clock, the seed and the events under way, ordered by time and then by when
//! they were made. The same seed and the same calls give the same run to the byte
//! ([`World::trace_hash`]). It never waits, and it invents no timeouts: deadlines are the
//! managers'.

mod faulty;
mod manager;
mod queue;
mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ferrosm_mad::ids::Tid;
use ferrosm_mad::mad::{MadOut, Method};
use ferrosm_mad::time::Instant;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub use manager::{ForeignSm, Manager};
use queue::{Key, Queue};
use trace::TraceHash;
pub use trace::{Event, TraceEvent};

use crate::fabric::{Delivery, Fabric, Packet, Reaction, SpecError};
use crate::faults::{Action, Faults};
use crate::spec::{NodeIdx, PortAt};

/// A manager that a world hosts, in the order of their coming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManagerId(pub usize);

/// Time that a MAD takes for a link, unless set.
pub const HOP_TIME: Duration = Duration::from_nanos(300);

/// Calls at one instant after which a manager is said to spin.
const SPIN_LIMIT: u32 = 100_000;

struct Actor<M> {
    at: PortAt,
    who: Who<M>,
    paused: bool,
}

enum Who<M> {
    Ours(M),
    Foreign(Box<ForeignSm>),
    Gone,
}

type Observer = Box<dyn FnMut(&TraceEvent<'_>)>;

/// See the module's text.
pub struct World<M> {
    fabric: Fabric,
    now: Instant,
    queue: Queue,
    actors: Vec<Actor<M>>,
    rng: ChaCha8Rng,
    hop_time: Duration,
    faults: Faults,
    node_faults: BTreeMap<NodeIdx, Faults>,
    link_loss: BTreeMap<PortAt, f64>,
    busy_until: Vec<Instant>,
    actions: Vec<Option<Action>>,
    pending_actions: usize,
    action_errors: Vec<(Instant, SpecError)>,
    trap_buffer: Vec<Packet>,
    report_lost: Option<Duration>,
    outstanding: BTreeSet<(usize, Tid)>,
    trace: TraceHash,
    observer: Option<Observer>,
    spins: u32,
}

impl<M: Manager> World<M> {
    /// A world around a fabric; everything that is drawn is drawn from `seed`.
    #[must_use]
    pub fn new(fabric: Fabric, seed: u64) -> Self {
        Self {
            busy_until: vec![Instant::START; fabric.num_nodes()],
            fabric,
            now: Instant::START,
            queue: Queue::default(),
            actors: Vec::new(),
            rng: ChaCha8Rng::seed_from_u64(seed),
            hop_time: HOP_TIME,
            faults: Faults::NONE,
            node_faults: BTreeMap::new(),
            link_loss: BTreeMap::new(),
            actions: Vec::new(),
            pending_actions: 0,
            action_errors: Vec::new(),
            trap_buffer: Vec::new(),
            report_lost: None,
            outstanding: BTreeSet::new(),
            trace: TraceHash::default(),
            observer: None,
            spins: 0,
        }
    }

    /// Hosts a manager at an end port (or [`Fabric::default_port`]) and sets IsSM there.
    ///
    /// # Errors
    /// If there is no such end port, or somebody uses it.
    pub fn add_manager(&mut self, at: Option<PortAt>, manager: M) -> Result<ManagerId, SpecError> {
        let at = at.unwrap_or_else(|| self.fabric.default_port());
        self.host(at, Who::Ours(manager))
    }

    /// Hosts a scripted SM of somebody else.
    ///
    /// # Errors
    /// If there is no such end port, or somebody uses it.
    pub fn add_foreign_sm(&mut self, at: PortAt, sm: ForeignSm) -> Result<ManagerId, SpecError> {
        self.host(at, Who::Foreign(Box::new(sm)))
    }

    fn host(&mut self, at: PortAt, who: Who<M>) -> Result<ManagerId, SpecError> {
        if self
            .actors
            .iter()
            .any(|a| a.at == at && !matches!(a.who, Who::Gone))
        {
            return Err(SpecError::PortInUse(at));
        }
        self.fabric.set_now(self.now);
        self.fabric.attach(at)?;
        self.fabric.set_is_sm(at, true)?;
        self.actors.push(Actor {
            at,
            who,
            paused: false,
        });
        let id = ManagerId(self.actors.len() - 1);
        self.drain(id.0);
        Ok(id)
    }

    /// Ends a manager without a word and returns it; its port forgets IsSM.
    pub fn kill(&mut self, id: ManagerId) -> Option<M> {
        let actor = self.actors.get_mut(id.0)?;
        let who = std::mem::replace(&mut actor.who, Who::Gone);
        if !matches!(who, Who::Gone) {
            let at = actor.at;
            self.fabric.set_now(self.now);
            let closed = self
                .fabric
                .set_is_sm(at, false)
                .and_then(|()| self.fabric.detach(at));
            self.note(closed);
        }
        match who {
            Who::Ours(manager) => Some(manager),
            Who::Foreign(_) | Who::Gone => None,
        }
    }

    /// A manager stops or goes on; MADs for it are lost meanwhile.
    pub fn set_paused(&mut self, id: ManagerId, paused: bool) {
        if let Some(actor) = self.actors.get_mut(id.0) {
            actor.paused = paused;
        }
        if !paused {
            self.drain(id.0);
        }
    }

    /// A manager that the world hosts; `None` if it is gone or not ours.
    #[must_use]
    pub fn manager(&self, id: ManagerId) -> Option<&M> {
        match &self.actors.get(id.0)?.who {
            Who::Ours(manager) => Some(manager),
            Who::Foreign(_) | Who::Gone => None,
        }
    }

    /// Changes a manager; what it wants to send afterwards is sent now.
    pub fn with_manager<R>(
        &mut self,
        id: ManagerId,
        f: impl FnOnce(&mut M, Instant) -> R,
    ) -> Option<R> {
        let now = self.now;
        let result = match &mut self.actors.get_mut(id.0)?.who {
            Who::Ours(manager) => f(manager, now),
            Who::Foreign(_) | Who::Gone => return None,
        };
        self.drain(id.0);
        Some(result)
    }

    /// A scripted SM.
    #[must_use]
    pub fn foreign_sm(&self, id: ManagerId) -> Option<&ForeignSm> {
        match &self.actors.get(id.0)?.who {
            Who::Foreign(sm) => Some(sm),
            Who::Ours(_) | Who::Gone => None,
        }
    }

    /// A scripted SM, to be changed.
    pub fn foreign_sm_mut(&mut self, id: ManagerId) -> Option<&mut ForeignSm> {
        match &mut self.actors.get_mut(id.0)?.who {
            Who::Foreign(sm) => Some(sm),
            Who::Ours(_) | Who::Gone => None,
        }
    }

    /// The devices.
    #[must_use]
    pub const fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The devices, to be changed at the present time.
    pub fn fabric_mut(&mut self) -> &mut Fabric {
        self.fabric.set_now(self.now);
        &mut self.fabric
    }

    /// The present.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Time that a MAD takes for a link.
    pub const fn set_hop_time(&mut self, time: Duration) {
        self.hop_time = time;
    }

    /// Whether and after what time a manager is told that a request got no answer (as the kernel
    /// does it).
    pub const fn report_lost_after(&mut self, time: Option<Duration>) {
        self.report_lost = time;
    }

    /// Shows every MAD event from now on.
    pub fn observe(&mut self, observer: impl FnMut(&TraceEvent<'_>) + 'static) {
        self.observer = Some(Box::new(observer));
    }

    /// A hash of all that happened: equal for equal runs.
    #[must_use]
    pub const fn trace_hash(&self) -> u64 {
        self.trace.value()
    }

    /// Scheduled actions that could not be done, and why.
    #[must_use]
    pub fn action_errors(&self) -> &[(Instant, SpecError)] {
        &self.action_errors
    }

    /// MADs under way.
    #[must_use]
    pub const fn in_flight(&self) -> usize {
        self.queue.in_flight()
    }

    /// Lets something happen at a time; at once if that is past.
    pub fn schedule(&mut self, at: Instant, action: Action) {
        let index = self.actions.len();
        self.actions.push(Some(action));
        self.pending_actions += 1;
        self.queue.push(at.max(self.now), Key::Action(index));
    }

    fn next_time(&self) -> Option<Instant> {
        let timers = self
            .actors
            .iter()
            .filter(|a| !a.paused)
            .filter_map(Actor::poll_timeout);
        self.queue
            .next_time()
            .into_iter()
            .chain(self.fabric.poll_timeout())
            .chain(timers)
            .min()
    }

    /// Lets the next thing happen and returns when that was; `None` if there is nothing.
    ///
    /// # Panics
    /// If a manager asks for a time that has come again and again.
    pub fn step(&mut self) -> Option<Instant> {
        let next = self.next_time()?;
        if next > self.now {
            self.now = next;
            self.spins = 0;
        }
        if self.queue.next_time().is_some_and(|t| t <= self.now) {
            if let Some(key) = self.queue.pop() {
                self.happen(key);
            }
        } else if self.fabric.poll_timeout().is_some_and(|t| t <= self.now) {
            let mut traps = std::mem::take(&mut self.trap_buffer);
            self.fabric.fire(self.now, &mut traps);
            for packet in traps.drain(..) {
                self.journey(packet);
            }
            self.trap_buffer = traps;
        } else {
            let due = |a: &Actor<M>| !a.paused && a.poll_timeout().is_some_and(|t| t <= self.now);
            if let Some(index) = self.actors.iter().position(due) {
                self.spins += 1;
                assert!(
                    self.spins < SPIN_LIMIT,
                    "manager {index} spins at {:?}",
                    self.now
                );
                let now = self.now;
                self.actors[index].call(|m| m.handle_timeout(now));
                self.drain(index);
            }
        }
        Some(self.now)
    }

    /// Runs to a time, what happens then included.
    pub fn run_until(&mut self, deadline: Instant) {
        while self.next_time().is_some_and(|t| t <= deadline) {
            self.step();
        }
        self.now = self.now.max(deadline);
    }

    /// Runs for a time.
    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now + time);
    }

    /// Runs until no MAD is under way, nothing is scheduled, and no timer is due within `quiet`.
    ///
    /// `false` if `deadline` comes first.
    pub fn run_until_quiet(&mut self, quiet: Duration, deadline: Instant) -> bool {
        self.run_until_true(deadline, |w| w.is_quiet(quiet))
    }

    /// Runs until `done`, which is asked after each step. `false` if `deadline` comes first.
    pub fn run_until_true(
        &mut self,
        deadline: Instant,
        mut done: impl FnMut(&Self) -> bool,
    ) -> bool {
        loop {
            if done(self) {
                return true;
            }
            if self.next_time().is_none_or(|t| t > deadline) {
                self.now = self.now.max(deadline);
                return done(self);
            }
            self.step();
        }
    }

    /// Whether no MAD is under way, nothing is scheduled, and no timer is due within `quiet`.
    #[must_use]
    pub fn is_quiet(&self, quiet: Duration) -> bool {
        self.queue.in_flight() == 0
            && self.pending_actions == 0
            && self.next_time().is_none_or(|t| t > self.now + quiet)
    }

    fn happen(&mut self, key: Key) {
        match key {
            Key::Arrive(index) => self.arrive(index),
            Key::Serve(index) => {
                let packet = self.queue.take(index);
                self.serve(packet);
            }
            Key::Depart(index) => {
                let packet = self.queue.take(index);
                self.journey(packet);
            }
            Key::Action(index) => {
                self.pending_actions -= 1;
                if let Some(action) = self.actions[index].take() {
                    self.act(action);
                }
            }
            Key::Lost(index, tid) => {
                if self.outstanding.remove(&(index, tid)) && !self.actors[index].paused {
                    let now = self.now;
                    self.actors[index].call(|m| m.handle_send_failed(tid, now));
                    self.drain(index);
                }
            }
        }
    }

    /// Sends what a manager has to send.
    fn drain(&mut self, index: usize) {
        while let Some(mad) = self.actors[index].poll_send() {
            let at = self.actors[index].at;
            if let Some(after) = self.report_lost
                && (mad.mad.method() == Method::Get || mad.mad.method() == Method::Set)
            {
                let tid = mad.mad.tid();
                self.outstanding.insert((index, tid));
                self.queue.push(self.now + after, Key::Lost(index, tid));
            }
            self.fabric.totals.sent += 1;
            self.journey(Packet::new(at, &mad));
        }
    }

    /// A MAD that somebody at a port sends, whoever it is.
    pub fn inject(&mut self, at: PortAt, mad: &MadOut) {
        self.fabric.totals.sent += 1;
        self.journey(Packet::new(at, mad));
    }

    fn deliver(&mut self, delivery: &Delivery) {
        self.note_mad(Event::Delivered, delivery.at, &delivery.mad.mad);
        for index in 0..self.actors.len() {
            let actor = &self.actors[index];
            if actor.at == delivery.at && !actor.paused && !matches!(actor.who, Who::Gone) {
                let (mad, now) = (delivery.mad, self.now);
                if self.report_lost.is_some() && mad.mad.method().is_response() {
                    self.outstanding.remove(&(index, mad.mad.tid()));
                }
                self.actors[index].call(|m| m.handle_mad(mad, now));
                self.drain(index);
            }
        }
    }

    fn serve(&mut self, mut packet: Packet) {
        let node = packet.at.node;
        let faults = self.agent_faults(node);
        if let Some(status) = faults.refuse_sets
            && packet.is_for_agent()
            && packet.mad.method() == Method::Set
        {
            packet.answer(status);
        } else {
            match self.fabric.accept(&mut packet, self.now) {
                Reaction::Answer => {}
                Reaction::Deliver(delivery) => return self.deliver(&delivery),
                Reaction::Taken => return,
                Reaction::Dropped(reason) => {
                    return self.note_mad(Event::Dropped(reason), packet.at, &packet.mad);
                }
            }
        }
        self.garble(&faults, &mut packet.mad);
        if faults.delay.is_zero() {
            self.journey(packet);
        } else {
            let index = self.queue.put(packet);
            self.queue.push(self.now + faults.delay, Key::Depart(index));
        }
    }

    fn note_mad(&mut self, event: Event, at: PortAt, mad: &ferrosm_mad::mad::Mad) {
        let event = TraceEvent {
            now: self.now,
            event,
            at,
            mad,
        };
        self.trace.event(&event);
        if let Some(observer) = &mut self.observer {
            observer(&event);
        }
    }

    fn note(&mut self, result: Result<(), SpecError>) {
        if let Err(error) = result {
            self.action_errors.push((self.now, error));
        }
    }
}

impl<M: Manager> Actor<M> {
    fn poll_timeout(&self) -> Option<Instant> {
        match &self.who {
            Who::Ours(m) => m.poll_timeout(),
            Who::Foreign(m) => m.poll_timeout(),
            Who::Gone => None,
        }
    }

    fn poll_send(&mut self) -> Option<MadOut> {
        if self.paused {
            return None;
        }
        match &mut self.who {
            Who::Ours(m) => m.poll_send(),
            Who::Foreign(m) => m.poll_send(),
            Who::Gone => None,
        }
    }

    fn call(&mut self, f: impl FnOnce(&mut dyn Manager)) {
        match &mut self.who {
            Who::Ours(m) => f(m),
            Who::Foreign(m) => f(m.as_mut()),
            Who::Gone => {}
        }
    }
}
