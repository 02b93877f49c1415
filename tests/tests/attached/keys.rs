//! M_Keys: rotation by command, and handover to SMs that lack the key. `smpquery` reads the keys of
//! ports.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::diags::Net;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::process::{Finished, Running, Signal, poll_until};
use ferrosm_tests::programs::sm_pair::{SmPair, certified};
use serde_json::Value;

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);
const OLD: u64 = 1;
const NEW: u64 = 0x00C0_FFEE_0BAD_CAFE;

/// The M_Keys of all end ports that respond to this key, as `smpquery` prints them.
fn keys_of_ports(sim: &FabricServer, key: u64) -> Vec<Option<u64>> {
    let asked = format!("{key:#x}");
    let mut keys = Vec::new();
    let found = sim.run("ibnetdiscover", &["-y", &asked]);
    let Ok(net) = Net::parse(&found.stdout) else {
        return vec![None];
    };
    for (lid, _) in net.lids().into_values() {
        let lid = lid.to_string();
        let args = ["-y", &asked, "--show_keys", "portinfo", &lid];
        let answer = sim.run("smpquery", &args);
        keys.push(m_key_in(&answer));
    }
    if keys.is_empty() {
        keys.push(None);
    }
    keys
}

fn m_key_in(answer: &Finished) -> Option<u64> {
    let line = answer.stdout.lines().find(|l| l.starts_with("Mkey:"))?;
    let digits = line.rsplit("0x").next()?;
    u64::from_str_radix(digits, 16).ok()
}

fn assert_all_have(sim: &FabricServer, key: u64) {
    let keys = keys_of_ports(sim, key);
    assert!(keys.iter().all(|found| *found == Some(key)), "{keys:x?}");
}

fn add_key(dir: &Path, file: &str, key: u64) {
    let path = dir.join(file);
    let text = fs::read_to_string(&path).unwrap();
    let lines = format!("\n[subnet]\nm-key = \"{key:#x}\"\nm-key-protect-bits = 2\n");
    fs::write(&path, text + &lines).unwrap();
}

fn prepare(dir: &Path) {
    certified(dir, 2);
    for n in 0..2 {
        add_key(dir, &format!("sm{n}.toml"), OLD);
    }
    fs::write(dir.join("new.key"), format!("{NEW:#018x}\n")).unwrap();
}

fn rotate(pair: &SmPair, n: usize, kind: &str, extra: &[&str]) -> Finished {
    let state = pair.sim.dir().join(format!("state{n}"));
    let file = pair.sim.dir().join("new.key");
    let args = [
        "keys",
        "rotate",
        kind,
        "--key-file",
        &file.to_string_lossy(),
        "--state-dir",
        &state.to_string_lossy(),
    ];
    pair.sim.ferrosm(&[&args[..], extra].concat())
}

fn status(pair: &SmPair, n: usize) -> Value {
    let state = pair.sim.dir().join(format!("state{n}"));
    let args = ["keys", "status", "--json", "--state-dir"];
    let answer = pair
        .sim
        .ferrosm(&[&args[..], &[&state.to_string_lossy()]].concat());
    serde_json::from_str(&answer.expect_success().stdout).unwrap()
}

/// A rotation reaches all ports; the standby has the key, takes over by handover, and keeps it. No
/// log, answer or audit line has a key.
#[test]
fn rotated_key_is_on_all_ports_and_at_the_standby() {
    let mut pair = SmPair::new(prepare);
    assert_all_have(&pair.sim, OLD);
    let planned = rotate(&pair, 0, "m-key", &["--dry-run"])
        .expect_success()
        .stdout;
    assert!(planned.contains("by replication"), "{planned}");
    assert_all_have(&pair.sim, OLD);
    let outcome = poll_until(GUARD, PAUSE, || {
        // The standby counts as a replica within a second of its synchronisation.
        let rotated = rotate(&pair, 0, "m-key", &["--reason", "T-4711"]);
        match rotated.status.code() {
            Some(0) => Ok(rotated.stdout),
            _ => Err(rotated.describe()),
        }
    });
    let text = outcome.unwrap_or_else(|e| panic!("{e}"));
    assert!(text.contains("36 of 36 ports"), "{text}");
    assert_all_have(&pair.sim, NEW);
    let keys = status(&pair, 0);
    assert_eq!(keys["m_key"], "rotated", "{keys}");
    assert_eq!(keys["ports"]["earlier"], 0, "{keys}");
    assert_eq!(keys["sms"][0]["is_replica"], true, "{keys}");

    let state = pair.sim.dir().join("state0").display().to_string();
    let handover = ["handover", "--state-dir", &state];
    let done = pair.sim.ferrosm(&handover).expect_success();
    assert!(
        done.stdout.starts_with("handed over to SM"),
        "{}",
        done.stdout
    );
    pair.wait(1, "sweep complete", 1);
    assert_all_have(&pair.sim, NEW);
    let audit = fs::read_to_string(pair.sim.dir().join("state0/audit.jsonl")).unwrap();
    assert!(
        audit.contains("rotate-m-key") && audit.contains("T-4711"),
        "{audit}"
    );
    for text in [audit, keys.to_string(), pair.log(0), pair.log(1)] {
        let lower = text.to_lowercase();
        assert!(!lower.contains("c0ffee0badcafe"), "{text}");
    }
}

/// A rotated SM_Key is that of the SA's trusted clients at once, and no SM ignores the other one.
#[test]
fn rotated_sm_key_is_that_of_both_sms_and_of_saquery() {
    let mut pair = SmPair::new(prepare);
    let trusted = |pair: &SmPair, key: &str| {
        let table = pair.sim.run("saquery", &["--smkey", key, "PKTR"]);
        table.stdout.matches("PKeyTableRecord dump").count()
    };
    let new = format!("{NEW:#x}");
    assert!(trusted(&pair, "1") > 0);
    let outcome = poll_until(GUARD, PAUSE, || {
        let rotated = rotate(&pair, 0, "sm-key", &["--reason", "T-4712"]);
        match rotated.status.code() {
            Some(0) => Ok(rotated.stdout),
            _ => Err(rotated.describe()),
        }
    });
    let text = outcome.unwrap();
    assert!(text.contains("other SMs have the new SM_Key"), "{text}");
    let outcome = poll_until(GUARD, PAUSE, || {
        let keys = status(&pair, 0);
        let has_new = keys["sms"][0]["has_sm_key"] == true && keys["sm_key"] == "rotated";
        has_new.then_some(()).ok_or_else(|| keys.to_string())
    });
    outcome.unwrap();
    let outcome = poll_until(GUARD, PAUSE, || {
        match (trusted(&pair, "1"), trusted(&pair, &new)) {
            (0, ports) if ports > 0 => Ok(()),
            counts => Err(format!("{counts:?}")),
        }
    });
    outcome.unwrap();
    let state = pair.sim.dir().join("state0").display().to_string();
    let handover = ["handover", "--state-dir", &state];
    let done = pair.sim.ferrosm(&handover).expect_success();
    assert!(done.stdout.starts_with("handed over"), "{}", done.stdout);
    pair.wait(1, "sweep complete", 1);
    assert!(trusted(&pair, &new) > 0);
    let keys = status(&pair, 1);
    assert_eq!(keys["sm_key"], "rotated", "{keys}");
}

/// kill -9 of the master in the middle of a rotation: the standby continues it, with all ports
/// reachable.
#[test]
fn master_killed_in_a_rotation_is_replaced() {
    let mut pair = SmPair::new(prepare);
    let outcome = poll_until(GUARD, PAUSE, || {
        let args = ["--wait-s", "0"];
        let sent = rotate(&pair, 0, "m-key", &args);
        match sent.describe() {
            text if text.contains("in progress") || sent.status.success() => Ok(()),
            text => Err(text),
        }
    });
    outcome.unwrap_or_else(|e| panic!("{e}"));
    pair.wait(1, "M_Key rotated", 1);
    pair.terminate(0, Signal::Kill);
    pair.wait(1, "sweep complete", 1);
    let outcome = poll_until(GUARD, PAUSE, || {
        let keys = status(&pair, 1);
        match (keys["ports"]["current"].as_u64(), &keys["m_key"]) {
            (Some(36), key) if key == "rotated" => Ok(()),
            _ => Err(keys.to_string()),
        }
    });
    outcome.unwrap_or_else(|e| panic!("{e}"));
    assert_all_have(&pair.sim, NEW);
    // The former master finds the rotated key in its own records.
    pair.start(0);
    pair.wait(1, "handed over to SM", 1);
    let outcome = poll_until(GUARD, PAUSE, || {
        let keys = status(&pair, 0);
        match (keys["role"].as_str(), keys["m_key"].as_str()) {
            (Some("master"), Some("rotated")) => Ok(()),
            _ => Err(keys.to_string()),
        }
    });
    outcome.unwrap_or_else(|e| panic!("{e}"));
    assert_all_have(&pair.sim, NEW);
}

struct Site {
    sim: FabricServer,
    sms: Vec<Running>,
}

impl Site {
    fn configure(&self, n: usize, key: u64) {
        let dir = self.sim.dir().join(format!("state{n}"));
        let priority = 10 - 5 * n;
        let text = format!(
            "[sm]\npriority = {priority}\n[files]\nstate-dir = {dir:?}\n[sweep]\ninterval = \"1s\"\n\
             [subnet]\nm-key = \"{key:#x}\"\nm-key-protect-bits = 2\nm-key-lease-period = \"60s\"\n"
        );
        fs::write(self.sim.dir().join(format!("sm{n}.toml")), text).unwrap();
    }

    fn start(&mut self, n: usize) {
        let node = ["host-0-0 mlx5_0", "host-0-1 mlx5_0"][n];
        let file = self.sim.dir().join(format!("sm{n}.toml"));
        let args = ["run", "--config", &file.to_string_lossy()];
        let running = self.sim.spawn_ferrosm(Some(node), &args);
        self.sms.push(running);
    }

    fn ask(&self, n: usize, command: &str) -> Finished {
        let state = self.sim.dir().join(format!("state{n}"));
        let args = [command, "--state-dir", &state.to_string_lossy()];
        self.sim.ferrosm(&args)
    }

    fn role(&self, n: usize) -> String {
        let state = self.sim.dir().join(format!("state{n}"));
        let args = ["status", "--json", "--state-dir", &state.to_string_lossy()];
        let answer = self.sim.ferrosm(&args);
        let status: Value = serde_json::from_str(&answer.stdout).unwrap_or_default();
        status["role"].as_str().unwrap_or_default().to_owned()
    }

    fn until(&self, what: &str, done: impl Fn(&Self) -> bool) {
        let outcome = poll_until(GUARD, PAUSE, || match done(self) {
            true => Ok(()),
            false => Err(format!("not {what}")),
        });
        outcome.unwrap_or_else(|e| panic!("{e}\n{}", self.sms[0].stderr()));
    }
}

/// The key changes on the master and is reloaded, then the operator hands over to a standby with
/// the old key: the command says which SM lacks the key, the master stays, and no table is wrong.
/// SIGTERM stops it without a handover.
#[test]
fn handover_after_a_reload_of_the_key_is_refused() {
    let sim = FabricServer::shape("fat-tree2:4,2,2");
    let mut site = Site {
        sim,
        sms: Vec::new(),
    };
    site.configure(0, OLD);
    site.configure(1, OLD);
    site.start(0);
    site.until("master", |site| site.role(0) == "master");
    site.start(1);
    site.until("standby", |site| site.role(1) == "standby");
    site.until("known", |site| {
        site.ask(0, "sms").stdout.lines().count() >= 3
    });
    site.configure(0, 2);
    site.sms[0].signal(Signal::Hangup);
    let has_key = |site: &Site| keys_of_ports(&site.sim, 2).iter().all(|k| *k == Some(2));
    site.until("rotated", has_key);
    let refused = site.ask(0, "handover");
    assert_eq!(refused.status.code(), Some(1), "{}", refused.describe());
    assert!(
        refused.stderr.contains("has another M_Key"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("subnet.m-key"),
        "{}",
        refused.stderr
    );
    assert_eq!(site.role(0), "master");
    site.sim.execute("judge");
    let takeover = site.ask(1, "takeover");
    assert_eq!(takeover.status.code(), Some(1), "{}", takeover.describe());
    assert_eq!(site.role(0), "master");
    let stopped = site.sms.remove(0).stop(Signal::Terminate, GUARD);
    let log = stopped.stderr;
    assert!(
        log.contains("handover failed") && log.contains("another M_Key"),
        "{log}"
    );
    assert_eq!(site.role(1), "standby");
}
