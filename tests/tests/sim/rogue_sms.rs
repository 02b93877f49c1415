//! SMs that are not on the allow-list or do not know the SM_Key, and hosts that forge controls:
//! they never become master, are not obeyed, and are reported with their location.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::election::ElectionNotice;
use ferrosm_core::event::{AboutSm, SmLocation};
use ferrosm_core::{Command, Event, SmConfig};
use ferrosm_fabric::location::PortName;
use ferrosm_mad::attr::{SmControl, SmInfo, SmState, id};
use ferrosm_mad::ids::{AttrMod, MKey, PortGuid, PortNum, Tid};
use ferrosm_mad::mad::{Address, Mad, MadOut, Method};
use ferrosm_mad::smp::{self, SmpRequest};
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::{ForeignSm, SmId};
use ferrosm_tests::lab::Lab;

use crate::election::{
    OTHER_HOST, OTHER_SM_PORT, cfg, dr_path, set_sm_info, set_sm_info_from, start_master,
};

/// A ferrosm master whose allow-list contains no other SM.
fn with_empty_allow_list() -> Lab {
    let mut lab = start_master(5);
    let own_port_guid = lab.world.fabric().port_guid(lab.at);
    let allowed = SmConfig {
        allowed_sms: Some(Arc::new(BTreeSet::from([own_port_guid]))),
        ..cfg(Some(&lab), 5)
    };
    lab.configure(allowed);
    lab
}

fn alarms(lab: &Lab) -> Vec<AboutSm<ElectionNotice>> {
    let mut alarms = Vec::new();
    for event in lab.events(lab.sm) {
        if let Event::Election(alarm) = event
            && alarm.what.is_alarm()
        {
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

/// An SM that is not on the allow-list never becomes master, whatever its priority. The master
/// raises one alarm with its location, one notice when it is gone, and another alarm when it
/// returns.
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
        assert_eq!(lab.role(lab.sm), SmState::Master);
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
            lab.command(Command::Sweep);
            assert!(lab.next_sweep(60).is_clean());
        }
        let is_gone_notice = |e: &&Event| {
            let Event::Election(about) = e else {
                return false;
            };
            matches!(about.what, ElectionNotice::IgnoredSmGone(_))
        };
        assert_eq!(
            lab.events(lab.sm).iter().filter(is_gone_notice).count(),
            times
        );
    }
}

/// Controls that a host sends in the name of many SMs raise one alarm with the port of that host,
/// and do not suppress the alarm about an SM off the allow-list.
#[test]
fn forged_guids_do_not_hide_a_rogue_sm() {
    let mut lab = with_empty_allow_list();
    let guid = lab.world.fabric().port_guid(OTHER_SM_PORT);
    for forged_guid in [guid].into_iter().chain((1..=70).map(PortGuid)) {
        set_sm_info(&mut lab, SmControl::Handover, 15, forged_guid);
    }
    lab.world.run_for(Duration::from_secs(1));
    let forged = alarms(&lab);
    assert_eq!(forged.len(), 1, "{forged:?}");
    assert_eq!(forged[0].what.about(), Some(guid), "{forged:?}");
    add_rogue(&mut lab);
    assert_eq!(lab.role(lab.sm), SmState::Master);
    let found = alarms(&lab).split_off(forged.len());
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].what.about(), Some(guid), "{found:?}");
    let is_located = matches!(
        found[0].location,
        Some(SmLocation::Port { peer: Some(_), .. })
    );
    assert!(is_located, "{found:?}");
}

/// The SM_Key of the master in the tests of SMs without it.
const SM_KEY: MKey = MKey::new(0xFEED_FACE_CAFE);

/// A ferrosm master of priority 5 with [`SM_KEY`].
fn with_sm_key() -> Lab {
    let cfg = SmConfig {
        priority: 5,
        sm_key: SM_KEY,
        ..SmConfig::default()
    };
    Lab::up("fat-tree:4", 1, cfg)
}

fn add_foreign(lab: &mut Lab, at: PortAt, state: SmState, sm_key: MKey) -> SmId {
    let guid = lab.world.fabric().port_guid(at);
    let mut foreign = ForeignSm::new(guid, 15, state);
    foreign.info.sm_key = sm_key;
    let foreign = lab.world.add_foreign_sm(at, foreign);
    foreign.unwrap_or_else(|e| panic!("{e}"))
}

/// The MADs that a foreign SM received.
fn received(lab: &Lab, id: SmId) -> Vec<Mad> {
    let foreign = lab.world.foreign_sm(id);
    let foreign = foreign.unwrap_or_else(|| panic!("no foreign SM"));
    foreign
        .log
        .iter()
        .map(|(_, received)| received.mad)
        .collect()
}

fn contains_key(mad: &Mad) -> bool {
    let key = SM_KEY.expose().to_be_bytes();
    mad.as_bytes().windows(8).any(|bytes| bytes == key)
}

/// An SM of the highest priority that shows SM_Key 0 gets no HANDOVER and never receives the key,
/// in whatever state it is. The master continues to serve the fabric.
#[test]
fn sm_with_key_0_gets_neither_the_subnet_nor_the_key() {
    for state in [SmState::Discovering, SmState::Standby, SmState::Master] {
        let mut lab = with_sm_key();
        let rogue = add_foreign(&mut lab, OTHER_SM_PORT, state, MKey::NONE);
        lab.world.run_for(Duration::from_mins(1));
        assert_eq!(lab.role(lab.sm), SmState::Master, "{state}");
        let mads = received(&lab, rogue);
        assert!(mads.len() > 2, "the SM was queried: {mads:?}");
        assert!(!mads.iter().any(contains_key), "{state}");
        assert!(lab.world.foreign_sm(rogue).unwrap().controls().is_empty());
        let alarms = alarms(&lab);
        let is_mismatch =
            |a: &AboutSm<ElectionNotice>| matches!(a.what, ElectionNotice::SmKeyMismatch(_));
        assert!(alarms.iter().any(is_mismatch), "{alarms:?}");
        lab.world.fabric_mut().reboot(OTHER_HOST.node);
        lab.run_until_correct(60);
    }
}

/// An SM that starts is not stopped by one without the SM_Key that says it is master.
#[test]
fn sm_with_key_0_does_not_prevent_the_start() {
    let mut lab = Lab::with("fat-tree:4", 1, SmConfig::default());
    add_foreign(&mut lab, OTHER_SM_PORT, SmState::Master, MKey::NONE);
    assert!(lab.next_sweep(60).is_clean());
    assert_eq!(lab.role(lab.sm), SmState::Master);
}

/// Get(SMInfo) shows the SM_Key to an SM that shows it when it is queried, and 0 to any other SM
/// and to hosts.
#[test]
fn sm_key_is_shown_to_sms_that_show_it() {
    for (sm_key, is_shown) in [(SM_KEY, true), (MKey::NONE, false), (MKey::new(2), false)] {
        let mut lab = with_sm_key();
        // An SM that has just started: it queries the master before the master knows of it.
        let guid = lab.world.fabric().port_guid(OTHER_SM_PORT);
        let mut foreign = ForeignSm::new(guid, 0, SmState::Discovering);
        foreign.info.sm_key = sm_key;
        let foreign = lab.world.add_foreign_sm(OTHER_SM_PORT, foreign).unwrap();
        let path = dr_path(&lab, OTHER_SM_PORT, lab.at);
        let lid = lab.world.fabric().lid(lab.at).0;
        let request = SmpRequest::get(id::SM_INFO, AttrMod(0), MKey::NONE);
        for (to, mad) in [
            (Address::DIRECTED, request.directed(&path, Tid(5))),
            (Address::smp(lid), request.lid_routed(Tid(6))),
        ] {
            lab.world.inject(OTHER_SM_PORT, &MadOut { to, mad });
            lab.world.run_for(Duration::from_secs(1));
        }
        let mads = received(&lab, foreign);
        let answers = mads.iter().filter(|mad| mad.method() == Method::GetResp);
        let shown: Vec<MKey> = answers
            .map(|mad| SmInfo::decode(smp::data(mad)).sm_key)
            .collect();
        let expected = if is_shown { SM_KEY } else { MKey::NONE };
        assert_eq!(shown, [expected; 2], "{sm_key:?}");
    }
}

/// Two ferrosm SMs, which both show the key only to SMs that know it, elect one master without an
/// M_Key, and hand over.
#[test]
fn ferrosm_sms_prove_their_key_to_each_other() {
    let mut lab = with_sm_key();
    let cfg = SmConfig {
        priority: 9,
        sm_key: SM_KEY,
        ..SmConfig::default()
    };
    let second = lab.add_sm(OTHER_SM_PORT, cfg);
    lab.world.run_for(Duration::from_secs(30));
    let roles = [lab.role(lab.sm), lab.role(second)];
    assert_eq!(roles, [SmState::Standby, SmState::Master]);
    assert_eq!(alarms(&lab), []);
}

/// A standby obeys its master's controls, but not those that other hosts send in its name: hosts
/// without an SM, and SMs with and without the SM_Key.
#[test]
fn control_is_obeyed_only_if_its_source_confirms_it() {
    for source in [None, Some(MKey::NONE), Some(ForeignSm::SM_KEY)] {
        let mut lab = Lab::with("fat-tree:4", 1, SmConfig::default());
        let master = lab.world.fabric().port_guid(OTHER_SM_PORT);
        add_foreign(&mut lab, OTHER_SM_PORT, SmState::Master, ForeignSm::SM_KEY);
        if let Some(sm_key) = source {
            add_foreign(&mut lab, OTHER_HOST, SmState::Standby, sm_key);
        }
        lab.world.run_for(Duration::from_secs(30));
        assert_eq!(lab.role(lab.sm), SmState::Standby);
        for control in [SmControl::Disable, SmControl::Handover, SmControl::Discover] {
            set_sm_info_from(&mut lab, OTHER_HOST, control, 15, master);
            lab.world.run_for(Duration::from_secs(1));
            assert_eq!(lab.role(lab.sm), SmState::Standby, "{control} {source:?}");
        }
        let forged = alarms(&lab);
        let is_forged = |a: &&AboutSm<ElectionNotice>| {
            matches!(
                a.what,
                ElectionNotice::ControlUnconfirmed { .. } | ElectionNotice::SmKeyMismatch(_)
            )
        };
        assert_eq!(forged.iter().filter(is_forged).count(), 1, "{forged:?}");
        set_sm_info(&mut lab, SmControl::Disable, 15, master);
        assert_eq!(lab.role(lab.sm), SmState::NotActive, "{source:?}");
    }
}

/// A standby that appears, hangs, responds again and leaves is reported by the master.
#[test]
fn standbys_are_reported() {
    let mut lab = Lab::up(
        "fat-tree:4",
        1,
        SmConfig {
            priority: 5,
            ..SmConfig::default()
        },
    );
    let guid = lab.world.fabric().port_guid(OTHER_SM_PORT);
    let standby = ForeignSm::new(guid, 0, SmState::Standby);
    let standby = lab.world.add_foreign_sm(OTHER_SM_PORT, standby).unwrap();
    let sweep = |lab: &mut Lab| {
        lab.command(Command::Sweep);
        lab.next_sweep(60);
    };
    sweep(&mut lab);
    lab.world.set_paused(standby, true);
    sweep(&mut lab);
    lab.world.set_paused(standby, false);
    sweep(&mut lab);
    lab.world.kill(standby);
    sweep(&mut lab);
    sweep(&mut lab);
    let mut reported = Vec::new();
    for event in lab.events(lab.sm) {
        if let Event::Election(about) = event {
            reported.push(about.what);
        }
    }
    let appeared = ElectionNotice::SmAppeared(guid, SmState::Standby, 0);
    assert_eq!(
        reported,
        [
            appeared,
            ElectionNotice::SmSilent(guid),
            appeared,
            ElectionNotice::SmGone(guid)
        ]
    );
}
