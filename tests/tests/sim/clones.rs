//! A node with the GUIDs of a node in use is connected: the known node retains its identity, LID
//! and links, whichever of the two a sweep reaches first.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::time::Duration;

use ferrosm_core::{Command, Event, ProblemKind, SmConfig};
use ferrosm_fabric::observed::ExclusionReason;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;

const SPEC: &str = "fat-tree:4";
/// A host next to the SM.
const NEAR: usize = 1;
/// A host that a sweep reaches after [`NEAR`].
const FAR: usize = 9;

/// A brought-up fabric in which `node` is not connected.
fn without(node: usize, prepare: impl FnOnce(&mut Lab)) -> Lab {
    let mut lab = Lab::new(SPEC, 3);
    for at in links(&lab, node) {
        lab.world.fabric_mut().cut(at).expect("a link");
    }
    prepare(&mut lab);
    lab.next_sweep(8);
    lab.assert_correct_except(&[node]);
    lab
}

fn links(lab: &Lab, node: usize) -> Vec<PortAt> {
    let links = lab.spec.links.iter();
    links
        .filter(|link| [link.a.node, link.b.node].contains(&node))
        .map(|link| link.a)
        .collect()
}

/// Connects the link, and commands three full sweeps: the fabric without `clone` is correct all the
/// time.
fn connect_and_sweep(lab: &mut Lab, context: &str, clone: usize, link: PortAt) {
    lab.world.fabric_mut().restore(link).expect("a link");
    for sweep in 0..3 {
        assert_correct_for_a_while(lab, &format!("{context}, sweep {sweep}"), clone);
        lab.handle(lab.sm, Command::Sweep.with_id(sweep));
    }
    assert_correct_for_a_while(lab, context, clone);
}

/// For 7 s the host [`FAR`] retains its LID, and the fabric without `clone` is correct.
fn assert_correct_for_a_while(lab: &mut Lab, context: &str, clone: usize) {
    let far = PortAt::new(FAR, 1);
    let lid = lab.world.fabric().lid(far);
    for step in 0..14 {
        lab.world.run_for(Duration::from_millis(500));
        assert_eq!(lab.world.fabric().lid(far), lid, "{context}, step {step}");
        let mut expect = lab.expect();
        expect.excluded.insert(clone);
        if let Err(error) = lab.verdict(&expect) {
            panic!("{context}, step {step}: {error}");
        }
    }
}

fn excluded(lab: &Lab, expected: impl Fn(&ExclusionReason) -> bool) -> bool {
    let problems = &lab.last_report().problems;
    let mut kinds = problems.iter().map(|problem| &problem.kind);
    kinds.any(|kind| matches!(kind, ProblemKind::Excluded(reason, _) if expected(reason)))
}

/// The clone copies the node GUID, the port GUID, or both, of a host that sweeps reach after it.
#[test]
fn near_clone_does_not_displace_a_known_host() {
    for (node_guid, port_guid) in [(false, true), (true, false), (true, true)] {
        let (clone, victim) = (PortAt::new(NEAR, 1), PortAt::new(FAR, 1));
        let mut lab = without(NEAR, |lab| {
            let fabric = lab.world.fabric_mut();
            if node_guid {
                let guid = fabric.node_guid(FAR);
                fabric.set_node_guid(NEAR, guid);
            }
            if port_guid {
                let guid = fabric.port_guid(victim);
                fabric.set_port_guid(clone, guid).unwrap();
            }
        });
        let context = format!("node GUID {node_guid}, port GUID {port_guid}");
        connect_and_sweep(&mut lab, &context, NEAR, clone);
        let found = excluded(&lab, |reason| match reason {
            ExclusionReason::DuplicateNodeGuid(_) => node_guid,
            ExclusionReason::DuplicatePortGuid(_) => !node_guid,
            ExclusionReason::Implausible(_)
            | ExclusionReason::NoResponse
            | ExclusionReason::PathTooLong
            | ExclusionReason::Uncounted(_)
            | ExclusionReason::TooManySwitchPorts(_)
            | ExclusionReason::EndlessSwitches(_)
            | ExclusionReason::SubnetFull => false,
        });
        assert!(found, "{context}: {:#?}", lab.last_report().problems);
        // A new SM does not know which of the two was connected first, but finds only the known
        // host activated.
        let restored = lab.manager().restored(lab.world.now());
        lab.world.kill(lab.sm);
        lab.restart_sm(SmConfig::default(), restored);
        assert_correct_for_a_while(&mut lab, &format!("restart, {context}"), NEAR);
    }
}

/// A switch with the node GUID of a host, or of a switch to which hosts are attached.
#[test]
fn near_switch_with_the_guid_of_a_known_node_does_not_displace_it() {
    let lab = Lab::new(SPEC, 3);
    let clone = lab.node("core-0");
    for victim in [FAR, lab.node("leaf-3-1"), lab.node("core-2")] {
        for link in 0..4 {
            let mut lab = without(clone, |lab| {
                let fabric = lab.world.fabric_mut();
                let guid = fabric.node_guid(victim);
                fabric.set_node_guid(clone, guid);
            });
            let link = links(&lab, clone)[link];
            let context = format!("node {victim}, link {link:?}");
            connect_and_sweep(&mut lab, &context, clone, link);
            let found = excluded(&lab, |reason| {
                matches!(reason, ExclusionReason::DuplicateNodeGuid(_))
            });
            assert!(found, "{context}: {:#?}", lab.last_report().problems);
        }
    }
}

/// Two switches have one GUID when an SM starts: the one that is where the last SM knew it is in
/// the subnet.
#[test]
fn restarted_sm_prefers_the_switch_at_its_last_place() {
    let lab = Lab::new(SPEC, 3);
    let clone = lab.node("core-0");
    for victim in [lab.node("leaf-3-1"), lab.node("core-2")] {
        for link in 0..4 {
            let mut lab = without(clone, |lab| {
                let fabric = lab.world.fabric_mut();
                let guid = fabric.node_guid(victim);
                fabric.set_node_guid(clone, guid);
            });
            let link = links(&lab, clone)[link];
            let context = format!("node {victim}, link {link:?}");
            lab.world.fabric_mut().restore(link).unwrap();
            assert_correct_for_a_while(&mut lab, &context, clone);
            let restored = lab.manager().replicated_state(lab.world.now());
            lab.world.kill(lab.sm);
            lab.restart_sm(SmConfig::default(), restored);
            assert_correct_for_a_while(&mut lab, &format!("restart, {context}"), clone);
        }
    }
}

/// Adapters of one batch share a node GUID or port GUID, that of the SM among them. The light sweep
/// recognises the excluded device: nothing has moved, and no full sweep follows.
#[test]
fn excluded_duplicate_causes_no_further_sweep() {
    for (description, node_of, port_of) in [
        ("node GUID of the SM", Some(0), None),
        ("node GUID of a host", Some(1), None),
        ("port GUID of the SM", None, Some(0)),
        ("all GUIDs of the SM", Some(0), Some(0)),
        ("all GUIDs of a host", Some(1), Some(1)),
    ] {
        let mut lab = Lab::up("star:3", 3, SmConfig::default());
        assert_eq!(lab.at.node, 0);
        let before = lab.manager().reports().len();
        let fabric = lab.world.fabric_mut();
        if let Some(host) = node_of {
            let guid = fabric.node_guid(host);
            fabric.set_node_guid(2, guid);
        }
        let clone = PortAt::new(2, 1);
        if let Some(host) = port_of {
            let guid = fabric.port_guid(PortAt::new(host, 1));
            fabric.set_port_guid(clone, guid).unwrap();
        }
        fabric.bounce(clone).unwrap();
        lab.world.run_for(Duration::from_secs(100));
        let full_sweeps = |lab: &Lab| {
            let reports = lab.manager().reports();
            reports[before..].iter().filter(|r| !r.is_local()).count()
        };
        assert_eq!(full_sweeps(&lab), 0, "{description}");
        lab.command(Command::Sweep);
        lab.world.run_for(Duration::from_secs(100));
        assert_eq!(full_sweeps(&lab), 1, "{description}");
        let moved = |e: &&Event| matches!(e, Event::LinkMoved(_));
        assert_eq!(
            lab.manager().events.iter().filter(moved).count(),
            0,
            "{description}"
        );
        assert!(excluded(&lab, |_| true), "{description}");
        lab.assert_correct_except(&[2]);
    }
}

/// The same with the GUID of a switch. Its first appearance may be a moved cable, so a full sweep
/// follows once.
#[test]
fn excluded_duplicate_of_a_switch_causes_no_further_sweep() {
    for victim in ["leaf-3-1", "core-2"] {
        let clone = Lab::new(SPEC, 3).node("core-0");
        let mut lab = without(clone, |lab| {
            let guid = lab.world.fabric().node_guid(lab.node(victim));
            lab.world.fabric_mut().set_node_guid(clone, guid);
        });
        let link = links(&lab, clone)[0];
        lab.world.fabric_mut().restore(link).unwrap();
        lab.world.run_for(Duration::from_secs(100));
        let before = lab.manager().reports().len();
        lab.world.run_for(Duration::from_secs(200));
        let reports = lab.manager().reports();
        assert!(reports[before..].iter().all(|r| r.is_local()), "{victim}");
        assert!(excluded(&lab, |_| true), "{victim}");
        lab.assert_correct_except(&[clone]);
    }
}

/// The ports of a switch in operation were joined: NumPorts of the same device is another.
#[test]
fn switch_with_a_new_number_of_ports_is_no_duplicate() {
    let mut spec = ferrosm_sim::generate::from_spec(SPEC).unwrap();
    let switch = spec
        .nodes
        .iter()
        .position(|n| n.description == "core-0")
        .unwrap();
    let before = spec.nodes[switch].num_ports;
    spec.nodes[switch].num_ports += 4;
    let mut lab = Lab::on(SPEC, spec, 3, SmConfig::default(), None);
    lab.next_sweep(8);
    lab.assert_correct();
    let link = links(&lab, switch)[0];
    let fabric = lab.world.fabric_mut();
    fabric.set_num_ports(switch, before);
    fabric.bounce(link).unwrap();
    lab.world.run_for(Duration::from_secs(2));
    lab.assert_correct();
    assert!(lab.last_report().is_clean());
    for report in lab.manager().reports() {
        let mut kinds = report.problems.iter().map(|problem| &problem.kind);
        assert!(!kinds.any(|kind| matches!(kind, ProblemKind::Excluded(..))));
    }
}

/// A host was moved to a port that a full sweep reaches before its old one, while the SM did not
/// notice: it retains its LID.
#[test]
fn moved_host_is_found_by_a_full_sweep() {
    let mut lab = Lab::new(SPEC, 3);
    lab.next_sweep(8);
    let (near, far) = (PortAt::new(NEAR, 1), PortAt::new(FAR, 1));
    let fabric = lab.world.fabric_mut();
    let (node, port) = (fabric.node_guid(FAR), fabric.port_guid(far));
    fabric.cut(far).unwrap();
    fabric.set_node_guid(NEAR, node);
    fabric.set_port_guid(near, port).unwrap();
    lab.command(Command::Sweep);
    lab.world.run_for(Duration::from_secs(15));
    lab.assert_correct_except(&[FAR]);
    let core = lab.manager().core();
    let at = core.fabric().port_by_guid(port).unwrap();
    assert_eq!(core.fabric().lid(at), core.lid_map()[&port].0);
}
