//! PathRecord queries: the test follows every returned path through the tables of the simulated
//! switches, and every path that the tables and the rules allow is returned (docs/sm-behaviour.md,
//! 11.1 to 11.16).

use std::collections::BTreeSet;

use ferrosm_core::SmConfig;
use ferrosm_mad::ids::Lmc;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::{Lab, TestRng};
use ferrosm_tests::sa::expected as expected_records;
use ferrosm_tests::sa::paths::{
    self as paths, LIFE_TIME, MTU, PathReply, PathRequest, RATE, decode, gid, lids, sl,
};
use ferrosm_tests::sa::wire::{self, WireRequest, method, put_field, status};

const PATH: u16 = 0x35;
/// Default PacketLifeTime of paths between ports.
const PACKET_LIFE_TIME: u8 = 18;

/// One end of a query.
#[derive(Debug, Clone, Copy, Default)]
struct End {
    port: Option<PortAt>,
    by_gid: bool,
    lid: Option<u16>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Query {
    from: End,
    to: End,
    demand: PathRequest,
    numb_path: Option<u8>,
}

/// Encodes the record and component mask of a query. Fields outside the mask contain random bits.
fn encode(lab: &Lab, query: &Query, rng: &mut TestRng) -> (u64, Vec<u8>) {
    let mut data: Vec<u8> = (0..64).map(|_| rng.next().to_le_bytes()[0]).collect();
    let mut mask = 0u64;
    for (end, gid_at, gid_bit, lid_at, lid_bit) in
        [(query.to, 64, 2, 320, 4), (query.from, 192, 3, 336, 5)]
    {
        if let Some(port) = end.port.filter(|_| end.by_gid) {
            mask |= 1 << gid_bit;
            data[gid_at / 8..gid_at / 8 + 16].copy_from_slice(&gid(lab, port).to_be_bytes());
        }
        if let Some(lid) = end.lid {
            mask |= 1 << lid_bit;
            put_field(&mut data, lid_at, 16, u64::from(lid));
        }
    }
    let demand = &query.demand;
    for ((number, at), limit) in [
        (MTU, demand.mtu),
        (RATE, demand.rate),
        (LIFE_TIME, demand.life),
    ] {
        if let Some((selector, value)) = limit {
            mask |= 0b11 << number;
            put_field(&mut data, at, 2, u64::from(selector));
            put_field(&mut data, at + 2, 6, u64::from(value));
        } else if rng.one_in(4) {
            // A selector without its value, or a value without its selector, has no effect.
            mask |= 1 << (u64::from(number) + rng.below(2));
        }
    }
    let mut set_component = |number: u32, at, width, value: Option<u64>| {
        if let Some(value) = value {
            mask |= 1 << number;
            put_field(&mut data, at, width, value);
        }
    };
    set_component(11, 392, 1, demand.reversible.then_some(1));
    set_component(12, 393, 7, query.numb_path.map(u64::from));
    set_component(13, 400, 16, demand.pkey.map(u64::from));
    set_component(15, 428, 4, demand.sl.map(u64::from));
    (mask, data)
}

/// Sends a query and compares the reply with the expected paths.
fn check(lab: &mut Lab, client: PortAt, query: &Query, rng: &mut TestRng) -> usize {
    let (mask, data) = encode(lab, query, rng);
    let from = expected_records::lid(lab, client);
    let mut request = WireRequest {
        mask,
        data,
        ..WireRequest::new(from, method::GET_TABLE, PATH)
    };
    let reply = wire::query(lab, &request);
    request.method = method::GET;
    let one = wire::query(lab, &request);
    let context = format!("{} from {client:?} {query:?}", lab.describe_run());
    if !query.demand.is_legal() {
        assert_eq!(
            (reply.status, one.status),
            (status::REQ_INVALID, status::REQ_INVALID),
            "{context}"
        );
        return 0;
    }
    assert_eq!(reply.status, status::OK, "{context}");
    let all_end_ports = expected_records::end_ports(lab);
    let ends = |end: &End| end.port.map_or_else(|| all_end_ports.clone(), |p| vec![p]);
    let mut found: Vec<PathReply> = reply.records.iter().map(|r| decode(lab, r)).collect();
    let distinct: BTreeSet<PathReply> = found.iter().copied().collect();
    assert_eq!(distinct.len(), found.len(), "{context}: duplicate path");
    let mut expected = Vec::new();
    for a in ends(&query.from) {
        for b in ends(&query.to) {
            let arguments = (query.from.lid, query.to.lid);
            let here = &*lab;
            let allowed = paths::between(
                here,
                client,
                (a, b),
                arguments,
                &query.demand,
                PACKET_LIFE_TIME,
                &|a, l| sl(here, a, l),
            );
            if let Some(max) = query.numb_path {
                // NumbPath limits the paths of each pair of ports; which of the allowed paths are
                // returned is unspecified.
                let of_pair = |t: &&PathReply| allowed.contains(t);
                let received = found.iter().filter(of_pair).count();
                assert_eq!(
                    received,
                    allowed.len().min(usize::from(max)),
                    "{context}: {a:?} {b:?}"
                );
            }
            expected.extend(allowed);
        }
    }
    if query.numb_path.is_none() {
        expected.sort();
        found.sort();
        assert_eq!(found, expected, "{context}");
    }
    assert!(found.iter().all(|t| expected.contains(t)), "{context}");
    if expected.is_empty() {
        assert_eq!(one.status, status::NO_RECORDS, "{context}");
    } else {
        assert_eq!(one.status, status::OK, "{context}");
        assert!(
            expected.contains(&decode(lab, &one.records[0])),
            "{context}"
        );
    }
    found.len()
}

fn draw_end(lab: &Lab, ports: &[PortAt], rng: &mut TestRng) -> End {
    let port = ports[rng.index(ports.len())];
    let port_lids = lids(lab, port);
    let lid = port_lids[rng.index(port_lids.len())];
    match rng.below(3) {
        0 => End {
            port: Some(port),
            by_gid: true,
            lid: None,
        },
        1 => End {
            port: Some(port),
            by_gid: false,
            lid: Some(lid),
        },
        _ => End {
            port: Some(port),
            by_gid: true,
            lid: Some(lid),
        },
    }
}

fn draw_limit(rng: &mut TestRng, values: u64) -> Option<(u8, u8)> {
    let small = |v: u64| u8::try_from(v).unwrap_or(0);
    rng.one_in(3)
        .then(|| (small(rng.below(4)), small(rng.below(values))))
}

fn random(lab: &mut Lab, seed: u64, pkeys: &[u16], count: u64) {
    let mut rng = TestRng::new(seed);
    let all_end_ports = expected_records::end_ports(lab);
    let mut answered = 0;
    for _ in 0..count {
        let from = draw_end(lab, &all_end_ports, &mut rng);
        let to = draw_end(lab, &all_end_ports, &mut rng);
        let wide = rng.one_in(12);
        let demand = PathRequest {
            mtu: draw_limit(&mut rng, 7),
            rate: draw_limit(&mut rng, 27),
            life: draw_limit(&mut rng, 25),
            pkey: rng.one_in(4).then(|| pkeys[rng.index(pkeys.len())]),
            sl: rng
                .one_in(5)
                .then(|| u8::try_from(rng.below(4)).unwrap_or(0)),
            reversible: rng.one_in(3),
        };
        let query = Query {
            from: if wide && rng.one_in(2) {
                End::default()
            } else {
                from
            },
            to: if wide { End::default() } else { to },
            demand,
            numb_path: rng
                .one_in(3)
                .then(|| u8::try_from(1 + rng.below(5)).unwrap_or(1)),
        };
        let client = all_end_ports[rng.index(all_end_ports.len())];
        answered += usize::from(check(lab, client, &query, &mut rng) > 0);
    }
    assert!(
        answered > 20,
        "{} only {answered} replies",
        lab.describe_run()
    );
}

/// Every selector with every value, between two hosts.
fn selectors(lab: &mut Lab) {
    let mut rng = TestRng::new(3);
    let all_end_ports = expected_records::end_ports(lab);
    let client = lab.at;
    let far = all_end_ports[all_end_ports.len() / 2];
    let end = |at| End {
        port: Some(at),
        by_gid: true,
        lid: None,
    };
    for far in [far, client, all_end_ports[all_end_ports.len() - 1]] {
        for selector in 0..4 {
            for value in 0..64 {
                let limit = Some((selector, value));
                for demand in [
                    PathRequest {
                        mtu: limit,
                        ..PathRequest::default()
                    },
                    PathRequest {
                        rate: limit,
                        ..PathRequest::default()
                    },
                    PathRequest {
                        life: limit,
                        ..PathRequest::default()
                    },
                ] {
                    let query = Query {
                        from: end(client),
                        to: end(far),
                        demand,
                        numb_path: None,
                    };
                    check(lab, client, &query, &mut rng);
                }
            }
        }
    }
}

fn up(spec: &str, cfg: SmConfig) -> Lab {
    let mut lab = Lab::with(spec, 9, cfg);
    lab.next_sweep(120);
    lab
}

#[test]
fn returned_paths_match_the_tables_on_a_fat_tree() {
    let mut lab = up("fat-tree:4;mixed-speeds", SmConfig::default());
    selectors(&mut lab);
    random(&mut lab, 1, &[0xFFFF, 0x7FFF, 0x8001, 0], 600);
}

#[test]
fn returned_paths_match_the_tables_on_a_torus_with_vls_and_lmc() {
    let cfg = SmConfig {
        engines: vec!["torus-2QoS".to_owned(), "no_fallback".to_owned()],
        lmc: Lmc(2),
        ..SmConfig::default()
    };
    let mut lab = up("torus:3,3,1", cfg);
    random(&mut lab, 2, &[0xFFFF], 400);
}

#[test]
fn returned_paths_match_the_tables_on_a_ring_with_a_router() {
    let mut lab = up(
        "ring:4,2;routers=1;dual-port;mixed-speeds",
        SmConfig::default(),
    );
    selectors(&mut lab);
    random(&mut lab, 3, &[0xFFFF], 400);
}

#[test]
fn returned_paths_match_the_tables_with_partitions() {
    let (cfg, _) = expected_records::partitions_that_overlap();
    let mut lab = up("fat-tree:4", cfg);
    random(
        &mut lab,
        4,
        &[0xFFFF, 0x7FFF, 0x8011, 0x0012, 0x8013, 0x8000],
        800,
    );
}

/// Queries with unknown GIDs, unassigned LIDs, and contradicting source or destination components
/// (docs/sm-behaviour.md, 11.1 and 11.2).
#[test]
fn path_queries_for_unknown_ends_return_no_path() {
    let mut lab = up("ring:4,1", SmConfig::default());
    let a = lab.at;
    let b = expected_records::end_ports(&lab)[2];
    let from = expected_records::lid(&lab, a);
    let base = gid(&lab, a);
    let cases: [(u64, u128, u16, u16); 6] = [
        (1 << 2, 0xFE80 << 112 | 0xDEAD, 0, status::INVALID_GID),
        (1 << 2, 0x2001 << 112 | 0xDEAD, 0, status::INVALID_GID),
        (1 << 4, 0, 0x3000, status::NO_RECORDS),
        (1 << 4, 0, 0xC123, status::NO_RECORDS),
        (
            1 << 2 | 1 << 4,
            base,
            expected_records::lid(&lab, b),
            status::REQ_INVALID,
        ),
        (1, base, 0, status::INSUFFICIENT_COMPONENTS),
    ];
    for (mask, dgid, dlid, expected) in cases {
        let mut data = vec![0; 64];
        data[8..24].copy_from_slice(&dgid.to_be_bytes());
        put_field(&mut data, 320, 16, u64::from(dlid));
        let mut request = WireRequest {
            mask,
            data,
            ..WireRequest::new(from, method::GET, PATH)
        };
        assert_eq!(
            wire::query(&mut lab, &request).status,
            expected,
            "{mask:#x}"
        );
        request.method = method::GET_TABLE;
        let reply = wire::query(&mut lab, &request);
        let finds_nothing = expected == status::NO_RECORDS || expected == status::INVALID_GID;
        let table = if finds_nothing { status::OK } else { expected };
        assert_eq!((reply.status, reply.records.len()), (table, 0), "{mask:#x}");
    }
}
