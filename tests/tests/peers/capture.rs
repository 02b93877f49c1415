//! `--capture` of a complete bring-up, dissected by tshark: attributes, GUIDs, LIDs and port states
//! must equal those that ferrosm reports.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use ferrosm_tests::programs::paths;
use ferrosm_tests::programs::process::Launch;
use ferrosm_tests::programs::scratch::Scratch;
use serde_json::Value;

const DEADLINE: Duration = Duration::from_secs(60);
const GET_RESP: u64 = 0x81;
const NODE_INFO: u64 = 0x11;
const PORT_INFO: u64 = 0x15;
const LFT: u64 = 0x19;
const ACTIVE: u64 = 4;

/// A packet as tshark prints it: method, attribute, node GUID, LID, port state; 0 where the
/// attribute has no such field.
struct Packet([u64; 5]);

fn by_tshark(scratch: &Scratch, file: &str) -> Vec<Packet> {
    let fields = [
        "infiniband.mad.method",
        "infiniband.mad.attributeid",
        "infiniband.nodeinfo.nodeguid",
        "infiniband.portinfo.lid",
        "infiniband.portinfo.portstate",
    ];
    let mut args = vec!["-r", file, "-T", "fields", "-E", "separator=;"];
    args.extend(fields.iter().flat_map(|f| ["-e", *f]));
    let done = Launch::new("tshark")
        .args(&args)
        .start(scratch.path())
        .wait(DEADLINE)
        .expect_success();
    let number =
        |text: &str| u64::from_str_radix(text.trim().trim_start_matches("0x"), 16).unwrap_or(0);
    done.stdout
        .lines()
        .map(|line| {
            let mut values = line.split(';').map(number);
            Packet(std::array::from_fn(|_| values.next().unwrap_or(0)))
        })
        .collect()
}

fn json_of(scratch: &Scratch, args: &[&str]) -> Value {
    let done = Launch::new(paths::ferrosm())
        .args(args)
        .start(scratch.path())
        .wait(DEADLINE)
        .expect_success();
    let from = done.stdout.find('{').expect("a JSON document");
    serde_json::from_str(&done.stdout[from..]).expect("a JSON document")
}

#[test]
fn tshark_dissects_a_capture_of_ferrosm() {
    let scratch = Scratch::new("capture");
    let report = json_of(
        &scratch,
        &[
            "demo",
            "fat-tree:4",
            "--once",
            "--json",
            "--capture",
            "up.pcapng",
        ],
    );
    let offline = json_of(
        &scratch,
        &["topology", "--from", "fat-tree:4", "--format", "json"],
    );
    let packets = by_tshark(&scratch, "up.pcapng");
    let responses = |attribute: u64| {
        packets
            .iter()
            .map(|p| p.0)
            .filter(move |p| p[0] == GET_RESP && p[1] == attribute)
    };

    let guids: BTreeSet<u64> = offline["nodes"]
        .as_array()
        .expect("nodes")
        .iter()
        .map(|n| n["guid"].as_str().expect("a GUID"))
        .map(|g| u64::from_str_radix(g.trim_start_matches("0x"), 16).expect("a GUID"))
        .collect();
    let seen: BTreeSet<u64> = responses(NODE_INFO).map(|p| p[2]).collect();
    assert_eq!(seen, guids, "node GUIDs by tshark and offline");

    // The last response of every end port has its LID. The LIDs are 1 to the number in the report.
    let lids: BTreeSet<u64> = responses(PORT_INFO)
        .map(|p| p[3])
        .filter(|lid| *lid != 0)
        .collect();
    let count = report["lids"].as_u64().expect("LIDs in use");
    assert_eq!(
        lids,
        (1..=count).collect::<BTreeSet<u64>>(),
        "LIDs by tshark and in the report"
    );

    // Both ends of every link are Active in the end.
    let active = responses(PORT_INFO).filter(|p| p[4] == ACTIVE).count() as u64;
    let links = report["links"].as_u64().expect("links");
    assert!(
        active >= 2 * links,
        "{active} responses with an active port for {links} links"
    );

    // tshark counts the same requests.
    let mut counted: BTreeMap<u64, u64> = BTreeMap::new();
    for p in packets
        .iter()
        .map(|p| p.0)
        .filter(|p| p[0] == 1 || p[0] == 2)
    {
        *counted.entry(p[1]).or_default() += 1;
    }
    for (attribute, name) in [
        (NODE_INFO, "NodeInfo"),
        (PORT_INFO, "PortInfo"),
        (LFT, "LinearForwardingTable"),
    ] {
        let reported = report["smps"]
            .as_array()
            .expect("SMPs")
            .iter()
            .find(|s| s["attribute"] == name);
        let reported = reported.map_or(0, |s| {
            s["gets"].as_u64().unwrap_or(0) + s["sets"].as_u64().unwrap_or(0)
        });
        assert_eq!(
            counted.get(&attribute).copied().unwrap_or(0),
            reported,
            "{name}"
        );
    }
}
