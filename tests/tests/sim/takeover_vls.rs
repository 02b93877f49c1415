//! A master dies while it writes VL tables. Its successor knows that devices may differ from the
//! restored view and corrects every table. The test reads the tables from the simulated devices.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_core::config::DrainPolicy;
use ferrosm_core::records::{RecordKind, RecordRestorer, ViewPersister};
use ferrosm_core::{Input, RestoredState, SmConfig};
use ferrosm_fabric::tables::sl_to_vl::SlToVlSelector;
use ferrosm_mad::attr::{VlArb, id};
use ferrosm_mad::ids::PortNum;
use ferrosm_mad::time::Instant;
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::{Lab, Sm, is_up};

fn config_for(engine: &str) -> SmConfig {
    SmConfig {
        engines: vec![engine.to_owned(), "no_fallback".to_owned()],
        ..SmConfig::default()
    }
}

fn up(spec: &str, engine: &str, seed: u64) -> Lab {
    let mut lab = Lab::with(spec, seed, config_for(engine));
    let report = lab.next_sweep(600);
    assert!(report.is_clean(), "{spec} {engine}: {report:?}");
    let plan = lab.manager().core().vl_plan();
    let single = plan.is_none_or(|plan| plan.is_single());
    assert!(!single, "{spec} {engine}: the test needs several VLs");
    lab.world.run_for(Duration::from_secs(2));
    lab.assert_correct();
    lab
}

/// The SLtoVLMappingTables in use, by output port and input port, and the VLArbitrationTables, with
/// 256 (low) and 257 (high) instead of the input port. Entries for unconnected ports and from a
/// port to itself, which a Set for all ports also writes, are excluded.
type VlTables = BTreeMap<(PortAt, u16), Vec<u8>>;

fn vl_tables(lab: &Lab) -> VlTables {
    let fabric = lab.world.fabric();
    let mut all = VlTables::new();
    for node in 0..fabric.num_nodes() {
        for port in u8::from(!fabric.is_switch(node))..=fabric.num_ports(node) {
            let at = PortAt { node, port };
            let connected = |port| port == 0 || fabric.link_up(PortAt { node, port });
            if !connected(port) || fabric.is_switch(node) && port == 0 {
                continue;
            }
            for input in 0..=fabric.num_ports(node) {
                if let Some(map) = fabric.sl_to_vl(at, input)
                    && connected(input)
                    && (input != port || !fabric.is_switch(node))
                {
                    all.insert((at, u16::from(input)), map.encode().to_vec());
                }
            }
            for high in [false, true] {
                let arb = fabric.vl_arb(at, high);
                let bytes = arb.as_ref().map(VlArb::encode);
                all.extend(bytes.map(|b| ((at, 256 + u16::from(high)), b.to_vec())));
            }
        }
    }
    all
}

fn differing(a: &VlTables, b: &VlTables) -> usize {
    a.iter()
        .filter(|(at, map)| b.get(*at) != Some(*map))
        .count()
}

/// Number of Set(SLtoVLMappingTable) received by the devices.
fn sl_to_vl_sets(lab: &Lab) -> u32 {
    lab.world.fabric().all_counters().sets(id::SL_TO_VL)
}

/// The restored state that results from an SM's persisted changes, without the records of kind
/// `lost`.
fn restored_without(sm: &Sm, now: Instant, lost: Option<RecordKind>) -> RestoredState {
    let unix_s = now.as_nanos() / 1_000_000_000;
    let mut records = sm.persisted_records.clone();
    let view = sm.persisted_view.as_ref();
    ViewPersister::default()
        .batch(view, unix_s)
        .apply(&mut records);
    let mut restorer = RecordRestorer::new(unix_s);
    for (key, value) in &records {
        if lost.is_none() || key.kind() != lost {
            restorer.put(key, value);
        }
    }
    let (restored, excluded) = restorer.finish();
    assert_eq!(excluded, []);
    restored
}

fn restored_from(sm: &Sm, now: Instant) -> RestoredState {
    restored_without(sm, now, None)
}

/// Kills the master after this many table writes and returns its persisted state, or `None` if
/// there are fewer writes.
fn kill_after_sets(lab: &mut Lab, sets: u32) -> Option<RestoredState> {
    let deadline = lab.world.now() + Duration::from_secs(60);
    while sl_to_vl_sets(lab) < sets {
        if lab.world.step().is_none_or(|now| now > deadline) {
            return None;
        }
    }
    let now = lab.world.now();
    lab.world.kill(lab.sm).map(|old| restored_from(&old, now))
}

/// Starts a new master, at the same host or, if `elsewhere`, at another one, and runs it until it
/// has completed a sweep.
fn take_over(lab: &mut Lab, cfg: SmConfig, elsewhere: bool, restored: RestoredState) {
    if elsewhere {
        let mut all_hosts = lab.hosts().into_iter().rev();
        lab.at = all_hosts.find(|at| *at != lab.at).expect("another host");
    }
    lab.world.run_for(Duration::from_millis(1));
    lab.restart_sm(cfg, restored);
    let report = lab.next_sweep(600);
    assert!(is_up(&report), "{} {report:?}", lab.describe_run());
    lab.world.run_for(Duration::from_secs(20));
    lab.assert_correct();
    assert_as_planned(lab);
}

/// Checks that every SLtoVLMappingTable between connected ports of a switch equals the SM's plan.
fn assert_as_planned(lab: &Lab) {
    let core = lab.manager().core();
    let plan = core.vl_plan().expect("VL plan");
    let installed = vl_tables(lab);
    let fabric = lab.world.fabric();
    let mut mismatches = Vec::new();
    for ((at, input), has) in &installed {
        let guid = fabric.node_guid(at.node);
        let n = core.fabric().node_by_guid(guid).expect("switch");
        let pair = u8::try_from(*input)
            .map(|input| SlToVlSelector::Pair(PortNum(input), PortNum(at.port)));
        if let (true, Ok(pair)) = (fabric.is_switch(at.node), pair) {
            let wanted = plan.switch_map(n, pair);
            if wanted.is_none_or(|wanted| wanted[..8] != has[..8]) {
                mismatches.push((*at, *input));
            }
        }
    }
    let count = mismatches.len();
    assert!(
        mismatches.is_empty(),
        "{} {count} {:?}",
        lab.describe_run(),
        mismatches[0]
    );
}

fn configure(lab: &mut Lab, engine: &str) {
    let cfg = Box::new(config_for(engine));
    lab.handle(lab.sm, Input::Config(cfg));
}

/// The operator changes the engine, and the master dies after some table writes. The next master
/// starts with the old settings and reverts all tables. Only the persisted view shows that tables
/// may differ from its plan.
#[test]
fn partly_written_vl_tables_are_reverted() {
    for (spec, before, after, step) in [
        ("torus:5,5,1", "lash", "torus-2QoS", 23),
        ("torus:5,5,1,2", "torus-2QoS", "dfsssp", 41),
        ("torus:4,4,1,2", "torus-2QoS", "updn", 23),
        ("ring:6,2", "lash", "torus-2QoS", 5),
    ] {
        let mut tried = 0;
        let mut changed = 0;
        for sets in (1..).step_by(step) {
            let mut lab = up(spec, before, 1);
            let original = vl_tables(&lab);
            lab.world.fabric_mut().reset_counters();
            configure(&mut lab, after);
            let Some(restored) = kill_after_sets(&mut lab, sets) else {
                break;
            };
            tried += 1;
            changed += usize::from(differing(&vl_tables(&lab), &original) > 0);
            take_over(&mut lab, config_for(before), sets % 2 == 0, restored);
            let left = differing(&vl_tables(&lab), &original);
            assert_eq!(left, 0, "{spec} {before} {after}, {sets} Sets");
        }
        assert!(tried > 2, "{spec} {before} {after}: {tried}");
        assert!(changed > tried / 2, "{spec} {after}: {changed} of {tried}");
    }
}

/// The same with links: restored links turn the fabric into a torus again, the master dies while it
/// writes the torus's VL tables, and the links go down again.
#[test]
fn vl_tables_of_restored_links_are_reverted() {
    let cfg = SmConfig {
        engines: ["torus-2QoS", "lash", "no_fallback"]
            .map(str::to_owned)
            .into(),
        routing_drain: DrainPolicy::Allow,
        ..SmConfig::default()
    };
    let mut changed = 0;
    for sets in [1, 9, 15, 25, 40] {
        let mut lab = Lab::with("torus:5,5,1", 1, cfg.clone());
        // Two lost links of one ring exclude torus-2QoS.
        let cut = [("0-0", "0-1"), ("0-2", "0-3")].map(|(a, b)| {
            let link_ends = [a, b].map(|at| lab.node(&format!("switch-{at}")));
            let links = lab.spec.links.iter();
            let mut between =
                links.filter(|l| link_ends.contains(&l.a.node) && link_ends.contains(&l.b.node));
            between.next().expect("link").a
        });
        let act = |lab: &mut Lab, action: fn(PortAt) -> FabricAction| {
            for at in cut {
                lab.world.act(action(at)).expect("link");
            }
        };
        act(&mut lab, FabricAction::Cut);
        lab.next_sweep(600);
        lab.world.run_for(Duration::from_secs(20));
        lab.assert_correct();
        assert_eq!(lab.last_report().engine, "lash");
        let original = vl_tables(&lab);
        lab.world.fabric_mut().reset_counters();
        act(&mut lab, FabricAction::Restore);
        let restored = kill_after_sets(&mut lab, sets).expect("enough table writes");
        act(&mut lab, FabricAction::Cut);
        lab.world.run_for(Duration::from_secs(1));
        changed += usize::from(differing(&original, &vl_tables(&lab)) > 0);
        take_over(&mut lab, cfg.clone(), sets % 2 == 0, restored);
        assert_eq!(differing(&original, &vl_tables(&lab)), 0, "{sets} Sets");
    }
    assert!(changed > 1, "{changed}");
}

/// The first master of a fabric dies while it writes VL tables. The next master operates one VL.
/// The devices have no LIDs yet, but tables that name unavailable VLs.
#[test]
fn tables_of_a_master_that_completed_no_sweep_are_ignored() {
    for sets in [1, 7, 20, 33] {
        let mut lab = Lab::with("torus:5,5,1,2", 1, config_for("torus-2QoS"));
        let restored = kill_after_sets(&mut lab, sets).expect("enough table writes");
        let cfg = SmConfig {
            max_operational_vls: 1,
            ..config_for("updn")
        };
        lab.world.run_for(Duration::from_millis(1));
        lab.restart_sm(cfg, restored);
        let report = lab.next_sweep(600);
        assert!(report.is_clean(), "{sets}: {report:?}");
        let mut expect = lab.expect();
        expect.max_operational_vls = 1;
        if let Err(error) = lab.verdict(&expect) {
            panic!("{sets} Sets: {error}");
        }
    }
}

/// Two masters in a row die while writing the same tables, and a third one takes over.
#[test]
fn takeovers_in_sequence_succeed() {
    for sets in [3, 11, 40] {
        let mut lab = up("torus:5,5,1", "lash", 1);
        let original = vl_tables(&lab);
        lab.world.fabric_mut().reset_counters();
        configure(&mut lab, "torus-2QoS");
        let restored = kill_after_sets(&mut lab, sets).expect("enough table writes");
        lab.world.run_for(Duration::from_millis(1));
        lab.world.fabric_mut().reset_counters();
        lab.restart_sm(config_for("dfsssp"), restored);
        let restored = kill_after_sets(&mut lab, sets + 2).expect("enough table writes");
        take_over(&mut lab, config_for("lash"), false, restored);
        assert_eq!(differing(&vl_tables(&lab), &original), 0, "{sets} Sets");
    }
}

/// After a completed sweep the SM trusts the restored VL tables and writes none. Without the epoch
/// record, or with an incomplete replica, it writes all of them.
#[test]
fn only_completely_known_vl_tables_are_trusted() {
    type Change = fn(&mut RestoredState);
    let unchanged: Change = |_| {};
    let incomplete: Change = |restored| restored.complete = false;
    for (lost, change, written) in [
        (None, unchanged, false),
        (Some(RecordKind::SlToVlEpoch), unchanged, true),
        (None, incomplete, true),
    ] {
        let mut lab = up("torus:5,5,1", "lash", 1);
        configure(&mut lab, "torus-2QoS");
        lab.world.run_for(Duration::from_secs(30));
        lab.assert_correct();
        let original = vl_tables(&lab);
        let now = lab.world.now();
        let old = lab.world.kill(lab.sm).expect("running SM");
        let mut restored = restored_without(&old, now, lost);
        change(&mut restored);
        lab.world.fabric_mut().reset_counters();
        take_over(&mut lab, config_for("torus-2QoS"), false, restored);
        assert_eq!(sl_to_vl_sets(&lab) > 0, written, "without {lost:?}");
        assert_eq!(differing(&vl_tables(&lab), &original), 0);
        // The next SM continues the epoch number of the last one.
        let now = lab.world.now();
        let old = lab.world.kill(lab.sm).expect("running SM");
        let restored = restored_from(&old, now);
        let number = restored.sl_to_vl_epoch.number;
        assert!(number > 1, "{number}");
        lab.world.fabric_mut().reset_counters();
        take_over(&mut lab, config_for("torus-2QoS"), false, restored);
        assert_eq!(
            sl_to_vl_sets(&lab),
            0,
            "known SL-to-VL tables were written again"
        );
    }
}
