//! Effects of one mastership term on the next: multicast trees of an earlier term, table writes
//! that wait for packets to drain, and ports whose MasterSMLID names an SM that was master only
//! briefly.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::{Command, Event, Input, Phase, SmConfig};
use ferrosm_mad::attr::{PhysState, PortInfo, PortState, SmState, id};
use ferrosm_mad::ids::{Gid, Lid, MKey, PortNum, Tid};
use ferrosm_mad::mad::{Address, MadOut};
use ferrosm_mad::smp::{DrPath, SmpRequest};
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::SmId;
use ferrosm_tests::lab::{Lab, TestRng};
use ferrosm_tests::sa::members::{Members, plain};

/// A master on the first host and a standby on the last one.
fn pair(spec: &str, seed: u64, cfg: SmConfig) -> (Lab, (SmId, PortAt)) {
    let template = Lab::with(spec, seed, cfg.clone());
    let far_host = *template.hosts().last().expect("hosts");
    let fabric = template.world.fabric();
    let peers = [template.at, far_host].map(|at| fabric.port_guid(at));
    let cfg = SmConfig {
        peer_sms: Arc::new(peers.into()),
        // An SM that hands over on command continues with priority 0.
        priority: 5,
        ..cfg
    };
    let mut lab = Lab::up(spec, seed, cfg.clone());
    let second = lab.add_sm(far_host, cfg);
    lab.world.run_for(Duration::from_secs(30));
    assert_eq!(lab.role(lab.sm), SmState::Master, "{}", lab.describe_run());
    assert_eq!(lab.role(second), SmState::Standby, "{}", lab.describe_run());
    (lab, (second, far_host))
}

/// The master hands over to the other SM, which gets the higher priority and a replica of the
/// persisted state. Afterwards `lab.sm` is the new master.
fn hand_over(lab: &mut Lab, other: &mut (SmId, PortAt), priority: u8) {
    let replica = lab.manager().replicated_state(lab.world.now());
    let persisted = lab.manager().persisted_records.clone();
    let first = (lab.sm, lab.at);
    let cfg = SmConfig {
        priority,
        ..SmConfig::default()
    };
    lab.edit(other.0, |sm, now| {
        (sm.replica, sm.persisted_records) = (Some(replica), persisted);
        sm.handle(Input::Config(Box::new(cfg)), now);
    });
    (lab.sm, lab.at) = *other;
    *other = first;
    let before = lab.manager().reports().len();
    lab.run_until("the other SM is master", 20, |lab| {
        lab.role(lab.sm) == SmState::Master && lab.manager().reports().len() > before
    });
    lab.world.run_for(Duration::from_secs(5));
    assert_eq!(
        lab.role(other.0),
        SmState::Standby,
        "{}",
        lab.describe_run()
    );
}

/// An SM is master, then another SM, then the first one again. It starts with the trees that the
/// other SM has installed, not with those of its own earlier term, which had other members: no MFT
/// is written.
#[test]
fn second_term_starts_with_the_installed_trees() {
    for (spec, seeds) in [("fat-tree:4", 0..6), ("torus:4,4,1,1", 6..8)] {
        for seed in seeds {
            let (mut lab, mut other) = pair(spec, seed, SmConfig::default());
            let mut members = Members::new();
            let mut rng = TestRng::new(seed);
            let all_hosts = lab.hosts();
            let groups: Vec<Gid> = (1..5).map(plain).collect();
            for priority in 6..9 {
                for _ in 0..20 {
                    members.random_action(&mut lab, &all_hosts, &groups, &mut rng);
                    lab.world.run_for(Duration::from_millis(50));
                }
                lab.world.run_for(Duration::from_secs(1));
                lab.world.fabric_mut().reset_counters();
                hand_over(&mut lab, &mut other, priority);
                let sets = lab.world.fabric().all_counters().sets(id::MFT);
                assert_eq!(sets, 0, "{} priority {priority}", lab.describe_run());
                members.assert_correct(&lab);
            }
        }
    }
}

/// The mastership ends while table writes wait for old packets to drain. The wait ends with it, and
/// the SM sets no timer in the past (the simulator would fail the test).
#[test]
fn drain_ends_with_the_mastership_term() {
    for command in [Command::Handover, Command::Stop] {
        let cfg = SmConfig {
            routing_vls: 1,
            ..SmConfig::default()
        };
        let (mut lab, mut other) = pair("mesh:3,2,1,1", 1, cfg);
        let cable = lab.node("switch-1-0");
        let cable = PortAt::new(cable, 4);
        lab.world.act(FabricAction::Cut(cable)).expect("a cable");
        let writes =
            |lab: &Lab| lab.manager().core().activity().phase() == Some(Phase::WriteTables);
        lab.run_until("tables are written", 20, writes);
        lab.world.run_for(Duration::from_millis(200));
        assert!(
            writes(&lab),
            "{} no table write is waiting",
            lab.describe_run()
        );
        let first = (lab.sm, lab.at);
        lab.handle(first.0, command.with_id(0));
        (lab.sm, lab.at) = other;
        other = first;
        lab.world.run_for(Duration::from_secs(5));
        lab.assert_correct();
        assert_eq!(lab.role(lab.sm), SmState::Master, "{}", lab.describe_run());
        assert_ne!(lab.role(other.0), SmState::Master, "{}", lab.describe_run());
    }
}

/// An end port, the directed route to it, and its PortInfo.
type ReachablePort = (PortAt, DrPath, PortInfo);

/// All end ports, with their routes from a host's port.
fn reachable(lab: &Lab, from: PortAt) -> Vec<ReachablePort> {
    let fabric = lab.world.fabric();
    let mut seen = BTreeSet::from([from.node]);
    let mut todo = VecDeque::from([(from, DrPath::LOCAL)]);
    let mut entries = Vec::new();
    while let Some((at, path)) = todo.pop_front() {
        let is_switch = fabric.is_switch(at.node);
        let end = if is_switch {
            PortAt::new(at.node, 0)
        } else {
            at
        };
        entries.push((end, path, fabric.port_info(end).expect("an end port")));
        let ports = fabric.external_ports(at.node);
        for port in ports.filter(|p| is_switch || *p == from) {
            if let Some(peer) = fabric.peer(port)
                && let Some(path) = path.extend(PortNum(port.port))
                && seen.insert(peer.node)
            {
                todo.push_back((peer, path));
            }
        }
    }
    entries
}

/// Another SM is master between two SMInfo scans: it writes MasterSMLID to all ports and one LFT
/// entry, and ends before it is queried.
fn simulate_brief_master(lab: &mut Lab, from: PortAt) {
    let own_lid = lab.world.fabric().lid(from).0;
    for (at, path, info) in reachable(lab, from) {
        let settings = PortInfo {
            master_sm_lid: own_lid,
            client_reregister: true,
            port_state: PortState::NoChange,
            port_physical_state: PhysState::NoChange,
            ..info
        };
        let modifier = PortInfo::modifier(PortNum(at.port));
        let set = SmpRequest::set(id::PORT_INFO, modifier, MKey::NONE, settings.encode());
        let mad = MadOut {
            to: Address::DIRECTED,
            mad: set.directed(&path, Tid(1)),
        };
        lab.world.inject(from, &mad);
    }
    let node = lab.node("leaf-0-0");
    lab.world.fabric_mut().corrupt_lft(node, own_lid, 255);
    lab.world.run_for(Duration::from_millis(1));
    assert_eq!(
        master_sm_lids(lab),
        BTreeSet::from([own_lid]),
        "{}",
        lab.describe_run()
    );
}

/// The values of MasterSMLID on all end ports.
fn master_sm_lids(lab: &Lab) -> BTreeSet<Lid> {
    let fabric = lab.world.fabric();
    let infos = fabric.end_ports().filter_map(|at| fabric.port_info(at));
    infos.map(|info| info.master_sm_lid).collect()
}

/// The master finds another SM's LID as MasterSMLID of its own port. It rewrites all ports,
/// re-reads the tables that the other SM may have written and makes hosts register again, once.
#[test]
fn master_sm_lid_of_an_unseen_master_is_replaced() {
    let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
    lab.world.run_for(Duration::from_secs(25));
    let far_host = *lab.hosts().last().expect("hosts");
    let reregisters = |lab: &Lab| -> Vec<u32> {
        let other_hosts = lab.hosts().into_iter().filter(|at| *at != far_host);
        other_hosts
            .map(|at| lab.world.fabric().client_reregisters(at))
            .collect()
    };
    for times in 1..=2 {
        simulate_brief_master(&mut lab, far_host);
        let before = reregisters(&lab);
        lab.run_until_correct(30);
        lab.world.run_for(Duration::from_secs(30));
        let own_lid = lab.world.fabric().lid(lab.at).0;
        assert_eq!(
            master_sm_lids(&lab),
            BTreeSet::from([own_lid]),
            "{}",
            lab.describe_run()
        );
        lab.assert_correct();
        let more: Vec<u32> = before.into_iter().map(|n| n + 1).collect();
        assert_eq!(reregisters(&lab), more, "{}", lab.describe_run());
        let is_foreign_master = |e: &&Event| matches!(e, Event::ForeignMaster { .. });
        let notices = lab
            .manager()
            .events
            .iter()
            .filter(is_foreign_master)
            .count();
        assert_eq!(notices, times, "{}", lab.describe_run());
        let sweeps = lab.manager().reports().len();
        lab.world.run_for(Duration::from_secs(64));
        assert_eq!(
            lab.manager().reports().len(),
            sweeps,
            "{}",
            lab.describe_run()
        );
    }
}
