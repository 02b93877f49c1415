//! srp_daemon, which looks for storage targets: it asks for ports by capability, subscribes to notices 64 and 144, and
//! acknowledges what it is told.

use std::time::Duration;

use ferrosm_tests::administered::Administered;
use ferrosm_tests::clients::Clients;
use ferrosm_tests::process::{Signal, poll_until};

const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);
const INITIATOR: &str = "host-1 mlx5_0";
const OTHER: &str = "host-3 mlx5_0";
/// Verbose, all targets, as commands, of the only port.
const FLAGS: [&str; 8] = ["-v", "-V", "-a", "-c", "-i", "mlx5_0", "-p", "1"];

fn srp_daemon(lab: &Administered, more: &[&str]) -> ferrosm_tests::process::Running {
    let launch = lab.sim.launch("srp_daemon", Some(INITIATOR));
    launch.args(&FLAGS).args(more).start(lab.sim.dir())
}

/// One search: ClassPortInfo, then PortInfoRecord by a bit of CapabilityMask, not every port one by one.
#[test]
fn targets_are_looked_for_by_capability() {
    let lab = Administered::start("star:4", &[]);
    let done = srp_daemon(&lab, &["-o"]).wait(PATIENCE).expect_success();
    let told = format!("{}{}", done.stdout, done.stderr);
    for line in [
        "Advanced SM, performing a capability query",
        "Query did not find any targets",
    ] {
        assert!(told.contains(line), "{told}");
    }
}

/// It stays, subscribes, hears that a host came, and unsubscribes at the end.
#[test]
fn a_host_that_comes_is_reported() {
    let lab = Administered::start("star:4", &[]);
    let daemon = srp_daemon(&lab, &["-R", "3600"]);
    let wait = |what: &str, args: &[&str], good: &dyn Fn(&str) -> bool| {
        let waited = poll_until(PATIENCE, PAUSE, || {
            let told = lab.sim.run("saquery", args).stdout;
            good(&told)
                .then_some(())
                .ok_or_else(|| format!("{what}: {told}"))
        });
        waited.unwrap_or_else(|reason| panic!("{reason}"));
    };
    let subscribed = |told: &str, n: &str| {
        let traps = told.lines().filter(|l| l.trim().starts_with("trap_num"));
        traps.filter(|l| l.ends_with(n)).count() == 1
    };
    wait("subscriptions", &["--smkey", "1", "-I"], &|told| {
        subscribed(told, ".64") && subscribed(told, ".144")
    });
    let links = lab.sim.tell("links");
    let cable = links.lines().find(|l| l.contains(OTHER)).unwrap();
    let (end, _) = cable.split_once("] ").unwrap();
    lab.sim.tell(&format!("cut {end}]"));
    wait("gone", &["-D"], &|told| {
        !told.contains(OTHER) && told.contains(INITIATOR)
    });
    lab.sim.tell(&format!("restore {end}]"));
    wait("back", &["-D"], &|told| told.contains(OTHER));

    let done = daemon.stop(Signal::Terminate, PATIENCE);
    let told = format!("{}{}", done.stdout, done.stderr);
    let (before, after) = told
        .split_once("Deregistering")
        .unwrap_or_else(|| panic!("{told}"));
    // Two answers to subscriptions, and at least one report.
    let heard = before.matches("get_trap_notices: Got CQE").count();
    assert!(heard >= 3, "{told}");
    assert_eq!(after.matches("Bad").count(), 0, "{told}");
    wait("unsubscribed", &["--smkey", "1", "-I"], &|told| {
        !told.contains("trap_num")
    });
}
