//! Multicast groups, and who is in them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::fabric::Place;

/// A multicast group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Group {
    /// MGID: `ff12:401b:ffff::1`.
    pub mgid: String,
    /// MLID: `0xc000`. Groups may share one.
    pub mlid: String,
    /// P_Key of its packets.
    pub p_key: String,
    /// Largest packet, in bytes.
    pub mtu: u16,
    /// Rate that all members support, in Gb/s.
    pub rate_gbps: u32,
    /// SL of its packets.
    pub sl: u8,
    /// Members.
    pub members: usize,
    /// Members that only send.
    pub senders: usize,
    /// Switches that forward packets of its MLID.
    pub switches: usize,
    /// It exists also without members.
    pub permanent: bool,
}

/// How a port belongs to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JoinKind {
    /// It receives and sends, and preserves the group.
    Full,
    /// It receives and sends while the group exists.
    NonMember,
    /// It only sends.
    SendOnly,
}

impl JoinKind {
    /// Its name, as in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::NonMember => "non-member",
            Self::SendOnly => "send-only",
        }
    }
}

/// A member of a multicast group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GroupMember {
    /// GUID with which it joined: of the port, or an alias of it.
    pub guid: String,
    /// Name of its node; empty if no port of the subnet has the GUID.
    pub name: String,
    /// The switch port that it is connected to.
    pub location: String,
    /// How it belongs to the group.
    pub join: JoinKind,
    /// Another port joined on behalf of it.
    pub proxy: bool,
}

/// A host: its ports, and what they belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Host {
    /// Its ports.
    pub ports: Vec<HostPort>,
}

/// A port of a host, and what it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HostPort {
    /// Where it is, and what it has.
    pub place: Place,
    /// Its partitions: name, or number without one; `=limited` behind limited ones.
    pub partitions: Vec<String>,
    /// MGIDs of its multicast groups.
    pub groups: Vec<String>,
}
