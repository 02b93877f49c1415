//! What is walked: the fabric, its tables and lanes, and the VLs that packets can take where they enter.

use std::sync::Arc;

use ferrosm_mad::ids::PortNum;

use super::channels::Channels;
use super::inject::{self, SingleVlLid};
use crate::tables::{Lft, Tables};
use crate::topology::{DATA_VLS_MAX, Topology};
use crate::vl_plan::{SLS, SlToVl, VlPlan};

/// Stands among VLs for packets that are dropped.
pub(super) const DROPPED: u16 = 1 << 15;

/// The VLs of each SL.
pub(super) type Vls = [u16; SLS];

/// What is walked, the same for all workers.
pub(super) struct Ground<'a> {
    pub(super) topo: &'a Topology,
    pub(super) tables: &'a [Arc<Lft>],
    pub(super) lanes: &'a VlPlan,
    pub(super) channels: &'a Channels,
    /// By channel: VLs that packets can take, where some channel has fewer than the lanes say.
    pub(super) narrow: Option<Vec<u16>>,
    /// Where packets may change their VL.
    pub(super) entries: Option<Entries>,
}

impl<'a> Ground<'a> {
    pub(super) fn new(
        topo: &'a Topology,
        tables: &'a Tables,
        lanes: &'a VlPlan,
        channels: &'a Channels,
    ) -> Self {
        let across = matches!(lanes.sl2vl, SlToVl::PerPorts(_));
        let allowed = |channel| {
            let (s, p) = channels.locate(channel);
            (1 << topo.vls(s, p).min(lanes.vls).min(15)) - 1
        };
        let narrow = !across && (lanes.vls == 0 || lanes.vls > topo.common_vls());
        Self {
            topo,
            tables,
            lanes,
            channels,
            narrow: narrow.then(|| (0..channels.len()).map(allowed).collect()),
            entries: across.then(|| Entries::new(topo, lanes, channels)),
        }
    }
}

impl Ground<'_> {
    /// LIDs of end ports as LID, VL and owner, if packets to each are on one VL everywhere and each channel has it.
    pub(super) fn plain(&self) -> Option<Vec<SingleVlLid>> {
        if self.narrow.is_some() || self.entries.is_some() {
            return None;
        }
        let all = self.topo.destinations();
        let plain = inject::single_vl_lids(self.lanes, all);
        let of_end_ports = all.iter().filter(|d| d.port != PortNum::ZERO);
        (plain.len() == of_end_ports.count()).then_some(plain)
    }
}

/// What packets meet at a port by which they leave a switch that they entered the fabric at. The same for all LIDs.
pub(super) struct Entries {
    /// By channel (ports of end ports too): the VLs of each SL, over all ports by which packets enter there.
    pub(super) vls: Vec<Vls>,
    /// By channel: the first VL that packets cannot take.
    pub(super) limit: Vec<u8>,
}

impl Entries {
    fn new(topo: &Topology, lanes: &VlPlan, channels: &Channels) -> Self {
        let mut vls = vec![[0; SLS]; channels.len()];
        let mut limit = vec![0; channels.len()];
        for s in topo.switches() {
            let ends = topo.end_ports(s);
            let links = topo.links(s).iter().map(|l| l.port);
            for output in links.chain(ends.iter().map(|e| e.port)) {
                let out = channels.base[s.index()] + output.index();
                limit[out] = match topo.neighbor(s, output) {
                    Some(_) => topo.vls(s, output).min(lanes.vls),
                    // Towards an end port the subnet manager wraps what the cable does not have.
                    None => DATA_VLS_MAX,
                };
                let inputs = std::iter::once(PortNum::ZERO).chain(ends.iter().map(|e| e.port));
                for input in inputs.filter(|&input| input != output) {
                    for (sl, vls) in (0u8..).zip(&mut vls[out]) {
                        let vl = lanes.vl(s, input, output, sl);
                        *vls |= if vl < limit[out] { 1 << vl } else { DROPPED };
                    }
                }
            }
        }
        Self { vls, limit }
    }
}
