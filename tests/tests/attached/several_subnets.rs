//! Two services of one host serve two subnets through its two ports (`;planes=2`: no link joins
//! them). `sminfo` checks the result on each.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::process::{Running, Signal, poll_until};

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until `sminfo` through a port prints this text.
fn wait_for(sim: &FabricServer, port: &str, text: &str) {
    let outcome = poll_until(GUARD, PAUSE, || {
        let sminfo = sim.run("sminfo", &["-P", port]);
        let matches = sminfo.stdout.contains("SMINFO_MASTER") && sminfo.stdout.contains(text);
        if matches {
            Ok(())
        } else {
            Err(sminfo.describe())
        }
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

/// Each has its own master, settings, state directory and reload; one that stops or fails does not
/// affect the other.
#[test]
fn services_of_two_subnets_do_not_affect_each_other() {
    let sim = FabricServer::shape("fat-tree:4;planes=2");
    let listed = sim
        .ferrosm(&["ports", "--local", "--json"])
        .expect_success()
        .stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let ports = listed["ports"].as_array().unwrap().iter();
    let guids: Vec<String> = ports
        .map(|port| port["port_guid"].as_str().unwrap().to_owned())
        .collect();
    let dir = sim.dir().display().to_string();
    let configure = |name: &str, guid: &str, priority: u8| {
        let text = format!(
            "[port]\nguid = \"{guid}\"\n[sm]\npriority = {priority}\n[files]\nstate-dir = \"{dir}/state/{name}\"\n"
        );
        let path = format!("{dir}/{name}.toml");
        std::fs::write(&path, text).unwrap();
        path
    };
    let compute = configure("compute", &guids[0], 0);
    let storage = configure("storage", &guids[1], 5);
    let checked = sim.ferrosm(&["config", "check", &compute, &storage]);
    let checked = checked.expect_success().stdout;
    assert!(
        checked.contains(&format!("subnet.prefix: {compute} has")),
        "{checked}"
    );
    let start = |file: &str| -> Running { sim.spawn_ferrosm(None, &["run", "--config", file]) };
    let first = start(&compute);
    let second = start(&storage);
    wait_for(&sim, "1", "priority 0 ");
    wait_for(&sim, "2", "priority 5 ");
    for name in ["compute", "storage"] {
        let store = sim.dir().join("state").join(name).join("store.redb");
        assert!(store.is_file(), "{}", store.display());
    }
    configure("storage", &guids[1], 7);
    second.signal(Signal::Hangup);
    wait_for(&sim, "2", "priority 7 ");
    // A port or state directory has one service.
    configure("storage", &guids[0], 7);
    let refused = sim.ferrosm(&["config", "check", &compute, &storage]);
    assert_eq!(refused.status.code(), Some(78), "{}", refused.describe());
    let swept = sim.ferrosm(&["sweep", "--config", &compute]);
    drop(swept.expect_success());
    let ended = second.stop(Signal::Terminate, GUARD);
    assert!(ended.status.success(), "{}", ended.describe());
    wait_for(&sim, "1", "priority 0 ");
    let ended = first.stop(Signal::Terminate, GUARD);
    assert!(ended.status.success(), "{}", ended.describe());
}
