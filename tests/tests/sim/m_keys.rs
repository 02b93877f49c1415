//! Ports protected by an M_Key: an SM that succeeds the one that set the keys knows them from the
//! persisted records.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_core::election::ElectionNotice;
use ferrosm_core::event::NoLinkReason;
use ferrosm_core::records::{Record, RecordKind, RecordRestorer};
use ferrosm_core::{Command, Event, Input, ProblemKind, RestoredState, SmConfig};
use ferrosm_mad::attr::{PhysState, PortInfo, PortState, SmState, id};
use ferrosm_mad::ids::{AttrMod, MKey, PortGuid, Tid};
use ferrosm_mad::mad::{Address, MadOut};
use ferrosm_mad::smp::{DrPath, SmpRequest};
use ferrosm_sim::faults::Faults;
use ferrosm_sim::spec::PortAt;
use ferrosm_sim::world::SmId;
use ferrosm_store::opensm::{self, StateFile};
use ferrosm_tests::lab::Lab;
use ferrosm_tests::lab::store::Records;
use rstest::rstest;

use crate::election::dr_path;

const SPEC: &str = "fat-tree:4";

fn config_with_key(key: u64) -> SmConfig {
    SmConfig {
        m_key: MKey::new(key),
        m_key_protect_bits: 2,
        ..SmConfig::default()
    }
}

/// A fabric in which all ports have the M_Key 0xAAAA.
fn protected_lab(seed: u64) -> Lab {
    let mut lab = Lab::with(SPEC, seed, config_with_key(0xAAAA));
    assert!(lab.next_sweep(60).is_clean());
    lab.assert_correct();
    assert!(count_keys(&lab, 0xAAAA).0);
    lab
}

/// Whether all end ports have this M_Key, and how many do.
fn count_keys(lab: &Lab, key: u64) -> (bool, usize) {
    let fabric = lab.world.fabric();
    let keys = fabric.end_ports().filter_map(|at| fabric.port_info(at));
    let keys: Vec<bool> = keys.map(|info| info.m_key.expose() == key).collect();
    let count = keys.iter().filter(|has| **has).count();
    (count == keys.len(), count)
}

/// M_Keys in the persisted records, by port.
fn keys_of(records: &Records) -> BTreeMap<PortGuid, u64> {
    let all = records
        .iter()
        .filter_map(|(key, value)| match Record::decode(key, value, 0) {
            Ok(Some(Record::MKey { port, m_key })) => Some((port, m_key.expose())),
            _ => None,
        });
    all.collect()
}

fn persisted_keys(lab: &Lab) -> BTreeMap<PortGuid, u64> {
    keys_of(&lab.manager().persisted_records)
}

fn same_for_all_ports(key: u64) -> BTreeMap<PortGuid, u64> {
    BTreeMap::from([(Record::ALL_PORTS, key)])
}

/// Kills the SM and returns its persisted state.
fn kill(lab: &mut Lab) -> RestoredState {
    let now = lab.world.now();
    let old = lab.world.kill(lab.sm).expect("the SM runs");
    lab.world.run_for(Duration::from_millis(1));
    old.restored(now)
}

/// Without the persisted keys, an SM with another M_Key gets no reply, not even from its own port.
/// With them, it sets and persists its own M_Key on every port.
#[test]
fn m_key_change_needs_the_persisted_keys() {
    let mut lab = protected_lab(1);
    kill(&mut lab);
    lab.restart_sm(config_with_key(0xBBBB), RestoredState::default());
    lab.world.run_for(Duration::from_secs(60));
    assert!(lab.manager().reports().is_empty());
    assert!(count_keys(&lab, 0xAAAA).0);

    let mut lab = protected_lab(1);
    assert_eq!(persisted_keys(&lab), same_for_all_ports(0xAAAA));
    let restored = kill(&mut lab);
    lab.restart_sm(config_with_key(0xBBBB), restored);
    let report = lab.next_sweep(60);
    assert!(report.is_clean(), "{report:?}");
    let timeouts: u64 = report.smps.values().map(|c| c.timeouts).sum();
    assert_eq!(timeouts, 0, "the persisted key is tried first");
    assert!(count_keys(&lab, 0xBBBB).0);
    assert_eq!(persisted_keys(&lab), same_for_all_ports(0xBBBB));
    lab.assert_correct();
}

/// The operator removes the M_Key from the configuration: the SM clears it on all ports and deletes
/// it from the records.
#[test]
fn abandoned_m_key_is_forgotten() {
    let mut lab = protected_lab(1);
    let restored = kill(&mut lab);
    lab.restart_sm(SmConfig::default(), restored);
    assert!(lab.next_sweep(60).is_clean());
    lab.assert_correct();
    assert!(count_keys(&lab, 0).0);
    assert_eq!(persisted_keys(&lab), BTreeMap::new());
}

/// The master dies while it changes the M_Key, and its successor is configured with a third one.
/// The successor knows the keys that each port may have, and tries all of them, however few retries
/// are configured.
#[rstest]
fn interrupted_m_key_change_is_completed(#[values(0, 3)] smp_retries: u8) {
    let mut mixed = 0;
    for steps in (0..).step_by(4) {
        let mut lab = protected_lab(steps);
        lab.configure(config_with_key(0xBBBB));
        lab.run_until("the first port has the new key", 60, |lab| {
            count_keys(lab, 0xBBBB).1 > 0
        });
        for _ in 0..steps {
            lab.world.step();
        }
        let (done, count) = count_keys(&lab, 0xBBBB);
        mixed += usize::from(!done && count > 1);
        let restored = kill(&mut lab);
        let cfg = SmConfig {
            smp_retries,
            ..config_with_key(0xCCCC)
        };
        lab.restart_sm(cfg, restored);
        lab.next_sweep(60);
        lab.run_until_correct(60);
        assert!(count_keys(&lab, 0xCCCC).0, "after {steps} steps");
        lab.run_until("one record for all ports", 60, |lab| {
            persisted_keys(lab) == same_for_all_ports(0xCCCC)
        });
        if done {
            break;
        }
    }
    assert!(mixed > 3, "{mixed}");
}

/// A host is absent while the M_Key changes twice, with a restart in between; it returns with its
/// first key.
#[test]
fn returning_host_is_addressed_with_its_old_m_key() {
    use ferrosm_sim::faults::FabricAction;
    let mut lab = protected_lab(1);
    let fabric = lab.world.fabric();
    let absent_host = fabric
        .end_ports()
        .filter(|at| !fabric.is_switch(at.node))
        .last()
        .expect("a host");
    let guid = fabric.port_guid(absent_host);
    lab.world
        .act(FabricAction::Cut(absent_host))
        .expect("a cable");
    lab.world.run_for(Duration::from_secs(15));
    for key in [0xBBBB, 0xCCCC] {
        let restored = kill(&mut lab);
        lab.restart_sm(config_with_key(key), restored);
        assert!(lab.next_sweep(60).is_clean());
        let mut expected = same_for_all_ports(key);
        expected.insert(guid, 0xAAAA);
        assert_eq!(persisted_keys(&lab), expected);
    }
    lab.world
        .act(FabricAction::Restore(absent_host))
        .expect("a cable");
    lab.run_until_correct(60);
    lab.run_until("one record for all ports", 60, |lab| {
        persisted_keys(lab) == same_for_all_ports(0xCCCC)
    });
    assert!(count_keys(&lab, 0xCCCC).0);
}

/// With constant loss of replies, the SM may assume a wrong M_Key for a port, and corrects it.
#[test]
fn lost_responses_to_m_key_sets_are_harmless() {
    for seed in 0..4 {
        let mut lab = protected_lab(seed);
        let restored = kill(&mut lab);
        lab.world.set_faults(Faults {
            loss: 0.05,
            ..Faults::NONE
        });
        lab.restart_sm(config_with_key(0xBBBB), restored);
        lab.world.run_for(Duration::from_secs(60));
        lab.world.heal();
        lab.run_until_correct(120);
        lab.run_until("one record for all ports", 60, |lab| {
            persisted_keys(lab) == same_for_all_ports(0xBBBB)
        });
        assert!(count_keys(&lab, 0xBBBB).0);
    }
}

/// Sets the M_Key of a port by an SMP injected at the SM's port.
fn set_key(lab: &mut Lab, path: DrPath, old: u64, mut info: PortInfo, key: u64) {
    info.m_key = MKey::new(key);
    (info.port_state, info.port_physical_state) = (PortState::NoChange, PhysState::NoChange);
    let mut data = [0; 64];
    info.encode_onto(&mut data);
    let set = SmpRequest::set(id::PORT_INFO, AttrMod(0), MKey::new(old), data);
    let mad = set.directed(&path, Tid(1));
    let to = Address::DIRECTED;
    lab.world.inject(lab.at, &MadOut { to, mad });
    lab.world.run_for(Duration::from_millis(10));
}

/// Every port has an M_Key of its own, as OpenSM can leave them, and ferrosm has no state. Returns
/// OpenSM's files `guid2mkey` and `neighbors`.
fn left_by_opensm() -> (Lab, String, String) {
    let mut lab = protected_lab(1);
    let core = lab.manager().core();
    let ends: Vec<(PortGuid, DrPath)> = core
        .fabric()
        .end_ports()
        .filter_map(|p| {
            let node = core.fabric().get(p.node)?;
            Some((core.fabric().port(p)?.guid, node.path))
        })
        .collect();
    kill(&mut lab);
    let own_port_guid = lab.world.fabric().port_guid(lab.at);
    let port_by_guid: BTreeMap<PortGuid, PortAt> = lab
        .world
        .fabric()
        .end_ports()
        .map(|at| (lab.world.fabric().port_guid(at), at))
        .collect();
    let mut keys = String::new();
    for (n, (guid, path)) in (0x5000..).zip(ends) {
        let info = lab.world.fabric().port_info(port_by_guid[&guid]);
        // The SM's own port has M_Key 0, as after a reboot of its host: otherwise the SM could not
        // use it.
        let key = if guid == own_port_guid { 0 } else { n };
        set_key(&mut lab, path, 0xAAAA, info.expect("a port"), key);
        if key != 0 {
            keys += &format!("{guid} 0x{key:016x}\n\n");
        }
    }
    assert_eq!(
        count_keys(&lab, 0xAAAA).1,
        0,
        "the keys of all ports were changed"
    );
    let fabric = lab.world.fabric();
    let mut cables = String::new();
    for node in 0..fabric.num_nodes() {
        for at in fabric.external_ports(node) {
            let guid = |at: PortAt| {
                let switch = fabric.is_switch(at.node);
                fabric.port_guid(if switch { PortAt::new(at.node, 0) } else { at })
            };
            if let Some(peer) = fabric.peer(at) {
                let of = guid(at);
                let to = guid(peer);
                cables += &format!("{of}:{} {to}:{}\n\n", at.port, peer.port);
            }
        }
    }
    (lab, keys, cables)
}

fn imported(files: &[(StateFile, &str)]) -> RestoredState {
    let files: Vec<_> = files
        .iter()
        .map(|(file, text)| (*file, file.name().into(), (*text).to_owned()))
        .collect();
    let mut records = BTreeMap::new();
    opensm::parse(&files).expect("files").apply(&mut records);
    let mut restorer = RecordRestorer::new(0);
    for (key, value) in &records {
        restorer.put(key, value);
    }
    let (restored, excluded) = restorer.finish();
    assert_eq!(excluded, []);
    restored
}

/// OpenSM's `guid2mkey` and `neighbors` give access to all ports. Both are required: until a port
/// has replied, only the link to it identifies it.
#[test]
fn imported_opensm_keys_open_their_ports() {
    let (_, keys, cables) = left_by_opensm();
    let both = [
        (StateFile::MKeys, &*keys),
        (StateFile::Neighbours, &*cables),
    ];
    for (files, opened) in [(&both[..], true), (&both[..1], false), (&both[1..], false)] {
        let (mut lab, ..) = left_by_opensm();
        let restored = imported(files);
        lab.restart_sm(config_with_key(0xBBBB), restored);
        if opened {
            assert!(lab.next_sweep(60).is_clean());
            lab.assert_correct();
            lab.world.run_for(Duration::from_secs(20));
            assert!(count_keys(&lab, 0xBBBB).0);
            assert_eq!(persisted_keys(&lab), same_for_all_ports(0xBBBB));
            let record_keys = lab.manager().persisted_records.keys();
            let cables = record_keys.filter(|key| key.kind() == Some(RecordKind::Neighbour));
            assert!(cables.count() > 0, "neighbour records are preserved");
        } else {
            lab.world.run_for(Duration::from_secs(60));
            assert!(!count_keys(&lab, 0xBBBB).0);
        }
    }
}

/// One M_Key for all ports, as OpenSM usually has it: `guid2mkey` suffices.
#[test]
fn single_opensm_key_needs_no_link_map() {
    let mut lab = protected_lab(1);
    kill(&mut lab);
    let fabric = lab.world.fabric();
    let guids = fabric.end_ports().map(|at| fabric.port_guid(at));
    let keys: String = guids.map(|g| format!("{g} 0xaaaa\n")).collect();
    lab.restart_sm(
        config_with_key(0xBBBB),
        imported(&[(StateFile::MKeys, &keys)]),
    );
    lab.next_sweep(60);
    lab.run_until_correct(60);
    assert!(count_keys(&lab, 0xBBBB).0);
    lab.run_until("one record for all ports", 60, |lab| {
        persisted_keys(lab) == same_for_all_ports(0xBBBB)
    });
}

/// Another SM changes the M_Key of a host, which drops all requests of this SM from then on. Its
/// trap 256 distinguishes it from a host that hangs; the report states it in full sweeps and
/// between them, until the host has the key again.
#[test]
fn host_with_a_changed_m_key_is_not_reported_as_silent() {
    let mut lab = protected_lab(1);
    let host = PortAt::new(9, 1);
    let guid = lab.world.fabric().port_guid(host);
    let core = lab.manager().core();
    let path = core
        .fabric()
        .port_by_guid(guid)
        .and_then(|p| core.fabric().get(p.node));
    let path = path.expect("a known host").path;
    let info = lab.world.fabric().port_info(host).expect("an end port");
    set_key(&mut lab, path, 0xAAAA, info, 0xDDDD);
    let is_reported = |lab: &Lab| {
        let problems = lab.last_report().problems;
        let mut kinds = problems.iter().map(|problem| &problem.kind);
        kinds.any(|kind| *kind == ProblemKind::MKeyRejected)
    };
    let sweep = |lab: &mut Lab| {
        lab.command(Command::Sweep);
        lab.next_sweep(60);
    };
    for _ in 0..3 {
        sweep(&mut lab);
        assert!(is_reported(&lab), "{:?}", lab.last_report().problems);
        lab.world.run_for(Duration::from_secs(15));
        assert!(is_reported(&lab), "{:?}", lab.last_report().problems);
    }
    set_key(&mut lab, path, 0xDDDD, info, 0xAAAA);
    sweep(&mut lab);
    lab.run_until_correct(60);
    assert!(!is_reported(&lab));
}

/// Another SM gives a switch an M_Key that allows Gets only. It keeps its place in the fabric: the
/// hosts behind it stay reachable.
#[test]
fn switch_that_rejects_sets_stays_in_the_fabric() {
    use ferrosm_sim::faults::FabricAction;
    let mut lab = protected_lab(1);
    let host = PortAt::new(9, 1);
    let fabric = lab.world.fabric();
    let edge = fabric.peer(host).expect("a cable");
    let guid = fabric.node_guid(edge.node);
    let port0 = PortAt::new(edge.node, 0);
    let mut info = fabric.port_info(port0).expect("port 0");
    info.m_key_protect_bits = 1;
    let core = lab.manager().core();
    let switch = core
        .fabric()
        .node_by_guid(guid)
        .and_then(|n| core.fabric().get(n));
    let path = switch.expect("a known switch").path;
    set_key(&mut lab, path, 0xAAAA, info, 0xDDDD);
    lab.world.act(FabricAction::Cut(host)).expect("a cable");
    for _ in 0..2 {
        lab.command(Command::Sweep);
        let before = lab.manager().reports().len();
        lab.run_until("a full sweep", 60, |lab| {
            let reports = lab.manager().reports();
            reports[before..].iter().any(|report| !report.is_local())
        });
        let subnet = lab.manager().core().fabric();
        assert!(subnet.node_by_guid(guid).is_some());
        lab.world.run_for(Duration::from_secs(15));
    }
}

/// A host far from the SM's.
const OTHER_HOST: PortAt = PortAt::new(7, 1);

fn add_standby(lab: &mut Lab, key: u64) -> SmId {
    lab.add_sm(OTHER_HOST, config_with_key(key))
}

/// The master's M_Key is changed, and the operator hands over to a standby with the old one: the
/// master stays master. When the standby has the new key, it takes over.
#[test]
fn handover_needs_a_standby_with_the_present_key() {
    let mut lab = Lab::up(
        SPEC,
        1,
        SmConfig {
            priority: 5,
            ..config_with_key(0xAAAA)
        },
    );
    let second = add_standby(&mut lab, 0xAAAA);
    lab.world.run_for(Duration::from_secs(15));
    assert_eq!(lab.role(second), SmState::Standby);
    let first = lab.sm;
    let new_key = SmConfig {
        priority: 5,
        ..config_with_key(0xBBBB)
    };
    lab.handle(first, Input::Config(Box::new(new_key)));
    lab.world.run_for(Duration::from_secs(3));
    assert!(count_keys(&lab, 0xBBBB).0);
    lab.handle(first, Command::Handover.with_id(0));
    lab.world.run_for(Duration::from_mins(2));
    assert_eq!(lab.role(first), SmState::Master);
    assert_ne!(lab.role(second), SmState::Master);
    lab.assert_correct();
    let with_new_key = config_with_key(0xBBBB);
    lab.handle(second, Input::Config(Box::new(with_new_key)));
    lab.world.run_for(Duration::from_mins(1));
    lab.handle(
        second,
        Input::Config(Box::new(SmConfig {
            priority: 9,
            ..config_with_key(0xBBBB)
        })),
    );
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(lab.role(second), SmState::Master, "{}", lab.describe_run());
    assert_eq!(lab.role(first), SmState::Standby);
}

/// A standby that cannot read its own port rejects HANDOVER of a master that responds to it, and
/// the master continues.
#[test]
fn handover_needs_a_readable_own_port() {
    let mut lab = Lab::up(SPEC, 1, SmConfig::default());
    let cfg = SmConfig {
        priority: 9,
        ..SmConfig::default()
    };
    let second = lab.add_sm(OTHER_HOST, SmConfig::default());
    lab.world.run_for(Duration::from_secs(15));
    assert_eq!(lab.role(second), SmState::Standby);
    let mut info = lab.world.fabric().port_info(OTHER_HOST).expect("a port");
    info.m_key_protect_bits = 2;
    let path = dr_path(&lab, lab.at, OTHER_HOST);
    set_key(&mut lab, path, 0, info, 0xCCCC);
    lab.handle(second, Input::Config(Box::new(cfg)));
    lab.world.run_for(Duration::from_secs(40));
    assert_eq!(lab.role(lab.sm), SmState::Master);
    assert_eq!(lab.role(second), SmState::Standby, "{}", lab.describe_run());
    let rejected = |e: &Event| matches!(e, Event::Election(about) if matches!(about.what, ElectionNotice::OwnPortUnreadable(_)));
    assert!(
        lab.world
            .sm(second)
            .expect("an SM")
            .events
            .iter()
            .any(rejected)
    );
}

/// The switch next to an SM answers only to another M_Key. The SM does not become master of its own
/// port alone.
#[test]
fn sm_without_neighbour_does_not_become_master() {
    let mut lab = protected_lab(1);
    kill(&mut lab);
    lab.world.fabric_mut().reboot(OTHER_HOST.node);
    let second = lab.add_sm(OTHER_HOST, SmConfig::default());
    lab.world.run_for(Duration::from_mins(1));
    assert_eq!(lab.role(second), SmState::Discovering);
    let is_isolated = |e: &&Event| {
        matches!(
            e,
            Event::LocalPortUnusable(NoLinkReason::NeighbourSilent(_))
        )
    };
    let events = &lab.world.sm(second).expect("an SM").events;
    assert_eq!(events.iter().filter(is_isolated).count(), 1, "{events:?}");
}
