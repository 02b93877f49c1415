//! Replication over TCP, with TLS on both sides: every node listens, and a standby connects to its
//! peers until it finds the master.
//!
//! It runs on a thread with its own runtime, so a busy driver does not delay it. Pings are answered
//! only while the driver's loop runs ([`Replication::report_alive`]). `Leader` and `Follower`
//! implement the protocol, under one lock that is never held across an await.

mod follow;
mod frames;
mod serve;
mod shared;

use core::time::Duration;
use std::fmt;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use ferrosm_core::records::RecordBatch;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio_rustls::rustls::pki_types::UnixTime;

use super::event::{ReplicationEvent, Timing};
use super::log::LogLimits;
use super::node::ReplicationNode;
use super::thread::{Stop, Worker, stopped};
use super::tls::{Tls, TlsFiles};
use super::wire::FABRIC_NAME_MAX;
use super::{RecordStore, ReplicaCallback, Replication, ReplicationStatus, Role, store_thread};
use shared::TcpShared;

/// Interval of attempts to listen.
const LISTEN_RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Time to notify peers when the program stops.
const NOTIFY_TIMEOUT: Duration = Duration::from_millis(500);

/// Settings of replication from node to node.
#[derive(Debug, Clone)]
pub struct TcpSettings {
    /// Subnet prefix and configured name; nodes of another fabric are rejected.
    pub fabric: String,
    /// GUID of the SM's port.
    pub guid: u64,
    /// Its SM priority.
    pub priority: u8,
    /// Listen address, `address:port`.
    pub listen: String,
    /// The nodes, `host:port`; may include this one.
    pub peers: Vec<String>,
    /// Name in every peer's certificate; `None`: the name in `peers`.
    pub server_name: Option<String>,
    /// Certificate files.
    pub files: TlsFiles,
    pub timing: Timing,
    /// Stall of the driver's loop after which this node counts as stalled.
    pub driver_stall_timeout: Duration,
    /// Limits of the log for standbys that reconnect.
    pub log: LogLimits,
}

/// Why replication cannot start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The listen address cannot be used.
    #[error("cannot listen on {at}")]
    Listen {
        /// The address.
        at: String,
        /// The system's error.
        #[source]
        error: std::io::Error,
    },
    /// The fabric name is too long.
    #[error("fabric name exceeds {FABRIC_NAME_MAX} bytes")]
    Fabric,
    /// A thread or a runtime cannot be created.
    #[error("cannot start the replication thread")]
    Thread(#[source] std::io::Error),
}

/// A node that replicates over TCP.
pub struct TcpReplication {
    worker: Worker,
    shared: Arc<TcpShared>,
    address: Option<SocketAddr>,
}

impl TcpReplication {
    /// Starts the threads and listens. The role is [`Role::Inactive`] at first. Invalid
    /// certificates are read again later.
    ///
    /// # Errors
    /// [`StartError`]; the started threads end.
    pub fn start(
        settings: TcpSettings,
        store: Arc<dyn RecordStore>,
        events: mpsc::Sender<ReplicationEvent>,
    ) -> Result<Self, StartError> {
        if settings.fabric.len() > FABRIC_NAME_MAX {
            return Err(StartError::Fabric);
        }
        let tls = Tls::read(settings.files.clone());
        let listen_error = |error| StartError::Listen {
            at: settings.listen.clone(),
            error,
        };
        let listener = match bind(&settings.listen) {
            Ok(listener) => Some(listener),
            // The address may not be configured yet.
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable => {
                tracing::warn!(listen = settings.listen, %error, "cannot bind replication listener");
                None
            }
            Err(error) => return Err(listen_error(error)),
        };
        let address = listener
            .as_ref()
            .map(std::net::TcpListener::local_addr)
            .transpose()
            .map_err(listen_error)?;
        let (request_sender, requests) = std::sync::mpsc::channel();
        let began = Instant::now();
        let clock = move || began.elapsed();
        let node = ReplicationNode::new(
            store.clone(),
            request_sender,
            events,
            settings.driver_stall_timeout,
            clock,
        );
        let shared = Arc::new(TcpShared::new(settings, tls, node));
        let weak = Arc::downgrade(&shared);
        let stored = move |stored| {
            if let Some(shared) = weak.upgrade() {
                shared.on_store_result(stored);
            }
        };
        store_thread::start(store, requests, stored).map_err(StartError::Thread)?;
        let task_state = shared.clone();
        let worker = Worker::start(move |stop| run(task_state, listener, stop));
        Ok(Self {
            worker: worker.map_err(StartError::Thread)?,
            shared,
            address,
        })
    }

    /// The listen address, with the port that the system chose for port 0; `None` if the address is
    /// not available yet.
    #[must_use]
    pub const fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Stops at once without notifying peers, as after a crash.
    pub fn abort(mut self) {
        self.worker.stop(Stop::Immediate);
    }
}

impl fmt::Debug for TcpReplication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpReplication")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Replication for TcpReplication {
    fn set_role(&self, role: Role) {
        self.shared.set_role(role);
    }

    fn committed(&self, seq: u64, batch: &RecordBatch) {
        self.shared.committed(seq, batch);
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
        self.shared.after_store_requests(on_complete);
    }

    fn status(&self) -> ReplicationStatus {
        self.shared.status()
    }
}

fn bind(at: &str) -> std::io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(at)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Listens as soon as the address is available.
async fn listen(shared: Arc<TcpShared>, mut listener: Option<std::net::TcpListener>) {
    let listener = loop {
        if let Some(listener) = listener {
            break listener;
        }
        tokio::time::sleep(LISTEN_RETRY_INTERVAL).await;
        listener = bind(&shared.settings.listen).ok();
        if listener.is_some() {
            tracing::info!(
                listen = shared.settings.listen,
                "replication listener bound"
            );
        }
    };
    match TcpListener::from_std(listener) {
        Ok(listener) => serve::listen(shared, listener).await,
        Err(error) => tracing::error!(%error, "cannot start replication listener"),
    }
}

/// All tasks of the thread, until it is stopped.
async fn run(
    shared: Arc<TcpShared>,
    listener: Option<std::net::TcpListener>,
    mut stop: watch::Receiver<Stop>,
) {
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(listen(shared.clone(), listener));
    tasks.spawn(tick(shared.clone()));
    for (index, peer) in shared.settings.peers.iter().enumerate() {
        tasks.spawn(follow::poll_peer(shared.clone(), peer.clone(), index));
    }
    if stopped(&mut stop).await == Stop::Graceful {
        shared.leave();
        let notified = shared.node.wait_until(|| shared.are_followers_notified());
        let _ = tokio::time::timeout(NOTIFY_TIMEOUT, notified).await;
    }
    tasks.shutdown().await;
}

/// Advances the time of leader, follower and certificates.
async fn tick(shared: Arc<TcpShared>) {
    let step = (shared.settings.timing.heartbeat / 5).max(Duration::from_millis(2));
    let mut ticks = tokio::time::interval(step);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        shared.tick();
        shared.tls.log_daily(UnixTime::now());
    }
}
