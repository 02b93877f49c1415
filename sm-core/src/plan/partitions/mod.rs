//! Partitions as an operator configured them, and what follows for each port (behaviour rules 9.1 to 9.11).
//!
//! Pure values and functions. Where they were read from, and errors with places, are the daemon's; what is in the devices is the
//! manager's. Nothing here ever widens a membership because something else is wrong.
//!
//! | module | what it holds |
//! |---|---|
//! | this | the configuration, checked |
//! | [`members`] | which keys a port is to have |
//! | [`pkey_table`] | at which index of its table each key goes |
//! | [`partition_group`] | multicast groups that belong to partitions |

pub mod members;
pub mod partition_group;
pub mod pkey_table;

use core::fmt;

use ferrosm_mad::ids::{Gid, PKey, PortGuid, Sl};
use serde::{Deserialize, Serialize};

use members::Rules;
use partition_group::GroupSpec;

/// Bit 15 of a P_Key: a full member.
const FULL: u16 = 0x8000;

/// The partition that all ports are in: [`PKey::DEFAULT_FULL`] without its top bit.
pub const DEFAULT_PARTITION: u16 = 0x7FFF;

/// The partition of a key, without membership; 0 for an empty entry.
#[must_use]
pub const fn partition_of(key: PKey) -> u16 {
    key.0 & !FULL
}

/// In which way a port is in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Membership {
    /// Talks to full members only.
    Limited,
    /// Talks to all members.
    Full,
    /// Has both keys, where [`Partitions::new`] was told to allow that; otherwise as [`Membership::Full`].
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

/// Whom a line of the configuration means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MemberSelector {
    /// The end port with this GUID, as soon as there is one.
    Port(PortGuid),
    /// All end ports.
    All,
    /// Ports of channel adapters.
    AllCas,
    /// Ports 0 of switches.
    AllSwitches,
    /// Ports of routers.
    AllRouters,
    /// The port that the subnet manager uses.
    Own,
}

/// What switch ports that face channel adapters and routers check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Enforcement {
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
    /// For people.
    pub name: String,
    /// The partition, 1 to 0x7FFF: a P_Key without its top bit.
    pub number: u16,
    /// The SL of paths in it, where neither routing nor QoS policy says another.
    pub sl: Sl,
    /// Its key goes to index 0 of every member's table.
    pub index0: bool,
    /// Who is in it, and how; later entries go over earlier ones.
    pub members: Vec<(MemberSelector, Membership)>,
    /// Groups that exist without members.
    pub groups: Vec<GroupSpec>,
}

/// What is wrong with a list of partitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartitionsError {
    /// A number that no partition can have.
    Number {
        /// Its name.
        name: String,
        /// The number.
        number: u16,
    },
    /// Two partitions have one number.
    Twice {
        /// One's name.
        first: String,
        /// The other's.
        second: String,
        /// The number.
        number: u16,
    },
    /// Two partitions have one group.
    GroupTwice {
        /// One's name.
        first: String,
        /// The other's.
        second: String,
        /// Its MGID.
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
            Self::Twice {
                first,
                second,
                number,
            } => write!(
                f,
                "partitions {first} and {second} have the same P_Key {number:#06x}"
            ),
            Self::GroupTwice {
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
    rules: Rules,
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
            rules: Rules::new(&lists.list),
            list: lists.list,
            configured: lists.configured,
            enforcement: lists.enforcement,
            allow_both: lists.allow_both,
        }
    }
}

impl Default for Partitions {
    /// Nobody has configured anything: all ports are full members of the default partition (rule 9.2), and since there is nothing to
    /// keep apart, switches check nothing.
    fn default() -> Self {
        let default = Partition {
            name: "Default".to_owned(),
            number: DEFAULT_PARTITION,
            members: vec![(MemberSelector::All, Membership::Full)],
            groups: vec![GroupSpec::ipoib(DEFAULT_PARTITION)],
            ..Partition::default()
        };
        Self {
            rules: Rules::new(core::slice::from_ref(&default)),
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

    /// Partitions that somebody configured. The default partition is always there: all ports are limited members of it if nothing
    /// else is said, and the subnet manager's port is a full member whatever is said (rule 9.2).
    ///
    /// # Errors
    /// What contradicts itself.
    pub fn new(
        list: Vec<Partition>,
        enforcement: Enforcement,
        allow_both: bool,
    ) -> Result<Self, PartitionsError> {
        let mut list = list;
        list.sort_by_key(|p| p.number);
        if let Some(wrong) = list
            .iter()
            .find(|p| p.number == 0 || p.number > DEFAULT_PARTITION)
        {
            return Err(PartitionsError::Number {
                name: wrong.name.clone(),
                number: wrong.number,
            });
        }
        if let Some([a, b]) = list.array_windows().find(|[a, b]| a.number == b.number) {
            return Err(PartitionsError::Twice {
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
            let own = if default.own_membership() == Some(Membership::Both) {
                Membership::Both
            } else {
                Membership::Full
            };
            default.members.push((MemberSelector::Own, own));
        }
        Ok(Self {
            rules: Rules::new(&list),
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

    /// Whether somebody configured them.
    #[must_use]
    pub const fn is_configured(&self) -> bool {
        self.configured
    }

    /// What switches check.
    #[must_use]
    pub const fn enforcement(&self) -> Enforcement {
        self.enforcement
    }
}

impl Partition {
    /// What the subnet manager's own port was last said to be.
    fn own_membership(&self) -> Option<Membership> {
        let own = |who: &MemberSelector| matches!(who, MemberSelector::Own | MemberSelector::All);
        let last = self.members.iter().rev().find(|(who, _)| own(who));
        last.map(|(_, membership)| *membership)
    }
}

fn groups_differ(list: &[Partition]) -> Result<(), PartitionsError> {
    let mut seen = std::collections::BTreeMap::new();
    for partition in list {
        for group in &partition.groups {
            let before = seen.insert(group.mgid, partition);
            if let Some(before) = before.filter(|before| before.number != partition.number) {
                return Err(PartitionsError::GroupTwice {
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
    fn contradictions_are_refused() {
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
    fn the_default_partition_is_always_there() {
        let all = Partitions::new(vec![partition("a", 5)], Enforcement::Both, false).unwrap();
        let numbers: Vec<u16> = all.list().iter().map(|p| p.number).collect();
        assert_eq!(numbers, [5, DEFAULT_PARTITION]);
        assert!(all.is_configured() && !Partitions::default().is_configured());
    }
}
