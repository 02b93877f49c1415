//! Uses [`crate::adoption`]: replies to clients before the first sweep as master is complete, and
//! the origin of VL tables.

use core::time::Duration;
use std::sync::Arc;

use ferrosm_fabric::observed::PortRef;
use ferrosm_mad::attr::SmState;

use super::SubnetManager;
use crate::adoption::ViewUpdate;
use crate::sweep::activity::Activity;
use crate::vls;

impl SubnetManager {
    /// The age of the restored view while it is in use, until the first sweep is complete.
    #[must_use]
    pub fn restored_view_age(&self) -> Option<Duration> {
        self.adoption.view_age(self.now)
    }

    /// Whether this SM replies to clients.
    pub(super) fn may_answer(&self) -> bool {
        match self.role() {
            SmState::Master => true,
            SmState::Discovering => self.adoption.is_view_in_use(),
            // The new master updates the hosts' SM LID one after another; until then they send
            // requests to this SM.
            _ => self.mastership.answers_sa_reads(),
        }
    }

    /// Publishes the restored view when it is known to be of this subnet, until a sweep of this run
    /// is complete.
    pub(super) fn update_restored_view(&mut self) {
        match self.role() {
            SmState::Master | SmState::Discovering => {}
            _ if self.mastership.answers_sa_reads() => return,
            // The master's state is newer than the restored view.
            _ => {
                self.adoption.forget();
                self.sa.forget_persisted_view(&mut self.outbox);
                return;
            }
        }
        if matches!(self.activity, Activity::NoLink) || self.read_only {
            let update = self.adoption.suspend_view();
            self.publish_restored(update);
            return;
        }
        if !self.adoption.has_unused_view() {
            return;
        }
        let is_master = self.role() == SmState::Master;
        let found_local_peer = is_master || self.last_sweep.found_local_peer;
        if !with_ctx!(self, |ctx| self.adoption.may_use_view(
            ctx,
            is_master,
            found_local_peer
        )) {
            return;
        }
        let own_record = self.own_sm_record();
        let aliases = Arc::clone(self.registry().aliases().tables());
        let update = self.adoption.use_view(self.now, own_record, aliases);
        if let Some(view) = update.as_ref().and_then(|update| update.view.as_ref()) {
            self.sa.update_partition_groups(&self.cfg, view);
        }
        self.publish_restored(update);
    }

    fn publish_restored(&mut self, update: Option<ViewUpdate>) {
        if let Some(ViewUpdate { view, event }) = update {
            self.sa
                .publish_restored_view(&mut self.outbox, &self.cfg, view, event);
        }
    }

    /// A port was read: corrects the restored view.
    pub(super) fn correct_restored_view(&mut self, at: PortRef) {
        let published = self.sa.snapshot();
        let update = self.adoption.on_port_read(&self.fabric, at, published);
        self.publish_restored(update);
    }

    /// Discovery is complete: compares the restored view with it.
    pub(super) fn compare_restored_view(&mut self) {
        let published = self.sa.snapshot();
        let update = self.adoption.on_discovered(&self.fabric, published);
        self.publish_restored(update);
    }

    /// Before anything is written: determines the VL tables of devices that this SM did not write.
    pub(super) fn find_vl_table_origins(&mut self) {
        let announced_master = self.announced_master();
        for n in vls::nodes_of_unknown_origin(&self.fabric) {
            if let Some(node) = self.fabric.get(n) {
                let inherited = self.adoption.inherited_vls(node, announced_master);
                vls::set_origin(&mut self.fabric, n, inherited);
            }
        }
    }
}
