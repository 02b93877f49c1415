//! What operators ask on a day with faults, one command after the other, each answer compared with
//! a program of another project where one can tell.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::managed_fabric::ManagedFabric;
use ferrosm_tests::programs::process::{Launch, poll_until};
use serde_json::Value;

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// A fabric with a master on its first host, and a standby.
struct Day {
    lab: ManagedFabric,
}

impl Day {
    /// What a command prints; its exit status is this one.
    fn exits(&self, status: i32, args: &[&str]) -> String {
        let done = self.lab.ask(args);
        assert_eq!(done.status.code(), Some(status), "{}", done.describe());
        format!("{}{}", done.stdout, done.stderr)
    }

    /// What a command prints that succeeds, and has these texts.
    fn says(&self, args: &[&str], texts: &[&str]) -> String {
        let said = self.exits(0, args);
        for text in texts {
            assert!(said.contains(text), "{args:?}: no {text:?} in {said}");
        }
        said
    }

    fn run(&self, program: &str, args: &[&str]) -> String {
        self.lab.sim.run(program, args).expect_success().stdout
    }

    /// A field of the port that `smpquery portinfo` reads.
    fn port_info(&self, node: &str, port: &str, field: &str) -> String {
        let place = self.lab.ask_json(&["where", node]);
        let lid = place["items"][0]["lid"].to_string();
        let info = self.run("smpquery", &["portinfo", &lid, port]);
        let line = info.lines().find(|line| line.starts_with(field));
        let value = line.unwrap_or_default().rsplit('.').next();
        value.unwrap_or_default().to_owned()
    }

    fn wait(&self, args: &[&str], text: &str) {
        let outcome = poll_until(GUARD, PAUSE, || {
            let done = self.lab.ask(args);
            let has_text = done.stdout.contains(text);
            has_text.then_some(()).ok_or_else(|| done.describe())
        });
        outcome.unwrap_or_else(|error| panic!("{args:?}: {error}"));
    }
}

/// The switches and ports between two hosts, as `ibtracert` finds them.
fn traced(day: &Day, from: &str, to: &str) -> Vec<String> {
    let lid = |name: &str| {
        let place = day.lab.ask_json(&["where", name]);
        place["items"][0]["lid"].to_string()
    };
    let trace = day.run("ibtracert", &[&lid(from), &lid(to)]);
    // `[5] -> switch port {0x...}[1] lid 2-2 "leaf-0-0"`
    let hops = trace.lines().filter(|line| line.contains("-> switch port"));
    hops.map(|line| {
        let in_port = line.split("}[").nth(1).unwrap().split(']').next().unwrap();
        let name = line.split('"').nth(1).unwrap();
        format!("{name} {}", in_port.trim())
    })
    .collect()
}

#[test]
fn questions_of_a_day_are_answered() {
    let day = Day {
        lab: ManagedFabric::start("fat-tree:8", &[]),
    };
    let dir = day.lab.sim.subdir("standby").display().to_string();
    let node = Some("host-4-0-0 mlx5_0");
    let _standby = day
        .lab
        .sim
        .spawn_ferrosm(node, &["run", "--state-dir", &dir]);

    // Who is master, since when?
    day.wait(&["sms"], "standby");
    let sminfo = day.run("sminfo", &[]);
    assert!(sminfo.contains("SMINFO_MASTER"), "{sminfo}");
    let sms = day.lab.ask_json(&["sms"]);
    let master = sms["items"].as_array().unwrap().iter();
    let guids: Vec<&str> = master
        .filter(|sm| sm["state"] == "master")
        .map(|sm| {
            sm["port"]["guid"]
                .as_str()
                .unwrap()
                .trim_start_matches("0x")
        })
        .collect();
    let [guid] = guids[..] else {
        panic!("{sms}");
    };
    assert!(
        sminfo.contains(guid.trim_start_matches('0')),
        "{sms} {sminfo}"
    );

    // Is the fabric healthy? What changed? Which links are down?
    day.says(&["health"], &["OK  80 switches, 128 hosts, 384 links"]);
    day.lab.sim.execute("cut leaf-0-0[5]");
    day.wait(&["links", "--problems"], "leaf-0-0/5");
    let health = day.exits(1, &["health"]);
    assert!(health.contains("leaf-0-0/5: down since"), "{health}");
    day.says(
        &["changes", "--since", "1h", "--kind", "link"],
        &["link down leaf-0-0/5 - spine-0-0/1", "trap 128"],
    );
    assert_eq!(day.port_info("leaf-0-0", "5", "LinkState"), "Down");

    // Where is a host, which path do packets take, and why?
    day.says(&["where", "host-1-1-1"], &["leaf-1-1/2"]);
    let path = day.lab.ask_json(&["path", "host-0-0-0", "host-1-1-1"]);
    let hops = path["hops"].as_array().unwrap().iter();
    let answered: Vec<String> = hops
        .map(|hop| format!("{} {}", hop["name"].as_str().unwrap(), hop["in_port"]))
        .collect();
    assert_eq!(answered, traced(&day, "host-0-0-0", "host-1-1-1"));
    day.says(
        &["explain", "route", "host-0-0-0", "host-1-1-1"],
        &["leaf-0-0 port", "computing the routes anew"],
    );
    day.says(&["explain", "sweep"], &["because", "SMPs", "phases"]);
    day.says(&["explain", "engine"], &["dmodc", "busiest link"]);
    day.says(&["explain", "port", "leaf-0-0/5"], &["Down", "alarm"]);

    // How near are limits? Who is in a partition, in a group?
    let nodes = day
        .run("saquery", &["-N"])
        .matches("NodeRecord dump")
        .count();
    day.says(&["limits"], &["lids", &nodes.to_string()]);
    day.says(&["partition", "list"], &["0x7fff"]);
    day.says(&["group", "list"], &["ff12:401b:ffff::ffff:ffff"]);
    day.says(&["host", "show", "host-1-1-1"], &["partitions", "groups"]);

    // What would a start, or a loss, do? Which cables are not as planned?
    let without = day.exits(1, &["whatif", "--without", "leaf-1-1"]);
    assert!(without.contains("cut off"), "{without}");
    let plan = day.exits(0, &["cabling", "learn"]);
    let file = day.lab.sim.dir().join("plan.csv");
    std::fs::write(&file, plan).unwrap();
    day.exits(0, &["cabling", "check", &file.display().to_string()]);
    day.says(&["config", "history"], &[]);

    // Which client asks the SA most? Which alarms are there?
    let clients = day.lab.ask_json(&["sa", "clients"]);
    assert!(
        clients["items"][0]["requests"].as_u64() > Some(0),
        "{clients}"
    );
    let alarms = day.lab.ask_json(&["alarms"]);
    let id = alarms["items"][0]["id"].to_string();
    day.says(&["alarms", "ack", &id, "--reason", "T-4711"], &[]);
    day.says(&["explain", "alarm", &id], &["T-4711", "what to do"]);

    // Which keys are in force? What does a developer need?
    day.says(&["keys", "status"], &["M_Key"]);
    let report = day.lab.sim.dir().join("report.tar.gz");
    let report = report.display().to_string();
    day.exits(0, &["bugreport", "-o", &report]);
    let listed = Launch::new("tar")
        .args(&["tzf", &report])
        .start(day.lab.sim.dir())
        .wait(GUARD)
        .expect_success();
    assert!(listed.stdout.contains("README"), "{}", listed.stdout);

    // How is a switch taken out for maintenance, a port put out of service, a tenant added?
    day.says(&["drain", "spine-1-1"], &["out of the routes"]);
    let used = traced(&day, "host-0-0-0", "host-1-1-1").join(" ");
    assert!(!used.contains("spine-1-1"), "{used}");
    day.exits(0, &["undrain", "spine-1-1"]);
    day.exits(0, &["port", "disable", "leaf-2-0/6", "--reason", "cable"]);
    assert_eq!(day.port_info("leaf-2-0", "6", "PhysLinkState"), "Disabled");
    day.exits(0, &["port", "enable", "leaf-2-0/6"]);
    day.says(
        &[
            "partition",
            "add",
            "TenantA",
            "--pkey",
            "0x51",
            "--member",
            "host-1-[0-1]-1",
        ],
        &["2 of 2 ports"],
    );
    let table = {
        let place: Value = day.lab.ask_json(&["where", "host-1-1-1"]);
        let lid = place["items"][0]["lid"].to_string();
        day.run("smpquery", &["pkeys", &lid, "1"])
    };
    assert!(table.contains("0x8051"), "{table}");
}
