//! Devices, opened devices, their ports and events.

use std::ffi::{c_char, c_int, c_void};
use std::mem::size_of;
use std::ptr::{null, null_mut};
use std::sync::{Mutex, PoisonError};

use libc::{POLLIN, pollfd, ssize_t};
use rustix::io::Errno;

use super::{context_of, error_number, minus_one_with_errno, queues};
use crate::config::config;
use crate::next::fail;
use crate::verbs::abi;
use crate::verbs::device::{Device, DeviceContext, devices, port_attributes};

/// Listed devices. They are never freed: a program may use a device after it freed the list, and
/// there are few.
static LISTED_DEVICES: Mutex<Vec<&'static Device>> = Mutex::new(Vec::new());

fn listed_device(
    index: u32,
    attributes: ferrosm_channel::verbs::DeviceAttributes,
) -> &'static Device {
    let mut listed_devices = LISTED_DEVICES
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let is_same = |device: &&&Device| device.index == index && device.attributes == attributes;
    if let Some(device) = listed_devices.iter().find(is_same) {
        return device;
    }
    let device: &Device = Box::leak(Box::new(Device::new(index, attributes)));
    listed_devices.push(device);
    device
}

/// The functions that programs call through the context.
fn functions(device: *mut abi::IbvDevice, async_fd: c_int) -> abi::VerbsContext {
    abi::VerbsContext {
        query_port,
        unused_before_private: [0; 25],
        private: null(),
        query_device_ex,
        unused_after_query: [0; 11],
        size: size_of::<abi::VerbsContext>(),
        context: abi::IbvContext {
            device,
            ops: abi::ContextOps {
                unused_before_poll: [0; 11],
                poll_cq: queues::poll_cq,
                req_notify_cq: queues::req_notify_cq,
                unused_before_post: [0; 12],
                post_send: queues::post_send,
                post_recv: queues::post_recv,
                unused_after_post: [0; 5],
            },
            cmd_fd: -1,
            async_fd,
            num_comp_vectors: 1,
            mutex: [0; 5],
            abi_compat: abi::EXTENDED,
        },
    }
}

/// Copies the attributes of a port, up to the length of the caller's buffer.
///
/// # Safety
///
/// An open context, room for `len` bytes.
unsafe fn port_into(
    context: *mut abi::IbvContext,
    port: u8,
    out: *mut c_void,
    len: usize,
) -> c_int {
    // SAFETY: promised by the caller.
    let context = unsafe { context_of(context) };
    error_number(context.port(port.into()).map(|port| {
        let attributes = port_attributes(&port);
        let from = std::ptr::from_ref(&attributes).cast::<u8>();
        let full_size = size_of::<abi::PortAttr>();
        // SAFETY: the caller's buffer; bytes beyond the structure are zeroed.
        unsafe {
            std::ptr::copy_nonoverlapping(from, out.cast(), len.min(full_size));
            if len > full_size {
                out.cast::<u8>()
                    .add(full_size)
                    .write_bytes(0, len - full_size);
            }
        }
    }))
}

unsafe extern "C" fn query_port(
    context: *mut abi::IbvContext,
    port: u8,
    out: *mut abi::PortAttr,
    len: usize,
) -> c_int {
    // SAFETY: as the program promises.
    unsafe { port_into(context, port, out.cast(), len) }
}

unsafe extern "C" fn query_device_ex(
    context: *mut abi::IbvContext,
    _input: *const c_void,
    out: *mut abi::DeviceAttrEx,
    len: usize,
) -> c_int {
    // SAFETY: an open context's device is one of this library.
    let device = unsafe { &*(*context).device.cast::<Device>() };
    let orig = device.attributes();
    let full_attributes = abi::DeviceAttrEx {
        orig,
        extensions: [0; 20],
        xrc_odp_caps: 0,
        phys_port_cnt_ex: orig.phys_port_cnt.into(),
    };
    let from = std::ptr::from_ref(&full_attributes).cast::<u8>();
    if len < size_of::<abi::DeviceAttr>() {
        return Errno::INVAL.raw_os_error();
    }
    // SAFETY: the program has room for `len` bytes.
    unsafe {
        std::ptr::copy_nonoverlapping(from, out.cast(), len.min(size_of::<abi::DeviceAttrEx>()));
    }
    0
}

/// The GID at an index, including empty entries.
///
/// # Safety
///
/// An open context.
unsafe fn gid(context: *mut abi::IbvContext, port: u32, index: u32) -> Result<[u8; 16], Errno> {
    // SAFETY: promised by the caller.
    let gids = unsafe { context_of(context) }.port(port)?.gids;
    gids.get(index as usize).copied().ok_or(Errno::INVAL)
}

fn entry(port: u32, index: u32, gid: [u8; 16]) -> abi::GidEntry {
    abi::GidEntry {
        gid: abi::gid_words(gid),
        gid_index: index,
        port_num: port,
        ..abi::GidEntry::default()
    }
}

replace! {
    /// Returns the null-terminated list of devices.
    fn ibv_get_device_list(next; count: *mut c_int) -> *mut *mut abi::IbvDevice, else null_mut(); {
        let Some(config) = config() else {
            // SAFETY: the program's arguments, as in all that follows.
            return unsafe { next(count) };
        };
        let found_devices = match devices(config) {
            Ok(devices) => devices,
            Err(errno) => {
                fail(errno);
                return null_mut();
            }
        };
        // SAFETY: room for all entries and the terminator; freed by `ibv_free_device_list`.
        let list = unsafe { libc::calloc(found_devices.len() + 1, size_of::<*mut abi::IbvDevice>()) }
            .cast::<*mut abi::IbvDevice>();
        if list.is_null() {
            return list;
        }
        let mut n = 0;
        for attributes in found_devices {
            let device = std::ptr::from_ref(listed_device(n, attributes)).cast_mut().cast();
            // SAFETY: within the list.
            unsafe { list.add(n as usize).write(device) };
            n += 1;
        }
        if !count.is_null() {
            // SAFETY: the program's.
            unsafe { count.write(n.cast_signed()) };
        }
        list
    }

    /// Frees the list without its devices.
    fn ibv_free_device_list(next; list: *mut *mut abi::IbvDevice) -> (), else (); {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(list) };
        }
        // SAFETY: made by `calloc`.
        unsafe { libc::free(list.cast()) }
    }

    /// The name, as in sysfs.
    fn ibv_get_device_name(next; device: *mut abi::IbvDevice) -> *const c_char, else null(); {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(device) };
        }
        // SAFETY: a device of the list.
        abi::c_str(unsafe { &(*device).name })
    }

    /// The node GUID in network byte order.
    fn ibv_get_device_guid(next; device: *mut abi::IbvDevice) -> u64, else 0; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(device) };
        }
        // SAFETY: a device of the list.
        unsafe { (*device.cast::<Device>()).attributes.node_guid.to_be() }
    }

    /// The index of the device.
    fn ibv_get_device_index(next; device: *mut abi::IbvDevice) -> c_int, else -1; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(device) };
        }
        // SAFETY: a device of the list.
        unsafe { (*device.cast::<Device>()).index.cast_signed() }
    }

    /// Opens a device.
    fn ibv_open_device(next; device: *mut abi::IbvDevice) -> *mut abi::IbvContext, else null_mut(); {
        let Some(config) = config() else {
            // SAFETY: passed on.
            return unsafe { next(device) };
        };
        let device = device.cast::<Device>();
        // SAFETY: a device of the list.
        let index = unsafe { (*device).index };
        let opened = super::boxed_or_null(DeviceContext::open(config, device, index, functions));
        if opened.is_null() {
            return null_mut();
        }
        // SAFETY: just made.
        unsafe { &raw mut (*opened).ibv.context }
    }

    /// Closes a device.
    fn ibv_close_device(next; context: *mut abi::IbvContext) -> c_int, else -1; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(context) };
        }
        // SAFETY: made by `ibv_open_device`, and no longer used.
        unsafe {
            let object = std::ptr::from_ref(context_of(context)).cast_mut();
            drop(Box::from_raw(object));
        }
        0
    }

    /// Queries the device attributes.
    fn ibv_query_device(next; context: *mut abi::IbvContext, out: *mut abi::DeviceAttr) -> c_int, else libc::ENOSYS; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(context, out) };
        }
        // SAFETY: an open context's device is one of this library; the program's buffer.
        unsafe { out.write((*(*context).device.cast::<Device>()).attributes()) };
        0
    }

    /// Queries a port, without the fields that were added later.
    fn ibv_query_port(next; context: *mut abi::IbvContext, port: u8, out: *mut c_void) -> c_int, else libc::ENOSYS; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(context, port, out) };
        }
        // SAFETY: as the program promises.
        unsafe { port_into(context, port, out, abi::PORT_ATTR_BASE_LEN) }
    }

    /// Queries a GID table entry.
    fn ibv_query_gid(next; context: *mut abi::IbvContext, port: u8, index: c_int, out: *mut [u8; 16]) -> c_int, else -1; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(context, port, index, out) };
        }
        // SAFETY: an open context, room for a GID.
        minus_one_with_errno(unsafe { gid(context, port.into(), index.cast_unsigned()).map(|gid| out.write(gid)) })
    }

    /// Queries the type of a GID table entry: IB.
    fn ibv_query_gid_type(next; context: *mut abi::IbvContext, port: u8, index: u32, out: *mut c_int) -> c_int, else -1; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(context, port, index, out) };
        }
        // SAFETY: an open context, room for a number.
        minus_one_with_errno(unsafe { gid(context, port.into(), index).map(|_| out.write(0)) })
    }

    /// Queries a GID table entry with its index.
    fn _ibv_query_gid_ex(
        next; context: *mut abi::IbvContext, port: u32, index: u32, out: *mut abi::GidEntry, flags: u32, size: usize
    ) -> c_int, else libc::ENOSYS; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(context, port, index, out, flags, size) };
        }
        if size < size_of::<abi::GidEntry>() || flags != 0 {
            return error_number(Err(Errno::INVAL));
        }
        // SAFETY: an open context.
        let gid_result = unsafe { gid(context, port, index) };
        let found = gid_result.and_then(|gid| {
            let is_set = gid.iter().any(|byte| *byte != 0);
            if is_set { Ok(entry(port, index, gid)) } else { Err(Errno::NODATA) }
        });
        // SAFETY: room for an entry.
        error_number(found.map(|entry| unsafe { out.write(entry) }))
    }

    /// Queries all non-empty GID table entries of all ports.
    fn _ibv_query_gid_table(
        next; context: *mut abi::IbvContext, out: *mut abi::GidEntry, max: usize, flags: u32, size: usize
    ) -> ssize_t, else -1; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(context, out, max, flags, size) };
        }
        if size != size_of::<abi::GidEntry>() || flags != 0 {
            return -(libc::EINVAL as ssize_t);
        }
        // SAFETY: an open context's device is one of this library.
        let ports = unsafe { (*(*context).device.cast::<Device>()).attributes.ports };
        let mut count = 0;
        for port in 1..=ports {
            // SAFETY: an open context.
            let Ok(attributes) = unsafe { context_of(context) }.port(port) else {
                continue;
            };
            for (index, gid) in (0..).zip(attributes.gids) {
                if count < max && gid.iter().any(|byte| *byte != 0) {
                    // SAFETY: room for `max` entries.
                    unsafe { out.add(count).write(entry(port, index, gid)) };
                    count += 1;
                }
            }
        }
        count as ssize_t
    }

    /// Queries a P_Key table entry, in network byte order.
    fn ibv_query_pkey(next; context: *mut abi::IbvContext, port: u8, index: c_int, out: *mut u16) -> c_int, else -1; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(context, port, index, out) };
        }
        // SAFETY: an open context.
        let result = unsafe { context_of(context) }.port(port.into()).and_then(|attributes| {
            let index = usize::try_from(index).unwrap_or(usize::MAX);
            attributes.pkeys.get(index).copied().ok_or(Errno::INVAL)
        });
        // SAFETY: room for a P_Key.
        minus_one_with_errno(result.map(|pkey| unsafe { out.write(pkey.to_be()) }))
    }

    /// The index of a P_Key.
    fn ibv_get_pkey_index(next; context: *mut abi::IbvContext, port: u8, pkey: u16) -> c_int, else -1; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(context, port, pkey) };
        }
        // SAFETY: an open context.
        let pkeys = unsafe { context_of(context) }.port(port.into()).map(|attributes| attributes.pkeys);
        let index = pkeys.unwrap_or_default().iter().position(|key| key.to_be() == pkey);
        index.and_then(|index| c_int::try_from(index).ok()).unwrap_or(-1)
    }

    /// The next port event; waits in libc's `poll`, a cancellation point.
    fn ibv_get_async_event(next; context: *mut abi::IbvContext, out: *mut abi::IbvAsyncEvent) -> c_int, else -1; {
        if config().is_none() {
            // SAFETY: passed on.
            return unsafe { next(context, out) };
        }
        loop {
            // SAFETY: an open context.
            match unsafe { context_of(context) }.event() {
                Ok(Some(event)) => {
                    // SAFETY: room for an event.
                    unsafe {
                        out.write(abi::IbvAsyncEvent {
                            port_num: event.port.cast_signed(),
                            element_rest: 0,
                            event_type: event.kind.cast_signed(),
                            padding: 0,
                        });
                    }
                    return 0;
                }
                Ok(None) => {}
                Err(errno) => {
                    // SAFETY: no descriptors. Limits the processor time of a program that retries
                    // in a loop.
                    unsafe { libc::poll(null_mut(), 0, 50) };
                    return fail(errno);
                }
            }
            // SAFETY: an open context.
            if unsafe { context_of(context) }.is_nonblocking() {
                return fail(Errno::AGAIN);
            }
            // SAFETY: an open context; one valid entry.
            let waited = unsafe {
                let mut fds = [pollfd { fd: (*context).async_fd, events: POLLIN, revents: 0 }];
                libc::poll(fds.as_mut_ptr(), 1, -1)
            };
            if waited < 0 {
                return -1;
            }
        }
    }

    /// No effect: no call waits for acknowledgements.
    fn ibv_ack_async_event(next; event: *mut abi::IbvAsyncEvent) -> (), else (); {
        if config().is_none() {
            // SAFETY: passed on.
            unsafe { next(event) }
        }
    }
}
