//! Two real ferrosm on a fabric that `ferrosm sim` serves, and who is in charge, asked of `sminfo` and `saquery` from a third host.

use std::path::Path;
use std::time::Duration;

use crate::clients::Clients;
use crate::fabric_server::FabricServer;
use crate::process::{Running, Signal, poll_until};

/// Only a broken test waits so long.
pub const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
/// Hosts of `fat-tree:4`: two of managers, one that asks.
const NODES: [&str; 2] = ["host-0-0-0 mlx5_0", "host-2-1-1 mlx5_0"];
/// The host that asks.
pub const CLIENT: &str = "host-3-1-1 mlx5_0";

/// Two managers; the first has the better priority, 9, the second 8.
#[derive(Debug)]
pub struct Pair {
    sms: [Option<Running>; 2],
    /// The fabric.
    pub sim: FabricServer,
}

/// Writes a file.
///
/// # Panics
/// If that fails.
pub fn file(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// Writes the configuration of one of them, with these lines of `[replication]`.
pub fn configure(dir: &Path, n: usize, replication: &str) {
    let text = format!(
        "[sm]\npriority = {}\n[files]\nstate-dir = \"{}/state{n}\"\n[replication]\n{replication}\n",
        9 - n,
        dir.display()
    );
    file(dir, &format!("sm{n}.toml"), &text);
}

impl Pair {
    /// Both run, the first one is master, the second one has its copy. `prepare` writes what [`configure`] does, for both.
    pub fn new(prepare: impl FnOnce(&Path)) -> Self {
        let sim = FabricServer::shape("fat-tree:4");
        prepare(sim.dir());
        let mut pair = Self {
            sms: [None, None],
            sim,
        };
        pair.start(0);
        pair.wait(0, "sweep done", 1);
        pair.start(1);
        pair.wait(1, "the copy of the master's state is whole", 1);
        pair
    }

    /// Starts one of them.
    pub fn start(&mut self, n: usize) {
        let config = self.sim.dir().join(format!("sm{n}.toml"));
        let config = config.display().to_string();
        let args = ["run", "--config", &config];
        self.sms[n] = Some(self.sim.spawn_ferrosm(Some(NODES[n]), &args));
    }

    /// What it has logged since it was started.
    #[must_use]
    pub fn log(&self, n: usize) -> String {
        let sm = self.sms[n].as_ref();
        sm.map(Running::stderr).unwrap_or_default()
    }

    /// Waits until one of them has logged something so often.
    ///
    /// # Panics
    /// If it does not, or ends before.
    pub fn wait(&mut self, n: usize, what: &str, times: usize) {
        let found = poll_until(GUARD, PAUSE, || {
            // What it says last is read after its end.
            let ended = self.sms[n].as_mut().and_then(Running::ended);
            let log = self.log(n);
            if log.matches(what).count() >= times {
                return Ok(Ok(()));
            }
            let why = format!("no {what:?} in the log of {n}:\n{log}");
            match ended {
                Some(status) => Ok(Err(format!("it ended with {status}: {why}"))),
                None => Err(why),
            }
        });
        found
            .and_then(|found| found)
            .unwrap_or_else(|why| panic!("{why}"));
    }

    /// Waits until the master that a third host is told is this one, and answers as master and as subnet administration.
    ///
    /// # Panics
    /// If that does not come.
    pub fn assert_master(&self, n: usize) {
        let found = poll_until(GUARD, PAUSE, || self.is_master(n));
        found.unwrap_or_else(|why| panic!("{why}"));
    }

    /// Whether it is so now.
    ///
    /// # Errors
    /// What was said instead.
    pub fn is_master(&self, n: usize) -> Result<(), String> {
        let said = self.sim.run_at(CLIENT, "sminfo", &[]).stdout;
        let asked = ["-c", "--timeout", "200"];
        let asked = self.sim.run_at(CLIENT, "saquery", &asked);
        let priority = format!("priority {} ", 9 - n);
        let is_it = said.contains("SMINFO_MASTER") && said.contains(&priority);
        if is_it && asked.status.success() {
            Ok(())
        } else {
            Err(format!("{said}{}", asked.describe()))
        }
    }

    /// Sends it a signal.
    pub fn signal(&self, n: usize, signal: Signal) {
        if let Some(sm) = &self.sms[n] {
            sm.signal(signal);
        }
    }

    /// Ends it by a signal.
    pub fn end(&mut self, n: usize, signal: Signal) {
        if let Some(sm) = self.sms[n].take() {
            drop(sm.stop(signal, GUARD));
        }
    }

    /// As master it has written no tables of routes and changed no LID.
    ///
    /// # Panics
    /// If it has, or was not master.
    pub fn assert_nothing_written(&self, n: usize) {
        let log = self.log(n);
        let sweeps = log.lines().filter(|l| l.contains("sweep done"));
        let as_master: Vec<&str> = sweeps.filter(|l| l.contains("role=Master")).collect();
        assert!(!as_master.is_empty(), "{log}");
        for line in as_master {
            assert!(line.contains("lft_blocks_written=0"), "{line}");
            assert!(line.contains("lids_changed=0"), "{line}");
        }
    }
}
