//! Planned master changes while the successor is not ready: it is still starting, or its replica is
//! incomplete.

use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::election::ElectionNotice;
use ferrosm_core::records::{Record, RecordChange, RecordUpdate};
use ferrosm_core::{Command, Event, Input, ReplicaEvent, RestoredState, SmConfig};
use ferrosm_mad::attr::{NodeType, SmState, id};
use ferrosm_mad::ids::{Lid, Lmc, PortGuid};
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::SmId;
use ferrosm_tests::lab::{Lab, Sm};
use ferrosm_tests::sa::members::{BROADCAST, Members, try_join_broadcast, try_path};

/// A host far from the master's, where the standby runs.
const STANDBY_PORT: PortAt = PortAt::new(7, 1);
const STEP: Duration = Duration::from_millis(10);
/// Time within which the daemon exits, even without a successor.
const LEAVE_WITHIN: Duration = Duration::from_secs(10);

/// A master, and a standby of lower priority whose replica is incomplete.
fn master_and_synchronising_standby() -> (Lab, SmId) {
    let template = Lab::new("fat-tree:4", 1);
    let fabric = template.world.fabric();
    let peers = [template.at, STANDBY_PORT].map(|at| fabric.port_guid(at));
    let cfg = |priority| SmConfig {
        priority,
        peer_sms: Arc::new(peers.into()),
        ..SmConfig::default()
    };
    let mut lab = Lab::up("fat-tree:4", 1, cfg(5));
    let sm = Sm::new(cfg(1), RestoredState::default(), lab.world.now()).with_replication();
    let second = lab.start_sm(STANDBY_PORT, sm);
    lab.world.run_for(Duration::from_secs(30));
    // The standby waits for its replica again, for ten seconds.
    lab.handle(second, Input::Replica(ReplicaEvent::OutOfSync));
    lab.world.run_for(Duration::from_secs(2));
    assert_eq!(
        [lab.role(lab.sm), lab.role(second)],
        [SmState::Master, SmState::Standby]
    );
    (lab, second)
}

/// The standby's replica is in sync.
fn synchronise(lab: &mut Lab, id: SmId) {
    let master = lab.world.fabric().port_guid(lab.at);
    lab.edit(id, |sm, now| sm.replica_in_sync(master, now));
}

fn count_events(lab: &Lab, predicate: fn(&Event) -> bool) -> usize {
    let events = lab.manager().events.iter();
    events.filter(|e| predicate(e)).count()
}

const fn is_not_ready(event: &Event) -> bool {
    matches!(event, Event::Election(about) if matches!(about.what, ElectionNotice::SuccessorNotReady(_)))
}

/// Time until the second SM is master; `None` if it exceeds `max`.
fn takeover_time(lab: &mut Lab, second: SmId, max: Duration) -> Option<Duration> {
    let mut waited = Duration::ZERO;
    while waited < max {
        if lab.role(second) == SmState::Master {
            return Some(waited);
        }
        lab.world.run_for(STEP);
        waited += STEP;
    }
    None
}

/// An operator's handover does not wait for a replica: it is rejected with the reason, and succeeds
/// when it is repeated later.
#[test]
fn synchronising_standby_gets_no_handover() {
    let (mut lab, second) = master_and_synchronising_standby();
    lab.command(Command::Handover);
    lab.world.run_for(Duration::from_secs(30));
    assert_eq!(lab.role(lab.sm), SmState::Master, "{}", lab.describe_run());
    assert_eq!(count_events(&lab, is_not_ready), 1);
    lab.assert_correct();
    synchronise(&mut lab, second);
    lab.world.run_for(Duration::from_secs(1));
    lab.command(Command::Handover);
    let taken = takeover_time(&mut lab, second, Duration::from_secs(1));
    assert!(taken.is_some(), "{}", lab.describe_run());
}

/// SIGTERM: the master waits until the standby's replica is complete, answers reads meanwhile, and
/// then hands over quickly.
#[test]
fn stop_waits_for_the_replica() {
    let (mut lab, second) = master_and_synchronising_standby();
    lab.command(Command::Stop);
    let early = takeover_time(&mut lab, second, Duration::from_millis(3500));
    assert_eq!(early, None, "{}", lab.describe_run());
    assert_eq!(lab.role(lab.sm), SmState::Master);
    assert!(
        lab.manager().core().view().is_some(),
        "the view is still served"
    );
    assert_eq!(count_events(&lab, is_not_ready), 1);
    // The standby notifies its master; if the message is lost, the next SMInfo scan finds it.
    synchronise(&mut lab, second);
    let taken = takeover_time(&mut lab, second, Duration::from_millis(1100));
    assert!(taken.is_some(), "{}", lab.describe_run());
    lab.world.run_for(Duration::from_secs(3));
    let handed_over = |e: &Event| {
        matches!(
            e,
            Event::Stopped {
                handed_to: Some(_),
                ..
            }
        )
    };
    assert_eq!(count_events(&lab, handed_over), 1);
    lab.world.kill(lab.sm);
    lab.select(second);
    lab.run_until_correct(30);
}

/// No standby becomes ready: the master hands over to one without a replica before the time limit
/// of the daemon.
#[test]
fn stop_waits_a_bounded_time() {
    let (mut lab, second) = master_and_synchronising_standby();
    lab.command(Command::Stop);
    let taken = takeover_time(&mut lab, second, LEAVE_WITHIN)
        .unwrap_or_else(|| panic!("{} no SM took over", lab.describe_run()));
    assert!(
        taken > Duration::from_secs(5),
        "handed over after {taken:?}"
    );
}

/// The standby that the master waits for dies: the stop completes without a successor as soon as
/// the master detects that.
#[test]
fn stop_without_remaining_standby_is_immediate() {
    let (mut lab, second) = master_and_synchronising_standby();
    lab.command(Command::Stop);
    lab.world.run_for(Duration::from_millis(1500));
    lab.world.kill(second);
    lab.world.run_for(Duration::from_secs(4));
    let stopped_without_successor = |e: &Event| {
        matches!(
            e,
            Event::Stopped {
                handed_to: None,
                was_master: true
            }
        )
    };
    assert_eq!(count_events(&lab, stopped_without_successor), 1);
    assert_eq!(lab.role(lab.sm), SmState::NotActive);
}

/// The subnet is handed back to an SM that is still answering reads. It rejects registrations,
/// because the replica that it is about to load would overwrite them.
#[test]
fn no_registration_before_the_replica_is_loaded() {
    let (mut lab, second) = master_and_synchronising_standby();
    let first = lab.sm;
    synchronise(&mut lab, second);
    lab.world.run_for(Duration::from_secs(1));
    lab.handle(first, Command::Handover.with_id(0));
    let taken = takeover_time(&mut lab, second, Duration::from_secs(1));
    assert!(taken.is_some(), "{}", lab.describe_run());
    lab.edit(first, |sm, _| sm.defers_replica_load = true);
    lab.handle(second, Command::Stop.with_id(0));
    let back = takeover_time(&mut lab, first, Duration::from_secs(1));
    assert!(back.is_some() && lab.manager().awaits_replica());
    let mut members = Members::new();
    let host = *lab.hosts().last().unwrap();
    assert_eq!(try_join_broadcast(&mut lab, first, host, 1), None);
    let replica = lab.edit(second, |sm, now| sm.replicated_state(now));
    lab.edit(first, |sm, now| sm.end_load(Some(replica), Some(true), now));
    lab.world.run_for(Duration::from_secs(1));
    let joined = members.join(&mut lab, host, BROADCAST, JoinState::FULL);
    assert!(joined.is_ok(), "{joined:?}");
}

/// Across a handover and its return, no join or path query of a host is answered with an error
/// status by either SM. The final master accepts them.
#[test]
fn no_request_is_rejected_across_a_handover() {
    let (mut lab, second) = master_and_synchronising_standby();
    let first = lab.sm;
    synchronise(&mut lab, second);
    lab.world.run_for(Duration::from_secs(1));
    let all_hosts = lab.hosts();
    let mut tid = 0;
    for (from, to) in [(first, second), (second, first)] {
        lab.handle(from, Command::Handover.with_id(0));
        let mut accepted = 0;
        for (n, host) in all_hosts.iter().cycle().take(400).enumerate() {
            for sm in [first, second] {
                tid += 2;
                let replies = [
                    try_join_broadcast(&mut lab, sm, *host, tid),
                    try_path(&mut lab, sm, *host, all_hosts[n % 3], tid + 1),
                ];
                let refused = replies.into_iter().flatten().find(|s| !s.is_ok());
                assert_eq!(refused, None, "{} {host:?} at {n}", lab.describe_run());
                accepted += usize::from(sm == to && replies.iter().all(Option::is_some));
            }
            lab.world.run_for(STEP);
        }
        assert_eq!(lab.role(to), SmState::Master, "{}", lab.describe_run());
        assert!(accepted > 0, "{}", lab.describe_run());
    }
}

/// The master dies. Of two standbys, the one with the higher priority has just joined and its
/// replica is incomplete: the other one, with a complete replica, becomes master first, and later
/// hands over to the former.
#[test]
fn standby_with_replica_outranks_standby_without() {
    const BETTER: PortAt = PortAt::new(9, 1);
    let template = Lab::new("fat-tree:4", 1);
    let fabric = template.world.fabric();
    let peers = [template.at, STANDBY_PORT, BETTER].map(|at| fabric.port_guid(at));
    let cfg = |priority| SmConfig {
        priority,
        peer_sms: Arc::new(peers.into()),
        ..SmConfig::default()
    };
    let mut lab = Lab::up("fat-tree:4", 1, cfg(5));
    let mut add = |at, priority, incomplete| {
        let mut sm = Sm::new(cfg(priority), RestoredState::default(), lab.world.now());
        if incomplete {
            sm = sm.with_replication();
        }
        let id = lab.start_sm(at, sm);
        // A standby waits at most ten seconds for its replica; after that the master would hand
        // over to it.
        lab.world.run_for(Duration::from_secs(5));
        id
    };
    let ready = add(STANDBY_PORT, 1, false);
    let better = add(BETTER, 9, true);
    assert_eq!(lab.role(lab.sm), SmState::Master);
    assert_eq!(
        [ready, better].map(|id| lab.role(id)),
        [SmState::Standby; 2]
    );
    let first = lab.sm;
    lab.world.kill(first);
    let taken = takeover_time(&mut lab, ready, Duration::from_secs(8));
    assert!(taken.is_some(), "{}", lab.describe_run());
    lab.world.run_for(Duration::from_secs(5));
    assert_eq!(
        [ready, better].map(|id| lab.role(id)),
        [SmState::Master, SmState::Standby]
    );
    synchronise(&mut lab, better);
    let taken = takeover_time(&mut lab, better, Duration::from_secs(5));
    assert!(taken.is_some(), "{}", lab.describe_run());
}

/// A standby takes over with its own LID map, because the master's records cannot be read. No LID
/// record of the master remains.
#[test]
fn takeover_without_replica_replaces_the_lid_records() {
    let (mut lab, second) = master_and_synchronising_standby();
    let mut records = lab.manager().persisted_records.clone();
    let stale = Record::Lid {
        port: PortGuid(0xDEAD),
        lid: Lid(4),
        lmc: Lmc(0),
    };
    if let RecordChange::Put(key, value) = RecordUpdate::Put(stale).to_change(0) {
        records.insert(key, value);
    }
    lab.edit(second, |sm, now| sm.replace_records(records, None, now));
    lab.world.kill(lab.sm);
    let taken = takeover_time(&mut lab, second, Duration::from_secs(30));
    assert!(taken.is_some(), "{}", lab.describe_run());
    lab.world.run_for(Duration::from_secs(5));
    let sm = lab.world.sm(second).unwrap();
    let persisted = sm.restored(lab.world.now()).lids;
    assert_eq!(&persisted, sm.core().lid_map());
}

/// A handover that is requested while a sweep writes tables follows at the end of that sweep.
#[test]
fn handover_follows_the_writes_of_the_running_sweep() {
    let template = Lab::new("fat-tree:4", 1);
    let fabric = template.world.fabric();
    let peers = [template.at, STANDBY_PORT].map(|at| fabric.port_guid(at));
    let cfg = |priority| SmConfig {
        priority,
        peer_sms: Arc::new(peers.into()),
        ..SmConfig::default()
    };
    let mut lab = Lab::up("fat-tree:4", 1, cfg(5));
    let second = lab.add_sm(STANDBY_PORT, cfg(1));
    lab.world.run_for(Duration::from_secs(30));
    let is_switch = |at: PortAt| lab.spec.nodes[at.node].kind == NodeType::Switch;
    let between_switches = lab
        .spec
        .links
        .iter()
        .find(|l| is_switch(l.a) && is_switch(l.b));
    let cut = between_switches.unwrap().a;
    lab.world.fabric_mut().reset_counters();
    lab.world.act(FabricAction::Cut(cut)).unwrap();
    let deadline = lab.world.now() + Duration::from_secs(10);
    while lab.world.fabric().all_counters().sets(id::LFT) == 0 {
        assert!(lab.world.now() < deadline, "no table is written");
        lab.world.run_for(Duration::from_micros(10));
    }
    let before = lab.manager().events.len();
    lab.command(Command::Handover);
    let taken = takeover_time(&mut lab, second, Duration::from_secs(3));
    assert!(taken.is_some(), "{}", lab.describe_run());
    lab.world.run_for(Duration::from_secs(1));
    assert_eq!(lab.role(lab.sm), SmState::Standby);
    let events = &lab.manager().events[before..];
    let position = |is: fn(&Event) -> bool| events.iter().position(is);
    let swept = position(|e| matches!(e, Event::SweepCompleted(_)));
    let left = position(|e| {
        matches!(
            e,
            Event::RoleChanged {
                state: SmState::Standby,
                ..
            }
        )
    });
    assert!(swept.is_some() && swept < left, "{events:?}");
}
