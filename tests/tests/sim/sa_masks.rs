//! Every component of every SA record, alone and combined, compared with result sets computed
//! without the code under test.
//!
//! For each fabric, the whole tables are compared with the devices
//! ([`ferrosm_tests::sa::expected`]). Each query is then compared with the table filtered bit by
//! bit ([`ferrosm_tests::sa::layout`]). Fields outside the component mask contain random bits.
//!
//! Each fabric gets `FERROSM_SA_MASKS` random masks (default 2,000) from seed `FERROSM_SA_SEED`
//! (default 1). For a long run use
//! `FERROSM_SA_MASKS=500000 cargo test --release -p ferrosm-tests --test sim sa_masks`.

#![allow(clippy::print_stdout, reason = "test helpers")]

use std::collections::BTreeMap;

use ferrosm_core::SmConfig;
use ferrosm_mad::ids::Lmc;
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::{Lab, TestRng};
use ferrosm_tests::sa::expected::{self as expected_records, ExpectedRecord};
use ferrosm_tests::sa::layout::{self as layout, Component, Layout};
use ferrosm_tests::sa::wire::{
    WireReply, WireRequest, bit, field, method, put_field, query, status,
};

const SM_KEY: u64 = 1;

fn from_env(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is `{text}`, expected a number"))
    })
}

/// A fabric after bring-up, with client registrations.
struct TestSubnet {
    lab: Lab,
    rng: TestRng,
    /// Host that sends the queries.
    client: PortAt,
}

impl TestSubnet {
    fn new(spec: &str, cfg: SmConfig) -> Self {
        let mut lab = Lab::with(spec, 5, cfg);
        lab.next_sweep(120);
        let seed = from_env("FERROSM_SA_SEED", 1);
        let mut subnet = Self {
            client: lab.at,
            lab,
            rng: TestRng::new(seed),
        };
        subnet.register();
        // Wait until the MFTs are written and the view is published.
        subnet.lab.world.run_for(core::time::Duration::from_secs(5));
        println!("{} masks from seed {seed}", subnet.lab.describe_run());
        subnet
    }

    fn hosts(&self) -> Vec<PortAt> {
        let ends = expected_records::end_ports(&self.lab).into_iter();
        ends.filter(|at| at.port != 0).collect()
    }

    fn switches(&self) -> Vec<u16> {
        let ends = expected_records::end_ports(&self.lab).into_iter();
        let switches = ends.filter(|at| at.port == 0);
        switches
            .map(|at| expected_records::lid(&self.lab, at))
            .collect()
    }

    /// Base LID and number of LIDs of the port with this LID.
    fn range_of(&self, lid: u16) -> Option<(u16, u16)> {
        let fabric = self.lab.world.fabric();
        let ends = expected_records::end_ports(&self.lab).into_iter();
        let mut ranges = ends
            .map(|at| fabric.lid(at))
            .map(|(l, lmc)| (l.0, 1 << lmc));
        ranges.find(|(base, count)| (*base..base.saturating_add(*count)).contains(&lid))
    }

    fn query(
        &mut self,
        layout: &Layout,
        method_code: u8,
        key: u64,
        mask: u64,
        data: &[u8],
    ) -> WireReply {
        let request = WireRequest {
            sm_key: key,
            mask,
            data: data.to_vec(),
            ..WireRequest::new(
                expected_records::lid(&self.lab, self.client),
                method_code,
                layout.attr,
            )
        };
        query(&mut self.lab, &request)
    }

    /// Records of a GetTable reply.
    fn table(&mut self, layout: &Layout, key: u64, mask: u64, data: &[u8]) -> Vec<Vec<u8>> {
        let reply = self.query(layout, method::GET_TABLE, key, mask, data);
        assert_eq!(
            (reply.status, reply.method),
            (status::OK, 0x92),
            "{}",
            layout.name
        );
        assert_eq!(reply.attr, layout.attr);
        if let Some(first) = reply.records.first() {
            assert_eq!(first.len(), layout.stride, "{}", layout.name);
        }
        let mut records = reply.records;
        records.sort();
        records
    }

    fn random_record(&mut self, layout: &Layout) -> Vec<u8> {
        let mut data: Vec<u8> = (0..200).map(|_| self.rng.next().to_le_bytes()[0]).collect();
        if layout.attr == 0x12 {
            // Options is not a criterion: it selects how speeds are reported.
            data[3] = 0;
        }
        if layout.attr == 0x38 {
            // ProxyJoin is also accepted at a second offset that some clients use.
            data[49] &= 0x80;
        }
        data
    }

    /// Registers groups, services and subscriptions of some hosts.
    fn register(&mut self) {
        let hosts = self.hosts();
        let members = hosts
            .iter()
            .copied()
            .filter(|h| expected_records::is_member(&self.lab, *h, 0xFFFF));
        let members: Vec<PortAt> = members.collect();
        for n in 0..6u64 {
            for _ in 0..3 {
                let at = members[self.rng.index(members.len())];
                self.join(at, n);
            }
        }
        for n in 0..12u64 {
            let at = hosts[self.rng.index(hosts.len())];
            self.offer(at, n);
            self.subscribe(at, n);
        }
    }

    fn gid(&self, at: PortAt) -> [u8; 16] {
        let mut gid = [0; 16];
        gid[..2].copy_from_slice(&[0xFE, 0x80]);
        gid[8..].copy_from_slice(&self.lab.world.fabric().port_guid(at).0.to_be_bytes());
        gid
    }

    fn set(&mut self, at: PortAt, attr: u16, mask: u64, data: Vec<u8>) {
        let request = WireRequest {
            mask,
            data,
            ..WireRequest::new(expected_records::lid(&self.lab, at), method::SET, attr)
        };
        let reply = query(&mut self.lab, &request);
        assert_eq!(
            reply.status,
            status::OK,
            "{} {request:?}",
            self.lab.describe_run()
        );
    }

    fn join(&mut self, at: PortAt, n: u64) {
        const MASK: u64 = 0b11_0011_1111_0111 | 1 << 12 | 1 << 13 | 1 << 16;
        let view = self
            .lab
            .manager()
            .core()
            .view()
            .and_then(|v| v.multicast_sl());
        let sl = view.map_or(0, |sl| sl.0);
        let mut data = vec![0; 56];
        data[0] = 0xFF;
        data[1] = if n.is_multiple_of(2) { 0x12 } else { 0x15 };
        data[15] = u8::try_from(n).unwrap_or(0);
        data[16..32].copy_from_slice(&self.gid(at));
        for (at, width, value) in [
            (256, 32, 0x0B1B + n / 2),
            (304, 8, 2 << 6 | 4),
            (312, 8, n % 3),
            (320, 16, 0xFFFF),
            (336, 8, 2 << 6 | 3),
            (352, 4, u64::from(sl)),
            (356, 20, n * 77),
            (388, 4, 1),
        ] {
            put_field(&mut data, at, width, value);
        }
        // No MLID or packet life time.
        let mask = MASK & !(1 << 3) & !(0b11 << 10);
        self.set(at, 0x38, mask, data);
    }

    fn offer(&mut self, at: PortAt, n: u64) {
        let mut data = vec![0; 176];
        put_field(&mut data, 0, 64, 0x1000 + n / 3);
        data[8..24].copy_from_slice(&self.gid(at));
        put_field(&mut data, 192, 16, 0xFFFF);
        put_field(&mut data, 224, 32, 1000 + n % 4);
        put_field(&mut data, 256, 64, n % 5);
        data[48..53].copy_from_slice(b"name0");
        data[52] += u8::try_from(n % 3).unwrap_or(0);
        for byte in &mut data[112..] {
            *byte = self.rng.next().to_le_bytes()[0] & 3;
        }
        self.set(at, 0x31, 0b111_0011, data);
    }

    fn subscribe(&mut self, at: PortAt, n: u64) {
        let mut data = vec![0; 40];
        for (at, width, value) in [
            (128, 16, if n.is_multiple_of(3) { 0xFFFF } else { n }),
            (144, 16, n / 2),
            (176, 8, 1),
            (184, 8, 1),
            (192, 16, n % 3),
            (208, 16, 64 + n % 4),
            (224, 24, 1 + n % 2),
            (251, 5, n % 7),
            (264, 24, 4),
        ] {
            put_field(&mut data, at, width, value);
        }
        self.set(at, 0x03, 0, data);
    }
}

/// Offsets of the LID components that match any LID of a port with LMC above 0.
fn lids_of(kind: &Layout) -> &'static [(u8, usize)] {
    match kind.attr {
        0x20 => &[(0, 0), (3, 32)],
        0x31 | 0x38 | 0xF3 => &[],
        _ => &[(0, 0)],
    }
}

/// Checks GetTable and Get for one query: all, one or no records.
fn check_query(
    subnet: &mut TestSubnet,
    kind: &Layout,
    key: u64,
    records: &[Vec<u8>],
    mask: u64,
    data: &[u8],
) {
    // A component for the base LID matches any LID of the port, and a random LID may belong to the
    // same port.
    let mut requested = data.to_vec();
    let mut data = data.to_vec();
    for (component, at) in lids_of(kind) {
        let lid = u16::try_from(field(&data, *at, 16)).unwrap_or(0);
        if mask >> component & 1 != 0
            && let Some((base, count)) = subnet.range_of(lid)
        {
            let other = usize::from(base) + subnet.rng.index(usize::from(count));
            put_field(&mut data, *at, 16, u64::from(base));
            put_field(&mut requested, *at, 16, other as u64);
        }
    }
    let data = &data;
    let switches = subnet.switches();
    let matches = |r: &&Vec<u8>| kind.matches(mask & !meaningless(kind, r, &switches), data, r);
    let expected: Vec<&Vec<u8>> = records.iter().filter(matches).collect();
    let found = subnet.table(kind, key, mask, &requested);
    let reply = subnet.query(kind, method::GET, key, mask, &requested);
    let context = || {
        format!(
            "{} {} mask {mask:#x} requested {:02x?}",
            subnet.lab.describe_run(),
            kind.name,
            &requested[..kind.stride.min(requested.len())]
        )
    };
    assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{}", context());
    match expected.as_slice() {
        [] => assert_eq!(reply.status, status::NO_RECORDS, "{}", context()),
        [one] => {
            assert_eq!(reply.status, status::OK, "{}", context());
            assert_eq!(reply.records, [(*one).clone()], "{}", context());
        }
        _ => assert_eq!(reply.status, status::TOO_MANY_RECORDS, "{}", context()),
    }
}

/// Components without meaning for a record: the ports in SLtoVL and VL arbitration records if the
/// LID belongs to a CA or router port (IBA vol. 1, 15.2.5.6 and 15.2.5.7).
fn meaningless(kind: &Layout, record: &[u8], switches: &[u16]) -> u64 {
    if switches.contains(&u16::from_be_bytes([record[0], record[1]])) {
        return 0;
    }
    match kind.attr {
        0x13 => 0b110,
        0x36 => 0b010,
        _ => 0,
    }
}

/// A component value that occurs in no record, if one exists.
fn absent(rng: &mut TestRng, component: &Component, records: &[Vec<u8>]) -> Option<Vec<u8>> {
    (0..16).find_map(|_| {
        let random_record: Vec<u8> = (0..200).map(|_| rng.next().to_le_bytes()[0]).collect();
        let taken = records.iter().any(|r| component.same(r, &random_record));
        (!taken).then_some(random_record)
    })
}

/// Each component alone, with values that occur and values that do not.
fn single_components(subnet: &mut TestSubnet, kind: &Layout, key: u64, records: &[Vec<u8>]) {
    const VALUES: usize = 6;
    for component in &kind.components {
        let mut values: Vec<&Vec<u8>> = Vec::new();
        for record in records {
            if !values.iter().any(|v| component.same(v, record)) {
                values.push(record);
            }
        }
        let skip = subnet.rng.index(values.len().saturating_sub(VALUES) + 1);
        let mut donors: Vec<Vec<u8>> = values
            .into_iter()
            .skip(skip)
            .take(VALUES)
            .cloned()
            .collect();
        donors.extend(absent(&mut subnet.rng, component, records));
        for donor in donors {
            let mut data = subnet.random_record(kind);
            component.copy(&donor, &mut data);
            check_query(subnet, kind, key, records, 1 << component.number, &data);
        }
    }
    for number in kind.no_criterion.iter().copied().chain([62]) {
        let data = subnet.random_record(kind);
        check_query(subnet, kind, key, records, 1 << number, &data);
    }
}

/// Random masks, with most values taken from one record so that queries match.
fn random_masks(subnet: &mut TestSubnet, kind: &Layout, key: u64, records: &[Vec<u8>], count: u64) {
    for _ in 0..count {
        let mut data = subnet.random_record(kind);
        let mut mask = 0;
        let donor = subnet.rng.index(records.len());
        for _ in 0..1 + subnet.rng.upto(7) {
            let component = kind.components[subnet.rng.index(kind.components.len())];
            let other = if subnet.rng.one_in(8) {
                subnet.rng.index(records.len())
            } else {
                donor
            };
            if let Some(record) = records.get(other).filter(|_| !subnet.rng.one_in(20)) {
                component.copy(record, &mut data);
            }
            mask |= 1 << component.number;
        }
        if subnet.rng.one_in(4) && !kind.no_criterion.is_empty() {
            mask |= 1 << kind.no_criterion[subnet.rng.index(kind.no_criterion.len())];
        }
        check_query(subnet, kind, key, records, mask, &data);
    }
}

/// Compares a table with the devices, restricted to what the client may see.
fn compare(
    subnet: &mut TestSubnet,
    kind: &Layout,
    found: &[Vec<u8>],
    should: &[ExpectedRecord],
    free: &[expected_records::IgnoredBits],
) {
    let mut expected = expected_records::seen_by(&subnet.lab, subnet.client, should);
    let mut found = found.to_vec();
    for record in expected.iter_mut().chain(&mut found) {
        expected_records::clear_bits(record, free);
    }
    expected.sort();
    found.sort();
    let context = format!("{} {}", subnet.lab.describe_run(), kind.name);
    assert_eq!(found.len(), expected.len(), "{context}");
    for (a, b) in found.iter().zip(&expected) {
        assert_eq!(a, b, "{context}");
    }
}

/// Every record that the SM reports equals the device's table, or is zeros: the SM does not know
/// every table. Returns the number of records that equal a table with entries.
fn compare_known(subnet: &mut TestSubnet, kind: &Layout, found: &[Vec<u8>]) -> usize {
    let mut known = 0;
    for record in found {
        let reported = &record[8..];
        if reported.iter().all(|&byte| byte == 0) {
            continue;
        }
        let present = expected_records::read_table(&mut subnet.lab, kind.attr, record);
        assert_eq!(
            present.as_deref(),
            Some(reported),
            "{} {record:?}",
            kind.name
        );
        known += 1;
    }
    known
}

/// Speeds for untrusted clients: a link with an extended speed is reported as QDR.
fn as_qdr(should: &mut [ExpectedRecord]) {
    for s in should {
        if field(&s.record, 32 + 496, 4) != 0 {
            for at in [256, 280, 284] {
                let value = field(&s.record, 32 + at, 4) | 4;
                put_field(&mut s.record, 32 + at, 4, value);
            }
        }
    }
}

/// Checks the tables of device attributes.
fn devices(subnet: &mut TestSubnet, masks: u64) {
    let lab = &mut subnet.lab;
    let mut infos = expected_records::port_infos(lab);
    as_qdr(&mut infos);
    let should: Vec<(
        Layout,
        Vec<ExpectedRecord>,
        Vec<expected_records::IgnoredBits>,
    )> = vec![
        // LocalPortNum depends on the path of discovery.
        (layout::node(), expected_records::nodes(lab), vec![(320, 8)]),
        (layout::port_info(), infos, vec![(32 + 224, 8)]),
        (
            layout::switch_info(),
            expected_records::switch_infos(lab),
            vec![],
        ),
        (layout::lft(), expected_records::lfts(lab), vec![]),
        (layout::mft(), expected_records::mfts(lab), vec![]),
        (layout::link(), expected_records::links(lab), vec![]),
        (layout::guid_info(), expected_records::guids(lab), vec![]),
        // ActCount is a counter and may grow.
        (
            layout::sm_info(),
            expected_records::sm_infos(lab, 0),
            vec![(160, 32)],
        ),
    ];
    for (kind, should, free) in should {
        let random_record = subnet.random_record(&kind);
        let all_records = subnet.table(&kind, 0, 0, &random_record);
        compare(subnet, &kind, &all_records, &should, &free);
        single_components(subnet, &kind, 0, &all_records);
        random_masks(subnet, &kind, 0, &all_records, masks);
    }
    for kind in [
        layout::sl_to_vl(),
        layout::vl_arbitration(),
        layout::pkey_table(),
    ] {
        let key = if kind.attr == 0x33 { SM_KEY } else { 0 };
        let all_records = subnet.table(&kind, key, 0, &[]);
        compare_known(subnet, &kind, &all_records);
        single_components(subnet, &kind, key, &all_records);
        random_masks(subnet, &kind, key, &all_records, masks);
    }
}

/// Checks the tables of client registrations.
fn registered(subnet: &mut TestSubnet, masks: u64) {
    for (kind, keys) in [
        (layout::mc_member(), [0, SM_KEY].as_slice()),
        (layout::inform_info(), &[0, SM_KEY]),
        (layout::service(), &[SM_KEY]),
    ] {
        for &key in keys {
            let mut kind = kind.clone();
            if key == 0 && kind.attr == 0x38 {
                // PortGID is hidden but may be queried: see `groups_of_a_member`.
                kind.components.retain(|c| c.number != 1);
            }
            let all_records = subnet.table(&kind, key, 0, &[]);
            assert!(
                all_records.len() > 4,
                "{} {}: {}",
                subnet.lab.describe_run(),
                kind.name,
                all_records.len()
            );
            single_components(subnet, &kind, key, &all_records);
            random_masks(subnet, &kind, key, &all_records, masks);
        }
    }
    groups_of_a_member(subnet);
}

/// An untrusted client that queries by PortGID gets the member's groups with a zero PortGID
/// (docs/sm-behaviour.md, 10.11).
fn groups_of_a_member(subnet: &mut TestSubnet) {
    let kind = layout::mc_member();
    let members = subnet.table(&kind, SM_KEY, 0, &[]);
    let of_group = |r: &Vec<u8>| r[..16].to_vec();
    let ports: std::collections::BTreeSet<Vec<u8>> =
        members.iter().map(|r| r[16..32].to_vec()).collect();
    for port in ports.into_iter().filter(|p| p[0] != 0) {
        let mut data = subnet.random_record(&kind);
        data[16..32].copy_from_slice(&port);
        let found = subnet.table(&kind, 0, 1 << 1, &data);
        let expected: Vec<Vec<u8>> = members
            .iter()
            .filter(|r| r[16..32] == port)
            .map(of_group)
            .collect();
        assert_eq!(found.iter().map(of_group).collect::<Vec<_>>(), expected);
        assert!(
            found
                .iter()
                .all(|r| r[16..32] == [0; 16] && r[48] & 0xF == 0)
        );
    }
}

fn check_all_tables(spec: &str, cfg: SmConfig) -> TestSubnet {
    let mut subnet = TestSubnet::new(spec, cfg);
    // The masks are divided among sixteen kinds of query.
    let masks = from_env("FERROSM_SA_MASKS", 2000) / 16;
    devices(&mut subnet, masks);
    registered(&mut subnet, masks);
    subnet
}

#[test]
fn fat_tree() {
    let mut subnet = check_all_tables("fat-tree:4", SmConfig::default());
    // A client at a switch gets the same replies.
    let ends = expected_records::end_ports(&subnet.lab);
    subnet.client = ends
        .into_iter()
        .find(|at| at.port == 0)
        .unwrap_or(subnet.client);
    devices(&mut subnet, 20);
}

#[test]
fn torus_with_vls_and_lmc() {
    let cfg = SmConfig {
        engines: vec!["torus-2QoS".to_owned(), "no_fallback".to_owned()],
        lmc: Lmc(1),
        ..SmConfig::default()
    };
    let mut subnet = check_all_tables("torus:3,3,1", cfg);
    let kind = layout::sl_to_vl();
    let maps = subnet.table(&kind, 0, 0, &[]);
    let reported: std::collections::BTreeSet<_> = maps
        .iter()
        .map(|r| (u16::from_be_bytes([r[0], r[1]]), r[2], r[3]))
        .collect();
    let sl_to_vl_port_pairs = expected_records::sl_to_vl_port_pairs(&subnet.lab);
    let missing: Vec<_> = sl_to_vl_port_pairs.difference(&reported).collect();
    assert!(
        missing.is_empty(),
        "no SLtoVLMappingTableRecord of {missing:?}"
    );
    // The SM writes these maps, so it knows them.
    assert!(compare_known(&mut subnet, &kind, &maps) > 0);
    assert!(
        !subnet
            .table(&layout::vl_arbitration(), 0, 0, &[])
            .is_empty()
    );
}

#[test]
fn ring() {
    check_all_tables("ring:5,1", SmConfig::default());
}

#[test]
fn routers_two_ports_and_speeds() {
    check_all_tables(
        "ring:4,2;routers=1;dual-port;mixed-speeds",
        SmConfig::default(),
    );
}

/// Two groups of hosts and a shared one. Hosts are limited members of the default partition.
#[test]
fn partitions() {
    let (cfg, hosts) = expected_records::partitions_that_overlap();
    let mut subnet = check_all_tables("fat-tree:4", cfg);
    let mut seen = BTreeMap::new();
    for client in [hosts[2], hosts[6], hosts[10], hosts[13]] {
        subnet.client = client;
        devices(&mut subnet, 20);
        let links = subnet.table(&layout::link(), 0, 0, &[]).len();
        let nodes = subnet.table(&layout::node(), 0, 0, &[]).len();
        seen.insert(client, (nodes, links));
    }
    assert!(seen.values().any(|s| *s != seen[&hosts[2]]), "{seen:?}");
}

/// Attribute modifier bit 31: CapabilityMask and CapabilityMask2 match if all bits of the query are
/// set.
#[test]
fn port_info_records_by_capability_mask_bits() {
    let mut subnet = TestSubnet::new("ring:4,2;routers=1;mixed-speeds", SmConfig::default());
    let kind = layout::port_info();
    let all_records = subnet.table(&kind, 0, 0, &[0; 72]);
    for (number, at, width) in [(7u32, 32 + 160, 32usize), (53, 32 + 480, 16)] {
        for wanted in (0..width).map(|i| 1u64 << i).chain([0, u64::MAX, 0x0802]) {
            let mut data = subnet.random_record(&kind);
            put_field(&mut data, at, width, wanted);
            let request = WireRequest {
                modifier: 1 << 31,
                mask: 1 << number,
                data: data.clone(),
                ..WireRequest::new(
                    expected_records::lid(&subnet.lab, subnet.client),
                    method::GET_TABLE,
                    kind.attr,
                )
            };
            let mut found = query(&mut subnet.lab, &request).records;
            found.sort();
            let has_flag = |r: &&Vec<u8>| (at..at + width).all(|i| !bit(&data, i) || bit(r, i));
            let expected: Vec<Vec<u8>> = all_records.iter().filter(has_flag).cloned().collect();
            assert_eq!(found, expected, "component {number} bits {wanted:#x}");
        }
    }
}
