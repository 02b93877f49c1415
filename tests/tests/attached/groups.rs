//! `ferrosm group` and `ferrosm host`, compared with what `saquery` and `dump_mfts` read.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use std::collections::BTreeSet;
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::managed_fabric::ManagedFabric;
use ferrosm_tests::programs::process::poll_until;
use ferrosm_tests::programs::script::{Script, join_group};
use serde_json::Value;

/// Upper bound for one wait, reached only on failure.
const GUARD: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);
const BROADCAST: &str = "ff12:401b:ffff::ffff:ffff";

fn items(answer: &Value) -> &Vec<Value> {
    answer["items"].as_array().unwrap()
}

/// MLIDs in use, as `limits` says.
fn used_mlids(lab: &ManagedFabric) -> u64 {
    let limits = lab.ask_json(&["limits"]);
    let mlids = items(&limits).iter().find(|l| l["resource"] == "mlids");
    mlids.unwrap()["used"].as_u64().unwrap()
}

/// MLIDs of all groups, as `saquery` reads them.
fn mlids_of_saquery(lab: &ManagedFabric) -> u64 {
    let dump = lab.sim.run("saquery", &["-g"]).expect_success().stdout;
    let mlids = dump.lines().filter(|line| line.contains("Mlid."));
    let mlids: BTreeSet<&str> = mlids.filter_map(|line| line.rsplit('.').next()).collect();
    assert!(!mlids.is_empty(), "{dump}");
    mlids.len() as u64
}

/// MLIDs are in use also while their groups have no member, and thus no tree.
#[test]
fn mlids_of_groups_without_a_tree_are_in_use() {
    let lab = ManagedFabric::start("fat-tree:4", &[]);
    assert_eq!(used_mlids(&lab), mlids_of_saquery(&lab));
}

/// Two hosts join the broadcast group and create another one: the groups are those of `saquery`,
/// the switches those whose MFT has entries.
#[test]
fn groups_and_their_members_are_those_of_the_sa() {
    let lab = ManagedFabric::start("fat-tree:4", &[]);
    let script = Script::build(&lab.sim);
    let hosts = ["host-1-0-0", "host-2-1-1"];
    for host in hosts {
        let place = lab.ask_json(&["where", host]);
        let guid = place["items"][0]["port"]["guid"].as_str().unwrap();
        let guid = u64::from_str_radix(guid.trim_start_matches("0x"), 16).unwrap();
        let node = format!("{host} mlx5_0");
        assert!(script.is_acknowledged(&lab.sim, &node, &join_group("1", guid), 2000));
    }
    let groups = lab.ask_json(&["group", "list"]);
    let dump = lab.sim.run("saquery", &["-g"]).expect_success().stdout;
    let known = dump.matches("MCMemberRecord group dump").count();
    assert_eq!(items(&groups).len(), known, "{groups}");
    let members: u64 = items(&groups)
        .iter()
        .map(|group| group["members"].as_u64().unwrap())
        .sum();
    // saquery may not see who the members are.
    assert_eq!(members, 2 * hosts.len() as u64);

    let shown = lab.ask_json(&["group", "show", BROADCAST]);
    let names: Vec<&str> = items(&shown)
        .iter()
        .map(|member| member["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, hosts.map(|host| format!("{host} mlx5_0")));
    assert!(items(&shown).iter().all(|member| member["join"] == "full"));

    let host = lab.ask(&["host", "show", hosts[0]]).expect_success().stdout;
    assert!(host.contains(BROADCAST), "{host}");
    assert!(
        host.contains("0x7fff") || host.contains("Default"),
        "{host}"
    );

    // The tree is complete when the devices have as many switches with entries as the answer.
    let mlid = {
        let of_broadcast = items(&groups)
            .iter()
            .find(|group| group["mgid"] == BROADCAST);
        of_broadcast.unwrap()["mlid"].as_str().unwrap().to_owned()
    };
    let same = poll_until(GUARD, PAUSE, || {
        let groups = lab.ask_json(&["group", "list", "--where", &format!("mgid={BROADCAST}")]);
        let said = groups["items"][0]["switches"].as_u64().unwrap();
        let dump = lab.sim.run("dump_mfts", &[]).expect_success().stdout;
        let entries = dump.lines().filter(|line| line.starts_with(&mlid)).count();
        let is_same = said > 1 && said == entries as u64;
        is_same
            .then_some(())
            .ok_or_else(|| format!("{groups}\n{dump}"))
    });
    same.unwrap_or_else(|error| panic!("{error}"));

    let refused = lab.ask(&["group", "show", "0xc123"]);
    assert_eq!(refused.status.code(), Some(1), "{}", refused.describe());
    assert!(
        refused.stderr.contains("ferrosm group list"),
        "{}",
        refused.stderr
    );
}
