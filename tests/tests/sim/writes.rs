//! Order of table writes: dependencies come first, a routing job belongs to one configuration, and
//! updates of routes and VLs create no forwarding loop or deadlock. The oracle runs after each
//! table write.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ferrosm_core::report::routing_message::RoutingMessage;
use ferrosm_core::routing::lft_writes::LftWriteOrder;
use ferrosm_core::{Command, Input, LocalPortEvent, Phase, SmConfig};
use ferrosm_fabric::observed::NodeIdx;
use ferrosm_mad::attr::id;
use ferrosm_mad::mad::Status;
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_routing::Lft;
use ferrosm_sim::faults::Faults;
use ferrosm_sim::net::MadEvent;
use ferrosm_sim::oracle::{DeliveryFailure, MulticastFault, Violation, judge_fabric};
use ferrosm_tests::lab::{Lab, Sm, is_up};
use ferrosm_tests::sa::members::{Members, plain};

fn config_for(engine: &str, vls: u8) -> SmConfig {
    SmConfig {
        engines: vec![engine.to_owned(), "no_fallback".to_owned()],
        routing_vls: vls,
        ..SmConfig::default()
    }
}

fn bring_up(spec: &str, engine: &str, vls: u8) -> Lab {
    let mut lab = Lab::with(spec, 7, config_for(engine, vls));
    let report = lab.next_sweep(600);
    assert!(report.is_clean(), "{spec} {engine}: {report:?}");
    assert_eq!(report.engine, engine, "{spec}");
    lab
}

fn set_routing_deferred(lab: &mut Lab, deferred: bool) {
    lab.edit(lab.sm, |m, _| m.defers_routing_jobs = deferred);
}

fn release_job(lab: &mut Lab) {
    lab.edit(lab.sm, Sm::deliver_job_result);
}

fn configure(lab: &mut Lab, engine: &str, vls: u8) {
    lab.configure(config_for(engine, vls));
}

/// The simulated switch of this node.
fn switch_of(lab: &Lab, n: NodeIdx) -> usize {
    let node = lab.manager().core().fabric().get(n).expect("known node");
    (0..lab.spec.nodes.len())
        .find(|i| lab.world.fabric().node_guid(*i) == node.info.node_guid)
        .expect("simulated switch")
}

type Stages = Vec<Vec<(NodeIdx, u16)>>;

/// A fabric whose next tables, which are computed but not yet delivered, need a staged update.
fn before_staged_update(spec: &str, from: &str, to: &str) -> Option<(Lab, Stages)> {
    let mut lab = bring_up(spec, from, 1);
    set_routing_deferred(&mut lab, true);
    configure(&mut lab, to, 1);
    lab.run_until("a job", 60, |lab| !lab.manager().deferred_jobs.is_empty());
    let deferred = &lab.manager().deferred_jobs[0];
    let Ok(routes) = &deferred.result else {
        return None;
    };
    let stages = match &routes.writes.order {
        LftWriteOrder::Stages(stages) if stages.len() > 1 => stages.clone(),
        LftWriteOrder::Any
        | LftWriteOrder::Drain { .. }
        | LftWriteOrder::Passes { .. }
        | LftWriteOrder::Stages(_) => return None,
    };
    set_routing_deferred(&mut lab, false);
    Some((lab, stages))
}

/// A switch rejects a block of the first stage. The SM writes no block of a later stage to any
/// switch and reports the rejection. Once the switch accepts blocks again, the next sweep writes
/// the rest.
#[test]
fn rejected_lft_block_delays_later_stages() {
    let mut found = 0;
    for (spec, from, to) in [
        ("fat-tree:4", "sssp", "updn"),
        ("fat-tree:4", "sssp", "minhop"),
        ("fat-tree:6", "sssp", "updn"),
        ("fat-tree:6", "sssp", "minhop"),
    ] {
        for fault in [Faults::rejecting_sets(Status::BAD_FIELD), Faults::HUNG] {
            let Some((mut lab, stages)) = before_staged_update(spec, from, to) else {
                break;
            };
            found += 1;
            let description = format!("{spec} from {from} to {to}, {} stages", stages.len());
            let rejecting = stages[0][0].0;
            let later: Vec<(usize, u16)> = stages[1..]
                .iter()
                .flatten()
                .map(|(n, block)| (switch_of(&lab, *n), *block))
                .collect();
            let blocks = |lab: &Lab| -> Vec<[u8; 64]> {
                let block =
                    |(s, b): &(usize, u16)| lab.world.fabric().lft_block(*s, usize::from(*b));
                later.iter().map(block).collect()
            };
            let before = blocks(&lab);
            let rejecting = switch_of(&lab, rejecting);
            lab.world.set_node_faults(rejecting, Some(fault));
            release_job(&mut lab);
            let report = lab.next_sweep(60);
            assert!(!report.is_clean(), "{description}: {report:?}");
            let is_reported = report
                .routing_messages
                .iter()
                .any(|m| matches!(m, RoutingMessage::LftsNotWritten { .. }));
            assert!(is_reported, "{description}: {:?}", report.routing_messages);
            let sent = report.smps[&id::LFT].sets;
            assert!(report.lft_blocks_written < sent, "{description}");
            assert!(
                blocks(&lab) == before,
                "{description}: a later stage was written"
            );
            lab.assert_correct();
            lab.world.set_node_faults(rejecting, None);
            lab.run_until("a complete update", 120, |lab| {
                let last = lab.manager().core().last_report();
                last.is_some_and(|r| r.is_clean() && r.engine == to)
            });
            lab.assert_correct();
            assert!(blocks(&lab) != before, "{description}");
        }
    }
    assert!(found >= 4, "only {found} staged updates");
}

/// A switch rejects all LFT blocks, so that a staged update is aborted, and routed around the
/// switch. Hosts that join groups meanwhile get multicast packets, and after no write can packets
/// loop or deadlock.
#[test]
fn hosts_join_groups_while_a_staged_update_cannot_complete() {
    let mut aborted = 0;
    for (spec, from, to) in [
        ("fat-tree:4", "sssp", "updn"),
        ("fat-tree:4", "dfsssp", "dnup"),
        ("fat-tree:6", "sssp", "minhop"),
    ] {
        let (_, stages) = before_staged_update(spec, from, to).expect("staged update");
        let switches: BTreeSet<NodeIdx> = stages.iter().flatten().map(|(n, _)| *n).collect();
        for n in switches {
            let (mut lab, _) = before_staged_update(spec, from, to).expect("staged update");
            let rejecting = switch_of(&lab, n);
            let description = format!("{spec} from {from} to {to}, node {rejecting} rejects LFTs");
            let fault = Faults::rejecting_sets_of(id::LFT, Status::BAD_FIELD);
            lab.world.set_node_faults(rejecting, Some(fault));
            let written = observe_table_writes(&mut lab);
            let mut checks = 0;
            let mut run = |lab: &mut Lab, seconds: u64| {
                let until = lab.world.now() + Duration::from_secs(seconds);
                run_with_checks(lab, &description, &written, &mut checks, |lab| {
                    lab.world.now() >= until
                });
            };
            let (mut members, all_hosts) = (Members::new(), lab.hosts());
            let join = |lab: &mut Lab, members: &mut Members, group: u8| {
                for at in all_hosts.iter().skip(usize::from(group)).step_by(3) {
                    let joined = members.join(lab, *at, plain(group), JoinState::FULL);
                    joined.expect("joins");
                }
            };
            release_job(&mut lab);
            run(&mut lab, 1);
            join(&mut lab, &mut members, 0);
            run(&mut lab, 1);
            assert_multicast(&lab, &members);
            // Further sweeps try again.
            run(&mut lab, 30);
            let last = lab.last_report();
            assert!(!last.is_clean(), "{description}");
            let is_aborted =
                |m: &RoutingMessage| matches!(m, RoutingMessage::LftsNotWritten { .. });
            let reports = lab.manager().reports();
            let mut messages = reports.iter().flat_map(|r| &r.routing_messages);
            aborted += usize::from(messages.any(is_aborted));
            join(&mut lab, &mut members, 1);
            run(&mut lab, 1);
            assert_multicast(&lab, &members);
            lab.world.set_node_faults(rejecting, None);
            run(&mut lab, 30);
            assert!(lab.last_report().is_clean(), "{description}");
            assert_eq!(lab.last_report().engine, to, "{description}");
            assert_multicast(&lab, &members);
            assert!(checks > 10, "{description}: {checks}");
        }
    }
    assert!(aborted > 5, "{aborted}");
}

/// A switch rejects a block while the SM drops the routes that the next tables replace. The dropped
/// routes are installed again when the sweep ends, also without light sweeps. The next update
/// leaves the blocks that the switch rejects as they are.
#[test]
fn dropped_routes_are_written_back_after_an_aborted_update() {
    let cfg = |engine: &str| SmConfig {
        sweep_interval: Duration::ZERO,
        ..config_for(engine, 1)
    };
    let mut aborted = 0;
    for (spec, from, to) in [
        ("torus:4,4,1", "updn", "dnup"),
        ("mesh:4,4,1", "updn", "dnup"),
        ("mesh:4,4,1", "dor", "updn"),
        ("ring:6,2", "updn", "dnup"),
    ] {
        let mut lab = Lab::with(spec, 7, cfg(from));
        assert!(lab.next_sweep(600).is_clean());
        set_routing_deferred(&mut lab, true);
        lab.handle(lab.sm, Input::Config(Box::new(cfg(to))));
        lab.run_until("a job", 60, |lab| !lab.manager().deferred_jobs.is_empty());
        let Ok(routes) = &lab.manager().deferred_jobs[0].result else {
            continue;
        };
        let LftWriteOrder::Drain { first, .. } = &routes.writes.order else {
            continue;
        };
        let subnet = lab.manager().core().fabric();
        let changes = |(n, lft): &&(NodeIdx, Arc<Lft>)| {
            let installed = subnet.get(*n).and_then(|node| node.lft.installed.as_ref());
            installed.is_some_and(|installed| installed.block(0) != lft.block(0))
        };
        let changing: Vec<usize> = first
            .iter()
            .filter(changes)
            .map(|(n, _)| switch_of(&lab, *n))
            .collect();
        let [.., rejecting] = changing[..] else {
            continue;
        };
        let context = format!("{spec} from {from} to {to}, {} drop routes", changing.len());
        set_routing_deferred(&mut lab, false);
        lab.world
            .set_node_faults(rejecting, Some(Faults::rejecting_sets(Status::BAD_FIELD)));
        release_job(&mut lab);
        let report = lab.next_sweep(60);
        let is_aborted =
            |m: &RoutingMessage| matches!(m, RoutingMessage::LftsNotWritten { blocks: None, .. });
        assert!(report.routing_messages.iter().any(is_aborted), "{context}");
        aborted += 1;
        lab.assert_correct();
        assert_eq!(lab.last_report().engine, from, "{context}");
        lab.world.run_for(Duration::from_secs(200));
        let reports = lab.manager().reports();
        let attempts = reports
            .iter()
            .filter(|report| report.routing_messages.iter().any(is_aborted));
        // Afterwards routes are computed with the LFT of the switch.
        assert_eq!(attempts.count(), 1, "{context}");
        lab.assert_correct();
        // The switch accepts blocks, and the next update is complete.
        lab.world.set_node_faults(rejecting, None);
        lab.run_until("the new routing", 700, |lab| {
            let last = lab.last_report();
            last.is_clean() && last.engine == to
        });
        lab.assert_correct();
    }
    assert_ne!(aborted, 0);
}

/// A sweep ends while it writes LFTs, because the port driver reports a lost link, and the
/// configuration is reverted. Blocks that switches accepted without the SM awaiting the response
/// are read back: the SM knows the LFTs that the switches have.
#[test]
fn interrupted_lft_update_is_read_back() {
    let mut lab = bring_up("fat-tree:4", "sssp", 1);
    configure(&mut lab, "updn", 1);
    lab.run_until("LFT writes", 60, |lab| {
        lab.manager().core().activity().phase() == Some(Phase::WriteTables)
    });
    lab.handle(lab.sm, Input::LocalPort(LocalPortEvent::Down));
    configure(&mut lab, "sssp", 1);
    lab.run_until("the old routing", 60, |lab| {
        let last = lab.manager().core().last_report();
        last.is_some_and(|r| r.is_clean() && r.number > 2 && r.engine == "sssp")
    });
    lab.assert_correct();
    let core = lab.manager().core();
    for (n, node) in core.fabric().nodes().filter(|(_, node)| node.is_switch()) {
        let switch = switch_of(&lab, n);
        let installed = node.lft.installed.as_ref().expect("known LFT");
        for block in 0..=core
            .lid_map()
            .values()
            .map(|(lid, _)| lid.0 / 64)
            .max()
            .unwrap_or(0)
        {
            let actual = lab.world.fabric().lft_block(switch, usize::from(block));
            assert_eq!(
                actual,
                installed.block(block),
                "{} block {block}",
                node.description
            );
        }
    }
}

/// A routing computed for an old configuration is never installed, even if the fabric changes too
/// often to wait for a new one.
#[test]
fn routing_of_an_old_configuration_is_never_installed() {
    let mut lab = bring_up("torus:4,4,1", "updn", 1);
    set_routing_deferred(&mut lab, true);
    lab.handle(lab.sm, Command::Reroute.with_id(0));
    lab.run_until("a job", 60, |lab| !lab.manager().deferred_jobs.is_empty());
    for _ in 0..3 {
        lab.handle(lab.sm, Command::Reroute.with_id(0));
        release_job(&mut lab);
        assert_eq!(
            lab.manager().deferred_jobs.len(),
            1,
            "a stale job starts a new one"
        );
    }
    configure(&mut lab, "dnup", 1);
    release_job(&mut lab);
    lab.world.run_for(Duration::from_secs(1));
    assert_eq!(lab.manager().core().activity().phase(), Some(Phase::Route));
    assert_eq!(
        lab.manager().deferred_jobs.len(),
        1,
        "one job for the new configuration"
    );
    set_routing_deferred(&mut lab, false);
    release_job(&mut lab);
    let report = lab.next_sweep(60);
    assert_eq!(report.engine, "dnup");
    assert!(report.is_clean(), "{report:?}");
}

/// No engine of a new configuration routes the fabric: later sweeps fail as well, until a
/// configuration routes it.
#[test]
fn configuration_without_a_routing_is_not_replaced_by_the_old_routing() {
    let mut lab = bring_up("ring:6,2", "updn", 1);
    configure(&mut lab, "torus-2QoS", 1);
    for sweep in 0..3 {
        let report = lab.next_sweep(600);
        assert!(report.failed, "sweep {sweep}: {report:?}");
        lab.handle(lab.sm, Command::Sweep.with_id(1 + sweep));
    }
    configure(&mut lab, "updn", 1);
    let report = lab.next_sweep(600);
    assert!(!report.failed, "{report:?}");
    assert_eq!(report.engine, "updn");
}

/// Change of engines, and lost and restored links: after each table write no packet loops, and the
/// channel dependencies have no cycle, on the SLs that paths have at that moment.
#[test]
fn no_deadlock_while_vls_change() {
    for (spec, engines) in [
        (
            "torus:4,4,1",
            ["updn:1", "dfsssp:8", "lash:8", "nue:4", "updn:1"],
        ),
        (
            "torus:5,4,1,2",
            ["torus-2QoS:8", "dfsssp:4", "dor:8", "dfsssp:8", "lash:4"],
        ),
        (
            "dragonfly:3,4,1,2",
            ["dfsssp:8", "nue:2", "lash:8", "updn:1", "dfsssp:3"],
        ),
    ] {
        let name = |e: &str| {
            let (engine, vls) = e.split_once(':').expect("engine and VLs");
            (engine.to_owned(), vls.parse::<u8>().expect("valid number"))
        };
        let (first, vls) = name(engines[0]);
        let mut lab = bring_up(spec, &first, vls);
        let written = observe_table_writes(&mut lab);
        let mut checks = 0;
        for engine in &engines[1..] {
            let (engine, vls) = name(engine);
            let description = format!("{spec} to {engine} with {vls}");
            configure(&mut lab, &engine, vls);
            run_with_checks(&mut lab, &description, &written, &mut checks, |lab| {
                let last = lab.manager().core().last_report();
                last.is_some_and(|r| is_up(r) && r.engine == engine)
            });
            lab.assert_correct();
            let cable = lab.redundant_link(1);
            for with_link_cut in [true, false] {
                let description = format!("{description}, link cut: {with_link_cut}");
                let before = lab.manager().reports().len();
                let fabric = lab.world.fabric_mut();
                if with_link_cut {
                    fabric.cut(cable).expect("link");
                } else {
                    fabric.restore(cable).expect("link");
                }
                run_with_checks(&mut lab, &description, &written, &mut checks, |lab| {
                    let reports = lab.manager().reports();
                    reports.len() > before && reports.last().is_some_and(|r| is_up(r))
                });
                lab.run_until_correct(60);
            }
        }
        assert!(checks > 100, "{spec}: only {checks} checks");
    }
}

fn assert_multicast(lab: &Lab, members: &Members) {
    members.assert_correct(lab);
}

/// A flag that is set by each write of an LFT, MFT or SLtoVL table.
fn observe_table_writes(lab: &mut Lab) -> Arc<AtomicBool> {
    let written = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&written);
    lab.world.observe(move |e| {
        if matches!(e.event, MadEvent::Sent)
            && e.mad.method().is_response()
            && [id::LFT, id::MFT, id::SL_TO_VL].contains(&e.mad.attr_id())
        {
            flag.store(true, Ordering::Relaxed);
        }
    });
    written
}

/// Runs until `done` and checks the fabric after each table write.
fn run_with_checks(
    lab: &mut Lab,
    description: &str,
    written: &AtomicBool,
    checks: &mut usize,
    done: impl Fn(&Lab) -> bool,
) {
    let deadline = lab.world.now() + Duration::from_secs(120);
    while !done(lab) {
        let now = lab.world.step().expect("pending event");
        assert!(now <= deadline, "{description}: not within 120 s");
        if written.swap(false, Ordering::Relaxed) {
            *checks += 1;
            let verdict = judge_fabric(lab.world.fabric(), &lab.expect());
            for v in &verdict.violations {
                let loops = matches!(
                    v,
                    Violation::Undelivered {
                        why: DeliveryFailure::Loop(_),
                        ..
                    } | Violation::Multicast(MulticastFault::Loop { .. })
                );
                let is_credit_loop = matches!(v, Violation::CreditLoop(_));
                assert!(!loops && !is_credit_loop, "{description}: {v}");
            }
        }
    }
}
