//! `ferrosm cabling` with plans that infiniband-diags and ferrosm itself wrote.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::process::{Finished, poll_until};
use serde_json::Value;

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

fn ask(sim: &FabricServer, args: &[&str]) -> Finished {
    let dir = sim.dir().join("sm").display().to_string();
    sim.ferrosm(&[args, &["--state-dir", &dir]].concat())
}

fn wait_for_health(sim: &FabricServer, text: &str) {
    let outcome = poll_until(GUARD, PAUSE, || {
        let health = ask(sim, &["health"]);
        let has_text = health.stdout.contains(text);
        has_text.then_some(()).ok_or_else(|| health.describe())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

/// Waits until a check has these findings: kind, and a port that it mentions.
fn wait_for_findings(sim: &FabricServer, plan: &str, expected: &[(&str, &str)]) {
    let outcome = poll_until(GUARD, PAUSE, || {
        let checked = ask(sim, &["cabling", "check", plan, "--json"]);
        let report: Value = serde_json::from_str(&checked.stdout).map_err(|e| e.to_string())?;
        let findings = report["findings"].as_array().unwrap();
        let is_as_expected = findings.len() == expected.len()
            && findings
                .iter()
                .zip(expected)
                .all(|(finding, (kind, port))| {
                    finding["kind"] == *kind && finding.to_string().contains(port)
                });
        let status = i32::from(!expected.is_empty());
        if is_as_expected && checked.status.code() == Some(status) {
            Ok(())
        } else {
            Err(checked.describe())
        }
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
}

/// The output of ibnetdiscover, and what `cabling learn` prints, have no finding in the fabric that
/// they are of. Then cables are swapped, moved, cut and added.
#[test]
fn changed_cables_are_found() {
    let sim = FabricServer::shape("fat-tree:4");
    let dir = sim.dir().join("sm").display().to_string();
    let _sm = sim.spawn_ferrosm(None, &["run", "--state-dir", &dir]);
    wait_for_health(&sim, "OK  20 switches");
    let discovered = sim.run("ibnetdiscover", &[]).expect_success().stdout;
    let learnt = ask(&sim, &["cabling", "learn"]).expect_success().stdout;
    assert_eq!(learnt.lines().count(), 48 + 1, "{learnt}");
    for (name, text) in [("discovered.txt", &discovered), ("learnt.csv", &learnt)] {
        let plan = sim.dir().join(name);
        std::fs::write(&plan, text).unwrap();
        let plan = plan.display().to_string();
        wait_for_findings(&sim, &plan, &[]);
        let text = ask(&sim, &["cabling", "check", &plan])
            .expect_success()
            .stdout;
        assert_eq!(text, "48 of 48 cables as planned; 0 findings\n", "{name}");
        let offline = sim.ferrosm(&["cabling", "check", &plan, "--from", "fat-tree:4"]);
        assert_eq!(offline.status.code(), Some(0), "{}", offline.describe());
    }
    let plans =
        ["discovered.txt", "learnt.csv"].map(|name| sim.dir().join(name).display().to_string());
    let expect = |expected: &[(&str, &str)]| {
        for plan in &plans {
            wait_for_findings(&sim, plan, expected);
        }
    };
    drop(sim.execute("swap \"leaf-0-0\"[3] \"leaf-1-0\"[3]"));
    expect(&[("swapped-pair", "leaf-0-0/3")]);
    drop(sim.execute("swap \"leaf-0-0\"[3] \"leaf-1-0\"[3]"));
    expect(&[]);
    drop(sim.execute("cut \"leaf-2-0\"[4]"));
    expect(&[("missing-cable", "leaf-2-0/4")]);
    drop(sim.execute("restore \"leaf-2-0\"[4]"));
    expect(&[]);
}

/// A plan in each XML format for the same fabric; errors name the line.
#[test]
fn plans_in_xml_are_checked() {
    let sim = FabricServer::shape("fat-tree:4");
    let plan = |name: &str, text: &str| {
        let file = sim.dir().join(name);
        std::fs::write(&file, text).unwrap();
        file.display().to_string()
    };
    let opa = "<Topology><LinkSummary>\n\
        <Link><Port><NodeDesc>leaf-0-0</NodeDesc><PortNum>1</PortNum></Port>\n\
        <Port><NodeDesc>host-0-0-0 mlx5_0</NodeDesc><PortNum>1</PortNum></Port></Link>\n\
        <Link><Port><NodeDesc>leaf-0-0</NodeDesc><PortNum>2</PortNum></Port>\n\
        <Port><NodeDesc>host-9</NodeDesc><PortNum>1</PortNum></Port></Link>\n\
        </LinkSummary></Topology>\n";
    let check = |plan: &str| sim.ferrosm(&["cabling", "check", plan, "--from", "fat-tree:4"]);
    let checked = check(&plan("opa.xml", opa));
    assert_eq!(checked.status.code(), Some(1), "{}", checked.describe());
    for text in [
        "host-9 is not in the fabric: 1 planned cable; found instead: leaf-0-0/2 - host-0-0-1 mlx5_0/1",
        "1 of 2 cables as planned",
        "cables between switches are not compared",
    ] {
        let shown: String = checked
            .stdout
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert!(
            shown.replace("│ ", "").contains(text) || shown.contains(text),
            "{text}: {shown}"
        );
    }
    let conf = "<ibfabric name=\"f\"><linklist name=\"leaf-0-0\">\n\
        <port num=\"1\"><r_port>1</r_port><r_node>host-0-0-0</r_node></port>\n\
        </linklist></ibfabric>\n";
    let checked = check(&plan("conf.xml", conf));
    assert!(
        checked.stdout.contains("1 of 1 cable as planned"),
        "{}",
        checked.describe()
    );
    let broken = check(&plan("broken.xml", "<ibfabric>\n<linklist>\n</ibfabric>"));
    assert!(
        broken.stderr.contains("broken.xml: line 3"),
        "{}",
        broken.describe()
    );
    let other = check(&plan("other.csv", "a,b\n1,2\n"));
    assert!(other.stderr.contains("StartDevice"), "{}", other.describe());
}

/// A configured plan is compared after each sweep: each finding is one alarm, until it is mended.
#[test]
fn cables_that_are_not_as_planned_are_alarms() {
    let sim = FabricServer::shape("fat-tree:4");
    let dir = sim.dir().join("sm").display().to_string();
    // infiniband-diags write the plan, without an SM.
    let discovered = sim.run("ibnetdiscover", &[]).expect_success().stdout;
    std::fs::write(sim.dir().join("plan.txt"), discovered).unwrap();
    let config = sim.dir().join("f.toml");
    std::fs::write(&config, "[cabling]\nplan = \"plan.txt\"\n").unwrap();
    let config = config.display().to_string();
    let args = ["run", "--state-dir", &dir, "--config", &config];
    let _sm = sim.spawn_ferrosm(None, &args);
    wait_for_health(&sim, "OK  20 switches");
    let swap = "swap \"leaf-0-0\"[3] \"leaf-1-0\"[3]";
    drop(sim.execute(swap));
    wait_for_health(&sim, "swapped-pair");
    let open = || {
        let listed = ask(&sim, &["alarms", "--json"]);
        let alarms: Value = serde_json::from_str(&listed.stdout).unwrap();
        let items = alarms["items"].as_array().unwrap().clone();
        let open = items
            .into_iter()
            .filter(|alarm| alarm["state"] != "cleared");
        open.collect::<Vec<Value>>()
    };
    let swapped = open();
    let of_plan: Vec<&Value> = swapped.iter().filter(|a| a["kind"] == "cabling").collect();
    assert_eq!(of_plan.len(), 1, "{swapped:?}");
    drop(sim.execute(swap));
    wait_for_health(&sim, "OK  20 switches");
    assert_eq!(open(), [Value::Null; 0]);
    drop(sim.execute("cut \"leaf-2-0\"[4]"));
    wait_for_health(&sim, "missing-cable");
    let missing = open();
    let down = missing.iter().find(|a| a["kind"] == "link-down").unwrap();
    let of_plan = missing.iter().find(|a| a["kind"] == "cabling").unwrap();
    assert_eq!(of_plan["cause"], down["id"], "{missing:?}");
    drop(sim.execute("restore \"leaf-2-0\"[4]"));
    wait_for_health(&sim, "OK  20 switches");

    // A plan with an error is no configuration.
    std::fs::write(sim.dir().join("plan.txt"), "a,b\n1,2\n").unwrap();
    let checked = sim.ferrosm(&["config", "check", &config]);
    assert_eq!(checked.status.code(), Some(78), "{}", checked.describe());
    assert!(
        checked.stderr.contains("plan.txt") && checked.stderr.contains("StartDevice"),
        "{}",
        checked.describe()
    );
}
