//! Adoption of what an earlier run or another SM left: the installed routing, SLtoVL and VLArb
//! tables, client registrations and the SA view.
//!
//! The state is restored from disk, loaded from a replica, or copied from this SM's own state when
//! its link is lost (ADR 0009). It is used until the first sweep as master is complete, and
//! discarded when another SM is master, whose state is newer.
//!
//! State in a device is adopted only if the device reports the LID and master of that time and has
//! not been reset ([`installed`]). The SA replies from the restored snapshot only if it must belong
//! to this subnet ([`restored_view`]).

mod installed;
mod restored_view;

use core::time::Duration;
use std::sync::Arc;

use ferrosm_fabric::routing_origin::SlToVlEpoch;
use ferrosm_fabric::snapshot::Snapshot;
use ferrosm_fabric::snapshot::persist::RestoredSnapshot;
use ferrosm_mad::ids::Lid;
use ferrosm_mad::time::Instant;

use crate::records::RestoredState;
use crate::records::routing::RoutingRecord;
use installed::InstalledState;
pub(crate) use installed::last_epoch;
use restored_view::RestoredView;
pub(crate) use restored_view::ViewUpdate;

/// State of an earlier master, until the first sweep as master is complete.
#[derive(Debug, Default)]
pub(crate) struct Adoption {
    installed: InstalledState,
    restored: RestoredView,
}

impl Adoption {
    /// From the state that the last run persisted.
    pub(crate) fn new(restored: &RestoredState, now: Instant) -> Self {
        Self {
            installed: InstalledState::new(restored),
            restored: RestoredView::new(restored.snapshot.clone(), now),
        }
    }

    /// From the replica of another master's state.
    pub(crate) fn of_replica(replica: &RestoredState, now: Instant) -> Self {
        Self {
            installed: InstalledState::new(replica),
            restored: RestoredView::of_replica(replica.snapshot.clone(), now),
        }
    }

    /// The tables in devices are unknown: they are adopted from this SM's own state, as after a
    /// restart.
    pub(crate) fn adopt_own_tables(&mut self, snapshot: &Arc<Snapshot>, epoch: SlToVlEpoch) {
        let restored_state = RestoredState {
            snapshot: Some(snapshot_of(snapshot)),
            routing: RoutingRecord::of_snapshot(snapshot).map(Arc::new),
            sl_to_vl_epoch: epoch,
            complete: true,
            ..RestoredState::default()
        };
        self.installed = InstalledState::new(&restored_state);
    }

    /// The master's own link was lost: its snapshot is restored, as after a restart.
    pub(crate) fn restore_own_snapshot(
        &mut self,
        snapshot: &Arc<Snapshot>,
        epoch: SlToVlEpoch,
        now: Instant,
    ) {
        self.adopt_own_tables(snapshot, epoch);
        self.restored = RestoredView::new(Some(snapshot_of(snapshot)), now);
    }

    /// Discards all state: another SM is master, or may have changed devices since.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Discards the state of devices: this SM has configured them, or another SM has since.
    pub(crate) fn forget_installed(&mut self) {
        self.installed = InstalledState::default();
    }

    /// The LID of the master whose snapshot was restored.
    pub(crate) fn last_master_lid(&self) -> Option<Lid> {
        let snapshot = self.restored_view()?;
        snapshot.identity().map(|identity| identity.lid)
    }
}

fn snapshot_of(snapshot: &Arc<Snapshot>) -> RestoredSnapshot {
    RestoredSnapshot {
        snapshot: Arc::clone(snapshot),
        age: Duration::ZERO,
    }
}
