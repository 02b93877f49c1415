//! When multicast tables are compared and written: once a sweep, and between sweeps after members
//! changed.

use std::sync::Arc;

use ferrosm_fabric::observed::NodeIdx;
use ferrosm_mad::time::Instant;
use ferrosm_routing::VerifiedRun;

use super::SubnetManager;
use crate::mfts::{TreeInputs, mlid_count};
use crate::report::routing_message::RoutingMessage;
use crate::sa::SaState;
use crate::sweep::SweepPhase;
use crate::sweep::activity::Activity;

fn tree_inputs<'a>(
    sa: &'a SaState,
    routing: Option<&'a (Arc<VerifiedRun>, Vec<NodeIdx>)>,
) -> TreeInputs<'a> {
    TreeInputs {
        registry: sa.registry(),
        snapshot: sa.snapshot().map(Arc::as_ref),
        routing,
    }
}

impl SubnetManager {
    /// Within a sweep, after its LFTs: compares all tables, and writes the first step.
    pub(super) fn begin_multicast(&mut self) {
        if self.routing.freezes_trees() {
            if let Some(report) = self.activity.report() {
                report.routing_messages.push(RoutingMessage::MftsNotWritten);
            }
            return self.begin_arming();
        }
        if let Some(count) = mlid_count(&self.fabric) {
            self.sa.set_mlid_count(count);
        }
        let changed = self.sa.take_changed_groups();
        let inputs = tree_inputs(&self.sa, self.routing.of_trees());
        let update = with_ctx!(self, |ctx| self.mfts.compare_all(ctx, changed, inputs));
        if let Some(sweep) = self.activity.sweep_mut() {
            sweep.phase = SweepPhase::WriteMfts(update);
        }
        self.continue_multicast();
    }

    /// Within a sweep, when the request queue is idle: writes the next step, or begins to arm
    /// links.
    pub(super) fn continue_multicast(&mut self) {
        if let Some(update) = self.activity.mft_update()
            && with_ctx!(self, |ctx| self.mfts.write_next(ctx, update))
        {
            return;
        }
        self.begin_arming();
    }

    /// Whether tables may be updated outside of sweeps. While MFTs are frozen or a sweep is
    /// requested, updates wait for the sweep.
    fn may_update_multicast(&self) -> bool {
        let is_quiescent = self.activity.is_idle()
            && !self.schedule.is_requested()
            && !self.routing.freezes_trees();
        is_quiescent && self.is_master() && self.view().is_some()
    }

    /// When a postponed update is due; `None` while it would have to wait for something else.
    pub(super) fn multicast_update_due(&self) -> Option<Instant> {
        let due = self.mfts.poll_timeout();
        due.filter(|_| self.may_update_multicast())
    }

    /// Between sweeps: begins an update, if members changed. Returns whether anything is written.
    pub(super) fn begin_multicast_update(&mut self) -> bool {
        if !self.may_update_multicast() {
            return false;
        }
        let changed = self.sa.take_changed_groups();
        let inputs = tree_inputs(&self.sa, self.routing.of_trees());
        let update = with_ctx!(self, |ctx| self.mfts.begin_update(ctx, changed, inputs));
        let Some(update) = update else {
            return false;
        };
        self.set_activity(Activity::MulticastUpdate(update));
        true
    }

    /// Between sweeps, when the request queue is idle: writes the next step, or ends the update.
    pub(super) fn continue_multicast_update(&mut self) {
        let Activity::MulticastUpdate(update) = &mut self.activity else {
            return;
        };
        if !with_ctx!(self, |ctx| self.mfts.continue_update(ctx, update)) {
            self.set_activity(Activity::Idle);
            self.sa.tables_changed(self.now);
        }
    }
}
