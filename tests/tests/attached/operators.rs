//! What operators ask and do on a day with cables, ports and other SMs: the answers name what
//! happened, and what to do.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::managed_fabric::ManagedFabric;
use ferrosm_tests::programs::process::poll_until;
use serde_json::Value;

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// Waits until a command prints all these texts; returns what it prints.
fn wait(lab: &ManagedFabric, args: &[&str], texts: &[&str]) -> String {
    let outcome = poll_until(GUARD, PAUSE, || {
        let done = lab.ask(args);
        let has_texts = texts.iter().all(|text| done.stdout.contains(text));
        match has_texts {
            true => Ok(done.stdout),
            false => Err(done.describe()),
        }
    });
    outcome.unwrap_or_else(|error| panic!("{args:?}: {error}"))
}

fn succeed(lab: &ManagedFabric, args: &[&str]) -> String {
    lab.ask(args).expect_success().stdout
}

/// A command fails and names these texts.
fn refused(lab: &ManagedFabric, args: &[&str], texts: &[&str]) {
    let done = lab.ask(args);
    assert_eq!(done.status.code(), Some(1), "{}", done.describe());
    for text in texts {
        assert!(done.stderr.contains(text), "{text:?}: {}", done.describe());
    }
}

/// The lines of an output that name a port.
fn lines_about<'o>(output: &'o str, port: &str) -> Vec<&'o str> {
    output.lines().filter(|line| line.contains(port)).collect()
}

/// Two cables that were swapped are one difference, and the changes say which links were there
/// before. A cable that was unplugged is lost.
#[test]
fn swapped_cables_are_one_difference() {
    let lab = ManagedFabric::start("fat-tree:4", &[]);
    let from = lab.ask_json(&["status"])["at"].as_str().unwrap().to_owned();
    for port in ["leaf-3-0[3]", "leaf-1-0[3]", "leaf-1-1[3]"] {
        lab.sim.execute(&format!("unplug {port}"));
    }
    let lost = ["leaf-3-0/3", "leaf-1-0/3", "leaf-1-1/3"];
    wait(&lab, &["links", "--problems"], &lost);
    lab.sim.execute("plug leaf-1-0[3] spine-1-0[2] 4x hdr");
    lab.sim.execute("plug leaf-1-1[3] spine-1-0[1] 4x hdr");
    let places = [
        "leaf-1-0/3 - spine-1-0/2 in place of",
        "leaf-1-1/3 - spine-1-0/1 in place of",
    ];
    let changes = wait(&lab, &["changes", "--kind", "link"], &places);
    assert!(!changes.contains("in place of leaf-3-0"), "{changes}");
    let difference = lab.ask_json(&["diff", &from]);
    let items = difference["items"].as_array().unwrap();
    let of = |after: &str| -> Vec<&Value> {
        let found = items.iter().filter(|item| item["after"] == after);
        found.collect()
    };
    let [swapped] = of("swapped")[..] else {
        panic!("{difference}");
    };
    assert_eq!(swapped["replaced_by"].as_array().unwrap().len(), 2);
    assert!(swapped["object"].as_str().unwrap().contains("leaf-1-0/3"));
    let [lost] = of("down")[..] else {
        panic!("{difference}");
    };
    assert!(lost["object"].as_str().unwrap().contains("leaf-3-0/3"));
    assert_eq!(items.len(), 2, "{difference}");
}

/// An SM of another installation is listed with the reason why it takes no part.
#[test]
fn ignored_sms_are_listed_with_the_reason() {
    let sim = ferrosm_tests::programs::fabric_server::FabricServer::shape("fat-tree:4");
    let config = |name: &str, key: &str| {
        let file = sim.dir().join(name);
        fs::write(&file, format!("[sm]\nsm-key = \"{key}\"\n")).unwrap();
        file.display().to_string()
    };
    let own = config("own.toml", "0x1111");
    let other = config("other.toml", "0x2222");
    let lab = ManagedFabric::on(sim, &["--config", &own]);
    let dir = lab.sim.subdir("other").display().to_string();
    let node = Some("host-1-0-0 mlx5_0");
    let flags = ["run", "--state-dir", &dir, "--config", &other];
    let _other = lab.sim.spawn_ferrosm(node, &flags);
    let listed = wait(&lab, &["sms"], &["ignored: another SM_Key"]);
    assert!(listed.contains("host-1-0-0"), "{listed}");
    let sms = lab.ask_json(&["sms"]);
    let items = sms["items"].as_array().unwrap();
    assert_eq!(items.len(), 2, "{sms}");
    assert_eq!(items[0]["is_self"], true);
    assert_eq!(items[1]["ignored"], "another SM_Key (sm.sm-key)");
    // Each is master of its own hosts, and an alarm says so.
    wait(&lab, &["alarms"], &["second master of the fabric"]);
}

/// The port of a host is disabled and enabled by the name of the host, which is not in the subnet
/// meanwhile. Neither is an alarm.
#[test]
fn port_of_a_host_is_named_by_the_host() {
    let lab = ManagedFabric::start("fat-tree:4", &[]);
    let accepted = ["--accept", "cut-off"];
    let disable = [&["port", "disable", "host-1-1-1"], &accepted[..]].concat();
    succeed(&lab, &disable);
    wait(&lab, &["links", "--problems"], &["leaf-1-1/2"]);
    refused(
        &lab,
        &["port", "enable", "host-0-0-1"],
        &["nothing named `host-0-0-1` is disabled", "leaf-1-1/2"],
    );
    succeed(&lab, &["port", "enable", "host-1-1-1"]);
    wait(&lab, &["where", "host-1-1-1"], &["leaf-1-1/2"]);
    // It was there all the time, so no alarm was raised, not even for a moment.
    let alarms = lab.ask_json(&["alarms", "--all"]);
    assert_eq!(alarms["total"], 0, "{alarms}");
    assert!(succeed(&lab, &["status"]).contains("alarms      none"));

    // Afterwards a loss of the same link is one.
    lab.sim.execute("cut leaf-1-1[3]");
    let worst = ["worst: alarm 1, error, ", "leaf-1-1/3: down"];
    let status = wait(&lab, &["status"], &worst);
    assert_eq!(lines_about(&status, "alarms").len(), 1, "{status}");
    succeed(&lab, &["alarms", "ack", "1"]);
    wait(
        &lab,
        &["status"],
        &["0, and 1 acknowledged; worst: alarm 1"],
    );
}

/// A port that does not exist is answered with those that do.
#[test]
fn missing_port_is_answered_with_those_that_exist() {
    let lab = ManagedFabric::start("fat-tree:4", &[]);
    refused(
        &lab,
        &["where", "leaf-0-0/99"],
        &["leaf-0-0 has no port 99", "Its ports are 1 to 4"],
    );
    refused(
        &lab,
        &["where", "host-0-0-0/2"],
        &["host-0-0-0 has no port 2", "Its port is 1"],
    );
    refused(&lab, &["where", "leaf-9-9/1"], &["no port is named"]);
    succeed(&lab, &["where", "leaf-0-0/4"]);
}

/// The prediction of a drain says the same as its result, also where something is drained already,
/// and the same question has the same answer.
#[test]
fn dry_run_of_a_drain_says_what_the_drain_does() {
    let lab = ManagedFabric::start("fat-tree:8", &[]);
    succeed(&lab, &["drain", "leaf-0-0/5"]);
    let prediction = |target: &str| {
        let plan = lab.ask_json(&["drain", target, "--dry-run"]);
        plan["prediction"].clone()
    };
    for target in ["spine-3-1", "spine-0-1"] {
        let predicted = prediction(target);
        let lids = predicted["changes"]["drained_lids"].as_u64().unwrap();
        let drained = succeed(&lab, &["drain", target]);
        let dropped = format!("packets to {lids} LIDs were dropped");
        let says_dropped = drained.contains("dropped");
        assert_eq!(says_dropped, lids > 0, "{predicted} {drained}");
        assert!(lids == 0 || drained.contains(&dropped), "{drained}");
        let next = prediction("spine-2-2");
        for figure in ["vls", "busiest_routes", "hops"] {
            let before = &next["before"][figure];
            assert_eq!(*before, predicted["after"][figure], "{figure}");
        }
        assert_eq!(next, prediction("spine-2-2"));
    }
}
