//! OpenSM and ferrosm on one fabric, in turn and concurrently.

use std::time::Duration;

use ferrosm_tests::fabrics::by_spec;
use ferrosm_tests::programs::bringup::{judge_now, run_once};
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::ibsim::Ibsim;
use ferrosm_tests::programs::judge;
use ferrosm_tests::programs::process::{Signal, poll_until};

const CONVERGENCE_LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// ferrosm takes over a fabric from OpenSM: no LID changes, and the fabric passes all checks of
/// [`judge`].
#[test]
fn ferrosm_preserves_lids_assigned_by_opensm() {
    for (spec, lmc) in [
        ("fat-tree:4;shuffle", 0),
        ("random:12,4,2,5", 0),
        ("fat-tree:4", 1),
    ] {
        let sim = Ibsim::serve(&by_spec(spec));
        let lmc_word = lmc.to_string();
        let _ = sim.opensm_once(&["-l", &lmc_word]).expect_success();
        let before = sim.net().unwrap();
        let _ = run_once(&sim, &["--lmc", &lmc_word]);
        let after = judge_now(&sim, &before, lmc);
        assert_eq!(after.net.lids(), before.lids(), "{spec}");
    }
}

/// OpenSM without persisted state takes over a fabric from ferrosm: no LID changes, and OpenSM logs
/// "SUBNET UP".
#[test]
fn opensm_preserves_lids_assigned_by_ferrosm() {
    let sim = Ibsim::serve(&by_spec("fat-tree:4;shuffle"));
    let _ = run_once(&sim, &[]);
    let before = sim.net().unwrap();
    let _ = sim.opensm_once(&["-D", "0x03"]).expect_success();
    let after = sim.observe().unwrap();
    judge::examine(&after).check().unwrap();
    assert_eq!(after.net.lids(), before.lids());
    let log = std::fs::read_to_string(sim.dir().join("opensm.log")).unwrap();
    assert!(log.contains("SUBNET UP"), "{log}");
}

/// OpenSM is master with a higher priority: ferrosm stands by and writes nothing.
#[test]
fn higher_priority_opensm_stays_master() {
    let sim = Ibsim::serve(&by_spec("fat-tree:4"));
    let net = sim.net().unwrap();
    let opensm_host = net.hosts().last().unwrap().id();
    let opensm = sim
        .launch("opensm", Some(&opensm_host))
        .args(&["-e", "-f", "master.log", "-p", "12", "-d", "2"])
        .start(sim.dir());
    let before = poll_until(CONVERGENCE_LIMIT, PAUSE, || {
        let seen = sim.observe()?;
        judge::examine(&seen).check()?;
        Ok(seen)
    })
    .unwrap();

    let state = sim.subdir("state");
    let ferrosm = sim.spawn_ferrosm(
        None,
        &[
            "run",
            "--priority",
            "3",
            "--state-dir",
            &state.to_string_lossy(),
        ],
    );
    let ferrosm_node = before
        .net
        .nodes
        .values()
        .find(|node| node.description == first_host(&sim));
    let lid = ferrosm_node.unwrap().ports[&1].lid;
    poll_until(CONVERGENCE_LIMIT, PAUSE, || {
        let info = sim.sm_info_of(&opensm_host, lid)?;
        if info.state == "SMINFO_STANDBY" {
            Ok(())
        } else {
            Err(format!("{info:?}"))
        }
    })
    .unwrap();
    assert_eq!(sim.sm_info(&opensm_host).unwrap().state, "SMINFO_MASTER");
    let after = sim.observe().unwrap();
    assert_eq!(after.tables, before.tables, "the standby wrote a table");
    assert_eq!(
        after.net.lids(),
        before.net.lids(),
        "the standby assigned a LID"
    );
    let ended = ferrosm.stop(Signal::Terminate, Duration::from_secs(20));
    assert_eq!(ended.status.code(), Some(0), "{}", ended.describe());
    drop(opensm);
}

/// The node to which programs attach by default: the first one of the file.
fn first_host(sim: &Ibsim) -> String {
    let answer = sim
        .run("smpquery", &["-D", "nodedesc", "0"])
        .expect_success();
    answer
        .stdout
        .rsplit("..")
        .next()
        .unwrap_or_default()
        .trim_start_matches('.')
        .trim()
        .to_owned()
}
