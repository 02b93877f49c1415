//! State shared by the driver and the etcd thread: role, commit queue, and what a standby saw of
//! its master, under one lock that is never held across an await.

use core::time::Duration;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use ferrosm_core::StepDownReason;
use rustix::time::{ClockId, clock_gettime};

use super::EtcdSettings;
use super::client::Members;
use super::commit_queue::CommitQueue;
use super::keys::Keys;
use crate::follower::SessionId;
use crate::leader::NodeTime;
use crate::log::Position;
use crate::node::ReplicationNode;
use crate::{PeerStatus, ReplicaCallback, Role};

/// First retry interval after an etcd failure.
pub(super) const RETRY_MIN: Duration = Duration::from_millis(50);
/// Longest retry interval.
pub(super) const RETRY_MAX: Duration = Duration::from_secs(1);
/// Time to complete a replica before its records are used.
pub(super) const COMPLETE_TIMEOUT: Duration = Duration::from_secs(1);
/// Part of [`COMPLETE_TIMEOUT`] in which a master that hands over can release the key.
pub(super) const HANDOVER_TIMEOUT: Duration = Duration::from_millis(500);
/// Retry interval after failures that are likely to persist: etcd is full or rejects the request,
/// or a disk failed.
pub(super) const PERSISTENT_FAILURE_PAUSE: Duration = Duration::from_secs(3);

/// The shared state.
pub(super) struct EtcdShared {
    pub(super) settings: EtcdSettings,
    pub(super) members: Members,
    pub(super) keys: Keys,
    /// The keys are known to belong to this fabric.
    pub(super) owns_keys: AtomicBool,
    state: Mutex<EtcdState>,
    /// Uses a clock that includes suspension of the machine, as etcd's does.
    pub(super) node: ReplicationNode,
    /// Number of sessions.
    sessions: AtomicU64,
}

/// What a standby last saw of its master's leases. A master that renews its leases acknowledges
/// only what etcd has. Before it acknowledges more, it stops renewing until the leases are old and
/// [`EtcdSettings::reply_timeout`] has passed. So a lease that was not old is evidence that etcd is
/// complete, for the duration of that limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaseEvidence {
    /// No evidence.
    None,
    /// Leases were not old at this time.
    Fresh(NodeTime),
    /// The master released the key after writing everything.
    Released,
}

/// Term of etcd's Raft leader. A new leader renews all leases itself: until their lifetime and
/// [`EtcdSettings::reply_timeout`] have passed, leases that are not old are no evidence.
#[derive(Debug, Default)]
pub(super) struct RaftTerm {
    term: u64,
    /// When the term changed; `None` for the first observed term.
    since: Option<NodeTime>,
}

impl RaftTerm {
    /// Whether leases are evidence of their owners in this term.
    pub(super) fn is_evidence(&mut self, term: u64, now: NodeTime, uncertainty: Duration) -> bool {
        if self.term != term {
            self.since = (self.term != 0).then_some(now);
            self.term = term;
        }
        self.since.is_none_or(|since| now >= since + uncertainty)
    }
}

/// The state under the lock.
pub(super) struct EtcdState {
    pub(super) role: Role,
    pub(super) on_complete: Option<ReplicaCallback>,
    /// State of a master.
    pub(super) queue: Option<CommitQueue>,
    /// Of a standby: its master.
    pub(super) leader: Option<PeerStatus>,
    /// The last position stored of a master's history, or the error of the store.
    pub(super) stored: Result<Option<Position>, String>,
    /// The store's position before this node became master.
    pub(super) known: Option<Position>,
    /// Of a standby; valid until the next term or session.
    pub(super) evidence: LeaseEvidence,
    pub(super) term: RaftTerm,
    /// Unusable data in etcd was reported.
    pub(super) unreadable: bool,
    /// When etcd last failed, as seen by this node while not master.
    pub(super) last_failure: Option<NodeTime>,
    /// Of the last term as master: etcd may lack acknowledged batches.
    pub(super) may_lack_batches: bool,
}

impl EtcdState {
    /// Whether etcd may lack batches that this master acknowledged.
    pub(super) fn may_lack_batches(&mut self) -> bool {
        self.queue
            .as_ref()
            .map_or(self.may_lack_batches, CommitQueue::may_lack_batches)
    }
}

impl EtcdShared {
    pub(super) fn new(
        settings: EtcdSettings,
        known: Option<Position>,
        node: ReplicationNode,
    ) -> Self {
        Self {
            keys: Keys::new(&settings.prefix, &settings.fabric),
            owns_keys: AtomicBool::new(false),
            members: Members::new(settings.clone()),
            settings,
            state: Mutex::new(EtcdState {
                role: Role::Inactive(StepDownReason::NoSuccessor),
                on_complete: None,
                queue: None,
                leader: None,
                stored: Ok(known),
                known,
                evidence: LeaseEvidence::None,
                term: RaftTerm::default(),
                unreadable: false,
                last_failure: None,
                may_lack_batches: true,
            }),
            node,
            sessions: AtomicU64::new(0),
        }
    }

    pub(super) fn with_state<T>(&self, f: impl FnOnce(&mut EtcdState) -> T) -> T {
        f(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// As [`Self::with_state`], and wakes all tasks.
    pub(super) fn change<T>(&self, f: impl FnOnce(&mut EtcdState) -> T) -> T {
        let result = self.with_state(f);
        self.node.notify();
        result
    }

    /// Calls `f` with the master's commit queue, and forwards its events and acknowledgements.
    /// `None` if this node is not master.
    pub(super) fn queue<T>(&self, f: impl FnOnce(&mut CommitQueue) -> T) -> Option<T> {
        let (result, events, acknowledged) = self.change(|state| {
            let queue = state.queue.as_mut()?;
            let result = f(queue);
            Some((result, queue.take_events(), queue.acknowledged()))
        })?;
        let acknowledged = acknowledged.unwrap_or(0);
        self.node.acknowledge(|before| before.max(acknowledged));
        events
            .into_iter()
            .for_each(|event| self.node.send_event(event));
        Some(result)
    }

    /// Advances a master's time.
    pub(super) fn tick(&self) {
        self.queue(|queue| {
            queue.set_disk_delay(self.node.disk_delay());
            queue.tick(self.node.now());
        });
    }

    /// Longest time for which etcd's own renewal makes leases look renewed.
    pub(super) fn lease_uncertainty(&self) -> Duration {
        // A lease lives a second longer than it takes to become old, and etcd's leader adds an
        // election timeout.
        Duration::from_secs(u64::from(self.settings.silent_after_s) + 2)
            + self.settings.reply_timeout
    }

    /// An etcd member failed or was slow: the age of leases is uncertain for a while.
    pub(super) fn record_failure(&self) {
        let now = self.node.now();
        self.with_state(|state| state.last_failure = Some(now));
    }

    /// A new session for store jobs: failures of earlier ones do not concern it.
    pub(super) fn session(&self) -> SessionId {
        SessionId::numbered(self.sessions.fetch_add(1, Ordering::Relaxed))
    }

    /// Waits until the role changes.
    pub(super) async fn role_changed(&self, role: Role) {
        let is_another = || self.with_state(|state| state.role != role);
        self.node.wait_until(is_another).await;
    }
}

/// Time since the machine was started, including suspension, like etcd's clock.
pub(super) fn since_boot() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_are_no_evidence_after_a_new_etcd_leader() {
        let s = Duration::from_secs;
        let mut term = RaftTerm::default();
        assert!(term.is_evidence(3, s(1), s(4)), "first observed term");
        assert!(term.is_evidence(3, s(2), s(4)));
        assert!(!term.is_evidence(4, s(5), s(4)));
        assert!(!term.is_evidence(4, s(8), s(4)));
        assert!(term.is_evidence(4, s(9), s(4)));
    }
}
