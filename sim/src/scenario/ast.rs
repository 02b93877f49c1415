//! A statement as it was written: names and not yet indices, so that it can be written back.

use std::time::Duration;

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, SmState};
use ferrosm_mad::ids::{AttrId, Lid, Lmc};
use ferrosm_mad::mad::Status;

use crate::faults::Garbage;

/// A line: when, how often, what.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// When it happens (first).
    pub when: When,
    /// Whether it happens again.
    pub every: Option<Repetition>,
    /// What happens.
    pub command: Command,
}

/// When a statement happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At the time of the statement before; the first one at once.
    Same,
    /// So long after the scenario began.
    At(Duration),
    /// So long after the statement before.
    After(Duration),
}

/// How a statement is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repetition {
    /// Time between two.
    pub period: Duration,
    /// How often in all, at least once.
    pub times: u32,
}

/// Where on its line something stood, for errors: of no account when statements are compared.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextColumn(pub u32);

impl PartialEq for TextColumn {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for TextColumn {}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeRef {
    /// By NodeDescription.
    Name(String, TextColumn),
    /// By its GUID or that of one of its ports.
    Guid(u64, TextColumn),
    /// By its place in the fabric.
    Index(usize, TextColumn),
}

/// A port: `leaf1[3]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortRef {
    /// The node.
    pub node: NodeRef,
    /// The port number.
    pub port: u8,
}

/// A node or a port of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The node.
    Node(NodeRef),
    /// The port.
    Port(PortRef),
}

/// One or both directions of a cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkRef {
    /// Both.
    Both(PortRef),
    /// What arrives at the port.
    Into(PortRef),
    /// What leaves by the port.
    OutOf(PortRef),
}

/// Where something goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeRef {
    /// Everywhere.
    All,
    /// At a node.
    Node(NodeRef),
    /// On a cable.
    Link(LinkRef),
}

/// From 0 to 100, as it was written.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Percent(pub f64);

impl Percent {
    /// Always.
    pub const ALL: Self = Self(100.0);

    /// From 0 to 1.
    #[must_use]
    pub fn chance(self) -> f64 {
        self.0 / 100.0
    }
}

/// What is done to a cable without further words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the words themselves; docs/scenario.md explains them"
)]
pub enum LinkVerb {
    Cut,
    Restore,
    Bounce,
    Unplug,
}

/// What is done to a node without further words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the words themselves; docs/scenario.md explains them"
)]
pub enum NodeVerb {
    Off,
    On,
    Reboot,
    Hang,
    Unhang,
    SrpTarget,
    SrpOff,
    KeepVls,
}

/// What MADs meet on their way.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(
    missing_docs,
    reason = "the words themselves; docs/scenario.md explains them"
)]
pub enum TransportSetting {
    Loss(Percent),
    Duplicate(Percent),
    Jitter(Duration),
    Latency(Duration),
}

/// What agents do.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(
    missing_docs,
    reason = "the words themselves; docs/scenario.md explains them"
)]
pub enum AgentSetting {
    Service(Duration),
    Backlog(u32),
    Delay(Duration),
    Refuse(Option<Status>),
    Garbage(Option<Garbage>, Percent),
}

/// A subnet manager of somebody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignSpec {
    /// 0 to 15.
    pub priority: u8,
    /// Its GUID; that of the port unless said.
    pub guid: Option<u64>,
    /// What it says it is.
    pub state: SmState,
    /// Whether it does as it is asked.
    pub obeys: bool,
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    missing_docs,
    reason = "the words themselves; docs/scenario.md explains them"
)]
pub enum Command {
    Link(LinkVerb, PortRef),
    Flap {
        port: PortRef,
        period: Duration,
        times: u32,
    },
    Plug {
        ends: [PortRef; 2],
        width: LinkWidth,
        speed: LinkSpeed,
    },
    Move(PortRef, PortRef),
    Swap(PortRef, PortRef),
    Degrade(PortRef, LinkSpeed, LinkWidth),
    Training(Duration),
    Node(NodeVerb, NodeRef),
    Rename(NodeRef, String),
    Guid(Target, u64),
    Lid(PortRef, Lid, Lmc),
    CorruptLft {
        node: NodeRef,
        lid: Lid,
        port: u8,
    },
    Trap(u16, Target),
    Sm(Target, ForeignSpec),
    SmOff(Target),
    Wire(TransportSetting, ScopeRef),
    Drain(Duration, LinkRef),
    Agent(AgentSetting, Option<NodeRef>),
    Error(AttrId, Percent, ScopeRef),
    Heal(ScopeRef),
    /// Adds to a counter.
    Count(PortRef, String, u64, TextColumn),
    /// Gives a counter a value.
    Counter(PortRef, String, u64, TextColumn),
    Query(Query),
}

/// A question to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the words themselves; docs/scenario.md explains them"
)]
pub enum Query {
    Counters(Option<Target>),
    Clients,
    Links,
    Status,
    Help,
}
