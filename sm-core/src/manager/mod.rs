//! The subnet manager as one value: inputs in, outputs out, everything between is here.
//!
//! This file holds the components, the contract with the driver, and the order of the phases. The calls of the components in a phase are
//! in its own file: [`discover`], [`configure`], [`table_update`], [`light_sweep`], [`mastership`], [`adoption`] and [`sa`].

/// Runs `$body` with the context of a component, then applies what the component wants of others.
macro_rules! with_ctx {
    ($sm:ident, |$ctx:ident| $body:expr) => {{
        let paths = $sm.path_policy();
        $sm.smps.set_paths(paths);
        let $ctx = &mut $crate::ctx::Ctx {
            now: $sm.now,
            cfg: &$sm.cfg,
            fabric: &mut $sm.subnet,
            smps: &mut $sm.smps,
            outbox: &mut $sm.out,
            effects: &mut $sm.effects,
        };
        let result = $body;
        $sm.apply_effects();
        result
    }};
}

/// The intent of each port, from the components that own its parts.
macro_rules! port_intents {
    ($sm:ident) => {{
        let (lids, vls) = (&$sm.lids, &$sm.vls);
        let (adoption, sa) = (&$sm.adoption, &$sm.sa);
        let is_enabled = $sm.cfg.client_reregister;
        let is_first_sweep = $sm.mastership.is_first_as_master();
        move |fabric: &$crate::subnet::Subnet, p: $crate::subnet::PortRef| {
            let address = $crate::manager::payload::address_of(fabric, lids, vls, p);
            let reregister = address.zip(fabric.port(p)).is_some_and(|(address, port)| {
                is_enabled
                    && $crate::manager::payload::must_reregister(
                        port,
                        address,
                        is_first_sweep,
                        adoption,
                        sa,
                    )
            });
            $crate::sweep::link_setup::PortIntent {
                address,
                reregister,
            }
        }
    }};
}

mod adoption;
mod configure;
mod discover;
mod light_sweep;
mod mastership;
mod multicast;
mod payload;
mod progress;
mod sa;
mod table_update;

use core::time::Duration;
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_mad::attr::id;
use ferrosm_mad::ids::Tid;
use ferrosm_mad::mad::{Address, MadIn, MadOut, Method, MgmtClass, Status};
use ferrosm_mad::smp::{self, DATA_LEN};
use ferrosm_mad::time::Instant;
use ferrosm_routing::LastRun;

use crate::adoption::{Adoption, last_epoch};
use crate::config::SmConfig;
use crate::ctx::Effects;
use crate::deferred_reads::{DeferredReads, store_table};
use crate::election;
use crate::io::{Event, Input, Output};
use crate::kept::Restored;
use crate::keys::MKeyRing;
use crate::lid_map::LidMap;
use crate::lids::LidTable;
use crate::mastership::Mastership;
use crate::multicast::MulticastTables;
use crate::outbox::Outbox;
use crate::partitions::PartitionTables;
use crate::plan::routes::Start;
use crate::plan::vls::VlPlan;
use crate::report::{Phase, Problem, ProblemKind, SweepReport};
use crate::routing_state::RoutingState;
use crate::sa_owner::SaOwner;
use crate::schedule::{SweepKind, SweepSchedule};
use crate::smp::op::SmpOp;
use crate::smp::queue::{Limits, TimedOut};
use crate::smp::{PathPolicy, SmpTransaction, Smps};
use crate::subnet::{NodeIdx, PortRef, Subnet};
use crate::sweep::discovery::{self, Discovery};
use crate::sweep::lft_readback::LftReadback;
use crate::sweep::lft_update::LftUpdate;
use crate::sweep::link_setup::LinkSetup;
use crate::sweep::quarantine::is_in_fabric;
use crate::traps::{Reread, TrapMonitor};
use crate::vls::{self, VlTables};
pub use progress::Progress;

/// What the SM waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The next timer, trap or command.
    Idle,
    /// Answers to a light sweep.
    Light,
    /// A step of a sweep.
    Sweep(Phase),
    /// Answers to changes of multicast forwarding tables.
    Multicast,
    /// Responses to SMPs on behalf of SA clients.
    DeferredReads,
    /// The end of another SM's reign, or what an operator or that SM decides.
    Standby,
    /// Answers of other SMs, before it goes on as it was.
    Looking,
    /// Another SM, that is to take the subnet or to give it up.
    Yielding,
    /// What the last master kept.
    Recalling,
    /// A cable.
    NoLink,
}

/// What a sweep is about.
#[derive(Debug, Default)]
struct Sweep {
    local: bool,
    started: Instant,
    phase_began: Instant,
    phase_queued: u64,
    /// Ports that were read in this sweep.
    touched: BTreeSet<PortRef>,
    problems: Vec<(Option<PortRef>, ProblemKind)>,
    report: SweepReport,
}

/// An InfiniBand subnet manager without I/O.
///
/// The contract with its driver: after every [`handle`](Self::handle) take [`poll_output`](Self::poll_output) until it is
/// empty, then wait for an input or for [`poll_timeout`](Self::poll_timeout). Inputs that come late, twice or never are fine.
#[derive(Debug)]
pub struct SubnetManager {
    cfg: SmConfig,
    read_only: bool,
    now: Instant,
    subnet: Subnet,
    smps: Smps,
    out: Outbox,
    stage: Stage,
    sweep: Sweep,
    sweeps: u32,
    last_report: Option<SweepReport>,

    mastership: Mastership,
    lids: LidTable,
    routing: RoutingState,
    discovery: Discovery,
    vls: VlTables,
    readback: LftReadback,
    lfts: LftUpdate,
    links: LinkSetup,
    schedule: SweepSchedule,
    keys: MKeyRing,
    partitions: PartitionTables,
    effects: Effects,
    traps: TrapMonitor,
    sa: SaOwner,
    multicast: MulticastTables,
    adoption: Adoption,
    deferred_reads: DeferredReads,
}

impl SubnetManager {
    /// A subnet manager that begins to discover at once: poll it.
    #[must_use]
    pub fn new(cfg: SmConfig, restored: Restored, now: Instant) -> Self {
        Self::build_new(cfg, restored, now, false)
    }

    /// One that looks at the fabric, reports it, and never changes anything.
    #[must_use]
    pub fn read_only(cfg: SmConfig, now: Instant) -> Self {
        Self::build_new(cfg, Restored::default(), now, true)
    }

    fn build_new(cfg: SmConfig, restored: Restored, now: Instant, read_only: bool) -> Self {
        let adoption = Adoption::new(&restored, now);
        let vls = VlTables::new(last_epoch(&restored));
        let sa = SaOwner::new(&restored, now);
        let keys = MKeyRing::new(&restored, cfg.m_key);
        let mut sm = Self {
            smps: Smps::new(Limits::new(&cfg)),
            mastership: Mastership::new(&cfg),
            cfg,
            read_only,
            now,
            subnet: Subnet::default(),
            out: Outbox::default(),
            stage: Stage::Idle,
            sweep: Sweep::default(),
            sweeps: 0,
            last_report: None,
            lids: LidTable::new(restored.lids),
            routing: RoutingState::default(),
            discovery: Discovery::default(),
            vls,
            readback: LftReadback::default(),
            lfts: LftUpdate::default(),
            links: LinkSetup::default(),
            schedule: SweepSchedule::new(now),
            keys,
            partitions: PartitionTables::default(),
            effects: Effects::default(),
            traps: TrapMonitor::default(),
            sa,
            multicast: MulticastTables::default(),
            adoption,
            deferred_reads: DeferredReads::default(),
        };
        sm.begin_full_sweep();
        sm
    }

    /// The subnet as it is known now.
    #[must_use]
    pub const fn subnet(&self) -> &Subnet {
        &self.subnet
    }

    /// The routing in force, and the node of each of its switches.
    #[must_use]
    pub fn routing(&self) -> Option<(&Arc<LastRun>, &[NodeIdx])> {
        let (run, nodes) = self.routing.installed()?;
        Some((run, nodes))
    }

    /// The report of the last complete sweep.
    #[must_use]
    pub const fn last_report(&self) -> Option<&SweepReport> {
        self.last_report.as_ref()
    }

    /// Who owns which LIDs.
    #[must_use]
    pub const fn lid_map(&self) -> &LidMap {
        self.lids.map()
    }

    /// SLs and VLs of the routing in force; `None` before the first one.
    #[must_use]
    pub const fn vl_plan(&self) -> Option<&VlPlan> {
        self.vls.plan()
    }

    /// With replication: how long it takes at most to acknowledge a batch, or to report that a follower lost its replica.
    #[must_use]
    pub const fn with_replication_timeout(mut self, timeout: Duration) -> Self {
        self.out.set_replication_timeout(timeout);
        self
    }

    /// Replies to SA clients that wait for durable state.
    #[must_use]
    pub fn waiting_replies(&self) -> usize {
        self.out.waiting_replies()
    }

    /// Whether outputs wait for durable state.
    #[must_use]
    pub fn waits_for_durability(&self) -> bool {
        self.out.is_waiting()
    }

    /// How long the oldest waiting output has waited for the local disk.
    #[must_use]
    pub fn disk_wait(&self, now: Instant) -> Duration {
        self.out.disk_wait(now)
    }

    /// Takes one input. Drain [`poll_output`](Self::poll_output) afterwards.
    pub fn handle(&mut self, input: Input, now: Instant) {
        self.now = now;
        match input {
            Input::Mad(mad) => self.on_mad(&mad),
            Input::Gmp { from, bytes } => self.on_gmp(from, &bytes),
            Input::SendFailed(tid) => self.on_timeout(tid),
            Input::Timeout => {}
            Input::Computed(computed) => self.routing.on_computed(*computed),
            Input::Persisted(persisted) => self.out.on_persisted(persisted),
            Input::Config(cfg) => self.on_config(*cfg),
            Input::Resweep => self.want_full(),
            Input::Rebalance => {
                self.routing.rebalance();
                self.want_full();
            }
            Input::LocalPort(event) => self.on_local_port(event),
            Input::HandOver(then) => self.begin_handover(then),
            Input::TakeOver => self.elect(election::Input::TakeOver),
            Input::PeerSm(guid) => self.mastership.add_ferrosm_peer(&self.cfg, guid),
            Input::PeerSilent { guid, doubtful } => self.on_peer_silent(guid, doubtful),
            Input::Copying(incomplete) => self.on_replica_state(incomplete),
            Input::Stalled => {
                self.out.drop_replies();
                self.on_stalled();
            }
            Input::LeaseLost => self.on_lease_lost(),
            Input::Deposed(by) => self.elect(election::Input::Deposed(by)),
            Input::Recalled(restored) => self.on_replica(restored.map(|r| *r)),
        }
        self.on_mastership_timeout();
        while let Some(tid) = self.smps.expired(now) {
            self.on_timeout(tid);
        }
        self.advance();
        self.administer();
    }

    /// The next thing to do outside; `None` when there is nothing more before the next input.
    #[must_use]
    pub fn poll_output(&mut self) -> Option<Output> {
        loop {
            if let Some(out) = self.out.pop(self.now) {
                return Some(out);
            }
            let may_write = self.out.may_write(self.now);
            let dispatch = self.smps.next(self.now, may_write)?;
            self.subnet.refresh_stale_paths(self.now);
            if let Some(mad) = self.frame(&dispatch.item, dispatch.attempt, dispatch.tid) {
                self.out.count_sent();
                self.count_request(dispatch.item.op);
                return Some(Output::Send(MadOut {
                    to: Address::DIRECTED,
                    mad,
                }));
            }
            // Its node went away meanwhile: nobody is left to answer.
            self.smps.complete(dispatch.tid);
            self.advance();
        }
    }

    /// When to call [`handle`](Self::handle) with [`Input::Timeout`], if nothing else happens before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        // The timer starts something new, which has to wait until nothing is outstanding.
        let idle = self.smps.is_idle();
        let timer = self.schedule.poll_timeout().filter(|_| idle);
        let drained = self.drained_at().filter(|_| idle);
        let sa = self.sa.poll_timeout();
        let groups = self.multicast_update_due().filter(|_| idle);
        let mastership = self.mastership.poll_timeout();
        let looks = idle && self.stage == Stage::Idle && self.is_master();
        let noisy = self.traps.due().filter(|_| looks);
        let own = [
            self.out.poll_timeout(),
            self.smps.deadline(),
            timer,
            drained,
            mastership,
            noisy,
        ];
        own.into_iter().chain([sa, groups]).flatten().min()
    }

    fn is_local_sweep(&self) -> bool {
        self.sweep.local
    }

    fn enqueue(&mut self, op: SmpOp) {
        self.smps.set_paths(self.path_policy());
        self.smps.enqueue(op);
    }

    /// A full sweep has verified the shortest paths, but not yet the links of a detour.
    fn path_policy(&self) -> PathPolicy {
        if self.is_local_sweep() {
            PathPolicy::DetourFrom(1)
        } else if self.stage == Stage::Sweep(Phase::Discover) {
            PathPolicy::Shortest
        } else {
            PathPolicy::DetourFrom(2)
        }
    }

    /// Applies what a component wants of others.
    fn apply_effects(&mut self) {
        let effects = core::mem::take(&mut self.effects);
        for (at, kind) in effects.problems {
            self.problem(at, kind);
        }
        self.sweep.report.engine_notes.extend(effects.notes);
        for n in effects.reread_switches {
            self.schedule.reread_switch_later(n);
        }
        for n in effects.next_switches {
            self.schedule.reread_switch(n);
        }
        for p in effects.next_ports {
            self.schedule.reread_port(p);
        }
        for guid in effects.reregister_sent {
            self.sa.on_reregister_sent(guid);
        }
        for guid in effects.reregister_failed {
            self.sa.on_reregister_failed(guid);
        }
        if effects.local_sweep {
            self.want_local();
        }
        for n in effects.removed_nodes {
            self.schedule.remove_node(n);
            self.mastership.remove_node(n);
        }
        if effects.routing_stale {
            self.routing.mark_stale();
        }
        if effects.link_conflict {
            self.schedule.record_link_conflict(self.now);
        }
        for p in effects.reread_ports {
            self.schedule.reread_port_later(p);
        }
        if let Some(port) = effects.blocking_port
            && self.lfts.is_ordered()
        {
            self.lfts.block_on(port);
        }
        if effects.is_new_vl_epoch {
            self.adoption.on_vl_tables_changing();
        }
        if effects.full_sweep {
            self.want_full();
        }
    }

    fn emit(&mut self, event: Event) {
        self.out.emit(event);
    }

    fn problem(&mut self, at: Option<PortRef>, kind: ProblemKind) {
        if !self.sweep.problems.contains(&(at, kind.clone())) {
            self.sweep.problems.push((at, kind));
        }
    }

    /// The problems of this sweep, those apart whose place has left the subnet meanwhile.
    fn take_problems(&mut self) -> Vec<Problem> {
        let found = core::mem::take(&mut self.sweep.problems);
        // This SM's own port is not marked where what is behind it is left out; a cable that was found later is enough.
        let own = self.subnet.local();
        let settled = |at: &Option<PortRef>, kind: &ProblemKind| {
            *at == own
                && matches!(kind, ProblemKind::Quarantined(_))
                && at.is_some_and(|p| self.subnet.peer(p).is_some())
        };
        let here = found.into_iter().filter(|(at, kind)| {
            at.is_none_or(|p| is_in_fabric(&self.subnet, p)) && !settled(at, kind)
        });
        here.map(|(at, kind)| {
            let place = at.map_or_else(|| "local node".to_owned(), |p| self.subnet.describe(p));
            Problem { place, kind }
        })
        .collect()
    }

    /// Counts a request in the report of the current sweep.
    fn count_request(&mut self, op: SmpOp) {
        let spec = op.spec();
        let count = self.sweep.report.smps.entry(spec.attr).or_default();
        if spec.is_set {
            count.sets += 1;
        } else {
            count.gets += 1;
        }
    }

    fn on_mad(&mut self, received: &MadIn) {
        let mad = &received.mad;
        let class = mad.mgmt_class();
        if class != MgmtClass::SubnDirected && class != MgmtClass::SubnLid {
            return;
        }
        match mad.method() {
            Method::GetResp => self.on_answer(received),
            // An SM that is not master leaves it to the sender to repeat the trap (IBA vol. 1, 13.4.9).
            Method::Trap if mad.attr_id() == id::NOTICE && self.is_master() => {
                self.on_trap(received);
            }
            Method::Get | Method::Set => self.on_request(received),
            _ => {}
        }
    }

    /// An answer to something of ours; anything else is late, foreign or garbage and changes nothing.
    fn on_answer(&mut self, received: &MadIn) {
        let mad = &received.mad;
        let tid = Tid(mad.tid().0 & u64::from(u32::MAX));
        let Some(SmpTransaction { op, .. }) = self.smps.peek(tid) else {
            return;
        };
        if !op.spec().matches_response(mad.attr_id(), mad.attr_mod()) {
            return;
        }
        if mad.status().is_busy() {
            self.on_timeout(tid);
            return;
        }
        self.smps.complete(tid);
        let (status, data) = (mad.status(), *smp::data(mad));
        match op {
            SmpOp::NodeInfo(from) => self.on_node_info(from, status, &data),
            SmpOp::NodeDescription(n) => {
                with_ctx!(self, |ctx| discovery::on_description(ctx, n, status, &data));
            }
            SmpOp::SwitchInfo(n) => {
                let (top, mode) = (self.lids.top(), self.read_mode());
                with_ctx!(self, |ctx| self
                    .discovery
                    .on_switch_info(ctx, n, status, &data, top, mode));
            }
            SmpOp::ClearPortStateChange(n) => {
                let mode = self.read_mode();
                with_ctx!(self, |ctx| discovery::on_port_state_change_cleared(
                    ctx, n, status, &data, mode
                ));
            }
            SmpOp::PortInfo(p) => self.on_port_info(p, mad.attr_mod(), status, &data),
            SmpOp::Lft(n, block) => self.readback.on_block(n, block, status, &data),
            SmpOp::MlnxExtPortInfo(p) => {
                with_ctx!(self, |ctx| discovery::on_ext_port_info(
                    ctx, p, status, &data
                ));
            }
            SmpOp::Mft(n, at) => {
                with_ctx!(self, |ctx| self
                    .multicast
                    .on_block_read(ctx, n, at, status, &data));
            }
            SmpOp::SetMft(n, at) => {
                with_ctx!(self, |ctx| self
                    .multicast
                    .on_block_written(ctx, n, at, status, &data));
            }
            SmpOp::SmInfo(p) => self.on_sm_info(p, status, &data),
            SmpOp::SetSwitchInfo(n) => self.on_switch_set(n, status, &data),
            SmpOp::SetLft(n, block) => {
                self.sweep.report.lft_blocks_written += 1;
                let top = self.lids.top();
                with_ctx!(self, |ctx| self.lfts.on_block_written(
                    ctx,
                    (n, block),
                    status,
                    &data,
                    top
                ));
            }
            SmpOp::SetPortInfo(p, step) => self.on_port_set(p, step, status, &data),
            SmpOp::SetSlToVl(p, at) => {
                with_ctx!(self, |ctx| self
                    .vls
                    .on_sl_to_vl_written(ctx, p, at, status, &data));
            }
            SmpOp::SetVlArbitration(p, block) => {
                with_ctx!(self, |ctx| self
                    .vls
                    .on_arbitration_written(ctx, p, block, status, &data));
            }
            SmpOp::PKeyTable(p, block) => {
                with_ctx!(self, |ctx| self
                    .partitions
                    .on_block_read(ctx, p, block, status, &data));
            }
            SmpOp::SetPKeyTable(p, block) => {
                with_ctx!(self, |ctx| self
                    .partitions
                    .on_block_written(ctx, p, block, status, &data));
            }
            SmpOp::SlToVl(..) | SmpOp::VlArbitration(..) => {
                store_table(&mut self.subnet, op, status, &data);
            }
            SmpOp::SetGuidInfo(p, block) => {
                let aliases = self.sa.registry().aliases().all();
                with_ctx!(self, |ctx| self.deferred_reads.on_guid_info_set(
                    ctx,
                    aliases,
                    (p, block),
                    status,
                    &data
                ));
            }
            SmpOp::SmInfoPoll(p) => self.on_poll_response(p, status, &data),
            SmpOp::SetSmInfo(p, control, _) => self.on_control_response(p, control, status),
        }
    }

    fn on_timeout(&mut self, tid: Tid) {
        let tid = Tid(tid.0 & u64::from(u32::MAX));
        let outcome = self.smps.time_out(tid, self.now);
        let (TimedOut::Retrying(SmpTransaction { op, .. })
        | TimedOut::Failed(SmpTransaction { op, .. })) = outcome
        else {
            return;
        };
        let counts = &mut self.sweep.report.smps;
        counts.entry(op.attr()).or_default().timeouts += 1;
        if matches!(outcome, TimedOut::Failed(_)) {
            self.on_failed(op);
            // Requests that wait for a dead device do not time out one by one. Handling a failure may clear or add requests.
            while let Some(SmpTransaction { op, .. }) = self.smps.take_hopeless(op) {
                self.on_failed(op);
            }
        }
    }

    /// A request failed: all attempts timed out.
    fn on_failed(&mut self, op: SmpOp) {
        if !matches!(
            op,
            SmpOp::MlnxExtPortInfo(_)
                | SmpOp::SlToVl(..)
                | SmpOp::VlArbitration(..)
                | SmpOp::SetGuidInfo(..)
        ) {
            self.schedule.record_timeout(self.now);
        }
        match op {
            SmpOp::NodeInfo(from) => self.on_node_info_failed(from),
            // The next light sweep reads it again.
            SmpOp::NodeDescription(_) => {}
            SmpOp::SwitchInfo(n) | SmpOp::ClearPortStateChange(n) => {
                let mode = self.read_mode();
                with_ctx!(self, |ctx| self
                    .discovery
                    .on_switch_info_failed(ctx, n, mode));
            }
            SmpOp::PortInfo(p) => {
                self.on_port_info_failed(p, ProblemKind::NoAnswer { attr: op.attr() })
            }
            SmpOp::Lft(n, _) => {
                self.readback.on_failed(n);
            }
            // What is not known is written over. An agent without the vendor's attribute need not answer.
            SmpOp::Mft(..) | SmpOp::MlnxExtPortInfo(_) => {}
            SmpOp::SetMft(n, at) => {
                let kind = ProblemKind::NoAnswer { attr: op.attr() };
                with_ctx!(self, |ctx| self.multicast.on_write_failed(ctx, n, at, kind));
            }
            SmpOp::SmInfo(p) => self.mastership.on_sm_unanswered(p),
            SmpOp::SmInfoPoll(p) => self.on_poll_unanswered(p),
            SmpOp::SetSmInfo(p, control, _) => self.on_control_unanswered(p, control),
            SmpOp::SetSwitchInfo(n) => {
                self.schedule.reread_switch_later(n);
                self.problem(op.port(), ProblemKind::NoAnswer { attr: op.attr() });
            }
            SmpOp::SetPortInfo(p, setting) => {
                let intents = port_intents!(self);
                with_ctx!(self, |ctx| LinkSetup::on_set_timeout(
                    ctx, p, setting, &intents
                ));
            }
            SmpOp::SetSlToVl(p, _) => {
                let kind = ProblemKind::NoAnswer { attr: op.attr() };
                with_ctx!(self, |ctx| vls::on_sl_to_vl_failed(ctx, p, kind));
            }
            SmpOp::SlToVl(..) | SmpOp::VlArbitration(..) => {
                self.deferred_reads.on_table_unanswered(&self.subnet, op);
            }
            SmpOp::SetGuidInfo(p, block) => {
                with_ctx!(self, |ctx| self.deferred_reads.on_guid_info_failed(
                    ctx,
                    p,
                    block,
                    "no answer"
                ));
            }
            SmpOp::PKeyTable(p, _) | SmpOp::SetVlArbitration(p, _) => {
                let attr = op.attr();
                with_ctx!(self, |ctx| ctx
                    .effects
                    .port_problem(p, ProblemKind::NoAnswer { attr }));
            }
            SmpOp::SetPKeyTable(p, _) => {
                let kind = ProblemKind::NoAnswer { attr: op.attr() };
                with_ctx!(self, |ctx| self.partitions.on_write_failed(ctx, p, kind));
            }
            SmpOp::SetLft(n, block) => {
                let failure = Err(ProblemKind::NoAnswer { attr: id::LFT });
                let top = self.lids.top();
                with_ctx!(self, |ctx| self.lfts.on_block_done(
                    ctx,
                    (n, block),
                    failure,
                    top
                ));
            }
        }
    }

    fn on_trap(&mut self, received: &MadIn) {
        let own_lid = self.lids.of_sm(&self.subnet);
        let outcome = with_ctx!(self, |ctx| self.traps.on_trap(ctx, received, own_lid));
        if outcome.needs_light_sweep {
            self.schedule.request(SweepKind::Light);
        }
        if let Some((notice, at)) = outcome.forward {
            self.forward(&notice, at);
        }
        for reread in outcome.rereads {
            self.reread(reread);
        }
    }

    /// Reads what trap storm sources named, if it is due.
    fn reread_after_storms(&mut self) {
        if self.is_master() {
            for reread in self.traps.take_due(self.now) {
                self.reread(reread);
            }
        }
    }

    fn reread(&mut self, reread: Reread) {
        match reread {
            Reread::Switch(n) => {
                self.schedule.reread_switch(n);
                self.want_local();
            }
            Reread::Port(p) => {
                self.schedule.reread_port(p);
                self.want_local();
            }
            Reread::Description(n) => {
                if let Some(node) = self.subnet.get_mut(n) {
                    node.described = false;
                    self.enqueue(SmpOp::NodeDescription(n));
                }
            }
            Reread::Sms => self.elect(election::Input::PriorityTrap),
        }
    }

    /// Has a local sweep read what is to be read again: now if one is discovering or routing, otherwise when the SM is idle.
    fn want_local(&mut self) {
        if self.sweep.local && self.read_mode().phase.is_discovering() {
            self.read_again();
        } else {
            self.schedule.request(SweepKind::Local);
        }
    }

    fn on_request(&mut self, received: &MadIn) {
        let mad = &received.mad;
        if mad.attr_id() == id::SM_INFO {
            self.on_sm_info_request(received);
        } else {
            // The SMA answers for everything else; what it left to us is not supported by the node.
            let answer = smp::response(mad, Status::BAD_METHOD_ATTR, &[0; DATA_LEN]);
            self.out.send(received.from, answer);
        }
    }

    fn on_config(&mut self, cfg: SmConfig) {
        self.smps.set_limits(Limits::new(&cfg));
        self.keys.change_configured(self.cfg.m_key, cfg.m_key);
        let routing = |c: &SmConfig| (c.engines.clone(), Arc::clone(&c.hints), c.routing_vls);
        if routing(&cfg) != routing(&self.cfg) {
            self.routing.reroute_from(Start::Engine);
        }
        if cfg != self.cfg {
            self.routing.begin_configuration();
        }
        let priority = cfg.priority;
        self.cfg = cfg;
        self.mastership.update_settings(&self.cfg);
        self.elect(election::Input::Priority(priority));
        if self.is_master() {
            // Ports are told of it from now on, whatever the sweep is at.
            with_ctx!(self, |ctx| self.keys.persist_change(ctx, self.lids.map()));
        }
        self.want_full();
    }

    /// Moves on as far as nothing has to be waited for.
    fn advance(&mut self) {
        loop {
            let before = (self.stage, self.sweeps);
            self.step();
            if before == (self.stage, self.sweeps) {
                return;
            }
        }
    }

    fn step(&mut self) {
        if !self.smps.is_idle() {
            return;
        }
        match self.stage {
            Stage::Sweep(Phase::Idle) => self.stage = Stage::Idle,
            Stage::Sweep(Phase::Discover) => self.finish_discovery(),
            Stage::Sweep(Phase::OtherSms) => self.finish_querying_sms(),
            Stage::Sweep(Phase::ReadTables) => self.finish_reading(),
            Stage::Sweep(Phase::Route) => {
                if let Some(computed) = self.routing.take_result() {
                    self.install(computed);
                }
            }
            Stage::Sweep(Phase::WriteTables) => self.write_on(),
            Stage::Sweep(Phase::Arm) => self.begin_activation(),
            Stage::Sweep(Phase::Activate) => self.finish_sweep(),
            Stage::Light => self.finish_light_sweep(),
            Stage::Multicast => self.continue_multicast_update(),
            Stage::DeferredReads => self.finish_deferred_reads(),
            Stage::Idle => {
                self.reread_after_storms();
                let idle = self.smps.is_idle();
                if idle
                    && !self.begin_sm_scan()
                    && !self.begin_multicast_update()
                    && !self.begin_deferred_reads()
                {
                    self.on_idle();
                }
            }
            Stage::Recalling => {}
            Stage::Looking => self.finish_sm_scan(),
            Stage::Yielding if self.mastership.is_scan_running() => self.finish_sm_scan(),
            Stage::Yielding => {
                self.begin_sm_scan();
            }
            Stage::Standby | Stage::NoLink => self.on_idle(),
        }
    }

    fn enter(&mut self, phase: Phase) {
        if let Stage::Sweep(old) = self.stage {
            let took = self.now.since(self.sweep.phase_began);
            self.sweep.report.phases.push((old, took));
        }
        self.stage = Stage::Sweep(phase);
        self.sweep.phase_began = self.now;
        self.sweep.phase_queued = self.smps.queued();
        self.emit(Event::Phase(phase));
    }

    fn begin_sweep(&mut self, local: bool) {
        self.smps.clear();
        self.smps.set_limits(Limits::new(&self.cfg));
        self.mastership.begin_sweep();
        self.sweeps += 1;
        self.stage = Stage::Idle;
        self.routing.cancel_job();
        self.partitions = PartitionTables::default();
        self.lfts = LftUpdate::default();
        self.links = LinkSetup::default();
        self.readback = LftReadback::default();
        self.discovery.begin();
        self.multicast.begin_sweep();
        self.vls.begin_sweep();
        self.sweep = Sweep {
            local,
            started: self.now,
            report: SweepReport {
                number: self.sweeps,
                local,
                ..SweepReport::default()
            },
            ..Sweep::default()
        };
        self.enter(Phase::Discover);
    }
}
