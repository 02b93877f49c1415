//! Keys of `[partitions]` and `[[partition]]`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::value::Scalar;

/// `[partitions]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PartitionRules {
    /// Path of an OpenSM partitions.conf; empty if there is none.
    pub file: String,
    /// P_Key enforcement by switches.
    pub enforce: Enforce,
    /// Whether membership `both` gives a port the full and the limited P_Key.
    pub allow_both_pkeys: bool,
}

/// Direction of P_Key enforcement at switch ports to CAs and routers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Enforce {
    /// Both directions.
    #[default]
    Both,
    /// Packets from the end port.
    In,
    /// Packets to the end port.
    Out,
    /// No enforcement.
    Off,
}

/// Keys of `[[partition]]`.
pub(super) const PARTITION_KEYS: [&str; 8] = [
    "name",
    "pkey",
    "index0",
    "ipoib",
    "flags",
    "default-membership",
    "members",
    "groups",
];

/// `[[partition]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PartitionEntry {
    /// Name, used in messages only.
    pub name: String,
    /// P_Key; only the low 15 bits are used.
    pub pkey: PKeyText,
    /// Whether the P_Key is at index 0 of the members' tables.
    #[serde(default)]
    pub index0: bool,
    /// Whether the IPoIB broadcast group is created.
    #[serde(default)]
    pub ipoib: bool,
    /// Flags of its groups: `mtu`, `rate`, `scope`, `sl`, `q-key`, `tclass`, `flow-label`, as in
    /// partitions.conf.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Membership of members without one: full, limited or both.
    #[serde(default = "limited")]
    pub default_membership: String,
    /// Port GUIDs, ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS, SELF, each optionally with `=full`,
    /// `=limited` or `=both`.
    #[serde(default)]
    pub members: Vec<String>,
    /// MGIDs of groups, each optionally followed by flags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

fn limited() -> String {
    "limited".to_owned()
}

/// A P_Key, as a number or string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PKeyText(pub String);

impl Serialize for PKeyText {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for PKeyText {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(Scalar {
            expected: "a number, such as 0x8001 or \"0x8001\"",
            from_number: Some(|v| Some(Self(format!("{v:#06x}")))),
            from_text: Some(|v| Some(Self(v.to_owned()))),
        })
    }
}
