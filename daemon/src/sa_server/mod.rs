//! The SA server: receives requests on QP1 and replies from the last published view.
//!
//! One thread receives; one worker thread per processor replies. Queries never wait for a sweep,
//! nor a sweep for queries. [`ferrosm_sa`] builds the replies and orders the requests; this module
//! has the threads and queues. Requests that the view cannot answer are forwarded to the driver
//! ([`crate::run::driver`]), the loop that owns the SM.

pub mod clients;
pub mod counters;
mod load;
mod registrations;
mod threads;

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{Lid, PortGuid};
use ferrosm_mad::time::Instant;
use ferrosm_sa::View;
use ferrosm_sa::admission::{
    AdmissionLimits, AdmissionQueue, AllowedClasses, ClientLoad, RequestClass, RequestCounts,
    RequestOutcome,
};
use ferrosm_sa::path::scan::PathQuery;
use ferrosm_sa::registry::snapshot::RegistrySnapshot;
use ferrosm_sa::request_kind::RequestKind;
use ferrosm_umad::gmp::{GmpReceiver, GmpSender};
use ferrosm_umad::transport::TransportError;
use tokio::sync::Notify;
use tracing::{debug, info};

use crate::clock::Clock;
use clients::ClientLimit;
pub use counters::SaCounters;
use counters::ServiceTimeCounts;

/// Limits of requests that wait for the driver. Clients take turns; requests beyond a limit are
/// dropped and counted.
const FORWARDED_LIMITS: AdmissionLimits = AdmissionLimits {
    total: 1 << 16,
    per_client: 512,
    rate: 0,
    tables: 0,
    table_bytes_in_flight: 0,
};
/// Registry reads that wait for a newer snapshot, per client and in all. Further ones are dropped
/// and counted.
const PARKED_PER_CLIENT_MAX: usize = 32;
const PARKED_MAX: usize = 4096;

/// A message and its sender.
type Message = (Peer, Vec<u8>);

/// A request that waits.
struct Request {
    from: Peer,
    bytes: Vec<u8>,
    kind: RequestKind,
    class: RequestClass,
    received: Instant,
}

/// The running server; dropping it stops the threads. A thread that ends before is reported by
/// [`SaServer::take_failure`].
pub struct SaServer {
    shared: Arc<Shared>,
    /// Earliest time of the next registry snapshot, by the driver's clock.
    snapshot_due: Instant,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    sender: Box<dyn GmpSender>,
    /// The view that replies come from; `None` while this SM is not master (docs/sm-behaviour.md,
    /// 7.2).
    view: RwLock<Option<Arc<View>>>,
    /// The last published registry snapshot.
    registrations: RwLock<Option<Registrations>>,
    /// Revision of the driver's registry; later reads must see it.
    revision: AtomicU64,
    /// Registry reads wait for a newer snapshot.
    snapshot_wanted: AtomicBool,
    /// Requests for the driver.
    forwarded: Mutex<AdmissionQueue<Request>>,
    /// Wakes the driver: a request was forwarded, or a snapshot is wanted.
    wake: Notify,
    /// Requests that wait for a worker.
    queue: Mutex<Queue>,
    /// Signalled when the queue has requests.
    filled: Condvar,
    clock: Clock,
    stop: AtomicBool,
    /// Why a thread has ended although the server runs.
    failure: Mutex<Option<TransportError>>,
    counters: Arc<SaCounters>,
    /// Limits of single clients.
    limits: Mutex<BTreeMap<PortGuid, ClientLimit>>,
    /// Number of worker threads.
    workers: usize,
}

/// What a worker takes from the queue.
enum Work {
    /// A request.
    New(Request),
    /// A registry read that waited for a snapshot.
    Parked(Request),
    /// A path query that runs in time slices, between two of them.
    Scan(Box<RunningScan>),
}

/// A path query over many pairs, in progress. It uses the view of its start, so that the reply is
/// consistent.
struct RunningScan {
    request: Request,
    view: Arc<View>,
    query: PathQuery,
}

/// The registry revision that a read needs.
#[derive(Clone, Copy)]
enum Revision {
    /// All writes so far.
    Latest,
    /// The published one, for which the read has waited.
    Published,
}

/// A published registry snapshot, with the time of publication by the driver's clock and by the
/// server's.
#[derive(Clone)]
struct Registrations {
    snapshot: Arc<RegistrySnapshot>,
    driver_time: Instant,
    server_time: Instant,
}

struct Queue {
    /// Registry reads that wait for a newer snapshot.
    parked: BTreeMap<Lid, Vec<Request>>,
    admission: AdmissionQueue<Work>,
    /// Idle workers.
    idle: usize,
    /// Workers that build a table.
    building_tables: usize,
    /// Workers that run a slice of a scan.
    scanning: usize,
}

impl SaServer {
    /// Starts the threads. Requests are dropped until a view is published.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn start(
        sender: Box<dyn GmpSender>,
        receiver: Box<dyn GmpReceiver>,
        limits: AdmissionLimits,
    ) -> std::io::Result<Self> {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let shared = Arc::new(Shared {
            sender,
            view: RwLock::default(),
            registrations: RwLock::default(),
            revision: AtomicU64::new(0),
            snapshot_wanted: AtomicBool::new(false),
            forwarded: Mutex::new(AdmissionQueue::new(FORWARDED_LIMITS)),
            wake: Notify::new(),
            queue: Mutex::new(Queue {
                parked: BTreeMap::new(),
                admission: AdmissionQueue::new(limits),
                idle: 0,
                building_tables: 0,
                scanning: 0,
            }),
            filled: Condvar::new(),
            clock: Clock::start(),
            stop: AtomicBool::default(),
            failure: Mutex::default(),
            counters: Arc::default(),
            limits: Mutex::default(),
            workers,
        });
        let mut server = Self {
            shared: Arc::clone(&shared),
            snapshot_due: Instant::START,
            threads: Vec::new(),
        };
        for _ in 0..workers {
            let shared = Arc::clone(&shared);
            let work = move || {
                let _end = ThreadEnd(&shared);
                threads::run_worker(&shared);
            };
            server.threads.push(
                std::thread::Builder::new()
                    .name("sa-worker".to_owned())
                    .spawn(work)?,
            );
        }
        let work = move || ThreadEnd(&shared).set(threads::run_receiver(receiver, &shared));
        server.threads.push(
            std::thread::Builder::new()
                .name("sa-receiver".to_owned())
                .spawn(work)?,
        );
        Ok(server)
    }

    /// Sets the view that replies come from; `None` drops all requests.
    pub fn publish(&self, view: Option<Arc<View>>) {
        let before = {
            let mut published = self
                .shared
                .view
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            core::mem::replace(&mut *published, view)
        };
        // Frees the old view without the lock.
        drop(before);
    }

    /// Sends a reply or report of the driver.
    pub fn send(&self, to: &Peer, bytes: &[u8], answer_within: Option<Duration>) {
        self.shared.send(to, bytes, answer_within);
    }

    /// The next forwarded requests, at most `max`.
    #[must_use]
    pub fn take_requests(&self, max: usize) -> Vec<(Peer, Vec<u8>)> {
        let mut times = ServiceTimeCounts::default();
        let mut taken = Vec::new();
        {
            let mut forwarded = self.shared.forwarded();
            if forwarded.is_empty() {
                return taken;
            }
            let now = self.shared.clock.now();
            let next = || Some(forwarded.take(AllowedClasses::NONE)?.1);
            for request in core::iter::from_fn(next).take(max) {
                times.add(now.since(request.received));
                taken.push((request.from, request.bytes));
            }
        }
        self.shared.counters.add_times(RequestClass::Write, &times);
        taken
    }

    /// Waits for a forwarded request, if `takes_requests`, or until a snapshot is wanted. May be
    /// cancelled.
    pub async fn ready(&self, takes_requests: bool) {
        if !takes_requests || self.shared.forwarded().is_empty() {
            self.shared.wake.notified().await;
        }
    }

    /// Why a thread has ended although the server runs; returned once. Without all threads, the SA
    /// does not work.
    #[must_use]
    pub fn take_failure(&self) -> Option<TransportError> {
        self.shared.failure().take()
    }

    /// Requests by outcome.
    #[must_use]
    pub fn counters(&self) -> &Arc<SaCounters> {
        &self.shared.counters
    }

    /// Requests of each client by outcome.
    #[must_use]
    pub fn clients(&self) -> BTreeMap<Lid, RequestCounts> {
        self.loads()
            .into_iter()
            .map(|(lid, load)| (lid, load.counts()))
            .collect()
    }

    fn loads(&self) -> BTreeMap<Lid, ClientLoad> {
        self.shared.queue().admission.loads().collect()
    }
}

impl Drop for SaServer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.filled.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        let clients = self.clients().len();
        if clients == 0 {
            return;
        }
        let counters = &self.shared.counters;
        info!(
            clients,
            answered = counters.total(RequestOutcome::Answered),
            forwarded = counters.total(RequestOutcome::Forwarded),
            too_large = counters.total(RequestOutcome::TooLarge),
            overload = counters.total(RequestOutcome::Overload),
            not_ready = counters.not_ready().total(),
            dropped = counters.total(RequestOutcome::Dropped),
            refused = counters.refusals().values().sum::<u64>(),
            "SA stopped"
        );
    }
}

impl Shared {
    fn send(&self, to: &Peer, bytes: &[u8], answer_within: Option<Duration>) {
        // Equivalent to a lost message: the client repeats its request.
        if let Err(e) = self.sender.send(to, bytes, answer_within) {
            debug!(action = e.action, error = %e.source, to = %to.lid, "cannot send SA reply");
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn forwarded(&self) -> MutexGuard<'_, AdmissionQueue<Request>> {
        self.forwarded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The registry snapshot, if it has the needed revision.
    fn registrations(&self, min_revision: Revision) -> Option<Registrations> {
        let revision = match min_revision {
            Revision::Latest => self.revision.load(Ordering::Acquire),
            Revision::Published => 0,
        };
        let published = self.registrations.read();
        let published = published.unwrap_or_else(PoisonError::into_inner).clone();
        published.filter(|p| p.snapshot.revision() >= revision)
    }

    fn view(&self) -> Option<Arc<View>> {
        let view = self.view.read();
        view.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn failure(&self) -> MutexGuard<'_, Option<TransportError>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Reports the end of a thread to the driver, also if the thread panics.
struct ThreadEnd<'a>(&'a Shared);

impl ThreadEnd<'_> {
    /// The thread ends with this result.
    fn set(self, result: Result<(), TransportError>) {
        if let Err(error) = result {
            self.0.failure().get_or_insert(error);
        }
    }
}

impl Drop for ThreadEnd<'_> {
    fn drop(&mut self) {
        if self.0.is_stopped() {
            return;
        }
        self.0.failure().get_or_insert_with(|| TransportError {
            action: "cannot serve the SA",
            source: std::io::Error::other("a thread of the SA server has ended"),
        });
        self.0.wake.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_mad::ids::AttrId;
    use ferrosm_mad::mad::{Mad, MadHeader, Method, MgmtClass};
    use ferrosm_umad::gmp::GmpReceived;
    use std::sync::mpsc::{Receiver, channel};

    struct Inbox(Receiver<Message>);

    impl GmpReceiver for Inbox {
        fn receive(&mut self, timeout: Duration) -> Result<GmpReceived, TransportError> {
            Ok(match self.0.recv_timeout(timeout) {
                Ok((from, bytes)) => GmpReceived::Message { from, bytes },
                Err(_) => GmpReceived::TimedOut,
            })
        }
    }

    /// Counts sent messages.
    struct Outbox(Arc<AtomicU64>);

    impl GmpSender for Outbox {
        fn send(&self, _: &Peer, _: &[u8], _: Option<Duration>) -> Result<(), TransportError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    fn request(lid: u16) -> Message {
        let mad = Mad::new(&MadHeader {
            base_version: 1,
            mgmt_class: MgmtClass::SubnAdm,
            class_version: 2,
            method: Method::Get,
            attr_id: AttrId(0x35),
            ..MadHeader::default()
        });
        let from = Peer {
            lid: Lid(lid),
            ..Peer::default()
        };
        (from, mad.as_bytes().to_vec())
    }

    /// Without a view no request gets a reply, not even BUSY; requests are counted per client.
    #[test]
    fn standby_does_not_reply_and_counts_requests() {
        let (to_server, inbox) = channel();
        let sent = Arc::new(AtomicU64::new(0));
        let limits = AdmissionLimits {
            rate: 1,
            ..AdmissionLimits::default()
        };
        let outbox = Box::new(Outbox(Arc::clone(&sent)));
        let server = SaServer::start(outbox, Box::new(Inbox(inbox)), limits).unwrap();
        to_server.send((request(7).0, vec![0; 40])).unwrap();
        to_server.send(request(7)).unwrap();
        for _ in 0..50 {
            to_server.send(request(9)).unwrap();
        }
        let num_counted = || {
            server
                .clients()
                .values()
                .map(RequestCounts::total)
                .sum::<u64>()
        };
        while num_counted() < 52 {
            std::thread::yield_now();
        }
        let clients = server.clients();
        assert_eq!((clients.len(), clients[&Lid(7)].dropped), (2, 2));
        // The rate limit admits one second's worth, and a few more while the test runs.
        assert!(clients[&Lid(9)].overload >= 20, "{clients:?}");
        drop(server);
        assert_eq!(sent.load(Ordering::Relaxed), 0);
    }
}
