//! The subnet manager in a simulated world: virtual time, one seed, faults, and an oracle that reads the devices.
//!
//! [`Lab`] is the scenario builder: a fabric, one manager of ours, and the question whether the fabric is good. The
//! simulator shares no code with the manager; this file is the only place where the two meet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::plan::routes::RoutingJobResult;
use ferrosm_core::recording::RecordedManager;
use ferrosm_core::records::{RecordChange, RecordKey, RecordKind, RecordRestorer};
use ferrosm_core::{
    CommandId, CommandReply, DurabilityEvent, Event, Input, Output, Persisted, PortRef,
    RestoredState, SmConfig, SubnetManager, SweepReport,
};
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::Tid;
use ferrosm_mad::mad::{MadHeader, MadIn, MadOut};
use ferrosm_mad::time::Instant;
use ferrosm_mad::transport::gmp::Peer;
use ferrosm_sa::View;
use ferrosm_sa::view::persist::ViewSnapshot;
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::oracle::{Expectations, judge_fabric};
use ferrosm_sim::spec::{FabricSpec, NodeIdx, PortAt};
use ferrosm_sim::world::{HostedSm, SmId, World};

use crate::recording;
use crate::store::{SimulatedStore, StoreFault};

/// The world's calendar begins with its clock.
fn unix_s(now: Instant) -> u64 {
    now.as_nanos() / 1_000_000_000
}

/// How a manager's clock goes beside the world's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clock {
    /// So many millionths faster; slower where negative.
    pub ppm: i32,
    /// What it showed when the world began.
    pub ahead: Duration,
}

impl Clock {
    fn rate(self) -> u128 {
        u128::try_from(1_000_000 + i64::from(self.ppm)).unwrap_or(1)
    }

    /// What it shows.
    #[must_use]
    pub fn shows(self, now: Instant) -> Instant {
        let ns = u128::from(now.as_nanos()) * self.rate() / 1_000_000;
        let ns = u64::try_from(ns).unwrap_or(u64::MAX);
        Instant::START + Duration::from_nanos(ns) + self.ahead
    }

    /// The first moment at which it shows that.
    fn is_when(self, shown: Instant) -> Instant {
        let ns = shown.since(Instant::START + self.ahead).as_nanos() * 1_000_000;
        let ns = u64::try_from(ns.div_ceil(self.rate())).unwrap_or(u64::MAX);
        Instant::START + Duration::from_nanos(ns)
    }
}

/// Our manager as the world sees it. Routing jobs are run at once, in no virtual time.
#[derive(Debug)]
pub struct Sm {
    core: RecordedManager,
    now: Instant,
    /// What it told the operator, in order.
    pub events: Vec<Event>,
    /// Replies to commands, in order.
    pub command_replies: Vec<(CommandId, CommandReply)>,
    /// The durable records of LIDs and of what clients registered.
    pub kept: BTreeMap<RecordKey, Box<[u8]>>,
    /// The durable view.
    pub view_kept: Option<Arc<View>>,
    /// Routing jobs take as long as [`Self::answer`] is not called.
    pub slow_jobs: bool,
    /// What they have found, in order.
    pub held: Vec<RoutingJobResult>,
    /// What its master kept, as far as it has a copy.
    pub copy: Option<RestoredState>,
    /// What it keeps as standby is its master's records, not its own: nothing of its own is kept meanwhile.
    pub follows: bool,
    /// Whoever owns it answers when it wants what was kept, and [`Self::wants_copy`] says that it does.
    pub asks_for_copy: bool,
    /// It waits for that.
    pub wants_copy: bool,
    /// It becomes master without what it waited for: its durable records are not those that it knows.
    gave_up_copy: bool,
    keeps: bool,
    clock: Clock,
    /// What it sent from QP1 and nobody took yet, in order.
    pub replies: Vec<(Peer, Vec<u8>)>,
    store: SimulatedStore,
    /// SA replies do not wait for durable state, as the SM reported.
    is_unprotected: bool,
    /// Replies that were sent at this moment.
    sent_now: Vec<Tid>,
    /// Replies that did not wait for durable state.
    pub unprotected_replies: BTreeSet<Tid>,
}

impl Sm {
    /// A manager that starts at `now`.
    #[must_use]
    pub fn new(cfg: SmConfig, restored: RestoredState, now: Instant) -> Self {
        Self::with_clock(cfg, restored, now, Clock::default())
    }

    /// A manager that starts at `now`, with a clock of its own.
    #[must_use]
    pub fn with_clock(cfg: SmConfig, restored: RestoredState, now: Instant, clock: Clock) -> Self {
        let now = clock.shows(now);
        let view_kept = restored.snapshot.as_ref().map(|s| Arc::clone(&s.view));
        let kept = restored.records();
        let kept = kept.map(|r| (r.key(), r.encode(unix_s(now)))).collect();
        Self {
            core: recording::manager(cfg, restored, now),
            now,
            events: Vec::new(),
            command_replies: Vec::new(),
            kept,
            view_kept,
            slow_jobs: false,
            held: Vec::new(),
            copy: None,
            follows: false,
            asks_for_copy: false,
            wants_copy: false,
            gave_up_copy: false,
            keeps: true,
            clock,
            replies: Vec::new(),
            store: SimulatedStore::default(),
            is_unprotected: false,
            sent_now: Vec::new(),
            unprotected_replies: BTreeSet::new(),
        }
    }

    /// A fault of the store begins or ends.
    pub fn set_store_fault(&mut self, fault: StoreFault, now: Instant) {
        self.set_now(now);
        let before = self.store.durable();
        self.store.set_fault(fault, self.now);
        self.write_store(before);
    }

    /// What is wrong with the store.
    #[must_use]
    pub const fn store_fault(&self) -> StoreFault {
        self.store.fault()
    }

    /// Whether everything that the SM persisted is durable.
    #[must_use]
    pub fn is_store_caught_up(&self) -> bool {
        self.store.is_caught_up()
    }

    /// Whether a record of this kind waits to become durable.
    #[must_use]
    pub fn is_pending(&self, kind: RecordKind) -> bool {
        self.store.is_pending(kind)
    }

    /// The last batch that the SM persisted.
    #[must_use]
    pub const fn last_batch(&self) -> u64 {
        self.store.submitted()
    }

    /// The last batch that is durable.
    #[must_use]
    pub const fn durable_batch(&self) -> u64 {
        self.store.durable()
    }

    /// Replaces the durable records, as a replica of another SM's does. Changes of this SM that are not durable yet are dropped.
    pub fn replace_records(
        &mut self,
        records: BTreeMap<RecordKey, Box<[u8]>>,
        view: Option<Arc<View>>,
        now: Instant,
    ) {
        self.set_now(now);
        (self.kept, self.view_kept) = (records, view);
        self.gave_up_copy = false;
        let before = self.store.durable();
        self.store.on_records_replaced(self.now);
        self.write_store(before);
    }

    /// Removes the durable registrations and view, as the daemon does for an SM that becomes master without them.
    fn clear_registrations(&mut self) {
        let clear = RecordKind::REGISTRATIONS.map(RecordChange::Clear);
        let (before, seq) = (self.store.durable(), self.store.submitted());
        self.store.submit(seq, clear.into(), self.now);
        self.store.submit_view(seq, None, self.now);
        self.write_store(before);
    }

    /// Writes what is due, and reports it if more is durable than before.
    fn write_store(&mut self, before: u64) {
        self.store
            .write_due(&mut self.kept, &mut self.view_kept, self.now);
        let durable = self.store.durable();
        if durable > before {
            let persisted = Persisted::all(durable);
            self.core.handle(Input::Persisted(persisted), self.now);
        }
    }

    fn set_now(&mut self, now: Instant) {
        let now = self.clock.shows(now);
        if now != self.now {
            self.sent_now.clear();
        }
        self.now = now;
    }

    /// Whether replies that leave at this moment wait for durable state. The first that do not leave just before the event.
    fn on_durability_event(&mut self, event: DurabilityEvent) {
        match event {
            DurabilityEvent::RepliesUnprotected => {
                self.is_unprotected = true;
                self.unprotected_replies.extend(self.sent_now.drain(..));
            }
            DurabilityEvent::RepliesProtected => self.is_unprotected = false,
            DurabilityEvent::WritesUnprotected => {}
        }
    }

    fn on_reply(&mut self, to: Peer, bytes: Vec<u8>) {
        if let Some(header) = MadHeader::decode_slice(&bytes)
            && !self.store.is_caught_up()
        {
            if self.is_unprotected {
                self.unprotected_replies.insert(header.tid);
            }
            self.sent_now.push(header.tid);
        }
        self.replies.push((to, bytes));
    }

    /// Hands in what the oldest routing job that was held back has found.
    pub fn answer(&mut self, now: Instant) {
        if !self.held.is_empty() {
            let computed = self.held.remove(0);
            self.command(Input::Computed(Box::new(computed)), now);
        }
    }

    /// What another manager starts with from what this one wanted kept, the view apart.
    ///
    /// # Panics
    /// If a record is none.
    #[must_use]
    pub fn restored(&self, now: Instant) -> RestoredState {
        let mut restorer = RecordRestorer::new(unix_s(self.clock.shows(now)));
        for (key, value) in &self.kept {
            restorer.put(key, value);
        }
        let (restored, left_out) = restorer.finish();
        assert_eq!(left_out, []);
        restored
    }

    /// The same with the view, as a standby has a copy of it.
    #[must_use]
    pub fn copied(&self, now: Instant) -> RestoredState {
        let snapshot = self.view_kept.clone().map(|view| ViewSnapshot {
            view,
            age: Duration::ZERO,
        });
        RestoredState {
            snapshot,
            ..self.restored(now)
        }
    }

    /// The manager itself.
    #[must_use]
    pub fn core(&self) -> &SubnetManager {
        &self.core
    }

    /// Gives it an input of the operator's.
    pub fn command(&mut self, input: Input, now: Instant) {
        self.set_now(now);
        self.core.handle(input, self.now);
    }

    /// Reports of complete sweeps, in order.
    #[must_use]
    pub fn reports(&self) -> Vec<&SweepReport> {
        self.events
            .iter()
            .filter_map(|e| {
                if let Event::SweepCompleted(r) = e {
                    Some(&**r)
                } else {
                    None
                }
            })
            .collect()
    }
}

impl HostedSm for Sm {
    fn handle_mad(&mut self, mad: MadIn, now: Instant) {
        self.command(Input::Mad(mad), now);
    }

    fn handle_send_failed(&mut self, tid: Tid, now: Instant) {
        self.command(Input::SendFailed(tid), now);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.set_now(now);
        self.write_store(self.store.durable());
        self.command(Input::Timeout, now);
    }

    fn poll_send(&mut self) -> Option<MadOut> {
        loop {
            match self.core.poll_output()? {
                Output::Send(mad) => return Some(mad),
                Output::Compute(job) => {
                    let computed = job.run();
                    if self.slow_jobs {
                        self.held.push(computed);
                    } else {
                        self.core
                            .handle(Input::Computed(Box::new(computed)), self.now);
                    }
                }
                Output::Persist { seq, updates } => {
                    let changes = if self.keeps {
                        let now = unix_s(self.now);
                        updates.iter().map(|u| u.to_change(now)).collect()
                    } else {
                        Vec::new()
                    };
                    let before = self.store.durable();
                    self.store.submit(seq, changes, self.now);
                    self.write_store(before);
                }
                Output::PersistView { seq, view } => {
                    let before = self.store.durable();
                    if self.keeps {
                        self.store.submit_view(seq, view, self.now);
                    } else {
                        self.store.skip(seq);
                    }
                    self.write_store(before);
                }
                Output::Event(event) => {
                    if let Event::RoleChanged { state, .. } = &event {
                        self.keeps = match *state {
                            SmState::Master => true,
                            SmState::Standby => !self.follows,
                            _ => self.keeps,
                        };
                        if !self.keeps {
                            let before = self.store.durable();
                            self.store.stop_persisting(self.now);
                            self.write_store(before);
                        }
                        if *state == SmState::Master && core::mem::take(&mut self.gave_up_copy) {
                            self.clear_registrations();
                        }
                    }
                    if let Event::Durability(event) = &event {
                        self.on_durability_event(*event);
                    }
                    recording::event(self.now, &event);
                    self.events.push(event);
                }
                Output::CommandReply { id, reply } => self.command_replies.push((id, reply)),
                Output::Gmp { to, bytes, .. } => self.on_reply(to, bytes),
                // The manager answers from it itself.
                Output::Publish(_) => {}
                Output::CancelReplicaLoad => {
                    self.gave_up_copy = self.follows && self.wants_copy;
                    self.wants_copy = false;
                }
                Output::LoadReplica if self.asks_for_copy => self.wants_copy = true,
                Output::LoadReplica => {
                    let copy = self.copy.take().map(Box::new);
                    self.core.handle(Input::ReplicaLoaded(copy), self.now);
                }
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let due = [self.core.poll_timeout(), self.store.poll_timeout()];
        let due = due.into_iter().flatten().min()?;
        Some(self.clock.is_when(due))
    }
}

/// A fabric with our manager on it.
pub struct Lab {
    /// The world.
    pub world: World<Sm>,
    /// Our manager.
    pub sm: SmId,
    /// The port that it uses.
    pub at: PortAt,
    /// The fabric on paper.
    pub spec: FabricSpec,
    /// What makes the run repeatable.
    pub seed: u64,
    name: String,
}

impl Lab {
    /// A fabric from a SPEC (`torus:4,4,3,2`) with our manager on its first node.
    #[must_use]
    pub fn new(spec: &str, seed: u64) -> Self {
        Self::with(spec, seed, SmConfig::default())
    }

    /// The same with other settings.
    #[must_use]
    pub fn with(spec: &str, seed: u64, cfg: SmConfig) -> Self {
        let fabric = ferrosm_sim::generate::from_spec(spec).unwrap_or_else(|e| panic!("{e}"));
        Self::on(spec, fabric, seed, cfg, None)
    }

    /// On a fabric of one's own, from a port of one's own.
    #[must_use]
    pub fn on(name: &str, spec: FabricSpec, seed: u64, cfg: SmConfig, at: Option<PortAt>) -> Self {
        let fabric = Fabric::new(&spec).unwrap_or_else(|e| panic!("{name}: {e}"));
        let at = at.unwrap_or_else(|| fabric.default_port());
        let mut world = World::new(fabric, seed);
        if recording::is_on() {
            world.observe(|event| recording::line(|| event.to_string()));
        }
        let sm = world
            .add_sm(
                Some(at),
                Sm::new(cfg, RestoredState::default(), Instant::START),
            )
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        Self {
            world,
            sm,
            at,
            spec,
            seed,
            name: name.to_owned(),
        }
    }

    /// A fabric of which the first sweep is done and found nothing wrong.
    #[must_use]
    pub fn up(spec: &str, seed: u64, cfg: SmConfig) -> Self {
        let mut lab = Self::with(spec, seed, cfg);
        assert!(lab.next_sweep(600).is_clean());
        lab
    }

    /// A manager begins at the place of the one that was there, with what that one kept.
    ///
    /// # Panics
    /// If there is one already.
    pub fn begin_again(&mut self, cfg: SmConfig, restored: RestoredState) {
        let next = Sm::new(cfg, restored, self.world.now());
        let begun = self.world.add_sm(Some(self.at), next);
        self.sm = begun.unwrap_or_else(|e| panic!("{} {e:?}", self.repeat()));
    }

    /// Our manager.
    #[must_use]
    pub fn manager(&self) -> &Sm {
        self.world
            .sm(self.sm)
            .unwrap_or_else(|| panic!("{} the manager was killed", self.repeat()))
    }

    /// How to run this again.
    #[must_use]
    pub fn repeat(&self) -> String {
        format!("[{} seed {}]", self.name, self.seed)
    }

    /// Goes on until `done`, at most so many virtual seconds.
    ///
    /// # Panics
    /// If it is not done by then.
    pub fn until(&mut self, what: &str, max_s: u64, mut done: impl FnMut(&Self) -> bool) {
        let deadline = self.world.now() + Duration::from_secs(max_s);
        loop {
            if done(self) {
                return;
            }
            match self.world.step() {
                Some(now) if now <= deadline => {}
                _ => panic!(
                    "{} not within {max_s} virtual seconds: {what}",
                    self.repeat()
                ),
            }
        }
    }

    /// Goes on until one more sweep is complete.
    pub fn next_sweep(&mut self, max_s: u64) -> SweepReport {
        let before = self.manager().reports().len();
        self.until("one more sweep", max_s, |lab| {
            lab.manager().reports().len() > before
        });
        self.last_report()
    }

    /// The last complete sweep's report.
    #[must_use]
    pub fn last_report(&self) -> SweepReport {
        let reports = self.manager().reports();
        (*reports
            .last()
            .unwrap_or_else(|| panic!("{} no sweep yet", self.repeat())))
        .clone()
    }

    /// What is expected of a good fabric, from our port, when packets have the SLs that our manager gives paths.
    #[must_use]
    pub fn expect(&self) -> Expectations {
        expect_of(&self.world, self.sm, self.at)
    }

    /// The oracle's verdict on the bytes in the devices, as text where it is bad.
    ///
    /// # Errors
    /// The sentences of the oracle.
    pub fn verdict(&self, expect: &Expectations) -> Result<(), String> {
        let verdict = judge_fabric(self.world.fabric(), expect);
        if verdict.is_good() {
            Ok(())
        } else {
            Err(verdict.to_string())
        }
    }

    /// The oracle has nothing to say.
    ///
    /// # Panics
    /// If it has.
    pub fn assert_good(&self) {
        self.assert_good_but(&[]);
    }

    /// The oracle has nothing to say, these nodes apart.
    ///
    /// # Panics
    /// If it has.
    pub fn assert_good_but(&self, left_out: &[NodeIdx]) {
        let mut expect = self.expect();
        expect.quarantined.extend(left_out);
        if let Err(why) = self.verdict(&expect) {
            panic!(
                "{} {why}\nlast report: {:#?}",
                self.repeat(),
                self.manager().reports().last().map(|r| &r.problems)
            );
        }
    }

    /// Goes on until the oracle has nothing to say and the manager is idle, at most so many virtual seconds.
    pub fn until_good(&mut self, max_s: u64) {
        self.until_good_but(max_s, &[]);
    }

    /// The same, these nodes apart.
    pub fn until_good_but(&mut self, max_s: u64, left_out: &[NodeIdx]) {
        let deadline = self.world.now() + Duration::from_secs(max_s);
        loop {
            self.world.run_for(Duration::from_millis(250));
            // Lanes may have changed meanwhile.
            let mut expect = self.expect();
            expect.quarantined.extend(left_out);
            if self.verdict(&expect).is_ok() {
                return;
            }
            if self.world.now() > deadline {
                self.assert_good_but(left_out);
            }
        }
    }

    /// Index of the node with this description.
    #[must_use]
    pub fn node(&self, description: &str) -> NodeIdx {
        self.spec
            .nodes
            .iter()
            .position(|n| n.description == description)
            .unwrap_or_else(|| panic!("{} no node {description}", self.repeat()))
    }

    /// The first cable between two switches whose removal leaves the fabric in one piece, counted from `skip`.
    #[must_use]
    pub fn spare_cable(&self, skip: usize) -> PortAt {
        let is_switch = |n: NodeIdx| self.world.fabric().is_switch(n);
        let spare = self
            .spec
            .links
            .iter()
            .enumerate()
            .filter(|(_, l)| is_switch(l.a.node) && is_switch(l.b.node) && l.a.node != l.b.node)
            .filter(|(i, _)| {
                let mut rest = self.spec.clone();
                rest.links.remove(*i);
                ferrosm_sim::spec::connected_components(&rest).len() == 1
            })
            .nth(skip);
        spare
            .unwrap_or_else(|| panic!("{} no spare cable", self.repeat()))
            .1
            .a
    }
}

/// What is expected of a good fabric, from a port, when packets have the SLs that a manager gives paths now.
#[must_use]
pub fn expect_of(world: &World<Sm>, sm: SmId, at: PortAt) -> Expectations {
    let expect = Expectations::new(at);
    let Some(core) = world.sm(sm).map(Sm::core) else {
        return expect;
    };
    let Some(lanes) = core.vl_plan().filter(|lanes| !lanes.is_single()).cloned() else {
        return expect;
    };
    let subnet = core.subnet().clone();
    let fabric = world.fabric();
    let places: BTreeMap<PortAt, PortRef> = fabric
        .end_ports()
        .filter_map(|at| Some((at, subnet.port_by_guid(fabric.port_guid(at))?)))
        .collect();
    expect.sl_per_path(move |from, to| Some(lanes.sl(&subnet, *places.get(&from)?, to)))
}

/// Numbers for scenarios, all from a seed (SplitMix64).
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// The numbers of a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any 64 bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// 0 to `limit` - 1; 0 where the limit is 0.
    pub const fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 { 0 } else { self.next() % limit }
    }

    /// 0 to `most`, small numbers more often.
    pub const fn upto(&mut self, most: u64) -> u64 {
        let limit = 1 + self.below(1 + most);
        self.below(limit)
    }

    /// An index into something of this length.
    #[must_use]
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }

    /// True once in so many times.
    pub const fn one_in(&mut self, odds: u64) -> bool {
        self.below(odds) == 0
    }

    /// From 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
