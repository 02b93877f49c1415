//! Answers at an earlier time, compared with what programs of other projects read at that time.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::collections::BTreeSet;
use std::process::Command;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::diags::{Net, Trace};
use ferrosm_tests::programs::fabric_server::FabricServer;
use serde_json::Value;

use super::api::{answered_trace, ask, guid, json, start, wait_for_health};

/// Pairs of hosts whose paths are compared at each time.
const PAIRS: usize = 12;

/// What programs of other projects read, and when.
struct Moment {
    change: &'static str,
    /// In UTC (RFC 3339).
    at: String,
    net: Net,
    /// Switch ports with a link, as `iblinkinfo` lists them.
    linked: BTreeSet<(String, u64)>,
    paths: Vec<TracedPath>,
    /// The first line of `health`.
    health: String,
}

/// The path between two nodes, as `ibtracert` finds it.
struct TracedPath {
    ends: [String; 2],
    hops: Vec<(u8, u64)>,
}

/// The time of the clock, independent of the service.
fn now() -> String {
    let args = ["-u", "+%Y-%m-%dT%H:%M:%S.%3NZ"];
    let date = Command::new("date").args(args).output().unwrap();
    String::from_utf8(date.stdout).unwrap().trim().to_owned()
}

impl Moment {
    fn observe(sim: &FabricServer, change: &'static str, health: &str) -> Self {
        let seen = sim.observe().unwrap();
        let net = seen.net;
        let switches: BTreeSet<&str> = net.switches().map(|s| &*s.description).collect();
        let linked = seen
            .links
            .iter()
            .filter(|link| link.peer_lid.is_some() && switches.contains(&*link.name));
        let linked = linked
            .map(|link| (link.name.clone(), u64::from(link.port)))
            .collect();
        let hosts: Vec<_> = net.hosts().collect();
        let pairs = (0..PAIRS).map(|i| (hosts[i % hosts.len()], hosts[(i * 7 + 5) % hosts.len()]));
        let paths = pairs
            .filter(|(from, to)| from.guid != to.guid)
            .map(|(from, to)| {
                let lids = [from, to].map(|n| n.ports.values().next().unwrap().lid.to_string());
                let traced = sim.run("ibtracert", &[&lids[0], &lids[1]]).expect_success();
                let traced = Trace::parse(&traced.stdout).unwrap();
                TracedPath {
                    ends: [from.guid, to.guid].map(|guid| format!("{guid:#018x}")),
                    hops: traced
                        .hops
                        .iter()
                        .map(|(out, node, _)| (*out, *node))
                        .collect(),
                }
            })
            .collect();
        Self {
            change,
            at: now(),
            linked,
            paths,
            net,
            health: health.lines().next().unwrap().to_owned(),
        }
    }

    /// The service answers the same for that time.
    fn check(&self, sim: &FabricServer) -> u64 {
        let change = self.change;
        let at = &*self.at;
        let answer = |args: &[&str]| json(sim, "sm", &[args, &["--at", at]].concat());
        let nodes = answer(&["nodes", "--where", "state=present"]);
        let items = nodes["items"].as_array().unwrap();
        let answered: BTreeSet<u64> = items.iter().map(|node| guid(&node["guid"])).collect();
        assert_eq!(
            answered,
            self.net.nodes.keys().copied().collect(),
            "{change}"
        );
        assert!(nodes["at"].as_str().unwrap() <= at, "{change}: {nodes}");

        let switches: BTreeSet<&str> = self.net.switches().map(|s| &*s.description).collect();
        let links = answer(&["links", "--where", "state!=down"]);
        let items = links["items"].as_array().unwrap();
        let ends = items.iter().flat_map(|link| [&link["a"], &link["b"]]);
        let answered: BTreeSet<(String, u64)> = ends
            .map(|end| {
                (
                    end["name"].as_str().unwrap().to_owned(),
                    end["port"].as_u64().unwrap(),
                )
            })
            .filter(|(name, _)| switches.contains(&**name))
            .collect();
        assert_eq!(answered, self.linked, "{change}");

        let ports = answer(&["ports", "--where", "lid!=0"]);
        let items = ports["items"].as_array().unwrap();
        let answered: BTreeSet<u64> = items.iter().map(|p| p["lid"].as_u64().unwrap()).collect();
        let read = self.net.lids();
        let read: BTreeSet<u64> = read.values().map(|(lid, _)| u64::from(*lid)).collect();
        assert_eq!(answered, read, "{change}");

        for path in &self.paths {
            let [from, to] = &path.ends;
            let answered = answer(&["path", from, to]);
            assert_eq!(
                answered_trace(&answered, &self.net),
                path.hops,
                "{change}: {answered}"
            );
        }
        let [from, _] = &self.paths[0].ends;
        let place = answer(&["where", from]);
        let lid = place["items"][0]["lid"].as_u64();
        let host = &self.net.nodes[&guid(&Value::from(&**from))];
        assert_eq!(lid, host.ports.values().next().map(|p| u64::from(p.lid)));

        // Before the name of a command, the flag means the same.
        let health = ask(sim, "sm", &["--at", at, "health"]);
        let lines: Vec<&str> = health.stdout.lines().collect();
        assert!(lines[0].starts_with("state since "), "{lines:?}");
        assert_eq!(lines[1], self.health, "{change}");
        let status = answer(&["status"]);
        let switches = self.net.switches().count() as u64;
        assert_eq!(status["fabric"]["switches"].as_u64(), Some(switches));
        status["revision"].as_u64().unwrap()
    }
}

/// Cuts, restored links, a lost switch and a lost host: nodes, links, ports, paths, places, health
/// and status at each time afterwards are what `ibnetdiscover`, `iblinkinfo` and `ibtracert` read
/// then.
#[test]
fn answers_at_an_earlier_time_are_those_of_other_programs_then() {
    let before = now();
    let sim = FabricServer::shape("fat-tree:4");
    let _sm = start(&sim, None, "sm", &[]);
    let changes: [(&str, i32, &[&str]); 7] = [
        ("", 0, &["OK  20 switches, 16 hosts, 48 links"]),
        ("cut \"leaf-0-0\"[3]", 1, &["leaf-0-0/3", "down since"]),
        ("cut \"leaf-1-1\"[4]", 1, &["leaf-1-1/4", "down since"]),
        ("restore \"leaf-0-0\"[3]", 1, &["47 links"]),
        ("off core-0", 1, &["core-0: absent"]),
        ("restore \"leaf-1-1\"[4]", 1, &["19 switches", "44 links"]),
        ("cut \"leaf-2-1\"[1]", 1, &["15 hosts", "43 links"]),
    ];
    let mut moments = Vec::new();
    for (change, status, texts) in changes {
        if !change.is_empty() {
            drop(sim.execute(change));
        }
        let health = wait_for_health(&sim, "sm", status, texts);
        moments.push(Moment::observe(&sim, change, &health));
    }
    let revisions: Vec<u64> = moments
        .iter()
        .rev()
        .map(|moment| moment.check(&sim))
        .collect();
    assert!(
        revisions.is_sorted_by(|later, earlier| later > earlier),
        "{revisions:?}"
    );

    // What is not known has an answer that says what to do.
    for (args, status, texts) in [
        (
            &["nodes", "--at", &*before][..],
            1,
            &["recorded states since", "ferrosm changes"][..],
        ),
        (
            &["nodes", "--at", "2999-01-01T00:00:00Z"],
            2,
            &["is in the future"],
        ),
        (&["--at", "1s", "sweep"], 2, &["--at is for status"]),
        (&["--at", "1s", "nodes", "--at", "1s"], 2, &["occurs twice"]),
    ] {
        let done = ask(&sim, "sm", args);
        assert_eq!(done.status.code(), Some(status), "{}", done.describe());
        for text in texts {
            assert!(done.stderr.contains(text), "{}", done.describe());
        }
    }
}
