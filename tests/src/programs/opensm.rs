//! OpenSM on a simulator: runs it, reads its log, and runs `osmtest`.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::programs::clients::Clients;
use crate::programs::process::{Finished, Running, Signal, poll_until};
use crate::programs::scratch::unique_name;

/// Maximum time for the initialisation or the takeover of a subnet.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum time for an osmtest flow: 100,000 queries by unoptimised programs on a loaded machine.
const FLOW_TIMEOUT: Duration = Duration::from_secs(600);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A running OpenSM; killed when dropped.
#[derive(Debug)]
pub struct OpenSm {
    process: Running,
    log: PathBuf,
}

impl OpenSm {
    /// Starts OpenSM on a node; `None` selects the simulator's default.
    #[must_use]
    pub fn start(sim: &impl Clients, node: Option<&str>, args: &[&str]) -> Self {
        let name = unique_name("opensm");
        let log = sim.dir().join(format!("{name}.log"));
        let process = sim
            .launch("opensm", node)
            // -d 2 flushes the log after each line. -t: on a loaded machine responses can take
            // longer than the default timeout of 200 ms, and OpenSM would bring up the subnet
            // without these nodes.
            .args(&["-e", "-d", "2", "-t", "2000", "-f", &log.to_string_lossy()])
            .args(args)
            .start(sim.dir());
        Self { process, log }
    }

    /// The log so far.
    #[must_use]
    pub fn log(&self) -> String {
        // The file does not exist before the first line.
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until the log reports `times` times that the subnet is up.
    ///
    /// # Panics
    /// On timeout, or if OpenSM ends.
    pub fn wait_until_up(&mut self, times: usize) {
        self.wait_for("SUBNET UP", times);
    }

    /// Waits until the log contains `word` at least `times` times.
    ///
    /// # Panics
    /// On timeout, or if OpenSM ends.
    pub fn wait_for(&mut self, word: &str, times: usize) {
        let waited = poll_until(TIMEOUT, POLL_INTERVAL, || {
            if let Some(status) = self.process.ended() {
                return Ok(Err(format!("OpenSM ended with {status}")));
            }
            if self.log().matches(word).count() >= times {
                Ok(Ok(()))
            } else {
                Err(format!("OpenSM has not logged {word:?} {times} times"))
            }
        });
        if let Err(reason) | Ok(Err(reason)) = waited {
            panic!("{reason}\n{}", self.log());
        }
    }

    /// Stops OpenSM, and returns its log.
    pub fn stop(self, signal: Signal) -> String {
        let _ = self.process.stop(signal, TIMEOUT);
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

/// The error lines (`ERR`) of an OpenSM log, without time and thread.
#[must_use]
pub fn error_lines(log: &str) -> Vec<String> {
    log.lines()
        .filter(|line| line.contains(" ERR "))
        .map(|line| {
            line.split_once("-> ")
                .map_or(line, |(_, what)| what)
                .to_owned()
        })
        .collect()
}

/// Runs an osmtest flow (`["-f", "c"]`) on a node, in the directory `osmtest`.
///
/// # Panics
/// If osmtest does not pass.
pub fn osmtest(sim: &impl Clients, node: &str, flow: &[&str]) -> Finished {
    try_osmtest(sim, node, flow).unwrap_or_else(|reason| panic!("{reason}"))
}

/// As [`osmtest`], for a flow that may fail.
///
/// # Errors
/// The output of osmtest, if it does not pass.
pub fn try_osmtest(sim: &impl Clients, node: &str, flow: &[&str]) -> Result<Finished, String> {
    // osmtest writes its inventory to the current directory.
    let done = sim
        .launch("osmtest", Some(node))
        .args(flow)
        .start(&sim.subdir("osmtest"))
        .wait(FLOW_TIMEOUT);
    if done.stdout.contains("\" PASS") {
        Ok(done)
    } else {
        Err(format!("osmtest {}: {}", flow.join(" "), done.describe()))
    }
}
