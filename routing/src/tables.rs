//! Linear forwarding tables as they will lie in the switches, and which of their blocks differ.
//!
//! A table is dense: one byte per LID from 0 to the highest LID in use, 0xFF where a packet is
//! dropped. Tables are shared (`Arc`) between runs: a row that comes out as before is the same
//! allocation as before.

use std::fmt;
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};

/// Entries in one block, the unit in which a LinearForwardingTable attribute is written (IBA
/// 14.2.5.10).
pub const BLOCK_LIDS: usize = 64;

const DROP: u8 = PortNum::DROP.raw();

/// The linear forwarding table of one switch.
#[derive(Clone, PartialEq, Eq)]
pub struct Lft {
    entries: Box<[u8]>,
}

impl Lft {
    /// A table for LIDs 0 to `top` that drops everything.
    #[must_use]
    pub fn drop_all(top: Lid) -> Self {
        Self {
            entries: vec![DROP; usize::from(top.raw()) + 1].into_boxed_slice(),
        }
    }

    /// A table from raw entries, LID 0 first (for instance what was read back from a switch).
    #[must_use]
    pub fn from_entries(entries: impl Into<Box<[u8]>>) -> Self {
        Self {
            entries: entries.into(),
        }
    }

    /// Where packets for a LID go: a port, 0 for the switch itself, [`PortNum::DROP`] for unknown
    /// LIDs.
    #[must_use]
    pub fn get(&self, lid: Lid) -> PortNum {
        PortNum(
            self.entries
                .get(usize::from(lid.raw()))
                .copied()
                .unwrap_or(DROP),
        )
    }

    /// Changes one entry; LIDs above the top are ignored.
    pub fn set(&mut self, lid: Lid, port: PortNum) {
        if let Some(entry) = self.entries.get_mut(usize::from(lid.raw())) {
            *entry = port.raw();
        }
    }

    /// Raw entries, LID 0 first.
    #[must_use]
    pub fn entries(&self) -> &[u8] {
        &self.entries
    }

    /// The raw entries, to be worked on.
    pub(crate) fn into_entries(self) -> Box<[u8]> {
        self.entries
    }

    /// The 64 entries of a block, 0xFF beyond the top.
    #[must_use]
    pub fn block(&self, block: u16) -> [u8; BLOCK_LIDS] {
        let mut out = [DROP; BLOCK_LIDS];
        let from = usize::from(block) * BLOCK_LIDS;
        if let Some(part) = self.entries.get(from..) {
            let n = part.len().min(BLOCK_LIDS);
            out[..n].copy_from_slice(&part[..n]);
        }
        out
    }

    /// How many blocks cover the table.
    #[must_use]
    pub fn num_blocks(&self) -> u16 {
        u16::try_from(self.entries.len().div_ceil(BLOCK_LIDS)).unwrap_or(u16::MAX)
    }
}

impl fmt::Debug for Lft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.entries.iter().enumerate().filter(|&(_, &p)| p != DROP);
        f.debug_map().entries(used).finish()
    }
}

/// One table per switch, by [`crate::SwitchIdx`].
pub type Tables = Vec<Arc<Lft>>;

/// The blocks that must be written to turn `old` into `new`, ascending.
///
/// Without an `old` the switch's content is unknown: all blocks of `new`. Blocks beyond the end of
/// `new` in which `old` still forwards something are listed too; [`Lft::block`] gives them as all
/// 0xFF.
pub fn changed_blocks<'a>(
    old: Option<&'a Lft>,
    new: &'a Lft,
) -> impl Iterator<Item = u16> + use<'a> {
    let blocks = old.map_or(0, Lft::num_blocks).max(new.num_blocks());
    (0..blocks).filter(move |&b| old.is_none_or(|old| old.block(b) != new.block(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(entries: &[(u16, u8)], top: u16) -> Lft {
        let mut t = Lft::drop_all(Lid(top));
        for &(lid, port) in entries {
            t.set(Lid(lid), PortNum(port));
        }
        t
    }

    /// Tables that differ in LIDs 3 and 130 differ in blocks 0 and 2 and in no other.
    #[test]
    fn only_blocks_with_a_difference_are_listed() {
        let old = table(&[(3, 1), (70, 2), (130, 3)], 200);
        let new = table(&[(3, 2), (70, 2), (130, 4)], 200);
        assert_eq!(changed_blocks(Some(&old), &new).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(changed_blocks(Some(&old), &old).count(), 0);
    }

    /// Nothing is known of the old content: every block of the new table is written.
    #[test]
    fn an_unknown_old_table_means_all_blocks() {
        assert_eq!(
            changed_blocks(None, &table(&[], 128)).collect::<Vec<_>>(),
            [0, 1, 2]
        );
    }

    /// The old table forwards LID 300, the new one ends at 100: block 4 is cleared, block 3 (empty)
    /// left alone.
    #[test]
    fn leftovers_beyond_the_new_top_are_cleared() {
        let (old, new) = (table(&[(5, 1), (300, 7)], 300), table(&[(5, 1)], 100));
        assert_eq!(changed_blocks(Some(&old), &new).collect::<Vec<_>>(), [4]);
        assert_eq!(new.block(4), [0xFF; 64]);
    }

    /// A shorter table is not different merely for being shorter.
    #[test]
    fn a_table_that_grows_by_unused_entries_has_not_changed() {
        let (old, new) = (table(&[(5, 1)], 10), table(&[(5, 1)], 60));
        assert_eq!(changed_blocks(Some(&old), &new).count(), 0);
        assert_eq!(new.get(Lid(61)), PortNum::DROP);
    }
}
