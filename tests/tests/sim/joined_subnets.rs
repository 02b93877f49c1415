//! Two subnets with a master each are joined by a link while one of the masters computes routes.

use std::time::Duration;

use ferrosm_core::SmConfig;
use ferrosm_mad::attr::{PortInfo, SmState};
use ferrosm_mad::ids::Lid;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;

/// The port of the host at a switch.
fn host_at(lab: &Lab, switch: usize) -> PortAt {
    let links = lab.spec.links.iter();
    let mut ends = links.flat_map(|l| [(l.a, l.b), (l.b, l.a)]);
    let is_host = |at: PortAt| !lab.world.fabric().is_switch(at.node);
    let found = ends.find(|(at, peer)| is_host(*at) && peer.node == switch);
    found.unwrap_or_else(|| panic!("no host")).0
}

/// The link between two switches.
fn link_between(lab: &Lab, a: usize, b: usize) -> PortAt {
    let links = lab.spec.links.iter();
    let found = links
        .flat_map(|l| [(l.a, l.b), (l.b, l.a)])
        .find(|(x, y)| x.node == a && y.node == b);
    found.unwrap_or_else(|| panic!("no link")).0
}

/// A local sweep finds the other subnet after its SMInfo scan. Before the SM writes to that subnet,
/// it queries the subnet's master, which outranks it.
#[test]
fn subnet_found_while_routes_are_computed_is_not_written() {
    let cfg = |priority| SmConfig {
        priority,
        ..SmConfig::default()
    };
    let mut lab = Lab::with("mesh:1,4,1,2", 3, cfg(3));
    let chain: Vec<usize> = (0..lab.spec.nodes.len())
        .filter(|n| lab.world.fabric().is_switch(*n))
        .collect();
    let joining_link = link_between(&lab, chain[1], chain[2]);
    lab.world.fabric_mut().cut(joining_link).unwrap();
    let other_port = host_at(&lab, chain[3]);
    let other = lab.add_sm(other_port, cfg(9));
    lab.world.run_for(Duration::from_secs(5));
    assert_eq!(lab.role(lab.sm), SmState::Master);
    assert_eq!(lab.role(other), SmState::Master);
    let at = lab.at;
    let foreign: Vec<PortAt> = [chain[2], chain[3]]
        .into_iter()
        .flat_map(|switch| [PortAt::new(switch, 0), host_at(&lab, switch)])
        .collect();
    let settings = |lab: &Lab| -> Vec<(Lid, Lid)> {
        let info = |at: &PortAt| -> PortInfo { lab.world.fabric().port_info(*at).unwrap() };
        let all = foreign.iter().map(info);
        all.map(|info| (info.lid, info.master_sm_lid)).collect()
    };
    let before = settings(&lab);

    let absent = host_at(&lab, chain[1]);
    lab.edit(lab.sm, |sm, _| sm.defers_routing_jobs = true);
    lab.world.fabric_mut().cut(absent).unwrap();
    lab.run_until("a job", 20, |lab| !lab.manager().deferred_jobs.is_empty());
    lab.world.fabric_mut().restore(joining_link).unwrap();
    let far = lab.world.fabric().node_guid(other_port.node);
    lab.run_until("the other subnet is found", 20, |lab| {
        let core = lab.manager().core();
        core.fabric().node_by_guid(far).is_some()
    });
    lab.edit(lab.sm, |sm, now| {
        sm.defers_routing_jobs = false;
        sm.deliver_job_result(now);
    });
    lab.run_until("the other SM is the only master", 60, |lab| {
        assert_eq!(settings(lab), before, "at {:?}", lab.world.now());
        lab.role(lab.sm) == SmState::Standby
    });
    lab.select(other);
    lab.world.fabric_mut().restore(absent).unwrap();
    lab.run_until_correct(60);
    assert_ne!(lab.at, at);
}
