//! Unmodified programs of infiniband-diags and shell scripts.

use std::process::Command;

use crate::server::Server;
use crate::{attached, text};

/// ibstat shows the values that the server returns now, not the initial ones in the sysfs
/// directory, and no adapter of the machine.
#[test]
fn ibstat_shows_the_simulated_adapter() {
    let server = Server::start("ibstat");
    let output = attached(&server, "ibstat").arg("-l").output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "sim0\n",
        "{}",
        text(&output)
    );
    assert_eq!(server.nodes(), ["h1", "h2 \"q\""]);

    server.set_lid(0x1234);
    let output = attached(&server, "ibstat").output().unwrap();
    let shown = text(&output);
    assert!(output.status.success(), "{shown}");
    for line in [
        "CA 'sim0'",
        "CA type: MT4123",
        "Node GUID: 0x0002c90300000010",
        "State: Active",
        "Physical state: LinkUp",
        "Rate: 200",
        "Base lid: 4660",
        "Capability mask: 0x2651e848",
        "Port GUID: 0x0002c90300000011",
        "Link layer: InfiniBand",
    ] {
        assert!(shown.contains(line), "no {line:?} in\n{shown}");
    }
}

/// A shell script that tests, enters and lists directories, and runs cat.
#[test]
fn ibstatus_lists_directories() {
    let server = Server::start("ibstatus");
    server.set_lid(0x77);
    let output = attached(&server, "ibstatus").output().unwrap();
    let shown = text(&output);
    assert!(output.status.success(), "{shown}");
    for line in [
        "Infiniband device 'sim0' port 1 status:",
        "0x77",
        "4: ACTIVE",
        "200 Gb/sec (4X HDR)",
        "fe80:0000:0000:0000:0002:c903:0000:0011",
    ] {
        assert!(shown.contains(line), "no {line:?} in\n{shown}");
    }
}

/// A MAD and its reply pass through libibumad and libibmad.
#[test]
fn smpquery_receives_a_reply() {
    let server = Server::start("smpquery");
    let output = attached(&server, "smpquery")
        .args(["-D", "nodeinfo", "0"])
        .output()
        .unwrap();
    let shown = text(&output);
    assert!(output.status.success(), "{shown}");
    assert!(
        shown.contains("Guid:............................0x0002c90300000010"),
        "{shown}"
    );
    assert!(
        shown.contains("LocalPort:.......................1"),
        "{shown}"
    );
}

/// A request without reply times out, and the program reports it.
#[test]
fn timeouts_are_reported() {
    let server = Server::start("sminfo");
    let output = attached(&server, "sminfo").arg("-d").output().unwrap();
    let shown = text(&output);
    assert!(!output.status.success(), "{shown}");
    assert!(shown.contains("timeout after "), "{shown}");
}

/// Without FERROSM_SIM_SOCKET, and for unrelated files, the preload library has no effect.
#[test]
fn unattached_programs_are_unaffected() {
    let server = Server::start("others");
    let script = "printf abc | cat; cd /; test -r /proc/self/stat && echo yes";
    let without_preload = Command::new("sh").args(["-c", script]).output().unwrap();
    let with_attach = attached(&server, "sh")
        .args(["-c", script])
        .output()
        .unwrap();
    let without_socket = attached(&server, "sh")
        .env_remove("FERROSM_SIM_SOCKET")
        .args(["-c", script])
        .output()
        .unwrap();
    assert_eq!(text(&without_preload), text(&with_attach));
    assert_eq!(text(&without_preload), text(&without_socket));
}
