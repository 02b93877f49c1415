//! Packets in flight: latency, loss and other faults between programs.
//!
//! [`Net`] owns a [`Fabric`], the time, the queue of events (ordered by time, then by creation) and
//! the seed of all random numbers. It never waits and reads no clock: a
//! [`World`](crate::world::World) runs it in virtual time, a server in real time. It contains
//! foreign SMs ([`ForeignSm`]), but no attached programs.
//!
//! After [`Net::set_instant`], [`Net::send`] transports request and reply immediately if no fault
//! is set.

mod act;
mod queue;
mod table;
mod trace;
mod transport;

use std::time::Duration;

use ferrosm_mad::mad::MadOut;
use ferrosm_mad::time::Instant;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::fabric::{Delivery, Fabric, Packet, SpecError};
use crate::faults::{FabricAction, Faults};
use crate::foreign_sm::{ForeignSm, ForeignSmId, ForeignSmSlot};
use crate::spec::{NodeIdx, PortAt};
use queue::{EventQueue, QueuedEvent};
pub(crate) use queue::{OwnerNotice, SmProcessChange};
use table::{FaultLocation, FaultTable};
use trace::TraceHash;
pub use trace::{MadEvent, TraceEvent};

/// Default latency of a link.
pub const HOP_TIME: Duration = Duration::from_nanos(300);

/// Maximum number of recorded action errors; further ones are dropped.
const MAX_ACTION_ERRORS: usize = 1024;

type Observer = Box<dyn FnMut(&TraceEvent<'_>) + Send>;

/// See the module documentation.
pub struct Net {
    fabric: Fabric,
    now: Instant,
    queue: EventQueue,
    rng: ChaCha8Rng,
    table: FaultTable,
    busy_until: Vec<Instant>,
    foreign_sms: Vec<ForeignSmSlot>,
    action_errors: Vec<(Instant, SpecError)>,
    trap_buffer: Vec<Packet>,
    trace: Option<TraceHash>,
    observer: Option<Observer>,
    /// Whether [`Net::set_instant`] was called.
    instant: bool,
    /// Whether packets currently bypass the event queue: `instant` without faults.
    is_instant_now: bool,
}

impl std::fmt::Debug for Net {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Net")
            .field("now", &self.now)
            .field("nodes", &self.fabric.num_nodes())
            .field("in_flight", &self.queue.in_flight())
            .finish_non_exhaustive()
    }
}

impl Net {
    /// Creates a net with a fabric and the seed of all random numbers. Links have latency
    /// [`HOP_TIME`], agents the processing time of [`Faults::NONE`].
    #[must_use]
    pub fn new(fabric: Fabric, seed: u64) -> Self {
        Self {
            busy_until: vec![Instant::START; fabric.num_nodes()],
            fabric,
            now: Instant::START,
            queue: EventQueue::default(),
            rng: ChaCha8Rng::seed_from_u64(seed),
            table: FaultTable::new(),
            foreign_sms: Vec::new(),
            action_errors: Vec::new(),
            trap_buffer: Vec::new(),
            trace: Some(TraceHash::default()),
            observer: None,
            instant: false,
            is_instant_now: false,
        }
    }

    /// Switches to real time: no default latency or processing time, no trace hash. Clears all
    /// faults.
    pub fn set_instant(&mut self) {
        self.instant = true;
        self.trace = None;
        self.table.make_instant();
        self.faults_changed();
    }

    fn faults_changed(&mut self) {
        self.table.remove_default_entries();
        self.is_instant_now = self.instant && self.table.is_fault_free();
    }

    /// The devices.
    #[must_use]
    pub const fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The devices, at the current time.
    pub fn fabric_mut(&mut self) -> &mut Fabric {
        self.fabric.set_now(self.now);
        &mut self.fabric
    }

    /// The current time: the latest that was passed in.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Advances the time (never back) without processing events.
    pub(crate) fn set_now(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// Sends a packet from a program's port, after all events due by `now`. Deliveries are appended
    /// to `out`.
    pub fn send(&mut self, packet: Packet, now: Instant, out: &mut Vec<Delivery>) {
        if self.next_time().is_some_and(|t| t <= now) {
            self.advance(now, out);
        }
        self.set_now(now);
        self.send_now(packet, out);
        if !self.is_instant_now && self.next_time().is_some_and(|t| t <= now) {
            self.advance(now, out);
        }
    }

    /// Sends a MAD from a port, without a program. It is delivered by [`Net::advance`], or
    /// immediately.
    pub fn inject(&mut self, at: PortAt, mad: &MadOut, out: &mut Vec<Delivery>) {
        self.send_now(Packet::new(at, mad), out);
    }

    /// Sends a packet at the current time without processing other events.
    pub(crate) fn send_now(&mut self, packet: Packet, out: &mut Vec<Delivery>) {
        self.fabric.totals.sent += 1;
        self.transport(packet, out);
    }

    /// Time of the next event.
    #[must_use]
    pub fn next_time(&self) -> Option<Instant> {
        let mut next = self.queue.next_time();
        for other in [self.fabric.poll_timeout(), self.foreign_time()] {
            next = match (next, other) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        next
    }

    fn foreign_time(&self) -> Option<Instant> {
        self.foreign_sms
            .iter()
            .filter_map(ForeignSmSlot::poll_timeout)
            .min()
    }

    /// Processes all events due at or before `now`, in order.
    ///
    /// Deliveries to programs are appended to `out`.
    pub fn advance(&mut self, now: Instant, out: &mut Vec<Delivery>) {
        while let Some(next) = self.next_time().filter(|t| *t <= now) {
            self.set_now(next);
            // Only a world schedules notices, and it calls `step` itself.
            let _ = self.step(out);
        }
        self.set_now(now);
    }

    /// Processes one event that is due; returns a notice for the owner, if the event is one.
    pub(crate) fn step(&mut self, out: &mut Vec<Delivery>) -> Option<OwnerNotice> {
        let is_due = |t: Option<Instant>| t.is_some_and(|t| t <= self.now);
        if is_due(self.queue.next_time()) {
            return match self.queue.pop()? {
                QueuedEvent::Arrive(index) => {
                    self.arrive(index, out);
                    None
                }
                QueuedEvent::Serve(index) => {
                    let packet = self.queue.take(index);
                    self.serve(packet, out);
                    None
                }
                QueuedEvent::Depart(index) => {
                    let packet = self.queue.take(index);
                    self.transport(packet, out);
                    None
                }
                QueuedEvent::Action(index) => {
                    if let Some(action) = self.queue.take_action(index)
                        && let Err(error) = self.act(action)
                        && self.action_errors.len() < MAX_ACTION_ERRORS
                    {
                        self.action_errors.push((self.now, error));
                    }
                    None
                }
                QueuedEvent::Notice(notice) => Some(notice),
            };
        }
        if is_due(self.fabric.poll_timeout()) {
            let mut traps = std::mem::take(&mut self.trap_buffer);
            self.fabric.process_timers(self.now, &mut traps);
            for packet in traps.drain(..) {
                self.transport(packet, out);
            }
            self.trap_buffer = traps;
            return None;
        }
        if let Some(index) = self
            .foreign_sms
            .iter()
            .position(|f| is_due(f.poll_timeout()))
        {
            self.foreign_sms[index].handle_timeout(self.now);
            self.drain_foreign_sm(index, out);
        }
        None
    }

    /// Schedules an action; a past time means now.
    pub fn schedule(&mut self, at: Instant, action: FabricAction) {
        self.queue.push_action(at.max(self.now), action);
    }

    /// Schedules a notice for the owner.
    pub(crate) fn schedule_notice(&mut self, at: Instant, notice: OwnerNotice) {
        self.queue
            .push(at.max(self.now), QueuedEvent::Notice(notice));
    }

    /// Sets the faults of the whole fabric.
    pub fn set_faults(&mut self, faults: Faults) {
        self.table.everywhere = faults;
        self.faults_changed();
    }

    /// Sets the faults of a node; `None`: those of the fabric.
    pub fn set_node_faults(&mut self, node: NodeIdx, faults: Option<Faults>) {
        self.table.set_node(node, faults);
        self.faults_changed();
    }

    /// Sets the loss of the link at a port, in both directions.
    pub fn set_link_loss(&mut self, at: PortAt, loss: f64) {
        for port in [Some(at), self.fabric.peer(at)].into_iter().flatten() {
            self.table.link_mut(port).loss = loss;
        }
        self.faults_changed();
    }

    /// Sets the latency of links without a latency of their own.
    pub fn set_hop_time(&mut self, time: Duration) {
        self.table.hop_time = time;
        self.faults_changed();
    }

    /// Ends all faults of the fabric, nodes, links and attributes. Cut cables and nodes without
    /// power remain so.
    pub fn heal(&mut self) {
        self.table.heal_all();
        self.faults_changed();
    }

    /// Adds a foreign SM at an end port and sets IsSM there.
    ///
    /// # Errors
    /// If the end port does not exist or has an SM.
    pub fn add_foreign_sm(&mut self, at: PortAt, sm: ForeignSm) -> Result<ForeignSmId, SpecError> {
        let info = self.fabric.port_info(at).ok_or(SpecError::NoSuchPort(at))?;
        if info.capability_mask.0 & ferrosm_mad::attr::CapMask::IS_SM != 0 {
            return Err(SpecError::PortInUse(at));
        }
        let fabric = self.fabric_mut();
        fabric.attach(at)?;
        fabric.set_is_sm(at, true)?;
        self.foreign_sms.push(ForeignSmSlot {
            at,
            sm: Some(Box::new(sm)),
            paused: false,
        });
        Ok(ForeignSmId(self.foreign_sms.len() - 1))
    }

    /// Removes a foreign SM without handover; IsSM of its port is cleared.
    ///
    /// # Errors
    /// If it was removed before.
    pub fn remove_foreign_sm(&mut self, id: ForeignSmId) -> Result<ForeignSm, SpecError> {
        let no_such_sm = SpecError::NoSuchPort(PortAt::new(usize::MAX, 0));
        let foreign = self.foreign_sms.get_mut(id.0).ok_or(no_such_sm)?;
        let at = foreign.at;
        let sm = foreign.sm.take().ok_or(SpecError::NoSuchPort(at))?;
        let fabric = self.fabric_mut();
        fabric.set_is_sm(at, false)?;
        fabric.detach(at)?;
        Ok(*sm)
    }

    /// Suspends or resumes a foreign SM; MADs to a suspended SM are lost.
    pub fn set_foreign_paused(&mut self, id: ForeignSmId, paused: bool, out: &mut Vec<Delivery>) {
        if let Some(foreign) = self.foreign_sms.get_mut(id.0) {
            foreign.paused = paused;
            self.drain_foreign_sm(id.0, out);
        }
    }

    /// A foreign SM; `None` if it was removed.
    #[must_use]
    pub fn foreign_sm(&self, id: ForeignSmId) -> Option<&ForeignSm> {
        self.foreign_sms.get(id.0)?.sm.as_deref()
    }

    /// A foreign SM; `None` if it was removed.
    pub fn foreign_sm_mut(&mut self, id: ForeignSmId) -> Option<&mut ForeignSm> {
        self.foreign_sms.get_mut(id.0)?.sm.as_deref_mut()
    }

    /// The foreign SM at a port.
    #[must_use]
    pub fn foreign_sm_at(&self, at: PortAt) -> Option<ForeignSmId> {
        self.foreign_sms
            .iter()
            .position(|f| f.at == at && f.sm.is_some())
            .map(ForeignSmId)
    }

    fn drain_foreign_sm(&mut self, index: usize, out: &mut Vec<Delivery>) {
        while let Some(mad) = self.foreign_sms[index].poll_send() {
            self.send_now(Packet::new(self.foreign_sms[index].at, &mad), out);
        }
    }

    /// Calls `observer` for every MAD event from now on.
    pub fn observe(&mut self, observer: impl FnMut(&TraceEvent<'_>) + Send + 'static) {
        self.observer = Some(Box::new(observer));
    }

    /// Hash of all events; equal for equal runs. 0 after [`Net::set_instant`].
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.trace.map_or(0, TraceHash::value)
    }

    /// The first `MAX_ACTION_ERRORS` scheduled actions that failed.
    #[must_use]
    pub fn action_errors(&self) -> &[(Instant, SpecError)] {
        &self.action_errors
    }

    /// Number of MADs in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.queue.in_flight()
    }

    /// Number of scheduled actions and SM changes.
    #[must_use]
    pub fn scheduled(&self) -> usize {
        self.queue.scheduled()
    }

    /// The locations of a fault. A direction of a link is identified by the port where it ends.
    fn fault_locations(&self, scope: crate::faults::FaultScope) -> Vec<FaultLocation> {
        use crate::faults::{FaultScope, LinkDirection};
        match scope {
            FaultScope::Fabric => vec![FaultLocation::Fabric],
            FaultScope::Node(node) => vec![FaultLocation::Node(node)],
            FaultScope::Link(LinkDirection::Into(at)) => vec![FaultLocation::Into(at)],
            FaultScope::Link(LinkDirection::OutOf(at)) => self
                .fabric
                .peer(at)
                .map(FaultLocation::Into)
                .into_iter()
                .collect(),
            FaultScope::Link(LinkDirection::Both(at)) => {
                let mut locations = vec![FaultLocation::Into(at)];
                locations.extend(self.fabric.peer(at).map(FaultLocation::Into));
                locations
            }
        }
    }
}
