//! Alarms, notifications, changes, and what is known after a restart, on a fabric whose switches
//! and hosts are switched off.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::process::{Signal, poll_until};
use serde_json::Value;

use super::api::{GUARD, PAUSE, ask, json, start, state_dir, wait_for_health};

fn alarms(sim: &FabricServer, sm: &str, args: &[&str]) -> Vec<Value> {
    let list = json(sim, sm, &[&["alarms"], args].concat());
    list["items"].as_array().unwrap().clone()
}

/// Number, kind and name of each alarm.
fn summary(alarms: &[Value]) -> Vec<(u64, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    alarms
        .iter()
        .map(|alarm| {
            let id = alarm["id"].as_u64().unwrap();
            (id, text(&alarm["kind"]), text(&alarm["object"]["name"]))
        })
        .collect()
}

/// Waits for the alarms that are open.
fn wait_for_alarms(sim: &FabricServer, sm: &str, expected: &[(u64, &str, &str)]) {
    let outcome = poll_until(GUARD, PAUSE, || {
        let found = summary(&alarms(sim, sm, &[]));
        let is_expected = found
            .iter()
            .map(|(id, kind, name)| (*id, &**kind, &**name))
            .eq(expected.iter().copied());
        is_expected
            .then_some(())
            .ok_or_else(|| format!("{found:?}"))
    });
    outcome.unwrap_or_else(|found| panic!("{found}, not {expected:?}"));
}

/// Events of alarms: name and number of the alarm.
fn alarm_events(sim: &FabricServer, sm: &str) -> Vec<(String, u64)> {
    let listed = ask(sim, sm, &["events", "--json"]);
    let events = listed.stdout.lines();
    let events = events.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let of_alarms = events.filter_map(|event| {
        let id = event["fields"]["alarm"].as_u64()?;
        Some((event["event"].as_str()?.to_owned(), id))
    });
    of_alarms.collect()
}

/// A switch that is gone is one alarm and one notification, with its links; the same number is
/// cleared.
#[test]
fn switch_that_is_gone_is_one_alarm() {
    let sim = FabricServer::shape("fat-tree:4");
    let out = sim.dir().join("notifications");
    let script = sim.dir().join("notify.sh");
    fs::write(&script, format!("#!/bin/sh\ncat >> {}\n", out.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    let config = sim.dir().join("ferrosm.toml");
    let entry = format!(
        "[[notify]]\nname = \"script\"\nexec = [{:?}]\nseverity = \"error\"\n",
        script.display().to_string()
    );
    fs::write(&config, entry).unwrap();
    let config = config.display().to_string();
    let _sm = start(&sim, None, "sm", &["--config", &config]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    assert!(alarms(&sim, "sm", &[]).is_empty());
    drop(sim.execute("off core-0"));
    let health = wait_for_health(
        &sim,
        "sm",
        1,
        &["core-0: absent; 4 links down since", "  alarm "],
    );
    assert_eq!(health.lines().count(), 2, "{health}");
    // Alarms of its links may have been raised for a moment.
    let listed = alarms(&sim, "sm", &["--where", "kind=node-*"]);
    let id = listed[0]["id"].as_u64().unwrap();
    wait_for_alarms(&sim, "sm", &[(id, "node-absent", "core-0")]);
    assert_eq!(listed[0]["num_parts"], 4);
    assert_eq!(
        listed[0]["parts"].as_array().unwrap().len(),
        4,
        "{listed:?}"
    );

    let acknowledged = ask(
        &sim,
        "sm",
        &[
            "alarms",
            "ack",
            &id.to_string(),
            "--until",
            "1h",
            "--reason",
            "T-4711",
        ],
    );
    let text = acknowledged.expect_success().stdout;
    assert!(text.contains("acknowledged by root"), "{text}");
    assert!(text.contains("T-4711"), "{text}");
    let unknown = ask(&sim, "sm", &["alarms", "ack", "700"]);
    assert!(
        unknown.stderr.contains("no alarm 700 is open"),
        "{}",
        unknown.describe()
    );

    // Its notification is sent before it is cleared.
    let notices = || -> Vec<(String, u64)> {
        let text = fs::read_to_string(&out).unwrap_or_default();
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let notices = lines.map(|notice| {
            let change = notice["change"].as_str().unwrap().to_owned();
            (change, notice["alarm"]["id"].as_u64().unwrap())
        });
        notices.collect()
    };
    let wait_for_notices = |expected: &[(&str, u64)]| {
        let outcome = poll_until(GUARD, PAUSE, || {
            let found = notices();
            let is_expected = found
                .iter()
                .map(|(change, id)| (&**change, *id))
                .eq(expected.iter().copied());
            is_expected
                .then_some(())
                .ok_or_else(|| format!("{found:?}"))
        });
        outcome.unwrap_or_else(|found| panic!("{found}, not {expected:?}"));
    };
    wait_for_notices(&[("raised", id)]);
    drop(sim.execute("on core-0"));
    wait_for_health(&sim, "sm", 0, &["OK"]);
    wait_for_alarms(&sim, "sm", &[]);
    let all = alarms(&sim, "sm", &["--all"]);
    let cleared = all.iter().find(|alarm| alarm["id"] == id).unwrap();
    assert_eq!(cleared["state"], "cleared");
    wait_for_notices(&[("raised", id), ("cleared", id)]);
    let events = alarm_events(&sim, "sm").into_iter();
    let of_alarm: Vec<String> = events
        .filter(|(name, of)| *of == id && name != "alarm-changed")
        .map(|(name, _)| name)
        .collect();
    assert_eq!(of_alarm, ["alarm-raised", "alarm-cleared"]);
    let tested = ask(&sim, "sm", &["notify", "test"]);
    assert_eq!(tested.expect_success().stdout, "script: sent\n");
    wait_for_notices(&[("raised", id), ("cleared", id), ("test", 0)]);
    // What leaves the host is in the audit log.
    let commands = ask(&sim, "sm", &["commands"]).expect_success().stdout;
    assert!(commands.contains("notify-test"), "{commands}");
    let audit = fs::read_to_string(sim.dir().join("sm/audit.jsonl")).unwrap();
    assert!(audit.contains("\"script sent\""), "{audit}");
    let none = ask(&sim, "sm", &["notify", "test", "pager"]);
    assert!(
        none.stderr.contains("no entry [[notify]] is named `pager`"),
        "{}",
        none.describe()
    );
}

/// A host that is gone stays visible after a restart, with the number of its alarm, until it is
/// forgotten. A damaged file is reported, and a new one begun.
#[test]
fn absent_host_is_known_after_a_restart() {
    let sim = FabricServer::shape("fat-tree:4");
    let host = "host-1-0-1 mlx5_0";
    let restart = |sm: ferrosm_tests::programs::process::Running| {
        let ended = sm.stop(Signal::Terminate, GUARD);
        assert!(ended.status.success(), "{}", ended.describe());
        start(&sim, None, "sm", &[])
    };
    let sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    drop(sim.execute(&format!("off \"{host}\"")));
    wait_for_health(&sim, "sm", 1, &[&format!("{host}: absent"), "alarm 1"]);
    let sm = restart(sm);
    let health = wait_for_health(&sim, "sm", 1, &[&format!("{host}: absent"), "alarm 1"]);
    assert!(health.contains("last seen at leaf-1-0/2"), "{health}");
    // It is no news.
    assert_eq!(alarm_events(&sim, "sm"), []);
    // Without its record, the service forgets it.
    let file = std::path::PathBuf::from(state_dir(&sim, "sm")).join("history.json");
    let ended = sm.stop(Signal::Terminate, GUARD);
    assert!(ended.status.success(), "{}", ended.describe());
    let saved = fs::read(&file).unwrap();
    fs::write(&file, &saved[..saved.len() / 2]).unwrap();
    let sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    assert!(
        sm.stderr().contains("unreadable history renamed"),
        "{}",
        sm.stderr()
    );
    // With it, the host is absent again.
    let ended = sm.stop(Signal::Terminate, GUARD);
    assert!(ended.status.success(), "{}", ended.describe());
    fs::write(&file, &saved).unwrap();
    let sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 1, &[&format!("{host}: absent"), "alarm 1"]);
    let present = ask(&sim, "sm", &["forget", "host-0-0-0 mlx5_0"]);
    assert!(
        present.stderr.contains("is in the subnet"),
        "{}",
        present.describe()
    );
    let forgotten = ask(&sim, "sm", &["forget", host, "--reason", "sold"]);
    let text = forgotten.expect_success().stdout;
    assert!(
        text.starts_with(&format!("node {host} forgotten\nlink ")),
        "{text}"
    );
    wait_for_health(&sim, "sm", 0, &["OK"]);
    wait_for_alarms(&sim, "sm", &[]);
    let audit = fs::read_to_string(file.with_file_name("audit.jsonl")).unwrap();
    assert!(
        audit.contains("\"kind\":\"forget\"") && audit.contains("sold"),
        "{audit}"
    );
    let _sm = restart(sm);
    wait_for_health(&sim, "sm", 0, &["OK"]);
}

/// What was wrong before a takeover is an alarm of the new master, but no news.
#[test]
fn takeover_raises_no_news() {
    let sim = FabricServer::shape("fat-tree:4");
    let master = start(&sim, None, "master", &["--priority", "3"]);
    wait_for_health(&sim, "master", 0, &["OK"]);
    let standby_node = Some("host-1-0-0 mlx5_0");
    let _standby = start(&sim, standby_node, "standby", &["--priority", "1"]);
    wait_for_health(&sim, "standby", 3, &["this SM is standby"]);
    drop(sim.execute("degrade \"leaf-1-1\"[3] 1x EDR"));
    wait_for_health(&sim, "master", 1, &["leaf-1-1/3", "alarm 1"]);
    assert_eq!(
        alarm_events(&sim, "master"),
        [("alarm-raised".to_owned(), 1)]
    );
    assert!(alarms(&sim, "standby", &[]).is_empty());
    let ended = master.stop(Signal::Terminate, GUARD);
    assert!(ended.status.success(), "{}", ended.describe());
    wait_for_health(&sim, "standby", 1, &["leaf-1-1/3", "alarm 1"]);
    let events = ask(&sim, "standby", &["events", "--severity", "debug"]);
    assert_eq!(alarm_events(&sim, "standby"), [], "{}", events.stdout);
    drop(sim.execute("cut \"leaf-0-0\"[3]"));
    wait_for_health(&sim, "standby", 1, &["leaf-0-0/3", "alarm 2"]);
    assert_eq!(
        alarm_events(&sim, "standby"),
        [("alarm-raised".to_owned(), 2)]
    );
}

/// What changed has cause and effect, and is known after a restart.
#[test]
fn changes_are_known_after_a_restart() {
    let sim = FabricServer::shape("fat-tree:4");
    let sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    drop(sim.execute("cut \"leaf-0-0\"[3]"));
    wait_for_health(&sim, "sm", 1, &["leaf-0-0/3", "alarm 1"]);
    drop(ask(&sim, "sm", &["sweep", "--reason", "T-4711"]));
    let select = [
        "changes", "--since", "1h", "--node", "leaf-0-0", "--kind", "link",
    ];
    let before = json(&sim, "sm", &select);
    let items = before["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{before}");
    let what = items[0]["what"].as_str().unwrap();
    assert!(what.starts_with("link down leaf-0-0/3 - "), "{before}");
    assert!(
        items[0]["cause"].as_str().unwrap().starts_with("trap 128"),
        "{before}"
    );
    let effect = items[0]["effect"].as_str().unwrap();
    assert!(effect.contains("LFT blocks, "), "{before}");
    let diff = json(&sim, "sm", &["diff", "10m"]);
    let differing = diff["items"].as_array().unwrap();
    let expected = what.strip_prefix("link down ").unwrap();
    let is_cut = |item: &&Value| item["object"] == expected;
    let item = differing
        .iter()
        .find(is_cut)
        .unwrap_or_else(|| panic!("{diff}"));
    assert_eq!(
        (&item["before"], &item["after"]),
        (&"up".into(), &"down".into())
    );
    let commands = ask(&sim, "sm", &["changes", "--kind", "command"]).expect_success();
    assert!(commands.stdout.contains("T-4711"), "{}", commands.stdout);
    let unknown = ask(&sim, "sm", &["changes", "--kind", "cable"]);
    assert_eq!(unknown.status.code(), Some(2), "{}", unknown.describe());
    let ended = sm.stop(Signal::Terminate, GUARD);
    assert!(ended.status.success(), "{}", ended.describe());
    let _sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 1, &["leaf-0-0/3", "alarm 1"]);
    let after = json(&sim, "sm", &select);
    assert_eq!(after["items"], before["items"]);
}
