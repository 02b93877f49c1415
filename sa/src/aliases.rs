//! Alias GUIDs as answers need them: which end port each stands for, and what is in each port's table (IBA 14.2.5.5).
//!
//! Immutable once it is shared. It is cut into small parts, so that a change copies one or two of them and shares the others:
//! a subnet has some hundred thousand aliases, and a host sets a few at a time. Who may change them is
//! [`super::registry::aliases`]'s.

use std::collections::BTreeMap;
use std::sync::Arc;

use ferrosm_mad::ids::PortGuid;

/// Entries of a block.
pub const BLOCK: usize = 8;

/// No GUID: an empty entry.
pub const EMPTY: PortGuid = PortGuid(0);

const SHARDS: usize = 256;

/// All alias GUIDs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AliasTables {
    shards: Vec<Arc<Shard>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Shard {
    /// The port that an alias stands for, by its own GUID.
    owners: BTreeMap<PortGuid, PortGuid>,
    /// Entries of a port as far as the last one that is not empty; the port's own is left empty.
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
    /// The port that an alias stands for; none for what is no alias, a port's own GUID too.
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
    pub fn block(&self, port: PortGuid, block: u8) -> [PortGuid; BLOCK] {
        let first = usize::from(block) * BLOCK;
        core::array::from_fn(|i| self.get(port, first + i))
    }

    /// The aliases of a port.
    pub fn aliases_of(&self, port: PortGuid) -> impl Iterator<Item = PortGuid> {
        let table = self.table(port).iter().copied();
        table.filter(|guid| *guid != EMPTY)
    }

    /// Blocks of a port's table that have an alias.
    pub fn used_blocks(&self, port: PortGuid) -> impl Iterator<Item = u8> {
        let blocks = (0u8..).zip(self.table(port).chunks(BLOCK));
        let used = blocks.filter(|(_, entries)| entries.iter().any(|guid| *guid != EMPTY));
        used.map(|(block, _)| block)
    }

    /// All ports that have an alias.
    pub fn ports(&self) -> impl Iterator<Item = PortGuid> {
        self.shards.iter().flat_map(|p| p.tables.keys().copied())
    }

    /// Number of aliases.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shards.iter().map(|p| p.owners.len()).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shards.iter().all(|p| p.owners.is_empty())
    }

    /// Puts an alias into a port's table, in place of what is there; [`EMPTY`] takes it away. The alias must be nobody's.
    pub(super) fn set_entry(&mut self, port: PortGuid, index: usize, alias: PortGuid) {
        debug_assert!(index > 0 && self.owner(alias).is_none());
        let before = self.get(port, index);
        let mut table = self.table(port).to_vec();
        if table.len() <= index {
            table.resize(index + 1, EMPTY);
        }
        table[index] = alias;
        let used = table.iter().rposition(|g| *g != EMPTY).map_or(0, |i| i + 1);
        table.truncate(used);
        let part = self.shard_mut(port);
        if table.is_empty() {
            part.tables.remove(&port);
        } else {
            part.tables.insert(port, table.into());
        }
        if before != EMPTY {
            self.shard_mut(before).owners.remove(&before);
        }
        if alias != EMPTY {
            self.shard_mut(alias).owners.insert(alias, port);
        }
    }

    /// Takes all aliases of a port away, and says which these were.
    pub(super) fn remove_port(&mut self, port: PortGuid) -> Vec<PortGuid> {
        let gone: Vec<PortGuid> = self.aliases_of(port).collect();
        for alias in &gone {
            self.shard_mut(*alias).owners.remove(alias);
        }
        if !gone.is_empty() {
            self.shard_mut(port).tables.remove(&port);
        }
        gone
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

/// GUIDs of a maker differ in their last bytes; so do aliases that were invented one after the other.
fn shard_index(guid: PortGuid) -> usize {
    let folded = guid.0 ^ guid.0 >> 8 ^ guid.0 >> 16;
    usize::try_from(folded % SHARDS as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_entry_is_the_ports_own() {
        let aliases = AliasTables::default();
        let own = PortGuid(7);
        assert_eq!(
            aliases.block(own, 0),
            [7, 0, 0, 0, 0, 0, 0, 0].map(PortGuid)
        );
        assert_eq!(aliases.block(own, 1), [EMPTY; BLOCK]);
        assert_eq!(aliases.owner(own), None);
    }

    proptest! {
        /// As one map of all entries says, whatever was put where and in whatever order; and what was shared stays as it was.
        #[test]
        fn tables_and_owners_agree(actions in prop::collection::vec((1u64..6, 1usize..40, 0u64..30, any::<bool>()), 0..80)) {
            let mut aliases = AliasTables::default();
            let mut model: BTreeMap<(u64, usize), u64> = BTreeMap::new();
            for (port, index, alias, leaves) in actions {
                let (shared, before) = (aliases.clone(), model.clone());
                let alias = if alias == 0 { 0 } else { alias << 8 };
                if leaves && index > 30 {
                    let gone: Vec<u64> = aliases.remove_port(PortGuid(port)).iter().map(|g| g.0).collect();
                    let of_it = model.iter().filter(|((p, _), _)| *p == port).map(|(_, a)| *a);
                    prop_assert_eq!(gone, of_it.collect::<Vec<_>>());
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
                        let block = u8::try_from(index / BLOCK).unwrap();
                        prop_assert_eq!(aliases.block(PortGuid(port), block)[index % BLOCK], PortGuid(alias));
                        prop_assert!(aliases.used_blocks(PortGuid(port)).any(|b| b == block));
                    }
                }
            }
        }
    }
}
