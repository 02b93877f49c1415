//! Performance management agent of a node (IBA 16.1): replies on QP1.
//!
//! A node has one agent. PortSelect selects a port or, as 0xFF, the sum of all ports (for a switch,
//! without port 0). The counters are in the fabric. An invalid request changes nothing. Unsupported
//! (status 0x000C): notices of this class, congestion and per-SL counters,
//! PortSamplesResultExtended.

mod counters;
mod per_vl;
mod samples;

use ferrosm_mad::attr::perf::{ALL_PORTS, ClassPortInfo, DATA_LEN, DATA_OFFSET, id};
use ferrosm_mad::mad::{Method, Status};
use ferrosm_mad::wire::part_mut;

use crate::fabric::{Fabric, Packet};
use crate::spec::PortAt;

type AttributeData = [u8; DATA_LEN];

/// Replies within 268 ms.
const RESP_TIME: u8 = 16;

/// A request without its data.
#[derive(Debug, Clone)]
struct PmaRequest {
    /// Indices of the selected ports in the fabric's port table; several are summed.
    ports: std::ops::RangeInclusive<usize>,
    port_select: u8,
    set: bool,
}

impl Fabric {
    /// Processes a request in place.
    pub(crate) fn pma(&mut self, end_port: PortAt, packet: &mut Packet) -> Status {
        let method = packet.mad.method();
        if packet.mad.as_bytes()[2] != 1 {
            return Status::BAD_VERSION;
        }
        if method != Method::Get && method != Method::Set {
            return Status::BAD_METHOD;
        }
        if packet.mad.attr_mod().0 != 0 {
            return Status::BAD_FIELD;
        }
        let attr = packet.mad.attr_id();
        let set = method == Method::Set;
        let data = part_mut::<DATA_OFFSET, DATA_LEN, _>(packet.mad.as_bytes_mut());
        match (attr, set) {
            (id::CLASS_PORT_INFO, false) => {
                *data = [0; DATA_LEN];
                ClassPortInfo {
                    base_version: 1,
                    class_version: 1,
                    capability_mask: ClassPortInfo::ALL_PORT_SELECT
                        | ClassPortInfo::EXTENDED_WIDTH
                        | ClassPortInfo::XMIT_WAIT
                        | ClassPortInfo::QP1_DROPPED,
                    capability_mask2: ClassPortInfo::EXTENDED_ERRORS,
                    resp_time_value: RESP_TIME,
                }
                .encode_onto(data);
                return Status::OK;
            }
            (id::PORT_SAMPLES_RESULT, false) => return self.samples_result(end_port, data),
            (id::CLASS_PORT_INFO | id::PORT_SAMPLES_RESULT, true) => {
                return Status::BAD_METHOD_ATTR;
            }
            _ => {}
        }
        let table = counters::counter_attribute(attr);
        let is_per_vl = per_vl::is_per_vl_attribute(attr);
        if table.is_none() && !is_per_vl && attr != id::PORT_SAMPLES_CONTROL {
            return Status::BAD_METHOD_ATTR;
        }
        let Some(ports) = self.selected_ports(end_port, data[1]) else {
            return Status::BAD_FIELD;
        };
        for slot in ports.clone() {
            self.flush_cable_end_counters(slot);
        }
        let request = PmaRequest {
            ports,
            port_select: data[1],
            set,
        };
        match table {
            Some(table) => self.counters_attribute(&request, table, data),
            None if is_per_vl => self.per_vl_attribute(&request, attr, data),
            None => return self.samples_control(&request, data),
        }
        Status::OK
    }

    fn selected_ports(
        &self,
        end_port: PortAt,
        select: u8,
    ) -> Option<std::ops::RangeInclusive<usize>> {
        let node = &self.nodes[end_port.node];
        let last = node.base + usize::from(node.num_ports);
        if select == ALL_PORTS {
            return Some(node.base + 1..=last);
        }
        let slot = node.base + usize::from(select);
        let exists = slot <= last && (select != 0 || node.is_switch());
        exists.then_some(slot..=slot)
    }
}
