//! Calls into libibverbs; results are plain values.
#![expect(unsafe_code, reason = "calls into libibverbs")]

use core::mem::MaybeUninit;
use std::ffi::{CStr, c_char, c_int};
use std::io;
use std::ptr::NonNull;

use ferrosm_mad::ids::{NodeGuid, SystemImageGuid};
use rdma_sys as ffi;

use super::AsyncEvent;
use crate::output::json::ports::{VerbsDevice, VerbsPort};

/// `ENOSYS`: the kernel has no RDMA support.
const ENOSYS: i32 = 38;

/// The list of devices, freed when dropped.
struct List {
    first: *mut *mut ffi::ibv_device,
    len: usize,
}

impl List {
    fn enumerate() -> io::Result<Self> {
        let mut len: c_int = 0;
        // SAFETY: `len` is valid for the write of one int.
        let first = unsafe { ffi::ibv_get_device_list(&raw mut len) };
        if first.is_null() {
            let error = io::Error::last_os_error();
            if error.raw_os_error() == Some(ENOSYS) {
                return Ok(Self { first, len: 0 });
            }
            return Err(error);
        }
        Ok(Self {
            first,
            len: usize::try_from(len).unwrap_or(0),
        })
    }

    fn iter(&self) -> impl Iterator<Item = NonNull<ffi::ibv_device>> + '_ {
        // SAFETY: the library returned an array of `len` pointers, which lives as long as `self`.
        (0..self.len).filter_map(|i| NonNull::new(unsafe { *self.first.add(i) }))
    }
}

impl Drop for List {
    fn drop(&mut self) {
        if !self.first.is_null() {
            // SAFETY: from `ibv_get_device_list`, freed once; opened devices stay valid without it.
            unsafe { ffi::ibv_free_device_list(self.first) };
        }
    }
}

/// An open device, closed when dropped.
pub(super) struct Context(NonNull<ffi::ibv_context>);

// SAFETY: libibverbs is thread safe: a context may be used by any thread.
unsafe impl Send for Context {}

impl Context {
    /// Opens the device of this name; `None` if there is none.
    pub(super) fn open(name: &str) -> io::Result<Option<Self>> {
        let list = List::enumerate()?;
        let matching = list.iter().find(|device| device_name(*device) == name);
        matching.map(Self::open_device).transpose()
    }

    fn open_device(device: NonNull<ffi::ibv_device>) -> io::Result<Self> {
        // SAFETY: a device of a list that is not freed yet.
        let context = unsafe { ffi::ibv_open_device(device.as_ptr()) };
        NonNull::new(context)
            .map(Self)
            .ok_or_else(io::Error::last_os_error)
    }

    /// Waits for the next event, and acknowledges it.
    pub(super) fn next_event(&self) -> io::Result<AsyncEvent> {
        let mut event = MaybeUninit::<ffi::ibv_async_event>::zeroed();
        // SAFETY: the context is open and `event` is valid for the write of the structure.
        if unsafe { ffi::ibv_get_async_event(self.0.as_ptr(), event.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let at = event.as_mut_ptr();
        // SAFETY: the call filled the structure. The number is read as an integer, because a newer
        // library may know events that the enumeration of these bindings does not; any bits are a
        // valid port number.
        let async_event = unsafe {
            AsyncEvent {
                kind: (&raw const (*at).event_type).cast::<u32>().read(),
                port: (&raw const (*at).element).cast::<c_int>().read(),
            }
        };
        // SAFETY: the event was received and is not acknowledged yet; the library reads only its
        // number and queue.
        unsafe { ffi::ibv_ack_async_event(at) };
        Ok(async_event)
    }

    fn describe(&self, name: String) -> io::Result<VerbsDevice> {
        let mut attr = MaybeUninit::<ffi::ibv_device_attr>::zeroed();
        // SAFETY: the context is open and `attr` is valid for the write of the structure.
        check_return_code(unsafe { ffi::ibv_query_device(self.0.as_ptr(), attr.as_mut_ptr()) })?;
        // SAFETY: plain integers, zeroed and then filled by the call that succeeded.
        let a = unsafe { attr.assume_init() };
        let size = |v: c_int| u64::try_from(v).unwrap_or(0);
        Ok(VerbsDevice {
            name,
            fw_ver: text(&a.fw_ver),
            node_guid: NodeGuid(u64::from_be(a.node_guid)),
            sys_image_guid: SystemImageGuid(u64::from_be(a.sys_image_guid)),
            vendor_id: a.vendor_id,
            vendor_part_id: a.vendor_part_id,
            hw_ver: a.hw_ver,
            phys_port_cnt: a.phys_port_cnt,
            limits: vec![
                ("max_mr_size", a.max_mr_size),
                ("max_qp", size(a.max_qp)),
                ("max_qp_wr", size(a.max_qp_wr)),
                ("max_sge", size(a.max_sge)),
                ("max_cq", size(a.max_cq)),
                ("max_cqe", size(a.max_cqe)),
                ("max_mr", size(a.max_mr)),
                ("max_pd", size(a.max_pd)),
                ("max_ah", size(a.max_ah)),
                ("max_srq", size(a.max_srq)),
                ("max_mcast_grp", size(a.max_mcast_grp)),
                ("max_pkeys", u64::from(a.max_pkeys)),
            ],
            ports: (1..=a.phys_port_cnt).filter_map(|n| self.port(n)).collect(),
        })
    }

    fn port(&self, number: u8) -> Option<VerbsPort> {
        let mut attr = MaybeUninit::<ffi::ibv_port_attr>::zeroed();
        // SAFETY: the context is open and `attr` is valid for the write of the structure.
        if unsafe { ffi::___ibv_query_port(self.0.as_ptr(), number, attr.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: plain integers, zeroed and then filled by the call that succeeded.
        let a = unsafe { attr.assume_init() };
        Some(VerbsPort {
            port: number,
            state: a.state,
            max_mtu: a.max_mtu,
            active_mtu: a.active_mtu,
            sm_lid: a.sm_lid,
            lid: a.lid,
            lmc: a.lmc,
            link_layer: a.link_layer,
        })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: opened by `ibv_open_device`, closed once, and not used afterwards.
        unsafe { ffi::ibv_close_device(self.0.as_ptr()) };
    }
}

/// All devices of this host; none without RDMA devices. An error if one of them cannot be opened or
/// queried.
pub(crate) fn devices() -> io::Result<Vec<VerbsDevice>> {
    let list = List::enumerate()?;
    list.iter()
        .map(|device| Context::open_device(device)?.describe(device_name(device)))
        .collect()
}

fn device_name(device: NonNull<ffi::ibv_device>) -> String {
    // SAFETY: a device of a list that is not freed yet; its name is a C string inside it.
    unsafe {
        let name = ffi::ibv_get_device_name(device.as_ptr());
        if name.is_null() {
            String::new()
        } else {
            CStr::from_ptr(name).to_string_lossy().into_owned()
        }
    }
}

/// Verbs return error numbers.
fn check_return_code(rc: c_int) -> io::Result<()> {
    if rc == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(rc.abs()))
    }
}

fn text(chars: &[c_char]) -> String {
    let bytes: Vec<u8> = chars
        .iter()
        .take_while(|c| **c != 0)
        .map(|c| c.to_ne_bytes()[0])
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Event numbers of the header, for a test.
#[cfg(test)]
pub(super) fn event_numbers() -> [u32; 7] {
    use ffi::ibv_event_type as e;
    [
        e::IBV_EVENT_DEVICE_FATAL,
        e::IBV_EVENT_PORT_ACTIVE,
        e::IBV_EVENT_PORT_ERR,
        e::IBV_EVENT_LID_CHANGE,
        e::IBV_EVENT_PKEY_CHANGE,
        e::IBV_EVENT_SM_CHANGE,
        e::IBV_EVENT_CLIENT_REREGISTER,
    ]
    .map(|event| event as u32)
}
