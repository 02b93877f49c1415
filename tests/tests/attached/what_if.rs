//! `ferrosm whatif` of a running service, compared with the tables that `dump_fts` reads from the
//! devices before and after the loss.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::forwarding_tables::forwarding_tables;
use ferrosm_tests::programs::process::{Finished, poll_until};
use serde_json::Value;

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

fn ask(sim: &FabricServer, args: &[&str]) -> Finished {
    let dir = sim.dir().join("sm").display().to_string();
    sim.ferrosm(&[args, &["--state-dir", &dir]].concat())
}

fn wait_for_health(sim: &FabricServer, text: &str) {
    let outcome = poll_until(GUARD, PAUSE, || {
        let health = ask(sim, &["health"]);
        let has_text = health.stdout.contains(text);
        has_text.then_some(()).ok_or_else(|| health.describe())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

fn json(done: &Finished) -> Value {
    serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {}", done.describe()))
}

/// Predicts, cuts, and counts the entries that really moved and were removed.
#[test]
fn predicted_entries_are_those_that_move() {
    let sim = FabricServer::shape("fat-tree:4");
    let dir = sim.dir().join("sm").display().to_string();
    let _sm = sim.spawn_ferrosm(None, &["run", "--state-dir", &dir]);
    wait_for_health(&sim, "OK  20 switches");
    for (without, change, text) in [
        ("leaf-1-0/3", "cut \"leaf-1-0\"[3]", "47 links"),
        ("core-1", "off core-1", "19 switches"),
        ("leaf-3-1", "off leaf-3-1", "18 switches"),
        (
            "host-2-0-0 mlx5_0",
            "off \"host-2-0-0 mlx5_0\"",
            "host-2-0-0 mlx5_0: absent",
        ),
    ] {
        let asked = ask(&sim, &["whatif", "--without", without, "--json"]);
        let predicted = json(&asked);
        let cuts_off = predicted["pairs_cut_off"].as_u64() > Some(0);
        assert_eq!(
            asked.status.code(),
            Some(i32::from(cuts_off)),
            "{predicted}"
        );
        let before = forwarding_tables(&sim);
        drop(sim.execute(change));
        wait_for_health(&sim, text);
        let after = forwarding_tables(&sim);
        let moved = after
            .iter()
            .filter(|(key, port)| before.get(key).is_some_and(|old| old != *port));
        assert_eq!(
            predicted["changes"]["entries_moved"].as_u64(),
            Some(moved.count() as u64),
            "{without}: {predicted}"
        );
        let switches: std::collections::BTreeSet<&String> =
            after.keys().map(|(switch, _)| switch).collect();
        let removed = before
            .keys()
            .filter(|key| switches.contains(&key.0) && !after.contains_key(key));
        assert_eq!(
            predicted["changes"]["entries_removed"].as_u64(),
            Some(removed.count() as u64),
            "{without}: {predicted}"
        );
    }
}

/// Text, names, and refusals; the same answers for a fabric file.
#[test]
fn questions_are_answered_by_the_service_and_for_files() {
    let sim = FabricServer::shape("fat-tree:4");
    let dir = sim.dir().join("sm").display().to_string();
    let _sm = sim.spawn_ferrosm(None, &["run", "--state-dir", &dir]);
    wait_for_health(&sim, "OK  20 switches");
    let leaf = ask(&sim, &["whatif", "--without", "leaf-3-1"]);
    assert_eq!(leaf.status.code(), Some(1), "{}", leaf.describe());
    for text in [
        "without leaf-3-1:",
        "2 ports cut off (host-3-1-0 mlx5_0 (leaf-3-1/1), host-3-1-1 mlx5_0 (leaf-3-1/2))",
        "29 pairs of ports cannot reach each other",
        "no credit loop on any VL",
    ] {
        assert!(leaf.stdout.contains(text), "{text}: {}", leaf.describe());
    }
    let uplink = ask(&sim, &["whatif", "--without", "leaf-3-1/3"]);
    assert_eq!(uplink.status.code(), Some(0), "{}", uplink.describe());
    assert!(
        uplink.stdout.contains("2 ports lose their redundancy"),
        "{}",
        uplink.describe()
    );
    let other = ask(&sim, &["whatif", "--engine", "updn", "--json"]);
    assert_eq!(json(&other)["after"]["engine"], "updn");
    for (args, texts) in [
        (
            &["whatif", "--without", "leaf-9"][..],
            "no node or link is named `leaf-9`",
        ),
        (
            &["whatif", "--without", "leaf-3-1/99"][..],
            "`leaf-3-1/99` has no link",
        ),
        (&["whatif"][..], "--without"),
    ] {
        let refused = ask(&sim, args);
        assert!(refused.stderr.contains(texts), "{}", refused.describe());
        assert_ne!(refused.status.code(), Some(0), "{}", refused.describe());
    }
    let survey = json(&ask(&sim, &["whatif", "--n-1", "--json"]));
    let losses = survey["losses"].as_array().unwrap();
    assert_eq!(losses.len(), 20 + 32 + 16);
    let classes: std::collections::BTreeSet<u64> = losses
        .iter()
        .map(|l| l["class"].as_u64().unwrap())
        .collect();
    let predictions = survey["predictions"].as_array().unwrap();
    assert_eq!(predictions.len(), classes.len());
    assert!(
        predictions
            .iter()
            .all(|p| p["prediction"]["after"].is_object())
    );
    // The same fabric as a file has the same losses.
    let offline = sim.ferrosm(&["whatif", "--n-1", "--json", "--from", "fat-tree:4"]);
    let offline = json(&offline.expect_success());
    let key = |loss: &Value| {
        let fields = ["name", "pairs_cut_off", "cut_off", "lose_redundancy"];
        fields.map(|field| loss[field].to_string())
    };
    let mut served: Vec<_> = losses.iter().map(key).collect();
    let mut read: Vec<_> = offline["losses"]
        .as_array()
        .unwrap()
        .iter()
        .map(key)
        .collect();
    served.sort();
    read.sort();
    assert_eq!(served, read);
}

/// What `ibnetdiscover` saw before a cable was cut is the fabric with it: the prediction is that of
/// the entries that move when it is mended. A switch is added in the same way.
#[test]
fn fabric_file_predicts_added_cables_and_switches() {
    let sim = FabricServer::shape("fat-tree:4");
    let dir = sim.dir().join("sm").display().to_string();
    let _sm = sim.spawn_ferrosm(None, &["run", "--state-dir", &dir]);
    wait_for_health(&sim, "OK  20 switches");
    let file = sim.dir().join("whole.txt");
    let discovered = sim.run("ibnetdiscover", &[]).expect_success().stdout;
    std::fs::write(&file, discovered).unwrap();
    let file = file.display().to_string();
    let with = ["whatif", "--with", &file, "--json"];
    let same = ask(&sim, &with);
    assert!(
        same.stderr
            .contains("has the nodes and cables of the fabric"),
        "{}",
        same.describe()
    );
    let whole = json(&ask(&sim, &["whatif", "--engine", "minhop", "--json"]));

    drop(sim.execute("cut \"leaf-2-0\"[4]"));
    wait_for_health(&sim, "47 links");
    let predicted = json(&ask(&sim, &with).expect_success());
    let added = predicted["added"].as_array().unwrap();
    assert_eq!(added.len(), 1, "{predicted}");
    assert!(added[0].as_str().unwrap().contains("leaf-2-0/4"));
    assert_eq!(predicted["lost"], serde_json::json!([]), "{predicted}");
    let before = forwarding_tables(&sim);
    drop(sim.execute("restore \"leaf-2-0\"[4]"));
    wait_for_health(&sim, "OK  20 switches");
    let after = forwarding_tables(&sim);
    let moved = after
        .iter()
        .filter(|(key, port)| before.get(key).is_some_and(|old| old != *port));
    assert_eq!(
        predicted["changes"]["entries_moved"].as_u64(),
        Some(moved.count() as u64),
        "{predicted}"
    );
    assert_eq!(
        predicted["after"]["busiest_routes"], whole["before"]["busiest_routes"],
        "{predicted}"
    );

    drop(sim.execute("off core-1"));
    wait_for_health(&sim, "19 switches");
    let predicted = json(&ask(&sim, &with).expect_success());
    // The switch and its four cables.
    assert_eq!(predicted["added"].as_array().unwrap().len(), 5);
    assert_eq!(predicted["pairs_cut_off"], 0, "{predicted}");
    assert_eq!(
        predicted["after"]["busiest_routes"], whole["before"]["busiest_routes"],
        "{predicted}"
    );
    assert!(predicted["changes"]["entries_added"].as_u64() > Some(0));

    // A file without a leaf is its loss; the same for two files.
    let [with_all, with_fewer] = ["fat-tree:4", "fat-tree:2"];
    let offline = sim.ferrosm(&["whatif", "--from", with_all, "--with", &file, "--json"]);
    assert_eq!(offline.status.code(), Some(1), "{}", offline.describe());
    assert!(offline.stderr.contains("has the nodes and cables"));
    let loss = sim.ferrosm(&["whatif", "--from", &file, "--with", with_fewer, "--json"]);
    let refused = loss.describe();
    assert_ne!(loss.status.code(), Some(0), "{refused}");
}
