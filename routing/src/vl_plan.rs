//! SLs and VLs of a routing: the SL of each path, and the VL of each SL on each channel.
//!
//! Engines fill in a [`VlPlan`], [`crate::verify()`] verifies it, and the subnet manager writes it
//! as SLtoVLMappingTables. Path records carry the SL.
//!
//! The SL of a packet is constant along its path. Each switch derives the VL from the input port,
//! the output port and the SL (IBA 7.6.6, 14.2.5.8). All end ports of a switch that send to one LID
//! share the path from that switch, so one SL for each (switch, LID) suffices.

use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};
use serde::{Deserialize, Serialize};

use crate::topology::{DATA_VLS_MAX, Destination, SwitchIdx, Topology};

/// Number of SLs.
pub const SLS: usize = 16;

/// SLs and VLs of a routing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VlPlan {
    /// Data VLs in use on channels between switches, 1 to 15: VL 0 to `vls - 1`.
    pub vls: u8,
    /// The SL of each path.
    pub path_sl: PathSl,
    /// The VL of each SL.
    pub sl_to_vl: SlToVl,
}

/// SL of each path between end ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum PathSl {
    /// One SL for all paths.
    Uniform(u8),
    /// By destination LID (index).
    ByLid(Arc<[u8]>),
    /// By the source switch (row) and the switch of the destination LID (index).
    BySwitches(Vec<Arc<[u8]>>),
    /// By the source switch (row) and the destination LID (index).
    BySwitchAndLid(Vec<Arc<[u8]>>),
}

/// VL of each SL, at each switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlToVl {
    /// VL = SL mod [`VlPlan::vls`], everywhere.
    Modulo,
    /// By switch (index): a table for each pair of input port (0 to the number of ports) and output
    /// port.
    PerPorts(Vec<SlToVlMaps>),
}

/// SLtoVL tables of one switch: the VLs of the 16 SLs for each pair of ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlToVlMaps {
    ports: usize,
    maps: Vec<[u8; SLS]>,
}

impl SlToVlMaps {
    /// The same map for all pairs of ports of a switch with `num_ports` external ports.
    #[must_use]
    pub fn uniform(num_ports: u8, map: [u8; SLS]) -> Self {
        let ports = usize::from(num_ports) + 1;
        Self {
            ports,
            maps: vec![map; ports * ports],
        }
    }

    /// VLs of SLs 0 to 15 from an input port to an output port; VL 15 (drop, IBA 7.6.6) for
    /// nonexistent ports.
    #[must_use]
    pub fn get(&self, input: PortNum, output: PortNum) -> [u8; SLS] {
        let inside = input.index() < self.ports && output.index() < self.ports;
        let index = input.index() * self.ports + output.index();
        self.maps
            .get(index)
            .copied()
            .filter(|_| inside)
            .unwrap_or([15; SLS])
    }

    /// Sets the map of one pair of ports; ignores nonexistent ports.
    pub fn set(&mut self, input: PortNum, output: PortNum, map: [u8; SLS]) {
        if input.index() < self.ports
            && output.index() < self.ports
            && let Some(entry) = self
                .maps
                .get_mut(input.index() * self.ports + output.index())
        {
            *entry = map;
        }
    }
}

impl SlToVlMaps {
    /// Sets the VL of one SL for all pairs of ports.
    pub(crate) fn set_sl(&mut self, sl: u8, vl: u8) {
        let at = usize::from(sl) % SLS;
        self.maps.iter_mut().for_each(|map| map[at] = vl);
    }
}

impl PathSl {
    /// SLs that paths use, one bit each.
    #[must_use]
    pub fn used_sls(&self) -> u16 {
        let bit = |sl: &u8| 1u16 << (usize::from(*sl) % SLS);
        let sl_mask = |sls: &[u8]| sls.iter().map(bit).fold(0, |a, b| a | b);
        match self {
            Self::Uniform(sl) => bit(sl),
            // Paths without an entry use SL 0.
            Self::ByLid(sls) => 1 | sl_mask(sls),
            Self::BySwitches(rows) | Self::BySwitchAndLid(rows) => {
                rows.iter().map(|row| sl_mask(row)).fold(1, |a, b| a | b)
            }
        }
    }
}

impl Default for VlPlan {
    fn default() -> Self {
        Self::single()
    }
}

impl VlPlan {
    /// SL 0 for all paths, VL 0 for all SLs.
    #[must_use]
    pub const fn single() -> Self {
        Self {
            vls: 1,
            path_sl: PathSl::Uniform(0),
            sl_to_vl: SlToVl::Modulo,
        }
    }

    /// VL = SL mod `vls`.
    #[must_use]
    pub const fn modulo(vls: u8, path_sl: PathSl) -> Self {
        Self {
            vls,
            path_sl,
            sl_to_vl: SlToVl::Modulo,
        }
    }

    /// SL of packets that enter the fabric at switch `from` (from an end port or its port 0) for
    /// destination `to`; 0 if the plan has no entry.
    #[must_use]
    pub fn sl(&self, from: SwitchIdx, to: &Destination) -> u8 {
        let in_row = |rows: &[Arc<[u8]>], i: usize| {
            rows.get(from.index())
                .and_then(|row| row.get(i))
                .copied()
                .unwrap_or(0)
        };
        match &self.path_sl {
            PathSl::Uniform(sl) => *sl,
            PathSl::ByLid(sls) => sls.get(lid_index(to.lid)).copied().unwrap_or(0),
            PathSl::BySwitches(rows) => in_row(rows, to.switch.index()),
            PathSl::BySwitchAndLid(rows) => in_row(rows, lid_index(to.lid)),
        }
    }

    /// The SL of all paths, if all have the same.
    #[must_use]
    pub const fn uniform_sl(&self) -> Option<u8> {
        match self.path_sl {
            PathSl::Uniform(sl) => Some(sl),
            PathSl::ByLid(_) | PathSl::BySwitches(_) | PathSl::BySwitchAndLid(_) => None,
        }
    }

    /// VL of packets with this SL from port `input` (0: the switch itself) on the channel of port
    /// `output`.
    #[must_use]
    pub fn vl(&self, at: SwitchIdx, input: PortNum, output: PortNum, sl: u8) -> u8 {
        match &self.sl_to_vl {
            SlToVl::Modulo => sl % self.vls.max(1),
            SlToVl::PerPorts(switches) => switches
                .get(at.index())
                .map_or(15, |maps| maps.get(input, output)[usize::from(sl) % SLS]),
        }
    }

    /// The SLtoVLMappingTable to write for a pair of ports of a switch.
    ///
    /// If the link at `output` operates fewer VLs than [`Self::vls`], VLs are taken modulo that
    /// number. This applies to links to end ports and to narrow leaves
    /// ([`crate::table_limits::widened`]) only: engines use at most the VLs that all other links
    /// operate. VL 15, which drops packets, remains.
    #[must_use]
    pub fn map(
        &self,
        topo: &Topology,
        at: SwitchIdx,
        input: PortNum,
        output: PortNum,
    ) -> [u8; SLS] {
        let operational_vls = topo.operated_vls(at, output).max(1);
        let mut map = [0; SLS];
        for (sl, vl) in (0u8..).zip(map.iter_mut()) {
            let planned = self.vl(at, input, output, sl);
            *vl = if planned < operational_vls || planned >= DATA_VLS_MAX {
                planned
            } else {
                planned % operational_vls
            };
        }
        map
    }

    /// The SLtoVLMappingTable of a CA or router port whose link operates `operational_vls` VLs.
    #[must_use]
    pub fn end_port_map(&self, operational_vls: u8) -> [u8; SLS] {
        let vls = self.vls.min(operational_vls).max(1);
        let mut map = [0; SLS];
        for (sl, vl) in (0u8..).zip(map.iter_mut()) {
            *vl = sl % vls;
        }
        map
    }

    /// Whether all packets use one VL.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.vls <= 1
    }
}

fn lid_index(lid: Lid) -> usize {
    usize::from(lid.raw())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::TopologyBuilder;

    fn to(lid: u16, switch: u32) -> Destination {
        Destination {
            lid: Lid(lid),
            switch: SwitchIdx(switch),
            port: PortNum(1),
        }
    }

    #[test]
    fn path_sl_is_indexed_by_lid_or_switch() {
        let rows = |row: &[u8]| vec![Arc::from([9u8, 9].as_slice()), Arc::from(row)];
        let sl = |path_sl| VlPlan::modulo(8, path_sl).sl(SwitchIdx(1), &to(3, 2));
        assert_eq!(sl(PathSl::Uniform(5)), 5);
        assert_eq!(sl(PathSl::ByLid(Arc::from([0u8, 0, 0, 4].as_slice()))), 4);
        assert_eq!(sl(PathSl::BySwitches(rows(&[0, 1, 6, 0]))), 6);
        assert_eq!(sl(PathSl::BySwitchAndLid(rows(&[0, 1, 2, 7]))), 7);
        assert_eq!(sl(PathSl::BySwitchAndLid(rows(&[1]))), 0, "no entry");
    }

    /// The link to an end port operates two VLs: VL 5 becomes VL 1.
    #[test]
    fn vls_wrap_on_end_port_links_with_fewer_vls() {
        let mut b = TopologyBuilder::new();
        let s = b.switch(4, Lid(1));
        b.vls((s, PortNum(2)), 2);
        let topo = b.build();
        let plan = VlPlan::modulo(8, PathSl::Uniform(0));
        assert_eq!(plan.map(&topo, s, PortNum(1), PortNum(2))[5], 1);
        assert_eq!(plan.map(&topo, s, PortNum(1), PortNum(3))[5], 5);
        assert_eq!(plan.end_port_map(2)[5], 1);
    }

    #[test]
    fn nonexistent_ports_map_to_vl_15() {
        let mut maps = SlToVlMaps::uniform(3, [2; SLS]);
        maps.set(PortNum(1), PortNum(3), [4; SLS]);
        maps.set(PortNum(4), PortNum(0), [5; SLS]);
        assert_eq!(maps.get(PortNum(1), PortNum(3)), [4; SLS]);
        assert_eq!(maps.get(PortNum(3), PortNum(1)), [2; SLS]);
        assert_eq!(maps.get(PortNum(0), PortNum(4)), [15; SLS]);
        assert_eq!(maps.get(PortNum(1), PortNum(0)), [2; SLS]);
    }
}
