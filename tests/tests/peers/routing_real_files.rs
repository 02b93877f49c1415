//! Fabrics that real sites saved, and those of ibutils' tests, with the default engine and without any hint: routed, proven,
//! and sound for the judge and for ibdmchk.
//!
//! They are read from `../shared/topologies` where that folder is beside the workspace; elsewhere this says that it is not,
//! and passes.

use std::path::Path;

use ferrosm_tests::fabrics::saved;
use ferrosm_tests::routing::{Fabric, Outcome, judge, route};
use ferrosm_tests::scratch::Scratch;

/// Files that must be there if the folder is, so that a file that is gone does not go unnoticed.
const KNOWN: [&str; 6] = [
    "selene-compute.net",
    "dgx-ndr-topograph.net",
    "4-ary-2-tree-missing-sw-link.net",
    "4-ary-2-tree-links-at-same-rank-1.net",
    "merge-roots-4-ary-2-tree.net",
    "RhinoReindeer1100.net",
];

/// Full trees: with every shift of the end ports, no cable carries more than one flow (ibutils' rule for fat trees).
const FULL_TREES: [&str; 3] = ["4-ary-2-tree.net", "2-ary-4-tree.net", "12-ary-2-tree.net"];

/// Every file, by the default engine with the lanes that it takes by itself, and then on one.
#[test]
fn saved_fabrics_are_routed_without_hints() {
    let files = saved();
    if files.is_empty() {
        return;
    }
    let scratch = Scratch::new("routing");
    let mut seen = Vec::new();
    for (path, text) in files {
        let name = Path::new(&path)
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let fabric = Fabric {
            name: name.unwrap_or(path),
            text,
        };
        let mut several = true;
        for vls in [None, Some(1)] {
            if !several {
                break;
            }
            let routed = match route(&fabric, None, vls, &scratch) {
                Outcome::Routed(routed) => routed,
                Outcome::Refused(why) => panic!("{}: {why}", fabric.name),
            };
            let verdict = judge(&fabric, &routed, vls.unwrap_or(15), scratch.path())
                .unwrap_or_else(|what| panic!("{}, {vls:?} lanes: {what}", fabric.name));
            // On one lane again only where there were more.
            several = routed.document["vls"].as_u64() != Some(1);
            let (engine, document) = (&routed.document["engine"], &routed.document);
            println!(
                "{}: {} switches, {} end ports, {engine}, {} of {vls:?} lanes, at most {} switches on a path, {} ms",
                fabric.name,
                fabric.switches(),
                verdict.end_ports,
                verdict.vls,
                verdict.longest,
                document["compute_ms"]
            );
            assert_eq!(
                document["left_out_nodes"].as_u64(),
                Some(0),
                "{}",
                fabric.name
            );
            if FULL_TREES.contains(&fabric.name.as_str()) {
                let worst = &document["quality"]["shift_by_leaf"]["worst"];
                assert!(
                    worst.as_u64().is_some_and(|worst| worst <= 1),
                    "{}: {worst} flows on a cable",
                    fabric.name
                );
            }
        }
        seen.push(fabric.name);
    }
    for known in KNOWN {
        assert!(
            seen.iter().any(|name| name == known),
            "{known} is not there"
        );
    }
}
