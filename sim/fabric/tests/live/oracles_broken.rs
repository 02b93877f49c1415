//! Each single fault of an SM is reported by the oracle, without other violations.

use std::collections::BTreeSet;

use ferrosm_mad::ids::Lid;
use ferrosm_sim::oracle::{Expectations, ExpectedGroup, FabricSnapshot, judge, judge_fabric};
use ferrosm_sim::spec::PortAt;

use super::oracle_cases::{SHAPES, SmFault, cases};
use super::oracle_kinds::{KINDS, kind};
use super::oracle_plan::{MLID, Plan};

fn kinds_of(verdict: &ferrosm_sim::oracle::Verdict) -> BTreeSet<&'static str> {
    verdict.violations.iter().map(kind).collect()
}

/// A correct SM has no violations on any fabric.
#[test]
fn correct_plan_has_no_violations() {
    for shape in SHAPES {
        let plan = Plan::new(shape);
        let rig = plan.apply();
        let verdict = judge_fabric(&rig.fabric, &plan.expect());
        assert!(verdict.is_good(), "{shape}: {verdict}");
    }
}

/// Each fault is reported as the expected kind, and as no other.
#[test]
fn each_fault_is_reported() {
    for shape in SHAPES {
        let valid_plan = Plan::new(shape);
        for case in cases().iter().filter(|c| c.shapes.contains(&shape)) {
            let mut plan = valid_plan.clone();
            if let SmFault::Plan(change) = case.fault {
                change(&mut plan);
            }
            let rig = plan.apply();
            let mut snapshot = FabricSnapshot::from(&rig.fabric);
            if let SmFault::Snapshot(change) = case.fault {
                change(&mut snapshot, &valid_plan);
            }
            let mut expect = valid_plan.expect();
            expect.sms = Some(plan.sms);
            let verdict = judge(&snapshot, &expect);
            let found = kinds_of(&verdict);
            let must: BTreeSet<_> = case.must.iter().copied().collect();
            let allowed: BTreeSet<_> = must.iter().chain(case.may).copied().collect();
            assert!(
                found.is_superset(&must) && found.is_subset(&allowed),
                "{shape}, {}: expected {must:?}, got {verdict}",
                case.description
            );
        }
    }
}

/// Every kind of violation has a test case.
#[test]
fn every_violation_has_a_case() {
    let all = cases();
    let mut covered: BTreeSet<_> = all.iter().flat_map(|c| c.must).copied().collect();
    covered.extend(["NoSuchPort"]);
    covered.extend(super::oracles_counters::KINDS_TESTED);
    let missing: Vec<_> = KINDS.iter().filter(|k| !covered.contains(*k)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let verdict = judge(
        &FabricSnapshot::default(),
        &Expectations::new(PortAt::new(0, 1)),
    );
    assert_eq!(kinds_of(&verdict), BTreeSet::from(["NoSuchPort"]));
}

/// With traffic on every SL that has a VL, a correct tree has no violations, and a torus that needs
/// one SL per path has a credit loop.
#[test]
fn all_sls_with_a_vl_are_checked() {
    let plan = Plan::new("torus:4,4");
    let rig = plan.apply();
    // With one SL for all paths, a row of four has a credit loop: some paths need the dateline.
    let verdict = judge_fabric(&rig.fabric, &plan.expect().all_sls());
    assert_eq!(kinds_of(&verdict), BTreeSet::from(["CreditLoop"]));
    let tree = Plan::new("fat-tree:4");
    let rig = tree.apply();
    let verdict = judge_fabric(&rig.fabric, &tree.expect().all_sls());
    assert!(verdict.is_good(), "{verdict}");
}

/// Five groups on a ring, each over three switches.
fn groups_around_a_ring() -> (Plan, Vec<ExpectedGroup>) {
    let mut plan = Plan::new("ring:5");
    for node in plan.switches.keys().copied().collect::<Vec<_>>() {
        plan.switch(node).mft.clear();
        plan.switch(node).multicast_fdb_top = 0xC010;
    }
    let count = 5;
    let towards = |plan: &Plan, from: usize, to: usize| {
        let (from, to) = (plan.leaf_port(from).node, plan.leaf_port(to).node);
        let mut links = plan.peers.iter();
        links
            .find(|(a, b)| a.node == from && b.node == to)
            .unwrap()
            .0
            .port
    };
    let mut groups = Vec::new();
    for first in 0..count {
        let route = [first, (first + 1) % count, (first + 2) % count];
        let mlid = Lid(0xC008 + first as u16);
        let mut group = plan.group.clone();
        group.mlid = mlid;
        group.members = [route[0], route[2]].map(|host| plan.host(host)).into();
        groups.push(group);
        for (index, at) in route.iter().enumerate() {
            let mut ports = BTreeSet::new();
            if index != 1 {
                ports.insert(plan.leaf_port(*at).port);
            }
            if index > 0 {
                ports.insert(towards(&plan, *at, route[index - 1]));
            }
            if index < 2 {
                ports.insert(towards(&plan, *at, route[index + 1]));
            }
            let node = plan.leaf_port(*at).node;
            plan.switch(node).mft.insert(mlid, ports);
        }
    }
    (plan, groups)
}

/// Multicast alone can form a credit loop.
#[test]
fn credit_loops_of_multicast_groups_are_reported() {
    let (mut plan, mut groups) = groups_around_a_ring();
    let rig = plan.apply();
    let expect = plan.expect().groups(groups.clone());
    assert_eq!(
        kinds_of(&judge_fabric(&rig.fabric, &expect)),
        BTreeSet::from(["CreditLoop"])
    );
    // Without one of the groups, there is no cycle.
    let last = groups.pop().unwrap();
    for node in plan.switches.keys().copied().collect::<Vec<_>>() {
        plan.switch(node).mft.remove(&last.mlid);
    }
    let rig = plan.apply();
    let verdict = judge_fabric(&rig.fabric, &plan.expect().groups(groups));
    assert!(verdict.is_good(), "{verdict}");
}

/// Packets that come from a switch leave on another VL than those of hosts, so that no channel of
/// the ring waits for one of its own VL.
#[test]
fn multicast_packets_that_change_their_vl_form_no_credit_loop() {
    let (mut plan, groups) = groups_around_a_ring();
    let is_switch = |node| plan.switches.contains_key(&node);
    let is_ring_port =
        |at: PortAt| is_switch(at.node) && plan.peers.get(&at).is_some_and(|p| is_switch(p.node));
    let ring: BTreeSet<PortAt> = plan
        .peers
        .keys()
        .copied()
        .filter(|p| is_ring_port(*p))
        .collect();
    for at in &ring {
        for (input, vls) in &mut plan.port(*at).sl_to_vl {
            vls.fill(u8::from(ring.contains(&PortAt::new(at.node, *input))));
        }
    }
    let rig = plan.apply();
    let verdict = judge_fabric(&rig.fabric, &plan.expect().groups(groups));
    assert!(verdict.is_good(), "{verdict}");
}

/// Without known groups, every port in an MFT is a member, and the tree is checked.
#[test]
fn unknown_groups_are_checked_by_their_tree() {
    let plan = Plan::new("fat-tree:4");
    let mut expect = plan.expect();
    expect.groups = None;
    // Its packets are assumed to use SL 0.
    let verdict = judge_fabric(&plan.apply().fabric, &expect);
    assert!(
        !kinds_of(&verdict).contains("MemberNotReached"),
        "{verdict}"
    );
    let mut broken = plan.clone();
    let at = plan.leaf_port(0);
    broken
        .switch(at.node)
        .mft
        .insert(MLID, BTreeSet::from([at.port]));
    let verdict = judge_fabric(&broken.apply().fabric, &expect);
    assert!(kinds_of(&verdict).contains("MemberNotReached"), "{verdict}");
}
