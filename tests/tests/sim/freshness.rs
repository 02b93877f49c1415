//! What the SM knows of devices is forgotten when it may be outdated: a transient answer, the
//! tables of a device that was reset, and the state of a fabric whose traps are lost.

use std::time::Duration;

use ferrosm_core::event::NoLinkReason;
use ferrosm_core::{Command, Event, SmConfig};
use ferrosm_fabric::observed::Port;
use ferrosm_mad::attr::{LinkSpeed, id};
use ferrosm_sim::faults::{FabricAction, FaultScope};
use ferrosm_sim::spec::{AgentModel, PortAt};
use ferrosm_tests::lab::Lab;

const SPEC: &str = "fat-tree:4";
/// A host other than the SM's.
const HOST: usize = 5;
/// The switches.
const SWITCHES: core::ops::Range<usize> = 16..36;
/// A fabric that is routed on several VLs by `lash`.
const SEVERAL_VLS: &str = "torus:5,5,1";

/// Without light sweeps.
fn without_light_sweeps() -> SmConfig {
    SmConfig {
        sweep_interval: Duration::ZERO,
        ..SmConfig::default()
    }
}

fn request_full_sweep(lab: &mut Lab) {
    lab.command(Command::Sweep);
}

/// How many links the SM takes for QDR.
fn qdr_links(lab: &Lab) -> usize {
    let subnet = lab.manager().core().fabric();
    let ports = subnet.links().flat_map(|l| [l.a, l.b]);
    let speeds = ports.filter_map(|p| subnet.port(p)).map(Port::speed);
    speeds.filter(|s| *s == Some(LinkSpeed::Qdr)).count()
}

/// A leaf, a core switch or a host rejects one or a few Gets of PortInfo with status 0x1C, as an
/// agent without extended speeds would: its links are soon known with their speeds again, without
/// another change in the fabric.
#[test]
fn rejected_port_info_hides_speeds_only_until_it_is_read_again() {
    for rejections in [1, 2, 4] {
        for node in [1, HOST, SWITCHES.start, SWITCHES.end - 1] {
            let mut spec = ferrosm_sim::generate::from_spec(SPEC).unwrap();
            spec.nodes[node].options.agent = AgentModel::OnRequest;
            spec.nodes[node].options.port_info_rejections = rejections;
            let mut lab = Lab::on(SPEC, spec, 1, SmConfig::default(), None);
            lab.next_sweep(60);
            lab.run_until_correct(45);
            lab.world.run_for(Duration::from_secs(45));
            assert_eq!(qdr_links(&lab), 0, "node {node}, {rejections} rejections");
            assert!(lab.last_report().is_clean(), "node {node}");
        }
    }
}

/// Rejections that last too long for that are forgotten at the next full sweep.
#[test]
fn full_sweep_asks_for_extended_speeds_again() {
    let mut spec = ferrosm_sim::generate::from_spec(SPEC).unwrap();
    let host = HOST;
    spec.nodes[host].options.agent = AgentModel::OnRequest;
    let mut lab = Lab::on(SPEC, spec, 1, SmConfig::default(), None);
    assert!(lab.next_sweep(60).is_clean());
    // Each full sweep reads the port with the bit and without it.
    let sm_reads = |lab: &mut Lab| {
        request_full_sweep(lab);
        lab.next_sweep(60);
    };
    for _ in 0..2 {
        let options = lab.world.fabric_mut().node_options_mut(host).unwrap();
        options.port_info_rejections = 1;
        sm_reads(&mut lab);
    }
    lab.world.run_for(Duration::from_secs(15));
    assert_ne!(qdr_links(&lab), 0, "requests have the bit without end");
    sm_reads(&mut lab);
    assert_eq!(qdr_links(&lab), 0);
}

fn with_several_vls() -> Lab {
    let cfg = SmConfig {
        engines: vec!["lash".to_owned(), "no_fallback".to_owned()],
        ..SmConfig::default()
    };
    Lab::with(SEVERAL_VLS, 3, cfg)
}

fn last_host(lab: &Lab) -> usize {
    let mut nodes = (0..lab.spec.nodes.len()).rev();
    let host = nodes.find(|n| !lab.world.fabric().is_switch(*n));
    host.unwrap_or_else(|| panic!("{SEVERAL_VLS} has no host"))
}

/// A host of a fabric with several VLs is reset at some time of the first or a later full sweep,
/// and its link is back at once: its P_Key, SLtoVL and VL arbitration tables are written again.
#[test]
fn tables_of_a_host_that_was_reset_in_a_full_sweep_are_written_again() {
    for step in 0..40 {
        let mut lab = with_several_vls();
        lab.next_sweep(60);
        let plan = lab.manager().core().vl_plan();
        assert!(plan.is_some_and(|plan| !plan.is_single()), "{SEVERAL_VLS}");
        lab.world.run_for(Duration::from_secs(1));
        request_full_sweep(&mut lab);
        lab.world.run_for(Duration::from_micros(100 * step));
        let host = last_host(&lab);
        lab.world.fabric_mut().reboot(host);
        lab.run_until_correct(25);
    }
}

/// The same in the first sweep, also between the writes of the tables and of the port: only
/// PortStateChange of the switch shows it.
#[test]
fn tables_of_a_host_that_was_reset_while_it_was_configured_are_written_again() {
    let mut lab = with_several_vls();
    let took = lab.next_sweep(60).took;
    for step in 0..150 {
        let mut lab = with_several_vls();
        lab.world.run_for(took * step / 150);
        let host = last_host(&lab);
        lab.world.fabric_mut().reboot(host);
        lab.run_until_correct(25);
    }
}

/// A switch reboots at some time of the first or a later full sweep, also between the reads of its
/// SwitchInfo and of its port 0: its tables and LinearFDBTop are written again without waiting for
/// a light sweep.
#[test]
fn switch_that_rebooted_in_a_sweep_forwards_without_a_light_sweep() {
    for step in 0..120 {
        let mut lab = Lab::up(SPEC, 3, without_light_sweeps());
        let switch = lab.node("core-1");
        request_full_sweep(&mut lab);
        lab.world.run_for(Duration::from_micros(50 * step));
        lab.world.fabric_mut().reboot(switch);
        lab.run_until_correct(25);
    }
}

fn lost_own_links(lab: &Lab) -> usize {
    let lost = |e: &&Event| matches!(e, Event::LocalPortUnusable(NoLinkReason::PortDown(_)));
    lab.manager().events.iter().filter(lost).count()
}

/// The cable of the SM's port is cut between light sweeps or during one, and the driver sends no
/// event: the SM notices it with the next light sweep, or within two seconds of the cut, and blames
/// no other device.
#[test]
fn own_cable_cut_without_an_event_accuses_no_switch() {
    let switch_reads = |lab: &Lab| lab.world.fabric().all_counters().gets(id::SWITCH_INFO);
    for reads in [0, 1, 20, 60] {
        let mut lab = Lab::up("fat-tree:8", 1, SmConfig::default());
        let before = switch_reads(&lab);
        if reads > 0 {
            lab.run_until("a light sweep", 15, |lab| {
                switch_reads(lab) >= before + reads
            });
        }
        let cut = lab.world.now();
        let at = lab.at;
        lab.world.fabric_mut().cut(at).unwrap();
        lab.run_until("no link", 15, |lab| lost_own_links(lab) == 1);
        let limit = if reads > 0 { 1 } else { 11 };
        let took = lab.world.now().since(cut);
        assert!(
            took <= Duration::from_secs(limit),
            "{reads} reads: {took:?}"
        );
        let accusations: Vec<_> = lab
            .manager()
            .events
            .iter()
            .filter(|e| matches!(e, Event::ProblemFound(_) | Event::NodeRemoved(..)))
            .collect();
        assert!(accusations.is_empty(), "{reads} reads: {accusations:?}");
        lab.world.fabric_mut().restore(at).unwrap();
        lab.run_until_correct(25);
    }
}

fn lose_traps(lab: &mut Lab) {
    let loss = FabricAction::AttrLoss(FaultScope::Fabric, id::NOTICE, 1.0);
    assert_eq!(lab.world.act(loss), Ok(()));
}

/// Without light sweeps, two hosts exchange cables, or a host or a switch is reset, and all traps
/// are lost: a check finds it.
#[test]
fn changes_with_lost_traps_are_found_without_light_sweeps() {
    for change in 0..3 {
        let mut lab = Lab::up(SPEC, 1, without_light_sweeps());
        lab.world.run_for(Duration::from_secs(20));
        lose_traps(&mut lab);
        let [one, other] = [HOST, HOST + 4].map(|host| PortAt::new(host, 1));
        let ports = [one, other].map(|p| lab.world.fabric().peer(p).unwrap());
        let switch = lab.node("core-1");
        let fabric = lab.world.fabric_mut();
        match change {
            0 => fabric.swap_cables(ports[0], ports[1]).unwrap(),
            1 => fabric.reboot(one.node),
            _ => fabric.reboot(switch),
        }
        lab.run_until_correct(400);
    }
}

/// Without light sweeps, a host that does not respond in the first sweep is configured soon after
/// it does, and a switch whose Sets were lost is checked.
#[test]
fn silent_devices_are_read_again_without_light_sweeps() {
    for name in ["core-1", "host"] {
        let mut lab = Lab::with(SPEC, 3, without_light_sweeps());
        let node = if name == "host" { HOST } else { lab.node(name) };
        let hung = ferrosm_sim::faults::Faults::HUNG;
        lab.world.set_node_faults(node, Some(hung));
        lab.next_sweep(8);
        lab.assert_correct_except(&[node]);
        lose_traps(&mut lab);
        lab.world.run_for(Duration::from_secs(60));
        lab.world.set_node_faults(node, None);
        lab.run_until_correct(25);
    }
}
