//! IPoIB as the Linux kernel does it: what a host sends while its interface comes up, sends to groups and to neighbours, goes
//! down, and hears of a new subnet manager, and what it looks at in the answers.
//!
//! The requests are put together byte by byte with the component masks of `ipoib_multicast.c`, `ipoib_main.c` and core
//! `multicast.c` and `sa_query.c` (Linux 6). The kernel subscribes to nothing at the SA: it joins again when its port is told to
//! register again, or learns of another subnet manager.

#![allow(clippy::expect_used, clippy::unwrap_in_result, reason = "test helpers")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ferrosm_core::plan::partitions::partition_group::GroupSpec;
use ferrosm_core::plan::partitions::{
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
use ferrosm_tests::multicast_members::ask;
use ferrosm_tests::simulated::Lab;

/// Number of the partition; its full members' key is 0x8002.
const NUMBER: u16 = 2;
const PKEY: u16 = 0x8002;
const SPEC: &str = "fat-tree:4";

/// MGID, PortGID, P_Key and JoinState: how the kernel joins the broadcast group.
const BROADCAST_JOIN: u64 = 1 | 1 << 1 | 1 << 7 | 1 << 16;
/// The same with Q_Key, MTU, TClass, rate, SL, FlowLabel and HopLimit: every other group.
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
/// Bytes of the IPoIB header, which come off the MTU.
const ENCAP: u16 = 4;

/// MCMemberRecord as bytes.
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

    /// What the kernel compares when a second user of the same host wants the group (`cmp_rec`).
    fn satisfies(&self, asked: &Self, mask: u64) -> bool {
        let same = |bit: u32, yes: bool| mask & 1 << bit == 0 || yes;
        same(1, self.port_gid() == asked.port_gid())
            && same(2, self.qkey() == asked.qkey())
            && same(5, self.mtu() == asked.mtu())
            && same(6, self.tclass() == asked.tclass())
            && same(7, self.pkey() == asked.pkey())
            && same(9, self.rate() == asked.rate())
            && same(12, self.sl_flow_hop() == asked.sl_flow_hop())
    }
}

/// A host's IPoIB interface.
struct Interface {
    at: PortAt,
    gid: [u8; 16],
    /// The key with the top bit set, which the kernel does for limited members too.
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
        what: (Method, ferrosm_mad::ids::AttrId),
        mask: u64,
        data: &[u8],
    ) -> Result<Vec<u8>, Status> {
        self.tid += 1;
        let (status, data) = ask(lab, self.at, what, self.tid, mask, data);
        if status.is_ok() {
            Ok(data)
        } else {
            Err(status)
        }
    }

    fn join_as(&mut self, lab: &mut Lab, mask: u64, asked: &Member) -> Result<Member, Status> {
        let data = self.send(lab, (Method::Set, id::MC_MEMBER), mask, &asked.0)?;
        let told = Member(data[..52].try_into().expect("a record"));
        // It looks groups up by MGID, attaches its QP and makes an address of LID, SL, rate and GRH.
        assert_eq!(told.mgid(), asked.mgid());
        assert_eq!(told.port_gid(), asked.port_gid());
        assert!(
            (0xC000..0xFFFF).contains(&told.mlid()),
            "{:#x}",
            told.mlid()
        );
        assert!((1..=5).contains(&told.mtu()), "{told:?}");
        assert!(told.rate() >= 2, "{told:?}");
        assert_eq!(told.scope(), told.mgid()[1] & 0xF);
        assert_eq!(told.join_state() & asked.join_state(), asked.join_state());
        assert!(told.satisfies(asked, mask), "{told:?} for {asked:?}");
        Ok(told)
    }

    fn plain(&self, mgid: [u8; 16], join_state: u8) -> Member {
        let mut record = [0; 52];
        record[..16].copy_from_slice(&mgid);
        record[16..32].copy_from_slice(&self.gid);
        record[40..42].copy_from_slice(&self.pkey.to_be_bytes());
        record[48] = join_state;
        Member(record)
    }

    /// What the kernel asks for a group that is not the broadcast group: RFC 4391 wants the parameters of that one.
    fn like_broadcast(&self, mgid: [u8; 16], join_state: u8) -> Member {
        let model = self.broadcast.expect("the broadcast group comes first").0;
        let mut record = self.plain(mgid, join_state).0;
        record[32..36].copy_from_slice(&model[32..36]);
        record[38] = EXACTLY | model[38] & 0x3F;
        record[39] = model[39];
        record[42] = EXACTLY | model[42] & 0x3F;
        record[44..48].copy_from_slice(&model[44..48]);
        Member(record)
    }

    /// The interface comes up: it joins the broadcast group, whose MTU and Q_Key become its own.
    fn up(&mut self, lab: &mut Lab) -> Result<Member, Status> {
        let asked = self.plain(broadcast(self.pkey), FULL);
        let told = self.join_as(lab, BROADCAST_JOIN, &asked)?;
        self.broadcast = Some(told);
        Ok(told)
    }

    fn join(&mut self, lab: &mut Lab, mgid: [u8; 16], how: u8) -> Result<Member, Status> {
        let asked = self.like_broadcast(mgid, how);
        self.join_as(lab, GROUP_JOIN, &asked)
    }

    fn leave(&mut self, lab: &mut Lab, mgid: [u8; 16], how: u8) -> Result<(), Status> {
        let mut record = self.plain(mgid, how).0;
        // The kernel leaves the rest of what it was told in the record; the mask says that it means nothing.
        record[32..36].fill(0xEE);
        self.send(lab, (Method::Delete, id::MC_MEMBER), LEAVE, &record)?;
        Ok(())
    }

    /// The MTU of the interface in datagram mode.
    fn mtu(&self) -> u16 {
        let code = self.broadcast.map_or(0, |b| b.mtu());
        (128 << code) - ENCAP
    }

    /// The way to a neighbour whose address ARP has told.
    fn path(&mut self, lab: &mut Lab, to: &Self) -> Result<[u8; 64], Status> {
        let mut record = [0; 64];
        record[8..24].copy_from_slice(&to.gid);
        record[24..40].copy_from_slice(&self.gid);
        record[48] = self.broadcast.map_or(0, |b| b.tclass());
        record[49] = 1;
        record[50..52].copy_from_slice(&self.pkey.to_be_bytes());
        let data = self.send(lab, (Method::Get, id::PATH), PATH, &record)?;
        let told: [u8; 64] = data[..64].try_into().expect("a record");
        // What the kernel makes an address of, and what else it compares.
        assert_eq!(told[8..40], record[8..40], "DGID and SGID");
        assert_eq!(told[40..42], lid(lab, to.at).to_be_bytes(), "DLID");
        assert_eq!(told[42..44], lid(lab, self.at).to_be_bytes(), "SLID");
        assert_eq!(told[44..48], [0; 4], "no GRH in a subnet: HopLimit 0");
        assert_eq!(told[48], record[48], "TClass");
        assert_eq!(told[49] & 0x80, 0x80, "reversible");
        assert_eq!(told[50..52], record[50..52], "P_Key");
        assert_eq!((told[54] >> 6, told[55] >> 6, told[56] >> 6), (2, 2, 2));
        assert!((1..=5).contains(&(told[54] & 0x3F)), "MTU");
        assert!(told[56] & 0x3F <= 20, "packets live shorter than 5 s");
        Ok(told)
    }

    /// CapabilityMask2 of ClassPortInfo, which the kernel asks for first, with no component.
    fn capability_mask2(&mut self, lab: &mut Lab) -> u32 {
        let what = (Method::Get, id::CLASS_PORT_INFO);
        let data = self.send(lab, what, 0, &[]).expect("ClassPortInfo");
        assert_eq!(data[..2], [1, 2], "base and class version");
        u32::from_be_bytes([data[4], data[5], data[6], data[7]]) >> 5
    }
}

fn lid(lab: &Lab, at: PortAt) -> u16 {
    lab.world.fabric().lid(at).0.0
}

/// MGIDs of IP (RFC 4391): the low 28 bits of an IPv4 address, the low 80 bits of an IPv6 one.
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

/// 224.0.0.1, ff02::1, and the solicited-node group of a port.
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
    /// A host that is not in the partition.
    outside: Interface,
}

fn config(lab: &Lab, group: GroupSpec) -> SmConfig {
    let guid = |at: &PortAt| MemberSelector::Port(lab.world.fabric().port_guid(*at));
    let hosts = hosts(lab);
    let members = |range: &[PortAt], how| -> Vec<(MemberSelector, Membership)> {
        range.iter().map(|at| (guid(at), how)).collect()
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

fn hosts(lab: &Lab) -> Vec<PortAt> {
    let fabric = lab.world.fabric();
    fabric.end_ports().filter(|p| p.port != 0).collect()
}

fn up_with(group: GroupSpec) -> Case {
    let cfg = config(&Lab::new(SPEC, 1), group);
    let mut lab = Lab::with(SPEC, 1, cfg);
    let report = lab.next_sweep(60);
    assert!(report.is_clean(), "{:?}", report.problems);
    let hosts = hosts(&lab);
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

/// What tables should hold: exactly these groups, each with who receives and who only sends.
fn expect(case: &Case, groups: &BTreeMap<u16, (Vec<PortAt>, Vec<PortAt>)>) -> Expectations {
    let lab = &case.lab;
    let mut expect = lab.expect();
    for at in lab.world.fabric().end_ports() {
        let default = if at == lab.at { 0xFFFF } else { 0x7FFF };
        let is = |all: &[Interface]| all.iter().any(|i| i.at == at);
        let own = match (is(&case.full), is(&case.limited)) {
            (true, _) => Some(PKEY),
            (_, true) => Some(NUMBER),
            _ => None,
        };
        let keys = [Some(default), own].into_iter().flatten().map(PKey);
        expect.partitions.keys.insert(at, keys.collect());
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
    if let Err(why) = case.lab.verdict(&expected) {
        panic!("{} {why}", case.lab.repeat());
    }
}

/// Full and limited members come up, join what a Linux host joins, reach each other as far as they may, and go down again.
#[test]
fn ipoib_hosts_join_communicate_and_leave() {
    let mut case = up();
    let lab = &mut case.lab;
    let mut tables = BTreeMap::<u16, (Vec<PortAt>, Vec<PortAt>)>::new();
    for interface in case.full.iter_mut().chain(&mut case.limited) {
        let told = interface.up(lab).expect("joins");
        assert_eq!((told.pkey(), interface.mtu()), (PKEY, 2044));
        assert_eq!(told.qkey(), [0, 0, 0x0B, 0x1B]);
        assert_eq!(told.sl_flow_hop(), [0; 4]);
        tables.entry(told.mlid()).or_default().0.push(interface.at);
        for mgid in usual_groups(interface) {
            let told = interface.join(lab, mgid, FULL).expect("joins");
            let again = interface.join(lab, mgid, FULL).expect("joins again");
            assert_eq!(told, again, "the second time changes nothing");
            let of_it = &mut tables.entry(told.mlid()).or_default().0;
            assert!(!of_it.contains(&interface.at) || mgid[2] == 0x60);
            if !of_it.contains(&interface.at) {
                of_it.push(interface.at);
            }
        }
    }
    assert_eq!(case.outside.up(lab), Err(Status::REQ_INVALID));
    assert_tables(&mut case, &tables);

    let lab = &mut case.lab;
    let (full, limited) = (&mut case.full, &mut case.limited);
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
            // What it does if the answer was lost.
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

/// A group with packets of 4,096 bytes gives an interface of 4,092; who cannot take them does not get in.
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
    let told = one.up(&mut case.lab).expect("joins");
    assert_eq!((told.mtu(), one.mtu()), (5, 4092));
    let all = one.join(&mut case.lab, ipv4(PKEY, [224, 0, 0, 1]), FULL);
    assert_eq!(all.expect("joins").mtu(), 5);
    let way = one.path(&mut case.lab, two).expect("a path");
    assert_eq!(way[54] & 0x3F, 5, "the path takes them too");
    two.up(&mut case.lab).expect("joins");

    // Faster than any port of this fabric.
    let rate = RateCode::ASCENDING.last().copied().expect("rates");
    let group = GroupSpec {
        rate,
        ..GroupSpec::ipoib(NUMBER)
    };
    let mut case = up_with(group);
    let told = case.full[0].up(&mut case.lab);
    assert_eq!(told, Err(Status::REQ_INVALID), "{rate:?}");
}

/// A group of the partition that differs from its broadcast group in what RFC 4391 wants equal is not made, and one that is
/// there is joined only with its own parameters.
#[test]
fn wrong_group_parameters_are_rejected() {
    type Wrong = (&'static str, fn(&mut [u8; 52]));
    let wrong: [Wrong; 7] = [
        ("Q_Key", |r| r[35] ^= 1),
        ("MTU", |r| r[38] = EXACTLY | 1),
        ("TClass", |r| r[39] ^= 1),
        ("P_Key of nobody", |r| r[41] ^= 1),
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
    let there = ipv4(PKEY, [224, 0, 0, 1]);
    a.join(lab, there, FULL).expect("joins");
    for (what, change) in wrong {
        let mut asked = b.like_broadcast(there, FULL);
        change(&mut asked.0);
        let told = b.join_as(lab, GROUP_JOIN, &asked);
        assert_eq!(told, Err(Status::REQ_INVALID), "{what}");
    }
    b.join(lab, there, FULL).expect("joins");
    let new = ipv4(PKEY, [239, 1, 2, 3]);
    // Nor is a new group for smaller, slower, larger or faster packets: hosts ask for exactly what the broadcast group has, and
    // would be kept out.
    let more: [Wrong; 2] = [
        ("more MTU", |r| r[38] = EXACTLY | 5),
        ("more rate", |r| r[42] = EXACTLY | 7),
    ];
    for (what, change) in wrong.into_iter().chain(more) {
        let mut asked = b.like_broadcast(new, FULL);
        change(&mut asked.0);
        let told = b.join_as(lab, GROUP_JOIN, &asked);
        assert_eq!(told, Err(Status::REQ_INVALID), "{what}");
    }
    let made = b.join(lab, new, FULL).expect("is made");
    // Who names neither MTU nor rate nor HopLimit gets those of the broadcast group.
    let asked = b.like_broadcast(ipv4(PKEY, [239, 1, 2, 5]), FULL);
    let few = GROUP_JOIN & !(0b11 << 4 | 0b11 << 8 | 1 << 14);
    let told = b.join_as(lab, few, &asked).expect("is made");
    let same = |m: &Member| [m.0[38], m.0[42], m.0[47]];
    assert_eq!(same(&told), same(&made));
    // A broadcast group has the P_Key in its name: nobody takes the name for another partition, or before it is there.
    for named in [PKEY + 1, 0xFFFF] {
        let asked = b.like_broadcast(broadcast(named ^ 0x40), FULL);
        let told = b.join_as(lab, GROUP_JOIN, &asked);
        assert_eq!(told, Err(Status::REQ_INVALID), "{named:#x}");
    }
    // Without the parameters there is nothing to make a group of.
    let bare = b.plain(ipv4(PKEY, [239, 1, 2, 4]), FULL);
    let told = b.join_as(lab, BROADCAST_JOIN, &bare);
    assert_eq!(told, Err(Status::INSUFFICIENT_COMPONENTS));
    // The key of limited members names the same partition; the group goes by the full members' key.
    let mut asked = b.like_broadcast(there, FULL);
    asked.0[40] = 0;
    let limited = b.send(lab, (Method::Set, id::MC_MEMBER), GROUP_JOIN, &asked.0);
    assert_eq!(limited.map(|r| [r[40], r[41]]), Ok([0x80, 2]));
}

/// Send-only full members make a group and keep it, and receive nothing.
#[test]
fn send_only_members_join_as_such() {
    const SEND_ONLY_FULL_MEMBER: u32 = 1 << 12;
    let mut case = up();
    let lab = &mut case.lab;
    let [a, b, c] = &mut case.full[..] else {
        panic!("three full members")
    };
    let can = a.capability_mask2(lab) & SEND_ONLY_FULL_MEMBER;
    assert_ne!(can, 0, "otherwise the kernel joins as a full member");
    let mut tables = BTreeMap::<u16, (Vec<PortAt>, Vec<PortAt>)>::new();
    for interface in [&mut *a, &mut *b, &mut *c] {
        let told = interface.up(lab).expect("joins");
        tables.entry(told.mlid()).or_default().0.push(interface.at);
    }
    let mgid = ipv4(PKEY, [239, 7, 7, 7]);
    let told = a.join(lab, mgid, SEND_ONLY_FULL).expect("makes the group");
    assert_eq!(told.join_state(), SEND_ONLY_FULL);
    tables.entry(told.mlid()).or_default().1.push(a.at);
    let told = b.join(lab, mgid, FULL).expect("joins");
    tables.entry(told.mlid()).or_default().0.push(b.at);
    // A limited member may send too.
    let d = &mut case.limited[0];
    let at_broadcast = d.up(lab).expect("joins");
    tables.entry(at_broadcast.mlid()).or_default().0.push(d.at);
    let told = d.join(lab, mgid, SEND_ONLY_FULL).expect("joins");
    tables.entry(told.mlid()).or_default().1.push(d.at);
    assert_tables(&mut case, &tables);

    // A member becomes a receiver too: both bits are set, and go one by one.
    let lab = &mut case.lab;
    let a = &mut case.full[0];
    let told = a.join(lab, mgid, FULL).expect("joins");
    assert_eq!(told.join_state(), FULL | SEND_ONLY_FULL);
    a.leave(lab, mgid, FULL).expect("leaves");
    assert_tables(&mut case, &tables);
    let lab = &mut case.lab;
    for who in [&mut case.full[0], &mut case.limited[0]] {
        who.leave(lab, mgid, SEND_ONLY_FULL).expect("leaves");
    }
    case.full[1].leave(lab, mgid, FULL).expect("leaves");
    let gone = case.full[2].join(lab, mgid, 4);
    assert_eq!(gone, Err(Status::REQ_INVALID), "nobody is left in it");
}

/// Another subnet manager, which knows of nobody: ports are told to register again. The kernel leaves what it was in, whatever
/// it is answered, and joins as before.
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
    let told = |lab: &Lab| -> Vec<u32> {
        let fabric = lab.world.fabric();
        let hosts = hosts(lab);
        hosts
            .iter()
            .map(|at| fabric.client_reregisters(*at))
            .collect()
    };
    let before = told(lab);
    let cfg = config(lab, GroupSpec::ipoib(NUMBER));
    lab.world.kill(lab.sm);
    lab.restart_sm(cfg, RestoredState::default());
    assert!(lab.next_sweep(60).is_clean());
    for (at, (before, after)) in hosts(lab).iter().zip(before.iter().zip(told(lab))) {
        assert!(after > *before || *at == lab.at, "{at:?} {before} {after}");
    }
    let mut tables = BTreeMap::<u16, (Vec<PortAt>, Vec<PortAt>)>::new();
    for interface in case.full.iter_mut().chain(&mut case.limited) {
        for mgid in usual(interface) {
            let _ = interface.leave(lab, mgid, FULL);
        }
        let mgid = broadcast(PKEY);
        assert_eq!(interface.leave(lab, mgid, FULL), Err(Status::REQ_INVALID));
        let told = interface.up(lab).expect("joins");
        tables.entry(told.mlid()).or_default().0.push(interface.at);
        for mgid in usual(interface) {
            let told = interface.join(lab, mgid, FULL).expect("joins");
            let of_it = &mut tables.entry(told.mlid()).or_default().0;
            if !of_it.contains(&interface.at) {
                of_it.push(interface.at);
            }
        }
    }
    assert_tables(&mut case, &tables);
}
