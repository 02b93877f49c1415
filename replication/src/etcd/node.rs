//! The driver's side of replication through etcd, and its thread. No call of the driver blocks.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use ferrosm_core::StepDownReason;
use ferrosm_core::records::RecordBatch;
use tokio::sync::{mpsc, watch};
use tokio_rustls::rustls::pki_types::UnixTime;

use super::EtcdSettings;
use super::commit_queue::CommitQueue;
use super::shared::{COMPLETE_TIMEOUT, EtcdShared, LeaseEvidence, since_boot};
use super::{master, standby};
use crate::event::ReplicationEvent;
use crate::node::ReplicationNode;
use crate::store_thread::{self, StoreResult};
use crate::thread::{Stop, Worker, stopped};
use crate::tls::{DAY, TlsFiles};
use crate::wire;
use crate::{RecordStore, ReplicaCallback, Replication, ReplicationStatus, Role};

/// Time to release the key when stepping down.
const RELEASE_TIMEOUT: Duration = Duration::from_millis(500);

/// A node that replicates through etcd.
pub struct EtcdReplication {
    worker: Worker,
    shared: Arc<EtcdShared>,
}

impl EtcdReplication {
    /// Starts the threads. The role is [`Role::Inactive`] at first. etcd is contacted later.
    ///
    /// # Errors
    /// The system cannot create a thread.
    pub fn start(
        settings: EtcdSettings,
        store: Arc<dyn RecordStore>,
        events: mpsc::Sender<ReplicationEvent>,
    ) -> std::io::Result<Self> {
        let (request_sender, requests) = std::sync::mpsc::channel();
        let node = ReplicationNode::new(
            store.clone(),
            request_sender,
            events,
            settings.driver_stall_timeout,
            since_boot,
        );
        let shared = Arc::new(EtcdShared::new(settings, store.position(), node));
        let weak = Arc::downgrade(&shared);
        store_thread::start(store, requests, move |stored| {
            if let Some(shared) = weak.upgrade() {
                shared.change(|state| match stored {
                    StoreResult::Durable(_, at) => {
                        state.known = Some(at);
                        state.stored = Ok(Some(at));
                    }
                    StoreResult::Failed(_, error) => state.stored = Err(error.to_string()),
                });
            }
        })?;
        let task_state = shared.clone();
        let worker = Worker::start(move |stop| run(task_state, stop))?;
        Ok(Self { worker, shared })
    }

    /// Stops at once without notifying peers, as after a crash.
    pub fn abort(mut self) {
        self.worker.stop(Stop::Immediate);
    }
}

impl fmt::Debug for EtcdReplication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let endpoints = &self.shared.settings.endpoints;
        f.debug_struct("EtcdReplication")
            .field("endpoints", endpoints)
            .finish_non_exhaustive()
    }
}

impl Replication for EtcdReplication {
    fn set_role(&self, role: Role) {
        self.report_alive();
        let now = self.shared.node.now();
        self.shared.change(|state| {
            if state.role == role {
                return;
            }
            state.role = role;
            state.may_lack_batches = state.may_lack_batches();
            state.queue = None;
            if !matches!(role, Role::Inactive(_)) {
                state.evidence = LeaseEvidence::None;
            }
            if let Role::Master { epoch } = role {
                self.shared.node.acknowledge(|_| 0);
                let silence = Duration::from_secs(self.shared.settings.silent_after_s.into());
                let limit = self.shared.settings.reply_timeout;
                state.queue = Some(CommitQueue::new(epoch, limit, silence, now));
            }
        });
    }

    fn committed(&self, seq: u64, batch: &RecordBatch) {
        let body = match wire::encode_batch(batch) {
            Ok(body) => body,
            Err(error) => return tracing::error!(seq, %error, "batch not replicated"),
        };
        let now = self.shared.node.now();
        self.shared
            .queue(|queue| queue.committed(seq, body.into(), now));
    }

    fn acknowledged(&self) -> u64 {
        self.shared.node.acknowledged()
    }

    fn report_alive(&self) {
        self.shared.node.report_alive();
    }

    fn set_disk_delay(&self, delay: Duration) {
        self.shared.node.set_disk_delay(delay);
    }

    fn complete_replica(&self, on_complete: ReplicaCallback) {
        self.shared
            .change(|state| state.on_complete = Some(on_complete));
    }

    fn status(&self) -> ReplicationStatus {
        self.shared.with_state(|state| ReplicationStatus {
            protected: state.queue.as_ref().is_some_and(CommitQueue::is_protected),
            committed: state.queue.as_ref().and_then(CommitQueue::end_position),
            acknowledged: self.shared.node.acknowledged(),
            standbys: None,
            master: state.leader,
        })
    }
}

/// Logs once a day if the certificate expires soon.
async fn log_expiry_daily(files: Option<TlsFiles>) {
    let Some(files) = files else { return };
    let mut ticks = tokio::time::interval(DAY);
    loop {
        ticks.tick().await;
        let files = files.clone();
        // A slow disk must not delay lease renewals.
        let check = move || files.client_notice(UnixTime::now());
        if let Ok(Some(notice)) = tokio::task::spawn_blocking(check).await {
            notice.log();
        }
    }
}

/// All tasks of the thread, until it is stopped.
async fn run(shared: Arc<EtcdShared>, mut stop: watch::Receiver<Stop>) {
    let shared = &shared;
    tokio::spawn(log_expiry_daily(shared.settings.files.clone()));
    loop {
        let role = shared.with_state(|state| state.role);
        let mut held_key = None;
        let session_end = tokio::select! {
            () = run_role(shared, role, &mut held_key) => None,
            () = shared.role_changed(role) => None,
            mode = stopped(&mut stop) => Some(mode),
        };
        let new_role = shared.with_state(|state| {
            state.leader = None;
            state.role
        });
        if let Some(held_key) = held_key
            && session_end != Some(Stop::Immediate)
        {
            let reason = match (new_role, session_end) {
                (Role::Inactive(reason), None) => reason,
                (Role::Standby | Role::Master { .. }, None) => StepDownReason::SuccessorExpected,
                (_, Some(_)) => StepDownReason::NoSuccessor,
            };
            let release_result =
                tokio::time::timeout(RELEASE_TIMEOUT, master::release(shared, held_key, reason))
                    .await;
            if !matches!(release_result, Ok(Ok(()))) {
                tracing::debug!(result = ?release_result, "etcd key not released");
            }
        }
        if session_end.is_some() {
            return;
        }
    }
}

/// Runs the tasks of a role until it changes.
async fn run_role(shared: &Arc<EtcdShared>, role: Role, held_key: &mut Option<master::HeldKey>) {
    match role {
        Role::Master { .. } => master::run(shared, held_key).await,
        Role::Standby => standby::follow(shared).await,
        Role::Inactive(_) => idle(shared).await,
    }
}

/// Completes the replica when its records are about to be used.
async fn idle(shared: &Arc<EtcdShared>) {
    let known = shared.node.position().await;
    shared.with_state(|state| state.known = known);
    let mut changed = shared.node.changes();
    loop {
        changed.mark_unchanged();
        if let Some(on_complete) = shared.with_state(|state| state.on_complete.take()) {
            let on_complete = PendingCallback(Some(on_complete));
            let result =
                tokio::time::timeout(COMPLETE_TIMEOUT, standby::complete_replica(shared)).await;
            let is_complete = match result {
                Ok(Ok(is_complete)) => is_complete,
                Ok(Err(error)) => {
                    if error.is_of_member() {
                        shared.record_failure();
                    }
                    tracing::warn!(error = %error, "replica may be incomplete");
                    false
                }
                Err(_) => {
                    shared.record_failure();
                    tracing::warn!(error = "etcd timed out", "replica may be incomplete");
                    false
                }
            };
            on_complete.call(is_complete);
        }
        if changed.changed().await.is_err() {
            return;
        }
    }
}

/// Calls the callback even if its task is cancelled.
struct PendingCallback(Option<ReplicaCallback>);

impl PendingCallback {
    fn call(mut self, is_complete: bool) {
        if let Some(callback) = self.0.take() {
            callback(Some(is_complete));
        }
    }
}

impl Drop for PendingCallback {
    fn drop(&mut self) {
        if let Some(callback) = self.0.take() {
            callback(Some(false));
        }
    }
}
