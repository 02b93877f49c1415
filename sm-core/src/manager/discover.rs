//! Starts sweeps, and passes what discovery observes to other components.

use core::time::Duration;

use ferrosm_fabric::observed::{Node, NodeIdx, PortRef};
use ferrosm_mad::attr::{NodeInfo, PortState};
use ferrosm_mad::mad::Status;

use super::SubnetManager;
use crate::ctx::Ctx;
use crate::discovery::exclusion::is_in_fabric;
use crate::discovery::silent_ports::isolation;
use crate::discovery::unresponsive::UnresponsivePolicy;
use crate::discovery::{self, Discovery, ReadMode};
use crate::event::{Event, NoLinkReason};
use crate::report::{ActivityKind, ProblemKind, SweepKind};
use crate::schedule::scope::SweepScope;
use crate::smp::op::SmpOp;
use crate::sweep::activity::Activity;

/// Interval at which the SM's port is read while it has no link, if light sweeps are disabled.
const NO_LINK_RETRY: Duration = Duration::from_secs(10);

impl SubnetManager {
    pub(super) fn begin_full_sweep(&mut self) {
        let interval = self.cfg.sweep_interval;
        self.schedule.begin_full_sweep(self.now, interval);
        self.traps.begin_full_sweep();
        self.keys.begin_full_sweep();
        self.begin_sweep(SweepScope::Full);
        self.commands
            .on_full_sweep_started(&mut self.outbox, self.last_sweep.number);
        self.fabric.begin_full_sweep();
        self.routing.mark_stale();
        self.enqueue(SmpOp::NodeInfo(None));
    }

    pub(super) fn begin_local_sweep(&mut self) {
        let light_due = self.schedule.begin_local_sweep();
        self.begin_sweep(SweepScope::local(light_due));
        self.enqueue_rereads();
    }

    /// Reads the scheduled switches and ports.
    pub(super) fn enqueue_rereads(&mut self) {
        let rereads = self.schedule.take_rereads();
        for n in rereads.switches {
            if self.fabric.get(n).is_some_and(Node::is_switch) {
                self.enqueue(SmpOp::SwitchInfo(n));
            }
        }
        for p in rereads.ports {
            if is_in_fabric(&self.fabric, p) {
                self.enqueue(SmpOp::PortInfo(p));
            }
        }
    }

    /// What the SM does while a response arrives.
    pub(super) fn read_mode(&self) -> ReadMode {
        ReadMode {
            activity: self.activity(),
            is_master: self.is_master(),
            keeps_unresponsive: self.keeps_unresponsive(),
        }
    }

    /// Treats all tables as unknown, because another SM may have written them: they are read back
    /// before anything is written.
    pub(super) fn distrust_tables(&mut self) {
        self.remember_tables();
        let nodes: Vec<NodeIdx> = self.fabric.node_indices().collect();
        for n in nodes {
            if let Some(node) = self.fabric.get_mut(n) {
                node.forget_tables();
            }
        }
        // The other SM may have used other routes and multicast trees: the installed ones are
        // adopted.
        self.routing.forget_installed();
        self.mfts.discard_trees();
    }

    /// Sets of VL tables may have reached other devices than those at the end of their DR paths.
    /// Unlike LFTs they are not read back, and what was recorded of them is wrong, so that they are
    /// written again ([`crate::vls`]).
    pub(super) fn distrust_vl_tables(&mut self) {
        if !self.is_master() || self.read_only {
            return;
        }
        let recorded = self.view().and_then(|view| view.routing());
        if let Some(epoch) = recorded.map(|(_, origin)| origin.sl_to_vl_epoch) {
            with_ctx!(self, |ctx| self.vls.invalidate(ctx, epoch));
        }
    }

    pub(super) fn on_node_info(&mut self, from: Option<PortRef>, status: Status, data: &[u8; 64]) {
        let port_guid = NodeInfo::port_guid.read(data);
        let had_lid =
            self.fabric.port_by_guid(port_guid).is_none() && self.lids.lids_of(port_guid).is_some();
        self.discover(|discovery, ctx| {
            discovery.on_node_info(ctx, from, status, data, had_lid);
            true
        });
    }

    /// All responses of discovery are in: locates nodes whose GUIDs were contested, until there are
    /// further requests.
    pub(super) fn locate_contested(&mut self) {
        while self.smps.is_idle()
            && self.discover(|discovery, ctx| {
                let contested = discovery.take_contested();
                if let Some((from, info)) = &contested {
                    discovery.locate(ctx, Some(*from), info, false);
                }
                contested.is_some()
            })
        {}
    }

    /// Known devices that did not respond stay, where that is possible, and the nodes behind them
    /// are queried.
    pub(super) fn keep_unresponsive(&mut self) {
        if self.smps.is_idle()
            && let Some(discovery) = self.activity.discovery()
        {
            with_ctx!(self, |ctx| discovery.keep_unresponsive(ctx));
        }
    }

    /// Whether a full sweep runs that preserves known devices which do not respond.
    fn keeps_unresponsive(&self) -> bool {
        let sweep = self.activity.sweep();
        let discovery = sweep.and_then(|sweep| sweep.discovery.as_ref());
        discovery.is_some_and(Discovery::keeps_unresponsive)
    }

    /// What a full sweep does with devices that do not respond. A new master does not know their
    /// tables, except by the snapshot of the last one.
    pub(super) fn unresponsive_policy(&self) -> UnresponsivePolicy {
        let knows_tables = self.is_master() && !self.mastership.is_first_as_master();
        if self.commands.excludes_unresponsive() {
            UnresponsivePolicy::Exclude
        } else if knows_tables {
            UnresponsivePolicy::Keep
        } else {
            UnresponsivePolicy::Restore
        }
    }

    /// Nothing else is left to read: reads ports of hosts that were not reached.
    pub(super) fn read_unreached_ports(&mut self) {
        if let Some(discovery) = self.activity.discovery().filter(|_| self.smps.is_idle()) {
            with_ctx!(self, |ctx| discovery.read_unreached_ports(ctx));
        }
    }

    /// Has discovery process a NodeInfo; returns whether there was one.
    fn discover(&mut self, step: impl FnOnce(&mut Discovery, &mut Ctx<'_>) -> bool) -> bool {
        let Some(discovery) = self.activity.discovery() else {
            return false;
        };
        with_ctx!(self, |ctx| {
            let found = step(discovery, ctx);
            let local = ctx.fabric.local();
            let found_local_peer = local.is_some_and(|p| discovery.has_queried(p));
            self.last_sweep.found_local_peer |= found_local_peer;
            found
        })
    }

    pub(super) fn on_node_info_failed(&mut self, from: Option<PortRef>) {
        let mut scope = self.activity.scope().map(SweepScope::kind);
        // An SM that reaches nothing, and knows another SM, yields to it.
        let is_isolated =
            from.is_some() && from == self.own_link_port() && self.mastership.knew_other_sm();
        if let Some(from) = from.filter(|_| !is_isolated) {
            if self.activity().is_full_discovery() {
                let fabric = &self.fabric;
                let discovery = self.activity.discovery();
                if discovery.is_some_and(|discovery| discovery.on_unanswered(fabric, from)) {
                    return;
                }
            }
            if self.keeps_unresponsive() {
                scope = Some(SweepKind::Local);
            }
        }
        with_ctx!(self, |ctx| discovery::on_node_info_failed(ctx, from, scope));
    }

    pub(super) fn on_link_moved(&mut self, at: PortRef) {
        self.distrust_vl_tables();
        self.distrust_tables();
        if self.activity.is_local_sweep() {
            let event = Event::LinkMoved(self.fabric.port_name(at));
            self.emit(event);
            self.begin_full_sweep();
        }
    }

    /// A PortInfo response: checked, compared with what another master would write, stored, then
    /// passed to the components that depend on it, in this order.
    pub(super) fn on_port_info(&mut self, at: PortRef, status: Status, data: &[u8; 64]) {
        let mode = self.read_mode();
        let Some(change) = with_ctx!(self, |ctx| discovery::check_port_info(
            ctx, at, status, data, mode
        )) else {
            return;
        };
        let new = change.new;
        self.detect_foreign_change(at, &new);
        if !with_ctx!(self, |ctx| discovery::store_port_info(ctx, &change, mode)) {
            return;
        }
        if self.fabric.local() == Some(at) {
            self.hide_before_first_contact(Some(&new));
        }
        self.traps.on_port_read(at.node);
        if let Some(sweep) = self.activity.sweep_mut() {
            sweep.scope.on_port_read(at);
        }
        self.correct_restored_view(at);
        self.write_sm_lid_early(at);
        with_ctx!(self, |ctx| discovery::read_fdr10(ctx, &change, mode));
        let is_switch = self.fabric.get(at.node).is_some_and(Node::is_switch);
        let is_own = self.fabric.local() == Some(at) && !is_switch;
        if mode.activity == ActivityKind::LightSweep && is_own && new.port_state < PortState::Active
        {
            self.abandon_light_sweep();
            return;
        }
        port_intents!(self, intents);
        if let Some(arming) = self.activity.arming() {
            with_ctx!(self, |ctx| arming.on_port_observed(ctx, at, intents));
        }
        if !mode.activity.follows_responses() {
            return;
        }
        if change.is_external() {
            if let Some(discovery) = self.activity.discovery() {
                with_ctx!(self, |ctx| {
                    discovery.note_port_state(ctx, &change);
                    discovery.follow_external_port(ctx, at);
                });
            }
        } else if is_own {
            if new.port_state == PortState::Down {
                self.enter_no_link(NoLinkReason::PortDown(self.fabric.port_name(at)));
            } else if !self.reload_replica() {
                self.enqueue(SmpOp::NodeInfo(Some(at)));
            }
        }
    }

    pub(super) fn on_port_info_failed(&mut self, at: PortRef, kind: ProblemKind) {
        let mode = self.read_mode();
        with_ctx!(self, |ctx| discovery::on_port_info_failed(
            ctx, at, kind, mode
        ));
    }

    pub(super) fn enter_no_link(&mut self, reason: NoLinkReason) {
        self.abandon_for(Activity::NoLink);
        // Also if light sweeps are disabled: nothing else may report that the link is up.
        let interval = self.cfg.sweep_interval;
        let retry = if interval.is_zero() {
            NO_LINK_RETRY
        } else {
            interval
        };
        self.schedule.arm_timer(self.now, retry);
        // Another SM may become master while the link is down.
        self.step_election(crate::election::ElectionInput::LinkDown);
        self.distrust_replica();
        self.commands.on_no_link(&mut self.outbox);
        self.last_sweep.report_no_link(reason, &mut self.outbox);
    }

    /// Ends the sweep of an SM that reaches no device. Its report shows which port or neighbour
    /// does not respond; it is not repeated at each attempt.
    fn report_isolation(&mut self, reason: NoLinkReason) {
        // Before the report: no command is complete, and `--once` ends with the reason.
        self.commands.on_no_link(&mut self.outbox);
        if self.last_sweep.report_no_link(reason, &mut self.outbox) {
            self.finish_sweep();
        }
    }

    /// Discovery has received all responses.
    pub(super) fn finish_discovery(&mut self) {
        self.remove_absent();
        let Some(local) = self.fabric.local() else {
            self.enter_no_link(NoLinkReason::LocalNodeUnknown);
            return;
        };
        if !self.read_only
            && (self.mastership.is_first_as_master() || self.mastership.knew_other_sm())
            && let Some(reason) = isolation(&self.fabric, local)
        {
            self.report_isolation(reason);
            self.enter_no_link(reason);
            return;
        }
        // A local sweep of an isolated master finds no more than the light sweeps before it.
        if !self.activity.is_local_sweep() && self.last_sweep.no_link.take().is_some() {
            self.emit(Event::LocalPortUsable(self.fabric.port_name(local)));
        }
        self.report_additions();
        if self.read_only {
            self.finish_sweep();
        } else {
            self.distrust_tables_after_foreign_change();
            self.begin_reading_foreign_tables();
        }
    }

    /// Removes what the sweep did not find.
    pub(super) fn remove_absent(&mut self) {
        if let Some(discovery) = self.activity.discovery() {
            with_ctx!(self, |ctx| discovery.remove_absent(ctx));
        }
    }
}
