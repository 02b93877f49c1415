//! Linear forwarding tables (LFTs), and the blocks in which two of them differ.
//!
//! A table has one byte per LID from 0 to the highest LID in use; 0xFF drops packets. Runs share
//! unchanged tables (`Arc`).

use std::fmt;
use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};
use serde::{Deserialize, Serialize};

use crate::topology::index_to_u16;

/// Entries in one LFT block (IBA 14.2.5.10).
pub const BLOCK_LIDS: usize = 64;

const DROP: u8 = PortNum::DROP.raw();

/// The linear forwarding table of one switch.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lft {
    #[serde(with = "ferrosm_mad::octets")]
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

    /// A table from raw entries, LID 0 first.
    #[must_use]
    pub fn from_entries(entries: impl Into<Box<[u8]>>) -> Self {
        Self {
            entries: entries.into(),
        }
    }

    /// Whether any LID has a route.
    #[must_use]
    pub fn has_routes(&self) -> bool {
        self.entries.iter().any(|port| *port != DROP)
    }

    /// Output port for a LID; 0: the switch itself; [`PortNum::DROP`] for unknown LIDs.
    #[inline]
    #[must_use]
    pub fn get(&self, lid: Lid) -> PortNum {
        PortNum(
            self.entries
                .get(usize::from(lid.raw()))
                .copied()
                .unwrap_or(DROP),
        )
    }

    /// Sets one entry; ignores LIDs above the top.
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

    /// Converts into the raw entries.
    pub(crate) fn into_entries(self) -> Box<[u8]> {
        self.entries
    }

    /// The 64 entries of a block; 0xFF above the top.
    #[must_use]
    pub fn block(&self, block: u16) -> [u8; BLOCK_LIDS] {
        let mut out = [DROP; BLOCK_LIDS];
        let from = usize::from(block) * BLOCK_LIDS;
        if let Some(entries) = self.entries.get(from..) {
            let n = entries.len().min(BLOCK_LIDS);
            out[..n].copy_from_slice(&entries[..n]);
        }
        out
    }

    /// The table without the entries from LID `entries` on.
    #[must_use]
    pub fn truncated(&self, entries: u16) -> Self {
        let len = self.entries.len().min(usize::from(entries));
        Self::from_entries(&self.entries[..len])
    }

    /// Number of blocks.
    #[must_use]
    pub fn num_blocks(&self) -> u16 {
        index_to_u16(self.entries.len().div_ceil(BLOCK_LIDS))
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

/// Blocks to write to change `old` into `new`, ascending.
///
/// If `old` is `None`, the installed table is unknown: all blocks of `new`. Blocks above the end of
/// `new` are included if `old` has entries in them; [`Lft::block`] returns them as all 0xFF.
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

    /// Tables that differ in LIDs 3 and 130 differ in blocks 0 and 2.
    #[test]
    fn only_blocks_with_a_difference_are_listed() {
        let old = table(&[(3, 1), (70, 2), (130, 3)], 200);
        let new = table(&[(3, 2), (70, 2), (130, 4)], 200);
        assert_eq!(changed_blocks(Some(&old), &new).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(changed_blocks(Some(&old), &old).count(), 0);
    }

    #[test]
    fn all_blocks_are_written_to_unknown_tables() {
        assert_eq!(
            changed_blocks(None, &table(&[], 128)).collect::<Vec<_>>(),
            [0, 1, 2]
        );
    }

    /// The old table forwards LID 300, the new one ends at 100: block 4 is cleared, the empty block
    /// 3 is not written.
    #[test]
    fn blocks_above_the_new_top_are_cleared() {
        let old = table(&[(5, 1), (300, 7)], 300);
        let new = table(&[(5, 1)], 100);
        assert_eq!(changed_blocks(Some(&old), &new).collect::<Vec<_>>(), [4]);
        assert_eq!(new.block(4), [0xFF; 64]);
    }

    #[test]
    fn unused_entries_at_the_end_are_not_a_difference() {
        let old = table(&[(5, 1)], 10);
        let new = table(&[(5, 1)], 60);
        assert_eq!(changed_blocks(Some(&old), &new).count(), 0);
        assert_eq!(new.get(Lid(61)), PortNum::DROP);
    }
}
