//! Structures and constants of libibverbs' public header (`infiniband/verbs.h`, ABI of rdma-core 17
//! and later). A test compares the layouts with the header. Fields that are not used here are
//! merged into arrays (`unused_...`).

use std::ffi::{c_char, c_int, c_void};

const _: () = assert!(size_of::<usize>() == 8, "the layouts are for 64 bits");

/// A null pointer to an unsupported function.
pub(crate) type Absent = usize;

/// `struct ibv_device`.
#[repr(C)]
pub(crate) struct IbvDevice {
    pub(crate) ops: [Absent; 2],
    pub(crate) node_type: c_int,
    pub(crate) transport_type: c_int,
    pub(crate) name: [u8; 64],
    pub(crate) dev_name: [u8; 64],
    pub(crate) dev_path: [u8; 256],
    pub(crate) ibdev_path: [u8; 256],
}

pub(crate) type PollCq = unsafe extern "C" fn(*mut Cq, c_int, *mut Wc) -> c_int;
pub(crate) type ReqNotifyCq = unsafe extern "C" fn(*mut Cq, c_int) -> c_int;
pub(crate) type PostSend = unsafe extern "C" fn(*mut Qp, *mut SendWr, *mut *mut SendWr) -> c_int;
pub(crate) type PostRecv = unsafe extern "C" fn(*mut Qp, *mut RecvWr, *mut *mut RecvWr) -> c_int;
pub(crate) type QueryPort =
    unsafe extern "C" fn(*mut IbvContext, u8, *mut PortAttr, usize) -> c_int;
pub(crate) type QueryDeviceEx =
    unsafe extern "C" fn(*mut IbvContext, *const c_void, *mut DeviceAttrEx, usize) -> c_int;

/// `struct ibv_context_ops`: 32 entries.
#[repr(C)]
pub(crate) struct ContextOps {
    pub(crate) unused_before_poll: [Absent; 11],
    pub(crate) poll_cq: PollCq,
    pub(crate) req_notify_cq: ReqNotifyCq,
    pub(crate) unused_before_post: [Absent; 12],
    pub(crate) post_send: PostSend,
    pub(crate) post_recv: PostRecv,
    pub(crate) unused_after_post: [Absent; 5],
}

/// `struct ibv_context`.
#[repr(C)]
pub(crate) struct IbvContext {
    pub(crate) device: *mut IbvDevice,
    pub(crate) ops: ContextOps,
    pub(crate) cmd_fd: c_int,
    pub(crate) async_fd: c_int,
    pub(crate) num_comp_vectors: c_int,
    pub(crate) mutex: [u64; 5],
    pub(crate) abi_compat: usize,
}

/// `struct verbs_context`: precedes a context whose `abi_compat` is [`EXTENDED`].
#[repr(C)]
pub(crate) struct VerbsContext {
    pub(crate) query_port: QueryPort,
    pub(crate) unused_before_private: [Absent; 25],
    pub(crate) private: *const c_void,
    pub(crate) query_device_ex: QueryDeviceEx,
    pub(crate) unused_after_query: [Absent; 11],
    pub(crate) size: usize,
    pub(crate) context: IbvContext,
}

/// `__VERBS_ABI_IS_EXTENDED`.
pub(crate) const EXTENDED: usize = usize::MAX;

/// `struct ibv_device_attr`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct DeviceAttr {
    pub(crate) fw_ver: [u8; 64],
    pub(crate) node_guid: [u8; 8],
    pub(crate) sys_image_guid: [u8; 8],
    pub(crate) max_mr_size: u64,
    pub(crate) page_size_cap: u64,
    pub(crate) vendor_id: u32,
    pub(crate) vendor_part_id: u32,
    pub(crate) hw_ver: u32,
    pub(crate) max_qp: c_int,
    pub(crate) max_qp_wr: c_int,
    pub(crate) device_cap_flags: u32,
    pub(crate) max_sge: c_int,
    pub(crate) max_sge_rd: c_int,
    pub(crate) max_cq: c_int,
    pub(crate) max_cqe: c_int,
    pub(crate) max_mr: c_int,
    pub(crate) max_pd: c_int,
    pub(crate) rd_atomic: [c_int; 5],
    pub(crate) atomic_cap: c_int,
    pub(crate) ee_rdd_mw_raw: [c_int; 5],
    pub(crate) max_mcast_grp: c_int,
    pub(crate) max_mcast_qp_attach: c_int,
    pub(crate) max_total_mcast_qp_attach: c_int,
    pub(crate) max_ah: c_int,
    pub(crate) fmr_srq: [c_int; 5],
    pub(crate) max_pkeys: u16,
    pub(crate) local_ca_ack_delay: u8,
    pub(crate) phys_port_cnt: u8,
}

/// `struct ibv_device_attr_ex`. Unnamed fields are zero: unsupported.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct DeviceAttrEx {
    pub(crate) orig: DeviceAttr,
    pub(crate) extensions: [u64; 20],
    pub(crate) xrc_odp_caps: u32,
    pub(crate) phys_port_cnt_ex: u32,
}

/// `struct ibv_port_attr`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct PortAttr {
    pub(crate) state: c_int,
    pub(crate) max_mtu: c_int,
    pub(crate) active_mtu: c_int,
    pub(crate) gid_tbl_len: c_int,
    pub(crate) port_cap_flags: u32,
    pub(crate) max_msg_sz: u32,
    pub(crate) bad_pkey_cntr: u32,
    pub(crate) qkey_viol_cntr: u32,
    pub(crate) pkey_tbl_len: u16,
    pub(crate) lid: u16,
    pub(crate) sm_lid: u16,
    pub(crate) lmc: u8,
    pub(crate) max_vl_num: u8,
    pub(crate) sm_sl: u8,
    pub(crate) subnet_timeout: u8,
    pub(crate) init_type_reply: u8,
    pub(crate) active_width: u8,
    pub(crate) active_speed: u8,
    pub(crate) phys_state: u8,
    pub(crate) link_layer: u8,
    pub(crate) flags: u8,
    pub(crate) port_cap_flags2: u16,
}

/// Length that the exported function `ibv_query_port` fills: all but the last field, which was
/// added in a later version.
pub(crate) const PORT_ATTR_BASE_LEN: usize = std::mem::offset_of!(PortAttr, port_cap_flags2);

/// `struct ibv_gid_entry`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct GidEntry {
    pub(crate) gid: [u64; 2],
    pub(crate) gid_index: u32,
    pub(crate) port_num: u32,
    pub(crate) gid_type: u32,
    pub(crate) ndev_ifindex: u32,
}

/// `struct ibv_async_event` of a port: `element` is a union of 8 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct IbvAsyncEvent {
    pub(crate) port_num: c_int,
    pub(crate) element_rest: u32,
    pub(crate) event_type: c_int,
    pub(crate) padding: u32,
}

/// `struct ibv_wc`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wc {
    pub(crate) wr_id: u64,
    pub(crate) status: u32,
    pub(crate) opcode: u32,
    pub(crate) vendor_err: u32,
    pub(crate) byte_len: u32,
    pub(crate) imm_data: u32,
    pub(crate) qp_num: u32,
    pub(crate) src_qp: u32,
    pub(crate) wc_flags: u32,
    pub(crate) pkey_index: u16,
    pub(crate) slid: u16,
    pub(crate) sl: u8,
    pub(crate) dlid_path_bits: u8,
}

/// `enum ibv_wc_status`.
pub(crate) mod status {
    pub(crate) const SUCCESS: u32 = 0;
    pub(crate) const LOC_LEN_ERR: u32 = 1;
    pub(crate) const LOC_QP_OP_ERR: u32 = 2;
    pub(crate) const WR_FLUSH_ERR: u32 = 5;
    pub(crate) const FATAL_ERR: u32 = 19;
}

pub(crate) const WC_SEND: u32 = 0;
pub(crate) const WC_RECV: u32 = 128;
pub(crate) const WC_GRH: u32 = 1;
pub(crate) const WR_SEND: c_int = 2;
pub(crate) const SEND_SIGNALED: u32 = 2;

/// `struct ibv_pd`.
#[repr(C)]
pub(crate) struct Pd {
    pub(crate) context: *mut IbvContext,
    pub(crate) handle: u32,
}

/// `struct ibv_mr`.
#[repr(C)]
pub(crate) struct Mr {
    pub(crate) context: *mut IbvContext,
    pub(crate) pd: *mut Pd,
    pub(crate) addr: *mut c_void,
    pub(crate) length: usize,
    pub(crate) handle: u32,
    pub(crate) lkey: u32,
    pub(crate) rkey: u32,
}

/// `struct ibv_global_route`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct IbvGlobalRoute {
    pub(crate) dgid: [u64; 2],
    pub(crate) flow_label: u32,
    pub(crate) sgid_index: u8,
    pub(crate) hop_limit: u8,
    pub(crate) traffic_class: u8,
}

/// `struct ibv_ah_attr`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct AhAttr {
    pub(crate) grh: IbvGlobalRoute,
    pub(crate) dlid: u16,
    pub(crate) sl: u8,
    pub(crate) src_path_bits: u8,
    pub(crate) static_rate: u8,
    pub(crate) is_global: u8,
    pub(crate) port_num: u8,
}

/// `struct ibv_ah`.
#[repr(C)]
pub(crate) struct Ah {
    pub(crate) context: *mut IbvContext,
    pub(crate) pd: *mut Pd,
    pub(crate) handle: u32,
}

/// `struct ibv_qp_cap`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct QpCap {
    pub(crate) max_send_wr: u32,
    pub(crate) max_recv_wr: u32,
    pub(crate) max_send_sge: u32,
    pub(crate) max_recv_sge: u32,
    pub(crate) max_inline_data: u32,
}

/// `struct ibv_qp_init_attr`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct QpInitAttr {
    pub(crate) qp_context: *mut c_void,
    pub(crate) send_cq: *mut Cq,
    pub(crate) recv_cq: *mut Cq,
    pub(crate) srq: *mut c_void,
    pub(crate) cap: QpCap,
    pub(crate) qp_type: c_int,
    pub(crate) sq_sig_all: c_int,
}

/// `IBV_QPT_UD`.
pub(crate) const QPT_UD: c_int = 4;

/// `enum ibv_qp_attr_mask`: the bits that UD queue pairs use.
pub(crate) mod mask {
    use std::ffi::c_int;

    pub(crate) const STATE: c_int = 1;
    pub(crate) const PKEY_INDEX: c_int = 1 << 4;
    pub(crate) const PORT: c_int = 1 << 5;
    pub(crate) const QKEY: c_int = 1 << 6;
}

/// `struct ibv_qp_attr`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct QpAttr {
    pub(crate) qp_state: c_int,
    pub(crate) cur_qp_state: c_int,
    pub(crate) path_mtu: c_int,
    pub(crate) path_mig_state: c_int,
    pub(crate) qkey: u32,
    pub(crate) rq_psn: u32,
    pub(crate) sq_psn: u32,
    pub(crate) dest_qp_num: u32,
    pub(crate) qp_access_flags: u32,
    pub(crate) cap: QpCap,
    pub(crate) ah_attr: AhAttr,
    pub(crate) alt_ah_attr: AhAttr,
    pub(crate) pkey_index: u16,
    pub(crate) alt_pkey_index: u16,
    pub(crate) unused_before_port: [u8; 5],
    pub(crate) port_num: u8,
    pub(crate) unused_after_port: [u8; 5],
    pub(crate) rate_limit: u32,
}

/// `struct ibv_sge`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sge {
    /// 64 bits in the header, as a pointer here.
    pub(crate) addr: usize,
    pub(crate) length: u32,
    pub(crate) lkey: u32,
}

/// `struct ibv_send_wr` of a datagram.
#[repr(C)]
pub(crate) struct SendWr {
    pub(crate) wr_id: u64,
    pub(crate) next: *mut Self,
    pub(crate) sg_list: *mut Sge,
    pub(crate) num_sge: c_int,
    pub(crate) opcode: c_int,
    pub(crate) send_flags: u32,
    pub(crate) imm_data: u32,
    pub(crate) ah: *mut Ah,
    pub(crate) remote_qpn: u32,
    pub(crate) remote_qkey: u32,
    pub(crate) unused: [u64; 9],
}

/// `struct ibv_recv_wr`.
#[repr(C)]
pub(crate) struct RecvWr {
    pub(crate) wr_id: u64,
    pub(crate) next: *mut Self,
    pub(crate) sg_list: *mut Sge,
    pub(crate) num_sge: c_int,
}

/// `struct ibv_qp`.
#[repr(C)]
pub(crate) struct Qp {
    pub(crate) context: *mut IbvContext,
    pub(crate) qp_context: *mut c_void,
    pub(crate) pd: *mut Pd,
    pub(crate) send_cq: *mut Cq,
    pub(crate) recv_cq: *mut Cq,
    pub(crate) srq: *mut c_void,
    pub(crate) handle: u32,
    pub(crate) qp_num: u32,
    pub(crate) state: c_int,
    pub(crate) qp_type: c_int,
    pub(crate) mutex: [u64; 5],
    pub(crate) cond: [u64; 6],
    pub(crate) events_completed: u32,
}

/// `struct ibv_comp_channel`.
#[repr(C)]
pub(crate) struct CompChannel {
    pub(crate) context: *mut IbvContext,
    pub(crate) fd: c_int,
    pub(crate) refcnt: c_int,
}

/// `struct ibv_cq`.
#[repr(C)]
pub(crate) struct Cq {
    pub(crate) context: *mut IbvContext,
    pub(crate) channel: *mut CompChannel,
    pub(crate) cq_context: *mut c_void,
    pub(crate) handle: u32,
    pub(crate) cqe: c_int,
    pub(crate) mutex: [u64; 5],
    pub(crate) cond: [u64; 6],
    pub(crate) comp_events_completed: u32,
    pub(crate) async_events_completed: u32,
}

/// A NUL-terminated string in a field of fixed length, truncated if necessary.
pub(crate) fn fixed_string<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [0; N];
    let len = text.len().min(N.saturating_sub(1));
    field[..len].copy_from_slice(&text.as_bytes()[..len]);
    field
}

/// The bytes of a GID as two numbers, which have the alignment of the structures.
pub(crate) fn gid_words(gid: [u8; 16]) -> [u64; 2] {
    let word = |at: usize| {
        gid[at..]
            .first_chunk()
            .map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    };
    [word(0), word(8)]
}

/// The reverse of [`gid_words`].
pub(crate) fn gid_bytes(words: [u64; 2]) -> [u8; 16] {
    let mut gid = [0; 16];
    gid[..8].copy_from_slice(&words[0].to_ne_bytes());
    gid[8..].copy_from_slice(&words[1].to_ne_bytes());
    gid
}

/// The C string in a field, for functions that return names.
pub(crate) const fn c_str(field: &[u8]) -> *const c_char {
    field.as_ptr().cast()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};
    use std::process::Command;

    /// Sizes and offsets equal those that the C compiler computes from the header.
    #[test]
    fn layouts_match_the_header() {
        let mut own_offsets = Vec::new();
        let mut c = String::from(
            "#include <infiniband/verbs.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n",
        );
        macro_rules! compare {
            ($($ours:ty = $theirs:literal { $($field:ident = $name:literal),* })*) => {
                $(
                    own_offsets.push(size_of::<$ours>());
                    c += concat!("printf(\"%zu\\n\", sizeof(struct ", $theirs, "));\n");
                    $(
                        own_offsets.push(offset_of!($ours, $field));
                        c += concat!("printf(\"%zu\\n\", offsetof(struct ", $theirs, ", ", $name, "));\n");
                    )*
                )*
            };
        }
        compare! {
            IbvDevice = "ibv_device" {
                node_type = "node_type", transport_type = "transport_type", name = "name",
                dev_name = "dev_name", dev_path = "dev_path", ibdev_path = "ibdev_path"
            }
            ContextOps = "ibv_context_ops" {
                poll_cq = "poll_cq", req_notify_cq = "req_notify_cq", post_send = "post_send",
                post_recv = "post_recv"
            }
            IbvContext = "ibv_context" {
                device = "device", ops = "ops", cmd_fd = "cmd_fd", async_fd = "async_fd",
                num_comp_vectors = "num_comp_vectors", mutex = "mutex", abi_compat = "abi_compat"
            }
            VerbsContext = "verbs_context" {
                query_port = "query_port", private = "priv", query_device_ex = "query_device_ex",
                size = "sz", context = "context"
            }
            DeviceAttr = "ibv_device_attr" {
                node_guid = "node_guid", sys_image_guid = "sys_image_guid", max_mr_size = "max_mr_size",
                page_size_cap = "page_size_cap", vendor_id = "vendor_id", vendor_part_id = "vendor_part_id",
                hw_ver = "hw_ver", max_qp = "max_qp", max_qp_wr = "max_qp_wr",
                device_cap_flags = "device_cap_flags", max_sge = "max_sge", max_cq = "max_cq",
                max_cqe = "max_cqe", max_mr = "max_mr", max_pd = "max_pd", rd_atomic = "max_qp_rd_atom",
                atomic_cap = "atomic_cap", ee_rdd_mw_raw = "max_ee", max_mcast_grp = "max_mcast_grp",
                max_mcast_qp_attach = "max_mcast_qp_attach",
                max_total_mcast_qp_attach = "max_total_mcast_qp_attach", max_ah = "max_ah",
                fmr_srq = "max_fmr", max_pkeys = "max_pkeys", local_ca_ack_delay = "local_ca_ack_delay",
                phys_port_cnt = "phys_port_cnt"
            }
            DeviceAttrEx = "ibv_device_attr_ex" {
                extensions = "comp_mask", xrc_odp_caps = "xrc_odp_caps",
                phys_port_cnt_ex = "phys_port_cnt_ex"
            }
            PortAttr = "ibv_port_attr" {
                state = "state", gid_tbl_len = "gid_tbl_len", port_cap_flags = "port_cap_flags",
                max_msg_sz = "max_msg_sz", bad_pkey_cntr = "bad_pkey_cntr",
                qkey_viol_cntr = "qkey_viol_cntr", pkey_tbl_len = "pkey_tbl_len", lid = "lid",
                sm_lid = "sm_lid", lmc = "lmc", max_vl_num = "max_vl_num", sm_sl = "sm_sl",
                subnet_timeout = "subnet_timeout", init_type_reply = "init_type_reply",
                active_width = "active_width", active_speed = "active_speed", phys_state = "phys_state",
                link_layer = "link_layer", flags = "flags", port_cap_flags2 = "port_cap_flags2"
            }
            GidEntry = "ibv_gid_entry" {
                gid_index = "gid_index", port_num = "port_num", gid_type = "gid_type",
                ndev_ifindex = "ndev_ifindex"
            }
            IbvAsyncEvent = "ibv_async_event" { port_num = "element", event_type = "event_type" }
            Wc = "ibv_wc" {
                status = "status", opcode = "opcode", vendor_err = "vendor_err", byte_len = "byte_len",
                imm_data = "imm_data", qp_num = "qp_num", src_qp = "src_qp", wc_flags = "wc_flags",
                pkey_index = "pkey_index", slid = "slid", sl = "sl", dlid_path_bits = "dlid_path_bits"
            }
            Pd = "ibv_pd" { context = "context" }
            Mr = "ibv_mr" {
                pd = "pd", addr = "addr", length = "length", handle = "handle", lkey = "lkey", rkey = "rkey"
            }
            IbvGlobalRoute = "ibv_global_route" {
                flow_label = "flow_label", sgid_index = "sgid_index", hop_limit = "hop_limit",
                traffic_class = "traffic_class"
            }
            AhAttr = "ibv_ah_attr" {
                dlid = "dlid", sl = "sl", src_path_bits = "src_path_bits", static_rate = "static_rate",
                is_global = "is_global", port_num = "port_num"
            }
            Ah = "ibv_ah" { pd = "pd", handle = "handle" }
            QpInitAttr = "ibv_qp_init_attr" {
                send_cq = "send_cq", recv_cq = "recv_cq", srq = "srq", cap = "cap", qp_type = "qp_type",
                sq_sig_all = "sq_sig_all"
            }
            QpAttr = "ibv_qp_attr" {
                qkey = "qkey", cap = "cap", ah_attr = "ah_attr", alt_ah_attr = "alt_ah_attr",
                pkey_index = "pkey_index", alt_pkey_index = "alt_pkey_index", port_num = "port_num",
                rate_limit = "rate_limit"
            }
            Sge = "ibv_sge" { length = "length", lkey = "lkey" }
            SendWr = "ibv_send_wr" {
                next = "next", sg_list = "sg_list", num_sge = "num_sge", opcode = "opcode",
                send_flags = "send_flags", imm_data = "imm_data", ah = "wr.ud.ah",
                remote_qpn = "wr.ud.remote_qpn", remote_qkey = "wr.ud.remote_qkey"
            }
            RecvWr = "ibv_recv_wr" { next = "next", sg_list = "sg_list", num_sge = "num_sge" }
            Qp = "ibv_qp" {
                qp_context = "qp_context", pd = "pd", send_cq = "send_cq", recv_cq = "recv_cq",
                handle = "handle", qp_num = "qp_num", state = "state", qp_type = "qp_type",
                mutex = "mutex", cond = "cond", events_completed = "events_completed"
            }
            CompChannel = "ibv_comp_channel" { fd = "fd", refcnt = "refcnt" }
            Cq = "ibv_cq" {
                channel = "channel", cq_context = "cq_context", handle = "handle", cqe = "cqe",
                mutex = "mutex", cond = "cond", comp_events_completed = "comp_events_completed"
            }
        }
        c += "return 0; }\n";
        let dir = std::env::temp_dir().join(format!("ferrosm-layout-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (source, program) = (dir.join("layout.c"), dir.join("layout"));
        std::fs::write(&source, &c).unwrap();
        let built = Command::new("cc")
            .arg("-o")
            .arg(&program)
            .arg(&source)
            .status();
        assert!(built.unwrap().success(), "requires cc and libibverbs-dev");
        let reported = Command::new(&program).output().unwrap().stdout;
        std::fs::remove_dir_all(&dir).unwrap();
        let system_offsets: Vec<usize> = String::from_utf8(reported)
            .unwrap()
            .lines()
            .map(|line| line.parse().unwrap())
            .collect();
        let expressions: Vec<&str> = c.lines().filter(|line| line.contains("printf")).collect();
        assert_eq!(system_offsets.len(), own_offsets.len());
        for ((ours, theirs), expression) in own_offsets.iter().zip(&system_offsets).zip(expressions)
        {
            assert_eq!(ours, theirs, "{expression}");
        }
    }
}
