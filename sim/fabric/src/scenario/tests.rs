//! Statements are parsed as printed; errors have their position.

use std::time::Duration;

use ferrosm_mad::attr::{LinkSpeed, LinkWidth};
use ferrosm_mad::ids::{AttrId, Lid, Lmc};
use ferrosm_mad::mad::Status;
use proptest::prelude::*;

use super::print::{GARBAGE, SM_STATES};
use super::*;
use crate::generate;

fn node() -> impl Strategy<Value = NodeRef> {
    let at = TextColumn(0);
    prop_oneof![
        // Any text can be a description, including keywords and brackets.
        ".{0,20}".prop_map(move |name| NodeRef::Name(name, at)),
        "[a-zA-Z_][a-zA-Z0-9_./-]{0,12}".prop_map(move |name| NodeRef::Name(name, at)),
        prop::sample::select(vec![
            "all", "node", "link", "into", "off", "0x12", "7", "-", "a\"b\\"
        ])
        .prop_map(move |name| NodeRef::Name(name.to_owned(), at)),
        any::<u64>().prop_map(move |guid| NodeRef::Guid(guid, at)),
        any::<u32>().prop_map(move |index| NodeRef::Index(index as usize, at)),
    ]
}

fn port() -> impl Strategy<Value = ScenarioPort> {
    (node(), any::<u8>()).prop_map(|(node, port)| ScenarioPort { node, port })
}

fn target() -> impl Strategy<Value = ScenarioTarget> {
    prop_oneof![
        node().prop_map(ScenarioTarget::Node),
        port().prop_map(ScenarioTarget::Port)
    ]
}

fn link_ref() -> impl Strategy<Value = LinkRef> {
    prop_oneof![
        port().prop_map(LinkRef::Both),
        port().prop_map(LinkRef::Into),
        port().prop_map(LinkRef::OutOf),
    ]
}

fn scope() -> impl Strategy<Value = ScopeRef> {
    prop_oneof![
        Just(ScopeRef::All),
        node().prop_map(ScopeRef::Node),
        link_ref().prop_map(ScopeRef::Link),
    ]
}

fn time() -> impl Strategy<Value = Duration> {
    (any::<u32>(), 0u32..4)
        .prop_map(|(n, unit)| Duration::from_nanos(u64::from(n) * 1000u64.pow(unit)))
}

fn percent() -> impl Strategy<Value = Percent> {
    (0.0..=100.0f64).prop_map(Percent)
}

fn rate() -> impl Strategy<Value = (LinkWidth, LinkSpeed)> {
    let widths = prop::sample::select(vec![1, 2, 4, 8, 12]).prop_map(LinkWidth);
    (widths, prop::sample::select(LinkSpeed::ALL.to_vec()))
}

fn setting() -> impl Strategy<Value = ScenarioCommand> {
    let transport_fault = prop_oneof![
        percent().prop_map(TransportSetting::Loss),
        percent().prop_map(TransportSetting::Duplicate),
        time().prop_map(TransportSetting::Jitter),
        time().prop_map(TransportSetting::Latency),
    ];
    let kinds = prop::sample::select(GARBAGE.map(|g| g.0).to_vec());
    let agent = prop_oneof![
        time().prop_map(AgentSetting::Service),
        any::<u32>().prop_map(AgentSetting::Backlog),
        time().prop_map(AgentSetting::Delay),
        any::<Option<u16>>().prop_map(|s| AgentSetting::Refuse(s.map(Status))),
        any::<(u16, u16)>().prop_map(|(attr, s)| AgentSetting::RefuseAttr(AttrId(attr), Status(s))),
        Just(AgentSetting::Garbage(None, Percent::ALL)),
        (kinds, percent()).prop_map(|(kind, chance)| AgentSetting::Garbage(Some(kind), chance)),
    ];
    prop_oneof![
        (transport_fault, scope())
            .prop_map(|(set, scope)| ScenarioCommand::TransportFault(set, scope)),
        (agent, prop::option::of(node())).prop_map(|(set, node)| ScenarioCommand::Agent(set, node)),
        (time(), link_ref()).prop_map(|(time, link)| ScenarioCommand::Drain(time, link)),
        (any::<u16>(), percent(), scope())
            .prop_map(|(attr, chance, scope)| ScenarioCommand::Error(AttrId(attr), chance, scope)),
        scope().prop_map(ScenarioCommand::Heal),
    ]
}

fn event() -> impl Strategy<Value = ScenarioCommand> {
    let verbs = prop::sample::select(LinkVerb::ALL.map(|v| v.0).to_vec());
    let node_verbs = prop::sample::select(NodeVerb::ALL.map(|v| v.0).to_vec());
    let sm = (0u8..16, any::<Option<u64>>(), 0usize..4, any::<bool>()).prop_map(
        |(priority, guid, state, applies_controls)| ForeignSpec {
            priority,
            guid,
            state: SM_STATES[state].0,
            applies_controls,
        },
    );
    let name = "[a-zA-Z_]{1,20}";
    prop_oneof![
        (verbs, port()).prop_map(|(verb, port)| ScenarioCommand::Link(verb, port)),
        (node_verbs, node()).prop_map(|(verb, node)| ScenarioCommand::Node(verb, node)),
        (port(), time(), any::<u32>()).prop_map(|(port, period, times)| ScenarioCommand::Flap {
            port,
            period,
            times
        }),
        (port(), port(), rate()).prop_map(|(a, b, (width, speed))| ScenarioCommand::Plug {
            link_ends: [a, b],
            width,
            speed
        }),
        (port(), port()).prop_map(|(a, b)| ScenarioCommand::Move(a, b)),
        (port(), port()).prop_map(|(a, b)| ScenarioCommand::Swap(a, b)),
        (port(), rate())
            .prop_map(|(port, (width, speed))| ScenarioCommand::Degrade(port, speed, width)),
        time().prop_map(ScenarioCommand::Training),
        (node(), ".{0,64}").prop_map(|(node, text)| ScenarioCommand::Rename(node, text)),
        (target(), any::<u64>()).prop_map(|(target, guid)| ScenarioCommand::Guid(target, guid)),
        (port(), any::<u16>(), 0u8..8).prop_map(|(port, lid, lmc)| ScenarioCommand::Lid(
            port,
            Lid(lid),
            Lmc(lmc)
        )),
        (node(), any::<u16>(), any::<u8>()).prop_map(|(node, lid, port)| {
            ScenarioCommand::CorruptLft {
                node,
                lid: Lid(lid),
                port,
            }
        }),
        (any::<u16>(), target()).prop_map(|(number, target)| ScenarioCommand::Trap(number, target)),
        (target(), sm).prop_map(|(target, sm)| ScenarioCommand::Sm(target, sm)),
        target().prop_map(ScenarioCommand::SmOff),
        (port(), name, any::<u64>()).prop_map(|(port, name, n)| ScenarioCommand::AddToCounter(
            port,
            name,
            n,
            TextColumn(0)
        )),
        (port(), name, any::<u64>()).prop_map(|(port, name, n)| ScenarioCommand::SetCounter(
            port,
            name,
            n,
            TextColumn(0)
        )),
    ]
}

fn query() -> impl Strategy<Value = ScenarioCommand> {
    prop_oneof![
        prop::option::of(target()).prop_map(Query::Counters),
        Just(Query::Clients),
        Just(Query::Links),
        Just(Query::Status),
        Just(Query::Help),
    ]
    .prop_map(ScenarioCommand::Query)
}

fn statement() -> impl Strategy<Value = Statement> {
    let when = prop_oneof![
        Just(When::Same),
        time().prop_map(When::At),
        time().prop_map(When::After),
    ];
    let every = (time(), 1u32..).prop_map(|(period, times)| Repetition { period, times });
    let command = prop_oneof![4 => setting(), 4 => event(), 1 => query()];
    (when, prop::option::of(every), command).prop_map(|(when, every, command)| Statement {
        when,
        every,
        command,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn printed_statements_are_parsed_as_equal(statement in statement()) {
        let text = statement.to_string();
        let again = Statement::parse(&text);
        prop_assert_eq!(again.as_ref(), Ok(&Some(statement)), "{}", text);
        prop_assert_eq!(again.unwrap().unwrap().to_string(), text);
    }

    /// Any input gives a statement or an error with a position in it.
    #[test]
    fn any_line_gives_a_statement_or_an_error_position(line in "[a-z0-9\\[\\]\" #%.]{0,40}|.{0,60}") {
        if let Err(error) = Statement::parse(&line) {
            prop_assert!((1..=line.chars().count() + 1).contains(&(error.column as usize)));
        }
    }
}

fn parse_invalid(line: &str) -> String {
    Statement::parse(line).unwrap_err().to_string()
}

#[test]
fn errors_have_a_reason_and_a_position() {
    for (line, expected) in [
        (
            "fly h1",
            "column 1: unknown command `fly` (`help` lists the commands)",
        ),
        (
            "  cut",
            "column 6: expected a node, found the end of the line",
        ),
        (
            "cut leaf1",
            "column 10: expected a port number in brackets, such as NODE[1], or \"host 1\"[1] if the name has blanks, found the end of the line",
        ),
        (
            "cut \"leaf 1\"[x]",
            "column 14: expected a port number from 0 to 254, found `x`",
        ),
        (
            "cut leaf1[3",
            "column 12: expected `]`, found the end of the line",
        ),
        ("cut \"leaf", "column 5: unterminated quoted text"),
        (
            "at noon cut a[1]",
            "column 4: expected a duration such as 2s, 100ms, 5us or 300ns, found `noon`",
        ),
        (
            "loss 120% all",
            "column 6: expected a probability from 0% to 100%, found `120%`",
        ),
        (
            "every 1s 0 times cut a[1]",
            "column 10: expected a repetition count of at least 1, found `0`",
        ),
        (
            "bounce a[1] b[1]",
            "column 13: expected the end of the line, found `b`",
        ),
        (
            "plug a[1] b[1] 3x hdr",
            "column 16: expected a width: 1x, 2x, 4x, 8x or 12x, found `3x`",
        ),
        (
            "sm h1 mighty",
            "column 7: expected off, priority, guid, state or ignore-controls, found `mighty`",
        ),
    ] {
        assert_eq!(parse_invalid(line), format!("line 1, {expected}"));
    }
    let script = "# nothing yet\n\ncut a[1]\n  cut a[1\n";
    let error = Script::parse(script).unwrap_err();
    assert_eq!((error.line, error.column), (4, 10));
}

#[test]
fn short_forms_equal_full_statements() {
    for (short, long) in [
        ("loss 5%", "loss 5% all"),
        ("loss 5% h1", "loss 5% node h1"),
        ("loss 5% h1[2]", "loss 5% link h1[2]"),
        ("loss 5% port h1[2]", "loss 5% link h1[2]"),
        ("drain 1ms h1[2]", "drain 1ms link h1[2]"),
        ("service 5us h1", "service 5us node h1"),
        ("garbage any h1", "garbage any 100% node h1"),
        (
            "error attr PortInfo 10% sw1[4]",
            "error attr 0x0015 10% link sw1[4]",
        ),
        ("lid \"h1\"[1] 0x10", "lid h1[1] 16 lmc 0"),
        ("sm h7 priority 14", "sm h7 priority 14 state standby"),
        ("at 1.5s cut h1 [ 2 ] # gone", "at 1500ms cut h1[2]"),
        ("after 2min heal", "after 120s heal all"),
    ] {
        let read = |text| Statement::parse(text).unwrap().unwrap();
        assert_eq!(read(short), read(long));
        assert_eq!(read(short).to_string(), long);
    }
}

fn fabric() -> Fabric {
    Fabric::new(&generate::from_spec("ring:3,1").unwrap()).unwrap()
}

fn planned(text: &str) -> Vec<(u64, String)> {
    let plan = Script::parse(text).unwrap().plan(&fabric(), Instant::START);
    let shown =
        |(at, action): (Instant, FabricAction)| (at.as_nanos() / 1_000_000, format!("{action:?}"));
    plan.unwrap().into_iter().map(shown).collect()
}

#[test]
fn at_counts_from_the_start_and_after_from_the_previous_statement() {
    let text = "
        heal
        at 2s reboot 0
        after 100ms every 50ms 3 times trap 128 0
        after 1s hang 0
        unhang 0
        at 1s off 0
    ";
    let times: Vec<u64> = planned(text).into_iter().map(|p| p.0).collect();
    assert_eq!(times, [0, 2000, 2100, 2150, 2200, 3100, 3100, 1000]);
}

#[test]
fn nodes_are_found_by_name_guid_and_index() {
    let fabric = fabric();
    let names = NodeNames::of(&fabric);
    let find = |text: &str| {
        let ScenarioCommand::Node(_, node) = Statement::parse(text).unwrap().unwrap().command
        else {
            panic!("{text} is not a node command");
        };
        names.node(&node)
    };
    for node in 0..fabric.num_nodes() {
        let name = fabric.description(node).to_string();
        assert_eq!(find(&format!("off {name:?}")), Ok(node));
        assert_eq!(
            find(&format!("off {:#x}", fabric.node_guid(node).0)),
            Ok(node)
        );
        assert_eq!(find(&format!("off {node}")), Ok(node));
    }
    for port in fabric.end_ports() {
        let guid = fabric.port_guid(port).0;
        assert_eq!(find(&format!("off {guid:#x}")), Ok(port.node));
    }
}

#[test]
fn unknown_names_are_rejected_with_their_position() {
    let fabric = fabric();
    for (line, column, problem) in [
        (
            "off nowhere",
            5,
            ScenarioProblem::NoSuchNode("nowhere".to_owned()),
        ),
        ("off 99", 5, ScenarioProblem::NoSuchNode("99".to_owned())),
        ("status", 1, ScenarioProblem::QueryInScenario),
        (
            "cut  0[200]",
            6,
            ScenarioProblem::NoSuchPort {
                node: "0".to_owned(),
                port: 200,
                exists: false,
                usable: "it has port 1".to_owned(),
            },
        ),
        (
            "count 0[1] weather 3",
            12,
            ScenarioProblem::NoSuchCounter("weather".to_owned()),
        ),
    ] {
        let error = Script::parse(&format!("\n{line}"))
            .unwrap()
            .plan(&fabric, Instant::START)
            .unwrap_err();
        assert_eq!(
            (error.line, error.column, error.problem),
            (2, column, problem)
        );
    }
    let mut twins = fabric;
    twins.set_description(1, "twin");
    twins.set_description(2, "twin");
    let error = Script::parse("off twin")
        .unwrap()
        .plan(&twins, Instant::START)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1, column 5: 2 nodes are named twin: use a GUID or an index"
    );
}

/// The syntax in each help entry can be parsed, with examples in place of the placeholders.
#[test]
fn help_lists_valid_commands() {
    for (syntax, _) in HELP {
        let example = syntax
            .replace("NODE|PORT", "h1")
            .replace("PORT PORT", "h1[1] h2[1]")
            .replace("PORT", "h1[1]")
            .replace("NODE", "h1")
            .replace("SCOPE", "into h1[1]")
            .replace("LINK", "out-of h1[1]")
            .replace("TIME", "1ms")
            .replace("WIDTH SPEED", "4x hdr")
            .replace("PERCENT", "3%")
            .replace("ATTRIBUTE", "0x15")
            .replace("GUID", "0x77")
            .replace("KIND|off", "any")
            .replace("STATUS|off", "0x1c")
            .replace("STATUS", "0x1c")
            .replace("STATE", "master")
            .replace("COUNTER", "symbol_errors")
            .replace("NUMBER", "128")
            .replace("TEXT", "\"new name\"")
            .replace("LID", "7")
            .replace(" N", " 3");
        let without = example.split(" [").next().unwrap();
        let with = example
            .replace(" [", " ")
            .replace(']', "")
            .replace("h1[1", "h1[1]");
        let with = with.replace("h2[1", "h2[1]");
        for text in [without, &with] {
            assert!(
                matches!(Statement::parse(text), Ok(Some(_))),
                "{syntax}: {text}: {:?}",
                Statement::parse(text)
            );
        }
    }
    assert_eq!(help().lines().count(), HELP.len());
}
