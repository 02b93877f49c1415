//! Nodes in one process with real etcd processes: replication, death, a master that is cut off,
//! failing members and clusters.
//!
//! Tests wait for events, counts or replies, with a limit that only a failing test reaches.
//! Measured times are printed.

#![cfg(feature = "etcd")]
#![expect(clippy::unwrap_used, reason = "test code")]

mod cluster;
mod faults;
#[path = "../../../tests/src/programs/loopback.rs"]
#[expect(unreachable_pub, reason = "shared with other tests")]
mod loopback;
#[path = "../memory/mod.rs"]
mod memory;
mod names;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use cluster::{Cluster, StallingProxy};
use ferrosm_core::records::{RecordBatch, RecordChange, RecordKey, RecordKind};
use ferrosm_replication::etcd::{EtcdReplication, EtcdSettings};
use ferrosm_replication::tls::TlsFiles;
use ferrosm_replication::{
    EVENT_QUEUE_MAX, Position, RecordStore, Replication, ReplicationEvent, Role, StepDownReason,
};
use memory::{GUARD, Memory, put_record, until};
use tokio::sync::mpsc;

type Node = memory::Node<EtcdReplication>;

fn settings(guid: u64, endpoints: Vec<String>) -> EtcdSettings {
    EtcdSettings {
        endpoints,
        files: None,
        server_name: None,
        prefix: "/ferrosm".to_owned(),
        fabric: "fe80000000000000 test".to_owned(),
        guid,
        silent_after_s: 1,
        reply_timeout: Duration::from_secs(5),
        driver_stall_timeout: Duration::from_hours(1),
    }
}

impl Node {
    fn start(settings: EtcdSettings, store: &Arc<Memory>) -> Self {
        let (sender, events) = mpsc::channel(EVENT_QUEUE_MAX);
        let guid = settings.guid;
        let etcd = EtcdReplication::start(settings, store.clone(), sender).unwrap();
        Self::with_replication(guid, etcd, events, store.clone())
    }

    /// A node with an empty store.
    fn new(guid: u64, cluster: &Cluster) -> Self {
        Self::start(settings(guid, cluster.endpoints()), &Arc::default())
    }

    /// Takes over as the driver does when a standby becomes master.
    fn take_over(&mut self, epoch: u64) -> Option<bool> {
        let is_complete = self.complete_replica();
        self.become_master(epoch);
        is_complete
    }

    /// Ends the standby role and completes the replica; returns whether it then has all that its
    /// master acknowledged, `None` if unknown.
    fn complete_replica(&self) -> Option<bool> {
        self.replication
            .set_role(Role::Inactive(StepDownReason::NoSuccessor));
        let (sender, completion) = channel();
        self.replication
            .complete_replica(Box::new(move |is_complete| {
                sender.send(is_complete).unwrap()
            }));
        completion.recv_timeout(GUARD).unwrap()
    }

    /// Waits until the records equal another node's.
    fn wait_for_equal_records(&self, other: &Self) {
        until("the same records", || {
            self.store.position() == other.store.position()
        });
        assert_eq!(self.store.records(), other.store.records());
    }

    fn snapshots_loaded(&self) -> usize {
        self.store.replaced.load(Ordering::SeqCst)
    }

    fn events(&mut self) -> Vec<ReplicationEvent> {
        core::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }
}

fn silent(guid: u64) -> impl Fn(&ReplicationEvent) -> bool {
    move |e| matches!(e, ReplicationEvent::MasterSilent { guid: of, in_sync: true, .. } if *of == guid)
}

#[test]
fn standby_gets_a_snapshot_and_then_batches() {
    let cluster = Cluster::new(1);
    let mut master = Node::new(1, &cluster);
    master.become_master(10);
    for n in 0..500 {
        master.commit(vec![put_record(n, n)]);
    }
    master.wait_until_acknowledged();
    let mut standby = Node::new(2, &cluster).standby();
    standby.expect_in_sync(1);
    standby.wait_for_equal_records(&master);
    let replaced = standby.snapshots_loaded();
    for n in 0..500 {
        master.commit(vec![put_record(n / 3, n + 1000), put_record(n, 7)]);
    }
    // Larger than a request to etcd may be.
    let long = RecordKey::new(RecordKind::View, &[&[1]]);
    master.commit(vec![RecordChange::Put(
        long.clone(),
        vec![5; 3 << 20].into(),
    )]);
    master.commit(vec![
        RecordChange::Clear(RecordKind::Service),
        put_record(1, 2),
    ]);
    master.wait_until_acknowledged();
    standby.wait_for_equal_records(&master);
    assert_eq!(standby.snapshots_loaded(), replaced, "by batches");
    assert_eq!(
        standby
            .replication
            .status()
            .master
            .map(|l| (l.guid, l.in_sync)),
        Some((1, true))
    );
    // A later standby gets all records too, from the log and from a snapshot.
    let mut third = Node::new(3, &cluster).standby();
    third.expect_in_sync(1);
    third.wait_for_equal_records(&master);
    assert_eq!(
        third.store.records().get(&long).map(|v| v.len()),
        Some(3 << 20)
    );
    let began = Instant::now();
    for n in 0..100 {
        master.commit(vec![put_record(n, n)]);
        master.wait_until_acknowledged();
    }
    println!(
        "a batch is acknowledged after {:?}, on average",
        began.elapsed() / 100
    );
}

#[test]
fn death_is_detected_within_a_second_without_loss() {
    let cluster = Cluster::new(1);
    let mut first = Node::new(1, &cluster);
    first.become_master(10);
    let (mut second, mut third) = (
        Node::new(2, &cluster).standby(),
        Node::new(3, &cluster).standby(),
    );
    first.commit(vec![put_record(1, 1)]);
    second.expect_in_sync(1);
    third.expect_in_sync(1);
    // Long enough for both leases to be renewed.
    let began = Instant::now();
    for n in (0..).take_while(|_| began.elapsed() < Duration::from_secs(1)) {
        first.commit(vec![put_record(n, 1)]);
        first.wait_until_acknowledged();
    }
    let (records, position) = (first.store.records(), first.store.position());
    let died = Instant::now();
    first.replication.abort();
    second.expect("silence", silent(1));
    let detected = died.elapsed();
    assert_eq!(second.take_over(20), Some(true));
    println!(
        "detected after {detected:?}, leading after {:?}",
        died.elapsed()
    );
    assert!(
        detected < Duration::from_millis(1500),
        "{detected:?}: {:?} on a machine that is not busy",
        Duration::from_secs(1)
    );
    assert_eq!(
        (second.store.records(), second.store.position()),
        (records, position)
    );
    // Batches that only the dead master had.
    let tail = RecordBatch {
        changes: vec![put_record(5000, 5000)],
    };
    let at = Position {
        epoch: 10,
        seq: first.seq + 1,
    };
    first.store.apply(at, &[tail]).unwrap();

    third.expect("another history", |e| {
        *e == ReplicationEvent::InSync { guid: 2 }
    });
    let before = third.snapshots_loaded();
    second.commit(vec![put_record(6000, 6000)]);
    second.wait_until_acknowledged();
    third.wait_for_equal_records(&second);
    assert_eq!(
        third.snapshots_loaded(),
        before,
        "a standby that followed needs no snapshot"
    );
    let mut old = Node::start(settings(1, cluster.endpoints()), &first.store).standby();
    old.expect_in_sync(2);
    old.wait_for_equal_records(&second);
    assert_eq!(old.snapshots_loaded(), 1, "diverged tail");
}

#[test]
fn handover_loses_nothing_and_is_reported_with_its_reason() {
    let cluster = Cluster::new(1);
    let mut first = Node::new(1, &cluster);
    first.become_master(10);
    let mut second = Node::new(2, &cluster).standby();
    second.expect_in_sync(1);
    for n in 0..200 {
        first.commit(vec![put_record(n, n)]);
    }
    first.wait_until_acknowledged();
    first
        .replication
        .set_role(Role::Inactive(StepDownReason::SuccessorExpected));
    let event = second.expect("goodbye", |e| {
        matches!(e, ReplicationEvent::MasterLeaving { .. })
    });
    let reason = StepDownReason::SuccessorExpected;
    let in_sync = true;
    assert_eq!(
        event,
        ReplicationEvent::MasterLeaving {
            guid: 1,
            reason,
            in_sync
        }
    );
    let began = Instant::now();
    assert_eq!(second.take_over(20), Some(true));
    println!("taken over in {:?}", began.elapsed());
    assert_eq!(second.store.records(), first.store.records());
    let mut first = first.standby();
    first.expect_in_sync(2);
    second.commit(vec![put_record(1, 77)]);
    first.wait_for_equal_records(&second);
    assert_eq!(first.snapshots_loaded(), 0);
}

#[test]
fn cut_off_master_steps_down_first_and_its_late_write_is_rejected() {
    let cluster = Cluster::new(1);
    let stall = StallingProxy::in_front_of(&cluster.endpoints()[0]);
    let mut master_settings = settings(1, vec![stall.endpoint()]);
    // Its write remains pending and arrives later.
    master_settings.reply_timeout = Duration::from_secs(60);
    let mut master = Node::start(master_settings, &Arc::default());
    master.become_master(10);
    master.commit(vec![put_record(1, 1)]);
    master.wait_until_acknowledged();
    let mut standby = Node::new(2, &cluster).standby();
    standby.expect_in_sync(1);
    assert_eq!(master.events(), []);

    stall.stop();
    let began = Instant::now();
    master.commit(vec![put_record(2, 2)]);
    standby.expect("silence", silent(1));
    let detected = began.elapsed();
    let events = master.events();
    assert!(
        matches!(events[..], [ReplicationEvent::LeaseLost(_)]),
        "before the standby could know: {events:?}"
    );
    assert_eq!(standby.take_over(20), Some(true));
    println!(
        "cut off: detected after {detected:?}, taken over after {:?}",
        began.elapsed()
    );
    standby.commit(vec![put_record(3, 3)]);
    standby.wait_until_acknowledged();

    stall.resume();
    master.expect("deposed", |e| *e == ReplicationEvent::Deposed { guid: 2 });
    assert_eq!(master.replication.acknowledged(), 1, "late write rejected");
    let mut third = Node::new(3, &cluster).standby();
    third.expect_in_sync(2);
    third.wait_for_equal_records(&standby);
    let two = put_record(2, 2);
    let RecordChange::Put(two, _) = two else {
        unreachable!("matched above")
    };
    assert!(!third.store.records().contains_key(&two));
    let mut master = master.standby();
    master.expect_in_sync(2);
    master.wait_for_equal_records(&standby);
}

/// No replica counts as complete without batches that only the old master had.
#[test]
fn replica_is_incomplete_after_acknowledgements_without_etcd() {
    let cluster = Cluster::new(1);
    let stall = StallingProxy::in_front_of(&cluster.endpoints()[0]);
    let short_limit = |guid, endpoints| EtcdSettings {
        reply_timeout: Duration::from_secs(2),
        ..settings(guid, endpoints)
    };
    let mut master = Node::start(short_limit(1, vec![stall.endpoint()]), &Arc::default());
    master.become_master(10);
    master.commit(vec![put_record(1, 1)]);
    master.wait_until_acknowledged();
    let mut standby = Node::start(short_limit(2, cluster.endpoints()), &Arc::default()).standby();
    standby.expect_in_sync(1);

    // Only this node has lost etcd. Standbys see its old leases before they can miss a batch.
    stall.stop();
    let began = Instant::now();
    master.commit(vec![put_record(2, 2)]);
    standby.expect("silence", silent(1));
    master.expect("alarm", |e| {
        matches!(e, ReplicationEvent::ProtectionLost(_))
    });
    master.wait_until_acknowledged();
    println!("acknowledged alone after {:?}", began.elapsed());
    assert!(began.elapsed() >= Duration::from_millis(2900));
    assert_eq!(standby.complete_replica(), Some(false));

    // After a reconnection no standby is in sync before all batches are written.
    standby.replication.set_role(Role::Standby);
    stall.resume();
    master.expect("the end of the alarm", |e| {
        *e == ReplicationEvent::ProtectionRestored
    });
    standby.expect_in_sync(1);
    standby.wait_for_equal_records(&master);
    // The replica is complete again.
    let mut was_acknowledged = false;
    let began = Instant::now();
    for n in (0..).take_while(|_| began.elapsed() < Duration::from_secs(1)) {
        master.commit(vec![put_record(n, 1)]);
        master.wait_until_acknowledged();
        was_acknowledged |= n > 0;
    }
    assert!(was_acknowledged);
    master.replication.abort();
    standby.expect("silence", silent(1));
    assert_eq!(standby.complete_replica(), Some(true));
}

/// A node that never followed a master does not know whether etcd is complete, and a live master
/// may still write.
#[test]
fn replica_is_complete_only_after_following_a_dead_master() {
    let cluster = Cluster::new(1);
    let mut master = Node::new(1, &cluster);
    master.become_master(10);
    master.commit(vec![put_record(1, 1)]);
    let mut standby = Node::new(2, &cluster).standby();
    standby.expect_in_sync(1);
    let late_node = Node::new(3, &cluster);
    master.wait_until_acknowledged();
    assert_eq!(standby.complete_replica(), Some(false), "leases not old");
    master.replication.abort();
    // The key is deleted; the records remain.
    cluster.delete(LEADER);
    assert_eq!(late_node.complete_replica(), Some(false));
    assert_eq!(late_node.store.records(), master.store.records());
}

/// The key of the test's fabric.
const LEADER: &str = "/ferrosm/fe80000000000000_test/leader";

#[test]
fn removed_key_is_detected_without_a_batch() {
    let cluster = Cluster::new(1);
    let mut master = Node::new(1, &cluster);
    master.become_master(10);
    let mut standby = Node::new(2, &cluster).standby();
    standby.expect_in_sync(1);
    assert_eq!(master.events(), []);
    cluster.delete(LEADER);
    master.expect("lease lost", |e| {
        matches!(e, ReplicationEvent::LeaseLost(_))
    });
    standby.expect_in_sync(1);
}

#[test]
fn master_cut_off_beyond_its_lease_is_deposed() {
    let cluster = Cluster::new(1);
    let stall = StallingProxy::in_front_of(&cluster.endpoints()[0]);
    let mut master = Node::start(settings(1, vec![stall.endpoint()]), &Arc::default());
    master.become_master(10);
    let mut standby = Node::new(2, &cluster).standby();
    standby.expect_in_sync(1);
    stall.stop();
    let began = Instant::now();
    standby.expect("silence", silent(1));
    assert_eq!(standby.take_over(20), Some(true));
    for n in (0..).take_while(|_| began.elapsed() < Duration::from_secs(3)) {
        standby.commit(vec![put_record(n, 1)]);
        standby.wait_until_acknowledged();
    }
    stall.resume();
    master.expect("deposed", |e| *e == ReplicationEvent::Deposed { guid: 2 });
}

#[test]
fn failed_store_is_used_again_in_the_next_standby_term() {
    let cluster = Cluster::new(1);
    let mut master = Node::new(1, &cluster);
    master.become_master(10);
    let standby = Node::new(2, &cluster);
    master.commit(vec![put_record(1, 1)]);
    master.wait_until_acknowledged();
    standby.store.failures.store(1, Ordering::SeqCst);
    let mut standby = standby.standby();
    standby.expect_in_sync(1);
    for n in 2..4 {
        assert_eq!(standby.complete_replica(), Some(false), "master alive");
        standby.replication.set_role(Role::Standby);
        standby.expect_in_sync(1);
        master.commit(vec![put_record(n, n)]);
        standby.wait_for_equal_records(&master);
    }
}

#[test]
fn oversized_record_is_written_with_the_snapshot() {
    let cluster = Cluster::new(1);
    let store: Arc<Memory> = Arc::default();
    let long = RecordKey::new(RecordKind::Routing, &[&[1]]);
    let records = vec![(long, vec![5; 6 << 20].into())];
    store
        .replace(Position { epoch: 1, seq: 1 }, records)
        .unwrap();
    let mut master = Node::start(settings(1, cluster.endpoints()), &store);
    master.become_master(10);
    master.commit(vec![put_record(1, 1)]);
    master.wait_until_acknowledged();
    let mut standby = Node::new(2, &cluster).standby();
    standby.expect_in_sync(1);
    standby.wait_for_equal_records(&master);
}

/// Renewals succeed but writes fail: one alarm states the reason, and no replica counts as complete
/// from then on.
#[test]
fn full_etcd_raises_an_alarm() {
    let cluster = Cluster::with_quota(2 << 20);
    // etcd may stall for a second while it writes that much; no lease may expire because of it.
    let patient = |guid| EtcdSettings {
        silent_after_s: 4,
        reply_timeout: Duration::from_secs(2),
        ..settings(guid, cluster.endpoints())
    };
    let mut master = Node::start(patient(1), &Arc::default());
    master.become_master(10);
    let mut standby = Node::start(patient(2), &Arc::default()).standby();
    standby.expect_in_sync(1);
    let long = RecordKey::new(RecordKind::Routing, &[&[1]]);
    master.commit(vec![RecordChange::Put(long, vec![5; 6 << 20].into())]);
    // etcd checks its quota against committed data: concurrent writes may succeed, and a later one
    // fails.
    let began = Instant::now();
    let event = loop {
        master.commit(vec![put_record(1, 1)]);
        let next = Instant::now();
        while next.elapsed() < Duration::from_millis(50) {
            std::thread::yield_now();
        }
        let is_protection_lost =
            |e: &ReplicationEvent| matches!(e, ReplicationEvent::ProtectionLost(_));
        if let Some(event) = master.events().into_iter().find(is_protection_lost) {
            break event;
        }
        assert!(began.elapsed() < GUARD, "timed out: alarm");
    };
    let ReplicationEvent::ProtectionLost(reason) = event else {
        unreachable!("expected above")
    };
    assert!(
        reason.contains("rejected") && reason.contains("space"),
        "{reason}"
    );
    master.wait_until_acknowledged();
    assert_eq!(standby.complete_replica(), Some(false));
    let again = |e: &ReplicationEvent| {
        matches!(
            e,
            ReplicationEvent::ProtectionLost(_) | ReplicationEvent::ProtectionRestored
        )
    };
    assert!(!master.events().iter().any(again));
}

#[test]
fn stalled_node_does_not_acquire_the_key() {
    let cluster = Cluster::new(1);
    let mut hanging = settings(1, cluster.endpoints());
    hanging.driver_stall_timeout = Duration::ZERO;
    hanging.reply_timeout = Duration::from_millis(300);
    let mut master = Node::start(hanging, &Arc::default());
    master.become_master(10);
    let mut other = Node::new(2, &cluster);
    other.become_master(20);
    master.commit(vec![put_record(1, 1)]);
    let is_protection_lost = |e: &ReplicationEvent| {
        matches!(
            e,
            ReplicationEvent::ProtectionLost(_) | ReplicationEvent::Deposed { .. }
        )
    };
    let event = master.expect("alarm", is_protection_lost);
    assert!(
        matches!(event, ReplicationEvent::ProtectionLost(_)),
        "the node never held the key: {event:?}"
    );
}

#[test]
fn master_with_stalled_driver_is_silent() {
    let cluster = Cluster::new(1);
    let mut hanging = settings(1, cluster.endpoints());
    hanging.driver_stall_timeout = Duration::from_millis(500);
    let mut master = Node::start(hanging, &Arc::default());
    master.become_master(10);
    let mut standby = Node::new(2, &cluster).standby();
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
    master.expect("lease lost", |e| {
        matches!(e, ReplicationEvent::LeaseLost(_))
    });
    // No node has taken over: it remains master.
    master.commit(vec![put_record(1, 1)]);
    until("in sync again", || {
        master.replication.report_alive();
        standby
            .replication
            .status()
            .master
            .is_some_and(|l| l.in_sync)
    });
    standby.wait_for_equal_records(&master);
}

#[test]
fn standby_with_failing_store_is_out_of_sync() {
    let cluster = Cluster::new(1);
    let mut master = Node::new(1, &cluster);
    master.become_master(10);
    let mut standby = Node::new(2, &cluster).standby();
    master.commit(vec![put_record(1, 1)]);
    standby.expect_in_sync(1);
    standby.store.failures.store(3, Ordering::SeqCst);
    master.commit(vec![put_record(2, 2)]);
    let is_disk_failure = |e: &ReplicationEvent| matches!(e, ReplicationEvent::OutOfSync { guid: 1, reason } if reason.contains("disk is full"));
    standby.expect("out of sync", is_disk_failure);
    standby.expect_in_sync(1);
    standby.wait_for_equal_records(&master);
}

#[test]
fn death_of_one_of_three_members_loses_nothing() {
    let mut cluster = Cluster::new(3);
    let mut master = Node::new(1, &cluster);
    master.become_master(10);
    master.commit(vec![put_record(0, 0)]);
    master.wait_until_acknowledged();
    let mut standby = Node::new(2, &cluster).standby();
    standby.expect_in_sync(1);
    // The member in use by both.
    cluster.kill(0);
    let began = Instant::now();
    for n in 0..200 {
        master.commit(vec![put_record(n, n + 1)]);
    }
    master.wait_until_acknowledged();
    println!(
        "with a member dead: acknowledged after {:?}",
        began.elapsed()
    );
    standby.wait_for_equal_records(&master);
    let is_protection_lost = |e: &ReplicationEvent| {
        matches!(
            e,
            ReplicationEvent::ProtectionLost(_) | ReplicationEvent::Deposed { .. }
        )
    };
    assert!(!master.events().iter().any(is_protection_lost));
    assert!(
        master
            .replication
            .status()
            .committed
            .is_some_and(|at| at.seq == master.seq)
    );
    // And a node whose first member is the dead one.
    let mut third = Node::new(3, &cluster).standby();
    third.expect_in_sync(1);
    third.wait_for_equal_records(&master);
}

#[test]
fn master_serves_without_etcd_and_writes_a_snapshot_when_it_returns() {
    let mut cluster = Cluster::new(1);
    let mut brief = settings(1, cluster.endpoints());
    brief.reply_timeout = Duration::from_secs(1);
    let mut master = Node::start(brief, &Arc::default());
    master.become_master(10);
    let mut standby = Node::new(2, &cluster).standby();
    for n in 0..100 {
        master.commit(vec![put_record(n, n)]);
    }
    master.wait_until_acknowledged();
    standby.expect_in_sync(1);
    for data in ["kept", "lost"] {
        cluster.kill(0);
        let began = Instant::now();
        master.commit(vec![put_record(1000, 1)]);
        if data == "kept" {
            // The second time, protection may not have been restored yet.
            master.expect("lease lost", |e| {
                matches!(e, ReplicationEvent::LeaseLost(_))
            });
        }
        master.expect("alarm", |e| {
            matches!(e, ReplicationEvent::ProtectionLost(_))
        });
        master.wait_until_acknowledged();
        println!(
            "etcd gone: acknowledged with an alarm after {:?}",
            began.elapsed()
        );
        standby.expect("out of sync", |e| {
            matches!(e, ReplicationEvent::OutOfSync { guid: 1, .. })
        });
        // Without a replica no acknowledgement is needed.
        master.commit(vec![put_record(1001, 1)]);
        assert_eq!(master.replication.acknowledged(), master.seq);
        if data == "lost" {
            cluster.delete_data(0);
        }
        cluster.start(0);
        master.expect("the end of the alarm", |e| {
            *e == ReplicationEvent::ProtectionRestored
        });
        master.commit(vec![put_record(1002, 1)]);
        master.wait_until_acknowledged();
        standby.expect_in_sync(1);
        standby.wait_for_equal_records(&master);
    }
}

#[test]
fn master_starts_without_etcd_after_the_limit() {
    let mut cluster = Cluster::new(1);
    cluster.kill(0);
    let mut settings_of_one = settings(1, cluster.endpoints());
    settings_of_one.reply_timeout = Duration::from_millis(300);
    let mut master = Node::start(settings_of_one, &Arc::default());
    master.become_master(10);
    let alarm = master.expect("alarm", |e| {
        matches!(e, ReplicationEvent::ProtectionLost(_))
    });
    let ReplicationEvent::ProtectionLost(reason) = alarm else {
        unreachable!("expected above")
    };
    let error_prefix = format!("etcd at {}: ", cluster.endpoints()[0]);
    assert!(
        reason.starts_with(&error_prefix) && reason.contains("refused"),
        "{reason}"
    );
    master.commit(vec![put_record(1, 1)]);
    assert_eq!(master.replication.acknowledged(), 1);
}

#[test]
fn both_sides_require_certificates() {
    let cluster = Cluster::with_certificates();
    let mut node_settings = settings(1, cluster.endpoints());
    node_settings.files = Some(cluster.files("node"));
    let mut master = Node::start(node_settings.clone(), &Arc::default());
    master.become_master(10);
    master.commit(vec![put_record(1, 1)]);
    master.wait_until_acknowledged();
    // Both sides authenticate the peer. etcd rejects one node, the other node rejects etcd; the
    // error says which.
    let (node, foreign) = (cluster.files("node"), cluster.files("foreign"));
    let untrusted_by_etcd = TlsFiles {
        ca: node.ca.clone(),
        ..foreign.clone()
    };
    let distrusting_etcd = TlsFiles {
        ca: foreign.ca,
        ..node
    };
    for (guid, files, expected_words) in [
        // The connection may end before etcd's reason is read.
        (
            2,
            untrusted_by_etcd,
            &["alert", "broken pipe", "reset", "connection closed"][..],
        ),
        (3, distrusting_etcd, &["invalid peer certificate"]),
    ] {
        node_settings.guid = guid;
        node_settings.reply_timeout = Duration::from_secs(1);
        node_settings.files = Some(files);
        let mut other = Node::start(node_settings.clone(), &Arc::default());
        other.become_master(20);
        let event = other.expect("alarm", |e| {
            matches!(e, ReplicationEvent::ProtectionLost(_))
        });
        let ReplicationEvent::ProtectionLost(reason) = event else {
            unreachable!("matched above")
        };
        assert!(
            expected_words.iter().any(|word| reason.contains(word)),
            "{reason}"
        );
        println!("reason: {reason}");
    }
    assert_eq!(master.events(), []);
    // etcd itself was available.
    master.commit(vec![put_record(2, 2)]);
    master.wait_until_acknowledged();
}
