//! Refused SA requests: what is reported, how often, and requests of ports that are not known yet.

#![allow(clippy::expect_used, reason = "test helpers")]

use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::config::partitions::partition_group::GroupSpec;
use ferrosm_core::config::partitions::{
    Enforcement, MemberSelector, Membership, Partition, Partitions,
};
use ferrosm_core::event::RefusedRequest;
use ferrosm_core::{Event, ProblemKind, SmConfig};
use ferrosm_fabric::location::Location;
use ferrosm_mad::attr::{LinkSpeed, LinkWidth, MtuCode};
use ferrosm_mad::gmp::{Grh, Peer};
use ferrosm_mad::ids::{AttrId, Gid, GidPrefix, PKey, PortGuid, Sl};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::inform::InformInfo;
use ferrosm_mad::sa::multicast::{JoinState, McMemberRecord, mgid};
use ferrosm_mad::sa::path::{PathRecord, RateCode, Selector};
use ferrosm_mad::sa::service::ServiceRecord;
use ferrosm_mad::sa::tables::GuidInfoRecord;
use ferrosm_sa::refusal::{Bound, RefusalCause, SaRefusal};
use ferrosm_sa::refusal_log::limiter::{PER_PORT_MAX, REPORTS_MAX};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;
use ferrosm_tests::sa::members::{
    BROADCAST, MEMBER, NEW_GROUP, header, join_record, plain, request,
};
use ferrosm_tests::sa::wire::{self, WireRequest};

const OTHER_PARTITION: PKey = PKey(0x8020);

fn lab_with(cfg: SmConfig) -> (Lab, Vec<PortAt>) {
    let mut lab = Lab::with("star:4", 1, cfg);
    assert!(lab.next_sweep(60).is_clean());
    let hosts = lab.hosts();
    (lab, hosts)
}

/// All refusals that were reported so far.
fn reported(lab: &Lab) -> Vec<RefusedRequest> {
    let mut reported = Vec::new();
    for event in &lab.manager().events {
        if let Event::RequestRefused(refused) = event {
            reported.push(**refused);
        }
    }
    reported
}

/// A change of a join record.
type RecordChange = fn(&mut McMemberRecord);

fn join(lab: &mut Lab, at: PortAt, mgid: Gid, mask: u64, change: RecordChange) -> Status {
    let mut record = join_record(mgid, lab.port_gid(at), JoinState::FULL, Sl(0));
    change(&mut record);
    let request_kind = (Method::Set, id::MC_MEMBER);
    request(lab, at, request_kind, 1, mask, &record.encode()).0
}

/// Each cause of a refused join is distinguished, with group, port, node and the numbers; each is
/// counted.
#[test]
fn refused_joins_are_reported_with_their_cause_in_numbers() {
    let members = vec![(MemberSelector::All, Membership::Full)];
    let default = Partition {
        name: "Default".to_owned(),
        number: 0x7FFF,
        members,
        groups: vec![GroupSpec {
            rate: RateCode::G40,
            ..GroupSpec::ipoib(0x7FFF)
        }],
        ..Partition::default()
    };
    let other = Partition {
        name: "other".to_owned(),
        number: 0x20,
        groups: vec![GroupSpec::ipoib(0x20)],
        ..Partition::default()
    };
    let partitions = Partitions::new(vec![default, other], Enforcement::default(), false);
    let (mut lab, hosts) = lab_with(SmConfig {
        partitions: Arc::new(partitions.expect("valid partitions")),
        ..SmConfig::default()
    });
    let (slow, host) = (hosts[1], hosts[2]);
    lab.world
        .fabric_mut()
        .degrade(slow, LinkSpeed::Sdr, LinkWidth(4))
        .expect("a cable");
    lab.world.run_for(Duration::from_secs(20));
    let known = reported(&lab).len();
    let other_group = mgid::broadcast(OTHER_PARTITION, mgid::LINK_LOCAL);
    let create = MEMBER | NEW_GROUP;
    let created = plain(7);
    assert!(join(&mut lab, host, created, create, |_| ()).is_ok());
    assert_eq!(
        join(&mut lab, slow, BROADCAST, MEMBER, |_| ()),
        Status::REQ_INVALID
    );
    let expected = [
        SaRefusal::RateTooLow {
            group: RateCode::G40,
            link: RateCode::G10,
        },
        SaRefusal::NotInPartition(OTHER_PARTITION),
        SaRefusal::CannotCreate(0b11 << 12 | 1 << 7 | 1 << 6 | 1 << 2),
        SaRefusal::JoinState {
            requested: JoinState(0),
            member: JoinState(0),
        },
        SaRefusal::OtherValue {
            name: "SL",
            requested: 3,
            group: 0,
        },
        SaRefusal::GroupMtu(Bound {
            selector: Selector::Exact,
            requested: MtuCode::Mtu4096,
            actual: MtuCode::Mtu2048,
        }),
    ];
    // At most four refusals of a port are reported within a minute.
    let requests: [(Gid, u64, RecordChange); 5] = [
        (other_group, MEMBER, |_| ()),
        (plain(8), MEMBER, |_| ()),
        (created, MEMBER, |record| record.join_state = JoinState(0)),
        (created, MEMBER | 1 << 12, |record| record.sl = Sl(3)),
        (created, MEMBER | 0b11 << 4, |record| {
            record.mtu = MtuCode::Mtu4096;
        }),
    ];
    for (i, (mgid, mask, change)) in requests.into_iter().enumerate() {
        let from = if i < 3 { host } else { hosts[3] };
        assert!(!join(&mut lab, from, mgid, mask, change).is_ok());
    }
    let reported = &reported(&lab)[known..];
    let refusals: Vec<SaRefusal> = reported.iter().map(|r| r.refusal).collect();
    assert_eq!(refusals, expected);
    let first = reported[0];
    let guid = lab.world.fabric().node_guid(slow.node);
    assert_eq!(first.port.node.map(|node| node.guid), Some(guid));
    assert_eq!(first.port.port.0, slow.port);
    assert_eq!((first.subject, first.member), (Some(BROADCAST), None));
    assert_eq!(first.refusal.to_string(), "group 40 Gb/s, link 10 Gb/s");
    assert_eq!(
        refusals[2].to_string(),
        "group does not exist; components missing to create it: Q_Key TClass P_Key SL FlowLabel"
    );
    let counts = lab.manager().core().refusals().counts();
    for refusal in expected {
        let of_cause = counts.iter().filter(|((_, c), _)| *c == refusal.cause());
        assert_eq!(of_cause.map(|(_, n)| n).sum::<u64>(), 1, "{refusal}");
    }
}

/// The SL of a join is that of the group, as with OpenSM: a program that names SL 0 in a group with
/// another one is refused. The other kinds of requests that a host depends on are reported as well.
#[test]
fn refused_services_subscriptions_aliases_and_paths_are_reported() {
    let (mut lab, hosts) = lab_with(SmConfig::default());
    let (host, other) = (hosts[1], hosts[2]);
    let known = reported(&lab).len();
    let absent = Gid::new(GidPrefix::DEFAULT, PortGuid(0xABCD));
    let alias = GuidInfoRecord {
        lid: lab.world.fabric().lid(other).0,
        guids: [PortGuid(7); 8],
        ..GuidInfoRecord::default()
    };
    let path = PathRecord {
        sgid: lab.port_gid(host),
        dgid: lab.port_gid(other),
        packet_life_time_selector: Selector::Less,
        packet_life_time: 3,
        numb_path: 1,
        ..PathRecord::default()
    };
    let service = ServiceRecord {
        service_id: 5,
        service_gid: lab.port_gid(other),
        ..ServiceRecord::default()
    };
    let subscription = InformInfo {
        subscribe: 0,
        ..InformInfo::default()
    };
    let ends = 1 << 2 | 1 << 3 | 1 << 12;
    let requests: [(PortAt, Method, AttrId, u64, Vec<u8>); 6] = [
        (
            other,
            Method::Set,
            id::SERVICE,
            0b11,
            service.encode().to_vec(),
        ),
        (
            host,
            Method::Delete,
            id::SERVICE,
            0b11,
            service.encode().to_vec(),
        ),
        (
            host,
            Method::Set,
            id::INFORM_INFO,
            0,
            subscription.encode().to_vec(),
        ),
        (
            host,
            Method::Set,
            id::GUID_INFO,
            0b111 << 4 | 0b11,
            alias.encode().to_vec(),
        ),
        (
            other,
            Method::Get,
            id::PATH,
            ends | 0b11 << 20,
            path.encode().to_vec(),
        ),
        (
            other,
            Method::Get,
            id::PATH,
            ends,
            PathRecord {
                dgid: absent,
                ..path
            }
            .encode()
            .to_vec(),
        ),
    ];
    for (i, (from, method, attr, mask, data)) in requests.into_iter().enumerate() {
        let (status, _) = request(&mut lab, from, (method, attr), 1, mask, &data);
        assert_eq!(status.is_ok(), i == 0, "{attr} {status}");
    }
    let guid = lab.world.fabric().port_guid(other);
    let expected = [
        SaRefusal::OtherRegistrant(guid),
        SaRefusal::NotSubscribed,
        SaRefusal::PathLifeTime(Bound {
            selector: Selector::Less,
            requested: 3,
            actual: 18,
        }),
        SaRefusal::UnknownGid(absent),
    ];
    let reported = &reported(&lab)[known..];
    let refusals: Vec<SaRefusal> = reported.iter().map(|r| r.refusal).collect();
    // The alias has the cause of the service, "other-port", and is not reported again.
    assert_eq!(refusals, expected);
    assert_eq!(
        refusals[2].to_string(),
        "PacketLifeTime less than 3 requested, 18 available"
    );
    let counts = lab.manager().core().refusals().counts();
    let of_other_port = counts
        .iter()
        .filter(|((_, c), _)| *c == RefusalCause::OtherPort);
    assert_eq!(of_other_port.count(), 2);
}

/// A host that floods the SA with refused requests causes a few events, all requests are counted,
/// and refusals of others are reported.
#[test]
fn a_flood_of_refused_requests_does_not_flood_the_log() {
    let (mut lab, hosts) = lab_with(SmConfig::default());
    let (flooding, other) = (hosts[1], hosts[2]);
    let known = lab.manager().events.len();
    for n in 0..5_000u32 {
        let mask = if n % 2 == 0 { MEMBER } else { 1 };
        join(
            &mut lab,
            flooding,
            plain(u8::try_from(n % 200).unwrap_or(0)),
            mask,
            |_| (),
        );
        if n % 10 == 0 {
            lab.world.run_for(Duration::from_millis(100));
        }
    }
    assert!(!join(&mut lab, other, plain(1), MEMBER, |_| ()).is_ok());
    let events = &lab.manager().events[known..];
    let refused = reported(&lab);
    assert!(refused.len() <= PER_PORT_MAX + 1, "{}", refused.len());
    assert!(refused.len() <= REPORTS_MAX);
    let name = refused.last().map(|r| r.port.node.map(|node| node.guid));
    let guid = lab.world.fabric().node_guid(other.node);
    assert_eq!(name, Some(Some(guid)));
    assert!(events.len() < 20, "{} events", events.len());
    assert_eq!(lab.manager().core().refusals().total(), 5_001);
}

/// A sweep notes each port that cannot join the broadcast group of its partition.
#[test]
fn sweep_notes_ports_that_cannot_join_the_broadcast_group() {
    let (mut lab, hosts) = lab_with(SmConfig::default());
    let note = |lab: &Lab| {
        let report = lab.last_report();
        let mut notes = Vec::new();
        for problem in report.problems {
            if let ProblemKind::CannotJoinBroadcastGroup(pkey, refusal) = problem.kind {
                notes.push((problem.location, pkey, refusal));
            }
        }
        assert!(notes.len() <= 1);
        notes.pop()
    };
    assert_eq!(note(&lab), None);
    let slow = hosts[1];
    let retrain = |lab: &mut Lab, width| {
        let fabric = lab.world.fabric_mut();
        fabric
            .degrade(slow, LinkSpeed::Sdr, width)
            .expect("a cable");
        lab.world.run_for(Duration::from_secs(20));
        assert!(lab.last_report().is_clean());
    };
    retrain(&mut lab, LinkWidth(1));
    let (location, pkey, refusal) = note(&lab).expect("a note");
    let Location::Port(port) = location else {
        panic!("{location}");
    };
    let guid = lab.world.fabric().node_guid(slow.node);
    assert_eq!(port.node.map(|node| node.guid), Some(guid));
    let too_slow = SaRefusal::RateTooLow {
        group: RateCode::G10,
        link: RateCode::G2_5,
    };
    assert_eq!((pkey, refusal), (PKey::DEFAULT_FULL, too_slow));
    retrain(&mut lab, LinkWidth(4));
    assert_eq!(note(&lab), None);
}

/// The reply to a request with a GRH, if there is one.
fn send_with_grh(
    lab: &mut Lab,
    (at, source): (PortAt, Gid),
    (method, attr, mask): (Method, AttrId, u64),
    data: &[u8],
) -> Option<Status> {
    let message = WireRequest {
        mask,
        data: data.to_vec(),
        ..WireRequest::new(0, method.0, attr.0)
    };
    let grh = Grh {
        gid: source,
        ..Grh::default()
    };
    let from = Peer {
        lid: lab.world.fabric().lid(at).0,
        grh: Some(grh),
        ..Peer::default()
    };
    let replies = wire::deliver(lab, from, message.to_bytes(9));
    assert!(replies.len() <= 1);
    replies
        .first()
        .map(|(_, bytes)| Status(header(bytes).status))
}

/// Hosts repeat a request without a reply, and take a status as final. A virtual function that
/// sends requests before its GID is registered, in its own name or as the member of a group, gets
/// no reply; after the registration, the same requests succeed.
#[test]
fn requests_of_a_virtual_function_succeed_after_its_registration() {
    let (mut lab, hosts) = lab_with(SmConfig::default());
    let host = hosts[1];
    let guid = PortGuid(0x0200_0000_0000_0042);
    let virtual_gid = Gid::new(GidPrefix::DEFAULT, guid);
    let own_gid = lab.port_gid(host);
    let record = |port_gid| join_record(BROADCAST, port_gid, JoinState::FULL, Sl(0)).encode();
    let service = ServiceRecord {
        service_id: 5,
        service_gid: virtual_gid,
        ..ServiceRecord::default()
    };
    let join_kind = (Method::Set, id::MC_MEMBER, MEMBER);
    let requests = [
        (virtual_gid, join_kind, record(virtual_gid).to_vec()),
        (own_gid, join_kind, record(virtual_gid).to_vec()),
        (
            virtual_gid,
            (Method::Set, id::SERVICE, 0b11),
            service.encode().to_vec(),
        ),
    ];
    let known = reported(&lab).len();
    for (source, kind, data) in &requests {
        let reply = send_with_grh(&mut lab, (host, *source), *kind, data);
        assert_eq!(reply, None, "{:?}", kind.1);
    }
    let counts = lab.manager().core().refusals().counts();
    let unknown = counts
        .iter()
        .filter(|((_, c), _)| *c == RefusalCause::UnknownRequester);
    assert_eq!(unknown.map(|(_, n)| n).sum::<u64>(), 3);
    assert_eq!(reported(&lab).len(), known + 1);
    let mut guids = [PortGuid(0); 8];
    guids[1] = guid;
    let alias = GuidInfoRecord {
        lid: lab.world.fabric().lid(host).0,
        guids,
        ..GuidInfoRecord::default()
    };
    let alias_kind = (
        Method::Set,
        id::GUID_INFO,
        0b11 | 1 << (GuidInfoRecord::FIRST_GUID + 1),
    );
    let registered = send_with_grh(&mut lab, (host, own_gid), alias_kind, &alias.encode());
    assert_eq!(registered, Some(Status::OK));
    for (source, kind, data) in &requests {
        let reply = send_with_grh(&mut lab, (host, *source), *kind, data);
        assert_eq!(reply, Some(Status::OK), "{:?}", kind.1);
    }
    // A GID of another port is no unknown one.
    let foreign = lab.port_gid(hosts[2]);
    let reply = send_with_grh(&mut lab, (host, foreign), join_kind, &requests[0].2);
    assert_eq!(reply, Some(Status::REQ_INVALID));
}
