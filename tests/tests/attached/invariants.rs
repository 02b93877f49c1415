//! Declared invariants of a running service. What they say is compared with what `ibtracert` and
//! `smpquery` read from the devices.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::diags::Trace;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::process::{Finished, Running, poll_until};
use serde_json::Value;

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// Links between switches on a route between pods of a fat tree with three levels.
const POD_HOPS: usize = 4;

struct Site {
    sim: FabricServer,
    dir: String,
    _sm: Running,
}

impl Site {
    fn start(config: &str) -> Self {
        let sim = FabricServer::shape("fat-tree:4");
        let dir = sim.dir().join("sm").display().to_string();
        let file = sim.dir().join("f.toml");
        fs::write(&file, config).unwrap();
        let file = file.display().to_string();
        let args = ["run", "--state-dir", &dir, "--config", &file];
        let sm = sim.spawn_ferrosm(None, &args);
        let site = Self { sim, dir, _sm: sm };
        site.wait_for(&["health"], 0, "OK  20 switches");
        site
    }

    fn ask(&self, args: &[&str]) -> Finished {
        self.sim
            .ferrosm(&[args, &["--state-dir", &self.dir]].concat())
    }

    fn json(&self, args: &[&str]) -> Value {
        let asked = self.ask(&[args, &["--json"]].concat());
        serde_json::from_str(&asked.stdout).unwrap_or_else(|e| panic!("{e}: {}", asked.describe()))
    }

    /// Waits until a command exits with a status and prints a text.
    fn wait_for(&self, args: &[&str], status: i32, text: &str) {
        let outcome = poll_until(GUARD, PAUSE, || {
            let asked = self.ask(args);
            let is_so = asked.status.code() == Some(status) && asked.stdout.contains(text);
            is_so.then_some(()).ok_or_else(|| asked.describe())
        });
        outcome.unwrap_or_else(|error| panic!("{text}: {error}"));
    }

    fn refused(&self, args: &[&str], texts: &[&str]) {
        let asked = self.ask(args);
        assert_eq!(asked.status.code(), Some(1), "{}", asked.describe());
        for text in texts {
            let shown = format!("{}{}", asked.stdout, asked.stderr);
            assert!(shown.contains(text), "{text}: {}", asked.describe());
        }
    }

    /// Waits until the invariants have these states.
    fn wait_for_states(&self, expected: &[(&str, &str)]) -> Value {
        let mut last = Value::Null;
        let outcome = poll_until(GUARD, PAUSE, || {
            last = self.json(&["invariants"]);
            let items = last["items"].as_array().unwrap();
            let is_so = expected.iter().all(|(name, state)| {
                let mut named = items.iter().filter(|item| item["name"] == *name);
                named.any(|item| item["state"] == *state)
            });
            is_so.then_some(()).ok_or_else(|| last.to_string())
        });
        outcome.unwrap_or_else(|error| panic!("{expected:?}: {error}"));
        last
    }

    /// GUID of the port of a host.
    fn port_guid(&self, host: &str) -> String {
        let found = self.json(&["where", host]);
        let guid = found["items"][0]["port"]["guid"].as_str();
        guid.unwrap().to_owned()
    }
}

fn text_of<'a>(invariants: &'a Value, name: &str) -> &'a str {
    let items = invariants["items"].as_array().unwrap();
    let found = items.iter().find(|item| item["name"] == name);
    found.unwrap()["text"].as_str().unwrap()
}

const ROUTES: &str = "[[invariant]]\nname = \"redundant\"\nkind = \"redundant\"\nfrom = [\"host-0-0-[0-1]\"]\nto = [\"host-3-*\"]\n\
    [[invariant]]\nname = \"short\"\nkind = \"max-hops\"\nfrom = [\"host-0-0-0\"]\nto = [\"ALL_CAS\"]\nmax-hops = 4\n\
    [[invariant]]\nname = \"balanced\"\nkind = \"max-load\"\nmax-percent-of-mean = 1000\n";

/// A drain that would leave a single way is refused; accepted, it is an alarm until it ends. A
/// cable that is cut is one as well.
#[test]
fn drain_that_violates_an_invariant_needs_consent() {
    let site = Site::start(ROUTES);
    let states = ["redundant", "short", "balanced"].map(|name| (name, "ok"));
    let all = site.wait_for_states(&states);
    assert_eq!(text_of(&all, "short"), format!("at most {POD_HOPS} hops"));
    // A foreign program follows the route to another pod.
    let lids = ["host-0-0-0", "host-3-1-1"].map(|host| {
        let found = site.json(&["where", host]);
        found["items"][0]["lid"].to_string()
    });
    let traced = site.sim.run("ibtracert", &[&lids[0], &lids[1]]);
    let trace = Trace::parse(&traced.expect_success().stdout).unwrap();
    // The last hop is the host.
    assert_eq!(trace.hops.len(), POD_HOPS + 2, "{trace:?}");

    let refused = ["drain", "leaf-0-0/3"];
    let why =
        "invariant redundant (no single loss separates host-0-0-[0-1] and host-3-*): the loss of";
    site.refused(&refused, &[why, "--accept invariant"]);
    let dry = ["drain", "leaf-0-0/3", "--dry-run"];
    site.refused(&dry, &["! invariant redundant violated", "needs --accept"]);
    let predicted = site.json(&["whatif", "--without", "leaf-0-0/3"]);
    assert_eq!(predicted["violations"][0]["name"], "redundant");
    site.wait_for_states(&states);
    let accepted = ["drain", "leaf-0-0/3", "--accept", "invariant"];
    let _ = site.ask(&accepted).expect_success();
    site.wait_for_states(&[("redundant", "violated"), ("short", "ok")]);
    site.wait_for(&["health"], 1, "separates host-0-0-");
    let alarms = site.json(&["alarms"]).to_string();
    assert!(alarms.contains("\"invariant-violated\""), "{alarms}");
    let events = site.json(&["events", "--severity", "warning"]).to_string();
    assert!(events.contains("invariant-violated"), "{events}");
    // It is violated already: another loss of this kind is not refused for it.
    let _ = site.ask(&["drain", "leaf-0-1/3"]).expect_success();
    let _ = site.ask(&["undrain", "leaf-0-1/3"]).expect_success();
    let _ = site.ask(&["undrain", "leaf-0-0/3"]).expect_success();
    site.wait_for_states(&states);
    site.wait_for(&["health"], 0, "OK");
    drop(site.sim.execute("cut \"leaf-0-0\"[3]"));
    site.wait_for(&["health"], 1, "separates host-0-0-");
    drop(site.sim.execute("restore \"leaf-0-0\"[3]"));
    site.wait_for(&["health"], 0, "OK");
}

/// Tenants by ranges of GUIDs that no partition joins, by command or configuration.
#[test]
fn change_that_joins_two_tenants_needs_consent() {
    let site = Site::start("");
    let guid = |host: &str| site.port_guid(host);
    let file = site.sim.dir().join("new.toml").display().to_string();
    let write = |b_first: &str| {
        let partition = |name: &str, number: u16, first: &str, last: &str| {
            format!(
                "[[partition]]\nname = \"{name}\"\npkey = {number}\nmembers = [\"{first}-{last}=full\"]\n"
            )
        };
        let text = format!(
            "[[invariant]]\nname = \"apart\"\nkind = \"isolated\"\nfrom = [\"host-0-0-*\"]\nto = [\"partition:B\"]\n{}{}",
            partition("A", 0x11, &guid("host-0-0-0"), &guid("host-0-0-1")),
            partition("B", 0x12, b_first, &guid("host-1-0-1")),
        );
        fs::write(&file, text).unwrap();
    };
    write(&guid("host-1-0-0"));
    let _ = site.ask(&["config", "apply", &file]).expect_success();
    site.wait_for_states(&[("apart", "ok")]);
    // A foreign program reads the P_Keys of the ranges from the devices.
    let has = |host: &str, key: &str| {
        let net = site.sim.net().unwrap();
        let port = net
            .hosts()
            .find(|h| h.description.starts_with(host))
            .and_then(|h| h.ports.values().next().map(|port| port.lid.to_string()))
            .unwrap();
        let table = site.sim.run("smpquery", &["pkeys", &port, "1"]);
        table.expect_success().stdout.contains(key)
    };
    assert!(has("host-0-0-0", "0x8011") && has("host-0-0-1", "0x8011"));
    assert!(has("host-1-0-0", "0x8012") && !has("host-1-0-0", "0x8011"));
    assert!(!has("host-2-0-0", "0x8011") && !has("host-2-0-0", "0x8012"));

    let add = ["partition", "add", "C", "--pkey", "0x13"];
    let members = ["--member", "host-0-0-1", "--member", "host-1-0-0=limited"];
    let joins = [&add[..], &members].concat();
    let why = "invariant apart";
    site.refused(&joins, &[why, "are both in partition C (0x0013)"]);
    site.refused(&[&joins[..], &["--dry-run"]].concat(), &[why, "needs"]);
    assert!(!has("host-0-0-1", "0x8013"));
    // Limited members do not reach each other.
    let limited = [
        "--member",
        "host-0-0-1=limited",
        "--member",
        "host-1-0-0=limited",
    ];
    let _ = site.ask(&[&add[..], &limited].concat()).expect_success();
    site.wait_for_states(&[("apart", "ok")]);
    let accepted = [&joins[..], &["--accept", "invariant"]].concat();
    let _ = site.ask(&accepted).expect_success();
    site.wait_for_states(&[("apart", "violated")]);
    assert!(has("host-0-0-1", "0x8013"));
    site.wait_for(&["health"], 1, "apart");
    let _ = site.ask(&["partition", "remove", "C"]).expect_success();
    site.wait_for_states(&[("apart", "ok")]);
    site.wait_for(&["health"], 0, "OK");

    write(&guid("host-0-0-1"));
    let diff = site.ask(&["config", "diff", &file]);
    assert!(
        diff.stdout
            .contains("host-0-0-1 mlx5_0/1 is in both groups"),
        "{}",
        diff.describe()
    );
    site.refused(&["config", "apply", &file], &[why, "--accept invariant"]);
    assert!(!has("host-0-0-1", "0x8012"));
    let apply = ["config", "apply", &file, "--accept", "invariant"];
    let _ = site.ask(&apply).expect_success();
    site.wait_for_states(&[("apart", "violated")]);
}

/// The plan of a start, and fabric files, have the invariants of a configuration.
#[test]
fn plan_and_fabric_files_are_checked() {
    let sim = FabricServer::shape("fat-tree:4");
    let file = sim.dir().join("f.toml");
    let text = format!(
        "{ROUTES}[[invariant]]\nname = \"near\"\nkind = \"max-hops\"\nfrom = [\"host-0-*\"]\nto = [\"host-3-*\"]\nmax-hops = 3\n"
    );
    fs::write(&file, text).unwrap();
    let file = file.display().to_string();
    let args = ["plan", "--config", &file, "--json", "--state-dir", "none"];
    let planned = sim.ferrosm(&args).expect_success();
    let plan: Value = serde_json::from_str(&planned.stdout).unwrap();
    let violations = plan["violations"].as_array().unwrap();
    assert_eq!(violations.len(), 1, "{plan}");
    assert_eq!(violations[0]["name"], "near");
    let example = violations[0]["text"].as_str().unwrap();
    assert!(example.ends_with("has 4 hops"), "{example}");
    let args = ["whatif", "--from", "fat-tree:4", "--config", &file];
    let predicted = sim.ferrosm(&[&args[..], &["--without", "leaf-0-0/3"]].concat());
    let shown = predicted.describe();
    assert!(
        predicted.stdout.contains("! invariant redundant violated"),
        "{shown}"
    );
    assert!(!predicted.stdout.contains("invariant near"), "{shown}");
}
