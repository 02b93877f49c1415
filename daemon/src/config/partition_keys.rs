//! `[partitions]` and `[[partition]]`: the keys of partitions in the configuration file.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::value::Scalar;

/// `[partitions]`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PartitionRules {
    /// partitions.conf; empty for none.
    pub file: String,
    /// What switches check.
    pub enforce: Enforce,
    /// `both` gives a port the full and the limited key.
    pub allow_both_pkeys: bool,
}

/// What switch ports that face channel adapters and routers check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Enforce {
    /// Packets in both directions.
    #[default]
    Both,
    /// What the end port sends.
    In,
    /// What the end port gets.
    Out,
    /// Nothing.
    Off,
}

/// `[[partition]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PartitionEntry {
    /// For people.
    pub name: String,
    /// The P_Key; its low 15 bits count.
    pub pkey: PKeyText,
    /// Its key goes to index 0 of every member's table.
    #[serde(default)]
    pub index0: bool,
    /// It has the IPv4 broadcast group of IPoIB.
    #[serde(default)]
    pub ipoib: bool,
    /// Of its groups: `mtu`, `rate`, `scope`, `sl`, `q-key`, `tclass`, `flow-label`, as in partitions.conf.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Of members that do not say: full, limited or both.
    #[serde(default = "limited")]
    pub default_membership: String,
    /// Port GUIDs, ALL, ALL_CAS, ALL_SWITCHES, ALL_ROUTERS, SELF, each perhaps with `=full`, `=limited` or `=both`.
    #[serde(default)]
    pub members: Vec<String>,
    /// MGIDs of groups, each perhaps with flags behind commas.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
}

fn limited() -> String {
    "limited".to_owned()
}

/// A number or a word.
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
            from_number: Some(|v| Some(Self(v.to_string()))),
            from_text: Some(|v| Some(Self(v.to_owned()))),
        })
    }
}
