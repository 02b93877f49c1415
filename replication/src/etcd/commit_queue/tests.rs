//! Tests of the commit queue in virtual time.

use super::*;

const LIMIT: Duration = Duration::from_secs(1);
const SILENCE: Duration = Duration::from_secs(2);

fn at(epoch: u64, seq: u64) -> Position {
    Position { epoch, seq }
}

fn ms(ms: u64) -> NodeTime {
    Duration::from_millis(ms)
}

fn body() -> Arc<[u8]> {
    vec![1, 2, 3].into()
}

fn queue() -> CommitQueue {
    CommitQueue::new(2, LIMIT, SILENCE, ms(0))
}

/// Writes the claim that etcd is complete.
fn claim_complete(l: &mut CommitQueue, now: NodeTime) {
    assert_eq!(l.work(), Work::ClaimComplete);
    l.begin_claim(now);
    l.end_claim();
}

#[test]
fn master_with_etcds_records_continues_them() {
    let mut l = queue();
    l.committed(8, body(), ms(0));
    assert_eq!(l.acknowledged(), None, "before the term starts");
    l.on_key_held(Some(at(1, 7)), Some(at(2, 8)), Some(at(1, 7)), ms(0));
    assert_eq!(l.take_events(), [ReplicationEvent::MasterReady]);
    claim_complete(&mut l, ms(0));
    assert_eq!(l.work(), Work::Batches(vec![(8, body())]));
    assert_eq!(l.acknowledged(), Some(7));
    l.on_written(8, ms(0));
    assert_eq!((l.acknowledged(), l.work()), (Some(8), Work::Nothing));
}

#[test]
fn master_with_other_records_writes_a_snapshot() {
    for (known, store, head) in [
        (None, None, Some(at(1, 7))),
        (Some(at(1, 6)), Some(at(2, 6)), Some(at(1, 7))),
        (Some(at(3, 7)), Some(at(2, 7)), Some(at(1, 7))),
        (Some(at(1, 7)), Some(at(2, 9)), Some(at(1, 7))),
        (Some(at(1, 7)), Some(at(2, 7)), None),
    ] {
        let mut l = queue();
        l.on_key_held(known, store, head, ms(0));
        assert_eq!(l.work(), Work::Snapshot, "{known:?} {store:?} {head:?}");
    }
}

#[test]
fn reacquired_key_rewrites_nothing() {
    let mut l = queue();
    l.on_key_held(None, Some(at(1, 3)), None, ms(0));
    l.begin_snapshot();
    l.on_snapshot_written(3, ms(0));
    claim_complete(&mut l, ms(0));
    l.committed(4, body(), ms(0));
    l.committed(5, body(), ms(0));
    l.on_leases_valid(ms(900));
    l.on_key_lost("gone");
    assert_eq!(
        l.take_events(),
        [
            ReplicationEvent::MasterReady,
            ReplicationEvent::LeaseLost("gone".to_owned())
        ]
    );
    // Batch 4 is written, but the response was lost.
    l.on_key_held(None, Some(at(2, 5)), Some(at(2, 4)), ms(0));
    assert_eq!(
        (l.acknowledged(), l.work()),
        (Some(4), Work::Batches(vec![(5, body())]))
    );
    // etcd has lost its data.
    l.on_key_held(None, Some(at(2, 5)), None, ms(0));
    assert_eq!(l.work(), Work::Snapshot);
}

#[test]
fn master_without_etcd_acknowledges_once_leases_are_no_evidence() {
    let mut l = queue();
    l.on_failure("down".to_owned(), ms(10));
    l.committed(1, body(), ms(20));
    l.tick(ms(999));
    assert_eq!((l.acknowledged(), l.take_events()), (None, vec![]));
    l.tick(ms(1000));
    assert_eq!(
        (l.acknowledged(), l.take_events()),
        (None, vec![ReplicationEvent::MasterReady])
    );
    // A lease of this node's last process may take two seconds to become old, and stays evidence
    // for the limit of one second after that.
    l.tick(ms(2999));
    assert_eq!((l.acknowledged(), l.take_events()), (None, vec![]));
    l.tick(ms(3000));
    assert_eq!(
        l.take_events(),
        [ReplicationEvent::ProtectionLost("down".to_owned())]
    );
    assert_eq!(l.acknowledged(), Some(1));
    l.committed(2, body(), ms(3100));
    assert_eq!(l.acknowledged(), Some(2));
    l.tick(ms(5000));
    l.on_key_held(None, Some(at(2, 2)), None, ms(5000));
    assert_eq!(l.work(), Work::Snapshot);
    l.begin_snapshot();
    l.committed(3, body(), ms(5001));
    assert_eq!((l.take_events(), l.acknowledged()), (vec![], Some(3)));
    l.on_snapshot_written(2, ms(5002));
    // Batch 3 was acknowledged without etcd: until etcd has it, the key claims no completeness and
    // the alarm remains.
    assert_eq!(l.take_events(), []);
    assert_eq!(l.work(), Work::Batches(vec![(3, body())]));
    l.committed(4, body(), ms(5003));
    assert_eq!(l.acknowledged(), Some(2));
    l.on_written(3, ms(5004));
    claim_complete(&mut l, ms(5005));
    assert_eq!(l.take_events(), [ReplicationEvent::ProtectionRestored]);
    assert_eq!(l.work(), Work::Batches(vec![(4, body())]));
    assert_eq!(l.acknowledged(), Some(3));
}

/// A master whose records are all in etcd.
fn leading() -> CommitQueue {
    let mut l = queue();
    l.on_key_held(Some(at(1, 7)), Some(at(2, 7)), Some(at(1, 7)), ms(0));
    claim_complete(&mut l, ms(0));
    let _ = l.take_events();
    l
}

#[test]
fn leases_are_not_renewed_before_acknowledging_without_etcd() {
    let mut l = leading();
    l.committed(8, body(), ms(4000));
    l.on_renewal(ms(4900));
    l.tick(ms(4999));
    assert_eq!(l.may_renew(), Some(true));
    l.tick(ms(5000));
    assert_eq!(l.may_renew(), Some(false), "standbys see old leases first");
    assert!(!l.may_lack_batches(), "nothing acknowledged without etcd");
    l.tick(ms(7899));
    assert_eq!((l.acknowledged(), l.take_events()), (Some(7), vec![]));
    l.tick(ms(7900));
    assert_eq!(l.acknowledged(), Some(8));
    assert!(matches!(
        l.take_events()[..],
        [ReplicationEvent::ProtectionLost(_)]
    ));
    assert!(l.may_lack_batches());
    assert_eq!(l.may_renew(), None, "the key claims otherwise");
    // The key is acquired again with the other claim, so its leases may be renewed.
    l.on_key_released();
    l.on_key_held(None, Some(at(2, 8)), Some(at(1, 7)), ms(8000));
    assert_eq!(l.may_renew(), Some(true));
    assert_eq!(l.acknowledged(), Some(8));
}

#[test]
fn late_write_before_standalone_mode_changes_nothing() {
    let mut l = leading();
    l.committed(8, body(), ms(4000));
    l.on_renewal(ms(4900));
    l.tick(ms(5000));
    assert_eq!(l.may_renew(), Some(false));
    l.on_written(8, ms(5100));
    assert_eq!(l.may_renew(), Some(true));
    l.tick(ms(9000));
    assert_eq!((l.acknowledged(), l.take_events()), (Some(8), vec![]));
    // A renewal failed, and etcd is back before a batch is pending.
    l.on_failure("down".to_owned(), ms(10_000));
    l.on_renewal(ms(10_900));
    l.tick(ms(11_000));
    assert_eq!(l.may_renew(), Some(false));
    l.on_response();
    assert_eq!(l.may_renew(), Some(true));
    l.tick(ms(20_000));
    assert_eq!(l.take_events(), []);
}

#[test]
fn unconfirmed_claim_counts_as_made() {
    let mut l = queue();
    l.tick(ms(1000));
    l.tick(ms(3000));
    l.on_key_held(Some(at(1, 7)), Some(at(2, 7)), Some(at(1, 7)), ms(3000));
    assert_eq!(l.work(), Work::ClaimComplete);
    l.begin_claim(ms(3100));
    // No response: a standby may have seen the claim, which counts like a renewed lease.
    assert_eq!(l.work(), Work::ClaimComplete, "repeated");
    l.committed(8, body(), ms(3200));
    l.tick(ms(4200));
    assert_eq!(l.may_renew(), Some(false));
    l.tick(ms(6099));
    assert_eq!(l.acknowledged(), Some(7));
    l.tick(ms(6100));
    assert_eq!(l.acknowledged(), Some(8));
}

/// etcd hangs before it confirms the claim, and the claim is repeated.
#[test]
fn repeated_claim_does_not_delay_the_alarm() {
    let mut l = queue();
    l.on_key_held(Some(at(1, 7)), Some(at(2, 7)), Some(at(1, 7)), ms(0));
    let _ = l.take_events();
    l.committed(8, body(), ms(10));
    for n in 1..8 {
        assert_eq!(l.work(), Work::ClaimComplete);
        l.begin_claim(ms(n * 500));
        l.on_failure("timed out".to_owned(), ms(n * 500 + 400));
        l.tick(ms(n * 500 + 499));
    }
    let alarm = ReplicationEvent::ProtectionLost("timed out".to_owned());
    assert_eq!(l.take_events(), [alarm]);
    assert_eq!(l.acknowledged(), Some(8));
}

#[test]
fn lease_loss_is_reported_once_per_renewal() {
    let mut l = queue();
    l.on_key_held(None, None, None, ms(0));
    l.on_leases_valid(ms(900));
    let _ = l.take_events();
    l.tick(ms(899));
    assert_eq!(l.take_events(), []);
    l.tick(ms(900));
    l.tick(ms(901));
    assert!(matches!(
        l.take_events()[..],
        [ReplicationEvent::LeaseLost(_)]
    ));
    l.on_key_lost("gone too");
    assert_eq!(l.take_events(), [], "reported already");
    l.on_leases_valid(ms(2000));
    l.tick(ms(2000));
    assert!(matches!(
        l.take_events()[..],
        [ReplicationEvent::LeaseLost(_)]
    ));
}

#[test]
fn gap_or_oversized_backlog_requires_a_snapshot() {
    let mut l = queue();
    l.on_key_held(Some(at(1, 7)), Some(at(2, 7)), Some(at(1, 7)), ms(0));
    l.committed(8, body(), ms(0));
    l.committed(10, body(), ms(0));
    assert_eq!(l.work(), Work::Snapshot);
    let mut l = queue();
    l.on_key_held(Some(at(1, 7)), Some(at(2, 7)), Some(at(1, 7)), ms(0));
    l.committed(8, vec![0; PENDING_MAX.1 + 1].into(), ms(0));
    assert_eq!(l.work(), Work::Snapshot);
    l.begin_snapshot();
    l.committed(9, vec![0; PENDING_MAX.1 + 1].into(), ms(0));
    l.on_snapshot_written(8, ms(0));
    assert_eq!(
        (l.work(), l.acknowledged()),
        (Work::Snapshot, Some(7)),
        "batch 9 is missing"
    );
}

#[test]
fn repeated_lease_validity_is_not_a_renewal() {
    let mut l = queue();
    l.on_leases_valid(ms(900));
    l.tick(ms(900));
    assert!(matches!(
        l.take_events()[..],
        [ReplicationEvent::LeaseLost(_)]
    ));
    l.on_leases_valid(ms(900));
    l.tick(ms(950));
    assert_eq!(l.take_events(), [], "reported once");
}

/// The key was lost during a snapshot that was due because batches were dropped.
#[test]
fn cancelled_snapshot_is_still_due() {
    for key_is_lost in [true, false] {
        let mut l = leading();
        l.committed(8, vec![0; PENDING_MAX.1 + 1].into(), ms(0));
        assert_eq!(l.work(), Work::Snapshot);
        l.begin_snapshot();
        l.committed(9, body(), ms(0));
        if key_is_lost {
            l.on_key_released();
        }
        l.on_key_held(Some(at(1, 7)), Some(at(2, 9)), Some(at(2, 7)), ms(0));
        assert_eq!(l.work(), Work::Snapshot, "etcd has no batch 8");
        assert_eq!(l.acknowledged(), Some(7));
    }
}

#[test]
fn successor_is_distinguished_from_a_backup() {
    let known = Some(at(1, 7));
    let mut l = queue();
    assert!(!l.has_successor(known, at(3, 9)), "nothing written yet");
    l.on_key_held(known, Some(at(2, 7)), known, ms(0));
    assert!(!l.has_successor(known, at(1, 7)), "start of the term");
    l.committed(8, body(), ms(0));
    l.on_written(8, ms(0));
    assert!(!l.has_successor(known, at(2, 8)), "own batch");
    for (head, followed) in [(at(3, 8), true), (at(3, 9), true), (at(3, 7), false)] {
        assert_eq!(l.has_successor(known, head), followed, "{head}");
    }
}
