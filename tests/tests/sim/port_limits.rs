//! Limits of links at ports: MTU, width and speed, as the devices have them.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::time::Duration;

use ferrosm_core::config::port_limits::{PortLimits, SwitchPort};
use ferrosm_core::io::commands::NewPortLimits;
use ferrosm_core::report::maintenance_refusal::MaintenanceRefusal;
use ferrosm_core::report::port_limit_refusal::PortLimitRefusal;
use ferrosm_core::{CommandFailure, CommandOutcome, OperatorChange};
use ferrosm_mad::attr::{LinkSpeed, MtuCode, PortInfo};
use ferrosm_mad::ids::PortNum;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::{Lab, Sm};

use crate::drain::Traffic;
use crate::election::OTHER_SM_PORT;
use crate::maintenance::{config, pairs, result};

const SPEC: &str = "fat-tree:4";

fn switch_port(lab: &Lab, at: PortAt) -> SwitchPort {
    (lab.world.fabric().node_guid(at.node), PortNum(at.port))
}

fn limits(lab: &Lab, at: PortAt) -> PortLimits {
    let (node, port) = switch_port(lab, at);
    PortLimits {
        node,
        port,
        name: "x".to_owned(),
        reason: String::new(),
        mtu: None,
        width: None,
        speed: None,
    }
}

fn set(limits: PortLimits, may_cut_off_host: bool) -> OperatorChange {
    OperatorChange::SetPortLimits(Box::new(NewPortLimits {
        limits,
        may_cut_off_host,
    }))
}

/// Both ends of a link.
fn ends(lab: &Lab, at: PortAt) -> [PortInfo; 2] {
    let fabric = lab.world.fabric();
    let peer = fabric.peer(at).expect("a link");
    [at, peer].map(|at| fabric.port_info(at).expect("a port"))
}

fn mtus(lab: &Lab, at: PortAt) -> [MtuCode; 2] {
    ends(lab, at).map(|info| info.neighbor_mtu)
}

fn rates(lab: &Lab, at: PortAt) -> [String; 2] {
    ends(lab, at).map(|info| {
        info.rate()
            .map_or_else(String::new, |rate| rate.to_string())
    })
}

/// An MTU is in force at both ends when the command ends, on the Active link; its end restores the
/// MTU of the link.
#[test]
fn mtu_of_an_active_link_is_limited() {
    let mut traffic = Traffic::on(SPEC, config());
    let all = pairs(&traffic);
    let at = traffic.lab.redundant_link(1);
    let before = mtus(&traffic.lab, at);
    let request = PortLimits {
        mtu: Some(MtuCode::Mtu1024),
        ..limits(&traffic.lab, at)
    };
    let id = traffic.lab.command(set(request, false).into());
    traffic.run("limit", Duration::from_secs(5), &all);
    let outcome = result(&traffic.lab, id);
    assert!(
        matches!(
            outcome,
            Some(Ok(CommandOutcome::PortLimitsSet { is_applied: true }))
        ),
        "{outcome:?}"
    );
    assert_eq!(mtus(&traffic.lab, at), [MtuCode::Mtu1024; 2]);

    let ended = OperatorChange::EndPortLimits(switch_port(&traffic.lab, at));
    let id = traffic.lab.command(ended.clone().into());
    traffic.run("end", Duration::from_secs(5), &all);
    let outcome = result(&traffic.lab, id);
    assert!(
        matches!(
            outcome,
            Some(Ok(CommandOutcome::PortLimitsEnded { is_applied: true }))
        ),
        "{outcome:?}"
    );
    assert_eq!(mtus(&traffic.lab, at), before);
    traffic.lab.assert_correct();
    let id = traffic.lab.command(ended.into());
    assert!(matches!(
        result(&traffic.lab, id),
        Some(Err(CommandFailure::PortLimits(
            PortLimitRefusal::NotLimited
        )))
    ));
}

/// A link between switches trains within its limits, and no packet is lost. The limits survive the
/// restart of the SM and of the switch, and a takeover; their end restores the rate, and leaves no
/// record.
#[test]
fn rate_of_a_link_is_limited_without_a_lost_packet() {
    let mut traffic = Traffic::on(SPEC, config());
    let all = pairs(&traffic);
    let at = traffic.lab.redundant_link(1);
    let before = rates(&traffic.lab, at);
    let request = PortLimits {
        width: Some(1),
        speed: Some(LinkSpeed::Qdr),
        ..limits(&traffic.lab, at)
    };
    let limited = ["1X QDR 10 Gb/s"; 2];
    assert_ne!(before, limited);
    traffic.lab.command(set(request, false).into());
    traffic.run("limit", Duration::from_secs(20), &all);
    assert_eq!(rates(&traffic.lab, at), limited);
    traffic.lab.assert_correct();

    let stopped = traffic.lab.kill_sm();
    let restored = stopped.replicated_state(traffic.lab.world.now());
    assert_eq!(restored.port_limits.len(), 1);
    traffic.lab.restart_sm(config(), restored);
    traffic.run("restart", Duration::from_secs(20), &all);
    assert_eq!(rates(&traffic.lab, at), limited);

    // A switch comes up with all that it supports.
    traffic.lab.world.fabric_mut().reboot(at.node);
    traffic.lab.world.run_for(Duration::from_secs(60));
    assert_eq!(rates(&traffic.lab, at), limited);
    traffic.lab.assert_correct();

    // A standby takes over, while the switch forgets its limits again.
    let lab = &mut traffic.lab;
    let now = lab.world.now();
    let standby = Sm::new(config(), Default::default(), now).with_replication();
    let standby = lab.start_sm(OTHER_SM_PORT, standby);
    lab.world.run_for(Duration::from_secs(20));
    let stopped = lab.kill_sm();
    let replica = stopped.replicated_state(lab.world.now());
    assert_eq!(replica.port_limits.len(), 1);
    lab.set_replica(standby, replica);
    lab.select(standby);
    lab.world.fabric_mut().reboot(at.node);
    lab.run_until_correct(60);
    lab.world.run_for(Duration::from_secs(20));
    assert_eq!(rates(lab, at), limited, "takeover");

    let ended = OperatorChange::EndPortLimits(switch_port(&traffic.lab, at));
    traffic.lab.command(ended.into());
    traffic.run("end", Duration::from_secs(20), &all);
    assert_eq!(rates(&traffic.lab, at), before);
    traffic.lab.assert_correct();
    let stopped = traffic.lab.kill_sm();
    let restored = stopped.replicated_state(traffic.lab.world.now());
    assert_eq!(restored.port_limits.len(), 0);
}

/// The link of a host goes down only if the operator accepts that; its MTU is limited without. A
/// limit below what the port supports is refused.
#[test]
fn limits_that_interrupt_a_host_or_fit_nothing_are_refused() {
    let mut lab = Lab::up(SPEC, 3, config());
    lab.run_until_correct(10);
    let host = lab.hosts()[5];
    let at = lab.world.fabric().peer(host).expect("a leaf");
    let slow = PortLimits {
        width: Some(1),
        ..limits(&lab, at)
    };
    let id = lab.command(set(slow.clone(), false).into());
    let refused = result(&lab, id);
    let Some(Err(CommandFailure::Maintenance(refusal))) = refused else {
        panic!("{refused:?}");
    };
    assert!(matches!(**refusal, MaintenanceRefusal::HostsConnected(_)));
    let small = PortLimits {
        mtu: Some(MtuCode::Mtu2048),
        ..limits(&lab, at)
    };
    lab.command(set(small, false).into());
    lab.world.run_for(Duration::from_secs(5));
    assert_eq!(mtus(&lab, at), [MtuCode::Mtu2048; 2]);
    lab.command(set(slow, true).into());
    lab.world.run_for(Duration::from_secs(20));
    assert!(
        rates(&lab, at)[0].starts_with("1X "),
        "{:?}",
        rates(&lab, at)
    );
    lab.assert_correct();
    let fit = PortLimits {
        width: Some(0),
        ..limits(&lab, lab.redundant_link(1))
    };
    let id = lab.command(set(fit, false).into());
    assert!(matches!(
        result(&lab, id),
        Some(Err(CommandFailure::PortLimits(PortLimitRefusal::NoWidth)))
    ));
}
