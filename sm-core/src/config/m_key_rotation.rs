//! An M_Key that an operator put in force at run time.

use ferrosm_mad::ids::MKey;
use serde::{Deserialize, Serialize};

use super::exposed;

/// An M_Key that replaces the configured one. A configuration with another key than at the rotation
/// is newer: then its key is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MKeyRotation {
    #[serde(with = "exposed")]
    pub m_key: MKey,
    /// The configured key at the rotation.
    #[serde(with = "exposed")]
    pub configured: MKey,
}

impl MKeyRotation {
    /// Whether it is in force with this configured key.
    #[must_use]
    pub fn applies_to(&self, configured: MKey) -> bool {
        self.configured == configured && self.m_key != MKey::NONE
    }
}
