//! Names of fabrics in keys: fabrics with similar names, keys of another fabric, keys of earlier
//! versions.

use std::sync::Arc;

use ferrosm_replication::ReplicationEvent;
use ferrosm_replication::etcd::EtcdSettings;

use super::cluster::Cluster;
use super::memory::put_record;
use super::{Node, settings};

/// Two fabrics whose names differ in an escaped character replicate through one etcd, each with a
/// master and records of its own.
#[test]
fn fabrics_with_similar_names_do_not_share_records() {
    let cluster = Cluster::new(1);
    let of = |guid, name: &str| EtcdSettings {
        fabric: format!("fe80000000000000 {name}"),
        ..settings(guid, cluster.endpoints())
    };
    let mut masters = Vec::new();
    for (guid, name) in [(1, "hall 2"), (2, "hall_2"), (3, "hall/2")] {
        let mut master = Node::start(of(guid, name), &Arc::default());
        master.become_master(10);
        master.commit(vec![put_record(7, u32::try_from(guid).unwrap())]);
        master.wait_until_acknowledged();
        masters.push((name, master));
    }
    for (guid, (name, master)) in (11..).zip(&masters) {
        let mut standby = Node::start(of(guid, name), &Arc::default()).standby();
        standby.expect_in_sync(guid - 10);
        standby.wait_for_equal_records(master);
    }
    for (name, master) in &mut masters {
        let lost = |e: &ReplicationEvent| {
            matches!(
                e,
                ReplicationEvent::Deposed { .. } | ReplicationEvent::LeaseLost(_)
            )
        };
        assert!(!master.events().iter().any(lost), "{name}");
    }
}

/// The name is stored with the records, so a fabric that gets the keys of another by any other way
/// is refused.
#[test]
fn keys_of_another_fabric_are_refused() {
    let cluster = Cluster::new(1);
    let mut owner = Node::new(1, &cluster);
    owner.become_master(10);
    owner.commit(vec![put_record(1, 1)]);
    owner.wait_until_acknowledged();
    let key = "/ferrosm/fe80000000000000_test/name";
    cluster.put_value(key, b"fe80000000000000 other");
    let mut intruder = Node::new(2, &cluster);
    intruder.become_master(11);
    intruder.commit(vec![put_record(1, 2)]);
    let refused = |e: &ReplicationEvent| {
        matches!(e, ReplicationEvent::ProtectionLost(reason)
            if reason.contains("belongs to fabric \"fe80000000000000 other\""))
    };
    intruder.expect("refusal", refused);
    owner.commit(vec![put_record(1, 3)]);
    owner.wait_until_acknowledged();
}

/// Records under the keys of earlier versions may belong to another fabric, so they are not loaded.
#[test]
fn ambiguous_keys_of_earlier_versions_are_not_read() {
    let cluster = Cluster::new(1);
    cluster.put_value(
        "/ferrosm/fe80000000000000_hall_2/head",
        b"of an earlier version",
    );
    let settings = EtcdSettings {
        fabric: "fe80000000000000 hall 2".to_owned(),
        ..settings(1, cluster.endpoints())
    };
    let mut master = Node::start(settings, &Arc::default());
    assert_eq!(master.take_over(10), Some(false), "hosts register again");
    master.commit(vec![put_record(1, 1)]);
    master.wait_until_acknowledged();
    assert!(
        !cluster
            .create_revision("/ferrosm/fe80000000000000_hall%202/head")
            .is_empty()
    );
}
