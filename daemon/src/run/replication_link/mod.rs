//! Connects replication to the SM: executes the SM's outputs about replication, and converts
//! replication events to inputs.
//!
//! Owned by the driver. The election decides which SM is master; the SM decides which records a
//! takeover starts from; [`ferrosm_replication`] maintains the replicas; the state writer reads the
//! records.

mod key_watch;

use core::time::Duration;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use std::time::SystemTime;

use ferrosm_core::event::AboutSm;
use ferrosm_core::records::RecordBatch;
use ferrosm_core::{
    Input, LoadedReplica, PeerEvent, ReplicaEvent, ReplicationRole, RestoredState, StepDownReason,
};
use ferrosm_mad::ids::PortGuid;
use ferrosm_replication::tcp::{self, TcpReplication};
use ferrosm_replication::{
    EVENT_QUEUE_MAX, Replication, ReplicationEvent, ReplicationSettings, Role,
};
use tokio::sync::{mpsc, oneshot};
use tracing::{error, info, warn};

use crate::failure::Failure;
use ferrosm_store::{self as store, CommitObserver, StateWriter};
use key_watch::{RotationReport, WatchedStore};

/// Longest interval between two reports that the driver's loop runs.
pub const LIVENESS_INTERVAL: Duration = Duration::from_millis(50);

/// Replication of the state between this node and the others.
#[derive(Debug)]
pub struct ReplicationLink {
    replication: Arc<dyn Replication>,
    events: mpsc::Receiver<ReplicationEvent>,
    writer: Arc<StateWriter>,
    /// Sender and receiver of finished replica loads.
    load_sender: mpsc::UnboundedSender<LoadedReplica>,
    loads: mpsc::UnboundedReceiver<LoadedReplica>,
    /// Rotated keys in the records that a standby received.
    rotations: mpsc::UnboundedReceiver<RotationReport>,
    /// Main-loop stall after which standbys may consider this node dead.
    stall_limit: Duration,
    /// Longest time that a committed batch waits for acknowledgements if replication works.
    max_ack_delay: Duration,
}

/// Replication as seen by the state writer.
struct ReplicationObserver(Arc<dyn Replication>);

impl CommitObserver for ReplicationObserver {
    fn committed(&self, number: u64, batch: &RecordBatch) {
        self.0.committed(number, batch);
    }

    fn acknowledged(&self) -> u64 {
        self.0.acknowledged()
    }
}

impl Drop for ReplicationLink {
    fn drop(&mut self) {
        // The writer and replication refer to each other.
        self.writer.durability().set_observer(None);
    }
}

impl ReplicationLink {
    /// Starts replication.
    ///
    /// # Errors
    /// The listen address or the settings are invalid, or a thread cannot be started.
    pub fn start(
        settings: ReplicationSettings,
        guid: PortGuid,
        priority: u8,
        writer: Arc<StateWriter>,
    ) -> Result<Self, Failure> {
        let (sender, events) = mpsc::channel(EVENT_QUEUE_MAX);
        let (rotation_sender, rotations) = mpsc::unbounded_channel();
        let store = Arc::new(WatchedStore {
            store: writer.replica_store(),
            rotations: rotation_sender,
        });
        let stall_limit = settings.stall_limit();
        let max_ack_delay = settings.max_ack_delay();
        let replication: Arc<dyn Replication> = match settings {
            ReplicationSettings::Tcp(settings) => {
                let settings = tcp::TcpSettings {
                    guid: guid.0,
                    priority,
                    ..settings
                };
                let started = TcpReplication::start(settings, store, sender);
                let tcp = started.map_err(failure)?;
                if let Some(address) = tcp.address() {
                    info!(listen = %address, "replication started");
                }
                Arc::new(tcp)
            }
            #[cfg(feature = "etcd")]
            ReplicationSettings::Etcd(settings) => {
                use ferrosm_replication::etcd::{self, EtcdReplication};
                let settings = etcd::EtcdSettings {
                    guid: guid.0,
                    ..settings
                };
                let started = EtcdReplication::start(settings, store, sender);
                let etcd = started.map_err(failure)?;
                info!(?etcd, "replication started");
                Arc::new(etcd)
            }
            #[cfg(not(feature = "etcd"))]
            ReplicationSettings::Etcd(_) => {
                return Err(failure(anyhow::anyhow!(
                    "this build lacks the feature `etcd`"
                )));
            }
        };
        let observer = Arc::new(ReplicationObserver(Arc::clone(&replication)));
        writer.durability().set_observer(Some(observer));
        let mut link = Self::new(replication, events, writer, stall_limit, max_ack_delay);
        link.rotations = rotations;
        Ok(link)
    }

    fn new(
        replication: Arc<dyn Replication>,
        events: mpsc::Receiver<ReplicationEvent>,
        writer: Arc<StateWriter>,
        stall_limit: Duration,
        max_ack_delay: Duration,
    ) -> Self {
        let (load_sender, loads) = mpsc::unbounded_channel();
        Self {
            replication,
            events,
            writer,
            load_sender,
            loads,
            rotations: mpsc::unbounded_channel().1,
            stall_limit,
            max_ack_delay,
        }
    }

    /// The replication in use.
    #[must_use]
    pub const fn replication(&self) -> &Arc<dyn Replication> {
        &self.replication
    }

    /// Reports that the driver's loop runs, and how long the oldest pending reply has waited for
    /// the local disk.
    pub fn report_alive(&self, disk_delay: Duration) {
        self.replication.set_disk_delay(disk_delay);
        self.replication.report_alive();
    }

    /// Main-loop stall after which another SM may have taken over.
    #[must_use]
    pub const fn stall_limit(&self) -> Duration {
        self.stall_limit
    }

    /// Longest time that a committed batch waits for acknowledgements if replication works.
    #[must_use]
    pub const fn max_ack_delay(&self) -> Duration {
        self.max_ack_delay
    }

    /// Sets the role in replication, after all batches submitted to the store before.
    pub fn set_role(&self, role: ReplicationRole) {
        let role = match role {
            ReplicationRole::Master => {
                // 0 means no history.
                let epoch = RandomState::new().hash_one(()) | 1;
                self.writer.set_accepting(true);
                self.writer.start_history(epoch);
                Role::Master { epoch }
            }
            ReplicationRole::Standby => {
                // The SM clears its records; the store receives those of the master instead.
                self.writer.set_accepting(false);
                self.writer.mark_superseded();
                Role::Standby
            }
            ReplicationRole::Inactive(reason) => {
                if reason == StepDownReason::SuccessorExpected {
                    self.writer.mark_superseded();
                }
                Role::Inactive(reason)
            }
        };
        self.replication.set_role(role);
    }

    /// Loads the state of other nodes (etcd) before the SM starts; `None` if there is none. Takes
    /// about a second at most.
    pub async fn load_at_startup(&self) -> Option<RestoredState> {
        // The store is about to receive another node's records.
        self.writer.set_accepting(false);
        let (sender, loaded) = oneshot::channel();
        self.complete_and_read(move |complete, restored| {
            // The receiver is gone if the program has ended.
            let _ = sender.send(complete.zip(restored));
        });
        let loaded = loaded.await.ok().flatten();
        self.writer.set_accepting(true);
        loaded.map(|(complete, mut restored)| {
            restored.complete &= complete;
            *restored
        })
    }

    /// Loads the replica for a takeover; [`Self::next_input`] returns it when it is read.
    pub fn load_replica(&self, load: u64) {
        let sender = self.load_sender.clone();
        self.complete_and_read(move |complete, restored| {
            // The receiver is gone if the driver has ended.
            let _ = sender.send(LoadedReplica {
                load,
                complete,
                restored,
            });
        });
    }

    /// Completes the replica, then has the state writer read the records. The role must be
    /// inactive.
    fn complete_and_read(
        &self,
        on_complete: impl FnOnce(Option<bool>, Option<Box<RestoredState>>) + Send + 'static,
    ) {
        let writer = Arc::clone(&self.writer);
        self.replication.complete_replica(Box::new(move |complete| {
            writer.read_all(move |snapshot| {
                let restored = match snapshot {
                    Ok(snapshot) => {
                        let (restored, unreadable) =
                            store::restore(&snapshot.records, SystemTime::now());
                        for record in unreadable {
                            warn!(record = %record, "replica record ignored");
                        }
                        Some(Box::new(restored))
                    }
                    Err(e) => {
                        error!(error = %e, "cannot read replica");
                        None
                    }
                };
                on_complete(complete, restored);
            });
        }));
    }

    /// The next input, if one is available.
    pub fn try_next_input(&mut self, sms: &SmDirectory<'_>) -> Option<Input> {
        if let Ok(loaded) = self.loads.try_recv() {
            return Some(Input::Replica(ReplicaEvent::Loaded(loaded)));
        }
        if let Ok((kind, rotation)) = self.rotations.try_recv() {
            return Some(Input::Replica(ReplicaEvent::KeyRotation(kind, rotation)));
        }
        while let Ok(event) = self.events.try_recv() {
            let input = input_of(&event, sms);
            if input.is_some() {
                return input;
            }
        }
        None
    }

    /// Waits for the next input. Cancel safe.
    pub async fn next_input(&mut self, sms: &SmDirectory<'_>) -> Input {
        loop {
            tokio::select! {
                Some(loaded) = self.loads.recv() => {
                    return Input::Replica(ReplicaEvent::Loaded(loaded));
                }
                Some((kind, rotation)) = self.rotations.recv() => {
                    return Input::Replica(ReplicaEvent::KeyRotation(kind, rotation));
                }
                Some(event) = self.events.recv() => {
                    if let Some(input) = input_of(&event, sms) {
                        return input;
                    }
                }
                else => core::future::pending().await,
            }
        }
    }
}

/// The location of another SM, for the log.
pub type SmDirectory<'a> = dyn Fn(PortGuid) -> AboutSm<PortGuid> + 'a;

/// Logs an event, and converts it to an input.
fn input_of(event: &ReplicationEvent, sms: &SmDirectory<'_>) -> Option<Input> {
    let sm = |guid: &u64| PortGuid(*guid);
    let port = |guid: &u64| sms(sm(guid)).port().map(tracing::field::display);
    match event {
        ReplicationEvent::MasterReady => {
            info!("replicating as master");
            None
        }
        ReplicationEvent::StandbyInSync { guid } => {
            info!(sm = %sm(guid), port = port(guid), "standby in sync");
            Some(Input::Peer(PeerEvent::Ferrosm(sm(guid))))
        }
        ReplicationEvent::StandbyLost { guid, reason } => {
            warn!(sm = %sm(guid), port = port(guid), %reason, "standby out of sync");
            None
        }
        ReplicationEvent::ProtectionLost(why) => {
            error!(why, "alarm: records not replicated");
            None
        }
        ReplicationEvent::ProtectionRestored => {
            info!("records replicated again");
            None
        }
        ReplicationEvent::ProcessStalled(time) => {
            let effect = "another SM may have taken over";
            warn!(stalled_ms = time.as_millis(), effect, "process stalled");
            Some(Input::Peer(PeerEvent::Stalled))
        }
        ReplicationEvent::LeaseLost(why) => {
            let effect = "another SM may take over";
            warn!(why, effect, "etcd lease lost");
            Some(Input::Peer(PeerEvent::LeaseLost))
        }
        ReplicationEvent::Deposed { guid } => {
            warn!(sm = %sm(guid), port = port(guid), "replaced by another master");
            Some(Input::Peer(PeerEvent::Deposed(sm(guid))))
        }
        ReplicationEvent::InSync { guid } => {
            info!(master = %sm(guid), port = port(guid), "replica in sync");
            Some(Input::Replica(ReplicaEvent::InSync(sm(guid))))
        }
        ReplicationEvent::OutOfSync { guid, reason } => {
            warn!(master = %sm(guid), port = port(guid), reason, "replica out of sync");
            Some(Input::Replica(ReplicaEvent::OutOfSync))
        }
        ReplicationEvent::MasterSilent {
            guid,
            in_sync,
            is_uncertain: uncertain,
        } => {
            warn!(master = %sm(guid), port = port(guid), in_sync, "master silent");
            Some(Input::Peer(PeerEvent::Silent {
                guid: sm(guid),
                in_sync: *in_sync,
                uncertain: *uncertain,
            }))
        }
        ReplicationEvent::MasterLeaving {
            guid,
            reason: leaving,
            in_sync,
        } => Some(Input::Peer(PeerEvent::Leaving {
            guid: sm(guid),
            reason: *leaving,
            in_sync: *in_sync,
        })),
        ReplicationEvent::PeerRejected { peer, reason } => {
            warn!(peer, reason, "replication peer rejected");
            None
        }
    }
}

fn failure(error: impl Into<anyhow::Error>) -> Failure {
    Failure::with_hint(
        format!("cannot start replication: {:#}", error.into()),
        "Check the settings in [replication] and the certificate files that they name.",
    )
}

#[cfg(test)]
mod tests;
