//! A deterministic world: managers on a [`Net`], in virtual time.
//!
//! [`World`] owns the managers and says what time it is; everything between them is the net's. The
//! same seed and the same calls give the same run to the byte ([`World::trace_hash`]). It never
//! waits, and it invents no timeouts: deadlines are the managers'.

mod liveness;
mod manager;

use std::collections::BTreeSet;
use std::time::Duration;

use ferrosm_mad::ids::Tid;
use ferrosm_mad::mad::{MadOut, Method};
use ferrosm_mad::time::Instant;

pub use liveness::{Liveness, LivenessTiming, REQUESTS_PER_PORT, SWEEPS_ALLOWED};
pub use manager::Manager;

use crate::fabric::{Delivery, Fabric, Packet, SpecError};
use crate::faults::{FabricAction, Faults};
pub use crate::net::{ForeignSm, HOP_TIME, MadEvent, TraceEvent};
use crate::net::{ForeignSmId, ManagerNote, Net, Note};
use crate::spec::{NodeIdx, PortAt};

/// A manager that a world hosts, in the order of their coming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManagerId(pub usize);

/// What can happen to a manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManagerAction {
    /// It is gone without a word.
    Kill,
    /// It stops: no MAD reaches it, no timer fires.
    Pause,
    /// It goes on, with what it knew.
    Resume,
}

/// Calls at one instant after which a manager is said to spin.
const SPIN_LIMIT: u32 = 100_000;

struct Actor<M> {
    at: PortAt,
    who: Who<M>,
    paused: bool,
}

enum Who<M> {
    Ours(M),
    Foreign(ForeignSmId),
    Gone,
}

/// See the module's text.
pub struct World<M> {
    net: Net,
    actors: Vec<Actor<M>>,
    deliveries: Vec<Delivery>,
    errors: Vec<SpecError>,
    report_lost: Option<Duration>,
    outstanding: BTreeSet<(usize, Tid)>,
    spins: u32,
}

impl<M: Manager> World<M> {
    /// A world around a fabric; everything that is drawn is drawn from `seed`.
    #[must_use]
    pub fn new(fabric: Fabric, seed: u64) -> Self {
        Self {
            net: Net::new(fabric, seed),
            actors: Vec::new(),
            deliveries: Vec::new(),
            errors: Vec::new(),
            report_lost: None,
            outstanding: BTreeSet::new(),
            spins: 0,
        }
    }

    /// Hosts a manager at an end port (or [`Fabric::default_port`]) and sets IsSM there.
    ///
    /// # Errors
    /// If there is no such end port, or somebody uses it.
    pub fn add_manager(&mut self, at: Option<PortAt>, manager: M) -> Result<ManagerId, SpecError> {
        let at = at.unwrap_or_else(|| self.net.fabric().default_port());
        self.check_free(at)?;
        let fabric = self.net.fabric_mut();
        fabric.attach(at)?;
        fabric.set_is_sm(at, true)?;
        Ok(self.host(at, Who::Ours(manager)))
    }

    /// Hosts a scripted SM of somebody else.
    ///
    /// # Errors
    /// If there is no such end port, or somebody uses it.
    pub fn add_foreign_sm(&mut self, at: PortAt, sm: ForeignSm) -> Result<ManagerId, SpecError> {
        self.check_free(at)?;
        let id = self.net.add_foreign_sm(at, sm)?;
        Ok(self.host(at, Who::Foreign(id)))
    }

    fn check_free(&self, at: PortAt) -> Result<(), SpecError> {
        let here = |a: &Actor<M>| a.at == at && !matches!(a.who, Who::Gone);
        if self.actors.iter().any(here) || self.net.foreign_sm_at(at).is_some() {
            return Err(SpecError::PortInUse(at));
        }
        Ok(())
    }

    fn host(&mut self, at: PortAt, who: Who<M>) -> ManagerId {
        self.actors.push(Actor {
            at,
            who,
            paused: false,
        });
        let id = ManagerId(self.actors.len() - 1);
        self.drain(id.0);
        id
    }

    /// Ends a manager without a word and returns it; its port forgets IsSM.
    pub fn kill(&mut self, id: ManagerId) -> Option<M> {
        let actor = self.actors.get_mut(id.0)?;
        let at = actor.at;
        match std::mem::replace(&mut actor.who, Who::Gone) {
            Who::Ours(manager) => {
                let fabric = self.net.fabric_mut();
                let closed = fabric.set_is_sm(at, false);
                let closed = closed.and_then(|()| fabric.detach(at));
                self.errors.extend(closed.err());
                Some(manager)
            }
            Who::Foreign(foreign) => {
                self.errors
                    .extend(self.net.remove_foreign_sm(foreign).err());
                None
            }
            Who::Gone => None,
        }
    }

    /// A manager stops or goes on; MADs for it are lost meanwhile.
    pub fn set_paused(&mut self, id: ManagerId, paused: bool) {
        let Some(actor) = self.actors.get_mut(id.0) else {
            return;
        };
        actor.paused = paused;
        if let Who::Foreign(foreign) = actor.who {
            self.net
                .set_foreign_paused(foreign, paused, &mut self.deliveries);
        }
        if !paused {
            self.drain(id.0);
        }
    }

    /// Lets something happen to a manager at a time; at once if that is past.
    pub fn schedule_manager(&mut self, at: Instant, id: ManagerId, action: ManagerAction) {
        let note = match action {
            ManagerAction::Kill => ManagerNote::Kill,
            ManagerAction::Pause => ManagerNote::Pause,
            ManagerAction::Resume => ManagerNote::Resume,
        };
        self.net.schedule_note(at, Note::Manager(id.0, note));
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
        let now = self.now();
        let result = match &mut self.actors.get_mut(id.0)?.who {
            Who::Ours(manager) => f(manager, now),
            Who::Foreign(_) | Who::Gone => return None,
        };
        self.drain(id.0);
        Some(result)
    }

    fn foreign_id(&self, id: ManagerId) -> Option<ForeignSmId> {
        match self.actors.get(id.0)?.who {
            Who::Foreign(foreign) => Some(foreign),
            Who::Ours(_) | Who::Gone => None,
        }
    }

    /// A scripted SM.
    #[must_use]
    pub fn foreign_sm(&self, id: ManagerId) -> Option<&ForeignSm> {
        self.net.foreign_sm(self.foreign_id(id)?)
    }

    /// A scripted SM, to be changed.
    pub fn foreign_sm_mut(&mut self, id: ManagerId) -> Option<&mut ForeignSm> {
        let id = self.foreign_id(id)?;
        self.net.foreign_sm_mut(id)
    }

    /// What is between the managers.
    #[must_use]
    pub const fn net(&self) -> &Net {
        &self.net
    }

    /// The devices.
    #[must_use]
    pub const fn fabric(&self) -> &Fabric {
        self.net.fabric()
    }

    /// The devices, to be changed at the present time.
    pub fn fabric_mut(&mut self) -> &mut Fabric {
        self.net.fabric_mut()
    }

    /// The present.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.net.now()
    }

    /// Time that a MAD takes for a link.
    pub fn set_hop_time(&mut self, time: Duration) {
        self.net.set_hop_time(time);
    }

    /// Faults of the whole fabric.
    pub fn set_faults(&mut self, faults: Faults) {
        self.net.set_faults(faults);
    }

    /// Faults of one node; `None` makes it behave like all others.
    pub fn set_node_faults(&mut self, node: NodeIdx, faults: Option<Faults>) {
        self.net.set_node_faults(node, faults);
    }

    /// Chance that a MAD is lost on the link at a port, in both directions.
    pub fn set_link_loss(&mut self, at: PortAt, loss: f64) {
        self.net.set_link_loss(at, loss);
    }

    /// Does something to the fabric or its faults now.
    ///
    /// # Errors
    /// If it cannot be done; see [`Net::act`].
    pub fn act(&mut self, action: FabricAction) -> Result<(), SpecError> {
        self.net.act(action)
    }

    /// Ends all faults; what was cut or switched off stays so.
    pub fn heal(&mut self) {
        self.net.heal();
    }

    /// Whether and after what time a manager is told that a request got no answer (as the kernel
    /// does it).
    pub const fn report_lost_after(&mut self, time: Option<Duration>) {
        self.report_lost = time;
    }

    /// Shows every MAD event from now on.
    pub fn observe(&mut self, observer: impl FnMut(&TraceEvent<'_>) + Send + 'static) {
        self.net.observe(observer);
    }

    /// A hash of all that happened: equal for equal runs.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.net.trace_hash()
    }

    /// Scheduled actions that could not be done, and why.
    #[must_use]
    pub fn action_errors(&self) -> &[(Instant, SpecError)] {
        self.net.action_errors()
    }

    /// MADs under way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.net.in_flight()
    }

    /// Lets something happen at a time; at once if that is past.
    pub fn schedule(&mut self, at: Instant, action: FabricAction) {
        self.net.schedule(at, action);
    }

    fn next_time(&self) -> Option<Instant> {
        let timers = self.actors.iter().filter_map(Actor::poll_timeout);
        self.net.next_time().into_iter().chain(timers).min()
    }

    /// Lets the next thing happen and returns when that was; `None` if there is nothing.
    ///
    /// # Panics
    /// If a manager asks for a time that has come again and again.
    pub fn step(&mut self) -> Option<Instant> {
        let next = self.next_time()?;
        if next > self.now() {
            self.net.set_now(next);
            self.spins = 0;
        }
        let now = self.now();
        if self.net.next_time().is_some_and(|t| t <= now) {
            if let Some(note) = self.net.step(&mut self.deliveries) {
                self.told(note);
            }
            self.hand_out();
            return Some(now);
        }
        let due = |a: &Actor<M>| a.poll_timeout().is_some_and(|t| t <= now);
        if let Some(index) = self.actors.iter().position(due) {
            self.spins += 1;
            assert!(self.spins < SPIN_LIMIT, "manager {index} spins at {now:?}");
            self.actors[index].call(|m| m.handle_timeout(now));
            self.drain(index);
        }
        Some(now)
    }

    /// Runs to a time, what happens then included.
    pub fn run_until(&mut self, deadline: Instant) {
        while self.next_time().is_some_and(|t| t <= deadline) {
            self.step();
        }
        self.net.set_now(deadline);
    }

    /// Runs for a time.
    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now() + time);
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
                self.net.set_now(deadline);
                return done(self);
            }
            self.step();
        }
    }

    /// Whether no MAD is under way, nothing is scheduled, and no timer is due within `quiet`.
    #[must_use]
    pub fn is_quiet(&self, quiet: Duration) -> bool {
        self.net.in_flight() == 0
            && self.net.scheduled() == 0
            && self.next_time().is_none_or(|t| t > self.now() + quiet)
    }

    /// Something that the net was asked to tell of.
    fn told(&mut self, note: Note) {
        match note {
            Note::Lost(index, tid) => {
                if self.outstanding.remove(&(index, tid)) && !self.actors[index].paused {
                    let now = self.now();
                    self.actors[index].call(|m| m.handle_send_failed(tid, now));
                    self.drain(index);
                }
            }
            Note::Manager(index, ManagerNote::Kill) => {
                self.kill(ManagerId(index));
            }
            Note::Manager(index, ManagerNote::Pause) => self.set_paused(ManagerId(index), true),
            Note::Manager(index, ManagerNote::Resume) => self.set_paused(ManagerId(index), false),
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
                let when = self.now() + after;
                self.net.schedule_note(when, Note::Lost(index, tid));
            }
            self.net.launch(Packet::new(at, &mad), &mut self.deliveries);
        }
    }

    /// A MAD that somebody at a port sends, whoever it is.
    pub fn inject(&mut self, at: PortAt, mad: &MadOut) {
        self.net.inject(at, mad, &mut self.deliveries);
    }

    /// Gives managers what arrived for them.
    fn hand_out(&mut self) {
        if self.deliveries.is_empty() {
            return;
        }
        let mut deliveries = std::mem::take(&mut self.deliveries);
        for delivery in deliveries.drain(..) {
            self.deliver(&delivery);
        }
        // What was sent meanwhile has not arrived: it takes its way through the net's events.
        self.deliveries = deliveries;
    }

    fn deliver(&mut self, delivery: &Delivery) {
        for index in 0..self.actors.len() {
            let actor = &self.actors[index];
            if actor.at != delivery.at || actor.paused || !matches!(actor.who, Who::Ours(_)) {
                continue;
            }
            let (mad, now) = (delivery.mad, self.now());
            if self.report_lost.is_some() && mad.mad.method().is_response() {
                self.outstanding.remove(&(index, mad.mad.tid()));
            }
            self.actors[index].call(|m| m.handle_mad(mad, now));
            self.drain(index);
        }
    }
}

impl<M: Manager> Actor<M> {
    fn poll_timeout(&self) -> Option<Instant> {
        match &self.who {
            Who::Ours(m) if !self.paused => m.poll_timeout(),
            Who::Ours(_) | Who::Foreign(_) | Who::Gone => None,
        }
    }

    fn poll_send(&mut self) -> Option<MadOut> {
        match &mut self.who {
            Who::Ours(m) if !self.paused => m.poll_send(),
            Who::Ours(_) | Who::Foreign(_) | Who::Gone => None,
        }
    }

    fn call(&mut self, f: impl FnOnce(&mut M)) {
        match &mut self.who {
            Who::Ours(m) => f(m),
            Who::Foreign(_) | Who::Gone => {}
        }
    }
}
