//! SA requests with random bytes: no panic, no unbounded growth, and each request gets a reply or a
//! documented drop.
//!
//! Each seed sends random bytes, corrupted valid requests, and registrations from random ports,
//! some with spoofed sources, to the SM of a fabric. Seeds that failed once are in
//! tests/seeds/sa-fuzz.txt and always run. The environment may name more
//! ([`ferrosm_tests::random_runs::seeds`]).

use ferrosm_core::SmConfig;
use ferrosm_mad::gmp::{Grh, Peer};
use ferrosm_mad::ids::{Gid, GidPrefix, Lid, Qpn};
use ferrosm_sa::answer_bytes;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::{Lab, TestRng};
use ferrosm_tests::random_runs::seeds;
use ferrosm_tests::sa::expected as expected_records;
use ferrosm_tests::sa::wire::{
    READ_ON_DEMAND, WireReply, WireRequest, deliver, method, put_field, query, status,
};

/// Requests of each kind per seed.
const REQUESTS: u64 = 1500;
const SM_KEY: u64 = 1;
/// Seeds that failed once.
const SAVED_SEEDS: &str = include_str!("../../seeds/sa-fuzz.txt");
/// Number of other seeds in a normal run.
const SEED_COUNT: u64 = 12;

fn up(spec: &str) -> Lab {
    let mut lab = Lab::with(spec, 2, SmConfig::default());
    lab.next_sweep(60);
    // From here on the SM has a view and replies immediately.
    for attr in READ_ON_DEMAND {
        let from = expected_records::lid(&lab, lab.at);
        query(&mut lab, &WireRequest::new(from, method::GET_TABLE, attr));
    }
    lab
}

/// Whether the SA must drop a message (docs/sm-behaviour.md, 7.1; IBA vol. 1, 13.4.6.1): it is
/// truncated, of another class, a response, a TrapRepress, has a wrong SM_Key, or requests more
/// than ClassPortInfo from an unassigned LID.
fn is_dropped(lab: &Lab, from: Lid, bytes: &[u8]) -> bool {
    const TRAP_REPRESS: u8 = 0x07;
    const CLASS_PORT_INFO: [u8; 2] = [0, 1];
    if bytes.len() < 256 || bytes[..2] != [1, 3] {
        return true;
    }
    let method_code = bytes[3];
    let key = bytes[36..44].iter().fold(0, |v, b| v << 8 | u64::from(*b));
    let mut ends = expected_records::end_ports(lab).into_iter();
    let is_public = bytes[16..18] == CLASS_PORT_INFO && method_code == method::GET;
    let is_unknown = !is_public && ends.all(|at| expected_records::lid(lab, at) != from.0);
    method_code & method::RESPONSE != 0
        || method_code == TRAP_REPRESS
        || key != 0 && key != SM_KEY
        || is_unknown
        || names_unknown_member(lab, bytes)
}

/// Whether a message changes a membership of a port of this subnet that is not known (yet).
fn names_unknown_member(lab: &Lab, bytes: &[u8]) -> bool {
    const MC_MEMBER: [u8; 2] = [0, 0x38];
    /// MGID, PortGID, JoinState.
    const MEMBER: u64 = 1 | 1 << 1 | 1 << 16;
    let number = |at: usize| {
        bytes[at..at + 8]
            .iter()
            .fold(0, |v, b| v << 8 | u64::from(*b))
    };
    let mask = number(48);
    let prefix = number(72);
    let guid = number(80);
    let mut ends = expected_records::end_ports(lab).into_iter();
    bytes[16..18] == MC_MEMBER
        && matches!(bytes[3], method::SET | method::DELETE)
        && mask & MEMBER == MEMBER
        && prefix == GidPrefix::DEFAULT.0
        && guid != 0
        && ends.all(|at| lab.world.fabric().port_guid(at).0 != guid)
}

fn tid(bytes: &[u8]) -> u64 {
    bytes[8..16].iter().fold(0, |v, b| v << 8 | u64::from(*b))
}

/// Numbers of client registrations.
fn registered(lab: &Lab) -> (usize, usize, usize, usize) {
    let registry = lab.manager().core().registry();
    let members = registry.groups().iter().map(|(_, g)| g.members.len());
    (
        registry.groups().iter().count(),
        members.sum(),
        registry.services().len(),
        registry.subscriptions().len(),
    )
}

/// Sends a message and checks the reply. Returns the reply, if any.
fn send(lab: &mut Lab, from: Peer, bytes: Vec<u8>) -> Option<WireReply> {
    let dropped = is_dropped(lab, from.lid, &bytes);
    let sent = bytes.clone();
    let view = lab.manager().core().view().cloned();
    let by_view = view.and_then(|view| answer_bytes(&view, from, &bytes));
    let replies = deliver(lab, from, bytes);
    assert_eq!(replies.len(), usize::from(!dropped), "{sent:02x?}");
    let (to, reply) = replies.into_iter().next()?;
    assert_eq!(to, from);
    if let Some(by_view) = by_view {
        assert_eq!(
            by_view, reply,
            "the view's reply differs from the SM's reply"
        );
    }
    let parsed = WireReply::parse(&reply, tid(&sent));
    assert!(
        reply.len() < 1 << 20,
        "{} bytes for {sent:02x?}",
        reply.len()
    );
    Some(parsed)
}

fn peer(lab: &Lab, rng: &mut TestRng) -> Peer {
    let ends = expected_records::end_ports(lab);
    let lid = match rng.below(8) {
        0 => u16::try_from(rng.below(0x1_0000)).unwrap_or(0),
        _ => expected_records::lid(lab, ends[rng.index(ends.len())]),
    };
    let grh = rng.one_in(8).then(|| Grh {
        gid: Gid(u128::from(rng.next()).to_be_bytes()),
        ..Grh::default()
    });
    Peer {
        lid: Lid(lid),
        qpn: Qpn(1),
        grh,
        ..Peer::default()
    }
}

fn random_bytes(rng: &mut TestRng, len: u64) -> Vec<u8> {
    (0..len).map(|_| rng.next().to_le_bytes()[0]).collect()
}

/// Random bytes, most of them with a plausible header.
fn any_bytes(rng: &mut TestRng) -> Vec<u8> {
    let len = if rng.one_in(3) { rng.below(600) } else { 256 };
    let mut bytes = random_bytes(rng, len);
    if !rng.one_in(8) {
        for (at, value) in [(0, 1), (1, 3), (2, 2)] {
            if let Some(b) = bytes.get_mut(at) {
                *b = value;
            }
        }
        if let Some(key) = bytes.get_mut(36..44).filter(|_| !rng.one_in(8)) {
            key.fill(0);
        }
    }
    bytes
}

const ATTRIBUTES: [u16; 20] = [
    0x01, 0x03, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x20, 0x30, 0x31, 0x33, 0x35, 0x36,
    0x38, 0x39, 0x3A, 0xF3,
];
const METHODS: [u8; 6] = [
    method::GET,
    method::SET,
    method::GET_TABLE,
    method::GET_TRACE_TABLE,
    method::GET_MULTI,
    method::DELETE,
];

/// A valid request with a random record.
fn request(rng: &mut TestRng) -> WireRequest {
    let small = |v: u64| u8::try_from(v).unwrap_or(0);
    let mut data = random_bytes(rng, 200);
    if rng.one_in(2) {
        for byte in &mut data {
            *byte = small(u64::from(*byte) & 3);
        }
    }
    // GIDs of the subnet and of multicast groups.
    for at in [0usize, 8, 16, 24, 40] {
        if rng.one_in(3) {
            let prefix = if rng.one_in(2) { 0xFE80 } else { 0xFF12 };
            put_field(&mut data, 8 * at, 64, prefix << 48);
        }
    }
    WireRequest {
        modifier: if rng.one_in(4) { 1 << 31 } else { 0 },
        sm_key: if rng.one_in(4) { SM_KEY } else { 0 },
        mask: match rng.below(4) {
            0 => rng.next(),
            1 => u64::MAX,
            2 => rng.next() & rng.next() & rng.next(),
            _ => 1 << rng.below(64),
        },
        data,
        ..WireRequest::new(
            0,
            METHODS[rng.index(METHODS.len())],
            ATTRIBUTES[rng.index(ATTRIBUTES.len())],
        )
    }
}

/// A valid request with corrupted bits, length, RMPP header or AttributeOffset.
fn mutated(rng: &mut TestRng) -> Vec<u8> {
    let number = rng.next();
    let mut bytes = request(rng).to_bytes(number);
    for _ in 0..rng.upto(4) {
        match rng.below(5) {
            0 => {
                let at = rng.index(bytes.len());
                bytes[at] ^= 1 << rng.below(8);
            }
            1 => {
                let len = rng.index(700);
                bytes.resize(len.max(1), 0xA5);
            }
            2 => {
                for at in 24..36.min(bytes.len()) {
                    bytes[at] = rng.next().to_le_bytes()[0];
                }
            }
            3 => {
                for at in 44..46.min(bytes.len()) {
                    bytes[at] = rng.next().to_le_bytes()[0];
                }
            }
            _ => {
                for at in 48..56.min(bytes.len()) {
                    bytes[at] = 0xFF;
                }
            }
        }
    }
    bytes
}

#[test]
fn random_bytes_and_malformed_requests() {
    let seeds = seeds::named_or(SAVED_SEEDS, SEED_COUNT);
    seeds::run_all(
        "sa_fuzz::random_bytes_and_malformed_requests",
        seeds,
        |seed| {
            let mut rng = TestRng::new(seed);
            let mut lab = up("ring:4,2");
            let mut answered = 0u64;
            for n in 0..2 * REQUESTS {
                let bytes = if n % 2 == 0 {
                    any_bytes(&mut rng)
                } else {
                    mutated(&mut rng)
                };
                let from = peer(&lab, &mut rng);
                answered += u64::from(send(&mut lab, from, bytes).is_some());
            }
            assert!(answered > REQUESTS / 2, "seed {seed}: {answered} replies");
        },
    );
}

fn port_gid(lab: &Lab, at: PortAt) -> [u8; 16] {
    let guid = lab.world.fabric().port_guid(at).0;
    (0xFE80 << 112 | u128::from(guid)).to_be_bytes()
}

/// A registration or deregistration with a small random key, so that requests collide.
fn registration(lab: &Lab, about: PortAt, rng: &mut TestRng) -> WireRequest {
    let gid = port_gid(lab, about);
    let n = rng.below(6);
    let (attr, mask, data) = match rng.below(3) {
        0 => {
            let mut data = vec![0; 56];
            data[..2].copy_from_slice(&[0xFF, 0x12]);
            data[15] = n.to_le_bytes()[0];
            data[16..32].copy_from_slice(&gid);
            for (at, width, value) in [
                (256, 32, 0x0B1B),
                (320, 16, 0xFFFF),
                (304, 8, 2 << 6 | 4),
                (336, 8, 2 << 6 | 3),
                (388, 4, 1 << rng.below(4)),
            ] {
                put_field(&mut data, at, width, value);
            }
            if rng.one_in(10) {
                // The SA has to assign the MGID.
                data[..16].fill(0);
            }
            (0x38, 0x1_33F7, data)
        }
        1 => {
            let mut data = vec![0; 176];
            put_field(&mut data, 0, 64, n);
            data[8..24].copy_from_slice(&gid);
            put_field(&mut data, 224, 32, 100);
            (0x31, 0b1_0011, data)
        }
        _ => {
            let mut data = vec![0; 40];
            let subscribe = u64::from(!rng.one_in(3));
            for (at, width, value) in [
                (128, 16, 0xFFFF),
                (176, 8, 1),
                (184, 8, subscribe),
                (192, 16, 0xFFFF),
                (208, 16, 64 + n),
                (264, 24, 4),
            ] {
                put_field(&mut data, at, width, value);
            }
            (0x03, 0, data)
        }
    };
    let method_code = if attr != 0x03 && rng.one_in(3) {
        method::DELETE
    } else {
        method::SET
    };
    WireRequest {
        mask,
        data,
        ..WireRequest::new(0, method_code, attr)
    }
}

/// A spoofed sender: an unassigned LID, or the GID of another port with its own LID.
fn spoofed_peer(lab: &Lab, about: PortAt, rng: &mut TestRng) -> Peer {
    let ends = expected_records::end_ports(lab);
    let others: Vec<PortAt> = ends.into_iter().filter(|e| *e != about).collect();
    let other = others[rng.index(others.len())];
    if rng.one_in(2) {
        let lid = [0, 0x3000, 0xBFFF, 0xC001, 0xFFFF][rng.index(5)];
        return Peer {
            lid: Lid(lid),
            qpn: Qpn(1),
            ..Peer::default()
        };
    }
    Peer {
        lid: Lid(expected_records::lid(lab, other)),
        qpn: Qpn(1),
        grh: Some(Grh {
            gid: Gid(port_gid(lab, about)),
            ..Grh::default()
        }),
        ..Peer::default()
    }
}

#[test]
fn random_registrations_are_bounded() {
    let seeds = seeds::named_or(SAVED_SEEDS, SEED_COUNT);
    seeds::run_all("sa_fuzz::random_registrations_are_bounded", seeds, |seed| {
        let mut rng = TestRng::new(seed ^ 0x5A);
        let mut lab = up("ring:4,2");
        let ends = expected_records::end_ports(&lab);
        let mut done = 0u64;
        for _ in 0..REQUESTS {
            let about = ends[rng.index(ends.len())];
            let request = registration(&lab, about, &mut rng);
            let spoofed = rng.one_in(4);
            let from = if spoofed {
                spoofed_peer(&lab, about, &mut rng)
            } else {
                Peer {
                    lid: Lid(expected_records::lid(&lab, about)),
                    qpn: Qpn(1),
                    ..Peer::default()
                }
            };
            let before = registered(&lab);
            let number = rng.next();
            let outcome =
                send(&mut lab, from, request.to_bytes(number)).map(|outcome| outcome.status);
            if spoofed {
                // The SA drops requests from unassigned LIDs.
                let refused = from.grh.is_some().then_some(status::REQ_INVALID);
                assert_eq!(outcome, refused, "seed {seed} {from:?} {request:?}");
                assert_eq!(registered(&lab), before, "seed {seed} {from:?} {request:?}");
            }
            done += u64::from(outcome == Some(status::OK));
        }
        assert!(done > REQUESTS / 5, "seed {seed}: {done} registrations");
        let (groups, members, services, subscriptions) = registered(&lab);
        let ports = ends.len();
        // Six client MGIDs, the partition's groups, and the groups whose MGID the SA assigned.
        assert!(
            groups < 8 + usize::try_from(REQUESTS / 30).unwrap_or(0),
            "{groups}"
        );
        assert!(members <= groups * ports && services <= 6 * ports && subscriptions <= 6 * ports);
    });
}

/// The registrations per port are limited, and the limit leaves room for other ports.
#[test]
fn one_port_cannot_exhaust_registrations() {
    let mut lab = up("ring:4,2");
    let ends = expected_records::end_ports(&lab);
    let registering = ends[0];
    let other = ends[1];
    let mut offer = |at: PortAt, n: u64| {
        let mut data = vec![0; 176];
        put_field(&mut data, 0, 64, n);
        data[8..24].copy_from_slice(&port_gid(&lab, at));
        let request = WireRequest {
            mask: 0b11,
            data,
            ..WireRequest::new(expected_records::lid(&lab, at), method::SET, 0x31)
        };
        query(&mut lab, &request).status
    };
    let accepted = (0..9000)
        .filter(|n| offer(registering, *n) == status::OK)
        .count();
    assert_eq!(accepted, 8192);
    assert_eq!(offer(registering, 9001), status::NO_RESOURCES);
    assert_eq!(
        offer(registering, 7),
        status::OK,
        "updates of existing registrations are accepted"
    );
    assert_eq!(offer(other, 9001), status::OK);
    let mut subscribe = |at: PortAt, n: u64| {
        let mut data = vec![0; 40];
        put_field(&mut data, 128, 16, 1 + n);
        put_field(&mut data, 176, 16, 0x0101);
        let request = WireRequest {
            data,
            ..WireRequest::new(expected_records::lid(&lab, at), method::SET, 0x03)
        };
        query(&mut lab, &request).status
    };
    let accepted = (0..1100)
        .filter(|n| subscribe(registering, *n) == status::OK)
        .count();
    assert_eq!(accepted, 1024);
    assert_eq!(subscribe(other, 1), status::OK);
}
