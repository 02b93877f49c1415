//! Management keys that an operator put in force at run time.

use core::fmt;

use ferrosm_mad::ids::MKey;
use serde::{Deserialize, Serialize};

use super::exposed;

/// Keys that can be rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum KeyKind {
    /// The M_Key of all ports.
    MKey = 0,
    /// The SM_Key of the SMs and of trusted SA clients.
    SmKey = 1,
}

impl KeyKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::MKey, Self::SmKey];
}

/// `M_Key`.
impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MKey => "M_Key",
            Self::SmKey => "SM_Key",
        })
    }
}

/// A key that replaces the configured one. A configuration with another key than at the rotation is
/// newer: then its key is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyRotation {
    pub kind: KeyKind,
    #[serde(with = "exposed")]
    pub key: MKey,
    /// The configured key at the rotation.
    #[serde(with = "exposed")]
    pub configured: MKey,
}

/// A configured key, and the one that replaces it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RotatableKey {
    configured: MKey,
    rotation: Option<KeyRotation>,
}

impl RotatableKey {
    pub(crate) const fn new(configured: MKey, rotation: Option<KeyRotation>) -> Self {
        Self {
            configured,
            rotation,
        }
    }

    /// The key in force.
    pub(crate) fn in_force(&self) -> MKey {
        let rotation = self.rotation.filter(|r| self.applies(r));
        rotation.map_or(self.configured, |rotation| rotation.key)
    }

    /// Whether the key in force is not the configured one.
    pub(crate) fn is_rotated(&self) -> bool {
        self.in_force() != self.configured
    }

    pub(crate) const fn configured(&self) -> MKey {
        self.configured
    }

    /// The configured key, from now on.
    pub(crate) const fn configure(&mut self, configured: MKey) {
        self.configured = configured;
    }

    /// The rotation of the master's records, from now on.
    pub(crate) const fn set_rotation(&mut self, rotation: Option<KeyRotation>) {
        self.rotation = rotation;
    }

    /// Puts another key in force. Returns its record.
    pub(crate) const fn rotate(&mut self, kind: KeyKind, key: MKey) -> KeyRotation {
        let rotation = KeyRotation {
            kind,
            key,
            configured: self.configured,
        };
        self.rotation = Some(rotation);
        rotation
    }

    /// Removes a rotation that the configuration has replaced. Returns whether there was one, whose
    /// record is to be removed.
    pub(crate) fn take_replaced(&mut self) -> bool {
        let configured = self.configured;
        let replaced = self.rotation.take_if(|r| r.configured != configured);
        replaced.is_some()
    }

    fn applies(&self, rotation: &KeyRotation) -> bool {
        rotation.configured == self.configured && rotation.key != MKey::NONE
    }
}
