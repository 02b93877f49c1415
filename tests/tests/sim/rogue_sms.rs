//! SMs that are not on the allow-list: they never become master, and the master reports them with their location.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::election::ElectionNotice;
use ferrosm_core::event::{AboutSm, Observation, SmLocation};
use ferrosm_core::{Command, Event, Input, PortName, SmConfig};
use ferrosm_mad::attr::{SmControl, SmState};
use ferrosm_mad::ids::{PortGuid, PortNum};
use ferrosm_sim::world::{ForeignSm, SmId};
use ferrosm_tests::simulated::Lab;

use crate::election::{OTHER_SM_PORT, cfg, events, role, set_sm_info, start_master};

/// A ferrosm master whose allow-list contains no other SM.
fn with_empty_allow_list() -> Lab {
    let mut lab = start_master(5);
    let own_port_guid = lab.world.fabric().port_guid(lab.at);
    let allowed = SmConfig {
        allowed_sms: Some(Arc::new(BTreeSet::from([own_port_guid]))),
        ..cfg(Some(&lab), 5)
    };
    lab.world.with_sm(lab.sm, |sm, now| {
        sm.command(Input::Config(Box::new(allowed)), now);
    });
    lab
}

fn alarms(lab: &Lab) -> Vec<AboutSm<ElectionNotice>> {
    let mut alarms = Vec::new();
    for event in events(lab, lab.sm) {
        if let Event::Alarm(alarm) = event {
            alarms.push(*alarm);
        }
    }
    alarms
}

fn add_rogue(lab: &mut Lab) -> SmId {
    let guid = lab.world.fabric().port_guid(OTHER_SM_PORT);
    let rogue = ForeignSm::new(guid, 15, SmState::Standby);
    let rogue = lab.world.add_foreign_sm(OTHER_SM_PORT, rogue);
    lab.world.run_for(Duration::from_mins(1));
    rogue.unwrap_or_else(|e| panic!("{e}"))
}

/// An SM that is not on the allow-list never becomes master, whatever its priority. The master raises one alarm with its location, one
/// notice when it is gone, and another alarm when it returns.
#[test]
fn sm_off_the_allow_list_raises_an_alarm() {
    let mut lab = with_empty_allow_list();
    let guid = |node: usize| lab.world.fabric().node_guid(node);
    let links = lab.spec.links.iter();
    let mut directed_links = links.flat_map(|l| [(l.a, l.b), (l.b, l.a)]);
    let (_, switch) = directed_links
        .find(|(host, _)| *host == OTHER_SM_PORT)
        .unwrap();
    // The node of that SM, and the switch port that it is connected to.
    let expected_location = (
        guid(OTHER_SM_PORT.node),
        Some((guid(switch.node), PortNum(switch.port))),
    );
    for times in 1..=2 {
        let rogue = add_rogue(&mut lab);
        assert_eq!(role(&lab, lab.sm), SmState::Master);
        assert!(lab.world.foreign_sm(rogue).unwrap().controls().is_empty());
        let alarms = alarms(&lab);
        assert_eq!(alarms.len(), times, "{alarms:?}");
        let last = alarms.last().unwrap();
        let Some(SmLocation::Port { port, peer }) = last.location else {
            panic!("no port in {last}");
        };
        let guid = |port: PortName| port.node.unwrap().guid;
        let reported = (guid(port), peer.map(|peer| (guid(peer), peer.port)));
        assert_eq!(reported, expected_location, "{last}");
        lab.world.kill(rogue);
        for _ in 0..2 {
            lab.world
                .with_sm(lab.sm, |sm, now| sm.command(Command::Sweep.with_id(0), now));
            assert!(lab.next_sweep(60).is_clean());
        }
        let is_gone_notice = |e: &&Event| {
            let Event::Observation(Observation::Election(about)) = e else {
                return false;
            };
            matches!(about.what, ElectionNotice::IgnoredSmGone(_))
        };
        assert_eq!(
            events(&lab, lab.sm).iter().filter(is_gone_notice).count(),
            times
        );
    }
}

/// SMInfo Sets with forged GUIDs do not suppress the alarm about an SM off the allow-list, nor its location.
#[test]
fn forged_guids_do_not_hide_a_rogue_sm() {
    let mut lab = with_empty_allow_list();
    let guid = lab.world.fabric().port_guid(OTHER_SM_PORT);
    for forged_guid in [guid].into_iter().chain((1..=70).map(PortGuid)) {
        set_sm_info(&mut lab, SmControl::Handover, 15, forged_guid);
    }
    let forged = alarms(&lab);
    assert!((1..=64).contains(&forged.len()), "{}", forged.len());
    assert_eq!(forged[0].what.about(), Some(guid), "{forged:?}");
    add_rogue(&mut lab);
    assert_eq!(role(&lab, lab.sm), SmState::Master);
    let found = alarms(&lab).split_off(forged.len());
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].what.about(), Some(guid), "{found:?}");
    let is_located = matches!(
        found[0].location,
        Some(SmLocation::Port { peer: Some(_), .. })
    );
    assert!(is_located, "{found:?}");
}
