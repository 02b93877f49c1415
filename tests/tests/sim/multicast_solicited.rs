//! IPv6 solicited-node groups that share an MLID: hosts join, leave and restart, the SM restarts.
//! The test oracle reads the tables in the switches.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::collections::BTreeSet;
use std::time::Duration;

use ferrosm_core::SmConfig;
use ferrosm_mad::attr::id as attr;
use ferrosm_mad::ids::{Gid, Lid, Lmc};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;
use ferrosm_tests::sa::members::{Members, request};

const FULL: JoinState = JoinState::FULL;

fn config(consolidate: bool) -> SmConfig {
    SmConfig {
        consolidate_solicited_node: consolidate,
        lmc: Lmc(2),
        ..SmConfig::default()
    }
}

/// FF1s:601B:FFFF::1:FFxx:xxxx, the solicited-node group of an address.
fn solicited(scope: u8, low: [u8; 3]) -> Gid {
    let mut gid = Gid([0; 16]);
    gid.0[..6].copy_from_slice(&[0xFF, 0x10 | scope, 0x60, 0x1B, 0xFF, 0xFF]);
    (gid.0[11], gid.0[12]) = (1, 0xFF);
    gid.0[13..].copy_from_slice(&low);
    gid
}

/// The solicited-node group of a host's own address.
fn own(lab: &Lab, at: PortAt) -> Gid {
    let guid = lab.world.fabric().port_guid(at).0.to_be_bytes();
    solicited(2, [guid[5], guid[6], guid[7]])
}

/// The IPv6 all-nodes group, which is not a solicited-node group.
const fn all_nodes() -> Gid {
    let mut gid = Gid([0; 16]);
    (gid.0[0], gid.0[1], gid.0[2], gid.0[3]) = (0xFF, 0x12, 0x60, 0x1B);
    (gid.0[4], gid.0[5], gid.0[15]) = (0xFF, 0xFF, 1);
    gid
}

fn settle(lab: &mut Lab, members: &Members) {
    lab.world.run_for(Duration::from_millis(500));
    members.assert_correct(lab);
}

/// Every host joins its own solicited-node group, and half of them that of a neighbour too.
fn all_hosts_join(lab: &mut Lab, members: &mut Members) -> BTreeSet<Lid> {
    let all_hosts = lab.hosts();
    let mut mlids = BTreeSet::new();
    for (n, at) in all_hosts.iter().enumerate() {
        mlids.insert(members.join(lab, *at, own(lab, *at), FULL).expect("joins"));
        if n % 2 == 1 {
            let neighbour = own(lab, all_hosts[n - 1]);
            mlids.insert(members.join(lab, *at, neighbour, FULL).expect("joins"));
        }
    }
    mlids
}

#[test]
fn solicited_node_groups_share_one_mlid_if_configured() {
    let mut lab = Lab::up("fat-tree:4", 3, config(true));
    let mut members = Members::new();
    let mlids = all_hosts_join(&mut lab, &mut members);
    assert_eq!(mlids.len(), 1, "{mlids:?}");
    // An IPv6 group that is not a solicited-node group has its own MLID.
    let first = lab.hosts()[0];
    let other = members
        .join(&mut lab, first, all_nodes(), FULL)
        .expect("joins");
    assert!(!mlids.contains(&other));
    settle(&mut lab, &members);

    let mut lab = Lab::up("fat-tree:4", 3, config(false));
    let mut members = Members::new();
    let mlids = all_hosts_join(&mut lab, &mut members);
    assert_eq!(mlids.len(), lab.hosts().len());
    settle(&mut lab, &members);
}

/// A port that leaves one of the groups stays in the MFT as member of another. The last leave frees
/// the MLID.
#[test]
fn leaving_one_group_keeps_the_membership_of_another() {
    let mut lab = Lab::up("fat-tree:4", 3, config(true));
    let mut members = Members::new();
    let mlid = all_hosts_join(&mut lab, &mut members).pop_first();
    let all_hosts = lab.hosts();
    settle(&mut lab, &members);
    for at in all_hosts.iter().skip(1).step_by(2) {
        let own = own(&lab, *at);
        members.leave(&mut lab, *at, own).expect("leaves");
    }
    settle(&mut lab, &members);
    for mgid in members.groups() {
        for at in members.members_of(mgid) {
            members.leave(&mut lab, at, mgid).expect("leaves");
            settle(&mut lab, &members);
        }
    }
    let used: Vec<Lid> = lab
        .manager()
        .core()
        .registry()
        .groups()
        .used_mlids()
        .collect();
    assert!(!used.contains(&mlid.expect("an MLID")), "{used:?}");
}

/// A host with four LIDs is one member, and may use any of its LIDs in requests.
#[test]
fn host_leaves_by_another_of_its_lids() {
    let mut lab = Lab::up("fat-tree:4", 3, config(true));
    let mut members = Members::new();
    let at = lab.hosts()[1];
    let mgid = own(&lab, at);
    members.join(&mut lab, at, mgid, FULL).expect("joins");
    settle(&mut lab, &members);
    let base = lab.world.fabric().lid(at).0.0;
    let record = McMemberRecord {
        mgid,
        port_gid: Gid::new(
            ferrosm_mad::ids::GidPrefix::DEFAULT,
            lab.world.fabric().port_guid(at),
        ),
        join_state: FULL,
        ..McMemberRecord::default()
    };
    let leave = ferrosm_tests::sa::wire::WireRequest {
        mask: 1 | 1 << 1 | 1 << 16,
        data: record.encode().to_vec(),
        ..ferrosm_tests::sa::wire::WireRequest::new(base + 3, Method::Delete.0, id::MC_MEMBER.0)
    };
    let reply = ferrosm_tests::sa::wire::query(&mut lab, &leave);
    assert_eq!(reply.status, 0);
    members.remove_port(at);
    settle(&mut lab, &members);
    // The host is no longer a member of any group.
    let request_kind = (Method::Delete, id::MC_MEMBER);
    let (status, _) = request(
        &mut lab,
        at,
        request_kind,
        99,
        1 | 1 << 1 | 1 << 16,
        &record.encode(),
    );
    assert_eq!(status, Status::REQ_INVALID);
}

/// After a restart, the groups share the MLID as before, and no MFT is written.
#[test]
fn restart_keeps_the_shared_mlid() {
    for still_consolidates in [true, false] {
        let mut lab = Lab::up("fat-tree:4", 3, config(true));
        let mut members = Members::new();
        let mlids = all_hosts_join(&mut lab, &mut members);
        lab.world.run_for(Duration::from_secs(3));
        let before = lab.world.fabric().all_counters().sets(attr::MFT);
        let old = lab.world.kill(lab.sm).expect("the SM runs");
        let restored = old.restored(lab.world.now());
        lab.restart_sm(config(still_consolidates), restored);
        lab.next_sweep(60);
        settle(&mut lab, &members);
        assert_eq!(lab.world.fabric().all_counters().sets(attr::MFT), before);
        // Hosts rejoin on ClientReregister. A group of a new address shares the MLID only if the
        // option is still set.
        assert_eq!(all_hosts_join(&mut lab, &mut members), mlids);
        let at = lab.hosts()[0];
        let new = members
            .join(&mut lab, at, solicited(2, [1, 2, 3]), FULL)
            .expect("joins");
        assert_eq!(mlids.contains(&new), still_consolidates);
        settle(&mut lab, &members);
    }
}
