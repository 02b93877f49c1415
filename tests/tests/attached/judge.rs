//! `sim-ctl judge` on routings with several SLs, and limited members that use the SA through switch
//! ports with enforcement.

use std::fs;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::managed_fabric::ManagedFabric;
use ferrosm_tests::programs::opensm::OpenSm;

/// ferrosm writes tables by which the SL selects the VL. With the SLs of its paths the judge finds
/// no credit loop.
#[test]
fn credit_loops_of_several_sls_are_judged_with_the_path_sls() {
    for spec in ["ring:7,2", "torus:5,5,1"] {
        let sim = FabricServer::shape(spec);
        let dumps = sim.subdir("dumps");
        let state = sim.subdir("state").display().to_string();
        let dump_dir = dumps.display().to_string();
        let arguments = [
            "run",
            "--once",
            "--state-dir",
            &state,
            "--dump-dir",
            &dump_dir,
        ];
        let _ = sim.ferrosm(&arguments).expect_success();
        let verdict = sim.execute("judge");
        assert!(verdict.starts_with("no violations:"), "{spec}: {verdict}");
        assert!(
            verdict.contains("not checked: credit loops"),
            "{spec}: {verdict}"
        );
        let path_sls = dumps.join("opensm-path-sl.dump");
        let verdict = sim.execute(&format!("judge {}", path_sls.display()));
        assert!(verdict.starts_with("no violations:"), "{spec}: {verdict}");
        assert!(
            !verdict.contains("not checked: credit loops"),
            "{spec}: {verdict}"
        );
    }
}

/// OpenSM's minhop routes a ring of four with a credit loop, and all its paths have SL 0.
#[test]
fn credit_loop_of_one_sl_is_a_violation() {
    let sim = FabricServer::shape("ring:4,1");
    let mut sm = OpenSm::start(&sim, None, &["-R", "minhop"]);
    sm.wait_until_up(1);
    let verdict = sim.execute("judge");
    assert!(verdict.contains("not checked: credit loops"), "{verdict}");
    let done = sim.try_execute("judge 0");
    assert!(!done.status.success(), "{}", done.stdout);
    assert!(
        done.stdout.contains("credit loop of 4 channels"),
        "{}",
        done.stdout
    );
}

/// The default of sites with several tenants: hosts are limited members of the default partition,
/// only the SM is a full member. Both SMs write the limited P_Key into the table of the switch port
/// in front of a host, and the host's queries must pass it.
#[test]
fn limited_members_use_the_sa_of_either_sm() {
    const PARTITIONS: &str = "Default=0x7fff,ipoib : ALL=limited, SELF=full ;\n";
    const HOST: &str = "host-0-1 mlx5_0";
    let query = |sim: &FabricServer, who: &str| {
        let done = sim.run_at(HOST, "saquery", &["-s"]).expect_success();
        assert!(done.stdout.contains("IsSM"), "{who}: {}", done.stdout);
        let table = sim.run("smpquery", &["-D", "pkeys", "0,1", "2"]);
        assert!(table.stdout.contains("0x7fff"), "{who}: {}", table.stdout);
    };
    let sim = FabricServer::shape("fat-tree2:4,2,2");
    let file = sim.dir().join("partitions.conf");
    fs::write(&file, PARTITIONS).unwrap();
    let file = file.display().to_string();
    let mut sm = OpenSm::start(&sim, None, &["-P", &file, "--part_enforce", "both"]);
    sm.wait_until_up(1);
    query(&sim, "OpenSM");
    drop(sm);
    let fabric = ManagedFabric::on(sim, &["-P", &file]);
    query(&fabric.sim, "ferrosm");
}
