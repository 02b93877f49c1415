//! Two real ferrosm with copies of each other's state on a fabric that `ferrosm sim` serves, and who is in charge, asked of
//! `sminfo` and `saquery`: killed, handed over, stopped.

use std::path::Path;

use ferrosm_tests::clients::Clients;
use ferrosm_tests::pair::{Pair, configure, file};
use ferrosm_tests::process::Signal;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// Certificates of both, and configurations with free ports.
fn prepare(dir: &Path) {
    let ca = || -> Result<_, rcgen::Error> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        CertifiedIssuer::self_signed(params, KeyPair::generate()?)
    };
    let ca = ca().unwrap_or_else(|e| panic!("{e}"));
    file(dir, "ca.crt", &ca.pem());
    let listeners = [0, 1].map(|_| std::net::TcpListener::bind("127.0.0.1:0"));
    let ports: Vec<u16> = listeners
        .iter()
        .flatten()
        .filter_map(|l| l.local_addr().ok())
        .map(|at| at.port())
        .collect();
    assert_eq!(ports.len(), 2);
    for n in 0..2 {
        let key = KeyPair::generate().unwrap_or_else(|e| panic!("{e}"));
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]);
        let certificate = params.and_then(|params| params.signed_by(&key, &ca));
        let certificate = certificate.unwrap_or_else(|e| panic!("{e}"));
        file(dir, &format!("sm{n}.crt"), &certificate.pem());
        file(dir, &format!("sm{n}.key"), &key.serialize_pem());
        let listen = ports[n];
        let peers = format!("[\"127.0.0.1:{}\", \"127.0.0.1:{}\"]", ports[0], ports[1]);
        configure(
            dir,
            n,
            &format!(
                "listen = \"127.0.0.1:{listen}\"\npeers = {peers}\nca = \"ca.crt\"\n\
                 certificate = \"sm{n}.crt\"\nkey = \"sm{n}.key\""
            ),
        );
    }
}

/// Killed without a word, the master is replaced by the one that has the copy; it comes back, gets the subnet, and the other
/// has a copy again.
#[test]
fn a_killed_master_is_replaced_and_comes_back() {
    let mut pair = Pair::new(prepare);
    pair.assert_master(0);
    pair.end(0, Signal::Kill);
    pair.wait(1, "nothing is heard of the master any more", 1);
    pair.wait(1, "clients are answered from what was kept", 1);
    pair.assert_master(1);
    pair.assert_nothing_written(1);
    pair.start(0);
    pair.wait(1, "handed over to the SM of GUID", 1);
    pair.assert_master(0);
    pair.wait(1, "the copy of the master's state is whole", 2);
    pair.end(0, Signal::Kill);
    pair.wait(1, "clients are answered from what was kept", 2);
    pair.assert_master(1);
}

/// The operator's word, then SIGTERM: each time the other one has the subnet, from the copy, and nothing is written.
#[test]
fn a_planned_change_is_a_takeover_from_the_copy() {
    let mut pair = Pair::new(prepare);
    let state = pair.sim.dir().join("state0").display().to_string();
    let done = pair.sim.ferrosm(&["handover", "--state-dir", &state]);
    let done = done.expect_success();
    assert!(done.stdout.starts_with("now Standby"), "{}", done.stdout);
    pair.assert_master(1);
    pair.wait(1, "clients are answered from what was kept", 1);
    pair.assert_nothing_written(1);
    pair.wait(0, "the copy of the master's state is whole", 1);
    let again = pair.sim.ferrosm(&["handover", "--state-dir", &state]);
    assert!(!again.status.success(), "there is nothing to hand over");
    pair.end(1, Signal::Terminate);
    pair.assert_master(0);
    pair.wait(0, "clients are answered from what was kept", 1);
}
