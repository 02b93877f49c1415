//! The alert rules and the dashboard of `dist/monitoring`, with Debian's Prometheus: it loads the
//! rules and scrapes a real ferrosm on a fabric with a fault.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::loopback;
use ferrosm_tests::programs::paths::workspace;
use ferrosm_tests::programs::process::{Launch, poll_until};
use ferrosm_tests::programs::scratch::{Scratch, write_file};
use serde_json::Value;

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(100);

fn read(file: &str) -> String {
    fs::read_to_string(workspace().join(file)).unwrap_or_else(|e| panic!("{file}: {e}"))
}

/// The names of ferrosm's metrics in expressions; a histogram has the name of the whole.
fn metrics_in(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names = words.filter(|word| word.starts_with("ferrosm_"));
    names
        .map(|name| name.strip_suffix("_bucket").unwrap_or(name).to_owned())
        .collect()
}

/// `promtool` runs the rules on series of healthy fabrics and of faults.
#[test]
fn each_rule_fires_on_its_fault_only() {
    let dir = workspace().join("dist/monitoring");
    let scratch = Scratch::new("promtool");
    for (verb, file) in [
        ("check", "ferrosm.rules.yml"),
        ("test", "ferrosm.rules.test.yml"),
    ] {
        let checked = Launch::new("promtool")
            .args(&[verb, "rules", &dir.join(file).to_string_lossy()])
            .start(scratch.path())
            .wait(GUARD);
        drop(checked.expect_success());
    }
}

/// Rules and dashboard use documented metrics only, and each alert has a row that says what to do.
#[test]
fn rules_and_dashboard_are_documented() {
    let documented = metrics_in(&read("docs/metrics.md"));
    let operations = read("docs/operations.md");
    let rules = read("dist/monitoring/ferrosm.rules.yml");
    let dashboard = read("dist/monitoring/grafana-ferrosm.json");
    let parsed: Value = serde_json::from_str(&dashboard).unwrap();
    assert!(parsed["panels"].as_array().unwrap().len() > 10);
    for text in [&rules, &dashboard] {
        let used = metrics_in(text);
        assert!(used.len() > 5, "{used:?}");
        let unknown: Vec<_> = used.difference(&documented).collect();
        assert!(unknown.is_empty(), "not in docs/metrics.md: {unknown:?}");
    }
    let alerts: Vec<&str> = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .collect();
    assert!(alerts.len() > 5, "{alerts:?}");
    for alert in alerts {
        let row = format!("\n`{alert}` | ");
        assert!(
            operations.contains(&row),
            "no row in docs/operations.md: {alert}"
        );
    }
}

/// The body of a GET of Prometheus.
fn get(server: SocketAddr, path: &str) -> Option<Value> {
    let mut stream = TcpStream::connect(server).ok()?;
    let request = format!("GET {path} HTTP/1.0\r\nHost: {server}\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (_, body) = text.split_once("\r\n\r\n")?;
    serde_json::from_str(body).ok()
}

/// What Prometheus says of each rule: its name, state, and health.
fn rules_of(server: SocketAddr) -> Option<Vec<[String; 3]>> {
    let answer = get(server, "/api/v1/rules")?;
    let rules = answer["data"]["groups"][0]["rules"].as_array()?.clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let row = |rule: &Value| ["name", "state", "health"].map(|key| text(&rule[key]));
    Some(rules.iter().map(row).collect())
}

/// A host is cut off: Prometheus evaluates every rule on the metrics of the running service, and
/// the rules of this fault are no longer inactive, the others are.
#[test]
fn prometheus_raises_the_alerts_of_a_fault() {
    let sim = FabricServer::shape("fat-tree:4");
    let [metrics, web] = loopback::free(2).try_into().unwrap();
    let state = sim.dir().join("state").display().to_string();
    let run = [
        "run",
        "--state-dir",
        &state,
        "--metrics-listen",
        &metrics.to_string(),
    ];
    let sm = sim.spawn_ferrosm(None, &run);
    let scratch = Scratch::new("prometheus");
    let rules = workspace().join("dist/monitoring/ferrosm.rules.yml");
    let config = format!(
        "global: {{ scrape_interval: 200ms, evaluation_interval: 200ms }}\nrule_files: [{}]\n\
         scrape_configs:\n  - job_name: ferrosm\n    static_configs: [{{ targets: [\"{metrics}\"] }}]\n",
        rules.display()
    );
    write_file(scratch.path(), "prometheus.yml", &config);
    let prometheus = Launch::new("prometheus")
        .args(&[
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            &format!("--web.listen-address={web}"),
        ])
        .start(scratch.path());
    let wait_for = |what: &str, is_reached: &dyn Fn(&[[String; 3]]) -> bool| {
        let outcome = poll_until(GUARD, POLL_INTERVAL, || {
            let rules = rules_of(web).unwrap_or_default();
            if is_reached(&rules) {
                return Ok(());
            }
            Err(format!("{what}: {rules:?}"))
        });
        outcome.unwrap_or_else(|error| panic!("{error}\n{}\n{}", sm.stderr(), prometheus.stderr()));
    };
    let active = |rules: &[[String; 3]]| -> BTreeSet<String> {
        let active = rules.iter().filter(|[_, state, _]| state != "inactive");
        active.map(|[name, ..]| name.clone()).collect()
    };
    let are_evaluated = |rules: &[[String; 3]]| {
        rules.len() > 5 && rules.iter().all(|[_, _, health]| health == "ok")
    };
    let scraped = |name: &str| {
        let path = format!("/api/v1/query?query={name}");
        let value = get(web, &path).map(|answer| answer["data"]["result"][0]["value"][1].clone());
        value.and_then(|value| value.as_str().map(str::to_owned))
    };
    wait_for("every rule is evaluated, and none is active", &|rules| {
        are_evaluated(rules)
            && active(rules).is_empty()
            && scraped("ferrosm_absent_ports").as_deref() == Some("0")
    });
    drop(sim.execute("off \"host-3-1-1 mlx5_0\""));
    wait_for("the host is absent", &|rules| {
        are_evaluated(rules) && active(rules) == BTreeSet::from(["FerrosmAbsentPorts".to_owned()])
    });
}
