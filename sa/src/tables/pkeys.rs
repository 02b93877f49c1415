//! Known contents of a port's P_Key table: blocks that were last read or written.

use std::sync::Arc;

use ferrosm_mad::attr::PKEY_BLOCK_LEN;
use ferrosm_mad::ids::PKey;

/// A block of 32 P_Keys.
pub type PKeyBlock = [PKey; PKEY_BLOCK_LEN];

/// Number of blocks of a table with `entries` entries.
#[must_use]
pub fn num_blocks(entries: u16) -> u16 {
    entries.div_ceil(32)
}

/// Known blocks of a port's P_Key table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PKeyTable {
    /// Known blocks in ascending order, shared between the subnet and its views.
    known_blocks: Arc<[(u16, PKeyBlock)]>,
    /// Only block 0 was written since the device restarted, so unread blocks are empty.
    unread_empty: bool,
}

impl PKeyTable {
    /// A block; `None` if unknown.
    #[must_use]
    pub fn block(&self, block: u16) -> Option<&PKeyBlock> {
        let at = self
            .known_blocks
            .binary_search_by_key(&block, |(b, _)| *b)
            .ok()?;
        Some(&self.known_blocks[at].1)
    }

    /// Known blocks in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &PKeyBlock)> {
        self.known_blocks.iter().map(|(block, keys)| (*block, keys))
    }

    /// Sets the contents of a block.
    pub fn set_block(&mut self, block: u16, keys: PKeyBlock) {
        let at = self.known_blocks.partition_point(|(b, _)| *b < block);
        let others = self
            .known_blocks
            .iter()
            .filter(|(b, _)| *b != block)
            .copied();
        let mut known: Vec<(u16, PKeyBlock)> = others.collect();
        known.insert(at, (block, keys));
        self.known_blocks = known.into();
    }

    /// Marks a block as unknown, from sending a Set until its response.
    pub fn invalidate_block(&mut self, block: u16) {
        if self.block(block).is_some() {
            let others = self
                .known_blocks
                .iter()
                .filter(|(b, _)| *b != block)
                .copied();
            self.known_blocks = others.collect();
        }
        // A block that became unknown may not be empty.
        self.unread_empty &= block != 0;
    }

    /// Marks all blocks as unknown.
    pub fn invalidate(&mut self) {
        *self = Self::default();
    }

    /// Whether no block is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.known_blocks.is_empty()
    }

    /// Sets whether unread blocks are known to be empty.
    pub const fn set_unread_empty(&mut self, yes: bool) {
        self.unread_empty = yes;
    }

    /// Whether unread blocks are known to be empty.
    #[must_use]
    pub const fn is_unread_empty(&self) -> bool {
        self.unread_empty
    }

    /// Unknown blocks of a table with `entries` entries.
    pub fn unknown_blocks(&self, entries: u16) -> impl Iterator<Item = u16> + '_ {
        let unread_empty = self.unread_empty;
        (0..num_blocks(entries))
            .filter(move |b| self.block(*b).is_none() && !(unread_empty && *b > 0))
    }

    /// All entries of a table with `entries` entries; `None` if some are unknown.
    #[must_use]
    pub fn entries(&self, entries: u16) -> Option<Vec<PKey>> {
        if self.unknown_blocks(entries).next().is_some() {
            return None;
        }
        let mut all = vec![PKey(0); usize::from(entries)];
        for (block, keys) in &*self.known_blocks {
            let first = usize::from(*block) * PKEY_BLOCK_LEN;
            for (entry, key) in all.iter_mut().skip(first).zip(keys) {
                *entry = *key;
            }
        }
        Some(all)
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
        let mut all = vec![PKey(0); 70];
        all[0] = PKey::DEFAULT_FULL;
        assert_eq!(table.entries(70), Some(all));
        assert_eq!(table.entries(3).map(|t| t.len()), Some(3));
        table.invalidate_block(0);
        assert_eq!(table.entries(3), None);
        assert_eq!(table.unknown_blocks(70).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn blocks_are_slices_of_the_entries() {
        let entries: Vec<PKey> = (1..=40).map(PKey).collect();
        assert_eq!(PKeyTable::block_of(&entries, 1)[7], PKey(40));
        assert_eq!(PKeyTable::block_of(&entries, 1)[8], PKey(0));
        assert_eq!(PKeyTable::block_of(&entries, 2), [PKey(0); 32]);
    }
}
