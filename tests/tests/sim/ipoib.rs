//! IPoIB as implemented by the Linux kernel: the requests a host sends when its interface comes up,
//! sends to groups and neighbours, goes down and sees a new SM, and the fields of the replies that
//! it checks.
//!
//! Requests are encoded byte by byte with the component masks of `ipoib_multicast.c`,
//! `ipoib_main.c` and core `multicast.c` and `sa_query.c` (Linux 6). The kernel does not subscribe
//! to SA notices: it rejoins on ClientReregister or when the SM changes.

#![allow(clippy::expect_used, clippy::unwrap_in_result, reason = "test helpers")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::config::partitions::partition_group::GroupSpec;
use ferrosm_core::config::partitions::{
    Enforcement, MemberSelector, Membership, Partition, Partitions,
};
use ferrosm_core::{RestoredState, SmConfig};
use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{Lid, PKey};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::sa::id;
use ferrosm_mad::sa::path::RateCode;
use ferrosm_sim::oracle::{Expectations, ExpectedGroup};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;
use ferrosm_tests::sa::members::request;

/// Number of the partition; the P_Key of full members is 0x8002.
const NUMBER: u16 = 2;
const PKEY: u16 = 0x8002;
const SPEC: &str = "fat-tree:4";

/// MGID, PortGID, P_Key and JoinState: the components of the kernel's broadcast group join.
const BROADCAST_JOIN: u64 = 1 | 1 << 1 | 1 << 7 | 1 << 16;
/// The same with Q_Key, MTU, TClass, rate, SL, FlowLabel and HopLimit: joins of all other groups.
const GROUP_JOIN: u64 =
    BROADCAST_JOIN | 1 << 2 | 0b11 << 4 | 1 << 6 | 0b11 << 8 | 1 << 12 | 1 << 13 | 1 << 14;
/// MGID, PortGID and JoinState.
const LEAVE: u64 = 1 | 1 << 1 | 1 << 16;
/// DGID, SGID, TClass, NumbPath and P_Key.
const PATH: u64 = 1 << 2 | 1 << 3 | 1 << 10 | 1 << 12 | 1 << 13;

const FULL: u8 = 1;
const SEND_ONLY_FULL: u8 = 8;
/// The selector "exactly".
const EXACTLY: u8 = 2 << 6;
/// Length of the IPoIB header, which reduces the MTU.
const ENCAP: u16 = 4;

/// MCMemberRecord as encoded bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Member([u8; 52]);

impl Member {
    fn mgid(&self) -> &[u8] {
        &self.0[..16]
    }
    fn port_gid(&self) -> &[u8] {
        &self.0[16..32]
    }
    fn qkey(&self) -> &[u8] {
        &self.0[32..36]
    }
    fn mlid(&self) -> u16 {
        u16::from_be_bytes([self.0[36], self.0[37]])
    }
    fn mtu(&self) -> u8 {
        self.0[38] & 0x3F
    }
    fn tclass(&self) -> u8 {
        self.0[39]
    }
    fn pkey(&self) -> u16 {
        u16::from_be_bytes([self.0[40], self.0[41]])
    }
    fn rate(&self) -> u8 {
        self.0[42] & 0x3F
    }
    fn sl_flow_hop(&self) -> &[u8] {
        &self.0[44..48]
    }
    fn scope(&self) -> u8 {
        self.0[48] >> 4
    }
    fn join_state(&self) -> u8 {
        self.0[48] & 0xF
    }

    /// Fields that the kernel compares when a second user on the same host joins the group
    /// (`cmp_rec`).
    fn satisfies(&self, request: &Self, mask: u64) -> bool {
        let matches = |bit: u32, is_equal: bool| mask & 1 << bit == 0 || is_equal;
        matches(1, self.port_gid() == request.port_gid())
            && matches(2, self.qkey() == request.qkey())
            && matches(5, self.mtu() == request.mtu())
            && matches(6, self.tclass() == request.tclass())
            && matches(7, self.pkey() == request.pkey())
            && matches(9, self.rate() == request.rate())
            && matches(12, self.sl_flow_hop() == request.sl_flow_hop())
    }
}

/// A host's IPoIB interface.
struct Interface {
    at: PortAt,
    gid: [u8; 16],
    /// The P_Key with the membership bit set, as the kernel uses it for limited members too.
    pkey: u16,
    broadcast: Option<Member>,
    tid: u64,
}

impl Interface {
    fn new(lab: &Lab, at: PortAt) -> Self {
        let mut gid = [0; 16];
        gid[..2].copy_from_slice(&[0xFE, 0x80]);
        gid[8..].copy_from_slice(&lab.world.fabric().port_guid(at).0.to_be_bytes());
        Self {
            at,
            gid,
            pkey: PKEY,
            broadcast: None,
            tid: 0,
        }
    }

    fn send(
        &mut self,
        lab: &mut Lab,
        request_kind: (Method, ferrosm_mad::ids::AttrId),
        mask: u64,
        data: &[u8],
    ) -> Result<Vec<u8>, Status> {
        self.tid += 1;
        let (status, data) = request(lab, self.at, request_kind, self.tid, mask, data);
        if status.is_ok() {
            Ok(data)
        } else {
            Err(status)
        }
    }

    fn join_as(&mut self, lab: &mut Lab, mask: u64, request: &Member) -> Result<Member, Status> {
        let data = self.send(lab, (Method::Set, id::MC_MEMBER), mask, &request.0)?;
        let reply = Member(data[..52].try_into().expect("a record"));
        // The kernel looks groups up by MGID, attaches its QP and creates an address handle from
        // LID, SL, rate and GRH.
        assert_eq!(reply.mgid(), request.mgid());
        assert_eq!(reply.port_gid(), request.port_gid());
        assert!(
            (0xC000..0xFFFF).contains(&reply.mlid()),
            "{:#x}",
            reply.mlid()
        );
        assert!((1..=5).contains(&reply.mtu()), "{reply:?}");
        assert!(reply.rate() >= 2, "{reply:?}");
        assert_eq!(reply.scope(), reply.mgid()[1] & 0xF);
        assert_eq!(
            reply.join_state() & request.join_state(),
            request.join_state()
        );
        assert!(reply.satisfies(request, mask), "{reply:?} for {request:?}");
        Ok(reply)
    }

    fn plain(&self, mgid: [u8; 16], join_state: u8) -> Member {
        let mut record = [0; 52];
        record[..16].copy_from_slice(&mgid);
        record[16..32].copy_from_slice(&self.gid);
        record[40..42].copy_from_slice(&self.pkey.to_be_bytes());
        record[48] = join_state;
        Member(record)
    }

    /// The kernel's join of a group other than the broadcast group. RFC 4391 requires the
    /// parameters of the broadcast group.
    fn like_broadcast(&self, mgid: [u8; 16], join_state: u8) -> Member {
        let model = self
            .broadcast
            .expect("the broadcast group is joined first")
            .0;
        let mut record = self.plain(mgid, join_state).0;
        record[32..36].copy_from_slice(&model[32..36]);
        record[38] = EXACTLY | model[38] & 0x3F;
        record[39] = model[39];
        record[42] = EXACTLY | model[42] & 0x3F;
        record[44..48].copy_from_slice(&model[44..48]);
        Member(record)
    }

    /// The interface comes up: it joins the broadcast group and adopts its MTU and Q_Key.
    fn up(&mut self, lab: &mut Lab) -> Result<Member, Status> {
        let request = self.plain(broadcast(self.pkey), FULL);
        let reply = self.join_as(lab, BROADCAST_JOIN, &request)?;
        self.broadcast = Some(reply);
        Ok(reply)
    }

    fn join(&mut self, lab: &mut Lab, mgid: [u8; 16], join_state: u8) -> Result<Member, Status> {
        let request = self.like_broadcast(mgid, join_state);
        self.join_as(lab, GROUP_JOIN, &request)
    }

    fn leave(&mut self, lab: &mut Lab, mgid: [u8; 16], join_state: u8) -> Result<(), Status> {
        let mut record = self.plain(mgid, join_state).0;
        // The kernel leaves the remaining components as received; the component mask excludes them.
        record[32..36].fill(0xEE);
        self.send(lab, (Method::Delete, id::MC_MEMBER), LEAVE, &record)?;
        Ok(())
    }

    /// The MTU of the interface in datagram mode.
    fn mtu(&self) -> u16 {
        let code = self.broadcast.map_or(0, |b| b.mtu());
        (128 << code) - ENCAP
    }

    /// Queries the path to a neighbour whose address is known from ARP.
    fn path(&mut self, lab: &mut Lab, to: &Self) -> Result<[u8; 64], Status> {
        let mut record = [0; 64];
        record[8..24].copy_from_slice(&to.gid);
        record[24..40].copy_from_slice(&self.gid);
        record[48] = self.broadcast.map_or(0, |b| b.tclass());
        record[49] = 1;
        record[50..52].copy_from_slice(&self.pkey.to_be_bytes());
        let data = self.send(lab, (Method::Get, id::PATH), PATH, &record)?;
        let reply: [u8; 64] = data[..64].try_into().expect("a record");
        // Fields that the kernel uses in the address handle or compares.
        assert_eq!(reply[8..40], record[8..40], "DGID and SGID");
        assert_eq!(reply[40..42], lid(lab, to.at).to_be_bytes(), "DLID");
        assert_eq!(reply[42..44], lid(lab, self.at).to_be_bytes(), "SLID");
        assert_eq!(reply[44..48], [0; 4], "no GRH in a subnet: HopLimit 0");
        assert_eq!(reply[48], record[48], "TClass");
        assert_eq!(reply[49] & 0x80, 0x80, "reversible");
        assert_eq!(reply[50..52], record[50..52], "P_Key");
        assert_eq!((reply[54] >> 6, reply[55] >> 6, reply[56] >> 6), (2, 2, 2));
        assert!((1..=5).contains(&(reply[54] & 0x3F)), "MTU");
        assert!(reply[56] & 0x3F <= 20, "PacketLifeTime below 5 s");
        Ok(reply)
    }

    /// CapabilityMask2 of ClassPortInfo, which the kernel queries first, with an empty component
    /// mask.
    fn capability_mask2(&mut self, lab: &mut Lab) -> u32 {
        let request_kind = (Method::Get, id::CLASS_PORT_INFO);
        let data = self.send(lab, request_kind, 0, &[]).expect("ClassPortInfo");
        assert_eq!(data[..2], [1, 2], "base and class version");
        u32::from_be_bytes([data[4], data[5], data[6], data[7]]) >> 5
    }
}

fn lid(lab: &Lab, at: PortAt) -> u16 {
    lab.world.fabric().lid(at).0.0
}

/// MGIDs for IP (RFC 4391): the low 28 bits of an IPv4 address, the low 80 bits of an IPv6 address.
fn ipv4(pkey: u16, address: [u8; 4]) -> [u8; 16] {
    let mut gid = [0; 16];
    gid[..4].copy_from_slice(&[0xFF, 0x12, 0x40, 0x1B]);
    gid[4..6].copy_from_slice(&pkey.to_be_bytes());
    gid[12..].copy_from_slice(&address);
    gid[12] &= 0x0F;
    gid
}

fn broadcast(pkey: u16) -> [u8; 16] {
    let mut gid = ipv4(pkey, [255; 4]);
    gid[12] = 0xFF;
    gid
}

fn ipv6(pkey: u16, low: [u8; 10]) -> [u8; 16] {
    let mut gid = [0; 16];
    gid[..4].copy_from_slice(&[0xFF, 0x12, 0x60, 0x1B]);
    gid[4..6].copy_from_slice(&pkey.to_be_bytes());
    gid[6..].copy_from_slice(&low);
    gid
}

/// 224.0.0.1, ff02::1 and the solicited-node group of a port.
fn usual_groups(interface: &Interface) -> [[u8; 16]; 3] {
    let guid = &interface.gid[8..];
    let solicited = [0, 0, 0, 0, 0, 1, 0xFF, guid[5], guid[6], guid[7]];
    [
        ipv4(PKEY, [224, 0, 0, 1]),
        ipv6(PKEY, [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        ipv6(PKEY, solicited),
    ]
}

struct Case {
    lab: Lab,
    full: Vec<Interface>,
    limited: Vec<Interface>,
    /// A host outside the partition.
    outside: Interface,
}

fn config(lab: &Lab, group: GroupSpec) -> SmConfig {
    let guid = |at: &PortAt| MemberSelector::Port(lab.world.fabric().port_guid(*at));
    let hosts = lab.hosts();
    let members = |range: &[PortAt], membership| -> Vec<(MemberSelector, Membership)> {
        range.iter().map(|at| (guid(at), membership)).collect()
    };
    let mut all = members(&hosts[1..4], Membership::Full);
    all.extend(members(&hosts[4..7], Membership::Limited));
    let partition = Partition {
        name: "storage".to_owned(),
        number: NUMBER,
        members: all,
        groups: vec![group],
        ..Partition::default()
    };
    let partitions = Partitions::new(vec![partition], Enforcement::Both, false);
    SmConfig {
        partitions: Arc::new(partitions.expect("partitions")),
        ..SmConfig::default()
    }
}

fn up_with(group: GroupSpec) -> Case {
    let cfg = config(&Lab::new(SPEC, 1), group);
    let mut lab = Lab::with(SPEC, 1, cfg);
    let report = lab.next_sweep(60);
    assert!(report.is_clean(), "{:?}", report.problems);
    let hosts = lab.hosts();
    let interface = |at: &PortAt| Interface::new(&lab, *at);
    Case {
        full: hosts[1..4].iter().map(interface).collect(),
        limited: hosts[4..7].iter().map(interface).collect(),
        outside: interface(&hosts[8]),
        lab,
    }
}

fn up() -> Case {
    up_with(GroupSpec::ipoib(NUMBER))
}

/// Expected tables: exactly these groups, each with its receiving members and its send-only
/// members.
fn expect(case: &Case, groups: &BTreeMap<u16, (Vec<PortAt>, Vec<PortAt>)>) -> Expectations {
    let lab = &case.lab;
    let mut expect = lab.expect();
    for at in lab.world.fabric().end_ports() {
        let default = if at == lab.at { 0xFFFF } else { 0x7FFF };
        let contains_port = |all: &[Interface]| all.iter().any(|i| i.at == at);
        let own = match (contains_port(&case.full), contains_port(&case.limited)) {
            (true, _) => Some(PKEY),
            (_, true) => Some(NUMBER),
            _ => None,
        };
        let keys = [Some(default), own].into_iter().flatten().map(PKey);
        let configured = expect.partitions.keys.get_or_insert_default();
        configured.insert(at, keys.collect());
    }
    let groups = groups.iter().map(|(mlid, (members, senders))| {
        let mut group = ExpectedGroup::new(Lid(*mlid), members.iter().copied());
        group.senders.extend(senders.iter().copied());
        group
    });
    expect.groups(groups.collect())
}

fn assert_tables(case: &mut Case, groups: &BTreeMap<u16, (Vec<PortAt>, Vec<PortAt>)>) {
    case.lab.world.run_for(Duration::from_millis(500));
    let expected = expect(case, groups);
    if let Err(error) = case.lab.verdict(&expected) {
        panic!("{} {error}", case.lab.describe_run());
    }
}

/// Full and limited members come up, join the groups of a Linux host, reach the members that they
/// may reach, and leave.
#[test]
fn ipoib_hosts_join_communicate_and_leave() {
    let mut case = up();
    let lab = &mut case.lab;
    let mut tables = BTreeMap::<u16, (Vec<PortAt>, Vec<PortAt>)>::new();
    for interface in case.full.iter_mut().chain(&mut case.limited) {
        let reply = interface.up(lab).expect("joins");
        assert_eq!((reply.pkey(), interface.mtu()), (PKEY, 2044));
        assert_eq!(reply.qkey(), [0, 0, 0x0B, 0x1B]);
        assert_eq!(reply.sl_flow_hop(), [0; 4]);
        tables.entry(reply.mlid()).or_default().0.push(interface.at);
        for mgid in usual_groups(interface) {
            let reply = interface.join(lab, mgid, FULL).expect("joins");
            let again = interface.join(lab, mgid, FULL).expect("joins again");
            assert_eq!(reply, again, "a repeated join changes nothing");
            let receivers = &mut tables.entry(reply.mlid()).or_default().0;
            assert!(!receivers.contains(&interface.at) || mgid[2] == 0x60);
            if !receivers.contains(&interface.at) {
                receivers.push(interface.at);
            }
        }
    }
    assert_eq!(case.outside.up(lab), Err(Status::REQ_INVALID));
    assert_tables(&mut case, &tables);

    let lab = &mut case.lab;
    let full = &mut case.full;
    let limited = &mut case.limited;
    let [a, b, ..] = &mut full[..] else {
        panic!("three full members")
    };
    a.path(lab, b).expect("full to full");
    for one in limited.iter_mut() {
        a.path(lab, one).expect("full to limited");
        one.path(lab, a).expect("limited to full");
    }
    let [c, d, ..] = &mut limited[..] else {
        panic!("three limited members")
    };
    assert_eq!(
        c.path(lab, d),
        Err(Status::NO_RECORDS),
        "limited to limited"
    );
    assert!(a.path(lab, &case.outside).is_err());
    assert!(case.outside.path(lab, a).is_err());

    for interface in full.iter_mut().chain(limited) {
        for mgid in usual_groups(interface) {
            interface.leave(lab, mgid, FULL).expect("leaves");
            // The kernel repeats the request if the reply was lost.
            let again = interface.leave(lab, mgid, FULL);
            assert_eq!(again, Err(Status::REQ_INVALID));
        }
        let mgid = broadcast(PKEY);
        interface.leave(lab, mgid, FULL).expect("leaves");
    }
    assert_tables(&mut case, &BTreeMap::new());
    let groups = case.lab.manager().core().registry().groups().iter();
    let left: Vec<[u8; 16]> = groups.map(|(gid, _)| gid.0).collect();
    assert_eq!(left, [broadcast(PKEY)], "the partition's own group stays");
}

/// A group with an MTU of 4,096 gives an interface MTU of 4,092; ports with a smaller MTU cannot
/// join.
#[test]
fn groups_with_large_mtu_or_rate_reject_slower_ports() {
    let group = GroupSpec {
        mtu: MtuCode::Mtu4096,
        ..GroupSpec::ipoib(NUMBER)
    };
    let mut case = up_with(group);
    let [one, two, ..] = &mut case.full[..] else {
        panic!("three full members")
    };
    let reply = one.up(&mut case.lab).expect("joins");
    assert_eq!((reply.mtu(), one.mtu()), (5, 4092));
    let all = one.join(&mut case.lab, ipv4(PKEY, [224, 0, 0, 1]), FULL);
    assert_eq!(all.expect("joins").mtu(), 5);
    let path = one.path(&mut case.lab, two).expect("a path");
    assert_eq!(path[54] & 0x3F, 5, "path MTU is 4096");
    two.up(&mut case.lab).expect("joins");

    // A rate above that of any port of this fabric.
    let rate = RateCode::ASCENDING.last().copied().expect("rates");
    let group = GroupSpec {
        rate,
        ..GroupSpec::ipoib(NUMBER)
    };
    let mut case = up_with(group);
    let reply = case.full[0].up(&mut case.lab);
    assert_eq!(reply, Err(Status::REQ_INVALID), "{rate:?}");
}

/// A group whose parameters differ from the broadcast group where RFC 4391 requires equality is not
/// created. Joins of an existing group must match its parameters.
#[test]
fn wrong_group_parameters_are_rejected() {
    type InvalidChange = (&'static str, fn(&mut [u8; 52]));
    let invalid: [InvalidChange; 7] = [
        ("Q_Key", |r| r[35] ^= 1),
        ("MTU", |r| r[38] = EXACTLY | 1),
        ("TClass", |r| r[39] ^= 1),
        ("unknown P_Key", |r| r[41] ^= 1),
        ("rate", |r| r[42] = EXACTLY | 2),
        ("SL", |r| r[44] ^= 0x30),
        ("HopLimit", |r| r[47] ^= 1),
    ];
    let mut case = up();
    let lab = &mut case.lab;
    let [a, b, ..] = &mut case.full[..] else {
        panic!("three full members")
    };
    a.up(lab).expect("joins");
    b.up(lab).expect("joins");
    let existing_group = ipv4(PKEY, [224, 0, 0, 1]);
    a.join(lab, existing_group, FULL).expect("joins");
    for (description, change) in invalid {
        let mut request = b.like_broadcast(existing_group, FULL);
        change(&mut request.0);
        let reply = b.join_as(lab, GROUP_JOIN, &request);
        assert_eq!(reply, Err(Status::REQ_INVALID), "{description}");
    }
    b.join(lab, existing_group, FULL).expect("joins");
    let new = ipv4(PKEY, [239, 1, 2, 3]);
    // A new group with a smaller or larger MTU or rate is not created either: hosts request exactly
    // the parameters of the broadcast group, and their joins would be rejected.
    let more: [InvalidChange; 2] = [
        ("more MTU", |r| r[38] = EXACTLY | 5),
        ("more rate", |r| r[42] = EXACTLY | 7),
    ];
    for (description, change) in invalid.into_iter().chain(more) {
        let mut request = b.like_broadcast(new, FULL);
        change(&mut request.0);
        let reply = b.join_as(lab, GROUP_JOIN, &request);
        assert_eq!(reply, Err(Status::REQ_INVALID), "{description}");
    }
    let created = b.join(lab, new, FULL).expect("is created");
    // A join without MTU, rate and HopLimit gets those of the broadcast group.
    let request = b.like_broadcast(ipv4(PKEY, [239, 1, 2, 5]), FULL);
    let few_components = GROUP_JOIN & !(0b11 << 4 | 0b11 << 8 | 1 << 14);
    let reply = b
        .join_as(lab, few_components, &request)
        .expect("is created");
    let parameters = |m: &Member| [m.0[38], m.0[42], m.0[47]];
    assert_eq!(parameters(&reply), parameters(&created));
    // The MGID of a broadcast group contains the P_Key. It cannot be created with another P_Key, or
    // before its partition exists.
    for pkey in [PKEY + 1, 0xFFFF] {
        let request = b.like_broadcast(broadcast(pkey ^ 0x40), FULL);
        let reply = b.join_as(lab, GROUP_JOIN, &request);
        assert_eq!(reply, Err(Status::REQ_INVALID), "{pkey:#x}");
    }
    // A join without the required components creates no group.
    let incomplete = b.plain(ipv4(PKEY, [239, 1, 2, 4]), FULL);
    let reply = b.join_as(lab, BROADCAST_JOIN, &incomplete);
    assert_eq!(reply, Err(Status::INSUFFICIENT_COMPONENTS));
    // The P_Key of limited members names the same partition; the group has the full members' P_Key.
    let mut request = b.like_broadcast(existing_group, FULL);
    request.0[40] = 0;
    let limited = b.send(lab, (Method::Set, id::MC_MEMBER), GROUP_JOIN, &request.0);
    assert_eq!(limited.map(|r| [r[40], r[41]]), Ok([0x80, 2]));
}

/// Send-only full members create a group and keep it alive, and receive nothing.
#[test]
fn send_only_members_receive_nothing() {
    const SEND_ONLY_FULL_MEMBER: u32 = 1 << 12;
    let mut case = up();
    let lab = &mut case.lab;
    let [a, b, c] = &mut case.full[..] else {
        panic!("three full members")
    };
    let supported = a.capability_mask2(lab) & SEND_ONLY_FULL_MEMBER;
    assert_ne!(supported, 0, "otherwise the kernel joins as a full member");
    let mut tables = BTreeMap::<u16, (Vec<PortAt>, Vec<PortAt>)>::new();
    for interface in [&mut *a, &mut *b, &mut *c] {
        let reply = interface.up(lab).expect("joins");
        tables.entry(reply.mlid()).or_default().0.push(interface.at);
    }
    let mgid = ipv4(PKEY, [239, 7, 7, 7]);
    let reply = a
        .join(lab, mgid, SEND_ONLY_FULL)
        .expect("creates the group");
    assert_eq!(reply.join_state(), SEND_ONLY_FULL);
    tables.entry(reply.mlid()).or_default().1.push(a.at);
    let reply = b.join(lab, mgid, FULL).expect("joins");
    tables.entry(reply.mlid()).or_default().0.push(b.at);
    // A limited member may be a send-only member too.
    let d = &mut case.limited[0];
    let at_broadcast = d.up(lab).expect("joins");
    tables.entry(at_broadcast.mlid()).or_default().0.push(d.at);
    let reply = d.join(lab, mgid, SEND_ONLY_FULL).expect("joins");
    tables.entry(reply.mlid()).or_default().1.push(d.at);
    assert_tables(&mut case, &tables);

    // A send-only member also joins as receiver: both JoinState bits are set, and are cleared one
    // by one.
    let lab = &mut case.lab;
    let a = &mut case.full[0];
    let reply = a.join(lab, mgid, FULL).expect("joins");
    assert_eq!(reply.join_state(), FULL | SEND_ONLY_FULL);
    a.leave(lab, mgid, FULL).expect("leaves");
    assert_tables(&mut case, &tables);
    let lab = &mut case.lab;
    for interface in [&mut case.full[0], &mut case.limited[0]] {
        interface.leave(lab, mgid, SEND_ONLY_FULL).expect("leaves");
    }
    case.full[1].leave(lab, mgid, FULL).expect("leaves");
    let rejoin = case.full[2].join(lab, mgid, 4);
    assert_eq!(
        rejoin,
        Err(Status::REQ_INVALID),
        "the group has no members left"
    );
}

/// A new SM without registrations sets ClientReregister. The kernel leaves its groups, whatever the
/// reply, and joins them again.
#[test]
fn members_rejoin_on_client_reregister() {
    let mut case = up();
    let usual = |i: &Interface| usual_groups(i);
    let lab = &mut case.lab;
    for interface in case.full.iter_mut().chain(&mut case.limited) {
        interface.up(lab).expect("joins");
        for mgid in usual(interface) {
            interface.join(lab, mgid, FULL).expect("joins");
        }
    }
    let reregisters = |lab: &Lab| -> Vec<u32> {
        let fabric = lab.world.fabric();
        let hosts = lab.hosts();
        hosts
            .iter()
            .map(|at| fabric.client_reregisters(*at))
            .collect()
    };
    let before = reregisters(lab);
    let cfg = config(lab, GroupSpec::ipoib(NUMBER));
    lab.world.kill(lab.sm);
    lab.restart_sm(cfg, RestoredState::default());
    assert!(lab.next_sweep(60).is_clean());
    for (at, (before, after)) in lab.hosts().iter().zip(before.iter().zip(reregisters(lab))) {
        assert!(after > *before || *at == lab.at, "{at:?} {before} {after}");
    }
    let mut tables = BTreeMap::<u16, (Vec<PortAt>, Vec<PortAt>)>::new();
    for interface in case.full.iter_mut().chain(&mut case.limited) {
        for mgid in usual(interface) {
            let _ = interface.leave(lab, mgid, FULL);
        }
        let mgid = broadcast(PKEY);
        assert_eq!(interface.leave(lab, mgid, FULL), Err(Status::REQ_INVALID));
        let reply = interface.up(lab).expect("joins");
        tables.entry(reply.mlid()).or_default().0.push(interface.at);
        for mgid in usual(interface) {
            let reply = interface.join(lab, mgid, FULL).expect("joins");
            let receivers = &mut tables.entry(reply.mlid()).or_default().0;
            if !receivers.contains(&interface.at) {
                receivers.push(interface.at);
            }
        }
    }
    assert_tables(&mut case, &tables);
}
