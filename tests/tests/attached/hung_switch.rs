//! A switch whose SMA does not respond still forwards packets: the SA computes paths from the last
//! LFT that the switch accepted.

use std::collections::BTreeSet;
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::managed_fabric::ManagedFabric;
use ferrosm_tests::programs::process::poll_until;

const REPAIRED: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// Pairs of LIDs for which saquery prints a path.
fn paths(lab: &ManagedFabric) -> BTreeSet<(u16, u16)> {
    let text = lab.sim.run("saquery", &["-p"]).expect_success().stdout;
    let all = |field: &str| -> Vec<u16> {
        let lines = text.lines().map(str::trim).filter(|l| l.starts_with(field));
        lines
            .map(|l| {
                let lid = l.rsplit('.').next().and_then(|lid| lid.parse().ok());
                lid.unwrap_or_else(|| panic!("no LID: {l}"))
            })
            .collect()
    };
    let from = all("slid");
    let to = all("dlid");
    assert_eq!(from.len(), to.len(), "{text}");
    from.into_iter().zip(to).collect()
}

/// A core switch hangs, then one of its links fails: the SM cannot write its LFT. All pairs of
/// hosts still have paths, because the other switches no longer use it for destinations that it
/// cannot reach; its other entries are unchanged. It stays in the subnet, also in a full sweep,
/// until the operator excludes it.
#[test]
fn paths_through_a_hung_switch_remain() {
    let lab = ManagedFabric::start("fat-tree:4", &[]);
    let net = lab.sim.net().unwrap();
    let hosts: BTreeSet<u16> = net.hosts().map(|host| host.ports[&1].lid).collect();
    let are_hosts = |(from, to): &(u16, u16)| hosts.contains(from) && hosts.contains(to);
    let between_hosts = || paths(&lab).into_iter().filter(are_hosts).count();
    let all = between_hosts();
    assert!(all >= hosts.len() * (hosts.len() - 1), "{all}");
    lab.sim.execute("hang core-0");
    lab.sim.execute("cut leaf-3-1[3]");
    poll_until(REPAIRED, PAUSE, || {
        let log = lab.log();
        let is_known = log.contains("no response to LinearForwardingTable");
        is_known.then_some(()).ok_or(log)
    })
    .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(between_hosts(), all);
    let nodes = || lab.ask_json(&["nodes", "--where", "state=present,name=core-0"]);
    let swept = || {
        let swept = lab.ask(&["sweep"]);
        assert_eq!(swept.status.code(), Some(1), "{}", swept.describe());
        let is_named = swept.stderr.contains("core-0") && swept.stderr.contains("no response");
        assert!(is_named, "{}", swept.stderr);
    };
    let tables = || lab.sim.run("dump_fts", &["-a"]).stdout;
    swept();
    let before = tables();
    assert!(before.contains("leaf-3-1"), "{before}");
    swept();
    assert_eq!(tables(), before, "LFTs, by dump_fts");
    assert_eq!(between_hosts(), all);
    assert_eq!(nodes()["total"], 1);
    let swept = lab.ask(&["sweep", "--exclude"]);
    assert!(
        swept.stderr.contains("does not respond"),
        "{}",
        swept.describe()
    );
    assert_eq!(nodes()["total"], 0);
}
