//! The settings that the installed routing was computed from, and how its SLtoVLMappingTables were
//! written. Persisted with the routing and part of the published view.

use ferrosm_mad::ids::{NodeGuid, PortGuid};
use serde::{Deserialize, Serialize};

/// Settings that a routing depends on. A routing computed with other settings is not adopted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutingInputs {
    /// Engines in order of preference.
    pub engines: Vec<String>,
    /// Data VLs that may be used.
    pub vls: u8,
    /// Digest of the operator's routing input files; 0 without any.
    pub input_files_digest: u64,
}

/// Identifies one state of the SLtoVL and VLArbitration tables of the fabric. It is persisted
/// before the first table is written, and again with the routing when all tables are written. If
/// the two differ, an SM failed in between and the tables are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlToVlEpoch {
    /// Incremented before tables are written.
    pub number: u64,
    /// Port of the SM that incremented it: SMs that do not know of each other never produce the
    /// same epoch.
    pub sm_port: PortGuid,
}

impl SlToVlEpoch {
    /// No tables were ever written.
    pub const NEVER: Self = Self {
        number: 0,
        sm_port: PortGuid(0),
    };

    /// An epoch that cannot be read; no routing has it.
    pub const UNREADABLE: Self = Self {
        number: 0,
        sm_port: PortGuid(u64::MAX),
    };

    /// The epoch of tables that the SM at this port is about to write.
    #[must_use]
    pub const fn next(self, sm_port: PortGuid) -> Self {
        let number = self.number.wrapping_add(1);
        Self { number, sm_port }
    }
}

/// Origin of a routing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoutingOrigin {
    /// The settings that it was computed from.
    pub inputs: RoutingInputs,
    /// Nodes that did not accept all SLtoVL and VLArbitration tables.
    pub nodes_without_vl_tables: Vec<NodeGuid>,
    /// Epoch of these tables after the routing was written.
    pub sl_to_vl_epoch: SlToVlEpoch,
}
