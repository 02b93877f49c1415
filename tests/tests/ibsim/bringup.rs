//! Unconfigured fabrics on Debian's ibsim, brought up by `ferrosm run --once` and checked by
//! infiniband-diags and `ibdmchk`.
//!
//! Each test requires exit status 0, unique valid LIDs, every link Active, LFT paths from every
//! host to every host and switch, and no credit loop. `ibtracert` must agree hop by hop and
//! `ibdmchk` on the dump files. A second run must change no LID and write no LFT block.

use ferrosm_tests::fabrics::{by_spec, ibsim_example};
use ferrosm_tests::programs::bringup::check;

/// ibsim's own examples: one and two switches, parallel links, two-port CAs. The SM runs on a
/// switch where the file begins with one.
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

/// A random graph with unordered GUIDs.
#[test]
fn random_graph() {
    check(&by_spec("random:24,5,3,1;shuffle"), &[], 0);
}

/// A tenth of the links between switches is missing.
#[test]
fn degraded_fat_tree() {
    check(&by_spec("fat-tree:8;drop=0.1;seed=3"), &[], 0);
}

/// Four LIDs per port.
#[test]
fn lmc_2() {
    check(&by_spec("fat-tree:4"), &["--lmc", "2"], 2);
}

/// Every switch has an end port, so end ports do not distinguish leaves from spines.
#[test]
fn aggregation_node_in_every_switch() {
    check(&by_spec("fat-tree:6;sharp"), &[], 0);
}

/// Hosts on spines, parallel links, loopback cables and mixed speeds combined.
#[test]
fn irregular_fat_tree() {
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
