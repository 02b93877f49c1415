//! The judge, on fabrics brought up by OpenSM: it must accept valid fabrics and reject invalid
//! ones.

use ferrosm_tests::fabrics::by_spec;
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::ibsim::Ibsim;
use ferrosm_tests::programs::{ibdmchk, judge};

/// A cold fabric: no port has a LID, no link is Active.
#[test]
fn judge_rejects_an_unconfigured_fabric() {
    let sim = Ibsim::serve(&by_spec("fat-tree:4"));
    let verdict = judge::examine(&sim.observe().unwrap());
    assert!(
        verdict.faults.iter().any(|fault| fault.contains("LID 0")),
        "{:?}",
        verdict.faults
    );
    assert!(
        verdict
            .faults
            .iter()
            .any(|fault| fault.contains("Initialize")),
        "{:?}",
        verdict.faults
    );
}

/// OpenSM brings up a valid fat tree, and ibdmchk agrees; likewise with LMC 2.
#[test]
fn judge_accepts_opensm_on_a_fat_tree() {
    for args in [&[][..], &["-l", "2"]] {
        let sim = Ibsim::serve(&by_spec("fat-tree:6"));
        let _ = sim.opensm_once(args).expect_success();
        let verdict = judge::examine(&sim.observe().unwrap());
        verdict.check().unwrap();
        let ibdmchk_report = ibdmchk::run(&sim.subdir("dump"), sim.dir()).unwrap();
        ibdmchk_report.check(verdict.host_ports).unwrap();
    }
}

/// 64 LIDs in all: `dump_fts` omits the last one, and the test library reads it by other means.
#[test]
fn last_lid_may_be_a_multiple_of_64() {
    let sim = Ibsim::serve(&by_spec("single-switch:63"));
    let _ = sim.opensm_once(&[]).expect_success();
    let seen = sim.observe().unwrap();
    assert!(seen.tables.0.values().all(|table| table.len() == 64));
    judge::examine(&seen).check().unwrap();
}

/// OpenSM's minhop on a torus: every pair is connected, but one VL deadlocks. Both judges report
/// it.
#[test]
fn judge_finds_credit_loops_of_opensm_minhop_on_a_torus() {
    let sim = Ibsim::serve(&by_spec("torus:4,4,3,2"));
    let _ = sim.opensm_once(&["-R", "minhop"]).expect_success();
    let verdict = judge::examine(&sim.observe().unwrap());
    assert!(verdict.cyclic_channels > 0);
    assert_eq!(verdict.faults.len(), 1, "{:?}", verdict.faults);
    assert!(
        ibdmchk::run(&sim.subdir("dump"), sim.dir())
            .unwrap()
            .credit_loop
    );
}

/// A link fails without an SM: its paths are broken. After it is reinserted, it is not Active.
#[test]
fn judge_reports_a_lost_link() {
    let mut sim = Ibsim::serve(&by_spec("fat-tree:4"));
    let _ = sim.opensm_once(&[]).expect_success();
    let before = sim.observe().unwrap();
    judge::examine(&before).check().unwrap();
    let ((switch, port), _) = before.net.switch_links()[0];
    sim.console(&format!("Unlink \"S-{switch:016x}\"[{port}]"));
    let verdict = judge::examine(&sim.observe().unwrap());
    assert!(
        verdict
            .faults
            .iter()
            .any(|fault| fault.contains("leads nowhere")),
        "{verdict:?}"
    );
    sim.console(&format!("ReLink \"S-{switch:016x}\"[{port}]"));
    let verdict = judge::examine(&sim.observe().unwrap());
    assert!(
        verdict
            .faults
            .iter()
            .any(|fault| fault.contains("Initialize")),
        "{verdict:?}"
    );
}

/// An LFT entry is removed from OpenSM's dump: the judge recognises ibdmchk's report of a missing
/// path.
#[test]
fn ibdmchk_reports_a_missing_path() {
    let sim = Ibsim::serve(&by_spec("fat-tree:4"));
    let _ = sim.opensm_once(&[]).expect_success();
    let seen = sim.observe().unwrap();
    let lid = seen.net.hosts().next().unwrap().ports[&1].lid;
    let file = sim.subdir("dump").join("opensm.fdbs");
    let text = std::fs::read_to_string(&file).unwrap();
    let row = format!("0x{lid:04X} : ");
    let shortened: String = text
        .lines()
        .filter(|line| !line.starts_with(&row))
        .fold(String::new(), |kept, line| kept + line + "\n");
    assert!(shortened.len() < text.len());
    std::fs::write(&file, shortened).unwrap();
    let ibdmchk_report = ibdmchk::run(&sim.subdir("dump"), sim.dir()).unwrap();
    assert!(
        ibdmchk_report
            .errors
            .iter()
            .any(|error| error.contains("missing paths")),
        "{ibdmchk_report:?}"
    );
}
