//! Input of the walk: topology, tables, VL plan, and the VLs of packets where they enter the
//! fabric.

use std::sync::Arc;

use ferrosm_mad::ids::PortNum;

use super::channels::Channels;
use super::inject;
use super::inject::SingleVlLid;
use crate::kept::KeptTables;
use crate::tables::{Lft, Tables};
use crate::topology::{DATA_VLS_MAX, Topology};
use crate::vl_plan::{SLS, SlToVl, VlPlan};

/// Bit of dropped packets in a mask of VLs.
pub(super) const DROPPED: u16 = 1 << 15;

/// Mask of VLs, by SL.
pub(super) type Vls = [u16; SLS];

/// Input of the walk, shared by all workers.
pub(super) struct WalkContext<'a> {
    pub(super) topo: &'a Topology,
    pub(super) tables: &'a [Arc<Lft>],
    pub(super) vl_plan: &'a VlPlan,
    pub(super) channels: &'a Channels,
    /// By channel: mask of operated VLs; `None` if all channels operate the VLs of the plan.
    pub(super) narrow_masks: Option<Vec<u16>>,
    /// `None` if packets never change their VL.
    pub(super) entries: Option<Entries>,
    /// Tables that switches keep: losses due to them are permitted.
    pub(super) kept: Option<&'a KeptTables>,
}

impl<'a> WalkContext<'a> {
    pub(super) fn new(
        topo: &'a Topology,
        tables: &'a Tables,
        vl_plan: &'a VlPlan,
        channels: &'a Channels,
    ) -> Self {
        let changes_vl = matches!(vl_plan.sl_to_vl, SlToVl::PerPorts(_));
        let allowed = |channel| {
            let (s, p) = channels.locate(channel);
            (1 << topo.vls(s, p).min(vl_plan.vls).min(15)) - 1
        };
        let has_narrow_links = !changes_vl && (vl_plan.vls == 0 || vl_plan.vls > topo.common_vls());
        Self {
            topo,
            tables,
            vl_plan,
            channels,
            narrow_masks: has_narrow_links.then(|| (0..channels.len()).map(allowed).collect()),
            entries: changes_vl.then(|| Entries::new(topo, vl_plan, channels)),
            kept: None,
        }
    }
}

impl WalkContext<'_> {
    /// The LIDs of all end ports, if packets to each use one VL in the whole fabric and all
    /// channels operate the VLs of the plan.
    pub(super) fn single_vl_lids(&self) -> Option<Vec<SingleVlLid>> {
        if self.narrow_masks.is_some() || self.entries.is_some() {
            return None;
        }
        let destinations = self.topo.destinations();
        let lids = inject::single_vl_lids(self.vl_plan, destinations);
        let of_end_ports = destinations.iter().filter(|d| d.port != PortNum::ZERO);
        (lids.len() == of_end_ports.count()).then_some(lids)
    }
}

/// VLs of packets at the output ports of the switch where they enter the fabric. The same for all
/// LIDs.
pub(super) struct Entries {
    /// By channel (including ports to end ports): mask of VLs of each SL, over all input ports
    /// where packets enter.
    pub(super) vls: Vec<Vls>,
    /// By channel: number of operated VLs.
    pub(super) limit: Vec<u8>,
}

impl Entries {
    fn new(topo: &Topology, vl_plan: &VlPlan, channels: &Channels) -> Self {
        let mut vls = vec![[0; SLS]; channels.len()];
        let mut limit = vec![0; channels.len()];
        for s in topo.switches() {
            let end_ports = topo.end_ports(s);
            let links = topo.links(s).iter().map(|l| l.port);
            for output in links.chain(end_ports.iter().map(|e| e.port)) {
                let out = channels.base[s.index()] + output.index();
                limit[out] = match topo.neighbor(s, output) {
                    Some(_) => topo.vls(s, output).min(vl_plan.vls),
                    // Towards an end port, `VlPlan::map` maps VLs that the link does not operate to
                    // lower ones.
                    None => DATA_VLS_MAX,
                };
                let inputs = std::iter::once(PortNum::ZERO).chain(end_ports.iter().map(|e| e.port));
                for input in inputs.filter(|&input| input != output) {
                    for (sl, vls) in (0u8..).zip(&mut vls[out]) {
                        let vl = vl_plan.vl(s, input, output, sl);
                        *vls |= if vl < limit[out] { 1 << vl } else { DROPPED };
                    }
                }
            }
        }
        Self { vls, limit }
    }
}
