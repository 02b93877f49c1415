//! Two or more real ferrosm on a fabric that `ferrosm sim` serves, and who is in charge, asked of `sminfo` and `saquery` from a host
//! without one.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::clients::Clients;
use crate::fabric_server::FabricServer;
use crate::loopback;
use crate::process::{Running, Signal, poll_until};

/// Only a broken test waits so long.
pub const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
/// Hosts of `fat-tree:4` on which managers are.
const NODES: [&str; 3] = [
    "host-0-0-0 mlx5_0",
    "host-2-1-1 mlx5_0",
    "host-1-0-0 mlx5_0",
];
/// The host that asks.
pub const CLIENT: &str = "host-3-1-1 mlx5_0";
/// What a master says when it begins to acknowledge alone.
pub const ALARM: &str = "alarm: no standby in sync";
/// The end of [`ALARM`].
pub const RESTORED: &str = "standby in sync again";

/// Managers, mostly two; the first has the best priority, 9, the second 8, a third one 7.
#[derive(Debug)]
pub struct Pair {
    sms: Vec<Option<Running>>,
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

/// Certificates of so many managers, and configurations by which they copy each other's state over TCP, at free ports.
///
/// # Panics
/// If one cannot be made.
pub fn certified(dir: &Path, count: usize) {
    let ca = || -> Result<_, rcgen::Error> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate()?)
    };
    let ca = ca().unwrap_or_else(|e| panic!("{e}"));
    file(dir, "ca.crt", &ca.pem());
    let peers: Vec<String> = loopback::free(count)
        .iter()
        .map(SocketAddr::to_string)
        .collect();
    for (n, listen) in peers.iter().enumerate() {
        let key = KeyPair::generate().unwrap_or_else(|e| panic!("{e}"));
        let params = CertificateParams::new(vec![loopback::home().to_string()]);
        let certificate = params.and_then(|params| params.signed_by(&key, &ca));
        let certificate = certificate.unwrap_or_else(|e| panic!("{e}"));
        file(dir, &format!("sm{n}.crt"), &certificate.pem());
        file(dir, &format!("sm{n}.key"), &key.serialize_pem());
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

impl Pair {
    /// Both run, the first one is master, the second one has its copy. `prepare` writes what [`configure`] does, for both.
    pub fn new(prepare: impl FnOnce(&Path)) -> Self {
        Self::of(2, prepare)
    }

    /// As [`Pair::new`], with up to three managers: all but the first have a copy.
    pub fn of(count: usize, prepare: impl FnOnce(&Path)) -> Self {
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

    /// Which of them run.
    #[must_use]
    pub fn running(&self) -> Vec<usize> {
        (0..self.sms.len())
            .filter(|n| self.sms[*n].is_some())
            .collect()
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
        let sweeps = log.lines().filter(|l| l.contains("sweep complete"));
        let as_master: Vec<&str> = sweeps.filter(|l| l.contains("role=Master")).collect();
        assert!(!as_master.is_empty(), "{log}");
        for line in as_master {
            assert!(line.contains("lft_blocks_written=0"), "{line}");
            assert!(line.contains("lids_changed=0"), "{line}");
        }
    }
}
