//! Known contents of a port's P_Key table: blocks that were last read or written.

use std::sync::Arc;

use ferrosm_mad::attr::PKEY_BLOCK_LEN;
use ferrosm_mad::ids::PKey;
use serde::{Deserialize, Serialize};

/// A block of 32 P_Keys.
pub type PKeyBlock = [PKey; PKEY_BLOCK_LEN];

/// Number of blocks of a table with `entries` entries.
#[must_use]
pub fn num_blocks(entries: u16) -> u16 {
    entries.div_ceil(32)
}

/// Known blocks of a port's P_Key table, shared between the subnet and its views, and between ports
/// with equal tables.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Option<KnownPKeys>")]
pub struct PKeyTable(Option<Arc<KnownPKeys>>);

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct KnownPKeys {
    /// Ascending.
    blocks: Vec<(u16, PKeyBlock)>,
    /// Only block 0 was written since the device restarted, so unread blocks are empty.
    unread_empty: bool,
}

impl From<Option<KnownPKeys>> for PKeyTable {
    /// Blocks may have any order.
    fn from(known: Option<KnownPKeys>) -> Self {
        let known = known.unwrap_or_default();
        let mut table = Self::default();
        table.set_unread_empty(known.unread_empty);
        for (block, keys) in known.blocks {
            table.set_block(block, keys);
        }
        table
    }
}

impl PKeyTable {
    fn known_blocks(&self) -> &[(u16, PKeyBlock)] {
        self.0.as_ref().map_or(&[], |table| &table.blocks)
    }

    fn change(&mut self, change: impl FnOnce(&mut KnownPKeys)) {
        let table = Arc::make_mut(self.0.get_or_insert_default());
        change(table);
        if *table == KnownPKeys::default() {
            self.0 = None;
        }
    }

    /// Shares the memory of a table with equal contents.
    pub fn share_with(&mut self, other: &Self) {
        if *self == *other {
            self.0.clone_from(&other.0);
        }
    }

    /// A block; `None` if unknown.
    #[must_use]
    pub fn block(&self, block: u16) -> Option<&PKeyBlock> {
        let blocks = self.known_blocks();
        let at = blocks.binary_search_by_key(&block, |(b, _)| *b).ok()?;
        Some(&blocks[at].1)
    }

    /// Known blocks in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &PKeyBlock)> {
        let blocks = self.known_blocks().iter();
        blocks.map(|(block, keys)| (*block, keys))
    }

    /// Sets the contents of a block.
    pub fn set_block(&mut self, block: u16, keys: PKeyBlock) {
        if self.block(block) == Some(&keys) {
            return;
        }
        self.change(
            |table| match table.blocks.binary_search_by_key(&block, |(b, _)| *b) {
                Ok(at) => table.blocks[at].1 = keys,
                Err(at) => {
                    table.blocks.reserve_exact(1);
                    table.blocks.insert(at, (block, keys));
                }
            },
        );
    }

    /// Marks a block as unknown, from sending a Set until its response.
    pub fn invalidate_block(&mut self, block: u16) {
        if self.0.is_some() {
            self.change(|table| {
                table.blocks.retain(|(b, _)| *b != block);
                // The block may not be empty after the Set.
                table.unread_empty = false;
            });
        }
    }

    /// Marks all blocks as unknown.
    pub fn invalidate(&mut self) {
        self.0 = None;
    }

    /// Whether no block is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.known_blocks().is_empty()
    }

    /// Sets whether unread blocks are known to be empty.
    pub fn set_unread_empty(&mut self, is_empty: bool) {
        if self.is_unread_empty() != is_empty {
            self.change(|table| table.unread_empty = is_empty);
        }
    }

    /// Whether unread blocks are known to be empty.
    #[must_use]
    pub fn is_unread_empty(&self) -> bool {
        self.0.as_ref().is_some_and(|table| table.unread_empty)
    }

    /// Unknown blocks of a table with `entries` entries.
    pub fn unknown_blocks(&self, entries: u16) -> impl Iterator<Item = u16> + '_ {
        let unread_empty = self.is_unread_empty();
        (0..num_blocks(entries))
            .filter(move |b| self.block(*b).is_none() && !(unread_empty && *b > 0))
    }

    /// All entries of a table with `entries` entries; `None` if some are unknown.
    #[must_use]
    pub fn entries(&self, entries: u16) -> Option<Vec<PKey>> {
        if self.unknown_blocks(entries).next().is_some() {
            return None;
        }
        let mut flat_keys = vec![PKey(0); usize::from(entries)];
        for (block, keys) in self.known_blocks() {
            let first = usize::from(*block) * PKEY_BLOCK_LEN;
            for (entry, key) in flat_keys.iter_mut().skip(first).zip(keys) {
                *entry = *key;
            }
        }
        Some(flat_keys)
    }

    /// A block of the table with these entries.
    #[must_use]
    pub fn block_of(entries: &[PKey], block: u16) -> PKeyBlock {
        let first = usize::from(block) * PKEY_BLOCK_LEN;
        let mut keys = [PKey(0); PKEY_BLOCK_LEN];
        for (key, entry) in keys.iter_mut().zip(entries.iter().skip(first)) {
            *key = *entry;
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_require_all_blocks_to_be_known() {
        let mut table = PKeyTable::default();
        let block = PKeyTable::block_of(&[PKey::DEFAULT_FULL], 0);
        assert_eq!(table.unknown_blocks(70).collect::<Vec<_>>(), [0, 1, 2]);
        table.set_block(0, block);
        assert_eq!(table.entries(70), None);
        table.set_unread_empty(true);
        let mut keys = vec![PKey(0); 70];
        keys[0] = PKey::DEFAULT_FULL;
        assert_eq!(table.entries(70), Some(keys));
        assert_eq!(table.entries(3).map(|t| t.len()), Some(3));
        table.invalidate_block(0);
        assert_eq!(table.entries(3), None);
        assert_eq!(table.unknown_blocks(70).collect::<Vec<_>>(), [0, 1, 2]);
    }

    /// A block above 0 is written to a table whose unread blocks were empty, and the response is
    /// missing.
    #[test]
    fn block_that_was_written_is_not_assumed_to_be_empty() {
        let mut table = PKeyTable::default();
        table.set_block(0, PKeyTable::block_of(&[PKey::DEFAULT_FULL], 0));
        table.set_unread_empty(true);
        table.invalidate_block(1);
        assert_eq!(table.entries(70), None);
        assert!(table.unknown_blocks(70).any(|block| block == 1));
    }

    #[test]
    fn equal_tables_share_memory_until_one_changes() {
        let mut tables = [PKeyTable::default(), PKeyTable::default()];
        for table in &mut tables {
            table.set_block(0, PKeyTable::block_of(&[PKey::DEFAULT_FULL], 0));
        }
        let [first, mut second] = tables;
        second.share_with(&first);
        let memory = |table: &PKeyTable| table.0.as_ref().map(Arc::as_ptr);
        assert_eq!(memory(&first), memory(&second));
        second.set_block(0, PKeyTable::block_of(&[PKey::DEFAULT_LIMITED], 0));
        assert_ne!(first, second);
        second.invalidate_block(0);
        assert_eq!(second, PKeyTable::default());
        second.share_with(&first);
        assert_eq!(memory(&second), None);
    }

    #[test]
    fn blocks_are_slices_of_the_entries() {
        let entries: Vec<PKey> = (1..=40).map(PKey).collect();
        assert_eq!(PKeyTable::block_of(&entries, 1)[7], PKey(40));
        assert_eq!(PKeyTable::block_of(&entries, 1)[8], PKey(0));
        assert_eq!(PKeyTable::block_of(&entries, 2), [PKey(0); 32]);
    }
}
