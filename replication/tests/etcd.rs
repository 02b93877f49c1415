//! Nodes in one process and real etcd processes: copying, death, a master that is cut off, members and whole clusters that die.
//!
//! Nothing sleeps: everything waits for an event, a count or an answer, with a limit that only a broken test reaches. What is measured
//! is printed.

#![cfg(feature = "etcd")]
#![expect(clippy::unwrap_used, reason = "tests, and what they share")]

#[path = "etcd/cluster.rs"]
mod cluster;
#[path = "etcd/faults.rs"]
mod faults;
#[path = "../../tests/src/loopback.rs"]
#[expect(unreachable_pub, reason = "the harness of the other tests exports it")]
mod loopback;
mod memory;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use cluster::{Cluster, Stall};
use ferrosm_core::records::{RecordBatch, RecordChange, RecordKey, RecordKind};
use ferrosm_replication::etcd::{EtcdReplication, EtcdSettings};
use ferrosm_replication::tls::TlsFiles;
use ferrosm_replication::{
    EVENT_QUEUE_MAX, Event, Position, RecordStore, Replication, Role, StepDownReason,
};
use memory::{GUARD, Memory, put, until};
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
        silence_s: 1,
        limit: Duration::from_secs(5),
        hang: Duration::from_hours(1),
    }
}

impl Node {
    fn start(settings: EtcdSettings, store: &Arc<Memory>) -> Self {
        let (sender, events) = mpsc::channel(EVENT_QUEUE_MAX);
        let guid = settings.guid;
        let etcd = EtcdReplication::start(settings, store.clone(), sender).unwrap();
        Self::on(guid, etcd, events, store.clone())
    }

    /// One with an empty store.
    fn new(guid: u64, cluster: &Cluster) -> Self {
        Self::start(settings(guid, cluster.endpoints()), &Arc::default())
    }

    /// As the driver does when the election makes a standby master.
    fn take_over(&mut self, epoch: u64) -> Option<bool> {
        let whole = self.settle();
        self.lead(epoch);
        whole
    }

    /// Whether it has all that its master acknowledged.
    fn settle(&self) -> Option<bool> {
        self.way.set_role(Role::Inactive(StepDownReason::Stopping));
        let (sender, whole) = channel();
        self.way
            .complete_replica(Box::new(move |whole| sender.send(whole).unwrap()));
        whole.recv_timeout(GUARD).unwrap()
    }

    /// Has the same as another, soon.
    fn has_what(&self, other: &Self) {
        until("the same records", || {
            self.store.position() == other.store.position()
        });
        assert_eq!(self.store.records(), other.store.records());
    }

    fn replaced(&self) -> usize {
        self.store.replaced.load(Ordering::SeqCst)
    }

    fn events(&mut self) -> Vec<Event> {
        core::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }
}

fn silent(guid: u64) -> impl Fn(&Event) -> bool {
    move |e| matches!(e, Event::MasterSilent { guid: of, in_sync: true, .. } if *of == guid)
}

#[test]
fn a_standby_gets_everything_and_then_what_changes() {
    let cluster = Cluster::new(1);
    let mut master = Node::new(1, &cluster);
    master.lead(10);
    for n in 0..500 {
        master.commit(vec![put(n, n)]);
    }
    master.all_acknowledged();
    let mut standby = Node::new(2, &cluster).standby();
    standby.in_sync(1);
    standby.has_what(&master);
    let replaced = standby.replaced();
    for n in 0..500 {
        master.commit(vec![put(n / 3, n + 1000), put(n, 7)]);
    }
    // More than one request of etcd's may have.
    let long = RecordKey::new(RecordKind::View, &[&[1]]);
    master.commit(vec![RecordChange::Put(
        long.clone(),
        vec![5; 3 << 20].into(),
    )]);
    master.commit(vec![RecordChange::Clear(RecordKind::Service), put(1, 2)]);
    master.all_acknowledged();
    standby.has_what(&master);
    assert_eq!(standby.replaced(), replaced, "batch by batch");
    assert_eq!(
        standby.way.status().leader.map(|l| (l.guid, l.in_sync)),
        Some((1, true))
    );
    // Who comes now gets all of it too: as a log, and as one.
    let mut third = Node::new(3, &cluster).standby();
    third.in_sync(1);
    third.has_what(&master);
    assert_eq!(
        third.store.records().get(&long).map(|v| v.len()),
        Some(3 << 20)
    );
    let began = Instant::now();
    for n in 0..100 {
        master.commit(vec![put(n, n)]);
        master.all_acknowledged();
    }
    println!(
        "a batch is acknowledged after {:?}, in the mean",
        began.elapsed() / 100
    );
}

#[test]
fn a_death_is_noticed_within_a_second_and_nothing_acknowledged_is_lost() {
    let cluster = Cluster::new(1);
    let mut first = Node::new(1, &cluster);
    first.lead(10);
    let (mut second, mut third) = (
        Node::new(2, &cluster).standby(),
        Node::new(3, &cluster).standby(),
    );
    first.commit(vec![put(1, 1)]);
    second.in_sync(1);
    third.in_sync(1);
    // For as long as it takes that leases are renewed by turns.
    let began = Instant::now();
    for n in (0..).take_while(|_| began.elapsed() < Duration::from_secs(1)) {
        first.commit(vec![put(n, 1)]);
        first.all_acknowledged();
    }
    let (all, end) = (first.store.records(), first.store.position());
    let died = Instant::now();
    first.way.abort();
    second.expect("silence", silent(1));
    let noticed = died.elapsed();
    assert_eq!(second.take_over(20), Some(true));
    println!(
        "noticed after {noticed:?}, leading after {:?}",
        died.elapsed()
    );
    assert!(
        noticed < Duration::from_millis(1500),
        "{noticed:?}: {:?} on a machine that is not busy",
        Duration::from_secs(1)
    );
    assert_eq!(
        (second.store.records(), second.store.position()),
        (all, end)
    );
    // What the dead one had written for itself only.
    let tail = RecordBatch {
        changes: vec![put(5000, 5000)],
    };
    let at = Position {
        epoch: 10,
        seq: first.seq + 1,
    };
    first.store.apply(at, &[tail]).unwrap();

    third.expect("another history", |e| *e == Event::InSync { guid: 2 });
    let before = third.replaced();
    second.commit(vec![put(6000, 6000)]);
    second.all_acknowledged();
    third.has_what(&second);
    assert_eq!(
        third.replaced(),
        before,
        "who was there needs not everything"
    );
    let mut old = Node::start(settings(1, cluster.endpoints()), &first.store).standby();
    old.in_sync(2);
    old.has_what(&second);
    assert_eq!(old.replaced(), 1, "a tail of its own");
}

#[test]
fn a_planned_change_loses_nothing_and_is_told_apart_from_a_death() {
    let cluster = Cluster::new(1);
    let mut first = Node::new(1, &cluster);
    first.lead(10);
    let mut second = Node::new(2, &cluster).standby();
    second.in_sync(1);
    for n in 0..200 {
        first.commit(vec![put(n, n)]);
    }
    first.all_acknowledged();
    first
        .way
        .set_role(Role::Inactive(StepDownReason::HandingOver));
    let told = second.expect("goodbye", |e| matches!(e, Event::MasterLeaving { .. }));
    let leaving = StepDownReason::HandingOver;
    let in_sync = true;
    assert_eq!(
        told,
        Event::MasterLeaving {
            guid: 1,
            leaving,
            in_sync
        }
    );
    let began = Instant::now();
    assert_eq!(second.take_over(20), Some(true));
    println!("taken over in {:?}", began.elapsed());
    assert_eq!(second.store.records(), first.store.records());
    let mut first = first.standby();
    first.in_sync(2);
    second.commit(vec![put(1, 77)]);
    first.has_what(&second);
    assert_eq!(first.replaced(), 0);
}

#[test]
fn a_master_that_is_cut_off_steps_down_first_and_its_late_write_is_refused() {
    let cluster = Cluster::new(1);
    let stall = Stall::before(&cluster.endpoints()[0]);
    let mut cut = settings(1, vec![stall.endpoint()]);
    // It does not give up waiting: what it wrote is still to come.
    cut.limit = Duration::from_secs(60);
    let mut master = Node::start(cut, &Arc::default());
    master.lead(10);
    master.commit(vec![put(1, 1)]);
    master.all_acknowledged();
    let mut standby = Node::new(2, &cluster).standby();
    standby.in_sync(1);
    assert_eq!(master.events(), []);

    stall.stop();
    let began = Instant::now();
    master.commit(vec![put(2, 2)]);
    standby.expect("silence", silent(1));
    let noticed = began.elapsed();
    let told = master.events();
    assert!(
        matches!(told[..], [Event::LeaseLost(_)]),
        "before the standby could know: {told:?}"
    );
    assert_eq!(standby.take_over(20), Some(true));
    println!(
        "cut off: noticed after {noticed:?}, taken over after {:?}",
        began.elapsed()
    );
    standby.commit(vec![put(3, 3)]);
    standby.all_acknowledged();

    stall.go_on();
    master.expect("deposed", |e| *e == Event::Deposed { guid: 2 });
    assert_eq!(master.way.acknowledged(), 1, "the late one was refused");
    let mut third = Node::new(3, &cluster).standby();
    third.in_sync(2);
    third.has_what(&standby);
    let two = put(2, 2);
    let RecordChange::Put(two, _) = two else {
        unreachable!("it is one")
    };
    assert!(!third.store.records().contains_key(&two));
    let mut master = master.standby();
    master.in_sync(2);
    master.has_what(&standby);
}

/// Nobody believes to have what only the old master had.
#[test]
fn what_a_master_acknowledged_alone_is_missed_by_who_takes_over() {
    let cluster = Cluster::new(1);
    let stall = Stall::before(&cluster.endpoints()[0]);
    let brief = |guid, endpoints| EtcdSettings {
        limit: Duration::from_secs(2),
        ..settings(guid, endpoints)
    };
    let mut master = Node::start(brief(1, vec![stall.endpoint()]), &Arc::default());
    master.lead(10);
    master.commit(vec![put(1, 1)]);
    master.all_acknowledged();
    let mut standby = Node::start(brief(2, cluster.endpoints()), &Arc::default()).standby();
    standby.in_sync(1);

    // It alone has lost etcd. The standby sees it before it can miss anything.
    stall.stop();
    let began = Instant::now();
    master.commit(vec![put(2, 2)]);
    standby.expect("silence", silent(1));
    master.expect("alarm", |e| matches!(e, Event::ProtectionLost(_)));
    master.all_acknowledged();
    println!("acknowledged alone after {:?}", began.elapsed());
    assert!(began.elapsed() >= Duration::from_millis(2900));
    assert_eq!(standby.settle(), Some(false));

    // It comes back: nobody is in step before all is there.
    standby.way.set_role(Role::Standby);
    stall.go_on();
    master.expect("the end of the alarm", |e| *e == Event::ProtectionRestored);
    standby.in_sync(1);
    standby.has_what(&master);
    // And then it is whole again.
    let mut seen = false;
    let began = Instant::now();
    for n in (0..).take_while(|_| began.elapsed() < Duration::from_secs(1)) {
        master.commit(vec![put(n, 1)]);
        master.all_acknowledged();
        seen |= n > 0;
    }
    assert!(seen);
    master.way.abort();
    standby.expect("silence", silent(1));
    assert_eq!(standby.settle(), Some(true));
}

/// Who never had a master knows nothing of one, whatever lies in etcd; and a master that is there may still write.
#[test]
fn only_who_followed_a_master_that_is_gone_has_all_of_it() {
    let cluster = Cluster::new(1);
    let mut master = Node::new(1, &cluster);
    master.lead(10);
    master.commit(vec![put(1, 1)]);
    let mut standby = Node::new(2, &cluster).standby();
    standby.in_sync(1);
    let late = Node::new(3, &cluster);
    master.all_acknowledged();
    assert_eq!(standby.settle(), Some(false), "its leases are fresh");
    master.way.abort();
    // The key goes now, and the records stay.
    cluster.delete(LEADER);
    assert_eq!(late.settle(), Some(false));
    assert_eq!(late.store.records(), master.store.records());
}

/// Where the test's fabric has its key.
const LEADER: &str = "/ferrosm/fe80000000000000_test/leader";

#[test]
fn a_key_that_another_removed_is_missed_without_a_batch() {
    let cluster = Cluster::new(1);
    let mut master = Node::new(1, &cluster);
    master.lead(10);
    let mut standby = Node::new(2, &cluster).standby();
    standby.in_sync(1);
    assert_eq!(master.events(), []);
    cluster.delete(LEADER);
    master.expect("unsure", |e| matches!(e, Event::LeaseLost(_)));
    standby.in_sync(1);
}

#[test]
fn a_master_that_was_cut_off_longer_than_its_lease_lasts_is_told_that_it_is_none() {
    let cluster = Cluster::new(1);
    let stall = Stall::before(&cluster.endpoints()[0]);
    let mut master = Node::start(settings(1, vec![stall.endpoint()]), &Arc::default());
    master.lead(10);
    let mut standby = Node::new(2, &cluster).standby();
    standby.in_sync(1);
    stall.stop();
    let began = Instant::now();
    standby.expect("silence", silent(1));
    assert_eq!(standby.take_over(20), Some(true));
    for n in (0..).take_while(|_| began.elapsed() < Duration::from_secs(3)) {
        standby.commit(vec![put(n, 1)]);
        standby.all_acknowledged();
    }
    stall.go_on();
    master.expect("deposed", |e| *e == Event::Deposed { guid: 2 });
}

#[test]
fn a_disk_that_failed_once_is_asked_again_in_another_time_as_standby() {
    let cluster = Cluster::new(1);
    let mut master = Node::new(1, &cluster);
    master.lead(10);
    let standby = Node::new(2, &cluster);
    master.commit(vec![put(1, 1)]);
    master.all_acknowledged();
    standby.store.failures.store(1, Ordering::SeqCst);
    let mut standby = standby.standby();
    standby.in_sync(1);
    for n in 2..4 {
        assert_eq!(standby.settle(), Some(false), "the master is there");
        standby.way.set_role(Role::Standby);
        standby.in_sync(1);
        master.commit(vec![put(n, n)]);
        standby.has_what(&master);
    }
}

#[test]
fn a_record_that_is_too_long_for_a_request_is_written_with_everything_else() {
    let cluster = Cluster::new(1);
    let store: Arc<Memory> = Arc::default();
    let long = RecordKey::new(RecordKind::Routing, &[&[1]]);
    let all = vec![(long, vec![5; 6 << 20].into())];
    store.replace(Position { epoch: 1, seq: 1 }, all).unwrap();
    let mut master = Node::start(settings(1, cluster.endpoints()), &store);
    master.lead(10);
    master.commit(vec![put(1, 1)]);
    master.all_acknowledged();
    let mut standby = Node::new(2, &cluster).standby();
    standby.in_sync(1);
    standby.has_what(&master);
}

/// Renewals go through, and nothing is written: one alarm, which says why, and nobody believes to have what is acknowledged then.
#[test]
fn an_etcd_that_has_no_room_is_an_alarm() {
    let cluster = Cluster::with_room(2 << 20);
    // While etcd writes so much it may hang for a second, and that alone is to end no lease here.
    let patient = |guid| EtcdSettings {
        silence_s: 4,
        limit: Duration::from_secs(2),
        ..settings(guid, cluster.endpoints())
    };
    let mut master = Node::start(patient(1), &Arc::default());
    master.lead(10);
    let mut standby = Node::start(patient(2), &Arc::default()).standby();
    standby.in_sync(1);
    let long = RecordKey::new(RecordKind::Routing, &[&[1]]);
    master.commit(vec![RecordChange::Put(long, vec![5; 6 << 20].into())]);
    // etcd counts what it has committed: what comes at once may all go in, and then something that comes later does not.
    let began = Instant::now();
    let told = loop {
        master.commit(vec![put(1, 1)]);
        let next = Instant::now();
        while next.elapsed() < Duration::from_millis(50) {
            std::thread::yield_now();
        }
        let lost = |e: &Event| matches!(e, Event::ProtectionLost(_));
        if let Some(told) = master.events().into_iter().find(lost) {
            break told;
        }
        assert!(began.elapsed() < GUARD, "never: alarm");
    };
    let Event::ProtectionLost(why) = told else {
        unreachable!("it was asked for")
    };
    assert!(why.contains("refuses") && why.contains("space"), "{why}");
    master.all_acknowledged();
    assert_eq!(standby.settle(), Some(false));
    let again = |e: &Event| matches!(e, Event::ProtectionLost(_) | Event::ProtectionRestored);
    assert!(!master.events().iter().any(again));
}

#[test]
fn a_node_that_hangs_does_not_take_the_key() {
    let cluster = Cluster::new(1);
    let mut hanging = settings(1, cluster.endpoints());
    hanging.hang = Duration::ZERO;
    hanging.limit = Duration::from_millis(300);
    let mut master = Node::start(hanging, &Arc::default());
    master.lead(10);
    let mut other = Node::new(2, &cluster);
    other.lead(20);
    master.commit(vec![put(1, 1)]);
    let lost = |e: &Event| matches!(e, Event::ProtectionLost(_) | Event::Deposed { .. });
    let told = master.expect("alarm", lost);
    assert!(
        matches!(told, Event::ProtectionLost(_)),
        "it never held it: {told:?}"
    );
}

#[test]
fn a_master_whose_driver_hangs_is_silent() {
    let cluster = Cluster::new(1);
    let mut hanging = settings(1, cluster.endpoints());
    hanging.hang = Duration::from_millis(500);
    let mut master = Node::start(hanging, &Arc::default());
    master.lead(10);
    let mut standby = Node::new(2, &cluster).standby();
    // The driver turns until the standby is in step.
    until("in step", || {
        master.way.report_alive();
        standby.way.status().leader.is_some_and(|l| l.in_sync)
    });
    standby.expect("silence", |e| {
        matches!(e, Event::MasterSilent { guid: 1, .. })
    });
    master.expect("unsure", |e| matches!(e, Event::LeaseLost(_)));
    // Nobody has taken over: it goes on.
    master.commit(vec![put(1, 1)]);
    until("in step again", || {
        master.way.report_alive();
        standby.way.status().leader.is_some_and(|l| l.in_sync)
    });
    standby.has_what(&master);
}

#[test]
fn a_standby_that_cannot_store_is_out_of_step_until_it_can() {
    let cluster = Cluster::new(1);
    let mut master = Node::new(1, &cluster);
    master.lead(10);
    let mut standby = Node::new(2, &cluster).standby();
    master.commit(vec![put(1, 1)]);
    standby.in_sync(1);
    standby.store.failures.store(3, Ordering::SeqCst);
    master.commit(vec![put(2, 2)]);
    let why =
        |e: &Event| matches!(e, Event::OutOfSync { guid: 1, why } if why.contains("disk is full"));
    standby.expect("out of step", why);
    standby.in_sync(1);
    standby.has_what(&master);
}

#[test]
fn one_of_three_members_dies_and_nothing_is_lost() {
    let mut cluster = Cluster::new(3);
    let mut master = Node::new(1, &cluster);
    master.lead(10);
    master.commit(vec![put(0, 0)]);
    master.all_acknowledged();
    let mut standby = Node::new(2, &cluster).standby();
    standby.in_sync(1);
    // That which both are connected to.
    cluster.kill(0);
    let began = Instant::now();
    for n in 0..200 {
        master.commit(vec![put(n, n + 1)]);
    }
    master.all_acknowledged();
    println!(
        "with a member dead: acknowledged after {:?}",
        began.elapsed()
    );
    standby.has_what(&master);
    let lost = |e: &Event| matches!(e, Event::ProtectionLost(_) | Event::Deposed { .. });
    assert!(!master.events().iter().any(lost));
    assert!(
        master
            .way
            .status()
            .committed
            .is_some_and(|at| at.seq == master.seq)
    );
    // And a node whose first member is the dead one.
    let mut third = Node::new(3, &cluster).standby();
    third.in_sync(1);
    third.has_what(&master);
}

#[test]
fn with_etcd_gone_the_master_goes_on_with_an_alarm_and_everything_is_written_when_it_is_back() {
    let mut cluster = Cluster::new(1);
    let mut brief = settings(1, cluster.endpoints());
    brief.limit = Duration::from_secs(1);
    let mut master = Node::start(brief, &Arc::default());
    master.lead(10);
    let mut standby = Node::new(2, &cluster).standby();
    for n in 0..100 {
        master.commit(vec![put(n, n)]);
    }
    master.all_acknowledged();
    standby.in_sync(1);
    for data in ["kept", "lost"] {
        cluster.kill(0);
        let began = Instant::now();
        master.commit(vec![put(1000, 1)]);
        if data == "kept" {
            // The second time it may not have been sure again yet.
            master.expect("unsure", |e| matches!(e, Event::LeaseLost(_)));
        }
        master.expect("alarm", |e| matches!(e, Event::ProtectionLost(_)));
        master.all_acknowledged();
        println!(
            "etcd gone: acknowledged with an alarm after {:?}",
            began.elapsed()
        );
        standby.expect("out of step", |e| {
            matches!(e, Event::OutOfSync { guid: 1, .. })
        });
        // Without a copy nobody waits for one.
        master.commit(vec![put(1001, 1)]);
        assert_eq!(master.way.acknowledged(), master.seq);
        if data == "lost" {
            cluster.forget(0);
        }
        cluster.start(0);
        master.expect("the end of the alarm", |e| *e == Event::ProtectionRestored);
        master.commit(vec![put(1002, 1)]);
        master.all_acknowledged();
        standby.in_sync(1);
        standby.has_what(&master);
    }
}

#[test]
fn without_etcd_a_master_leads_after_the_limit_and_says_so() {
    let mut cluster = Cluster::new(1);
    cluster.kill(0);
    let mut alone = settings(1, cluster.endpoints());
    alone.limit = Duration::from_millis(300);
    let mut master = Node::start(alone, &Arc::default());
    master.lead(10);
    let alarm = master.expect("alarm", |e| matches!(e, Event::ProtectionLost(_)));
    let Event::ProtectionLost(why) = alarm else {
        unreachable!("it was asked for")
    };
    let place = format!("etcd at {}: ", cluster.endpoints()[0]);
    assert!(why.starts_with(&place) && why.contains("refused"), "{why}");
    master.commit(vec![put(1, 1)]);
    assert_eq!(master.way.acknowledged(), 1);
}

#[test]
fn certificates_are_asked_for_on_both_sides() {
    let cluster = Cluster::with_certificates();
    let mut with = settings(1, cluster.endpoints());
    with.files = Some(cluster.files("node"));
    let mut master = Node::start(with.clone(), &Arc::default());
    master.lead(10);
    master.commit(vec![put(1, 1)]);
    master.all_acknowledged();
    // Each side asks who the other is. One is refused by etcd, the other refuses etcd; what it is told says which.
    let (node, stranger) = (cluster.files("node"), cluster.files("stranger"));
    let refused = TlsFiles {
        ca: node.ca.clone(),
        ..stranger.clone()
    };
    let refuses = TlsFiles {
        ca: stranger.ca,
        ..node
    };
    for (guid, files, says) in [
        // The connection may end before etcd's word why is read.
        (
            2,
            refused,
            &["alert", "broken pipe", "reset", "connection closed"][..],
        ),
        (3, refuses, &["invalid peer certificate"]),
    ] {
        with.guid = guid;
        with.limit = Duration::from_secs(1);
        with.files = Some(files);
        let mut other = Node::start(with.clone(), &Arc::default());
        other.lead(20);
        let told = other.expect("alarm", |e| matches!(e, Event::ProtectionLost(_)));
        let Event::ProtectionLost(why) = told else {
            unreachable!("it is one")
        };
        assert!(says.iter().any(|word| why.contains(word)), "{why}");
        println!("one is told: {why}");
    }
    assert_eq!(master.events(), []);
    // It was not etcd that was not there.
    master.commit(vec![put(2, 2)]);
    master.all_acknowledged();
}
