//! Event streams and dry runs of the API, asked by curl over the Unix socket.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::fs;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::process::{Launch, Running, poll_until};
use serde_json::Value;

use super::api::{GUARD, PAUSE, ask, json, start, wait_for_health};

/// Starts curl on the socket of the service.
fn curl(sim: &FabricServer, target: &str, args: &[&str]) -> Running {
    Launch::new("curl")
        .args(&[
            "--silent",
            "--show-error",
            "--no-buffer",
            "--unix-socket",
            "sm/api.sock",
        ])
        .args(args)
        .args(&[&format!("http://ferrosm{target}")])
        .start(sim.dir())
}

fn stream(sim: &FabricServer, target: &str, args: &[&str]) -> Running {
    let accept = ["--header", "accept: text/event-stream"];
    curl(sim, target, &[&accept, args].concat())
}

/// The complete events of a stream: their names, numbers and data.
fn received(text: &str) -> Vec<(String, Option<u64>, Value)> {
    let complete = text
        .rsplit_once("\n\n")
        .map_or("", |(complete, _)| complete);
    let field = |event: &str, name: &str| {
        let value = event.lines().find_map(|line| line.strip_prefix(name));
        value.map(|value| value.trim_start().to_owned())
    };
    complete
        .split("\n\n")
        .filter_map(|event| {
            let data = serde_json::from_str(&field(event, "data:")?).unwrap();
            let number = field(event, "id:").map(|id| id.parse().unwrap());
            Some((field(event, "event:").unwrap_or_default(), number, data))
        })
        .collect()
}

/// Numbers of the events that the service remembers.
fn remembered(sim: &FabricServer) -> Vec<u64> {
    let events = ask(sim, "sm", &["events", "--json"]).stdout;
    events
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["number"]
                .as_u64()
                .unwrap()
        })
        .collect()
}

/// Waits until a stream has the last event that the service remembers; returns its events.
fn wait_for_last(sim: &FabricServer, stream: &Running) -> Vec<(String, Option<u64>, Value)> {
    let outcome = poll_until(GUARD, PAUSE, || {
        let last = *remembered(sim).last().unwrap();
        let events = received(&stream.stdout());
        match events.last() {
            Some((_, Some(number), _)) if *number >= last => Ok(events),
            Some(_) | None => Err(format!("{events:?}, not up to {last}")),
        }
    });
    outcome.unwrap()
}

/// A stream has each event once, also over a reconnect; it says what it lost.
#[test]
fn stream_of_events_is_resumed_without_loss() {
    let sim = FabricServer::shape("fat-tree2:4,4,2");
    let _sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    let first = stream(&sim, "/v1/events", &[]);
    let before = wait_for_last(&sim, &first);
    drop(sim.execute("off spine-1"));
    wait_for_health(&sim, "sm", 1, &["spine-1: absent"]);
    let with_loss = wait_for_last(&sim, &first);
    assert!(with_loss.len() > before.len());
    assert!(
        with_loss.iter().all(|(name, ..)| name.is_empty()),
        "{with_loss:?}"
    );
    drop(first);
    drop(sim.execute("on spine-1"));
    wait_for_health(&sim, "sm", 0, &["OK"]);
    let last = with_loss.last().unwrap().1.unwrap();
    let resume = format!("last-event-id: {last}");
    let second = stream(&sim, "/v1/events?since=1", &["--header", &resume]);
    let rest = wait_for_last(&sim, &second);
    let numbers: Vec<u64> = with_loss
        .iter()
        .chain(&rest)
        .map(|(_, number, _)| number.unwrap())
        .collect();
    assert_eq!(numbers, remembered(&sim)[..numbers.len()]);
    assert_eq!(rest[0].2["number"], rest[0].1.unwrap());

    let of_errors = stream(&sim, "/v1/events?severity=error&since=1", &[]);
    let outcome = poll_until(GUARD, PAUSE, || {
        let events = received(&of_errors.stdout());
        let lost = events.first().cloned();
        lost.ok_or_else(|| of_errors.stdout())
    });
    let (name, number, data) = outcome.unwrap();
    assert_eq!((&*name, number), ("lost", None));
    assert_eq!(data["since"], 1);
}

/// Only some clients receive streams at a time; others get an error with a remedy. Invalid
/// positions are refused.
#[test]
fn streams_of_events_are_bounded() {
    let sim = FabricServer::shape("star:2");
    let _sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    let mut streams: Vec<Running> = (0..24).map(|_| stream(&sim, "/v1/events", &[])).collect();
    for open in &streams {
        wait_for_last(&sim, open);
    }
    let status = ["--write-out", "\n%{http_code}"];
    let refused = stream(&sim, "/v1/events", &status).wait(GUARD).stdout;
    assert!(refused.ends_with("\n503"), "{refused}");
    assert!(refused.contains("with `wait_s`"), "{refused}");
    assert!(
        curl(&sim, "/v1/status", &status)
            .wait(GUARD)
            .stdout
            .ends_with("\n200")
    );
    drop(streams.pop());
    let outcome = poll_until(GUARD, PAUSE, || {
        let again = stream(&sim, "/v1/events", &["--max-time", "1"])
            .wait(GUARD)
            .stdout;
        if received(&again).is_empty() {
            Err(again)
        } else {
            Ok(())
        }
    });
    outcome.unwrap();
    drop(streams);
    let invalid = stream(&sim, "/v1/events", &["--header", "last-event-id: x"]);
    assert!(invalid.wait(GUARD).stdout.contains("invalid-request"));
    let invalid = stream(&sim, "/v1/events?wait_s=1", &[]);
    assert!(
        invalid
            .wait(GUARD)
            .stdout
            .contains("a stream has no wait_s")
    );
}

/// A dry run says what a change would do, or why it would be refused, and changes nothing: neither
/// the devices, nor the audit log, nor the events.
#[test]
fn dry_runs_change_nothing() {
    let sim = FabricServer::shape("fat-tree2:4,4,2");
    let _sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    let audit = sim.dir().join("sm/audit.jsonl");
    let leaf_lid = json(&sim, "sm", &["where", "leaf-0"])["items"][0]["lid"].to_string();
    let state = || {
        let lfts = sim
            .run("ibroute", &["-n", &leaf_lid])
            .expect_success()
            .stdout;
        (
            fs::read_to_string(&audit).unwrap_or_default(),
            remembered(&sim),
            lfts,
        )
    };
    let before = state();
    let drain = json(&sim, "sm", &["drain", "spine-1", "--dry-run"]);
    assert_eq!(drain["kind"], "drain", "{drain}");
    let predicted = &drain["prediction"];
    assert_eq!(predicted["lost"][0], "spine-1", "{drain}");
    assert_eq!(predicted["pairs_cut_off"], 0, "{drain}");
    assert!(
        predicted["changes"]["entries_moved"].as_u64().unwrap() > 0,
        "{drain}"
    );
    let text = ask(&sim, "sm", &["drain", "spine-1", "--dry-run"]).expect_success();
    assert!(
        text.stdout
            .contains("would drain spine-1; nothing was changed"),
        "{}",
        text.describe()
    );

    let leaf = ask(&sim, "sm", &["drain", "leaf-1", "--dry-run"]);
    assert!(
        !leaf.status.success() && leaf.stderr.contains("Nothing was changed"),
        "{}",
        leaf.describe()
    );
    let disable = ["port", "disable", "host-0-1", "--dry-run"];
    let refused = ask(&sim, "sm", &disable);
    assert!(
        refused.stderr.contains("Nothing was changed"),
        "{}",
        refused.describe()
    );

    let members = ["--member", "host-0-1", "--member", "host-1-*"];
    let add = [
        &["partition", "add", "T", "--pkey", "0x51", "--dry-run"],
        &members[..],
    ]
    .concat();
    let plan = json(&sim, "sm", &add);
    assert_eq!(plan["p_key_ports"]["total"], 3, "{plan}");
    assert_eq!(plan["target"], "T (0x0051)", "{plan}");
    let conflict = ["partition", "add", "T", "--pkey", "0x7fff", "--dry-run"];
    let conflict = ask(&sim, "sm", &conflict);
    assert!(!conflict.status.success(), "{}", conflict.describe());
    assert_eq!(before, state());

    let create: Vec<&str> = add
        .iter()
        .copied()
        .filter(|arg| *arg != "--dry-run")
        .collect();
    let _ = ask(&sim, "sm", &create).expect_success();
    let remove = json(&sim, "sm", &["partition", "remove", "T", "--dry-run"]);
    assert_eq!(remove["p_key_ports"]["total"], 3, "{remove}");
    let _ = ask(&sim, "sm", &["drain", "spine-1"]).expect_success();
    let undrain = json(&sim, "sm", &["undrain", "spine-1", "--dry-run"]);
    assert_eq!(undrain["kind"], "undrain", "{undrain}");
    assert_eq!(
        json(&sim, "sm", &["maintenance"])["items"][0]["name"],
        "spine-1"
    );
    let asked = curl(&sim, "/v1/sweep?dry_run=true", &["--request", "POST"]).wait(GUARD);
    assert!(
        asked.stdout.contains("invalid-request"),
        "{}",
        asked.describe()
    );
}
