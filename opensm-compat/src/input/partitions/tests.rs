//! Tests of the partitions parser: grammar, warnings, errors.

use ferrosm_core::config::partitions::{Enforcement, Partitions};
use ferrosm_mad::attr::MtuCode;
use ferrosm_mad::sa::path::RateCode;
use proptest::prelude::*;

use super::*;

const PORT: fn(u64) -> MemberSelector = |guid| MemberSelector::Port(PortGuid(guid));

fn parse_valid(text: &str) -> PartitionsConf {
    parse(text).unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
}

fn warnings(text: &str) -> Vec<String> {
    let messages = |w: &InputError| {
        let (line, column) = w.position.expect("a position");
        format!("{line}:{column}: {}", w.message)
    };
    parse_valid(text).warnings.iter().map(messages).collect()
}

fn errors(text: &str) -> Vec<String> {
    let messages = |w: &InputError| match w.position {
        Some((line, column)) => format!("{line}:{column}: {}", w.message),
        None => w.message.clone(),
    };
    parse(text).unwrap_err().iter().map(messages).collect()
}

/// A file with every element of the grammar.
#[test]
fn complete_file_is_parsed() {
    let text = "# site partitions\n\
        Default=0x7fff,ipoib,mtu=5,rate=12 : ALL=limited, SELF=full ;\n\
        Storage=0x8040,ipoib,indx0,defmember=full :\n\
        \x20   0x0002c90300aa0001, 0x0002c90300aa0002,  # two\n\
        \x20   0x0002c90300aa0009=limited ;\n\
        0x51 : ALL_SWITCHES=both, NONE,\n\
        \x20   mgid=ff12:401b::16,scope=2,scope=5,Q_Key=0x1234\n\
        ;\n";
    let parsed = parse_valid(text);
    assert_eq!(parsed.warnings, []);
    let [default, storage, tests] = &parsed.partitions[..] else {
        panic!("{parsed:?}");
    };
    assert_eq!((default.number, default.name.as_str()), (0x7FFF, "Default"));
    let sm_port = (MemberSelector::SmPort, Membership::Full);
    assert_eq!(
        default.members,
        [(MemberSelector::All, Membership::Limited), sm_port]
    );
    let broadcast = default.groups[0];
    assert_eq!(
        (broadcast.mtu, broadcast.rate),
        (MtuCode::Mtu4096, RateCode(12))
    );
    assert_eq!(broadcast.qkey, 0x0B1B);
    assert_eq!(broadcast.mgid.to_string(), "ff12:401b:ffff::ffff:ffff");
    assert_eq!((storage.number, storage.index0), (0x40, true));
    assert_eq!(
        storage.members,
        [
            (PORT(0x0002_c903_00aa_0001), Membership::Full),
            (PORT(0x0002_c903_00aa_0002), Membership::Full),
            (PORT(0x0002_c903_00aa_0009), Membership::Limited),
        ]
    );
    assert_eq!((tests.number, tests.name.as_str()), (0x51, "0x0051"));
    assert_eq!(
        tests.members,
        [(MemberSelector::AllSwitches, Membership::Both)]
    );
    let groups: Vec<(String, u32)> = tests
        .groups
        .iter()
        .map(|g| (g.mgid.to_string(), g.qkey))
        .collect();
    let expected = [
        ("ff12:401b:8051::16", 0x1234),
        ("ff15:401b:8051::16", 0x1234),
    ];
    assert_eq!(groups, expected.map(|(g, q)| (g.to_owned(), q)));
    assert!(Partitions::new(parsed.partitions, Enforcement::Both, true).is_ok());
}

#[test]
fn values_may_have_units() {
    let parsed = parse_valid("a=1,ipoib,mtu=4096,rate=400G:ALL;");
    let group = parsed.partitions[0].groups[0];
    assert_eq!(group.mtu, MtuCode::Mtu4096);
    assert_eq!(group.rate.name(), Some("400"));
}

/// The SL of a partition applies to paths as well; a later line without SL does not change it.
#[test]
fn sl_applies_to_paths_and_groups() {
    let parsed = parse_valid("a=1,ipoib,sl=4:ALL;\nb=2:ALL;\na=1:SELF;");
    let sls: Vec<(u16, u8)> = (parsed.partitions.iter().map(|p| (p.number, p.sl.0))).collect();
    assert_eq!(sls, [(1, 4), (2, 0)]);
    assert_eq!(parsed.partitions[0].groups[0].sl.0, 4);
}

/// No final `;`, no whitespace, several lines, numbers in three bases, a partition defined twice.
#[test]
fn grammar_variants_are_accepted() {
    let parsed =
        parse_valid("a=010:0x1,017=full,9;a=8:\n\t2 = both\n,\n;b=0x8008,defmember=both:3");
    let [a] = &parsed.partitions[..] else {
        panic!("{parsed:?}");
    };
    let (limited, full, both) = (Membership::Limited, Membership::Full, Membership::Both);
    assert_eq!(a.number, 8);
    assert_eq!(
        a.members,
        [
            (PORT(1), limited),
            (PORT(15), full),
            (PORT(9), limited),
            (PORT(2), both),
            (PORT(3), both)
        ]
    );
    assert_eq!(parsed.warnings.len(), 1, "{:?}", parsed.warnings);
    assert!(
        parsed.warnings[0]
            .message
            .contains("both are one partition named")
    );
    // A defined name needs no P_Key; a new name without P_Key gets the next one.
    let parsed = parse_valid("a=1:1; b:2; c:3; b:4; Default:ALL=full;");
    let numbers: Vec<u16> = parsed.partitions.iter().map(|p| p.number).collect();
    assert_eq!(numbers, [1, 2, 3, 0x7FFF]);
    assert_eq!(parsed.partitions[1].members.len(), 2);
}

/// OpenSM reads line by line: the end of a line separates members as a comma does.
#[test]
fn line_break_separates_members() {
    let parsed = parse_valid("a=1:0x1=full\n 0x2\n\nmgid=ff12:1234::1\n3");
    assert_eq!(
        parsed.partitions[0].members,
        [
            (PORT(1), Membership::Full),
            (PORT(2), Membership::Limited),
            (PORT(3), Membership::Limited)
        ]
    );
    assert_eq!(
        (parsed.partitions[0].groups.len(), parsed.warnings),
        (1, vec![])
    );
}

/// Group flags end with the line; members follow in the next line.
#[test]
fn group_flags_end_with_the_line() {
    let parsed =
        parse_valid("a=5,rate=6:mgid=ff12:601b::1,sl=3,\nALL=full,mgid=ff12:1234::1,mtu=1,\n0x7;");
    let a = &parsed.partitions[0];
    assert_eq!(
        a.members,
        [
            (MemberSelector::All, Membership::Full),
            (PORT(7), Membership::Limited)
        ]
    );
    assert_eq!(a.groups.len(), 2);
    assert_eq!(
        (a.groups[0].sl.0, a.groups[0].qkey, a.groups[0].rate.0),
        (3, 0x0B1B, 6)
    );
    assert_eq!((a.groups[1].mtu, a.groups[1].qkey), (MtuCode::Mtu256, 0));
}

/// Each mistake that OpenSM silently accepts.
#[test]
fn probable_mistakes_are_warned_about() {
    for (text, position, message) in [
        ("a=1:0x1=f;", "1:9: ", "`f` read as `full`"),
        ("a=1:A=full;", "1:5: ", "`A` read as `ALL`"),
        ("a=1:ALL_S;", "1:5: ", "`ALL_S` read as `ALL_SWITCHES`"),
        ("a=1:S=full;", "1:5: ", "`S` read as `SELF`"),
        ("a=1:ALL=member;", "1:9: ", "read as `limited`"),
        ("a=1,ip:ALL;", "1:5: ", "`ip` read as `ipoib`"),
        ("a=1,colour=3:ALL;", "1:5: ", "unknown partition flag"),
        ("a=1,defmember=x:ALL;", "1:5: ", "invalid defmember ignored"),
        ("a=1,r=6:ALL;", "1:5: ", "`r` read as `rate`"),
        ("a=1,:ALL;", "1:5: ", "empty flag ignored"),
        ("\na:ALL;", "2:1: ", "no P_Key: 0x0001 is assigned"),
        ("a=1:ALL;a=2:ALL;", "1:9: ", "these are two partitions"),
        (
            "a=1:mgid=ff12:401b::1,ipoib\n;",
            "1:23: ",
            "unknown group flag",
        ),
    ] {
        let messages = warnings(text);
        assert_eq!(messages.len(), 1, "{text}: {messages:?}");
        assert!(
            messages[0].starts_with(position) && messages[0].contains(message),
            "{text}: {messages:?}"
        );
    }
}

/// Errors after which OpenSM ignores the rest of the line, and invalid values that it ignores.
#[test]
fn errors_are_reported_with_positions() {
    for (text, expected) in [
        ("", "no partition defined"),
        ("# nothing\n;;\n", "no partition defined"),
        ("a=1 ALL;", "1:1: missing `:`"),
        ("a=1\n:ALL;", ""),
        ("a=1,\nipoib:ALL;", "1:1: partition header"),
        ("a=x:ALL;", "1:3: invalid P_Key `x`"),
        (
            "a=0x8000:ALL;",
            "1:3: invalid P_Key `0x8000`: the low 15 bits are 0",
        ),
        ("a=0x12345:ALL;", "1:3: invalid P_Key `0x12345`"),
        (
            "a=1:ALL\nb=2:ALL;",
            "2:1: missing `;` before this partition",
        ),
        (
            "a=1:ALL,\nb=2,ipoib:ALL;",
            "2:1: missing `;` before this partition",
        ),
        (
            "a=1:mgid=ff12:401b::1,scope=2\nb=2:ALL;",
            "2:1: missing `;` before this partition",
        ),
        ("a=1:ALL b=2:ALL;", "1:5: missing `,` or `;` after `ALL`"),
        (
            "a=1:0x2=full\nb=2:0x4=full;",
            "2:1: missing `;` before this partition",
        ),
        ("a=1:0x0;", "1:5: invalid member `0x0`"),
        (
            "a=1:0x9-0x8;",
            "1:5: invalid member `0x9-0x8`: the first GUID of a range is greater than the last",
        ),
        (
            "a=1:0x1-0x10001;",
            "1:5: invalid member `0x1-0x10001`: a range has at most 65536 GUIDs",
        ),
        ("a=1:0x1-;", "1:5: invalid member `0x1-`"),
        ("a=1:0x1-0x2-0x3;", "1:5: invalid member `0x1-0x2-0x3`"),
        ("a=1:0x1,\n  host1;", "2:3: invalid member `host1`"),
        ("a=1:mgid=fe80::1;", "1:10: invalid multicast GID `fe80::1`"),
        ("a=1:mgid;", "1:5: `mgid` needs"),
        (
            "a=1:mgid=ff12:401b:0002::1;",
            "1:10: the MGID of an IP group",
        ),
        (
            "a=1:mgid=ff12:401b::1,mtu=5;",
            "1:10: an IP group must have the MTU",
        ),
        (
            "a=1:mgid=ff12:401b::1,rate=6;",
            "1:10: an IP group must have the rate",
        ),
        ("a=1,mtu=9:ALL;", "1:9: invalid MTU `9`"),
        ("a=1,rate:ALL;", "1:5: `rate` needs a value"),
        ("a=1,scope=16:ALL;", "1:11: invalid scope `16`"),
        ("a=1,sl=16:ALL;", "1:8: invalid SL `16`"),
        (
            "a:ALL;b=1:ALL;",
            "1:7: this P_Key is already assigned to `a`",
        ),
    ] {
        if expected.is_empty() {
            parse_valid(text);
            continue;
        }
        let messages = errors(text);
        assert!(messages[0].starts_with(expected), "{text}: {messages:?}");
    }
    let two_errors = errors("a=x:ALL;\nb=2:host;\n");
    assert_eq!(two_errors.len(), 2, "{two_errors:?}");
    assert!(two_errors[1].contains("`ferrosm ports --local` on a host"));
    assert!(errors(&"x;\n".repeat(100)).len() <= ERRORS_MAX + 1);
    let long = format!("a=1:ALL;#{}\n", "x".repeat(5000));
    assert!(errors(&long)[0].starts_with("1:1: the line is longer"));
}

/// Warnings follow the errors. A partition with an invalid header has no name that others could
/// share.
#[test]
fn warnings_are_reported_next_to_errors() {
    let text = "a=1,colour=3:ALL;\nb=y:ALL;\n0x5:A;";
    let found = parse(text).unwrap_err();
    let positions: Vec<_> = found.iter().map(|e| (e.is_warning, e.position)).collect();
    let expected = [(false, (2, 3)), (true, (1, 5)), (true, (3, 5))];
    assert_eq!(
        positions,
        expected.map(|(w, at)| (w, Some(at))),
        "{found:?}"
    );
}

/// An error does not hide later ones, of the same partition or the next.
#[test]
fn errors_after_a_missing_separator_or_header_are_reported() {
    let text =
        "a=1:0x1,\n 0x2\n 0x3,host,\n mgid=ff12:401b::1\nb=2,mtu=9:ALL\n\nc=3:node;\nd=x:name;\n";
    let positions: Vec<String> = errors(text)
        .iter()
        .map(|e| e.split(' ').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(
        positions,
        ["3:6:", "5:1:", "5:9:", "7:1:", "7:5:", "8:3:", "8:5:"]
    );
    // Header, then member.
    let header = errors("a=1\nb=2:x;");
    assert_eq!(header.len(), 2, "{header:?}");
}

proptest! {
    /// No text panics; an accepted file is usable, or its contradictions are reported.
    #[test]
    fn no_text_panics(text in "[a-z0-9A-Z_=:;,# \\nxé]{0,60}") {
        if let Ok(parsed) = parse(&text) {
            let _ = Partitions::new(parsed.partitions, Enforcement::Both, false);
        }
    }

    /// The same for texts that are almost valid.
    #[test]
    fn no_sequence_of_grammar_words_panics(words in prop::collection::vec(prop::sample::select(&[
        "a", "=", "0x1", ":", ";", ",", "\n", "ALL", "full", "mgid=ff12:401b::1", "ipoib", "scope=3", "indx0", "#", " ",
        "mtu=4096", "defmember=", "Default", "0x7fff", "both",
    ][..]), 0..25)) {
        if let Ok(parsed) = parse(&words.concat()) {
            prop_assert!(!parsed.partitions.is_empty());
            prop_assert!(parsed.partitions.iter().all(|p| p.number != 0 && p.number <= 0x7FFF));
        }
    }
}
