//! Scenarios executed in a world.

use std::path::Path;
use std::time::Duration;

use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::generate;
use ferrosm_sim::oracle::Expectations;
use ferrosm_sim::scenario::{HELP, Script};
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::{LivenessTiming, World};

use crate::discovery::Explorer;

fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// A file of the documentation.
fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn world_with_scenario(spec: &str, text: &str) -> World<Explorer> {
    let fabric = Fabric::new(&generate::from_spec(spec).unwrap()).unwrap();
    let plan = Script::parse(text)
        .and_then(|s| s.plan(&fabric, Instant::START))
        .unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut world = World::new(fabric, 1);
    for (at, action) in plan {
        world.schedule(at, action);
    }
    world
}

#[test]
fn scenario_is_executed_as_written() {
    let mut world = world_with_scenario("fat-tree:4", &document("examples/bad-morning.scenario"));
    let named = |world: &World<Explorer>, name: &str| {
        let fabric = world.fabric();
        (0..fabric.num_nodes())
            .find(|n| fabric.description(*n).to_string() == name)
            .unwrap()
    };
    let leaf = PortAt::new(named(&world, "leaf-0-0"), 3);
    let degraded = PortAt::new(named(&world, "leaf-1-1"), 3);
    let host = PortAt::new(named(&world, "host-1-1-1 mlx5_0"), 1);
    let has_sm = |world: &World<Explorer>| world.net().foreign_sm_at(host).is_some();
    // The period is 500 ms, and a link trains for 40 ms.
    for (time, up) in [
        (9_999, true),
        (10_100, false),
        (10_270, false),
        (10_300, true),
        (12_500, true),
    ] {
        world.run_until(ms(time));
        assert_eq!(world.fabric().link_up(leaf), up, "at {time} ms");
    }
    world.run_until(ms(44_000));
    assert_eq!(
        world
            .fabric()
            .port_info(degraded)
            .unwrap()
            .link_width_active,
        1
    );
    let counted = PortAt::new(degraded.node, 4);
    assert_eq!(world.fabric().port_counters(counted).symbol_errors, 2_500);
    assert!(!has_sm(&world));
    world.run_until(ms(50_000));
    assert!(has_sm(&world));
    world.run_until(ms(61_000));
    assert!(!has_sm(&world));
    assert_eq!(world.action_errors(), []);
}

/// The reference describes every command, and its examples can be executed.
#[test]
fn reference_describes_all_commands() {
    let text = document("scenario.md");
    for (form, _) in HELP {
        let verb = form.split(' ').next().unwrap();
        assert!(
            text.contains(&format!("`{verb}")),
            "{verb} is not described"
        );
    }
    let examples = text.split("## Examples").nth(1).unwrap();
    let blocks: Vec<&str> = examples.split("```").skip(1).step_by(2).collect();
    assert_eq!(blocks.len(), 2);
    for block in blocks {
        let mut world = world_with_scenario("fat-tree:4", block);
        world.run_until(ms(80_000));
        assert_eq!(world.action_errors(), [], "{block}");
    }
}

/// An unconfigured fabric does not converge; the liveness oracle runs until its bound and reports
/// the violations.
#[test]
fn liveness_oracle_stops_at_its_bound() {
    let mut world = world_with_scenario("ring:4,1", "loss 100%");
    world.run_until(ms(10));
    let timing = LivenessTiming {
        request_timeout: Duration::from_millis(100),
        sweep_interval: Duration::from_secs(1),
        max_outstanding: 10,
        takeover_delay: Duration::ZERO,
    };
    let at = world.fabric().default_port();
    let start = world.now();
    let liveness = world.converge(&timing, &Expectations::new(at), |_| Ok(()));
    assert!(!liveness.is_live());
    assert_eq!(liveness.bound, timing.bound(world.fabric()));
    let waited = world.now().since(start);
    assert!((liveness.bound..liveness.bound + Duration::from_millis(250)).contains(&waited));
    assert!(liveness.violations.contains("LID"), "{liveness}");
    // Larger fabrics and a takeover increase the bound.
    let larger = Fabric::new(&generate::from_spec("fat-tree:8").unwrap()).unwrap();
    assert!(timing.bound(&larger) > timing.bound(world.fabric()));
    let takeover = Duration::from_secs(50);
    let with_other = LivenessTiming {
        takeover_delay: takeover,
        ..timing
    };
    assert_eq!(with_other.bound(&larger), timing.bound(&larger) + takeover);
}
