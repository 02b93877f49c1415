//! The metrics of real ferrosm, parsed by the OpenMetrics reference parser: one SM, and two SMs
//! with replicated state, one of which is killed. Expected values come from `sminfo`, the simulator
//! and the topology.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::metrics::{MetricsEndpoint, Page};
use ferrosm_tests::programs::paths::workspace;
use ferrosm_tests::programs::process::Signal;
use ferrosm_tests::programs::sm_pair::{CLIENT, SmPair, certified};

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
/// At a free port.
const METRICS: &str = "[metrics]\nlisten = \"127.0.0.1:0\"\n";

/// A subnet that is not served exports only that fact; SA queries of hosts are counted.
#[test]
fn metrics_of_a_subnet_exist_while_it_is_served() {
    let sim = FabricServer::shape("fat-tree:4");
    let listed = sim
        .ferrosm(&["ports", "--local", "--json"])
        .expect_success()
        .stdout;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let guid = listed["ports"][0]["port_guid"].as_str().unwrap();
    let config = sim.dir().join("f.toml").display().to_string();
    let configure = |guid: &str| {
        let dir = sim.dir().display();
        let text =
            format!("{METRICS}[files]\nstate-dir = \"{dir}/state\"\n[port]\nguid = \"{guid}\"\n");
        std::fs::write(&config, text).unwrap();
    };
    configure("0x00000000000000ee");
    let waiting = sim.spawn_ferrosm(None, &["run", "--config", &config]);
    let endpoint = MetricsEndpoint::from_log(|| waiting.stderr());
    endpoint.wait_for(&[("ferrosm_served{}", Some(0.0))]);
    let page = endpoint.page();
    let series: Vec<&str> = page.series().filter(|n| !n.contains("_info{")).collect();
    assert_eq!(series, ["ferrosm_served{}"]);
    let ended = waiting.stop(Signal::Terminate, GUARD);
    assert!(ended.status.success(), "{}", ended.describe());
    configure(guid);
    let sm = sim.spawn_ferrosm(None, &["run", "--config", &config]);
    let endpoint = MetricsEndpoint::from_log(|| sm.stderr());
    endpoint.wait_for(&[
        ("ferrosm_served{}", Some(1.0)),
        ("ferrosm_sm_state{state=\"master\"}", Some(1.0)),
        (
            "ferrosm_sweeps_total{kind=\"full\",outcome=\"clean\"}",
            Some(1.0),
        ),
        // A fat tree of radix 4: 16 hosts, 20 switches, and as many links as hosts at each of three
        // levels.
        ("ferrosm_nodes{type=\"ca\"}", Some(16.0)),
        ("ferrosm_nodes{type=\"switch\"}", Some(20.0)),
        ("ferrosm_links{}", Some(48.0)),
        ("ferrosm_problems{severity=\"problem\"}", Some(0.0)),
        ("ferrosm_sm_state_changes_total{}", Some(1.0)),
    ]);
    let answered = |page: &Page| -> f64 {
        let is_answered = |name: &&str| {
            name.starts_with("ferrosm_sa_requests_total{") && name.contains("outcome=\"answered\"")
        };
        let answered = page.series().filter(is_answered);
        answered.filter_map(|name| page.get(name)).sum()
    };
    let before = answered(&endpoint.page());
    drop(sim.run("saquery", &["NR"]).expect_success());
    let after = endpoint.page();
    assert!(answered(&after) > before, "{after:?}");
    let ended = sm.stop(Signal::Terminate, GUARD);
    assert!(ended.status.success(), "{}", ended.describe());
}

/// Metric names of a page, in the form used by the documentation.
fn families(page: &Page) -> BTreeSet<String> {
    let names = page.series().filter_map(|series| series.split('{').next());
    let parts = |name: &str| {
        let histogram = ["_bucket", "_sum", "_count"].iter().find_map(|part| {
            let name = name.strip_suffix(part)?;
            name.ends_with("_seconds").then(|| name.to_owned())
        });
        histogram.unwrap_or_else(|| name.to_owned())
    };
    names.map(parts).collect()
}

/// The metrics listed in the tables of docs/metrics.md.
fn documented() -> BTreeSet<String> {
    let text = std::fs::read_to_string(workspace().join("docs/metrics.md")).unwrap();
    let rows = text.lines().filter_map(|line| {
        let name = line.strip_prefix("| `")?.split('`').next()?;
        Some(name.to_owned())
    });
    rows.collect()
}

/// Role, replication state and subnet size before and after the master's death.
#[test]
fn failover_appears_in_metrics() {
    let mut pair = SmPair::new(|dir| {
        certified(dir, 2);
        for n in 0..2 {
            let file = std::fs::OpenOptions::new()
                .append(true)
                .open(dir.join(format!("sm{n}.toml")));
            file.unwrap().write_all(METRICS.as_bytes()).unwrap();
        }
    });
    let mut seen = BTreeSet::new();
    let endpoints = [0, 1].map(|n| MetricsEndpoint::from_log(|| pair.log(n)));
    endpoints[0].wait_for(&[
        ("ferrosm_sm_state{state=\"master\"}", Some(1.0)),
        ("ferrosm_standbys{in_sync=\"yes\"}", Some(1.0)),
        ("ferrosm_standbys{in_sync=\"no\"}", Some(0.0)),
        ("ferrosm_protected{}", Some(1.0)),
        ("ferrosm_replica_in_sync{}", None),
        ("ferrosm_links{}", Some(48.0)),
        (
            "ferrosm_events_total{event=\"link-down\",severity=\"warning\"}",
            Some(0.0),
        ),
    ]);
    // Only the master reports subnet metrics.
    endpoints[1].wait_for(&[
        ("ferrosm_sm_state{state=\"standby\"}", Some(1.0)),
        ("ferrosm_sm_state{state=\"master\"}", Some(0.0)),
        ("ferrosm_replica_in_sync{}", Some(1.0)),
        ("ferrosm_protected{}", None),
        ("ferrosm_links{}", None),
        ("ferrosm_nodes{type=\"ca\"}", None),
    ]);
    pair.sim.execute("cut core-0[1]");
    endpoints[0].wait_for(&[
        ("ferrosm_links{}", Some(47.0)),
        (
            "ferrosm_events_total{event=\"link-down\",severity=\"warning\"}",
            Some(1.0),
        ),
    ]);
    // Counters of requests appear with the first request of their kind.
    let query = pair.sim.run("saquery", &["-P", "1", "NR"]).expect_success();
    drop(query);
    for endpoint in &endpoints {
        seen.extend(families(&endpoint.page()));
    }
    pair.terminate(0, Signal::Kill);
    pair.assert_master(1);
    endpoints[1].wait_for(&[
        ("ferrosm_sm_state{state=\"master\"}", Some(1.0)),
        ("ferrosm_sm_state{state=\"standby\"}", Some(0.0)),
        ("ferrosm_protected{}", Some(0.0)),
        ("ferrosm_replica_in_sync{}", None),
        ("ferrosm_links{}", Some(47.0)),
        ("ferrosm_nodes{type=\"ca\"}", Some(16.0)),
        ("ferrosm_lids_changed_total{}", Some(0.0)),
        ("ferrosm_lft_blocks_written_total{}", Some(0.0)),
        ("ferrosm_drained_lids_total{}", Some(0.0)),
    ]);
    let sm_info = pair.sim.sm_info(CLIENT).unwrap();
    assert_eq!(sm_info.state, "SMINFO_MASTER", "{sm_info:?}");
    let mut expected = documented();
    // No request is refused here.
    expected.remove("ferrosm_sa_refusals_total");
    assert_eq!(seen, expected);
}
