//! Calls of [`crate::sa`] and [`crate::sa::alias_guids`]: when views are published, and when
//! requests are answered.

use std::sync::Arc;

use ferrosm_fabric::observed::PortRef;
use ferrosm_fabric::routing_origin::RoutingOrigin;
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_mad::attr::{Notice, SmState};
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::sa::tables::SmInfoRecord;

use super::SubnetManager;
use crate::sa::{ViewInputs, build_snapshot, sm_record};
use crate::sweep::activity::Activity;
use crate::vls;
use ferrosm_sa::View;
use ferrosm_sa::refusal_log::RefusalLog;
use ferrosm_sa::registry::Registry;
use ferrosm_sa::registry::snapshot::RegistrySnapshot;
use ferrosm_sa::request_kind::KindCounts;

impl SubnetManager {
    /// The view for replies; `None` while this SM does not reply.
    #[must_use]
    pub const fn view(&self) -> Option<&Arc<View>> {
        self.sa.view()
    }

    /// Requests dropped because mastership was undecided.
    #[must_use]
    pub const fn dropped_requests(&self) -> &KindCounts {
        self.sa.dropped_requests()
    }

    /// Requests that the SM refused, by kind and cause.
    #[must_use]
    pub const fn refusals(&self) -> &RefusalLog {
        self.sa.refusals()
    }

    /// What clients have registered.
    #[must_use]
    pub const fn registry(&self) -> &Registry {
        self.sa.registry()
    }

    /// What clients have registered, for reads on other threads.
    pub fn registry_snapshot(&mut self) -> RegistrySnapshot {
        self.sa.registry_snapshot()
    }

    /// A snapshot of the observed fabric. It shares unchanged parts with `before`.
    #[must_use]
    pub fn snapshot(&self, before: Option<&Snapshot>) -> Snapshot {
        let aliases = self.registry().aliases().tables();
        let inputs = self.view_inputs();
        build_snapshot(&self.fabric, &self.cfg, inputs, aliases, before)
    }

    fn view_inputs(&self) -> ViewInputs {
        // An SM with another SM_Key belongs to another administrative domain.
        let other_sms = self.mastership.other_sms(&self.cfg);
        let other_sms = other_sms.map(|(at, info)| sm_record(self.fabric.lid(at), info));
        ViewInputs {
            run: self.routing.installed().map(|(run, nodes)| {
                let node_indices = nodes.iter().map(|n| n.index()).collect();
                (Arc::clone(run), node_indices)
            }),
            origin: self.origin(),
            sms: core::iter::once(self.own_sm_record())
                .chain(other_sms)
                .collect(),
        }
    }

    /// The origin of the installed routing.
    fn origin(&self) -> Option<RoutingOrigin> {
        Some(RoutingOrigin {
            inputs: self.routing.inputs()?.clone(),
            nodes_without_vl_tables: vls::nodes_with_uncertain_tables(&self.fabric),
            sl_to_vl_epoch: self.vls.epoch(),
        })
    }

    /// The SMInfoRecord of this SM.
    pub(super) fn own_sm_record(&self) -> SmInfoRecord {
        let local_port = self.fabric.local();
        let lid = local_port.map_or_else(Default::default, |p| self.fabric.lid(p));
        sm_record(lid, &self.own_sm_info(None))
    }

    /// A sweep is complete: publishes its view.
    pub(super) fn publish_view(&mut self) {
        if self.role() != SmState::Master || self.read_only {
            return;
        }
        let restored = self.adoption.take_restored_view();
        self.alias_guids.retry_unresponsive();
        let (sweep, inputs) = (self.last_sweep.number, self.view_inputs());
        with_ctx!(self, |ctx| self
            .sa
            .publish_sweep_view(ctx, sweep, inputs, restored));
    }

    /// Publishes the view of a sweep before its ports become Active.
    pub(super) fn publish_view_before_activation(&mut self) {
        if self.role() != SmState::Master || self.read_only {
            return;
        }
        let is_restored = self.adoption.is_view_in_use();
        let inputs = self.view_inputs();
        with_ctx!(self, |ctx| self.sa.publish_view_before_activation(
            ctx,
            inputs,
            is_restored
        ));
    }

    /// After each input: withdraws the view if mastership ended, otherwise publishes, persists and
    /// sends what is due.
    pub(super) fn update_sa(&mut self) {
        if self.mastership.has_ended() {
            // The next start begins with what is persisted.
            return;
        }
        self.update_restored_view();
        if !self.may_answer() && self.withdraw_view().is_some() {
            self.clear_registrations();
        }
        if self.role() == SmState::Standby && !self.mastership.answers_sa_reads() {
            // The state restored at the start is older than the master's.
            self.clear_registrations();
        }
        let is_idle = self.activity.is_idle() && !self.schedule.is_requested();
        let is_restored = self.adoption.is_view_in_use();
        with_ctx!(self, |ctx| self.sa.after_input(ctx, is_idle, is_restored));
    }

    /// Ends replies to clients and writes of their alias GUIDs. Returns the last published view.
    pub(super) fn withdraw_view(&mut self) -> Option<Arc<View>> {
        let view = self.sa.withdraw_view(&mut self.outbox)?;
        self.alias_guids.forget();
        Some(view)
    }

    pub(super) fn clear_registrations(&mut self) {
        self.sa.clear_registrations(&mut self.outbox);
    }

    /// Forwards a trap that is not part of a storm to subscribers. Call it before the re-reads that
    /// the trap causes.
    pub(super) fn forward_trap(&mut self, notice: &Notice, at: Option<PortRef>) {
        let is_reread_now = self.rereads_at_once();
        let sweep = self.last_sweep.number + u32::from(!is_reread_now);
        with_ctx!(self, |ctx| self.sa.forward_trap(ctx, notice, at, sweep));
    }

    /// An SA request that cannot be answered from the published view.
    pub(super) fn on_gmp(&mut self, from: Peer, bytes: &[u8]) {
        let may_register = self.mastership.may_register();
        with_ctx!(self, |ctx| self.sa.on_request(
            ctx,
            from,
            bytes,
            may_register
        ));
    }

    /// Between sweeps: starts a round of reads and writes of alias GUIDs. Returns whether there are
    /// any.
    pub(super) fn begin_alias_guids(&mut self) -> bool {
        if !self.is_master() || self.schedule.is_due(self.now) || self.sa.view().is_none() {
            return false;
        }
        let (changed, unverified) = self.sa.take_alias_blocks();
        let started = with_ctx!(self, |ctx| self
            .alias_guids
            .start_round(ctx, changed, unverified));
        if started {
            self.set_activity(Activity::AliasGuids);
        }
        started
    }
}
