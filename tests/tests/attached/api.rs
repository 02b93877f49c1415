//! Answers of the running service, compared with programs that ask the devices: `ibtracert`,
//! `ibnetdiscover`, `iblinkinfo`, `sminfo`.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::collections::BTreeSet;
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::diags::{Net, Trace};
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::process::{Finished, Running, Signal, poll_until};
use serde_json::Value;

/// Upper bound for one wait, reached only on failure.
pub(super) const GUARD: Duration = Duration::from_secs(60);
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// The state directory of a service, below the directory of the programs.
pub(super) fn state_dir(sim: &FabricServer, name: &str) -> String {
    sim.dir().join(name).display().to_string()
}

pub(super) fn start(sim: &FabricServer, node: Option<&str>, name: &str, args: &[&str]) -> Running {
    let dir = state_dir(sim, name);
    sim.spawn_ferrosm(node, &[&["run", "--state-dir", &dir], args].concat())
}

pub(super) fn ask(sim: &FabricServer, name: &str, args: &[&str]) -> Finished {
    let dir = state_dir(sim, name);
    sim.ferrosm(&[args, &["--state-dir", &dir]].concat())
}

/// The JSON answer of a service.
pub(super) fn json(sim: &FabricServer, name: &str, args: &[&str]) -> Value {
    let asked = ask(sim, name, &[args, &["--json"]].concat());
    serde_json::from_str(&asked.stdout).unwrap_or_else(|e| panic!("{e}: {}", asked.describe()))
}

/// Waits until `health` exits with a status and prints these texts; returns its output.
pub(super) fn wait_for_health(
    sim: &FabricServer,
    name: &str,
    status: i32,
    texts: &[&str],
) -> String {
    let outcome = poll_until(GUARD, PAUSE, || {
        let health = ask(sim, name, &["health"]);
        let has_texts = texts.iter().all(|text| health.stdout.contains(text));
        if health.status.code() == Some(status) && has_texts {
            Ok(health.stdout)
        } else {
            Err(health.describe())
        }
    });
    outcome.unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn guid(value: &Value) -> u64 {
    let text = value.as_str().unwrap();
    u64::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap()
}

/// The path that the service answers, as `ibtracert` prints it.
pub(super) fn answered_trace(path: &Value, net: &Net) -> Vec<(u8, u64)> {
    let hops = path["hops"].as_array().unwrap();
    let port = |hop: &Value, name: &str| u8::try_from(hop[name].as_u64().unwrap()).unwrap();
    let mut trace: Vec<(u8, u64)> = Vec::new();
    // A host sends through port 1.
    let mut out = 1;
    for hop in hops {
        trace.push((out, guid(&hop["guid"])));
        out = port(hop, "out_port");
    }
    let last = hops.last().map(|hop| guid(&hop["guid"])).unwrap();
    let end = net.nodes[&last].ports[&out].peer;
    trace.push((out, end));
    trace
}

/// Paths, nodes, links and SMs before and after cuts, restored links and a lost switch.
#[test]
fn answers_equal_what_other_programs_read() {
    let sim = FabricServer::shape("fat-tree:4");
    let _sm = start(&sim, None, "sm", &["--priority", "3"]);
    wait_for_health(&sim, "sm", 0, &["OK  20 switches, 16 hosts, 48 links"]);
    let changes: [(&str, i32, &[&str]); 5] = [
        ("cut \"leaf-0-0\"[3]", 1, &["leaf-0-0/3", "down since"]),
        ("cut \"leaf-1-1\"[4]", 1, &["leaf-1-1/4", "down since"]),
        ("restore \"leaf-0-0\"[3]", 1, &["47 links"]),
        ("off core-0", 1, &["core-0: absent"]),
        ("restore \"leaf-1-1\"[4]", 1, &["19 switches", "44 links"]),
    ];
    for (change, status, texts) in changes {
        drop(sim.execute(change));
        wait_for_health(&sim, "sm", status, texts);
        let net = sim.net().unwrap();
        let nodes = json(&sim, "sm", &["nodes", "--where", "state=present"]);
        let answered: BTreeSet<u64> = nodes["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|node| guid(&node["guid"]))
            .collect();
        assert_eq!(answered, net.nodes.keys().copied().collect(), "{change}");
        let links = json(&sim, "sm", &["links", "--where", "state=up"]);
        let ends = net
            .nodes
            .values()
            .map(|node| node.ports.len())
            .sum::<usize>();
        assert_eq!(links["total"].as_u64(), Some(ends as u64 / 2), "{change}");
        let hosts: Vec<_> = net.hosts().collect();
        for (i, from) in hosts.iter().enumerate() {
            // Each host sends to three others; all are sent to.
            for step in [1, 5, 11] {
                let to = hosts[(i + step) % hosts.len()];
                let lid = to.ports.values().next().unwrap().lid.to_string();
                let own_lid = from.ports.values().next().unwrap().lid.to_string();
                let traced = sim.run("ibtracert", &[&own_lid, &lid]).expect_success();
                let traced = Trace::parse(&traced.stdout).unwrap();
                let names = [&from.guid, &to.guid].map(|guid| format!("{guid:#018x}"));
                let path = json(&sim, "sm", &["path", &names[0], &names[1]]);
                assert!(path["dropped"].is_null(), "{path}");
                let expected: Vec<(u8, u64)> = traced
                    .hops
                    .iter()
                    .map(|(out, node, _)| (*out, *node))
                    .collect();
                assert_eq!(answered_trace(&path, &net), expected, "{change}: {names:?}");
            }
        }
    }
    let sms = json(&sim, "sm", &["sms"]);
    let sminfo = sim.run("sminfo", &[]).expect_success().stdout;
    let own = &sms["items"][0];
    assert_eq!(
        (own["state"].as_str(), own["priority"].as_u64()),
        (Some("master"), Some(3))
    );
    assert!(
        sminfo.contains(
            own["port"]["guid"]
                .as_str()
                .unwrap()
                .trim_start_matches("0x000")
        ),
        "{sminfo}"
    );
}

/// `health` exits with the state; a standby names the master and does not judge.
#[test]
fn health_of_each_role_has_its_exit_status() {
    let sim = FabricServer::shape("fat-tree:4");
    let none = ask(&sim, "master", &["health"]);
    assert_eq!(none.status.code(), Some(3), "{}", none.describe());
    assert_eq!(ask(&sim, "master", &["status"]).status.code(), Some(69));
    let master = start(&sim, None, "master", &["--priority", "3"]);
    wait_for_health(&sim, "master", 0, &["OK"]);
    let _standby = start(
        &sim,
        Some("host-1-0-0 mlx5_0"),
        "standby",
        &["--priority", "1"],
    );
    let name = json(&sim, "master", &["status"])["port"]["name"].clone();
    let name = name.as_str().unwrap();
    wait_for_health(&sim, "standby", 3, &["standby", name, "ask the master"]);
    let status = json(&sim, "standby", &["status"]);
    assert_eq!(status["role"], "standby");
    assert_eq!(status["master"]["name"], name);
    drop(sim.execute("degrade \"leaf-1-1\"[3] 1x EDR"));
    wait_for_health(&sim, "master", 1, &["leaf-1-1/3", "runs at 1xEDR of 4xHDR"]);
    let degraded = ask(&sim, "master", &["links", "--problems"])
        .expect_success()
        .stdout;
    assert!(
        degraded.contains("degraded") && degraded.ends_with("1 link\n"),
        "{degraded}"
    );
    let ended = master.stop(Signal::Terminate, GUARD);
    assert!(ended.status.success(), "{}", ended.describe());
    // The new master knows the fabric, and nothing that happened before.
    let taken_over = wait_for_health(&sim, "standby", 1, &["DEGRADED"]);
    assert!(!taken_over.contains("since"), "{taken_over}");
}

/// Names that are unknown or ambiguous, misspelt conditions, hosts that left.
#[test]
fn unclear_questions_say_what_to_do() {
    let sim = FabricServer::shape("fat-tree:4");
    let _sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    let refused = |args: &[&str], status: i32, texts: &[&str]| {
        let asked = ask(&sim, "sm", args);
        assert_eq!(asked.status.code(), Some(status), "{}", asked.describe());
        for text in texts {
            assert!(asked.stderr.contains(text), "{text}: {}", asked.describe());
        }
    };
    refused(
        &["where", "host-9"],
        1,
        &["no port is named `host-9`", "ferrosm nodes"],
    );
    refused(&["path", "1", "60000"], 1, &["no port is named `60000`"]);
    refused(
        &["nodes", "--where", "knid=ca"],
        2,
        &["no field `knid`", "kind"],
    );
    refused(&["links", "--where", "down"], 2, &["`state=down`"]);
    drop(sim.execute("rename \"host-0-0-1 mlx5_0\" \"host-1-1-1 mlx5_0\""));
    let outcome = poll_until(GUARD, PAUSE, || {
        let asked = ask(&sim, "sm", &["path", "host-0-0-0", "host-1-1-1"]);
        let is_ambiguous = asked.stderr.contains("Name one of them by its GUID");
        is_ambiguous.then_some(()).ok_or_else(|| asked.describe())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    drop(sim.execute("off \"host-1-0-1 mlx5_0\""));
    wait_for_health(&sim, "sm", 1, &["host-1-0-1 mlx5_0: absent"]);
    refused(
        &["where", "host-1-0-1"],
        1,
        &["is absent since", "last seen at leaf-1-0/2"],
    );
}

/// Events have numbers to continue from, and `--follow` prints those of a cut cable as they happen.
#[test]
fn events_are_listed_and_followed() {
    let sim = FabricServer::shape("fat-tree:4");
    let _sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    let dir = state_dir(&sim, "sm");
    let listed = ask(&sim, "sm", &["events", "--json"]);
    let events: Vec<Value> = listed
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names: Vec<&str> = events
        .iter()
        .map(|e| e["event"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"subnet-up"), "{names:?}");
    let last = events.last().unwrap()["number"]
        .as_u64()
        .unwrap()
        .to_string();
    let followed = sim.spawn_ferrosm(
        None,
        &["events", "--follow", "--since", &last, "--state-dir", &dir],
    );
    drop(sim.execute("cut \"leaf-0-0\"[3]"));
    let outcome = poll_until(GUARD, PAUSE, || {
        let printed = followed.stdout();
        match printed.contains(" link down ") {
            true => Ok(()),
            false => Err(printed),
        }
    });
    outcome.unwrap_or_else(|printed| panic!("no link down in\n{printed}"));
    let warnings = ask(
        &sim,
        "sm",
        &["events", "--since", &last, "--severity", "error"],
    );
    assert_eq!(warnings.stdout, "", "{}", warnings.describe());
}

/// The members of a partition are the ports whose tables have its P_Key, as `smpquery` reads them.
#[test]
fn partition_members_have_the_p_key() {
    let sim = FabricServer::shape("fat-tree2:4,4,2");
    let file = sim.dir().join("partitions.conf");
    let partitions = "Default=0x7fff : ALL=limited, SELF=full ;\n\
        Vault=0x21,defmember=full : 0x0002c90400000061, 0x0002c90400000071, 0x0002c90400000091=limited ;\n";
    std::fs::write(&file, partitions).unwrap();
    let file = file.display().to_string();
    let _sm = start(&sim, None, "sm", &["-P", &file]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    let shown = json(&sim, "sm", &["partition", "show", "Vault"]);
    let same = json(&sim, "sm", &["partition", "show", "0x8021"]);
    assert_eq!(shown["items"], same["items"]);
    let answered: BTreeSet<(u64, String)> = shown["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|member| {
            let membership = member["membership"].as_str().unwrap();
            (guid(&member["guid"]), membership.to_owned())
        })
        .collect();
    let mut read = BTreeSet::new();
    for ((node, port), (lid, _)) in sim.net().unwrap().lids() {
        let (lid, port) = (lid.to_string(), port.to_string());
        let table = sim
            .run("smpquery", &["pkeys", &lid, &port])
            .expect_success();
        // The port GUID of a host is that of its node plus 1.
        if table.stdout.contains("0x8021") {
            read.insert((node + 1, "full".to_owned()));
        } else if table.stdout.contains("0x0021") {
            read.insert((node + 1, "limited".to_owned()));
        }
    }
    assert_eq!(answered.len(), 3, "{shown}");
    assert_eq!(answered, read);
    let list = json(&sim, "sm", &["partition", "list"]);
    let items = list["items"].as_array().unwrap();
    let vault = items.iter().find(|p| p["name"] == "Vault").unwrap();
    assert_eq!((&vault["full"], &vault["limited"]), (&2.into(), &1.into()));
    let absent = ask(&sim, "sm", &["partition", "show", "0x77"]);
    assert!(
        absent.stderr.contains("not configured"),
        "{}",
        absent.describe()
    );
    assert_eq!(absent.status.code(), Some(1), "{}", absent.describe());
}
