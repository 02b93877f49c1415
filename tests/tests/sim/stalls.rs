//! A master whose process stalled verifies its role before it writes, whatever it knew of the other
//! SMs.

use std::time::Duration;

use ferrosm_core::election::RoleChangeReason;
use ferrosm_core::{Event, Input, PeerEvent};
use ferrosm_mad::attr::{SmState, id};
use ferrosm_sim::world::{ForeignSm, SmId};
use ferrosm_tests::lab::Lab;

use crate::election::{OTHER_SM_PORT, start_master};

/// A ferrosm master, and a foreign SM with priority 0.
fn with_foreign_sm(state: SmState) -> (Lab, SmId) {
    let mut lab = start_master(5);
    let guid = lab.world.fabric().port_guid(OTHER_SM_PORT);
    let added = lab
        .world
        .add_foreign_sm(OTHER_SM_PORT, ForeignSm::new(guid, 0, state));
    let other = added.unwrap_or_else(|error| panic!("{error}"));
    (lab, other)
}

fn stall(lab: &mut Lab) {
    lab.handle(lab.sm, Input::Peer(PeerEvent::Stalled));
}

fn set_state(lab: &mut Lab, other: SmId, state: SmState) {
    let other = lab.world.foreign_sm_mut(other);
    other
        .unwrap_or_else(|| panic!("no foreign SM"))
        .info
        .sm_state = state;
}

fn sm_info_gets(lab: &Lab, other: SmId) -> usize {
    let other = lab.world.foreign_sm(other);
    let log = other.map(|other| &other.log);
    let is_query = |mad: &ferrosm_mad::mad::Mad| mad.attr_id() == id::SM_INFO;
    log.map_or(0, |log| {
        log.iter().filter(|(_, m)| is_query(&m.mad)).count()
    })
}

/// The other SM is master: this one loads its state and becomes standby, without a write.
fn assert_replaced(lab: &mut Lab, sets: u64) {
    lab.world.run_for(Duration::from_secs(5));
    assert_eq!(lab.role(lab.sm), SmState::Standby, "{}", lab.describe_run());
    let deposed = |e: &Event| matches!(e, Event::RoleChanged { why, .. } if matches!(why.what, RoleChangeReason::Deposed(_)));
    assert!(
        lab.events(lab.sm).iter().any(deposed),
        "{}",
        lab.describe_run()
    );
    assert_eq!(lab.world.fabric().all_counters().all_sets(), sets);
}

fn stall_notices(lab: &Lab) -> usize {
    let is_stall = |e: &&Event| matches!(e, Event::ProcessStalled);
    lab.events(lab.sm).iter().filter(is_stall).count()
}

/// The other SM did not respond to the last light sweep.
#[test]
fn stall_is_verified_after_an_unanswered_query() {
    let (mut lab, other) = with_foreign_sm(SmState::Standby);
    lab.world.run_for(Duration::from_secs(30));
    let before = sm_info_gets(&lab, other);
    assert!(before > 0, "{}", lab.describe_run());
    lab.world.set_paused(other, true);
    lab.world.run_for(Duration::from_secs(15));
    lab.world.set_paused(other, false);
    set_state(&mut lab, other, SmState::Master);
    let sets = lab.world.fabric().all_counters().all_sets();
    stall(&mut lab);
    assert_eq!(stall_notices(&lab), 1);
    assert_replaced(&mut lab, sets);
}

/// The other SM started during the stall: a sweep finds it before anything is written.
#[test]
fn stall_is_verified_without_known_sms() {
    let (mut lab, _) = with_foreign_sm(SmState::Master);
    let sets = lab.world.fabric().all_counters().all_sets();
    stall(&mut lab);
    assert_eq!(stall_notices(&lab), 1);
    assert_replaced(&mut lab, sets);
}

/// The response to the first scan is from before the second stall.
#[test]
fn second_stall_starts_another_scan() {
    let (mut lab, other) = with_foreign_sm(SmState::Standby);
    lab.world.run_for(Duration::from_secs(30));
    let before = sm_info_gets(&lab, other);
    let sets = lab.world.fabric().all_counters().all_sets();
    stall(&mut lab);
    while sm_info_gets(&lab, other) == before {
        lab.world.step();
    }
    set_state(&mut lab, other, SmState::Master);
    stall(&mut lab);
    assert_eq!(stall_notices(&lab), 2);
    assert_replaced(&mut lab, sets);
}

/// Without another SM the master continues, and sweeps once.
#[test]
fn lone_master_continues_after_a_stall() {
    let mut lab = start_master(5);
    let swept = lab.manager().reports().len();
    stall(&mut lab);
    lab.world.run_for(Duration::from_secs(5));
    assert_eq!(lab.role(lab.sm), SmState::Master, "{}", lab.describe_run());
    assert_eq!(lab.manager().reports().len(), swept + 1);
    lab.assert_correct();
}
