//! The same MADs are sent to the nodes of `ferrosm sim` and to Debian's ibsim, and the responses
//! are compared byte by byte.
//!
//! A small libibumad client (`clients/script.c`) without knowledge of either simulator sends the
//! script to both on the same fabric file. The table in `differential/table.rs` lists every
//! difference and which side follows the specification. An unlisted difference fails the test, and
//! so does an entry without a difference. `docs/ibsim-differences.md` documents the same table.

mod compare;
mod script;
mod table;
mod table_of_sets;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use compare::{Difference, compare, read};
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::ibsim::Ibsim;
use ferrosm_tests::programs::paths::workspace;
use ferrosm_tests::programs::process::Launch;
use script::{Case, FABRIC, HERE, script};
use table::{Known, known};

const BUILD: Duration = Duration::from_secs(60);

/// The client, compiled for this test.
fn client(dir: &Path) -> String {
    let source = workspace().join("tests/clients/script.c");
    let program = dir.join("script").to_string_lossy().into_owned();
    let source = source.to_string_lossy();
    let built = Launch::new("cc")
        .args(&["-O1", "-Wall", "-o", &program, &source, "-libumad"])
        .start(dir)
        .wait(BUILD);
    drop(built.expect_success());
    program
}

/// The responses of a simulator to the complete script.
fn answers(sim: &impl Clients, script: &[Case]) -> String {
    let program = client(sim.dir());
    let input = sim.dir().join("script.txt");
    let text: String = script.iter().map(Case::line).collect();
    fs::write(&input, text).unwrap_or_else(|e| panic!("{e}"));
    let command = format!("exec {program} < {}", input.display());
    let done = sim.run_at(HERE, "sh", &["-c", &command]).expect_success();
    done.stdout
}

fn differences() -> Vec<Difference> {
    let script = script();
    let names: BTreeSet<&str> = script.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), script.len(), "duplicate case name");
    let with_ferrosm = answers(&FabricServer::serve(FABRIC), &script);
    let with_ibsim = answers(&Ibsim::serve(FABRIC), &script);
    compare(&script, &read(&with_ferrosm), &read(&with_ibsim))
}

/// Whether a text matches a pattern in which `*` matches any text.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
            (0..=tail.len())
                .filter(|&at| tail.is_char_boundary(at))
                .any(|at| matches_pattern(rest, &tail[at..]))
        }),
    }
}

fn explains(known: &Known, difference: &Difference) -> bool {
    let any = |patterns: &[&str], text: &str| {
        patterns
            .iter()
            .any(|pattern| matches_pattern(pattern, text))
    };
    any(known.cases, &difference.case)
        && any(known.fields, &difference.field)
        && matches_pattern(known.ours, &difference.ours)
        && matches_pattern(known.ibsim, &difference.theirs)
}

/// Every difference is listed, and every entry of the list occurs.
#[test]
fn ferrosm_and_ibsim_respond_alike_except_for_listed_differences() {
    let found = differences();
    let mut failures = String::new();
    for difference in &found {
        if !known().any(|line| explains(line, difference)) {
            // Writing into a String cannot fail, here and below.
            let _ = writeln!(failures, "not listed: {difference}");
        }
    }
    for line in known() {
        if !found.iter().any(|difference| explains(line, difference)) {
            let _ = writeln!(failures, "listed, does not occur: {}", line.id);
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// The documentation page has exactly the entries of the table.
#[test]
fn documented_differences_match_the_list() {
    let page = fs::read_to_string(workspace().join("docs/ibsim-differences.md")).unwrap();
    let documented: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .filter(|(id, _)| id.starts_with("d-"))
        .map(|(id, _)| id)
        .collect();
    let listed: Vec<&str> = known().map(|line| line.id).collect();
    assert_eq!(documented, listed);
    for line in known() {
        let row = line.row();
        assert!(page.contains(&row), "missing on the page:\n{row}");
    }
}
