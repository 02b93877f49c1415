//! SLs and VLs.
//!
//! First come the SLs for the combinations of datelines that a path crosses. Without datelines this
//! is SL 0. Their packets use VL 0, or VL 1 along a ring whose dateline they cross. On an
//! incomplete grid, the next VL is for the hop after a turn against dimension order, on all of
//! these SLs. Then follow one SL and one VL for each additional layer.

use ferrosm_mad::ids::PortNum;
use rayon::prelude::*;

use crate::paths::grid::coordinates::GridCoordinates;
use crate::paths::grid::credit_loops::VlRule;
use crate::paths::grid::lines::{Rings, crosses_dateline};
use crate::structure::grid::DimKind;
use crate::topology::graph::Graph;
use crate::topology::{SwitchIdx, Topology, index_to_u8};
use crate::vl_plan::{PathSl, SLS, SlToVl, SlToVlMaps, VlPlan};

/// A pair of switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SwitchPair {
    pub(super) low: usize,
    pub(super) high: usize,
}

/// The SL of the paths between two switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PairSl {
    pub(super) pair: SwitchPair,
    pub(super) sl: u8,
}

/// SLs and VLs of the routing.
pub(super) struct GridVls {
    kinds: Vec<DimKind>,
    /// SL bit of each axis with a dateline.
    bits: Vec<Option<u32>>,
    /// Number of SLs for combinations of datelines.
    pub(super) combinations: usize,
    /// Number of VLs for packets in dimension order.
    pub(super) ordered: usize,
    /// VL after a turn against dimension order, if it differs from those of other packets.
    pub(super) turn_vl: Option<usize>,
    /// Total numbers of SLs and VLs.
    pub(super) sls: usize,
    pub(super) vls: usize,
    /// SL by source and destination switch; empty if all paths use SL 0.
    rows: Vec<Vec<u8>>,
}

impl GridVls {
    pub(super) fn new(coordinates: &GridCoordinates, rings: Rings, usable: usize) -> Self {
        let mut next = 0;
        let bits: Vec<Option<u32>> = coordinates
            .axes
            .iter()
            .map(|axis| {
                let has_dateline = axis.kind == DimKind::Ring && rings == Rings::Datelines;
                next += u32::from(has_dateline);
                has_dateline.then(|| next - 1)
            })
            .collect();
        let ordered = if next > 0 { 2 } else { 1 };
        let turn_vl = (!coordinates.is_complete && usable > ordered).then_some(ordered);
        let mut vls = Self {
            kinds: coordinates.axes.iter().map(|axis| axis.kind).collect(),
            bits,
            combinations: 1 << next,
            ordered,
            turn_vl,
            sls: 1 << next,
            vls: ordered + usize::from(turn_vl.is_some()),
            rows: Vec::new(),
        };
        if next > 0 {
            vls.rows = vls.dateline_rows(coordinates);
        }
        vls
    }

    /// The SL of each pair of switches by the datelines between them, one bit each.
    fn dateline_rows(&self, coordinates: &GridCoordinates) -> Vec<Vec<u8>> {
        let switches = 0..coordinates.switches();
        let axes: Vec<(usize, u32)> = self
            .bits
            .iter()
            .enumerate()
            .filter_map(|(axis, bit)| Some((axis, (*bit)?)))
            .collect();
        let positions: Vec<Vec<usize>> = axes
            .iter()
            .map(|&(axis, _)| {
                switches
                    .clone()
                    .map(|s| coordinates.along(s, axis))
                    .collect()
            })
            .collect();
        let row = |s: usize| {
            let mut row = vec![0; switches.len()];
            for (&(axis, bit), along) in axes.iter().zip(&positions) {
                let size = coordinates.axes[axis].size;
                let crossed: Vec<u8> = (0..size)
                    .map(|x| u8::from(crosses_dateline(size, along[s], x)) << bit)
                    .collect();
                row.iter_mut()
                    .zip(along)
                    .for_each(|(sl, &x)| *sl |= crossed[x]);
            }
            row
        };
        switches.clone().into_par_iter().map(row).collect()
    }

    /// Number of VLs without additional layers.
    pub(super) fn base(&self) -> usize {
        self.ordered + usize::from(self.turn_vl.is_some())
    }

    /// Adds layers with one SL and one VL each; returns the SL of the first.
    pub(super) fn add_layers(&mut self, layers: usize) -> u8 {
        let sl = index_to_u8(self.sls);
        self.sls += layers;
        self.vls += layers;
        sl
    }

    /// SLs, one bit each, of packets in dimension order that use a VL along an axis.
    pub(super) fn sls_on(&self, axis: usize, vl: usize) -> u16 {
        /// Numbers from 0 to 15 in which each bit is set.
        const WITH_BIT: [u16; 4] = [0xaaaa, 0xcccc, 0xf0f0, 0xff00];
        match (self.bits[axis], vl) {
            (Some(bit), 0) => !WITH_BIT[bit as usize],
            (Some(bit), 1) => WITH_BIT[bit as usize],
            (None, 0) => u16::MAX,
            (Some(_) | None, _) => 0,
        }
    }

    pub(super) fn has_dateline(&self, axis: usize) -> bool {
        self.bits[axis].is_some()
    }

    /// Whether a turn is against dimension order: to an earlier axis, or within a full mesh.
    pub(super) fn is_against_order(&self, in_axis: usize, out_axis: usize) -> bool {
        in_axis > out_axis || (in_axis == out_axis && self.kinds[in_axis] == DimKind::Full)
    }

    /// Whether packets that go straight on along an axis follow dimension order. Without datelines,
    /// they can close a cycle in a ring.
    pub(super) fn has_order_along(&self, axis: usize) -> bool {
        self.kinds[axis] != DimKind::Ring || self.bits[axis].is_some()
    }

    /// Changes the SLs of these pairs.
    pub(super) fn set_sls(&mut self, switches: usize, pairs: &[PairSl]) {
        if self.rows.is_empty() && !pairs.is_empty() {
            self.rows = vec![vec![0; switches]; switches];
        }
        for &PairSl { pair, sl } in pairs {
            self.rows[pair.low][pair.high] = sl;
            self.rows[pair.high][pair.low] = sl;
        }
    }

    pub(super) fn vl_plan(
        &self,
        topo: &Topology,
        graph: &Graph,
        coordinates: &GridCoordinates,
    ) -> VlPlan {
        let vls = index_to_u8(self.vls);
        let path_sl = if self.rows.is_empty() {
            PathSl::Uniform(0)
        } else {
            PathSl::BySwitches(self.rows.iter().map(|row| row.as_slice().into()).collect())
        };
        if self.base() == 1 {
            return VlPlan::modulo(vls, path_sl);
        }
        let axis_of = coordinates.axis_of_slots(graph);
        let map = |input: Option<usize>, output: usize| {
            let mut map = [0; SLS];
            for (sl, vl) in (0u8..).zip(map.iter_mut()) {
                *vl = index_to_u8(self.vl(input, output, sl));
            }
            map
        };
        let switches = (0..graph.len()).map(|v| {
            let ports = topo.num_ports(SwitchIdx::from_index(v));
            let mut axis_of_port: Vec<Option<usize>> = vec![None; usize::from(ports) + 1];
            for (k, slot) in graph.slots(v).iter().enumerate() {
                for &port in graph.ports(*slot) {
                    axis_of_port[usize::from(port)] = Some(axis_of[graph.first_slot(v) + k]);
                }
            }
            let mut maps = SlToVlMaps::uniform(ports, [0; SLS]);
            for output in 0..=ports {
                let Some(out_axis) = axis_of_port[usize::from(output)] else {
                    continue;
                };
                for input in 0..=ports {
                    let map = map(axis_of_port[usize::from(input)], out_axis);
                    maps.set(PortNum(input), PortNum(output), map);
                }
            }
            maps
        });
        VlPlan {
            vls,
            path_sl,
            sl_to_vl: SlToVl::PerPorts(switches.collect()),
        }
    }
}

impl VlRule for GridVls {
    fn vls(&self) -> usize {
        self.vls
    }

    fn sl(&self, from: usize, dest: usize) -> u8 {
        self.rows.get(from).map_or(0, |row| row[dest])
    }

    fn vl(&self, in_axis: Option<usize>, out_axis: usize, sl: u8) -> usize {
        let sl = usize::from(sl) % self.sls;
        if sl >= self.combinations {
            return self.base() + sl - self.combinations;
        }
        let is_against_order = in_axis.is_some_and(|axis| self.is_against_order(axis, out_axis));
        match (self.turn_vl, self.bits[out_axis]) {
            (Some(vl), _) if is_against_order => vl,
            (_, Some(bit)) => sl >> bit & 1,
            (_, None) => 0,
        }
    }
}
