//! The subnet manager as one value: composition of its components, and dispatch of inputs.
//!
//! This file holds the components, the contract with the driver, and the order of activities.
//!
//! | module | contents |
//! |---|---|
//! | [`transitions`] | the current activity and phase |
//! | [`sweep`], [`discover`], [`table_update`], [`mfts`] | the phases of a sweep |
//! | [`idle`], [`light_sweep`], [`survey`] | what happens between sweeps |
//! | [`dispatch`], [`payload`] | responses to components; the MADs of requests |
//! | [`effects`] | consequences for other components |
//! | [`mastership`], [`adoption`], [`sa`], [`commands`] | calls of these components |
//! | [`keys`] | which M_Key is in force |
//! | [`changes`] | partitions and maintenance that operators change at run time |

/// Runs `$body` with the context of a component, then applies its effects on other components.
macro_rules! with_ctx {
    ($sm:ident, |$ctx:ident| $body:expr) => {{
        let $ctx = &mut $crate::ctx::Ctx {
            now: $sm.now,
            cfg: &$sm.cfg,
            fabric: &mut $sm.fabric,
            smps: &mut $sm.smps,
            outbox: &mut $sm.outbox,
            effects: &mut $sm.effects,
        };
        let result = $body;
        if !$sm.effects.is_empty() {
            $sm.apply_effects();
        }
        result
    }};
}

/// Binds `$name` to the intents of all ports, which several components compute.
macro_rules! port_intents {
    ($sm:ident, $name:ident) => {
        let (lids, vls) = (&$sm.lids, &$sm.vls);
        let (adoption, sa) = (&$sm.adoption, &$sm.sa);
        let is_enabled = $sm.cfg.client_reregister;
        let is_first_sweep = $sm.mastership.is_first_as_master();
        let address = |fabric: &ferrosm_fabric::observed::ObservedFabric,
                       p: ferrosm_fabric::observed::PortRef| {
            $crate::manager::payload::address_of(fabric, lids, vls, p)
        };
        let reregister =
            |port: &ferrosm_fabric::observed::Port,
             address: $crate::ports::port_settings::EndPortAddress| {
                is_enabled
                    && $crate::manager::payload::must_reregister(
                        port,
                        address,
                        is_first_sweep,
                        adoption,
                        sa,
                    )
            };
        let $name = $crate::ports::link_setup::PortIntents::new(&address, &reregister);
    };
}

mod adoption;
mod basis;
mod changes;
mod commands;
mod consent;
mod discover;
mod dispatch;
mod effects;
mod idle;
mod keys;
mod light_sweep;
mod mastership;
mod mfts;
mod payload;
mod sa;
mod survey;
mod sweep;
mod table_update;
mod transitions;

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_fabric::observed::{NodeIdx, ObservedFabric};
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::mad::{Address, MadOut};
use ferrosm_mad::time::Instant;
use ferrosm_routing::VerifiedRun;

use crate::adoption::{Adoption, last_epoch};
use crate::commands::CommandTracker;
use crate::config::SmConfig;
use crate::config::key_rotation::{KeyKind, RotatableKey};
use crate::config::partitions::added::AddedPartitions;
use crate::config::sections::{ConfigDigests, ConfigSections};
use crate::consent::Consent;
use crate::discovery::survey::Surveys;
use crate::effect::Effects;
use crate::election;
use crate::event::Event;
use crate::io::{Input, Output};
use crate::keys::MKeyRing;
use crate::lids::LidTable;
use crate::maintenance::MaintenanceList;
use crate::maintenance::port_limits::PortLimitList;
use crate::mastership::Mastership;
use crate::mfts::MulticastTables;
use crate::outbox::Outbox;
use crate::pkeys;
use crate::ports::link_stability::LinkStability;
use crate::records::RestoredState;
use crate::records::lid_map::LidMap;
use crate::report::SweepReport;
use crate::report::ignored_sm::IgnoredSm;
use crate::routing::RoutingState;
use crate::routing::routes::RoutingStart;
use crate::routing::vl_plan::FabricVlPlan;
use crate::sa::SaState;
use crate::sa::alias_guids::AliasGuids;
use crate::schedule::SweepSchedule;
use crate::smp::Smps;
use crate::smp::op::SmpOp;
use crate::smp::queue::Limits;
use crate::sweep::activity::Activity;
use crate::sweep::history::SweepHistory;
use crate::traps::TrapMonitor;
use crate::vls::VlTables;
pub use transitions::Progress;

/// An InfiniBand subnet manager without I/O.
///
/// The contract with its driver: after every [`handle`](Self::handle) take
/// [`poll_output`](Self::poll_output) until it is empty, then wait for an input or for
/// [`poll_timeout`](Self::poll_timeout). Late, duplicate and lost MADs are allowed.
#[derive(Debug)]
pub struct SubnetManager {
    cfg: SmConfig,
    read_only: bool,
    now: Instant,
    fabric: ObservedFabric,
    smps: Smps,
    outbox: Outbox,
    activity: Activity,
    /// Number of activities and sweep phases begun so far.
    transitions: u64,
    last_sweep: SweepHistory,

    mastership: Mastership,
    lids: LidTable,
    routing: RoutingState,
    vls: VlTables,
    schedule: SweepSchedule,
    link_stability: LinkStability,
    keys: MKeyRing,
    sm_key: RotatableKey,
    effects: Effects,
    traps: TrapMonitor,
    sa: SaState,
    mfts: MulticastTables,
    adoption: Adoption,
    consent: Consent,
    partitions: AddedPartitions,
    maintenance: MaintenanceList,
    port_limits: PortLimitList,
    alias_guids: AliasGuids,
    surveys: Surveys,
    commands: CommandTracker,
}

impl SubnetManager {
    /// A subnet manager, whose first outputs start discovery.
    #[must_use]
    pub fn new(cfg: SmConfig, restored: RestoredState, now: Instant) -> Self {
        Self::build_new(cfg, restored, now, false)
    }

    /// A subnet manager that discovers and reports the fabric, and writes nothing.
    #[must_use]
    pub fn read_only(cfg: SmConfig, now: Instant) -> Self {
        Self::build_new(cfg, RestoredState::default(), now, true)
    }

    fn build_new(cfg: SmConfig, restored: RestoredState, now: Instant, read_only: bool) -> Self {
        let adoption = Adoption::new(&restored, now);
        let vls = VlTables::new(last_epoch(&restored));
        let sa = SaState::new(&restored, now);
        let keys = MKeyRing::new(&restored, cfg.m_key);
        let sm_key = RotatableKey::new(cfg.sm_key, restored.rotation_of(KeyKind::SmKey));
        let consent = Consent::new(&restored);
        let maintenance = MaintenanceList::new(&restored);
        let port_limits = PortLimitList::new(&restored);
        let partitions = AddedPartitions::new(Arc::clone(&cfg.partitions), restored.partitions);
        let digests = ConfigDigests::of(&cfg);
        let cfg = SmConfig {
            partitions: partitions.in_force(),
            port_limits: port_limits.in_force(),
            m_key: keys.in_force(),
            sm_key: sm_key.in_force(),
            ..cfg
        };
        let mut sm = Self {
            smps: Smps::new(Limits::new(&cfg)),
            mastership: Mastership::new(&cfg, !restored.complete),
            cfg,
            read_only,
            now,
            fabric: ObservedFabric::default(),
            outbox: Outbox::default(),
            activity: Activity::Idle,
            transitions: 0,
            last_sweep: SweepHistory::default(),
            lids: LidTable::new(restored.lids),
            routing: RoutingState::default(),
            vls,
            schedule: SweepSchedule::new(now),
            link_stability: LinkStability::default(),
            keys,
            sm_key,
            effects: Effects::default(),
            traps: TrapMonitor::default(),
            sa,
            mfts: MulticastTables::default(),
            adoption,
            consent,
            partitions,
            maintenance,
            port_limits,
            alias_guids: AliasGuids::default(),
            surveys: Surveys::default(),
            commands: CommandTracker::default(),
        };
        sm.mastership.set_config_digests(digests);
        sm.maintenance_changed();
        sm.hide_before_first_contact(None);
        sm.begin_full_sweep();
        sm
    }

    /// The observed fabric.
    #[must_use]
    pub const fn fabric(&self) -> &ObservedFabric {
        &self.fabric
    }

    /// The routing in force, and the node of each of its switches.
    #[must_use]
    pub fn routing(&self) -> Option<(&Arc<VerifiedRun>, &[NodeIdx])> {
        let (run, nodes) = self.routing.installed()?;
        Some((run, nodes))
    }

    /// The report of the last complete sweep.
    #[must_use]
    pub const fn last_report(&self) -> Option<&SweepReport> {
        self.last_sweep.report.as_ref()
    }

    /// The LID assignments.
    #[must_use]
    pub const fn lid_map(&self) -> &LidMap {
        self.lids.map()
    }

    /// SLs and VLs of the routing in force; `None` before the first one.
    #[must_use]
    pub const fn vl_plan(&self) -> Option<&FabricVlPlan> {
        self.vls.plan()
    }

    /// The other ferrosm SMs that compared their configuration with this one, and the sections that
    /// differ.
    #[must_use]
    pub fn other_configs(&self) -> BTreeMap<PortGuid, ConfigSections> {
        let told = self.mastership.other_configs();
        let other_sms = self.mastership.other_sms(&self.cfg);
        other_sms
            .filter_map(|(_, info)| Some((info.guid, *told.get(&info.guid)?)))
            .collect()
    }

    /// The other SMs that the election ignores, and why.
    #[must_use]
    pub fn ignored_sms(&self) -> Vec<IgnoredSm> {
        self.mastership.ignored_sms(&self.cfg)
    }

    /// Enables replication of the records. `timeout`: longest time until a batch is acknowledged,
    /// or a standby is reported to have lost its replica.
    pub const fn enable_replication(&mut self, timeout: Duration) {
        self.outbox.set_replication_timeout(timeout);
        self.mastership.enable_replication();
    }

    /// Replies to SA clients that wait for durable state.
    #[must_use]
    pub fn waiting_replies(&self) -> usize {
        self.outbox.waiting_replies()
    }

    /// Whether outputs wait for durable state.
    #[must_use]
    pub fn waits_for_durability(&self) -> bool {
        self.outbox.is_waiting()
    }

    /// How long the local disk has delayed the oldest output, including outputs that left at the
    /// limit.
    #[must_use]
    pub fn disk_wait(&self, now: Instant) -> Duration {
        self.outbox.disk_wait(now)
    }

    /// Takes one input. Drain [`poll_output`](Self::poll_output) afterwards.
    pub fn handle(&mut self, input: Input, now: Instant) {
        self.now = now;
        match input {
            Input::Mad(mad) => self.on_mad(&mad),
            Input::Gmp { from, bytes } => self.on_gmp(from, &bytes),
            Input::SendFailed(tid) => self.on_timeout(tid),
            Input::Timeout => {}
            Input::RoutingComputed(computed) => self.routing.on_computed(*computed),
            Input::Persisted(persisted) => self.outbox.on_persisted(persisted),
            Input::Config(cfg) => self.on_config(*cfg),
            Input::Command { id, command } => self.on_command(id, command),
            Input::LocalPort(event) => self.on_local_port(event),
            Input::Peer(event) => self.on_peer_event(event),
            Input::Replica(event) => self.on_replica_event(event),
        }
        self.on_mastership_timeout();
        while let Some(tid) = self.smps.expired(now) {
            self.on_timeout(tid);
        }
        self.advance_with_commands();
        self.update_sa();
    }

    /// The next output; `None` if there is none before the next input.
    #[must_use]
    pub fn poll_output(&mut self) -> Option<Output> {
        loop {
            if let Some(out) = self.outbox.pop(self.now) {
                return Some(out);
            }
            let may_write = self.outbox.may_write(self.now);
            let dispatch = self.smps.next(self.now, may_write)?;
            self.fabric.refresh_stale_paths(self.now);
            if let Some(mad) = self.build_mad(&dispatch.item, dispatch.attempt, dispatch.tid) {
                self.outbox.count_sent();
                self.count_request(dispatch.item.op);
                return Some(Output::Send(MadOut {
                    to: Address::DIRECTED,
                    mad,
                }));
            }
            // Its node left the fabric.
            self.smps.complete(dispatch.tid);
            self.advance_with_commands();
        }
    }

    /// When to call [`handle`](Self::handle) with [`Input::Timeout`], if nothing else happens
    /// before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        // Timers start activities only while no request is outstanding.
        let idle = self.smps.is_idle();
        let timer = self.schedule.poll_timeout().filter(|_| idle);
        let drained = self.drained_at().filter(|_| idle);
        let has_ended = self.mastership.has_ended();
        let sa = self.sa.poll_timeout().filter(|_| !has_ended);
        let groups = self.multicast_update_due().filter(|_| idle);
        let mastership = self.mastership.poll_timeout();
        let may_reread = idle && self.activity.is_idle() && self.is_master();
        let storms = self.traps.due().filter(|_| may_reread);
        let retry = self.routing.retry_at().filter(|_| may_reread);
        let table_retry = self.last_sweep.next_table_retry.filter(|_| may_reread);
        let links = self.link_stability.due().filter(|_| may_reread);
        let deadlines = [
            self.outbox.poll_timeout(),
            self.smps.deadline(),
            timer,
            drained,
            mastership,
            storms,
            retry,
            table_retry,
            links,
        ];
        deadlines.into_iter().chain([sa, groups]).flatten().min()
    }

    fn enqueue(&mut self, op: SmpOp) {
        self.smps.enqueue(op);
    }

    fn emit(&mut self, event: Event) {
        self.outbox.emit(event);
    }

    fn on_config(&mut self, mut cfg: SmConfig) {
        self.mastership.set_config_digests(ConfigDigests::of(&cfg));
        self.partitions.configure(Arc::clone(&cfg.partitions));
        cfg.partitions = self.partitions.in_force();
        cfg.port_limits = self.port_limits.in_force();
        self.smps.set_limits(Limits::new(&cfg));
        // Whether other keys are in force is found below.
        self.keys.configure(cfg.m_key);
        cfg.m_key = self.cfg.m_key;
        self.sm_key.configure(cfg.sm_key);
        cfg.sm_key = self.cfg.sm_key;
        cfg.earlier_sm_key = self.cfg.earlier_sm_key;
        let routing = |c: &SmConfig| (c.engines.clone(), Arc::clone(&c.hints), c.routing_vls);
        if routing(&cfg) != routing(&self.cfg) {
            self.routing.reroute_from(RoutingStart::InstalledTables);
        }
        if cfg != self.cfg {
            self.routing.begin_configuration();
        }
        if self.is_master() {
            let ports = pkeys::count_lost_full_memberships(&self.fabric, &self.cfg, &cfg);
            if ports > 0 {
                let event = Event::FullMembershipsLost(ports);
                self.emit(event);
            }
        }
        if cfg.new_port_budget != self.cfg.new_port_budget {
            self.surveys.end_delays();
        }
        let priority = cfg.priority;
        self.cfg = cfg;
        self.compare_config_with_settings();
        self.mastership.update_settings(&self.cfg);
        self.step_election(election::ElectionInput::SetPriority(priority));
        self.update_m_key();
        self.update_sm_key();
        self.request_full_sweep();
    }

    /// Ends activities and phases, and starts the next, until one waits for responses.
    fn advance(&mut self) {
        loop {
            let before = self.transitions;
            self.step();
            if before == self.transitions {
                return;
            }
        }
    }

    fn step(&mut self) {
        self.interrupt_survey();
        if !self.smps.is_idle() {
            return;
        }
        match self.activity {
            Activity::Sweep(_) => self.step_sweep(),
            Activity::LightSweep(_) => self.step_light_sweep(),
            Activity::MulticastUpdate(_) => self.continue_multicast_update(),
            Activity::AliasGuids => self.set_activity(Activity::Idle),
            Activity::Survey => self.finish_survey_batch(),
            Activity::Idle => {
                if self.is_master() {
                    with_ctx!(self, |ctx| self.traps.reread_due(ctx));
                }
                let idle = self.smps.is_idle();
                if idle
                    && !self.begin_sm_scan()
                    && !self.begin_multicast_update()
                    && !self.begin_alias_guids()
                {
                    self.on_idle();
                    self.begin_survey();
                }
            }
            Activity::AwaitReplica => {}
            Activity::SmScan => self.finish_sm_scan(),
            Activity::AwaitMastership if self.mastership.is_scan_running() => self.finish_sm_scan(),
            Activity::AwaitMastership => {
                self.begin_sm_scan();
            }
            Activity::Standby | Activity::NoLink => self.on_idle(),
        }
    }
}
