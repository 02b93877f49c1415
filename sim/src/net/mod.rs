//! Packets under way: latency, loss, and whatever else a fabric does to MADs between programs.
//!
//! [`Net`] owns a [`Fabric`], the time, the events to come (ordered by time and then by when they
//! were made) and one seed from which everything is drawn. It never waits and reads no clock: a
//! [`World`](crate::world::World) runs it in virtual time, a server in real time by saying what
//! time it is. It knows subnet managers of somebody else ([`ForeignSm`]), but hosts no program.
//!
//! After [`Net::set_instant`] a fabric without faults takes no time at all: [`Net::send`] carries
//! request and answer at once, and no event is made for them.

mod act;
mod foreign;
mod journey;
mod queue;
mod table;
mod trace;

use std::time::Duration;

use ferrosm_mad::mad::MadOut;
use ferrosm_mad::time::Instant;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::fabric::{Delivery, Fabric, Packet, SpecError};
use crate::faults::{FabricAction, Faults};
use crate::spec::{NodeIdx, PortAt};
use foreign::Foreign;
pub use foreign::{ForeignSm, ForeignSmId};
use queue::{Key, Queue};
pub(crate) use queue::{ManagerNote, Note};
use table::{FaultTable, Spot};
use trace::TraceHash;
pub use trace::{MadEvent, TraceEvent};

/// Time that a MAD takes for a link, unless set.
pub const HOP_TIME: Duration = Duration::from_nanos(300);

/// Errors of scheduled actions that are kept; later ones are only counted in the trace.
const ERRORS_KEPT: usize = 1024;

type Observer = Box<dyn FnMut(&TraceEvent<'_>) + Send>;

/// See the module's text.
pub struct Net {
    fabric: Fabric,
    now: Instant,
    queue: Queue,
    rng: ChaCha8Rng,
    table: FaultTable,
    busy_until: Vec<Instant>,
    foreigners: Vec<Foreign>,
    action_errors: Vec<(Instant, SpecError)>,
    trap_buffer: Vec<Packet>,
    trace: Option<TraceHash>,
    observer: Option<Observer>,
    /// Whether a fabric without faults takes no time.
    instant: bool,
    /// Whether nothing is wrong now and nothing takes time.
    plain: bool,
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
    /// A net around a fabric; everything that is drawn is drawn from `seed`. A link takes
    /// [`HOP_TIME`], an agent what [`Faults::NONE`] says.
    #[must_use]
    pub fn new(fabric: Fabric, seed: u64) -> Self {
        Self {
            busy_until: vec![Instant::START; fabric.num_nodes()],
            fabric,
            now: Instant::START,
            queue: Queue::default(),
            rng: ChaCha8Rng::seed_from_u64(seed),
            table: FaultTable::new(),
            foreigners: Vec::new(),
            action_errors: Vec::new(),
            trap_buffer: Vec::new(),
            trace: Some(TraceHash::default()),
            observer: None,
            instant: false,
            plain: false,
        }
    }

    /// For real time: where no fault says otherwise, nothing takes time and nothing is waited for,
    /// and the run is not hashed. Faults that were set are forgotten.
    pub fn set_instant(&mut self) {
        self.instant = true;
        self.trace = None;
        self.table.make_instant();
        self.faults_changed();
    }

    fn faults_changed(&mut self) {
        self.table.tidy();
        self.plain = self.instant && self.table.is_calm();
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

    /// The present: the latest time that it was told.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Time goes on (never back) without letting anything happen.
    pub(crate) fn set_now(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// A program at a port sends. What can be delivered at once is appended to `out`, and so is
    /// what was due by `now`, in order.
    pub fn send(&mut self, packet: Packet, now: Instant, out: &mut Vec<Delivery>) {
        if self.next_time().is_some_and(|t| t <= now) {
            self.advance(now, out);
        }
        self.set_now(now);
        self.launch(packet, out);
        if !self.plain && self.next_time().is_some_and(|t| t <= now) {
            self.advance(now, out);
        }
    }

    /// A MAD that somebody at a port sends, whoever it is; it is delivered with [`Net::advance`] or
    /// at once.
    pub fn inject(&mut self, at: PortAt, mad: &MadOut, out: &mut Vec<Delivery>) {
        self.launch(Packet::new(at, mad), out);
    }

    /// Sends at the present time, and lets nothing else happen.
    pub(crate) fn launch(&mut self, packet: Packet, out: &mut Vec<Delivery>) {
        self.fabric.totals.sent += 1;
        self.journey(packet, out);
    }

    /// When [`Net::advance`] has something to do next.
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
        self.foreigners
            .iter()
            .filter_map(Foreign::poll_timeout)
            .min()
    }

    /// Everything due at or before `now`, in order of time and of coming into being.
    ///
    /// What programs are to get is appended to `out`.
    pub fn advance(&mut self, now: Instant, out: &mut Vec<Delivery>) {
        while let Some(next) = self.next_time().filter(|t| *t <= now) {
            self.set_now(next);
            // Only a world asks to be told of something, and it takes its steps itself.
            let _ = self.step(out);
        }
        self.set_now(now);
    }

    /// Lets one thing happen that is due now; what the owner wanted to be told of is returned.
    pub(crate) fn step(&mut self, out: &mut Vec<Delivery>) -> Option<Note> {
        let is_due = |t: Option<Instant>| t.is_some_and(|t| t <= self.now);
        if is_due(self.queue.next_time()) {
            return match self.queue.pop()? {
                Key::Arrive(index) => {
                    self.arrive(index, out);
                    None
                }
                Key::Serve(index) => {
                    let packet = self.queue.take(index);
                    self.serve(packet, out);
                    None
                }
                Key::Depart(index) => {
                    let packet = self.queue.take(index);
                    self.journey(packet, out);
                    None
                }
                Key::FabricAction(index) => {
                    if let Some(action) = self.queue.take_action(index)
                        && let Err(error) = self.act(action)
                        && self.action_errors.len() < ERRORS_KEPT
                    {
                        self.action_errors.push((self.now, error));
                    }
                    None
                }
                Key::Note(note) => Some(note),
            };
        }
        if is_due(self.fabric.poll_timeout()) {
            let mut traps = std::mem::take(&mut self.trap_buffer);
            self.fabric.fire(self.now, &mut traps);
            for packet in traps.drain(..) {
                self.journey(packet, out);
            }
            self.trap_buffer = traps;
            return None;
        }
        if let Some(index) = self
            .foreigners
            .iter()
            .position(|f| is_due(f.poll_timeout()))
        {
            self.foreigners[index].handle_timeout(self.now);
            self.drain_foreigner(index, out);
        }
        None
    }

    /// Lets something happen at a time; at once if that is past.
    pub fn schedule(&mut self, at: Instant, action: FabricAction) {
        self.queue.push_action(at.max(self.now), action);
    }

    /// The owner is told at a time, in the order of everything else.
    pub(crate) fn schedule_note(&mut self, at: Instant, note: Note) {
        self.queue.push(at.max(self.now), Key::Note(note));
    }

    /// Faults of the whole fabric.
    pub fn set_faults(&mut self, faults: Faults) {
        self.table.all = faults;
        self.faults_changed();
    }

    /// Faults of one node; `None` makes it behave like all others.
    pub fn set_node_faults(&mut self, node: NodeIdx, faults: Option<Faults>) {
        self.table.set_node(node, faults);
        self.faults_changed();
    }

    /// Chance that a MAD is lost on the link at a port, in both directions.
    pub fn set_link_loss(&mut self, at: PortAt, loss: f64) {
        for end in [Some(at), self.fabric.peer(at)].into_iter().flatten() {
            self.table.link_mut(end).loss = loss;
        }
        self.faults_changed();
    }

    /// Time that a MAD takes for a link that has no latency of its own.
    pub fn set_hop_time(&mut self, time: Duration) {
        self.table.hop_time = time;
        self.faults_changed();
    }

    /// Ends all faults: of the fabric, of nodes, cables and attributes. What was cut or switched off
    /// stays so.
    pub fn heal(&mut self) {
        self.table.heal_all();
        self.faults_changed();
    }

    /// A subnet manager of somebody else appears at an end port and sets IsSM there.
    ///
    /// # Errors
    /// If there is no such end port, or an SM is there.
    pub fn add_foreign_sm(&mut self, at: PortAt, sm: ForeignSm) -> Result<ForeignSmId, SpecError> {
        let info = self.fabric.port_info(at).ok_or(SpecError::NoSuchPort(at))?;
        if info.capability_mask.0 & ferrosm_mad::attr::CapMask::IS_SM != 0 {
            return Err(SpecError::PortInUse(at));
        }
        let fabric = self.fabric_mut();
        fabric.attach(at)?;
        fabric.set_is_sm(at, true)?;
        self.foreigners.push(Foreign {
            at,
            sm: Some(Box::new(sm)),
            paused: false,
        });
        Ok(ForeignSmId(self.foreigners.len() - 1))
    }

    /// It is gone without a word; its port forgets IsSM.
    ///
    /// # Errors
    /// If it was gone.
    pub fn remove_foreign_sm(&mut self, id: ForeignSmId) -> Result<ForeignSm, SpecError> {
        let nobody = SpecError::NoSuchPort(PortAt::new(usize::MAX, 0));
        let foreign = self.foreigners.get_mut(id.0).ok_or(nobody)?;
        let at = foreign.at;
        let sm = foreign.sm.take().ok_or(SpecError::NoSuchPort(at))?;
        let fabric = self.fabric_mut();
        fabric.set_is_sm(at, false)?;
        fabric.detach(at)?;
        Ok(*sm)
    }

    /// It stops or goes on; MADs for it are lost meanwhile.
    pub fn set_foreign_paused(&mut self, id: ForeignSmId, paused: bool, out: &mut Vec<Delivery>) {
        if let Some(foreign) = self.foreigners.get_mut(id.0) {
            foreign.paused = paused;
            self.drain_foreigner(id.0, out);
        }
    }

    /// A foreign SM; `None` if it is gone.
    #[must_use]
    pub fn foreign_sm(&self, id: ForeignSmId) -> Option<&ForeignSm> {
        self.foreigners.get(id.0)?.sm.as_deref()
    }

    /// A foreign SM, to be changed.
    pub fn foreign_sm_mut(&mut self, id: ForeignSmId) -> Option<&mut ForeignSm> {
        self.foreigners.get_mut(id.0)?.sm.as_deref_mut()
    }

    /// The foreign SM at a port.
    #[must_use]
    pub fn foreign_sm_at(&self, at: PortAt) -> Option<ForeignSmId> {
        self.foreigners
            .iter()
            .position(|f| f.at == at && f.sm.is_some())
            .map(ForeignSmId)
    }

    fn drain_foreigner(&mut self, index: usize, out: &mut Vec<Delivery>) {
        while let Some(mad) = self.foreigners[index].poll_send() {
            self.launch(Packet::new(self.foreigners[index].at, &mad), out);
        }
    }

    /// Shows every MAD event from now on.
    pub fn observe(&mut self, observer: impl FnMut(&TraceEvent<'_>) + Send + 'static) {
        self.observer = Some(Box::new(observer));
    }

    /// A hash of all that happened: equal for equal runs. 0 after [`Net::set_instant`].
    #[must_use]
    pub fn trace_hash(&self) -> u64 {
        self.trace.map_or(0, TraceHash::value)
    }

    /// Scheduled actions that could not be done, and why; the first of them if they are many.
    #[must_use]
    pub fn action_errors(&self) -> &[(Instant, SpecError)] {
        &self.action_errors
    }

    /// MADs under way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.queue.in_flight()
    }

    /// Things that are to happen to the fabric or to managers later.
    #[must_use]
    pub fn scheduled(&self) -> usize {
        self.queue.scheduled()
    }

    /// One direction of a cable is known by the port that it enters.
    fn spots(&self, place: crate::faults::FaultScope) -> Vec<Spot> {
        use crate::faults::{FaultScope, LinkDirection};
        match place {
            FaultScope::Fabric => vec![Spot::Fabric],
            FaultScope::Node(node) => vec![Spot::Node(node)],
            FaultScope::Link(LinkDirection::Into(at)) => vec![Spot::Into(at)],
            FaultScope::Link(LinkDirection::OutOf(at)) => {
                self.fabric.peer(at).map(Spot::Into).into_iter().collect()
            }
            FaultScope::Link(LinkDirection::Both(at)) => {
                let mut spots = vec![Spot::Into(at)];
                spots.extend(self.fabric.peer(at).map(Spot::Into));
                spots
            }
        }
    }
}
