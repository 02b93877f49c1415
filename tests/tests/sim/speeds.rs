//! Link speeds as the SM reports them: FDR10 links report QDR in PortInfo.

use ferrosm_mad::attr::{LinkSpeed, NodeType};
use ferrosm_tests::lab::Lab;

/// The SM distinguishes FDR10 from QDR links by the vendor's ExtendedPortInfo.
#[test]
fn fdr10_is_distinguished_from_qdr() {
    for speed in [LinkSpeed::Qdr, LinkSpeed::Fdr10, LinkSpeed::Fdr] {
        let mut spec = ferrosm_sim::generate::from_spec("fat-tree:4;speed=FDR").unwrap();
        for link in &mut spec.links {
            link.speed = speed;
        }
        let mut lab = Lab::on(
            "fat-tree:4",
            spec,
            1,
            ferrosm_core::SmConfig::default(),
            None,
        );
        assert!(lab.next_sweep(60).is_clean());
        let subnet = lab.manager().core().fabric();
        let seen: Vec<_> = subnet
            .links()
            .filter_map(|l| subnet.port(l.a))
            .map(ferrosm_fabric::observed::Port::speed)
            .collect();
        assert_eq!(seen.len(), 48);
        assert!(
            seen.iter().all(|s| *s == Some(speed)),
            "{speed:?}: {seen:?}"
        );
    }
}

/// Devices whose agents predate extended speeds, including those that reject ExtendedPortInfo, are
/// brought up with their links at full speed. So are devices of other generations with smaller
/// tables.
#[test]
fn devices_without_extended_port_info_are_brought_up() {
    use ferrosm_sim::spec::AgentModel;
    let old = [
        AgentModel::OnRequest,
        AgentModel::IgnoresExtendedSpeeds,
        AgentModel::RejectsExtendedSpeeds,
        AgentModel::UnsupportedExtendedSpeeds,
        AgentModel::SilentOnExtendedSpeeds,
    ];
    for agent in old {
        let mut spec = ferrosm_sim::generate::from_spec("fat-tree:4").unwrap();
        for node in spec.nodes.iter_mut().step_by(3) {
            node.options.agent = agent;
        }
        let slow: Vec<bool> = spec
            .links
            .iter()
            .map(|l| {
                [l.a, l.b].iter().any(|at| at.node % 3 == 0) && agent.predates_extended_speeds()
            })
            .collect();
        let expected = slow.iter().filter(|slow| **slow).count();
        let mut lab = Lab::on(
            "fat-tree:4",
            spec,
            1,
            ferrosm_core::SmConfig::default(),
            None,
        );
        let report = lab.next_sweep(60);
        assert!(report.is_clean(), "{agent:?}: {report:#?}");
        let subnet = lab.manager().core().fabric();
        let speeds = subnet.links().filter_map(|l| subnet.port(l.a));
        let qdr = speeds.filter(|p| p.speed() == Some(LinkSpeed::Qdr)).count();
        assert_eq!(qdr, expected, "{agent:?}");
    }
    for speed in ["QDR", "FDR", "EDR", "NDR", "XDR"] {
        let text = format!("fat-tree:4;speed={speed}");
        let spec = ferrosm_sim::generate::from_spec(&text).unwrap();
        let mut lab = Lab::on(&text, spec, 1, ferrosm_core::SmConfig::default(), None);
        assert!(lab.next_sweep(60).is_clean(), "{speed}");
    }
}

/// The topology has the rate of every link. The SM detects the one link that is slower than both of
/// its ports.
#[test]
fn routing_input_has_link_rates() {
    let mut spec = ferrosm_sim::generate::from_spec("fat-tree:4").unwrap();
    let switch = |at: ferrosm_sim::spec::PortAt| spec.nodes[at.node].kind == NodeType::Switch;
    let cable = spec.links.iter().position(|l| switch(l.a) && switch(l.b));
    let slow = &mut spec.links[cable.unwrap()];
    slow.speed = LinkSpeed::Edr;
    let link_ends = [slow.a, slow.b].map(|at| (spec.nodes[at.node].node_guid, at.port));
    let mut lab = Lab::on(
        "fat-tree:4",
        spec,
        1,
        ferrosm_core::SmConfig::default(),
        None,
    );
    assert!(lab.next_sweep(60).is_clean());
    let core = lab.manager().core();
    let (run, nodes) = core.routing().unwrap();
    let topo = &run.topo;
    for s in topo.switches() {
        let links = topo.links(s).iter().map(|l| l.port);
        for port in links.chain(topo.end_ports(s).iter().map(|e| e.port)) {
            let guid = core.fabric().get(nodes[s.index()]).unwrap().info.node_guid;
            let is_slow = link_ends.contains(&(guid, port.0));
            let mbps = if is_slow { 100_000 } else { 200_000 };
            assert_eq!(topo.rate(s, port), Some(mbps), "{guid} port {port}");
        }
    }
    let throttled = topo.degraded_links();
    assert_eq!(throttled.len(), 1);
    assert_eq!(
        (throttled[0].mbps, throttled[0].supported_mbps),
        (100_000, 200_000)
    );
}
