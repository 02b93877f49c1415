//! Applies effects: the one place where what a component did concerns others.

use ferrosm_mad::attr::SmState;

use super::SubnetManager;
use crate::effect::Effect;
use crate::event::Event;
use crate::routing::routes::RoutingStart;
use crate::sweep::activity::Activity;

impl SubnetManager {
    /// Applies the effects of a component in order. The consequences of an effect precede the
    /// effects after it.
    pub(super) fn apply_effects(&mut self) {
        let mut due: Vec<Effect> = self.effects.drain_reversed().collect();
        while let Some(effect) = due.pop() {
            self.apply_one(effect);
            due.extend(self.effects.drain_reversed());
        }
    }

    /// Applies an effect and its consequences.
    pub(super) fn apply(&mut self, effect: Effect) {
        self.effects.push(effect);
        self.apply_effects();
    }

    fn apply_one(&mut self, effect: Effect) {
        match effect {
            Effect::Problem(at, kind) => self.add_problem(at, *kind),
            Effect::Message(message) => {
                if let Some(report) = self.activity.report() {
                    report.routing_messages.push(*message);
                }
            }
            Effect::RereadSwitchLater(n) => self.schedule.reread_switch_later(n),
            Effect::RereadPortLater(p) => self.schedule.reread_port_later(p),
            Effect::RereadPortsLater(ports) => {
                for p in ports {
                    self.schedule.reread_port_later(p);
                }
            }
            Effect::RereadSwitch(n) => self.schedule.reread_switch(n),
            Effect::RereadPort(p) => self.schedule.reread_port(p),
            Effect::LocalNodeUnusable(why) => self.enter_no_link(*why),
            Effect::LinkMoved(at) => self.on_link_moved(at),
            Effect::NodeAdded(n) => {
                if self.reports_additions() {
                    self.last_sweep.added_nodes.insert(n);
                }
            }
            Effect::NodeRemoved(n) => {
                self.schedule.remove_node(n);
                self.mastership.remove_node(n);
            }
            Effect::LinkAdded(a, b) => {
                if self.reports_additions() {
                    self.last_sweep.link_rates.check_later([a]);
                    self.last_sweep.added_links.insert((a.min(b), a.max(b)));
                }
            }
            Effect::LinkReplaced(a, b) => {
                if self.reports_additions() {
                    self.last_sweep.replaced_links.insert((a.min(b), a.max(b)));
                }
            }
            Effect::LinkLost(p) => {
                let sweep = self.last_sweep.number;
                with_ctx!(self, |ctx| self.link_stability.on_link_lost(ctx, p, sweep));
            }
            Effect::SwitchRestarted(n) => self.link_stability.on_switch_restarted(n),
            Effect::RateChanged(p) => self.last_sweep.link_rates.check_later([p]),
            Effect::PortReset(guid) => self.sa.on_port_reset(guid),
            Effect::SwitchesUncounted(at, reason) => {
                self.surveys.on_excluded(at, reason, self.now);
            }
            Effect::SwitchUnread(n) => {
                if let Some(discovery) = self.activity.discovery() {
                    discovery.on_unread_switch(&self.fabric, n);
                }
            }
            Effect::SwitchResponds => self.routing.on_switch_responds(),
            Effect::LinksContradict => self.schedule.record_link_conflict(self.now),
            Effect::InvalidResponse => self.schedule.record_inconsistency(self.now),
            Effect::RoutesOutdated => self.routing.mark_stale(),
            Effect::KeptTablesChanged => self.routing.reroute_from(RoutingStart::InstalledTables),
            Effect::TableRejected(port) => {
                if let Some(update) = self.activity.table_update()
                    && update.lfts.is_ordered()
                {
                    update.lfts.block_on(port);
                }
            }
            Effect::NewVlEpoch => self.adoption.on_vl_tables_changing(),
            Effect::ReregisterSent(guid) => self.sa.on_reregister_sent(guid),
            Effect::ReregisterFailed(guid) => self.sa.on_reregister_failed(guid),
            Effect::SwitchUncleared(n) => {
                if let Some(sweep) = self.activity.sweep_mut() {
                    sweep.uncleared_switches.insert(n);
                }
            }
            Effect::ForwardTrap(notice, at) => self.forward_trap(&notice, at),
            Effect::RequestLightSweep => self.schedule.request_light(),
            Effect::RequestLocalSweep => self.request_local_sweep(),
            Effect::RequestFullSweep => self.request_full_sweep(),
            Effect::StartFullSweep => self.begin_full_sweep(),
            Effect::Elect(input) => self.elect(input, None),
            Effect::ElectOnRequest(input, request) => self.elect(input, Some(&request)),
            Effect::Reply(mad) => self.outbox.send(mad.to, mad.mad),
            Effect::CarryOut(decision) => self.carry_out(decision),
            Effect::ReportRole(state, handed_to) => {
                let handed_to = handed_to.map(|guid| self.describe_sm(guid));
                let master = self.polled_master();
                self.commands
                    .on_role(&mut self.outbox, state, handed_to, master);
            }
            Effect::SweepAsElected { is_link_down } => self.sweep_as_elected(is_link_down),
            Effect::SendUntracked(op) => self.send_untracked(op),
            Effect::QuerySender(query) => self.query_sender(*query),
            Effect::Yield => {
                if !matches!(self.activity, Activity::AwaitMastership) {
                    self.abandon_for(Activity::AwaitMastership);
                }
            }
            Effect::LeaveSubnet => {
                self.abandon_for(Activity::Standby);
                self.schedule.cancel();
                with_ctx!(self, |ctx| self.keys.persist_as_standby(ctx));
            }
            Effect::AwaitReplica => self.abandon_for(Activity::AwaitReplica),
            Effect::EndSmScan => self.end_sm_scan(),
            Effect::UnconfirmLids => self.lids.unconfirm(),
            Effect::PreserveState { replica_unverified } => {
                self.preserve_state(replica_unverified);
            }
            Effect::DiscardReplica => self.adoption.forget(),
            Effect::DiscardStateOfOtherSm => {
                if self.adoption.is_of_another_sm(&self.fabric) {
                    self.adoption.forget_installed();
                }
            }
            Effect::CompareSms => self.compare_sms(),
            Effect::CompareSmsAndSweep => {
                self.compare_sms();
                if self.role() == SmState::Master && self.activity.is_idle() {
                    self.begin_full_sweep();
                }
            }
            Effect::ReportNotHandedOver(why) => {
                self.commands.on_not_handed_over(&mut self.outbox, &why);
                self.emit(Event::Election(*why));
            }
            Effect::ReportStopped {
                handed_to,
                was_master,
            } => {
                let handed_to = handed_to.map(|guid| self.describe_sm(guid));
                self.commands
                    .on_stopped(&mut self.outbox, handed_to, was_master);
                self.emit(Event::Stopped {
                    handed_to,
                    was_master,
                });
            }
        }
    }

    /// Whether nodes and links that were added are news: before, another SM may have been master,
    /// and what it saw come up is not.
    fn reports_additions(&self) -> bool {
        self.last_sweep.report.is_some() && !self.mastership.is_first_as_master()
    }
}
