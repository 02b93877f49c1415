//! SLs that sources use for each destination LID, from the VL plan, for 64 LIDs at a time.

use ferrosm_mad::ids::{Lid, PortNum};
use rayon::prelude::*;

use crate::tables::BLOCK_LIDS;
use crate::topology::{Destination, SwitchIdx, Topology};
use crate::vl_plan::{PathSl, SLS, SlToVl, VlPlan};

/// SLs of the packets that end ports send, as bit masks by source switch and LID.
pub(super) struct SourceSls<'a> {
    vl_plan: &'a VlPlan,
    switches: usize,
    /// Mask of each SL: the bit of its VL if packets never change their VL, otherwise the bit of
    /// the SL. 0 for invalid SLs.
    bits: [u16; 256],
    /// Masks of the SLs of replies, by destination switch, then source switch. A reply uses the SL
    /// of its request.
    reply_bits: Option<Vec<u16>>,
}

impl<'a> SourceSls<'a> {
    /// Packets use only the SL of their path.
    pub(super) fn new(topo: &Topology, vl_plan: &'a VlPlan) -> Self {
        let mut bits = [0; 256];
        for (sl, bit) in (0u8..).zip(bits.iter_mut().take(SLS)) {
            *bit = 1
                << match vl_plan.sl_to_vl {
                    SlToVl::Modulo => sl % vl_plan.vls.max(1),
                    SlToVl::PerPorts(_) => sl,
                };
        }
        Self {
            vl_plan,
            switches: topo.num_switches(),
            bits,
            reply_bits: None,
        }
    }

    /// Packets use the SL of their path or, as replies, that of the reverse path; `None` if replies
    /// add no SL.
    pub(super) fn with_replies(&self, topo: &Topology) -> Option<Self> {
        let is_single_vl = self.vl_plan.vls <= 1 && self.vl_plan.sl_to_vl == SlToVl::Modulo;
        if is_single_vl || matches!(self.vl_plan.path_sl, PathSl::Uniform(_)) {
            return None;
        }
        let n = self.switches;
        let mut reply_bits = vec![0u16; n * n];
        reply_bits
            .par_chunks_mut(n.max(1))
            .enumerate()
            .for_each(|(to, row)| {
                let to = SwitchIdx::from_index(to);
                let has_end_ports = !topo.end_ports(to).is_empty();
                for (from, bits) in topo.switches().zip(row) {
                    let requests = topo
                        .destinations_on(from)
                        .iter()
                        .filter(|d| has_end_ports || d.port.raw() != 0);
                    for d in requests {
                        *bits |= self.bits[usize::from(self.vl_plan.sl(to, d))];
                    }
                }
            });
        let adds_sl = topo.destinations().par_iter().any(|d| {
            let row = &reply_bits[d.switch.index() * n..][..n];
            topo.switches()
                .zip(row)
                .any(|(from, &bits)| bits & !self.bits[usize::from(self.vl_plan.sl(from, d))] != 0)
        });
        adds_sl.then_some(Self {
            vl_plan: self.vl_plan,
            switches: n,
            bits: self.bits,
            reply_bits: Some(reply_bits),
        })
    }

    /// Fills `out` with the SLs of a batch of LIDs, by LID in the batch, then source switch. Leaves
    /// it unchanged if SLs do not depend on the source switch.
    pub(super) fn fill_sls(&self, lids: &[Destination], out: &mut Vec<u8>) {
        let n = self.switches;
        match &self.vl_plan.path_sl {
            PathSl::Uniform(_) | PathSl::ByLid(_) => {}
            PathSl::BySwitches(rows) | PathSl::BySwitchAndLid(rows) => {
                out.resize(n * BLOCK_LIDS, 0);
                let by_switch = matches!(self.vl_plan.path_sl, PathSl::BySwitches(_));
                for v in 0..n {
                    let row: &[u8] = rows.get(v).map_or(&[], |row| row);
                    for (i, d) in lids.iter().enumerate() {
                        let lid = usize::from(d.lid.raw());
                        let column = if by_switch { d.switch.index() } else { lid };
                        out[i * n + v] = row.get(column).copied().unwrap_or(0);
                    }
                }
            }
        }
    }

    /// Fills `out` with the masks of packets for the `i`th LID of a batch, by source switch. `sls`
    /// is from [`Self::fill_sls`].
    pub(super) fn fill_masks(&self, i: usize, dest: &Destination, sls: &[u8], out: &mut [u16]) {
        let n = self.switches;
        match &self.vl_plan.path_sl {
            PathSl::Uniform(_) | PathSl::ByLid(_) => {
                let sl = self.vl_plan.sl(dest.switch, dest);
                out.fill(self.bits[usize::from(sl)]);
            }
            PathSl::BySwitches(_) | PathSl::BySwitchAndLid(_) => {
                let of_lid = &sls[i * n..][..n];
                for (bits, &sl) in out.iter_mut().zip(of_lid) {
                    *bits = self.bits[usize::from(sl)];
                }
            }
        }
        if let Some(reply_bits) = &self.reply_bits {
            let row = &reply_bits[dest.switch.index() * n..][..n];
            out.iter_mut().zip(row).for_each(|(a, b)| *a |= b);
        }
    }
}

/// The VL of all packets to the LID of a CA or router port, if it is the same for all sources;
/// `None` for a switch's LID.
pub(super) fn single_vl(vl_plan: &VlPlan, d: &Destination) -> Option<u8> {
    if d.port == PortNum::ZERO {
        return None;
    }
    if vl_plan.vls <= 1 {
        return Some(0);
    }
    match &vl_plan.path_sl {
        PathSl::Uniform(_) | PathSl::ByLid(_) => {
            let sl = vl_plan.sl(d.switch, d);
            (usize::from(sl) < SLS).then(|| sl % vl_plan.vls)
        }
        PathSl::BySwitches(_) | PathSl::BySwitchAndLid(_) => None,
    }
}

/// A LID of a CA or router port that packets reach on one VL. Small, because the verification reads
/// the list once per switch.
#[derive(Clone, Copy)]
pub(super) struct SingleVlLid {
    lid: Lid,
    vl: u8,
    switch: SwitchIdx,
}

impl SingleVlLid {
    /// LID, VL and destination switch, as indices.
    #[inline(always)]
    pub(super) const fn indices(self) -> (usize, usize, usize) {
        (self.lid.0 as usize, self.vl as usize, self.switch.index())
    }
}

/// The LIDs that packets reach on one VL.
pub(super) fn single_vl_lids(vl_plan: &VlPlan, lids: &[Destination]) -> Vec<SingleVlLid> {
    let single = lids.iter().filter_map(|d| {
        Some(SingleVlLid {
            lid: d.lid,
            vl: single_vl(vl_plan, d)?,
            switch: d.switch,
        })
    });
    single.collect()
}
