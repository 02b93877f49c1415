//! Routing end to end: `ferrosm run` programs an ibsim fabric, a link fails, and it reroutes. The
//! reported writes must equal the changes in the switches, which infiniband-diags read back.

#![expect(
    clippy::print_stdout,
    reason = "the tests print how many blocks each link change wrote"
)]

use std::time::Duration;

use ferrosm_tests::fabrics::by_spec;
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::diags::{Observed, Tables};
use ferrosm_tests::programs::ibsim::Ibsim;
use ferrosm_tests::programs::judge;
use ferrosm_tests::programs::process::{Running, Signal, poll_until};
use serde_json::Value;

/// Longest time until the fabric is sound again. A trap can be lost with the link that would carry
/// it, so a light sweep may have to find the change.
const CONVERGENCE_LIMIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
const STOP: Duration = Duration::from_secs(20);
/// Entries in an LFT block.
const BLOCK: u16 = 64;

/// A fabric with `ferrosm run --json` as master.
struct LiveSm {
    sim: Ibsim,
    daemon: Running,
}

impl LiveSm {
    fn start(spec: &str, args: &[&str]) -> (Self, Observed) {
        let sim = Ibsim::serve(&by_spec(spec));
        let state = sim.subdir("state").to_string_lossy().into_owned();
        let mut entries = vec!["run", "--json", "--state-dir", &state];
        entries.extend_from_slice(args);
        let daemon = sim.spawn_ferrosm(None, &entries);
        let mut live = Self { sim, daemon };
        let num_links = live
            .sim
            .net()
            .unwrap_or_else(|reason| panic!("{reason}"))
            .switch_links()
            .len();
        let seen = live.wait_until_sound(num_links);
        (live, seen)
    }

    /// Waits until the fabric with this number of links between switches is sound and the SM has
    /// reported on it.
    fn wait_until_sound(&mut self, num_links: usize) -> Observed {
        let seen = poll_until(CONVERGENCE_LIMIT, PAUSE, || {
            if let Some(status) = self.daemon.ended() {
                panic!("ferrosm ended with {status}:\n{}", self.daemon.stderr());
            }
            // The report precedes the reading and no newer one follows, so the tables read are
            // those of that sweep.
            let reports = self.reports();
            let seen = self.sim.observe()?;
            let found = seen.net.switch_links().len();
            if found != num_links {
                return Err(format!("{found} links between switches, not {num_links}"));
            }
            let report = reports.last();
            if !report.is_some_and(|report| {
                2 * num_links == switch_link_ends(report, &seen) && report["clean"] == true
            }) {
                return Err(format!("not reported: {report:?}"));
            }
            if self.reports().len() > reports.len() {
                return Err("a sweep completed during the reading".to_owned());
            }
            judge::examine(&seen).check()?;
            Ok(seen)
        });
        seen.unwrap_or_else(|reason| panic!("{reason}\n{}", self.daemon.stderr()))
    }

    /// The sweep reports so far.
    fn reports(&self) -> Vec<Value> {
        let text = self.daemon.stdout();
        // The last line may be incomplete.
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        let reports = complete.lines().filter(|line| line.starts_with('{'));
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

/// Link ends between switches, according to the report.
fn switch_link_ends(report: &Value, seen: &Observed) -> usize {
    let all = report["links"]
        .as_u64()
        .and_then(|n| usize::try_from(n).ok())
        .unwrap_or(0);
    let num_end_ports: usize = seen.net.hosts().map(|node| node.ports.len()).sum();
    2 * all.saturating_sub(num_end_ports)
}

/// Number of LFT blocks that differ between two readings of all switches.
fn blocks_that_differ(before: &Tables, after: &Tables) -> u64 {
    let mut count = 0;
    for (guid, old) in &before.0 {
        let new = after
            .0
            .get(guid)
            .unwrap_or_else(|| panic!("switch {guid:016x} is missing"));
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
    let lft_blocks_of = |report: &Value| report["lft_blocks_written"].as_u64();
    reports
        .iter()
        .map(|report| lft_blocks_of(report).unwrap_or_else(|| panic!("no count in {report}")))
        .sum()
}

/// Whether an LFT update drained changing routes first, according to the routing messages.
fn drained(reports: &[Value]) -> bool {
    let messages = reports
        .iter()
        .filter_map(|r| r["routing_messages"].as_array());
    messages
        .flatten()
        .any(|message| message["kind"] == "drained-update")
}

/// Links are removed and reinserted one by one: each time the SM writes exactly the blocks that
/// differ afterwards.
fn check_written_blocks(spec: &str, args: &[&str], cuts: &[usize]) {
    let (mut live, mut before) = LiveSm::start(spec, args);
    let links = before.net.switch_links();
    println!(
        "{spec} {args:?}: {} blocks cold",
        blocks_written(&live.reports())
    );
    for &index in cuts {
        let ((switch, port), _) = links[index % links.len()];
        for (word, num_links) in [("Unlink", links.len() - 1), ("ReLink", links.len())] {
            let reported = live.reports().len();
            live.sim
                .console(&format!("{word} \"S-{switch:016x}\"[{port}]"));
            let after = live.wait_until_sound(num_links);
            let written = blocks_written(&live.reports()[reported..]);
            let differ = blocks_that_differ(&before.tables, &after.tables);
            println!(
                "{spec} {args:?}: {word} {switch:x}[{port}]: {written} blocks written, {differ} differ"
            );
            let description = format!("{spec} {args:?}: {word} {switch:x}[{port}]");
            if drained(&live.reports()[reported..]) {
                // Where no order of writes avoids a loop, blocks are written twice: changed entries
                // are dropped first.
                assert!((differ..=2 * differ).contains(&written), "{description}");
            } else {
                assert_eq!(written, differ, "{description}");
            }
            before = after;
        }
    }
    live.stop();
}

/// On trees a safe write order exists, so no block is written twice.
#[test]
fn only_differing_lft_blocks_are_written_on_trees() {
    check_written_blocks("fat-tree:6", &[], &[0, 40, 99]);
    check_written_blocks("fat-tree2:16,10,8;sharp", &["--engine", "updn"], &[3, 50]);
}

/// Not a tree: up/down on a mesh and on a random graph.
#[test]
fn only_differing_lft_blocks_are_written_on_other_topologies() {
    check_written_blocks("random:16,5,4,3", &["--engine", "updn"], &[1, 17]);
    check_written_blocks("mesh:4,4,1,4", &["--engine", "updn"], &[0, 13]);
}
