//! Subnet managers on a simulated fabric, in process, in virtual time, from one seed.
//!
//! [`Lab`] is a fabric with one SM and the verbs of a scenario. A complete scenario:
//!
//! ```
//! use ferrosm_core::{Command, SmConfig};
//! use ferrosm_mad::attr::SmState;
//! use ferrosm_tests::lab::Lab;
//!
//! let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
//! let far_host = *lab.hosts().last().unwrap();
//! let standby = lab.add_sm(far_host, SmConfig::default());
//! lab.run_until("a standby", 60, |lab| lab.role(standby) == SmState::Standby);
//! lab.command(Command::Stop);
//! lab.run_until("a new master", 30, |lab| lab.role(standby) == SmState::Master);
//! lab.select(standby);
//! lab.run_until_correct(30);
//! ```
//!
//! | to do | call |
//! |---|---|
//! | start | [`Lab::up`]; [`Lab::new`], [`Lab::with`], [`Lab::on`] before the first sweep |
//! | let time pass | [`Lab::run_until`], [`Lab::run_until_correct`], [`Lab::next_sweep`], `lab.world.run_for` |
//! | act as operator | [`Lab::command`], [`Lab::configure`], [`Lab::sweep`] |
//! | act on the fabric | [`Lab::act`], `lab.world.fabric_mut()` |
//! | add, stop or replace SMs | [`Lab::add_sm`], [`Lab::start_sm`], [`Lab::kill_sm`], [`Lab::restart_sm`], [`Lab::select`] |
//! | give an SM another input | [`Lab::handle`], [`Lab::edit`] |
//! | look | [`Lab::manager`], [`Lab::sm`], [`Lab::role`], [`Lab::events`], [`Lab::last_report`] |
//! | find ports | [`Lab::hosts`], [`Lab::node`], [`Lab::port_guid`], [`Lab::port_gid`], [`Lab::lid`] |
//! | check | [`Lab::assert_correct`], [`Lab::verdict`] with [`Lab::expect`] |
//!
//! [`crate::sa::members`] are hosts that join groups, [`crate::sa::wire`] is an SA client,
//! [`store`] the store of an SM, which may be slow, hang or fail. [`recording`] records runs,
//! [`record_changes`] numbers changes of records, [`persisted_view`] saves views record by record.
//! The simulator and its oracle share no code with the SM.

mod clock;
pub mod persisted_view;
pub mod record_changes;
pub mod recording;
mod rng;
mod sm;
pub mod store;

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_core::{
    Command, CommandId, Event, Input, Problem, ProblemKind, RestoredState, SmConfig, SweepReport,
};
use ferrosm_fabric::observed::PortRef;
use ferrosm_mad::attr::SmState;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{AttrId, Gid, GidPrefix, Lid, PortGuid};
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::oracle::{Expectations, judge_fabric};
use ferrosm_sim::spec::{FabricSpec, NodeIdx, PortAt};
use ferrosm_sim::world::{SmId, World};

pub use clock::Clock;
pub use rng::TestRng;
pub use sm::Sm;

/// A simulated fabric with one SM.
pub struct Lab {
    /// The simulation.
    pub world: World<Sm>,
    /// The SM under test.
    pub sm: SmId,
    pub at: PortAt,
    /// Description of the fabric.
    pub spec: FabricSpec,
    /// Seed of all random numbers.
    pub seed: u64,
    name: String,
    last_command: u64,
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
            last_command: 0,
        }
    }

    /// Builds a fabric, and runs the SM until its first sweep is complete and clean.
    ///
    /// # Panics
    ///
    /// If the sweep reports a problem.
    #[must_use]
    pub fn up(spec: &str, seed: u64, cfg: SmConfig) -> Self {
        let mut lab = Self::with(spec, seed, cfg);
        let report = lab.next_sweep(600);
        assert!(report.is_clean(), "{} {report:#?}", lab.describe_run());
        lab
    }

    /// Adds another SM at a port, without saved state. [`Self::sm`] stays the SM under test.
    pub fn add_sm(&mut self, at: PortAt, cfg: SmConfig) -> SmId {
        let sm = Sm::new(cfg, RestoredState::default(), self.world.now());
        self.start_sm(at, sm)
    }

    /// Adds a prepared SM at a port.
    ///
    /// # Panics
    ///
    /// If an SM runs there.
    pub fn start_sm(&mut self, at: PortAt, sm: Sm) -> SmId {
        let added = self.world.add_sm(Some(at), sm);
        added.unwrap_or_else(|error| panic!("{} {error}", self.describe_run()))
    }

    /// Kills the SM under test without a handover, and returns it.
    ///
    /// # Panics
    ///
    /// If it does not run.
    pub fn kill_sm(&mut self) -> Sm {
        let killed = self.world.kill(self.sm);
        killed.unwrap_or_else(|| panic!("{} the SM was killed", self.describe_run()))
    }

    /// Starts a new SM at the port of the last one, with restored state.
    ///
    /// # Panics
    ///
    /// If an SM runs there.
    pub fn restart_sm(&mut self, cfg: SmConfig, restored: RestoredState) {
        let next = Sm::new(cfg, restored, self.world.now());
        self.sm = self.start_sm(self.at, next);
    }

    /// Makes another SM the one under test.
    pub fn select(&mut self, id: SmId) {
        self.sm = id;
        self.at = self.world.sm_port(id).unwrap_or(self.at);
    }

    /// Gives the SM under test a command of the operator. The reply is in
    /// [`Sm::command_replies`], with the returned id.
    pub fn command(&mut self, command: Command) -> CommandId {
        self.last_command += 1;
        self.handle(self.sm, command.with_id(self.last_command));
        CommandId(self.last_command)
    }

    /// Requests a full sweep from the SM under test, and runs until a sweep is complete.
    pub fn sweep(&mut self) -> SweepReport {
        self.command(Command::Sweep);
        self.next_sweep(60)
    }

    /// Gives the SM under test another configuration.
    pub fn configure(&mut self, cfg: SmConfig) {
        self.handle(self.sm, Input::Config(Box::new(cfg)));
    }

    /// Gives an SM an input.
    ///
    /// # Panics
    ///
    /// If it does not run.
    pub fn handle(&mut self, id: SmId, input: Input) {
        self.edit(id, |sm, now| sm.handle(input, now));
    }

    /// Calls a function on an SM, and sends what the SM outputs.
    ///
    /// # Panics
    ///
    /// If it does not run.
    pub fn edit<R>(&mut self, id: SmId, edit: impl FnOnce(&mut Sm, Instant) -> R) -> R {
        let result = self.world.with_sm(id, edit);
        result.unwrap_or_else(|| panic!("{} {id:?} does not run", self.describe_run()))
    }

    /// Sets the replica that a standby loads when it becomes master.
    pub fn set_replica(&mut self, id: SmId, replica: RestoredState) {
        self.edit(id, |sm, _| sm.replica = Some(replica));
    }

    /// The GMPs that the SM under test sent since the last call.
    pub fn take_replies(&mut self) -> Vec<(Peer, Vec<u8>)> {
        self.edit(self.sm, |sm, _| core::mem::take(&mut sm.replies))
    }

    /// Applies a change to the fabric.
    ///
    /// # Panics
    ///
    /// If the fabric rejects it.
    pub fn act(&mut self, action: FabricAction) {
        let done = self.world.act(action);
        done.unwrap_or_else(|error| panic!("{} {error}", self.describe_run()));
    }

    /// The SM under test.
    #[must_use]
    pub fn manager(&self) -> &Sm {
        self.world
            .sm(self.sm)
            .unwrap_or_else(|| panic!("{} the SM was killed", self.describe_run()))
    }

    /// The role of an SM; NotActive if it was killed.
    #[must_use]
    pub fn role(&self, id: SmId) -> SmState {
        let sm = self.world.sm(id);
        sm.map_or(SmState::NotActive, |sm| sm.core().role())
    }

    /// The events of an SM, in order; none if it was killed.
    #[must_use]
    pub fn events(&self, id: SmId) -> &[Event] {
        self.world.sm(id).map_or(&[], |sm| &sm.events)
    }

    /// End ports of linked hosts.
    #[must_use]
    pub fn hosts(&self) -> Vec<PortAt> {
        let fabric = self.world.fabric();
        fabric
            .end_ports()
            .filter(|at| !fabric.is_switch(at.node) && fabric.peer(*at).is_some())
            .collect()
    }

    /// The GUID of a port.
    #[must_use]
    pub fn port_guid(&self, at: PortAt) -> PortGuid {
        self.world.fabric().port_guid(at)
    }

    /// The GID of a port.
    #[must_use]
    pub fn port_gid(&self, at: PortAt) -> Gid {
        Gid::new(GidPrefix::DEFAULT, self.port_guid(at))
    }

    /// The LID that a port has.
    #[must_use]
    pub fn lid(&self, at: PortAt) -> Lid {
        self.world.fabric().lid(at).0
    }

    /// The LIDs of all end ports.
    #[must_use]
    pub fn lids(&self) -> BTreeMap<PortAt, Lid> {
        let end_ports = self.world.fabric().end_ports();
        end_ports.map(|at| (at, self.lid(at))).collect()
    }

    /// Number of Sets of an attribute that the devices received.
    #[must_use]
    pub fn sets(&self, attr: AttrId) -> u32 {
        self.world.fabric().all_counters().sets(attr)
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
    pub fn run_until(
        &mut self,
        description: &str,
        max_s: u64,
        mut done: impl FnMut(&Self) -> bool,
    ) {
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
        self.run_until("one more sweep", max_s, |lab| {
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
        expect.excluded.extend(excluded);
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
        let deadline = self.world.now() + Duration::from_secs(max_s);
        loop {
            self.world.run_for(Duration::from_millis(250));
            // The VL plan may have changed.
            if self.verdict(&self.expect()).is_ok() {
                return;
            }
            if self.world.now() > deadline {
                self.assert_correct();
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
    let subnet = core.fabric().clone();
    let fabric = world.fabric();
    let ports: BTreeMap<PortAt, PortRef> = fabric
        .end_ports()
        .filter_map(|at| Some((at, subnet.port_by_guid(fabric.port_guid(at))?)))
        .collect();
    expect.sl_per_path(move |from, to| Some(vl_plan.sl(&subnet, *ports.get(&from)?, to)))
}
