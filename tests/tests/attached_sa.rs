//! Subnet administration before the programs that real hosts run: osmtest, saquery.
//!
//! None of them was written here, and none knows ferrosm. That they also pass on the same simulated fabric with OpenSM is
//! `attached_opensm`'s.

use ferrosm_sim::generate::from_spec;
use ferrosm_tests::administered::Administered;
use ferrosm_tests::clients::Clients;
use ferrosm_tests::opensm::osmtest;

/// The node that a shape names last, far from the first.
fn last_node(spec: &str) -> String {
    let last = from_spec(spec)
        .ok()
        .and_then(|mut fabric| fabric.nodes.pop());
    last.map(|node| node.description).unwrap_or_default()
}

/// A fabric with ferrosm in charge, and the inventory that osmtest makes of it.
fn inventory(spec: &str) -> (Administered, String) {
    let lab = Administered::start(spec, &[]);
    let far = last_node(spec);
    osmtest(&lab.sim, &far, &["-f", "c"]);
    (lab, far)
}

#[test]
fn osmtest_makes_an_inventory() {
    let _ = inventory("fat-tree2:8,2,3");
}

/// Services: leases, keys, names.
#[test]
fn osmtest_services_pass() {
    let (lab, far) = inventory("star:4");
    osmtest(&lab.sim, &far, &["-f", "s"]);
}

/// Multicast: about sixty rules of joining and leaving. Each mode on a fabric of its own: they expect what a mode before them
/// left, or nothing.
#[test]
fn osmtest_multicast_passes_in_every_mode() {
    for mode in ["1", "2", "3", "4"] {
        let (lab, far) = inventory("star:4");
        osmtest(&lab.sim, &far, &["-f", "m", "-M", mode]);
    }
}

/// 100,000 single paths, one after the other.
#[test]
fn osmtest_stress_of_single_paths_passes() {
    let (lab, far) = inventory("fat-tree2:8,2,3");
    osmtest(&lab.sim, &far, &["-f", "f", "-s4"]);
}

/// Every record that saquery can ask for without further words is answered.
#[test]
fn saquery_is_answered() {
    let lab = Administered::start("fat-tree2:8,2,3", &[]);
    let mut wrong = Vec::new();
    for (flag, word) in [
        ("-c", "SA ClassPortInfo"),
        ("-N", "NodeRecord dump"),
        ("-p", "PathRecord dump"),
        ("-x", "LinkRecord dump"),
        ("-g", "MCMemberRecord group dump"),
        ("-s", "IsSM ports"),
    ] {
        let asked = lab.sim.run("saquery", &[flag]);
        if !asked.status.success() || !asked.stdout.contains(word) {
            wrong.push(format!("{flag}: {}", asked.describe()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
