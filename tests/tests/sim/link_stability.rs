//! Links that flap or do not become active: the routes avoid them, unless something is reached over
//! them only.

use std::time::Duration;

use ferrosm_core::event::LinkFlaps;
use ferrosm_core::{Event, ProblemKind, SmConfig};
use ferrosm_fabric::location::Location;
use ferrosm_mad::attr::{PortState, id};
use ferrosm_mad::ids::NodeGuid;
use ferrosm_sim::faults::{FabricAction, FaultScope};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;

const SPEC: &str = "fat-tree:4";
/// A host other than the SM's.
const HOST: usize = 5;

fn flaps(lab: &Lab) -> Vec<LinkFlaps> {
    let events = lab.manager().events.iter();
    events
        .filter_map(|e| {
            if let Event::LinkFlapping(flaps) = e {
                Some(*flaps)
            } else {
                None
            }
        })
        .collect()
}

fn stable_links(lab: &Lab) -> usize {
    let is_stable = |e: &&Event| matches!(e, Event::LinkStable(_));
    lab.manager().events.iter().filter(is_stable).count()
}

/// Whether a switch forwards any LID to a port.
fn is_used(lab: &Lab, at: PortAt) -> bool {
    let fabric = lab.world.fabric();
    let mut lids = fabric.end_ports().map(|p| fabric.lid(p).0);
    lids.any(|lid| fabric.lft_entry(at.node, lid).0 == at.port)
}

fn lft_sets(lab: &Lab) -> u32 {
    lab.world.fabric().all_counters().sets(id::LFT)
}

/// A link that went down and came up again between two sweeps is reported, once.
#[test]
fn link_that_was_down_between_two_sweeps_is_reported() {
    let mut lab = Lab::up(SPEC, 1, SmConfig::default());
    lab.run_until_correct(30);
    let at = lab.redundant_link(0);
    lab.act(FabricAction::AttrLoss(FaultScope::Fabric, id::NOTICE, 1.0));
    lab.act(FabricAction::Bounce(at));
    lab.world.run_for(Duration::from_secs(30));
    lab.assert_correct();
    let events = &lab.manager().events;
    let interrupted: Vec<[NodeGuid; 2]> = events
        .iter()
        .filter_map(|event| {
            if let Event::LinkInterrupted(a, b) = event {
                Some([a.node?.guid, b.node?.guid])
            } else {
                None
            }
        })
        .collect();
    let [ends] = interrupted[..] else {
        panic!("{interrupted:?}");
    };
    assert!(ends.contains(&lab.world.fabric().node_guid(at.node)));
    let is_loss = |event: &Event| matches!(event, Event::LinkDown(..));
    assert!(!events.iter().any(is_loss));
}

/// A switch that was reset between two sweeps is reported once, and its links, which went down with
/// it, are not.
#[test]
fn switch_that_was_reset_between_two_sweeps_is_one_event() {
    let mut lab = Lab::up(SPEC, 1, SmConfig::default());
    lab.run_until_correct(30);
    let switch = lab.node("spine-0-1");
    lab.act(FabricAction::AttrLoss(FaultScope::Fabric, id::NOTICE, 1.0));
    let known = lab.manager().events.len();
    lab.world.fabric_mut().reboot(switch);
    lab.world.run_for(Duration::from_secs(30));
    lab.assert_correct();
    let guid = lab.world.fabric().node_guid(switch);
    let events = &lab.manager().events[known..];
    let restarted =
        |event: &&Event| matches!(event, Event::SwitchRestarted(node) if node.guid == guid);
    assert_eq!(events.iter().filter(restarted).count(), 1, "{events:?}");
    let is_of_link = |event: &&Event| {
        matches!(
            event,
            Event::LinkInterrupted(..) | Event::LinkDown(..) | Event::LinkUp(..)
        )
    };
    let of_links: Vec<&Event> = events.iter().filter(is_of_link).collect();
    assert!(of_links.is_empty(), "{of_links:?}");
}

/// One link between switches stays in Initialize or Armed, because one port does not accept a
/// higher state. After the second failed activation no route leads over it, and the report names
/// it. It is used again soon after it can become active.
#[test]
fn link_that_does_not_become_active_is_not_used() {
    for max in [PortState::Initialize, PortState::Armed] {
        let mut lab = Lab::new(SPEC, 1);
        let at = lab.redundant_link(0);
        let peer = lab.world.fabric().peer(at).unwrap();
        let fabric = lab.world.fabric_mut();
        fabric.node_options_mut(at.node).unwrap().max_port_state = Some((at.port, max));
        lab.next_sweep(60);
        lab.world.run_for(Duration::from_secs(15));
        assert!(!is_used(&lab, at) && !is_used(&lab, peer), "{max}");
        let sent = lab.manager().reports().len();
        lab.world.run_for(Duration::from_mins(20));
        let retries = lab.manager().reports().len() - sent;
        assert!((4..12).contains(&retries), "{retries} sweeps in 20 minutes");
        let guid = lab.world.fabric().node_guid(at.node);
        let is_named = lab.last_report().problems.iter().any(|p| {
            let Location::Port(port) = p.location else {
                return false;
            };
            matches!(p.kind, ProblemKind::LinkNotRouted(_))
                && port.node.is_some_and(|node| node.guid == guid)
        });
        assert!(is_named, "{:#?}", lab.last_report().problems);
        let fabric = lab.world.fabric_mut();
        fabric.node_options_mut(at.node).unwrap().max_port_state = None;
        lab.run_until_correct(310);
        lab.world.run_for(Duration::from_secs(15));
        assert!(is_used(&lab, at) || is_used(&lab, peer), "{max}");
        assert_eq!(stable_links(&lab), 1);
        assert!(lab.last_report().is_clean());
    }
}

/// The only link of a host does not become active: the report names it, and nothing else changes.
#[test]
fn inactive_only_link_of_a_host_is_reported() {
    let mut lab = Lab::new(SPEC, 1);
    let options = lab.world.fabric_mut().node_options_mut(HOST).unwrap();
    options.max_port_state = Some((1, PortState::Armed));
    lab.next_sweep(60);
    lab.world.run_for(Duration::from_secs(45));
    lab.assert_correct_except(&[HOST]);
    let guid = lab.world.fabric().node_guid(HOST);
    let names_host = |kind: &ProblemKind, location: &Location| {
        let Location::Port(port) = location else {
            return false;
        };
        matches!(kind, ProblemKind::NotActive(_)) && port.node.is_some_and(|n| n.guid == guid)
    };
    let report = lab.last_report();
    assert!(
        report
            .problems
            .iter()
            .any(|p| names_host(&p.kind, &p.location)),
        "{report:#?}"
    );
    let options = lab.world.fabric_mut().node_options_mut(HOST).unwrap();
    options.max_port_state = None;
    lab.run_until_correct(25);
}

/// A link between switches flaps once a second, or ten times: it is named once, and from then on
/// the tables stay as they are, until it was up for 30 s.
#[test]
fn flapping_link_is_named_once_and_damped() {
    for (period, times) in [(1_000, 30), (100, 200)] {
        let mut lab = Lab::up("fat-tree:8", 1, SmConfig::default());
        let at = lab.redundant_link(0);
        let peer = lab.world.fabric().peer(at).unwrap();
        assert!(is_used(&lab, at));
        let period = Duration::from_millis(period);
        lab.world
            .act(FabricAction::Flap { at, period, times })
            .unwrap();
        lab.run_until("the link is named", 20, |lab| !flaps(lab).is_empty());
        lab.world.run_for(Duration::from_millis(1_500));
        let sets = lft_sets(&lab);
        lab.world.run_for(Duration::from_secs(28));
        assert_eq!(
            lft_sets(&lab),
            sets,
            "tables changed while the link flapped"
        );
        assert!(!is_used(&lab, at) && !is_used(&lab, peer));
        assert_eq!(stable_links(&lab), 0);
        lab.world.run_for(Duration::from_secs(45));
        assert_eq!((flaps(&lab).len(), stable_links(&lab)), (1, 1));
        let named = flaps(&lab)[0];
        assert!(
            named.flaps == 5 && named.hold == Some(Duration::from_secs(30)),
            "{named:?}"
        );
        let guids = named.ends.map(|end| end.node.map(|node| node.guid));
        let guid = lab.world.fabric().node_guid(at.node);
        assert!(guids.contains(&Some(guid)), "{named:?}");
        assert!(is_used(&lab, at) || is_used(&lab, peer));
        lab.run_until_correct(25);
    }
}

/// The next time that the link flaps, the hold time is longer.
#[test]
fn hold_time_of_a_link_that_flaps_again_doubles() {
    let mut lab = Lab::up("fat-tree:8", 1, SmConfig::default());
    let at = lab.redundant_link(0);
    let period = Duration::from_secs(1);
    for (times, holds) in [(30, vec![30]), (1, vec![30, 60]), (1, vec![30, 60, 120])] {
        lab.world
            .act(FabricAction::Flap { at, period, times })
            .unwrap();
        let before = stable_links(&lab);
        lab.run_until("stable", 200, |lab| stable_links(lab) > before);
        let seen: Vec<_> = flaps(&lab)
            .iter()
            .map(|f| f.hold.unwrap().as_secs())
            .collect();
        assert_eq!(seen, holds);
    }
}

/// The only link of a host flaps: it is named, and the host is reachable as soon as the link is up.
#[test]
fn flapping_only_link_is_still_used() {
    let mut lab = Lab::up(SPEC, 1, SmConfig::default());
    let at = PortAt::new(HOST, 1);
    let period = Duration::from_secs(2);
    lab.world
        .act(FabricAction::Flap {
            at,
            period,
            times: 8,
        })
        .unwrap();
    lab.world.run_for(Duration::from_secs(17));
    lab.run_until_correct(2);
    assert!(flaps(&lab).iter().all(|f| f.hold.is_none()));
}
