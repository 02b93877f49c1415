//! Faulty devices: the sweep ends, the rest of the fabric is correct, the problem is reported with
//! its location, and the fabric recovers when the fault ends.

use std::time::Duration;

use ferrosm_core::{Command, Event, Input, Problem, ProblemKind, SmConfig};
use ferrosm_fabric::location::Location;
use ferrosm_fabric::observed::ExclusionReason;
use ferrosm_mad::ids::{AttrId, AttrMod, MKey, NodeGuid, Tid};
use ferrosm_mad::mad::{Address, Mad, MadHeader, MadIn, Method, MgmtClass, Status};
use ferrosm_sim::faults::{Faults, Garbage};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::{Lab, TestRng};

const SPEC: &str = "fat-tree:4";
/// A host other than the SM's.
const HOST: usize = 5;

fn is_excluded(lab: &Lab, reason: ExclusionReason) -> bool {
    let problems = &lab.last_report().problems;
    problems
        .iter()
        .any(|p| matches!(p.kind, ProblemKind::Excluded(why, _) if why == reason))
}

/// Loss of up to 30 % of the MADs, duplicated and reordered MADs, and slow agents: bring-up ends,
/// and the fabric is correct soon after the faults end.
#[test]
fn faulty_fabric_is_brought_up() {
    for (loss, duplicate, jitter_ms, service_us) in [
        (0.01, 0.0, 0, 2),
        (0.1, 0.1, 5, 2),
        (0.3, 0.0, 0, 2),
        (0.0, 1.0, 50, 2),
        (0.0, 0.0, 150, 2),
        (0.0, 0.0, 0, 5000),
    ] {
        let mut lab = Lab::new(SPEC, 7);
        lab.world.set_faults(Faults {
            loss,
            duplicate,
            jitter: Duration::from_millis(jitter_ms),
            service: Duration::from_micros(service_us),
            ..Faults::NONE
        });
        lab.next_sweep(60);
        lab.world.set_faults(Faults::NONE);
        lab.run_until_correct(40);
    }
}

/// One host hangs, is slow or late, or sends invalid or rejecting replies. All other hosts come up
/// in little more time than without it. The host is reported, and comes up when the fault ends.
#[test]
fn faulty_host_affects_no_other_device() {
    for (description, faults) in [
        ("hung", Faults::HUNG),
        ("slow", Faults::slow(Duration::from_millis(150))),
        ("late", Faults::late(Duration::from_millis(400))),
        ("wrong status", Faults::garbage(Garbage::Status)),
        ("wrong TID", Faults::garbage(Garbage::Tid)),
        ("wrong attribute", Faults::garbage(Garbage::Attribute)),
        ("wrong data", Faults::garbage(Garbage::Data)),
        (
            "rejected Sets, status 0x1C",
            Faults::rejecting_sets(Status::BAD_FIELD),
        ),
        (
            "rejected Sets, status 0x0C",
            Faults::rejecting_sets(Status::BAD_METHOD_ATTR),
        ),
    ] {
        let mut lab = Lab::new(SPEC, 3);
        lab.world.set_node_faults(HOST, Some(faults));
        let report = lab.next_sweep(8);
        lab.assert_correct_except(&[HOST]);
        assert!(
            report.took < Duration::from_secs(5),
            "{description}: {:?}",
            report.took
        );
        assert_eq!(
            report.is_clean(),
            ["slow", "late"].contains(&description),
            "{description}: {:#?}",
            report.problems
        );
        lab.world.set_node_faults(HOST, None);
        lab.run_until_correct(40);
        lab.world.run_for(Duration::from_secs(15));
        assert!(
            lab.last_report().is_clean(),
            "{description}: {:#?}",
            lab.last_report().problems
        );
    }
}

/// A switch that hangs during bring-up is excluded and discovered later. A switch that hangs in
/// operation continues to forward and is not reconfigured.
#[test]
fn faulty_switch_affects_no_other_device() {
    for faults in [Faults::HUNG, Faults::garbage(Garbage::Status)] {
        let mut lab = Lab::new(SPEC, 3);
        let core = lab.node("core-1");
        lab.world.set_node_faults(core, Some(faults));
        lab.next_sweep(8);
        lab.assert_correct_except(&[core]);
        lab.world.set_node_faults(core, None);
        lab.run_until_correct(40);
        lab.world.set_node_faults(core, Some(faults));
        lab.world.run_for(Duration::from_secs(60));
        lab.assert_correct();
        lab.world.set_node_faults(core, None);
        lab.run_until_correct(40);
    }
}

/// The switch that the SM is attached to does not reply: the SM reports it, and brings the fabric
/// up when it replies.
#[test]
fn bring_up_waits_for_a_hung_neighbour() {
    let mut lab = Lab::new(SPEC, 3);
    let leaf = lab.world.fabric().peer(lab.at).unwrap().node;
    lab.world.set_node_faults(leaf, Some(Faults::HUNG));
    let report = lab.next_sweep(8);
    let own_node_guid = lab.world.fabric().node_guid(lab.at.node);
    let at_own_port = |p: &Problem| {
        let node = match p.location {
            Location::Port(port) => port.node,
            Location::LocalNode | Location::Lid(_) | Location::Subnet => None,
        };
        node.is_some_and(|node| node.guid == own_node_guid)
            && matches!(
                p.kind,
                ProblemKind::Excluded(ExclusionReason::NoResponse, _)
            )
    };
    assert!(report.problems.iter().any(at_own_port), "{report:#?}");
    lab.world.set_node_faults(leaf, None);
    lab.run_until_correct(40);
}

/// The SM waits if its own link is down at the start, or its own node does not reply.
#[test]
fn own_port_may_come_up_late() {
    let mut lab = Lab::new(SPEC, 3);
    let at = lab.at;
    lab.world.fabric_mut().cut(at).unwrap();
    lab.world.run_for(Duration::from_secs(25));
    lab.world.fabric_mut().restore(at).unwrap();
    lab.run_until_correct(25);
    let mut lab = Lab::new(SPEC, 3);
    lab.world.set_node_faults(at.node, Some(Faults::HUNG));
    lab.world.run_for(Duration::from_secs(25));
    lab.world.set_node_faults(at.node, None);
    lab.run_until_correct(25);
}

/// Two nodes have the same node GUID: one is excluded and reported, no other device is affected,
/// and both come up when the GUID is corrected.
#[test]
fn duplicate_node_guid_is_reported() {
    let lab = Lab::new(SPEC, 3);
    let (leaf, core) = (lab.node("leaf-3-1"), lab.node("core-1"));
    for (clone_node, victim) in [(HOST, 9), (HOST, leaf), (core, lab.node("core-2"))] {
        let mut lab = Lab::new(SPEC, 3);
        let original_guid = lab.world.fabric().node_guid(clone_node);
        let duplicate_guid = lab.world.fabric().node_guid(victim);
        lab.world
            .fabric_mut()
            .set_node_guid(clone_node, duplicate_guid);
        lab.next_sweep(8);
        // The SM chooses which of the two is excluded; it prefers to keep a switch over a host.
        lab.world.run_for(Duration::from_secs(15));
        let verdict_without = |excluded_node: usize| {
            let mut expect = lab.expect();
            expect.excluded.insert(excluded_node);
            lab.verdict(&expect)
        };
        if let (Err(a), Err(b)) = (verdict_without(clone_node), verdict_without(victim)) {
            panic!("neither node was excluded:\nwithout the first:\n{a}\nwithout the second:\n{b}");
        }
        let reason = ExclusionReason::DuplicateNodeGuid(duplicate_guid);
        assert!(
            is_excluded(&lab, reason),
            "{:#?}",
            lab.last_report().problems
        );
        lab.world
            .fabric_mut()
            .set_node_guid(clone_node, original_guid);
        lab.run_until_correct(60);
    }
    // Node GUID 0 would be invalid, not a duplicate.
    assert_ne!(lab.world.fabric().node_guid(HOST), NodeGuid(0));
}

/// A switch with the node GUID of the SM's leaf is connected through its port 1 or 2. The leaf's
/// own port with that number leads to a host (port 1: the SM's). The leaf still reports that host,
/// so the new link is excluded and no host is lost.
#[test]
fn plugged_in_clone_of_the_sm_leaf_takes_no_host() {
    for port in [1, 2] {
        let mut lab = Lab::new(SPEC, 3);
        let (clone, leaf) = (lab.node("core-3"), lab.node("leaf-0-0"));
        let links: Vec<PortAt> = (1..=4).map(|p| PortAt::new(clone, p)).collect();
        for at in &links {
            lab.world.fabric_mut().cut(*at).unwrap();
        }
        let cloned = lab.world.fabric().node_guid(leaf);
        lab.world.fabric_mut().set_node_guid(clone, cloned);
        lab.next_sweep(8);
        lab.assert_correct_except(&[clone]);
        lab.world
            .fabric_mut()
            .restore(PortAt::new(clone, port))
            .unwrap();
        for _ in 0..20 {
            lab.world.run_for(Duration::from_millis(500));
            let hosts = (0..16).filter(|host| reached(&lab, *host)).count();
            assert_eq!(hosts, 16, "port {port}, at {:?}", lab.world.now());
        }
        let reason = ExclusionReason::DuplicateNodeGuid(cloned);
        assert!(
            is_excluded(&lab, reason),
            "{:#?}",
            lab.last_report().problems
        );
        lab.assert_correct_except(&[clone]);
    }
}

/// A host has the port GUID of another port, which may be the SM's.
#[test]
fn duplicate_port_guid_is_reported() {
    for victim in [PortAt::new(9, 1), PortAt::new(0, 1)] {
        let mut lab = Lab::new(SPEC, 3);
        let at = PortAt::new(HOST, 1);
        let original_guid = lab.world.fabric().port_guid(at);
        let duplicate_guid = lab.world.fabric().port_guid(victim);
        lab.world
            .fabric_mut()
            .set_port_guid(at, duplicate_guid)
            .unwrap();
        lab.next_sweep(8);
        lab.assert_correct_except(if victim.node == 0 {
            &[HOST]
        } else {
            &[HOST, 9]
        });
        let reason = ExclusionReason::DuplicatePortGuid(duplicate_guid);
        assert!(
            is_excluded(&lab, reason),
            "{:#?}",
            lab.last_report().problems
        );
        lab.world
            .fabric_mut()
            .set_port_guid(at, original_guid)
            .unwrap();
        lab.run_until_correct(40);
    }
}

/// A chain of 70 switches: nodes more than 63 hops away are excluded and reported, all others
/// come up.
#[test]
fn nodes_beyond_63_hops_are_reported() {
    let mut lab = Lab::new("mesh:1,70,1,1", 3);
    lab.next_sweep(30);
    let far: Vec<usize> = (0..lab.spec.nodes.len())
        .filter(|n| !reached(&lab, *n))
        .collect();
    assert!(!far.is_empty());
    lab.assert_correct_except(&far);
    let reason = ExclusionReason::PathTooLong;
    assert!(
        is_excluded(&lab, reason),
        "{} {:#?}",
        far.len(),
        lab.last_report().problems
    );
}

fn reached(lab: &Lab, node: usize) -> bool {
    let guid = lab.world.fabric().node_guid(node);
    lab.manager().core().fabric().node_by_guid(guid).is_some()
}

/// With an M_Key, at each protection level, the fabric comes up, and remains correct after a reboot
/// and a change of the key.
#[test]
fn fabric_with_m_keys_survives_reboot_and_key_change() {
    for level in 0..=3 {
        let cfg = |key| SmConfig {
            m_key: MKey::new(key),
            m_key_protect_bits: level,
            ..SmConfig::default()
        };
        let mut lab = Lab::with(SPEC, 3, cfg(0xAAAA));
        assert!(lab.next_sweep(8).is_clean());
        lab.assert_correct();
        let core = lab.node("core-1");
        lab.world.fabric_mut().reboot(core);
        lab.run_until_correct(30);
        lab.configure(cfg(0xBBBB));
        lab.next_sweep(30);
        lab.world.run_for(Duration::from_secs(15));
        lab.assert_correct();
        let fabric = lab.world.fabric();
        for p in fabric.end_ports() {
            let key = fabric.port_info(p).unwrap().m_key;
            assert_eq!(key.expose(), 0xBBBB, "level {level}, {p:?}");
        }
    }
}

/// Random MADs, also with TIDs of outstanding requests: the SM does not panic, and the fabric comes
/// up.
#[test]
fn garbage_on_qp0_is_harmless() {
    let mut rng = TestRng::new(11);
    let mut lab = Lab::new("torus:3,3,1,2", 5);
    for round in 0..3000 {
        let mut mad = Mad::new(&MadHeader {
            base_version: 1,
            mgmt_class: if rng.one_in(2) {
                MgmtClass::SubnDirected
            } else {
                MgmtClass::SubnLid
            },
            class_version: 1,
            method: [
                Method::GetResp,
                Method::Trap,
                Method::Get,
                Method::Set,
                Method::TrapRepress,
            ][rng.index(5)],
            status: if rng.one_in(2) {
                0
            } else {
                u16::try_from(rng.below(0x10000)).unwrap()
            },
            class_specific: 0,
            tid: Tid(if rng.one_in(3) {
                rng.next()
            } else {
                rng.below(64) << 12 | rng.below(300)
            }),
            attr_id: AttrId(u16::try_from(0x10 + rng.below(0x14)).unwrap()),
            attr_mod: AttrMod(u32::try_from(rng.below(40)).unwrap()),
        });
        for byte in &mut mad.as_bytes_mut()[64..128] {
            *byte = if rng.one_in(3) {
                0
            } else {
                u8::try_from(rng.below(256)).unwrap()
            };
        }
        let input = MadIn {
            from: Address::DIRECTED,
            mad,
        };
        // The SM accepts replies with random data if they match a request; none are sent during the
        // final bring-up.
        lab.handle(lab.sm, Input::Mad(input));
        if round % 10 == 0 {
            lab.world.run_for(Duration::from_micros(300));
        }
    }
    let now = lab.world.now();
    lab.world.run_for(Duration::from_secs(60));
    lab.edit(lab.sm, |sm, _| {
        sm.handle(Command::Sweep.with_id(0), now + Duration::from_secs(60))
    });
    lab.run_until_correct(60);
}

/// A host rejects Sets at bring-up and accepts them later. Without light sweeps, it is read again
/// and configured as well.
#[test]
fn rejecting_host_is_read_again_without_light_sweeps() {
    let cfg = SmConfig {
        sweep_interval: Duration::ZERO,
        ..SmConfig::default()
    };
    let mut lab = Lab::with(SPEC, 3, cfg);
    let faults = Faults::rejecting_sets(Status::BAD_FIELD);
    lab.world.set_node_faults(HOST, Some(faults));
    assert!(!lab.next_sweep(8).is_clean());
    lab.world.set_node_faults(HOST, None);
    lab.run_until_correct(30);
}

/// A switch hangs in operation: the light sweep that finds it reports it at once.
#[test]
fn problem_found_by_a_light_sweep_is_an_event() {
    let mut lab = Lab::new(SPEC, 3);
    assert!(lab.next_sweep(8).is_clean());
    let core = lab.node("core-1");
    let guid = lab.world.fabric().node_guid(core);
    lab.world.set_node_faults(core, Some(Faults::HUNG));
    let is_reported = |lab: &Lab| {
        let events = &lab.manager().events;
        events.iter().any(|event| {
            let Event::ProblemFound(problem) = event else {
                return false;
            };
            let Location::Port(port) = problem.location else {
                return false;
            };
            port.node.is_some_and(|node| node.guid == guid)
        })
    };
    let sweeps = lab.manager().reports().len();
    lab.run_until("the problem is reported", 30, is_reported);
    assert_eq!(lab.manager().reports().len(), sweeps);
}

/// A switch hangs in operation. After a sweep that excludes it, one problem names it and one of the
/// ports that it is behind, and the switch is removed for the same reason.
#[test]
fn hung_switch_is_one_problem() {
    let mut lab = Lab::new(SPEC, 3);
    assert!(lab.next_sweep(8).is_clean());
    let core = lab.node("core-1");
    let guid = lab.world.fabric().node_guid(core);
    lab.world.set_node_faults(core, Some(Faults::HUNG));
    let sweep = Command::Exclude.with_id(1);
    lab.handle(lab.sm, sweep);
    lab.world.run_for(Duration::from_secs(8));
    for _ in 0..2 {
        let problems = &lab.last_report().problems;
        let [problem] = &problems[..] else {
            panic!("{problems:#?}");
        };
        let text = problem.to_string();
        let start = format!("\"core-1\" ({guid}): excluded from the subnet: it does not respond; ");
        assert!(text.starts_with(&start), "{text}");
        assert!(text.contains("and 3 other ports"), "{text}");
        // The local sweeps after light sweeps find the same.
        lab.world.run_for(Duration::from_secs(30));
    }
    let events = lab.manager().events.iter();
    let removed: Vec<String> = events
        .filter(|e| matches!(e, Event::NodeRemoved(..)))
        .map(Event::to_string)
        .collect();
    let expected = format!("node removed node=\"core-1\" ({guid}) reason=it does not respond");
    assert_eq!(removed, [expected]);
    lab.world.set_node_faults(core, None);
    lab.run_until_correct(40);
}

/// A leaf switch hangs. After a sweep that excludes it, its problem has the number of hosts that
/// only it connects.
#[test]
fn problem_of_a_hung_leaf_has_the_number_of_its_hosts() {
    let mut lab = Lab::new(SPEC, 3);
    assert!(lab.next_sweep(8).is_clean());
    let leaf = lab.node("leaf-3-1");
    lab.world.set_node_faults(leaf, Some(Faults::HUNG));
    let sweep = Command::Exclude.with_id(1);
    lab.handle(lab.sm, sweep);
    for _ in 0..2 {
        lab.world.run_for(Duration::from_secs(30));
        let problems = &lab.last_report().problems;
        let [problem] = &problems[..] else {
            panic!("{problems:#?}");
        };
        let text = problem.to_string();
        let words = "excluded from the subnet with the 2 hosts that only it connects: ";
        assert!(text.contains(words), "{text}");
    }
}

/// A leaf switch loses power: it is removed because its links are down, its hosts because no path
/// leads to them.
#[test]
fn removed_nodes_have_a_reason() {
    let mut lab = Lab::new(SPEC, 3);
    assert!(lab.next_sweep(8).is_clean());
    let leaf = lab.node("leaf-3-1");
    lab.world.fabric_mut().power_off(leaf);
    lab.world.run_for(Duration::from_secs(30));
    let removed: Vec<String> = lab
        .manager()
        .events
        .iter()
        .filter(|e| matches!(e, Event::NodeRemoved(..)))
        .map(Event::to_string)
        .collect();
    assert_eq!(removed.len(), 3, "{removed:?}");
    for text in removed {
        let is_leaf = text.contains("leaf-3-1");
        let reason = if is_leaf {
            "all links that led to it are down"
        } else {
            "no path leads to it"
        };
        assert!(text.ends_with(reason), "{text}");
    }
}
