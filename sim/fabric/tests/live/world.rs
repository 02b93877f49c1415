//! Virtual time, faults, and reproducible runs.

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
use ferrosm_sim::world::{ForeignSm, MadEvent, SmId, World};
use proptest::prelude::*;

use crate::discovery::Explorer;
use crate::rig::{Rig, chain, path_to};

/// Returns and clears what an observer collected.
fn take_collected<T: Default>(shared: &Mutex<T>) -> T {
    std::mem::take(&mut *shared.lock().unwrap())
}

const QUIET: Duration = Duration::from_millis(200);

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn world(spec: &FabricSpec, seed: u64) -> (World<Explorer>, SmId) {
    let mut world = World::new(Fabric::new(spec).unwrap(), seed);
    let id = world.add_sm(None, Explorer::exploring()).unwrap();
    (world, id)
}

/// A world whose SM sends nothing until requested.
fn idle(spec: &FabricSpec, seed: u64) -> (World<Explorer>, SmId) {
    let mut world = World::new(Fabric::new(spec).unwrap(), seed);
    let id = world.add_sm(None, Explorer::default()).unwrap();
    (world, id)
}

fn query(world: &mut World<Explorer>, id: SmId, path: DrPath, times: u32) {
    world
        .with_sm(id, |m, now| (0..times).for_each(|_| m.query(path, now, 1)))
        .unwrap();
}

fn guids(spec: &FabricSpec) -> BTreeSet<NodeGuid> {
    spec.nodes.iter().map(|n| n.node_guid).collect()
}

#[test]
fn discovery_finds_every_node_of_a_torus() {
    let spec = generate::from_spec("torus:4,4,1").unwrap();
    let (mut world, id) = world(&spec, 1);
    assert!(world.run_until_quiet(QUIET, at(60_000)));
    assert_eq!(world.sm(id).unwrap().known, guids(&spec));
    assert_eq!(world.in_flight(), 0);
}

#[test]
fn discovery_finds_every_node_with_faults() {
    let spec = generate::from_spec("random:12,4,1,3").unwrap();
    let (mut world, id) = world(&spec, 5);
    world.set_faults(Faults {
        loss: 0.1,
        duplicate: 0.2,
        jitter: Duration::from_millis(5),
        ..Faults::NONE
    });
    assert!(world.run_until_quiet(QUIET, at(60_000)));
    assert_eq!(world.sm(id).unwrap().known, guids(&spec));
}

/// A run with a seed: trace hash and all events as text.
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
    (world.trace_hash(), take_collected(&all))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// The same seed gives the same events; another seed gives different ones.
    #[test]
    fn runs_are_reproducible(seed in 0u64..1000) {
        let (hash, bytes) = run(seed, 0.1);
        let again = run(seed, 0.1);
        prop_assert_eq!(hash, again.0);
        prop_assert!(bytes == again.1);
        let other = run(seed + 1, 0.1);
        prop_assert_ne!(hash, other.0);
        prop_assert!(bytes != other.1);
    }
}

/// Replies to `times` requests to node 2 of a chain with faults.
fn replies_after(times: u32, prepare: impl FnOnce(&mut World<Explorer>)) -> (u64, World<Explorer>) {
    let (mut world, id) = idle(&chain(2), 11);
    prepare(&mut world);
    query(&mut world, id, path_to(2), times);
    world.run_until(at(10_000));
    (world.sm(id).unwrap().replies, world)
}

#[test]
fn loss_has_the_configured_probability() {
    // Two transits each: 0.8 * 0.8. The standard deviation of the count is 48.
    let (count, _) = replies_after(10_000, |w| w.set_faults(Faults::lossy(0.2)));
    assert!((6_200..6_600).contains(&count), "{count} of 10,000");
    assert_eq!(
        replies_after(100, |w| w.set_faults(Faults::lossy(1.0))).0,
        0
    );
    assert_eq!(replies_after(100, |_| ()).0, 100);
}

#[test]
fn node_and_link_loss_affect_passing_mads() {
    let by_node =
        |node| replies_after(1_000, |w| w.set_node_faults(node, Some(Faults::lossy(0.5)))).0;
    for node in [0, 1, 2] {
        assert!(
            (180..320).contains(&by_node(node)),
            "node {node}: both directions"
        );
    }
    assert_eq!(by_node(3), 1_000, "no packet reaches it");
    let by_link = |at| replies_after(1_000, |w| w.set_link_loss(at, 0.5)).0;
    assert!((180..320).contains(&by_link(PortAt::new(1, 2))));
    assert_eq!(by_link(PortAt::new(2, 2)), 1_000);
}

#[test]
fn duplicated_mads_arrive_twice() {
    let all = Faults {
        duplicate: 1.0,
        ..Faults::NONE
    };
    let (count, world) = replies_after(10, |w| w.set_faults(all));
    assert_eq!(count, 40, "duplicated request, duplicated replies");
    assert_eq!(world.fabric().counters(2).gets(id::NODE_INFO), 20);
}

/// Arrival times of the replies.
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
    query(&mut world, id, path_to(2), 20);
    world.run_until(at(10_000));
    take_collected(&seen)
}

#[test]
fn agents_process_one_mad_at_a_time() {
    let slow = arrivals(|w| w.set_node_faults(2, Some(Faults::slow(Duration::from_millis(1)))));
    let expected = (1..=20).map(|n| (Tid(n), n * 1_000_000 + 4 * 300));
    assert_eq!(slow, expected.collect::<Vec<_>>());
    let late = arrivals(|w| w.set_node_faults(2, Some(Faults::late(Duration::from_secs(1)))));
    let expected = (1..=20).map(|n| (Tid(n), 1_000_000_000 + n * 2_000 + 4 * 300));
    assert_eq!(late, expected.collect::<Vec<_>>());
}

#[test]
fn full_agent_queue_drops_mads() {
    let small = Faults {
        backlog: 4,
        ..Faults::slow(Duration::from_millis(1))
    };
    let arrived = arrivals(|w| w.set_node_faults(2, Some(small)));
    assert_eq!(arrived.len(), 1 + 4, "one in process, four queued");
}

#[test]
fn jitter_reorders_replies() {
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
fn hung_agent_does_not_reply_but_forwards() {
    let (mut world, id) = world(&chain(2), 1);
    world.set_node_faults(1, Some(Faults::HUNG));
    query(&mut world, id, path_to(3), 1);
    world.run_until_quiet(QUIET, at(60_000));
    let found: Vec<_> = world.sm(id).unwrap().known.iter().map(|g| g.0).collect();
    assert_eq!(
        found,
        [0x1000, 0x4000],
        "itself and the nodes behind the hung one"
    );
}

#[test]
fn refused_sets_are_rejected_without_effect() {
    let (mut world, _) = idle(&chain(1), 1);
    world.set_node_faults(1, Some(Faults::rejecting_sets(Status::BUSY)));
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
    assert_eq!(take_collected(&statuses), [Status::BUSY]);
    assert_eq!(world.fabric().lft(1), []);
}

#[test]
fn garbage_has_the_configured_kind() {
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
        query(&mut world, id, path_to(1), 5);
        world.run_until(at(10));
        let seen = take_collected(&seen);
        assert_eq!(seen.len(), 5);
        for (mad, tid) in seen.iter().zip(1..) {
            let checks = [
                mad.as_bytes()[64..76] == [1, 1, 2, 4, 0, 0, 0, 0, 0, 0, 0x20, 0],
                mad.status().is_ok(),
                mad.tid() == Tid(tid),
                mad.attr_id() == id::NODE_INFO,
                mad.attr_mod() == AttrMod(0),
            ];
            let invalid = checks.iter().position(|r| !r);
            assert_eq!(invalid, Some(kind as usize));
            assert_eq!(checks.iter().filter(|r| !**r).count(), 1);
        }
    }
}

#[test]
fn scheduled_actions_happen_on_time() {
    let (mut world, id) = idle(&chain(2), 1);
    world.schedule(at(10), FabricAction::Cut(PortAt::new(1, 2)));
    world.schedule(at(20), FabricAction::Restore(PortAt::new(1, 2)));
    world.schedule(at(30), FabricAction::Cut(PortAt::new(1, 4)));
    for (ms, expected) in [(5, 1), (15, 1), (25, 2)] {
        world.run_until(at(ms));
        query(&mut world, id, path_to(2), 1);
        world.run_for(Duration::from_millis(1));
        assert_eq!(world.sm(id).unwrap().replies, expected, "at {ms} ms");
    }
    world.run_until(at(40));
    assert_eq!(world.action_errors().len(), 1, "the port has no cable");
    assert_eq!(world.action_errors()[0].0, at(30));
}

#[test]
fn links_train_for_the_configured_time() {
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

/// A link that goes down during training restarts it: the previous timer has no effect.
#[test]
fn bounce_during_training_restarts_it() {
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
    // A cable that is cut during training remains down.
    world.schedule(at(100), FabricAction::Bounce(PortAt::new(1, 2)));
    world.schedule(at(110), FabricAction::Cut(PortAt::new(1, 2)));
    world.schedule(at(120), FabricAction::Restore(PortAt::new(1, 2)));
    for (ms, up) in [(141, false), (159, false), (161, true)] {
        world.run_until(at(ms));
        assert_eq!(world.fabric().link_up(PortAt::new(2, 1)), up, "at {ms} ms");
    }
}

#[test]
fn traps_reach_the_sm_and_are_repeated() {
    let mut rig = Rig::new(&chain(2));
    rig.configure_chain();
    rig.advance();
    rig.fabric.detach(rig.at).unwrap();
    let mut world: World<Explorer> = World::new(rig.fabric, 1);
    let id = world
        .add_sm(Some(PortAt::new(0, 1)), Explorer::default())
        .unwrap();
    let traps = Arc::new(Mutex::new(0));
    let sink = Arc::clone(&traps);
    world.observe(move |e| {
        let is_trap = e.mad.method() == ferrosm_mad::mad::Method::Trap;
        let number = Notice::decode(ferrosm_mad::smp::data(e.mad)).trap_number;
        let is_injected = number == TrapNumber::BufferOverrun;
        *sink.lock().unwrap() +=
            u32::from(is_trap && is_injected && e.event == MadEvent::Delivered);
    });
    world.schedule(
        at(10),
        FabricAction::Trap(PortAt::new(2, 2), TrapNumber::BufferOverrun),
    );
    world.run_until(at(10 + 3 * 1_074));
    assert_eq!(
        take_collected(&traps),
        4,
        "immediately, and after each of three SubnetTimeouts of 1,073.7 ms"
    );
    assert!(world.kill(id).is_some());
    world.run_until(at(20_000));
    assert_eq!(take_collected(&traps), 0, "the SM was removed");
}

/// Sends an SMInfo request to node 3 of a chain and returns the reply.
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
    take_collected(&seen)
}

#[test]
fn foreign_sm_replies_as_configured_and_hands_over() {
    let (mut world, _) = idle(&chain(2), 1);
    let get = SmpRequest::get(id::SM_INFO, AttrMod(0), MKey::NONE);
    let unsupported = Status::BAD_METHOD_ATTR;
    assert_eq!(sm_info(&mut world, &get).unwrap().0, unsupported);
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
    assert_eq!(sm_info(&mut world, &get).unwrap().0, unsupported);
}

#[test]
fn paused_sm_loses_mads_and_resumes() {
    let (mut world, id) = idle(&chain(2), 1);
    query(&mut world, id, path_to(2), 1);
    world.set_paused(id, true);
    world.run_until(at(500));
    assert_eq!(world.sm(id).unwrap().replies, 0);
    world.set_paused(id, false);
    query(&mut world, id, path_to(2), 1);
    world.run_for(Duration::from_millis(1));
    assert_eq!(world.sm(id).unwrap().replies, 1);
}

#[test]
fn lost_requests_are_reported_only_on_request() {
    let dead = path_to(1).extend(PortNum(4)).unwrap();
    for (report, failed) in [(None, 0), (Some(Duration::from_millis(20)), 1)] {
        let (mut world, id) = idle(&chain(1), 1);
        world.report_lost_after(report);
        query(&mut world, id, dead, 1);
        query(&mut world, id, path_to(1), 1);
        world.run_until(at(1_000));
        assert_eq!(world.sm(id).unwrap().failed.len(), failed);
    }
}

#[test]
fn duplicate_guids_can_be_set() {
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
