//! Devices and opened devices, with the structures that libibverbs exposes to programs.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use ferrosm_channel::frames::{ClientRequest, ServerReply};
use ferrosm_channel::verbs::{self, VerbsReply, VerbsRequest, WireAsyncEvent};
use ferrosm_channel::{ClientEnd, ClientFds, MessageAction, ReceiveOutcome};
use rustix::io::Errno;

use super::abi;
use crate::config::Config;
use crate::server::{Connection, ServerError, unexpected};

/// Maximum message size: the payload of a packet in the fabric.
const MAX_MESSAGE: u32 = 256;
/// Limits that the adapter reports but does not enforce.
const MAX_OBJECTS: i32 = 65_536;
const MAX_SGES: i32 = 32;

/// A listed device. The first field is the structure that the program has a pointer to.
#[repr(C)]
pub(crate) struct Device {
    pub(crate) ibv: abi::IbvDevice,
    pub(crate) index: u32,
    pub(crate) attributes: verbs::DeviceAttributes,
}

/// Sends a request; returns the reply with the descriptors of an opened object.
pub(crate) fn send_request(
    connection: &Mutex<Connection>,
    call: VerbsRequest,
) -> Result<(ServerReply, Vec<OwnedFd>), Errno> {
    let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
    let (reply, fds) = connection
        .send_request(&ClientRequest::Verbs(call))
        .map_err(ServerError::errno)?;
    if let ServerReply::Errno(errno) = reply {
        return Err(Errno::from_raw_os_error(errno));
    }
    Ok((reply, fds))
}

/// Queries the host's devices.
pub(crate) fn devices(config: &Config) -> Result<Vec<verbs::DeviceAttributes>, Errno> {
    let connection = Mutex::new(Connection::open(config).map_err(ServerError::errno)?);
    match send_request(&connection, VerbsRequest::Devices)? {
        (ServerReply::Verbs(VerbsReply::Devices(devices)), _) => Ok(devices),
        (other, _) => Err(unexpected(&other).errno()),
    }
}

impl Device {
    pub(crate) fn new(index: u32, attributes: verbs::DeviceAttributes) -> Self {
        Self {
            ibv: abi::IbvDevice {
                ops: [0; 2],
                node_type: attributes.node_type.cast_signed(),
                transport_type: 0,
                name: abi::fixed_string(&attributes.name),
                dev_name: abi::fixed_string(&format!("uverbs{index}")),
                dev_path: abi::fixed_string(&format!("/sys/class/infiniband_verbs/uverbs{index}")),
                ibdev_path: abi::fixed_string(&format!(
                    "/sys/class/infiniband/{}",
                    attributes.name
                )),
            },
            index,
            attributes,
        }
    }

    /// `ibv_query_device`.
    pub(crate) fn attributes(&self) -> abi::DeviceAttr {
        let attributes = &self.attributes;
        abi::DeviceAttr {
            fw_ver: abi::fixed_string(&attributes.firmware),
            node_guid: attributes.node_guid.to_be_bytes(),
            sys_image_guid: attributes.system_image_guid.to_be_bytes(),
            max_mr_size: u64::MAX,
            page_size_cap: 0xFFFF_F000,
            vendor_id: attributes.vendor_id,
            vendor_part_id: attributes.device_id,
            hw_ver: attributes.revision,
            max_qp: MAX_OBJECTS,
            max_qp_wr: MAX_OBJECTS,
            device_cap_flags: 0,
            max_sge: MAX_SGES,
            max_sge_rd: 0,
            max_cq: MAX_OBJECTS,
            max_cqe: MAX_OBJECTS,
            max_mr: MAX_OBJECTS,
            max_pd: MAX_OBJECTS,
            rd_atomic: [0; 5],
            atomic_cap: 0,
            ee_rdd_mw_raw: [0; 5],
            max_mcast_grp: MAX_OBJECTS,
            max_mcast_qp_attach: 1024,
            max_total_mcast_qp_attach: MAX_OBJECTS,
            max_ah: MAX_OBJECTS,
            fmr_srq: [0; 5],
            max_pkeys: saturating_u16(attributes.pkey_table_len),
            local_ca_ack_delay: 0,
            phys_port_cnt: saturating_u8(attributes.ports),
        }
    }
}

/// An opened device; contains a `struct ibv_context`.
#[repr(C)]
pub(crate) struct DeviceContext {
    pub(crate) ibv: abi::VerbsContext,
    pub(crate) index: u32,
    requests: Mutex<Connection>,
    /// Channel for events of the ports.
    events: ClientEnd,
    /// `async_fd` of the context, which the program polls; closed with it.
    _events_fd: OwnedFd,
}

impl DeviceContext {
    /// Opens a device. `new_context` creates the structure of libibverbs from the device and
    /// `async_fd`.
    pub(crate) fn open(
        config: &Config,
        device: *mut Device,
        index: u32,
        new_context: impl FnOnce(*mut abi::IbvDevice, i32) -> abi::VerbsContext,
    ) -> Result<Self, Errno> {
        let requests = Mutex::new(Connection::open(config).map_err(ServerError::errno)?);
        let (reply, fds) = send_request(&requests, VerbsRequest::Watch { device: index })?;
        if reply != ServerReply::Opened {
            return Err(unexpected(&reply).errno());
        }
        let fds = ClientFds::from_vec(fds).ok_or(Errno::NXIO)?;
        let (events, fd) = ClientEnd::new(fds).map_err(|_| Errno::NXIO)?;
        // Programs wait for events with calls that the preload library does not intercept.
        events.always_signal();
        Ok(Self {
            ibv: new_context(device.cast(), fd.as_raw_fd()),
            index,
            requests,
            events,
            _events_fd: fd,
        })
    }

    /// Queries a port.
    pub(crate) fn port(&self, port: u32) -> Result<verbs::PortAttributes, Errno> {
        let call = VerbsRequest::Port {
            device: self.index,
            port,
        };
        match send_request(&self.requests, call)? {
            (ServerReply::Verbs(VerbsReply::Port(port)), _) => Ok(*port),
            (other, _) => Err(unexpected(&other).errno()),
        }
    }

    /// The next event, if any.
    ///
    /// # Errors
    ///
    /// `EIO` if the server is dead.
    pub(crate) fn event(&self) -> Result<Option<WireAsyncEvent>, Errno> {
        let mut message = [0; 8];
        match self
            .events
            .receive(&mut message, |_| MessageAction::Consume)
        {
            Ok(ReceiveOutcome::Message(..)) => WireAsyncEvent::decode(&message)
                .map(Some)
                .map_err(|_| Errno::IO),
            Ok(ReceiveOutcome::Empty) if self.events.check_alive() => Ok(None),
            Ok(ReceiveOutcome::Empty) | Err(_) => Err(Errno::IO),
        }
    }

    /// Whether the program has made the event descriptor nonblocking.
    pub(crate) fn is_nonblocking(&self) -> bool {
        rustix::fs::fcntl_getfl(self.events.wake_fd())
            .is_ok_and(|flags| flags.contains(rustix::fs::OFlags::NONBLOCK))
    }
}

/// `struct ibv_port_attr` of a port.
pub(crate) fn port_attributes(port: &verbs::PortAttributes) -> abi::PortAttr {
    const IB_LINK_LAYER: u8 = 1;
    /// The highest speed code that fits in a byte; the kernel reports it for faster ports.
    const NDR: u32 = 128;
    abi::PortAttr {
        state: port.state.cast_signed(),
        max_mtu: port.max_mtu.cast_signed(),
        active_mtu: port.active_mtu.cast_signed(),
        gid_tbl_len: i32::try_from(port.gids.len()).unwrap_or(0),
        port_cap_flags: port.capabilities,
        max_msg_sz: MAX_MESSAGE,
        bad_pkey_cntr: port.pkey_violations,
        qkey_viol_cntr: port.qkey_violations,
        pkey_tbl_len: saturating_u16(port.pkeys.len()),
        lid: saturating_u16(port.lid),
        sm_lid: saturating_u16(port.sm_lid),
        lmc: saturating_u8(port.lmc),
        max_vl_num: saturating_u8(port.vl_cap),
        sm_sl: saturating_u8(port.sm_sl),
        subnet_timeout: saturating_u8(port.subnet_timeout),
        init_type_reply: saturating_u8(port.init_type_reply),
        active_width: saturating_u8(port.width),
        active_speed: saturating_u8(port.speed.min(NDR)),
        phys_state: saturating_u8(port.phys_state),
        link_layer: IB_LINK_LAYER,
        flags: 0,
        port_cap_flags2: saturating_u16(port.capabilities2),
    }
}

/// An attribute of the server. One that does not fit is reported as the maximum.
fn saturating_u8(number: u32) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// As [`saturating_u8`].
fn saturating_u16(number: impl TryInto<u16>) -> u16 {
    number.try_into().unwrap_or(u16::MAX)
}
