//! Takeover of a running fabric: the new master reads the tables and writes only what differs. On
//! an unchanged fabric it writes no routes, groups, VL tables or P_Keys. The simulated devices
//! count the Sets.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "test helpers; prints the cost of takeovers"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_core::records::{RecordChange, RecordKind, RecordRestorer, ViewPersister};
use ferrosm_core::report::routing_failure::AdoptionRejection;
use ferrosm_core::report::routing_message::RoutingMessage;
use ferrosm_core::{Command, Phase, RestoredState, SmConfig};
use ferrosm_mad::attr::{PortState, id};
use ferrosm_mad::ids::{AttrId, Gid, Lid, PortNum};
use ferrosm_mad::time::Instant;
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::{LinkSpec, PortAt};
use ferrosm_tests::lab::{Lab, Sm, TestRng};
use ferrosm_tests::sa::members::{BROADCAST, Members, plain};

/// Attributes that a takeover of an unchanged fabric does not write.
const TABLES: [(&str, AttrId); 5] = [
    ("LFT", id::LFT),
    ("MFT", id::MFT),
    ("P_Key", id::PKEY_TABLE),
    ("SLtoVL", id::SL_TO_VL),
    ("VLArb", id::VL_ARBITRATION),
];

fn config_for(engine: &str) -> SmConfig {
    let engines = match engine {
        "auto" => vec!["auto".to_owned()],
        one => vec![one.to_owned(), "no_fallback".to_owned()],
    };
    SmConfig {
        engines,
        ..SmConfig::default()
    }
}

/// Parts of the old master's persisted state that the new master has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Persisted {
    /// The complete state.
    All,
    /// LIDs, registrations and routing.
    Routing,
    /// LIDs and registrations.
    NoView,
    /// No state.
    None,
}

/// A fabric with history: links and a switch went down and came back, hosts joined and left groups.
fn fabric_with_history(spec: &str, engine: &str, seed: u64) -> (Lab, Members) {
    let mut lab = Lab::with(spec, seed, config_for(engine));
    let report = lab.next_sweep(600);
    assert!(report.is_clean(), "{spec} {engine}: {report:?}");
    let mut rng = TestRng::new(seed);
    let mut members = Members::new();
    let all_hosts = lab.hosts();
    for at in &all_hosts {
        let join_state = ferrosm_mad::sa::multicast::JoinState::FULL;
        members
            .join(&mut lab, *at, BROADCAST, join_state)
            .expect("join accepted");
    }
    let groups: Vec<Gid> = (1..6).map(plain).collect();
    let mut cut_links: Vec<PortAt> = Vec::new();
    for _ in 0..6 {
        for _ in 0..12 {
            members.random_action(&mut lab, &all_hosts, &groups, &mut rng);
        }
        lab.world.run_for(Duration::from_secs(1));
        if cut_links.len() < 2 {
            let at = lab.redundant_link(rng.index(4));
            if !cut_links.contains(&at) {
                lab.world.act(FabricAction::Cut(at)).expect("link");
                cut_links.push(at);
            }
        } else {
            let at = cut_links.swap_remove(rng.index(cut_links.len()));
            lab.world.act(FabricAction::Restore(at)).expect("link");
        }
        lab.world.run_for(Duration::from_secs(2));
        until_delivered(&mut lab, &mut members, "");
    }
    // One link stays down.
    lab.world.run_for(Duration::from_secs(20));
    members.assert_correct(&lab);
    (lab, members)
}

/// Waits until all packets arrive without credit loops. Members that receive ClientReregister join
/// again, because the SL of their group may have changed.
fn until_delivered(lab: &mut Lab, members: &mut Members, context: &str) {
    let deadline = lab.world.now() + Duration::from_secs(60);
    while let Err(error) = lab.verdict(&members.expect(lab)) {
        let is_late = lab.world.now() > deadline;
        assert!(!is_late, "{} {context}{error}", lab.describe_run());
        lab.world.run_for(Duration::from_millis(250));
        members.join_again_if_notified(lab);
    }
}

/// The restored state that results from an SM's persisted changes.
fn restored_from(sm: &Sm, persisted: Persisted, now: Instant) -> RestoredState {
    if persisted == Persisted::None {
        return RestoredState::default();
    }
    let unix_s = now.as_nanos() / 1_000_000_000;
    let mut restorer = RecordRestorer::new(unix_s);
    for (key, value) in &sm.persisted_records {
        restorer.put(key, value);
    }
    let batch =
        ViewPersister::default().batch(sm.core().view().map(|view| view.snapshot()), unix_s);
    for change in batch.changes {
        if let RecordChange::Put(key, value) = change
            && (persisted == Persisted::All
                || persisted == Persisted::Routing && key.kind() == Some(RecordKind::Routing))
        {
            restorer.put(&key, &value);
        }
    }
    let (restored, excluded) = restorer.finish();
    assert_eq!(excluded, []);
    RestoredState {
        complete: true,
        ..restored
    }
}

/// Contents of all tables of the devices.
type Bytes = BTreeMap<(&'static str, usize, u32), Vec<u8>>;

fn tables(lab: &Lab) -> Bytes {
    let fabric = lab.world.fabric();
    let mut bytes = Bytes::new();
    for n in 0..fabric.num_nodes() {
        if fabric.is_switch(n) {
            bytes.insert(("LFT", n, 0), fabric.lft(n).to_vec());
            for mlid in 0xC000..0xC020 {
                let ports = fabric
                    .mft_ports(n, Lid(mlid))
                    .into_iter()
                    .map(PortNum::raw)
                    .collect();
                bytes.insert(("MFT", n, u32::from(mlid)), ports);
            }
        }
        let first = u8::from(!fabric.is_switch(n));
        for port in first..=fabric.num_ports(n) {
            let at = PortAt::new(n, port);
            let keys = fabric
                .pkeys(at)
                .iter()
                .flat_map(|k| k.0.to_be_bytes())
                .collect();
            bytes.insert(("P_Key", n, u32::from(port)), keys);
            for high in [false, true] {
                if let Some(arb) = fabric.vl_arb(at, high) {
                    let index = u32::from(port) * 2 + u32::from(high);
                    bytes.insert(("VLArb", n, index), arb.encode().to_vec());
                }
            }
            for input in 0..=fabric.num_ports(n) {
                if let Some(map) = fabric.sl_to_vl(at, input) {
                    let index = u32::from(port) << 8 | u32::from(input);
                    bytes.insert(("SLtoVL", n, index), map.encode().to_vec());
                }
            }
        }
    }
    bytes
}

/// Result of a takeover.
#[derive(Debug)]
struct Cost {
    /// Sets and changed tables, in the order of [`TABLES`].
    sets: [(u32, usize); 5],
    port_info: u32,
    reregistered: u32,
    gets: u64,
    messages: Vec<RoutingMessage>,
}

impl Cost {
    fn has_message(&self, kind: &str) -> bool {
        self.messages.iter().any(|message| message.kind() == kind)
    }
}

fn reregistered(lab: &Lab) -> u32 {
    let fabric = lab.world.fabric();
    fabric
        .end_ports()
        .map(|at| fabric.client_reregisters(at))
        .sum()
}

fn active_ports(lab: &Lab) -> usize {
    let fabric = lab.world.fabric();
    let ports = fabric.end_ports().filter_map(|at| fabric.port_info(at));
    ports
        .filter(|info| info.port_state == PortState::Active)
        .count()
}

/// Location and state of the new master.
#[derive(Debug, Clone, Copy)]
struct TakeoverCase {
    persisted: Persisted,
    /// The new master runs on another host.
    elsewhere: bool,
}

const SAME_HOST: TakeoverCase = TakeoverCase {
    persisted: Persisted::All,
    elsewhere: false,
};
const OTHER_HOST: TakeoverCase = TakeoverCase {
    persisted: Persisted::All,
    elsewhere: true,
};

/// Kills the master, changes the fabric, and starts a new master.
fn take_over(
    lab: &mut Lab,
    members: &Members,
    cfg: SmConfig,
    case: TakeoverCase,
    meanwhile: &dyn Fn(&mut Lab),
) -> Cost {
    let reregistered_before = reregistered(lab);
    // The hosts keep sending on the SLs and LIDs of the old master.
    let expect = members.expect(lab);
    let now = lab.world.now();
    let old = lab.world.kill(lab.sm).expect("running SM");
    let restored = restored_from(&old, case.persisted, now);
    meanwhile(lab);
    if case.elsewhere {
        let all_hosts = lab.hosts();
        let other = all_hosts.into_iter().rev().find(|at| *at != lab.at);
        lab.at = other.expect("another host");
    }
    lab.world.run_for(Duration::from_millis(1));
    let before = tables(lab);
    let was_correct = lab.verdict(&expect).is_ok();
    lab.world.fabric_mut().reset_counters();
    lab.restart_sm(cfg, restored);
    let up = active_ports(lab);
    let mut steps = 0u32;
    while lab.manager().reports().is_empty() {
        lab.world.step();
        steps += 1;
        if steps.is_multiple_of(500) {
            assert_eq!(
                active_ports(lab),
                up,
                "{} a link went down",
                lab.describe_run()
            );
            // With incomplete state, the new master has to drop some entries first.
            let writing_sm_lids = matches!(
                lab.manager().core().activity().phase(),
                Some(Phase::Arm | Phase::Activate)
            );
            // At the end the SM writes the master SM LID to one host after the other.
            if was_correct
                && !writing_sm_lids
                && matches!(case.persisted, Persisted::All | Persisted::Routing)
                && let Err(error) = lab.verdict(&expect)
            {
                panic!(
                    "{} {case:?} during the takeover: {error}",
                    lab.describe_run()
                );
            }
        }
    }
    let report = lab.last_report();
    assert!(report.is_clean(), "{} {report:?}", lab.describe_run());
    let counters = lab.world.fabric().all_counters();
    let after = tables(lab);
    let changed = |name: &str| {
        let of_name = before.iter().filter(|(key, _)| key.0 == name);
        of_name
            .filter(|(key, bytes)| after.get(*key) != Some(*bytes))
            .count()
    };
    let sets = TABLES.map(|(name, attr)| (counters.sets(attr), changed(name)));
    let cost = Cost {
        sets,
        port_info: counters.sets(id::PORT_INFO),
        reregistered: reregistered(lab) - reregistered_before,
        gets: counters.all_gets(),
        messages: report.routing_messages,
    };
    // Without persisted state the members have not joined yet.
    if case.persisted == Persisted::None {
        lab.assert_correct();
    } else {
        let context = format!("{case:?} after the takeover: ");
        until_delivered(lab, &mut members.clone(), &context);
    }
    cost
}

const CASES: [(&str, &str); 16] = [
    ("fat-tree:4", "auto"),
    ("fat-tree:6", "auto"),
    ("fat-tree:6", "updn"),
    ("fat-tree:6", "ftree"),
    ("fat-tree:6", "dmodc"),
    ("fat-tree:6", "minhop"),
    ("torus:4,4,1,2", "auto"),
    ("torus:4,4,1,2", "dfsssp"),
    ("torus:5,5,1", "lash"),
    ("torus:4,4,1,2", "nue"),
    ("torus:5,5,1,2", "torus-2QoS"),
    ("hyperx:3,3,2", "auto"),
    ("dragonfly:4,5,2,2", "auto"),
    ("dragonfly:4,5,2,2", "dfsssp"),
    ("random:12,5,2,3", "auto"),
    ("random:12,5,2,3", "updn"),
];

const NO_WRITES: [(u32, usize); 5] = [(0, 0); 5];

fn unchanged(_: &mut Lab) {}

/// With the complete state and an unchanged fabric, the SM writes no table, no link goes down, no
/// host has to reregister, and unicast and multicast packets arrive at every moment. A new master
/// at another host writes only the master SM LID to the hosts.
#[test]
fn nothing_is_written_on_an_unchanged_fabric() {
    for (spec, engine) in CASES {
        for case in [SAME_HOST, OTHER_HOST] {
            let (mut lab, members) = fabric_with_history(spec, engine, 1);
            let cost = take_over(&mut lab, &members, config_for(engine), case, &unchanged);
            println!("{spec:18} {engine:10} {case:?} {cost:?}");
            assert_eq!(cost.sets, NO_WRITES, "{spec} {engine} {case:?}");
            assert_eq!(cost.reregistered, 0, "{spec} {engine} {case:?}");
            assert!(cost.gets > 0, "the SM read no table");
            let end_ports = lab.world.fabric().end_ports().count();
            let limit = u32::try_from(end_ports).expect("fits into 32 bits");
            assert!(cost.port_info <= limit, "{spec} {engine} {case:?} {cost:?}");
            assert!(
                cost.has_message("installed-lfts-adopted"),
                "{:?}",
                cost.messages
            );
        }
    }
}

/// With less state, routes and groups stay where they are known or verified to be valid.
#[test]
fn fewer_persisted_records_mean_more_writes() {
    for (spec, engine) in CASES {
        for persisted in [Persisted::Routing, Persisted::NoView, Persisted::None] {
            let case = TakeoverCase {
                persisted,
                elsewhere: true,
            };
            let (mut lab, members) = fabric_with_history(spec, engine, 1);
            let cost = take_over(&mut lab, &members, config_for(engine), case, &unchanged);
            println!("{spec:18} {engine:10} {case:?} {cost:?}");
            let [lft, mft, keys, ..] = cost.sets;
            assert_eq!(keys, (0, 0), "{spec} {engine} {case:?}");
            if persisted == Persisted::Routing {
                assert_eq!((lft, mft), ((0, 0), (0, 0)), "{spec} {engine} {case:?}");
                // VL tables were correct, but the new master could not know.
                assert_eq!(cost.reregistered, 0, "{spec} {engine} {case:?}");
            }
        }
    }
}

/// A link goes down while no SM is running. The new master repairs the persisted routing as the
/// last master would have.
#[test]
fn links_lost_meanwhile_are_repaired() {
    let mut repaired = 0;
    for (spec, engine) in [
        ("fat-tree:6", "auto"),
        ("fat-tree:6", "minhop"),
        ("torus:4,4,1,2", "dfsssp"),
        ("torus:4,4,1,2", "nue"),
        ("hyperx:3,3,2", "auto"),
    ] {
        for seed in 1..3 {
            let (mut lab, members) = fabric_with_history(spec, engine, seed);
            let all: u32 = (0..lab.world.fabric().num_nodes())
                .filter(|n| lab.world.fabric().is_switch(*n))
                .map(|n| u32::try_from(lab.world.fabric().lft(n).len() / 64).unwrap_or(0))
                .sum();
            let case = if seed == 1 { SAME_HOST } else { OTHER_HOST };
            let cost = take_over(&mut lab, &members, config_for(engine), case, &|lab| {
                let at = (0..).map(|skip| lab.redundant_link(skip));
                let mut up = at.filter(|at| lab.world.fabric().link_up(*at));
                let at = up.next().expect("link");
                lab.world.act(FabricAction::Cut(at)).expect("link");
                lab.world.run_for(Duration::from_secs(1));
            });
            println!("{spec:18} {engine:10} {case:?} {all} {cost:?}");
            if cost.has_message("persisted-routing-continued") {
                repaired += 1;
                // Entries that conflict with new ones are dropped first.
                let (sets, changed) = cost.sets[0];
                let blocks = u32::try_from(changed).expect("small number");
                assert!(
                    blocks < all && sets <= 2 * blocks,
                    "{spec} {engine} {cost:?}"
                );
                assert_eq!(cost.sets[3..], NO_WRITES[3..], "{spec} {engine} {cost:?}");
            }
        }
    }
    assert!(repaired > 4, "{repaired} of 10");
}

/// The master dies while it writes the reroute after a lost link. The next master completes the
/// reroute, and a further takeover writes nothing.
#[test]
fn reroute_of_a_dead_master_is_completed() {
    for seed in 0..8u64 {
        let (mut lab, members) = fabric_with_history("fat-tree:6", "auto", seed);
        let mut rng = TestRng::new(seed);
        let sweeps = lab.manager().reports().len();
        let at = (0..).map(|skip| lab.redundant_link(skip));
        let mut up = at.filter(|at| lab.world.fabric().link_up(*at));
        let at = up.next().expect("link");
        lab.world.act(FabricAction::Cut(at)).expect("link");
        for _ in 0..rng.below(400) {
            if lab.manager().reports().len() == sweeps {
                lab.world.step();
            }
        }
        let case = if rng.one_in(2) { SAME_HOST } else { OTHER_HOST };
        take_over(&mut lab, &members, config_for("auto"), case, &unchanged);
        lab.world.run_for(Duration::from_secs(20));
        lab.assert_correct();
        let cost = take_over(&mut lab, &members, config_for("auto"), case, &unchanged);
        assert_eq!(cost.sets, NO_WRITES, "[seed {seed}] {cost:?}");
    }
}

/// An LFT was changed to form a forwarding loop. The SM does not adopt it and writes only this
/// table, possibly after dropping its bad entry.
#[test]
fn looping_lfts_are_not_adopted() {
    for (spec, engine) in [("fat-tree:4", "auto"), ("torus:4,4,1,2", "dfsssp")] {
        let (mut lab, members) = fabric_with_history(spec, engine, 3);
        let cost = take_over(&mut lab, &members, config_for(engine), SAME_HOST, &|lab| {
            let fabric = lab.world.fabric();
            let link = |l: &&LinkSpec| {
                let switches = [l.a, l.b].iter().all(|p| fabric.is_switch(p.node));
                switches && fabric.link_up(l.a)
            };
            let LinkSpec { a, b, .. } = lab.spec.links.iter().find(link).expect("link");
            let (a, b) = (*a, *b);
            let far_host = lab.hosts().into_iter().map(|at| fabric.lid(at).0);
            let mut far = far_host.filter(|lid| fabric.lft_entry(a.node, *lid) == PortNum(a.port));
            let lid = far.next().expect("LID behind the link");
            let fabric = lab.world.fabric_mut();
            fabric.corrupt_lft(b.node, lid, b.port);
        });
        let (written, changed) = cost.sets[0];
        assert_eq!(changed, 1, "{spec} {engine} {cost:?}");
        assert!(written <= 2, "{spec} {engine} {cost:?}");
        assert_eq!(cost.sets[1..], NO_WRITES[1..], "{spec} {engine} {cost:?}");
        assert!(cost.has_message("persisted-routing-continued"));
    }
}

/// After a change of the operator's settings the SM reroutes and logs the reason.
#[test]
fn changed_settings_cause_a_reroute() {
    let (mut lab, members) = fabric_with_history("fat-tree:4", "minhop", 1);
    let cost = take_over(
        &mut lab,
        &members,
        config_for("updn"),
        SAME_HOST,
        &unchanged,
    );
    let is_reported = cost.messages.iter().any(|message| {
        matches!(message, RoutingMessage::AdoptionRejected(rejection)
            if rejection.message == AdoptionRejection::OtherSettings)
    });
    assert!(is_reported, "{:?}", cost.messages);
    assert_eq!(lab.last_report().engine, "updn");
}

/// Adopted routing is repaired incrementally, and rerouted from scratch at the operator's request.
#[test]
fn adopted_routing_is_repaired_like_any_other() {
    let (mut lab, members) = fabric_with_history("fat-tree:6", "auto", 2);
    take_over(
        &mut lab,
        &members,
        config_for("auto"),
        OTHER_HOST,
        &unchanged,
    );
    let at = (0..).map(|skip| lab.redundant_link(skip));
    let mut up = at.filter(|at| lab.world.fabric().link_up(*at));
    let at = up.next().expect("link");
    lab.world.act(FabricAction::Cut(at)).expect("link");
    let report = lab.next_sweep(60);
    let repaired =
        |messages: &[RoutingMessage]| messages.iter().any(|m| m.kind() == "incremental-reroute");
    assert!(repaired(&report.routing_messages), "{report:?}");
    lab.world.run_for(Duration::from_secs(5));
    lab.assert_correct();
    lab.command(Command::Reroute);
    let report = lab.next_sweep(60);
    assert!(!repaired(&report.routing_messages), "{report:?}");
    lab.world.run_for(Duration::from_secs(5));
    lab.assert_correct();
}

/// The multicast spanning tree loses a link. The members send on an SL that need not be the first
/// one with a valid tree. New trees must be valid on that SL; otherwise the installed tables have a
/// credit loop.
#[test]
fn groups_keep_their_sl_when_trees_are_recomputed() {
    fabric_with_history("dragonfly:4,5,2,2", "auto", 2);
}
