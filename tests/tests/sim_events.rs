//! Staying in charge: what changes in a running fabric is found, put right, and nothing else is touched.

use std::time::Duration;

use ferrosm_core::SmConfig;
use ferrosm_mad::attr::{TrapNumber, id};
use ferrosm_mad::ids::{Lid, PortGuid};
use ferrosm_sim::fabric::Fabric;
use ferrosm_sim::spec::{LinkSpec, PortAt};
use ferrosm_tests::simulated::Lab;

/// A fabric that is up and has been looked at once more by a light sweep.
fn calm(spec: &str) -> Lab {
    let mut lab = Lab::new(spec, 1);
    assert!(lab.next_sweep(60).is_clean(), "{spec}");
    lab.world.run_for(Duration::from_secs(25));
    lab.assert_good();
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
    lab.until_good(max_s);
    lab.world.run_for(Duration::from_secs(25));
    lab.assert_good();
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
fn a_link_costs_what_its_switches_cost() {
    let mut lab = calm("fat-tree:16");
    let at = lab.spare_cable(3);
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
fn every_event_is_dealt_with() {
    for spec in [
        "fat-tree:4",
        "torus:3,3,1,2",
        "fat-tree2:36,6,4;dual-port;routers=2",
    ] {
        let mut lab = calm(spec);
        let spare = lab.spare_cable(1);
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
fn the_own_leaf_goes_and_comes_back() {
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
            let at = lab.spare_cable(skip);
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
fn traps_are_answered_and_cost_little() {
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

/// A port that sends the same trap again and again is repressed each time and soon not looked at any more.
#[test]
fn a_flood_of_traps_does_not_make_it_spin() {
    let mut lab = calm("fat-tree:4");
    let before = lab.manager().reports().len();
    for _ in 0..200 {
        lab.world
            .fabric_mut()
            .inject_trap(PortAt::new(3, 1), TrapNumber::LocalLinkIntegrity);
        lab.world.run_for(Duration::from_millis(1200));
    }
    let sweeps = lab.manager().reports().len() - before;
    assert!(sweeps <= 15, "{sweeps} sweeps for 200 traps");
    assert_eq!(lab.world.fabric().pending_traps(), 0);
    lab.assert_good();
}

/// Traps that never arrive: the next light sweep finds the change.
#[test]
fn a_change_without_a_trap_is_found() {
    let mut lab = calm("fat-tree:4");
    let at = lab.spare_cable(0);
    // The manager hears nothing for two seconds, and the traps end with the reboot that follows.
    lab.world.set_paused(lab.sm, true);
    lab.world.fabric_mut().cut(at).unwrap();
    lab.world.run_for(Duration::from_secs(2));
    lab.world.set_paused(lab.sm, false);
    lab.until_good(15);
}

/// Light sweeps alone, without any event, write nothing and become no sweeps.
#[test]
fn a_quiet_fabric_stays_quiet() {
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
