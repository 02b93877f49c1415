//! Service levels and virtual lanes: which SL the packets of a path carry, and which VL that SL takes on each channel.
//!
//! Engines fill it in, [`crate::verify()`] reads it, the subnet manager writes it as SLtoVLMappingTables and path records
//! carry the SL. It decides nothing.
//!
//! Two facts of InfiniBand shape it. The SL of a packet never changes on its way, the VL may at every switch, by the
//! port that it came in by, the port that it leaves by, and the SL (IBA 7.6.6, 14.2.5.8). And all end ports of a switch
//! that send to one LID share the path from there on, so one value for each (switch, LID) says everything.

use std::sync::Arc;

use ferrosm_mad::ids::{Lid, PortNum};

use crate::topology::{DATA_VLS_MAX, Destination, SwitchIdx, Topology};

/// SLs that there are.
pub const SLS: usize = 16;

/// The lanes of a routing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VlPlan {
    /// Data VLs in use on channels between switches, 1 to 15: VL 0 to `vls - 1`.
    pub vls: u8,
    /// The SL of each path.
    pub path_sl: PathSl,
    /// The VL of each SL.
    pub sl2vl: SlToVl,
}

/// The SL of each path between end ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathSl {
    /// The same for all.
    Uniform(u8),
    /// By the LID that packets go to: index is the LID.
    ByLid(Arc<[u8]>),
    /// By the switch where packets enter (row) and the switch of the LID that they go to (index).
    BySwitches(Vec<Arc<[u8]>>),
    /// By the switch where packets enter (row) and the LID that they go to (index).
    BySwitchAndLid(Vec<Arc<[u8]>>),
}

impl PathSl {
    /// Whether both give the same SL wherever both say something.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        let same = |a: &[u8], b: &[u8]| a.iter().zip(b).all(|(a, b)| a == b);
        let all = |a: &[Arc<[u8]>], b: &[Arc<[u8]>]| a.iter().zip(b).all(|(a, b)| same(a, b));
        match (self, other) {
            (Self::Uniform(a), Self::Uniform(b)) => a == b,
            (Self::ByLid(a), Self::ByLid(b)) => same(a, b),
            (Self::BySwitches(a), Self::BySwitches(b))
            | (Self::BySwitchAndLid(a), Self::BySwitchAndLid(b)) => all(a, b),
            (
                Self::Uniform(_) | Self::ByLid(_) | Self::BySwitches(_) | Self::BySwitchAndLid(_),
                _,
            ) => false,
        }
    }
}

/// The VL of each SL, at each switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlToVl {
    /// VL = SL mod [`VlPlan::vls`], everywhere.
    Modulo,
    /// A table for each switch (index), for each input port (0 to the number of ports), for each output port.
    PerPorts(Vec<SlToVlMaps>),
}

/// The tables of one switch: the VLs of the 16 SLs for each pair of ports.
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

    /// The VLs of SLs 0 to 15 from one port to another; VL 15 (drop, IBA 7.6.6) where there is no such port.
    #[must_use]
    pub fn get(&self, input: PortNum, output: PortNum) -> [u8; SLS] {
        let inside = input.index() < self.ports && output.index() < self.ports;
        let at = input.index() * self.ports + output.index();
        self.maps
            .get(at)
            .copied()
            .filter(|_| inside)
            .unwrap_or([15; SLS])
    }

    /// Changes the map of one pair of ports; pairs that there are not, are ignored.
    pub fn set(&mut self, input: PortNum, output: PortNum, map: [u8; SLS]) {
        if input.index() < self.ports
            && output.index() < self.ports
            && let Some(place) = self
                .maps
                .get_mut(input.index() * self.ports + output.index())
        {
            *place = map;
        }
    }
}

impl Default for VlPlan {
    fn default() -> Self {
        Self::single()
    }
}

impl VlPlan {
    /// SL 0 for all, VL 0 for every SL.
    #[must_use]
    pub const fn single() -> Self {
        Self {
            vls: 1,
            path_sl: PathSl::Uniform(0),
            sl2vl: SlToVl::Modulo,
        }
    }

    /// SL *i* travels on VL *i*, for so many VLs.
    #[must_use]
    pub const fn modulo(vls: u8, path_sl: PathSl) -> Self {
        Self {
            vls,
            path_sl,
            sl2vl: SlToVl::Modulo,
        }
    }

    /// The SL of packets that enter the fabric at this switch (from an end port, or from its own port 0) and go to
    /// this LID. 0 where the tables are silent.
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

    /// The SL of all packets, where all have the same.
    #[must_use]
    pub const fn uniform_sl(&self) -> Option<u8> {
        match self.path_sl {
            PathSl::Uniform(sl) => Some(sl),
            PathSl::ByLid(_) | PathSl::BySwitches(_) | PathSl::BySwitchAndLid(_) => None,
        }
    }

    /// The VL that packets with this SL take on the channel that leaves a switch by `output`, having come in by `input`
    /// (0: from the switch itself).
    #[must_use]
    pub fn vl(&self, at: SwitchIdx, input: PortNum, output: PortNum, sl: u8) -> u8 {
        match &self.sl2vl {
            SlToVl::Modulo => sl % self.vls.max(1),
            SlToVl::PerPorts(switches) => switches
                .get(at.index())
                .map_or(15, |maps| maps.get(input, output)[usize::from(sl) % SLS]),
        }
    }

    /// The SLtoVLMappingTable of a switch for a pair of ports as it is to be written. Where the cable behind `output`
    /// operates fewer VLs than [`Self::vls`] (an end port's cable: engines keep to what cables between switches have),
    /// VLs wrap around.
    #[must_use]
    pub fn map(
        &self,
        topo: &Topology,
        at: SwitchIdx,
        input: PortNum,
        output: PortNum,
    ) -> [u8; SLS] {
        let have = topo.vls(at, output).max(1);
        let mut map = [0; SLS];
        for (sl, vl) in (0u8..).zip(map.iter_mut()) {
            let wanted = self.vl(at, input, output, sl);
            *vl = if wanted < have || wanted >= DATA_VLS_MAX {
                wanted
            } else {
                wanted % have
            };
        }
        map
    }

    /// The SLtoVLMappingTable of a CA or router port whose cable operates `have` VLs.
    #[must_use]
    pub fn end_port_map(&self, have: u8) -> [u8; SLS] {
        let lanes = self.vls.min(have).max(1);
        let mut map = [0; SLS];
        for (sl, vl) in (0u8..).zip(map.iter_mut()) {
            *vl = sl % lanes;
        }
        map
    }

    /// Whether every packet is on one lane.
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
    fn each_kind_of_path_sl_is_looked_up_by_its_own_index() {
        let rows = |row: &[u8]| vec![Arc::from([9u8, 9].as_slice()), Arc::from(row)];
        let sl = |path_sl| VlPlan::modulo(8, path_sl).sl(SwitchIdx(1), &to(3, 2));
        assert_eq!(sl(PathSl::Uniform(5)), 5);
        assert_eq!(sl(PathSl::ByLid(Arc::from([0u8, 0, 0, 4].as_slice()))), 4);
        assert_eq!(sl(PathSl::BySwitches(rows(&[0, 1, 6, 0]))), 6);
        assert_eq!(sl(PathSl::BySwitchAndLid(rows(&[0, 1, 2, 7]))), 7);
        assert_eq!(sl(PathSl::BySwitchAndLid(rows(&[1]))), 0, "silent");
    }

    /// An end port's cable with two VLs: what would travel on VL 5 there goes on VL 1.
    #[test]
    fn narrow_cables_to_end_ports_wrap() {
        let mut b = TopologyBuilder::new();
        let s = b.switch(4, Lid(1));
        b.vls((s, PortNum(2)), 2);
        let topo = b.build();
        let lanes = VlPlan::modulo(8, PathSl::Uniform(0));
        assert_eq!(lanes.map(&topo, s, PortNum(1), PortNum(2))[5], 1);
        assert_eq!(lanes.map(&topo, s, PortNum(1), PortNum(3))[5], 5);
        assert_eq!(lanes.end_port_map(2)[5], 1);
    }

    #[test]
    fn port_maps_know_their_ports_and_no_others() {
        let mut maps = SlToVlMaps::uniform(3, [2; SLS]);
        maps.set(PortNum(1), PortNum(3), [4; SLS]);
        maps.set(PortNum(4), PortNum(0), [5; SLS]);
        assert_eq!(maps.get(PortNum(1), PortNum(3)), [4; SLS]);
        assert_eq!(maps.get(PortNum(3), PortNum(1)), [2; SLS]);
        assert_eq!(maps.get(PortNum(0), PortNum(4)), [15; SLS]);
        assert_eq!(maps.get(PortNum(1), PortNum(0)), [2; SLS]);
    }
}
