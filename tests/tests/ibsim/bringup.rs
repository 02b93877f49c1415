//! Cold fabrics on Debian's ibsim, brought up by `ferrosm run --once`, judged by infiniband-diags and `ibdmchk`.
//!
//! Each test: exit status 0, unique legal LIDs, every link Active, every host reaches every host and switch by
//! the bytes in the tables, no credit loop, `ibtracert` agrees hop by hop, `ibdmchk` agrees on the dump files, and
//! a second run changes no LID and writes no forwarding table block.

use ferrosm_tests::bringup::check;
use ferrosm_tests::fabrics::{by_spec, ibsim_example};

/// ibsim's own examples: one and two switches, parallel cables, two-port CAs; the subnet manager is on a switch in
/// those whose file begins with one.
#[test]
fn ibsim_examples() {
    for name in [
        "net",
        "net.1",
        "net.2sw2path",
        "net.2sw2path4hca",
        "net.2sw2path4hca2port",
    ] {
        println!("{name}");
        check(&ibsim_example(name), &[], 0);
    }
}

/// 648 hosts, 54 switches of 36 ports.
#[test]
fn two_level_fat_tree_of_648_hosts() {
    check(&by_spec("fat-tree2:36,36,18"), &[], 0);
}

/// 128 hosts, 80 switches of 8 ports.
#[test]
fn three_level_fat_tree() {
    check(&by_spec("fat-tree:8"), &[], 0);
}

/// Minimal routing deadlocks here: rings in three dimensions.
#[test]
fn torus() {
    check(&by_spec("torus:4,4,3,2"), &[], 0);
}

/// Nine groups of four routers.
#[test]
fn dragonfly() {
    check(&by_spec("dragonfly:4,9,2,2"), &[], 0);
}

/// The smallest fabric on which shortest paths deadlock.
#[test]
fn ring() {
    check(&by_spec("ring:8,2"), &[], 0);
}

/// No structure at all, GUIDs in no order.
#[test]
fn random_graph() {
    check(&by_spec("random:24,5,3,1;shuffle"), &[], 0);
}

/// A tenth of the cables between switches is missing.
#[test]
fn degraded_fat_tree() {
    check(&by_spec("fat-tree:8;drop=0.1;seed=3"), &[], 0);
}

/// Four LIDs a port.
#[test]
fn lmc_2() {
    check(&by_spec("fat-tree:4"), &["--lmc", "2"], 2);
}

/// Every switch has a CA inside, so every switch looks like a leaf.
#[test]
fn aggregation_node_in_every_switch() {
    check(&by_spec("fat-tree:6;sharp"), &[], 0);
}

/// Hosts on spines, parallel cables, loopback cables, mixed speeds, all at once.
#[test]
fn untidy_fat_tree() {
    check(
        &by_spec("fat-tree2:36,6,4;sharp;spine-hosts=3;loopbacks=2;mixed-speeds;drop=0.1"),
        &[],
        0,
    );
}

/// One switch.
#[test]
fn single_switch() {
    check(&by_spec("single-switch:3"), &[], 0);
}
