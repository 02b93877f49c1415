//! The phases of a sweep in order: discovery, SMInfo scan, readback, routing, tables, arming,
//! activation (IBA vol. 1, 14.4).
//!
//! A phase ends when the request queue is idle. A node that does not respond is reported and read
//! again later.

use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_fabric::observed::{NodeIdx, PortRef};
use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::PortNum;
use ferrosm_mad::time::Instant;

use super::SubnetManager;
use crate::config::key_rotation::KeyKind;
use crate::discovery::exclusion::report_excluded;
use crate::discovery::problems::ProblemLocator;
use crate::discovery::silent_ports::silent_ports;
use crate::discovery::{Discovery, reread_uncleared};
use crate::event::Event;
use crate::io::Output;
use crate::io::commands::CommandOutcome;
use crate::kept_tables::report_kept;
use crate::lfts::readback::LftReadback;
use crate::lfts::update::LftUpdate;
use crate::lids::plan::LidPolicy;
use crate::mfts::{MftReadback, report_conflicting};
use crate::pkeys;
use crate::ports::link_setup::{self, Arming};
use crate::report::routing_failure::RoutingFailure;
use crate::report::routing_message::RoutingMessage;
use crate::report::{Problem, ProblemKind, SweepKind, SweepReport};
use crate::routing::NewRouting;
use crate::routing::desired_lfts::DesiredLfts;
use crate::routing::installed_groups::InstalledGroups;
use crate::routing::routes::RoutingJobResult;
use crate::routing::vl_plan::FabricVlPlan;
use crate::schedule::scope::SweepScope;
use crate::smp::op::{PortSetting, SmpOp};
use crate::smp::outcome::SmpOutcome;
use crate::smp::queue::Limits;
use crate::sweep::activity::Activity;
use crate::sweep::{Sweep, SweepPhase, TableReadback};
use crate::vls::kept_readback::{self, KeptReadback};

impl SubnetManager {
    /// The request queue is idle: ends the current phase, or continues it.
    pub(super) fn step_sweep(&mut self) {
        if self.activity().is_full_discovery() {
            self.locate_contested();
            self.keep_unresponsive();
            self.read_unreached_ports();
            if !self.smps.is_idle() {
                return;
            }
        }
        match self.activity.sweep().map(|sweep| &sweep.phase) {
            Some(SweepPhase::Discover) => self.finish_discovery(),
            Some(SweepPhase::ReadForeignTables) => self.finish_reading_foreign_tables(),
            Some(SweepPhase::SmScan) => self.finish_sm_scan_of_sweep(),
            Some(SweepPhase::ReadTables(_)) => self.finish_reading(),
            Some(SweepPhase::Route) => self.continue_routing(),
            Some(SweepPhase::WriteTables(_)) => self.continue_tables(),
            Some(SweepPhase::WriteMfts(_)) => self.continue_multicast(),
            Some(SweepPhase::Arm(_)) => self.begin_activation(),
            Some(SweepPhase::Activate) => self.finish_sweep(),
            None => {}
        }
    }

    pub(super) fn begin_sweep(&mut self, scope: SweepScope) {
        self.smps.clear();
        self.smps.set_limits(Limits::new(&self.cfg));
        self.mastership.begin_sweep();
        self.routing.cancel_job();
        self.last_sweep.number += 1;
        self.last_sweep.found_local_peer = false;
        self.fabric.begin_sweep();
        let number = self.last_sweep.number;
        // After the first complete sweep, the fabric is known.
        let last_snapshot = self.adoption.restored_view().cloned();
        let discovery = Discovery::new(scope.kind(), self.sweep_budget(), last_snapshot)
            .with_policy(self.unresponsive_policy());
        let sweep = Sweep::new(number, scope, discovery, self.now);
        self.replace_activity(Activity::Sweep(Box::new(sweep)));
        self.commands.on_sweep_started();
        self.announce_phase();
    }

    /// Reports what was added to the fabric since a sweep was complete.
    pub(super) fn report_additions(&mut self) {
        self.last_sweep
            .report_additions(&self.fabric, &mut self.outbox);
    }

    /// Adds a problem to the report of the sweep. Between sweeps it is an event, unless the last
    /// sweep reported it.
    pub(super) fn add_problem(&mut self, at: Option<PortRef>, kind: ProblemKind) {
        if let Some(sweep) = self.activity.sweep_mut() {
            sweep.add_problem(at, kind);
            return;
        }
        for problem in self.locate_problems(vec![(at, kind)]) {
            let last = self.last_sweep.report.as_ref();
            let is_same = |p: &Problem| {
                p.location == problem.location && p.kind.name() == problem.kind.name()
            };
            if !last.is_some_and(|report| report.problems.iter().any(is_same)) {
                self.emit(Event::ProblemFound(problem));
            }
        }
    }

    /// The problems of a sweep, except those at ports that have left the fabric.
    pub(super) fn locate_problems(
        &self,
        problems: Vec<(Option<PortRef>, ProblemKind)>,
    ) -> Vec<Problem> {
        let locator = ProblemLocator {
            fabric: &self.fabric,
            rejects_m_key: &|n| self.traps.has_m_key_violation(n),
        };
        locator.locate_all(problems)
    }

    /// Counts a request in the report of the sweep, if one runs.
    pub(super) fn count_request(&mut self, op: SmpOp) {
        let spec = op.spec();
        let Some(report) = self.activity.report() else {
            return;
        };
        let count = report.smps.entry(spec.attr).or_default();
        if spec.is_set {
            count.sets += 1;
        } else {
            count.gets += 1;
        }
    }

    /// Reads the tables of switches that this SM did not write, so that only differences are
    /// written.
    pub(super) fn begin_reading(&mut self) {
        self.begin_phase(SweepPhase::ReadTables(TableReadback::default()));
        self.mark_kept_settings();
        // PortStateChange bits seen so far are cleared before tables are written: a bit set later
        // is a new change. LFTs are read after that, because the Set hides that a switch restarted
        // before: it restores LinearFDBTop.
        let switches = self.fabric.nodes();
        let changed =
            switches.filter(|(_, n)| n.switch_info().is_some_and(|s| s.port_state_change));
        let changed: BTreeSet<NodeIdx> = changed.map(|(n, _)| n).collect();
        for n in &changed {
            self.enqueue(SmpOp::ClearPortStateChange(*n));
        }
        let lfts = with_ctx!(self, |ctx| LftReadback::start(ctx, &changed));
        self.find_vl_table_origins();
        let kept = with_ctx!(self, |ctx| KeptReadback::start(ctx));
        if let Some(scope) = self.activity.scope() {
            with_ctx!(self, |ctx| pkeys::read(ctx, scope));
        }
        let mfts = with_ctx!(self, |ctx| MftReadback::start(ctx, self.sa.registry()));
        if let Some(readback) = self.activity.readback() {
            *readback = TableReadback { lfts, kept, mfts };
        }
    }

    fn finish_reading(&mut self) {
        if let Some(TableReadback { lfts, .. }) = self.activity.readback() {
            with_ctx!(self, |ctx| lfts.finish(ctx));
        }
        self.begin_routing();
    }

    /// Plans LIDs, and starts a routing job if the inputs of the routing changed.
    fn begin_routing(&mut self) {
        self.begin_phase(SweepPhase::Route);
        self.mark_kept_settings();
        let is_new = self.mastership.is_new();
        let policy = if self.cfg.reassign_lids && is_new {
            LidPolicy::Reassign
        } else if self.mastership.is_first_as_master() && !is_new {
            LidPolicy::ActivePorts
        } else {
            LidPolicy::Map
        };
        let assignment = with_ctx!(self, |ctx| self.lids.assign(
            ctx.fabric,
            ctx.cfg,
            policy,
            ctx.effects
        ));
        if !assignment.updates.is_empty() {
            self.outbox.persist(assignment.updates);
        }
        if let Some(report) = self.activity.report() {
            report.lids_changed = assignment.changed;
        }
        if assignment.plan_changed {
            self.routing.mark_stale();
        }
        with_ctx!(self, |ctx| self.link_stability.choose_avoided(ctx));
        if !self.routing.take_due(&self.fabric) {
            return self.begin_tables(LftUpdate::default(), Vec::new());
        }
        let plan = self.lids.plan();
        let mut job = self.routing.begin_job(&self.fabric, plan, &self.cfg);
        job.previous_vls = self.vls.plan().cloned();
        let groups = self.registry().groups();
        job.groups = InstalledGroups::new(&self.fabric, job.nodes(), groups);
        if self.routing.may_adopt() {
            job.inherited = self
                .adoption
                .installed_routing(&self.fabric, &self.cfg, job.nodes());
        }
        for n in self.unroutable_switches() {
            self.add_problem(
                Some(PortRef::new(n, PortNum::ZERO)),
                ProblemKind::NoLinearTable,
            );
        }
        self.outbox.push(Output::Compute(Box::new(job)));
    }

    fn unroutable_switches(&self) -> Vec<NodeIdx> {
        self.fabric
            .nodes()
            .filter(|(_, n)| n.switch_info().is_some() && n.table_caps().lft == 0)
            .map(|(i, _)| i)
            .collect()
    }

    /// Installs the result of the routing job if neither the fabric nor the settings have changed
    /// since. Nodes that were found meanwhile may belong to the subnet of another master: SMs are
    /// scanned and tables read back again before anything is written.
    fn continue_routing(&mut self) {
        let Some(computed) = self.routing.take_result() else {
            return;
        };
        let is_accepted = self.routing.accept(&computed);
        let discovery = self.activity.discovery();
        let has_unscanned_nodes = discovery.is_some_and(|d| d.has_unscanned_nodes());
        if is_accepted && !has_unscanned_nodes {
            return self.install(computed);
        }
        self.remove_absent();
        self.report_additions();
        if has_unscanned_nodes {
            self.begin_reading_foreign_tables();
        } else {
            self.begin_routing();
        }
    }

    /// Installs the routes of a job, if it found any.
    fn install(&mut self, computed: RoutingJobResult) {
        match computed.result {
            Err(failure) => self.routing_failed(failure),
            Ok(routes) => {
                if let Some(report) = self.activity.report() {
                    report.has_new_routes = true;
                    report.drained_lids = routes.writes.drained_lids;
                }
                let switches = computed.nodes.len();
                let routing = &routes.run.routing;
                let switch_order = routing.order.clone().unwrap_or_default();
                let tables = computed.nodes.iter().copied();
                let tables = tables.zip(routes.tables).collect();
                let vls = FabricVlPlan::new(computed.id, Arc::clone(&routes.run), &computed.nodes);
                let writes = routes.writes;
                let conflicting = writes.conflicting_groups;
                with_ctx!(self, |ctx| report_conflicting(ctx, &conflicting));
                let new = NewRouting {
                    routing: (routes.run, computed.nodes),
                    vls,
                    messages: routes.messages,
                    proof: routes.proof,
                    unreachable: routes.unreachable,
                    abort_trees: writes.abort_trees,
                };
                self.routing.on_engine_run(routes.is_of_engine, switches);
                let (order, vls_first) = (writes.order, routes.sl_to_vl_first);
                let (lfts, tables, new) =
                    LftUpdate::new(&self.fabric, tables, new, order, vls_first);
                self.routing
                    .set_desired(DesiredLfts::new(tables, switch_order, routes.stubs));
                if let Some(new) = new {
                    self.put_in_force(new);
                }
                self.begin_tables(lfts, conflicting);
            }
        }
    }

    /// Reports end ports that some others do not reach, because switches keep LFT entries.
    fn report_unreached(&mut self) {
        for lid in self.routing.unreachable().to_vec() {
            if let Some(at) = self.fabric.port_by_lid(lid) {
                self.add_problem(Some(at), ProblemKind::NotReached);
            }
        }
    }

    /// A routing is in force from now on.
    pub(super) fn put_in_force(&mut self, new: NewRouting) {
        let vls = self.routing.install(new, &self.cfg);
        self.vls.set_plan(vls);
    }

    /// No engine found a routing: the installed tables stay, no further link is armed, and the next
    /// sweep tries again. It reads kept VL tables again, because what was read of them may be
    /// wrong, and configures the links of this sweep.
    fn routing_failed(&mut self, failure: RoutingFailure) {
        if let Some(report) = self.activity.report() {
            report
                .routing_messages
                .extend(RoutingMessage::of_failure(&failure));
            report.failed = true;
        }
        self.fail_changes(&failure);
        self.emit(Event::RoutingFailed(failure));
        self.routing.mark_stale();
        kept_readback::forget(&mut self.fabric);
        if let Some(scope) = self.activity.scope() {
            for (p, _) in link_setup::inactive_ports(&self.fabric, scope) {
                self.schedule.reread_port(p);
            }
        }
        if with_ctx!(self, |ctx| self.link_stability.use_avoided(ctx)) {
            self.schedule.request(SweepKind::Local);
        }
        self.finish_sweep();
    }

    /// Configures ports and arms links, after all tables are written.
    pub(super) fn begin_arming(&mut self) {
        self.begin_phase(SweepPhase::Arm(Arming::default()));
        if let Some(scope) = self.activity.scope() {
            port_intents!(self, intents);
            with_ctx!(self, |ctx| Arming::start(ctx, scope, intents));
        }
        self.write_port_states();
    }

    fn begin_activation(&mut self) {
        self.begin_phase(SweepPhase::Activate);
        let scope = self.activity.scope();
        let ports = scope.map_or_else(Vec::new, |scope| Arming::ready_ports(&self.fabric, scope));
        if !ports.is_empty() {
            // A host joins groups and queries paths as soon as its port is Active; the SA must know
            // its LID by then.
            self.publish_view_before_activation();
        }
        for p in ports {
            self.enqueue(SmpOp::SetPortInfo(p, PortSetting::Activate));
        }
    }

    pub(super) fn on_port_set(&mut self, p: PortRef, setting: PortSetting, outcome: &SmpOutcome) {
        port_intents!(self, intents);
        let arming = self.activity.arming();
        let implausible = with_ctx!(self, |ctx| link_setup::on_set(
            ctx,
            arming,
            (p, setting),
            outcome,
            intents
        ));
        if let Some(kind) = implausible {
            self.on_port_info_failed(p, kind);
        }
    }

    /// The sweep is complete: reports it and schedules the next.
    pub(super) fn finish_sweep(&mut self) {
        let Some(sweep) = self.activity.sweep() else {
            return;
        };
        let has_link = self.last_sweep.no_link.is_none();
        let configured = !self.read_only && has_link && !sweep.report.failed;
        self.report_leftovers(configured);
        let Some(mut sweep) = self.activity.take_sweep() else {
            return;
        };
        self.report_additions();
        let is_full = !sweep.report.is_local();
        if !self.read_only {
            with_ctx!(self, |ctx| self.last_sweep.link_rates.report(ctx, is_full));
        }
        sweep.end_phase(self.now);
        self.announce_phase();
        let problems = self.locate_problems(core::mem::take(&mut sweep.problems));
        let mut report = self.complete_report(sweep.report, problems, configured);
        report.took = self.now.since(sweep.started);
        self.surveys.forget_linked(&self.fabric);
        if configured {
            self.confirm_configuration(is_full);
        }
        self.last_sweep.report = Some(report.clone());
        with_ctx!(self, |ctx| reread_uncleared(ctx, &sweep.uncleared_switches));
        if !self.read_only {
            self.schedule_next_sweep(sweep.scope.light_due());
        }
        if configured {
            self.publish_view();
            let unfit = self.sa.ports_below_broadcast_group();
            if !unfit.is_empty() {
                report.problems.extend(unfit);
                self.last_sweep.report = Some(report.clone());
            }
        }
        self.emit(Event::SweepCompleted(Box::new(report.clone())));
        if is_full {
            let fabric = &self.fabric;
            let keys = &self.keys;
            let mastership = &self.mastership;
            let cfg = &self.cfg;
            let rotated = |kind| match kind {
                KeyKind::MKey => CommandOutcome::MKeyRotated(Box::new(keys.report(fabric))),
                KeyKind::SmKey => {
                    let (with, without) = mastership.count_sm_keys(cfg);
                    CommandOutcome::SmKeyRotated { with, without }
                }
            };
            self.commands
                .on_full_sweep_done(&mut self.outbox, &report, rotated);
        }
        self.finish_changes(&report);
    }

    /// Reports what the sweep leaves: inactive and excluded ports, kept tables, ports out of reach.
    fn report_leftovers(&mut self, configured: bool) {
        if configured {
            self.report_kept_settings();
            self.report_drained_in_use();
        }
        if configured && let Some(scope) = self.activity.scope() {
            let inactive = link_setup::inactive_ports(&self.fabric, scope);
            with_ctx!(self, |ctx| self
                .link_stability
                .on_sweep_completed(ctx, &inactive));
        }
        with_ctx!(self, |ctx| report_excluded(ctx));
        if !self.read_only {
            self.last_sweep.next_table_retry = with_ctx!(self, |ctx| report_kept(ctx));
            if self.fabric.switches().next().is_some() {
                self.report_unreached();
            }
        }
    }

    /// The report of a sweep, with what the fabric and its tables are now.
    fn complete_report(
        &self,
        report: SweepReport,
        problems: Vec<Problem>,
        configured: bool,
    ) -> SweepReport {
        let count = |t: NodeType| {
            let nodes = self.fabric.nodes();
            nodes.filter(|(_, n)| n.info.node_type == t).count()
        };
        let mut report = SweepReport {
            problems,
            switches: count(NodeType::Switch),
            cas: count(NodeType::Ca),
            routers: count(NodeType::Router),
            links: self.fabric.link_count(),
            role: self.role(),
            ..report
        };
        if !self.read_only {
            report.lids = self.lids.count();
            report.top_lid = self.lids.top();
            report.absent = self.lids.absent();
        }
        if report.switches > 0 && configured {
            self.routing.report(&mut report, &self.cfg);
        }
        report
    }

    /// The sweep wrote what it planned: what ports report confirms it.
    fn confirm_configuration(&mut self, is_full: bool) {
        self.lids.confirm(&self.fabric);
        for p in self.lids.differing_ports(&self.fabric) {
            // Only the ports of the sweep were configured.
            self.schedule.reread_port_later(p);
        }
        if self.is_master() && is_full {
            self.lids.on_full_sweep(self.last_sweep.number);
        }
        self.adoption.forget_installed();
        if self.is_master() {
            with_ctx!(self, |ctx| self.keys.remove_exceptions(ctx));
        }
        self.mastership.finish_sweep();
        if self.is_master() {
            self.end_consent_of_sweep();
        }
        with_ctx!(self, |ctx| self.last_sweep.report_absent_members(ctx));
        if self.routing.is_stale() {
            // The fabric changed after routes were computed.
            self.request_local_sweep();
        }
    }

    fn schedule_next_sweep(&mut self, light_due: Option<Instant>) {
        let interval = self.cfg.sweep_interval;
        let has_silent_ports = interval.is_zero() && !silent_ports(&self.fabric).is_empty();
        self.schedule.set_silent_ports(has_silent_ports);
        self.schedule.finish_sweep(self.now, interval, light_due);
    }
}
