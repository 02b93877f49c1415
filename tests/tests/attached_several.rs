//! One ferrosm that serves two fabrics by the two ports of its host (`;planes=2`: no cable joins them), judged by what `sminfo` says
//! on each of them.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::time::Duration;

use ferrosm_tests::clients::Clients;
use ferrosm_tests::fabric_server::FabricServer;
use ferrosm_tests::process::{Running, Signal, poll_until};

/// Only a broken test waits so long.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

struct Planes {
    sim: FabricServer,
    guids: Vec<String>,
}

impl Planes {
    fn new() -> Self {
        let sim = FabricServer::shape("fat-tree:4;planes=2");
        let listed = sim.ferrosm(&["ports", "--json"]).expect_success().stdout;
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        let ports = listed["ports"].as_array().unwrap().iter();
        let guids: Vec<String> = ports
            .map(|port| port["port_guid"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(guids.len(), 2);
        Self { sim, guids }
    }

    /// A configuration with two fabrics; the second of this priority and, if it is not to be served, of a port that is not there.
    fn configure(&self, priority: u8, second: &str) {
        let dir = self.sim.dir().display();
        let text = format!(
            "[files]\nstate-dir = \"{dir}/state\"\n[[fabric]]\nname = \"compute\"\n[fabric.port]\nguid = \"{}\"\n\
             [[fabric]]\nname = \"storage\"\n[fabric.port]\nguid = \"{second}\"\n[fabric.sm]\npriority = {priority}\n",
            self.guids[0]
        );
        std::fs::write(self.sim.dir().join("f.toml"), text).unwrap();
    }

    fn args<'a>(config: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let mut args = vec!["run", "--config", config];
        args.extend(more);
        args
    }

    fn config(&self) -> String {
        self.sim.dir().join("f.toml").display().to_string()
    }

    fn start(&self) -> Running {
        self.sim
            .spawn_ferrosm(None, &Self::args(&self.config(), &[]))
    }

    /// Waits until `sminfo` by a port says this.
    fn wait_for(&self, port: &str, said: &str) {
        let found = poll_until(GUARD, PAUSE, || {
            let told = self.sim.run("sminfo", &["-P", port]);
            let is_it = told.stdout.contains("SMINFO_MASTER") && told.stdout.contains(said);
            if is_it { Ok(()) } else { Err(told.describe()) }
        });
        found.unwrap_or_else(|why| panic!("{why}"));
    }
}

fn wait_log(sm: &Running, what: &str) {
    let found = poll_until(GUARD, PAUSE, || {
        let log = sm.stderr();
        if log.contains(what) { Ok(()) } else { Err(log) }
    });
    found.unwrap_or_else(|log| panic!("no {what:?} in\n{log}"));
}

/// Each has its master, its settings, its state directory and its reload; SIGTERM ends both.
#[test]
fn two_fabrics_are_served_by_one_process() {
    let planes = Planes::new();
    planes.configure(5, &planes.guids[1]);
    let sm = planes.start();
    planes.wait_for("1", "priority 0 ");
    planes.wait_for("2", "priority 5 ");
    wait_log(&sm, "fabric=\"compute\"");
    wait_log(&sm, "fabric=\"storage\"");
    for name in ["compute", "storage"] {
        let dir = planes.sim.dir().join("state").join(name);
        assert!(dir.join("store.redb").is_file(), "{}", dir.display());
    }
    // An order is for one of them.
    let config = planes.config();
    let which = planes.sim.ferrosm(&["handover", "--config", &config]);
    assert_eq!(which.status.code(), Some(2), "{}", which.describe());
    assert!(
        which.stderr.contains("choose one with --fabric"),
        "{}",
        which.stderr
    );
    planes.configure(7, &planes.guids[1]);
    sm.signal(Signal::Hangup);
    planes.wait_for("2", "priority 7 ");
    planes.wait_for("1", "priority 0 ");
    let ended = sm.stop(Signal::Terminate, GUARD);
    assert!(ended.status.success(), "{}", ended.describe());
    assert_eq!(
        ended.stderr.matches("stopping").count(),
        2,
        "{}",
        ended.stderr
    );
}

/// A fabric whose port is not there does not keep the other from being served, and is served when it is.
#[test]
fn one_that_cannot_be_served_is_told_and_tried_again() {
    let planes = Planes::new();
    planes.configure(5, "0x00000000000000ee");
    let sm = planes.start();
    planes.wait_for("1", "priority 0 ");
    wait_log(&sm, "this fabric is not served now");
    planes.configure(5, &planes.guids[1]);
    planes.wait_for("2", "priority 5 ");
    let ended = sm.stop(Signal::Terminate, GUARD);
    assert!(ended.status.success(), "{}", ended.describe());
}

/// With `--once` both come up and it ends; with `--fabric` it is one; with no port of the two there, it ends at once.
#[test]
fn it_ends_as_one_fabric_does() {
    let planes = Planes::new();
    let config = planes.config();
    planes.configure(5, &planes.guids[1]);
    let once = planes
        .sim
        .ferrosm(&Planes::args(&config, &["--once", "--json"]));
    let once = once.expect_success().stdout;
    let mut names: Vec<String> = once
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|sweep| sweep["fabric"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["compute", "storage"]);
    let one = planes.sim.ferrosm(&Planes::args(
        &config,
        &["--once", "--fabric", "storage", "--json"],
    ));
    let one = one.expect_success().stdout;
    assert!(
        one.contains("\"fabric\":\"storage\"") && one.lines().count() == 1,
        "{one}"
    );
    let text = std::fs::read_to_string(&config).unwrap();
    let nowhere = text
        .replace(&planes.guids[0], "0x00000000000000ed")
        .replace(&planes.guids[1], "0x00000000000000ee");
    std::fs::write(&config, nowhere).unwrap();
    let refused = planes.sim.ferrosm(&Planes::args(&config, &[]));
    assert_eq!(refused.status.code(), Some(1), "{}", refused.describe());
    assert!(
        refused.stderr.contains("ferrosm: fabric "),
        "{}",
        refused.stderr
    );
    let flags = planes
        .sim
        .ferrosm(&Planes::args(&config, &["--ca", "mlx5_0"]));
    assert_eq!(flags.status.code(), Some(2), "{}", flags.describe());
}
