//! Parser of statements.

use std::time::Duration;

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, SmState, id};
use ferrosm_mad::ids::{AttrId, Lid, Lmc};
use ferrosm_mad::mad::Status;

use super::ast::{
    AgentSetting, ForeignSpec, LinkRef, LinkVerb, NodeRef, NodeVerb, Percent, Query, Repetition,
    ScenarioCommand, ScenarioPort, ScenarioTarget, ScopeRef, Statement, TextColumn,
    TransportSetting, When,
};
use super::error::{ScenarioError, ScenarioProblem};
use super::lex::{Token, tokens};
use super::print::{GARBAGE, SM_STATES};

type Result<T> = std::result::Result<T, ScenarioError>;

/// Parses a line; `None` if it is empty or a comment.
pub(super) fn statement(line: &str) -> Result<Option<Statement>> {
    let (tokens, end) = tokens(line)?;
    if tokens.is_empty() {
        return Ok(None);
    }
    let mut p = Parser {
        tokens,
        end,
        next: 0,
    };
    let when = if p.keyword("at") {
        When::At(p.time()?)
    } else if p.keyword("after") {
        When::After(p.time()?)
    } else {
        When::Same
    };
    let every = p.keyword("every").then(|| p.every()).transpose()?;
    let command = p.command()?;
    if p.next < p.tokens.len() {
        return Err(p.expected("the end of the line"));
    }
    Ok(Some(Statement {
        when,
        every,
        command,
    }))
}

struct Parser {
    tokens: Vec<(Token, u32)>,
    end: u32,
    next: usize,
}

impl Parser {
    fn column(&self) -> u32 {
        self.tokens.get(self.next).map_or(self.end, |t| t.1)
    }

    fn expected(&self, description: &str) -> ScenarioError {
        let found = self.tokens.get(self.next).map_or_else(
            || "the end of the line".to_owned(),
            |(t, _)| t.for_message(),
        );
        let expected = description.to_owned();
        ScenarioError::new(self.column(), ScenarioProblem::Expected { expected, found })
    }

    fn peek_word(&self) -> Option<&str> {
        match self.tokens.get(self.next) {
            Some((Token::Word(text), _)) => Some(text),
            _ => None,
        }
    }

    /// Consumes a word if it is `word`.
    fn keyword(&mut self, word: &str) -> bool {
        let found = self.peek_word() == Some(word);
        self.next += usize::from(found);
        found
    }

    fn expect_keyword(&mut self, word: &str) -> Result<()> {
        if self.keyword(word) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{word}`")))
        }
    }

    fn bracket(&mut self, token: &Token) -> bool {
        let found = self.tokens.get(self.next).is_some_and(|t| t.0 == *token);
        self.next += usize::from(found);
        found
    }

    /// Consumes a word that `read` accepts.
    fn word<T>(&mut self, description: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<T> {
        match self.peek_word().and_then(read) {
            Some(value) => {
                self.next += 1;
                Ok(value)
            }
            None => Err(self.expected(description)),
        }
    }

    /// Consumes one of a list of words.
    fn one_of<T: Copy>(&mut self, description: &str, list: &[(T, &str)]) -> Result<T> {
        self.word(description, |w| list.iter().find(|e| e.1 == w).map(|e| e.0))
    }

    fn number<T: TryFrom<u64>>(&mut self, description: &str) -> Result<T> {
        self.word(description, |w| T::try_from(number(w)?).ok())
    }

    fn time(&mut self) -> Result<Duration> {
        self.word("a duration such as 2s, 100ms, 5us or 300ns", time)
    }

    fn percent(&mut self) -> Result<Percent> {
        self.word("a probability from 0% to 100%", percent)
    }

    fn every(&mut self) -> Result<Repetition> {
        let period = self.time()?;
        let times = self.word("a repetition count of at least 1", |w| {
            number(w)
                .and_then(|n| u32::try_from(n).ok())
                .filter(|n| *n > 0)
        })?;
        self.expect_keyword("times")?;
        Ok(Repetition { period, times })
    }

    /// A quoted text or a word.
    fn text(&mut self, description: &str) -> Result<String> {
        let text = match self.tokens.get(self.next) {
            Some((Token::Word(text) | Token::Quoted(text), _)) => text.clone(),
            _ => return Err(self.expected(description)),
        };
        self.next += 1;
        Ok(text)
    }

    fn node(&mut self) -> Result<NodeRef> {
        let column = TextColumn(self.column());
        let quoted = matches!(self.tokens.get(self.next), Some((Token::Quoted(_), _)));
        let text = self.text("a node")?;
        if quoted {
            return Ok(NodeRef::Name(text, column));
        }
        Ok(match number(&text) {
            Some(guid) if text.starts_with("0x") => NodeRef::Guid(guid, column),
            // saturates: no fabric has so many nodes.
            Some(index) => NodeRef::Index(usize::try_from(index).unwrap_or(usize::MAX), column),
            None => NodeRef::Name(text, column),
        })
    }

    /// A node, or a port of it.
    fn target(&mut self) -> Result<ScenarioTarget> {
        let node = self.node()?;
        if !self.bracket(&Token::Open) {
            return Ok(ScenarioTarget::Node(node));
        }
        let port = self.number("a port number from 0 to 254")?;
        if !self.bracket(&Token::Close) {
            return Err(self.expected("`]`"));
        }
        Ok(ScenarioTarget::Port(ScenarioPort { node, port }))
    }

    fn port(&mut self) -> Result<ScenarioPort> {
        let start = self.next;
        match self.target()? {
            ScenarioTarget::Port(port) => Ok(port),
            ScenarioTarget::Node(_) => {
                let error = self.expected("a port number in brackets, such as NODE[1], or \"host 1\"[1] if the name has blanks");
                self.next = start;
                Err(error)
            }
        }
    }

    fn link_ref(&mut self) -> Result<LinkRef> {
        if self.keyword("into") {
            return Ok(LinkRef::Into(self.port()?));
        }
        if self.keyword("out-of") {
            return Ok(LinkRef::OutOf(self.port()?));
        }
        let _ = self.keyword("link") || self.keyword("port");
        Ok(LinkRef::Both(self.port()?))
    }

    fn scope(&mut self) -> Result<ScopeRef> {
        if self.next == self.tokens.len() || self.keyword("all") {
            return Ok(ScopeRef::All);
        }
        if self.keyword("node") {
            return Ok(ScopeRef::Node(self.node()?));
        }
        match self.peek_word() {
            Some("link" | "port" | "into" | "out-of") => Ok(ScopeRef::Link(self.link_ref()?)),
            _ => Ok(match self.target()? {
                ScenarioTarget::Node(node) => ScopeRef::Node(node),
                ScenarioTarget::Port(port) => ScopeRef::Link(LinkRef::Both(port)),
            }),
        }
    }

    /// All nodes (`None`) or one.
    fn nodes(&mut self) -> Result<Option<NodeRef>> {
        if self.next == self.tokens.len() || self.keyword("all") {
            return Ok(None);
        }
        let _ = self.keyword("node");
        self.node().map(Some)
    }

    fn width(&mut self) -> Result<LinkWidth> {
        self.word("a width: 1x, 2x, 4x, 8x or 12x", |w| {
            let lanes = w.to_ascii_lowercase().strip_suffix('x')?.parse().ok()?;
            [1, 2, 4, 8, 12]
                .contains(&lanes)
                .then_some(LinkWidth(lanes))
        })
    }

    fn speed(&mut self) -> Result<LinkSpeed> {
        self.word("a speed from sdr to xdr", |w| {
            LinkSpeed::ALL
                .into_iter()
                .find(|s| s.name().eq_ignore_ascii_case(w))
        })
    }

    fn command(&mut self) -> Result<ScenarioCommand> {
        let Some(verb) = self.peek_word().map(str::to_owned) else {
            return Err(self.expected("a command (see `help`)"));
        };
        self.next += 1;
        if let Some((verb, _)) = LinkVerb::ALL.into_iter().find(|e| e.1 == verb) {
            return Ok(ScenarioCommand::Link(verb, self.port()?));
        }
        if let Some((verb, _)) = NodeVerb::ALL.into_iter().find(|e| e.1 == verb) {
            return Ok(ScenarioCommand::Node(verb, self.node()?));
        }
        if let Some(set) = self.transport_setting(&verb)? {
            return Ok(ScenarioCommand::TransportFault(set, self.scope()?));
        }
        if let Some(set) = self.agent_setting(&verb)? {
            return Ok(ScenarioCommand::Agent(set, self.nodes()?));
        }
        Ok(match verb.as_str() {
            "flap" => {
                let port = self.port()?;
                self.expect_keyword("period")?;
                let period = self.time()?;
                self.expect_keyword("times")?;
                let times = self.number("a repetition count")?;
                ScenarioCommand::Flap {
                    port,
                    period,
                    times,
                }
            }
            "plug" => ScenarioCommand::Plug {
                link_ends: [self.port()?, self.port()?],
                width: self.width()?,
                speed: self.speed()?,
            },
            "move" => ScenarioCommand::Move(self.port()?, self.port()?),
            "swap" => ScenarioCommand::Swap(self.port()?, self.port()?),
            "degrade" => {
                let port = self.port()?;
                let width = self.width()?;
                ScenarioCommand::Degrade(port, self.speed()?, width)
            }
            "training" => ScenarioCommand::Training(self.time()?),
            "rename" => ScenarioCommand::Rename(self.node()?, self.text("the new description")?),
            "guid" => ScenarioCommand::Guid(self.target()?, self.number("a GUID")?),
            "lid" => {
                let port = self.port()?;
                let lid = Lid(self.number("a LID")?);
                let lmc = if self.keyword("lmc") {
                    self.word("an LMC from 0 to 7", |w| {
                        u8::try_from(number(w)?).ok().filter(|n| *n < 8)
                    })?
                } else {
                    0
                };
                ScenarioCommand::Lid(port, lid, Lmc(lmc))
            }
            "corrupt-lft" => {
                let node = self.node()?;
                self.expect_keyword("lid")?;
                let lid = Lid(self.number("a LID")?);
                self.expect_keyword("port")?;
                let port = self.number("a port number from 0 to 255")?;
                ScenarioCommand::CorruptLft { node, lid, port }
            }
            "trap" => ScenarioCommand::Trap(self.number("a trap number")?, self.target()?),
            "sm" => self.sm()?,
            "drain" => ScenarioCommand::Drain(self.time()?, self.link_ref()?),
            "error" => {
                self.expect_keyword("attr")?;
                let attr = self.word("an attribute such as 0x15 or PortInfo", attribute)?;
                ScenarioCommand::Error(attr, self.percent()?, self.scope()?)
            }
            "heal" => ScenarioCommand::Heal(self.scope()?),
            "count" | "counter" => {
                let port = self.port()?;
                let column = TextColumn(self.column());
                let name = self.text("a counter name")?;
                let n = self.number("a number")?;
                if verb == "count" {
                    ScenarioCommand::AddToCounter(port, name, n, column)
                } else {
                    ScenarioCommand::SetCounter(port, name, n, column)
                }
            }
            "counters" if self.next == self.tokens.len() => {
                ScenarioCommand::Query(Query::Counters(None))
            }
            "counters" => ScenarioCommand::Query(Query::Counters(Some(self.target()?))),
            "clients" => ScenarioCommand::Query(Query::Clients),
            "links" => ScenarioCommand::Query(Query::Links),
            "status" => ScenarioCommand::Query(Query::Status),
            "help" => ScenarioCommand::Query(Query::Help),
            _ => {
                self.next -= 1;
                let problem = ScenarioProblem::NoSuchCommand(verb);
                return Err(ScenarioError::new(self.column(), problem));
            }
        })
    }

    fn transport_setting(&mut self, verb: &str) -> Result<Option<TransportSetting>> {
        Ok(Some(match verb {
            "loss" => TransportSetting::Loss(self.percent()?),
            "duplicate" => TransportSetting::Duplicate(self.percent()?),
            "jitter" => TransportSetting::Jitter(self.time()?),
            "latency" => TransportSetting::Latency(self.time()?),
            _ => return Ok(None),
        }))
    }

    fn agent_setting(&mut self, verb: &str) -> Result<Option<AgentSetting>> {
        Ok(Some(match verb {
            "service" => AgentSetting::Service(self.time()?),
            "backlog" => AgentSetting::Backlog(self.number("a queue length")?),
            "delay" => AgentSetting::Delay(self.time()?),
            "refuse" if self.keyword("off") => AgentSetting::Refuse(None),
            "refuse" if self.keyword("attr") => {
                let attr = self.word("an attribute such as 0x15 or PortInfo", attribute)?;
                let status = self.number("a status such as 0x1c")?;
                AgentSetting::RefuseAttr(attr, Status(status))
            }
            "refuse" => AgentSetting::Refuse(Some(Status(
                self.number("a status such as 0x1c, `attr` or `off`")?,
            ))),
            "garbage" if self.keyword("off") => AgentSetting::Garbage(None, Percent::ALL),
            "garbage" => {
                let expected_tokens = "data, status, tid, attribute, modifier, unused, any or off";
                let kind = self.one_of(expected_tokens, &GARBAGE)?;
                let has_chance = self.peek_word().is_some_and(|w| w.ends_with('%'));
                let chance = if has_chance {
                    self.percent()?
                } else {
                    Percent::ALL
                };
                AgentSetting::Garbage(Some(kind), chance)
            }
            _ => return Ok(None),
        }))
    }

    fn sm(&mut self) -> Result<ScenarioCommand> {
        let target = self.target()?;
        if self.keyword("off") {
            return Ok(ScenarioCommand::SmOff(target));
        }
        let mut sm = ForeignSpec {
            priority: 0,
            guid: None,
            state: SmState::Standby,
            applies_controls: true,
        };
        while self.next < self.tokens.len() {
            if self.keyword("priority") {
                sm.priority = self.word("a priority from 0 to 15", |w| {
                    u8::try_from(number(w)?).ok().filter(|n| *n < 16)
                })?;
            } else if self.keyword("guid") {
                sm.guid = Some(self.number("a GUID")?);
            } else if self.keyword("state") {
                let expected_tokens = "not-active, discovering, standby or master";
                sm.state = self.one_of(expected_tokens, &SM_STATES)?;
            } else if self.keyword("ignore-controls") {
                sm.applies_controls = false;
            } else {
                return Err(self.expected("off, priority, guid, state or ignore-controls"));
            }
        }
        Ok(ScenarioCommand::Sm(target, sm))
    }
}

/// Decimal, or hexadecimal with `0x`.
fn number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(hex) if !hex.starts_with('+') => u64::from_str_radix(hex, 16).ok(),
        Some(_) => None,
        None if word.starts_with('+') => None,
        None => word.parse().ok(),
    }
}

fn time(word: &str) -> Option<Duration> {
    let digits = word.trim_end_matches(char::is_alphabetic);
    let unit: u64 = match &word[digits.len()..] {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        _ => return None,
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let mut nanos = number(whole)?.checked_mul(unit)?;
    let mut unit = unit;
    for digit in part.chars() {
        let digit = u64::from(digit.to_digit(10)?);
        unit /= 10;
        nanos = nanos.checked_add(digit * unit)?;
    }
    Some(Duration::from_nanos(nanos))
}

fn percent(word: &str) -> Option<Percent> {
    let value: f64 = word.strip_suffix('%')?.parse().ok()?;
    (0.0..=100.0).contains(&value).then_some(Percent(value))
}

fn attribute(word: &str) -> Option<AttrId> {
    if let Some(n) = number(word) {
        return u16::try_from(n).ok().map(AttrId);
    }
    (0..=0xFFFF)
        .map(AttrId)
        .find(|a| id::name(*a).is_some_and(|name| name.eq_ignore_ascii_case(word)))
}
