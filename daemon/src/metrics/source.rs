//! Counters and states that are read at each scrape.
//!
//! The metrics thread reads a source, which ends with its service: weak references do not extend the lifetime of what they count.

use core::sync::atomic::Ordering;
use std::sync::Weak;

use ferrosm_replication::{PeerStatus, Replication, ReplicationStatus};

use super::families::{Families, Labels};
use super::labels_with;
use crate::sa_server::SaCounters;

/// Label values of request outcomes, in the order of [`MetricsSource::requests`].
const OUTCOMES: [&str; 6] = [
    "answered",
    "registration",
    "too_large",
    "overload",
    "not_ready",
    "dropped",
];

/// Counters of the SA server and state of replication; either may end at any time.
#[derive(Debug, Default)]
pub struct MetricsSource {
    sa_counters: Option<Weak<SaCounters>>,
    replication: Option<Weak<dyn Replication>>,
    /// Requests that were added to the metrics: each server counts from 0.
    exported: [u64; OUTCOMES.len()],
}

impl MetricsSource {
    /// A source for the SA server and replication, if the service has them.
    #[must_use]
    pub fn new(
        sa_counters: Option<Weak<SaCounters>>,
        replication: Option<Weak<dyn Replication>>,
    ) -> Self {
        Self {
            sa_counters,
            replication,
            exported: [0; OUTCOMES.len()],
        }
    }

    /// Replication status. Do not call it with a lock held: dropping the upgraded reference may end replication, which takes time.
    pub(super) fn status(weak: &Weak<dyn Replication>) -> Option<ReplicationStatus> {
        weak.upgrade().map(|replication| replication.status())
    }

    /// Replication, for [`Self::status`].
    pub(super) fn replication(&self) -> Option<Weak<dyn Replication>> {
        self.replication.clone()
    }

    /// Updates the metrics.
    pub(super) fn set(
        &mut self,
        families: &Families,
        fabric_labels: &Labels,
        status: Option<&ReplicationStatus>,
    ) {
        if let Some(now) = self.requests() {
            for ((outcome, now), exported) in OUTCOMES.into_iter().zip(now).zip(&mut self.exported)
            {
                let labels = labels_with(fabric_labels, [("outcome", outcome.into())]);
                let counter = families.sa_requests.get_or_create(&labels);
                counter.inc_by(now.saturating_sub(core::mem::replace(exported, now)));
            }
        }
        let Some(status) = status else { return };
        let is_leader = status.committed.is_some();
        // With etcd, the standbys are not known.
        let standbys = status.standbys.as_ref().filter(|_| is_leader);
        for (value, in_sync) in [("yes", true), ("no", false)] {
            let labels = labels_with(fabric_labels, [("in_sync", value.into())]);
            let count =
                |peers: &Vec<PeerStatus>| peers.iter().filter(|s| s.in_sync == in_sync).count();
            families.standbys.set(&labels, standbys.map(count));
        }
        let protected = is_leader.then_some(usize::from(status.protected));
        families.protected.set(fabric_labels, protected);
        let in_sync = status.master.is_some_and(|master| master.in_sync);
        families
            .replica_in_sync
            .set(fabric_labels, (!is_leader).then_some(usize::from(in_sync)));
    }

    fn requests(&self) -> Option<[u64; OUTCOMES.len()]> {
        let counters = self.sa_counters.as_ref()?.upgrade()?;
        let values = [
            &counters.answered,
            &counters.forwarded,
            &counters.too_large,
            &counters.overload,
            &counters.not_ready,
            &counters.dropped,
        ];
        Some(values.map(|counter| counter.load(Ordering::Relaxed)))
    }
}
