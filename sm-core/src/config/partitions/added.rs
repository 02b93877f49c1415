//! Partitions that operators add at run time, besides those of the configuration.
//!
//! They are records, so that a restart keeps them and a standby that takes over has them. The
//! configuration wins: an added partition whose number, name or group a new configuration uses is
//! not in force while it does.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::members::MemberIndex;
use super::{Partition, Partitions, PartitionsError, groups_differ};

/// The partitions of the configuration, and the added ones.
#[derive(Debug, Default)]
pub(crate) struct AddedPartitions {
    configured: Arc<Partitions>,
    /// By number.
    added: BTreeMap<u16, Partition>,
}

impl AddedPartitions {
    pub(crate) const fn new(configured: Arc<Partitions>, added: BTreeMap<u16, Partition>) -> Self {
        Self { configured, added }
    }

    /// The partitions of the configuration.
    pub(crate) const fn configured(&self) -> &Arc<Partitions> {
        &self.configured
    }

    /// The configuration changed.
    pub(crate) fn configure(&mut self, configured: Arc<Partitions>) {
        self.configured = configured;
    }

    /// The added partitions are those of the records of another SM.
    pub(crate) fn load_replica(&mut self, added: BTreeMap<u16, Partition>) {
        self.added = added;
    }

    /// Whether the partition with this number is an added one.
    pub(crate) fn contains(&self, number: u16) -> bool {
        self.added.contains_key(&number)
    }

    /// All partitions in force.
    pub(crate) fn in_force(&self) -> Arc<Partitions> {
        let mut all = Arc::clone(&self.configured);
        for partition in self.added.values() {
            if let Ok(with) = all.with(partition.clone()) {
                all = Arc::new(with);
            }
        }
        all
    }

    /// The partitions in force if this one is added or replaced.
    pub(crate) fn in_force_with(&self, new: Partition) -> Result<Arc<Partitions>, PartitionsError> {
        if let Some(old) = self.added.get(&new.number)
            && old.name != new.name
        {
            return Err(PartitionsError::DuplicateNumber {
                first: old.name.clone(),
                second: new.name,
                number: new.number,
            });
        }
        let others = self.in_force_without(new.number);
        others.with(new).map(Arc::new)
    }

    /// The partitions in force if the added one with this number is removed.
    pub(crate) fn in_force_without(&self, number: u16) -> Arc<Partitions> {
        let mut added = self.added.clone();
        added.remove(&number);
        Self::new(Arc::clone(&self.configured), added).in_force()
    }

    /// Adds or replaces a partition.
    pub(crate) fn put(&mut self, partition: Partition) {
        self.added.insert(partition.number, partition);
    }

    /// Removes a partition. Returns whether it was there.
    pub(crate) fn remove(&mut self, number: u16) -> bool {
        self.added.remove(&number).is_some()
    }
}

impl Partitions {
    /// These partitions and another one.
    ///
    /// # Errors
    /// If its number is invalid, or one of these has its number, name or group.
    pub fn with(&self, partition: Partition) -> Result<Self, PartitionsError> {
        let number = partition.number;
        if number == 0 || number > super::DEFAULT_PARTITION {
            let name = partition.name;
            return Err(PartitionsError::Number { name, number });
        }
        for other in &self.list {
            if other.number == number {
                return Err(PartitionsError::DuplicateNumber {
                    first: other.name.clone(),
                    second: partition.name,
                    number,
                });
            }
            if other.name == partition.name {
                return Err(PartitionsError::DuplicateName {
                    name: partition.name,
                    numbers: [other.number, number],
                });
            }
        }
        let mut list = self.list.clone();
        list.push(partition);
        // The default partition stays the last: its number is the highest.
        list.sort_by_key(|p| p.number);
        groups_differ(&list)?;
        Ok(Self {
            rules: MemberIndex::new(&list),
            list,
            ..self.clone()
        })
    }
}

#[cfg(test)]
mod tests {
    use ferrosm_mad::attr::NodeType;
    use ferrosm_mad::ids::{PKey, PortGuid};

    use super::super::members::EndPortFacts;
    use super::super::{Enforcement, MemberSelector, Membership};
    use super::*;

    fn partition(name: &str, number: u16) -> Partition {
        let member = (MemberSelector::Port(PortGuid(7)), Membership::Limited);
        Partition {
            name: name.to_owned(),
            number,
            members: vec![member],
            ..Partition::default()
        }
    }

    fn keys(partitions: &Partitions, guid: u64) -> Vec<PKey> {
        let facts = EndPortFacts {
            guid: PortGuid(guid),
            node_type: NodeType::Ca,
            is_sm_port: false,
        };
        partitions.wanted_p_keys(&facts).keys
    }

    /// Without configured partitions, all ports stay full members of the default partition.
    #[test]
    fn added_partition_changes_its_members_only() {
        let mut partitions = AddedPartitions::default();
        partitions.put(partition("a", 5));
        let all = partitions.in_force();
        assert_eq!(keys(&all, 7), [PKey(0xFFFF), PKey(5)]);
        assert_eq!(keys(&all, 8), [PKey(0xFFFF)]);
        assert!(all.names(PKey(0x8005)) && !all.names(PKey(0xFFFF)));
        assert!(partitions.remove(5) && !partitions.remove(5));
        assert_eq!(keys(&partitions.in_force(), 7), [PKey(0xFFFF)]);
    }

    #[test]
    fn configuration_wins_over_an_added_partition() {
        let configured = Partitions::new(vec![partition("a", 5)], Enforcement::Both, false);
        let configured = Arc::new(configured.unwrap());
        let mut partitions = AddedPartitions::new(Arc::clone(&configured), BTreeMap::new());
        let error = |p| partitions.in_force_with(p).unwrap_err().to_string();
        assert!(error(partition("b", 5)).contains("same P_Key"));
        assert!(error(partition("a", 6)).contains("same name"));
        assert!(error(partition("b", 0x7FFF)).contains("0x7fff"));
        partitions.put(partition("b", 6));
        assert_eq!(keys(&partitions.in_force(), 7).len(), 3);
        let renamed = partitions.in_force_with(partition("c", 6));
        assert!(renamed.unwrap_err().to_string().contains("same P_Key"));
        assert!(partitions.in_force_with(partition("b", 6)).is_ok());
        partitions.put(partition("a", 6));
        assert_eq!(partitions.in_force(), configured);
    }
}
