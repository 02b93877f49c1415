//! The phases of a sweep in order: discovery, SMInfo scan, readback, routing, tables, arming, activation (IBA vol. 1, 14.4).
//!
//! A phase ends when the request queue is idle. A node that does not respond is reported and read again later.

use std::sync::Arc;

use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::PortNum;
use ferrosm_mad::mad::Status;
use ferrosm_mad::time::Instant;

use super::SubnetManager;
use super::activity::{Activity, Sweep, SweepPhase};
use crate::io::{Event, Output};
use crate::location::Location;
use crate::partitions;
use crate::plan::failure::RoutingFailure;
use crate::plan::installed_groups::InstalledGroups;
use crate::plan::routes::RoutingJobResult;
use crate::plan::vls::FabricVlPlan;
use crate::report::{Problem, ProblemKind};
use crate::smp::op::{PortSetting, SmpOp};
use crate::smp::queue::Limits;
use crate::subnet::{NodeIdx, PortRef};
use crate::sweep::discovery::reread_uncleared;
use crate::sweep::lft_readback::LftReadback;
use crate::sweep::lft_update::LftUpdate;
use crate::sweep::link_setup::{self, LinkSetup};
use crate::sweep::quarantine::{is_in_fabric, report_quarantined};

impl SubnetManager {
    /// The request queue is idle: ends the current phase, or continues it.
    pub(super) fn step_sweep(&mut self) {
        let Some(sweep) = self.activity.sweep_mut() else {
            return;
        };
        match &mut sweep.phase {
            SweepPhase::Discovery(_) => self.finish_discovery(),
            SweepPhase::SmScan(_) => self.finish_querying_sms(),
            SweepPhase::Readback { lfts, .. } => {
                let lfts = core::mem::take(lfts);
                with_ctx!(self, |ctx| lfts.finish(ctx));
                self.begin_routing();
            }
            SweepPhase::Routing(_) => {
                if let Some(computed) = self.routing.take_result() {
                    self.install(computed);
                }
            }
            SweepPhase::Tables(lfts) => {
                let lfts = core::mem::take(lfts);
                self.continue_tables(lfts);
            }
            SweepPhase::Multicast => self.continue_multicast(),
            SweepPhase::Arm(links) => {
                let links = core::mem::take(links);
                self.begin_activation(links);
            }
            SweepPhase::Activate(_) => self.finish_sweep(),
        }
    }

    pub(super) fn begin_sweep(&mut self, is_local: bool, light_due: Option<Instant>) {
        self.smps.clear();
        self.smps.set_limits(Limits::new(&self.cfg));
        self.mastership.begin_sweep();
        self.routing.cancel_job();
        self.vls.begin_sweep();
        self.last_sweep.number += 1;
        self.last_sweep.has_queried_local = false;
        let sweep = Sweep::new(self.last_sweep.number, is_local, light_due, self.now);
        self.activity = Activity::Sweep(Box::new(sweep));
        self.announce_phase();
    }

    pub(super) fn problem(&mut self, at: Option<PortRef>, kind: ProblemKind) {
        if let Some(sweep) = self.activity.sweep_mut() {
            sweep.add_problem(at, kind);
        }
    }

    /// The problems of a sweep, except those at ports that have left the fabric.
    fn locate_problems(&self, found: Vec<(Option<PortRef>, ProblemKind)>) -> Vec<Problem> {
        // A quarantined neighbour does not mark this SM's own port; the problem is solved if a link was found later.
        let own = self.subnet.local();
        let is_solved = |at: &Option<PortRef>, kind: &ProblemKind| {
            *at == own
                && matches!(kind, ProblemKind::Quarantined(_))
                && at.is_some_and(|p| self.subnet.peer(p).is_some())
        };
        let here = found.into_iter().filter(|(at, kind)| {
            at.is_none_or(|p| is_in_fabric(&self.subnet, p)) && !is_solved(at, kind)
        });
        here.map(|(at, kind)| {
            let location = at.map_or(Location::LocalNode, |p| {
                Location::Port(self.subnet.port_name(p))
            });
            Problem { location, kind }
        })
        .collect()
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

    /// Reads the tables of switches that this SM did not write, so that only differences are written.
    pub(super) fn begin_reading(&mut self) {
        let discovery = self.activity.take_discovery();
        self.enter(SweepPhase::Readback {
            lfts: LftReadback::default(),
            discovery,
        });
        if let Some(readback) = self.activity.lft_readback() {
            with_ctx!(self, |ctx| readback.start(ctx));
        }
        self.find_vl_table_origins();
        let Some(scope) = self.activity.scope() else {
            return;
        };
        with_ctx!(self, |ctx| partitions::read(ctx, scope));
        with_ctx!(self, |ctx| self.multicast.read(ctx, self.sa.registry()));
        // PortStateChange bits seen so far are cleared before tables are written: a bit set later is a new change.
        let changed: Vec<NodeIdx> = self
            .subnet
            .nodes()
            .filter(|(_, n)| n.switch_info().is_some_and(|s| s.port_state_change))
            .map(|(i, _)| i)
            .collect();
        for n in changed {
            self.enqueue(SmpOp::ClearPortStateChange(n));
        }
    }

    /// Plans LIDs, and starts a routing job if the inputs of the routing changed.
    pub(super) fn begin_routing(&mut self) {
        let discovery = self.activity.take_discovery();
        self.enter(SweepPhase::Routing(discovery));
        let reassign = self.cfg.reassign_lids && self.mastership.is_new();
        let (changed, plan_changed) = with_ctx!(self, |ctx| self.lids.assign(ctx, reassign));
        if let Some(report) = self.activity.report() {
            report.lids_changed = changed;
        }
        if plan_changed {
            self.routing.mark_stale();
        }
        if !self.routing.take_due(&self.subnet) {
            self.begin_tables(Box::default());
            return;
        }
        let plan = self.lids.plan();
        let mut job = self.routing.begin_job(&self.subnet, plan, &self.cfg);
        job.previous_vls = self.vls.plan().cloned();
        let groups = self.registry().groups();
        job.groups = InstalledGroups::new(&self.subnet, job.nodes(), groups);
        if self.routing.may_adopt() {
            job.inherited = self
                .adoption
                .installed_routing(&self.subnet, &self.cfg, job.nodes());
        }
        for n in self.unroutable_switches() {
            self.problem(
                Some(PortRef::new(n, PortNum::ZERO)),
                ProblemKind::NoLinearTable,
            );
        }
        self.out.push(Output::Compute(Box::new(job)));
    }

    fn unroutable_switches(&self) -> Vec<NodeIdx> {
        self.subnet
            .nodes()
            .filter(|(_, n)| n.switch_info().is_some_and(|s| s.linear_fdb_cap == 0))
            .map(|(i, _)| i)
            .collect()
    }

    /// Takes the result of a routing job, unless the fabric or the settings have changed since.
    pub(super) fn install(&mut self, computed: RoutingJobResult) {
        if !self.routing.accept(&computed) {
            self.remove_absent();
            self.begin_routing();
            return;
        }
        match computed.result {
            Err(why) => self.routing_failed(why),
            Ok(routes) => {
                let routing = &routes.run.routing;
                let order = routing.order.as_deref().unwrap_or_default();
                for (i, n) in computed.nodes.iter().enumerate() {
                    let order = order.get(i).copied();
                    if self.subnet.get(*n).is_some_and(|node| node.order != order)
                        && let Some(node) = self.subnet.get_mut(*n)
                    {
                        node.order = order;
                    }
                }
                let tables = computed.nodes.iter().copied();
                let tables = tables.zip(routing.tables.iter().map(Arc::clone)).collect();
                let vls = FabricVlPlan::new(computed.id, Arc::clone(&routes.run), &computed.nodes);
                with_ctx!(self, |ctx| self
                    .multicast
                    .set_conflicting(ctx, routes.conflicting_groups));
                let mut lfts = Box::<LftUpdate>::default();
                let vls = lfts.set_wanted(
                    &mut self.subnet,
                    tables,
                    vls,
                    routes.order,
                    routes.sl_to_vl_first,
                );
                if let Some(vls) = vls {
                    self.vls.set_plan(vls);
                }
                let routing = (routes.run, computed.nodes);
                self.routing
                    .install(routing, routes.messages, routes.proof, &self.cfg);
                self.begin_tables(lfts);
            }
        }
    }

    /// No engine found a routing: the installed tables stay, no further link is armed, and the next sweep tries again.
    fn routing_failed(&mut self, why: RoutingFailure) {
        if let Some(report) = self.activity.report() {
            report.engine_messages.push(why.to_string());
            report.failed = true;
        }
        if !self.activity.is_local_sweep() {
            self.commands.on_routing_failed(&mut self.out, &why);
        }
        self.emit(Event::RoutingFailed(why));
        self.routing.mark_stale();
        self.finish_sweep();
    }

    /// Configures ports and arms links, after all tables are written.
    pub(super) fn begin_arming(&mut self) {
        self.enter(SweepPhase::Arm(LinkSetup::default()));
        let Some(scope) = self.activity.scope() else {
            return;
        };
        port_intents!(self, intents);
        with_ctx!(self, |ctx| LinkSetup::arm(ctx, scope, intents));
    }

    fn begin_activation(&mut self, links: LinkSetup) {
        self.enter(SweepPhase::Activate(links));
        let Some(scope) = self.activity.scope() else {
            return;
        };
        let ports = LinkSetup::ports_to_activate(&self.subnet, scope);
        if !ports.is_empty() {
            // A host joins groups and queries paths as soon as its port is Active; the SA must know its LID by then.
            self.publish_view_before_activation();
        }
        for p in ports {
            self.enqueue(SmpOp::SetPortInfo(p, PortSetting::Activate));
        }
    }

    pub(super) fn on_port_set(
        &mut self,
        p: PortRef,
        setting: PortSetting,
        status: Status,
        data: &[u8; 64],
    ) {
        port_intents!(self, intents);
        let links = self.activity.link_setup();
        let implausible = with_ctx!(self, |ctx| link_setup::on_set(
            ctx,
            links,
            (p, setting),
            status,
            data,
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
        let configured = !self.read_only && !sweep.report.failed;
        if configured && let Some(scope) = self.activity.scope() {
            with_ctx!(self, |ctx| LinkSetup::report_inactive(ctx, scope));
        }
        with_ctx!(self, |ctx| report_quarantined(ctx));
        let Activity::Sweep(mut sweep) = core::mem::replace(&mut self.activity, Activity::Idle)
        else {
            return;
        };
        sweep.end_phase(self.now);
        self.announce_phase();
        let mut report = sweep.report;
        report.problems = self.locate_problems(sweep.problems);
        report.fullest_pkey_table = sweep.partitions.into_fullest();
        let count = |t: NodeType| {
            self.subnet
                .nodes()
                .filter(|(_, n)| n.info.node_type == t)
                .count()
        };
        report.switches = count(NodeType::Switch);
        report.cas = count(NodeType::Ca);
        report.routers = count(NodeType::Router);
        report.links = self.subnet.link_count();
        report.took = self.now.since(sweep.started);
        if !self.read_only {
            report.lids = self.lids.count();
            report.top_lid = self.lids.top();
            report.absent = self.lids.absent();
        }
        if report.switches > 0 && configured {
            self.routing.report(&mut report);
        }
        if configured {
            self.lids.confirm(&self.subnet);
            self.adoption.forget_installed();
            if self.is_master() {
                with_ctx!(self, |ctx| self.keys.remove_exceptions(ctx));
            }
            self.mastership.finish_sweep();
        }
        if self.routing.is_stale() && configured {
            // The fabric changed after routes were computed.
            self.want_local();
        }
        self.last_sweep.report = Some(report.clone());
        with_ctx!(self, |ctx| reread_uncleared(ctx, &sweep.uncleared));
        if !self.read_only {
            self.schedule
                .finish_sweep(self.now, self.cfg.sweep_interval, sweep.light_due);
        }
        if configured {
            self.publish_view();
        }
        if !report.local {
            self.commands.on_full_sweep_done(&mut self.out, &report);
        }
        self.emit(Event::SweepCompleted(Box::new(report)));
    }
}
