//! The subnet management agent: what a node answers to a Get or Set of each attribute.
//!
//! One file per group of attributes; all state is the fabric's. An invalid Set changes nothing at
//! all and is answered with status 0x001C and the values as they are.

mod m_key;
mod port_info;
mod tables;

use ferrosm_mad::attr::{LedInfo, NodeInfo, id};
use ferrosm_mad::ids::{AttrId, PortNum};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::smp::{DATA_LEN, DATA_OFFSET};
use ferrosm_mad::time::Instant;

use crate::fabric::{CA_PKEYS, Fabric, Packet, SWITCH_PKEYS};
use crate::spec::PortAt;

/// A request apart from its data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    pub(crate) node: usize,
    /// The port by which it came in.
    pub(crate) in_port: u8,
    /// Slot of the end port that is asked.
    pub(crate) end: usize,
    pub(crate) set: bool,
    pub(crate) modifier: u32,
}

type Data = [u8; DATA_LEN];

impl Fabric {
    /// Answers in place; `None` drops the request for its M_Key.
    pub(crate) fn sma(&mut self, end: PortAt, packet: &mut Packet, now: Instant) -> Option<Status> {
        let method = packet.mad.method();
        let attr = packet.mad.attr_id();
        if packet.mad.as_bytes()[2] != 1 {
            return Some(self.refuse(end.node, Status::BAD_VERSION));
        }
        if method != Method::Get && method != Method::Set {
            return Some(self.refuse(end.node, Status::BAD_METHOD));
        }
        let set = method == Method::Set;
        self.nodes[end.node].counters.count(attr, set);
        if !self.m_key_admits(end, packet, now) {
            return None;
        }
        // A directed route that does not leave the node came in by the end port itself.
        let request = Request {
            node: end.node,
            in_port: packet.at.port,
            end: self.end_slot(end),
            set,
            modifier: packet.mad.attr_mod().0,
        };
        let key_is_right = self.m_key_matches(end, packet);
        let bytes = packet.mad.as_bytes_mut();
        let data: &mut Data = bytes[DATA_OFFSET..].first_chunk_mut()?;
        let status = self.attribute(&request, attr, key_is_right, data);
        Some(if status.is_ok() {
            status
        } else {
            self.refuse(end.node, status)
        })
    }

    fn refuse(&mut self, node: usize, status: Status) -> Status {
        self.nodes[node].counters.refused += 1;
        status
    }

    fn attribute(&mut self, r: &Request, attr: AttrId, key: bool, data: &mut Data) -> Status {
        let read_only = || {
            if r.set {
                Status::BAD_METHOD_ATTR
            } else {
                Status::OK
            }
        };
        match attr {
            id::NODE_DESCRIPTION => {
                *data = self.nodes[r.node].description;
                read_only()
            }
            id::NODE_INFO => {
                self.node_info(r, data);
                read_only()
            }
            id::PORT_INFO => self.port_info_attribute(r, key, data),
            id::SWITCH_INFO => self.switch_info_attribute(r, data),
            id::GUID_INFO => self.guid_info(r, data),
            id::PKEY_TABLE => self.pkey_table(r, data),
            id::SL_TO_VL => self.sl_to_vl_table(r, data),
            id::VL_ARBITRATION => self.vl_arbitration(r, data),
            id::LFT => self.lft_block_attribute(r, data),
            id::MFT => self.mft_block(r, data),
            id::LED_INFO => self.led_info(r, data),
            id::VENDOR_DIAG => {
                *data = [0; DATA_LEN];
                read_only()
            }
            id::MLNX_EXT_PORT_INFO => self.fdr10(r, data),
            _ => Status::BAD_METHOD_ATTR,
        }
    }

    fn node_info(&self, r: &Request, data: &mut Data) {
        let node = &self.nodes[r.node];
        *data = [0; DATA_LEN];
        NodeInfo {
            base_version: 1,
            class_version: 1,
            node_type: node.kind,
            num_ports: node.num_ports,
            system_image_guid: node.system_image_guid,
            node_guid: node.guid,
            port_guid: self.ports[r.end].guid,
            partition_cap: if node.is_switch() {
                SWITCH_PKEYS
            } else {
                CA_PKEYS
            },
            device_id: node.device_id,
            revision: 0,
            local_port_num: PortNum(r.in_port),
            vendor_id: node.vendor_id,
        }
        .encode_onto(data);
    }

    /// Slot of the port that the low bits of a modifier name; 0 on a CA is the port that is asked.
    fn named_port(&self, r: &Request, port: u32) -> Option<usize> {
        let node = &self.nodes[r.node];
        let port = u8::try_from(port).ok()?;
        if node.is_switch() {
            (port <= node.num_ports).then(|| node.base + usize::from(port))
        } else {
            (port == 0 || node.base + usize::from(port) == r.end).then_some(r.end)
        }
    }

    fn led_info(&mut self, r: &Request, data: &mut Data) -> Status {
        let Some(slot) = self.named_port(r, r.modifier) else {
            return Status::BAD_FIELD;
        };
        let port = &mut self.ports[slot];
        if r.set {
            port.led = LedInfo::decode(data).led_mask;
        }
        *data = LedInfo { led_mask: port.led }.encode();
        Status::OK
    }

    fn fdr10(&self, r: &Request, data: &mut Data) -> Status {
        const MELLANOX: [u32; 2] = [0x00_02C9, 0x00_15B3];
        if !MELLANOX.contains(&self.nodes[r.node].vendor_id) {
            return Status::BAD_METHOD_ATTR;
        }
        let Some(slot) = self.named_port(r, r.modifier) else {
            return Status::BAD_FIELD;
        };
        *data = ferrosm_mad::attr::ExtendedPortInfo {
            state_change_enable: 0,
            link_speed_supported: 1,
            link_speed_enabled: 1,
            link_speed_active: u8::from(self.ports[slot].fdr10),
        }
        .encode();
        Status::OK
    }
}
