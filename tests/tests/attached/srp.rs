//! srp_daemon, the discovery of SRP storage targets. It queries ports by capability and the P_Keys
//! shared with them, queries their I/O units, subscribes to notices 64 and 144, and replies to the
//! reports it receives.

use std::path::Path;
use std::time::Duration;

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::fabric_server::FabricServer;
use ferrosm_tests::programs::managed_fabric::ManagedFabric;
use ferrosm_tests::programs::opensm::OpenSm;
use ferrosm_tests::programs::paths;
use ferrosm_tests::programs::process::{Signal, poll_until};

const TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);
const INITIATOR: &str = "host-1 mlx5_0";
const OTHER: &str = "host-3 mlx5_0";
const IBSRPDM: [&str; 3] = ["-c", "-d", "/dev/infiniband/umad0"];
/// Host numbers.
const TARGETS: [u8; 2] = [2, 3];
/// Verbose; list all targets as commands; the only port.
const FLAGS: [&str; 8] = ["-v", "-V", "-a", "-c", "-i", "mlx5_0", "-p", "1"];

/// With line-buffered output.
fn srp_daemon(lab: &ManagedFabric, more: &[&str]) -> ferrosm_tests::programs::process::Running {
    let program = paths::find(Path::new("srp_daemon"));
    let launch = lab.sim.launch("stdbuf", Some(INITIATOR));
    let launch = launch.args(&["-oL", &program.to_string_lossy()]);
    launch.args(&FLAGS).args(more).start(lab.sim.dir())
}

/// One search: a ClassPortInfo query, then PortInfoRecord queries by a CapabilityMask bit, not one
/// query for each port.
#[test]
fn srp_daemon_finds_targets_by_capability_mask() {
    let lab = ManagedFabric::start("star:4", &[]);
    let done = srp_daemon(&lab, &["-o"]).wait(TIMEOUT).expect_success();
    let output = format!("{}{}", done.stdout, done.stderr);
    for line in [
        "Advanced SM, performing a capability query",
        "Query did not find any targets",
    ] {
        assert!(output.contains(line), "{output}");
    }
}

/// srp_daemon keeps running, receives reports of a new host and of a new target on an existing
/// host, finds both, and unsubscribes at exit. Only one such process can run for a port of a
/// machine, whatever the fabric, so no other test starts one.
#[test]
fn new_hosts_and_targets_are_reported() {
    let lab = ManagedFabric::start("star:4", &[]);
    let daemon = srp_daemon(&lab, &["-R", "3600"]);
    let wait = |what: &str, args: &[&str], condition: &dyn Fn(&str) -> bool| {
        let waited = poll_until(TIMEOUT, PAUSE, || {
            let output = lab.sim.run("saquery", args).stdout;
            condition(&output)
                .then_some(())
                .ok_or_else(|| format!("{what}: {output}"))
        });
        waited.unwrap_or_else(|reason| panic!("{reason}"));
    };
    let subscribed = |output: &str, n: &str| {
        let traps = output.lines().filter(|l| l.trim().starts_with("trap_num"));
        traps.filter(|l| l.ends_with(n)).count() == 1
    };
    wait("subscriptions", &["--smkey", "1", "-I"], &|output| {
        subscribed(output, ".64") && subscribed(output, ".144")
    });
    let links = lab.sim.execute("links");
    let cable = links.lines().find(|l| l.contains(OTHER)).unwrap();
    let (end, _) = cable.split_once("] ").unwrap();
    lab.sim.execute(&format!("cut {end}]"));
    wait("host removed", &["-D"], &|output| {
        !output.contains(OTHER) && output.contains(INITIATOR)
    });
    let found = target(&lab.sim, 3);
    lab.sim.execute(&format!("restore {end}]"));
    wait("host restored", &["-D"], &|output| output.contains(OTHER));
    let wait_until_printed = |target: &str| {
        let waited = poll_until(TIMEOUT, PAUSE, || {
            let output = daemon.stdout();
            let is_printed = output.lines().any(|line| line == target);
            is_printed
                .then_some(())
                .ok_or_else(|| format!("target: {output}"))
        });
        waited.unwrap_or_else(|reason| panic!("{reason}"));
    };
    wait_until_printed(&found);
    // A target that starts on an existing host: the port reports it by trap 144.
    wait_until_printed(&target(&lab.sim, 2));

    let done = daemon.stop(Signal::Terminate, TIMEOUT);
    let output = format!("{}{}", done.stdout, done.stderr);
    let (before, after) = output
        .split_once("Deregistering")
        .unwrap_or_else(|| panic!("{output}"));
    // Two replies to subscriptions, and at least one Report.
    let replies = before.matches("get_trap_notices: Got CQE").count();
    assert!(replies >= 3, "{output}");
    assert_eq!(after.matches("Bad").count(), 0, "{output}");
    wait("unsubscribed", &["--smkey", "1", "-I"], &|output| {
        !output.contains("trap_num")
    });
}

/// Makes a host a target and returns the line that srp_daemon prints for it. IDs derive from the
/// node GUID, the GID from the port GUID.
fn target(sim: &FabricServer, host: u8) -> String {
    sim.execute(&format!("srp-target \"host-{host} mlx5_0\""));
    // The switch is the first node.
    let nth = host + 1;
    let node = format!("0002c904000000{nth}0");
    let gid = format!("fe800000000000000002c904000000{nth}1");
    format!("id_ext={node},ioc_guid={node},dgid={gid},pkey=ffff,service_id={node}")
}

fn lines(sim: &FabricServer, program: &str, args: &[&str]) -> Vec<String> {
    let done = sim.run_at(INITIATOR, program, args).expect_success();
    let mut lines: Vec<String> = done.stdout.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Both programs print the same targets with either SM.
fn assert_found(sim: &FabricServer, expected: &[String], sm_name: &str) {
    let once = ["-a", "-o", "-c", "-i", "mlx5_0", "-p", "1"];
    assert_eq!(lines(sim, "srp_daemon", &once), expected, "{sm_name}");
    assert_eq!(lines(sim, "ibsrpdm", &IBSRPDM), expected, "{sm_name}");
}

/// The same two targets are found with OpenSM and then with ferrosm as master. A stopped target is
/// no longer found.
#[test]
fn targets_are_found_with_either_sm() {
    let sim = FabricServer::shape("star:4");
    let mut expected = TARGETS.map(|host| target(&sim, host)).to_vec();
    let mut opensm = OpenSm::start(&sim, None, &[]);
    opensm.wait_until_up(1);
    assert_found(&sim, &expected, "OpenSM");
    opensm.stop(Signal::Terminate);

    let lab = ManagedFabric::on(sim, &[]);
    assert_found(&lab.sim, &expected, "ferrosm");
    lab.sim.execute(&format!("srp-off \"{OTHER}\""));
    expected.pop();
    let waited = poll_until(TIMEOUT, PAUSE, || {
        let output = lines(&lab.sim, "ibsrpdm", &IBSRPDM);
        if output == expected {
            Ok(())
        } else {
            Err(format!("{output:?}"))
        }
    });
    waited.unwrap_or_else(|reason| panic!("{reason}"));
}
