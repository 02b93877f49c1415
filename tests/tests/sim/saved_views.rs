//! A view restored from its records gives the same replies as the original view.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::sync::Arc;

use ferrosm_core::SmConfig;
use ferrosm_fabric::snapshot::persist::NodeRecordKind;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{AttrId, Gid, Lid};
use ferrosm_mad::mad::Method;
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::multicast::JoinState;
use ferrosm_sa::{Disposition, SaRequest, View, answer};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::persisted_view::Records;
use ferrosm_tests::lab::{Lab, TestRng};
use ferrosm_tests::sa::members::Members;
use ferrosm_tests::sa::wire::{WireRequest, message, method, put_field, query};

const TABLES: [AttrId; 12] = [
    id::NODE,
    id::PORT_INFO,
    id::SWITCH_INFO,
    id::LFT,
    id::MFT,
    id::LINK,
    id::PKEY_TABLE,
    id::SL_TO_VL,
    id::VL_ARBITRATION,
    id::SM_INFO,
    id::GUID_INFO,
    id::PATH,
];

/// The view's reply, or the component that has to reply instead.
fn reply(view: &View, from: Lid, bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
    let from = Peer {
        lid: from,
        ..Peer::default()
    };
    let request = SaRequest::parse(from, bytes).ok_or("no request")?;
    match answer(view, &request) {
        Disposition::Reply(reply) => Ok(reply.to_bytes(&request)),
        Disposition::ForwardToSm => Err("forwarded to the SM"),
        Disposition::Drop(_) => Err("dropped"),
    }
}

/// Compares all tables for one client of each kind, the path of each pair, and some traces.
fn assert_same(lab: &Lab, view: &View, restored: &View, description: &str) {
    let context = format!("{} {description}", lab.describe_run());
    let end_ports = view.end_ports();
    // Restored node indices are compact. Their order is unchanged.
    let end_ports_of = |v: &View| -> Vec<_> {
        let ends = v.end_ports().iter();
        ends.map(|e| (e.guid, e.lid, e.lmc, e.pkeys.clone()))
            .collect()
    };
    assert_eq!(end_ports_of(restored), end_ports_of(view), "{context}");
    let clients = [0, end_ports.len() / 2, end_ports.len() - 1].map(|i| end_ports[i].lid);
    for attr in TABLES {
        for client in clients {
            let all = message(Method::GetTable, attr, 0, &[]);
            let (after, before) = (reply(restored, client, &all), reply(view, client, &all));
            assert!(after == before, "{context}: {attr:?} for {client}");
        }
    }
    for a in end_ports {
        for b in end_ports {
            let mut data = vec![0; 64];
            put_field(&mut data, 320, 16, u64::from(b.lid.0));
            put_field(&mut data, 336, 16, u64::from(a.lid.0));
            for (method, mask) in [
                (Method::Get, 0b11 << 4 | 1 << 11),
                (Method::GetTraceTable, 0b11 << 4),
            ] {
                let path = message(method, id::PATH, mask, &data);
                let (after, before) = (reply(restored, a.lid, &path), reply(view, a.lid, &path));
                assert!(
                    before.is_ok() && after == before,
                    "{context}: {} to {}",
                    a.lid,
                    b.lid
                );
            }
        }
    }
    for end in end_ports {
        let by_guid = |v: &View| v.by_guid(end.guid).map(|at| v.end_port(at).lid);
        assert_eq!(by_guid(restored), by_guid(view), "{context}");
    }
    assert_eq!(restored.multicast_sl(), view.multicast_sl(), "{context}");
    assert_eq!(restored.identity(), view.identity(), "{context}");
    assert!(
        restored.end_port_changes(Some(view)) == view.end_port_changes(Some(restored)),
        "{context}"
    );
}

fn restored(lab: &Lab, records: &Records, view: &View) -> View {
    let restored = records
        .restore()
        .unwrap_or_else(|e| panic!("{} {e}", lab.describe_run()));
    let restored = restored.with_aliases(Arc::clone(view.aliases()));
    View::new(Arc::new(restored), SmConfig::default().sa_settings())
}

fn engine(name: &str) -> SmConfig {
    SmConfig {
        engines: vec![name.to_owned()],
        ..SmConfig::default()
    }
}

fn group(n: u8) -> Gid {
    let mut gid = Gid([0; 16]);
    (gid.0[0], gid.0[1], gid.0[15]) = (0xFF, 0x12, n);
    gid
}

/// Creates groups, queries VL arbitration tables, and cuts and restores links. Restoring from
/// step-by-step persisted records gives the same view as restoring from a full record set.
fn check_history(spec: &str, seed: u64, engine_name: &str, steps: usize) {
    let mut lab = Lab::with(spec, seed, engine(engine_name));
    lab.next_sweep(600);
    let mut rng = TestRng::new(seed);
    let mut members = Members::new();
    let mut records = Records::default();
    let mut cut_links: Vec<PortAt> = Vec::new();
    let sm_node = lab.at.node;
    let fabric = lab.world.fabric();
    let hosts = fabric.end_ports().filter(|p| !fabric.is_switch(p.node));
    let hosts: Vec<PortAt> = hosts.filter(|p| fabric.peer(*p).is_some()).collect();
    let groups: Vec<Gid> = (0..4).map(group).collect();
    for step in 0..steps {
        let description = match rng.index(4) {
            0 => {
                let (at, to) = (rng.index(hosts.len()), rng.index(groups.len()));
                // The SA drops requests of isolated hosts.
                let lid = lab.world.fabric().lid(hosts[at]).0;
                let view = lab.manager().core().view().cloned();
                if view.is_some_and(|view| view.by_lid(lid).is_some()) {
                    let joined = members.join(&mut lab, hosts[at], groups[to], JoinState::FULL);
                    joined.expect("join accepted");
                }
                lab.world.run_for(core::time::Duration::from_secs(12));
                "member joined"
            }
            1 => {
                let lid = lab.world.fabric().lid(lab.at).0.0;
                let _ = query(
                    &mut lab,
                    &WireRequest::new(lid, method::GET_TABLE, id::VL_ARBITRATION.0),
                );
                "VL arbitration tables queried"
            }
            2 if !cut_links.is_empty() => {
                let at = cut_links.swap_remove(rng.index(cut_links.len()));
                lab.world.fabric_mut().restore(at).expect("link");
                lab.next_sweep(600);
                "link restored"
            }
            _ => {
                let links = &lab.spec.links;
                let link = links[rng.index(links.len())];
                let fabric = lab.world.fabric();
                let inside = fabric.is_switch(link.a.node) && fabric.is_switch(link.b.node);
                if !inside
                    || link.a.node == sm_node
                    || link.b.node == sm_node
                    || cut_links.contains(&link.a)
                {
                    continue;
                }
                lab.world.fabric_mut().cut(link.a).expect("link");
                cut_links.push(link.a);
                lab.next_sweep(600);
                "link cut"
            }
        };
        let description = format!("step {step}, {description}");
        let view = Arc::clone(lab.manager().core().view().expect("SA view"));
        records.save(view.snapshot());
        let mut all_records = Records::default();
        all_records.save(view.snapshot());
        assert!(
            records.all == all_records.all && records.head == all_records.head,
            "{} {description}: incremental records differ from the full record set",
            lab.describe_run()
        );
        let restored_view = restored(&lab, &records, &view);
        assert_same(&lab, &view, &restored_view, &description);
        // The restored view produces the same records, apart from node indices.
        let mut again = Records::default();
        again.save(restored_view.snapshot());
        assert_eq!(again.all.len(), all_records.all.len());
        records.save(view.snapshot());
        assert_eq!(records.written, (0, 0), "nothing changed");
    }
}

#[test]
fn fat_tree_views_round_trip() {
    check_history("fat-tree:4", 1, "auto", 6);
    check_history("fat-tree:4", 2, "updn", 6);
}

#[test]
fn sl_to_vl_tables_round_trip() {
    check_history("torus:4,4,1", 3, "torus-2QoS", 4);
    check_history("torus:3,3,2,1", 4, "dfsssp", 4);
    check_history("ring:6,2", 5, "lash", 6);
    check_history("torus:4,4,1", 6, "nue", 4);
}

#[test]
fn random_fabric_views_round_trip() {
    for seed in 10..13 {
        check_history(&format!("random:8,6,12,{seed}"), seed, "auto", 5);
    }
}

/// One lost link writes only the records that it changes.
#[test]
fn lost_link_changes_few_records() {
    let mut lab = Lab::new("fat-tree:8", 1);
    lab.next_sweep(600);
    let mut records = Records::default();
    let snapshot = |lab: &Lab| {
        let view = lab.manager().core().view().expect("SA view");
        Arc::clone(view.snapshot())
    };
    records.save(&snapshot(&lab));
    let all_records = records.written;
    let cable = lab.redundant_link(3);
    lab.world.fabric_mut().cut(cable).expect("link");
    lab.next_sweep(600);
    records.save(&snapshot(&lab));
    let after = records.written;
    assert!(
        after.1 > 0 && after.1 * 4 < all_records.1,
        "{after:?} of {all_records:?}"
    );
    assert!(after.0 * 4 < all_records.0, "{after:?} of {all_records:?}");
}

/// Arbitrary damage to the records gives a view that serves every query, or an error.
#[test]
fn damaged_records_cause_no_panic() {
    let mut lab = Lab::with("torus:3,3,1,1", 1, engine("dfsssp"));
    lab.next_sweep(600);
    let view = Arc::clone(lab.manager().core().view().expect("SA view"));
    let mut records = Records::default();
    records.save(view.snapshot());
    let mut views = 0;
    for seed in 0..600 {
        let mut rng = TestRng::new(seed);
        let mut broken = Records::default();
        broken.all.clone_from(&records.all);
        broken.head.clone_from(&records.head);
        for _ in 0..=rng.index(3) {
            let keys: Vec<_> = broken.all.keys().copied().collect();
            let key = keys[rng.index(keys.len())];
            let bytes = broken.all.get_mut(&key).expect("record");
            match rng.index(8) {
                0 => bytes.truncate(rng.index(bytes.len())),
                1 => {
                    broken.all.remove(&key);
                }
                2 => {
                    let at = rng.index(broken.head.len());
                    broken.head[at] ^= 1 << rng.index(8);
                }
                3 => {
                    let other = broken.all[&keys[rng.index(keys.len())]].clone();
                    broken.all.insert(key, other);
                }
                _ => {
                    let at = rng.index(bytes.len());
                    bytes[at] ^= 1 << rng.index(8);
                }
            }
        }
        let Ok(restored_view) = broken.restore() else {
            continue;
        };
        views += 1;
        let settings = SmConfig::default().sa_settings();
        let restored_view = View::new(Arc::new(restored_view), settings);
        for attr in TABLES {
            for lid in [1, 5, 0xBFFF] {
                let _ = reply(
                    &restored_view,
                    Lid(lid),
                    &message(Method::GetTable, attr, 0, &[]),
                );
            }
        }
        for end in restored_view.end_ports() {
            let mut data = vec![0; 64];
            put_field(&mut data, 320, 16, u64::from(end.lid.0));
            put_field(&mut data, 336, 16, 1);
            let path = message(Method::GetTable, id::PATH, 0b11 << 4, &data);
            let _ = reply(&restored_view, Lid(1), &path);
        }
        let _ = (
            restored_view.identity(),
            restored_view.end_port_changes(Some(&view)),
            restored_view.with_end_ports(|_| true),
        );
        let mut again = Records::default();
        again.save(restored_view.snapshot());
        assert!(
            again.restore().is_ok(),
            "[seed {seed}] the restored view cannot be persisted"
        );
    }
    assert!(views > 50, "{views} views restored");
}

#[test]
fn record_part_numbers_are_stable() {
    for (n, part) in (0u8..).zip(NodeRecordKind::ALL) {
        assert_eq!(
            (NodeRecordKind::from_number(n), part as u8),
            (Some(part), n)
        );
    }
    assert_eq!(NodeRecordKind::from_number(4), None);
}
