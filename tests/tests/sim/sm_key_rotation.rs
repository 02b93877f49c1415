//! SM_Keys that change while other SMs run, by command and by configuration: no SM ignores another
//! one, and the earlier key is accepted until all SMs have the new one.

use std::time::Duration;

use ferrosm_core::config::key_rotation::{KeyKind, KeyRotation};
use ferrosm_core::{
    Command, CommandOutcome, CommandReply, Event, Input, ReplicaEvent, RestoredState, SmConfig,
};
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::MKey;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::SmId;
use ferrosm_tests::lab::Lab;

const SPEC: &str = "fat-tree:4";
/// A host far from the SM's.
const OTHER_HOST: PortAt = PortAt::new(7, 1);
const OLD: MKey = MKey::new(0xAAAA);
const NEW: MKey = MKey::new(0xBBBB);

fn cfg(priority: u8, sm_key: MKey) -> SmConfig {
    SmConfig {
        priority,
        sm_key,
        ..SmConfig::default()
    }
}

/// A master and a standby with the same SM_Key.
fn pair() -> (Lab, SmId) {
    let mut lab = Lab::up(SPEC, 1, cfg(5, OLD));
    let second = lab.add_sm(OTHER_HOST, cfg(3, OLD));
    lab.world.run_for(Duration::from_secs(15));
    assert_eq!(lab.role(second), SmState::Standby);
    (lab, second)
}

/// Runs for a minute, in which no role changes.
fn assert_roles_stay(lab: &mut Lab, second: SmId) {
    let before = [lab.sm, second].map(|id| lab.events(id).len());
    lab.world.run_for(Duration::from_mins(1));
    for (id, before) in [lab.sm, second].into_iter().zip(before) {
        let mut new = lab.events(id)[before..].iter();
        let changed = new.any(|e| matches!(e, Event::RoleChanged { .. }));
        assert!(!changed, "{}", lab.describe_run());
    }
}

/// Number of other SMs that the master knows with the earlier key.
fn earlier_sms(lab: &Lab) -> usize {
    lab.manager().core().sm_key_report().earlier.len()
}

/// A third SM that has this SM_Key: whether the master ignores it.
fn is_ignored(lab: &mut Lab, sm_key: MKey) -> bool {
    let third = lab.add_sm(PortAt::new(12, 1), cfg(15, sm_key));
    lab.world.run_for(Duration::from_mins(2));
    let masters = [lab.sm, third].map(|id| lab.role(id) == SmState::Master);
    masters == [true, true]
}

/// The command ends when the standby, which has the record, shows the new key. The earlier key is
/// then worth nothing.
#[test]
fn rotation_ends_when_all_sms_have_the_key() {
    let (mut lab, second) = pair();
    let rotated = lab.command(Command::Rotate(KeyKind::SmKey, NEW));
    let rotation = KeyRotation {
        kind: KeyKind::SmKey,
        key: NEW,
        configured: OLD,
    };
    let event = ReplicaEvent::KeyRotation(KeyKind::SmKey, Some(rotation));
    lab.handle(second, Input::Replica(event));
    assert_roles_stay(&mut lab, second);
    let replies = lab.manager().command_replies.iter();
    let done = replies.filter(|(id, reply)| {
        let outcome = CommandOutcome::SmKeyRotated {
            with: 1,
            without: 0,
        };
        let is_outcome = matches!(reply, CommandReply::Done(Ok(found)) if *found == outcome);
        *id == rotated && is_outcome
    });
    assert_eq!(done.count(), 1, "{}", lab.describe_run());
    let report = lab.manager().core().sm_key_report();
    assert!(report.is_rotated && report.earlier.is_empty());
    assert!(is_ignored(&mut lab, OLD));
}

/// The configuration of one SM gets the new key half a minute before that of the other one,
/// whichever is first.
#[test]
fn sms_reloaded_one_after_the_other_stay_together() {
    for is_master_first in [true, false] {
        let (mut lab, second) = pair();
        let first = lab.sm;
        let order = if is_master_first {
            [(first, 5), (second, 3)]
        } else {
            [(second, 3), (first, 5)]
        };
        for (n, (id, priority)) in order.into_iter().enumerate() {
            let config = Input::Config(Box::new(cfg(priority, NEW)));
            lab.handle(id, config);
            assert_roles_stay(&mut lab, second);
            let expected = usize::from(n == 0 && is_master_first);
            assert_eq!(earlier_sms(&lab), expected, "{}", lab.describe_run());
        }
        lab.command(Command::Handover);
        lab.run_until("the handover", 30, |lab| {
            lab.role(second) == SmState::Master && lab.role(first) == SmState::Standby
        });
    }
}

/// The record keeps the rotated key in force after a restart, until the configuration has another
/// key than at the rotation.
#[test]
fn rotated_key_survives_a_restart() {
    let mut lab = Lab::up(SPEC, 1, cfg(5, OLD));
    lab.command(Command::Rotate(KeyKind::SmKey, NEW));
    lab.world.run_for(Duration::from_secs(30));
    for (configured, is_rotated, accepted) in
        [(OLD, true, NEW), (MKey::new(7), false, MKey::new(7))]
    {
        let now = lab.world.now();
        let restored = match lab.world.kill(lab.sm) {
            Some(old) => old.restored(now),
            None => RestoredState::default(),
        };
        lab.world.run_for(Duration::from_millis(1));
        lab.restart_sm(cfg(5, configured), restored);
        assert!(lab.next_sweep(60).is_clean());
        let report = lab.manager().core().sm_key_report();
        assert_eq!(report.is_rotated, is_rotated);
        let second = lab.add_sm(OTHER_HOST, cfg(3, accepted));
        lab.world.run_for(Duration::from_mins(1));
        assert_eq!(lab.role(second), SmState::Standby);
        lab.world.kill(second);
    }
}
