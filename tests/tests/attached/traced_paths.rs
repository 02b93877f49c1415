//! The paths that the service answers while links fail and return, compared with `ibtracert`.
//!
//! `FERROSM_TRACED_FABRIC` names another fabric, whose pairs are then all compared after each
//! change.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::env;

use ferrosm_tests::lab::TestRng;
use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::diags::{Net, Trace};
use ferrosm_tests::programs::managed_fabric::ManagedFabric;
use ferrosm_tests::programs::process::poll_until;

use super::api::{GUARD, PAUSE, answered_trace};

/// Links that are cut, restored or flap.
const CHANGES: usize = 50;
/// Most links that are down at the same time.
const DOWN_MAX: usize = 5;
/// Pairs that are compared after each change.
const PAIRS: usize = 4;

/// A host.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Host {
    guid: String,
    lid: String,
}

/// A link between switches.
#[derive(Debug, Clone)]
struct Link {
    name: String,
    port: u8,
    /// Name of the switch at the other end.
    peer: String,
}

/// A fabric whose links fail and return.
struct Faults {
    lab: ManagedFabric,
    rng: TestRng,
    /// The fabric without a fault.
    net: Net,
    hosts: Vec<Host>,
    /// Links between switches.
    up: Vec<Link>,
    down: Vec<Link>,
}

impl Faults {
    fn start(spec: &str, seed: u64) -> Self {
        let lab = ManagedFabric::start(spec, &[]);
        let net = lab.sim.net().unwrap();
        let hosts = net.hosts().map(|node| Host {
            guid: format!("{:#018x}", node.guid),
            lid: node.ports.values().next().unwrap().lid.to_string(),
        });
        let links = net.switch_links().into_iter();
        Self {
            rng: TestRng::new(seed),
            hosts: hosts.collect(),
            up: links
                .map(|((guid, port), (peer, _))| Link {
                    name: net.nodes[&guid].description.clone(),
                    port,
                    peer: net.nodes[&peer].description.clone(),
                })
                .collect(),
            down: Vec::new(),
            net,
            lab,
        }
    }

    /// Cuts or restores a link, or does both at once; returns what was done. No switch lacks two
    /// links, so that all hosts stay connected.
    fn change(&mut self) -> String {
        let must_restore = self.down.len() >= DOWN_MAX;
        if must_restore || (!self.down.is_empty() && self.rng.one_in(3)) {
            let at = self.rng.index(self.down.len());
            let link = self.down.swap_remove(at);
            self.execute("restore", &link);
            let change = format!("{link:?} restored");
            self.up.push(link);
            return change;
        }
        let whole = |name: &str| {
            !self
                .down
                .iter()
                .any(|link| link.name == name || link.peer == name)
        };
        let candidates: Vec<usize> = (0..self.up.len())
            .filter(|at| whole(&self.up[*at].name) && whole(&self.up[*at].peer))
            .collect();
        let at = self.rng.choose(&candidates).unwrap();
        if self.rng.one_in(4) {
            let link = self.up[at].clone();
            self.execute("cut", &link);
            self.execute("restore", &link);
            return format!("{link:?} flapped");
        }
        let link = self.up.swap_remove(at);
        self.execute("cut", &link);
        let change = format!("{link:?} cut");
        self.down.push(link);
        change
    }

    fn execute(&self, command: &str, link: &Link) {
        let Link { name, port, .. } = link;
        let command = format!("{command} \"{name}\"[{port}]");
        drop(self.lab.sim.execute(&command));
    }

    /// Waits until the service has seen all changes.
    fn wait(&self, change: &str) {
        let ports: usize = self.net.nodes.values().map(|node| node.ports.len()).sum();
        let expected = ports / 2 - self.down.len();
        let outcome = poll_until(GUARD, PAUSE, || {
            let status = self.lab.ask_json(&["status"]);
            let is_idle = status["activity"] == "idle";
            let has_seen = status["fabric"]["links"] == expected;
            (is_idle && has_seen)
                .then_some(())
                .ok_or_else(|| status.to_string())
        });
        outcome.unwrap_or_else(|status| panic!("{change}: not {expected} links: {status}"));
    }

    /// The service and `ibtracert` find the same hops, as soon as no sweep is in between.
    fn compare(&self, from: &Host, to: &Host, change: &str) {
        let outcome = poll_until(GUARD, PAUSE, || {
            let traced = self.lab.sim.run("ibtracert", &[&from.lid, &to.lid]);
            let traced = Trace::parse(&traced.stdout)?;
            let hops = traced.hops.iter().map(|(out, node, _)| (*out, *node));
            let path = self.lab.ask(&["path", &from.guid, &to.guid, "--json"]);
            let path = serde_json::from_str(&path.stdout).map_err(|_| path.describe())?;
            let answered = answered_trace(&path, &self.net);
            match answered == hops.collect::<Vec<_>>() {
                true => Ok(()),
                false => Err(format!("{path}\n{traced:?}")),
            }
        });
        outcome.unwrap_or_else(|error| panic!("{change}: {from:?} {to:?}: {error}"));
    }

    fn compare_all(&self, change: &str) {
        for from in &self.hosts {
            for to in self.hosts.iter().filter(|to| *to != from) {
                self.compare(from, to, change);
            }
        }
    }

    fn compare_some(&mut self, change: &str) {
        for _ in 0..PAIRS {
            let from = self.hosts[self.rng.index(self.hosts.len())].clone();
            let to = self.hosts[self.rng.index(self.hosts.len())].clone();
            if from != to {
                self.compare(&from, &to, change);
            }
        }
    }
}

/// After each of 50 cuts, restored links and flaps, the service answers the hops that `ibtracert`
/// reads from the switches; at the end for all pairs.
#[test]
fn paths_are_those_of_ibtracert_while_links_fail() {
    let named = env::var("FERROSM_TRACED_FABRIC").ok();
    let spec = named.as_deref().unwrap_or("fat-tree:4");
    let mut faults = Faults::start(spec, 38);
    for n in 0..CHANGES {
        let change = format!("change {n}, {}", faults.change());
        faults.wait(&change);
        match named {
            Some(_) => faults.compare_all(&change),
            None => faults.compare_some(&change),
        }
    }
    faults.compare_all("after all changes");
}
