//! Hostile SA clients: memberships of other hosts; on a large fabric, work per slice, and service
//! of other clients between slices.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ferrosm::sa_server::SaServer;
use ferrosm_core::SmConfig;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::Lid;
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord};
use ferrosm_mad::time::Instant;
use ferrosm_sa::admission::{
    AdmissionLimits, AdmissionQueue, AllowedClasses, RequestClass, SCANS_RUNNING_MAX,
};
use ferrosm_sa::path::scan::{PathQuery, QueryProgress};
use ferrosm_sa::{Disposition, SaRequest, View, answer};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;
use ferrosm_tests::sa::expected as expected_records;
use ferrosm_tests::sa::members::{BROADCAST, MEMBER, request};
use ferrosm_tests::sa::wire::{WireRequest, method};
use ferrosm_umad::gmp::{GmpReceived, GmpReceiver, GmpSender};
use ferrosm_umad::transport::TransportError;

const PATH: u16 = 0x35;
/// 11,664 hosts.
const LARGE: &str = "fat-tree:36";
const HOSTILE: usize = 100;
const SLICE: usize = 4096;
/// Components of PathRecord.
const DLID: u64 = 1 << 4;
const SLID: u64 = 1 << 5;
const SL: u64 = 1 << 15;
const RATE: u64 = 0b11 << 18;

enum Work {
    Request(Peer, Vec<u8>),
    Scan(Peer, Vec<u8>, Box<PathQuery>),
}

fn peer(lid: u16) -> Peer {
    Peer {
        lid: Lid(lid),
        ..Peer::default()
    }
}

/// `saquery PR --rate 2:2` as Get or GetTable, with an SL that no path has, so that a Get scans
/// without a match.
fn hostile(lid: u16, method_code: u8) -> Vec<u8> {
    let mut request = WireRequest {
        mask: RATE | SL,
        data: vec![0; 64],
        ..WireRequest::new(lid, method_code, PATH)
    };
    // Selector "exactly" and 2.5 Gb/s.
    request.data[55] = 2 << 6 | 2;
    request.to_bytes(1)
}

fn path_query(from: u16, to: u16) -> Vec<u8> {
    let mut request = WireRequest {
        mask: DLID | SLID,
        data: vec![0; 64],
        ..WireRequest::new(from, method::GET, PATH)
    };
    request.data[40..42].copy_from_slice(&to.to_be_bytes());
    request.data[42..44].copy_from_slice(&from.to_be_bytes());
    request.to_bytes(2)
}

fn view_of(spec: &str) -> (Arc<View>, Vec<u16>) {
    let mut lab = Lab::with(spec, 3, SmConfig::default());
    lab.next_sweep(60);
    let lids = expected_records::end_ports(&lab)
        .into_iter()
        .map(|at| expected_records::lid(&lab, at))
        .collect();
    (lab.manager().core().view().cloned().expect("SA view"), lids)
}

/// 100 clients send endless whole-table path queries as Get and GetTable. The server rejects
/// GetTable without a slice and runs Gets in slices, at most four at a time. Path queries of other
/// clients wait for at most one slice each.
#[test]
fn path_queries_are_served_between_slices_of_hostile_scans() {
    let (view, lids) = view_of(LARGE);
    assert!(lids.len() > 10_000, "{} end ports", lids.len());
    let mut queue = AdmissionQueue::new(AdmissionLimits::default());
    let mut dropped = 0;
    let mut slices = 0;
    let mut rejected = 0;
    let mut served = 0;
    let offer = |queue: &mut AdmissionQueue<Work>, lid: u16, bytes: Vec<u8>| {
        let class = RequestClass::from_request(
            &SaRequest::parse(peer(lid), &bytes).expect("valid request"),
        );
        let work = Work::Request(peer(lid), bytes);
        let refused = queue.offer(Lid(lid), class, work, Instant::START).is_err();
        (class, refused)
    };
    for lid in &lids[..HOSTILE] {
        for n in 0..20 {
            let method_code = if n % 2 == 0 {
                method::GET_TABLE
            } else {
                method::GET
            };
            let (class, refused) = offer(&mut queue, *lid, hostile(*lid, method_code));
            assert_eq!(class, RequestClass::Scan);
            dropped += usize::from(refused);
        }
    }
    assert_eq!(
        dropped,
        HOSTILE * 16,
        "the queue accepts four requests per client"
    );
    let a = lids[HOSTILE];
    let b = lids[HOSTILE + 1];
    while slices < 500 {
        offer(&mut queue, a, path_query(a, b));
        let mut waited = 0;
        loop {
            let (class, work) = queue.take(AllowedClasses::ALL).expect("queued work");
            let (from, bytes, query) = match work {
                Work::Request(from, bytes) => (from, bytes, None),
                Work::Scan(from, bytes, query) => (from, bytes, Some(query)),
            };
            let request = SaRequest::parse(from, &bytes).expect("valid request");
            if class == RequestClass::Read {
                let Disposition::Reply(reply) = answer(&view, &request) else {
                    panic!("expected a reply from the view");
                };
                assert_eq!((reply.status, reply.count()), (Status::OK, 1));
                served += 1;
                break;
            }
            assert_eq!(class, RequestClass::Scan);
            let query = query.map_or_else(|| PathQuery::new(&view, &request).map(Box::new), Ok);
            match query {
                Err(reply) => {
                    assert_eq!(reply.status, Status::NO_RESOURCES);
                    rejected += 1;
                    queue.finish(from.lid, class);
                }
                Ok(mut query) => {
                    slices += 1;
                    waited += 1;
                    match query.advance(&view, &request, SLICE) {
                        QueryProgress::More => queue.resume(Work::Scan(from, bytes, query)),
                        QueryProgress::Done(reply) => {
                            assert_eq!(reply.status, Status::NO_RESOURCES);
                            queue.finish(from.lid, class);
                        }
                    }
                }
            }
            assert!(waited <= 1, "a path query waited for {waited} slices");
        }
    }
    assert!(
        served >= 500 && rejected >= SCANS_RUNNING_MAX,
        "{served} {rejected}"
    );
}

/// Slicing does not change the reply of a query over all pairs of a small fabric.
#[test]
fn slices_do_not_change_the_reply() {
    let (view, lids) = view_of("fat-tree:4");
    let bytes = WireRequest::new(lids[0], method::GET_TABLE, PATH).to_bytes(1);
    let request = SaRequest::parse(peer(lids[0]), &bytes).expect("valid request");
    let Disposition::Reply(complete) = answer(&view, &request) else {
        panic!("expected a reply from the view");
    };
    assert_eq!(complete.count(), lids.len() * lids.len());
    for slice in [1, 7, SLICE] {
        let mut query = PathQuery::new(&view, &request).expect("scan");
        let mut slices = 1;
        let reply = loop {
            match query.advance(&view, &request, slice) {
                QueryProgress::More => slices += 1,
                QueryProgress::Done(reply) => break reply,
            }
        };
        assert_eq!(reply, complete);
        assert_eq!(slices, (lids.len() * lids.len()).div_ceil(slice));
    }
}

struct Inbox(Receiver<(Peer, Vec<u8>)>);

impl GmpReceiver for Inbox {
    fn receive(&mut self, timeout: Duration) -> Result<GmpReceived, TransportError> {
        let received = self.0.recv_timeout(timeout);
        let message = |(from, bytes)| GmpReceived::Message { from, bytes };
        Ok(received.map_or(GmpReceived::TimedOut, message))
    }
}

/// Destination LIDs of the replies, in order.
#[derive(Clone, Default)]
struct Outbox(Arc<Mutex<Vec<Lid>>>);

impl Outbox {
    /// Numbers of replies to this LID and to all other LIDs.
    fn count(&self, lid: u16) -> (usize, usize) {
        let sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = sent.iter().filter(|l| l.0 == lid).count();
        (own, sent.len() - own)
    }
}

impl GmpSender for Outbox {
    fn send(&self, to: &Peer, _: &[u8], _: Option<Duration>) -> Result<(), TransportError> {
        let mut sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sent.push(to.lid);
        Ok(())
    }
}

/// With the daemon's threads: 100 clients run scans while one client sends path queries in
/// sequence. That client gets all its replies before 100 scans complete.
#[test]
fn path_query_does_not_wait_for_a_hundred_scans() {
    const QUERIES: usize = 20;
    let (view, lids) = view_of(LARGE);
    let from = lids[HOSTILE];
    let hostile_lids = &lids[..HOSTILE];
    let (to_server, inbox) = channel();
    let sent = Outbox::default();
    let outbox = Box::new(sent.clone());
    let limits = AdmissionLimits::default();
    let server =
        SaServer::start(outbox, Box::new(Inbox(inbox)), limits).expect("server threads started");
    server.publish(Some(view));
    for &lid in hostile_lids.iter().cycle().take(4 * HOSTILE) {
        let message = hostile(lid, method::GET);
        to_server
            .send((peer(lid), message))
            .expect("running server");
    }
    for &to in &hostile_lids[..QUERIES] {
        let before = sent.count(from).0;
        let message = (peer(from), path_query(from, to));
        to_server.send(message).expect("running server");
        while sent.count(from).0 == before {
            std::thread::yield_now();
        }
    }
    let (answered, scans) = sent.count(from);
    assert_eq!(answered, QUERIES);
    assert!(scans < HOSTILE, "{scans} scans completed first");
}

/// Component of ProxyJoin.
const PROXY_JOIN: u64 = 1 << 17;

/// A request of one port about a membership in the broadcast group: the status.
fn change_membership(
    lab: &mut Lab,
    (from, of): (PortAt, PortAt),
    method: Method,
    (join_state, proxy_join): (JoinState, bool),
) -> Status {
    let record = McMemberRecord {
        mgid: BROADCAST,
        port_gid: lab.port_gid(of),
        join_state,
        proxy_join,
        proxy_join_lsb: proxy_join,
        ..McMemberRecord::default()
    };
    let mask = MEMBER | if proxy_join { PROXY_JOIN } else { 0 };
    let request_kind = (method, id::MC_MEMBER);
    request(lab, from, request_kind, 1, mask, &record.encode()).0
}

/// JoinState and ProxyJoin of a port in the broadcast group.
fn membership(lab: &Lab, of: PortAt) -> Option<(JoinState, bool)> {
    let guid = lab.world.fabric().port_guid(of);
    let group = lab.manager().core().registry().groups().get(BROADCAST)?;
    let member = group.members.get(&guid)?;
    Some((member.join_state, member.proxy))
}

fn broadcast_lab() -> (Lab, Vec<PortAt>) {
    let mut lab = Lab::with("star:4", 1, SmConfig::default());
    assert!(lab.next_sweep(60).is_clean());
    let hosts = lab.hosts();
    (lab, hosts)
}

/// Memberships that ports created themselves: a request of another port fails, whether it sets
/// ProxyJoin or not, and changes nothing. A port that set ProxyJoin in its own join is not exposed
/// either.
#[test]
fn proxy_join_in_a_request_grants_no_access_to_memberships_of_other_ports() {
    let (mut lab, hosts) = broadcast_lab();
    for (i, &host) in hosts.iter().enumerate() {
        let join = (JoinState::FULL, i % 2 == 0);
        let status = change_membership(&mut lab, (host, host), Method::Set, join);
        assert!(status.is_ok(), "{status}");
    }
    let hostile = hosts[0];
    for &victim in &hosts[1..] {
        for proxy_join in [false, true] {
            for (method, join_state) in [
                (Method::Delete, JoinState::FULL),
                (Method::Set, JoinState::FULL),
                (Method::Set, JoinState(4)),
            ] {
                let change = (join_state, proxy_join);
                let status = change_membership(&mut lab, (hostile, victim), method, change);
                assert_eq!(status, Status::REQ_INVALID, "{method:?} {change:?}");
                assert_eq!(membership(&lab, victim), Some((JoinState::FULL, false)));
            }
        }
    }
}

/// A port may create a membership of another port, which any port of the partition may then change.
/// The flag stays, even if the port itself joins again.
#[test]
fn memberships_created_for_another_port_may_be_changed_by_proxies() {
    let (mut lab, hosts) = broadcast_lab();
    let [of, creator, proxy] = [hosts[0], hosts[1], hosts[2]];
    let change = |lab: &mut Lab, from, method, join_state| {
        change_membership(lab, (from, of), method, (JoinState(join_state), false))
    };
    assert!(change(&mut lab, creator, Method::Set, 1).is_ok());
    assert_eq!(membership(&lab, of), Some((JoinState(1), true)));
    assert!(change(&mut lab, proxy, Method::Set, 4).is_ok());
    assert!(change(&mut lab, of, Method::Set, 2).is_ok());
    assert_eq!(membership(&lab, of), Some((JoinState(7), true)));
    assert!(change(&mut lab, proxy, Method::Delete, 7).is_ok());
    assert_eq!(membership(&lab, of), None);
}
