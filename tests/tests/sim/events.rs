//! Staying in charge: what changes in a running fabric is found, put right, and nothing else is touched.

use std::time::Duration;

use ferrosm_core::{ProblemKind, SmConfig};
use ferrosm_mad::attr::{NodeType, PortState, TrapNumber, id};
use ferrosm_mad::ids::{Lid, Lmc, PortGuid};
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::faults::{FabricAction, Faults};
use ferrosm_sim::spec::{LinkSpec, PortAt};
use ferrosm_tests::simulated::Lab;

/// A fabric that is up and has been looked at once more by a light sweep.
fn calm(spec: &str) -> Lab {
    let mut lab = Lab::new(spec, 1);
    assert!(lab.next_sweep(60).is_clean(), "{spec}");
    lab.world.run_for(Duration::from_secs(25));
    lab.assert_correct();
    lab.world.fabric_mut().reset_counters();
    lab
}

fn lids(lab: &Lab) -> Vec<(PortGuid, Lid)> {
    let fabric = lab.world.fabric();
    let mut all: Vec<_> = fabric
        .end_ports()
        .map(|p| (fabric.port_guid(p), fabric.lid(p).0))
        .collect();
    all.sort_unstable();
    all
}

/// Does something to a calm fabric, waits until it is good, and says how many sweeps that took.
fn after(lab: &mut Lab, max_s: u64, change: impl FnOnce(&mut Fabric)) -> usize {
    let before = (lids(lab), lab.manager().reports().len());
    change(lab.world.fabric_mut());
    lab.run_until_correct(max_s);
    lab.world.run_for(Duration::from_secs(25));
    lab.assert_correct();
    assert_eq!(
        lab.world.fabric().pending_traps(),
        0,
        "a trap was not repressed"
    );
    assert!(
        lab.last_report().is_clean(),
        "{:#?}",
        lab.last_report().problems
    );
    let now = lids(lab);
    let changed: Vec<_> = now
        .iter()
        .filter(|(guid, lid)| {
            let had = before.0.iter().find(|(g, _)| g == guid);
            had.is_some_and(|(_, l)| l != lid && *l != Lid::NONE) && *lid != Lid::NONE
        })
        .collect();
    assert!(changed.is_empty(), "LIDs changed: {changed:?}");
    lab.manager().reports().len() - before.1
}

/// A link between switches is cut and mended in a fabric of 1,024 hosts: what is sent is a matter of its two switches.
#[test]
fn lost_link_costs_the_reread_of_its_two_switches() {
    let mut lab = calm("fat-tree:16");
    let at = lab.redundant_link(3);
    for mend in [false, true] {
        lab.world.fabric_mut().reset_counters();
        let sweeps = after(&mut lab, 5, |f| {
            if mend { f.restore(at) } else { f.cut(at) }.unwrap();
        });
        assert!(sweeps <= 3, "{sweeps} sweeps");
        let sent = lab.world.fabric().all_counters();
        let light = 3 * (320 + 2);
        let gets = sent.all_gets() - u64::from(sent.gets(id::LFT));
        assert!(gets < 3 * 2 * 17 + light, "mended {mend}: {gets} Gets");
        assert!(
            sent.gets(id::NODE_INFO) <= 2 * 17,
            "NodeInfo {}",
            sent.gets(id::NODE_INFO)
        );
        assert_eq!(sent.gets(id::LFT), 0);
        assert!(
            sent.sets(id::PORT_INFO) <= 8,
            "PortInfo {}",
            sent.sets(id::PORT_INFO)
        );
        let blocks: u64 = lab
            .manager()
            .reports()
            .iter()
            .rev()
            .take(sweeps)
            .map(|r| r.lft_blocks_written)
            .sum();
        assert_eq!(u64::from(sent.sets(id::LFT)), blocks);
        assert!(blocks < 320 * 22, "all blocks were written");
    }
}

/// Each event in fabrics of several shapes, one after the other; the fabric is good soon after each.
#[test]
fn every_event_is_handled() {
    for spec in [
        "fat-tree:4",
        "torus:3,3,1,2",
        "fat-tree2:36,6,4;dual-port;routers=2",
    ] {
        let mut lab = calm(spec);
        let spare = lab.redundant_link(1);
        let own_leaf = lab.world.fabric().peer(lab.at).unwrap().node;
        let switches: Vec<usize> = (0..lab.spec.nodes.len())
            .filter(|n| lab.world.fabric().is_switch(*n))
            .collect();
        let host = 1;
        after(&mut lab, 5, |f| f.cut(spare).unwrap());
        after(&mut lab, 5, |f| f.restore(spare).unwrap());
        after(&mut lab, 5, |f| f.bounce(spare).unwrap());
        after(&mut lab, 30, |f| {
            (0..5).for_each(|_| f.bounce(spare).unwrap())
        });
        after(&mut lab, 15, |f| f.reboot(host));
        after(&mut lab, 15, |f| f.power_off(host));
        after(&mut lab, 15, |f| f.power_on(host));
        for s in &switches {
            after(&mut lab, 40, |f| f.reboot(*s));
        }
        let other = *switches.iter().rev().find(|s| **s != own_leaf).unwrap();
        after(&mut lab, 40, |f| f.power_off(other));
        after(&mut lab, 40, |f| f.power_on(other));
    }
}

/// The switch that the manager hangs on loses its power for a minute: nothing can be done, then everything is.
#[test]
fn sm_leaf_fails_and_returns() {
    let mut lab = calm("fat-tree:4");
    let leaf = lab.world.fabric().peer(lab.at).unwrap().node;
    lab.world.fabric_mut().power_off(leaf);
    lab.world.run_for(Duration::from_secs(60));
    after(&mut lab, 40, |f| f.power_on(leaf));
}

/// Cables are moved: a host's to another switch, one between switches, and two are exchanged.
#[test]
fn moved_cables_are_followed() {
    let mut lab = calm("fat-tree:4;spine-hosts=1");
    let free = |f: &Fabric, not: usize| {
        (0..f.num_nodes())
            .filter(|n| f.is_switch(*n) && *n != not)
            .flat_map(|n| f.external_ports(n))
            .find(|p| f.cable_at(*p).is_none())
    };
    let host = PortAt::new(1, 1);
    let leaf = lab.world.fabric().peer(host).unwrap();
    after(&mut lab, 5, |f| f.power_off(2));
    let freed = lab.world.fabric().cable_at(PortAt::new(2, 1)).unwrap();
    after(&mut lab, 5, |f| {
        f.remove_cable(freed.a).unwrap();
    });
    if let Some(to) = free(lab.world.fabric(), leaf.node) {
        after(&mut lab, 15, |f| f.move_cable(leaf, to).unwrap());
    }
    let cables: Vec<LinkSpec> = [1, 4]
        .map(|skip| {
            let at = lab.redundant_link(skip);
            lab.world.fabric().cable_at(at).unwrap()
        })
        .into();
    after(&mut lab, 40, |f| {
        let (c, d) = (cables[0], cables[1]);
        f.remove_cable(c.a).unwrap();
        f.remove_cable(d.a).unwrap();
        f.add_cable(LinkSpec { b: d.b, ..c }).unwrap();
        f.add_cable(LinkSpec { b: c.b, ..d }).unwrap();
    });
    let two =
        [PortAt::new(4, 1), PortAt::new(8, 1)].map(|p| lab.world.fabric().cable_at(p).unwrap());
    after(&mut lab, 40, |f| {
        f.remove_cable(two[0].a).unwrap();
        f.remove_cable(two[1].a).unwrap();
        f.add_cable(LinkSpec {
            b: two[1].b,
            ..two[0]
        })
        .unwrap();
        f.add_cable(LinkSpec {
            b: two[0].b,
            ..two[1]
        })
        .unwrap();
    });
}

/// Each trap is repressed, none makes the manager look at the whole fabric, and a new description is read by itself.
#[test]
fn traps_are_repressed_at_little_cost() {
    let mut lab = calm("fat-tree:8");
    let host = PortAt::new(5, 1);
    for number in [
        TrapNumber::LinkStateChange,
        TrapNumber::LocalLinkIntegrity,
        TrapNumber::BufferOverrun,
        TrapNumber::FlowControl,
        TrapNumber::LocalChange,
        TrapNumber::SystemImageGuid,
    ] {
        lab.world.fabric_mut().reset_counters();
        lab.world.fabric_mut().inject_trap(host, number);
        lab.world.run_for(Duration::from_secs(3));
        assert_eq!(lab.world.fabric().pending_traps(), 0, "{number:?}");
        let sent = lab.world.fabric().all_counters();
        assert!(
            sent.gets(id::PORT_INFO) < 30,
            "{number:?}: {}",
            sent.gets(id::PORT_INFO)
        );
        assert_eq!(sent.all_sets(), 0, "{number:?}");
    }
    let sweeps = lab.manager().reports().len();
    lab.world.fabric_mut().set_description(5, "renamed");
    lab.world.run_for(Duration::from_secs(3));
    let known = lab.manager().core().subnet();
    assert!(
        known
            .nodes()
            .any(|(_, n)| n.description.to_string() == "renamed")
    );
    assert_eq!(
        lab.manager().reports().len(),
        sweeps,
        "no sweep for a description"
    );
}

/// Ports of many hosts send the same traps again and again: each is repressed, and all of them together are soon looked at once a
/// second only.
#[test]
fn trap_storm_causes_no_continuous_sweeps() {
    let mut lab = calm("fat-tree:4");
    let mut before = lab.manager().reports().len();
    for round in 0..220 {
        for host in 1..12 {
            lab.world
                .fabric_mut()
                .inject_trap(PortAt::new(host, 1), TrapNumber::LocalLinkIntegrity);
            lab.world.run_for(Duration::from_millis(100));
        }
        if round == 20 {
            before = lab.manager().reports().len();
        }
    }
    let sweeps = lab.manager().reports().len() - before;
    assert!(sweeps <= 220, "{sweeps} sweeps in 218 s");
    assert_eq!(lab.world.fabric().pending_traps(), 0);
    lab.assert_correct();
}

/// SMPs that were sent to devices, without what represses traps.
fn asked(lab: &Lab) -> u64 {
    let counters = lab.world.fabric().all_counters();
    counters.all_gets() + counters.all_sets()
}

/// A host's port and a switch send the same trap a thousand times a second: each is repressed, and costs at most twelve SMPs a second,
/// those of the light sweeps included.
#[test]
fn thousand_traps_a_second_cost_one_reread_a_second() {
    const SECONDS: u64 = 20;
    for (at, number) in [
        (PortAt::new(3, 1), TrapNumber::LocalLinkIntegrity),
        (PortAt::new(3, 1), TrapNumber::LocalChange),
        (PortAt::new(20, 0), TrapNumber::LinkStateChange),
    ] {
        // Devices may send a trap each half millisecond.
        let cfg = SmConfig {
            subnet_timeout: 7,
            ..SmConfig::default()
        };
        let mut lab = Lab::up("fat-tree:4", 1, cfg);
        lab.world.run_for(Duration::from_secs(15));
        lab.world.fabric_mut().reset_counters();
        for _ in 0..SECONDS * 1000 {
            lab.world.fabric_mut().inject_trap(at, number);
            lab.world.run_for(Duration::from_millis(1));
        }
        let (sent, traps) = (asked(&lab), lab.world.fabric().totals().traps);
        assert!(traps >= SECONDS * 990, "{number:?}: {traps} traps");
        assert!(sent <= SECONDS * 12, "{number:?}: {sent} SMPs");
        lab.world.run_for(Duration::from_secs(2));
        assert_eq!(lab.world.fabric().pending_traps(), 0, "{number:?}");
        lab.assert_correct();
    }
}

fn is_active(lab: &Lab, at: PortAt) -> bool {
    let fabric = lab.world.fabric();
    let ends = [Some(at), fabric.peer(at)];
    ends.into_iter().all(|end| {
        let info = end.and_then(|end| fabric.port_info(end));
        info.is_some_and(|info| info.port_state == PortState::Active)
    })
}

/// Cables of a switch flap every 100 ms for a minute. What is plugged in again at that switch meanwhile carries data within two seconds,
/// and so do the others when they have calmed down. It costs at most 250 SMPs a second, and light sweeps go on.
#[test]
fn flapping_links_do_not_delay_other_changes() {
    const SOON: Duration = Duration::from_secs(2);
    const SECONDS: u64 = 60;
    for (spec, whose) in [
        ("fat-tree:8", Flapping::OwnTrunk),
        ("fat-tree:8", Flapping::FarTrunk),
        ("fat-tree:8", Flapping::Hosts),
        ("torus:4,4,1,2", Flapping::OwnTrunk),
    ] {
        let mut lab = calm(spec);
        let (flapping, others) = flapping(&lab, whose);
        let quiet = (0..lab.spec.nodes.len()).rfind(|n| lab.world.fabric().is_switch(*n));
        for (at, late) in flapping.iter().zip([0, 30, 70]) {
            let flap = FabricAction::Flap {
                at: *at,
                period: Duration::from_millis(100),
                times: u32::try_from(SECONDS * 10).unwrap(),
            };
            let start = lab.world.now() + Duration::from_millis(late);
            lab.world.schedule(start, flap);
        }
        let end = lab.world.now() + Duration::from_secs(SECONDS);
        let mut worst = Duration::ZERO;
        for (round, at) in others.iter().cycle().enumerate() {
            // At another moment each time.
            let pause = Duration::from_millis(4_000 + 173 * round as u64);
            if lab.world.now() + pause >= end {
                break;
            }
            lab.world.run_for(pause);
            lab.world.fabric_mut().cut(*at).unwrap();
            lab.world.run_for(Duration::from_millis(700));
            lab.world.fabric_mut().restore(*at).unwrap();
            worst = worst.max(until_active(&mut lab, &[*at]));
        }
        lab.world.run_until(end + Duration::from_millis(100));
        worst = worst.max(until_active(&mut lab, &flapping));
        assert!(worst <= SOON, "{spec} {whose:?}: one waited for {worst:?}");
        let sent = asked(&lab);
        assert!(sent <= SECONDS * 250, "{spec} {whose:?}: {sent} SMPs");
        let quiet = lab.world.fabric().counters(quiet.unwrap());
        let light = quiet.gets(id::SWITCH_INFO);
        assert!((5..=8).contains(&light), "{spec}: {light} light sweeps");
        lab.run_until_correct(5);
    }
}

/// A switch tells without end of a host that does not answer, and each look at it takes longer than a second: light sweeps take
/// place all the same.
#[test]
fn slow_rereads_do_not_delay_light_sweeps() {
    let cfg = SmConfig {
        smp_timeout: Duration::from_millis(400),
        ..SmConfig::default()
    };
    let mut lab = Lab::up("fat-tree:4", 1, cfg);
    let host = PortAt::new(5, 1);
    let leaf = lab.world.fabric().peer(host).unwrap();
    let quiet = lab.world.fabric().num_nodes() - 1;
    let deaf = Faults {
        loss: 1.0,
        ..Faults::NONE
    };
    lab.world.set_node_faults(host.node, Some(deaf));
    lab.world.fabric_mut().bounce(host).unwrap();
    lab.world.fabric_mut().reset_counters();
    for _ in 0..600 {
        let told = PortAt { port: 0, ..leaf };
        lab.world
            .fabric_mut()
            .inject_trap(told, TrapNumber::LinkStateChange);
        lab.world.run_for(Duration::from_millis(100));
    }
    let light = lab.world.fabric().counters(quiet).gets(id::SWITCH_INFO);
    assert!((4..=8).contains(&light), "{light} light sweeps");
    let looks = lab.world.fabric().counters(leaf.node).gets(id::SWITCH_INFO);
    assert!(looks >= 25, "{looks} looks at the switch");
    lab.world.set_node_faults(host.node, None);
    lab.run_until_correct(15);
}

/// Which cables flap.
#[derive(Debug, Clone, Copy)]
enum Flapping {
    /// One between the manager's switch and another: much of what the manager sends goes over it.
    OwnTrunk,
    /// One between two other switches.
    FarTrunk,
    /// Those of three hosts.
    Hosts,
}

/// Cables of one switch: those that flap, and others.
fn flapping(lab: &Lab, whose: Flapping) -> (Vec<PortAt>, Vec<PortAt>) {
    let fabric = lab.world.fabric();
    let hosts: Vec<PortAt> = fabric.end_ports().filter(|p| p.port != 0).collect();
    let near = match whose {
        Flapping::OwnTrunk => lab.at,
        Flapping::FarTrunk | Flapping::Hosts => hosts[hosts.len() / 2],
    };
    let switch = fabric.peer(near).map_or(near.node, |far| far.node);
    let peer = |p: &PortAt| fabric.peer(*p).filter(|far| *far != lab.at);
    let cables = fabric.external_ports(switch).filter(|p| peer(p).is_some());
    let (trunks, hosts): (Vec<PortAt>, Vec<PortAt>) =
        cables.partition(|p| peer(p).is_some_and(|far| fabric.is_switch(far.node)));
    match whose {
        Flapping::OwnTrunk | Flapping::FarTrunk => {
            (trunks[..1].to_vec(), [&trunks[1..2], &hosts].concat())
        }
        Flapping::Hosts => (hosts[..3].to_vec(), [&trunks[..2], &hosts[3..]].concat()),
    }
}

/// How long it takes until all of these carry data.
fn until_active(lab: &mut Lab, cables: &[PortAt]) -> Duration {
    let begun = lab.world.now();
    while !cables.iter().all(|at| is_active(lab, *at)) {
        lab.world.run_for(Duration::from_millis(10));
        let waited = lab.world.now().since(begun);
        assert!(waited < Duration::from_mins(1), "{cables:?} never came up");
    }
    lab.world.now().since(begun)
}

/// A host is off. A switch comes from another subnet, with the LID that the host had: it gets another one, which is told, and the
/// host finds its own again.
#[test]
fn new_host_does_not_get_the_lid_of_an_absent_host() {
    let mut spec = ferrosm_sim::generate::from_spec("fat-tree:4").unwrap();
    let mut stranger = spec
        .nodes
        .iter()
        .find(|n| n.kind == NodeType::Switch)
        .unwrap()
        .clone();
    stranger.node_guid.0 ^= 0x00FF_0000_0000;
    stranger.port_guids[0].0 ^= 0x00FF_0000_0000;
    spec.nodes.push(stranger);
    let (host, other) = (PortAt::new(5, 1), PortAt::new(6, 1));
    let stranger = PortAt::new(spec.nodes.len() - 1, 0);
    let mut lab = Lab::on("stranger", spec, 1, SmConfig::default(), None);
    assert!(lab.next_sweep(60).is_clean());
    let lid = lab.world.fabric().lid(host).0;
    lab.world.fabric_mut().power_off(host.node);
    let cable = lab.world.fabric_mut().remove_cable(other).unwrap();
    lab.world.run_for(Duration::from_secs(5));
    let fabric = lab.world.fabric_mut();
    fabric.set_lid(stranger, lid, Lmc(0)).unwrap();
    let (a, b) = (
        PortAt {
            port: 1,
            ..stranger
        },
        cable.a,
    );
    let b = if b == other { cable.b } else { b };
    fabric.add_cable(LinkSpec { a, b, ..cable }).unwrap();
    lab.world.run_for(Duration::from_secs(5));
    let told = lab.manager().reports().into_iter().any(|report| {
        let mut kinds = report.problems.iter().map(|p| &p.kind);
        kinds.any(|kind| *kind == ProblemKind::LidConflict(lid))
    });
    assert!(told, "the stranger's LID was refused without a word");
    let given = lab.world.fabric().lid(stranger).0;
    assert!(given != lid && given != Lid::NONE, "{given}");
    lab.world.fabric_mut().power_on(host.node);
    lab.run_until_correct(15);
    assert_eq!(lab.world.fabric().lid(host).0, lid);
}

/// Traps that never arrive: the next light sweep finds the change.
#[test]
fn light_sweep_finds_changes_without_traps() {
    let mut lab = calm("fat-tree:4");
    let at = lab.redundant_link(0);
    // The manager hears nothing for two seconds, and the traps end with the reboot that follows.
    lab.world.set_paused(lab.sm, true);
    lab.world.fabric_mut().cut(at).unwrap();
    lab.world.run_for(Duration::from_secs(2));
    lab.world.set_paused(lab.sm, false);
    lab.run_until_correct(15);
}

/// Light sweeps alone, without any event, write nothing and become no sweeps.
#[test]
fn idle_fabric_causes_no_writes() {
    let cfg = SmConfig::default();
    let mut lab = Lab::with("torus:3,3,2,2;routers=2;plugs=1;loopbacks=1", 1, cfg);
    lab.next_sweep(60);
    lab.world.run_for(Duration::from_secs(30));
    let before = lab.manager().reports().len();
    lab.world.fabric_mut().reset_counters();
    lab.world.run_for(Duration::from_secs(300));
    assert_eq!(lab.manager().reports().len(), before);
    assert_eq!(lab.world.fabric().all_counters().all_sets(), 0);
}
