//! Who has which LID when masters change: what the last one gave out, and nothing that this one remembers from another time.

use std::time::Duration;

use ferrosm_core::{RestoredState, SmConfig};
use ferrosm_mad::attr::SmState;
use ferrosm_mad::ids::{Lid, PortGuid};
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::multicast_members::hosts;
use ferrosm_tests::simulated::{Lab, Sm};

/// A host far from the master's.
const THERE: PortAt = PortAt::new(7, 1);
/// A port that is long gone, and goes before all others in a map.
const GONE: PortGuid = PortGuid(1);

fn cfg(priority: u8) -> SmConfig {
    SmConfig {
        priority,
        sm_poll_interval: Duration::from_secs(1),
        sm_poll_retries: 2,
        ..SmConfig::default()
    }
}

/// A standby remembers from long ago who had a LID that its master gave to another since, who reboots just now. The standby takes
/// over with that one's map: the LID waits for whom the master gave it to.
#[test]
fn lid_map_of_an_earlier_term_takes_no_lid_of_an_absent_host() {
    let mut lab = Lab::up("fat-tree:4", 1, cfg(5));
    let away = hosts(&lab)[9];
    let (lid, lmc) = lab.world.fabric().lid(away);
    assert_ne!(lid, Lid::NONE);
    let old = RestoredState {
        lids: [(GONE, (lid, ferrosm_mad::ids::Lmc(lmc)))].into(),
        ..RestoredState::default()
    };
    let sm = Sm::new(cfg(0), old, lab.world.now());
    let second = lab.world.add_sm(Some(THERE), sm);
    let second = second.unwrap_or_else(|e| panic!("{e}"));
    lab.world.run_for(Duration::from_secs(30));
    let power = |lab: &mut Lab, action| lab.world.act(action).unwrap_or_else(|e| panic!("{e}"));
    power(&mut lab, FabricAction::PowerOff(away.node));
    lab.world.run_for(Duration::from_secs(30));
    let copy = RestoredState {
        complete: true,
        ..lab.manager().replicated_state(lab.world.now())
    };
    assert!(copy.lids.contains_key(&lab.world.fabric().port_guid(away)));
    lab.world.with_sm(second, |sm, _| sm.replica = Some(copy));
    lab.world.kill(lab.sm);
    (lab.sm, lab.at) = (second, THERE);
    lab.next_sweep(60);
    assert_eq!(lab.manager().core().role(), SmState::Master);
    power(&mut lab, FabricAction::PowerOn(away.node));
    lab.world.run_for(Duration::from_secs(30));
    assert_eq!(lab.world.fabric().lid(away), (lid, lmc), "{}", lab.repeat());
    lab.assert_correct();
}
