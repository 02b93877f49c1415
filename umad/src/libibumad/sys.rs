//! FFI: libibumad and three functions of the C library, resolved at run time.
//!
//! The only `unsafe` file of this crate. It owns the loaded libraries and converts calls, results
//! and structures. Files are opened with the process's `open` instead of `std::fs`, because ibsim's
//! preload library `umad2sim` intercepts only `open`.
#![expect(unsafe_code, reason = "calls into libibumad and the C library")]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulong, c_void};
use std::io;
use std::mem::MaybeUninit;

use ferrosm_mad::mad::MgmtClass;
use libloading::Library;

/// Length of the longer of the two message headers (with P_Key index).
pub(super) const HEADER_MAX: usize = 64;
/// `UMAD_CA_NAME_LEN`.
const NAME_LEN: usize = 20;
/// `UMAD_CA_MAX_PORTS`: length of a CA's port array, port 0 included.
const CA_MAX_PORTS: usize = 10;
/// `UMAD_MAX_DEVICES`: array length for `umad_get_cas_names`. Later libraries have
/// `umad_get_ca_device_list`, without a limit.
const MAX_DEVICES: c_int = 32;
/// Maximum length of a device path.
const PATH_LEN: c_int = 256;
/// `O_RDWR | O_NONBLOCK` on Linux; with `O_NONBLOCK`, a second open of issm fails instead of
/// waiting.
const O_RDWR_NONBLOCK: c_int = 0o2 | 0o4000;
/// `F_GETFD`.
const F_GETFD: c_int = 1;

/// `umad_port_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct RawPort {
    ca_name: [c_char; NAME_LEN],
    pub(super) port_num: c_int,
    pub(super) base_lid: c_uint,
    pub(super) lmc: c_uint,
    pub(super) sm_lid: c_uint,
    pub(super) sm_sl: c_uint,
    pub(super) state: c_uint,
    pub(super) phys_state: c_uint,
    pub(super) rate: c_uint,
    pub(super) cap_mask_be: u32,
    pub(super) gid_prefix_be: u64,
    pub(super) port_guid_be: u64,
    pkeys_size: c_uint,
    pkeys: *mut u16,
    link_layer: [c_char; NAME_LEN],
}

/// `umad_ca_t`.
#[repr(C)]
struct RawCa {
    ca_name: [c_char; NAME_LEN],
    node_type: c_uint,
    num_ports: c_int,
    fw_ver: [c_char; 20],
    ca_type: [c_char; 40],
    hw_ver: [c_char; 20],
    node_guid_be: u64,
    system_guid_be: u64,
    ports: [*mut RawPort; CA_MAX_PORTS],
}

/// `struct umad_device_node`.
#[repr(C)]
struct RawDevice {
    next: *mut Self,
    ca_name: *const c_char,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<RawPort>() == 112 && size_of::<RawCa>() == 208);

/// A channel adapter as the library reports it.
pub(super) struct Ca {
    pub(super) node_type: c_uint,
    pub(super) fw_version: String,
    pub(super) ca_type: String,
    pub(super) node_guid_be: u64,
    pub(super) system_guid_be: u64,
    pub(super) ports: Vec<RawPort>,
}

/// A message: header and MAD, aligned like the library's structures.
#[repr(C, align(8))]
pub(super) struct Buffer(pub(super) [u8; HEADER_MAX + ferrosm_mad::mad::MAD_LEN]);

impl RawPort {
    /// `link_layer` as text.
    pub(super) fn link_layer(&self) -> String {
        text(&self.link_layer)
    }
}

type GetCasNames = unsafe extern "C" fn(*mut [c_char; NAME_LEN], c_int) -> c_int;
type GetDeviceList = unsafe extern "C" fn() -> *mut RawDevice;
type FreeDeviceList = unsafe extern "C" fn(*mut RawDevice);
type GetCa = unsafe extern "C" fn(*const c_char, *mut RawCa) -> c_int;
type ReleaseCa = unsafe extern "C" fn(*mut RawCa) -> c_int;
type GetIssmPath = unsafe extern "C" fn(*const c_char, c_int, *mut c_char, c_int) -> c_int;
type OpenPort = unsafe extern "C" fn(*const c_char, c_int) -> c_int;
type FdCall = unsafe extern "C" fn(c_int) -> c_int;
type FdIntCall = unsafe extern "C" fn(c_int, c_int) -> c_int;
type Register = unsafe extern "C" fn(c_int, c_int, c_int, u8, *mut c_ulong) -> c_int;
type Send = unsafe extern "C" fn(c_int, c_int, *mut c_void, c_int, c_int, c_int) -> c_int;
type Recv = unsafe extern "C" fn(c_int, *mut c_void, *mut c_int, c_int) -> c_int;
type Open = unsafe extern "C" fn(*const c_char, c_int, ...) -> c_int;
type Fcntl = unsafe extern "C" fn(c_int, c_int, ...) -> c_int;

/// libibumad, loaded.
pub(super) struct Lib {
    get_cas_names: GetCasNames,
    device_list: Option<(GetDeviceList, FreeDeviceList)>,
    get_ca: GetCa,
    release_ca: ReleaseCa,
    get_issm_path: GetIssmPath,
    open_port: OpenPort,
    open_smi_port: Option<OpenPort>,
    close_port: FdCall,
    register: Register,
    unregister: FdIntCall,
    send: Send,
    recv: Recv,
    poll: FdIntCall,
    size: unsafe extern "C" fn() -> usize,
    open: Open,
    close: FdCall,
    fcntl: Fcntl,
    // Keep the code of the pointers above mapped; dropped last.
    _umad: Library,
    _process: Library,
}

impl Lib {
    /// Loads libibumad.
    pub(super) fn load() -> Result<Self, libloading::Error> {
        // SAFETY: the library's constructors have no preconditions; they set up tables of their
        // own.
        let umad = unsafe { Library::new("libibumad.so.3") }
            // SAFETY: as above.
            .or_else(|_| unsafe { Library::new("libibumad.so") })?;
        let process: Library = libloading::os::unix::Library::this().into();
        // SAFETY: every type above is the C declaration in infiniband/umad.h or the C library's
        // manual, and the pointers live in the same struct as the libraries that hold their code.
        unsafe {
            (*umad.get::<unsafe extern "C" fn() -> c_int>(b"umad_init\0")?)();
            let list = umad.get::<GetDeviceList>(b"umad_get_ca_device_list\0").ok();
            let free_device_list = umad
                .get::<FreeDeviceList>(b"umad_free_ca_device_list\0")
                .ok();
            Ok(Self {
                get_cas_names: *umad.get(b"umad_get_cas_names\0")?,
                device_list: list
                    .zip(free_device_list)
                    .map(|(list, free)| (*list, *free)),
                get_ca: *umad.get(b"umad_get_ca\0")?,
                release_ca: *umad.get(b"umad_release_ca\0")?,
                get_issm_path: *umad.get(b"umad_get_issm_path\0")?,
                open_port: *umad.get(b"umad_open_port\0")?,
                open_smi_port: umad.get(b"umad_open_smi_port\0").ok().map(|f| *f),
                close_port: *umad.get(b"umad_close_port\0")?,
                register: *umad.get(b"umad_register\0")?,
                unregister: *umad.get(b"umad_unregister\0")?,
                send: *umad.get(b"umad_send\0")?,
                recv: *umad.get(b"umad_recv\0")?,
                poll: *umad.get(b"umad_poll\0")?,
                size: *umad.get(b"umad_size\0")?,
                open: *process.get(b"open\0")?,
                close: *process.get(b"close\0")?,
                fcntl: *process.get(b"fcntl\0")?,
                _umad: umad,
                _process: process,
            })
        }
    }

    /// Names of the InfiniBand devices.
    pub(super) fn ca_names(&self) -> io::Result<Vec<CString>> {
        if let Some((list, free)) = self.device_list {
            // SAFETY: no arguments.
            let head = unsafe { list() };
            let mut names = Vec::new();
            let mut node = head.cast_const();
            while !node.is_null() {
                // SAFETY: a node of the list that is not freed yet; its name is a C string.
                let (name, next) = unsafe { (CStr::from_ptr((*node).ca_name), (*node).next) };
                names.push(name.to_owned());
                node = next;
            }
            if !head.is_null() {
                // SAFETY: the list's head, freed once; the list is not used afterwards.
                unsafe { free(head) };
            }
            return Ok(names);
        }
        let mut names = [[0; NAME_LEN]; MAX_DEVICES as usize];
        // SAFETY: the array has `MAX_DEVICES` elements of the library's name length.
        let result = unsafe { (self.get_cas_names)(names.as_mut_ptr(), MAX_DEVICES) };
        let n = usize::try_from(result).map_err(|_| io::Error::last_os_error())?;
        names
            .iter()
            .take(n)
            .map(|name| c_string(&text(name)))
            .collect()
    }

    /// Describes a device.
    pub(super) fn ca(&self, name: &CStr) -> io::Result<Ca> {
        let mut raw = MaybeUninit::<RawCa>::zeroed();
        // SAFETY: a C string and room for one structure, for which all-zero bytes are a valid
        // value.
        if unsafe { (self.get_ca)(name.as_ptr(), raw.as_mut_ptr()) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: zeroed above and filled in by the call that succeeded.
        let mut raw = unsafe { raw.assume_init() };
        // SAFETY: the library's port pointers are null or valid until the release below.
        let ports = raw
            .ports
            .iter()
            .filter_map(|p| unsafe { p.as_ref() }.copied())
            .collect();
        let ca = Ca {
            node_type: raw.node_type,
            fw_version: text(&raw.fw_ver),
            ca_type: text(&raw.ca_type),
            node_guid_be: raw.node_guid_be,
            system_guid_be: raw.system_guid_be,
            ports,
        };
        // SAFETY: filled in by the successful call and released once; the `pkeys` pointers of the
        // copies are never read.
        unsafe { (self.release_ca)(&raw mut raw) };
        Ok(ca)
    }

    /// Opens a port for SMPs.
    pub(super) fn open_port(&self, ca: &CStr, port: u8) -> io::Result<c_int> {
        let open = self.open_smi_port.unwrap_or(self.open_port);
        // SAFETY: a C string.
        check(unsafe { open(ca.as_ptr(), c_int::from(port)) })
    }

    /// Opens a port for MADs of QP1.
    pub(super) fn open_gsi_port(&self, ca: &CStr, port: u8) -> io::Result<c_int> {
        // SAFETY: a C string.
        check(unsafe { (self.open_port)(ca.as_ptr(), c_int::from(port)) })
    }

    /// Closes what `open_port` or `open_gsi_port` opened.
    pub(super) fn close_port(&self, fd: c_int) {
        // SAFETY: an integer; a descriptor that is not open is an error, not undefined behaviour.
        unsafe { (self.close_port)(fd) };
    }

    /// Registers an agent for `methods` of a class and returns its ID. With `rmpp` the kernel
    /// segments and reassembles messages.
    pub(super) fn register(
        &self,
        fd: c_int,
        class: MgmtClass,
        version: u8,
        rmpp: bool,
        methods: &[u8],
    ) -> io::Result<c_int> {
        const BITS: usize = c_ulong::BITS as usize;
        let mut mask = [0 as c_ulong; 128 / BITS];
        for method in methods.iter().map(|m| usize::from(*m)) {
            if let Some(word) = mask.get_mut(method / BITS) {
                *word |= 1 << (method % BITS);
            }
        }
        // SAFETY: the mask has the 16 bytes that the library copies.
        let id = unsafe {
            (self.register)(
                fd,
                c_int::from(class.0),
                c_int::from(version),
                u8::from(rmpp),
                mask.as_mut_ptr(),
            )
        };
        // The library always returns EPERM; errno has the kernel's error.
        if id < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(id)
        }
    }

    /// Removes an agent.
    pub(super) fn unregister(&self, fd: c_int, agent: c_int) {
        // SAFETY: integers; unknown ones are errors, not undefined behaviour.
        unsafe { (self.unregister)(fd, agent) };
    }

    /// Length of the header of messages.
    pub(super) fn header_len(&self) -> usize {
        // SAFETY: no arguments; reads one word of the library.
        unsafe { (self.size)() }.min(HEADER_MAX)
    }

    /// Sends a message whose MAD has 256 bytes.
    pub(super) fn send(
        &self,
        fd: c_int,
        agent: c_int,
        message: &mut Buffer,
        timeout_ms: c_int,
    ) -> io::Result<()> {
        // SAFETY: the buffer holds the longest header and 256 bytes, and the library writes to the
        // header only.
        let rc =
            unsafe { (self.send)(fd, agent, message.0.as_mut_ptr().cast(), 256, timeout_ms, 0) };
        if rc < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    /// Sends a message of any length: header, then MAD.
    pub(super) fn send_long(
        &self,
        fd: c_int,
        agent: c_int,
        message: &mut [u8],
        timeout_ms: c_int,
        retries: c_int,
    ) -> io::Result<()> {
        let len = message
            .len()
            .checked_sub(self.header_len())
            .and_then(|len| c_int::try_from(len).ok())
            .ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: the slice holds the header and the `len` bytes after it, and is aligned for
        // `struct ib_user_mad`, as the buffers of the allocator are; the library writes to the
        // header only.
        let rc = unsafe {
            (self.send)(
                fd,
                agent,
                message.as_mut_ptr().cast(),
                len,
                timeout_ms,
                retries,
            )
        };
        if rc < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    /// Receives a message without waiting, and returns the length without the header. A message
    /// that does not fit remains queued; the error kind is `StorageFull`.
    pub(super) fn try_recv_long(&self, fd: c_int, message: &mut [u8]) -> io::Result<Option<usize>> {
        let mut len = message
            .len()
            .checked_sub(self.header_len())
            .and_then(|len| c_int::try_from(len).ok())
            .ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: the slice has room for the header and `len` more bytes, and is aligned for
        // `struct ib_user_mad`, as the buffers of the allocator are.
        let agent = unsafe { (self.recv)(fd, message.as_mut_ptr().cast(), &raw mut len, 0) };
        received_len(agent, len)
    }

    /// Receives a message without waiting, and returns the length of its MAD.
    pub(super) fn try_recv(&self, fd: c_int, message: &mut Buffer) -> io::Result<Option<usize>> {
        let mut len: c_int = 256;
        // SAFETY: the buffer has room for the longest header and the 256 bytes that `len`
        // announces.
        let agent = unsafe { (self.recv)(fd, message.0.as_mut_ptr().cast(), &raw mut len, 0) };
        received_len(agent, len)
    }

    /// Waits for a message.
    pub(super) fn poll(&self, fd: c_int, timeout_ms: c_int) -> io::Result<()> {
        // SAFETY: integers.
        let rc = unsafe { (self.poll)(fd, timeout_ms) };
        if rc >= 0 || rc == -ETIMEDOUT {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        // On a spurious wakeup, `umad2sim`'s poll fails and leaves errno of the preceding read. If
        // the device was removed, the next read fails.
        let harmless = matches!(
            error.kind(),
            io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
        ) || error.raw_os_error() == Some(0);
        if harmless {
            return Ok(());
        }
        Err(error)
    }

    /// The device that sets the port's IsSM bit while it is open.
    pub(super) fn issm_path(&self, ca: &CStr, port: u8) -> io::Result<CString> {
        let mut path = [0; PATH_LEN as usize];
        // SAFETY: a C string and room for `PATH_LEN` bytes.
        check(unsafe {
            (self.get_issm_path)(ca.as_ptr(), c_int::from(port), path.as_mut_ptr(), PATH_LEN)
        })?;
        c_string(&text(&path))
    }

    /// Opens a device file without waiting for other processes to close it.
    pub(super) fn open_device(&self, path: &CStr) -> io::Result<c_int> {
        // SAFETY: a C string and flags that need no mode argument.
        let fd = unsafe { (self.open)(path.as_ptr(), O_RDWR_NONBLOCK) };
        if fd < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(fd)
        }
    }

    /// Closes what `open_device` opened.
    pub(super) fn close_device(&self, fd: c_int) {
        // SAFETY: an integer that this module got from `open` and passes here once.
        unsafe { (self.close)(fd) };
    }

    /// Whether this is a descriptor of the kernel. `umad2sim` returns numbers that the kernel does
    /// not know.
    pub(super) fn is_kernel_fd(&self, fd: c_int) -> bool {
        // SAFETY: F_GETFD takes no argument.
        unsafe { (self.fcntl)(fd, F_GETFD) >= 0 }
    }
}

/// Linux's ETIMEDOUT.
pub(super) const ETIMEDOUT: c_int = 110;

/// Result of `recv`: the length of the message, or `None`.
fn received_len(agent: c_int, len: c_int) -> io::Result<Option<usize>> {
    if agent >= 0 {
        return Ok(Some(usize::try_from(len).unwrap_or(0)));
    }
    let error = io::Error::last_os_error();
    let empty = matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    );
    if empty { Ok(None) } else { Err(error) }
}

/// Negative results are negated error numbers.
fn check(rc: c_int) -> io::Result<c_int> {
    if rc < 0 {
        Err(io::Error::from_raw_os_error(-rc))
    } else {
        Ok(rc)
    }
}

fn text(chars: &[c_char]) -> String {
    let bytes: Vec<u8> = chars
        .iter()
        .take_while(|c| **c != 0)
        .map(|c| c.to_ne_bytes()[0])
        .collect();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

/// A string for the library.
pub(super) fn c_string(text: &str) -> io::Result<CString> {
    CString::new(text).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}
