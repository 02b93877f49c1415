//! What others count, and how much of it is shown already.
//!
//! A source is asked by the thread that serves the page, and ends with its service. Nothing of it is kept alive for monitoring.

use core::sync::atomic::Ordering;
use std::sync::Weak;

use ferrosm_replication::{PeerStatus, Replication, ReplicationStatus};

use super::families::{Families, Labels};
use super::with;
use crate::sa_server::Counters;

/// What became of requests, in the order of [`Source::requests`].
const OUTCOMES: [&str; 6] = [
    "answered",
    "registration",
    "too_large",
    "overload",
    "not_ready",
    "dropped",
];

/// What counts for itself, and is looked at when somebody asks. It may end at any time.
#[derive(Debug, Default)]
pub struct Source {
    administration: Option<Weak<Counters>>,
    replication: Option<Weak<dyn Replication>>,
    /// Requests that are shown already: another server counts from 0.
    shown: [u64; OUTCOMES.len()],
}

impl Source {
    /// Who answers hosts, and who copies the state, where somebody does.
    #[must_use]
    pub fn new(
        administration: Option<Weak<Counters>>,
        replication: Option<Weak<dyn Replication>>,
    ) -> Self {
        Self {
            administration,
            replication,
            shown: [0; OUTCOMES.len()],
        }
    }

    /// How copies stand. Not to be asked while anything is locked: it may be the last who knows them, and their end takes its time.
    pub(super) fn status(of: &Weak<dyn Replication>) -> Option<ReplicationStatus> {
        of.upgrade().map(|replication| replication.status())
    }

    /// Who is asked by [`Self::status`].
    pub(super) fn replication(&self) -> Option<Weak<dyn Replication>> {
        self.replication.clone()
    }

    /// Shows what has been counted since.
    pub(super) fn set(
        &mut self,
        families: &Families,
        of: &Labels,
        status: Option<&ReplicationStatus>,
    ) {
        if let Some(now) = self.requests() {
            for ((outcome, now), shown) in OUTCOMES.into_iter().zip(now).zip(&mut self.shown) {
                let labels = with(of, [("outcome", outcome.into())]);
                let counter = families.sa_requests.get_or_create(&labels);
                counter.inc_by(now.saturating_sub(core::mem::replace(shown, now)));
            }
        }
        let Some(status) = status else { return };
        let leads = status.committed.is_some();
        // Where they are etcd's, nobody here knows them.
        let standbys = status.standbys.as_ref().filter(|_| leads);
        for (word, in_sync) in [("yes", true), ("no", false)] {
            let labels = with(of, [("in_sync", word.into())]);
            let count = |all: &Vec<PeerStatus>| all.iter().filter(|s| s.in_sync == in_sync).count();
            families.standbys.set(&labels, standbys.map(count));
        }
        let protected = leads.then_some(usize::from(status.protected));
        families.protected.set(of, protected);
        let whole = status.leader.is_some_and(|leader| leader.in_sync);
        families
            .replica_in_sync
            .set(of, (!leads).then_some(usize::from(whole)));
    }

    fn requests(&self) -> Option<[u64; OUTCOMES.len()]> {
        let counters = self.administration.as_ref()?.upgrade()?;
        let all = [
            &counters.answered,
            &counters.owned,
            &counters.too_large,
            &counters.overload,
            &counters.not_ready,
            &counters.dropped,
        ];
        Some(all.map(|counter| counter.load(Ordering::Relaxed)))
    }
}
