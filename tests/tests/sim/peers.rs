//! Competing SMs and restarts: one master, stable LIDs, no redundant writes.

use std::time::Duration;

use ferrosm_core::{RestoredState, SmConfig};
use ferrosm_mad::attr::{SmControl, SmState, id};
use ferrosm_mad::ids::PortGuid;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::{ForeignSm, SmId};
use ferrosm_tests::lab::{Lab, Sm};

const SECOND_SM_PORT: PortAt = PortAt::new(7, 1);

fn foreign(lab: &Lab, priority: u8, state: SmState) -> ForeignSm {
    ForeignSm::new(
        lab.world.fabric().port_guid(SECOND_SM_PORT),
        priority,
        state,
    )
}

/// If another SM is master at start, the SM becomes standby whatever its priority, sends no Set,
/// and takes over when the master dies.
#[test]
fn existing_master_is_respected() {
    for priority in [0, 15] {
        let mut lab = Lab::new("fat-tree:4", 1);
        let sm = foreign(&lab, priority, SmState::Master);
        let other = lab.world.add_foreign_sm(SECOND_SM_PORT, sm).unwrap();
        lab.world.run_for(Duration::from_secs(60));
        assert_eq!(lab.role(lab.sm), SmState::Standby);
        assert_eq!(
            lab.world.fabric().all_counters().all_sets(),
            0,
            "the standby sent a Set"
        );
        lab.world.kill(other);
        lab.run_until_correct(90);
        assert_eq!(lab.role(lab.sm), SmState::Master);
    }
}

/// The master offers a handover to a new SM of higher priority, and stays master if the offer is
/// not accepted.
#[test]
fn higher_priority_standby_gets_a_handover() {
    for applies_controls in [true, false] {
        let mut lab = Lab::new("fat-tree:4", 1);
        lab.next_sweep(60);
        let mut sm = foreign(&lab, 9, SmState::Standby);
        if !applies_controls {
            sm.rejected_controls.push(SmControl::Handover);
        }
        let other = lab.world.add_foreign_sm(SECOND_SM_PORT, sm).unwrap();
        lab.world.run_for(Duration::from_secs(40));
        let controls = lab.world.foreign_sm(other).unwrap().controls();
        assert!(controls.contains(&SmControl::Handover));
        let expected = if applies_controls {
            SmState::Standby
        } else {
            SmState::Master
        };
        assert_eq!(lab.role(lab.sm), expected);
        assert!(controls.len() < 3, "handover offered repeatedly");
    }
}

/// A lower-priority SM and a disabled SM change nothing.
#[test]
fn lower_priority_sm_is_ignored() {
    let mut lab = Lab::new("fat-tree:4", 1);
    lab.next_sweep(60);
    let mut sm = foreign(&lab, 0, SmState::Standby);
    sm.info.guid = PortGuid(u64::MAX);
    let other = lab.world.add_foreign_sm(SECOND_SM_PORT, sm).unwrap();
    lab.world.run_for(Duration::from_secs(40));
    assert_eq!(lab.role(lab.sm), SmState::Master);
    assert!(lab.world.foreign_sm(other).unwrap().controls().is_empty());
    lab.assert_correct();
}

/// Adds a second ferrosm SM at `SECOND_SM_PORT`.
fn add_second_sm(lab: &mut Lab, priority: u8) -> SmId {
    let now = lab.world.now();
    let cfg = SmConfig {
        priority,
        ..SmConfig::default()
    };
    lab.world
        .add_sm(
            Some(SECOND_SM_PORT),
            Sm::new(cfg, RestoredState::default(), now),
        )
        .unwrap_or_else(|e| panic!("cannot add the second SM: {e}"))
}

/// Two ferrosm SMs: one is master, the other standby. When the master dies, the standby takes over
/// without writing a table or changing a LID.
#[test]
fn standby_takes_over_without_changing_lids_or_tables() {
    let mut lab = Lab::new("fat-tree:4", 1);
    lab.next_sweep(60);
    let second = add_second_sm(&mut lab, 0);
    lab.world.run_for(Duration::from_secs(60));
    assert_eq!(
        (lab.role(lab.sm), lab.role(second)),
        (SmState::Master, SmState::Standby)
    );
    let before = lab.lids();
    lab.world.fabric_mut().reset_counters();
    lab.world.kill(lab.sm);
    lab.select(second);
    lab.run_until_correct(90);
    assert_eq!(lab.role(second), SmState::Master);
    assert_eq!(lab.lids(), before);
    assert_eq!(
        lab.world.fabric().all_counters().sets(id::LFT),
        0,
        "the SM rewrote unchanged tables"
    );
}

/// The second ferrosm SM has the higher priority: the first hands over to it and becomes standby.
#[test]
fn higher_priority_second_sm_becomes_master() {
    let mut lab = Lab::new("fat-tree:4", 1);
    lab.next_sweep(60);
    let before = lab.lids();
    let second = add_second_sm(&mut lab, 5);
    lab.world.run_for(Duration::from_secs(60));
    assert_eq!(
        (lab.role(lab.sm), lab.role(second)),
        (SmState::Standby, SmState::Master)
    );
    lab.select(second);
    lab.assert_correct();
    assert_eq!(lab.lids(), before);
}

/// After a restart on a running fabric, with or without the LID map, no LID changes and no table is
/// written.
#[test]
fn restart_changes_no_lid_and_writes_no_table() {
    for with_map in [true, false] {
        let mut lab = Lab::new("torus:3,3,1,2;routers=2", 1);
        lab.next_sweep(60);
        let before = lab.lids();
        let map = lab.manager().core().lid_map().clone();
        lab.world.kill(lab.sm);
        lab.world.fabric_mut().reset_counters();
        let restored = RestoredState {
            lids: if with_map { map } else { Default::default() },
            ..RestoredState::default()
        };
        lab.restart_sm(SmConfig::default(), restored);
        assert!(lab.next_sweep(60).is_clean());
        lab.assert_correct();
        assert_eq!(lab.lids(), before);
        assert_eq!(lab.world.fabric().all_counters().sets(id::LFT), 0);
        assert_eq!(lab.last_report().lids_changed, 0);
    }
}
