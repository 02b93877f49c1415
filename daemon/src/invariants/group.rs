//! Groups of ports as operators name them: partitions, kinds, GUIDs, host lists, patterns.

use core::fmt;
use std::collections::BTreeSet;

use ferrosm_core::config::partitions::members::EndPortFacts;
use ferrosm_core::config::partitions::{Partitions, PortGuidRange, RangeError, partition_of};
use ferrosm_fabric::snapshot::{EndPortIdx, Snapshot};
use ferrosm_mad::attr::NodeType;
use ferrosm_mad::ids::PortGuid;
use thiserror::Error;

use crate::host_list::{HostListError, host_list};
use crate::pattern::is_match;

/// What precedes the name of a partition.
const PARTITION: &str = "partition:";

/// A group of end ports, as it is written in the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortGroup {
    members: Vec<Member>,
    text: String,
}

impl fmt::Display for PortGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What a member of a group selects.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Member {
    /// Ports that should have a P_Key of this partition, by its name or number.
    Partition(String),
    All,
    Kind(NodeType),
    SmPort,
    /// The port with this GUID, or the ports of the node.
    Guid(u64),
    Range(PortGuidRange),
    /// Hosts and ports by name: the whole name, its first word, or either with `/port`.
    Names(BTreeSet<String>),
    /// The same by pattern, with `*`.
    Pattern(String),
}

/// Why a group is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum GroupError {
    #[error("a group needs at least one member")]
    Empty,
    #[error("`{0}` is no port GUID: expected a form such as 0x0002c90300a1b2c3")]
    Guid(String),
    #[error("`{text}`: {source}")]
    Range {
        text: String,
        #[source]
        source: RangeError,
    },
    #[error(transparent)]
    HostList(#[from] HostListError),
}

impl PortGroup {
    /// Reads a group.
    ///
    /// # Errors
    /// If it is empty, or a member is neither of the forms.
    pub fn parse(members: &[String]) -> Result<Self, GroupError> {
        if members.is_empty() {
            return Err(GroupError::Empty);
        }
        let parsed: Result<Vec<Member>, GroupError> =
            members.iter().map(|text| Member::parse(text)).collect();
        Ok(Self {
            members: parsed?,
            text: members.join(", "),
        })
    }

    /// The ports of the subnet that are in the group, ascending.
    #[must_use]
    pub fn ports(&self, snapshot: &Snapshot, partitions: &Partitions) -> Vec<EndPortIdx> {
        let ports = snapshot.end_port_indices();
        ports
            .filter(|at| {
                let mut members = self.members.iter();
                members.any(|member| member.selects(snapshot, partitions, *at))
            })
            .collect()
    }
}

impl Member {
    fn parse(text: &str) -> Result<Self, GroupError> {
        let text = text.trim();
        if let Some(name) = text.strip_prefix(PARTITION) {
            return Ok(Self::Partition(name.trim().to_owned()));
        }
        if text.starts_with("0x") || text.starts_with("0X") {
            return Self::parse_guids(text);
        }
        Ok(match text {
            "" => return Err(GroupError::Empty),
            "ALL" => Self::All,
            "ALL_CAS" => Self::Kind(NodeType::Ca),
            "ALL_SWITCHES" => Self::Kind(NodeType::Switch),
            "ALL_ROUTERS" => Self::Kind(NodeType::Router),
            "SELF" => Self::SmPort,
            pattern if pattern.contains('*') => Self::Pattern(pattern.to_owned()),
            list => Self::Names(host_list(list)?.into_iter().collect()),
        })
    }

    fn parse_guids(text: &str) -> Result<Self, GroupError> {
        let guid = |part: &str| {
            let part = part.trim();
            let hex = part.strip_prefix("0x").or_else(|| part.strip_prefix("0X"));
            let parsed = hex.and_then(|hex| u64::from_str_radix(hex, 16).ok());
            parsed.ok_or_else(|| GroupError::Guid(part.to_owned()))
        };
        let Some((first, last)) = text.split_once('-') else {
            return Ok(Self::Guid(guid(text)?));
        };
        PortGuidRange::new(PortGuid(guid(first)?), PortGuid(guid(last)?))
            .map(Self::Range)
            .map_err(|source| GroupError::Range {
                text: text.to_owned(),
                source,
            })
    }

    fn selects(&self, snapshot: &Snapshot, partitions: &Partitions, at: EndPortIdx) -> bool {
        let end_port = snapshot.end_port(at);
        let node = || snapshot.node(end_port.node);
        match self {
            Self::All => true,
            Self::Kind(kind) => node().node_info().node_type == *kind,
            Self::SmPort => snapshot.local == Some(at),
            Self::Guid(guid) => end_port.guid.0 == *guid || node().guid.0 == *guid,
            Self::Range(range) => range.contains(end_port.guid),
            Self::Partition(name) => {
                let mut list = partitions.list().iter();
                let found = list.find(|p| p.name == *name || format!("{:#06x}", p.number) == *name);
                found.is_some_and(|partition| {
                    let keys = partitions
                        .wanted_p_keys(&facts(snapshot, at))
                        .keys
                        .into_iter();
                    keys.map(partition_of)
                        .any(|number| number == partition.number)
                })
            }
            Self::Names(names) => {
                names_of(snapshot, at).any(|name| names.contains(&name) && !name.is_empty())
            }
            Self::Pattern(pattern) => names_of(snapshot, at).any(|name| is_match(pattern, &name)),
        }
    }
}

/// The names of a port: the name of its node, its first word, and both with the port number.
fn names_of(snapshot: &Snapshot, at: EndPortIdx) -> impl Iterator<Item = String> + use<> {
    let end_port = snapshot.end_port(at);
    let whole = snapshot.node(end_port.node).name();
    let num = end_port.port.num();
    let first = whole.split_whitespace().next().unwrap_or_default();
    [
        format!("{whole}/{num}"),
        format!("{first}/{num}"),
        first.to_owned(),
        whole,
    ]
    .into_iter()
}

/// What selects the partitions of a port.
pub(super) fn facts(snapshot: &Snapshot, at: EndPortIdx) -> EndPortFacts {
    let end_port = snapshot.end_port(at);
    EndPortFacts {
        guid: end_port.guid,
        node_type: snapshot.node(end_port.node).node_info().node_type,
        is_sm_port: snapshot.local == Some(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(members: &[&str]) -> Result<PortGroup, GroupError> {
        let members: Vec<String> = members.iter().map(|text| (*text).to_owned()).collect();
        PortGroup::parse(&members)
    }

    #[test]
    fn groups_are_read_as_they_are_written() {
        let group = parse(&["partition:TenantA", "gpu[01-03]", "0x10-0x1f", "node-*"]).unwrap();
        assert_eq!(
            group.to_string(),
            "partition:TenantA, gpu[01-03], 0x10-0x1f, node-*"
        );
        let names: BTreeSet<String> = ["gpu01", "gpu02", "gpu03"].map(str::to_owned).into();
        assert_eq!(group.members[1], Member::Names(names));
    }

    #[test]
    fn invalid_groups_say_what_is_expected() {
        for (members, expected) in [
            (&[][..], "at least one member"),
            (&[" "], "at least one member"),
            (&["0xzz"], "`0xzz` is no port GUID"),
            (&["0x9-0x8"], "`0x9-0x8`: the first GUID"),
            (&["0x1-0x1ffff"], "at most 65536 GUIDs"),
            (&["0x1-gpu"], "`gpu` is no port GUID"),
            (&["gpu[3-1]"], "is no host list"),
        ] {
            let error = parse(members).unwrap_err().to_string();
            assert!(error.contains(expected), "{members:?}: {error}");
        }
    }
}
