//! Clients that flood the SA delay neither other clients nor the SM.
//!
//! `tests/benches/compare/sa-hostile` has the measurements. The limits here are far above them, and
//! far below the delays of an SM that serves the SA in its main loop.

use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::load::build;
use ferrosm_tests::programs::managed_fabric::ManagedFabric;
use ferrosm_tests::programs::process::{Running, Signal, poll_until};

/// A sweep during these floods took 15 s without rate limits and takes 0.03 s with them.
const SWEEP_LIMIT: Duration = Duration::from_secs(5);
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// Time to start a flooding client and evaluate its first query; a fraction of a second on an idle
/// machine.
const FIRST_REPLY: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(20);
const GROUPS: &str = "12000";
/// Requests that each flooding client keeps outstanding.
const WINDOW: &str = "8";

#[test]
fn flooding_clients_do_not_delay_others() {
    let lab = ManagedFabric::start("fat-tree:12", &[]);
    let client = build(&lab.sim, "clients/sa-hostile.c");
    let host = |n: usize| format!("host-0-0-{n} mlx5_0");
    let regular_client = |args: &[&str]| {
        let done = lab.sim.run_at(&host(1), &client, args).expect_success();
        done.stdout
    };
    let created = regular_client(&["create", GROUPS, "1"]);
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
    // Measurements start after each flood has received a reply.
    for (kind, attacker) in floods.iter().zip(&attackers) {
        poll_until(FIRST_REPLY, PAUSE, || {
            let flooding = attacker.stdout().starts_with("flooding");
            flooding.then_some(()).ok_or_else(|| attacker.stderr())
        })
        .unwrap_or_else(|e| panic!("no reply to the flood of {kind}: {e}"));
    }
    for (requests, count, limit_ms) in [("paths", "20", "500"), ("joins", "30", "2000")] {
        let done = regular_client(&[requests, count, limit_ms]);
        assert!(
            done.starts_with(&format!("{count} of {count} ")) && done.contains(" 0 refused"),
            "{requests}: {done}"
        );
    }
    let sweeps = |lab: &ManagedFabric| lab.log().matches("sweep complete").count();
    let before = sweeps(&lab);
    lab.signal(Signal::Hangup);
    poll_until(SWEEP_LIMIT, PAUSE, || {
        let done = sweeps(&lab) > before;
        done.then_some(())
            .ok_or_else(|| "sweep not complete".to_owned())
    })
    .unwrap_or_else(|e| panic!("{e}"));
    for attacker in attackers {
        let done = attacker
            .stop(Signal::Terminate, STOP_TIMEOUT)
            .expect_success();
        assert!(done.stdout.contains(" answered"), "{}", done.describe());
    }
}
