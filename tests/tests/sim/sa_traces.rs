//! TraceRecord and MultiPathRecord: every trace equals the route through the tables of the
//! simulated switches. A multipath reply contains valid paths only, as many as requested, and as
//! disjoint as possible.

use std::collections::BTreeSet;

use ferrosm_core::SmConfig;
use ferrosm_mad::ids::Lmc;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::{Lab, TestRng};
use ferrosm_tests::sa::expected as expected_records;
use ferrosm_tests::sa::paths::{self as paths, PathReply, PathRequest, decode, gid, lids, sl};
use ferrosm_tests::sa::wire::{WireRequest, field, method, query, status};

const TRACE: u16 = 0x39;
const MULTI_PATH: u16 = 0x3A;
const PATH: u16 = 0x35;
/// Default PacketLifeTime of paths between ports.
const PACKET_LIFE_TIME: u8 = 18;

/// Node GUID, node type, entry and exit port.
type Step = (u64, u64, u64, u64);

/// The nodes on a packet's route, or `None` if it does not arrive.
fn walk(lab: &Lab, from: PortAt, to: PortAt, dlid: u16) -> Option<Vec<Step>> {
    let fabric = lab.world.fabric();
    let crossed = paths::ports_on_path(lab, from, to, dlid)?;
    let step = |entry: PortAt, exit: Option<&PortAt>| {
        let node_type = if fabric.is_switch(entry.node) { 2 } else { 1 };
        let exit = exit.map_or(0, |at| at.port);
        let guid = fabric.node_guid(entry.node).0;
        (guid, node_type, u64::from(entry.port), u64::from(exit))
    };
    // The first node has no entry port. Each other node is listed with its entry port and its exit
    // port.
    let mut steps = vec![step(PortAt { port: 0, ..from }, crossed.get(1))];
    let others = crossed.get(2..).unwrap_or_default().chunks(2);
    steps.extend(others.map(|ports| step(ports[0], ports.get(1))));
    Some(steps)
}

/// The trace between two ports, to one LID of the destination.
fn trace(lab: &mut Lab, client: PortAt, from: PortAt, dlid: u16) -> Option<Vec<Step>> {
    let mut data = vec![0; 64];
    data[24..40].copy_from_slice(&gid(lab, from).to_be_bytes());
    data[40..42].copy_from_slice(&dlid.to_be_bytes());
    let request = WireRequest {
        // SGID, DLID.
        mask: 1 << 3 | 1 << 4,
        data,
        ..WireRequest::new(
            expected_records::lid(lab, client),
            method::GET_TRACE_TABLE,
            PATH,
        )
    };
    let reply = query(lab, &request);
    if reply.status == status::NO_RECORDS {
        return None;
    }
    assert_eq!(
        (reply.status, reply.attr),
        (status::OK, TRACE),
        "{}",
        lab.describe_run()
    );
    let fabric = lab.world.fabric();
    let steps = reply.records.iter().map(|r| {
        let node = field(r, 96, 64);
        let entry = field(r, 352, 8);
        let exit = field(r, 360, 8);
        assert_eq!(field(r, 0, 64), 0xFE80 << 48, "GIDPrefix");
        let ends = expected_records::end_ports(lab);
        // Ports are identified by the GUID of the port with their LID. The outer ports of the two
        // channel adapters have none.
        for (at, num) in [(224, entry), (288, exit)] {
            let owner = ends.iter().find(|e| {
                fabric.node_guid(e.node).0 == node && (e.port == 0 || u64::from(e.port) == num)
            });
            let guid = owner.map_or(0, |e| fabric.port_guid(*e).0);
            assert_eq!(field(r, at, 64), guid, "port {num} of {node:#x}");
        }
        (node, field(r, 88, 8), entry, exit)
    });
    Some(steps.collect())
}

fn all_traces(lab: &mut Lab) {
    let all_end_ports = expected_records::end_ports(lab);
    let client = all_end_ports[0];
    let mut long = 0;
    for from in &all_end_ports {
        for to in &all_end_ports {
            for dlid in lids(lab, *to) {
                let expected = walk(lab, *from, *to, dlid);
                let reply = trace(lab, client, *from, dlid);
                assert_eq!(
                    reply,
                    expected,
                    "{} {from:?} {to:?} {dlid}",
                    lab.describe_run()
                );
                long += usize::from(reply.is_some_and(|t| t.len() > 3));
            }
        }
    }
    assert!(long > 20, "{} only short routes", lab.describe_run());
}

fn up(spec: &str, lmc: u8) -> Lab {
    let cfg = SmConfig {
        lmc: Lmc(lmc),
        ..SmConfig::default()
    };
    let mut lab = Lab::with(spec, 5, cfg);
    lab.next_sweep(120);
    lab
}

#[test]
fn trace_records_follow_the_lfts() {
    all_traces(&mut up("fat-tree:4", 0));
    all_traces(&mut up("torus:3,3,1", 1));
}

/// Draws this many distinct ports.
fn draw(ports: &[PortAt], count: u64, rng: &mut TestRng) -> Vec<PortAt> {
    let mut left = ports.to_vec();
    (0..count)
        .map(|_| left.swap_remove(rng.index(left.len())))
        .collect()
}

/// Queries paths between all sources and all destinations.
fn multi(
    lab: &mut Lab,
    client: PortAt,
    sources: &[PortAt],
    destinations: &[PortAt],
    numb_path: Option<u8>,
    reversible: bool,
) -> Vec<PathReply> {
    let mut data = vec![0; 24];
    data[5] = u8::from(reversible) << 7 | numb_path.unwrap_or(0);
    data[15] = u8::try_from(sources.len()).unwrap_or(0);
    data[16] = u8::try_from(destinations.len()).unwrap_or(0);
    for at in sources.iter().chain(destinations) {
        data.extend(gid(lab, *at).to_be_bytes());
    }
    let mut mask = 1 << 19 | 1 << 20;
    mask |= u64::from(reversible) << 5 | u64::from(numb_path.is_some()) << 6;
    let request = WireRequest {
        mask,
        data,
        ..WireRequest::new(
            expected_records::lid(lab, client),
            method::GET_MULTI,
            MULTI_PATH,
        )
    };
    let reply = query(lab, &request);
    assert_eq!(
        (reply.status, reply.attr),
        (status::OK, PATH),
        "{}",
        lab.describe_run()
    );
    reply.records.iter().map(|r| decode(lab, r)).collect()
}

fn random_sets(lab: &mut Lab, seed: u64, count: u64) {
    let mut rng = TestRng::new(seed);
    let all_end_ports = expected_records::end_ports(lab);
    let mut with_alternatives = 0;
    for _ in 0..count {
        let client = all_end_ports[rng.index(all_end_ports.len())];
        let s = 1 + rng.below(4);
        let d = 1 + rng.below(4);
        let ends = draw(&all_end_ports, s + d, &mut rng);
        let (sources, destinations) = ends.split_at(usize::try_from(s).unwrap_or(1));
        let numb_path = (!rng.one_in(4)).then(|| u8::try_from(1 + rng.below(8)).unwrap_or(1));
        let reversible = rng.one_in(2);
        let reply = multi(lab, client, sources, destinations, numb_path, reversible);
        let demand = PathRequest {
            reversible,
            ..PathRequest::default()
        };
        let mut allowed = BTreeSet::new();
        for a in sources {
            for b in destinations {
                let here = &*lab;
                let level = |a, l| sl(here, a, l);
                let ends = (*a, *b);
                let between = paths::between(
                    here,
                    client,
                    ends,
                    (None, None),
                    &demand,
                    PACKET_LIFE_TIME,
                    &level,
                );
                allowed.extend(between);
            }
        }
        let context = format!(
            "{} {sources:?} {destinations:?} {numb_path:?}",
            lab.describe_run()
        );
        let distinct: BTreeSet<PathReply> = reply.iter().copied().collect();
        assert_eq!(distinct.len(), reply.len(), "{context}: duplicate path");
        assert!(distinct.is_subset(&allowed), "{context}");
        let max = numb_path.map_or(127, usize::from);
        assert_eq!(reply.len(), allowed.len().min(max), "{context}");

        // There are at most as many disjoint paths as ends in the smaller set, and each pair has a
        // path here.
        let scarce = sources.len().min(destinations.len());
        let first = &reply[..reply.len().min(scarce)];
        let port = |lid: u16| {
            all_end_ports
                .iter()
                .position(|at| lids(lab, *at).contains(&lid))
        };
        let from: BTreeSet<_> = first.iter().map(|t| port(t.lids.0)).collect();
        let to: BTreeSet<_> = first.iter().map(|t| port(t.lids.1)).collect();
        if max < allowed.len() {
            assert_eq!(
                (from.len(), to.len()),
                (first.len(), first.len()),
                "{context}"
            );
            with_alternatives += usize::from(first.len() > 1);
        }
    }
    assert!(
        with_alternatives > 20,
        "{} only {with_alternatives} replies had alternatives",
        lab.describe_run()
    );
}

#[test]
fn multi_path_replies_are_valid_and_disjoint() {
    random_sets(&mut up("fat-tree:4", 0), 1, 300);
    random_sets(&mut up("torus:3,3,1", 1), 2, 300);
}
