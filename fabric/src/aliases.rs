//! Alias GUIDs of all ports: the owner of each alias and the GUIDInfo table of each port (IBA
//! 14.2.5.5).
//!
//! Views share the tables, which are immutable. They are split into shards, so that a change copies
//! one or two shards and shares the rest: a subnet may have several hundred thousand aliases, and a
//! host sets a few at a time. The SA's registry processes changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::ids::PortGuid;

/// Number of entries in a GUIDInfo block.
pub const BLOCK_LEN: usize = 8;

/// An empty entry.
pub const EMPTY: PortGuid = PortGuid(0);

const SHARDS: usize = 256;

/// All alias GUIDs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AliasTables {
    shards: Vec<Arc<Shard>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Shard {
    /// Port GUID of the owner of each alias.
    owners: BTreeMap<PortGuid, PortGuid>,
    /// Entries of each port up to the last used one; entry 0, the port GUID itself, is empty here.
    tables: BTreeMap<PortGuid, Arc<[PortGuid]>>,
}

impl Default for AliasTables {
    fn default() -> Self {
        Self {
            shards: vec![Arc::default(); SHARDS],
        }
    }
}

impl AliasTables {
    /// The port that owns an alias; `None` for other GUIDs, port GUIDs included.
    #[must_use]
    pub fn owner(&self, alias: PortGuid) -> Option<PortGuid> {
        self.shard(alias).owners.get(&alias).copied()
    }

    /// An entry of a port's table.
    #[must_use]
    pub fn get(&self, port: PortGuid, index: usize) -> PortGuid {
        if index == 0 {
            return port;
        }
        self.table(port).get(index).copied().unwrap_or(EMPTY)
    }

    /// A block of a port's table.
    #[must_use]
    pub fn block(&self, port: PortGuid, block: u8) -> [PortGuid; BLOCK_LEN] {
        let first = usize::from(block) * BLOCK_LEN;
        core::array::from_fn(|i| self.get(port, first + i))
    }

    /// The aliases of a port.
    pub fn aliases_of(&self, port: PortGuid) -> impl Iterator<Item = PortGuid> {
        let table = self.table(port).iter().copied();
        table.filter(|guid| *guid != EMPTY)
    }

    /// Blocks of a port's table that have an alias.
    pub fn used_blocks(&self, port: PortGuid) -> impl Iterator<Item = u8> {
        let blocks = (0u8..).zip(self.table(port).chunks(BLOCK_LEN));
        let used = blocks.filter(|(_, entries)| entries.iter().any(|guid| *guid != EMPTY));
        used.map(|(block, _)| block)
    }

    /// All ports with aliases.
    pub fn ports(&self) -> impl Iterator<Item = PortGuid> {
        self.shards
            .iter()
            .flat_map(|shard| shard.tables.keys().copied())
    }

    /// Number of aliases.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.owners.len()).sum()
    }

    /// Whether there are no aliases.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shards.iter().all(|shard| shard.owners.is_empty())
    }

    /// Sets an entry of a port's table; [`EMPTY`] clears it. The alias must not be in use.
    pub fn set_entry(&mut self, port: PortGuid, index: usize, alias: PortGuid) {
        debug_assert!(index > 0 && self.owner(alias).is_none());
        let before = self.get(port, index);
        let mut table = self.table(port).to_vec();
        if table.len() <= index {
            table.resize(index + 1, EMPTY);
        }
        table[index] = alias;
        let used = table.iter().rposition(|g| *g != EMPTY).map_or(0, |i| i + 1);
        table.truncate(used);
        let shard = self.shard_mut(port);
        if table.is_empty() {
            shard.tables.remove(&port);
        } else {
            shard.tables.insert(port, table.into());
        }
        if before != EMPTY {
            self.shard_mut(before).owners.remove(&before);
        }
        if alias != EMPTY {
            self.shard_mut(alias).owners.insert(alias, port);
        }
    }

    /// Removes all aliases of a port and returns them.
    pub fn remove_port(&mut self, port: PortGuid) -> Vec<PortGuid> {
        let removed: Vec<PortGuid> = self.aliases_of(port).collect();
        for alias in &removed {
            self.shard_mut(*alias).owners.remove(alias);
        }
        if !removed.is_empty() {
            self.shard_mut(port).tables.remove(&port);
        }
        removed
    }

    fn table(&self, port: PortGuid) -> &[PortGuid] {
        self.shard(port).tables.get(&port).map_or(&[], |t| &**t)
    }

    fn shard(&self, guid: PortGuid) -> &Shard {
        &self.shards[shard_index(guid)]
    }

    fn shard_mut(&mut self, guid: PortGuid) -> &mut Shard {
        Arc::make_mut(&mut self.shards[shard_index(guid)])
    }
}

/// Shard of a GUID. Mixes the last bytes, in which the GUIDs of one vendor and generated aliases
/// differ.
fn shard_index(guid: PortGuid) -> usize {
    let folded = guid.0 ^ guid.0 >> 8 ^ guid.0 >> 16;
    usize::try_from(folded % SHARDS as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entry_zero_is_the_port_guid() {
        let aliases = AliasTables::default();
        let port_guid = PortGuid(7);
        assert_eq!(
            aliases.block(port_guid, 0),
            [7, 0, 0, 0, 0, 0, 0, 0].map(PortGuid)
        );
        assert_eq!(aliases.block(port_guid, 1), [EMPTY; BLOCK_LEN]);
        assert_eq!(aliases.owner(port_guid), None);
    }

    proptest! {
        /// Agrees with a map of all entries after any sequence of changes, and earlier clones are
        /// not modified.
        #[test]
        fn tables_and_owners_agree(actions in prop::collection::vec((1u64..6, 1usize..40, 0u64..30, any::<bool>()), 0..80)) {
            let mut aliases = AliasTables::default();
            let mut model: BTreeMap<(u64, usize), u64> = BTreeMap::new();
            for (port, index, alias, removes_port) in actions {
                let (shared, before) = (aliases.clone(), model.clone());
                let alias = if alias == 0 { 0 } else { alias << 8 };
                if removes_port && index > 30 {
                    let removed: Vec<u64> = aliases.remove_port(PortGuid(port)).iter().map(|g| g.0).collect();
                    let expected = model.iter().filter(|((p, _), _)| *p == port).map(|(_, a)| *a);
                    prop_assert_eq!(removed, expected.collect::<Vec<_>>());
                    model.retain(|(p, _), _| *p != port);
                } else if alias == 0 || model.values().all(|a| *a != alias) {
                    aliases.set_entry(PortGuid(port), index, PortGuid(alias));
                    model.remove(&(port, index));
                    if alias != 0 {
                        model.insert((port, index), alias);
                    }
                }
                for (aliases, model) in [(&shared, &before), (&aliases, &model)] {
                    prop_assert_eq!(aliases.len(), model.len());
                    prop_assert_eq!(aliases.is_empty(), model.is_empty());
                    for (&(port, index), &alias) in model {
                        prop_assert_eq!(aliases.owner(PortGuid(alias)), Some(PortGuid(port)));
                        let block = u8::try_from(index / BLOCK_LEN).unwrap();
                        prop_assert_eq!(aliases.block(PortGuid(port), block)[index % BLOCK_LEN], PortGuid(alias));
                        prop_assert!(aliases.used_blocks(PortGuid(port)).any(|b| b == block));
                    }
                }
            }
        }
    }
}
