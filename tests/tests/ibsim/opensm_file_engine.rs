//! OpenSM as the judge of ferrosm's dumps: its `file` engine reads our LFTs and LID matrix,
//! installs them and dumps them again.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::ibsim::Ibsim;
use ferrosm_tests::programs::routing::{Fabric, Outcome, route};
use ferrosm_tests::programs::routing_dumps::{Dumps, NO_PORT, names};
use ferrosm_tests::programs::scratch::Scratch;

const LID_MATRIX: &str = "opensm-lid-matrix.dump";

/// Output ports by switch and destination port GUID, which do not depend on the assigned LIDs.
fn by_guid(dumps: &Dumps) -> BTreeMap<(u64, u64), u8> {
    let mut out = BTreeMap::new();
    for (guid, (node, port)) in &dumps.owners {
        let Some(lid) = dumps.nodes[node].lids.get(port) else {
            continue;
        };
        for (switch, table) in &dumps.tables {
            let entry = table.get(usize::from(*lid)).copied().unwrap_or(NO_PORT);
            out.insert((*switch, *guid), entry);
        }
    }
    out
}

/// Rows of a LID matrix by switch, destination LID and destination port GUID.
fn matrix(file: &Path) -> BTreeMap<(String, String, String), String> {
    let mut rows = BTreeMap::new();
    let mut switch = String::new();
    for line in fs::read_to_string(file).unwrap().lines() {
        if let Some(guid) = line.strip_prefix("Switch: guid ") {
            guid.clone_into(&mut switch);
            continue;
        }
        let (lid, remaining) = line.split_once(": ").unwrap();
        let (hops, guid) = remaining.split_once(" # portguid ").unwrap();
        let key = (switch.clone(), lid.to_owned(), guid.to_owned());
        let old = rows.insert(key, hops.to_owned());
        assert_eq!(old, None, "{line}");
    }
    rows
}

type Rows = BTreeMap<(String, String), String>;

/// Rows by switch and destination LID.
fn by_lid(rows: BTreeMap<(String, String, String), String>) -> Rows {
    let rows = rows.into_iter();
    rows.map(|((switch, lid, _), hops)| ((switch, lid), hops))
        .collect()
}

/// Rows by switch and destination GUID.
fn by_destination_guid(rows: BTreeMap<(String, String, String), String>) -> Rows {
    let rows = rows.into_iter();
    rows.map(|((switch, _, guid), hops)| ((switch, guid), hops))
        .collect()
}

/// Routes that OpenSM would not compute itself: up/down on a ring, on a mesh, on a tree with failed
/// links.
#[test]
fn opensm_installs_the_lfts_of_our_dump() {
    for (spec, engine) in [
        ("ring:6,1", "updn"),
        ("mesh:3,3,1,2", "dor"),
        ("fat-tree:4;drop=0.1", "dmodc"),
    ] {
        let scratch = Scratch::new("file-peer");
        let fabric = Fabric::of_spec(spec);
        let Outcome::Routed(routed) = route(&fabric, Some(engine), Some(1), &scratch) else {
            panic!("{spec}: {engine} rejected the fabric");
        };
        let own_dumps = Dumps::read(&routed.dump).unwrap();
        let path = |name: &str| routed.dump.join(name).display().to_string();
        let lfts = path(names::LFTS);
        let hops = path(LID_MATRIX);

        let sim = Ibsim::serve(&fabric.text);
        let args = ["-R", "file,no_fallback", "-U", &lfts, "-M", &hops];
        let _ = sim.opensm_once(&args).expect_success();
        let log = fs::read_to_string(sim.dir().join("opensm.log")).unwrap();
        assert!(log.contains("SUBNET UP"), "{spec}: {log}");
        for invalid in ["PARSE", "ERR 63", "cannot find", "using default"] {
            assert!(!log.contains(invalid), "{spec}: {invalid}: {log}");
        }
        let dump = sim.subdir("dump");
        let opensm_dumps = Dumps::read(&dump).unwrap();
        assert_eq!(
            by_guid(&opensm_dumps),
            by_guid(&own_dumps),
            "{spec}: tables"
        );
        // Rows keep the LIDs of the file, whichever ports have them now.
        assert_eq!(
            by_lid(matrix(&dump.join(LID_MATRIX))),
            by_lid(matrix(&routed.dump.join(LID_MATRIX))),
            "{spec}: matrix"
        );

        // OpenSM's own hop counts equal ours.
        let minhop_sim = Ibsim::serve(&fabric.text);
        let _ = minhop_sim.opensm_once(&["-R", "minhop"]).expect_success();
        let opensm_rows = by_destination_guid(matrix(&minhop_sim.subdir("dump").join(LID_MATRIX)));
        let shortest = |row: &str| {
            let hops = row.split_whitespace();
            let hops: Vec<u8> = hops.map(|h| u8::from_str_radix(h, 16).unwrap()).collect();
            let min = hops.iter().copied().min();
            let ports = (0u8..).zip(hops).filter(|(_, h)| Some(*h) == min);
            (min, ports.map(|(port, _)| port).collect::<Vec<_>>())
        };
        let own_rows = by_destination_guid(matrix(&routed.dump.join(LID_MATRIX)));
        assert!(opensm_rows.keys().eq(own_rows.keys()), "{spec}");
        for (target, row) in &own_rows {
            assert_eq!(
                shortest(row),
                shortest(&opensm_rows[target]),
                "{spec}: {target:?}"
            );
        }
    }
}
