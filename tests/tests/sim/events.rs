//! Changes in a running fabric: the SM detects each of them, reconfigures what is affected and
//! writes nothing else.

use std::time::Duration;

use ferrosm_core::{Event, ProblemKind, SmConfig};
use ferrosm_mad::attr::{LinkWidth, NodeType, PortState, TrapNumber, id};
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PortGuid};
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::faults::{FabricAction, Faults};
use ferrosm_sim::spec::{LinkSpec, PortAt};
use ferrosm_tests::lab::Lab;

/// A fabric after bring-up and one further light sweep.
fn stable(spec: &str) -> Lab {
    let mut lab = Lab::new(spec, 1);
    assert!(lab.next_sweep(60).is_clean(), "{spec}");
    lab.world.run_for(Duration::from_secs(25));
    lab.assert_correct();
    lab.world.fabric_mut().reset_counters();
    lab
}

fn lids(lab: &Lab) -> Vec<(PortGuid, Lid)> {
    let fabric = lab.world.fabric();
    let mut entries: Vec<_> = fabric
        .end_ports()
        .map(|p| (fabric.port_guid(p), fabric.lid(p).0))
        .collect();
    entries.sort_unstable();
    entries
}

/// Applies a change, runs until the fabric is correct again, and returns the number of sweeps.
fn apply_change(lab: &mut Lab, max_s: u64, change: impl FnOnce(&mut Fabric)) -> usize {
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

/// A link between switches is cut and restored in a fabric of 1,024 hosts: the SM re-reads only its
/// two switches.
#[test]
fn lost_link_costs_the_reread_of_its_two_switches() {
    let mut lab = stable("fat-tree:16");
    let at = lab.redundant_link(3);
    for restores in [false, true] {
        lab.world.fabric_mut().reset_counters();
        let sweeps = apply_change(&mut lab, 5, |f| {
            if restores { f.restore(at) } else { f.cut(at) }.unwrap();
        });
        assert!(sweeps <= 3, "{sweeps} sweeps");
        let sent = lab.world.fabric().all_counters();
        let light = 3 * (320 + 2);
        let gets = sent.all_gets() - u64::from(sent.gets(id::LFT));
        assert!(
            gets < 3 * 2 * 17 + light,
            "restored {restores}: {gets} Gets"
        );
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
        assert!(blocks < 320 * 22, "unaffected LFT blocks were written");
    }
}

/// Each kind of event on several topologies, one after the other. The fabric is correct soon after
/// each event.
#[test]
fn every_event_is_handled() {
    for spec in [
        "fat-tree:4",
        "torus:3,3,1,2",
        "fat-tree2:36,6,4;dual-port;routers=2",
    ] {
        let mut lab = stable(spec);
        let spare = lab.redundant_link(1);
        let own_leaf = lab.world.fabric().peer(lab.at).unwrap().node;
        let switches: Vec<usize> = (0..lab.spec.nodes.len())
            .filter(|n| lab.world.fabric().is_switch(*n))
            .collect();
        let host = 1;
        apply_change(&mut lab, 5, |f| f.cut(spare).unwrap());
        apply_change(&mut lab, 5, |f| f.restore(spare).unwrap());
        apply_change(&mut lab, 5, |f| f.bounce(spare).unwrap());
        apply_change(&mut lab, 30, |f| {
            (0..5).for_each(|_| f.bounce(spare).unwrap())
        });
        apply_change(&mut lab, 15, |f| f.reboot(host));
        apply_change(&mut lab, 15, |f| f.power_off(host));
        apply_change(&mut lab, 15, |f| f.power_on(host));
        for s in &switches {
            let known = lab.manager().events.len();
            apply_change(&mut lab, 40, |f| f.reboot(*s));
            let events = lab.manager().events[known..].iter();
            let restarted: Vec<NodeGuid> = events
                .filter_map(|event| {
                    let Event::SwitchRestarted(node) = event else {
                        return None;
                    };
                    Some(node.guid)
                })
                .collect();
            assert_eq!(restarted, [lab.spec.nodes[*s].node_guid], "{spec}");
        }
        let was_restarted = |e: &Event| matches!(e, Event::SwitchRestarted(_));
        let known = lab.manager().events.len();
        let other = *switches.iter().rev().find(|s| **s != own_leaf).unwrap();
        apply_change(&mut lab, 40, |f| f.power_off(other));
        apply_change(&mut lab, 40, |f| f.power_on(other));
        // It left the subnet and was added again.
        assert!(!lab.manager().events[known..].iter().any(was_restarted));
    }
}

/// The switch that the SM is attached to loses power for a minute. The fabric is correct after it
/// returns.
#[test]
fn sm_leaf_fails_and_returns() {
    let mut lab = stable("fat-tree:4");
    let leaf = lab.world.fabric().peer(lab.at).unwrap().node;
    lab.world.fabric_mut().power_off(leaf);
    lab.world.run_for(Duration::from_secs(60));
    apply_change(&mut lab, 40, |f| f.power_on(leaf));
}

/// Cables are moved: that of a host to another switch, one between switches, and two are swapped.
#[test]
fn moved_cables_are_followed() {
    let mut lab = stable("fat-tree:4;spine-hosts=1");
    let free = |f: &Fabric, excluded: usize| {
        (0..f.num_nodes())
            .filter(|n| f.is_switch(*n) && *n != excluded)
            .flat_map(|n| f.external_ports(n))
            .find(|p| f.cable_at(*p).is_none())
    };
    let host = PortAt::new(1, 1);
    let leaf = lab.world.fabric().peer(host).unwrap();
    apply_change(&mut lab, 5, |f| f.power_off(2));
    let freed = lab.world.fabric().cable_at(PortAt::new(2, 1)).unwrap();
    apply_change(&mut lab, 5, |f| {
        f.remove_cable(freed.a).unwrap();
    });
    if let Some(to) = free(lab.world.fabric(), leaf.node) {
        apply_change(&mut lab, 15, |f| f.move_cable(leaf, to).unwrap());
    }
    let known = lab.manager().events.len();
    let cables: Vec<LinkSpec> = [1, 4]
        .map(|skip| {
            let at = lab.redundant_link(skip);
            lab.world.fabric().cable_at(at).unwrap()
        })
        .into();
    apply_change(&mut lab, 40, |f| {
        let c = cables[0];
        let d = cables[1];
        f.remove_cable(c.a).unwrap();
        f.remove_cable(d.a).unwrap();
        f.add_cable(LinkSpec { b: d.b, ..c }).unwrap();
        f.add_cable(LinkSpec { b: c.b, ..d }).unwrap();
    });
    // Both links and those in place of them are reported, although no port was seen down.
    let events = &lab.manager().events[known..];
    let lost = events.iter().filter(|e| matches!(e, Event::LinkDown(..)));
    let new = events.iter().filter(|e| matches!(e, Event::LinkUp(..)));
    assert_eq!((lost.count(), new.count()), (2, 2), "{events:?}");
    let two =
        [PortAt::new(4, 1), PortAt::new(8, 1)].map(|p| lab.world.fabric().cable_at(p).unwrap());
    apply_change(&mut lab, 40, |f| {
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

/// A host that was never seen before is reported with its name and the number of its links.
#[test]
fn new_node_is_reported_with_its_name_and_links() {
    let mut lab = Lab::new("star:3", 1);
    lab.world.fabric_mut().power_off(2);
    lab.next_sweep(10);
    let before = lab.manager().events.len();
    lab.world.fabric_mut().power_on(2);
    lab.run_until_correct(30);
    let names: Vec<String> = lab.manager().events[before..]
        .iter()
        .filter(|e| matches!(e, Event::NodeAdded(..) | Event::LinkUp(..)))
        .map(Event::to_string)
        .collect();
    let name = format!("\"{}\"", lab.world.fabric().description(2));
    assert_eq!(names.len(), 1, "{names:?}");
    assert!(names[0].contains(&name), "{names:?}");
    assert!(names[0].ends_with(" links=1"), "{names:?}");
}

/// A link between switches retrains at a lower width, and later at its full width: each change is
/// reported once. A degraded link that goes down and returns is not reported again.
#[test]
fn degraded_link_is_reported_once_until_it_recovers() {
    let mut lab = stable("fat-tree:4");
    let at = lab.redundant_link(1);
    let peer = lab.world.fabric().peer(at).unwrap();
    let full = lab.world.fabric().cable_at(at).unwrap();
    let reported = |lab: &Lab| -> Vec<String> {
        let events = lab.manager().events.iter();
        let about_rates = |e: &&Event| {
            matches!(
                e,
                Event::LinkDegraded(_) | Event::LinkRestored(_) | Event::FurtherLinksDegraded(_)
            )
        };
        events.filter(about_rates).map(Event::to_string).collect()
    };
    assert_eq!(reported(&lab), Vec::<String>::new());
    let degrade = |f: &mut Fabric| f.degrade(at, full.speed, LinkWidth(1)).unwrap();
    apply_change(&mut lab, 5, degrade);
    let first = reported(&lab);
    assert_eq!(first.len(), 1, "{first:?}");
    for end in [at, peer] {
        let name = lab.world.fabric().description(end.node);
        assert!(first[0].contains(&format!("\"{name}\"")), "{first:?}");
        assert!(first[0].contains(&format!("port {}", end.port)));
    }
    assert!(first[0].starts_with("link degraded ") && first[0].contains(" active=1X "));
    apply_change(&mut lab, 5, |f| f.cut(at).unwrap());
    apply_change(&mut lab, 5, |f| f.restore(at).unwrap());
    assert_eq!(reported(&lab), first);
    apply_change(&mut lab, 5, |f| {
        f.degrade(at, full.speed, full.width).unwrap()
    });
    let all = reported(&lab);
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all[1].starts_with("link no longer degraded "), "{all:?}");
}

/// A fabric in which every link is degraded: the first sweep reports 20 of them and the number of
/// the others.
#[test]
fn many_degraded_links_are_counted() {
    let mut spec = ferrosm_sim::generate::from_spec("fat-tree:8").unwrap();
    for link in &mut spec.links {
        link.width = LinkWidth(4);
    }
    let mut lab = Lab::on("degraded links", spec, 1, SmConfig::default(), None);
    let cables: Vec<PortAt> = lab.spec.links.iter().map(|link| link.a).collect();
    for at in &cables {
        let full = lab.world.fabric().cable_at(*at).unwrap();
        let fabric = lab.world.fabric_mut();
        fabric.degrade(*at, full.speed, LinkWidth(1)).unwrap();
    }
    lab.next_sweep(60);
    let events = &lab.manager().events;
    let count = events
        .iter()
        .filter(|e| matches!(e, Event::LinkDegraded(_)));
    assert_eq!(count.count(), 20);
    let rest = cables.len() - 20;
    assert!(
        events
            .iter()
            .any(|e| matches!(e, Event::FurtherLinksDegraded(n) if *n == rest))
    );
}

/// The SM's own port loses its link: the loss and the return are reported.
#[test]
fn own_port_is_reported_when_it_returns() {
    let mut lab = stable("star:3");
    let at = lab.at;
    lab.world.fabric_mut().cut(at).unwrap();
    lab.world.run_for(Duration::from_secs(30));
    lab.world.fabric_mut().restore(at).unwrap();
    lab.run_until_correct(30);
    let events = &lab.manager().events;
    let count = |of: fn(&Event) -> bool| events.iter().filter(|e| of(e)).count();
    assert_eq!(count(|e| matches!(e, Event::LocalPortUnusable(_))), 1);
    assert_eq!(count(|e| matches!(e, Event::LocalPortUsable(_))), 1);
}

/// Each trap is repressed, none starts a full sweep, and a changed NodeDescription is read without
/// a sweep.
#[test]
fn traps_are_repressed_at_little_cost() {
    let mut lab = stable("fat-tree:8");
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
    let known = lab.manager().core().fabric();
    assert!(
        known
            .nodes()
            .any(|(_, n)| n.description.to_string() == "renamed")
    );
    assert_eq!(
        lab.manager().reports().len(),
        sweeps,
        "a changed description started a sweep"
    );
}

/// Ports of many hosts repeat the same traps. Each trap is repressed, and the re-reads of all of
/// them are soon limited to one a second.
#[test]
fn trap_storm_causes_no_continuous_sweeps() {
    let mut lab = stable("fat-tree:4");
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

/// SMPs sent to devices, without TrapRepress.
fn smps_sent(lab: &Lab) -> u64 {
    let counters = lab.world.fabric().all_counters();
    counters.all_gets() + counters.all_sets()
}

/// A host port and a switch send the same trap a thousand times a second. Each trap is repressed,
/// and all SMPs together, light sweeps included, stay below twelve a second.
#[test]
fn thousand_traps_a_second_cost_one_reread_a_second() {
    const SECONDS: u64 = 20;
    for (at, number) in [
        (PortAt::new(3, 1), TrapNumber::LocalLinkIntegrity),
        (PortAt::new(3, 1), TrapNumber::LocalChange),
        (PortAt::new(20, 0), TrapNumber::LinkStateChange),
    ] {
        // Devices may send one trap every half millisecond.
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
        let sent = smps_sent(&lab);
        let traps = lab.world.fabric().totals().traps;
        assert!(traps >= SECONDS * 990, "{number:?}: {traps} traps");
        assert!(sent <= SECONDS * 12, "{number:?}: {sent} SMPs");
        lab.world.run_for(Duration::from_secs(2));
        assert_eq!(lab.world.fabric().pending_traps(), 0, "{number:?}");
        lab.assert_correct();
    }
}

fn is_active(lab: &Lab, at: PortAt) -> bool {
    let fabric = lab.world.fabric();
    let link_ends = [Some(at), fabric.peer(at)];
    link_ends.into_iter().all(|end| {
        let info = end.and_then(|end| fabric.port_info(end));
        info.is_some_and(|info| info.port_state == PortState::Active)
    })
}

/// Links of a switch flap every 100 ms for a minute. A link restored at that switch meanwhile
/// carries data within two seconds, and so do the flapping links when they are stable. The SM sends
/// at most 250 SMPs a second, and light sweeps continue.
#[test]
fn flapping_links_do_not_delay_other_changes() {
    const SOON: Duration = Duration::from_secs(2);
    const SECONDS: u64 = 60;
    for (spec, kind) in [
        ("fat-tree:8", Flapping::OwnTrunk),
        ("fat-tree:8", Flapping::FarTrunk),
        ("fat-tree:8", Flapping::Hosts),
        ("torus:4,4,1,2", Flapping::OwnTrunk),
    ] {
        let mut lab = stable(spec);
        let (flapping, others) = flapping(&lab, kind);
        let quiet = (0..lab.spec.nodes.len()).rfind(|n| lab.world.fabric().is_switch(*n));
        for (at, delay) in flapping.iter().zip([0, 30, 70]) {
            let flap = FabricAction::Flap {
                at: *at,
                period: Duration::from_millis(100),
                times: u32::try_from(SECONDS * 10).unwrap(),
            };
            let start = lab.world.now() + Duration::from_millis(delay);
            lab.world.schedule(start, flap);
        }
        let deadline = lab.world.now() + Duration::from_secs(SECONDS);
        let mut worst = Duration::ZERO;
        for (round, at) in others.iter().cycle().enumerate() {
            // At a different phase of the flapping each time.
            let pause = Duration::from_millis(4_000 + 173 * round as u64);
            if lab.world.now() + pause >= deadline {
                break;
            }
            lab.world.run_for(pause);
            lab.world.fabric_mut().cut(*at).unwrap();
            lab.world.run_for(Duration::from_millis(700));
            lab.world.fabric_mut().restore(*at).unwrap();
            worst = worst.max(until_active(&mut lab, &[*at]));
        }
        lab.world.run_until(deadline + Duration::from_millis(100));
        worst = worst.max(until_active(&mut lab, &flapping));
        assert!(worst <= SOON, "{spec} {kind:?}: activation took {worst:?}");
        let sent = smps_sent(&lab);
        assert!(sent <= SECONDS * 250, "{spec} {kind:?}: {sent} SMPs");
        let quiet = lab.world.fabric().counters(quiet.unwrap());
        let light = quiet.gets(id::SWITCH_INFO);
        assert!((5..=8).contains(&light), "{spec}: {light} light sweeps");
        lab.run_until_correct(5);
    }
}

/// A switch sends traps without end about a host that does not reply, and each re-read takes longer
/// than a second. Light sweeps continue.
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
    let unresponsive = Faults {
        loss: 1.0,
        ..Faults::NONE
    };
    lab.world.set_node_faults(host.node, Some(unresponsive));
    lab.world.fabric_mut().bounce(host).unwrap();
    lab.world.fabric_mut().reset_counters();
    for _ in 0..600 {
        let sender = PortAt { port: 0, ..leaf };
        lab.world
            .fabric_mut()
            .inject_trap(sender, TrapNumber::LinkStateChange);
        lab.world.run_for(Duration::from_millis(100));
    }
    let light = lab.world.fabric().counters(quiet).gets(id::SWITCH_INFO);
    assert!((4..=8).contains(&light), "{light} light sweeps");
    let reads = lab.world.fabric().counters(leaf.node).gets(id::SWITCH_INFO);
    assert!(reads >= 25, "{reads} reads of the switch");
    lab.world.set_node_faults(host.node, None);
    lab.run_until_correct(15);
}

/// Which links flap.
#[derive(Debug, Clone, Copy)]
enum Flapping {
    /// A link between the SM's switch and another switch: it carries many of the SM's SMPs.
    OwnTrunk,
    /// A link between two other switches.
    FarTrunk,
    /// The links of three hosts.
    Hosts,
}

/// Links of one switch: those that flap, and the others.
fn flapping(lab: &Lab, kind: Flapping) -> (Vec<PortAt>, Vec<PortAt>) {
    let fabric = lab.world.fabric();
    let hosts: Vec<PortAt> = fabric.end_ports().filter(|p| p.port != 0).collect();
    let near = match kind {
        Flapping::OwnTrunk => lab.at,
        Flapping::FarTrunk | Flapping::Hosts => hosts[hosts.len() / 2],
    };
    let switch = fabric.peer(near).map_or(near.node, |far| far.node);
    let peer = |p: &PortAt| fabric.peer(*p).filter(|far| *far != lab.at);
    let cables = fabric.external_ports(switch).filter(|p| peer(p).is_some());
    let (trunks, hosts): (Vec<PortAt>, Vec<PortAt>) =
        cables.partition(|p| peer(p).is_some_and(|far| fabric.is_switch(far.node)));
    match kind {
        Flapping::OwnTrunk | Flapping::FarTrunk => {
            (trunks[..1].to_vec(), [&trunks[1..2], &hosts].concat())
        }
        Flapping::Hosts => (hosts[..3].to_vec(), [&trunks[..2], &hosts[3..]].concat()),
    }
}

/// Time until all of these links carry data.
fn until_active(lab: &mut Lab, cables: &[PortAt]) -> Duration {
    let started = lab.world.now();
    while !cables.iter().all(|at| is_active(lab, *at)) {
        lab.world.run_for(Duration::from_millis(10));
        let waited = lab.world.now().since(started);
        assert!(
            waited < Duration::from_mins(1),
            "{cables:?} not active within a minute"
        );
    }
    lab.world.now().since(started)
}

/// A host is off. A switch from another subnet is connected with that host's LID: the SM assigns it
/// another LID and reports the conflict. The host has its own LID when it returns.
#[test]
fn new_switch_does_not_keep_the_lid_of_an_absent_host() {
    let mut spec = ferrosm_sim::generate::from_spec("fat-tree:4").unwrap();
    let mut foreign_switch = spec
        .nodes
        .iter()
        .find(|n| n.kind == NodeType::Switch)
        .unwrap()
        .clone();
    foreign_switch.node_guid.0 ^= 0x00FF_0000_0000;
    foreign_switch.port_guids[0].0 ^= 0x00FF_0000_0000;
    spec.nodes.push(foreign_switch);
    let host = PortAt::new(5, 1);
    let other = PortAt::new(6, 1);
    let foreign_switch = PortAt::new(spec.nodes.len() - 1, 0);
    let mut lab = Lab::on("foreign switch", spec, 1, SmConfig::default(), None);
    assert!(lab.next_sweep(60).is_clean());
    let lid = lab.world.fabric().lid(host).0;
    lab.world.fabric_mut().power_off(host.node);
    let cable = lab.world.fabric_mut().remove_cable(other).unwrap();
    lab.world.run_for(Duration::from_secs(5));
    let fabric = lab.world.fabric_mut();
    fabric.set_lid(foreign_switch, lid, Lmc(0)).unwrap();
    let a = PortAt {
        port: 1,
        ..foreign_switch
    };
    let b = cable.a;
    let b = if b == other { cable.b } else { b };
    fabric.add_cable(LinkSpec { a, b, ..cable }).unwrap();
    lab.world.run_for(Duration::from_secs(5));
    let conflict_reported = lab.manager().reports().into_iter().any(|report| {
        let mut kinds = report.problems.iter().map(|p| &p.kind);
        kinds.any(|kind| *kind == ProblemKind::LidConflict(lid))
    });
    assert!(conflict_reported, "the LID conflict was not reported");
    let assigned = lab.world.fabric().lid(foreign_switch).0;
    assert!(assigned != lid && assigned != Lid::NONE, "{assigned}");
    lab.world.fabric_mut().power_on(host.node);
    lab.run_until_correct(15);
    assert_eq!(lab.world.fabric().lid(host).0, lid);
}

/// Traps are lost: the next light sweep detects the change.
#[test]
fn light_sweep_finds_changes_without_traps() {
    let mut lab = stable("fat-tree:4");
    let at = lab.redundant_link(0);
    // MADs to the paused SM are lost for two seconds.
    lab.world.set_paused(lab.sm, true);
    lab.world.fabric_mut().cut(at).unwrap();
    lab.world.run_for(Duration::from_secs(2));
    lab.world.set_paused(lab.sm, false);
    lab.run_until_correct(15);
}

/// Light sweeps without any event write nothing and start no sweep.
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
