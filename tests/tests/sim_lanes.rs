//! Routings with several lanes, written and judged: the oracle reads SLtoVLMappingTables and VLArbitrationTables out of the
//! simulated devices and follows every packet on the SL that our manager gives its path.

use ferrosm_core::{Input, SmConfig};
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
