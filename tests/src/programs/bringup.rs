//! Initialises a fabric on ibsim with `ferrosm run --once`, and verifies it with independent
//! programs.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::programs::clients::Clients;
use crate::programs::diags::{Net, Observed};
use crate::programs::ibsim::Ibsim;
use crate::programs::{ibdmchk, judge};

/// Number of pairs of end ports that are traced with `ibtracert`.
const TRACED_PAIRS: usize = 6;

/// Initialises the fabric with the additional arguments `args`, and verifies it. Then runs a second
/// time, which must not change anything.
///
/// # Panics
/// If a check fails.
pub fn check(fabric: &str, args: &[&str], lmc: u8) {
    let sim = Ibsim::serve(fabric);
    let cold = sim.net().unwrap_or_else(|reason| panic!("{reason}"));
    let _ = run_once(&sim, args);
    let seen = judge_now(&sim, &cold, lmc);
    trace_pairs(&sim, &seen);
    let end_ports = seen.net.hosts().map(|node| node.ports.len()).sum();
    sound_dumps(&sim.subdir("dump"), sim.dir(), end_ports);

    let again = run_once(&sim, args);
    let after = judge_now(&sim, &cold, lmc);
    assert_eq!(
        seen.net.lids(),
        after.net.lids(),
        "the second run changed a LID"
    );
    assert_eq!(seen.tables, after.tables, "the second run changed a table");
    assert_eq!(
        again["lft_blocks_written"], 0,
        "a second run writes tables: {again}"
    );
    assert_eq!(
        sets_of(&again, "LinearForwardingTable"),
        0,
        "a second run writes tables: {again}"
    );
}

/// Runs `ferrosm run --once` with state and dump directories in the simulator's directory, and
/// returns its report.
///
/// # Panics
/// If the exit status is not 0.
#[must_use]
pub fn run_once(sim: &Ibsim, args: &[&str]) -> Value {
    let state = sim.subdir("state");
    let dump = sim.subdir("dump");
    let state = state.to_string_lossy();
    let dump = dump.to_string_lossy();
    let mut entries = vec![
        "run",
        "--once",
        "--json",
        // The checker reads only forwarding tables, and assumes that all packets use one VL.
        "--vls",
        "1",
        "--state-dir",
        &*state,
        "--dump-dir",
        &*dump,
    ];
    entries.extend_from_slice(args);
    report_in(&sim.ferrosm(&entries).expect_success().stdout)
}

/// Reads the fabric with infiniband-diags, and verifies it. Nodes and links must be those of
/// `cold`.
///
/// # Panics
/// If a check fails.
#[must_use]
pub fn judge_now(sim: &Ibsim, cold: &Net, lmc: u8) -> Observed {
    let seen = sim.observe().unwrap_or_else(|reason| panic!("{reason}"));
    let verdict = judge::examine(&seen);
    verdict.check().unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(
        cabling(&seen.net),
        cabling(cold),
        "nodes or links differ from the initial fabric"
    );
    for (end, (_, found)) in seen.net.lids() {
        // The LMC of a base switch port 0 is always 0.
        let is_switch = end.1 == 0;
        assert!(
            found == lmc || (is_switch && found == 0),
            "LMC of {end:x?} is {found}, expected {lmc}"
        );
    }
    seen
}

/// The links, by each of their ports.
#[must_use]
pub fn cabling(net: &Net) -> BTreeMap<(u64, u8), (u64, u8)> {
    net.nodes
        .values()
        .flat_map(|node| {
            node.ports
                .iter()
                .map(|(&n, port)| ((node.guid, n), (port.peer, port.peer_port)))
        })
        .collect()
}

/// Runs `ibtracert` in both directions between sampled end ports; each hop must match the tables.
fn trace_pairs(sim: &Ibsim, seen: &Observed) {
    let ends: Vec<(u64, u8, u16, u8)> = seen
        .net
        .hosts()
        .flat_map(|node| {
            node.ports
                .iter()
                .map(|(&number, port)| (node.guid, number, port.lid, port.lmc))
        })
        .collect();
    for sample in 0..TRACED_PAIRS {
        // Large primes spread the samples over the fabric, and make them repeatable.
        let one = ends[(sample * 7919) % ends.len()];
        let other = ends[(sample * 104_729 + ends.len() / 2) % ends.len()];
        for (from, to) in [(one, other), (other, one)] {
            if from.0 == to.0 {
                continue;
            }
            // Each sample uses another LID of the LMC range.
            let lid = to.2 + u16::try_from(sample % (1 << to.3)).unwrap_or(0);
            let traced = sim
                .trace(from.2, lid)
                .unwrap_or_else(|reason| panic!("{reason}"));
            let expected = judge::path(&seen.net, &seen.tables, (from.0, from.1), lid)
                .unwrap_or_else(|reason| panic!("{reason}"));
            assert_eq!(traced.hops, expected, "ibtracert {} {lid}", from.2);
            assert_eq!(traced.to, to.0, "ibtracert {} {lid} ends elsewhere", from.2);
        }
    }
}

/// Asserts with `ibdmchk` that the dumps have a path between all pairs of end ports, and no credit
/// loop.
///
/// # Panics
/// If `ibdmchk` reports a fault.
pub fn sound_dumps(dump: &Path, scratch: &Path, end_ports: usize) {
    let report = ibdmchk::run(dump, scratch).unwrap_or_else(|reason| panic!("{reason}"));
    report
        .check(end_ports)
        .unwrap_or_else(|reason| panic!("{reason}"));
}

/// The report of the last sweep in the output of `ferrosm run --once --json`.
///
/// # Panics
/// If the output has no report.
#[must_use]
pub fn report_in(stdout: &str) -> Value {
    let line = stdout
        .lines()
        .rev()
        .find(|line| line.starts_with('{'))
        .unwrap_or_else(|| panic!("no sweep report in the output:\n{stdout}"));
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Number of Set SMPs of an attribute in a report; 0 if the attribute is not listed.
///
/// # Panics
/// If the report has no list of SMPs.
#[must_use]
pub fn sets_of(report: &Value, attribute: &str) -> u64 {
    let Some(rows) = report["smps"].as_array() else {
        panic!("no `smps` in {report}")
    };
    let row = rows.iter().find(|row| row["attribute"] == attribute);
    row.and_then(|row| row["sets"].as_u64()).unwrap_or(0)
}
