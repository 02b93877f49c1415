//! Bring-up on the simulator: all topologies and irregular fabrics. The test oracle reads the
//! tables in the devices.

use ferrosm_core::{Command, ProblemKind, SmConfig};
use ferrosm_mad::attr::{PortState, id};
use ferrosm_mad::ids::{Lid, Lmc, PortNum};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;

/// Each topology comes up cleanly in one sweep, and a second full sweep writes nothing.
#[test]
fn every_topology_comes_up_and_stays_unchanged() {
    for spec in [
        "back-to-back",
        "single-switch:1",
        "single-switch:20",
        "ring:4,1",
        "ring:7,3",
        "fat-tree:4",
        "fat-tree:8",
        "fat-tree2:36,12,18",
        "torus:3,3,3,2",
        "torus:4,4,3,1",
        "mesh:4,4,1,2",
        "hyperx:4,4,3",
        "dragonfly:4,9,2,2",
        "random:30,4,3,1",
        "random:64,6,2,2",
        "fat-tree2:36,12,18;sharp",
        "fat-tree:6;sharp;drop=0.15;seed=5",
        "fat-tree2:36,8,6;spine-hosts=2;parallel=2",
        "fat-tree:6;drop=0.2;seed=9;shuffle",
        "fat-tree2:36,6,10;dual-port",
        "fat-tree2:36,6,10;routers=2;mixed-speeds",
        "torus:3,3,2,2;drop=0.1;seed=4;plugs=2",
        "torus:3,3,2,2;loopbacks=3",
    ] {
        let mut lab = Lab::new(spec, 1);
        let report = lab.next_sweep(60);
        assert!(report.is_clean(), "{spec}: {:#?}", report.problems);
        lab.assert_correct();
        lab.world.fabric_mut().reset_counters();
        lab.command(Command::Sweep);
        let again = lab.next_sweep(60);
        assert_eq!(again.lft_blocks_written, 0, "{spec}");
        assert_eq!(again.lids_changed, 0, "{spec}");
        let sets = lab.world.fabric().all_counters().all_sets();
        assert_eq!(sets, 0, "{spec}: the second sweep wrote to devices");
        lab.assert_correct();
    }
}

/// The SM runs on switch port 0.
#[test]
fn sm_runs_on_a_switch() {
    let spec = ferrosm_sim::generate::from_spec("fat-tree:4").unwrap();
    let switch = spec
        .nodes
        .iter()
        .position(|n| n.port_guids.len() == 1 && n.num_ports > 1)
        .unwrap();
    let at = PortAt::new(switch, 0);
    let mut lab = Lab::on(
        "fat-tree:4 from a switch",
        spec,
        1,
        SmConfig::default(),
        Some(at),
    );
    assert!(lab.next_sweep(60).is_clean());
    lab.assert_correct();
}

/// With LMC m each host port owns 2^m aligned LIDs, and all of them are routed.
#[test]
fn every_lmc_is_routed() {
    for lmc in 0..=7 {
        let cfg = SmConfig {
            lmc: Lmc(lmc),
            ..SmConfig::default()
        };
        let mut lab = Lab::with("fat-tree:4", 1, cfg);
        let report = lab.next_sweep(60);
        assert!(report.is_clean(), "LMC {lmc}: {:#?}", report.problems);
        assert_eq!(report.lids, 16 * (1 << lmc) + 20, "LMC {lmc}");
        lab.assert_correct();
    }
}

/// Initial LIDs may be duplicate, misaligned, multicast or zero. Valid LIDs without conflict are
/// preserved.
#[test]
fn valid_lids_found_on_ports_are_preserved() {
    let mut spec = ferrosm_sim::generate::from_spec("fat-tree:4").unwrap();
    let initial_lids = [5, 5, 0, 40, 0xC001, 41, 0xFFFF, 100];
    let hosts: Vec<usize> = (0..spec.nodes.len())
        .filter(|n| spec.nodes[*n].num_ports == 1)
        .take(initial_lids.len())
        .collect();
    for (n, lid) in hosts.iter().zip(initial_lids) {
        spec.nodes[*n].lids = vec![(Lid(lid), Lmc(0))];
    }
    let mut lab = Lab::on("fat-tree:4 with LIDs", spec, 1, SmConfig::default(), None);
    assert!(lab.next_sweep(60).is_clean());
    lab.assert_correct();
    let lid = |i: usize| lab.world.fabric().lid(PortAt::new(hosts[i], 1)).0.raw();
    assert_eq!((lid(3), lid(5), lid(7)), (40, 41, 100));
    assert_eq!(
        [lid(0), lid(1)].iter().filter(|l| **l == 5).count(),
        1,
        "one of the two ports keeps the duplicate LID"
    );
}

/// With fewer LIDs than ports, some ports become Active and each of the others is reported. No port
/// without LID becomes Armed.
#[test]
fn exhausted_lids_are_reported() {
    let cfg = SmConfig {
        lmc: Lmc(7),
        ..SmConfig::default()
    };
    let mut lab = Lab::with("fat-tree2:36,24,18", 1, cfg);
    let report = lab.next_sweep(60);
    let without = report
        .problems
        .iter()
        .filter(|p| p.kind == ProblemKind::NoLid)
        .count();
    // 0xC000 / 128 ranges, without the first (LID 0) and those that hold the 36 switches' LIDs.
    assert_eq!(without, 24 * 18 - (0xC000 / 128 - 1));
    assert!(!report.is_clean());
    let mut served = 0;
    for n in 0..24 * 18 {
        let info = lab.world.fabric().port_info(PortAt::new(n, 1)).unwrap();
        assert_eq!(
            info.lid.is_unicast(),
            info.port_state == PortState::Active,
            "host {n}"
        );
        served += usize::from(info.lid.is_unicast());
    }
    assert_eq!(served + without, 24 * 18);
}

/// All LFT blocks are written before the first port becomes Armed.
#[test]
fn tables_are_written_before_links_are_activated() {
    let mut lab = Lab::new("fat-tree:4", 3);
    lab.run_until("a port is armed", 60, |lab| {
        let fabric = lab.world.fabric();
        fabric.end_ports().any(|p| {
            p.port != 0
                && fabric
                    .port_info(p)
                    .is_some_and(|i| i.port_state >= PortState::Armed)
        })
    });
    let before = lab.world.fabric().all_counters().sets(id::LFT);
    assert!(before > 0);
    lab.next_sweep(60);
    assert_eq!(lab.world.fabric().all_counters().sets(id::LFT), before);
    assert_eq!(
        lab.world
            .fabric()
            .lft_entry(lab.spec.nodes.len() - 1, Lid(0)),
        PortNum::DROP
    );
}

/// Fabrics of a thousand and of ten thousand hosts come up cleanly with the minimum number of SMPs.
#[test]
fn large_fabrics_need_few_mads_beyond_the_minimum() {
    for (spec, max_s) in [("fat-tree:16", 60), ("fat-tree:34", 120)] {
        let mut lab = Lab::new(spec, 1);
        let report = lab.next_sweep(max_s);
        assert!(report.is_clean(), "{spec}: {:#?}", report.problems.first());
        lab.assert_correct();
        let live_ends = 2 * report.links as u64;
        let count = |attr| report.smps.get(&attr).copied().unwrap_or_default();
        assert!(count(id::NODE_INFO).gets <= live_ends, "{spec}: NodeInfo");
        let port_sets = live_ends * 2 + report.switches as u64;
        assert!(
            count(id::PORT_INFO).sets <= port_sets,
            "{spec}: two Sets per connected port, one per port 0"
        );
        let blocks = u64::from(report.top_lid.raw()) / 64 + 1;
        assert_eq!(
            count(id::LFT).sets,
            blocks * report.switches as u64,
            "{spec}: LFT blocks"
        );
    }
}

/// A full sweep that finds nothing new reports no incremental reroute.
#[test]
fn unchanged_full_sweep_reports_no_reroute() {
    let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
    lab.command(Command::Sweep);
    let report = lab.next_sweep(60);
    assert!(!report.is_local() && report.is_clean());
    let messages = &report.routing_messages;
    let reroute = messages.iter().find(|m| m.kind() == "incremental-reroute");
    assert!(reroute.is_none(), "{reroute:?}");
}

/// Hosts with a port in another plane: the sweep notes that its links lead to another subnet. Ports
/// without a link are none.
#[test]
fn links_to_another_plane_are_a_note() {
    for (spec, unlinked, notes) in [
        ("star:4;planes=2", None, Some(3)),
        ("star:4;planes=2", Some(1), Some(2)),
        ("star:4", None, None),
    ] {
        let mut lab = Lab::new(spec, 1);
        if let Some(host) = unlinked {
            let other_port = PortAt::new(host, 2);
            lab.world.fabric_mut().cut(other_port).unwrap();
        }
        let report = lab.next_sweep(10);
        assert!(report.is_clean());
        let kinds: Vec<&ProblemKind> = report.problems.iter().map(|p| &p.kind).collect();
        let expected = notes.map(|others| ProblemKind::LinkToOtherSubnet { others });
        assert_eq!(kinds, expected.iter().collect::<Vec<_>>(), "{spec}");
    }
}
