//! Statements as written, with names instead of indices, so that they can be printed again.

use std::time::Duration;

use ferrosm_mad::attr::{LinkSpeed, LinkWidth, SmState};
use ferrosm_mad::ids::{AttrId, Lid, Lmc};
use ferrosm_mad::mad::Status;

use crate::faults::Garbage;

/// A line: time, repetition and command.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Time of the first execution.
    pub when: When,
    /// Repetition, if any.
    pub every: Option<Repetition>,
    pub command: ScenarioCommand,
}

/// Time of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At the time of the previous statement; the first one immediately.
    Same,
    /// At a time since the start of the scenario.
    At(Duration),
    /// At a time since the previous statement.
    After(Duration),
}

/// Repetition of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repetition {
    pub period: Duration,
    /// Total number of executions, at least 1.
    pub times: u32,
}

/// Column of a name, for error messages; ignored in comparisons.
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
    /// NodeDescription.
    Name(String, TextColumn),
    /// GUID of the node or of one of its ports.
    Guid(u64, TextColumn),
    /// Index in the fabric.
    Index(usize, TextColumn),
}

/// A port: `leaf1[3]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioPort {
    pub node: NodeRef,
    /// Port number.
    pub port: u8,
}

/// A node or port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScenarioTarget {
    Node(NodeRef),
    Port(ScenarioPort),
}

/// One or both directions of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkRef {
    /// Both directions.
    Both(ScenarioPort),
    /// MADs that arrive at the port.
    Into(ScenarioPort),
    /// MADs that leave by the port.
    OutOf(ScenarioPort),
}

/// Scope of a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScopeRef {
    /// The whole fabric.
    All,
    Node(NodeRef),
    Link(LinkRef),
}

/// A probability in percent, as written.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Percent(pub f64);

impl Percent {
    /// 100 %.
    pub const ALL: Self = Self(100.0);

    /// As a number from 0 to 1.
    #[must_use]
    pub fn probability(self) -> f64 {
        self.0 / 100.0
    }
}

/// Commands for links without further arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkVerb {
    Cut,
    Restore,
    Bounce,
    Unplug,
}

/// Commands for nodes without further arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeVerb {
    Off,
    On,
    Reboot,
    Hang,
    Unhang,
    SrpTarget,
    SrpOff,
    IgnoreOperationalVls,
    SeparateSmi,
}

/// Transport faults.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TransportSetting {
    Loss(Percent),
    Duplicate(Percent),
    Jitter(Duration),
    Latency(Duration),
}

/// Agent faults.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AgentSetting {
    Service(Duration),
    Backlog(u32),
    Delay(Duration),
    Refuse(Option<Status>),
    RefuseAttr(AttrId, Status),
    Garbage(Option<Garbage>, Percent),
}

/// A foreign SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForeignSpec {
    /// Priority, 0 to 15.
    pub priority: u8,
    /// GUID; `None`: that of the port.
    pub guid: Option<u64>,
    /// State reported in SMInfo.
    pub state: SmState,
    /// Whether Set(SMInfo) changes its state.
    pub applies_controls: bool,
}

/// A command.
#[derive(Debug, Clone, PartialEq)]
pub enum ScenarioCommand {
    Link(LinkVerb, ScenarioPort),
    Flap {
        port: ScenarioPort,
        period: Duration,
        times: u32,
    },
    Plug {
        link_ends: [ScenarioPort; 2],
        width: LinkWidth,
        speed: LinkSpeed,
    },
    Move(ScenarioPort, ScenarioPort),
    Swap(ScenarioPort, ScenarioPort),
    Degrade(ScenarioPort, LinkSpeed, LinkWidth),
    Training(Duration),
    Node(NodeVerb, NodeRef),
    Rename(NodeRef, String),
    Guid(ScenarioTarget, u64),
    Lid(ScenarioPort, Lid, Lmc),
    CorruptLft {
        node: NodeRef,
        lid: Lid,
        port: u8,
    },
    Trap(u16, ScenarioTarget),
    Sm(ScenarioTarget, ForeignSpec),
    SmOff(ScenarioTarget),
    TransportFault(TransportSetting, ScopeRef),
    Drain(Duration, LinkRef),
    Agent(AgentSetting, Option<NodeRef>),
    Error(AttrId, Percent, ScopeRef),
    Heal(ScopeRef),
    AddToCounter(ScenarioPort, String, u64, TextColumn),
    SetCounter(ScenarioPort, String, u64, TextColumn),
    Query(Query),
}

/// A query to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    Counters(Option<ScenarioTarget>),
    Clients,
    Links,
    Status,
    Help,
}
