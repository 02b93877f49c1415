//! Two real ferrosm with copies of each other's state on a fabric that `ferrosm sim` serves, and who is in charge, asked of
//! `sminfo` and `saquery`: killed, handed over, stopped.

use std::path::Path;
use std::time::Duration;

use ferrosm_tests::clients::Clients;
use ferrosm_tests::fabric_server::FabricServer;
use ferrosm_tests::process::{Running, Signal, poll_until};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// Only a broken test waits so long.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);
/// Hosts of `fat-tree:4`: two of managers, one that asks.
const FIRST: &str = "host-0-0-0 mlx5_0";
const SECOND: &str = "host-2-1-1 mlx5_0";
const CLIENT: &str = "host-3-1-1 mlx5_0";

struct Pair {
    sms: [Option<Running>; 2],
    sim: FabricServer,
}

fn file(dir: &Path, name: &str, text: &str) {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
}

/// Certificates of both, and configurations with free ports.
fn prepare(dir: &Path) {
    let ca = || -> Result<_, rcgen::Error> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate()?)
    };
    let ca = ca().unwrap_or_else(|e| panic!("{e}"));
    file(dir, "ca.crt", &ca.pem());
    let listeners = [0, 1].map(|_| std::net::TcpListener::bind("127.0.0.1:0"));
    let ports: Vec<u16> = listeners
        .iter()
        .flatten()
        .filter_map(|l| l.local_addr().ok())
        .map(|at| at.port())
        .collect();
    assert_eq!(ports.len(), 2);
    for n in 0..2 {
        let key = KeyPair::generate().unwrap_or_else(|e| panic!("{e}"));
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]);
        let certificate = params.and_then(|params| params.signed_by(&key, &ca));
        let certificate = certificate.unwrap_or_else(|e| panic!("{e}"));
        file(dir, &format!("sm{n}.crt"), &certificate.pem());
        file(dir, &format!("sm{n}.key"), &key.serialize_pem());
        let (priority, listen) = (9 - n, ports[n]);
        let peers = format!("[\"127.0.0.1:{}\", \"127.0.0.1:{}\"]", ports[0], ports[1]);
        file(
            dir,
            &format!("sm{n}.toml"),
            &format!(
                "[sm]\npriority = {priority}\n[files]\nstate-dir = \"{}/state{n}\"\n[replication]\n\
                 listen = \"127.0.0.1:{listen}\"\npeers = {peers}\nca = \"ca.crt\"\n\
                 certificate = \"sm{n}.crt\"\nkey = \"sm{n}.key\"\n",
                dir.display()
            ),
        );
    }
}

impl Pair {
    fn new() -> Self {
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

    fn start(&mut self, n: usize) {
        let config = self.sim.dir().join(format!("sm{n}.toml"));
        let config = config.display().to_string();
        let node = [FIRST, SECOND][n];
        self.sms[n] = Some(
            self.sim
                .spawn_ferrosm(Some(node), &["run", "--config", &config]),
        );
    }

    fn log(&self, n: usize) -> String {
        self.sms[n]
            .as_ref()
            .map(Running::stderr)
            .unwrap_or_default()
    }

    /// Waits until one of them has logged something so often.
    fn wait(&mut self, n: usize, what: &str, times: usize) {
        let found = poll_until(GUARD, PAUSE, || {
            let log = self.log(n);
            if log.matches(what).count() >= times {
                Ok(())
            } else {
                Err(format!("no {what:?} in the log of {n}:\n{log}"))
            }
        });
        found.unwrap_or_else(|why| panic!("{why}"));
    }

    /// The LID of the master that a host is told, and whether that one answers as master and for paths.
    fn assert_master(&self, n: usize) {
        let found = poll_until(GUARD, PAUSE, || {
            let said = self.sim.run_at(CLIENT, "sminfo", &[]).stdout;
            let asked = self
                .sim
                .run_at(CLIENT, "saquery", &["-c", "--timeout", "200"]);
            let priority = format!("priority {} ", 9 - n);
            let is_it = said.contains("SMINFO_MASTER") && said.contains(&priority);
            if is_it && asked.status.success() {
                Ok(())
            } else {
                Err(format!("{said}{}", asked.describe()))
            }
        });
        found.unwrap_or_else(|why| panic!("{why}"));
    }

    fn end(&mut self, n: usize, signal: Signal) {
        if let Some(sm) = self.sms[n].take() {
            drop(sm.stop(signal, GUARD));
        }
    }

    /// What devices were sent: written tables of one kind, as the fabric counts them.
    fn assert_nothing_written(&self, n: usize) {
        let log = self.log(n);
        let first = log.lines().filter(|l| l.contains("sweep done"));
        let as_master: Vec<&str> = first.filter(|l| l.contains("role=Master")).collect();
        assert!(!as_master.is_empty(), "{log}");
        for line in as_master {
            assert!(line.contains("lft_blocks_written=0"), "{line}");
            assert!(line.contains("lids_changed=0"), "{line}");
        }
    }
}

/// Killed without a word, the master is replaced by the one that has the copy; it comes back, gets the subnet, and the other
/// has a copy again.
#[test]
fn a_killed_master_is_replaced_and_comes_back() {
    let mut pair = Pair::new();
    pair.assert_master(0);
    pair.end(0, Signal::Kill);
    pair.wait(1, "nothing is heard of the master any more", 1);
    pair.wait(1, "clients are answered from what was kept", 1);
    pair.assert_master(1);
    pair.assert_nothing_written(1);
    pair.start(0);
    pair.wait(1, "handed over to the SM of GUID", 1);
    pair.assert_master(0);
    pair.wait(1, "the copy of the master's state is whole", 2);
    pair.end(0, Signal::Kill);
    pair.wait(1, "clients are answered from what was kept", 2);
    pair.assert_master(1);
}

/// The operator's word, then SIGTERM: each time the other one has the subnet, from the copy, and nothing is written.
#[test]
fn a_planned_change_is_a_takeover_from_the_copy() {
    let mut pair = Pair::new();
    let state = pair.sim.dir().join("state0").display().to_string();
    let done = pair.sim.ferrosm(&["handover", "--state-dir", &state]);
    let done = done.expect_success();
    assert!(done.stdout.starts_with("now Standby"), "{}", done.stdout);
    pair.assert_master(1);
    pair.wait(1, "clients are answered from what was kept", 1);
    pair.assert_nothing_written(1);
    pair.wait(0, "the copy of the master's state is whole", 1);
    let again = pair.sim.ferrosm(&["handover", "--state-dir", &state]);
    assert!(!again.status.success(), "there is nothing to hand over");
    pair.end(1, Signal::Terminate);
    pair.assert_master(0);
    pair.wait(0, "clients are answered from what was kept", 1);
}
