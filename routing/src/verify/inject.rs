//! With which SLs packets enter the fabric: read from the lanes of a routing, 64 LIDs at a time, as walkers need them.

use ferrosm_mad::ids::{Lid, PortNum};
use rayon::prelude::*;

use crate::tables::BLOCK_LIDS;
use crate::topology::{Destination, SwitchIdx, Topology};
use crate::vl_plan::{PathSl, SLS, SlToVl, VlPlan};

/// The SLs of packets where they enter, as bits.
pub(super) struct Injection<'a> {
    lanes: &'a VlPlan,
    switches: usize,
    /// The bit that stands for each SL: its VL's where packets keep their VL, else its own. 0 for numbers that are no SL.
    bits: [u16; 256],
    /// By switch of the LID, then switch where packets enter: bits of the SLs on the way back.
    back: Option<Vec<u16>>,
}

impl<'a> Injection<'a> {
    /// Every packet with the SL of its path.
    pub(super) fn new(topo: &Topology, lanes: &'a VlPlan) -> Self {
        let mut bits = [0; 256];
        for (sl, bit) in (0u8..).zip(bits.iter_mut().take(SLS)) {
            *bit = 1
                << match lanes.sl2vl {
                    SlToVl::Modulo => sl % lanes.vls.max(1),
                    SlToVl::PerPorts(_) => sl,
                };
        }
        Self {
            lanes,
            switches: topo.num_switches(),
            bits,
            back: None,
        }
    }

    /// Every packet with the SL of its path and with those of the way back as well; `None` if that adds nothing.
    pub(super) fn with_answers(&self, topo: &Topology) -> Option<Self> {
        let one_lane = self.lanes.vls <= 1 && self.lanes.sl2vl == SlToVl::Modulo;
        if one_lane || matches!(self.lanes.path_sl, PathSl::Uniform(_)) {
            return None;
        }
        let n = self.switches;
        let mut back = vec![0u16; n * n];
        back.par_chunks_mut(n.max(1))
            .enumerate()
            .for_each(|(to, row)| {
                let to = SwitchIdx::at(to);
                let ends = !topo.end_ports(to).is_empty();
                for (from, bits) in topo.switches().zip(row) {
                    let answered = topo
                        .destinations_on(from)
                        .iter()
                        .filter(|d| ends || d.port.raw() != 0);
                    for d in answered {
                        *bits |= self.bits[usize::from(self.lanes.sl(to, d))];
                    }
                }
            });
        let adds = topo.destinations().par_iter().any(|d| {
            let row = &back[d.switch.index() * n..][..n];
            topo.switches()
                .zip(row)
                .any(|(from, &bits)| bits & !self.bits[usize::from(self.lanes.sl(from, d))] != 0)
        });
        adds.then_some(Self {
            lanes: self.lanes,
            switches: n,
            bits: self.bits,
            back: Some(back),
        })
    }

    /// The SLs of one batch of LIDs, by LID in the batch, then switch; left alone where they do not depend on the switch.
    pub(super) fn columns(&self, lids: &[Destination], out: &mut Vec<u8>) {
        let n = self.switches;
        match &self.lanes.path_sl {
            PathSl::Uniform(_) | PathSl::ByLid(_) => {}
            PathSl::BySwitches(rows) | PathSl::BySwitchAndLid(rows) => {
                out.resize(n * BLOCK_LIDS, 0);
                let by_switch = matches!(self.lanes.path_sl, PathSl::BySwitches(_));
                for v in 0..n {
                    let row: &[u8] = rows.get(v).map_or(&[], |row| row);
                    for (i, d) in lids.iter().enumerate() {
                        let lid = usize::from(d.lid.raw());
                        let at = if by_switch { d.switch.index() } else { lid };
                        out[i * n + v] = row.get(at).copied().unwrap_or(0);
                    }
                }
            }
        }
    }

    /// The bits of packets for the `i`th LID of a batch, by the switch where they enter.
    pub(super) fn fill(&self, i: usize, dest: &Destination, columns: &[u8], out: &mut [u16]) {
        let n = self.switches;
        match &self.lanes.path_sl {
            PathSl::Uniform(_) | PathSl::ByLid(_) => {
                let sl = self.lanes.sl(dest.switch, dest);
                out.fill(self.bits[usize::from(sl)]);
            }
            PathSl::BySwitches(_) | PathSl::BySwitchAndLid(_) => {
                let column = &columns[i * n..][..n];
                for (bits, &sl) in out.iter_mut().zip(column) {
                    *bits = self.bits[usize::from(sl)];
                }
            }
        }
        if let Some(back) = &self.back {
            let row = &back[dest.switch.index() * n..][..n];
            out.iter_mut().zip(row).for_each(|(a, b)| *a |= b);
        }
    }
}

/// The VL of all packets to the LID of an end port, if the whole fabric uses a single VL for that LID.
pub(super) fn single_vl(lanes: &VlPlan, d: &Destination) -> Option<u8> {
    if d.port == PortNum::ZERO {
        return None;
    }
    if lanes.vls <= 1 {
        return Some(0);
    }
    match &lanes.path_sl {
        PathSl::Uniform(_) | PathSl::ByLid(_) => {
            let sl = lanes.sl(d.switch, d);
            (usize::from(sl) < SLS).then(|| sl % lanes.vls)
        }
        PathSl::BySwitches(_) | PathSl::BySwitchAndLid(_) => None,
    }
}

/// A LID of an end port that packets reach on a single VL. Kept small: the proof reads the list once per switch.
#[derive(Clone, Copy)]
pub(super) struct SingleVlLid {
    lid: Lid,
    vl: u8,
    owner: SwitchIdx,
}

impl SingleVlLid {
    /// LID, VL and owner, as indices.
    #[inline(always)]
    pub(super) const fn indices(self) -> (usize, usize, usize) {
        (self.lid.0 as usize, self.vl as usize, self.owner.index())
    }
}

/// Selects the LIDs that packets reach on a single VL.
pub(super) fn single_vl_lids(lanes: &VlPlan, lids: &[Destination]) -> Vec<SingleVlLid> {
    let single = lids.iter().filter_map(|d| {
        Some(SingleVlLid {
            lid: d.lid,
            vl: single_vl(lanes, d)?,
            owner: d.switch,
        })
    });
    single.collect()
}
