//! How nodes and ports are named.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A node or port, named in all ways.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
pub struct ObjectName {
    /// Port GUID of an end port, otherwise node GUID: `0x0002c90300a1b2c3`.
    pub guid: String,
    /// NodeDescription; empty if it was not read.
    pub name: String,
    /// Where it is: name and port of a switch, such as `leaf-0-0/5`. For a host: of the switch that
    /// it is connected to.
    pub location: String,
}
