//! From what is to what should be: LIDs, routes, tables, ports, links, in the order of behaviour rule 3.6.
//!
//! Tables are complete before any link is armed, and all links are armed before any becomes active. Each step waits for
//! its answers, not for a node that gives none: that one is reported and asked again later.

use core::hash::{Hash, Hasher};
use std::collections::BTreeSet;
use std::sync::Arc;

use ferrosm_mad::attr::{NodeType, PortInfo, PortState, id};
use ferrosm_mad::ids::PortNum;
use ferrosm_mad::mad::Status;

use super::{Stage, SubnetManager};
use crate::ctx::SweepScope;
use crate::io::{Event, Output};
use crate::plan::installed_groups::InstalledGroups;
use crate::plan::ports;
use crate::plan::routes::Computed;
use crate::plan::vls::VlPlan;
use crate::report::{Phase, ProblemKind, QuarantineReason};
use crate::smp::op::{PortSetting, SmpOp};
use crate::subnet::{Node, NodeIdx, Port, PortRef, plausible};
use crate::sweep::lft_readback::LftReadback;
use crate::sweep::quarantine::report_quarantined;

/// Bounces of a link whose ends keep a mismatch, with `links.bounce`; after that its values are rewritten.
const MAX_RESTARTS: u8 = 3;

impl SubnetManager {
    /// Reads the tables of switches that had some before this SM came, so that only differences are written.
    pub(super) fn begin_reading(&mut self) {
        self.enter(Phase::ReadTables);
        self.readback = with_ctx!(self, |ctx| LftReadback::start(ctx));
        self.find_vl_table_origins();
        let read = &self.sweep.touched;
        let scope = SweepScope::new(self.sweep.local, read);
        with_ctx!(self, |ctx| self.partitions.read(ctx, scope));
        with_ctx!(self, |ctx| self.multicast.read(ctx, self.sa.registry()));
        // Changes that were seen before this SM might write are cleared before tables are written: what is set after
        // that, came after that.
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

    pub(super) fn finish_reading(&mut self) {
        let readback = core::mem::take(&mut self.readback);
        with_ctx!(self, |ctx| readback.finish(ctx));
        self.begin_routing();
    }

    /// Plans LIDs, and has routes computed where something changed that they depend on.
    pub(super) fn begin_routing(&mut self) {
        self.enter(Phase::Route);
        let reassign = self.cfg.reassign_lids && self.is_new;
        let (changed, plan_changed) = with_ctx!(self, |ctx| self.lids.assign(ctx, reassign));
        self.sweep.report.lids_changed = changed;
        if plan_changed {
            self.routing.mark_stale();
        }
        if !self.routing.take_due(&self.subnet) {
            self.begin_writing();
            return;
        }
        let plan = self.lids.plan();
        let mut job = self.routing.begin_job(&self.subnet, plan, &self.cfg);
        job.lanes_before = self.vls.plan().cloned();
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

    /// Takes the result of a routing job, unless a change became known meanwhile: then it is stale. What was made for
    /// other settings is never taken.
    pub(super) fn install(&mut self, computed: Computed) {
        if !self.routing.accept(&computed) {
            self.remove_absent();
            self.begin_routing();
            return;
        }
        match computed.result {
            Err(why) => {
                self.emit(Event::RoutingFailed(why.clone()));
                self.sweep.report.engine_notes.push(why);
                self.routing_failed();
            }
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
                let vls = VlPlan::new(computed.id, Arc::clone(&routes.run), &computed.nodes);
                with_ctx!(self, |ctx| self
                    .multicast
                    .set_conflicting(ctx, routes.in_the_way));
                let vls = self.lfts.set_wanted(
                    &mut self.subnet,
                    tables,
                    vls,
                    routes.order,
                    routes.lanes_first,
                );
                if let Some(vls) = vls {
                    self.vls.set_plan(vls);
                }
                let routing = (routes.run, computed.nodes);
                self.routing
                    .install(routing, routes.notes, routes.proof, &self.cfg);
                self.begin_writing();
            }
        }
    }

    /// No engine could do it: the old tables stay, no link is armed that was not, and it is tried again.
    fn routing_failed(&mut self) {
        self.sweep.report.failed = true;
        self.routing.mark_stale();
        self.finish_sweep();
    }

    /// Whether a port's parameters differ from what they should be, and asking could help.
    pub(super) fn needs_params(&self, p: PortRef) -> bool {
        let (Some(want), Some(port)) = (self.wanted_port(p), self.subnet.port(p)) else {
            return false;
        };
        let urgent = port.asked.is_none() || PortInfo::decode(&want).client_reregister;
        want != ports::current(port) && (urgent || port.asked != self.fingerprint(p))
    }

    /// Stands for "this is wanted of the port while it says that"; a wish to register again is no lasting value.
    fn fingerprint(&self, p: PortRef) -> Option<u64> {
        let want = ports::wanted(&self.subnet, p, self.address_of(p), &self.cfg, false)?;
        let mut h = rustc_hash::FxHasher::default();
        want.hash(&mut h);
        ports::current(self.subnet.port(p)?).hash(&mut h);
        Some(h.finish())
    }

    /// Ports with a cable whose far end is known, switch ports 0 that are end ports, and the SM's own.
    fn live_ports(&self) -> Vec<PortRef> {
        let local = self.subnet.local();
        let mut ports: Vec<PortRef> = local
            .into_iter()
            .filter(|p| ports::is_live(&self.subnet, *p))
            .collect();
        let mut add = |p: PortRef| {
            if Some(p) != local && ports::is_live(&self.subnet, p) {
                ports.push(p);
            }
        };
        if self.sweep.local {
            // Only what was read can have changed, and what is at the other end of it.
            let mut near = self.sweep.touched.clone();
            near.extend(
                self.sweep
                    .touched
                    .iter()
                    .filter_map(|p| self.subnet.peer(*p)),
            );
            near.into_iter().for_each(&mut add);
        } else {
            for (n, node) in self.subnet.nodes() {
                (0..=node.info.num_ports).for_each(|p| add(PortRef::new(n, PortNum(p))));
            }
        }
        ports
    }

    /// Configures ports and arms those links that wait for it. Needs complete tables.
    pub(super) fn begin_arming(&mut self) {
        self.enter(Phase::Arm);
        let mut restarted = BTreeSet::new();
        let mut mismatches = BTreeSet::new();
        for p in self.live_ports() {
            let (Some(port), false) = (self.subnet.port(p), restarted.contains(&p)) else {
                continue;
            };
            let state = port.state();
            let peer = self.subnet.peer(p).filter(|_| p.port != PortNum::ZERO);
            let mismatched = peer
                .and_then(|peer| self.subnet.port(peer))
                .is_some_and(|far| ports::has_link_mismatch(port, far, &self.cfg));
            if port.restarts != 0
                && !mismatched
                && let Some(port) = self.subnet.port_mut(p)
            {
                port.restarts = 0;
            }
            if let Some(peer) = peer.filter(|_| mismatched)
                && self.cfg.bounce_links
                && self.may_restart(p)
            {
                self.problem(Some(p), ProblemKind::LinkBounced);
                restarted.extend([p, peer]);
                for side in self.switch_side(p, peer) {
                    self.schedule.reread_port(side);
                }
                self.enqueue(SmpOp::SetPortInfo(p, PortSetting::Bounce));
                self.want_local();
                continue;
            }
            // One report a link: that of the end that comes first.
            if let Some(peer) = peer.filter(|_| mismatched)
                && mismatches.insert(p.min(peer))
            {
                self.problem(Some(p), ProblemKind::LinkMismatch);
            }
            // A port without a LID must not carry data.
            let addressed = self.has_address(p);
            if state == PortState::Initialize && addressed {
                self.enqueue(SmpOp::SetPortInfo(p, PortSetting::Arm));
            } else if addressed && self.needs_params(p) {
                self.enqueue(SmpOp::SetPortInfo(p, PortSetting::Params));
            }
        }
    }

    fn may_restart(&mut self, p: PortRef) -> bool {
        self.subnet.port_mut(p).is_some_and(|port| {
            port.restarts = port.restarts.saturating_add(1);
            port.restarts <= MAX_RESTARTS
        })
    }

    fn switch_side(&self, a: PortRef, b: PortRef) -> Vec<PortRef> {
        [a, b]
            .into_iter()
            .filter(|p| self.subnet.get(p.node).is_some_and(Node::is_switch))
            .collect()
    }

    /// Whether a port has a LID, or needs none; the far side of a cable counts, because both ends go up together.
    fn has_address(&self, p: PortRef) -> bool {
        let own = |p: PortRef| match self.subnet.get(p.node) {
            Some(node) if node.is_switch() && p.port != PortNum::ZERO => true,
            _ => {
                self.address_of(p).is_some()
                    && self.subnet.port(p).is_some_and(|x| x.quarantine.is_none())
            }
        };
        own(p) && self.subnet.peer(p).is_none_or(own)
    }

    pub(super) fn begin_activation(&mut self) {
        self.enter(Phase::Activate);
        let mut to_activate = Vec::new();
        for p in self.live_ports() {
            let state = |p: PortRef| self.subnet.port(p).map_or(PortState::Down, Port::state);
            // Next to a port that is not armed an active one would lose what it sends (rule 3.6).
            let far_is_ready = p.port == PortNum::ZERO
                || self
                    .subnet
                    .peer(p)
                    .is_none_or(|far| state(far) >= PortState::Armed);
            if state(p) == PortState::Armed && far_is_ready {
                to_activate.push(p);
            }
        }
        if !to_activate.is_empty() && !self.sweep.report.failed {
            // A host joins and queries paths as soon as its port is Active: the SA knows its LID before.
            self.publish_view_before_activation();
        }
        for p in to_activate {
            self.enqueue(SmpOp::SetPortInfo(p, PortSetting::Activate));
        }
    }

    /// A Set was not taken, or its answer is lost: if it was to tell a host to register again, that is not done.
    pub(super) fn tell_again(&mut self, p: PortRef, step: PortSetting) {
        if step.carries_params()
            && self.reregisters(p, self.address_of(p))
            && let Some(port) = self.subnet.port(p)
        {
            self.sa.on_reregister_failed(port.guid);
        }
    }

    pub(super) fn on_port_set(
        &mut self,
        p: PortRef,
        step: PortSetting,
        status: Status,
        data: &[u8; 64],
    ) {
        let is_switch = self.subnet.get(p.node).is_some_and(Node::is_switch);
        let has_link = !is_switch || p.port != PortNum::ZERO;
        let Some(port) = self.subnet.port_mut(p) else {
            return;
        };
        if status.is_ok() {
            let wrong = plausible::wrong_port_info(&PortInfo::decode(data), has_link);
            if let Some(why) = wrong {
                let why = QuarantineReason::Garbage(why);
                self.on_port_info_failed(p, ProblemKind::Quarantined(why));
                return;
            }
            port.raw = *data;
            port.known = true;
            match step {
                PortSetting::Arm | PortSetting::ArmOnly => port.unproven = true,
                PortSetting::Params
                | PortSetting::ParamsFirst
                | PortSetting::Activate
                | PortSetting::SmLid
                | PortSetting::Bounce => {}
            }
            let asked = self.fingerprint(p).filter(|_| step != PortSetting::SmLid);
            if let Some(port) = self.subnet.port_mut(p) {
                port.asked = asked;
                if step.carries_params() {
                    self.sa.on_reregister_sent(port.guid);
                }
            }
            let state = self.subnet.port(p).map_or(PortState::Down, Port::state);
            let late = match step {
                PortSetting::Arm | PortSetting::ArmOnly => state < PortState::Armed,
                PortSetting::Activate => state < PortState::Active,
                PortSetting::Params
                | PortSetting::ParamsFirst
                | PortSetting::SmLid
                | PortSetting::Bounce => false,
            };
            if step == PortSetting::ParamsFirst {
                self.enqueue(SmpOp::SetPortInfo(p, PortSetting::ArmOnly));
            } else if late {
                // It may get there a moment later; look once more.
                self.enqueue(SmpOp::PortInfo(p));
            }
            return;
        }
        self.tell_again(p, step);
        let refuse = |this: &mut Self| {
            let attr = id::PORT_INFO;
            this.schedule.reread_port_later(p);
            this.problem(Some(p), ProblemKind::Refused { attr, status });
        };
        match step {
            // What it is worth is seen when the sweep comes to this port.
            PortSetting::SmLid => {}
            // Some devices do not take parameters and a state at once.
            PortSetting::Arm => self.enqueue(SmpOp::SetPortInfo(p, PortSetting::ParamsFirst)),
            PortSetting::ParamsFirst => {
                refuse(self);
                // Part of it may have been taken; only what the port says now tells whether it can be armed.
                self.sweep.refused.insert(p);
                self.enqueue(SmpOp::PortInfo(p));
            }
            // The port may have moved by itself (rule 3.7).
            PortSetting::ArmOnly | PortSetting::Activate => self.enqueue(SmpOp::PortInfo(p)),
            PortSetting::Params | PortSetting::Bounce => refuse(self),
        }
    }

    /// Whether a port that refused its parameters has those without which it must not carry data.
    pub(super) fn may_be_armed(&self, p: PortRef) -> bool {
        let Some(port) = self.subnet.port(p) else {
            return false;
        };
        let info = port.info();
        let is_external =
            p.port != PortNum::ZERO && self.subnet.get(p.node).is_some_and(Node::is_switch);
        port.state() == PortState::Initialize
            && (is_external
                || self
                    .address_of(p)
                    .is_some_and(|a| (a.lid, a.sm_lid) == (info.lid, info.master_sm_lid)))
    }

    /// Ports that may have changed between their reading and the clearing of the change bit. Those that were written since
    /// have told how they are; the others have to be read once more, when there is time.
    fn read_unwritten_ports_later(&mut self) {
        for n in self.discovery.take_uncleared() {
            let Some(node) = self.subnet.get(n) else {
                continue;
            };
            let ports = node.physical_ports().map(|p| PortRef::new(n, p));
            let unwritten: Vec<PortRef> = ports
                .filter(|p| !ports::is_live(&self.subnet, *p))
                .collect();
            for p in unwritten {
                self.schedule.reread_port_later(p);
            }
        }
    }

    fn is_below_active(&self, p: PortRef) -> bool {
        self.subnet
            .port(p)
            .is_some_and(|port| port.state().0 < PortState::Active.0)
    }

    /// The sweep is over: report, and decide what to look at next.
    pub(super) fn finish_sweep(&mut self) {
        let configured = !self.read_only && !self.sweep.report.failed;
        if configured {
            for p in self.live_ports() {
                if self.is_below_active(p) {
                    self.schedule.reread_port_later(p);
                    if let Some(peer) = self.subnet.peer(p) {
                        self.schedule.reread_port_later(peer);
                    }
                    let state = self.subnet.port(p).map_or(PortState::Down, Port::state);
                    self.problem(Some(p), ProblemKind::NotActive(state));
                }
            }
        }
        with_ctx!(self, |ctx| report_quarantined(ctx));
        self.enter(Phase::Idle);
        let mut report = core::mem::take(&mut self.sweep.report);
        report.problems = self.take_problems();
        report.key_room = self.partitions.take_fullest();
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
        report.took = self.now.since(self.sweep.started);
        if !self.read_only {
            report.lids = self.lids.count();
            report.top_lid = self.lids.top();
            report.absent = self.lids.absent();
        }
        if report.switches > 0 && configured {
            self.routing.report(&mut report);
        }
        if configured {
            self.first_as_master = false;
            self.is_new = false;
            self.lids.confirm(&self.subnet);
            self.adoption.forget_installed();
            if self.is_master() {
                with_ctx!(self, |ctx| self.keys.remove_exceptions(ctx));
            }
            self.takeover.end();
        }
        if self.routing.is_stale() && configured {
            // A change came too late for this sweep's routes.
            self.want_local();
        }
        self.last_report = Some(report.clone());
        self.read_unwritten_ports_later();
        self.stage = Stage::Idle;
        self.sweep = super::Sweep::default();
        self.sweep.phase_queued = self.smps.queued();
        if !self.read_only {
            self.schedule
                .finish_sweep(self.now, self.cfg.sweep_interval);
        }
        if configured {
            self.publish_view();
        }
        self.emit(Event::SweepDone(Box::new(report)));
    }
}
