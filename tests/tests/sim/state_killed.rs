//! After a kill at any moment of a write, the store opens and contains every acknowledged record.
//!
//! `state-writer` submits changes in sequence, up to 64 in flight, and prints each number once it
//! is durable. The test kills it and opens the store, whose records have to equal those of the
//! first N changes, with N at least the last printed number. Each run does 40 kills, or 1,000 with
//! `FERROSM_KILLS=1000`.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "test helpers")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use ferrosm_core::records::RecordBatch;
use ferrosm_store::StateDir;
use ferrosm_tests::lab::TestRng;
use ferrosm_tests::lab::record_changes::{changes, last_change};
use ferrosm_tests::lab::store::Records;
use ferrosm_tests::programs::scratch::Scratch;

#[test]
fn acknowledged_records_survive_kill_9() {
    let kills = std::env::var("FERROSM_KILLS").ok();
    let kills: u64 = kills.map_or(40, |n| n.parse().expect("valid number"));
    let scratch = Scratch::new("state-killed");
    let mut model = Records::new();
    let mut done = 0;
    let mut sequence = 0;
    for seed in 0..kills {
        let mut rng = TestRng::new(seed);
        let mut child = Command::new(env!("CARGO_BIN_EXE_state-writer"))
            .arg(scratch.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let lines = rng.upto(30);
        let mut acknowledged = done;
        let mut out = BufReader::new(child.stdout.take().expect("piped stdout"));
        let mut take = |line: &str| {
            // Ignore a line truncated by the kill.
            let number = line
                .strip_suffix('\n')
                .and_then(|l| l.strip_prefix("durable "));
            acknowledged = number.map_or(acknowledged, |n| n.parse().expect("valid number"));
            u64::from(number.is_some())
        };
        let mut lines_read = 0;
        let mut line = String::new();
        while lines_read < lines && out.read_line(&mut line).expect("read") > 0 {
            lines_read += take(&line);
            line.clear();
        }
        assert!(
            lines_read == lines,
            "[seed {seed}] the writer exited before the kill"
        );
        for _ in 0..rng.upto(200_000) {
            core::hint::spin_loop();
        }
        child.kill().expect("killed");
        child.wait().expect("process exited");
        while out.read_line(&mut line).expect("read") > 0 {
            take(&line);
            line.clear();
        }
        let dir = StateDir::open(scratch.path()).expect("state directory opened");
        let actual = last_change(&dir);
        assert!(
            actual >= acknowledged,
            "[seed {seed}] {actual} of {acknowledged} acknowledged changes"
        );
        for n in done + 1..=actual {
            let changes = changes(n)
                .iter()
                .map(|update| update.to_change(0))
                .collect();
            RecordBatch { changes }.apply(&mut model);
        }
        done = actual;
        let records: Records = dir.records().iter().cloned().collect();
        assert!(
            records == model,
            "[seed {seed}] records differ from the first {actual} changes"
        );
        let (batches, _) = dir.last_batch();
        assert!(
            batches >= sequence && batches <= done,
            "[seed {seed}] {batches}"
        );
        sequence = batches;
    }
    assert!(done > kills, "{done} changes in {kills} runs");
    let quarantined = std::fs::read_dir(scratch.path()).expect("directory opened");
    let names = quarantined.map(|e| e.expect("directory entry").file_name());
    let broken: Vec<_> = names
        .filter(|n| n.to_string_lossy().contains("broken"))
        .collect();
    assert!(broken.is_empty(), "{broken:?}");
    println!("{kills} kills, {done} changes in {sequence} batches");
}
