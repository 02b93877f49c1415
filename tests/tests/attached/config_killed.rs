//! A service that is killed at any moment of a change of its configuration has the old or the new
//! one after its restart: the configuration file and partitions.conf are of one version, and that
//! one is in force. A trial never outlasts the process.
//!
//! Each run does 25 kills, or as many as `FERROSM_KILLS` says.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "test helpers")]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use ferrosm_tests::lab::TestRng;
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::process::{Running, poll_until};
use serde_json::{Value, json};

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);
/// Longest time until a kill, in microseconds.
const KILL_WITHIN_US: u64 = 60_000;

/// What a client sends before the service is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// An apply for good.
    Apply,
    /// A trial that is confirmed.
    Confirm,
    /// A trial.
    Try,
}

/// The files of a version: each says which one.
fn files(version: u64) -> (String, String) {
    let toml = format!(
        "# version {version}\n[sm]\npriority = {}\n[partitions]\nfile = \"partitions.conf\"\n",
        version % 16
    );
    let partitions = format!(
        "# version {version}\nDefault=0x7fff : ALL=full ;\nv{version}={:#x} : ALL ;\n",
        1 + version % 0x7000
    );
    (toml, partitions)
}

fn new_configuration(version: u64) -> String {
    let (toml, partitions) = files(version);
    let inputs = [json!({"name": "partitions.conf", "text": partitions})];
    json!({"name": "new.toml", "toml": toml, "inputs": inputs}).to_string()
}

/// Sends a request; `Err` if the service does not answer.
fn call(socket: &Path, method: &str, target: &str, body: &str) -> Result<Value, String> {
    let exchange = || -> std::io::Result<String> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(GUARD))?;
        let head = format!(
            "{method} /v1/{target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())?;
        let mut response = String::new();
        stream.read_to_string(&mut response)?;
        Ok(response)
    };
    let response = exchange().map_err(|e| e.to_string())?;
    let (_, body) = response
        .split_once("\r\n\r\n")
        .ok_or_else(|| response.clone())?;
    serde_json::from_str(body).map_err(|e| format!("{e}: {response}"))
}

struct Site {
    sim: FabricServer,
    etc: PathBuf,
    state: String,
    socket: PathBuf,
}

impl Site {
    fn new() -> Self {
        let sim = FabricServer::shape("ring:3,1");
        let etc = sim.subdir("etc");
        let state = sim.dir().join("state");
        Self {
            etc,
            socket: state.join("api.sock"),
            state: state.display().to_string(),
            sim,
        }
    }

    fn write(&self, version: u64) {
        let (toml, partitions) = files(version);
        fs::write(self.etc.join("f.toml"), toml).unwrap();
        fs::write(self.etc.join("partitions.conf"), partitions).unwrap();
    }

    /// Starts the service and waits until it takes changes.
    fn start(&self) -> Running {
        let config = self.etc.join("f.toml").display().to_string();
        let args = ["run", "--config", &config, "--state-dir", &self.state];
        let service = self.sim.spawn_ferrosm(None, &args);
        let pid = u64::from(service.pid());
        let outcome = poll_until(GUARD, PAUSE, || {
            let status = call(&self.socket, "GET", "status", "")?;
            let diff = self.difference(0)?;
            let is_ready = status["pid"].as_u64() == Some(pid) && diff["keys"].is_array();
            is_ready
                .then_some(())
                .ok_or_else(|| format!("{diff}\n{}", service.stderr()))
        });
        outcome.unwrap_or_else(|error| panic!("{error}"));
        service
    }

    /// What a version would change.
    fn difference(&self, version: u64) -> Result<Value, String> {
        let body = new_configuration(version);
        call(&self.socket, "POST", "config?dry_run=true", &body)
    }

    /// The version that is in force: the only one with which nothing would change.
    fn in_force(&self, versions: [u64; 2]) -> u64 {
        let is_in_force = |version: &u64| {
            let diff = self.difference(*version).unwrap();
            let is_empty = |name: &str| diff[name].as_array().unwrap().is_empty();
            is_empty("keys") && is_empty("inputs")
        };
        let found: Vec<u64> = versions.into_iter().filter(is_in_force).collect();
        match found[..] {
            [version] => version,
            _ => panic!("{versions:?}: in force are {found:?}"),
        }
    }
}

#[test]
fn killed_change_leaves_the_old_or_the_new_configuration() {
    let kills = std::env::var("FERROSM_KILLS").ok();
    let kills: u64 = kills.map_or(25, |n| n.parse().expect("valid number"));
    let site = Site::new();
    let mut rng = TestRng::new(7);
    let mut version = 1;
    let mut outcomes = [0_u64; 2];
    let mut completed = 0;
    site.write(version);
    let mut service = site.start();
    for kill in 0..kills {
        let new = version + 1;
        let change = [Change::Apply, Change::Confirm, Change::Try][rng.index(3)];
        let delay = Duration::from_micros(rng.below(KILL_WITHIN_US));
        let socket = site.socket.clone();
        let client = thread::spawn(move || {
            let query = match change {
                Change::Apply => "config",
                Change::Confirm | Change::Try => "config?confirm_within_s=3600",
            };
            let applied = call(&socket, "POST", query, &new_configuration(new)).ok()?;
            let number = applied["new_revision"].as_u64()?;
            match change {
                Change::Apply | Change::Try => Some(()),
                Change::Confirm => {
                    let target = format!("config/{number}/confirm");
                    let confirmed = call(&socket, "POST", &target, "").ok()?;
                    confirmed["in_force"].as_u64().map(|_| ())
                }
            }
        });
        let started = Instant::now();
        while started.elapsed() < delay {
            core::hint::spin_loop();
        }
        // SIGKILL.
        drop(service);
        let acknowledged = client.join().unwrap().is_some();
        service = site.start();
        let found = site.in_force([version, new]);
        let (toml, partitions) = files(found);
        let at = format!("kill {kill}: {change:?} after {delay:?}");
        assert_eq!(
            fs::read_to_string(site.etc.join("f.toml")).unwrap(),
            toml,
            "{at}"
        );
        let input = fs::read_to_string(site.etc.join("partitions.conf")).unwrap();
        assert_eq!(input, partitions, "{at}");
        let status = call(&site.socket, "GET", "status", "").unwrap();
        assert_eq!(
            status["priority"].as_u64(),
            Some(found % 16),
            "{at}: {status}"
        );
        match change {
            Change::Try => assert_eq!(found, version, "{at}: the trial outlasted the process"),
            Change::Apply | Change::Confirm => {
                assert!(
                    !acknowledged || found == new,
                    "{at}: acknowledged, and lost"
                );
            }
        }
        outcomes[usize::from(found == new)] += 1;
        completed += u64::from(service.stderr().contains("configuration files completed"));
        version = found;
    }
    println!(
        "{kills} kills: {} times the old configuration, {} times the new one; {completed} starts completed the files",
        outcomes[0], outcomes[1]
    );
    assert!(
        kills < 20 || outcomes.iter().all(|count| *count > 0),
        "{outcomes:?}"
    );
}
