//! Read access to the devices for oracles and tests, without MADs.

use ferrosm_mad::attr::{
    LFT_BLOCK_LEN, NodeDescription, NodeType, PKEY_BLOCK_LEN, PortInfo, SlToVl, SwitchInfo, VlArb,
};
use ferrosm_mad::ids::{Lid, NodeGuid, PKey, PortGuid, PortNum, SystemImageGuid};

use super::{Fabric, NodeCounters, Totals};
use crate::spec::{NodeIdx, PortAt};

impl Fabric {
    /// Number of nodes, including those without power.
    #[must_use]
    pub const fn num_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// CA, switch or router.
    #[must_use]
    pub fn kind(&self, node: NodeIdx) -> NodeType {
        self.nodes[node].kind
    }

    /// Whether the node is a switch.
    #[must_use]
    pub fn is_switch(&self, node: NodeIdx) -> bool {
        self.nodes[node].is_switch()
    }

    /// Number of physical ports.
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

    /// GUID of the end port of a port (for a switch: of port 0).
    #[must_use]
    pub fn port_guid(&self, at: PortAt) -> PortGuid {
        self.ports[self.end_slot(at)].guid
    }

    /// A GUIDInfo entry of the end port of a port. Entry 0 is the port GUID; empty entries are 0.
    #[must_use]
    pub fn guid_entry(&self, at: PortAt, index: usize) -> PortGuid {
        PortGuid(self.ports[self.end_slot(at)].guid_at(index))
    }

    /// End ports: port 0 of switches, ports from 1 on of other nodes.
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

    /// External ports of a node: from 1 on.
    pub fn external_ports(&self, node: NodeIdx) -> impl Iterator<Item = PortAt> + use<> {
        (1..=self.nodes[node].num_ports).map(move |port| PortAt { node, port })
    }

    /// PortInfo of a port; `None` if it does not exist.
    #[must_use]
    pub fn port_info(&self, at: PortAt) -> Option<PortInfo> {
        Some(PortInfo::decode(&self.ports[self.slot(at)?].info))
    }

    /// LID and LMC of the end port of a port.
    #[must_use]
    pub fn lid(&self, at: PortAt) -> (Lid, u8) {
        let port = &self.ports[self.end_slot(at)];
        (port.lid(), port.lmc())
    }

    /// The neighbour of a port, if the link is up.
    #[must_use]
    pub fn peer(&self, at: PortAt) -> Option<PortAt> {
        let cable_end = self.cable_ends[self.slot(at)?];
        cable_end.up.then_some(PortAt {
            node: cable_end.node as usize,
            port: cable_end.port,
        })
    }

    /// Whether the port's link is up.
    #[must_use]
    pub fn link_up(&self, at: PortAt) -> bool {
        self.peer(at).is_some()
    }

    /// Whether FDR10 is active.
    #[must_use]
    pub fn is_fdr10(&self, at: PortAt) -> bool {
        self.slot(at)
            .is_some_and(|slot| self.cable_ends[slot].up && self.ports[slot].fdr10)
    }

    /// Whether the beacon LED is on.
    #[must_use]
    pub fn led(&self, at: PortAt) -> bool {
        self.slot(at).is_some_and(|slot| self.ports[slot].led)
    }

    /// SwitchInfo; `None` if the node is not a switch.
    #[must_use]
    pub fn switch_info(&self, node: NodeIdx) -> Option<SwitchInfo> {
        self.nodes[node].switch.as_ref().map(|s| s.info)
    }

    /// Output port of a switch for a LID, with LinearFDBTop applied; 0xFF if dropped or if the node
    /// is not a switch.
    #[must_use]
    pub fn lft_entry(&self, node: NodeIdx, lid: Lid) -> PortNum {
        PortNum(
            self.nodes[node]
                .switch
                .as_ref()
                .map_or(0xFF, |s| s.egress(lid)),
        )
    }

    /// Written LFT entries; LinearFDBTop is not applied.
    #[must_use]
    pub fn lft(&self, node: NodeIdx) -> &[u8] {
        self.nodes[node].switch.as_ref().map_or(&[], |s| &s.lft)
    }

    /// An LFT block as a Get returns it.
    #[must_use]
    pub fn lft_block(&self, node: NodeIdx, block: usize) -> [u8; LFT_BLOCK_LEN] {
        let start = block * LFT_BLOCK_LEN;
        let mut data = [0xFF; LFT_BLOCK_LEN];
        if let Some(written) = self.lft(node).get(start..start + LFT_BLOCK_LEN) {
            data.copy_from_slice(written);
        }
        data
    }

    /// Output ports of a switch for an MLID, ascending; port 0 is the switch itself.
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
                let position = usize::from(*p) / 16;
                let bit = *p % 16;
                let mask = switch.mft.get(index * switch.positions + position);
                mask.is_some_and(|m| m >> bit & 1 != 0)
            })
            .map(PortNum)
            .collect()
    }

    /// Size of the P_Key table.
    #[must_use]
    pub fn pkey_cap(&self, at: PortAt) -> u16 {
        self.nodes[at.node].pkey_cap(at.port)
    }

    /// P_Key table, including empty entries.
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

    /// SLtoVLMappingTable of an output port for an input port (0 for CAs).
    #[must_use]
    pub fn sl_to_vl(&self, output: PortAt, input: u8) -> Option<SlToVl> {
        let table = self.ports[self.slot(output)?].sl_to_vl(input);
        let mut data = [0; 64];
        data[..8].copy_from_slice(table);
        Some(SlToVl::decode(&data))
    }

    /// VLArbitrationTable of a port: high or low priority entries.
    #[must_use]
    pub fn vl_arb(&self, at: PortAt, high: bool) -> Option<VlArb> {
        let port = &self.ports[self.slot(at)?];
        Some(VlArb::decode(&port.vl_arb_block(if high { 2 } else { 0 })))
    }

    /// Times that ClientReregister was set at an end port.
    #[must_use]
    pub fn client_reregisters(&self, at: PortAt) -> u32 {
        self.ports[self.end_slot(at)].reregisters
    }

    /// Counts of the requests to a node.
    #[must_use]
    pub fn counters(&self, node: NodeIdx) -> &NodeCounters {
        &self.nodes[node].counters
    }

    /// Counts of the requests to all nodes.
    #[must_use]
    pub fn all_counters(&self) -> NodeCounters {
        let mut sum = NodeCounters::default();
        for node in &self.nodes {
            sum.add(&node.counters);
        }
        sum
    }

    /// Sent, delivered and dropped packets.
    #[must_use]
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Clears all counters.
    pub fn reset_counters(&mut self) {
        for node in &mut self.nodes {
            node.counters = NodeCounters::default();
        }
        for slot in 0..self.raw_counts.len() {
            self.clear_raw_counts(slot);
        }
        self.totals = Totals::default();
    }
}
