//! Two real ferrosm SMs with replicated state on a fabric of `ferrosm sim`. `sminfo` and `saquery`
//! report the master after a kill, a handover and a stop.

use std::path::Path;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::process::Signal;
use ferrosm_tests::programs::sm_pair::{SmPair, certified};

fn prepare(dir: &Path) {
    certified(dir, 2);
}

/// The master is killed, and the SM with the replica takes over. The restarted SM becomes master
/// again, and the other one replicates again.
#[test]
fn killed_master_is_replaced_and_rejoins() {
    let mut pair = SmPair::new(prepare);
    pair.assert_master(0);
    pair.terminate(0, Signal::Kill);
    pair.wait(1, "master silent", 1);
    pair.wait(1, "SA replies from restored view", 1);
    pair.assert_master(1);
    pair.assert_no_tables_written(1);
    pair.start(0);
    pair.wait(1, "handed over to SM", 1);
    pair.assert_master(0);
    pair.wait(1, "replica in sync", 2);
    pair.terminate(0, Signal::Kill);
    pair.wait(1, "SA replies from restored view", 2);
    pair.assert_master(1);
}

/// Handover by operator command, then SIGTERM: each time the other SM takes over from its replica
/// and writes nothing.
#[test]
fn planned_handover_restores_from_the_replica() {
    let mut pair = SmPair::new(prepare);
    let state = pair.sim.dir().join("state0").display().to_string();
    let done = pair.sim.ferrosm(&["handover", "--state-dir", &state]);
    let done = done.expect_success();
    let handed_over = "handed over to SM 0x";
    assert!(done.stdout.starts_with(handed_over), "{}", done.stdout);
    pair.assert_master(1);
    pair.wait(1, "SA replies from restored view", 1);
    pair.assert_no_tables_written(1);
    pair.wait(0, "replica in sync", 1);
    let again = pair.sim.ferrosm(&["handover", "--state-dir", &state]);
    assert_eq!(again.status.code(), Some(1));
    let is_standby = again.stderr.contains("this SM is Standby of SM");
    assert!(is_standby, "{}", again.stderr);
    pair.terminate(1, Signal::Terminate);
    pair.assert_master(0);
    pair.wait(0, "SA replies from restored view", 1);
}
