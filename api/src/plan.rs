//! The plan of a start: what an SM would write to the fabric as it is now.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::answer::Role;
use crate::invariant::InvariantStatus;

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
