//! Tests of the QoS policy parser: grammar, warnings, errors.

use std::collections::{BTreeMap, BTreeSet};

use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::ids::{PortNum, Sl};
use ferrosm_mad::sa::path::RateCode;
use ferrosm_sa::qos::RangeSet;

use super::*;

/// These policies name P_Keys of partitions that are not configured here.
fn is_about_pkey(warning: &InputError) -> bool {
    warning.message.contains("no partition has P_Key")
}

fn read(text: &str) -> QosPolicy {
    let parsed = parse(text, &[]).unwrap();
    assert!(
        parsed.warnings.iter().all(is_about_pkey),
        "{:?}",
        parsed.warnings
    );
    parsed.policy
}

/// OpenSM discards the whole policy for the first of them.
#[test]
fn pkeys_that_no_partition_has_are_reported() {
    let partition = Partition {
        number: 0x44,
        ..Partition::default()
    };
    let warnings = |text: &str, partitions: &[Partition]| -> Vec<String> {
        let parsed = parse(text, partitions).unwrap();
        parsed.warnings.iter().map(ToString::to_string).collect()
    };
    let short = |rule: &str| format!("qos-ulps\n  default : 0\n  {rule} : 3\nend-qos-ulps\n");
    for (rule, warning) in [
        (
            "ipoib, pkey 0x0044",
            "3:15: no partition has P_Key 0x0044: the rule never matches",
        ),
        (
            "any, pkey 0x8044",
            "3:13: no partition has P_Key 0x8044: the rule never matches",
        ),
    ] {
        assert_eq!(warnings(&short(rule), &[]), [warning]);
        assert_eq!(
            warnings(&short(rule), std::slice::from_ref(&partition)),
            [""; 0]
        );
    }
    for rule in [
        "ipoib",
        "any, pkey 0x7fff",
        "any, pkey 0x0040-0x0048,0x0099",
    ] {
        assert_eq!(
            warnings(&short(rule), std::slice::from_ref(&partition)),
            [""; 0],
            "{rule}"
        );
    }
    let long = "port-groups\nport-group\nname: a\npkey: 0x55\nend-port-group\nend-port-groups\n\
                qos-levels\nqos-level\nname: DEFAULT\nsl: 0\npkey: 0x56\nend-qos-level\nend-qos-levels\n\
                qos-match-rules\nqos-match-rule\npkey: 0x57\nqos-level-name: DEFAULT\nend-qos-match-rule\nend-qos-match-rules\n";
    assert_eq!(
        warnings(long, &[]),
        [
            "4:7: no partition has P_Key 0x55: it adds no port to the group",
            "11:7: no partition has P_Key 0x56: no path has it",
            "16:7: no partition has P_Key 0x57: the rule never matches",
        ]
    );
}

/// Every keyword of the long form.
const LONG: &str = r#"
# A comment; words behind it: qos-levels
port-groups
    port-group
        name: Storage
        use: SRP targets, "quoted # text"   # and a comment
        port-guid: 0x10, 0x20-0x2F,
                   0x40
        port-guid: 0x41
    end-port-group
    port-group
        name: "Virtual Servers"
        port-name: vs1 HCA-1/P1, "vs2, HCA-1/p2"
        partition: Blue, Default
        pkey: 0x8040-0x8041
        node-type: ca, SELF
    end-port-group
end-port-groups
qos-levels
    qos-level
        name: WholeSet
        use: all of it
        sl: 1
        mtu-limit: 4
        rate-limit: 100G
        pkey: 0x1234
        packet-life: 8
        path-bits: 0,2-3
    end-qos-level
    qos-level
        name: default
        sl: 0
    end-qos-level
end-qos-levels
qos-match-rules
    qos-match-rule
        use: by everything
        qos-class: 7-9,11
        source: VirtualServers
        destination: STORAGE, virtual servers
        service-id: 0x10000-0x1FFFF
        pkey: 0x8F00-0x0FFF
        qos-level-name: wholeset
    end-qos-match-rule
end-qos-match-rules
"#;

#[test]
fn long_form_keywords_are_parsed() {
    let blue = Partition {
        name: "Blue".to_owned(),
        number: 0x55,
        ..Partition::default()
    };
    let parsed = parse(LONG, &[blue]).unwrap();
    assert!(
        parsed.warnings.iter().all(is_about_pkey),
        "{:?}",
        parsed.warnings
    );
    let policy = parsed.policy;
    assert_eq!((policy.default.sl, policy.rules.len()), (Sl(0), 1));
    let rule = &policy.rules[0];
    assert_eq!(rule.purpose, "by everything");
    assert_eq!(rule.qos_class, RangeSet::new([(7, 9), (11, 11)]));
    assert_eq!(rule.service_id, RangeSet::new([(0x1_0000, 0x1_FFFF)]));
    assert_eq!(rule.pkey, RangeSet::new([(0x0F00, 0x0FFF)]));
    let level = &rule.level;
    assert_eq!((level.name.as_str(), level.sl), ("WholeSet", Sl(1)));
    assert_eq!(level.mtu, Some(MtuCode::Mtu2048));
    assert_eq!(level.rate, Some(RateCode::G100));
    assert_eq!(level.packet_life_time, Some(8));
    assert_eq!(level.path_bits, RangeSet::new([(0, 0), (2, 3)]));
    assert_eq!(level.pkeys, RangeSet::single(0x1234));
    let [servers] = &rule.source[..] else {
        panic!("{:?}", rule.source);
    };
    let single_port = |n| BTreeSet::from([PortNum(n)]);
    let names = BTreeMap::from([
        ("vs1 HCA-1".to_owned(), single_port(1)),
        ("vs2, HCA-1".to_owned(), single_port(2)),
    ]);
    assert_eq!(servers.names, names);
    assert_eq!(
        servers.pkeys,
        RangeSet::new([(0x40, 0x41), (0x55, 0x55), (0x7FFF, 0x7FFF)])
    );
    assert!(servers.cas && servers.sm_port && !servers.switches && !servers.routers);
    assert_eq!(rule.destination.len(), 2);
    assert_eq!(
        rule.destination[0].guids,
        RangeSet::new([(0x10, 0x10), (0x20, 0x2F), (0x40, 0x41)])
    );
}

#[test]
fn simplified_policy_is_parsed() {
    let policy = read(
        "qos-ulps\n default : 0 # default SL\n sdp, port-num 30000, 10000-20000 : 1\n SDP:2\n rds : 3\n rds, port-num 5:3\n\
         iser, port-num 900 : 4\n iSER : 5\n ipoib, pkey 0x8001 : 6\n ipoib : 7\n any, service-id 0x6234 : 8\n\
         any , pkey 0x0ABC : 9\n srp, target-port-guid 0x1234 : 10\n any, target-port-guid 0xABC-0xFFFF : 11\n\
         any, source-port-guid 0x5678 : 12\n any, source-target-port-guid 0x9abcd : 15\nend-qos-ulps\n",
    );
    assert_eq!(policy.default.sl, Sl(0));
    let rules = &policy.rules;
    let ids: Vec<_> = rules.iter().map(|r| r.service_id.clone()).collect();
    assert_eq!(
        ids[0],
        RangeSet::new([
            (0x1_0000 + 10_000, 0x1_0000 + 20_000),
            (0x1_0000 + 30_000, 0x1_0000 + 30_000)
        ])
    );
    assert_eq!(ids[1], RangeSet::new([(0x1_0000, 0x1_FFFF)]));
    assert_eq!(ids[2], RangeSet::single(0x0106_48CA));
    assert_eq!(ids[3], RangeSet::single(0x0106_0005));
    assert_eq!(ids[4], RangeSet::single(0x0106_0000 + 900));
    assert_eq!(ids[5], RangeSet::single(0x0106_0CBC));
    assert_eq!(ids[8], RangeSet::single(0x6234));
    let keys: Vec<_> = [6, 7, 9].map(|i| rules[i].pkey.clone()).into();
    assert_eq!(keys, [1, 0x7FFF, 0xABC].map(RangeSet::single));
    for (at, guid) in [(10, 0x1234), (11, 0xFFFF)] {
        assert!(rules[at].destination[0].guids.contains(guid) && rules[at].source.is_empty());
    }
    assert!(rules[12].source[0].guids.contains(0x5678) && rules[12].destination.is_empty());
    assert!(rules[13].either[0].guids.contains(0x9_ABCD));
    let sls: Vec<u8> = rules.iter().map(|r| r.level.sl.0).collect();
    assert_eq!(sls, [1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15]);
}

/// Rules of the long form take precedence, in any order of sections.
#[test]
fn long_form_takes_precedence() {
    let policy = read(
        "qos-ulps\nsdp : 1\nend-qos-ulps\nqos-match-rules\nqos-match-rule\nqos-level-name: DEFAULT\nend-qos-match-rule\n\
         end-qos-match-rules\nqos-levels\nqos-level\nsl: 5\nname: DEFAULT\nend-qos-level\nend-qos-levels\n",
    );
    let sls: Vec<u8> = policy.rules.iter().map(|r| r.level.sl.0).collect();
    assert_eq!((sls, policy.default.sl), (vec![5, 1], Sl(5)));
}

#[test]
fn settings_without_effect_are_warned_about() {
    let text = "qos-setup\nvlarb-tables\nvlarb-scope\ngroup: Storage\nvlarb-high: 0:255,1:127\nvl-high-limit: 10\n\
        end-vlarb-scope\nend-vlarb-tables\nsl2vl-tables\nsl2vl-scope\nfrom: *\nsl2vl-table: 0,1\nend-sl2vl-scope\n\
        end-sl2vl-tables\nend-qos-setup\n\
        port-groups\nport-group\nname: a\npartition: Nobody\nend-port-group\nport-group\nname: A\nend-port-group\nend-port-groups\n\
        qos-levels\nqos-level\nname: DEFAULT\nsl: 1\nend-qos-level\nend-qos-levels\nqos-ulps\ndefault : 2\ndefault : 3\nend-qos-ulps\n";
    let parsed = parse(text, &[]).unwrap();
    assert_eq!(parsed.policy.default.sl, Sl(1));
    let messages: Vec<(usize, &str)> = parsed
        .warnings
        .iter()
        .map(|w| (w.position.unwrap().0, w.message.as_str()))
        .collect();
    let has_warning = |line: usize, message: &str| {
        assert!(
            messages
                .iter()
                .any(|(at, w)| *at == line && w.contains(message)),
            "{line} {message}: {messages:?}"
        );
    };
    has_warning(2, "`vlarb-tables` ignored");
    has_warning(9, "`sl2vl-tables` ignored");
    has_warning(19, "unknown partition `Nobody`");
    has_warning(23, "duplicate port-group `A`");
    has_warning(33, "duplicate `default`");
    has_warning(33, "overridden by qos-level DEFAULT");
    assert_eq!(messages.len(), 6, "{messages:?}");
}

/// One error each, at its position.
#[test]
fn errors_are_reported_with_positions() {
    let level =
        |inside: &str| format!("qos-levels\nqos-level\n{inside}\nend-qos-level\nend-qos-levels\n");
    let valid = "name: DEFAULT\nsl: 0\n";
    let rule = |inside: &str| {
        let levels = level("name: DEFAULT\nsl: 0");
        format!(
            "{levels}qos-match-rules\nqos-match-rule\n{inside}\nend-qos-match-rule\nend-qos-match-rules\n"
        )
    };
    let group = |inside: &str| {
        format!(
            "port-groups\nport-group\nname: g\n{inside}\nend-port-group\nend-port-groups\nqos-ulps\ndefault:0\nend-qos-ulps\n"
        )
    };
    let ulp = |line: &str| format!("qos-ulps\ndefault : 0\n{line}\nend-qos-ulps\n");
    let cases: [(String, (usize, usize), &str); 33] = [
        (
            "qos-level\n".into(),
            (1, 1),
            "`qos-level` is only allowed in `qos-levels`",
        ),
        ("qos-levles\n".into(), (1, 1), "did you mean `qos-levels`?"),
        ("name: x\n".into(), (1, 1), "`name:` is not a section"),
        (ulp("x\n"), (3, 1), "missing `:` and SL"),
        (
            ulp("sdp : 16"),
            (3, 7),
            "invalid SL `16`: expected 0 to 0xf",
        ),
        (
            ulp("sdp, port 5 : 1"),
            (3, 6),
            "`sdp` has no key `port`: expected port-num",
        ),
        (
            ulp("sdp, port-num 70000 : 1"),
            (3, 15),
            "invalid TCP port `70000`: expected 0 to 0xffff",
        ),
        (
            ulp("default, pkey 1 : 1"),
            (3, 10),
            "`default` has no key `pkey`: it has no keys",
        ),
        (
            ulp("ispoib : 1"),
            (3, 1),
            "unknown protocol `ispoib`: did you mean `ipoib`?",
        ),
        (
            ulp("srp : 1"),
            (3, 1),
            "`srp` needs a key: target-port-guid",
        ),
        (ulp("any, pkey : 1"), (3, 11), "missing number"),
        (
            level("name: DEFAULT\nsl 0"),
            (4, 1),
            "missing `:` after `sl`",
        ),
        (level("name: DEFAULT\nsl:"), (4, 1), "`sl` has no value"),
        (
            level("name: DEFAULT\nsl: 0\nsl: 1"),
            (5, 1),
            "duplicate `sl` in this qos-level",
        ),
        (level("name: DEFAULT"), (4, 1), "this qos-level has no `sl`"),
        (level("sl: 3"), (4, 1), "this qos-level has no `name`"),
        (
            level(&format!("{valid}mtu: 4")),
            (5, 1),
            "a qos-level has no key `mtu`",
        ),
        (
            level(&format!("{valid}mtu-limit: 9000")),
            (5, 12),
            "invalid MTU `9000`",
        ),
        (
            level(&format!("{valid}rate-limit: 1")),
            (5, 13),
            "invalid rate `1`",
        ),
        (
            level(&format!("{valid}packet-life: 64")),
            (5, 14),
            "invalid PacketLifeTime `64`",
        ),
        (
            level(&format!("{valid}path-bits: 128")),
            (5, 12),
            "invalid path bits `128`",
        ),
        (
            level(&format!("{valid}pkey: 0x1-0x10000")),
            (5, 11),
            "invalid P_Key `0x10000`",
        ),
        (group("port-guid: 0x1,,0x2"), (4, 16), "missing number"),
        (
            group("port-name: host"),
            (4, 12),
            "invalid port name `host`",
        ),
        (group("node-type: HCA"), (4, 12), "invalid node type `HCA`"),
        (
            rule("qos-level-name: GOLD"),
            (9, 17),
            "unknown qos-level `GOLD`",
        ),
        (
            rule("qos-level-name: default\nsource: a"),
            (10, 9),
            "unknown port-group `a`",
        ),
        (
            rule("qos-class: 4096\nqos-level-name: default"),
            (9, 12),
            "invalid QoS class `4096`",
        ),
        (
            rule("use: x"),
            (10, 1),
            "this qos-match-rule has no `qos-level-name`",
        ),
        (
            "qos-levels\nsl: 3\nend-qos-levels\n".into(),
            (2, 1),
            "`sl` is not allowed in `qos-levels`, only `qos-level`",
        ),
        (
            "qos-ulps\ndefault:0\n".into(),
            (1, 1),
            "`end-qos-ulps` is missing",
        ),
        (
            "qos-ulps\ndefault:0\nqos-levels\nend-qos-levels\n".into(),
            (3, 1),
            "`end-qos-ulps` is missing before `qos-levels`: line 1 starts",
        ),
        (
            "end-qos-ulps\n".into(),
            (1, 1),
            "`end-qos-ulps` without `qos-ulps`",
        ),
    ];
    for (text, at, message) in cases {
        let errors = parse(&text, &[]).unwrap_err();
        assert!(errors[0].message.contains(message), "{text}\n{errors:?}");
        assert_eq!(errors[0].position, Some(at), "{text}\n{errors:?}");
        let other_errors = errors.iter().filter(|w| w.position != Some((1, 1)));
        assert!(
            other_errors.count() <= 1,
            "one mistake, one error: {text}\n{errors:?}"
        );
    }
}

#[test]
fn default_level_is_required() {
    for text in ["", "qos-ulps\nsdp : 1\nend-qos-ulps\n"] {
        let errors = parse(text, &[]).unwrap_err();
        assert!(
            errors.len() == 1 && errors[0].message.contains("no default level"),
            "{errors:?}"
        );
    }
}

/// A missing `end-` is reported once, and parsing continues.
#[test]
fn missing_end_does_not_stop_parsing() {
    let text = "qos-levels\nqos-level\nname: DEFAULT\nsl: 0\nend-qos-levels\nqos-ulps\nsdp : x\nend-qos-ulps\n";
    let errors = parse(text, &[]).unwrap_err();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(
        errors[0]
            .message
            .starts_with("`end-qos-level` is missing: line 2"),
        "{errors:?}"
    );
    assert_eq!(errors[1].position, Some((7, 7)));
}
