//! Pairs of switches of a tree whose paths go down and up again, on VLs of their own: as `valleys` finds them.

use std::sync::Arc;

use crate::lanes::{Lanes, PathSl};
use crate::notes::Note;

/// In [`DownUpPairs::lane`]: of lane 0, and not to be met by a way that went down before.
pub(super) const APART: u8 = 0x80;

/// Pairs of switches with ways down and up, and the lane of each.
#[derive(Debug)]
pub(crate) struct DownUpPairs {
    pub(super) n: usize,
    /// By switch: its place from the top of the tree.
    pub(super) place: Vec<usize>,
    /// By source and destination: 0 or [`APART`] for all others.
    pub(super) lane: Vec<u8>,
    pub(super) lanes: u8,
    pub(super) pairs: usize,
}

impl DownUpPairs {
    /// What is said of the way from `v` by its neighbour `peer`, if it is one that goes down and up, or would meet one.
    #[inline(always)]
    pub(crate) fn may_go(&self, v: usize, peer: usize, dest: usize, nearer: bool) -> Option<bool> {
        let own = self.lane[v * self.n + dest];
        let next = self.lane[peer * self.n + dest];
        if own & !APART != 0 {
            Some(nearer && next != APART && self.place[peer] > self.place[v])
        } else if next & !APART != 0 {
            Some(false)
        } else {
            None
        }
    }

    /// The lanes of all pairs of switches.
    pub(crate) fn lanes(&self) -> Lanes {
        let sl = |&lane: &u8| lane & !APART;
        let rows = self.lane.chunks_exact(self.n.max(1));
        let rows = rows.map(|row| row.iter().map(sl).collect::<Arc<[u8]>>());
        Lanes::modulo(self.lanes, PathSl::BySwitches(rows.collect()))
    }

    pub(crate) const fn note(&self) -> Note {
        Note::DownUpPairs {
            pairs: self.pairs,
            vls: self.lanes,
        }
    }
}
