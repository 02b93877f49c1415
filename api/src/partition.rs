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
    /// Name in the configuration; empty if it is not configured.
    pub name: String,
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
