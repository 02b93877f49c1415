//! The changes that an SM persists always add up to its current state, whatever the hosts do.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::collections::BTreeMap;

use ferrosm_core::SmConfig;
use ferrosm_core::records::{Record, RecordKey, RecordKind};
use ferrosm_mad::ids::PortGuid;
use ferrosm_mad::ids::Qpn;
use ferrosm_mad::mad::Method;
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::inform::InformInfo;
use ferrosm_mad::sa::tables::GuidInfoRecord;
use ferrosm_sa::registry::registration::Registration;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::{Lab, TestRng};
use ferrosm_tests::sa::members::{BROADCAST, plain, request};
use ferrosm_tests::sa::random_activity::RandomClients;

/// Persisted records by key, decoded at time 0: the remaining lease of a record is its expiry.
fn persisted_records(lab: &Lab) -> BTreeMap<RecordKey, Record> {
    let mut records = BTreeMap::new();
    for (key, value) in &lab.manager().persisted_records {
        let record = Record::decode(key, value, 0).expect("valid record");
        records.insert(key.clone(), record.expect("known record kind"));
    }
    records
}

fn assert_adds_up(lab: &Lab) {
    let now = lab.world.now();
    let unix_s = now.as_nanos() / 1_000_000_000;
    // The SL-to-VL epoch describes devices and is unrelated to clients.
    let client_records = persisted_records(lab).into_iter();
    let client_records =
        client_records.filter(|(key, _)| key.kind() != Some(RecordKind::SlToVlEpoch));
    let (lids, persisted): (BTreeMap<_, _>, _) =
        client_records.partition(|(_, record)| matches!(record, Record::Lid { .. }));
    let current = lab
        .manager()
        .core()
        .registry()
        .registrations(now)
        .map(Record::Registration);
    let current: BTreeMap<RecordKey, Record> = current.map(|r| (r.key(), r)).collect();
    let keys = |records: &BTreeMap<RecordKey, Record>| records.keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&persisted), keys(&current), "{}", lab.describe_run());
    for (key, current) in current {
        match (&persisted[&key], current) {
            (
                Record::Registration(Registration::Service(persisted)),
                Record::Registration(Registration::Service(mut current)),
            ) => {
                // Both clocks round to whole seconds.
                let expiry = current.lease_remaining_s.map(|left| unix_s + left);
                let difference = expiry
                    .zip(persisted.lease_remaining_s)
                    .map(|(a, b)| a.abs_diff(b));
                assert!(
                    difference.unwrap_or(0) <= 1,
                    "{} {current:?} {persisted:?}",
                    lab.describe_run()
                );
                assert_eq!(
                    expiry.is_some(),
                    persisted.lease_remaining_s.is_some(),
                    "{}",
                    lab.describe_run()
                );
                current.lease_remaining_s = persisted.lease_remaining_s;
                assert_eq!(**persisted, *current, "{}", lab.describe_run());
            }
            (persisted, current) => assert_eq!(*persisted, current, "{}", lab.describe_run()),
        }
    }
    // Ports that left the subnet keep their LIDs.
    let fabric = lab.world.fabric();
    let present = lab.manager().core().view().map(|v| v.end_ports().to_vec());
    for end in present.unwrap_or_default() {
        let lid = end.lid;
        let lmc = end.lmc;
        let record = Record::Lid {
            port: end.guid,
            lid,
            lmc,
        };
        assert_eq!(
            lids.get(&record.key()),
            Some(&record),
            "{}",
            lab.describe_run()
        );
    }
    assert!(
        lids.len()
            >= fabric
                .end_ports()
                .filter(|at| fabric.lid(*at).0.0 != 0)
                .count()
    );
}

/// Subscribes or unsubscribes. The subscription may not exist.
fn subscribe(lab: &mut Lab, at: PortAt, rng: &mut TestRng, tid: u64) {
    let info = InformInfo {
        lid_range_begin: InformInfo::ALL_LIDS,
        is_generic: 1,
        subscribe: u8::from(!rng.one_in(3)),
        notice_type: 0xFFFF,
        trap_number: 64 + u16::try_from(rng.below(4)).unwrap_or(0),
        qpn: Qpn(1),
        producer_type: 0xFF_FFFF,
        ..InformInfo::default()
    };
    let request_kind = (Method::Set, id::INFORM_INFO);
    let _ = request(lab, at, request_kind, tid, 0, &info.encode());
}

/// Sets or deletes an alias GUID, which may belong to another port.
fn change_alias(lab: &mut Lab, at: PortAt, rng: &mut TestRng, tid: u64) {
    let index = 1 + rng.index(7);
    let mut record = GuidInfoRecord {
        lid: lab.world.fabric().lid(at).0,
        ..GuidInfoRecord::default()
    };
    record.guids[index] = PortGuid(0x0200_0000_0000_0000 + rng.below(12));
    let mask = 0b11 | 1 << (usize::from(GuidInfoRecord::FIRST_GUID) + index);
    let method = if rng.one_in(3) {
        Method::Delete
    } else {
        Method::Set
    };
    let _ = request(
        lab,
        at,
        (method, id::GUID_INFO),
        tid,
        mask,
        &record.encode(),
    );
}

#[test]
fn persisted_changes_add_up_to_the_state() {
    let mut kinds = BTreeMap::new();
    for (seed, spec) in (1..=6).zip(
        ["fat-tree:4", "torus:3,3,1", "random:9,4,2,3"]
            .iter()
            .cycle(),
    ) {
        let mut lab = Lab::up(spec, seed, SmConfig::default());
        let groups = (0..10).map(plain).chain([BROADCAST]).collect();
        let mut clients = RandomClients::new(&lab, groups, 40);
        let mut rng = TestRng::new(seed);
        let all_hosts = lab.hosts();
        for n in 0..200 {
            clients.run_action(&mut lab);
            let at = all_hosts[rng.index(all_hosts.len())];
            match rng.below(6) {
                0 => subscribe(&mut lab, at, &mut rng, n + 1),
                1 => change_alias(&mut lab, at, &mut rng, n + 1),
                _ => {}
            }
            assert_adds_up(&lab);
        }
        clients.assert_consistent(&mut lab);
        assert_adds_up(&lab);
        let client_records = lab.manager().persisted_records.keys();
        for key in client_records.filter(|key| key.kind() != Some(RecordKind::SlToVlEpoch)) {
            *kinds.entry(key.kind()).or_insert(0) += 1;
        }
    }
    assert_eq!(
        kinds.len(),
        6,
        "expected records of every client record kind: {kinds:?}"
    );
}
