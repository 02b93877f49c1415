//! What a ledger says and does, moment by moment.

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

fn ledger() -> Ledger {
    Ledger::new(2, LIMIT, SILENCE, ms(0))
}

/// The key says that etcd has everything.
fn together(l: &mut Ledger, now: NodeTime) {
    assert_eq!(l.work(), Work::Together);
    l.saying(now);
    l.said();
}

#[test]
fn who_has_what_etcd_has_goes_on_from_it() {
    let mut l = ledger();
    l.committed(8, body(), ms(0));
    assert_eq!(l.acknowledged(), None, "not before it leads");
    l.held(Some(at(1, 7)), Some(at(2, 8)), Some(at(1, 7)), ms(0));
    assert_eq!(l.events(), [Event::MasterReady]);
    together(&mut l, ms(0));
    assert_eq!(l.work(), Work::Batches(vec![(8, body())]));
    assert_eq!(l.acknowledged(), Some(7));
    l.wrote(8, ms(0));
    assert_eq!((l.acknowledged(), l.work()), (Some(8), Work::Nothing));
}

#[test]
fn who_has_anything_else_writes_everything() {
    for (known, store, head) in [
        (None, None, Some(at(1, 7))),
        (Some(at(1, 6)), Some(at(2, 6)), Some(at(1, 7))),
        (Some(at(3, 7)), Some(at(2, 7)), Some(at(1, 7))),
        (Some(at(1, 7)), Some(at(2, 9)), Some(at(1, 7))),
        (Some(at(1, 7)), Some(at(2, 7)), None),
    ] {
        let mut l = ledger();
        l.held(known, store, head, ms(0));
        assert_eq!(l.work(), Work::FullWrite, "{known:?} {store:?} {head:?}");
    }
}

#[test]
fn the_key_held_again_costs_nothing_that_etcd_has() {
    let mut l = ledger();
    l.held(None, Some(at(1, 3)), None, ms(0));
    l.reading();
    l.wrote_everything(3, ms(0));
    together(&mut l, ms(0));
    l.committed(4, body(), ms(0));
    l.committed(5, body(), ms(0));
    l.renewed(ms(900));
    l.fenced("gone");
    assert_eq!(
        l.events(),
        [Event::MasterReady, Event::LeaseLost("gone".to_owned())]
    );
    // Batch 4 is there, but the answer was lost.
    l.held(None, Some(at(2, 5)), Some(at(2, 4)), ms(0));
    assert_eq!(
        (l.acknowledged(), l.work()),
        (Some(4), Work::Batches(vec![(5, body())]))
    );
    // All is gone.
    l.held(None, Some(at(2, 5)), None, ms(0));
    assert_eq!(l.work(), Work::FullWrite);
}

#[test]
fn without_etcd_it_leads_after_the_limit_and_acknowledges_alone_when_nobody_believes_otherwise() {
    let mut l = ledger();
    l.failed("down".to_owned(), ms(10));
    l.committed(1, body(), ms(20));
    l.tick(ms(999));
    assert_eq!((l.acknowledged(), l.events()), (None, vec![]));
    l.tick(ms(1000));
    assert_eq!(
        (l.acknowledged(), l.events()),
        (None, vec![Event::MasterReady])
    );
    // A lease of this node's last process may be two seconds from being old, and is believed for the limit after that.
    l.tick(ms(2999));
    assert_eq!((l.acknowledged(), l.events()), (None, vec![]));
    l.tick(ms(3000));
    assert_eq!(l.events(), [Event::ProtectionLost("down".to_owned())]);
    assert_eq!(l.acknowledged(), Some(1));
    l.committed(2, body(), ms(3100));
    assert_eq!(l.acknowledged(), Some(2));
    l.tick(ms(5000));
    l.held(None, Some(at(2, 2)), None, ms(5000));
    assert_eq!(l.work(), Work::FullWrite);
    l.reading();
    l.committed(3, body(), ms(5001));
    assert_eq!((l.events(), l.acknowledged()), (vec![], Some(3)));
    l.wrote_everything(2, ms(5002));
    // 3 was acknowledged alone: until etcd has it the key does not say that it has all, and the alarm stands.
    assert_eq!(l.events(), []);
    assert_eq!(l.work(), Work::Batches(vec![(3, body())]));
    l.committed(4, body(), ms(5003));
    assert_eq!(l.acknowledged(), Some(2));
    l.wrote(3, ms(5004));
    together(&mut l, ms(5005));
    assert_eq!(l.events(), [Event::ProtectionRestored]);
    assert_eq!(l.work(), Work::Batches(vec![(4, body())]));
    assert_eq!(l.acknowledged(), Some(3));
}

/// One that leads with etcd, and everything is there.
fn leading() -> Ledger {
    let mut l = ledger();
    l.held(Some(at(1, 7)), Some(at(2, 7)), Some(at(1, 7)), ms(0));
    together(&mut l, ms(0));
    let _ = l.events();
    l
}

#[test]
fn before_it_acknowledges_alone_it_renews_no_lease_for_as_long_as_one_is_believed() {
    let mut l = leading();
    l.committed(8, body(), ms(4000));
    l.touches(ms(4900));
    l.tick(ms(4999));
    assert_eq!(l.may_renew(), Some(true));
    l.tick(ms(5000));
    assert_eq!(l.may_renew(), Some(false), "standbys are to see it");
    assert!(!l.is_apart(), "nothing was acknowledged alone");
    l.tick(ms(7899));
    assert_eq!((l.acknowledged(), l.events()), (Some(7), vec![]));
    l.tick(ms(7900));
    assert_eq!(l.acknowledged(), Some(8));
    assert!(matches!(l.events()[..], [Event::ProtectionLost(_)]));
    assert!(l.is_apart());
    assert_eq!(l.may_renew(), None, "the key says something else");
    // It is held anew, and says so: now it may be renewed.
    l.holds_nothing();
    l.held(None, Some(at(2, 8)), Some(at(1, 7)), ms(8000));
    assert_eq!(l.may_renew(), Some(true));
    assert_eq!(l.acknowledged(), Some(8));
}

#[test]
fn what_was_written_late_but_before_it_acknowledged_alone_changes_nothing() {
    let mut l = leading();
    l.committed(8, body(), ms(4000));
    l.touches(ms(4900));
    l.tick(ms(5000));
    assert_eq!(l.may_renew(), Some(false));
    l.wrote(8, ms(5100));
    assert_eq!(l.may_renew(), Some(true));
    l.tick(ms(9000));
    assert_eq!((l.acknowledged(), l.events()), (Some(8), vec![]));
    // A renewal failed, and etcd is back before anything waits.
    l.failed("down".to_owned(), ms(10_000));
    l.touches(ms(10_900));
    l.tick(ms(11_000));
    assert_eq!(l.may_renew(), Some(false));
    l.answered();
    assert_eq!(l.may_renew(), Some(true));
    l.tick(ms(20_000));
    assert_eq!(l.events(), []);
}

#[test]
fn a_word_that_may_have_been_said_counts_as_said() {
    let mut l = ledger();
    l.tick(ms(1000));
    l.tick(ms(3000));
    l.held(Some(at(1, 7)), Some(at(2, 7)), Some(at(1, 7)), ms(3000));
    assert_eq!(l.work(), Work::Together);
    l.saying(ms(3100));
    // No answer came. A standby may believe it: so this is as a lease that was renewed.
    assert_eq!(l.work(), Work::Together, "once more");
    l.committed(8, body(), ms(3200));
    l.tick(ms(4200));
    assert_eq!(l.may_renew(), Some(false));
    l.tick(ms(6099));
    assert_eq!(l.acknowledged(), Some(7));
    l.tick(ms(6100));
    assert_eq!(l.acknowledged(), Some(8));
}

#[test]
fn a_lease_that_is_not_renewed_is_told_once_and_again_after_it_was() {
    let mut l = ledger();
    l.held(None, None, None, ms(0));
    l.renewed(ms(900));
    let _ = l.events();
    l.tick(ms(899));
    assert_eq!(l.events(), []);
    l.tick(ms(900));
    l.tick(ms(901));
    assert!(matches!(l.events()[..], [Event::LeaseLost(_)]));
    l.fenced("gone too");
    assert_eq!(l.events(), [], "it knows");
    l.renewed(ms(2000));
    l.tick(ms(2000));
    assert!(matches!(l.events()[..], [Event::LeaseLost(_)]));
}

#[test]
fn what_does_not_follow_or_is_too_much_is_written_as_a_whole() {
    let mut l = ledger();
    l.held(Some(at(1, 7)), Some(at(2, 7)), Some(at(1, 7)), ms(0));
    l.committed(8, body(), ms(0));
    l.committed(10, body(), ms(0));
    assert_eq!(l.work(), Work::FullWrite);
    let mut l = ledger();
    l.held(Some(at(1, 7)), Some(at(2, 7)), Some(at(1, 7)), ms(0));
    l.committed(8, vec![0; WAITING_MAX.1 + 1].into(), ms(0));
    assert_eq!(l.work(), Work::FullWrite);
    l.reading();
    l.committed(9, vec![0; WAITING_MAX.1 + 1].into(), ms(0));
    l.wrote_everything(8, ms(0));
    assert_eq!(
        (l.work(), l.acknowledged()),
        (Work::FullWrite, Some(7)),
        "9 is missing"
    );
}

#[test]
fn the_same_renewal_said_again_tells_nothing_again() {
    let mut l = ledger();
    l.renewed(ms(900));
    l.tick(ms(900));
    assert!(matches!(l.events()[..], [Event::LeaseLost(_)]));
    l.renewed(ms(900));
    l.tick(ms(950));
    assert_eq!(l.events(), [], "once");
}

/// The key was lost while all records were on the way, for which batches had been given up before.
#[test]
fn a_whole_that_was_cut_off_is_still_due() {
    for key_is_lost in [true, false] {
        let mut l = leading();
        l.committed(8, vec![0; WAITING_MAX.1 + 1].into(), ms(0));
        assert_eq!(l.work(), Work::FullWrite);
        l.reading();
        l.committed(9, body(), ms(0));
        if key_is_lost {
            l.holds_nothing();
        }
        l.held(Some(at(1, 7)), Some(at(2, 9)), Some(at(2, 7)), ms(0));
        assert_eq!(l.work(), Work::FullWrite, "etcd has no batch 8");
        assert_eq!(l.acknowledged(), Some(7));
    }
}

#[test]
fn who_went_on_from_it_is_told_from_a_backup() {
    let known = Some(at(1, 7));
    let mut l = ledger();
    assert!(!l.is_followed_by(known, at(3, 9)), "it had begun nothing");
    l.held(known, Some(at(2, 7)), known, ms(0));
    assert!(!l.is_followed_by(known, at(1, 7)), "where it began");
    l.committed(8, body(), ms(0));
    l.wrote(8, ms(0));
    assert!(!l.is_followed_by(known, at(2, 8)), "its own");
    for (head, followed) in [(at(3, 8), true), (at(3, 9), true), (at(3, 7), false)] {
        assert_eq!(l.is_followed_by(known, head), followed, "{head}");
    }
}
