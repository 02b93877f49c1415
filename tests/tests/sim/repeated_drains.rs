//! Random sequences of drains and undrains of switches and links on fat trees: packets of all pairs
//! arrive after every write, except those to LIDs that the preview of a drain announced. When
//! nothing is drained any more, the engine is the first one again, or waits for a reroute.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "test helpers, and figures of a run"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use ferrosm_core::config::maintenance::MaintenanceTarget;
use ferrosm_core::report::maintenance_refusal::MaintenanceRefusal;
use ferrosm_core::report::routing_message::RoutingMessage;
use ferrosm_core::routing::what_if::{Cancellation, WhatIfQuestion, what_if};
use ferrosm_core::{Command, CommandFailure, CommandOutcome, OperatorChange};
use ferrosm_mad::ids::{Lid, NodeGuid, PortNum};
use ferrosm_routing::{Loss, SwitchIdx};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::{Lab, TestRng};
use ferrosm_tests::random_runs::seeds::{named_or, run_all};

use crate::drain::{Pair, Traffic};
use crate::maintenance::{begin, config, link, pairs, result, spines, switch};

/// Changes in one sequence.
const CHANGES: usize = 12;
/// Longer than a sweep with its routing job and a drain.
const SETTLE: Duration = Duration::from_secs(5);

/// The LIDs of which the preview of a drain says that packets to them are dropped; or those to
/// which they would be dropped if the same were lost.
fn predicted(lab: &Lab, target: MaintenanceTarget, is_maintenance: bool) -> usize {
    let sm = lab.manager().core();
    let basis = sm.routing_basis().expect("a routing");
    let snapshot = sm.snapshot(None);
    let switch = |guid: NodeGuid| -> SwitchIdx {
        let mut named = basis.graph().switches().zip(basis.nodes());
        let found = named.find(|(_, n)| snapshot.node(n.slot()).guid == guid);
        found.expect("a switch of the graph").0
    };
    let s = switch(target.node());
    let question = WhatIfQuestion {
        drained: match target.port() {
            None => BTreeSet::from([s]),
            Some(_) => BTreeSet::new(),
        },
        loss: Loss {
            links: target
                .port()
                .map(|port: PortNum| (s, port))
                .into_iter()
                .collect(),
            ..Loss::default()
        },
        is_maintenance,
        ..WhatIfQuestion::default()
    };
    let prediction = what_if(&basis, &question, &Cancellation::default());
    prediction.routes.expect("a routing").drained_lids
}

/// The same for an undrain.
fn predicted_undrain(lab: &Lab, target: MaintenanceTarget) -> usize {
    let sm = lab.manager().core();
    let basis = sm.routing_basis().expect("a routing");
    let snapshot = sm.snapshot(None);
    let switch = |slot: u32| {
        let mut named = basis.graph().switches().zip(basis.nodes());
        let found = named.find(|(_, n)| n.slot() == slot);
        found.expect("a switch of the graph").0
    };
    let slot = snapshot.by_node_guid(target.node()).expect("a node");
    let mut question = WhatIfQuestion {
        is_maintenance: true,
        ..WhatIfQuestion::default()
    };
    match target.port() {
        None => {
            let _ = question.undrained.insert(switch(slot));
        }
        Some(number) => {
            let at = snapshot.port_by_num(slot, number).expect("a port");
            let peer = snapshot.peer(at).expect("a link");
            let ends = [at, peer].map(|p| (switch(p.node()), p.num()));
            question.additions.links.push(ends);
        }
    }
    let prediction = what_if(&basis, &question, &Cancellation::default());
    prediction.routes.expect("a routing").drained_lids
}

/// Ends a drain: the preview and the result name the same LIDs, and no others are interrupted.
fn undrain(traffic: &mut Traffic, history: &str, target: MaintenanceTarget, all: &[Pair]) {
    let announced = predicted_undrain(&traffic.lab, target);
    let id = traffic
        .lab
        .command(OperatorChange::EndMaintenance(target).into());
    let interrupted = traffic.interrupted(SETTLE, all);
    let outcome = result(&traffic.lab, id);
    let Some(Ok(CommandOutcome::MaintenanceEnded { dropped_lids })) = outcome else {
        panic!("{history}: {outcome:?}");
    };
    assert_eq!(*dropped_lids, announced, "{history}: preview");
    assert_announced(traffic, history, &interrupted, announced);
}

/// The targets of drains: switches without hosts, and links between switches.
fn targets(lab: &Lab) -> Vec<MaintenanceTarget> {
    let fabric = lab.world.fabric();
    let is_switch = |at: PortAt| fabric.is_switch(at.node);
    let links = lab.spec.links.iter();
    let links = links.filter(|l| is_switch(l.a) && is_switch(l.b));
    let links = links.map(|l| link(lab, l.a));
    let switches = spines(lab).into_iter().map(|n| switch(lab, n));
    switches.chain(links).collect()
}

fn describe(lab: &Lab, target: MaintenanceTarget) -> String {
    let fabric = lab.world.fabric();
    let mut nodes = lab.spec.nodes.iter().enumerate();
    let found = nodes.find(|(n, _)| fabric.node_guid(*n) == target.node());
    let name = &found.expect("a node").1.description;
    match target.port() {
        Some(port) => format!("{name}/{}", port.0),
        None => name.clone(),
    }
}

/// Drains and undrains at random. Links count as often as switches, although there are more.
/// Returns how many of the drains would drop packets if the routes were chosen as after a loss.
fn assert_sequence(spec: &str, seed: u64) -> usize {
    let mut avoided = 0;
    let mut rng = TestRng::new(seed);
    let mut traffic = Traffic::on(spec, config());
    let all = pairs(&traffic);
    let engine = traffic.lab.last_report().engine;
    let targets = targets(&traffic.lab);
    let (switches, links): (Vec<_>, Vec<_>) = targets.into_iter().partition(|t| t.port().is_none());
    let mut drained: Vec<MaintenanceTarget> = Vec::new();
    let mut history = format!("{spec} seed {seed}:");
    for _ in 0..CHANGES {
        if !drained.is_empty() && rng.one_in(3) {
            let target = drained.remove(rng.index(drained.len()));
            let _ = write!(history, " undrain {}", describe(&traffic.lab, target));
            undrain(&mut traffic, &history, target, &all);
        } else {
            let list = if rng.one_in(2) { &switches } else { &links };
            let target = rng.choose(list).expect("a target");
            if drained.contains(&target) {
                continue;
            }
            let _ = write!(history, " drain {}", describe(&traffic.lab, target));
            let announced = predicted(&traffic.lab, target, true);
            let after_loss = predicted(&traffic.lab, target, false);
            let id = begin(&mut traffic.lab, |_| target);
            let interrupted = traffic.interrupted(SETTLE, &all);
            match result(&traffic.lab, id) {
                Some(Ok(CommandOutcome::MaintenanceBegan { dropped_lids, .. })) => {
                    assert_eq!(*dropped_lids, announced, "{history}: preview");
                    assert_announced(&traffic, &history, &interrupted, announced);
                    drained.push(target);
                    avoided += usize::from(announced == 0 && after_loss > 0);
                }
                Some(Err(CommandFailure::Maintenance(refusal)))
                    if matches!(
                        **refusal,
                        MaintenanceRefusal::HostsConnected(_)
                            | MaintenanceRefusal::CutsOff(_)
                            | MaintenanceRefusal::OwnPort
                    ) =>
                {
                    assert!(interrupted.is_empty(), "{history}: refused");
                    history.push_str(" (refused)");
                }
                other => panic!("{history}: {other:?}"),
            }
        }
        assert_eq!(pairs(&traffic), all, "{history}");
        traffic.lab.assert_correct();
    }
    while let Some(target) = drained.pop() {
        let _ = write!(history, " undrain {}", describe(&traffic.lab, target));
        undrain(&mut traffic, &history, target, &all);
    }
    // Where the routes of the first engine would drop packets, they wait for the operator.
    let report = traffic.lab.last_report();
    let is_first = |of: &'static str| of == engine;
    let waits = report
        .routing_messages
        .iter()
        .any(|m| matches!(m, RoutingMessage::DrainAvoided { engine, .. } if is_first(engine)));
    assert!(
        report.engine == engine || waits,
        "{history}: {}\n{:#?}",
        report.engine,
        report.routing_messages
    );
    if waits {
        println!(
            "{history}: {} stays, {engine} would drop packets",
            report.engine
        );
        traffic.lab.command(Command::Reroute);
        traffic.lab.world.run_for(SETTLE);
        assert_eq!(traffic.lab.last_report().engine, engine, "{history}");
        traffic.lab.assert_correct();
    }
    avoided
}

/// Packets were interrupted only to as many LIDs as announced.
fn assert_announced(
    traffic: &Traffic,
    history: &str,
    interrupted: &BTreeSet<Pair>,
    announced: usize,
) {
    let lids: BTreeSet<Lid> = interrupted.iter().map(|(_, lid)| *lid).collect();
    let messages = &traffic.lab.last_report().routing_messages;
    assert!(
        lids.len() <= announced,
        "{history}: {} LIDs interrupted, {announced} announced\n{messages:#?}",
        lids.len()
    );
    if announced > 0 {
        println!(
            "{history}: {announced} LIDs announced, {} interrupted: {messages:#?}",
            lids.len()
        );
    }
}

/// Runs a number of seeds, or those that the environment names.
fn assert_sequences(test: &str, spec: &str, seeds: u64) {
    let mut avoided = 0;
    let name = format!("repeated_drains::{test}");
    run_all(&name, named_or("", seeds), |seed| {
        avoided += assert_sequence(spec, seed);
    });
    println!("{spec}: {avoided} drains that would drop packets if the same were lost");
}

#[test]
fn drains_on_a_tree_of_four_ports_interrupt_what_they_announce() {
    let test = "drains_on_a_tree_of_four_ports_interrupt_what_they_announce";
    assert_sequences(test, "fat-tree:4", 24);
}

#[test]
fn drains_on_a_tree_of_six_ports_interrupt_what_they_announce() {
    let test = "drains_on_a_tree_of_six_ports_interrupt_what_they_announce";
    assert_sequences(test, "fat-tree:6", 3);
}

#[test]
fn drains_on_a_tree_of_eight_ports_interrupt_what_they_announce() {
    let test = "drains_on_a_tree_of_eight_ports_interrupt_what_they_announce";
    assert_sequences(test, "fat-tree:8", 2);
}
