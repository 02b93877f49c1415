//! The server of subnet administration: takes requests from QP1 and answers them from the last published view.
//!
//! One thread takes what arrives; as many as there are processors answer. So queries never wait for a sweep, nor a sweep for
//! queries. What an answer says, and whose turn it is, is decided by [`ferrosm_sa`]; here is only who waits for whom.
//! What the view does not know goes to the driver, who owns it.

mod registrations;
mod threads;

use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;

use ferrosm_mad::ids::Lid;
use ferrosm_mad::time::Instant;
use ferrosm_mad::transport::gmp::{GmpReceiver, GmpSender, Peer};
use ferrosm_sa::View;
use ferrosm_sa::admission::{AdmissionLimits, AdmissionQueue, AllowedClasses, RequestCounts};
use ferrosm_sa::path::scan::PathQuery;
use ferrosm_sa::registry::snapshot::RegistrySnapshot;
use tokio::sync::Notify;
use tracing::{debug, info};

use crate::clock::Clock;

/// Requests that wait for the driver: each requester has its share, and takes turns with the others. More are dropped and counted.
const OWNED_LIMITS: AdmissionLimits = AdmissionLimits {
    total: 1 << 16,
    per_client: 512,
    rate: 0,
    tables: 0,
    table_bytes_in_flight: 0,
};
/// Reads of registrations that wait for a newer snapshot, of one client and in all. More are dropped and counted.
const PARKED_PER_CLIENT_MAX: usize = 32;
const PARKED_MAX: usize = 4096;

/// A message and who sent it.
type Message = (Peer, Vec<u8>);

/// A running server. Ends when it is dropped.
pub struct SaServer {
    shared: Arc<Shared>,
    /// By the owner's clock: when the next snapshot of registrations may be made.
    snapshot_due: Instant,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    sender: Box<dyn GmpSender>,
    /// What requests are answered from; none while this subnet manager is not in charge (rule 7.2).
    view: RwLock<Option<Arc<View>>>,
    /// What clients have registered, as last published.
    registrations: RwLock<Option<Registrations>>,
    /// Revision of the owner's registry: reads that arrive from now on must see it.
    revision: AtomicU64,
    /// Reads wait for a newer snapshot.
    snapshot_wanted: AtomicBool,
    /// Requests for the owner.
    owned: Mutex<AdmissionQueue<Message>>,
    /// Something for the owner to do.
    wake: Notify,
    /// Who waits to be answered.
    queue: Mutex<Queue>,
    /// Something waits.
    filled: Condvar,
    clock: Clock,
    stop: AtomicBool,
    counters: Arc<Counters>,
    /// Threads that answer.
    workers: usize,
}

/// What a worker takes from the queue.
enum Work {
    /// A request.
    Request(Message),
    /// A read of registrations that has waited for a snapshot.
    Parked(Message),
    /// A scan between two slices.
    Scan(Box<RunningScan>),
}

/// A scan that began. It keeps the view that it began with, so that its reply is of one subnet.
struct RunningScan {
    message: Message,
    view: Arc<View>,
    query: PathQuery,
}

/// Which snapshot a read needs.
#[derive(Clone, Copy)]
enum Revision {
    /// One with every write so far.
    Latest,
    /// The published one: the read has waited for it.
    Published,
}

/// A published snapshot, and when it was published by the owner's clock and by ours.
#[derive(Clone)]
struct Registrations {
    snapshot: Arc<RegistrySnapshot>,
    owner_time: Instant,
    own_time: Instant,
}

struct Queue {
    /// Reads that wait for a newer snapshot.
    parked: BTreeMap<Lid, Vec<Message>>,
    admission: AdmissionQueue<Work>,
    /// Threads that wait for something to do.
    idle: usize,
    /// Threads that build a table.
    tabling: usize,
    /// Threads that run a slice of a scan.
    scanning: usize,
}

/// What became of requests, of all clients together.
#[derive(Debug, Default)]
pub struct Counters {
    /// Answered from the view.
    pub answered: AtomicU64,
    /// Left to the owner.
    pub owned: AtomicU64,
    /// Not answered: no view, not a request, or a wrong SM_Key.
    pub dropped: AtomicU64,
    /// Rejected: the query exceeds the work or reply size of one request.
    pub too_large: AtomicU64,
    /// Dropped because a limit of waiting requests or the request rate was exceeded.
    pub overload: AtomicU64,
    /// Of those left to the owner, dropped because mastership was not settled or too many requests wait for devices.
    pub not_ready: AtomicU64,
}

impl Counters {
    fn add(&self, counts: &RequestCounts) {
        let add = |counter: &AtomicU64, n| counter.fetch_add(n, Ordering::Relaxed);
        add(&self.answered, counts.answered);
        add(&self.owned, counts.forwarded);
        add(&self.dropped, counts.dropped);
        add(&self.too_large, counts.too_large);
        add(&self.overload, counts.overload);
    }
}

impl SaServer {
    /// Starts the threads. Requests are dropped until a view is published.
    ///
    /// # Errors
    /// If the system has no thread left.
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
            owned: Mutex::new(AdmissionQueue::new(OWNED_LIMITS)),
            wake: Notify::new(),
            queue: Mutex::new(Queue {
                parked: BTreeMap::new(),
                admission: AdmissionQueue::new(limits),
                idle: 0,
                tabling: 0,
                scanning: 0,
            }),
            filled: Condvar::new(),
            clock: Clock::start(),
            stop: AtomicBool::default(),
            counters: Arc::default(),
            workers,
        });
        let mut server = Self {
            shared: Arc::clone(&shared),
            snapshot_due: Instant::START,
            threads: Vec::new(),
        };
        for _ in 0..workers {
            let shared = Arc::clone(&shared);
            let work = move || threads::answer_all(&shared);
            server
                .threads
                .push(crate::threads::start("sa-answers", work)?);
        }
        let work = move || threads::take_all(receiver, &shared);
        server
            .threads
            .push(crate::threads::start("sa-requests", work)?);
        Ok(server)
    }

    /// Answers from this view from now on; from none, nothing is answered.
    pub fn publish(&self, view: Option<Arc<View>>) {
        let before = {
            let mut place = self
                .shared
                .view
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            core::mem::replace(&mut *place, view)
        };
        // Whatever only it held is freed here, while nobody waits for the lock.
        drop(before);
    }

    /// Sends an answer or a report of the owner.
    pub fn send(&self, to: &Peer, bytes: &[u8], answer_within: Option<Duration>) {
        self.shared.send(to, bytes, answer_within);
    }

    /// A request for the owner, if there is one.
    pub fn take(&self) -> Option<Message> {
        let (_, message) = self.shared.owned().take(AllowedClasses::NONE)?;
        Some(message)
    }

    /// Waits until the owner may have something to do: a request, if it takes any now, or a snapshot to publish. May be cancelled.
    pub async fn ready(&self, takes_requests: bool) {
        if !takes_requests || self.shared.owned().is_empty() {
            self.shared.wake.notified().await;
        }
    }

    /// What became of requests.
    #[must_use]
    pub fn counters(&self) -> &Arc<Counters> {
        &self.shared.counters
    }

    /// What became of the requests of each client, by LID.
    #[must_use]
    pub fn clients(&self) -> BTreeMap<Lid, RequestCounts> {
        self.shared.queue().admission.counts().collect()
    }
}

impl Drop for SaServer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.shared.filled.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        let counters = &self.shared.counters;
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        info!(
            clients = self.clients().len(),
            answered = of(&counters.answered),
            registrations = of(&counters.owned),
            too_large = of(&counters.too_large),
            overload = of(&counters.overload),
            not_ready = of(&counters.not_ready),
            dropped = of(&counters.dropped),
            "SA stopped"
        );
    }
}

impl Shared {
    fn send(&self, to: &Peer, bytes: &[u8], answer_within: Option<Duration>) {
        // A message that is not sent is as one that was lost: whoever waits for it asks again.
        if let Err(e) = self.sender.send(to, bytes, answer_within) {
            debug!(action = e.action, error = %e.source, to = %to.lid, "cannot send SA reply");
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn owned(&self) -> MutexGuard<'_, AdmissionQueue<Message>> {
        self.owned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registrations that contain every write so far; `None` while a newer snapshot is needed.
    fn registrations(&self, least: Revision) -> Option<Registrations> {
        let revision = match least {
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

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferrosm_mad::ids::AttrId;
    use ferrosm_mad::mad::{Mad, MadHeader, Method, MgmtClass};
    use ferrosm_mad::transport::TransportError;
    use ferrosm_mad::transport::gmp::GmpReceived;
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

    /// Counts what is sent.
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

    /// Without a view nobody is answered, not even told to come back; each client's requests are counted all the same.
    #[test]
    fn a_standby_is_silent_and_counts() {
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
        let done = || {
            server
                .clients()
                .values()
                .map(RequestCounts::total)
                .sum::<u64>()
        };
        while done() < 52 {
            std::thread::yield_now();
        }
        let clients = server.clients();
        assert_eq!((clients.len(), clients[&Lid(7)].dropped), (2, 2));
        // A second's worth at once, and at most a few more while time went by.
        assert!(clients[&Lid(9)].overload >= 20, "{clients:?}");
        drop(server);
        assert_eq!(sent.load(Ordering::Relaxed), 0);
    }
}
