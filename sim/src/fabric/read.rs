//! Reading the devices as they are, for oracles and tests. No MAD is involved and nothing changes.

use ferrosm_mad::attr::{
    LFT_BLOCK_LEN, NodeDescription, NodeType, PKEY_BLOCK_LEN, PortInfo, SlToVl, SwitchInfo, VlArb,
};
use ferrosm_mad::ids::{Lid, NodeGuid, PKey, PortGuid, PortNum, SystemImageGuid};

use super::{Fabric, NodeCounters, Totals};
use crate::spec::{NodeIdx, PortAt};

impl Fabric {
    /// Number of nodes, powered or not.
    #[must_use]
    pub const fn num_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// CA, switch or router.
    #[must_use]
    pub fn kind(&self, node: NodeIdx) -> NodeType {
        self.nodes[node].kind
    }

    /// Whether it is a switch.
    #[must_use]
    pub fn is_switch(&self, node: NodeIdx) -> bool {
        self.nodes[node].is_switch()
    }

    /// Physical ports of a node.
    #[must_use]
    pub fn num_ports(&self, node: NodeIdx) -> u8 {
        self.nodes[node].num_ports
    }

    /// NodeDescription.
    #[must_use]
    pub fn description(&self, node: NodeIdx) -> NodeDescription {
        NodeDescription {
            bytes: self.nodes[node].description,
        }
    }

    /// Node GUID.
    #[must_use]
    pub fn node_guid(&self, node: NodeIdx) -> NodeGuid {
        self.nodes[node].guid
    }

    /// System image GUID.
    #[must_use]
    pub fn system_image_guid(&self, node: NodeIdx) -> SystemImageGuid {
        self.nodes[node].system_image_guid
    }

    /// GUID of the end port that a port belongs to (any port of a switch: port 0's).
    #[must_use]
    pub fn port_guid(&self, at: PortAt) -> PortGuid {
        self.ports[self.end_slot(at)].guid
    }

    /// An entry of GUIDInfo of the end port that a port belongs to; the first is its own GUID, empty ones are 0.
    #[must_use]
    pub fn guid_entry(&self, at: PortAt, index: usize) -> PortGuid {
        PortGuid(self.ports[self.end_slot(at)].guid_at(index))
    }

    /// The end ports: port 0 of switches, ports 1 and up of other nodes.
    pub fn end_ports(&self) -> impl Iterator<Item = PortAt> + '_ {
        self.nodes.iter().enumerate().flat_map(|(node, n)| {
            let ports = if n.is_switch() {
                0..=0
            } else {
                1..=n.num_ports
            };
            ports.map(move |port| PortAt { node, port })
        })
    }

    /// The external ports of a node: 1 and up.
    pub fn external_ports(&self, node: NodeIdx) -> impl Iterator<Item = PortAt> + use<> {
        (1..=self.nodes[node].num_ports).map(move |port| PortAt { node, port })
    }

    /// PortInfo of a port; `None` if it does not exist.
    #[must_use]
    pub fn port_info(&self, at: PortAt) -> Option<PortInfo> {
        Some(PortInfo::decode(&self.ports[self.slot(at)?].info))
    }

    /// LID and LMC of the end port that a port belongs to.
    #[must_use]
    pub fn lid(&self, at: PortAt) -> (Lid, u8) {
        let port = &self.ports[self.end_slot(at)];
        (port.lid(), port.lmc())
    }

    /// The port at the other end of a trained link.
    #[must_use]
    pub fn peer(&self, at: PortAt) -> Option<PortAt> {
        let wire = self.wires[self.slot(at)?];
        wire.up.then_some(PortAt {
            node: wire.node as usize,
            port: wire.port,
        })
    }

    /// Whether the port has a trained link.
    #[must_use]
    pub fn link_up(&self, at: PortAt) -> bool {
        self.peer(at).is_some()
    }

    /// Whether FDR10 is in use.
    #[must_use]
    pub fn is_fdr10(&self, at: PortAt) -> bool {
        self.slot(at)
            .is_some_and(|slot| self.wires[slot].up && self.ports[slot].fdr10)
    }

    /// Whether the beacon is on.
    #[must_use]
    pub fn led(&self, at: PortAt) -> bool {
        self.slot(at).is_some_and(|slot| self.ports[slot].led)
    }

    /// SwitchInfo; `None` if the node is no switch.
    #[must_use]
    pub fn switch_info(&self, node: NodeIdx) -> Option<SwitchInfo> {
        self.nodes[node].switch.as_ref().map(|s| s.info)
    }

    /// Where a switch sends a LID: LinearFDBTop is applied, 0xFF drops; also if the node is no
    /// switch.
    #[must_use]
    pub fn lft_entry(&self, node: NodeIdx, lid: Lid) -> PortNum {
        PortNum(
            self.nodes[node]
                .switch
                .as_ref()
                .map_or(0xFF, |s| s.egress(lid)),
        )
    }

    /// The linear forwarding table as far as it was written; LinearFDBTop is not applied.
    #[must_use]
    pub fn lft(&self, node: NodeIdx) -> &[u8] {
        self.nodes[node].switch.as_ref().map_or(&[], |s| &s.lft)
    }

    /// A block of the linear forwarding table as a Get would read it.
    #[must_use]
    pub fn lft_block(&self, node: NodeIdx, block: usize) -> [u8; LFT_BLOCK_LEN] {
        let start = block * LFT_BLOCK_LEN;
        let mut data = [0xFF; LFT_BLOCK_LEN];
        if let Some(written) = self.lft(node).get(start..start + LFT_BLOCK_LEN) {
            data.copy_from_slice(written);
        }
        data
    }

    /// The ports to which a switch sends a multicast LID, ascending; port 0 is the switch itself.
    #[must_use]
    pub fn mft_ports(&self, node: NodeIdx, mlid: Lid) -> Vec<PortNum> {
        let Some(switch) = &self.nodes[node].switch else {
            return Vec::new();
        };
        let Some(index) = mlid.0.checked_sub(0xC000).map(usize::from) else {
            return Vec::new();
        };
        (0..=self.nodes[node].num_ports)
            .filter(|p| {
                let (position, bit) = (usize::from(*p) / 16, *p % 16);
                let mask = switch.mft.get(index * switch.positions + position);
                mask.is_some_and(|m| m >> bit & 1 != 0)
            })
            .map(PortNum)
            .collect()
    }

    /// P_Keys that a port can hold.
    #[must_use]
    pub fn pkey_cap(&self, at: PortAt) -> u16 {
        self.nodes[at.node].pkey_cap(at.port)
    }

    /// All P_Keys of a port, empty entries included.
    #[must_use]
    pub fn pkeys(&self, at: PortAt) -> Vec<PKey> {
        let Some(slot) = self.slot(at) else {
            return Vec::new();
        };
        let cap = usize::from(self.pkey_cap(at));
        (0..cap.div_ceil(PKEY_BLOCK_LEN))
            .flat_map(|block| {
                ferrosm_mad::attr::PKeyBlock::decode(&self.ports[slot].pkey_block(block)).keys
            })
            .take(cap)
            .collect()
    }

    /// SL to VL mapping between an input and an output port (a CA's has input 0).
    #[must_use]
    pub fn sl_to_vl(&self, output: PortAt, input: u8) -> Option<SlToVl> {
        let table = self.ports[self.slot(output)?].sl_to_vl(input);
        let mut data = [0; 64];
        data[..8].copy_from_slice(table);
        Some(SlToVl::decode(&data))
    }

    /// VL arbitration table of a port: the high-priority entries or the low-priority ones.
    #[must_use]
    pub fn vl_arb(&self, at: PortAt, high: bool) -> Option<VlArb> {
        let port = &self.ports[self.slot(at)?];
        Some(VlArb::decode(&port.vl_arb_block(if high { 2 } else { 0 })))
    }

    /// An entry of an end port's GUID table; 0 is empty.
    #[must_use]
    pub fn guid(&self, at: PortAt, index: usize) -> PortGuid {
        PortGuid(self.ports[self.end_slot(at)].guid_at(index))
    }

    /// How often an end port was asked to make its clients register again.
    #[must_use]
    pub fn client_reregisters(&self, at: PortAt) -> u32 {
        self.ports[self.end_slot(at)].reregisters
    }

    /// What a node was asked.
    #[must_use]
    pub fn counters(&self, node: NodeIdx) -> &NodeCounters {
        &self.nodes[node].counters
    }

    /// What all nodes were asked.
    #[must_use]
    pub fn all_counters(&self) -> NodeCounters {
        let mut sum = NodeCounters::default();
        for node in &self.nodes {
            sum.add(&node.counters);
        }
        sum
    }

    /// What the fabric carried and lost.
    #[must_use]
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Sets all counters to zero, so that a test can tell what follows.
    pub fn reset_counters(&mut self) {
        for node in &mut self.nodes {
            node.counters = NodeCounters::default();
        }
        for slot in 0..self.tallies.len() {
            self.clear_tally(slot);
        }
        self.totals = Totals::default();
    }
}
