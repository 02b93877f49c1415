//! Forwarding of traps to subscribers: selection by trap number, issuer, and order relative to
//! published changes.
//!
//! The expected reports follow docs/sm-behaviour.md, 6.5 to 6.9. The test decodes the reports
//! itself and takes ports and LIDs from the simulated devices.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::collections::BTreeSet;
use std::time::Duration;

use ferrosm_core::{Command, Event, Input, SmConfig};
use ferrosm_mad::attr::{self, Notice, TrapNumber};
use ferrosm_mad::ids::{Gid, Qpn, Tid};
use ferrosm_mad::mad::{Address, Mad, MadHeader, MadIn, Method, MgmtClass, Status};
use ferrosm_mad::sa::inform::InformInfo;
use ferrosm_mad::sa::{DATA_OFFSET, id};
use ferrosm_mad::smp;
use ferrosm_sim::faults::FabricAction;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;
use ferrosm_tests::sa::members::{header, request, send};
use ferrosm_tests::sa::wire::WireRequest;

/// CapabilityMask.IsDeviceManagementSupported.
const DEVICE_MANAGEMENT: u32 = 1 << 19;

/// An SM_Key that makes a client trusted.
const SM_KEY: u64 = 1;

fn subscribe(lab: &mut Lab, at: PortAt, trap: u16) {
    let status = try_subscribe(lab, at, 1, trap, 0);
    assert_eq!(status, Status::OK);
}

fn try_subscribe(lab: &mut Lab, at: PortAt, is_generic: u8, trap: u16, sm_key: u64) -> Status {
    let info = InformInfo {
        lid_range_begin: InformInfo::ALL_LIDS,
        is_generic,
        subscribe: 1,
        notice_type: 0xFFFF,
        trap_number: trap,
        qpn: Qpn(1),
        producer_type: 0xFF_FFFF,
        ..InformInfo::default()
    };
    let request = WireRequest {
        data: info.encode().to_vec(),
        sm_key,
        ..WireRequest::new(0, Method::Set.0, id::INFORM_INFO.0)
    };
    let reply = send(&mut lab.world, lab.sm, at, u64::from(trap), &request);
    reply.expect("a reply").0
}

/// Trap number and IssuerGID of every report received by a port since the last call.
fn reports_received(lab: &mut Lab, at: PortAt) -> BTreeSet<(u16, Gid)> {
    let lid = lab.world.fabric().lid(at).0;
    let sent = lab.take_replies();
    let reports = sent.into_iter().filter(|(to, bytes)| {
        to.lid == lid && to.qpn == Qpn(1) && header(bytes).method == Method::Report
    });
    reports
        .map(|(_, bytes)| {
            let notice = &bytes[DATA_OFFSET..];
            let mut issuer = [0; 16];
            issuer.copy_from_slice(&notice[64..80]);
            (u16::from_be_bytes([notice[4], notice[5]]), Gid(issuer))
        })
        .collect()
}

fn act(lab: &mut Lab, action: FabricAction) {
    let now = lab.world.now();
    lab.world.schedule(now, action);
}

/// A port's CapabilityMask as a client reads it (PortInfoRecord: 4-byte RID, then PortInfo with the
/// mask at byte 20).
fn capabilities(lab: &mut Lab, client: PortAt, target: PortAt) -> u32 {
    let mut data = lab.world.fabric().lid(target).0.0.to_be_bytes().to_vec();
    data.resize(64, 0);
    let request_kind = (Method::Get, id::PORT_INFO);
    let (status, record) = request(lab, client, request_kind, 77, 1, &data);
    assert_eq!(status, Status::OK);
    let mut mask = [0; 4];
    mask.copy_from_slice(&record[4 + 20..4 + 24]);
    u32::from_be_bytes(mask)
}

/// A subscriber that queries the CapabilityMask on receipt of the report reads the new value.
#[test]
fn reports_follow_the_published_change() {
    let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
    let all_hosts = lab.hosts();
    let client = all_hosts[2];
    let target = all_hosts[7];
    subscribe(&mut lab, client, 144);
    assert_eq!(
        capabilities(&mut lab, client, target) & DEVICE_MANAGEMENT,
        0
    );
    act(&mut lab, FabricAction::SrpTarget(target.node, true));
    assert_view_is_current_when_reported(&mut lab, client, target);
}

/// Runs until `client` receives the report about the changed CapabilityMask of `target`.
fn assert_view_is_current_when_reported(lab: &mut Lab, client: PortAt, target: PortAt) {
    let expected = (144, lab.port_gid(target));
    for _ in 0..20_000 {
        lab.world.run_for(Duration::from_millis(1));
        if reports_received(lab, client).contains(&expected) {
            let mask = capabilities(lab, client, target);
            assert_ne!(
                mask & DEVICE_MANAGEMENT,
                0,
                "reported before the view was current"
            );
            return;
        }
    }
    panic!("{} no report received", lab.describe_run());
}

/// The same for a change that a full sweep misses, because it comes after discovery, while routes
/// are computed.
#[test]
fn reports_of_changes_during_a_sweep_follow_the_reread() {
    let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
    let all_hosts = lab.hosts();
    let client = all_hosts[2];
    let target = all_hosts[7];
    subscribe(&mut lab, client, 144);
    lab.edit(lab.sm, |sm, now| {
        sm.defers_routing_jobs = true;
        sm.handle(Command::Sweep.with_id(0), now);
    });
    lab.run_until("routes are computed", 60, |lab| {
        !lab.manager().deferred_jobs.is_empty()
    });
    act(&mut lab, FabricAction::SrpTarget(target.node, true));
    lab.world.run_for(Duration::from_millis(100));
    lab.edit(lab.sm, |sm, now| {
        sm.defers_routing_jobs = false;
        sm.deliver_job_result(now);
    });
    assert_view_is_current_when_reported(&mut lab, client, target);
}

/// A host leaves: its subscription is removed from the registry and from the records.
#[test]
fn subscription_ends_when_its_port_leaves() {
    let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
    let client = lab.hosts()[2];
    subscribe(&mut lab, client, 128);
    lab.world.run_for(Duration::from_secs(1));
    let counts = |lab: &Lab| {
        let sm = lab.manager();
        let restored = sm.restored(lab.world.now());
        let persisted = restored.registrations.subscriptions.len();
        (sm.core().registry().subscriptions().len(), persisted)
    };
    assert_eq!(counts(&lab), (1, 1));
    act(&mut lab, FabricAction::PowerOff(client.node));
    lab.world.run_for(Duration::from_secs(20));
    assert_eq!(counts(&lab), (0, 0));
}

#[test]
fn lost_link_is_reported_for_its_switches() {
    let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
    let client = lab.hosts()[2];
    subscribe(&mut lab, client, 0xFFFF);
    let near_port = lab.redundant_link(0);
    let fabric = lab.world.fabric();
    let far = fabric.peer(near_port).expect("connected port");
    let link_ends = [near_port, far].map(|at| PortAt { port: 0, ..at });
    act(&mut lab, FabricAction::Cut(near_port));
    lab.world.run_for(Duration::from_secs(20));
    let expected: BTreeSet<_> = link_ends
        .iter()
        .map(|at| (128, lab.port_gid(*at)))
        .collect();
    assert_eq!(reports_received(&mut lab, client), expected);
}

/// The SM forwards no link integrity traps. It forwards a bad P_Key trap, but only to trusted
/// subscribers of that trap number: an untrusted client does not get it through a subscription to
/// all traps or with another value of IsGeneric.
#[test]
fn each_trap_is_forwarded_to_its_subscribers() {
    let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
    let all_hosts = lab.hosts();
    let any_trap = all_hosts[2];
    let only_128 = all_hosts[3];
    let trusted = all_hosts[4];
    let issuer = all_hosts[9];
    subscribe(&mut lab, any_trap, 0xFFFF);
    subscribe(&mut lab, only_128, 128);
    for is_generic in [1, 2, 0xFF] {
        let status = try_subscribe(&mut lab, any_trap, is_generic, 257, 0);
        assert_eq!(status, Status::REQ_INVALID, "IsGeneric {is_generic}");
    }
    let status = try_subscribe(&mut lab, trusted, 1, 257, SM_KEY);
    assert_eq!(status, Status::OK);
    for number in [129, 130, 131, 257] {
        act(&mut lab, FabricAction::Trap(issuer, TrapNumber(number)));
        lab.world.run_for(Duration::from_secs(1));
    }
    lab.world.run_for(Duration::from_secs(20));
    let sent = lab.manager().replies.clone();
    let expected = BTreeSet::from([(257, lab.port_gid(issuer))]);
    assert_eq!(reports_received(&mut lab, trusted), expected);
    for other in [any_trap, only_128] {
        let sent = sent.clone();
        lab.edit(lab.sm, |sm, _| sm.replies = sent);
        assert_eq!(reports_received(&mut lab, other), BTreeSet::new());
    }
}

/// The SM limits the rate of reports about a trap storm.
#[test]
fn trap_storm_is_forwarded_a_few_times() {
    let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
    let all_hosts = lab.hosts();
    let status = try_subscribe(&mut lab, all_hosts[2], 1, 257, SM_KEY);
    assert_eq!(status, Status::OK);
    for _ in 0..500 {
        act(&mut lab, FabricAction::Trap(all_hosts[9], TrapNumber(257)));
        lab.world.run_for(Duration::from_millis(2));
    }
    let lid = lab.world.fabric().lid(all_hosts[2]).0;
    let sent = lab.take_replies();
    let tids: BTreeSet<u64> = sent
        .into_iter()
        .map(|(to, bytes)| (to.lid, header(&bytes)))
        .filter(|(to, header)| *to == lid && header.method == Method::Report)
        .map(|(_, header)| header.tid.0)
        .collect();
    assert!((1..=16).contains(&tids.len()), "{} reports", tids.len());
}

/// A trap of a vendor is logged with vendor and number, once until it has paused; it is forwarded
/// as before.
#[test]
fn vendor_trap_is_logged_once() {
    let mut lab = Lab::up("fat-tree:4", 1, SmConfig::default());
    let issuer = lab.hosts()[4];
    let issuer_lid = lab.world.fabric().lid(issuer).0;
    let notice = Notice {
        producer_type: 0x2C9,
        trap_number: TrapNumber(1234),
        issuer_lid,
        ..Notice::default()
    };
    let send_trap = |lab: &mut Lab, tid| {
        let mut mad = Mad::new(&MadHeader {
            base_version: 1,
            mgmt_class: MgmtClass::SubnLid,
            class_version: 1,
            method: Method::Trap,
            tid: Tid(tid),
            attr_id: attr::id::NOTICE,
            ..MadHeader::default()
        });
        smp::data_mut(&mut mad).copy_from_slice(&notice.encode());
        let from = Address::smp(issuer_lid);
        let trap = Input::Mad(MadIn { from, mad });
        lab.handle(lab.sm, trap);
        lab.world.run_for(Duration::from_secs(1));
    };
    for tid in 1..=20 {
        send_trap(&mut lab, tid);
    }
    lab.world.run_for(Duration::from_secs(10));
    send_trap(&mut lab, 21);
    let logged: Vec<String> = lab
        .manager()
        .events
        .iter()
        .filter(|event| {
            matches!(
                event,
                Event::TrapReceived {
                    vendor: Some(0x2C9),
                    ..
                }
            )
        })
        .map(|event| event.to_string())
        .collect();
    assert_eq!(logged.len(), 2, "{logged:?}");
    assert!(
        logged[0].starts_with("trap received number=1234 "),
        "{logged:?}"
    );
    assert!(logged[0].contains("vendor=\"0x0002c9\""), "{logged:?}");
}
