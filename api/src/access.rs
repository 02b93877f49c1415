//! What a client may do.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The role of a client. Each may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClientRole {
    /// Read.
    View,
    /// Do what an operator does with a running fabric: sweep, drain, disable ports, acknowledge
    /// alarms.
    Operate,
    /// Change the configuration, partitions and mastership.
    Admin,
}

impl ClientRole {
    /// All roles.
    pub const ALL: [Self; 3] = [Self::View, Self::Operate, Self::Admin];

    /// Its name, as in JSON and in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Operate => "operate",
            Self::Admin => "admin",
        }
    }
}
