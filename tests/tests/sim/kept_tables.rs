//! Switches and hosts that keep rejecting the Set of a table. The SM plans with the table that such
//! a device has; all other devices get their tables, and every host stays reachable. The oracle
//! follows packets through the tables that the devices have.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::config::partitions::{
    Enforcement, MemberSelector, Membership, Partition, Partitions,
};
use ferrosm_core::report::routing_message::RoutingMessage;
use ferrosm_core::{Command, Problem, ProblemKind, SmConfig};
use ferrosm_fabric::location::Location;
use ferrosm_mad::attr::id;
use ferrosm_mad::ids::AttrId;
use ferrosm_mad::mad::Status;
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_sim::faults::{Faults, Garbage};
use ferrosm_sim::oracle::{MulticastFault, SettingFault, Violation, judge_fabric};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::{Lab, is_up};
use ferrosm_tests::sa::members::{Members, plain};

fn config_for(engine: &str, vls: u8) -> SmConfig {
    SmConfig {
        engines: vec![engine.to_owned()],
        routing_vls: vls,
        ..SmConfig::default()
    }
}

fn reject(lab: &mut Lab, node: usize, attr: AttrId) {
    let fault = Faults::rejecting_sets_of(attr, Status::BAD_FIELD);
    lab.world.set_node_faults(node, Some(fault));
}

/// Links between switches other than `excluded`, of which the fabric can lose all together.
fn links_of_others(lab: &Lab, excluded: usize, count: usize) -> Vec<PortAt> {
    let mut remaining = lab.spec.clone();
    let mut links = Vec::new();
    for link in lab.spec.links.iter().rev() {
        let ends = [link.a.node, link.b.node];
        let is_between_others = ends
            .iter()
            .all(|n| lab.world.fabric().is_switch(*n) && *n != excluded);
        if !is_between_others || links.len() == count {
            continue;
        }
        let mut without = remaining.clone();
        without.links.retain(|l| l.a != link.a);
        if ferrosm_sim::spec::connected_components(&without).len() == 1 {
            remaining = without;
            links.push(link.a);
        }
    }
    assert_eq!(links.len(), count);
    links
}

/// Whether packets between all hosts arrive and cannot deadlock, and multicast packets do not loop.
/// Settings of the device itself may be wrong, and multicast packets do not pass a switch that
/// keeps its MFT.
fn delivery_errors(lab: &Lab) -> Vec<String> {
    let verdict = judge_fabric(lab.world.fabric(), &lab.expect());
    let is_of_packets = |v: &&Violation| {
        let is_setting = matches!(v, Violation::Setting(SettingFault::SlToVlInactiveVl { .. }));
        let is_loop = matches!(v, Violation::Multicast(MulticastFault::Loop { .. }));
        !is_setting && (is_loop || !matches!(v, Violation::Multicast(_)))
    };
    let violations = verdict.violations.iter();
    violations
        .filter(is_of_packets)
        .map(ToString::to_string)
        .collect()
}

fn run_until_delivered(lab: &mut Lab, max_s: u64, context: &str) {
    let deadline = lab.world.now() + Duration::from_secs(max_s);
    loop {
        lab.world.run_for(Duration::from_millis(250));
        let errors = delivery_errors(lab);
        if errors.is_empty() {
            return;
        }
        assert!(
            lab.world.now() < deadline,
            "{context}: {} errors: {:#?}\nproblems: {:#?}\n{:#?}",
            errors.len(),
            errors.iter().take(5).collect::<Vec<_>>(),
            lab.last_report().problems,
            lab.last_report().routing_messages
        );
    }
}

fn keeps(lab: &Lab, node: usize, attr: AttrId) -> bool {
    let guid = lab.world.fabric().node_guid(node);
    lab.last_report().problems.iter().any(|problem| {
        let at = match &problem.location {
            Location::Port(port) => port.node,
            Location::LocalNode | Location::Lid(_) | Location::Subnet => None,
        };
        at.is_some_and(|at| at.guid == guid)
            && matches!(problem.kind, ProblemKind::TableKept { attr: kept, .. } if kept == attr)
    })
}

fn reroute(lab: &mut Lab, number: u64) {
    let command = Command::Reroute.with_id(number);
    lab.handle(lab.sm, command);
}

/// A device that rejects all Sets is swept at increasing intervals, not over and over, whether or
/// not it did before it was configured.
#[test]
fn device_that_rejects_everything_causes_few_sweeps() {
    for (spec, cfg) in [
        ("torus:3,4,1,2;dual-port", config_for("dfsssp", 8)),
        ("mesh:3,5,1,2;dual-port", config_for("updn", 8)),
        ("torus:5,5,1", config_for("dfsssp", 8)),
        ("torus:4,4,1", config_for("updn", 1)),
    ] {
        for (kind, is_new) in [
            ("host", true),
            ("host", false),
            ("switch", true),
            ("switch", false),
        ] {
            let context = format!("{spec}: {kind}, new: {is_new}");
            let mut lab = Lab::with(spec, 7, cfg.clone());
            let fabric = lab.world.fabric();
            let own = [lab.at.node, fabric.peer(lab.at).expect("linked SM").node];
            let mut nodes = (0..fabric.num_nodes())
                .filter(|n| fabric.is_switch(*n) == (kind == "switch") && !own.contains(n));
            let node = nodes.nth(2).expect("node");
            let rejecting = Faults {
                rejected_set_status: Some(Status::BAD_METHOD_ATTR),
                ..Faults::default()
            };
            if is_new {
                lab.world.set_node_faults(node, Some(rejecting));
            }
            let _ = lab.next_sweep(600);
            lab.world.set_node_faults(node, Some(rejecting));
            // A full sweep each 10 s, one after each retry, and some more at the beginning.
            lab.world.run_for(Duration::from_secs(120));
            if !is_new {
                lab.world.fabric_mut().reboot(node);
                lab.world.run_for(Duration::from_secs(120));
            }
            let sweeps = lab.manager().reports().len();
            assert!(sweeps < 30, "{context}: {sweeps} sweeps");
        }
    }
}

/// One switch rejects SLtoVL tables. Links between other switches are cut, one after the other:
/// every host is reached after each.
#[test]
fn rejected_sl_to_vl_tables_delay_no_other_switch() {
    let mut lab = Lab::new("slim-fly:5", 3);
    assert!(lab.next_sweep(600).is_clean());
    assert!(
        lab.manager()
            .core()
            .vl_plan()
            .is_some_and(|plan| !plan.is_single())
    );
    let switch = lab.node("switch-1-4-4");
    reject(&mut lab, switch, id::SL_TO_VL);
    for (i, link) in links_of_others(&lab, switch, 3).into_iter().enumerate() {
        lab.world.fabric_mut().cut(link).expect("link");
        run_until_delivered(&mut lab, 8, &format!("cut {i}"));
    }
    // Another plan of VLs than the one that the switch has.
    for (i, vls) in [2, 3, 5].into_iter().enumerate() {
        lab.configure(config_for("dfsssp", vls));
        lab.next_sweep(60);
        run_until_delivered(&mut lab, 20, &format!("dfsssp with {vls} VLs, change {i}"));
    }
    assert!(
        keeps(&lab, switch, id::SL_TO_VL),
        "{:#?}",
        lab.last_report().problems
    );
    lab.world.set_node_faults(switch, None);
    lab.run_until("the switch accepts tables", 700, |lab| {
        lab.last_report().is_clean()
    });
    lab.assert_correct();
}

/// A switch rejects a table while the SM changes the engine, and later when links are cut.
#[test]
fn switch_that_keeps_a_table_delays_no_other_device() {
    let mut kept: BTreeMap<AttrId, usize> = BTreeMap::new();
    for (spec, before, after) in [
        ("torus:5,5,1,2", ("dfsssp", 8), ("torus-2QoS", 8)),
        ("torus:5,5,1,2", ("torus-2QoS", 8), ("lash", 8)),
        ("torus:5,5,1,2", ("updn", 1), ("dnup", 1)),
        ("torus:5,5,1,2", ("updn", 1), ("dfsssp", 8)),
        ("fat-tree:4", ("sssp", 1), ("updn", 1)),
    ] {
        for attr in [
            id::SL_TO_VL,
            id::LFT,
            id::MFT,
            id::VL_ARBITRATION,
            id::PKEY_TABLE,
        ] {
            if attr == id::MFT && (before.1, after.1) != (1, 1) {
                // The oracle would follow multicast packets on an SL that the group had before.
                continue;
            }
            let context = format!("{spec} from {before:?} to {after:?}, {attr}");
            let mut lab = Lab::with(spec, 7, config_for(before.0, before.1));
            assert!(lab.next_sweep(600).is_clean(), "{context}");
            let mut switches =
                (0..lab.spec.nodes.len()).filter(|n| lab.world.fabric().is_switch(*n));
            let switch = switches.nth(3).expect("switch");
            reject(&mut lab, switch, attr);
            let mut members = Members::new();
            for at in lab.hosts().into_iter().filter(|_| attr == id::MFT) {
                let joined = members.join(&mut lab, at, plain(1), JoinState::FULL);
                joined.expect("joins");
            }
            lab.configure(config_for(after.0, after.1));
            lab.next_sweep(600);
            run_until_delivered(&mut lab, 20, &format!("{context}: change of the engine"));
            for (i, link) in links_of_others(&lab, switch, 3).into_iter().enumerate() {
                lab.world.fabric_mut().cut(link).expect("link");
                run_until_delivered(&mut lab, 8, &format!("{context}: cut {i}"));
                lab.world.run_for(Duration::from_secs(2));
            }
            let is_blocked =
                |m: &RoutingMessage| matches!(m, RoutingMessage::LftsNotWritten { .. });
            let last = lab.last_report();
            assert!(
                !last.routing_messages.iter().any(is_blocked),
                "{context}: {last:#?}"
            );
            *kept.entry(attr).or_default() += usize::from(keeps(&lab, switch, attr));
            lab.world.set_node_faults(switch, None);
            lab.run_until(&context, 700, |lab| lab.last_report().is_clean());
            lab.run_until_correct(10);
        }
    }
    assert!(kept[&id::LFT] >= 3, "{kept:?}");
    for attr in [id::SL_TO_VL, id::VL_ARBITRATION, id::MFT] {
        assert!(kept[&attr] > 0, "{kept:?}");
    }
}

/// A host and a switch reject P_Key tables: no other device has a problem, and the Sets are
/// repeated at increasing intervals.
#[test]
fn rejected_p_key_tables_are_written_again_at_increasing_intervals() {
    let members = vec![(MemberSelector::AllCas, Membership::Full)];
    let partition = Partition {
        name: "p5".to_owned(),
        number: 5,
        members,
        ..Partition::default()
    };
    let partitions = Partitions::new(vec![partition], Enforcement::Both, false);
    let cfg = SmConfig {
        partitions: Arc::new(partitions.expect("partitions")),
        ..SmConfig::default()
    };
    let mut lab = Lab::with("fat-tree:4", 7, cfg);
    let (host, switch) = (5, lab.node("leaf-3-1"));
    for node in [host, switch] {
        reject(&mut lab, node, id::PKEY_TABLE);
    }
    lab.run_until("the devices keep their tables", 60, |lab| {
        let reports = lab.manager().reports();
        !reports.is_empty()
            && [host, switch]
                .iter()
                .all(|n| keeps(lab, *n, id::PKEY_TABLE))
    });
    let before = lab.manager().reports().len();
    lab.world.run_for(Duration::from_secs(300));
    let reports = lab.manager().reports();
    let sets = reports[before..]
        .iter()
        .filter_map(|r| r.smps.get(&id::PKEY_TABLE));
    let sets: u64 = sets.map(|count| count.sets).sum();
    // After 20, 60, 140, 220 and 300 s, and at most once more, for the host and the two ports of
    // the switch.
    assert!((9..=18).contains(&sets), "{sets}");
    let is_of_table = |kind: &ProblemKind| matches!(kind, ProblemKind::TableKept { .. });
    let problems = &lab.last_report().problems;
    assert!(
        problems.iter().all(|p| is_of_table(&p.kind)),
        "{problems:#?}"
    );
    for node in [host, switch] {
        lab.world.set_node_faults(node, None);
    }
    lab.run_until("the devices accept tables", 700, |lab| {
        lab.last_report().problems.is_empty()
    });
}

/// A switch rejects a table from the first sweep on.
#[test]
fn switch_that_rejects_a_table_at_bring_up_delays_no_other_device() {
    for (spec, engine, vls) in [
        ("torus:5,5,1,2", "dfsssp", 8),
        ("torus:5,5,1,2", "torus-2QoS", 8),
        ("fat-tree:4", "auto", 1),
    ] {
        for attr in [id::SL_TO_VL, id::VL_ARBITRATION, id::MFT, id::PKEY_TABLE] {
            let context = format!("{spec} {engine} {attr}");
            let mut lab = Lab::with(spec, 7, config_for(engine, vls));
            let mut switches =
                (0..lab.spec.nodes.len()).filter(|n| lab.world.fabric().is_switch(*n));
            let switch = switches.nth(3).expect("switch");
            reject(&mut lab, switch, attr);
            lab.next_sweep(600);
            run_until_delivered(&mut lab, 20, &context);
            reroute(&mut lab, 1);
            lab.next_sweep(600);
            run_until_delivered(&mut lab, 20, &context);
            let has_vl_tables = lab
                .manager()
                .core()
                .vl_plan()
                .is_some_and(|p| !p.is_single());
            if has_vl_tables && [id::SL_TO_VL, id::VL_ARBITRATION].contains(&attr) {
                assert!(keeps(&lab, switch, attr), "{context}");
            }
        }
    }
}

/// A link flaps next to a switch that rejects SLtoVL tables: after the switch keeps its tables,
/// they are written again at increasing intervals only, and no change of the link drains routes
/// because of it.
#[test]
fn flapping_link_does_not_repeat_rejected_writes() {
    let mut lab = Lab::with("torus:5,5,1", 7, config_for("dfsssp", 2));
    assert!(is_up(&lab.next_sweep(600)));
    let switch = lab.node("switch-1-1");
    reject(&mut lab, switch, id::SL_TO_VL);
    lab.configure(config_for("dfsssp", 8));
    lab.run_until("the switch keeps its tables", 60, |lab| {
        keeps(lab, switch, id::SL_TO_VL)
    });
    run_until_delivered(&mut lab, 10, "change of VLs");
    let (link, before) = (
        links_of_others(&lab, switch, 1)[0],
        lab.manager().reports().len(),
    );
    for _ in 0..10 {
        lab.world.fabric_mut().cut(link).expect("link");
        lab.world.run_for(Duration::from_secs(3));
        lab.world.fabric_mut().restore(link).expect("link");
        lab.world.run_for(Duration::from_secs(3));
        run_until_delivered(&mut lab, 3, "flapping link");
    }
    let reports = lab.manager().reports();
    let is_aborted = |m: &RoutingMessage| matches!(m, RoutingMessage::LftsNotWritten { .. });
    let messages = reports[before..].iter().flat_map(|r| &r.routing_messages);
    assert_eq!(messages.filter(|m| is_aborted(m)).count(), 0);
}

/// Agents answer Sets of tables with other values in unused bits: the tables count as written, and
/// the sweep is clean.
#[test]
fn responses_that_differ_in_unused_bits_are_accepted() {
    let mut lab = Lab::with("torus:5,5,1", 7, config_for("lash", 8));
    lab.world.set_faults(Faults::garbage(Garbage::UnusedBits));
    let report = lab.next_sweep(600);
    assert!(report.is_clean(), "{:#?}", report.problems);
    for attr in [id::LFT, id::VL_ARBITRATION] {
        let is_noted = |kind: &ProblemKind| *kind == ProblemKind::SetNormalized { attr };
        assert!(report.problems.iter().any(|p| is_noted(&p.kind)), "{attr}");
    }
    lab.assert_correct();
    let sweep = Command::Sweep.with_id(1);
    lab.handle(lab.sm, sweep);
    let again = lab.next_sweep(60);
    assert!(again.problems.is_empty(), "{:#?}", again.problems);
    for attr in [id::LFT, id::VL_ARBITRATION, id::PKEY_TABLE, id::MFT] {
        assert!(
            again.smps.get(&attr).is_none_or(|count| count.sets == 0),
            "{attr}"
        );
    }
}

/// A switch rejects its MFT. Groups avoid it: all members that are not attached to it reach each
/// other, on trees of each kind. When it accepts its MFT again, its members are reached too.
#[test]
fn groups_avoid_a_switch_that_keeps_its_mft() {
    for (spec, engine, vls) in [
        ("mesh:4,4,1", "auto", 1),
        ("torus:4,4,1", "updn", 1),
        ("fat-tree:4", "updn", 1),
        ("slim-fly:5", "auto", 8),
    ] {
        let context = format!("{spec} {engine}");
        let mut lab = Lab::with(spec, 7, config_for(engine, vls));
        lab.next_sweep(600);
        let all_hosts = lab.hosts();
        let mut members = Members::new();
        let join = |lab: &mut Lab, members: &mut Members, at: PortAt| {
            let joined = members.join(lab, at, plain(1), JoinState::FULL);
            joined.expect("joins");
            lab.world.run_for(Duration::from_millis(20));
        };
        let (last, first) = all_hosts.split_last().expect("hosts");
        for at in first {
            join(&mut lab, &mut members, *at);
        }
        lab.world.run_for(Duration::from_secs(1));
        let mlid = members.mlid(plain(1));
        let sm_switch = lab.world.fabric().peer(lab.at).expect("connected SM").node;
        let fabric = lab.world.fabric();
        let transit = |n: &usize| fabric.is_switch(*n) && fabric.mft_ports(*n, mlid).len() > 2;
        let mut switches = (0..fabric.num_nodes()).filter(|n| *n != sm_switch);
        let keeper = switches.find(transit).expect("switch of the tree");
        reject(&mut lab, keeper, id::MFT);
        let at_keeper: Vec<PortAt> = all_hosts
            .iter()
            .copied()
            .filter(|at| {
                lab.world
                    .fabric()
                    .peer(*at)
                    .is_some_and(|p| p.node == keeper)
            })
            .collect();
        // A member joins, and a link of the switch is lost: its MFT has to change.
        join(&mut lab, &mut members, *last);
        let mut links = lab
            .spec
            .links
            .iter()
            .filter(|l| l.a.node == keeper || l.b.node == keeper);
        let is_link = |l: &&ferrosm_sim::spec::LinkSpec| {
            lab.world.fabric().is_switch(l.a.node) && lab.world.fabric().is_switch(l.b.node)
        };
        let cable = links.find(is_link).expect("link between switches").a;
        lab.world.fabric_mut().cut(cable).expect("link");
        let missed = |lab: &Lab, members: &Members, left_out: &[PortAt]| {
            let mut expect = members.expect(lab);
            for group in expect.groups.iter_mut().flatten() {
                group.members.retain(|at| !left_out.contains(at));
            }
            let verdict = judge_fabric(lab.world.fabric(), &expect);
            let is_missed_or_loop = |fault: &MulticastFault| {
                matches!(
                    fault,
                    MulticastFault::MemberNotReached { .. } | MulticastFault::Loop { .. }
                )
            };
            let faults = verdict.violations.into_iter().filter(|v| {
                matches!(v, Violation::CreditLoop(_))
                    || matches!(v, Violation::Multicast(fault) if is_missed_or_loop(fault))
            });
            faults.map(|v| v.to_string()).collect::<Vec<_>>()
        };
        lab.world.run_for(Duration::from_secs(15));
        members.join_again_if_notified(&mut lab);
        lab.world.run_for(Duration::from_secs(1));
        assert!(keeps(&lab, keeper, id::MFT), "{context}");
        let problems = &lab.last_report().problems;
        let is_reported = |p: &Problem| matches!(p.kind, ProblemKind::MembersLeftOut { .. });
        let is_transit_only = at_keeper.is_empty();
        assert!(
            is_transit_only || problems.iter().any(is_reported),
            "{context}"
        );
        assert_eq!(missed(&lab, &members, &at_keeper), [""; 0], "{context}");
        lab.world.set_node_faults(keeper, None);
        lab.world.run_for(Duration::from_secs(100));
        assert!(!keeps(&lab, keeper, id::MFT), "{context}");
        assert_eq!(missed(&lab, &members, &[]), [""; 0], "{context}");
    }
}
