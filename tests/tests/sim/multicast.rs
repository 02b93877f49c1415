//! Multicast: hosts join and leave, links and switches fail and return. The test oracle reads the
//! tables in the switches.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ferrosm_core::{RestoredState, SmConfig};
use ferrosm_mad::attr::{MftBlock, id};
use ferrosm_mad::ids::{Gid, Lid};
use ferrosm_mad::mad::Method;
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_mad::sa::tables::MftRecord;
use ferrosm_sim::faults::Faults;
use ferrosm_sim::net::MadEvent;
use ferrosm_sim::oracle::{MulticastFault, Violation, judge_fabric};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::{Lab, TestRng};
use ferrosm_tests::sa::members::{BROADCAST, Members, plain, request};

const FULL: JoinState = JoinState::FULL;

/// Checks that the tables are correct shortly after the last request.
fn settle(lab: &mut Lab, members: &Members) {
    lab.world.run_for(Duration::from_millis(200));
    members.assert_correct(lab);
}

/// Runs until the tables are correct again after a failure.
fn run_until_correct(lab: &mut Lab, members: &Members, max_s: u64) {
    for _ in 0..max_s * 4 {
        lab.world.run_for(Duration::from_millis(250));
        if lab.verdict(&members.expect(lab)).is_ok() {
            return;
        }
    }
    members.assert_correct(lab);
}

fn assert_empty(lab: &Lab, mlids: u16) {
    let fabric = lab.world.fabric();
    for node in (0..lab.spec.nodes.len()).filter(|n| fabric.is_switch(*n)) {
        for mlid in 0xC000..0xC000 + mlids {
            let ports = fabric.mft_ports(node, Lid(mlid));
            assert!(
                ports.is_empty(),
                "{} {mlid:#x}: {ports:?}",
                lab.describe_run()
            );
        }
    }
}

fn shuffled(mut ports: Vec<PortAt>, rng: &mut TestRng) -> Vec<PortAt> {
    for i in (1..ports.len()).rev() {
        let j = rng.index(i + 1);
        ports.swap(i, j);
    }
    ports
}

/// ibmgtsim's multicast test and its join and leave test, on fat trees, tori with several VLs, and
/// random topologies.
#[test]
fn ports_join_in_random_order_then_leave_and_rejoin() {
    let shapes = [
        "fat-tree:4",
        "torus:3,3,1",
        "mesh:3,3,1",
        "star:6",
        "random:9,4,1,3",
    ];
    for (seed, spec) in (1..).zip(shapes) {
        let mut lab = Lab::up(spec, seed, SmConfig::default());
        let mut rng = TestRng::new(seed);
        let mut members = Members::new();
        let all_hosts = lab.hosts();
        for at in shuffled(all_hosts.clone(), &mut rng) {
            members.join(&mut lab, at, BROADCAST, FULL).expect("joins");
            lab.world.run_for(Duration::from_micros(rng.below(10_000)));
        }
        settle(&mut lab, &members);
        assert_eq!(members.members_of(BROADCAST).len(), all_hosts.len());
        for _ in 0..10 * all_hosts.len() {
            members.random_action(&mut lab, &all_hosts, &[BROADCAST], &mut rng);
            lab.world.run_for(Duration::from_millis(1));
        }
        settle(&mut lab, &members);
        for at in &all_hosts {
            members.join(&mut lab, *at, BROADCAST, FULL).expect("joins");
        }
        settle(&mut lab, &members);
        for at in shuffled(all_hosts, &mut rng) {
            members.leave(&mut lab, at, BROADCAST).expect("leaves");
        }
        settle(&mut lab, &members);
        assert_empty(&lab, 1);
        assert_eq!(lab.manager().reports().len(), 1, "a join started a sweep");
    }
}

/// More groups than fit in one MFT block, with switches among the members.
#[test]
fn many_groups_are_created_and_deleted() {
    for (seed, spec) in (11..).zip(["fat-tree:4", "torus:4,4,1", "random:8,4,2,5"]) {
        let mut lab = Lab::up(spec, seed, SmConfig::default());
        let mut rng = TestRng::new(seed);
        let mut members = Members::new();
        let all_ports: Vec<PortAt> = lab.world.fabric().end_ports().collect();
        let all_ports: Vec<PortAt> = all_ports
            .into_iter()
            .filter(|p| lab.world.fabric().lid(*p).0 != Lid::NONE)
            .collect();
        let groups: Vec<Gid> = (0..70).map(plain).collect();
        for round in 0..6 {
            for _ in 0..120 {
                members.random_action(&mut lab, &all_ports, &groups, &mut rng);
                if rng.one_in(3) {
                    lab.world.run_for(Duration::from_micros(rng.below(20_000)));
                }
            }
            settle(&mut lab, &members);
            if round == 3 {
                // Tables have no entries for a group without members.
                for gid in members.groups() {
                    for at in members.members_of(gid) {
                        if members.members_of(gid).contains(&at) {
                            members.leave(&mut lab, at, gid).expect("leaves");
                        }
                    }
                }
                settle(&mut lab, &members);
                assert_empty(&lab, 96);
            }
        }
        assert!(members.groups().len() > 32, "{}", members.groups().len());
    }
}

/// Links between switches fail and return, a switch reboots, a host disappears.
#[test]
fn trees_follow_lost_and_restored_links() {
    for (seed, spec) in (21..).zip([
        "fat-tree:4",
        "torus:4,4,1",
        "torus:3,3,3,1",
        "random:9,5,2,7",
    ]) {
        let mut lab = Lab::up(spec, seed, SmConfig::default());
        let mut rng = TestRng::new(seed);
        let mut members = Members::new();
        let all_hosts = lab.hosts();
        for n in 0..12 {
            for at in &all_hosts {
                if rng.one_in(2) || n == 0 {
                    members.join(&mut lab, *at, plain(n), FULL).expect("joins");
                }
            }
        }
        settle(&mut lab, &members);
        for round in 0..4 {
            let cable = lab.redundant_link(round);
            lab.world.fabric_mut().cut(cable).expect("a cable");
            run_until_correct(&mut lab, &members, 60);
            members.random_action(&mut lab, &all_hosts, &[plain(0)], &mut rng);
            lab.world.fabric_mut().restore(cable).expect("a cable");
            run_until_correct(&mut lab, &members, 60);
        }
        let leaf = lab
            .world
            .fabric()
            .peer(all_hosts[0])
            .expect("a switch")
            .node;
        lab.world.fabric_mut().reboot(leaf);
        lab.world.run_for(Duration::from_secs(40));
        // Hosts behind the switch are no longer members, unless the switch returned before the SM
        // detected its absence.
        let core = lab.manager().core();
        let present = core
            .registry()
            .groups()
            .get(plain(0))
            .map(|g| g.members.clone());
        let guid = |at: &PortAt| lab.world.fabric().port_guid(*at);
        let remaining = present.unwrap_or_default();
        let removed: Vec<PortAt> = members
            .members_of(plain(0))
            .into_iter()
            .filter(|at| !remaining.contains_key(&guid(at)))
            .collect();
        for at in &removed {
            assert_eq!(lab.world.fabric().peer(*at).map(|p| p.node), Some(leaf));
            members.remove_port(*at);
        }
        run_until_correct(&mut lab, &members, 60);
    }
}

/// After every single write of MFTs, LFTs or SLtoVL tables, no multicast packet loops, and the
/// channel dependency graph has no cycle.
#[test]
fn no_multicast_loop_while_mfts_are_written() {
    for (seed, spec) in (31..).zip(["torus:4,4,1", "mesh:3,3,1", "random:8,5,1,9", "fat-tree:4"]) {
        let mut lab = Lab::up(spec, seed, SmConfig::default());
        let mut rng = TestRng::new(seed);
        let mut members = Members::new();
        let all_hosts = lab.hosts();
        let written = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&written);
        lab.world.observe(move |e| {
            if matches!(e.event, MadEvent::Sent)
                && e.mad.method().is_response()
                && [id::MFT, id::LFT, id::SL_TO_VL].contains(&e.mad.attr_id())
            {
                flag.store(true, Ordering::Relaxed);
            }
        });
        let mut checks = 0;
        for round in 0..60 {
            let are_links_unchanged = round % 10 != 8;
            members.random_action(&mut lab, &all_hosts, &[plain(0), plain(1)], &mut rng);
            let cable = lab.redundant_link(round / 20);
            match round % 20 {
                8 => lab.world.fabric_mut().cut(cable).expect("a cable"),
                18 => lab.world.fabric_mut().restore(cable).expect("a cable"),
                _ => {}
            }
            let until =
                lab.world.now() + Duration::from_secs(if are_links_unchanged { 1 } else { 15 });
            while lab.world.now() < until {
                lab.world.step();
                if written.swap(false, Ordering::Relaxed) {
                    checks += 1;
                    let mut expect = lab.expect();
                    expect.groups = None;
                    let verdict = judge_fabric(lab.world.fabric(), &expect);
                    for v in &verdict.violations {
                        let loops = matches!(v, Violation::Multicast(MulticastFault::Loop { .. }));
                        let is_credit_loop = matches!(v, Violation::CreditLoop(_));
                        assert!(
                            !loops && !is_credit_loop,
                            "{} round {round}: {v}",
                            lab.describe_run()
                        );
                    }
                }
            }
        }
        run_until_correct(&mut lab, &members, 30);
        assert!(checks > 60, "{checks} checks");
    }
}

/// A join writes only the switches of its branch. Many concurrent requests write each affected
/// switch at most twice.
#[test]
fn join_writes_only_its_branch() {
    let mut lab = Lab::up("fat-tree:8", 41, SmConfig::default());
    let mut members = Members::new();
    let all_hosts = lab.hosts();
    let before = lab.sets(id::MFT);
    members
        .join(&mut lab, all_hosts[0], BROADCAST, FULL)
        .expect("joins");
    lab.world.run_for(Duration::from_millis(50));
    assert_eq!(
        lab.sets(id::MFT),
        before,
        "a group with one member needs no entries"
    );
    for at in &all_hosts[1..] {
        let before = lab.sets(id::MFT);
        members.join(&mut lab, *at, BROADCAST, FULL).expect("joins");
        lab.world.run_for(Duration::from_millis(50));
        let sets = lab.sets(id::MFT) - before;
        assert!((1..=5).contains(&sets), "{sets} Sets for {at:?}");
    }
    settle(&mut lab, &members);
    // All hosts leave at once: each switch is written once, or twice if its first write was already
    // in progress.
    let before = lab.sets(id::MFT);
    for at in &all_hosts {
        members.leave(&mut lab, *at, BROADCAST).expect("leaves");
    }
    settle(&mut lab, &members);
    assert_empty(&lab, 1);
    let sets = lab.sets(id::MFT) - before;
    assert!(sets <= 2 * 80, "{sets} Sets");
}

/// An SM that takes over reads the MFTs and clears entries of unknown groups.
#[test]
fn foreign_mft_entries_are_removed() {
    let mut lab = Lab::up("fat-tree:4", 51, SmConfig::default());
    let mut members = Members::new();
    let all_hosts = lab.hosts();
    for n in 0..40 {
        for at in &all_hosts[usize::from(n) % 8..] {
            members.join(&mut lab, *at, plain(n), FULL).expect("joins");
        }
    }
    settle(&mut lab, &members);
    lab.world.kill(lab.sm);
    lab.restart_sm(SmConfig::default(), RestoredState::default());
    lab.next_sweep(60);
    lab.world.run_for(Duration::from_secs(1));
    Members::new().assert_correct(&lab);
    assert_empty(&lab, 96);
    let mut members = Members::new();
    for at in &all_hosts {
        members.join(&mut lab, *at, plain(3), FULL).expect("joins");
    }
    settle(&mut lab, &members);
}

/// A switch whose agent does not reply does not delay other switches. Its MFT is corrected when it
/// replies again.
#[test]
fn unanswered_mft_writes_are_retried() {
    let mut lab = Lab::up("fat-tree:4", 61, SmConfig::default());
    let mut members = Members::new();
    let all_hosts = lab.hosts();
    for at in &all_hosts[..8] {
        members.join(&mut lab, *at, plain(0), FULL).expect("joins");
    }
    settle(&mut lab, &members);
    let leaf = lab
        .world
        .fabric()
        .peer(all_hosts[9])
        .expect("a switch")
        .node;
    let hung = Faults {
        hung: true,
        ..Faults::default()
    };
    lab.world.set_node_faults(leaf, Some(hung));
    for at in &all_hosts[8..] {
        members.join(&mut lab, *at, plain(0), FULL).expect("joins");
    }
    lab.world.run_for(Duration::from_secs(3));
    lab.world.set_node_faults(leaf, None);
    lab.world.run_for(Duration::from_secs(60));
    let registry = lab.manager().core().registry();
    let present = registry
        .groups()
        .get(plain(0))
        .map(|g| g.members.clone())
        .unwrap_or_default();
    for at in &all_hosts {
        if !present.contains_key(&lab.world.fabric().port_guid(*at)) {
            members.remove_port(*at);
        }
    }
    run_until_correct(&mut lab, &members, 60);
}

/// MulticastForwardingTableRecord equals the MFT blocks in the switches, one second after a change.
#[test]
fn mft_records_equal_the_switch_tables() {
    let mut lab = Lab::up("fat-tree:4", 71, SmConfig::default());
    let mut members = Members::new();
    let all_hosts = lab.hosts();
    for at in &all_hosts {
        members.join(&mut lab, *at, plain(0), FULL).expect("joins");
    }
    lab.world.run_for(Duration::from_secs(2));
    let table = (Method::GetTable, ferrosm_mad::sa::id::MFT);
    let switches: Vec<usize> = (0..lab.spec.nodes.len())
        .filter(|n| lab.world.fabric().is_switch(*n))
        .collect();
    let mlid = members
        .join(&mut lab, all_hosts[0], plain(0), FULL)
        .expect("joins");
    let mut entries = 0;
    for node in switches {
        let at = PortAt { node, port: 0 };
        let lid = lab.world.fabric().lid(at).0;
        let query = MftRecord {
            lid,
            ..MftRecord::default()
        };
        let (status, data) = request(&mut lab, all_hosts[0], table, 7, 1, &query.encode());
        let ports = lab.world.fabric().mft_ports(node, mlid);
        if ports.is_empty() {
            continue;
        }
        entries += 1;
        assert!(status.is_ok(), "{status:?}");
        let record = MftRecord::decode_slice(&data).unwrap();
        assert_eq!((record.lid, record.block_num, record.position), (lid, 0, 0));
        let mask = MftBlock::decode(&record.table).masks[usize::from(mlid.0 - 0xC000)];
        let reported: Vec<u8> = (0..16).filter(|b| mask >> b & 1 == 1).collect();
        let installed: Vec<u8> = ports.iter().map(|p| p.0).collect();
        assert_eq!(reported, installed);
    }
    assert!(entries > 4, "{entries} switches");
}

/// On these tori no VL with paths has room for multicast trees: they get a VL of their own, or
/// other paths are chosen.
#[test]
fn engines_with_several_vls_leave_room_for_multicast_trees() {
    for (spec, engine, vls) in [
        ("torus:5,4,1,2", "lash", 8),
        ("torus:5,4,1,2", "lash", 2),
        ("torus:5,5,1", "dfsssp", 2),
        ("torus:5,5,1", "dfsssp", 8),
    ] {
        let cfg = SmConfig {
            engines: vec![engine.to_owned(), "no_fallback".to_owned()],
            routing_vls: vls,
            ..SmConfig::default()
        };
        let mut lab = Lab::up(spec, 7, cfg);
        let mut members = Members::new();
        for at in lab.hosts() {
            members.join(&mut lab, at, BROADCAST, FULL).expect("joins");
        }
        settle(&mut lab, &members);
    }
}
