//! M_Keys that change while other SMs run: rotation by command, and SMs that lack the key in force.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::time::Duration;

use ferrosm_core::config::key_rotation::{KeyKind, KeyRotation};
use ferrosm_core::election::{ElectionNotice, SmMKey};
use ferrosm_core::records::{Record, RecordKind};
use ferrosm_core::{
    Command, CommandFailure, CommandId, CommandOutcome, CommandReply, Event, Input, ReplicaEvent,
    SmConfig,
};
use ferrosm_mad::attr::{PhysState, PortState, SmState, id};
use ferrosm_mad::ids::{AttrMod, MKey, PortGuid, Tid};
use ferrosm_mad::mad::{Address, MadOut};
use ferrosm_mad::smp::SmpRequest;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::SmId;
use ferrosm_tests::lab::{Lab, Sm};

const SPEC: &str = "fat-tree:4";
/// A host far from the SM's.
const OTHER_HOST: PortAt = PortAt::new(7, 1);
const OLD: u64 = 0xAAAA;
const NEW: u64 = 0xBBBB;

fn cfg(priority: u8, key: u64) -> SmConfig {
    SmConfig {
        priority,
        m_key: MKey::new(key),
        m_key_protect_bits: 2,
        ..SmConfig::default()
    }
}

/// A master of priority 5 and a standby of priority 3 with the same M_Key.
fn pair() -> (Lab, SmId) {
    let mut lab = Lab::up(SPEC, 1, cfg(5, OLD));
    let second = lab.add_sm(OTHER_HOST, cfg(3, OLD));
    lab.world.run_for(Duration::from_secs(15));
    assert_eq!(lab.role(second), SmState::Standby);
    (lab, second)
}

/// Number of end ports that do not have this M_Key.
fn ports_without(lab: &Lab, key: u64) -> usize {
    let fabric = lab.world.fabric();
    let ports = fabric.end_ports().filter_map(|at| fabric.port_info(at));
    ports.filter(|info| info.m_key.expose() != key).count()
}

fn result_of(sm: &Sm, id: CommandId) -> Option<Result<CommandOutcome, CommandFailure>> {
    let mut replies = sm.command_replies.iter().filter(|(of, _)| *of == id);
    replies.find_map(|(_, reply)| match reply {
        CommandReply::Done(result) => Some(result.clone()),
        CommandReply::Accepted | CommandReply::Progress(_) => None,
    })
}

fn rotate(lab: &mut Lab, key: u64) -> CommandId {
    lab.command(Command::Rotate(KeyKind::MKey, MKey::new(key)))
}

fn notices(events: &[Event], is: fn(ElectionNotice) -> bool) -> usize {
    let all = events.iter();
    all.filter(|e| matches!(e, Event::Election(about) if is(about.what)))
        .count()
}

/// Sets the M_Key and protect bits of a port by an SMP that is injected at the SM's port.
fn set_key(lab: &mut Lab, at: PortAt, old: u64, new: u64, protect_bits: u8) {
    let known = lab.manager().core().fabric();
    let node = known
        .port_by_guid(lab.world.fabric().port_guid(at))
        .and_then(|p| known.get(p.node));
    let path = node.expect("a known node").path;
    let mut info = lab.world.fabric().port_info(at).expect("an end port");
    info.m_key = MKey::new(new);
    info.m_key_protect_bits = protect_bits;
    info.port_state = PortState::NoChange;
    info.port_physical_state = PhysState::NoChange;
    let mut data = [0; 64];
    info.encode_onto(&mut data);
    let set = SmpRequest::set(id::PORT_INFO, AttrMod(0), MKey::new(old), data);
    let mad = set.directed(&path, Tid(1));
    let to = Address::DIRECTED;
    lab.world.inject(lab.at, &MadOut { to, mad });
    lab.world.run_for(Duration::from_millis(10));
}

/// The key of the master changes, and the standby has the old one: a handover by command and one at
/// a stop name that SM at once, and the master writes in between.
#[test]
fn master_tells_which_standby_lacks_the_key() {
    let (mut lab, second) = pair();
    lab.configure(cfg(5, NEW));
    lab.run_until("the new key", 10, |lab| ports_without(lab, NEW) == 0);
    lab.world.run_for(Duration::from_secs(2));
    let refused = lab.command(Command::Handover);
    lab.world.run_for(Duration::from_secs(2));
    let guid = lab.port_guid(OTHER_HOST);
    let result = result_of(lab.manager(), refused);
    assert!(
        matches!(&result, Some(Err(CommandFailure::NotHandedOver(about))) if about.what == ElectionNotice::LacksMKey(guid)),
        "{result:?}"
    );
    assert_eq!(lab.role(lab.sm), SmState::Master);
    lab.assert_correct();
    let report = lab.manager().core().m_key_report();
    assert_eq!(report.sms, [(guid, SmMKey::Other)]);

    lab.command(Command::Stop);
    lab.world.run_for(Duration::from_secs(2));
    let is_stopped = |e: &Event| {
        matches!(
            e,
            Event::Stopped {
                handed_to: None,
                was_master: true
            }
        )
    };
    assert!(lab.manager().events.iter().any(is_stopped));
    assert_ne!(lab.role(second), SmState::Master);
}

/// A standby of higher priority with another key gets no handover. It is reported once, and gets
/// the subnet when it has the key.
#[test]
fn standby_of_higher_priority_needs_the_key() {
    let (mut lab, second) = pair();
    let first = lab.sm;
    lab.configure(cfg(5, NEW));
    lab.run_until("the new key", 10, |lab| ports_without(lab, NEW) == 0);
    lab.handle(second, Input::Config(Box::new(cfg(9, OLD))));
    lab.world.run_for(Duration::from_secs(60));
    assert_eq!(lab.role(first), SmState::Master, "{}", lab.describe_run());
    lab.assert_correct();
    let is_other = |notice| matches!(notice, ElectionNotice::OtherMKey(_));
    assert_eq!(notices(lab.events(first), is_other), 1);
    lab.handle(second, Input::Config(Box::new(cfg(9, NEW))));
    lab.run_until("the standby with the key", 60, |lab| {
        lab.role(second) == SmState::Master && lab.role(first) == SmState::Standby
    });
}

/// A standby that cannot write the port of the SM that hands over rejects HANDOVER: that port hides
/// its M_Key.
#[test]
fn handover_needs_a_readable_port_of_the_master() {
    let mut lab = Lab::up(SPEC, 1, SmConfig::default());
    let second = lab.add_sm(OTHER_HOST, SmConfig::default());
    lab.world.run_for(Duration::from_secs(15));
    assert_eq!(lab.role(second), SmState::Standby);
    let own = lab.at;
    set_key(&mut lab, own, 0, 0xCCCC, 1);
    let higher = SmConfig {
        priority: 9,
        ..SmConfig::default()
    };
    lab.handle(second, Input::Config(Box::new(higher)));
    lab.world.run_for(Duration::from_secs(40));
    let is_unreadable = |notice| matches!(notice, ElectionNotice::MasterPortUnreadable(_));
    assert!(
        notices(lab.events(second), is_unreadable) > 0,
        "{}",
        lab.describe_run()
    );
    assert_ne!(lab.role(second), SmState::Master);
}

/// Another program changes the M_Key of all ports, except at the host of an SM in `except`.
fn change_all_keys(lab: &mut Lab, old: u64, new: u64) {
    let known = lab.manager().core().fabric();
    let mut far_first: Vec<(usize, PortAt)> = lab
        .world
        .fabric()
        .end_ports()
        .filter_map(|at| {
            let p = known.port_by_guid(lab.world.fabric().port_guid(at))?;
            Some((known.get(p.node)?.path.len(), at))
        })
        .collect();
    far_first.sort_unstable_by(|a, b| b.cmp(a));
    for (_, at) in far_first {
        set_key(lab, at, old, new, 2);
    }
}

/// Another program changes the M_Key of all ports, and a living standby has the new one. The master
/// reads nothing any more and yields within three polling intervals; the standby configures the
/// subnet.
#[test]
fn locked_out_master_yields_to_a_standby_with_the_key() {
    let (mut lab, second) = pair();
    let first = lab.sm;
    change_all_keys(&mut lab, OLD, NEW);
    assert_eq!(ports_without(&lab, NEW), 0);
    lab.handle(second, Input::Config(Box::new(cfg(3, NEW))));
    let polling = SmConfig::default().sm_poll_interval;
    let max_s = 3 * polling.as_secs();
    lab.run_until("the standby is master", max_s, |lab| {
        lab.role(second) == SmState::Master
    });
    assert_ne!(lab.role(first), SmState::Master);
    lab.select(second);
    lab.run_until_correct(60);
    assert_eq!(ports_without(&lab, NEW), 0);
    lab.world.run_for(Duration::from_mins(2));
    assert_eq!(lab.role(second), SmState::Master);
    assert_ne!(lab.role(first), SmState::Master);
}

/// Nobody has the new key: the master stays master, and reports once that its port does not
/// respond. When it has the key, it reports that its port is usable.
#[test]
fn locked_out_master_without_a_successor_stays_and_reports_it() {
    for has_standby in [false, true] {
        let mut lab = Lab::up(SPEC, 1, cfg(5, OLD));
        if has_standby {
            lab.add_sm(OTHER_HOST, cfg(3, OLD));
            lab.world.run_for(Duration::from_secs(15));
        }
        change_all_keys(&mut lab, OLD, NEW);
        lab.world.run_for(Duration::from_secs(60));
        assert_eq!(lab.role(lab.sm), SmState::Master, "{has_standby}");
        let count = |lab: &Lab, is: fn(&Event) -> bool| {
            let events = lab.manager().events.iter();
            events.filter(|e| is(e)).count()
        };
        let unusable = |e: &Event| matches!(e, Event::LocalPortUnusable(_));
        assert_eq!(count(&lab, unusable), 1, "{has_standby}");
        lab.configure(cfg(5, NEW));
        lab.run_until_correct(60);
        let usable = |e: &Event| matches!(e, Event::LocalPortUsable(_));
        lab.run_until("a usable port", 60, |lab| count(lab, usable) == 1);
        assert_eq!(lab.role(lab.sm), SmState::Master, "{has_standby}");
    }
}

/// `takeover` makes a standby discover the subnet as soon as a poll of the master failed. While the
/// master responds, it is refused.
#[test]
fn takeover_replaces_a_silent_master_at_once() {
    let (mut lab, second) = pair();
    lab.handle(second, Command::Takeover.with_id(1));
    let sm = lab.world.sm(second).expect("an SM");
    assert!(matches!(
        result_of(sm, CommandId(1)),
        Some(Err(CommandFailure::NotMaster { .. }))
    ));
    lab.world.kill(lab.sm);
    let is_missed = |notice| matches!(notice, ElectionNotice::MasterPollMissed { .. });
    lab.run_until("a missed poll", 30, |lab| {
        notices(lab.events(second), is_missed) == 1
    });
    lab.handle(second, Command::Takeover.with_id(2));
    lab.world.run_for(Duration::from_secs(3));
    assert_eq!(lab.role(second), SmState::Master, "{}", lab.describe_run());
    let sm = lab.world.sm(second).expect("an SM");
    assert!(matches!(
        result_of(sm, CommandId(2)),
        Some(Ok(CommandOutcome::TookOver))
    ));
}

/// The command ends when all ports have the key. A restart keeps it; a configuration with another
/// key than at the rotation replaces it, and the record is gone.
#[test]
fn rotated_key_survives_restarts_until_the_configuration_changes() {
    let mut lab = Lab::up(SPEC, 1, cfg(5, OLD));
    let rotated = rotate(&mut lab, NEW);
    lab.run_until("the end of the rotation", 30, |lab| {
        result_of(lab.manager(), rotated).is_some()
    });
    let result = result_of(lab.manager(), rotated);
    let Some(Ok(CommandOutcome::MKeyRotated(report))) = result else {
        panic!("{result:?}");
    };
    assert_eq!(report.others(), 0, "{report}");
    assert!(report.is_rotated && report.has_key);
    assert_eq!(ports_without(&lab, NEW), 0);
    let again = rotate(&mut lab, NEW);
    assert!(matches!(
        result_of(lab.manager(), again),
        Some(Err(CommandFailure::KeyInForce(KeyKind::MKey)))
    ));

    let restart = |lab: &mut Lab, key| {
        let now = lab.world.now();
        let old = lab.world.kill(lab.sm).expect("the SM runs");
        lab.world.run_for(Duration::from_millis(1));
        lab.restart_sm(cfg(5, key), old.restored(now));
        assert!(lab.next_sweep(60).is_clean());
    };
    restart(&mut lab, OLD);
    assert_eq!(ports_without(&lab, NEW), 0);
    lab.assert_correct();
    restart(&mut lab, 0xCCCC);
    assert_eq!(ports_without(&lab, 0xCCCC), 0);
    let records = lab.manager().persisted_records.keys();
    let rotations = records.filter(|key| key.kind() == Some(RecordKind::KeyRotation));
    assert_eq!(rotations.count(), 0);
    restart(&mut lab, OLD);
    assert_eq!(ports_without(&lab, OLD), 0, "a record would revive");
}

/// The master dies in the middle of a rotation. The standby, which had the record before any port
/// had the key, completes it with all ports reachable.
#[test]
fn standby_completes_the_rotation_of_a_master_that_died() {
    let mut mixed = 0;
    for steps in (0..).step_by(6) {
        let (mut lab, second) = pair();
        rotate(&mut lab, NEW);
        lab.run_until("the first port has the new key", 60, |lab| {
            ports_without(lab, NEW) < lab.world.fabric().end_ports().count()
        });
        let rotation = KeyRotation {
            kind: KeyKind::MKey,
            key: MKey::new(NEW),
            configured: MKey::new(OLD),
        };
        let event = ReplicaEvent::KeyRotation(KeyKind::MKey, Some(rotation));
        lab.handle(second, Input::Replica(event));
        for _ in 0..steps {
            lab.world.step();
        }
        let is_mixed = ports_without(&lab, NEW) > 0;
        mixed += usize::from(is_mixed);
        let now = lab.world.now();
        let replica = lab.manager().replicated_state(now);
        lab.set_replica(second, replica);
        lab.world.kill(lab.sm);
        lab.run_until("the standby is master", 120, |lab| {
            lab.role(second) == SmState::Master
        });
        lab.select(second);
        lab.run_until_correct(60);
        assert_eq!(ports_without(&lab, NEW), 0, "after {steps} steps");
        if !is_mixed {
            break;
        }
    }
    assert!(mixed > 2, "{mixed}");
}

/// A standby with the record follows the master with both keys: it polls it during the rotation,
/// answers it, and takes over by handover afterwards.
#[test]
fn standby_with_the_record_stays_standby_during_a_rotation() {
    let (mut lab, second) = pair();
    let first = lab.sm;
    let before = lab.events(second).len();
    rotate(&mut lab, NEW);
    let rotation = KeyRotation {
        kind: KeyKind::MKey,
        key: MKey::new(NEW),
        configured: MKey::new(OLD),
    };
    let event = ReplicaEvent::KeyRotation(KeyKind::MKey, Some(rotation));
    lab.handle(second, Input::Replica(event));
    lab.world.run_for(Duration::from_mins(2));
    assert_eq!(lab.role(second), SmState::Standby);
    assert!(
        !lab.events(second)[before..]
            .iter()
            .any(|e| matches!(e, Event::RoleChanged { .. })),
        "{}",
        lab.describe_run()
    );
    let report = lab.manager().core().m_key_report();
    assert_eq!(report.sms, [(lab.port_guid(OTHER_HOST), SmMKey::Same)]);
    lab.command(Command::Handover);
    lab.run_until("the handover", 10, |lab| {
        lab.role(second) == SmState::Master && lab.role(first) == SmState::Standby
    });
    assert_eq!(ports_without(&lab, NEW), 0);
}

/// A standby without a replica restarts with the next key before the master has it: it still reads
/// the ports when it becomes master.
#[test]
fn restarted_standby_knows_the_earlier_key() {
    let (mut lab, second) = pair();
    let now = lab.world.now();
    let old = lab.world.kill(second).expect("the SM runs");
    let restored = old.restored(now);
    let earlier = MKey::new(OLD);
    assert_eq!(restored.m_keys.get(&Record::EARLIER_KEY), Some(&earlier));
    let own = lab.world.now();
    let restarted = lab.start_sm(OTHER_HOST, Sm::new(cfg(3, NEW), restored, own));
    lab.world.run_for(Duration::from_secs(15));
    lab.world.kill(lab.sm);
    lab.run_until("the standby is master", 120, |lab| {
        lab.role(restarted) == SmState::Master
    });
    lab.select(restarted);
    lab.run_until_correct(60);
    lab.run_until("the new key", 60, |lab| ports_without(lab, NEW) == 0);
    lab.run_until("one record for all ports", 60, |lab| {
        let records = lab.manager().restored(lab.world.now()).m_keys;
        records.into_iter().eq([(PortGuid(0), MKey::new(NEW))])
    });
}
