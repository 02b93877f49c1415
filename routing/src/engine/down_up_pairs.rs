//! Pairs of switches of a tree whose paths go down and up again, on VLs of their own: as `valleys` finds them.

use std::sync::Arc;

use crate::lanes::{Lanes, PathSl};
use crate::notes::Note;

/// In [`DownUpPairs::vl`]: of vl 0, and not to be met by a way that went down before.
pub(super) const NO_TRANSIT: u8 = 0x80;

/// Pairs of switches with ways down and up, and the vl of each.
#[derive(Debug)]
pub(crate) struct DownUpPairs {
    pub(super) n: usize,
    /// By switch: its place from the top of the tree.
    pub(super) place: Vec<usize>,
    /// By source and destination: 0 or [`NO_TRANSIT`] for all others.
    pub(super) vl: Vec<u8>,
    pub(super) vls: u8,
    pub(super) pairs: usize,
}

impl DownUpPairs {
    /// What is said of the way from `v` by its neighbour `peer`, if it is one that goes down and up, or would meet one.
    #[inline(always)]
    pub(crate) fn is_next_hop(
        &self,
        v: usize,
        peer: usize,
        dest: usize,
        nearer: bool,
    ) -> Option<bool> {
        let own = self.vl[v * self.n + dest];
        let next = self.vl[peer * self.n + dest];
        if own & !NO_TRANSIT != 0 {
            Some(nearer && next != NO_TRANSIT && self.place[peer] > self.place[v])
        } else if next & !NO_TRANSIT != 0 {
            Some(false)
        } else {
            None
        }
    }

    /// The vls of all pairs of switches.
    pub(crate) fn vl_plan(&self) -> Lanes {
        let sl = |&vl: &u8| vl & !NO_TRANSIT;
        let rows = self.vl.chunks_exact(self.n.max(1));
        let rows = rows.map(|row| row.iter().map(sl).collect::<Arc<[u8]>>());
        Lanes::modulo(self.vls, PathSl::BySwitches(rows.collect()))
    }

    pub(crate) const fn note(&self) -> Note {
        Note::DownUpPairs {
            pairs: self.pairs,
            vls: self.vls,
        }
    }
}
