//! Replication over TCP, with TLS on both sides: every node listens, and a standby connects to its peers until it finds the master.
//!
//! It runs on a thread with a runtime of its own, so that a busy driver delays nothing; but pings are answered only while the driver's
//! loop turns ([`Replication::pulse`]). `Leader` and `Follower` decide, under one lock that is never held across an await.

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

use super::event::{Event, Timing};
use super::log::LogLimits;
use super::node::Node;
use super::thread::{Stop, Worker, stopped};
use super::tls::{Tls, TlsFiles};
use super::wire::FABRIC_NAME_MAX;
use super::{RecordStore, ReplicaCallback, Replication, ReplicationStatus, Role, store_thread};
use shared::Shared;

/// Time between two attempts to listen.
const AGAIN: Duration = Duration::from_secs(1);
/// Time for goodbyes at the end of the program.
const GOODBYE: Duration = Duration::from_millis(500);

/// TcpSettings of replication from node to node.
#[derive(Debug, Clone)]
pub struct TcpSettings {
    /// Subnet prefix and configured name: nodes of another fabric are refused.
    pub fabric: String,
    /// GUID of the port that this SM serves by.
    pub guid: u64,
    /// Its SM priority.
    pub priority: u8,
    /// Where it listens, `address:port`.
    pub listen: String,
    /// The other nodes, `host:port`. This node itself may be among them.
    pub peers: Vec<String>,
    /// Name that every peer's certificate must have; `None`: the name in `peers`.
    pub server_name: Option<String>,
    /// Certificates.
    pub files: TlsFiles,
    /// Times.
    pub timing: Timing,
    /// Time without a turn of the driver's loop after which it hangs.
    pub hang: Duration,
    /// Limits of the log for standbys that reconnect.
    pub log: LogLimits,
}

/// Why replication does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The address.
    #[error("cannot listen at {at}")]
    Listen {
        /// The address.
        at: String,
        /// What the system says.
        #[source]
        error: std::io::Error,
    },
    /// The name is too long.
    #[error("the name of the fabric has more than {FABRIC_NAME_MAX} bytes")]
    Fabric,
    /// A thread or a runtime.
    #[error("cannot start its thread")]
    Thread(#[source] std::io::Error),
}

/// A node that replicates over TCP.
pub struct TcpReplication {
    worker: Worker,
    shared: Arc<Shared>,
    address: Option<SocketAddr>,
}

impl TcpReplication {
    /// Starts its threads and listens. Its role is [`Role::Inactive`] at first. Invalid certificates are read again later.
    ///
    /// # Errors
    /// [`StartError`]; no thread runs then.
    pub fn start(
        settings: TcpSettings,
        copy: Arc<dyn RecordStore>,
        events: mpsc::Sender<Event>,
    ) -> Result<Self, StartError> {
        if settings.fabric.len() > FABRIC_NAME_MAX {
            return Err(StartError::Fabric);
        }
        let tls = Tls::read(settings.files.clone());
        let unheard = |error| StartError::Listen {
            at: settings.listen.clone(),
            error,
        };
        let listener = match bind(&settings.listen) {
            Ok(listener) => Some(listener),
            // The network may come up later than this.
            Err(error) if error.kind() == ErrorKind::AddrNotAvailable => {
                tracing::warn!(
                    "replication: cannot listen at {} yet: {error}",
                    settings.listen
                );
                None
            }
            Err(error) => return Err(unheard(error)),
        };
        let address = listener.as_ref().map(std::net::TcpListener::local_addr);
        let address = address.transpose().map_err(unheard)?;
        let (asks, waiting) = std::sync::mpsc::channel();
        let began = Instant::now();
        let clock = move || began.elapsed();
        let node = Node::new(copy.clone(), asks, events, settings.hang, clock);
        let shared = Arc::new(Shared::new(settings, tls, node));
        let weak = Arc::downgrade(&shared);
        let stored = move |stored| {
            if let Some(shared) = weak.upgrade() {
                shared.stored(stored);
            }
        };
        store_thread::start(copy, waiting, stored).map_err(StartError::Thread)?;
        let mine = shared.clone();
        let worker = Worker::start(move |stop| run(mine, listener, stop));
        Ok(Self {
            worker: worker.map_err(StartError::Thread)?,
            shared,
            address,
        })
    }

    /// The address that it listens on, with the port that the system chose if the setting has port 0; `None` if it cannot listen yet.
    #[must_use]
    pub const fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Ends at once, without goodbyes, as after a crash.
    pub fn abort(mut self) {
        self.worker.end(Stop::AtOnce);
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

    fn complete_replica(&self, then: ReplicaCallback) {
        self.shared.settled(then);
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

/// Listens as soon as it can.
async fn listen(shared: Arc<Shared>, mut listener: Option<std::net::TcpListener>) {
    let listener = loop {
        if let Some(listener) = listener {
            break listener;
        }
        tokio::time::sleep(AGAIN).await;
        listener = bind(&shared.settings.listen).ok();
        if listener.is_some() {
            tracing::info!("replication: listens at {}", shared.settings.listen);
        }
    };
    match TcpListener::from_std(listener) {
        Ok(listener) => serve::listen(shared, listener).await,
        Err(error) => tracing::error!("replication: cannot listen: {error}"),
    }
}

/// Everything that goes on in the thread, until it is told to end.
async fn run(
    shared: Arc<Shared>,
    listener: Option<std::net::TcpListener>,
    mut stop: watch::Receiver<Stop>,
) {
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(listen(shared.clone(), listener));
    tasks.spawn(tick(shared.clone()));
    for (place, peer) in shared.settings.peers.iter().enumerate() {
        tasks.spawn(follow::seek(shared.clone(), peer.clone(), place));
    }
    if stopped(&mut stop).await == Stop::Graceful {
        shared.leave();
        let parted = shared.node.wait_until(|| shared.parted());
        let _ = tokio::time::timeout(GOODBYE, parted).await;
    }
    tasks.shutdown().await;
}

/// Time, for leader, follower and certificates.
async fn tick(shared: Arc<Shared>) {
    let step = (shared.settings.timing.heartbeat / 5).max(Duration::from_millis(2));
    let mut ticks = tokio::time::interval(step);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        shared.tick();
        shared.tls.remind(UnixTime::now());
    }
}
