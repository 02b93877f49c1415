//! Subnet management agent: replies to Get and Set of each attribute.
//!
//! The state is in the fabric. Checks in order: class version (0x0004), method (0x0008), M_Key
//! (dropped), attribute (0x000C), modifier and fields (0x001C). An invalid Set changes nothing, and
//! the reply has the current values. An attribute with a capability bit exists only if the bit is
//! set.
//!
//! Unsupported, with their bits clear: CableInfo (the specification's and Mellanox's),
//! HierarchyInfo and VendorSpecificMadsTable, whose contents are not public, and
//! RandomForwardingTable, because all switches have an LFT (RandomFDBCap 0).

mod extra;
mod m_key;
mod port_info;
mod tables;

use ferrosm_mad::attr::{
    CapMask, CapMask2, LocalChangeDetails, NodeInfo, PortInfo, TrapNumber, id,
};
use ferrosm_mad::ids::{AttrId, PortNum};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::smp::{DATA_LEN, DATA_OFFSET};
use ferrosm_mad::time::Instant;

use crate::fabric::{Fabric, Packet};
use crate::spec::{AgentModel, PortAt};

/// A request without its data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SmaRequest {
    pub(crate) node: usize,
    /// Input port.
    pub(crate) in_port: u8,
    /// Slot of the addressed end port.
    pub(crate) end_slot: usize,
    pub(crate) set: bool,
    pub(crate) modifier: u32,
}

type AttributeData = [u8; DATA_LEN];

impl Fabric {
    /// Processes a request in place; `None` drops it because of its M_Key, or because the agent
    /// does not know its modifier.
    pub(crate) fn sma(
        &mut self,
        end_port: PortAt,
        packet: &mut Packet,
        now: Instant,
    ) -> Option<Status> {
        let method = packet.mad.method();
        let attr = packet.mad.attr_id();
        if packet.mad.as_bytes()[2] != 1 {
            return Some(self.reject(end_port.node, Status::BAD_VERSION));
        }
        if method != Method::Get && method != Method::Set {
            return Some(self.reject(end_port.node, Status::BAD_METHOD));
        }
        let set = method == Method::Set;
        if self.nodes[packet.at.node].emulator.is_some()
            && let Some(status) = self.emulate(packet)
        {
            return Some(status);
        }
        self.nodes[end_port.node].counters.count(attr, set);
        if !self.check_m_key(end_port, packet, now) {
            return None;
        }
        // A directed route that does not leave the node enters by the end port itself.
        let request = SmaRequest {
            node: end_port.node,
            in_port: packet.at.port,
            end_slot: self.end_slot(end_port),
            set,
            modifier: packet.mad.attr_mod().0,
        };
        let mut key_matches = self.m_key_matches(end_port, packet);
        if attr == id::PORT_INFO
            && let Some(sibling) = self.sibling(end_port, request.modifier)
        {
            // Another port of the same adapter has its own M_Key.
            if !self.check_m_key(sibling, packet, now) {
                return None;
            }
            key_matches = self.m_key_matches(sibling, packet);
        }
        let agent = self.nodes[end_port.node].options.agent;
        if attr == id::PORT_INFO
            && agent == AgentModel::SilentOnExtendedSpeeds
            && request.modifier & PortInfo::EXTENDED_SPEEDS_MOD != 0
        {
            return None;
        }
        let bytes = packet.mad.as_bytes_mut();
        let data: &mut AttributeData = bytes[DATA_OFFSET..].first_chunk_mut()?;
        let status = self.attribute(&request, attr, key_matches, data);
        Some(if status.is_ok() {
            status
        } else {
            self.reject(end_port.node, status)
        })
    }

    fn reject(&mut self, node: usize, status: Status) -> Status {
        self.nodes[node].counters.refused += 1;
        status
    }

    fn attribute(
        &mut self,
        r: &SmaRequest,
        attr: AttrId,
        key_matches: bool,
        data: &mut AttributeData,
    ) -> Status {
        match attr {
            id::NODE_DESCRIPTION => self.node_description(r, data),
            id::NODE_INFO => {
                self.node_info(r, data);
                read_only(r)
            }
            id::PORT_INFO => self.port_info_attribute(r, key_matches, data),
            id::SWITCH_INFO => self.switch_info_attribute(r, data),
            id::GUID_INFO => self.guid_info(r, data),
            id::PKEY_TABLE => self.pkey_table(r, data),
            id::SL_TO_VL => self.sl_to_vl_table(r, data),
            id::VL_ARBITRATION => self.vl_arbitration(r, data),
            id::LFT => self.lft_block_attribute(r, data),
            id::MFT => self.mft_block(r, data),
            id::NOTICE => self.notice(r, data),
            id::LED_INFO => self.led_info(r, data),
            id::VENDOR_DIAG => {
                // There is no diagnostic data.
                *data = [0; DATA_LEN];
                read_only(r)
            }
            id::LINK_SPEED_WIDTH_PAIRS => self.link_speed_width_pairs(r, data),
            id::PORT_INFO_EXTENDED => self.port_info_extended(r, data),
            id::MLNX_EXT_PORT_INFO => self.ext_port_info(r, data),
            _ => Status::BAD_METHOD_ATTR,
        }
    }

    fn node_description(&mut self, r: &SmaRequest, data: &mut AttributeData) -> Status {
        let settable = self.capabilities2(r).has(CapMask2::SET_NODE_DESCRIPTION);
        let status = match read_only(r) {
            Status::BAD_METHOD_ATTR if settable && r.modifier == 0 => Status::OK,
            status => status,
        };
        let node = &mut self.nodes[r.node];
        if r.set && status.is_ok() && node.description != *data {
            node.description = *data;
            let at = self.end_port_of(r);
            self.raise_trap_with(
                at,
                TrapNumber::LocalChange,
                LocalChangeDetails::NODE_DESCRIPTION,
            );
        }
        *data = self.nodes[r.node].description;
        status
    }

    fn node_info(&self, r: &SmaRequest, data: &mut AttributeData) {
        let node = &self.nodes[r.node];
        *data = [0; DATA_LEN];
        NodeInfo {
            base_version: 1,
            class_version: 1,
            node_type: node.kind,
            num_ports: node.num_ports,
            system_image_guid: node.system_image_guid,
            node_guid: node.guid,
            port_guid: self.ports[r.end_slot].guid,
            partition_cap: node.caps.partition_cap,
            device_id: node.device_id,
            revision: node.caps.revision,
            local_port_num: PortNum(r.in_port),
            vendor_id: node.vendor_id,
        }
        .encode_onto(data);
    }

    /// Slot of the port in the low bits of a modifier. 0 on a CA is the addressed port; a CA port's
    /// agent does not handle other ports.
    fn port_by_modifier(&self, r: &SmaRequest, port: u32) -> Option<usize> {
        let node = &self.nodes[r.node];
        let port = u8::try_from(port).ok()?;
        if node.is_switch() {
            (port <= node.num_ports).then(|| node.base + usize::from(port))
        } else {
            (port == 0 || node.base + usize::from(port) == r.end_slot).then_some(r.end_slot)
        }
    }

    /// The other port of a CA or router whose PortInfo is requested.
    fn sibling(&self, end_port: PortAt, modifier: u32) -> Option<PortAt> {
        let node = &self.nodes[end_port.node];
        let port = u8::try_from(modifier & !PortInfo::EXTENDED_SPEEDS_MOD).ok()?;
        let is_other = !node.is_switch() && port != 0 && port != end_port.port;
        (is_other && port <= node.num_ports).then_some(PortAt {
            node: end_port.node,
            port,
        })
    }

    /// CapabilityMask of the addressed end port; that of port 0 for a switch.
    fn capabilities(&self, r: &SmaRequest) -> CapMask {
        PortInfo::capability_mask.read(&self.ports[r.end_slot].info)
    }

    /// CapabilityMask2; empty if unsupported.
    fn capabilities2(&self, r: &SmaRequest) -> CapMask2 {
        if self.capabilities(r).has(CapMask::CAP_MASK2) {
            PortInfo::capability_mask2.read(&self.ports[r.end_slot].info)
        } else {
            CapMask2(0)
        }
    }

    fn end_port_of(&self, r: &SmaRequest) -> PortAt {
        let port = r.end_slot - self.nodes[r.node].base;
        PortAt {
            node: r.node,
            port: u8::try_from(port).unwrap_or(0),
        }
    }
}

/// Status for a request of a read-only attribute without modifier.
fn read_only(r: &SmaRequest) -> Status {
    if r.set {
        Status::BAD_METHOD_ATTR
    } else if r.modifier != 0 {
        Status::BAD_FIELD
    } else {
        Status::OK
    }
}
