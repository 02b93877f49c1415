//! Channels on VLs, and the VLs of packets.

use ferrosm_mad::ids::PortNum;

use crate::topology::PortChannels;
use crate::topology::{ChannelIndex, ChannelNumbering, NONE, index_to_u8, index_to_u32};
use crate::topology::{Destination, SwitchIdx};
use crate::vl_plan::{PathSl, SlToVl, VlPlan};

/// Numbering of virtual channels, a channel on one VL each: `channel * vls + vl`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VlChannels<'a> {
    pub(crate) index: &'a ChannelIndex,
    vls: u32,
}

impl<'a> VlChannels<'a> {
    pub(crate) fn new(index: &'a ChannelIndex, vls: usize) -> Self {
        let vls = index_to_u32(vls);
        Self { index, vls }
    }

    /// The virtual channel of a channel and a VL.
    #[inline(always)]
    pub(crate) const fn on_vl(&self, channel: u32, vl: u32) -> u32 {
        channel * self.vls + vl
    }
}

impl ChannelNumbering for VlChannels<'_> {
    fn len(&self) -> usize {
        self.index.len() * self.vls as usize
    }

    fn max_degree(&self) -> usize {
        self.index.max_degree() * self.vls as usize
    }

    #[inline(always)]
    fn first_after(&self, channel: u32) -> u32 {
        match self.index.head[(channel / self.vls) as usize] {
            NONE => 0,
            head => self.index.first[head as usize] * self.vls,
        }
    }

    #[inline(always)]
    fn reverse(&self, channel: u32) -> u32 {
        self.on_vl(
            self.index.reverse[(channel / self.vls) as usize],
            channel % self.vls,
        )
    }
}

/// The virtual channels of all switch ports, with the SLs and VLs of packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VlChannelNumbers<'a> {
    pub(crate) ports: &'a PortChannels,
    pub(crate) packets: PlannedVls<'a>,
    channels: VlChannels<'a>,
}

impl<'a> VlChannelNumbers<'a> {
    pub(crate) fn new(ports: &'a PortChannels, vl_plan: &'a VlPlan) -> Self {
        let packets = PlannedVls { vl_plan };
        Self {
            ports,
            packets,
            channels: VlChannels::new(&ports.index, packets.num_vls()),
        }
    }

    /// The virtual channel of a channel and a VL.
    pub(crate) fn on_vl(&self, channel: usize, vl: u8) -> u32 {
        self.channels.on_vl(index_to_u32(channel), u32::from(vl))
    }

    /// The channel of a virtual channel.
    pub(crate) const fn channel(&self, channel: u32) -> usize {
        (channel / self.channels.vls) as usize
    }

    /// The VL of a virtual channel.
    pub(crate) fn vl(&self, channel: u32) -> u8 {
        index_to_u8((channel % self.channels.vls) as usize)
    }
}

impl ChannelNumbering for VlChannelNumbers<'_> {
    fn len(&self) -> usize {
        self.channels.len()
    }

    fn max_degree(&self) -> usize {
        self.channels.max_degree()
    }

    #[inline(always)]
    fn first_after(&self, channel: u32) -> u32 {
        self.channels.first_after(channel)
    }

    #[inline(always)]
    fn reverse(&self, channel: u32) -> u32 {
        self.channels.reverse(channel)
    }
}

/// SLs and VLs of packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlannedVls<'a> {
    vl_plan: &'a VlPlan,
}

impl PlannedVls<'_> {
    /// Number of VLs in use, at least 1.
    pub(crate) fn num_vls(&self) -> usize {
        usize::from(self.vl_plan.vls.max(1))
    }

    /// Whether the VL of a packet depends on its input and output port.
    pub(crate) fn depend_on_ports(&self) -> bool {
        matches!(self.vl_plan.sl_to_vl, SlToVl::PerPorts(_)) && !self.vl_plan.is_single()
    }

    /// The SL of packets from a switch or its end ports to a LID.
    pub(crate) fn sl(&self, from: usize, to: &Destination) -> u8 {
        self.vl_plan.sl(SwitchIdx::from_index(from), to)
    }

    /// The VL of a packet from port `input` to port `output` of switch `at`; `None` if the packet
    /// is dropped because the SL has no VL in use.
    #[inline]
    pub(crate) fn vl(&self, at: usize, input: u8, output: u8, sl: u8) -> Option<u8> {
        if self.vl_plan.is_single() {
            return Some(0);
        }
        let vl = self.vl_plan.vl(
            SwitchIdx::from_index(at),
            PortNum(input),
            PortNum(output),
            sl,
        );
        (usize::from(vl) < self.num_vls()).then_some(vl)
    }

    /// The VL of all packets to a LID, if it depends on the LID alone.
    pub(crate) fn vl_of_lid(&self, to: &Destination) -> Option<u8> {
        if self.vl_plan.is_single() {
            return Some(0);
        }
        match (&self.vl_plan.sl_to_vl, &self.vl_plan.path_sl) {
            (SlToVl::Modulo, PathSl::Uniform(_) | PathSl::ByLid(_)) => {
                Some(self.sl(0, to) % self.vl_plan.vls.max(1))
            }
            (SlToVl::Modulo, PathSl::BySwitches(_) | PathSl::BySwitchAndLid(_))
            | (SlToVl::PerPorts(_), _) => None,
        }
    }
}
