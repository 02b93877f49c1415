//! Links whose two ports have different OperationalVLs, under OpenSM and then under ferrosm: the
//! links stay up.

#![allow(clippy::unwrap_used, reason = "test helpers")]

use ferrosm_tests::programs::clients::Clients;
use ferrosm_tests::programs::diags::parse_smpquery;
use ferrosm_tests::programs::fabric_server::FabricServer;

/// Host of the SMs; its own link has no mismatch.
const SM_HOST: &str = "host-0-0-0 mlx5_0";
/// Number of other hosts.
const HOSTS: usize = 15;

/// A fabric that OpenSM has brought up with one VL; the hosts keep their four VLs.
fn under_opensm() -> FabricServer {
    let sim = FabricServer::shape("fat-tree:4");
    let net = sim.net().unwrap();
    let others = net.hosts().filter(|host| host.description != SM_HOST);
    for host in others {
        sim.execute(&format!("ignore-operational-vls \"{}\"", host.description));
    }
    let config = sim.dir().join("opensm.conf");
    std::fs::write(&config, "max_op_vls 1\n").unwrap();
    let done = sim.opensm_once(&["--config", &config.to_string_lossy()]);
    drop(done.expect_success());
    assert_eq!(mismatches(&sim), HOSTS);
    sim
}

/// Host links whose two ports have different OperationalVLs, as smpquery reads them.
fn mismatches(sim: &FabricServer) -> usize {
    let net = sim.net().unwrap();
    let vls = |lid: u16, port: u8| {
        let read = sim.run(
            "smpquery",
            &["portinfo", &lid.to_string(), &port.to_string()],
        );
        parse_smpquery(&read.expect_success().stdout)["OperVLs"].clone()
    };
    let ports = net.hosts().filter_map(|host| host.ports.get(&1));
    ports
        .filter(|port| vls(port.lid, 1) != vls(net.nodes[&port.peer].lid, port.peer_port))
        .count()
}

/// Sum of LinkDowned over all switch ports, as perfquery reads it.
fn links_downed(sim: &FabricServer) -> u64 {
    let net = sim.net().unwrap();
    let of = |lid: u16| {
        let read = sim.run("perfquery", &["-a", &lid.to_string()]);
        parse_smpquery(&read.expect_success().stdout)["LinkDownedCounter"]
            .parse::<u64>()
            .unwrap()
    };
    net.switches().map(|switch| of(switch.lid)).sum()
}

fn take_over(sim: &FabricServer, more: &[&str]) {
    let state = sim.subdir("state").display().to_string();
    let mut args = vec!["run", "--once", "--state-dir", &*state];
    args.extend(more);
    let done = sim.ferrosm(&args);
    assert!(
        done.stdout.contains("OperationalVLs differ"),
        "the mismatch is reported: {}",
        done.describe()
    );
}

/// ferrosm takes over from OpenSM: it corrects the values where devices accept them, and bounces no
/// link.
#[test]
fn takeover_leaves_links_with_mismatched_vls_up() {
    let sim = under_opensm();
    let before = links_downed(&sim);
    take_over(&sim, &[]);
    assert_eq!(links_downed(&sim), before);
    assert_eq!(mismatches(&sim), 0);
}

/// No link is bounced where the mismatch remains because the ports that would have to change reject
/// the new value.
#[test]
fn links_with_a_permanent_vl_mismatch_stay_up() {
    let sim = under_opensm();
    let config = sim.dir().join("one-vl.toml");
    std::fs::write(&config, "[links]\nmax-operational-vls = 1\n").unwrap();
    let before = links_downed(&sim);
    take_over(&sim, &["--config", &config.to_string_lossy()]);
    assert_eq!(links_downed(&sim), before);
    assert_eq!(mismatches(&sim), HOSTS);
}

/// With `links.bounce` the operator chooses to bounce such links.
#[test]
fn mismatched_links_are_bounced_on_request() {
    let sim = under_opensm();
    let config = sim.dir().join("bounce.toml");
    std::fs::write(&config, "[links]\nbounce = true\n").unwrap();
    let before = links_downed(&sim);
    take_over(&sim, &["--config", &config.to_string_lossy()]);
    assert!(links_downed(&sim) > before);
}
