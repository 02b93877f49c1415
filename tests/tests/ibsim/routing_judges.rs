//! The routing judges, on routings by OpenSM and on dumps damaged on purpose: they must reject what
//! is invalid.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use ferrosm_tests::fabrics::by_spec;
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::diags::Net;
use ferrosm_tests::programs::ibdmchk;
use ferrosm_tests::programs::ibsim::Ibsim;
use ferrosm_tests::programs::routing_dumps::{Dumps, names};
use ferrosm_tests::programs::routing_judge::{self, Verdict};

/// OpenSM's routing of a fabric. Returns the fabric and the simulator whose directory `dump` has
/// the files.
fn by_opensm(spec: &str, engine: &str) -> (Net, Ibsim) {
    let text = by_spec(spec);
    let sim = Ibsim::serve(&text);
    let _ = sim.opensm_once(&["-R", engine]).expect_success();
    (Net::parse(&text).unwrap(), sim)
}

fn run_judges(net: &Net, sim: &Ibsim) -> (Verdict, ibdmchk::Report) {
    let dump = sim.subdir("dump");
    let dumps = Dumps::read(&dump).unwrap();
    (
        routing_judge::examine(net, &dumps),
        ibdmchk::run(&dump, sim.dir()).unwrap(),
    )
}

/// The switch and the LID of each end node, by node GUID.
fn attachments(dumps: &Dumps) -> BTreeMap<u64, (u64, u16)> {
    let ends = dumps.nodes.iter().filter(|(_, node)| !node.switch);
    ends.map(|(&guid, node)| (guid, (dumps.cables[&(guid, 1)].0, node.lids[&1])))
        .collect()
}

/// Writes the SL of each path between end nodes.
fn write_sls(dump: &Path, dumps: &Dumps, sl: impl Fn(u64, u64) -> u8) {
    let attachments = attachments(dumps);
    let mut text = String::new();
    for (sender, (from, _)) in &attachments {
        for (to, lid) in attachments.values() {
            writeln!(text, "0x{sender:016x} {lid} {}", sl(*from, *to)).unwrap();
        }
    }
    fs::write(dump.join(names::PATH_SL), text).unwrap();
}

/// A tree routed by OpenSM: both judges accept it and report the same counts.
#[test]
fn both_judges_accept_a_valid_tree() {
    for (spec, engine) in [("fat-tree:4", "ftree"), ("fat-tree2:8,8,4", "minhop")] {
        let (net, sim) = by_opensm(spec, engine);
        let (verdict, ibdmchk_report) = run_judges(&net, &sim);
        verdict.check(1).unwrap();
        ibdmchk_report.check(verdict.end_ports).unwrap();
        assert_eq!(verdict.vls, 1);
    }
}

/// OpenSM's shortest paths around a ring deadlock on one VL. Moving all paths over one link to a
/// second SL breaks the cycle. The same SLs mapped to one VL do not break it, and neither does one
/// SL for all paths.
#[test]
fn both_judges_require_a_second_vl_on_a_ring() {
    let (net, sim) = by_opensm("ring:6,1", "minhop");
    let dump = sim.subdir("dump");
    let (verdict, ibdmchk_report) = run_judges(&net, &sim);
    assert!(
        verdict.cyclic > 0 && ibdmchk_report.credit_loop,
        "{verdict:?} {ibdmchk_report:?}"
    );

    let dumps = Dumps::read(&dump).unwrap();
    let switches: Vec<u64> = dumps.tables.keys().copied().collect();
    let first = switches[0];
    let last = switches[switches.len() - 1];
    // Whether the path by the LFTs uses the link between the first and the last switch.
    let over_dateline = |from: u64, to: u64| {
        let lid = attachments(&dumps)
            .values()
            .find(|(home, _)| *home == to)
            .unwrap()
            .1;
        let mut at = from;
        let mut crossed = false;
        while at != to {
            let out = dumps.tables[&at][usize::from(lid)];
            let next = dumps.cables[&(at, out)].0;
            crossed |= (at, next) == (first, last) || (at, next) == (last, first);
            at = next;
        }
        u8::from(crossed)
    };
    write_sls(&dump, &dumps, over_dateline);
    let (verdict, ibdmchk_report) = run_judges(&net, &sim);
    verdict.check(2).unwrap();
    ibdmchk_report.check(verdict.end_ports).unwrap();
    assert_eq!(verdict.vls, 2);

    let mut one_vl = String::new();
    for (&(guid, _), _) in dumps
        .cables
        .iter()
        .filter(|((guid, port), _)| dumps.nodes[guid].switch && *port == 1)
    {
        let _ = writeln!(one_vl, "Switch 0x{guid:016x}, base LID 1, \"switch\"");
        let ports: Vec<u8> = dumps
            .cables
            .keys()
            .filter(|(node, _)| *node == guid)
            .map(|(_, port)| *port)
            .collect();
        for (input, out) in ports.iter().flat_map(|i| ports.iter().map(move |o| (i, o))) {
            let _ = writeln!(one_vl, "{input:<3} {out:<3} : {}", [" 0"; 16].join(" "));
        }
    }
    fs::write(dump.join(names::SL2VL), one_vl).unwrap();
    let (verdict, ibdmchk_report) = run_judges(&net, &sim);
    assert!(
        verdict.cyclic > 0 && ibdmchk_report.credit_loop,
        "two SLs, one VL: {verdict:?} {ibdmchk_report:?}"
    );
    assert_eq!(verdict.vls, 1);

    fs::remove_file(dump.join(names::SL2VL)).unwrap();
    write_sls(&dump, &dumps, |_, _| 1);
    let (verdict, ibdmchk_report) = run_judges(&net, &sim);
    assert!(
        verdict.cyclic > 0 && ibdmchk_report.credit_loop,
        "one SL for all: {verdict:?} {ibdmchk_report:?}"
    );
}

/// A missing LFT entry, an entry back to the previous switch, an entry to another host, a link
/// absent from the file, and VL 15: the judge reports each.
#[test]
fn routing_judge_rejects_altered_dumps() {
    let (net, sim) = by_opensm("fat-tree:4", "minhop");
    let valid_dumps = Dumps::read(&sim.subdir("dump")).unwrap();
    routing_judge::examine(&net, &valid_dumps).check(1).unwrap();
    let attachments = attachments(&valid_dumps);
    let (&sender, &(leaf, lid)) = attachments.first_key_value().unwrap();
    let (&far, &(far_leaf, far_lid)) = attachments.last_key_value().unwrap();
    let to_sender = valid_dumps.cables[&(sender, 1)].1;
    let judge = |dumps: &Dumps| routing_judge::examine(&net, dumps);

    let mut altered = valid_dumps.clone();
    altered.tables.get_mut(&far_leaf).unwrap()[usize::from(lid)] = 255;
    assert!(judge(&altered).faults[0].contains("does not arrive"));

    let mut altered = valid_dumps.clone();
    let up = valid_dumps.tables[&leaf][usize::from(far_lid)];
    let (next, back) = valid_dumps.cables[&(leaf, up)];
    altered.tables.get_mut(&next).unwrap()[usize::from(far_lid)] = back;
    assert!(
        judge(&altered)
            .faults
            .iter()
            .any(|fault| fault.contains("loops"))
    );

    let mut altered = valid_dumps.clone();
    altered.tables.get_mut(&leaf).unwrap()[usize::from(far_lid)] = to_sender;
    assert_eq!(judge(&altered).unreachable, 1);

    let mut altered = valid_dumps.clone();
    let peer = altered.cables.remove(&(far, 1)).unwrap();
    altered.cables.remove(&peer);
    assert!(judge(&altered).faults[0].contains("no cable"));

    let mut altered = valid_dumps.clone();
    let mut maps = BTreeMap::new();
    for (&(guid, out), _) in valid_dumps
        .cables
        .iter()
        .filter(|((guid, _), _)| valid_dumps.nodes[guid].switch)
    {
        (0..=valid_dumps.tables[&guid].len().min(36)).for_each(|input| {
            maps.insert((guid, u8::try_from(input).unwrap(), out), [0; 16]);
        });
    }
    altered.vls = Some(maps.clone());
    judge(&altered).check(1).unwrap();
    maps.insert((leaf, to_sender, up), [15; 16]);
    altered.vls = Some(maps);
    assert!(judge(&altered).faults[0].contains("drops SL 0"));
}
