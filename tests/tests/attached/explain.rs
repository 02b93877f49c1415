//! `ferrosm explain` of a running service, compared with the tables that `dump_fts` reads from the
//! devices.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::forwarding_tables::forwarding_tables;
use ferrosm_tests::programs::managed_fabric::ManagedFabric;
use ferrosm_tests::programs::process::poll_until;
use serde_json::Value;

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

type Tables = BTreeMap<(String, u16), String>;

/// The port of an LFT entry, as `dump_fts` prints it: `002`.
fn port_of(tables: &Tables, switch: &str, lid: u16) -> u64 {
    let port = &tables[&(switch.to_owned(), lid)];
    port.parse().unwrap()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

/// The explained hops of the path between two hosts, with their reasons.
fn explained(lab: &ManagedFabric, from: &str, to: &str) -> (u16, Vec<(Value, Value)>) {
    let answer = lab.ask_json(&["explain", "route", from, to]);
    let lid = u16::try_from(answer["path"]["lid"].as_u64().unwrap()).unwrap();
    let hops = answer["path"]["hops"].as_array().unwrap().clone();
    let entries = answer["entries"].as_array().unwrap().clone();
    assert_eq!(hops.len(), entries.len());
    (lid, hops.into_iter().zip(entries).collect())
}

/// Each entry that `dump_fts` finds changed by a lost link is explained with the port before and
/// the link; all others are unchanged. A reroute is predicted, and then happens.
#[test]
fn changed_entries_have_their_port_before_and_their_cause() {
    let lab = ManagedFabric::start("fat-tree:4", &[]);
    let before = forwarding_tables(&lab.sim);
    let hosts: Vec<String> = (0..4).map(|pod| format!("host-{pod}-1-1")).collect();
    let (_, entries) = explained(&lab, &hosts[0], &hosts[1]);
    assert!(entries.iter().all(|(_, reason)| reason["since"].is_null()));
    let (first_hop, _) = &entries[0];
    assert_eq!(first_hop["name"], "leaf-0-1");
    let lost_port = first_hop["out_port"].as_u64().unwrap();
    lab.sim.execute(&format!("cut leaf-0-1[{lost_port}]"));
    let lost_link = format!("link down leaf-0-1/{lost_port} - ");
    let settled = poll_until(GUARD, PAUSE, || {
        let links = lab.ask(&["links", "--problems"]);
        links
            .stdout
            .contains("down")
            .then_some(())
            .ok_or_else(|| links.describe())
    });
    settled.unwrap_or_else(|error| panic!("{error}"));
    let after = forwarding_tables(&lab.sim);
    let mut changed = 0;
    for [from, to] in hosts.iter().flat_map(|a| hosts.iter().map(move |b| [a, b])) {
        if from == to {
            continue;
        }
        let (lid, entries) = explained(&lab, from, to);
        for (hop, reason) in entries {
            let switch = text(&hop, "guid");
            let old = port_of(&before, switch, lid);
            let new = port_of(&after, switch, lid);
            assert_eq!(hop["out_port"].as_u64(), Some(new));
            assert_eq!(reason["detour"], false, "{reason}");
            if old == new {
                assert!(reason["since"].is_null(), "{hop} {reason}");
                continue;
            }
            changed += 1;
            assert_eq!(reason["before"].as_u64(), Some(old), "{hop} {reason}");
            let causes = reason["causes"].to_string();
            assert!(causes.contains(&lost_link), "{causes}");
        }
    }
    assert!(changed > 0, "no entry on these paths changed");
    let sweep = lab.ask(&["explain", "sweep"]).expect_success().stdout;
    assert!(sweep.contains("trap 128 from"), "{sweep}");
    let engine = lab.ask_json(&["explain", "engine"]);
    let moved = engine["reroute"]["entries_moved"].as_u64().unwrap();
    let installed = forwarding_tables(&lab.sim);
    let _ = lab.ask(&["sweep", "--reroute"]);
    let rerouted = forwarding_tables(&lab.sim);
    let differ = installed
        .iter()
        .filter(|(at, port)| rerouted.get(at) != Some(port));
    assert_eq!(differ.count() as u64, moved);
    // The trap of the lost link may cause a sweep after it.
    let last = lab.ask_json(&["explain", "sweep"])["number"]
        .as_u64()
        .unwrap();
    let was_by_command = (1..=last).any(|number| {
        let sweep = lab.ask(&["explain", "sweep", &number.to_string()]);
        sweep.stdout.contains("(reroute) by ")
    });
    assert!(was_by_command, "{last} sweeps");
}

/// The path of a saved fabric with the tables of `dump_fts` is the installed one, also after
/// incremental reroutes. Without the tables, the command says that it may differ.
#[test]
fn a_saved_fabric_with_its_tables_has_the_installed_path() {
    let lab = ManagedFabric::start("fat-tree:4", &[]);
    lab.sim.execute("cut leaf-0-1[3]");
    let settled = poll_until(GUARD, PAUSE, || {
        let links = lab.ask(&["links", "--problems"]);
        let is_down = links.stdout.contains("down");
        is_down.then_some(()).ok_or_else(|| links.describe())
    });
    settled.unwrap_or_else(|error| panic!("{error}"));
    let save = |name: &str, text: String| {
        let path = lab.sim.dir().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let topology = lab.sim.ferrosm(&["topology", "--format", "ibnet"]);
    let fabric = save("saved.net", topology.expect_success().stdout);
    let dump = lab.sim.run("dump_fts", &[]).expect_success().stdout;
    let tables = save("saved.fts", dump);
    let ends = ["host-0-1-1", "host-3-0-1"];
    let offline = |flags: &[&str]| {
        let args = [&["explain", "--from", &fabric], flags, &ends].concat();
        lab.sim.ferrosm(&args).expect_success().stdout
    };
    let path = offline(&["--lfts-file", &tables]);
    assert!(path.starts_with("Routed by file.\n"), "{path}");
    let (_, entries) = explained(&lab, ends[0], ends[1]);
    for (hop, _) in entries {
        let name = text(&hop, "name");
        let line = format!(
            "{name} ({}): in port {}, out port {}",
            text(&hop, "guid"),
            hop["in_port"],
            hop["out_port"]
        );
        assert!(path.contains(&line), "{line}\n{path}");
    }
    let computed = offline(&[]);
    assert!(
        computed.contains("the installed routes may differ"),
        "{computed}"
    );
}

/// Nodes, ports and alarms: what is wrong is named, also for a host that is gone. What does not
/// exist is an error that says how to find the name.
#[test]
fn nodes_ports_and_alarms_are_explained() {
    let lab = ManagedFabric::start("fat-tree:4", &[]);
    lab.sim.execute("off \"host-1-0-1 mlx5_0\"");
    let raised = poll_until(GUARD, PAUSE, || {
        let alarms = lab.ask_json(&["alarms"]);
        let items = alarms["items"].as_array().unwrap();
        let id = items.first().and_then(|alarm| alarm["id"].as_u64());
        id.ok_or_else(|| alarms.to_string())
    });
    let id = raised.unwrap_or_else(|error| panic!("{error}")).to_string();
    let alarm = lab.ask(&["explain", "alarm", &id]).expect_success().stdout;
    assert!(alarm.contains("host-1-0-1 mlx5_0"), "{alarm}");
    assert!(alarm.contains("ferrosm forget"), "{alarm}");
    let node = lab
        .ask(&["explain", "node", "host-1-0-1"])
        .expect_success()
        .stdout;
    assert!(
        node.contains("absent since") && node.contains("alarm"),
        "{node}"
    );
    let port = lab
        .ask(&["explain", "port", "leaf-1-0/2"])
        .expect_success()
        .stdout;
    assert!(port.contains("physically Polling"), "{port}");
    let port = lab
        .ask(&["explain", "port", "leaf-1-0/3"])
        .expect_success()
        .stdout;
    assert!(port.contains("Active, physically LinkUp"), "{port}");
    for unknown in [
        ["port", "leaf-1-0/77"],
        ["node", "nix"],
        ["alarm", "999"],
        ["sweep", "999"],
    ] {
        let refused = lab.ask(&[&["explain"][..], &unknown].concat());
        assert_eq!(refused.status.code(), Some(1), "{}", refused.describe());
        assert!(
            refused.stderr.contains('`') || refused.stderr.contains("1 to"),
            "{}",
            refused.stderr
        );
    }
}
