//! Client registrations survive an SM restart: memberships, services, subscriptions.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::time::Duration;

use ferrosm_core::{Command, Phase, RestoredState, SmConfig};
use ferrosm_mad::attr::{SmState, id as attr};
use ferrosm_mad::ids::{Gid, GidPrefix, PKey, PortGuid, Qpn};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::inform::InformInfo;
use ferrosm_mad::sa::multicast::{JoinState, mgid};
use ferrosm_mad::sa::service::ServiceRecord;
use ferrosm_mad::sa::tables::GuidInfoRecord;
use ferrosm_sim::faults::{FabricAction, Faults};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::{Lab, Sm};
use ferrosm_tests::sa::members::{Members, header, plain, request};

/// Kills the SM. After `down`, a new SM starts from the persisted state.
fn restart(lab: &mut Lab, down: Duration, meanwhile: impl FnOnce(&mut Lab)) {
    lab.world.run_for(Duration::from_secs(2));
    let old = lab.world.kill(lab.sm).expect("running SM");
    meanwhile(lab);
    let restored = old.restored(lab.world.now() + down);
    lab.restart_sm(SmConfig::default(), restored);
    lab.next_sweep(60);
    lab.world.run_for(Duration::from_secs(1));
}

fn cut(lab: &mut Lab, at: PortAt) {
    let now = lab.world.now();
    lab.world.schedule(now, FabricAction::Cut(at));
    lab.world.run_for(Duration::from_millis(1));
}

fn assert_memberships_correct(lab: &Lab, members: &Members) {
    members.assert_correct(lab);
}

#[test]
fn members_keep_their_mlids_and_nothing_is_written() {
    let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
    let mut members = Members::new();
    let all_hosts = lab.hosts();
    for at in &all_hosts {
        let broadcast = mgid::broadcast(PKey::DEFAULT_FULL, mgid::LINK_LOCAL);
        members
            .join(&mut lab, *at, broadcast, JoinState::FULL)
            .expect("join accepted");
    }
    // Leave group 1, so that the MLIDs have a gap.
    for n in 0..4 {
        for at in &all_hosts[usize::from(n)..] {
            members
                .join(&mut lab, *at, plain(n), JoinState::FULL)
                .expect("join accepted");
        }
    }
    for at in &all_hosts[1..] {
        members
            .leave(&mut lab, *at, plain(1))
            .expect("leave accepted");
    }
    let mlid_before = members
        .join(&mut lab, all_hosts[0], plain(0), JoinState::FULL)
        .expect("join accepted");
    lab.world.run_for(Duration::from_secs(2));
    let before = lab.sets(attr::MFT);
    restart(&mut lab, Duration::from_secs(5), |_| {});
    assert_memberships_correct(&lab, &members);
    assert_eq!(lab.sets(attr::MFT), before, "an MFT block was written");
    // A repeated join, as after a client reregister request, changes nothing either.
    for at in &all_hosts {
        let mlid = members.join(&mut lab, *at, plain(0), JoinState::FULL);
        assert_eq!(mlid, Ok(mlid_before));
    }
    lab.world.run_for(Duration::from_secs(1));
    assert_memberships_correct(&lab, &members);
    assert_eq!(lab.sets(attr::MFT), before);
}

#[test]
fn members_that_left_meanwhile_are_removed() {
    let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
    let mut members = Members::new();
    let all_hosts = lab.hosts();
    for at in &all_hosts {
        members
            .join(&mut lab, *at, plain(0), JoinState::FULL)
            .expect("join accepted");
    }
    members
        .join(&mut lab, all_hosts[3], plain(1), JoinState::FULL)
        .expect("join accepted");
    restart(&mut lab, Duration::from_secs(5), |lab| {
        cut(lab, all_hosts[3]);
    });
    members.remove_port(all_hosts[3]);
    assert_memberships_correct(&lab, &members);
    let registry = lab.manager().core().registry();
    assert!(
        registry.groups().get(plain(1)).is_none(),
        "the group has no members left"
    );
}

fn service(name: &[u8], lease_s: u32) -> ServiceRecord {
    let mut service_name = [0; 64];
    service_name[..name.len()].copy_from_slice(name);
    ServiceRecord {
        service_id: u64::from(lease_s),
        service_gid: Gid::new(GidPrefix::DEFAULT, PortGuid(7)),
        service_lease_s: lease_s,
        service_name,
        ..ServiceRecord::default()
    }
}

#[test]
fn service_records_expire_with_their_leases() {
    let mut lab = Lab::up("star:2", 1, SmConfig::default());
    let at = lab.hosts()[1];
    for (n, lease_s) in [30, 300, ServiceRecord::FOREVER].into_iter().enumerate() {
        let record = service(b"disk", lease_s);
        let request_kind = (Method::Set, id::SERVICE);
        let (status, _) = request(
            &mut lab,
            at,
            request_kind,
            n as u64 + 1,
            0b101_0011,
            &record.encode(),
        );
        assert_eq!(status, Status::OK);
    }
    restart(&mut lab, Duration::from_secs(60), |_| {});
    let mut lease = |lease_s: u32| {
        let record = service(b"disk", lease_s);
        let request_kind = (Method::Get, id::SERVICE);
        let (status, data) = request(&mut lab, at, request_kind, 9, 1, &record.encode());
        status
            .is_ok()
            .then(|| ServiceRecord::decode_slice(&data).unwrap().service_lease_s)
    };
    assert_eq!(lease(30), None, "the lease expired while no SM was running");
    let left_s = lease(300).expect("unexpired lease");
    assert!((200..=240).contains(&left_s), "{left_s}");
    assert_eq!(lease(ServiceRecord::FOREVER), Some(ServiceRecord::FOREVER));
}

#[test]
fn subscriptions_survive_a_restart() {
    let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
    let all_hosts = lab.hosts();
    let info = InformInfo {
        lid_range_begin: InformInfo::ALL_LIDS,
        is_generic: 1,
        subscribe: 1,
        notice_type: 0xFFFF,
        trap_number: 65,
        qpn: Qpn(1),
        producer_type: 0xFF_FFFF,
        ..InformInfo::default()
    };
    let request_kind = (Method::Set, id::INFORM_INFO);
    let (status, _) = request(&mut lab, all_hosts[2], request_kind, 1, 0, &info.encode());
    assert_eq!(status, Status::OK);
    restart(&mut lab, Duration::from_secs(5), |_| {});
    cut(&mut lab, all_hosts[9]);
    lab.world.run_for(Duration::from_secs(20));
    let replies = lab.take_replies();
    let lid = lab.world.fabric().lid(all_hosts[2]).0;
    let reports = replies
        .iter()
        .filter(|(to, bytes)| to.lid == lid && header(bytes).method == Method::Report);
    assert!(reports.count() > 0, "no report received");
}

#[test]
fn alias_guids_survive_a_restart() {
    let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
    let at = lab.hosts()[2];
    let lid = lab.world.fabric().lid(at).0;
    let mut record = GuidInfoRecord {
        lid,
        ..GuidInfoRecord::default()
    };
    record.guids[2] = PortGuid(0x0200_0000_0000_0042);
    let entry_2 = 1 << (usize::from(GuidInfoRecord::FIRST_GUID) + 2);
    let request_kind = (Method::Set, id::GUID_INFO);
    let (status, _) = request(
        &mut lab,
        at,
        request_kind,
        1,
        0b11 | entry_2,
        &record.encode(),
    );
    assert_eq!(status, Status::OK);
    restart(&mut lab, Duration::from_secs(5), |_| {});
    let (status, data) = request(
        &mut lab,
        at,
        (Method::Get, id::GUID_INFO),
        2,
        0b11,
        &record.encode(),
    );
    assert_eq!(status, Status::OK);
    assert_eq!(
        GuidInfoRecord::decode_slice(&data).unwrap().guids[2],
        record.guids[2]
    );
    let view = lab.manager().core().view().expect("SA view").clone();
    let owner = view.by_guid(record.guids[2]).expect("alias owner");
    assert_eq!(view.end_port(owner).lid, lid);
}

/// Ports of a leaf switch that are connected to spines.
fn uplinks(lab: &Lab, leaf: usize) -> Vec<PortAt> {
    let fabric = lab.world.fabric();
    let to_switch = |at: &PortAt| {
        fabric
            .peer(*at)
            .is_some_and(|far| fabric.is_switch(far.node))
    };
    fabric.external_ports(leaf).filter(to_switch).collect()
}

/// Isolating a leaf removes its hosts' registrations, and the hosts see no link change. If the SM
/// restarts or another SM becomes master before the leaf returns, the SM still requests client
/// reregistration.
#[test]
fn isolated_hosts_get_client_reregister_from_any_master() {
    for restarts in [true, false] {
        let cfg = |priority| SmConfig {
            priority,
            ..SmConfig::default()
        };
        let mut lab = Lab::up("fat-tree:4", 1, cfg(5));
        let all_hosts = lab.hosts();
        let fabric = lab.world.fabric();
        let leaf = |at: PortAt| fabric.peer(at).map(|far| far.node);
        let far = leaf(all_hosts[all_hosts.len() - 1]).expect("leaf switch");
        let isolated: Vec<PortAt> = all_hosts
            .iter()
            .copied()
            .filter(|at| leaf(*at) == Some(far))
            .collect();
        let mut members = Members::new();
        for at in &isolated {
            let joined = members.join(&mut lab, *at, plain(0), JoinState::FULL);
            joined.expect("join accepted");
        }
        let lids = |lab: &Lab| {
            all_hosts
                .iter()
                .map(|at| lab.world.fabric().lid(*at))
                .collect::<Vec<_>>()
        };
        let lids_before = lids(&lab);
        let cables = uplinks(&lab, far);
        cables.iter().for_each(|at| cut(&mut lab, *at));
        lab.world.run_for(Duration::from_secs(30));
        let registry = lab.manager().core().registry();
        assert!(
            registry.groups().get(plain(0)).is_none(),
            "members of isolated hosts remain"
        );
        if restarts {
            restart(&mut lab, Duration::from_secs(5), |_| {});
        } else {
            let first = lab.sm;
            let second = lab.add_sm(all_hosts[2], cfg(1));
            lab.world.run_for(Duration::from_secs(30));
            for (from, to) in [(first, second), (second, first)] {
                let input = Command::Handover.with_id(0);
                lab.handle(from, input);
                lab.world.run_for(Duration::from_secs(30));
                let role = lab.world.sm(to).map(|sm| sm.core().role());
                assert_eq!(role, Some(SmState::Master));
            }
        }
        let reregisters = |lab: &Lab| {
            let each = isolated.iter();
            each.map(|at| lab.world.fabric().client_reregisters(*at))
                .collect::<Vec<_>>()
        };
        let before = reregisters(&lab);
        for at in &cables {
            lab.world.act(FabricAction::Restore(*at)).expect("link");
        }
        lab.world.run_for(Duration::from_secs(30));
        assert_eq!(lids(&lab), lids_before);
        let once: Vec<u32> = before.iter().map(|n| n + 1).collect();
        assert_eq!(
            reregisters(&lab),
            once,
            "{} restarts: {restarts}",
            lab.describe_run()
        );
    }
}

/// The registrations may have changed under the other master.
#[test]
fn sm_that_finds_a_master_drops_its_records() {
    let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
    let all_hosts = lab.hosts();
    let mut members = Members::new();
    members
        .join(&mut lab, all_hosts[3], plain(0), JoinState::FULL)
        .expect("join accepted");
    lab.world.run_for(Duration::from_secs(2));
    let persisted = lab.manager().restored(lab.world.now()).registrations;
    assert_eq!(
        persisted
            .members
            .iter()
            .filter(|m| m.mgid == plain(0))
            .count(),
        1
    );
    let restored = RestoredState {
        registrations: persisted,
        ..RestoredState::default()
    };
    let cfg = SmConfig::default();
    let now = lab.world.now();
    let second = lab.start_sm(all_hosts[5], Sm::new(cfg, restored, now));
    lab.world.run_for(Duration::from_secs(20));
    let sm = lab.world.sm(second).expect("running SM");
    assert_eq!(sm.core().role(), SmState::Standby);
    assert!(sm.core().registry().is_empty());
    let persisted = sm.restored(lab.world.now()).registrations;
    assert!(persisted.is_empty(), "the store still has records");
}

/// A lost client reregister Set is repeated in the next sweep, even if the host already has the
/// right master SM LID.
#[test]
fn lost_client_reregister_is_repeated() {
    let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
    let host = lab.hosts()[5];
    lab.world.run_for(Duration::from_secs(2));
    let reregisters = |lab: &Lab| lab.world.fabric().client_reregisters(host);
    let before = reregisters(&lab);
    drop(lab.world.kill(lab.sm));
    lab.restart_sm(SmConfig::default(), RestoredState::default());
    while lab.manager().core().activity().phase() != Some(Phase::WriteTables) {
        lab.world.step();
    }
    let hung = Faults {
        hung: true,
        ..Faults::default()
    };
    lab.world.set_node_faults(host.node, Some(hung));
    lab.next_sweep(60);
    assert_eq!(reregisters(&lab), before, "the lost Set reached the host");
    lab.world.set_node_faults(host.node, None);
    lab.world.run_for(Duration::from_secs(30));
    assert_eq!(reregisters(&lab), before + 1);
}
