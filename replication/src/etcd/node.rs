//! What the driver sees of replication through etcd, and the thread behind it. The driver is never waited for and never waits.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use ferrosm_core::records::RecordBatch;
use tokio::sync::{mpsc, watch};
use tokio_rustls::rustls::pki_types::UnixTime;

use super::EtcdSettings;
use super::ledger::Ledger;
use super::shared::{SETTLE, Seen, Shared, since_boot};
use super::{holding, watching};
use crate::event::Event;
use crate::node::Node;
use crate::store_thread::{self, StoreResult};
use crate::thread::{Stop, Worker, stopped};
use crate::tls::{DAY, TlsFiles};
use crate::wire::{self, StepDownReason};
use crate::{RecordStore, ReplicaCallback, Replication, ReplicationStatus, Role};

/// Time that a goodbye has.
const GOODBYE: Duration = Duration::from_millis(500);

/// A node that replicates through etcd.
pub struct EtcdReplication {
    worker: Worker,
    shared: Arc<Shared>,
}

impl EtcdReplication {
    /// Starts its threads. Its role is [`Role::Inactive`] at first. Whether etcd answers shows later.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(
        settings: EtcdSettings,
        copy: Arc<dyn RecordStore>,
        events: mpsc::Sender<Event>,
    ) -> std::io::Result<Self> {
        let (asks, waiting) = std::sync::mpsc::channel();
        let node = Node::new(copy.clone(), asks, events, settings.hang, since_boot);
        let shared = Arc::new(Shared::new(settings, copy.position(), node));
        let weak = Arc::downgrade(&shared);
        store_thread::start(copy, waiting, move |stored| {
            if let Some(shared) = weak.upgrade() {
                shared.change(|core| match stored {
                    StoreResult::Durable(_, at) => {
                        core.known = Some(at);
                        core.stored = Ok(Some(at));
                    }
                    StoreResult::Failed(_, error) => core.stored = Err(error.to_string()),
                });
            }
        })?;
        let mine = shared.clone();
        let worker = Worker::start(move |stop| run(mine, stop))?;
        Ok(Self { worker, shared })
    }

    /// Ends at once, as a crash would.
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
        self.shared.change(|core| {
            if core.role == role {
                return;
            }
            core.role = role;
            core.apart = core.is_apart();
            core.ledger = None;
            if !matches!(role, Role::Inactive(_)) {
                core.seen = Seen::Nothing;
            }
            if let Role::Master { epoch } = role {
                self.shared.node.acknowledge(|_| 0);
                let silence = Duration::from_secs(self.shared.settings.silence_s.into());
                let limit = self.shared.settings.limit;
                core.ledger = Some(Ledger::new(epoch, limit, silence, now));
            }
        });
    }

    fn committed(&self, seq: u64, batch: &RecordBatch) {
        let body = match wire::encode_batch(batch) {
            Ok(body) => body,
            Err(error) => return tracing::error!("replication: batch {seq}: {error}"),
        };
        let now = self.shared.node.now();
        self.shared
            .ledger(|ledger| ledger.committed(seq, body.into(), now));
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

    fn complete_replica(&self, then: ReplicaCallback) {
        self.shared.change(|core| core.settle = Some(then));
    }

    fn status(&self) -> ReplicationStatus {
        self.shared.with(|core| ReplicationStatus {
            protected: core.ledger.as_ref().is_some_and(Ledger::is_protected),
            committed: core.ledger.as_ref().and_then(Ledger::end),
            acknowledged: self.shared.node.acknowledged(),
            standbys: None,
            leader: core.leader,
        })
    }
}

/// Says once a day that the certificate expires.
async fn remind(files: Option<TlsFiles>) {
    let Some(files) = files else { return };
    let mut days = tokio::time::interval(DAY);
    loop {
        days.tick().await;
        let files = files.clone();
        // A disk that is slow delays no lease.
        let look = move || files.client_notice(UnixTime::now());
        if let Ok(Some(notice)) = tokio::task::spawn_blocking(look).await {
            notice.log();
        }
    }
}

/// Everything that goes on in the thread, until it is told to end.
async fn run(shared: Arc<Shared>, mut stop: watch::Receiver<Stop>) {
    let shared = &shared;
    tokio::spawn(remind(shared.settings.files.clone()));
    loop {
        let role = shared.with(|core| core.role);
        let mut held = None;
        let ended = tokio::select! {
            () = session(shared, role, &mut held) => None,
            () = shared.another(role) => None,
            how = stopped(&mut stop) => Some(how),
        };
        let now = shared.with(|core| {
            core.leader = None;
            core.role
        });
        if let Some(held) = held
            && ended != Some(Stop::Immediate)
        {
            let leaving = match (now, ended) {
                (Role::Inactive(leaving), None) => leaving,
                (Role::Standby | Role::Master { .. }, None) => StepDownReason::HandingOver,
                (_, Some(_)) => StepDownReason::Stopping,
            };
            let goodbye =
                tokio::time::timeout(GOODBYE, holding::leave(shared, held, leaving)).await;
            if !matches!(goodbye, Ok(Ok(()))) {
                tracing::debug!("replication: no goodbye: {goodbye:?}");
            }
        }
        if ended.is_some() {
            return;
        }
    }
}

/// What is done in a role, for as long as it lasts.
async fn session(shared: &Arc<Shared>, role: Role, held: &mut Option<holding::Held>) {
    match role {
        Role::Master { .. } => holding::lead(shared, held).await,
        Role::Standby => watching::follow(shared).await,
        Role::Inactive(_) => idle(shared).await,
    }
}

/// The own records may be about to be used: then they are to be all that etcd has.
async fn idle(shared: &Arc<Shared>) {
    let known = shared.node.position().await;
    shared.with(|core| core.known = known);
    let mut changed = shared.node.changes();
    loop {
        changed.mark_unchanged();
        if let Some(then) = shared.with(|core| core.settle.take()) {
            let then = Owed(Some(then));
            let whole = tokio::time::timeout(SETTLE, watching::settle(shared)).await;
            let whole = match whole {
                Ok(Ok(whole)) => whole,
                Ok(Err(trouble)) => {
                    if trouble.is_of_member() {
                        shared.was_in_trouble();
                    }
                    tracing::warn!(why = %trouble, "the copy of the state may lack the last changes");
                    false
                }
                Err(_) => {
                    shared.was_in_trouble();
                    tracing::warn!(
                        "etcd takes too long: the copy of the state may lack the last changes"
                    );
                    false
                }
            };
            then.done(whole);
        }
        if changed.changed().await.is_err() {
            return;
        }
    }
}

/// Somebody waits for this, whatever happens.
struct Owed(Option<ReplicaCallback>);

impl Owed {
    fn done(mut self, whole: bool) {
        if let Some(then) = self.0.take() {
            then(Some(whole));
        }
    }
}

impl Drop for Owed {
    fn drop(&mut self) {
        if let Some(then) = self.0.take() {
            then(Some(false));
        }
    }
}
