//! QoS policy and prefix routes on a simulated fabric: the paths that clients get by service ID,
//! QoS class, SL and P_Key.
//!
//! Each query states the result that the policy requires. Ports and LIDs come from the simulated
//! devices.

use std::sync::Arc;

use ferrosm_core::SmConfig;
use ferrosm_core::config::partitions::{
    Enforcement, MemberSelector, Membership, Partition, Partitions,
};
use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::gmp::Peer;
use ferrosm_mad::ids::{AttrId, AttrMod, Gid, GidPrefix, Lid, Lmc, MKey, PKey, PortGuid, Sl, Tid};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::sa::path::{MultiPathRecord, PathRecord, RateCode, Selector};
use ferrosm_mad::sa::tables::ClassPortInfo;
use ferrosm_mad::sa::{DATA_LEN, id};
use ferrosm_sa::qos::{QosLevel, QosPolicy, QosPortGroup, QosRule, RangeSet};
use ferrosm_sa::refusal::SaRefusal;
use ferrosm_sa::settings::PrefixRoute;
use ferrosm_sa::{self as sa, Disposition, SaReply, SaRequest};
use ferrosm_sim::spec::PortAt;
use ferrosm_tests::lab::Lab;

const SERVICE_ID: u64 = 0b11;
const DGID: u64 = 1 << 2;
const SGID: u64 = 1 << 3;
const NUMB_PATH: u64 = 1 << 12;
const PKEY: u64 = 1 << 13;
const QOS_CLASS: u64 = 1 << 14;
const SL: u64 = 1 << 15;
const MTU: u64 = 0b11 << 16;
/// Service ID of the Sockets Direct Protocol, TCP port 80.
const SDP: u64 = 0x1_0050;

fn query(
    lab: &Lab,
    client: PortAt,
    method: Method,
    attr: AttrId,
    mask: u64,
    data: &[u8],
) -> SaReply {
    let mut padded = [0; DATA_LEN];
    let (padded, tail) = match data.split_first_chunk() {
        Some(parts) => parts,
        None => {
            padded[..data.len()].copy_from_slice(data);
            (&padded, &[][..])
        }
    };
    let request = SaRequest {
        from: Peer {
            lid: lab.world.fabric().lid(client).0,
            ..Peer::default()
        },
        method,
        attr,
        attr_mod: AttrMod(0),
        tid: Tid(1),
        sm_key: MKey::NONE,
        component_mask: mask,
        data: padded,
        tail,
    };
    let core = lab.manager().core();
    let view = core.view().unwrap_or_else(|| panic!("no SA view"));
    match sa::answer(view, &request) {
        Disposition::Reply(reply) => reply,
        other @ (Disposition::ForwardToSm | Disposition::Drop(_)) => panic!("{other:?}"),
    }
}

/// The path between two ports for a query with these additional components.
fn path(
    lab: &Lab,
    (from, to): (PortAt, PortAt),
    mask: u64,
    values: PathRecord,
) -> Result<PathRecord, Status> {
    let record = PathRecord {
        sgid: lab.port_gid(from),
        dgid: lab.port_gid(to),
        ..values
    };
    let mask = mask | SGID | DGID;
    let reply = query(lab, from, Method::Get, id::PATH, mask, &record.encode());
    if reply.status == Status::OK {
        PathRecord::decode_slice(&reply.body).ok_or(reply.status)
    } else {
        Err(reply.status)
    }
}

fn level(name: &str, sl: u8) -> QosLevel {
    QosLevel {
        name: name.to_owned(),
        sl: Sl(sl),
        ..QosLevel::default()
    }
}

fn rule(level: QosLevel) -> QosRule {
    QosRule::new(level.name.clone(), Arc::new(level))
}

fn full(number: u16) -> Partition {
    Partition {
        name: format!("p{number}"),
        number,
        members: vec![(MemberSelector::All, Membership::Full)],
        ..Partition::default()
    }
}

/// SDP has a fast level with a small MTU, QoS class 7 uses partition 0x11, and one port and
/// partition 0x22 have their own SLs.
fn policy(busy: PortGuid) -> QosPolicy {
    let gold = QosLevel {
        mtu: Some(MtuCode::Mtu1024),
        rate: Some(RateCode::G10),
        packet_life_time: Some(9),
        ..level("gold", 3)
    };
    let blue = QosLevel {
        pkeys: RangeSet::single(0x11),
        ..level("blue", 4)
    };
    let group = QosPortGroup {
        guids: RangeSet::single(busy.0),
        ..QosPortGroup::default()
    };
    QosPolicy {
        rules: vec![
            QosRule {
                service_id: RangeSet::new([(0x1_0000, 0x1_FFFF)]),
                ..rule(gold)
            },
            QosRule {
                qos_class: RangeSet::single(7),
                ..rule(blue)
            },
            QosRule {
                destination: vec![Arc::new(group)],
                ..rule(level("busy", 5))
            },
            QosRule {
                pkey: RangeSet::single(0x22),
                ..rule(level("green", 6))
            },
        ],
        default: Arc::new(level("DEFAULT", 1)),
    }
}

fn config(policy: QosPolicy) -> SmConfig {
    let partitions = Partitions::new(vec![full(0x22), full(0x11)], Enforcement::Both, false);
    SmConfig {
        partitions: Arc::new(partitions.unwrap_or_else(|e| panic!("{e}"))),
        qos: Some(Arc::new(policy)),
        ..SmConfig::default()
    }
}

#[test]
fn first_matching_qos_rule_selects_the_level() {
    let template = Lab::new("fat-tree:4", 1);
    let all_hosts = template.hosts();
    let a = all_hosts[1];
    let b = all_hosts[2];
    let busy = all_hosts[3];
    let mut lab = Lab::with("fat-tree:4", 1, config(policy(template.port_guid(busy))));
    assert!(lab.next_sweep(60).is_clean());
    let nothing = PathRecord::default();
    let get = |ends, mask, values| path(&lab, ends, mask, values);

    let plain = get((a, b), 0, nothing).unwrap();
    assert_eq!((plain.sl, plain.pkey), (Sl(1), PKey(0x8011)));
    assert!(plain.mtu > MtuCode::Mtu1024 && plain.rate.rank() > RateCode::G10.rank());

    let sdp = PathRecord {
        service_id: SDP,
        qos_class: 7,
        ..nothing
    };
    // Two rules match: the first one wins, and its limits apply.
    let gold = get((a, b), SERVICE_ID | QOS_CLASS, sdp).unwrap();
    assert_eq!((gold.sl, gold.mtu), (Sl(3), MtuCode::Mtu1024));
    assert_eq!((gold.rate, gold.packet_life_time), (RateCode::G10, 9));
    assert!(gold.reversible);
    let larger = PathRecord {
        mtu_selector: Selector::Greater,
        mtu: MtuCode::Mtu1024,
        ..sdp
    };
    let refused = get((a, b), SERVICE_ID | MTU, larger);
    assert_eq!(
        refused,
        Err(Status::NO_RECORDS),
        "the level's limit overrides the request"
    );
    assert_eq!(get((a, a), SERVICE_ID, sdp).unwrap().packet_life_time, 0);
    // A query with half of the service ID components selects no service.
    assert_eq!(get((a, b), 1, sdp), Err(Status::INSUFFICIENT_COMPONENTS));

    let blue = get((a, b), QOS_CLASS, sdp).unwrap();
    assert_eq!(
        (blue.sl, blue.pkey, blue.mtu),
        (Sl(4), PKey(0x8011), plain.mtu)
    );
    let in_green = PathRecord {
        pkey: PKey(0x8022),
        ..sdp
    };
    assert_eq!(
        get((a, b), QOS_CLASS | PKEY, in_green),
        Err(Status::NO_RECORDS)
    );
    assert_eq!(get((a, b), PKEY, in_green).unwrap().sl, Sl(6));
    assert_eq!(get((a, busy), 0, nothing).unwrap().sl, Sl(5));
    assert_eq!(get((busy, a), 0, nothing).unwrap().sl, Sl(1));

    // A query for an SL other than the level's finds no path.
    let with_sl = |sl| PathRecord { sl: Sl(sl), ..sdp };
    assert_eq!(get((a, b), SL, with_sl(1)).unwrap().sl, Sl(1));
    assert_eq!(get((a, b), SL, with_sl(3)), Err(Status::NO_RECORDS));
    assert_eq!(get((a, b), SL | SERVICE_ID, with_sl(3)).unwrap().sl, Sl(3));

    // MultiPathRecord gives the same result, and the SA reports QoS class support in its
    // ClassPortInfo.
    let head = MultiPathRecord {
        service_id_low: SDP,
        sgid_count: 1,
        dgid_count: 1,
        ..MultiPathRecord::default()
    };
    let mut data = head.encode().to_vec();
    data.extend(lab.port_gid(a).0);
    data.extend(lab.port_gid(b).0);
    let counts = 0b11 << 19;
    let multi = |mask| {
        let reply = query(&lab, a, Method::GetMulti, id::MULTI_PATH, mask, &data);
        PathRecord::decode_slice(&reply.body).unwrap().sl
    };
    assert_eq!(multi(counts), Sl(1));
    assert_eq!(multi(counts | 1 << 16 | 1 << 21), Sl(3));
    // So does its refusal: the reply is an empty table, and the log has the cause.
    data[12] = 0b01 << 6 | 3;
    let reply = query(
        &lab,
        a,
        Method::GetMulti,
        id::MULTI_PATH,
        counts | 0b11 << 14,
        &data,
    );
    assert_eq!((reply.status, reply.count()), (Status::OK, 0));
    assert!(
        matches!(reply.refusal, Some(SaRefusal::PathLifeTime(_))),
        "{:?}",
        reply.refusal
    );
    let info = query(&lab, a, Method::Get, id::CLASS_PORT_INFO, 0, &[]);
    assert_ne!(
        ClassPortInfo::decode_slice(&info.body)
            .unwrap()
            .capability_mask2
            & 2,
        0
    );

    // Reload a different policy, then none.
    for (cfg, sl) in [
        (
            config(QosPolicy {
                rules: Vec::new(),
                default: Arc::new(level("all", 2)),
            }),
            Sl(2),
        ),
        (
            SmConfig {
                qos: None,
                ..config(policy(PortGuid(1)))
            },
            Sl(0),
        ),
    ] {
        lab.configure(cfg);
        assert!(lab.next_sweep(60).is_clean());
        assert_eq!(path(&lab, (a, busy), SERVICE_ID, sdp).unwrap().sl, sl);
    }
}

/// If the engine uses several VLs, a path has the SL verified for it. The limits of the QoS level
/// still apply.
#[test]
fn routing_with_several_vls_keeps_its_sls() {
    let engine = |qos| SmConfig {
        engines: vec!["torus-2QoS".to_owned(), "no_fallback".to_owned()],
        qos,
        ..SmConfig::default()
    };
    let bounded = QosPolicy {
        rules: Vec::new(),
        default: Arc::new(QosLevel {
            mtu: Some(MtuCode::Mtu512),
            ..level("small", 9)
        }),
    };
    let [without, with] = [None, Some(Arc::new(bounded))].map(|qos| {
        let mut lab = Lab::with("torus:4,4,1", 7, engine(qos));
        assert!(lab.next_sweep(600).is_clean());
        lab
    });
    let all_hosts = without.hosts();
    let mut used = std::collections::BTreeSet::new();
    for ends in all_hosts
        .iter()
        .flat_map(|a| all_hosts.iter().map(move |b| (*a, *b)))
    {
        let [old, new] =
            [&without, &with].map(|lab| path(lab, ends, 0, PathRecord::default()).unwrap());
        assert_eq!(
            new,
            PathRecord {
                mtu: MtuCode::Mtu512,
                ..old
            }
        );
        used.insert(new.sl);
    }
    assert!(used.len() > 1, "the test needs several VLs");
}

/// SL precedence as in OpenSM: the client's request, then the QoS policy, then the partition.
#[test]
fn partition_may_have_its_own_sl() {
    let with_sl = |number, sl| Partition {
        sl: Sl(sl),
        ..full(number)
    };
    let partitions = vec![with_sl(0x22, 5), full(0x11)];
    let mut cfg = SmConfig {
        partitions: Arc::new(Partitions::new(partitions, Enforcement::Both, false).unwrap()),
        ..SmConfig::default()
    };
    let nothing = PathRecord::default();
    let values = |pkey, sl| PathRecord {
        pkey: PKey(pkey),
        sl: Sl(sl),
        ..nothing
    };
    let mut lab = Lab::with("fat-tree:4", 1, cfg.clone());
    assert!(lab.next_sweep(60).is_clean());
    let all_hosts = lab.hosts();
    let ends = (all_hosts[1], all_hosts[2]);
    let sl = |lab: &Lab, mask, values| path(lab, ends, mask, values).unwrap().sl;
    assert_eq!(
        sl(&lab, 0, nothing),
        Sl(0),
        "partition 0x11 has the lower number"
    );
    assert_eq!(sl(&lab, PKEY, values(0x8022, 0)), Sl(5));
    assert_eq!(sl(&lab, PKEY, values(0x8011, 0)), Sl(0));
    assert_eq!(sl(&lab, PKEY | SL, values(0x8022, 3)), Sl(3));

    cfg.qos = Some(Arc::new(QosPolicy {
        rules: Vec::new(),
        default: Arc::new(level("all", 2)),
    }));
    let mut lab = Lab::with("fat-tree:4", 1, cfg.clone());
    assert!(lab.next_sweep(60).is_clean());
    assert_eq!(sl(&lab, PKEY, values(0x8022, 0)), Sl(2));

    // The SLs of a deadlock-free routing override all of these.
    cfg.qos = None;
    cfg.engines = vec!["torus-2QoS".to_owned(), "no_fallback".to_owned()];
    let mut lab = Lab::with("torus:4,4,1", 1, cfg);
    assert!(lab.next_sweep(60).is_clean());
    let all_hosts = lab.hosts();
    let pairs = all_hosts
        .iter()
        .flat_map(|a| all_hosts.iter().map(move |b| (*a, *b)));
    for ends in pairs.filter(|(a, b)| a != b) {
        let without = path(&lab, ends, PKEY, values(0x8011, 0)).unwrap();
        let with = path(&lab, ends, PKEY, values(0x8022, 0)).unwrap();
        assert_eq!(without.sl, with.sl);
    }
}

/// The path bits of a level leave two of the four LIDs at each end.
#[test]
fn path_bits_exclude_other_lids() {
    let two = QosPolicy {
        rules: Vec::new(),
        default: Arc::new(QosLevel {
            path_bits: RangeSet::new([(1, 1), (3, 3)]),
            ..level("two", 0)
        }),
    };
    let cfg = SmConfig {
        lmc: Lmc(2),
        qos: Some(Arc::new(two)),
        ..SmConfig::default()
    };
    let mut lab = Lab::with("fat-tree:4", 1, cfg);
    assert!(lab.next_sweep(60).is_clean());
    let all_hosts = lab.hosts();
    let record = PathRecord {
        sgid: lab.port_gid(all_hosts[1]),
        dgid: lab.port_gid(all_hosts[2]),
        numb_path: 127,
        ..PathRecord::default()
    };
    let mask = SGID | DGID | NUMB_PATH;
    let reply = query(
        &lab,
        all_hosts[1],
        Method::GetTable,
        id::PATH,
        mask,
        &record.encode(),
    );
    let base = |at: PortAt| lab.world.fabric().lid(at).0.0;
    let bits: Vec<(u16, u16)> = reply
        .body
        .chunks(reply.stride)
        .map(|r| PathRecord::decode_slice(r).unwrap())
        .map(|p| (p.slid.0 - base(all_hosts[1]), p.dlid.0 - base(all_hosts[2])))
        .collect();
    assert_eq!(bits, [(1, 1), (3, 3), (1, 3), (3, 1)]);
}

/// The first matching prefix route selects the router. A foreign DGID resolves to the router's LID
/// with a hop limit, and stays in the record.
#[test]
fn prefix_routes_lead_to_routers() {
    let spec = "fat-tree:4;routers=2";
    let template = Lab::new(spec, 1);
    let gateway = |lab: &Lab, name| PortAt {
        node: lab.node(name),
        port: 1,
    };
    let first = gateway(&template, "gateway-0");
    let second = gateway(&template, "gateway-1");
    let host = template.hosts()[1];
    let near = GidPrefix(0xFEC0_0000_0000_0001);
    let far = GidPrefix(0xFEC0_0000_0000_0002);
    let lost = GidPrefix(0xFEC0_0000_0000_0003);
    let to = |prefix, router| PrefixRoute { prefix, router };
    let lines = [
        to(Some(near), Some(template.port_guid(second))),
        // A prefix route cannot name a host as the router.
        to(Some(lost), Some(template.port_guid(host))),
        to(None, None),
        to(Some(far), Some(template.port_guid(second))),
    ];
    let with = |routes: &[PrefixRoute]| SmConfig {
        prefix_routes: routes.into(),
        ..SmConfig::default()
    };
    let mut lab = Lab::with(spec, 1, with(&[]));
    assert!(lab.next_sweep(60).is_clean());
    let routed = |lab: &Lab, prefix, method| {
        let record = PathRecord {
            sgid: lab.port_gid(host),
            dgid: Gid::new(prefix, PortGuid(0x77)),
            ..PathRecord::default()
        };
        let reply = query(lab, host, method, id::PATH, SGID | DGID, &record.encode());
        (reply.status == Status::OK && !reply.body.is_empty())
            .then(|| PathRecord::decode_slice(&reply.body).unwrap())
            .ok_or(reply.status)
    };
    assert_eq!(routed(&lab, near, Method::Get), Err(Status::INVALID_GID));
    assert_eq!(
        routed(&lab, near, Method::GetTable),
        Err(Status::OK),
        "expected an empty table"
    );

    lab.configure(with(&lines));
    assert!(lab.next_sweep(60).is_clean());
    let lid = |at| Lid(lab.world.fabric().lid(at).0.0);
    for (prefix, router) in [(near, second), (far, first)] {
        let path = routed(&lab, prefix, Method::Get).unwrap();
        assert_eq!(path.dlid, lid(router), "{prefix:?}");
        assert_eq!(path.dgid, Gid::new(prefix, PortGuid(0x77)));
        assert_eq!((path.hop_limit, path.slid), (255, lid(host)));
        assert!(path.reversible);
    }
    assert_eq!(routed(&lab, lost, Method::Get), Err(Status::INVALID_GID));
}
