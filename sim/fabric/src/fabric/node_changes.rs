//! Changes of nodes: power, reboots, identities, attached programs, corrupted tables.

use ferrosm_mad::attr::{
    CapMask, LocalChangeDetails, NodeDescription, PKEY_BLOCK_LEN, PKeyBlock, PhysState, PortInfo,
    PortState, SlToVl, TrapNumber, VlArb,
};
use ferrosm_mad::ids::{Lid, Lmc, NodeGuid, PKey, PortGuid, SystemImageGuid};

use super::{Fabric, SpecError, Switch, node};
use crate::hardware::HardwareCaps;
use crate::spec::{NodeIdx, NodeSpec, PortAt};

impl Fabric {
    /// Powers a node off: its links go down, and its state is reset.
    pub fn power_off(&mut self, node: NodeIdx) {
        if node >= self.nodes.len() || !self.nodes[node].powered {
            return;
        }
        self.remove_traps(node);
        for slot in self.slots(node) {
            let link = self.cable_ends[slot].link;
            self.bring_down(link);
        }
        self.remove_traps(node);
        self.nodes[node].powered = false;
        self.reset_to_power_on(node);
    }

    /// Powers a node on: its links train.
    pub fn power_on(&mut self, node: NodeIdx) {
        if node >= self.nodes.len() || self.nodes[node].powered {
            return;
        }
        self.nodes[node].powered = true;
        for slot in self.slots(node) {
            let link = self.cable_ends[slot].link;
            self.start_training(link);
        }
    }

    /// Restarts a node: tables, LIDs, LinearFDBTop and keys are reset, links retrain.
    pub fn reboot(&mut self, node: NodeIdx) {
        self.power_off(node);
        self.power_on(node);
    }

    /// Whether a node has power.
    #[must_use]
    pub fn is_powered(&self, node: NodeIdx) -> bool {
        self.nodes.get(node).is_some_and(|n| n.powered)
    }

    fn slots(&self, node: NodeIdx) -> std::ops::RangeInclusive<usize> {
        let n = &self.nodes[node];
        n.base..=n.base + usize::from(n.num_ports)
    }

    /// Resets to power-on values, except identities, cables and attached programs.
    fn reset_to_power_on(&mut self, index: NodeIdx) {
        let n = &self.nodes[index];
        let spec = NodeSpec {
            kind: n.kind,
            description: String::new(),
            node_guid: n.guid,
            system_image_guid: n.system_image_guid,
            num_ports: n.num_ports,
            port_guids: Vec::new(),
            lids: Vec::new(),
            enhanced_port0: n.enhanced_port0,
            vendor_id: n.vendor_id,
            device_id: n.device_id,
            options: n.options,
        };
        let max = n.max_speed;
        let base = n.base;
        for (port, slot) in (0..=spec.num_ports).zip(base..) {
            let old = &self.ports[slot];
            let widths = PortInfo::link_width_supported.read(&old.info);
            let mut new = node::power_on_port(&spec, port, max, widths);
            new.guid = old.guid;
            new.clients = old.clients;
            let is_sm_bit = PortInfo::capability_mask.read(&old.info).0 & CapMask::IS_SM;
            new.update(|info| info.capability_mask.0 |= is_sm_bit);
            self.ports[slot] = new;
            self.clear_raw_counts(slot);
        }
        if self.nodes[index].is_switch() {
            let switch = Switch::new(&spec);
            self.nodes[index].switch = Some(Box::new(switch));
        }
    }

    /// Opens an end port for a program, which then receives the MADs that the agents do not
    /// process.
    ///
    /// # Errors
    /// If the end port does not exist.
    pub fn attach(&mut self, at: PortAt) -> Result<(), SpecError> {
        let slot = self.end_port_slot(at)?;
        self.ports[slot].clients = self.ports[slot].clients.saturating_add(1);
        Ok(())
    }

    /// Closes an end port for a program.
    ///
    /// # Errors
    /// If the end port does not exist.
    pub fn detach(&mut self, at: PortAt) -> Result<(), SpecError> {
        let slot = self.end_port_slot(at)?;
        self.ports[slot].clients = self.ports[slot].clients.saturating_sub(1);
        Ok(())
    }

    /// Sets or clears IsSM in CapabilityMask; a change sends trap 144.
    ///
    /// # Errors
    /// If the end port does not exist.
    pub fn set_is_sm(&mut self, at: PortAt, is_sm: bool) -> Result<(), SpecError> {
        let slot = self.end_port_slot(at)?;
        let before = self.ports[slot].info;
        self.ports[slot].update(|info| {
            let mask = &mut info.capability_mask.0;
            *mask = if is_sm {
                *mask | CapMask::IS_SM
            } else {
                *mask & !CapMask::IS_SM
            };
        });
        if self.ports[slot].info != before {
            self.raise_trap(at, TrapNumber::LocalChange);
        }
        Ok(())
    }

    fn end_port_slot(&self, at: PortAt) -> Result<usize, SpecError> {
        let slot = self.slot(at).ok_or(SpecError::NoSuchPort(at))?;
        let is_switch = self.nodes[at.node].is_switch();
        if is_switch == (at.port == 0) {
            Ok(slot)
        } else {
            Err(SpecError::NoSuchPort(at))
        }
    }

    /// The port where an SM attaches by default: port 0 of the first node if it is a switch,
    /// otherwise its first port with a link.
    #[must_use]
    pub fn default_port(&self) -> PortAt {
        let node = &self.nodes[0];
        if node.is_switch() {
            return PortAt { node: 0, port: 0 };
        }
        let linked = (1..=node.num_ports).find(|p| self.cable_ends[node.base + usize::from(*p)].up);
        PortAt {
            node: 0,
            port: linked.unwrap_or(1),
        }
    }

    /// Changes a node GUID, for example to a duplicate.
    pub fn set_node_guid(&mut self, node: NodeIdx, guid: NodeGuid) {
        if let Some(n) = self.nodes.get_mut(node) {
            n.guid = guid;
        }
    }

    /// Changes NodeInfo.NumPorts, as if ports were split or joined. Ports beyond those that the
    /// node was created with do not exist.
    pub fn set_num_ports(&mut self, node: NodeIdx, num_ports: u8) {
        if let Some(n) = self.nodes.get_mut(node) {
            n.num_ports = num_ports.min(n.num_ports);
        }
    }

    /// Changes a port GUID, for example to a duplicate.
    ///
    /// # Errors
    /// If the end port does not exist.
    pub fn set_port_guid(&mut self, at: PortAt, guid: PortGuid) -> Result<(), SpecError> {
        let slot = self.end_port_slot(at)?;
        self.ports[slot].guid = guid;
        Ok(())
    }

    /// Changes an end port's LID without the SM.
    ///
    /// # Errors
    /// If the end port does not exist.
    pub fn set_lid(&mut self, at: PortAt, lid: Lid, lmc: Lmc) -> Result<(), SpecError> {
        let slot = self.end_port_slot(at)?;
        self.ports[slot].update(|info| {
            info.lid = lid;
            info.lmc = lmc;
        });
        Ok(())
    }

    /// Changes an LFT entry without the SM.
    pub fn corrupt_lft(&mut self, node: NodeIdx, lid: Lid, port: u8) {
        if let Some(switch) = self.nodes.get_mut(node).and_then(|n| n.switch.as_mut()) {
            let index = usize::from(lid.0);
            if switch.lft.len() <= index {
                switch.lft.resize((index / 64 + 1) * 64, 0xFF);
            }
            switch.lft[index] = port;
        }
    }

    /// Changes a port's SLtoVLMappingTables for all inputs without the SM.
    pub fn corrupt_sl_to_vl(&mut self, output: PortAt, table: SlToVl) {
        if let Some(slot) = self.slot(output) {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&table.encode()[..8]);
            self.ports[slot].tables_mut().sl_to_vl = vec![bytes];
        }
    }

    /// Replaces the first low and high priority blocks of a port's VLArbitrationTable without the
    /// SM.
    pub fn corrupt_vl_arb(&mut self, at: PortAt, low: &VlArb, high: &VlArb) {
        if let Some(slot) = self.slot(at) {
            let blocks = &mut self.ports[slot].tables_mut().vl_arb;
            blocks[0] = Some(Box::new(low.encode()));
            blocks[2] = Some(Box::new(high.encode()));
        }
    }

    /// Replaces a port's P_Key table without the SM.
    pub fn corrupt_pkeys(&mut self, at: PortAt, keys: &[PKey]) {
        let cap = usize::from(self.pkey_cap(at));
        if let Some(slot) = self.slot(at) {
            let blocks = keys[..keys.len().min(cap)]
                .chunks(PKEY_BLOCK_LEN)
                .map(|part| {
                    let mut block = PKeyBlock::default();
                    block.keys[..part.len()].copy_from_slice(part);
                    block.encode()
                });
            self.ports[slot].tables_mut().pkeys = blocks.collect();
        }
    }

    /// Changes a port's state without the SM and without a report.
    pub fn corrupt_port_state(&mut self, at: PortAt, state: PortState) {
        if let Some(slot) = self.slot(at) {
            self.ports[slot].set_state(state);
            if state == PortState::Down {
                self.ports[slot].set_phys(PhysState::Polling);
            }
        }
    }

    /// Changes what the hardware of a node can do. SwitchInfo shows the sizes of tables at once;
    /// the rest follows the next reboot.
    pub fn change_hardware(&mut self, node: NodeIdx, change: impl FnOnce(&mut HardwareCaps)) {
        let Some(n) = self.nodes.get_mut(node) else {
            return;
        };
        change(&mut n.caps);
        n.options.caps = Some(n.caps);
        if let Some(switch) = &mut n.switch {
            switch.info.linear_fdb_cap = n.caps.linear_fdb_cap;
            switch.info.multicast_fdb_cap = n.caps.multicast_fdb_cap;
        }
    }

    /// Overwrites the LinearFDBTop of a switch, with any value.
    pub fn corrupt_lft_top(&mut self, node: NodeIdx, top: u16) {
        let switch = self.nodes.get_mut(node).and_then(|n| n.switch.as_mut());
        if let Some(switch) = switch {
            switch.info.linear_fdb_top = top;
        }
    }

    /// Changes a NodeDescription; the node's first end port with a link sends trap 144.
    pub fn set_description(&mut self, node: NodeIdx, text: &str) {
        let Some(n) = self.nodes.get_mut(node) else {
            return;
        };
        n.description = NodeDescription::new(text).encode();
        let at = self.trap_port(node);
        self.raise_trap_with(
            at,
            TrapNumber::LocalChange,
            LocalChangeDetails::NODE_DESCRIPTION,
        );
    }

    /// Changes a system image GUID; the node's first end port with a link sends trap 145.
    pub fn set_system_image_guid(&mut self, node: NodeIdx, guid: SystemImageGuid) {
        let Some(n) = self.nodes.get_mut(node) else {
            return;
        };
        n.system_image_guid = guid;
        let at = self.trap_port(node);
        self.raise_trap(at, TrapNumber::SystemImageGuid);
    }

    fn trap_port(&self, node: NodeIdx) -> PortAt {
        let n = &self.nodes[node];
        if n.is_switch() {
            return PortAt { node, port: 0 };
        }
        let linked = (1..=n.num_ports).find(|p| self.cable_ends[n.base + usize::from(*p)].up);
        PortAt {
            node,
            port: linked.unwrap_or(1),
        }
    }
}
