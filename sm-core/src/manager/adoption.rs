//! Calls of [`crate::adoption`]: what clients are answered from before the first sweep as master is complete.

use core::time::Duration;
use std::sync::Arc;

use ferrosm_mad::attr::SmState;

use super::SubnetManager;
use super::activity::Activity;
use crate::adoption::ViewUpdate;
use crate::subnet::PortRef;
use crate::vls;

impl SubnetManager {
    /// The age of the restored view that clients are answered from until the first sweep is complete; `None` if they are answered from a
    /// sweep of this run, or not at all.
    #[must_use]
    pub fn restored_view_age(&self) -> Option<Duration> {
        self.adoption.view_age(self.now)
    }

    /// Whether clients may be answered at all.
    pub(super) fn may_answer(&self) -> bool {
        match self.role() {
            SmState::Master => true,
            SmState::Discovering => self.adoption.is_view_in_use(),
            // Hosts do not know yet who is master now.
            _ => self.mastership.is_lingering(),
        }
    }

    /// Answers from the restored view as soon as it is known to be of this subnet, and until a sweep of this run is complete.
    pub(super) fn update_restored_view(&mut self) {
        match self.role() {
            SmState::Master | SmState::Discovering => {}
            _ if self.mastership.is_lingering() => return,
            // The master knows the subnet better than what was restored.
            _ => {
                self.adoption.forget();
                self.sa.forget_persisted_view(&mut self.out);
                return;
            }
        }
        if matches!(self.activity, Activity::NoLink) || self.read_only {
            let update = self.adoption.suspend_view();
            self.publish_restored(update);
            return;
        }
        let is_master = self.role() == SmState::Master;
        let probed = is_master || self.last_sweep.has_queried_local;
        if !with_ctx!(self, |ctx| self
            .adoption
            .may_use_view(ctx, is_master, probed))
        {
            return;
        }
        let own = self.own_sm_record();
        let aliases = Arc::clone(self.registry().aliases().tables());
        let update = self.adoption.use_view(&self.cfg, self.now, own, aliases);
        if let Some(view) = update.as_ref().and_then(|update| update.view.as_ref()) {
            self.sa.update_partition_groups(&self.cfg, view);
        }
        self.publish_restored(update);
    }

    fn publish_restored(&mut self, update: Option<ViewUpdate>) {
        if let Some(ViewUpdate { view, notice }) = update {
            self.sa.publish_restored_view(&mut self.out, view, notice);
        }
    }

    /// A port was read: a restored view that contradicts it is corrected.
    pub(super) fn correct_restored_view(&mut self, at: PortRef) {
        let published = self.sa.view();
        let update = self.adoption.on_port_read(&self.subnet, at, published);
        self.publish_restored(update);
    }

    /// Discovery is complete: the restored view is compared with it.
    pub(super) fn compare_restored_view(&mut self) {
        let published = self.sa.view();
        let update = self.adoption.on_discovered(&self.subnet, published);
        self.publish_restored(update);
    }

    /// Before anything is written: decides which VL tables devices have that this SM did not write.
    pub(super) fn find_vl_table_origins(&mut self) {
        let announced = self.told_master();
        for n in vls::nodes_of_unknown_origin(&self.subnet) {
            if let Some(node) = self.subnet.get(n) {
                let inherited = self.adoption.inherited_vls(node, announced);
                vls::set_origin(&mut self.subnet, n, inherited);
            }
        }
    }
}
