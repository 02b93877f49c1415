//! The SA server counts each message once, per host and in total, whatever its content. Sent
//! replies match the counters.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ferrosm::sa_server::SaServer;
use ferrosm_core::SmConfig;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::Lid;
use ferrosm_mad::time::Instant;
use ferrosm_sa::SaRequest;
use ferrosm_sa::admission::{AdmissionLimits, RequestClass, RequestCounts, RequestOutcome};
use ferrosm_sa::registry::Registry;
use ferrosm_sa::request_kind::RequestKind;
use ferrosm_tests::lab::{Lab, TestRng};
use ferrosm_tests::sa::expected as expected_records;
use ferrosm_tests::sa::wire::{WireRequest, method};
use ferrosm_umad::gmp::{GmpReceived, GmpReceiver, GmpSender};
use ferrosm_umad::transport::TransportError;

const MESSAGES: u64 = 20_000;
/// Status of the reply to a query whose result is too large.
const NO_RESOURCES: u16 = 0x0100;
const NODE: u16 = 0x11;
const PATH: u16 = 0x35;
const MEMBER: u16 = 0x38;

struct Inbox(Receiver<(Peer, Vec<u8>)>);

impl GmpReceiver for Inbox {
    fn receive(&mut self, timeout: Duration) -> Result<GmpReceived, TransportError> {
        let received = self.0.recv_timeout(timeout);
        Ok(received.map_or(GmpReceived::TimedOut, |(from, bytes)| {
            GmpReceived::Message { from, bytes }
        }))
    }
}

/// Destination and status of each reply.
type Sent = Arc<Mutex<Vec<(Lid, u16)>>>;

struct Outbox(Sent);

impl GmpSender for Outbox {
    fn send(&self, to: &Peer, bytes: &[u8], _: Option<Duration>) -> Result<(), TransportError> {
        let status = u16::from_be_bytes([bytes[4], bytes[5]]);
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push((to.lid, status));
        Ok(())
    }
}

/// A random message from a host.
fn message(rng: &mut TestRng, from: u16, to: u16) -> Vec<u8> {
    let mut path = WireRequest {
        // Source and destination LID.
        mask: 1 << 4 | 1 << 5,
        data: vec![0; 64],
        ..WireRequest::new(from, method::GET, PATH)
    };
    path.data[40..42].copy_from_slice(&to.to_be_bytes());
    path.data[42..44].copy_from_slice(&from.to_be_bytes());
    match rng.below(8) {
        0 => (0..rng.below(300))
            .map(|_| rng.next().to_be_bytes()[0])
            .collect(),
        1 => WireRequest::new(from, method::GET | method::RESPONSE, PATH).to_bytes(1),
        2 => WireRequest { sm_key: 99, ..path }.to_bytes(2),
        3 => WireRequest::new(from, method::GET_TABLE, NODE).to_bytes(3),
        4 => WireRequest::new(from, method::SET, MEMBER).to_bytes(4),
        _ => path.to_bytes(5),
    }
}

#[test]
fn each_message_is_counted_once() {
    let mut lab = Lab::with("fat-tree:4", 3, SmConfig::default());
    lab.next_sweep(60);
    let view = lab.manager().core().view().cloned();
    let lids: Vec<u16> = expected_records::end_ports(&lab)
        .into_iter()
        .map(|at| expected_records::lid(&lab, at))
        .collect();
    let (to_server, inbox) = channel();
    let sent = Sent::default();
    // The queues are short, so the server drops some requests.
    let limits = AdmissionLimits {
        total: 64,
        per_client: 8,
        ..AdmissionLimits::default()
    };
    let outbox = Box::new(Outbox(Arc::clone(&sent)));
    let server =
        SaServer::start(outbox, Box::new(Inbox(inbox)), limits).expect("server threads started");
    server.publish(view);

    let mut rng = TestRng::new(7);
    let mut requests: BTreeMap<Lid, u64> = BTreeMap::new();
    let mut kinds: BTreeMap<RequestKind, u64> = BTreeMap::new();
    for _ in 0..MESSAGES {
        let [from, to] = [0; 2].map(|_| lids[rng.index(lids.len())]);
        let bytes = message(&mut rng, from, to);
        *requests.entry(Lid(from)).or_default() += 1;
        let from = Peer {
            lid: Lid(from),
            ..Peer::default()
        };
        let kind =
            SaRequest::parse(from, &bytes).map_or(RequestKind::OTHER, |r| RequestKind::of(&r));
        *kinds.entry(kind).or_default() += 1;
        to_server.send((from, bytes)).expect("running server");
    }
    let all = |server: &SaServer| {
        let counters = server.counters();
        RequestCounts {
            answered: counters.total(RequestOutcome::Answered),
            forwarded: counters.total(RequestOutcome::Forwarded),
            dropped: counters.total(RequestOutcome::Dropped),
            too_large: counters.total(RequestOutcome::TooLarge),
            overload: counters.total(RequestOutcome::Overload),
        }
    };
    let hosts = |server: &SaServer| -> BTreeMap<Lid, u64> {
        let clients = server.clients().into_iter();
        clients.map(|(lid, counts)| (lid, counts.total())).collect()
    };
    while all(&server).total() < MESSAGES || hosts(&server).values().sum::<u64>() < MESSAGES {
        std::thread::yield_now();
    }

    assert_eq!(hosts(&server), requests, "counters per host");
    let counters = server.counters();
    for kind in RequestKind::all() {
        let outcomes = RequestOutcome::ALL.map(|outcome| counters.count(kind, outcome));
        let expected = kinds.get(&kind).copied().unwrap_or(0);
        assert_eq!(outcomes.iter().sum::<u64>(), expected, "{kind:?}");
    }
    let timed: u64 = RequestClass::ALL
        .map(|class| counters.times(class).buckets.iter().sum::<u64>())
        .iter()
        .sum();
    let answered = counters.total(RequestOutcome::Answered);
    assert_eq!(timed, answered + counters.total(RequestOutcome::TooLarge));
    let all = all(&server);
    assert_eq!(all.total(), MESSAGES);
    let of_hosts = server.clients().into_values();
    let sum = of_hosts.fold(RequestCounts::default(), |a, b| RequestCounts {
        answered: a.answered + b.answered,
        forwarded: a.forwarded + b.forwarded,
        dropped: a.dropped + b.dropped,
        too_large: a.too_large + b.too_large,
        overload: a.overload + b.overload,
    });
    assert_eq!(sum, all);
    let forwarded_requests = server.take_requests(usize::MAX).len() as u64;
    assert_eq!(forwarded_requests, all.forwarded);
    let sent = sent.lock().expect("lock not poisoned");
    let too_large = sent
        .iter()
        .filter(|(_, status)| *status == NO_RESOURCES)
        .count() as u64;
    assert_eq!(too_large, all.too_large);
    assert_eq!(sent.len() as u64, all.answered + all.too_large);
    // Requests over the limit get no reply: the Linux SA client takes BUSY as the final answer.
    assert!(all.overload > 0, "{all:?}");
    assert!(all.answered > 0 && all.forwarded > 0 && all.dropped > 0);
}

/// A registration query waits for a snapshot that includes every earlier write. The worker threads
/// then reply without the core.
#[test]
fn registry_reads_wait_for_a_current_snapshot() {
    let mut lab = Lab::with("fat-tree:4", 3, SmConfig::default());
    lab.next_sweep(60);
    let lid = expected_records::lid(&lab, expected_records::end_ports(&lab)[0]);
    let (to_server, inbox) = channel();
    let sent = Sent::default();
    let outbox = Box::new(Outbox(Arc::clone(&sent)));
    let server = SaServer::start(outbox, Box::new(Inbox(inbox)), AdmissionLimits::default());
    let server = server.expect("server threads started");
    server.publish(lab.manager().core().view().cloned());
    let mut registry = Registry::default();
    for revision in 1..=3 {
        registry.replace(Registry::default());
        assert_eq!(registry.revision(), revision);
        server.set_revision(revision);
        let from = Peer {
            lid: Lid(lid),
            ..Peer::default()
        };
        let bytes = WireRequest::new(lid, method::GET_TABLE, MEMBER).to_bytes(revision);
        to_server.send((from, bytes)).expect("running server");
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        while !server.wants_snapshot() {
            assert!(
                std::time::Instant::now() < deadline,
                "no snapshot requested"
            );
            std::thread::yield_now();
        }
        let replies = || sent.lock().expect("lock not poisoned").len() as u64;
        assert_eq!(replies(), revision - 1, "replied from an older snapshot");
        server.publish_registrations(registry.snapshot(), Instant::START);
        while replies() < revision {
            assert!(std::time::Instant::now() < deadline, "no reply");
            std::thread::yield_now();
        }
    }
    assert!(
        server.take_requests(1).is_empty(),
        "a request was forwarded to the SM thread"
    );
}
