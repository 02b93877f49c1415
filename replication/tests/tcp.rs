//! Three nodes in one process, with real sockets and certificates: replication, death and return of
//! the master, rejected peers.
//!
//! Tests wait for events, counts or replies, with a limit that only a failing test reaches.

#![expect(clippy::unwrap_used, reason = "test code")]

#[path = "../../tests/src/programs/loopback.rs"]
#[expect(unreachable_pub, reason = "shared with other tests")]
mod loopback;
mod memory;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ferrosm_core::records::{RecordBatch, RecordChange, RecordKind};
use ferrosm_replication::tcp::{TcpReplication, TcpSettings};
use ferrosm_replication::tls::TlsFiles;
use ferrosm_replication::{
    EVENT_QUEUE_MAX, LogLimits, Position, RecordStore, Replication, ReplicationEvent, Role,
    StepDownReason, Timing,
};
use memory::{GUARD, Memory, put_record, until};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::sync::mpsc;
use tokio_rustls::rustls;

type Authority = CertifiedIssuer<'static, KeyPair>;

/// Certificates, addresses and stores of nodes; deleted on drop.
struct Site {
    dir: PathBuf,
    authority: Authority,
    addresses: Vec<SocketAddr>,
    stores: Vec<Arc<Memory>>,
}

type Node = memory::Node<TcpReplication>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

impl Site {
    fn new(nodes: usize) -> Self {
        static SITES: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "ferrosm-replication-{}-{}",
            std::process::id(),
            SITES.fetch_add(1, Ordering::SeqCst)
        );
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        let site = Self {
            dir,
            authority: authority(),
            addresses: loopback::free(nodes),
            stores: (0..nodes).map(|_| Arc::default()).collect(),
        };
        site.sign("node", &site.authority);
        site
    }

    /// Files of a node with a certificate signed by `issuer`.
    fn sign(&self, name: &str, issuer: &Authority) -> TlsFiles {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![loopback::address().to_string()]).unwrap();
        let certificate = params.signed_by(&key, issuer).unwrap();
        let files = self.files(name);
        std::fs::write(&files.ca, issuer.pem()).unwrap();
        std::fs::write(&files.certificate, certificate.pem()).unwrap();
        std::fs::write(&files.key, key.serialize_pem()).unwrap();
        files
    }

    fn files(&self, name: &str) -> TlsFiles {
        let path = |extension: &str| self.dir.join(format!("{name}.{extension}"));
        TlsFiles {
            ca: path("ca"),
            certificate: path("crt"),
            key: path("key"),
        }
    }

    fn settings(&self, node: usize) -> TcpSettings {
        let peers = self.addresses.iter().map(SocketAddr::to_string);
        TcpSettings {
            fabric: "fe80000000000000 test".to_owned(),
            guid: node as u64 + 1,
            priority: 0,
            listen: self.addresses[node].to_string(),
            peers: peers.collect(),
            server_name: None,
            files: self.files("node"),
            // Generous limits: a loaded machine must not fail unrelated tests.
            timing: Timing {
                lease: Duration::from_secs(5),
                ack_timeout: Duration::from_secs(12),
                ..Timing::default()
            },
            driver_stall_timeout: Duration::from_hours(1),
            log: LogLimits::default(),
        }
    }

    fn start(&self, node: usize) -> Node {
        self.start_with(self.settings(node), node)
    }

    fn start_with(&self, settings: TcpSettings, node: usize) -> Node {
        let (sender, events) = mpsc::channel(EVENT_QUEUE_MAX);
        let store = self.stores[node].clone();
        let guid = settings.guid;
        let tcp = TcpReplication::start(settings, store.clone(), sender).unwrap();
        Node::with_replication(guid, tcp, events, store)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl Node {
    fn rejection(&mut self) -> String {
        let event = self.expect("refused", |e| {
            matches!(e, ReplicationEvent::PeerRejected { .. })
        });
        let ReplicationEvent::PeerRejected { reason, .. } = event else {
            unreachable!("expected above")
        };
        reason
    }
}

#[test]
fn standby_gets_a_snapshot_and_then_batches() {
    let site = Site::new(2);
    let mut master = site.start(0);
    master.become_master(10);
    for n in 0..500 {
        master.commit(vec![put_record(n, n)]);
    }
    // No other node: no acknowledgement is needed.
    master.wait_until_acknowledged();
    let mut standby = site.start(1).standby();
    standby.expect_in_sync(1);
    master.expect("in sync", |e| {
        *e == ReplicationEvent::StandbyInSync { guid: 2 }
    });
    assert_eq!(standby.store.records(), master.store.records());
    for n in 0..500 {
        master.commit(vec![put_record(n / 3, n + 1000), put_record(n, 7)]);
    }
    master.commit(vec![
        RecordChange::Clear(RecordKind::Service),
        put_record(1, 2),
    ]);
    master.wait_until_acknowledged();
    // Acknowledged batches are durable at the standby.
    assert_eq!(standby.store.records(), master.store.records());
    assert_eq!(standby.store.position(), master.store.position());
    assert!(master.replication.status().standbys.unwrap()[0].in_sync);
}

/// A node that started during a certificate renewal serves its subnet, and replicates when its
/// files are correct.
#[test]
fn certificates_may_be_installed_after_the_start() {
    let site = Site::new(2);
    let mut settings = site.settings(1);
    settings.files = site.files("late");
    let signed = site.sign("signed", &site.authority);
    std::fs::copy(&signed.ca, &settings.files.ca).unwrap();
    std::fs::copy(&signed.certificate, &settings.files.certificate).unwrap();
    let mut master = site.start(0);
    master.become_master(10);
    master.commit(vec![put_record(1, 1)]);
    let mut standby = site.start_with(settings.clone(), 1).standby();
    std::fs::copy(&signed.key, &settings.files.key).unwrap();
    standby.expect_in_sync(1);
    assert_eq!(standby.store.records(), master.store.records());
}

#[test]
fn standby_takes_over_and_the_old_master_returns_without_its_tail() {
    let site = Site::new(3);
    let mut first = site.start(0);
    let (mut second, mut third) = (site.start(1).standby(), site.start(2).standby());
    first.become_master(10);
    first.commit(vec![put_record(1, 1)]);
    second.expect_in_sync(1);
    third.expect_in_sync(1);
    for n in 0..100 {
        first.commit(vec![put_record(n, n)]);
    }
    first.wait_until_acknowledged();

    first.replication.abort();
    let silent = |e: &ReplicationEvent| {
        *e == ReplicationEvent::MasterSilent {
            guid: 1,
            in_sync: true,
            is_uncertain: false,
        }
    };
    second.expect("silence", silent);
    third.expect("silence", silent);
    // Batches that only the dead master had.
    let tail = RecordBatch {
        changes: vec![put_record(5000, 5000)],
    };
    let at = Position {
        epoch: 10,
        seq: first.seq + 1,
    };
    site.stores[0].apply(at, &[tail]).unwrap();

    second.become_master(20);
    let before = third.store.replaced.load(Ordering::SeqCst);
    third.expect_in_sync(2);
    second.commit(vec![put_record(6000, 6000)]);
    second.wait_until_acknowledged();
    assert_eq!(third.store.records(), second.store.records());
    let after = third.store.replaced.load(Ordering::SeqCst);
    assert_eq!(
        after, before,
        "a standby at the new master's base needs no snapshot"
    );

    let mut old = site.start(0).standby();
    old.expect_in_sync(2);
    assert_eq!(
        old.store.replaced.load(Ordering::SeqCst),
        1,
        "diverged tail"
    );
    assert_eq!(old.store.records(), second.store.records());
    second.commit(vec![put_record(7000, 7000)]);
    second.wait_until_acknowledged();
    assert_eq!(old.store.records(), third.store.records());
}

#[test]
fn reconnected_standby_gets_missed_batches() {
    let site = Site::new(2);
    let mut master = site.start(0);
    master.become_master(10);
    let mut standby = site.start(1).standby();
    standby.expect_in_sync(1);
    let replaced = standby.store.replaced.load(Ordering::SeqCst);
    master.commit(vec![put_record(1, 1)]);
    master.wait_until_acknowledged();
    drop(standby);
    for n in 0..300 {
        master.commit(vec![put_record(n, n)]);
    }
    master.expect("loss", |e| {
        matches!(e, ReplicationEvent::StandbyLost { guid: 2, .. })
    });
    master.expect("alarm", |e| {
        matches!(e, ReplicationEvent::ProtectionLost(_))
    });
    master.wait_until_acknowledged();
    let mut reconnected = site.start(1).standby();
    reconnected.expect_in_sync(1);
    master.expect("end of the alarm", |e| {
        *e == ReplicationEvent::ProtectionRestored
    });
    assert_eq!(reconnected.store.records(), master.store.records());
    assert_eq!(
        reconnected.store.replaced.load(Ordering::SeqCst),
        replaced,
        "missed batches come from the log"
    );
}

#[test]
fn standby_beyond_the_log_gets_a_snapshot() {
    let site = Site::new(2);
    let mut settings = site.settings(0);
    settings.log.batches = 50;
    let mut master = site.start_with(settings, 0);
    master.become_master(10);
    let mut standby = site.start(1).standby();
    standby.expect_in_sync(1);
    drop(standby);
    let replaced = site.stores[1].replaced.load(Ordering::SeqCst);
    for n in 0..300 {
        master.commit(vec![put_record(n, n)]);
    }
    let mut reconnected = site.start(1).standby();
    reconnected.expect_in_sync(1);
    assert_eq!(reconnected.store.records(), master.store.records());
    assert_eq!(
        reconnected.store.replaced.load(Ordering::SeqCst),
        replaced + 1
    );
}

#[test]
fn handover_loses_nothing_and_is_reported_with_its_reason() {
    let site = Site::new(2);
    let mut first = site.start(0);
    first.become_master(10);
    let mut second = site.start(1).standby();
    second.expect_in_sync(1);
    for n in 0..200 {
        first.commit(vec![put_record(n, n)]);
    }
    first
        .replication
        .set_role(Role::Inactive(StepDownReason::SuccessorExpected));
    let event = second.expect("goodbye", |e| {
        matches!(e, ReplicationEvent::MasterLeaving { .. })
    });
    assert!(matches!(
        event,
        ReplicationEvent::MasterLeaving {
            guid: 1,
            reason: StepDownReason::SuccessorExpected,
            ..
        }
    ));
    second.become_master(20);
    assert_eq!(second.store.records(), first.store.records());
    first.replication.set_role(Role::Standby);
    first.expect_in_sync(2);
    assert_eq!(first.store.replaced.load(Ordering::SeqCst), 0);
}

#[test]
fn master_with_stalled_driver_is_silent() {
    let site = Site::new(2);
    let settings = |node| {
        let mut settings = site.settings(node);
        settings.driver_stall_timeout = Duration::from_millis(300);
        settings.timing = Timing::default();
        settings
    };
    let mut master = site.start_with(settings(0), 0);
    master.become_master(10);
    let mut standby = site.start_with(settings(1), 1).standby();
    // The driver's loop runs until the standby is in sync.
    until("in sync", || {
        master.replication.report_alive();
        standby
            .replication
            .status()
            .master
            .is_some_and(|l| l.in_sync)
    });
    standby.expect("silence", |e| {
        matches!(e, ReplicationEvent::MasterSilent { guid: 1, .. })
    });
}

#[test]
fn standby_with_failing_store_is_out_of_sync() {
    let site = Site::new(2);
    let mut master = site.start(0);
    master.become_master(10);
    let mut standby = site.start(1).standby();
    standby.expect_in_sync(1);
    standby.store.failures.store(1, Ordering::SeqCst);
    master.commit(vec![put_record(1, 1)]);
    let event = standby.expect("failure", |e| {
        matches!(e, ReplicationEvent::OutOfSync { .. })
    });
    let ReplicationEvent::OutOfSync { reason, .. } = event else {
        unreachable!("expected above")
    };
    assert_eq!(reason, "the disk is full");
    standby.expect_in_sync(1);
    master.commit(vec![put_record(2, 2)]);
    master.wait_until_acknowledged();
    assert_eq!(standby.store.records(), master.store.records());
}

#[test]
fn peers_of_other_fabrics_and_cas_are_rejected_with_a_reason() {
    let site = Site::new(2);
    let mut master = site.start(0);
    master.become_master(10);
    let mut settings = site.settings(1);
    settings.fabric = "another".to_owned();
    let mut foreign_node = site.start_with(settings, 1).standby();
    assert_eq!(
        foreign_node.rejection(),
        "peer serves fabric \"fe80000000000000 test\""
    );
    assert_eq!(
        master.rejection(),
        "incoming connection: peer serves fabric \"another\""
    );
    drop(foreign_node);

    let mut settings = site.settings(1);
    settings.files = site.sign("foreign", &authority());
    let mut foreign_node = site.start_with(settings, 1).standby();
    let reason = foreign_node.rejection();
    assert!(reason.contains("not signed by this site's CA"), "{reason}");
    // It trusts this site's CA, but its own certificate is of another one: the master rejects it.
    let mut settings = site.settings(1);
    settings.files = site.files("foreign");
    std::fs::write(
        &settings.files.ca,
        format!(
            "{}{}",
            site.authority.pem(),
            std::fs::read_to_string(&settings.files.ca).unwrap()
        ),
    )
    .unwrap();
    drop(foreign_node);
    let mut foreign_node = site.start_with(settings, 1).standby();
    let reason = foreign_node.rejection();
    assert!(
        reason.contains("rejected this node's certificate"),
        "{reason}"
    );
    let reason = master.rejection();
    assert!(reason.contains("incoming connection"), "{reason}");
    drop(foreign_node);
    assert_master_serves(&site, &mut master);
}

/// The master serves a valid standby.
fn assert_master_serves(site: &Site, master: &mut Node) {
    let mut standby = site.start(1).standby();
    standby.expect_in_sync(1);
    master.commit(vec![put_record(1, 2)]);
    master.wait_until_acknowledged();
    assert_eq!(standby.store.records(), master.store.records());
}

fn tls_client(site: &Site, certificate: bool) -> rustls::ClientConfig {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let mut roots = rustls::RootCertStore::empty();
    roots.add(site.authority.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots);
    if !certificate {
        return config.with_no_client_auth();
    }
    let files = site.files("node");
    let chain = vec![CertificateDer::from_pem_file(&files.certificate).unwrap()];
    let key = PrivateKeyDer::from_pem_file(&files.key).unwrap();
    config.with_client_auth_cert(chain, key).unwrap()
}

/// Sends bytes over TLS, and reads until the peer closes the connection.
fn over_tls(site: &Site, to: SocketAddr, certificate: bool, bytes: &[u8]) -> Vec<u8> {
    let config = Arc::new(tls_client(site, certificate));
    let name = rustls::pki_types::ServerName::from(std::net::IpAddr::V4(loopback::address()));
    let mut tls = rustls::ClientConnection::new(config, name).unwrap();
    let mut socket = TcpStream::connect(to).unwrap();
    socket.set_read_timeout(Some(GUARD)).unwrap();
    let mut stream = rustls::Stream::new(&mut tls, &mut socket);
    let mut response = Vec::new();
    // The peer may have closed the connection before.
    let _ = stream.write_all(bytes);
    let error = stream.read_to_end(&mut response).err();
    let waited = error.is_some_and(|e| e.kind() == std::io::ErrorKind::WouldBlock);
    assert!(!waited, "connection still open");
    response
}

#[test]
fn peer_without_certificate_gets_no_data() {
    let site = Site::new(2);
    let mut master = site.start(0);
    master.become_master(10);
    let response = over_tls(
        &site,
        master.replication.address().unwrap(),
        false,
        b"FSMR\x00\x01",
    );
    assert!(response.is_empty());
    assert_eq!(
        master.rejection(),
        "incoming connection: peer presented no certificate"
    );
    assert_master_serves(&site, &mut master);
}

#[test]
fn garbage_ends_only_its_connection() {
    let site = Site::new(2);
    let mut master = site.start(0);
    master.become_master(10);
    let to = master.replication.address().unwrap();
    // Not TLS.
    let mut socket = TcpStream::connect(to).unwrap();
    socket.set_read_timeout(Some(GUARD)).unwrap();
    socket.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut response = Vec::new();
    let _ = socket.read_to_end(&mut response);
    // From a peer with a certificate: another protocol, another version, an excessive length,
    // malformed bytes, an unexpected first message.
    let cases: [(&[u8], &str); 5] = [
        (
            b"GET / HTTP/1.1\r\n\r\n",
            "does not use ferrosm's replication",
        ),
        (b"FSMR\x00\x09", "uses version 9"),
        (b"FSMR\x00\x01\xff\xff\xff\xff", "4294967295 bytes"),
        (b"FSMR\x00\x01\x00\x00\x00\x03abc", "malformed message"),
        (
            b"FSMR\x00\x01\x00\x00\x00\x02\x06\x01",
            "unexpected message",
        ),
    ];
    for (bytes, expected) in cases {
        over_tls(&site, to, true, bytes);
        master.expect(
            expected,
            |e| matches!(e, ReplicationEvent::PeerRejected { reason, .. } if reason.contains(expected)),
        );
    }
    assert_master_serves(&site, &mut master);
}
