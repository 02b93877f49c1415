//! Deterministic simulation: SMs on a [`Net`] in virtual time.
//!
//! [`World`] owns the SMs and the time; the net owns everything between them. The same seed and the
//! same calls give the same run ([`World::trace_hash`]). The world has no timeouts of its own.

mod hosted_sm;
mod liveness;

use std::collections::BTreeSet;
use std::time::Duration;

use ferrosm_mad::ids::Tid;
use ferrosm_mad::mad::{MadOut, Method};
use ferrosm_mad::time::Instant;

pub use hosted_sm::HostedSm;
pub use liveness::{Liveness, LivenessTiming, REQUESTS_PER_PORT, SWEEPS_ALLOWED};

use crate::fabric::{Delivery, Fabric, Packet, SpecError};
use crate::faults::{FabricAction, Faults};
pub use crate::foreign_sm::ForeignSm;
use crate::foreign_sm::ForeignSmId;
pub use crate::net::{HOP_TIME, MadEvent, TraceEvent};
use crate::net::{Net, OwnerNotice, SmProcessChange};
use crate::spec::{NodeIdx, PortAt};

/// An SM in a world; numbered in the order of addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SmId(pub usize);

/// A change of an SM's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmProcessAction {
    /// Kills the process without handover.
    Kill,
    /// Suspends the process: MADs to it are lost, timers do not fire.
    Pause,
    /// Resumes the process with its state.
    Resume,
}

/// Number of calls of one SM at the same virtual time at which the world panics.
const MAX_CALLS_AT_ONE_TIME: u32 = 100_000;

struct Actor<M> {
    at: PortAt,
    kind: ActorKind<M>,
    paused: bool,
}

enum ActorKind<M> {
    Hosted(M),
    Foreign(ForeignSmId),
    Removed,
}

/// See the module documentation.
pub struct World<M> {
    net: Net,
    actors: Vec<Actor<M>>,
    deliveries: Vec<Delivery>,
    errors: Vec<SpecError>,
    lost_report_delay: Option<Duration>,
    outstanding: BTreeSet<(usize, Tid)>,
    calls_now: u32,
}

impl<M: HostedSm> World<M> {
    /// Creates a world with a fabric and the seed of all random numbers.
    #[must_use]
    pub fn new(fabric: Fabric, seed: u64) -> Self {
        Self {
            net: Net::new(fabric, seed),
            actors: Vec::new(),
            deliveries: Vec::new(),
            errors: Vec::new(),
            lost_report_delay: None,
            outstanding: BTreeSet::new(),
            calls_now: 0,
        }
    }

    /// Adds an SM at an end port (or [`Fabric::default_port`]) and sets IsSM there.
    ///
    /// # Errors
    /// If the end port does not exist or is in use.
    pub fn add_sm(&mut self, at: Option<PortAt>, manager: M) -> Result<SmId, SpecError> {
        let at = at.unwrap_or_else(|| self.net.fabric().default_port());
        self.check_port_free(at)?;
        let fabric = self.net.fabric_mut();
        fabric.attach(at)?;
        fabric.set_is_sm(at, true)?;
        Ok(self.add_actor(at, ActorKind::Hosted(manager)))
    }

    /// Adds a scripted foreign SM.
    ///
    /// # Errors
    /// If the end port does not exist or is in use.
    pub fn add_foreign_sm(&mut self, at: PortAt, sm: ForeignSm) -> Result<SmId, SpecError> {
        self.check_port_free(at)?;
        let id = self.net.add_foreign_sm(at, sm)?;
        Ok(self.add_actor(at, ActorKind::Foreign(id)))
    }

    fn check_port_free(&self, at: PortAt) -> Result<(), SpecError> {
        let is_user = |a: &Actor<M>| a.at == at && !matches!(a.kind, ActorKind::Removed);
        if self.actors.iter().any(is_user) || self.net.foreign_sm_at(at).is_some() {
            return Err(SpecError::PortInUse(at));
        }
        Ok(())
    }

    fn add_actor(&mut self, at: PortAt, kind: ActorKind<M>) -> SmId {
        self.actors.push(Actor {
            at,
            kind,
            paused: false,
        });
        let id = SmId(self.actors.len() - 1);
        self.drain(id.0);
        id
    }

    /// Kills an SM without handover and returns it; IsSM of its port is cleared.
    pub fn kill(&mut self, id: SmId) -> Option<M> {
        let actor = self.actors.get_mut(id.0)?;
        let at = actor.at;
        match std::mem::replace(&mut actor.kind, ActorKind::Removed) {
            ActorKind::Hosted(manager) => {
                let fabric = self.net.fabric_mut();
                let closed = fabric.set_is_sm(at, false).and_then(|()| fabric.detach(at));
                self.errors.extend(closed.err());
                Some(manager)
            }
            ActorKind::Foreign(foreign) => {
                self.errors
                    .extend(self.net.remove_foreign_sm(foreign).err());
                None
            }
            ActorKind::Removed => None,
        }
    }

    /// Suspends or resumes an SM; MADs to a suspended SM are lost.
    pub fn set_paused(&mut self, id: SmId, paused: bool) {
        let Some(actor) = self.actors.get_mut(id.0) else {
            return;
        };
        actor.paused = paused;
        if let ActorKind::Foreign(foreign) = actor.kind {
            self.net
                .set_foreign_paused(foreign, paused, &mut self.deliveries);
        }
        if !paused {
            self.drain(id.0);
        }
    }

    /// Schedules a change of an SM's process; a past time means now.
    pub fn schedule_sm(&mut self, at: Instant, id: SmId, action: SmProcessAction) {
        let notice = match action {
            SmProcessAction::Kill => SmProcessChange::Kill,
            SmProcessAction::Pause => SmProcessChange::Pause,
            SmProcessAction::Resume => SmProcessChange::Resume,
        };
        self.net
            .schedule_notice(at, OwnerNotice::SmProcess(id.0, notice));
    }

    /// An SM; `None` if it was killed or is foreign.
    #[must_use]
    pub fn sm(&self, id: SmId) -> Option<&M> {
        match &self.actors.get(id.0)?.kind {
            ActorKind::Hosted(manager) => Some(manager),
            ActorKind::Foreign(_) | ActorKind::Removed => None,
        }
    }

    /// The port of an SM, also after it was killed.
    #[must_use]
    pub fn sm_port(&self, id: SmId) -> Option<PortAt> {
        self.actors.get(id.0).map(|actor| actor.at)
    }

    /// Calls a function on an SM and sends its output.
    pub fn with_sm<R>(&mut self, id: SmId, f: impl FnOnce(&mut M, Instant) -> R) -> Option<R> {
        let now = self.now();
        let result = match &mut self.actors.get_mut(id.0)?.kind {
            ActorKind::Hosted(manager) => f(manager, now),
            ActorKind::Foreign(_) | ActorKind::Removed => return None,
        };
        self.drain(id.0);
        Some(result)
    }

    fn foreign_id(&self, id: SmId) -> Option<ForeignSmId> {
        match self.actors.get(id.0)?.kind {
            ActorKind::Foreign(foreign) => Some(foreign),
            ActorKind::Hosted(_) | ActorKind::Removed => None,
        }
    }

    /// A foreign SM.
    #[must_use]
    pub fn foreign_sm(&self, id: SmId) -> Option<&ForeignSm> {
        self.net.foreign_sm(self.foreign_id(id)?)
    }

    /// A foreign SM.
    pub fn foreign_sm_mut(&mut self, id: SmId) -> Option<&mut ForeignSm> {
        let id = self.foreign_id(id)?;
        self.net.foreign_sm_mut(id)
    }

    /// The net.
    #[must_use]
    pub const fn net(&self) -> &Net {
        &self.net
    }

    /// The devices.
    #[must_use]
    pub const fn fabric(&self) -> &Fabric {
        self.net.fabric()
    }

    /// The devices, at the current time.
    pub fn fabric_mut(&mut self) -> &mut Fabric {
        self.net.fabric_mut()
    }

    /// The current virtual time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.net.now()
    }

    /// Sets the default latency of links.
    pub fn set_hop_time(&mut self, time: Duration) {
        self.net.set_hop_time(time);
    }

    /// Sets the faults of the whole fabric.
    pub fn set_faults(&mut self, faults: Faults) {
        self.net.set_faults(faults);
    }

    /// Sets the faults of a node; `None`: those of the fabric.
    pub fn set_node_faults(&mut self, node: NodeIdx, faults: Option<Faults>) {
        self.net.set_node_faults(node, faults);
    }

    /// Sets the loss of the link at a port, in both directions.
    pub fn set_link_loss(&mut self, at: PortAt, loss: f64) {
        self.net.set_link_loss(at, loss);
    }

    /// Applies an action to the fabric or its faults.
    ///
    /// # Errors
    /// See [`Net::act`].
    pub fn act(&mut self, action: FabricAction) -> Result<(), SpecError> {
        self.net.act(action)
    }

    /// Ends all faults; cut cables and nodes without power remain so.
    pub fn heal(&mut self) {
        self.net.heal();
    }

    /// Sets the time after which an SM is notified of a request without reply, as the kernel does;
    /// `None`: never.
    pub const fn report_lost_after(&mut self, time: Option<Duration>) {
        self.lost_report_delay = time;
    }

    /// Calls `observer` for every MAD event from now on.
    pub fn observe(&mut self, observer: impl FnMut(&TraceEvent<'_>) + Send + 'static) {
        self.net.observe(observer);
    }

    /// Hash of all events; equal for equal runs.
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.net.trace_hash()
    }

    /// Scheduled actions that failed.
    #[must_use]
    pub fn action_errors(&self) -> &[(Instant, SpecError)] {
        self.net.action_errors()
    }

    /// Number of MADs in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.net.in_flight()
    }

    /// Schedules an action; a past time means now.
    pub fn schedule(&mut self, at: Instant, action: FabricAction) {
        self.net.schedule(at, action);
    }

    fn next_time(&self) -> Option<Instant> {
        let timers = self.actors.iter().filter_map(Actor::poll_timeout);
        self.net.next_time().into_iter().chain(timers).min()
    }

    /// Processes the next event and returns its time; `None` if there is none.
    ///
    /// # Panics
    /// If an SM requests the same timeout repeatedly.
    pub fn step(&mut self) -> Option<Instant> {
        let next = self.next_time()?;
        if next > self.now() {
            self.net.set_now(next);
            self.calls_now = 0;
        }
        let now = self.now();
        if self.net.next_time().is_some_and(|t| t <= now) {
            if let Some(notice) = self.net.step(&mut self.deliveries) {
                self.handle_notice(notice);
            }
            self.deliver_pending();
            return Some(now);
        }
        let due = |a: &Actor<M>| a.poll_timeout().is_some_and(|t| t <= now);
        if let Some(index) = self.actors.iter().position(due) {
            self.calls_now += 1;
            assert!(
                self.calls_now < MAX_CALLS_AT_ONE_TIME,
                "SM {index} requests the same timeout repeatedly at {now:?}"
            );
            self.actors[index].call(|m| m.handle_timeout(now));
            self.drain(index);
        }
        Some(now)
    }

    /// Runs until a time, inclusive.
    pub fn run_until(&mut self, deadline: Instant) {
        while self.next_time().is_some_and(|t| t <= deadline) {
            self.step();
        }
        self.net.set_now(deadline);
    }

    /// Runs for a duration.
    pub fn run_for(&mut self, time: Duration) {
        self.run_until(self.now() + time);
    }

    /// Runs until the world is quiet ([`World::is_quiet`]). Returns `false` at the deadline.
    pub fn run_until_quiet(&mut self, quiet: Duration, deadline: Instant) -> bool {
        self.run_until_true(deadline, |w| w.is_quiet(quiet))
    }

    /// Runs until `done` returns true; it is called after each event. Returns `false` at the
    /// deadline.
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

    /// Whether no MAD is in flight, nothing is scheduled, and no timer is due within `quiet`.
    #[must_use]
    pub fn is_quiet(&self, quiet: Duration) -> bool {
        self.net.in_flight() == 0
            && self.net.scheduled() == 0
            && self.next_time().is_none_or(|t| t > self.now() + quiet)
    }

    /// Handles a notice of the net.
    fn handle_notice(&mut self, notice: OwnerNotice) {
        match notice {
            OwnerNotice::RequestLost(index, tid) => {
                if self.outstanding.remove(&(index, tid)) && !self.actors[index].paused {
                    let now = self.now();
                    self.actors[index].call(|m| m.handle_send_failed(tid, now));
                    self.drain(index);
                }
            }
            OwnerNotice::SmProcess(index, SmProcessChange::Kill) => {
                self.kill(SmId(index));
            }
            OwnerNotice::SmProcess(index, SmProcessChange::Pause) => {
                self.set_paused(SmId(index), true)
            }
            OwnerNotice::SmProcess(index, SmProcessChange::Resume) => {
                self.set_paused(SmId(index), false)
            }
        }
    }

    /// Sends an SM's pending output.
    fn drain(&mut self, index: usize) {
        while let Some(mad) = self.actors[index].poll_send() {
            let at = self.actors[index].at;
            if let Some(after) = self.lost_report_delay
                && (mad.mad.method() == Method::Get || mad.mad.method() == Method::Set)
            {
                let tid = mad.mad.tid();
                self.outstanding.insert((index, tid));
                let when = self.now() + after;
                self.net
                    .schedule_notice(when, OwnerNotice::RequestLost(index, tid));
            }
            self.net
                .send_now(Packet::new(at, &mad), &mut self.deliveries);
        }
    }

    /// Sends a MAD from a port, without an SM.
    pub fn inject(&mut self, at: PortAt, mad: &MadOut) {
        self.net.inject(at, mad, &mut self.deliveries);
    }

    /// Delivers MADs to the SMs.
    fn deliver_pending(&mut self) {
        if self.deliveries.is_empty() {
            return;
        }
        let mut deliveries = std::mem::take(&mut self.deliveries);
        for delivery in deliveries.drain(..) {
            self.deliver(&delivery);
        }
        // Replies to these MADs go through the net's event queue.
        self.deliveries = deliveries;
    }

    fn deliver(&mut self, delivery: &Delivery) {
        for index in 0..self.actors.len() {
            let actor = &self.actors[index];
            if actor.at != delivery.at
                || actor.paused
                || !matches!(actor.kind, ActorKind::Hosted(_))
            {
                continue;
            }
            let mad = delivery.mad;
            let now = self.now();
            if self.lost_report_delay.is_some() && mad.mad.method().is_response() {
                self.outstanding.remove(&(index, mad.mad.tid()));
            }
            self.actors[index].call(|m| m.handle_mad(mad, now));
            self.drain(index);
        }
    }
}

impl<M: HostedSm> Actor<M> {
    fn poll_timeout(&self) -> Option<Instant> {
        match &self.kind {
            ActorKind::Hosted(m) if !self.paused => m.poll_timeout(),
            ActorKind::Hosted(_) | ActorKind::Foreign(_) | ActorKind::Removed => None,
        }
    }

    fn poll_send(&mut self) -> Option<MadOut> {
        match &mut self.kind {
            ActorKind::Hosted(m) if !self.paused => m.poll_send(),
            ActorKind::Hosted(_) | ActorKind::Foreign(_) | ActorKind::Removed => None,
        }
    }

    fn call(&mut self, f: impl FnOnce(&mut M)) {
        match &mut self.kind {
            ActorKind::Hosted(m) => f(m),
            ActorKind::Foreign(_) | ActorKind::Removed => {}
        }
    }
}
