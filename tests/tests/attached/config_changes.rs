//! Changes of the configuration of a running service: diff, apply, confirm, rollback, history.
//!
//! Whether a configuration is in force is read from the devices with `smpquery`.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::process::{Finished, Running, Signal, poll_until};
use serde_json::Value;

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// A service with a configuration file and a partitions.conf, both of a version.
struct Site {
    sim: FabricServer,
    service: Option<Running>,
}

impl Site {
    fn start() -> Self {
        let sim = FabricServer::shape("fat-tree2:4,4,2");
        let mut site = Self { sim, service: None };
        site.write("etc", 1);
        site.restart();
        site
    }

    fn restart(&mut self) {
        self.service = None;
        let config = self.path("etc/f.toml");
        let state = self.path("state");
        let args = ["run", "--config", &config, "--state-dir", &state];
        self.service = Some(self.sim.spawn_ferrosm(None, &args));
        let outcome = poll_until(GUARD, PAUSE, || {
            let history = self.config(&["history", "--json"]);
            match history.stdout.contains("\"number\"") {
                true => Ok(()),
                false => Err(history.describe()),
            }
        });
        outcome.unwrap_or_else(|error| panic!("{error}"));
    }

    fn path(&self, name: &str) -> String {
        self.sim.dir().join(name).display().to_string()
    }

    /// Writes the files of a version into a directory; returns the name of the configuration file.
    fn write(&self, dir: &str, version: u16) -> String {
        let dir = self.sim.subdir(dir);
        let toml =
            format!("[sm]\npriority = {version}\n[partitions]\nfile = \"partitions.conf\"\n");
        let partitions = format!(
            "Default=0x7fff : ALL=limited, SELF=full ;\nv{version}={version:#x} : ALL=full ;\n"
        );
        fs::write(dir.join("partitions.conf"), partitions).unwrap();
        fs::write(dir.join("f.toml"), toml).unwrap();
        dir.join("f.toml").display().to_string()
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs a subcommand of `config` for the service.
    fn config(&self, args: &[&str]) -> Finished {
        let state = self.path("state");
        self.sim
            .ferrosm(&[&["config"], args, &["--state-dir", &state]].concat())
    }

    fn refused(&self, args: &[&str], status: i32, texts: &[&str]) {
        let asked = self.config(args);
        assert_eq!(asked.status.code(), Some(status), "{}", asked.describe());
        for text in texts {
            assert!(asked.stderr.contains(text), "{text}: {}", asked.describe());
        }
    }

    fn history(&self) -> Value {
        let asked = self.config(&["history", "--json"]);
        serde_json::from_str(&asked.stdout).unwrap_or_else(|e| panic!("{e}: {}", asked.describe()))
    }

    /// Numbers and states of the revisions, the newest first.
    fn states(&self) -> Vec<(u64, String)> {
        let history = self.history();
        let items = history["items"].as_array().unwrap();
        let state = |item: &Value| {
            let state = item["state"].as_str().unwrap().to_owned();
            (item["number"].as_u64().unwrap(), state)
        };
        items.iter().map(state).collect()
    }

    /// Waits until the far host has the P_Key of a version, and of no other.
    fn wait_for(&self, version: u16) {
        let outcome = poll_until(GUARD, PAUSE, || {
            let log = || {
                let log = self.service.as_ref().map(Running::stderr);
                log.unwrap_or_default()
            };
            let net = self.sim.net().map_err(|e| format!("{e}\n{}", log()))?;
            let host = net.hosts().last().ok_or("no host")?;
            let (port, end) = host.ports.first_key_value().ok_or("no port")?;
            let table = self.sim.run(
                "smpquery",
                &["pkeys", &end.lid.to_string(), &port.to_string()],
            );
            let has = |version: u16| table.stdout.contains(&format!("{:#06x}", 0x8000 | version));
            match (1..9).filter(|v| has(*v)).collect::<Vec<_>>()[..] {
                [found] if found == version => Ok(()),
                _ => Err(format!("{}\n{}", table.describe(), log())),
            }
        });
        outcome.unwrap_or_else(|error| panic!("version {version}: {error}"));
    }
}

fn states(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
    let owned = |(number, state): &(u64, &str)| (*number, (*state).to_owned());
    expected.iter().map(owned).collect()
}

/// A trial is in force in the fabric and not in the files; it ends at its deadline, is kept by
/// `confirm`, and is undone by `rollback`.
#[test]
fn trial_reverts_at_its_deadline_unless_confirmed() {
    let mut site = Site::start();
    site.wait_for(1);
    let new = site.write("new", 2);
    let diff = site.config(&["diff", &new]).expect_success().stdout;
    for text in [
        "sm.priority",
        "partitions.conf: 1 line added, 1 removed",
        "config apply",
    ] {
        assert!(diff.contains(text), "{diff}");
    }
    assert_eq!(site.states(), states(&[(1, "in-force")]));
    let applied = site
        .config(&[
            "apply",
            &new,
            "--confirm-within",
            "6s",
            "--reason",
            "T-4711",
        ])
        .expect_success()
        .stdout;
    assert!(
        applied.contains("applied as revision 2; reverts to 1 at"),
        "{applied}"
    );
    site.wait_for(2);
    assert!(site.text("etc/f.toml").contains("priority = 1"));
    assert!(site.text("etc/partitions.conf").contains("v1="));
    site.refused(
        &["apply", &new],
        1,
        &["revision 2 is tried until", "config confirm"],
    );
    site.wait_for(1);
    assert_eq!(
        site.states(),
        states(&[(2, "not-confirmed"), (1, "in-force")])
    );
    site.refused(&["confirm"], 1, &["no configuration is tried"]);

    drop(
        site.config(&["apply", &new, "--confirm-within", "1h"])
            .expect_success(),
    );
    assert_eq!(site.states()[0], (3, "trial".to_owned()));
    let confirmed = site.config(&["confirm"]).expect_success().stdout;
    assert_eq!(confirmed, "revision 3 confirmed\n");
    assert!(site.text("etc/f.toml").contains("priority = 2"));
    assert!(site.text("etc/partitions.conf").contains("v2="));
    site.restart();
    site.wait_for(2);

    drop(site.config(&["rollback"]).expect_success());
    site.wait_for(1);
    assert!(site.text("etc/f.toml").contains("priority = 1"));
    assert!(site.text("etc/partitions.conf").contains("v1="));
    assert_eq!(
        site.states(),
        states(&[
            (4, "in-force"),
            (3, "replaced"),
            (2, "not-confirmed"),
            (1, "replaced"),
        ])
    );
    let history = site.history();
    let second = &history["items"][2];
    assert_eq!(second["reason"], "T-4711", "{history}");
    assert!(
        second["by"].as_str().unwrap().contains("process"),
        "{history}"
    );
    assert_eq!(history["items"][0]["origin"]["rollback"], 1, "{history}");
    let audit = site.text("state/audit.jsonl");
    for text in [
        "config-apply",
        "config-confirm",
        "deadline of revision 2",
        "T-4711",
    ] {
        assert!(audit.contains(text), "{text}: {audit}");
    }
}

/// A kill during a trial leads to the files, at once; so do a rollback and a reload. A confirmed
/// change and an apply without a deadline outlast a kill.
#[test]
fn restart_reads_the_files() {
    let mut site = Site::start();
    site.wait_for(1);
    let new = site.write("new", 2);
    let try_new = |site: &Site| {
        drop(
            site.config(&["apply", &new, "--confirm-within", "1h"])
                .expect_success(),
        );
        site.wait_for(2);
    };
    try_new(&site);
    site.restart();
    site.wait_for(1);
    let log = site.service.as_ref().unwrap().stderr();
    assert!(log.contains("configuration trial ended"), "{log}");
    try_new(&site);
    let rolled_back = site.config(&["rollback"]).expect_success().stdout;
    assert!(
        rolled_back.contains("revision 1 is in force"),
        "{rolled_back}"
    );
    site.wait_for(1);
    try_new(&site);
    site.service.as_ref().unwrap().signal(Signal::Hangup);
    site.wait_for(1);
    drop(site.config(&["apply", &new]).expect_success());
    site.wait_for(2);
    site.restart();
    site.wait_for(2);
    assert_eq!(site.states()[0].1, "in-force");
}

/// What cannot be applied changes nothing, and the message says what to do.
#[test]
fn refused_changes_leave_the_configuration() {
    let site = Site::start();
    site.wait_for(1);
    let etc = site.path("etc");
    let new_file = |name: &str, text: &str| {
        fs::write(site.path(name), text).unwrap();
        site.path(name)
    };
    let invalid = new_file("etc/invalid.toml", "[sm]\npriority = 99\n");
    site.refused(
        &["apply", &invalid],
        78,
        &["invalid.toml:2:12", "sm.priority"],
    );
    let combination = new_file("etc/combination.toml", "[port]\nnumber = 1\n");
    site.refused(
        &["apply", &combination],
        78,
        &[
            "combination.toml:2:10: port.number: requires port.ca",
            "Nothing was changed",
        ],
    );
    fs::create_dir(site.path("staged")).unwrap();
    fs::write(site.path("staged/partitions.conf"), "a=none : ALL ;\n").unwrap();
    let staged = new_file(
        "staged/f.toml",
        "[partitions]\nfile = \"partitions.conf\"\n",
    );
    site.refused(&["diff", &staged], 78, &["partitions.conf:1:"]);
    let missing = new_file("staged/missing.toml", "[qos]\npolicy-file = \"none\"\n");
    site.refused(&["apply", &missing], 78, &["none", "qos.policy-file"]);
    let restart = new_file("etc/restart.toml", "[metrics]\nlisten = \"127.0.0.1:0\"\n");
    site.refused(
        &["apply", &restart, "--confirm-within", "5m"],
        1,
        &[
            "a restart ends a trial",
            "metrics.listen",
            "without --confirm-within",
        ],
    );
    site.refused(&["rollback", "9"], 1, &["no revision 9"]);
    site.refused(&["rollback"], 1, &["no earlier configuration"]);
    site.refused(&["confirm", "1"], 1, &["revision 1 is not tried"]);
    // The file of the service itself, edited in place.
    let edited = site.write("etc", 3);
    site.refused(
        &["apply", &edited, "--confirm-within", "5m"],
        1,
        &["was changed since it was read", "rollback --force"],
    );
    let new = site.write("new", 2);
    site.refused(
        &["apply", &new],
        1,
        &["was changed since it was read", "Reload", "--force"],
    );
    assert_eq!(site.states(), states(&[(1, "in-force")]));
    site.wait_for(1);
    drop(site.config(&["rollback", "1", "--force"]).expect_success());
    assert!(site.text("etc/f.toml").contains("priority = 1"));
    assert!(site.text("etc/partitions.conf").contains("v1="));
    // What is edited by hand and reloaded is a revision like any other.
    site.write("etc", 3);
    site.service.as_ref().unwrap().signal(Signal::Hangup);
    site.wait_for(3);
    let outcome = poll_until(GUARD, PAUSE, || {
        let history = site.history();
        match history["items"][0]["origin"] == "reload" {
            true => Ok(()),
            false => Err(history.to_string()),
        }
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    // Keys that need a restart are written and reported.
    let applied = site.config(&["apply", &restart]).expect_success().stdout;
    assert!(
        applied.contains("need a restart: metrics.listen"),
        "{applied}"
    );
    assert!(fs::read_dir(etc).unwrap().count() >= 5);
}

/// Another LMC is in the devices without a restart, as `smpquery` reads it, and is undone by
/// `rollback`. `config diff` says that no restart is needed.
#[test]
fn lmc_is_changed_without_a_restart() {
    let site = Site::start();
    site.wait_for(1);
    let new = site.write("new", 1);
    let text = fs::read_to_string(&new).unwrap();
    fs::write(&new, format!("{text}[lids]\nlmc = 2\n")).unwrap();
    let diff = site.config(&["diff", &new, "--json"]).expect_success();
    let diff: Value = serde_json::from_str(&diff.stdout).unwrap();
    assert_eq!(diff["keys"][0]["key"], "lids.lmc", "{diff}");
    assert_eq!(diff["keys"][0]["needs_restart"], false, "{diff}");
    let wait_for_lmc = |expected: u8| {
        let outcome = poll_until(GUARD, PAUSE, || {
            let net = site.sim.net()?;
            let hosts = net.hosts().filter_map(|host| host.ports.values().next());
            for port in hosts {
                let lid = port.lid.to_string();
                let info = site.sim.run("smpquery", &["portinfo", &lid]);
                let mut lines = info.stdout.lines();
                let line = lines.find(|line| line.starts_with("LMC:"));
                if !line.is_some_and(|line| line.ends_with(&format!(".{expected}"))) {
                    return Err(info.describe());
                }
            }
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("LMC {expected}: {error}"));
    };
    wait_for_lmc(0);
    let _ = site.config(&["apply", &new]).expect_success();
    wait_for_lmc(2);
    let _ = site.config(&["rollback"]).expect_success();
    wait_for_lmc(0);
}
