//! Ports that protect themselves with an M_Key: whoever comes after the subnet manager that gave it knows it from what is kept.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::collections::BTreeMap;
use std::time::Duration;

use ferrosm_core::records::{Record, RecordKey, RecordKind, RecordRestorer};
use ferrosm_core::{Input, RestoredState, SmConfig};
use ferrosm_mad::attr::{PhysState, PortInfo, PortState, id};
use ferrosm_mad::ids::{AttrMod, MKey, PortGuid, Tid};
use ferrosm_mad::mad::{Address, MadOut};
use ferrosm_mad::smp::{DrPath, SmpRequest};
use ferrosm_opensm_compat::state::{self as opensm_state, StateFile};
use ferrosm_sim::faults::Faults;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::simulated::Lab;

const SPEC: &str = "fat-tree:4";

fn with(key: u64) -> SmConfig {
    SmConfig {
        m_key: MKey::new(key),
        m_key_protect_bits: 2,
        ..SmConfig::default()
    }
}

/// All ports have the key 0xAAAA.
fn locked(seed: u64) -> Lab {
    let mut lab = Lab::with(SPEC, seed, with(0xAAAA));
    assert!(lab.next_sweep(60).is_clean());
    lab.assert_correct();
    assert!(has(&lab, 0xAAAA).0);
    lab
}

/// Whether all end ports have this key, and how many have.
fn has(lab: &Lab, key: u64) -> (bool, usize) {
    let fabric = lab.world.fabric();
    let keys = fabric.end_ports().filter_map(|at| fabric.port_info(at));
    let keys: Vec<bool> = keys.map(|info| info.m_key.expose() == key).collect();
    let count = keys.iter().filter(|has| **has).count();
    (count == keys.len(), count)
}

/// The M_Keys that a manager keeps, by port.
fn keys_of(records: &BTreeMap<RecordKey, Box<[u8]>>) -> BTreeMap<PortGuid, u64> {
    let all = records.iter();
    let all = all.filter_map(|(key, value)| match Record::decode(key, value, 0) {
        Ok(Some(Record::MKey { port, m_key })) => Some((port, m_key.expose())),
        _ => None,
    });
    all.collect()
}

fn keys_kept(lab: &Lab) -> BTreeMap<PortGuid, u64> {
    keys_of(&lab.manager().persisted_records)
}

fn of_all(key: u64) -> BTreeMap<PortGuid, u64> {
    BTreeMap::from([(Record::ALL_PORTS, key)])
}

/// The manager is gone; what it kept.
fn kill(lab: &mut Lab) -> RestoredState {
    let now = lab.world.now();
    let old = lab.world.kill(lab.sm).expect("it was there");
    lab.world.run_for(Duration::from_millis(1));
    old.restored(now)
}

/// Without what was kept a manager with another key is answered by nobody, not even by its own port; with it, it gives every port
/// its own key, and keeps that.
#[test]
fn m_key_change_needs_the_persisted_keys() {
    let mut lab = locked(1);
    kill(&mut lab);
    lab.restart_sm(with(0xBBBB), RestoredState::default());
    lab.world.run_for(Duration::from_secs(60));
    assert!(lab.manager().reports().is_empty());
    assert!(has(&lab, 0xAAAA).0);

    let mut lab = locked(1);
    assert_eq!(keys_kept(&lab), of_all(0xAAAA));
    let restored = kill(&mut lab);
    lab.restart_sm(with(0xBBBB), restored);
    let report = lab.next_sweep(60);
    assert!(report.is_clean(), "{report:?}");
    let timeouts: u64 = report.smps.values().map(|c| c.timeouts).sum();
    assert_eq!(timeouts, 0, "the kept key is tried first");
    assert!(has(&lab, 0xBBBB).0);
    assert_eq!(keys_kept(&lab), of_all(0xBBBB));
    lab.assert_correct();
}

/// The operator gives the key up: nothing is kept of it then, and ports are open.
#[test]
fn abandoned_m_key_is_forgotten() {
    let mut lab = locked(1);
    let restored = kill(&mut lab);
    lab.restart_sm(SmConfig::default(), restored);
    assert!(lab.next_sweep(60).is_clean());
    lab.assert_correct();
    assert!(has(&lab, 0).0);
    assert_eq!(keys_kept(&lab), BTreeMap::new());
}

/// The master dies while it gives ports another key, and the next one has a third in its settings: it knows who may have which.
#[test]
fn interrupted_m_key_change_is_completed() {
    let mut mixed = 0;
    for steps in (0..).step_by(4) {
        let mut lab = locked(steps);
        let sm = lab.sm;
        lab.world.with_sm(sm, |m, now| {
            m.command(Input::Config(Box::new(with(0xBBBB))), now);
        });
        lab.until("the first port has the other key", 60, |lab| {
            has(lab, 0xBBBB).1 > 0
        });
        for _ in 0..steps {
            lab.world.step();
        }
        let (done, count) = has(&lab, 0xBBBB);
        mixed += usize::from(!done && count > 1);
        let restored = kill(&mut lab);
        lab.restart_sm(with(0xCCCC), restored);
        lab.next_sweep(60);
        lab.run_until_correct(60);
        assert!(has(&lab, 0xCCCC).0, "after {steps} steps");
        lab.until("a sweep that finds it", 60, |lab| {
            keys_kept(lab) == of_all(0xCCCC)
        });
        if done {
            break;
        }
    }
    assert!(mixed > 3, "{mixed}");
}

/// A host is away while the key changes, twice, over a restart; it comes back with its oldest key.
#[test]
fn returning_host_is_addressed_with_its_old_m_key() {
    use ferrosm_sim::faults::FabricAction;
    let mut lab = locked(1);
    let fabric = lab.world.fabric();
    let away = fabric.end_ports().filter(|at| !fabric.is_switch(at.node));
    let away = away.last().expect("a host");
    let guid = fabric.port_guid(away);
    lab.world.act(FabricAction::Cut(away)).expect("a cable");
    lab.world.run_for(Duration::from_secs(15));
    for key in [0xBBBB, 0xCCCC] {
        let restored = kill(&mut lab);
        lab.restart_sm(with(key), restored);
        assert!(lab.next_sweep(60).is_clean());
        let mut expected = of_all(key);
        expected.insert(guid, 0xAAAA);
        assert_eq!(keys_kept(&lab), expected);
    }
    lab.world.act(FabricAction::Restore(away)).expect("a cable");
    lab.run_until_correct(60);
    lab.until("all have it", 60, |lab| keys_kept(lab) == of_all(0xCCCC));
    assert!(has(&lab, 0xCCCC).0);
}

/// Answers are lost all the time: what is believed of a port may be wrong, and is found out.
#[test]
fn lost_responses_to_m_key_sets_are_harmless() {
    for seed in 0..4 {
        let mut lab = locked(seed);
        let restored = kill(&mut lab);
        lab.world.set_faults(Faults {
            loss: 0.05,
            ..Faults::NONE
        });
        lab.restart_sm(with(0xBBBB), restored);
        lab.world.run_for(Duration::from_secs(60));
        lab.world.heal();
        lab.run_until_correct(120);
        lab.until("all have it", 60, |lab| keys_kept(lab) == of_all(0xBBBB));
        assert!(has(&lab, 0xBBBB).0);
    }
}

/// What a device is asked by hand, from the port of the manager.
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

/// Every port has a key of its own, as OpenSM can leave them; nobody of ferrosm knows the fabric. The files are what OpenSM keeps.
fn left_by_opensm() -> (Lab, String, String) {
    let mut lab = locked(1);
    let core = lab.manager().core();
    let ends: Vec<(PortGuid, DrPath)> = core
        .subnet()
        .end_ports()
        .filter_map(|p| {
            let node = core.subnet().get(p.node)?;
            Some((core.subnet().port(p)?.guid, node.path))
        })
        .collect();
    kill(&mut lab);
    let own = lab.world.fabric().port_guid(lab.at);
    let places: BTreeMap<PortGuid, PortAt> = lab
        .world
        .fabric()
        .end_ports()
        .map(|at| (lab.world.fabric().port_guid(at), at))
        .collect();
    let mut keys = String::new();
    for (n, (guid, path)) in (0x5000..).zip(ends) {
        let info = lab.world.fabric().port_info(places[&guid]);
        // The own host was restarted: whoever runs on it may always do so.
        let key = if guid == own { 0 } else { n };
        set_key(&mut lab, path, 0xAAAA, info.expect("a port"), key);
        if key != 0 {
            keys += &format!("{guid} 0x{key:016x}\n\n");
        }
    }
    assert_eq!(has(&lab, 0xAAAA).1, 0, "all were changed");
    let fabric = lab.world.fabric();
    let mut cables = String::new();
    for node in 0..fabric.num_nodes() {
        for at in fabric.external_ports(node) {
            let guid = |at: PortAt| {
                let switch = fabric.is_switch(at.node);
                fabric.port_guid(if switch { PortAt::new(at.node, 0) } else { at })
            };
            if let Some(peer) = fabric.peer(at) {
                let (of, to) = (guid(at), guid(peer));
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
    opensm_state::parse(&files)
        .expect("files")
        .apply(&mut records);
    let mut restorer = RecordRestorer::new(0);
    for (key, value) in &records {
        restorer.put(key, value);
    }
    let (restored, left_out) = restorer.finish();
    assert_eq!(left_out, []);
    restored
}

/// OpenSM's guid2mkey and neighbors open the fabric: neither alone does, because a port that was not asked yet is known only by the
/// cable that leads to it.
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
        lab.restart_sm(with(0xBBBB), restored);
        if opened {
            assert!(lab.next_sweep(60).is_clean());
            lab.assert_correct();
            lab.world.run_for(Duration::from_secs(20));
            assert!(has(&lab, 0xBBBB).0);
            assert_eq!(keys_kept(&lab), of_all(0xBBBB));
            let kept = lab.manager().persisted_records.keys();
            let cables = kept.filter(|key| key.kind() == Some(RecordKind::Neighbour));
            assert!(cables.count() > 0, "they are not ours to forget");
        } else {
            lab.world.run_for(Duration::from_secs(60));
            assert!(!has(&lab, 0xBBBB).0);
        }
    }
}

/// One key for all, as OpenSM usually has it: its list is enough.
#[test]
fn single_opensm_key_needs_no_link_map() {
    let mut lab = locked(1);
    kill(&mut lab);
    let fabric = lab.world.fabric();
    let guids = fabric.end_ports().map(|at| fabric.port_guid(at));
    let keys: String = guids.map(|g| format!("{g} 0xaaaa\n")).collect();
    lab.restart_sm(with(0xBBBB), imported(&[(StateFile::MKeys, &keys)]));
    lab.next_sweep(60);
    lab.run_until_correct(60);
    assert!(has(&lab, 0xBBBB).0);
    lab.until("all is told", 60, |lab| keys_kept(lab) == of_all(0xBBBB));
}
