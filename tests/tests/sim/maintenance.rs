//! Drained switches and links, and disabled ports: no route uses them, no packet is lost, and
//! nothing is cut off. Routes are followed by the bytes of the devices.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::time::Duration;

use ferrosm_core::config::maintenance::{Maintenance, MaintenanceTarget};
use ferrosm_core::report::maintenance_refusal::MaintenanceRefusal;
use ferrosm_core::{
    Command, CommandFailure, CommandId, CommandOutcome, CommandReply, OperatorChange, ProblemKind,
    SmConfig,
};
use ferrosm_mad::attr::{PhysState, PortState};
use ferrosm_mad::ids::PortNum;
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::{NodeIdx, PortAt};
use ferrosm_tests::lab::{Lab, Sm};

use crate::drain::{Pair, Traffic};
use crate::election::OTHER_SM_PORT;

pub(crate) fn config() -> SmConfig {
    SmConfig {
        sweep_interval: Duration::from_secs(2),
        sm_poll_interval: Duration::from_secs(1),
        sm_poll_retries: 2,
        ..SmConfig::default()
    }
}

fn entry(target: MaintenanceTarget) -> Maintenance {
    Maintenance {
        target,
        name: "x".to_owned(),
        reason: "fan tray".to_owned(),
        until_unix_s: None,
        may_cut_off_host: false,
    }
}

pub(crate) fn switch(lab: &Lab, node: NodeIdx) -> MaintenanceTarget {
    MaintenanceTarget::Switch(lab.world.fabric().node_guid(node))
}

pub(crate) fn link(lab: &Lab, at: PortAt) -> MaintenanceTarget {
    MaintenanceTarget::Link(lab.world.fabric().node_guid(at.node), PortNum(at.port))
}

fn port(lab: &Lab, at: PortAt) -> MaintenanceTarget {
    MaintenanceTarget::Port(lab.world.fabric().node_guid(at.node), PortNum(at.port))
}

/// The result of a command, once it has one.
pub(crate) fn result(lab: &Lab, id: CommandId) -> Option<&Result<CommandOutcome, CommandFailure>> {
    let replies = lab.manager().command_replies.iter();
    replies
        .filter(|(of, _)| *of == id)
        .find_map(|(_, reply)| match reply {
            CommandReply::Done(result) => Some(result),
            CommandReply::Accepted | CommandReply::Progress(_) => None,
        })
}

pub(crate) fn begin(lab: &mut Lab, target: impl Fn(&Lab) -> MaintenanceTarget) -> CommandId {
    let target = target(lab);
    lab.command(OperatorChange::BeginMaintenance(Box::new(entry(target))).into())
}

fn refusal(lab: &mut Lab, target: impl Fn(&Lab) -> MaintenanceTarget) -> MaintenanceRefusal {
    let id = begin(lab, target);
    match result(lab, id) {
        Some(Err(CommandFailure::Maintenance(refusal))) => (**refusal).clone(),
        other => panic!("{} {other:?}", lab.describe_run()),
    }
}

/// Sets that devices received.
fn sets(lab: &Lab) -> u64 {
    let fabric = lab.world.fabric();
    let nodes = 0..fabric.num_nodes();
    nodes.map(|n| fabric.counters(n).all_sets()).sum()
}

fn phys_state(lab: &Lab, at: PortAt) -> PhysState {
    let info = lab.world.fabric().port_info(at);
    info.expect("port").port_physical_state
}

pub(crate) fn pairs(traffic: &Traffic) -> Vec<Pair> {
    traffic.routes().into_iter().map(|(pair, _)| pair).collect()
}

/// Switches without hosts.
pub(crate) fn spines(lab: &Lab) -> Vec<NodeIdx> {
    let fabric = lab.world.fabric();
    let has_host = |n: NodeIdx| {
        let mut peers = fabric.external_ports(n).filter_map(|at| fabric.peer(at));
        peers.any(|peer| !fabric.is_switch(peer.node))
    };
    let switches = (0..fabric.num_nodes()).filter(|n| fabric.is_switch(*n));
    switches.filter(|n| !has_host(*n)).collect()
}

/// Drains something and puts it back: all packets arrive all the time, none over what is drained,
/// and routes use it afterwards.
fn assert_drained(
    spec: &str,
    target: impl Fn(&Lab) -> MaintenanceTarget,
    is_used: impl Fn(&Lab, &[PortAt]) -> bool,
) {
    let mut traffic = Traffic::on(spec, config());
    let all = pairs(&traffic);
    let uses = |traffic: &Traffic| {
        let routes = traffic.routes();
        let used = routes
            .iter()
            .filter(|(_, ports)| is_used(&traffic.lab, ports));
        used.count()
    };
    assert_ne!(uses(&traffic), 0, "{spec}");
    let what = target(&traffic.lab);
    let begun = begin(&mut traffic.lab, |_| what);
    traffic.run("drain", Duration::from_secs(5), &all);
    let outcome = result(&traffic.lab, begun);
    assert!(
        matches!(
            outcome,
            Some(Ok(CommandOutcome::MaintenanceBegan {
                is_port: false,
                dropped_lids: 0
            }))
        ),
        "{spec} {outcome:?}"
    );
    assert_eq!(uses(&traffic), 0, "{spec}");
    assert_eq!(pairs(&traffic), all);
    // A full sweep changes nothing.
    traffic.lab.command(Command::Sweep);
    traffic.run("sweep", Duration::from_secs(5), &all);
    assert_eq!(uses(&traffic), 0, "{spec}");
    assert!(traffic.lab.last_report().is_clean(), "{spec}");

    let ended = traffic
        .lab
        .command(OperatorChange::EndMaintenance(what).into());
    traffic.run("end of drain", Duration::from_secs(5), &all);
    assert!(matches!(
        result(&traffic.lab, ended),
        Some(Ok(CommandOutcome::MaintenanceEnded { dropped_lids: 0 }))
    ));
    traffic.lab.run_until_correct(30);
    // Routes may stay where they are as good.
    traffic.lab.command(Command::Reroute);
    traffic.lab.world.run_for(Duration::from_secs(5));
    assert_ne!(uses(&traffic), 0, "{spec}");
}

#[test]
fn drained_switches_forward_nothing_and_no_packet_is_lost() {
    for (spec, nth) in [
        ("fat-tree:4", 0),
        ("fat-tree:4", 5),
        ("fat-tree:6", 3),
        ("fat-tree2:8,8,4", 1),
    ] {
        assert_drained(
            spec,
            |lab| switch(lab, spines(lab)[nth]),
            |lab, ports| {
                let drained = spines(lab)[nth];
                ports.iter().any(|at| at.node == drained)
            },
        );
    }
}

#[test]
fn drained_links_carry_nothing_and_no_packet_is_lost() {
    for spec in [
        "fat-tree:4",
        "torus:4,4,1",
        "torus:4,4,3,1",
        "mesh:4,4,1",
        "slim-fly:5",
        "dragonfly:3,4,1,2",
    ] {
        assert_drained(
            spec,
            |lab| link(lab, lab.redundant_link(1)),
            |lab, ports| {
                let at = lab.redundant_link(1);
                let peer = lab.world.fabric().peer(at);
                ports.iter().any(|p| *p == at || Some(*p) == peer)
            },
        );
    }
}

/// Drains these switches and links one after the other. Returns of how many LIDs packets were
/// dropped at last.
fn dropped_at_last(spec: &str, targets: &[(&str, Option<u8>)]) -> usize {
    let mut lab = Lab::up(spec, 7, config());
    lab.run_until_correct(10);
    let mut dropped = 0;
    for (name, port) in targets {
        let node = lab.node(name);
        let target = match port {
            None => switch(&lab, node),
            Some(port) => link(&lab, PortAt { node, port: *port }),
        };
        let id = begin(&mut lab, |_| target);
        lab.world.run_for(Duration::from_secs(5));
        let outcome = result(&lab, id);
        let Some(Ok(CommandOutcome::MaintenanceBegan { dropped_lids, .. })) = outcome else {
            panic!("{name}: {outcome:?}");
        };
        dropped = *dropped_lids;
    }
    lab.assert_correct();
    dropped
}

/// Where the update of the routes has no order without deadlocks, packets to some LIDs are dropped
/// for a moment, and the result says so. Where clearing routes of switches is enough, none are.
#[test]
fn drain_that_drops_packets_says_so() {
    let spines = [("spine-0-0", None), ("spine-1-0", None)];
    assert_eq!(dropped_at_last("fat-tree:6", &spines), 0);
    let several = [
        ("spine-4-2", Some(1)),
        ("spine-5-1", Some(2)),
        ("spine-5-0", None),
        ("spine-0-2", None),
    ];
    assert_ne!(dropped_at_last("fat-tree:6", &several), 0);
}

/// What would cut off a host is refused, and nothing is written.
#[test]
fn cutting_off_hosts_is_refused() {
    let mut lab = Lab::up("fat-tree:4", 3, config());
    lab.run_until_correct(10);
    let before = sets(&lab);
    let own_leaf = lab.world.fabric().peer(lab.at).expect("leaf");
    let host = lab.hosts()[7];
    let leaf = lab.world.fabric().peer(host).expect("leaf");
    assert_eq!(
        refusal(&mut lab, |lab| switch(lab, own_leaf.node)),
        MaintenanceRefusal::OwnPort
    );
    assert_eq!(
        refusal(&mut lab, |lab| port(lab, own_leaf)),
        MaintenanceRefusal::OwnPort
    );
    let connected = refusal(&mut lab, |lab| switch(lab, leaf.node));
    assert!(
        matches!(&connected, MaintenanceRefusal::HostsConnected(hosts) if hosts.len() == 2),
        "{connected}"
    );
    let connected = refusal(&mut lab, |lab| link(lab, leaf));
    assert!(matches!(&connected, MaintenanceRefusal::HostsConnected(_)));
    let connected = refusal(&mut lab, |lab| port(lab, leaf));
    assert!(matches!(&connected, MaintenanceRefusal::HostsConnected(_)));
    let unknown = MaintenanceTarget::Switch(lab.world.fabric().node_guid(host.node));
    assert_eq!(
        refusal(&mut lab, |_| unknown),
        MaintenanceRefusal::NotASwitch
    );
    assert_eq!(sets(&lab), before);
    // One of the two links between a leaf and its spines can be drained, the other not.
    let fabric = lab.world.fabric();
    let uplinks: Vec<PortAt> = fabric
        .external_ports(leaf.node)
        .filter(|at| {
            fabric
                .peer(*at)
                .is_some_and(|peer| fabric.is_switch(peer.node))
        })
        .collect();
    let first = begin(&mut lab, |lab| link(lab, uplinks[0]));
    lab.world.run_for(Duration::from_secs(2));
    assert!(matches!(result(&lab, first), Some(Ok(_))));
    let cut_off = refusal(&mut lab, |lab| link(lab, uplinks[1]));
    assert!(
        matches!(&cut_off, MaintenanceRefusal::CutsOff(hosts) if hosts.len() == 2),
        "{cut_off}"
    );
    let spine = fabric_peer(&lab, uplinks[1]);
    let cut_off = refusal(&mut lab, |lab| switch(lab, spine));
    assert!(
        matches!(&cut_off, MaintenanceRefusal::CutsOff(_)),
        "{cut_off}"
    );
    let what = port(&lab, uplinks[1]);
    let not_drained = lab.command(OperatorChange::EndMaintenance(what).into());
    assert!(matches!(
        result(&lab, not_drained),
        Some(Err(CommandFailure::Maintenance(refusal))) if **refusal == MaintenanceRefusal::InService
    ));
}

fn fabric_peer(lab: &Lab, at: PortAt) -> NodeIdx {
    lab.world.fabric().peer(at).expect("link").node
}

/// A drained link is used again if the others fail, and reported.
#[test]
fn drained_link_is_used_rather_than_hosts_cut_off() {
    let mut lab = Lab::up("fat-tree:4", 3, config());
    let host = lab.hosts()[7];
    let leaf = lab.world.fabric().peer(host).expect("leaf").node;
    let fabric = lab.world.fabric();
    let uplinks: Vec<PortAt> = fabric
        .external_ports(leaf)
        .filter(|at| {
            fabric
                .peer(*at)
                .is_some_and(|peer| fabric.is_switch(peer.node))
        })
        .collect();
    begin(&mut lab, |lab| link(lab, uplinks[0]));
    lab.world.run_for(Duration::from_secs(2));
    lab.act(FabricAction::Cut(uplinks[1]));
    lab.world.run_for(Duration::from_secs(10));
    lab.assert_correct();
    let problems = lab.last_report().problems;
    let is_used = |kind: &ProblemKind| matches!(kind, ProblemKind::DrainedLinkUsed);
    lab.command(Command::Sweep);
    lab.world.run_for(Duration::from_secs(5));
    assert!(
        problems
            .iter()
            .chain(&lab.last_report().problems)
            .any(|p| is_used(&p.kind)),
        "{problems:?}"
    );
}

/// A port is disabled after its routes are moved; it stays disabled across a restart of the switch
/// and of the SM, and a takeover, until it is enabled.
#[test]
fn disabled_port_stays_disabled_until_it_is_enabled() {
    let mut traffic = Traffic::on("fat-tree:4", config());
    let at = traffic.lab.redundant_link(3);
    let what = port(&traffic.lab, at);
    let all = pairs(&traffic);
    let id = begin(&mut traffic.lab, |_| what);
    traffic.run("disable", Duration::from_secs(5), &all);
    assert!(
        matches!(result(&traffic.lab, id), Some(Ok(_))),
        "{:?}",
        result(&traffic.lab, id)
    );
    assert_eq!(phys_state(&traffic.lab, at), PhysState::Disabled);
    let lab = &mut traffic.lab;
    assert!(
        lab.last_report().is_clean(),
        "{:?}",
        lab.last_report().problems
    );

    // The switch forgets it.
    lab.world.fabric_mut().reboot(at.node);
    lab.world.run_for(Duration::from_secs(20));
    assert_eq!(phys_state(lab, at), PhysState::Disabled, "reboot");

    // A standby takes over.
    let now = lab.world.now();
    let standby = Sm::new(config(), Default::default(), now).with_replication();
    let standby = lab.start_sm(OTHER_SM_PORT, standby);
    lab.world.run_for(Duration::from_secs(20));
    let stopped = lab.kill_sm();
    let replica = stopped.replicated_state(lab.world.now());
    assert_eq!(replica.maintenance.len(), 1);
    lab.set_replica(standby, replica);
    lab.select(standby);
    lab.world.fabric_mut().reboot(at.node);
    lab.run_until_correct(60);
    lab.world.run_for(Duration::from_secs(20));
    assert_eq!(phys_state(lab, at), PhysState::Disabled, "takeover");

    let id = lab.command(OperatorChange::EndMaintenance(what).into());
    lab.world.run_for(Duration::from_secs(20));
    assert!(matches!(
        result(lab, id),
        Some(Ok(CommandOutcome::MaintenanceEnded { dropped_lids: 0 }))
    ));
    let state = lab.world.fabric().port_info(at).expect("port").port_state;
    assert_eq!(state, PortState::Active);
    lab.run_until_correct(30);
}

/// The SM stops after the command that enables a port, and before it writes the port: the next one
/// enables it, and the record ends.
#[test]
fn port_is_enabled_although_the_sm_restarts_before() {
    let mut lab = Lab::up("fat-tree:4", 3, config());
    let at = lab.redundant_link(3);
    let what = port(&lab, at);
    begin(&mut lab, |_| what);
    lab.world.run_for(Duration::from_secs(5));
    assert_eq!(phys_state(&lab, at), PhysState::Disabled);
    lab.command(OperatorChange::EndMaintenance(what).into());
    let stopped = lab.kill_sm();
    let restored = stopped.restored(lab.world.now());
    assert!(restored.maintenance.is_empty());
    assert_eq!(restored.ports_to_enable.len(), 1);
    assert_eq!(phys_state(&lab, at), PhysState::Disabled);
    lab.restart_sm(config(), restored);
    lab.world.run_for(Duration::from_secs(20));
    assert_eq!(phys_state(&lab, at), PhysState::LinkUp);
    lab.run_until_correct(30);
    let stopped = lab.kill_sm();
    let restored = stopped.restored(lab.world.now());
    assert!(restored.ports_to_enable.is_empty());
}

/// A port that was Disabled when the SM started is enabled by command: of such a port only its
/// states are known.
#[test]
fn port_is_enabled_after_a_restart() {
    let mut lab = Lab::up("fat-tree:4", 3, config());
    let at = lab.redundant_link(3);
    let what = port(&lab, at);
    begin(&mut lab, |_| what);
    lab.world.run_for(Duration::from_secs(5));
    let stopped = lab.kill_sm();
    let restored = stopped.restored(lab.world.now());
    lab.restart_sm(config(), restored);
    lab.world.run_for(Duration::from_secs(5));
    assert_eq!(phys_state(&lab, at), PhysState::Disabled);
    lab.command(OperatorChange::EndMaintenance(what).into());
    lab.world.run_for(Duration::from_secs(10));
    assert_eq!(phys_state(&lab, at), PhysState::LinkUp);
    lab.run_until_correct(30);
}

/// The port of a host is disabled only if the operator accepts that the host is cut off.
#[test]
fn port_of_a_host_is_disabled_with_consent() {
    let mut lab = Lab::up("fat-tree:4", 3, config());
    let host = lab.hosts()[7];
    let at = lab.world.fabric().peer(host).expect("leaf");
    let what = port(&lab, at);
    let accepted = Maintenance {
        may_cut_off_host: true,
        ..entry(what)
    };
    let id = lab.command(OperatorChange::BeginMaintenance(Box::new(accepted)).into());
    lab.world.run_for(Duration::from_secs(10));
    assert!(matches!(result(&lab, id), Some(Ok(_))));
    assert_eq!(phys_state(&lab, at), PhysState::Disabled);
    lab.assert_correct();
    lab.command(OperatorChange::EndMaintenance(what).into());
    lab.world.run_for(Duration::from_secs(10));
    assert!(lab.world.fabric().link_up(at));
    lab.run_until_correct(30);
}

/// A restart keeps what is out of service.
#[test]
fn restart_keeps_a_drain() {
    let mut lab = Lab::up("fat-tree:4", 3, config());
    let spine = spines(&lab)[2];
    let what = switch(&lab, spine);
    begin(&mut lab, |_| what);
    lab.world.run_for(Duration::from_secs(2));
    let stopped = lab.kill_sm();
    let restored = stopped.restored(lab.world.now());
    lab.restart_sm(config(), restored);
    lab.world.run_for(Duration::from_secs(10));
    lab.assert_correct();
    let entries: Vec<_> = lab.manager().core().maintenance().cloned().collect();
    assert_eq!(entries, [entry(what)]);
    let lids: Vec<_> = lab.hosts().iter().map(|at| lab.lid(*at)).collect();
    let state = ferrosm_sim::oracle::FabricSnapshot::from(lab.world.fabric());
    for node in &state.nodes {
        for lid in lids.iter().filter(|_| node.is_switch()) {
            let out = node.egress(lid.0);
            let peer = node.ports.get(usize::from(out.0)).and_then(|p| p.peer);
            assert_ne!(peer.map(|peer| peer.node), Some(spine), "{}", node.name);
        }
    }
}
