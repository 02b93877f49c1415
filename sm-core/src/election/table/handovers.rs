//! Handovers: requested by the operator, at a stop, and to a lower-ranked master that remains.

use super::*;

#[test]
fn operators_handover_survives_a_reload() {
    let mut e = election_in_state("Master, active");
    let lower = other(LOWER, SmState::Standby);
    let _ = e.step(Instant::START, hand_over(AfterHandover::StandBy));
    let _ = e.step(Instant::START, scanned(&[lower]));
    let control = SmControl::Handover;
    let out = e.step(
        Instant::START,
        ElectionInput::ControlAnswered {
            guid: OTHER,
            control,
            accepted: true,
        },
    );
    let reason = RoleChangeReason::HandedOverTo(OTHER, HandoverReason::Operator);
    let state = SmState::Standby;
    assert_eq!(out, vec![Decision::EnterState { state, why: reason }]);
    assert!(lower.rank() > e.rank());
    let _ = e.step(Instant::START, ElectionInput::SetPriority(OWN));
    assert!(lower.rank() > e.rank(), "unchanged priority");
    let _ = e.step(Instant::START, ElectionInput::SetPriority(OWN + 1));
    assert!(lower.rank() < e.rank());
}

/// An operator's handover does not go to an SM that is still Discovering, because it may have no
/// complete replica.
#[test]
fn handover_skips_sm_that_is_not_ready() {
    let starting = OtherSm {
        guid: PortGuid(9),
        ..other(HIGHER, SmState::Discovering)
    };
    let mut e = election_in_state("Master, handing over");
    let out = e.step(Instant::START, scanned(&[starting]));
    let not_ready = ElectionNotice::SuccessorNotReady(starting.guid);
    assert_eq!(out, [Decision::Notice(not_ready), Decision::Sweep]);
    assert!(e.may_write());
    let ready = other(LOWER, SmState::Standby);
    let _ = e.step(Instant::START, hand_over(AfterHandover::StandBy));
    let _ = e.step(Instant::START, scanned(&[starting, ready]));
    assert_eq!(e.other(), Some(ready.guid));
}

/// A master that is to stop scans for a successor every second and writes nothing. After the last
/// scan it hands over to an SM that is not ready.
#[test]
fn stopping_master_waits_for_a_ready_successor() {
    let settings = ElectionSettings {
        priority: OWN,
        ..ElectionSettings::default()
    };
    let (pause, scans) = (
        settings.successor_scan_interval,
        settings.successor_scans_max,
    );
    let discovering = other(HIGHER, SmState::Discovering);
    let leaving = || {
        let mut e = Election::new(ME, settings.clone());
        let _ = e.step(Instant::START, scanned(&[]));
        let _ = e.step(Instant::START, hand_over(AfterHandover::Stop));
        let out = e.step(Instant::START, scanned(&[discovering]));
        assert_eq!(
            out,
            [Decision::Notice(ElectionNotice::SuccessorNotReady(OTHER))]
        );
        assert!(!e.may_write());
        assert_eq!(e.state(), SmState::Master);
        e
    };
    let scan = |e: &mut Election, at: Instant| {
        assert_eq!(e.poll_timeout(), Some(at));
        assert_eq!(e.step(at, ElectionInput::Timer), [Decision::ScanSms]);
    };
    let offered = |e: &Election| state_name(e) == "Master, offering" && e.other() == Some(OTHER);

    let mut e = leaving();
    scan(&mut e, Instant::START + pause);
    let at = Instant::START + pause;
    assert_eq!(e.step(at, scanned(&[discovering])), []);
    let _ = e.step(at, scanned(&[other(LOWER, SmState::Standby)]));
    assert!(offered(&e), "a ready SM takes over, whatever its rank");

    let mut e = leaving();
    for n in 1..=scans {
        let at = Instant::START + pause * n.into();
        scan(&mut e, at);
        assert!(!offered(&e), "after scan {n}");
        let _ = e.step(at, scanned(&[discovering]));
    }
    assert!(
        offered(&e),
        "after the last scan, to an SM that is not ready"
    );

    let mut e = leaving();
    let out = e.step(Instant::START, scanned(&[]));
    let stopped = Decision::Stop {
        handed_to: None,
        was_master: true,
    };
    assert_eq!(out.last(), Some(&stopped), "the other SM is gone");
}

#[test]
fn master_hands_over_to_a_lower_master_that_remains() {
    let mut e = election_in_state("Master, waiting");
    let lower = other(LOWER, SmState::Master);
    let _ = e.step(Instant::START, ElectionInput::SmInfoReceived(lower));
    assert_eq!(state_name(&e), "Master, waiting");
    let out = e.step(Instant::START, ElectionInput::SmInfoReceived(lower));
    assert!(
        matches!(out[0], Decision::Notice(n) if n.is_alarm()),
        "{out:?}"
    );
    assert_eq!(state_name(&e), "Master, offering");
    // It does not respond to HANDOVER but is master: this SM stands by.
    let control = SmControl::Handover;
    let guid = OTHER;
    let _ = e.step(
        Instant::START,
        ElectionInput::ControlUnanswered { guid, control },
    );
    let _ = e.step(Instant::START, ElectionInput::SmInfoReceived(lower));
    assert_eq!(e.state(), SmState::Standby);
}

#[test]
fn becomes_master_when_higher_ranked_sm_stays_standby() {
    let mut e = election_in_state("Discovering");
    let idle = other(HIGHER, SmState::Standby);
    let _ = e.step(Instant::START, scanned(&[idle]));
    for _ in 0..2 {
        assert_eq!(e.state(), SmState::Standby);
        let _ = e.step(Instant::START, ElectionInput::SmInfoReceived(idle));
    }
    assert_eq!(e.state(), SmState::Discovering);
    let _ = e.step(Instant::START, scanned(&[idle]));
    assert!(e.may_write());
    // It is offered the subnet once, because it may wait for an offer.
    let out = e.step(Instant::START, scanned(&[idle]));
    assert_eq!(state_name(&e), "Master, offering", "{out:?}");
    let control = SmControl::Handover;
    let guid = idle.guid;
    let _ = e.step(
        Instant::START,
        ElectionInput::ControlUnanswered { guid, control },
    );
    let _ = e.step(Instant::START, ElectionInput::SmInfoReceived(idle));
    assert!(e.may_write());
    // It is not offered the subnet again, even if it accepted, unless its SMInfo changes.
    assert_eq!(e.step(Instant::START, scanned(&[idle])), vec![]);
    let again = OtherSm {
        act_count: 0,
        ..idle
    };
    let _ = e.step(Instant::START, scanned(&[again]));
    assert_eq!(state_name(&e), "Master, offering");
    let accepted = ElectionInput::ControlAnswered {
        guid,
        control,
        accepted: true,
    };
    let _ = e.step(Instant::START, accepted);
    for _ in 0..2 {
        assert_eq!(e.state(), SmState::Standby);
        let _ = e.step(Instant::START, ElectionInput::SmInfoReceived(again));
    }
    let _ = e.step(Instant::START, ElectionInput::ReplicaLoadEnded);
    for _ in 0..3 {
        let _ = e.step(Instant::START, scanned(&[again]));
        assert_eq!(state_name(&e), "Master, active");
    }
}
