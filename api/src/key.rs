//! Management keys: which are in force, and which ports and SMs have them. Contains no key.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::command::{into_write_query, write_query};
use crate::object::ObjectName;

/// Where the key in force comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeyState {
    /// None is in force.
    None,
    /// It is the default, which is known to all.
    Default,
    /// The configuration has it.
    Configured,
    /// A command put it in force; the configuration has another one.
    Rotated,
}

impl KeyState {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Default => "default",
            Self::Configured => "configured",
            Self::Rotated => "rotated",
        }
    }
}

/// How many ports have which M_Key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PortMKeys {
    /// End ports that have the key in force, or none if none is.
    pub current: usize,
    /// Those that have a key that was in force earlier.
    pub earlier: usize,
    /// Those that have no key, although one is in force.
    pub without: usize,
    /// Those that do not respond, hide their key, or have one that this SM never wrote.
    pub unknown: usize,
    /// Names of ports that do not have the key in force, at most 100.
    pub stragglers: Vec<String>,
}

/// Whether another SM has the M_Key in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeyMatch {
    /// It has.
    Same,
    /// It has another one: it gets no handover, and could not configure the subnet.
    Other,
    /// It is not ferrosm, or no M_Key is in force.
    Unknown,
}

impl KeyMatch {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Other => "other",
            Self::Unknown => "unknown",
        }
    }
}

/// Another SM.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SmKeys {
    /// Its port.
    pub port: ObjectName,
    /// Whether it has the M_Key in force.
    pub m_key: KeyMatch,
    /// Whether it has shown the SM_Key in force, rather than the earlier one.
    pub has_sm_key: bool,
    /// Whether it gets a rotated key from this master by replication.
    pub is_replica: bool,
}

/// The keys, as of the last sweep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Keys {
    /// The M_Key.
    pub m_key: KeyState,
    /// The SM_Key, which is also that of trusted SA clients.
    pub sm_key: KeyState,
    /// The M_Keys of ports.
    pub ports: PortMKeys,
    /// The other SMs.
    pub sms: Vec<SmKeys>,
}

/// Keys that can be rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RotatedKey {
    /// The M_Key of all ports.
    MKey,
    /// The SM_Key of the SMs and of trusted SA clients.
    SmKey,
}

/// A new key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewKey {
    /// The key: `0x` and 16 hexadecimal digits; a random one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(write_only)]
    pub key: Option<String>,
}

/// What a rotation may lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RotationConsequence {
    /// SMs without replication cannot configure the subnet, or are ignored, until they have the new
    /// key.
    Lockout,
}

write_query! {
    /// The query of a rotation.
    pub struct RotationQuery {
        /// Only say what would be written.
        #[serde(default)]
        pub dry_run: bool,
        /// What it may lead to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub accept: Option<RotationConsequence>,
    }
}
into_write_query!(RotationQuery);

/// What a rotation would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RotationPlan {
    /// Ports that would get the key; none get an SM_Key.
    pub ports: usize,
    /// SMs that would get it by replication.
    pub replicas: Vec<ObjectName>,
    /// SMs that would not have it.
    pub without: Vec<ObjectName>,
}
