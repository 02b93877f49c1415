//! Two or three `ferrosm run` processes on a fabric served by `ferrosm sim`. `sminfo` and `saquery`
//! on another host determine the master.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use crate::programs::certificates::{Authority, Subject};
use crate::programs::clients::Clients;
use crate::programs::fabric_server::FabricServer;
use crate::programs::loopback;
use crate::programs::process::{Running, Signal, poll_until};
use crate::programs::scratch::write_file;

/// Upper limit of each wait.
pub const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
/// Hosts of `fat-tree:4` that run SMs.
const SM_NODES: [&str; 3] = [
    "host-0-0-0 mlx5_0",
    "host-2-1-1 mlx5_0",
    "host-1-0-0 mlx5_0",
];
/// The host that runs queries.
pub const CLIENT: &str = "host-3-1-1 mlx5_0";
/// Alarm of a master that acknowledges without a standby in sync.
pub const ALARM: &str = "alarm: records not replicated";
/// The end of [`ALARM`].
pub const RESTORED: &str = "records replicated again";

/// SMs, usually two, with priorities 9, 8 and 7.
#[derive(Debug)]
pub struct SmPair {
    sms: Vec<Option<Running>>,
    pub sim: FabricServer,
}

/// Writes the configuration of SM `n`, with these lines of `[replication]`.
pub fn configure(dir: &Path, n: usize, replication: &str) {
    let text = format!(
        "[sm]\npriority = {}\n[files]\nstate-dir = \"{}/state{n}\"\n[replication]\n{replication}\n",
        9 - n,
        dir.display()
    );
    write_file(dir, &format!("sm{n}.toml"), &text);
}

/// Creates certificates and configurations of `count` SMs that replicate over TLS, on free ports.
///
/// # Panics
///
/// If a certificate cannot be created.
pub fn certified(dir: &Path, count: usize) {
    let ca = Authority::default();
    ca.write(dir, "ca");
    let peers: Vec<String> = loopback::free(count)
        .iter()
        .map(SocketAddr::to_string)
        .collect();
    for (n, listen) in peers.iter().enumerate() {
        let subject = Subject {
            names: &[&loopback::address().to_string()],
            ..Subject::default()
        };
        ca.issue(dir, &format!("sm{n}"), subject);
        configure(
            dir,
            n,
            &format!(
                "listen = {listen:?}\npeers = {peers:?}\nca = \"ca.crt\"\n\
                 certificate = \"sm{n}.crt\"\nkey = \"sm{n}.key\""
            ),
        );
    }
}

impl SmPair {
    /// Starts two SMs: the first is master, the second has a complete replica. `prepare` writes
    /// both configurations, as [`configure`] does.
    pub fn new(prepare: impl FnOnce(&Path)) -> Self {
        Self::with_count(2, prepare)
    }

    /// As [`SmPair::new`], with up to three SMs: all but the first have a replica.
    pub fn with_count(count: usize, prepare: impl FnOnce(&Path)) -> Self {
        let sim = FabricServer::shape("fat-tree:4");
        prepare(sim.dir());
        let mut pair = Self {
            sms: (0..count).map(|_| None).collect(),
            sim,
        };
        pair.start(0);
        pair.wait(0, "sweep complete", 1);
        for n in 1..count {
            pair.start(n);
            pair.wait(n, "replica in sync", 1);
        }
        pair
    }

    /// Starts SM `n`.
    pub fn start(&mut self, n: usize) {
        let config = self
            .sim
            .dir()
            .join(format!("sm{n}.toml"))
            .display()
            .to_string();
        let args = ["run", "--config", &config];
        self.sms[n] = Some(self.sim.spawn_ferrosm(Some(SM_NODES[n]), &args));
    }

    /// The log of SM `n` since its start.
    #[must_use]
    pub fn log(&self, n: usize) -> String {
        let sm = self.sms[n].as_ref();
        sm.map(Running::stderr).unwrap_or_default()
    }

    /// Waits until SM `n` has logged `text` at least `times` times.
    ///
    /// # Panics
    ///
    /// If it does not, or exits before.
    pub fn wait(&mut self, n: usize, text: &str, times: usize) {
        let outcome = poll_until(GUARD, PAUSE, || {
            // The log is read after the exit, so that it is complete.
            let ended = self.sms[n].as_mut().and_then(Running::ended);
            let log = self.log(n);
            if log.matches(text).count() >= times {
                return Ok(Ok(()));
            }
            let context = format!("no {text:?} in the log of {n}:\n{log}");
            match ended {
                Some(status) => Ok(Err(format!("exited with {status}: {context}"))),
                None => Err(context),
            }
        });
        outcome
            .and_then(|found| found)
            .unwrap_or_else(|error| panic!("{error}"));
    }

    /// Waits until SM `n` is the master that the other host sees, and replies as SM and SA.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn assert_master(&self, n: usize) {
        let outcome = poll_until(GUARD, PAUSE, || self.is_master(n));
        outcome.unwrap_or_else(|error| panic!("{error}"));
    }

    /// Checks once that SM `n` is master.
    ///
    /// # Errors
    ///
    /// The output of `sminfo` and `saquery`.
    pub fn is_master(&self, n: usize) -> Result<(), String> {
        let output = self.sim.run_at(CLIENT, "sminfo", &[]).stdout;
        let query = ["-c", "--timeout", "200"];
        let query = self.sim.run_at(CLIENT, "saquery", &query);
        let priority = format!("priority {} ", 9 - n);
        let is_master = output.contains("SMINFO_MASTER") && output.contains(&priority);
        if is_master && query.status.success() {
            Ok(())
        } else {
            Err(format!("{output}{}", query.describe()))
        }
    }

    /// The running SMs.
    #[must_use]
    pub fn running(&self) -> Vec<usize> {
        (0..self.sms.len())
            .filter(|n| self.sms[*n].is_some())
            .collect()
    }

    /// Sends a signal to SM `n`.
    pub fn signal(&self, n: usize, signal: Signal) {
        if let Some(sm) = &self.sms[n] {
            sm.signal(signal);
        }
    }

    /// Stops SM `n` by a signal.
    pub fn terminate(&mut self, n: usize, signal: Signal) {
        if let Some(sm) = self.sms[n].take() {
            drop(sm.stop(signal, GUARD));
        }
    }

    /// Asserts that SM `n`, as master, wrote no LFT and changed no LID.
    ///
    /// # Panics
    ///
    /// If it did, or was not master.
    pub fn assert_no_tables_written(&self, n: usize) {
        let log = self.log(n);
        let sweeps = log.lines().filter(|l| l.contains("sweep complete"));
        let as_master: Vec<&str> = sweeps.filter(|l| l.contains("role=Master")).collect();
        assert!(!as_master.is_empty(), "{log}");
        for line in as_master {
            assert!(line.contains("lft_blocks_written=0"), "{line}");
            assert!(line.contains("lids_written=0"), "{line}");
        }
    }
}
