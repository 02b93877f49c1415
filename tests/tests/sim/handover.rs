//! A planned change of masters where the other one is not ready yet: it still starts, or has no copy of what hosts registered.

use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::election::ElectionNotice;
use ferrosm_core::{Command, Event, Input, RestoredState, SmConfig};
use ferrosm_mad::attr::SmState;
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::SmId;
use ferrosm_tests::multicast_members::{BROADCAST, Members, hosts, try_join_broadcast, try_path};
use ferrosm_tests::simulated::{Lab, Sm};

/// A host far from the master's.
const THERE: PortAt = PortAt::new(7, 1);
const STEP: Duration = Duration::from_millis(10);
/// The daemon ends without a successor after so long.
const LEAVE_WITHIN: Duration = Duration::from_secs(10);

/// A master, and a lower standby that says that it still copies.
fn with_copying_standby() -> (Lab, SmId) {
    let paper = Lab::new("fat-tree:4", 1);
    let fabric = paper.world.fabric();
    let peers = [paper.at, THERE].map(|at| fabric.port_guid(at));
    let cfg = |priority| SmConfig {
        priority,
        peer_sms: Arc::new(peers.into()),
        ..SmConfig::default()
    };
    let mut lab = Lab::up("fat-tree:4", 1, cfg(5));
    let sm = Sm::new(cfg(1), RestoredState::default(), lab.world.now());
    let second = lab.world.add_sm(Some(THERE), sm);
    let second = second.unwrap_or_else(|e| panic!("{e}"));
    command(&mut lab, second, Input::ReplicaIncomplete(true));
    lab.world.run_for(Duration::from_secs(30));
    assert_eq!(
        [role(&lab, lab.sm), role(&lab, second)],
        [SmState::Master, SmState::Standby]
    );
    (lab, second)
}

fn command(lab: &mut Lab, id: SmId, input: Input) {
    lab.world.with_sm(id, |sm, now| sm.command(input, now));
}

fn role(lab: &Lab, id: SmId) -> SmState {
    let sm = lab.world.sm(id);
    sm.map_or(SmState::NotActive, |sm| sm.core().role())
}

fn told(lab: &Lab, is_it: fn(&Event) -> bool) -> usize {
    let events = lab.manager().events.iter();
    events.filter(|e| is_it(e)).count()
}

const fn is_not_ready(event: &Event) -> bool {
    matches!(event, Event::HandoverFailed(about) if matches!(about.what, ElectionNotice::SuccessorNotReady(_)))
}

/// How long it takes until the second is master.
fn taken_within(lab: &mut Lab, second: SmId, most: Duration) -> Option<Duration> {
    let mut waited = Duration::ZERO;
    while waited < most {
        if role(lab, second) == SmState::Master {
            return Some(waited);
        }
        lab.world.run_for(STEP);
        waited += STEP;
    }
    None
}

/// The operator's handover waits for nobody: it is refused with the reason, and done when it is asked for again.
#[test]
fn synchronising_standby_gets_no_handover() {
    let (mut lab, second) = with_copying_standby();
    let sm = lab.sm;
    command(&mut lab, sm, Command::Handover.with_id(0));
    lab.world.run_for(Duration::from_secs(30));
    assert_eq!(role(&lab, sm), SmState::Master, "{}", lab.repeat());
    assert_eq!(told(&lab, is_not_ready), 1);
    lab.assert_correct();
    command(&mut lab, second, Input::ReplicaIncomplete(false));
    lab.world.run_for(Duration::from_secs(1));
    command(&mut lab, sm, Command::Handover.with_id(0));
    let taken = taken_within(&mut lab, second, Duration::from_secs(1));
    assert!(taken.is_some(), "{}", lab.repeat());
}

/// SIGTERM: the master stays until the standby has its copy, answers reads meanwhile, and then it goes quickly.
#[test]
fn stop_waits_for_the_replica() {
    let (mut lab, second) = with_copying_standby();
    let sm = lab.sm;
    command(&mut lab, sm, Command::Stop.with_id(0));
    let early = taken_within(&mut lab, second, Duration::from_millis(3500));
    assert_eq!(early, None, "{}", lab.repeat());
    assert_eq!(role(&lab, sm), SmState::Master);
    assert!(lab.manager().core().view().is_some(), "reads are answered");
    assert_eq!(told(&lab, is_not_ready), 1);
    // It tells its master so; where that is lost, the next look sees it.
    command(&mut lab, second, Input::ReplicaIncomplete(false));
    let taken = taken_within(&mut lab, second, Duration::from_millis(1100));
    assert!(taken.is_some(), "{}", lab.repeat());
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
    assert_eq!(told(&lab, handed_over), 1);
    lab.world.kill(lab.sm);
    (lab.sm, lab.at) = (second, THERE);
    lab.run_until_correct(30);
}

/// Nobody becomes ready: better one who knows nothing than nobody, and before the program ends.
#[test]
fn stop_waits_a_bounded_time() {
    let (mut lab, second) = with_copying_standby();
    let sm = lab.sm;
    command(&mut lab, sm, Command::Stop.with_id(0));
    let taken = taken_within(&mut lab, second, LEAVE_WITHIN);
    let taken = taken.unwrap_or_else(|| panic!("{} it was not taken", lab.repeat()));
    assert!(taken > Duration::from_secs(5), "after {taken:?}");
}

/// The one that was waited for is gone: the end comes without a successor, as soon as that is seen.
#[test]
fn stop_without_remaining_standby_is_immediate() {
    let (mut lab, second) = with_copying_standby();
    let sm = lab.sm;
    command(&mut lab, sm, Command::Stop.with_id(0));
    lab.world.run_for(Duration::from_millis(1500));
    lab.world.kill(second);
    lab.world.run_for(Duration::from_secs(4));
    let not_taken = |e: &Event| {
        matches!(
            e,
            Event::Stopped {
                handed_to: None,
                was_master: true
            }
        )
    };
    assert_eq!(told(&lab, not_taken), 1);
    assert_eq!(role(&lab, sm), SmState::NotActive);
}

/// The subnet comes back while the one that has given it away still answers reads: what it would take from hosts is gone when the
/// other's records come, so they are told to come back.
#[test]
fn no_registration_before_the_replica_is_loaded() {
    let (mut lab, second) = with_copying_standby();
    let first = lab.sm;
    command(&mut lab, second, Input::ReplicaIncomplete(false));
    lab.world.run_for(Duration::from_secs(1));
    command(&mut lab, first, Command::Handover.with_id(0));
    let taken = taken_within(&mut lab, second, Duration::from_secs(1));
    assert!(taken.is_some(), "{}", lab.repeat());
    lab.world
        .with_sm(first, |sm, _| sm.defers_replica_load = true);
    command(&mut lab, second, Command::Stop.with_id(0));
    let back = taken_within(&mut lab, first, Duration::from_secs(1));
    assert!(back.is_some() && lab.manager().awaits_replica);
    let mut members = Members::new();
    let host = *hosts(&lab).last().unwrap();
    assert_eq!(try_join_broadcast(&mut lab, first, host, 1), None);
    let copy = lab
        .world
        .with_sm(second, |sm, now| sm.replicated_state(now));
    command(&mut lab, first, Input::ReplicaLoaded(copy.map(Box::new)));
    lab.world.run_for(Duration::from_secs(1));
    let joined = members.join(&mut lab, host, BROADCAST, JoinState::FULL);
    assert!(joined.is_ok(), "{joined:?}");
}

/// Across a handover there and back no join and no path query of a host, whichever SM it asks, gets an error status; the SM that is
/// master in the end accepts them.
#[test]
fn no_request_is_rejected_across_a_handover() {
    let (mut lab, second) = with_copying_standby();
    let first = lab.sm;
    command(&mut lab, second, Input::ReplicaIncomplete(false));
    lab.world.run_for(Duration::from_secs(1));
    let all = hosts(&lab);
    let mut tid = 0;
    for (from, to) in [(first, second), (second, first)] {
        command(&mut lab, from, Command::Handover.with_id(0));
        let mut accepted = 0;
        for (n, host) in all.iter().cycle().take(400).enumerate() {
            for sm in [first, second] {
                let pair = (*host, all[n % 3]);
                tid += 2;
                let replies = [
                    try_join_broadcast(&mut lab, sm, *host, tid),
                    try_path(&mut lab, sm, pair, tid + 1),
                ];
                let refused = replies.into_iter().flatten().find(|s| !s.is_ok());
                assert_eq!(refused, None, "{} {host:?} at {n}", lab.repeat());
                accepted += usize::from(sm == to && replies.iter().all(Option::is_some));
            }
            lab.world.run_for(STEP);
        }
        assert_eq!(role(&lab, to), SmState::Master, "{}", lab.repeat());
        assert!(accepted > 0, "{}", lab.repeat());
    }
}

/// The master dies. The better of two standbys has just come and still copies: the other one knows everything, and goes first; then
/// the better one gets what it is due.
#[test]
fn standby_with_replica_outranks_standby_without() {
    const BETTER: PortAt = PortAt::new(9, 1);
    let paper = Lab::new("fat-tree:4", 1);
    let fabric = paper.world.fabric();
    let peers = [paper.at, THERE, BETTER].map(|at| fabric.port_guid(at));
    let cfg = |priority| SmConfig {
        priority,
        peer_sms: Arc::new(peers.into()),
        ..SmConfig::default()
    };
    let mut lab = Lab::up("fat-tree:4", 1, cfg(5));
    let mut add = |at, priority, copying| {
        let sm = Sm::new(cfg(priority), RestoredState::default(), lab.world.now());
        let id = lab.world.add_sm(Some(at), sm).unwrap();
        command(&mut lab, id, Input::ReplicaIncomplete(copying));
        lab.world.run_for(Duration::from_secs(30));
        id
    };
    let (ready, better) = (add(THERE, 1, false), add(BETTER, 9, true));
    assert_eq!(role(&lab, lab.sm), SmState::Master);
    assert_eq!(
        [ready, better].map(|id| role(&lab, id)),
        [SmState::Standby; 2]
    );
    let first = lab.sm;
    lab.world.kill(first);
    let taken = taken_within(&mut lab, ready, Duration::from_secs(60));
    assert!(taken.is_some(), "{}", lab.repeat());
    lab.world.run_for(Duration::from_secs(30));
    assert_eq!(
        [ready, better].map(|id| role(&lab, id)),
        [SmState::Master, SmState::Standby]
    );
    command(&mut lab, better, Input::ReplicaIncomplete(false));
    let taken = taken_within(&mut lab, better, Duration::from_secs(5));
    assert!(taken.is_some(), "{}", lab.repeat());
}
