//! Pairs of switches of a tree that are routed down and up on VLs of their own; found by
//! `down_up_search`.

use std::sync::Arc;

use crate::messages::Diagnostic;
use crate::vl_plan::{PathSl, VlPlan};

/// In [`DownUpPairs::vl`]: the pair is routed on VL 0, and no down/up path to the destination
/// passes through the source.
pub(crate) const NO_TRANSIT: u8 = 0x80;

/// Pairs of switches that are routed down and up, and their VLs.
#[derive(Debug)]
pub(crate) struct DownUpPairs {
    pub(crate) n: usize,
    /// Position of each switch, counted from the top of the tree.
    pub(crate) position: Vec<usize>,
    /// VL by source and destination; 0 or [`NO_TRANSIT`] for pairs that are routed up and down.
    pub(crate) vl: Vec<u8>,
    pub(crate) vls: u8,
    pub(crate) pairs: usize,
}

impl DownUpPairs {
    /// Whether `peer` is a legal next hop of `v` where a down/up path is involved; `None` where the
    /// hop matrix decides.
    #[inline(always)]
    pub(crate) fn is_next_hop(
        &self,
        v: usize,
        peer: usize,
        dest: usize,
        nearer: bool,
    ) -> Option<bool> {
        let pair_vl = self.vl[v * self.n + dest];
        let next = self.vl[peer * self.n + dest];
        if pair_vl & !NO_TRANSIT != 0 {
            Some(nearer && next != NO_TRANSIT && self.position[peer] > self.position[v])
        } else if next & !NO_TRANSIT != 0 {
            Some(false)
        } else {
            None
        }
    }

    /// The SLs and VLs of all pairs of switches.
    pub(crate) fn vl_plan(&self) -> VlPlan {
        let sl = |&vl: &u8| vl & !NO_TRANSIT;
        let rows = self
            .vl
            .chunks_exact(self.n.max(1))
            .map(|row| row.iter().map(sl).collect::<Arc<[u8]>>());
        VlPlan::modulo(self.vls, PathSl::BySwitches(rows.collect()))
    }

    pub(crate) const fn diagnostic(&self) -> Diagnostic {
        Diagnostic::DownUpPairs {
            pairs: self.pairs,
            vls: self.vls,
        }
    }
}
