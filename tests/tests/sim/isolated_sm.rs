//! Managers that lose their own link: what a master knows outlives it as it would a restart, unless another one was in charge
//! meanwhile; and a standby that takes over does not go by a copy from before.

use std::time::Duration;

use ferrosm_core::{Event, Input, RestoredState, SmConfig};
use ferrosm_mad::attr::{SmState, id};
use ferrosm_mad::ids::{Gid, Qpn};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::sa;
use ferrosm_mad::sa::inform::InformInfo;
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::SmId;
use ferrosm_tests::multicast_members::{BROADCAST, Members, ask, header, hosts, plain};
use ferrosm_tests::simulated::{Lab, Sm};

/// A host far from the master's.
const THERE: PortAt = PortAt::new(7, 1);
/// Longer than anybody needs to notice that a link is gone.
const LONG: Duration = Duration::from_mins(1);

/// Who is master stays it.
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
    for (n, at) in (0u8..).zip(hosts(&lab)) {
        join(&mut lab, &mut members, at, BROADCAST);
        join(&mut lab, &mut members, at, plain(n % 3));
    }
    lab.world.run_for(Duration::from_secs(2));
    assert_right(&lab, &members);
    (lab, members)
}

fn join(lab: &mut Lab, members: &mut Members, at: PortAt, mgid: Gid) {
    let told = members.join(lab, at, mgid, JoinState::FULL);
    assert!(told.is_ok(), "{} {told:?}", lab.repeat());
}

fn standby(lab: &mut Lab) -> SmId {
    let sm = Sm::new(cfg(0), RestoredState::default(), lab.world.now());
    let second = lab.world.add_sm(Some(THERE), sm);
    let second = second.unwrap_or_else(|e| panic!("{e}"));
    lab.world.run_for(Duration::from_secs(30));
    assert_eq!(role(lab, second), SmState::Standby);
    second
}

fn role(lab: &Lab, id: SmId) -> SmState {
    let sm = lab.world.sm(id);
    sm.map_or(SmState::NotActive, |sm| sm.core().role())
}

fn act(lab: &mut Lab, action: FabricAction) {
    lab.world.act(action).unwrap_or_else(|e| panic!("{e}"));
}

/// All that a master kept, as a standby in step has it.
fn whole_copy(lab: &Lab) -> RestoredState {
    RestoredState {
        complete: true,
        ..lab.manager().replicated_state(lab.world.now())
    }
}

fn give_copy(lab: &mut Lab, id: SmId, copy: Option<RestoredState>) {
    lab.world.with_sm(id, |sm, _| sm.replica = copy);
}

/// How often each host was told to register again.
fn told(lab: &Lab) -> Vec<(PortAt, u32)> {
    let fabric = lab.world.fabric();
    let all = hosts_on_paper(lab).into_iter();
    all.map(|at| (at, fabric.client_reregisters(at))).collect()
}

/// Those without a link too.
fn hosts_on_paper(lab: &Lab) -> Vec<PortAt> {
    let fabric = lab.world.fabric();
    let ends = fabric.end_ports();
    ends.filter(|at| !fabric.is_switch(at.node)).collect()
}

/// Who was told since then.
fn told_since(lab: &Lab, before: &[(PortAt, u32)]) -> Vec<PortAt> {
    let now = told(lab);
    let more = now.iter().zip(before).filter(|(now, was)| now.1 > was.1);
    more.map(|(now, _)| now.0).collect()
}

fn assert_right(lab: &Lab, members: &Members) {
    if let Err(why) = lab.verdict(&members.expect(lab)) {
        panic!("{} {why}", lab.repeat());
    }
}

/// A host wants to be told of all ports that come.
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
    let what = (Method::Set, sa::id::INFORM_INFO);
    let (status, _) = ask(lab, at, what, 1, 0, &info.encode());
    assert_eq!(status, Status::OK);
}

/// Reports that were sent and that nobody counted yet.
fn reports(lab: &mut Lab) -> usize {
    let taken = lab
        .world
        .with_sm(lab.sm, |sm, _| core::mem::take(&mut sm.replies));
    let bytes = taken.into_iter().flatten().map(|(_, bytes)| bytes);
    bytes
        .filter(|bytes| header(bytes).method == Method::Report)
        .count()
}

fn until_master(lab: &mut Lab, id: SmId) {
    lab.until("a master", 120, |lab| role(lab, id) == SmState::Master);
}

/// The master's own cable is pulled, and comes back; nobody else was there. All is as before: registrations here and on the disk,
/// tables and LIDs; and only the host whose link it was registers again.
#[test]
fn master_keeps_its_view_across_a_link_loss() {
    let (mut lab, members) = up();
    let (sm, own) = (lab.sm, lab.at);
    subscribe(&mut lab, THERE);
    let before = told(&lab);
    let kept = lab.manager().persisted_records.clone();
    lab.world.fabric_mut().reset_counters();
    act(&mut lab, FabricAction::Cut(own));
    lab.world.run_for(LONG);
    assert_eq!(role(&lab, sm), SmState::Discovering);
    assert!(lab.manager().core().view().is_none(), "nobody is answered");
    act(&mut lab, FabricAction::Restore(own));
    lab.next_sweep(60);
    lab.world.run_for(Duration::from_secs(15));
    assert_eq!(role(&lab, sm), SmState::Master);
    assert_right(&lab, &members);
    assert_eq!(lab.manager().persisted_records, kept);
    assert_eq!(told_since(&lab, &before), [own]);
    let reports = reports(&mut lab);
    assert_eq!(reports, 0, "nobody came or went, so nobody is told of it");
    let counters = lab.world.fabric().all_counters();
    let sets = [id::LFT, id::MFT, id::PKEY_TABLE].map(|attr| counters.sets(attr));
    assert_eq!(sets, [0; 3], "tables stay as they were found");
}

/// Another one became master meanwhile: it knows better, and what this one had is thrown away, on the disk too.
#[test]
fn view_is_dropped_after_another_master_meanwhile() {
    let (mut lab, _) = up();
    let (first, own) = (lab.sm, lab.at);
    let second = standby(&mut lab);
    let copy = whole_copy(&lab);
    give_copy(&mut lab, second, Some(copy));
    act(&mut lab, FabricAction::Cut(own));
    until_master(&mut lab, second);
    lab.world.run_for(LONG);
    act(&mut lab, FabricAction::Restore(own));
    lab.world.run_for(LONG);
    assert_eq!(
        [role(&lab, first), role(&lab, second)],
        [SmState::Standby, SmState::Master]
    );
    assert!(lab.manager().core().registry().is_empty());
    let kept = lab.manager().restored(lab.world.now());
    assert!(kept.registrations.is_empty());
    assert!(lab.manager().persisted_view.is_none());
}

/// Another one became master meanwhile and is gone again: hosts that it told of itself may have registered with it alone, so they
/// register again.
#[test]
fn hosts_reregister_after_another_master_meanwhile() {
    let (mut lab, _) = up();
    let (first, own) = (lab.sm, lab.at);
    let second = standby(&mut lab);
    let copy = whole_copy(&lab);
    give_copy(&mut lab, second, Some(copy));
    act(&mut lab, FabricAction::Cut(own));
    until_master(&mut lab, second);
    lab.world.run_for(LONG);
    lab.world.kill(second);
    let before = told(&lab);
    act(&mut lab, FabricAction::Restore(own));
    lab.next_sweep(60);
    lab.world.run_for(Duration::from_secs(15));
    assert_eq!(role(&lab, first), SmState::Master);
    assert_eq!(told_since(&lab, &before), hosts_on_paper(&lab));
}

/// A standby loses its own link, believes for that that its master is dead, and recalls its copy. The master lives on, and a host
/// joins. Then it does die, and the link is back: the new master has that host too, from the copy as it is then; or, where it
/// cannot be had any more, all are asked to register again.
#[test]
fn isolated_standby_does_not_use_an_old_replica() {
    for again in [true, false] {
        let (mut lab, mut members) = up();
        let (first, at) = (lab.sm, hosts(&lab)[9]);
        let second = standby(&mut lab);
        let copy = whole_copy(&lab);
        give_copy(&mut lab, second, Some(copy));
        act(&mut lab, FabricAction::Cut(THERE));
        lab.world.run_for(LONG);
        let taken = lab.world.with_sm(second, |sm, _| sm.replica.is_none());
        assert_eq!(taken, Some(true), "it has recalled");
        assert_eq!(role(&lab, second), SmState::Discovering);
        members.remove_port(THERE);
        join(&mut lab, &mut members, at, plain(7));
        lab.world.run_for(Duration::from_secs(12));
        let copy = whole_copy(&lab);
        give_copy(&mut lab, second, Some(copy).filter(|_| again));
        lab.world.kill(first);
        let before = told(&lab);
        act(&mut lab, FabricAction::Restore(THERE));
        until_master(&mut lab, second);
        (lab.sm, lab.at) = (second, THERE);
        lab.until("the first sweep", 60, |lab| {
            !lab.manager().reports().is_empty()
        });
        lab.world.run_for(Duration::from_secs(15));
        if again {
            assert_right(&lab, &members);
            assert_eq!(told_since(&lab, &before), [THERE]);
        } else {
            assert_eq!(told_since(&lab, &before), hosts_on_paper(&lab));
        }
    }
}

/// One begins with a whole copy of what another keeps, and has no link yet. That one lives on, and dies before the link is there:
/// all are asked to register again.
#[test]
fn sm_started_without_link_does_not_use_an_old_replica() {
    let (mut lab, mut members) = up();
    let (first, at) = (lab.sm, hosts(&lab)[9]);
    act(&mut lab, FabricAction::Cut(THERE));
    let sm = Sm::new(cfg(0), whole_copy(&lab), lab.world.now());
    let second = lab.world.add_sm(Some(THERE), sm);
    let second = second.unwrap_or_else(|e| panic!("{e}"));
    lab.world.run_for(LONG);
    assert_eq!(role(&lab, second), SmState::Discovering);
    join(&mut lab, &mut members, at, plain(7));
    lab.world.run_for(Duration::from_secs(12));
    lab.world.kill(first);
    let before = told(&lab);
    act(&mut lab, FabricAction::Restore(THERE));
    until_master(&mut lab, second);
    (lab.sm, lab.at) = (second, THERE);
    lab.until("the first sweep", 60, |lab| {
        !lab.manager().reports().is_empty()
    });
    lab.world.run_for(Duration::from_secs(15));
    assert_eq!(told_since(&lab, &before), hosts_on_paper(&lab));
}

/// The same of one whose process stood still before it was master.
#[test]
fn stalled_sm_does_not_use_an_old_replica() {
    let (mut lab, mut members) = up();
    let (first, at) = (lab.sm, hosts(&lab)[9]);
    let second = standby(&mut lab);
    let old = whole_copy(&lab);
    join(&mut lab, &mut members, at, plain(7));
    lab.world.run_for(Duration::from_secs(12));
    let copy = whole_copy(&lab);
    lab.world
        .with_sm(second, |sm, _| sm.defers_replica_load = true);
    lab.world.kill(first);
    let wants = |lab: &Lab| lab.world.sm(second).is_some_and(|sm| sm.awaits_replica);
    lab.until("the question for the copy", 60, wants);
    let before = told(&lab);
    let recalled = |copy| Input::ReplicaLoaded(Some(Box::new(copy)));
    lab.world.with_sm(second, |sm, now| {
        sm.awaits_replica = false;
        sm.command(recalled(old), now);
        sm.command(Input::Stalled, now);
    });
    lab.world.run_for(Duration::from_millis(1));
    assert!(wants(&lab), "it asks again");
    lab.world
        .with_sm(second, |sm, now| sm.command(recalled(copy), now));
    until_master(&mut lab, second);
    (lab.sm, lab.at) = (second, THERE);
    lab.until("the first sweep", 60, |lab| {
        !lab.manager().reports().is_empty()
    });
    lab.world.run_for(Duration::from_secs(2));
    assert_right(&lab, &members);
    assert_eq!(told_since(&lab, &before), []);
}

/// A standby whose way to the master is cut in its midst asks by another one, whichever cable it was, and goes on standing by: it does not
/// even look whether it is alone.
#[test]
fn standby_polls_master_on_other_paths_before_takeover() {
    let mut cuts = 0;
    for n in 0.. {
        let mut lab = Lab::up("mesh:4,4", 1, cfg(5));
        let there = hosts(&lab).into_iter().next_back().unwrap();
        let sm = Sm::new(cfg(0), RestoredState::default(), lab.world.now());
        let second = lab.world.add_sm(Some(there), sm);
        let second = second.unwrap_or_else(|e| panic!("{e}"));
        lab.world.run_for(Duration::from_secs(30));
        assert_eq!(role(&lab, second), SmState::Standby);
        let trunks = lab.spec.links.iter().filter(|link| {
            let fabric = lab.world.fabric();
            fabric.is_switch(link.a.node) && fabric.is_switch(link.b.node)
        });
        let Some(at) = trunks.map(|link| link.a).nth(n) else {
            break;
        };
        let events = |lab: &Lab| lab.world.sm(second).unwrap().events.clone();
        let before = events(&lab).len();
        act(&mut lab, FabricAction::Cut(at));
        lab.world.run_for(LONG);
        let events = &events(&lab)[before..];
        let roles = events
            .iter()
            .filter(|e| matches!(e, Event::RoleChanged { .. }));
        assert_eq!(roles.count(), 0, "{} cut {at:?}: {events:?}", lab.repeat());
        assert_eq!(role(&lab, second), SmState::Standby);
        cuts += 1;
    }
    assert_eq!(cuts, 24);
}
