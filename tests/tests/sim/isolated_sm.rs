//! SMs that lose their own link. A master keeps its state as across a restart, unless another SM
//! was master meanwhile. A standby that takes over does not use a replica loaded before the loss.

use std::time::Duration;

use ferrosm_core::{Event, Input, LocalPortEvent, PeerEvent, Phase, RestoredState, SmConfig};
use ferrosm_mad::attr::{SmState, id};
use ferrosm_mad::ids::{Gid, Qpn};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::sa;
use ferrosm_mad::sa::inform::InformInfo;
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::SmId;
use ferrosm_tests::lab::{Lab, Sm};
use ferrosm_tests::sa::members::{BROADCAST, Members, header, plain, request};

/// A host far from the master's, where the standby runs.
const STANDBY_PORT: PortAt = PortAt::new(7, 1);
/// Longer than any SM needs to detect a lost link.
const LONG: Duration = Duration::from_mins(1);

/// Equal priorities while master prevent failback.
fn cfg(priority: u8) -> SmConfig {
    SmConfig {
        priority,
        master_priority: 15,
        sm_poll_interval: Duration::from_secs(1),
        sm_poll_retries: 2,
        ..SmConfig::default()
    }
}

/// A master, and hosts that have joined groups.
fn up() -> (Lab, Members) {
    let mut lab = Lab::up("fat-tree:4", 1, cfg(5));
    let mut members = Members::new();
    for (n, at) in (0u8..).zip(lab.hosts()) {
        join(&mut lab, &mut members, at, BROADCAST);
        join(&mut lab, &mut members, at, plain(n % 3));
    }
    lab.world.run_for(Duration::from_secs(2));
    members.assert_correct(&lab);
    (lab, members)
}

fn join(lab: &mut Lab, members: &mut Members, at: PortAt, mgid: Gid) {
    let joined = members.join(lab, at, mgid, JoinState::FULL);
    assert!(joined.is_ok(), "{} {joined:?}", lab.describe_run());
}

fn standby(lab: &mut Lab) -> SmId {
    let second = lab.add_sm(STANDBY_PORT, cfg(0));
    lab.world.run_for(Duration::from_secs(30));
    assert_eq!(lab.role(second), SmState::Standby);
    second
}

/// The master's complete persisted state, as a standby in sync has it.
fn complete_replica(lab: &Lab) -> RestoredState {
    RestoredState {
        complete: true,
        ..lab.manager().replicated_state(lab.world.now())
    }
}

fn set_replica(lab: &mut Lab, id: SmId, replica: Option<RestoredState>) {
    lab.edit(id, |sm, _| sm.replica = replica);
}

/// ClientReregister count of each host.
fn reregister_counts(lab: &Lab) -> Vec<(PortAt, u32)> {
    let fabric = lab.world.fabric();
    let all = all_hosts(lab).into_iter();
    all.map(|at| (at, fabric.client_reregisters(at))).collect()
}

/// All hosts, with or without a link.
fn all_hosts(lab: &Lab) -> Vec<PortAt> {
    let fabric = lab.world.fabric();
    let end_ports = fabric.end_ports();
    end_ports.filter(|at| !fabric.is_switch(at.node)).collect()
}

/// Hosts that received ClientReregister since `before`.
fn reregistered_since(lab: &Lab, before: &[(PortAt, u32)]) -> Vec<PortAt> {
    let now = reregister_counts(lab);
    let more = now.iter().zip(before).filter(|(now, was)| now.1 > was.1);
    more.map(|(now, _)| now.0).collect()
}

/// Subscribes a host to trap 64 for all ports.
fn subscribe(lab: &mut Lab, at: PortAt) {
    let info = InformInfo {
        lid_range_begin: InformInfo::ALL_LIDS,
        is_generic: 1,
        subscribe: 1,
        notice_type: 0xFFFF,
        trap_number: 64,
        qpn: Qpn(1),
        producer_type: 0xFF_FFFF,
        ..InformInfo::default()
    };
    let request_kind = (Method::Set, sa::id::INFORM_INFO);
    let (status, _) = request(lab, at, request_kind, 1, 0, &info.encode());
    assert_eq!(status, Status::OK);
}

/// Number of Report MADs sent since the last call.
fn reports(lab: &mut Lab) -> usize {
    lab.take_replies()
        .iter()
        .filter(|(_, bytes)| header(bytes).method == Method::Report)
        .count()
}

fn until_master(lab: &mut Lab, id: SmId) {
    lab.run_until("a master", 120, |lab| lab.role(id) == SmState::Master);
}

/// The master's own link is cut and restored, without another SM. Registrations in memory and in
/// the store, tables and LIDs are unchanged; only the master's host registers again.
#[test]
fn master_keeps_its_view_across_a_link_loss() {
    let (mut lab, members) = up();
    let sm = lab.sm;
    let own = lab.at;
    subscribe(&mut lab, STANDBY_PORT);
    let before = reregister_counts(&lab);
    let persisted = lab.manager().persisted_records.clone();
    lab.world.fabric_mut().reset_counters();
    lab.act(FabricAction::Cut(own));
    lab.world.run_for(LONG);
    assert_eq!(lab.role(sm), SmState::Discovering);
    assert!(lab.manager().core().view().is_none(), "no view is served");
    lab.act(FabricAction::Restore(own));
    lab.next_sweep(60);
    lab.world.run_for(Duration::from_secs(15));
    assert_eq!(lab.role(sm), SmState::Master);
    members.assert_correct(&lab);
    assert_eq!(lab.manager().persisted_records, persisted);
    assert_eq!(reregistered_since(&lab, &before), [own]);
    let reports = reports(&mut lab);
    assert_eq!(reports, 0, "no port appeared or disappeared");
    let counters = lab.world.fabric().all_counters();
    let sets = [id::LFT, id::MFT, id::PKEY_TABLE].map(|attr| counters.sets(attr));
    assert_eq!(sets, [0; 3], "tables are not rewritten");
}

/// Another SM became master meanwhile. The former master drops its own state, in memory and in the
/// store.
#[test]
fn view_is_dropped_after_another_master_meanwhile() {
    let (mut lab, _) = up();
    let first = lab.sm;
    let own = lab.at;
    let second = standby(&mut lab);
    let replica = complete_replica(&lab);
    set_replica(&mut lab, second, Some(replica));
    lab.act(FabricAction::Cut(own));
    until_master(&mut lab, second);
    lab.world.run_for(LONG);
    lab.act(FabricAction::Restore(own));
    lab.world.run_for(LONG);
    assert_eq!(
        [lab.role(first), lab.role(second)],
        [SmState::Standby, SmState::Master]
    );
    assert!(lab.manager().core().registry().is_empty());
    let persisted = lab.manager().restored(lab.world.now());
    assert!(persisted.registrations.is_empty());
    assert!(lab.manager().persisted_view.is_none());
}

/// Another SM was master meanwhile and is dead now. Hosts may have registered only with it, so they
/// register again.
#[test]
fn hosts_reregister_after_another_master_meanwhile() {
    let (mut lab, _) = up();
    let first = lab.sm;
    let own = lab.at;
    let second = standby(&mut lab);
    let replica = complete_replica(&lab);
    set_replica(&mut lab, second, Some(replica));
    lab.act(FabricAction::Cut(own));
    until_master(&mut lab, second);
    lab.world.run_for(LONG);
    lab.world.kill(second);
    let before = reregister_counts(&lab);
    lab.act(FabricAction::Restore(own));
    lab.next_sweep(60);
    lab.world.run_for(Duration::from_secs(15));
    assert_eq!(lab.role(first), SmState::Master);
    assert_eq!(reregistered_since(&lab, &before), all_hosts(&lab));
}

/// A standby loses its own link, treats its master as dead and loads its replica. The master is
/// alive, and a host joins. Then the master dies and the link returns. The new master has that
/// host's registration from the current replica, or, if no replica is available, makes all hosts
/// register again.
#[test]
fn isolated_standby_does_not_use_an_old_replica() {
    for has_current_replica in [true, false] {
        let (mut lab, mut members) = up();
        let first = lab.sm;
        let at = lab.hosts()[9];
        let second = standby(&mut lab);
        let replica = complete_replica(&lab);
        set_replica(&mut lab, second, Some(replica));
        lab.act(FabricAction::Cut(STANDBY_PORT));
        lab.world.run_for(LONG);
        let loaded = lab.edit(second, |sm, _| sm.replica.is_none());
        assert!(loaded, "the standby has loaded its replica");
        assert_eq!(lab.role(second), SmState::Discovering);
        members.remove_port(STANDBY_PORT);
        join(&mut lab, &mut members, at, plain(7));
        lab.world.run_for(Duration::from_secs(12));
        let replica = complete_replica(&lab);
        set_replica(
            &mut lab,
            second,
            Some(replica).filter(|_| has_current_replica),
        );
        lab.world.kill(first);
        let before = reregister_counts(&lab);
        lab.act(FabricAction::Restore(STANDBY_PORT));
        until_master(&mut lab, second);
        lab.select(second);
        lab.run_until("the first sweep", 60, |lab| {
            !lab.manager().reports().is_empty()
        });
        lab.world.run_for(Duration::from_secs(15));
        if has_current_replica {
            members.assert_correct(&lab);
            assert_eq!(reregistered_since(&lab, &before), [STANDBY_PORT]);
        } else {
            assert_eq!(reregistered_since(&lab, &before), all_hosts(&lab));
        }
    }
}

/// An SM without link starts with a complete replica. The master is alive and accepts a
/// registration, and dies before the link comes up: all hosts register again.
#[test]
fn sm_started_without_link_does_not_use_an_old_replica() {
    let (mut lab, mut members) = up();
    let first = lab.sm;
    let at = lab.hosts()[9];
    lab.act(FabricAction::Cut(STANDBY_PORT));
    let sm = Sm::new(cfg(0), complete_replica(&lab), lab.world.now());
    let second = lab.start_sm(STANDBY_PORT, sm);
    lab.world.run_for(LONG);
    assert_eq!(lab.role(second), SmState::Discovering);
    join(&mut lab, &mut members, at, plain(7));
    lab.world.run_for(Duration::from_secs(12));
    lab.world.kill(first);
    let before = reregister_counts(&lab);
    lab.act(FabricAction::Restore(STANDBY_PORT));
    until_master(&mut lab, second);
    lab.select(second);
    lab.run_until("the first sweep", 60, |lab| {
        !lab.manager().reports().is_empty()
    });
    lab.world.run_for(Duration::from_secs(15));
    assert_eq!(reregistered_since(&lab, &before), all_hosts(&lab));
}

/// The same for a standby whose process stalls before it is master.
#[test]
fn stalled_sm_does_not_use_an_old_replica() {
    let (mut lab, mut members) = up();
    let first = lab.sm;
    let at = lab.hosts()[9];
    let second = standby(&mut lab);
    let old = complete_replica(&lab);
    join(&mut lab, &mut members, at, plain(7));
    lab.world.run_for(Duration::from_secs(12));
    let replica = complete_replica(&lab);
    lab.edit(second, |sm, _| sm.defers_replica_load = true);
    lab.world.kill(first);
    let awaits_load = |lab: &Lab| lab.world.sm(second).is_some_and(|sm| sm.awaits_replica());
    lab.run_until("a replica load request", 60, awaits_load);
    let before = reregister_counts(&lab);
    lab.edit(second, |sm, now| {
        sm.end_load(Some(old), Some(true), now);
        sm.handle(Input::Peer(PeerEvent::Stalled), now);
    });
    lab.world.run_for(Duration::from_millis(1));
    assert!(awaits_load(&lab), "the replica load is requested again");
    lab.edit(second, |sm, now| {
        sm.end_load(Some(replica), Some(true), now)
    });
    until_master(&mut lab, second);
    lab.select(second);
    lab.run_until("the first sweep", 60, |lab| {
        !lab.manager().reports().is_empty()
    });
    lab.world.run_for(Duration::from_secs(2));
    members.assert_correct(&lab);
    assert_eq!(reregistered_since(&lab, &before), []);
}

/// A standby polls its master on another route if the current one is cut, for every link of the
/// route. It stays standby and never starts discovery.
#[test]
fn standby_polls_master_on_other_paths_before_takeover() {
    let mut cuts = 0;
    for n in 0.. {
        let mut lab = Lab::up("mesh:4,4", 1, cfg(5));
        let far_host = lab.hosts().into_iter().next_back().unwrap();
        let second = lab.add_sm(far_host, cfg(0));
        lab.world.run_for(Duration::from_secs(30));
        assert_eq!(lab.role(second), SmState::Standby);
        let trunks = lab.spec.links.iter().filter(|link| {
            let fabric = lab.world.fabric();
            fabric.is_switch(link.a.node) && fabric.is_switch(link.b.node)
        });
        let Some(at) = trunks.map(|link| link.a).nth(n) else {
            break;
        };
        let events = |lab: &Lab| lab.world.sm(second).unwrap().events.clone();
        let before = events(&lab).len();
        lab.act(FabricAction::Cut(at));
        lab.world.run_for(LONG);
        let events = &events(&lab)[before..];
        let roles = events
            .iter()
            .filter(|e| matches!(e, Event::RoleChanged { .. }));
        assert_eq!(
            roles.count(),
            0,
            "{} cut {at:?}: {events:?}",
            lab.describe_run()
        );
        assert_eq!(lab.role(second), SmState::Standby);
        cuts += 1;
    }
    assert_eq!(cuts, 24);
}

/// The port driver reports the lost link of a master that is writing tables. Nothing that it was
/// about to write reaches the fabric when the link is back: the sweep has ended, and the fabric is
/// discovered again first.
#[test]
fn lost_link_ends_the_sweep_before_more_is_written() {
    for phase in [Phase::WriteTables, Phase::Arm] {
        let mut lab = Lab::with("fat-tree:4", 1, cfg(5));
        lab.run_until("a phase that writes", 60, |lab| {
            lab.manager().core().activity().phase() == Some(phase)
        });
        let at = lab.at;
        lab.act(FabricAction::Cut(at));
        lab.handle(lab.sm, Input::LocalPort(LocalPortEvent::Down));
        lab.world.run_for(Duration::from_millis(10));
        lab.world.fabric_mut().reset_counters();
        lab.act(FabricAction::Restore(at));
        lab.world.run_for(Duration::from_secs(2));
        let sent = lab.world.fabric().all_counters();
        assert_eq!(sent.all_sets(), 0, "{phase}: written without discovery");
        assert!(lab.manager().reports().is_empty(), "{phase}: complete");
        lab.run_until_correct(60);
    }
}
