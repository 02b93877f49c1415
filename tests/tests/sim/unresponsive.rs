//! Devices that do not respond to a full sweep stay in the subnet while their links are up: a
//! switch whose agent hangs still forwards.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::time::Duration;

use ferrosm_core::records::RecordRestorer;
use ferrosm_core::report::SweepKind;
use ferrosm_core::{Command, Event, Problem, ProblemKind, RestoredState, SmConfig};
use ferrosm_fabric::location::Location;
use ferrosm_mad::attr::{SmState, id};
use ferrosm_sim::faults::{FabricAction, Faults};
use ferrosm_sim::oracle::judge_fabric;
use ferrosm_sim::spec::{NodeIdx, PortAt};
use ferrosm_tests::lab::Lab;

const SPEC: &str = "fat-tree:4";

fn up() -> Lab {
    Lab::up(SPEC, 3, SmConfig::default())
}

fn hang(lab: &mut Lab, node: &str) -> NodeIdx {
    let node = lab.node(node);
    lab.world.set_node_faults(node, Some(Faults::HUNG));
    node
}

/// Runs until a full sweep is complete that began after this command.
fn sweep(lab: &mut Lab, command: Command) {
    let is_full = |lab: &Lab| {
        let reports = lab.manager().reports();
        reports.iter().filter(|r| r.kind == SweepKind::Full).count()
    };
    let before = is_full(lab);
    lab.command(command);
    lab.run_until("a full sweep", 60, |lab| is_full(lab) > before);
}

/// The devices that do not respond, by the problems of the last sweep.
fn unresponsive(lab: &Lab) -> Vec<String> {
    let problems = lab.last_report().problems;
    let silent = problems
        .iter()
        .filter(|p| matches!(p.kind, ProblemKind::NoResponse { .. }));
    let name = |p: &Problem| match &p.location {
        Location::Port(port) => port.node.map(|node| node.description.to_string()),
        Location::LocalNode | Location::Lid(_) | Location::Subnet => None,
    };
    silent.filter_map(name).collect()
}

fn is_known(lab: &Lab, node: NodeIdx) -> bool {
    let guid = lab.world.fabric().node_guid(node);
    lab.manager().core().fabric().node_by_guid(guid).is_some()
}

fn removals(lab: &Lab) -> usize {
    let events = lab.manager().events.iter();
    events
        .filter(|e| matches!(e, Event::NodeRemoved(..)))
        .count()
}

fn run_until_delivered(lab: &mut Lab, max_s: u64) {
    let deadline = lab.world.now() + Duration::from_secs(max_s);
    loop {
        lab.world.run_for(Duration::from_millis(250));
        let verdict = judge_fabric(lab.world.fabric(), &lab.expect());
        // A new master cannot write its LID to a switch that hangs.
        let text = verdict.to_string();
        let mut violations = text.lines().skip(1);
        if verdict.is_good() || violations.all(|line| line.contains("MasterSMLID")) {
            return;
        }
        assert!(
            lab.world.now() < deadline,
            "{verdict}\n{:#?}",
            lab.last_report()
        );
    }
}

/// The agents of a core and a leaf switch hang. Full sweeps write no forwarding table, remove no
/// node and name both; when the agents are back, nothing is written either.
#[test]
fn full_sweep_keeps_hung_switches_and_their_hosts() {
    for hung in [&["core-1"][..], &["leaf-3-1"], &["core-1", "leaf-3-1"]] {
        let mut lab = up();
        let nodes: Vec<NodeIdx> = hung.iter().map(|name| hang(&mut lab, name)).collect();
        let before = lab.sets(id::LFT);
        for _ in 0..2 {
            sweep(&mut lab, Command::Sweep);
            let mut named = unresponsive(&lab);
            named.sort_unstable();
            assert_eq!(named, hung);
            lab.assert_correct();
            lab.world.run_for(Duration::from_secs(30));
            lab.assert_correct();
        }
        for node in nodes {
            assert!(is_known(&lab, node));
            lab.world.set_node_faults(node, None);
        }
        lab.run_until("no problem", 60, |lab| lab.last_report().is_clean());
        lab.assert_correct();
        assert_eq!(lab.sets(id::LFT), before, "{hung:?}");
        assert_eq!(removals(&lab), 0, "{hung:?}");
    }
}

/// The leaf switch of the SM hangs: it knows no other SM, and keeps the whole subnet.
#[test]
fn hung_switch_next_to_the_sm_stays() {
    let mut lab = up();
    let fabric = lab.world.fabric();
    let leaf = fabric.peer(lab.at).expect("linked SM").node;
    lab.world.set_node_faults(leaf, Some(Faults::HUNG));
    let nodes = lab.manager().core().fabric().node_count();
    sweep(&mut lab, Command::Sweep);
    assert_eq!(lab.manager().core().fabric().node_count(), nodes);
    assert_eq!(removals(&lab), 0);
    lab.world.set_node_faults(leaf, None);
    lab.run_until("no problem", 60, |lab| lab.last_report().is_clean());
    lab.assert_correct();
}

/// A hung leaf switch passes on no directed routes either: its hosts cannot be read. They stay, and
/// one problem names the switch.
#[test]
fn hosts_behind_a_switch_that_passes_no_smps_stay() {
    let mut lab = up();
    let leaf = lab.node("leaf-3-1");
    lab.world.set_node_faults(leaf, Some(Faults::lossy(1.0)));
    let before = lab.sets(id::LFT);
    let nodes = lab.manager().core().fabric().node_count();
    sweep(&mut lab, Command::Sweep);
    assert_eq!(unresponsive(&lab), ["leaf-3-1"]);
    assert_eq!(lab.manager().core().fabric().node_count(), nodes);
    lab.world.set_node_faults(leaf, None);
    lab.run_until("no problem", 60, |lab| lab.last_report().is_clean());
    lab.assert_correct();
    assert_eq!(lab.sets(id::LFT), before);
}

/// A link between other switches, without which the fabric is connected.
fn redundant_link_of_others(lab: &Lab, excluded: NodeIdx, nth: usize) -> PortAt {
    let fabric = lab.world.fabric();
    let is_of_others = |at: &PortAt| {
        let peer = fabric.peer(*at).expect("a link");
        at.node != excluded && peer.node != excluded
    };
    let mut links = (0..)
        .map(|skip| lab.redundant_link(skip))
        .filter(is_of_others);
    links.nth(nth).expect("a link")
}

/// Loses links between other switches while a switch hangs: all hosts are reached with the tables
/// that the hung switch has.
fn lose_links_of_others(spec: &str, nth_switch: usize, command: Option<&Command>) {
    let mut lab = Lab::up(spec, 5, SmConfig::default());
    let fabric = lab.world.fabric();
    let own = fabric.peer(lab.at).expect("linked SM").node;
    let switches = (0..fabric.num_nodes()).filter(|n| fabric.is_switch(*n) && *n != own);
    let hung = switches.into_iter().nth(nth_switch).expect("a switch");
    lab.world.set_node_faults(hung, Some(Faults::HUNG));
    if let Some(command) = command {
        sweep(&mut lab, command.clone());
    }
    for nth in [1, 4] {
        let link = redundant_link_of_others(&lab, hung, nth);
        lab.world.fabric_mut().cut(link).expect("link");
        lab.world.run_for(Duration::from_secs(3));
        if let Some(command) = command {
            sweep(&mut lab, command.clone());
        }
        run_until_delivered(&mut lab, 40);
        assert!(is_known(&lab, hung), "{spec}");
        lab.world.fabric_mut().restore(link).expect("link");
        run_until_delivered(&mut lab, 40);
    }
    lab.world.set_node_faults(hung, None);
    lab.run_until("no problem", 120, |lab| lab.last_report().is_clean());
    lab.run_until_correct(20);
}

#[test]
fn links_are_lost_while_a_switch_hangs() {
    for spec in [SPEC, "fat-tree:6"] {
        for nth_switch in [0, 1, 4, 7] {
            lose_links_of_others(spec, nth_switch, None);
            lose_links_of_others(spec, nth_switch, Some(&Command::Sweep));
        }
    }
}

/// A switch loses its power. Requests over its links are repeated over others: nothing else is
/// found to be wrong, at any time.
#[test]
fn nothing_else_is_accused_when_a_switch_is_lost() {
    for spec in ["fat-tree:4", "fat-tree:6"] {
        for nth_switch in 0..6 {
            let mut lab = Lab::up(spec, 5, SmConfig::default());
            let fabric = lab.world.fabric();
            let own = fabric.peer(lab.at).expect("linked SM").node;
            let has_hosts = |n: NodeIdx| {
                let at_hosts = lab.hosts().into_iter().filter_map(|host| fabric.peer(host));
                at_hosts.into_iter().any(|at| at.node == n)
            };
            let switches = (0..fabric.num_nodes())
                .filter(|n| fabric.is_switch(*n) && *n != own && !has_hosts(*n));
            let lost = switches.into_iter().nth(nth_switch).expect("a switch");
            lab.act(FabricAction::PowerOff(lost));
            lab.world.run_for(Duration::from_secs(30));
            let id = lab.sm;
            let mut found: Vec<String> = Vec::new();
            for event in lab.events(id) {
                if let Event::ProblemFound(problem) = event {
                    found.push(problem.to_string());
                }
                if let Event::SweepCompleted(report) = event {
                    found.extend(report.problems.iter().map(ToString::to_string));
                }
            }
            let name = lab.spec.nodes[lost].description.clone();
            found.retain(|text| !text.contains(&name));
            assert_eq!(found, [""; 0], "{spec}: {name}");
        }
    }
}

/// The operator excludes hung switches: they leave the subnet, with the hosts that only they
/// connect, and stay out in later full sweeps. They are back when they respond.
#[test]
fn operator_excludes_a_hung_switch() {
    let mut lab = up();
    let leaf = hang(&mut lab, "leaf-3-1");
    sweep(&mut lab, Command::Sweep);
    assert!(is_known(&lab, leaf));
    sweep(&mut lab, Command::Exclude);
    assert!(!is_known(&lab, leaf));
    assert_eq!(removals(&lab), 3);
    sweep(&mut lab, Command::Sweep);
    assert!(!is_known(&lab, leaf));
    lab.world.set_node_faults(leaf, None);
    lab.run_until_correct(40);
}

/// A switch restarts and does not respond: its links are up, but in Initialize, so it forwards
/// nothing, and the routes avoid it.
#[test]
fn restarted_switch_that_does_not_respond_is_excluded() {
    let mut lab = up();
    let core = hang(&mut lab, "core-1");
    lab.world.fabric_mut().reboot(core);
    sweep(&mut lab, Command::Sweep);
    assert!(!is_known(&lab, core));
    lab.assert_correct_except(&[core]);
    lab.world.set_node_faults(core, None);
    lab.run_until_correct(40);
}

/// Another switch takes the place of a known one: it is a new node.
#[test]
fn replaced_switch_is_not_kept() {
    let mut lab = up();
    let core = lab.node("core-1");
    let before = lab.world.fabric().node_guid(core);
    let guid = ferrosm_mad::ids::NodeGuid(0x0002_c903_00aa_bb00);
    lab.world.fabric_mut().set_node_guid(core, guid);
    sweep(&mut lab, Command::Sweep);
    let known = |guid| lab.manager().core().fabric().node_by_guid(guid).is_some();
    assert!(known(guid) && !known(before));
}

/// Where a new master runs, and what it knows of the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NewMaster {
    /// After a restart, with the records.
    Restarted,
    /// On another host, with a replica of the records.
    Elsewhere,
    /// A standby that read the fabric while all devices responded, without a replica.
    StandbyWithoutRecords,
}

/// Ends the master. Returns the state of its records.
fn end_with_records(lab: &mut Lab) -> RestoredState {
    let now = lab.world.now();
    let mut restorer = RecordRestorer::new(now.as_nanos() / 1_000_000_000);
    for (key, value) in &lab.kill_sm().records(now) {
        restorer.put(key, value);
    }
    let (restored, excluded) = restorer.finish();
    assert_eq!(excluded, []);
    RestoredState {
        complete: true,
        ..restored
    }
}

/// The master ends while switches are hung, and another one begins.
fn replace_master(lab: &mut Lab, new: NewMaster) {
    if new == NewMaster::StandbyWithoutRecords {
        lab.kill_sm();
        return;
    }
    let records = end_with_records(lab);
    if new == NewMaster::Elsewhere {
        let hosts = lab.hosts();
        lab.at = *hosts
            .iter()
            .find(|at| **at != lab.at)
            .expect("another host");
    }
    lab.world.run_for(Duration::from_secs(1));
    lab.restart_sm(SmConfig::default(), records);
}

/// A new master with the records of the last one keeps switches that hang since then, with the
/// tables that they have and the hosts behind them: it writes no LFT, and all packets arrive.
#[test]
fn new_master_keeps_hung_switches_of_the_records() {
    for new in [NewMaster::Restarted, NewMaster::Elsewhere] {
        for hung in [&["core-1"][..], &["leaf-3-1"], &["core-1", "leaf-3-1"]] {
            let mut lab = up();
            let nodes: Vec<NodeIdx> = hung.iter().map(|name| hang(&mut lab, name)).collect();
            let before = lab.sets(id::LFT);
            replace_master(&mut lab, new);
            lab.run_until("a sweep", 120, |lab| !lab.manager().reports().is_empty());
            let mut named = unresponsive(&lab);
            named.sort_unstable();
            named.dedup();
            assert_eq!(named, hung, "{new:?}");
            for node in &nodes {
                assert!(is_known(&lab, *node), "{new:?} {hung:?}");
            }
            let messages = lab.last_report().routing_messages;
            assert_eq!(lab.sets(id::LFT), before, "{new:?} {hung:?} {messages:?}");
            for _ in 0..2 {
                run_until_delivered(&mut lab, 10);
                sweep(&mut lab, Command::Sweep);
            }
            assert_eq!(lab.sets(id::LFT), before, "{new:?} {hung:?}");
            for node in nodes {
                lab.world.set_node_faults(node, None);
            }
            lab.run_until("no problem", 120, |lab| lab.last_report().is_clean());
            lab.assert_correct();
            assert_eq!(lab.sets(id::LFT), before, "{new:?} {hung:?}");
            assert_eq!(removals(&lab), 0, "{new:?} {hung:?}");
        }
    }
}

/// Hosts behind a switch that passes on no directed routes are restored with it.
#[test]
fn new_master_keeps_hosts_behind_a_switch_that_passes_no_smps() {
    let mut lab = up();
    let leaf = lab.node("leaf-3-1");
    lab.world.set_node_faults(leaf, Some(Faults::lossy(1.0)));
    let nodes = lab.manager().core().fabric().node_count();
    replace_master(&mut lab, NewMaster::Restarted);
    lab.run_until("a sweep", 120, |lab| !lab.manager().reports().is_empty());
    assert_eq!(lab.manager().core().fabric().node_count(), nodes);
    lab.world.set_node_faults(leaf, None);
    lab.run_until("no problem", 120, |lab| lab.last_report().is_clean());
    lab.assert_correct();
}

/// Without records, the tables of a hung switch are not known: the new master excludes it, says so,
/// and routes around it.
#[test]
fn new_master_without_records_excludes_hung_switches() {
    let mut lab = up();
    let standby_at = *lab.hosts().last().expect("a host");
    let standby = lab.add_sm(standby_at, SmConfig::default());
    lab.world.run_for(Duration::from_secs(20));
    let core = hang(&mut lab, "core-1");
    replace_master(&mut lab, NewMaster::StandbyWithoutRecords);
    lab.select(standby);
    lab.run_until("a sweep as master", 120, |lab| {
        lab.role(standby) == SmState::Master && !lab.manager().reports().is_empty()
    });
    assert!(!is_known(&lab, core));
    let problems = lab.last_report().problems;
    let is_excluded = |p: &Problem| p.to_string().contains("does not respond");
    assert!(problems.iter().any(is_excluded), "{problems:?}");
    lab.world.run_for(Duration::from_secs(10));
    lab.assert_correct_except(&[core]);
}

/// Another SM has configured the fabric since the records were written: a device that does not
/// respond is not restored from them.
#[test]
fn outdated_records_restore_no_device() {
    let mut lab = up();
    let records = end_with_records(&mut lab);
    let first_at = lab.at;
    lab.at = *lab.hosts().last().expect("a host");
    lab.restart_sm(SmConfig::default(), RestoredState::default());
    lab.run_until_correct(120);
    lab.kill_sm();
    lab.at = first_at;
    let core = hang(&mut lab, "core-1");
    lab.restart_sm(SmConfig::default(), records);
    lab.run_until("a sweep", 120, |lab| !lab.manager().reports().is_empty());
    assert!(!is_known(&lab, core));
    lab.world.run_for(Duration::from_secs(10));
    lab.assert_correct_except(&[core]);
}
