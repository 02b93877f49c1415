//! Partitions, and who is in them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::object::ObjectName;

/// The partitions of the subnet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Partitions {
    /// By number.
    pub items: Vec<Partition>,
}

/// A partition: one that is configured, or whose P_Key a port has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Partition {
    /// Its number, a P_Key without the membership bit: `0x0051`.
    pub number: String,
    /// Its name; empty if neither the configuration nor a command defines it.
    pub name: String,
    /// A command created it; otherwise the configuration defines it, or nothing does.
    #[serde(default)]
    pub added: bool,
    /// End ports that are full members.
    pub full: usize,
    /// End ports that are only limited members.
    pub limited: usize,
}

/// How a port belongs to a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Membership {
    /// It communicates with all members.
    Full,
    /// It communicates with full members only.
    Limited,
}

impl Membership {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Limited => "limited",
        }
    }
}

/// A partition to create, or to replace one that such a request created.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PartitionDefinition {
    /// Its P_Key, with or without the membership bit: `0x0051`.
    pub p_key: String,
    /// Its P_Key is at index 0 of the members' tables.
    #[serde(default)]
    pub index0: bool,
    /// It has a broadcast group for IPoIB.
    #[serde(default)]
    pub ipoib: bool,
    /// Flags of its groups, as in the configuration: `mtu=4096`, `rate=400G`, `sl=1`.
    #[serde(default)]
    pub flags: Vec<String>,
    /// Members, in the form of `add` of a change.
    #[serde(default)]
    pub members: Vec<String>,
    /// MGIDs of its multicast groups, each optionally followed by flags.
    #[serde(default)]
    pub groups: Vec<String>,
}

/// Changes of the members of a partition that a request created.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemberChanges {
    /// Ports to add, each as `PORTS` or `PORTS=full|limited|both` (full if absent). `PORTS` is a
    /// port GUID, a range of at most 65536 port GUIDs such as `0x20-0x3f`, a name or host list such
    /// as `gpu[01-16]`, a pattern such as `gpu-*`, or `ALL`, `ALL_CAS`, `ALL_SWITCHES`,
    /// `ALL_ROUTERS`, `SELF`. Names stand for the ports that they name now.
    #[serde(default)]
    pub add: Vec<String>,
    /// Ports to remove, as `PORTS`. A range is removed by the same range.
    #[serde(default)]
    pub remove: Vec<String>,
}

/// A member of a partition, as the P_Key table of the port has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PartitionMember {
    /// GUID of the port.
    pub guid: String,
    /// Name of its node.
    pub name: String,
    /// The switch port that it is connected to.
    pub location: String,
    /// Its membership.
    pub membership: Membership,
}

impl PartitionMember {
    /// A member.
    #[must_use]
    pub fn new(port: ObjectName, membership: Membership) -> Self {
        let ObjectName {
            guid,
            name,
            location,
        } = port;
        Self {
            guid,
            name,
            location,
            membership,
        }
    }
}
