//! What a loss, or another routing engine, would do.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::invariant::InvariantStatus;
use crate::object::ObjectName;

/// The query of a prediction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WhatIfQuery {
    /// Nodes and links that are lost, separated by commas: the name or GUID of a node, or one end
    /// of a link, such as `leaf-2-0/5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<String>,
    /// Routing engines to try in this order, separated by commas; absent: as the SM would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Compute all routes anew, without regard to the routing in force: the answer then depends on
    /// the fabric and the configuration only.
    #[serde(default)]
    pub reroute: bool,
}

/// A prediction with a body: as the query, and with what is added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WhatIfRequest {
    /// Nodes and links that are lost.
    #[serde(default)]
    pub without: Vec<String>,
    /// Routing engines to try in this order; empty: as the SM would.
    #[serde(default)]
    pub engine: Vec<String>,
    /// Compute all routes anew, without regard to the routing in force: the answer then depends on
    /// the fabric and the configuration only.
    #[serde(default)]
    pub reroute: bool,
    /// What is added after the loss.
    #[serde(default)]
    pub added: AddedEquipment,
}

/// Nodes and cables that are added.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddedEquipment {
    /// Nodes that are not in the fabric. They get free LIDs.
    #[serde(default)]
    pub nodes: Vec<AddedNode>,
    /// Cables between nodes of the fabric and added ones. A port of a host that is known keeps its
    /// LIDs.
    #[serde(default)]
    pub cables: Vec<AddedCable>,
}

impl AddedEquipment {
    /// Whether nothing is added.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.cables.is_empty()
    }
}

/// A node that is added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddedNode {
    /// Its node GUID.
    pub guid: String,
    /// Its name.
    pub name: String,
    /// Whether it is a switch; otherwise a host.
    pub switch: bool,
}

/// A cable that is added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AddedCable {
    /// One end.
    pub a: CableEnd,
    /// The other end.
    pub b: CableEnd,
}

/// An end of a cable that is added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CableEnd {
    /// GUID of the node.
    pub guid: String,
    /// Port number.
    pub port: u8,
}

/// What a loss would do. Ports are ports of hosts: of channel adapters and routers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WhatIf {
    /// What is lost: nodes, and links with both ends.
    pub lost: Vec<String>,
    /// What is added: nodes, and links with both ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    /// Whether all switches that are not lost are still connected with each other.
    pub connected: bool,
    /// Pairs of ports that can reach each other now, and could not then.
    pub pairs_cut_off: u64,
    /// Ports that are in the largest part of the fabric now, and would not be then.
    pub cut_off: NamedPorts,
    /// Names of switches that are not lost and would not be in the largest part of the fabric.
    pub switches_cut_off: Vec<String>,
    /// Whether the port of this SM would be cut off. The answer is as for an SM in the largest
    /// part.
    pub sm_cut_off: bool,
    /// Ports that have redundancy now and would not have it then: a single link between switches,
    /// or a single switch other than their own, could separate them from half or more of the
    /// others.
    pub lose_redundancy: NamedPorts,
    /// Ports without redundancy now.
    pub without_redundancy: u64,
    /// The routing in force.
    pub before: RoutingInForce,
    /// The routing that the SM would install; absent if every engine fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<RoutingInForce>,
    /// Why every engine fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// How the tables would change.
    pub changes: TableChanges,
    /// Declared invariants (`[[invariant]]`) that hold now and would be violated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<InvariantStatus>,
}

/// Ports by name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NamedPorts {
    /// Number of ports.
    pub total: u64,
    /// The first thousand of them.
    pub items: Vec<ObjectName>,
}

/// A routing, and the result of its verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RoutingInForce {
    /// Engine that computed it.
    pub engine: String,
    /// Whether it was rerouted since an engine computed it, because something was lost, drained or
    /// came back: it depends on the order in which that happened.
    #[serde(default)]
    pub is_rerouted: bool,
    /// Data VLs that it uses.
    pub vls: u8,
    /// Routes over the busiest link in one direction: pairs of ports.
    pub busiest_routes: u64,
    /// Most links between switches on a route.
    pub hops: u32,
    /// Pairs of a switch and a LID whose route is verified: it arrives, without loop, and no
    /// routes can deadlock.
    pub verified: u64,
}

/// How tables would change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TableChanges {
    /// Whether the routing in force would be rerouted; otherwise an engine would run.
    pub rerouted: bool,
    /// LFT entries of LIDs that stay.
    pub entries_moved: u64,
    /// LIDs that have such an entry.
    pub destinations_moved: u64,
    /// LFT entries of LIDs that leave the subnet.
    pub entries_removed: u64,
    /// LFT entries of LIDs that enter the subnet, and those of added switches.
    #[serde(default)]
    pub entries_added: u64,
    /// LFT blocks that would be written.
    pub lft_blocks: u64,
    /// Pairs of a switch and a LID whose packets would get another SL.
    pub sl_changes: u64,
    /// LIDs whose routes would be removed for a moment, because they could deadlock with new ones.
    pub drained_lids: u64,
}

/// The effect of the loss of one switch or link on what is connected, independent of routes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SingleLossEffect {
    /// What is lost: a switch, or a link with both ends.
    pub name: String,
    /// Kind of what is lost.
    pub kind: LostKind,
    /// The same for `without` of a prediction.
    pub without: String,
    /// Switches, and links, of equal position have the same number.
    pub class: usize,
    /// Pairs of ports that could not reach each other any more.
    pub pairs_cut_off: u64,
    /// Ports that would not be in the largest part of the fabric any more.
    pub cut_off: u64,
    /// Ports that would lose their redundancy; 0 for links of hosts.
    pub lose_redundancy: u64,
}

/// Kinds of what is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LostKind {
    /// A switch.
    Switch,
    /// A link between switches.
    Link,
    /// The link of a host.
    HostLink,
}

impl LostKind {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Switch => "switch",
            Self::Link => "link",
            Self::HostLink => "host-link",
        }
    }
}

/// What each single loss would do: what it cuts off for all, the routing for some.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SingleLossSurvey {
    /// All switches and links, the worst first.
    pub losses: Vec<SingleLossEffect>,
    /// Predictions, in the order of `losses`.
    pub predictions: Vec<LossPrediction>,
}

/// The prediction for one switch or link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LossPrediction {
    /// Its name, as in `losses`.
    pub name: String,
    /// Its class.
    pub class: usize,
    /// The prediction.
    pub prediction: WhatIf,
}
