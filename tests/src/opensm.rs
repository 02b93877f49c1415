//! OpenSM as a program of others: started on a simulator, its log read, `osmtest` run against it.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::clients::Clients;
use crate::process::{Finished, Running, Signal, poll_until};
use crate::scratch::unique_name;

/// Longest time to bring a fabric up, or to take one over.
const UP: Duration = Duration::from_secs(120);
/// Longest time for a flow of osmtest: 100,000 queries of unoptimised programs on a busy machine.
const FLOW: Duration = Duration::from_secs(600);
const PAUSE: Duration = Duration::from_millis(20);

/// A running OpenSM; killed when dropped.
#[derive(Debug)]
pub struct OpenSm {
    process: Running,
    log: PathBuf,
}

impl OpenSm {
    /// Starts it on a node (the simulator's choice where `None`).
    #[must_use]
    pub fn start(sim: &impl Clients, node: Option<&str>, args: &[&str]) -> Self {
        let name = unique_name("opensm");
        let log = sim.dir().join(format!("{name}.log"));
        let process = sim
            .launch("opensm", node)
            // -d 2: each line is written at once. -t: a busy machine lets answers wait for more than the default of 200 ms,
            // and OpenSM then brings up a fabric without those nodes.
            .args(&["-e", "-d", "2", "-t", "2000", "-f", &log.to_string_lossy()])
            .args(args)
            .start(sim.dir());
        Self { process, log }
    }

    /// Everything that it has written.
    #[must_use]
    pub fn log(&self) -> String {
        // Not there yet is nothing written.
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until it says so often that the subnet is up.
    ///
    /// # Panics
    /// If it does not, or ends.
    pub fn wait_until_up(&mut self, times: usize) {
        self.wait_for("SUBNET UP", times);
    }

    /// Waits until its log has a word so often.
    ///
    /// # Panics
    /// If it does not come, or OpenSM ends.
    pub fn wait_for(&mut self, word: &str, times: usize) {
        let waited = poll_until(UP, PAUSE, || {
            if let Some(status) = self.process.ended() {
                return Ok(Err(format!("OpenSM ended with {status}")));
            }
            if self.log().matches(word).count() >= times {
                Ok(Ok(()))
            } else {
                Err(format!("OpenSM has not said {word:?} {times} times"))
            }
        });
        if let Err(reason) | Ok(Err(reason)) = waited {
            panic!("{reason}\n{}", self.log());
        }
    }

    /// Stops it.
    pub fn stop(self, signal: Signal) -> String {
        let _ = self.process.stop(signal, UP);
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

/// What OpenSM has to complain about in a log: its lines with an error number, without time and thread.
#[must_use]
pub fn complaints(log: &str) -> Vec<String> {
    log.lines()
        .filter(|line| line.contains(" ERR "))
        .map(|line| {
            line.split_once("-> ")
                .map_or(line, |(_, what)| what)
                .to_owned()
        })
        .collect()
}

/// Runs a flow of osmtest (`["-f", "c"]`) on a node, in a directory of its own for the inventory.
///
/// # Panics
/// If it does not pass.
pub fn osmtest(sim: &impl Clients, node: &str, flow: &[&str]) -> Finished {
    try_osmtest(sim, node, flow).unwrap_or_else(|reason| panic!("{reason}"))
}

/// The same for a flow that may fail.
///
/// # Errors
/// What it said where it did not pass.
pub fn try_osmtest(sim: &impl Clients, node: &str, flow: &[&str]) -> Result<Finished, String> {
    // osmtest keeps its inventory where it runs.
    let done = sim
        .launch("osmtest", Some(node))
        .args(flow)
        .start(&sim.subdir("osmtest"))
        .wait(FLOW);
    if done.stdout.contains("\" PASS") {
        Ok(done)
    } else {
        Err(format!("osmtest {}: {}", flow.join(" "), done.describe()))
    }
}
