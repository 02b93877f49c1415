//! Partitions on a simulated fabric: P_Key tables, enforcement at switches, visibility of records,
//! multicast groups.
//!
//! The oracle reads the tables of the devices. The test computes the expected values from the case,
//! independently of the SM.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ferrosm_core::config::partitions::partition_group::GroupSpec;
use ferrosm_core::config::partitions::{
    Enforcement, MemberSelector, Membership, Partition, Partitions,
};
use ferrosm_core::{Command, Event, ProblemKind, RestoredState, SmConfig};
use ferrosm_mad::attr::{NodeType, PKeyBlock, id};
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{AttrMod, Lid, MKey, PKey, PortGuid, Qpn, Sl, Tid};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord};
use ferrosm_mad::sa::tables::{NodeRecord, PKeyTableRecord};
use ferrosm_sa::{self as sa, Disposition, SaRequest};
use ferrosm_sim::oracle::{Expectations, PKeyEnforcement};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::{Lab, TestRng};

const FULL: u16 = 0x8000;

fn config(list: Vec<Partition>, enforcement: Enforcement) -> SmConfig {
    let partitions = Partitions::new(list, enforcement, false)
        .unwrap_or_else(|error| panic!("partitions: {error:?}"));
    SmConfig {
        partitions: Arc::new(partitions),
        ..SmConfig::default()
    }
}

fn partition(number: u16, members: Vec<(MemberSelector, Membership)>) -> Partition {
    Partition {
        name: format!("p{number}"),
        number,
        members,
        ..Partition::default()
    }
}

/// Expected tables: the P_Key of the default partition, then the keys of the port in `extra`;
/// `first` selects the key at index 0.
fn expectations(
    lab: &Lab,
    extra: &BTreeMap<PortAt, Vec<u16>>,
    checks: PKeyEnforcement,
    first: impl Fn(PortAt) -> Option<u16>,
) -> Expectations {
    let mut expect = lab.expect();
    for at in lab.world.fabric().end_ports() {
        let default = if at == lab.at { 0xFFFF } else { 0x7FFF };
        let mut keys = vec![default];
        keys.extend(extra.get(&at).into_iter().flatten());
        if let Some(first) = first(at) {
            keys.sort_by_key(|k| *k != first);
        }
        let keys = keys.into_iter().map(PKey).collect();
        let configured = expect.partitions.keys.get_or_insert_default();
        configured.insert(at, keys);
    }
    expect.partitions.enforcement = checks;
    expect
}

fn assert_correct(lab: &Lab, expect: &Expectations, description: &str) {
    if let Err(error) = lab.verdict(expect) {
        panic!("{description} {}: {error}", lab.describe_run());
    }
}

fn reload(lab: &mut Lab, cfg: SmConfig) {
    lab.configure(cfg);
}

/// Without partition configuration the SM reads one P_Key block of each end port, writes none, and
/// reads none in later sweeps.
#[test]
fn without_partitions_one_p_key_query_per_end_port() {
    let mut lab = Lab::new("fat-tree:4", 1);
    let report = lab.next_sweep(60);
    assert!(report.is_clean(), "{:?}", report.problems);
    let end_ports = lab.world.fabric().end_ports().count() as u64;
    let count =
        |r: &ferrosm_core::SweepReport| r.smps.get(&id::PKEY_TABLE).copied().unwrap_or_default();
    assert_eq!((count(&report).gets, count(&report).sets), (end_ports, 0));
    lab.assert_correct();
    lab.command(Command::Sweep);
    let again = lab.next_sweep(60);
    assert_eq!((count(&again).gets, count(&again).sets), (0, 0));
    assert_eq!(again.fullest_pkey_table, None);
}

/// Bring-up writes the configured P_Keys for every enforcement mode, and a reload updates them.
#[test]
fn p_key_tables_and_enforcement_are_as_configured() {
    for (enforcement, checks) in [
        (Enforcement::Both, PKeyEnforcement::Both),
        (Enforcement::In, PKeyEnforcement::Inbound),
        (Enforcement::Out, PKeyEnforcement::Outbound),
        (Enforcement::Off, PKeyEnforcement::Off),
    ] {
        let description = format!("{enforcement:?}");
        let template = Lab::new("fat-tree:4", 1);
        let all_hosts = template.hosts();
        let selector = |at: &PortAt| MemberSelector::Port(template.port_guid(*at));
        let list = |number: u16, ports: &[PortAt], membership| {
            let members = ports.iter().map(|p| (selector(p), membership));
            partition(number, members.collect())
        };
        let a = &all_hosts[..6];
        let b = &all_hosts[4..9];
        let cfg = config(
            vec![
                list(0x11, a, Membership::Full),
                list(0x22, b, Membership::Limited),
            ],
            enforcement,
        );
        let mut lab = Lab::with("fat-tree:4", 3, cfg);
        let report = lab.next_sweep(60);
        assert!(report.is_clean(), "{description}: {:?}", report.problems);
        let mut extra: BTreeMap<PortAt, Vec<u16>> = BTreeMap::new();
        a.iter()
            .for_each(|p| extra.entry(*p).or_default().push(0x11 | FULL));
        b.iter()
            .for_each(|p| extra.entry(*p).or_default().push(0x22));
        let expect = expectations(&lab, &extra, checks, |_| None);
        assert_correct(&lab, &expect, &description);
        let fullest = report.fullest_pkey_table.expect("fullest P_Key table");
        assert!(fullest.used <= 3 && fullest.capacity >= 32, "{fullest:?}");

        // Change both partitions and add a third, then remove all partitions.
        let cfg = config(
            vec![
                list(0x11, &all_hosts[2..8], Membership::Limited),
                list(0x33, &all_hosts, Membership::Full),
            ],
            enforcement,
        );
        reload(&mut lab, cfg);
        assert!(lab.next_sweep(60).is_clean(), "{description}");
        let mut extra: BTreeMap<PortAt, Vec<u16>> = BTreeMap::new();
        all_hosts[2..8]
            .iter()
            .for_each(|p| extra.entry(*p).or_default().push(0x11));
        all_hosts
            .iter()
            .for_each(|p| extra.entry(*p).or_default().push(0x33 | FULL));
        assert_correct(
            &lab,
            &expectations(&lab, &extra, checks, |_| None),
            &description,
        );
        reload(&mut lab, SmConfig::default());
        assert!(lab.next_sweep(60).is_clean(), "{description}");
        let mut expect = lab.expect();
        expect.partitions.enforcement = PKeyEnforcement::Off;
        assert_correct(&lab, &expect, &description);
    }
}

/// After a takeover with consent, the SM removes foreign P_Keys from every block.
#[test]
fn foreign_p_keys_are_removed() {
    let mut lab = Lab::new("fat-tree:4", 5);
    assert!(lab.next_sweep(60).is_clean());
    lab.world.kill(lab.sm).expect("first SM");
    let foreign_pkeys: Vec<PKey> = (0..90)
        .map(|i| PKey(if i % 3 == 1 { 0x8123 + i } else { 0 }))
        .collect();
    for at in lab.hosts() {
        lab.world.fabric_mut().corrupt_pkeys(at, &foreign_pkeys);
    }
    assert!(lab.verdict(&lab.expect()).is_err());
    let cfg = SmConfig {
        replaces_foreign_settings: true,
        ..SmConfig::default()
    };
    lab.restart_sm(cfg, RestoredState::default());
    let report = lab.next_sweep(60);
    assert!(report.is_clean(), "{:?}", report.problems);
    lab.assert_correct();
}

/// The SM writes the P_Keys of a restarted host again.
#[test]
fn restarted_host_gets_its_p_keys_again() {
    let cfg = config(
        vec![partition(
            0x11,
            vec![(MemberSelector::AllCas, Membership::Full)],
        )],
        Enforcement::Both,
    );
    let mut lab = Lab::with("fat-tree:4", 7, cfg);
    assert!(lab.next_sweep(60).is_clean());
    let restarted = lab.hosts()[5];
    lab.world.fabric_mut().reboot(restarted.node);
    let extra = lab
        .hosts()
        .into_iter()
        .map(|p| (p, vec![0x11 | FULL]))
        .collect();
    for _ in 0..240 {
        lab.world.run_for(std::time::Duration::from_millis(250));
        let expect = expectations(&lab, &extra, PKeyEnforcement::Both, |_| None);
        if lab.verdict(&expect).is_ok() && lab.world.fabric().pkeys(restarted)[1] == PKey(0x8011) {
            return;
        }
    }
    assert_correct(
        &lab,
        &expectations(&lab, &extra, PKeyEnforcement::Both, |_| None),
        "restart",
    );
}

fn get_table<'a>(
    from: Lid,
    attr: ferrosm_mad::ids::AttrId,
    key: u64,
    data: &'a [u8; 200],
) -> SaRequest<'a> {
    SaRequest {
        from: Peer {
            lid: from,
            qpn: Qpn(1),
            sl: Sl(0),
            ..Peer::default()
        },
        method: Method::GetTable,
        attr,
        attr_mod: AttrMod(0),
        tid: Tid(1),
        sm_key: MKey::new(key),
        component_mask: 0,
        data,
        tail: &[],
    }
}

fn table(lab: &Lab, request: &SaRequest<'_>) -> sa::SaReply {
    let core = lab.manager().core();
    let view = core.view().unwrap_or_else(|| panic!("no SA view"));
    match sa::answer(view, request) {
        Disposition::Reply(reply) => reply,
        other @ (Disposition::ForwardToSm | Disposition::Drop(_)) => panic!("{other:?}"),
    }
}

/// The ibmgtsim scenario: three groups of hosts, with one P_Key, another P_Key, and both, at random
/// indices among unassigned keys. P_Keys keep their index. Each group sees only records of ports
/// that share a partition with it.
#[test]
fn partition_members_see_shared_records_and_keep_their_p_keys() {
    for seed in 1..=4 {
        let mut rng = TestRng::new(seed);
        let template = Lab::new("fat-tree:6", seed);
        let all_ports: Vec<PortAt> = template.hosts();
        let own = template.at;
        let group_of: BTreeMap<PortAt, u64> = all_ports
            .iter()
            .filter(|p| **p != own)
            .map(|p| (*p, rng.below(3)))
            .collect();
        let keys_of = |group: u64| -> &[u16] {
            match group {
                0 => &[0x8081],
                1 => &[0x8082],
                _ => &[0x8081, 0x8082],
            }
        };
        let list = [0x81u16, 0x82].map(|number| {
            let members = group_of
                .iter()
                .filter(|(_, g)| keys_of(**g).contains(&(number | FULL)))
                .map(|(p, _)| {
                    (
                        MemberSelector::Port(template.port_guid(*p)),
                        Membership::Full,
                    )
                });
            partition(number, members.collect())
        });
        let cfg = config(list.to_vec(), Enforcement::Both);
        let mut lab = Lab::with("fat-tree:6", seed, cfg);
        // Before the first sweep, write some of the P_Keys at random indices other than 0. The SM
        // adds the missing ones.
        let mut placed: Vec<(PortAt, usize, PKey)> = Vec::new();
        for (at, group) in &group_of {
            let mut before = vec![PKey(0); usize::from(lab.world.fabric().pkey_cap(*at))];
            before[0] = PKey::DEFAULT_FULL;
            for filler in 1..rng.below(6) {
                let index = 1 + rng.index(before.len() - 1);
                before[index] = PKey(0x100 + u16::try_from(filler).expect("fits into 16 bits"));
            }
            for key in keys_of(*group) {
                if rng.one_in(3) {
                    continue;
                }
                let index = 1 + rng.index(before.len() - 1);
                before[index] = PKey(*key);
            }
            let keys = before
                .iter()
                .enumerate()
                .filter(|(_, k)| keys_of(*group).contains(&k.0));
            placed.extend(keys.map(|(i, k)| (*at, i, *k)));
            lab.world.fabric_mut().corrupt_pkeys(*at, &before);
        }
        let report = lab.next_sweep(60);
        assert!(report.is_clean(), "{:?}", report.problems);
        let extra = group_of
            .iter()
            .map(|(p, g)| (*p, keys_of(*g).to_vec()))
            .collect();
        assert_correct(
            &lab,
            &expectations(&lab, &extra, PKeyEnforcement::Both, |_| None),
            "groups",
        );
        for (at, index, key) in &placed {
            assert_eq!(lab.world.fabric().pkeys(*at)[*index], *key, "{at:?}");
        }

        let guids = |lab: &Lab, from: PortAt| -> BTreeSet<PortGuid> {
            let lid = lab.world.fabric().lid(from).0;
            let reply = table(
                lab,
                &get_table(lid, ferrosm_mad::sa::id::NODE, 0, &[0; 200]),
            );
            let lids: BTreeSet<Lid> = reply
                .body
                .chunks(reply.stride)
                .map(|r| NodeRecord::decode_slice(r).unwrap().lid)
                .collect();
            let fabric = lab.world.fabric();
            let seen = fabric
                .end_ports()
                .filter(|p| lids.contains(&fabric.lid(*p).0));
            seen.map(|p| lab.port_guid(p)).collect()
        };
        for _ in 0..5 {
            let from = all_ports[rng.index(all_ports.len())];
            let expected: BTreeSet<PortGuid> = lab
                .world
                .fabric()
                .end_ports()
                .filter(|to| {
                    let share = match (group_of.get(&from), group_of.get(to)) {
                        (Some(a), Some(b)) => keys_of(*a).iter().any(|k| keys_of(*b).contains(k)),
                        _ => false,
                    };
                    // All ports are limited members of the default partition, except the SM's own
                    // port.
                    share || *to == from || *to == own || from == own
                })
                .map(|to| lab.port_guid(to))
                .collect();
            assert_eq!(guids(&lab, from), expected, "{}", lab.describe_run());
        }
    }
}

/// If a port's P_Key table is full, the SM omits and reports the remaining keys. If a switch's
/// table is full, the SM disables enforcement there.
#[test]
fn full_p_key_tables_are_reported() {
    let mut template = ferrosm_sim::generate::from_spec("fat-tree:4").expect("valid fabric");
    for node in &mut template.nodes {
        let mut caps = node.caps();
        if node.kind == NodeType::Switch {
            caps.partition_enforcement_cap = 2;
        } else {
            caps.partition_cap = 3;
        }
        node.options.caps = Some(caps);
    }
    let all_cas = |number| partition(number, vec![(MemberSelector::AllCas, Membership::Full)]);
    let cfg = |numbers: &[u16]| {
        config(
            numbers.iter().map(|n| all_cas(*n)).collect(),
            Enforcement::Both,
        )
    };
    let mut lab = Lab::on("small", template, 9, cfg(&[1]), None);
    assert!(lab.next_sweep(60).is_clean());
    let keys = |numbers: &[u16], lab: &Lab| -> BTreeMap<PortAt, Vec<u16>> {
        let extra: Vec<u16> = numbers.iter().map(|n| n | FULL).collect();
        lab.hosts()
            .into_iter()
            .map(|p| (p, extra.clone()))
            .collect()
    };
    let expect = expectations(&lab, &keys(&[1], &lab), PKeyEnforcement::Both, |_| None);
    assert_correct(&lab, &expect, "two keys");
    reload(&mut lab, cfg(&[1, 2]));
    let report = lab.next_sweep(60);
    assert!(report.is_clean());
    let count_of = |kind: ProblemKind, report: &ferrosm_core::SweepReport| {
        report.problems.iter().filter(|p| p.kind == kind).count()
    };
    let too_small = ProblemKind::PKeysNotEnforced {
        needed: 3,
        capacity: 2,
    };
    assert_eq!(count_of(too_small, &report), lab.hosts().len());
    let expect = expectations(&lab, &keys(&[1, 2], &lab), PKeyEnforcement::Off, |_| None);
    assert_correct(&lab, &expect, "three keys");
    reload(&mut lab, cfg(&[1, 2, 3]));
    let report = lab.next_sweep(60);
    let omitted = ProblemKind::PKeyTableFull {
        count: 1,
        capacity: 3,
    };
    assert_eq!(count_of(omitted, &report), lab.hosts().len());
    assert_eq!(report.fullest_pkey_table.map(|r| r.free()), Some(0));
}

/// A partition file without a rule for the default partition makes all hosts limited members: they
/// lose each other.
#[test]
fn reload_that_takes_full_memberships_is_reported_with_their_number() {
    let all = |number| partition(number, vec![(MemberSelector::All, Membership::Full)]);
    let with_default = config(vec![all(0x7FFF), all(0x10)], Enforcement::Both);
    let without = config(vec![all(0x10)], Enforcement::Both);
    let mut lab = Lab::with("fat-tree:4", 3, with_default.clone());
    assert!(lab.next_sweep(60).is_clean());
    let lost = |lab: &Lab| -> Vec<usize> {
        let events = lab.manager().events.iter();
        let lost = events.filter_map(|event| {
            let Event::FullMembershipsLost(ports) = event else {
                return None;
            };
            Some(*ports)
        });
        lost.collect()
    };
    reload(&mut lab, with_default.clone());
    assert!(lab.next_sweep(60).is_clean());
    assert_eq!(lost(&lab), [0; 0]);
    reload(&mut lab, without);
    assert!(lab.next_sweep(60).is_clean());
    let others = lab.hosts().len() - 1;
    assert_eq!(lost(&lab), [others], "all hosts but that of the SM");
    reload(&mut lab, with_default);
    assert!(lab.next_sweep(60).is_clean());
    assert_eq!(lost(&lab), [others]);
}

/// P_KeyTableRecords require the SM_Key. The groups of a partition are created and deleted with it.
#[test]
fn p_key_and_group_records_match_the_configuration() {
    let with_group = Partition {
        groups: vec![GroupSpec::ipoib(0x11)],
        ..partition(0x11, vec![(MemberSelector::AllCas, Membership::Full)])
    };
    let cfg = config(vec![with_group], Enforcement::Both);
    let sm_key = cfg.sm_key.expose();
    let mut lab = Lab::with("fat-tree:4", 11, cfg);
    assert!(lab.next_sweep(60).is_clean());
    let own_lid = lab.world.fabric().lid(lab.at).0;
    let request = |key| get_table(own_lid, ferrosm_mad::sa::id::PKEY_TABLE, key, &[0; 200]);
    assert_eq!(table(&lab, &request(0)).status, Status::REQ_INVALID);
    let reply = table(&lab, &request(sm_key));
    let records: Vec<PKeyTableRecord> = reply
        .body
        .chunks(reply.stride)
        .map(|r| PKeyTableRecord::decode_slice(r).unwrap())
        .collect();
    let fabric = lab.world.fabric();
    for record in &records {
        let owner = fabric
            .end_ports()
            .find(|p| fabric.lid(*p).0 == record.lid)
            .expect("end port");
        let at = PortAt {
            node: owner.node,
            port: record.port_num.raw(),
        };
        let first = usize::from(record.block_num) * 32;
        let mut keys = [PKey(0); 32];
        for (key, has) in keys
            .iter_mut()
            .zip(fabric.pkeys(at).into_iter().skip(first))
        {
            *key = has;
        }
        assert_eq!(PKeyBlock::decode(&record.table).keys, keys, "{at:?}");
    }
    let blocks = |at: PortAt| usize::from(fabric.pkey_cap(at)).div_ceil(32);
    let num_blocks: usize = fabric.end_ports().map(blocks).sum();
    let switch_port_blocks: usize = lab
        .hosts()
        .iter()
        .filter_map(|p| fabric.peer(*p))
        .map(blocks)
        .sum();
    assert_eq!(records.len(), num_blocks + switch_port_blocks);
    let groups = |lab: &Lab| -> Vec<u16> {
        let groups = lab.manager().core().registry().groups();
        groups.iter().map(|(_, g)| g.parameters.pkey.0).collect()
    };
    assert_eq!(groups(&lab), [0x8011]);
    reload(&mut lab, SmConfig::default());
    assert!(lab.next_sweep(60).is_clean());
    assert_eq!(groups(&lab), [0xFFFF]);
}

/// A port removed from a partition leaves the partition's groups. A port that becomes a limited
/// member stays.
#[test]
fn removed_partition_member_leaves_its_groups() {
    let template = Lab::new("fat-tree:4", 1);
    let all_hosts = template.hosts();
    let members = |ports: &[(usize, Membership)]| {
        let of = ports.iter().map(|(i, membership)| {
            (
                MemberSelector::Port(template.port_guid(all_hosts[*i])),
                *membership,
            )
        });
        Partition {
            groups: vec![GroupSpec::ipoib(0x11)],
            ..partition(0x11, of.collect())
        }
    };
    let full = |i: usize| (i, Membership::Full);
    let before = members(&[full(1), full(2), full(3)]);
    let after = members(&[full(1), (2, Membership::Limited)]);
    let mut lab = Lab::with("fat-tree:4", 5, config(vec![before], Enforcement::Both));
    lab.next_sweep(60);
    let mgid = GroupSpec::ipoib(0x11).mgid;
    for (tid, i) in (1..).zip(1..=3) {
        let record = McMemberRecord {
            mgid,
            port_gid: lab.port_gid(all_hosts[i]),
            join_state: JoinState::FULL,
            ..McMemberRecord::default()
        };
        let request_kind = (Method::Set, ferrosm_mad::sa::id::MC_MEMBER);
        let mask = 1 | 1 << 1 | 1 << 16;
        let (status, _) = ferrosm_tests::sa::members::request(
            &mut lab,
            all_hosts[i],
            request_kind,
            tid,
            mask,
            &record.encode(),
        );
        assert!(status.is_ok(), "{status:?}");
    }
    let members_of_group = |lab: &Lab| -> BTreeSet<PortGuid> {
        let group = lab.manager().core().registry().groups().get(mgid);
        group
            .map(|g| g.members.keys().copied().collect())
            .unwrap_or_default()
    };
    let guids = |lab: &Lab, indices: &[usize]| {
        indices
            .iter()
            .map(|i| lab.port_guid(all_hosts[*i]))
            .collect()
    };
    assert_eq!(members_of_group(&lab), guids(&lab, &[1, 2, 3]));
    lab.world.run_for(core::time::Duration::from_secs(1));
    reload(&mut lab, config(vec![after], Enforcement::Both));
    lab.next_sweep(60);
    lab.world.run_for(core::time::Duration::from_secs(1));
    assert_eq!(members_of_group(&lab), guids(&lab, &[1, 2]));
    let mlid = lab
        .manager()
        .core()
        .registry()
        .groups()
        .get(mgid)
        .map(|g| g.mlid);
    let mlid = mlid.expect("group has members left");
    let leads_to = |at: PortAt| {
        let fabric = lab.world.fabric();
        let by = fabric.peer(at).expect("switch");
        fabric
            .mft_ports(by.node, mlid)
            .iter()
            .any(|p| p.0 == by.port)
    };
    assert!(leads_to(all_hosts[1]) && leads_to(all_hosts[2]) && !leads_to(all_hosts[3]));
}
