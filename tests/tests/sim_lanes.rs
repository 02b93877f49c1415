//! Routings with several lanes, written and judged: the oracle reads SLtoVLMappingTables and VLArbitrationTables out of the
//! simulated devices and follows every packet on the SL that our manager gives its path.

#![allow(clippy::expect_used, reason = "test helpers")]

use ferrosm_core::plan::lanes::MapAt;
use ferrosm_core::{Input, PortRef, SmConfig};
use ferrosm_mad::ids::PortNum;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::simulated::Lab;

fn with(engine: &str) -> SmConfig {
    SmConfig {
        engines: vec![engine.to_owned(), "no_fallback".to_owned()],
        ..SmConfig::default()
    }
}

fn brought_up(spec: &str, engine: &str) -> Lab {
    let mut lab = Lab::with(spec, 7, with(engine));
    let report = lab.next_sweep(600);
    assert!(report.is_clean(), "{spec} {engine}: {report:?}");
    assert_eq!(report.engine, engine, "{spec}");
    let lanes = lab.manager().core().lanes();
    assert!(
        lanes.is_some_and(|lanes| !lanes.is_single()),
        "{spec} {engine}: one lane proves nothing here"
    );
    lab.verdict(&lab.expect())
        .unwrap_or_else(|why| panic!("{spec} {engine}: {why}"));
    lab
}

/// Tori and dragonflies on every engine that takes lanes: what is in the devices has no credit loop, lane by lane.
#[test]
fn what_is_written_has_no_credit_loop() {
    for (spec, engine) in [
        ("torus:4,4,1", "torus-2QoS"),
        ("torus:5,4,3", "torus-2QoS"),
        ("torus:4,4,4", "dfsssp"),
        ("torus:5,5,1", "lash"),
        ("dragonfly:4,9,2,2", "dfsssp"),
        ("ring:6,2", "lash"),
        ("torus:4,4,1", "nue"),
    ] {
        brought_up(spec, engine);
    }
}

/// The judge can say no: the same tables, and all packets on SL 0.
#[test]
fn without_the_lanes_the_same_tables_deadlock() {
    let lab = brought_up("torus:5,5,1", "lash");
    let one_lane = ferrosm_sim::oracle::Expect::new(lab.at);
    assert!(lab.verdict(&one_lane).is_err());
}

/// What is there is not written again; after a switch restarted, its tables are.
#[test]
fn tables_of_lanes_are_written_once_and_after_a_restart() {
    use ferrosm_mad::attr::id;
    let mut lab = brought_up("torus:5,5,1", "lash");
    let sets = |lab: &Lab| {
        let counts = lab.last_report().smps;
        let of = |attr| counts.get(&attr).map_or(0, |c| c.sets);
        (of(id::SL_TO_VL), of(id::VL_ARBITRATION))
    };
    let (maps, arbitrations) = sets(&lab);
    assert!(maps > 0 && arbitrations > 0);
    let sm = lab.sm;
    lab.world
        .with_manager(sm, |m, now| m.command(Input::Resweep, now));
    assert!(lab.next_sweep(60).is_clean());
    assert_eq!(sets(&lab), (0, 0));
}

/// Every table of every pair of ports with cables is what the plan says, pair by pair: also where the switches take short
/// forms, and after the engine was changed to one whose tables differ by input port and back.
#[test]
fn every_pair_of_ports_has_its_own_table() {
    let mut lab = brought_up("torus:5,5,1,2", "torus-2QoS");
    maps_are_as_planned(&lab);
    for engine in ["dfsssp", "torus-2QoS", "dor", "torus-2QoS", "lash"] {
        let sm = lab.sm;
        lab.world.with_manager(sm, |m, now| {
            m.command(Input::Config(Box::new(with(engine))), now);
        });
        lab.until(engine, 120, |lab| {
            lab.manager()
                .reports()
                .last()
                .is_some_and(|r| r.engine == engine)
        });
        maps_are_as_planned(&lab);
        lab.verdict(&lab.expect())
            .unwrap_or_else(|why| panic!("{engine}: {why}"));
    }
}

fn maps_are_as_planned(lab: &Lab) {
    let core = lab.manager().core();
    let lanes = core.lanes().expect("a routing");
    let fabric = lab.world.fabric();
    let mut compared = 0;
    for (n, node) in core.subnet().nodes().filter(|(_, n)| n.is_switch()) {
        let at = (0..lab.spec.nodes.len())
            .find(|i| fabric.node_guid(*i) == node.info.node_guid)
            .expect("the switch is in the fabric");
        let cabled: Vec<PortNum> = node
            .physical_ports()
            .filter(|p| core.subnet().peer(PortRef::new(n, *p)).is_some())
            .collect();
        for &output in &cabled {
            for &input in cabled.iter().filter(|i| **i != output) {
                let wanted = lanes.switch_map(n, MapAt::Pair(input, output));
                let out = PortAt {
                    node: at,
                    port: output.0,
                };
                let has = fabric.sl_to_vl(out, input.0).map(|t| t.encode());
                assert_eq!(has, wanted, "{} from {input} to {output}", node.description);
                compared += 1;
            }
        }
    }
    assert!(compared > 100);
}
