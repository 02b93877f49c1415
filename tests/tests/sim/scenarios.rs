//! Scenarios of ibmgtsim and request storms of ibsim: after thousands of random or simultaneous
//! host requests, the SM's state matches its replies. Each failure names the seed.
//!
//! `FERROSM_ACTIONS=100000` runs the long test at the length of ibmgtsim's.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "test helpers")]

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_core::SmConfig;
use ferrosm_mad::attr::id;
use ferrosm_mad::ids::{Gid, Lid, PortNum};
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::{Lab, TestRng};
use ferrosm_tests::sa::members::{BROADCAST, Members, plain};
use ferrosm_tests::sa::random_activity::RandomClients;

fn lab_after_first_sweep(spec: &str, seed: u64) -> Lab {
    let mut lab = Lab::with(spec, seed, SmConfig::default());
    let report = lab.next_sweep(600);
    assert!(report.is_clean(), "{spec}: {report:#?}");
    lab
}

fn run(spec: &str, seed: u64, actions: u32, faults: u64) {
    let mut lab = lab_after_first_sweep(spec, seed);
    let groups = (0..40).map(plain).chain([BROADCAST]).collect();
    let mut clients = RandomClients::new(&lab, groups, faults);
    for n in 1..=actions {
        clients.run_action(&mut lab);
        if n % 5_000 == 0 {
            clients.assert_consistent(&mut lab);
        }
    }
    clients.assert_consistent(&mut lab);
    let done = clients.counts;
    println!("{} {actions} actions: {done:?}", lab.describe_run());
    let all = [done.groups, done.paths, done.services, done.queries];
    assert!(all.iter().all(|n| *n > actions / 20), "{done:?}");
}

/// Short form of ibmgtsim's stress test.
#[test]
fn short_random_activity_leaves_consistent_state() {
    let shapes = ["fat-tree:4", "torus:3,3,1", "mesh:3,3,1", "random:9,4,2,3"];
    for (seed, spec) in (1..=8).zip(shapes.iter().cycle()) {
        run(spec, seed, 240, 60);
    }
}

/// Long form. `FERROSM_ACTIONS` sets the number of actions.
#[test]
fn long_random_activity_leaves_consistent_state() {
    let actions = std::env::var("FERROSM_ACTIONS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(10_000);
    run("fat-tree:4", 101, actions, 5);
}

/// MFT entries (MLID index, port) of each written MFT block, by switch, block and position (16
/// ports).
fn blocks(lab: &Lab, mlids: u16) -> BTreeMap<(usize, u16, u8), Vec<(u16, PortNum)>> {
    let fabric = lab.world.fabric();
    let mut blocks: BTreeMap<(usize, u16, u8), Vec<(u16, PortNum)>> = BTreeMap::new();
    for node in (0..lab.spec.nodes.len()).filter(|n| fabric.is_switch(*n)) {
        for n in 0..mlids {
            for port in fabric.mft_ports(node, Lid(0xC000 + n)) {
                let at = (node, n / 32, port.0 / 16);
                blocks.entry(at).or_default().push((n, port));
            }
        }
    }
    blocks
}

/// All hosts send `request` at once. Returns the number of Sets of MFT blocks and the number of
/// blocks that changed.
fn storm(
    lab: &mut Lab,
    members: &mut Members,
    mut request: impl FnMut(&mut Lab, &mut Members, usize),
    hosts: usize,
) -> (u32, u32) {
    let mlids = u16::try_from(hosts).expect("fits into 16 bits") + 64;
    let before = blocks(lab, mlids);
    let sets = lab.sets(id::MFT);
    for host in 0..hosts {
        request(lab, members, host);
    }
    lab.world.run_for(Duration::from_secs(2));
    members.assert_correct(lab);
    let after = blocks(lab, mlids);
    let all = before.keys().chain(after.keys());
    let changed: std::collections::BTreeSet<_> =
        all.filter(|at| before.get(*at) != after.get(*at)).collect();
    (
        lab.sets(id::MFT) - sets,
        u32::try_from(changed.len()).expect("fits into 32 bits"),
    )
}

/// ibsim's storms: all 648 hosts of a tree join the IPoIB groups, join again, leave, and join
/// again, all at once. Each request must get a reply; otherwise the client panics. A block is
/// written once for all requests, or twice if the first write was in progress when the others
/// arrived.
#[test]
fn all_hosts_join_register_again_and_leave_at_once() {
    let mut lab = lab_after_first_sweep("fat-tree2:36,36,18", 201);
    let fabric = lab.world.fabric();
    let end_ports = fabric.end_ports();
    let hosts: Vec<PortAt> = end_ports.filter(|p| !fabric.is_switch(p.node)).collect();
    assert_eq!(hosts.len(), 648);
    let mut members = Members::new();
    let groups = |host: usize| {
        // The broadcast group, 224.0.0.1, and the solicited-node group of the host's own address.
        let mut all_hosts = BROADCAST;
        all_hosts.0[12..].copy_from_slice(&[0, 0, 0, 1]);
        let mut own = Gid([
            0xFF, 0x12, 0x60, 0x1B, 0xFF, 0xFF, 0, 0, 0, 0, 0, 1, 0xFF, 0, 0, 0,
        ]);
        own.0[14..].copy_from_slice(
            &u16::try_from(host)
                .expect("fits into 16 bits")
                .to_be_bytes(),
        );
        [BROADCAST, all_hosts, own]
    };
    let join = |lab: &mut Lab, members: &mut Members, host: usize| {
        for gid in groups(host) {
            let joined = members.join(lab, hosts[host], gid, JoinState::FULL);
            joined.expect("join accepted");
        }
    };
    let leave = |lab: &mut Lab, members: &mut Members, host: usize| {
        for gid in groups(host) {
            members
                .leave(lab, hosts[host], gid)
                .expect("leave accepted");
        }
    };
    let (sets, changed) = storm(&mut lab, &mut members, join, hosts.len());
    println!("join: {sets} Sets for {changed} blocks");
    // Blocks of MLIDs in first use are written on all switches, because their contents after
    // power-on are unknown: 650 MLIDs and 48 ports.
    let first = (650u32).div_ceil(32) * (36 + 18) * 3;
    assert!(changed >= 36 && sets <= first + changed, "{sets} {changed}");
    let (sets, changed) = storm(&mut lab, &mut members, join, hosts.len());
    assert_eq!((sets, changed), (0, 0), "a repeated join changes no table");
    let (sets, changed) = storm(&mut lab, &mut members, leave, hosts.len());
    println!("leave: {sets} Sets for {changed} blocks");
    assert!(changed >= 36 && sets <= 2 * changed, "{sets} {changed}");
    assert!(blocks(&lab, 1024).is_empty(), "MFT entries remain");
    // Half of the hosts leave while the others join.
    let mut rng = TestRng::new(7);
    let joins_first: Vec<bool> = hosts.iter().map(|_| rng.one_in(2)).collect();
    let join_first = |lab: &mut Lab, members: &mut Members, host: usize| {
        if joins_first[host] {
            join(lab, members, host);
        }
    };
    storm(&mut lab, &mut members, join_first, hosts.len());
    let leave_or_join = |lab: &mut Lab, members: &mut Members, host: usize| {
        if joins_first[host] {
            leave(lab, members, host);
        } else {
            join(lab, members, host);
        }
    };
    let (sets, changed) = storm(&mut lab, &mut members, leave_or_join, hosts.len());
    println!("leave and join: {sets} Sets for {changed} blocks");
    assert!(sets <= 4 * changed, "{sets} {changed}");
}
