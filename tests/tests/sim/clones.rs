//! A node with the GUIDs of a node in use is connected: the known node retains its identity, LID and links, whichever of the two a sweep
//! reaches first.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::time::Duration;

use ferrosm_core::report::QuarantineReason;
use ferrosm_core::{Command, ProblemKind, SmConfig};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::simulated::Lab;

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

/// Connects the link, and commands three full sweeps: the fabric without `clone` is correct all the time.
fn connect_and_sweep(lab: &mut Lab, context: &str, clone: usize, link: PortAt) {
    lab.world.fabric_mut().restore(link).expect("a link");
    for sweep in 0..3 {
        assert_correct_for_a_while(lab, &format!("{context}, sweep {sweep}"), clone);
        let now = lab.world.now();
        lab.world.with_sm(lab.sm, |sm, _| {
            sm.command(Command::Sweep.with_id(sweep), now)
        });
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
        expect.quarantined.insert(clone);
        if let Err(error) = lab.verdict(&expect) {
            panic!("{context}, step {step}: {error}");
        }
    }
}

fn quarantined(lab: &Lab, expected: impl Fn(&QuarantineReason) -> bool) -> bool {
    let problems = &lab.last_report().problems;
    let mut kinds = problems.iter().map(|problem| &problem.kind);
    kinds.any(|kind| matches!(kind, ProblemKind::Quarantined(reason, _) if expected(reason)))
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
        let found = quarantined(&lab, |reason| match reason {
            QuarantineReason::DuplicateNodeGuid(_) => node_guid,
            QuarantineReason::DuplicatePortGuid(_) => !node_guid,
            QuarantineReason::Implausible(_)
            | QuarantineReason::NoResponse
            | QuarantineReason::PathTooLong => false,
        });
        assert!(found, "{context}: {:#?}", lab.last_report().problems);
        // A new SM does not know which of the two was connected first, but finds only the known host activated.
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
            let found = quarantined(&lab, |reason| {
                matches!(reason, QuarantineReason::DuplicateNodeGuid(_))
            });
            assert!(found, "{context}: {:#?}", lab.last_report().problems);
        }
    }
}

/// A host was moved to a port that a full sweep reaches before its old one, while the SM did not notice: it retains its LID.
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
    let now = lab.world.now();
    lab.world
        .with_sm(lab.sm, |sm, _| sm.command(Command::Sweep.with_id(0), now));
    lab.world.run_for(Duration::from_secs(15));
    lab.assert_correct_except(&[FAR]);
    let core = lab.manager().core();
    let at = core.subnet().port_by_guid(port).unwrap();
    assert_eq!(core.subnet().lid(at), core.lid_map()[&port].0);
}
