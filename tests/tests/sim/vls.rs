//! Routing on several VLs: the oracle reads SLtoVLMappingTables and VLArbitrationTables from the
//! simulated devices and follows every packet on the SL of its path.

#![allow(clippy::expect_used, reason = "test helpers")]

use ferrosm_core::{Command, RestoredState, SmConfig};
use ferrosm_fabric::observed::PortRef;
use ferrosm_fabric::tables::sl_to_vl::SlToVlSelector;
use ferrosm_mad::attr::{SlToVl, id};
use ferrosm_mad::ids::{PortNum, Vl};
use ferrosm_sim::oracle::{Expectations, SettingFault, Violation, judge_fabric};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;

fn config_for(engine: &str) -> SmConfig {
    SmConfig {
        engines: vec![engine.to_owned(), "no_fallback".to_owned()],
        ..SmConfig::default()
    }
}

fn bring_up(spec: &str, engine: &str) -> Lab {
    let mut lab = Lab::with(spec, 7, config_for(engine));
    let report = lab.next_sweep(600);
    assert!(report.is_clean(), "{spec} {engine}: {report:?}");
    assert_eq!(report.engine, engine, "{spec}");
    let plan = lab.manager().core().vl_plan();
    assert!(
        plan.is_some_and(|plan| !plan.is_single()),
        "{spec} {engine}: the test needs several VLs"
    );
    lab.verdict(&lab.expect())
        .unwrap_or_else(|error| panic!("{spec} {engine}: {error}"));
    lab
}

/// Tori and dragonflies with every engine that uses several VLs: the installed tables have no
/// credit loop on any VL.
#[test]
fn written_tables_have_no_credit_loop() {
    for (spec, engine) in [
        ("torus:4,4,1", "torus-2QoS"),
        ("torus:5,4,3", "torus-2QoS"),
        ("torus:4,4,4", "dfsssp"),
        ("torus:5,5,1", "lash"),
        ("dragonfly:4,9,2,2", "dfsssp"),
        ("ring:6,2", "lash"),
        ("torus:4,4,1", "nue"),
    ] {
        bring_up(spec, engine);
    }
}

/// The oracle detects a credit loop if all packets use SL 0 with the same LFTs.
#[test]
fn same_lfts_on_one_vl_have_a_credit_loop() {
    let lab = bring_up("torus:5,5,1", "lash");
    let on_sl_0 = Expectations::new(lab.at);
    assert!(lab.verdict(&on_sl_0).is_err());
}

/// The configuration changes while VL tables are written: responses are compared with what was
/// sent.
#[test]
fn reload_during_writes_of_vl_tables_rejects_none() {
    let mut lab = Lab::with("torus:5,5,1", 7, config_for("lash"));
    lab.run_until("writes of VL arbitration tables", 600, |lab| {
        lab.world.fabric().all_counters().sets(id::VL_ARBITRATION) > 10
    });
    let cfg = SmConfig {
        max_operational_vls: 2,
        ..config_for("lash")
    };
    lab.configure(cfg);
    let report = lab.next_sweep(600);
    assert!(report.is_clean(), "{report:?}");
}

/// A second full sweep does not write unchanged VL tables.
#[test]
fn unchanged_vl_tables_are_written_once() {
    let mut lab = bring_up("torus:5,5,1", "lash");
    let sets = |lab: &Lab| {
        let counts = lab.last_report().smps;
        let sets_of = |attr| counts.get(&attr).map_or(0, |c| c.sets);
        (sets_of(id::SL_TO_VL), sets_of(id::VL_ARBITRATION))
    };
    let (maps, arbitrations) = sets(&lab);
    assert!(maps > 0 && arbitrations > 0);
    lab.command(Command::Sweep);
    assert!(lab.next_sweep(60).is_clean());
    assert_eq!(sets(&lab), (0, 0));
}

/// Every table between connected ports equals the plan, including switches that support Sets for
/// all ports, and after a change to an engine whose tables differ by input port and back.
#[test]
fn each_input_output_pair_has_its_own_sl_to_vl_table() {
    let mut lab = bring_up("torus:5,5,1,2", "torus-2QoS");
    assert_tables_as_planned(&lab);
    for engine in ["dfsssp", "torus-2QoS", "dor", "torus-2QoS", "lash"] {
        lab.configure(config_for(engine));
        lab.run_until(engine, 120, |lab| {
            lab.manager()
                .reports()
                .last()
                .is_some_and(|r| r.engine == engine)
        });
        assert_tables_as_planned(&lab);
        lab.verdict(&lab.expect())
            .unwrap_or_else(|error| panic!("{engine}: {error}"));
    }
}

/// Foreign tables drop SL 0 or map it to a VL that is not operational. With one VL and with
/// several, packets still arrive after bring-up. A second full sweep reads and writes no VL table.
#[test]
fn foreign_vl_tables_are_overwritten() {
    for (spec, engine, vl) in [
        ("torus:4,4,1", "updn", 15),
        ("torus:4,4,1", "updn", 3),
        ("fat-tree:4", "auto", 15),
        ("torus:5,5,1", "lash", 15),
    ] {
        for optimized in [true, false] {
            let description = format!("{spec} {engine} VL {vl} optimized Sets {optimized}");
            let mut template = ferrosm_sim::generate::from_spec(spec).expect("valid fabric");
            for node in &mut template.nodes {
                let mut caps = node.caps();
                caps.optimized_sl_to_vl = u8::from(optimized);
                node.options.caps = Some(caps);
            }
            // If the routing uses one VL, the ports operate one VL.
            let cfg = |engine: &str| SmConfig {
                max_operational_vls: if engine == "lash" { 5 } else { 1 },
                engines: vec![engine.to_owned()],
                ..SmConfig::default()
            };
            let mut lab = Lab::on(spec, template, 7, cfg(engine), None);
            assert!(lab.next_sweep(600).is_clean(), "{description}");
            lab.world.kill(lab.sm).expect("first SM");
            let table = SlToVl { vls: [Vl(vl); 16] };
            let fabric = lab.world.fabric_mut();
            for node in 0..fabric.num_nodes() {
                for port in 0..=fabric.num_ports(node) {
                    fabric.corrupt_sl_to_vl(PortAt { node, port }, table);
                }
            }
            assert!(
                lab.verdict(&Expectations::new(lab.at)).is_err(),
                "{description}"
            );
            lab.restart_sm(cfg(engine), RestoredState::default());
            let report = lab.next_sweep(600);
            assert!(report.is_clean(), "{description}: {report:?}");
            assert!(report.smps[&id::SL_TO_VL].sets > 0, "{description}");
            let mut expect = lab.expect();
            expect.max_operational_vls = cfg(engine).max_operational_vls;
            assert_packets_arrive(&lab, &expect, &description);
            if engine != "lash" {
                assert_packets_arrive(&lab, &expect.all_sls(), &description);
            }
            lab.command(Command::Sweep);
            let again = lab.next_sweep(60);
            assert!(again.is_clean(), "{description}: {again:?}");
            let queried = |attr| again.smps.contains_key(&attr);
            assert!(
                !queried(id::SL_TO_VL) && !queried(id::VL_ARBITRATION),
                "{description}"
            );
        }
    }
}

/// The oracle's only violations concern entries for unconnected ports and from a port to itself.
fn assert_packets_arrive(lab: &Lab, expect: &Expectations, description: &str) {
    let verdict = judge_fabric(lab.world.fabric(), expect);
    for v in &verdict.violations {
        let is_expected = matches!(v, Violation::Setting(SettingFault::SlToVlInactiveVl { .. }));
        assert!(is_expected, "{description}: {v}");
    }
}

fn assert_tables_as_planned(lab: &Lab) {
    let core = lab.manager().core();
    let plan = core.vl_plan().expect("VL plan");
    let fabric = lab.world.fabric();
    let mut compared = 0;
    for (n, node) in core.fabric().nodes().filter(|(_, n)| n.is_switch()) {
        let at = (0..lab.spec.nodes.len())
            .find(|i| fabric.node_guid(*i) == node.info.node_guid)
            .expect("simulated switch");
        let connected: Vec<PortNum> = node
            .physical_ports()
            .filter(|p| core.fabric().peer(PortRef::new(n, *p)).is_some())
            .collect();
        for &output in &connected {
            for &input in connected.iter().filter(|i| **i != output) {
                let wanted = plan.switch_map(n, SlToVlSelector::Pair(input, output));
                let out = PortAt {
                    node: at,
                    port: output.0,
                };
                let actual = fabric.sl_to_vl(out, input.0).map(|t| t.encode());
                assert_eq!(
                    actual, wanted,
                    "{} from {input} to {output}",
                    node.description
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 100);
}
