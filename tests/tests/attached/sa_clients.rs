//! `ferrosm sa clients` and `limit`, with floods of `saquery`.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::fs;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use serde_json::Value;

use crate::api::{GUARD, PAUSE, ask, json, start, wait_for_health};
use ferrosm_tests::programs::process::poll_until;

/// The client with a name.
fn client(clients: &Value, name: &str) -> Option<Value> {
    let items = clients["items"].as_array()?;
    items
        .iter()
        .find(|item| item["port"]["name"] == name)
        .cloned()
}

#[test]
fn flooding_client_is_listed_first_and_limited() {
    const FLOODER: &str = "host-2 mlx5_0";
    const OTHER: &str = "host-1 mlx5_0";
    let sim = FabricServer::shape("star:3");
    let _sm = start(&sim, None, "sm", &[]);
    wait_for_health(&sim, "sm", 0, &["OK"]);
    for _ in 0..30 {
        drop(sim.run_at(FLOODER, "saquery", &["NR"]).expect_success());
    }
    drop(sim.run_at(OTHER, "saquery", &["-p"]).expect_success());
    let clients = json(&sim, "sm", &["sa", "clients", "--top", "5"]);
    assert_eq!(clients["items"][0]["port"]["name"], FLOODER, "{clients}");
    let first = client(&clients, FLOODER).unwrap();
    // `saquery` asks for ClassPortInfo before the table.
    let requests = first["requests"].as_u64().unwrap();
    assert!(requests >= 30, "{first}");
    assert_eq!(first["answered"], requests);
    let kinds = first["kinds"].as_array().unwrap();
    let tables = kinds
        .iter()
        .find(|kind| kind["kind"] == "GetTable(NodeRecord)");
    assert_eq!(tables.unwrap()["requests"], 30, "{first}");
    assert!(first["rate_per_s"].as_f64().unwrap() > 0.0, "{first}");
    let share = |client: &Value| client["time_percent"].as_f64().unwrap();
    let other = client(&clients, OTHER).unwrap();
    assert!(
        share(&first) > share(&other) && share(&other) > 0.0,
        "{clients}"
    );
    assert!(first["limit_per_s"].is_null(), "{first}");
    let one = json(&sim, "sm", &["sa", "clients", "--top", "1"]);
    assert_eq!(one["items"].as_array().unwrap().len(), 1);

    // With one request per second, the third of three at once is dropped, and repeated.
    let limit = [
        "sa", "limit", "host-2", "1/s", "--for", "1h", "--reason", "T-4711",
    ];
    let limited = ask(&sim, "sm", &limit).expect_success().stdout;
    assert!(
        limited.contains("1 requests per second until 2"),
        "{limited}"
    );
    let dropped = poll_until(GUARD, PAUSE, || {
        let _ = sim.run_at(FLOODER, "saquery", &["NR"]);
        let clients = json(&sim, "sm", &["sa", "clients"]);
        let flooder = client(&clients, FLOODER).unwrap();
        match flooder["overload"].as_u64() {
            Some(1..) => Ok(flooder),
            Some(_) | None => Err(flooder.to_string()),
        }
    });
    let dropped = dropped.unwrap();
    assert_eq!(dropped["limit_per_s"], 1);
    assert!(dropped["limited_until"].as_str().unwrap().ends_with('Z'));
    // Others are not limited.
    for _ in 0..10 {
        drop(sim.run_at(OTHER, "saquery", &["NR"]).expect_success());
    }
    let clients = json(&sim, "sm", &["sa", "clients"]);
    assert_eq!(client(&clients, OTHER).unwrap()["overload"], 0);
    let text = ask(&sim, "sm", &["sa", "clients"]).expect_success().stdout;
    assert!(
        text.contains("limit 1/s until") && text.contains("dropped by limits"),
        "{text}"
    );

    let removed = ask(&sim, "sm", &["sa", "limit", "host-2", "none"]).expect_success();
    assert!(
        removed.stdout.contains("no limit of its own"),
        "{}",
        removed.stdout
    );
    let before = json(&sim, "sm", &["sa", "clients"]);
    for _ in 0..10 {
        drop(sim.run_at(FLOODER, "saquery", &["NR"]).expect_success());
    }
    let after = json(&sim, "sm", &["sa", "clients"]);
    let overload = |clients: &Value| client(clients, FLOODER).unwrap()["overload"].clone();
    assert_eq!(overload(&after), overload(&before));
    for (args, code, text) in [
        (&["sa", "limit", "nobody", "5/s"][..], 1, "nobody"),
        (&["sa", "limit", "host-2", "0/s"][..], 2, "expected `none`"),
        (
            &["sa", "limit", "host-2", "none", "--for", "1h"][..],
            2,
            "only with per_s",
        ),
        (&["sa", "clients", "--top", "0"][..], 2, "top is from 1"),
    ] {
        let refused = ask(&sim, "sm", args);
        assert_eq!(refused.status.code(), Some(code), "{}", refused.describe());
        assert!(refused.stderr.contains(text), "{}", refused.describe());
    }
    let audit = fs::read_to_string(sim.dir().join("sm/audit.jsonl")).unwrap();
    assert_eq!(audit.matches("sa-limit").count(), 2, "{audit}");
    assert!(audit.contains("host-2 mlx5_0: 1/s until 2"), "{audit}");
}
