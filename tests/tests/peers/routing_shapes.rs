//! Every engine on every topology, intact and with 1, 5 and 20 % of the links between switches
//! failed. ferrosm's verification, [`judge`] and ibdmchk must accept each routing. An engine that
//! refuses a fabric must do so for the reason in `tests/seeds/routing-refusals.txt`. A new refusal
//! fails the test, and so does a listed one that no longer occurs.
//!
//! By default a subset of the matrix runs. `FERROSM_ROUTING_MATRIX=full` runs the complete matrix
//! and prints a line for each case. `FERROSM_ROUTING_MATRIX=write` also rewrites the table: review
//! the changes before you commit them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use ferrosm_routing::ENGINE_NAMES;
use ferrosm_tests::programs::paths::workspace;
use ferrosm_tests::programs::routing::{Fabric, Outcome, full_matrix, judge, route, writes_table};
use ferrosm_tests::programs::scratch::Scratch;

/// The expected refusals.
const REFUSALS: &str = "tests/seeds/routing-refusals.txt";

/// Begins the line of a routing that is invalid.
const INVALID: &str = "invalid routing";

/// When a case runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// In every run: intact, and with one of the failure rates in rotation.
    Always,
    /// Only in the full matrix.
    FullMatrix,
}

/// Topologies and their numbers of VLs. Every engine runs on all of them.
const TOPOLOGIES: [(&str, u8, When); 31] = [
    // trees
    ("fat-tree:4", 8, When::Always),
    ("fat-tree:8", 8, When::FullMatrix),
    ("fat-tree:6;sharp", 8, When::Always),
    ("fat-tree:4;dual-port", 8, When::FullMatrix),
    ("fat-tree:4;parallel=2;spine-hosts=3", 8, When::Always),
    (
        "fat-tree:4;loopbacks=2;plugs=2;routers=2;shuffle",
        8,
        When::FullMatrix,
    ),
    ("fat-tree2:12,8,5", 8, When::Always),
    ("fat-tree2:16,12,8;sharp", 8, When::FullMatrix),
    ("xgft:3,4,4/1,2,3", 8, When::Always),
    ("pgft:4,3,3/1,2,2/1,2,1", 8, When::Always),
    ("pgft:4,3,3/1,2,2/1,1,2;sharp", 1, When::FullMatrix),
    ("rail-pods:2,4,4,4,2", 8, When::Always),
    // grids
    ("torus:4,4,1,2", 8, When::Always),
    ("torus:4,4,3,1", 8, When::Always),
    ("torus:5,4,3,1;sharp", 8, When::FullMatrix),
    ("torus:4,5,1,2;parallel=2", 8, When::FullMatrix),
    ("torus:6,6,1,1", 2, When::FullMatrix),
    ("torus:4,4,1,2;shuffle", 1, When::FullMatrix),
    ("mesh:4,4,1,2", 8, When::Always),
    ("mesh:4,3,3,1", 1, When::FullMatrix),
    ("ring:8,2", 8, When::Always),
    ("ring:5,2", 1, When::FullMatrix),
    ("hyperx:4,4,2", 8, When::Always),
    ("hyperx:3x3x3,1", 8, When::FullMatrix),
    // groups, and irregular graphs
    ("dragonfly:4,5,1,2", 8, When::Always),
    ("dragonfly+:4,3,3,2,2", 8, When::Always),
    ("slim-fly:5,1", 8, When::Always),
    ("random:16,4,2,7", 8, When::Always),
    ("random:24,5,2,11;dual-port;sharp", 2, When::FullMatrix),
    ("random:30,3,1,3;loopbacks=2;plugs=1", 15, When::FullMatrix),
    ("star:7", 8, When::Always),
];

/// Fractions of links between switches that fail, and the seeds of their selection.
const LOSSES: [(&str, u64); 4] = [
    ("", 0),
    (";drop=0.01", 5),
    (";drop=0.05", 6),
    (";drop=0.2", 7),
];

/// One routing run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    engine: String,
    spec: String,
    vls: u8,
}

fn cases() -> Vec<Case> {
    let full = full_matrix();
    let mut entries = Vec::new();
    for (index, (shape, vls, when)) in TOPOLOGIES.iter().enumerate() {
        for (number, (loss, seed)) in LOSSES.iter().enumerate() {
            // Intact, and one of the three failure rates.
            let always = *when == When::Always && (number == 0 || number == 1 + index % 3);
            if !full && !always {
                continue;
            }
            let spec = spec_of(shape, loss, *seed);
            for engine in ENGINE_NAMES {
                // The engine needs an input file and has its own tests.
                if *engine != "file" {
                    entries.push(Case {
                        engine: (*engine).to_owned(),
                        spec: spec.clone(),
                        vls: *vls,
                    });
                }
            }
        }
    }
    entries
}

/// Name of a failure rate in [`REFUSALS`]: per cent of the links.
fn percent(loss: &str) -> &str {
    match loss {
        "" => "0",
        ";drop=0.01" => "1",
        ";drop=0.05" => "5",
        _ => "20",
    }
}

fn spec_of(shape: &str, loss: &str, seed: u64) -> String {
    // The parameters of `random` include its seed; this seed selects the failed links.
    if loss.is_empty() {
        shape.to_owned()
    } else {
        format!("{shape}{loss};seed={seed}")
    }
}

/// Reads [`REFUSALS`]: `engine: reason`, followed by lines `shape | VLs | failure rates`.
fn expected_refusals() -> BTreeMap<Case, String> {
    let file = workspace().join(REFUSALS);
    let text =
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut map = BTreeMap::new();
    let mut engine_and_reason = ("", "");
    for line in text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
    {
        if !line.starts_with(' ') {
            engine_and_reason = line
                .split_once(": ")
                .unwrap_or_else(|| panic!("{REFUSALS}: cannot read: {line}"));
            continue;
        }
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [shape, vls, losses] = parts.as_slice() else {
            panic!("{REFUSALS}: cannot read: {line}")
        };
        let vls = vls
            .parse()
            .unwrap_or_else(|_| panic!("{REFUSALS}: cannot read: {line}"));
        for name in losses.split_whitespace() {
            let loss = LOSSES.iter().find(|(loss, _)| percent(loss) == name);
            let (loss, seed) =
                loss.unwrap_or_else(|| panic!("{REFUSALS}: unknown failure rate: {line}"));
            let case = Case {
                engine: engine_and_reason.0.to_owned(),
                spec: spec_of(shape, loss, *seed),
                vls,
            };
            assert!(
                map.insert(case, engine_and_reason.1.to_owned()).is_none(),
                "{REFUSALS}: duplicate: {line}"
            );
        }
    }
    map
}

/// The table in the format of [`REFUSALS`].
fn table(refusals: &BTreeMap<Case, String>) -> String {
    let mut blocks: BTreeMap<(usize, &str), Vec<String>> = BTreeMap::new();
    for (shape, vls, _) in TOPOLOGIES {
        for (index, engine) in ENGINE_NAMES.iter().enumerate() {
            let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for (loss, seed) in LOSSES {
                let case = Case {
                    engine: (*engine).to_owned(),
                    spec: spec_of(shape, loss, seed),
                    vls,
                };
                if let Some(reason) = refusals.get(&case) {
                    by_reason.entry(reason).or_default().push(percent(loss));
                }
            }
            for (reason, losses) in by_reason {
                let line = format!("    {shape} | {vls} | {}", losses.join(" "));
                blocks.entry((index, reason)).or_default().push(line);
            }
        }
    }
    let mut text = String::from(
        "# Expected refusals. For each engine and reason (only its beginning; numbers as `#`): topology | VLs | per cent of failed links.\n\
         # tests/tests/peers/routing_shapes.rs compares them with the results of `ferrosm route`, and can rewrite this file.\n",
    );
    for ((index, reason), lines) in blocks {
        text.push_str(&format!(
            "\n{}: {reason}\n{}\n",
            ENGINE_NAMES[index],
            lines.join("\n")
        ));
    }
    text
}

/// The stable part of a reason: names, GUIDs and counts may change when an engine improves.
fn stable_reason(reason: &str) -> String {
    let reason = reason.lines().next().unwrap_or_default();
    let head = reason
        .split([':', ';', '(', '"'])
        .next()
        .unwrap_or_default();
    let words = head.split_whitespace().map(|word| {
        if word.chars().any(|c| c.is_ascii_digit()) {
            "#"
        } else {
            word
        }
    });
    words.take(12).collect::<Vec<_>>().join(" ")
}

/// `None` if the routing is sound, otherwise the reason of the refusal; an error if the routing is
/// invalid.
fn run(case: &Case, scratch: &Scratch) -> Result<Option<String>, String> {
    let fabric = Fabric::of_spec(&case.spec);
    match route(&fabric, Some(&case.engine), Some(case.vls), scratch) {
        Outcome::Refused(reason) => Ok(Some(stable_reason(&reason))),
        Outcome::Routed(routed) => judge(&fabric, &routed, case.vls, scratch.path()).map(|_| None),
    }
}

/// Runs the cases on two threads; the external programs of a case use one processor.
fn run_all(cases: &[Case]) -> BTreeMap<Case, Result<Option<String>, String>> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let scratch = Scratch::new("routing");
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = run(case, &scratch);
                    let mut found = found.lock().unwrap_or_else(|error| panic!("{error}"));
                    found.insert(case.clone(), outcome);
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_engine_routes_every_topology_or_refuses_as_expected() {
    let began = Instant::now();
    let cases = cases();
    let expected = expected_refusals();
    let found = run_all(&cases);
    let mut failures = Vec::new();
    let mut results = Vec::new();
    for (case, outcome) in &found {
        let line = format!("{} | {} | {}", case.engine, case.spec, case.vls);
        match (outcome, expected.get(case)) {
            (Ok(None), None) => {}
            (Ok(Some(reason)), Some(expected)) if reason == expected => {}
            (Ok(Some(reason)), Some(expected)) => {
                failures.push(format!("{line} | {reason}   (expected: {expected})"))
            }
            (Ok(Some(reason)), None) => failures.push(format!("new refusal: {line} | {reason}")),
            (Ok(None), Some(expected)) => {
                failures.push(format!("no longer refused: {line} | {expected}"))
            }
            (Err(error), _) => failures.push(format!("{INVALID}: {line}: {error}")),
        }
        if full_matrix() {
            results.push(format!("{line}: {outcome:?}"));
        }
    }
    if writes_table() {
        let refusals = found
            .iter()
            .filter_map(|(case, outcome)| Some((case.clone(), outcome.clone().ok()??)))
            .collect();
        let file = workspace().join(REFUSALS);
        fs::write(&file, table(&refusals))
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        failures.retain(|line| line.starts_with(INVALID));
    }
    let refused = found
        .values()
        .filter(|outcome| matches!(outcome, Ok(Some(_))))
        .count();
    println!("{}", results.join("\n"));
    println!(
        "{} cases, {refused} refused, {:?}",
        found.len(),
        began.elapsed()
    );
    assert!(
        failures.is_empty(),
        "{} lines differ from {REFUSALS}:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// A table line with an unknown engine, topology or VL count would never fail.
#[test]
fn refusal_table_names_existing_engines_and_topologies() {
    let specs: BTreeSet<(String, u8)> = TOPOLOGIES
        .iter()
        .flat_map(|(shape, vls, _)| {
            LOSSES
                .iter()
                .map(move |(loss, seed)| (spec_of(shape, loss, *seed), *vls))
        })
        .collect();
    for case in expected_refusals().keys() {
        assert!(
            specs.contains(&(case.spec.clone(), case.vls)),
            "unknown topology: {case:?}"
        );
        assert!(
            ENGINE_NAMES.contains(&case.engine.as_str()),
            "unknown engine: {case:?}"
        );
    }
}
