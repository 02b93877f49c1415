//! Properties of the policy: the first rule that is met decides; ranges hold what they say.

use super::*;
use proptest::prelude::*;

fn level(name: &str, sl: u8) -> Arc<Level> {
    Arc::new(Level {
        name: name.to_owned(),
        sl: Sl(sl),
        ..Level::default()
    })
}

const fn port(guid: u64) -> PortFacts<'static> {
    PortFacts {
        guid: PortGuid(guid),
        node_type: NodeType::Ca,
        description: b"",
        num: PortNum(1),
        keys: None,
        own: false,
    }
}

#[test]
fn every_way_to_be_in_a_group() {
    let nobody = PortGroup::default();
    let keys = Keys::new([PKey(0x1234), PKey(0xFFFF)]);
    let host = PortFacts {
        description: b"vs1 HCA-1",
        num: PortNum(2),
        keys: Some(&keys),
        ..port(7)
    };
    assert!(!nobody.contains(&host));
    let by_guid = PortGroup {
        guids: Ranges::new([(5, 7)]),
        ..PortGroup::default()
    };
    assert!(by_guid.contains(&host) && !by_guid.contains(&port(8)));
    let name = |name: &str, num| PortGroup {
        names: BTreeMap::from([(name.to_owned(), BTreeSet::from([PortNum(num)]))]),
        ..PortGroup::default()
    };
    assert!(name("vs1 HCA-1", 2).contains(&host));
    assert!(!name("vs1 HCA-1", 1).contains(&host) && !name("vs1", 2).contains(&host));
    let switch = PortFacts {
        node_type: NodeType::Switch,
        description: b"leaf",
        num: PortNum::ZERO,
        ..port(9)
    };
    assert!(
        name("leaf", 17).contains(&switch),
        "a switch is one end port"
    );
    let by_key = PortGroup {
        pkeys: Ranges::new([(0x1230, 0x1240)]),
        ..PortGroup::default()
    };
    assert!(
        by_key.contains(&host),
        "limited members are members, and the other way round"
    );
    assert!(
        !by_key.contains(&switch),
        "unknown keys make nobody a member"
    );
    let cas = PortGroup {
        cas: true,
        ..PortGroup::default()
    };
    assert!(cas.contains(&host) && !cas.contains(&switch));
    let own = PortGroup {
        own: true,
        ..PortGroup::default()
    };
    assert!(!own.contains(&host) && own.contains(&PortFacts { own: true, ..host }));
}

/// A condition of which the request says nothing is not met; no condition is always met.
#[test]
fn a_request_must_say_what_a_rule_asks_about() {
    let rule = Rule {
        service_id: Ranges::one(0x1_0000),
        ..Rule::new(String::new(), level("sdp", 1))
    };
    let policy = Policy {
        rules: vec![rule],
        default: level("DEFAULT", 0),
    };
    let ask = |asked| policy.select(&port(1), &port(2), &asked).name.clone();
    let sdp = Asked {
        service_id: Some(0x1_0000),
        ..Asked::default()
    };
    assert_eq!(ask(sdp), "sdp");
    assert_eq!(ask(Asked::default()), "DEFAULT");
    let other = Asked {
        service_id: Some(0x1_0001),
        ..sdp
    };
    assert_eq!(ask(other), "DEFAULT");
}

/// A rule as lists: each either absent or the numbers that it takes.
type Plain = [Option<Vec<u64>>; 6];

fn plain() -> impl Strategy<Value = Plain> {
    let list = || prop::option::weighted(0.4, prop::collection::vec(0u64..6, 1..4));
    (list(), list(), list(), list(), list(), list()).prop_map(|l| [l.0, l.1, l.2, l.3, l.4, l.5])
}

fn rule(plain: &Plain, at: usize) -> Rule {
    let ranges = |list: &Option<Vec<u64>>| Ranges::new(list.iter().flatten().map(|n| (*n, *n)));
    let group = |list: &Option<Vec<u64>>| {
        let groups = list.iter().map(|list| PortGroup {
            guids: Ranges::new(list.iter().map(|n| (*n, *n))),
            ..PortGroup::default()
        });
        groups.map(Arc::new).collect()
    };
    let [source, destination, either, class, service, pkey] = plain;
    Rule {
        source: group(source),
        destination: group(destination),
        either: group(either),
        qos_class: ranges(class),
        service_id: ranges(service),
        pkey: ranges(pkey),
        ..Rule::new(String::new(), level(&at.to_string(), 0))
    }
}

proptest! {
    /// The level is that of the first rule of which every condition is met, whatever comes behind it; else the default one.
    #[test]
    fn the_first_rule_that_fits_decides(
        rules in prop::collection::vec(plain(), 0..6),
        (from, to) in (0u64..6, 0u64..6),
        class in prop::option::of(0u16..6),
        service_id in prop::option::of(0u64..6),
        pkey in prop::option::of((0u16..6, any::<bool>())),
    ) {
        let full = |(n, full): (u16, bool)| if full { n | 0x8000 } else { n };
        let asked = Asked { qos_class: class, service_id, pkey: pkey.map(|k| PKey(full(k))) };
        let said = [
            vec![from], vec![to], vec![from, to],
            class.map(u64::from).into_iter().collect(),
            service_id.into_iter().collect(),
            pkey.map(|k| u64::from(k.0)).into_iter().collect(),
        ];
        let meets = |plain: &Plain| plain.iter().zip(&said).all(|(wanted, said)| match wanted {
            None => true,
            Some(list) => said.iter().any(|n| list.contains(n)),
        });
        let expected = rules.iter().position(meets).map_or_else(|| "DEFAULT".to_owned(), |at| at.to_string());
        let policy = Policy {
            rules: rules.iter().enumerate().map(|(at, plain)| rule(plain, at)).collect(),
            default: level("DEFAULT", 0),
        };
        prop_assert_eq!(&policy.select(&port(from), &port(to), &asked).name, &expected);
    }
}
