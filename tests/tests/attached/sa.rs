//! The SA of ferrosm, queried by saquery, an independent program that real hosts run.
//!
//! `osmtest.rs` runs osmtest. `opensm.rs` checks that both programs also pass on the same simulated
//! fabric with OpenSM.

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::managed_fabric::ManagedFabric;

/// The SA replies to every record query that saquery sends without further arguments.
#[test]
fn saquery_reads_records_from_ferrosm() {
    let lab = ManagedFabric::start("fat-tree2:8,2,3", &[]);
    let mut failures = Vec::new();
    for (flag, word) in [
        ("-c", "SA ClassPortInfo"),
        ("-N", "NodeRecord dump"),
        ("-p", "PathRecord dump"),
        ("-x", "LinkRecord dump"),
        ("-g", "MCMemberRecord group dump"),
        ("-s", "PortInfoRecord dump"),
    ] {
        let result = lab.sim.run("saquery", &[flag]);
        if !result.status.success() || !result.stdout.contains(word) {
            failures.push(format!("{flag}: {}", result.describe()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
