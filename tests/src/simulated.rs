//! The SM on a simulated fabric: virtual time, one seed, faults, and an oracle that reads the
//! devices.
//!
//! [`Lab`] builds scenarios: a fabric with one SM, and checks of the fabric's state. The simulator
//! shares no code with the SM; this file connects the two.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::event::Observation;
use ferrosm_core::plan::routes::RoutingJobResult;
use ferrosm_core::records::{RecordKind, RecordRestorer};
use ferrosm_core::{
    CommandId, CommandReply, DurabilityEvent, Event, Input, LoadedReplica, Output, Persisted,
    PortRef, Problem, ProblemKind, ReplicaEvent, ReplicationRole, RestoredState, SmConfig,
    SubnetManager, SweepReport,
};
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{PortGuid, Tid};
use ferrosm_mad::mad::{MadHeader, MadIn, MadOut};
use ferrosm_mad::time::Instant;
use ferrosm_recording::RecordedManager;
use ferrosm_sa::View;
use ferrosm_sa::view::persist::ViewSnapshot;
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::oracle::{Expectations, judge_fabric};
use ferrosm_sim::spec::{FabricSpec, NodeIdx, PortAt};
use ferrosm_sim::world::{HostedSm, SmId, World};

use crate::recording;
use crate::store::{Records, SimulatedStore, StoreFault};

/// Unix time in the simulation, which starts at 0.
fn unix_s(now: Instant) -> u64 {
    now.as_nanos() / 1_000_000_000
}

/// Clock of an SM relative to simulated time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Clock {
    /// Rate difference in millionths; negative if slower.
    pub ppm: i32,
    /// Local time at the start of the simulation.
    pub ahead: Duration,
}

impl Clock {
    fn rate(self) -> u128 {
        u128::try_from(1_000_000 + i64::from(self.ppm)).unwrap_or(1)
    }

    /// Local time at a simulated time.
    #[must_use]
    pub fn local_time(self, now: Instant) -> Instant {
        let ns = u128::from(now.as_nanos()) * self.rate() / 1_000_000;
        let ns = u64::try_from(ns).unwrap_or(u64::MAX);
        Instant::START + Duration::from_nanos(ns) + self.ahead
    }

    /// First simulated time at which the clock shows `shown`.
    fn world_time(self, shown: Instant) -> Instant {
        let ns = shown.since(Instant::START + self.ahead).as_nanos() * 1_000_000;
        let ns = u64::try_from(ns.div_ceil(self.rate())).unwrap_or(u64::MAX);
        Instant::START + Duration::from_nanos(ns)
    }
}

/// Most sweeps of an SM within a second, in any test.
const SWEEPS_MAX: u32 = 300;

/// The SM under test. Routing jobs take no virtual time.
#[derive(Debug)]
pub struct Sm {
    core: RecordedManager,
    now: Instant,
    /// Events that it reported, in order.
    pub events: Vec<Event>,
    /// Sweeps since a time, at most one second ago.
    recent_sweeps: (Instant, u32),
    /// Replies to commands, in order.
    pub command_replies: Vec<(CommandId, CommandReply)>,
    /// Durable records of LIDs and registrations.
    pub persisted_records: Records,
    /// Durable view.
    pub persisted_view: Option<Arc<View>>,
    /// Holds results of routing jobs until [`Self::deliver_job_result`] is called.
    pub defers_routing_jobs: bool,
    /// Results of routing jobs that were not delivered yet, in order.
    pub deferred_jobs: Vec<RoutingJobResult>,
    /// Replica of its master's records, if it has one.
    pub replica: Option<RestoredState>,
    /// The test replies to replica loads with [`Self::end_load`]; [`Self::awaits_replica`] is true
    /// while one is pending.
    pub defers_replica_load: bool,
    /// The pending replica load.
    pending_load: Option<u64>,
    /// Its batches are persisted. Those of a standby with replication are not, because its store
    /// holds the master's records.
    persists_own_records: bool,
    clock: Clock,
    /// GMPs that it sent and no test has read yet, in order.
    pub replies: Vec<(Peer, Vec<u8>)>,
    store: SimulatedStore,
    /// The SM reported that SA replies do not wait for durable state.
    is_unprotected: bool,
    /// Replies sent at the current time.
    sent_now: Vec<Tid>,
    /// Replies sent before their records were durable.
    pub unprotected_replies: BTreeSet<Tid>,
}

impl Sm {
    /// An SM that starts at `now`.
    #[must_use]
    pub fn new(cfg: SmConfig, restored: RestoredState, now: Instant) -> Self {
        Self::with_clock(cfg, restored, now, Clock::default())
    }

    /// An SM that starts at `now`, with its own clock.
    #[must_use]
    pub fn with_clock(cfg: SmConfig, restored: RestoredState, now: Instant, clock: Clock) -> Self {
        let now = clock.local_time(now);
        let persisted_view = restored.snapshot.as_ref().map(|s| Arc::clone(&s.view));
        let records = restored.records();
        let persisted_records = records.map(|r| (r.key(), r.encode(unix_s(now)))).collect();
        Self {
            core: recording::manager(cfg, restored, now),
            now,
            events: Vec::new(),
            recent_sweeps: (Instant::START, 0),
            command_replies: Vec::new(),
            persisted_records,
            persisted_view,
            defers_routing_jobs: false,
            deferred_jobs: Vec::new(),
            replica: None,
            defers_replica_load: false,
            pending_load: None,
            persists_own_records: true,
            clock,
            replies: Vec::new(),
            store: SimulatedStore::default(),
            is_unprotected: false,
            sent_now: Vec::new(),
            unprotected_replies: BTreeSet::new(),
        }
    }

    /// The same with replication, whose events the test sends.
    #[must_use]
    pub fn with_replication(self) -> Self {
        Self {
            core: self.core.with_replication(Duration::ZERO),
            ..self
        }
    }

    /// Whether a replica load is pending.
    #[must_use]
    pub const fn awaits_replica(&self) -> bool {
        self.pending_load.is_some()
    }

    /// Ends the pending replica load, with the state of the records in the store; `None` without
    /// replication. `complete`: whether no acknowledged record is missing; `None`: as replication
    /// last reported.
    pub fn end_load(
        &mut self,
        restored: Option<RestoredState>,
        complete: Option<bool>,
        now: Instant,
    ) {
        if let Some(load) = self.pending_load.take() {
            let loaded = ReplicaEvent::Loaded(LoadedReplica {
                load,
                complete,
                restored: restored.map(Box::new),
            });
            self.command(Input::Replica(loaded), now);
        }
    }

    /// The replica has all acknowledged records of this master.
    pub fn replica_in_sync(&mut self, master: PortGuid, now: Instant) {
        self.command(Input::Replica(ReplicaEvent::InSync(master)), now);
    }

    /// Sets or clears the store fault.
    pub fn set_store_fault(&mut self, fault: StoreFault, now: Instant) {
        self.set_now(now);
        let before = self.store.durable();
        self.store.set_fault(fault, self.now);
        self.write_store(before);
    }

    /// Current store fault.
    #[must_use]
    pub const fn store_fault(&self) -> StoreFault {
        self.store.fault()
    }

    /// Returns true if all persisted records are durable.
    #[must_use]
    pub fn is_store_caught_up(&self) -> bool {
        self.store.is_caught_up()
    }

    /// Returns true if a record of this kind is not durable yet.
    #[must_use]
    pub fn is_pending(&self, kind: RecordKind) -> bool {
        self.store.is_pending(kind)
    }

    /// Last batch that the SM persisted.
    #[must_use]
    pub const fn last_batch(&self) -> u64 {
        self.store.submitted()
    }

    /// Last durable batch.
    #[must_use]
    pub const fn durable_batch(&self) -> u64 {
        self.store.durable()
    }

    /// Replaces the durable records by a replica of another SM's. Changes that are not durable yet
    /// are dropped.
    pub fn replace_records(&mut self, records: Records, view: Option<Arc<View>>, now: Instant) {
        self.set_now(now);
        (self.persisted_records, self.persisted_view) = (records, view);
        let before = self.store.durable();
        self.store.on_records_replaced(self.now);
        self.write_store(before);
    }

    /// Writes due records, and reports new durable batches to the SM.
    fn write_store(&mut self, before: u64) {
        self.store.write_due(
            &mut self.persisted_records,
            &mut self.persisted_view,
            self.now,
        );
        let durable = self.store.durable();
        if durable > before {
            let persisted = Persisted::all(durable);
            self.core.handle(Input::Persisted(persisted), self.now);
        }
    }

    fn set_now(&mut self, now: Instant) {
        let now = self.clock.local_time(now);
        if now != self.now {
            self.sent_now.clear();
        }
        self.now = now;
    }

    /// Records whether replies wait for durable state. The first unprotected replies are sent just
    /// before the event.
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

    /// Delivers the result of the oldest deferred routing job.
    pub fn deliver_job_result(&mut self, now: Instant) {
        if !self.deferred_jobs.is_empty() {
            let computed = self.deferred_jobs.remove(0);
            self.command(Input::RoutingComputed(Box::new(computed)), now);
        }
    }

    /// State that another SM restores from this SM's records, without the view.
    ///
    /// # Panics
    ///
    /// If a record cannot be decoded.
    #[must_use]
    pub fn restored(&self, now: Instant) -> RestoredState {
        let mut restorer = RecordRestorer::new(unix_s(self.clock.local_time(now)));
        for (key, value) in &self.persisted_records {
            restorer.put(key, value);
        }
        let (restored, excluded) = restorer.finish();
        assert_eq!(excluded, []);
        restored
    }

    /// State that a standby restores from its replica of this SM, with the view.
    #[must_use]
    pub fn replicated_state(&self, now: Instant) -> RestoredState {
        let snapshot = self.persisted_view.clone().map(|view| ViewSnapshot {
            view,
            age: Duration::ZERO,
        });
        RestoredState {
            snapshot,
            ..self.restored(now)
        }
    }

    /// The SM's core.
    #[must_use]
    pub fn core(&self) -> &SubnetManager {
        &self.core
    }

    /// Passes an input to the SM.
    pub fn command(&mut self, input: Input, now: Instant) {
        self.set_now(now);
        self.core.handle(input, self.now);
    }

    /// Fails if the SM sweeps without pause, which would never end in virtual time.
    fn count_sweep(&mut self) {
        let (since, count) = &mut self.recent_sweeps;
        if self.now.since(*since) >= Duration::from_secs(1) {
            (*since, *count) = (self.now, 0);
        }
        *count += 1;
        assert!(*count <= SWEEPS_MAX, "{count} sweeps within a second");
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
                    let Some(computed) = job.run() else {
                        continue;
                    };
                    if self.defers_routing_jobs {
                        self.deferred_jobs.push(computed);
                    } else {
                        self.core
                            .handle(Input::RoutingComputed(Box::new(computed)), self.now);
                    }
                }
                Output::Persist { seq, updates } => {
                    let changes = if self.persists_own_records {
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
                    if self.persists_own_records {
                        self.store.submit_view(seq, view, self.now);
                    } else {
                        self.store.skip(seq);
                    }
                    self.write_store(before);
                }
                Output::Event(event) => {
                    if matches!(event, Event::Observation(Observation::ReplicaTimedOut)) {
                        self.pending_load = None;
                    }
                    if let Event::Durability(event) = &event {
                        self.on_durability_event(*event);
                    }
                    if matches!(event, Event::SweepCompleted(_)) {
                        self.count_sweep();
                    }
                    recording::event(self.now, &event);
                    self.events.push(event);
                }
                Output::CommandReply { id, reply } => self.command_replies.push((id, reply)),
                Output::Gmp { to, bytes, .. } => self.on_reply(to, bytes),
                // The SM replies to queries itself.
                Output::Publish(_) => {}
                Output::Replicate(ReplicationRole::Master) => self.persists_own_records = true,
                Output::Replicate(ReplicationRole::Standby) => {
                    self.persists_own_records = false;
                    let before = self.store.durable();
                    self.store.stop_persisting(self.now);
                    self.write_store(before);
                }
                Output::Replicate(ReplicationRole::Inactive(_)) => {}
                Output::LoadReplica { load } => {
                    self.pending_load = Some(load);
                    if !self.defers_replica_load {
                        let restored = self.replica.take().map(Box::new);
                        self.pending_load = None;
                        let loaded = ReplicaEvent::Loaded(LoadedReplica {
                            load,
                            complete: Some(true),
                            restored,
                        });
                        self.core.handle(Input::Replica(loaded), self.now);
                    }
                }
            }
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let due = [self.core.poll_timeout(), self.store.poll_timeout()];
        let due = due.into_iter().flatten().min()?;
        Some(self.clock.world_time(due))
    }
}

/// A simulated fabric with one SM.
pub struct Lab {
    /// The simulation.
    pub world: World<Sm>,
    /// The SM under test.
    pub sm: SmId,
    /// Its port.
    pub at: PortAt,
    /// Description of the fabric.
    pub spec: FabricSpec,
    /// Seed of all random numbers.
    pub seed: u64,
    name: String,
}

impl Lab {
    /// Builds a fabric from a specification (`torus:4,4,3,2`), with an SM on its first node.
    #[must_use]
    pub fn new(spec: &str, seed: u64) -> Self {
        Self::with(spec, seed, SmConfig::default())
    }

    /// The same with another configuration.
    #[must_use]
    pub fn with(spec: &str, seed: u64, cfg: SmConfig) -> Self {
        let fabric = ferrosm_sim::generate::from_spec(spec).unwrap_or_else(|e| panic!("{e}"));
        Self::on(spec, fabric, seed, cfg, None)
    }

    /// Builds a lab from a fabric description, with the SM at port `at`.
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

    /// Builds a fabric, and runs the SM until its first sweep is complete and clean.
    #[must_use]
    pub fn up(spec: &str, seed: u64, cfg: SmConfig) -> Self {
        let mut lab = Self::with(spec, seed, cfg);
        assert!(lab.next_sweep(600).is_clean());
        lab
    }

    /// Starts a new SM at the port of the last one, with restored state.
    ///
    /// # Panics
    ///
    /// If an SM runs there.
    pub fn restart_sm(&mut self, cfg: SmConfig, restored: RestoredState) {
        let next = Sm::new(cfg, restored, self.world.now());
        let added = self.world.add_sm(Some(self.at), next);
        self.sm = added.unwrap_or_else(|e| panic!("{} {e:?}", self.describe_run()));
    }

    /// The SM under test.
    #[must_use]
    pub fn manager(&self) -> &Sm {
        self.world
            .sm(self.sm)
            .unwrap_or_else(|| panic!("{} the SM was killed", self.describe_run()))
    }

    /// The name and seed of the run, with which it can be repeated: a prefix of failure messages.
    #[must_use]
    pub fn describe_run(&self) -> String {
        format!("[{} seed {}]", self.name, self.seed)
    }

    /// Runs until `done`, for at most `max_s` virtual seconds.
    ///
    /// # Panics
    ///
    /// If `done` does not become true.
    pub fn until(&mut self, description: &str, max_s: u64, mut done: impl FnMut(&Self) -> bool) {
        let deadline = self.world.now() + Duration::from_secs(max_s);
        loop {
            if done(self) {
                return;
            }
            match self.world.step() {
                Some(now) if now <= deadline => {}
                _ => panic!(
                    "{} not within {max_s} virtual seconds: {description}",
                    self.describe_run()
                ),
            }
        }
    }

    /// Runs until one more sweep is complete.
    pub fn next_sweep(&mut self, max_s: u64) -> SweepReport {
        let before = self.manager().reports().len();
        self.until("one more sweep", max_s, |lab| {
            lab.manager().reports().len() > before
        });
        self.last_report()
    }

    /// Report of the last complete sweep.
    #[must_use]
    pub fn last_report(&self) -> SweepReport {
        let reports = self.manager().reports();
        (*reports
            .last()
            .unwrap_or_else(|| panic!("{} no sweep yet", self.describe_run())))
        .clone()
    }

    /// Expectations of a correct fabric, seen from the SM's port, with the SLs that it assigns to
    /// paths.
    #[must_use]
    pub fn expect(&self) -> Expectations {
        expect_of(&self.world, self.sm, self.at)
    }

    /// Checks the devices' values with the oracle.
    ///
    /// # Errors
    ///
    /// The oracle's violations.
    pub fn verdict(&self, expect: &Expectations) -> Result<(), String> {
        let verdict = judge_fabric(self.world.fabric(), expect);
        if verdict.is_good() {
            Ok(())
        } else {
            Err(verdict.to_string())
        }
    }

    /// Asserts that the oracle accepts the fabric.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn assert_correct(&self) {
        self.assert_correct_except(&[]);
    }

    /// Asserts that the oracle accepts the fabric without these nodes.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn assert_correct_except(&self, excluded: &[NodeIdx]) {
        let mut expect = self.expect();
        expect.quarantined.extend(excluded);
        if let Err(error) = self.verdict(&expect) {
            panic!(
                "{} {error}\nlast report: {:#?}",
                self.describe_run(),
                self.manager().reports().last().map(|r| &r.problems)
            );
        }
    }

    /// Runs until the oracle accepts the fabric, for at most `max_s` virtual seconds.
    pub fn run_until_correct(&mut self, max_s: u64) {
        self.run_until_correct_except(max_s, &[]);
    }

    /// The same, without these nodes.
    pub fn run_until_correct_except(&mut self, max_s: u64, excluded: &[NodeIdx]) {
        let deadline = self.world.now() + Duration::from_secs(max_s);
        loop {
            self.world.run_for(Duration::from_millis(250));
            // The VL plan may have changed.
            let mut expect = self.expect();
            expect.quarantined.extend(excluded);
            if self.verdict(&expect).is_ok() {
                return;
            }
            if self.world.now() > deadline {
                self.assert_correct_except(excluded);
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
            .unwrap_or_else(|| panic!("{} no node {description}", self.describe_run()))
    }

    /// A link between two switches whose removal does not partition the fabric; the first `skip`
    /// such links are skipped.
    #[must_use]
    pub fn redundant_link(&self, skip: usize) -> PortAt {
        let is_switch = |n: NodeIdx| self.world.fabric().is_switch(n);
        let redundant = self
            .spec
            .links
            .iter()
            .enumerate()
            .filter(|(_, l)| is_switch(l.a.node) && is_switch(l.b.node) && l.a.node != l.b.node)
            .filter(|(i, _)| {
                let mut remaining = self.spec.clone();
                remaining.links.remove(*i);
                ferrosm_sim::spec::connected_components(&remaining).len() == 1
            })
            .nth(skip);
        redundant
            .unwrap_or_else(|| panic!("{} no redundant link", self.describe_run()))
            .1
            .a
    }
}

/// Whether each port is up, addressed and routed. The routing may leave no VL for multicast trees.
pub fn is_up(report: &SweepReport) -> bool {
    let is_fault = |p: &Problem| p.kind.is_severe() && p.kind != ProblemKind::MulticastDisabled;
    !report.failed && !report.problems.iter().any(is_fault)
}

/// Expectations of a correct fabric, seen from a port, with the SLs that an SM assigns to paths.
#[must_use]
pub fn expect_of(world: &World<Sm>, sm: SmId, at: PortAt) -> Expectations {
    let expect = Expectations::new(at);
    let Some(core) = world.sm(sm).map(Sm::core) else {
        return expect;
    };
    let Some(vl_plan) = core
        .vl_plan()
        .filter(|vl_plan| !vl_plan.is_single())
        .cloned()
    else {
        return expect;
    };
    let subnet = core.subnet().clone();
    let fabric = world.fabric();
    let ports: BTreeMap<PortAt, PortRef> = fabric
        .end_ports()
        .filter_map(|at| Some((at, subnet.port_by_guid(fabric.port_guid(at))?)))
        .collect();
    expect.sl_per_path(move |from, to| Some(vl_plan.sl(&subnet, *ports.get(&from)?, to)))
}

/// Random numbers from a seed (SplitMix64).
#[derive(Debug, Clone)]
pub struct TestRng(u64);

impl TestRng {
    /// Starts with a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// 0 to `limit` - 1; 0 if the limit is 0.
    pub const fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 { 0 } else { self.next() % limit }
    }

    /// 0 to `max`, with small numbers more frequent.
    pub const fn upto(&mut self, max: u64) -> u64 {
        let limit = 1 + self.below(1 + max);
        self.below(limit)
    }

    /// An index below `len`.
    #[must_use]
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }

    /// True with a probability of 1 / `odds`.
    pub const fn one_in(&mut self, odds: u64) -> bool {
        self.below(odds) == 0
    }

    /// A number from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
