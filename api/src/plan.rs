//! The plan of a start: what an SM would write to the fabric as it is now.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::answer::Role;
use crate::fabric::NodeKind;
use crate::invariant::InvariantStatus;

/// The query of a plan.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PlanQuery {
    /// Plan with these removals accepted, separated by commas: `p-key-removal`, `lmc-change`,
    /// `m-key-removal`, `qos-removal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept: Option<String>,
    /// Also list each write, with the data before and after, but without M_Keys.
    #[serde(default)]
    pub full: bool,
}

/// What an SM would write, and what it would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    /// The other SMs, masters first.
    pub sms: Vec<PresentSm>,
    /// What another SM configured, and this one removes only with consent; none if nothing waits.
    /// The plan leaves it as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub awaits_consent: Option<String>,
    /// LIDs of end ports.
    pub lids: PlannedLids,
    /// P_Keys that end ports lose and gain.
    pub p_keys: Vec<PlannedPKey>,
    /// End ports and links.
    pub ports: PlannedPorts,
    /// Forwarding tables.
    pub tables: PlannedTables,
    /// Number of writes by attribute, in the order of the first of each.
    pub sets: Vec<SetCount>,
    /// The nodes that are written to, by GUID.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<WrittenNode>,
    /// Routing engine; empty if no routing was found.
    pub engine: String,
    /// Problems of the sweep, the most severe first.
    pub problems: Vec<String>,
    /// Declared invariants that would not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<InvariantStatus>,
    /// Each write in its order, if asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<PlannedWrite>,
}

/// Another SM of the fabric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PresentSm {
    /// GUID of its port.
    pub guid: String,
    /// Name of its node.
    pub name: String,
    /// SM priority.
    pub priority: u8,
    /// Its state.
    pub state: Role,
    /// What it would do if this SM started.
    pub reaction: String,
}

/// LIDs of end ports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlannedLids {
    /// Ports that keep their LID.
    pub kept: usize,
    /// Ports without a LID that get one.
    pub assigned: usize,
    /// Ports that get another LID: their connections break.
    pub changed: usize,
}

/// A P_Key that end ports lose or gain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlannedPKey {
    /// The P_Key, with the membership bit.
    pub p_key: String,
    /// Ports that lose it.
    pub removed: usize,
    /// Ports that gain it.
    pub added: usize,
}

/// End ports and links.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlannedPorts {
    /// Ports that become Active.
    pub activated: usize,
    /// Active ports that get another MTU or number of VLs.
    pub link_changed: usize,
    /// Ports that get another M_Key or M_Key protection.
    pub m_key_changed: usize,
    /// Ports that get another LMC.
    pub lmc_changed: usize,
    /// Ports that get another LID of the master SM.
    pub sm_lid_changed: usize,
    /// Hosts that get ClientReregister.
    pub reregistered: usize,
}

/// Forwarding tables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlannedTables {
    /// Switches.
    pub switches: usize,
    /// Blocks of LFTs that are written.
    pub lft_blocks: usize,
    /// Entries of LFTs that change.
    pub lft_entries: usize,
    /// Blocks of MFTs that are written.
    pub mft_blocks: usize,
    /// SLtoVL tables that are written.
    pub sl_to_vl: usize,
    /// Parts of VL arbitration tables that are written.
    pub vl_arbitration: usize,
}

/// Number of writes of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SetCount {
    /// The attribute.
    pub attribute: String,
    /// Number of writes.
    pub count: usize,
}

/// A node that is written to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WrittenNode {
    /// Node GUID.
    pub guid: String,
    /// NodeDescription.
    pub name: String,
    /// Kind of node.
    pub kind: NodeKind,
    /// Number of writes by attribute, in the order of the first of each.
    pub sets: Vec<SetCount>,
    /// What changes at its ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectAtPorts>,
}

/// What changes at ports of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EffectAtPorts {
    /// What changes.
    pub effect: PlannedEffect,
    /// Numbers of the ports; 0 is that of the switch itself.
    pub ports: Vec<u8>,
}

/// What changes at a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlannedEffect {
    /// It gets another LID: its connections break.
    LidChanged,
    /// Its link is Active, and gets another MTU or number of VLs.
    LinkChanged,
    /// It loses P_Keys.
    PKeyRemoved,
    /// It gets another M_Key or M_Key protection.
    MKeyChanged,
    /// It gets another LMC.
    LmcChanged,
    /// It has no LID, and gets one.
    LidAssigned,
    /// It becomes Active.
    Activated,
    /// It gains P_Keys.
    PKeyAdded,
    /// It gets another LID of the master SM.
    SmLidChanged,
    /// It gets ClientReregister.
    Reregistered,
}

/// A write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlannedWrite {
    /// Name of the node.
    pub node: String,
    /// Directed route to it.
    pub path: String,
    /// The attribute.
    pub attribute: String,
    /// Its modifier: port or block.
    pub modifier: u32,
    /// The data before, in hexadecimal digits; empty if it was not read.
    pub before: String,
    /// The data after.
    pub after: String,
}
