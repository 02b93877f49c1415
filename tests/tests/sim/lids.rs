//! LID assignment across master changes: the new master uses the last master's LID map, and no
//! entry of its own earlier one.

use std::time::Duration;

use ferrosm_core::{RestoredState, SmConfig};
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::{Lid, PortGuid};
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::{Lab, Sm};

/// A host far from the master's, where the standby runs.
const STANDBY_PORT: PortAt = PortAt::new(7, 1);
/// A port that is no longer in the fabric. Its GUID sorts before all others in a LID map.
const REMOVED_PORT: PortGuid = PortGuid(1);

fn cfg(priority: u8) -> SmConfig {
    SmConfig {
        priority,
        sm_poll_interval: Duration::from_secs(1),
        sm_poll_retries: 2,
        ..SmConfig::default()
    }
}

/// A standby's old LID map assigns a LID to a removed port. Its master has since assigned that LID
/// to another host, which is off. The standby takes over with the master's map: the LID stays
/// reserved for that host.
#[test]
fn lid_map_of_an_earlier_term_takes_no_lid_of_an_absent_host() {
    let mut lab = Lab::up("fat-tree:4", 1, cfg(5));
    let absent_host = lab.hosts()[9];
    let (lid, lmc) = lab.world.fabric().lid(absent_host);
    assert_ne!(lid, Lid::NONE);
    let old = RestoredState {
        lids: [(REMOVED_PORT, (lid, ferrosm_mad::ids::Lmc(lmc)))].into(),
        ..RestoredState::default()
    };
    let sm = Sm::new(cfg(0), old, lab.world.now());
    let second = lab.start_sm(STANDBY_PORT, sm);
    lab.world.run_for(Duration::from_secs(30));
    let power = |lab: &mut Lab, action| lab.world.act(action).unwrap_or_else(|e| panic!("{e}"));
    power(&mut lab, FabricAction::PowerOff(absent_host.node));
    lab.world.run_for(Duration::from_secs(30));
    let replica = RestoredState {
        complete: true,
        ..lab.manager().replicated_state(lab.world.now())
    };
    assert!(
        replica
            .lids
            .contains_key(&lab.world.fabric().port_guid(absent_host))
    );
    lab.set_replica(second, replica);
    lab.world.kill(lab.sm);
    lab.select(second);
    lab.next_sweep(60);
    assert_eq!(lab.manager().core().role(), SmState::Master);
    power(&mut lab, FabricAction::PowerOn(absent_host.node));
    lab.world.run_for(Duration::from_secs(30));
    assert_eq!(
        lab.world.fabric().lid(absent_host),
        (lid, lmc),
        "{}",
        lab.describe_run()
    );
    lab.assert_correct();
}

/// A standby without a replica takes over with a LID map of an earlier term: Active ports retain
/// the LIDs that their master assigned.
#[test]
fn active_ports_retain_their_lids_at_a_takeover_without_a_replica() {
    let mut lab = Lab::up("fat-tree:4", 1, cfg(5));
    let assigned = lab.manager().core().lid_map().clone();
    // The same LIDs, each of another port.
    let lids = assigned.values().copied().cycle().skip(1);
    let old = RestoredState {
        lids: assigned.keys().copied().zip(lids).collect(),
        ..RestoredState::default()
    };
    let sm = Sm::new(cfg(0), old, lab.world.now());
    let second = lab.start_sm(STANDBY_PORT, sm);
    lab.world.run_for(Duration::from_secs(30));
    lab.world.kill(lab.sm);
    lab.select(second);
    lab.next_sweep(60);
    assert_eq!(lab.manager().core().role(), SmState::Master);
    lab.assert_correct();
    assert_eq!(*lab.manager().core().lid_map(), assigned);
}
