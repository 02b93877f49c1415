//! Partitions and maintenance at run time, confirmed by programs that ask the devices: `smpquery`,
//! `ibtracert`.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::collections::BTreeSet;
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::diags::Trace;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::process::{Finished, Running, Signal, poll_until};
use serde_json::Value;

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

struct Site {
    sim: FabricServer,
    dir: String,
    sm: Option<Running>,
}

impl Site {
    fn start(shape: &str) -> Self {
        let sim = FabricServer::shape(shape);
        let dir = sim.dir().join("sm").display().to_string();
        let mut site = Self { sim, dir, sm: None };
        site.start_sm();
        site
    }

    fn spawn_sm(&mut self) {
        let running = self
            .sim
            .spawn_ferrosm(None, &["run", "--state-dir", &self.dir]);
        self.sm = Some(running);
    }

    fn start_sm(&mut self) {
        self.spawn_sm();
        let outcome = poll_until(GUARD, PAUSE, || {
            let health = self.ask(&["health"]);
            match health.status.code() {
                Some(0) => Ok(()),
                _ => Err(health.describe()),
            }
        });
        outcome.unwrap_or_else(|error| panic!("{error}"));
    }

    fn ask(&self, args: &[&str]) -> Finished {
        self.sim
            .ferrosm(&[args, &["--state-dir", &self.dir]].concat())
    }

    fn succeed(&self, args: &[&str]) -> String {
        self.ask(args).expect_success().stdout
    }

    fn json(&self, args: &[&str]) -> Value {
        let text = self.succeed(&[args, &["--json"]].concat());
        serde_json::from_str(&text).unwrap()
    }

    /// Node GUIDs of hosts whose P_Key tables have a P_Key, as `smpquery` reads them.
    fn hosts_with(&self, p_key: &str) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        for ((node, port), (lid, _)) in self.sim.net().unwrap().lids() {
            let (lid, port) = (lid.to_string(), port.to_string());
            let table = self
                .sim
                .run("smpquery", &["pkeys", &lid, &port])
                .expect_success();
            if table.stdout.contains(p_key) {
                found.insert(node);
            }
        }
        found
    }

    /// The switches that packets between some hosts pass, as `ibtracert` prints them.
    fn switches_on_paths(&self) -> BTreeSet<u64> {
        let net = self.sim.net().unwrap();
        let hosts: Vec<_> = net.hosts().collect();
        let mut passed = BTreeSet::new();
        for (i, from) in hosts.iter().enumerate() {
            for step in [1, 5, 11] {
                let to = hosts[(i + step) % hosts.len()];
                let [from, to] = [from, to].map(|host| {
                    let port = host.ports.values().next().unwrap();
                    port.lid.to_string()
                });
                let traced = self.sim.run("ibtracert", &[&from, &to]).expect_success();
                let trace = Trace::parse(&traced.stdout).unwrap();
                passed.extend(trace.hops.iter().map(|(_, node, _)| *node));
            }
        }
        passed
    }

    fn guid_of(&self, name: &str) -> u64 {
        let nodes = self.json(&["nodes", "--where", &format!("name={name}*")]);
        let text = nodes["items"][0]["guid"].as_str().unwrap();
        u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap()
    }
}

/// A partition by name and host list is in the tables when the command ends; a restart keeps it;
/// its removal takes it out.
#[test]
fn partition_at_run_time_is_in_the_tables_when_the_command_ends() {
    let mut site = Site::start("fat-tree:4");
    let added = site.succeed(&[
        "partition",
        "add",
        "TenantA",
        "--pkey",
        "0x51",
        "--member",
        "host-1-0-[0-1]",
        "--member",
        "host-2-0-0=limited",
        "--member",
        "0x0002c90499999999",
        "--reason",
        "T-1",
    ]);
    assert!(
        added.contains("applied to 3 of 3 ports, 1 member not in the subnet"),
        "{added}"
    );
    let full: BTreeSet<u64> = ["host-1-0-0", "host-1-0-1"]
        .map(|name| site.guid_of(name))
        .into();
    let limited = BTreeSet::from([site.guid_of("host-2-0-0")]);
    assert_eq!(site.hosts_with("0x8051"), full);
    assert_eq!(site.hosts_with("0x0051"), limited);
    let list = site.json(&["partition", "list"]);
    let items = list["items"].as_array().unwrap();
    let tenant = items.iter().find(|p| p["name"] == "TenantA").unwrap();
    assert_eq!(
        (&tenant["full"], &tenant["added"]),
        (&2.into(), &true.into())
    );

    site.succeed(&[
        "partition",
        "set",
        "TenantA",
        "--add",
        "host-3-0-0",
        "--remove",
        "host-1-0-0",
    ]);
    let full: BTreeSet<u64> = ["host-1-0-1", "host-3-0-0"]
        .map(|name| site.guid_of(name))
        .into();
    assert_eq!(site.hosts_with("0x8051"), full);

    drop(site.sm.take().unwrap().stop(Signal::Terminate, GUARD));
    site.start_sm();
    assert_eq!(site.hosts_with("0x8051"), full);
    for (args, status, text) in [
        (
            &["partition", "add", "TenantB", "--pkey", "0x8051"][..],
            1,
            "same P_Key",
        ),
        (
            &[
                "partition",
                "add",
                "TenantB",
                "--pkey",
                "0x52",
                "--member",
                "host-9",
            ],
            1,
            "no port is named `host-9`",
        ),
        (
            &["partition", "add", "TenantB", "--pkey", "zebra"],
            2,
            "zebra",
        ),
        (
            &["partition", "remove", "0x7fff"],
            1,
            "the configuration defines",
        ),
    ] {
        let refused = site.ask(args);
        assert_eq!(
            refused.status.code(),
            Some(status),
            "{}",
            refused.describe()
        );
        assert!(refused.stderr.contains(text), "{}", refused.describe());
    }
    let removed = site.succeed(&["partition", "remove", "TenantA"]);
    assert!(removed.contains("removed from all ports"), "{removed}");
    assert_eq!(site.hosts_with("0051"), BTreeSet::new());
    let audit = std::fs::read_to_string(format!("{}/audit.jsonl", site.dir)).unwrap();
    assert!(
        audit.contains("\"put-partition\"") && audit.contains("\"T-1\""),
        "{audit}"
    );
}

/// No packet passes a drained switch when the command ends, also after a restart; a disabled port
/// is Disabled; both end by command, or after their time.
#[test]
fn drained_switch_is_on_no_path_and_a_disabled_port_is_down() {
    let mut site = Site::start("fat-tree:4");
    let spine = site.guid_of("spine-1-0");
    assert!(site.switches_on_paths().contains(&spine));
    let drained = site.succeed(&["drain", "spine-1-0", "--reason", "fan tray"]);
    assert!(drained.contains("out of the routes"), "{drained}");
    assert!(!site.switches_on_paths().contains(&spine));
    let refused = site.ask(&["drain", "spine-1-1"]);
    assert_eq!(refused.status.code(), Some(1), "{}", refused.describe());
    assert!(
        refused
            .stderr
            .contains("nothing else leads to \"host-1-0-0"),
        "{}",
        refused.describe()
    );
    let refused = site.ask(&["drain", "leaf-2-0"]);
    assert!(
        refused.stderr.contains("would cut off \"host-2-0-0"),
        "{}",
        refused.describe()
    );

    let disabled = site.succeed(&["port", "disable", "leaf-2-0/3", "--reason", "cable"]);
    assert!(disabled.contains("disabled"), "{disabled}");
    let lid = site.json(&["where", "leaf-2-0"])["items"][0]["lid"].to_string();
    let physical_state = |site: &Site| {
        let info = site
            .sim
            .run("smpquery", &["portinfo", &lid, "3"])
            .expect_success();
        let line = info
            .stdout
            .lines()
            .find(|line| line.starts_with("PhysLinkState"));
        line.unwrap_or_default()
            .rsplit('.')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(physical_state(&site), "Disabled");
    let listed = site.succeed(&["maintenance"]);
    for text in [
        "spine-1-0",
        "drained-switch",
        "fan tray",
        "leaf-2-0/3",
        "disabled-port",
    ] {
        assert!(listed.contains(text), "{listed}");
    }
    let links = site.succeed(&["links", "--problems"]);
    assert!(links.contains("port disabled: cable"), "{links}");
    // What is on purpose is no deviation.
    assert_eq!(
        site.ask(&["health"]).status.code(),
        Some(0),
        "{}",
        site.ask(&["health"]).describe()
    );

    drop(site.sm.take().unwrap().stop(Signal::Terminate, GUARD));
    site.start_sm();
    assert!(!site.switches_on_paths().contains(&spine));
    assert_eq!(physical_state(&site), "Disabled");
    site.succeed(&["undrain", "spine-1-0"]);
    assert!(site.switches_on_paths().contains(&spine));
    site.succeed(&["port", "enable", "leaf-2-0/3"]);
    let wait_until_up = |site: &Site| {
        let outcome = poll_until(GUARD, PAUSE, || match physical_state(site).as_str() {
            "LinkUp" => Ok(()),
            other => Err(other.to_owned()),
        });
        outcome.unwrap_or_else(|state| panic!("{state}"));
    };
    wait_until_up(&site);
    site.succeed(&["port", "reset", "leaf-2-0/3"]);
    assert_eq!(physical_state(&site), "Disabled");
    wait_until_up(&site);
    site.succeed(&["drain", "spine-1-0", "--for", "1s"]);
    let outcome = poll_until(GUARD, PAUSE, || {
        let listed = site.succeed(&["maintenance"]);
        match listed.contains("nothing is out of service") {
            true => Ok(()),
            false => Err(listed),
        }
    });
    outcome.unwrap_or_else(|listed| panic!("{listed}"));
}

/// MTU and rate of a link are limited, read back and in path records; a restart keeps the limits,
/// and their end restores the link.
#[test]
fn limits_of_a_port_are_read_back_and_in_path_records() {
    let mut site = Site::start("fat-tree2:4,4,2");
    let net = site.sim.net().unwrap();
    let hosts: Vec<_> = net.hosts().collect();
    let lid = |i: usize| hosts[i].ports.values().next().unwrap().lid.to_string();
    let (from, to) = (lid(1), lid(6));
    let listed = site.json(&["ports", "--where", &format!("lid={to}")]);
    let name = listed["items"][0]["location"].as_str().unwrap().to_owned();
    let path = |site: &Site| {
        let asked = format!("{from}:{to}");
        let args = ["PathRecord", "--src-to-dst", &asked];
        site.sim.run("saquery", &args).expect_success().stdout
    };
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.trim().starts_with(name));
        line.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let before = path(&site);
    let port_info = |site: &Site| {
        let args = ["portinfo", &to, "1"];
        site.sim.run("smpquery", &args).expect_success().stdout
    };

    let dry = site.succeed(&["port", "set", &name, "--mtu", "1024", "--dry-run"]);
    assert!(dry.contains("nothing was changed"), "{dry}");
    assert_eq!(path(&site), before);
    let applied = site.succeed(&["port", "set", &name, "--mtu", "1024", "--reason", "T-1"]);
    assert!(applied.contains("applied: read back"), "{applied}");
    assert!(field(&port_info(&site), "NeighborMTU").ends_with("1024"));
    let limited = path(&site);
    assert_ne!(field(&limited, "mtu"), field(&before, "mtu"));

    let refused = site.ask(&["port", "set", &name, "--rate", "10"]);
    assert_eq!(refused.status.code(), Some(1), "{}", refused.describe());
    let set = ["port", "set", &name, "--mtu", "1024", "--rate", "10"];
    let _ = site.succeed(&[&set[..], &["--accept", "cut-off"]].concat());
    let is_applied = |site: &Site| {
        let outcome = poll_until(GUARD, PAUSE, || {
            let limits = site.succeed(&["port", "limits"]);
            match limits.contains(" applied ") {
                true => Ok(()),
                false => Err(limits),
            }
        });
        outcome.unwrap_or_else(|error| panic!("{error}"));
    };
    is_applied(&site);
    let width = field(&port_info(&site), "LinkWidthActive");
    let speed = field(&port_info(&site), "LinkSpeedActive");
    let is_slow = (width.ends_with("1X") && speed.contains("10.0"))
        || (width.ends_with("4X") && speed.contains("2.5"));
    assert!(is_slow, "{width} {speed}");
    let slow = path(&site);
    assert_ne!(field(&slow, "rate"), field(&before, "rate"));

    let stopped = site.sm.take().unwrap();
    let _ = stopped.stop(Signal::Terminate, GUARD);
    // The port is below the MTU of the broadcast group, so that `health` is not OK.
    site.spawn_sm();
    let outcome = poll_until(GUARD, PAUSE, || {
        let query = site.sim.run(
            "saquery",
            &["PathRecord", "--src-to-dst", &format!("{from}:{to}")],
        );
        match query.stdout == slow {
            true => Ok(()),
            false => Err(query.describe()),
        }
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    is_applied(&site);
    let audit = std::fs::read_to_string(format!("{}/audit.jsonl", site.dir)).unwrap();
    assert!(
        audit.contains("\"set-port\"") && audit.contains("T-1"),
        "{audit}"
    );

    let _ = site.succeed(&["port", "unset", &name]);
    let outcome = poll_until(GUARD, PAUSE, || match path(&site) {
        text if text == before => Ok(()),
        text => Err(text),
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    assert!(
        site.succeed(&["port", "limits"])
            .contains("no port has limits")
    );
}
