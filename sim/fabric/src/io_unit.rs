//! Device management agent of a storage target (IBA 16.3): an I/O unit with one SRP controller.
//!
//! Its replies are those of Linux's SRP target: 16 slots of which the first is used, one service
//! `SRP.T10:` and the identifier. Controller GUID, service ID and identifier are the node GUID. The
//! agent is host software, so agent faults do not affect it. Connections are not supported.

use ferrosm_mad::attr::CapMask;
use ferrosm_mad::ids::AttrId;
use ferrosm_mad::mad::{Method, MgmtClass, Status};
use ferrosm_mad::wire::part_mut;

use crate::fabric::{Fabric, LocalChange, Packet};
use crate::spec::{NodeIdx, PortAt};

const CLASS: MgmtClass = MgmtClass(0x06);
/// Offset and length of the attribute data in this class.
const DATA_OFFSET: usize = 64;
const DATA_LEN: usize = 192;

const CLASS_PORT_INFO: AttrId = AttrId(0x0001);
const IO_UNIT_INFO: AttrId = AttrId(0x0010);
const IO_CONTROLLER_PROFILE: AttrId = AttrId(0x0011);
const SERVICE_ENTRIES: AttrId = AttrId(0x0012);

/// No controller in the slot, or no such service entry.
const NO_CONTROLLER: Status = Status(0x0100);
/// Replies within 4.3 s.
const RESP_TIME: u8 = 20;
/// Controller slots; the first is used.
const SLOTS: u8 = 16;
const USED_SLOT: u32 = 1;

/// I/O class, subclass, protocol and version (INCITS SRP, annex B).
const IO_CLASS: u16 = 0x0100;
const IO_SUBCLASS: u16 = 0x609E;
const PROTOCOL: u16 = 0x0108;
const PROTOCOL_VERSION: u16 = 1;
/// Sends to and from the controller, RDMA reads and writes by it.
const OPERATIONS: u8 = 1 | 1 << 1 | 1 << 3 | 1 << 5;
const NAME: &[u8] = b"simulated SRP target";

ferrosm_mad::wire! {
    /// ClassPortInfo: its non-zero fields.
    struct ClassPortInfo[8] {
        /// 1.
        base_version: u8 = 0, 8;
        /// 1.
        class_version: u8 = 8, 8;
        /// Replies within 4.096 us * 2^n.
        resp_time_value: u8 = 59, 5;
    }
}

ferrosm_mad::wire! {
    /// IOUnitInfo, followed by the list of slots with four bits each.
    struct IoUnitInfo[4] {
        /// Changes if controllers are added or removed.
        change_id: u16 = 0, 16;
        /// Number of slots.
        max_controllers: u8 = 16, 8;
    }
}

ferrosm_mad::wire! {
    /// IOControllerProfile, followed by the name.
    struct IoControllerProfile[64] {
        /// Controller GUID.
        guid: u64 = 0, 64;
        /// Vendor ID.
        vendor_id: u32 = 64, 24;
        /// Device ID.
        device_id: u32 = 96, 32;
        /// Subsystem vendor ID.
        subsystem_vendor_id: u32 = 160, 24;
        /// I/O class.
        io_class: u16 = 224, 16;
        /// I/O subclass.
        io_subclass: u16 = 240, 16;
        /// Protocol.
        protocol: u16 = 256, 16;
        /// Protocol version.
        protocol_version: u16 = 272, 16;
        /// Send queue depth.
        send_queue_depth: u16 = 320, 16;
        /// Maximum outstanding RDMA reads.
        rdma_read_depth: u8 = 344, 8;
        /// Maximum message size in bytes.
        send_size: u32 = 352, 32;
        /// Maximum RDMA transfer size in bytes.
        rdma_size: u32 = 384, 32;
        /// Supported operations.
        operations: u8 = 416, 8;
        /// Number of service entries.
        service_entries: u8 = 432, 8;
    }
}

impl Fabric {
    /// Starts or stops a node's SRP target; a change of CapabilityMask sends trap 144.
    ///
    /// # Errors
    /// If the node does not exist.
    pub fn set_srp_target(
        &mut self,
        node: NodeIdx,
        is_target: bool,
    ) -> Result<(), crate::fabric::SpecError> {
        let no_such = crate::fabric::SpecError::NoSuchPort(PortAt::new(node, 0));
        let n = self.nodes.get_mut(node).ok_or(no_such)?;
        n.options.srp_target = is_target;
        let ports = if n.is_switch() {
            0..=0
        } else {
            1..=n.num_ports
        };
        for port in ports {
            let at = PortAt::new(node, port);
            let before = self.port_info(at).map_or(0, |info| info.capability_mask.0);
            let mask = if is_target {
                before | CapMask::DEVICE_MANAGEMENT
            } else {
                before & !CapMask::DEVICE_MANAGEMENT
            };
            self.local_change(at, LocalChange::CapabilityMask(mask))?;
        }
        Ok(())
    }

    /// Whether a packet is a request to the node's I/O unit.
    pub(crate) fn is_for_io_unit(&self, packet: &Packet) -> bool {
        let mad = &packet.mad;
        self.nodes[packet.at.node].options.srp_target
            && mad.mgmt_class() == CLASS
            && mad.as_bytes()[0] == 1
            && mad.as_bytes()[2] == 1
            && (mad.method() == Method::Get || mad.method() == Method::Set)
            && packet.dest_qpn.0 == 1
            && packet.datagram.is_none()
            && !packet.is_multicast()
    }

    /// Processes a request in place.
    pub(crate) fn io_unit(&self, packet: &mut Packet) -> Status {
        if packet.mad.method() != Method::Get {
            return Status::BAD_METHOD_ATTR;
        }
        let attr = packet.mad.attr_id();
        let modifier = packet.mad.attr_mod().0;
        let mut data = [0; DATA_LEN];
        let status = self.read_attribute(packet.at.node, attr, modifier, &mut data);
        if status.is_ok() {
            *part_mut::<DATA_OFFSET, DATA_LEN, _>(packet.mad.as_bytes_mut()) = data;
        }
        status
    }

    fn read_attribute(
        &self,
        node: NodeIdx,
        attr: AttrId,
        modifier: u32,
        data: &mut [u8; DATA_LEN],
    ) -> Status {
        match attr {
            CLASS_PORT_INFO => ClassPortInfo {
                base_version: 1,
                class_version: 1,
                resp_time_value: RESP_TIME,
            }
            .encode_onto(data),
            IO_UNIT_INFO => {
                IoUnitInfo {
                    change_id: 1,
                    max_controllers: SLOTS,
                }
                .encode_onto(data);
                // The first slot is in the upper half of the byte; 0 is empty.
                data[IoUnitInfo::LEN] = 1 << 4;
            }
            IO_CONTROLLER_PROFILE => {
                if let Some(status) = no_controller(modifier) {
                    return status;
                }
                self.profile(node).encode_onto(data);
                data[IoControllerProfile::LEN..][..NAME.len()].copy_from_slice(NAME);
            }
            SERVICE_ENTRIES => {
                if let Some(status) = no_controller(modifier >> 16) {
                    return status;
                }
                // The requested range of entries must be the only one, 0 to 0.
                if modifier & 0xFFFF != 0 {
                    return NO_CONTROLLER;
                }
                let id = self.nodes[node].guid.0;
                let name = format!("SRP.T10:{id:016x}");
                data[..name.len()].copy_from_slice(name.as_bytes());
                data[40..48].copy_from_slice(&id.to_be_bytes());
            }
            _ => return Status::BAD_METHOD_ATTR,
        }
        Status::OK
    }

    fn profile(&self, node: NodeIdx) -> IoControllerProfile {
        let n = &self.nodes[node];
        IoControllerProfile {
            guid: n.guid.0,
            vendor_id: n.vendor_id,
            device_id: n.device_id.into(),
            subsystem_vendor_id: n.vendor_id,
            io_class: IO_CLASS,
            io_subclass: IO_SUBCLASS,
            protocol: PROTOCOL,
            protocol_version: PROTOCOL_VERSION,
            send_queue_depth: 4096,
            rdma_read_depth: 4,
            send_size: 4200,
            rdma_size: 1 << 24,
            operations: OPERATIONS,
            service_entries: 1,
        }
    }
}

/// Status of a request for a slot without a controller.
const fn no_controller(slot: u32) -> Option<Status> {
    match slot {
        USED_SLOT => None,
        0 => Some(Status::BAD_FIELD),
        empty if empty <= SLOTS as u32 => Some(NO_CONTROLLER),
        _ => Some(Status::BAD_FIELD),
    }
}
