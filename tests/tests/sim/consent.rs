//! First contact with a fabric that another SM has configured: its P_Keys stay until the operator
//! consents to their removal (ADR 0032).
//!
//! The tests read the tables of the devices.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::config::partitions::{
    Enforcement, MemberSelector, Membership, Partition, Partitions,
};
use ferrosm_core::report::foreign_settings::RemovalKind;
use ferrosm_core::{Command, Event, ProblemKind, RestoredState, SmConfig};
use ferrosm_mad::attr::{SlToVl, SmState, VlArb, VlArbEntry};
use ferrosm_mad::ids::{Lid, Lmc, MKey, PKey, Vl};
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::SmId;
use ferrosm_tests::lab::{Lab, Sm};

use crate::election::OTHER_SM_PORT;

const TENANT: u16 = 0x51;
const OTHER_TENANT: u16 = 0x52;

/// The configuration of a site: two tenants, each with some hosts.
fn tenants(lab: &Lab) -> SmConfig {
    let hosts = lab.hosts();
    let members = |ports: &[PortAt]| {
        let selector = |at: &PortAt| MemberSelector::Port(lab.port_guid(*at));
        let members = ports.iter().map(|at| (selector(at), Membership::Full));
        members.collect()
    };
    let partition = |number: u16, ports: &[PortAt]| Partition {
        name: format!("tenant{number}"),
        number,
        members: members(ports),
        ..Partition::default()
    };
    let list = vec![
        partition(TENANT, &hosts[..4]),
        partition(OTHER_TENANT, &hosts[4..6]),
    ];
    let partitions = Partitions::new(list, Enforcement::Both, false);
    SmConfig {
        partitions: Arc::new(partitions.unwrap_or_else(|error| panic!("{error}"))),
        ..fast_polls()
    }
}

/// A standby misses the master after seconds.
fn fast_polls() -> SmConfig {
    SmConfig {
        sm_poll_interval: Duration::from_secs(1),
        sm_poll_retries: 2,
        ..SmConfig::default()
    }
}

fn tables(lab: &Lab) -> BTreeMap<PortAt, Vec<PKey>> {
    let fabric = lab.world.fabric();
    let ports = fabric.end_ports();
    ports.map(|at| (at, fabric.pkeys(at))).collect()
}

/// A master with tenants at the port of a higher GUID, so that an SM at the former port of the lab
/// outranks it.
/// Returns the former port, where none runs.
fn with_tenants() -> (Lab, SmId, PortAt) {
    let mut lab = Lab::with("fat-tree:4", 1, SmConfig::default());
    lab.kill_sm();
    let free = lab.at;
    assert!(lab.port_guid(free) < lab.port_guid(OTHER_SM_PORT));
    let cfg = tenants(&lab);
    let site = lab.add_sm(OTHER_SM_PORT, cfg);
    lab.select(site);
    assert!(lab.next_sweep(60).is_clean());
    (lab, site, free)
}

/// Starts an SM with defaults beside the master, as guides and container images do.
fn start_by_accident(lab: &mut Lab, at: PortAt) -> SmId {
    let newcomer = lab.add_sm(at, fast_polls());
    lab.world.run_for(Duration::from_mins(1));
    newcomer
}

fn awaits(lab: &Lab, sm: SmId, as_master: bool) -> bool {
    let is_alarm = |event: &Event| matches!(event, Event::ConsentAwaited { is_master, .. } if *is_master == as_master);
    lab.events(sm).iter().any(is_alarm)
}

fn keeps_foreign_keys(lab: &Lab) -> bool {
    let report = lab.last_report();
    let is_kept = |kind: &ProblemKind| matches!(kind, ProblemKind::ForeignSettingsKept(_));
    report.problems.iter().any(|problem| is_kept(&problem.kind))
}

/// An SM that would remove partitions takes no handover while the master lives, although it ranks
/// higher. When the master dies, the fabric gets an SM, and keeps its partitions, also across a
/// restart of that SM.
#[test]
fn partitions_survive_an_accidental_start() {
    let (mut lab, site, free) = with_tenants();
    let before = tables(&lab);
    let newcomer = start_by_accident(&mut lab, free);
    assert_eq!(lab.role(site), SmState::Master, "{}", lab.describe_run());
    assert_eq!(lab.role(newcomer), SmState::Standby);
    assert!(awaits(&lab, newcomer, false), "{:?}", lab.events(newcomer));
    assert_eq!(tables(&lab), before);

    lab.world.kill(site);
    lab.select(newcomer);
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(lab.role(newcomer), SmState::Master);
    assert!(keeps_foreign_keys(&lab), "{:?}", lab.last_report().problems);
    assert_eq!(tables(&lab), before);

    let stopped = lab.world.kill(newcomer).unwrap();
    let restored = stopped.replicated_state(lab.world.now());
    assert!(restored.awaits_consent && restored.snapshot.is_some());
    lab.restart_sm(fast_polls(), restored);
    lab.world.run_for(Duration::from_mins(1));
    assert!(keeps_foreign_keys(&lab), "{:?}", lab.last_report().problems);
    assert_eq!(tables(&lab), before);

    lab.command(Command::AcceptRemoval(RemovalKind::PKeyRemoval));
    lab.world.run_for(Duration::from_mins(1));
    assert!(!keeps_foreign_keys(&lab));
    lab.assert_correct();
    assert_ne!(tables(&lab), before);

    let stopped = lab.kill_sm();
    let restored = stopped.replicated_state(lab.world.now());
    assert!(!restored.awaits_consent);
}

/// With the operator's consent the standby takes over, and writes its own tables.
#[test]
fn consent_of_the_operator_allows_the_takeover() {
    let (mut lab, site, free) = with_tenants();
    let before = tables(&lab);
    let newcomer = start_by_accident(&mut lab, free);
    lab.handle(
        newcomer,
        Command::AcceptRemoval(RemovalKind::PKeyRemoval).with_id(1),
    );
    lab.select(newcomer);
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(
        lab.role(newcomer),
        SmState::Master,
        "{}",
        lab.describe_run()
    );
    assert_eq!(lab.role(site), SmState::Standby);
    assert_ne!(tables(&lab), before);
    lab.assert_correct();
}

/// A configuration that names the P_Keys, or that adopts the fabric, is consent; one that names
/// only some of them is not.
#[test]
fn configuration_that_names_the_p_keys_is_consent() {
    let (mut lab, site, free) = with_tenants();
    let same = tenants(&lab);
    let newcomer = lab.add_sm(free, same.clone());
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(
        lab.role(newcomer),
        SmState::Master,
        "{}",
        lab.describe_run()
    );
    assert_eq!(lab.role(site), SmState::Standby);

    let mut list = same.partitions.list().to_vec();
    list.retain(|partition| partition.number == TENANT);
    let fewer = SmConfig {
        partitions: Arc::new(Partitions::new(list, Enforcement::Both, false).unwrap()),
        ..fast_polls()
    };
    for (replaces_foreign_settings, role) in [(false, SmState::Standby), (true, SmState::Master)] {
        let (mut lab, _, free) = with_tenants();
        let cfg = SmConfig {
            replaces_foreign_settings,
            ..fewer.clone()
        };
        let newcomer = lab.add_sm(free, cfg.clone());
        lab.world.run_for(Duration::from_mins(1));
        assert_eq!(lab.role(newcomer), role, "{}", lab.describe_run());
        // A reload of a standby counts as well.
        lab.select(newcomer);
        lab.configure(SmConfig {
            replaces_foreign_settings: true,
            ..cfg
        });
        lab.world.run_for(Duration::from_mins(1));
        assert_eq!(
            lab.role(newcomer),
            SmState::Master,
            "{}",
            lab.describe_run()
        );
    }
}

/// Tables of ports that no SM has configured, and those of a fabric without partitions, are no
/// reason to wait.
#[test]
fn fabric_without_partitions_is_taken_over_at_once() {
    let mut lab = Lab::with("fat-tree:4", 1, SmConfig::default());
    lab.kill_sm();
    let free = lab.at;
    let first = lab.add_sm(OTHER_SM_PORT, fast_polls());
    lab.select(first);
    assert!(lab.next_sweep(60).is_clean());
    let newcomer = start_by_accident(&mut lab, free);
    assert_eq!(
        lab.role(newcomer),
        SmState::Master,
        "{}",
        lab.describe_run()
    );
    assert!(!awaits(&lab, newcomer, false));

    let mut lab = Lab::with("fat-tree:4", 2, SmConfig::default());
    let stopped = lab.kill_sm();
    drop(stopped);
    let host = lab.hosts()[3];
    let foreign = [PKey(0x8051), PKey(0xFFFF)];
    lab.world.fabric_mut().corrupt_pkeys(host, &foreign);
    lab.restart_sm(fast_polls(), RestoredState::default());
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(lab.role(lab.sm), SmState::Master);
    assert!(!awaits(&lab, lab.sm, true));
    lab.assert_correct();
}

/// Ports whose P_Keys wait are absent for a while, each with its neighbours; an SM that restarts
/// meanwhile, and one whose link was down, keep their tables as well.
#[test]
fn absent_ports_keep_their_p_keys() {
    let (mut lab, site, free) = with_tenants();
    let before = tables(&lab);
    let newcomer = start_by_accident(&mut lab, free);
    lab.world.kill(site);
    lab.select(newcomer);
    lab.world.run_for(Duration::from_mins(1));
    for host in &lab.hosts()[1..6] {
        lab.act(FabricAction::Cut(*host));
    }
    lab.command(Command::Sweep);
    lab.world.run_for(Duration::from_secs(30));
    assert!(keeps_foreign_keys(&lab), "{:?}", lab.last_report().problems);
    for host in &lab.hosts()[1..6] {
        lab.act(FabricAction::Restore(*host));
    }
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(tables(&lab), before);
    lab.command(Command::AcceptRemoval(RemovalKind::PKeyRemoval));
    lab.world.run_for(Duration::from_mins(1));
    lab.assert_correct();
}

/// A host with an invented P_Key keeps no other port from getting its partitions.
#[test]
fn other_ports_get_their_partitions_while_one_waits() {
    let (mut lab, site, free) = with_tenants();
    let cfg = tenants(&lab);
    lab.world.kill(site);
    let liar = lab.hosts()[5];
    let invented = [PKey(0xFFFF), PKey(0x8123)];
    lab.world.fabric_mut().corrupt_pkeys(liar, &invented);
    let reset = lab.hosts()[1];
    lab.world.fabric_mut().reboot(reset.node);
    let newcomer = lab.add_sm(free, cfg);
    lab.select(newcomer);
    lab.world.run_for(Duration::from_mins(1));
    assert!(keeps_foreign_keys(&lab), "{:?}", lab.last_report().problems);
    let after = tables(&lab);
    assert!(after[&liar].contains(&PKey(0x8123)), "{:?}", after[&liar]);
    let tenant = PKey(TENANT | 0x8000);
    assert!(after[&reset].contains(&tenant), "{:?}", after[&reset]);
}

/// A standby that waits takes over with the records of the master: its own wait stays, and the
/// operator can end it.
#[test]
fn wait_of_a_standby_survives_the_replica_of_the_master() {
    let (mut lab, site, free) = with_tenants();
    let before = tables(&lab);
    let now = lab.world.now();
    let standby = Sm::new(fast_polls(), RestoredState::default(), now).with_replication();
    let newcomer = lab.start_sm(free, standby);
    lab.world.run_for(Duration::from_mins(1));
    assert!(awaits(&lab, newcomer, false), "{:?}", lab.events(newcomer));
    let stopped = lab.world.kill(site).unwrap();
    let replica = stopped.replicated_state(lab.world.now());
    lab.set_replica(newcomer, replica);
    lab.select(newcomer);
    lab.world.run_for(Duration::from_mins(2));
    assert_eq!(
        lab.role(newcomer),
        SmState::Master,
        "{}",
        lab.describe_run()
    );
    assert!(keeps_foreign_keys(&lab), "{:?}", lab.last_report().problems);
    assert_eq!(tables(&lab), before);
    lab.command(Command::AcceptRemoval(RemovalKind::PKeyRemoval));
    lab.world.run_for(Duration::from_mins(1));
    lab.assert_correct();
}

/// A master with these settings at the port of a higher GUID, and the former port of the lab, where
/// none runs.
fn with_settings(cfg: &SmConfig) -> (Lab, SmId, PortAt) {
    with_settings_on("fat-tree:4", cfg)
}

fn with_settings_on(spec: &str, cfg: &SmConfig) -> (Lab, SmId, PortAt) {
    let mut lab = Lab::with(spec, 1, SmConfig::default());
    lab.kill_sm();
    let free = lab.at;
    let site = lab.add_sm(OTHER_SM_PORT, cfg.clone());
    lab.select(site);
    assert!(lab.next_sweep(60).is_clean());
    (lab, site, free)
}

/// LID, LMC, M_Key and protection bits of each end port.
fn addresses(lab: &Lab) -> BTreeMap<PortAt, (Lid, Lmc, MKey, u8)> {
    let fabric = lab.world.fabric();
    let read = |at: PortAt| {
        let info = fabric.port_info(at)?;
        let protect_bits = info.m_key_protect_bits;
        Some((at, (info.lid, info.lmc, info.m_key, protect_bits)))
    };
    fabric.end_ports().filter_map(read).collect()
}

fn kept_kinds(lab: &Lab) -> Vec<&'static str> {
    let problems = &lab.last_report().problems;
    let names = problems.iter().map(|problem| problem.kind.name());
    names.filter(|name| name.starts_with("foreign-")).collect()
}

fn site_lmc() -> SmConfig {
    SmConfig {
        lmc: Lmc(2),
        ..fast_polls()
    }
}

fn site_m_key() -> SmConfig {
    SmConfig {
        m_key: MKey::new(0x51_7e),
        m_key_lease_period_s: 60,
        ..fast_polls()
    }
}

/// An SM that would change LMC or M_Keys takes no handover. When the master dies, it becomes
/// master, and both stay as they are, also across its restart, until there is consent. No LID
/// changes meanwhile, and all LIDs of each port are routed.
#[test]
fn lmc_and_m_keys_of_another_sm_stay_until_consent() {
    let cases = [
        (site_lmc(), RemovalKind::LmcChange, "foreign-lmc-kept"),
        (
            site_m_key(),
            RemovalKind::MKeyRemoval,
            "foreign-m-keys-kept",
        ),
    ];
    for (cfg, kind, problem) in cases {
        let (mut lab, site, free) = with_settings(&cfg);
        let before = addresses(&lab);
        let newcomer = start_by_accident(&mut lab, free);
        assert_eq!(lab.role(site), SmState::Master, "{}", lab.describe_run());
        assert!(awaits(&lab, newcomer, false), "{:?}", lab.events(newcomer));
        assert_eq!(addresses(&lab), before);

        lab.world.kill(site);
        lab.select(newcomer);
        lab.world.run_for(Duration::from_mins(1));
        assert_eq!(lab.role(newcomer), SmState::Master);
        assert_eq!(kept_kinds(&lab), [problem]);
        assert_eq!(addresses(&lab), before);
        if kind == RemovalKind::LmcChange {
            lab.assert_correct();
        }

        let stopped = lab.world.kill(newcomer).unwrap();
        let restored = stopped.replicated_state(lab.world.now());
        assert!(restored.awaits_consent);
        lab.restart_sm(fast_polls(), restored);
        lab.world.run_for(Duration::from_mins(1));
        assert_eq!(kept_kinds(&lab), [problem]);
        assert_eq!(addresses(&lab), before);

        // Consent to another kind changes nothing.
        lab.command(Command::AcceptRemoval(RemovalKind::PKeyRemoval));
        lab.world.run_for(Duration::from_mins(1));
        assert_eq!(addresses(&lab), before);

        lab.command(Command::AcceptRemoval(kind));
        lab.world.run_for(Duration::from_mins(1));
        assert!(kept_kinds(&lab).is_empty());
        lab.assert_correct();
        let after = addresses(&lab);
        for (at, (lid, lmc, m_key, _)) in after {
            assert_eq!(lid, before[&at].0);
            assert_eq!((lmc, m_key), (Lmc(0), MKey::NONE));
        }
        let restored = lab.kill_sm().replicated_state(lab.world.now());
        assert!(!restored.awaits_consent);
    }
}

/// A configuration that names an LMC or M_Key is consent, also if it differs from that of the
/// fabric.
#[test]
fn configuration_that_names_lmc_and_m_key_is_consent() {
    let other_lmc = SmConfig {
        lmc: Lmc(1),
        ..fast_polls()
    };
    for (site_cfg, own_cfg) in [
        (site_lmc(), site_lmc()),
        (site_lmc(), other_lmc),
        (site_m_key(), site_m_key()),
    ] {
        let (mut lab, site, free) = with_settings(&site_cfg);
        let newcomer = lab.add_sm(free, own_cfg);
        lab.world.run_for(Duration::from_mins(1));
        assert!(!awaits(&lab, newcomer, false));
        assert_eq!(
            lab.role(newcomer),
            SmState::Master,
            "{}",
            lab.describe_run()
        );
        assert_eq!(lab.role(site), SmState::Standby);
    }
}

/// While the LMC of other ports waits, a host that restarts gets the configured LMC and its LID.
#[test]
fn restarted_host_gets_the_configured_lmc() {
    let (mut lab, site, free) = with_settings(&site_lmc());
    let before = addresses(&lab);
    lab.world.kill(site);
    let newcomer = lab.add_sm(free, fast_polls());
    lab.select(newcomer);
    lab.world.run_for(Duration::from_mins(1));
    let reset = lab.hosts()[5];
    lab.world.fabric_mut().reboot(reset.node);
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(kept_kinds(&lab), ["foreign-lmc-kept"]);
    let after = addresses(&lab);
    assert_eq!(
        (after[&reset].0, after[&reset].1),
        (before[&reset].0, Lmc(0))
    );
    let others = |addresses: &BTreeMap<PortAt, _>| {
        let mut others = addresses.clone();
        others.remove(&reset);
        others
    };
    assert_eq!(others(&after), others(&before));
}

/// SLtoVLMappingTable from port 1, and VLArbitrationTable of both priorities, of each linked port.
fn vl_tables(lab: &Lab) -> BTreeMap<PortAt, (SlToVl, VlArb, VlArb)> {
    let fabric = lab.world.fabric();
    let read = |at: PortAt| {
        let map = fabric.sl_to_vl(at, 1)?;
        Some((
            at,
            (map, fabric.vl_arb(at, false)?, fabric.vl_arb(at, true)?),
        ))
    };
    let linked = lab.spec.links.iter().flat_map(|link| [link.a, link.b]);
    linked.filter_map(read).collect()
}

/// Gives a port the tables of a site with lanes: four SLs each share a VL, and VL 1 has priority.
fn set_lanes(lab: &mut Lab, at: PortAt) {
    let map = SlToVl {
        vls: [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3].map(Vl),
    };
    let block = |weights: [u8; 4]| {
        let mut block = VlArb::default();
        for ((vl, weight), entry) in (0..).zip(weights).zip(block.entries.iter_mut()) {
            *entry = VlArbEntry { vl: Vl(vl), weight };
        }
        block
    };
    let fabric = lab.world.fabric_mut();
    fabric.corrupt_sl_to_vl(at, map);
    fabric.corrupt_vl_arb(at, &block([32, 0, 16, 8]), &block([0, 64, 0, 0]));
}

/// A fabric of an SM at the port of a higher GUID, which has lanes at all ports.
fn with_lanes(spec: &str) -> (Lab, SmId, PortAt) {
    let mut lab = Lab::with(spec, 1, SmConfig::default());
    lab.kill_sm();
    let free = lab.at;
    let site = lab.add_sm(OTHER_SM_PORT, fast_polls());
    lab.select(site);
    assert!(lab.next_sweep(60).is_clean());
    let ports: Vec<PortAt> = vl_tables(&lab).into_keys().collect();
    for at in ports {
        set_lanes(&mut lab, at);
    }
    (lab, site, free)
}

/// An SM that would remove the lanes of a site takes no handover. When the master dies, it becomes
/// master and the tables stay, also across its restart, until there is consent to this kind.
#[test]
fn qos_tables_of_another_sm_stay_until_consent() {
    let (mut lab, site, free) = with_lanes("fat-tree:4");
    let before = vl_tables(&lab);
    let newcomer = start_by_accident(&mut lab, free);
    assert_eq!(lab.role(site), SmState::Master, "{}", lab.describe_run());
    assert!(awaits(&lab, newcomer, false), "{:?}", lab.events(newcomer));
    assert_eq!(vl_tables(&lab), before);

    lab.world.kill(site);
    lab.select(newcomer);
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(lab.role(newcomer), SmState::Master);
    assert_eq!(kept_kinds(&lab), ["foreign-qos-tables-kept"]);
    assert_eq!(vl_tables(&lab), before);

    let stopped = lab.world.kill(newcomer).unwrap();
    let restored = stopped.replicated_state(lab.world.now());
    assert!(restored.awaits_consent);
    lab.restart_sm(fast_polls(), restored);
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(kept_kinds(&lab), ["foreign-qos-tables-kept"]);
    lab.command(Command::AcceptRemoval(RemovalKind::PKeyRemoval));
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(vl_tables(&lab), before);

    lab.command(Command::AcceptRemoval(RemovalKind::QosRemoval));
    lab.world.run_for(Duration::from_mins(1));
    assert!(kept_kinds(&lab).is_empty());
    lab.assert_correct();
    let after = vl_tables(&lab);
    let single = [Vl(0); 16];
    assert!(after.values().all(|(map, ..)| map.vls == single));
    assert!(
        !lab.kill_sm()
            .replicated_state(lab.world.now())
            .awaits_consent
    );
}

/// A host and a switch that restart while others wait have no lanes any more, and get the tables of
/// this SM with their links.
#[test]
fn restarted_devices_do_not_wait_with_their_vl_tables() {
    let (mut lab, site, free) = with_lanes("fat-tree:4");
    let before = vl_tables(&lab);
    lab.world.kill(site);
    let newcomer = lab.add_sm(free, fast_polls());
    lab.select(newcomer);
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(kept_kinds(&lab), ["foreign-qos-tables-kept"]);
    let host = lab.hosts()[5];
    let switch = lab.node("spine-0-0");
    lab.world.fabric_mut().reboot(host.node);
    lab.world.fabric_mut().reboot(switch);
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(kept_kinds(&lab), ["foreign-qos-tables-kept"]);
    for (at, tables) in vl_tables(&lab) {
        let is_restarted = at.node == host.node || at.node == switch;
        assert_eq!(tables != before[&at], is_restarted, "{at:?}");
    }
}

/// The tables of a site also stay where the routes need several VLs: they are computed within the
/// lanes. The tables of an SM that wrote several VLs for the same reason are no lanes.
#[test]
fn routes_on_several_vls_use_the_lanes_of_a_site() {
    let (mut lab, site, free) = with_settings_on("torus:3,3,1", &fast_polls());
    let newcomer = start_by_accident(&mut lab, free);
    assert_eq!(
        lab.role(newcomer),
        SmState::Master,
        "{}",
        lab.describe_run()
    );
    assert_eq!(lab.role(site), SmState::Standby);

    let (mut lab, site, free) = with_lanes("torus:3,3,1");
    let before = vl_tables(&lab);
    lab.world.kill(site);
    let newcomer = lab.add_sm(free, fast_polls());
    lab.select(newcomer);
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(lab.role(newcomer), SmState::Master);
    assert_eq!(kept_kinds(&lab), ["foreign-qos-tables-kept"]);
    assert_eq!(vl_tables(&lab), before);
    let report = lab.last_report();
    assert!(!report.failed, "{report:?}");
    lab.assert_correct();
    lab.command(Command::AcceptRemoval(RemovalKind::QosRemoval));
    lab.world.run_for(Duration::from_mins(1));
    assert!(kept_kinds(&lab).is_empty());
    lab.assert_correct();
}
