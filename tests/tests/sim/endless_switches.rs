//! A device that emulates switches without end behind a port: the port is excluded and reported,
//! all other hosts are configured within a second meanwhile, and the cost is bounded.

use std::time::Duration;

use ferrosm_core::{Event, Input, ProblemKind, SmConfig};
use ferrosm_fabric::observed::ExclusionReason;
use ferrosm_mad::attr::PortState;
use ferrosm_sim::fabric::Emulation;
use ferrosm_sim::spec::{NodeIdx, PortAt};
use ferrosm_tests::lab::Lab;

const SPEC: &str = "fat-tree:4";
const LIAR: usize = 5;
/// Hosts at other leaves.
const INNOCENT: [usize; 3] = [9, 12, 14];

/// The ways to be endless.
fn emulations() -> [(&'static str, Emulation); 4] {
    let small = Emulation::endless(9);
    [
        ("switches", small),
        ("large switches", Emulation::endless(254)),
        (
            "switches with hosts",
            Emulation {
                first_host_port: 5,
                ..small
            },
        ),
        (
            "a loop with a new GUID in each NodeInfo",
            Emulation {
                has_fresh_guids: true,
                ..small
            },
        ),
    ]
}

/// A limit that is reached in little time.
fn config() -> SmConfig {
    SmConfig {
        new_port_budget: 5_000,
        ..SmConfig::default()
    }
}

fn emulate(lab: &mut Lab, emulation: Option<Emulation>) {
    let fabric = lab.world.fabric_mut();
    fabric.emulate_switches(LIAR, emulation);
    let bounced = fabric.bounce(PortAt::new(LIAR, 1));
    bounced.unwrap_or_else(|e| panic!("{e}"));
}

fn state(lab: &Lab, at: PortAt) -> Option<PortState> {
    Some(lab.world.fabric().port_info(at)?.port_state)
}

/// The time until a host that reboots is Active.
fn time_to_active(lab: &mut Lab, host: NodeIdx) -> Duration {
    let at = PortAt::new(host, 1);
    lab.world.fabric_mut().reboot(host);
    let start = lab.world.now();
    let is_active = |lab: &Lab| state(lab, at) == Some(PortState::Active);
    lab.run_until("the host is down", 5, |lab| !is_active(lab));
    lab.run_until("the host is Active", 600, is_active);
    lab.world.now().since(start)
}

fn excluded(lab: &Lab, reason: impl Fn(&ExclusionReason) -> bool) -> bool {
    let problems = &lab.last_report().problems;
    let mut kinds = problems.iter().map(|problem| &problem.kind);
    kinds.any(|kind| matches!(kind, ProblemKind::Excluded(why, _) if reason(why)))
}

fn is_too_many(reason: &ExclusionReason) -> bool {
    matches!(
        reason,
        ExclusionReason::TooManySwitchPorts(_) | ExclusionReason::EndlessSwitches(_)
    )
}

/// Every way to be endless, in a subnet that is up.
#[test]
fn endless_switches_delay_no_other_host() {
    for (description, emulation) in emulations() {
        let mut lab = Lab::up(SPEC, 5, config());
        emulate(&mut lab, Some(emulation));
        for host in INNOCENT {
            let took = time_to_active(&mut lab, host);
            assert!(took < Duration::from_secs(1), "{description}: {took:?}");
        }
        lab.world.run_for(Duration::from_secs(30));
        lab.assert_correct_except(&[LIAR]);
        assert!(excluded(&lab, is_too_many), "{description}");
        let reported = |event: &&Event| {
            matches!(event, Event::ProblemFound(p)
                if matches!(p.kind, ProblemKind::Excluded(why, _) if is_too_many(&why)))
        };
        let events = lab.manager().events.iter().filter(reported).count();
        assert_eq!(events, 1, "{description}");
        // Each light sweep counts up to a small limit.
        let (switches, nodes) = (
            lab.last_report().switches,
            lab.manager().core().fabric().node_count(),
        );
        assert_eq!((switches, nodes), (20, 35), "{description}");
        let sent = lab.world.fabric().totals().sent;
        lab.world.run_for(Duration::from_secs(40));
        let sent = lab.world.fabric().totals().sent - sent;
        assert!(sent < 20_000, "{description}: {sent} MADs in 40 s");
        emulate(&mut lab, None);
        let took = time_to_active(&mut lab, INNOCENT[0]);
        assert!(took < Duration::from_secs(1), "{description}: {took:?}");
        lab.run_until_correct(2);
        lab.world.run_for(Duration::from_secs(15));
        assert!(lab.last_report().is_clean(), "{description}");
    }
}

/// Every way to be endless, at the first bring-up and at a restart: the first sweep ends, and all
/// other hosts are up.
#[test]
fn endless_switches_do_not_prevent_the_first_sweep() {
    for (description, emulation) in emulations() {
        let mut lab = Lab::with(SPEC, 5, config());
        lab.world
            .fabric_mut()
            .emulate_switches(LIAR, Some(emulation));
        for start in ["first", "restart"] {
            let report = lab.next_sweep(60);
            lab.assert_correct_except(&[LIAR]);
            assert!(
                report.took < Duration::from_secs(1),
                "{description}, {start}: {:?}",
                report.took
            );
            let took = time_to_active(&mut lab, INNOCENT[0]);
            assert!(
                took < Duration::from_secs(1),
                "{description}, {start}: {took:?}"
            );
            lab.world.run_for(Duration::from_secs(15));
            assert!(excluded(&lab, is_too_many), "{description}, {start}");
            let restored = lab.manager().restored(lab.world.now());
            lab.world.kill(lab.sm);
            lab.restart_sm(config(), restored);
        }
        lab.world.fabric_mut().emulate_switches(LIAR, None);
        lab.run_until_correct(30);
    }
}

/// The SM starts at a leaf, and all other switches, with 3,416 ports, come up behind one cable.
fn extension(cfg: SmConfig) -> Lab {
    let mut lab = Lab::with("fat-tree:14", 5, cfg);
    let peer = lab.world.fabric().peer(lab.at);
    let leaf = peer.map_or_else(|| panic!("no leaf"), |peer| peer.node);
    let is_uplink = |lab: &Lab, at: PortAt| {
        let peer = lab.world.fabric().peer(at);
        peer.is_some_and(|peer| lab.world.fabric().is_switch(peer.node))
    };
    let ports = lab.world.fabric().external_ports(leaf);
    let uplinks: Vec<PortAt> = ports.filter(|at| is_uplink(&lab, *at)).collect();
    for at in &uplinks {
        let cut = lab.world.fabric_mut().cut(*at);
        cut.unwrap_or_else(|e| panic!("{e}"));
    }
    assert_eq!(lab.next_sweep(10).switches, 1);
    let restored = lab.world.fabric_mut().restore(uplinks[0]);
    restored.unwrap_or_else(|e| panic!("{e}"));
    lab
}

/// A fabric behind one cable is counted, and included without an operator.
#[test]
fn large_extension_behind_one_port_is_counted_and_included() {
    let mut lab = extension(SmConfig::default());
    let is_uncounted = |reason: &ExclusionReason| matches!(reason, ExclusionReason::Uncounted(_));
    lab.next_sweep(10);
    assert!(
        excluded(&lab, is_uncounted),
        "{:#?}",
        lab.last_report().problems
    );
    let report = lab.next_sweep(5);
    assert_eq!((report.switches, report.cas), (245, 686));
    assert!(report.is_clean(), "{:#?}", report.problems);
    lab.assert_correct();
}

/// A fabric that exceeds the limit is included when the operator raises it.
#[test]
fn operator_raises_the_limit_for_an_extension() {
    let cfg = SmConfig {
        new_port_budget: 3_000,
        ..SmConfig::default()
    };
    let mut lab = extension(cfg);
    lab.world.run_for(Duration::from_secs(30));
    assert!(
        excluded(&lab, is_too_many),
        "{:#?}",
        lab.last_report().problems
    );
    assert_eq!(lab.last_report().switches, 1);
    lab.handle(lab.sm, Input::Config(Box::default()));
    lab.run_until_correct(5);
    assert_eq!(lab.last_report().switches, 245);
}

/// A device whose LIDs are known is no extension: a fabric that comes up behind one cable again is
/// included at once.
#[test]
fn known_fabric_behind_one_port_needs_no_survey() {
    let mut lab = extension(SmConfig::default());
    lab.run_until_correct(10);
    let up: Vec<PortAt> = lab.spec.links.iter().map(|link| link.a).collect();
    let leaf = lab.world.fabric().peer(lab.at).unwrap().node;
    let uplink = up
        .into_iter()
        .find(|at| {
            let peer = lab.world.fabric().peer(*at);
            at.node == leaf && peer.is_some_and(|peer| lab.world.fabric().is_switch(peer.node))
                || peer.is_some_and(|peer| peer.node == leaf)
                    && lab.world.fabric().is_switch(at.node)
        })
        .unwrap();
    lab.world.fabric_mut().cut(uplink).unwrap();
    lab.run_until("the rest is gone", 10, |lab| {
        lab.last_report().switches == 1
    });
    lab.world.fabric_mut().restore(uplink).unwrap();
    let report = lab.next_sweep(5);
    assert_eq!(report.switches, 245);
    lab.assert_correct();
}
