//! A port's P_Key table, as far as it is known.
//!
//! It holds what was read or written last, block by block, and knows which blocks are unknown.

use std::sync::Arc;

use ferrosm_mad::attr::PKEY_BLOCK_LEN;
use ferrosm_mad::ids::PKey;

/// 32 keys.
pub type PKeyBlock = [PKey; PKEY_BLOCK_LEN];

/// Blocks of a table of so many entries.
#[must_use]
pub fn blocks(entries: u16) -> u16 {
    entries.div_ceil(32)
}

/// The P_Keys of a port.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PKeyTable {
    /// Known blocks, in ascending order; shared by the subnet and the views made from it.
    known: Arc<[(u16, PKeyBlock)]>,
    /// Nobody has written to it since it woke, so blocks that were not read are empty.
    as_woken: bool,
}

impl PKeyTable {
    /// A block; `None` if it is not known.
    #[must_use]
    pub fn block(&self, block: u16) -> Option<&PKeyBlock> {
        let at = self.known.binary_search_by_key(&block, |(b, _)| *b).ok()?;
        Some(&self.known[at].1)
    }

    /// The blocks that are known, by number.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &PKeyBlock)> {
        self.known.iter().map(|(block, keys)| (*block, keys))
    }

    /// What a block holds.
    pub fn put(&mut self, block: u16, keys: PKeyBlock) {
        let at = self.known.partition_point(|(b, _)| *b < block);
        let others = self.known.iter().filter(|(b, _)| *b != block).copied();
        let mut known: Vec<(u16, PKeyBlock)> = others.collect();
        known.insert(at, (block, keys));
        self.known = known.into();
    }

    /// A block is not known any more: from when a Set goes out until it is answered.
    pub fn forget_block(&mut self, block: u16) {
        if self.block(block).is_some() {
            let others = self.known.iter().filter(|(b, _)| *b != block).copied();
            self.known = others.collect();
        }
        // An unknown block is not an empty one.
        self.as_woken &= block != 0;
    }

    /// Nothing is known any more.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.known.is_empty()
    }

    /// Blocks that were not read are empty (or, with `false`, must be read before anything is said of them).
    pub const fn set_as_woken(&mut self, yes: bool) {
        self.as_woken = yes;
    }

    /// Whether blocks that were not read are empty.
    #[must_use]
    pub const fn is_as_woken(&self) -> bool {
        self.as_woken
    }

    /// Blocks of a table of so many entries that are not known.
    pub fn unknown(&self, entries: u16) -> impl Iterator<Item = u16> + '_ {
        let woken = self.as_woken;
        (0..blocks(entries)).filter(move |b| self.block(*b).is_none() && !(woken && *b > 0))
    }

    /// All entries of a table of so many; `None` if some are not known.
    #[must_use]
    pub fn entries(&self, entries: u16) -> Option<Vec<PKey>> {
        if self.unknown(entries).next().is_some() {
            return None;
        }
        let mut all = vec![PKey(0); usize::from(entries)];
        for (block, keys) in &*self.known {
            let first = usize::from(*block) * PKEY_BLOCK_LEN;
            for (entry, key) in all.iter_mut().skip(first).zip(keys) {
                *entry = *key;
            }
        }
        Some(all)
    }

    /// A block of a table that should hold these entries.
    #[must_use]
    pub fn cut(entries: &[PKey], block: u16) -> PKeyBlock {
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
    fn what_is_not_known_is_said() {
        let mut table = PKeyTable::default();
        let block = PKeyTable::cut(&[PKey::DEFAULT_FULL], 0);
        assert_eq!(table.unknown(70).collect::<Vec<_>>(), [0, 1, 2]);
        table.put(0, block);
        assert_eq!(table.entries(70), None);
        table.set_as_woken(true);
        let mut all = vec![PKey(0); 70];
        all[0] = PKey::DEFAULT_FULL;
        assert_eq!(table.entries(70), Some(all));
        assert_eq!(table.entries(3).map(|t| t.len()), Some(3));
        table.forget_block(0);
        assert_eq!(table.entries(3), None);
        assert_eq!(table.unknown(70).collect::<Vec<_>>(), [0, 1, 2]);
    }

    #[test]
    fn blocks_are_cut_from_a_table() {
        let entries: Vec<PKey> = (1..=40).map(PKey).collect();
        assert_eq!(PKeyTable::cut(&entries, 1)[7], PKey(40));
        assert_eq!(PKeyTable::cut(&entries, 1)[8], PKey(0));
        assert_eq!(PKeyTable::cut(&entries, 2), [PKey(0); 32]);
    }
}
