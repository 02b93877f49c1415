//! Two services with different configurations: the master names the sections that differ.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::process::{Finished, poll_until};
use ferrosm_tests::programs::sm_pair::{SmPair, certified};
use serde_json::Value;

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);

/// The second SM has other partitions and another lifetime of packets.
fn prepare(dir: &Path) {
    certified(dir, 2);
    let path = dir.join("sm1.toml");
    let text = fs::read_to_string(&path).unwrap();
    let other = "\n[links]\nhoq-life = 3\n\n[[partition]]\nname = \"Storage\"\npkey = 0x0040\n";
    fs::write(&path, text + other).unwrap();
}

fn ask(pair: &SmPair, n: usize, args: &[&str]) -> Finished {
    let state = pair.sim.dir().join(format!("state{n}"));
    let state = state.display().to_string();
    pair.sim.ferrosm(&[args, &["--state-dir", &state]].concat())
}

#[test]
fn differing_sections_are_in_sms_health_and_log() {
    let mut pair = SmPair::new(prepare);
    pair.wait(0, "SM with another configuration found", 1);
    let outcome = poll_until(GUARD, PAUSE, || {
        let listed = ask(&pair, 0, &["sms", "--json"]).expect_success().stdout;
        let sms: Value = serde_json::from_str(&listed).unwrap();
        let items = sms["items"].as_array().cloned().unwrap_or_default();
        let differing = items.iter().map(|sm| sm["differing_config"].clone());
        let differing: Vec<Value> = differing.filter(|sections| !sections.is_null()).collect();
        match differing.as_slice() {
            [sections] if *sections == serde_json::json!(["partitions", "links"]) => Ok(()),
            _ => Err(listed),
        }
    });
    outcome.unwrap_or_else(|e| panic!("{e}"));
    let health = ask(&pair, 0, &["health"]);
    assert!(
        health.stdout.contains("SM with another configuration"),
        "{}",
        health.describe()
    );
    let table = ask(&pair, 0, &["sms"]).expect_success().stdout;
    assert!(table.contains("other partitions, links"), "{table}");
}
