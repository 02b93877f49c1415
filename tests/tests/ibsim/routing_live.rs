//! Routing end to end: `ferrosm run` programs an ibsim fabric, a cable is lost, and it re-routes. What it says that it wrote
//! is what has changed in the switches, read back by programs of others.

#![expect(
    clippy::print_stdout,
    reason = "how much each lost cable moved is worth reading"
)]

use std::time::Duration;

use ferrosm_tests::clients::Clients;
use ferrosm_tests::diags::{Observed, Tables};
use ferrosm_tests::fabrics::by_spec;
use ferrosm_tests::ibsim::Ibsim;
use ferrosm_tests::judge;
use ferrosm_tests::process::{Running, Signal, poll_until};
use serde_json::Value;

/// Longest time until the fabric is sound again: a trap can be lost with the cable that it would travel, so a light sweep
/// may have to find the change.
const SETTLE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
const STOP: Duration = Duration::from_secs(20);
/// Entries in a block.
const BLOCK: u16 = 64;

/// A fabric with `ferrosm run --json` in charge of it.
struct Live {
    sim: Ibsim,
    daemon: Running,
}

impl Live {
    fn start(spec: &str, args: &[&str]) -> (Self, Observed) {
        let sim = Ibsim::serve(&by_spec(spec));
        let state = sim.subdir("state").to_string_lossy().into_owned();
        let mut all = vec!["run", "--json", "--state-dir", &state];
        all.extend_from_slice(args);
        let daemon = sim.spawn_ferrosm(None, &all);
        let mut live = Self { sim, daemon };
        let cables = live
            .sim
            .net()
            .unwrap_or_else(|reason| panic!("{reason}"))
            .switch_links()
            .len();
        let seen = live.settled(cables);
        (live, seen)
    }

    /// Waits until the fabric with so many cables between switches is sound, and the manager has reported on it.
    fn settled(&mut self, cables: usize) -> Observed {
        let seen = poll_until(SETTLE, PAUSE, || {
            if let Some(status) = self.daemon.ended() {
                panic!("ferrosm ended with {status}:\n{}", self.daemon.stderr());
            }
            // Reported before it is looked at, and nothing new since: what is read is what that sweep left.
            let reports = self.reports();
            let seen = self.sim.observe()?;
            let found = seen.net.switch_links().len();
            if found != cables {
                return Err(format!("{found} cables between switches, not {cables}"));
            }
            let report = reports.last();
            if !report.is_some_and(|report| {
                2 * cables == links_between_switches(report, &seen) && report["clean"] == true
            }) {
                return Err(format!("not reported: {report:?}"));
            }
            if self.reports().len() > reports.len() {
                return Err("a sweep ended while it was looked at".to_owned());
            }
            judge::examine(&seen).sound()?;
            Ok(seen)
        });
        seen.unwrap_or_else(|reason| panic!("{reason}\n{}", self.daemon.stderr()))
    }

    /// The sweep reports so far.
    fn reports(&self) -> Vec<Value> {
        let text = self.daemon.stdout();
        // The last line may not be whole yet.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let reports = whole.lines().filter(|line| line.starts_with('{'));
        reports
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect()
    }

    fn stop(self) {
        let ended = self.daemon.stop(Signal::Terminate, STOP);
        assert_eq!(ended.status.code(), Some(0), "{}", ended.describe());
    }
}

/// Ends of cables between switches, by what the report counts.
fn links_between_switches(report: &Value, seen: &Observed) -> usize {
    let all = report["links"]
        .as_u64()
        .and_then(|n| usize::try_from(n).ok())
        .unwrap_or(0);
    let ends: usize = seen.net.hosts().map(|node| node.ports.len()).sum();
    2 * all.saturating_sub(ends)
}

/// Blocks of 64 entries in which two readings of all switches differ.
fn blocks_that_differ(before: &Tables, after: &Tables) -> u64 {
    let mut count = 0;
    for (guid, old) in &before.0 {
        let new = after
            .0
            .get(guid)
            .unwrap_or_else(|| panic!("switch {guid:016x} is gone"));
        let lids = old.keys().chain(new.keys());
        let mut blocks: Vec<u16> = lids
            .filter(|&lid| old.get(lid) != new.get(lid))
            .map(|lid| lid / BLOCK)
            .collect();
        blocks.sort_unstable();
        blocks.dedup();
        count += blocks.len() as u64;
    }
    count
}

fn blocks_written(reports: &[Value]) -> u64 {
    let of = |report: &Value| report["lft_blocks_written"].as_u64();
    reports
        .iter()
        .map(|report| of(report).unwrap_or_else(|| panic!("no count in {report}")))
        .sum()
}

/// Whether tables were brought to rest before they were written, as the notes say.
fn drained(reports: &[Value]) -> bool {
    let notes = reports
        .iter()
        .filter_map(|r| r["engine_messages"].as_array());
    notes
        .flatten()
        .filter_map(Value::as_str)
        .any(|note| note.starts_with("LFT update drains changing routes"))
}

/// Cables are pulled one after the other, and put in again: each time as many blocks are written as differ afterwards.
fn count_blocks(spec: &str, args: &[&str], cuts: &[usize]) {
    let (mut live, mut before) = Live::start(spec, args);
    let links = before.net.switch_links();
    println!(
        "{spec} {args:?}: {} blocks cold",
        blocks_written(&live.reports())
    );
    for &cut in cuts {
        let ((switch, port), _) = links[cut % links.len()];
        for (word, cables) in [("Unlink", links.len() - 1), ("ReLink", links.len())] {
            let reported = live.reports().len();
            live.sim
                .console(&format!("{word} \"S-{switch:016x}\"[{port}]"));
            let after = live.settled(cables);
            let (written, differ) = (
                blocks_written(&live.reports()[reported..]),
                blocks_that_differ(&before.tables, &after.tables),
            );
            println!(
                "{spec} {args:?}: {word} {switch:x}[{port}]: {written} blocks written, {differ} differ"
            );
            let what = format!("{spec} {args:?}: {word} {switch:x}[{port}]");
            if drained(&live.reports()[reported..]) {
                // Where old and new entries do not go together in any order, blocks are written twice: what changes is
                // dropped first.
                assert!((differ..=2 * differ).contains(&written), "{what}");
            } else {
                assert_eq!(written, differ, "{what}");
            }
            before = after;
        }
    }
    live.stop();
}

/// Trees, whose routes have an order in which they can be written: nothing is written twice.
#[test]
fn only_differing_lft_blocks_are_written_on_trees() {
    count_blocks("fat-tree:6", &[], &[0, 40, 99]);
    count_blocks("fat-tree2:16,10,8;sharp", &["--engine", "updn"], &[3, 50]);
}

/// No tree: up/down over a mesh and over a graph without structure.
#[test]
fn only_differing_lft_blocks_are_written_on_other_topologies() {
    count_blocks("random:16,5,4,3", &["--engine", "updn"], &[1, 17]);
    count_blocks("mesh:4,4,1,4", &["--engine", "updn"], &[0, 13]);
}
