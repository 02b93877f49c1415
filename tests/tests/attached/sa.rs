//! Subnet administration before a program that real hosts run: saquery.
//!
//! It was not written here, and does not know ferrosm. osmtest is `osmtest`'s; that both also pass on the same
//! simulated fabric with OpenSM is `opensm`'s.

use ferrosm_tests::clients::Clients;
use ferrosm_tests::managed_fabric::ManagedFabric;

/// Every record that saquery can ask for without further words is answered.
#[test]
fn saquery_reads_records_from_ferrosm() {
    let lab = ManagedFabric::start("fat-tree2:8,2,3", &[]);
    let mut wrong = Vec::new();
    for (flag, word) in [
        ("-c", "SA ClassPortInfo"),
        ("-N", "NodeRecord dump"),
        ("-p", "PathRecord dump"),
        ("-x", "LinkRecord dump"),
        ("-g", "MCMemberRecord group dump"),
        ("-s", "PortInfoRecord dump"),
    ] {
        let asked = lab.sim.run("saquery", &[flag]);
        if !asked.status.success() || !asked.stdout.contains(word) {
            wrong.push(format!("{flag}: {}", asked.describe()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
