//! Limits of one device: what it cannot hold is left out and reported, and no other device notices.

use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::records::routing::RoutingRecord;
use ferrosm_core::report::routing_message::RoutingMessage;
use ferrosm_core::{Command, ProblemKind, RestoredState, SmConfig, SweepReport};
use ferrosm_fabric::location::Location;
use ferrosm_mad::attr::{NodeType, SmState};
use ferrosm_mad::ids::PortNum;
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::{FabricSpec, NodeIdx, PortAt};
use ferrosm_tests::lab::Lab;
use ferrosm_tests::sa::members::{Members, plain};

/// 12 leaves, 216 hosts, 234 LIDs.
const TREE: &str = "fat-tree2:36,12,18";
/// Longer than full sweeps that confirm a limit.
const SETTLED: Duration = Duration::from_secs(30);

fn switches(spec: &FabricSpec) -> Vec<NodeIdx> {
    let nodes = spec.nodes.iter().enumerate();
    let switches = nodes.filter(|(_, node)| node.kind == NodeType::Switch);
    switches.map(|(n, _)| n).collect()
}

/// The LFTs of all switches but one.
fn other_lfts(lab: &Lab, except: NodeIdx) -> Vec<Vec<u8>> {
    let fabric = lab.world.fabric();
    let nodes = 0..lab.spec.nodes.len();
    nodes
        .filter(|n| *n != except && fabric.is_switch(*n))
        .map(|n| fabric.lft(n).to_vec())
        .collect()
}

fn set_lft_entries(lab: &mut Lab, node: NodeIdx, entries: u16) {
    let fabric = lab.world.fabric_mut();
    fabric.change_hardware(node, |caps| caps.linear_fdb_cap = entries);
}

fn reregisters(lab: &Lab, at: PortAt) -> u32 {
    lab.world.fabric().client_reregisters(at)
}

/// All persisted state of the SM, with its routing.
fn complete_replica(lab: &Lab) -> RestoredState {
    let view = lab.manager().core().view();
    RestoredState {
        complete: true,
        routing: view
            .and_then(|view| RoutingRecord::of_snapshot(view))
            .map(Arc::new),
        ..lab.manager().replicated_state(lab.world.now())
    }
}

/// The problem `lft-too-small` of the last sweep at a switch: entries, LIDs above, own LIDs above.
fn lft_problem(lab: &Lab, node: NodeIdx) -> Option<(u16, usize, usize)> {
    let guid = lab.world.fabric().node_guid(node);
    lab.last_report().problems.iter().find_map(|p| {
        let Location::Port(at) = &p.location else {
            return None;
        };
        let is_at = at.node.is_some_and(|n| n.guid == guid) && at.port == PortNum::ZERO;
        let ProblemKind::LftTooSmall {
            entries,
            lids,
            own_lids,
            ..
        } = p.kind
        else {
            return None;
        };
        is_at.then_some((entries, lids, own_lids))
    })
}

/// LIDs in use from `entries` on, and those of them that belong to a switch or its hosts.
fn lids_above(lab: &Lab, node: NodeIdx, entries: u16) -> (usize, usize) {
    let fabric = lab.world.fabric();
    let above: Vec<PortAt> = lab
        .lids()
        .into_iter()
        .filter(|(_, lid)| lid.0 >= entries)
        .map(|(at, _)| at)
        .collect();
    let is_own =
        |at: &&PortAt| at.node == node || fabric.peer(**at).is_some_and(|p| p.node == node);
    (above.len(), above.iter().filter(is_own).count())
}

/// A leaf reboots and reports a small LFT: no LID changes, and no LFT entry of another switch. It
/// and its hosts reach the LIDs that it can hold. When it reports the true size again, everything
/// is reachable.
#[test]
fn small_lft_of_a_rebooted_leaf_changes_no_other_lft_and_no_lid() {
    for entries in [128, 64, 1] {
        let mut lab = Lab::up(TREE, 3, SmConfig::default());
        let leaf = lab.node("leaf-11");
        let before = (lab.lids(), other_lfts(&lab, leaf));
        set_lft_entries(&mut lab, leaf, entries);
        lab.act(FabricAction::Reboot(leaf));
        lab.world.run_for(SETTLED);
        assert!(before == (lab.lids(), other_lfts(&lab, leaf)), "{entries}");
        lab.assert_correct();
        let (above, own) = lids_above(&lab, leaf, entries);
        assert_eq!(lft_problem(&lab, leaf), Some((entries, above, own)));
        assert!(own > 0);
        set_lft_entries(&mut lab, leaf, 0xC000);
        lab.act(FabricAction::Reboot(leaf));
        lab.world.run_for(SETTLED);
        assert!(before == (lab.lids(), other_lfts(&lab, leaf)), "{entries}");
        lab.assert_correct();
        assert!(lab.last_report().is_clean(), "{:?}", lab.last_report());
    }
}

/// A spine, or a switch of a torus, reports a small LFT after a reboot: routes of others avoid it,
/// and no LID changes.
#[test]
fn routes_avoid_a_switch_with_a_small_lft() {
    for (spec, switch, entries) in [
        ("fat-tree:6", 44, 16),
        ("torus:4,4,1,4", 5, 40),
        ("hyperx:4,4,3", 2, 10),
        ("dragonfly:4,5,1,2", 3, 20),
    ] {
        let mut lab = Lab::up(spec, 5, SmConfig::default());
        let node = switches(&lab.spec)[switch];
        let before = lab.lids();
        set_lft_entries(&mut lab, node, entries);
        lab.act(FabricAction::Reboot(node));
        lab.world.run_for(SETTLED);
        assert_eq!(before, lab.lids(), "{spec}");
        lab.assert_correct();
        let (above, own) = lids_above(&lab, node, entries);
        assert_eq!(
            lft_problem(&lab, node),
            Some((entries, above, own)),
            "{spec}"
        );
        // A lost link elsewhere is rerouted around it, too.
        let link = lab.redundant_link(3);
        lab.act(FabricAction::Cut(link));
        lab.world.run_for(SETTLED);
        assert_eq!(before, lab.lids(), "{spec}");
        lab.assert_correct();
    }
}

/// Only a switch with a small LFT connects two parts of the fabric: LIDs that it can hold are
/// reachable from the other part, and the others are reported.
#[test]
fn lids_behind_the_only_way_are_reported() {
    let mut spec = ferrosm_sim::generate::from_spec("ring:3,20").expect("valid fabric");
    let (ends, middle) = match switches(&spec)[..] {
        [first, middle, last] => ([first, last], middle),
        _ => panic!("not three switches"),
    };
    spec.links
        .retain(|l| !(ends.contains(&l.a.node) && ends.contains(&l.b.node)));
    let mut lab = Lab::on("line", spec, 1, SmConfig::default(), None);
    assert!(lab.next_sweep(60).is_clean());
    let before = lab.lids();
    set_lft_entries(&mut lab, middle, 50);
    lab.act(FabricAction::Reboot(middle));
    lab.world.run_for(SETTLED);
    assert_eq!(before, lab.lids());
    assert!(lft_problem(&lab, middle).is_some());
    let is_reported = |report: &SweepReport| {
        let mut messages = report.routing_messages.iter();
        messages.any(|m| matches!(m, RoutingMessage::DroppedTransit(_)))
    };
    assert!(is_reported(&lab.last_report()), "{:?}", lab.last_report());
    // Deliveries between the ends, by the LFTs of the devices.
    let fabric = lab.world.fabric();
    let switch_of = |at: PortAt| fabric.peer(at).map(|p| p.node);
    for at in lab.hosts() {
        let (lid, owner) = (before[&at], switch_of(at).expect("attached"));
        for from in ends.into_iter().filter(|s| *s != owner) {
            let through = fabric.lft_entry(from, lid);
            let next = fabric
                .peer(PortAt::new(from, through.raw()))
                .map(|p| p.node);
            let is_dropped = fabric.lft_entry(middle, lid) == PortNum::DROP;
            assert_eq!(next, Some(middle), "LID {lid}");
            assert_eq!(is_dropped, lid.0 >= 50, "LID {lid}");
        }
    }
}

/// One implausible size that a switch in use reports changes nothing; a full sweep confirms it, and
/// then it counts.
#[test]
fn smaller_lft_counts_after_a_full_sweep_confirms_it() {
    let mut lab = Lab::up(TREE, 2, SmConfig::default());
    let leaf = lab.node("leaf-3");
    let lft = |lab: &Lab| lab.world.fabric().lft(leaf).to_vec();
    let before = (lab.lids(), lft(&lab));
    set_lft_entries(&mut lab, leaf, 64);
    let port = lab.hosts().into_iter().find(|h| {
        let peer = lab.world.fabric().peer(*h);
        peer.is_some_and(|p| p.node == leaf)
    });
    // A link event: the switch is read.
    lab.act(FabricAction::Bounce(port.expect("a host")));
    lab.next_sweep(60);
    assert_eq!(before, (lab.lids(), lft(&lab)));
    set_lft_entries(&mut lab, leaf, 0xC000);
    lab.world.run_for(SETTLED);
    assert_eq!(before, (lab.lids(), lft(&lab)));
    assert!(lab.last_report().is_clean(), "{:?}", lab.last_report());
    set_lft_entries(&mut lab, leaf, 64);
    lab.world.run_for(SETTLED);
    assert!(lft_problem(&lab, leaf).is_some());
    assert_eq!(before.0, lab.lids());
    lab.assert_correct();
}

/// A standby takes over while a leaf has a small LFT: it adopts the routing and writes no LFT
/// block.
#[test]
fn takeover_with_a_small_lft_writes_no_lft() {
    let cfg = |priority| SmConfig {
        priority,
        sm_poll_interval: Duration::from_secs(1),
        sm_poll_retries: 2,
        ..SmConfig::default()
    };
    let mut lab = Lab::up(TREE, 4, cfg(5));
    let leaf = lab.node("leaf-11");
    set_lft_entries(&mut lab, leaf, 64);
    lab.act(FabricAction::Reboot(leaf));
    lab.world.run_for(SETTLED);
    let before = (lab.lids(), other_lfts(&lab, leaf));
    let at = lab.hosts()[20];
    let second = lab.add_sm(at, cfg(0));
    lab.world.run_for(SETTLED);
    let replica = complete_replica(&lab);
    lab.set_replica(second, replica);
    lab.world.kill(lab.sm);
    lab.select(second);
    let report = lab.next_sweep(60);
    assert_eq!(lab.manager().core().role(), SmState::Master);
    assert_eq!(
        report.lft_blocks_written, 0,
        "{:?}",
        report.routing_messages
    );
    lab.world.run_for(SETTLED);
    assert!(before == (lab.lids(), other_lfts(&lab, leaf)));
    lab.assert_correct();
}

/// At the first bring-up, the hosts of a leaf with a small LFT get LIDs that it can hold: all hosts
/// reach them.
#[test]
fn hosts_behind_a_small_lft_get_low_lids_at_first() {
    let mut spec = ferrosm_sim::generate::from_spec(TREE).expect("valid fabric");
    let leaf = spec.nodes.iter().position(|n| n.description == "leaf-11");
    let leaf = leaf.expect("leaf");
    let mut caps = spec.nodes[leaf].caps();
    caps.linear_fdb_cap = 64;
    spec.nodes[leaf].options.caps = Some(caps);
    let mut lab = Lab::on(TREE, spec, 1, SmConfig::default(), None);
    lab.next_sweep(600);
    let (above, own) = lids_above(&lab, leaf, 64);
    assert_eq!((above, own), (234 - 63, 0));
    assert_eq!(lft_problem(&lab, leaf), Some((64, above, 0)));
    lab.assert_correct();
}

fn mft_problem(lab: &Lab) -> Option<ProblemKind> {
    let mut problems = lab
        .last_report()
        .problems
        .into_iter()
        .map(|p| p.kind)
        .filter(|kind| matches!(kind, ProblemKind::MftTooSmall { .. }));
    problems.next()
}

/// A switch reports a small MFT after a reboot: its hosts miss the groups beyond it, and no others.
/// New groups are not limited by it. On request, groups move to MLIDs that it can hold, and their
/// members receive ClientReregister.
#[test]
fn small_mft_leaves_out_only_its_own_hosts() {
    // Leaves and an inner switch of the tree.
    for (spec, switch) in [("fat-tree:4", 0), ("fat-tree:4", 1), ("fat-tree:4", 19)] {
        let mut lab = Lab::up(spec, 6, SmConfig::default());
        let (node, hosts) = (switches(&lab.spec)[switch], lab.hosts());
        let mut members = Members::new();
        let full = JoinState::FULL;
        for group in 0..40 {
            for at in &hosts {
                let joined = members.join(&mut lab, *at, plain(group), full);
                joined.unwrap_or_else(|status| panic!("{spec}: {status}"));
            }
        }
        lab.world.run_for(Duration::from_secs(1));
        let assert_correct = |lab: &Lab, members: &Members| {
            if let Err(error) = lab.verdict(&members.expect(lab)) {
                panic!("{spec} {switch}: {error}");
            }
        };
        assert_correct(&lab, &members);
        let fabric = lab.world.fabric_mut();
        fabric.change_hardware(node, |caps| caps.multicast_fdb_cap = 32);
        lab.act(FabricAction::Reboot(node));
        lab.world.run_for(SETTLED);
        // Hosts that lost their link join again.
        let own: Vec<PortAt> = hosts
            .iter()
            .filter(|h| lab.world.fabric().peer(**h).is_some_and(|p| p.node == node))
            .copied()
            .collect();
        for at in &own {
            members.remove_port(*at);
            for group in 0..40 {
                let joined = members.join(&mut lab, *at, plain(group), full);
                joined.unwrap_or_else(|status| panic!("{spec}: {status}"));
            }
        }
        lab.world.run_for(Duration::from_secs(1));
        assert_correct(&lab, &members);
        lab.command(Command::Reroute);
        lab.world.run_for(SETTLED);
        assert_correct(&lab, &members);
        // The broadcast group has the first MLID, and 31 others fit.
        let left_out = ProblemKind::MftTooSmall {
            entries: 32,
            mlids: 9,
        };
        let expected = (!own.is_empty()).then_some(left_out);
        assert_eq!(mft_problem(&lab), expected, "{spec}");
        // Free MLIDs: the groups beyond the table move there.
        for group in 0..12 {
            for at in &hosts {
                let left = members.leave(&mut lab, *at, plain(group));
                left.unwrap_or_else(|status| panic!("{spec}: {status}"));
            }
        }
        let before: Vec<u32> = hosts.iter().map(|h| reregisters(&lab, *h)).collect();
        lab.command(Command::Reroute);
        lab.world.run_for(SETTLED);
        let after = hosts.iter().map(|h| reregisters(&lab, *h));
        assert!(after.zip(before).all(|(after, before)| after > before));
        for group in 12..40 {
            for at in &hosts {
                let mlid = members
                    .join(&mut lab, *at, plain(group), full)
                    .unwrap_or_else(|status| panic!("{spec}: {status}"));
                assert!(mlid.0 < 0xC000 + 32, "{spec}: {mlid}");
            }
        }
        lab.world.run_for(SETTLED);
        assert_correct(&lab, &members);
        lab.command(Command::Sweep);
        lab.next_sweep(60);
        assert_eq!(mft_problem(&lab), None, "{spec}");
    }
}

/// A switch of a torus reboots and supports one VL, and then two: it becomes a leaf, and the others
/// keep their engine and several VLs. The oracle judges the VLs that the devices use. A new master
/// finds the same routing.
#[test]
fn switch_with_few_vls_does_not_limit_the_vls_of_others() {
    let cfg = SmConfig {
        engines: vec!["dor".to_owned()],
        ..SmConfig::default()
    };
    for (spec, vl_cap) in [
        ("torus:5,5,1,2", 1),
        ("torus:5,5,1,2", 2),
        ("torus:6,5,1,1", 1),
    ] {
        let mut lab = Lab::up(spec, 8, cfg.clone());
        let several_vls = |lab: &Lab| {
            let vl_plan = lab.manager().core().vl_plan();
            vl_plan.is_some_and(|plan| !plan.is_single())
        };
        assert!(several_vls(&lab));
        let node = switches(&lab.spec)[7];
        let before = lab.lids();
        let fabric = lab.world.fabric_mut();
        fabric.change_hardware(node, |caps| caps.vl_cap = vl_cap);
        lab.act(FabricAction::Reboot(node));
        lab.world.run_for(SETTLED);
        assert!(several_vls(&lab), "{spec}: {:?}", lab.last_report());
        assert_eq!(lab.last_report().engine, "dor");
        assert_eq!(before, lab.lids());
        lab.assert_correct();
        let is_reported = |lab: &Lab| {
            let report = lab.last_report();
            let mut messages = report.routing_messages.iter();
            messages.any(|m| matches!(m, RoutingMessage::NarrowSwitch(_)))
        };
        // Two VLs suffice for the routing of the torus.
        assert_eq!(is_reported(&lab), vl_cap == 1, "{:?}", lab.last_report());
        // A lost link elsewhere changes nothing of this, nor does a restart.
        let link = lab.redundant_link(40);
        lab.act(FabricAction::Cut(link));
        lab.world.run_for(SETTLED);
        assert!(several_vls(&lab), "{spec}: {:?}", lab.last_report());
        lab.assert_correct();
        let replica = complete_replica(&lab);
        lab.world.kill(lab.sm);
        lab.restart_sm(cfg.clone(), replica);
        let report = lab.next_sweep(60);
        assert_eq!(
            report.lft_blocks_written, 0,
            "{:?}",
            report.routing_messages
        );
        assert!(several_vls(&lab), "{spec}: {report:?}");
        lab.assert_correct();
    }
    // From the start.
    let mut spec = ferrosm_sim::generate::from_spec("torus:5,5,1,2").expect("valid fabric");
    let node = switches(&spec)[12];
    let mut caps = spec.nodes[node].caps();
    caps.vl_cap = 1;
    spec.nodes[node].options.caps = Some(caps);
    let mut lab = Lab::on("torus", spec, 1, cfg, None);
    let report = lab.next_sweep(600);
    assert!(report.is_clean());
    assert_eq!(report.engine, "dor", "{:?}", report.routing_messages);
    lab.assert_correct();
}

/// A switch that reports a LinearFDBTop beyond its LFT is used: the SM writes a valid one.
#[test]
fn lft_top_beyond_the_table_is_rewritten() {
    let mut spec = ferrosm_sim::generate::from_spec("fat-tree:4").expect("valid fabric");
    for node in &mut spec.nodes {
        let mut caps = node.caps();
        caps.linear_fdb_cap = caps.linear_fdb_cap.min(1024);
        node.options.caps = Some(caps);
    }
    let mut lab = Lab::on("fat-tree:4", spec, 1, SmConfig::default(), None);
    let node = switches(&lab.spec)[1];
    lab.world.fabric_mut().corrupt_lft_top(node, 2000);
    let report = lab.next_sweep(60);
    let reported = ProblemKind::LftTopTooHigh {
        top: 2000,
        entries: 1024,
    };
    let kinds: Vec<&ProblemKind> = report.problems.iter().map(|p| &p.kind).collect();
    assert_eq!(kinds, [&reported]);
    assert!(report.is_clean());
    lab.world.run_for(SETTLED);
    assert!(lab.last_report().problems.is_empty());
    lab.assert_correct();
}
