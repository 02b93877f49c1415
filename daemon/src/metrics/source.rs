//! Counters and states that are read at each scrape.
//!
//! The metrics thread reads a source, which ends with its service: weak references do not extend
//! the lifetime of what they count.

use std::collections::BTreeMap;
use std::sync::Weak;

use ferrosm_replication::{PeerStatus, Replication, ReplicationStatus};
use ferrosm_sa::admission::{RequestClass, RequestOutcome};
use ferrosm_sa::refusal_log::RefusalCounts;
use ferrosm_sa::request_kind::RequestKind;

use super::NO_LABELS;
use super::families::{Families, Labels};
use crate::sa_server::SaCounters;
use crate::sa_server::counters::ServiceTimeCounts;

/// Label value of requests that the SM dropped because it was not ready.
const NOT_READY: &str = "not_ready";

/// Counters of the SA server and state of replication; either may end at any time.
#[derive(Debug, Default)]
pub struct MetricsSource {
    sa_counters: Option<Weak<SaCounters>>,
    replication: Option<Weak<dyn Replication>>,
    /// What was added to the metrics: each server counts from 0.
    exported: Exported,
}

/// Requests, service times and refusals that were added to the metrics.
#[derive(Debug, Default)]
struct Exported {
    requests: BTreeMap<(RequestKind, &'static str), u64>,
    times: [ServiceTimeCounts; RequestClass::ALL.len()],
    refusals: RefusalCounts,
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
            exported: Exported::default(),
        }
    }

    /// Replication status. Do not call it with a lock held: dropping the upgraded reference may end
    /// replication, which takes time.
    pub(super) fn status(weak: &Weak<dyn Replication>) -> Option<ReplicationStatus> {
        weak.upgrade().map(|replication| replication.status())
    }

    /// Replication, for [`Self::status`].
    pub(super) fn replication(&self) -> Option<Weak<dyn Replication>> {
        self.replication.clone()
    }

    /// Updates the metrics.
    pub(super) fn set(&mut self, families: &Families, status: Option<&ReplicationStatus>) {
        if let Some(counters) = self.sa_counters.as_ref().and_then(Weak::upgrade) {
            self.exported.update(families, &counters);
        }
        let Some(status) = status else { return };
        let is_leader = status.committed.is_some();
        // With etcd, the standbys are not known.
        let standbys = status.standbys.as_ref().filter(|_| is_leader);
        for (value, in_sync) in [("yes", true), ("no", false)] {
            let labels = Labels::from([("in_sync", value.into())]);
            let count =
                |peers: &Vec<PeerStatus>| peers.iter().filter(|s| s.in_sync == in_sync).count();
            families.standbys.set(&labels, standbys.map(count));
        }
        let protected = is_leader.then_some(usize::from(status.protected));
        families.protected.set(&NO_LABELS, protected);
        let in_sync = status.master.is_some_and(|master| master.in_sync);
        families
            .replica_in_sync
            .set(&NO_LABELS, (!is_leader).then_some(usize::from(in_sync)));
    }
}

impl Exported {
    /// Adds what was counted since the last scrape. Only kinds of requests that occurred have a
    /// series.
    fn update(&mut self, families: &Families, counters: &SaCounters) {
        let of_threads = RequestKind::all().flat_map(|kind| {
            RequestOutcome::ALL
                .map(|outcome| (kind, outcome.label(), counters.count(kind, outcome)))
        });
        let not_ready = counters.not_ready();
        let of_sm = not_ready
            .iter()
            .map(|(kind, count)| (kind, NOT_READY, count));
        for (kind, outcome, count) in of_threads.chain(of_sm).filter(|(.., count)| *count > 0) {
            let before = self.requests.insert((kind, outcome), count).unwrap_or(0);
            let labels = kind_labels(kind, "outcome", outcome);
            let counter = families.sa_requests.get_or_create(&labels);
            counter.inc_by(count.saturating_sub(before));
        }
        for (key, count) in counters.refusals() {
            let before = self.refusals.insert(key, count).unwrap_or(0);
            let (kind, cause) = key;
            let labels = kind_labels(kind, "cause", cause.label());
            let counter = families.sa_refusals.get_or_create(&labels);
            counter.inc_by(count.saturating_sub(before));
        }
        for (class, exported) in RequestClass::ALL.into_iter().zip(&mut self.times) {
            let now = counters.times(class);
            let before = core::mem::replace(exported, now);
            let labels = Labels::from([("class", class.label().into())]);
            families
                .sa_service_times
                .get_or_create(&labels)
                .add(&before, &now);
        }
    }
}

fn kind_labels(kind: RequestKind, name: &'static str, value: &'static str) -> Labels {
    Labels::from([
        ("attribute", kind.attribute().into()),
        ("method", kind.method().into()),
        (name, value.into()),
    ])
}
