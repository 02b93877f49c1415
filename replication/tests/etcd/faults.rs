//! Failures of one member, one disk, or data in etcd.

use std::io::{self, Read};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64};

use ferrosm_replication::{RawRecord, RecordStoreError, StoreSnapshot};

use super::*;

/// The head key of the test's fabric.
const HEAD: &str = "/ferrosm/fe80000000000000_test/head";

#[test]
fn second_member_is_used_if_the_first_is_silent() {
    let cluster = Cluster::new(1);
    let mut master = Node::new(1, &cluster);
    master.become_master(10);
    master.commit(vec![put_record(1, 1)]);
    master.wait_until_acknowledged();
    let records = master.store.records();
    drop(master);
    let [working] = cluster.endpoints().try_into().unwrap();
    let stalled = StallingProxy::in_front_of(&working);
    stalled.stop();
    let node = Node::start(
        settings(2, vec![stalled.endpoint(), working]),
        &Arc::default(),
    );
    node.complete_replica();
    assert_eq!(node.store.records(), records);
}

/// The member is stopped (SIGSTOP): its kernel still accepts connections.
#[test]
fn hanging_tls_handshake_leaks_no_descriptors() {
    let cluster = Cluster::with_certificates();
    let stopped = TcpListener::bind((loopback::address(), 0)).unwrap();
    let endpoint = format!("https://{}", stopped.local_addr().unwrap());
    let mut node_settings = settings(1, vec![endpoint]);
    node_settings.files = Some(cluster.files("node"));
    node_settings.reply_timeout = Duration::from_millis(300);
    let node = Node::start(node_settings, &Arc::default()).standby();
    let (mut socket, _) = stopped.accept().unwrap();
    socket.set_read_timeout(Some(GUARD)).unwrap();
    let mut received = Vec::new();
    socket.read_to_end(&mut received).unwrap();
    assert!(!received.is_empty(), "connected and timed out");
    drop(node);
}

#[test]
fn data_of_another_version_is_overwritten_and_not_used() {
    let cluster = Cluster::new(1);
    for (n, head) in [(0, &b"FSMR\0\x09\0\x09\x01\x07"[..]), (2, &b"\x01\x07"[..])] {
        let mut first = Node::new(1 + n, &cluster);
        first.become_master(10 + n);
        first.commit(vec![put_record(1, 1)]);
        first.wait_until_acknowledged();
        drop(first);
        cluster.put_value(HEAD, head);
        let standby = Node::new(9, &cluster);
        assert_eq!(standby.complete_replica(), Some(false));
        assert!(standby.store.records().is_empty());
        let mut standby = standby.standby();

        let mut master = Node::new(2 + n, &cluster);
        master.become_master(20 + n);
        master.commit(vec![put_record(2, 2)]);
        master.wait_until_acknowledged();
        let is_protection_lost =
            |e: &ReplicationEvent| matches!(e, ReplicationEvent::ProtectionLost(_));
        assert!(!master.events().iter().any(is_protection_lost), "{head:?}");
        standby.expect_in_sync(2 + n);
        standby.wait_for_equal_records(&master);
    }
}

/// A store that cannot be read for a while.
#[derive(Default)]
struct Damaged {
    store: Arc<Memory>,
    is_readable: AtomicBool,
    read_attempts: AtomicU64,
}

impl RecordStore for Damaged {
    fn position(&self) -> Option<Position> {
        self.store.position()
    }

    fn read_all(&self) -> Result<StoreSnapshot, RecordStoreError> {
        self.read_attempts.fetch_add(1, Ordering::SeqCst);
        if self.is_readable.load(Ordering::SeqCst) {
            self.store.read_all()
        } else {
            Err(io::Error::other("the disk is damaged").into())
        }
    }

    fn apply(&self, at: Position, batches: &[RecordBatch]) -> Result<(), RecordStoreError> {
        self.store.apply(at, batches)
    }

    fn replace(&self, at: Position, records: Vec<RawRecord>) -> Result<(), RecordStoreError> {
        self.store.replace(at, records)
    }
}

#[test]
fn master_with_unreadable_store_keeps_its_key() {
    let cluster = Cluster::new(1);
    let disk: Arc<Damaged> = Arc::default();
    let (sender, events) = mpsc::channel(EVENT_QUEUE_MAX);
    let mut long_limit = settings(1, cluster.endpoints());
    long_limit.reply_timeout = GUARD;
    let etcd = EtcdReplication::start(long_limit, disk.clone(), sender).unwrap();
    let mut master = Node::with_replication(1, etcd, events, disk.store.clone());
    master.become_master(10);
    let wait_for_reads = |times| {
        until("read", || {
            disk.read_attempts.load(Ordering::SeqCst) >= times
        })
    };
    wait_for_reads(1);
    let key = cluster.create_revision(LEADER);
    wait_for_reads(3);
    assert_eq!(cluster.create_revision(LEADER), key);
    assert_eq!(master.events(), []);
    master.commit(vec![put_record(1, 1)]);
    disk.is_readable.store(true, Ordering::SeqCst);
    let mut standby = Node::new(2, &cluster).standby();
    standby.expect_in_sync(1);
    standby.wait_for_equal_records(&master);
}

/// Another node was master in between and is gone: its acknowledged batches are not overwritten.
#[test]
fn temporarily_replaced_master_is_deposed() {
    let cluster = Cluster::new(1);
    let stall = StallingProxy::in_front_of(&cluster.endpoints()[0]);
    let mut master_settings = settings(1, vec![stall.endpoint()]);
    master_settings.reply_timeout = GUARD;
    let mut master = Node::start(master_settings, &Arc::default());
    master.become_master(10);
    master.commit(vec![put_record(1, 1)]);
    master.wait_until_acknowledged();
    let mut standby = Node::new(2, &cluster).standby();
    standby.expect_in_sync(1);
    stall.stop();
    standby.expect("silence", silent(1));
    assert_eq!(standby.take_over(20), Some(true));
    standby.commit(vec![put_record(2, 2)]);
    standby.wait_until_acknowledged();
    let records = standby.store.records();
    drop(standby);
    stall.resume();
    master.expect("deposed", |e| *e == ReplicationEvent::Deposed { guid: 2 });
    assert_eq!(master.complete_replica(), Some(false));
    assert_eq!(master.store.records(), records);
}

/// The master becomes silent after etcd stalled, as seen by the standby: the report is marked
/// uncertain.
#[test]
fn silence_after_an_etcd_failure_is_uncertain() {
    let cluster = Cluster::new(1);
    let stall = StallingProxy::in_front_of(&cluster.endpoints()[0]);
    let mut master = Node::new(1, &cluster);
    master.become_master(10);
    let standby_settings = settings(2, vec![stall.endpoint()]);
    let mut standby = Node::start(standby_settings, &Arc::default()).standby();
    standby.expect_in_sync(1);
    stall.stop();
    standby.expect("out of sync", |e| {
        matches!(e, ReplicationEvent::OutOfSync { guid: 1, .. })
    });
    master.replication.abort();
    stall.resume();
    let is_master_silent =
        |e: &ReplicationEvent| matches!(e, ReplicationEvent::MasterSilent { guid: 1, .. });
    let event = standby.expect("silence", is_master_silent);
    assert!(
        matches!(
            event,
            ReplicationEvent::MasterSilent {
                is_uncertain: true,
                ..
            }
        ),
        "{event:?}"
    );
}
