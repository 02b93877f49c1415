//! Properties of the policy: the first matching rule applies.

use super::*;
use proptest::prelude::*;

fn level(name: &str, sl: u8) -> Arc<QosLevel> {
    Arc::new(QosLevel {
        name: name.to_owned(),
        sl: Sl(sl),
        ..QosLevel::default()
    })
}

const fn port(guid: u64) -> QosPort<'static> {
    QosPort {
        guid: PortGuid(guid),
        node_type: NodeType::Ca,
        description: b"",
        num: PortNum(1),
        pkeys: None,
        is_sm_port: false,
    }
}

#[test]
fn port_groups_match_by_each_criterion() {
    let empty = QosPortGroup::default();
    let keys = PKeySet::new([PKey(0x1234), PKey(0xFFFF)]);
    let host = QosPort {
        description: b"vs1 HCA-1",
        num: PortNum(2),
        pkeys: Some(&keys),
        ..port(7)
    };
    assert!(!empty.contains(&host));
    let by_guid = QosPortGroup {
        guids: RangeSet::new([(5, 7)]),
        ..QosPortGroup::default()
    };
    assert!(by_guid.contains(&host) && !by_guid.contains(&port(8)));
    let name = |name: &str, num| QosPortGroup {
        names: BTreeMap::from([(name.to_owned(), BTreeSet::from([PortNum(num)]))]),
        ..QosPortGroup::default()
    };
    assert!(name("vs1 HCA-1", 2).contains(&host));
    assert!(!name("vs1 HCA-1", 1).contains(&host) && !name("vs1", 2).contains(&host));
    let switch = QosPort {
        node_type: NodeType::Switch,
        description: b"leaf",
        num: PortNum::ZERO,
        ..port(9)
    };
    assert!(
        name("leaf", 17).contains(&switch),
        "a switch is one end port"
    );
    let by_key = QosPortGroup {
        pkeys: RangeSet::new([(0x1230, 0x1240)]),
        ..QosPortGroup::default()
    };
    assert!(by_key.contains(&host), "membership bits are ignored");
    assert!(
        !by_key.contains(&switch),
        "a port with unknown P_Keys is not a member"
    );
    let cas = QosPortGroup {
        cas: true,
        ..QosPortGroup::default()
    };
    assert!(cas.contains(&host) && !cas.contains(&switch));
    let sm_port = QosPortGroup {
        sm_port: true,
        ..QosPortGroup::default()
    };
    assert!(
        !sm_port.contains(&host)
            && sm_port.contains(&QosPort {
                is_sm_port: true,
                ..host
            })
    );
}

/// A condition is not met if the request lacks its component; a rule without conditions always
/// matches.
#[test]
fn conditions_require_the_component_in_the_request() {
    let rule = QosRule {
        service_id: RangeSet::single(0x1_0000),
        ..QosRule::new(String::new(), level("sdp", 1))
    };
    let policy = QosPolicy {
        rules: vec![rule],
        default: level("DEFAULT", 0),
    };
    let select = |requested| policy.select(&port(1), &port(2), &requested).name.clone();
    let sdp = QosQuery {
        service_id: Some(0x1_0000),
        ..QosQuery::default()
    };
    assert_eq!(select(sdp), "sdp");
    assert_eq!(select(QosQuery::default()), "DEFAULT");
    let other = QosQuery {
        service_id: Some(0x1_0001),
        ..sdp
    };
    assert_eq!(select(other), "DEFAULT");
}

/// Conditions of a rule: source, destination, either, QoS class, service ID, P_Key. Each accepts
/// the listed values, or all.
type RuleConditions = [Option<Vec<u64>>; 6];

fn any_conditions() -> impl Strategy<Value = RuleConditions> {
    let list = || prop::option::weighted(0.4, prop::collection::vec(0u64..6, 1..4));
    (list(), list(), list(), list(), list(), list()).prop_map(|l| [l.0, l.1, l.2, l.3, l.4, l.5])
}

fn rule(conditions: &RuleConditions, index: usize) -> QosRule {
    let ranges = |list: &Option<Vec<u64>>| RangeSet::new(list.iter().flatten().map(|n| (*n, *n)));
    let group = |list: &Option<Vec<u64>>| {
        let groups = list.iter().map(|list| QosPortGroup {
            guids: RangeSet::new(list.iter().map(|n| (*n, *n))),
            ..QosPortGroup::default()
        });
        groups.map(Arc::new).collect()
    };
    let [source, destination, either, class, service, pkey] = conditions;
    QosRule {
        source: group(source),
        destination: group(destination),
        either: group(either),
        qos_class: ranges(class),
        service_id: ranges(service),
        pkey: ranges(pkey),
        ..QosRule::new(String::new(), level(&index.to_string(), 0))
    }
}

proptest! {
    /// The first rule whose conditions are all met selects the level, otherwise the default
    /// applies.
    #[test]
    fn first_matching_rule_selects_the_level(
        rules in prop::collection::vec(any_conditions(), 0..6),
        (from, to) in (0u64..6, 0u64..6),
        class in prop::option::of(0u16..6),
        service_id in prop::option::of(0u64..6),
        pkey in prop::option::of((0u16..6, any::<bool>())),
    ) {
        let full = |(n, full): (u16, bool)| if full { n | 0x8000 } else { n };
        let requested = QosQuery { qos_class: class, service_id, pkey: pkey.map(|k| PKey(full(k))) };
        let present = [
            vec![from], vec![to], vec![from, to],
            class.map(u64::from).into_iter().collect(),
            service_id.into_iter().collect(),
            pkey.map(|k| u64::from(k.0)).into_iter().collect(),
        ];
        let meets = |conditions: &RuleConditions| conditions.iter().zip(&present).all(|(wanted, present)| match wanted {
            None => true,
            Some(list) => present.iter().any(|n| list.contains(n)),
        });
        let expected = rules.iter().position(meets).map_or_else(|| "DEFAULT".to_owned(), |index| index.to_string());
        let policy = QosPolicy {
            rules: rules.iter().enumerate().map(|(index, conditions)| rule(conditions, index)).collect(),
            default: level("DEFAULT", 0),
        };
        prop_assert_eq!(&policy.select(&port(from), &port(to), &requested).name, &expected);
    }
}
