//! Hosts that flood subnet administration do not hold up an innocent host, nor the subnet manager itself.
//!
//! Figures are those of `tests/benches/compare/sa-hostile`; limits here are far above them, and far below what the floods cost when they were
//! answered by the subnet manager's own loop.

use std::time::Duration;

use ferrosm_tests::clients::Clients;
use ferrosm_tests::load::build;
use ferrosm_tests::managed_fabric::ManagedFabric;
use ferrosm_tests::process::{Running, Signal, poll_until};

/// A sweep without the limits took 15 s beside these floods, and takes 0.03 s.
const SWEEP: Duration = Duration::from_secs(5);
const END: Duration = Duration::from_secs(30);
/// Starting an attacker and evaluating its first query; a fraction of a second on an idle machine.
const FIRST_ANSWER: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(20);
const GROUPS: &str = "12000";
/// Requests that each attacker keeps open.
const WINDOW: &str = "8";

#[test]
fn flooding_clients_do_not_delay_others() {
    let lab = ManagedFabric::start("fat-tree:12", &[]);
    let client = build(&lab.sim, "clients/sa-hostile.c");
    let host = |n: usize| format!("host-0-0-{n} mlx5_0");
    let innocent = |args: &[&str]| {
        let done = lab.sim.run_at(&host(1), &client, args).expect_success();
        done.stdout
    };
    let created = innocent(&["create", GROUPS, "1"]);
    assert!(
        created.starts_with(&format!("{GROUPS} of {GROUPS} ")) && created.contains(" 0 refused"),
        "{created}"
    );
    let floods = ["pairs", "pair", "multi", "members"];
    let attackers: Vec<Running> = floods
        .iter()
        .enumerate()
        .map(|(n, kind)| {
            let launch = lab.sim.launch("nice", Some(&host(2 + n)));
            let launch = launch.args(&["-n", "10", &client, "flood", kind, WINDOW]);
            launch.start(lab.sim.dir())
        })
        .collect();
    // Nothing is measured before each flood has been answered once.
    for (kind, attacker) in floods.iter().zip(&attackers) {
        poll_until(FIRST_ANSWER, PAUSE, || {
            let flooding = attacker.stdout().starts_with("flooding");
            flooding.then_some(()).ok_or_else(|| attacker.stderr())
        })
        .unwrap_or_else(|e| panic!("the flood of {kind} is not answered: {e}"));
    }
    for (what, count, limit_ms) in [("paths", "20", "500"), ("joins", "30", "2000")] {
        let done = innocent(&[what, count, limit_ms]);
        assert!(
            done.starts_with(&format!("{count} of {count} ")) && done.contains(" 0 refused"),
            "{what}: {done}"
        );
    }
    let sweeps = |lab: &ManagedFabric| lab.log().matches("sweep complete").count();
    let before = sweeps(&lab);
    lab.signal(Signal::Hangup);
    poll_until(SWEEP, PAUSE, || {
        let done = sweeps(&lab) > before;
        done.then_some(())
            .ok_or_else(|| "the sweep is not done".to_owned())
    })
    .unwrap_or_else(|e| panic!("{e}"));
    for attacker in attackers {
        let done = attacker.stop(Signal::Terminate, END).expect_success();
        assert!(done.stdout.contains(" answered"), "{}", done.describe());
    }
}
