//! Virtual time, faults, and runs that repeat.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ferrosm_mad::attr::{Notice, SmControl, SmInfo, SmState, TrapNumber, id};
use ferrosm_mad::ids::{AttrMod, Lid, MKey, NodeGuid, PortGuid, PortNum, Tid};
use ferrosm_mad::mad::{Address, MadOut, Status};
use ferrosm_mad::smp::{DrPath, SmpRequest};
use ferrosm_mad::time::Instant;
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::faults::{FabricAction, Faults, Garbage};
use ferrosm_sim::generate;
use ferrosm_sim::spec::{FabricSpec, PortAt};
use ferrosm_sim::world::{ForeignSm, MadEvent, ManagerId, World};
use proptest::prelude::*;

use crate::discovery::Explorer;
use crate::rig::{Rig, chain, path_to};

/// What an observer has gathered since last asked.
fn taken<T: Default>(shared: &Mutex<T>) -> T {
    std::mem::take(&mut *shared.lock().unwrap())
}

const QUIET: Duration = Duration::from_millis(200);

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn world(spec: &FabricSpec, seed: u64) -> (World<Explorer>, ManagerId) {
    let mut world = World::new(Fabric::new(spec).unwrap(), seed);
    let id = world.add_manager(None, Explorer::starting()).unwrap();
    (world, id)
}

/// A world with nobody asking until told so.
fn idle(spec: &FabricSpec, seed: u64) -> (World<Explorer>, ManagerId) {
    let mut world = World::new(Fabric::new(spec).unwrap(), seed);
    let id = world.add_manager(None, Explorer::default()).unwrap();
    (world, id)
}

fn ask(world: &mut World<Explorer>, id: ManagerId, path: DrPath, times: u32) {
    world
        .with_manager(id, |m, now| (0..times).for_each(|_| m.ask(path, now, 1)))
        .unwrap();
}

fn guids(spec: &FabricSpec) -> BTreeSet<NodeGuid> {
    spec.nodes.iter().map(|n| n.node_guid).collect()
}

#[test]
fn a_small_manager_finds_every_node_of_a_torus() {
    let spec = generate::from_spec("torus:4,4,1").unwrap();
    let (mut world, id) = world(&spec, 1);
    assert!(world.run_until_quiet(QUIET, at(60_000)));
    assert_eq!(world.manager(id).unwrap().found, guids(&spec));
    assert_eq!(world.in_flight(), 0);
}

#[test]
fn and_it_finds_them_where_much_goes_wrong() {
    let spec = generate::from_spec("random:12,4,1,3").unwrap();
    let (mut world, id) = world(&spec, 5);
    world.set_faults(Faults {
        loss: 0.1,
        duplicate: 0.2,
        jitter: Duration::from_millis(5),
        ..Faults::NONE
    });
    assert!(world.run_until_quiet(QUIET, at(60_000)));
    assert_eq!(world.manager(id).unwrap().found, guids(&spec));
}

/// All that happened with a seed, as bytes.
fn run(seed: u64, loss: f64) -> (u64, Vec<u8>) {
    let spec = generate::from_spec("ring:8,1").unwrap();
    let (mut world, _) = world(&spec, seed);
    let all = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&all);
    world.observe(move |e| {
        let mut sink = sink.lock().unwrap();
        sink.extend(e.now.as_nanos().to_be_bytes());
        sink.extend(format!("{:?}{:?}", e.event, e.at).bytes());
        sink.extend(e.mad.as_bytes());
    });
    world.set_faults(Faults {
        loss,
        jitter: Duration::from_micros(50),
        ..Faults::NONE
    });
    world.schedule(at(1), FabricAction::Reboot(9));
    world.schedule(at(70), FabricAction::Cut(PortAt::new(8, 1)));
    world.run_until(at(2_000));
    (world.trace_hash(), taken(&all))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// The same seed gives the same run byte for byte; another seed gives another.
    #[test]
    fn runs_repeat(seed in 0u64..1000) {
        let (hash, bytes) = run(seed, 0.1);
        let again = run(seed, 0.1);
        prop_assert_eq!(hash, again.0);
        prop_assert!(bytes == again.1);
        let other = run(seed + 1, 0.1);
        prop_assert_ne!(hash, other.0);
        prop_assert!(bytes != other.1);
    }
}

/// Answers that come to so many questions to node 2 of a chain, in a world with faults.
fn answers(times: u32, prepare: impl FnOnce(&mut World<Explorer>)) -> (u64, World<Explorer>) {
    let (mut world, id) = idle(&chain(2), 11);
    prepare(&mut world);
    ask(&mut world, id, path_to(2), times);
    world.run_until(at(10_000));
    (world.manager(id).unwrap().answers, world)
}

#[test]
fn as_many_are_lost_as_was_asked_for() {
    // Two journeys each: 0.8 × 0.8. Standard deviation of the count is 48.
    let (got, _) = answers(10_000, |w| w.set_faults(Faults::lossy(0.2)));
    assert!((6_200..6_600).contains(&got), "{got} of 10,000");
    assert_eq!(answers(100, |w| w.set_faults(Faults::lossy(1.0))).0, 0);
    assert_eq!(answers(100, |_| ()).0, 100);
}

#[test]
fn a_lossy_node_loses_what_passes_it_and_a_lossy_link_what_crosses_it() {
    let by_node = |node| answers(1_000, |w| w.set_node_faults(node, Some(Faults::lossy(0.5)))).0;
    for node in [0, 1, 2] {
        assert!(
            (180..320).contains(&by_node(node)),
            "node {node}: both directions"
        );
    }
    assert_eq!(by_node(3), 1_000, "nothing comes there");
    let by_link = |at| answers(1_000, |w| w.set_link_loss(at, 0.5)).0;
    assert!((180..320).contains(&by_link(PortAt::new(1, 2))));
    assert_eq!(by_link(PortAt::new(2, 2)), 1_000);
}

#[test]
fn duplicates_arrive_twice() {
    let all = Faults {
        duplicate: 1.0,
        ..Faults::NONE
    };
    let (got, world) = answers(10, |w| w.set_faults(all));
    assert_eq!(got, 40, "the request twice, each answer twice");
    assert_eq!(world.fabric().counters(2).gets(id::NODE_INFO), 20);
}

/// The time at which each answer arrived.
fn arrivals(prepare: impl FnOnce(&mut World<Explorer>)) -> Vec<(Tid, u64)> {
    let (mut world, id) = idle(&chain(2), 4);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    world.observe(move |e| {
        if e.event == MadEvent::Delivered {
            sink.lock().unwrap().push((e.mad.tid(), e.now.as_nanos()));
        }
    });
    prepare(&mut world);
    ask(&mut world, id, path_to(2), 20);
    world.run_until(at(10_000));
    taken(&seen)
}

#[test]
fn an_agent_does_one_after_the_other() {
    let slow = arrivals(|w| w.set_node_faults(2, Some(Faults::slow(Duration::from_millis(1)))));
    let expected = (1..=20).map(|n| (Tid(n), n * 1_000_000 + 4 * 300));
    assert_eq!(slow, expected.collect::<Vec<_>>());
    let late = arrivals(|w| w.set_node_faults(2, Some(Faults::late(Duration::from_secs(1)))));
    let expected = (1..=20).map(|n| (Tid(n), 1_000_000_000 + n * 2_000 + 4 * 300));
    assert_eq!(late, expected.collect::<Vec<_>>());
}

#[test]
fn a_full_queue_loses_what_comes_on_top() {
    let small = Faults {
        backlog: 4,
        ..Faults::slow(Duration::from_millis(1))
    };
    let arrived = arrivals(|w| w.set_node_faults(2, Some(small)));
    assert_eq!(arrived.len(), 1 + 4, "one is served and four wait");
}

#[test]
fn jitter_lets_answers_overtake() {
    let jitter = Faults {
        jitter: Duration::from_millis(1),
        ..Faults::NONE
    };
    let order: Vec<_> = arrivals(|w| w.set_faults(jitter))
        .into_iter()
        .map(|a| a.0)
        .collect();
    assert_eq!(order.len(), 20);
    assert!(!order.is_sorted());
}

#[test]
fn a_hung_agent_is_silent_and_forwards() {
    let (mut world, id) = world(&chain(2), 1);
    world.set_node_faults(1, Some(Faults::HUNG));
    ask(&mut world, id, path_to(3), 1);
    world.run_until_quiet(QUIET, at(60_000));
    let found: Vec<_> = world
        .manager(id)
        .unwrap()
        .found
        .iter()
        .map(|g| g.0)
        .collect();
    assert_eq!(
        found,
        [0x1000, 0x4000],
        "itself and what is behind the hung one"
    );
}

#[test]
fn refused_sets_are_answered_and_not_done() {
    let (mut world, _) = idle(&chain(1), 1);
    world.set_node_faults(1, Some(Faults::refusing(Status::BUSY)));
    let statuses = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&statuses);
    world.observe(move |e| {
        if e.event == MadEvent::Delivered {
            sink.lock().unwrap().push(e.mad.status());
        }
    });
    let set = SmpRequest::set(id::LFT, AttrMod(0), MKey::NONE, [1; 64]);
    let mad = MadOut {
        to: Address::DIRECTED,
        mad: set.directed(&path_to(1), Tid(1)),
    };
    world.inject(PortAt::new(0, 1), &mad);
    world.run_until(at(1));
    assert_eq!(taken(&statuses), [Status::BUSY]);
    assert_eq!(world.fabric().lft(1), []);
}

#[test]
fn garbage_is_of_the_kind_that_was_asked_for() {
    for kind in [
        Garbage::Data,
        Garbage::Status,
        Garbage::Tid,
        Garbage::Attribute,
        Garbage::Modifier,
    ] {
        let (mut world, id) = idle(&chain(1), 9);
        world.set_node_faults(1, Some(Faults::garbage(kind)));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&seen);
        world.observe(move |e| {
            if e.event == MadEvent::Delivered {
                sink.lock().unwrap().push(*e.mad);
            }
        });
        ask(&mut world, id, path_to(1), 5);
        world.run_until(at(10));
        let seen = taken(&seen);
        assert_eq!(seen.len(), 5);
        for (mad, tid) in seen.iter().zip(1..) {
            let right = [
                mad.as_bytes()[64..76] == [1, 1, 2, 4, 0, 0, 0, 0, 0, 0, 0x20, 0],
                mad.status().is_ok(),
                mad.tid() == Tid(tid),
                mad.attr_id() == id::NODE_INFO,
                mad.attr_mod() == AttrMod(0),
            ];
            let wrong = right.iter().position(|r| !r);
            assert_eq!(wrong, Some(kind as usize));
            assert_eq!(right.iter().filter(|r| !**r).count(), 1);
        }
    }
}

#[test]
fn scheduled_things_happen_when_they_should() {
    let (mut world, id) = idle(&chain(2), 1);
    world.schedule(at(10), FabricAction::Cut(PortAt::new(1, 2)));
    world.schedule(at(20), FabricAction::Restore(PortAt::new(1, 2)));
    world.schedule(at(30), FabricAction::Cut(PortAt::new(1, 4)));
    for (ms, answered) in [(5, 1), (15, 1), (25, 2)] {
        world.run_until(at(ms));
        ask(&mut world, id, path_to(2), 1);
        world.run_for(Duration::from_millis(1));
        assert_eq!(world.manager(id).unwrap().answers, answered, "at {ms} ms");
    }
    world.run_until(at(40));
    assert_eq!(
        world.action_errors().len(),
        1,
        "there is no cable at that port"
    );
    assert_eq!(world.action_errors()[0].0, at(30));
}

#[test]
fn links_take_their_time_to_train_where_that_is_set() {
    let (mut world, _) = idle(&chain(2), 1);
    world
        .fabric_mut()
        .set_link_training(Duration::from_millis(40));
    world.schedule(at(10), FabricAction::Bounce(PortAt::new(1, 2)));
    for (ms, up) in [(9, true), (11, false), (49, false), (51, true)] {
        world.run_until(at(ms));
        assert_eq!(world.fabric().link_up(PortAt::new(2, 1)), up, "at {ms} ms");
    }
}

/// A link that goes down while it trains begins anew: the timer from before brings it up no sooner.
#[test]
fn a_link_that_bounces_while_it_trains_trains_in_full() {
    let (mut world, _) = idle(&chain(2), 1);
    world
        .fabric_mut()
        .set_link_training(Duration::from_millis(40));
    world.schedule(at(10), FabricAction::Bounce(PortAt::new(1, 2)));
    world.schedule(at(40), FabricAction::Bounce(PortAt::new(1, 2)));
    for (ms, up) in [(51, false), (79, false), (81, true)] {
        world.run_until(at(ms));
        assert_eq!(world.fabric().link_up(PortAt::new(2, 1)), up, "at {ms} ms");
    }
    // A cable that was cut while it trained stays down.
    world.schedule(at(100), FabricAction::Bounce(PortAt::new(1, 2)));
    world.schedule(at(110), FabricAction::Cut(PortAt::new(1, 2)));
    world.schedule(at(120), FabricAction::Restore(PortAt::new(1, 2)));
    for (ms, up) in [(141, false), (159, false), (161, true)] {
        world.run_until(at(ms));
        assert_eq!(world.fabric().link_up(PortAt::new(2, 1)), up, "at {ms} ms");
    }
}

#[test]
fn traps_reach_the_manager_and_come_again() {
    let mut rig = Rig::new(&chain(2));
    rig.configure_chain();
    rig.advance();
    rig.fabric.detach(rig.at).unwrap();
    let mut world: World<Explorer> = World::new(rig.fabric, 1);
    let id = world
        .add_manager(Some(PortAt::new(0, 1)), Explorer::default())
        .unwrap();
    let traps = Arc::new(Mutex::new(0));
    let sink = Arc::clone(&traps);
    world.observe(move |e| {
        let is_trap = e.mad.method() == ferrosm_mad::mad::Method::Trap;
        let number = Notice::decode(ferrosm_mad::smp::data(e.mad)).trap_number;
        let is_ours = number == TrapNumber::BufferOverrun;
        *sink.lock().unwrap() += u32::from(is_trap && is_ours && e.event == MadEvent::Delivered);
    });
    world.schedule(
        at(10),
        FabricAction::Trap(PortAt::new(2, 2), TrapNumber::BufferOverrun),
    );
    world.run_until(at(10 + 3 * 1_074));
    assert_eq!(
        taken(&traps),
        4,
        "at once, and three times a SubnetTimeout of 1,073.7 ms later"
    );
    assert!(world.kill(id).is_some());
    world.run_until(at(20_000));
    assert_eq!(taken(&traps), 0, "nobody is there any more");
}

/// Asks node 3 of a chain for or about its SM, and returns the answer.
fn sm_info(world: &mut World<Explorer>, request: &SmpRequest) -> Option<(Status, SmInfo)> {
    let seen = Arc::new(Mutex::new(None));
    let sink = Arc::clone(&seen);
    world.observe(move |e| {
        if e.event == MadEvent::Delivered && e.mad.method().is_response() {
            let info = SmInfo::decode(ferrosm_mad::smp::data(e.mad));
            *sink.lock().unwrap() = Some((e.mad.status(), info));
        }
    });
    let mad = MadOut {
        to: Address::DIRECTED,
        mad: request.directed(&path_to(3), Tid(1)),
    };
    world.inject(PortAt::new(0, 1), &mad);
    world.run_for(Duration::from_millis(1));
    taken(&seen)
}

#[test]
fn a_foreign_sm_answers_as_it_was_told_and_hands_over() {
    let (mut world, _) = idle(&chain(2), 1);
    let get = SmpRequest::get(id::SM_INFO, AttrMod(0), MKey::NONE);
    let nobody = Status::BAD_METHOD_ATTR;
    assert_eq!(sm_info(&mut world, &get).unwrap().0, nobody);
    let foreign = ForeignSm::new(PortGuid(0x77), 9, SmState::Standby);
    let id = world.add_foreign_sm(PortAt::new(3, 1), foreign).unwrap();
    let (_, first) = sm_info(&mut world, &get).unwrap();
    assert_eq!((first.guid, first.priority), (PortGuid(0x77), 9));
    assert_eq!(
        sm_info(&mut world, &get).unwrap().1.act_count,
        first.act_count + 1
    );
    let handover = SmpRequest::set(
        id::SM_INFO,
        AttrMod(SmControl::Handover.0),
        MKey::NONE,
        SmInfo::default().encode(),
    );
    let (status, info) = sm_info(&mut world, &handover).unwrap();
    assert_eq!((status, info.sm_state), (Status::OK, SmState::Master));
    assert_eq!(
        world.foreign_sm(id).unwrap().controls(),
        [SmControl::Handover]
    );
    world.kill(id);
    assert_eq!(sm_info(&mut world, &get).unwrap().0, nobody);
}

#[test]
fn a_paused_manager_misses_what_comes_and_goes_on() {
    let (mut world, id) = idle(&chain(2), 1);
    ask(&mut world, id, path_to(2), 1);
    world.set_paused(id, true);
    world.run_until(at(500));
    assert_eq!(world.manager(id).unwrap().answers, 0);
    world.set_paused(id, false);
    ask(&mut world, id, path_to(2), 1);
    world.run_for(Duration::from_millis(1));
    assert_eq!(world.manager(id).unwrap().answers, 1);
}

#[test]
fn lost_requests_are_reported_only_where_that_is_wanted() {
    let dead = path_to(1).extend(PortNum(4)).unwrap();
    for (report, failed) in [(None, 0), (Some(Duration::from_millis(20)), 1)] {
        let (mut world, id) = idle(&chain(1), 1);
        world.report_lost_after(report);
        ask(&mut world, id, dead, 1);
        ask(&mut world, id, path_to(1), 1);
        world.run_until(at(1_000));
        assert_eq!(world.manager(id).unwrap().failed.len(), failed);
    }
}

#[test]
fn duplicate_guids_can_be_made() {
    let (mut world, _) = idle(&chain(2), 1);
    let (guid, port) = (NodeGuid(0x2000), PortGuid(0x1001));
    world.schedule(at(1), FabricAction::NodeGuid(2, guid));
    world.schedule(at(1), FabricAction::PortGuid(PortAt::new(3, 1), port));
    world.schedule(
        at(1),
        FabricAction::Lid(PortAt::new(3, 1), Lid(5), ferrosm_mad::ids::Lmc(0)),
    );
    world.run_until(at(2));
    let fabric = world.fabric();
    assert_eq!(fabric.node_guid(1), fabric.node_guid(2));
    assert_eq!(
        fabric.port_guid(PortAt::new(3, 1)),
        fabric.port_guid(PortAt::new(0, 1))
    );
    assert_eq!(fabric.lid(PortAt::new(3, 1)).0, Lid(5));
}
