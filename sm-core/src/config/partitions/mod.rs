//! Configured partitions and the P_Keys of each port (docs/sm-behaviour.md 9.1 to 9.11).
//!
//! Pure values and functions: the daemon reads the configuration, and the P_Key component writes
//! the tables. An error never widens a membership.
//!
//! | module | contents |
//! |---|---|
//! | this | the validated configuration |
//! | [`members`] | the P_Keys of a port |
//! | [`added`] | partitions that operators add at run time |
//! | [`partition_group`] | multicast groups that belong to partitions |

pub mod added;
pub mod members;
pub mod partition_group;

use core::fmt;

use ferrosm_mad::ids::{Gid, PKey, PortGuid, Sl};
use serde::{Deserialize, Serialize};

use members::MemberIndex;
use partition_group::GroupSpec;

/// Bit 15 of a P_Key: full membership.
pub(crate) const FULL: u16 = 0x8000;

/// The default partition, which contains all ports: [`PKey::DEFAULT_FULL`] without its top bit.
pub const DEFAULT_PARTITION: u16 = 0x7FFF;

/// The partition of a key, without membership; 0 for an empty entry.
#[must_use]
pub const fn partition_of(key: PKey) -> u16 {
    key.0 & !FULL
}

/// The membership of a port in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Membership {
    /// Communicates with full members only.
    Limited,
    /// Communicates with all members.
    Full,
    /// Both P_Keys if [`Partitions::new`] allows it, otherwise as [`Membership::Full`].
    Both,
}

impl fmt::Display for Membership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Limited => "limited",
            Self::Full => "full",
            Self::Both => "both",
        })
    }
}

/// The ports that a member entry of a partition selects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MemberSelector {
    /// The end port with this GUID.
    Port(PortGuid),
    /// All end ports.
    All,
    /// Ports of channel adapters.
    AllCas,
    /// Ports 0 of switches.
    AllSwitches,
    /// Ports of routers.
    AllRouters,
    SmPort,
    /// End ports with a GUID in this range, whether or not they exist. It is matched, never
    /// expanded.
    PortRange(PortGuidRange),
}

/// Most GUIDs in a range. A longer one is more likely a mistake.
pub const RANGE_GUIDS_MAX: u64 = 65_536;

/// Port GUIDs from the first to the last, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PortGuidRange {
    first: PortGuid,
    last: PortGuid,
}

/// Why two GUIDs are no range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeError {
    /// The first GUID is greater than the last.
    Reversed,
    /// There are more than [`RANGE_GUIDS_MAX`] GUIDs.
    TooLong,
}

impl fmt::Display for RangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reversed => f.write_str("the first GUID of a range is greater than the last"),
            Self::TooLong => write!(f, "a range has at most {RANGE_GUIDS_MAX} GUIDs"),
        }
    }
}

impl core::error::Error for RangeError {}

impl PortGuidRange {
    /// # Errors
    /// If the first GUID is greater than the last, or there are too many between them.
    pub const fn new(first: PortGuid, last: PortGuid) -> Result<Self, RangeError> {
        match last.0.checked_sub(first.0) {
            None => Err(RangeError::Reversed),
            Some(more) if more >= RANGE_GUIDS_MAX => Err(RangeError::TooLong),
            Some(_) => Ok(Self { first, last }),
        }
    }

    /// Whether it has this GUID.
    #[must_use]
    pub const fn contains(&self, guid: PortGuid) -> bool {
        self.first.0 <= guid.0 && guid.0 <= self.last.0
    }
}

impl fmt::Display for PortGuidRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

/// P_Key enforcement by switch ports to CAs and routers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Enforcement {
    /// Packets in both directions.
    #[default]
    Both,
    /// Packets from the end port.
    In,
    /// Packets to the end port.
    Out,
    /// No enforcement.
    Off,
}

impl Enforcement {
    /// Whether packets from the end port are checked.
    #[must_use]
    pub const fn inbound(self) -> bool {
        matches!(self, Self::Both | Self::In)
    }

    /// Whether packets to the end port are checked.
    #[must_use]
    pub const fn outbound(self) -> bool {
        matches!(self, Self::Both | Self::Out)
    }
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Partition {
    /// Name, for messages.
    pub name: String,
    /// The partition, 1 to 0x7FFF: a P_Key without its top bit.
    pub number: u16,
    /// SL of its paths, unless routing or a QoS policy selects another.
    pub sl: Sl,
    /// Its P_Key is at index 0 of the members' tables.
    pub index0: bool,
    /// Members; later entries override earlier ones.
    pub members: Vec<(MemberSelector, Membership)>,
    /// Multicast groups that exist without members.
    pub groups: Vec<GroupSpec>,
}

impl Partition {
    /// Whether it has the broadcast group of IPoIB.
    #[must_use]
    pub fn has_ipoib_group(&self) -> bool {
        let broadcast = GroupSpec::ipoib(self.number).mgid;
        self.groups.iter().any(|group| group.mgid == broadcast)
    }
}

/// Why a list of partitions is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionsError {
    /// An invalid partition number.
    Number {
        /// Name of the partition.
        name: String,
        number: u16,
    },
    /// Two partitions have the same number.
    DuplicateNumber {
        /// Name of one partition.
        first: String,
        /// Name of the other partition.
        second: String,
        number: u16,
    },
    /// Two partitions have the same name.
    DuplicateName {
        name: String,
        /// Numbers of both.
        numbers: [u16; 2],
    },
    /// Two partitions have the same multicast group.
    DuplicateGroup {
        /// Name of one partition.
        first: String,
        /// Name of the other partition.
        second: String,
        /// MGID of the group.
        mgid: Gid,
    },
}

impl fmt::Display for PartitionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { name, number } => write!(
                f,
                "partition {name}: the P_Key must be from 0x0001 to 0x7fff, not {number:#06x}"
            ),
            Self::DuplicateNumber {
                first,
                second,
                number,
            } => write!(
                f,
                "partitions {first} and {second} have the same P_Key {number:#06x}"
            ),
            Self::DuplicateName { name, numbers } => write!(
                f,
                "partitions {:#06x} and {:#06x} have the same name {name}",
                numbers[0], numbers[1]
            ),
            Self::DuplicateGroup {
                first,
                second,
                mgid,
            } => write!(
                f,
                "partitions {first} and {second} have the same group {mgid}"
            ),
        }
    }
}

impl core::error::Error for PartitionsError {}

/// The partitions of the subnet, checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Lists")]
pub struct Partitions {
    /// By number.
    list: Vec<Partition>,
    configured: bool,
    enforcement: Enforcement,
    allow_both: bool,
    #[serde(skip)]
    rules: MemberIndex,
}

/// [`Partitions`] as they are serialized.
#[derive(Deserialize)]
struct Lists {
    list: Vec<Partition>,
    configured: bool,
    enforcement: Enforcement,
    allow_both: bool,
}

impl From<Lists> for Partitions {
    fn from(lists: Lists) -> Self {
        Self {
            rules: MemberIndex::new(&lists.list),
            list: lists.list,
            configured: lists.configured,
            enforcement: lists.enforcement,
            allow_both: lists.allow_both,
        }
    }
}

impl Default for Partitions {
    /// Without configured partitions all ports are full members of the default partition
    /// (docs/sm-behaviour.md 9.2), and switches do not enforce P_Keys.
    fn default() -> Self {
        let default = Partition {
            name: "Default".to_owned(),
            number: DEFAULT_PARTITION,
            members: vec![(MemberSelector::All, Membership::Full)],
            groups: vec![GroupSpec::ipoib(DEFAULT_PARTITION)],
            ..Partition::default()
        };
        Self {
            rules: MemberIndex::new(core::slice::from_ref(&default)),
            list: vec![default],
            configured: false,
            enforcement: Enforcement::Off,
            allow_both: false,
        }
    }
}

impl Partitions {
    /// The SL of paths in each partition, by number.
    pub fn sls(&self) -> impl Iterator<Item = (u16, Sl)> {
        self.list.iter().map(|p| (p.number, p.sl))
    }

    /// Configured partitions. The default partition is added if it is absent. By default all ports
    /// are limited members of it; the port of the SM is always a full member (docs/sm-behaviour.md
    /// 9.2).
    ///
    /// # Errors
    /// If a number is invalid, or two partitions have the same number or group.
    pub fn new(
        list: Vec<Partition>,
        enforcement: Enforcement,
        allow_both: bool,
    ) -> Result<Self, PartitionsError> {
        let mut list = list;
        list.sort_by_key(|p| p.number);
        if let Some(invalid) = list
            .iter()
            .find(|p| p.number == 0 || p.number > DEFAULT_PARTITION)
        {
            return Err(PartitionsError::Number {
                name: invalid.name.clone(),
                number: invalid.number,
            });
        }
        if let Some([a, b]) = list.array_windows().find(|[a, b]| a.number == b.number) {
            return Err(PartitionsError::DuplicateNumber {
                first: a.name.clone(),
                second: b.name.clone(),
                number: a.number,
            });
        }
        groups_differ(&list)?;
        if list.last().is_none_or(|p| p.number != DEFAULT_PARTITION) {
            list.push(Partition {
                name: "Default".to_owned(),
                number: DEFAULT_PARTITION,
                ..Partition::default()
            });
        }
        if let Some(default) = list.last_mut() {
            default
                .members
                .insert(0, (MemberSelector::All, Membership::Limited));
            let sm_membership = if default.sm_port_membership() == Some(Membership::Both) {
                Membership::Both
            } else {
                Membership::Full
            };
            default
                .members
                .push((MemberSelector::SmPort, sm_membership));
        }
        Ok(Self {
            rules: MemberIndex::new(&list),
            list,
            configured: true,
            enforcement,
            allow_both,
        })
    }

    /// All partitions, by number; the default partition is the last.
    #[must_use]
    pub fn list(&self) -> &[Partition] {
        &self.list
    }

    /// Whether partitions are configured.
    #[must_use]
    pub const fn is_configured(&self) -> bool {
        self.configured
    }

    /// Whether the configuration names the partition of a P_Key.
    #[must_use]
    pub fn names(&self, key: PKey) -> bool {
        let number = partition_of(key);
        let found = self
            .list
            .binary_search_by_key(&number, |partition| partition.number);
        (self.configured || number != DEFAULT_PARTITION) && found.is_ok()
    }

    /// P_Key enforcement by switches.
    #[must_use]
    pub const fn enforcement(&self) -> Enforcement {
        self.enforcement
    }
}

impl Partition {
    /// The configured membership of the SM port.
    fn sm_port_membership(&self) -> Option<Membership> {
        let selects_sm_port = |selector: &MemberSelector| {
            matches!(selector, MemberSelector::SmPort | MemberSelector::All)
        };
        let last = self
            .members
            .iter()
            .rev()
            .find(|(selector, _)| selects_sm_port(selector));
        last.map(|(_, membership)| *membership)
    }
}

fn groups_differ(list: &[Partition]) -> Result<(), PartitionsError> {
    let mut seen = std::collections::BTreeMap::new();
    for partition in list {
        for group in &partition.groups {
            let before = seen.insert(group.mgid, partition);
            if let Some(before) = before.filter(|before| before.number != partition.number) {
                return Err(PartitionsError::DuplicateGroup {
                    first: before.name.clone(),
                    second: partition.name.clone(),
                    mgid: group.mgid,
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(name: &str, number: u16) -> Partition {
        Partition {
            name: name.to_owned(),
            number,
            ..Partition::default()
        }
    }

    #[test]
    fn contradictory_partitions_are_rejected() {
        let new = |list| Partitions::new(list, Enforcement::Both, false);
        let error = |list| new(list).unwrap_err().to_string();
        assert!(error(vec![partition("a", 0)]).contains("from 0x0001"));
        assert!(error(vec![partition("a", 0x8001)]).contains("0x8001"));
        assert_eq!(
            error(vec![partition("a", 5), partition("b", 5)]),
            "partitions a and b have the same P_Key 0x0005"
        );
        let with_group = |name: &str, number| Partition {
            groups: vec![GroupSpec::ipoib(9)],
            ..partition(name, number)
        };
        assert!(error(vec![with_group("a", 1), with_group("b", 2)]).contains("same group"));
        assert!(new(vec![with_group("a", 1)]).is_ok());
    }

    #[test]
    fn default_partition_is_always_present() {
        let all = Partitions::new(vec![partition("a", 5)], Enforcement::Both, false).unwrap();
        let numbers: Vec<u16> = all.list().iter().map(|p| p.number).collect();
        assert_eq!(numbers, [5, DEFAULT_PARTITION]);
        assert!(all.is_configured() && !Partitions::default().is_configured());
    }
}
