//! One cold fabric on ibsim, brought up by `ferrosm run --once`, and everything that outside programs say of it.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::clients::Clients;
use crate::diags::{Net, Observed};
use crate::ibsim::Ibsim;
use crate::{ibdmchk, judge};

/// Pairs of end ports that `ibtracert` is asked about.
const TRACED_PAIRS: usize = 6;

/// Brings the fabric up with `args` added to the command line, and judges it; then does it again, and nothing may
/// change.
///
/// # Panics
/// With what is wrong.
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
        "a second run changes a LID"
    );
    assert_eq!(seen.tables, after.tables, "a second run changes a table");
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

/// Runs `ferrosm run --once` with a state and a dump directory of the simulator's own; its report.
///
/// # Panics
/// If it does not exit with 0.
#[must_use]
pub fn run_once(sim: &Ibsim, args: &[&str]) -> Value {
    let (state, dump) = (sim.subdir("state"), sim.subdir("dump"));
    let (state, dump) = (state.to_string_lossy(), dump.to_string_lossy());
    let mut all = vec![
        "run",
        "--once",
        "--json",
        // What judges here reads forwarding tables alone: all packets are on one lane for it.
        "--vls",
        "1",
        "--state-dir",
        &*state,
        "--dump-dir",
        &*dump,
    ];
    all.extend_from_slice(args);
    report_in(&sim.ferrosm(&all).expect_success().stdout)
}

/// Observes the fabric and judges it: sound, and the same nodes and cables as `cold`.
///
/// # Panics
/// With what is wrong.
#[must_use]
pub fn judge_now(sim: &Ibsim, cold: &Net, lmc: u8) -> Observed {
    let seen = sim.observe().unwrap_or_else(|reason| panic!("{reason}"));
    let verdict = judge::examine(&seen);
    verdict.sound().unwrap_or_else(|faults| panic!("{faults}"));
    assert_eq!(
        cabling(&seen.net),
        cabling(cold),
        "not the fabric that was there before"
    );
    for (end, (_, found)) in seen.net.lids() {
        // A base switch port 0 has LMC 0 whatever the subnet's is.
        let is_switch = end.1 == 0;
        assert!(
            found == lmc || (is_switch && found == 0),
            "LMC of {end:x?} is {found}, not {lmc}"
        );
    }
    seen
}

/// Which port is cabled to which.
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

/// `ibtracert` both ways between sampled end ports; each hop must be what the tables say.
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
        // Large primes: spread over the fabric, the same every time.
        let one = ends[(sample * 7919) % ends.len()];
        let other = ends[(sample * 104_729 + ends.len() / 2) % ends.len()];
        for (from, to) in [(one, other), (other, one)] {
            if from.0 == to.0 {
                continue;
            }
            // Another path of the LMC range for each sample.
            let lid = to.2 + u16::try_from(sample % (1 << to.3)).unwrap_or(0);
            let said = sim
                .trace(from.2, lid)
                .unwrap_or_else(|reason| panic!("{reason}"));
            let walked = judge::path(&seen.net, &seen.tables, (from.0, from.1), lid)
                .unwrap_or_else(|reason| panic!("{reason}"));
            assert_eq!(said.hops, walked, "ibtracert {} {lid}", from.2);
            assert_eq!(said.to, to.0, "ibtracert {} {lid} ends elsewhere", from.2);
        }
    }
}

/// `ibdmchk` on the dump files: every pair of end ports has a path, no credit loop.
///
/// # Panics
/// With what it says.
pub fn sound_dumps(dump: &Path, scratch: &Path, end_ports: usize) {
    let opinion = ibdmchk::ask(dump, scratch).unwrap_or_else(|reason| panic!("{reason}"));
    opinion
        .sound(end_ports)
        .unwrap_or_else(|reason| panic!("{reason}"));
}

/// The report of the last sweep in what `ferrosm run --once --json` printed.
///
/// # Panics
/// If it is not there.
#[must_use]
pub fn report_in(stdout: &str) -> Value {
    let line = stdout.lines().rev().find(|line| line.starts_with('{'));
    let line = line.unwrap_or_else(|| panic!("no report of a sweep in the output:\n{stdout}"));
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

/// Set SMPs of an attribute in a report; 0 where it is not listed.
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
