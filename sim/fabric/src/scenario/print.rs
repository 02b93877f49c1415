//! Printing of statements in the syntax of the parser.

use std::fmt::{self, Display, Formatter};
use std::time::Duration;

use ferrosm_mad::attr::SmState;

use super::ast::{
    AgentSetting, LinkRef, LinkVerb, NodeRef, NodeVerb, Percent, Query, ScenarioCommand,
    ScenarioPort, ScenarioTarget, ScopeRef, Statement, TransportSetting, When,
};
use super::lex::is_word_char;
use crate::faults::Garbage;

/// A duration in its largest whole unit.
struct Time(Duration);

impl Display for Time {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        for (unit, name) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
            if nanos.is_multiple_of(unit) {
                return write!(f, "{}{name}", nanos / unit);
            }
        }
        write!(f, "{nanos}ns")
    }
}

/// A quoted text.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            if c == '"' || c == '\\' {
                f.write_str("\\")?;
            }
            write!(f, "{c}")?;
        }
        f.write_str("\"")
    }
}

impl Display for Percent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

impl Display for NodeRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name, _) => {
                let begins = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
                if begins && name.chars().all(is_word_char) {
                    f.write_str(name)
                } else {
                    Quoted(name).fmt(f)
                }
            }
            Self::Guid(guid, _) => write!(f, "{guid:#018x}"),
            Self::Index(index, _) => write!(f, "{index}"),
        }
    }
}

impl Display for ScenarioPort {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.node, self.port)
    }
}

impl Display for ScenarioTarget {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => node.fmt(f),
            Self::Port(port) => port.fmt(f),
        }
    }
}

impl Display for LinkRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Both(port) => write!(f, "link {port}"),
            Self::Into(port) => write!(f, "into {port}"),
            Self::OutOf(port) => write!(f, "out-of {port}"),
        }
    }
}

impl Display for ScopeRef {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Node(node) => write!(f, "node {node}"),
            Self::Link(link) => link.fmt(f),
        }
    }
}

impl LinkVerb {
    pub(super) const ALL: [(Self, &'static str); 4] = [
        (Self::Cut, "cut"),
        (Self::Restore, "restore"),
        (Self::Bounce, "bounce"),
        (Self::Unplug, "unplug"),
    ];
}

impl NodeVerb {
    pub(super) const ALL: [(Self, &'static str); 9] = [
        (Self::Off, "off"),
        (Self::On, "on"),
        (Self::Reboot, "reboot"),
        (Self::Hang, "hang"),
        (Self::Unhang, "unhang"),
        (Self::SrpTarget, "srp-target"),
        (Self::SrpOff, "srp-off"),
        (Self::IgnoreOperationalVls, "ignore-operational-vls"),
        (Self::SeparateSmi, "separate-smi"),
    ];
}

pub(super) const GARBAGE: [(Garbage, &str); 7] = [
    (Garbage::Data, "data"),
    (Garbage::Status, "status"),
    (Garbage::Tid, "tid"),
    (Garbage::Attribute, "attribute"),
    (Garbage::Modifier, "modifier"),
    (Garbage::UnusedBits, "unused"),
    (Garbage::Any, "any"),
];

pub(super) const SM_STATES: [(SmState, &str); 4] = [
    (SmState::NotActive, "not-active"),
    (SmState::Discovering, "discovering"),
    (SmState::Standby, "standby"),
    (SmState::Master, "master"),
];

/// The keyword of a value.
fn word<T: PartialEq>(list: &[(T, &'static str)], value: &T) -> &'static str {
    list.iter().find(|(v, _)| v == value).map_or("?", |e| e.1)
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.when {
            When::Same => {}
            When::At(time) => write!(f, "at {} ", Time(time))?,
            When::After(time) => write!(f, "after {} ", Time(time))?,
        }
        if let Some(every) = self.every {
            write!(f, "every {} {} times ", Time(every.period), every.times)?;
        }
        self.command.fmt(f)
    }
}

impl Display for ScenarioCommand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(verb, port) => write!(f, "{} {port}", word(&LinkVerb::ALL, verb)),
            Self::Flap {
                port,
                period,
                times,
            } => write!(f, "flap {port} period {} times {times}", Time(*period)),
            Self::Plug {
                link_ends: [a, b],
                width,
                speed,
            } => write!(f, "plug {a} {b} {}x {}", width.0, lower_case(speed.name())),
            Self::Move(from, to) => write!(f, "move {from} {to}"),
            Self::Swap(one, other) => write!(f, "swap {one} {other}"),
            Self::Degrade(port, speed, width) => {
                write!(
                    f,
                    "degrade {port} {}x {}",
                    width.0,
                    lower_case(speed.name())
                )
            }
            Self::Training(time) => write!(f, "training {}", Time(*time)),
            Self::Node(verb, node) => write!(f, "{} {node}", word(&NodeVerb::ALL, verb)),
            Self::Rename(node, name) => write!(f, "rename {node} {}", Quoted(name)),
            Self::Guid(target, guid) => write!(f, "guid {target} {guid:#018x}"),
            Self::Lid(port, lid, lmc) => write!(f, "lid {port} {} lmc {}", lid.0, lmc.0),
            Self::CorruptLft { node, lid, port } => {
                write!(f, "corrupt-lft {node} lid {} port {port}", lid.0)
            }
            Self::Trap(number, target) => write!(f, "trap {number} {target}"),
            Self::Sm(target, sm) => {
                write!(f, "sm {target} priority {}", sm.priority)?;
                if let Some(guid) = sm.guid {
                    write!(f, " guid {guid:#018x}")?;
                }
                write!(f, " state {}", word(&SM_STATES, &sm.state))?;
                f.write_str(if sm.applies_controls {
                    ""
                } else {
                    " ignore-controls"
                })
            }
            Self::SmOff(target) => write!(f, "sm {target} off"),
            Self::TransportFault(set, scope) => write!(f, "{set} {scope}"),
            Self::Drain(time, link) => write!(f, "drain {} {link}", Time(*time)),
            Self::Agent(set, None) => write!(f, "{set} all"),
            Self::Agent(set, Some(node)) => write!(f, "{set} node {node}"),
            Self::Error(attr, chance, scope) => {
                write!(f, "error attr {:#06x} {chance} {scope}", attr.0)
            }
            Self::Heal(scope) => write!(f, "heal {scope}"),
            Self::AddToCounter(port, counter, n, _) => write!(f, "count {port} {counter} {n}"),
            Self::SetCounter(port, counter, n, _) => write!(f, "counter {port} {counter} {n}"),
            Self::Query(query) => query.fmt(f),
        }
    }
}

fn lower_case(text: &str) -> String {
    text.to_ascii_lowercase()
}

impl Display for TransportSetting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loss(chance) => write!(f, "loss {chance}"),
            Self::Duplicate(chance) => write!(f, "duplicate {chance}"),
            Self::Jitter(time) => write!(f, "jitter {}", Time(*time)),
            Self::Latency(time) => write!(f, "latency {}", Time(*time)),
        }
    }
}

impl Display for AgentSetting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(time) => write!(f, "service {}", Time(*time)),
            Self::Backlog(limit) => write!(f, "backlog {limit}"),
            Self::Delay(time) => write!(f, "delay {}", Time(*time)),
            Self::Refuse(None) => f.write_str("refuse off"),
            Self::Refuse(Some(status)) => write!(f, "refuse {:#06x}", status.0),
            Self::RefuseAttr(attr, status) => {
                write!(f, "refuse attr {:#06x} {:#06x}", attr.0, status.0)
            }
            Self::Garbage(None, _) => f.write_str("garbage off"),
            Self::Garbage(Some(kind), chance) => {
                write!(f, "garbage {} {chance}", word(&GARBAGE, kind))
            }
        }
    }
}

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counters(None) => f.write_str("counters"),
            Self::Counters(Some(target)) => write!(f, "counters {target}"),
            Self::Clients => f.write_str("clients"),
            Self::Links => f.write_str("links"),
            Self::Status => f.write_str("status"),
            Self::Help => f.write_str("help"),
        }
    }
}
